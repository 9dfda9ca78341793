#include "methods/steklov/springs.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

supple_result spl_springs_create(const spl_exrotated *system, spl_contacts *contacts, double factor, bool along,
                                 spl_springs *out, supple_error *error)
{
    const supple_allocator *a = &system->allocator;
    *out = (spl_springs){.allocator = *a, .system = system, .contacts = contacts, .factor = factor, .along = along};
    size_t capacity = contacts ? (size_t)spl_contacts_capacity(contacts) : 0;
    size_t vertices = contacts ? (size_t)system->solid->elements.vertex_count : 0;
    out->known = spl_new(a, capacity, sizeof *out->known);
    out->place = spl_new(a, vertices, 2 * sizeof *out->place);
    out->list = spl_new(a, capacity, sizeof *out->list);
    size_t nodes = contacts ? (size_t)system->order.count : 0;
    out->extra = spl_new(a, nodes, 9 * sizeof *out->extra);
    out->stiff = spl_new(a, nodes, sizeof *out->stiff);
    out->stiff_place = spl_new(a, nodes, sizeof *out->stiff_place);
    for (size_t i = 0; out->stiff_place && i < nodes; i++) out->stiff_place[i] = -1;
    if (out->known && out->place && out->list && out->extra && out->stiff && out->stiff_place) return SUPPLE_OK;
    spl_springs_release(out);
    return spl_fail_memory(error, "the contacts' springs");
}

void spl_springs_release(spl_springs *s)
{
    if (!s->allocator.release) return;
    spl_free(&s->allocator, s->known);
    spl_free(&s->allocator, s->place);
    spl_free(&s->allocator, s->list);
    spl_free(&s->allocator, s->extra);
    spl_free(&s->allocator, s->stiff);
    spl_free(&s->allocator, s->stiff_place);
    *s = (spl_springs){0};
}

void spl_springs_begin(spl_springs *s)
{
    s->count = s->pairs = s->known_count = s->set_count = s->finds = s->cycles = 0;
    s->same = s->keep = false;
}

/* ---- making them ---- */

static spl_vec3 point_of(const double *x, int32_t vertex)
{
    const double *p = x + 3 * (size_t)vertex;
    return spl_v3(p[0], p[1], p[2]);
}

static spl_vec3 touching_point(const int32_t corner[3], const double bary[3], const double *x)
{
    spl_vec3 t = spl_v3(0, 0, 0);
    for (int q = 0; q < 3; q++) t = spl_madd(t, point_of(x, corner[q]), bary[q]);
    return t;
}

/* A pair along normals has the plane through its touching point: its energy is k/2 of the squared distance to that, its
 * Hessian k n n^T. Around edges and vertices of what is touched the distance to the surface has a stiffness across the
 * normal too, and with that the path from frame to frame was rougher (docs/steklov.md). */
static spl_contact_spring spring_of(const spl_springs *s, const spl_contact *c)
{
    spl_contact_spring out = {.vertex = c->vertex,
                              .offset = c->offset,
                              .target = c->target,
                              .normal = c->normal,
                              .stiffness = spl_springs_stiffness(s, c),
                              .along = s->along || s->keep};
    memcpy(out.corner, c->corner, sizeof out.corner);
    memcpy(out.bary, c->bary, sizeof out.bary);
    return out;
}

/* Where kept pairs are at x. */
static void follow(spl_springs *s, const double *x)
{
    for (int32_t i = 0; i < s->known_count; i++) {
        spl_contact *k = &s->known[i];
        if (k->corner[0] >= 0) k->target = spl_madd(touching_point(k->corner, k->bary, x), k->normal, k->offset);
        k->depth = spl_dot(spl_sub(k->target, point_of(x, k->vertex)), k->normal);
    }
}

static int32_t *place_of(spl_springs *s, const spl_contact *c)
{
    return &s->place[2 * (size_t)c->vertex + (c->corner[0] < 0)];
}

static void make_list(spl_springs *s)
{
    s->count = s->pairs = 0;
    for (int32_t i = 0; i < s->known_count; i++) {
        if (!(s->known[i].depth > 0)) continue;
        s->list[s->count++] = spring_of(s, &s->known[i]);
        s->pairs++;
    }
}

/* Takes the contacts that were found; kept pairs stand as they are. */
static void learn(spl_springs *s)
{
    int32_t found;
    const spl_contact *c = spl_contacts_list(s->contacts, &found);
    if (!s->keep) s->known_count = 0;
    for (int32_t i = 0; i < found; i++) {
        if (s->keep && *place_of(s, &c[i]) >= 0) continue;
        *place_of(s, &c[i]) = s->known_count;
        s->known[s->known_count++] = c[i];
    }
}

