/* Tables of the player against sums over vertices: kernels, sandwich transforms, interfaces, moving frames. */
#include "core/memory.h"
#include "failing.h"
#include "subspace/beam.h"
#include "subspace/blocks.h"
#include "subspace/coupling.h"
#include "subspace/rigid.h"
#include "test.h"

static double *random_numbers(size_t n, uint64_t *seed)
{
    double *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = flesh_random(seed);
    return x;
}

/* ---- kernels ---- */

TEST(kernels_equal_their_twins)
{
    const spl_dense_kernels *plain = spl_dense_kernels_of(true), *fast = spl_dense_kernels_of(false);
    uint64_t seed = 1;
    for (int32_t m = 4; m <= 28; m += 4)
        for (int32_t k = 1; k < 20; k += 3) {
            int32_t n = m + 8 * (k % 2);
            size_t most = 64 * 64;
            double *A = random_numbers(most, &seed), *B = random_numbers(most, &seed);
            double *C = random_numbers(most, &seed), *D = malloc(most * sizeof *D);
            memcpy(D, C, most * sizeof *D);
            spl_product p = {.A = A, .B = B, .lda = 30, .ldb = 40, .ldc = 44, .m = m, .n = n, .k = k, .sign = -1};
            p.upper = k % 4 == 1;
            p.C = C, plain->product(&p);
            p.C = D, fast->product(&p);
            for (size_t i = 0; i < most; i++) CHECK_NEAR(C[i], D[i], 1e-13);
            double *y[2] = {C, D};
            for (int t = 0; t < 2; t++) {
                const spl_dense_kernels *kernels = t ? fast : plain;
                memcpy(y[t], B, most * sizeof *B);
                kernels->multiply(A, k, n, 40, B, y[t]);
                kernels->multiply_transposed(A, k, n, 40, B + 50, y[t] + 100);
                double *out[2] = {y[t] + 400, y[t] + 800};
                kernels->contract(A, 3 + k % 7, (size_t)n, 2, B, out);
                kernels->scale9(A, 0.7, B, n, y[t] + 1600);
                kernels->rows3(A, (size_t)(m + k), B, y[t] + 3000);
            }
            for (size_t i = 0; i < most; i++) CHECK_NEAR(C[i], D[i], 1e-12);
            free(A), free(B), free(C), free(D);
        }
}

/* ---- block Cholesky ---- */

/* A random positive definite matrix with the given blocks, dense as a list of unknowns and as blocks. */
static void fill_system(spl_blocks *b, const int32_t *pair, int32_t pairs, double *dense, int32_t n, uint64_t *seed)
{
    int32_t start[8] = {0};
    for (int32_t i = 0; i < b->count; i++) start[i + 1] = start[i] + b->rank[i];
    for (int32_t k = -b->count; k < pairs; k++) {
        int32_t i = k < 0 ? -k - 1 : pair[2 * k], j = k < 0 ? i : pair[2 * k + 1];
        size_t ld;
        bool swapped;
        double *A = spl_blocks_at(b, i, j, &ld, &swapped);
        for (int32_t r = 0; r < b->rank[i]; r++)
            for (int32_t c = 0; c < b->rank[j]; c++) {
                double v = flesh_random(seed) + (i == j && r == c ? 40 : 0);
                if (i == j && c < r) v = dense[(start[j] + c) * n + start[i] + r];
                dense[(start[i] + r) * n + start[j] + c] = dense[(start[j] + c) * n + start[i] + r] = v;
                A[swapped ? (size_t)c * ld + (size_t)r : (size_t)r * ld + (size_t)c] = v;
            }
    }
}

