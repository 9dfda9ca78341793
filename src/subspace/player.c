#include "subspace/player.h"

#include "core/error.h"
#include "core/memory.h"
#include "subspace/player_private.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 4 }; /* of contacts, in a step without dynamics */
enum { PIECE = 32 }; /* tets a thread takes at once; a multiple of SPL_LANES */

spl_player_options spl_player_options_default(void)
{
    return (spl_player_options){
        .fst = true,
        .newton = 0,
        .tolerance = 1e-4,
        .kappa = 20,
        .kappa_d = 5e-4,
        .alpha = 0.5,
        .beta = 2e-3,
        .rho = 0.6,
        .single = true,
        .contact = 3000,
        .contact_most = 256,
        .clash_most = 1024,
    };
}

/* ---- creation -----------------------------------------------------------------------------------------------------
 */

/* The centre of a domain's masses. */
static void measure(spl_player *p, int32_t i)
{
    const spl_model_domain *d = &p->model->domain[i];
    spl_vec3 sum = {0, 0, 0};
    double mass = 0;
    for (int32_t k = 0; k < d->vertex_count; k++) {
        sum = spl_madd(sum, spl_v3(d->rest[3 * k], d->rest[3 * k + 1], d->rest[3 * k + 2]), d->mass[k]);
        mass += d->mass[k];
    }
    p->centre[i] = mass > 0 ? spl_scale(sum, 1 / mass) : sum;
    p->weight += mass;
}

/* Half the diagonal of the box around all of them. */
static double half_diagonal(const spl_model *m)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = 0; k < 3 * m->domain[i].vertex_count; k++) {
            low[k % 3] = fmin(low[k % 3], m->domain[i].rest[k]);
            high[k % 3] = fmax(high[k % 3], m->domain[i].rest[k]);
        }
    for (int c = 0; c < 3; c++) square += (high[c] - low[c]) * (high[c] - low[c]);
    return fmax(0.5 * sqrt(square), 1e-6);
}

/* Smaller residuals than this are below the rounding of float. */
static bool is_single(const spl_player_options *o)
{
    return o->single && o->tolerance >= 1e-5;
}

static supple_result check(const spl_model *m, const spl_player_options *o, supple_error *error)
{
    if (!m->law || m->law->needs_rotation || m->law->barrier || m->domain_count < 1)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "the model has no domains, or no law that can be played");
    for (int32_t i = 0; i < m->domain_count; i++)
        if (m->domain[i].rank < 1 || m->domain[i].rank > SPL_RANK_MOST)
            return spl_fail(error, SUPPLE_ERROR_INPUT, "domain %d has rank %d; it must be from 1 to %d", (int)i,
                            (int)m->domain[i].rank, SPL_RANK_MOST);
    const double least[] = {o->alpha, o->beta, o->kappa_d, o->contact, o->clash};
    bool range = o->kappa > 0 && o->rho >= 0 && o->rho <= 1;
    for (size_t k = 0; k < sizeof least / sizeof *least; k++)
        if (!range || !(least[k] >= 0) || o->newton < 0 || o->contact_most < 0 || o->clash_most < 0)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "an option of the player is out of range");
    const spl_player *like = o->like;
    bool alike = like && like->model == m && like->options.fst == o->fst &&
                 like->single == (is_single(o) && spl_lanes_known()) && like->options.full_damping == o->full_damping;
    if (like && !alike)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a player can share tables with players of its own kind only");
    return SUPPLE_OK;
}

/* Arrays by domain. */
static bool take_lists(spl_player *p, const supple_allocator *a)
{
    size_t n = (size_t)p->count;
    p->at = spl_new(a, n + 1, sizeof *p->at);
    p->centre = spl_new(a, n, sizeof *p->centre);
    p->shown = spl_new(a, n, sizeof *p->shown);
    p->set = spl_new(a, n, sizeof *p->set);
    p->rigid = spl_new(a, n, sizeof *p->rigid);
    p->rest = spl_new(a, n, sizeof *p->rest);
    p->frame = spl_new(a, n, sizeof *p->frame);
    p->coupling = spl_new(a, (size_t)p->model->interface_count, sizeof *p->coupling);
    return p->at && p->centre && p->shown && p->set && p->rigid && p->rest && p->frame && p->coupling;
}

