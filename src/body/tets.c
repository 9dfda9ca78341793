#include "body/tets.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

const uint8_t spl_tet_face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

bool spl_tets_create(spl_tets *tets, int32_t vertex_count, int32_t tet_count, const supple_allocator *a)
{
    *tets = (spl_tets){.vertex_count = vertex_count, .tet_count = tet_count, .allocator = *a};
    tets->position = spl_new(a, (size_t)vertex_count, sizeof *tets->position);
    tets->tet = spl_new(a, (size_t)tet_count, 4 * sizeof *tets->tet);
    if (tets->position && tets->tet) return true;
    spl_tets_release(tets);
    return false;
}

void spl_tets_release(spl_tets *tets)
{
    if (tets->position) spl_free(&tets->allocator, tets->position);
    if (tets->tet) spl_free(&tets->allocator, tets->tet);
    if (tets->surface) spl_free(&tets->allocator, tets->surface);
    *tets = (spl_tets){0};
}

double spl_tets_volume(const spl_tets *tets, int32_t tet)
{
    const int32_t *v = tets->tet + 4 * (size_t)tet;
    const spl_vec3 *x = tets->position;
    spl_vec3 a = spl_sub(x[v[1]], x[v[0]]), b = spl_sub(x[v[2]], x[v[0]]), c = spl_sub(x[v[3]], x[v[0]]);
    return spl_dot(spl_cross(a, b), c) / 6;
}

/* ---- faces ------------------------------------------------------------------------------------------------------ */

static void sorted_corners(const int32_t *tet, int opposite, int32_t out[3])
{
    int32_t a = tet[spl_tet_face[opposite][0]], b = tet[spl_tet_face[opposite][1]], c = tet[spl_tet_face[opposite][2]];
    int32_t low = a < b ? a : b, high = a < b ? b : a;
    out[0] = c < low ? c : low;
    out[2] = c > high ? c : high;
    out[1] = c < low ? low : c > high ? high : c;
}

/* One pass of a radix sort: orders `from` by corner `digit` into `to`, stably. `start` has vertex_count + 1 entries. */
static void sort_pass(const spl_tet_faces *faces, int digit, const int32_t *from, int32_t *to, int32_t *start,
                      int32_t vertex_count)
{
    memset(start, 0, ((size_t)vertex_count + 1) * sizeof *start);
    for (int32_t i = 0; i < faces->count; i++) start[faces->corner[3 * (size_t)i + (size_t)digit] + 1]++;
    for (int32_t i = 0; i < vertex_count; i++) start[i + 1] += start[i];
    for (int32_t i = 0; i < faces->count; i++)
        to[start[faces->corner[3 * (size_t)from[i] + (size_t)digit]]++] = from[i];
}

/* Three counting passes, by the largest, middle and smallest vertex: linear whatever the mesh, where a hash table could
 * be driven into collisions by a file, and pairwise search by many tets around one vertex. */
supple_result spl_tet_faces_create(spl_tet_faces *faces, const spl_tets *tets, supple_error *error)
{
    const supple_allocator *a = &tets->allocator;
    *faces = (spl_tet_faces){.allocator = *a};
    if (tets->tet_count > INT32_MAX / 4)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%d tets are more than can be handled", (int)tets->tet_count);
    faces->count = 4 * tets->tet_count;
    size_t n = (size_t)faces->count;
    int32_t *other = spl_new(a, n, sizeof *other);
    int32_t *start = spl_new(a, (size_t)tets->vertex_count + 1, sizeof *start);
    faces->corner = spl_new(a, n, 3 * sizeof *faces->corner);
    faces->order = spl_new(a, n, sizeof *faces->order);
    bool ok = other && start && faces->corner && faces->order;
    for (int32_t i = 0; ok && i < faces->count; i++) {
        sorted_corners(tets->tet + 4 * (size_t)(i / 4), i % 4, faces->corner + 3 * (size_t)i);
        other[i] = i;
    }
    if (ok) {
        sort_pass(faces, 2, other, faces->order, start, tets->vertex_count);
        sort_pass(faces, 1, faces->order, other, start, tets->vertex_count);
        sort_pass(faces, 0, other, faces->order, start, tets->vertex_count);
    }
    spl_free(a, other);
    spl_free(a, start);
    if (ok) return SUPPLE_OK;
    spl_tet_faces_release(faces);
    return spl_fail_memory(error, "the faces of the tets");
}

