/* Devices that fail: at every call once, for good, for want of memory, or at the compiler. Nothing leaks, and the
 * processor does what they did not. */
#include "failing.h"
#include "methods/failing_cl.h"
#include "methods/projective/cl/batch.h"
#include "methods/projective_cl.h"
#include "sim/posed.h"

static supple_result open_failing(const char *source, supple_device **out, supple_error *error)
{
    spl_cl_api api;
    long at = failing_cl.fail_at, live = failing_cl.live;
    cl_int code = failing_cl.code;
    *out = NULL;
    if (!failing_cl_make(&api)) return SUPPLE_ERROR_SOLVE;
    failing_cl.fail_at = at;
    failing_cl.live = live;
    failing_cl.code = code ? code : CL_OUT_OF_RESOURCES;
    return spl_device_open("cl", &(spl_device_options){.api = &api, .source = source}, NULL, out, error);
}

TEST(opening_fails_cleanly_at_every_call)
{
    NEED_DEVICE();
    supple_device *d;
    int opened = 0, refused = 0;
    failing_cl.live = 0;
    for (long n = 0; n < 40; n++) {
        supple_error error = {0};
        failing_cl_at(n, false, CL_DEVICE_NOT_AVAILABLE);
        supple_result result = open_failing("__kernel void none(void) {}", &d, &error);
        bool failed = failing_cl.calls > n && result != SUPPLE_OK;
        if (failed) CHECK(result == SUPPLE_ERROR_SOLVE && !d && strlen(error.message) > 10);
        opened += result == SUPPLE_OK, refused += failed;
        supple_device_close(d);
        CHECK(failing_cl.live == 0);
    }
    CHECK(opened > 0 && refused >= 5);
}

TEST(a_kernel_that_does_not_compile_is_told_by_its_first_line)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    failing_cl_at(-1, false, 0);
    failing_cl.live = 0;
    CHECK(open_failing("__kernel void broken(void) { this is no C; }", &d, &error) == SUPPLE_ERROR_SOLVE);
    CHECK(!d && failing_cl.live == 0);
    CHECK(strstr(error.message, "do not compile") && strstr(error.message, "error"));
    CHECK(!strchr(error.message, '\n'));
}

/* Creation and two short solves; whatever fails, the answer is the processor's. */
static void run_limb(limb *l, supple_device *d, const supple_allocator *a, const double *truth, int *completed)
{
    supple_error error = {0};
    spl_pd_engine *engine = NULL;
    spl_pd_stats stats;
    supple_result made = spl_cl_engine_create(d, l->pd, 2, a, &engine, &error);
    if (made != SUPPLE_OK) {
        CHECK(!engine && made == SUPPLE_ERROR_SOLVE && strlen(error.message) > 10);
        return;
    }
    memcpy(l->x, l->t.rest, 3 * (size_t)l->t.vertex_count * sizeof *l->x);
    tube_pose(&l->t, 40, 30, l->x);
    size_t bytes = 3 * (size_t)l->t.vertex_count * sizeof *l->x;
    double *before = malloc(bytes);
    memcpy(before, l->x, bytes);
    spl_tie tie[64];
    spl_pd_problem q = {.dt = 1.0 / 60,
                        .inertia = l->inertia,
                        .force = l->force,
                        .tie = tie,
                        .tie_count = make_ties(l, tie),
                        .iterations = 3};
    spl_pd_use(l->pd, engine);
    supple_result solved = spl_pd_solve(l->pd, &q, l->x, &stats, &error);
    spl_pd_use(l->pd, NULL);
    engine->destroy(engine);
    if (solved == SUPPLE_OK) {
        ++*completed;
    } else {
        CHECK(memcmp(before, l->x, bytes) == 0); /* as it was */
        spl_pd_forget(l->pd);
        CHECK(spl_pd_solve(l->pd, &q, l->x, &stats, &error) == SUPPLE_OK);
        CHECK(memcmp(truth, l->x, bytes) == 0);
    }
    free(before);
}

