/* Patches of tets: a piece of the local step grows from a vertex, star by star, until it is full; the next one begins
 * where the tets around the earliest vertices are not all taken yet, so that no crumbs are left behind. Prisms come
 * out with 120 to 160 vertices a piece of 256 tets. */
#include "core/memory.h"
#include "methods/projective/local.h"

enum {
    PIECE = 8 * SPL_LOCAL_PIECE,
    QUEUE = 5 * PIECE, /* four corners a tet, and seeds */
};

typedef struct patches {
    const int32_t *corner;          /* of the mesh's tets */
    const int32_t *tet;             /* the list as it was */
    size_t *first;                  /* by vertex, and one more: its tets in `at` */
    int32_t *at;                    /* numbers in the list */
    bool *taken;                    /* by number */
    int32_t *stamp;                 /* by vertex: the last piece that has it, from 1 */
    int32_t *reached;               /* vertices in the order in which they were reached */
    size_t reached_count, earliest; /* of those, the first that may have tets left */
    int32_t queue[QUEUE];
    size_t head, tail;
} patches;

static void find_stars(patches *p, size_t count, size_t vertices)
{
    for (size_t i = 0; i < 4 * count; i++) p->first[p->corner[4 * (size_t)p->tet[i / 4] + i % 4] + 1]++;
    for (size_t v = 0; v < vertices; v++) p->first[v + 1] += p->first[v];
    p->first[vertices + 1] = 4 * count;
    for (size_t i = 4 * count; i-- > 0;) { /* from the end of each, which moves to its beginning */
        int32_t v = p->corner[4 * (size_t)p->tet[i / 4] + i % 4];
        p->at[--p->first[v + 1]] = (int32_t)(i / 4);
    }
}

static bool has_left(const patches *p, int32_t v)
{
    for (size_t i = p->first[v + 1]; i < p->first[v + 2]; i++)
        if (!p->taken[p->at[i]]) return true;
    return false;
}

static void reach(patches *p, int32_t v, int32_t piece)
{
    if (p->stamp[v] == piece) return;
    if (p->stamp[v] == 0) p->reached[p->reached_count++] = v;
    p->stamp[v] = piece;
    p->queue[p->tail++] = v;
}

/* The earliest vertex that has tets left; else one of the first tet that is. */
static int32_t next_seed(patches *p, size_t *first_left)
{
    while (p->earliest < p->reached_count && !has_left(p, p->reached[p->earliest])) p->earliest++;
    if (p->earliest < p->reached_count) return p->reached[p->earliest];
    while (p->taken[*first_left]) ++*first_left;
    return p->corner[4 * (size_t)p->tet[*first_left]];
}

/* Takes what is left around a vertex while there is room; returns how many. */
static size_t take_star(patches *p, int32_t v, int32_t piece, int32_t *out, size_t room)
{
    size_t count = 0;
    for (size_t i = p->first[v + 1]; i < p->first[v + 2] && count < room; i++) {
        int32_t k = p->at[i];
        if (p->taken[k]) continue;
        p->taken[k] = true;
        out[count++] = p->tet[k];
        for (size_t c = 0; c < 4; c++) reach(p, p->corner[4 * (size_t)p->tet[k] + c], piece);
    }
    return count;
}

static void grow(patches *p, int32_t *out, size_t count)
{
    size_t first_left = 0;
    for (size_t done = 0, piece = 1; done < count; piece++) {
        size_t end = count - done < PIECE ? count : done + PIECE;
        p->head = p->tail = 0;
        while (done < end) {
            int32_t v = p->head < p->tail ? p->queue[p->head++] : next_seed(p, &first_left);
            done += take_star(p, v, (int32_t)piece, out + done, end - done);
        }
    }
}

bool spl_local_order(const spl_elements *e, int32_t *tet, size_t count, const supple_allocator *a)
{
    size_t vertices = (size_t)e->vertex_count;
    patches *p = spl_new(a, 1, sizeof *p);
    int32_t *copy = spl_new(a, count, sizeof *copy);
    size_t *first = spl_new(a, vertices + 2, sizeof *first);
    int32_t *at = spl_new(a, 4 * count, sizeof *at), *stamp = spl_new(a, vertices, sizeof *stamp);
    int32_t *reached = spl_new(a, vertices, sizeof *reached);
    bool *taken = spl_new(a, count, sizeof *taken), done = p && copy && first && at && stamp && reached && taken;
    if (done) {
        memcpy(copy, tet, count * sizeof *copy);
        *p = (patches){.corner = e->tet, .tet = copy, .first = first, .at = at, .taken = taken, .stamp = stamp};
        p->reached = reached;
        find_stars(p, count, vertices);
        grow(p, tet, count);
    }
    void *blocks[] = {p, copy, first, at, stamp, reached, taken};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
    return done;
}
