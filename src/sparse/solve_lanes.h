/* Solves with one panel for AVX2, several right-hand sides side by side in one vector; included once per vector type.
 * The including file defines V, REAL, LANES and LOAD, STORE, SET, FMA (a b + c), FNMA (c - a b), MUL, ADD, SUB, and the
 * names FORWARD, BACKWARD, GATHER and FINISH. */
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

/* sum_c += L(rows of one tile, c)^T y for columns [0, width), two at a time: the tile's rows stay in registers and the
 * panel is read once, in order. */
SPL_INLINE void GATHER(const REAL *tile, int32_t width, const REAL *y, REAL *sum)
{
    V yl[SPL_TILE];
    for (int l = 0; l < SPL_TILE; l++) yl[l] = LOAD(y + l * LANES);
    int32_t c = 0;
    for (; c + 1 < width; c += 2, tile += 2 * SPL_TILE, sum += 2 * LANES) {
        V a = LOAD(sum), b = LOAD(sum + LANES), a2 = MUL(SET(tile + 4), yl[4]),
          b2 = MUL(SET(tile + SPL_TILE + 4), yl[4]);
        for (int l = 0; l < 4; l++) {
            a = FMA(SET(tile + l), yl[l], a);
            b = FMA(SET(tile + SPL_TILE + l), yl[l], b);
        }
        for (int l = 5; l < SPL_TILE; l++) {
            a2 = FMA(SET(tile + l), yl[l], a2);
            b2 = FMA(SET(tile + SPL_TILE + l), yl[l], b2);
        }
        STORE(sum, ADD(a, a2));
        STORE(sum + LANES, ADD(b, b2));
    }
    if (c < width) {
        V a = LOAD(sum), a2 = MUL(SET(tile + 4), yl[4]);
        for (int l = 0; l < 4; l++) a = FMA(SET(tile + l), yl[l], a);
        for (int l = 5; l < SPL_TILE; l++) a2 = FMA(SET(tile + l), yl[l], a2);
        STORE(sum, ADD(a, a2));
    }
}

/* The own columns of tile t, last first, against the rows after them in the tile. */
SPL_INLINE void FINISH(const REAL *tile, int32_t first, int32_t width, const REAL *inverse, const REAL *sum, REAL *y)
{
    int32_t last = width - first < SPL_TILE ? width : first + SPL_TILE;
    for (int32_t k = last - 1; k >= first; k--) {
        V v = SUB(MUL(LOAD(y + (size_t)k * LANES), SET(inverse + k)), LOAD(sum + (size_t)k * LANES));
        for (int32_t l = k - first + 1; l < SPL_TILE; l++)
            v = FNMA(SET(tile + k * SPL_TILE + l), LOAD(y + (size_t)(first + l) * LANES), v);
        STORE(y + (size_t)k * LANES, v);
    }
}

static void BACKWARD(const REAL *panel, const int32_t *rows, int32_t width, int32_t tiles, const REAL *inverse, REAL *x,
                     REAL *y)
{
    REAL sum[SPL_MAX_WIDTH * LANES];
    for (int32_t i = 0; i < width * LANES; i++) sum[i] = 0;
    int32_t own = (width - 1) / SPL_TILE; /* the last tile with columns of the panel */
    for (int32_t i = 0; i < tiles * SPL_TILE; i++) STORE(y + (size_t)i * LANES, LOAD(x + (size_t)rows[i] * LANES));
    for (int32_t t = own + 1; t < tiles; t++)
        GATHER(panel + (size_t)(t * SPL_TILE) * (size_t)width, width, y + (size_t)(t * SPL_TILE) * LANES, sum);
    for (int32_t t = own; t >= 0; t--) {
        const REAL *tile = panel + (size_t)(t * SPL_TILE) * (size_t)width;
        FINISH(tile, t * SPL_TILE, width, inverse, sum, y);
        GATHER(tile, t * SPL_TILE, y + (size_t)(t * SPL_TILE) * LANES, sum); /* what it is to the columns before */
    }
    for (int32_t i = 0; i < width; i++) STORE(x + (size_t)rows[i] * LANES, LOAD(y + (size_t)i * LANES));
}
