/* Motions of frames from poses, against motions known in closed form. */
#include "core/memory.h"
#include "failing.h"
#include "subspace/beam.h"
#include "test.h"

/* A frame that swings about a joint far from the origin while the joint moves: angle and place with their first and
 * second derivatives. */
typedef struct swing {
    spl_vec3 axis, joint;
    double size, rate;
} swing;

static spl_frame swing_at(const swing *s, double t)
{
    spl_frame f;
    spl_vec3 place = spl_v3(0.3 * sin(4 * t), 0.2 * t * t, 0.5 * t);
    f.R = spl_quat_to_mat3(spl_quat_axis_angle(s->axis, s->size * sin(s->rate * t)));
    f.t = spl_add(place, spl_sub(s->joint, spl_mat3_apply(&f.R, s->joint)));
    return f;
}

static spl_frame_motion swing_truth(const swing *s, double t)
{
    spl_frame f = swing_at(s, t);
    spl_vec3 axis = spl_unit(s->axis, spl_v3(1, 0, 0));
    spl_frame_motion m = {.R = f.R, .t = f.t};
    m.omega = spl_scale(axis, s->size * s->rate * cos(s->rate * t));
    m.alpha = spl_scale(axis, -s->size * s->rate * s->rate * sin(s->rate * t));
    spl_vec3 swept = spl_cross(m.omega, s->joint), v = spl_v3(1.2 * cos(4 * t), 0.4 * t, 0.5);
    spl_vec3 turned = spl_add(spl_cross(m.alpha, s->joint), spl_cross(m.omega, swept));
    m.v = spl_sub(v, spl_mat3_apply(&m.R, swept));
    m.a = spl_sub(spl_v3(-4.8 * sin(4 * t), 0.4, 0), spl_mat3_apply(&m.R, turned));
    return m;
}

/* The largest relative error: velocities, accelerations. */
static void compare(const spl_frame_motion *m, const spl_frame_motion *truth, double error[2])
{
    error[0] = fmax(error[0], spl_distance(m->omega, truth->omega) + spl_distance(m->v, truth->v));
    error[1] = fmax(error[1], spl_distance(m->alpha, truth->alpha) + spl_distance(m->a, truth->a));
}

static const swing arm = {{1, 2, -1}, {0.4, 1.2, 0.3}, 2.5, 6}; /* half turns and more */
static const spl_vec3 pivot = {0.5, 1.1, 0.2};

TEST(central_differences_converge_with_the_square_of_the_step)
{
    double error[2][2] = {{0}}; /* of two steps, one half the other */
    for (int fine = 0; fine < 2; fine++) {
        double h = fine ? 1.0 / 240 : 1.0 / 120;
        for (double t = 0; t < 2; t += 0.01) {
            spl_frame a = swing_at(&arm, t - h), b = swing_at(&arm, t), c = swing_at(&arm, t + h);
            spl_frame_motion m = spl_motion_central(&a, &b, &c, h, pivot), truth = swing_truth(&arm, t);
            compare(&m, &truth, error[fine]);
        }
    }
    printf("    errors %.3g 1/s, %.3g 1/s^2\n", error[0][0], error[0][1]);
    for (int k = 0; k < 2; k++) CHECK(error[1][k] < 0.3 * error[0][k]);
    CHECK(error[1][1] < 1); /* of accelerations of some 500 */
}

TEST(backward_differences_know_the_past_alone)
{
    double error[3][2] = {{0}}, h = 1.0 / 240;
    for (double t = 0; t < 2; t += 0.01) {
        spl_frame now = swing_at(&arm, t), before[2] = {swing_at(&arm, t - h), swing_at(&arm, t - 2 * h)};
        spl_frame_motion truth = swing_truth(&arm, t);
        for (int count = 0; count < 3; count++) {
            spl_frame_motion m = spl_motion_backward(before, count, &now, h, pivot);
            compare(&m, &truth, error[count]);
        }
    }
    printf("    errors %.3g %.3g %.3g 1/s; %.3g 1/s^2\n", error[0][0], error[1][0], error[2][0], error[2][1]);
    CHECK(error[1][0] < 0.1 * error[0][0] && error[2][0] < 0.1 * error[1][0]);
    CHECK(error[2][1] < 0.1 * error[0][1]);
}

/* Poses of a sine for 60 s at 120 Hz: the differences stay as exact as they were (Newmark's own update would not). */
TEST(differences_do_not_grow_with_time)
{
    double h = 1.0 / 120, early = 0, late = 0;
    for (int k = 0; k < 7200; k++) {
        spl_frame f[3];
        for (int j = 0; j < 3; j++) f[j] = (spl_frame){spl_mat3_identity(), {0.1 * sin(20 * (k + j - 1) * h), 0, 0}};
        spl_frame_motion m = spl_motion_central(&f[0], &f[1], &f[2], h, pivot);
        double error = fabs(m.a.x + 40 * sin(20 * k * h));
        if (k < 1200) early = fmax(early, error);
        if (k >= 6000) late = fmax(late, error);
    }
    CHECK(early < 0.2 && late < 1.01 * early);
}

