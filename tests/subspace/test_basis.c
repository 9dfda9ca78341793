#include "subspace/basis.h"

#include "failing.h"
#include "math/dense.h"
#include "subspace/training.h"
#include "test.h"

typedef struct sample {
    training t;
    const spl_domain *d;
    size_t n, body_n; /* 3 x vertices of the domain, of the body */
    double *root;     /* of the masses, n */
    double *pose, *shape, *scale;
    double **by_domain;
    spl_snapshots snapshots;
} sample;

/* Random orthonormal columns in coordinates of the root of the mass, n each. */
static double *orthonormal(size_t n, int count, uint64_t seed)
{
    double *q = malloc(n * (size_t)count * sizeof *q);
    for (int k = 0; k < count; k++) {
        double *c = q + (size_t)k * n;
        for (size_t i = 0; i < n; i++) c[i] = training_random(&seed);
        for (int j = 0; j < 2 * k; j++) {
            double dot = spl_dense_dot(q + (size_t)(j % k) * n, c, n);
            for (size_t i = 0; i < n; i++) c[i] -= dot * q[(size_t)(j % k) * n + i];
        }
        double size = sqrt(spl_dense_dot(c, c, n));
        for (size_t i = 0; i < n; i++) c[i] /= size;
    }
    return q;
}

/* Snapshots Q S V^T: their principal directions are the columns of Q, their sizes `size`. */
static void fill(const sample *s, const double *q, const double *size, int rank, int count, bool whole, double *out)
{
    double *v = orthonormal((size_t)count, rank, 99);
    size_t stride = whole ? s->body_n : s->n;
    for (int k = 0; k < count; k++)
        for (size_t i = 0; i < s->n; i++) {
            double sum = 0;
            for (int j = 0; j < rank; j++)
                sum += q[(size_t)j * s->n + i] * size[j] * v[(size_t)j * (size_t)count + (size_t)k];
            size_t at = whole ? 3 * (size_t)s->d->vertex[i / 3] + i % 3 : i;
            out[(size_t)k * stride + at] = sum / s->root[i];
        }
    free(v);
}

enum { POSES = 12, SHAPES = 15 };

static sample sample_make(const double *pose_size, int pose_rank, const double *shape_size, int shape_rank)
{
    sample s = {.t = training_make("arm", 0.5, 20, NULL)};
    s.d = &s.t.domains.domain[s.t.domains.domain_count - 1];
    s.n = 3 * (size_t)s.d->vertex_count;
    s.body_n = 3 * (size_t)s.t.demo.body->tets.vertex_count;
    s.root = malloc(s.n * sizeof *s.root);
    for (size_t i = 0; i < s.n; i++) s.root[i] = sqrt(s.d->mass[i / 3]);
    s.pose = calloc(POSES * s.n, sizeof *s.pose);
    s.shape = calloc(SHAPES * s.body_n, sizeof *s.shape);
    s.scale = malloc(SHAPES * sizeof *s.scale);
    s.by_domain = calloc((size_t)s.t.domains.domain_count, sizeof *s.by_domain);
    s.by_domain[s.t.domains.domain_count - 1] = s.pose;
    double *all = orthonormal(s.n, pose_rank + shape_rank, 5);
    fill(&s, all, pose_size, pose_rank, POSES, false, s.pose);
    fill(&s, all + (size_t)pose_rank * s.n, shape_size, shape_rank, SHAPES, true, s.shape);
    for (int k = 0; k < SHAPES; k++) { /* weights must count: undo them here */
        s.scale[k] = pow(0.8, k);
        for (size_t i = 0; i < s.body_n; i++) s.shape[(size_t)k * s.body_n + i] /= s.scale[k];
    }
    free(all);
    s.snapshots = (spl_snapshots){POSES, s.by_domain, (int32_t)(s.body_n / 3), SHAPES, s.shape, s.scale, 0};
    return s;
}

static void sample_free(sample *s)
{
    free(s->root);
    free(s->pose);
    free(s->shape);
    free(s->scale);
    free(s->by_domain);
    training_free(&s->t);
}

static double *basis_of(const sample *s, int32_t rank, double share, spl_pool *pool, int32_t *got, int32_t *poses)
{
    supple_allocator a = spl_allocator_of(NULL);
    double *basis = calloc(s->n * (size_t)rank, sizeof *basis);
    CHECK(spl_basis_make(&s->t.domains, s->t.domains.domain_count - 1, &s->snapshots, rank, share, pool, &a, basis, got,
                         poses, NULL) == SUPPLE_OK);
    return basis;
}

