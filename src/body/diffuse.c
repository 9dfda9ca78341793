#include "body/diffuse.h"

#include "core/error.h"
#include "core/memory.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"

#include <math.h>
#include <string.h>

enum { BATCH = 8 };

/* ---- the system ---- */

typedef struct work {
    const spl_diffusion *in;
    const supple_allocator *a;
    int32_t *unknown; /* by vertex: its row, or -1 if fixed */
    int32_t unknown_count;
    double *mass;    /* lumped, by vertex; times the reaction */
    double *element; /* 10 a tet: W g_i . g_j, the reaction on the diagonal */
    double *value, *side;
    spl_assembly assembly;
    spl_factor *factor;
} work;

static int pair_of(int i, int j)
{
    return i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

static void set_elements(work *w)
{
    const spl_elements *e = w->in->elements;
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (int i = 0; i < 4; i++) {
            int32_t v = e->tet[4 * k + (size_t)i];
            double reaction = w->in->reaction ? 0.25 * e->volume[k] * w->in->reaction[v] : 0;
            w->mass[v] += reaction;
            for (int j = 0; j <= i; j++) {
                const double *gi = e->gradient + 12 * k + 3 * i, *gj = e->gradient + 12 * k + 3 * j;
                double spread = e->volume[k] * (gi[0] * gj[0] + gi[1] * gj[1] + gi[2] * gj[2]);
                w->element[10 * k + (size_t)pair_of(i, j)] = spread + (i == j ? reaction : 0);
            }
        }
}

static supple_result prepare(work *w, spl_pool *pool, supple_error *error)
{
    const spl_elements *e = w->in->elements;
    size_t n = (size_t)e->vertex_count;
    w->unknown = spl_new(w->a, n, sizeof *w->unknown);
    w->mass = spl_new(w->a, n, sizeof *w->mass);
    w->element = spl_new(w->a, (size_t)e->count, 10 * sizeof *w->element);
    if (!w->unknown || !w->mass || !w->element) return spl_fail_memory(error, "the weights");
    for (size_t v = 0; v < n; v++) w->unknown[v] = w->in->fixed[v] ? -1 : w->unknown_count++;
    if (w->unknown_count == 0) return SUPPLE_OK;
    supple_result result = spl_assembly_create(e->tet, (size_t)e->count, 4, e->vertex_count, w->unknown,
                                               w->unknown_count, 1, w->a, &w->assembly, error);
    if (result != SUPPLE_OK) return result;
    w->value = spl_new(w->a, spl_pattern_values(&w->assembly.pattern), sizeof *w->value);
    w->side = spl_new(w->a, (size_t)w->unknown_count, BATCH * sizeof *w->side);
    if (!w->value || !w->side) return spl_fail_memory(error, "the weights");
    set_elements(w);
    spl_assembly_gather(&w->assembly, w->element, w->value, pool);
    spl_factor_options options = {.backend = w->in->backend};
    result = spl_factor_create(&w->assembly.pattern, &options, w->a, pool, &w->factor, error);
    return result == SUPPLE_OK ? spl_factor_factorise(w->factor, w->value, error) : result;
}

static void release(work *w)
{
    spl_factor_destroy(w->factor);
    spl_assembly_release(&w->assembly, w->a);
    spl_free(w->a, w->unknown);
    spl_free(w->a, w->mass);
    spl_free(w->a, w->element);
    spl_free(w->a, w->value);
    spl_free(w->a, w->side);
}

/* side = M r p - L_free,fixed w_fixed for the bones from `first` on. */
static void set_side(work *w, const spl_weight_table *t, int32_t first, int count)
{
    const spl_elements *e = w->in->elements;
    size_t n = (size_t)t->vertex_count;
    memset(w->side, 0, (size_t)w->unknown_count * BATCH * sizeof *w->side);
    for (size_t k = 0; k < (size_t)e->count; k++)
        for (int i = 0; i < 4; i++) {
            int32_t row = w->unknown[e->tet[4 * k + (size_t)i]];
            for (int j = 0; row >= 0 && j < 4; j++) {
                size_t other = (size_t)e->tet[4 * k + (size_t)j];
                if (w->unknown[other] >= 0) continue;
                double entry = w->element[10 * k + (size_t)pair_of(i, j)];
                for (int c = 0; c < count; c++)
                    w->side[(size_t)row * BATCH + (size_t)c] -= entry * t->value[(size_t)(first + c) * n + other];
            }
        }
    for (size_t v = 0; w->in->source && v < n; v++) {
        int32_t c = w->in->source[v] - first;
        if (w->unknown[v] >= 0 && c >= 0 && c < count) w->side[(size_t)w->unknown[v] * BATCH + (size_t)c] += w->mass[v];
    }
}

supple_result spl_diffuse(const spl_diffusion *d, spl_pool *pool, spl_weight_table *t, supple_error *error)
{
    work w = {.in = d, .a = &t->allocator};
    size_t n = (size_t)t->vertex_count;
    supple_result result = prepare(&w, pool, error);
    for (int32_t b = 0; result == SUPPLE_OK && w.unknown_count && b < t->bone_count; b += BATCH) {
        int count = t->bone_count - b < BATCH ? t->bone_count - b : BATCH;
        set_side(&w, t, b, count);
        result = spl_factor_solve(w.factor, w.side, BATCH, error);
        for (size_t v = 0; result == SUPPLE_OK && v < n; v++)
            for (int c = 0; w.unknown[v] >= 0 && c < count; c++)
                t->value[(size_t)(b + c) * n + v] = fmax(w.side[(size_t)w.unknown[v] * BATCH + (size_t)c], 0);
    }
    release(&w);
    return result;
}

/* ---- the input's own ---- */

/* The first bone of each joint's node; -1 for nodes without. */
static void first_bones(const spl_body *body, int32_t *bone_of)
{
    for (int32_t n = 0; n < body->bones.node_count; n++) bone_of[n] = -1;
    for (int32_t b = body->bones.bone_count - 1; b >= 0; b--) bone_of[body->bones.bone[b].node] = b;
}

/* The skin's weights at a place, made to sum to 1; false where none of its joints has bones. */
static bool take_skin(const spl_body *body, const int32_t *bone_of, const spl_place *at, size_t vertex,
                      spl_weight_table *t)
{
    const spl_skin_weights *w = &body->weights;
    size_t n = (size_t)t->vertex_count;
    double sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 3; k++) {
            int32_t corner = body->surface.triangle[3 * (size_t)at->triangle + (size_t)k];
            for (int32_t i = w->first[corner]; i < w->first[corner + 1]; i++) {
                int32_t bone = w->node[i] >= 0 ? bone_of[w->node[i]] : -1;
                double weight = bone >= 0 ? at->bary[k] * w->weight[i] : 0;
                if (pass == 0)
                    sum += weight;
                else if (sum > 0 && weight > 0)
                    t->value[(size_t)bone * n + vertex] += weight / sum;
            }
        }
    return sum > 0;
}