/* Vectors: wide ones have [q, 1, 0 ...] for each domain, padded ones [f, 0 ...]. */
static bool take_vectors(spl_player *p, const supple_allocator *a)
{
    double **wide[] = {&p->q, &p->qd, &p->qdd, &p->q_n, &p->qd_n, &p->qdd_n, &p->trial};
    double **padded[] = {&p->direction, &p->acting, &p->now.elastic, &p->now.linear, &p->next.elastic, &p->next.linear};
    size_t most = 0;
    for (int32_t i = 0; i < p->count; i++) {
        size_t n = (size_t)spl_wide(&p->model->domain[i]);
        p->at[i + 1] = p->at[i] + n;
        if (n > most) most = n;
    }
    for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
        if (!(*wide[k] = spl_new(a, p->at[p->count], sizeof(double)))) return false;
    for (size_t k = 0; k < sizeof padded / sizeof *padded; k++)
        if (!(*padded[k] = spl_new(a, p->blocks.offset[p->count], sizeof(double)))) return false;
    p->room = spl_new(a, spl_coupling_room((int32_t)most), sizeof *p->room);
    p->drift = spl_new(a, most, sizeof *p->drift);
    return p->room && p->drift;
}

static bool take_pieces(spl_player *p, const supple_allocator *a)
{
    size_t sums = 0, count = 0;
    for (int32_t i = 0; i < p->count; i++) {
        size_t n = (size_t)(p->set[i].count + PIECE - 1) / PIECE, pad = (size_t)p->set[i].pad;
        count += n;
        sums += n * pad * (pad + 1);
    }
    p->piece = spl_new(a, count, sizeof *p->piece);
    p->sums = spl_new(a, sums, sizeof *p->sums);
    if (!p->piece || !p->sums) return false;
    double *at = p->sums;
    for (int32_t i = 0; i < p->count; i++)
        for (int32_t begin = 0; begin < p->set[i].count; begin += PIECE) {
            int32_t end = p->set[i].count - begin < PIECE ? p->set[i].count : begin + PIECE;
            p->piece[p->piece_count++] =
                (spl_piece){.domain = i, .begin = begin, .end = end, .f = at, .K = at + p->set[i].pad};
            at += p->set[i].pad * (p->set[i].pad + 1);
        }
    return true;
}

static supple_result make_domain(spl_player *p, int32_t i, supple_error *error)
{
    const supple_allocator *a = &p->allocator;
    const spl_model_domain *d = &p->model->domain[i];
    const spl_player *like = p->options.like;
    measure(p, i);
    if (like) {
        supple_result result = spl_rigid_like(&like->rigid[i], a, &p->rigid[i], error);
        if (result == SUPPLE_OK) result = spl_element_set_like(&like->set[i], a, &p->set[i], error);
        p->rest[i] = like->rest[i];
        return result;
    }
    supple_result result = spl_rigid_create(d, p->centre[i], p->options.fst, a, &p->rigid[i], error);
    if (result == SUPPLE_OK) result = spl_element_set_create(d, p->model->law, a, &p->set[i], error);
    if (result != SUPPLE_OK) return result;
    size_t pad = (size_t)p->set[i].pad;
    p->rest[i] = spl_new(a, pad * pad, sizeof *p->rest[i]);
    if (!p->rest[i]) return spl_fail_memory(error, "the stiffness of a model");
    spl_element_set_rest(&p->set[i], p->kernels, p->rest[i]);
    return p->single ? spl_element_set_widen(&p->set[i], a, error) : SUPPLE_OK;
}

static supple_result make_couplings(spl_player *p, supple_error *error)
{
    const spl_model *m = p->model;
    double kappa = p->options.kappa * m->young / m->edge;
    spl_coupling_options o = {p->options.fst, p->options.full_damping, kappa, p->options.kappa_d * kappa};
    for (int32_t k = 0; k < m->interface_count; k++) {
        const spl_player *like = p->options.like;
        supple_result result = like ? spl_coupling_like(&like->coupling[k], &o, &p->allocator, &p->coupling[k], error)
                                    : spl_coupling_create(m, k, p->centre, &o, &p->allocator, &p->coupling[k], error);
        if (result != SUPPLE_OK) return result;
        for (int s = 0; s < 2; s++) { /* rounding of what cancels in (11) */
            const spl_coupling_side *side = &p->coupling[k].side[s];
            size_t wide = (size_t)spl_wide(side->rows.domain), rank = (size_t)side->rows.domain->rank;
            double sum = 0;
            for (size_t i = 0; i < rank; i++) sum += side->P[i * wide + rank] * side->P[i * wide + rank];
            p->floor += 1e-14 * kappa * sqrt(sum);
        }
    }
    return SUPPLE_OK;
}

