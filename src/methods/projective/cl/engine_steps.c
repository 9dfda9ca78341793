/* The iterations on the device. */
#include "methods/projective/cl/engine_private.h"

#include <string.h>

enum { BLOCK = SPL_CL_BLOCK };

#define COUNT(array) ((cl_uint)(sizeof(array) / sizeof *(array)))
#define A            SPL_CL_ARGUMENT

static spl_cl_engine *engine_of(spl_pd_engine *base)
{
    return (spl_cl_engine *)base;
}

static cl_int id_of(const spl_cl_engine *e, const float *name)
{
    return (cl_int)(name - e->name);
}

/* ---- arguments that stay ---- */

static void bind_local(spl_cl_engine *e)
{
    cl_mem *b = e->buffer;
    spl_cl_kernel *k = e->kernel;
    cl_uint tets = (cl_uint)e->tet_count, stride = (cl_uint)e->node_count;
    cl_int zero = 0;
    const spl_cl_argument project[] = {A(b[SPL_B_SHARE]),
                                       A(tets),
                                       A(b[SPL_B_CORNER]),
                                       A(b[SPL_B_GRADIENT]),
                                       A(b[SPL_B_WEIGHT]),
                                       A(b[SPL_B_SPREAD]),
                                       A(b[SPL_B_HIGH]),
                                       A(b[SPL_B_LOW]),
                                       A(b[SPL_B_TURN]),
                                       A(b[SPL_B_FORCE]),
                                       A(zero),
                                       A(b[SPL_B_TET_PARTIAL]),
                                       SPL_CL_LOCAL(spl_cl_room(&k[SPL_K_PROJECT]))};
    spl_cl_arguments(&e->work, &k[SPL_K_PROJECT], project, COUNT(project));
    const spl_cl_argument press[] = {A(zero),
                                     A(b[SPL_B_TIE_VERTEX]),
                                     A(b[SPL_B_TIE_COEFFICIENT]),
                                     A(b[SPL_B_TIE_OFFSET_HIGH]),
                                     A(b[SPL_B_TIE_OFFSET_LOW]),
                                     A(b[SPL_B_TIE_NORMAL]),
                                     A(b[SPL_B_HIGH]),
                                     A(b[SPL_B_LOW]),
                                     A(b[SPL_B_TIE_PULL]),
                                     A(b[SPL_B_TIE_PARTIAL]),
                                     SPL_CL_LOCAL(spl_cl_room(&k[SPL_K_PRESS]))};
    spl_cl_arguments(&e->work, &k[SPL_K_PRESS], press, COUNT(press));
    const spl_cl_argument gather[] = {A(b[SPL_B_STORE]),
                                      A(stride),
                                      A(zero),
                                      A(b[SPL_B_GROUP]),
                                      A(b[SPL_B_VERTEX]),
                                      A(b[SPL_B_SLOT_START]),
                                      A(b[SPL_B_SLOT]),
                                      A(b[SPL_B_FORCE]),
                                      A(b[SPL_B_HIGH]),
                                      A(b[SPL_B_LOW]),
                                      A(b[SPL_B_ANCHOR_HIGH]),
                                      A(b[SPL_B_ANCHOR_LOW]),
                                      A(b[SPL_B_EXTERNAL]),
                                      A(b[SPL_B_BEGIN_HIGH]),
                                      A(b[SPL_B_BEGIN_LOW]),
                                      A(zero),
                                      A(b[SPL_B_TIE_START]),
                                      A(b[SPL_B_TIE]),
                                      A(b[SPL_B_TIE_SHARE]),
                                      A(b[SPL_B_TIE_PULL]),
                                      A(b[SPL_B_NODE_PARTIAL]),
                                      SPL_CL_LOCAL(spl_cl_room(&k[SPL_K_GATHER]))};
    spl_cl_arguments(&e->work, &k[SPL_K_GATHER], gather, COUNT(gather));
}

