/* EXT_meshopt_compression: files compressed here by the same library must read as their plain twins, and damaged ones
 * must be refused without harm. */
#include "gltf_text.h"
#include "scene/document.h"
#include "scene/readers/gltf_private.h"

#ifdef SPL_HAVE_MESHOPT
#include <meshoptimizer.h>

enum { VERTICES = 25, CORNERS = 96 };

/* A bent grid of 5 x 5 vertices. */
typedef struct grid {
    float position[3 * VERTICES], normal[4 * VERTICES];
    uint32_t index[CORNERS];
} grid;

static grid make_grid(void)
{
    grid g;
    for (int i = 0; i < VERTICES; i++) {
        double x = i % 5 * 0.25, y = i / 5 * 0.25;
        const double v[3] = {x, y, x * y}, length = sqrt(x * x + y * y + 1), n[4] = {-y, -x, 1, 0};
        for (int k = 0; k < 3; k++) g.position[3 * i + k] = (float)v[k];
        for (int k = 0; k < 4; k++) g.normal[4 * i + k] = (float)(n[k] / length);
    }
    int at = 0;
    for (uint32_t y = 0; y < 4; y++)
        for (uint32_t x = 0; x < 4; x++) {
            const uint32_t a = 5 * y + x, quad[6] = {a, a + 1, a + 6, a, a + 6, a + 5};
            for (int k = 0; k < 6; k++) g.index[at++] = quad[k];
        }
    return g;
}

/* The compressed bytes of a file: positions, normals behind a filter, triangles; and its JSON. */
typedef struct squeezed {
    uint8_t data[8192];
    size_t at[4];
    char rest[3000];
} squeezed;

static squeezed make_squeezed(const grid *g, bool filtered)
{
    squeezed s = {{0}, {0}, ""};
    float position[3 * VERTICES];
    int8_t normal[4 * VERTICES];
    memcpy(position, g->position, sizeof position);
    if (filtered) meshopt_encodeFilterExp(position, VERTICES, 12, 24, g->position);
    meshopt_encodeFilterOct(normal, VERTICES, 4, 8, g->normal);
    size_t n = meshopt_encodeVertexBuffer(s.data, sizeof s.data, position, VERTICES, 12);
    s.at[1] = (n + 3) / 4 * 4;
    size_t m = meshopt_encodeVertexBuffer(s.data + s.at[1], sizeof s.data - s.at[1], normal, VERTICES, 4);
    s.at[2] = (s.at[1] + m + 3) / 4 * 4;
    size_t k = meshopt_encodeIndexBuffer(s.data + s.at[2], sizeof s.data - s.at[2], g->index, CORNERS);
    s.at[3] = s.at[2] + k;
    snprintf(s.rest, sizeof s.rest,
             "'extensionsUsed':['EXT_meshopt_compression'],'extensionsRequired':['EXT_meshopt_compression'],"
             "'bufferViews':[{'buffer':1,'byteLength':300,'byteStride':12,'extensions':{'EXT_meshopt_compression':"
             "{'buffer':0,'byteLength':%zu,'byteStride':12,'count':25,'mode':'ATTRIBUTES'%s}}},"
             "{'buffer':1,'byteOffset':300,'byteLength':100,'byteStride':4,'extensions':{'EXT_meshopt_compression':"
             "{'buffer':0,'byteOffset':%zu,'byteLength':%zu,'byteStride':4,'count':25,'mode':'ATTRIBUTES',"
             "'filter':'OCTAHEDRAL'}}},"
             "{'buffer':1,'byteOffset':400,'byteLength':192,'extensions':{'EXT_meshopt_compression':"
             "{'buffer':0,'byteOffset':%zu,'byteLength':%zu,'byteStride':2,'count':96,'mode':'TRIANGLES'}}}],"
             "'accessors':[{'bufferView':0,'componentType':5126,'count':25,'type':'VEC3'},"
             "{'bufferView':1,'componentType':5120,'normalized':true,'count':25,'type':'VEC3'},"
             "{'bufferView':2,'componentType':5123,'count':96,'type':'SCALAR'}],"
             "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1},'indices':2}]}],'nodes':[{'mesh':0}]",
             n, filtered ? ",'filter':'EXPONENTIAL'" : "", s.at[1], m, s.at[2], k);
    return s;
}

/* make_text makes one buffer; the second, which is decoded into, is put behind it. */
static supple_result load_squeezed(const squeezed *s, const char *rest, const supple_config *config,
                                   supple_scene **scene, supple_error *error)
{
    static char text[TEXT_SIZE], whole[TEXT_SIZE + 200];
    static const char second[] =
        "},{\"byteLength\":592,\"extensions\":{\"EXT_meshopt_compression\":{\"fallback\":true}}}]";
    size_t n = make_text(s->data, s->at[3], rest, text);
    char *end = strstr(text, "}],");
    size_t head = (size_t)(end - text);
    memcpy(whole, text, head);
    memcpy(whole + head, second, sizeof second - 1);
    memcpy(whole + head + sizeof second - 1, end + 2, n - head - 2);
    return supple_scene_load_memory(whole, n + sizeof second - 3, "squeezed", config, scene, error);
}

/* Triangles may come back with their corners turned; which three they are must be the same. */
static bool same_triangle(const int32_t *a, const uint32_t *b)
{
    for (int r = 0; r < 3; r++)
        if (a[0] == (int32_t)b[r] && a[1] == (int32_t)b[(r + 1) % 3] && a[2] == (int32_t)b[(r + 2) % 3]) return true;
    return false;
}

