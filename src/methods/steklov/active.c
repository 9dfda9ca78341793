#include "methods/steklov/active.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

supple_result spl_active_create(const spl_exrotated *system, spl_springs *springs, spl_active *out, supple_error *error)
{
    const supple_allocator *a = &system->allocator;
    *out = (spl_active){.system = system, .springs = springs};
    size_t n = springs->contacts ? 3 * (size_t)system->order.count : 0;
    size_t pairs = springs->contacts ? (size_t)spl_contacts_capacity(springs->contacts) : 0;
    double **vector[] = {&out->dx, &out->f, &out->r, &out->z, &out->az, &out->p, &out->ap};
    bool ok = true;
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        *vector[i] = spl_new(a, n, sizeof **vector[i]);
        ok = ok && *vector[i];
    }
    out->along_z = spl_new(a, pairs, sizeof *out->along_z);
    out->along_p = spl_new(a, pairs, sizeof *out->along_p);
    if (ok && out->along_z && out->along_p) return SUPPLE_OK;
    spl_active_release(out);
    return spl_fail_memory(error, "the contacts' solver");
}

void spl_active_release(spl_active *a)
{
    if (!a->system) return;
    double *vector[] = {a->dx, a->f, a->r, a->z, a->az, a->p, a->ap, a->along_z, a->along_p};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) spl_free(&a->system->allocator, vector[i]);
    *a = (spl_active){0};
}

static size_t count_of(const spl_active *a)
{
    return 3 * (size_t)a->system->order.count;
}

