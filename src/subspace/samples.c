#include "subspace/samples.h"

#include "body/pins.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/store.h"
#include "statics/statics.h"
#include "subspace/relax.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SAMPLE_VERSION = 2, HOPELESS = 8 /* poses from the first on: where none of them converges none will */ };
static const double stride = 1.0; /* radians: the farthest that a joint moves in one step of continuation */

/* ---- poses ---- */

static spl_joint_move *moves_of(const spl_samples *s, int32_t i)
{
    return s->move + (size_t)i * (size_t)s->joint_count;
}

static float *x_of(const spl_samples *s, int32_t i)
{
    return s->x + 3 * (size_t)i * (size_t)s->vertex_count;
}

/* Sum of the squared distances of all joints between two poses; NULL is rest. */
static double distance(const spl_samples *s, const spl_joint_move *a, const spl_joint_move *b)
{
    double sum = 0;
    for (int32_t j = 0; j < s->joint_count; j++) {
        double d = spl_joint_move_distance(b ? &b[j] : NULL, &a[j], s->far[j]);
        sum += d * d;
    }
    return sum;
}

/* A quarter of the body's diagonal, as the joint's parent measures it in the rest pose. */
static supple_result measure_joints(spl_samples *s, const supple_scene *scene, const spl_solid *solid,
                                    supple_error *error)
{
    spl_pose rest = {0};
    double world = 0.25 * solid->diagonal / fabs(solid->drive.to_solver);
    supple_result result = spl_pose_init(&rest, scene, error);
    for (int32_t j = 0; result == SUPPLE_OK && j < s->joint_count; j++) {
        int32_t parent = scene->node[s->node[j]].parent;
        spl_mat3 linear = parent >= 0 ? spl_mat3_linear(&rest.world[parent]) : spl_mat3_identity();
        double scale = cbrt(fabs(spl_mat3_det(&linear)));
        s->far[j] = world / (scale > 0 && isfinite(scale) ? scale : 1);
    }
    spl_pose_release(&rest);
    return result;
}

static void choose_parents(spl_samples *s)
{
    for (int32_t i = 0; i < s->count; i++) {
        double best = distance(s, moves_of(s, i), NULL);
        s->parent[i] = -1;
        for (int32_t k = 0; k < i; k++) {
            double d = distance(s, moves_of(s, i), moves_of(s, k));
            if (d >= best) continue;
            best = d;
            s->parent[i] = k;
        }
    }
}

supple_result spl_samples_create(const supple_scene *scene, const int32_t *node, int32_t joint_count,
                                 const spl_joint_move *move, int32_t count, const spl_solid *solid, spl_samples *out,
                                 supple_error *error)
{
    size_t n = (size_t)solid->body->tets.vertex_count, c = (size_t)count;
    *out = (spl_samples){.allocator = scene->allocator,
                         .joint_count = joint_count,
                         .count = count,
                         .vertex_count = (int32_t)n,
                         .node = node};
    const supple_allocator *a = &out->allocator;
    out->move = spl_new(a, c * (size_t)joint_count, sizeof *out->move);
    out->far = spl_new(a, (size_t)joint_count, sizeof *out->far);
    out->parent = spl_new(a, c, sizeof *out->parent);
    out->state = spl_new(a, c, sizeof *out->state);
    out->residual = spl_new(a, c, sizeof *out->residual);
    if (!out->move || !out->far || !out->parent || !out->state || !out->residual) {
        spl_samples_release(out);
        return spl_fail_memory(error, "the training poses");
    }
    memcpy(out->move, move, c * (size_t)joint_count * sizeof *move);
    supple_result result = measure_joints(out, scene, solid, error);
    if (result != SUPPLE_OK) {
        spl_samples_release(out);
        return result;
    }
    choose_parents(out);
    return SUPPLE_OK;
}

void spl_samples_release(spl_samples *s)
{
    const supple_allocator *a = &s->allocator;
    if (!a->release) return;
    spl_free(a, s->move);
    spl_free(a, s->far);
    spl_free(a, s->parent);
    spl_free(a, s->state);
    spl_free(a, s->residual);
    spl_free(a, s->x);
    *s = (spl_samples){0};
}

