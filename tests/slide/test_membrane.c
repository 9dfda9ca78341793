#include "../test.h"
#include "math/dense.h"
#include "sheets.h"

static double draw(void)
{
    return shape_random();
}

/* Metrics of random triangles near the unit one. */
static void random_metric(double spread, double out[3])
{
    double d[2][3];
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) d[i][k] = (i == k) + spread * draw();
    for (int k = 0; k < 3; k++) out[k] = 0;
    for (int k = 0; k < 3; k++) {
        out[0] += d[0][k] * d[0][k];
        out[1] += d[0][k] * d[1][k];
        out[2] += d[1][k] * d[1][k];
    }
}

static double energy(const spl_membrane *m, const double G[3], const double g[3])
{
    spl_membrane_point p;
    spl_membrane_at(m, G, g, false, &p);
    return p.W;
}

/* The definition, with H = G^-1 g formed as a matrix. */
static double naive(const spl_membrane *m, const double G0[3], const double g[3])
{
    double G[3] = {m->shrink * G0[0], m->shrink * G0[1], m->shrink * G0[2]};
    double det = G[0] * G[2] - G[1] * G[1];
    double H[2][2] = {{(G[2] * g[0] - G[1] * g[1]) / det, (G[2] * g[1] - G[1] * g[2]) / det},
                      {(G[0] * g[1] - G[1] * g[0]) / det, (G[0] * g[2] - G[1] * g[1]) / det}};
    double trace = H[0][0] + H[1][1], square = H[0][0] * H[0][0] + 2 * H[0][1] * H[1][0] + H[1][1] * H[1][1];
    double J = sqrt(H[0][0] * H[1][1] - H[0][1] * H[1][0]), psi;
    if (m->law == SPL_MEMBRANE_STVK)
        psi = m->lambda / 8 * (trace - 2) * (trace - 2) + m->mu / 4 * (square - 2 * trace + 2);
    else
        psi = m->mu / 2 * (trace - 2) - m->mu * (J - 1) + (m->lambda + m->mu) / 2 * (J - 1) * (J - 1);
    return sqrt(det) / 2 * psi;
}

TEST(energy_gradient_and_hessian)
{
    srand(3);
    for (int law = 0; law < 2; law++)
        for (int round = 0; round < 40; round++) {
            spl_membrane m = {(spl_membrane_law)law, 1.3, 0.7, round % 2 ? 0.8 : 1};
            double G[3], g[3], h = 1e-5;
            random_metric(0.3, G);
            random_metric(0.3, g);
            spl_membrane_point p, low, high;
            spl_membrane_at(&m, G, g, false, &p);
            CHECK_NEAR(p.W, naive(&m, G, g), 1e-12);
            CHECK(!p.broken);
            for (int i = 0; i < 3; i++) {
                double a[3] = {G[0], G[1], G[2]}, b[3] = {G[0], G[1], G[2]};
                a[i] -= h;
                b[i] += h;
                double slope = (energy(&m, b, g) - energy(&m, a, g)) / (2 * h);
                CHECK_NEAR(slope, p.S[i] * (i == 1 ? 2 : 1), 1e-7);
                spl_membrane_at(&m, a, g, false, &low);
                spl_membrane_at(&m, b, g, false, &high);
                for (int j = 0; j < 3; j++) {
                    int at = i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
                    CHECK_NEAR((high.S[j] - low.S[j]) * (j == 1 ? 2 : 1) / (2 * h), p.C[at], 2e-6);
                }
            }
        }
}

