#include "subspace/model.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/store.h"

#include <stdio.h>
#include <string.h>

enum { MODEL_VERSION = 3, DOMAIN_NUMBERS = 5, SCALARS = 3, CUBATURE_REALS = 16 };
static const char kind[] = "subspace";

static void release_domain(spl_model_domain *d, const supple_allocator *a)
{
    spl_free(a, d->vertex);
    spl_free(a, d->rest);
    spl_free(a, d->mass);
    spl_free(a, d->area);
    spl_free(a, d->basis);
    spl_free(a, d->cubature);
    spl_free(a, d->reach);
}

static void release_interface(spl_interface *f, const supple_allocator *a)
{
    spl_free(a, f->at_i);
    spl_free(a, f->at_j);
    spl_free(a, f->area);
}

void spl_model_release(spl_model *m)
{
    const supple_allocator *a = &m->allocator;
    if (!a->release) return;
    for (int32_t i = 0; m->domain && i < m->domain_count; i++) release_domain(&m->domain[i], a);
    for (int32_t i = 0; m->interface && i < m->interface_count; i++) release_interface(&m->interface[i], a);
    for (int32_t i = 0; m->recipe.rule && i < m->recipe.rule_count; i++)
        spl_free(a, (char *)(uintptr_t)m->recipe.rule[i].pattern);
    spl_free(a, m->recipe.rule);
    spl_free(a, m->domain);
    spl_free(a, m->interface);
    spl_rig_release(&m->rig, a);
    *m = (spl_model){0};
}

/* ---- writing ---- */

typedef struct totals {
    size_t vertices, numbers, ranks, cubature, ties;
} totals;

static totals count_all(const spl_model *m)
{
    totals t = {0};
    for (int32_t i = 0; i < m->domain_count; i++) {
        const spl_model_domain *d = &m->domain[i];
        t.vertices += (size_t)d->vertex_count;
        t.numbers += 3 * (size_t)d->vertex_count * (size_t)d->rank;
        t.ranks += (size_t)d->rank;
        t.cubature += (size_t)d->cubature_count;
    }
    for (int32_t i = 0; i < m->interface_count; i++) t.ties += (size_t)m->interface[i].count;
    return t;
}

typedef struct flat {
    int32_t *domain, *vertex, *tet, *corner, *interface, *at;
    double *error, *rest, *mass, *surface, *basis, *reach, *cubature, *area;
} flat;

static void free_flat(flat *f, const supple_allocator *a)
{
    void *all[] = {f->domain, f->vertex, f->tet,   f->corner, f->interface, f->at,   f->error,
                   f->rest,   f->mass,   f->basis, f->reach,  f->cubature,  f->area, f->surface};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) spl_free(a, all[i]);
}

static bool new_flat(flat *f, const spl_model *m, const totals *t, const supple_allocator *a)
{
    size_t d = (size_t)m->domain_count, n = (size_t)m->interface_count;
    f->domain = spl_new(a, d, DOMAIN_NUMBERS * sizeof *f->domain);
    f->error = spl_new(a, d, sizeof *f->error);
    f->vertex = spl_new(a, t->vertices, sizeof *f->vertex);
    f->rest = spl_new(a, t->vertices, 3 * sizeof *f->rest);
    f->mass = spl_new(a, t->vertices, sizeof *f->mass);
    f->surface = spl_new(a, t->vertices, sizeof *f->surface);
    f->basis = spl_new(a, t->numbers, sizeof *f->basis);
    f->reach = spl_new(a, t->ranks, sizeof *f->reach);
    f->tet = spl_new(a, t->cubature, sizeof *f->tet);
    f->corner = spl_new(a, t->cubature, 4 * sizeof *f->corner);
    f->cubature = spl_new(a, t->cubature, CUBATURE_REALS * sizeof *f->cubature);
    f->interface = spl_new(a, n, 3 * sizeof *f->interface);
    f->at = spl_new(a, t->ties, 2 * sizeof *f->at);
    f->area = spl_new(a, t->ties, sizeof *f->area);
    return f->domain && f->error && f->vertex && f->rest && f->mass && f->basis && f->reach && f->tet && f->corner &&
           f->cubature && f->interface && f->at && f->area && f->surface;
}

