/* Bodies of the built-in characters, for tests of what stands on a body. */
#ifndef SPL_TESTS_DEMO_BODY_H
#define SPL_TESTS_DEMO_BODY_H

#include "body/body.h"
#include "test.h"

#include <supple/tools.h>

typedef struct demo_body {
    supple_scene *scene;
    supple_body *handle;
    const spl_body *body; /* NULL if something failed */
} demo_body;

/* A body of some kind that does not use the cache. */
static inline supple_body_config body_config(supple_body_kind kind, int32_t resolution)
{
    supple_body_config c = supple_body_config_default();
    c.kind = kind;
    c.resolution = resolution;
    c.cache = false;
    return c;
}

/* Prints why where it fails, and returns NULL. */
static inline supple_body *body_create(const supple_scene *scene, const supple_body_config *bc, int threads)
{
    supple_error error = {0};
    supple_config config = supple_config_default();
    config.thread_count = threads;
    supple_body *made = NULL;
    if (supple_body_create(scene, bc, &config, &made, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return made;
}

/* A file, or "demo:NAME"; likewise. */
static inline supple_scene *scene_load(const char *name)
{
    supple_error error = {0};
    supple_scene *scene = NULL;
    if (supple_scene_load_file(name, NULL, &scene, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return scene;
}

static inline demo_body demo_body_of(supple_scene *scene, int32_t resolution, double size_m)
{
    demo_body d = {.scene = scene};
    supple_body_config config = body_config(SUPPLE_BODY_TETS, resolution);
    config.size_m = size_m > 0 ? size_m : SUPPLE_SIZE_FILE; /* demos are in metres */
    if (scene) d.handle = body_create(scene, &config, 0);
    if (d.handle) d.body = &d.handle->body;
    return d;
}

static inline demo_body demo_body_make(const char *name, int32_t resolution, double size_m)
{
    return demo_body_of(scene_load(name), resolution, size_m);
}

/* A built-in character with fewer vertices: most of a body's time goes into them. */
static inline supple_scene *demo_scene(const char *name, double detail)
{
    void *glb = NULL;
    size_t size = 0;
    supple_scene *scene = NULL;
    supple_error error = {0};
    if (supple_demo_make(name, detail, NULL, &glb, &size, &error) != SUPPLE_OK ||
        supple_scene_load_memory(glb, size, name, NULL, &scene, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    supple_bytes_free(glb, NULL);
    return scene;
}

static inline void demo_body_free(demo_body *d)
{
    supple_body_destroy(d->handle);
    supple_scene_destroy(d->scene);
}

#endif
