#include "sim/inertia.h"

#include "math/svd3.h"

#include <string.h>

/* The motion of the root bone, bone 0, since the past pose. */
static bool root_motion(const spl_inertia *i, spl_quat *turn, spl_vec3 *from, spl_vec3 *to)
{
    const spl_drive *d = &i->solid->drive;
    spl_mat4 back;
    if (i->past->flat[0] || !spl_mat4_inverse(&i->past->map[0], &back)) return false;
    spl_mat4 motion = spl_mat4_mul(&d->map[0], &back);
    spl_mat3 linear = spl_mat3_linear(&motion), rotation, stretch;
    if (!spl_polar3(&linear, &rotation, &stretch) || !spl_mat4_inverse(&motion, &back)) return false;
    *turn = spl_quat_from_mat3(&rotation);
    *to = spl_drive_joint(d, 0);
    *from = spl_mat4_point(&back, *to);
    return true;
}

static void put(double *at, spl_vec3 p)
{
    at[0] = p.x;
    at[1] = p.y;
    at[2] = p.z;
}

spl_mat4 spl_inertia_follow_root(const spl_inertia *i, double share)
{
    spl_quat turn;
    spl_vec3 from, to;
    if (!(share > 0) || !root_motion(i, &turn, &from, &to)) return spl_mat4_identity();
    turn = spl_quat_slerp(spl_quat_identity(), turn, share);
    to = spl_lerp(from, to, share);
    spl_mat3 R = spl_quat_to_mat3(turn);
    spl_mat4 motion = spl_mat3_affine(&R, spl_sub(to, spl_mat3_apply(&R, from)));
    for (size_t v = 0; v < (size_t)i->solid->body->tets.vertex_count; v++) {
        double *x = i->x + 3 * v, *u = i->velocity + 3 * v;
        put(x, spl_mat4_point(&motion, spl_v3(x[0], x[1], x[2])));
        put(u, spl_mat3_apply(&R, spl_v3(u[0], u[1], u[2])));
    }
    return motion;
}

spl_mat4 spl_inertia_launch(const spl_inertia *i, double share, double dt, double *room, spl_pool *pool)
{
    static const double fastest = 10; /* diagonals a second */
    size_t n = 3 * (size_t)i->solid->body->tets.vertex_count;
    double most = 0;
    memcpy(room, i->x, n * sizeof *room);
    spl_solid_carry(i->solid, i->past, room, pool);
    spl_mat4 motion = spl_inertia_follow_root(i, share);
    for (size_t k = 0; k < n; k++) {
        bool fresh = spl_solid_is_fresh(i->solid, i->past, k / 3);
        i->velocity[k] = fresh ? 0 : (room[k] - i->x[k]) / dt;
        most = fmax(most, fabs(i->velocity[k]));
    }
    if (!(most < fastest * i->solid->diagonal)) memset(i->velocity, 0, n * sizeof *i->velocity);
    return motion;
}
