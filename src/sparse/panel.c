/* The plain twins of the dense kernels: what they compute, in the simplest words. */
#include "sparse/panel.h"

#include "math/cpu.h"

static void product(const double *tile, const double *packed, int32_t k, double C[32])
{
    for (int32_t i = 0; i < 32; i++) C[i] = 0;
    for (int32_t p = 0; p < k; p++)
        for (int32_t j = 0; j < 4; j++)
            for (int32_t l = 0; l < SPL_TILE; l++) C[j * SPL_TILE + l] += tile[p * SPL_TILE + l] * packed[4 * p + j];
}

static inline void subtract8(double *to, const double *from)
{
    for (int32_t l = 0; l < SPL_TILE; l++) to[l] -= from[l];
}

#define PRODUCT(tile, packed, k, C)            product(tile, packed, k, C)
#define SUBTRACT8(to, from)                    subtract8(to, from)
#define ELIMINATE8(columns, corner, inverse_d) eliminate(columns, 8, corner, inverse_d)
#include "sparse/panel_loops.h"

#define REAL     double
#define FORWARD  forward_double
#define BACKWARD backward_double
#include "sparse/solve_plain.h"
#undef REAL
#undef FORWARD
#undef BACKWARD
#define REAL     float
#define FORWARD  forward_float
#define BACKWARD backward_float
#include "sparse/solve_plain.h"

const spl_panel_kernels spl_panel_kernels_plain = {
    .update = update,
    .rows = rows,
    .product = product,
    .forward = forward_double,
    .backward = backward_double,
    .forward_float = forward_float,
    .backward_float = backward_float,
};

const spl_panel_kernels *spl_panel_kernels_of(bool plain)
{
#ifdef SPL_HAVE_AVX2
    if (!plain && spl_cpu_has_avx2()) return &spl_panel_kernels_avx2;
#endif
    (void)plain;
    return &spl_panel_kernels_plain;
}
