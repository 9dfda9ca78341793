/* The two formulations of the same equations, and the equations themselves. */
#include "../mixed/fleshed.h"
#include "methods/steklov/schur.h"
#include "sparse/dense.h"
#include "test.h"

enum { SMALL = 16, MIDDLE = 20 };

static double noise(uint64_t *state) /* -0.5 to 0.5 */
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

static spl_exrotated system_of(const fleshed *f, bool apart, bool plain)
{
    spl_exrotated s;
    spl_exrotated_options o = {.apart = apart, .plain = plain};
    if (spl_exrotated_create(&f->solid, &o, f->pool, &s, NULL) != SUPPLE_OK) abort();
    return s;
}

static void bend(fleshed *f, double degrees)
{
    puppet_turn(&f->puppet, "forearm", spl_v3(0, 0, 1), degrees);
    fleshed_pose(f);
}

/* A as it multiplies, n x n. */
static double *dense_of(const spl_exrotated *s)
{
    size_t n = 3 * (size_t)s->order.count;
    double *A = calloc(n * n, sizeof *A), *e = calloc(n, sizeof *e), *y = calloc(n, sizeof *y);
    for (size_t j = 0; j < n; j++) {
        e[j] = 1;
        spl_exrotated_multiply(s, SPL_ALL, e, y, 0);
        for (size_t i = 0; i < n; i++) A[i * n + j] = y[i];
        e[j] = 0;
    }
    free(e), free(y);
    return A;
}

/* A_bb - A_bi A_ii^-1 A_ib of a dense A whose first ni unknowns are interior. */
static double *schur_of(const double *A, size_t n, size_t ni)
{
    size_t nb = n - ni;
    double *I = calloc(ni * ni, sizeof *I), *X = calloc(ni * nb, sizeof *X), *S = calloc(nb * nb, sizeof *S);
    for (size_t i = 0; i < ni; i++) {
        memcpy(I + i * ni, A + i * n, ni * sizeof *I);
        memcpy(X + i * nb, A + i * n + ni, nb * sizeof *X);
    }
    dense_solve(I, X, ni, nb);
    for (size_t i = 0; i < nb; i++)
        for (size_t j = 0; j < nb; j++) {
            S[i * nb + j] = A[(ni + i) * n + ni + j];
            for (size_t k = 0; k < ni; k++) S[i * nb + j] -= A[(ni + i) * n + k] * X[k * nb + j];
        }
    free(I), free(X);
    return S;
}

static double largest(const double *A, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs(A[i]));
    return most;
}

/* ---- the equations ---- */

/* Forces are those of the law, and A is minus their derivative, exactly: they are affine. Both kernels. */
TEST(forces_are_the_laws_and_affine)
{
    fleshed f;
    fleshed_make(&f, "arm", MIDDLE);
    bend(&f, 70);
    const spl_elements *e = &f.solid.elements;
    size_t n = (size_t)e->vertex_count, m = (size_t)e->count;
    double *x = calloc(n, 24), *law = calloc(n, 24), *scratch = calloc(12 * m + m / 1024 + 1, 8);
    spl_solid_pose(&f.solid, x, f.pool);
    uint64_t seed = 3;
    for (size_t i = 0; i < 3 * n; i++) x[i] += 0.01 * noise(&seed);
    for (int plain = 0; plain < 2; plain++) {
        spl_exrotated s = system_of(&f, false, plain);
        size_t count = 3 * (size_t)s.order.count;
        double *dx = calloc(count, 8), *image = calloc(count, 8), *before = calloc(3 * n, 8), *y = calloc(3 * n, 8);
        spl_exrotated_skin(&s);
        spl_exrotated_assemble(&s);
        spl_exrotated_forces(&s, x);
        spl_elastic elastic = {e, &spl_law_exrotated, f.solid.material.mu, f.solid.material.lambda, s.rotation, NULL};
        spl_elastic_forces(&elastic, &s.stars, x, law, NULL, scratch, f.pool);
        double scale = largest(law, 3 * n);
        for (size_t i = 0; i < 3 * n; i++) CHECK_NEAR(s.force[i], law[i], 1e-10 * scale);
        memcpy(before, s.force, 24 * n);
        memcpy(y, x, 24 * n);
        for (size_t i = 0; i < count; i++) {
            dx[i] = 0.05 * noise(&seed);
            y[3 * (size_t)s.order.vertex[i / 3] + i % 3] += dx[i];
        }
        spl_exrotated_multiply(&s, SPL_ALL, dx, image, 0);
        spl_exrotated_forces(&s, y);
        for (size_t i = 0; i < count; i++) {
            size_t at = 3 * (size_t)s.order.vertex[i / 3] + i % 3;
            CHECK_NEAR(before[at] - s.force[at], image[i], 1e-9 * scale);
        }
        free(dx), free(image), free(before), free(y);
        spl_exrotated_release(&s);
    }
    free(x), free(law), free(scratch);
    fleshed_free(&f);
}

