/* Normal displacement (Botsch and Sorkine 2008), as Projective Skinning upsampled: a visual vertex is a point of the
 * body's surface, moved along the normal that is interpolated there. The baseline that moving least squares is compared
 * with: the surface's facets show where it bends. */
#include "body/upsample_map.h"

#include <math.h>
#include <string.h>

enum { TRIES = 24, STRIDE = SPL_UPSAMPLE_STRIDE };

/* Where the line through x along n meets a triangle's plane, as barycentrics; false if it hardly does. */
static bool meet(const spl_surface *s, int32_t triangle, spl_vec3 x, spl_vec3 n, double bary[3])
{
    const int32_t *c = s->triangle + 3 * (size_t)triangle;
    spl_vec3 p = s->position[c[0]], u = spl_sub(s->position[c[1]], p), v = spl_sub(s->position[c[2]], p);
    spl_vec3 d = spl_sub(x, p), normal = spl_cross(u, v);
    double area = spl_dot(normal, n); /* of the triangle, seen along n */
    if (!(fabs(area) > 0.05 * spl_norm(normal))) return false;
    bary[1] = spl_dot(spl_cross(d, v), n) / area;
    bary[2] = spl_dot(spl_cross(u, d), n) / area;
    bary[0] = 1 - bary[1] - bary[2];
    return isfinite(bary[1]) && isfinite(bary[2]);
}

/* The triangle over the edge that a point outside is beyond, or this one if there is none. */
static int32_t beyond(const spl_surface *s, int32_t triangle, const double bary[3])
{
    int least = bary[0] <= bary[1] && bary[0] <= bary[2] ? 0 : bary[1] <= bary[2] ? 1 : 2;
    int32_t next = s->across[3 * (size_t)triangle + (size_t)((least + 1) % 3)]; /* the edge opposite that corner */
    return next >= 0 ? next : triangle;
}

spl_place spl_upsample_normal_base(const spl_surface *s, const spl_place *nearest, spl_vec3 x, double *lift)
{
    spl_place at = *nearest, best = *nearest;
    double least = INFINITY;
    for (int i = 0; i < TRIES; i++) { /* a fixed point: the foot of x along the normal at the foot */
        spl_vec3 n = spl_surface_normal(s, &at), off = spl_sub(x, spl_surface_point(s, &at));
        double along = spl_dot(off, n), miss = spl_norm(spl_madd(off, n, -along));
        if (miss < least) {
            least = miss;
            best = at;
            *lift = along;
        }
        double bary[3], sum = 0;
        if (!meet(s, at.triangle, x, n, bary)) break;
        int32_t next = fmin(bary[0], fmin(bary[1], bary[2])) < 0 ? beyond(s, at.triangle, bary) : at.triangle;
        if (next != at.triangle) {
            at.triangle = next;
            if (!meet(s, next, x, n, bary)) break;
        }
        for (int k = 0; k < 3; k++) sum += at.bary[k] = fmax(0, bary[k]);
        for (int k = 0; k < 3; k++) at.bary[k] /= sum;
    }
    return best;
}

void spl_upsample_lift(const spl_upsample *u, const spl_upsample_frame *f, const spl_upsample_target *to, size_t begin,
                       size_t end)
{
    for (size_t v = begin; v < end; v++) {
        const spl_upsample_vertex *vertex = &u->vertex[v];
        if (vertex->count == 0 || u->lift[v] == 0) continue;
        float n[3] = {0}, p[3], *at = (float *)(void *)((char *)to->position + v * to->position_stride);
        for (uint32_t k = 0; k < vertex->count; k++)
            for (size_t i = 0; i < 3; i++)
                n[i] += u->weight[vertex->first + k] * f->point[u->index[vertex->first + k] + SPL_UPSAMPLE_NORMAL + i];
        float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        memcpy(p, at, sizeof p);
        for (size_t i = 0; length > 0 && i < 3; i++) p[i] += u->lift[v] * n[i] / length;
        memcpy(at, p, sizeof p);
    }
}
