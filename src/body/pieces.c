#include "body/pieces.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <math.h>
#include <string.h>

#define ALIKE 0.95 /* of the weights in common with the piece's mean: below, a vertex differs */

/* ---- weights at a surface ---- */

/* The part that a vertex of the scene is in: parts are in vertex order. */
static int32_t part_of(const spl_part *part, int32_t part_count, int32_t vertex)
{
    int32_t low = 0, high = part_count;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (part[middle].first_vertex <= vertex)
            low = middle;
        else
            high = middle;
    }
    return low;
}

supple_result spl_skin_weights_make(const supple_scene *scene, const spl_part *part, int32_t part_count,
                                    const int32_t *merged_into, const spl_surface *s, const supple_allocator *a,
                                    int32_t *source, spl_skin_weights *w, supple_error *error)
{
    size_t n = (size_t)s->vertex_count, total = 0;
    *w = (spl_skin_weights){.first = spl_new(a, n + 1, sizeof *w->first)};
    if (!w->first) return spl_fail_memory(error, "the skin's weights");
    for (int32_t v = s->input_vertex_count - 1; v >= 0; v--)
        if (s->map[v] >= 0) source[s->map[v]] = v;
    for (size_t i = 0; i < n; i++) {
        w->first[i] = (int32_t)total;
        total += (size_t)part[part_of(part, part_count, source[i])].primitive->influence_count;
    }
    w->first[n] = (int32_t)total;
    w->node = spl_new(a, total, sizeof *w->node);
    w->weight = spl_new(a, total, sizeof *w->weight);
    if (!w->node || !w->weight) {
        spl_skin_weights_release(w, a);
        return spl_fail_memory(error, "the skin's weights");
    }
    for (size_t i = 0; i < n; i++) {
        const spl_part *p = &part[part_of(part, part_count, source[i])];
        const spl_skin *skin = &scene->skin[scene->instance[p->instance].skin];
        size_t K = (size_t)p->primitive->influence_count, at = (size_t)(source[i] - p->first_vertex) * K;
        for (size_t k = 0; k < K; k++) {
            w->node[(size_t)w->first[i] + k] = merged_into[skin->joint[p->primitive->joint[at + k]]];
            w->weight[(size_t)w->first[i] + k] = (double)p->primitive->weight[at + k];
        }
    }
    return SUPPLE_OK;
}

void spl_skin_weights_release(spl_skin_weights *w, const supple_allocator *a)
{
    spl_free(a, w->first);
    spl_free(a, w->node);
    spl_free(a, w->weight);
    *w = (spl_skin_weights){0};
}

/* The weight of a joint at a place. */
static double weight_at(const spl_surface *s, const spl_skin_weights *w, const spl_place *p, int32_t node)
{
    double sum = 0;
    for (size_t k = 0; k < 3; k++) {
        int32_t v = s->triangle[3 * (size_t)p->triangle + k];
        for (int32_t i = w->first[v]; i < w->first[v + 1]; i++)
            if (w->node[i] == node) sum += p->bary[k] * w->weight[i];
    }
    return sum;
}

double spl_weights_alike(const spl_surface *s, const spl_skin_weights *ws, const spl_place *p, const spl_surface *t,
                         const spl_skin_weights *wt, const spl_place *q)
{
    double shared = 0;
    for (size_t k = 0; k < 3; k++) {
        int32_t v = s->triangle[3 * (size_t)p->triangle + k];
        for (int32_t i = ws->first[v]; i < ws->first[v + 1]; i++) {
            int32_t node = ws->node[i];
            double here = weight_at(s, ws, p, node);
            /* A joint that comes up again at this or another corner shares once, by parts. */
            if (here > 0) shared += p->bary[k] * ws->weight[i] / here * fmin(here, weight_at(t, wt, q, node));
        }
    }
    return shared;
}

/* ---- the evidence ---- */

typedef struct work {
    const spl_part *part;
    int32_t part_count;
    spl_skin_pieces *out;
    double *area;       /* by surface vertex: a third of its triangles' */
    int32_t *order;     /* surface vertices, piece by piece */
    int32_t *first;     /* by piece, and one more: its vertices in `order` */
    double *mean;       /* by node */
    double *part_area;  /* by part */
    int32_t *border_of; /* by surface vertex: its border, as a set */
    double *length;     /* by surface vertex: of the border that bears its name */
    double *squares;    /* by piece: of its borders' lengths, summed */
} work;

double spl_triangle_area(const spl_surface *s, int32_t t)
{
    const int32_t *c = s->triangle + 3 * (size_t)t;
    spl_vec3 p = s->position[c[0]];
    return 0.5 * spl_norm(spl_cross(spl_sub(s->position[c[1]], p), spl_sub(s->position[c[2]], p)));
}

