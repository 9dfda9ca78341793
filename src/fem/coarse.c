#include "fem/coarse.h"

#include "core/error.h"
#include "core/memory.h"
#include "sparse/factor.h"

#include <math.h>
#include <string.h>

enum {
    CORNERS = 8,        /* functions at a node */
    MOST_CUBES = 500000 /* of the grid's box: bounds the table that numbers the functions */
};

static const double LEAST_WEIGHT = 1e-6; /* below, a function does not reach a node */
static const double LIFT = 1e-5;         /* of the diagonal: functions may outnumber the nodes that they reach */

struct spl_coarse {
    supple_allocator allocator;
    spl_pool *pool;
    int32_t nodes, count;
    int32_t *function; /* CORNERS a node; unused ones have weight 0 */
    float *weight;     /* likewise */
    size_t *start;     /* by function, + 1: its nodes ... */
    int32_t *reached;  /* ... */
    float *share;      /* ... and their weights */
    spl_factor *factor;
    float *turned; /* 4 a node: R^T x */
    float *value;  /* 3 a function */
};

/* ---- the grid ---- */

typedef struct grid {
    double low[3], cell;
    int32_t corners[3]; /* along each axis */
    int32_t *number;    /* by corner: its function, or -1 */
} grid;

static void measure(const spl_coarse_input *in, int32_t nodes, double low[3], double high[3])
{
    for (int c = 0; c < 3; c++) {
        low[c] = INFINITY;
        high[c] = -INFINITY;
        for (int32_t i = 0; i < nodes; i++) {
            low[c] = fmin(low[c], in->position[3 * (size_t)i + (size_t)c]);
            high[c] = fmax(high[c], in->position[3 * (size_t)i + (size_t)c]);
        }
    }
}

/* Lays a grid of this cell over the box; false if it has too many cubes. */
static bool lay(grid *g, const double high[3])
{
    double cubes = 1;
    for (int c = 0; c < 3; c++) {
        double along = floor((high[c] - g->low[c]) / g->cell) + 2;
        cubes *= along;
        if (!(cubes <= MOST_CUBES)) return false;
        g->corners[c] = (int32_t)along;
    }
    return true;
}

/* The grid's corners around a point, and their trilinear weights. */
static void corners_of(const grid *g, const double x[3], size_t corner[CORNERS], double weight[CORNERS])
{
    int32_t at[3];
    double t[3];
    for (int c = 0; c < 3; c++) {
        double place = (x[c] - g->low[c]) / g->cell;
        at[c] = (int32_t)fmin(fmax(floor(place), 0), g->corners[c] - 2);
        t[c] = fmin(fmax(place - at[c], 0), 1);
    }
    for (int k = 0; k < CORNERS; k++) {
        size_t where = 0;
        weight[k] = 1;
        for (int c = 2; c >= 0; c--) {
            int up = (k >> c) & 1;
            where = where * (size_t)g->corners[c] + (size_t)(at[c] + up);
            weight[k] *= up ? t[c] : 1 - t[c];
        }
        corner[k] = where;
    }
}

/* Numbers the corners that nodes reach, in the order in which the nodes meet them. */
static int32_t number(grid *g, const spl_coarse_input *in, int32_t nodes)
{
    size_t cubes = (size_t)g->corners[0] * (size_t)g->corners[1] * (size_t)g->corners[2], corner[CORNERS];
    double weight[CORNERS];
    int32_t count = 0;
    for (size_t i = 0; i < cubes; i++) g->number[i] = -1;
    for (int32_t i = 0; i < nodes; i++) {
        corners_of(g, in->position + 3 * (size_t)i, corner, weight);
        for (int k = 0; k < CORNERS; k++)
            if (weight[k] >= LEAST_WEIGHT && g->number[corner[k]] < 0) g->number[corner[k]] = count++;
    }
    return count;
}

/* The finest grid of at least the wanted cell whose functions are few enough. */
static supple_result make_grid(spl_coarse *c, const spl_coarse_input *in, grid *g, supple_error *error)
{
    static const double GROW = 1.1;
    double high[3];
    measure(in, c->nodes, g->low, high);
    g->number = spl_new(&c->allocator, MOST_CUBES, sizeof *g->number);
    if (!g->number) return spl_fail_memory(error, "a coarse grid");
    double longest = fmax(fmax(high[0] - g->low[0], high[1] - g->low[1]), high[2] - g->low[2]);
    g->cell = in->cell;
    if (!isfinite(longest)) return spl_fail(error, SUPPLE_ERROR_SOLVE, "the flesh's places are not finite");
    while (!lay(g, high) || (c->count = number(g, in, c->nodes)) > in->most) {
        g->cell *= GROW;
    }
    return SUPPLE_OK;
}

