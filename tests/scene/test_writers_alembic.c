/* .abc, read back by a reader of its own: the tree of groups, headers bit by bit, samples with their digests. */
#include "core/md5.h"
#include "scene/little.h"
#include "scene/writer_frames.h"
#include "test.h"

static const char folder[] = "writers_abc.d", path[] = "writers_abc.d/a.abc";

typedef struct blob {
    const uint8_t *data;
    size_t size;
} blob;

static blob whole;

static uint64_t number(const uint8_t *p, int width)
{
    uint64_t value = 0;
    for (int i = 0; i < width; i++) value |= (uint64_t)p[i] << 8 * i;
    return value;
}

/* The k-th child of a group; counts it if `count` is not NULL. */
static uint64_t child(uint64_t group, size_t k, size_t *count)
{
    if (group == 0 || group >> 63 || group + 8 > whole.size) return 0;
    size_t n = number(whole.data + group, 8);
    if (count) *count = n;
    return k < n && n < whole.size / 8 ? number(whole.data + group + 8 + 8 * k, 8) : 0;
}

static size_t child_count(uint64_t group)
{
    size_t count = 0;
    child(group, 0, &count);
    return count;
}

static blob data_of(uint64_t reference)
{
    uint64_t at = reference & ~((uint64_t)1 << 63);
    if (!(reference >> 63) || at == 0 || at + 8 > whole.size) return (blob){NULL, 0};
    return (blob){whole.data + at + 8, number(whole.data + at, 8)};
}

/* The i-th entry of the table of metadata. */
static bool meta_is(int index, const char *text)
{
    uint64_t root = number(whole.data + 8, 8);
    blob table = data_of(child(root, 5, NULL));
    for (size_t at = 0; at < table.size; at += 1 + (size_t)table.data[at])
        if (--index == 0)
            return table.data[at] == strlen(text) && memcmp(table.data + at + 1, text, table.data[at]) == 0;
    return false;
}

typedef struct property {
    uint64_t group;
    uint32_t info;
    size_t samples, time;
} property;

/* Finds a property of a compound. */
static property find(uint64_t compound, const char *name)
{
    property p = {0};
    size_t n = child_count(compound);
    blob b = n ? data_of(child(compound, n - 1, NULL)) : (blob){NULL, 0};
    for (size_t at = 0, k = 0; at < b.size; k++) {
        p = (property){.group = child(compound, k, NULL), .info = (uint32_t)number(b.data + at, 4)};
        int width = 1 << (p.info >> 2 & 3);
        at += 4;
        if (p.info & 3) p.samples = number(b.data + at, width), at += (size_t)width;
        if (p.info & 3 && p.info & 0x100) p.time = number(b.data + at, width), at += (size_t)width;
        size_t length = number(b.data + at, width);
        at += (size_t)width;
        if (length == strlen(name) && memcmp(b.data + at, name, length) == 0) return p;
        at += length;
    }
    return (property){0};
}

/* A sample without its digest, which must be right. */
static blob sample(property p, size_t k)
{
    size_t step = (p.info & 3) == 2 ? 2 : 1;
    if (p.info & 0x800) k = 0;
    blob b = data_of(child(p.group, k * step, NULL));
    spl_md5 md5 = spl_md5_begin();
    uint8_t key[16];
    if (b.size < 16) return (blob){NULL, 0};
    spl_md5_bytes(&md5, b.data + 16, b.size - 16);
    spl_md5_end(&md5, key);
    CHECK(memcmp(key, b.data, 16) == 0);
    return (blob){b.data + 16, b.size - 16};
}

/* The k-th child of an object, if it has that name. */
static uint64_t object(uint64_t parent, size_t k, const char *name)
{
    size_t n = child_count(parent);
    if (n < 2) return 0;
    blob b = data_of(child(parent, n - 1, NULL));
    size_t at = 0;
    for (size_t i = 0; i < k && at < b.size; i++) at += 5 + number(b.data + at, 4);
    if (at + 32 >= b.size || number(b.data + at, 4) != strlen(name)) return 0;
    return memcmp(b.data + at + 4, name, strlen(name)) == 0 ? child(parent, k + 1, NULL) : 0;
}

