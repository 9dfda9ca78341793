#include "subspace/clash.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"

#include <math.h>
#include <string.h>

/* Of the mean edge: what comes nearer than this may press within the step; what is nearer than that at rest, in domains
 * with one domain between them, or further apart, is no contact. */
static const double nearby = 0.25, beside = 2.5, beyond = 0.75;
static const double gap = 0.05; /* of the mean edge, between the surfaces */

/* ---- constants ---- */

int32_t spl_clash_domain(const spl_clash_rest *r, int32_t copy)
{
    int32_t low = 0, high = r->model->domain_count - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (r->first[middle + 1] > copy)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void forbid(spl_clash_rest *r, int32_t i, int32_t j)
{
    size_t n = (size_t)r->model->domain_count;
    if (i < 0 || j < 0) return;
    r->allowed[(size_t)i * n + (size_t)j] = r->allowed[(size_t)j * n + (size_t)i] = false;
}

/* By bone: the domain that moves with its joint, else that of the bone that it hangs on; -1. */
static void find_domains(const spl_model *m, int32_t *domain)
{
    for (int32_t b = 0; b < m->rig.bone_count; b++) {
        const int32_t *bone = m->rig.bone + SPL_RIG_BONE_NUMBERS * (size_t)b;
        domain[b] = bone[1] >= 0 ? domain[bone[1]] : -1;
        for (int32_t i = 0; i < m->domain_count; i++)
            if (m->rig.bone[SPL_RIG_BONE_NUMBERS * (size_t)m->domain[i].bone] == bone[0]) domain[b] = i;
    }
}

/* Neighbours: what shares an interface, what hangs on what, and what has corners of one triangle; vertices that bones
 * hold are between domains too. `meets`: by vertex of the rig, the domain of the bone that holds it. */
static void forbid_neighbours(spl_clash_rest *r, const int32_t *domain, const int32_t *meets)
{
    const spl_model *m = r->model;
    const spl_rig *g = &m->rig;
    for (int32_t k = 0; k < m->interface_count; k++) forbid(r, m->interface[k].i, m->interface[k].j);
    for (int32_t b = 0; b < g->bone_count; b++) {
        int32_t parent = g->bone[SPL_RIG_BONE_NUMBERS * (size_t)b + 1];
        if (parent >= 0) forbid(r, domain[b], domain[parent]);
    }
    for (const int32_t *t = g->triangle, *end = t + 3 * (size_t)g->triangle_count; t < end; t += 3)
        for (int k = 0; k < 3; k++) {
            int32_t v = t[k], w = t[(k + 1) % 3];
            forbid(r, meets[v], meets[w]);
            for (int32_t i = r->copy_first[v]; i < r->copy_first[v + 1]; i++) {
                int32_t own = spl_clash_domain(r, r->copy[i]);
                forbid(r, own, meets[w]);
                for (int32_t j = r->copy_first[w]; j < r->copy_first[w + 1]; j++)
                    forbid(r, own, spl_clash_domain(r, r->copy[j]));
            }
        }
}

/* Neighbours are no pair; `apart` of the others. After the copies. */
static bool set_allowed(spl_clash_rest *r, const supple_allocator *a)
{
    const spl_model *m = r->model;
    const spl_rig *g = &m->rig;
    size_t n = (size_t)m->domain_count;
    int32_t *domain = spl_new(a, (size_t)g->bone_count, sizeof *domain);
    int32_t *meets = spl_new(a, (size_t)g->vertex_count, sizeof *meets);
    r->allowed = spl_new(a, n * n, sizeof *r->allowed);
    r->apart = spl_new(a, n * n, sizeof *r->apart);
    bool made = domain && meets && r->allowed && r->apart;
    for (size_t k = 0; made && k < n * n; k++) r->allowed[k] = k / n != k % n, r->apart[k] = beyond * r->edge;
    if (made) {
        find_domains(m, domain);
        for (int32_t v = 0; v < g->vertex_count; v++) meets[v] = -1;
        for (int32_t k = 0; k < g->held_count; k++) {
            int32_t v = spl_rig_place(g, g->held[2 * (size_t)k]);
            if (v >= 0) meets[v] = domain[g->held[2 * (size_t)k + 1]];
        }
        forbid_neighbours(r, domain, meets);
    }
    spl_free(a, domain);
    spl_free(a, meets);
    for (size_t k = 0; made && k < n; k++) /* two neighbours of one */
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n && i != k && !r->allowed[k * n + i]; j++)
                if (j != k && !r->allowed[k * n + j]) r->apart[i * n + j] = beside * r->edge;
    return made;
}

