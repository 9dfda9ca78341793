#include "subspace/dents.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const double overlap = 1.3;  /* radius of a patch, times the distance at which patches cover the domain */
static const double facing = 0.3;   /* cosine between normals of one patch: it is on one side of a limb */
static const double nothing = 1e-3; /* share of a dent that is new, below which it adds nothing */

/* ---- patches ---- */

typedef struct skin {
    const double *rest;
    double *normal; /* 3 x vertices: a third of the areas around, outward, m^2 */
} skin;

static spl_vec3 at(const double *x, int32_t v)
{
    return spl_v3(x[3 * (size_t)v], x[3 * (size_t)v + 1], x[3 * (size_t)v + 2]);
}

static void measure(const spl_solid *s, skin *k)
{
    const spl_tets *tets = &s->body->tets;
    for (int32_t t = 0; t < tets->surface_count; t++) {
        const int32_t *c = tets->surface + 3 * (size_t)t;
        spl_vec3 a = at(k->rest, c[0]);
        spl_vec3 n = spl_scale(spl_cross(spl_sub(at(k->rest, c[1]), a), spl_sub(at(k->rest, c[2]), a)), 1.0 / 6);
        for (int i = 0; i < 3; i++) {
            spl_vec3 sum = spl_add(at(k->normal, c[i]), n);
            memcpy(k->normal + 3 * (size_t)c[i], &sum, sizeof sum);
        }
    }
}

/* Centres among a domain's surface vertices, each farthest from those before it. Returns their number; *cover: how far
 * a surface vertex is from the nearest. `far`: room by vertex of the domain. */
static int32_t choose_centres(const skin *k, const spl_domain *d, int32_t most, double *far, int32_t *centre,
                              double *cover)
{
    int32_t count = 0;
    for (int32_t i = 0; i < d->vertex_count; i++) far[i] = spl_norm(at(k->normal, d->vertex[i])) > 0 ? 1e30 : -1;
    for (;;) {
        int32_t next = -1;
        for (int32_t i = 0; i < d->vertex_count; i++)
            if (far[i] > 0 && (next < 0 || far[i] > far[next])) next = i;
        *cover = next >= 0 && count > 0 ? far[next] : 0;
        if (next < 0 || count == most) return count;
        centre[count++] = d->vertex[next];
        for (int32_t i = 0; i < d->vertex_count; i++)
            far[i] = fmin(far[i], spl_distance(at(k->rest, d->vertex[i]), at(k->rest, d->vertex[next])));
    }
}

/* Pressure on a patch of the whole body's surface, smooth to its border. */
static void press_patch(const skin *k, const spl_solid *s, int32_t centre, double radius, double *load)
{
    spl_vec3 c = at(k->rest, centre), n = spl_unit(at(k->normal, centre), spl_v3(0, 1, 0));
    for (int32_t v = 0; v < s->body->tets.vertex_count; v++) {
        spl_vec3 a = at(k->normal, v);
        double far = spl_distance(at(k->rest, v), c) / radius;
        if (!(far < 1) || !(spl_dot(a, n) > facing * spl_norm(a))) continue;
        spl_vec3 f = spl_scale(a, -(1 - far * far) * (1 - far * far));
        memcpy(load + 3 * (size_t)v, &f, sizeof f);
    }
}

static void scale_to_one(double *u, size_t vertices)
{
    double most = 0;
    for (size_t v = 0; v < vertices; v++) most = fmax(most, spl_norm(at(u, (int32_t)v)));
    for (size_t i = 0; most > 0 && i < 3 * vertices; i++) u[i] /= most;
}

/* ---- shapes ---- */

static supple_result take(spl_dents *d, size_t domains, size_t vertices)
{
    const supple_allocator *a = &d->allocator;
    d->count = spl_new(a, domains, sizeof *d->count);
    d->radius = spl_new(a, domains, sizeof *d->radius);
    d->shape = spl_new(a, domains * (size_t)d->each * vertices, 3 * sizeof *d->shape);
    return d->count && d->radius && d->shape ? SUPPLE_OK : SUPPLE_ERROR_MEMORY;
}

static void load_all(spl_dents *d, const spl_solid *solid, const spl_domains *domains, const skin *k, double edge,
                     double *far, int32_t *centre)
{
    size_t n = 3 * (size_t)solid->body->tets.vertex_count;
    for (int32_t i = 0; i < domains->domain_count; i++) {
        double cover;
        d->count[i] = choose_centres(k, &domains->domain[i], d->each, far, centre, &cover);
        d->radius[i] = fmax(overlap * cover, 2 * edge);
        for (int32_t p = 0; p < d->count[i]; p++)
            press_patch(k, solid, centre[p], d->radius[i], d->shape + (size_t)(i * d->each + p) * n);
    }
}

