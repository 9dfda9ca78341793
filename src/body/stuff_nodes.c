/* Nodes: each lattice point once for every limb of the grown body that covers it. */
#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"

enum { LIMBS = 8, PATCHES = 64 };

/* Parts of the surface whose growth covers a point. Working memory of one query at a time. */
typedef struct cover {
    const stuff *s;
    spl_vec3 p;
    int32_t count;
    int32_t *list;    /* the triangles, in the order of the search, then of the flood */
    double *distance; /* by triangle: from the point; -1 if it is not covered or has been seen to */
} cover;

static bool make_cover(const stuff *s, cover *v)
{
    size_t n = (size_t)s->in->surface->triangle_count;
    *v = (cover){.s = s, .list = spl_new(s->a, 2 * n, sizeof *v->list), .distance = spl_new(s->a, n, sizeof(double))};
    for (size_t i = 0; v->distance && i < n; i++) v->distance[i] = -1;
    return v->list && v->distance;
}

static void release_cover(const stuff *s, cover *v)
{
    spl_free(s->a, v->list);
    spl_free(s->a, v->distance);
}

static double nearest_in(const cover *v, int32_t t, double bary[3])
{
    const spl_surface *f = v->s->in->surface;
    const int32_t *c = f->triangle + 3 * (size_t)t;
    return sqrt(spl_triangle_nearest(v->p, f->position[c[0]], f->position[c[1]], f->position[c[2]], bary));
}

static bool add_triangle(void *context, int32_t t)
{
    cover *v = context;
    const int32_t *c = v->s->in->surface->triangle + 3 * (size_t)t;
    const double *g = v->s->in->growth;
    if (g[c[0]] <= 0 && g[c[1]] <= 0 && g[c[2]] <= 0) return true;
    double bary[3], d = nearest_in(v, t, bary);
    if (d >= bary[0] * g[c[0]] + bary[1] * g[c[1]] + bary[2] * g[c[2]]) return true;
    v->list[v->count++] = t;
    v->distance[t] = d;
    return true;
}

/* Takes the patch of covered triangles around one of them out of the cover; returns its nearest triangle. */
static int32_t take_patch(cover *v, int32_t start, double *least)
{
    int32_t *queue = v->list + v->count, count = 0, best = start;
    *least = v->distance[start];
    v->distance[start] = -1;
    queue[count++] = start;
    for (int32_t i = 0; i < count; i++)
        for (size_t k = 0; k < 3; k++) {
            int32_t t = v->s->in->surface->across[3 * (size_t)queue[i] + k];
            if (t < 0 || v->distance[t] < 0) continue;
            if (v->distance[t] < *least || (v->distance[t] == *least && t < best)) {
                *least = v->distance[t];
                best = t;
            }
            v->distance[t] = -1;
            queue[count++] = t;
        }
    return best;
}

/* The nearest place of each patch; patches on one limb are joined. Returns how many limbs there are, at most LIMBS. */
static int32_t limbs_of(cover *v, spl_geodesic *scratch, spl_place *place, double *distance)
{
    int32_t kept = 0, patches = 0;
    for (int32_t i = 0; i < v->count; i++) {
        if (v->distance[v->list[i]] < 0) continue;
        double d;
        spl_place at = {.triangle = take_patch(v, v->list[i], &d)};
        if (patches++ >= PATCHES) continue; /* a torn surface: what is left over is near enough to the others */
        nearest_in(v, at.triangle, at.bary);
        int32_t same = 0;
        while (same < kept && !spl_stuff_same_limb(v->s, scratch, &place[same], &at)) same++;
        if (same == LIMBS || (same < kept && d >= distance[same])) continue;
        distance[same] = d;
        place[same] = at;
        if (same == kept) kept++;
    }
    return kept;
}

static bool add_node(stuff *s, stuff_node node)
{
    if (s->node_count == s->node_room) {
        int32_t room = s->node_room ? 2 * s->node_room : 4096;
        stuff_node *grown = spl_resize(s->a, s->node, (size_t)room, sizeof *grown);
        if (!grown) return false;
        s->node = grown;
        s->node_room = room;
    }
    s->node[s->node_count++] = node;
    return true;
}