static void set_copies(spl_clash_rest *r, double by_area)
{
    const spl_model *m = r->model;
    for (int32_t i = 0; i < m->domain_count; i++) {
        const spl_model_domain *d = &m->domain[i];
        double most = 0;
        int32_t first = r->first[i];
        for (int32_t s = 0; s < r->tree[i].count; s++) {
            size_t v = (size_t)r->tree[i].vertex[s], c = (size_t)(first + s);
            const double *U = d->basis + 3 * v * (size_t)d->rank;
            r->place[c] = spl_rig_place(&m->rig, d->vertex[v]);
            for (int32_t k = 0; k < 3 * d->rank; k++) r->mobility[c] += U[k] * U[k];
            most = fmax(most, r->mobility[c]);
            r->stiffness[c] = by_area * d->area[v];
        }
        for (int32_t s = 0; s < r->tree[i].count; s++)
            r->mobility[first + s] = most > 0 ? r->mobility[first + s] / most : 0;
    }
}

/* L of K + e = L L^T, in place: rank x rank of rows of length pad. e: a hundred thousandth of the mean, for domains
 * that no bone holds. */
static void factorise(double *L, size_t rank, size_t pad)
{
    double mean = 0;
    for (size_t i = 0; i < rank; i++) mean += L[i * pad + i] / (double)rank;
    for (size_t i = 0; i < rank; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = L[i * pad + j] + (i == j ? 1e-5 * mean : 0);
            for (size_t k = 0; k < j; k++) sum -= L[i * pad + k] * L[j * pad + k];
            L[i * pad + j] = i == j ? sqrt(fmax(sum, 1e-9 * mean)) : sum / L[j * pad + j];
        }
    }
}

/* U_k K^-1 U_k^T of each copy: |L^-1 U_k^T|^2, a third of its trace. */
static bool set_yielding(spl_clash_rest *r, double *const *K, const supple_allocator *a)
{
    const spl_model *m = r->model;
    bool made = true;
    for (int32_t i = 0; i < m->domain_count && made; i++) {
        const spl_model_domain *d = &m->domain[i];
        size_t rank = (size_t)d->rank, pad = (size_t)spl_pad4(d->rank);
        double *L = spl_new(a, pad * (pad + 1), sizeof *L);
        made = L != NULL;
        if (!made) break;
        double *z = L + pad * pad;
        memcpy(L, K[i], pad * pad * sizeof *L);
        factorise(L, rank, pad);
        for (int32_t s = 0; s < r->tree[i].count; s++) {
            const double *U = d->basis + 3 * (size_t)r->tree[i].vertex[s] * rank;
            for (int axis = 0; axis < 3; axis++, U += rank)
                for (size_t k = 0; k < rank; k++) {
                    z[k] = U[k];
                    for (size_t j = 0; j < k; j++) z[k] -= L[k * pad + j] * z[j];
                    z[k] /= L[k * pad + k];
                    r->yielding[r->first[i] + s] += z[k] * z[k] / 3;
                }
        }
        spl_free(a, L);
    }
    return made;
}

