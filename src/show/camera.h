/* Cameras that frame a character by themselves: named views, a long lens, y up, glTF's +z towards the viewer. */
#ifndef SPL_SHOW_CAMERA_H
#define SPL_SHOW_CAMERA_H

#include "math/vec3.h"

#include <stdint.h>

typedef enum spl_view {
    SPL_VIEW_FRONT,
    SPL_VIEW_THREE_QUARTER,
    SPL_VIEW_SIDE,
    SPL_VIEW_BACK,
    SPL_VIEW_TOP,
    SPL_VIEW_COUNT,
} spl_view;

/* "front", "three-quarter", ...; never NULL for a view in range. */
const char *spl_view_name(spl_view view);

/* A pinhole, or an orthographic projection. A point p has camera coordinates x = right.(p-eye), y = up.(p-eye) and
 * depth w = -back.(p-eye); it lands at pixel (cx + focal x / w, cy - focal y / w), without the division where `ortho`.
 */
typedef struct spl_camera {
    spl_vec3 eye, right, up, back; /* axes are orthonormal; the camera looks along -back */
    double focal;                  /* pixels */
    double cx, cy;                 /* principal point, pixels; pixel (0, 0) covers [0, 1) x [0, 1) */
    double near;                   /* what is nearer than this is cut off; not used where `ortho` */
    bool ortho;
} spl_camera;

/* Camera coordinates: x, y and depth. */
spl_vec3 spl_camera_point(const spl_camera *camera, spl_vec3 p);

/* The direction from the eye through a pixel position, of unit length. */
spl_vec3 spl_camera_ray(const spl_camera *camera, double x, double y);

/* An axis-aligned box; empty where min > max. Points that are not finite are left out. */
typedef struct spl_box {
    spl_vec3 min, max;
} spl_box;

spl_box spl_box_empty(void);
bool spl_box_is_empty(const spl_box *box);
void spl_box_add(spl_box *box, spl_vec3 p);
void spl_box_join(spl_box *box, const spl_box *other);
void spl_box_add_points(spl_box *box, const float *points, int32_t count); /* 3 a point */

/* Finds the nearest camera of a view that sees all points given to it. Each point bounds the distance by two lines per
 * image axis, so that four running maxima suffice and the answer is exact. */
typedef struct spl_framing {
    spl_vec3 right, up, back;
    double focal, kx, ky;         /* focal over half the usable width and height */
    double cx, cy;                /* centre of the picture */
    double ax, bx, ay, by, front; /* max z + kx x, z - kx x, z + ky y, z - ky y, z */
    double low, high, left, wide; /* extent in x and y, to choose a picture's shape */
    int64_t count;
} spl_framing;

/* `margin` is the part of the picture kept free on each side, 0 to 0.45. */
spl_framing spl_framing_begin(spl_view view, int32_t width, int32_t height, double margin);
void spl_framing_add(spl_framing *framing, spl_vec3 p);

/* Height over width of what was added, seen from far; 1 if nothing was. */
double spl_framing_aspect(const spl_framing *framing);
spl_camera spl_framing_camera(const spl_framing *framing);

/* The same for the corners of a box. */
spl_camera spl_camera_frame(spl_view view, const spl_box *box, int32_t width, int32_t height, double margin);

#endif
