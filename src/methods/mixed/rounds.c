#include "methods/mixed/rounds.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/quat.h"

#include <stdlib.h>
#include <string.h>

enum { NEWTON = 4, GRAIN = 1024 }; /* Newton: from the bones' rotation to within 1e-6 of the polar one */

/* Degrees between the flesh and what is prescribed: below the first, R is the bones'; above the second, the flesh's.
 * In the folds of hero's joints 99.7% of the tets stay below 45 degrees, and the bones are right to prescribe there:
 * with 30 and 50 the knee lost volume and a frame took four times as long. */
static const double NEAR_BONES[2] = {65, 90}, BETWEEN_LIMBS[2] = {30, 50}, FAR_OFF[2] = {10, 30};
#define TAN_LEAST 0.17 /* a little less than the tangent of the least of them */

/* Between limbs: their bones disagree by so much. */
#define DISCORD_FROM 0.1
#define DISCORD_AT   0.4

/* What is far off: beyond so many times the distance to held flesh that a quarter of the skin has. */
#define FAR_FROM 3.0
#define FAR_AT   6.0

/* Flesh that bones tear apart has no rotation of its own: strain of sym(R^T F) from which, and at which, the bones'
 * stands. */
#define TORN_FROM 0.5
#define TORN_AT   1.5

/* ---- creation ---- */

static double smooth_step(double from, double to, double x)
{
    double t = fmin(fmax((x - from) / (to - from), 0), 1);
    return t * t * (3 - 2 * t);
}

/* way: by vertex, the distance to held flesh along the tets' edges. Relaxed forwards and backwards until it stays. */
static void measure_ways(const spl_elements *e, const double *rest, double *way)
{
    enum { SWEEPS = 200 };
    bool changed = true;
    for (int sweep = 0; sweep < SWEEPS && changed; sweep++) {
        changed = false;
        for (int32_t n = 0; n < e->count; n++) {
            const int32_t *c = e->tet + 4 * (size_t)(sweep % 2 ? e->count - 1 - n : n);
            for (int i = 0; i < 12; i++) {
                int32_t u = c[i / 3], v = c[(i / 3 + 1 + i % 3) % 4];
                const double *p = rest + 3 * (size_t)u, *q = rest + 3 * (size_t)v;
                double through = way[u] + spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2]));
                if (through >= way[v] * (1 - 1e-9)) continue;
                way[v] = through;
                changed = true;
            }
        }
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static supple_result find_far(const spl_rounds_input *in, spl_rounds *r, supple_error *error)
{
    const spl_elements *e = in->elements;
    size_t n = (size_t)e->vertex_count, corners = 3 * (size_t)in->surface_count, count = 0;
    double *way = spl_new(&r->allocator, n, sizeof *way), *sorted = spl_new(&r->allocator, corners, sizeof *sorted);
    if (way && sorted) {
        for (size_t v = 0; v < n; v++) way[v] = in->held[v] >= 0 ? 0 : INFINITY;
        for (int32_t i = 0; i < in->pin_count; i++) way[in->pin[i].vertex] = 0;
        measure_ways(e, in->rest, way);
        for (size_t i = 0; i < corners; i++)
            if (way[in->surface[i]] < INFINITY) sorted[count++] = way[in->surface[i]];
        qsort(sorted, count, sizeof *sorted, compare);
        double unit = count ? sorted[count / 4] : 0;
        for (size_t k = 0; k < (size_t)e->count; k++) {
            double mean = 0;
            for (size_t i = 0; i < 4; i++) mean += 0.25 * way[e->tet[4 * k + i]];
            r->far[k] = unit > 0 ? (float)smooth_step(FAR_FROM * unit, FAR_AT * unit, mean) : 0;
        }
    }
    spl_free(&r->allocator, way);
    spl_free(&r->allocator, sorted);
    return way && sorted ? SUPPLE_OK : spl_fail_memory(error, "the rotations");
}