/* ---- P ---- */

static supple_result make_weights(spl_coarse *c, const spl_coarse_input *in, const grid *g, supple_error *error)
{
    const supple_allocator *a = &c->allocator;
    size_t nodes = (size_t)c->nodes, corner[CORNERS], total = 0;
    double weight[CORNERS];
    c->function = spl_new(a, CORNERS * nodes, sizeof *c->function);
    c->weight = spl_new(a, CORNERS * nodes, sizeof *c->weight);
    c->start = spl_new(a, (size_t)c->count + 1, sizeof *c->start);
    c->turned = spl_new(a, 4 * nodes, sizeof *c->turned);
    c->value = spl_new(a, 3 * (size_t)c->count, sizeof *c->value);
    if (!c->function || !c->weight || !c->start || !c->turned || !c->value)
        return spl_fail_memory(error, "a coarse grid");
    for (size_t i = 0; i < nodes; i++) {
        corners_of(g, in->position + 3 * i, corner, weight);
        for (size_t k = 0; k < CORNERS; k++) {
            if (weight[k] < LEAST_WEIGHT) continue;
            c->function[CORNERS * i + k] = g->number[corner[k]];
            c->weight[CORNERS * i + k] = (float)weight[k];
            c->start[g->number[corner[k]] + 1]++;
            total++;
        }
    }
    for (size_t f = 0; f < (size_t)c->count; f++) c->start[f + 1] += c->start[f];
    c->reached = spl_new(a, total, sizeof *c->reached);
    c->share = spl_new(a, total, sizeof *c->share);
    if (!c->reached || !c->share) return spl_fail_memory(error, "a coarse grid");
    for (size_t i = nodes; i-- > 0;) /* from behind, so that start ends where it began and nodes rise */
        for (size_t k = CORNERS; k-- > 0;) {
            if (c->weight[CORNERS * i + k] <= 0) continue;
            size_t at = --c->start[c->function[CORNERS * i + k] + 1];
            c->reached[at] = (int32_t)i;
            c->share[at] = c->weight[CORNERS * i + k];
        }
    memmove(c->start, c->start + 1, (size_t)c->count * sizeof *c->start);
    c->start[c->count] = total;
    return SUPPLE_OK;
}

/* ---- P^T A P ---- */

/* The column of one function: A P there (9 a node that it or a neighbour reaches), and P^T of that. */
typedef struct column {
    const spl_coarse *c;
    const spl_matrix3 *matrix;
    double *product; /* 9 a node */
    int32_t *node;   /* nodes whose product is not 0, and how many */
    int32_t nodes;
    bool *touched; /* by node */
    double *sum;   /* 9 a function */
    int32_t *function, functions;
    bool *met; /* by function */
} column;

static void multiply_column(column *k, size_t f)
{
    const spl_rows *r = &k->matrix->rows;
    for (size_t q = k->c->start[f]; q < k->c->start[f + 1]; q++) {
        size_t j = (size_t)k->c->reached[q];
        double share = (double)k->c->share[q];
        for (size_t at = r->start[j]; at < r->start[j + 1]; at++) {
            size_t i = (size_t)r->column[at];
            const double *B = k->matrix->value + 9 * at; /* A_ji: its transpose is A_ij */
            if (!k->touched[i]) k->node[k->nodes++] = (int32_t)i;
            k->touched[i] = true;
            for (size_t e = 0; e < 9; e++) k->product[9 * i + e] += share * B[e / 3 + 3 * (e % 3)];
        }
    }
}

/* Only functions from f on: the lower triangle. */
static void project_column(column *k, size_t f, bool numbers)
{
    const spl_coarse *c = k->c;
    for (int32_t n = 0; n < k->nodes; n++) {
        size_t i = (size_t)k->node[n];
        for (size_t q = CORNERS * i; q < CORNERS * (i + 1); q++) {
            size_t g = (size_t)c->function[q];
            if (c->weight[q] <= 0 || g < f) continue;
            if (!k->met[g]) k->function[k->functions++] = (int32_t)g;
            k->met[g] = true;
            for (size_t e = 0; numbers && e < 9; e++) k->sum[9 * g + e] += (double)c->weight[q] * k->product[9 * i + e];
        }
    }
}

