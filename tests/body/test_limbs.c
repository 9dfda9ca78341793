/* Limbs: thin ones, ones that nearly touch, and fingers. */
#include "bodies.h"
#include "fingers.h"
#include "rig/bones.h"
#include "test.h"

static void check_sound(body *b, int32_t components)
{
    spl_tets_report report;
    const spl_tets_shape *q = &b->report.shape;
    CHECK(q->inverted_count == 0);
    CHECK(q->min_dihedral > 10 && q->max_dihedral < 160);
    CHECK(b->report.component_count == components);
    CHECK(spl_tets_check(&b->tets, "flesh", &report, NULL) == SUPPLE_OK);
    CHECK(report.component_count == components && report.reoriented == 0 && report.unused_vertices == 0);
}

/* A palm of 5 x 4 cubes and two fingers of one cube's width and 12 cubes' length, one cube apart. */
static bool comb(int x, int y, int z)
{
    (void)z;
    return y < 4 || x == 1 || x == 3;
}

TEST(fingers_thinner_than_a_cell_stay_apart_and_attached)
{
    shape s = shape_cubes(comb, 5, 16, 2);
    for (int resolution = 9; resolution <= 18; resolution += 3) { /* cells of 1.8 to 0.9 cubes */
        body b = body_of(&s, resolution);
        REQUIRE(b.result == SUPPLE_OK);
        CHECK(b.surface.closed_components == 1 && b.surface.component_count == 1);
        check_sound(&b, 1);
        CHECK(b.report.area_lost < 0.01);
        int32_t left = body_vertex_at(&b, spl_v3(1.5, 16, 1)), right = body_vertex_at(&b, spl_v3(3.5, 16, 1));
        double *way = body_ways(&b.tets, left);
        CHECK(way[right] > 0.7 * (12 + 2 + 12) && way[right] < 2 * (12 + 2 + 12));
        free(way);
        body_free(&b);
    }
    shape_free(&s);
}

TEST(inner_walls_are_not_lost_area)
{
    shape s = shape_sphere(24, 1), other = shape_sphere(24, 1);
    shape_join(&s, &other, spl_v3(0.9, 0.02, 0.01));
    body b = body_of(&s, 24); /* the walls inside are up to four cells from the body's surface */
    REQUIRE(b.result == SUPPLE_OK);
    check_sound(&b, 1);
    CHECK(b.report.area_lost == 0);
    CHECK(b.report.max_distance < 0.75 * b.report.cell);
    body_free(&b);
    shape_free(&s);
    shape_free(&other);
}

static void check_equal(const body *a, const body *b)
{
    REQUIRE(a->result == SUPPLE_OK && b->result == SUPPLE_OK);
    REQUIRE(a->tets.tet_count == b->tets.tet_count && a->tets.vertex_count == b->tets.vertex_count);
    CHECK(memcmp(a->tets.tet, b->tets.tet, 16 * (size_t)a->tets.tet_count) == 0);
    CHECK(memcmp(a->tets.position, b->tets.position, sizeof(spl_vec3) * (size_t)a->tets.vertex_count) == 0);
    for (int32_t i = 0; i < a->tets.vertex_count; i++) CHECK(a->place[i].triangle == b->place[i].triangle);
    CHECK(memcmp(&a->report.mean_distance, &b->report.mean_distance, sizeof(double)) == 0);
}

TEST(threads_give_the_same_bits)
{
    shape shapes[] = {shape_cubes(comb, 5, 16, 2), shape_grid(48, 24, shape_at_sphere, (double[]){1, 0.92})};
    for (int i = 0; i < 2; i++) { /* grown fingers; an open surface */
        body one = body_of_surface(shape_surface(&shapes[i]), 14, 0, 1);
        for (int32_t threads = 2; threads <= 7; threads += 5) {
            body many = body_of_surface(shape_surface(&shapes[i]), 14, 0, threads);
            check_equal(&one, &many);
            body_free(&many);
        }
        body_free(&one);
        shape_free(&shapes[i]);
    }
}

