#include "methods/steklov/zone.h"

#include "core/error.h"

#include <string.h>

/* Memory for the factor: for each node that may be in contact, and in any case. */
enum { NODE_BYTES = 6000, BASE_BYTES = 1 << 20 };

/* ---- memory ---- */

static void *bump_allocate(void *user, size_t size)
{
    return spl_arena_take(user, size, 1);
}

static void *bump_reallocate(void *user, void *block, size_t size)
{
    (void)user;
    (void)block;
    (void)size;
    return NULL; /* nothing in a factor grows */
}

static void bump_release(void *user, void *block)
{
    (void)user;
    (void)block;
}

supple_result spl_zone_create(const spl_exrotated *system, const spl_springs *springs, spl_zone *out,
                              supple_error *error)
{
    const supple_allocator *a = &system->allocator;
    *out = (spl_zone){.system = system, .springs = springs};
    size_t n = springs->contacts ? (size_t)system->order.count : 0;
    size_t points = springs->contacts ? (size_t)spl_contacts_capacity(springs->contacts) / 2 : 0;
    out->node = spl_new(a, n, sizeof *out->node);
    out->place = spl_new(a, n, sizeof *out->place);
    out->side = spl_new(a, n, 3 * sizeof *out->side);
    for (size_t i = 0; out->place && i < n; i++) out->place[i] = -1;
    bool ok = out->node && out->place && out->side && spl_arena_init(&out->arena, a, points * NODE_BYTES + BASE_BYTES);
    if (ok) return SUPPLE_OK;
    spl_zone_release(out);
    return spl_fail_memory(error, "the contacts' factor");
}

void spl_zone_release(spl_zone *z)
{
    if (!z->system) return;
    const supple_allocator *a = &z->system->allocator;
    spl_free(a, z->node);
    spl_free(a, z->place);
    spl_free(a, z->side);
    spl_arena_release(&z->arena);
    *z = (spl_zone){0};
}

/* ---- the pattern ---- */

/* The free nodes that a contact acts on, and their weights: 1, and -b at corners. */
static int nodes_of(const spl_zone *z, int32_t vertex, const int32_t corner[3], const double bary[3], int32_t out[4],
                    double weight[4])
{
    const int32_t *node = z->system->order.node;
    int count = 1;
    out[0] = node[vertex];
    weight[0] = 1;
    for (int q = 0; q < 3 && corner[0] >= 0; q++) {
        if (node[corner[q]] < 0) continue;
        weight[count] = -bary[q];
        out[count++] = node[corner[q]];
    }
    return count;
}

static int spring_nodes(const spl_zone *z, const spl_contact_spring *p, int32_t out[4], double weight[4])
{
    return nodes_of(z, p->vertex, p->corner, p->bary, out, weight);
}

/* Contacts are those that are known, active or not: so that the pattern stays while they come and go. A frozen set may
 * have springs alone. */
static int32_t contact_count(const spl_zone *z)
{
    return z->springs->known_count > 0 ? z->springs->known_count : z->springs->count;
}

static int contact_nodes(const spl_zone *z, int32_t i, int32_t out[4])
{
    double weight[4];
    if (z->springs->known_count == 0) return spring_nodes(z, &z->springs->list[i], out, weight);
    const spl_contact *c = &z->springs->known[i];
    return nodes_of(z, c->vertex, c->corner, c->bary, out, weight);
}

static void choose_nodes(spl_zone *z)
{
    int32_t on[4], n = z->system->order.count;
    for (int32_t k = 0; k < z->count; k++) z->place[z->node[k]] = -1;
    for (int32_t i = 0; i < contact_count(z); i++)
        for (int q = contact_nodes(z, i, on) - 1; q >= 0; q--) z->place[on[q]] = 0;
    z->count = 0;
    for (int32_t i = 0; i < n; i++) {
        if (z->place[i] < 0) continue;
        z->place[i] = z->count;
        z->node[z->count++] = i;
    }
}

