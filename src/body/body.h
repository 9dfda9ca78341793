/* A body: everything that is computed once per character before physics can move it.
 *
 * Body space is the bind pose, in the mesh space of the first skin that has flesh, in the file's unit; `metre` says how
 * long a unit is for the solver. */
#ifndef SPL_BODY_BODY_H
#define SPL_BODY_BODY_H

#include "body/attach.h"
#include "body/flesh.h"
#include "body/leaves.h"
#include "body/prism.h"
#include "body/riders.h"
#include "body/roles.h"
#include "body/upsample.h"
#include "rig/bones.h"

#include <supple/body.h>

typedef struct spl_body_options {
    spl_flesh_options flesh;
    const supple_part_rule *rules; /* the last that matches counts */
    int32_t rule_count;
    double
        size_m; /* diagonal of the character for the solver, metres; 0: by its rig (rig/size.h); or SUPPLE_SIZE_FILE */
    const spl_tets *tets; /* the user's own tetrahedra instead, in body space; NULL: made here */
    bool cache;           /* look for the tetrahedra in the cache, and keep them there */
    supple_body_kind kind;
    supple_upsampling upsampling;
} spl_body_options;

spl_body_options spl_body_options_default(void);

typedef struct spl_body {
    supple_allocator allocator;
    const supple_scene *scene;
    int32_t home;   /* the skin whose mesh space is body space */
    spl_part *part; /* of the scene */
    int32_t part_count;
    spl_roles roles;          /* of parts, triangles and vertices */
    int32_t *flesh_triangle;  /* by the surface's input triangle: its number among the scene's, parts in order */
    float *bind;              /* 3 x the scene's vertices: all parts in body space */
    spl_surface surface;      /* of the flesh */
    int32_t *surface_vertex;  /* by surface vertex: a vertex of the scene there */
    spl_skin_weights weights; /* of the surface's vertices, by joint with bones */
    spl_tets tets;            /* of prisms: `surface` is the skin alone, without the sheet on the bones */
    int32_t *prism;   /* by tet: the surface triangle whose prism it is part of; NULL if the body is not of prisms */
    spl_place *place; /* by tet vertex: its limb's nearest place on the surface, triangle -1 deep inside */
    spl_bones bones;
    int32_t *bone; /* by tet vertex: the bone that holds it, -1 if free */
    double metre;  /* metres per unit */
    double size_m;
    spl_flesh_report flesh;
    spl_attach_report attach;
    spl_leaves_report leaves;
    spl_prism_report prisms; /* all zero without */
    bool cached;             /* the tetrahedra came from the cache */
    bool cache;              /* what is computed from this body may be kept there too */
    supple_upsampling upsampling;
    spl_surface skin;       /* the tetrahedra's surface */
    spl_upsample *upsample; /* from it to the scene's vertices in flesh */
    bool *lifted;           /* by vertex of the scene: the upsampling moves it */
    int32_t stray_count;    /* flesh that was placed on another sheet of the body (strays.h) */
    spl_riders riders;      /* what follows, and flesh that the body does not reach */
} spl_body;

/* The public handle. */
struct supple_body {
    spl_body body;
    supple_body_info info;
    supple_body_hold *hold;
    int32_t hold_count;
};

/* Makes the body of a character. SUPPLE_ERROR_INPUT where there is no flesh, with the reason. */
supple_result spl_body_make(const supple_scene *scene, const spl_body_options *options, const supple_config *config,
                            spl_pool *pool, spl_body *out, supple_error *error);
void spl_body_release(spl_body *body);

/* Tetrahedra to expect of it, where they are made here and are no prisms; graded ones are fewer. */
supple_result spl_body_expect(const supple_scene *scene, const spl_body_options *options, const supple_config *config,
                              spl_pool *pool, double *tets, supple_error *error);

/* What attaching asks for, of a body with surface, weights and bones: for these tetrahedra (its own, or those that
 * prisms are made from) with their places. `tree` is of the surface. */
spl_attach_input spl_body_attach_input(const spl_body *body, const spl_tets *tets, const spl_place *place,
                                       const spl_tree *tree);

/* The part and the triangle in it that a triangle of `surface` comes from. */
int32_t spl_body_source(const spl_body *body, int32_t triangle, int32_t *in_part);

/* Whether a part has flesh. */
bool spl_body_has_flesh(const spl_body *body, int32_t part);

#endif
