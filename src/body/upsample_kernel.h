/* What the kernels of both widths do with a visual vertex's sums. */
#ifndef SPL_BODY_UPSAMPLE_KERNEL_H
#define SPL_BODY_UPSAMPLE_KERNEL_H

#include "body/upsample_map.h"

#include <math.h>
#include <string.h>

/* The sums over a vertex's entries; the fourth float is padding. */
typedef struct spl_upsample_sums {
    float position[4], normal[4];
    float tangent[2][4]; /* of the patch, deformed; in use where there is a frame */
} spl_upsample_sums;

static inline void spl_cross_float(const float a[3], const float b[3], float c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline float spl_dot_float(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The rotation nearest to two deformed tangents that were orthonormal at rest: columns q[0], q[1] in their plane (with
 * n their normal, the polar decomposition in it is q[0] ~ t0 + t1 x n) and q[2] = n. Zero where the patch has
 * collapsed: it has no normal there, and offsets vanish. */
static inline void spl_upsample_frame_of(const float t[2][4], float q[3][3])
{
    float n[3], turned[3];
    spl_cross_float(t[0], t[1], n);
    float square = spl_dot_float(n, n), least = 1e-12F * spl_dot_float(t[0], t[0]) * spl_dot_float(t[1], t[1]);
    float scale = square > least && square > 1e-30F ? 1 / sqrtf(square) : 0;
    for (int i = 0; i < 3; i++) q[2][i] = n[i] * scale;
    spl_cross_float(t[1], q[2], turned);
    for (int i = 0; i < 3; i++) q[0][i] = t[0][i] + turned[i];
    float length = sqrtf(spl_dot_float(q[0], q[0]));
    scale = scale > 0 && length > 0 ? 1 / length : 0;
    for (int i = 0; i < 3; i++) q[0][i] *= scale;
    spl_cross_float(q[2], q[0], q[1]);
}

/* An offset r where the whole body is stretched by S: the frame's axes are those that S makes of the rest's, and the
 * offset S r in them. With deformed tangents R S t, R a rotation, the frame is R times that one, and the offset R S r.
 */
static inline void spl_upsample_stretch_offset(const float S[3][3], const spl_upsample_offset *offset, float r[3])
{
    float n[3], world[3], moved[3], t[2][4] = {{0}}, q[3][3];
    spl_cross_float(offset->rest[0], offset->rest[1], n);
    for (int i = 0; i < 3; i++) world[i] = offset->rest[0][i] * r[0] + offset->rest[1][i] * r[1] + n[i] * r[2];
    for (int i = 0; i < 3; i++) { /* S is symmetric */
        moved[i] = spl_dot_float(S[i], world);
        for (int a = 0; a < 2; a++) t[a][i] = spl_dot_float(S[i], offset->rest[a]);
    }
    spl_upsample_frame_of((const float(*)[4])t, q);
    for (int i = 0; i < 3; i++) r[i] = spl_dot_float(q[i], moved);
}

/* The displacement of a vertex in this frame; NULL where there is none. */
static inline const float *spl_upsample_delta(const float *delta, size_t v)
{
    if (!delta) return NULL;
    const float *d = delta + 3 * v;
    return d[0] != 0 || d[1] != 0 || d[2] != 0 ? d : NULL;
}

/* The offset that a vertex needs in this frame, or -1. */
static inline int32_t spl_upsample_offset_in_use(const spl_upsample *u, const spl_upsample_frame *f, size_t v)
{
    int32_t frame = u->vertex[v].frame;
    if (frame >= -1) return frame;
    bool displaced = spl_upsample_delta(f->delta, v) || spl_upsample_delta(f->normal_delta, v);
    return displaced ? -2 - frame : -1;
}

/* Adds a displacement in the axes of the frame at rest; in the world's without one. */
static inline void spl_upsample_displace(const spl_upsample_offset *offset, const float *delta, float r[3])
{
    float n[3];
    if (!offset || offset->tangent == SPL_UPSAMPLE_NO_TANGENT) {
        for (int i = 0; i < 3; i++) r[i] += delta[i];
        return;
    }
    spl_cross_float(offset->rest[0], offset->rest[1], n);
    r[0] += spl_dot_float(offset->rest[0], delta);
    r[1] += spl_dot_float(offset->rest[1], delta);
    r[2] += spl_dot_float(n, delta);
}

/* What a vertex carries in its frame: its offsets r_j and s_j, and displacements. `offset` is NULL for a vertex without
 * a frame, which has but displacements. */
static inline void spl_upsample_carried(const spl_upsample *u, const spl_upsample_frame *f, size_t v,
                                        const spl_upsample_offset *offset, float r[3], float s[3])
{
    const float *delta = spl_upsample_delta(f->delta, v), *normal_delta = spl_upsample_delta(f->normal_delta, v);
    for (size_t i = 0; i < 3; i++) {
        r[i] = offset ? offset->r[i] : 0;
        s[i] = offset && u->has_normals ? u->normal_offset[3 * v + i] : 0;
    }
    if (delta) spl_upsample_displace(offset, delta, r);
    if (normal_delta) spl_upsample_displace(offset, normal_delta, s);
    if (f->stretched && offset && offset->tangent != SPL_UPSAMPLE_NO_TANGENT)
        spl_upsample_stretch_offset((const float(*)[3])f->stretch, offset, r);
}

/* Adds what the vertex carries, to position and normal, and stores both. */
static inline void spl_upsample_finish(const spl_upsample *u, const spl_upsample_frame *f,
                                       const spl_upsample_target *to, size_t v, int32_t frame, spl_upsample_sums *sums)
{
    bool normals = to->normal && u->has_normals;
    if (frame >= 0 || spl_upsample_delta(f->delta, v) || spl_upsample_delta(f->normal_delta, v)) {
        const spl_upsample_offset *offset = frame >= 0 ? &u->offset[frame] : NULL;
        float q[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, r[3], s[3];
        if (offset && offset->tangent != SPL_UPSAMPLE_NO_TANGENT)
            spl_upsample_frame_of((const float(*)[4])sums->tangent, q);
        spl_upsample_carried(u, f, v, offset, r, s);
        for (int i = 0; i < 3; i++) sums->position[i] += q[0][i] * r[0] + q[1][i] * r[1] + q[2][i] * r[2];
        for (int i = 0; normals && i < 3; i++) sums->normal[i] += q[0][i] * s[0] + q[1][i] * s[1] + q[2][i] * s[2];
    }
    float p[3] = {sums->position[0] + f->origin[0], sums->position[1] + f->origin[1], sums->position[2] + f->origin[2]};
    memcpy((char *)to->position + v * to->position_stride, p, sizeof p);
    if (!normals) return;
    float square = spl_dot_float(sums->normal, sums->normal), scale = square > 1e-20F ? 1 / sqrtf(square) : 0;
    float n[3] = {sums->normal[0] * scale, sums->normal[1] * scale, scale > 0 ? sums->normal[2] * scale : 1};
    memcpy((char *)to->normal + v * to->normal_stride, n, sizeof n);
}

#endif
