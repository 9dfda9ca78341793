#include "body/frame.h"

#include "math/svd3.h"

#define EQUAL_SPREAD 1.02 /* spreads closer than this are equal */
#define FARTHER      1e-6 /* relative: ties go to the vertex that comes first */

static spl_vec3 centroid_of(const spl_surface *s)
{
    spl_vec3 sum = {0};
    double area = 0;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangle + 3 * (size_t)t;
        spl_vec3 a = s->position[c[0]], b = s->position[c[1]], d = s->position[c[2]];
        double w = spl_norm(spl_cross(spl_sub(b, a), spl_sub(d, a)));
        sum = spl_madd(sum, spl_add(spl_add(a, b), d), w / 3);
        area += w;
    }
    return area > 0 ? spl_scale(sum, 1 / area) : spl_scale(spl_add(s->low, s->high), 0.5);
}

/* Second moments of the surface about its centroid: exact over each triangle. */
static spl_mat3 moments_of(const spl_surface *s, spl_vec3 centre)
{
    spl_mat3 sum = {{0}};
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *c = s->triangle + 3 * (size_t)t;
        spl_vec3 p[3], mean = {0};
        for (int k = 0; k < 3; k++) {
            p[k] = spl_sub(s->position[c[k]], centre);
            mean = spl_add(mean, p[k]);
        }
        double w = spl_norm(spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0])));
        for (int k = 0; k < 4; k++) {
            spl_vec3 q = k < 3 ? p[k] : mean;
            spl_mat3 outer = spl_mat3_outer(q, q);
            outer = spl_mat3_scale(&outer, w / 12);
            sum = spl_mat3_add(&sum, &outer);
        }
    }
    return sum;
}

/* The direction, perpendicular to `across` (which may be zero), to the vertex farthest from the centre in it. */
static spl_vec3 farthest(const spl_surface *s, spl_vec3 centre, spl_vec3 across)
{
    spl_vec3 best = {0};
    double most = 0;
    for (int32_t i = 0; i < s->vertex_count; i++) {
        spl_vec3 d = spl_sub(s->position[i], centre);
        d = spl_madd(d, across, -spl_dot(d, across));
        if (spl_norm(d) > most * (1 + FARTHER)) {
            most = spl_norm(d);
            best = d;
        }
    }
    spl_vec3 any = fabs(across.x) < 0.9 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0);
    any = spl_madd(any, across, -spl_dot(any, across));
    return spl_unit(best, spl_unit(any, spl_v3(1, 0, 0)));
}

/* The axis turned towards the vertex farthest along it. The decomposition leaves signs to chance, and where limbs are
 * grown a lattice seen from behind gives other tetrahedra. */
static spl_vec3 towards_farthest(const spl_surface *s, spl_vec3 centre, spl_vec3 axis)
{
    double along = 0;
    for (int32_t i = 0; i < s->vertex_count; i++) {
        double d = spl_dot(spl_sub(s->position[i], centre), axis);
        if (fabs(d) > fabs(along) * (1 + FARTHER)) along = d;
    }
    return spl_scale(axis, along < 0 ? -1 : 1);
}

spl_frame_of_body spl_frame_find(const spl_surface *s)
{
    spl_frame_of_body f = {.centre = centroid_of(s), .size = s->diagonal > 0 ? s->diagonal : 1};
    spl_mat3 moments = moments_of(s, f.centre), U, V;
    double spread[3];
    spl_svd3(&moments, &U, spread, &V);
    for (int k = 0; k < 3; k++) f.axis[k] = spl_mat3_column(&U, k);
    bool first = spread[0] <= EQUAL_SPREAD * spread[1], second = spread[1] <= EQUAL_SPREAD * spread[2];
    if (first && second) {
        f.axis[0] = farthest(s, f.centre, spl_v3(0, 0, 0));
        f.axis[1] = farthest(s, f.centre, f.axis[0]);
    } else if (first) {
        f.axis[0] = farthest(s, f.centre, f.axis[2]);
        f.axis[1] = spl_cross(f.axis[2], f.axis[0]);
    } else if (second)
        f.axis[1] = farthest(s, f.centre, f.axis[0]);
    for (int k = 0; k < 2; k++) f.axis[k] = towards_farthest(s, f.centre, f.axis[k]);
    f.axis[2] = spl_cross(f.axis[0], f.axis[1]);
    return f;
}

spl_vec3 spl_frame_into(const spl_frame_of_body *f, spl_vec3 p)
{
    spl_vec3 d = spl_scale(spl_sub(p, f->centre), 1 / f->size);
    return spl_v3(spl_dot(d, f->axis[0]), spl_dot(d, f->axis[1]), spl_dot(d, f->axis[2]));
}

spl_vec3 spl_frame_back(const spl_frame_of_body *f, spl_vec3 p)
{
    spl_vec3 d = spl_madd(spl_madd(spl_scale(f->axis[0], p.x), f->axis[1], p.y), f->axis[2], p.z);
    return spl_madd(f->centre, d, f->size);
}
