#include "contact/penetration.h"

#include "contact/tet_tree.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"

enum { GRAIN = 64 };

struct spl_penetration {
    supple_allocator allocator;
    spl_shell shell;
    spl_near near;
    spl_visual_points points;
    spl_tet_tree tets;
    spl_tree surface;
    spl_vec3 *middle; /* by triangle of the shell: at rest */
    double *depth;    /* by point */
    double reach;     /* the body's size at rest, metres */
};

/* ---- creation ---- */

static supple_result build(spl_penetration *m, const spl_solid *solid, spl_pool *pool, supple_error *error)
{
    supple_result result = spl_shell_create(solid, pool, &m->shell, error);
    const spl_shell *s = &m->shell;
    if (result == SUPPLE_OK) result = spl_near_create(s, pool, &m->near, error);
    if (result == SUPPLE_OK) result = spl_visual_points_create(&m->near, &m->points, error);
    if (result == SUPPLE_OK)
        result = spl_tet_tree_create(s->tet, s->tet_count, s->rest, &m->allocator, &m->tets, error);
    if (result == SUPPLE_OK)
        result = spl_tree_make((const spl_vec3 *)(const void *)s->rest, s->triangle, s->triangle_count, &m->allocator,
                               &m->surface, error);
    if (result != SUPPLE_OK) return result;
    m->middle = spl_new(&m->allocator, (size_t)s->triangle_count, sizeof *m->middle);
    m->depth = spl_new(&m->allocator, (size_t)m->points.count, sizeof *m->depth);
    if (!m->middle || !m->depth) return spl_fail_memory(error, "the measure of penetration");
    for (int32_t t = 0; t < s->triangle_count; t++) {
        spl_shell_place at = {.triangle = t, .bary = {1 / 3.0, 1 / 3.0, 1 / 3.0}};
        m->middle[t] = spl_shell_target(s, s->rest, &at);
    }
    m->reach = solid->diagonal > 0 ? solid->diagonal : 1;
    return SUPPLE_OK;
}

supple_result spl_penetration_create(const spl_solid *solid, spl_pool *pool, spl_penetration **out, supple_error *error)
{
    const supple_allocator *a = &solid->allocator;
    spl_penetration *m = spl_new(a, 1, sizeof *m);
    *out = NULL;
    if (!m) return spl_fail_memory(error, "the measure of penetration");
    m->allocator = *a;
    supple_result result = build(m, solid, pool, error);
    if (result == SUPPLE_OK)
        *out = m;
    else
        spl_penetration_destroy(m);
    return result;
}

void spl_penetration_destroy(spl_penetration *m)
{
    if (!m) return;
    supple_allocator a = m->allocator;
    spl_tree_release(&m->surface);
    spl_tet_tree_release(&m->tets);
    spl_visual_points_release(&m->points);
    spl_near_release(&m->near);
    spl_shell_release(&m->shell);
    spl_free(&a, m->middle);
    spl_free(&a, m->depth);
    spl_free(&a, m);
}

/* ---- one point ---- */

typedef struct probe {
    const spl_penetration *m;
    const double *x;
    int32_t point;
    spl_vec3 p;
    spl_vec3 there; /* the place of the tet that p is in, at rest */
    spl_shell_place out;
    double depth;
} probe;

/* A triangle of the other side that is nearer than the best so far. */
static bool try_triangle(void *context, int32_t t)
{
    probe *q = context;
    const spl_shell *s = &q->m->shell;
    const int32_t *c = s->triangle + 3 * (size_t)t;
    spl_vec3 here = q->m->points.rest[q->point], middle = q->m->middle[t];
    double bary[3];
    if (!s->outside[t] || !(spl_distance(middle, q->there) < spl_distance(middle, here))) return true;
    double square = spl_triangle_nearest(q->p, spl_shell_point(q->x, c[0]), spl_shell_point(q->x, c[1]),
                                         spl_shell_point(q->x, c[2]), bary);
    if (square < q->out.square || (square == q->out.square && t < q->out.triangle))
        q->out = (spl_shell_place){t, {bary[0], bary[1], bary[2]}, square};
    return true;
}

/* The exact nearest place: boxes around p that grow until it is within one. */
static void find_way_out(probe *q)
{
    q->out = (spl_shell_place){.triangle = -1, .square = INFINITY};
    for (double r = q->m->shell.edge; r < 16 * q->m->reach; r *= 2) {
        spl_vec3 d = spl_v3(r, r, r);
        spl_tree_box(&q->m->surface, spl_sub(q->p, d), spl_add(q->p, d), try_triangle, q);
        if (q->out.square <= r * r) return;
    }
}

static bool is_through(const probe *q)
{
    const spl_shell *s = &q->m->shell;
    return spl_near_through(&q->m->near, q->m->points.anchor[SPL_VISUAL_ANCHORS * (size_t)q->point],
                            spl_shell_target(s, s->rest, &q->out), spl_shell_normal(s, s->rest, &q->out));
}

static void try_tet(void *context, int32_t tet)
{
    probe *q = context;
    const spl_shell *s = &q->m->shell;
    const int32_t *c = s->tet + 4 * (size_t)tet;
    double bary[4];
    if (!spl_shell_bary(s, tet, q->x, q->p, bary)) return;
    for (int k = 0; k < 4; k++)
        if (!(bary[k] >= 0)) return;
    if (spl_visual_near(&q->m->points, q->point, c, 4)) return;
    q->there = spl_v3(0, 0, 0);
    for (int k = 0; k < 4; k++) q->there = spl_madd(q->there, spl_shell_point(s->rest, c[k]), bary[k]);
    find_way_out(q);
    if (q->out.triangle < 0 || is_through(q)) return;
    q->depth = fmax(q->depth, sqrt(q->out.square));
}

/* ---- a frame ---- */

typedef struct measure_work {
    spl_penetration *m;
    const double *x;
    const float *visual;
} measure_work;

static void measure_points(void *context, size_t begin, size_t end)
{
    const measure_work *w = context;
    for (size_t i = begin; i < end; i++) {
        probe q = {.m = w->m, .x = w->x, .point = (int32_t)i};
        q.p = spl_visual_place(&w->m->points, (int32_t)i, w->visual);
        spl_tet_tree_at(&w->m->tets, q.p, try_tet, &q);
        w->m->depth[i] = q.depth;
    }
}

double spl_penetration_measure(spl_penetration *m, const double *x, const float *visual, spl_pool *pool)
{
    measure_work work = {m, x, visual};
    double deepest = 0;
    spl_tet_tree_refit(&m->tets, x);
    spl_tree_refit(&m->surface, (const spl_vec3 *)(const void *)x);
    spl_parallel_for(pool, (size_t)m->points.count, GRAIN, measure_points, &work);
    for (int32_t i = 0; i < m->points.count; i++) deepest = fmax(deepest, m->depth[i]);
    return deepest;
}

const double *spl_penetration_depths(const spl_penetration *m, const int32_t **vertex, int32_t *count)
{
    *vertex = m->points.vertex;
    *count = m->points.count;
    return m->depth;
}
