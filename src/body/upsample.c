#include "body/upsample.h"

#include "body/upsample_map.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/weld.h"

#include <math.h>
#include <string.h>

spl_upsample_options spl_upsample_options_default(void)
{
    return (spl_upsample_options){SPL_UPSAMPLE_QUADRATIC, 20, true};
}

/* ---- distinct positions ------------------------------------------------------------------------------------------ */

static bool finite3(const float *p)
{
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

/* One number for each position; vertices that are not finite stand apart, each for itself. */
static supple_result weld_points(const spl_upsample_visual *visual, spl_upsample_points *p, const supple_allocator *a,
                                 supple_error *error)
{
    size_t n = (size_t)visual->vertex_count;
    float *clean = spl_new(a, 3 * n, sizeof *clean);
    if (!clean) return spl_fail_memory(error, "the visual mesh");
    for (size_t v = 0; v < n; v++)
        if (finite3(visual->position + 3 * v)) memcpy(clean + 3 * v, visual->position + 3 * v, 3 * sizeof *clean);
    supple_result result = spl_weld(clean, visual->vertex_count, 0, a, p->of, &p->count, error);
    spl_free(a, clean);
    if (result != SUPPLE_OK) return result;
    for (size_t v = 0; v < n; v++)
        if (!finite3(visual->position + 3 * v)) p->of[v] = p->count++;
    return SUPPLE_OK;
}

static bool allocate_points(spl_upsample_points *p, const supple_allocator *a)
{
    size_t n = (size_t)p->count;
    p->position = spl_new(a, n, sizeof *p->position);
    p->normal = spl_new(a, n, sizeof *p->normal);
    p->part = spl_new(a, n, sizeof *p->part);
    p->component = spl_new(a, n, sizeof *p->component);
    p->redirect = spl_new(a, n, sizeof *p->redirect);
    p->place = spl_new(a, n, sizeof *p->place);
    p->distance = spl_new(a, n, sizeof *p->distance);
    p->first = spl_new(a, n + 1, sizeof *p->first);
    p->refused = spl_new(a, n, sizeof *p->refused);
    return p->position && p->normal && p->part && p->component && p->redirect && p->place && p->distance && p->first &&
           p->refused;
}

static void release_points(spl_upsample_points *p, const supple_allocator *a)
{
    void *block[] = {p->of,    p->position, p->normal, p->part,   p->component, p->redirect,
                     p->place, p->distance, p->first,  p->vertex, p->refused};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
}

/* The vertices at each point, ascending. */
static void list_vertices(const spl_upsample_visual *visual, spl_upsample_points *p)
{
    for (int32_t v = 0; v < visual->vertex_count; v++) p->first[p->of[v] + 1]++;
    for (int32_t i = 0; i < p->count; i++) p->first[i + 1] += p->first[i];
    for (int32_t v = visual->vertex_count; v-- > 0;) p->vertex[--p->first[p->of[v] + 1]] = v;
    /* each first[i + 1] now stands where first[i] should */
    memmove(p->first, p->first + 1, (size_t)p->count * sizeof *p->first);
    p->first[p->count] = visual->vertex_count;
}

static void fill_points(const spl_upsample_visual *visual, spl_upsample_points *p)
{
    list_vertices(visual, p);
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t *member = p->vertex + p->first[i];
        int32_t count = p->first[i + 1] - p->first[i];
        if (count == 0) { /* where the zeros stood that stand for vertices that are not finite */
            p->part[i] = SPL_UPSAMPLE_FIXED;
            continue;
        }
        for (int32_t m = 0; m < count; m++) {
            size_t v = (size_t)member[m];
            spl_vec3 normal = visual->normal ? spl_v3_from_float(visual->normal + 3 * v) : spl_v3(0, 0, 0);
            if (spl_v3_finite(normal)) p->normal[i] = spl_add(p->normal[i], spl_unit(normal, spl_v3(0, 0, 0)));
        }
        p->position[i] = spl_v3_from_float(visual->position + 3 * (size_t)member[0]);
        p->part[i] = SPL_UPSAMPLE_SKIN;
        if (!spl_v3_finite(p->position[i])) {
            p->part[i] = SPL_UPSAMPLE_FIXED;
            p->position[i] = spl_v3(0, 0, 0);
        }
    }
}

static supple_result make_points(const spl_upsample_visual *visual, spl_upsample_points *p, const supple_allocator *a,
                                 supple_error *error)
{
    p->of = spl_new(a, (size_t)visual->vertex_count, sizeof *p->of);
    p->vertex = spl_new(a, (size_t)visual->vertex_count, sizeof *p->vertex);
    if (!p->of || !p->vertex) return spl_fail_memory(error, "the visual mesh");
    supple_result result = weld_points(visual, p, a, error);
    if (result != SUPPLE_OK) return result;
    if (!allocate_points(p, a)) return spl_fail_memory(error, "the visual mesh");
    fill_points(visual, p);
    spl_upsample_connect(visual, p);
    return SUPPLE_OK;
}

/* ---- vertices without weights ------------------------------------------------------------------------------------ */