/* By vertex of the rig: lists of the copies, or of the triangles, that have it. `of` has -1 for none. */
static bool make_lists(const int32_t *of, int32_t count, int32_t by, int32_t vertices, const supple_allocator *a,
                       int32_t **first, int32_t **list)
{
    *first = spl_new(a, (size_t)vertices + 1, sizeof **first);
    *list = spl_new(a, (size_t)count, sizeof **list);
    if (!*first || !*list) return false;
    int32_t *at = *first;
    for (int32_t k = 0; k < count; k++)
        if (of[k] >= 0) at[of[k] + 1]++;
    for (int32_t v = 0; v < vertices; v++) at[v + 1] += at[v];
    for (int32_t k = 0; k < count; k++)
        if (of[k] >= 0) (*list)[at[of[k]]++] = k / by;
    for (int32_t v = vertices; v > 0; v--) at[v] = at[v - 1];
    at[0] = 0;
    return true;
}

/* Places at rest, and what bones hold. */
static void set_rest(spl_clash_rest *r)
{
    const spl_model *m = r->model;
    const spl_rig *g = &m->rig;
    for (int32_t v = 0; v < g->vertex_count; v++) r->held[v] = -1;
    for (int32_t k = 0; k < g->held_count; k++) {
        int32_t v = spl_rig_place(g, g->held[2 * k]);
        if (v < 0) continue;
        r->held[v] = g->held[2 * k];
        memcpy(r->rest + 3 * (size_t)v, g->held_rest + 3 * (size_t)k, 3 * sizeof *r->rest);
    }
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t s = 0; s < r->tree[i].count; s++) {
            int32_t v = r->place[r->first[i] + s];
            const double *p = m->domain[i].rest + 3 * (size_t)r->tree[i].vertex[s];
            if (v >= 0) memcpy(r->rest + 3 * (size_t)v, p, 3 * sizeof *p);
        }
}

/* By the triangles' areas; after the places at rest. */
static void set_normals(spl_clash_rest *r)
{
    const spl_rig *g = &r->model->rig;
    for (int32_t t = 0; t < g->triangle_count; t++) {
        spl_vec3 x[3];
        for (int k = 0; k < 3; k++) {
            const double *p = r->rest + 3 * (size_t)g->triangle[3 * (size_t)t + (size_t)k];
            x[k] = spl_v3(p[0], p[1], p[2]);
        }
        spl_vec3 n = spl_cross(spl_sub(x[1], x[0]), spl_sub(x[2], x[0]));
        for (int k = 0; k < 3; k++) {
            double *to = r->normal + 3 * (size_t)g->triangle[3 * (size_t)t + (size_t)k];
            to[0] += n.x, to[1] += n.y, to[2] += n.z;
        }
    }
    for (size_t v = 0; v < (size_t)g->vertex_count; v++) {
        double *to = r->normal + 3 * v;
        spl_vec3 n = spl_unit(spl_v3(to[0], to[1], to[2]), spl_v3(0, 0, 0));
        memcpy(to, &n, sizeof n);
    }
}

static spl_vec3 vector(const double *x, int32_t vertex)
{
    return spl_v3(x[3 * (size_t)vertex], x[3 * (size_t)vertex + 1], x[3 * (size_t)vertex + 2]);
}

/* Half the way through the flesh behind each copy, at rest. */
static supple_result set_thickness(spl_clash_rest *r, const supple_allocator *a, supple_error *error)
{
    const spl_rig *g = &r->model->rig;
    int32_t copies = r->first[r->model->domain_count];
    spl_vec3 *x = spl_new(a, (size_t)g->vertex_count, sizeof *x);
    spl_tree tree = {0};
    for (int32_t v = 0; x && v < g->vertex_count; v++) x[v] = vector(r->rest, v);
    supple_result result =
        x ? spl_tree_make(x, g->triangle, g->triangle_count, a, &tree, error) : spl_fail_memory(error, "the contacts");
    for (int32_t c = 0; result == SUPPLE_OK && c < copies; c++) {
        spl_hit hit;
        if (r->place[c] < 0) continue;
        spl_vec3 in = spl_scale(vector(r->normal, r->place[c]), -1);
        bool met = spl_tree_ray(&tree, spl_madd(x[r->place[c]], in, 1e-3 * r->edge), in, INFINITY, &hit);
        r->thick[c] = met ? 0.5 * hit.distance : 0;
    }
    spl_tree_release(&tree);
    spl_free(a, x);
    return result;
}

