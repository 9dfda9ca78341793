/* Bodies as implicit surfaces: balls, tapered capsules and lofts, smoothly joined one after another.
 *
 * The field of a body is close to a signed distance (negative inside) near its surface. Bodies are mirror images in the
 * plane x = 0: the field is evaluated at |x|, so a solid on the left (x > 0) stands for both. The smooth minimum is the
 * quadratic one: min(a, b) - h^2 k / 4 with h = max(k - |a - b|, 0) / k. */
#ifndef SPL_DEMO_SOLID_H
#define SPL_DEMO_SOLID_H

#include "demo/profile.h"
#include "math/vec3.h"

#include <stdbool.h>

typedef enum spl_solid_kind { SPL_BALL, SPL_CAPSULE, SPL_LOFT } spl_solid_kind;

typedef struct spl_solid {
    spl_solid_kind kind;
    bool carve;                 /* taken away instead of added */
    double blend;               /* k of the smooth minimum with all that stands before it, metres */
    spl_vec3 a, b;              /* ball: centre, radii; capsule: ends; loft: origin, axis */
    double r0, r1;              /* capsule: radii at the ends; loft: roundness of the two end caps */
    spl_vec3 ea, eb;            /* loft: the unit directions of its sections */
    double power;               /* loft: 2 for elliptic quarters, more for boxier ones */
    const spl_station *station; /* loft: t in metres along the axis */
    int32_t station_count;
    spl_vec3 centre; /* bounding sphere */
    double radius;
} spl_solid;

enum { SPL_BODY_SOLIDS = 96 };

typedef struct spl_body {
    int32_t count;
    double floor; /* the body is cut flat below this y, with a small rounding; -INFINITY for none */
    spl_solid solid[SPL_BODY_SOLIDS];
} spl_body;

/* An ellipsoid with axes along x, y, z; one that is taken away; one turned so that its y axis points along `up` (which
 * must not be parallel to x). */
void spl_body_ball(spl_body *body, spl_vec3 centre, spl_vec3 radii, double blend);
void spl_body_hollow(spl_body *body, spl_vec3 centre, spl_vec3 radii, double blend);
void spl_body_egg(spl_body *body, spl_vec3 centre, spl_vec3 radii, spl_vec3 up, double blend);

/* A cone rounded by spheres of radius r0 at p and r1 at q. */
void spl_body_capsule(spl_body *body, spl_vec3 p, spl_vec3 q, double r0, double r1, double blend);

/* Sections along an axis from `origin`; ea and eb are the unit directions a and b of the stations. */
void spl_body_loft(spl_body *body, spl_vec3 origin, spl_vec3 axis, spl_vec3 ea, spl_vec3 eb, const spl_station *station,
                   int32_t count, double power, double blend);

/* The field of the body at a point. `context` is a const spl_body *. */
double spl_body_value(const void *context, spl_vec3 p);

#endif