static void check_floats(blob b, const float *expected, size_t count)
{
    REQUIRE(b.data && b.size == 4 * count);
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, expected + i, 4);
        wrong += number(b.data + 4 * i, 4) != bits;
    }
    CHECK(wrong == 0);
}

static void check_integers(blob b, const int *expected, size_t count)
{
    REQUIRE(b.data && b.size == 4 * count);
    for (size_t i = 0; i < count; i++) CHECK(number(b.data + 4 * i, 4) == (uint64_t)expected[i]);
}

static uint8_t *open_file(uint64_t *top)
{
    uint8_t *data = read_bytes(path, &whole.size);
    whole.data = data;
    *top = 0;
    if (!data || whole.size < 16) return data;
    CHECK(memcmp(data, "Ogawa\xff\0\1", 8) == 0);
    uint64_t root = number(data + 8, 8);
    CHECK(child_count(root) == 6);
    CHECK(number(data_of(child(root, 1, NULL)).data, 4) == 10800);
    *top = child(root, 2, NULL);
    return data;
}

/* The compound .geom of the i-th instance. */
static uint64_t geometry(uint64_t top, size_t i, const char *name, uint64_t *mesh)
{
    char shape[80];
    snprintf(shape, sizeof shape, "%sShape", name);
    uint64_t transform = object(top, i, name);
    *mesh = object(transform, 0, shape);
    CHECK(find(child(transform, 0, NULL), ".xform").group != 0);
    return find(child(*mesh, 0, NULL), ".geom").group;
}

TEST(samples_are_exact)
{
    static const char *const names[] = {"left", "left"};
    static const char *const shown[] = {"left", "left-2"};
    little s;
    make_little(&s, 2, names);
    s.node[1].s[2] = -1; /* a mirror image */
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    REQUIRE(write_frames(&s.scene, path, &seven, 24, &f, NULL) == SUPPLE_OK);
    CHECK(files_in(folder) == 1);
    uint64_t top;
    uint8_t *data = open_file(&top);
    for (size_t i = 0; i < 2; i++) {
        uint64_t mesh, geom = geometry(top, i, shown[i], &mesh);
        property points = find(geom, "P"), normals = find(geom, "N"), bounds = find(geom, ".selfBnds");
        REQUIRE(points.group && normals.group && bounds.group);
        CHECK(points.samples == 7 && points.time == 1 && normals.samples == 7 && bounds.samples == 7);
        CHECK((points.info & 3) == 2 && (points.info >> 4 & 15) == 10 && (points.info >> 12 & 255) == 3);
        CHECK(meta_is((int)(points.info >> 20), "geoScope=vtx;interpretation=point"));
        for (size_t k = 0; k < 7; k++) {
            check_floats(sample(points, k), f.position + 3 * (12 * k + 6 * i), 18);
            check_floats(sample(normals, k), f.normal + 3 * (12 * k + 6 * i), 18);
            double low;
            memcpy(&low, sample(bounds, k).data, 8); /* on a little-endian machine */
            CHECK(low <= (double)f.position[3 * (12 * k + 6 * i)] && low > -1e11);
        }
        static const int turned[2][6] = {{0, 2, 1, 0, 3, 2}, {0, 1, 2, 0, 2, 3}};
        static const int threes[2] = {3, 3};
        check_integers(sample(find(geom, ".faceIndices"), 0), turned[i], 6);
        check_integers(sample(find(geom, ".faceCounts"), 0), threes, 2);
        static const float uv[2][12] = {{0, 1, 1, 0.75f, 1, 1, 0, 1, 0, 0, 1, 0.75f},
                                        {0, 1, 1, 1, 1, 0.75f, 0, 1, 1, 0.75f, 0, 0}};
        check_floats(sample(find(geom, "uv"), 0), uv[i], 12);
        uint64_t set = object(mesh, 0, "red_paint-0"), empty = object(mesh, 1, "part-1");
        REQUIRE(set && empty);
        static const int both[2] = {0, 1};
        check_integers(sample(find(find(child(set, 0, NULL), ".faceset").group, ".faces"), 0), both, 2);
    }
    free(data);
    free_frames(&f);
}

