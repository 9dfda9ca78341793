/* Pieces of the stuffed body: which are kept, and leaving out the rest. */
#include "body/flesh_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <string.h>

/* Pieces of the tetrahedra, connected over shared vertices, numbered by their lowest vertex. */
static supple_result find_pieces(flesh *f, supple_error *error)
{
    const spl_tets *t = &f->tets;
    size_t n = (size_t)t->vertex_count;
    spl_free(f->a, f->piece);
    f->piece = spl_new(f->a, n, sizeof *f->piece);
    int32_t *root = spl_new(f->a, n, sizeof *root);
    if (!f->piece || !root) {
        spl_free(f->a, root);
        return spl_fail_memory(error, "the body's pieces");
    }
    for (size_t i = 0; i < n; i++) root[i] = (int32_t)i;
    for (size_t i = 0; i < 4 * (size_t)t->tet_count; i++) spl_sets_join(root, t->tet[i & ~(size_t)3], t->tet[i]);
    f->piece_count = 0;
    for (size_t i = 0; i < n; i++) { /* a root comes before its members */
        int32_t r = spl_sets_root(root, (int32_t)i);
        f->piece[i] = r == (int32_t)i ? f->piece_count++ : f->piece[r];
    }
    spl_free(f->a, root);
    return SUPPLE_OK;
}

/* Keeps the largest piece of each component of the surface: parts that do not touch are several bodies, what is left
 * over are crumbs. A piece belongs to the components that its vertices' places are on. */
static supple_result judge_pieces(flesh *f, supple_error *error)
{
    const spl_tets *t = &f->tets;
    size_t pieces = (size_t)f->piece_count, components = (size_t)f->surface.component_count;
    double *volume = spl_new(f->a, pieces, sizeof *volume);
    int32_t *largest = spl_new(f->a, components, sizeof *largest); /* piece + 1 */
    spl_free(f->a, f->keep);
    f->keep = spl_new(f->a, pieces, sizeof *f->keep);
    bool made = volume && largest && f->keep;
    for (int32_t i = 0; made && i < t->tet_count; i++) volume[f->piece[t->tet[4 * (size_t)i]]] += spl_tets_volume(t, i);
    for (int32_t v = 0; made && v < t->vertex_count; v++) {
        if (f->place[v].triangle < 0) continue;
        int32_t *best = &largest[f->surface.component[f->place[v].triangle]];
        if (!*best || volume[f->piece[v]] > volume[*best - 1]) *best = f->piece[v] + 1;
    }
    for (size_t c = 0; made && c < components; c++)
        if (largest[c]) f->keep[largest[c] - 1] = true;
    spl_free(f->a, volume);
    spl_free(f->a, largest);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the body's pieces");
}

supple_result spl_flesh_pieces(flesh *f, supple_error *error)
{
    supple_result result = find_pieces(f, error);
    return result == SUPPLE_OK ? judge_pieces(f, error) : result;
}

/* Leaves out the pieces that are not kept and the vertices that only they used. */
supple_result spl_flesh_drop_crumbs(flesh *f, supple_error *error)
{
    spl_tets *t = &f->tets;
    int32_t *number = spl_new(f->a, (size_t)t->vertex_count, sizeof *number), vertices = 0, tets = 0;
    if (!number) return spl_fail_memory(error, "the body's pieces");
    for (int32_t i = 0; i < t->tet_count; i++) {
        if (!f->keep[f->piece[t->tet[4 * (size_t)i]]]) continue;
        memmove(t->tet + 4 * (size_t)tets++, t->tet + 4 * (size_t)i, 4 * sizeof *t->tet);
    }
    f->report.crumbs = t->tet_count - tets;
    t->tet_count = tets;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        number[v] = vertices;
        if (!f->keep[f->piece[v]]) continue;
        t->position[vertices] = t->position[v];
        f->place[vertices++] = f->place[v];
    }
    t->vertex_count = vertices;
    for (size_t i = 0; i < 4 * (size_t)tets; i++) t->tet[i] = number[t->tet[i]];
    for (int32_t p = 0; p < f->piece_count; p++) f->report.component_count += f->keep[p];
    spl_free(f->a, number);
    return spl_tets_find_surface(t, error);
}
