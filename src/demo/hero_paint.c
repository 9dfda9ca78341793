/* The hero's texture: skin, hair, a face, a shirt, shorts and shoes, with a grid and marks that show how skin moves. */
#include "demo/atlas.h"
#include "demo/hero.h"
#include "demo/motion.h"

/* ---- the atlas -------------------------------------------------------------------------------------------------- */

enum {
    HEAD,
    NECK,
    TRUNK,
    ARM,
    BACK_OF_HAND = ARM + 2,
    PALM = BACK_OF_HAND + 2,
    LEG = PALM + 2,
    FOOT = LEG + 2,
    CHARTS = FOOT + 2
};

static int32_t choose(spl_vec3 centre, spl_vec3 normal)
{
    int32_t joint = spl_hero_owner(centre), right = centre.x < 0;
    if (joint >= SPL_HERO_SHOULDER + SPL_HERO_SIDE) joint -= SPL_HERO_SIDE;
    if (joint <= SPL_HERO_SHOULDER) return joint == SPL_HERO_HEAD ? HEAD : joint == SPL_HERO_NECK ? NECK : TRUNK;
    if (joint <= SPL_HERO_FOREARM) return ARM + right;
    if (joint <= SPL_HERO_THUMB) {
        spl_vec3 mirrored = spl_v3(right ? -normal.x : normal.x, normal.y, normal.z);
        return (spl_dot(mirrored, spl_hero_arm_outer()) >= 0 ? BACK_OF_HAND : PALM) + right;
    }
    return (joint <= SPL_HERO_SHIN ? LEG : FOOT) + right;
}

static spl_vec3 mirror(spl_vec3 p)
{
    return spl_v3(-p.x, p.y, p.z);
}

static void lay_out(spl_chart *chart)
{
    const spl_vec3 up = {0, 1, 0}, front = {0, 0, 1};
    spl_vec3 arm = spl_hero_arm_axis(), outer = spl_hero_arm_outer();
    spl_vec3 shoulder = spl_hero_joint(SPL_HERO_UPPER_ARM), hip = spl_hero_joint(SPL_HERO_THIGH);
    spl_vec3 ankle = spl_hero_joint(SPL_HERO_FOOT), leg = spl_unit(spl_sub(hip, ankle), up);
    spl_vec3 side = spl_unit(spl_madd(spl_v3(1, 0, 0), leg, -leg.x), up), sole = spl_v3(ankle.x + 0.008, 0.03, 0);
    chart[HEAD] = (spl_chart){SPL_CHART_SPHERE, spl_v3(0, 1.635, 0), up, front, -1.35, 1.571, 0.09, 0, 0, 0.5, 0.31};
    chart[NECK] = (spl_chart){SPL_CHART_ROUND, spl_v3(0, 0, -0.02), up, front, 1.46, 1.63, 0.06, 0, 0.315, 0.5, 0.07};
    chart[TRUNK] = (spl_chart){SPL_CHART_ROUND, spl_v3(0, 0, 0), up, front, 0.80, 1.58, 0.15, 0.5, 0, 0.5, 0.42};
    for (int right = 0; right < 2; right++) {
        double x = 0.25 * right, x2 = 0.125 * right;
        chart[ARM + right] =
            (spl_chart){SPL_CHART_ROUND, shoulder, arm, outer, -0.03, 0.57, 0.045, x, 0.39, 0.25, 0.36};
        chart[BACK_OF_HAND + right] =
            (spl_chart){SPL_CHART_FLAT, shoulder, arm, front, 0.51, 0.74, 0.09, x2, 0.76, 0.125, 0.24};
        chart[PALM + right] =
            (spl_chart){SPL_CHART_FLAT, shoulder, arm, front, 0.51, 0.74, 0.09, 0.25 + x2, 0.76, 0.125, 0.24};
        chart[LEG + right] = (spl_chart){SPL_CHART_ROUND, hip, leg, side, -0.85, 0.06, 0.06, 0.5 + x, 0.43, 0.25, 0.42};
        chart[FOOT + right] =
            (spl_chart){SPL_CHART_ROUND, sole, front, up, -0.11, 0.20, 0.04, 0.5 + x, 0.86, 0.25, 0.14};
        arm = mirror(arm);
        outer = mirror(outer);
        shoulder = mirror(shoulder);
        hip = mirror(hip);
        leg = mirror(leg);
        side = mirror(side);
        sole = mirror(sole);
    }
}

/* ---- colours ---------------------------------------------------------------------------------------------------- */

typedef struct color {
    double r, g, b;
} color;