/* At rest the law is the canonical Psi_0 = mu |F - I|^2 + lambda/2 tr^2(F - I), which is not linear elasticity: its
 * skew part costs energy too. So it is in the forces of a body at rest, summed over its tets. */
TEST(at_rest_it_is_the_canonical_energy)
{
    uint64_t seed = 11;
    spl_law_input in = {.F = spl_mat3_identity(), .R = spl_mat3_identity(), .mu = 2, .lambda = 5};
    in.F.m[1] = 0.1;
    in.F.m[3] = -0.1;
    CHECK_NEAR(spl_law_exrotated.energy(&in), 2 * (0.01 + 0.01), 1e-15);
    fleshed f;
    fleshed_make(&f, "arm", SMALL);
    spl_exrotated s = system_of(&f, false, false);
    const spl_elements *e = &f.solid.elements;
    size_t n = (size_t)e->vertex_count, nodes = (size_t)s.order.count;
    double *u = calloc(3 * n, 8), *dx = calloc(3 * nodes, 8), *y = calloc(3 * nodes, 8), psi = 0, half = 0;
    for (size_t i = 0; i < 3 * nodes; i++) dx[i] = u[3 * (size_t)s.order.vertex[i / 3] + i % 3] = 0.01 * noise(&seed);
    for (size_t k = 0; k < (size_t)e->count; k++) {
        double G[9] = {0}, square = 0; /* the displacement's gradient */
        for (size_t i = 0; i < 4; i++)
            for (size_t c = 0; c < 9; c++)
                G[c] += u[3 * (size_t)e->tet[4 * k + i] + c % 3] * e->gradient[12 * k + 3 * i + c / 3];
        for (size_t c = 0; c < 9; c++) square += G[c] * G[c];
        double trace = G[0] + G[4] + G[8];
        psi += e->volume[k] * (f.solid.material.mu[k] * square + 0.5 * f.solid.material.lambda[k] * trace * trace);
    }
    spl_exrotated_multiply(&s, SPL_ALL, dx, y, 0);
    for (size_t i = 0; i < 3 * nodes; i++) half += 0.5 * dx[i] * y[i];
    CHECK(psi > 0);
    CHECK_NEAR(half, psi, 1e-11 * psi);
    free(u), free(dx), free(y);
    spl_exrotated_release(&s);
    fleshed_free(&f);
}