static supple_result list_fixed(spl_upsample *u, const spl_upsample_visual *visual, const spl_upsample_points *p,
                                supple_error *error)
{
    for (int32_t v = 0; v < visual->vertex_count; v++) u->fixed_count += p->part[p->of[v]] == SPL_UPSAMPLE_FIXED;
    u->fixed = spl_new(&u->allocator, (size_t)u->fixed_count, sizeof *u->fixed);
    if (!u->fixed) return spl_fail_memory(error, "vertices that stay");
    spl_upsample_fixed *fixed = u->fixed;
    for (int32_t v = 0; v < visual->vertex_count; v++) {
        if (p->part[p->of[v]] != SPL_UPSAMPLE_FIXED) continue;
        *fixed = (spl_upsample_fixed){.vertex = v};
        memcpy(fixed->position, visual->position + 3 * (size_t)v, sizeof fixed->position);
        const float *normal = visual->normal ? visual->normal + 3 * (size_t)v : NULL;
        if (normal && finite3(normal))
            memcpy(fixed->normal, normal, sizeof fixed->normal);
        else
            fixed->normal[2] = 1; /* as for skin whose normals cancel */
        fixed++;
    }
    return SUPPLE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static supple_result check(const spl_surface *surface, const spl_upsample_visual *visual,
                           const spl_upsample_options *options, supple_error *error)
{
    if (options->neighbours < 3 || options->neighbours > SPL_UPSAMPLE_MOST_NEIGHBOURS)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "upsampling takes 3 to %d neighbours, not %d",
                        SPL_UPSAMPLE_MOST_NEIGHBOURS, options->neighbours);
    if (visual->vertex_count < 0 || visual->triangle_count < 0)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "the visual mesh has a negative size");
    for (int64_t i = 0; visual->triangle && i < 3 * (int64_t)visual->triangle_count; i++)
        if (visual->triangle[i] < 0 || visual->triangle[i] >= visual->vertex_count)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "triangle %d of the visual mesh has a vertex out of range",
                            (int)(i / 3));
    if (surface->triangle_count == 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "the body has no surface for the visual mesh to follow");
    if (surface->vertex_count > INT32_MAX / SPL_UPSAMPLE_STRIDE)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "the body's surface has too many vertices");
    return SUPPLE_OK;
}

/* Skin farther from the surface than its patch is wide, about k vertices at the mean distance, follows instead: a
 * polynomial of the patch would be extrapolated. */
static void send_far_away(const spl_upsample_options *options, spl_upsample_points *p)
{
    double width = 0.53 * sqrt(options->neighbours) * p->mean_edge;
    for (int32_t i = 0; i < p->count; i++)
        if (p->part[i] == SPL_UPSAMPLE_SKIN && p->distance[i] > width) p->part[i] = SPL_UPSAMPLE_FOLLOW;
}

static supple_result fill(spl_upsample *u, const spl_upsample_visual *visual, const spl_upsample_options *options,
                          spl_upsample_points *p, const spl_upsample_searches *searches, spl_pool *pool,
                          supple_error *error)
{
    const spl_surface *s = u->surface;
    supple_result result = spl_upsample_read_surface(u, error);
    if (result == SUPPLE_OK) result = make_points(visual, p, &u->allocator, error);
    p->mean_edge = spl_surface_mean_edge(s);
    p->visual = visual;
    p->source = u->source;
    if (result == SUPPLE_OK) result = spl_upsample_place(s, p, searches, pool, &u->allocator, error);
    if (result != SUPPLE_OK) return result;
    send_far_away(options, p);
    result = list_fixed(u, visual, p, error);
    return result == SUPPLE_OK ? spl_upsample_fit(u, visual, options, p, searches, pool, error) : result;
}

supple_result spl_upsample_create(const spl_surface *surface, const spl_upsample_visual *visual,
                                  const spl_upsample_options *options, spl_pool *pool, const supple_allocator *a,
                                  spl_upsample **out, supple_error *error)
{
    *out = NULL;
    supple_result result = check(surface, visual, options, error);
    if (result != SUPPLE_OK) return result;
    spl_upsample *u = spl_new(a, 1, sizeof *u);
    if (!u) return spl_fail_memory(error, "upsampling weights");
    *u = (spl_upsample){.surface = surface, .vertex_count = visual->vertex_count, .allocator = *a};
    u->has_normals = options->normals && visual->normal;
    spl_tree tree;
    spl_upsample_searches searches = {0};
    spl_upsample_points points = {.tree = &tree};
    result = spl_tree_make(surface->position, surface->triangle, surface->triangle_count, a, &tree, error);
    if (result == SUPPLE_OK)
        result = spl_upsample_searches_make(spl_pool_thread_count(pool), surface->vertex_count, a, &searches, error);
    if (result == SUPPLE_OK) result = fill(u, visual, options, &points, &searches, pool, error);
    spl_upsample_searches_release(&searches, a);
    release_points(&points, a);
    spl_tree_release(&tree);
    if (result == SUPPLE_OK)
        *out = u;
    else
        spl_upsample_destroy(u);
    return result;
}
