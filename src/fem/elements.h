/* Linear tetrahedra: what a mesh's rest shape alone determines.
 *
 * The gradient g_i of the shape function of corner i is constant in a tet, so the deformation gradient is
 * F = sum_i x_i g_i^T, and a first Piola-Kirchhoff stress P pulls corner i with the force -W P g_i, W being the rest
 * volume. Positions are 3 doubles a vertex; solver units are metres. */
#ifndef SPL_FEM_ELEMENTS_H
#define SPL_FEM_ELEMENTS_H

#include "math/mat3.h"

#include <supple/base.h>

typedef struct spl_elements {
    supple_allocator allocator;
    int32_t vertex_count, count; /* vertices; tets */
    const int32_t *tet;          /* 4 x count, borrowed */
    double *gradient;            /* 12 x count: g_i of tet k at 12 k + 3 i */
    double *volume;              /* count */
} spl_elements;

/* From positive tets; `tet` must outlive it. SUPPLE_ERROR_INPUT for a tet that is flat, inverted or not finite, by
 * number. */
supple_result spl_elements_create(const double *rest, int32_t vertex_count, const int32_t *tet, int32_t tet_count,
                                  const supple_allocator *a, spl_elements *out, supple_error *error);
void spl_elements_release(spl_elements *e);

/* F of a tet. */
static inline spl_mat3 spl_element_F(const spl_elements *e, int32_t k, const double *x)
{
    spl_mat3 F = {{0}};
    for (int i = 0; i < 4; i++) {
        const double *p = x + 3 * (size_t)e->tet[4 * (size_t)k + (size_t)i];
        const double *g = e->gradient + 12 * (size_t)k + 3 * i;
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++) F.m[3 * c + r] += p[r] * g[c];
    }
    return F;
}

/* The forces -W P g_i of a stress on the corners of a tet, f[3 i + axis]. */
static inline void spl_element_forces(const spl_elements *e, int32_t k, const spl_mat3 *P, double f[12])
{
    for (int i = 0; i < 4; i++) {
        const double *g = e->gradient + 12 * (size_t)k + 3 * i;
        spl_vec3 v = spl_mat3_apply(P, spl_v3(g[0], g[1], g[2]));
        f[3 * i] = -e->volume[k] * v.x;
        f[3 * i + 1] = -e->volume[k] * v.y;
        f[3 * i + 2] = -e->volume[k] * v.z;
    }
}

/* Lumped masses: a quarter of each tet's mass to each corner. `density` by tet, kg/m^3. */
void spl_elements_lumped_mass(const spl_elements *e, const double *density, double *mass);

/* The consistent mass of one tet as its lower triangle, W rho (1 + delta_ij) / 20, for spl_assembly of blocks of 1. */
void spl_element_mass(const spl_elements *e, int32_t k, double density, double m[10]);

/* The stiffness of one tet from the Hessian of its energy density (law.h): blocks
 * K_ij[r, s] = W sum_ab H[(r, a), (s, b)] g_i[a] g_j[b], with (r, a) at 3 a + r, as the lower triangle of 3 x 3 blocks
 * of spl_assembly: pair (i, j), i >= j, at i (i + 1) / 2 + j, column-major, rows of corner i. H must be symmetric. */
void spl_element_stiffness(const spl_elements *e, int32_t k, const double H[81], double K[10 * 9]);

#endif
