/* A body, a visual mesh and the map between them, moved by known motions: for the tests of upsampling. */
#ifndef SPL_TESTS_UPSAMPLE_RIG_H
#define SPL_TESTS_UPSAMPLE_RIG_H

#include "body/upsample.h"
#include "body/upsample_map.h"
#include "geom/shapes.h"
#include "test.h"

typedef spl_vec3 motion(spl_vec3 p, const double *parameter);

typedef struct rig {
    shape body;
    spl_surface *surface; /* the map keeps its address */
    int32_t count;        /* visual vertices */
    float *rest, *rest_normal, *out, *normal;
    double *moved; /* the body's */
    spl_upsample *u;
    spl_upsample_frame *f;
    spl_pool *pool;
    double diagonal;
    spl_upsample_visual mesh; /* what the map was made of */
} rig;

static inline spl_vec3 point_of(const double *p)
{
    return spl_v3(p[0], p[1], p[2]);
}

static inline void rig_release(rig *r)
{
    spl_upsample_frame_destroy(r->f);
    spl_upsample_destroy(r->u);
    spl_surface_release(r->surface);
    free(r->surface);
    shape_free(&r->body);
    spl_pool_destroy(r->pool);
    free(r->rest);
    free(r->rest_normal);
    free(r->out);
    free(r->normal);
    free(r->moved);
}

/* Makes the map anew, out of the rest positions and normals as they are now. */
static inline void rig_map(rig *r, const shape *visual, const spl_upsample_options *options,
                           spl_upsample_accept *accept, const void *context)
{
    supple_allocator a = spl_allocator_of(NULL);
    r->mesh = (spl_upsample_visual){.vertex_count = r->count,
                                    .position = r->rest,
                                    .normal = r->rest_normal,
                                    .triangle_count = visual->triangle_count,
                                    .triangle = visual->triangle,
                                    .accept = accept,
                                    .accept_context = context};
    spl_upsample_frame_destroy(r->f);
    spl_upsample_destroy(r->u);
    if (spl_upsample_create(r->surface, &r->mesh, options, r->pool, &a, &r->u, NULL) != SUPPLE_OK) abort();
    if (spl_upsample_frame_create(r->u, &a, &r->f, NULL) != SUPPLE_OK) abort();
}

/* Takes over the body; copies the visual mesh, with the normals of its own surface. */
static inline rig rig_make(shape body, const shape *visual, const spl_upsample_options *options, int32_t threads)
{
    rig r = {.body = body, .surface = malloc(sizeof(spl_surface)), .count = visual->vertex_count};
    *r.surface = shape_surface(&body);
    supple_config config = supple_config_default();
    size_t n = (size_t)r.count * 3 + 1;
    config.thread_count = threads;
    r.rest = calloc(n, sizeof(float));
    r.rest_normal = calloc(n, sizeof(float));
    r.out = calloc(n, sizeof(float));
    r.normal = calloc(n, sizeof(float));
    r.moved = calloc((size_t)body.vertex_count * 3 + 1, sizeof(double));
    r.diagonal = r.surface->diagonal;
    for (int32_t i = 0; i < 3 * r.count; i++) r.rest[i] = (float)visual->position[i];
    spl_surface skin = shape_surface(visual);
    for (int32_t v = 0; v < r.count; v++) {
        spl_vec3 normal = skin.map[v] >= 0 ? skin.normal[skin.map[v]] : spl_v3(0, 0, 1);
        spl_v3_to_float(normal, r.rest_normal + 3 * v);
    }
    spl_surface_release(&skin);
    if (spl_pool_create(&config, &r.pool, NULL) != SUPPLE_OK) abort();
    rig_map(&r, visual, options, NULL, NULL);
    return r;
}

static inline void rig_move_body(rig *r, motion *move, const double *parameter)
{
    for (int32_t v = 0; v < r->body.vertex_count; v++) {
        spl_vec3 p = move(point_of(r->body.position + 3 * v), parameter);
        memcpy(r->moved + 3 * v, &p, sizeof p);
    }
}

