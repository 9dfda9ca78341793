#include "subspace/press.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

/* k of all vertices. */
static void set_stiffness(spl_press *p, double by_area)
{
    const spl_model_domain *d = p->domain;
    double most = 0;
    for (int32_t v = 0; v < d->vertex_count; v++) {
        const double *U = d->basis + 3 * (size_t)v * (size_t)d->rank;
        for (int32_t k = 0; k < 3 * d->rank; k++) p->stiffness[v] += U[k] * U[k];
        most = fmax(most, p->stiffness[v]);
    }
    for (int32_t v = 0; v < d->vertex_count; v++) {
        double share = most > 0 ? p->stiffness[v] / most : 0;
        p->stiffness[v] = by_area * (d->area ? d->area[v] : 0) * share * share;
    }
}

supple_result spl_press_create(const spl_model_domain *domain, double stiffness, int32_t most,
                               const supple_allocator *a, spl_press *out, supple_error *error)
{
    *out = (spl_press){.domain = domain, .pad = spl_pad4(domain->rank)};
    supple_result result = spl_bounds_create(domain, a, &out->tree, error);
    if (result != SUPPLE_OK) return result;
    out->most = out->tree.count < most ? out->tree.count : most;
    size_t n = (size_t)out->most, pad = (size_t)out->pad;
    out->contact = spl_new(a, n, sizeof *out->contact);
    out->J = spl_new(a, n * pad, sizeof *out->J);
    out->room = spl_new(a, n * pad, sizeof *out->room);
    out->start = spl_new(a, n, sizeof *out->start);
    out->depth = spl_new(a, n, sizeof *out->depth);
    out->spring = spl_new(a, n, sizeof *out->spring);
    out->diagonal = spl_new(a, pad, sizeof *out->diagonal);
    out->stiffness = spl_new(a, (size_t)domain->vertex_count, sizeof *out->stiffness);
    if (!out->contact || !out->J || !out->room || !out->start || !out->depth || !out->spring || !out->diagonal ||
        !out->stiffness) {
        spl_press_release(out, a);
        return spl_fail_memory(error, "the contacts of a domain");
    }
    set_stiffness(out, stiffness);
    return SUPPLE_OK;
}

void spl_press_release(spl_press *p, const supple_allocator *a)
{
    spl_bounds_release(&p->tree, a);
    spl_free(a, p->contact);
    spl_free(a, p->J);
    spl_free(a, p->room);
    spl_free(a, p->start);
    spl_free(a, p->depth);
    spl_free(a, p->spring);
    spl_free(a, p->stiffness);
    spl_free(a, p->diagonal);
    *p = (spl_press){0};
}

/* ---- the search ---- */

typedef void take_fn(void *context, int32_t vertex, const spl_collider_hit *hit);

static spl_vec3 to_world(const spl_press_query *y, spl_vec3 local)
{
    return spl_add(spl_mat3_apply(&y->R, local), y->t);
}

static spl_vec3 position(const spl_press *p, const spl_press_query *y, int32_t vertex)
{
    const spl_model_domain *d = p->domain;
    const double *rest = d->rest + 3 * (size_t)vertex;
    double u[3];
    y->kernels->rows3(d->basis + 3 * (size_t)vertex * (size_t)d->rank, (size_t)d->rank, y->q, u);
    return to_world(y, spl_v3(rest[0] + u[0], rest[1] + u[1], rest[2] + u[2]));
}

/* Hands over all vertices within reach, in the order of the tree's slots. */
static void search(const spl_press *p, const spl_press_query *y, take_fn *take, void *context)
{
    const spl_bounds *b = &p->tree;
    int32_t stack[SPL_BOUNDS_DEPTH] = {0}, size = b->node_count > 0;
    double length = spl_bounds_length(b, y->q);
    spl_collider_hit hit;
    while (size > 0) {
        int32_t index = stack[--size];
        const spl_bounds_node *n = &b->node[index];
        spl_vec3 centre;
        double radius = spl_bounds_sphere(b, y->kernels, index, y->q, length, &centre);
        if (!spl_colliders_query(y->colliders, to_world(y, centre), radius + y->reach, -1, &hit)) continue;
        if (n->right > 0) {
            stack[size++] = n->right;
            stack[size++] = index + 1;
            continue;
        }
        for (int32_t i = n->first; i < n->first + n->count; i++)
            if (spl_colliders_query(y->colliders, position(p, y, b->vertex[i]), y->reach, -1, &hit))
                take(context, b->vertex[i], &hit);
    }
}

/* ---- contacts ---- */