spl_key spl_character_key(const spl_solid *solid)
{
    const spl_body *b = solid->body;
    size_t n = (size_t)b->tets.vertex_count, t = (size_t)b->tets.tet_count;
    spl_digest d = spl_digest_begin();
    spl_digest_array(&d, solid->drive.rest, 3 * n, sizeof(double));
    spl_digest_array(&d, b->tets.tet, 4 * t, sizeof *b->tets.tet);
    spl_digest_array(&d, b->bone, n, sizeof *b->bone);
    spl_digest_array(&d, solid->material.mu, t, sizeof(double));
    spl_digest_array(&d, solid->material.lambda, t, sizeof(double));
    spl_digest_array(&d, solid->material.density, t, sizeof(double));
    for (int32_t k = 0; k < b->bones.bone_count; k++) spl_digest_integer(&d, b->bones.bone[k].parent);
    return spl_digest_end(&d);
}

/* ---- files ---- */

static spl_store_id sample_id(const spl_samples *s, int32_t i)
{
    spl_digest d = spl_digest_begin();
    spl_digest_array(&d, s->character.part, 2, sizeof(uint64_t));
    spl_digest_array(&d, moves_of(s, i), 6 * (size_t)s->joint_count, sizeof(double));
    spl_digest_text(&d, s->options.law->name);
    spl_digest_real(&d, s->options.tolerance);
    spl_digest_integer(&d, s->parent[i]);
    return (spl_store_id){"sample", SAMPLE_VERSION, spl_digest_end(&d)};
}

static bool sample_path(const spl_samples *s, int32_t i, char *path, size_t size)
{
    int n = snprintf(path, size, "%s/pose-%05d", s->options.folder, (int)i);
    return n > 0 && (size_t)n < size;
}

/* A pose's file, and in it the places and the residual. */
static supple_result open_file(const spl_samples *s, int32_t i, spl_store_reader **r, const float **x, double *residual,
                               supple_error *error)
{
    char path[4096];
    spl_store_id id = sample_id(s, i);
    size_t n = (size_t)s->vertex_count;
    const void *places, *number;
    *r = NULL;
    if (!sample_path(s, i, path, sizeof path)) return spl_fail(error, SUPPLE_ERROR_INPUT, "the path is too long");
    supple_result result = spl_store_open(path, &id, s->config, r, error);
    if (result != SUPPLE_OK) return result;
    spl_store_want wanted = {"x", SPL_STORE_F32, 3, n, n, 0, 0, false};
    spl_store_want one = {"residual", SPL_STORE_F64, 1, 1, 1, 0, 0, false};
    result = spl_store_get(*r, &wanted, &places, NULL, error);
    if (result == SUPPLE_OK) result = spl_store_get(*r, &one, &number, NULL, error);
    if (result == SUPPLE_OK) {
        *x = places;
        *residual = *(const double *)number;
        return SUPPLE_OK;
    }
    spl_store_close(*r);
    *r = NULL;
    return result;
}

/* A pose that an earlier run has solved, or given up. What does not belong to this training, or is damaged, is solved
 * anew. */
static void find(spl_samples *s, int32_t i)
{
    spl_store_reader *r;
    const float *x;
    if (open_file(s, i, &r, &x, &s->residual[i], NULL) != SUPPLE_OK) return;
    s->state[i] = s->residual[i] <= s->options.tolerance ? SPL_SAMPLE_SOLVED : SPL_SAMPLE_FAILED;
    if (s->state[i] == SPL_SAMPLE_SOLVED) s->found++;
    spl_store_close(r);
}

static supple_result keep(const spl_samples *s, int32_t i, const float *x, supple_error *error)
{
    char path[4096];
    spl_store_id id = sample_id(s, i);
    spl_store_writer *w = NULL;
    if (!sample_path(s, i, path, sizeof path)) return spl_fail(error, SUPPLE_ERROR_OUTPUT, "the path is too long");
    supple_result result = spl_store_create(path, &id, s->config, &w, error);
    if (result != SUPPLE_OK) return result;
    spl_store_add(w, "x", SPL_STORE_F32, 3, (size_t)s->vertex_count, x, NULL);
    spl_store_add(w, "residual", SPL_STORE_F64, 1, 1, &s->residual[i], NULL);
    return spl_store_commit(w, error);
}

