#include "bodies.h"
#include "body/attach.h"
#include "body/loosen.h"
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

static void make_rig_of(rig *r, cubes_fn *has, int x, int y, int z)
{
    *r = (rig){.shape = shape_cubes(has, x, y, z), .allocator = spl_allocator_of(NULL)};
    r->body = body_of(&r->shape, 24);
    if (r->body.result != SUPPLE_OK) abort();
    const spl_surface *s = &r->body.surface;
    if (spl_tree_make(s->position, s->triangle, s->triangle_count, &r->allocator, &r->tree, NULL)) abort();
    size_t n = (size_t)s->vertex_count;
    r->weights.first = calloc(n + 1, sizeof(int32_t));
    r->weights.node = calloc(n, sizeof(int32_t));
    r->weights.weight = calloc(n, sizeof(double));
    for (size_t i = 0; i <= n; i++) r->weights.first[i] = (int32_t)i;
    for (size_t i = 0; i < n; i++) r->weights.weight[i] = 1;
    r->bones = (spl_bones){.bone_count = 3, .bone = r->bone};
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

static void make_rig(rig *r, bool shared)
{
    make_rig_of(r, comb, 5, 16, 2);
    for (int32_t i = 0; i < r->body.surface.vertex_count; i++) {
        spl_vec3 p = r->body.surface.position[i];
        r->weights.node[i] = p.y < 4.5 ? 0 : p.x < 2.5 || shared ? 1 : 2;
    }
    r->bone[0] = (spl_bone){.node = 0, .parent = -1, .head = {2.5, 0.5, 1}, .tail = {2.5, 4, 1}};
    r->bone[1] = (spl_bone){.node = 1, .joint = 1, .head = {1.5, 4, 1}, .tail = {1.5, 15.5, 1}};
    r->bone[2] = (spl_bone){.node = 2, .joint = 2, .head = {3.5, 4, 1}, .tail = {3.5, 15.5, 1}};
    r->bones.bone_count = shared ? 2 : 3;
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
    REQUIRE(spl_attach(&r.in, &r.bones, r.held, &report, NULL) == SUPPLE_OK);
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
    REQUIRE(spl_attach(&r.in, &r.bones, r.held, &report, NULL) == SUPPLE_OK);
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
    REQUIRE(spl_attach(&r.in, &r.bones, r.held, &report, NULL) == SUPPLE_OK);
    CHECK(report.substituted >= 1 && report.empty == 0);
    CHECK(count(&r, 2, 2.5, 6, 6) >= 4 && count(&r, 2, -1, 2.5, -1) == 0);
    for (size_t i = 0; i < (size_t)r.body.surface.vertex_count; i++) /* nothing follows bone 2 any more */
        if (r.weights.node[i] == 2) r.weights.node[i] = 1;
    REQUIRE(spl_attach(&r.in, &r.bones, r.held, &report, NULL) == SUPPLE_OK);
    CHECK(count(&r, 2, -1, 6, -1) == 0); /* not even deep inside */
    CHECK(report.merged == 1 && report.empty == 0 && r.bone[2].node == 0 && r.bone[2].joint == r.bone[0].joint);
    free_rig(&r);
}

TEST(a_bone_far_from_its_flesh_holds_nothing)
{
    rig r;
    spl_attach_report report;
    make_rig(&r, false);
    for (size_t i = 0; i < (size_t)r.body.surface.vertex_count; i++) { /* the tip alone follows bone 2 ... */
        if (r.weights.node[i] != 2) continue;
        r.weights.node[i] = r.body.surface.position[i].y < 14.5 ? 0 : 2;
        r.weights.weight[i] = 0.6; /* not enough to be a limb that is held without a bone in it */
    }
    r.bone[2].head = spl_v3(2.5, 1, 1); /* ... which lies in the palm */
    r.bone[2].tail = spl_v3(2.5, 3, 1);
    REQUIRE(spl_attach(&r.in, &r.bones, r.held, &report, NULL) == SUPPLE_OK);
    CHECK(count(&r, 2, -1, 6, -1) == 0);
    CHECK(report.merged == 1 && r.bone[2].node == 0);
    free_rig(&r);
}

/* Whether all corners of a tet are held, by two joints. */
static int32_t count_stuck(const rig *r)
{
    int32_t stuck = 0;
    for (int32_t n = 0; n < r->body.tets.tet_count; n++) {
        const int32_t *c = r->body.tets.tet + 4 * (size_t)n;
        bool all = true, differ = false;
        for (int i = 0; i < 4; i++) {
            all = all && r->held[c[i]] >= 0;
            differ = differ || r->held[c[i]] != r->held[c[0]];
        }
        stuck += all && differ;
    }
    return stuck;
}

TEST(no_tet_is_stuck_between_two_joints)
{
    rig r;
    spl_attach_report report;
    make_rig(&r, false);
    r.bone[1] = (spl_bone){.node = 1, .joint = 1, .parent = 0, .head = {2.5, 2, 1}, .tail = {2.5, 4, 1}}; /* crossing */
    for (size_t i = 0; i < (size_t)r.body.surface.vertex_count; i++)
        if (r.body.surface.position[i].x > 2.2 && r.weights.node[i] == 0) r.weights.node[i] = 1;
    REQUIRE(spl_attach(&r.in, &r.bones, r.held, &report, NULL) == SUPPLE_OK);
    CHECK(report.freed > 0 && count_stuck(&r) == 0);
    spl_capsule *capsules = calloc(3, sizeof *capsules); /* and where nothing was free at all */
    spl_capsules_make(&r.bones, &r.tree, r.in.cell, capsules);
    for (int32_t v = 0; v < r.body.tets.vertex_count; v++) r.held[v] = r.body.tets.position[v].y < 8;
    int32_t freed = 0, before = count_stuck(&r);
    REQUIRE(spl_loosen(&r.in, capsules, r.held, &freed, NULL) == SUPPLE_OK);
    CHECK(before > 0 && freed > 0 && freed < r.body.tets.vertex_count / 4 && count_stuck(&r) == 0);
    CHECK(spl_joint_holds(&r.in, r.held, 0, 4) && spl_joint_holds(&r.in, r.held, 1, 4));
    free(capsules);
    free_rig(&r);
}

/* A thigh of 6 x 16 x 6 and, two cubes beside it, an arm of one cube that grows out of its top and hangs down. */
static bool hand_at_thigh(int x, int y, int z)
{
    return x < 6 || (z == 3 && (x == 8 || y >= 15) && y >= 4);
}

/* The thigh follows node 0, the arm node 1; at the arm's end, shorter than a cell, lies the last bone of a thumb that
 * moves no vertex of its own. Only the thigh is so thick that there is flesh deep inside. */
TEST(a_thumb_does_not_hold_the_thigh)
{
    rig r;
    spl_attach_report report;
    make_rig_of(&r, hand_at_thigh, 9, 16, 6);
    for (size_t i = 0; i < (size_t)r.body.surface.vertex_count; i++) {
        spl_vec3 p = r.body.surface.position[i];
        r.weights.node[i] = p.x < 7 ? 0 : 1;
    }
    r.bone[0] = (spl_bone){.node = 0, .parent = -1, .head = {3, 0.5, 3}, .tail = {3, 15, 3}};
    r.bone[1] = (spl_bone){.node = 1, .joint = 1, .head = {8.5, 15, 3.5}, .tail = {8.5, 4.4, 3.5}};
    r.bone[2] = (spl_bone){.node = 2, .joint = 2, .parent = 1, .head = {8.5, 4.4, 3.5}, .tail = {8.5, 4, 3.5}};
    REQUIRE(spl_attach(&r.in, &r.bones, r.held, &report, NULL) == SUPPLE_OK);
    CHECK(count(&r, 0, -1, 6.5, -1) > 20 && count(&r, 0, 6.5, 10, -1) == 0);
    CHECK(count(&r, 1, 6.5, 10, -1) >= 4 && count(&r, 1, -1, 6.5, -1) == 0);
    CHECK(count(&r, 2, -1, 10, -1) == 0 && report.merged == 1 && r.bone[2].node == 1);
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
        supple_result result = spl_attach(&r.in, &r.bones, r.held, &report, NULL);
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
           RUN(bones_outside_or_too_short_take_what_is_nearest), RUN(a_bone_far_from_its_flesh_holds_nothing),
           RUN(no_tet_is_stuck_between_two_joints), RUN(a_thumb_does_not_hold_the_thigh),
           RUN(failing_allocations_are_errors))
