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

const stuff_sample *spl_stuff_find_sample(const stuff *s, size_t point)
{
    if (s->state[point] != POINT_BAND) return NULL;
    size_t low = 0, high = s->sample_count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (s->sample[middle].point <= point)
            low = middle;
        else
            high = middle;
    }
    return &s->sample[low];
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
    const int32_t *list; /* of the samples to sign; NULL for all */
} sample_work;

static spl_vec3 sample_point(const stuff *s, size_t i)
{
    int32_t c[3];
    spl_lattice_coordinates(&s->lattice, s->sample[i].point, c);
    return spl_lattice_point(&s->lattice, c);
}

static void measure_range(void *context, size_t begin, size_t end)
{
    const sample_work *w = context;
    int32_t hint = -1;
    for (size_t i = begin; i < end; i++) {
        stuff_sample *q = &w->s->sample[i];
        spl_hit hit;
        spl_tree_nearest(w->s->in->tree, sample_point(w->s, i), w->reach, hint, &hit);
        q->value = hit.distance;
        q->place = (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
        if (hit.triangle >= 0) hint = hit.triangle;
    }
}

/* The sides of listed samples by their own winding numbers. */
static void sign_range(void *context, size_t begin, size_t end)
{
    const sample_work *w = context;
    for (size_t i = begin; i < end; i++) {
        stuff_sample *q = &w->s->sample[w->list ? (size_t)w->list[i] : i];
        if (q->place.triangle < 0) continue;
        if (spl_winding_number(w->s->in->winding, sample_point(w->s, (size_t)(q - w->s->sample))) > 0.5)
            q->value = -q->value;
    }
}

/* Collects in `queue` the samples that free edges connect to the first one: edges so short that no surface fits between
 * the balls around their ends. Returns their number; the deepest of them comes first. */
static size_t flood_samples(const stuff *s, int32_t start, bool *seen, int32_t *queue)
{
    const spl_lattice *l = &s->lattice;
    size_t count = 0, deepest = 0;
    seen[start] = true;
    queue[count++] = start;
    for (size_t i = 0; i < count; i++) {
        const stuff_sample *q = &s->sample[queue[i]];
        int32_t c[3];
        if (q->value > s->sample[queue[deepest]].value) deepest = i;
        spl_lattice_coordinates(l, q->point, c);
        for (int d = 0; d < SPL_DIRECTIONS; d++) {
            int32_t n[3] = {c[0] + spl_direction[d][0], c[1] + spl_direction[d][1], c[2] + spl_direction[d][2]};
            if (!spl_lattice_holds(l, n)) continue;
            int32_t m = s->slot[spl_lattice_index(l, n)];
            if (m < 0 || seen[m] || !(q->value + s->sample[m].value > (1 + 1e-9) * spl_lattice_length(l, d))) continue;
            seen[m] = true;
            queue[count++] = m;
        }
    }
    int32_t swap = queue[0];
    queue[0] = queue[deepest];
    queue[deepest] = swap;
    return count;
}

/* Sides of a watertight surface: one winding number for each set of samples that free edges connect (about a tenth as
 * many as samples), at its deepest, where it is farthest from doubt. */
static supple_result sign_regions(sample_work *w, size_t n, supple_error *error)
{
    stuff *s = w->s;
    bool *seen = spl_new(s->a, n, sizeof *seen);
    int32_t *queue = spl_new(s->a, n, sizeof *queue), *deepest = spl_new(s->a, n, sizeof *deepest);
    int32_t *region = spl_new(s->a, n, sizeof *region);
    bool made = seen && queue && deepest && region;
    size_t regions = 0;
    for (size_t i = 0; made && i < n; i++) {
        if (seen[i] || s->sample[i].place.triangle < 0) continue;
        size_t count = flood_samples(s, (int32_t)i, seen, queue);
        for (size_t k = 0; k < count; k++) region[queue[k]] = queue[0];
        deepest[regions++] = queue[0];
    }
    w->list = deepest;
    if (made) spl_parallel_for(s->in->pool, regions, 64, sign_range, w);
    for (size_t i = 0; made && i < n; i++)
        if (s->sample[i].place.triangle >= 0 && s->sample[region[i]].value < 0)
            s->sample[i].value = -fabs(s->sample[i].value);
    spl_free(s->a, seen);
    spl_free(s->a, queue);
    spl_free(s->a, deepest);
    spl_free(s->a, region);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the samples");
}

/* Where a surface is open its inside ends in the openings, away from any triangle. A point outside the convex hull of
 * the borders sees them in one half of its view, so that the winding number is on the same side of one half as around
 * it; in the hull's box each point that is not near the surface asks for itself. */
typedef struct open_work {
    stuff *s;
    spl_vec3 low, high;
} open_work;

static void open_range(void *context, size_t begin, size_t end)
{
    const open_work *w = context;
    stuff *s = w->s;
    for (size_t i = begin; i < end; i++) {
        if (s->state[i] != POINT_UNKNOWN) continue;
        int32_t c[3];
        spl_lattice_coordinates(&s->lattice, i, c);
        spl_vec3 p = spl_lattice_point(&s->lattice, c);
        if (p.x < w->low.x || p.y < w->low.y || p.z < w->low.z || p.x > w->high.x || p.y > w->high.y || p.z > w->high.z)
            continue;
        s->state[i] = spl_winding_number(s->in->winding, p) > 0.5 ? POINT_INSIDE : POINT_OUTSIDE;
    }
}

static supple_result sign_openings(stuff *s, supple_error *error)
{
    const spl_surface *f = s->in->surface;
    double margin = 2 * s->lattice.half;
    open_work w = {s, {INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (size_t e = 0; e < 3 * (size_t)f->triangle_count; e++) {
        if (f->across[e] >= 0) continue;
        for (size_t k = 0; k < 2; k++) { /* both ends: corners k and k + 1 */
            spl_vec3 p = f->position[f->triangle[k == 0 ? e : e % 3 == 2 ? e - 2 : e + 1]];
            w.low = spl_v3(fmin(w.low.x, p.x - margin), fmin(w.low.y, p.y - margin), fmin(w.low.z, p.z - margin));
            w.high = spl_v3(fmax(w.high.x, p.x + margin), fmax(w.high.y, p.y + margin), fmax(w.high.z, p.z + margin));
        }
    }
    return spl_stuff_loop(s, s->lattice.point_count, 1024, open_range, &w, "field", 0.8, 1, error);
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
                } else if (!known && (s->state[p] == POINT_BAND || s->state[p] == POINT_INSIDE)) {
                    known = true;
                    if (s->state[p] == POINT_INSIDE || s->sample[s->slot[p]].value < 0) side = POINT_INSIDE;
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
    sample_work work = {.s = s, .reach = reach};
    supple_result result = spl_stuff_loop(s, n, 256, measure_range, &work, "field", 0, 0.6, error);
    if (result != SUPPLE_OK) return result;
    for (size_t p = 0; p < s->lattice.point_count; p++) s->slot[p] = -1;
    for (size_t i = 0; i < n; i++) {
        size_t p = s->sample[i].point;
        if (s->sample[i].place.triangle < 0)
            s->state[p] = POINT_UNKNOWN; /* in a triangle's box, but not near it */
        else
            s->slot[p] = (int32_t)i;
    }
    s->report.lattice_points = (int32_t)n;
    if (s->watertight)
        result = sign_regions(&work, n, error);
    else
        result = spl_stuff_loop(s, n, 256, sign_range, &work, "field", 0.6, 0.8, error);
    if (result == SUPPLE_OK && !s->watertight) result = sign_openings(s, error);
    return result == SUPPLE_OK ? spread_sides(s, error) : result;
}