/* Frames that do not move are stored once. */
TEST(still_frames_are_stored_once)
{
    little s;
    make_little(&s, 1, NULL);
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    for (size_t k = 1; k < 7; k++) memcpy(f.position + 18 * k, f.position, 18 * sizeof(float));
    memcpy(f.normal + 18, f.normal, 18 * sizeof(float)); /* the first two are equal, the others not */
    REQUIRE(write_frames(&s.scene, path, &seven, 24, &f, NULL) == SUPPLE_OK);
    uint64_t top, mesh;
    uint8_t *data = open_file(&top);
    uint64_t geom = geometry(top, 0, "thing", &mesh);
    property points = find(geom, "P"), normals = find(geom, "N");
    CHECK(points.info & 0x800 && points.samples == 7 && child_count(points.group) == 2);
    CHECK(!(normals.info & 0x800) && child_count(normals.group) == 14);
    CHECK(child(normals.group, 0, NULL) == child(normals.group, 2, NULL));
    for (size_t k = 0; k < 7; k++) check_floats(sample(normals, k), f.normal + 18 * k, 18);
    free(data);
    free_frames(&f);
}

/* More frames than a byte counts, and the time sampling. */
TEST(many_frames_at_a_rate)
{
    little s;
    make_little(&s, 1, NULL);
    clean_folder(folder);
    supple_range many = {-1, 3, 300};
    frames f = make_frames(&s.scene, &many, 25);
    REQUIRE(write_frames(&s.scene, path, &many, 25, &f, NULL) == SUPPLE_OK);
    uint64_t top, mesh;
    uint8_t *data = open_file(&top);
    property points = find(geometry(top, 0, "thing", &mesh), "P");
    CHECK(points.samples == 300 && (points.info >> 2 & 3) == 1 && points.time == 1);
    for (size_t k = 0; k < 300; k += 23) check_floats(sample(points, k), f.position + 18 * k, 18);
    blob times = data_of(child(number(data + 8, 8), 4, NULL));
    REQUIRE(times.size == 48);
    double cycle;
    memcpy(&cycle, times.data + 28, 8);
    CHECK(number(times.data + 24, 4) == 300 && cycle == 0.04);
    free(data);
    free_frames(&f);
}

/* Texture coordinates that slide: a sample a frame, of the faces' corners; one sample where the skin stays. */
TEST(sliding_coordinates_are_samples)
{
    static const char *const names[] = {"slides", "mirror", "still"};
    little s;
    make_little(&s, 3, names);
    s.node[1].s[2] = -1;
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    float *slid = swirl_uv(&s.scene, 7, 2);
    REQUIRE(write_slid(&s.scene, path, &seven, &f, slid, NULL, NULL) == SUPPLE_OK);
    uint64_t top, mesh;
    uint8_t *data = open_file(&top);
    for (size_t i = 0; i < 3; i++) {
        static const int order[2][6] = {{0, 2, 1, 3, 5, 4}, {0, 1, 2, 3, 4, 5}}; /* clockwise, but for a mirror image */
        property uv = find(geometry(top, i, names[i], &mesh), "uv");
        REQUIRE(uv.group);
        CHECK(uv.samples == 7 && uv.time == 1 && (uv.info & 3) == 2 && (uv.info >> 12 & 255) == 2);
        CHECK(meta_is((int)(uv.info >> 20), "arrayExtent=1;geoScope=fvr;interpretation=vector;isGeomParam=true;"
                                            "podExtent=2;podName=float32_t"));
        CHECK(((uv.info & 0x800) != 0) == (i == 2) && child_count(uv.group) == (i == 2 ? 2 : 14));
        for (size_t k = 0; k < 7; k++) {
            float expected[12];
            for (size_t c = 0; c < 6; c++) {
                const float *at = slid + 36 * k + 12 * i + 2 * order[i == 1][c];
                expected[2 * c] = at[0];
                expected[2 * c + 1] = 1.0f - at[1];
            }
            check_floats(sample(uv, k), expected, 12);
        }
    }
    free(data);
    free(slid);
    free_frames(&f);
}

TEST_CASES(RUN(samples_are_exact), RUN(still_frames_are_stored_once), RUN(many_frames_at_a_rate),
           RUN(sliding_coordinates_are_samples))
