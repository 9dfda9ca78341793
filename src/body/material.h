/* Materials of the flesh: stiffness and density of every tetrahedron, from one tissue for all or from a file that
 * describes regions (docs/materials.md). */
#ifndef SPL_BODY_MATERIAL_H
#define SPL_BODY_MATERIAL_H

#include "body/select.h"

/* What flesh is made of. (spl_material is the look that a file gives a surface.) */
typedef struct spl_tissue {
    double young;      /* Young's modulus, Pa */
    double poisson;    /* Poisson's ratio, above -1 and below 0.5 */
    double mu, lambda; /* the Lame parameters of these two, Pa */
    double density;    /* kg/m^3 */
} spl_tissue;

/* Flesh: 30 kPa, 0.45, 1000 kg/m^3. */
spl_tissue spl_tissue_default(void);

/* Flesh that is made of something else. */
typedef struct spl_material_region {
    char *label; /* for messages: "region 'shell'", or "regions[2]" without a name */
    spl_selector selector;
    bool has_stiffness, has_density; /* what it sets; the rest stays as it is underneath */
    spl_tissue tissue;
    char *rotation; /* the joint whose rotation it takes (mixed, cluster=user): a pattern, or NULL */
} spl_material_region;

/* A material file. */
typedef struct spl_material_set {
    supple_allocator allocator;
    char *name;      /* of the file, for messages */
    spl_tissue base; /* of all flesh that no region changes */
    double blend;    /* metres over which values change at a region's border; 0: at once */
    int32_t region_count;
    spl_material_region *region; /* later ones count where they overlap */
} spl_material_set;

/* Reads a material file, from memory or from disk. SUPPLE_ERROR_INPUT names file, region and key; SUPPLE_ERROR_MEMORY.
 * On failure *out is zero. */
supple_result spl_material_set_parse(const void *text, size_t size, const char *name, const supple_allocator *a,
                                     spl_material_set *out, supple_error *error);
supple_result spl_material_set_load(const char *path, const supple_allocator *a, spl_material_set *out,
                                    supple_error *error);
void spl_material_set_release(spl_material_set *set); /* accepts a zeroed one */

/* Materials by tet. */
typedef struct spl_material_field {
    supple_allocator allocator;
    int32_t tet_count;
    double *mu, *lambda; /* Pa */
    double *density;     /* kg/m^3 */
    int32_t *rotation;   /* the bone whose rotation the tet takes (mixed, cluster=user), -1; NULL: no region says */
    double young_max;    /* largest Young's modulus, Pa */
} spl_material_field;

/* The materials of a body's tets. `set` may be NULL: the default tissue. A region without any flesh is
 * SUPPLE_ERROR_INPUT. On failure *out is zero.
 *
 * With a blend, a tet at distance d < blend/2 from a border (of its own and another region, through the flesh) takes
 * the share (1 - s(2 d / blend)) / 2 of the other side's values, s being the smoothstep: both sides meet half way, at
 * the geometric mean of their Young's moduli and the mean of Poisson's ratio and density. */
supple_result spl_material_field_make(const spl_body *body, const spl_material_set *set, const supple_allocator *a,
                                      spl_material_field *out, supple_error *error);
void spl_material_field_release(spl_material_field *field);

#endif
