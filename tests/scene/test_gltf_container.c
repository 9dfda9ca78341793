/* The container: .glb chunks, base64, URIs, versions and extensions; and the host's services while loading. */
#include "scene/document.h"
#include "scene/gltf_text.h"

#include <sys/stat.h>
#include <unistd.h>

static const float nothing[1];

/* ---- .glb ------------------------------------------------------------------------------------------------------- */

typedef struct glb {
    uint8_t bytes[4096];
    size_t size;
} glb;

static void put_u32(glb *g, size_t at, uint32_t value)
{
    for (int i = 0; i < 4; i++) g->bytes[at + (size_t)i] = (uint8_t)(value >> 8 * i);
}

static void add_chunk(glb *g, uint32_t kind, const char *data, size_t size)
{
    put_u32(g, g->size, (uint32_t)size);
    put_u32(g, g->size + 4, kind);
    memcpy(g->bytes + g->size + 8, data, size);
    g->size += 8 + size;
    put_u32(g, 8, (uint32_t)g->size);
}

enum { JSON = 0x4e4f534a, BIN = 0x004e4942 };

static glb begin_glb(void)
{
    glb g = {.size = 12};
    memcpy(g.bytes, "glTF\2\0\0\0", 8);
    return g;
}

static const char triangle_json[] =
    "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":33}],\"nodes\":[{\"mesh\":0}],"
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":33}],\"accessors\":[{\"bufferView\":0,\"componentType\":5121,"
    "\"type\":\"VEC3\",\"count\":11}],\"meshes\":[{\"primitives\":[{\"mode\":0,\"attributes\":{\"POSITION\":0}}]}]}   ";

static supple_result load_glb(const glb *g, supple_scene **scene, supple_error *error)
{
    return supple_scene_load_memory(g->bytes, g->size, "made.glb", NULL, scene, error);
}

static bool glb_refused(const glb *g, const char *word)
{
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = load_glb(g, &scene, &error);
    bool ok = result == SUPPLE_ERROR_INPUT && !scene && strstr(error.message, word);
    if (!ok) printf("    result %d: %s\n", (int)result, error.message);
    supple_scene_destroy(scene);
    return ok;
}

TEST(chunks_are_found_and_padding_is_ignored)
{
    char bin[36];
    for (int i = 0; i < 36; i++) bin[i] = (char)i;
    glb g = begin_glb();
    add_chunk(&g, JSON, triangle_json, sizeof triangle_json); /* spaces and a zero behind the JSON */
    add_chunk(&g, 0x21212121, "else", 4);                     /* unknown chunks are skipped */
    add_chunk(&g, BIN, bin, sizeof bin);
    g.bytes[g.size++] = 'x'; /* the header's length counts, not the file's */
    supple_scene *scene;
    supple_error error = {0};
    REQUIRE(load_glb(&g, &scene, &error) == SUPPLE_OK);
    CHECK(scene->vertex_count == 11 && scene->mesh[0].primitive[0].position[32] == 32);
    CHECK(scene->document->buffer_count == 1 && scene->document->buffer[0].size == 33);
    CHECK(json_is_object(scene->document->json) && !scene->from_file && strcmp(scene->path, "made.glb") == 0);
    supple_scene_destroy(scene);
}

TEST(a_glb_needs_no_binary_chunk)
{
    glb g = begin_glb();
    add_chunk(&g, JSON, "{\"asset\":{\"version\":\"2.1\"}}  ", 29);
    supple_scene *scene;
    CHECK(load_glb(&g, &scene, NULL) == SUPPLE_OK);
    supple_scene_destroy(scene);
}