/* Products in float are those in double to six digits, in both kernels, of all nodes and of the interior. */
TEST(narrow_products_are_the_wide_ones)
{
    fleshed f;
    fleshed_make(&f, "arm", MIDDLE);
    bend(&f, 40);
    for (int plain = 0; plain < 2; plain++) {
        spl_exrotated s;
        spl_exrotated_options o = {.apart = true, .plain = plain, .narrow = true};
        uint64_t seed = 4;
        REQUIRE(spl_exrotated_create(&f.solid, &o, f.pool, &s, NULL) == SUPPLE_OK);
        spl_exrotated_skin(&s);
        spl_exrotated_assemble(&s);
        size_t n = 3 * (size_t)s.order.count;
        double *x = calloc(n, 8), *a = calloc(n, 8), *b = calloc(n, 8);
        for (size_t i = 0; i < n; i++) x[i] = noise(&seed);
        for (int k = 0; k < 15; k++) {
            spl_quarter block = (spl_quarter)(k / 3); /* all, and the four quarters */
            for (size_t i = 0; i < n; i++) a[i] = b[i] = (double)(i % 7);
            spl_exrotated_multiply(&s, block, x, a, k % 3 - 1);
            spl_exrotated_multiply_narrow(&s, block, x, b, k % 3 - 1);
            double scale = largest(a, n), most = 0;
            for (size_t i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
            CHECK(most < 1e-6 * scale && most > 1e-12 * scale);
        }
        free(x), free(a), free(b);
        spl_exrotated_release(&s);
    }
    fleshed_free(&f);
}

/* ---- the surface's operator ---- */

/* Equation 12, column by column, in a bent pose: the operator with a polynomial of high degree is exact; those of low
 * degree lie above it and below A_bb, as the paper's one application does. */
TEST(the_operator_is_the_schur_complement)
{
    fleshed f;
    fleshed_make(&f, "arm", SMALL);
    spl_exrotated s = system_of(&f, true, false);
    spl_springs none;
    REQUIRE(spl_springs_create(&s, NULL, 10, true, &none, NULL) == SUPPLE_OK);
    size_t n = 3 * (size_t)s.order.count, ni = 3 * (size_t)s.order.interior, nb = n - ni;
    printf("    %zu interior, %zu boundary unknowns\n", ni, nb);
    REQUIRE(ni > 30 && nb > 30);
    static const int degrees[] = {0, 1, 2, 4, 12};
    spl_schur schur[5];
    for (int d = 0; d < 5; d++) {
        spl_schur_options o = {.precondition = SPL_PRECONDITION_NONE, .max_iterations = 1000, .degree = degrees[d]};
        REQUIRE(spl_schur_create(&s, &none, &o, &schur[d], NULL) == SUPPLE_OK);
    }
    bend(&f, 50);
    spl_exrotated_skin(&s);
    spl_exrotated_assemble(&s);
    double *A = dense_of(&s), *S = schur_of(A, n, ni), scale = largest(S, nb * nb), error[5] = {0};
    double *e = calloc(nb, 8), *y = calloc(nb, 8);
    for (int d = 0; d < 5; d++)
        for (size_t j = 0; j < nb; j++) {
            e[j] = 1;
            spl_schur_operator(&schur[d], e, y);
            for (size_t i = 0; i < nb; i++) error[d] = fmax(error[d], fabs(y[i] - S[i * nb + j]));
            e[j] = 0;
        }
    printf("    error of degrees 0 (printed), 1, 2, 4, 12: %.1e %.1e %.1e %.1e %.1e of the largest entry\n",
           error[0] / scale, error[1] / scale, error[2] / scale, error[3] / scale, error[4] / scale);
    CHECK(error[4] < 1e-7 * scale && error[3] < 0.1 * error[1] && error[0] > 1e-3 * scale);
    uint64_t seed = 1;
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < 20; k++) {
            double exact = 0, above = 0, most = 0;
            for (size_t i = 0; i < nb; i++) e[i] = noise(&seed);
            spl_schur_operator(&schur[d], e, y);
            for (size_t i = 0; i < nb; i++) {
                above += e[i] * y[i];
                for (size_t j = 0; j < nb; j++) {
                    exact += e[i] * S[i * nb + j] * e[j];
                    most += e[i] * A[(ni + i) * n + ni + j] * e[j];
                }
            }
            CHECK(exact > 0 && above >= exact * (1 - 1e-9) && above <= most * (1 + 1e-9));
        }
    for (int d = 0; d < 5; d++) spl_schur_release(&schur[d]);
    spl_springs_release(&none);
    spl_exrotated_release(&s);
    free(A), free(S), free(e), free(y);
    fleshed_free(&f);
}

