/* Life of a skin: what is found once. */
#include "slide/dermis.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

spl_dermis_settings spl_dermis_settings_default(void)
{
    return (spl_dermis_settings){.law = SPL_MEMBRANE_NEOHOOKEAN,
                                 .young = 1e5,
                                 .poisson = 0.4,
                                 .thickness = 2e-3,
                                 .density = 1100,
                                 .zeta = 1,
                                 .limit = 1e3,
                                 .delta = 1e3,
                                 .drag = 10,
                                 .tolerance = 0.3};
}

/* Of steps: tiny triangles (eyelids, nails) do not say how long they may be, most of the body does. */
static void even_sizes(spl_dermis *s)
{
    double sum = 0, area = 0;
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++) {
        sum += s->patch[v] * s->size[v];
        area += s->patch[v];
    }
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count && area > 0; v++)
        s->size[v] = fmax(s->size[v], 0.5 * sum / area);
}

static void set_holds(spl_dermis *s, const spl_dermis_parts *parts)
{
    const spl_surface *f = &s->net.surface;
    for (int32_t v = 0; v < f->vertex_count; v++) {
        double area = 0, zeta = parts->zeta ? parts->zeta[v] : s->set.zeta;
        for (int32_t e = f->corner_first[v]; e < f->corner_first[v + 1]; e++) area += s->net.area[f->corner[e] / 3];
        s->patch[v] = area / 3;
        s->size[v] = fmax(isfinite(s->net.reach[v]) ? s->net.reach[v] : 0, 0.2 * sqrt(area));
        s->zeta[v] = fmin(fmax(zeta, 0), 1);
        s->drag[v] = parts->drag ? parts->drag[v] : s->set.drag;
        s->hold[v] = parts->hold ? parts->hold[v] : SPL_HOLD_FREE;
        bool lost = s->hold[v] == SPL_HOLD_SLIDING && s->curves.slot[v] < 0;
        bool glued = parts->tether_length && !(parts->tether_length[v] > 0);
        if (!(area > 0) || lost || glued) s->hold[v] = SPL_HOLD_FIXED;
        if (s->hold[v] == SPL_HOLD_SLIDING)
            spl_net_align(&s->net, v, spl_curves_tangent(&s->net, &s->curves, s->curves.slot[v]));
    }
    even_sizes(s);
}

/* Numbers the components that move; returns how many. */
static int32_t number_unknowns(spl_dermis *s)
{
    int32_t count = 0;
    for (int32_t v = 0; v < s->net.surface.vertex_count; v++) {
        s->unknown[2 * (size_t)v] = s->hold[v] != SPL_HOLD_FIXED ? count++ : -1;
        s->unknown[2 * (size_t)v + 1] = s->hold[v] == SPL_HOLD_FREE ? count++ : -1;
    }
    return count;
}

static double corner_mean(const spl_dermis *s, const double *by_vertex, size_t t, double otherwise)
{
    const int32_t *c = s->net.surface.triangle + 3 * t;
    return by_vertex ? (by_vertex[c[0]] + by_vertex[c[1]] + by_vertex[c[2]]) / 3 : otherwise;
}

/* The cosine between a triangle's image in the skin and the normals there from which on it is inside out. Around sharp
 * creases right sides are up to 100 degrees off; what is folded over at rest (a hem) is right so. */
static double upside_down(const spl_net *net, size_t t)
{
    const int32_t *c = net->surface.triangle + 3 * t;
    const spl_vec3 *p = net->surface.position, *up = net->normal;
    spl_vec3 n = spl_cross(spl_sub(p[c[1]], p[c[0]]), spl_sub(p[c[2]], p[c[0]]));
    spl_vec3 sum = spl_add(up[c[0]], spl_add(up[c[1]], up[c[2]]));
    double length = spl_norm(n) * spl_norm(sum);
    return fmin(-0.5, length > 0 ? spl_dot(n, sum) / length - 0.5 : -2);
}

static void find_live(spl_dermis *s, const spl_dermis_parts *parts)
{
    const spl_surface *f = &s->net.surface;
    double E = s->set.young * s->set.thickness, nu = s->set.poisson;
    for (size_t t = 0; t < (size_t)f->triangle_count; t++) {
        const int32_t *c = f->triangle + 3 * t;
        bool moves =
            s->hold[c[0]] != SPL_HOLD_FIXED || s->hold[c[1]] != SPL_HOLD_FIXED || s->hold[c[2]] != SPL_HOLD_FIXED;
        bool live = s->net.area[t] > 0 && moves;
        for (size_t k = 0; k < 3; k++) s->mine[3 * t + k] = live ? 3 * s->live_count + (int32_t)k : -1;
        if (!live) continue;
        double soft = corner_mean(s, parts->stiffness, t, 1);
        double strain = corner_mean(s, parts->prestrain, t, s->set.prestrain);
        size_t l = (size_t)s->live_count++;
        s->live[l] = (int32_t)t;
        s->over[l] = upside_down(&s->net, t);
        s->mu[l] = soft * E / (2 * (1 + nu)); /* plane stress */
        s->lambda[l] = soft * E * nu / (1 - nu * nu);
        s->shrink[l] = 1 / ((1 + strain) * (1 + strain));
    }
}