static double dot(const double *u, const double *v, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t c = 0; c < 4; c++) sum[c] += u[i + c] * v[i + c];
    for (; i < n; i++) sum[0] += u[i] * v[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* ---- the energy over two directions ---- */

/* Along a z + b p: -(sa a + sb b) + (a, b) H (a, b) / 2, and the springs'. */
typedef struct plane {
    const spl_springs *springs;
    const double *along_z, *along_p;
    double sa, sb, haa, hab, hbb;
} plane;

typedef struct model {
    double value, ga, gb, haa, hab, hbb;
} model;

static model look(const plane *t, double a, double b)
{
    model m = {.value = -t->sa * a - t->sb * b + 0.5 * (t->haa * a * a + t->hbb * b * b) + t->hab * a * b,
               .ga = -t->sa + t->haa * a + t->hab * b,
               .gb = -t->sb + t->hab * a + t->hbb * b,
               .haa = t->haa,
               .hab = t->hab,
               .hbb = t->hbb};
    for (int32_t i = 0; i < t->springs->known_count; i++) {
        double u = t->along_z[i], v = t->along_p[i], depth = t->springs->known[i].depth - a * u - b * v;
        if (!(depth > 0)) continue;
        double k = spl_springs_stiffness(t->springs, &t->springs->known[i]);
        m.value += 0.5 * k * depth * depth;
        m.ga -= k * depth * u;
        m.gb -= k * depth * v;
        m.haa += k * u * u;
        m.hab += k * u * v;
        m.hbb += k * v * v;
    }
    return m;
}

/* The minimum by Newton's method: the energy is convex, and a step that overshoots a kink is halved. */
static void minimise(const plane *t, double *a, double *b)
{
    *a = *b = 0;
    model m = look(t, 0, 0);
    double least = 1e-10 * (fabs(m.ga) + fabs(m.gb));
    for (int i = 0; i < 40 && fabs(m.ga) + fabs(m.gb) > least; i++) {
        double det = m.haa * m.hbb - m.hab * m.hab, da, db;
        if (det > 1e-12 * m.haa * m.hbb) {
            da = (-m.hbb * m.ga + m.hab * m.gb) / det;
            db = (m.hab * m.ga - m.haa * m.gb) / det;
        } else {
            da = m.haa > 0 ? -m.ga / m.haa : 0;
            db = 0;
        }
        model next = {.value = INFINITY};
        double share = 1;
        for (int k = 0; k < 20; k++, share *= 0.5) {
            next = look(t, *a + share * da, *b + share * db);
            if (next.value <= m.value) break;
        }
        if (!(next.value <= m.value)) return;
        *a += share * da;
        *b += share * db;
        m = next;
    }
}

/* ---- the walk ---- */

static void set_residual(spl_active *a)
{
    memcpy(a->r, a->f, count_of(a) * sizeof *a->r);
    spl_springs_press(a->springs, a->r);
}

/* The zone's own correction: exact there, as long as no contact comes or goes. */
static void correct(spl_active *a, spl_zone *zone)
{
    size_t n = count_of(a);
    plane t = {.springs = a->springs, .along_z = a->along_z, .along_p = a->along_p};
    double s, unused;
    memset(a->z, 0, n * sizeof *a->z);
    memset(a->az, 0, n * sizeof *a->az);
    spl_zone_solve(zone, a->r, a->z);
    spl_zone_multiply(zone, a->z, a->az);
    spl_springs_along(a->springs, a->z, a->along_z);
    memset(a->along_p, 0, (size_t)a->springs->known_count * sizeof *a->along_p);
    t.sa = dot(a->f, a->z, n);
    t.haa = dot(a->z, a->az, n);
    minimise(&t, &s, &unused);
    for (size_t i = 0; i < n; i++) {
        a->dx[i] += s * a->z[i];
        a->f[i] -= s * a->az[i];
    }
    for (int32_t i = 0; i < a->springs->known_count; i++) a->springs->known[i].depth -= s * a->along_z[i];
}

/* p made conjugate to the zone again, whose springs have changed. */
static void turn_last(spl_active *a, spl_zone *zone)
{
    size_t n = count_of(a);
    memcpy(a->z, a->p, n * sizeof *a->z);
    spl_zone_project(zone, a->p);
    for (size_t i = 0; i < n; i++) a->z[i] = a->p[i] - a->z[i];
    spl_zone_multiply(zone, a->z, a->ap);
}

/* The set as it is now: the zone for it, and its corrections until they change it no more, or often enough. */
static int32_t follow_set(spl_active *a, const spl_active_problem *p, bool has_last)
{
    enum { CORRECTIONS = 2 };
    int32_t changes = 0;
    a->exact = !p->zone->ready;
    for (int k = 0; k < CORRECTIONS && p->zone->ready; k++) {
        correct(a, p->zone);
        a->exact = !spl_springs_relist(a->springs);
        if (a->exact) break;
        changes++;
        spl_zone_prepare(p->zone);
        set_residual(a);
    }
    if (p->zone->ready && has_last) turn_last(a, p->zone);
    set_residual(a);
    return changes;
}

/* The minimum over z and p, which becomes p. */
static bool advance(spl_active *a, bool has_last)
{
    size_t n = count_of(a);
    plane t = {a->springs, a->along_z, a->along_p, dot(a->f, a->z, n), 0, dot(a->z, a->az, n), 0, 0};
    double s, b;
    spl_springs_along(a->springs, a->z, a->along_z);
    if (has_last) {
        spl_springs_along(a->springs, a->p, a->along_p);
        t.sb = dot(a->f, a->p, n);
        t.hab = dot(a->z, a->ap, n);
        t.hbb = dot(a->p, a->ap, n);
    } else {
        memset(a->along_p, 0, (size_t)a->springs->known_count * sizeof *a->along_p);
        memset(a->p, 0, n * sizeof *a->p);
        memset(a->ap, 0, n * sizeof *a->ap);
    }
    if (!(t.haa > 0)) return false;
    minimise(&t, &s, &b);
    for (size_t i = 0; i < n; i++) {
        a->p[i] = s * a->z[i] + b * a->p[i];
        a->ap[i] = s * a->az[i] + b * a->ap[i];
        a->dx[i] += a->p[i];
        a->f[i] -= a->ap[i];
    }
    for (int32_t i = 0; i < a->springs->known_count; i++)
        a->springs->known[i].depth -= s * a->along_z[i] + b * a->along_p[i];
    return true;
}

spl_active_result spl_active_solve(spl_active *a, const spl_active_problem *p, const double *force)
{
    enum { PATIENCE = 30 }; /* iterations that need not help */
    size_t n = count_of(a);
    double least = INFINITY;
    int32_t since = 0;
    spl_active_result out = {.finite = true, .definite = true};
    memset(a->dx, 0, n * sizeof *a->dx);
    memcpy(a->f, force, n * sizeof *a->f);
    set_residual(a);
    out.changes += follow_set(a, p, a->has_last);
    for (;; out.iterations++) {
        out.residual = sqrt(dot(a->r, a->r, n));
        out.finite = isfinite(out.residual);
        since = out.residual < 0.9 * least ? 0 : since + 1;
        least = fmin(least, out.residual);
        out.stalled = since > PATIENCE;
        if (!out.finite || out.stalled || out.residual <= p->goal || out.iterations >= p->max_iterations) return out;
        p->precondition(p->context, a->r, a->z);
        if (p->zone->ready) spl_zone_project(p->zone, a->z);
        p->multiply(p->context, a->z, a->az);
        out.definite = a->has_last = advance(a, a->has_last);
        if (!out.definite) return out;
        bool changed = spl_springs_relist(a->springs);
        set_residual(a);
        if (!changed && a->exact) continue;
        out.changes += changed;
        if (changed) spl_zone_prepare(p->zone);
        out.changes += follow_set(a, p, a->has_last);
    }
}