TEST(block_cholesky_solves_what_the_dense_matrix_says)
{
    const supple_allocator a = spl_allocator_of(NULL);
    const int32_t rank[7] = {5, 8, 3, 20, 1, 13, 4};
    const int32_t pair[] = {0, 3, 1, 3, 2, 3, 5, 4, 6, 5, 3, 5, 0, 6, 2, 1}; /* a tree with two cycles */
    uint64_t seed = 2;
    spl_blocks b;
    CHECK(spl_blocks_create(7, rank, pair, 8, &a, &b, NULL) == SUPPLE_OK);
    enum { N = 54 };
    double *dense = calloc(N * N, sizeof *dense), x[N], *y = calloc(b.offset[7], sizeof *y);
    for (int pass = 0; pass < 2; pass++) { /* the room is used again */
        memset(dense, 0, N * N * sizeof *dense);
        spl_blocks_clear(&b);
        fill_system(&b, pair, 8, dense, N, &seed);
        for (int i = 0; i < N; i++) x[i] = flesh_random(&seed);
        for (int i = 0, d = 0, at = 0; i < N; i++) {
            double sum = 0;
            for (int j = 0; j < N; j++) sum += dense[i * N + j] * x[j];
            while (i - at >= rank[d]) at += rank[d++];
            y[b.offset[d] + (size_t)(i - at)] = sum;
        }
        CHECK(spl_blocks_factorise(&b));
        spl_blocks_solve(&b, y);
        for (int i = 0, d = 0, at = 0; i < N; i++) {
            while (i - at >= rank[d]) at += rank[d++];
            CHECK_NEAR(y[b.offset[d] + (size_t)(i - at)], x[i], 1e-12);
        }
    }
    size_t ld;
    bool swapped;
    spl_blocks_clear(&b);
    fill_system(&b, pair, 8, dense, N, &seed);
    spl_blocks_at(&b, 3, 3, &ld, &swapped)[0] = -1;
    CHECK(!spl_blocks_factorise(&b));
    spl_blocks_release(&b);
    free(dense), free(y);
}

/* ---- sandwiches ---- */

TEST(fast_sandwiches_equal_sums_over_vertices)
{
    const supple_allocator a = spl_allocator_of(NULL);
    beam b = beam_make(3, 6, 0.1, 2, BEAM_RANDOM, 13, true);
    const spl_interface *f = &b.model.interface[0];
    uint64_t seed = 4;
    CHECK(b.model.interface_count == 1 && f->count == 16);
    spl_rows_of i = {&b.model.domain[0], beam_vector(&seed, 1), f->at_i, f->count};
    spl_rows_of j = {&b.model.domain[1], beam_vector(&seed, 1), f->at_j, f->count};
    spl_sandwich s;
    CHECK(spl_sandwich_create(&i, &j, f->area, &a, &s, NULL) == SUPPLE_OK);
    size_t n = (size_t)s.rows * (size_t)s.stride;
    double *fast[3], *slow = malloc(n * sizeof *slow), *room = malloc(3 * (size_t)s.stride * sizeof *room);
    for (int k = 0; k < 3; k++) fast[k] = malloc(n * sizeof *slow);
    for (int pass = 0; pass < 20; pass++) {
        spl_mat3 X[3];
        for (int k = 0; k < 3; k++) X[k] = beam_frame(&seed).R;
        for (int kernels = 0; kernels < 2; kernels++) {
            spl_sandwich_contract(&s, spl_dense_kernels_of(kernels == 0), 3, X, fast);
            for (int k = 0; k < 3; k++) {
                double most = 0;
                spl_sandwich_sum(&i, &j, f->area, &X[k], room, slow);
                for (size_t e = 0; e < n; e++) most = fmax(most, fabs(slow[e]));
                for (size_t e = 0; e < n; e++) CHECK_NEAR(fast[k][e], slow[e], 1e-12 * most);
            }
        }
    }
    for (int k = 0; k < 3; k++) free(fast[k]);
    free(slow), free(room);
    spl_sandwich_release(&s, &a);
    beam_free(&b);
}

/* ---- interfaces ---- */

/* [q, 1, 0 ...] of one domain, at random. */
static double *random_state(const spl_model_domain *d, double one, uint64_t *seed)
{
    double *q = calloc((size_t)spl_wide(d), sizeof *q);
    for (int32_t k = 0; k < d->rank; k++) q[k] = 0.1 * flesh_random(seed);
    q[d->rank] = one;
    return q;
}

/* U_k q */
static spl_vec3 mode_sum(const spl_model_domain *d, int32_t v, const double *q)
{
    double u[3] = {0};
    for (int m = 0; m < 3; m++)
        for (int32_t k = 0; k < d->rank; k++) u[m] += d->basis[(3 * v + m) * d->rank + k] * q[k];
    return spl_v3(u[0], u[1], u[2]);
}