/* The nodes of one point of the band, at most LIMBS. */
static int32_t nodes_of(const stuff *s, const stuff_sample *q, cover *v, spl_geodesic *scratch, stuff_node *out)
{
    int32_t count = 0;
    if (q->value < 0)
        out[count++] = (stuff_node){.point = q->point, .interior = true, .value = q->value, .place = q->place};
    if (fabs(q->value) >= s->growth_max) return count;
    int32_t c[3];
    spl_place place[LIMBS];
    double distance[LIMBS], r = s->growth_max;
    spl_lattice_coordinates(&s->lattice, q->point, c);
    v->p = spl_lattice_point(&s->lattice, c);
    v->count = 0;
    spl_tree_box(s->in->tree, spl_sub(v->p, spl_v3(r, r, r)), spl_add(v->p, spl_v3(r, r, r)), add_triangle, v);
    if (v->count == 0) return count;
    int32_t limbs = limbs_of(v, scratch, place, distance);
    for (int32_t k = 0; k < limbs && count < LIMBS; k++) {
        if (q->value < 0 && spl_stuff_same_limb(s, scratch, &q->place, &place[k])) continue;
        out[count++] = (stuff_node){.point = q->point, .value = distance[k], .place = place[k]};
    }
    return count;
}

enum { BATCH = 2048 };

/* Samples are worked on a batch at a time: in parallel into slots of their own, then added in their order. */
typedef struct node_work {
    stuff *s;
    stuff_scratch scratch;
    cover *covers;              /* as many as scratches */
    size_t first;               /* sample of the batch */
    stuff_node (*found)[LIMBS]; /* BATCH */
    int32_t *count;             /* BATCH */
} node_work;

static void find_range(void *context, size_t begin, size_t end)
{
    node_work *w = context;
    int32_t k = spl_stuff_scratch_take(&w->scratch);
    for (size_t i = begin; i < end; i++) {
        const stuff_sample *q = &w->s->sample[w->first + i];
        w->count[i] =
            q->place.triangle < 0 ? 0 : nodes_of(w->s, q, &w->covers[k], &w->scratch.geodesic[k], w->found[i]);
    }
    spl_stuff_scratch_give(&w->scratch, k);
}

static bool add_nodes(stuff *s, stuff_node *found, int32_t count)
{
    if (count > 1) s->report.doubled += count;
    if (count > 0) s->slot[found[0].point] = s->node_count;
    for (int32_t k = 0; k < count; k++) {
        found[k].next = k + 1 < count ? s->node_count + 1 : -1;
        if (!add_node(s, found[k])) return false;
    }
    return true;
}

/* Adds the nodes of all points below `end` that lie deep inside, from where the last call stopped. */
static bool add_deep(stuff *s, size_t *next, size_t end)
{
    for (; *next < end; (*next)++) {
        stuff_node deep = {.point = *next, .interior = true, .value = -INFINITY, .place = {.triangle = -1}};
        if (s->state[*next] == POINT_INSIDE && !add_nodes(s, &deep, 1)) return false;
    }
    return true;
}

/* Ascending points decide the numbers of the nodes. */
static supple_result find_nodes(node_work *w, supple_error *error)
{
    stuff *s = w->s;
    size_t next = 0;
    bool room = true;
    for (size_t p = 0; p < s->lattice.point_count; p++) s->slot[p] = -1;
    for (w->first = 0; room && w->first < s->sample_count; w->first += BATCH) {
        double done = (double)w->first / (double)s->sample_count;
        supple_result result = spl_stuff_progress(s, "tetrahedra", 0.4 * done, error);
        if (result != SUPPLE_OK) return result;
        size_t n = s->sample_count - w->first < BATCH ? s->sample_count - w->first : BATCH;
        spl_parallel_for(s->in->pool, n, 16, find_range, w);
        for (size_t i = 0; room && i < n; i++) {
            if (w->count[i] == 0) continue;
            room = add_deep(s, &next, s->sample[w->first + i].point) && add_nodes(s, w->found[i], w->count[i]);
        }
    }
    room = room && add_deep(s, &next, s->lattice.point_count);
    return room ? SUPPLE_OK : spl_fail_memory(error, "the lattice's nodes");
}

supple_result spl_stuff_nodes(stuff *s, supple_error *error)
{
    node_work w = {.s = s};
    supple_result result = spl_stuff_scratch_make(s, &w.scratch, error);
    w.covers = spl_new(s->a, (size_t)w.scratch.count, sizeof *w.covers);
    w.found = spl_new(s->a, BATCH, sizeof *w.found);
    w.count = spl_new(s->a, BATCH, sizeof *w.count);
    bool made = result == SUPPLE_OK && w.covers && w.found && w.count;
    for (int32_t i = 0; made && i < w.scratch.count; i++) made = make_cover(s, &w.covers[i]);
    if (made)
        result = find_nodes(&w, error);
    else
        result = spl_fail_memory(error, "the lattice's nodes");
    s->report.nodes = s->node_count;
    for (int32_t i = 0; w.covers && i < w.scratch.count; i++) release_cover(s, &w.covers[i]);
    spl_stuff_scratch_release(s, &w.scratch);
    spl_free(s->a, w.covers);
    spl_free(s->a, w.found);
    spl_free(s->a, w.count);
    return result;
}