static void flatten_cubature(const spl_model_domain *d, flat *f, size_t at)
{
    for (int32_t k = 0; k < d->cubature_count; k++, at++) {
        const spl_cubature_tet *c = &d->cubature[k];
        double *real = f->cubature + CUBATURE_REALS * at;
        f->tet[at] = c->tet;
        memcpy(f->corner + 4 * at, c->corner, sizeof c->corner);
        real[0] = c->weight, real[1] = c->volume, real[2] = c->mu, real[3] = c->lambda;
        memcpy(real + 4, c->gradient, sizeof c->gradient);
    }
}

static void flatten(const spl_model *m, flat *f)
{
    totals at = {0};
    for (int32_t i = 0; i < m->domain_count; i++) {
        const spl_model_domain *d = &m->domain[i];
        size_t n = (size_t)d->vertex_count, r = (size_t)d->rank;
        int32_t head[DOMAIN_NUMBERS] = {d->bone, d->rank, d->pose_rank, d->vertex_count, d->cubature_count};
        memcpy(f->domain + DOMAIN_NUMBERS * i, head, sizeof head);
        f->error[i] = d->training_error;
        memcpy(f->vertex + at.vertices, d->vertex, n * sizeof *d->vertex);
        memcpy(f->rest + 3 * at.vertices, d->rest, 3 * n * sizeof *d->rest);
        memcpy(f->mass + at.vertices, d->mass, n * sizeof *d->mass);
        if (d->area) memcpy(f->surface + at.vertices, d->area, n * sizeof *d->area);
        memcpy(f->basis + at.numbers, d->basis, 3 * n * r * sizeof *d->basis);
        memcpy(f->reach + at.ranks, d->reach, r * sizeof *d->reach);
        flatten_cubature(d, f, at.cubature);
        at.vertices += n;
        at.numbers += 3 * n * r;
        at.ranks += r;
        at.cubature += (size_t)d->cubature_count;
    }
    for (int32_t i = 0; i < m->interface_count; i++) {
        const spl_interface *s = &m->interface[i];
        int32_t head[3] = {s->i, s->j, s->count};
        memcpy(f->interface + 3 * i, head, sizeof head);
        for (int32_t k = 0; k < s->count; k++, at.ties++) {
            f->at[2 * at.ties] = s->at_i[k];
            f->at[2 * at.ties + 1] = s->at_j[k];
            f->area[at.ties] = s->area[k];
        }
    }
}

static void add_recipe(spl_store_writer *w, const spl_body_recipe *r)
{
    int32_t numbers[4] = {r->kind, r->resolution, r->max_tets, r->grade};
    char name[40];
    spl_store_add(w, "recipe", SPL_STORE_I32, 1, 4, numbers, NULL);
    spl_store_add(w, "recipe.size", SPL_STORE_F64, 1, 1, &r->size_m, NULL);
    for (int32_t i = 0; i < r->rule_count; i++) {
        int32_t role = (int32_t)r->rule[i].role;
        snprintf(name, sizeof name, "rule/%d/pattern", (int)i);
        spl_store_add(w, name, SPL_STORE_U8, 1, strlen(r->rule[i].pattern), r->rule[i].pattern, NULL);
        snprintf(name, sizeof name, "rule/%d/role", (int)i);
        spl_store_add(w, name, SPL_STORE_I32, 1, 1, &role, NULL);
    }
}