TEST(every_call_of_a_solve_may_fail)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    failing_cl_at(-1, false, 0);
    failing_cl.live = 0;
    REQUIRE(open_failing(NULL, &d, &error) == SUPPLE_OK);
    long opened = failing_cl.live;
    limb *l = limb_make(8, 6, 64, SPL_PACE_LBFGS, 2), *plain = limb_make(8, 6, 64, SPL_PACE_LBFGS, 2);
    spl_tie tie[64];
    spl_pd_stats stats;
    spl_pd_problem q = {.dt = 1.0 / 60,
                        .inertia = plain->inertia,
                        .force = plain->force,
                        .tie = tie,
                        .tie_count = make_ties(plain, tie),
                        .iterations = 3};
    tube_pose(&plain->t, 40, 30, plain->x);
    CHECK(spl_pd_solve(plain->pd, &q, plain->x, &stats, NULL) == SUPPLE_OK);
    int completed = 0;
    for (long n = 0; completed == 0 && n < 5000; n++) {
        failing f = {.fail_at = -1};
        supple_allocator a = failing_allocator(&f);
        failing_cl_at(n, n % 3 == 2, n % 2 ? CL_OUT_OF_RESOURCES : CL_MEM_OBJECT_ALLOCATION_FAILURE);
        run_limb(l, d, &a, plain->x, &completed);
        if (failing_cl.calls <= n) break; /* nothing was left to fail */
        completed = 0;
        CHECK(f.live == 0 && failing_cl.live == opened);
    }
    CHECK(failing_cl.calls > 300);
    limb_free(l), limb_free(plain);
    supple_device_close(d);
    CHECK(failing_cl.live == 0);
}

TEST(memory_of_the_host_may_run_out_too)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    failing_cl_at(-1, false, 0);
    failing_cl.live = 0;
    REQUIRE(open_failing(NULL, &d, &error) == SUPPLE_OK);
    long opened = failing_cl.live;
    limb *l = limb_make(8, 6, 64, SPL_PACE_LBFGS, 2);
    supple_result result = SUPPLE_ERROR_MEMORY;
    for (long n = 0; result != SUPPLE_OK && n < 200; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_pd_engine *engine = NULL;
        result = spl_cl_engine_create(d, l->pd, 2, &a, &engine, &error);
        if (result != SUPPLE_OK) CHECK(result == SUPPLE_ERROR_MEMORY && !engine);
        if (engine) engine->destroy(engine);
        CHECK(f.live == 0 && failing_cl.live == opened);
    }
    CHECK(result == SUPPLE_OK);
    result = SUPPLE_ERROR_MEMORY;
    for (long n = 0; result != SUPPLE_OK && n < 200; n++) { /* two bodies as one */
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_cl_batch *batch = NULL;
        result = spl_cl_batch_create(d, (spl_pd *[]){l->pd, l->pd}, 2, 2, &a, &batch, &error);
        if (result != SUPPLE_OK) CHECK(result == SUPPLE_ERROR_MEMORY && !batch);
        spl_cl_batch_destroy(batch);
        CHECK(f.live == 0 && failing_cl.live == opened);
    }
    CHECK(result == SUPPLE_OK);
    limb_free(l);
    supple_device_close(d);
}

TEST(too_little_device_memory_is_told)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    supple_allocator a = spl_allocator_of(NULL);
    failing_cl_at(-1, false, 0);
    REQUIRE(open_failing(NULL, &d, &error) == SUPPLE_OK);
    limb *l = limb_make(8, 6, 64, SPL_PACE_LBFGS, 2);
    spl_pd_engine *engine;
    d->memory = 50000;
    CHECK(spl_cl_engine_create(d, l->pd, 2, &a, &engine, &error) == SUPPLE_ERROR_SOLVE);
    CHECK(strstr(error.message, "too little device memory"));
    limb_free(l);
    supple_device_close(d);
}

/* A device with little of everything: work-items side by side, local memory; and what was asked of it. */
static struct {
    size_t widest, most_local;
} asked;

static cl_int CL_API_CALL small_GetDeviceInfo(cl_device_id d, cl_device_info what, size_t n, void *to, size_t *size)
{
    cl_int code = failing_cl.real.GetDeviceInfo(d, what, n, to, size);
    if (code == CL_SUCCESS && to && what == CL_DEVICE_MAX_WORK_ITEM_SIZES) *(size_t *)to = 5;
    if (code == CL_SUCCESS && to && what == CL_DEVICE_LOCAL_MEM_SIZE) *(cl_ulong *)to = 2400;
    return code;
}

