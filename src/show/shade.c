#include "show/shade.h"

/* Irradiance over pi, so that a white diffuse surface facing the key returns about 1. */
static const float KEY[3] = {0.95f, 0.90f, 0.835f};
static const float FILL[3] = {0.085f, 0.10f, 0.125f};
static const float RIM[3] = {0.50f, 0.54f, 0.60f};
static const float SKY[3] = {0.225f, 0.24f, 0.265f};
static const float FLOOR[3] = {0.13f, 0.12f, 0.105f};

/* Flesh scatters light past the terminator: diffuse is (n.l + wrap) / (1 + wrap). */
static const double WRAP = 0.14;
static const double GLOSS = 32, REFLECTANCE = 0.035; /* the power is written out as five squares */

spl_lights spl_lights_for(const spl_camera *c)
{
    const spl_vec3 y = {0, 1, 0};
    spl_vec3 level = {c->back.x, 0, c->back.z};
    /* From straight above, the bottom of the picture is the front. */
    spl_vec3 front = spl_norm(level) > 0.2 ? spl_unit(level, c->back) : spl_scale(c->up, -1);
    spl_vec3 right = c->right;
    spl_lights l;
    l.key = spl_unit(spl_madd(spl_madd(spl_scale(right, -0.80), y, 0.78), front, 0.50), y);
    l.fill = spl_unit(spl_madd(spl_madd(spl_scale(right, 0.85), y, 0.15), front, 0.55), y);
    l.rim = spl_unit(spl_madd(spl_madd(spl_scale(right, 0.55), y, 0.55), front, -0.85), y);
    return l;
}

static void blend_uv(const spl_draw *d, int32_t triangle, const double w[3], double uv[2])
{
    uv[0] = uv[1] = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t corner = 3 * (size_t)triangle + i;
        const float *at = d->corner_uv ? d->corner_uv + 2 * corner : d->uv + 2 * (size_t)d->triangle[corner];
        for (int c = 0; c < 2; c++) uv[c] += w[i] * (double)at[c];
    }
}

/* Texture colour at a position; the filter's size comes from the neighbouring pixels on the same plane. */
static void sample_texture(const spl_draw *d, const spl_raster_triangle *t, double x, double y, const double w[3],
                           float out[4])
{
    double uv[2], du[2], dv[2], next[3];
    blend_uv(d, t->source, w, uv);
    spl_raster_weights(t, x + 1, y, next);
    blend_uv(d, t->source, next, du);
    spl_raster_weights(t, x, y + 1, next);
    blend_uv(d, t->source, next, dv);
    for (int c = 0; c < 2; c++) du[c] -= uv[c], dv[c] -= uv[c];
    double a = sqrt(du[0] * du[0] + du[1] * du[1]), b = sqrt(dv[0] * dv[0] + dv[1] * dv[1]);
    double footprint[2] = {a > b ? a : b, a > b ? b : a};
    spl_texture_sample(d->texture, uv, footprint, out);
}

static bool textured(const spl_draw *d)
{
    return d->texture && d->texture->level_count && (d->uv || d->corner_uv) && !d->color;
}

float spl_surface_alpha(const spl_draw *d, const spl_raster_triangle *t, double x, double y)
{
    if (d->alpha == SPL_ALPHA_OPAQUE) return 1;
    if (!textured(d)) return d->base_color[3];
    double w[3];
    float texel[4];
    spl_raster_weights(t, x, y, w);
    sample_texture(d, t, x, y, w, texel);
    return d->base_color[3] * texel[3];
}

static void color_at(const spl_draw *d, const spl_raster_triangle *t, double x, double y, const double w[3],
                     float out[4])
{
    const int32_t *index = d->triangle + 3 * (size_t)t->source;
    for (int c = 0; c < 4; c++) out[c] = d->base_color[c];
    if (d->color) {
        out[3] = 1;
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int i = 0; i < 3; i++) sum += w[i] * (double)d->color[3 * (size_t)index[i] + (size_t)c];
            out[c] = sum > 0 ? (float)sum : 0; /* also where it is not a number */
        }
    } else if (textured(d)) {
        float texel[4];
        sample_texture(d, t, x, y, w, texel);
        for (int c = 0; c < 4; c++) out[c] *= texel[c];
    }
    if (d->alpha == SPL_ALPHA_OPAQUE) out[3] = 1;
}