supple_result spl_samples_read(const spl_samples *s, int32_t i, double *x, supple_error *error)
{
    size_t n = 3 * (size_t)s->vertex_count;
    spl_store_reader *r = NULL;
    const float *from = s->x ? x_of(s, i) : NULL;
    double residual;
    supple_result result = from ? SUPPLE_OK : open_file(s, i, &r, &from, &residual, error);
    for (size_t k = 0; k < n && result == SUPPLE_OK; k++) x[k] = (double)from[k];
    spl_store_close(r);
    return result;
}

/* ---- one thread's tools ---- */

typedef struct worker {
    spl_solid solid; /* the shared one with a drive of its own */
    spl_pose pose;
    spl_pose_past past;
    spl_pins pins; /* springs of pieces that no bone holds */
    spl_statics *statics;
    spl_relax *relax; /* where poses are skinned and relaxed */
    double *x;
    float *rounded;       /* 3 x vertices: what is kept */
    spl_joint_move *move; /* joint_count: on the way */
    bool busy;
} worker;

static void release_worker(worker *w, const supple_allocator *a)
{
    spl_statics_destroy(w->statics);
    spl_relax_destroy(w->relax);
    if (w->past.map) spl_pose_past_release(&w->past, a);
    spl_pose_release(&w->pose);
    spl_pins_release(&w->pins);
    spl_drive_release(&w->solid.drive);
    spl_free(a, w->x);
    spl_free(a, w->rounded);
    spl_free(a, w->move);
}

static supple_result make_worker(worker *w, const spl_samples *s, const supple_scene *scene, const spl_solid *solid,
                                 const spl_sample_options *o, const supple_config *config, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    spl_statics_options so = spl_statics_options_default();
    so.solver = SPL_STATICS_PCG;
    so.tolerance = o->tolerance;
    so.max_iterations = o->max_iterations;
    so.size = solid->diagonal;
    so.backend = config ? config->solver : NULL;
    w->solid = *solid;
    w->solid.drive = (spl_drive){0};
    w->solid.force = NULL;
    supple_result result = spl_drive_create(solid->body, a, &w->solid.drive, error);
    w->solid.drive.spread = solid->drive.spread;
    if (result == SUPPLE_OK) result = spl_pose_init(&w->pose, scene, error);
    if (result == SUPPLE_OK) result = spl_pose_past_create(&w->solid, &w->past, error);
    if (result == SUPPLE_OK) result = spl_pins_create(&w->solid, SPL_PIN_HARD, 0, &w->pins, error);
    if (result == SUPPLE_OK && !o->skinned)
        result = spl_statics_create(&solid->elements, w->pins.held, a, NULL, &so, &w->statics, error);
    if (result == SUPPLE_OK && o->skinned && o->relax > 0)
        result = spl_relax_create(solid, o->law, config, a, &w->relax, error);
    w->x = spl_new(a, (size_t)s->vertex_count, 3 * sizeof *w->x);
    w->rounded = spl_new(a, (size_t)s->vertex_count, 3 * sizeof *w->rounded);
    w->move = spl_new(a, (size_t)s->joint_count, sizeof *w->move);
    if (result == SUPPLE_OK && (!w->x || !w->rounded || !w->move))
        result = spl_fail_memory(error, "the training poses");
    return result;
}

/* ---- solving ---- */

typedef struct solve {
    spl_samples *s;
    const supple_scene *scene;
    const spl_sample_options *options;
    const supple_config *config;
    worker *worker;
    int32_t worker_count;
    bool *taken; /* by pose: under way or done */
    int32_t under_way;
    pthread_mutex_t lock; /* of the workers, of what is taken and of the poses' states */
    pthread_cond_t freed; /* a worker, or poses whose parent is done */
    pthread_t caller;
    atomic_int stop, done;
    int32_t total;
    supple_result result; /* the first failure */
    supple_error error;
} solve;

static worker *take_worker(solve *v)
{
    worker *found = NULL;
    pthread_mutex_lock(&v->lock);
    while (!found) {
        for (int32_t i = 0; i < v->worker_count && !found; i++)
            if (!v->worker[i].busy) found = &v->worker[i];
        if (!found) pthread_cond_wait(&v->freed, &v->lock); /* a host may bring more threads than it said */
    }
    found->busy = true;
    pthread_mutex_unlock(&v->lock);
    return found;
}

static void give_worker(solve *v, worker *w)
{
    pthread_mutex_lock(&v->lock);
    w->busy = false;
    pthread_cond_broadcast(&v->freed);
    pthread_mutex_unlock(&v->lock);
}