static cl_int CL_API_CALL small_EnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o,
                                                     const size_t *g, const size_t *l, cl_uint e, const cl_event *w,
                                                     cl_event *v)
{
    cl_ulong local = 0;
    if (l[0] > asked.widest) asked.widest = l[0];
    failing_cl.real.GetKernelWorkGroupInfo(k, NULL, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    if (local > asked.most_local) asked.most_local = (size_t)local;
    return failing_cl.real.EnqueueNDRangeKernel(q, k, d, o, g, l, e, w, v);
}

TEST(a_devices_limits_are_kept)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    supple_allocator a = spl_allocator_of(NULL);
    spl_cl_api api;
    REQUIRE(failing_cl_make(&api));
    failing_cl_at(-1, false, 0);
    api.GetDeviceInfo = small_GetDeviceInfo;
    api.EnqueueNDRangeKernel = small_EnqueueNDRangeKernel;
    REQUIRE(spl_device_open("cl", &(spl_device_options){.api = &api}, NULL, &d, &error) == SUPPLE_OK);
    limb *l = limb_make(8, 12, 64, SPL_PACE_NONE, 10), *here = limb_make(8, 12, 64, SPL_PACE_NONE, 10);
    spl_pd_engine *engine;
    REQUIRE(spl_cl_engine_create(d, l->pd, 10, &a, &engine, &error) == SUPPLE_OK);
    spl_tie tie[64];
    spl_pd_stats stats;
    spl_pd_problem q = {.dt = 1.0 / 60,
                        .inertia = l->inertia,
                        .force = l->force,
                        .tie = tie,
                        .tie_count = make_ties(l, tie),
                        .iterations = 4};
    tube_pose(&l->t, 6, 5, l->x);
    tube_pose(&here->t, 6, 5, here->x);
    asked.widest = asked.most_local = 0;
    spl_pd_use(l->pd, engine);
    CHECK(spl_pd_solve(l->pd, &q, l->x, &stats, &error) == SUPPLE_OK);
    CHECK(spl_pd_solve(here->pd, &q, here->x, &stats, &error) == SUPPLE_OK);
    CHECK_NEAR(farthest(l, here), 0, 2e-6);
    printf("    %zu work-items, %zu bytes of local memory\n", asked.widest, asked.most_local);
    CHECK(asked.widest == 5 && asked.most_local <= 2400);
    spl_pd_use(l->pd, NULL);
    engine->destroy(engine);
    d->largest = 3000; /* of one buffer */
    CHECK(spl_cl_engine_create(d, l->pd, 2, &a, &engine, &error) == SUPPLE_ERROR_SOLVE && !engine);
    CHECK(strstr(error.message, "too little device memory"));
    limb_free(l), limb_free(here);
    supple_device_close(d);
}

/* Counts that 32 bits do not hold are refused before anything is made of them. */
TEST(a_body_beyond_32_bits_is_refused)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    supple_allocator a = spl_allocator_of(NULL);
    failing_cl_at(-1, false, 0);
    failing_cl.live = 0;
    REQUIRE(open_failing("__kernel void none(void) {}", &d, &error) == SUPPLE_OK);
    for (int k = 0; k < 2; k++) {
        spl_elements elements = {.count = k ? INT32_MAX / 8 : 1, .vertex_count = 4};
        spl_pd_input in = {.elements = &elements};
        spl_pd_view view = {.in = &in, .node_count = k ? 4 : INT32_MAX / 4};
        spl_pd_engine *engine;
        CHECK(spl_cl_engine_of(d, &view, 10, &a, &engine, &error) == SUPPLE_ERROR_SOLVE && !engine);
        CHECK(strstr(error.message, "too large"));
    }
    supple_device_close(d);
    CHECK(failing_cl.live == 0);
}

TEST(numbers_that_no_device_has_are_not_errors_of_spelling)
{
    NEED_DEVICE();
    static const char *const names[] = {"cl:64", "cl:65", "cl:4294967296", "cl:99999999999999999999"};
    supple_device *d;
    supple_error error = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK(supple_device_open(names[i], NULL, &d, &error) == SUPPLE_ERROR_SOLVE && !d);
        CHECK(strstr(error.message, "no OpenCL device"));
    }
    CHECK(supple_device_open("cl:1x", NULL, &d, &error) == SUPPLE_ERROR_ARGUMENT && !d);
    CHECK(supple_device_open(NULL, NULL, &d, &error) == SUPPLE_ERROR_ARGUMENT && !d);
    supple_device_close(NULL);
    supple_batch_destroy(NULL);
    CHECK(supple_batch_create(NULL, 0, &(supple_batch *){NULL}, &error) == SUPPLE_ERROR_ARGUMENT);
}

