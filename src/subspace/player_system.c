#include "core/timer.h"
#include "subspace/player_private.h"

#include <string.h>

static void hessian_pieces(void *context, size_t begin, size_t end)
{
    spl_player *p = context;
    for (size_t k = begin; k < end; k++) {
        spl_piece *piece = &p->piece[k];
        const spl_element_set *set = &p->set[piece->domain];
        memset(piece->K, 0, (size_t)set->pad * (size_t)set->pad * sizeof *piece->K);
        spl_element_set_hessian(set, p->kernels, piece->begin, piece->end, p->exact, piece->K);
    }
}

/* Factors of the step: of the mass, of the damping, and of the interfaces' matrices. */
typedef struct factors {
    double mass, damping;
} factors;

static factors factors_of(const spl_player *p, bool euler)
{
    spl_newmark n = spl_player_newmark(p);
    double h = p->input->dt;
    if (euler) n = (spl_newmark){1, 1, 0}; /* qdd = q / h^2 + ..., qd = q / h + ... */
    return h > 0 ? (factors){(1 - n.before) / (n.beta * h * h), n.gamma / (n.beta * h)} : (factors){0, 0};
}

/* A diagonal block: its pieces' sums in their order, mass, damping, what holds back and what presses. */
static void fill_diagonals(void *context, size_t begin, size_t end)
{
    spl_player *p = context;
    for (size_t i = begin; i < end; i++) {
        factors f = factors_of(p, spl_player_touched(p, (int32_t)i));
        size_t ld, pad = (size_t)p->set[i].pad, rank = (size_t)p->set[i].rank;
        bool swapped;
        double *A = spl_blocks_at(&p->blocks, (int32_t)i, (int32_t)i, &ld, &swapped);
        for (size_t r = 0; r < rank; r++) {
            double k, over = spl_player_over(p, (int32_t)i, (int32_t)r, p->q[p->at[i] + r], &k);
            A[r * ld + r] = f.mass + f.damping * p->options.alpha + (over != 0 ? k : 0);
        }
        for (size_t r = 0; r < pad && p->options.beta > 0; r++)
            for (size_t c = 0; c < pad; c++) A[r * ld + c] += f.damping * p->options.beta * p->rest[i][r * pad + c];
        for (int32_t k = 0; k < p->piece_count; k++) {
            const double *K = p->piece[k].K;
            if (p->piece[k].domain != (int32_t)i) continue;
            for (size_t r = 0; r < pad; r++)
                for (size_t c = r & ~(size_t)3; c < pad; c++) A[r * ld + c] += K[r * pad + c];
        }
        if (p->press) spl_press_hessian(&p->press[i], p->kernels, A, ld);
    }
}

/* ii: (kappa + kappa_d g/(b h)) P; ij: -(the same) W. */
static void add_interface(spl_player *p, const spl_coupling *c, double by)
{
    size_t ld, rank[2] = {(size_t)p->set[c->domain[0]].rank, (size_t)p->set[c->domain[1]].rank};
    bool swapped;
    for (int s = 0; s < 2; s++) {
        double *A = spl_blocks_at(&p->blocks, c->domain[s], c->domain[s], &ld, &swapped);
        size_t wide = (size_t)spl_wide(c->side[s].rows.domain);
        for (size_t r = 0; r < rank[s]; r++)
            for (size_t k = 0; k < rank[s]; k++) A[r * ld + k] += by * c->side[s].P[r * wide + k];
    }
    size_t wide = (size_t)spl_wide(c->side[1].rows.domain);
    double *A = spl_blocks_at(&p->blocks, c->domain[0], c->domain[1], &ld, &swapped);
    for (size_t r = 0; r < rank[0] && !swapped; r++)
        for (size_t k = 0; k < rank[1]; k++) A[r * ld + k] -= by * c->W[r * wide + k];
    for (size_t r = 0; r < rank[0] && swapped; r++)
        for (size_t k = 0; k < rank[1]; k++) A[k * ld + r] -= by * c->W[r * wide + k];
}

static void assemble(spl_player *p, double shift)
{
    spl_blocks_clear(&p->blocks);
    spl_parallel_for(p->pool, (size_t)p->count, 1, fill_diagonals, p);
    double start = spl_now_ms();
    for (int32_t k = 0; k < p->model->interface_count; k++) {
        const spl_coupling *c = &p->coupling[k];
        bool euler = spl_player_touched(p, c->domain[0]) || spl_player_touched(p, c->domain[1]);
        add_interface(p, c, c->kappa + c->kappa_d * factors_of(p, euler).damping);
    }
    p->stats.ms_coupling += spl_now_ms() - start;
    if (p->clash) spl_clash_hessian(p->clash, p->kernels, &p->blocks);
    for (int32_t i = 0; shift > 0 && i < p->count; i++) {
        size_t ld;
        bool swapped;
        double *A = spl_blocks_at(&p->blocks, i, i, &ld, &swapped);
        for (size_t r = 0; r < (size_t)p->set[i].rank; r++) A[r * ld + r] += shift;
    }
}

/* Mean of the assembled diagonal: what a shift is measured by. */
static double mean_diagonal(spl_player *p)
{
    double sum = 0;
    assemble(p, 0);
    for (int32_t i = 0; i < p->count; i++) {
        size_t ld;
        bool swapped;
        const double *A = spl_blocks_at(&p->blocks, i, i, &ld, &swapped);
        for (size_t r = 0; r < (size_t)p->set[i].rank; r++) sum += A[r * ld + r];
    }
    return sum / p->size;
}

/* Piece by piece, then all together and with a shift of the diagonal. */
static bool build(spl_player *p, bool exact, double shift)
{
    double start = spl_now_ms(), coupling = p->stats.ms_coupling;
    p->exact = exact;
    if (!(shift > 0)) spl_parallel_for(p->pool, (size_t)p->piece_count, 1, hessian_pieces, p);
    assemble(p, shift);
    double done = spl_now_ms();
    p->stats.ms_cubature += done - start - (p->stats.ms_coupling - coupling);
    bool ok = spl_blocks_factorise(&p->blocks);
    p->stats.ms_solve += spl_now_ms() - done;
    return ok;
}

/* Exact Hessians cost half as much as projected ones (no singular value decomposition) and converge faster, but only
 * while the whole is positive definite. Where it is not, the next iterations do not try. */
bool spl_player_system(spl_player *p)
{
    enum { CAUTION = 6 };
    if (p->caution > 0)
        p->caution--;
    else if (build(p, true, 0))
        return true;
    else
        p->caution = CAUTION;
    /* Semidefinite is all that projected Hessians promise: a mode that no cubature tet sees has no stiffness. */
    bool ok = build(p, false, 0);
    if (ok) return true;
    double unit = mean_diagonal(p);
    for (double shift = 1e-9 * unit; !ok && shift <= unit; shift *= 1000) ok = build(p, false, shift);
    return ok;
}
