/* One frame: the body's points and normals into floats, the sums of the visual vertices. */
#include "body/upsample_kernel.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/cpu.h"
#include "math/svd3.h"

/* 512 vertices a piece: about 150 kB of weights; of the body as few as leave two threads the same work. */
enum { VERTICES_PER_PIECE = 512, BODY_PER_PIECE = 1024, STRIDE = SPL_UPSAMPLE_STRIDE, BLOCK = SPL_UPSAMPLE_BLOCK };

/* ---- samples of the body ---------------------------------------------------------------------------------------- */

enum { SAMPLES = 1024 };

static int32_t sample_step(const spl_upsample *u)
{
    return u->surface->vertex_count / SAMPLES + 1;
}

/* What the rest shape says of about SAMPLES surface vertices, evenly chosen. */
static void sample_rest(const spl_upsample *u, spl_upsample_frame *f)
{
    int32_t n = u->surface->vertex_count, step = sample_step(u), count = (n + step - 1) / step;
    for (int32_t v = 0; v < n; v += step) f->rest = spl_madd(f->rest, u->surface->position[v], 1.0 / count);
    for (int32_t v = 0; v < n; v += step) {
        spl_vec3 rest = spl_sub(u->surface->position[v], f->rest);
        spl_mat3 shape = spl_mat3_outer(rest, rest);
        f->shape = spl_mat3_add(&f->shape, &shape);
    }
    /* A flat body: the scatter's smallest direction is rounding, and says nothing. */
    double size = spl_mat3_trace(&f->shape) / 3;
    f->solid = spl_mat3_det(&f->shape) > 1e-8 * size * size * size && spl_mat3_inverse(&f->shape, &f->unshape);
}

/* sum (x' - mean')(x - mean)^T over the samples; returns sum |x' - mean'|^2. As sum (x - mean) = 0, mean' drops out of
 * the first. */