static supple_result add_all(spl_store_writer *w, const spl_model *m, const flat *f, const totals *t,
                             supple_error *error)
{
    double scalars[SCALARS] = {m->edge, m->young, m->lowest};
    int32_t counts[4] = {m->vertex_count, m->tet_count, m->samples, m->recipe.rule_count};
    size_t d = (size_t)m->domain_count;
    spl_store_add(w, "law", SPL_STORE_U8, 1, strlen(m->law->name), m->law->name, NULL);
    spl_store_add(w, "counts", SPL_STORE_I32, 1, 4, counts, NULL);
    spl_store_add(w, "scalars", SPL_STORE_F64, 1, SCALARS, scalars, NULL);
    add_recipe(w, &m->recipe);
    spl_store_add(w, "domain", SPL_STORE_I32, DOMAIN_NUMBERS, d, f->domain, NULL);
    spl_store_add(w, "domain.error", SPL_STORE_F64, 1, d, f->error, NULL);
    spl_store_add(w, "vertex", SPL_STORE_I32, 1, t->vertices, f->vertex, NULL);
    spl_store_add(w, "rest", SPL_STORE_F64, 3, t->vertices, f->rest, NULL);
    spl_store_add(w, "mass", SPL_STORE_F64, 1, t->vertices, f->mass, NULL);
    spl_store_add(w, "surface", SPL_STORE_F64, 1, t->vertices, f->surface, NULL);
    spl_store_add(w, "basis", SPL_STORE_F64, 1, t->numbers, f->basis, NULL);
    spl_store_add(w, "reach", SPL_STORE_F64, 1, t->ranks, f->reach, NULL);
    spl_store_add(w, "cubature.tet", SPL_STORE_I32, 1, t->cubature, f->tet, NULL);
    spl_store_add(w, "cubature.corner", SPL_STORE_I32, 4, t->cubature, f->corner, NULL);
    spl_store_add(w, "cubature", SPL_STORE_F64, CUBATURE_REALS, t->cubature, f->cubature, NULL);
    spl_store_add(w, "interface", SPL_STORE_I32, 3, (size_t)m->interface_count, f->interface, NULL);
    spl_store_add(w, "interface.at", SPL_STORE_I32, 2, t->ties, f->at, NULL);
    spl_store_add(w, "interface.area", SPL_STORE_F64, 1, t->ties, f->area, NULL);
    return spl_rig_add(w, &m->rig, error);
}

supple_result spl_model_save(const spl_model *m, const char *path, const supple_config *config, supple_error *error)
{
    spl_store_id id = {kind, MODEL_VERSION, m->character};
    totals t = count_all(m);
    flat f = {0};
    spl_store_writer *w = NULL;
    supple_result result = new_flat(&f, m, &t, &m->allocator) ? SUPPLE_OK : spl_fail_memory(error, "the model's file");
    if (result == SUPPLE_OK) result = spl_store_create(path, &id, config, &w, error);
    if (result == SUPPLE_OK) {
        flatten(m, &f);
        result = add_all(w, m, &f, &t, error);
        if (result == SUPPLE_OK)
            result = spl_store_commit(w, error);
        else
            spl_store_discard(w);
    }
    free_flat(&f, &m->allocator);
    return result;
}

/* ---- reading ---- */

typedef struct reading {
    const spl_store_reader *r;
    supple_error *error;
    supple_result result;
} reading;

static const void *get(reading *g, const char *name, spl_store_type type, uint32_t width, size_t low, size_t high,
                       int64_t lowest, int64_t highest, size_t *count)
{
    const void *data = NULL;
    size_t n = 0;
    spl_store_want want = {name, type, width, low, high, lowest, highest, false};
    if (g->result == SUPPLE_OK) g->result = spl_store_get(g->r, &want, &data, &n, g->error);
    if (count) *count = n;
    return g->result == SUPPLE_OK ? data : NULL;
}

static bool bad(reading *g, const char *what)
{
    if (g->result == SUPPLE_OK) g->result = spl_fail(g->error, SUPPLE_ERROR_INPUT, "the model is damaged: %s", what);
    return false;
}

