#include "body/flesh.h"

#include "body/flesh_private.h"
#include "body/growth.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

#define PASSES_MOST  5
#define LOOKS_FREE   2000 /* through the body (stuff.h), in a pass: so many are no burden; ... */
#define LOOKS_MOST   2.0  /* ... more than this many a node make the pass the last */
#define ACROSS_LIMB  4.0  /* cells that the choice of resolution wants across the thinnest limb */
#define COARSEST     24.0 /* cells along the longest axis that it takes at least */
#define THIN_SHARE   0.05 /* of the vertices measure less than "the thinnest limb" */
#define THIN_SAMPLES 4096 /* vertices that are measured for it */
#define SURFACE_TETS                                                                                                   \
    4.0 /* tetrahedra per squared cell of surface beyond 12 per cell of volume: measured 2.6 to 3.8                    \
         */
#define FINEST          2000
#define OUTWARD         1e-3  /* of the diagonal: how far above a triangle its outside is asked for */
#define OVERLAP_SAMPLES 32768 /* points for the volume of pieces that pass into each other */
#define POINT_BYTES     13.0  /* a lattice point: state, slot, place in the queue */
#define SAMPLE_BYTES    80.0
#define NODE_BYTES      1100.0

spl_flesh_options spl_flesh_options_default(void)
{
    return (spl_flesh_options){.resolution = 0, .max_tets = 60000, .max_bytes = 4e9};
}

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

double spl_flesh_estimate(double volume, double area, double cell)
{
    return (12 * volume + SURFACE_TETS * area * cell) / (cell * cell * cell);
}

/* The lattice constant that the budget allows: 12 tetrahedra a cell of volume and some more at the surface. */
static double cell_of_budget(double volume, double area, double tets)
{
    double cell = cbrt(12 * volume / tets);
    for (int i = 0; i < 30; i++) cell = cbrt((12 * volume + SURFACE_TETS * area * cell) / tets);
    return cell;
}

typedef struct overlap_work {
    const flesh *f;
    double *outer;          /* by triangle: its area, 0 where it lies inside other flesh */
    int32_t *inside;        /* by row of samples: how many are */
    double step;            /* between samples */
    int32_t rows, along[3]; /* rows of samples, and samples along the axes */
} overlap_work;

static void outer_range(void *context, size_t begin, size_t end)
{
    const overlap_work *w = context;
    const spl_surface *s = &w->f->surface;
    for (size_t t = begin; t < end; t++) {
        spl_place middle = {(int32_t)t, {1.0 / 3, 1.0 / 3, 1.0 / 3}};
        const int32_t *c = s->triangle + 3 * t;
        spl_vec3 p = spl_madd(spl_surface_point(s, &middle), s->face[t], OUTWARD * s->diagonal), a = s->position[c[0]];
        double area = 0.5 * spl_norm(spl_cross(spl_sub(s->position[c[1]], a), spl_sub(s->position[c[2]], a)));
        w->outer[t] = spl_winding_number(&w->f->winding, p) > 0.5 ? 0 : area;
    }
}

static void inside_range(void *context, size_t begin, size_t end)
{
    const overlap_work *w = context;
    const spl_surface *s = &w->f->surface;
    for (size_t row = begin; row < end; row++)
        for (int32_t i = 0; i < w->along[0]; i++) {
            spl_vec3 at =
                spl_v3(i + 0.5, (double)(row % (size_t)w->along[1]) + 0.5, (double)(row / (size_t)w->along[1]) + 0.5);
            w->inside[row] += spl_winding_number(&w->f->winding, spl_madd(s->low, at, w->step)) > 0.5;
        }
}

/* Pieces that pass into each other, as hair and a head do, are one body: what lies inside others is no surface of it,
 * and what they share is counted once. */