supple_result spl_rounds_create(const spl_rounds_input *in, const supple_allocator *a, spl_rounds *out,
                                supple_error *error)
{
    const spl_elements *e = in->elements;
    size_t blocks = ((size_t)e->count + 7) / 8;
    *out = (spl_rounds){.allocator = *a};
    out->turn = spl_new(a, blocks, sizeof *out->turn);
    out->F = spl_new(a, blocks, sizeof *out->F);
    out->prescribed = spl_new(a, (size_t)e->count, 9 * sizeof *out->prescribed);
    out->share = spl_new(a, (size_t)e->count, sizeof *out->share);
    out->spin = spl_new(a, (size_t)e->count, sizeof *out->spin);
    out->piece = spl_new(a, (size_t)e->count / GRAIN + 1, sizeof *out->piece);
    out->far = spl_new(a, (size_t)e->count, sizeof *out->far);
    out->discord = spl_new(a, (size_t)e->count, sizeof *out->discord);
    bool ok =
        out->turn && out->F && out->prescribed && out->share && out->spin && out->piece && out->far && out->discord;
    supple_result result = ok ? find_far(in, out, error) : spl_fail_memory(error, "the rotations");
    if (result != SUPPLE_OK) spl_rounds_release(out);
    return result;
}

void spl_rounds_release(spl_rounds *r)
{
    if (!r->allocator.release) return;
    spl_free(&r->allocator, r->turn);
    spl_free(&r->allocator, r->F);
    spl_free(&r->allocator, r->prescribed);
    spl_free(&r->allocator, r->share);
    spl_free(&r->allocator, r->spin);
    spl_free(&r->allocator, r->piece);
    spl_free(&r->allocator, r->far);
    spl_free(&r->allocator, r->discord);
    *r = (spl_rounds){0};
}

typedef struct rotate_loop {
    spl_rounds *r;
    const spl_elements *e;
    const double *x;
    double *rotation;
} rotate_loop;

static void load(const rotate_loop *l, size_t block)
{
    for (size_t lane = 0; lane < 8; lane++) {
        size_t k = 8 * block + lane;
        bool there = k < (size_t)l->e->count;
        spl_mat3 F = there ? spl_element_F(l->e, (int32_t)k, l->x) : spl_mat3_identity(), R = spl_mat3_identity();
        for (int i = 0; i < 9; i++) {
            if (there) R.m[i] = l->rotation[9 * k + (size_t)i];
            l->r->F[block].m[i][lane] = (float)F.m[i];
        }
        spl_quat q = spl_quat_from_mat3(&R);
        const double part[4] = {q.x, q.y, q.z, q.w};
        for (int i = 0; i < 4; i++) l->r->turn[block].q[i][lane] = (float)part[i];
    }
}

static void store(const rotate_loop *l, size_t block)
{
    const spl_quatx8 *t = &l->r->turn[block];
    for (size_t lane = 0; lane < 8 && 8 * block + lane < (size_t)l->e->count; lane++) {
        spl_quat q = spl_quat_normalise(
            spl_quat_make((double)t->q[0][lane], (double)t->q[1][lane], (double)t->q[2][lane], (double)t->q[3][lane]));
        spl_mat3 R = spl_quat_to_mat3(q);
        for (size_t i = 0; i < 9; i++) l->rotation[9 * (8 * block + lane) + i] = R.m[i];
    }
}

static void rotate_range(void *context, size_t begin, size_t end)
{
    const rotate_loop *l = context;
    for (size_t block = begin; block < end; block++) load(l, block);
    spl_rotation3_blocks(l->r->F + begin, end - begin, NEWTON, l->r->turn + begin);
    for (size_t block = begin; block < end; block++) store(l, block);
}

void spl_rounds_rotate(spl_rounds *r, const spl_elements *e, const double *x, double *rotation, spl_pool *pool)
{
    rotate_loop l = {r, e, x, rotation};
    spl_parallel_for(pool, ((size_t)e->count + 7) / 8, 128, rotate_range, &l);
}

/* ---- where no bone is ---- */

/* M = R^T F; with w the axis of its skew part, |w| and (tr M - 1) / 2 are the sine and the cosine of a rotation. */
static double sine_and_cosine(const spl_mat3 *F, const double *R, double M[9], double *cosine)
{
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            M[3 * c + r] = R[3 * r] * F->m[3 * c] + R[3 * r + 1] * F->m[3 * c + 1] + R[3 * r + 2] * F->m[3 * c + 2];
    *cosine = 0.5 * (M[0] + M[4] + M[8] - 1);
    return 0.5 * spl_norm(spl_v3(M[5] - M[7], M[6] - M[2], M[1] - M[3]));
}

