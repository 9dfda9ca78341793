/* Cuts: where lattice edges leave the body, and the warping of lattice points that a cut comes too near. */
#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"

/* Labelle and Shewchuk 2007, table 1: the safe thresholds that bound the dihedral angles best on both sides. A cut
 * nearer to a lattice point than this share of the edge is moved into the point. */
#define ALPHA_LONG  0.21509f
#define ALPHA_SHORT 0.35900f

#define CUT_MARGIN   1e-3 /* no cut is nearer to an end of its edge */
#define FALSI_STEPS  6
#define FALSI_ENOUGH 1e-3 /* of the edge */

static double grown(const spl_stuff_input *in, spl_vec3 p, int32_t *hint)
{
    spl_place place;
    double value = spl_stuff_distance(in, p, INFINITY, *hint, &place);
    *hint = place.triangle;
    return value - spl_stuff_growth(in, &place);
}

/* Where the grown field of a segment from inside to outside is zero: false position, Illinois variant. */
static double find_zero(const spl_stuff_input *in, spl_vec3 from, spl_vec3 to, double at_from, double at_to)
{
    double low = 0, high = 1, f_low = at_from, f_high = at_to, t = 0.5;
    int32_t hint = -1;
    int side = 0;
    for (int i = 0; i < FALSI_STEPS; i++) {
        t = (low * f_high - high * f_low) / (f_high - f_low);
        double f = grown(in, spl_lerp(from, to, t), &hint);
        if (f < 0) {
            if (t - low < FALSI_ENOUGH && i) return t;
            low = t;
            f_low = f;
            if (side == -1) f_high *= 0.5;
            side = -1;
        } else {
            if (high - t < FALSI_ENOUGH && i) return t;
            high = t;
            f_high = f;
            if (side == 1) f_low *= 0.5;
            side = 1;
        }
    }
    return t;
}

/* From a node to a point that another limb covers: the node's own limb ends where the plane of its nearest place, moved
 * out by the growth there, is crossed; without growth, where the segment first leaves the body. */
static double leave_limb(const stuff *s, const stuff_node *n, spl_vec3 from, spl_vec3 to)
{
    const spl_stuff_input *in = s->in;
    double growth = spl_stuff_growth(in, &n->place);
    spl_hit hit;
    if (n->interior && growth < 0.05 * s->lattice.half && spl_tree_ray(in->tree, from, spl_sub(to, from), 1, &hit))
        return hit.distance;
    spl_vec3 normal = spl_surface_normal(in->surface, &n->place), at = spl_surface_point(in->surface, &n->place);
    double f0 = spl_dot(spl_sub(from, at), normal) - growth, f1 = spl_dot(spl_sub(to, at), normal) - growth;
    return f0 < 0 && f1 > 0 ? f0 / (f0 - f1) : 0.5;
}

static double cut_edge(const stuff *s, int32_t n, int d)
{
    const stuff_node *node = &s->node[n];
    spl_vec3 from = s->position[n];
    int32_t c[3];
    spl_lattice_coordinates(&s->lattice, node->point, c);
    for (int k = 0; k < 3; k++) c[k] += spl_direction[d][k];
    spl_vec3 to = spl_lattice_point(&s->lattice, c);
    int32_t hint = node->place.triangle;
    double f_to = grown(s->in, to, &hint);
    if (f_to <= 0) return leave_limb(s, node, from, to);
    double f_from = grown(s->in, from, &hint);
    return f_from < 0 ? find_zero(s->in, from, to, f_from, f_to) : 0.5;
}

static void cut_range(void *context, size_t begin, size_t end)
{
    stuff *s = context;
    for (size_t h = begin; h < end; h++) {
        int32_t copy = s->copy[h];
        s->cut[h] = -1;
        if (copy < 0 || s->side[copy] != SIDE_OUT) continue;
        double t = cut_edge(s, (int32_t)(h / SPL_DIRECTIONS), (int)(h % SPL_DIRECTIONS));
        s->cut[h] = (float)fmin(fmax(t, CUT_MARGIN), 1 - CUT_MARGIN);
    }
}

