#include "body/demo_body.h"
#include "body/drive.h"
#include "core/memory.h"
#include "failing.h"
#include "math/numbers.h"
#include "rig/bind.h"
#include "rig/puppet.h"

enum { RESOLUTION = 12 };

/* A demo whose rest pose is moved by a map, with its body and drive. */
typedef struct driven {
    demo_body demo;
    puppet puppet;
    spl_pose pose;
    spl_drive drive;
    bool ok;
} driven;

static driven driven_make(const char *name, const spl_mat4 *kept)
{
    driven d = {0};
    supple_allocator a = spl_allocator_of(NULL);
    supple_scene *scene = demo_scene(name, 0.3);
    if (!scene) return d;
    d.puppet = puppet_make(scene);
    puppet_rest(&d.puppet);
    if (kept) puppet_keep(&d.puppet, kept);
    d.demo = demo_body_of(scene, RESOLUTION, 0);
    d.ok = d.demo.body && spl_pose_init(&d.pose, scene, NULL) == SUPPLE_OK &&
           spl_drive_create(d.demo.body, &a, &d.drive, NULL) == SUPPLE_OK;
    return d;
}

static void driven_free(driven *d)
{
    spl_drive_release(&d->drive);
    spl_pose_release(&d->pose);
    puppet_free(&d->puppet);
    demo_body_free(&d->demo);
}

static supple_result driven_pose(driven *d)
{
    spl_pose_sample(&d->pose, d->demo.scene, -1, 0);
    return spl_drive_pose(&d->drive, &d->pose, NULL);
}

/* How far a bone's map is from a proper rotation. */
static double turn_error(const driven *d, int32_t bone)
{
    spl_mat3 L = spl_mat3_linear(&d->drive.map[bone]), LtL = spl_mat3_transposed_mul(&L, &L);
    spl_mat3 one = spl_mat3_identity(), difference = spl_mat3_sub(&LtL, &one);
    return fmax(spl_mat3_norm(&difference), fabs(spl_mat3_det(&L) - 1));
}

/* World = the joint's matrix times its inverse bind matrix, taken to the solver's space by one factor: what the maps
 * must give, computed without them. Relative to the body's size. */
static double map_error(const driven *d)
{
    const spl_body *body = d->demo.body;
    double most = 0;
    for (int32_t b = 0; b < body->bones.bone_count; b++) {
        spl_mat4 inverse;
        if (!spl_bind_inverse(body->scene, body->home, body->bones.bone[b].node, &inverse)) return INFINITY;
        spl_mat4 world = spl_mat4_mul(&d->pose.world[body->bones.bone[b].node], &inverse);
        for (int32_t v = 0; v < body->tets.vertex_count; v++) {
            spl_vec3 x = spl_scale(spl_mat4_point(&world, body->tets.position[v]), d->drive.to_solver);
            most = fmax(most, spl_distance(x, spl_drive_point(&d->drive, b, v)) / body->size_m);
        }
    }
    return most;
}

/* The rest shape under a map: rigid, of any size, mirrored, stretched along axes. */
static const double KEPT[][3] = {{1, 1, 1}, {0.01, 0.01, 0.01}, {100, 100, 100}, {-1, 1, 1}, {-3, -3, -3}, {1, 2, 0.5}};
enum { KEPT_COUNT = sizeof KEPT / sizeof *KEPT };

static spl_mat4 kept_map(int i)
{
    spl_mat3 S = spl_mat3_diagonal(KEPT[i][0], KEPT[i][1], KEPT[i][2]);
    spl_mat4 scale = spl_mat3_affine(&S, spl_v3(0, 0, 0)), turn = puppet_rigid(spl_v3(1, 2, 3), 70, spl_v3(5, -1, 2));
    return spl_mat4_mul(&turn, &scale);
}

