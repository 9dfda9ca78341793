/* A built-in character as a solid that a puppet moves, for the tests of what stands on it. */
#ifndef SPL_TESTS_METHODS_FLESHED_H
#define SPL_TESTS_METHODS_FLESHED_H

#include "body/demo_body.h"
#include "body/solid.h"
#include "core/threads.h"
#include "rig/puppet.h"

typedef struct fleshed {
    demo_body demo;
    const spl_body *body;
    puppet puppet;
    spl_pose pose;
    spl_pool *pool;
    spl_solid solid;
} fleshed;

static inline void fleshed_make(fleshed *f, const char *name, int32_t resolution)
{
    supple_config config = supple_config_default();
    supple_error error = {0};
    supple_scene *scene = demo_scene(name, 0.3);
    *f = (fleshed){.puppet = puppet_make(scene)};
    puppet_bind(&f->puppet);
    f->demo = demo_body_of(scene, resolution, 0);
    f->body = f->demo.body;
    if (!f->body || spl_pool_create(&config, &f->pool, &error) != SUPPLE_OK ||
        spl_pose_init(&f->pose, scene, &error) != SUPPLE_OK ||
        spl_solid_create(f->body, NULL, &config, f->pool, &f->solid, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        abort();
    }
}

static inline void fleshed_free(fleshed *f)
{
    spl_solid_release(&f->solid);
    spl_pose_release(&f->pose);
    spl_pool_destroy(f->pool);
    puppet_free(&f->puppet);
    demo_body_free(&f->demo);
}

/* Takes the puppet's pose. */
static inline void fleshed_pose(fleshed *f)
{
    spl_pose_sample(&f->pose, f->demo.scene, -1, 0);
    if (spl_drive_pose(&f->solid.drive, &f->pose, NULL) != SUPPLE_OK) abort();
}

static inline spl_vec3 fleshed_middle(const fleshed *f, int32_t tet)
{
    spl_vec3 p = spl_v3(0, 0, 0);
    for (int i = 0; i < 4; i++) p = spl_madd(p, f->body->tets.position[f->body->tets.tet[4 * tet + i]], 0.25);
    return p;
}

#endif
