/* Flesh that no bone holds: its rotations come from the flesh itself where the bones' are far off. */
#include "math/numbers.h"
#include "methods/mixed/rounds.h"
#include "rig/cube_rig.h"
#include "sim/posed.h"

enum { ROOT, LEG_L, LEG_R, JOINTS };

/* A trunk on two legs, and behind them a tail. */
static bool has_cube(int x, int y, int z)
{
    bool trunk = y >= 8 && z < 5, leg = (x < 3 || x >= 6) && z >= 1 && z < 4 && y < 8;
    bool tail = x >= 3 && x < 6 && y >= 6 && y < 9 && z >= 3;
    return trunk || leg || tail;
}

static const cube_joint joints[JOINTS] = {
    {"root", -1, {4.5, 13, 2.5}}, {"leg.L", ROOT, {7.5, 8.5, 2.5}}, {"leg.R", ROOT, {1.5, 8.5, 2.5}}};

/* The legs share the tail's skin, each its side. */
static void weigh(spl_vec3 p, double weight[CUBE_JOINTS])
{
    double leg = fmin(fmax((9.5 - p.y) / 2, 0), 1), left = fmin(fmax((p.x - 3.5) / 2, 0), 1);
    weight[ROOT] = 1 - leg;
    weight[LEG_L] = leg * left;
    weight[LEG_R] = leg * (1 - left);
}

/* The volume of the tail behind z = 7, over that at rest. */
static double tail_volume(const supple_sim *sim)
{
    const spl_elements *e = &sim->flesh.solid.elements;
    const spl_tets *t = &sim->flesh.body->tets;
    double rest = 0, now = 0;
    for (int32_t k = 0; k < e->count; k++) {
        double z = 0;
        for (int i = 0; i < 4; i++) z += 0.25 * t->position[t->tet[4 * k + i]].z;
        if (z < 7) continue;
        spl_mat3 F = spl_element_F(e, k, posed_x(sim));
        rest += e->volume[k];
        now += e->volume[k] * spl_mat3_det(&F);
    }
    return now / rest;
}

static double step_of(const posed *p, const char *settings, int32_t *inverted)
{
    supple_sim *sim = posed_sim(p, "mixed", settings);
    CHECK(posed_step(sim) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->residual <= 1e-5);
    double volume = tail_volume(sim);
    *inverted = supple_sim_stats(sim)->inverted;
    supple_sim_destroy(sim);
    return volume;
}

/* Legs that turn apart roll the tail between them, and the bones know nothing of it. With pins as in the paper, at the
 * bones: by hard ones the legs hold the tail too. */
TEST(a_tail_between_legs_that_turn_apart_does_not_swell)
{
    shape s = shape_cubes(has_cube, 9, 14, 16);
    posed p = posed_of(cube_scene(&s, joints, JOINTS, weigh), 16, NULL);
    shape_free(&s);
    for (int degrees = 60; degrees <= 75; degrees += 15) {
        int32_t before, after;
        puppet_turn(&p.puppet, "leg.L", spl_v3(1, 0, 0), degrees);
        puppet_turn(&p.puppet, "leg.R", spl_v3(1, 0, 0), -degrees);
        double bones = step_of(&p, "pin=soft rotation=bones", &before), flesh = step_of(&p, "pin=soft", &after);
        printf("    %d degrees: volume %.3f with the bones' rotations, %.3f with its own; inverted %d, %d\n", degrees,
               bones, flesh, before, after);
        CHECK(bones > 1.5 && flesh < 1.15 && after <= before);
    }
    posed_free(&p);
}

TEST(the_bits_of_the_tail_do_not_depend_on_the_threads)
{
    shape s = shape_cubes(has_cube, 9, 14, 16);
    posed p = posed_of(cube_scene(&s, joints, JOINTS, weigh), 16, NULL);
    static const int32_t threads[] = {1, 2, 7};
    double *first = NULL;
    shape_free(&s);
    puppet_turn(&p.puppet, "leg.L", spl_v3(1, 0, 0), 60);
    puppet_turn(&p.puppet, "leg.R", spl_v3(1, 0, 0), -60);
    for (int i = 0; i < 3; i++) {
        supple_config config = supple_config_default();
        supple_sim *sim = NULL;
        config.thread_count = threads[i];
        REQUIRE(posed_try(&p, "mixed", "pin=soft rounds=2", NULL, &config, &sim, NULL) == SUPPLE_OK);
        CHECK(posed_step(sim) == SUPPLE_OK);
        if (first)
            CHECK(memcmp(first, posed_x(sim), (size_t)p.demo.body->tets.vertex_count * 24) == 0);
        else
            first = posed_copy(sim);
        supple_sim_destroy(sim);
    }
    free(first);
    posed_free(&p);
}

/* What bends at its joints is as the bones prescribe, to the last bit. */
TEST(a_limb_at_its_joint_is_left_to_the_bones)
{
    posed p = posed_make("arm", 16, NULL);
    supple_sim *bones = posed_sim(&p, "mixed", "rotation=bones"), *sim = posed_sim(&p, "mixed", "");
    for (int degrees = 30; degrees <= 120; degrees += 30) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
        CHECK(posed_step(bones) == SUPPLE_OK && posed_step(sim) == SUPPLE_OK);
        CHECK(posed_distance(sim, posed_x(sim), posed_x(bones)) == 0);
        CHECK(supple_sim_stats(sim)->iterations == supple_sim_stats(bones)->iterations);
    }
    supple_sim_destroy(bones);
    supple_sim_destroy(sim);
    posed_free(&p);
}

/* Of a rotation, and of what the energy takes for one: R (I + tan(a) [n]x). */
TEST(the_angle_between_flesh_and_bones)
{
    uint64_t seed = 5;
    for (int degrees = 10; degrees <= 170; degrees += 20) {
        double a = degrees * M_PI / 180;
        spl_vec3 n = spl_unit(random_vector(&seed), spl_v3(1, 0, 0)), w = spl_scale(n, tan(a));
        spl_mat3 R = spl_quat_to_mat3(random_rotation(&seed)), Q = spl_quat_to_mat3(spl_quat_axis_angle(n, a)), F;
        F = spl_mat3_mul(&R, &Q);
        CHECK_NEAR(spl_rounds_angle(&F, R.m), a, 1e-12);
        if (degrees > 80) continue;
        Q = (spl_mat3){{1, w.z, -w.y, -w.z, 1, w.x, w.y, -w.x, 1}};
        F = spl_mat3_mul(&R, &Q);
        CHECK_NEAR(spl_rounds_angle(&F, R.m), a, 1e-12);
    }
}

TEST_CASES(RUN(a_tail_between_legs_that_turn_apart_does_not_swell), RUN(a_limb_at_its_joint_is_left_to_the_bones),
           RUN(the_angle_between_flesh_and_bones), RUN(the_bits_of_the_tail_do_not_depend_on_the_threads))
