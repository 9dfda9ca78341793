#include "scene/writers/basis.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "math/dense.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 16 << 20, /* of frames in memory at once */
    BLOCK_COLUMNS = 6144,   /* at most, a multiple of 3 */
    FIRST_TRY = 48,         /* directions sought at first; four times as many if the bound asks for them */
    OVERSAMPLING = 9,       /* directions sought beyond the components that are used */
    POWER_STEPS = 2,        /* products with G before the Rayleigh-Ritz step */
    COLUMN_GRAIN = 96,
    FRAME_GRAIN = 8,
};

/* The matrices of a search: n = frames, m = directions. */
typedef struct search {
    const spl_basis_task *task;
    size_t n, m, block_columns;
    float *block;                /* n x block_columns: A, or a part of it */
    double *direction, *product; /* n x m: Q and Y = G Q */
    double *image;               /* block_columns x m: Z = A^T Q */
    double *small, *turn;        /* m x m */
    double *value;               /* m */
    double *worst;               /* n x (m + 1): largest squared distance of a frame with k components */
} search;

/* ---- frames ----------------------------------------------------------------------------------------------------- */

size_t spl_basis_block(const spl_frames *frames)
{
    size_t columns = BLOCK_BYTES / sizeof(float) / (size_t)frames->count / 3 * 3;
    return columns < 3 ? 3 : columns > BLOCK_COLUMNS ? BLOCK_COLUMNS : columns;
}

static bool read_floats(int file, uint64_t at, float *out, size_t count)
{
    char *to = (char *)out;
    off_t from = (off_t)(at * sizeof(float));
    for (size_t left = count * sizeof(float); left > 0;) {
        ssize_t n = pread(file, to, left, from);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        to += n;
        from += n;
        left -= (size_t)n;
    }
    return true;
}

