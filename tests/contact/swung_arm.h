/* An arm of the built-in hero that is swung through its body. */
#ifndef SPL_TESTS_CONTACT_SWUNG_ARM_H
#define SPL_TESTS_CONTACT_SWUNG_ARM_H

#include "body/demo_body.h"
#include "contact/near.h"
#include "contact/yield.h"

#include <string.h>

#define IN_THE_HIP 70.0 /* degrees */

typedef struct arm {
    demo_body demo;
    spl_pool *pool;
    spl_solid solid;
    spl_contacts *contacts;
    spl_sunk *sunk;
    spl_yield *yield;
    spl_pose pose;
    int32_t shoulder; /* its node */
} arm;

static inline int32_t node_of(const supple_scene *scene, const char *name)
{
    for (int32_t n = 0; n < scene->node_count; n++)
        if (strcmp(scene->node[n].name, name) == 0) return n;
    abort();
}

static inline void arm_make(arm *w, int32_t threads)
{
    *w = (arm){.demo = demo_body_of(demo_scene("hero", 0.5), 50, 0)};
    supple_config config = supple_config_default();
    config.thread_count = threads;
    if (!w->demo.body || spl_pool_create(&config, &w->pool, NULL) != SUPPLE_OK ||
        spl_solid_create(w->demo.body, NULL, NULL, w->pool, &w->solid, NULL) != SUPPLE_OK ||
        spl_contacts_create(&w->solid, NULL, NULL, NULL, w->pool, &w->contacts, NULL) != SUPPLE_OK ||
        spl_sunk_create(&w->solid, w->contacts, NULL, w->pool, &w->sunk, NULL) != SUPPLE_OK ||
        spl_yield_create(&w->solid, w->sunk, NULL, w->pool, &w->yield, NULL) != SUPPLE_OK ||
        spl_pose_init(&w->pose, w->demo.scene, NULL) != SUPPLE_OK)
        abort();
    w->shoulder = node_of(w->demo.scene, "upper_arm.L");
}

static inline void arm_free(arm *w)
{
    spl_pose_release(&w->pose);
    spl_yield_destroy(w->yield);
    spl_sunk_destroy(w->sunk);
    spl_contacts_destroy(w->contacts);
    spl_solid_release(&w->solid);
    spl_pool_destroy(w->pool);
    demo_body_free(&w->demo);
}

static inline bool is_below(const arm *w, int32_t node)
{
    while (node >= 0 && node != w->shoulder) node = w->demo.scene->node[node].parent;
    return node >= 0;
}

/* The rest pose, the left arm lowered by so many degrees about the shoulder. */
static inline void lower(arm *w, double degrees)
{
    spl_pose_sample(&w->pose, w->demo.scene, -1, 0);
    const double *m = w->pose.world[w->shoulder].m;
    spl_vec3 at = spl_v3(m[12], m[13], m[14]);
    double sign = at.x > 0 ? -1 : 1;
    spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(0, 0, 1), sign * degrees * M_PI / 180));
    spl_mat4 turn = spl_mat3_affine(&R, spl_sub(at, spl_mat3_apply(&R, at)));
    for (int32_t n = 0; n < w->demo.scene->node_count; n++)
        if (is_below(w, n)) w->pose.world[n] = spl_mat4_mul(&turn, &w->pose.world[n]);
}

#endif
