#include "methods/projective/local.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/cpu.h"
#include "math/quat.h"

#include <math.h>

/* ---- set-up ---- */

static bool has_free_corner(const spl_local_input *in, int32_t k)
{
    const int32_t *t = in->elements->tet + 4 * (size_t)k;
    return in->unknown[t[0]] >= 0 || in->unknown[t[1]] >= 0 || in->unknown[t[2]] >= 0 || in->unknown[t[3]] >= 0;
}

/* Tets that move, patch by patch. */
static bool list_tets(spl_local *l, const spl_local_input *in)
{
    l->tet = spl_new(&l->allocator, (size_t)in->elements->count, sizeof *l->tet);
    if (!l->tet) return false;
    for (int32_t k = 0; k < in->elements->count; k++)
        if (has_free_corner(in, k)) l->tet[l->tet_count++] = k;
    l->blocks = (l->tet_count + 7) / 8;
    l->pieces = (l->blocks + SPL_LOCAL_PIECE - 1) / SPL_LOCAL_PIECE;
    return spl_local_order(in->elements, l->tet, l->tet_count, &l->allocator);
}

static size_t piece_begin(const spl_local *l, size_t piece)
{
    size_t begin = piece * 8 * SPL_LOCAL_PIECE;
    return begin < l->tet_count ? begin : l->tet_count;
}

/* The vertices of one piece to the end of l->vertex, free ones first; their numbers there into `number`. */
static void number_piece(spl_local *l, const spl_local_input *in, size_t k, int32_t *number)
{
    spl_local_piece *p = &l->piece[k];
    const int32_t *tet = in->elements->tet;
    size_t begin = piece_begin(l, k), end = piece_begin(l, k + 1);
    p->first = k > 0 ? p[-1].first + p[-1].count : 0;
    for (size_t i = 4 * begin; i < 4 * end; i++) number[tet[4 * (size_t)l->tet[i / 4] + i % 4]] = -1;
    for (int held = 0; held < 2; held++) {
        for (size_t i = 4 * begin; i < 4 * end; i++) {
            int32_t v = tet[4 * (size_t)l->tet[i / 4] + i % 4];
            if (number[v] >= 0 || (in->unknown[v] < 0) != held) continue;
            number[v] = (int32_t)p->count;
            l->vertex[p->first + p->count++] = v;
        }
        if (!held) p->free_count = p->count;
    }
}

/* One lane. Lanes beyond a piece's last tet repeat it without weight. Lanes of a block are far apart in the piece, so
 * that one seldom waits for what another has just added to its vertex. */
static void fill_lane(spl_local *l, const spl_local_input *in, const int32_t *number, size_t block, size_t lane)
{
    const spl_elements *e = in->elements;
    size_t piece = block / SPL_LOCAL_PIECE, begin = piece_begin(l, piece), count = piece_begin(l, piece + 1) - begin;
    size_t at = lane * ((count + 7) / 8) + block % SPL_LOCAL_PIECE;
    bool there = at < count;
    size_t k = (size_t)l->tet[begin + (there ? at : count - 1)];
    spl_local_block *b = &l->block[block];
    for (size_t i = 0; i < 9; i++) b->gradient[i][lane] = (float)e->gradient[12 * k + 3 + i];
    b->weight[lane] = there ? (float)(2 * in->mu[k] * e->volume[k]) : 0;
    if (in->lambda) l->extra[block][lane] = there ? (float)(in->lambda[k] * e->volume[k]) : 0;
    if (in->bulk) l->extra[block][lane] = there ? (float)(2 * in->bulk[k] * e->volume[k]) : 0;
    for (size_t i = 0; i < 4; i++) b->corner[i][lane] = (uint16_t)(4 * number[e->tet[4 * k + i]]);
}

/* Pieces and blocks; l->start[node + 2] comes to be how many slots a node has. */
static void fill_blocks(spl_local *l, const spl_local_input *in, int32_t *number)
{
    for (size_t k = 0; k < l->pieces; k++) {
        number_piece(l, in, k, number);
        const spl_local_piece *p = &l->piece[k];
        for (size_t i = p->first; i < p->first + p->free_count; i++) l->start[in->unknown[l->vertex[i]] + 2]++;
        for (size_t b = k * SPL_LOCAL_PIECE; b < l->blocks && b < (k + 1) * SPL_LOCAL_PIECE; b++)
            for (size_t lane = 0; lane < 8; lane++) fill_lane(l, in, number, b, lane);
    }
}