TEST(broken_containers_are_refused)
{
    glb g = begin_glb();
    add_chunk(&g, JSON, triangle_json, sizeof triangle_json);
    CHECK(glb_refused(&g, "buffer 0 has no data"));
    add_chunk(&g, BIN, "0123456789012345678901234567890", 32);
    CHECK(glb_refused(&g, "33 bytes announced, 32 there"));
    glb version = g;
    version.bytes[4] = 1;
    CHECK(glb_refused(&version, "version 1"));
    glb length = g;
    put_u32(&length, 8, (uint32_t)g.size + 1);
    CHECK(glb_refused(&length, "cut short"));
    put_u32(&length, 8, (uint32_t)g.size - 36); /* ends within the header of the BIN chunk */
    CHECK(glb_refused(&length, "chunk's header"));
    glb chunk = g;
    put_u32(&chunk, 12, UINT32_MAX);
    CHECK(glb_refused(&chunk, "cut short"));
    glb order = begin_glb();
    add_chunk(&order, BIN, "0123", 4);
    CHECK(glb_refused(&order, "first chunk"));
    glb twice = begin_glb();
    add_chunk(&twice, JSON, triangle_json, sizeof triangle_json);
    add_chunk(&twice, JSON, triangle_json, sizeof triangle_json);
    CHECK(glb_refused(&twice, "two JSON chunks"));
    glb empty = begin_glb();
    put_u32(&empty, 8, 12);
    CHECK(glb_refused(&empty, "no JSON chunk"));
    add_chunk(&empty, JSON, "    ", 4);
    CHECK(glb_refused(&empty, "no JSON"));
    empty.size = 7;
    CHECK(glb_refused(&empty, "12 bytes"));
    empty.size = 0;
    CHECK(glb_refused(&empty, "no JSON"));
}

/* ---- the JSON as a whole ---------------------------------------------------------------------------------------- */

static bool text_refused(const char *text, const char *word)
{
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = supple_scene_load_memory(text, strlen(text), NULL, NULL, &scene, &error);
    bool ok = result == SUPPLE_ERROR_INPUT && !scene && strstr(error.message, word) && !strchr(error.message, '\n');
    if (!ok) printf("    result %d: %s\n", (int)result, error.message);
    supple_scene_destroy(scene);
    return ok;
}

TEST(what_is_no_gltf_is_refused)
{
    CHECK(text_refused("hello", "JSON"));
    CHECK(text_refused("[]", "not an object"));
    CHECK(text_refused("{}", "asset.version"));
    CHECK(text_refused("{\"asset\":{\"version\":\"1.0\"}}", "'1.0'"));
    CHECK(text_refused("{\"asset\":{\"version\":2}}", "asset.version"));
    CHECK(text_refused("{\"asset\":{\"version\":\"2.1\",\"minVersion\":\"2.1\"}}", "'2.1'"));
    static char deep[100000];
    memset(deep, '[', sizeof deep - 1);
    CHECK(text_refused(deep, "JSON"));
    supple_scene *scene;
    static const char marked[] = "\xef\xbb\xbf{\"asset\":{\"version\":\"2.0\"}}\n";
    CHECK(supple_scene_load_memory(marked, strlen(marked), NULL, NULL, &scene, NULL) == SUPPLE_OK);
    supple_scene_destroy(scene);
}

TEST(a_flood_of_values_is_refused_before_parsing)
{
    size_t size = (size_t)20 << 20;
    char *text = malloc(size);
    REQUIRE(text);
    for (size_t i = 0; i < size; i++) text[i] = i % 2 ? '{' : ',';
    supple_scene *scene;
    supple_error error = {0};
    CHECK(supple_scene_load_memory(text, size, NULL, NULL, &scene, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "too many values") != NULL);
    free(text);
}

TEST(required_extensions_are_supported_or_named)
{
    static const char *const good[] = {"KHR_mesh_quantization",
                                       "KHR_texture_transform",
                                       "KHR_materials_unlit",
                                       "KHR_materials_anything",
                                       "KHR_lights_punctual",
                                       "KHR_draco_mesh_compression",
                                       "VRM",
                                       "VRMC_vrm"};
    static const char *const warn[] = {"KHR_texture_basisu", "EXT_texture_webp", "KHR_animation_pointer"};
    static const char *const bad[][2] = {{"KHR_meshopt_compression", "without meshopt"},
                                         {"ACME_secret", "ACME_secret"},
                                         {"KHR_mesh_quantization2", "KHR_mesh_quantization2"}};
    char rest[200];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(rest, sizeof rest, "'extensionsRequired':['%s']", good[i]);
        supple_scene *scene = load_text(nothing, sizeof nothing, rest);
        CHECK(scene && scene->warning_count == 0);
        supple_scene_destroy(scene);
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(rest, sizeof rest, "'extensionsRequired':['%s']", warn[i]);
        supple_scene *scene = load_text(nothing, sizeof nothing, rest);
        CHECK(scene && warned(scene, warn[i]));
        supple_scene_destroy(scene);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(rest, sizeof rest, "'extensionsRequired':['KHR_materials_unlit','%s']", bad[i][0]);
        CHECK(refused(nothing, sizeof nothing, rest, bad[i][0]));
        CHECK(refused(nothing, sizeof nothing, rest, bad[i][1]));
    }
    CHECK(refused(nothing, sizeof nothing, "'extensionsRequired':[1]", "extensionsRequired"));
    supple_scene *scene = load_text(nothing, sizeof nothing, "'extensionsUsed':['ACME_secret']");
    CHECK(scene != NULL); /* used is not required */
    supple_scene_destroy(scene);
}

