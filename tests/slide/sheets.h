/* Skins on shapes with known answers. */
#ifndef SPL_TESTS_SLIDE_SHEETS_H
#define SPL_TESTS_SLIDE_SHEETS_H

#include "../geom/shapes.h"
#include "slide/dermis.h"

static inline spl_net sheet_net(const shape *s)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_net net;
    if (spl_net_make(s->position, s->vertex_count, s->triangle, s->triangle_count, &a, &net, NULL) != SUPPLE_OK)
        abort();
    return net;
}

static inline spl_dermis *sheet_skin(const shape *s, const spl_dermis_settings *set, const spl_dermis_parts *parts,
                                     spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_net net = sheet_net(s);
    spl_dermis *skin;
    if (spl_dermis_create(&net, set, parts, pool, &a, &skin, NULL) != SUPPLE_OK) abort();
    return skin;
}

/* A flat sheet from (0, 0) to (width, height) whose inner vertices are moved about. */
static inline shape sheet_irregular(int nu, int nv, double width, double height, double amount)
{
    shape s = shape_grid(nu, nv, shape_at_plane, (double[]){width, height});
    for (int j = 1; j < nv; j++)
        for (int i = 1; i < nu; i++) {
            double *p = s.position + 3 * (j * (nu + 1) + i);
            p[0] += amount * width / nu * shape_random();
            p[1] += amount * height / nv * shape_random();
        }
    return s;
}

/* Fixed on the border, free within. */
static inline uint8_t *sheet_hold_border(const spl_net *net)
{
    const spl_surface *f = &net->surface;
    uint8_t *hold = calloc((size_t)f->vertex_count + 1, 1);
    for (size_t t = 0; t < (size_t)f->triangle_count; t++)
        for (size_t k = 0; k < 3; k++)
            if (f->across[3 * t + k] < 0)
                hold[f->triangle[3 * t + k]] = hold[f->triangle[3 * t + (k + 1) % 3]] = SPL_HOLD_FIXED;
    return hold;
}

/* Moves skin about a little, at random but the same every time, by walks of up to `most` metres. */
static inline void sheet_shuffle(spl_dermis *s, double most)
{
    for (int32_t v = 0; v < s->net.surface.vertex_count; v++) {
        spl_vec3 d = shape_random_point(most);
        if (s->hold[v] != SPL_HOLD_FREE) continue;
        s->place[v] = spl_net_go(&s->net, &s->place[v], d);
        s->Y[v] = spl_surface_point(&s->net.surface, &s->place[v]);
    }
}

static inline double sheet_variance(const spl_dermis *s)
{
    size_t n = (size_t)s->net.surface.vertex_count;
    double *stretch = calloc(n + 1, sizeof *stretch), mean = 0, area = 0, sum = 0;
    spl_dermis_stretch(s, stretch);
    for (size_t v = 0; v < n; v++) {
        mean += s->patch[v] * stretch[v];
        area += s->patch[v];
    }
    mean /= area;
    for (size_t v = 0; v < n; v++) sum += s->patch[v] * (stretch[v] - mean) * (stretch[v] - mean) / area;
    free(stretch);
    return sum;
}

#endif