/* Equation 16 without dropping is equation 12 at rest, and so is what the elimination tree's reach computes of it. */
TEST(the_sparse_matrix_has_the_schur_complements_entries)
{
    fleshed f;
    fleshed_make(&f, "arm", SMALL);
    spl_exrotated s = system_of(&f, true, false);
    size_t n = 3 * (size_t)s.order.count, ni = 3 * (size_t)s.order.interior, nb = n - ni;
    double *A = dense_of(&s), *S = schur_of(A, n, ni), scale = largest(S, nb * nb);
    static const int distances[] = {1000, 2};
    for (int k = 0; k < 3; k++) {
        spl_boundary b;
        REQUIRE(spl_boundary_create(&s, distances[k > 0], k == 2, &b, NULL) == SUPPLE_OK);
        const spl_pattern *p = &b.pattern;
        double off = 0, *left = calloc(nb * nb, 8), *diagonal = calloc(nb, 8);
        memcpy(left, S, nb * nb * 8);
        for (int32_t j = 0; j < p->n; j++)
            for (size_t e = p->start[j]; e < p->start[j + 1]; e++)
                for (size_t i = 0; i < 9; i++) {
                    size_t row = 3 * (size_t)p->row[e] + i % 3, column = 3 * (size_t)j + i / 3;
                    left[row * nb + column] = left[column * nb + row] = 0;
                    if (row == column) diagonal[row] = b.value[9 * e + i] - S[row * nb + column];
                    if (row != column) off = fmax(off, fabs(b.value[9 * e + i] - S[row * nb + column]));
                }
        CHECK(off < 1e-5 * scale);
        if (k == 0) CHECK(p->start[p->n] == (size_t)p->n * ((size_t)p->n + 1) / 2);
        for (size_t i = 0; i < nb; i++) { /* compensated: the magnitudes of what is left out, on the diagonal */
            double sum = 0;
            for (size_t j = 0; j < nb; j++) sum += fabs(left[i * nb + j]);
            CHECK_NEAR(diagonal[i], k == 2 ? sum : 0, 1e-4 * scale);
        }
        if (k > 0) CHECK(largest(left, nb * nb) > 1e-4 * scale);
        free(left), free(diagonal);
        spl_boundary_release(&b);
    }
    free(A), free(S);
    spl_exrotated_release(&s);
    fleshed_free(&f);
}

/* The sparse K_b(0) needs no lift at distances 2 to 6. */
TEST(the_sparse_matrix_is_definite)
{
    static const char *const names[] = {"arm", "sack"};
    for (int k = 0; k < 2; k++) {
        fleshed f;
        fleshed_make(&f, names[k], MIDDLE);
        spl_exrotated s = system_of(&f, true, false);
        spl_springs none;
        REQUIRE(spl_springs_create(&s, NULL, 10, true, &none, NULL) == SUPPLE_OK);
        for (int distance = 2; distance <= 6; distance += 2) {
            spl_schur schur;
            spl_schur_options o = {.max_iterations = 100, .distance = distance, .degree = 4};
            REQUIRE(spl_schur_create(&s, &none, &o, &schur, NULL) == SUPPLE_OK);
            CHECK(schur.lift == 0);
            spl_schur_release(&schur);
        }
        spl_springs_release(&none);
        spl_exrotated_release(&s);
        fleshed_free(&f);
    }
}

/* ---- rotations ---- */

/* Forces in the rest pose, or turned with the whole body. */
typedef struct loaded {
    double history[400];
    int32_t iterations;
} loaded;

/* How a loaded body is solved: volume, surface with all of K_b(0), or surface with a sparse one in double. */
typedef enum kind { VOLUME, WHOLE, SPARSE } kind;

