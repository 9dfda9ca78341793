/* Links: which neighbouring nodes belong to one limb, and the fronts where limbs part. */
#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"

#define NEAR_CELLS   1.0 /* along the surface, in cells: always the same limb */
#define NEAR_RATIO   1.8 /* along the surface over straight distance; half way round a cylinder it is 1.57 */
#define HITS_AT_MOST 8

/* The other side of a limb, if it is thin there: where the inward normal leaves it. */
static bool other_side(const stuff *s, const spl_place *at, spl_place *out)
{
    const spl_stuff_input *in = s->in;
    spl_vec3 n = spl_surface_normal(in->surface, at), p = spl_surface_point(in->surface, at);
    double small = 1e-4 * s->lattice.half;
    spl_hit hit;
    if (!spl_tree_ray(in->tree, spl_madd(p, n, -small), spl_scale(n, -1), in->thickness, &hit)) return false;
    *out = (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
    return spl_dot(spl_surface_normal(in->surface, out), n) < 0;
}

static bool near_along(const stuff *s, spl_geodesic *scratch, const spl_place *a, const spl_place *b)
{
    const spl_surface *f = s->in->surface;
    double straight = spl_distance(spl_surface_point(f, a), spl_surface_point(f, b));
    double limit = fmax(NEAR_CELLS * 2 * s->lattice.half, NEAR_RATIO * straight);
    return spl_geodesic_near(scratch, f, a, b, limit);
}

bool spl_stuff_same_limb(const stuff *s, spl_geodesic *scratch, const spl_place *a, const spl_place *b)
{
    spl_place through;
    if (near_along(s, scratch, a, b)) return true;
    if (other_side(s, a, &through) && near_along(s, scratch, &through, b)) return true;
    return other_side(s, b, &through) && near_along(s, scratch, a, &through);
}

/* Whether a segment between two points inside the body leaves it. Surfaces inside the body (parts that overlap) do not
 * count: between hits the winding number decides. */
static bool leaves(const spl_stuff_input *in, spl_vec3 from, spl_vec3 to)
{
    spl_vec3 d = spl_sub(to, from);
    double t = 0, small = 1e-9;
    for (int i = 0; i < HITS_AT_MOST; i++) {
        spl_hit hit;
        if (!spl_tree_ray(in->tree, spl_madd(from, d, t), d, 1 - t, &hit)) return false;
        double next = t + hit.distance + small;
        spl_hit after;
        double end = spl_tree_ray(in->tree, spl_madd(from, d, next), d, 1 - next, &after) ? next + after.distance : 1;
        if (spl_winding_number(in->winding, spl_madd(from, d, 0.5 * (next + end))) < 0.5) return true;
        t = next;
    }
    return true;
}

static spl_vec3 point_of(const stuff *s, int32_t node)
{
    int32_t c[3];
    spl_lattice_coordinates(&s->lattice, s->node[node].point, c);
    return spl_lattice_point(&s->lattice, c);
}

static bool linked(const stuff *s, spl_geodesic *scratch, int32_t n, int32_t m, int d)
{
    const stuff_node *a = &s->node[n], *b = &s->node[m];
    double length = (spl_is_long(d) ? 2 : 1.7320508075688772) * s->lattice.half;
    if (a->interior && b->interior) {
        if (-a->value > length || -b->value > length) return true;
        if (!leaves(s->in, point_of(s, n), point_of(s, m))) return true;
    }
    return spl_stuff_same_limb(s, scratch, &a->place, &b->place);
}

static void set_link(stuff *s, int32_t n, int d, int32_t m)
{
    int32_t *at = &s->link[SPL_DIRECTIONS * (size_t)n + (size_t)d];
    if (*at >= 0)
        s->node[n].torn = true; /* a second node of the same neighbour: limbs part here */
    else
        *at = m;
}

/* Each pair of neighbours once: every second long direction and every second short one. */
static bool is_forward(int d)
{
    return d < SPL_LONG ? (d & 1) == 0 : d < SPL_LONG + 4;
}

static void link_node(stuff *s, spl_geodesic *scratch, int32_t n)
{
    int32_t c[3];
    spl_lattice_coordinates(&s->lattice, s->node[n].point, c);
    for (int d = 0; d < SPL_DIRECTIONS; d++) {
        int32_t e[3] = {c[0] + spl_direction[d][0], c[1] + spl_direction[d][1], c[2] + spl_direction[d][2]};
        if (!is_forward(d) || !spl_lattice_holds(&s->lattice, e)) continue;
        for (int32_t m = s->slot[spl_lattice_index(&s->lattice, e)]; m >= 0; m = s->node[m].next) {
            if (linked(s, scratch, n, m, d)) {
                set_link(s, n, d, m);
                set_link(s, m, spl_opposite(d), n);
            } else
                s->report.broken_links++;
        }
    }
}

/* Over every lattice triangle, links must say "same limb" for one pair or for all three: a node whose two neighbours
 * are linked to it but not to each other stands where limbs part. It is put on the surface: then it holds both limbs
 * and links neither. Taking nodes away makes no new such triangle, so one pass is enough. */
static bool parts_limbs(const stuff *s, int32_t n)
{
    const int32_t *mine = s->link + SPL_DIRECTIONS * (size_t)n;
    for (int d = 0; d < SPL_DIRECTIONS; d++) {
        if (!stuff_is_real(s, mine[d])) continue;
        const int32_t *theirs = s->link + SPL_DIRECTIONS * (size_t)mine[d];
        const spl_common *c = &s->lattice.common[d];
        for (int i = 0; i < c->count; i++) {
            int32_t third = mine[c->from_start[i]];
            if (stuff_is_real(s, third) && theirs[c->from_end[i]] != third) return true;
        }
    }
    return false;
}

supple_result spl_stuff_links(stuff *s, supple_error *error)
{
    size_t n = SPL_DIRECTIONS * (size_t)s->node_count;
    s->link = spl_new(s->a, n, sizeof *s->link);
    if (!s->link) return spl_fail_memory(error, "the lattice's links");
    for (size_t i = 0; i < n; i++) s->link[i] = -1;
    spl_geodesic scratch;
    supple_result result = spl_geodesic_make(s->in->surface->vertex_count, s->a, &scratch, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; i < s->node_count; i++) link_node(s, &scratch, i);
    spl_geodesic_release(&scratch);
    for (int32_t i = 0; i < s->node_count; i++) s->node[i].front = s->node[i].torn;
    for (int32_t i = 0; i < s->node_count; i++)
        if (!s->node[i].front && parts_limbs(s, i)) s->node[i].front = true;
    for (int32_t i = 0; i < s->node_count; i++) s->report.fronts += s->node[i].front;
    return SUPPLE_OK;
}
