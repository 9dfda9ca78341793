/* Samples of the field at the lattice points near the surface, and the side of all others. */
#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

double spl_stuff_distance(const spl_stuff_input *in, spl_vec3 p, double radius, int32_t hint, spl_place *place)
{
    spl_hit hit;
    if (!spl_tree_nearest(in->tree, p, radius, hint, &hit)) {
        place->triangle = -1;
        return INFINITY;
    }
    place->triangle = hit.triangle;
    memcpy(place->bary, hit.bary, sizeof place->bary);
    return spl_winding_number(in->winding, p) > 0.5 ? -hit.distance : hit.distance;
}

double spl_stuff_growth(const spl_stuff_input *in, const spl_place *place)
{
    if (!in->growth || place->triangle < 0) return 0;
    const int32_t *c = in->surface->triangle + 3 * (size_t)place->triangle;
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += place->bary[k] * in->growth[c[k]];
    return sum;
}

/* Calls visit(point) for the lattice points of one colour in a box. */
static void mark_colour(stuff *s, const double low[3], const double high[3], int colour)
{
    const spl_lattice *l = &s->lattice;
    int32_t first[3], last[3], c[3];
    for (int k = 0; k < 3; k++) {
        /* doubled coordinates of this colour: colour + 2 n */
        first[k] = colour + 2 * (int32_t)ceil((low[k] / l->half - colour) / 2);
        last[k] = colour + 2 * (int32_t)floor((high[k] / l->half - colour) / 2);
    }
    for (c[2] = first[2]; c[2] <= last[2]; c[2] += 2)
        for (c[1] = first[1]; c[1] <= last[1]; c[1] += 2)
            for (c[0] = first[0]; c[0] <= last[0]; c[0] += 2) {
                if (!spl_lattice_holds(l, c)) continue;
                size_t p = spl_lattice_index(l, c);
                if (s->state[p] == POINT_UNKNOWN) s->sample_count++;
                s->state[p] = POINT_BAND;
            }
}

static void mark_band(stuff *s, double reach)
{
    const spl_surface *f = s->in->surface;
    for (int32_t t = 0; t < f->triangle_count; t++) {
        double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
        for (int k = 0; k < 3; k++) {
            spl_vec3 p = f->position[f->triangle[3 * (size_t)t + (size_t)k]];
            const double q[3] = {p.x, p.y, p.z};
            for (int i = 0; i < 3; i++) {
                low[i] = fmin(low[i], q[i] - reach);
                high[i] = fmax(high[i], q[i] + reach);
            }
        }
        mark_colour(s, low, high, 0);
        mark_colour(s, low, high, 1);
    }
}

typedef struct sample_work {
    stuff *s;
    double reach;
} sample_work;

static void sample_range(void *context, size_t begin, size_t end)
{
    const sample_work *w = context;
    int32_t hint = -1;
    for (size_t i = begin; i < end; i++) {
        stuff_sample *q = &w->s->sample[i];
        int32_t c[3];
        spl_lattice_coordinates(&w->s->lattice, q->point, c);
        q->value = spl_stuff_distance(w->s->in, spl_lattice_point(&w->s->lattice, c), w->reach, hint, &q->place);
        if (q->place.triangle >= 0) hint = q->place.triangle;
    }
}

/* A point farther from the surface than an edge is long is on the same side as all its neighbours: sides spread from
 * the band and from the border of the lattice, component by component. */
static supple_result spread_sides(stuff *s, supple_error *error)
{
    const spl_lattice *l = &s->lattice;
    size_t *queue = spl_new(s->a, l->point_count, sizeof *queue);
    if (!queue) return spl_fail_memory(error, "the lattice");
    for (size_t start = 0; start < l->point_count; start++) {
        if (s->state[start] != POINT_UNKNOWN) continue;
        size_t count = 0;
        uint8_t side = POINT_OUTSIDE; /* unless a neighbour in the band is inside */
        bool known = false;
        queue[count++] = start;
        s->state[start] = POINT_OUTSIDE;
        for (size_t i = 0; i < count; i++) {
            int32_t c[3];
            spl_lattice_coordinates(l, queue[i], c);
            for (int d = 0; d < SPL_DIRECTIONS; d++) {
                int32_t n[3] = {c[0] + spl_direction[d][0], c[1] + spl_direction[d][1], c[2] + spl_direction[d][2]};
                if (!spl_lattice_holds(l, n)) {
                    known = true; /* the border is outside */
                    continue;
                }
                size_t p = spl_lattice_index(l, n);
                if (s->state[p] == POINT_UNKNOWN) {
                    s->state[p] = POINT_OUTSIDE;
                    queue[count++] = p;
                } else if (s->state[p] == POINT_BAND && !known) {
                    known = true;
                    if (s->sample[s->slot[p]].value < 0) side = POINT_INSIDE;
                }
            }
        }
        if (side == POINT_INSIDE)
            for (size_t i = 0; i < count; i++) s->state[queue[i]] = POINT_INSIDE;
    }
    spl_free(s->a, queue);
    return SUPPLE_OK;
}

supple_result spl_stuff_sample(stuff *s, supple_error *error)
{
    double reach = 1.01 * fmax(s->growth_max, 2 * s->lattice.half);
    mark_band(s, reach);
    s->sample = spl_new(s->a, s->sample_count, sizeof *s->sample);
    if (!s->sample) return spl_fail_memory(error, "the samples");
    size_t n = 0;
    for (size_t p = 0; p < s->lattice.point_count; p++)
        if (s->state[p] == POINT_BAND) s->sample[n++].point = p;
    sample_work work = {s, reach};
    spl_parallel_for(s->in->pool, n, 256, sample_range, &work);
    for (size_t i = 0; i < n; i++) {
        size_t p = s->sample[i].point;
        s->slot[p] = (int32_t)i;
        if (s->sample[i].place.triangle < 0) s->state[p] = POINT_UNKNOWN; /* in a triangle's box, but not near it */
    }
    s->report.lattice_points = (int32_t)n;
    return spread_sides(s, error);
}