TEST(maps_of_bent_poses_are_rigid_and_exact)
{
    for (int i = 0; i < KEPT_COUNT; i++) {
        spl_mat4 kept = kept_map(i), move = puppet_rigid(spl_v3(0, 1, 1), 130, spl_v3(-2, 7, 1));
        driven d = driven_make("arm", &kept);
        REQUIRE(d.ok);
        puppet_move(&d.puppet, &move);
        if (i != 5) puppet_turn(&d.puppet, "forearm", spl_v3(0, 0, 1), 75); /* a bend under a stretch would shear */
        REQUIRE(driven_pose(&d) == SUPPLE_OK);
        for (int32_t b = 0; b < d.demo.body->bones.bone_count; b++) CHECK_NEAR(turn_error(&d, b), 0, 1e-6);
        CHECK_NEAR(map_error(&d), 0, 1e-12);
        driven_free(&d);
    }
}

/* det(metre S / s) = metre^3: the solver's volume is the character's, whatever its file's scale. */
TEST(the_rest_shape_has_the_bodys_volume)
{
    for (int i = 0; i < KEPT_COUNT; i++) {
        spl_mat4 kept = kept_map(i);
        driven d = driven_make("arm", &kept);
        REQUIRE(d.ok);
        const spl_tets *t = &d.demo.body->tets;
        double volume = 0, rest = 0;
        for (int32_t k = 0; k < t->tet_count; k++) {
            spl_vec3 p[4];
            for (int c = 0; c < 4; c++) memcpy(&p[c], d.drive.rest + 3 * t->tet[4 * k + c], sizeof p[c]);
            rest += spl_dot(spl_sub(p[1], p[0]), spl_cross(spl_sub(p[2], p[0]), spl_sub(p[3], p[0]))) / 6;
            volume += spl_tets_volume(t, k) * pow(d.demo.body->metre, 3);
        }
        CHECK(rest > 0);
        CHECK_NEAR(rest / volume, 1, 1e-12);
        driven_free(&d);
    }
}

/* A rest pose under a map gives maps that are one rigid motion, and the world comes back from the solver's space. */
TEST(the_way_back_to_the_world)
{
    for (int i = 0; i < KEPT_COUNT; i++) {
        spl_mat4 kept = kept_map(i), rest;
        driven d = driven_make("arm", &kept);
        REQUIRE(d.ok && driven_pose(&d) == SUPPLE_OK);
        const spl_body *body = d.demo.body;
        size_t n = (size_t)body->tets.vertex_count;
        double *x = calloc(n, 3 * sizeof *x), most = 0, size = 0;
        float *unit = calloc(n, 3 * sizeof *unit);
        for (int32_t v = 0; v < (int32_t)n; v++) {
            spl_vec3 p = spl_drive_point(&d.drive, 0, v);
            memcpy(x + 3 * v, &p, sizeof p);
        }
        spl_drive_to_body(&d.drive, x, unit);
        spl_bind_inverse(body->scene, body->home, body->bones.bone[0].node, &rest);
        rest = spl_mat4_mul(&d.pose.world[body->bones.bone[0].node], &rest);
        for (size_t v = 0; v < n; v++) {
            double s = spl_drive_world_scale(&d.drive);
            spl_vec3 p = spl_mat4_point(&rest, body->tets.position[v]);
            spl_vec3 q = spl_v3(s * (double)unit[3 * v], s * (double)unit[3 * v + 1], s * (double)unit[3 * v + 2]);
            most = fmax(most, spl_distance(p, q));
            size = fmax(size, spl_norm(p));
        }
        CHECK_NEAR(most / size, 0, 1e-6); /* floats */
        CHECK((spl_drive_world_scale(&d.drive) < 0) == (KEPT[i][0] * KEPT[i][1] * KEPT[i][2] < 0));
        free(x);
        free(unit);
        driven_free(&d);
    }
}

