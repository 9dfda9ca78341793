/* Alternating least squares: q of all poses for U, then U for these q. The normal equations of both are as large as the
 * rank, so a sweep costs poses x vertices x rank, and no principal components are found again. */
#include "subspace/agree.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "math/dense.h"
#include "subspace/basis.h"

#include <math.h>
#include <string.h>

typedef struct work {
    const spl_agreement *g;
    spl_model_domain *domain; /* all */
    double **q;               /* by domain: poses x pose_rank */
    int32_t index;            /* of the domain at hand */
    bool mixed;               /* the neighbours are heard */
    int32_t *place;           /* by vertex: its number among those at interfaces, -1 */
    int32_t met_count;
    double *weight;  /* by vertex: what poses weigh, and with the neighbours' */
    double *both;    /* by vertex */
    double *target;  /* poses x (3 x met_count): what poses and neighbours say there */
    double *factor;  /* pose_rank^2: of U^T W U, or of the sum of q q^T; lower */
    double *product; /* (3 x vertices) x pose_rank: sum of u q^T */
    const supple_allocator *allocator;
    spl_pool *pool;
} work;

/* ---- a small system ---- */

/* A = L L^T in place, lower. False: not positive definite. */
static bool factorise(double *A, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, A[i * n + i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = A[i * n + j] - spl_dense_dot(A + i * n, A + j * n, j);
            if (i == j && !(sum > 1e-12 * most)) return false;
            A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
        }
    return true;
}

static void solve(const double *L, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) x[i] = (x[i] - spl_dense_dot(L + i * n, x, i)) / L[i * n + i];
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
        x[i] /= L[i * n + i];
    }
}

/* ---- what is aimed at ---- */

/* Where a vertex of a neighbour's is in the frame of the domain at hand, less the rest place there. */
static spl_vec3 heard(const work *w, size_t pose, int32_t other, int32_t vertex, int32_t own)
{
    const spl_model_domain *d = &w->domain[other];
    size_t frames = pose * (size_t)w->g->domains->domain_count, count = (size_t)d->pose_rank, rank = (size_t)d->rank;
    const double *U = d->basis + 3 * (size_t)vertex * rank, *q = w->q[other] + pose * count;
    const double *rest = d->rest + 3 * (size_t)vertex, *here = w->domain[w->index].rest + 3 * (size_t)own;
    double x[3];
    for (size_t i = 0; i < 3; i++) x[i] = rest[i] + spl_dense_dot(U + i * rank, q, count);
    spl_vec3 y = spl_mat3_apply(&w->g->R[frames + (size_t)other], spl_v3(x[0], x[1], x[2]));
    spl_mat3 back = spl_mat3_transpose(&w->g->R[frames + (size_t)w->index]);
    y = spl_sub(spl_add(y, w->g->t[frames + (size_t)other]), w->g->t[frames + (size_t)w->index]);
    return spl_sub(spl_mat3_apply(&back, y), spl_v3(here[0], here[1], here[2]));
}

/* What one vertex of an interface weighs, for the neighbour's word. */
static double weight_at(const work *w, const spl_interface *f, int32_t k, double mass, double area)
{
    return w->g->weight * w->g->seam * mass * f->area[k] / area;
}

typedef struct interface_sums {
    double mass, area;
} interface_sums;

static interface_sums sums_of(const work *w, const spl_interface *f)
{
    interface_sums s = {0, 0};
    const spl_model_domain *d = &w->domain[w->index];
    for (int32_t k = 0; k < d->vertex_count; k++) s.mass += d->mass[k];
    for (int32_t k = 0; k < f->count; k++) s.area += f->area[k];
    return s;
}

/* Weights and places of the domain at hand. */
static void measure(work *w)
{
    const spl_domains *domains = w->g->domains;
    const spl_domain *d = &domains->domain[w->index];
    spl_basis_weights(domains, w->index, w->g->seam, w->weight);
    memcpy(w->both, w->weight, (size_t)d->vertex_count * sizeof *w->both);
    for (int32_t k = 0; k < d->vertex_count; k++) w->place[k] = -1;
    w->met_count = 0;
    for (int32_t i = 0; w->mixed && i < domains->interface_count; i++) {
        const spl_interface *f = &domains->interface[i];
        if (f->i != w->index && f->j != w->index) continue;
        interface_sums s = sums_of(w, f);
        for (int32_t k = 0; k < f->count; k++) {
            int32_t v = f->i == w->index ? f->at_i[k] : f->at_j[k];
            w->both[v] += weight_at(w, f, k, s.mass, s.area);
            if (w->place[v] < 0) w->place[v] = w->met_count++;
        }
    }
}

