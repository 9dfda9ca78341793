/* Method of snapshots: with A the snapshots in coordinates sqrt(W) u, A^T A = V S^2 V^T and the columns are A V / S. W
 * is the mass, and more where domains meet: there two bases must say the same. */
#include "subspace/basis.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

#define SPAN 1e-12 /* share of the snapshots' squares below which a direction is rounding */

/* Snapshots as rows, in coordinates of the root of the weights. */
typedef struct rows {
    size_t n;       /* 3 x vertices */
    int32_t count;  /* snapshots */
    double *row;    /* count x n */
    double energy;  /* sum of their squares */
    double *gram;   /* count x count */
    double *value;  /* count */
    double *column; /* n x ... : what came out, most first */
    int32_t found;
    double *vector; /* count x count: eigenvectors of gram, as columns */
    const supple_allocator *allocator;
    spl_pool *pool;
} rows;

static bool rows_create(rows *r, size_t n, int32_t count, int32_t most, const supple_allocator *a, spl_pool *pool)
{
    size_t m = (size_t)count;
    *r = (rows){.n = n, .count = count, .allocator = a, .pool = pool};
    r->row = spl_new(a, m, n * sizeof *r->row);
    r->gram = spl_new(a, m, m * sizeof *r->gram);
    r->value = spl_new(a, m, sizeof *r->value);
    r->vector = spl_new(a, m, m * sizeof *r->vector);
    r->column = spl_new(a, (size_t)most, n * sizeof *r->column);
    return r->row && r->gram && r->value && r->vector && r->column;
}

static void rows_release(rows *r)
{
    const supple_allocator *a = r->allocator;
    if (!a) return;
    spl_free(a, r->row);
    spl_free(a, r->gram);
    spl_free(a, r->value);
    spl_free(a, r->vector);
    spl_free(a, r->column);
}

/* Takes away what `count` orthonormal columns span; twice, as once leaves rounding. */
static void project_out(double *x, size_t n, const double *column, int32_t count)
{
    for (int32_t k = 0; k < 2 * count; k++) {
        const double *c = column + (size_t)(k % count) * n;
        double dot = spl_dense_dot(c, x, n);
        for (size_t i = 0; i < n; i++) x[i] -= dot * c[i];
    }
}

/* ---- PCA ---- */

static void gram_range(void *context, size_t begin, size_t end)
{
    const rows *r = context;
    size_t m = (size_t)r->count;
    for (size_t i = begin; i < end; i++)
        for (size_t j = 0; j <= i; j++) r->gram[i * m + j] = spl_dense_dot(r->row + i * r->n, r->row + j * r->n, r->n);
}

static void combine_range(void *context, size_t begin, size_t end)
{
    const rows *r = context;
    size_t m = (size_t)r->count;
    for (size_t k = begin; k < end; k++) {
        double *out = r->column + k * r->n;
        memset(out, 0, r->n * sizeof *out);
        for (size_t s = 0; s < m; s++) {
            double v = r->vector[s * m + k];
            for (size_t i = 0; i < r->n; i++) out[i] += v * r->row[s * r->n + i];
        }
    }
}

/* Squares of the singular values, most first, and the vectors. */
static void decompose(rows *r)
{
    size_t m = (size_t)r->count;
    spl_parallel_for(r->pool, m, 1, gram_range, r);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < i; j++) r->gram[j * m + i] = r->gram[i * m + j];
    spl_eigen_symmetric(r->gram, m, r->value, r->vector);
}

/* The first principal directions of the rows, at most `most` of them, orthogonal to `base` as well, which the rows are
 * already: into r->column, r->found of them. */
static void find_directions(rows *r, const double *base, int32_t base_count, int32_t most)
{
    int32_t count = 0;
    decompose(r);
    while (count < most && count < r->count && r->value[count] > SPAN * r->energy) count++;
    spl_parallel_for(r->pool, (size_t)count, 1, combine_range, r);
    r->found = 0;
    for (int32_t k = 0; k < count; k++) {
        double *from = r->column + (size_t)k * r->n, *to = r->column + (size_t)r->found * r->n;
        double before = sqrt(spl_dense_dot(from, from, r->n));
        for (size_t i = 0; i < r->n; i++) to[i] = from[i] / before;
        project_out(to, r->n, base, base_count);
        project_out(to, r->n, r->column, r->found);
        double after = sqrt(spl_dense_dot(to, to, r->n));
        if (!(after > 0.5)) continue; /* nothing of its own */
        for (size_t i = 0; i < r->n; i++) to[i] /= after;
        r->found++;
    }
}