/* U^T M U = I. */
static void check_orthonormal(const sample *s, const double *basis, int32_t rank)
{
    for (int32_t a = 0; a < rank; a++)
        for (int32_t b = 0; b <= a; b++) {
            double sum = 0;
            for (size_t i = 0; i < s->n; i++)
                sum += s->d->mass[i / 3] * basis[i * (size_t)rank + (size_t)a] * basis[i * (size_t)rank + (size_t)b];
            CHECK_NEAR(sum, a == b, 1e-10);
        }
}

/* The squares of the snapshots (in the mass norm) that columns [first, last) hold. */
static double captured(const sample *s, const double *basis, int32_t rank, int32_t first, int32_t last, bool shapes)
{
    double sum = 0;
    for (int k = 0; k < (shapes ? SHAPES : POSES); k++)
        for (int32_t c = first; c < last; c++) {
            double dot = 0;
            for (size_t i = 0; i < s->n; i++) {
                double x = shapes
                               ? s->scale[k] * s->shape[(size_t)k * s->body_n + 3 * (size_t)s->d->vertex[i / 3] + i % 3]
                               : s->pose[(size_t)k * s->n + i];
                dot += s->d->mass[i / 3] * basis[i * (size_t)rank + (size_t)c] * x;
            }
            sum += dot * dot;
        }
    return sum;
}

/* Snapshots with known singular values: k columns hold the squares of the k largest, no more and no less. */
TEST(columns_are_the_principal_ones)
{
    static const double pose[8] = {5, 3, 2, 1, 0.5, 0.1, 1e-2, 1e-3}, shape[7] = {40, 10, 9, 1, 0.3, 0.02, 1e-4};
    sample s = sample_make(pose, 8, shape, 7);
    REQUIRE(s.t.ok);
    for (int32_t rank = 2; rank <= 14; rank += 2) {
        int32_t got, poses;
        double *basis = basis_of(&s, rank, 0.5, NULL, &got, &poses), want = 0;
        CHECK(got == rank && poses == rank / 2);
        check_orthonormal(&s, basis, got);
        for (int k = 0; k < poses; k++) want += pose[k] * pose[k];
        CHECK_NEAR(captured(&s, basis, got, 0, poses, false) / want, 1, 1e-12);
        want = 0;
        for (int k = 0; k < got - poses; k++) want += shape[k] * shape[k];
        CHECK_NEAR(captured(&s, basis, got, poses, got, true) / want, 1, 1e-12);
        free(basis);
    }
    sample_free(&s);
}

/* Either side fills what the other leaves; no more columns come back than the snapshots span. */
TEST(shares)
{
    static const struct {
        int32_t pose_rank, shape_rank, rank;
        double share;
        int32_t poses, got;
    } cases[] = {{8, 7, 10, 0.5, 5, 10}, {8, 7, 10, 0, 3, 10},   {8, 7, 10, 1, 8, 10},  {2, 7, 8, 0.5, 2, 8},
                 {8, 2, 8, 0.5, 6, 8},   {8, 7, 40, 0.5, 8, 15}, {3, 2, 40, 0.1, 3, 5}, {8, 7, 1, 0.5, 1, 1}};
    static const double size[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sample s = sample_make(size, cases[c].pose_rank, size, cases[c].shape_rank);
        REQUIRE(s.t.ok);
        int32_t got, poses;
        double *basis = basis_of(&s, cases[c].rank, cases[c].share, NULL, &got, &poses);
        CHECK(got == cases[c].got && poses == cases[c].poses);
        check_orthonormal(&s, basis, got);
        free(basis);
        sample_free(&s);
    }
}

/* Shapes that the poses have already: nothing is counted twice. */
TEST(shapes_that_poses_span)
{
    static const double size[3] = {3, 2, 1};
    sample s = sample_make(size, 3, size, 3);
    REQUIRE(s.t.ok);
    int32_t got, poses;
    for (int k = 0; k < SHAPES; k++)
        for (size_t i = 0; i < s.n; i++)
            s.shape[(size_t)k * s.body_n + 3 * (size_t)s.d->vertex[i / 3] + i % 3] =
                s.pose[(size_t)(k % POSES) * s.n + i] * (k + 1);
    double *basis = basis_of(&s, 6, 0.5, NULL, &got, &poses);
    CHECK(got == 3 && poses == 3);
    check_orthonormal(&s, basis, got);
    free(basis);
    sample_free(&s);
}