void spl_tet_faces_release(spl_tet_faces *faces)
{
    if (faces->corner) spl_free(&faces->allocator, faces->corner);
    if (faces->order) spl_free(&faces->allocator, faces->order);
    *faces = (spl_tet_faces){0};
}

int32_t spl_tet_faces_group_end(const spl_tet_faces *faces, int32_t begin)
{
    const int32_t *first = faces->corner + 3 * (size_t)faces->order[begin];
    int32_t end = begin + 1;
    while (end < faces->count && memcmp(first, faces->corner + 3 * (size_t)faces->order[end], 3 * sizeof *first) == 0)
        end++;
    return end;
}

/* ---- the surface ------------------------------------------------------------------------------------------------ */

supple_result spl_tets_find_surface(spl_tets *tets, supple_error *error)
{
    spl_tet_faces faces;
    supple_result result = spl_tet_faces_create(&faces, tets, error);
    if (result) return result;
    /* The corners have served once a face is known to be inner: its first one marks it, so that the walk below can go
     * in the order of the tets. */
    int32_t count = 0;
    for (int32_t i = 0, end; i < faces.count; i = end) {
        end = spl_tet_faces_group_end(&faces, i);
        if (end - i == 1) count++;
        for (int32_t j = i; end - i > 1 && j < end; j++) faces.corner[3 * (size_t)faces.order[j]] = -1;
    }
    int32_t *surface = spl_new(&tets->allocator, (size_t)count, 3 * sizeof *surface), *next = surface;
    for (int32_t f = 0; surface && f < faces.count; f++) {
        if (faces.corner[3 * (size_t)f] < 0) continue;
        for (int k = 0; k < 3; k++) *next++ = tets->tet[4 * (size_t)(f / 4) + spl_tet_face[f % 4][k]];
    }
    spl_tet_faces_release(&faces);
    if (!surface) return spl_fail_memory(error, "the surface of the tets");
    if (tets->surface) spl_free(&tets->allocator, tets->surface);
    tets->surface = surface;
    tets->surface_count = count;
    return SUPPLE_OK;
}

/* ---- quality ---------------------------------------------------------------------------------------------------- */

static const uint8_t edge_corner[6][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2},
                                          {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}};

/* The angle at edge ab between the faces abc and abd. Their normals m, n have m x n = |det| e along the edge e, so the
 * sine needs no second cross product. */
static double dihedral(spl_vec3 a, spl_vec3 b, spl_vec3 c, spl_vec3 d, double edge, double det)
{
    spl_vec3 e = spl_sub(b, a), m = spl_cross(e, spl_sub(c, a)), n = spl_cross(e, spl_sub(d, a));
    return atan2(edge * fabs(det), spl_dot(m, n)) * (180 / 3.14159265358979323846);
}

static void add_tet(spl_tets_shape *shape, const spl_tets *tets, int32_t t)
{
    const int32_t *v = tets->tet + 4 * (size_t)t;
    const spl_vec3 *x = tets->position;
    double volume = spl_tets_volume(tets, t);
    shape->volume += volume;
    if (!(volume > 0)) shape->inverted_count++;
    if (shape->min_volume_tet < 0 || volume < shape->min_volume) {
        shape->min_volume = volume;
        shape->min_volume_tet = t;
    }
    for (int i = 0; i < 6; i++) {
        const uint8_t *k = edge_corner[i];
        double edge = spl_distance(x[v[k[0]]], x[v[k[1]]]);
        double angle = dihedral(x[v[k[0]]], x[v[k[1]]], x[v[k[2]]], x[v[k[3]]], edge, 6 * volume);
        shape->mean_edge += edge;
        shape->min_edge = fmin(shape->min_edge, edge);
        shape->max_edge = fmax(shape->max_edge, edge);
        shape->max_dihedral = fmax(shape->max_dihedral, angle);
        if (angle < shape->min_dihedral) {
            shape->min_dihedral = angle;
            shape->min_dihedral_tet = t;
        }
        int bin = angle >= 0 ? (int)fmin(angle / 10, 17) : 0;
        shape->dihedral_histogram[bin]++;
    }
}

spl_tets_shape spl_tets_quality(const spl_tets *tets)
{
    spl_tets_shape shape = {.min_dihedral = 180, .min_edge = INFINITY, .min_dihedral_tet = -1, .min_volume_tet = -1};
    for (int32_t t = 0; t < tets->tet_count; t++) add_tet(&shape, tets, t);
    if (tets->tet_count == 0) return (spl_tets_shape){.min_dihedral_tet = -1, .min_volume_tet = -1};
    shape.mean_edge /= 6.0 * tets->tet_count;
    return shape;
}