/* Rays run along limbs too: no place is thicker than its domain is in the mean. Two neighbours of one domain (thumb and
 * fingers, thighs) are a pair only where both are thicker than an edge is long: thinner ones move against each other in
 * ways that few tets and few columns say nothing of. */
static void leave_thin(spl_clash_rest *r, double *mean)
{
    size_t n = (size_t)r->model->domain_count;
    for (size_t i = 0; i < n; i++) {
        int32_t first = r->first[i], end = r->first[i + 1];
        for (int32_t c = first; c < end; c++) mean[i] += r->thick[c] / (end - first);
        for (int32_t c = first; c < end; c++) r->thick[c] = fmin(r->thick[c], mean[i]);
    }
    for (size_t k = 0; k < n * n; k++)
        if (r->apart[k] >= beside * r->edge && fmin(mean[k / n], mean[k % n]) < r->edge) r->allowed[k] = false;
}

static supple_result make_rest(spl_clash_rest *r, double *const *K, double stiffness, const supple_allocator *a,
                               supple_error *error)
{
    const spl_model *m = r->model;
    const spl_rig *g = &m->rig;
    size_t n = (size_t)m->domain_count, vertices = (size_t)g->vertex_count;
    r->edge = m->edge;
    r->nearest = nearby * m->edge;
    r->gap = gap * m->edge;
    r->tree = spl_new(a, n, sizeof *r->tree);
    r->first = spl_new(a, n + 1, sizeof *r->first);
    r->node_first = spl_new(a, n + 1, sizeof *r->node_first);
    if (!r->tree || !r->first || !r->node_first) return spl_fail_memory(error, "the contacts");
    for (size_t i = 0; i < n; i++) {
        supple_result result = spl_bounds_create(&m->domain[i], a, &r->tree[i], error);
        if (result != SUPPLE_OK) return result;
        r->first[i + 1] = r->first[i] + r->tree[i].count;
        r->node_first[i + 1] = r->node_first[i] + r->tree[i].node_count;
    }
    size_t copies = (size_t)r->first[n];
    r->place = spl_new(a, copies, sizeof *r->place);
    r->stiffness = spl_new(a, copies, sizeof *r->stiffness);
    r->mobility = spl_new(a, copies, sizeof *r->mobility);
    r->yielding = spl_new(a, copies, sizeof *r->yielding);
    r->thick = spl_new(a, copies, sizeof *r->thick);
    r->rest = spl_new(a, vertices, 3 * sizeof *r->rest);
    r->normal = spl_new(a, vertices, 3 * sizeof *r->normal);
    r->held = spl_new(a, vertices, sizeof *r->held);
    if (!r->place || !r->stiffness || !r->mobility || !r->yielding || !r->thick || !r->rest || !r->normal || !r->held)
        return spl_fail_memory(error, "the contacts");
    set_copies(r, stiffness);
    set_rest(r);
    set_normals(r);
    bool made = set_yielding(r, K, a) &&
                make_lists(r->place, (int32_t)copies, 1, g->vertex_count, a, &r->copy_first, &r->copy) &&
                make_lists(g->triangle, 3 * g->triangle_count, 3, g->vertex_count, a, &r->ring_first, &r->ring);
    if (!made || !set_allowed(r, a)) return spl_fail_memory(error, "the contacts");
    supple_result result = set_thickness(r, a, error);
    double *mean = spl_new(a, n, sizeof *mean);
    if (result == SUPPLE_OK && !mean) result = spl_fail_memory(error, "the contacts");
    if (result == SUPPLE_OK) leave_thin(r, mean);
    spl_free(a, mean);
    return result;
}