static void fail(solve *v, supple_result result, const supple_error *error)
{
    pthread_mutex_lock(&v->lock);
    if (v->result == SUPPLE_OK) {
        v->result = result;
        v->error = *error;
    }
    pthread_mutex_unlock(&v->lock);
    atomic_store(&v->stop, 1);
}

/* The bones in the pose that is `share` of the way from one to another. */
static supple_result set_pose(const solve *v, worker *w, const spl_joint_move *from, const spl_joint_move *to,
                              double share, supple_error *error)
{
    const spl_samples *s = v->s;
    for (int32_t j = 0; j < s->joint_count; j++) {
        w->move[j] = spl_joint_move_between(from ? &from[j] : NULL, &to[j], share);
    }
    spl_pose_move(&w->pose, v->scene, s->node, w->move, s->joint_count);
    return spl_drive_pose(&w->solid.drive, &w->pose, error);
}

static supple_result step(const solve *v, worker *w, spl_statics_stats *stats, supple_error *error)
{
    const spl_solid *solid = &w->solid;
    spl_pins_pose(&w->pins, &solid->drive);
    spl_statics_problem p = {.law = v->options->law,
                             .mu = solid->material.mu,
                             .lambda = solid->material.lambda,
                             .pin = w->pins.pin,
                             .pin_count = w->pins.count};
    spl_drive_hold(&solid->drive, solid->body->bone, w->x);
    return spl_statics_solve(w->statics, &p, w->x, stats, error);
}

static int32_t steps_between(const solve *v, const spl_joint_move *from, const spl_joint_move *to)
{
    double most = 0;
    for (int32_t j = 0; j < v->s->joint_count; j++) {
        most = fmax(most, spl_joint_move_distance(from ? &from[j] : NULL, &to[j], v->s->far[j]));
    }
    return (int32_t)fmax(1, ceil(most / stride));
}

/* From the parent's solution, or rest, to the pose. */
static supple_result continue_to(const solve *v, worker *w, int32_t i, spl_statics_stats *stats, supple_error *error)
{
    const spl_samples *s = v->s;
    int32_t parent = s->parent[i];
    while (parent >= 0 && s->state[parent] != SPL_SAMPLE_SOLVED) parent = s->parent[parent];
    const spl_joint_move *from = parent >= 0 ? moves_of(s, parent) : NULL, *to = moves_of(s, i);
    spl_drive_reset(&w->solid.drive);
    supple_result result = set_pose(v, w, from, from ? from : to, from ? 1 : 0, error);
    if (result == SUPPLE_OK && parent >= 0) result = spl_samples_read(s, parent, w->x, error);
    if (result != SUPPLE_OK) return result;
    if (parent < 0) spl_solid_pose(&w->solid, w->x, NULL);
    int32_t steps = steps_between(v, from, to);
    for (int32_t k = 1; k <= steps && result == SUPPLE_OK; k++) {
        spl_pose_past_keep(&w->past, &w->solid.drive);
        result = set_pose(v, w, from, to, (double)k / steps, error);
        if (result != SUPPLE_OK) break;
        spl_solid_carry(&w->solid, &w->past, w->x, NULL);
        result = step(v, w, stats, error);
    }
    return result;
}

/* The pose without a solve. */
static supple_result skin(const solve *v, worker *w, int32_t i, supple_error *error)
{
    spl_drive_reset(&w->solid.drive);
    supple_result result = set_pose(v, w, NULL, moves_of(v->s, i), 1, error);
    if (result != SUPPLE_OK) return result;
    spl_solid_pose(&w->solid, w->x, NULL);
    spl_drive_hold(&w->solid.drive, w->solid.body->bone, w->x);
    return SUPPLE_OK;
}

/* From the pose by the weights alone. Where joints move away from what they hang on, poses between two others can be
 * torn apart, and flesh that was there does not come back. */
static supple_result begin_anew(const solve *v, worker *w, int32_t i, spl_statics_stats *stats, supple_error *error)
{
    supple_result result = skin(v, w, i, error);
    return result == SUPPLE_OK ? step(v, w, stats, error) : result;
}

