/* What every method implements. A method is one file or folder and one line in the registry (methods.c). */
#ifndef SPL_METHODS_METHOD_H
#define SPL_METHODS_METHOD_H

#include "core/threads.h"
#include "rig/pose.h"
#include "scene/scene.h"

#include <supple/sim.h>

/* A parameter a method takes by `--set key=value`: drives the defaults, the checks, --help and the docs. */
typedef struct spl_parameter {
    const char *name, *unit; /* unit "" for a pure number */
    double value, min, max;  /* default and range */
    const char *help;
} spl_parameter;

/* What a method may use while it is set up and stepped. */
typedef struct spl_method_context {
    const supple_scene *scene;
    const supple_config *config; /* host services, never NULL */
    const supple_allocator *allocator;
    spl_pool *pool;
    const double *parameter; /* values in the order of the method's table */
    supple_setup *setup;     /* a method adds its times */
} spl_method_context;

typedef enum spl_method_output {
    SPL_OUTPUT_VISUAL, /* writes the visual vertices */
    SPL_OUTPUT_BODY,   /* writes the body's vertices; the frame upsamples them */
} spl_method_output;

enum { SPL_NEEDS_SKIN = 1, SPL_NEEDS_BODY = 2, SPL_NEEDS_MODEL = 4 };

typedef struct spl_method {
    const char *name, *summary;
    unsigned needs;
    spl_method_output output;
    const spl_parameter *parameter;
    int32_t parameter_count;
    size_t state_size; /* zeroed by the caller before init */
    supple_result (*init)(void *state, const spl_method_context *context, supple_error *error);
    /* Deforms `rest` (3 floats a vertex, output order, morphs applied, mesh space) into `out` (world space). */
    supple_result (*step)(void *state, const spl_method_context *context, const spl_pose *pose, const float *rest,
                          float *out, supple_stats *stats, supple_error *error);
    void (*reset)(void *state);                                      /* NULL where a method has no memory */
    void (*release)(void *state, const spl_method_context *context); /* accepts a state whose init failed */
} spl_method;

extern const spl_method spl_method_linear, spl_method_dualquat;

/* The registry. */
int32_t spl_method_count(void);
const spl_method *spl_method_at(int32_t index);
const spl_method *spl_method_find(const char *name); /* NULL if unknown */

/* What "auto" means for a scene, and why, in one clause. */
const spl_method *spl_method_auto(const supple_scene *scene, const char **why);

#endif
