/* Models without training: a beam of tets cut along z into domains, with full, polynomial or random bases and every tet
 * as cubature. */
#ifndef SPL_TESTS_SUBSPACE_BEAM_H
#define SPL_TESTS_SUBSPACE_BEAM_H

#include "core/threads.h"
#include "statics/flesh.h"
#include "subspace/motion.h"
#include "subspace/player.h"

typedef struct beam {
    flesh flesh; /* vertices at z = 0 are held where `clamped` */
    spl_model model;
    double density, length;
} beam;

/* Functions on a domain's vertices: an endless list of columns. */
typedef enum beam_basis { BEAM_FULL, BEAM_POLYNOMIAL, BEAM_RANDOM } beam_basis;

/* Column `c` at local vertex k of n. Polynomials rise in degree, three axes each. */
static inline void beam_column(beam_basis kind, const flesh *f, const spl_model_domain *d, int32_t c, uint64_t *seed,
                               double *out)
{
    int degree = 0, a = 0, b = 0, left = c / 3;
    while (left >= (degree + 1) * (degree + 2) / 2) left -= (degree + 1) * (degree + 2) / 2, degree++;
    while (left > degree - a) left -= degree - a + 1, a++;
    b = left;
    for (int32_t k = 0; k < d->vertex_count; k++) {
        const double *p = d->rest + 3 * k;
        double s = 2 / f->size, x = p[0] * s, y = p[1] * s, z = p[2] * s - 1;
        for (int m = 0; m < 3; m++) {
            double *to = out + 3 * k + m;
            if (kind == BEAM_FULL) *to = 3 * k + m == c;
            if (kind == BEAM_RANDOM) *to = flesh_random(seed);
            if (kind == BEAM_POLYNOMIAL) *to = m == c % 3 ? pow(x, a) * pow(y, b) * pow(z, degree - a - b) : 0;
        }
    }
}

/* Mass-orthonormal columns, by Gram and Schmidt, twice. */
static inline void beam_fill_basis(beam_basis kind, const flesh *f, spl_model_domain *d, uint64_t *seed)
{
    size_t n = 3 * (size_t)d->vertex_count, rank = (size_t)d->rank, at = 0;
    double *column = calloc(n, sizeof *column);
    for (int32_t c = 0; at < rank; c++) {
        beam_column(kind, f, d, c, seed, column);
        double before = 0, after = 0;
        for (size_t i = 0; i < n; i++) before += column[i] * column[i] * d->mass[i / 3];
        for (int pass = 0; pass < 2; pass++)
            for (size_t j = 0; j < at; j++) {
                double dot = 0;
                for (size_t i = 0; i < n; i++) dot += column[i] * d->mass[i / 3] * d->basis[i * rank + j];
                for (size_t i = 0; i < n; i++) column[i] -= dot * d->basis[i * rank + j];
            }
        for (size_t i = 0; i < n; i++) after += column[i] * column[i] * d->mass[i / 3];
        if (after < 1e-12 * before) continue;
        for (size_t i = 0; i < n; i++) d->basis[i * rank + at] = column[i] / sqrt(after);
        at++;
    }
    free(column);
}

static inline int32_t beam_domain_of(const beam *b, int32_t tet)
{
    double z = 0;
    for (int c = 0; c < 4; c++) z += b->flesh.rest[3 * b->flesh.tet[4 * tet + c] + 2] / 4;
    int32_t d = (int32_t)(z / b->length * b->model.domain_count);
    return d < b->model.domain_count ? d : b->model.domain_count - 1;
}

static inline void beam_fill_domain(beam *b, int32_t index, int32_t *local)
{
    const supple_allocator a = spl_allocator_of(NULL);
    const flesh *f = &b->flesh;
    spl_model_domain *d = &b->model.domain[index];
    int32_t tets = 0;
    for (int32_t v = 0; v < f->vertex_count; v++) local[v] = -1;
    for (int32_t t = 0; t < f->tet_count; t++) {
        if (beam_domain_of(b, t) != index) continue;
        tets++;
        for (int c = 0; c < 4; c++)
            if (f->held[f->tet[4 * t + c]] < 0) local[f->tet[4 * t + c]] = 0;
    }
    for (int32_t v = 0; v < f->vertex_count; v++) d->vertex_count += local[v] == 0;
    size_t n = (size_t)d->vertex_count;
    d->bone = index;
    d->vertex = spl_new(&a, n, sizeof *d->vertex);
    d->rest = spl_new(&a, 3 * n, sizeof *d->rest);
    d->mass = spl_new(&a, n, sizeof *d->mass);
    d->cubature = spl_new(&a, (size_t)tets, sizeof *d->cubature);
    for (int32_t v = 0, k = 0; v < f->vertex_count; v++) {
        if (local[v] < 0) continue;
        memcpy(d->rest + 3 * k, f->rest + 3 * v, 3 * sizeof *d->rest);
        d->vertex[k] = v;
        local[v] = k++;
    }
    for (int32_t t = 0; t < f->tet_count; t++) {
        if (beam_domain_of(b, t) != index) continue;
        spl_cubature_tet *e = &d->cubature[d->cubature_count++];
        *e = (spl_cubature_tet){.tet = t, .weight = 1, .volume = f->elements.volume[t]};
        e->mu = f->mu[t], e->lambda = f->lambda[t];
        memcpy(e->gradient, f->elements.gradient + 12 * t, sizeof e->gradient);
        for (int c = 0; c < 4; c++) {
            int32_t v = f->tet[4 * t + c];
            e->corner[c] = local[v] >= 0 ? local[v] : ~v;
            if (local[v] >= 0) d->mass[local[v]] += b->density * f->elements.volume[t] / 4;
        }
    }
}

