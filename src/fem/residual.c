#include "fem/residual.h"

#include "core/error.h"
#include "core/memory.h"
#include "fem/corot4.h"
#include "math/svd3.h"

#include <string.h>

/* Tets of one partial sum: the contract of the scratch sizes in residual.h. */
enum { CHUNK = 1024 };

static size_t chunk_count(const spl_elements *e)
{
    return ((size_t)e->count + CHUNK - 1) / CHUNK;
}

static size_t chunk_end(const spl_elements *e, size_t chunk)
{
    size_t end = (chunk + 1) * CHUNK;
    return end < (size_t)e->count ? end : (size_t)e->count;
}

/* ---- stars ------------------------------------------------------------------------------------------------------ */

supple_result spl_stars_create(const spl_elements *e, const supple_allocator *a, spl_stars *out, supple_error *error)
{
    size_t corners = 4 * (size_t)e->count, vertices = (size_t)e->vertex_count;
    *out = (spl_stars){.allocator = *a};
    out->start = spl_new(a, vertices + 2, sizeof *out->start);
    out->corner = spl_new(a, corners, sizeof *out->corner);
    if (!out->start || !out->corner) {
        spl_stars_release(out);
        return spl_fail_memory(error, "the stars of a body's vertices");
    }
    /* One slot further: filling moves each cursor to where its star ends. */
    for (size_t i = 0; i < corners; i++) out->start[(size_t)e->tet[i] + 2]++;
    for (size_t v = 0; v < vertices; v++) out->start[v + 2] += out->start[v + 1];
    for (size_t i = 0; i < corners; i++) out->corner[out->start[(size_t)e->tet[i] + 1]++] = (uint32_t)i;
    return SUPPLE_OK;
}

void spl_stars_release(spl_stars *s)
{
    if (s->start) spl_free(&s->allocator, s->start);
    if (s->corner) spl_free(&s->allocator, s->corner);
    *s = (spl_stars){0};
}

/* ---- forces ----------------------------------------------------------------------------------------------------- */

typedef struct pull {
    const spl_elastic *e;
    const spl_stars *stars;
    const double *x;
    double *force, *magnitude;
    double *corner, *energy; /* the forces at the tets' corners; partial sums */
} pull;

static double pull_one(const pull *p, size_t k)
{
    const spl_elements *e = p->e->elements;
    if (p->e->exempt && p->e->exempt[k]) {
        memset(p->corner + 12 * k, 0, 12 * sizeof *p->corner);
        return 0;
    }
    spl_law_input in = {.F = spl_element_F(e, (int32_t)k, p->x), .mu = p->e->mu[k], .lambda = p->e->lambda[k]};
    if (p->e->rotation)
        for (int i = 0; i < 9; i++) in.R.m[i] = p->e->rotation[9 * k + (size_t)i];
    spl_mat3 P;
    double energy = e->volume[k] * p->e->law->both(&in, &P);
    spl_element_forces(e, (int32_t)k, &P, p->corner + 12 * k);
    return energy;
}

/* Tets k to k + 3 at a time; returns how many were done, and adds up their energy. */
static size_t pull_four(const pull *p, size_t k, double *energy)
{
#ifdef SPL_HAVE_AVX2
    const spl_elastic *e = p->e;
    const spl_corot4 four = {e->elements, e->mu, e->lambda, e->law == &spl_law_arap, p->x};
    double each[4];
    if (!spl_corot4_pull_avx2(&four, k, p->corner + 12 * k, each)) return 0;
    *energy += (each[0] + each[1]) + (each[2] + each[3]);
    return 4;
#else
    (void)p, (void)k, (void)energy;
    return 0;
#endif
}