TEST(a_jump_by_any_angle_is_finite)
{
    uint64_t seed = 8;
    for (int k = 0; k < 200; k++) {
        spl_frame f[3];
        for (int j = 0; j < 3; j++) f[j] = (spl_frame){beam_frame(&seed).R, beam_vector(&seed, 100)};
        if (k % 4 == 0) f[1].R = f[0].R;
        if (k % 4 == 1) { /* exactly half a turn */
            spl_mat3 half = spl_mat3_diagonal(-1, 1, -1);
            f[1].R = spl_mat3_mul(&f[0].R, &half);
        }
        spl_frame_motion m = spl_motion_central(&f[0], &f[1], &f[2], 0.01, pivot);
        CHECK(spl_v3_finite(m.v) && spl_v3_finite(m.a) && spl_v3_finite(m.omega) && spl_v3_finite(m.alpha));
        CHECK(spl_norm(m.omega) <= 3.15 / 0.01 && spl_norm(m.alpha) <= 6.3 / 1e-4);
    }
}

/* ---- tracks ---- */

TEST(a_track_is_smooth_and_passes_through_its_frames)
{
    const supple_allocator a = spl_allocator_of(NULL);
    spl_frame frame[61];
    spl_track t;
    for (int k = 0; k < 61; k++) frame[k] = swing_at(&arm, k / 30.0);
    CHECK(spl_track_create(frame, 61, 1.0 / 30, 0, pivot, NULL, &a, &t, NULL) == SUPPLE_OK);
    for (int k = 0; k < 61; k++) {
        spl_frame f = spl_track_at(&t, k / 30.0);
        for (int i = 0; i < 9; i++) CHECK_NEAR(f.R.m[i], frame[k].R.m[i], 1e-12);
        CHECK(spl_distance(f.t, frame[k].t) < 1e-12);
    }
    double off = 0, jump = 0, most = 0;
    spl_frame_motion last = spl_track_motion(&t, 0.2, 1e-3);
    for (double at = 0.2; at < 1.8; at += 1e-3) { /* inside: the natural ends bend less than they should */
        spl_frame f = spl_track_at(&t, at), truth = swing_at(&arm, at);
        spl_frame_motion m = spl_track_motion(&t, at, 1e-3);
        off = fmax(off, spl_distance(spl_mat3_apply(&f.R, spl_v3(1, 0, 0)), spl_mat3_apply(&truth.R, spl_v3(1, 0, 0))));
        jump = fmax(jump, spl_distance(m.alpha, last.alpha));
        most = fmax(most, spl_norm(m.alpha));
        last = m;
    }
    printf("    %.3g off between frames; accelerations change by at most %.3g of %.3g in 1 ms\n", off, jump, most);
    CHECK(off < 1e-3);
    CHECK(jump < 0.05 * most); /* piecewise linear poses would jump by all of it */
    spl_frame before = spl_track_at(&t, -1), after = spl_track_at(&t, 99), none = spl_track_at(&t, NAN);
    CHECK(spl_distance(before.t, frame[0].t) < 1e-12 && spl_distance(after.t, frame[60].t) < 1e-12);
    CHECK(spl_distance(none.t, frame[0].t) < 1e-12);
    spl_track_release(&t);
}

/* Frames at 120 a second whose pivot swings along x, with noise of the fastest kind. */
static spl_track swinging_track(double frequency, double amplitude, double noise, double cutoff)
{
    enum { FRAMES = 361 };
    static spl_frame frame[FRAMES];
    const supple_allocator a = spl_allocator_of(NULL);
    spl_track t;
    for (int k = 0; k < FRAMES; k++) {
        double x = amplitude * sin(2 * M_PI * frequency * k / 120.0) + noise * (k % 2 ? 1 : -1);
        frame[k] = (spl_frame){spl_mat3_identity(), spl_v3(x, 0, 0)};
    }
    if (spl_track_create(frame, FRAMES, 1.0 / 120, cutoff, spl_v3(0, 0, 0), NULL, &a, &t, NULL) != SUPPLE_OK) abort();
    return t;
}

static double largest_x(const spl_track *t)
{
    double most = 0;
    for (int k = 0; k < 1000; k++) most = fmax(most, fabs(spl_track_at(t, 1 + 1e-3 * k).t.x));
    return most;
}

/* The response of the smoothing spline is 1 / (1 + (v / cutoff)^4), as Fourier has it for frames without end. */
TEST(a_smooth_track_keeps_what_is_slow)
{
    for (int k = 0; k < 3; k++) {
        double frequency = k == 0 ? 3 : k == 1 ? 15 : 40, wanted = 1 / (1 + pow(frequency / 15, 4));
        spl_track t = swinging_track(frequency, 1, 0, 15);
        CHECK_NEAR(largest_x(&t), wanted, 0.02);
        spl_track_release(&t);
    }
}