static supple_result make_blocks(spl_player *p, supple_error *error)
{
    const supple_allocator *a = &p->allocator;
    int32_t n = p->count, m = p->model->interface_count;
    int32_t *rank = spl_new(a, (size_t)n, sizeof *rank), *pair = spl_new(a, 2 * (size_t)m, sizeof *pair);
    supple_result result = SUPPLE_ERROR_MEMORY;
    for (int32_t i = 0; rank && i < n; i++) rank[i] = p->model->domain[i].rank;
    for (int32_t k = 0; pair && k < m; k++)
        pair[2 * k] = p->model->interface[k].i, pair[2 * k + 1] = p->model->interface[k].j;
    if (rank && pair)
        result = spl_blocks_create(n, rank, pair, m, a, &p->blocks, error);
    else
        spl_fail_memory(error, "the system of a model");
    spl_free(a, rank);
    spl_free(a, pair);
    return result;
}

static supple_result make(spl_player *p, supple_error *error)
{
    const supple_allocator *a = &p->allocator;
    if (!take_lists(p, a)) return spl_fail_memory(error, "a model's player");
    supple_result result = make_blocks(p, error);
    for (int32_t i = 0; i < p->count && result == SUPPLE_OK; i++) {
        p->size += p->model->domain[i].rank;
        result = make_domain(p, i, error);
    }
    if (result == SUPPLE_OK) result = make_couplings(p, error);
    if (result == SUPPLE_OK) result = spl_player_make_contacts(p, error);
    if (result != SUPPLE_OK) return result;
    if (!take_vectors(p, a) || !take_pieces(p, a)) return spl_fail_memory(error, "a model's player");
    p->weight = sqrt(p->weight);
    p->extent = half_diagonal(p->model);
    p->floor += 1e-10 * p->weight * p->model->edge * p->model->lowest; /* the force of a tiny sway */
    spl_player_reset(p);
    return SUPPLE_OK;
}

supple_result spl_player_create(const spl_model *model, const spl_player_options *options, spl_pool *pool,
                                const supple_allocator *a, spl_player **out, supple_error *error)
{
    *out = NULL;
    supple_result result = check(model, options, error);
    if (result != SUPPLE_OK) return result;
    spl_player *p = spl_new(a, 1, sizeof *p);
    if (!p) return spl_fail_memory(error, "a model's player");
    *p = (spl_player){.allocator = *a, .model = model, .options = *options, .pool = pool};
    p->kernels = spl_dense_kernels_of(false);
    p->single = is_single(options) && spl_lanes_known();
    p->count = model->domain_count;
    result = make(p, error);
    if (result == SUPPLE_OK)
        *out = p;
    else
        spl_player_destroy(p);
    return result;
}

void spl_player_destroy(spl_player *p)
{
    if (!p) return;
    supple_allocator a = p->allocator;
    for (int32_t i = 0; i < p->count; i++) {
        if (p->set) spl_element_set_release(&p->set[i], &a);
        if (p->rigid) spl_rigid_release(&p->rigid[i], &a);
        if (p->rest && !p->options.like) spl_free(&a, p->rest[i]);
        if (p->press) spl_press_release(&p->press[i], &a);
    }
    for (int32_t k = 0; p->coupling && k < p->model->interface_count; k++) spl_coupling_release(&p->coupling[k], &a);
    if (p->clash) spl_clash_release(p->clash, &a);
    spl_free(&a, p->clash);
    spl_blocks_release(&p->blocks);
    void *all[] = {p->shown,      p->at,           p->centre,      p->set,       p->rigid,  p->rest, p->frame,
                   p->coupling,   p->piece,        p->sums,        p->q,         p->qd,     p->qdd,  p->q_n,
                   p->qd_n,       p->qdd_n,        p->trial,       p->direction, p->acting, p->room, p->now.elastic,
                   p->now.linear, p->next.elastic, p->next.linear, p->press,     p->drift};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(&a, all[k]);
    spl_free(&a, p);
}

/* ---- the state ----------------------------------------------------------------------------------------------------
 */

int32_t spl_player_size(const spl_player *p)
{
    return p->size;
}

double spl_player_extent(const spl_player *p)
{
    return p->extent;
}