static void *copy(reading *g, const supple_allocator *a, const void *from, size_t count, size_t size)
{
    void *to = spl_new(a, count, size);
    if (!to && g->result == SUPPLE_OK) g->result = spl_fail_memory(g->error, "a model");
    if (to && count) memcpy(to, from, count * size);
    return to;
}

/* U^T M U = I: what the player's equations stand on. */
static bool is_orthonormal(const spl_model_domain *d)
{
    size_t r = (size_t)d->rank, n = 3 * (size_t)d->vertex_count;
    for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) sum += d->mass[k / 3] * d->basis[k * r + i] * d->basis[k * r + j];
            if (!(fabs(sum - (i == j)) < 1e-6)) return false;
        }
    return true;
}

bool spl_model_near(const double *x, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (!(fabs(x[k]) <= SPL_MODEL_FARTHEST)) return false;
    return true;
}

static bool rises(const int32_t *v, int32_t count)
{
    for (int32_t i = 1; i < count; i++)
        if (v[i] <= v[i - 1]) return false;
    return true;
}

static bool take_cubature(reading *g, spl_model_domain *d, const supple_allocator *a, const int32_t *tet,
                          const int32_t *corner, const double *real, int32_t body_vertices)
{
    d->cubature = spl_new(a, (size_t)d->cubature_count, sizeof *d->cubature);
    if (!d->cubature) {
        g->result = spl_fail_memory(g->error, "a model");
        return false;
    }
    for (int32_t k = 0; k < d->cubature_count; k++, real += CUBATURE_REALS, corner += 4) {
        spl_cubature_tet *c = &d->cubature[k];
        *c = (spl_cubature_tet){.tet = tet[k], .weight = real[0], .volume = real[1], .mu = real[2], .lambda = real[3]};
        memcpy(c->corner, corner, sizeof c->corner);
        memcpy(c->gradient, real + 4, sizeof c->gradient);
        for (int i = 0; i < 4; i++)
            if (corner[i] >= d->vertex_count || ~corner[i] >= body_vertices) return bad(g, "a corner is out of range");
        if (!(c->weight >= 0 && c->volume > 0 && c->mu >= 0 && c->lambda >= 0))
            return bad(g, "a cubature weight, volume or stiffness is negative");
    }
    return true;
}