/* A tenth of a millimetre from frame to frame is 5.8 m/s^2 to the spline through the frames. */
TEST(a_smooth_track_does_not_feel_noise)
{
    double most[2] = {0};
    for (int smooth = 0; smooth < 2; smooth++) {
        spl_track t = swinging_track(2, 0.05, 1e-4, smooth ? 15 : 0);
        for (int k = 120; k < 240; k++) {
            double at = k / 120.0;
            double truth = -0.05 * pow(4 * M_PI, 2) * sin(4 * M_PI * at);
            most[smooth] = fmax(most[smooth], fabs(spl_track_motion(&t, at, 1.0 / 120).a.x - truth));
        }
        spl_track_release(&t);
    }
    printf("    accelerations are off by %.2f m/s^2 through the frames, by %.3f near them\n", most[0], most[1]);
    CHECK(most[0] > 5 && most[1] < 0.1);
}

TEST(short_tracks_and_failing_memory)
{
    spl_frame frame[3];
    supple_error error;
    spl_track t;
    for (int k = 0; k < 3; k++) frame[k] = swing_at(&arm, k / 30.0);
    for (int32_t count = 1; count <= 3; count++) {
        bool failed = true;
        for (long n = 0; failed; n++) {
            failing f = {.fail_at = n};
            supple_allocator a = failing_allocator(&f);
            supple_result r = spl_track_create(frame, count, 1.0 / 30, 0, pivot, NULL, &a, &t, &error);
            failed = r != SUPPLE_OK;
            CHECK(!failed || (r == SUPPLE_ERROR_MEMORY && n < 3));
            if (!failed) {
                spl_frame end = spl_track_at(&t, 1);
                CHECK(spl_distance(end.t, frame[count - 1].t) < 1e-12);
            }
            spl_track_release(&t);
            CHECK(f.live == 0);
        }
    }
    supple_allocator a = spl_allocator_of(NULL);
    CHECK(spl_track_create(frame, 0, 0.1, 0, pivot, NULL, &a, &t, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_track_create(frame, 2, 0, 0, pivot, NULL, &a, &t, &error) == SUPPLE_ERROR_ARGUMENT);
}

/* A body that walks around a circle in steps, one of which is the clip: across its ends it moves as it does inside. */
TEST(a_cycle_goes_on_across_its_ends)
{
    enum { FRAMES = 31 };
    spl_frame root[FRAMES], limb[FRAMES];
    spl_track r, t;
    supple_allocator a = spl_allocator_of(NULL);
    spl_vec3 at_rest = spl_v3(0.2, 0.1, 0);
    for (int k = 0; k < FRAMES; k++) {
        double turn = 0.5 * k / (FRAMES - 1);
        root[k].R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(0, 1, 0), turn));
        root[k].t = spl_mat3_apply(&root[k].R, spl_v3(2, 1, 0));
        spl_mat3 bend = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(1, 0, 0), 0.3));
        limb[k].R = spl_mat3_mul(&root[k].R, &bend);
        limb[k].t = spl_add(root[k].t, spl_mat3_apply(&root[k].R, spl_v3(0, 0.4, 0)));
    }
    REQUIRE(spl_track_create(root, FRAMES, 1.0 / 30, 0, at_rest, NULL, &a, &r, NULL) == SUPPLE_OK);
    REQUIRE(spl_track_create(limb, FRAMES, 1.0 / 30, 0, at_rest, NULL, &a, &t, NULL) == SUPPLE_OK);
    double h = 1.0 / 120, at[3] = {0.5, 1, 0};
    spl_frame_motion m[3];
    for (int k = 0; k < 3; k++) {
        spl_frame before = spl_track_cycle_at(&t, &r, at[k] - h), now = spl_track_cycle_at(&t, &r, at[k]);
        spl_frame next = spl_track_cycle_at(&t, &r, at[k] + h);
        m[k] = spl_motion_central(&before, &now, &next, h, at_rest);
    }
    for (int k = 1; k < 3; k++) { /* as its own frame sees it, it always moves alike */
        CHECK_NEAR(spl_norm(m[k].v), spl_norm(m[0].v), 2e-3);
        CHECK_NEAR(spl_distance(m[k].omega, m[0].omega), 0, 2e-3);
        CHECK_NEAR(spl_norm(m[k].alpha), 0, 0.1);
    }
    spl_frame_motion stop = spl_track_motion(&t, 1, h); /* a clip that ends: thrown by its stop */
    CHECK(spl_norm(stop.a) > 50 * spl_norm(m[0].a));
    /* the splines' ends are natural, so that the last frame bends less: not as inside, but nothing like a stop */
    for (int k = 1; k < 3; k++) CHECK(spl_norm(m[k].a) < 0.03 * spl_norm(stop.a));
    spl_track_release(&r);
    spl_track_release(&t);
}

TEST_CASES(RUN(central_differences_converge_with_the_square_of_the_step), RUN(backward_differences_know_the_past_alone),
           RUN(differences_do_not_grow_with_time), RUN(a_jump_by_any_angle_is_finite),
           RUN(a_track_is_smooth_and_passes_through_its_frames), RUN(a_smooth_track_keeps_what_is_slow),
           RUN(a_smooth_track_does_not_feel_noise), RUN(short_tracks_and_failing_memory),
           RUN(a_cycle_goes_on_across_its_ends))
