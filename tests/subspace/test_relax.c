/* Poses that are nearly solved, against Newton's method to convergence. */
#include "subspace/relax.h"

#include "failing.h"
#include "rig/pose.h"
#include "statics/statics.h"
#include "subspace/training.h"

typedef struct posed {
    training t;
    spl_pose pose;
    double *skinned, *solved; /* 3 x vertices */
    size_t n;
} posed;

/* The arm in the middle of its clip: skinned, and solved. */
static posed posed_make(void)
{
    posed p = {.t = training_make("arm", 0.4, 14, NULL)};
    supple_allocator a = spl_allocator_of(NULL);
    spl_solid *s = &p.t.solid;
    spl_statics_options so = spl_statics_options_default();
    spl_statics *statics = NULL;
    if (!p.t.ok || spl_pose_init(&p.pose, p.t.demo.scene, NULL) != SUPPLE_OK) abort();
    spl_pose_sample(&p.pose, p.t.demo.scene, 0, 0.5);
    spl_drive_reset(&s->drive);
    p.n = 3 * (size_t)s->elements.vertex_count;
    p.skinned = malloc(p.n * sizeof(double));
    p.solved = malloc(p.n * sizeof(double));
    if (spl_drive_pose(&s->drive, &p.pose, NULL) != SUPPLE_OK) abort();
    spl_solid_pose(s, p.skinned, NULL);
    spl_drive_hold(&s->drive, s->body->bone, p.skinned);
    memcpy(p.solved, p.skinned, p.n * sizeof(double));
    so.tolerance = 1e-8;
    so.size = s->diagonal;
    spl_statics_problem problem = {.law = &spl_law_corot, .mu = s->material.mu, .lambda = s->material.lambda};
    spl_statics_stats stats = {0};
    if (spl_statics_create(&s->elements, s->body->bone, &a, NULL, &so, &statics, NULL) != SUPPLE_OK ||
        spl_statics_solve(statics, &problem, p.solved, &stats, NULL) != SUPPLE_OK || !stats.converged)
        abort();
    spl_statics_destroy(statics);
    return p;
}

static void posed_free(posed *p)
{
    spl_pose_release(&p->pose);
    free(p->skinned);
    free(p->solved);
    training_free(&p->t);
}

static double apart(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum);
}

/* Energy falls with every further step, sixteen of them leave little of the way, many none; what bones hold stays. */
TEST(goes_to_the_solution)
{
    posed p = posed_make();
    supple_allocator a = spl_allocator_of(NULL);
    spl_relax *r;
    REQUIRE(spl_relax_create(&p.t.solid, &spl_law_corot, NULL, &a, &r, NULL) == SUPPLE_OK);
    double *x = malloc(p.n * sizeof *x), last = INFINITY, whole = apart(p.skinned, p.solved, p.n), left = 0;
    static const int32_t steps[] = {0, 1, 4, 16, 400};
    for (int k = 0; k < 5; k++) {
        memcpy(x, p.skinned, p.n * sizeof *x);
        double energy = spl_relax_run(r, x, steps[k]);
        CHECK(energy < last);
        last = energy;
        left = apart(x, p.solved, p.n) / whole;
        printf("    %d steps: %.4f of the way is left\n", (int)steps[k], left);
        if (steps[k] == 0) CHECK(left == 1);
        if (steps[k] == 16) CHECK(left < 0.35);
        if (steps[k] == 400) CHECK(left < 1e-3);
    }
    for (size_t v = 0; v < p.n / 3; v++)
        if (p.t.solid.body->bone[v] >= 0) CHECK(memcmp(x + 3 * v, p.skinned + 3 * v, 3 * sizeof *x) == 0);
    free(x);
    spl_relax_destroy(r);
    posed_free(&p);
}

TEST(each_allocation_may_fail)
{
    training t = training_make("arm", 0.4, 12, NULL);
    REQUIRE(t.ok);
    bool failed = true;
    for (long k = 0; failed && k < 2000; k++) {
        failing f = {.fail_at = k};
        supple_allocator a = failing_allocator(&f);
        spl_relax *r;
        supple_result result = spl_relax_create(&t.solid, &spl_law_corot, NULL, &a, &r, NULL);
        failed = result != SUPPLE_OK;
        CHECK(!failed || (result == SUPPLE_ERROR_MEMORY && !r));
        spl_relax_destroy(r);
        CHECK(f.live == 0);
    }
    CHECK(!failed);
    training_free(&t);
}

TEST_CASES(RUN(goes_to_the_solution), RUN(each_allocation_may_fail))