static void bind_gradients(spl_cl_engine *e)
{
    cl_mem *b = e->buffer;
    spl_cl_kernel *k = e->kernel;
    cl_uint stride = (cl_uint)e->node_count;
    cl_int zero = 0, r = SPL_V_CG_R, d = SPL_V_CG_D, q = SPL_V_CG_Q, wide = e->matrix.wide;
    const spl_cl_argument begin[] = {A(b[SPL_B_STORE]),
                                     A(stride),
                                     A(zero),
                                     A(r),
                                     A(d),
                                     A(b[SPL_B_DIAGONAL]),
                                     A(b[SPL_B_GROUP]),
                                     A(b[SPL_B_DELTA]),
                                     SPL_CL_LOCAL(spl_cl_room(&k[SPL_K_BEGIN]))};
    spl_cl_arguments(&e->work, &k[SPL_K_BEGIN], begin, COUNT(begin));
    const spl_cl_argument multiply[] = {A(b[SPL_B_STORE]),
                                        A(stride),
                                        A(d),
                                        A(q),
                                        A(b[SPL_B_DIAGONAL]),
                                        A(b[SPL_B_ELL_VALUE]),
                                        A(b[SPL_B_ELL_COLUMN]),
                                        A(b[SPL_B_REST_START]),
                                        A(b[SPL_B_REST_VALUE]),
                                        A(b[SPL_B_REST_COLUMN]),
                                        A(b[SPL_B_TOUCH_START]),
                                        A(b[SPL_B_TOUCH_VALUE]),
                                        A(b[SPL_B_TOUCH_COLUMN]),
                                        A(wide),
                                        A(zero),
                                        A(b[SPL_B_GROUP]),
                                        A(b[SPL_B_DQ]),
                                        A(e->piece),
                                        SPL_CL_LOCAL(e->piece * sizeof(cl_float4)),
                                        SPL_CL_LOCAL(BLOCK * sizeof(cl_float4)),
                                        SPL_CL_LOCAL(spl_cl_room(&k[SPL_K_MULTIPLY]))};
    spl_cl_arguments(&e->work, &k[SPL_K_MULTIPLY], multiply, COUNT(multiply));
    const spl_cl_argument step[] = {A(b[SPL_B_STORE]),
                                    A(stride),
                                    A(zero),
                                    A(r),
                                    A(d),
                                    A(q),
                                    A(b[SPL_B_DIAGONAL]),
                                    A(b[SPL_B_GROUP]),
                                    A(b[SPL_B_DELTA]),
                                    A(b[SPL_B_DQ]),
                                    A(b[SPL_B_DELTA_NEXT]),
                                    SPL_CL_LOCAL(spl_cl_room(&k[SPL_K_STEP]))};
    spl_cl_arguments(&e->work, &k[SPL_K_STEP], step, COUNT(step));
    const spl_cl_argument turn[] = {A(b[SPL_B_STORE]),
                                    A(stride),
                                    A(r),
                                    A(d),
                                    A(b[SPL_B_DIAGONAL]),
                                    A(b[SPL_B_GROUP]),
                                    A(b[SPL_B_DELTA]),
                                    A(b[SPL_B_DELTA_NEXT]),
                                    SPL_CL_LOCAL(spl_cl_room(&k[SPL_K_TURN]))};
    spl_cl_arguments(&e->work, &k[SPL_K_TURN], turn, COUNT(turn));
}