static void fix_surface(const spl_body *body, const int32_t *bone_of, spl_weight_table *t, bool *fixed)
{
    const spl_tets *tets = &body->tets;
    for (size_t i = 0; i < 3 * (size_t)tets->surface_count; i++) {
        size_t v = (size_t)tets->surface[i];
        if (!fixed[v] && body->place[v].triangle >= 0) fixed[v] = take_skin(body, bone_of, &body->place[v], v, t);
    }
    for (int32_t v = 0; v < tets->vertex_count; v++) { /* pieces whose skin follows no bone hang on what holds them */
        if (body->bone[v] < 0 || fixed[v] || body->place[v].triangle < 0) continue;
        fixed[v] = take_skin(body, bone_of, &body->place[v], (size_t)v, t);
        if (!fixed[v]) t->value[(size_t)body->bone[v] * (size_t)t->vertex_count + (size_t)v] = 1;
        fixed[v] = true;
    }
}

supple_result spl_own_weights(const spl_body *body, const spl_elements *elements, const supple_solver_backend *backend,
                              spl_pool *pool, const supple_allocator *a, spl_weight_table *out, supple_error *error)
{
    supple_result result = spl_weight_table_create(body->tets.vertex_count, body->bones.bone_count, a, out, error);
    if (result != SUPPLE_OK) return result;
    bool *fixed = spl_new(a, (size_t)body->tets.vertex_count, sizeof *fixed);
    int32_t *bone_of = spl_new(a, (size_t)body->bones.node_count, sizeof *bone_of);
    if (fixed && bone_of) {
        first_bones(body, bone_of);
        fix_surface(body, bone_of, out, fixed);
        spl_diffusion d = {.elements = elements, .fixed = fixed, .backend = backend};
        result = spl_diffuse(&d, pool, out, error);
    } else
        result = spl_fail_memory(error, "the weights");
    spl_free(a, fixed);
    spl_free(a, bone_of);
    if (result != SUPPLE_OK) spl_weight_table_release(out);
    return result;
}
