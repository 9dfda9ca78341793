/* Solves with one panel for AVX2, one right-hand side: eight rows side by side. The including file defines REAL, W
 * (eight lanes) and W_LOAD, W_STORE, W_ZERO, W_FMA (a b + c), W_FNMA (c - a s, s a number), W_SUM, and FORWARD,
 * BACKWARD, COLUMNS. */
static void FORWARD(const REAL *panel, const int32_t *rows, int32_t width, int32_t tiles, REAL *x)
{
    const REAL *own = x + rows[0];
    REAL y[SPL_TILE];
    for (int32_t t = 0; t < tiles; t++, panel += SPL_TILE * width, rows += SPL_TILE) {
        int32_t first = t * SPL_TILE, full = first < width ? first : width;
        for (int l = 0; l < SPL_TILE; l++) y[l] = x[rows[l]];
        W v = W_LOAD(y), u = W_ZERO(); /* two chains: columns alternate */
        int32_t k = 0;
        for (; k + 1 < full; k += 2) {
            v = W_FNMA(W_LOAD(panel + SPL_TILE * k), own[k], v);
            u = W_FNMA(W_LOAD(panel + SPL_TILE * (k + 1)), own[k + 1], u);
        }
        if (k < full) v = W_FNMA(W_LOAD(panel + SPL_TILE * k), own[k], v);
        W_STORE(y, W_ADD(v, u));
        for (int32_t c = first; c < width && c < first + SPL_TILE; c++)
            for (int l = c - first + 1; l < SPL_TILE; l++) y[l] -= panel[SPL_TILE * c + l] * y[c - first];
        for (int l = 0; l < SPL_TILE; l++) x[rows[l]] = y[l];
    }
}

SPL_INLINE void COLUMNS(const REAL *panel, int32_t k, int count, int32_t width, int32_t tiles, const REAL *inverse,
                        REAL *y)
{
    W sum[SPL_TILE];
    for (int c = 0; c < count; c++) sum[c] = W_ZERO();
    size_t stride = (size_t)(SPL_TILE * width);
    int32_t t = k / SPL_TILE;
    const REAL *at = panel + (size_t)(t + 1) * stride + (size_t)k * SPL_TILE;
    for (int32_t q = t + 1; q < tiles; q++, at += stride) {
        W yq = W_LOAD(y + q * SPL_TILE);
        for (int c = 0; c < count; c++) sum[c] = W_FMA(W_LOAD(at + c * SPL_TILE), yq, sum[c]);
    }
    at = panel + (size_t)t * stride + (size_t)k * SPL_TILE;
    for (int c = (width - k < count ? width - k : count) - 1; c >= 0; c--) {
        REAL v = y[k + c] * inverse[k + c] - W_SUM(sum[c]);
        for (int32_t l = c + 1; l < SPL_TILE; l++) v -= at[c * SPL_TILE + l] * y[k + l];
        y[k + c] = v;
    }
}

static void BACKWARD(const REAL *panel, const int32_t *rows, int32_t width, int32_t tiles, const REAL *inverse, REAL *x,
                     REAL *y)
{
    for (int32_t i = 0; i < tiles * SPL_TILE; i++) y[i] = x[rows[i]];
    for (int32_t k = (width - 1) & ~(SPL_TILE - 1); k >= 0; k -= SPL_TILE) {
        int32_t left = width - k;
        if (left > 4)
            COLUMNS(panel, k, 8, width, tiles, inverse, y);
        else if (left > 2)
            COLUMNS(panel, k, 4, width, tiles, inverse, y);
        else
            COLUMNS(panel, k, 2, width, tiles, inverse, y);
    }
    for (int32_t i = 0; i < width; i++) x[rows[i]] = y[i];
}
