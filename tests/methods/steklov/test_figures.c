/* What the paper's figures show, in numbers: figure 3 (ex-rotated beside corotated flesh), figure 4 (iterations of the
 * formulations), and section 7's claim that surface and volume find the same flesh, here in contact. */
#include "methods/steklov/sims.h"
#include "test.h"

/* ---- distances ---- */

typedef struct apart {
    double mean, most; /* m */
    int32_t far;       /* vertices more than 1 mm apart */
} apart;

static apart apart_of(const supple_sim *sim, const double *x, const double *y)
{
    apart out = {0};
    int32_t count = sim->flesh.body->tets.vertex_count;
    for (int32_t v = 0; v < count; v++) {
        const double *p = x + 3 * v, *q = y + 3 * v;
        double d = spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2]));
        out.mean += d / count;
        out.most = fmax(out.most, d);
        out.far += d > 1e-3;
    }
    return out;
}

/* ---- figure 3 ---- */

/* To 150 degrees, without contact, shares of the diagonal: near the corotational answer everywhere, at it nowhere. */
TEST(an_elbow_at_150_degrees_is_near_the_corotational_one)
{
    posed p = posed_make("arm", 20, NULL);
    supple_sim *sim = contact_sim(&p, "tolerance=1e-6", SUPPLE_COLLIDE_NONE);
    supple_sim *truth = posed_sim(&p, "reference", "energy=corot");
    apart a = {0};
    for (int degrees = 30; degrees <= 150; degrees += 30) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
        CHECK(posed_step(sim) == SUPPLE_OK && posed_step(truth) == SUPPLE_OK);
        CHECK(supple_sim_stats(truth)->converged);
        a = apart_of(sim, posed_x(sim), posed_x(truth));
    }
    double diagonal = sim->flesh.solid.diagonal;
    printf("    %.2f%% of the diagonal in the mean, %.2f%% at most\n", 100 * a.mean / diagonal,
           100 * a.most / diagonal);
    CHECK(a.mean > 1e-3 * diagonal && a.mean < 5e-3 * diagonal && a.most < 0.05 * diagonal);
    supple_sim_destroy(sim);
    supple_sim_destroy(truth);
    posed_free(&p);
}

/* ---- figure 4 ---- */

enum { MOST = 60 };

/* The body after one step of so many iterations from rest to 90 degrees at once. */
static double *bend_at_once(posed *p, const char *way, int32_t iterations)
{
    char settings[160];
    snprintf(settings, sizeof settings, "tolerance=1e-10 steps=%d iterations=%d %s", iterations > 0 ? 1 : 100,
             iterations > 0 ? (int)iterations : 5000, way);
    puppet_rest(&p->puppet);
    supple_sim *sim = contact_sim(p, settings, SUPPLE_COLLIDE_NONE);
    puppet_turn(&p->puppet, "forearm", spl_v3(0, 0, 1), 90);
    CHECK(posed_step(sim) == SUPPLE_OK);
    double *x = posed_copy(sim);
    supple_sim_destroy(sim);
    return x;
}

/* Iterations until no vertex is farther than 0.5% of the diagonal from the answer. */
static int32_t iterations_of(posed *p, const char *way, const double *truth)
{
    supple_sim *size = contact_sim(p, "", SUPPLE_COLLIDE_NONE);
    int32_t k = 0;
    for (double most = INFINITY; k < MOST && !(most < 0.005 * size->flesh.solid.diagonal);) {
        double *x = bend_at_once(p, way, ++k);
        most = apart_of(size, x, truth).most;
        free(x);
    }
    supple_sim_destroy(size);
    printf("    %d iterations: %s\n", (int)k, way);
    return k;
}

/* The paper: the surface alone needs far fewer iterations than the volume, and 3 to 4 with the skinned sparse K_b(0).
 */
TEST(a_sharp_bend_takes_the_surface_few_iterations)
{
    static const char *const ways[] = {"formulation=volume precondition=none",
                                       "formulation=surface precondition=none",
                                       "formulation=surface operator=polynomial distance=4 boundary=cholesky",
                                       "formulation=surface operator=polynomial distance=4",
                                       "formulation=volume precondition=skinned",
                                       "formulation=volume precondition=direct",
                                       "formulation=surface"};
    enum { VOLUME, SURFACE, CHOLESKY, INCOMPLETE, SKINNED, DIRECT, EXACT, COUNT };
    posed p = posed_make("arm", 24, NULL);
    int32_t took[COUNT];
    double *truth = bend_at_once(&p, "formulation=volume", 0);
    for (int k = 0; k < COUNT; k++) took[k] = iterations_of(&p, ways[k], truth);
    CHECK(took[VOLUME] < MOST && 4 * took[SURFACE] <= 3 * took[VOLUME]);
    CHECK(took[INCOMPLETE] <= 4 && took[CHOLESKY] <= 4 && 2 * took[INCOMPLETE] <= took[SURFACE]);
    CHECK(took[EXACT] < took[SKINNED]);
    CHECK(took[SKINNED] <= 7 && took[INCOMPLETE] < took[SKINNED] && took[DIRECT] == 1);
    free(truth);
    posed_free(&p);
}

