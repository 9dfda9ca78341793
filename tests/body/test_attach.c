#include "bodies.h"
#include "body/attach.h"
#include "failing.h"
#include "test.h"

/* A comb of cubes: a palm of 5 x 4 and two fingers (x 1 and 3) of 12. The palm follows node 0, the left finger node 1,
 * the right one node 2, or both fingers node 1. */
static bool comb(int x, int y, int z)
{
    (void)z;
    return y < 4 || x == 1 || x == 3;
}

typedef struct rig {
    shape shape;
    body body;
    spl_tree tree;
    spl_skin_weights weights;
    spl_bone bone[3];
    spl_bones bones;
    int32_t *held;
    spl_attach_input in;
    supple_allocator allocator;
} rig;

static void make_rig(rig *r, bool shared)
{
    *r = (rig){.shape = shape_cubes(comb, 5, 16, 2), .allocator = spl_allocator_of(NULL)};
    r->body = body_of(&r->shape, 24);
    if (r->body.result != SUPPLE_OK) abort();
    const spl_surface *s = &r->body.surface;
    if (spl_tree_make(s->position, s->triangle, s->triangle_count, &r->allocator, &r->tree, NULL)) abort();
    size_t n = (size_t)s->vertex_count;
    r->weights.first = calloc(n + 1, sizeof(int32_t));
    r->weights.node = calloc(n, sizeof(int32_t));
    r->weights.weight = calloc(n, sizeof(double));
    for (size_t i = 0; i <= n; i++) r->weights.first[i] = (int32_t)i;
    for (size_t i = 0; i < n; i++) {
        spl_vec3 p = s->position[i];
        r->weights.node[i] = p.y < 4.5 ? 0 : p.x < 2.5 || shared ? 1 : 2;
        r->weights.weight[i] = 1;
    }
    r->bone[0] = (spl_bone){.node = 0, .parent = -1, .head = {2.5, 0.5, 1}, .tail = {2.5, 4, 1}};
    r->bone[1] = (spl_bone){.node = 1, .joint = 1, .head = {1.5, 4, 1}, .tail = {1.5, 15.5, 1}};
    r->bone[2] = (spl_bone){.node = 2, .joint = 2, .head = {3.5, 4, 1}, .tail = {3.5, 15.5, 1}};
    r->bones = (spl_bones){.bone_count = shared ? 2 : 3, .bone = r->bone};
    r->held = calloc((size_t)r->body.tets.vertex_count, sizeof *r->held);
    if (spl_tets_find_surface(&r->body.tets, NULL)) abort();
    r->in = (spl_attach_input){.tets = &r->body.tets,
                               .place = r->body.place,
                               .surface = s,
                               .tree = &r->tree,
                               .weights = &r->weights,
                               .bones = &r->bones,
                               .cell = r->body.report.cell,
                               .allocator = &r->allocator};
}

static void free_rig(rig *r)
{
    body_free(&r->body);
    spl_tree_release(&r->tree);
    shape_free(&r->shape);
    free(r->weights.first);
    free(r->weights.node);
    free(r->weights.weight);
    free(r->held);
}

static int32_t count(const rig *r, int32_t bone, double from_x, double to_x, double from_y)
{
    int32_t n = 0;
    for (int32_t v = 0; v < r->body.tets.vertex_count; v++) {
        spl_vec3 p = r->body.tets.position[v];
        n += r->held[v] == bone && p.x >= from_x && p.x <= to_x && p.y >= from_y;
    }
    return n;
}

TEST(each_finger_is_held_by_its_own_bone)
{
    rig r;
    spl_attach_report report;
    make_rig(&r, false);
    REQUIRE(spl_attach(&r.in, r.held, &report, NULL) == SUPPLE_OK);
    int32_t all = 0;
    for (int32_t v = 0; v < r.body.tets.vertex_count; v++) all += r.held[v] >= 0;
    CHECK(report.constrained == all && all < r.body.tets.vertex_count / 3);
    CHECK(report.empty == 0 && report.far == 0);
    CHECK(count(&r, 1, -1, 2.5, 4) >= 8 && count(&r, 1, 2.5, 6, -1) == 0);
    CHECK(count(&r, 2, 2.5, 6, 4) >= 8 && count(&r, 2, -1, 2.5, -1) == 0);
    CHECK(count(&r, 0, -1, 6, -1) >= 4 && count(&r, 0, -1, 6, 5) == 0);
    CHECK(count(&r, 1, -1, 2.5, 12) >= 3 && count(&r, 2, 2.5, 6, 12) >= 3); /* up to the tips */
    free_rig(&r);
}

TEST(a_finger_without_a_bone_is_held_by_the_one_it_follows)
{
    rig r;
    spl_attach_report report;
    make_rig(&r, true);
    REQUIRE(spl_attach(&r.in, r.held, &report, NULL) == SUPPLE_OK);
    CHECK(report.far > 0);
    CHECK(count(&r, 1, 2.5, 6, 8) >= 4); /* the right finger, though the bone runs through the left */
    CHECK(count(&r, 1, -1, 2.5, 4) >= 8);
    free_rig(&r);
}

TEST(bones_outside_or_too_short_take_what_is_nearest)
{
    rig r;
    spl_attach_report report;
    make_rig(&r, false);
    r.bone[2].head = spl_v3(6.5, 8, 1); /* beside its finger */
    r.bone[2].tail = spl_v3(6.5, 12, 1);
    REQUIRE(spl_attach(&r.in, r.held, &report, NULL) == SUPPLE_OK);
    CHECK(report.substituted >= 1 && report.empty == 0);
    CHECK(count(&r, 2, 2.5, 6, 6) >= 4 && count(&r, 2, -1, 2.5, -1) == 0);
    for (size_t i = 0; i < (size_t)r.body.surface.vertex_count; i++) /* nothing follows bone 2 any more */
        if (r.weights.node[i] == 2) r.weights.node[i] = 1;
    REQUIRE(spl_attach(&r.in, r.held, &report, NULL) == SUPPLE_OK);
    for (int32_t v = 0; v < r.body.tets.vertex_count; v++) /* deep inside, only, belongs to everybody */
        if (r.held[v] == 2) CHECK(r.body.place[v].triangle < 0);
    free_rig(&r);
}

TEST(failing_allocations_are_errors)
{
    rig r;
    spl_attach_report report;
    make_rig(&r, false);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        r.in.allocator = &a;
        supple_result result = spl_attach(&r.in, r.held, &report, NULL);
        CHECK(f.live == 0);
        if (f.requests <= n) {
            CHECK(result == SUPPLE_OK && n > 0);
            break;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY);
    }
    free_rig(&r);
}

TEST_CASES(RUN(each_finger_is_held_by_its_own_bone), RUN(a_finger_without_a_bone_is_held_by_the_one_it_follows),
           RUN(bones_outside_or_too_short_take_what_is_nearest), RUN(failing_allocations_are_errors))
