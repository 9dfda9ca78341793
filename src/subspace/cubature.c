#include "subspace/cubature.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/threads.h"
#include "math/dense.h"
#include "subspace/nnls.h"

#include <stdlib.h>
#include <string.h>

#define NO_FORCE  1e-9  /* share of the largest force below which a pose has none */
#define NO_STRAIN 1e-11 /* of the same material: what rounding leaves at rest is below */

enum { CHUNKS = 64, ROW_GRAIN = 512 };

spl_cubature_options spl_cubature_options_default(void)
{
    return (spl_cubature_options){
        .error = 0.05, .candidates = 1000, .most = 1000, .bytes = (size_t)512 << 20, .seed = 1};
}

/* ---- forces of one tet ---- */

/* Where a corner is: of the domain, or held. */
static void corner_at(const spl_solid *solid, const spl_model_domain *d, int32_t corner, const spl_cubature_pose *pose,
                      double x[3])
{
    size_t rank = (size_t)d->rank;
    if (corner < 0) {
        size_t v = (size_t)(pose->held && pose->place ? pose->place[~corner] : ~corner);
        const double *held = (pose->held ? pose->held : solid->drive.rest) + 3 * v;
        for (int i = 0; i < 3; i++) x[i] = held[i];
        return;
    }
    const double *row = d->basis + 3 * (size_t)corner * rank;
    for (size_t i = 0; i < 3; i++, row += rank) {
        double sum = 0;
        for (size_t k = 0; k < rank; k++) sum += row[k] * pose->q[k];
        x[i] = d->rest[3 * (size_t)corner + i] + sum;
    }
}

/* force += weight g_e(q), g_e = sum over its free corners of U^T W P g. */
static void add_force(const spl_solid *solid, const spl_model_domain *d, const spl_law *law, const spl_cubature_tet *e,
                      const spl_cubature_pose *pose, double weight, double *force)
{
    static const spl_mat3 identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    spl_law_input in = {.R = identity, .mu = e->mu, .lambda = e->lambda};
    size_t rank = (size_t)d->rank;
    spl_mat3 P;
    for (int i = 0; i < 4; i++) {
        double x[3];
        corner_at(solid, d, e->corner[i], pose, x);
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++) in.F.m[3 * c + r] += x[r] * e->gradient[3 * i + c];
    }
    law->stress(&in, &P);
    for (int i = 0; i < 4; i++) {
        if (e->corner[i] < 0) continue;
        const double *g = e->gradient + 3 * i, *row = d->basis + 3 * (size_t)e->corner[i] * rank;
        spl_vec3 f = spl_scale(spl_mat3_apply(&P, spl_v3(g[0], g[1], g[2])), weight * e->volume);
        for (size_t k = 0; k < rank; k++) force[k] += row[k] * f.x + row[rank + k] * f.y + row[2 * rank + k] * f.z;
    }
}

void spl_cubature_forces(const spl_solid *solid, const spl_model_domain *domain, const spl_law *law,
                         const spl_cubature_pose *pose, double *force)
{
    memset(force, 0, (size_t)domain->rank * sizeof *force);
    for (int32_t k = 0; k < domain->cubature_count; k++)
        add_force(solid, domain, law, &domain->cubature[k], pose, domain->cubature[k].weight, force);
}

/* ---- all tets ---- */

static spl_cubature_tet tet_of(const spl_solid *solid, const int32_t *place, int32_t tet)
{
    const spl_elements *e = &solid->elements;
    spl_cubature_tet out = {.tet = tet,
                            .weight = 1,
                            .volume = e->volume[tet],
                            .mu = solid->material.mu[tet],
                            .lambda = solid->material.lambda[tet]};
    memcpy(out.gradient, e->gradient + 12 * (size_t)tet, sizeof out.gradient);
    for (size_t i = 0; i < 4; i++) {
        int32_t v = e->tet[4 * (size_t)tet + i];
        out.corner[i] = solid->body->bone[v] >= 0 ? ~v : place[v];
    }
    return out;
}

