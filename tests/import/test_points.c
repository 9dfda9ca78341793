/* Control points and polygons of FBX, binary and text, and of Collada: handmade files, every truncation, every failing
 * allocation, and the real characters. */
#include "failing.h"
#include "points.h"
#include "test.h"

#include <zlib.h>

static const supple_allocator *plain(void)
{
    static failing never = {.fail_at = -1};
    static supple_allocator a;
    a = failing_allocator(&never);
    return &a;
}

/* A square pyramid without its base, one point that nothing uses. */
static const double POINTS[] = {0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0.5, 1.5, 0.5, 7, -8.25, 9};
static const int32_t INDICES[] = {0, 3, 2, ~1, 0, 1, ~4, 1, 2, ~4};
enum { POINT_COUNT = 6, INDEX_COUNT = 10, POLYGON_COUNT = 3 };

static void check_pyramid(const spl_points *p)
{
    REQUIRE(p->surface_count == 1);
    const spl_surface *s = &p->surface[0];
    REQUIRE(s->point_count == POINT_COUNT && s->polygon_count == POLYGON_COUNT);
    CHECK(memcmp(s->point, POINTS, sizeof POINTS) == 0);
    CHECK(s->first[0] == 0 && s->first[1] == 4 && s->first[2] == 7 && s->first[3] == 10);
    for (int i = 0; i < INDEX_COUNT; i++) CHECK(s->corner[i] == (INDICES[i] < 0 ? ~INDICES[i] : INDICES[i]));
}

/* ---- binary FBX, made here -------------------------------------------------------------------------------------- */

typedef struct bytes {
    uint8_t data[8192];
    size_t size;
    bool wide;
} bytes;

static void put(bytes *b, const void *data, size_t size)
{
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_word(bytes *b, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) b->data[b->size++] = (uint8_t)(value >> (8 * i));
}

/* Begins a record; its end and the size of its properties are filled in later. */
static size_t open_record(bytes *b, const char *name, unsigned properties)
{
    size_t at = b->size, word = b->wide ? 8 : 4;
    put_word(b, 0, word);
    put_word(b, properties, word);
    put_word(b, 0, word);
    put_word(b, strlen(name), 1);
    put(b, name, strlen(name));
    return at;
}

static void end_properties(bytes *b, size_t at, size_t begin)
{
    bytes patch = {.wide = b->wide};
    size_t word = b->wide ? 8 : 4;
    put_word(&patch, b->size - begin, word);
    memcpy(b->data + at + 2 * word, patch.data, word);
}

static void close_record(bytes *b, size_t at)
{
    bytes patch = {.wide = b->wide};
    put_word(&patch, b->size, b->wide ? 8 : 4);
    memcpy(b->data + at, patch.data, patch.size);
}

static void put_null(bytes *b)
{
    put_word(b, 0, 8);
    put_word(b, 0, b->wide ? 8 : 4);
    if (b->wide) put_word(b, 0, 8);
    put_word(b, 0, 1);
}

static void put_object(bytes *b, const char *name, size_t length, const char *kind)
{
    put(b, "L", 1);
    put_word(b, 77, 8);
    put(b, "S", 1);
    put_word(b, length, 4);
    put(b, name, length);
    put(b, "S", 1);
    put_word(b, strlen(kind), 4);
    put(b, kind, strlen(kind));
}

static void put_array(bytes *b, const char *name, char type, const void *data, uint32_t count, size_t size, bool packed)
{
    size_t at = open_record(b, name, 1), begin = b->size;
    uint8_t squeezed[1024];
    uLongf length = sizeof squeezed;
    compress(squeezed, &length, data, (uLong)(count * size));
    put(b, &type, 1);
    put_word(b, count, 4);
    put_word(b, packed, 4);
    put_word(b, packed ? length : count * size, 4);
    put(b, packed ? squeezed : data, packed ? length : count * size);
    end_properties(b, at, begin);
    close_record(b, at);
}