static void pull_corners(void *context, size_t begin, size_t end)
{
    const pull *p = context;
    bool four = !p->e->exempt && spl_corot4_knows(p->e->law);
    for (size_t chunk = begin; chunk < end; chunk++) {
        double energy = 0;
        size_t k = chunk * CHUNK, last = chunk_end(p->e->elements, chunk);
        while (k < last) {
            size_t done = four && k + 4 <= last ? pull_four(p, k, &energy) : 0;
            if (done == 0) energy += pull_one(p, k);
            k += done > 0 ? done : 1;
        }
        p->energy[chunk] = energy;
    }
}

static void gather_vertices(void *context, size_t begin, size_t end)
{
    const pull *p = context;
    for (size_t v = begin; v < end; v++) {
        spl_vec3 sum = {0, 0, 0};
        double lengths = 0;
        for (size_t q = p->stars->start[v]; q < p->stars->start[v + 1]; q++) {
            const double *c = p->corner + 3 * (size_t)p->stars->corner[q];
            spl_vec3 f = spl_v3(c[0], c[1], c[2]);
            sum = spl_add(sum, f);
            lengths += spl_norm(f);
        }
        p->force[3 * v] = sum.x;
        p->force[3 * v + 1] = sum.y;
        p->force[3 * v + 2] = sum.z;
        if (p->magnitude) p->magnitude[v] = lengths;
    }
}

double spl_elastic_forces(const spl_elastic *e, const spl_stars *stars, const double *x, double *force,
                          double *magnitude, double *scratch, spl_pool *pool)
{
    size_t chunks = chunk_count(e->elements);
    pull p = {e, stars, x, force, magnitude, scratch, scratch + 12 * (size_t)e->elements->count};
    spl_parallel_for(pool, chunks, 1, pull_corners, &p);
    spl_parallel_for(pool, (size_t)e->elements->vertex_count, CHUNK, gather_vertices, &p);
    double energy = 0;
    for (size_t chunk = 0; chunk < chunks; chunk++) energy += p.energy[chunk];
    return energy;
}

double spl_residual(const double *force, const double *magnitude, const int32_t *held, int32_t vertex_count,
                    double floor)
{
    double left = 0, scale = 0;
    for (size_t v = 0; v < (size_t)vertex_count; v++) {
        const double *f = force + 3 * v;
        if (!held || held[v] < 0) left += f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
        scale += magnitude[v] * magnitude[v];
    }
    return sqrt(left) / (sqrt(scale) + floor);
}

/* ---- strain ----------------------------------------------------------------------------------------------------- */

/* The largest and smallest eigenvalue of C = F^T F. With B = (C - q I) / p, q = tr C / 3, |B|^2 = 6, the eigenvalues
 * are q + 2 p cos(phi + 2 pi i / 3), cos 3 phi = det B / 2 (Smith 1961): no iteration. Where two of them meet, phi is
 * good to the root of the rounding only, but the error drives them apart: the strain is estimated too large. */
static void extreme_squares(const spl_mat3 *F, double *most, double *least)
{
    spl_vec3 a = spl_mat3_column(F, 0), b = spl_mat3_column(F, 1), c = spl_mat3_column(F, 2);
    double xx = spl_dot(a, a), yy = spl_dot(b, b), zz = spl_dot(c, c), q = (xx + yy + zz) / 3;
    double xy = spl_dot(a, b), xz = spl_dot(a, c), yz = spl_dot(b, c);
    xx -= q, yy -= q, zz -= q;
    double p = sqrt((xx * xx + yy * yy + zz * zz + 2 * (xy * xy + xz * xz + yz * yz)) / 6);
    *most = *least = q;
    if (!(p > 0)) return;
    double det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    double phi = acos(fmin(fmax(det / (2 * p * p * p), -1), 1)) / 3; /* 0 .. pi / 3 */
    *most = q + 2 * p * cos(phi);
    *least = fmax(q + 2 * p * cos(phi + 2 * M_PI / 3), 0);
}

/* The larger of `strain` and F's largest |sigma - 1|; where F is a reflection its smallest singular value counts as
 * negative, as in svd3.h. The decomposition, ten times the work, is for those that may be the largest so far. */