/* World place and velocity of a vertex, by (1) and its derivative. */
static void brute_point(const spl_model_domain *d, const spl_frame_motion *f, int32_t v, const double *q,
                        const double *qd, bool swept, spl_vec3 *x, spl_vec3 *xd)
{
    spl_vec3 local = spl_add(spl_v3(d->rest[3 * v], d->rest[3 * v + 1], d->rest[3 * v + 2]), mode_sum(d, v, q));
    spl_vec3 rate = mode_sum(d, v, qd);
    if (swept) rate = spl_add(rate, spl_cross(f->omega, local));
    *x = spl_add(spl_mat3_apply(&f->R, local), f->t);
    *xd = spl_mat3_apply(&f->R, rate);
    if (swept) *xd = spl_add(*xd, f->v);
}

/* Equations 6, 9, 12 and 15 as they stand. */
static double brute_coupling(const spl_model *m, const spl_frame_motion f[2], double *const q[2], double *const qd[2],
                             double kappa, double kappa_d, bool full, double *const force[2])
{
    const spl_interface *face = &m->interface[0];
    double energy = 0;
    for (int32_t k = 0; k < face->count; k++) {
        spl_vec3 x[2], v[2];
        int32_t at[2] = {face->at_i[k], face->at_j[k]};
        for (int s = 0; s < 2; s++) brute_point(&m->domain[s], &f[s], at[s], q[s], qd[s], full, &x[s], &v[s]);
        spl_vec3 gap = spl_sub(x[0], x[1]), slip = spl_sub(v[0], v[1]);
        energy += 0.5 * kappa * face->area[k] * spl_dot(gap, gap);
        spl_vec3 F = spl_scale(spl_madd(spl_scale(gap, kappa), slip, kappa_d), -face->area[k]);
        for (int s = 0; s < 2; s++) {
            spl_mat3 back = spl_mat3_transpose(&f[s].R);
            spl_vec3 p = spl_mat3_apply(&back, spl_scale(F, s ? -1 : 1));
            const double *u = m->domain[s].basis + 3 * at[s] * m->domain[s].rank;
            int32_t r = m->domain[s].rank;
            for (int32_t c = 0; c < r; c++) force[s][c] += u[c] * p.x + u[r + c] * p.y + u[2 * r + c] * p.z;
        }
    }
    return energy;
}

static void compare_coupling(bool fst, bool full)
{
    const supple_allocator a = spl_allocator_of(NULL);
    beam b = beam_make(2, 6, 0.1, 2, BEAM_RANDOM, 11, true);
    uint64_t seed = 7;
    spl_vec3 centre[2] = {beam_vector(&seed, 0.3), beam_vector(&seed, 0.3)};
    spl_coupling_options o = {fst, full, 300, 7};
    spl_coupling c;
    CHECK(spl_coupling_create(&b.model, 0, centre, &o, &a, &c, NULL) == SUPPLE_OK);
    for (int pass = 0; pass < 10; pass++) {
        spl_frame_motion f[2] = {beam_frame(&seed), beam_frame(&seed)}, g[2];
        double *q[2], *qd[2], *brute[2], *fast[2], room[64], scale = 0;
        for (int s = 0; s < 2; s++) {
            const spl_model_domain *d = &b.model.domain[s];
            g[s] = spl_frame_centred(&f[s], centre[s]);
            q[s] = random_state(d, 1, &seed), qd[s] = random_state(d, 0, &seed);
            brute[s] = calloc(64, sizeof(double)), fast[s] = calloc(64, sizeof(double));
        }
        spl_coupling_pose(&c, spl_dense_kernels_of(false), &g[0], &g[1]);
        double energy = spl_coupling_force(&c, spl_dense_kernels_of(false), q, qd, fast, room);
        CHECK_NEAR(brute_coupling(&b.model, f, q, qd, 300, 7, full, brute) / energy, 1, 1e-10);
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < 11; k++) scale = fmax(scale, fabs(brute[s][k]));
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < 11; k++) CHECK_NEAR(fast[s][k], brute[s][k], 1e-10 * scale);
        for (int s = 0; s < 2; s++) free(q[s]), free(qd[s]), free(brute[s]), free(fast[s]);
    }
    spl_coupling_release(&c, &a);
    beam_free(&b);
}

TEST(coupling_forces_equal_springs_at_vertices)
{
    for (int k = 0; k < 4; k++) compare_coupling(k & 1, k & 2);
}

