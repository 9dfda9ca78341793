#include "statics/levels.h"

#include "core/error.h"
#include "core/memory.h"
#include "fem/coarse.h"
#include "math/svd3.h"
#include "sparse/ic3.h"

struct spl_levels {
    supple_allocator allocator;
    spl_pool *pool;
    const spl_elements *elements;
    const spl_stars *stars;
    const spl_node_order *order;
    spl_ic3 *fine;
    spl_coarse *coarse;
    double *turn; /* 9 a node */
};

/* ---- the rest shape's matrix ---- */

/* Without fill, factors of elasticity have pivots that are not positive. A stiffness of so much of the shear modulus
 * against turning away from the rest mends that and is little for what is smooth (docs/mixed.md, "Speed"). */
static const double SPIN = 0.6;

/* Of the mean diagonal: pieces that hang on an edge or on nothing swing freely. */
static const double LIFT = 1e-6;

static const double CELL = 4; /* of the coarse grid, mean edges */

enum { FUNCTIONS = 2000 };

/* At F = I, and s |skew F|^2, whose Hessian is s (1 - transposition). */
static void rest_hessian(const spl_statics_rest *rest, int32_t k, double spin, double H[81])
{
    const spl_law_input in = {
        .F = spl_mat3_identity(), .R = spl_mat3_identity(), .mu = rest->mu[k], .lambda = rest->lambda[k]};
    rest->law->hessian(&in, H);
    double s = spin * rest->mu[k];
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) {
            H[9 * (3 * c + r) + 3 * c + r] += s;
            H[9 * (3 * c + r) + 3 * r + c] -= s;
        }
}

static void assemble(const spl_levels_input *in, double spin, double *element, double *values, spl_matrix3 *out,
                     spl_pool *pool)
{
    const spl_elements *e = in->elements;
    for (int32_t k = 0; k < e->count; k++) {
        double H[81];
        rest_hessian(in->rest, k, spin, H);
        spl_element_stiffness(e, k, H, element + 90 * (size_t)k);
    }
    spl_assembly_gather(in->assembly, element, values, pool);
    const spl_pattern *p = &in->assembly->pattern;
    for (int32_t i = 0; i < in->rest->pin_count; i++) {
        int32_t node = in->order->node[in->rest->pin[i].vertex];
        for (size_t c = 0; c < 9 && node >= 0; c += 4) values[9 * p->start[node] + c] += in->rest->pin[i].stiffness;
    }
    for (int32_t i = 0; i < p->n; i++) {
        double *B = values + 9 * p->start[i], lift = LIFT * (B[0] + B[4] + B[8]) / 3;
        for (int c = 0; c < 9; c += 4) B[c] += lift;
    }
    spl_matrix3_fill(out, values, pool);
}

/* ---- creation ---- */

static double mean_edge(const spl_elements *e, const double *position)
{
    double sum = 0;
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < i; j++) {
                const double *p = position + 3 * (size_t)e->tet[4 * k + i],
                             *q = position + 3 * (size_t)e->tet[4 * k + j];
                double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
                sum += sqrt(x * x + y * y + z * z);
            }
    return sum / (6.0 * e->count);
}

static supple_result make_coarse(spl_levels *l, const spl_levels_input *in, const spl_matrix3 *matrix,
                                 supple_error *error)
{
    const double *from = in->rest->position;
    size_t nodes = (size_t)in->order->count;
    double *position = spl_new(&l->allocator, nodes, 3 * sizeof *position);
    if (!position) return spl_fail_memory(error, "a coarse level");
    for (size_t i = 0; i < 3 * nodes; i++) position[i] = from[3 * (size_t)in->order->vertex[i / 3] + i % 3];
    const spl_coarse_input coarse = {
        .matrix = matrix, .position = position, .cell = CELL * mean_edge(l->elements, from), .most = FUNCTIONS};
    supple_result result = spl_coarse_create(&coarse, &l->allocator, l->pool, &l->coarse, error);
    spl_free(&l->allocator, position);
    return result;
}

