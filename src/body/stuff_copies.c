/* Copies: the virtual lattice. A node sees each of its 14 neighbouring points either as a linked node or as a copy of
 * that point outside the limb. Two nodes see the same copy if they are linked and both its neighbours, or connected by
 * such nodes around it; so every limb has its own outside, and no two limbs share a vertex by chance. */
#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"

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

/* Half-edges (node, direction) around one outside point, joined over links between their nodes. */
static void join_half_edges(stuff *s, int32_t *root)
{
    for (int32_t n = 0; n < s->node_count; n++) {
        if (!stuff_is_real(s, n)) continue;
        for (int d = 0; d < SPL_DIRECTIONS; d++) {
            int32_t m = s->link[SPL_DIRECTIONS * (size_t)n + (size_t)d];
            if (m < n || !stuff_is_real(s, m)) continue; /* each pair once */
            const spl_common *c = &s->lattice.common[d];
            for (int i = 0; i < c->count; i++)
                join(root, SPL_DIRECTIONS * n + c->from_start[i], SPL_DIRECTIONS * m + c->from_end[i]);
        }
    }
}

static spl_vec3 place_copy(const stuff *s, int32_t n, int d)
{
    int32_t c[3];
    spl_lattice_coordinates(&s->lattice, s->node[n].point, c);
    for (int k = 0; k < 3; k++) c[k] += spl_direction[d][k];
    return spl_lattice_point(&s->lattice, c);
}

/* A set of half-edges of which one is linked to a front sees that front: limbs that part share the vertices there, which
 * is what holds them together. `front` is by root, -1 for none. */
static void find_fronts(const stuff *s, int32_t *root, int32_t *front)
{
    int32_t half_edges = SPL_DIRECTIONS * s->node_count;
    for (int32_t h = 0; h < half_edges; h++) front[h] = -1;
    for (int32_t h = 0; h < half_edges; h++) {
        int32_t link = s->link[h];
        if (link < 0 || !s->node[link].front || !stuff_is_real(s, h / SPL_DIRECTIONS)) continue;
        int32_t *at = &front[root_of(root, h)];
        if (*at < 0 || link < *at) *at = link;
    }
}

/* Numbers the copies: nodes keep their numbers, then one for each set of half-edges that leads to no node. */
static int32_t number_copies(stuff *s, int32_t *root, const int32_t *front)
{
    int32_t count = s->node_count, half_edges = SPL_DIRECTIONS * s->node_count;
    for (int32_t h = 0; h < half_edges; h++) {
        s->copy[h] = -1;
        if (!stuff_is_real(s, h / SPL_DIRECTIONS)) continue;
        int32_t r = root_of(root, h); /* the lowest of its set, so it is numbered first */
        if (stuff_is_real(s, s->link[h])) s->copy[h] = s->link[h];
        else if (front[r] >= 0) s->copy[h] = front[r];
        else s->copy[h] = r == h ? count++ : s->copy[r];
    }
    return count;
}

supple_result spl_stuff_copies(stuff *s, supple_error *error)
{
    size_t half_edges = SPL_DIRECTIONS * (size_t)s->node_count;
    if (half_edges > INT32_MAX)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "the lattice is too fine; lower the resolution");
    int32_t *root = spl_new(s->a, half_edges, sizeof *root), *front = spl_new(s->a, half_edges, sizeof *front);
    s->copy = spl_new(s->a, half_edges, sizeof *s->copy);
    if (root && front && s->copy) {
        for (size_t h = 0; h < half_edges; h++) root[h] = (int32_t)h;
        join_half_edges(s, root);
        find_fronts(s, root, front);
        s->copy_count = number_copies(s, root, front);
        s->position = spl_new(s->a, (size_t)s->copy_count, sizeof *s->position);
        s->side = spl_new(s->a, (size_t)s->copy_count, sizeof *s->side);
    }
    spl_free(s->a, root);
    spl_free(s->a, front);
    if (!s->position || !s->side) return spl_fail_memory(error, "the virtual lattice");
    for (int32_t i = s->node_count; i < s->copy_count; i++) s->side[i] = SIDE_OUT;
    for (int32_t n = 0; n < s->node_count; n++) {
        int32_t c[3];
        spl_lattice_coordinates(&s->lattice, s->node[n].point, c);
        s->position[n] = spl_lattice_point(&s->lattice, c);
        s->side[n] = s->node[n].front ? SIDE_ON : SIDE_IN;
        for (int d = 0; d < SPL_DIRECTIONS && stuff_is_real(s, n); d++) {
            size_t h = SPL_DIRECTIONS * (size_t)n + (size_t)d;
            int32_t copy = s->copy[h];
            if (copy < s->node_count) continue;
            s->position[copy] = place_copy(s, n, d);
        }
    }
    return SUPPLE_OK;
}
