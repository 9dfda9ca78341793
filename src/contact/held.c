#include "contact/held.h"

#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

typedef struct face {
    int32_t sorted[3], corner[3];
} face;

static int by_corners(const void *a, const void *b)
{
    return memcmp(((const face *)a)->sorted, ((const face *)b)->sorted, sizeof(int32_t[3]));
}

static void swap_if(int32_t *a, int32_t *b)
{
    if (*a <= *b) return;
    int32_t t = *a;
    *a = *b;
    *b = t;
}

static face face_of(const int32_t *tet, int k)
{
    face f;
    for (int i = 0; i < 3; i++) f.sorted[i] = f.corner[i] = tet[spl_tet_face[k][i]];
    swap_if(&f.sorted[0], &f.sorted[1]);
    swap_if(&f.sorted[1], &f.sorted[2]);
    swap_if(&f.sorted[0], &f.sorted[1]);
    return f;
}

static bool is_held(const int32_t *tet, const int32_t *held)
{
    return held[tet[0]] >= 0 && held[tet[1]] >= 0 && held[tet[2]] >= 0 && held[tet[3]] >= 0;
}

/* Faces of held tets that no other held tet has. */
static supple_result find_surface(spl_held *h, const spl_tets *t, supple_error *error)
{
    size_t count = 0, kept = 0;
    face *list = spl_new(&h->allocator, 4 * (size_t)t->tet_count, sizeof *list);
    if (!list) return spl_fail_memory(error, "the held flesh");
    for (size_t k = 0; k < (size_t)t->tet_count; k++)
        for (int i = 0; i < 4 && is_held(t->tet + 4 * k, h->bone); i++) list[count++] = face_of(t->tet + 4 * k, i);
    qsort(list, count, sizeof *list, by_corners);
    h->triangle = spl_new(&h->allocator, count, 3 * sizeof *h->triangle);
    for (size_t i = 0; h->triangle && i < count; i++) {
        bool twice = (i > 0 && by_corners(&list[i], &list[i - 1]) == 0) ||
                     (i + 1 < count && by_corners(&list[i], &list[i + 1]) == 0);
        if (!twice) memcpy(h->triangle + 3 * kept++, list[i].corner, sizeof list[i].corner);
    }
    spl_free(&h->allocator, list);
    h->primitives.triangle_count = (int32_t)kept;
    h->primitives.triangle = h->triangle;
    return h->triangle ? SUPPLE_OK : spl_fail_memory(error, "the held flesh");
}

static supple_result build(spl_held *h, const spl_solid *solid, spl_pool *pool, supple_error *error)
{
    size_t bones = (size_t)h->bone_count;
    supple_result result = find_surface(h, &solid->body->tets, error);
    if (result == SUPPLE_OK)
        result = spl_primitives_edges(h->triangle, h->primitives.triangle_count, &h->allocator, &h->edge,
                                      &h->primitives.edge_count, error);
    if (result != SUPPLE_OK) return result;
    h->primitives.edge = h->edge;
    h->primitives.vertex_count = solid->body->tets.vertex_count;
    result = spl_pairs_create(&h->primitives, NULL, NULL, &h->allocator, &h->pairs, error);
    if (result != SUPPLE_OK) return result;
    bool *rest = spl_new(&h->allocator, bones * bones, sizeof *rest);
    if (!rest || spl_held_crossings(h, solid->drive.rest, rest, pool) < 0) {
        spl_free(&h->allocator, rest);
        return spl_fail_memory(error, "the held flesh");
    }
    h->rest = rest;
    return SUPPLE_OK;
}

supple_result spl_held_create(const spl_solid *solid, const int32_t *held, int32_t bone_count, spl_pool *pool,
                              spl_held *out, supple_error *error)
{
    *out = (spl_held){.allocator = solid->allocator, .bone = held, .bone_count = bone_count};
    supple_result result = build(out, solid, pool, error);
    if (result != SUPPLE_OK) spl_held_release(out);
    return result;
}

void spl_held_release(spl_held *h)
{
    if (!h->allocator.release) return;
    spl_pairs_destroy(h->pairs);
    spl_free(&h->allocator, h->triangle);
    spl_free(&h->allocator, h->edge);
    spl_free(&h->allocator, h->rest);
    *h = (spl_held){0};
}

/* ---- a pose ---- */

typedef struct marking {
    const spl_held *held;
    bool *crossing;
} marking;

static void mark(void *context, const int32_t edge[2], const int32_t triangle[3])
{
    const marking *m = context;
    size_t n = (size_t)m->held->bone_count;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            size_t p = (size_t)m->held->bone[edge[i]], q = (size_t)m->held->bone[triangle[k]];
            bool known = p == q || (m->held->rest && m->held->rest[n * p + q]);
            if (!known) m->crossing[n * p + q] = m->crossing[n * q + p] = true;
        }
}

int32_t spl_held_crossings(const spl_held *h, const double *x, bool *crossing, spl_pool *pool)
{
    marking m = {h, crossing};
    size_t n = (size_t)h->bone_count;
    int32_t count = 0;
    memset(crossing, 0, n * n * sizeof *crossing);
    if (spl_pairs_crossings(h->pairs, x, pool, mark, &m) < 0) return -1;
    for (size_t p = 0; p < n; p++)
        for (size_t q = 0; q < p; q++) count += crossing[n * p + q];
    return count;
}
