/* Players in a world: things that press on flesh, and steps that do not hang on the host's frame rate. */
#include "core/memory.h"
#include "failing.h"
#include "subspace/playing.h"

static supple_player *player_with(const fixture *f, double fixed_step, int32_t colliders)
{
    supple_player_config pc = supple_player_config_default();
    supple_player *p = NULL;
    supple_error error = {0};
    pc.fixed_step = fixed_step;
    pc.colliders = colliders;
    if (supple_player_create(f->model, &pc, NULL, &p, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return p;
}

/* The rest pose, turned about the world's z by an angle and moved along x: a motion that is even between any two of its
 * moments. */
static float *turned(const fixture *f, double angle, double along)
{
    int32_t n = supple_model_joint_count(f->model);
    float *out = calloc((size_t)n, 64), c = (float)cos(angle), s = (float)sin(angle);
    for (int32_t j = 0; j < n; j++) {
        float rest[16], *m = out + 16 * j;
        supple_model_joint_rest(f->model, j, rest);
        for (int k = 0; k < 4; k++) {
            m[4 * k] = c * rest[4 * k] - s * rest[4 * k + 1];
            m[4 * k + 1] = s * rest[4 * k] + c * rest[4 * k + 1];
            m[4 * k + 2] = rest[4 * k + 2];
            m[4 * k + 3] = rest[4 * k + 3];
        }
        m[12] += (float)along;
    }
    return out;
}

static double apart(const float *a, const float *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* A shove along x at several frame rates, each with the surface at the same moments: with fixed steps the flesh is the
 * same, with steps of the host's it is not. A turning motion on top would add what joints do between frames. */
TEST(flesh_does_not_see_the_hosts_frame_rate)
{
    static const int rates[] = {30, 60, 90, 240};
    fixture f = fixture_make(false);
    size_t n = 3 * (size_t)supple_model_vertex_count(f.model);
    double off[2] = {0}, swing = 0;
    for (int fixed = 0; fixed < 2; fixed++) {
        float *truth[15] = {0};
        for (int r = 0; r < 4; r++) {
            supple_player *p = player_with(&f, fixed ? 1 / 120.0 : 0, 0);
            REQUIRE(p);
            for (int k = 0; k <= rates[r] / 2; k++) {
                double time = (double)k / rates[r];
                float *pose = turned(&f, 0, time < 0.1 ? 0 : 3 * (time - 0.1));
                CHECK(supple_player_step(p, pose, supple_model_joint_count(f.model), k ? 1.0 / rates[r] : 0, NULL) ==
                      SUPPLE_OK);
                free(pose);
                if (k * 30 % rates[r] || k * 30 / rates[r] >= 15) continue;
                float *x = positions(&f, p), **first = &truth[k * 30 / rates[r]];
                if (!*first) {
                    *first = x;
                    continue;
                }
                off[fixed] = fmax(off[fixed], apart(x, *first, n));
                if (fixed && k) {
                    for (size_t i = 0; i < n; i += 3) x[i] -= (float)(time < 0.1 ? 0 : 3 * (time - 0.1));
                    swing = fmax(swing, apart(x, truth[0], n));
                }
                free(x);
            }
            supple_player_destroy(p);
        }
        for (int k = 0; k < 15; k++) free(truth[k]);
    }
    printf("    fixed steps: %.2g m apart, the host's: %.2g; swings by %.2g\n", off[1], off[0], swing);
    CHECK(swing > 1e-3);
    CHECK(off[1] < 0.01 * swing);
    CHECK(off[0] > 5 * off[1]);
    fixture_free(&f);
}

/* Steps that are due are made, no more; between them flesh goes on evenly and bones are where the call has them. */
TEST(what_is_shown_lies_between_two_steps)
{
    fixture f = fixture_make(false);
    supple_player *p = player_with(&f, 1 / 60.0, 0), *whole = player_with(&f, 1 / 60.0, 0);
    REQUIRE(p && whole);
    size_t n = 3 * (size_t)supple_model_vertex_count(f.model);
    int32_t joints = supple_model_joint_count(f.model), made = 0;
    for (int k = 0; k <= 48; k++) {
        float *pose = turned(&f, 0.002 * k, 0);
        CHECK(supple_player_step(p, pose, joints, k ? 1 / 240.0 : 0, NULL) == SUPPLE_OK);
        if (k) made += supple_player_get_stats(p)->steps;
        CHECK(k == 0 || supple_player_get_stats(p)->steps == (k % 4 == 0));
        CHECK(supple_player_get_stats(p)->residual < 0.1);
        if (k % 4 == 0) {
            CHECK(supple_player_step(whole, pose, joints, k ? 1 / 60.0 : 0, NULL) == SUPPLE_OK);
            float *x = positions(&f, p), *y = positions(&f, whole);
            CHECK(apart(x, y, n) < 2e-6);
            free(x), free(y);
        }
        free(pose);
    }
    CHECK(made == 12);
    supple_player_destroy(p);
    supple_player_destroy(whole);
    fixture_free(&f);
}

/* The highest vertex near the middle of the surface. */
static const float *top_of(const fixture *f, const float *x, double unit)
{
    int32_t n = supple_model_vertex_count(f->model);
    double middle = 0;
    const float *top = NULL;
    for (int32_t v = 0; v < n; v++) middle += (double)x[3 * v] / n;
    for (int32_t v = 0; v < n; v++)
        if (fabs((double)x[3 * v] - middle) < 0.05 * unit && (!top || x[3 * v + 1] > top[1])) top = x + 3 * v;
    return top;
}

/* Each kind presses a dent, which goes when it is gone; a mirrored character in units of its own has the same dent. */
TEST(things_of_the_world_press)
{
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        fixture f = fixture_make(mirrored);
        supple_player *p = player_with(&f, 0, 3);
        REQUIRE(p);
        float *pose = turned(&f, 0, 0);
        size_t n = 3 * (size_t)supple_model_vertex_count(f.model);
        int32_t joints = supple_model_joint_count(f.model);
        double unit = 1 / fabs(f.model->model.rig.to_solver);
        CHECK(supple_player_step(p, pose, joints, 0, NULL) == SUPPLE_OK);
        float *rest = positions(&f, p);
        const float *top = top_of(&f, rest, unit);
        REQUIRE(top);
        for (int kind = 0; kind < 3; kind++) {
            supple_collider c = {.kind = (supple_collider_kind)kind, .radius = (float)(0.03 * unit)};
            memcpy(c.a, top, sizeof c.a);
            memcpy(c.b, top, sizeof c.b);
            c.a[1] += (float)((kind == SUPPLE_COLLIDER_PLANE ? -0.01 : 0.015) * unit); /* 10 and 15 mm deep */
            c.b[1] = c.a[1];
            c.b[2] += (float)(0.1 * unit);
            if (kind == SUPPLE_COLLIDER_PLANE) c.b[0] = c.b[2] = 0, c.b[1] = -1; /* from above */
            CHECK(supple_player_set_colliders(p, &c, 1, NULL) == SUPPLE_OK);
            for (int k = 0; k < 30; k++) CHECK(supple_player_step(p, pose, joints, 1 / 60.0, NULL) == SUPPLE_OK);
            const supple_player_stats *s = supple_player_get_stats(p);
            float *x = positions(&f, p);
            double dent = apart(x, rest, n) / unit;
            printf("    kind %d: %d contacts, dent %.2g m, %.2g inside\n", kind, s->contacts, dent, s->penetration);
            CHECK(s->contacts > 0 && s->penetration < 0.012);
            CHECK(dent > 1e-3 && dent < 0.1);
            CHECK(supple_player_set_colliders(p, NULL, 0, NULL) == SUPPLE_OK);
            for (int k = 0; k < 240; k++) CHECK(supple_player_step(p, pose, joints, 1 / 60.0, NULL) == SUPPLE_OK);
            float *y = positions(&f, p);
            CHECK(apart(y, rest, n) / unit < 0.1 * dent);
            CHECK(supple_player_get_stats(p)->contacts == 0);
            free(x), free(y);
        }
        free(rest), free(pose);
        supple_player_destroy(p);
        fixture_free(&f);
    }
}

/* Refused, and the last ones stand; steps with colliders and fixed steps allocate nothing. */
TEST(colliders_are_checked)
{
    fixture f = fixture_make(false);
    failing count = {.fail_at = -1};
    supple_config config = supple_config_default();
    supple_player_config pc = supple_player_config_default();
    supple_player *p = NULL;
    supple_error error = {0};
    supple_collider good[3] = {{SUPPLE_COLLIDER_SPHERE, {0, 0, 0}, {0, 0, 0}, 0.1F}}, bad;
    config.allocator = failing_allocator(&count);
    config.thread_count = 1;
    pc.fixed_step = 1 / 120.0;
    pc.colliders = 2;
    REQUIRE(supple_player_create(f.model, &pc, &config, &p, NULL) == SUPPLE_OK);
    CHECK(supple_player_set_colliders(p, good, 3, &error) == SUPPLE_ERROR_ARGUMENT && strstr(error.message, "room"));
    CHECK(supple_player_set_colliders(p, good, -1, NULL) == SUPPLE_ERROR_ARGUMENT);
    for (int k = 0; k < 5; k++) {
        bad = good[0];
        if (k == 0) bad.radius = -1;
        if (k == 1) bad.a[1] = NAN;
        if (k == 2) bad.kind = (supple_collider_kind)7;
        if (k == 3) bad.kind = SUPPLE_COLLIDER_PLANE; /* its normal is 0 */
        if (k == 4) bad.kind = SUPPLE_COLLIDER_CAPSULE, bad.b[2] = INFINITY;
        CHECK(supple_player_set_colliders(p, &bad, 1, &error) == SUPPLE_ERROR_ARGUMENT);
    }
    CHECK(supple_player_set_colliders(p, good, 1, NULL) == SUPPLE_OK);
    long before = count.requests;
    for (int k = 0; k < 8; k++) play(&f, p, 0.02 * k, 0.02);
    CHECK(count.requests == before);
    supple_player_destroy(p);
    CHECK(count.live == 0);
    pc.fixed_step = 1e-6;
    CHECK(supple_player_create(f.model, &pc, &config, &p, NULL) == SUPPLE_ERROR_ARGUMENT && !p);
    pc.fixed_step = 1 / 120.0;
    pc.colliders = 257;
    CHECK(supple_player_create(f.model, &pc, &config, &p, NULL) == SUPPLE_ERROR_ARGUMENT && !p);
    pc.colliders = 2;
    long at = 0;
    for (bool done = false; !done && at < 10000; at++) {
        failing nth = {.fail_at = at};
        config.allocator = failing_allocator(&nth);
        supple_result result = supple_player_create(f.model, &pc, &config, &p, NULL);
        done = result == SUPPLE_OK;
        CHECK(done || (result == SUPPLE_ERROR_MEMORY && !p));
        supple_player_destroy(p);
        p = NULL;
        CHECK(nth.live == 0);
    }
    CHECK(at > 50 && at < 10000);
    fixture_free(&f);
}

TEST_CASES(RUN(flesh_does_not_see_the_hosts_frame_rate), RUN(what_is_shown_lies_between_two_steps),
           RUN(things_of_the_world_press), RUN(colliders_are_checked))