static supple_result measure_overlap(flesh *f, supple_error *error)
{
    const spl_surface *s = &f->surface;
    spl_vec3 size = spl_sub(s->high, s->low);
    overlap_work w = {.f = f, .step = fmax(cbrt(size.x * size.y * size.z / OVERLAP_SAMPLES), extent(s) / FINEST)};
    w.along[0] = (int32_t)(size.x / w.step) + 1;
    w.along[1] = (int32_t)(size.y / w.step) + 1;
    w.along[2] = (int32_t)(size.z / w.step) + 1;
    w.rows = w.along[1] * w.along[2];
    w.outer = spl_new(f->a, (size_t)s->triangle_count, sizeof *w.outer);
    w.inside = spl_new(f->a, (size_t)w.rows, sizeof *w.inside);
    supple_result result = w.outer && w.inside ? SUPPLE_OK : spl_fail_memory(error, "the body's surface");
    if (result == SUPPLE_OK) {
        double area = 0, volume = 0;
        spl_parallel_for(f->pool, (size_t)s->triangle_count, 256, outer_range, &w);
        spl_parallel_for(f->pool, (size_t)w.rows, 16, inside_range, &w);
        for (int32_t t = 0; t < s->triangle_count; t++) area += w.outer[t];
        for (int32_t i = 0; i < w.rows; i++) volume += w.inside[i] * w.step * w.step * w.step;
        f->area = fmin(f->area, area);
        f->volume = fmin(f->volume, volume > 0 ? volume : f->volume);
    }
    spl_free(f->a, w.outer);
    spl_free(f->a, w.inside);
    return result;
}