void spl_player_reset(spl_player *p)
{
    double *all[] = {p->q, p->qd, p->qdd, p->q_n, p->qd_n, p->qdd_n, p->trial};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) memset(all[k], 0, p->at[p->count] * sizeof(double));
    for (int32_t i = 0; i < p->count; i++) { /* the 1 of [q, 1] */
        size_t one = p->at[i] + (size_t)p->set[i].rank;
        p->q[one] = p->q_n[one] = p->trial[one] = 1;
    }
    memset(p->acting, 0, p->blocks.offset[p->count] * sizeof *p->acting);
    p->caution = 0;
    p->fresh = true;
}

/* One vector between the state's layout and ours. */
static void copy_out(const spl_player *p, const double *wide, double *out)
{
    for (int32_t i = 0; out && i < p->count; i++) {
        memcpy(out, wide + p->at[i], (size_t)p->set[i].rank * sizeof *out);
        out += p->set[i].rank;
    }
}

static void copy_in(const spl_player *p, const double *in, double *wide)
{
    for (int32_t i = 0; i < p->count; i++) {
        size_t n = (size_t)p->set[i].rank;
        if (in)
            memcpy(wide + p->at[i], in, n * sizeof *in);
        else
            memset(wide + p->at[i], 0, n * sizeof *in);
        if (in) in += n;
    }
}

void spl_player_state(const spl_player *p, double *q, double *qd, double *qdd)
{
    copy_out(p, p->q, q);
    copy_out(p, p->qd, qd);
    copy_out(p, p->qdd, qdd);
}

void spl_player_set_coordinates(spl_player *p, const double *q)
{
    copy_in(p, q, p->q);
}

void spl_player_set_state(spl_player *p, const double *q, const double *qd, const double *qdd)
{
    copy_in(p, q, p->q);
    copy_in(p, qd, p->qd);
    copy_in(p, qdd, p->qdd);
    p->caution = 0;
    p->fresh = false;
}

/* ---- a step -------------------------------------------------------------------------------------------------------
 */

/* Where Newton's method starts: where the velocities lead, unless that is far. */
static void predict(spl_player *p)
{
    size_t n = p->at[p->count];
    double h = p->input->dt, square = 0;
    for (size_t k = 0; k < n; k++) square += p->qd_n[k] * p->qd_n[k];
    if (!(h > 0) || !(h * sqrt(square) < p->model->edge * p->weight)) return;
    for (size_t k = 0; k < n; k++) p->q[k] += h * p->qd_n[k];
}

/* How far q is outside what the training saw. */
static double outside(const spl_player *p)
{
    double most = 0;
    for (int32_t i = 0; i < p->count; i++) {
        const double *reach = p->model->domain[i].reach;
        for (int32_t k = 0; reach && k < p->set[i].rank; k++)
            if (reach[k] > 0) most = fmax(most, fabs(p->q[p->at[i] + (size_t)k]) / reach[k]);
    }
    return most;
}

supple_result spl_player_step(spl_player *p, const spl_player_input *in, spl_player_stats *stats, supple_error *error)
{
    size_t bytes = p->at[p->count] * sizeof(double);
    p->input = in;
    p->stats = (spl_player_stats){.gap = NAN};
    memcpy(p->q_n, p->q, bytes);
    memcpy(p->qd_n, p->qd, bytes);
    memcpy(p->qdd_n, p->qdd, bytes);
    spl_player_pose(p);
    predict(p);
    spl_player_find_contacts(p);
    bool ok = spl_player_newton(p);
    if (!ok) { /* from the last shape */
        memcpy(p->q, p->q_n, bytes);
        ok = spl_player_newton(p);
    }
    /* Without dynamics a step may take flesh far, and the surfaces meet elsewhere than where it started. */
    for (int32_t k = 1; ok && k < ROUNDS && p->clash && p->clash->count > 0 && !(in->dt > 0); k++) {
        spl_player_find_contacts(p);
        ok = spl_player_newton(p);
    }
    p->stats.residual = p->now.residual;
    p->stats.energy = p->now.energy - p->now.pressed + p->now.springs;
    if (ok) spl_player_end_contacts(p);
    p->stats.outside = outside(p);
    p->input = NULL;
    p->fresh = false;
    if (!ok) spl_player_reset(p);
    if (stats) *stats = p->stats;
    return ok ? SUPPLE_OK : spl_fail(error, SUPPLE_ERROR_SOLVE, "the reduced equations of motion are not finite");
}