static bytes make_binary(bool wide, bool packed)
{
    bytes b = {.wide = wide};
    put(&b, "Kaydara FBX Binary  \0\x1a\0", 23);
    put_word(&b, wide ? 7700 : 7400, 4);
    size_t other = open_record(&b, "Creator", 0);
    close_record(&b, other);
    size_t objects = open_record(&b, "Objects", 0);
    size_t geometry = open_record(&b, "Geometry", 3), begin = b.size;
    put_object(&b, "Tent\0\1Geometry", 14, "Mesh");
    end_properties(&b, geometry, begin);
    put_array(&b, "Vertices", 'd', POINTS, 3 * POINT_COUNT, 8, packed);
    put_array(&b, "PolygonVertexIndex", 'i', INDICES, INDEX_COUNT, 4, packed);
    put_null(&b);
    close_record(&b, geometry);
    static const char *const kinds[] = {"LimbNode", "Null"};
    for (int i = 0; i < 2; i++) {
        size_t model = open_record(&b, "Model", 3);
        begin = b.size;
        put_object(&b, i ? "Hat\0\1Model" : "Hip\0\1Model", 10, kinds[i]);
        end_properties(&b, model, begin);
        close_record(&b, model);
    }
    put_null(&b);
    close_record(&b, objects);
    put_null(&b);
    return b;
}