/* ---- URIs ------------------------------------------------------------------------------------------------------- */

/* Loads a .gltf whose only buffer has this URI and length. */
static supple_result load_uri(const char *path, const char *uri, int length, supple_scene **scene, supple_error *error)
{
    char text[1000];
    int n = snprintf(text, sizeof text,
                     "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":%d,\"uri\":\"%s\"}]}", length, uri);
    if (!path) return supple_scene_load_memory(text, (size_t)n, "here", NULL, scene, error);
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(text, 1, (size_t)n, file);
        fclose(file);
    }
    return spl_gltf_load_file(path, NULL, scene, error);
}

static bool uri_refused(const char *path, const char *uri, const char *word)
{
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = load_uri(path, uri, 3, &scene, &error);
    bool ok = result == SUPPLE_ERROR_INPUT && !scene && strstr(error.message, word);
    if (!ok) printf("    %s: result %d: %s\n", uri, (int)result, error.message);
    supple_scene_destroy(scene);
    return ok;
}

TEST(data_uris_are_decoded)
{
    static const struct {
        const char *uri, *bytes;
    } cases[] = {{"data:application/octet-stream;base64,QUJDRA==", "ABCD"},
                 {"data:;base64,QUJDREU=", "ABCDE"},
                 {"data:;base64,QUJDREVG", "ABCDEF"},
                 {"data:;base64,QUJDRA", "ABCD"},
                 {"data:text/plain,A%42C%44", "ABCD"},
                 {"data:;base64,+/+/", "\xfb\xff\xbf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        supple_scene *scene;
        size_t n = strlen(cases[i].bytes);
        REQUIRE(load_uri(NULL, cases[i].uri, (int)n, &scene, NULL) == SUPPLE_OK);
        CHECK(scene->document->buffer[0].size == n);
        CHECK(memcmp(scene->document->buffer[0].data, cases[i].bytes, n) == 0);
        supple_scene_destroy(scene);
    }
    static const char *const bad[] = {"data:;base64,QUJD=", "data:;base64,Q",    "data:;base64,QU*D",
                                      "data:;base64,QU=D",  "data:;base64,====", "data:;base64,QUJ%44",
                                      "data:,%4",           "data:,%zz"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(uri_refused(NULL, bad[i], "not valid base64"));
    CHECK(uri_refused(NULL, "data:;base64", "comma"));
    CHECK(uri_refused(NULL, "data:;base64,QUI=", "3 bytes announced, 2 there"));
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (!file) return;
    fputs(text, file);
    fclose(file);
}

TEST(files_are_read_below_the_folder_only)
{
    char top[] = "gltf-uri-XXXXXX";
    REQUIRE(mkdtemp(top));
    REQUIRE(chdir(top) == 0);
    mkdir("in", 0755);
    mkdir("in/sub", 0755);
    write_file("outside.bin", "xyz");
    write_file("in/a b.bin", "ABC");
    write_file("in/sub/deep.bin", "DEF");
    REQUIRE(symlink("../outside.bin", "in/link.bin") == 0 && symlink("sub/deep.bin", "in/inner.bin") == 0);
    REQUIRE(mkfifo("in/pipe", 0600) == 0);
    static const char *const good[] = {"a%20b.bin", "a b.bin", "sub/deep.bin", "./sub/deep.bin", "inner.bin"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        supple_scene *scene;
        supple_error error = {0};
        supple_result result = load_uri("in/test.gltf", good[i], 3, &scene, &error);
        if (result) printf("    %s\n", error.message);
        REQUIRE(result == SUPPLE_OK);
        CHECK(memcmp(scene->document->buffer[0].data, i < 2 ? "ABC" : "DEF", 3) == 0);
        CHECK(scene->from_file && scene->file_count == 1 && strstr(scene->file[0], i < 2 ? "a b.bin" : "sub/deep.bin"));
        supple_scene_destroy(scene);
    }
    CHECK(uri_refused("in/test.gltf", "../outside.bin", "outside the input's folder"));
    CHECK(uri_refused("in/test.gltf", "sub/../../outside.bin", "outside the input's folder"));
    CHECK(uri_refused("in/test.gltf", "sub/../inner.bin", "outside the input's folder")); /* back again, but why */
    CHECK(uri_refused("in/test.gltf", "%2e%2e/outside.bin", "outside the input's folder"));
    CHECK(uri_refused("in/test.gltf", "..%2Foutside.bin", "outside the input's folder"));
    CHECK(uri_refused("in/test.gltf", "/etc/hostname", "outside the input's folder"));
    CHECK(uri_refused("in/test.gltf", "", "outside the input's folder"));
    CHECK(uri_refused("in/test.gltf", "link.bin", "link that leads outside"));
    CHECK(uri_refused("in/test.gltf", "missing.bin", "missing beside"));
    CHECK(uri_refused("in/test.gltf", "sub", "not a readable file"));
    CHECK(uri_refused("in/test.gltf", "pipe", "not a readable file"));
    CHECK(uri_refused("in/test.gltf", "file:///etc/hostname", "not a file"));
    CHECK(uri_refused("in/test.gltf", "http://example.org/a.bin", "not a file"));
    CHECK(uri_refused("in/test.gltf", "a%00.bin", "not a valid URI"));
    CHECK(uri_refused("in/test.gltf", "a%2", "not a valid URI"));
    CHECK(uri_refused(NULL, "in/sub/deep.bin", "in memory"));
    static const char *const made[] = {"in/pipe",    "in/link.bin",  "in/inner.bin", "in/sub/deep.bin",
                                       "in/a b.bin", "in/test.gltf", "outside.bin"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) unlink(made[i]);
    CHECK(rmdir("in/sub") == 0 && rmdir("in") == 0 && chdir("..") == 0 && rmdir(top) == 0);
}

/* ---- the host's services ---------------------------------------------------------------------------------------- */

static void count_line(void *user, supple_log_level level, const char *message)
{
    if (level == SUPPLE_LOG_WARNING && strstr(message, "handmade: ")) ++*(int *)user;
}

static bool stop_late(void *user, const char *stage, double fraction)
{
    (void)user;
    return strcmp(stage, "load") != 0 || fraction < 0.5;
}

TEST(warnings_are_logged_and_loading_can_be_cancelled)
{
    supple_config config = supple_config_default();
    int lines = 0;
    config.log = count_line;
    config.log_user = &lines;
    supple_scene *scene;
    supple_error error;
    static const char rest[] = "'nodes':[{'rotation':[0,0,0,0]}]";
    REQUIRE(load_text_with(&config, nothing, sizeof nothing, rest, &scene, &error) == SUPPLE_OK);
    CHECK(lines == 1 && scene->warning_count == 1);
    supple_scene_destroy(scene);
    config.progress = stop_late;
    CHECK(load_text_with(&config, nothing, sizeof nothing, rest, &scene, &error) == SUPPLE_ERROR_CANCELLED && !scene);
    config.cookie = 0;
    CHECK(load_text_with(&config, nothing, sizeof nothing, rest, &scene, &error) == SUPPLE_ERROR_ARGUMENT && !scene);
    CHECK(supple_scene_load_memory(NULL, 0, NULL, NULL, &scene, &error) == SUPPLE_ERROR_ARGUMENT && !scene);
}

TEST(a_flood_of_warnings_is_cut)
{
    static char rest[40000];
    size_t n = (size_t)sprintf(rest, "'nodes':[{}");
    for (int i = 0; i < 1000; i++) n += (size_t)sprintf(rest + n, ",{'rotation':[0,0,0,0]}");
    sprintf(rest + n, "]");
    supple_scene *scene = load_text(nothing, sizeof nothing, rest);
    REQUIRE(scene);
    CHECK(scene->warning_count == 101 && warned(scene, "left out"));
    supple_scene_destroy(scene);
}

/* A file with some of everything: skin, two sets, morphs, a cubic clip, sparse, materials, images and warnings. */
static const char everything[] =
    "'bufferViews':[{'buffer':0,'byteLength':256}],'accessors':["
    "{'bufferView':0,'componentType':5126,'type':'VEC3','count':3},"
    "{'bufferView':0,'byteOffset':36,'componentType':5121,'type':'VEC4','count':3},"
    "{'bufferView':0,'byteOffset':48,'componentType':5121,'normalized':true,'type':'VEC4','count':3},"
    "{'componentType':5126,'type':'VEC3','count':3,'sparse':{'count':1,'indices':{'bufferView':0,"
    "'componentType':5121},'values':{'bufferView':0}}},"
    "{'bufferView':0,'byteOffset':60,'componentType':5126,'type':'SCALAR','count':2},"
    "{'bufferView':0,'byteOffset':68,'componentType':5126,'type':'VEC4','count':6},"
    "{'bufferView':0,'byteOffset':36,'componentType':5121,'type':'SCALAR','count':3},"
    "{'bufferView':0,'byteOffset':164,'componentType':5126,'type':'MAT4','count':1}],"
    "'meshes':[{'name':'body','weights':[0.5],'primitives':[{'attributes':{'POSITION':0,'NORMAL':0,'JOINTS_0':1,"
    "'WEIGHTS_0':2,'JOINTS_1':1,'WEIGHTS_1':2},'indices':6,'targets':[{'POSITION':3,'NORMAL':0}],'material':0}]}],"
    "'nodes':[{'mesh':0,'skin':0,'name':'n'},{'name':'j','rotation':[0,0,0,0]}],'skins':[{'joints':[1],"
    "'inverseBindMatrices':7}],'animations':[{'name':'a','channels':[{'sampler':0,'target':{'node':1,'path':"
    "'rotation'}}],'samplers':[{'input':4,'output':5,'interpolation':'CUBICSPLINE'}]},{'name':'a'}],"
    "'images':[{'uri':'data:,png'},{'uri':'no.png'}],'textures':[{'source':0}],"
    "'materials':[{'name':'m','pbrMetallicRoughness':{'baseColorTexture':{'index':0}}}]";

TEST(running_out_of_memory_anywhere_is_an_error_without_a_leak)
{
    uint8_t data[256] = {0};
    memset(data + 48, 60, 12);                                                  /* weights */
    memcpy(data + 64, &(float){1}, 4);                                          /* the second key's time */
    for (size_t i = 0; i < 4; i++) memcpy(data + 164 + 20 * i, &(float){1}, 4); /* an identity */
    size_t failures = 0;
    for (size_t n = 0;; n++) {
        meter m = {.fail = true, .fail_at = n};
        supple_config config = metered(&m);
        supple_scene *scene;
        supple_error error = {0};
        supple_result result = load_text_with(&config, data, sizeof data, everything, &scene, &error);
        if (result == SUPPLE_OK) check_scene(scene); /* a warning may get lost, nothing else */
        bool all = m.calls <= n;
        if (all) CHECK(result == SUPPLE_OK && scene && scene->warning_count >= 4);
        if (!all && result) CHECK(result == SUPPLE_ERROR_MEMORY && !scene && error.message[0]);
        failures += result != SUPPLE_OK;
        supple_scene_destroy(scene);
        CHECK(m.live == 0);
        if (all) break;
        REQUIRE(n < 10000 && !test_failures);
    }
    CHECK(failures > 50);
}

TEST_CASES(RUN(chunks_are_found_and_padding_is_ignored), RUN(a_glb_needs_no_binary_chunk),
           RUN(broken_containers_are_refused), RUN(what_is_no_gltf_is_refused),
           RUN(a_flood_of_values_is_refused_before_parsing), RUN(required_extensions_are_supported_or_named),
           RUN(data_uris_are_decoded), RUN(files_are_read_below_the_folder_only),
           RUN(warnings_are_logged_and_loading_can_be_cancelled), RUN(a_flood_of_warnings_is_cut),
           RUN(running_out_of_memory_anywhere_is_an_error_without_a_leak))