/* ---- poses, then shapes ---- */

typedef struct work {
    const spl_domain *domain;
    const spl_snapshots *snapshots;
    int32_t index; /* of the domain */
    double *root;  /* n: square roots of the weights */
    rows pose, shape;
} work;

void spl_basis_weights(const spl_domains *domains, int32_t domain, double seam, double *weight)
{
    const spl_domain *d = &domains->domain[domain];
    double mass = 0;
    for (int32_t k = 0; k < d->vertex_count; k++) {
        mass += d->mass[k];
        weight[k] = d->mass[k];
    }
    for (int32_t i = 0; i < domains->interface_count; i++) {
        const spl_interface *f = &domains->interface[i];
        double area = 0;
        if (f->i != domain && f->j != domain) continue;
        for (int32_t k = 0; k < f->count; k++) area += f->area[k];
        for (int32_t k = 0; k < f->count; k++)
            weight[f->i == domain ? f->at_i[k] : f->at_j[k]] += seam * mass * f->area[k] / area;
    }
}

static bool make_weights(work *w, const spl_domains *domains, const supple_allocator *a)
{
    size_t n = (size_t)w->domain->vertex_count;
    w->root = spl_new(a, n, 3 * sizeof *w->root);
    if (!w->root) return false;
    spl_basis_weights(domains, w->index, w->snapshots->seam, w->root);
    for (size_t k = n; k-- > 0;) { /* from the last, as they are spread to three */
        double root = sqrt(w->root[k]);
        w->root[3 * k] = w->root[3 * k + 1] = w->root[3 * k + 2] = root;
    }
    return true;
}

static void load_poses(work *w)
{
    rows *r = &w->pose;
    for (size_t s = 0; s < (size_t)r->count; s++)
        for (size_t i = 0; i < r->n; i++)
            r->row[s * r->n + i] = w->root[i] * w->snapshots->pose[w->index][s * r->n + i];
    r->energy = spl_dense_dot(r->row, r->row, (size_t)r->count * r->n);
}

/* Shapes are of the whole body: the domain's part, weighted, less what the poses' columns span. */
static void load_shapes(work *w, int32_t poses)
{
    rows *r = &w->shape;
    size_t body_n = 3 * (size_t)w->snapshots->vertex_count;
    r->energy = 0;
    for (size_t s = 0; s < (size_t)r->count; s++) {
        double *row = r->row + s * r->n;
        for (size_t i = 0; i < r->n; i++) {
            size_t at = 3 * (size_t)w->domain->vertex[i / 3] + i % 3;
            row[i] = w->root[i] * w->snapshots->scale[s] * w->snapshots->shape[s * body_n + at];
        }
        r->energy += spl_dense_dot(row, row, r->n);
        project_out(row, r->n, w->pose.column, poses);
    }
}

/* How many of the poses' columns to take: their share, and more as long as the shapes do not fill theirs. Leaves the
 * shapes' columns for that number. */
static int32_t share(work *w, int32_t rank, double pose_share)
{
    int32_t available = w->pose.found, poses = (int32_t)lround(pose_share * rank);
    if (poses > available) poses = available;
    for (;;) {
        load_shapes(w, poses);
        find_directions(&w->shape, w->pose.column, poses, rank - poses);
        int32_t missing = rank - poses - w->shape.found, more = available - poses;
        if (missing <= 0 || more <= 0) return poses;
        poses += missing < more ? missing : more;
    }
}

/* Orthonormal in the mass, one column after another, so that the first ones still span what the poses gave. */
static void write_basis(work *w, int32_t poses, double *basis)
{
    int32_t rank = poses + w->shape.found;
    for (int32_t k = 0; k < rank; k++) {
        const rows *r = k < poses ? &w->pose : &w->shape;
        double *x = r->column + (size_t)(k < poses ? k : k - poses) * r->n;
        for (size_t i = 0; i < r->n; i++) x[i] *= sqrt(w->domain->mass[i / 3]) / w->root[i];
        project_out(x, r->n, w->pose.column, k < poses ? k : poses);
        project_out(x, r->n, w->shape.column, k < poses ? 0 : k - poses);
        double size = sqrt(spl_dense_dot(x, x, r->n));
        for (size_t i = 0; i < r->n; i++) {
            x[i] /= size;
            basis[i * (size_t)rank + (size_t)k] = x[i] / sqrt(w->domain->mass[i / 3]);
        }
    }
}