static inline void rig_move(rig *r, motion *move, const double *parameter)
{
    rig_move_body(r, move, parameter);
    spl_upsample_target to = {r->out, 12, r->normal, 12};
    spl_upsample_apply(r->u, r->f, r->pool, r->moved, &to);
}

/* How far the visual vertices are from where the motion takes them: the largest and the root mean square. */
static inline double rig_error(rig *r, motion *move, const double *parameter, double *rms)
{
    double worst = 0, sum = 0;
    rig_move(r, move, parameter);
    for (int32_t v = 0; v < r->count; v++) {
        double e = spl_distance(move(spl_v3_from_float(r->rest + 3 * v), parameter), spl_v3_from_float(r->out + 3 * v));
        worst = e >= worst ? e : (isnan(e) ? INFINITY : worst);
        sum += e * e;
    }
    if (rms) *rms = sqrt(sum / r->count);
    return worst;
}

/* ---- visual meshes ----------------------------------------------------------------------------------------------- */

/* Appends a mesh, moved along z; frees it. */
static inline void shape_join(shape *s, shape part, double z)
{
    shape both = shape_new(s->vertex_count + part.vertex_count, s->triangle_count + part.triangle_count);
    memcpy(both.position, s->position, (size_t)s->vertex_count * 3 * sizeof(double));
    memcpy(both.triangle, s->triangle, (size_t)s->triangle_count * 3 * sizeof(int32_t));
    for (int32_t i = 0; i < 3 * part.vertex_count; i++)
        both.position[3 * s->vertex_count + i] = part.position[i] + (i % 3 == 2 ? z : 0);
    for (int32_t i = 0; i < 3 * part.triangle_count; i++)
        both.triangle[3 * s->triangle_count + i] = part.triangle[i] + s->vertex_count;
    shape_free(s);
    shape_free(&part);
    *s = both;
}

/* Every kind of vertex for a body that is the unit sphere: skin, an eye below it, and hair so far off that it follows.
 */
static inline shape shape_head(void)
{
    shape s = shape_sphere(20, 1);
    shape_join(&s, shape_sphere(8, 0.15), 0.8);
    shape_join(&s, shape_sphere(12, 1.6), 0);
    return s;
}

/* ---- motions ----------------------------------------------------------------------------------------------------- */

static inline spl_vec3 stay(spl_vec3 p, const double *parameter)
{
    (void)parameter;
    return p;
}
static const double affine_map[12] = {1.2, 0.3, -0.1, 0.2, 0.8, 0.25, -0.3, 0.1, 1.1, 0.5, -0.7, 0.9};
static const double rigid_map[12] = {0.36, 0.48, -0.8, -0.8, 0.6, 0, 0.48, 0.64, 0.6, 0.4, -1.5, 0.2};
static inline spl_vec3 affine(spl_vec3 p, const double *m) /* three columns and a translation */
{
    return spl_v3(m[0] * p.x + m[3] * p.y + m[6] * p.z + m[9], m[1] * p.x + m[4] * p.y + m[7] * p.z + m[10],
                  m[2] * p.x + m[5] * p.y + m[8] * p.z + m[11]);
}
static inline spl_vec3 collapse(spl_vec3 p, const double *parameter)
{
    (void)p;
    (void)parameter;
    return spl_v3(0.25, 0.5, -1);
}
/* Bends the z axis into a circle of the curvature parameter[0]. */
static inline spl_vec3 bend(spl_vec3 p, const double *parameter)
{
    double c = parameter[0], a = c * p.z, radius = 1 / c - p.x;
    return spl_v3(1 / c - radius * cos(a), p.y, radius * sin(a));
}

static inline spl_upsample_options with(spl_upsample_kind kind, int32_t k)
{
    return (spl_upsample_options){kind, k, true};
}

#endif
