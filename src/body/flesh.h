/* Flesh: from the surface of a character to tetrahedra, without questions.
 *
 * The work is done in the body's own frame (centroid, principal axes, unit diagonal), so that moving, turning or
 * scaling the character changes nothing but the frame. The resolution follows the thinnest limbs within a budget of
 * tetrahedra; limbs that are thinner than the lattice sees are grown, and more so where they came out in pieces. */
#ifndef SPL_BODY_FLESH_H
#define SPL_BODY_FLESH_H

#include "body/grade.h"
#include "body/part.h"
#include "body/stuff.h"

typedef struct spl_flesh_options {
    int32_t resolution; /* cells along the longest axis; 0: chosen */
    int32_t max_tets;   /* budget for the choice */
    double max_bytes;   /* estimated memory beyond which a resolution is refused */
    bool grade;         /* coarser inside (grade.h); the budget counts the tets before that */
    bool part;          /* the surface does not pass through itself (part.h) */
} spl_flesh_options;

spl_flesh_options spl_flesh_options_default(void);

/* Tetrahedra to expect of a lattice of this constant, a little more than there will be. */
double spl_flesh_estimate(double volume, double area, double cell);

/* Tetrahedra to expect of spl_flesh_make: the lattice is chosen as there, and nothing is made.
 * Measured on 41 characters: within 7%. */
supple_result spl_flesh_expect(const spl_surface *surface, const spl_flesh_options *options, spl_pool *pool,
                               const supple_allocator *a, double *tets, supple_error *error);

/* The exposed surface is what can be touched from outside: walls inside, of parts that overlap, do not count. */
typedef struct spl_flesh_report {
    int32_t resolution;      /* cells along the longest axis */
    double cell;             /* lattice constant, in the input's unit */
    int32_t passes;          /* of stuffing: more than one where limbs had to be grown further */
    int32_t crumbs;          /* tetrahedra in pieces that hung on nothing and were removed */
    int32_t component_count; /* pieces that are left */
    spl_stuff_report stuff;
    spl_grade_report grade;             /* zeroed where it is off */
    spl_part_report part;               /* where its surface crossed itself */
    spl_tets_shape shape;               /* in the input's unit */
    double surface_volume;              /* of the surface's closed components; NAN where some is open */
    double mean_distance, max_distance; /* from the input's exposed surface to the body's, in the input's unit */
    double area_lost;                   /* share of the exposed area farther than a cell from the body's surface */
} spl_flesh_report;

/* Makes the body of a surface. `place` as in spl_stuff, on that surface. A surface that is empty, flat, or so open that
 * nothing is inside is SUPPLE_ERROR_INPUT; a resolution out of range or too fine for memory SUPPLE_ERROR_ARGUMENT. */
supple_result spl_flesh_make(const spl_surface *surface, const spl_flesh_options *options, const supple_config *config,
                             spl_pool *pool, const supple_allocator *a, spl_tets *out, spl_place **place,
                             spl_flesh_report *report, supple_error *error);

#endif