supple_result spl_basis_make(const spl_domains *domains, int32_t domain, const spl_snapshots *snapshots, int32_t rank,
                             double pose_share, spl_pool *pool, const supple_allocator *a, double *basis,
                             int32_t *rank_out, int32_t *pose_rank, supple_error *error)
{
    const spl_domain *d = &domains->domain[domain];
    size_t n = 3 * (size_t)d->vertex_count;
    work w = {.domain = d, .snapshots = snapshots, .index = domain};
    *rank_out = *pose_rank = 0;
    if (rank < 1 || !(pose_share >= 0 && pose_share <= 1))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a basis of rank %d, a share of %g of it from poses", (int)rank,
                        pose_share);
    bool ok = make_weights(&w, domains, a) && rows_create(&w.pose, n, snapshots->pose_count, rank, a, pool) &&
              rows_create(&w.shape, n, snapshots->shape_count, rank, a, pool);
    if (ok) {
        load_poses(&w);
        find_directions(&w.pose, NULL, 0, rank);
        int32_t poses = share(&w, rank, pose_share);
        *pose_rank = poses;
        *rank_out = poses + w.shape.found;
        write_basis(&w, poses, basis);
    }
    rows_release(&w.pose);
    rows_release(&w.shape);
    spl_free(a, w.root);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "a domain's basis");
}

/* ---- ranks ---- */

/* By pose of the domain: the mean square displacement that its k-th principal direction holds. */
static bool spectrum_of(const spl_domains *domains, int32_t domain, const spl_snapshots *snapshots, spl_pool *pool,
                        const supple_allocator *a, double *value)
{
    const spl_domain *d = &domains->domain[domain];
    work w = {.domain = d, .snapshots = snapshots, .index = domain};
    double weight = 0;
    bool ok = make_weights(&w, domains, a) &&
              rows_create(&w.pose, 3 * (size_t)d->vertex_count, snapshots->pose_count, 1, a, pool);
    if (ok) {
        load_poses(&w);
        decompose(&w.pose);
        for (int32_t k = 0; k < d->vertex_count; k++) weight += w.root[3 * k] * w.root[3 * k];
        for (int32_t k = 0; k < snapshots->pose_count; k++) value[k] = fmax(0, w.pose.value[k]) / weight;
    }
    rows_release(&w.pose);
    spl_free(a, w.root);
    return ok;
}

/* Hands out columns one by one to the domain that has most left; ties go to the least rank. */
static void hand_out(const double *spectrum, int32_t poses, int32_t domains, int32_t rank, double pose_share,
                     int32_t *ranks)
{
    int32_t least = (3 * rank + 9) / 10, most = 2 * rank;
    for (int32_t d = 0; d < domains; d++) ranks[d] = least;
    for (int64_t left = (int64_t)(rank - least) * domains; left > 0; left--) {
        int32_t best = -1;
        double gain = 0;
        for (int32_t d = 0; d < domains; d++) {
            int32_t k = (int32_t)lround(pose_share * ranks[d]);
            double g = pose_share > 0 && k < poses ? spectrum[d * poses + k] : 0;
            if (ranks[d] >= most) continue;
            if (best < 0 || g > gain || (!(g < gain) && ranks[d] < ranks[best])) best = d, gain = g;
        }
        ranks[best]++;
    }
}

supple_result spl_basis_ranks(const spl_domains *domains, const spl_snapshots *snapshots, int32_t rank,
                              double pose_share, supple_result (*load)(void *, int32_t, supple_error *), void *context,
                              spl_pool *pool, const supple_allocator *a, int32_t *ranks, supple_error *error)
{
    size_t poses = (size_t)snapshots->pose_count;
    double *spectrum = spl_new(a, (size_t)domains->domain_count * poses, sizeof *spectrum);
    supple_result result = spectrum ? SUPPLE_OK : spl_fail_memory(error, "the domains' ranks");
    for (int32_t d = 0; d < domains->domain_count && result == SUPPLE_OK; d++) {
        if (load) result = load(context, d, error);
        if (result == SUPPLE_OK && !spectrum_of(domains, d, snapshots, pool, a, spectrum + (size_t)d * poses))
            result = spl_fail_memory(error, "the domains' ranks");
    }
    if (result == SUPPLE_OK) hand_out(spectrum, snapshots->pose_count, domains->domain_count, rank, pose_share, ranks);
    spl_free(a, spectrum);
    return result;
}
