/* Solves with one panel for AVX2, several right-hand sides side by side in one vector; included once per vector type.
 * The including file defines V, REAL, LANES and LOAD, STORE, SET, FMA (a b + c), FNMA (c - a b), MUL, ADD, SUB, and the
 * names FORWARD, BACKWARD, GATHER, FINISH, NARROW and CORNER. */
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

/* The `own` columns of a tile that begin at its first row: v_c = y_c / D_c - sum_c - sum_l L(l, c) v_l, l > c, the last
 * first. What rows below the own ones do is there at once; among the own ones each column is taken off those before it
 * as soon as it is known: one operation from one to the next, all in registers. `own` is a constant where this is
 * used. `at` is the tile's own corner, `v` has rows 0 to 7 and `sum` comes as it is. */
SPL_INLINE void FINISH(const REAL *at, int own, const REAL *inverse, const V *sum, V *v)
{
    V t[SPL_TILE];
    for (int c = 0; c < own; c++) t[c] = SUB(MUL(v[c], SET(inverse + c)), sum[c]);
    for (int l = own; l < SPL_TILE; l++)
        for (int c = 0; c < own; c++) t[c] = FNMA(SET(at + c * SPL_TILE + l), v[l], t[c]);
    for (int k = own - 1; k >= 0; k--)
        for (int c = 0; c < k; c++) t[c] = FNMA(SET(at + c * SPL_TILE + k), t[k], t[c]);
    for (int c = 0; c < own; c++) v[c] = t[c];
}

/* A panel of few columns: all of its sums in registers, two for each. */
SPL_INLINE void NARROW(const REAL *panel, const int32_t *rows, int32_t tiles, const REAL *inverse, REAL *x, int width)
{
    V sum[SPL_TILE], odd[SPL_TILE], v[SPL_TILE];
    for (int c = 0; c < width; c++) sum[c] = odd[c] = SET0();
    const REAL *at = panel + SPL_TILE * width;
    for (int32_t t = 1; t < tiles; t++, at += SPL_TILE * width)
        for (int l = 0; l < SPL_TILE; l += 2) {
            V even_row = LOAD(x + (size_t)rows[t * SPL_TILE + l] * LANES);
            V odd_row = LOAD(x + (size_t)rows[t * SPL_TILE + l + 1] * LANES);
            for (int c = 0; c < width; c++) {
                sum[c] = FMA(SET(at + c * SPL_TILE + l), even_row, sum[c]);
                odd[c] = FMA(SET(at + c * SPL_TILE + l + 1), odd_row, odd[c]);
            }
        }
    for (int l = 0; l < SPL_TILE; l++) v[l] = LOAD(x + (size_t)rows[l] * LANES);
    for (int c = 0; c < width; c++) sum[c] = ADD(sum[c], odd[c]);
    FINISH(panel, width, inverse, sum, v);
    for (int c = 0; c < width; c++) STORE(x + (size_t)rows[c] * LANES, v[c]);
}

/* The own columns of one tile of a wide panel. */
SPL_INLINE void CORNER(const REAL *at, const REAL *inverse, const REAL *sum, REAL *y, int own)
{
    V v[SPL_TILE], s[SPL_TILE];
    for (int l = 0; l < SPL_TILE; l++) v[l] = LOAD(y + l * LANES);
    for (int c = 0; c < own; c++) s[c] = LOAD(sum + c * LANES);
    FINISH(at, own, inverse, s, v);
    for (int c = 0; c < own; c++) STORE(y + c * LANES, v[c]);
}

#define BY_WIDTH(count, f, ...)                                                                                        \
    switch (count) {                                                                                                   \
    case 1:                                                                                                            \
        f(__VA_ARGS__, 1);                                                                                             \
        break;                                                                                                         \
    case 2:                                                                                                            \
        f(__VA_ARGS__, 2);                                                                                             \
        break;                                                                                                         \
    case 3:                                                                                                            \
        f(__VA_ARGS__, 3);                                                                                             \
        break;                                                                                                         \
    case 4:                                                                                                            \
        f(__VA_ARGS__, 4);                                                                                             \
        break;                                                                                                         \
    case 5:                                                                                                            \
        f(__VA_ARGS__, 5);                                                                                             \
        break;                                                                                                         \
    case 6:                                                                                                            \
        f(__VA_ARGS__, 6);                                                                                             \
        break;                                                                                                         \
    case 7:                                                                                                            \
        f(__VA_ARGS__, 7);                                                                                             \
        break;                                                                                                         \
    default:                                                                                                           \
        f(__VA_ARGS__, 8);                                                                                             \
        break;                                                                                                         \
    }

static void BACKWARD(const REAL *panel, const int32_t *rows, int32_t width, int32_t tiles, const REAL *inverse, REAL *x,
                     REAL *y)
{
    if (width <= SPL_TILE) {
        BY_WIDTH(width, NARROW, panel, rows, tiles, inverse, x)
        return;
    }
    REAL sum[SPL_MAX_WIDTH * LANES];
    for (int32_t i = 0; i < width * LANES; i++) sum[i] = 0;
    int32_t own = (width - 1) / SPL_TILE; /* the last tile with columns of the panel */
    for (int32_t i = 0; i < tiles * SPL_TILE; i++) STORE(y + (size_t)i * LANES, LOAD(x + (size_t)rows[i] * LANES));
    for (int32_t t = own + 1; t < tiles; t++)
        GATHER(panel + (size_t)(t * SPL_TILE) * (size_t)width, width, y + (size_t)(t * SPL_TILE) * LANES, sum);
    for (int32_t t = own; t >= 0; t--) {
        int32_t first = t * SPL_TILE;
        const REAL *tile = panel + (size_t)first * (size_t)width;
        REAL *yt = y + (size_t)first * LANES;
        BY_WIDTH(width - first, CORNER, tile + first * SPL_TILE, inverse + first, sum + first * LANES, yt)
        GATHER(tile, first, yt, sum); /* what it is to the columns before */
    }
    for (int32_t i = 0; i < width; i++) STORE(x + (size_t)rows[i] * LANES, LOAD(y + (size_t)i * LANES));
}
#undef BY_WIDTH