static void take_domains(reading *g, spl_model *m, const supple_allocator *a)
{
    size_t domains, n, numbers, ranks, cubature;
    const int32_t *head =
        get(g, "domain", SPL_STORE_I32, DOMAIN_NUMBERS, 1, SPL_MODEL_MOST_DOMAINS, 0, INT32_MAX / 8, &domains);
    const double *fault = get(g, "domain.error", SPL_STORE_F64, 1, domains, domains, 0, 0, NULL);
    const int32_t *vertex = get(g, "vertex", SPL_STORE_I32, 1, 1, INT32_MAX, 0, m->vertex_count - 1, &n);
    const double *rest = get(g, "rest", SPL_STORE_F64, 3, n, n, 0, 0, NULL);
    const double *mass = get(g, "mass", SPL_STORE_F64, 1, n, n, 0, 0, NULL);
    const double *area = get(g, "surface", SPL_STORE_F64, 1, n, n, 0, 0, NULL);
    const double *basis = get(g, "basis", SPL_STORE_F64, 1, 1, SIZE_MAX / 8, 0, 0, &numbers);
    const double *reach = get(g, "reach", SPL_STORE_F64, 1, 1, INT32_MAX, 0, 0, &ranks);
    const int32_t *tet = get(g, "cubature.tet", SPL_STORE_I32, 1, 0, INT32_MAX, 0, m->tet_count - 1, &cubature);
    const int32_t *corner =
        get(g, "cubature.corner", SPL_STORE_I32, 4, cubature, cubature, -(int64_t)m->vertex_count, INT32_MAX, NULL);
    const double *real = get(g, "cubature", SPL_STORE_F64, CUBATURE_REALS, cubature, cubature, 0, 0, NULL);
    if (g->result != SUPPLE_OK) return;
    m->domain = spl_new(a, domains, sizeof *m->domain);
    if (!m->domain) {
        g->result = spl_fail_memory(g->error, "a model");
        return;
    }
    m->domain_count = (int32_t)domains;
    totals at = {0};
    for (size_t i = 0; i < domains && g->result == SUPPLE_OK; i++, head += DOMAIN_NUMBERS) {
        spl_model_domain *d = &m->domain[i];
        size_t v = (size_t)head[3], r = (size_t)head[1], c = (size_t)head[4];
        bool fits = r >= 1 && r <= SPL_MODEL_MOST_RANK && head[2] <= head[1] && v >= 1 && v <= n - at.vertices &&
                    3 * v * r <= numbers - at.numbers && r <= ranks - at.ranks && c <= SPL_MODEL_MOST_CUBATURE &&
                    c <= cubature - at.cubature;
        if (!fits) {
            bad(g, "its counts do not fit together");
            return;
        }
        *d = (spl_model_domain){.bone = head[0],
                                .rank = head[1],
                                .pose_rank = head[2],
                                .vertex_count = head[3],
                                .cubature_count = head[4],
                                .training_error = fault[i]};
        d->vertex = copy(g, a, vertex + at.vertices, v, sizeof *vertex);
        d->rest = copy(g, a, rest + 3 * at.vertices, v, 3 * sizeof *rest);
        d->mass = copy(g, a, mass + at.vertices, v, sizeof *mass);
        d->area = copy(g, a, area + at.vertices, v, sizeof *area);
        d->basis = copy(g, a, basis + at.numbers, 3 * v * r, sizeof *basis);
        d->reach = copy(g, a, reach + at.ranks, r, sizeof *reach);
        if (g->result != SUPPLE_OK) return;
        if (!take_cubature(g, d, a, tet + at.cubature, corner + 4 * at.cubature, real + CUBATURE_REALS * at.cubature,
                           m->vertex_count))
            return;
        for (size_t k = 0; k < v; k++)
            if (!(d->mass[k] > 0) || !(d->area[k] >= 0)) bad(g, "a mass or an area is not positive");
        if (!spl_model_near(d->rest, 3 * v)) bad(g, "a vertex is farther away than 1e12 m");
        if (!rises(d->vertex, d->vertex_count)) bad(g, "a domain's vertices are out of order");
        if (g->result == SUPPLE_OK && !is_orthonormal(d)) bad(g, "a basis is not orthonormal");
        at.vertices += v;
        at.numbers += 3 * v * r;
        at.ranks += r;
        at.cubature += c;
    }
    if (at.vertices != n || at.numbers != numbers || at.ranks != ranks || at.cubature != cubature)
        bad(g, "its counts do not fit together");
}

static bool take_ties(reading *g, const spl_model *m, spl_interface *s, const int32_t *at, const double *area)
{
    const spl_model_domain *di = &m->domain[s->i], *dj = &m->domain[s->j];
    for (int32_t k = 0; k < s->count; k++) {
        s->at_i[k] = at[2 * k];
        s->at_j[k] = at[2 * k + 1];
        s->area[k] = area[k];
        if (s->at_i[k] >= di->vertex_count || s->at_j[k] >= dj->vertex_count || !(area[k] > 0) ||
            di->vertex[s->at_i[k]] != dj->vertex[s->at_j[k]])
            return bad(g, "an interface ties vertices that do not meet");
    }
    return true;
}