/* Vertices of both, with the areas of a regular cut. */
static inline void beam_fill_interface(beam *b, int32_t i, int32_t j)
{
    const supple_allocator a = spl_allocator_of(NULL);
    const spl_model_domain *di = &b->model.domain[i], *dj = &b->model.domain[j];
    spl_interface f = {.i = i, .j = j};
    size_t n = (size_t)di->vertex_count;
    f.at_i = spl_new(&a, n, sizeof *f.at_i);
    f.at_j = spl_new(&a, n, sizeof *f.at_j);
    f.area = spl_new(&a, n, sizeof *f.area);
    for (int32_t k = 0; k < di->vertex_count; k++)
        for (int32_t l = 0; l < dj->vertex_count; l++)
            if (di->vertex[k] == dj->vertex[l]) {
                f.at_i[f.count] = k;
                f.at_j[f.count] = l;
                f.area[f.count++] = b->model.edge * b->model.edge * (1 + 0.1 * (k % 3)); /* not all alike */
            }
    if (f.count > 0) {
        b->model.interface[b->model.interface_count++] = f;
        return;
    }
    spl_free(&a, f.at_i);
    spl_free(&a, f.at_j);
    spl_free(&a, f.area);
}

/* A beam along z of cells x cells x length cells of `edge` metres. rank 0: as large as the full one. */
static inline beam beam_make(int cells, int length, double edge, int32_t domains, beam_basis kind, int32_t rank,
                             bool clamped)
{
    const supple_allocator a = spl_allocator_of(NULL);
    beam b = {.density = 1000, .length = length * edge};
    uint64_t seed = 11;
    b.flesh = flesh_box(cells, cells, length, cells * edge, cells * edge, length * edge, 0.1);
    for (int32_t v = 0; v < b.flesh.vertex_count; v++)
        if (clamped && b.flesh.rest[3 * v + 2] < 1e-9) b.flesh.held[v] = 0;
    spl_model *m = &b.model;
    *m = (spl_model){.allocator = a, .domain_count = domains, .law = &spl_law_neohookean};
    m->vertex_count = b.flesh.vertex_count, m->tet_count = b.flesh.tet_count;
    m->edge = edge, m->young = 1e4, m->lowest = 1;
    m->domain = spl_new(&a, (size_t)domains, sizeof *m->domain);
    m->interface = spl_new(&a, (size_t)(domains * domains), sizeof *m->interface);
    int32_t *local = malloc((size_t)b.flesh.vertex_count * sizeof *local);
    for (int32_t i = 0; i < domains; i++) {
        spl_model_domain *d = &m->domain[i];
        beam_fill_domain(&b, i, local);
        d->rank = kind == BEAM_FULL || rank > 3 * d->vertex_count ? 3 * d->vertex_count : rank;
        d->basis = spl_new(&a, 3 * (size_t)d->vertex_count * (size_t)d->rank, sizeof *d->basis);
        d->reach = spl_new(&a, (size_t)d->rank, sizeof *d->reach);
        for (int32_t k = 0; k < d->rank; k++) d->reach[k] = 1;
        beam_fill_basis(kind, &b.flesh, d, &seed);
    }
    for (int32_t i = 0; i < domains; i++)
        for (int32_t j = i + 1; j < domains; j++) beam_fill_interface(&b, i, j);
    free(local);
    return b;
}

static inline void beam_free(beam *b)
{
    spl_model_release(&b->model);
    flesh_free(&b->flesh);
}

static inline spl_frame_motion beam_still(void)
{
    return (spl_frame_motion){.R = spl_mat3_identity()};
}

static inline spl_vec3 beam_vector(uint64_t *seed, double size)
{
    double x = flesh_random(seed), y = flesh_random(seed);
    return spl_scale(spl_v3(x, y, flesh_random(seed)), size);
}

/* Any rotation, place and motion. */
static inline spl_frame_motion beam_frame(uint64_t *seed)
{
    spl_frame_motion f;
    f.R = spl_quat_to_mat3(spl_quat_axis_angle(beam_vector(seed, 1), 3 * flesh_random(seed)));
    f.t = beam_vector(seed, 1);
    f.v = beam_vector(seed, 2);
    f.a = beam_vector(seed, 20);
    f.omega = beam_vector(seed, 5);
    f.alpha = beam_vector(seed, 40);
    return f;
}

static inline spl_player *beam_player(const beam *b, const spl_player_options *options, spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error;
    spl_player *p;
    if (spl_player_create(&b->model, options, pool, &a, &p, &error) == SUPPLE_OK) return p;
    printf("    %s\n", error.message);
    abort();
}

/* Positions of the body: held vertices as flesh.x has them, others read from the player. */
static inline void beam_read(const spl_player *p, const beam *b, const spl_frame_motion *frame, double *x)
{
    spl_player_list *all;
    if (spl_player_list_create(p, NULL, 0, &all, NULL) != SUPPLE_OK) abort();
    memcpy(x, b->flesh.x, 3 * (size_t)b->flesh.vertex_count * sizeof *x);
    spl_player_read(p, all, frame, x);
    spl_player_list_destroy(all);
}

#endif
