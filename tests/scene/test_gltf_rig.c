/* Nodes, skins, animations, materials and images of handmade files. */
#include "core/memory.h"
#include "scene/document.h"
#include "scene/gltf_text.h"

#define LOAD(data, rest) load_text(&(data), sizeof(data), rest)

static const float nothing[1];

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

TEST(nodes_keep_their_transforms)
{
    supple_scene *scene =
        LOAD(nothing, "'nodes':[{'name':'m\\u0007','matrix':[2,0,0,0, 0,3,0,0, 0,0,4,0, 5,6,7,1]},"
                      "{'translation':[1,2,3],'rotation':[0,0,1,0],'scale':[2,2,2]},{'rotation':[0,0,0,0]},{},"
                      "{'matrix':[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,2]}]");
    REQUIRE(scene);
    CHECK(scene->node[4].matrix.m[15] == 1 && warned(scene, "last row"));
    const spl_node *n = scene->node;
    CHECK(n[0].has_matrix && n[0].matrix.m[0] == 2 && n[0].matrix.m[13] == 6 && n[0].matrix.m[15] == 1);
    CHECK(strcmp(n[0].name, "m?") == 0); /* names reach terminals */
    CHECK(!n[1].has_matrix && n[1].t[2] == 3 && n[1].r[2] == 1 && n[1].r[3] == 0 && n[1].s[1] == 2);
    CHECK_NEAR(n[1].matrix.m[0], -2, 1e-12); /* half a turn about z, twice the size */
    CHECK(n[1].matrix.m[12] == 1);
    CHECK(n[2].r[3] == 1 && warned(scene, "rotation of length zero"));
    CHECK(n[3].r[3] == 1 && n[3].s[0] == 1 && n[3].mesh == -1 && n[3].skin == -1 && n[3].parent == -1);
    CHECK(strcmp(n[3].name, "") == 0);
    supple_scene_destroy(scene);
}

TEST(parents_come_before_children)
{
    supple_scene *scene = LOAD(nothing, "'nodes':[{},{'children':[0]},{'children':[1,3]},{},{'children':[2]}],"
                                        "'scenes':[{'nodes':[4]},{'nodes':[3]}],'scene':1");
    REQUIRE(scene);
    CHECK(scene->node[0].parent == 1 && scene->node[1].parent == 2 && scene->node[3].parent == 2);
    CHECK(scene->node[2].parent == 4 && scene->node[4].parent == -1);
    CHECK(scene->node_order[0] == 4 && scene->node_order[1] == 2 && scene->node_order[2] == 1);
    CHECK(warned(scene, "2 scenes") && warned(scene, "child of another"));
    supple_scene_destroy(scene);
}

