#include "body/islands.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#define IN_LINE                                                                                                        \
    0.01 /* area of three supports, of the square of their longest distance, below which they are in line              \
          */

/* Arrays by tet are used at a piece's root, its lowest tet. */
typedef struct pieces {
    const spl_tets *tets;
    const int32_t *anchor;
    int32_t *parent;         /* by tet */
    int32_t *first, *second; /* by tet: supports found so far, or -1 */
    bool *firm;              /* by tet */
    bool *held;              /* by vertex: anchored, or of a firm piece */
} pieces;

static supple_result join_faces(pieces *p, const supple_allocator *a, supple_error *error)
{
    spl_tets tets = *p->tets; /* the same arrays; memory from ours */
    tets.allocator = *a;
    spl_tet_faces faces;
    supple_result result = spl_tet_faces_create(&faces, &tets, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0, end; i < faces.count; i = end) {
        end = spl_tet_faces_group_end(&faces, i);
        for (int32_t j = i + 1; j < end; j++) spl_sets_join(p->parent, faces.order[i] / 4, faces.order[j] / 4);
    }
    spl_tet_faces_release(&faces);
    return SUPPLE_OK;
}

/* ---- what is firm ---- */

/* Takes a held vertex as a support of a piece; true once there are three that are not in line. */
static bool support(pieces *p, int32_t piece, int32_t v)
{
    const spl_vec3 *x = p->tets->position;
    int32_t a = p->first[piece], b = p->second[piece];
    if (a < 0 || a == v) {
        p->first[piece] = v;
        return false;
    }
    if (b < 0 || b == v) {
        p->second[piece] = v;
        return false;
    }
    spl_vec3 u = spl_sub(x[b], x[a]), w = spl_sub(x[v], x[a]), s = spl_sub(x[v], x[b]);
    double longest = fmax(spl_dot(u, u), fmax(spl_dot(w, w), spl_dot(s, s)));
    return spl_norm(spl_cross(u, w)) / 2 > IN_LINE * longest;
}

/* One look at all pieces that are not firm yet; whether one became so. */
static bool find_firm(pieces *p)
{
    const spl_tets *t = p->tets;
    bool found = false;
    for (int32_t k = 0; k < t->tet_count; k++) {
        int32_t piece = spl_sets_root(p->parent, k);
        for (int i = 0; i < 4 && !p->firm[piece]; i++) {
            int32_t v = t->tet[4 * (size_t)k + (size_t)i];
            if (p->held[v] && support(p, piece, v)) found = p->firm[piece] = true;
        }
    }
    for (int32_t k = 0; found && k < t->tet_count; k++)
        for (size_t i = 0; p->firm[spl_sets_root(p->parent, k)] && i < 4; i++)
            p->held[t->tet[4 * (size_t)k + i]] = true;
    return found;
}

/* ---- what is not ---- */

/* The bone anchored nearest to a point of the rest shape. */
static int32_t nearest_bone(const pieces *p, spl_vec3 at)
{
    int32_t best = 0;
    double least = INFINITY;
    for (int32_t v = 0; v < p->tets->vertex_count; v++) {
        if (p->anchor[v] < 0) continue;
        double d = spl_distance(p->tets->position[v], at);
        if (d < least) {
            least = d;
            best = p->anchor[v];
        }
    }
    return best;
}

static void hang(pieces *p, int32_t *island, int32_t *count)
{
    const spl_tets *t = p->tets;
    for (int32_t v = 0; v < t->vertex_count; v++) island[v] = -1;
    for (int32_t k = 0; k < t->tet_count; k++) {
        int32_t piece = spl_sets_root(p->parent, k);
        if (p->firm[piece]) continue;
        const int32_t *corner = t->tet + 4 * (size_t)k;
        if (piece == k) { /* from here on `first` is the piece's bone */
            p->first[piece] = nearest_bone(p, t->position[corner[0]]);
            ++*count;
        }
        for (int i = 0; i < 4; i++)
            if (!p->held[corner[i]] && island[corner[i]] < 0) island[corner[i]] = p->first[piece];
    }
}

supple_result spl_islands_find(const spl_tets *tets, const int32_t *anchor, const supple_allocator *a, int32_t *island,
                               int32_t *count, supple_error *error)
{
    size_t n = (size_t)tets->vertex_count, m = (size_t)tets->tet_count;
    pieces p = {.tets = tets,
                .anchor = anchor,
                .parent = spl_new(a, m, sizeof *p.parent),
                .first = spl_new(a, m, sizeof *p.first),
                .second = spl_new(a, m, sizeof *p.second),
                .firm = spl_new(a, m, sizeof *p.firm),
                .held = spl_new(a, n, sizeof *p.held)};
    bool ok = p.parent && p.first && p.second && p.firm && p.held;
    supple_result result = ok ? SUPPLE_OK : spl_fail_memory(error, "the body's pieces");
    for (size_t k = 0; ok && k < m; k++) {
        p.parent[k] = (int32_t)k;
        p.first[k] = p.second[k] = -1;
    }
    for (size_t v = 0; ok && v < n; v++) p.held[v] = anchor[v] >= 0;
    if (ok) result = join_faces(&p, a, error);
    if (result == SUPPLE_OK) {
        while (find_firm(&p)) {
        }
        *count = 0;
        hang(&p, island, count);
    }
    spl_free(a, p.parent);
    spl_free(a, p.first);
    spl_free(a, p.second);
    spl_free(a, p.firm);
    spl_free(a, p.held);
    return result;
}
