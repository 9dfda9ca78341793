/* Solves with one panel for AVX2, several right-hand sides side by side in one vector; included once per vector type.
 * The including file defines V, REAL, LANES and LOAD, STORE, SET, FMA (a b + c), FNMA (c - a b), MUL, SUB, and the
 * names FORWARD, BACKWARD and COLUMNS. */
static void FORWARD(const REAL *panel, const int32_t *rows, int32_t width, int32_t tiles, REAL *x)
{
    const REAL *own = x + (size_t)rows[0] * LANES; /* the panel's own rows follow one another */
    for (int32_t t = 0; t < tiles; t++, panel += SPL_TILE * width, rows += SPL_TILE) {
        V y[SPL_TILE];
        int32_t first = t * SPL_TILE, full = first < width ? first : width;
        for (int l = 0; l < SPL_TILE; l++) y[l] = LOAD(x + (size_t)rows[l] * LANES);
        const REAL *at = panel;
        for (int32_t k = 0; k < full; k++, at += SPL_TILE) {
            V xk = LOAD(own + (size_t)k * LANES);
            for (int l = 0; l < SPL_TILE; l++) y[l] = FNMA(SET(at + l), xk, y[l]);
        }
#define STEP(c)                                                                                                        \
    if (first + (c) < width) {                                                                                         \
        for (int l = (c) + 1; l < SPL_TILE; l++) y[l] = FNMA(SET(at + (c)*SPL_TILE + l), y[c], y[l]);                  \
    }
        if (first < width) {
            STEP(0)
            STEP(1)
            STEP(2)
            STEP(3)
            STEP(4)
            STEP(5)
            STEP(6)
            STEP(7)
        }
#undef STEP
        for (int l = 0; l < SPL_TILE; l++) STORE(x + (size_t)rows[l] * LANES, y[l]);
    }
}

/* Columns [k, k + count) of the panel against the rows below their tile, then within it. `count` is a constant at most
 * 8, at least the columns there are: sums of columns beyond are not used. */
SPL_INLINE void COLUMNS(const REAL *panel, int32_t k, int count, int32_t width, int32_t tiles, const REAL *inverse,
                        REAL *y)
{
    V sum[SPL_TILE];
    for (int c = 0; c < count; c++) sum[c] = SET0();
    size_t stride = (size_t)(SPL_TILE * width);
    int32_t t = k / SPL_TILE;
    const REAL *at = panel + (size_t)(t + 1) * stride + (size_t)k * SPL_TILE,
               *yt = y + (size_t)(t + 1) * SPL_TILE * LANES;
    for (int32_t q = t + 1; q < tiles; q++, at += stride, yt += SPL_TILE * LANES)
        for (int l = 0; l < SPL_TILE; l++) {
            V yl = LOAD(yt + l * LANES);
            for (int c = 0; c < count; c++) sum[c] = FMA(SET(at + c * SPL_TILE + l), yl, sum[c]);
        }
    at = panel + (size_t)t * stride + (size_t)k * SPL_TILE;
    for (int c = (width - k < count ? width - k : count) - 1; c >= 0; c--) {
        V v = SUB(MUL(LOAD(y + (size_t)(k + c) * LANES), SET(inverse + k + c)), sum[c]);
        for (int32_t l = c + 1; l < SPL_TILE; l++)
            v = FNMA(SET(at + c * SPL_TILE + l), LOAD(y + (size_t)(k + l) * LANES), v);
        STORE(y + (size_t)(k + c) * LANES, v);
    }
}

static void BACKWARD(const REAL *panel, const int32_t *rows, int32_t width, int32_t tiles, const REAL *inverse, REAL *x,
                     REAL *y)
{
    for (int32_t i = 0; i < tiles * SPL_TILE; i++) STORE(y + (size_t)i * LANES, LOAD(x + (size_t)rows[i] * LANES));
    for (int32_t k = (width - 1) & ~(SPL_TILE - 1); k >= 0; k -= SPL_TILE) {
        int32_t left = width - k;
        if (left > 4)
            COLUMNS(panel, k, 8, width, tiles, inverse, y);
        else if (left > 2)
            COLUMNS(panel, k, 4, width, tiles, inverse, y);
        else
            COLUMNS(panel, k, 2, width, tiles, inverse, y);
    }
    for (int32_t i = 0; i < width; i++) STORE(x + (size_t)rows[i] * LANES, LOAD(y + (size_t)i * LANES));
}