TEST(a_resolution_beyond_memory_is_refused_by_its_estimate)
{
    shape s = shape_sphere(12, 1);
    body b = body_of(&s, 1500);
    CHECK(b.result == SUPPLE_ERROR_ARGUMENT && !b.tets.tet && !b.place);
    CHECK(strstr(b.error.message, "GB") && strstr(b.error.message, "--resolution"));
    body_free(&b);
    shape_free(&s);
}

/* ---- characters ---- */

static bool find_joint(const char *file, const char *name, spl_vec3 *at, spl_vec3 *along)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, file);
    supple_scene *scene;
    supple_allocator a = spl_allocator_of(NULL);
    spl_bones bones;
    bool found = false;
    if (supple_scene_load_file(path, NULL, &scene, NULL) != SUPPLE_OK) return false;
    if (spl_bones_make(scene, &a, &bones, NULL) != SUPPLE_OK) abort();
    for (int32_t i = 0; i < bones.bone_count; i++)
        if (strcmp(scene->node[bones.bone[i].node].name, name) == 0) {
            *at = bones.bone[i].head;
            *along = spl_sub(bones.bone[i].tail, *at);
            found = true;
        }
    spl_bones_release(&bones);
    supple_scene_destroy(scene);
    return found;
}

/* In the tetrahedra the way between any two finger tips is about that over the palm. */
static void check_fingers(const char *file, const char *wrist, double reach, double apart, int32_t resolution)
{
    shape s = shape_character(file);
    spl_vec3 at = {0}, along = {0};
    REQUIRE(s.vertex_count > 0 && find_joint(file, wrist, &at, &along));
    body b = body_of_surface(shape_surface(&s), resolution, 0, 2);
    REQUIRE(b.result == SUPPLE_OK);
    int32_t tip[16];
    int tips = find_tips(&b.surface, at, along, reach, apart, tip);
    REQUIRE(tips == TIPS);
    supple_allocator a = spl_allocator_of(NULL);
    spl_geodesic g;
    if (spl_geodesic_make(b.surface.vertex_count, &a, &g, NULL) != SUPPLE_OK) abort();
    for (int i = 0; i < TIPS; i++) {
        double *way = body_ways(&b.tets, body_vertex_at(&b, b.surface.position[tip[i]]));
        for (int k = 0; k < i; k++) {
            spl_place from = {b.surface.corner[b.surface.corner_first[tip[i]]] / 3, {0}}, to = from;
            from.bary[b.surface.corner[b.surface.corner_first[tip[i]]] % 3] = 1;
            to.triangle = b.surface.corner[b.surface.corner_first[tip[k]]] / 3;
            to.bary[b.surface.corner[b.surface.corner_first[tip[k]]] % 3] = 1;
            double over = spl_geodesic_distance(&g, &b.surface, &from, &to, INFINITY);
            double through = way[body_vertex_at(&b, b.surface.position[tip[k]])];
            CHECK(through > 0.7 * over);
            if (!(through > 0.7 * over)) printf("    fingers %d %d: %g of %g\n", i, k, through, over);
        }
        free(way);
    }
    spl_geodesic_release(&g);
    body_free(&b);
    shape_free(&s);
}

TEST(fingers_of_a_hand_are_apart)
{
    check_fingers("hand.glb", "wrist_L", 0.24, 0.035, 0);
}

TEST(fingers_of_a_person_are_apart)
{
    check_fingers("person.glb", "LeftHand", 0.24, 0.045, 0);
    check_fingers("person.glb", "RightHand", 0.24, 0.045, 0);
}

TEST(fingers_of_a_person_are_apart_where_a_cell_is_wider_than_two)
{
    check_fingers("person.glb", "LeftHand", 0.24, 0.045, 45);
}

TEST_CASES(RUN(fingers_thinner_than_a_cell_stay_apart_and_attached), RUN(inner_walls_are_not_lost_area),
           RUN(threads_give_the_same_bits), RUN(a_resolution_beyond_memory_is_refused_by_its_estimate),
           RUN(fingers_of_a_hand_are_apart), RUN(fingers_of_a_person_are_apart),
           RUN(fingers_of_a_person_are_apart_where_a_cell_is_wider_than_two))