/* A set is known by its vertices and whether each touches the body or the world. */
static uint64_t hash_of(const spl_springs *s)
{
    uint64_t h = 0x9e3779b97f4a7c15U;
    for (int32_t i = 0; i < s->known_count; i++) {
        if (!(s->known[i].depth > 0)) continue;
        h ^= 2 * (uint64_t)s->known[i].vertex + (s->known[i].corner[0] < 0);
        h *= 0xff51afd7ed558ccdU;
        h ^= h >> 32;
    }
    return h;
}

/* From now on pairs are kept: those that are known say where they are. */
static void begin_keeping(spl_springs *s)
{
    size_t n = (size_t)s->system->solid->elements.vertex_count;
    for (size_t i = 0; i < 2 * n; i++) s->place[i] = -1;
    for (int32_t i = 0; i < s->known_count; i++) *place_of(s, &s->known[i]) = i;
    s->keep = true;
}

static void remember_set(spl_springs *s)
{
    uint64_t h = hash_of(s);
    bool cycle = false;
    s->same = s->set_count > 0 && s->set[s->set_count - 1] == h;
    for (int32_t i = 0; !s->same && i < s->set_count - 1; i++) cycle = cycle || s->set[i] == h;
    s->cycles += cycle;
    if (!s->keep && (cycle || s->finds >= SPL_FRESH)) begin_keeping(s);
    if (s->set_count == SPL_SETS) memmove(s->set, s->set + 1, (size_t)(--s->set_count) * sizeof *s->set);
    s->set[s->set_count++] = h;
}

void spl_springs_find(spl_springs *s, const double *x, bool all)
{
    s->fresh = true;
    s->frozen = false;
    s->same = !s->contacts;
    if (!s->contacts) return;
    if (s->keep) follow(s, x);
    s->fresh = all || !s->keep;
    if (s->fresh) {
        s->finds++;
        spl_contacts_find(s->contacts, x, s->system->pool);
        learn(s);
    }
    bool kept = s->keep;
    make_list(s);
    remember_set(s);
    if (s->keep && !kept && !s->along) make_list(s); /* they have planes now */
}

void spl_springs_refresh(spl_springs *s, const double *x)
{
    for (int32_t i = 0; i < s->count; i++)
        if (s->list[i].corner[0] >= 0)
            s->list[i].target =
                spl_madd(touching_point(s->list[i].corner, s->list[i].bary, x), s->list[i].normal, s->list[i].offset);
    s->same = s->frozen = true;
}

/* ---- what they do ---- */

/* x_v - sum_q b_q x_q in a vector by node, where held vertices count as 0. */
static spl_vec3 gap(const spl_springs *s, int32_t vertex, const int32_t corner[3], const double bary[3], int32_t first,
                    const double *x)
{
    const int32_t *node = s->system->order.node;
    spl_vec3 d = point_of(x, node[vertex] - first);
    for (int q = 0; q < 3 && corner[0] >= 0; q++)
        if (node[corner[q]] >= 0) d = spl_madd(d, point_of(x, node[corner[q]] - first), -bary[q]);
    return d;
}

/* Adds f to the vertex and the opposite to the corners. */
static void spread(const spl_springs *s, const spl_contact_spring *p, int32_t first, spl_vec3 f, double *out)
{
    const int32_t *node = s->system->order.node;
    double *v = out + 3 * (size_t)(node[p->vertex] - first);
    v[0] += f.x;
    v[1] += f.y;
    v[2] += f.z;
    for (int q = 0; q < 3 && p->corner[0] >= 0; q++) {
        if (node[p->corner[q]] < 0) continue;
        double *y = out + 3 * (size_t)(node[p->corner[q]] - first), b = p->bary[q];
        y[0] -= b * f.x;
        y[1] -= b * f.y;
        y[2] -= b * f.z;
    }
}

void spl_springs_pull(const spl_springs *s, const double *x, int32_t first, double *force)
{
    for (int32_t i = 0; i < s->count; i++) {
        const spl_contact_spring *p = &s->list[i];
        spl_vec3 d = spl_sub(point_of(x, p->vertex), p->target);
        if (p->along) d = spl_scale(p->normal, spl_dot(d, p->normal));
        spread(s, p, first, spl_scale(d, -p->stiffness), force);
    }
}

