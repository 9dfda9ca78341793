#include "rig/retarget_ground.h"

#include "math/mat3.h"

/* Share of the heights below the plane. Contact is where feet come again and again; single frames (a first frame in a
 * T-pose, a slip of the capture) must not lift or sink the whole motion, and a run is in the air for a third of it. */
#define SHARE    0.2
#define STEEPEST 0.026 /* 1.5 degrees; a walk of 3.5 m in the CMU data climbs by 1.4% */
enum { ROUNDS = 60 };

typedef struct plane {
    double height, slope_x, slope_y; /* at the mean place */
} plane;

static double above(const plane *p, spl_vec3 foot, spl_vec3 mean)
{
    return foot.z - (p->height + p->slope_x * (foot.x - mean.x) + p->slope_y * (foot.y - mean.y));
}

/* Quantile regression by reweighted least squares: minimises the sum of rho(r), rho(r) = SHARE r above the plane and
 * (SHARE - 1) r below (Koenker and Bassett 1978), smoothed within `near`. The slopes have a prior that only a way of
 * some length overrules. */
static plane fit(const spl_vec3 *foot, int32_t count, spl_vec3 mean, double size, bool level)
{
    plane p = {.height = mean.z};
    double near = 1e-3 * size;
    for (int round = 0; round < ROUNDS; round++) {
        spl_mat3 A = {0}, inverse;
        spl_vec3 b = spl_v3(0, 0, 0);
        double total = 0;
        for (int32_t i = 0; i < count; i++) {
            double r = above(&p, foot[i], mean), w = (r < 0 ? 1 - SHARE : SHARE) / fmax(fabs(r), near);
            spl_vec3 row = spl_v3(1, level ? 0 : foot[i].x - mean.x, level ? 0 : foot[i].y - mean.y);
            spl_mat3 square = spl_mat3_outer(row, spl_scale(row, w));
            A = spl_mat3_add(&A, &square);
            b = spl_madd(b, row, w * foot[i].z);
            total += w;
        }
        double prior = total * 0.01 * size * size;
        spl_mat3 ridge = spl_mat3_diagonal(0, prior, prior);
        A = spl_mat3_add(&A, &ridge);
        if (!spl_mat3_inverse(&A, &inverse)) break;
        spl_vec3 x = spl_mat3_apply(&inverse, b);
        p = (plane){x.x, x.y, x.z};
    }
    return p;
}

void spl_ground_lift(const spl_vec3 *foot, int32_t count, double size, double *lift)
{
    spl_vec3 mean = spl_v3(0, 0, 0);
    for (int32_t i = 0; i < count; i++) mean = spl_madd(mean, foot[i], 1.0 / count);
    plane p = fit(foot, count, mean, size, false);
    if (hypot(p.slope_x, p.slope_y) > STEEPEST) p = fit(foot, count, mean, size, true);
    for (int32_t i = 0; i < count; i++) {
        double r = above(&p, foot[i], mean);
        lift[i] = r < 0 ? -foot[i].z : r - foot[i].z;
    }
}