TEST(binary_fbx_of_both_widths_plain_and_compressed)
{
    for (int i = 0; i < 4; i++) {
        bytes b = make_binary(i & 1, i & 2);
        spl_points p;
        supple_error error = {0};
        CHECK(spl_points_read_fbx(b.data, b.size, plain(), &p, &error) == SUPPLE_OK);
        check_pyramid(&p);
        CHECK(p.surface_count == 1 && strcmp(p.surface[0].name, "Tent") == 0);
        CHECK(p.node_count == 1 && strcmp(p.node[0].id, "Hip") == 0 && p.node[0].joint);
        spl_points_release(&p);
    }
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static const char TEXT[] = "; FBX 7.4.0 project file\n"
                           "FBXHeaderExtension:  {\n\tFBXVersion: 7400\n\tOther: \"a { in a text\", Y\n}\n"
                           "Objects:  {\n"
                           "\tGeometry: 12, \"Geometry::Tent\", \"Mesh\" {\n"
                           "\t\tProperties70:  {\n\t\t\tP: \"Color\", \"ColorRGB\", \"Color\", \"\",1,2,3\n\t\t}\n"
                           "\t\tVertices: *18 {\n\t\t\ta: 0,0,0,1,0,0,1,0,1,\n0,0,1,.5,1.5e0,0.5,7,-8.25,9\n\t\t}\n"
                           "\t\tPolygonVertexIndex: *10 {\n\t\t\ta: 0,3,2,-2,0,1,-5,1,2,-5\n\t\t}\n"
                           "\t\tLayerElementNormal: 0 {\n\t\t\tNormals: *3 {\n\t\t\t\ta: 5,6,7\n\t\t\t}\n\t\t}\n\t}\n"
                           "\tModel: 13, \"Model::Hip\", \"LimbNode\" {\n\t\tVersion: 232\n\t}\n"
                           "\tModel: 14, \"Model::Hat\", \"Null\" {\n\t}\n}\n";

static const char COLLADA[] =
    "<?xml version=\"1.0\"?>\n<COLLADA xmlns=\"x\" version=\"1.4.1\"><asset><unit name=\"cm\" meter='0.01'/>"
    "<up_axis> Z_UP</up_axis></asset><!-- <geometry id=\"no\"> -->\n<library_geometries>"
    "<geometry id=\"Tent\" name=\"tent\"><mesh>"
    "<source id=\"n\"><float_array id=\"na\" count=\"3\">4 5 6</float_array><technique_common>"
    "<accessor source=\"#na\" count=\"1\" stride=\"3\"/></technique_common></source>"
    "<source id=\"p\"><float_array id=\"pa\" count=\"18\">0 0 0 1 0 0 1 0 1\n0 0 1 .5 1.5 0.5 7 -8.25 9</float_array>"
    "<technique_common><accessor source=\"#pa\" count=\"6\" stride=\"3\"/></technique_common></source>"
    "<vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices>"
    "<polylist count=\"1\"><input semantic=\"NORMAL\" source=\"#n\" offset=\"0\"/>"
    "<input semantic=\"VERTEX\" source=\"#v\" offset=\"1\"/><vcount>4</vcount><p>0 0 0 3 0 2 0 1</p></polylist>"
    "<triangles count=\"2\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>0 1 4 1 2 4</p></triangles>"
    "</mesh></geometry></library_geometries><library_visual_scenes><visual_scene>"
    "<node id=\"Hip_id\" name=\"Hip\" type=\"JOINT\"/><node id=\"Hat\"/>"
    "</visual_scene></library_visual_scenes></COLLADA>\n";

TEST(text_fbx)
{
    spl_points p;
    supple_error error = {0};
    CHECK(spl_points_read_fbx((const uint8_t *)TEXT, sizeof TEXT - 1, plain(), &p, &error) == SUPPLE_OK);
    check_pyramid(&p);
    CHECK(p.surface_count == 1 && strcmp(p.surface[0].name, "Tent") == 0);
    CHECK(p.node_count == 1 && strcmp(p.node[0].name, "Hip") == 0);
    spl_points_release(&p);
}

TEST(collada)
{
    spl_points p;
    supple_error error = {0};
    CHECK(spl_points_read_collada((const uint8_t *)COLLADA, sizeof COLLADA - 1, plain(), &p, &error) == SUPPLE_OK);
    check_pyramid(&p);
    CHECK(p.unit == 0.01 && p.up == 2);
    REQUIRE(p.node_count == 2);
    CHECK(strcmp(p.node[0].id, "Hip_id") == 0 && strcmp(p.node[0].name, "Hip") == 0 && p.node[0].joint);
    CHECK(strcmp(p.node[1].name, "Hat") == 0 && !p.node[1].joint);
    spl_points_release(&p);
}

/* ---- damage ----------------------------------------------------------------------------------------------------- */

typedef supple_result reader(const uint8_t *, size_t, const supple_allocator *, spl_points *, supple_error *);

/* On a block of exactly that size, so that a sanitizer sees a byte too far. */
static supple_result read_exact(reader *read, const void *data, size_t size, failing *f, spl_points *p)
{
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    supple_error error = {0};
    supple_allocator a = failing_allocator(f);
    supple_result result = read(copy, size, &a, p, &error);
    CHECK(result == SUPPLE_OK || (error.message[0] && !strchr(error.message, '\n') && !p->surface && !p->node));
    free(copy);
    return result;
}

static void truncate_all(reader *read, const void *data, size_t size, size_t tail)
{
    for (size_t cut = 0; cut < size; cut++) {
        failing f = {.fail_at = -1};
        spl_points p;
        supple_result result = read_exact(read, data, cut, &f, &p);
        CHECK(result == SUPPLE_ERROR_INPUT ||
              (result == SUPPLE_OK && (cut == 0 || cut + tail >= size || p.surface_count == 0)));
        spl_points_release(&p);
        CHECK(f.live == 0);
    }
}

TEST(every_truncation_is_refused)
{
    for (int i = 0; i < 4; i++) {
        bytes b = make_binary(i & 1, i & 2);
        truncate_all(spl_points_read_fbx, b.data, b.size, 0);
    }
    truncate_all(spl_points_read_fbx, TEXT, sizeof TEXT - 1, 1);
    truncate_all(spl_points_read_collada, COLLADA, sizeof COLLADA - 1, 1);
}

/* Every byte replaced by a few others: whatever comes out holds together. */
static void damage_all(reader *read, const void *data, size_t size)
{
    static const uint8_t others[] = {0, 1, 0x7f, 0xff, '9', '-', '{', '}', '<', '"'};
    uint8_t copy[8192];
    memcpy(copy, data, size);
    for (size_t i = 0; i < size; i++) {
        uint8_t before = copy[i];
        for (size_t k = 0; k < sizeof others; k++) {
            copy[i] = others[k];
            failing f = {.fail_at = -1};
            spl_points p;
            read_exact(read, copy, size, &f, &p);
            for (int32_t s = 0; s < p.surface_count; s++)
                for (int32_t c = 0; c < p.surface[s].first[p.surface[s].polygon_count]; c++)
                    CHECK(p.surface[s].corner[c] >= 0 && p.surface[s].corner[c] < p.surface[s].point_count);
            spl_points_release(&p);
            CHECK(f.live == 0);
        }
        copy[i] = before;
    }
}

TEST(damaged_bytes_do_no_harm)
{
    bytes b = make_binary(true, true);
    damage_all(spl_points_read_fbx, b.data, b.size);
    b = make_binary(false, false);
    damage_all(spl_points_read_fbx, b.data, b.size);
    damage_all(spl_points_read_fbx, TEXT, sizeof TEXT - 1);
    damage_all(spl_points_read_collada, COLLADA, sizeof COLLADA - 1);
}

static void fail_each(reader *read, const void *data, size_t size)
{
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        spl_points p;
        supple_result result = read_exact(read, data, size, &f, &p);
        spl_points_release(&p);
        CHECK(f.live == 0);
        if (result == SUPPLE_OK) {
            CHECK(n > 8);
            return;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY);
    }
}