static bool allocate_constant(spl_dermis *s)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)s->net.surface.vertex_count, m = (size_t)s->net.surface.triangle_count;
    s->hold = spl_new(a, n, 1);
    s->zeta = spl_new(a, n, sizeof *s->zeta);
    s->drag = spl_new(a, n, sizeof *s->drag);
    s->patch = spl_new(a, n, sizeof *s->patch);
    s->size = spl_new(a, n, sizeof *s->size);
    s->unknown = spl_new(a, n, 2 * sizeof *s->unknown);
    s->diagonal = spl_new(a, n, 3 * sizeof *s->diagonal);
    s->live = spl_new(a, m, sizeof *s->live);
    s->over = spl_new(a, m, sizeof *s->over);
    s->mu = spl_new(a, m, sizeof *s->mu);
    s->lambda = spl_new(a, m, sizeof *s->lambda);
    s->shrink = spl_new(a, m, sizeof *s->shrink);
    s->mine = spl_new(a, m, 3 * sizeof *s->mine);
    return s->hold && s->zeta && s->drag && s->patch && s->size && s->unknown && s->diagonal && s->live && s->over &&
           s->mu && s->lambda && s->shrink && s->mine;
}

static bool allocate_state(spl_dermis *s)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)s->net.surface.vertex_count;
    size_t slots = s->curves.count ? (size_t)s->curves.first[s->curves.count] : 0;
    spl_vec3 **points[] = {&s->x, &s->Y, &s->x_new, &s->x_frame, &s->x_begin, &s->Y_new, &s->up};
    double **pairs[] = {&s->v, &s->v_new, &s->slip, &s->force};
    bool made = true;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        made = (*points[i] = spl_new(a, n, sizeof **points[i])) && made;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        made = (*pairs[i] = spl_new(a, n, 2 * sizeof **pairs[i])) && made;
    s->place = spl_new(a, n, sizeof *s->place);
    s->place_new = spl_new(a, n, sizeof *s->place_new);
    s->theta = spl_new(a, slots, sizeof *s->theta);
    s->theta_new = spl_new(a, slots, sizeof *s->theta_new);
    s->jacobian = spl_new(a, n, 6 * sizeof *s->jacobian);
    s->mass = spl_new(a, n, 3 * sizeof *s->mass);
    return made && s->place && s->place_new && s->theta && s->theta_new && s->jacobian && s->mass;
}

/* What is left of a triangle's stiffness where an axis of its stance has a stretch whose square is `c`. */
static double trusted(double c)
{
    static const double crumpled = 0.04; /* a stretch of a fifth */
    return fmin(c / crumpled, 1);
}

/* With C = R^-T g R^-1 of the stance, in the triangle's frame: R^-1 C^-1/2 R. Where skinning crumples armpits into
 * folds, what it makes of a triangle is no measure of skin: the stance is unstressed there too, but opening the fold
 * costs no more than if it had been a fifth as wide, by the share of the stiffness that is returned. */
static double relax_triangle(const spl_net *net, size_t t, const spl_vec3 *x, double out[4])
{
    static const double least = 1e-6, most = 1e6; /* of C */
    const int32_t *c = net->surface.triangle + 3 * t;
    const double *r = net->inverse + 3 * t;
    spl_vec3 d1 = spl_sub(x[c[1]], x[c[0]]), d2 = spl_sub(x[c[2]], x[c[0]]);
    spl_vec3 a = spl_scale(d1, r[0]), b = spl_madd(spl_scale(d1, r[1]), d2, r[2]);
    double aa = spl_dot(a, a), ab = spl_dot(a, b), bb = spl_dot(b, b);
    double angle = atan2(2 * ab, aa - bb) / 2, middle = (aa + bb) / 2, radius = hypot((aa - bb) / 2, ab);
    double p = 1 / sqrt(fmin(fmax(middle + radius, least), most)), u = cos(angle);
    double q = 1 / sqrt(fmin(fmax(middle - radius, least), most)), w = sin(angle);
    double m00 = p * u * u + q * w * w, m01 = (p - q) * u * w, m11 = p * w * w + q * u * u;
    double R00 = 1 / r[0], R11 = 1 / r[2], R01 = -r[1] * R00 * R11;
    double n00 = m00 * R00, n01 = m00 * R01 + m01 * R11, n10 = m01 * R00, n11 = m01 * R01 + m11 * R11;
    out[0] = r[0] * n00 + r[1] * n10;
    out[1] = r[0] * n01 + r[1] * n11;
    out[2] = r[2] * n10;
    out[3] = r[2] * n11;
    return trusted(fmax(middle + radius, least)) * trusted(fmax(middle - radius, least));
}

