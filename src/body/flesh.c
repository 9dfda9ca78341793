#include "body/flesh.h"

#include "body/frame.h"
#include "body/growth.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_CELLS  1.6  /* a limb this thick, in cells, is seen by the lattice */
#define BOOST_STEP  0.35 /* how much more, relative, a limb in pieces is taken to need */
#define BOOST_MOST  2.5
#define PASSES_MOST 5
#define ACROSS_LIMB 4.0  /* cells that the choice of resolution wants across the thinnest limb */
#define COARSEST    24.0 /* cells along the longest axis that it takes at least */
#define THIN_SHARE  0.05 /* of the area is thinner than "the thinnest limb" */
#define LOST_CELLS  0.75 /* a vertex this far from the body's surface is not covered by it */
#define SURFACE_TETS                                                                                                   \
    4.0 /* tetrahedra per squared cell of surface beyond 12 per cell of volume: measured 2.6 to 3.8                    \
         */
#define FINEST 2000
enum { POINT_LIMIT = 400000000 }; /* lattice points: 2 GB of states and slots */

spl_flesh_options spl_flesh_options_default(void)
{
    return (spl_flesh_options){.resolution = 0, .max_tets = 60000};
}

/* The surface in the body's frame with everything that is asked of it. */
typedef struct flesh {
    const spl_flesh_options *options;
    const supple_config *config;
    const supple_allocator *a;
    spl_pool *pool;
    const spl_surface *given;
    spl_frame_of_body frame;
    spl_surface surface;
    spl_tree tree;
    spl_winding winding;
    double *thickness, *boost, *growth; /* by vertex; growth and thickness in the frame's unit */
    double cell, longest, volume;
    spl_tets tets;
    spl_place *place;
    int32_t *piece; /* by tet vertex: connected component */
    bool *keep;     /* by component: it is the largest of some part of the surface */
    int32_t piece_count;
    spl_flesh_report report;
} flesh;

/* ---- preparation ---- */

static supple_result enter_frame(flesh *f, supple_error *error)
{
    const spl_surface *g = f->given;
    if (g->triangle_count == 0 || !(g->diagonal > 0))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "the flesh has no surface: no triangles with an area are left");
    f->frame = spl_frame_find(g);
    double *position = spl_new(f->a, (size_t)g->vertex_count, 3 * sizeof *position);
    if (!position) return spl_fail_memory(error, "the body's surface");
    for (int32_t i = 0; i < g->vertex_count; i++) {
        spl_vec3 p = spl_frame_into(&f->frame, g->position[i]);
        memcpy(position + 3 * (size_t)i, &p, sizeof p);
    }
    supple_result result =
        spl_surface_make(position, g->vertex_count, g->triangle, g->triangle_count, f->a, &f->surface, error);
    spl_free(f->a, position);
    if (result == SUPPLE_OK)
        result =
            spl_tree_make(f->surface.position, f->surface.triangle, f->surface.triangle_count, f->a, &f->tree, error);
    if (result == SUPPLE_OK) result = spl_winding_make(&f->tree, f->a, &f->winding, error);
    if (result == SUPPLE_OK && f->surface.vertex_count != g->vertex_count)
        result = spl_fail(error, SUPPLE_ERROR_INPUT, "the flesh's vertices lie too close together");
    return result;
}

static double extent(const spl_surface *s)
{
    return fmax(s->high.x - s->low.x, fmax(s->high.y - s->low.y, s->high.z - s->low.z));
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The lattice constant that the budget allows: 12 tetrahedra a cell of volume and some more at the surface. */
static double cell_of_budget(double volume, double area, double tets)
{
    double cell = cbrt(12 * volume / tets);
    for (int i = 0; i < 30; i++) cell = cbrt((12 * volume + SURFACE_TETS * area * cell) / tets);
    return cell;
}

static supple_result choose_cell(flesh *f, supple_error *error)
{
    const spl_surface *s = &f->surface;
    double area = 0;
    for (int32_t c = 0; c < s->component_count; c++) {
        area += s->area[c];
        f->volume += fabs(s->volume[c]);
    }
    f->longest = extent(s);
    if (!(f->volume > 1e-7)) /* of the cubed diagonal */
        return spl_fail(error, SUPPLE_ERROR_INPUT, "the flesh is flat: its surface encloses no volume");
    if (f->options->resolution) {
        if (f->options->resolution < 4 || f->options->resolution > FINEST)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "resolution %d: takes 4 to %d cells along the longest axis",
                            (int)f->options->resolution, FINEST);
        f->cell = f->longest / f->options->resolution;
        return SUPPLE_OK;
    }
    double budget = cell_of_budget(f->volume, area, 0.97 * f->options->max_tets);
    double *sorted = spl_new(f->a, (size_t)s->vertex_count, sizeof *sorted);
    if (!sorted) return spl_fail_memory(error, "the thickness");
    spl_limb_thickness(s, &f->tree, &f->winding, ACROSS_LIMB * f->longest / COARSEST, f->pool, sorted);
    qsort(sorted, (size_t)s->vertex_count, sizeof *sorted, compare_doubles);
    double thin = sorted[(size_t)(THIN_SHARE * s->vertex_count)];
    spl_free(f->a, sorted);
    f->cell = fmax(budget, fmin(thin / ACROSS_LIMB, f->longest / COARSEST));
    return SUPPLE_OK;
}

