#include "fem/elements.h"

#include "core/error.h"
#include "core/memory.h"

/* Below this part of its longest edge cubed, six times a tet's volume is rounding noise and so are its gradients. */
#define FLAT 1e-12

static spl_vec3 point_of(const double *x, int32_t v)
{
    const double *p = x + 3 * (size_t)v;
    return spl_v3(p[0], p[1], p[2]);
}

static supple_result check_corners(const int32_t *v, int32_t vertex_count, int32_t k, supple_error *error)
{
    for (int i = 0; i < 4; i++)
        if (v[i] < 0 || v[i] >= vertex_count)
            return spl_fail(error, SUPPLE_ERROR_INPUT, "elements: tet %d: vertex %lld is not between 1 and %d",
                            (int)k + 1, (long long)v[i] + 1, (int)vertex_count);
    return SUPPLE_OK;
}

/* With edges e_i = x_i - x_0, the gradients of corners 1 to 3 are the rows of [e_1 e_2 e_3]^-1, that is cross products
 * over the determinant; the shape functions sum to 1, so the four gradients sum to 0. */
static bool measure(const spl_vec3 p[4], double g[12], double *volume)
{
    spl_vec3 e[3];
    double longest = 0;
    for (int i = 0; i < 3; i++) {
        e[i] = spl_sub(p[i + 1], p[0]);
        longest = fmax(longest, spl_norm(e[i]));
        for (int j = 0; j < i; j++) longest = fmax(longest, spl_distance(e[i], e[j]));
    }
    double det = spl_dot(e[0], spl_cross(e[1], e[2]));
    if (!isfinite(det) || !(det > FLAT * longest * longest * longest)) return false;
    g[0] = g[1] = g[2] = 0;
    for (int i = 0; i < 3; i++) {
        spl_vec3 n = spl_scale(spl_cross(e[(i + 1) % 3], e[(i + 2) % 3]), 1 / det);
        double *to = g + 3 * (i + 1);
        to[0] = n.x, to[1] = n.y, to[2] = n.z;
        for (int c = 0; c < 3; c++) g[c] -= to[c];
    }
    *volume = det / 6;
    for (int i = 0; i < 12; i++)
        if (!isfinite(g[i])) return false;
    return *volume > 0;
}

static supple_result fill(spl_elements *e, const double *rest, supple_error *error)
{
    for (int32_t k = 0; k < e->count; k++) {
        const int32_t *v = e->tet + 4 * (size_t)k;
        supple_result result = check_corners(v, e->vertex_count, k, error);
        if (result != SUPPLE_OK) return result;
        spl_vec3 p[4];
        for (int i = 0; i < 4; i++) p[i] = point_of(rest, v[i]);
        if (!measure(p, e->gradient + 12 * (size_t)k, e->volume + k))
            return spl_fail(error, SUPPLE_ERROR_INPUT,
                            "elements: tet %d (vertices %d %d %d %d) is flat, inverted or not finite; remesh the body",
                            (int)k + 1, (int)v[0] + 1, (int)v[1] + 1, (int)v[2] + 1, (int)v[3] + 1);
    }
    return SUPPLE_OK;
}

supple_result spl_elements_create(const double *rest, int32_t vertex_count, const int32_t *tet, int32_t tet_count,
                                  const supple_allocator *a, spl_elements *out, supple_error *error)
{
    *out = (spl_elements){.allocator = *a, .vertex_count = vertex_count, .count = tet_count, .tet = tet};
    if (vertex_count < 0 || tet_count < 0) {
        *out = (spl_elements){0};
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "elements: %d vertices and %d tets are not possible",
                        (int)vertex_count, (int)tet_count);
    }
    out->gradient = spl_new(a, (size_t)tet_count, 12 * sizeof *out->gradient);
    out->volume = spl_new(a, (size_t)tet_count, sizeof *out->volume);
    supple_result result =
        out->gradient && out->volume ? fill(out, rest, error) : spl_fail_memory(error, "the elements of a body");
    if (result != SUPPLE_OK) spl_elements_release(out);
    return result;
}

void spl_elements_release(spl_elements *e)
{
    if (e->gradient) spl_free(&e->allocator, e->gradient);
    if (e->volume) spl_free(&e->allocator, e->volume);
    *e = (spl_elements){0};
}

void spl_elements_lumped_mass(const spl_elements *e, const double *density, double *mass)
{
    for (int32_t v = 0; v < e->vertex_count; v++) mass[v] = 0;
    for (int32_t k = 0; k < e->count; k++)
        for (int i = 0; i < 4; i++) mass[e->tet[4 * (size_t)k + (size_t)i]] += 0.25 * e->volume[k] * density[k];
}

void spl_element_mass(const spl_elements *e, int32_t k, double density, double m[10])
{
    double part = e->volume[k] * density / 20;
    for (int i = 0, pair = 0; i < 4; i++)
        for (int j = 0; j <= i; j++, pair++) m[pair] = i == j ? 2 * part : part;
}

/* First T = (H g_j) for one corner j, 9 x 3 (the columns of H over b), then every block K_ij = (g_i T): 81 + 27 (4 - j)
 * products a corner where the full product B^T H B takes thousands. */
void spl_element_stiffness(const spl_elements *e, int32_t k, const double H[81], double K[10 * 9])
{
    const double *g = e->gradient + 12 * (size_t)k;
    for (int j = 0; j < 4; j++) {
        double w0 = e->volume[k] * g[3 * j], w1 = e->volume[k] * g[3 * j + 1], w2 = e->volume[k] * g[3 * j + 2];
        double T[27];
        for (int s = 0; s < 3; s++)
            for (int q = 0; q < 9; q++)
                T[9 * s + q] = w0 * H[9 * s + q] + w1 * H[9 * (3 + s) + q] + w2 * H[9 * (6 + s) + q];
        for (int i = j; i < 4; i++) {
            double *block = K + 9 * (i * (i + 1) / 2 + j), a = g[3 * i], b = g[3 * i + 1], c = g[3 * i + 2];
            for (int s = 0; s < 3; s++)
                for (int r = 0; r < 3; r++)
                    block[3 * s + r] = a * T[9 * s + r] + b * T[9 * s + 3 + r] + c * T[9 * s + 6 + r];
        }
    }
}