static void bind_vectors(spl_cl_engine *e)
{
    cl_mem *b = e->buffer;
    spl_cl_kernel *k = e->kernel;
    cl_uint stride = (cl_uint)e->node_count;
    cl_int zero = 0;
    cl_int8 which = {{0}};
    cl_int16 pair = {{0}};
    cl_float8 share = {{0}};
    const spl_cl_argument dots[] = {
        A(b[SPL_B_STORE]), A(stride),         A(zero),          A(pair),
        A(pair),           A(b[SPL_B_GROUP]), A(b[SPL_B_DOTS]), SPL_CL_LOCAL(spl_cl_room(&k[SPL_K_DOTS]))};
    spl_cl_arguments(&e->work, &k[SPL_K_DOTS], dots, COUNT(dots));
    const spl_cl_argument combine[] = {A(b[SPL_B_STORE]), A(stride), A(zero),  A(zero),
                                       A(zero),           A(which),  A(share), A(b[SPL_B_GROUP])};
    spl_cl_arguments(&e->work, &k[SPL_K_COMBINE], combine, COUNT(combine));
    const spl_cl_argument advance[] = {
        A(b[SPL_B_STORE]),     A(stride),        A(zero),         A(b[SPL_B_GROUP]),
        A(b[SPL_B_VERTEX]),    A(b[SPL_B_HIGH]), A(b[SPL_B_LOW]), A(b[SPL_B_BEFORE_HIGH]),
        A(b[SPL_B_BEFORE_LOW])};
    spl_cl_arguments(&e->work, &k[SPL_K_ADVANCE], advance, COUNT(advance));
    const spl_cl_argument back[] = {A(b[SPL_B_GROUP]), A(b[SPL_B_VERTEX]),      A(b[SPL_B_HIGH]),
                                    A(b[SPL_B_LOW]),   A(b[SPL_B_BEFORE_HIGH]), A(b[SPL_B_BEFORE_LOW])};
    spl_cl_arguments(&e->work, &k[SPL_K_GO_BACK], back, COUNT(back));
}

void spl_cl_engine_bind(spl_cl_engine *e)
{
    bind_local(e);
    bind_gradients(e);
    bind_vectors(e);
}

/* ---- the local step ---- */

static void add_partials(const spl_cl_engine *e, size_t count, double sum[4])
{
    for (int c = 0; c < 4; c++) sum[c] = 0;
    for (size_t g = 0; g < count; g++)
        for (int c = 0; c < 4; c++) sum[c] += (double)e->partial[g].s[c];
}

static void fetch_sums(spl_cl_engine *e, spl_pd_sums *sums)
{
    double sum[4] = {0};
    spl_cl_read(&e->work, e->buffer[SPL_B_TET_PARTIAL], e->partial, e->tet_groups * sizeof *e->partial, true);
    add_partials(e, e->tet_groups, sum);
    sums->energy = sum[0] + e->constant;
    if (e->tie_count > 0) {
        spl_cl_read(&e->work, e->buffer[SPL_B_TIE_PARTIAL], e->partial, e->tie_groups * sizeof *e->partial, true);
        add_partials(e, e->tie_groups, sum);
        sums->energy += sum[0];
    }
    spl_cl_read(&e->work, e->buffer[SPL_B_NODE_PARTIAL], e->partial, e->node_groups * sizeof *e->partial, true);
    add_partials(e, e->node_groups, sum);
    sums->squares = sum[0];
    sums->magnitude = sum[1];
    sums->energy += sum[2];
    if (e->work.failed != CL_SUCCESS) *sums = (spl_pd_sums){0};
}

void spl_cl_engine_evaluate(spl_pd_engine *base, const float *r, int newton, spl_pd_sums *sums)
{
    spl_cl_engine *e = engine_of(base);
    spl_cl_kernel *k = e->kernel;
    cl_int steps = newton, to = id_of(e, r), touches = e->tie_count > 0;
    spl_cl_argument_at(&e->work, &k[SPL_K_PROJECT], 10, A(steps));
    spl_cl_launch(&e->work, &k[SPL_K_PROJECT], e->tet_groups);
    if (touches) spl_cl_launch(&e->work, &k[SPL_K_PRESS], e->tie_groups);
    spl_cl_argument_at(&e->work, &k[SPL_K_GATHER], 2, A(to));
    spl_cl_argument_at(&e->work, &k[SPL_K_GATHER], 15, A(touches));
    spl_cl_launch(&e->work, &k[SPL_K_GATHER], e->node_groups);
    if (sums) fetch_sums(e, sums);
}

/* ---- the global step ---- */