/* The domain's tets, weights 1; NULL if memory is out. */
static spl_cubature_tet *all_tets(const spl_solid *solid, const spl_domain *o, const supple_allocator *a)
{
    int32_t *place = spl_new(a, (size_t)solid->elements.vertex_count, sizeof *place);
    spl_cubature_tet *out = spl_new(a, (size_t)o->tet_count, sizeof *out);
    if (place && out) {
        for (int32_t k = 0; k < o->vertex_count; k++) place[o->vertex[k]] = k;
        for (int32_t k = 0; k < o->tet_count; k++) out[k] = tet_of(solid, place, o->tet[k]);
    } else {
        spl_free(a, out);
        out = NULL;
    }
    spl_free(a, place);
    return out;
}

supple_result spl_cubature_all(const spl_solid *solid, const spl_domains *domains, int32_t index,
                               const supple_allocator *a, spl_model_domain *domain, supple_error *error)
{
    domain->cubature = all_tets(solid, &domains->domain[index], a);
    domain->cubature_count = domain->cubature ? domains->domain[index].tet_count : 0;
    domain->training_error = 0;
    return domain->cubature ? SUPPLE_OK : spl_fail_memory(error, "a domain's cubature");
}

/* ---- training ---- */

typedef struct work {
    const spl_solid *solid;
    const spl_law *law;
    const spl_cubature_options *options;
    const supple_allocator *allocator;
    spl_pool *pool;
    spl_model_domain *domain;
    spl_cubature_tet *tet; /* all of the domain */
    int32_t tet_count;
    const spl_cubature_pose *pose;
    int32_t pose_count, used_count; /* all, and those with forces */
    int32_t *used;
    double *inverse; /* by used pose: 1 / |f| */
    size_t rows;     /* used poses x rank */
    double *partial; /* CHUNKS x poses x rank; the first is the sum */
    double *b, *left;
    int32_t pool_count; /* candidates that have columns */
    int32_t *candidate; /* their tets */
    float *column;      /* pool_count x rows */
    double *norm;       /* by candidate; 0: out of the game */
    double *scratch;    /* pool_count x rank */
    bool *chosen;       /* by candidate */
    int32_t draw_count, *draw;
    double *score;          /* by draw */
    spl_nnls nnls;          /* of the set */
    int32_t *set, *kept;    /* candidates in the order of nnls */
    double *products, *sum; /* with the set; by chunk of rows */
    uint64_t random;
} work;

static void work_release(work *w)
{
    const supple_allocator *a = w->allocator;
    void *blocks[] = {w->tet,     w->used, w->inverse, w->partial, w->b,    w->left, w->candidate, w->column,  w->norm,
                      w->scratch, w->draw, w->score,   w->set,     w->kept, w->sum,  w->chosen,    w->products};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
    spl_nnls_release(&w->nnls);
}

static size_t next_random(work *w, size_t below)
{
    return (size_t)(spl_mix(w->random++) % below);
}

/* ---- what is to be met ---- */

static void force_chunk(void *context, size_t begin, size_t end)
{
    const work *w = context;
    size_t rank = (size_t)w->domain->rank, poses = (size_t)w->pose_count, tets = (size_t)w->tet_count;
    for (size_t chunk = begin; chunk < end; chunk++)
        for (size_t k = chunk * tets / CHUNKS; k < (chunk + 1) * tets / CHUNKS; k++)
            for (size_t t = 0; t < poses; t++)
                add_force(w->solid, w->domain, w->law, &w->tet[k], &w->pose[t], 1,
                          w->partial + (chunk * poses + t) * rank);
}

/* About how large the forces would be at strains of 1, if none cancelled. */
static double force_scale(const work *w)
{
    size_t three = 3 * (size_t)w->domain->rank;
    double sum = 0;
    for (int32_t k = 0; k < w->tet_count; k++)
        for (int i = 0; i < 4; i++) {
            const spl_cubature_tet *e = &w->tet[k];
            if (e->corner[i] < 0) continue;
            const double *U = w->domain->basis + (size_t)e->corner[i] * three, *g = e->gradient + 3 * i;
            double size = g[0] * g[0] + g[1] * g[1] + g[2] * g[2];
            sum += e->volume * (e->mu + e->lambda) * sqrt(size * spl_dense_dot(U, U, three));
        }
    return sum;
}