/* The blocks that the system takes, kappa P and -kappa W, are minus the derivatives of the forces. */
TEST(coupling_jacobian_equals_differences_of_forces)
{
    const supple_allocator a = spl_allocator_of(NULL);
    const spl_dense_kernels *kernels = spl_dense_kernels_of(false);
    beam b = beam_make(2, 6, 0.1, 2, BEAM_RANDOM, 10, true);
    uint64_t seed = 9;
    spl_vec3 centre[2] = {{0, 0, 0}, {0.1, 0, 0.4}};
    spl_coupling_options o = {true, true, 300, 7};
    spl_coupling c;
    CHECK(spl_coupling_create(&b.model, 0, centre, &o, &a, &c, NULL) == SUPPLE_OK);
    spl_frame_motion f[2] = {beam_frame(&seed), beam_frame(&seed)};
    spl_coupling_pose(&c, kernels, &f[0], &f[1]);
    double *q[2], *qd[2], room[64];
    for (int s = 0; s < 2; s++) {
        q[s] = random_state(&b.model.domain[s], 1, &seed), qd[s] = random_state(&b.model.domain[s], 0, &seed);
    }
    for (int rate = 0; rate < 2; rate++) /* springs by q, dampers by qd */
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < 10; k++) {
                double *x = rate ? qd[s] : q[s], at = x[k], F[2][2][16] = {{{0}}}, by = rate ? 7 : 300;
                for (int side = 0; side < 2; side++) {
                    x[k] = at + (side ? 1e-3 : -1e-3);
                    double *const to[2] = {F[side][0], F[side][1]};
                    spl_coupling_force(&c, kernels, q, rate ? qd : NULL, to, room);
                }
                x[k] = at;
                for (int i = 0; i < 10; i++) {
                    double P = c.side[s].P[12 * i + k], W = s ? c.W[12 * i + k] : c.W[12 * k + i];
                    CHECK_NEAR((F[1][s][i] - F[0][s][i]) / 2e-3, -by * P, 1e-8 * by);
                    CHECK_NEAR((F[1][!s][i] - F[0][!s][i]) / 2e-3, by * W, 1e-8 * by);
                }
            }
    for (int s = 0; s < 2; s++) free(q[s]), free(qd[s]);
    spl_coupling_release(&c, &a);
    beam_free(&b);
}

/* ---- moving frames ---- */

/* A frame at time t whose motion at 0 is known: R = exp(omega t + alpha t^2 / 2) in its own axes, to order t^2. */
static spl_frame moved(const spl_frame_motion *f, double t)
{
    spl_vec3 turn = spl_madd(spl_scale(f->omega, t), f->alpha, 0.5 * t * t);
    spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(turn, spl_norm(turn)));
    return (spl_frame){spl_mat3_mul(&f->R, &R), spl_madd(spl_madd(f->t, f->v, t), f->a, 0.5 * t * t)};
}

/* Where a vertex is at time t. */
static spl_vec3 moved_point(const spl_model_domain *d, const spl_frame_motion *f, int32_t v, const double *q,
                            const double *qd, double t)
{
    double *at = calloc((size_t)d->rank, sizeof *at);
    for (int32_t k = 0; k < d->rank; k++) at[k] = q[k] + t * qd[k];
    spl_frame frame = moved(f, t);
    spl_vec3 p = spl_add(spl_v3(d->rest[3 * v], d->rest[3 * v + 1], d->rest[3 * v + 2]), mode_sum(d, v, at));
    free(at);
    return spl_add(spl_mat3_apply(&frame.R, p), frame.t);
}

/* -sum_k m_k (R U_k)^T xdd_k with qdd = 0: everything that the frame's motion does, from positions alone. */
static void brute_rigid(const spl_model_domain *d, const spl_frame_motion *f, const double *q, const double *qd,
                        spl_vec3 gravity, double *force)
{
    double h = 1e-4;
    spl_mat3 back = spl_mat3_transpose(&f->R);
    for (int32_t v = 0; v < d->vertex_count; v++) {
        spl_vec3 x[5], xdd;
        for (int k = 0; k < 5; k++) x[k] = moved_point(d, f, v, q, qd, (k - 2) * h);
        xdd = spl_add(spl_scale(x[2], -30), spl_scale(spl_add(x[1], x[3]), 16)); /* of fourth order */
        xdd = spl_scale(spl_sub(xdd, spl_add(x[0], x[4])), 1 / (12 * h * h));
        spl_vec3 a = spl_mat3_apply(&back, spl_scale(spl_sub(gravity, xdd), d->mass[v]));
        const double *u = d->basis + 3 * v * d->rank;
        for (int32_t k = 0; k < d->rank; k++) force[k] += u[k] * a.x + u[d->rank + k] * a.y + u[2 * d->rank + k] * a.z;
    }
}