static loaded load(fleshed *f, kind k, bool turned)
{
    loaded out = {.iterations = 0};
    bool surface = k != VOLUME;
    size_t n = (size_t)f->solid.elements.vertex_count;
    spl_exrotated s = system_of(f, surface, false);
    spl_springs none;
    spl_newton newton;
    spl_volume v = {0};
    spl_schur b = {0};
    double *force = calloc(n, 24), *x = calloc(n, 24);
    uint64_t seed = 5;
    spl_mat4 move = puppet_rigid(spl_v3(1, 2, -1), turned ? 110 : 0, spl_v3(0, 0, 0));
    spl_mat3 R = spl_mat3_linear(&move);
    if (spl_springs_create(&s, NULL, 10, true, &none, NULL) != SUPPLE_OK) abort();
    if (spl_newton_create(&s, &none, &newton, NULL) != SUPPLE_OK) abort();
    spl_volume_options vo = {.precondition = SPL_PRECONDITION_SKINNED, .max_iterations = 399, .history = true};
    spl_schur_options so = {.max_iterations = 399, .distance = 1000, .degree = 20, .history = true};
    if (k == SPARSE) so.distance = 3, so.degree = 4, so.incomplete = true;
    supple_result r =
        surface ? spl_schur_create(&s, &none, &so, &b, NULL) : spl_volume_create(&s, &none, &vo, &v, NULL);
    if (r != SUPPLE_OK) abort();
    puppet_rest(&f->puppet);
    puppet_move(&f->puppet, &move);
    fleshed_pose(f);
    for (size_t i = 0; i < n; i++) {
        spl_vec3 p = spl_v3(noise(&seed), noise(&seed), noise(&seed));
        p = spl_mat3_apply(&R, p);
        force[3 * i] = p.x, force[3 * i + 1] = p.y, force[3 * i + 2] = p.z;
    }
    f->solid.force = force;
    spl_exrotated_skin(&s);
    spl_exrotated_assemble(&s);
    spl_solid_pose(&f->solid, x, f->pool);
    newton.formulation = surface ? &spl_formulation_surface : &spl_formulation_volume;
    newton.state = surface ? (void *)&b : (void *)&v;
    spl_newton_options o = {.tolerance = k == WHOLE ? 1e-5 : 1e-9, .max_steps = 1};
    CHECK(spl_newton_solve(&newton, &o, x, NULL) == SUPPLE_OK);
    out.iterations = newton.stats.boundary_iterations;
    memcpy(out.history, surface ? b.history : v.history, sizeof out.history);
    f->solid.force = NULL;
    spl_volume_release(&v);
    spl_schur_release(&b);
    spl_newton_release(&newton);
    spl_springs_release(&none);
    spl_exrotated_release(&s);
    free(force), free(x);
    return out;
}

TEST(a_turn_of_the_whole_changes_no_residual)
{
    fleshed f;
    fleshed_make(&f, "arm", MIDDLE);
    for (kind k = VOLUME; k <= SPARSE; k += SPARSE) { /* whole ones are in float */
        loaded rest = load(&f, k, false), turned = load(&f, k, true);
        /* Rounding may take one of them over the tolerance a step sooner. */
        CHECK(rest.iterations > 10 && abs(rest.iterations - turned.iterations) <= 1);
        if (rest.iterations != turned.iterations)
            printf("    %d and %d iterations\n", (int)rest.iterations, (int)turned.iterations);
        for (int32_t i = 0; i <= rest.iterations && i <= turned.iterations; i++)
            CHECK_NEAR(turned.history[i], rest.history[i], 3e-10 * rest.history[0]); /* rounding by clang: 1.3e-10 */
    }
    fleshed_free(&f);
}

/* With all of K_b(0) and an exact interior the preconditioner is the operator's inverse, turned or not. */
TEST(with_the_whole_matrix_one_iteration_is_enough)
{
    fleshed f;
    fleshed_make(&f, "arm", SMALL);
    for (int turned = 0; turned < 2; turned++) {
        loaded l = load(&f, WHOLE, turned);
        printf("    after one iteration %.1e of the residual is left\n", l.history[1] / l.history[0]);
        CHECK(l.iterations >= 1 && l.history[1] < 1e-4 * l.history[0]); /* the factor is in float */
    }
    fleshed_free(&f);
}

/* ---- surface and volume ---- */

/* Solves a pose with the springs that are there. */
static double *solve_frozen(fleshed *f, bool surface, const spl_springs *given, const double *start,
                            spl_steklov_stats *stats)
{
    size_t n = (size_t)f->solid.elements.vertex_count;
    spl_exrotated s = system_of(f, surface, false);
    spl_springs springs;
    spl_newton newton;
    spl_volume v = {0};
    spl_schur b = {0};
    double *x = calloc(n, 24);
    memcpy(x, start, 24 * n);
    if (spl_springs_create(&s, given->contacts, 10, true, &springs, NULL) != SUPPLE_OK) abort();
    if (spl_newton_create(&s, &springs, &newton, NULL) != SUPPLE_OK) abort();
    spl_volume_options vo = {.max_iterations = 3000};
    spl_schur_options so = {.max_iterations = 3000, .distance = 4, .degree = 4};
    supple_result r =
        surface ? spl_schur_create(&s, &springs, &so, &b, NULL) : spl_volume_create(&s, &springs, &vo, &v, NULL);
    if (r != SUPPLE_OK) abort();
    memcpy(springs.list, given->list, (size_t)given->count * sizeof *given->list);
    springs.count = given->count;
    spl_exrotated_skin(&s);
    spl_exrotated_assemble(&s);
    spl_drive_hold(&f->solid.drive, s.pins.held, x);
    newton.formulation = surface ? &spl_formulation_surface : &spl_formulation_volume;
    newton.state = surface ? (void *)&b : (void *)&v;
    spl_newton_options o = {.tolerance = 1e-10, .max_steps = 60, .frozen = true};
    CHECK(spl_newton_solve(&newton, &o, x, NULL) == SUPPLE_OK);
    CHECK(newton.stats.converged);
    *stats = newton.stats;
    spl_volume_release(&v);
    spl_schur_release(&b);
    spl_newton_release(&newton);
    spl_springs_release(&springs);
    spl_exrotated_release(&s);
    return x;
}