static const color skin_color = {0.87, 0.66, 0.54}, hair_color = {0.24, 0.15, 0.10}, shirt_color = {0.13, 0.47, 0.56};
static const color shorts_color = {0.20, 0.22, 0.31}, shoe_color = {0.78, 0.27, 0.16}, white = {0.95, 0.94, 0.91};
static const color lip_color = {0.74, 0.42, 0.38}, ink = {0.10, 0.16, 0.34}, dark = {0.10, 0.07, 0.06};

static color mix(color a, color b, double t)
{
    return (color){a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

static double between(double x, double low, double high, double soft)
{
    return spl_smooth(low - soft, low + soft, x) * (1 - spl_smooth(high - soft, high + soft, x));
}

/* 1 inside the ellipse about (cx, cy), 0 outside, over an edge of `soft` radii. */
static double disc(double x, double y, double cx, double cy, double rx, double ry, double soft)
{
    double u = (x - cx) / rx, v = (y - cy) / ry;
    return 1 - spl_smooth(1 - soft, 1 + soft, sqrt(u * u + v * v));
}

/* Distance to the nearest multiple of `period`. */
static double to_line(double x, double period)
{
    return fabs(x - period * floor(x / period + 0.5));
}

/* Thin lines every 25 mm, stronger ones every 100 mm, a dot where strong ones cross and a cross between the dots. */
static color marks(color base, color line, double across, double along, double strength)
{
    double thin = fmin(to_line(across, 0.025), to_line(along, 0.025));
    double strong = fmin(to_line(across, 0.1), to_line(along, 0.1));
    base = mix(base, line, strength * (1 - spl_smooth(0.0006, 0.0014, thin)));
    base = mix(base, line, strength * (1 - spl_smooth(0.0010, 0.0020, strong)));
    double dx = to_line(across, 0.1), dy = to_line(along, 0.1), cx = 0.05 - dx, cy = 0.05 - dy;
    base = mix(base, line, 2.2 * strength * (1 - spl_smooth(0.0055, 0.0065, sqrt(dx * dx + dy * dy))));
    double plus = fmax(cx, cy) < 0.009 ? fmin(cx, cy) : 1;
    return mix(base, line, 2.2 * strength * (1 - spl_smooth(0.0014, 0.0022, plus)));
}

/* A five-pointed star, negative inside: the fold of the plane into one of its ten wedges. */
static double star(double x, double y, double radius)
{
    const double fifth = 2 * 3.14159265358979323846 / 5;
    double angle = atan2(x, y), r = sqrt(x * x + y * y);
    angle = fabs(angle - fifth * floor(angle / fifth + 0.5));
    double px = r * sin(angle), py = r * cos(angle);
    /* The edge from the tip (0, radius) to the inner corner at a tenth of a turn and 0.42 of the radius. */
    double ex = 0.42 * radius * sin(fifth / 2), ey = 0.42 * radius * cos(fifth / 2) - radius;
    return (px * -ey + (py - radius) * ex) / sqrt(ex * ex + ey * ey);
}

/* ---- the parts -------------------------------------------------------------------------------------------------- */

static color skin(spl_vec3 p)
{
    double tone = 0.020 * spl_noise(p, 0.05) + 0.012 * spl_noise(p, 0.012);
    color c = {skin_color.r + tone, skin_color.g + 1.2 * tone, skin_color.b + 1.2 * tone};
    return mix(c, (color){0.84, 0.52, 0.44}, 0.10 + 0.10 * spl_noise(spl_v3(p.x, p.y + 7, p.z), 0.08));
}

static color hair(spl_vec3 p)
{
    double strand = spl_noise(spl_v3(p.x * 7, p.y, p.z * 3), 0.02);
    return mix(hair_color, (color){0.40, 0.27, 0.18}, 0.25 + 0.25 * strand);
}

/* Where the hair begins: high on the forehead, down the temples in front of the ears, low in the neck. */
static double hairline(spl_vec3 p)
{
    double x = fabs(p.x), front = 1.712 - 0.012 * spl_smooth(0.02, 0.05, x), temple = 1.655, nape = 1.572;
    double line = temple + (front - temple) * spl_smooth(0.030, 0.062, p.z);
    return nape + (line - nape) * spl_smooth(-0.050, 0.002, p.z) + 0.003 * spl_noise(p, 0.012);
}

static color eye(color base, double x, double y)
{
    const double cx = 0.0315, cy = 1.6415;
    double lid = disc(x, y, cx, cy + 0.0007, 0.0170, 0.0086, 0.12);
    double ball = disc(x, y, cx, cy, 0.0148, 0.0060, 0.08);
    base = mix(base, (color){0.42, 0.24, 0.18}, 0.75 * lid);
    base = mix(base, white, ball);
    base = mix(base, (color){0.28, 0.36, 0.30}, ball * disc(x, y, cx - 0.0005, cy, 0.0062, 0.0062, 0.10));
    base = mix(base, dark, ball * disc(x, y, cx - 0.0005, cy, 0.0031, 0.0031, 0.15));
    return mix(base, white, ball * disc(x, y, cx + 0.0016, cy + 0.0022, 0.0012, 0.0012, 0.4));
}

static color face(color base, spl_vec3 p)
{
    double x = fabs(p.x), y = p.y;
    base = mix(base, (color){0.85, 0.47, 0.40}, 0.35 * disc(x, y, 0.043, 1.606, 0.026, 0.020, 0.9));
    base = mix(base, (color){0.82, 0.45, 0.38}, 0.30 * disc(x, y, 0, 1.605, 0.016, 0.014, 0.9));
    base = mix(base, (color){0.62, 0.42, 0.35}, 0.40 * disc(x, y, 0.031, 1.645, 0.026, 0.016, 0.8)); /* socket */
    base = eye(base, x, y);
    double arch = 1.6610 + 0.0045 * spl_smooth(0.010, 0.036, x) - 0.0060 * spl_smooth(0.036, 0.052, x);
    double half = 0.0040 - 0.0018 * spl_smooth(0.020, 0.052, x);
    base =
        mix(base, hair_color, 0.9 * between(x, 0.0125, 0.0500, 0.0015) * between(y, arch - half, arch + half, 0.0012));
    /* Lips: an upper one with a bow, a fuller lower one, and the line between them. */
    double line = 1.5690 + 0.0012 * spl_smooth(0.004, 0.022, x), taper = 1 - spl_smooth(0.010, 0.0255, x);
    double bow = 0.0060 + 0.0012 * disc(x, 0, 0.006, 0, 0.006, 1, 0.9);
    base = mix(base, lip_color, 0.85 * between(y, line - 0.0085 * taper, line + bow * taper, 0.0008) * (x < 0.0255));
    base = mix(base, (color){0.35, 0.15, 0.14}, 0.85 * (1 - spl_smooth(0.0006, 0.0015, fabs(y - line))) * (x < 0.0245));
    return mix(base, dark, 0.7 * disc(x, y, 0.0078, 1.5975, 0.0038, 0.0022, 0.4) * (p.z > 0.09));
}

/* How far outside the shirt's round neck a point lies: what is within an egg about the neck's root is bare. */
static double collar(spl_vec3 p)
{
    return 0.09 * (spl_norm(spl_v3(p.x / 0.092, (p.y - 1.515 + 0.25 * p.z) / 0.090, (p.z + 0.012) / 0.105)) - 1);
}

static color shirt(spl_vec3 p, double across, double along, double edge)
{
    color base = mix(shirt_color, (color){0.08, 0.34, 0.42}, 0.15 + 0.15 * spl_noise(p, 0.06));
    base = marks(base, white, across, along, 0.22);
    if (p.z > 0 && fabs(p.x) < 0.12 && p.y > 1.15) { /* the badge on the chest */
        double x = p.x, y = p.y - 1.305, r = sqrt(x * x + y * y);
        base = mix(base, shirt_color, 1 - spl_smooth(0.056, 0.058, r));
        base = mix(base, (color){0.97, 0.80, 0.30}, between(r, 0.044, 0.052, 0.0008));
        base = mix(base, (color){0.97, 0.80, 0.30}, 1 - spl_smooth(-0.0008, 0.0008, star(x, y, 0.036)));
    }
    return mix(base, (color){0.06, 0.26, 0.33}, 1 - spl_smooth(0.011, 0.013, edge));
}

static color head(spl_vec3 p, double across, double along)
{
    double edge = collar(p);
    if (edge > 0 && p.y < 1.52) return shirt(p, across, along, edge);
    double ear = spl_smooth(0.0750, 0.0780, fabs(p.x)) * disc(p.z, p.y, -0.012, 1.631, 0.024, 0.036, 0.12);
    color base = skin(p);
    if (p.z > 0.045) base = face(base, p);
    base = mix(base, (color){0.84, 0.48, 0.40}, 0.4 * ear);
    return mix(base, hair(p), spl_smooth(-0.0015, 0.0015, p.y - hairline(p)) * (1 - ear));
}

static color shorts(spl_vec3 p, double across, double along, double edge)
{
    color base = mix(shorts_color, (color){0.13, 0.14, 0.22}, 0.2 + 0.2 * spl_noise(p, 0.05));
    base = marks(base, white, across, along, 0.13);
    base = mix(base, (color){0.85, 0.85, 0.82}, between(p.z, -0.024, 0.004, 0.001) * (fabs(p.x) > 0.12));
    return mix(base, (color){0.12, 0.13, 0.20}, 1 - spl_smooth(0.012, 0.014, edge));
}

static color shoe(spl_vec3 p)
{
    color base = mix(shoe_color, (color){0.60, 0.17, 0.10}, 0.2 + 0.2 * spl_noise(p, 0.03));
    base = mix(base, white, spl_smooth(0.134, 0.138, p.z)); /* toe cap */
    double lace = between(p.z, 0.015, 0.085, 0.003) * between(fabs(p.x), 0.098, 0.132, 0.002) * (p.y > 0.05);
    base = mix(base, white, lace * (1 - spl_smooth(0.0020, 0.0032, to_line(p.z, 0.014))));
    base = mix(base, white, 1 - spl_smooth(0.023, 0.025, p.y));
    return mix(base, (color){0.25, 0.23, 0.22}, 1 - spl_smooth(0.006, 0.008, p.y));
}

static color leg(spl_vec3 p, double across, double along)
{
    double hem = p.y - 0.545, sock = 0.175 - p.y;
    if (hem > 0) return shorts(p, across, along, hem);
    if (sock > 0) return mix(white, (color){0.75, 0.74, 0.72}, to_line(p.y, 0.012) < 0.002 || sock < 0.004 ? 0.6 : 0.1);
    return marks(skin(p), ink, across, along, 0.12);
}

static color arm(spl_vec3 p, double across, double along)
{
    spl_vec3 d = spl_sub(spl_v3(fabs(p.x), p.y, p.z), spl_hero_joint(SPL_HERO_UPPER_ARM));
    double sleeve = 0.165 - spl_dot(d, spl_hero_arm_axis());
    if (sleeve > 0) return shirt(p, across, along, sleeve);
    color base = marks(skin(p), ink, across, along, 0.12);
    if (p.x < 0) return base;
    /* A tattoo on the left forearm's outer side: a star in a ring. */
    double x = across + 0.012, y = along - 0.365, r = sqrt(x * x + y * y);
    if (r < 0.034) base = mix(base, skin(p), 1 - spl_smooth(0.030, 0.033, r));
    base = mix(base, ink, 0.8 * between(r, 0.025, 0.0275, 0.0007));
    return mix(base, ink, 0.8 * (1 - spl_smooth(0.0002, 0.0014, fabs(star(x, y, 0.020)))));
}

static color trunk(spl_vec3 p, double across, double along)
{
    double hem = p.y - 0.925;
    if (collar(p) < 0) return skin(p);
    if (hem > 0) return shirt(p, across, along, fmin(collar(p), hem));
    return shorts(p, across, along, 1);
}

static color hand(spl_vec3 p)
{
    spl_vec3 left = spl_v3(fabs(p.x), p.y, p.z), d = spl_sub(left, spl_hero_joint(SPL_HERO_UPPER_ARM));
    double outer = spl_dot(d, spl_hero_arm_outer()), t = spl_dot(d, spl_hero_arm_axis());
    color base = skin(p);
    if (outer < -0.004) base = mix(base, (color){0.92, 0.70, 0.61}, 0.6); /* the palm is paler */
    return mix(base, (color){0.84, 0.50, 0.42}, 0.25 * between(t, 0.625, 0.645, 0.008));
}

static void paint(spl_vec3 p, double across, double along, double rgb[3])
{
    int32_t joint = spl_hero_owner(p);
    if (joint >= SPL_HERO_SHOULDER + SPL_HERO_SIDE) joint -= SPL_HERO_SIDE;
    color c;
    switch (joint) {
    case SPL_HERO_NECK:
    case SPL_HERO_HEAD:
        c = head(p, across, along);
        break;
    case SPL_HERO_UPPER_ARM:
    case SPL_HERO_FOREARM:
        c = arm(p, across, along);
        break;
    case SPL_HERO_HAND:
    case SPL_HERO_FINGERS:
    case SPL_HERO_THUMB:
        c = hand(p);
        break;
    case SPL_HERO_THIGH:
    case SPL_HERO_SHIN:
        c = leg(p, across, along);
        break;
    case SPL_HERO_FOOT:
    case SPL_HERO_TOES:
        c = shoe(p);
        break;
    default:
        c = trunk(p, across, along);
        break;
    }
    rgb[0] = c.r;
    rgb[1] = c.g;
    rgb[2] = c.b;
}

supple_result spl_hero_texture(spl_shape *shape, spl_pool *pool, spl_rigged_material *material, supple_error *error)
{
    spl_chart chart[CHARTS];
    lay_out(chart);
    spl_atlas_map(shape, chart, choose);
    return spl_atlas_bake(shape, chart, choose, paint, 1024, pool, material, error);
}
