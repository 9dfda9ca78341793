/* Limbs that yield, in a simulation: off unless asked for, and told by angle and distance. */
#include "sim/aside.h"

#include "contact/yield.h"
#include "core/memory.h"
#include "failing.h"
#include "sim/posed.h"

#define IN_THE_HIP 75.0 /* degrees */

static bool is_below(const supple_scene *scene, int32_t node, int32_t top)
{
    while (node >= 0 && node != top) node = scene->node[node].parent;
    return node >= 0;
}

/* The rest pose, the left arm lowered by so many degrees. */
static void lower(spl_pose *pose, const supple_scene *scene, int32_t shoulder, double degrees)
{
    spl_pose_sample(pose, scene, -1, 0);
    const double *m = pose->world[shoulder].m;
    spl_vec3 at = spl_v3(m[12], m[13], m[14]);
    spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(0, 0, at.x > 0 ? -1 : 1), degrees * M_PI / 180));
    spl_mat4 turn = spl_mat3_affine(&R, spl_sub(at, spl_mat3_apply(&R, at)));
    for (int32_t n = 0; n < scene->node_count; n++)
        if (is_below(scene, n, shoulder)) pose->world[n] = spl_mat4_mul(&turn, &pose->world[n]);
}

/* A host that lowers the arm. */
typedef struct host {
    posed p;
    spl_pose pose;
    int32_t shoulder, joints;
    float *matrices;
} host;

static host host_make(void)
{
    host h = {.p = posed_make("hero", 40, NULL)};
    h.shoulder = puppet_node(&h.p.puppet, "upper_arm.L");
    h.joints = supple_scene_joint_count(h.p.demo.scene);
    h.matrices = calloc((size_t)h.joints, 16 * sizeof *h.matrices);
    if (spl_pose_init(&h.pose, h.p.demo.scene, NULL) != SUPPLE_OK) abort();
    return h;
}

static void host_free(host *h)
{
    spl_pose_release(&h->pose);
    free(h->matrices);
    posed_free(&h->p);
}

static const supple_stats *host_step(host *h, supple_sim *sim, double degrees, double dt)
{
    const supple_scene *scene = h->p.demo.scene;
    lower(&h->pose, scene, h->shoulder, degrees);
    for (int32_t k = 0; k < scene->skin_count; k++)
        for (int32_t j = 0; j < scene->skin[k].joint_count; j++)
            for (int i = 0; i < 16; i++)
                h->matrices[16 * (scene->skin[k].first_joint + j) + i] =
                    (float)h->pose.world[scene->skin[k].joint[j]].m[i];
    supple_error error = {0};
    if (supple_sim_step_pose_dt(sim, h->matrices, h->joints, dt, &error) != SUPPLE_OK)
        printf("    %s\n", error.message), abort();
    return supple_sim_stats(sim);
}

TEST(limbs_yield_only_where_they_are_asked_to)
{
    host h = host_make();
    supple_sim *sim = posed_sim(&h.p, "projective", "iterations=30");
    const supple_stats *s = host_step(&h, sim, IN_THE_HIP, 1);
    CHECK(isnan(s->yield_deg) && isnan(s->yield_m));
    supple_sim_destroy(sim);
    host_free(&h);
}

/* As far as 2 sin(angle / 2) takes what is a hand's reach away from the joint, and not much less: the hand's way is
 * across the arm. */
static void check_told(const supple_stats *s, double reach)
{
    double chord = 2 * sin(s->yield_deg * M_PI / 360);
    CHECK(s->yield_deg <= SPL_YIELD_MOST_DEGREES + 1e-9);
    CHECK(s->yield_m <= chord * reach + 1e-6 && s->yield_m >= 0.7 * chord * reach - 1e-6);
}

/* From the shoulder to the farthest vertex of the arm at rest, metres. */
static double reach_of(const host *h)
{
    const spl_body *body = h->p.demo.body;
    spl_pose pose;
    double most = 0;
    if (spl_pose_init(&pose, body->scene, NULL) != SUPPLE_OK) abort();
    spl_pose_sample(&pose, body->scene, -1, 0);
    const double *m = pose.world[h->shoulder].m;
    for (int32_t i = 0; i < body->part_count; i++)
        for (int32_t v = 0; v < body->part[i].primitive->vertex_count; v++) {
            spl_vec3 q = spl_v3_from_float(body->part[i].primitive->position + 3 * v);
            if (q.x * m[12] > m[12] * m[12]) most = fmax(most, spl_distance(q, spl_v3(m[12], m[13], m[14])));
        }
    spl_pose_release(&pose);
    return most * body->metre;
}