static supple_result choose_cell(flesh *f, supple_error *error)
{
    const spl_surface *s = &f->surface;
    for (int32_t c = 0; c < s->component_count; c++) {
        f->area += s->area[c];
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
    if (s->component_count > 1) {
        supple_result result = measure_overlap(f, error);
        if (result != SUPPLE_OK) return result;
    }
    double budget = cell_of_budget(f->volume, f->area, 0.97 * f->options->max_tets);
    double *sorted = spl_new(f->a, (size_t)s->vertex_count, sizeof *sorted);
    if (!sorted) return spl_fail_memory(error, "the thickness");
    int32_t stride = 1 + s->vertex_count / THIN_SAMPLES;
    int32_t count =
        spl_limb_thickness(s, &f->tree, &f->winding, ACROSS_LIMB * f->longest / COARSEST, stride, f->pool, sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    double thin = sorted[(size_t)(THIN_SHARE * count)];
    spl_free(f->a, sorted);
    f->cell = fmax(budget, fmin(thin / ACROSS_LIMB, f->longest / COARSEST));
    return SUPPLE_OK;
}

/* Memory of a pass at its peak, estimated from above: the lattice, its points near the surface, the nodes inside with
 * their fourteen edges in seven arrays, and the tetrahedra. */
static double estimate_bytes(const flesh *f, double *points)
{
    const spl_surface *s = &f->surface;
    double most = 0, h = f->cell, grown = 0;
    for (int32_t i = 0; i < s->vertex_count; i++) {
        most = fmax(most, f->growth[i]);
        grown += f->growth[i] / s->vertex_count;
    }
    *points = 2 * ((s->high.x - s->low.x + 2 * most) / h + 6) * ((s->high.y - s->low.y + 2 * most) / h + 6) *
              ((s->high.z - s->low.z + 2 * most) / h + 6);
    double near = fmin(*points, 6 * fmax(1, most / h) * f->area / (h * h));
    double nodes = 2 * (f->volume + grown * f->area) / (h * h * h) + f->area / (h * h);
    return POINT_BYTES * *points + SAMPLE_BYTES * near + NODE_BYTES * nodes;
}

static supple_result check_memory(const flesh *f, supple_error *error)
{
    double points, bytes = estimate_bytes(f, &points);
    if (bytes <= f->options->max_bytes) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                    "%.0f cells along the longest axis need about %.1f GB of memory (%.3g lattice points), more than "
                    "the %.1f GB allowed; lower --resolution",
                    f->longest / f->cell, bytes * 1e-9, points, f->options->max_bytes * 1e-9);
}

static supple_result one_pass(flesh *f, supple_error *error)
{
    spl_flesh_set_growth(f);
    supple_result result = check_memory(f, error);
    if (result != SUPPLE_OK) return result;
    spl_tets_release(&f->tets);
    spl_free(f->a, f->place);
    f->place = NULL;
    spl_stuff_input in = {.surface = &f->surface,
                          .tree = &f->tree,
                          .winding = &f->winding,
                          .growth = f->growth,
                          .thickness = SPL_SEEN_CELLS * SPL_BOOST_MOST * f->cell,
                          .cell = f->cell,
                          .point_limit = (size_t)(f->options->max_bytes / POINT_BYTES),
                          .done = 1 - ldexp(1, -f->report.passes), /* nobody knows how many passes it takes: half ... */
                          .share = ldexp(0.5, -f->report.passes),  /* ... of what is left is always this one */
                          .config = f->config,
                          .allocator = f->a,
                          .pool = f->pool};
    result = spl_stuff(&in, &f->tets, &f->place, &f->report.stuff, error);
    if (result == SUPPLE_OK) result = spl_flesh_pieces(f, error);
    f->report.passes++;
    return result;
}

/* Neighbours that only a look through the body tells apart are few in a body with limbs: 263 of 19,000 nodes for hero.
 * Where there are more than nodes the surface is no limbs' but a tangle, growing it makes more of them, and every pass
 * costs several times the one before: 40 s for 158 vertices anywhere. */
static bool is_tangled(const flesh *f)
{
    const spl_stuff_report *r = &f->report.stuff;
    if (r->looks <= LOOKS_FREE || (double)r->looks <= LOOKS_MOST * (double)r->nodes) return false;
    spl_log(f->config, SUPPLE_LOG_WARNING,
            "the surface is a tangle that crosses itself nearly everywhere: its thin parts are not grown further, and "
            "what is loose is left out");
    return true;
}

static supple_result stuff_until_whole(flesh *f, supple_error *error)
{
    supple_result result = spl_flesh_start_growth(f, error);
    for (bool again = true; again && result == SUPPLE_OK;) {
        result = one_pass(f, error);
        if (result != SUPPLE_OK || f->report.passes == PASSES_MOST || is_tangled(f)) break;
        result = spl_flesh_raise_boost(f, &again, error);
    }
    return result;
}

static supple_result grade(flesh *f, supple_error *error)
{
    if (!f->options->grade) return SUPPLE_OK;
    supple_result result = spl_grade(&f->tets, f->place, f->cell, &f->report.grade, error);
    return result == SUPPLE_OK ? spl_flesh_pieces(f, error) : result;
}

/* Parts the surface where it crosses itself. */
static supple_result part_limbs(flesh *f, supple_error *error)
{
    size_t n = (size_t)f->tets.vertex_count;
    if (!f->options->part) return SUPPLE_OK;
    spl_vec3 *home = spl_new(f->a, n, sizeof *home);
    if (!home) return spl_fail_memory(error, "parting the surface");
    for (size_t v = 0; v < n; v++)
        home[v] = f->place[v].triangle < 0 ? f->tets.position[v] : spl_surface_point(&f->surface, &f->place[v]);
    supple_result result = spl_part_surface(&f->tets, home, f->cell, f->pool, &f->report.part, error);
    spl_free(f->a, home);
    if (result == SUPPLE_OK && f->report.part.crossings > 0)
        spl_log(f->config, SUPPLE_LOG_INFO,
                "note: limbs pass through each other in the body: %d edges of its surface, after %d were parted",
                (int)f->report.part.crossings, (int)(f->report.part.crossings_before - f->report.part.crossings));
    return result;
}

/* Positions in the input's frame again. */
static void leave_frame(flesh *f)
{
    for (int32_t v = 0; v < f->tets.vertex_count; v++)
        f->tets.position[v] = spl_frame_back(&f->frame, f->tets.position[v]);
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

supple_result spl_flesh_expect(const spl_surface *surface, const spl_flesh_options *options, spl_pool *pool,
                               const supple_allocator *a, double *tets, supple_error *error)
{
    flesh f = {.options = options, .a = a, .pool = pool, .given = surface};
    supple_result result = enter_frame(&f, error);
    if (result == SUPPLE_OK) result = choose_cell(&f, error);
    *tets = result == SUPPLE_OK ? spl_flesh_estimate(f.volume, f.area, f.cell) : 0;
    release(&f);
    return result;
}

supple_result spl_flesh_make(const spl_surface *surface, const spl_flesh_options *options, const supple_config *config,
                             spl_pool *pool, const supple_allocator *a, spl_tets *out, spl_place **place,
                             spl_flesh_report *report, supple_error *error)
{
    flesh f = {.options = options, .config = config, .a = a, .pool = pool, .given = surface};
    supple_result result = enter_frame(&f, error);
    if (result == SUPPLE_OK) result = choose_cell(&f, error);
    if (result == SUPPLE_OK) result = stuff_until_whole(&f, error);
    if (result == SUPPLE_OK) result = grade(&f, error);
    if (result == SUPPLE_OK) result = spl_flesh_drop_crumbs(&f, error);
    if (result == SUPPLE_OK) result = part_limbs(&f, error);
    leave_frame(&f);
    f.report.cell = f.cell * f.frame.size;
    f.report.resolution = f.cell > 0 ? (int32_t)lround(f.longest / f.cell) : 0;
    if (result == SUPPLE_OK) result = spl_progress(config, "tetrahedra", 1, error);
    if (result == SUPPLE_OK) result = spl_flesh_measure(&f, error);
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