static supple_result make(spl_levels *l, const spl_levels_input *in, spl_matrix3 *matrix, supple_error *error)
{
    const supple_allocator *a = &l->allocator;
    const spl_ic3_options options = {.single = true, .cut = in->order->cut, .part_count = in->order->part_count};
    supple_result result = spl_matrix3_create(&in->assembly->pattern, a, matrix, error);
    if (result != SUPPLE_OK) return result;
    double *element = spl_new(a, (size_t)l->elements->count, 90 * sizeof *element);
    double *values = spl_new(a, spl_pattern_values(&in->assembly->pattern), sizeof *values);
    l->turn = spl_new(a, (size_t)in->order->count, 9 * sizeof *l->turn);
    if (!element || !values || !l->turn) result = spl_fail_memory(error, "a preconditioner");
    if (result == SUPPLE_OK) assemble(in, SPIN, element, values, matrix, l->pool);
    if (result == SUPPLE_OK)
        result = spl_ic3_create(&matrix->rows, in->order->count, &options, a, l->pool, &l->fine, error);
    if (result == SUPPLE_OK) result = spl_ic3_factorise(l->fine, matrix->value, NULL, NULL, error);
    if (result == SUPPLE_OK) assemble(in, 0, element, values, matrix, l->pool);
    if (result == SUPPLE_OK) result = make_coarse(l, in, matrix, error);
    spl_free(a, element);
    spl_free(a, values);
    return result;
}

supple_result spl_levels_create(const spl_levels_input *in, const supple_allocator *a, spl_pool *pool, spl_levels **out,
                                supple_error *error)
{
    *out = NULL;
    spl_levels *l = spl_new(a, 1, sizeof *l);
    if (!l) return spl_fail_memory(error, "a preconditioner");
    *l = (spl_levels){.allocator = *a, .pool = pool, .elements = in->elements, .stars = in->stars, .order = in->order};
    spl_matrix3 matrix = {0};
    supple_result result = make(l, in, &matrix, error);
    spl_matrix3_release(&matrix, a);
    if (result == SUPPLE_OK)
        *out = l;
    else
        spl_levels_destroy(l);
    return result;
}

void spl_levels_destroy(spl_levels *l)
{
    if (!l) return;
    const supple_allocator a = l->allocator;
    spl_ic3_destroy(l->fine);
    spl_coarse_destroy(l->coarse);
    spl_free(&a, l->turn);
    spl_free(&a, l);
}

/* ---- use ---- */

typedef struct turn_loop {
    spl_levels *l;
    const double *x;
} turn_loop;

/* The rotation of the mean deformation gradient around a node. */
static void turn_range(void *context, size_t begin, size_t end)
{
    const turn_loop *t = context;
    const spl_levels *l = t->l;
    for (size_t i = begin; i < end; i++) {
        size_t v = (size_t)l->order->vertex[i];
        spl_mat3 sum = {{0}}, R, S;
        for (size_t q = l->stars->start[v]; q < l->stars->start[v + 1]; q++) {
            int32_t tet = (int32_t)(l->stars->corner[q] / 4);
            spl_mat3 F = spl_element_F(l->elements, tet, t->x);
            for (int c = 0; c < 9; c++) sum.m[c] += l->elements->volume[tet] * F.m[c];
        }
        spl_polar3(&sum, &R, &S);
        for (size_t c = 0; c < 9; c++) l->turn[9 * i + c] = R.m[c];
    }
}

void spl_levels_turn(spl_levels *l, const double *x)
{
    turn_loop t = {l, x};
    spl_parallel_for(l->pool, (size_t)l->order->count, 256, turn_range, &t);
}

void spl_levels_apply(void *levels, const double *x, double *y, int32_t k)
{
    spl_levels *l = levels;
    (void)k;
    spl_ic3_solve(l->fine, l->turn, x, y);
    spl_coarse_add(l->coarse, l->turn, x, y);
}