static double sample_motion(const spl_upsample *u, const spl_upsample_frame *f, spl_mat3 *moved)
{
    int32_t n = u->surface->vertex_count, step = sample_step(u), count = (n + step - 1) / step;
    double sum[3] = {0}, square = 0, m[9] = {0};
    for (int32_t v = 0; v < n; v += step) {
        const float *point = f->point + STRIDE * (size_t)v;
        spl_vec3 r = spl_sub(u->surface->position[v], f->rest);
        for (int i = 0; i < 3; i++) {
            double p = (double)point[i];
            sum[i] += p;
            square += p * p;
            m[i] += p * r.x;
            m[3 + i] += p * r.y;
            m[6 + i] += p * r.z;
        }
    }
    for (int i = 0; i < 9; i++) moved->m[i] = m[i];
    return square - (sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / count;
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

supple_result spl_upsample_frame_create(const spl_upsample *u, const supple_allocator *a, spl_upsample_frame **out,
                                        supple_error *error)
{
    size_t n = (size_t)u->surface->vertex_count, t = u->has_normals || u->lift ? (size_t)u->surface->triangle_count : 0;
    *out = NULL;
    spl_upsample_frame *f = spl_new(a, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "a frame of upsampling");
    *f = (spl_upsample_frame){.allocator = *a};
    f->memory = spl_new(a, 2 * n + t + 3, 4 * sizeof(float)); /* counts of int32: no overflow */
    if (!f->memory) {
        spl_upsample_frame_destroy(f);
        return spl_fail_memory(error, "a frame of upsampling");
    }
    f->point = (float *)(((uintptr_t)f->memory + 31) & ~(uintptr_t)31);
    f->face = f->point + STRIDE * n;
    sample_rest(u, f);
    *out = f;
    return SUPPLE_OK;
}

void spl_upsample_frame_destroy(spl_upsample_frame *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    spl_free(&a, f->memory);
    spl_free(&a, f);
}

/* ---- the body ---------------------------------------------------------------------------------------------------- */

typedef struct job {
    const spl_upsample *u;
    spl_upsample_frame *f;
    const double *body_double; /* one of the two */
    const float *body_float;
    const spl_upsample_target *to;
    bool avx2;
} job;

static void load_points(void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t v = begin; v < end; v++) {
        size_t at = 3 * (size_t)j->u->source[v];
        float *p = j->f->point + STRIDE * v;
        for (size_t i = 0; i < 3; i++) {
            double x = j->body_double ? j->body_double[at + i] : (double)j->body_float[at + i];
            p[i] = (float)(x - (double)j->f->origin[i]);
        }
        p[3] = 0;
    }
}

void spl_upsample_faces_scalar(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end)
{
    const float *p = f->point;
    for (size_t t = begin; t < end; t++) {
        const int32_t *c = u->surface->triangle + 3 * t;
        const float *a = p + STRIDE * (size_t)c[0], *b = p + STRIDE * (size_t)c[1], *d = p + STRIDE * (size_t)c[2];
        float ab[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, ad[3] = {d[0] - a[0], d[1] - a[1], d[2] - a[2]};
        spl_cross_float(ab, ad, f->face + 4 * t);
        f->face[4 * t + 3] = 0;
    }
}

void spl_upsample_normals_scalar(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end)
{
    for (size_t v = begin; v < end; v++) {
        float n[4] = {0};
        for (int32_t c = u->fan_first[v]; c < u->fan_first[v + 1]; c++)
            for (size_t i = 0; i < 4; i++) n[i] += f->face[4 * (size_t)u->fan[c] + i];
        float length = sqrtf(spl_dot_float(n, n)), scale = length > 0 ? 1 / length : 0;
        for (size_t i = 0; i < 4; i++) f->point[STRIDE * v + SPL_UPSAMPLE_NORMAL + i] = n[i] * scale;
    }
}

static void load_faces(void *context, size_t begin, size_t end)
{
    const job *j = context;
#ifdef SPL_HAVE_AVX2
    if (j->avx2) {
        spl_upsample_faces_avx2(j->u, j->f, begin, end);
        return;
    }
#endif
    spl_upsample_faces_scalar(j->u, j->f, begin, end);
}

static void load_normals(void *context, size_t begin, size_t end)
{
    const job *j = context;
#ifdef SPL_HAVE_AVX2
    if (j->avx2) {
        spl_upsample_normals_avx2(j->u, j->f, begin, end);
        return;
    }
#endif
    spl_upsample_normals_scalar(j->u, j->f, begin, end);
}

/* ---- the body as a whole ----------------------------------------------------------------------------------------- */

/* A motion is affine below the first share of the body's size, root mean square, and is not above the second. A pose
 * is far above; where it is not, it hardly stretches anything. */
static const double affine_residual[2] = {1e-4, 1e-2};

/* Whether the body moves affinely, x' = A x + t, and then S of A = R S. A surface cannot tell how space moves above it;
 * this can, for a character that is scaled or sheared as a whole. For anything else S fades into the identity. */
static void find_stretch(const spl_upsample *u, spl_upsample_frame *f)
{
    spl_mat3 moved, rotation, stretch;
    f->stretched = false;
    if ((!u->has_offsets && !f->delta) || !f->solid) return;
    double square = sample_motion(u, f, &moved);
    spl_mat3 A = spl_mat3_mul(&moved, &f->unshape);
    double left = square - spl_mat3_dot(&A, &moved); /* sum |x' - A x|^2, at the minimum */
    double residual = left > 0 ? sqrt(left / (square + spl_mat3_trace(&f->shape))) : 0;
    double t = (affine_residual[1] - residual) / (affine_residual[1] - affine_residual[0]);
    if (!(t > 0) || !spl_polar3(&A, &rotation, &stretch)) return;
    double share = t < 1 ? t * t * (3 - 2 * t) : 1;
    for (int i = 0; i < 9; i++) f->stretch[i / 3][i % 3] = (float)(share * stretch.m[i] + (i % 4 == 0 ? 1 - share : 0));
    f->stretched = true;
}

/* ---- vertices that stay ------------------------------------------------------------------------------------------ */

static void place_fixed(const job *j)
{
    const spl_upsample_target *to = j->to;
    for (int32_t i = 0; i < j->u->fixed_count; i++) {
        const spl_upsample_fixed *x = &j->u->fixed[i];
        size_t v = (size_t)x->vertex;
        const float *delta = spl_upsample_delta(j->f->delta, v), *turn = spl_upsample_delta(j->f->normal_delta, v);
        float p[3], n[3];
        for (int c = 0; c < 3; c++) {
            p[c] = x->position[c] + (delta ? delta[c] : 0);
            n[c] = x->normal[c] + (turn ? turn[c] : 0);
        }
        if (turn) spl_v3_to_float(spl_unit(spl_v3_from_float(n), spl_v3_from_float(x->normal)), n);
        memcpy((char *)to->position + v * to->position_stride, p, sizeof p);
        if (to->normal && j->u->has_normals) memcpy((char *)to->normal + v * to->normal_stride, n, sizeof n);
    }
}

/* ---- visual vertices --------------------------------------------------------------------------------------------- */

static void add4(float *sum, float weight, const float *p)
{
    for (int i = 0; i < 4; i++) sum[i] += weight * p[i];
}

void spl_upsample_vertices_scalar(const spl_upsample *u, const spl_upsample_frame *f, const spl_upsample_target *to,
                                  size_t begin, size_t end)
{
    for (size_t v = begin; v < end; v++) {
        const spl_upsample_vertex *vertex = &u->vertex[v];
        if (vertex->count == 0) continue;
        const uint32_t *index = u->index + vertex->first;
        const float *weight = u->weight + vertex->first;
        spl_upsample_sums sums = {.position = {0}};
        const float *normal = f->point + SPL_UPSAMPLE_NORMAL;
        for (uint32_t k = 0; k < vertex->count; k++) add4(sums.position, weight[k], f->point + index[k]);
        int32_t frame = spl_upsample_offset_in_use(u, f, v);
        if (frame >= 0 && u->offset[frame].tangent != SPL_UPSAMPLE_NO_TANGENT) {
            const float *tangent = u->tangent + u->offset[frame].tangent;
            for (uint32_t k = 0; k < vertex->count; k++)
                for (uint32_t a = 0; a < 2; a++)
                    add4(sums.tangent[a], tangent[2 * (k - k % BLOCK) + BLOCK * a + k % BLOCK], f->point + index[k]);
        }
        if (to->normal && u->has_normals) {
            weight = u->normal_weight + vertex->normal;
            for (uint32_t k = 0; k < vertex->count; k++) add4(sums.normal, weight[k], normal + index[k]);
        }
        spl_upsample_finish(u, f, to, v, frame, &sums);
    }
}

static void run_piece(void *context, size_t begin, size_t end)
{
    const job *j = context;
    bool done = false;
#ifdef SPL_HAVE_AVX2
    if (j->avx2) spl_upsample_vertices_avx2(j->u, j->f, j->to, begin, end);
    done = j->avx2;
#endif
    if (!done) spl_upsample_vertices_scalar(j->u, j->f, j->to, begin, end);
    if (j->u->lift) spl_upsample_lift(j->u, j->f, j->to, begin, end);
}

static void apply(job *j, spl_pool *pool)
{
    const spl_surface *s = j->u->surface;
    size_t first = 3 * (size_t)j->u->source[0];
    for (size_t i = 0; i < 3; i++) {
        double x = j->body_double ? j->body_double[first + i] : (double)j->body_float[first + i];
        /* Rounded, so that adding it back is exact. A copy in double precision is not kept: gcc 12 made that of x,
         * without the rounding. */
        j->f->origin[i] = (float)x;
    }
    spl_parallel_for(pool, (size_t)s->vertex_count, BODY_PER_PIECE, load_points, j);
    find_stretch(j->u, j->f);
    if ((j->to->normal && j->u->has_normals) || j->u->lift) {
        spl_parallel_for(pool, (size_t)s->triangle_count, BODY_PER_PIECE, load_faces, j);
        spl_parallel_for(pool, (size_t)s->vertex_count, BODY_PER_PIECE, load_normals, j);
    }
    spl_parallel_for(pool, (size_t)j->u->vertex_count, VERTICES_PER_PIECE, run_piece, j);
    place_fixed(j);
}

void spl_upsample_apply_input(const spl_upsample *u, spl_upsample_frame *f, spl_pool *pool,
                              const spl_upsample_input *in, const spl_upsample_target *to)
{
    job j = {.u = u, .f = f, .body_double = in->body, .body_float = in->body_float, .to = to};
    j.avx2 = spl_cpu_has_avx2();
    f->delta = in->delta;
    f->normal_delta = u->has_normals ? in->normal_delta : NULL;
    apply(&j, pool);
    f->delta = f->normal_delta = NULL;
}

void spl_upsample_apply(const spl_upsample *u, spl_upsample_frame *f, spl_pool *pool, const double *body,
                        const spl_upsample_target *to)
{
    spl_upsample_apply_input(u, f, pool, &(spl_upsample_input){.body = body}, to);
}

void spl_upsample_apply_float(const spl_upsample *u, spl_upsample_frame *f, spl_pool *pool, const float *body,
                              const spl_upsample_target *to)
{
    spl_upsample_apply_input(u, f, pool, &(spl_upsample_input){.body_float = body}, to);
}