static void sort_vertices(work *w)
{
    const spl_surface *s = &w->out->surface;
    int32_t *of = w->out->of_vertex;
    for (int32_t v = 0; v < s->vertex_count; v++) of[v] = -1;
    for (int32_t t = 0; t < s->triangle_count; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t v = s->triangle[3 * (size_t)t + k];
            if (of[v] < 0) of[v] = s->component[t];
            w->area[v] += spl_triangle_area(s, t) / 3;
        }
    for (int32_t v = 0; v < s->vertex_count; v++) w->first[of[v] + 1]++;
    for (int32_t c = 0; c < w->out->count; c++) w->first[c + 1] += w->first[c];
    for (int32_t v = s->vertex_count; v-- > 0;) w->order[--w->first[of[v] + 1]] = v;
    memmove(w->first, w->first + 1, (size_t)w->out->count * sizeof *w->first);
    w->first[w->out->count] = s->vertex_count;
}

/* Borders: edges that hang together at their ends. */
static void measure_borders(work *w)
{
    const spl_surface *s = &w->out->surface;
    for (int32_t v = 0; v < s->vertex_count; v++) w->border_of[v] = v;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t t = 0; t < s->triangle_count; t++)
            for (size_t k = 0; k < 3; k++) {
                size_t c = 3 * (size_t)t + k;
                if (s->across[c] != SPL_EDGE_BORDER) continue;
                int32_t a = s->triangle[c], b = s->triangle[k == 2 ? c - 2 : c + 1];
                if (pass == 0)
                    spl_sets_join(w->border_of, a, b);
                else
                    w->length[spl_sets_root(w->border_of, a)] += spl_distance(s->position[a], s->position[b]);
            }
    for (int32_t v = 0; v < s->vertex_count; v++)
        if (w->length[v] > 0) w->squares[w->out->of_vertex[v]] += w->length[v] * w->length[v];
    for (int32_t c = 0; c < w->out->count; c++) {
        spl_skin_piece *p = &w->out->piece[c];
        p->area = s->area[c];
        p->closed = s->closed[c];
        p->openness = p->area > 0 ? w->squares[c] / p->area : 0;
        double ball = sqrt(p->area * p->area * p->area / (36 * 3.14159265358979323846));
        p->bulk = ball > 0 ? fmax(s->volume[c], 0) / ball : 0;
    }
}

static void measure_weights(work *w, int32_t c)
{
    const spl_skin_weights *sw = &w->out->weights;
    spl_skin_piece *p = &w->out->piece[c];
    double total = 0, differing = 0, blended = 0;
    for (int32_t i = w->first[c]; i < w->first[c + 1]; i++) {
        int32_t v = w->order[i];
        total += w->area[v];
        for (int32_t k = sw->first[v]; k < sw->first[v + 1]; k++)
            if (sw->node[k] >= 0) w->mean[sw->node[k]] += w->area[v] * sw->weight[k];
    }
    p->joint = -1;
    for (int32_t i = w->first[c]; i < w->first[c + 1] && total > 0; i++) {
        int32_t v = w->order[i];
        double shared = 0, most = 0;
        for (int32_t k = sw->first[v]; k < sw->first[v + 1]; k++) {
            int32_t node = sw->node[k];
            if (node < 0) continue;
            shared += fmin(sw->weight[k], w->mean[node] / total);
            most = fmax(most, sw->weight[k]);
            if (p->joint < 0 || w->mean[node] > w->mean[p->joint]) p->joint = node;
        }
        if (shared < ALIKE) differing += w->area[v];
        if (most < ALIKE) blended += w->area[v];
    }
    p->differing = total > 0 ? differing / total : 0;
    p->blended = total > 0 ? blended / total : 0;
    p->led = p->joint >= 0 ? w->mean[p->joint] / total : 0;
    for (int32_t i = w->first[c]; i < w->first[c + 1]; i++) /* the room is used again */
        for (int32_t k = sw->first[w->order[i]]; k < sw->first[w->order[i] + 1]; k++)
            if (sw->node[k] >= 0) w->mean[sw->node[k]] = 0;
}

/* Vertices stand for their triangles here: parts do not share them. */
static void find_main_part(work *w, int32_t c)
{
    spl_skin_piece *p = &w->out->piece[c];
    p->part = -1;
    for (int32_t i = w->first[c]; i < w->first[c + 1]; i++) {
        int32_t part = part_of(w->part, w->part_count, w->out->source[w->order[i]]);
        w->part_area[part] += w->area[w->order[i]];
        if (p->part < 0 || w->part_area[part] > w->part_area[p->part]) p->part = part;
    }
    for (int32_t i = w->first[c]; i < w->first[c + 1]; i++)
        w->part_area[part_of(w->part, w->part_count, w->out->source[w->order[i]])] = 0;
}