static bool shallower(const spl_press_contact *a, const spl_press_contact *b)
{
    return a->depth < b->depth || (a->depth == b->depth && a->vertex > b->vertex);
}

/* The shallowest contact stands first once there is no more room (a heap). */
static void sift(spl_press *p, int32_t at)
{
    for (int32_t child = 2 * at + 1; child < p->count; child = 2 * at + 1) {
        if (child + 1 < p->count && shallower(&p->contact[child + 1], &p->contact[child])) child++;
        if (!shallower(&p->contact[child], &p->contact[at])) return;
        spl_press_contact c = p->contact[at];
        p->contact[at] = p->contact[child];
        p->contact[child] = c;
        at = child;
    }
}

static void take_contact(void *context, int32_t vertex, const spl_collider_hit *hit)
{
    spl_press *p = context;
    spl_press_contact c = {vertex, hit->collider, hit->target, hit->normal, hit->depth};
    if (p->count < p->most) {
        p->contact[p->count++] = c;
        return;
    }
    for (int32_t i = p->count / 2; i-- > 0 && p->dropped == 0;) sift(p, i);
    p->dropped++;
    if (p->count == 0 || !shallower(&p->contact[0], &c)) return;
    p->contact[0] = c;
    sift(p, 0);
}

/* j and d_0 of a contact. */
static void reduce(spl_press *p, const spl_press_query *y, int32_t index)
{
    const spl_press_contact *c = &p->contact[index];
    const spl_model_domain *d = p->domain;
    size_t rank = (size_t)d->rank, v = (size_t)c->vertex;
    const double *U = d->basis + 3 * v * rank, *rest = d->rest + 3 * v;
    double *j = p->J + (size_t)index * (size_t)p->pad;
    spl_mat3 inverse = spl_mat3_transpose(&y->R);
    spl_vec3 n = spl_mat3_apply(&inverse, c->normal);
    for (size_t k = 0; k < rank; k++) j[k] = U[k] * n.x + U[rank + k] * n.y + U[2 * rank + k] * n.z;
    spl_vec3 still = to_world(y, spl_v3(rest[0], rest[1], rest[2]));
    p->start[index] = spl_dot(spl_sub(c->target, still), c->normal);
    p->spring[index] = p->stiffness[v];
    for (size_t k = 0; k < rank; k++) p->diagonal[k] += p->spring[index] * j[k] * j[k];
}

void spl_press_find(spl_press *p, const spl_press_query *query)
{
    p->count = p->dropped = 0;
    memset(p->diagonal, 0, (size_t)p->pad * sizeof *p->diagonal);
    search(p, query, take_contact, p);
    for (int32_t i = 0; i < p->count; i++) reduce(p, query, i);
}

static void take_deepest(void *context, int32_t vertex, const spl_collider_hit *hit)
{
    double *most = context;
    (void)vertex;
    *most = fmax(*most, hit->depth);
}

double spl_press_deepest(const spl_press *p, const spl_press_query *query)
{
    double most = 0;
    search(p, query, take_deepest, &most);
    return most;
}

/* ---- forces ---- */

double spl_press_force(spl_press *p, const spl_dense_kernels *kernels, const double *q, double *f)
{
    double energy = 0;
    if (p->count == 0) return 0;
    memset(p->depth, 0, (size_t)p->count * sizeof *p->depth);
    kernels->multiply(p->J, p->count, p->pad, (size_t)p->pad, q, p->depth); /* j . q */
    for (int32_t i = 0; i < p->count; i++) {
        p->depth[i] = p->start[i] - p->depth[i];
        double d = fmax(p->depth[i], 0);
        energy += 0.5 * p->spring[i] * d * d;
        p->room[i] = p->spring[i] * d;
    }
    kernels->multiply_transposed(p->J, p->count, p->pad, (size_t)p->pad, p->room, f);
    return energy;
}

void spl_press_hessian(spl_press *p, const spl_dense_kernels *kernels, double *K, size_t ld)
{
    size_t pad = (size_t)p->pad;
    int32_t active = 0;
    for (int32_t i = 0; i < p->count; i++) {
        if (!(p->depth[i] > 0)) continue;
        double root = sqrt(p->spring[i]), *to = p->room + pad * (size_t)active++;
        for (size_t k = 0; k < pad; k++) to[k] = root * p->J[(size_t)i * pad + k];
    }
    if (active == 0) return;
    spl_product product = {.C = K,
                           .A = p->room,
                           .B = p->room,
                           .ldc = ld,
                           .lda = pad,
                           .ldb = pad,
                           .m = p->pad,
                           .n = p->pad,
                           .k = active,
                           .sign = 1,
                           .upper = true};
    kernels->product(&product);
}