static float alpha(int d)
{
    return spl_is_long(d) ? ALPHA_LONG : ALPHA_SHORT;
}

static spl_vec3 cut_point(const stuff *s, size_t h)
{
    return spl_lerp(s->position[h / SPL_DIRECTIONS], s->position[s->copy[h]], (double)s->cut[h]);
}

/* A point that moves to the surface has no cuts on its edges any more. */
static void warp_node(stuff *s, int32_t n)
{
    size_t first = SPL_DIRECTIONS * (size_t)n, best = first;
    float nearest = 2;
    for (int d = 0; d < SPL_DIRECTIONS; d++) {
        float t = s->cut[first + (size_t)d];
        if (t < 0 || t >= alpha(d)) continue;
        float length = t * (spl_is_long(d) ? 1.0f : 0.8660254f);
        if (length < nearest) {
            nearest = length;
            best = first + (size_t)d;
        }
    }
    if (nearest == 2) return;
    spl_vec3 to = cut_point(s, best);
    for (int d = 0; d < SPL_DIRECTIONS; d++) s->cut[first + (size_t)d] = -1;
    s->position[n] = to;
    s->side[n] = SIDE_ON;
    s->report.warped++;
}

/* Outside copies see their edges through lists of half-edges. */
static supple_result warp_copies(stuff *s, supple_error *error)
{
    size_t virtual_count = (size_t)(s->copy_count - s->node_count), half_edges = SPL_DIRECTIONS * (size_t)s->node_count;
    int32_t *first = spl_new(s->a, virtual_count, sizeof *first), *next = spl_new(s->a, half_edges, sizeof *next);
    bool made = first && next;
    for (size_t i = 0; made && i < virtual_count; i++) first[i] = -1;
    for (size_t h = half_edges; made && h-- > 0;) {
        if (s->copy[h] < s->node_count) continue;
        size_t v = (size_t)(s->copy[h] - s->node_count);
        next[h] = first[v];
        first[v] = (int32_t)h;
    }
    for (size_t v = 0; made && v < virtual_count; v++) {
        int32_t best = -1;
        float nearest = 2;
        for (int32_t h = first[v]; h >= 0; h = next[h]) {
            float t = s->cut[h] < 0 ? 2 : 1 - s->cut[h];
            int d = h % SPL_DIRECTIONS;
            float length = t * (spl_is_long(d) ? 1.0f : 0.8660254f);
            if (t < alpha(d) && length < nearest) {
                nearest = length;
                best = h;
            }
        }
        if (best < 0) continue;
        spl_vec3 to = cut_point(s, (size_t)best);
        for (int32_t h = first[v]; h >= 0; h = next[h]) s->cut[h] = -1;
        s->position[(size_t)s->node_count + v] = to;
        s->side[(size_t)s->node_count + v] = SIDE_ON;
        s->report.warped++;
    }
    spl_free(s->a, first);
    spl_free(s->a, next);
    return made ? SUPPLE_OK : spl_fail_memory(error, "warping");
}

supple_result spl_stuff_cuts(stuff *s, supple_error *error)
{
    size_t half_edges = SPL_DIRECTIONS * (size_t)s->node_count;
    s->cut = spl_new(s->a, half_edges, sizeof *s->cut);
    s->cut_vertex = spl_new(s->a, half_edges, sizeof *s->cut_vertex);
    if (!s->cut || !s->cut_vertex) return spl_fail_memory(error, "the cuts");
    spl_parallel_for(s->in->pool, half_edges, 1024, cut_range, s);
    for (int32_t n = 0; n < s->node_count; n++)
        if (stuff_is_real(s, n)) warp_node(s, n);
    return warp_copies(s, error);
}
