#include "demo/profile.h"

#include <math.h>

spl_station spl_profile_at(const spl_station *station, int32_t count, double t)
{
    if (t <= station[0].t) return station[0];
    if (t >= station[count - 1].t) return station[count - 1];
    int32_t i = 0;
    while (t > station[i + 1].t) i++;
    const spl_station *p1 = &station[i], *p2 = &station[i + 1];
    const spl_station *p0 = i > 0 ? p1 - 1 : p1, *p3 = i + 2 < count ? p2 + 1 : p2;
    double h = p2->t - p1->t, x = (t - p1->t) / h;
    spl_station out = {.t = t};
    for (int c = 0; c < 4; c++) {
        /* Hermite with the slopes of the neighbours' chords (Catmull-Rom on uneven knots). */
        double m1 = (p2->reach[c] - p0->reach[c]) / (p2->t - p0->t) * h;
        double m2 = (p3->reach[c] - p1->reach[c]) / (p3->t - p1->t) * h;
        double x2 = x * x, x3 = x2 * x;
        out.reach[c] = (2 * x3 - 3 * x2 + 1) * p1->reach[c] + (x3 - 2 * x2 + x) * m1 +
                       (3 * x2 - 2 * x3) * p2->reach[c] + (x3 - x2) * m2;
    }
    return out;
}

double spl_station_reach(const spl_station *section, double a, double b)
{
    double n = sqrt(a * a + b * b);
    double u = a / (n * section->reach[a >= 0 ? 0 : 2]), v = b / (n * section->reach[b >= 0 ? 1 : 3]);
    return 1 / sqrt(u * u + v * v);
}
