/* Cross-sections along an axis: an outline of four quarter ellipses whose radii are splines of the position. Limbs and
 * trunks are drawn with tables of them, read off front and side views of a body. */
#ifndef SPL_DEMO_PROFILE_H
#define SPL_DEMO_PROFILE_H

#include <stdint.h>

/* A cross-section at t: its reach in the directions +a, +b, -a, -b of the axis' frame, metres. */
typedef struct spl_station {
    double t;
    double reach[4];
} spl_station;

/* The section at t by Catmull-Rom splines; constant beyond the ends. Stations stand in increasing t. */
spl_station spl_profile_at(const spl_station *station, int32_t count, double t);

/* How far a section reaches in the direction (a, b), which is not zero. */
double spl_station_reach(const spl_station *section, double a, double b);

#endif