/* Slots by node, of one node in the order of the pieces. l->start is then what it says. */
static bool share_slots(spl_local *l, const spl_local_input *in)
{
    for (size_t i = 0; i < (size_t)in->node_count; i++) l->start[i + 2] += l->start[i + 1];
    l->force = spl_new(&l->allocator, l->start[(size_t)in->node_count + 1], 4 * sizeof *l->force);
    for (size_t k = 0; k < l->pieces && l->force; k++)
        for (size_t i = l->piece[k].first; i < l->piece[k].first + l->piece[k].free_count; i++)
            l->slot[i] = (uint32_t)l->start[in->unknown[l->vertex[i]] + 1]++;
    return l->force;
}

static bool take_memory(spl_local *l, const spl_local_input *in)
{
    const supple_allocator *a = &l->allocator;
    l->start = spl_new(a, (size_t)in->node_count + 2, sizeof *l->start);
    l->piece = spl_new(a, l->pieces, sizeof *l->piece);
    l->vertex = spl_new(a, 4 * l->tet_count, sizeof *l->vertex);
    l->slot = spl_new(a, 4 * l->tet_count, sizeof *l->slot);
    l->energy = spl_new(a, l->pieces, sizeof *l->energy);
    l->memory = spl_new(a, l->blocks + 1, sizeof *l->block + sizeof *l->turn);
    if (in->lambda || in->bulk) l->extra = spl_new(a, l->blocks, sizeof *l->extra);
    if (!l->memory) return false;
    l->block = (spl_local_block *)(((uintptr_t)l->memory + 63) & ~(uintptr_t)63);
    l->turn = (spl_quatx8 *)(void *)(l->block + l->blocks);
    return l->start && l->piece && l->vertex && l->slot && l->energy && (l->extra || (!in->lambda && !in->bulk));
}

static void choose_kernel(spl_local *l, const spl_local_input *in)
{
    l->run = spl_local_plain;
#ifdef SPL_HAVE_AVX2
    if (!in->plain && spl_cpu_has_avx2()) l->run = spl_local_avx2;
#endif
    if (in->bulk) l->run = spl_local_volume;
}

supple_result spl_local_create(const spl_local_input *in, const supple_allocator *a, spl_local *out,
                               supple_error *error)
{
    *out = (spl_local){.allocator = *a};
    int32_t *number = spl_new(a, (size_t)in->elements->vertex_count, sizeof *number);
    bool done = number && list_tets(out, in) && take_memory(out, in);
    if (done) fill_blocks(out, in, number);
    done = done && share_slots(out, in);
    spl_free(a, number);
    if (!done) {
        spl_local_release(out);
        return spl_fail_memory(error, "the tetrahedra's constraints");
    }
    spl_local_forget(out);
    choose_kernel(out, in);
    return SUPPLE_OK;
}

void spl_local_release(spl_local *l)
{
    if (!l->allocator.release) return;
    void *blocks[] = {l->tet, l->start, l->piece, l->vertex, l->slot, l->energy, l->memory, l->extra, l->force};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&l->allocator, blocks[i]);
    *l = (spl_local){0};
}

void spl_local_forget(spl_local *l)
{
    for (size_t b = 0; b < l->blocks; b++)
        for (int lane = 0; lane < 8; lane++) {
            for (int i = 0; i < 3; i++) l->turn[b].q[i][lane] = 0;
            l->turn[b].q[3][lane] = 1;
        }
}

/* ---- the plain twin ---- */

void spl_local_mend(const spl_mat3x8 *F, unsigned good, spl_quatx8 *turn)
{
    for (unsigned lane = 0; lane < 8; lane++) {
        if (good >> lane & 1) continue;
        spl_mat3 f, R, S;
        for (int i = 0; i < 9; i++) f.m[i] = (double)F->m[i][lane];
        spl_polar3(&f, &R, &S);
        spl_quat q = spl_quat_from_mat3(&R);
        const double part[4] = {q.x, q.y, q.z, q.w};
        for (int i = 0; i < 4; i++) turn->q[i][lane] = (float)part[i];
    }
}

/* Differences of corners in double, their product with the gradients in float. */
void spl_local_load_F(const spl_local_block *b, const spl_local_room *room, spl_mat3x8 *F)
{
    for (size_t lane = 0; lane < 8; lane++) {
        const double *x0 = room->x + b->corner[0][lane];
        float m[9] = {0};
        for (size_t k = 0; k < 3; k++) {
            const double *xk = room->x + b->corner[k + 1][lane];
            for (size_t c = 0; c < 3; c++)
                for (size_t r = 0; r < 3; r++) m[3 * c + r] += (float)(xk[r] - x0[r]) * b->gradient[3 * k + c][lane];
        }
        for (int i = 0; i < 9; i++) F->m[i][lane] = m[i];
    }
}

