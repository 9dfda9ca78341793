/* The visual mesh as a viewer wants it. */
#include "core/error.h"
#include "core/memory.h"
#include "geom/weld.h"
#include "show/points.h"

#include <string.h>
#include <supple/tools.h>

typedef struct display {
    supple_display base; /* first: it is what the caller holds */
    supple_allocator allocator;
    const supple_scene *scene;
    spl_part *part;
    int32_t part_count;
    int32_t *point;
    uint32_t *index;
    float *uv;
    supple_display_group *group;
} display;

/* While one part is added: its vertices, by place. */
typedef struct welding {
    int32_t *place;  /* by vertex of the part */
    int32_t *head;   /* by place: a display vertex there, or -1 */
    int32_t *next;   /* by display vertex: another one at its place, or -1 */
    int32_t *from;   /* by display vertex: the vertex of its part */
    int32_t *number; /* by vertex of the part: its display vertex */
} welding;

/* Equal in all that a viewer shows and all that moves them; they are at one place already. */
static bool same_vertex(const spl_primitive *p, int32_t a, int32_t b)
{
    size_t k = (size_t)p->influence_count, x = (size_t)a, y = (size_t)b;
    if (p->id && p->id[a] != p->id[b]) return false;
    if (p->uv && memcmp(p->uv + 2 * x, p->uv + 2 * y, 2 * sizeof *p->uv) != 0) return false;
    if (k > 0 && memcmp(p->joint + k * x, p->joint + k * y, k * sizeof *p->joint) != 0) return false;
    if (k > 0 && memcmp(p->weight + k * x, p->weight + k * y, k * sizeof *p->weight) != 0) return false;
    for (int32_t t = 0; t < p->target_count; t++) {
        const float *d = p->target[t].position;
        if (d && memcmp(d + 3 * x, d + 3 * y, 3 * sizeof *d) != 0) return false;
    }
    return true;
}

static void add_vertex(display *d, const spl_part *part, int32_t vertex, welding *w)
{
    const spl_primitive *p = part->primitive;
    int32_t place = w->place[vertex], n = w->head[place];
    while (n >= 0 && !same_vertex(p, w->from[n], vertex)) n = w->next[n];
    if (n < 0) {
        n = d->base.vertex_count++;
        w->from[n] = vertex;
        w->next[n] = w->head[place];
        w->head[place] = n;
        d->point[n] = spl_part_point(d->scene, part, vertex);
        if (p->uv) memcpy(d->uv + 2 * (size_t)n, p->uv + 2 * (size_t)vertex, 2 * sizeof *p->uv);
    }
    w->number[vertex] = n;
}

static void set_material(const supple_scene *scene, int32_t material, bool has_uv, supple_display_group *g)
{
    static const float clay[4] = {0.50f, 0.48f, 0.46f, 1}; /* as show/show.c has it */
    memcpy(g->color, clay, sizeof g->color);
    if (material < 0 || material >= scene->material_count) return;
    const spl_material *m = &scene->material[material];
    g->double_sided = m->double_sided;
    g->masked = m->alpha == SPL_ALPHA_MASK;
    g->blended = m->alpha == SPL_ALPHA_BLEND;
    g->alpha_cutoff = m->alpha_cutoff;
    bool image = m->base_color_image >= 0 && m->base_color_image < scene->image_count;
    if (image && !scene->image[m->base_color_image].data) return; /* it is missing: clay */
    memcpy(g->color, m->base_color, sizeof g->color);
    if (!image || !has_uv) return;
    g->image = scene->image[m->base_color_image].data;
    g->image_size = scene->image[m->base_color_image].size;
}