double spl_rounds_angle(const spl_mat3 *F, const double *R)
{
    double M[9], cosine, sine = sine_and_cosine(F, R, M, &cosine);
    return atan2(sine, cosine);
}

void spl_rounds_begin(spl_rounds *r, const spl_elements *e, const double *rotation)
{
    memcpy(r->prescribed, rotation, 9 * (size_t)e->count * sizeof *rotation);
    memset(r->share, 0, (size_t)e->count * sizeof *r->share);
    memset(r->spin, 0, (size_t)e->count * sizeof *r->spin);
}

typedef struct free_loop {
    spl_rounds *r;
    const spl_elements *e;
    const double *mu, *x;
    double *rotation;
    bool hold;
} free_loop;

static spl_quat quat_of(const double *R)
{
    spl_mat3 m;
    memcpy(m.m, R, sizeof m.m);
    return spl_quat_from_mat3(&m);
}

/* Sets a tet's rotation; the angle by which it changed. */
static double free_tet(const free_loop *l, size_t k, const spl_mat3 *F)
{
    double *R = l->rotation + 9 * k;
    l->r->spin[k] = l->mu[k] * l->r->share[k];
    if (l->hold) return INFINITY;
    spl_mat3 polar, S;
    spl_polar3(F, &polar, &S);
    spl_quat before = quat_of(R);
    spl_quat q = spl_quat_slerp(quat_of(l->r->prescribed + 9 * k), spl_quat_from_mat3(&polar), l->r->share[k]);
    polar = spl_quat_to_mat3(q);
    memcpy(R, polar.m, sizeof polar.m);
    return 2 * acos(fmin(fabs(spl_quat_dot(before, q)), 1));
}

/* |sym(M) - I| */
static double strain_of(const double M[9])
{
    double sum = 0;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) {
            double e = 0.5 * (M[3 * c + r] + M[3 * r + c]) - (r == c);
            sum += e * e;
        }
    return sqrt(sum);
}

/* How far the rotation of a tet goes over to the flesh's, which has turned away by `angle`. */
static double share_of(const spl_rounds *r, size_t k, double angle, const double M[9])
{
    const double degree = 3.14159265358979323846 / 180;
    double limit[2], between = smooth_step(DISCORD_FROM, DISCORD_AT, (double)r->discord[k]), far = (double)r->far[k];
    for (int i = 0; i < 2; i++)
        limit[i] = fmin(NEAR_BONES[i] + between * (BETWEEN_LIMBS[i] - NEAR_BONES[i]),
                        NEAR_BONES[i] + far * (FAR_OFF[i] - NEAR_BONES[i]));
    return smooth_step(degree * limit[0], degree * limit[1], angle) * smooth_step(TORN_AT, TORN_FROM, strain_of(M));
}

static void free_range(void *context, size_t begin, size_t end)
{
    const free_loop *l = context;
    double most = -1;
    for (size_t k = begin; k < end; k++) {
        spl_mat3 F = spl_element_F(l->e, (int32_t)k, l->x);
        double M[9], cosine, sine = sine_and_cosine(&F, l->r->prescribed + 9 * k, M, &cosine);
        if (sine > TAN_LEAST * cosine) /* else no limit is reached */
            l->r->share[k] = fmax(l->r->share[k], share_of(l->r, k, atan2(sine, cosine), M));
        if (l->r->share[k] > 0) most = fmax(most, free_tet(l, k, &F));
    }
    l->r->piece[begin / GRAIN] = most;
}

double spl_rounds_free(spl_rounds *r, const spl_elements *e, const double *mu, const double *x, bool hold,
                       double *rotation, spl_pool *pool)
{
    free_loop l = {r, e, mu, x, rotation, hold};
    double most = -1;
    spl_parallel_for(pool, (size_t)e->count, GRAIN, free_range, &l);
    for (size_t i = 0; i * GRAIN < (size_t)e->count; i++) most = fmax(most, r->piece[i]);
    return most;
}
