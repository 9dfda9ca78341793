/* Bases that learn to agree: by what they are to make small, found here pose by pose for the bases as they are. */
#include "subspace/agree.h"

#include "failing.h"
#include "math/dense.h"
#include "subspace/basis.h"
#include "training.h"

enum { POSES = 12, RANK = 4, MOST = 8, UNKNOWNS = MOST * RANK };

static const double seam = 0.3, weight = 10;

typedef struct sample {
    training t;
    spl_mat3 R[POSES * MOST];
    spl_vec3 at[POSES * MOST];
    double *pose[MOST];
    spl_model_domain domain[MOST];
    spl_agreement g;
} sample;

/* A smooth deformation of the whole body: seven waves. */
static spl_vec3 deform(spl_vec3 p, int32_t pose)
{
    uint64_t state = 77 + (uint64_t)pose;
    spl_vec3 x = p;
    for (int k = 0; k < 7; k++) {
        spl_vec3 along = {training_random(&state), training_random(&state), training_random(&state)};
        spl_vec3 by = {training_random(&state), training_random(&state), training_random(&state)};
        x = spl_madd(x, by, 0.02 * sin(12 * spl_dot(along, p) + training_random(&state)));
    }
    return x;
}

static void make_domain(sample *s, int32_t d)
{
    const spl_domain *o = &s->t.domains.domain[d];
    spl_model_domain *m = &s->domain[d];
    size_t n = (size_t)o->vertex_count;
    uint64_t state = 5 + (uint64_t)d;
    *m = (spl_model_domain){.vertex_count = o->vertex_count, .mass = o->mass};
    m->rest = malloc(3 * n * sizeof(double));
    m->basis = malloc(3 * n * RANK * sizeof(double));
    s->pose[d] = malloc(POSES * 3 * n * sizeof(double));
    for (size_t k = 0; k < n; k++)
        memcpy(m->rest + 3 * k, s->t.solid.drive.rest + 3 * (size_t)o->vertex[k], 3 * sizeof(double));
    for (int32_t p = 0; p < POSES; p++) {
        size_t frame = (size_t)p * (size_t)s->t.domains.domain_count + (size_t)d;
        spl_vec3 axis = {training_random(&state), training_random(&state), training_random(&state)};
        s->R[frame] = spl_quat_to_mat3(spl_quat_axis_angle(spl_scale(axis, 1 / spl_norm(axis)), 0.5));
        s->at[frame] = spl_scale(axis, 0.1);
        spl_mat3 back = spl_mat3_transpose(&s->R[frame]);
        for (size_t k = 0; k < n; k++) {
            spl_vec3 rest = {m->rest[3 * k], m->rest[3 * k + 1], m->rest[3 * k + 2]};
            spl_vec3 u = spl_sub(spl_mat3_apply(&back, spl_sub(deform(rest, p), s->at[frame])), rest);
            memcpy(s->pose[d] + 3 * ((size_t)p * n + k), &u, sizeof u);
        }
    }
}

static sample *sample_make(void)
{
    sample *s = calloc(1, sizeof *s);
    supple_allocator a = spl_allocator_of(NULL);
    s->t = training_make("arm", 0.5, 14, NULL);
    if (!s->t.ok || s->t.domains.domain_count < 2 || s->t.domains.domain_count > MOST) abort();
    spl_snapshots snapshots = {.pose_count = POSES,
                               .pose = (double *const *)s->pose,
                               .vertex_count = s->t.demo.body->tets.vertex_count,
                               .seam = seam};
    for (int32_t d = 0; d < s->t.domains.domain_count; d++) {
        make_domain(s, d);
        CHECK(spl_basis_make(&s->t.domains, d, &snapshots, RANK, 1, NULL, &a, s->domain[d].basis, &s->domain[d].rank,
                             &s->domain[d].pose_rank, NULL) == SUPPLE_OK);
        CHECK(s->domain[d].rank == RANK && s->domain[d].pose_rank == RANK);
    }
    s->g = (spl_agreement){.domains = &s->t.domains,
                           .pose_count = POSES,
                           .pose = (double *const *)s->pose,
                           .R = s->R,
                           .t = s->at,
                           .seam = seam,
                           .weight = weight,
                           .sweeps = 5};
    return s;
}

