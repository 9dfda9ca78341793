/* Q_mm x = b by conjugate gradients.
 *
 * With L_mm the stiffness between the vertices m that move and M_mm their masses, L_mm M_mm^-1 L_mm is Q_mm but for
 * what goes over neighbours that do not move: the same energy with ends that may turn instead of clamped ones (a beam
 * on supports). Its inverse, L_mm^-1 M_mm L_mm^-1, costs two solves with a factor that has a third of the entries of
 * Q_mm's and a tenth of its work. Eigenvalues of the product are 1, but for those of the rim of m, which grow with the
 * number of vertices across: iterations to 1e-8 were 21 to 23 at 2,000 vertices. */
#include "body/bbw_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "sparse/factor.h"
#include "sparse/pcg.h"

#include <string.h>

enum { ITERATIONS = 300, SIDES = SPL_PCG_MAX_SIDES };

struct bbw_part {
    const bbw_system *s;
    const supple_solver_backend *backend;
    const supple_allocator *a;
    spl_pool *pool;
    int32_t sides;       /* at most, of a solve */
    int32_t count;       /* how many move */
    bool *moves;         /* by free vertex: those the factor is of */
    int32_t *number;     /* by vertex: its place among those that move, or -1 */
    int32_t *of;         /* by place: the free vertex */
    spl_pattern pattern; /* of L_mm; room for all of L */
    double *value;       /* L_mm */
    double *mass;        /* by place */
    /* Rows of L that reach m, of all vertices, with the columns in m alone. */
    int32_t row_count;
    size_t *start;
    int32_t *column;
    double *entry, *inverse_mass;
    double *b, *x; /* by place, k sides */
    spl_factor *factor;
    spl_pcg *pcg;
};

static bool allocate(bbw_part *p)
{
    size_t n = (size_t)p->s->n, half = p->s->whole.pattern.start[n], all = p->s->rows.start[n];
    p->moves = spl_new(p->a, n, sizeof *p->moves);
    p->number = spl_new(p->a, n, sizeof *p->number);
    p->of = spl_new(p->a, n, sizeof *p->of);
    p->pattern.start = spl_new(p->a, n + 1, sizeof *p->pattern.start);
    p->pattern.row = spl_new(p->a, half, sizeof *p->pattern.row);
    p->value = spl_new(p->a, half, sizeof *p->value);
    p->mass = spl_new(p->a, n, sizeof *p->mass);
    p->start = spl_new(p->a, n + 1, sizeof *p->start);
    p->column = spl_new(p->a, all, sizeof *p->column);
    p->entry = spl_new(p->a, all, sizeof *p->entry);
    p->inverse_mass = spl_new(p->a, n, sizeof *p->inverse_mass);
    return p->moves && p->number && p->of && p->pattern.start && p->pattern.row && p->value && p->mass && p->start &&
           p->column && p->entry && p->inverse_mass;
}

supple_result spl_bbw_part_create(const bbw_system *s, int32_t sides, const supple_solver_backend *backend,
                                  const supple_allocator *a, spl_pool *pool, bbw_part **out)
{
    bbw_part *p = *out = spl_new(a, 1, sizeof *p);
    if (!p) return SUPPLE_ERROR_MEMORY;
    *p = (bbw_part){.s = s, .sides = sides, .backend = backend, .a = a, .pool = pool};
    if (allocate(p)) return SUPPLE_OK;
    spl_bbw_part_destroy(p);
    *out = NULL;
    return SUPPLE_ERROR_MEMORY;
}

static void drop_solver(bbw_part *p)
{
    spl_factor_destroy(p->factor);
    spl_pcg_destroy(p->pcg);
    spl_free(p->a, p->b);
    spl_free(p->a, p->x);
    p->factor = NULL;
    p->pcg = NULL;
    p->b = p->x = NULL;
}

void spl_bbw_part_destroy(bbw_part *p)
{
    if (!p) return;
    const supple_allocator *a = p->a;
    drop_solver(p);
    spl_pattern_release(&p->pattern, a);
    void *rooms[] = {p->moves, p->number, p->of, p->value, p->mass, p->start, p->column, p->entry, p->inverse_mass};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) spl_free(a, rooms[i]);
    spl_free(a, p);
}

/* ---- which move ---- */

static void number_all(bbw_part *p, const bool *moves)
{
    const bbw_system *s = p->s;
    memcpy(p->moves, moves, (size_t)s->free_count * sizeof *moves);
    for (int32_t v = 0; v < s->n; v++) p->number[v] = -1;
    p->count = 0;
    for (int32_t i = 0; i < s->free_count; i++) {
        if (!moves[i]) continue;
        p->number[s->vertex[i]] = p->count;
        p->mass[p->count] = s->inverse_mass[s->vertex[i]] > 0 ? 1 / s->inverse_mass[s->vertex[i]] : 0;
        p->of[p->count++] = i;
    }
}