TEST(surface_and_volume_agree_with_the_same_contacts)
{
    fleshed f;
    fleshed_make(&f, "arm", 24);
    supple_config config = supple_config_default();
    spl_contacts *contacts = NULL;
    spl_springs springs;
    size_t n = (size_t)f.solid.elements.vertex_count;
    double *x = calloc(n, 24), most = 0, sum[3] = {0}, size = 0;
    bend(&f, 140);
    spl_exrotated s = system_of(&f, false, false);
    spl_solid_pose(&f.solid, x, f.pool);
    REQUIRE(spl_contacts_create(&f.solid, NULL, NULL, &config, f.pool, &contacts, NULL) == SUPPLE_OK);
    REQUIRE(spl_springs_create(&s, contacts, 10, true, &springs, NULL) == SUPPLE_OK);
    spl_exrotated_skin(&s);
    spl_springs_begin(&springs);
    spl_springs_find(&springs, x, true);
    CHECK(springs.pairs > 10);
    /* Action equals reaction, where no corner is held. */
    double *pull = calloc((size_t)s.order.count, 24);
    int32_t whole = 0, all = springs.count;
    for (int32_t i = 0; i < all; i++) {
        const int32_t *c = springs.list[i].corner;
        if (s.order.node[c[0]] < 0 || s.order.node[c[1]] < 0 || s.order.node[c[2]] < 0) continue;
        spl_contact_spring t = springs.list[whole];
        springs.list[whole++] = springs.list[i];
        springs.list[i] = t;
    }
    springs.count = whole;
    spl_springs_pull(&springs, x, 0, pull);
    springs.count = all;
    for (size_t i = 0; i < 3 * (size_t)s.order.count; i++) {
        sum[i % 3] += pull[i];
        size = fmax(size, fabs(pull[i]));
    }
    CHECK(size > 0 && fabs(sum[0]) + fabs(sum[1]) + fabs(sum[2]) < 1e-10 * size);
    spl_steklov_stats volume, surface;
    double *a = solve_frozen(&f, false, &springs, x, &volume), *b = solve_frozen(&f, true, &springs, x, &surface);
    for (size_t i = 0; i < 3 * n; i++) most = fmax(most, fabs(a[i] - b[i]));
    printf("    %d pairs: %d volume iterations; %d boundary and %d interior ones; they differ by %.1e\n", springs.pairs,
           volume.boundary_iterations, surface.boundary_iterations, surface.interior_iterations,
           most / f.solid.diagonal);
    CHECK(most < 1e-6 * f.solid.diagonal);
    free(a), free(b), free(pull), free(x);
    spl_springs_release(&springs);
    spl_contacts_destroy(contacts);
    spl_exrotated_release(&s);
    fleshed_free(&f);
}

TEST_CASES(RUN(forces_are_the_laws_and_affine), RUN(at_rest_it_is_the_canonical_energy),
           RUN(narrow_products_are_the_wide_ones), RUN(the_operator_is_the_schur_complement),
           RUN(the_sparse_matrix_has_the_schur_complements_entries), RUN(the_sparse_matrix_is_definite),
           RUN(a_turn_of_the_whole_changes_no_residual), RUN(with_the_whole_matrix_one_iteration_is_enough),
           RUN(surface_and_volume_agree_with_the_same_contacts))
