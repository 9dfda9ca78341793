/* The passes of ic3.h for one type of numbers: defines NAME_forward and NAME_backward from REAL, LANES (numbers a node
 * of the work vectors), COLUMN (numbers a column of E) and the names of the view's arrays. */

static void NAME(forward)(const spl_ic3_view *v, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        const double *x = v->x + 3 * i, *R = v->turn ? v->turn + 9 * i : NULL;
        REAL s[3];
        for (int c = 0; c < 3; c++)
            s[c] = (REAL)(R ? R[3 * c] * x[0] + R[3 * c + 1] * x[1] + R[3 * c + 2] * x[2] : x[c]);
        for (size_t q = v->start[i]; q < v->start[i + 1]; q++) {
            const REAL *B = v->BLOCKS + 9 * q, *w = v->WORK + LANES * (size_t)v->column[q];
            for (int r = 0; r < 3; r++) s[r] -= B[r] * w[0] + B[3 + r] * w[1] + B[6 + r] * w[2];
        }
        const REAL *E = v->INVERSE + 3 * COLUMN * i;
        for (int r = 0; r < 3; r++)
            v->WORK[LANES * i + (size_t)r] = E[r] * s[0] + E[COLUMN + r] * s[1] + E[2 * COLUMN + r] * s[2];
    }
}

static void NAME(backward)(const spl_ic3_view *v, size_t begin, size_t end)
{
    for (size_t i = end; i-- > begin;) {
        const double *R = v->turn ? v->turn + 9 * i : NULL;
        const REAL *E = v->INVERSE + 3 * COLUMN * i, *t = v->SUMS + LANES * i;
        REAL y[3];
        for (int r = 0; r < 3; r++)
            y[r] = v->WORK[LANES * i + (size_t)r] - (E[r] * t[0] + E[COLUMN + r] * t[1] + E[2 * COLUMN + r] * t[2]);
        for (size_t q = v->start[i]; q < v->start[i + 1]; q++) {
            const REAL *B = v->BLOCKS + 9 * q;
            REAL *to = v->SUMS + LANES * (size_t)v->column[q];
            for (int c = 0; c < 3; c++) to[c] += B[3 * c] * y[0] + B[3 * c + 1] * y[1] + B[3 * c + 2] * y[2];
        }
        for (int c = 0; c < 3; c++)
            v->y[3 * i + (size_t)c] =
                R ? R[c] * (double)y[0] + R[3 + c] * (double)y[1] + R[6 + c] * (double)y[2] : (double)y[c];
    }
}