/* The forces of all tets at every pose, and which poses have some. */
static bool find_targets(work *w)
{
    const supple_allocator *a = w->allocator;
    size_t rank = (size_t)w->domain->rank, poses = (size_t)w->pose_count, size = poses * rank;
    w->partial = spl_new(a, CHUNKS, size * sizeof *w->partial);
    w->used = spl_new(a, poses, sizeof *w->used);
    w->inverse = spl_new(a, poses, sizeof *w->inverse);
    w->b = spl_new(a, size, sizeof *w->b);
    w->left = spl_new(a, size, sizeof *w->left);
    if (!w->partial || !w->used || !w->inverse || !w->b || !w->left) return false;
    spl_parallel_for(w->pool, CHUNKS, 1, force_chunk, w);
    for (size_t i = size; i < CHUNKS * size; i++) w->partial[i % size] += w->partial[i];
    double most = 0, floor = NO_STRAIN * force_scale(w);
    for (size_t t = 0; t < poses; t++) {
        double sum = 0;
        for (size_t k = 0; k < rank; k++) sum += w->partial[t * rank + k] * w->partial[t * rank + k];
        w->left[t] = sqrt(sum);
        most = fmax(most, w->left[t]);
    }
    for (size_t t = 0; t < poses; t++) {
        if (!(w->left[t] > NO_FORCE * most + floor)) continue;
        w->inverse[w->used_count] = 1 / w->left[t];
        for (size_t k = 0; k < rank; k++)
            w->b[(size_t)w->used_count * rank + k] = w->partial[t * rank + k] / w->left[t];
        w->used[w->used_count++] = (int32_t)t;
    }
    w->rows = (size_t)w->used_count * rank;
    memcpy(w->left, w->b, w->rows * sizeof *w->left);
    return true;
}

/* ---- candidates ---- */

/* A candidate's column: its forces at the used poses, over those poses' sizes. */
static void column_range(void *context, size_t begin, size_t end)
{
    const work *w = context;
    size_t rank = (size_t)w->domain->rank;
    for (size_t c = begin; c < end; c++) {
        double *g = w->scratch + c * rank, sum = 0;
        float *out = w->column + c * w->rows;
        for (size_t t = 0; t < (size_t)w->used_count; t++) {
            memset(g, 0, rank * sizeof *g);
            add_force(w->solid, w->domain, w->law, &w->tet[w->candidate[c]], &w->pose[w->used[t]], w->inverse[t], g);
            for (size_t k = 0; k < rank; k++) {
                out[t * rank + k] = (float)g[k];
                sum += (double)out[t * rank + k] * (double)out[t * rank + k];
            }
        }
        w->norm[c] = sqrt(sum);
    }
}

static bool make_columns(work *w)
{
    const supple_allocator *a = w->allocator;
    size_t fit = w->options->bytes / (w->rows * sizeof(float)), tets = (size_t)w->tet_count;
    size_t count = fit < 1 ? 1 : fit < tets ? fit : tets;
    w->pool_count = (int32_t)count;
    w->candidate = spl_new(a, tets, sizeof *w->candidate);
    w->column = spl_new(a, count, w->rows * sizeof *w->column);
    w->norm = spl_new(a, count, sizeof *w->norm);
    w->scratch = spl_new(a, count, (size_t)w->domain->rank * sizeof *w->scratch);
    w->chosen = spl_new(a, count, sizeof *w->chosen);
    w->draw = spl_new(a, count, sizeof *w->draw);
    w->score = spl_new(a, count, sizeof *w->score);
    if (!w->candidate || !w->column || !w->norm || !w->scratch || !w->chosen || !w->draw || !w->score) return false;
    for (size_t k = 0; k < tets; k++) w->candidate[k] = (int32_t)k;
    for (size_t k = 0; count < tets && k < count; k++) { /* as many as fit, any of them */
        size_t other = k + next_random(w, tets - k);
        int32_t swap = w->candidate[k];
        w->candidate[k] = w->candidate[other];
        w->candidate[other] = swap;
    }
    spl_parallel_for(w->pool, count, 8, column_range, w);
    return true;
}

