/* Texture coordinates that slide: from the corners of triangles to those of polygons; what the writers refuse. */
#include "scene/writers/slid.h"

#include "scene/little.h"
#include "scene/writer_frames.h"
#include "test.h"

static const char folder[] = "slid.d";

/* A quad and a triangle over the quad's four vertices and one more. */
static float FIVE[10] = {0, 0, 1, 0, 1, 0.25f, 0, 1, 0.5f, 0.5f};
static int32_t TRIANGLES[9] = {1, 2, 3, 3, 0, 1, 2, 4, 3}, FIRST[3] = {0, 4, 7}, CORNER[7] = {0, 1, 2, 3, 2, 4, 3};

static void make_polygons(little *s)
{
    make_little(s, 1, NULL);
    s->primitive[0].vertex_count = 5;
    s->primitive[0].uv = FIVE;
    s->primitive[0].triangle = TRIANGLES;
    s->primitive[0].triangle_count = 3;
    s->primitive[0].polygon_count = 2;
    s->primitive[0].polygon_first = FIRST;
    s->primitive[0].polygon_corner = CORNER;
    s->scene.triangle_count = 3;
}

/* Corner c of the triangles slides to (c, c / 8): each row says which corner it was taken from. */
static void check_rows(const spl_slid *slid, bool turned, const int *expected)
{
    float uv[18];
    for (int c = 0; c < 9; c++) uv[2 * c] = (float)c, uv[2 * c + 1] = (float)c / 8;
    REQUIRE(spl_slid_rows(slid, 0, uv, turned) == 7);
    for (int k = 0; k < 7; k++) {
        CHECK(slid->row[2 * k] == (float)expected[k]);
        CHECK(slid->row[2 * k + 1] == 1.0f - (float)expected[k] / 8);
    }
}

TEST(polygons_take_their_own_triangles)
{
    static const int plain[7] = {4, 0, 1, 2, 6, 7, 8}, turned[7] = {4, 2, 1, 0, 6, 8, 7};
    little s;
    make_polygons(&s);
    supple_allocator a = spl_allocator_of(NULL);
    spl_slid slid;
    REQUIRE(spl_slid_init(&slid, &s.scene, &a, NULL) == SUPPLE_OK);
    check_rows(&slid, false, plain);
    check_rows(&slid, true, turned);
    spl_slid_release(&slid, &a);
}

/* A polygon that lost a triangle: what is left is found by vertex, and a corner of no triangle keeps its own. */
TEST(polygons_without_all_their_triangles)
{
    little s;
    make_polygons(&s);
    s.primitive[0].triangle_count = s.scene.triangle_count = 2; /* vertex 4 is in none */
    supple_allocator a = spl_allocator_of(NULL);
    spl_slid slid;
    REQUIRE(spl_slid_init(&slid, &s.scene, &a, NULL) == SUPPLE_OK);
    float uv[12] = {0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0};
    REQUIRE(spl_slid_rows(&slid, 0, uv, false) == 7);
    static const float expected[7] = {4, 0, 1, 2, 1, 0.5f, 2};
    for (int k = 0; k < 7; k++) CHECK(slid.row[2 * k] == expected[k]);
    spl_slid_release(&slid, &a);
}

/* Every format takes the frames; those without texture coordinates over time write what they always write. */
TEST(other_formats_are_as_before)
{
    little s;
    make_little(&s, 2, NULL);
    frames f = make_frames(&s.scene, &seven, 24);
    float *uv = swirl_uv(&s.scene, 7, -1);
    static const char *const name[] = {"a.npy", "a.abc", "a.usda"};
    for (int i = 0; i < 3; i++) {
        char path[64];
        size_t size[2] = {0};
        uint8_t *data[2];
        clean_folder(folder);
        snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        CHECK(write_slid(&s.scene, path, &seven, &f, uv, NULL, NULL) == SUPPLE_OK);
        data[0] = read_bytes(path, &size[0]);
        CHECK(write_frames(&s.scene, path, &seven, 24, &f, NULL) == SUPPLE_OK);
        data[1] = read_bytes(path, &size[1]);
        bool same = data[0] && data[1] && size[0] == size[1] && memcmp(data[0], data[1], size[0]) == 0;
        CHECK(data[0] && data[1] && same == (i == 0));
        free(data[0]);
        free(data[1]);
    }
    free(uv);
    free_frames(&f);
}

static void refused(const supple_slide_frame *slide, bool planned, supple_result expected, const char *word)
{
    little s;
    make_little(&s, 1, NULL);
    clean_folder(folder);
    frames f = make_frames(&s.scene, &seven, 24);
    supple_writer *w = NULL;
    supple_error error = {0};
    supple_plan plan = {.ranges = &seven, .range_count = 1, .fps = 24, .slide = planned};
    REQUIRE(spl_writer_open_with(all_formats, FORMAT_COUNT, &s.scene, "slid.d/a.abc", &plan, NULL, &w, &error) ==
            SUPPLE_OK);
    supple_frame frame = frame_at(&f, 0, 0);
    frame.slide = slide;
    CHECK(supple_writer_frame(w, &frame, &error) == expected);
    CHECK(strstr(error.message, word) != NULL);
    supple_writer_abort(w);
    CHECK(files_in(folder) == 0);
    free_frames(&f);
}

TEST(wrong_frames_are_refused)
{
    float uv[12] = {0}, wild[12] = {[7] = NAN}, stretch[6] = {1, 1, 1, INFINITY, 1, 1};
    refused(NULL, true, SUPPLE_ERROR_ARGUMENT, "lacks");
    refused(&(supple_slide_frame){uv, NULL, 6, 0}, false, SUPPLE_ERROR_ARGUMENT, "plan");
    refused(&(supple_slide_frame){uv, NULL, 5, 0}, true, SUPPLE_ERROR_ARGUMENT, "corners");
    refused(&(supple_slide_frame){NULL, NULL, 6, 0}, true, SUPPLE_ERROR_ARGUMENT, "corners");
    refused(&(supple_slide_frame){wild, NULL, 6, 0}, true, SUPPLE_ERROR_SOLVE, "not numbers");
    refused(&(supple_slide_frame){uv, stretch, 6, 6}, true, SUPPLE_ERROR_SOLVE, "not numbers");
}

TEST(allocations_may_fail)
{
    little s;
    make_little(&s, 2, NULL);
    frames f = make_frames(&s.scene, &seven, 24);
    float *uv = swirl_uv(&s.scene, 7, -1);
    static const char *const path[] = {"slid.d/a.abc", "slid.d/a.usda"};
    for (int i = 0; i < 2; i++) {
        supple_result result = SUPPLE_ERROR_MEMORY;
        for (int n = 0; result == SUPPLE_ERROR_MEMORY && n < 5000; n++) {
            clean_folder(folder);
            supple_config config = limited_config(n);
            result = write_slid(&s.scene, path[i], &seven, &f, uv, &config, NULL);
            CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && files_in(folder) == 0));
            CHECK(blocks_alive == 0);
        }
        CHECK(result == SUPPLE_OK);
    }
    free(uv);
    free_frames(&f);
}

TEST_CASES(RUN(polygons_take_their_own_triangles), RUN(polygons_without_all_their_triangles),
           RUN(other_formats_are_as_before), RUN(wrong_frames_are_refused), RUN(allocations_may_fail))