void spl_surface_at(const spl_draw *d, const spl_raster_triangle *t, const spl_camera *camera, double x, double y,
                    spl_surface *s)
{
    const int32_t *index = d->triangle + 3 * (size_t)t->source;
    spl_vec3 p[3], n = {0, 0, 0};
    double w[3];
    spl_raster_weights(t, x, y, w);
    s->position = spl_v3(0, 0, 0);
    for (int i = 0; i < 3; i++) {
        p[i] = spl_v3_from_float(d->position + 3 * (size_t)index[i]);
        s->position = spl_madd(s->position, p[i], w[i]);
        if (d->normal) n = spl_madd(n, spl_v3_from_float(d->normal + 3 * (size_t)index[i]), w[i]);
    }
    spl_vec3 viewer = camera->ortho ? camera->back : spl_sub(camera->eye, s->position);
    spl_vec3 plane = spl_unit(spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0])), camera->back);
    if (!spl_v3_finite(n) || !(spl_norm(n) > 1e-12)) n = plane;
    /* A mirrored part has its winding the other way round than its normals: believe the normals. */
    if (spl_dot(plane, n) < 0) plane = spl_scale(plane, -1);
    s->inside = spl_dot(plane, viewer) < 0;
    if (s->inside) n = spl_scale(n, -1);
    s->normal = spl_unit(n, camera->back);
    color_at(d, t, x, y, w, s->color);
}

static double wrapped(spl_vec3 n, spl_vec3 l)
{
    return fmax(0, (spl_dot(n, l) + WRAP) / (1 + WRAP));
}

/* Normalised Blinn-Phong with Schlick's Fresnel term, times n.l. */
static double gloss(spl_vec3 n, spl_vec3 l, spl_vec3 v)
{
    double nl = spl_dot(n, l);
    if (nl <= 0) return 0;
    spl_vec3 h = spl_unit(spl_add(l, v), n);
    double nh = fmax(0, spl_dot(n, h)), m = 1 - fmax(0, spl_dot(v, h)), m2 = m * m;
    double nh2 = nh * nh, nh4 = nh2 * nh2, nh8 = nh4 * nh4, nh16 = nh8 * nh8;
    double fresnel = REFLECTANCE + (1 - REFLECTANCE) * m2 * m2 * m;
    return fresnel * (GLOSS + 8) / 8 * nh16 * nh16 * nl;
}

void spl_surface_light(const spl_surface *s, const spl_lights *lights, spl_vec3 v, float lit, float direct[3],
                       float ambient[3])
{
    float key = (float)wrapped(s->normal, lights->key) * lit, fill = (float)wrapped(s->normal, lights->fill);
    float shine = (float)gloss(s->normal, lights->key, v) * lit;
    /* The rim light counts towards the silhouette only, or it would wash out surfaces that face up. */
    double facing = fmax(0, spl_dot(s->normal, v)), edge = 1 - facing;
    float rim = (float)(fmax(0, spl_dot(s->normal, lights->rim)) * edge * edge);
    if (s->inside) key *= 0.7f, rim = 0, shine = 0; /* skin turned inside out must not shine */
    float up = (float)(0.5 + 0.5 * s->normal.y);
    for (int c = 0; c < 3; c++) {
        direct[c] = s->color[c] * (KEY[c] * key + RIM[c] * rim) + KEY[c] * shine + RIM[c] * rim * 0.25f;
        ambient[c] = s->color[c] * (SKY[c] * up + FLOOR[c] * (1 - up) + FILL[c] * fill);
    }
}

uint8_t spl_tone(float l)
{
    const float knee = 0.70f;
    if (!(l > 0)) return 0;
    if (l > knee) {
        float over = (l - knee) / (1 - knee);
        l = knee + (1 - knee) * over / (1 + 0.55f * over); /* slope 1 at the knee */
    }
    float s = spl_linear_to_srgb(l < 1 ? l : 1);
    return (uint8_t)(s * 255 + 0.5f);
}