/* A clip that scales a bone moves what it holds affinely; its rotation stays the polar one. */
TEST(animated_scale_is_affine)
{
    driven d = driven_make("arm", NULL);
    REQUIRE(d.ok);
    int32_t n = puppet_node(&d.puppet, "forearm"), bone = -1;
    spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(0, 0, 1), 0.5)), S = spl_mat3_diagonal(1.3, 0.8, 1.1);
    spl_mat3 L = spl_mat3_mul(&R, &S);
    spl_mat4 local = spl_mat3_affine(&L, spl_v3(0, 0, 0));
    puppet_set(&d.puppet, n, spl_mat4_mul(&d.puppet.home[n], &local));
    REQUIRE(driven_pose(&d) == SUPPLE_OK);
    for (int32_t b = 0; b < d.demo.body->bones.bone_count; b++)
        if (d.demo.body->bones.bone[b].node == n) bone = b;
    REQUIRE(bone >= 0);
    spl_mat3 turn = spl_quat_to_mat3(d.drive.turn[bone]), off = spl_mat3_sub(&turn, &R);
    CHECK_NEAR(spl_mat3_norm(&off), 0, 1e-6);
    spl_mat3 linear = spl_mat3_linear(&d.drive.map[bone]);
    CHECK_NEAR(spl_mat3_det(&linear), 1.3 * 0.8 * 1.1, 1e-6);
    CHECK_NEAR(map_error(&d), 0, 1e-12);
    driven_free(&d);
}

/* Quaternions keep to their own last side up to 270 degrees, unwind there, and start on their parent's after a reset.
 */
TEST(quaternions_are_aligned)
{
    driven d = driven_make("arm", NULL);
    REQUIRE(d.ok);
    const spl_bones *bones = &d.demo.body->bones;
    REQUIRE(bones->bone_count == 2 && bones->bone[1].parent == 0);
    for (int degrees = 0; degrees <= 720; degrees += 10) {
        puppet_turn(&d.puppet, "forearm", spl_v3(1, 0, 0), degrees);
        REQUIRE(driven_pose(&d) == SUPPLE_OK);
        int turned = degrees <= 270 ? degrees : degrees <= 630 ? degrees - 360 : degrees - 720;
        double bend = degrees % 360 > 180 ? 360 - degrees % 360 : degrees % 360;
        CHECK_NEAR(spl_quat_dot(d.drive.turn[1], d.drive.turn[0]), cos(turned * M_PI / 360), 1e-6);
        CHECK_NEAR(d.drive.max_bend * 180 / M_PI, bend, 1e-5);
    }
    puppet_turn(&d.puppet, "forearm", spl_v3(1, 0, 0), 200); /* seen afresh, that is -160 degrees */
    spl_drive_reset(&d.drive);
    REQUIRE(driven_pose(&d) == SUPPLE_OK);
    CHECK_NEAR(spl_quat_dot(d.drive.turn[1], d.drive.turn[0]), cos(80 * M_PI / 180), 1e-6);
    driven_free(&d);
}

/* However the whole body is thrown about, its joints are not wound. */
TEST(motions_of_the_body_wind_nothing)
{
    driven d = driven_make("arm", NULL);
    REQUIRE(d.ok);
    uint64_t seed = 9;
    for (int i = 0; i < 200; i++) {
        spl_mat3 R = spl_quat_to_mat3(random_rotation(&seed));
        spl_mat4 move = spl_mat3_affine(&R, random_vector(&seed));
        puppet_rest(&d.puppet);
        puppet_move(&d.puppet, &move);
        if (i % 2) puppet_turn(&d.puppet, "forearm", random_vector(&seed), 120 * random_real(&seed));
        REQUIRE(driven_pose(&d) == SUPPLE_OK);
        if (i % 2 == 0) CHECK_NEAR(spl_drive_twist(&d.drive, 0, 1), 0, 1e-6);
        if (i % 2 == 0) CHECK_NEAR(spl_quat_dot(d.drive.turn[0], d.drive.turn[1]), 1, 1e-6);
    }
    driven_free(&d);
}