static void take_stiffness(bbw_part *p)
{
    const spl_rows *rows = &p->s->rows;
    size_t half = 0, all = 0;
    p->row_count = 0;
    p->pattern.n = p->count;
    p->pattern.block = 1;
    for (int32_t v = 0; v < p->s->n; v++) {
        int32_t j = p->number[v];
        size_t first = all;
        if (j >= 0) p->pattern.start[j] = half;
        for (size_t e = rows->start[v]; e < rows->start[v + 1]; e++) {
            int32_t i = p->number[rows->column[e]];
            if (i < 0) continue;
            p->column[all] = i;
            p->entry[all++] = p->s->stiffness[rows->entry[e]];
            if (j < 0 || i < j) continue;
            p->pattern.row[half] = i;
            p->value[half++] = p->s->stiffness[rows->entry[e]];
        }
        if (all == first) continue;
        p->start[p->row_count] = first;
        p->inverse_mass[p->row_count++] = p->s->inverse_mass[v];
    }
    p->start[p->row_count] = all;
    p->pattern.start[p->count] = half;
}

supple_result spl_bbw_part_set(bbw_part *p, const bool *moves)
{
    if (p->factor && !memcmp(p->moves, moves, (size_t)p->s->free_count * sizeof *moves)) return SUPPLE_OK;
    drop_solver(p);
    number_all(p, moves);
    if (p->count == 0) return SUPPLE_OK;
    take_stiffness(p);
    p->b = spl_new(p->a, (size_t)p->count, (size_t)p->sides * sizeof *p->b);
    p->x = spl_new(p->a, (size_t)p->count, (size_t)p->sides * sizeof *p->x);
    supple_result result = p->b && p->x ? SUPPLE_OK : SUPPLE_ERROR_MEMORY;
    if (result == SUPPLE_OK) result = spl_pcg_create((size_t)p->count, p->sides, p->a, p->pool, &p->pcg, NULL);
    spl_factor_options options = {.backend = p->backend};
    if (result == SUPPLE_OK) result = spl_factor_create(&p->pattern, &options, p->a, p->pool, &p->factor, NULL);
    if (result == SUPPLE_OK) result = spl_factor_factorise(p->factor, p->value, NULL);
    if (result != SUPPLE_OK) drop_solver(p);
    return result;
}

/* ---- solves ---- */

/* y = Q_mm x: a row of L after the other, out and back, in one pass over them. */
static void multiply(void *context, const double *x, double *y, int32_t k)
{
    const bbw_part *p = context;
    size_t sides = (size_t)k;
    memset(y, 0, (size_t)p->count * sides * sizeof *y);
    for (int32_t r = 0; r < p->row_count; r++) {
        double sum[SIDES] = {0};
        for (size_t e = p->start[r]; e < p->start[r + 1]; e++)
            for (size_t c = 0; c < sides; c++) sum[c] += p->entry[e] * x[(size_t)p->column[e] * sides + c];
        for (size_t c = 0; c < sides; c++) sum[c] *= p->inverse_mass[r];
        for (size_t e = p->start[r]; e < p->start[r + 1]; e++)
            for (size_t c = 0; c < sides; c++) y[(size_t)p->column[e] * sides + c] += p->entry[e] * sum[c];
    }
}

static void precondition(void *context, const double *x, double *y, int32_t k)
{
    bbw_part *p = context;
    size_t sides = (size_t)k;
    memcpy(y, x, (size_t)p->count * sides * sizeof *y);
    spl_factor_solve(p->factor, y, k, NULL);
    for (size_t i = 0; i < (size_t)p->count; i++)
        for (size_t c = 0; c < sides; c++) y[i * sides + c] *= p->mass[i];
    spl_factor_solve(p->factor, y, k, NULL);
}

int32_t spl_bbw_part_solve(bbw_part *p, const double *b, double *x, int32_t k, double tolerance)
{
    size_t sides = (size_t)k;
    memset(x, 0, (size_t)p->s->free_count * sides * sizeof *x);
    if (p->count == 0) return 0;
    for (size_t i = 0; i < (size_t)p->count; i++)
        for (size_t c = 0; c < sides; c++) p->b[i * sides + c] = b[(size_t)p->of[i] * sides + c];
    memset(p->x, 0, (size_t)p->count * sides * sizeof *x);
    spl_pcg_problem problem = {.multiply = multiply,
                               .multiply_context = p,
                               .precondition = precondition,
                               .precondition_context = p,
                               .tolerance = tolerance,
                               .max_iterations = ITERATIONS,
                               .from_zero = true,
                               .recurrence = true};
    spl_pcg_result r = spl_pcg_solve(p->pcg, &problem, p->b, p->x, k);
    for (size_t i = 0; i < (size_t)p->count; i++)
        for (size_t c = 0; c < sides; c++) x[(size_t)p->of[i] * sides + c] = p->x[i * sides + c];
    return r.iterations;
}
