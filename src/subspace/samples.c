#include "subspace/samples.h"

#include "core/error.h"
#include "core/store.h"
#include "math/cpu.h"
#include "subspace/samples_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <supple/plugin.h>
#include <unistd.h>

enum { SAMPLE_VERSION = 2 };

/* ---- poses ---- */

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
        double best = distance(s, spl_sample_moves(s, i), NULL);
        s->parent[i] = -1;
        for (int32_t k = 0; k < i; k++) {
            double d = distance(s, spl_sample_moves(s, i), spl_sample_moves(s, k));
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

/* ---- poses of which none will do ---- */

/* The joint that is farthest from where it rests in the poses that did not converge. */
static int32_t suspect(const spl_samples *s)
{
    int32_t found = 0;
    double most = -1;
    for (int32_t j = 0; j < s->joint_count; j++) {
        double sum = 0;
        for (int32_t i = 0; i < s->count; i++)
            if (s->state[i] == SPL_SAMPLE_FAILED)
                sum += spl_joint_move_distance(NULL, &spl_sample_moves(s, i)[j], s->far[j]);
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

/* ---- files ---- */

static spl_store_id sample_id(const spl_samples *s, int32_t i)
{
    spl_digest d = spl_digest_begin();
    spl_digest_array(&d, s->character.part, 2, sizeof(uint64_t));
    spl_digest_array(&d, spl_sample_moves(s, i), 6 * (size_t)s->joint_count, sizeof(double));
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

void spl_sample_find(spl_samples *s, int32_t i)
{
    spl_store_reader *r;
    const float *x;
    if (open_file(s, i, &r, &x, &s->residual[i], NULL) != SUPPLE_OK) return;
    s->state[i] = s->residual[i] <= s->options.tolerance ? SPL_SAMPLE_SOLVED : SPL_SAMPLE_FAILED;
    if (s->state[i] == SPL_SAMPLE_SOLVED) s->found++;
    spl_store_close(r);
}

supple_result spl_sample_keep(const spl_samples *s, int32_t i, const float *x, supple_error *error)
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
    const float *from = s->x ? spl_sample_x(s, i) : NULL;
    double residual;
    supple_result result = from ? SUPPLE_OK : open_file(s, i, &r, &from, &residual, error);
    for (size_t k = 0; k < n && result == SUPPLE_OK; k++) x[k] = (double)from[k];
    spl_store_close(r);
    return result;
}

/* ---- what a folder's poses belong to ---- */

spl_key spl_samples_key(const spl_samples *s)
{
    spl_digest d = spl_digest_begin();
    spl_digest_array(&d, s->character.part, 2, sizeof(uint64_t));
    spl_digest_array(&d, s->move, 6 * (size_t)s->joint_count * (size_t)s->count, sizeof(double));
    spl_digest_array(&d, s->parent, (size_t)s->count, sizeof *s->parent);
    spl_digest_text(&d, s->options.law->name);
    spl_digest_real(&d, s->options.tolerance);
    return spl_digest_end(&d);
}

size_t spl_samples_maker(const spl_samples *s, char text[SPL_SAMPLES_MAKER])
{
    const supple_solver_backend *solver = s->config ? s->config->solver : NULL;
    snprintf(text, SPL_SAMPLES_MAKER, "supple %s, %s, solver %.40s", SUPPLE_VERSION,
             spl_cpu_has_avx2() ? "avx2" : "scalar", solver ? solver->name : "own");
    return strlen(text);
}

static supple_result check_sign(const spl_samples *s, const char *path, supple_error *error)
{
    char own[SPL_SAMPLES_MAKER], other[SPL_SAMPLES_MAKER] = "";
    size_t length = spl_samples_maker(s, own), count = 0;
    spl_store_id id = {"poses", SAMPLE_VERSION, spl_samples_key(s)};
    spl_store_reader *r = NULL;
    const void *text = NULL;
    spl_store_want wanted = {"maker", SPL_STORE_U8, 1, 1, SPL_SAMPLES_MAKER - 1, ' ', '~', false};
    supple_result result = spl_store_open(path, NULL, s->config, &r, error);
    if (result != SUPPLE_OK) return result;
    spl_store_id found = spl_store_identity(r);
    bool same = strcmp(found.kind, id.kind) == 0 && found.version == id.version;
    if (!same || memcmp(&found.key, &id.key, sizeof id.key) != 0)
        result = spl_fail(error, SUPPLE_ERROR_INPUT,
                          "%.120s: its poses are of another character or of other parameters; take another folder",
                          s->options.folder);
    if (result == SUPPLE_OK) result = spl_store_get(r, &wanted, &text, &count, error);
    if (result == SUPPLE_OK) memcpy(other, text, count);
    spl_store_close(r);
    if (result != SUPPLE_OK || (count == length && memcmp(own, other, length) == 0)) return result;
    return spl_fail(error, SUPPLE_ERROR_INPUT, "%.80s: its poses are by \"%s\", and this is \"%s\", whose bits differ",
                    s->options.folder, other, own);
}

/* Written under a name of its own, then linked: the first one stands, and is whole. */
static supple_result write_sign(const spl_samples *s, const char *path, supple_error *error)
{
    char own[SPL_SAMPLES_MAKER], name[] = "/training-XXXXXX", made[4096];
    spl_store_id id = {"poses", SAMPLE_VERSION, spl_samples_key(s)};
    spl_store_writer *w = NULL;
    int n = snprintf(made, sizeof made, "%s%s", s->options.folder, name);
    if (n < 0 || (size_t)n >= sizeof made) return spl_fail(error, SUPPLE_ERROR_OUTPUT, "the path is too long");
    int fd = mkstemp(made);
    if (fd < 0) return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%.160s: %s", made, strerror(errno));
    close(fd);
    supple_result result = spl_store_create(made, &id, s->config, &w, error);
    if (result == SUPPLE_OK) {
        spl_store_add(w, "maker", SPL_STORE_U8, 1, spl_samples_maker(s, own), own, NULL);
        result = spl_store_commit(w, error);
    }
    if (result == SUPPLE_OK && link(made, path) != 0 && access(path, F_OK) != 0)
        result = spl_fail(error, SUPPLE_ERROR_OUTPUT, "%.120s: cannot be linked to, which claims are: %s",
                          s->options.folder, strerror(errno));
    unlink(made);
    return result;
}

/* What an earlier run left there before the folder was shared, of this training, is found; anything else goes. */
static void clean(spl_samples *s)
{
    char path[4096];
    for (int32_t i = 0; i < s->count; i++) {
        if (!sample_path(s, i, path, sizeof path) || access(path, F_OK) != 0) continue;
        spl_sample_find(s, i);
        if (s->state[i] == SPL_SAMPLE_OPEN) unlink(path);
    }
}

supple_result spl_samples_sign(spl_samples *s, bool make, supple_error *error)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/training", s->options.folder);
    if (n < 0 || (size_t)n >= sizeof path) return spl_fail(error, SUPPLE_ERROR_INPUT, "the path is too long");
    if (access(path, F_OK) != 0) {
        if (!make) return SUPPLE_OK;
        clean(s);
        supple_result result = write_sign(s, path, error);
        if (result != SUPPLE_OK) return result;
    }
    return check_sign(s, path, error);
}