static supple_result add_part(display *d, const spl_part *part, welding *w, supple_error *error)
{
    const spl_primitive *p = part->primitive;
    int32_t places;
    if (p->triangle_count == 0) return SUPPLE_OK;
    supple_result r = spl_weld(p->position, p->vertex_count, 0, &d->allocator, w->place, &places, error);
    if (r != SUPPLE_OK) return r;
    for (int32_t i = 0; i < places; i++) w->head[i] = -1;
    supple_display_group *g = &d->group[d->base.group_count++];
    *g = (supple_display_group){.name = spl_instance_name(d->scene, part->instance),
                                .first = d->base.triangle_count,
                                .count = p->triangle_count};
    set_material(d->scene, p->material, p->uv != NULL, g);
    for (int32_t v = 0; v < p->vertex_count; v++) add_vertex(d, part, v, w);
    for (size_t i = 0; i < 3 * (size_t)p->triangle_count; i++)
        d->index[3 * (size_t)g->first + i] = (uint32_t)w->number[p->triangle[i]];
    d->base.triangle_count += p->triangle_count;
    return SUPPLE_OK;
}

static supple_result build(display *d, welding *w, supple_error *error)
{
    const supple_allocator *a = &d->allocator;
    size_t n = (size_t)d->scene->vertex_count;
    bool any_uv = false;
    d->part = spl_parts_new(d->scene, a, &d->part_count);
    d->point = spl_new(a, n, sizeof *d->point);
    d->index = spl_new(a, (size_t)d->scene->triangle_count, 3 * sizeof *d->index);
    d->uv = spl_new(a, n, 2 * sizeof *d->uv);
    d->group = d->part ? spl_new(a, (size_t)d->part_count, sizeof *d->group) : NULL;
    w->place = spl_new(a, n, sizeof *w->place);
    w->head = spl_new(a, n, sizeof *w->head);
    w->next = spl_new(a, n, sizeof *w->next);
    w->from = spl_new(a, n, sizeof *w->from);
    w->number = spl_new(a, n, sizeof *w->number);
    if (!d->part || !d->point || !d->index || !d->uv || !d->group || !w->place || !w->head || !w->next || !w->from ||
        !w->number)
        return spl_fail_memory(error, "the mesh to show");
    for (int32_t i = 0; i < d->part_count; i++) {
        supple_result r = add_part(d, &d->part[i], w, error);
        if (r != SUPPLE_OK) return r;
        any_uv = any_uv || d->part[i].primitive->uv;
    }
    d->base.point_count = d->scene->point_count;
    d->base.point = d->point;
    d->base.index = d->index;
    d->base.uv = any_uv ? d->uv : NULL;
    d->base.groups = d->group;
    return SUPPLE_OK;
}

supple_result supple_display_create(const supple_scene *scene, const supple_config *config, supple_display **out,
                                    supple_error *error)
{
    *out = NULL;
    supple_result r = spl_config_check(config, error);
    if (r != SUPPLE_OK) return r;
    supple_allocator a = spl_allocator_of(config);
    display *d = spl_new(&a, 1, sizeof *d);
    if (!d) return spl_fail_memory(error, "the mesh to show");
    d->allocator = a;
    d->scene = scene;
    welding w = {0};
    r = build(d, &w, error);
    spl_free(&a, w.place);
    spl_free(&a, w.head);
    spl_free(&a, w.next);
    spl_free(&a, w.from);
    spl_free(&a, w.number);
    if (r == SUPPLE_OK)
        *out = &d->base;
    else
        supple_display_destroy(&d->base);
    return r;
}

void supple_display_destroy(supple_display *base)
{
    if (!base) return;
    display *d = (display *)base;
    supple_allocator a = d->allocator;
    spl_free(&a, d->part);
    spl_free(&a, d->point);
    spl_free(&a, d->index);
    spl_free(&a, d->uv);
    spl_free(&a, d->group);
    spl_free(&a, d);
}

void supple_display_place(const supple_display *base, const float *points, float *out)
{
    const display *d = (const display *)base;
    for (size_t i = 0; i < (size_t)base->vertex_count; i++)
        memcpy(out + 3 * i, points + 3 * (size_t)d->point[i], 3 * sizeof *out);
    spl_scene_upright(d->scene, out, (size_t)base->vertex_count);
}