/* The mean of what the pose says and what neighbours say. */
static void aim_range(void *context, size_t begin, size_t end)
{
    const work *w = context;
    const spl_domains *domains = w->g->domains;
    size_t n = 3 * (size_t)domains->domain[w->index].vertex_count, met = 3 * (size_t)w->met_count;
    for (size_t s = begin; s < end; s++) {
        double *target = w->target + s * met;
        const double *u = w->g->pose[w->index] + s * n;
        for (size_t k = 0; k < n; k++)
            if (w->place[k / 3] >= 0) target[3 * (size_t)w->place[k / 3] + k % 3] = w->weight[k / 3] * u[k];
        for (int32_t i = 0; i < domains->interface_count; i++) {
            const spl_interface *f = &domains->interface[i];
            if (f->i != w->index && f->j != w->index) continue;
            bool first = f->i == w->index;
            interface_sums sum = sums_of(w, f);
            for (int32_t k = 0; k < f->count; k++) {
                int32_t own = first ? f->at_i[k] : f->at_j[k];
                spl_vec3 y = heard(w, s, first ? f->j : f->i, first ? f->at_j[k] : f->at_i[k], own);
                double by = weight_at(w, f, k, sum.mass, sum.area), *to = target + 3 * (size_t)w->place[own];
                to[0] += by * y.x, to[1] += by * y.y, to[2] += by * y.z;
            }
        }
        for (size_t k = 0; k < n; k++)
            if (w->place[k / 3] >= 0) target[3 * (size_t)w->place[k / 3] + k % 3] /= w->both[k / 3];
    }
}

/* A number of a pose: of the mean at interfaces, else its own. */
static inline double aim_at(const work *w, size_t pose, size_t k, size_t n)
{
    int32_t place = w->place[k / 3];
    return place < 0 ? w->g->pose[w->index][pose * n + k]
                     : w->target[3 * (pose * (size_t)w->met_count + (size_t)place) + k % 3];
}

/* ---- q for U ---- */

static void coordinates_range(void *context, size_t begin, size_t end)
{
    const work *w = context;
    const spl_model_domain *d = &w->domain[w->index];
    size_t n = 3 * (size_t)d->vertex_count, rank = (size_t)d->rank, count = (size_t)d->pose_rank;
    for (size_t s = begin; s < end; s++) {
        double *q = w->q[w->index] + s * count;
        memset(q, 0, count * sizeof *q);
        for (size_t k = 0; k < n; k++) {
            double by = w->both[k / 3] * aim_at(w, s, k, n);
            for (size_t i = 0; i < count; i++) q[i] += by * d->basis[k * rank + i];
        }
        solve(w->factor, count, q);
    }
}

static bool find_coordinates(work *w)
{
    const spl_model_domain *d = &w->domain[w->index];
    size_t n = 3 * (size_t)d->vertex_count, rank = (size_t)d->rank, count = (size_t)d->pose_rank;
    memset(w->factor, 0, count * count * sizeof *w->factor);
    for (size_t k = 0; k < n; k++) {
        const double *U = d->basis + k * rank;
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j <= i; j++) w->factor[i * count + j] += w->both[k / 3] * U[i] * U[j];
    }
    if (!factorise(w->factor, count)) return false;
    spl_parallel_for(w->pool, (size_t)w->g->pose_count, 1, coordinates_range, w);
    return true;
}

/* ---- U for q ---- */

static void columns_range(void *context, size_t begin, size_t end)
{
    const work *w = context;
    const spl_model_domain *d = &w->domain[w->index];
    size_t n = 3 * (size_t)d->vertex_count, count = (size_t)d->pose_rank;
    for (size_t k = begin; k < end; k++) {
        double *row = w->product + k * count;
        memset(row, 0, count * sizeof *row);
        for (size_t s = 0; s < (size_t)w->g->pose_count; s++) {
            const double *q = w->q[w->index] + s * count;
            double u = aim_at(w, s, k, n);
            for (size_t i = 0; i < count; i++) row[i] += u * q[i];
        }
        solve(w->factor, count, row);
    }
}

/* One column of the new basis in `x`, in coordinates of the root of the mass, less what those before it span. */
static bool take_column(const work *w, size_t column, double *x, const double *done)
{
    const spl_model_domain *d = &w->domain[w->index];
    size_t n = 3 * (size_t)d->vertex_count, rank = (size_t)d->rank, count = (size_t)d->pose_rank;
    for (size_t k = 0; k < n; k++)
        x[k] = (column < count ? w->product[k * count + column] : d->basis[k * rank + column]) * sqrt(d->mass[k / 3]);
    double before = sqrt(spl_dense_dot(x, x, n));
    for (size_t i = 0; i < 2 * column; i++) { /* twice, as once leaves rounding */
        const double *c = done + i % column * n;
        double dot = spl_dense_dot(c, x, n);
        for (size_t k = 0; k < n; k++) x[k] -= dot * c[k];
    }
    double after = sqrt(spl_dense_dot(x, x, n));
    for (size_t k = 0; k < n; k++) x[k] /= after;
    return after > 1e-6 * before;
}

