#include "demo/solid.h"

#include <assert.h>

static double largest(double a, double b)
{
    return a > b ? a : b;
}

static double smallest(double a, double b)
{
    return a < b ? a : b;
}

static spl_solid *add(spl_body *body, spl_solid_kind kind, double blend)
{
    assert(body->count < SPL_BODY_SOLIDS);
    spl_solid *s = &body->solid[body->count++];
    *s = (spl_solid){.kind = kind, .blend = blend, .ea = {1, 0, 0}, .eb = {0, 1, 0}};
    return s;
}

void spl_body_egg(spl_body *body, spl_vec3 centre, spl_vec3 radii, spl_vec3 up, double blend)
{
    spl_solid *s = add(body, SPL_BALL, blend);
    s->a = s->centre = centre;
    s->b = radii;
    s->eb = spl_unit(up, spl_v3(0, 1, 0));
    s->ea = spl_unit(spl_madd(spl_v3(1, 0, 0), s->eb, -s->eb.x), spl_v3(1, 0, 0));
    s->radius = largest(radii.x, largest(radii.y, radii.z));
}

void spl_body_ball(spl_body *body, spl_vec3 centre, spl_vec3 radii, double blend)
{
    spl_body_egg(body, centre, radii, spl_v3(0, 1, 0), blend);
}

void spl_body_hollow(spl_body *body, spl_vec3 centre, spl_vec3 radii, double blend)
{
    spl_body_ball(body, centre, radii, blend);
    body->solid[body->count - 1].carve = true;
}

void spl_body_capsule(spl_body *body, spl_vec3 p, spl_vec3 q, double r0, double r1, double blend)
{
    spl_solid *s = add(body, SPL_CAPSULE, blend);
    s->a = p;
    s->b = q;
    s->r0 = r0;
    s->r1 = r1;
    s->centre = spl_lerp(p, q, 0.5);
    s->radius = 0.5 * spl_distance(p, q) + largest(r0, r1);
}

void spl_body_loft(spl_body *body, spl_vec3 origin, spl_vec3 axis, spl_vec3 ea, spl_vec3 eb, const spl_station *station,
                   int32_t count, double power, double blend)
{
    spl_solid *s = add(body, SPL_LOFT, blend);
    const spl_station *last = &station[count - 1];
    s->a = origin;
    s->b = spl_unit(axis, spl_v3(0, 1, 0));
    s->ea = ea;
    s->eb = eb;
    s->power = power;
    s->station = station;
    s->station_count = count;
    double widest = 0;
    s->r0 = s->r1 = INFINITY;
    for (int c = 0; c < 4; c++) {
        s->r0 = smallest(s->r0, station->reach[c]);
        s->r1 = smallest(s->r1, last->reach[c]);
        for (int32_t i = 0; i < count; i++) widest = largest(widest, station[i].reach[c]);
    }
    s->centre = spl_madd(origin, s->b, 0.5 * (station->t + last->t));
    s->radius = 0.5 * (last->t - station->t) + 1.5 * widest;
}

/* Scaled distance to an ellipsoid: exact on the surface, first-order beside it. */
static double ball(const spl_solid *s, spl_vec3 p)
{
    spl_vec3 d = spl_sub(p, s->a), ec = spl_cross(s->ea, s->eb);
    spl_vec3 q = spl_v3(spl_dot(d, s->ea) / s->b.x, spl_dot(d, s->eb) / s->b.y, spl_dot(d, ec) / s->b.z);
    double k = spl_norm(q), least = smallest(s->b.x, smallest(s->b.y, s->b.z));
    double g = spl_norm(spl_v3(q.x / s->b.x, q.y / s->b.y, q.z / s->b.z));
    return g * least > 1e-9 ? k * (k - 1) / g : -least;
}

/* Exact: the slanted side touches both spheres, so the nearest axis point is shifted by the slope. */
static double capsule(const spl_solid *s, spl_vec3 p)
{
    spl_vec3 axis = spl_sub(s->b, s->a), d = spl_sub(p, s->a);
    double length = spl_norm(axis), drop = s->r0 - s->r1;
    axis = spl_scale(axis, 1 / length);
    double along = spl_dot(d, axis), across = spl_norm(spl_madd(d, axis, -along));
    double slope = drop / sqrt(largest(length * length - drop * drop, 1e-12));
    double t = (along + across * slope) / length; /* parameter of the sphere that is nearest */
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    double u = along - t * length;
    return sqrt(u * u + across * across) - (s->r0 - t * drop);
}

/* The distance across the axis to the section at the same t; beyond the ends, to a rounded cap. Not exact where the
 * radius changes quickly, but zero on the surface and smooth, which is all that Newton's steps ask for. */
static double loft(const spl_solid *s, spl_vec3 p)
{
    spl_vec3 d = spl_sub(p, s->a);
    double t = spl_dot(d, s->b), a = spl_dot(d, s->ea), b = spl_dot(d, s->eb), out;
    spl_station section = spl_profile_at(s->station, s->station_count, t);
    double n = sqrt(a * a + b * b);
    if (n < 1e-9) {
        out = -smallest(smallest(section.reach[0], section.reach[2]), smallest(section.reach[1], section.reach[3]));
    } else if (s->power == 2) {
        out = n - spl_station_reach(&section, a, b);
    } else {
        double u = fabs(a) / (n * section.reach[a >= 0 ? 0 : 2]), v = fabs(b) / (n * section.reach[b >= 0 ? 1 : 3]);
        out = n - pow(pow(u, s->power) + pow(v, s->power), -1 / s->power);
    }
    double first = s->station[0].t, last = s->station[s->station_count - 1].t;
    double beyond = t < first ? first - t : t > last ? t - last : 0, round = t < first ? s->r0 : s->r1;
    if (beyond == 0) return out;
    double side = largest(out + round, 0);
    return sqrt(side * side + beyond * beyond) - round;
}

static double smooth_min(double a, double b, double k)
{
    double h = largest(k - fabs(a - b), 0) / k;
    return smallest(a, b) - 0.25 * h * h * k;
}

/* Solids are joined in order. The sequence matters only where more than two blends overlap. */
double spl_body_value(const void *context, spl_vec3 p)
{
    const spl_body *body = context;
    double value = 1e3;
    p.x = fabs(p.x);
    for (int32_t i = 0; i < body->count; i++) {
        const spl_solid *s = &body->solid[i];
        /* Far away a solid changes nothing: |smooth_min| only feels differences below k. */
        double far = spl_distance(p, s->centre) - s->radius;
        if (s->carve ? -far < value - s->blend && far > s->blend : far > value + s->blend) continue;
        double d = s->kind == SPL_BALL ? ball(s, p) : s->kind == SPL_CAPSULE ? capsule(s, p) : loft(s, p);
        value = s->carve ? -smooth_min(-value, d, s->blend) : smooth_min(value, d, s->blend);
    }
    if (body->floor > -1e3) value = -smooth_min(-value, p.y - body->floor, 0.012);
    return value;
}