/* The forearm's twist is spread over the upper arm: all of it at the elbow, none at the shoulder. */
TEST(twists_are_spread_along_a_limb)
{
    driven d = driven_make("arm", NULL);
    REQUIRE(d.ok);
    puppet_turn(&d.puppet, "forearm", spl_v3(1, 0, 0), 100);
    REQUIRE(driven_pose(&d) == SUPPLE_OK);
    double theta = 100 * M_PI / 180, last = -1e-9;
    CHECK_NEAR(spl_drive_twist(&d.drive, 0, 0), 0, 1e-9);
    CHECK_NEAR(spl_drive_twist(&d.drive, 0, 1), theta, 1e-5);
    for (int i = 0; i <= 20; i++) {
        double along = i / 20.0, twist = spl_drive_twist(&d.drive, 0, along);
        spl_quat expected = spl_quat_axis_angle(spl_v3(1, 0, 0), twist), q = spl_drive_turn(&d.drive, 0, along);
        CHECK(twist >= last && spl_drive_twist(&d.drive, 1, along) == 0);
        CHECK_NEAR(fabs(spl_quat_dot(q, expected)), 1, 1e-9);
        last = twist;
    }
    d.drive.spread = false;
    REQUIRE(driven_pose(&d) == SUPPLE_OK);
    CHECK(spl_drive_twist(&d.drive, 0, 1) == 0);
    CHECK_NEAR(map_error(&d), 0, 1e-12);
    driven_free(&d);
}

TEST(held_vertices_are_set_and_others_left)
{
    driven d = driven_make("arm", NULL);
    REQUIRE(d.ok);
    puppet_turn(&d.puppet, "forearm", spl_v3(0, 0, 1), 90);
    REQUIRE(driven_pose(&d) == SUPPLE_OK);
    const spl_body *body = d.demo.body;
    double *x = calloc((size_t)body->tets.vertex_count, 3 * sizeof *x);
    int wrong = 0, held = 0;
    for (int32_t i = 0; i < 3 * body->tets.vertex_count; i++) x[i] = -77;
    spl_drive_hold(&d.drive, body->bone, x);
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        spl_vec3 p = body->bone[v] < 0 ? spl_v3(-77, -77, -77) : spl_drive_point(&d.drive, body->bone[v], v);
        wrong += memcmp(&p, x + 3 * v, sizeof p) != 0;
        held += body->bone[v] >= 0;
    }
    CHECK(wrong == 0 && held == body->attach.constrained && held > 0);
    free(x);
    driven_free(&d);
}

/* What is not finite is refused by its joint's name. */
TEST(a_pose_that_is_not_finite)
{
    driven d = driven_make("arm", NULL);
    REQUIRE(d.ok);
    supple_error error = {0};
    spl_pose_sample(&d.pose, d.demo.scene, -1, 0);
    d.pose.world[puppet_node(&d.puppet, "forearm")].m[13] = NAN;
    CHECK(spl_drive_pose(&d.drive, &d.pose, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "'forearm'") != NULL);
    driven_free(&d);
}

TEST(memory_may_run_out)
{
    demo_body demo = demo_body_of(demo_scene("arm", 0.3), RESOLUTION, 0);
    REQUIRE(demo.body);
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_drive drive;
        supple_result result = spl_drive_create(demo.body, &a, &drive, NULL);
        bool made = result == SUPPLE_OK;
        ended = made && f.requests <= n; /* some requests may fail without harm */
        CHECK(made || result == SUPPLE_ERROR_MEMORY);
        if (made) spl_drive_release(&drive);
        CHECK(f.live == 0);
    }
    CHECK(n > 5);
    demo_body_free(&demo);
}

TEST_CASES(RUN(maps_of_bent_poses_are_rigid_and_exact), RUN(the_rest_shape_has_the_bodys_volume),
           RUN(the_way_back_to_the_world), RUN(animated_scale_is_affine), RUN(quaternions_are_aligned),
           RUN(motions_of_the_body_wind_nothing), RUN(twists_are_spread_along_a_limb),
           RUN(held_vertices_are_set_and_others_left), RUN(a_pose_that_is_not_finite), RUN(memory_may_run_out))