static double larger_strain(double strain, const spl_mat3 *F, double det)
{
    double most, least;
    extreme_squares(F, &most, &least);
    double low = sqrt(least), estimate = fmax(fabs(sqrt(most) - 1), fabs(copysign(low, det) - 1));
    double margin = 1e-14 * most / fmax(low, 1e-7); /* the rounding of `least`, in its root */
    if (estimate + margin <= strain) return strain;
    spl_mat3 U, V;
    double sigma[3];
    spl_svd3(F, &U, sigma, &V);
    return fmax(strain, fmax(fabs(sigma[0] - 1), fabs(sigma[2] - 1)));
}

typedef struct partial {
    double volume; /* sum W det F */
    double min_det, max_strain, inverted;
} partial;

typedef struct survey {
    const spl_elements *e;
    const double *x;
    const bool *member;
    double *partial; /* 4 a chunk, in the order of struct partial */
} survey;

static void survey_chunks(void *context, size_t begin, size_t end)
{
    const survey *s = context;
    for (size_t chunk = begin; chunk < end; chunk++) {
        partial sum = {0, INFINITY, 0, 0};
        for (size_t k = chunk * CHUNK; k < chunk_end(s->e, chunk); k++) {
            if (s->member && !s->member[k]) continue;
            spl_mat3 F = spl_element_F(s->e, (int32_t)k, s->x);
            double det = spl_mat3_det(&F);
            sum.volume += s->e->volume[k] * det;
            sum.min_det = fmin(sum.min_det, det);
            sum.max_strain = larger_strain(sum.max_strain, &F, det);
            sum.inverted += !(det > 0);
        }
        double *to = s->partial + 4 * chunk;
        to[0] = sum.volume, to[1] = sum.min_det, to[2] = sum.max_strain, to[3] = sum.inverted;
    }
}

spl_strain spl_strain_measure(const spl_elements *e, const double *x, const bool *member, double *scratch,
                              spl_pool *pool)
{
    size_t chunks = chunk_count(e);
    survey s = {e, x, member, scratch};
    spl_parallel_for(pool, chunks, 1, survey_chunks, &s);
    spl_strain out = {.min_det_f = INFINITY};
    double rest = 0, volume = 0, inverted = 0;
    for (size_t k = 0; k < (size_t)e->count; k++)
        if (!member || member[k]) rest += e->volume[k];
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        const double *p = scratch + 4 * chunk;
        volume += p[0];
        out.min_det_f = fmin(out.min_det_f, p[1]);
        out.max_strain = fmax(out.max_strain, p[2]);
        inverted += p[3];
    }
    if (!(rest > 0)) return (spl_strain){.volume_ratio = 1, .min_det_f = 1}; /* no tets: nothing is deformed */
    out.volume_ratio = volume / rest;
    out.inverted = (int32_t)inverted;
    return out;
}

static void count_chunks(void *context, size_t begin, size_t end)
{
    const survey *s = context;
    for (size_t chunk = begin; chunk < end; chunk++) {
        size_t last = (chunk + 1) * CHUNK < (size_t)s->e->count ? (chunk + 1) * CHUNK : (size_t)s->e->count;
        double inverted = 0;
        for (size_t k = chunk * CHUNK; k < last; k++) {
            spl_mat3 F = spl_element_F(s->e, (int32_t)k, s->x);
            inverted += spl_mat3_det(&F) <= 0;
        }
        s->partial[chunk] = inverted;
    }
}

int32_t spl_inverted_count(const spl_elements *e, const double *x, double *scratch, spl_pool *pool)
{
    survey s = {e, x, NULL, scratch};
    double sum = 0;
    spl_parallel_for(pool, chunk_count(e), 1, count_chunks, &s);
    for (size_t chunk = 0; chunk < chunk_count(e); chunk++) sum += scratch[chunk];
    return (int32_t)sum;
}