/* The new columns orthonormal, the others behind them. Where one has nothing of its own all stay as they were. */
static supple_result put_columns(work *w, supple_error *error)
{
    spl_model_domain *d = &w->domain[w->index];
    size_t n = 3 * (size_t)d->vertex_count, rank = (size_t)d->rank;
    double *x = spl_new(w->allocator, n, rank * sizeof *x);
    if (!x) return spl_fail_memory(error, "the bases");
    bool good = true;
    for (size_t i = 0; i < rank && good; i++) good = take_column(w, i, x + i * n, x);
    for (size_t k = 0; k < n && good; k++)
        for (size_t i = 0; i < rank; i++) d->basis[k * rank + i] = x[i * n + k] / sqrt(d->mass[k / 3]);
    spl_free(w->allocator, x);
    return SUPPLE_OK;
}

static bool sum_coordinates(work *w)
{
    size_t count = (size_t)w->domain[w->index].pose_rank;
    memset(w->factor, 0, count * count * sizeof *w->factor);
    for (size_t s = 0; s < (size_t)w->g->pose_count; s++) {
        const double *q = w->q[w->index] + s * count;
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j <= i; j++) w->factor[i * count + j] += q[i] * q[j];
    }
    return factorise(w->factor, count);
}

/* ---- sweeps ---- */

static void put_away(work *w)
{
    void *all[] = {w->place, w->weight, w->both, w->target, w->factor, w->product};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(w->allocator, all[k]);
    w->place = NULL, w->weight = w->both = w->target = w->factor = w->product = NULL;
}

static bool take_room(work *w)
{
    const spl_model_domain *d = &w->domain[w->index];
    const supple_allocator *a = w->allocator;
    size_t n = (size_t)d->vertex_count, count = (size_t)d->pose_rank;
    w->place = spl_new(a, n, sizeof *w->place);
    w->weight = spl_new(a, n, sizeof *w->weight);
    w->both = spl_new(a, n, sizeof *w->both);
    w->factor = spl_new(a, count, count * sizeof *w->factor);
    w->product = spl_new(a, 3 * n, count * sizeof *w->product);
    if (!w->place || !w->weight || !w->both || !w->factor || !w->product) return false;
    measure(w);
    w->target = spl_new(a, 3 * (size_t)w->met_count, (size_t)w->g->pose_count * sizeof *w->target);
    return w->target;
}

/* The domain's coordinates for its basis; `mixed`: with the neighbours heard, and its basis for these coordinates. */
static supple_result visit(work *w, int32_t index, bool mixed, supple_error *error)
{
    const spl_model_domain *d = &w->domain[index];
    supple_result result = SUPPLE_OK;
    w->index = index;
    w->mixed = mixed;
    if (d->pose_rank < 1) return SUPPLE_OK;
    if (w->g->load) result = w->g->load(w->g->context, index, error);
    if (result != SUPPLE_OK) return result;
    if (!take_room(w)) result = spl_fail_memory(error, "the bases");
    if (result == SUPPLE_OK && w->met_count > 0) spl_parallel_for(w->pool, (size_t)w->g->pose_count, 1, aim_range, w);
    bool good = result == SUPPLE_OK && find_coordinates(w);
    if (good && w->met_count > 0 && sum_coordinates(w)) {
        spl_parallel_for(w->pool, 3 * (size_t)d->vertex_count, 64, columns_range, w);
        result = put_columns(w, error);
        if (result == SUPPLE_OK) find_coordinates(w);
    }
    put_away(w);
    return result;
}

supple_result spl_bases_agree(const spl_agreement *g, spl_model_domain *domain, spl_pool *pool,
                              const supple_allocator *a, supple_error *error)
{
    int32_t count = g->domains->domain_count;
    work w = {.g = g, .domain = domain, .allocator = a, .pool = pool};
    if (!(g->seam > 0) || !(g->weight > 0) || g->sweeps < 1) return SUPPLE_OK;
    w.q = spl_new(a, (size_t)count, sizeof *w.q);
    supple_result result = w.q ? SUPPLE_OK : spl_fail_memory(error, "the bases");
    for (int32_t i = 0; i < count && result == SUPPLE_OK; i++) {
        w.q[i] = spl_new(a, (size_t)g->pose_count, (size_t)domain[i].pose_rank * sizeof **w.q);
        if (!w.q[i]) result = spl_fail_memory(error, "the bases");
    }
    for (int32_t k = 0; k < (g->sweeps + 1) * count && result == SUPPLE_OK; k++)
        result = visit(&w, k % count, k >= count, error);
    for (int32_t i = 0; w.q && i < count; i++) spl_free(a, w.q[i]);
    spl_free(a, w.q);
    return result;
}
