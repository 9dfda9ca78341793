#include "geom/ccd.h"

#include "math/vec3.h"

/* Enough for all but the tightest turns next to each other; what is reached by then is returned: early, not late. */
enum { MOST_STEPS = 512 };

/* The search ends this near to the gap that is to be left, as a share of it. */
#define CLOSE_ENOUGH 0.1

/* A pair in motion, seen from a frame that moves with it: only relative motion matters, and it is less. */
typedef struct motion {
    spl_pair_kind kind;
    double x[4][3], d[4][3];
    double speed; /* no two places of the two come nearer by more than this, in time 1 */
} motion;

static double longest(const motion *m, int begin, int end)
{
    double most = 0;
    for (int i = begin; i < end; i++) {
        double square = 0;
        for (int k = 0; k < 3; k++) square += m->d[i][k] * m->d[i][k];
        most = square <= most ? most : square; /* what is no number stays */
    }
    return sqrt(most);
}

static void set_motion(motion *m, spl_pair_kind kind, const double x[4][3], const double d[4][3])
{
    int split = spl_pair_split(kind);
    m->kind = kind;
    for (int k = 0; k < 3; k++) {
        double mean = (d[0][k] + d[1][k] + d[2][k] + d[3][k]) / 4;
        for (int i = 0; i < 4; i++) {
            m->x[i][k] = x[i][k] - x[0][k];
            m->d[i][k] = d[i][k] - mean;
        }
    }
    m->speed = longest(m, 0, split) + longest(m, split, 4);
}

static spl_nearest nearest_at(const motion *m, double t, double x[4][3])
{
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) x[i][k] = m->x[i][k] + t * m->d[i][k];
    return spl_pair_nearest(m->kind, (const double(*)[3])x);
}

/* The time for which the two stay `limit` apart along r; 0 where they are not. All corners go straight, so each corner
 * of one against each of the other says when, and along r the two are what lies between their corners. Right for any r;
 * good for the way between their nearest places. Where a pair slides past, this is far more than the distance over the
 * speed. */
static double time_along(const motion *m, const double x[4][3], spl_vec3 r, double limit)
{
    int split = spl_pair_split(m->kind);
    double place[4], pace[4], time = INFINITY, length = spl_norm(r);
    for (int i = 0; i < 4; i++) {
        place[i] = (x[i][0] * r.x + x[i][1] * r.y + x[i][2] * r.z) / length;
        pace[i] = (m->d[i][0] * r.x + m->d[i][1] * r.y + m->d[i][2] * r.z) / length;
    }
    for (int i = 0; i < split; i++)
        for (int j = split; j < 4; j++) {
            double room = place[i] - place[j] - limit, closing = pace[j] - pace[i];
            if (!(room > 0)) return 0;
            if (closing > 0) time = fmin(time, room / closing);
        }
    return time;
}

/* A time in which the distance cannot fall from where it is to `limit`. */
static double safe_step(const motion *m, const double x[4][3], const spl_nearest *n, double distance, double limit)
{
    double way[3];
    for (int k = 0; k < 3; k++) way[k] = n->w[0] * x[0][k] + n->w[1] * x[1][k] + n->w[2] * x[2][k] + n->w[3] * x[3][k];
    spl_vec3 r = spl_v3(way[0], way[1], way[2]);
    return fmax((distance - limit) / m->speed, time_along(m, x, r, limit));
}

double spl_pair_ccd(spl_pair_kind kind, const double x[4][3], const double d[4][3], double offset, double slack,
                    double until)
{
    motion m;
    double y[4][3], t = 0;
    set_motion(&m, kind, x, d);
    spl_nearest n = nearest_at(&m, 0, y);
    double distance = sqrt(n.square), left = slack * (distance - offset);
    if (!(left > 0) || !(m.speed < INFINITY)) return 0;
    if (m.speed == 0) return until;
    for (int i = 0; i < MOST_STEPS && distance - offset > left * (1 + CLOSE_ENOUGH); i++) {
        double next = t + safe_step(&m, (const double(*)[3])y, &n, distance, offset + left);
        if (!(next < until)) return until;
        if (next <= t) break;
        t = next;
        n = nearest_at(&m, t, y);
        distance = sqrt(n.square);
    }
    return t;
}