void spl_local_pull(const spl_local_block *b, size_t lane, const float P[9], spl_local_room *room)
{
    float f[4][3] = {{0}};
    for (size_t k = 0; k < 3; k++)
        for (size_t r = 0; r < 3; r++) {
            f[k + 1][r] = -(P[r] * b->gradient[3 * k][lane] + P[3 + r] * b->gradient[3 * k + 1][lane] +
                            P[6 + r] * b->gradient[3 * k + 2][lane]);
            f[0][r] -= f[k + 1][r];
        }
    for (size_t i = 0; i < 4; i++) {
        float *to = room->force + b->corner[i][lane];
        for (size_t r = 0; r < 3; r++) to[r] += f[i][r];
        to[3] += sqrtf(f[i][0] * f[i][0] + f[i][1] * f[i][1] + f[i][2] * f[i][2]);
    }
}

/* R(q), column-major. */
static void to_matrix(const float q[4], float R[9])
{
    spl_mat3 r = spl_quat_to_mat3((spl_quat){(double)q[0], (double)q[1], (double)q[2], (double)q[3]});
    for (int i = 0; i < 9; i++) R[i] = (float)r.m[i];
}

/* The rotation nearest to one tet's F, from the last one. */
static void rotate(const spl_mat3x8 *F, int newton, size_t lane, spl_quatx8 *turn, float R[9])
{
    float f[9], q[4], square = 0, far = newton > 1 ? SPL_LOCAL_FIRST_FAR : SPL_LOCAL_FAR;
    for (int i = 0; i < 9; i++) f[i] = F->m[i][lane];
    for (int i = 0; i < 9; i++) square += f[i] * f[i];
    for (int i = 0; i < 4; i++) q[i] = turn->q[i][lane];
    bool there = false;
    for (int i = 0; i < newton || (i < newton + SPL_LOCAL_MORE && !there); i++)
        there = spl_rotation3_step(f, sqrtf(square), far, q);
    for (int i = 0; i < 4; i++) turn->q[i][lane] = q[i];
    if (!there) spl_local_mend(F, ~(1u << lane), turn);
    for (int i = 0; i < 4; i++) q[i] = turn->q[i][lane];
    to_matrix(q, R);
}

double spl_local_plain(const spl_local *l, const double *x, int newton, size_t begin, size_t end)
{
    double energy = 0;
    spl_local_room room;
    spl_local_enter(l, begin / SPL_LOCAL_PIECE, x, &room);
    for (size_t k = begin; k < end; k++) {
        const spl_local_block *b = &l->block[k];
        spl_mat3x8 F;
        spl_local_load_F(b, &room, &F);
        for (size_t lane = 0; lane < 8; lane++) {
            float R[9], P[9], sum = 0;
            rotate(&F, newton, lane, &l->turn[k], R);
            float trace = -3, spread = l->extra ? l->extra[k][lane] : 0;
            for (int i = 0; i < 9; i++) trace += F.m[i][lane] * R[i];
            for (int i = 0; i < 9; i++) {
                float d = F.m[i][lane] - R[i];
                sum += d * d;
                P[i] = b->weight[lane] * d + spread * trace * R[i];
            }
            energy += 0.5 * (double)(b->weight[lane] * sum + spread * trace * trace);
            spl_local_pull(b, lane, P, &room);
        }
    }
    spl_local_leave(l, begin / SPL_LOCAL_PIECE, &room);
    return energy;
}

/* ---- all pieces ---- */

typedef struct local_loop {
    spl_local *l;
    const double *x;
    int newton;
} local_loop;

static void run_piece(void *context, size_t begin, size_t end)
{
    const local_loop *w = context;
    w->l->energy[begin / SPL_LOCAL_PIECE] = w->l->run(w->l, w->x, w->newton, begin, end);
}

double spl_local_step(spl_local *l, const double *x, int newton, spl_pool *pool)
{
    local_loop w = {l, x, newton};
    spl_parallel_for(pool, l->blocks, SPL_LOCAL_PIECE, run_piece, &w);
    double energy = 0;
    for (size_t i = 0; i * SPL_LOCAL_PIECE < l->blocks; i++) energy += l->energy[i];
    return energy;
}