supple_result spl_dents_create(const spl_solid *solid, const spl_domains *domains, const spl_law *law, int32_t each,
                               double edge, const supple_config *config, spl_pool *pool, spl_dents *out,
                               supple_error *error)
{
    *out = (spl_dents){.allocator = spl_allocator_of(config), .each = each};
    const supple_allocator *a = &out->allocator;
    size_t n = (size_t)solid->body->tets.vertex_count, shapes = (size_t)domains->domain_count * (size_t)each;
    skin k = {solid->drive.rest, spl_new(a, n, 3 * sizeof(double))};
    double *far = spl_new(a, n, sizeof *far);
    int32_t *centre = spl_new(a, (size_t)each, sizeof *centre);
    supple_result result = take(out, (size_t)domains->domain_count, n);
    if (result != SUPPLE_OK || !k.normal || !far || !centre) result = spl_fail_memory(error, "the dents");
    if (result == SUPPLE_OK) {
        measure(solid, &k);
        load_all(out, solid, domains, &k, edge, far, centre);
        result = spl_modal_respond(solid, law, out->shape, (int32_t)shapes, config, pool, error);
    }
    for (size_t s = 0; result == SUPPLE_OK && s < shapes; s++) scale_to_one(out->shape + 3 * s * n, n);
    spl_free(a, k.normal);
    spl_free(a, far);
    spl_free(a, centre);
    if (result != SUPPLE_OK) spl_dents_release(out);
    return result;
}

void spl_dents_release(spl_dents *d)
{
    const supple_allocator *a = &d->allocator;
    if (!a->release) return;
    spl_free(a, d->count);
    spl_free(a, d->radius);
    spl_free(a, d->shape);
    *d = (spl_dents){0};
}

/* ---- bases ---- */

static double dot(const spl_domain *d, const double *x, const double *y)
{
    double sum = 0;
    for (int32_t k = 0; k < 3 * d->vertex_count; k++) sum += d->mass[k / 3] * x[k] * y[k];
    return sum;
}

/* x -= y (y . x), twice is enough */
static void remove_part(const spl_domain *d, double *x, const double *y)
{
    for (int pass = 0; pass < 2; pass++) {
        double part = dot(d, x, y);
        for (int32_t k = 0; k < 3 * d->vertex_count; k++) x[k] -= part * y[k];
    }
}

/* Columns of `column` (rank of them, one after another) are followed by those of `dent`, the newest first. */
static int32_t extend(const spl_domain *d, double *column, int32_t rank, int32_t most, double *dent, int32_t count)
{
    size_t n = 3 * (size_t)d->vertex_count;
    double first = 0;
    for (int32_t i = 0; i < count; i++)
        for (int32_t c = 0; c < rank; c++) remove_part(d, dent + (size_t)i * n, column + (size_t)c * n);
    while (rank < most) {
        int32_t best = -1;
        double size = 0;
        for (int32_t i = 0; i < count; i++) {
            double square = dot(d, dent + (size_t)i * n, dent + (size_t)i * n);
            if (square > size) size = square, best = i;
        }
        first = fmax(first, size);
        if (best < 0 || size <= nothing * nothing * first) return rank;
        double *to = column + (size_t)rank++ * n;
        for (size_t k = 0; k < n; k++) to[k] = dent[(size_t)best * n + k] / sqrt(size);
        for (int32_t i = 0; i < count; i++) remove_part(d, dent + (size_t)i * n, to);
    }
    return rank;
}

supple_result spl_dents_append(const spl_dents *d, const spl_domains *domains, int32_t domain, int32_t most,
                               int32_t vertex_count, double *basis, int32_t *rank, supple_error *error)
{
    const spl_domain *o = &domains->domain[domain];
    const supple_allocator *a = &d->allocator;
    size_t n = 3 * (size_t)o->vertex_count, full = 3 * (size_t)vertex_count, r = (size_t)*rank;
    double *column = spl_new(a, (size_t)most * n, sizeof *column);
    double *dent = spl_new(a, (size_t)d->each * n, sizeof *dent);
    bool ok = column && dent;
    for (size_t c = 0; ok && c < r; c++)
        for (size_t k = 0; k < n; k++) column[c * n + k] = basis[k * r + c];
    for (int32_t p = 0; ok && p < d->count[domain]; p++) {
        const double *u = d->shape + (size_t)(domain * d->each + p) * full;
        for (size_t k = 0; k < n; k++) dent[(size_t)p * n + k] = u[3 * (size_t)o->vertex[k / 3] + k % 3];
    }
    if (ok) {
        *rank = extend(o, column, *rank, most, dent, d->count[domain]);
        r = (size_t)*rank;
        for (size_t c = 0; c < r; c++)
            for (size_t k = 0; k < n; k++) basis[k * r + c] = column[c * n + k];
    }
    spl_free(a, column);
    spl_free(a, dent);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the dents");
}