static supple_result solve_one(solve *v, worker *w, int32_t i, supple_error *error)
{
    spl_samples *s = v->s;
    spl_statics_stats stats = {0};
    supple_result result = v->options->skinned ? skin(v, w, i, error) : continue_to(v, w, i, &stats, error);
    if (result == SUPPLE_OK && w->relax) spl_relax_run(w->relax, w->x, v->options->relax);
    bool failed = result == SUPPLE_ERROR_SOLVE || (result == SUPPLE_OK && !stats.converged);
    if (failed && !v->options->skinned) result = begin_anew(v, w, i, &stats, error);
    if (v->options->skinned) stats.converged = true;
    bool good = result == SUPPLE_OK && stats.converged;
    if (result != SUPPLE_OK && result != SUPPLE_ERROR_SOLVE) return result;
    s->residual[i] = result == SUPPLE_OK ? stats.residual : INFINITY;
    size_t bytes = 3 * (size_t)s->vertex_count * sizeof *w->rounded;
    memset(w->rounded, 0, bytes);
    for (size_t k = 0; good && k < 3 * (size_t)s->vertex_count; k++) w->rounded[k] = (float)w->x[k];
    if (s->x) memcpy(x_of(s, i), w->rounded, bytes);
    result = s->x ? SUPPLE_OK : keep(s, i, w->rounded, error);
    pthread_mutex_lock(&v->lock);
    s->state[i] = good && result == SUPPLE_OK ? SPL_SAMPLE_SOLVED : SPL_SAMPLE_FAILED;
    pthread_mutex_unlock(&v->lock);
    return result;
}

/* The joint that is farthest from where it rests in the poses that did not converge. */
static int32_t suspect(const spl_samples *s)
{
    int32_t found = 0;
    double most = -1;
    for (int32_t j = 0; j < s->joint_count; j++) {
        double sum = 0;
        for (int32_t i = 0; i < s->count; i++)
            if (s->state[i] == SPL_SAMPLE_FAILED) sum += spl_joint_move_distance(NULL, &moves_of(s, i)[j], s->far[j]);
        if (sum > most) most = sum, found = j;
    }
    return found;
}

supple_result spl_samples_refuse(const spl_samples *s, const supple_scene *scene, int32_t count, supple_error *error)
{
    return spl_fail(error, SUPPLE_ERROR_SOLVE,
                    "none of %d training poses converged; farthest from its rest in them is joint '%.60s': other "
                    "clips, limits or stiffer flesh may help",
                    (int)count, s->joint_count > 0 ? scene->node[s->node[suspect(s)]].name : "");
}

/* Nobody waits for hundreds of poses of which none will do. Whether it happens depends on no thread. */
static supple_result give_up(solve *v, supple_error *error)
{
    const spl_samples *s = v->s;
    int32_t failed = 0;
    pthread_mutex_lock(&v->lock);
    while (failed < s->count && failed < HOPELESS && s->state[failed] == SPL_SAMPLE_FAILED) failed++;
    supple_result result = failed == HOPELESS ? spl_samples_refuse(s, v->scene, failed, error) : SUPPLE_OK;
    pthread_mutex_unlock(&v->lock);
    return result;
}

/* The first pose that is open and whose parent is done; -1: none is. */
static int32_t find_ready(const solve *v)
{
    const spl_samples *s = v->s;
    for (int32_t i = 0; i < s->count; i++) {
        bool ready = s->parent[i] < 0 || s->state[s->parent[i]] != SPL_SAMPLE_OPEN;
        if (ready && !v->taken[i] && s->state[i] == SPL_SAMPLE_OPEN) return i;
    }
    return -1;
}

/* Takes a pose, and waits for one while others are under way; -1: there will be none. */
static int32_t take_pose(solve *v)
{
    pthread_mutex_lock(&v->lock);
    int32_t i = find_ready(v);
    while (i < 0 && v->under_way > 0 && !atomic_load(&v->stop)) {
        pthread_cond_wait(&v->freed, &v->lock);
        i = find_ready(v);
    }
    if (atomic_load(&v->stop)) i = -1;
    if (i >= 0) {
        v->taken[i] = true;
        v->under_way++;
    }
    pthread_mutex_unlock(&v->lock);
    return i;
}

static void give_pose(solve *v)
{
    pthread_mutex_lock(&v->lock);
    v->under_way--;
    pthread_cond_broadcast(&v->freed);
    pthread_mutex_unlock(&v->lock);
}