static double dot_left(const float *a, const double *b, size_t n)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sum[k] += (double)a[i + k] * b[i + k];
    for (; i < n; i++) sum[i % 8] += (double)a[i] * b[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

static double dot_columns(const float *a, const float *b, size_t n)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sum[k] += (double)a[i + k] * (double)b[i + k];
    for (; i < n; i++) sum[i % 8] += (double)a[i] * (double)b[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* ---- the greedy choice ---- */

static void score_range(void *context, size_t begin, size_t end)
{
    const work *w = context;
    for (size_t k = begin; k < end; k++) {
        size_t c = (size_t)w->draw[k];
        w->score[k] = dot_left(w->column + c * w->rows, w->left, w->rows) / w->norm[c];
    }
}

static int32_t best_drawn(work *w)
{
    int32_t best = -1;
    spl_parallel_for(w->pool, (size_t)w->draw_count, 16, score_range, w);
    for (int32_t k = 0; k < w->draw_count; k++)
        if (w->score[k] > 0 && (best < 0 || w->score[k] > w->score[best])) best = k;
    return best < 0 ? -1 : w->draw[best];
}

/* The candidate whose forces point most along what is left: of some drawn at random, or of all if none of those helps;
 * -1 if none does. */
static int32_t choose(work *w)
{
    w->draw_count = 0;
    if (w->pool_count > w->options->candidates) {
        for (int32_t k = 0; k < w->options->candidates; k++) {
            int32_t c = (int32_t)next_random(w, (size_t)w->pool_count);
            if (!w->chosen[c] && w->norm[c] > 0) w->draw[w->draw_count++] = c;
        }
        int32_t best = best_drawn(w);
        if (best >= 0) return best;
        w->draw_count = 0;
    }
    for (int32_t c = 0; c < w->pool_count; c++)
        if (!w->chosen[c] && w->norm[c] > 0) w->draw[w->draw_count++] = c;
    return best_drawn(w);
}

typedef struct against {
    const work *w;
    const float *column;
} against;

static void product_range(void *context, size_t begin, size_t end)
{
    const against *g = context;
    for (size_t k = begin; k < end; k++)
        g->w->products[k] = dot_columns(g->w->column + (size_t)g->w->set[k] * g->w->rows, g->column, g->w->rows);
}

/* left = b - A x, in the order of the set. */
static void left_range(void *context, size_t begin, size_t end)
{
    const work *w = context;
    double sum = 0;
    memcpy(w->left + begin, w->b + begin, (end - begin) * sizeof *w->left);
    for (int32_t k = 0; k < w->nnls.count; k++) {
        const float *column = w->column + (size_t)w->set[k] * w->rows;
        double x = w->nnls.x[k];
        for (size_t i = begin; i < end; i++) w->left[i] -= x * (double)column[i];
    }
    for (size_t i = begin; i < end; i++) sum += w->left[i] * w->left[i];
    w->sum[begin / ROW_GRAIN] = sum;
}

/* Adds a candidate to the set, finds the weights anew and forgets what got none. */
static void take(work *w, int32_t c)
{
    against g = {w, w->column + (size_t)c * w->rows};
    spl_parallel_for(w->pool, (size_t)w->nnls.count, 16, product_range, &g);
    w->set[w->nnls.count] = c;
    spl_nnls_add(&w->nnls, w->products, w->norm[c] * w->norm[c], dot_left(g.column, w->b, w->rows));
    spl_nnls_solve(&w->nnls);
    if (!w->nnls.is_passive[w->nnls.count - 1]) w->norm[c] = 0; /* rounding refuses it: not again */
    for (int32_t k = 0; k < w->nnls.count; k++) w->chosen[w->set[k]] = false;
    int32_t count = spl_nnls_drop(&w->nnls, w->kept);
    for (int32_t k = 0; k < count; k++) {
        w->set[k] = w->set[w->kept[k]];
        w->chosen[w->set[k]] = true;
    }
}

/* |left| over |b|. */
static double error_left(work *w)
{
    double sum = 0;
    spl_parallel_for(w->pool, w->rows, ROW_GRAIN, left_range, w);
    for (size_t i = 0; i < (w->rows + ROW_GRAIN - 1) / ROW_GRAIN; i++) sum += w->sum[i];
    return sqrt(sum / w->used_count);
}

static supple_result choose_all(work *w, supple_error *error)
{
    const supple_allocator *a = w->allocator;
    int32_t most = w->options->most < w->pool_count ? w->options->most : w->pool_count;
    size_t room = (size_t)most + 1;
    w->set = spl_new(a, room, sizeof *w->set);
    w->kept = spl_new(a, room, sizeof *w->kept);
    w->products = spl_new(a, room, sizeof *w->products);
    w->sum = spl_new(a, w->rows / ROW_GRAIN + 1, sizeof *w->sum);
    if (!w->set || !w->kept || !w->products || !w->sum) return spl_fail_memory(error, "a domain's cubature");
    supple_result result = spl_nnls_create(most, a, &w->nnls, error);
    if (result != SUPPLE_OK) return result;
    w->domain->training_error = 1;
    for (int64_t round = 0; round < 10 * (int64_t)most; round++) { /* a set that others replace may go on for long */
        if (!(w->domain->training_error > w->options->error) || w->nnls.count >= most) break;
        int32_t c = choose(w);
        if (c < 0) break;
        take(w, c);
        w->domain->training_error = error_left(w);
    }
    return SUPPLE_OK;
}

/* ---- all of it ---- */

static int by_tet(const void *a, const void *b)
{
    const spl_cubature_tet *s = a, *t = b;
    return (s->tet > t->tet) - (s->tet < t->tet);
}

static supple_result write_cubature(work *w, supple_error *error)
{
    spl_model_domain *d = w->domain;
    d->cubature = spl_new(w->allocator, (size_t)w->nnls.count, sizeof *d->cubature);
    if (!d->cubature) return spl_fail_memory(error, "a domain's cubature");
    d->cubature_count = w->nnls.count;
    for (int32_t k = 0; k < d->cubature_count; k++) {
        d->cubature[k] = w->tet[w->candidate[w->set[k]]];
        d->cubature[k].weight = w->nnls.x[k];
    }
    qsort(d->cubature, (size_t)d->cubature_count, sizeof *d->cubature, by_tet);
    return SUPPLE_OK;
}

supple_result spl_cubature_train(const spl_solid *solid, const spl_domains *domains, int32_t index, const spl_law *law,
                                 const spl_cubature_pose *pose, int32_t pose_count, const spl_cubature_options *options,
                                 spl_pool *pool, const supple_allocator *a, spl_model_domain *domain,
                                 supple_error *error)
{
    spl_cubature_options o = options ? *options : spl_cubature_options_default();
    domain->cubature = NULL;
    domain->cubature_count = 0;
    domain->training_error = 0;
    if (!(o.error >= 0) || o.candidates < 1 || o.most < 1)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "cubature: an error of %g, %d candidates, at most %d tets",
                        o.error, (int)o.candidates, (int)o.most);
    work w = {.solid = solid,
              .law = law,
              .options = &o,
              .allocator = a,
              .pool = pool,
              .domain = domain,
              .tet = all_tets(solid, &domains->domain[index], a),
              .tet_count = domains->domain[index].tet_count,
              .pose = pose,
              .pose_count = pose_count,
              .random = spl_mix(o.seed)};
    bool ok = w.tet && find_targets(&w);
    if (ok && w.rows > 0) ok = make_columns(&w);
    supple_result result = ok ? SUPPLE_OK : spl_fail_memory(error, "a domain's cubature");
    if (ok && w.rows > 0) result = choose_all(&w, error);
    if (result == SUPPLE_OK) result = write_cubature(&w, error);
    work_release(&w);
    return result;
}