/* Pairs of the zone's nodes that the matrix or a contact couples, the higher first. */
static size_t list_pairs(const spl_zone *z, int32_t *pair)
{
    const spl_rows *r = &z->system->matrix.rows;
    size_t count = 0;
    int32_t on[4];
    for (int32_t k = 0; k < z->count; k++)
        for (size_t q = r->start[z->node[k]]; q < r->start[z->node[k] + 1]; q++) {
            int32_t other = z->place[r->column[q]];
            if (other < 0 || other >= k) continue;
            if (pair) pair[2 * count] = k, pair[2 * count + 1] = other;
            count++;
        }
    for (int32_t i = 0; i < contact_count(z); i++) {
        int corners = contact_nodes(z, i, on);
        for (int p = 0; p < corners; p++)
            for (int q = 0; q < p; q++) {
                if (pair) pair[2 * count] = z->place[on[p]], pair[2 * count + 1] = z->place[on[q]];
                count++;
            }
    }
    return count;
}

static bool make_pattern(spl_zone *z)
{
    choose_nodes(z);
    spl_arena_rewind(&z->arena, 0);
    z->factor = NULL;
    size_t count = list_pairs(z, NULL);
    int32_t *pair = spl_arena_take(&z->arena, count, 2 * sizeof *pair);
    if (!pair) return false;
    list_pairs(z, pair);
    spl_factor_options o = {.plain = z->system->matrix.plain};
    if (spl_pattern_from_pairs(z->count, 3, pair, count, &z->bump, &z->pattern, NULL) != SUPPLE_OK) return false;
    z->value = spl_arena_take(&z->arena, spl_pattern_values(&z->pattern), sizeof *z->value);
    if (!z->value) return false;
    /* On one thread: the memory that it takes, and so whether it fits, must not depend on their number. */
    return spl_factor_create(&z->pattern, &o, &z->bump, NULL, &z->factor, NULL) == SUPPLE_OK;
}

/* ---- the numbers ---- */

static void add_matrix(spl_zone *z)
{
    const spl_matrix3 *m = &z->system->matrix;
    memset(z->value, 0, spl_pattern_values(&z->pattern) * sizeof *z->value);
    for (int32_t k = 0; k < z->count; k++)
        for (size_t q = m->rows.start[z->node[k]]; q < m->rows.start[z->node[k] + 1]; q++) {
            int32_t other = z->place[m->rows.column[q]];
            if (other < 0 || other > k) continue;
            memcpy(z->value + 9 * spl_pattern_find(&z->pattern, k, other), m->value + 9 * q, 9 * sizeof *z->value);
        }
}

/* k w_a w_b (n n^T, or I) between all nodes of a spring, whose weights w are 1 and -b. */
static void add_spring(spl_zone *z, const spl_contact_spring *p)
{
    int32_t on[4];
    double weight[4], n[3] = {p->normal.x, p->normal.y, p->normal.z};
    int corners = spring_nodes(z, p, on, weight);
    for (int a = 0; a < corners; a++)
        for (int b = 0; b < corners; b++) {
            int32_t i = z->place[on[a]], j = z->place[on[b]];
            if (i < j) continue;
            double k = p->stiffness * weight[a] * weight[b], *B = z->value + 9 * spl_pattern_find(&z->pattern, i, j);
            for (int c = 0; c < 9; c++) B[c] += k * (p->along ? n[c % 3] * n[c / 3] : c % 4 == 0);
        }
}

static uint64_t hash_of(const spl_zone *z)
{
    uint64_t h = 0x9e3779b97f4a7c15U;
    int32_t on[4];
    for (int32_t i = 0; i < contact_count(z); i++)
        for (int q = contact_nodes(z, i, on) - 1; q >= 0; q--) {
            h = (h ^ (uint64_t)(uint32_t)on[q]) * 0xff51afd7ed558ccdU;
            h ^= h >> 32;
        }
    return h;
}

/* Springs of a frozen set may be of contacts that are not known any more. */
static bool holds_springs(const spl_zone *z)
{
    int32_t on[4];
    double weight[4];
    for (int32_t i = 0; i < z->springs->count; i++)
        for (int q = spring_nodes(z, &z->springs->list[i], on, weight) - 1; q >= 0; q--)
            if (z->place[on[q]] < 0) return false;
    return true;
}

