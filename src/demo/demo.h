/* The built-in characters: each is a function that fills an empty rigged character. */
#ifndef SPL_DEMO_DEMO_H
#define SPL_DEMO_DEMO_H

#include "scene/writers/rigged.h"

/* Fills `rigged`, which has its allocator and name; on failure the caller releases it. */
typedef supple_result spl_demo_fn(spl_rigged *rigged, double detail, supple_error *error);

spl_demo_fn spl_demo_hero, spl_demo_arm, spl_demo_beam, spl_demo_cylinder, spl_demo_torus, spl_demo_sack,
    spl_demo_turtle;

/* A built-in character before it becomes bytes; released with spl_rigged_release, also on failure. */
supple_result spl_demo_build(const char *name, double detail, const supple_config *config, spl_rigged *rigged,
                             supple_error *error);

/* Clips run at this rate, one key a frame. */
#define SPL_DEMO_FPS 30.0

#endif
