/* Copies: the virtual lattice. A node sees each of its 14 neighbouring points either as a linked node or as a copy of
 * that point outside the limb. Two nodes see the same copy if they are linked and both its neighbours, or connected by
 * such nodes around it; so every limb has its own outside, and no two limbs share a vertex by chance. */
#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <stdlib.h>
#include <string.h>

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
                spl_sets_join(root, SPL_DIRECTIONS * n + c->from_start[i], SPL_DIRECTIONS * m + c->from_end[i]);
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

/* A set of half-edges of which one is linked to a front sees that front: limbs that part share the vertices there,
 * which is what holds them together. `front` is by root, -1 for none. */
static void find_fronts(const stuff *s, int32_t *root, int32_t *front)
{
    int32_t half_edges = SPL_DIRECTIONS * s->node_count;
    for (int32_t h = 0; h < half_edges; h++) front[h] = -1;
    for (int32_t h = 0; h < half_edges; h++) {
        int32_t link = s->link[h];
        if (link < 0 || !s->node[link].front || !stuff_is_real(s, h / SPL_DIRECTIONS)) continue;
        int32_t *at = &front[spl_sets_root(root, h)];
        if (*at < 0 || link < *at) *at = link;
    }
}

/* A tetrahedron whose other three corners are fronts. */
typedef struct front_face {
    int32_t front[3];  /* ascending */
    size_t point;      /* of the fourth corner */
    int32_t half_edge; /* from the node there to the first front */
} front_face;

static int compare_faces(const void *pa, const void *pb)
{
    const front_face *a = pa, *b = pb;
    for (int i = 0; i < 3; i++)
        if (a->front[i] != b->front[i]) return a->front[i] < b->front[i] ? -1 : 1;
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    return (a->half_edge > b->half_edge) - (a->half_edge < b->half_edge);
}

/* The front that a half-edge sees, -1 if it sees something else. */
static int32_t seen_front(const stuff *s, int32_t *root, const int32_t *front, int32_t h)
{
    return stuff_is_real(s, s->link[h]) ? -1 : front[spl_sets_root(root, h)];
}

static int sort_three(int32_t *v)
{
    int first = 0; /* where the smallest stood */
    for (int i = 1; i < 3; i++)
        if (v[i] < v[first]) first = i;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 - i; k++)
            if (v[k] > v[k + 1]) {
                int32_t t = v[k];
                v[k] = v[k + 1];
                v[k + 1] = t;
            }
    return first;
}

/* All such tetrahedra around the nodes: counts them, and lists them where `out` is given. */
static size_t list_front_faces(const stuff *s, int32_t *root, const int32_t *front, front_face *out)
{
    size_t count = 0;
    for (int32_t n = 0; n < s->node_count; n++) {
        if (!stuff_is_real(s, n)) continue;
        for (int t = 0; t < s->lattice.fan_count; t++) {
            const int8_t *d = s->lattice.fan[t];
            front_face f = {.point = s->node[n].point};
            for (int i = 0; i < 3; i++) f.front[i] = seen_front(s, root, front, SPL_DIRECTIONS * n + d[i]);
            if (f.front[0] < 0 || f.front[1] < 0 || f.front[2] < 0) continue;
            if (out) {
                int first = sort_three(f.front);
                f.half_edge = SPL_DIRECTIONS * n + d[first];
                out[count] = f;
            }
            count++;
        }
    }
    return count;
}

/* A face of three fronts has two sides, and one limb at most may lie on each: others get a vertex of their own in place
 * of the first front. Each pass may leave new cases, but takes vertices apart and so comes to an end. */
static supple_result separate_faces(const stuff *s, int32_t *root, int32_t *front, supple_error *error)
{
    for (bool again = true; again;) {
        again = false;
        size_t count = list_front_faces(s, root, front, NULL);
        front_face *faces = spl_new(s->a, count, sizeof *faces);
        if (!faces) return spl_fail_memory(error, "the virtual lattice");
        list_front_faces(s, root, front, faces);
        qsort(faces, count, sizeof *faces, compare_faces);
        for (size_t i = 1; i < count; i++) {
            const front_face *a = &faces[i - 1], *b = &faces[i];
            if (memcmp(a->front, b->front, sizeof a->front) != 0 || a->point != b->point) continue;
            front[spl_sets_root(root, b->half_edge)] = -1;
            again = true;
        }
        spl_free(s->a, faces);
    }
    return SUPPLE_OK;
}

/* Numbers the copies: nodes keep their numbers, then one for each set of half-edges that leads to no node. */
static int32_t number_copies(stuff *s, int32_t *root, const int32_t *front)
{
    int32_t count = s->node_count, half_edges = SPL_DIRECTIONS * s->node_count;
    for (int32_t h = 0; h < half_edges; h++) {
        s->copy[h] = -1;
        if (!stuff_is_real(s, h / SPL_DIRECTIONS)) continue;
        int32_t r = spl_sets_root(root, h); /* the lowest of its set, so it is numbered first */
        if (stuff_is_real(s, s->link[h]))
            s->copy[h] = s->link[h];
        else if (front[r] >= 0)
            s->copy[h] = front[r];
        else
            s->copy[h] = r == h ? count++ : s->copy[r];
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
    supple_result result = SUPPLE_OK;
    if (root && front && s->copy) {
        for (size_t h = 0; h < half_edges; h++) root[h] = (int32_t)h;
        join_half_edges(s, root);
        find_fronts(s, root, front);
        result = separate_faces(s, root, front, error);
        s->copy_count = number_copies(s, root, front);
        s->position = spl_new(s->a, (size_t)s->copy_count, sizeof *s->position);
        s->side = spl_new(s->a, (size_t)s->copy_count, sizeof *s->side);
        s->owner = spl_new(s->a, (size_t)s->copy_count, sizeof *s->owner);
    }
    spl_free(s->a, root);
    spl_free(s->a, front);
    if (result != SUPPLE_OK) return result;
    if (!s->position || !s->side || !s->owner) return spl_fail_memory(error, "the virtual lattice");
    for (int32_t i = s->node_count; i < s->copy_count; i++) s->side[i] = SIDE_OUT;
    for (int32_t n = 0; n < s->node_count; n++) {
        int32_t c[3];
        spl_lattice_coordinates(&s->lattice, s->node[n].point, c);
        s->position[n] = spl_lattice_point(&s->lattice, c);
        s->side[n] = s->node[n].front ? SIDE_ON : SIDE_IN;
        s->owner[n] = n;
        for (int d = 0; d < SPL_DIRECTIONS && stuff_is_real(s, n); d++) {
            size_t h = SPL_DIRECTIONS * (size_t)n + (size_t)d;
            int32_t copy = s->copy[h];
            if (copy < s->node_count) continue;
            s->position[copy] = place_copy(s, n, d);
            s->owner[copy] = n;
            if (s->link[h] < 0) continue;
            /* A front's own copy for this limb, a little off the others', so that nobody welds them together. */
            s->side[copy] = SIDE_ON;
            s->position[copy] = spl_lerp(s->position[copy], s->position[n], 0.03);
        }
    }
    return SUPPLE_OK;
}