/* ---- one pass ---- */

static void set_growth(flesh *f)
{
    for (int32_t i = 0; i < f->surface.vertex_count; i++) {
        double seen = SEEN_CELLS * f->cell * f->boost[i];
        f->growth[i] = fmax(0, 0.5 * (seen - f->thickness[i]));
    }
}

static int32_t root_of(int32_t *root, int32_t i)
{
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
}

/* Pieces of the tetrahedra, connected over shared vertices, numbered by their lowest vertex. */
static supple_result find_pieces(flesh *f, supple_error *error)
{
    const spl_tets *t = &f->tets;
    size_t n = (size_t)t->vertex_count;
    spl_free(f->a, f->piece);
    f->piece = spl_new(f->a, n, sizeof *f->piece);
    int32_t *root = spl_new(f->a, n, sizeof *root);
    if (!f->piece || !root) {
        spl_free(f->a, root);
        return spl_fail_memory(error, "the body's pieces");
    }
    for (size_t i = 0; i < n; i++) root[i] = (int32_t)i;
    for (size_t i = 0; i < 4 * (size_t)t->tet_count; i++) {
        int32_t a = root_of(root, t->tet[i & ~(size_t)3]), b = root_of(root, t->tet[i]);
        if (a < b)
            root[b] = a;
        else
            root[a] = b;
    }
    f->piece_count = 0;
    for (size_t i = 0; i < n; i++) { /* a root comes before its members */
        int32_t r = root_of(root, (int32_t)i);
        f->piece[i] = r == (int32_t)i ? f->piece_count++ : f->piece[r];
    }
    spl_free(f->a, root);
    return SUPPLE_OK;
}

/* Keeps the largest piece of each component of the surface: parts that do not touch are several bodies, what is left
 * over are crumbs. A piece belongs to the components that its vertices' places are on. */
static supple_result judge_pieces(flesh *f, supple_error *error)
{
    const spl_tets *t = &f->tets;
    size_t pieces = (size_t)f->piece_count, components = (size_t)f->surface.component_count;
    double *volume = spl_new(f->a, pieces, sizeof *volume);
    int32_t *largest = spl_new(f->a, components, sizeof *largest); /* piece + 1 */
    spl_free(f->a, f->keep);
    f->keep = spl_new(f->a, pieces, sizeof *f->keep);
    bool made = volume && largest && f->keep;
    for (int32_t i = 0; made && i < t->tet_count; i++) volume[f->piece[t->tet[4 * (size_t)i]]] += spl_tets_volume(t, i);
    for (int32_t v = 0; made && v < t->vertex_count; v++) {
        if (f->place[v].triangle < 0) continue;
        int32_t *best = &largest[f->surface.component[f->place[v].triangle]];
        if (!*best || volume[f->piece[v]] > volume[*best - 1]) *best = f->piece[v] + 1;
    }
    for (size_t c = 0; made && c < components; c++)
        if (largest[c]) f->keep[largest[c] - 1] = true;
    spl_free(f->a, volume);
    spl_free(f->a, largest);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the body's pieces");
}

/* ---- growing what is in pieces ---- */

/* Marks the surface's vertices that no kept vertex of the body is near: their limb was lost or has come off. */
static supple_result mark_uncovered(flesh *f, bool *marked, supple_error *error)
{
    const spl_tets *t = &f->tets;
    int32_t *kept = spl_new(f->a, (size_t)t->tet_count, 12 * sizeof *kept);
    spl_tree near = {0};
    if (!kept) return spl_fail_memory(error, "the body's pieces");
    int32_t count = 0;
    for (int32_t i = 0; i < t->tet_count; i++) { /* all faces of kept tets: the distance to the solid itself */
        const int32_t *c = t->tet + 4 * (size_t)i;
        if (!f->keep[f->piece[c[0]]]) continue;
        for (int k = 0; k < 4; k++, count++)
            for (int j = 0; j < 3; j++) kept[3 * (size_t)count + (size_t)j] = c[spl_tet_face[k][j]];
    }
    supple_result result = spl_tree_make(t->position, kept, count, f->a, &near, error);
    for (int32_t v = 0; result == SUPPLE_OK && v < f->surface.vertex_count; v++) {
        spl_hit hit;
        marked[v] = !spl_tree_nearest(&near, f->surface.position[v], LOST_CELLS * f->cell, -1, &hit);
    }
    spl_tree_release(&near);
    spl_free(f->a, kept);
    return result;
}

