/* Growth: how far each limb is grown to be seen by the lattice, and further where it came out in pieces. */
#include "body/flesh_private.h"
#include "body/growth.h"
#include "core/error.h"
#include "core/memory.h"

#define LOST_CELLS 1.0 /* a vertex farther than this from the body is lost: its limb is not there */
#define GAIN       0.9 /* a pass that leaves more than this share of the lost area is the last */

supple_result spl_flesh_start_growth(flesh *f, supple_error *error)
{
    size_t n = (size_t)f->surface.vertex_count;
    f->thickness = spl_new(f->a, n, sizeof *f->thickness);
    f->boost = spl_new(f->a, n, sizeof *f->boost);
    f->growth = spl_new(f->a, n, sizeof *f->growth);
    if (!f->thickness || !f->boost || !f->growth) return spl_fail_memory(error, "the growth");
    for (size_t i = 0; i < n; i++) f->boost[i] = 1;
    f->lost_area = INFINITY;
    spl_limb_thickness(&f->surface, &f->tree, &f->winding, SPL_SEEN_CELLS * (SPL_BOOST_MOST + SPL_BOOST_STEP) * f->cell,
                       1, f->pool, f->thickness);
    return spl_vertex_median(&f->surface, 2, f->a, f->thickness, error);
}

void spl_flesh_set_growth(flesh *f)
{
    for (int32_t i = 0; i < f->surface.vertex_count; i++) {
        double seen = SPL_SEEN_CELLS * f->cell * f->boost[i];
        f->growth[i] = fmax(0, 0.5 * (seen - f->thickness[i]));
    }
}

typedef struct near_work {
    const flesh *f;
    const spl_tree *tree;
    bool *marked;
} near_work;

/* Clears the mark of vertices that a tree's triangles are near. */
static void near_range(void *context, size_t begin, size_t end)
{
    const near_work *w = context;
    for (size_t v = begin; v < end; v++) {
        spl_hit hit;
        if (w->marked[v])
            w->marked[v] = !spl_tree_nearest(w->tree, w->f->surface.position[v], LOST_CELLS * w->f->cell, -1, &hit);
    }
}

/* Faces of the kept tets, all of them or those of the boundary; returns their number. */
static int32_t list_faces(const flesh *f, bool all, int32_t *face)
{
    const spl_tets *t = &f->tets;
    int32_t count = 0;
    for (int32_t i = 0; all && i < t->tet_count; i++) {
        const int32_t *c = t->tet + 4 * (size_t)i;
        if (!f->keep[f->piece[c[0]]]) continue;
        for (int k = 0; k < 4; k++, count++)
            for (int j = 0; j < 3; j++) face[3 * (size_t)count + (size_t)j] = c[spl_tet_face[k][j]];
    }
    for (int32_t i = 0; !all && i < t->surface_count; i++) {
        const int32_t *c = t->surface + 3 * (size_t)i;
        if (!f->keep[f->piece[c[0]]]) continue;
        for (int j = 0; j < 3; j++) face[3 * (size_t)count + (size_t)j] = c[j];
        count++;
    }
    return count;
}

static supple_result clear_near(flesh *f, bool all, bool *marked, supple_error *error)
{
    size_t room = all ? 4 * (size_t)f->tets.tet_count : (size_t)f->tets.surface_count;
    int32_t *face = spl_new(f->a, room, 3 * sizeof *face);
    if (!face) return spl_fail_memory(error, "the body's pieces");
    spl_tree tree;
    supple_result result = spl_tree_make(f->tets.position, face, list_faces(f, all, face), f->a, &tree, error);
    near_work w = {f, &tree, marked};
    if (result == SUPPLE_OK) spl_parallel_for(f->pool, (size_t)f->surface.vertex_count, 64, near_range, &w);
    spl_tree_release(&tree);
    spl_free(f->a, face);
    return result;
}

/* Marks the surface's vertices that no kept part of the body is near: their limb was lost or has come off. Most are
 * near its boundary; only for the others the inside is searched, where a body grown far covers them. */
static supple_result mark_uncovered(flesh *f, bool *marked, supple_error *error)
{
    int32_t left = 0, n = f->surface.vertex_count;
    for (int32_t v = 0; v < n; v++) marked[v] = true;
    supple_result result = spl_tets_find_surface(&f->tets, error);
    if (result == SUPPLE_OK) result = clear_near(f, false, marked, error);
    for (int32_t v = 0; result == SUPPLE_OK && v < n; v++) left += marked[v];
    return left ? clear_near(f, true, marked, error) : result;
}

/* The surface's area at the marked vertices: a third of each triangle for every corner. */
static double marked_area(const spl_surface *s, const bool *marked)
{
    double area = 0;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangle + 3 * (size_t)t;
        spl_vec3 p = s->position[c[0]];
        double sixth = spl_norm(spl_cross(spl_sub(s->position[c[1]], p), spl_sub(s->position[c[2]], p))) / 6;
        area += sixth * (marked[c[0]] + marked[c[1]] + marked[c[2]]);
    }
    return area;
}

/* Lists in `raised` what lies within two cells of the marked vertices. */
static supple_result spread_marks(flesh *f, const bool *marked, bool *raised, supple_error *error)
{
    const spl_surface *s = &f->surface;
    int32_t *near = spl_new(f->a, (size_t)s->vertex_count, sizeof *near);
    spl_geodesic scratch = {0};
    supple_result result =
        near ? spl_geodesic_make(s->vertex_count, f->a, &scratch, error) : spl_fail_memory(error, "the growth");
    for (int32_t v = 0; result == SUPPLE_OK && v < s->vertex_count; v++) {
        if (!marked[v] || f->boost[v] >= SPL_BOOST_MOST) continue;
        int32_t corner = s->corner[s->corner_first[v]];
        spl_place at = {corner / 3, {corner % 3 == 0, corner % 3 == 1, corner % 3 == 2}};
        int32_t count = spl_geodesic_within(&scratch, s, &at, 2 * f->cell, s->vertex_count, near, NULL);
        for (int32_t i = 0; i < count; i++) raised[near[i]] = true;
    }
    spl_geodesic_release(&scratch);
    spl_free(f->a, near);
    return result;
}

supple_result spl_flesh_raise_boost(flesh *f, bool *again, supple_error *error)
{
    const spl_surface *s = &f->surface;
    size_t n = (size_t)s->vertex_count;
    bool *marked = spl_new(f->a, n, sizeof *marked), *raised = spl_new(f->a, n, sizeof *raised);
    supple_result result = marked && raised ? mark_uncovered(f, marked, error) : spl_fail_memory(error, "the growth");
    for (int32_t v = 0; result == SUPPLE_OK && v < f->tets.vertex_count; v++) /* loose pieces */
        if (!f->keep[f->piece[v]] && f->place[v].triangle >= 0)
            marked[s->triangle[3 * (size_t)f->place[v].triangle]] = true;
    double area = result == SUPPLE_OK ? marked_area(s, marked) : 0;
    *again = area > 0 && area < GAIN * f->lost_area;
    f->lost_area = area;
    if (*again) result = spread_marks(f, marked, raised, error);
    *again = false;
    for (size_t v = 0; result == SUPPLE_OK && v < n; v++)
        if (raised[v]) {
            f->boost[v] += SPL_BOOST_STEP;
            *again = true;
        }
    spl_free(f->a, marked);
    spl_free(f->a, raised);
    return result;
}
