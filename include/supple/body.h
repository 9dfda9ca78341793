/* Supple: the body of a character: tetrahedra, bones and attachments, made from its surface alone.
 * A body is constant once made and may be shared by any number of simulations of its scene. */
#ifndef SUPPLE_BODY_H
#define SUPPLE_BODY_H

#include <supple/scene.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A character's flesh. */
typedef struct supple_body supple_body;

/* How a part of the character takes part in the simulation. */
typedef enum supple_role {
    SUPPLE_ROLE_FLESH,  /* simulated */
    SUPPLE_ROLE_FOLLOW, /* the file's own skinning, corrected by what the flesh beneath does */
    SUPPLE_ROLE_RIGID,  /* not skinned: rides on its node */
    SUPPLE_ROLE_SKIP,   /* left out */
    SUPPLE_ROLE_OWN,    /* exactly the file's own skinning */
} supple_role;

/* Parts whose mesh or material name matches a shell pattern (case does not count) get a role. Where no name does, a
 * number is that of a part, as supple_scene_inspect lists them. */
typedef struct supple_part_rule {
    const char *pattern; /* *, ? and [abc] */
    supple_role role;    /* that they get */
} supple_part_rule;

/* What a body is made of. */
typedef enum supple_body_kind {
    SUPPLE_BODY_TETS,  /* tetrahedra all through the flesh */
    SUPPLE_BODY_PRISM, /* one layer of prisms, three tetrahedra each, between the skin and a skeleton of capsules */
} supple_body_kind;

/* How the visual mesh follows the body. */
typedef enum supple_upsampling {
    SUPPLE_UPSAMPLE_SMOOTH, /* quadratic moving least squares */
    SUPPLE_UPSAMPLE_NORMAL, /* a point of the body's surface displaced along its interpolated normal: a baseline */
} supple_upsampling;

/* For supple_body_config.size_m: the file's unit is a true one, and the character as large as it says. */
#define SUPPLE_SIZE_FILE (-1.0)

/* How to make a body. Start from supple_body_config_default(). */
typedef struct supple_body_config {
    uint32_t cookie;    /* set by supple_body_config_default() */
    int32_t resolution; /* cells along the longest axis; 0: chosen by the thinnest limbs and the budget */
    int32_t max_tets;   /* that budget; 0: what the method wants, else 60,000 */
    double size_m;      /* the character's diagonal for the solver, metres; 0: by its rig; SUPPLE_SIZE_FILE */
    const supple_part_rule *rules; /* the last that matches a part counts */
    int32_t rule_count;            /* how many there are */
    const char *tet_file;          /* the user's own tetrahedra (.msh, .mesh, .vtk) in body space; NULL: made here */
    bool cache;                    /* keep the result for next time */
    supple_body_kind kind;         /* what it is made of */
    supple_upsampling upsampling;  /* how the visual mesh follows it */
    bool grade;                    /* coarser inside than at the surface; max_tets counts the tetrahedra before that */
    bool parted;                   /* its surface is parted where it passes through itself at rest: contact by a barrier
                                      needs that, and asks for it */
} supple_body_config;

/* Defaults: tetrahedra, resolution chosen within the budget, roles by shape, cached, smooth upsampling. */
SUPPLE_API supple_body_config supple_body_config_default(void);

/* Makes the body of a scene, which must outlive it; `body_config` and `config` may be NULL. SUPPLE_ERROR_INPUT where a
 * character has no flesh, with the reason. Takes a second or so, next to nothing when the cache has it. */
SUPPLE_API supple_result supple_body_create(const supple_scene *scene, const supple_body_config *body_config,
                                            const supple_config *config, supple_body **out, supple_error *error);

/* Frees a body. Accepts NULL. */
SUPPLE_API void supple_body_destroy(supple_body *body);

/* What a body is like. Lengths in the file's unit unless they say metres. */
typedef struct supple_body_info {
    int32_t vertices, tets, surface_vertices, surface_triangles; /* how many there are */
    int32_t bones, constrained;                                  /* constrained: vertices that bones hold */
    int32_t substituted, empty; /* bones that hold the nearest flesh instead of what is inside; that hold nothing */
    int32_t components, crumbs; /* pieces; tetrahedra of crumbs that were removed */
    int32_t resolution;         /* cells along the longest axis; 0 for the user's own tetrahedra */
    int32_t uniform_tets, octants, levels; /* graded: tetrahedra before; larger octants, and how often they doubled */
    int32_t doubled, fronts, passes;       /* lattice points shared by limbs; where limbs part; rounds of growth */
    double cell;                           /* lattice constant, or mean edge */
    double min_dihedral_deg, max_dihedral_deg; /* smallest and largest angle between two faces of a tetrahedron */
    int64_t dihedral_histogram[18];            /* bins of 10 degrees */
    double volume, surface_volume;             /* of the tetrahedra; of the input's surface, NAN if that is open */
    double mean_distance, max_distance;        /* from the input's surface */
    double area_lost;      /* share of the input's surface that is farther than a cell from the body's */
    double size_m;         /* diagonal for the solver, metres */
    bool cached;           /* it came from the cache */
    double ms;             /* time to make or find it */
    supple_body_kind kind; /* what it is made of */
    int32_t split;         /* prisms: vertices where sheets of the skin met and were cut apart */
    int32_t joint_free,
        unreached;  /* prisms: bone vertices that no bone holds; those of them that stopped before the bones */
    double wrapped; /* prisms: how far from the skin to the bones their inner sides came, mean; 1: all of it */
    int32_t merged; /* joints without flesh of their own: merged with what they hang on */
    int32_t crossings_parted, crossings; /* tetrahedra made here: edges of their surface that passed through triangles
                                          * of it and no longer do; that still do */
} supple_body_info;

/* What a body is like; valid while it lives. */
SUPPLE_API const supple_body_info *supple_body_get_info(const supple_body *body);

/* What a joint that moves skin holds of a body. */
typedef struct supple_body_hold {
    const char *name;        /* the joint's */
    const char *merged_into; /* the joint that moves its flesh instead; NULL where it does itself */
    int32_t vertices;        /* that its bones hold */
} supple_body_hold;

/* What each joint holds, in the file's order, *count of them; valid while the body lives. */
SUPPLE_API const supple_body_hold *supple_body_holds(const supple_body *body, int32_t *count);

#ifdef __cplusplus
}
#endif
#endif
