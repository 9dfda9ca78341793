/* Judging tets that came from outside: see spl_tets_check. */
#include "body/tets.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <string.h>

static const double FLAT = 1e-9;     /* of the longest edge cubed: below it a tet has no direction to its volume */
static const double LARGEST = 1e100; /* coordinates beyond it overflow in the determinant */

static supple_result check_indices(const spl_tets *tets, const char *name, supple_error *error)
{
    for (int32_t t = 0; t < tets->tet_count; t++) {
        const int32_t *v = tets->tet + 4 * (size_t)t;
        for (int i = 0; i < 4; i++) {
            if (v[i] < 0 || v[i] >= tets->vertex_count)
                return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: tet %d: vertex %lld is not between 1 and %d", name,
                                (int)t + 1, (long long)v[i] + 1, (int)tets->vertex_count);
            for (int j = 0; j < i; j++)
                if (v[i] == v[j])
                    return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: tet %d uses vertex %d twice", name, (int)t + 1,
                                    (int)v[i] + 1);
        }
    }
    return SUPPLE_OK;
}

static supple_result check_positions(const spl_tets *tets, const char *name, supple_error *error)
{
    for (int32_t i = 0; i < tets->vertex_count; i++) {
        spl_vec3 x = tets->position[i];
        if (!(fabs(x.x) <= LARGEST && fabs(x.y) <= LARGEST && fabs(x.z) <= LARGEST))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: vertex %d: (%g, %g, %g) is not a usable position", name,
                            (int)i + 1, x.x, x.y, x.z);
    }
    return SUPPLE_OK;
}

static double longest_edge(const spl_tets *tets, const int32_t *v)
{
    double longest = 0;
    for (int i = 1; i < 4; i++)
        for (int j = 0; j < i; j++) longest = fmax(longest, spl_distance(tets->position[v[i]], tets->position[v[j]]));
    return longest;
}

/* Makes every volume positive; refuses those that have none. */
static supple_result orient(spl_tets *tets, const char *name, int32_t *reoriented, supple_error *error)
{
    *reoriented = 0;
    for (int32_t t = 0; t < tets->tet_count; t++) {
        int32_t *v = tets->tet + 4 * (size_t)t;
        double det = 6 * spl_tets_volume(tets, t), longest = longest_edge(tets, v);
        if (!(fabs(det) > FLAT * longest * longest * longest))
            return spl_fail(error, SUPPLE_ERROR_INPUT,
                            "%s: tet %d (vertices %d %d %d %d) is flat: its volume is %g; remove or remesh it", name,
                            (int)t + 1, (int)v[0] + 1, (int)v[1] + 1, (int)v[2] + 1, (int)v[3] + 1, det / 6);
        if (det > 0) continue;
        int32_t last = v[3];
        v[3] = v[2];
        v[2] = last;
        (*reoriented)++;
    }
    return SUPPLE_OK;
}

/* ---- neighbours ------------------------------------------------------------------------------------------------- */

/* Whether the outward face, as its tet lists it, is an odd permutation of its sorted corners. Two tets on the two sides
 * of a face list it with different parity; their volumes being positive, equal parity means the same side. */
static bool odd_face(const spl_tets *tets, int32_t face)
{
    const int32_t *v = tets->tet + 4 * (size_t)(face / 4);
    int32_t a = v[spl_tet_face[face % 4][0]], b = v[spl_tet_face[face % 4][1]], c = v[spl_tet_face[face % 4][2]];
    return (a > b) ^ (b > c) ^ (a > c);
}

static supple_result check_pair(const spl_tets *tets, int32_t f, int32_t g, int32_t count, const char *name,
                                supple_error *error)
{
    int32_t s = f / 4, t = g / 4;
    if (tets->tet[f] == tets->tet[g]) /* the vertex opposite face 4 t + i is entry 4 t + i of the tets */
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: tet %d is tet %d again; remove one of them", name, (int)t + 1,
                        (int)s + 1);
    if (count > 2)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "%s: tets %d and %d are among %d tets on one face, which has two sides only", name, (int)s + 1,
                        (int)t + 1, (int)count);
    if (odd_face(tets, f) == odd_face(tets, g))
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "%s: tets %d and %d lie on the same side of their common face: one of them is inverted", name,
                        (int)s + 1, (int)t + 1);
    return SUPPLE_OK;
}

static supple_result check_neighbours(const spl_tets *tets, const char *name, supple_error *error)
{
    spl_tet_faces faces;
    supple_result result = spl_tet_faces_create(&faces, tets, error);
    for (int32_t i = 0, end; !result && i < faces.count; i = end) {
        end = spl_tet_faces_group_end(&faces, i);
        if (end - i > 1) result = check_pair(tets, faces.order[i], faces.order[i + 1], end - i, name, error);
    }
    spl_tet_faces_release(&faces);
    return result;
}

/* ---- vertices --------------------------------------------------------------------------------------------------- */

/* Unused vertices keep -1. */
static void join_tets(const spl_tets *tets, int32_t *parent)
{
    for (int32_t i = 0; i < tets->vertex_count; i++) parent[i] = -1;
    for (size_t i = 0; i < 4 * (size_t)tets->tet_count; i++) parent[tets->tet[i]] = tets->tet[i];
    for (int32_t t = 0; t < tets->tet_count; t++) {
        const int32_t *v = tets->tet + 4 * (size_t)t;
        for (int i = 1; i < 4; i++) spl_sets_join(parent, v[0], v[i]);
    }
}

/* Drops vertices that no tet uses and counts the components; the order of the others stays. */
static supple_result settle_vertices(spl_tets *tets, spl_tets_report *report, supple_error *error)
{
    int32_t *parent = spl_new(&tets->allocator, (size_t)tets->vertex_count, sizeof *parent);
    if (!parent) return spl_fail_memory(error, "the components of the tets");
    join_tets(tets, parent);
    int32_t kept = 0;
    report->component_count = 0;
    for (int32_t i = 0; i < tets->vertex_count; i++) {
        if (parent[i] == i) report->component_count++;
        if (parent[i] < 0) continue;
        tets->position[kept] = tets->position[i];
        parent[i] = kept++; /* from here on its new number */
    }
    report->unused_vertices = tets->vertex_count - kept;
    if (report->unused_vertices)
        for (size_t i = 0; i < 4 * (size_t)tets->tet_count; i++) tets->tet[i] = parent[tets->tet[i]];
    tets->vertex_count = kept;
    spl_free(&tets->allocator, parent);
    return SUPPLE_OK;
}

supple_result spl_tets_check(spl_tets *tets, const char *name, spl_tets_report *report, supple_error *error)
{
    spl_tets_report unseen;
    if (!report) report = &unseen;
    *report = (spl_tets_report){0};
    if (tets->surface) spl_free(&tets->allocator, tets->surface);
    tets->surface = NULL;
    tets->surface_count = 0;
    if (tets->tet_count < 1) return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: there are no tetrahedra in it", name);
    supple_result result = check_indices(tets, name, error);
    if (!result) result = check_positions(tets, name, error);
    if (!result) result = orient(tets, name, &report->reoriented, error);
    if (!result) result = check_neighbours(tets, name, error);
    if (!result) result = settle_vertices(tets, report, error);
    return result;
}