/* The part of the poses' squares that the weighted norm loses, mass and `seam` times the interfaces', after the best
 * fit in that norm by these columns: by Gram and Schmidt in it. */
static double lost(const sample *s, const double *basis, int32_t rank, double seam)
{
    int32_t last = s->t.domains.domain_count - 1;
    double *w = malloc(s->n * sizeof *w), *y = malloc((size_t)rank * s->n * sizeof *y), mass = 0, left = 0, all = 0;
    for (size_t i = 0; i < s->n; i++) mass += (w[i] = s->d->mass[i / 3]) / 3;
    for (int32_t k = 0; k < s->t.domains.interface_count; k++) {
        const spl_interface *f = &s->t.domains.interface[k];
        double area = 0;
        for (int32_t v = 0; v < f->count; v++) area += f->area[v];
        for (int32_t v = 0; v < f->count; v++)
            for (size_t c = 0; c < 3 && (f->i == last || f->j == last); c++)
                w[3 * (size_t)(f->j == last ? f->at_j[v] : f->at_i[v]) + c] += seam * mass * f->area[v] / area;
    }
    for (int32_t k = 0; k < rank; k++) {
        double *c = y + (size_t)k * s->n;
        for (size_t i = 0; i < s->n; i++) c[i] = sqrt(w[i]) * basis[i * (size_t)rank + (size_t)k];
        for (int32_t j = 0; j < 2 * k; j++) {
            const double *o = y + (size_t)(j % k) * s->n;
            double dot = spl_dense_dot(o, c, s->n);
            for (size_t i = 0; i < s->n; i++) c[i] -= dot * o[i];
        }
        double size = sqrt(spl_dense_dot(c, c, s->n));
        for (size_t i = 0; i < s->n; i++) c[i] /= size;
    }
    for (int p = 0; p < POSES; p++) {
        double *x = malloc(s->n * sizeof *x);
        for (size_t i = 0; i < s->n; i++) x[i] = sqrt(w[i]) * s->pose[(size_t)p * s->n + i];
        double square = spl_dense_dot(x, x, s->n);
        all += square;
        left += square;
        for (int32_t k = 0; k < rank; k++) {
            double dot = spl_dense_dot(y + (size_t)k * s->n, x, s->n);
            left -= dot * dot;
        }
        free(x);
    }
    free(w);
    free(y);
    return left / all;
}

/* Weight on the seams: still orthonormal in the mass, and no other four columns fit the poses as well in the norm that
 * was asked for. */
TEST(seams_count)
{
    static const double pose[8] = {5, 4.5, 4, 3.5, 3, 2.5, 2, 1.5}, shape[2] = {1, 0.5}, seam[3] = {0, 0.3, 30};
    sample s = sample_make(pose, 8, shape, 2);
    REQUIRE(s.t.ok);
    double *basis[3];
    for (int k = 0; k < 3; k++) {
        int32_t got, poses;
        s.snapshots.seam = seam[k];
        basis[k] = basis_of(&s, 4, 1, NULL, &got, &poses);
        CHECK(got == 4 && poses == 4);
        check_orthonormal(&s, basis[k], got);
    }
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++)
            if (j != k) CHECK(lost(&s, basis[k], 4, seam[k]) < 0.999 * lost(&s, basis[j], 4, seam[k]));
    for (int k = 0; k < 3; k++) free(basis[k]);
    sample_free(&s);
}