static void release_rest(spl_clash_rest *r, const supple_allocator *a)
{
    if (!r) return;
    for (int32_t i = 0; r->tree && i < r->model->domain_count; i++) spl_bounds_release(&r->tree[i], a);
    void *all[] = {r->tree,     r->first, r->allowed,    r->apart,  r->place,      r->stiffness,
                   r->mobility, r->thick, r->copy_first, r->copy,   r->ring_first, r->ring,
                   r->rest,     r->held,  r->node_first, r->normal, r->yielding,   r};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(a, all[k]);
}

/* ---- creation ---- */

static bool take_contacts(spl_clash *c, const supple_allocator *a)
{
    size_t n = (size_t)c->most, wide = (size_t)c->wide, domains = (size_t)c->rest->model->domain_count;
    c->contact = spl_new(a, n, sizeof *c->contact);
    c->pair = spl_new(a, n, sizeof *c->pair);
    c->low = spl_new(a, n * wide, sizeof *c->low);
    c->high = spl_new(a, n * wide, sizeof *c->high);
    c->room[0] = spl_new(a, n * wide, sizeof *c->room[0]);
    c->room[1] = spl_new(a, n * wide, sizeof *c->room[1]);
    c->start = spl_new(a, n, sizeof *c->start);
    c->depth = spl_new(a, n, sizeof *c->depth);
    c->diagonal = spl_new(a, domains * wide, sizeof *c->diagonal);
    c->touched = spl_new(a, domains, sizeof *c->touched);
    c->meets = spl_new(a, n, 2 * sizeof *c->meets);
    return c->contact && c->pair && c->low && c->high && c->room[0] && c->room[1] && c->start && c->depth &&
           c->diagonal && c->touched && c->meets;
}

supple_result spl_clash_create(const spl_model *model, double *const *K, double stiffness, int32_t most,
                               const spl_clash *like, const supple_allocator *a, spl_clash *out, supple_error *error)
{
    *out = (spl_clash){0};
    supple_result result = SUPPLE_OK;
    if (!like) {
        out->own = spl_new(a, 1, sizeof *out->own);
        if (!out->own) return spl_fail_memory(error, "the contacts");
        out->own->model = model;
        result = make_rest(out->own, K, stiffness, a, error);
    }
    out->rest = like ? like->rest : out->own;
    if (result == SUPPLE_OK) {
        int32_t copies = out->rest->first[model->domain_count];
        out->most = copies < most ? copies : most;
        for (int32_t i = 0; i < model->domain_count; i++)
            if (spl_pad4(model->domain[i].rank) > out->wide) out->wide = spl_pad4(model->domain[i].rank);
        if (!take_contacts(out, a) || !spl_clash_take_search(out, a)) result = spl_fail_memory(error, "the contacts");
    }
    if (result != SUPPLE_OK) spl_clash_release(out, a);
    return result;
}

void spl_clash_release(spl_clash *c, const supple_allocator *a)
{
    void *all[] = {c->contact, c->pair,    c->low,     c->high,  c->room[0], c->room[1],   c->start,
                   c->depth,   c->touched, c->meets,   c->seen,  c->at,      c->seen_node, c->centre,
                   c->radius,  c->best,    c->nearest, c->found, c->length,  c->diagonal,  c->away};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(a, all[k]);
    release_rest(c->own, a);
    *c = (spl_clash){0};
}

/* ---- forces ---- */