/* ---- surface and volume in contact ---- */

static const char *const FORMS[] = {"formulation=volume", "formulation=surface"};

/* A plane has one way out: the same flesh to the residual's accuracy. */
TEST(surface_and_volume_are_the_same_flesh_on_a_plane)
{
    posed p = posed_make("arm", 24, NULL);
    supple_sim *sim[2];
    apart worst = {0};
    for (int k = 0; k < 2; k++)
        sim[k] = world_sim(&p, FORMS[k],
                           "{\"colliders\": [{\"plane\": {\"point\": [0, 0, -0.028], \"normal\": [0, 0, 1]}}]}");
    for (int degrees = 0; degrees <= 80; degrees += 20) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
        for (int k = 0; k < 2; k++) CHECK(posed_step(sim[k]) == SUPPLE_OK && last(sim[k])->pairs > 5);
        worst.most = fmax(worst.most, apart_of(sim[0], posed_x(sim[0]), posed_x(sim[1])).most);
    }
    printf("    %.2g mm apart at most\n", 1e3 * worst.most);
    CHECK(worst.most > 0 && worst.most < 1e-4);
    for (int k = 0; k < 2; k++) supple_sim_destroy(sim[k]);
    posed_free(&p);
}

/* In a fold they are within 1 mm but for the few vertices at its bottom, which may lie on either side of what they
 * touch: from the same start, too, and with touching points found afresh at the solution. */
TEST(surface_and_volume_are_the_same_flesh_in_a_fold)
{
    posed p = posed_make("arm", 36, NULL);
    supple_sim *sim[2];
    apart worst = {0};
    for (int k = 0; k < 2; k++) sim[k] = contact_sim(&p, FORMS[k], SUPPLE_COLLIDE_SELF);
    for (int degrees = 90; degrees <= 150; degrees += 3) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
        for (int k = 0; k < 2; k++) CHECK(posed_step(sim[k]) == SUPPLE_OK);
        apart a = apart_of(sim[0], posed_x(sim[0]), posed_x(sim[1]));
        worst = (apart){fmax(worst.mean, a.mean), fmax(worst.most, a.most), a.far > worst.far ? a.far : worst.far};
    }
    int32_t count = sim[0]->flesh.body->tets.vertex_count;
    printf("    %.3f mm in the mean, %.1f mm at most; %d of %d vertices by more than 1 mm\n", 1e3 * worst.mean,
           1e3 * worst.most, (int)worst.far, (int)count);
    CHECK(worst.mean < 1.5e-4 && worst.most < 8e-3 && 40 * worst.far < count);
    CHECK(last(sim[0])->pairs > 40 && last(sim[1])->pairs > 40);
    for (int k = 0; k < 2; k++) supple_sim_destroy(sim[k]);
    posed_free(&p);
}

/* Contact costs little: iterations and steps of frames with many contacts beside those of frames without any. */
TEST(contacts_cost_few_iterations)
{
    posed p = posed_make("arm", 36, NULL);
    for (int k = 0; k < 2; k++) {
        supple_sim *sim = contact_sim(&p, FORMS[k], SUPPLE_COLLIDE_SELF);
        double without = 0, with = 0, steps = 0, pairs = 0;
        for (int degrees = 30; degrees <= 150; degrees += 3) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
            CHECK(posed_step(sim) == SUPPLE_OK && last(sim)->converged && last(sim)->breakdowns == 0);
            without += degrees > 42 && degrees <= 57 ? last(sim)->boundary_iterations / 5.0 : 0;
            if (degrees <= 135) continue;
            with += last(sim)->boundary_iterations / 5.0;
            steps += last(sim)->newton / 5.0;
            pairs += last(sim)->pairs / 5.0;
        }
        printf("    %s: %.1f iterations without contact, %.1f in %.1f steps with %.0f pairs\n", FORMS[k], without, with,
               steps, pairs);
        CHECK(without > 1 && pairs > 40 && with < 40 && with < 8 * without && steps < 7);
        supple_sim_destroy(sim);
        puppet_rest(&p.puppet);
    }
    posed_free(&p);
}

TEST_CASES(RUN(an_elbow_at_150_degrees_is_near_the_corotational_one),
           RUN(a_sharp_bend_takes_the_surface_few_iterations), RUN(surface_and_volume_are_the_same_flesh_on_a_plane),
           RUN(surface_and_volume_are_the_same_flesh_in_a_fold), RUN(contacts_cost_few_iterations))
