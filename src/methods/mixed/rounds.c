#include "methods/mixed/rounds.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/quat.h"

enum { NEWTON = 4 }; /* from the bones' rotation to within 1e-6 of the polar one */

supple_result spl_rounds_create(const spl_elements *e, const supple_allocator *a, spl_rounds *out, supple_error *error)
{
    size_t blocks = ((size_t)e->count + 7) / 8;
    *out = (spl_rounds){.allocator = *a};
    out->turn = spl_new(a, blocks, sizeof *out->turn);
    out->F = spl_new(a, blocks, sizeof *out->F);
    if (out->turn && out->F) return SUPPLE_OK;
    spl_rounds_release(out);
    return spl_fail_memory(error, "the rotations");
}

void spl_rounds_release(spl_rounds *r)
{
    if (!r->allocator.release) return;
    spl_free(&r->allocator, r->turn);
    spl_free(&r->allocator, r->F);
    *r = (spl_rounds){0};
}

typedef struct rotate_loop {
    spl_rounds *r;
    const spl_elements *e;
    const double *x;
    double *rotation;
} rotate_loop;

static void load(const rotate_loop *l, size_t block)
{
    for (size_t lane = 0; lane < 8; lane++) {
        size_t k = 8 * block + lane;
        bool there = k < (size_t)l->e->count;
        spl_mat3 F = there ? spl_element_F(l->e, (int32_t)k, l->x) : spl_mat3_identity(), R = spl_mat3_identity();
        for (int i = 0; i < 9; i++) {
            if (there) R.m[i] = l->rotation[9 * k + (size_t)i];
            l->r->F[block].m[i][lane] = (float)F.m[i];
        }
        spl_quat q = spl_quat_from_mat3(&R);
        const double part[4] = {q.x, q.y, q.z, q.w};
        for (int i = 0; i < 4; i++) l->r->turn[block].q[i][lane] = (float)part[i];
    }
}

static void store(const rotate_loop *l, size_t block)
{
    const spl_quatx8 *t = &l->r->turn[block];
    for (size_t lane = 0; lane < 8 && 8 * block + lane < (size_t)l->e->count; lane++) {
        spl_quat q = spl_quat_normalise(
            spl_quat_make((double)t->q[0][lane], (double)t->q[1][lane], (double)t->q[2][lane], (double)t->q[3][lane]));
        spl_mat3 R = spl_quat_to_mat3(q);
        for (size_t i = 0; i < 9; i++) l->rotation[9 * (8 * block + lane) + i] = R.m[i];
    }
}

static void rotate_range(void *context, size_t begin, size_t end)
{
    const rotate_loop *l = context;
    for (size_t block = begin; block < end; block++) load(l, block);
    spl_rotation3_blocks(l->r->F + begin, end - begin, NEWTON, l->r->turn + begin);
    for (size_t block = begin; block < end; block++) store(l, block);
}

void spl_rounds_rotate(spl_rounds *r, const spl_elements *e, const double *x, double *rotation, spl_pool *pool)
{
    rotate_loop l = {r, e, x, rotation};
    spl_parallel_for(pool, ((size_t)e->count + 7) / 8, 128, rotate_range, &l);
}
