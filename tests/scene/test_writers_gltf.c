/* .glb and .gltf: what is written is read back by the reader, played as a viewer would, and compared with the frames
 * that went in; what is carried through is looked for in the JSON. */
#include "scene/document.h"
#include "scene/image.h"
#include "scene/play.h"
#include "scene/readers/gltf.h"
#include "scene/textured.h"
#include "scene/writer_frames.h"
#include "test.h"

/* Some cases count what is in their folder, so it is one below the current. */
static const char folder[] = "writers_gltf.d";

static const char *in_folder(const char *name)
{
    static char path[2][256];
    static int turn;
    mkdir(folder, 0755);
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static supple_scene *load(const char *path)
{
    supple_scene *scene = NULL;
    supple_error error;
    if (spl_gltf_load_file(path, NULL, &scene, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return scene;
}

/* A file of tests/data; NULL: hero.glb with images. */
static supple_scene *load_data(const char *name)
{
    char path[512];
    if (!name) return load_textured();
    snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, name);
    return load(path);
}

/* Whether an accessor's min and max are those of its rows, exactly. */
static bool bounds_are_exact(const supple_scene *scene, const json_t *attributes, const float *rows, int32_t count)
{
    json_t *accessors = json_object_get(scene->document->json, "accessors");
    json_t *accessor = json_array_get(accessors, (size_t)json_integer_value(json_object_get(attributes, "POSITION")));
    for (size_t c = 0; c < 3; c++) {
        float low = rows[c], high = rows[c];
        for (size_t v = 0; v < (size_t)count; v++) {
            low = fminf(low, rows[3 * v + c]);
            high = fmaxf(high, rows[3 * v + c]);
        }
        if (json_number_value(json_array_get(json_object_get(accessor, "min"), c)) != (double)low ||
            json_number_value(json_array_get(json_object_get(accessor, "max"), c)) != (double)high)
            return false;
    }
    return true;
}

static void check_bounds(const supple_scene *scene)
{
    int wrong = 0;
    json_t *meshes = json_object_get(scene->document->json, "meshes");
    for (int32_t m = 0; m < scene->mesh_count; m++)
        for (int32_t k = 0; k < scene->mesh[m].primitive_count; k++) {
            const spl_primitive *p = &scene->mesh[m].primitive[k];
            json_t *primitives = json_object_get(json_array_get(meshes, (size_t)m), "primitives");
            json_t *json = json_array_get(primitives, (size_t)k), *targets = json_object_get(json, "targets");
            wrong += !bounds_are_exact(scene, json_object_get(json, "attributes"), p->position, p->vertex_count);
            for (int32_t t = 0; t < p->target_count; t++)
                wrong += !bounds_are_exact(scene, json_array_get(targets, (size_t)t), p->target[t].position,
                                           p->vertex_count);
        }
    CHECK(wrong == 0);
}

/* Writes a range of a clip, reads it back and plays it. */
static void round_trip(const char *name, const char *output, supple_range range, double fps)
{
    supple_scene *scene = load_data(name);
    REQUIRE(scene);
    CHECK(name || scene->image_count == 2);
    if (range.frame_count == 0) range.frame_count = supple_scene_frame_count(scene, range.clip, fps);
    frames f = make_frames(scene, &range, fps);
    supple_error error = {0};
    supple_result result = write_frames(scene, in_folder(output), &range, fps, &f, &error);
    if (result != SUPPLE_OK) printf("    %s\n", error.message);
    supple_scene *back = result == SUPPLE_OK ? load(in_folder(output)) : NULL;
    CHECK(back != NULL);
    if (back) {
        double position, normal;
        play(back, 0, fps, &f, &position, &normal);
        printf("    %s, %d frames: positions %.2g of the diagonal, normals %.2g\n", output, (int)range.frame_count,
               position, normal);
        CHECK(position < 2e-6 && normal < 1e-6);
        CHECK(back->skin_count == 0 && back->instance_count == scene->instance_count);
        CHECK(back->triangle_count == scene->triangle_count && back->material_count == scene->material_count);
        CHECK(back->clip_count == 1 && strcmp(back->clip[0].name, scene->clip[range.clip].name) == 0);
        CHECK(back->warning_count == 0);
        check_bounds(back);
        REQUIRE(back->image_count == scene->image_count);
        for (int32_t i = 0; i < scene->image_count; i++)
            CHECK(back->image[i].size == scene->image[i].size &&
                  memcmp(back->image[i].data, scene->image[i].data, scene->image[i].size) == 0);
        const spl_primitive *old = scene->mesh[scene->instance[0].mesh].primitive;
        const spl_primitive *new = back->mesh[back->instance[0].mesh].primitive;
        CHECK(memcmp(old->triangle, new->triangle, 12 * (size_t)old->triangle_count) == 0);
        CHECK(!old->uv || memcmp(old->uv, new->uv, 8 * (size_t)old->vertex_count) == 0);
    }
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

TEST(a_flat_strip)
{
    clean_folder(folder);
    round_trip("strip.gltf", "strip.glb", (supple_range){0, 0, 0}, 30);
    round_trip("strip.gltf", "strip.gltf", (supple_range){0, 0, 0}, 30);
}
TEST(a_figure_below_a_turned_node)
{
    round_trip("figure.glb", "figure.glb", (supple_range){0, 0, 0}, 30);
}
TEST(a_figure_with_images)
{
    round_trip(NULL, "images.glb", (supple_range){0, 0, 0}, 24);
    round_trip(NULL, "with \xc3\xa4 images.gltf", (supple_range){0, 3, 5}, 24);
}
TEST(an_animal_without_indices)
{
    round_trip("quadruped.glb", "quadruped.glb", (supple_range){1, 0, 0}, 30);
}
TEST(parts_with_props)
{
    round_trip("parts.glb", "parts.glb", (supple_range){0, 0, 0}, 30);
    round_trip("parts.glb", "parts_part.glb", (supple_range){0, 5, 7}, 30);
}

TEST(several_clips_in_one_file)
{
    supple_scene *scene = load_data("quadruped.glb");
    REQUIRE(scene);
    supple_range ranges[3] = {{0, 2, 9}, {1, 0, 0}, {2, 0, 0}};
    frames f[3];
    for (int r = 0; r < 3; r++) {
        if (!ranges[r].frame_count) ranges[r].frame_count = supple_scene_frame_count(scene, ranges[r].clip, 12);
        f[r] = make_frames(scene, &ranges[r], 12);
    }
    CHECK(write_ranges(scene, in_folder("quadruped_all.glb"), ranges, 3, 12, f, NULL, NULL) == SUPPLE_OK);
    supple_scene *back = load(in_folder("quadruped_all.glb"));
    REQUIRE(back);
    CHECK(back->clip_count == 3);
    for (int r = 0; r < 3; r++) {
        double position, normal;
        play(back, r, 12, &f[r], &position, &normal);
        CHECK(position < 2e-6);
        CHECK(strcmp(back->clip[r].name, scene->clip[r].name) == 0);
        free_frames(&f[r]);
    }
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
}

TEST(rest_pose_is_a_still_mesh)
{
    supple_scene *scene = load_data("figure.glb");
    REQUIRE(scene);
    supple_range rest = {-1, 0, 1};
    frames f = make_frames(scene, &rest, 30);
    CHECK(write_frames(scene, in_folder("still.glb"), &rest, 30, &f, NULL) == SUPPLE_OK);
    supple_scene *back = load(in_folder("still.glb"));
    REQUIRE(back);
    CHECK(back->clip_count == 0 && back->mesh[0].primitive[0].target_count == 0 && back->skin_count == 0);
    CHECK(memcmp(back->mesh[0].primitive[0].position, f.position, 12 * (size_t)f.vertices) == 0);
    CHECK(memcmp(back->mesh[0].primitive[0].normal, f.normal, 12 * (size_t)f.vertices) == 0);
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

TEST(no_more_than_255_frames)
{
    supple_scene *scene = load_data("strip.gltf");
    REQUIRE(scene);
    supple_range range = {0, 0, 256};
    frames f = make_frames(scene, &range, 60);
    supple_error error;
    clean_folder(folder);
    CHECK(write_frames(scene, in_folder("long.glb"), &range, 60, &f, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, "256") && strstr(error.message, "255") && strstr(error.message, "--frames") &&
          strstr(error.message, ".pc2"));
    CHECK(files_in(folder) == 0);
    range.frame_count = 255;
    f.count = 255;
    CHECK(write_frames(scene, in_folder("long.glb"), &range, 60, &f, &error) == SUPPLE_OK);
    supple_scene *back = load(in_folder("long.glb"));
    REQUIRE(back);
    double position, normal;
    play(back, 0, 60, &f, &position, &normal);
    CHECK(position < 2e-6 && back->mesh[0].primitive[0].target_count == 255);
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

/* ---- a zoo: everything that a file may have around a skin ------------------------------------------------------- */

static const char zoo_json[] =
    "{\"asset\":{\"version\":\"2.0\",\"copyright\":\"me\",\"extras\":{\"a\":1}},\"scene\":0,"
    "\"scenes\":[{\"nodes\":[0,4,6,7]},{\"nodes\":[4]}],\"extras\":{\"root\":[1,2]},"
    "\"extensionsUsed\":[\"KHR_lights_punctual\",\"KHR_mesh_quantization\",\"EXT_unknown\"],"
    "\"extensionsRequired\":[\"KHR_mesh_quantization\"],"
    "\"extensions\":{\"KHR_lights_punctual\":{\"lights\":[{\"type\":\"point\"}]}},"
    "\"cameras\":[{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1}}],"
    "\"nodes\":[{\"name\":\"root\",\"children\":[1,2,5],\"translation\":[1,2,3]},"
    "{\"name\":\"skinned\",\"mesh\":0,\"skin\":0,\"children\":[3],\"camera\":0,\"translation\":[0,1,0],"
    "\"extensions\":{\"KHR_lights_punctual\":{\"light\":0},\"EXT_unknown\":{\"of\":\"node\"}},\"extras\":{\"n\":1}},"
    "{\"name\":\"rigid\",\"mesh\":0,\"rotation\":[0,0,0.6,0.8]},{\"name\":\"prop\",\"mesh\":2,\"scale\":[2,2,2]},"
    "{\"name\":\"other\",\"mesh\":0,\"skin\":1},{\"name\":\"joint\"},"
    "{\"name\":\"morph\",\"mesh\":1,\"scale\":[3,1,1],\"weights\":[0.25]},{\"name\":\"quant\",\"mesh\":3,\"skin\":0}],"
    "\"skins\":[{\"joints\":[5],\"inverseBindMatrices\":8},{\"joints\":[1],\"inverseBindMatrices\":8}],"
    "\"meshes\":[{\"name\":\"m0\",\"extras\":{\"keep\":1},\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1,"
    "\"TANGENT\":3,\"TEXCOORD_0\":4,\"TEXCOORD_1\":13,\"COLOR_0\":2,\"_HEAT\":15,\"JOINTS_0\":5,\"WEIGHTS_0\":6},"
    "\"indices\":7,"
    "\"material\":0,\"extensions\":{\"EXT_unknown\":{\"of\":\"primitive\"}}}]},"
    "{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"targets\":[{\"POSITION\":9}]}],\"weights\":[0.5],"
    "\"extras\":{\"targetNames\":[\"smile\"]}},"
    "{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":7}]},"
    "{\"primitives\":[{\"attributes\":{\"POSITION\":14,\"JOINTS_0\":5,\"WEIGHTS_0\":6},\"indices\":7}]}],"
    "\"materials\":[{\"name\":\"skin\",\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0,\"texCoord\":1}},"
    "\"extensions\":{\"EXT_unknown\":{\"of\":\"material\"}}}],"
    "\"textures\":[{\"source\":0}],\"images\":[{\"bufferView\":13,\"mimeType\":\"image/png\"}],"
    "\"animations\":[{\"name\":\"unused\",\"channels\":[{\"sampler\":0,\"target\":{\"node\":5,\"path\":\"scale\"}}],"
    "\"samplers\":[{\"input\":10,\"output\":11}]},"
    "{\"name\":\"go\",\"extras\":{\"e\":2},\"channels\":[{\"sampler\":1,\"target\":{\"node\":6,\"path\":\"weights\"}},"
    "{\"sampler\":2,\"target\":{\"node\":1,\"path\":\"translation\"}},"
    "{\"sampler\":2,\"target\":{\"node\":2,\"path\":\"translation\"}},"
    "{\"sampler\":2,\"target\":{\"node\":7,\"path\":\"translation\"}}],"
    "\"samplers\":[{\"input\":10,\"output\":11},{\"input\":10,\"output\":12},{\"input\":10,\"output\":11}]}],"
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\",\"min\":[0,0,0],\"max\":[1,"
    "1,0]},"
    "{\"bufferView\":0,\"byteOffset\":12,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"},"
    "{\"bufferView\":0,\"byteOffset\":24,\"componentType\":5121,\"normalized\":true,\"count\":4,\"type\":\"VEC3\"},"
    "{\"bufferView\":1,\"componentType\":5126,\"count\":4,\"type\":\"VEC4\"},"
    "{\"bufferView\":2,\"componentType\":5126,\"count\":4,\"type\":\"VEC2\"},"
    "{\"bufferView\":3,\"componentType\":5121,\"count\":4,\"type\":\"VEC4\"},"
    "{\"bufferView\":4,\"componentType\":5126,\"count\":4,\"type\":\"VEC4\"},"
    "{\"bufferView\":5,\"componentType\":5121,\"count\":6,\"type\":\"SCALAR\"},"
    "{\"bufferView\":6,\"componentType\":5126,\"count\":1,\"type\":\"MAT4\"},"
    "{\"bufferView\":7,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\",\"min\":[0,0,1],\"max\":[0,0,1]},"
    "{\"bufferView\":8,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]},"
    "{\"bufferView\":9,\"componentType\":5126,\"count\":2,\"type\":\"VEC3\"},"
    "{\"bufferView\":10,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\"},"
    "{\"componentType\":5126,\"count\":4,\"type\":\"VEC2\",\"sparse\":{\"count\":1,\"indices\":{\"bufferView\":11,"
    "\"componentType\":5121},\"values\":{\"bufferView\":12}}},"
    "{\"bufferView\":14,\"componentType\":5122,\"count\":4,\"type\":\"VEC3\",\"min\":[0,0,0],\"max\":[7,7,0]},"
    "{\"bufferView\":2,\"byteOffset\":4,\"componentType\":5126,\"count\":4,\"type\":\"SCALAR\"}],"
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":112,\"byteStride\":28},{\"buffer\":0,\"byteOffset\":112,"
    "\"byteLength\":64},"
    "{\"buffer\":0,\"byteOffset\":176,\"byteLength\":32},{\"buffer\":0,\"byteOffset\":208,\"byteLength\":16},"
    "{\"buffer\":0,\"byteOffset\":224,\"byteLength\":64},{\"buffer\":0,\"byteOffset\":288,\"byteLength\":6},"
    "{\"buffer\":0,\"byteOffset\":296,\"byteLength\":64},{\"buffer\":0,\"byteOffset\":360,\"byteLength\":48},"
    "{\"buffer\":0,\"byteOffset\":408,\"byteLength\":8},{\"buffer\":0,\"byteOffset\":416,\"byteLength\":24},"
    "{\"buffer\":0,\"byteOffset\":440,\"byteLength\":8},{\"buffer\":0,\"byteOffset\":448,\"byteLength\":1},"
    "{\"buffer\":0,\"byteOffset\":452,\"byteLength\":8},{\"buffer\":0,\"byteOffset\":492,\"byteLength\":%zu},"
    "{\"buffer\":0,\"byteOffset\":460,\"byteLength\":32,\"byteStride\":8}],\"buffers\":[{\"byteLength\":%zu}]}";

static void put_floats(uint8_t *at, const float *values, int count)
{
    memcpy(at, values, 4 * (size_t)count);
}

static void fill_zoo(uint8_t *bin)
{
    static const float corner[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    for (int v = 0; v < 4; v++) {
        put_floats(bin + 28 * v, corner[v], 3);
        put_floats(bin + 28 * v + 12, (float[]){0, 0, 1}, 3);
        memcpy(bin + 28 * v + 24, (uint8_t[]){(uint8_t)(10 * v), 20, 30}, 3);
        put_floats(bin + 112 + 16 * v, (float[]){1, 0, 0, v % 2 ? 1.0f : -1.0f}, 4);
        put_floats(bin + 176 + 8 * v, corner[v], 2);
        put_floats(bin + 224 + 16 * v, (float[]){1, 0, 0, 0}, 4);
        put_floats(bin + 360 + 12 * v, (float[]){0, 0, 1}, 3);
        int16_t q[3] = {(int16_t)(7 * corner[v][0]), (int16_t)(7 * corner[v][1]), 0};
        memcpy(bin + 460 + 8 * v, q, 6);
    }
    memcpy(bin + 288, (uint8_t[]){0, 1, 2, 0, 2, 3}, 6);
    for (int c = 0; c < 4; c++) put_floats(bin + 296 + 20 * c, (float[]){1}, 1);
    put_floats(bin + 408, (float[]){0, 1}, 2);
    put_floats(bin + 416, (float[]){0, 0, 0, 0, 0, 5}, 6);
    put_floats(bin + 440, (float[]){0, 1}, 2);
    bin[448] = 2;
    put_floats(bin + 452, (float[]){0.25f, 0.75f}, 2);
}

/* The zoo as a .glb in memory. Another JSON can be given in place of a part of it. */
static uint8_t *make_zoo(size_t *size, const char *from, const char *to)
{
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t pixel[16] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 9, 9, 255}, *png = NULL;
    size_t png_size = 0;
    spl_image_encode_png(&(spl_pixels){2, 2, pixel}, &a, &png, &png_size, NULL);
    size_t bin = (492 + png_size + 3) & ~(size_t)3;
    static char json[16384], other[16384];
    snprintf(json, sizeof json, zoo_json, png_size, bin);
    char *at = from ? strstr(json, from) : NULL;
    if (at) {
        snprintf(other, sizeof other, "%.*s%s%s", (int)(at - json), json, to, at + strlen(from));
        strcpy(json, other);
    }
    while (strlen(json) % 4) strcat(json, " ");
    size_t text = strlen(json);
    *size = 12 + 8 + text + 8 + bin;
    uint8_t *glb = calloc(*size, 1), *p = glb;
    memcpy(p, "glTF", 4);
    spl_put_u32(p + 4, 2, false);
    spl_put_u32(p + 8, (uint32_t)*size, false);
    spl_put_u32(p + 12, (uint32_t)text, false);
    memcpy(p + 16, "JSON", 4);
    memcpy(p + 20, json, text);
    spl_put_u32(p + 20 + text, (uint32_t)bin, false);
    memcpy(p + 24 + text, "BIN", 4);
    fill_zoo(p + 28 + text);
    memcpy(p + 28 + text + 492, png, png_size);
    spl_free(&a, png);
    return glb;
}

static supple_scene *load_zoo(const char *from, const char *to)
{
    size_t size;
    uint8_t *glb = make_zoo(&size, from, to);
    supple_scene *scene = NULL;
    supple_error error;
    if (supple_scene_load_memory(glb, size, "zoo", NULL, &scene, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    free(glb);
    return scene;
}

static json_t *member(json_t *list, size_t i, const char *key)
{
    return json_object_get(json_array_get(list, i), key);
}

static bool is_list(const json_t *list, size_t count, const int *expected)
{
    if (json_array_size(list) != count) return false;
    for (size_t i = 0; i < count; i++)
        if (json_integer_value(json_array_get(list, i)) != expected[i]) return false;
    return true;
}

static void check_zoo_nodes(json_t *root)
{
    json_t *nodes = json_object_get(root, "nodes"), *scenes = json_object_get(root, "scenes");
    CHECK(json_array_size(nodes) == 9 && !json_object_get(root, "skins"));
    CHECK(is_list(member(nodes, 0, "children"), 3, (int[]){8, 2, 5})); /* the helper instead of the skinned one */
    CHECK(is_list(member(nodes, 8, "children"), 1, (int[]){3}));
    CHECK(is_list(member(scenes, 0, "nodes"), 5, (int[]){0, 1, 4, 6, 7}));
    CHECK(is_list(member(scenes, 1, "nodes"), 1, (int[]){4}));
    for (size_t i = 0; i < 9; i++) CHECK(!member(nodes, i, "skin") && !member(nodes, i, "weights"));
    CHECK(!member(nodes, 1, "translation") && !member(nodes, 1, "camera") && !member(nodes, 1, "children"));
    CHECK(!member(nodes, 6, "scale") && member(nodes, 3, "scale") && member(nodes, 2, "rotation"));
    CHECK(member(nodes, 8, "camera") && member(nodes, 8, "translation"));
    CHECK(json_object_get(member(nodes, 8, "extensions"), "KHR_lights_punctual") != NULL);
    CHECK(json_object_get(member(nodes, 1, "extensions"), "EXT_unknown") != NULL);
    CHECK(member(nodes, 1, "extras") != NULL);
}

static void check_zoo_meshes(json_t *root)
{
    json_t *meshes = json_object_get(root, "meshes"), *nodes = json_object_get(root, "nodes");
    CHECK(json_array_size(meshes) == 6); /* mesh 0 stays for the rigid node; two copies for two skins */
    CHECK(json_integer_value(member(nodes, 2, "mesh")) == 0);
    CHECK(json_integer_value(member(nodes, 1, "mesh")) == 4 && json_integer_value(member(nodes, 4, "mesh")) == 5);
    CHECK(json_integer_value(member(nodes, 6, "mesh")) == 1 && json_integer_value(member(nodes, 7, "mesh")) == 3);
    CHECK(json_object_get(member(meshes, 4, "extras"), "keep") != NULL);
    json_t *names = json_object_get(member(meshes, 1, "extras"), "targetNames");
    CHECK(json_array_size(names) == 4 && strcmp(json_string_value(json_array_get(names, 3)), "frame 0003") == 0);
    json_t *primitive = json_array_get(member(meshes, 4, "primitives"), 0);
    json_t *attributes = json_object_get(primitive, "attributes");
    CHECK(!json_object_get(attributes, "JOINTS_0") && !json_object_get(attributes, "WEIGHTS_0"));
    static const char *const kept[] = {"POSITION", "NORMAL", "TANGENT", "TEXCOORD_0", "TEXCOORD_1", "COLOR_0", "_HEAT"};
    for (int i = 0; i < 7; i++) CHECK(json_object_get(attributes, kept[i]) != NULL);
    CHECK(json_object_get(json_object_get(primitive, "extensions"), "EXT_unknown") != NULL);
    CHECK(json_array_size(json_object_get(primitive, "targets")) == 4);
}

static void check_zoo_rest(json_t *root)
{
    json_t *asset = json_object_get(root, "asset"), *animations = json_object_get(root, "animations");
    CHECK(strcmp(json_string_value(json_object_get(asset, "generator")), "Supple " SUPPLE_VERSION) == 0);
    CHECK(json_object_get(asset, "copyright") && json_object_get(asset, "extras") && json_object_get(root, "extras"));
    CHECK(json_array_size(json_object_get(root, "extensionsUsed")) == 2 &&
          !json_object_get(root, "extensionsRequired"));
    CHECK(json_array_size(json_object_get(root, "cameras")) == 1);
    CHECK(json_array_size(animations) == 1 && strcmp(json_string_value(member(animations, 0, "name")), "go") == 0);
    CHECK(member(animations, 0, "extras") != NULL);
    json_t *channels = member(animations, 0, "channels");
    CHECK(json_array_size(channels) == 6); /* the helper, the rigid one, and four baked */
    CHECK(json_integer_value(json_object_get(member(channels, 0, "target"), "node")) == 8);
    CHECK(json_integer_value(json_object_get(member(channels, 1, "target"), "node")) == 2);
    CHECK(json_array_size(member(animations, 0, "samplers")) == 2);
}

/* The bytes of an accessor of a document read back, and its stride. */
static const uint8_t *accessor_bytes(const spl_document *document, json_int_t index, size_t *stride)
{
    json_t *accessor = json_array_get(json_object_get(document->json, "accessors"), (size_t)index);
    json_t *view = json_array_get(json_object_get(document->json, "bufferViews"),
                                  (size_t)json_integer_value(json_object_get(accessor, "bufferView")));
    *stride = (size_t)json_integer_value(json_object_get(view, "byteStride"));
    return document->buffer[0].data + json_integer_value(json_object_get(view, "byteOffset")) +
           json_integer_value(json_object_get(accessor, "byteOffset"));
}

/* The tangents of a mesh whose vertices begin at `first` in output order: the base, and vertex 1 of frame 2. */
static void check_zoo_tangents(const supple_scene *back, const frames *f, size_t mesh, size_t first)
{
    json_t *meshes = json_object_get(back->document->json, "meshes");
    json_t *primitive = json_array_get(member(meshes, mesh, "primitives"), 0);
    json_t *attributes = json_object_get(primitive, "attributes");
    json_t *target = json_array_get(json_object_get(primitive, "targets"), 2);
    size_t stride;
    const uint8_t *base =
        accessor_bytes(back->document, json_integer_value(json_object_get(attributes, "TANGENT")), &stride);
    CHECK(memcmp(base, f->tangent + 4 * first, 64) == 0);
    const uint8_t *moved =
        accessor_bytes(back->document, json_integer_value(json_object_get(target, "TANGENT")), &stride);
    const float *from = f->tangent + 4 * (first + 1), *to = from + 4 * 2 * (size_t)f->vertices;
    float d[3];
    memcpy(d, moved + 12, 12);
    for (int c = 0; c < 3; c++) CHECK(d[c] == to[c] - from[c]);
}

static void check_zoo_data(const supple_scene *back, const frames *f)
{
    json_t *meshes = json_object_get(back->document->json, "meshes");
    json_t *primitive = json_array_get(member(meshes, 4, "primitives"), 0);
    json_t *attributes = json_object_get(primitive, "attributes");
    size_t stride;
    const uint8_t *color =
        accessor_bytes(back->document, json_integer_value(json_object_get(attributes, "COLOR_0")), &stride);
    CHECK(stride == 4);
    for (int v = 0; v < 4; v++) CHECK(color[4 * v] == 10 * v && color[4 * v + 1] == 20 && color[4 * v + 2] == 30);
    check_zoo_tangents(back, f, 4, 0);
    check_zoo_tangents(back, f, 5, 12);
    CHECK(back->mesh[4].primitive[0].uv[5] == 1 && back->material[0].base_color_image == 0);
}

static void check_zoo(const char *output, supple_range range, double fps)
{
    supple_scene *scene = load_zoo(NULL, NULL);
    REQUIRE(scene);
    frames f = make_frames(scene, &range, fps);
    /* The morphing node is no skin, but its frames come from the caller like those of skins. */
    supple_error error = {0};
    CHECK(write_frames(scene, in_folder(output), &range, fps, &f, &error) == SUPPLE_OK);
    supple_scene *back = load(in_folder(output));
    REQUIRE(back);
    double position, normal;
    play(back, 0, fps, &f, &position, &normal);
    CHECK(position < 2e-6 && normal < 1e-6);
    json_t *root = back->document->json;
    check_zoo_nodes(root);
    check_zoo_meshes(root);
    if (range.first_frame == 0) check_zoo_rest(root);
    check_zoo_data(back, &f);
    CHECK(back->warning_count == scene->warning_count); /* two scenes; four vertices are no whole triangles */
    CHECK(back->image[0].size == scene->image[0].size &&
          memcmp(back->image[0].data, scene->image[0].data, scene->image[0].size) == 0);
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

TEST(everything_else_is_carried_through)
{
    check_zoo("zoo.glb", (supple_range){1, 0, 4}, 3);
    check_zoo("zoo.gltf", (supple_range){1, 0, 4}, 3);
    check_zoo("zoo_part.glb", (supple_range){1, 1, 4}, 5);
}

TEST(unknown_references_keep_all_numbers)
{
    supple_scene *scene =
        load_zoo("\"EXT_unknown\":{\"of\":\"node\"}", "\"EXT_unknown\":{\"bufferView\":12,\"accessor\":13}");
    REQUIRE(scene);
    supple_range range = {1, 0, 4};
    frames f = make_frames(scene, &range, 3);
    CHECK(write_frames(scene, in_folder("zoo_all.glb"), &range, 3, &f, NULL) == SUPPLE_OK);
    supple_scene *back = load(in_folder("zoo_all.glb"));
    REQUIRE(back);
    double position, normal;
    play(back, 0, 3, &f, &position, &normal);
    CHECK(position < 2e-6 && normal < 1e-6);
    json_t *views = json_object_get(back->document->json, "bufferViews");
    CHECK(json_integer_value(member(views, 12, "byteLength")) == 8);
    float uv[2];
    memcpy(uv, back->document->buffer[0].data + json_integer_value(member(views, 12, "byteOffset")), 8);
    CHECK(uv[0] == 0.25f && uv[1] == 0.75f);
    CHECK(member(json_object_get(back->document->json, "accessors"), 13, "sparse") != NULL);
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

/* A mirrored rig: in world space the triangles are turned round, as viewers did by the sign of the transform. */
TEST(mirrored_meshes_stay_right_side_out)
{
    supple_scene *scene = load_zoo("\"name\":\"root\",", "\"name\":\"root\",\"scale\":[-1,1,1],");
    REQUIRE(scene);
    supple_range range = {1, 0, 4};
    frames f = make_frames(scene, &range, 3);
    CHECK(write_frames(scene, in_folder("zoo_mirror.glb"), &range, 3, &f, NULL) == SUPPLE_OK);
    supple_scene *back = load(in_folder("zoo_mirror.glb"));
    REQUIRE(back);
    double position, normal;
    play(back, 0, 3, &f, &position, &normal);
    CHECK(position < 2e-6 && normal < 1e-6);
    for (int32_t i = 0; i < back->instance_count; i++) {
        const spl_primitive *old = scene->mesh[scene->instance[i].mesh].primitive;
        const spl_primitive *new = back->mesh[back->instance[i].mesh].primitive;
        int32_t node = back->instance[i].node;
        /* 1, 4 and 7 hang on mirrored joints; 2 and 3 are rigid and keep their transform; 6 is not mirrored */
        bool turned = node == 1 || node == 4 || node == 7;
        CHECK(old->triangle_count == new->triangle_count);
        for (int32_t t = 0; t < old->triangle_count; t++) {
            CHECK(new->triangle[3 * t] == old->triangle[3 * t]);
            CHECK(new->triangle[3 * t + 1] == old->triangle[3 * t + (turned ? 2 : 1)]);
            CHECK(new->triangle[3 * t + 2] == old->triangle[3 * t + (turned ? 1 : 2)]);
        }
    }
    supple_scene_destroy(back);
    supple_scene_destroy(scene);
    free_frames(&f);
}

/* The accessor of an attribute that the reader has no reason to look at. */
TEST(broken_accessors_are_refused)
{
    supple_scene *scene = load_zoo("\"byteOffset\":4,", "\"byteOffset\":20,");
    REQUIRE(scene);
    supple_range range = {1, 0, 4};
    frames f = make_frames(scene, &range, 3);
    supple_error error;
    clean_folder(folder);
    CHECK(write_frames(scene, in_folder("bad.glb"), &range, 3, &f, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "accessor 15") != NULL && files_in(folder) == 0);
    supple_scene_destroy(scene);
    free_frames(&f);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

TEST(whole_or_nothing)
{
    static const char *const outputs[] = {"a.glb", "a.gltf"};
    supple_scene *scene = load_zoo(NULL, NULL);
    REQUIRE(scene);
    supple_range range = {1, 0, 4};
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 3};
    frames f = make_frames(scene, &range, 3);
    supple_frame frame = frame_at(&f, 0, 0);
    for (int i = 0; i < 2; i++) {
        supple_writer *w;
        clean_folder(folder);
        REQUIRE(spl_writer_open_with(all_formats, FORMAT_COUNT, scene, in_folder(outputs[i]), &plan, NULL, &w, NULL) ==
                SUPPLE_OK);
        CHECK(supple_writer_frame(w, &frame, NULL) == SUPPLE_OK);
        supple_writer_abort(w);
        CHECK(files_in(folder) == 0);
        REQUIRE(spl_writer_open_with(all_formats, FORMAT_COUNT, scene, in_folder(outputs[i]), &plan, NULL, &w, NULL) ==
                SUPPLE_OK);
        supple_frame bare = frame;
        bare.normal = NULL;
        CHECK(supple_writer_frame(w, &bare, NULL) == SUPPLE_ERROR_ARGUMENT);
        CHECK(supple_writer_close(w, NULL) == SUPPLE_ERROR_OUTPUT);
        CHECK(files_in(folder) == 0);
        mkdir(in_folder(outputs[i]), 0755);
        CHECK(write_frames(scene, in_folder(outputs[i]), &range, 3, &f, NULL) == SUPPLE_ERROR_OUTPUT);
        CHECK(files_in(folder) == 1);
    }
    clean_folder(folder);
    mkdir(in_folder("a.bin"), 0755);
    CHECK(write_frames(scene, in_folder("a.gltf"), &range, 3, &f, NULL) == SUPPLE_ERROR_OUTPUT);
    CHECK(files_in(folder) == 1);
    clean_folder(folder);
    CHECK(write_frames(scene, in_folder("a.gltf"), &range, 3, &f, NULL) == SUPPLE_OK);
    CHECK(files_in(folder) == 2);
    supple_scene_destroy(scene);
    free_frames(&f);
}

TEST(the_input_and_its_buffer_are_never_overwritten)
{
    supple_scene *zoo = load_zoo(NULL, NULL);
    REQUIRE(zoo);
    supple_range range = {1, 0, 4}, again = {0, 0, 2};
    frames f = make_frames(zoo, &range, 3);
    clean_folder(folder);
    CHECK(write_frames(zoo, in_folder("in.gltf"), &range, 3, &f, NULL) == SUPPLE_OK);
    supple_scene *scene = load(in_folder("in.gltf")); /* with in.bin beside it */
    REQUIRE(scene);
    frames g = make_frames(scene, &again, 3);
    supple_error error;
    CHECK(write_frames(scene, in_folder("in.gltf"), &again, 3, &g, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, "would overwrite the input") != NULL);
    CHECK(write_frames(scene, in_folder("in.GLTF"), &again, 3, &g, &error) == SUPPLE_ERROR_ARGUMENT); /* in.bin */
    CHECK(strstr(error.message, "in.bin: would overwrite") != NULL);
    CHECK(files_in(folder) == 2);
    supple_scene_destroy(scene);
    supple_scene_destroy(zoo);
    free_frames(&f);
    free_frames(&g);
}

TEST(every_allocation_may_fail)
{
    static const char *const outputs[] = {"a.glb", "a.gltf"};
    supple_scene *scene = load_zoo(NULL, NULL);
    REQUIRE(scene);
    supple_range range = {1, 1, 3}; /* a part: the channels are sampled */
    frames f = make_frames(scene, &range, 5);
    for (int i = 0; i < 2; i++) {
        int n = 0;
        for (supple_result r = SUPPLE_ERROR_MEMORY; r != SUPPLE_OK && n < 500; n++) {
            clean_folder(folder);
            supple_config config = limited_config(n);
            r = write_ranges(scene, in_folder(outputs[i]), &range, 1, 5, &f, &config, NULL);
            CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
            CHECK(blocks_alive == 0);
            CHECK((files_in(folder) == 0) == (r != SUPPLE_OK));
        }
        CHECK(n > 20 && n < 500);
    }
    supple_scene_destroy(scene);
    free_frames(&f);
}

TEST_CASES(RUN(a_flat_strip), RUN(a_figure_below_a_turned_node), RUN(a_figure_with_images),
           RUN(an_animal_without_indices), RUN(parts_with_props), RUN(several_clips_in_one_file),
           RUN(rest_pose_is_a_still_mesh), RUN(everything_else_is_carried_through),
           RUN(unknown_references_keep_all_numbers), RUN(mirrored_meshes_stay_right_side_out),
           RUN(no_more_than_255_frames), RUN(broken_accessors_are_refused), RUN(whole_or_nothing),
           RUN(the_input_and_its_buffer_are_never_overwritten), RUN(every_allocation_may_fail))