TEST(frame_forces_equal_differences_of_positions)
{
    const supple_allocator a = spl_allocator_of(NULL);
    beam b = beam_make(2, 5, 0.1, 1, BEAM_RANDOM, 9, true);
    const spl_model_domain *d = &b.model.domain[0];
    uint64_t seed = 21;
    for (int pass = 0; pass < 8; pass++) {
        spl_frame_motion f = beam_frame(&seed), g;
        spl_vec3 centre = beam_vector(&seed, 0.5), gravity = {0, -9.81, 1};
        double *q = random_state(d, 1, &seed), *qd = random_state(d, 0, &seed), brute[12] = {0}, fast[12] = {0};
        double scale = 0;
        spl_rigid r;
        CHECK(spl_rigid_create(d, centre, pass & 1, &a, &r, NULL) == SUPPLE_OK);
        for (int k = 0; k < 9; k++) qd[k] *= 20;
        g = spl_frame_centred(&f, centre);
        spl_rigid_pose(&r, spl_dense_kernels_of(false), &g, gravity, true);
        spl_rigid_force(&r, spl_dense_kernels_of(false), true, q, qd, fast);
        brute_rigid(d, &f, q, qd, gravity, brute);
        for (int k = 0; k < 9; k++) scale = fmax(scale, fabs(brute[k]));
        for (int k = 0; k < 9; k++) CHECK_NEAR(fast[k], brute[k], 1e-6 * scale);
        spl_rigid_release(&r, &a);
        free(q), free(qd);
    }
    beam_free(&b);
}

TEST(a_basis_that_is_not_orthonormal_is_refused)
{
    const supple_allocator a = spl_allocator_of(NULL);
    beam b = beam_make(2, 4, 0.1, 1, BEAM_RANDOM, 5, true);
    spl_player_options o = spl_player_options_default();
    spl_player *p;
    supple_error error;
    b.model.domain[0].basis[7] += 0.01;
    CHECK(spl_player_create(&b.model, &o, NULL, &a, &p, &error) == SUPPLE_ERROR_INPUT && !p);
    b.model.domain[0].basis[7] = NAN;
    CHECK(spl_player_create(&b.model, &o, NULL, &a, &p, &error) == SUPPLE_ERROR_INPUT && !p);
    beam_free(&b);
}

/* Domains that all meet: refused before room for their blocks is made. */
TEST(blocks_that_fill_up_are_refused)
{
    enum { DOMAINS = 120, PAIRS = DOMAINS * (DOMAINS - 1) / 2 };
    failing count = {.fail_at = -1};
    supple_allocator a = failing_allocator(&count);
    supple_error error = {0};
    spl_blocks b;
    int32_t rank[DOMAINS], pair[2 * PAIRS], pairs = 0;
    for (int32_t i = 0; i < DOMAINS; i++) {
        rank[i] = 20;
        for (int32_t j = i + 1; j < DOMAINS; j++, pairs++) pair[2 * pairs] = i, pair[2 * pairs + 1] = j;
    }
    CHECK(spl_blocks_create(DOMAINS, rank, pair, pairs, &a, &b, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "meet") && count.live == 0 && count.asked < 1 << 20);
    CHECK(spl_blocks_create(20, rank, pair, 19, &a, &b, &error) == SUPPLE_OK); /* a star */
    spl_blocks_release(&b);
    CHECK(count.live == 0);
}

TEST_CASES(RUN(blocks_that_fill_up_are_refused), RUN(kernels_equal_their_twins),
           RUN(block_cholesky_solves_what_the_dense_matrix_says), RUN(fast_sandwiches_equal_sums_over_vertices),
           RUN(coupling_forces_equal_springs_at_vertices), RUN(coupling_jacobian_equals_differences_of_forces),
           RUN(frame_forces_equal_differences_of_positions), RUN(a_basis_that_is_not_orthonormal_is_refused))
