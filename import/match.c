/* Which control point each vertex of the importing library is.
 *
 * The library gives every corner of every polygon a vertex of its own, polygons in file order, but apart by material.
 * So the polygons of one of its meshes are a subsequence of the file's, which is found by comparing positions. */
#include "convert.h"

#include <math.h>
#include <stdlib.h>

/* The library's own parser of decimal numbers is not exact. */
#define TOLERANCE 2e-6

static double extent(const spl_surface *s)
{
    double most = 0;
    for (size_t i = 0; i < 3 * (size_t)s->point_count; i++) most = fmax(most, fabs(s->point[i]));
    return most;
}

static bool face_fits(const struct aiMesh *mesh, const struct aiFace *face, const spl_surface *s, int32_t polygon,
                      double tolerance)
{
    int32_t first = s->first[polygon];
    if (s->first[polygon + 1] - first != (int32_t)face->mNumIndices) return false;
    for (unsigned k = 0; k < face->mNumIndices; k++) {
        const struct aiVector3D *v = &mesh->mVertices[face->mIndices[k]];
        const double *p = s->point + 3 * (size_t)s->corner[first + (int32_t)k];
        if (!(fabs((double)v->x - p[0]) <= tolerance && fabs((double)v->y - p[1]) <= tolerance &&
              fabs((double)v->z - p[2]) <= tolerance))
            return false;
    }
    return true;
}

static bool match_mesh(const struct aiMesh *mesh, const spl_surface *s, double tolerance, bool *used, int32_t *point)
{
    int32_t polygon = 0;
    for (unsigned v = 0; v < mesh->mNumVertices; v++) point[v] = -1;
    for (unsigned f = 0; f < mesh->mNumFaces; f++) {
        const struct aiFace *face = &mesh->mFaces[f];
        while (polygon < s->polygon_count && (used[polygon] || !face_fits(mesh, face, s, polygon, tolerance)))
            polygon++;
        if (polygon == s->polygon_count) return false;
        used[polygon] = true;
        for (unsigned k = 0; k < face->mNumIndices; k++)
            point[face->mIndices[k]] = s->corner[s->first[polygon] + (int32_t)k];
    }
    for (unsigned v = 0; v < mesh->mNumVertices; v++)
        if (point[v] < 0) return false;
    return true;
}

static void free_points(int32_t **points, unsigned count)
{
    for (unsigned i = 0; i < count; i++) free(points[i]);
    free(points);
}

static int32_t **match_surface(const import_state *s, const struct aiNode *node, const spl_surface *surface)
{
    int32_t **points = import_new(node->mNumMeshes, sizeof *points);
    bool *used = import_new((size_t)surface->polygon_count, sizeof *used), ok = true;
    double tolerance = TOLERANCE * extent(surface);
    for (unsigned i = 0; ok && i < node->mNumMeshes; i++) {
        const struct aiMesh *mesh = s->scene->mMeshes[node->mMeshes[i]];
        points[i] = import_new(mesh->mNumVertices, sizeof **points);
        ok = match_mesh(mesh, surface, tolerance, used, points[i]);
    }
    free(used);
    if (ok) return points;
    free_points(points, node->mNumMeshes);
    return NULL;
}

int32_t **import_match(import_state *s, const struct aiNode *node, const spl_surface **surface)
{
    uint64_t faces = 0;
    for (unsigned i = 0; i < node->mNumMeshes; i++) faces += s->scene->mMeshes[node->mMeshes[i]]->mNumFaces;
    for (int32_t k = 0; k < s->points.surface_count; k++) {
        *surface = &s->points.surface[k];
        if (faces > (uint64_t)(*surface)->polygon_count) continue;
        int32_t **points = match_surface(s, node, *surface);
        if (points) return points;
    }
    *surface = NULL;
    return NULL;
}