static void clear_column(column *k)
{
    for (int32_t n = 0; n < k->nodes; n++) {
        k->touched[k->node[n]] = false;
        memset(k->product + 9 * (size_t)k->node[n], 0, 9 * sizeof *k->product);
    }
    for (int32_t n = 0; n < k->functions; n++) {
        k->met[k->function[n]] = false;
        memset(k->sum + 9 * (size_t)k->function[n], 0, 9 * sizeof *k->sum);
    }
    k->nodes = k->functions = 0;
}

/* The pairs of functions that are coupled, into a pattern. */
static supple_result find_pattern(spl_coarse *c, column *k, spl_pattern *out, supple_error *error)
{
    size_t room = 0, count = 0;
    int32_t *pair = NULL;
    supple_result result = SUPPLE_OK;
    for (size_t f = 0; f < (size_t)c->count && result == SUPPLE_OK; f++) {
        multiply_column(k, f);
        project_column(k, f, false);
        if (count + (size_t)k->functions > room) {
            room = 2 * room + (size_t)k->functions + 1024;
            int32_t *more = spl_resize(&c->allocator, pair, 2 * room, sizeof *pair);
            if (!more) result = spl_fail_memory(error, "a coarse grid");
            pair = more ? more : pair;
        }
        for (int32_t n = 0; n < k->functions && result == SUPPLE_OK; n++) {
            pair[2 * count] = k->function[n];
            pair[2 * count++ + 1] = (int32_t)f;
        }
        clear_column(k);
    }
    if (result == SUPPLE_OK) result = spl_pattern_from_pairs(c->count, 3, pair, count, &c->allocator, out, error);
    spl_free(&c->allocator, pair);
    return result;
}

static void fill(const spl_coarse *c, column *k, const spl_pattern *p, double *value)
{
    for (size_t f = 0; f < (size_t)c->count; f++) {
        multiply_column(k, f);
        project_column(k, f, true);
        for (size_t at = p->start[f]; at < p->start[f + 1]; at++)
            memcpy(value + 9 * at, k->sum + 9 * (size_t)p->row[at], 9 * sizeof *value);
        for (size_t e = 0; e < 9; e += 4) value[9 * p->start[f] + e] *= 1 + LIFT;
        clear_column(k);
    }
}

static supple_result factorise(spl_coarse *c, const spl_coarse_input *in, column *k, supple_error *error)
{
    spl_pattern pattern;
    spl_factor_options options = {.single = true, .plain = in->plain};
    supple_result result = find_pattern(c, k, &pattern, error);
    if (result != SUPPLE_OK) return result;
    double *value = spl_new(&c->allocator, spl_pattern_values(&pattern), sizeof *value);
    if (!value) result = spl_fail_memory(error, "a coarse grid");
    if (result == SUPPLE_OK) fill(c, k, &pattern, value);
    if (result == SUPPLE_OK) result = spl_factor_create(&pattern, &options, &c->allocator, c->pool, &c->factor, error);
    if (result == SUPPLE_OK) result = spl_factor_factorise(c->factor, value, error);
    spl_free(&c->allocator, value);
    spl_pattern_release(&pattern, &c->allocator);
    return result;
}

static supple_result project(spl_coarse *c, const spl_coarse_input *in, supple_error *error)
{
    const supple_allocator *a = &c->allocator;
    size_t nodes = (size_t)c->nodes, count = (size_t)c->count;
    column k = {.c = c,
                .matrix = in->matrix,
                .product = spl_new(a, nodes, 9 * sizeof *k.product),
                .node = spl_new(a, nodes, sizeof *k.node),
                .touched = spl_new(a, nodes, sizeof *k.touched),
                .sum = spl_new(a, count, 9 * sizeof *k.sum),
                .function = spl_new(a, count, sizeof *k.function),
                .met = spl_new(a, count, sizeof *k.met)};
    bool ok = k.product && k.node && k.touched && k.sum && k.function && k.met;
    supple_result result = ok ? factorise(c, in, &k, error) : spl_fail_memory(error, "a coarse grid");
    spl_free(a, k.product);
    spl_free(a, k.node);
    spl_free(a, k.touched);
    spl_free(a, k.sum);
    spl_free(a, k.function);
    spl_free(a, k.met);
    return result;
}