static void take_interfaces(reading *g, spl_model *m, const supple_allocator *a)
{
    size_t count, ties, used = 0;
    const int32_t *head =
        get(g, "interface", SPL_STORE_I32, 3, 0, (size_t)SPL_MODEL_MOST_DOMAINS * 64, 0, INT32_MAX / 8, &count);
    const int32_t *at = get(g, "interface.at", SPL_STORE_I32, 2, 0, INT32_MAX, 0, INT32_MAX, &ties);
    const double *area = get(g, "interface.area", SPL_STORE_F64, 1, ties, ties, 0, 0, NULL);
    if (g->result != SUPPLE_OK) return;
    m->interface = spl_new(a, count, sizeof *m->interface);
    if (!m->interface) {
        g->result = spl_fail_memory(g->error, "a model");
        return;
    }
    m->interface_count = (int32_t)count;
    for (size_t i = 0; i < count && g->result == SUPPLE_OK; i++, head += 3) {
        spl_interface *s = &m->interface[i];
        bool rising = i == 0 || head[-3] < head[0] || (head[-3] == head[0] && head[-2] < head[1]);
        if (!rising || head[0] >= head[1] || head[1] >= m->domain_count || head[2] < 1 ||
            (size_t)head[2] > ties - used) {
            bad(g, "an interface is out of range");
            return;
        }
        *s = (spl_interface){.i = head[0], .j = head[1], .count = head[2]};
        s->at_i = spl_new(a, (size_t)s->count, sizeof *s->at_i);
        s->at_j = spl_new(a, (size_t)s->count, sizeof *s->at_j);
        s->area = spl_new(a, (size_t)s->count, sizeof *s->area);
        if (!s->at_i || !s->at_j || !s->area) {
            g->result = spl_fail_memory(g->error, "a model");
            return;
        }
        if (!take_ties(g, m, s, at + 2 * used, area + used)) return;
        used += (size_t)s->count;
    }
    if (g->result == SUPPLE_OK && used != ties) bad(g, "its counts do not fit together");
}

enum { MOST_RULES = 256, LONGEST_PATTERN = 4096 };

static void take_recipe(reading *g, spl_model *m, int32_t rules, const supple_allocator *a)
{
    const int32_t *n = get(g, "recipe", SPL_STORE_I32, 1, 4, 4, 0, INT32_MAX, NULL);
    const double *size = get(g, "recipe.size", SPL_STORE_F64, 1, 1, 1, 0, 0, NULL);
    char name[40];
    if (g->result != SUPPLE_OK) return;
    if (n[0] > 1 || n[3] > 1 || !(*size >= 0 || *size == SUPPLE_SIZE_FILE) || rules > MOST_RULES) {
        bad(g, "it does not say how its body is made");
        return;
    }
    m->recipe = (spl_body_recipe){
        .kind = n[0], .resolution = n[1], .max_tets = n[2], .grade = n[3], .size_m = *size, .rule_count = rules};
    m->recipe.rule = spl_new(a, (size_t)rules, sizeof *m->recipe.rule);
    if (!m->recipe.rule) g->result = spl_fail_memory(g->error, "a model");
    for (int32_t i = 0; i < rules && g->result == SUPPLE_OK; i++) {
        size_t length;
        snprintf(name, sizeof name, "rule/%d/pattern", (int)i);
        const char *pattern = get(g, name, SPL_STORE_U8, 1, 0, LONGEST_PATTERN, 1, 255, &length);
        snprintf(name, sizeof name, "rule/%d/role", (int)i);
        const int32_t *role = get(g, name, SPL_STORE_I32, 1, 1, 1, 0, SUPPLE_ROLE_SKIP, NULL);
        if (g->result != SUPPLE_OK) return;
        m->recipe.rule[i] = (supple_part_rule){spl_strndup(a, pattern, length), (supple_role)*role};
        if (!m->recipe.rule[i].pattern) g->result = spl_fail_memory(g->error, "a model");
    }
}

/* Numbers that a player's tables take (element.h, coupling.h, player.c): a few times those of the bases, where counts
 * are those of a training. */
