/* Solves with one panel, plain; included once per REAL. The diagonal and what is above it are stored as zeros, so loops
 * over whole tiles need no bounds. */
static void FORWARD(const REAL *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes, REAL *x)
{
    for (int32_t k = 0; k < width; k++) {
        const REAL *xk = x + (size_t)rows[k] * (size_t)lanes;
        for (int32_t i = k / SPL_TILE * SPL_TILE; i < tiles * SPL_TILE; i++) {
            REAL v = panel[(size_t)(i / SPL_TILE) * SPL_TILE * (size_t)width + (size_t)(k * SPL_TILE + i % SPL_TILE)];
            REAL *xi = x + (size_t)rows[i] * (size_t)lanes;
            if (i == k) continue;
            for (int32_t c = 0; c < lanes; c++) xi[c] -= v * xk[c];
        }
    }
}

static void BACKWARD(const REAL *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes,
                     const REAL *inverse, REAL *x, REAL *y)
{
    (void)y;
    for (int32_t k = width - 1; k >= 0; k--) {
        REAL *xk = x + (size_t)rows[k] * (size_t)lanes;
        for (int32_t c = 0; c < lanes; c++) {
            REAL sum = xk[c] * inverse[k];
            for (int32_t i = k + 1; i < tiles * SPL_TILE; i++)
                sum -=
                    panel[(size_t)(i / SPL_TILE) * SPL_TILE * (size_t)width + (size_t)(k * SPL_TILE + i % SPL_TILE)] *
                    x[(size_t)rows[i] * (size_t)lanes + (size_t)c];
            xk[c] = sum;
        }
    }
}