/* ---- creation ---- */

supple_result spl_coarse_create(const spl_coarse_input *in, const supple_allocator *a, spl_pool *pool, spl_coarse **out,
                                supple_error *error)
{
    *out = NULL;
    spl_coarse *c = spl_new(a, 1, sizeof *c);
    if (!c) return spl_fail_memory(error, "a coarse grid");
    c->allocator = *a;
    c->pool = pool;
    c->nodes = in->matrix->rows.n;
    grid g = {0};
    supple_result result = make_grid(c, in, &g, error);
    if (result == SUPPLE_OK) result = make_weights(c, in, &g, error);
    spl_free(a, g.number);
    if (result == SUPPLE_OK) result = project(c, in, error);
    if (result == SUPPLE_OK) *out = c;
    if (result != SUPPLE_OK) spl_coarse_destroy(c);
    return result;
}

void spl_coarse_destroy(spl_coarse *c)
{
    if (!c) return;
    const supple_allocator a = c->allocator;
    spl_factor_destroy(c->factor);
    spl_free(&a, c->function);
    spl_free(&a, c->weight);
    spl_free(&a, c->start);
    spl_free(&a, c->reached);
    spl_free(&a, c->share);
    spl_free(&a, c->turned);
    spl_free(&a, c->value);
    spl_free(&a, c);
}

/* ---- application ---- */

typedef struct add_loop {
    spl_coarse *c;
    const double *turn, *x;
    double *y;
} add_loop;

static void turn_range(void *context, size_t begin, size_t end)
{
    const add_loop *l = context;
    for (size_t i = begin; i < end; i++) {
        const double *R = l->turn ? l->turn + 9 * i : NULL, *x = l->x + 3 * i;
        float *to = l->c->turned + 4 * i;
        for (size_t c = 0; c < 3; c++)
            to[c] = (float)(R ? R[3 * c] * x[0] + R[3 * c + 1] * x[1] + R[3 * c + 2] * x[2] : x[c]);
    }
}

static void restrict_range(void *context, size_t begin, size_t end)
{
    const spl_coarse *c = ((const add_loop *)context)->c;
    for (size_t f = begin; f < end; f++) {
        float sum[4] = {0};
        for (size_t q = c->start[f]; q < c->start[f + 1]; q++) {
            const float *x = c->turned + 4 * (size_t)c->reached[q];
            for (int k = 0; k < 4; k++) sum[k] += c->share[q] * x[k];
        }
        for (size_t k = 0; k < 3; k++) c->value[3 * f + k] = sum[k];
    }
}

static void prolong_range(void *context, size_t begin, size_t end)
{
    const add_loop *l = context;
    for (size_t i = begin; i < end; i++) {
        const float *weight = l->c->weight + CORNERS * i;
        const int32_t *function = l->c->function + CORNERS * i;
        const double *R = l->turn ? l->turn + 9 * i : NULL;
        float s[3] = {0};
        for (size_t q = 0; q < CORNERS; q++)
            for (size_t k = 0; k < 3; k++) s[k] += weight[q] * l->c->value[3 * (size_t)function[q] + k];
        for (size_t k = 0; k < 3; k++)
            l->y[3 * i + k] +=
                R ? R[k] * (double)s[0] + R[3 + k] * (double)s[1] + R[6 + k] * (double)s[2] : (double)s[k];
    }
}

void spl_coarse_add(spl_coarse *c, const double *turn, const double *x, double *y)
{
    add_loop l = {c, turn, x, y};
    spl_parallel_for(c->pool, (size_t)c->nodes, 4096, turn_range, &l);
    spl_parallel_for(c->pool, (size_t)c->count, 256, restrict_range, &l);
    if (spl_factor_solve_float(c->factor, c->value, 1, NULL) != SUPPLE_OK) return;
    spl_parallel_for(c->pool, (size_t)c->nodes, 2048, prolong_range, &l);
}

int32_t spl_coarse_functions(const spl_coarse *c)
{
    return c->count;
}

size_t spl_coarse_bytes(const spl_coarse *c)
{
    size_t weights = 2 * c->start[c->count] * (sizeof *c->share + sizeof *c->reached);
    return weights + 2 * spl_factor_get_stats(c->factor).bytes;
}
