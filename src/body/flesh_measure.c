/* How well the body fits the surface it was made of. */
#include "body/flesh_private.h"
#include "core/error.h"
#include "core/memory.h"

#define JUST_OUTSIDE 1e-3 /* in cells: how far from a triangle the point is that tells whether it is exposed */

typedef struct measure_work {
    const flesh *f;
    const spl_tree *tree; /* of the body's boundary */
    double *distance;     /* by triangle; -1 inside the body: walls of parts that overlap */
} measure_work;

static void measure_range(void *context, size_t begin, size_t end)
{
    const measure_work *w = context;
    const spl_surface *s = &w->f->surface;
    for (size_t i = begin; i < end; i++) {
        const int32_t *c = s->triangle + 3 * i;
        spl_vec3 p = spl_add(spl_add(s->position[c[0]], s->position[c[1]]), s->position[c[2]]);
        p = spl_scale(p, 1.0 / 3);
        w->distance[i] = -1;
        if (spl_winding_number(&w->f->winding, spl_madd(p, s->face[i], JUST_OUTSIDE * w->f->cell)) >= 0.5) continue;
        spl_hit hit;
        spl_tree_nearest(w->tree, spl_frame_back(&w->f->frame, p), INFINITY, -1, &hit);
        w->distance[i] = hit.distance;
    }
}

/* Distances from the exposed surface to the body's, weighted by area. */
static void sum_up(const flesh *f, const double *distance, spl_flesh_report *r)
{
    const spl_surface *s = &f->surface;
    double total = 0, lost = 0, sum = 0;
    for (int32_t i = 0; i < s->triangle_count; i++) {
        const int32_t *c = s->triangle + 3 * (size_t)i;
        spl_vec3 p = s->position[c[0]];
        double area = spl_norm(spl_cross(spl_sub(s->position[c[1]], p), spl_sub(s->position[c[2]], p)));
        if (distance[i] < 0) continue;
        total += area;
        sum += area * distance[i];
        if (distance[i] > r->cell) lost += area;
        r->max_distance = fmax(r->max_distance, distance[i]);
    }
    r->mean_distance = total > 0 ? sum / total : 0;
    r->area_lost = total > 0 ? lost / total : 0;
}

supple_result spl_flesh_measure(flesh *f, supple_error *error)
{
    const spl_tets *t = &f->tets;
    spl_flesh_report *r = &f->report;
    spl_tree tree = {0};
    double *distance = spl_new(f->a, (size_t)f->surface.triangle_count, sizeof *distance);
    if (!distance) return spl_fail_memory(error, "the body's distances");
    supple_result result = spl_tree_make(t->position, t->surface, t->surface_count, f->a, &tree, error);
    measure_work w = {f, &tree, distance};
    if (result == SUPPLE_OK) {
        spl_parallel_for(f->pool, (size_t)f->surface.triangle_count, 64, measure_range, &w);
        sum_up(f, distance, r);
        r->shape = spl_tets_quality(t);
        for (int32_t c = 0; c < f->given->component_count; c++)
            r->surface_volume += f->given->closed[c] ? f->given->volume[c] : NAN;
    }
    spl_tree_release(&tree);
    spl_free(f->a, distance);
    return result;
}