/* ---- whole simulations ---- */

static atomic_int warnings;
static char warning[300];

static void count_warnings(void *user, supple_log_level level, const char *message)
{
    (void)user;
    if (level != SUPPLE_LOG_WARNING || !strstr(message, "the processor goes on")) return;
    warnings++;
    snprintf(warning, sizeof warning, "%s", message);
}

/* Six frames of a hopping sack, the device failing for good at the n-th call after `from` frames (-1: none); positions.
 */
static float *hop(const posed *p, supple_device *d, int from, long n)
{
    supple_config config = supple_config_default();
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim;
    supple_error error = {0};
    config.log = count_warnings;
    sc.dynamics = true;
    sc.shared_device = d;
    failing_cl_at(from == 0 ? n : -1, true, CL_OUT_OF_RESOURCES);
    if (posed_try(p, "projective", "", &sc, &config, &sim, &error) != SUPPLE_OK) abort();
    int32_t clip = supple_scene_clip_find(p->demo.scene, "hop");
    for (int k = 0; k < 6; k++) {
        if (k == from && from > 0) failing_cl_at(n, true, CL_OUT_OF_RESOURCES);
        CHECK(supple_sim_step_clip(sim, clip, k / 30.0, &error) == SUPPLE_OK);
    }
    CHECK(supple_sim_on_device(sim) == (d && failing_cl.fail_at < 0));
    float *out = calloc((size_t)p->demo.scene->vertex_count, 3 * sizeof *out);
    supple_sim_read_positions(sim, out, 12);
    supple_sim_destroy(sim);
    return out;
}

TEST(a_simulation_goes_on_where_its_device_is_lost)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    failing_cl_at(-1, false, 0);
    failing_cl.live = 0;
    REQUIRE(open_failing(NULL, &d, &error) == SUPPLE_OK);
    long opened = failing_cl.live;
    posed p = posed_make("sack", 10, NULL);
    size_t n = 3 * (size_t)p.demo.scene->vertex_count;
    float *here = hop(&p, NULL, -1, -1);
    static const struct {
        int from;
        long n;
    } cases[] = {{-1, -1}, {0, 0}, {0, 60}, {0, 330}, {1, 0}, {3, 500}, {5, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        warnings = 0;
        float *out = hop(&p, d, cases[i].from, cases[i].n);
        CHECK(warnings == (cases[i].n >= 0));
        if (warnings) CHECK(strstr(warning, "device ") && strstr(warning, "out of resources"));
        double worst = 0, size = 0;
        for (size_t k = 0; k < n; k++) {
            worst = fmax(worst, fabs((double)(out[k] - here[k])));
            size = fmax(size, fabs((double)here[k]));
        }
        if (cases[i].from == 0 && cases[i].n < 100)
            CHECK(memcmp(out, here, n * sizeof *out) == 0); /* never on the device */
        CHECK_NEAR(worst / size, 0, 1e-5);
        CHECK(failing_cl.live == opened);
        free(out);
    }
    free(here);
    posed_free(&p);
    supple_device_close(d);
    CHECK(failing_cl.live == 0);
}