/* Raises the boost at marked vertices, at the places of loose pieces and within two cells of them. Returns whether
 * there was anything to raise. */
static supple_result raise_boost(flesh *f, bool *again, supple_error *error)
{
    const spl_surface *s = &f->surface;
    size_t n = (size_t)s->vertex_count;
    bool *marked = spl_new(f->a, n, sizeof *marked), *raised = spl_new(f->a, n, sizeof *raised);
    int32_t *near = spl_new(f->a, n, sizeof *near);
    double *distance = spl_new(f->a, n, sizeof *distance);
    spl_geodesic scratch = {0};
    supple_result result = marked && raised && near && distance ? SUPPLE_OK : spl_fail_memory(error, "the growth");
    if (result == SUPPLE_OK) result = spl_geodesic_make(s->vertex_count, f->a, &scratch, error);
    if (result == SUPPLE_OK) result = mark_uncovered(f, marked, error);
    for (int32_t v = 0; result == SUPPLE_OK && v < f->tets.vertex_count; v++)
        if (!f->keep[f->piece[v]] && f->place[v].triangle >= 0)
            marked[s->triangle[3 * (size_t)f->place[v].triangle]] = true;
    *again = false;
    for (int32_t v = 0; result == SUPPLE_OK && v < s->vertex_count; v++) {
        if (!marked[v] || f->boost[v] >= BOOST_MOST) continue;
        int32_t corner = s->corner[s->corner_first[v]];
        spl_place at = {corner / 3, {corner % 3 == 0, corner % 3 == 1, corner % 3 == 2}};
        int32_t count = spl_geodesic_within(&scratch, s, &at, 2 * f->cell, s->vertex_count, near, distance);
        for (int32_t i = 0; i < count; i++) raised[near[i]] = true;
        *again = true;
    }
    for (size_t v = 0; result == SUPPLE_OK && v < n; v++)
        if (raised[v]) f->boost[v] += BOOST_STEP;
    spl_geodesic_release(&scratch);
    spl_free(f->a, marked);
    spl_free(f->a, raised);
    spl_free(f->a, near);
    spl_free(f->a, distance);
    return result;
}

static supple_result one_pass(flesh *f, supple_error *error)
{
    set_growth(f);
    spl_tets_release(&f->tets);
    spl_free(f->a, f->place);
    f->place = NULL;
    spl_stuff_input in = {.surface = &f->surface,
                          .tree = &f->tree,
                          .winding = &f->winding,
                          .growth = f->growth,
                          .thickness = SEEN_CELLS * BOOST_MOST * f->cell,
                          .cell = f->cell,
                          .point_limit = POINT_LIMIT,
                          .config = f->config,
                          .allocator = f->a,
                          .pool = f->pool};
    supple_result result = spl_stuff(&in, &f->tets, &f->place, &f->report.stuff, error);
    if (result == SUPPLE_OK) result = find_pieces(f, error);
    if (result == SUPPLE_OK) result = judge_pieces(f, error);
    f->report.passes++;
    return result;
}

static supple_result stuff_until_whole(flesh *f, supple_error *error)
{
    size_t n = (size_t)f->surface.vertex_count;
    f->thickness = spl_new(f->a, n, sizeof *f->thickness);
    f->boost = spl_new(f->a, n, sizeof *f->boost);
    f->growth = spl_new(f->a, n, sizeof *f->growth);
    if (!f->thickness || !f->boost || !f->growth) return spl_fail_memory(error, "the growth");
    for (size_t i = 0; i < n; i++) f->boost[i] = 1;
    spl_limb_thickness(&f->surface, &f->tree, &f->winding, SEEN_CELLS * (BOOST_MOST + BOOST_STEP) * f->cell, f->pool,
                       f->thickness);
    supple_result result = spl_vertex_median(&f->surface, 2, f->a, f->thickness, error);
    for (bool again = true; again && result == SUPPLE_OK;) {
        result = one_pass(f, error);
        if (result != SUPPLE_OK || f->report.passes == PASSES_MOST) break;
        result = raise_boost(f, &again, error);
    }
    return result;
}

