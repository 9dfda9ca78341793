/* The loops around the 8 x 4 product, shared by panel.c and panel_avx2.c. The including file defines
 *     PRODUCT(tile, packed, k, C)       C = A B^T
 *     SUBTRACT8(to, from)               to[0..7] -= from[0..7]
 *     ELIMINATE8(columns, corner, inverse)  eight whole columns of a tile, see eliminate below */
#ifndef SPL_SPARSE_PANEL_LOOPS_H
#define SPL_SPARSE_PANEL_LOOPS_H

#include "sparse/panel.h"

/* C's columns [0, count) into the target, lanes [lo, hi). Lanes that lie side by side are one vector. */
static inline void scatter(const spl_panel_update *u, const int32_t *place, int32_t lo, int32_t hi,
                           const int32_t *column, int32_t count, const double *C)
{
    bool whole = hi - lo == SPL_TILE && place[7] == place[0] + 7;
    for (int32_t j = 0; j < count; j++) {
        double *to = u->target + (size_t)column[j] * SPL_TILE;
        const double *from = C + j * SPL_TILE;
        if (whole) {
            SUBTRACT8(to + place[0], from);
        } else {
            for (int32_t l = lo; l < hi; l++) to[place[l]] -= from[l];
        }
    }
}

static void update(const spl_panel_update *u)
{
    double C[32];
    int32_t w = u->source_width;
    for (int32_t at = u->begin & ~(SPL_TILE - 1); at < u->end; at += SPL_TILE) {
        const double *tile = u->source + (size_t)at * (size_t)w;
        int32_t lo = u->begin > at ? u->begin - at : 0, hi = u->end - at < SPL_TILE ? u->end - at : SPL_TILE;
        for (int32_t j = 0; j < u->columns; j += 4) {
            PRODUCT(tile, u->packed + (size_t)j * (size_t)w, w, C);
            scatter(u, u->place + at, lo, hi, u->column + j, u->columns - j < 4 ? u->columns - j : 4, C);
        }
    }
}

/* X D L11^T = V for the columns of one block: v_j becomes l_j = v_j / D_j, later columns lose l_j (D_j L_cj). */
static inline void eliminate(double *v, int32_t count, const double *corner, const double *inverse)
{
    for (int32_t j = 0; j < count; j++) {
        double *vj = v + j * SPL_TILE;
        for (int32_t l = 0; l < SPL_TILE; l++) vj[l] *= inverse[j];
        for (int32_t c = j + 1; c < count; c++) {
            double *vc = v + c * SPL_TILE, f = corner[8 * j + c];
            for (int32_t l = 0; l < SPL_TILE; l++) vc[l] -= vj[l] * f;
        }
    }
}

static void rows(double *tile, int32_t blocks, const spl_panel_diagonal *d)
{
    double C[32];
    for (int32_t b = 0; b < blocks; b++) {
        int32_t done = b * 8, count = d->width - done < 8 ? d->width - done : 8;
        double *v = tile + (size_t)done * SPL_TILE;
        const double *packed = d->packed + (size_t)b * (size_t)(b - 1) * 32;
        for (int32_t j = 0; j < count && done > 0; j += 4) {
            PRODUCT(tile, packed + (size_t)j * (size_t)done, done, C);
            for (int32_t c = j; c < count && c < j + 4; c++) SUBTRACT8(v + c * SPL_TILE, C + (c - j) * SPL_TILE);
        }
        if (count == 8)
            ELIMINATE8(v, d->corner + 64 * b, d->inverse + done);
        else
            eliminate(v, count, d->corner + 64 * b, d->inverse + done);
    }
}

#endif