/* Reads columns of all frames and takes their mean off. */
static supple_result read_block(const spl_frames *frames, size_t first, size_t columns, float *block, float *mean,
                                supple_error *error)
{
    size_t n = (size_t)frames->count;
    for (size_t f = 0; f < n; f++)
        if (!read_floats(frames->file, (uint64_t)f * frames->width + first, block + f * columns, columns))
            return spl_fail(error, SUPPLE_ERROR_OUTPUT, "the spool of frames cannot be read: %s", strerror(errno));
    for (size_t at = 0; at < columns; at += COLUMN_GRAIN) {
        size_t width = columns - at < COLUMN_GRAIN ? columns - at : COLUMN_GRAIN;
        double sum[COLUMN_GRAIN] = {0};
        for (size_t f = 0; f < n; f++)
            for (size_t c = 0; c < width; c++) sum[c] += (double)block[f * columns + at + c];
        for (size_t c = 0; c < width; c++) sum[c] = (double)(float)(sum[c] / (double)n);
        for (size_t c = 0; mean && c < width; c++) mean[at + c] = (float)sum[c];
        for (size_t f = 0; f < n; f++)
            for (size_t c = 0; c < width; c++) block[f * columns + at + c] -= (float)sum[c];
    }
    return SUPPLE_OK;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

typedef struct product {
    const float *block; /* A: frames x columns */
    const double *in;
    double *out;
    size_t frames, columns, width;
} product;

/* out = A^T in: rows of `width` numbers for the columns [begin, end). Four frames at a time: out passes through the
 * registers a quarter as often. */
static void times_transpose(void *context, size_t begin, size_t end)
{
    const product *p = context;
    size_t m = p->width;
    memset(p->out + begin * m, 0, (end - begin) * m * sizeof *p->out);
    for (size_t f = 0; f < p->frames; f += 4) {
        size_t rest = p->frames - f < 4 ? p->frames - f : 4;
        const double *q0 = p->in + f * m, *q1 = q0 + (rest > 1 ? m : 0), *q2 = q0 + (rest > 2 ? 2 * m : 0),
                     *q3 = q0 + (rest > 3 ? 3 * m : 0);
        for (size_t c = begin; c < end; c++) {
            const float *a = p->block + f * p->columns + c;
            double a0 = (double)a[0], a1 = rest > 1 ? (double)a[p->columns] : 0;
            double a2 = rest > 2 ? (double)a[2 * p->columns] : 0, a3 = rest > 3 ? (double)a[3 * p->columns] : 0;
            double *z = p->out + c * m;
            for (size_t k = 0; k < m; k++) z[k] += a0 * q0[k] + a1 * q1[k] + a2 * q2[k] + a3 * q3[k];
        }
    }
}

/* out += A in: rows of `width` numbers for the frames [begin, end). */
static void add_times(void *context, size_t begin, size_t end)
{
    const product *p = context;
    size_t m = p->width;
    for (size_t c = 0; c < p->columns; c += 3) { /* columns come in threes: the coordinates of a vertex */
        const double *z0 = p->in + c * m, *z1 = z0 + m, *z2 = z1 + m;
        for (size_t f = begin; f < end; f++) {
            const float *a = p->block + f * p->columns + c;
            double a0 = (double)a[0], a1 = (double)a[1], a2 = (double)a[2], *y = p->out + f * m;
            for (size_t k = 0; k < m; k++) y[k] += a0 * z0[k] + a1 * z1[k] + a2 * z2[k];
        }
    }
}

/* Y = G Q, block of columns after block. */
static supple_result apply_gram(const search *s, supple_error *error)
{
    const spl_basis_task *t = s->task;
    memset(s->product, 0, s->n * s->m * sizeof *s->product);
    for (size_t at = 0; at < t->columns; at += s->block_columns) {
        size_t columns = t->columns - at < s->block_columns ? t->columns - at : s->block_columns;
        supple_result r =
            t->config ? spl_progress(t->config, "components", (double)at / (double)t->columns, error) : SUPPLE_OK;
        if (r == SUPPLE_OK) r = read_block(t->frames, t->first + at, columns, s->block, NULL, error);
        if (r != SUPPLE_OK) return r;
        product p = {s->block, s->direction, s->image, s->n, columns, s->m};
        spl_parallel_for(t->pool, columns, COLUMN_GRAIN, times_transpose, &p);
        p.in = s->image;
        p.out = s->product;
        spl_parallel_for(t->pool, s->n, FRAME_GRAIN, add_times, &p);
    }
    return SUPPLE_OK;
}

/* ---- the leading directions ------------------------------------------------------------------------------------- */

/* All directions where they are all sought, else random signs. */
static void begin_directions(search *s)
{
    for (size_t i = 0; i < s->n * s->m; i++) {
        bool all = s->m == s->n;
        s->direction[i] = all ? (double)(i / s->m == i % s->m) : spl_mix(i) & 1 ? 1.0 : -1.0;
    }
}

/* U = Q V, sorted by falling eigenvalue, in `direction`. */
static void turn_directions(search *s)
{
    size_t n = s->n, m = s->m;
    memset(s->small, 0, m * m * sizeof *s->small); /* B = Q^T Y */
    for (size_t f = 0; f < n; f++)
        for (size_t i = 0; i < m; i++)
            for (size_t k = 0; k < m; k++) s->small[i * m + k] += s->direction[f * m + i] * s->product[f * m + k];
    spl_eigen_symmetric(s->small, m, s->value, s->turn);
    memset(s->product, 0, n * m * sizeof *s->product);
    for (size_t f = 0; f < n; f++)
        for (size_t i = 0; i < m; i++)
            for (size_t k = 0; k < m; k++) s->product[f * m + k] += s->direction[f * m + i] * s->turn[i * m + k];
    memcpy(s->direction, s->product, n * m * sizeof *s->product);
}

static supple_result find_directions(search *s, supple_error *error)
{
    begin_directions(s);
    supple_result r = SUPPLE_OK;
    for (int i = 0; s->m < s->n && i < POWER_STEPS && r == SUPPLE_OK; i++) {
        r = apply_gram(s, error);
        memcpy(s->direction, s->product, s->n * s->m * sizeof *s->product);
        spl_orthonormalise(s->direction, s->n, s->m);
    }
    if (r == SUPPLE_OK) r = apply_gram(s, error);
    if (r == SUPPLE_OK) turn_directions(s);
    return r;
}

/* ---- how many --------------------------------------------------------------------------------------------------- */

typedef struct peel {
    const search *s;
    size_t columns;
    double enough; /* a frame of a block whose largest squared distance is below is done */
} peel;

static double largest_distance(const double *x, size_t columns)
{
    double worst = 0;
    for (size_t c = 0; c < columns; c += 3) {
        double d = x[c] * x[c] + x[c + 1] * x[c + 1] + x[c + 2] * x[c + 2];
        worst = d > worst ? d : worst;
    }
    return worst;
}

/* Takes one component after the other off the frames [begin, end) of the block, and keeps what is left. */
static void peel_frames(void *context, size_t begin, size_t end)
{
    const peel *p = context;
    const search *s = p->s;
    size_t m = s->m;
    for (size_t f = begin; f < end; f++)
        for (size_t at = 0; at < p->columns; at += COLUMN_GRAIN) {
            size_t n = p->columns - at < COLUMN_GRAIN ? p->columns - at : COLUMN_GRAIN;
            double left[COLUMN_GRAIN], *worst = s->worst + f * (m + 1);
            for (size_t c = 0; c < n; c++) left[c] = (double)s->block[f * p->columns + at + c];
            for (size_t k = 0;; k++) {
                double d = largest_distance(left, n);
                worst[k] = d > worst[k] ? d : worst[k];
                if (k == m || d <= p->enough) break;
                double u = s->direction[f * m + k];
                const double *z = s->image + k * s->block_columns + at;
                for (size_t c = 0; c < n; c++) left[c] -= u * z[c];
            }
        }
}

/* Z^T = U^T A: component after component, so that a component's columns lie together. */
static void project_rows(void *context, size_t begin, size_t end)
{
    const search *s = context;
    for (size_t k = begin; k < end; k++) {
        double *z = s->image + k * s->block_columns;
        memset(z, 0, s->block_columns * sizeof *z);
        for (size_t f = 0; f < s->n; f++) {
            double u = s->direction[f * s->m + k];
            const float *a = s->block + f * s->block_columns;
            for (size_t c = 0; c < s->block_columns; c++) z[c] += u * (double)a[c];
        }
    }
}

/* The fewest components that meet the bound; m + 1 if m do not. */
static supple_result count_components(search *s, size_t *count, double *reached, supple_error *error)
{
    const spl_basis_task *t = s->task;
    const double safe = 0.97; /* the components will be rounded */
    size_t whole = s->block_columns;
    supple_result r = SUPPLE_OK;
    memset(s->worst, 0, s->n * (s->m + 1) * sizeof *s->worst);
    peel p = {.s = s, .enough = 0.49 * t->bound * t->bound};
    for (size_t at = 0; at < t->columns && r == SUPPLE_OK; at += whole) {
        p.columns = t->columns - at < whole ? t->columns - at : whole;
        r = read_block(t->frames, t->first + at, p.columns, s->block, NULL, error);
        if (r != SUPPLE_OK) break;
        s->block_columns = p.columns;
        spl_parallel_for(t->pool, s->m, 1, project_rows, s);
        spl_parallel_for(t->pool, s->n, FRAME_GRAIN, peel_frames, &p);
        s->block_columns = whole;
    }
    for (*count = 0; *count <= s->m; (*count)++) {
        double worst = 0;
        for (size_t f = 0; f < s->n; f++) worst = fmax(worst, s->worst[f * (s->m + 1) + *count]);
        *reached = sqrt(worst);
        if (*reached <= safe * t->bound) break;
    }
    return r;
}

/* ---- the search ------------------------------------------------------------------------------------------------- */

static supple_result make_basis(const search *s, size_t count, spl_basis *out, supple_error *error)
{
    const supple_allocator *a = s->task->allocator;
    out->weight = spl_new(a, s->n * count, sizeof *out->weight);
    out->inverse = spl_new(a, count, sizeof *out->inverse);
    out->kind = spl_new(a, 3 * count, sizeof *out->kind);
    out->low = spl_new(a, count, sizeof *out->low);
    out->range = spl_new(a, count, sizeof *out->range);
    if (!out->weight || !out->inverse || !out->kind || !out->low || !out->range)
        return spl_fail_memory(error, "the components");
    out->unit = 1;
    memset(out->kind, 4, 3 * count);
    out->frame_count = (int32_t)s->n;
    out->count = (int32_t)count;
    for (size_t k = 0; k < count; k++) {
        double largest = 0, signed_largest = 1, sum = 0, low = 0, high = 0;
        for (size_t f = 0; f < s->n; f++) {
            double u = s->direction[f * s->m + k];
            if (fabs(u) > largest) largest = fabs(u), signed_largest = u;
        }
        for (size_t f = 0; f < s->n; f++) {
            float w = (float)(s->direction[f * s->m + k] / signed_largest);
            out->weight[f * count + k] = w;
            sum += (double)w * (double)w;
            low = fmin(low, (double)w);
            high = fmax(high, (double)w);
        }
        out->inverse[k] = sum > 0 ? 1 / sum : 0;
        out->low[k] = low;
        out->range[k] = high > low ? high - low : 1;
    }
    return SUPPLE_OK;
}

static void free_search(search *s)
{
    const supple_allocator *a = s->task->allocator;
    spl_free(a, s->block);
    spl_free(a, s->direction);
    spl_free(a, s->product);
    spl_free(a, s->image);
    spl_free(a, s->small);
    spl_free(a, s->turn);
    spl_free(a, s->value);
    spl_free(a, s->worst);
}

static bool allocate(search *s)
{
    const supple_allocator *a = s->task->allocator;
    s->block = spl_new(a, s->n * s->block_columns, sizeof *s->block);
    s->direction = spl_new(a, s->n * s->m, sizeof *s->direction);
    s->product = spl_new(a, s->n * s->m, sizeof *s->product);
    s->image = spl_new(a, s->block_columns * s->m, sizeof *s->image);
    s->small = spl_new(a, s->m * s->m, sizeof *s->small);
    s->turn = spl_new(a, s->m * s->m, sizeof *s->turn);
    s->value = spl_new(a, s->m, sizeof *s->value);
    s->worst = spl_new(a, s->n * (s->m + 1), sizeof *s->worst);
    return s->block && s->direction && s->product && s->image && s->small && s->turn && s->value && s->worst;
}

/* Seeks m directions; `*done` if they serve, or if no more may be had. */
static supple_result try_directions(const spl_basis_task *t, size_t m, bool *done, spl_basis *out, supple_error *error)
{
    search s = {.task = t, .n = (size_t)t->frames->count, .m = m, .block_columns = spl_basis_block(t->frames)};
    size_t count = 0, most = (size_t)t->most < s.n ? (size_t)t->most : s.n;
    supple_result r = allocate(&s) ? find_directions(&s, error) : spl_fail_memory(error, "the components");
    if (r == SUPPLE_OK) r = count_components(&s, &count, &out->error, error);
    bool last = m >= s.n || m >= most + OVERSAMPLING;
    /* The last directions sought are not the last directions there are: they are only trusted where all were sought. */
    *done = last || count + OVERSAMPLING <= m;
    if (count > most) count = most;
    if (r == SUPPLE_OK && *done) r = make_basis(&s, count, out, error);
    free_search(&s);
    return r;
}

supple_result spl_basis_find(const spl_basis_task *t, spl_basis *out, supple_error *error)
{
    size_t n = (size_t)t->frames->count, most = (size_t)t->most + OVERSAMPLING;
    supple_result r = SUPPLE_OK;
    *out = (spl_basis){.frame_count = t->frames->count};
    bool done = false;
    for (size_t m = FIRST_TRY; !done && r == SUPPLE_OK; m *= 4) {
        size_t directions = m < most ? m : most;
        r = try_directions(t, directions < n ? directions : n, &done, out, error);
    }
    if (r != SUPPLE_OK) spl_basis_release(out, t->allocator);
    return r;
}

void spl_basis_release(spl_basis *basis, const supple_allocator *a)
{
    spl_free(a, basis->weight);
    spl_free(a, basis->inverse);
    spl_free(a, basis->kind);
    spl_free(a, basis->low);
    spl_free(a, basis->range);
    *basis = (spl_basis){0};
}

float spl_basis_weight(const spl_basis *basis, int32_t frame, int32_t component)
{
    if (component == basis->count) return 1;
    double w = (double)basis->weight[(size_t)frame * (size_t)basis->count + (size_t)component];
    return (float)((w - basis->low[component]) / basis->range[component]);
}

/* ---- the components --------------------------------------------------------------------------------------------- */

typedef struct projection {
    const spl_basis *basis;
    const float *block;
    size_t columns;
    float *part;
} projection;

/* Components [begin, end): least squares, by weights that are orthogonal to each other and to the mean. */
static void project_components(void *context, size_t begin, size_t end)
{
    const projection *p = context;
    size_t count = (size_t)p->basis->count, frames = (size_t)p->basis->frame_count;
    for (size_t k = begin; k < end; k++)
        for (size_t at = 0; at < p->columns; at += COLUMN_GRAIN) {
            size_t n = p->columns - at < COLUMN_GRAIN ? p->columns - at : COLUMN_GRAIN;
            double sum[COLUMN_GRAIN] = {0};
            for (size_t f = 0; f < frames; f++) {
                double w = (double)p->basis->weight[f * count + k];
                const float *a = p->block + f * p->columns + at;
                for (size_t c = 0; c < n; c++) sum[c] += w * (double)a[c];
            }
            for (size_t c = 0; c < n; c++) p->part[k * p->columns + at + c] = (float)(sum[c] * p->basis->inverse[k]);
        }
}

supple_result spl_basis_project(const spl_basis *basis, const spl_frames *frames, size_t first, size_t columns,
                                spl_pool *pool, float *block, float *mean, float *part, supple_error *error)
{
    supple_result r = read_block(frames, first, columns, block, mean, error);
    projection p = {basis, block, columns, part};
    if (r == SUPPLE_OK) spl_parallel_for(pool, (size_t)basis->count, 1, project_components, &p);
    return r;
}

double spl_basis_measure(const spl_basis *basis, const float *block, size_t columns, const float *part)
{
    size_t count = (size_t)basis->count;
    double worst = 0;
    for (size_t f = 0; f < (size_t)basis->frame_count; f++)
        for (size_t at = 0; at < columns; at += COLUMN_GRAIN) {
            size_t n = columns - at < COLUMN_GRAIN ? columns - at : COLUMN_GRAIN;
            double left[COLUMN_GRAIN];
            for (size_t c = 0; c < n; c++) left[c] = (double)block[f * columns + at + c];
            for (size_t k = 0; k < count; k++) {
                double w = (double)basis->weight[f * count + k];
                const float *x = part + k * columns + at;
                for (size_t c = 0; c < n; c++) left[c] -= w * (double)x[c];
            }
            worst = fmax(worst, largest_distance(left, n));
        }
    return sqrt(worst);
}