static void sample_free(sample *s)
{
    for (int32_t d = 0; d < s->t.domains.domain_count; d++) {
        free(s->domain[d].rest);
        free(s->domain[d].basis);
        free(s->pose[d]);
    }
    training_free(&s->t);
    free(s);
}

/* ---- least squares of one pose ---- */

typedef struct squares {
    double A[UNKNOWNS][UNKNOWNS], b[UNKNOWNS], constant;
} squares;

/* by |sum row q - value|^2 */
static void add(squares *s, const double row[UNKNOWNS], double value, double by)
{
    for (int i = 0; i < UNKNOWNS; i++) {
        if (row[i] == 0) continue;
        for (int j = 0; j < UNKNOWNS; j++) s->A[i][j] += by * row[i] * row[j];
        s->b[i] += by * row[i] * value;
    }
    s->constant += by * value * value;
}

/* What is left at the minimum; q into b. */
static double least(squares *s, int n)
{
    double b[UNKNOWNS], left = s->constant;
    memcpy(b, s->b, sizeof b);
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            double f = s->A[i][k] / s->A[k][k];
            for (int j = k; j < n; j++) s->A[i][j] -= f * s->A[k][j];
            s->b[i] -= f * s->b[k];
        }
    for (int k = n; k-- > 0;) {
        for (int j = k + 1; j < n; j++) s->b[k] -= s->A[k][j] * s->b[j];
        s->b[k] /= s->A[k][k];
        left -= b[k] * s->b[k];
    }
    return left;
}

/* The rows of a vertex's places in the world, and where it rests there. */
static void world_rows(const sample *s, int32_t pose, int32_t d, int32_t v, double row[3][UNKNOWNS], double sign,
                       double rest[3])
{
    size_t frame = (size_t)pose * (size_t)s->t.domains.domain_count + (size_t)d;
    const spl_model_domain *m = &s->domain[d];
    const double *p = m->rest + 3 * (size_t)v;
    spl_vec3 x = spl_add(spl_mat3_apply(&s->R[frame], spl_v3(p[0], p[1], p[2])), s->at[frame]);
    rest[0] += sign * x.x, rest[1] += sign * x.y, rest[2] += sign * x.z;
    for (int k = 0; k < RANK; k++) {
        const double *u = m->basis + 3 * (size_t)v * RANK + k;
        spl_vec3 y = spl_mat3_apply(&s->R[frame], spl_v3(u[0], u[RANK], u[2 * RANK]));
        row[0][d * RANK + k] += sign * y.x;
        row[1][d * RANK + k] += sign * y.y;
        row[2][d * RANK + k] += sign * y.z;
    }
}

static void add_gaps(const sample *s, int32_t pose, squares *q)
{
    for (int32_t i = 0; i < s->t.domains.interface_count; i++) {
        const spl_interface *f = &s->t.domains.interface[i];
        double area = 0, mass = 0;
        for (int32_t k = 0; k < f->count; k++) area += f->area[k];
        for (int32_t side = 0; side < 2; side++) {
            const spl_domain *d = &s->t.domains.domain[side ? f->j : f->i];
            for (int32_t k = 0; k < d->vertex_count; k++) mass += 0.5 * d->mass[k];
        }
        for (int32_t k = 0; k < f->count; k++) {
            double row[3][UNKNOWNS] = {{0}}, rest[3] = {0};
            world_rows(s, pose, f->i, f->at_i[k], row, 1, rest);
            world_rows(s, pose, f->j, f->at_j[k], row, -1, rest);
            for (int c = 0; c < 3; c++) add(q, row[c], -rest[c], weight * seam * mass * f->area[k] / area);
        }
    }
}