TEST(a_turn_is_told_by_angle_and_distance)
{
    host h = host_make();
    supple_sim *sim = posed_sim(&h.p, "projective", "iterations=30 yield=on");
    const supple_stats *s = host_step(&h, sim, 0, 1);
    CHECK(s->yield_deg == 0 && s->yield_m == 0);
    s = host_step(&h, sim, IN_THE_HIP, 1); /* long after: at once */
    double whole = s->yield_deg, reach = reach_of(&h);
    printf("    %.1f degrees, %.0f mm; the arm reaches %.0f mm\n", whole, 1000 * s->yield_m, 1000 * reach);
    CHECK(whole > 5);
    check_told(s, reach);
    supple_sim_reset(sim);
    double last = 0;
    host_step(&h, sim, 0, 1);
    for (int k = 0; k < 15; k++) { /* held: it is there within half a second, and every frame is nearer */
        s = host_step(&h, sim, IN_THE_HIP, 1.0 / 30);
        CHECK(s->yield_deg > last - 0.1 && s->yield_deg < last + 0.5 * whole);
        last = s->yield_deg;
        check_told(s, reach);
    }
    CHECK(last > 0.8 * whole);
    supple_sim_destroy(sim);
    host_free(&h);
}

TEST(a_turn_is_told_in_motion)
{
    host h = host_make();
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    double last = 0, jump = 0, reach = reach_of(&h);
    sc.dynamics = true;
    REQUIRE(posed_try(&h.p, "projective", "yield=on", &sc, NULL, &sim, NULL) == SUPPLE_OK);
    for (int k = 0; k < 45; k++) {
        const supple_stats *s = host_step(&h, sim, fmin(3.0 * k, IN_THE_HIP), 1.0 / 30);
        CHECK(s->yield_deg >= 0 && s->yield_m >= 0);
        jump = fmax(jump, fabs(s->yield_deg - last));
        last = s->yield_deg;
        if (last > 0) check_told(s, reach);
    }
    printf("    %.1f degrees, at most %.1f in a frame\n", last, jump);
    CHECK(last > 5 && jump < 5);
    supple_sim_destroy(sim);
    host_free(&h);
}

/* ---- the measure by itself ---- */

/* By trying all: a vertex of a skin, in double. */
static spl_vec3 skinned(const supple_scene *scene, const spl_part *part, const spl_pose *pose, size_t v)
{
    const spl_primitive *p = part->primitive;
    const spl_skin *skin = &scene->skin[scene->instance[part->instance].skin];
    spl_vec3 at = spl_v3_from_float(p->position + 3 * v), sum = spl_v3(0, 0, 0);
    size_t n = (size_t)p->influence_count;
    for (size_t k = 0; k < n; k++) {
        spl_mat4 m = spl_skinning_joint_matrix(skin, p->joint[n * v + k], pose);
        sum = spl_madd(sum, spl_mat4_point(&m, at), (double)p->weight[n * v + k]);
    }
    return sum;
}

TEST(the_farthest_of_all_joints_and_vertices_is_told)
{
    host h = host_make();
    const spl_body *body = h.p.demo.body;
    supple_allocator a = spl_allocator_of(NULL);
    spl_aside aside;
    spl_pose before;
    REQUIRE(spl_pose_init(&before, body->scene, NULL) == SUPPLE_OK);
    REQUIRE(spl_aside_create(body->scene, &a, &aside, NULL) == SUPPLE_OK);
    lower(&before, body->scene, h.shoulder, 40);
    spl_aside_keep(&aside, &before);
    float *rest = calloc((size_t)body->scene->vertex_count, 3 * sizeof *rest);
    double most = 0;
    lower(&h.pose, body->scene, h.shoulder, 52);
    for (int32_t i = 0; i < body->part_count; i++)
        for (size_t v = 0; v < (size_t)body->part[i].primitive->vertex_count; v++) {
            memcpy(rest + 3 * ((size_t)body->part[i].first_vertex + v), body->part[i].primitive->position + 3 * v,
                   3 * sizeof *rest);
            most = fmax(most, spl_distance(skinned(body->scene, &body->part[i], &before, v),
                                           skinned(body->scene, &body->part[i], &h.pose, v)));
        }
    CHECK(most > 0.05);
    CHECK_NEAR(spl_aside_measure(&aside, &h.pose, rest, NULL), most, 1e-6);
    CHECK(spl_aside_measure(&aside, &before, rest, NULL) == 0);
    free(rest);
    spl_aside_release(&aside);
    spl_pose_release(&before);
    host_free(&h);
}

TEST(creation_survives_every_failed_allocation)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    for (long at = 0;; at++) {
        failing f = {.fail_at = at};
        supple_allocator a = failing_allocator(&f);
        spl_aside aside;
        supple_result result = spl_aside_create(scene, &a, &aside, NULL);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        spl_aside_release(&aside);
        CHECK(f.live == 0);
        if (result == SUPPLE_OK) break;
        REQUIRE(at < 100);
    }
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(limbs_yield_only_where_they_are_asked_to), RUN(a_turn_is_told_by_angle_and_distance),
           RUN(a_turn_is_told_in_motion), RUN(the_farthest_of_all_joints_and_vertices_is_told),
           RUN(creation_survives_every_failed_allocation))