/* ---- the result ---- */

/* Leaves out the pieces that are not kept and the vertices that only they used. */
static supple_result drop_crumbs(flesh *f, supple_error *error)
{
    spl_tets *t = &f->tets;
    int32_t *number = spl_new(f->a, (size_t)t->vertex_count, sizeof *number), vertices = 0, tets = 0;
    if (!number) return spl_fail_memory(error, "the body's pieces");
    for (int32_t i = 0; i < t->tet_count; i++) {
        if (!f->keep[f->piece[t->tet[4 * (size_t)i]]]) continue;
        memmove(t->tet + 4 * (size_t)tets++, t->tet + 4 * (size_t)i, 4 * sizeof *t->tet);
    }
    f->report.crumbs = t->tet_count - tets;
    t->tet_count = tets;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        number[v] = vertices;
        if (!f->keep[f->piece[v]]) continue;
        t->position[vertices] = spl_frame_back(&f->frame, t->position[v]);
        f->place[vertices++] = f->place[v];
    }
    t->vertex_count = vertices;
    for (size_t i = 0; i < 4 * (size_t)tets; i++) t->tet[i] = number[t->tet[i]];
    for (int32_t p = 0; p < f->piece_count; p++) f->report.component_count += f->keep[p];
    spl_free(f->a, number);
    return spl_tets_find_surface(t, error);
}

/* Distances from the given surface to the body's, weighted by area. */
static supple_result measure(flesh *f, supple_error *error)
{
    const spl_surface *g = f->given;
    const spl_tets *t = &f->tets;
    spl_flesh_report *r = &f->report;
    spl_tree tree;
    supple_result result = spl_tree_make(t->position, t->surface, t->surface_count, f->a, &tree, error);
    if (result != SUPPLE_OK) return result;
    double total = 0, lost = 0, sum = 0;
    for (int32_t i = 0; i < g->triangle_count; i++) {
        const int32_t *c = g->triangle + 3 * (size_t)i;
        spl_vec3 p = g->position[c[0]], q = g->position[c[1]], s = g->position[c[2]];
        double area = 0.5 * spl_norm(spl_cross(spl_sub(q, p), spl_sub(s, p)));
        spl_hit hit;
        spl_tree_nearest(&tree, spl_scale(spl_add(spl_add(p, q), s), 1.0 / 3), INFINITY, -1, &hit);
        total += area;
        sum += area * hit.distance;
        if (hit.distance > r->cell) lost += area;
        r->max_distance = fmax(r->max_distance, hit.distance);
    }
    r->mean_distance = total > 0 ? sum / total : 0;
    r->area_lost = total > 0 ? lost / total : 0;
    spl_tree_release(&tree);
    r->shape = spl_tets_quality(t);
    r->surface_volume = 0;
    for (int32_t c = 0; c < g->component_count; c++) r->surface_volume += g->closed[c] ? g->volume[c] : NAN;
    return SUPPLE_OK;
}

static void release(flesh *f)
{
    spl_winding_release(&f->winding);
    spl_tree_release(&f->tree);
    spl_surface_release(&f->surface);
    spl_free(f->a, f->thickness);
    spl_free(f->a, f->boost);
    spl_free(f->a, f->growth);
    spl_free(f->a, f->piece);
    spl_free(f->a, f->keep);
}

supple_result spl_flesh_make(const spl_surface *surface, const spl_flesh_options *options, const supple_config *config,
                             spl_pool *pool, const supple_allocator *a, spl_tets *out, spl_place **place,
                             spl_flesh_report *report, supple_error *error)
{
    flesh f = {.options = options, .config = config, .a = a, .pool = pool, .given = surface};
    supple_result result = enter_frame(&f, error);
    if (result == SUPPLE_OK) result = choose_cell(&f, error);
    if (result == SUPPLE_OK) result = stuff_until_whole(&f, error);
    if (result == SUPPLE_OK) result = drop_crumbs(&f, error);
    f.report.cell = f.cell * f.frame.size;
    f.report.resolution = f.cell > 0 ? (int32_t)lround(f.longest / f.cell) : 0;
    if (result == SUPPLE_OK) result = measure(&f, error);
    release(&f);
    if (result != SUPPLE_OK) {
        spl_tets_release(&f.tets);
        spl_free(a, f.place);
        f.place = NULL;
    }
    *out = f.tets;
    *place = f.place;
    *report = f.report;
    return result;
}