/* The whole sum at its least, and of it the gaps alone. */
static double objective(const sample *s, double *gaps)
{
    double sum = 0;
    *gaps = 0;
    for (int32_t pose = 0; pose < POSES; pose++) {
        squares all = {.constant = 0}, gap = {.constant = 0};
        for (int32_t d = 0; d < s->t.domains.domain_count; d++) {
            size_t n = 3 * (size_t)s->domain[d].vertex_count;
            double *w = malloc(n * sizeof *w);
            spl_basis_weights(&s->t.domains, d, seam, w);
            for (size_t k = 0; k < n; k++) {
                double row[UNKNOWNS] = {0};
                memcpy(row + d * RANK, s->domain[d].basis + k * RANK, RANK * sizeof *row);
                add(&all, row, s->pose[d][(size_t)pose * n + k], w[k / 3]);
            }
            free(w);
        }
        add_gaps(s, pose, &gap);
        add_gaps(s, pose, &all);
        sum += least(&all, s->t.domains.domain_count * RANK);
        double part = gap.constant;
        for (int i = 0; i < UNKNOWNS; i++) {
            part -= 2 * gap.b[i] * all.b[i];
            for (int j = 0; j < UNKNOWNS; j++) part += gap.A[i][j] * all.b[i] * all.b[j];
        }
        *gaps += part;
    }
    return sum;
}

static double off_orthonormal(const spl_model_domain *d)
{
    double most = 0;
    for (size_t i = 0; i < RANK; i++)
        for (size_t j = 0; j < RANK; j++) {
            double sum = i == j ? -1 : 0;
            for (size_t k = 0; k < 3 * (size_t)d->vertex_count; k++)
                sum += d->mass[k / 3] * d->basis[k * RANK + i] * d->basis[k * RANK + j];
            most = fmax(most, fabs(sum));
        }
    return most;
}

/* ---- the tests ---- */

TEST(seams_close_and_nothing_else_is_lost)
{
    sample *s = sample_make();
    supple_allocator a = spl_allocator_of(NULL);
    double gap[2], sum[2] = {objective(s, &gap[0]), 0};
    CHECK(spl_bases_agree(&s->g, s->domain, NULL, &a, NULL) == SUPPLE_OK);
    sum[1] = objective(s, &gap[1]);
    printf("    the sum falls to %.3f, of it the gaps to %.3f\n", sum[1] / sum[0], gap[1] / gap[0]);
    CHECK(sum[1] < 0.95 * sum[0] && gap[1] < 0.8 * gap[0]);
    for (int32_t d = 0; d < s->t.domains.domain_count; d++) CHECK(off_orthonormal(&s->domain[d]) < 1e-10);
    sample_free(s);
}

TEST(bits_at_any_threads)
{
    sample *s[2] = {sample_make(), sample_make()};
    supple_allocator a = spl_allocator_of(NULL);
    spl_pool *pool = training_pool(3);
    CHECK(spl_bases_agree(&s[0]->g, s[0]->domain, NULL, &a, NULL) == SUPPLE_OK);
    CHECK(spl_bases_agree(&s[1]->g, s[1]->domain, pool, &a, NULL) == SUPPLE_OK);
    for (int32_t d = 0; d < s[0]->t.domains.domain_count; d++)
        CHECK(memcmp(s[0]->domain[d].basis, s[1]->domain[d].basis,
                     3 * RANK * (size_t)s[0]->domain[d].vertex_count * sizeof(double)) == 0);
    spl_pool_destroy(pool);
    for (int k = 0; k < 2; k++) sample_free(s[k]);
}

TEST(memory)
{
    sample *s = sample_make();
    failing f = {.fail_at = -1};
    supple_allocator a = failing_allocator(&f);
    s->g.sweeps = 1;
    CHECK(spl_bases_agree(&s->g, s->domain, NULL, &a, NULL) == SUPPLE_OK && f.live == 0);
    for (long n = f.requests; n-- > 0;) {
        f = (failing){.fail_at = n};
        CHECK(spl_bases_agree(&s->g, s->domain, NULL, &a, NULL) == SUPPLE_ERROR_MEMORY && f.live == 0);
    }
    sample_free(s);
}

TEST_CASES(RUN(seams_close_and_nothing_else_is_lost), RUN(bits_at_any_threads), RUN(memory))