void spl_springs_multiply(const spl_springs *s, int32_t first, const double *x, double *y)
{
    for (int32_t i = 0; i < s->count; i++) {
        const spl_contact_spring *p = &s->list[i];
        spl_vec3 d = gap(s, p->vertex, p->corner, p->bary, first, x);
        if (p->along) d = spl_scale(p->normal, spl_dot(d, p->normal));
        spread(s, p, first, spl_scale(d, p->stiffness), y);
    }
}

double spl_springs_stiffness(const spl_springs *s, const spl_contact *c)
{
    return c->share * s->factor * s->system->stiffness[c->vertex];
}

void spl_springs_along(const spl_springs *s, const double *dx, double *along)
{
    for (int32_t i = 0; i < s->known_count; i++) {
        const spl_contact *k = &s->known[i];
        along[i] = spl_dot(gap(s, k->vertex, k->corner, k->bary, 0, dx), k->normal);
    }
}

void spl_springs_press(const spl_springs *s, double *force)
{
    for (int32_t i = 0; i < s->known_count; i++) {
        const spl_contact *k = &s->known[i];
        if (!(k->depth > 0)) continue;
        spl_contact_spring p = {.vertex = k->vertex};
        memcpy(p.corner, k->corner, sizeof p.corner);
        memcpy(p.bary, k->bary, sizeof p.bary);
        spread(s, &p, 0, spl_scale(k->normal, spl_springs_stiffness(s, k) * k->depth), force);
    }
}

bool spl_springs_relist(spl_springs *s)
{
    uint64_t h = hash_of(s);
    if (s->set_count > 0 && s->set[s->set_count - 1] == h) return false;
    make_list(s);
    remember_set(s);
    return true;
}

/* The energy's derivative at a share a of the step. */
static double slope_at(const spl_springs *s, int32_t first, const double *dx, double a)
{
    double sum = 0;
    for (int32_t i = 0; i < s->known_count; i++) {
        const spl_contact *k = &s->known[i];
        double along = spl_dot(gap(s, k->vertex, k->corner, k->bary, first, dx), k->normal);
        double depth = k->depth - a * along;
        if (depth > 0) sum -= spl_springs_stiffness(s, k) * depth * along;
    }
    return sum;
}

double spl_springs_search(const spl_springs *s, int32_t first, const double *dx, double slope, double curvature)
{
    double low = 0, high = 1;
    if (s->frozen || s->known_count == 0 || curvature - slope + slope_at(s, first, dx, 1) <= 0) return 1;
    for (int i = 0; i < 30; i++) {
        double a = 0.5 * (low + high);
        if (a * curvature - slope + slope_at(s, first, dx, a) > 0)
            high = a;
        else
            low = a;
    }
    return high;
}

void spl_springs_advance(spl_springs *s, const double *dx, double a)
{
    for (int32_t i = 0; i < s->known_count; i++) {
        spl_contact *k = &s->known[i];
        k->depth -= a * spl_dot(gap(s, k->vertex, k->corner, k->bary, 0, dx), k->normal);
    }
}

/* E += k R^T (I or n n^T) R */
static void add_block(const double *R, const spl_contact_spring *p, double k, double *E)
{
    for (int i = 0; i < 9 && !p->along; i += 4) E[i] += k;
    if (!p->along) return;
    double n[3];
    for (int c = 0; c < 3; c++) n[c] = R[3 * c] * p->normal.x + R[3 * c + 1] * p->normal.y + R[3 * c + 2] * p->normal.z;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) E[3 * c + r] += k * n[r] * n[c];
}

/* The block of a node, from 0 on. */
static double *extra_of(spl_springs *s, int32_t node)
{
    int32_t *place = &s->stiff_place[node];
    if (*place < 0) {
        *place = s->stiff_count;
        s->stiff[s->stiff_count++] = node;
        memset(s->extra + 9 * (size_t)*place, 0, 9 * sizeof *s->extra);
    }
    return s->extra + 9 * (size_t)*place;
}

void spl_springs_set_extra(spl_springs *s)
{
    const spl_exrotated *e = s->system;
    for (int32_t k = 0; k < s->stiff_count; k++) s->stiff_place[s->stiff[k]] = -1;
    s->stiff_count = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const spl_contact_spring *p = &s->list[i];
        for (int q = -1; q < (p->corner[0] < 0 ? 0 : 3); q++) {
            int32_t node = e->order.node[q < 0 ? p->vertex : p->corner[q]];
            double share = q < 0 ? 1 : p->bary[q] * p->bary[q];
            if (node >= 0) add_block(e->turn + 9 * (size_t)node, p, share * p->stiffness, extra_of(s, node));
        }
    }
}