/* d of a pair's contacts at q. */
static void set_depths(spl_clash *c, const spl_clash_pair *p, const spl_dense_kernels *kernels, const double *q,
                       const size_t *at)
{
    size_t wide = (size_t)c->wide, first = (size_t)p->first;
    const spl_model *m = c->rest->model;
    int32_t low = spl_pad4(m->domain[p->low].rank), high = spl_pad4(m->domain[p->high].rank);
    memset(c->depth + first, 0, (size_t)p->count * sizeof *c->depth);
    kernels->multiply(c->low + first * wide, p->count, low, wide, q + at[p->low], c->depth + first);
    kernels->multiply(c->high + first * wide, p->count, high, wide, q + at[p->high], c->depth + first);
    for (size_t k = first; k < first + (size_t)p->count; k++) c->depth[k] = c->start[k] - c->depth[k];
}

double spl_clash_force(spl_clash *c, const spl_dense_kernels *kernels, const double *q, const size_t *at,
                       const size_t *offset, double *f)
{
    const spl_model *m = c->rest->model;
    size_t wide = (size_t)c->wide;
    double energy = 0;
    for (const spl_clash_pair *p = c->pair, *end = p + c->pair_count; p < end; p++) {
        size_t first = (size_t)p->first;
        set_depths(c, p, kernels, q, at);
        for (size_t k = first; k < first + (size_t)p->count; k++) {
            double d = fmax(c->depth[k], 0);
            c->room[0][k] = c->contact[k].spring * d;
            energy += 0.5 * c->room[0][k] * d;
        }
        kernels->multiply_transposed(c->low + first * wide, p->count, spl_pad4(m->domain[p->low].rank), wide,
                                     c->room[0] + first, f + offset[p->low]);
        kernels->multiply_transposed(c->high + first * wide, p->count, spl_pad4(m->domain[p->high].rank), wide,
                                     c->room[0] + first, f + offset[p->high]);
    }
    return energy;
}

static void add_product(const spl_dense_kernels *kernels, const spl_clash *c, const double *A, const double *B,
                        const int32_t pad[2], int32_t active, double *K, size_t ld)
{
    size_t wide = (size_t)c->wide;
    spl_product product = {.C = K, .A = A, .B = B, .ldc = ld, .lda = wide, .ldb = wide};
    product.m = pad[0], product.n = pad[1], product.k = active;
    product.sign = 1;
    product.upper = A == B;
    kernels->product(&product);
}

void spl_clash_hessian(spl_clash *c, const spl_dense_kernels *kernels, const spl_blocks *blocks)
{
    const spl_model *m = c->rest->model;
    size_t wide = (size_t)c->wide;
    for (int32_t i = 0; i < c->pair_count; i++) {
        const spl_clash_pair *p = &c->pair[i];
        int32_t active = 0, low = spl_pad4(m->domain[p->low].rank), high = spl_pad4(m->domain[p->high].rank);
        for (size_t k = (size_t)p->first; k < (size_t)(p->first + p->count); k++) {
            if (!(c->depth[k] > 0)) continue;
            double root = sqrt(c->contact[k].spring);
            double *to[2] = {c->room[0] + wide * (size_t)active, c->room[1] + wide * (size_t)active};
            for (size_t j = 0; j < wide; j++) {
                to[0][j] = root * c->low[k * wide + j];
                to[1][j] = root * c->high[k * wide + j];
            }
            active++;
        }
        if (active == 0) continue;
        size_t ld;
        bool swapped;
        double *K = spl_blocks_at(blocks, p->low, p->low, &ld, &swapped);
        add_product(kernels, c, c->room[0], c->room[0], (int32_t[]){low, low}, active, K, ld);
        K = spl_blocks_at(blocks, p->high, p->high, &ld, &swapped);
        add_product(kernels, c, c->room[1], c->room[1], (int32_t[]){high, high}, active, K, ld);
        K = spl_blocks_at(blocks, p->low, p->high, &ld, &swapped);
        if (swapped)
            add_product(kernels, c, c->room[1], c->room[0], (int32_t[]){high, low}, active, K, ld);
        else
            add_product(kernels, c, c->room[0], c->room[1], (int32_t[]){low, high}, active, K, ld);
    }
}
