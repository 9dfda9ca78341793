/* Links: which neighbouring nodes belong to one limb, and the fronts where limbs part. */
#include "body/stuff_private.h"
#include "body/walk.h"
#include "core/error.h"
#include "core/memory.h"

#define NEAR_CELLS   1.75 /* along the surface, in cells: the same limb, if the flesh below sees each other */
#define UNSEEN_CELLS 1.00 /* ... and if it does not */
#define NEAR_RATIO   1.8  /* along the surface over straight distance; half way round a cylinder it is 1.57 */
#define HITS_AT_MOST 8

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

/* What lies straight below a place. */
typedef struct below {
    bool thin;       /* the limb ends there, at `other` */
    spl_place other; /* the other side */
    spl_vec3 inner;  /* half way to it, or as far inside as thin limbs are looked through */
} below;

static below look_below(const stuff *s, const spl_place *at)
{
    const spl_stuff_input *in = s->in;
    spl_vec3 n = spl_surface_normal(in->surface, at), p = spl_surface_point(in->surface, at);
    double small = 1e-4 * s->lattice.half;
    below b = {0};
    spl_hit hit = {.distance = in->thickness};
    if (spl_tree_ray(in->tree, spl_madd(p, n, -small), spl_scale(n, -1), in->thickness, &hit)) {
        b.other = (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
        b.thin = spl_dot(spl_surface_normal(in->surface, &b.other), n) < 0;
    }
    b.inner = spl_madd(p, n, -0.5 * hit.distance - small);
    return b;
}

supple_result spl_stuff_scratch_make(const stuff *s, stuff_scratch *out, supple_error *error)
{
    size_t n = (size_t)spl_pool_thread_count(s->in->pool);
    *out = (stuff_scratch){0};
    out->geodesic = spl_new(s->a, n, sizeof *out->geodesic);
    out->taken = spl_new(s->a, n, sizeof *out->taken);
    supple_result result =
        out->geodesic && out->taken ? SUPPLE_OK : spl_fail_memory(error, "the lattice's working memory");
    for (size_t i = 0; result == SUPPLE_OK && i < n; i++) {
        result = spl_geodesic_make(s->in->surface->vertex_count, s->a, &out->geodesic[i], error);
        atomic_init(&out->taken[i], false);
        out->count += result == SUPPLE_OK;
    }
    return result;
}

void spl_stuff_scratch_release(const stuff *s, stuff_scratch *scratch)
{
    for (int32_t i = 0; i < scratch->count; i++) spl_geodesic_release(&scratch->geodesic[i]);
    spl_free(s->a, scratch->geodesic);
    spl_free(s->a, scratch->taken);
    *scratch = (stuff_scratch){0};
}

int32_t spl_stuff_scratch_take(stuff_scratch *scratch)
{
    for (int32_t i = 0;; i = (i + 1) % scratch->count) /* one is free: there are as many as threads */
        if (!atomic_exchange_explicit(&scratch->taken[i], true, memory_order_acquire)) return i;
}

void spl_stuff_scratch_give(stuff_scratch *scratch, int32_t index)
{
    atomic_store_explicit(&scratch->taken[index], false, memory_order_release);
}

static double near_limit(const stuff *s, const spl_place *a, const spl_place *b)
{
    const spl_surface *f = s->in->surface;
    double straight = spl_distance(spl_surface_point(f, a), spl_surface_point(f, b));
    return fmax(NEAR_CELLS * 2 * s->lattice.half, NEAR_RATIO * straight);
}

/* Ways between a and b: along the surface, or through a thin part first. Each is tried as a straight walk; only if none
 * leads there the geodesic distances are computed. Where the flesh under a does not see that under b (two fingers, from
 * either side of their web) only a short way along the surface counts. */
bool spl_stuff_same_limb(const stuff *s, spl_geodesic *scratch, const spl_place *a, const spl_place *b)
{
    if (a->triangle < 0 || b->triangle < 0) return false;
    const spl_surface *f = s->in->surface;
    double near = UNSEEN_CELLS * 2 * s->lattice.half;
    if (spl_surface_walk(f, a, b, near) < INFINITY) return true;
    atomic_fetch_add_explicit(s->looks, 1, memory_order_relaxed);
    below below_a = look_below(s, a), below_b = look_below(s, b);
    if (leaves(s->in, below_a.inner, below_b.inner)) return spl_geodesic_near(scratch, f, a, b, near);
    const spl_place *way[3][2] = {{a, b}};
    int ways = 1;
    if (below_a.thin) {
        way[ways][0] = &below_a.other;
        way[ways++][1] = b;
    }
    if (below_b.thin) {
        way[ways][0] = a;
        way[ways++][1] = &below_b.other;
    }
    double limit[3];
    for (int i = 0; i < ways; i++) {
        limit[i] = near_limit(s, way[i][0], way[i][1]);
        if (spl_surface_walk(f, way[i][0], way[i][1], limit[i]) < INFINITY) return true;
    }
    for (int i = 0; i < ways; i++)
        if (spl_geodesic_near(scratch, f, way[i][0], way[i][1], limit[i])) return true;
    return false;
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
    if (a->interior && b->interior) {
        if (-a->value - b->value > spl_lattice_length(&s->lattice, d)) return true; /* no surface fits between */
        if (!leaves(s->in, point_of(s, n), point_of(s, m))) return true;
    }
    return spl_stuff_same_limb(s, scratch, &a->place, &b->place);
}

/* Each pair of neighbours once: every second long direction and every second short one. */
enum { FORWARD = SPL_DIRECTIONS / 2 };
static const int8_t forward[FORWARD] = {0, 2, 4, 6, 7, 8, 9};

/* The first node at the neighbouring point, -1 for none. */
static int32_t first_neighbour(const stuff *s, int32_t n, int d)
{
    int32_t c[3];
    spl_lattice_coordinates(&s->lattice, s->node[n].point, c);
    for (int k = 0; k < 3; k++) c[k] += spl_direction[d][k];
    return spl_lattice_holds(&s->lattice, c) ? s->slot[spl_lattice_index(&s->lattice, c)] : -1;
}

typedef struct link_work {
    stuff *s;
    stuff_scratch scratch;
    uint8_t *same; /* FORWARD x node_count: a bit for each node of the neighbouring point that is linked */
} link_work;

static void judge_range(void *context, size_t begin, size_t end)
{
    link_work *w = context;
    int32_t k = spl_stuff_scratch_take(&w->scratch);
    for (size_t i = begin; i < end; i++)
        for (size_t f = 0; f < FORWARD; f++) {
            unsigned bit = 1, mask = 0;
            int32_t n = (int32_t)i, m = first_neighbour(w->s, n, forward[f]);
            for (; m >= 0; m = w->s->node[m].next, bit <<= 1)
                if (linked(w->s, &w->scratch.geodesic[k], n, m, forward[f])) mask |= bit;
            w->same[FORWARD * i + f] = (uint8_t)mask;
        }
    spl_stuff_scratch_give(&w->scratch, k);
}

static void set_link(stuff *s, int32_t n, int d, int32_t m)
{
    int32_t *at = &s->link[SPL_DIRECTIONS * (size_t)n + (size_t)d];
    if (*at >= 0)
        s->node[n].torn = true; /* a second node of the same neighbour: limbs part here */
    else
        *at = m;
}

static void set_links(link_work *w)
{
    stuff *s = w->s;
    for (int32_t n = 0; n < s->node_count; n++)
        for (size_t f = 0; f < FORWARD; f++) {
            unsigned mask = w->same[FORWARD * (size_t)n + f];
            for (int32_t m = first_neighbour(s, n, forward[f]); m >= 0; m = s->node[m].next, mask >>= 1) {
                if (mask & 1) {
                    set_link(s, n, forward[f], m);
                    set_link(s, m, spl_opposite(forward[f]), n);
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
    link_work w = {.s = s};
    supple_result result = spl_stuff_scratch_make(s, &w.scratch, error);
    s->link = spl_new(s->a, n, sizeof *s->link);
    w.same = spl_new(s->a, FORWARD * (size_t)s->node_count, sizeof *w.same);
    bool made = result == SUPPLE_OK && s->link && w.same;
    for (size_t i = 0; made && i < n; i++) s->link[i] = -1;
    if (made) {
        result = spl_stuff_loop(s, (size_t)s->node_count, 32, judge_range, &w, "tetrahedra", 0.4, 0.8, error);
        if (result == SUPPLE_OK) set_links(&w);
    }
    spl_stuff_scratch_release(s, &w.scratch);
    spl_free(s->a, w.same);
    if (!made) return spl_fail_memory(error, "the lattice's links");
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; i < s->node_count; i++) s->node[i].front = s->node[i].torn;
    for (int32_t i = 0; i < s->node_count; i++)
        if (!s->node[i].front && parts_limbs(s, i)) s->node[i].front = true;
    for (int32_t i = 0; i < s->node_count; i++) s->report.fronts += s->node[i].front;
    return SUPPLE_OK;
}