/* Poses whose displacements are known: columns go where they take most away, the mean is what was asked for. */
TEST(ranks_follow_the_poses)
{
    static const double pose[12] = {9, 8, 7, 6, 5, 4, 3, 2, 1.5, 1.2, 1, 0.8}, none[1] = {0};
    sample s = sample_make(pose, 12, none, 1);
    REQUIRE(s.t.ok);
    supple_allocator a = spl_allocator_of(NULL);
    int32_t count = s.t.domains.domain_count, ranks[16], sum = 0;
    REQUIRE(count > 1 && count <= 16);
    for (int32_t d = 0; d < count - 1; d++) { /* the others move little, each in one direction */
        s.by_domain[d] = calloc(POSES * 3 * (size_t)s.t.domains.domain[d].vertex_count, sizeof(double));
        for (size_t i = 0; i < 3 * (size_t)s.t.domains.domain[d].vertex_count; i++) s.by_domain[d][i] = 1e-3;
    }
    CHECK(spl_basis_ranks(&s.t.domains, &s.snapshots, 10, 0.5, NULL, NULL, NULL, &a, ranks, NULL) == SUPPLE_OK);
    for (int32_t d = 0; d < count; d++) {
        CHECK(ranks[d] >= 3 && ranks[d] <= 20);
        sum += ranks[d];
    }
    CHECK(sum == 10 * count);
    CHECK(ranks[count - 1] > 10);
    CHECK(spl_basis_ranks(&s.t.domains, &s.snapshots, 10, 0, NULL, NULL, NULL, &a, ranks, NULL) == SUPPLE_OK);
    for (int32_t d = 0; d < count; d++) CHECK(ranks[d] == 10);
    for (int32_t d = 0; d < count - 1; d++) free(s.by_domain[d]);
    sample_free(&s);
}

TEST(nothing_to_learn_from)
{
    static const double none[1] = {0};
    sample s = sample_make(none, 1, none, 1);
    REQUIRE(s.t.ok);
    supple_allocator a = spl_allocator_of(NULL);
    int32_t got, poses, last = s.t.domains.domain_count - 1;
    double *basis = basis_of(&s, 6, 0.5, NULL, &got, &poses);
    CHECK(got == 0 && poses == 0);
    s.snapshots.pose_count = s.snapshots.shape_count = 0;
    CHECK(spl_basis_make(&s.t.domains, last, &s.snapshots, 6, 0.5, NULL, &a, basis, &got, &poses, NULL) == SUPPLE_OK);
    CHECK(got == 0 && poses == 0);
    CHECK(spl_basis_make(&s.t.domains, last, &s.snapshots, 0, 0.5, NULL, &a, basis, &got, &poses, NULL) ==
          SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_basis_make(&s.t.domains, last, &s.snapshots, 6, 1.5, NULL, &a, basis, &got, &poses, NULL) ==
          SUPPLE_ERROR_ARGUMENT);
    free(basis);
    sample_free(&s);
}

TEST(bits_do_not_depend_on_threads)
{
    static const double pose[8] = {5, 3, 2, 1, 0.5, 0.1, 1e-2, 1e-3}, shape[7] = {40, 10, 9, 1, 0.3, 0.02, 1e-4};
    static const int threads[3] = {1, 2, 7};
    sample s = sample_make(pose, 8, shape, 7);
    REQUIRE(s.t.ok);
    double *basis[3];
    for (int t = 0; t < 3; t++) {
        int32_t got, poses;
        spl_pool *pool = training_pool(threads[t]);
        basis[t] = basis_of(&s, 10, 0.5, pool, &got, &poses);
        CHECK(got == 10);
        CHECK(memcmp(basis[t], basis[0], 10 * s.n * sizeof(double)) == 0);
        spl_pool_destroy(pool);
    }
    for (int t = 0; t < 3; t++) free(basis[t]);
    sample_free(&s);
}

TEST(memory_runs_out)
{
    static const double size[3] = {3, 2, 1};
    sample s = sample_make(size, 3, size, 3);
    REQUIRE(s.t.ok);
    double *basis = malloc(6 * s.n * sizeof *basis);
    bool done = false;
    long n = 0;
    for (; !done && n < 100; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        int32_t got, poses;
        supple_result result = spl_basis_make(&s.t.domains, s.t.domains.domain_count - 1, &s.snapshots, 6, 0.5, NULL,
                                              &a, basis, &got, &poses, NULL);
        done = result == SUPPLE_OK;
        CHECK(done || result == SUPPLE_ERROR_MEMORY);
        CHECK(f.live == 0);
    }
    CHECK(done && n > 8);
    free(basis);
    sample_free(&s);
}

TEST_CASES(RUN(columns_are_the_principal_ones), RUN(shares), RUN(shapes_that_poses_span), RUN(seams_count),
           RUN(ranks_follow_the_poses), RUN(nothing_to_learn_from), RUN(bits_do_not_depend_on_threads),
           RUN(memory_runs_out))