TEST(compressed_files_read_as_plain_ones)
{
    grid g = make_grid();
    for (int filtered = 0; filtered < 2; filtered++) {
        squeezed s = make_squeezed(&g, filtered);
        supple_scene *scene;
        supple_error error = {0};
        supple_result result = load_squeezed(&s, s.rest, NULL, &scene, &error);
        if (result) printf("    %s\n", error.message);
        REQUIRE(result == SUPPLE_OK);
        check_scene(scene);
        const spl_primitive *p = &scene->mesh[0].primitive[0];
        REQUIRE(p->vertex_count == VERTICES && p->triangle_count == CORNERS / 3 && p->normal);
        for (int i = 0; i < 3 * VERTICES; i++) CHECK_NEAR(p->position[i], g.position[i], filtered ? 1e-6 : 0);
        for (int i = 0; i < VERTICES; i++)
            for (int k = 0; k < 3; k++) CHECK_NEAR(p->normal[3 * i + k], g.normal[4 * i + k], 0.02);
        for (int t = 0; t < CORNERS / 3; t++) CHECK(same_triangle(p->triangle + 3 * t, g.index + 3 * t));
        /* The document is one without the extension. */
        char *json = json_dumps(scene->document->json, 0);
        CHECK(json && !strstr(json, "meshopt"));
        free(json);
        supple_scene_destroy(scene);
    }
}

TEST(wrong_numbers_are_refused)
{
    static const char *const change[][3] = {
        {"'byteStride':4,'count':25", "'byteStride':6,'count':25", "stride"},
        {"'byteStride':4,'count':25", "'byteStride':12,'count':25", "stride"}, /* not of an octahedral filter */
        {"'byteStride':2,'count':96", "'byteStride':2,'count':95", "stride"},
        {"'byteStride':2,'count':96", "'byteStride':3,'count':96", "stride"},
        {"'byteStride':2,'count':96", "'byteStride':4,'count':96", "runs past"},
        {"'byteStride':2,'count':96", "'byteStride':2,'count':9000000000", "runs past"},
        {"'TRIANGLES'", "'FANS'", "mode"},
        {"'OCTAHEDRAL'", "'SHARPEN'", "filter"},
        {"'buffer':0,'byteOffset'", "'buffer':1,'byteOffset'", "buffer"},
        {"'buffer':0,'byteOffset'", "'buffer':7,'byteOffset'", "buffer"},
        {"{'buffer':0,'byteLength':", "{'buffer':0,'byteLength':1000", "run past"},
        {"'byteOffset':400", "'byteOffset':401", "stride"},
    };
    grid g = make_grid();
    squeezed s = make_squeezed(&g, false);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        char rest[4000];
        const char *at = strstr(s.rest, change[i][0]);
        REQUIRE(at);
        snprintf(rest, sizeof rest, "%.*s%s%s", (int)(at - s.rest), s.rest, change[i][1], at + strlen(change[i][0]));
        supple_scene *scene;
        supple_error error = {0};
        CHECK(load_squeezed(&s, rest, NULL, &scene, &error) == SUPPLE_ERROR_INPUT && !scene);
        CHECK(strstr(error.message, change[i][2]) != NULL);
        if (!strstr(error.message, change[i][2])) printf("    %zu: %s\n", i, error.message);
    }
}

TEST(damaged_bytes_do_no_harm)
{
    grid g = make_grid();
    squeezed s = make_squeezed(&g, true);
    int refused_count = 0;
    for (size_t i = 0; i < s.at[3]; i++) {
        squeezed bad = s;
        bad.data[i] ^= 0x5b;
        meter m = {0};
        supple_config config = metered(&m);
        supple_scene *scene;
        supple_error error = {0};
        supple_result result = load_squeezed(&bad, bad.rest, &config, &scene, &error);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_INPUT);
        refused_count += result != SUPPLE_OK;
        if (scene) check_scene(scene);
        supple_scene_destroy(scene);
        CHECK(m.live == 0);
    }
    CHECK(refused_count > 3);
}

TEST(every_allocation_may_fail)
{
    grid g = make_grid();
    squeezed s = make_squeezed(&g, false);
    bool done = false;
    for (size_t n = 0; !done && n < 500; n++) {
        meter m = {.fail = true, .fail_at = n};
        supple_config config = metered(&m);
        supple_scene *scene;
        supple_error error = {0};
        supple_result result = load_squeezed(&s, s.rest, &config, &scene, &error);
        done = result == SUPPLE_OK;
        CHECK(done || result == SUPPLE_ERROR_MEMORY);
        supple_scene_destroy(scene);
        CHECK(m.live == 0);
    }
    CHECK(done);
}

TEST_CASES(RUN(compressed_files_read_as_plain_ones), RUN(wrong_numbers_are_refused), RUN(damaged_bytes_do_no_harm),
           RUN(every_allocation_may_fail))

#else

TEST(compressed_files_are_refused_by_name)
{
    static const uint8_t nothing[4];
    CHECK(refused(nothing, sizeof nothing, "'extensionsRequired':['EXT_meshopt_compression']", "meshopt"));
}

TEST_CASES(RUN(compressed_files_are_refused_by_name))

#endif