int32_t spl_cl_engine_solve(spl_pd_engine *base, float *dx)
{
    spl_cl_engine *e = engine_of(base);
    spl_cl_kernel *k = e->kernel;
    spl_cl_work *w = &e->work;
    cl_int x = id_of(e, dx), touches = e->tie_count > 0;
    spl_cl_argument_at(w, &k[SPL_K_BEGIN], 2, A(x));
    spl_cl_argument_at(w, &k[SPL_K_STEP], 2, A(x));
    spl_cl_argument_at(w, &k[SPL_K_MULTIPLY], 14, A(touches));
    spl_cl_launch(w, &k[SPL_K_BEGIN], e->node_groups);
    for (int32_t i = 0; i < e->inner; i++) {
        cl_mem *gamma = &e->buffer[i % 2 ? SPL_B_DELTA_NEXT : SPL_B_DELTA];
        cl_mem *delta = &e->buffer[i % 2 ? SPL_B_DELTA : SPL_B_DELTA_NEXT];
        spl_cl_launch(w, &k[SPL_K_MULTIPLY], e->node_groups);
        spl_cl_argument_at(w, &k[SPL_K_STEP], 8, A(*gamma));
        spl_cl_argument_at(w, &k[SPL_K_STEP], 10, A(*delta));
        spl_cl_launch(w, &k[SPL_K_STEP], e->node_groups);
        if (i + 1 == e->inner) break; /* nobody needs the next direction */
        spl_cl_argument_at(w, &k[SPL_K_TURN], 6, A(*gamma));
        spl_cl_argument_at(w, &k[SPL_K_TURN], 7, A(*delta));
        spl_cl_launch(w, &k[SPL_K_TURN], e->node_groups);
    }
    return e->inner;
}

void spl_cl_engine_advance(spl_pd_engine *base, const float *dx)
{
    spl_cl_engine *e = engine_of(base);
    cl_int step = id_of(e, dx);
    spl_cl_argument_at(&e->work, &e->kernel[SPL_K_ADVANCE], 2, A(step));
    spl_cl_launch(&e->work, &e->kernel[SPL_K_ADVANCE], e->node_groups);
}

void spl_cl_engine_go_back(spl_pd_engine *base)
{
    spl_cl_engine *e = engine_of(base);
    spl_cl_launch(&e->work, &e->kernel[SPL_K_GO_BACK], e->node_groups);
}

/* ---- vectors ---- */

void spl_cl_engine_dots(void *self, int count, const float *const a[], const float *const b[], double out[])
{
    spl_cl_engine *e = self;
    spl_cl_kernel *k = &e->kernel[SPL_K_DOTS];
    cl_int many = count;
    cl_int16 first = {{0}}, second = {{0}};
    for (int i = 0; i < count; i++) first.s[i] = id_of(e, a[i]), second.s[i] = id_of(e, b[i]);
    spl_cl_argument_at(&e->work, k, 2, A(many));
    spl_cl_argument_at(&e->work, k, 3, A(first));
    spl_cl_argument_at(&e->work, k, 4, A(second));
    spl_cl_launch(&e->work, k, e->node_groups);
    spl_cl_read(&e->work, e->buffer[SPL_B_DOTS], e->partial, e->node_groups * 4 * sizeof *e->partial, true);
    for (int i = 0; i < count; i++) out[i] = 0;
    if (e->work.failed != CL_SUCCESS) return;
    for (size_t g = 0; g < e->node_groups; g++)
        for (int i = 0; i < count; i++) out[i] += (double)e->partial[4 * g + (size_t)i / 4].s[i % 4];
}

void spl_cl_engine_sum(void *self, const float *base, int count, const double s[], const float *const x[], float *out)
{
    spl_cl_engine *e = self;
    spl_cl_kernel *k = &e->kernel[SPL_K_COMBINE];
    cl_int many = count, from = id_of(e, base), to = id_of(e, out);
    cl_int8 which = {{0}};
    cl_float8 share = {{0}};
    for (int i = 0; i < count; i++) which.s[i] = id_of(e, x[i]), share.s[i] = (float)s[i];
    spl_cl_argument_at(&e->work, k, 2, A(from));
    spl_cl_argument_at(&e->work, k, 3, A(to));
    spl_cl_argument_at(&e->work, k, 4, A(many));
    spl_cl_argument_at(&e->work, k, 5, A(which));
    spl_cl_argument_at(&e->work, k, 6, A(share));
    spl_cl_launch(&e->work, k, e->node_groups);
}