void spl_zone_prepare(spl_zone *z)
{
    z->ready = false;
    if (z->springs->count == 0) return;
    uint64_t h = hash_of(z);
    z->bump = (supple_allocator){bump_allocate, bump_reallocate, bump_release, &z->arena};
    if (!z->factor || h != z->contacts) {
        z->contacts = h;
        if (!make_pattern(z)) z->factor = NULL;
    }
    if (!z->factor || !holds_springs(z)) return;
    add_matrix(z);
    for (int32_t i = 0; i < z->springs->count; i++) add_spring(z, &z->springs->list[i]);
    z->ready = spl_factor_factorise(z->factor, z->value, NULL) == SUPPLE_OK;
}

/* ---- what it does ---- */

static void apply(spl_zone *z, double *x, double sign)
{
    if (spl_factor_solve(z->factor, z->side, 1, NULL) != SUPPLE_OK) return;
    for (int32_t k = 0; k < z->count; k++)
        for (size_t c = 0; c < 3; c++) x[3 * (size_t)z->node[k] + c] += sign * z->side[3 * (size_t)k + c];
}

void spl_zone_solve(spl_zone *z, const double *r, double *x)
{
    for (int32_t k = 0; k < z->count; k++) memcpy(z->side + 3 * (size_t)k, r + 3 * (size_t)z->node[k], 3 * sizeof *r);
    apply(z, x, 1);
}

void spl_zone_multiply(const spl_zone *z, const double *x, double *y)
{
    const spl_matrix3 *m = &z->system->matrix;
    for (int32_t k = 0; k < z->count; k++) {
        size_t i = (size_t)z->node[k];
        const double *v = x + 3 * i;
        for (size_t q = m->rows.start[i]; q < m->rows.start[i + 1]; q++) { /* column i is row i, transposed */
            const double *B = m->value + 9 * q;
            double *to = y + 3 * (size_t)m->rows.column[q];
            for (size_t c = 0; c < 3; c++) to[c] += B[3 * c] * v[0] + B[3 * c + 1] * v[1] + B[3 * c + 2] * v[2];
        }
    }
}

typedef struct row_loop {
    spl_zone *z;
    const double *x;
} row_loop;

static void multiply_rows(void *context, size_t begin, size_t end)
{
    const row_loop *l = context;
    const spl_matrix3 *m = &l->z->system->matrix;
    for (size_t k = begin; k < end; k++) {
        size_t i = (size_t)l->z->node[k];
        double y[3] = {0};
        for (size_t q = m->rows.start[i]; q < m->rows.start[i + 1]; q++) {
            const double *B = m->value + 9 * q, *x = l->x + 3 * (size_t)m->rows.column[q];
            for (size_t c = 0; c < 3; c++) y[c] += B[c] * x[0] + B[3 + c] * x[1] + B[6 + c] * x[2];
        }
        memcpy(l->z->side + 3 * k, y, sizeof y);
    }
}

static spl_vec3 at(const double *x, int32_t node)
{
    return spl_v3(x[3 * (size_t)node], x[3 * (size_t)node + 1], x[3 * (size_t)node + 2]);
}

/* side += (springs) x */
static void multiply_springs(spl_zone *z, const double *x)
{
    const spl_springs *s = z->springs;
    for (int32_t i = 0; i < s->count; i++) {
        const spl_contact_spring *p = &s->list[i];
        int32_t on[4];
        double weight[4];
        int corners = spring_nodes(z, p, on, weight);
        spl_vec3 d = spl_v3(0, 0, 0);
        for (int q = 0; q < corners; q++) d = spl_madd(d, at(x, on[q]), weight[q]);
        if (p->along) d = spl_scale(p->normal, spl_dot(d, p->normal));
        for (int q = 0; q < corners; q++) {
            double *y = z->side + 3 * (size_t)z->place[on[q]], f = p->stiffness * weight[q];
            y[0] += f * d.x;
            y[1] += f * d.y;
            y[2] += f * d.z;
        }
    }
}

void spl_zone_project(spl_zone *z, double *x)
{
    row_loop l = {z, x};
    spl_parallel_for(z->system->pool, (size_t)z->count, 256, multiply_rows, &l);
    multiply_springs(z, x);
    apply(z, x, -1);
}