/* Three sacks as one: a third of the calls, or so; and when the device is lost each goes on by itself. */
TEST(a_batch_goes_on_where_its_device_is_lost)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    failing_cl_at(-1, false, 0);
    failing_cl.live = 0;
    REQUIRE(open_failing(NULL, &d, &error) == SUPPLE_OK);
    posed p = posed_make("sack", 10, NULL);
    int32_t clip = supple_scene_clip_find(p.demo.scene, "hop");
    size_t n = 3 * (size_t)p.demo.scene->vertex_count;
    enum { COUNT = 3 };
    supple_sim *sim[COUNT], *alone;
    supple_batch *batch;
    supple_config config = supple_config_default();
    supple_sim_config sc = supple_sim_config_default();
    config.log = count_warnings;
    sc.dynamics = true;
    REQUIRE(posed_try(&p, "projective", "accelerate=none solver=pcg", &sc, &config, &alone, &error) == SUPPLE_OK);
    sc.shared_device = d;
    for (int i = 0; i < COUNT; i++)
        REQUIRE(posed_try(&p, "projective", "accelerate=none solver=pcg", &sc, &config, &sim[i], &error) == SUPPLE_OK);
    const int32_t clips[COUNT] = {clip, clip, clip};
    long calls[2] = {0};
    for (int k = 0; k < 2; k++) { /* a frame each by itself */
        failing_cl_at(-1, false, 0);
        for (int i = 0; i < COUNT; i++) CHECK(supple_sim_step_clip(sim[i], clip, k / 30.0, &error) == SUPPLE_OK);
        calls[0] = failing_cl.calls;
        CHECK(supple_sim_step_clip(alone, clip, k / 30.0, &error) == SUPPLE_OK);
    }
    REQUIRE(supple_batch_create(sim, COUNT, &batch, &error) == SUPPLE_OK);
    warnings = 0;
    for (int k = 2; k < 6; k++) {
        failing_cl_at(k == 4 ? 300 : -1, true, CL_OUT_OF_RESOURCES);
        const double times[COUNT] = {k / 30.0, k / 30.0, k / 30.0};
        CHECK(supple_batch_step_clip(batch, clips, times, &error) == SUPPLE_OK);
        if (k == 3) calls[1] = failing_cl.calls;
        CHECK(supple_sim_step_clip(alone, clip, k / 30.0, &error) == SUPPLE_OK);
    }
    printf("    %ld calls of OpenCL a frame, %ld joint\n", calls[0], calls[1]);
    CHECK(calls[1] > 100 && calls[1] < calls[0] / 2);
    CHECK(warnings == COUNT);
    float *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
    supple_sim_read_positions(alone, a, 12);
    for (int i = 0; i < COUNT; i++) {
        double worst = 0;
        supple_sim_read_positions(sim[i], b, 12);
        for (size_t k = 0; k < n; k++) worst = fmax(worst, fabs((double)(a[k] - b[k])));
        CHECK_NEAR(worst / sim[i]->flesh.solid.diagonal, 0, 1e-5);
        CHECK(!supple_sim_on_device(sim[i]));
    }
    supple_batch_destroy(batch);
    for (int i = 0; i < COUNT; i++) supple_sim_destroy(sim[i]);
    supple_sim_destroy(alone);
    free(a), free(b);
    posed_free(&p);
    supple_device_close(d);
    CHECK(failing_cl.live == 0);
}

TEST(every_call_of_showing_may_fail)
{
    NEED_DEVICE();
    supple_device *d;
    supple_error error = {0};
    failing_cl_at(-1, false, 0);
    failing_cl.live = 0;
    REQUIRE(open_failing(NULL, &d, &error) == SUPPLE_OK);
    posed p = posed_make("sack", 10, NULL);
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim;
    sc.shared_device = d;
    sc.dynamics = true;
    REQUIRE(posed_try(&p, "projective", "polish=off", &sc, NULL, &sim, &error) == SUPPLE_OK);
    long before = failing_cl.live, n = 0;
    float *to = calloc((size_t)p.demo.scene->vertex_count, 3 * sizeof *to);
    for (bool more = true; more; n++) {
        failing_cl_at(n, false, CL_OUT_OF_RESOURCES);
        supple_result result = supple_sim_device_show(sim, &error);
        if (result == SUPPLE_OK) result = supple_sim_copy_start(sim, to, NULL, &error);
        if (result == SUPPLE_OK) result = supple_sim_copy_finish(sim, &error);
        more = failing_cl.calls > n;
        CHECK(result == (more ? SUPPLE_ERROR_SOLVE : SUPPLE_OK));
        if (!supple_sim_device_positions(sim)) CHECK(failing_cl.live == before);
    }
    CHECK(n > 20);
    CHECK(supple_sim_on_device(sim)); /* that is another matter */
    free(to);
    supple_sim_destroy(sim);
    posed_free(&p);
    supple_device_close(d);
    CHECK(failing_cl.live == 0);
}

TEST_CASES(RUN(every_call_of_showing_may_fail), RUN(a_batch_goes_on_where_its_device_is_lost),
           RUN(opening_fails_cleanly_at_every_call), RUN(a_kernel_that_does_not_compile_is_told_by_its_first_line),
           RUN(every_call_of_a_solve_may_fail), RUN(memory_of_the_host_may_run_out_too),
           RUN(too_little_device_memory_is_told), RUN(a_devices_limits_are_kept), RUN(a_body_beyond_32_bits_is_refused),
           RUN(numbers_that_no_device_has_are_not_errors_of_spelling),
           RUN(a_simulation_goes_on_where_its_device_is_lost))