TEST(hierarchies_that_are_no_forest_are_refused)
{
    static const char *const cases[][2] = {
        {"'nodes':[{'children':[1]},{'children':[2]},{'children':[0]}]", "cycle"},
        {"'nodes':[{'children':[0]}]", "its own child"},
        {"'nodes':[{'children':[2]},{'children':[2]},{}]", "two parents"},
        {"'nodes':[{'children':[1,1]},{}]", "two parents"},
        {"'nodes':[{'children':[1]}]", "child 1"},
        {"'nodes':[{'children':[-1]}]", "child -1"},
        {"'nodes':[{'children':4}]", "children"},
        {"'nodes':{}", "\"nodes\""},
        {"'nodes':[1]", "\"nodes\""},
        {"'nodes':[{'mesh':0}]", "\"mesh\" is 0"},
        {"'nodes':[{'matrix':[1,2]}]", "16 numbers"},
        {"'nodes':[{'translation':[1e30,0,0]}]", "translation"},
        {"'nodes':[{'translation':['1',0,0]}]", "translation"},
        {"'nodes':[{}],'scenes':[{'nodes':[1]}]", "scene 0"},
        {"'nodes':[{}],'scene':0", "\"scene\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(refused(nothing, sizeof nothing, cases[i][0], cases[i][1]));
}

TEST(a_deep_chain_is_ordered_without_recursion)
{
    static char rest[60000];
    size_t n = (size_t)sprintf(rest, "'nodes':[");
    int count = 2500;
    for (int i = 0; i < count - 1; i++) n += (size_t)sprintf(rest + n, "{'children':[%d]},", i + 1);
    sprintf(rest + n, "{}]");
    supple_scene *scene = LOAD(nothing, rest);
    REQUIRE(scene);
    CHECK(scene->node_order[count - 1] == count - 1 && scene->node[count - 1].parent == count - 2);
    supple_scene_destroy(scene);
}

/* ---- skins ------------------------------------------------------------------------------------------------------ */

#define BIND                                                                                                           \
    "'bufferViews':[{'buffer':0,'byteLength':128}],"                                                                   \
    "'accessors':[{'bufferView':0,'componentType':5126,'type':'MAT4','count':2}],"
#define TWO_JOINTS "'nodes':[{'name':'hip'},{'name':'knee'}]," BIND "'skins':[{'joints':[0,1],'inverseBindMatrices':0}]"

TEST(bind_matrices_must_be_invertible)
{
    float m[2][16] = {{2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1},
                      {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    supple_scene *scene = LOAD(m, TWO_JOINTS);
    REQUIRE(scene);
    CHECK(scene->skin[0].inverse_bind[0].m[0] == 2 && scene->skin[0].inverse_bind[0].m[14] == 3);
    CHECK(scene->joint_count == 2 && scene->warning_count == 0);
    supple_scene_destroy(scene);
    m[1][15] = 3;
    scene = LOAD(m, TWO_JOINTS);
    REQUIRE(scene);
    CHECK(scene->skin[0].inverse_bind[1].m[15] == 1 && warned(scene, "last row"));
    supple_scene_destroy(scene);
    m[1][5] = 0;
    CHECK(refused(m, sizeof m, TWO_JOINTS, "singular bind matrix of joint 'knee'"));
    m[1][5] = (float)NAN;
    CHECK(refused(m, sizeof m, TWO_JOINTS, "'knee' (1) is not finite"));
    m[1][5] = 1e30f;
    CHECK(refused(m, sizeof m, TWO_JOINTS, "'knee' (1) is beyond 1e18"));
}

TEST(skins_are_checked)
{
    float m[2][16] = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
                      {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    supple_scene *scene = LOAD(m, "'nodes':[{},{'skin':0}],'skins':[{'joints':[0,1,0]}]");
    REQUIRE(scene);
    CHECK(scene->joint_count == 3 && scene->skin[0].inverse_bind[2].m[10] == 1);
    CHECK(warned(scene, "joint twice") && warned(scene, "no mesh") && scene->node[1].skin == -1);
    supple_scene_destroy(scene);
    CHECK(refused(m, sizeof m, "'nodes':[{}],'skins':[{'joints':[]}]", "no joints"));
    CHECK(refused(m, sizeof m, "'nodes':[{}],'skins':[{}]", "no joints"));
    CHECK(refused(m, sizeof m, "'nodes':[{}],'skins':[{'joints':[1]}]", "joint 0 is 1"));
    CHECK(refused(m, sizeof m, "'nodes':[{}]," BIND "'skins':[{'joints':[0,0,0],'inverseBindMatrices':0}]",
                  "each of its 3 joints"));
    CHECK(refused(m, sizeof m, "'nodes':[{}],'skins':[{'joints':[0],'inverseBindMatrices':0}]", "inverseBindMatrices"));
}

/* ---- animations ------------------------------------------------------------------------------------------------- */

/* Three keys and room for cubic rotations. */
typedef struct keys {
    float time[3];        /* at 0 */
    float value[36];      /* at 12 */
    int16_t rotation[12]; /* at 156 */
} keys;

#define ANIMATE(interpolation, path, output)                                                                           \
    "'nodes':[{'name':'n'}],'bufferViews':[{'buffer':0,'byteLength':180}],'accessors':["                               \
    "{'bufferView':0,'componentType':5126,'type':'SCALAR','count':3}," output                                          \
    "],'animations':[{'name':'wave','channels':[{'sampler':0,'target':{'node':0,'path':'" path                         \
    "'}}],'samplers':[{'input':0,'output':1" interpolation "}]}]"
#define VALUES(type, count) "{'bufferView':0,'byteOffset':12,'componentType':5126,'type':'" type "','count':" #count "}"
#define STEP                ",'interpolation':'STEP'"
#define CUBIC               ",'interpolation':'CUBICSPLINE'"

static keys some_keys(void)
{
    keys k = {.time = {0, 0.5f, 2}};
    for (int i = 0; i < 36; i++) k.value[i] = (float)(i + 1);
    for (int i = 0; i < 12; i++) k.rotation[i] = (int16_t)(i % 4 == 3 ? 32767 : 0);
    return k;
}

TEST(channels_of_every_interpolation_are_read)
{
    keys k = some_keys();
    supple_scene *scene = LOAD(k, ANIMATE("", "translation", VALUES("VEC3", 3)));
    REQUIRE(scene);
    const spl_channel *c = &scene->clip[0].channel[0];
    CHECK(scene->clip[0].duration == 2 && scene->clip[0].channel_count == 1 && c->node == 0);
    CHECK(c->interpolation == SPL_LINEAR && c->path == SPL_PATH_TRANSLATION && c->key_count == 3 && c->width == 3);
    CHECK(c->time[1] == 0.5f && c->value[8] == 9);
    supple_scene_destroy(scene);
    scene = LOAD(k, ANIMATE(STEP, "scale", VALUES("VEC3", 3)));
    REQUIRE(scene);
    CHECK(scene->clip[0].channel[0].interpolation == SPL_STEP && scene->clip[0].channel[0].path == SPL_PATH_SCALE);
    supple_scene_destroy(scene);
    scene = LOAD(k, ANIMATE(CUBIC, "rotation", VALUES("VEC4", 9)));
    REQUIRE(scene);
    c = &scene->clip[0].channel[0];
    CHECK(c->interpolation == SPL_CUBIC && c->key_count == 3 && c->width == 4 && c->value[35] == 36);
    supple_scene_destroy(scene);
}

TEST(integer_rotations_are_normalised)
{
    keys k = some_keys();
    k.rotation[0] = -32768;
    supple_scene *scene = LOAD(
        k, ANIMATE("", "rotation",
                   "{'bufferView':0,'byteOffset':156,'componentType':5122,'normalized':true,'type':'VEC4','count':3}"));
    REQUIRE(scene);
    const spl_channel *c = &scene->clip[0].channel[0];
    CHECK(c->value[0] == -1 && c->value[3] == 1 && c->value[4] == 0 && c->value[11] == 1);
    supple_scene_destroy(scene);
}

TEST(broken_keys_are_refused_by_clip_and_channel)
{
    keys k = some_keys();
    static const char translate[] = ANIMATE("", "translation", VALUES("VEC3", 3));
    k.time[2] = 0.25f;
    CHECK(refused(&k, sizeof k, translate, "clip 'wave', channel 0: key times decrease at key 2"));
    k.time[2] = (float)NAN;
    CHECK(refused(&k, sizeof k, translate, "the time of key 2"));
    k = some_keys();
    k.time[0] = -1;
    CHECK(refused(&k, sizeof k, translate, "the time of key 0"));
    k = some_keys();
    k.value[4] = (float)INFINITY;
    CHECK(refused(&k, sizeof k, translate, "key 1 is not finite"));
    k.value[4] = 1e30f;
    CHECK(refused(&k, sizeof k, translate, "key 1 is beyond 1e18"));
    k = some_keys();
    CHECK(refused(&k, sizeof k, ANIMATE("", "translation", VALUES("VEC3", 4)), "12 numbers (accessor 1) for 3 keys"));
    CHECK(refused(&k, sizeof k, ANIMATE("", "rotation", VALUES("VEC3", 3)), "9 numbers"));
    CHECK(refused(&k, sizeof k, ANIMATE(CUBIC, "translation", VALUES("VEC3", 3)), "27 expected"));
    CHECK(refused(&k, sizeof k, ANIMATE(",'interpolation':'WAVY'", "translation", VALUES("VEC3", 3)), "WAVY"));
}

TEST(of_equal_times_the_last_key_stays)
{
    keys k = some_keys();
    k.time[0] = 0.5f;
    supple_scene *scene = LOAD(k, ANIMATE("", "translation", VALUES("VEC3", 3)));
    REQUIRE(scene);
    const spl_channel *c = &scene->clip[0].channel[0];
    CHECK(c->key_count == 2 && c->time[0] == 0.5f && c->time[1] == 2 && c->value[0] == 4 && c->value[3] == 7);
    CHECK(warned(scene, "clip 'wave', channel 0: 1 keys share"));
    supple_scene_destroy(scene);
}

TEST(rotations_of_length_zero_become_identity)
{
    keys k = some_keys();
    memset(k.value + 4, 0, 16);
    supple_scene *scene = LOAD(k, ANIMATE("", "rotation", VALUES("VEC4", 3)));
    REQUIRE(scene);
    CHECK(scene->clip[0].channel[0].value[7] == 1 && scene->clip[0].channel[0].value[4] == 0);
    CHECK(warned(scene, "1 rotations of length zero"));
    supple_scene_destroy(scene);
    k = some_keys();
    memset(k.value, 0, 16); /* a cubic's tangents may be zero, its values not */
    memset(k.value + 16, 0, 16);
    scene = LOAD(k, ANIMATE(CUBIC, "rotation", VALUES("VEC4", 9)));
    REQUIRE(scene);
    const float *v = scene->clip[0].channel[0].value;
    CHECK(v[3] == 0 && v[7] == 8 && v[19] == 1);
    supple_scene_destroy(scene);
}

TEST(channels_that_move_nothing_are_left_out)
{
    keys k = some_keys();
    supple_scene *scene =
        LOAD(k, "'extensionsUsed':['KHR_animation_pointer'],'nodes':[{}],"
                "'bufferViews':[{'buffer':0,'byteLength':180}],'accessors':["
                "{'bufferView':0,'componentType':5126,'type':'SCALAR','count':3}," VALUES(
                    "VEC3", 3) "],'animations':[{'channels':[{'sampler':0,'target':{'path':'translation'}},"
                               "{'sampler':0,'target':{'path':'pointer'}},"
                               "{'sampler':0,'target':{'node':0,'path':'weights'}},"
                               "{'sampler':0,'target':{'node':0,'path':'scale'}}],"
                               "'samplers':[{'input':0,'output':1}]}]");
    REQUIRE(scene);
    CHECK(scene->clip[0].channel_count == 1 && scene->clip[0].channel[0].path == SPL_PATH_SCALE);
    CHECK(warned(scene, "'pointer' and is ignored") && warned(scene, "morph weights of node"));
    supple_scene_destroy(scene);
}

TEST(morph_weights_are_animated)
{
    keys k = some_keys();
#define WEIGHT_CLIP(count)                                                                                             \
    "'nodes':[{'mesh':0}],'bufferViews':[{'buffer':0,'byteLength':180}],'accessors':["                                 \
    "{'bufferView':0,'componentType':5126,'type':'SCALAR','count':3}," VALUES("SCALAR", count) "," VALUES(             \
        "VEC3",                                                                                                        \
        3) "],'meshes':[{'primitives':[{'attributes':{'POSITION':2},'targets':[{'POSITION':2},{'POSITION':2}]}]}],"    \
           "'animations':[{'channels':[{'sampler':0,'target':{'node':0,'path':'weights'}}],"                           \
           "'samplers':[{'input':0,'output':1}]}]"
    supple_scene *scene = LOAD(k, WEIGHT_CLIP(6));
    REQUIRE(scene);
    const spl_channel *c = &scene->clip[0].channel[0];
    CHECK(c->path == SPL_PATH_WEIGHTS && c->width == 2 && c->key_count == 3 && c->value[5] == 6);
    supple_scene_destroy(scene);
    CHECK(refused(&k, sizeof k, WEIGHT_CLIP(5), "5 numbers"));
}

TEST(clips_have_unique_names_and_are_found)
{
    supple_scene *scene =
        LOAD(nothing, "'animations':[{'name':'walk'},{'name':'walk'},{},{'name':'Rig|run'},"
                      "{'name':'A|jump'},{'name':'B|jump'},{'name':'walk (2)'},{'name':'1'},{'name':''}]");
    REQUIRE(scene);
    static const char *const names[] = {"walk",   "walk (2)",     "clip 2", "Rig|run", "A|jump",
                                        "B|jump", "walk (2) (2)", "1",      "clip 8"};
    REQUIRE(supple_scene_clip_count(scene) == 9);
    for (int32_t i = 0; i < 9; i++) CHECK(strcmp(supple_scene_clip_name(scene, i), names[i]) == 0);
    CHECK(supple_scene_clip_find(scene, "walk") == 0 && supple_scene_clip_find(scene, "run") == 3);
    CHECK(supple_scene_clip_find(scene, "jump") == -1 && supple_scene_clip_find(scene, "B|jump") == 5);
    CHECK(supple_scene_clip_find(scene, "1") == 7); /* an exact name wins */
    CHECK(supple_scene_clip_find(scene, "6") == 6 && supple_scene_clip_find(scene, "9") == -1);
    CHECK(supple_scene_clip_find(scene, "RUN") == 3 && supple_scene_clip_find(scene, "rig|Run") == 3); /* by letters */
    CHECK(supple_scene_clip_find(scene, "JUMP") == -1 && supple_scene_clip_find(scene, "b|jump") == 5);
    CHECK(supple_scene_clip_find(scene, "") == -1 && supple_scene_clip_find(scene, "99999999999999999999") == -1);
    CHECK(supple_scene_clip_name(scene, 9) == NULL && supple_scene_clip_name(scene, -1) == NULL);
    supple_scene_destroy(scene);
}

TEST(frames_are_counted_as_designed)
{
    keys k = some_keys();
    supple_scene *scene = LOAD(k, ANIMATE("", "translation", VALUES("VEC3", 3)));
    REQUIRE(scene);
    CHECK(supple_scene_frame_count(scene, 0, 30) == 61 && supple_scene_frame_count(scene, 0, 24) == 49);
    CHECK(supple_scene_frame_count(scene, 0, 0.4999) == 2); /* 0.9998 is as good as 1 */
    CHECK(supple_scene_frame_count(scene, -1, 30) == 1);
    CHECK(supple_scene_frame_count(scene, 0, 0) == 0 && supple_scene_frame_count(scene, 0, -1) == 0);
    CHECK(supple_scene_frame_count(scene, 0, (double)NAN) == 0 && supple_scene_frame_count(scene, 0, 1e300) == 0);
    CHECK(supple_scene_frame_count(scene, 1, 30) == 0 && supple_scene_clip_duration(scene, 1) == 0);
    supple_scene_destroy(scene);
}

TEST(totals_that_do_not_fit_are_refused)
{
    spl_primitive p = {.vertex_count = INT32_MAX};
    spl_mesh mesh = {.name = "", .primitive_count = 1, .primitive = &p};
    spl_node nodes[2] = {{.name = "a", .skin = -1}, {.name = "b", .mesh = -1, .skin = -1}};
    spl_skin skins[2] = {{.joint_count = 65536}, {.joint_count = INT32_MAX}};
    supple_config config = supple_config_default();
    supple_scene scene = {.allocator = spl_allocator_of(&config),
                          .path = "made",
                          .node_count = 2,
                          .node = nodes,
                          .mesh_count = 1,
                          .mesh = &mesh,
                          .skin_count = 1,
                          .skin = skins};
    supple_error error;
    CHECK(spl_scene_finish(&scene, &error) == SUPPLE_OK && scene.vertex_count == INT32_MAX);
    CHECK(strcmp(spl_instance_name(&scene, 0), "a") == 0 && scene.instance_count == 1 && scene.joint_count == 65536);
    nodes[1].mesh = 0;
    CHECK(spl_scene_finish(&scene, &error) == SUPPLE_ERROR_INPUT && strstr(error.message, "vertices"));
    nodes[1].mesh = -1;
    scene.skin_count = 2;
    CHECK(spl_scene_finish(&scene, &error) == SUPPLE_ERROR_INPUT && strstr(error.message, "joints"));
    spl_free(&scene.allocator, scene.instance);
}

/* ---- materials and images --------------------------------------------------------------------------------------- */

TEST(materials_find_their_images)
{
    supple_scene *scene =
        LOAD(nothing,
             "'bufferViews':[{'buffer':0,'byteOffset':1,'byteLength':2}],"
             "'images':[{'bufferView':0},{'uri':'data:image/png;base64,QUJD'},{'uri':'lost.png'},{'bufferView':9},{}],"
             "'textures':[{'source':1},{'extensions':{'KHR_texture_basisu':{'source':0}}},{}],'materials':["
             "{'name':'skin','pbrMetallicRoughness':{'baseColorFactor':[0.5,1,2,1],'baseColorTexture':{'index':0}}},"
             "{'alphaMode':'MASK','alphaCutoff':0.25,'doubleSided':true,"
             "'pbrMetallicRoughness':{'baseColorTexture':{'index':1}}},"
             "{'alphaMode':'BLEND','pbrMetallicRoughness':{'baseColorTexture':{'index':7}}}]");
    REQUIRE(scene);
    const spl_material *m = scene->material;
    CHECK(scene->material_count == 3 && scene->image_count == 5);
    CHECK(strcmp(m[0].name, "skin") == 0 && m[0].base_color[0] == 0.5f && m[0].base_color[2] == 1);
    CHECK(m[0].base_color_image == 1 && m[0].alpha == SPL_ALPHA_OPAQUE && m[0].alpha_cutoff == 0.5f);
    CHECK(m[1].base_color_image == 0 && m[1].alpha == SPL_ALPHA_MASK && m[1].alpha_cutoff == 0.25f);
    CHECK(m[1].double_sided && !m[0].double_sided && m[2].alpha == SPL_ALPHA_BLEND && m[2].base_color_image == -1);
    CHECK(scene->image[0].size == 2 && scene->image[0].data == scene->document->buffer[0].data + 1);
    CHECK(scene->image[1].size == 3 && memcmp(scene->image[1].data, "ABC", 3) == 0);
    CHECK(!scene->image[2].data && warned(scene, "lost.png") && !scene->image[3].data && !scene->image[4].data);
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(nodes_keep_their_transforms), RUN(parents_come_before_children),
           RUN(hierarchies_that_are_no_forest_are_refused), RUN(a_deep_chain_is_ordered_without_recursion),
           RUN(bind_matrices_must_be_invertible), RUN(skins_are_checked), RUN(channels_of_every_interpolation_are_read),
           RUN(integer_rotations_are_normalised), RUN(broken_keys_are_refused_by_clip_and_channel),
           RUN(of_equal_times_the_last_key_stays), RUN(rotations_of_length_zero_become_identity),
           RUN(channels_that_move_nothing_are_left_out), RUN(morph_weights_are_animated),
           RUN(clips_have_unique_names_and_are_found), RUN(frames_are_counted_as_designed),
           RUN(totals_that_do_not_fit_are_refused), RUN(materials_find_their_images))