/* Uniform stretch by s: W / area = the closed form; no stress at rest; prestrain is stress at rest. */
TEST(closed_forms)
{
    double mu = 2, lambda = 3, one[3] = {1, 0, 1};
    for (double s = 0.7; s < 2; s += 0.1) {
        double g[3] = {s * s, 0, s * s}, e = (s * s - 1) / 2, J = s * s;
        spl_membrane stvk = {SPL_MEMBRANE_STVK, mu, lambda, 1}, neo = {SPL_MEMBRANE_NEOHOOKEAN, mu, lambda, 1};
        CHECK_NEAR(2 * energy(&stvk, one, g), lambda / 2 * 4 * e * e + mu * 2 * e * e, 1e-12);
        CHECK_NEAR(2 * energy(&neo, one, g), mu * (s * s - J) + (lambda + mu) / 2 * (J - 1) * (J - 1), 1e-12);
    }
    spl_membrane neo = {SPL_MEMBRANE_NEOHOOKEAN, mu, lambda, 1}, taut = {SPL_MEMBRANE_NEOHOOKEAN, mu, lambda, 1 / 1.21};
    spl_membrane_point p;
    spl_membrane_at(&neo, one, one, false, &p);
    for (int i = 0; i < 3; i++) CHECK_NEAR(p.S[i], 0, 1e-14);
    spl_membrane_at(&taut, one, one, false, &p);
    CHECK(p.S[0] < -0.1 && p.W > 0.01); /* more skin would relax it */
}

/* Both laws are linear elasticity near rest. */
TEST(laws_agree_near_rest)
{
    double one[3] = {1, 0, 1};
    spl_membrane a = {SPL_MEMBRANE_STVK, 2, 3, 1}, b = {SPL_MEMBRANE_NEOHOOKEAN, 2, 3, 1};
    spl_membrane_point p, q;
    spl_membrane_at(&a, one, one, false, &p);
    spl_membrane_at(&b, one, one, false, &q);
    for (int i = 0; i < 6; i++) CHECK_NEAR(p.C[i], q.C[i], 1e-13);
}

static double least_eigenvalue(const spl_membrane_point *p)
{
    const double *c = p->C;
    double full[9] = {c[0], c[1], c[3], c[1], c[2], c[4], c[3], c[4], c[5]}, value[3], vector[9];
    spl_eigen_symmetric(full, 3, value, vector);
    double low = (p->S[0] + p->S[2]) / 2 - hypot((p->S[0] - p->S[2]) / 2, p->S[1]);
    return fmin(value[2], low);
}

TEST(projection_is_positive_and_idle_where_it_may_be)
{
    srand(5);
    int changed = 0;
    for (int law = 0; law < 2; law++)
        for (int round = 0; round < 500; round++) {
            spl_membrane m = {(spl_membrane_law)law, 1, 1, 1};
            double G[3], g[3];
            random_metric(0.6, G);
            random_metric(0.6, g);
            spl_membrane_point p, before;
            spl_membrane_at(&m, G, g, false, &p);
            before = p;
            double size = 0;
            for (int i = 0; i < 6; i++) size = fmax(size, fabs(p.C[i]));
            double least = least_eigenvalue(&p);
            spl_membrane_project(&p);
            CHECK(least_eigenvalue(&p) > -1e-12 * (1 + size));
            if (least > 1e-9)
                for (int i = 0; i < 6; i++) CHECK_NEAR(p.C[i], before.C[i], 1e-12);
            changed += least < -1e-3;
        }
    CHECK(changed > 100);
}

/* Nothing is infinite: body triangles without area, skin without area, skin inside out. */
TEST(bounded)
{
    double flat[3] = {1, 1, 1}, nothing[3] = {0, 0, 0}, one[3] = {1, 0, 1}, thin[3] = {1, 0, 1e-16};
    const double *all[] = {flat, nothing, one, thin};
    for (int law = 0; law < 2; law++)
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 4; k++)
                for (int inverted = 0; inverted < 2; inverted++) {
                    spl_membrane m = {(spl_membrane_law)law, 1, 1, 1};
                    spl_membrane_point p;
                    spl_membrane_at(&m, all[i], all[k], inverted, &p);
                    spl_membrane_project(&p);
                    double sum = p.W;
                    for (int j = 0; j < 3; j++) sum += p.S[j];
                    for (int j = 0; j < 6; j++) sum += p.C[j];
                    CHECK(isfinite(sum));
                    if (inverted) CHECK(p.broken);
                }
}

TEST_CASES(RUN(energy_gradient_and_hessian), RUN(closed_forms), RUN(laws_agree_near_rest),
           RUN(projection_is_positive_and_idle_where_it_may_be), RUN(bounded))