TEST(every_allocation_may_fail)
{
    bytes b = make_binary(false, true);
    fail_each(spl_points_read_fbx, b.data, b.size);
    fail_each(spl_points_read_fbx, TEXT, sizeof TEXT - 1);
    fail_each(spl_points_read_collada, COLLADA, sizeof COLLADA - 1);
}

TEST(a_small_file_cannot_claim_gigabytes)
{
    bytes b = make_binary(false, true);
    uint8_t *at = memmem(b.data, b.size, "Vertices", 8);
    REQUIRE(at);
    memcpy(at + 9, "\xff\xff\xff\x0f", 4); /* the array's count: 2 GB of doubles */
    failing f = {.fail_at = -1};
    spl_points p;
    CHECK(read_exact(spl_points_read_fbx, b.data, b.size, &f, &p) == SUPPLE_ERROR_INPUT);
}

/* ---- whole files ------------------------------------------------------------------------------------------------- */

static void check_file(const char *name, reader *read, int32_t points, int32_t polygons, int32_t joints)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, name);
    FILE *file = fopen(path, "rb");
    REQUIRE(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(size);
    CHECK(fread(data, 1, size, file) == size);
    fclose(file);
    failing f = {.fail_at = -1};
    spl_points p;
    CHECK(read_exact(read, data, size, &f, &p) == SUPPLE_OK);
    CHECK(p.surface_count == 1 && p.surface[0].point_count == points && p.surface[0].polygon_count == polygons);
    int32_t found = 0;
    for (int32_t i = 0; i < p.node_count; i++) found += p.node[i].joint;
    CHECK(found == joints);
    spl_points_release(&p);
    free(data);
}

/* Counts by the parser of Blender's own importer and, for Collada, by Python's XML. */
TEST(whole_characters)
{
    check_file("hero.fbx", spl_points_read_fbx, 1272, 2540, 25);
    check_file("hero_ascii.fbx", spl_points_read_fbx, 1272, 2540, 25);
    check_file("hero_posed.fbx", spl_points_read_fbx, 1272, 1569, 25); /* quads */
    check_file("arm_z.fbx", spl_points_read_fbx, 408, 812, 2);
    check_file("creature.fbx", spl_points_read_fbx, 700, 1396, 23);
    check_file("hero.dae", spl_points_read_collada, 1272, 2540, 25);
}

TEST_CASES(RUN(binary_fbx_of_both_widths_plain_and_compressed), RUN(text_fbx), RUN(collada),
           RUN(every_truncation_is_refused), RUN(damaged_bytes_do_no_harm), RUN(every_allocation_may_fail),
           RUN(a_small_file_cannot_claim_gigabytes), RUN(whole_characters))
