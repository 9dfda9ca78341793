/* Nodes: each lattice point once for every limb of the grown body that covers it. */
#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

enum { COVER_MAX = 512 };

/* Parts of the surface whose growth covers a point. */
typedef struct cover {
    const stuff *s;
    spl_vec3 p;
    int32_t count;
    int32_t triangle[COVER_MAX]; /* ascending after sorting */
    int32_t root[COVER_MAX];     /* union-find by index */
    double distance[COVER_MAX];
    double bary[COVER_MAX][3];
} cover;

static bool add_triangle(void *context, int32_t t)
{
    cover *v = context;
    const spl_surface *f = v->s->in->surface;
    const int32_t *c = f->triangle + 3 * (size_t)t;
    const double *g = v->s->in->growth;
    if (g[c[0]] <= 0 && g[c[1]] <= 0 && g[c[2]] <= 0) return true;
    double bary[3];
    double d = sqrt(spl_triangle_nearest(v->p, f->position[c[0]], f->position[c[1]], f->position[c[2]], bary));
    if (d >= bary[0] * g[c[0]] + bary[1] * g[c[1]] + bary[2] * g[c[2]]) return true;
    v->triangle[v->count] = t;
    v->distance[v->count] = d;
    memcpy(v->bary[v->count], bary, sizeof bary);
    return ++v->count < COVER_MAX;
}

static int32_t root_of(int32_t *root, int32_t i)
{
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
}

static void join(int32_t *root, int32_t a, int32_t b)
{
    a = root_of(root, a);
    b = root_of(root, b);
    if (a < b)
        root[b] = a;
    else
        root[a] = b;
}

static int32_t find_triangle(const cover *v, int32_t t)
{
    for (int32_t i = 0; i < v->count; i++)
        if (v->triangle[i] == t) return i;
    return -1;
}

/* Neighbours on the surface are one patch. */
static void join_patches(cover *v)
{
    const spl_surface *f = v->s->in->surface;
    for (int32_t i = 0; i < v->count; i++) v->root[i] = i;
    for (int32_t i = 0; i < v->count; i++)
        for (int k = 0; k < 3; k++) {
            int32_t across = f->across[3 * (size_t)v->triangle[i] + (size_t)k];
            int32_t j = across >= 0 ? find_triangle(v, across) : -1;
            if (j >= 0) join(v->root, i, j);
        }
}

/* The nearest member of each patch, as a place; patches on one limb are joined. Returns how many are left. */
static int32_t limbs_of(cover *v, spl_geodesic *scratch, spl_place *place, double *distance, int32_t room)
{
    int32_t count = 0, best[16];
    join_patches(v);
    for (int32_t i = 0; i < v->count; i++) {
        int32_t root = root_of(v->root, i), k = 0;
        while (k < count && root_of(v->root, best[k]) != root) k++;
        if (k == count && count < room && count < 16)
            best[count++] = i;
        else if (k < count && v->distance[i] < v->distance[best[k]])
            best[k] = i;
    }
    int32_t kept = 0;
    for (int32_t k = 0; k < count; k++) {
        spl_place at = {v->triangle[best[k]], {v->bary[best[k]][0], v->bary[best[k]][1], v->bary[best[k]][2]}};
        int32_t same = 0;
        while (same < kept && !spl_stuff_same_limb(v->s, scratch, &place[same], &at)) same++;
        if (same == kept) {
            distance[kept] = v->distance[best[k]];
            place[kept++] = at;
        } else if (v->distance[best[k]] < distance[same]) {
            distance[same] = v->distance[best[k]];
            place[same] = at;
        }
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

enum { LIMBS = 8 };

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
    v->s = s;
    v->p = spl_lattice_point(&s->lattice, c);
    v->count = 0;
    spl_tree_box(s->in->tree, spl_sub(v->p, spl_v3(r, r, r)), spl_add(v->p, spl_v3(r, r, r)), add_triangle, v);
    if (v->count == 0) return count;
    int32_t limbs = limbs_of(v, scratch, place, distance, LIMBS);
    for (int32_t k = 0; k < limbs && count < LIMBS; k++) {
        if (q->value < 0 && spl_stuff_same_limb(s, scratch, &q->place, &place[k])) continue;
        out[count++] = (stuff_node){.point = q->point, .value = distance[k], .place = place[k]};
    }
    return count;
}

/* Sampling order (ascending points) decides the numbers of the nodes; slots turn from samples to first nodes. */
supple_result spl_stuff_nodes(stuff *s, supple_error *error)
{
    cover *v = spl_new(s->a, 1, sizeof *v);
    spl_geodesic scratch;
    supple_result result = spl_geodesic_make(s->in->surface->vertex_count, s->a, &scratch, error);
    if (result != SUPPLE_OK || !v) {
        spl_free(s->a, v);
        return result != SUPPLE_OK ? result : spl_fail_memory(error, "the lattice's nodes");
    }
    bool made = true;
    for (size_t p = 0; p < s->lattice.point_count && made; p++) {
        stuff_node found[LIMBS];
        int32_t count = 0;
        if (s->state[p] == POINT_BAND)
            count = nodes_of(s, &s->sample[s->slot[p]], v, &scratch, found);
        else if (s->state[p] == POINT_INSIDE)
            found[count++] = (stuff_node){.point = p, .interior = true, .value = -INFINITY, .place = {.triangle = -1}};
        s->slot[p] = count ? s->node_count : -1;
        if (count > 1) s->report.doubled += count;
        for (int32_t k = 0; k < count && made; k++) {
            found[k].next = k + 1 < count ? s->node_count + 1 : -1;
            made = add_node(s, found[k]);
        }
    }
    s->report.nodes = s->node_count;
    spl_geodesic_release(&scratch);
    spl_free(s->a, v);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the lattice's nodes");
}