/* ---- making them ---- */

static supple_result make_surface(const supple_scene *scene, const spl_part *part, int32_t part_count,
                                  const float *position, spl_skin_pieces *out, supple_error *error)
{
    const supple_allocator *a = &out->allocator;
    size_t n = (size_t)scene->vertex_count, triangles = 0;
    for (int32_t i = 0; i < part_count; i++) triangles += (size_t)part[i].primitive->triangle_count;
    double *wide = spl_new(a, n, 3 * sizeof *wide);
    int32_t *triangle = spl_new(a, triangles, 3 * sizeof *triangle), count = 0, number = 0;
    out->scene_triangle = spl_new(a, triangles, sizeof *out->scene_triangle);
    supple_result result =
        wide && triangle && out->scene_triangle ? SUPPLE_OK : spl_fail_memory(error, "the character's pieces");
    for (size_t i = 0; result == SUPPLE_OK && i < 3 * n; i++) wide[i] = (double)position[i];
    for (int32_t i = 0; result == SUPPLE_OK && i < part_count; i++) {
        const spl_primitive *p = part[i].primitive;
        bool skinned = spl_part_skinned(scene, &part[i]);
        for (int32_t t = 0; t < p->triangle_count; t++, number++) {
            if (!skinned) continue;
            for (size_t k = 0; k < 3; k++)
                triangle[3 * (size_t)count + k] = p->triangle[3 * (size_t)t + k] + part[i].first_vertex;
            out->scene_triangle[count++] = number;
        }
    }
    if (result == SUPPLE_OK)
        result = spl_surface_make(wide, scene->vertex_count, triangle, count, a, &out->surface, error);
    spl_free(a, wide);
    spl_free(a, triangle);
    return result;
}

static supple_result gather(const supple_scene *scene, work *w, supple_error *error)
{
    spl_skin_pieces *out = w->out;
    const supple_allocator *a = &out->allocator;
    size_t n = (size_t)out->surface.vertex_count, c = (size_t)out->count;
    w->area = spl_new(a, n, sizeof *w->area);
    w->order = spl_new(a, n, sizeof *w->order);
    w->first = spl_new(a, c + 2, sizeof *w->first);
    w->mean = spl_new(a, (size_t)scene->node_count, sizeof *w->mean);
    w->part_area = spl_new(a, (size_t)w->part_count, sizeof *w->part_area);
    w->border_of = spl_new(a, n, sizeof *w->border_of);
    w->length = spl_new(a, n, sizeof *w->length);
    w->squares = spl_new(a, c, sizeof *w->squares);
    bool made = w->area && w->order && w->first && w->mean && w->part_area && w->border_of && w->length && w->squares;
    if (made) {
        sort_vertices(w);
        measure_borders(w);
        for (int32_t i = 0; i < out->count; i++) {
            measure_weights(w, i);
            find_main_part(w, i);
        }
    }
    void *block[] = {w->area, w->order, w->first, w->mean, w->part_area, w->border_of, w->length, w->squares};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the character's pieces");
}

supple_result spl_pieces_make(const supple_scene *scene, const spl_part *part, int32_t part_count,
                              const float *position, const int32_t *merged_into, const supple_allocator *a,
                              spl_skin_pieces *out, supple_error *error)
{
    *out = (spl_skin_pieces){.allocator = *a};
    supple_result result = make_surface(scene, part, part_count, position, out, error);
    if (result == SUPPLE_OK) {
        size_t n = (size_t)out->surface.vertex_count;
        out->count = out->surface.component_count;
        out->source = spl_new(a, n, sizeof *out->source);
        out->of_vertex = spl_new(a, n, sizeof *out->of_vertex);
        out->piece = spl_new(a, (size_t)out->count, sizeof *out->piece);
        if (!out->source || !out->of_vertex || !out->piece) result = spl_fail_memory(error, "the character's pieces");
    }
    if (result == SUPPLE_OK)
        result = spl_skin_weights_make(scene, part, part_count, merged_into, &out->surface, a, out->source,
                                       &out->weights, error);
    work w = {.part = part, .part_count = part_count, .out = out};
    if (result == SUPPLE_OK) result = gather(scene, &w, error);
    if (result != SUPPLE_OK) spl_pieces_release(out);
    return result;
}

void spl_pieces_release(spl_skin_pieces *p)
{
    const supple_allocator *a = &p->allocator;
    if (!a->release) return;
    spl_surface_release(&p->surface);
    spl_skin_weights_release(&p->weights, a);
    spl_free(a, p->source);
    spl_free(a, p->scene_triangle);
    spl_free(a, p->piece);
    spl_free(a, p->of_vertex);
    *p = (spl_skin_pieces){0};
}