/* What one thread does: poses, as their parents are done. Which thread takes which changes nothing. */
static void solve_poses(void *context, size_t begin, size_t end)
{
    solve *v = context;
    (void)begin, (void)end;
    worker *w = take_worker(v);
    for (int32_t i = take_pose(v); i >= 0; i = take_pose(v)) {
        supple_error error = {0};
        supple_result result = solve_one(v, w, i, &error);
        if (result == SUPPLE_OK) result = give_up(v, &error);
        int done = atomic_fetch_add(&v->done, 1) + 1;
        /* the host's callbacks are called by the host's own thread alone */
        if (result == SUPPLE_OK && pthread_equal(pthread_self(), v->caller))
            result = spl_progress(v->config, "training poses", (double)done / v->total, &error);
        if (result != SUPPLE_OK) fail(v, result, &error);
        give_pose(v);
    }
    give_worker(v, w);
}

static void run(solve *v, spl_pool *pool)
{
    for (int32_t i = 0; i < v->s->count; i++) v->total += v->s->state[i] == SPL_SAMPLE_OPEN;
    if (v->total > 0) spl_parallel_for(pool, (size_t)v->worker_count, 1, solve_poses, v);
}

static supple_result make_workers(solve *v, const spl_solid *solid, spl_pool *pool, supple_error *error)
{
    int32_t count = pool ? spl_pool_thread_count(pool) : 1;
    supple_result result = SUPPLE_OK;
    if (count > v->s->count) count = v->s->count > 0 ? v->s->count : 1;
    v->worker = spl_new(&v->s->allocator, (size_t)count, sizeof *v->worker);
    if (!v->worker) return spl_fail_memory(error, "the training poses");
    for (int32_t i = 0; i < count && result == SUPPLE_OK; i++) {
        v->worker_count = i + 1;
        result = make_worker(&v->worker[i], v->s, v->scene, solid, v->options, v->config, error);
    }
    return result;
}

static supple_result make_folder(const char *folder, supple_error *error)
{
    if (!folder || mkdir(folder, 0777) == 0 || errno == EEXIST) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%.200s: cannot be made: %s", folder, strerror(errno));
}

static void report(spl_samples *s, const supple_config *config)
{
    for (int32_t i = 0; i < s->count; i++) {
        if (s->state[i] != SPL_SAMPLE_FAILED) continue;
        s->dropped++;
        spl_log(config, SUPPLE_LOG_WARNING, "training pose %d did not converge (residual %.1e) and is left out", (int)i,
                s->residual[i]);
    }
}

static bool any_open(const spl_samples *s)
{
    for (int32_t i = 0; i < s->count; i++)
        if (s->state[i] == SPL_SAMPLE_OPEN) return true;
    return false;
}

supple_result spl_samples_solve(spl_samples *s, const supple_scene *scene, const spl_solid *solid,
                                const spl_sample_options *options, const supple_config *config, spl_pool *pool,
                                supple_error *error)
{
    solve v = {.s = s, .scene = scene, .options = options, .config = config, .caller = pthread_self()};
    bool files = options->folder && !options->skinned;
    size_t n = (size_t)s->count, size;
    v.taken = spl_new(&s->allocator, n, sizeof *v.taken);
    s->options = *options;
    s->config = config;
    s->character = spl_character_key(solid);
    if (!files && spl_mul(n, 3 * (size_t)s->vertex_count, &size)) s->x = spl_new(&s->allocator, size, sizeof *s->x);
    supple_result result =
        v.taken && (files || s->x) ? make_folder(options->folder, error) : spl_fail_memory(error, "the training poses");
    for (int32_t i = 0; i < s->count && files && result == SUPPLE_OK; i++) find(s, i);
    if (any_open(s) && result == SUPPLE_OK) result = make_workers(&v, solid, pool, error);
    pthread_mutex_init(&v.lock, NULL);
    pthread_cond_init(&v.freed, NULL);
    if (result == SUPPLE_OK) {
        run(&v, pool);
        result = v.result;
        if (result != SUPPLE_OK && error) *error = v.error;
        if (result == SUPPLE_OK) report(s, config);
    }
    pthread_cond_destroy(&v.freed);
    pthread_mutex_destroy(&v.lock);
    for (int32_t i = 0; i < v.worker_count; i++) release_worker(&v.worker[i], &s->allocator);
    spl_free(&s->allocator, v.worker);
    spl_free(&s->allocator, v.taken);
    return result;
}
