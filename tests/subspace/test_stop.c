/* What swings after a sudden stop, beside the full space: one domain that has every vertex, small steps and no
 * numerical dissipation. */
#include "subspace/beam.h"
#include "test.h"

enum { RATE = 120, RUN_UP = 30, AFTER = 120 }; /* samples a second; samples before the stop and after it */

/* Where the root is: it moves along x, and stops dead. */
static spl_frame root_at(double time)
{
    return (spl_frame){spl_mat3_identity(), spl_v3(0.2 * fmin(time, (double)RUN_UP / RATE), 0, 0)};
}

/* How far the beam's end is beside its root, by sample. */
static void swing(beam *b, const spl_player_options *o, int finer, double *out)
{
    spl_player *p = beam_player(b, o, NULL);
    double h = 1.0 / (RATE * finer), *x = malloc(3 * (size_t)b->flesh.vertex_count * sizeof *x);
    spl_frame_motion frame[4];
    for (int k = 1; k <= (RUN_UP + AFTER) * finer; k++) {
        spl_frame at[3] = {root_at((k - 1) * h), root_at(k * h), root_at((k + 1) * h)};
        for (int d = 0; d < b->model.domain_count; d++)
            frame[d] = spl_motion_central(&at[0], &at[1], &at[2], h, spl_v3(0.1, 0.1, 0.3));
        for (int32_t v = 0; v < b->flesh.vertex_count; v++) {
            b->flesh.x[3 * v] = b->flesh.rest[3 * v] + at[1].t.x;
            b->flesh.x[3 * v + 1] = b->flesh.rest[3 * v + 1];
            b->flesh.x[3 * v + 2] = b->flesh.rest[3 * v + 2];
        }
        spl_player_input in = {.frame = frame, .held = b->flesh.x, .dt = h};
        CHECK(spl_player_step(p, &in, NULL, NULL) == SUPPLE_OK);
        if (k % finer) continue;
        beam_read(p, b, frame, x);
        double sum = 0;
        int count = 0;
        for (int32_t v = 0; v < b->flesh.vertex_count; v++)
            if (b->flesh.rest[3 * v + 2] > b->length - 1e-6) sum += x[3 * v] - b->flesh.x[3 * v], count++;
        out[k / finer - 1] = sum / count;
    }
    spl_player_destroy(p);
    free(x);
}

/* The largest way of some samples after the stop, to either side. */
static double amplitude(const double *x, int from, int to)
{
    double most = 0;
    for (int k = RUN_UP + from; k < RUN_UP + to; k++) most = fmax(most, fabs(x[k]));
    return most;
}

TEST(a_sudden_stop_swings_as_in_the_full_space)
{
    double full[RUN_UP + AFTER], own[RUN_UP + AFTER];
    spl_player_options o = spl_player_options_default();
    beam b = beam_make(2, 6, 0.1, 2, BEAM_POLYNOMIAL, 30, true);
    swing(&b, &o, 1, own);
    beam_free(&b);
    o.rho = 1, o.tolerance = 1e-6, o.newton = 10, o.single = false;
    b = beam_make(2, 6, 0.1, 1, BEAM_FULL, 0, true);
    swing(&b, &o, 3, full);
    beam_free(&b);
    for (int part = 0; part < 3; part++) {
        double a = amplitude(own, 40 * part, 40 * part + 40), z = amplitude(full, 40 * part, 40 * part + 40);
        printf("    %.2f to %.2f s after it: %.4g m, full space %.4g m\n", part / 3.0, (part + 1) / 3.0, a, z);
        CHECK(z > 5e-3);
        CHECK_NEAR(a / z, 1, 0.1);
    }
}

TEST_CASES(RUN(a_sudden_stop_swings_as_in_the_full_space))
