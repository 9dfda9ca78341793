/* Regions of the skin: which of it slides, where it is fixed or slides along borders and curves, and where it is
 * softer, stickier or tauter (`--slide-config FILE.json`; docs/slide.md). Read strictly, as materials are. */
#ifndef SPL_SLIDE_REGIONS_H
#define SPL_SLIDE_REGIONS_H

#include "scene/parts.h"
#include "slide/dermis.h"

/* What skin does at the borders of an open body, unless a region says otherwise. */
typedef enum spl_slide_border { SPL_BORDER_FIXED, SPL_BORDER_SLIDING, SPL_BORDER_FREE } spl_slide_border;

/* The character that regions are looked for on. */
typedef struct spl_slide_scene {
    const supple_scene *scene;
    const spl_part *part;
    int32_t part_count;
    const bool *slides; /* by part: it is in the net */
    const spl_net *net; /* its input vertices are the scene's */
} spl_slide_scene;

/* What spl_dermis_create takes, with the memory for it. */
typedef struct spl_regions {
    supple_allocator allocator;
    uint8_t *hold;
    int32_t *edge;
    double *stiffness, *zeta, *drag, *prestrain; /* by vertex of the net */
    double *tether, *tether_stiffness;           /* length in m, NAN where no region says one; times slide.tether */
    spl_vec3 *push;                              /* Pa, in the axes of the character's frames */
    size_t edge_count;
    int32_t region_count;
} spl_regions;

/* Without a file (path NULL): all skin is free but for the borders. `settings` has what regions leave alone.
 * SUPPLE_ERROR_INPUT for a file that is wrong, a region without skin, and regions that contradict each other, all of
 * them named. */
supple_result spl_regions_make(const spl_slide_scene *where, const char *path, spl_slide_border border,
                               const spl_dermis_settings *settings, const supple_allocator *a, spl_regions *out,
                               supple_error *error);

/* The same of a text. */
supple_result spl_regions_parse(const spl_slide_scene *where, const void *text, size_t size, const char *name,
                                spl_slide_border border, const spl_dermis_settings *settings, const supple_allocator *a,
                                spl_regions *out, supple_error *error);
void spl_regions_release(spl_regions *r);

/* Fixes free skin where a facet's normal is more than `degrees` off its vertex's: at lips, lids, nostrils and webs of
 * fingers, which a tangent plane says nothing of, and where skin does not slide either. Returns how many vertices. */
int32_t spl_regions_fix_creases(spl_regions *r, const spl_net *net, double degrees);

spl_dermis_parts spl_regions_parts(const spl_regions *r);

#endif