static bool take_push(spl_dermis *s, const spl_dermis_parts *parts)
{
    size_t n = (size_t)s->net.surface.vertex_count;
    bool any = false;
    for (size_t v = 0; v < n && parts->push; v++) any = any || spl_dot(parts->push[v], parts->push[v]) > 0;
    if (!any) return true;
    s->push = spl_new(&s->allocator, n, sizeof *s->push);
    if (s->push) memcpy(s->push, parts->push, n * sizeof *s->push);
    return s->push != NULL;
}

static bool find_relaxation(spl_dermis *s, const spl_dermis_parts *parts)
{
    if (!parts->stance) return true;
    s->relax = spl_new(&s->allocator, (size_t)s->live_count, 4 * sizeof *s->relax);
    for (size_t l = 0; s->relax && l < (size_t)s->live_count; l++) {
        double left = relax_triangle(&s->net, (size_t)s->live[l], parts->stance, s->relax + 4 * l);
        s->mu[l] *= left;
        s->lambda[l] *= left;
    }
    return s->relax != NULL;
}

/* Skin without tethers has none of this. */
static bool allocate_tethers(spl_dermis *s, const spl_dermis_parts *parts)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)s->net.surface.vertex_count;
    if (!parts->tether_length) return true;
    s->tether_length = spl_new(a, n, sizeof *s->tether_length);
    s->tether_pressure = spl_new(a, n, sizeof *s->tether_pressure);
    s->tether_W = spl_new(a, n, sizeof *s->tether_W);
    s->tether_K = spl_new(a, n, 3 * sizeof *s->tether_K);
    if (!s->tether_length || !s->tether_pressure || !s->tether_W || !s->tether_K) return false;
    memcpy(s->tether_length, parts->tether_length, n * sizeof *s->tether_length);
    memcpy(s->tether_pressure, parts->tether_pressure, n * sizeof *s->tether_pressure);
    return true;
}

static bool allocate_elements(spl_dermis *s)
{
    const supple_allocator *a = &s->allocator;
    size_t m = (size_t)s->live_count;
    s->element_jacobian = spl_new(a, m, 6 * sizeof(double));
    s->element_W = spl_new(a, m, sizeof(double));
    s->element_f = spl_new(a, m, 6 * sizeof(double));
    s->element_mass = spl_new(a, m, 9 * sizeof(double));
    s->element_K = spl_new(a, m, 21 * sizeof(double));
    s->element_broken = spl_new(a, m, sizeof(bool));
    return s->element_jacobian && s->element_W && s->element_f && s->element_mass && s->element_K && s->element_broken;
}

static void find_diagonals(spl_dermis *s)
{
    for (size_t v = 0; v < (size_t)s->net.surface.vertex_count; v++) {
        int32_t a = s->unknown[2 * v], b = s->unknown[2 * v + 1], *d = s->diagonal + 3 * v;
        const spl_pattern *p = &s->assembly.pattern;
        d[0] = a < 0 ? -1 : (int32_t)spl_pattern_find(p, a, a);
        d[1] = b < 0 ? -1 : (int32_t)spl_pattern_find(p, b, a);
        d[2] = b < 0 ? -1 : (int32_t)spl_pattern_find(p, b, b);
    }
}

/* The matrix of (10) after elimination: six scalar corners a triangle. */
static supple_result make_system(spl_dermis *s, int32_t unknowns, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    spl_factor_options options = {.single = true};
    size_t m = (size_t)s->live_count;
    int32_t *corner = spl_new(a, m, 6 * sizeof *corner);
    if (!corner) return spl_fail_memory(error, "the skin's system");
    for (size_t l = 0; l < m; l++)
        for (size_t k = 0; k < 3; k++) {
            int32_t v = s->net.surface.triangle[3 * (size_t)s->live[l] + k];
            corner[6 * l + 2 * k] = 2 * v;
            corner[6 * l + 2 * k + 1] = 2 * v + 1;
        }
    supple_result result = spl_assembly_create(corner, m, 6, 2 * s->net.surface.vertex_count, s->unknown, unknowns, 1,
                                               a, &s->assembly, error);
    spl_free(a, corner);
    if (result == SUPPLE_OK) result = spl_rows_create(&s->assembly.pattern, a, &s->rows, error);
    if (result == SUPPLE_OK) result = spl_factor_create(&s->assembly.pattern, &options, a, s->pool, &s->factor, error);
    if (result == SUPPLE_OK) result = spl_pcg_create((size_t)unknowns, 1, a, s->pool, &s->pcg, error);
    if (result != SUPPLE_OK) return result;
    s->value = spl_new(a, spl_pattern_values(&s->assembly.pattern), sizeof *s->value);
    s->right = spl_new(a, (size_t)unknowns, sizeof *s->right);
    s->solution = spl_new(a, (size_t)unknowns, sizeof *s->solution);
    s->single = spl_new(a, (size_t)unknowns, sizeof *s->single);
    if (!s->value || !s->right || !s->solution || !s->single) return spl_fail_memory(error, "the skin's system");
    find_diagonals(s);
    return SUPPLE_OK;
}