static bool is_small(const spl_model *m)
{
    double numbers = 1 << 20, tables = 0; /* the least that is let pass, and what there is */
    for (int32_t i = 0; i < m->domain_count; i++) {
        double r = m->domain[i].rank, n = m->domain[i].vertex_count, c = m->domain[i].cubature_count;
        numbers += 3 * n * r + (4 + CUBATURE_REALS) * c;
        tables += (9 * r + r * r / 32 + 33) * c;
    }
    for (int32_t k = 0; k < m->interface_count; k++) {
        double i = m->domain[m->interface[k].i].rank, j = m->domain[m->interface[k].j].rank;
        tables += 10 * (i + 1) * (j + 1) + 2 * (i + 1) * (i + 1) + 2 * (j + 1) * (j + 1);
    }
    return tables <= SPL_MODEL_TABLES * numbers;
}

static void take_head(reading *g, spl_model *m, int32_t *rules)
{
    size_t length;
    char law[32] = "";
    const char *name = get(g, "law", SPL_STORE_U8, 1, 1, sizeof law - 1, 0, 255, &length);
    const int32_t *counts = get(g, "counts", SPL_STORE_I32, 1, 4, 4, 0, INT32_MAX / 4, NULL);
    const double *scalars = get(g, "scalars", SPL_STORE_F64, 1, SCALARS, SCALARS, 0, 0, NULL);
    if (g->result != SUPPLE_OK) return;
    memcpy(law, name, length);
    m->law = spl_law_find(law);
    m->vertex_count = counts[0];
    m->tet_count = counts[1];
    m->samples = counts[2];
    *rules = counts[3];
    m->edge = scalars[0];
    m->young = scalars[1];
    m->lowest = scalars[2];
    if (!m->law || m->law->needs_rotation || m->law->barrier) bad(g, "its material is unknown");
    if (m->vertex_count < 4 || m->tet_count < 1 || !(m->edge > 0) || !(m->young > 0) || !(m->lowest >= 0))
        bad(g, "a number is out of range");
}

/* What a store holds; the store is closed. */
static supple_result take_model(spl_store_reader *r, const char *path, spl_model *out, supple_error *error)
{
    int32_t rules = 0;
    spl_store_id id = spl_store_identity(r);
    reading g = {r, error, SUPPLE_OK};
    out->character = id.key;
    if (strcmp(id.kind, kind) != 0)
        g.result = spl_fail(error, SUPPLE_ERROR_INPUT, "%.150s: is no trained model (`supple train` makes one)", path);
    else if (id.version != MODEL_VERSION)
        g.result = spl_fail(error, SUPPLE_ERROR_INPUT, "%.150s: is of another version (%u, this is %u): train it again",
                            path, (unsigned)id.version, (unsigned)MODEL_VERSION);
    if (g.result == SUPPLE_OK) take_head(&g, out, &rules);
    if (g.result == SUPPLE_OK) take_recipe(&g, out, rules, &out->allocator);
    if (g.result == SUPPLE_OK) take_domains(&g, out, &out->allocator);
    if (g.result == SUPPLE_OK) take_interfaces(&g, out, &out->allocator);
    if (g.result == SUPPLE_OK && !is_small(out)) bad(&g, "its ranks, tets and interfaces are out of all proportion");
    if (g.result == SUPPLE_OK) g.result = spl_rig_read(r, out, &out->allocator, &out->rig, error);
    spl_store_close(r);
    if (g.result != SUPPLE_OK) spl_model_release(out);
    return g.result;
}

supple_result spl_model_load(const char *path, const supple_config *config, spl_model *out, supple_error *error)
{
    spl_store_reader *r = NULL;
    *out = (spl_model){.allocator = spl_allocator_of(config)};
    supple_result result = spl_store_open(path, NULL, config, &r, error);
    return result == SUPPLE_OK ? take_model(r, path, out, error) : result;
}

supple_result spl_model_load_memory(const void *data, size_t size, const char *name, const supple_config *config,
                                    spl_model *out, supple_error *error)
{
    spl_store_reader *r = NULL;
    *out = (spl_model){.allocator = spl_allocator_of(config)};
    supple_result result = spl_store_open_memory(data, size, name, NULL, config, &r, error);
    return result == SUPPLE_OK ? take_model(r, name, out, error) : result;
}
