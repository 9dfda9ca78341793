/* A scene whose nodes a test moves, in double: the host's matrices are floats, and clips are what they are. */
#ifndef SPL_TESTS_RIG_PUPPET_H
#define SPL_TESTS_RIG_PUPPET_H

#include "math/quat.h"
#include "rig/pose.h"

#include <stdlib.h>
#include <string.h>

typedef struct puppet {
    supple_scene *scene; /* borrowed */
    spl_mat4 *home;      /* by node: its transform in the file */
} puppet;

static inline puppet puppet_make(supple_scene *scene)
{
    puppet p = {scene, calloc((size_t)scene->node_count, sizeof *p.home)};
    for (int32_t n = 0; n < scene->node_count; n++) {
        const spl_node *node = &scene->node[n];
        p.home[n] = node->has_matrix ? node->matrix : spl_mat4_trs(node->t, node->r, node->s);
    }
    return p;
}

static inline void puppet_free(puppet *p)
{
    free(p->home);
}

static inline void puppet_set(puppet *p, int32_t node, spl_mat4 local)
{
    p->scene->node[node].has_matrix = true;
    p->scene->node[node].matrix = local;
}

/* Back to the file's rest pose. */
static inline void puppet_rest(puppet *p)
{
    for (int32_t n = 0; n < p->scene->node_count; n++) puppet_set(p, n, p->home[n]);
}

/* The node of a joint. */
static inline int32_t puppet_node(const puppet *p, const char *name)
{
    for (int32_t n = 0; n < p->scene->node_count; n++)
        if (strcmp(p->scene->node[n].name, name) == 0) return n;
    abort();
}

/* Turns a joint about an axis of its own, from its rest. */
static inline void puppet_turn(puppet *p, const char *name, spl_vec3 axis, double degrees)
{
    int32_t n = puppet_node(p, name);
    spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(axis, degrees * M_PI / 180));
    spl_mat4 turn = spl_mat3_affine(&R, spl_v3(0, 0, 0));
    puppet_set(p, n, spl_mat4_mul(&p->home[n], &turn));
}

/* Moves all roots by a map of the world. */
static inline void puppet_move(puppet *p, const spl_mat4 *by)
{
    for (int32_t n = 0; n < p->scene->node_count; n++)
        if (p->scene->node[n].parent < 0) puppet_set(p, n, spl_mat4_mul(by, &p->home[n]));
}

/* A map of the world that is part of the character from now on: its rest pose moves. */
static inline void puppet_keep(puppet *p, const spl_mat4 *by)
{
    puppet_move(p, by);
    for (int32_t n = 0; n < p->scene->node_count; n++)
        if (p->scene->node[n].parent < 0) p->home[n] = p->scene->node[n].matrix;
}

/* Binds the skins where the joints are, in double: a file's bind matrices are floats and fit to 1e-8. */
static inline void puppet_bind(puppet *p)
{
    spl_pose pose;
    if (spl_pose_init(&pose, p->scene, NULL) != SUPPLE_OK) abort();
    for (int32_t s = 0; s < p->scene->skin_count; s++)
        for (int32_t j = 0; j < p->scene->skin[s].joint_count; j++)
            if (!spl_mat4_inverse(&pose.world[p->scene->skin[s].joint[j]], &p->scene->skin[s].inverse_bind[j])) abort();
    spl_pose_release(&pose);
}

/* A rigid motion. */
static inline spl_mat4 puppet_rigid(spl_vec3 axis, double degrees, spl_vec3 by)
{
    spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(axis, degrees * M_PI / 180));
    return spl_mat3_affine(&R, by);
}

#endif