static supple_result build(spl_dermis *s, const spl_dermis_parts *parts, supple_error *error)
{
    supple_result result = spl_curves_make(&s->net, parts->edge, parts->edge_count, &s->allocator, &s->curves, error);
    if (result != SUPPLE_OK) return result;
    if (!allocate_constant(s) || !allocate_state(s) || !allocate_tethers(s, parts))
        return spl_fail_memory(error, "the skin");
    set_holds(s, parts);
    find_live(s, parts);
    int32_t unknowns = number_unknowns(s);
    if (!allocate_elements(s) || !find_relaxation(s, parts) || !take_push(s, parts))
        return spl_fail_memory(error, "the skin");
    if (unknowns > 0) result = make_system(s, unknowns, error);
    if (result == SUPPLE_OK) spl_dermis_reset(s);
    return result;
}

supple_result spl_dermis_create(spl_net *net, const spl_dermis_settings *settings, const spl_dermis_parts *parts,
                                spl_pool *pool, const supple_allocator *a, spl_dermis **out, supple_error *error)
{
    static const spl_dermis_parts none;
    *out = NULL;
    spl_dermis *s = spl_new(a, 1, sizeof *s);
    if (!s) {
        spl_net_release(net);
        return spl_fail_memory(error, "the skin");
    }
    s->allocator = *a;
    s->pool = pool;
    s->net = *net;
    s->set = *settings;
    *net = (spl_net){0};
    supple_result result = build(s, parts ? parts : &none, error);
    if (result == SUPPLE_OK)
        *out = s;
    else
        spl_dermis_destroy(s);
    return result;
}

void spl_dermis_destroy(spl_dermis *s)
{
    if (!s) return;
    supple_allocator a = s->allocator;
    void *block[] = {s->hold,
                     s->zeta,
                     s->drag,
                     s->patch,
                     s->size,
                     s->unknown,
                     s->diagonal,
                     s->live,
                     s->over,
                     s->mu,
                     s->lambda,
                     s->shrink,
                     s->mine,
                     s->x,
                     s->place,
                     s->Y,
                     s->theta,
                     s->v,
                     s->x_new,
                     s->x_frame,
                     s->x_begin,
                     s->place_new,
                     s->Y_new,
                     s->theta_new,
                     s->v_new,
                     s->slip,
                     s->jacobian,
                     s->force,
                     s->mass,
                     s->relax,
                     s->push,
                     s->tether_length,
                     s->tether_pressure,
                     s->tether_W,
                     s->tether_K,

                     s->element_W,
                     s->element_f,
                     s->element_mass,
                     s->element_K,
                     s->element_broken,
                     s->element_jacobian,
                     s->value,
                     s->right,
                     s->solution,
                     s->single,
                     s->up};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a, block[i]);
    if (s->factor) spl_factor_destroy(s->factor);
    spl_pcg_destroy(s->pcg);
    spl_rows_release(&s->rows, &a);
    spl_assembly_release(&s->assembly, &a);
    spl_curves_release(&s->curves);
    spl_net_release(&s->net);
    spl_free(&a, s);
}

void spl_dermis_reset(spl_dermis *s)
{
    const spl_surface *f = &s->net.surface;
    size_t n = (size_t)f->vertex_count;
    for (int32_t v = 0; v < f->vertex_count; v++) {
        s->x[v] = s->Y[v] = f->position[v];
        s->place[v] = spl_net_vertex(&s->net, v);
    }
    for (int32_t k = 0; s->curves.count && k < s->curves.first[s->curves.count]; k++) s->theta[k] = s->curves.theta[k];
    memset(s->v, 0, 2 * n * sizeof *s->v);
    s->turn = spl_mat3_identity();
    s->level = 0;
    s->moving = s->factored = false;
    s->skip = s->skips = 0;
    s->stats = (spl_dermis_stats){0};
}

void spl_dermis_put(spl_dermis *s, const spl_place *place)
{
    for (int32_t v = 0; v < s->net.surface.vertex_count; v++) {
        if (s->hold[v] == SPL_HOLD_SLIDING || place[v].triangle < 0) continue;
        s->place[v] = place[v];
        s->Y[v] = spl_surface_point(&s->net.surface, &place[v]);
    }
}
