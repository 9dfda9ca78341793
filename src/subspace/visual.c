/* The visual mesh in a model's file. */
#include "subspace/visual.h"

#include "body/upsample_map.h"
#include "body/upsample_store.h"
#include "core/error.h"
#include "core/memory.h"
#include "subspace/model.h"

#include <string.h>

enum { VERSION = 1, HEAD = 3, MOST = INT32_MAX / 8 };

void spl_visual_release(spl_visual *v, const supple_allocator *a)
{
    spl_surface *s = &v->surface;
    void *all[] = {v->triangle, v->flesh,  v->carrier_joint, v->carrier_map, v->first, v->carrier,      v->weight,
                   v->rest,     v->normal, s->position,      s->triangle,    s->map,   s->corner_first, s->corner};
    spl_upsample_destroy(v->map);
    spl_riders_release(&v->riders);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(a, all[k]);
    *v = (spl_visual){0};
}

bool spl_visual_link(spl_surface *s, const supple_allocator *a)
{
    size_t n = (size_t)s->vertex_count, corners = 3 * (size_t)s->triangle_count;
    s->corner_first = spl_new(a, n + 2, sizeof *s->corner_first);
    s->corner = spl_new(a, corners, sizeof *s->corner);
    if (!s->corner_first || !s->corner) return false;
    for (size_t k = 0; k < corners; k++) s->corner_first[s->triangle[k] + 2]++; /* one behind: filling moves them up */
    for (size_t v = 0; v < n; v++) s->corner_first[v + 2] += s->corner_first[v + 1];
    for (size_t k = 0; k < corners; k++) s->corner[s->corner_first[s->triangle[k] + 1]++] = (int32_t)k;
    return true;
}

/* ---- writing ---- */

static void add_riders(spl_store_writer *w, const spl_riders *r)
{
    size_t points = (size_t)r->point_count, riders = (size_t)r->vertex_count, body = (size_t)r->body_count;
    size_t entries = riders ? (size_t)r->first[points] : 0, links = riders ? (size_t)r->link_first[points] : 0;
    spl_store_add(w, "riders/vertex", SPL_STORE_I32, 1, riders, r->vertex, NULL);
    if (riders == 0) return;
    spl_store_add(w, "riders/point", SPL_STORE_I32, 1, riders, r->point, NULL);
    spl_store_add(w, "riders/known", SPL_STORE_I32, 1, points, r->known, NULL);
    spl_store_add(w, "riders/taken", SPL_STORE_U8, 1, points, r->taken, NULL);
    spl_store_add(w, "riders/first", SPL_STORE_I32, 1, points + 1, r->first, NULL);
    spl_store_add(w, "riders/index", SPL_STORE_I32, 1, entries, r->index, NULL);
    spl_store_add(w, "riders/weight", SPL_STORE_F32, 1, entries, r->weight, NULL);
    spl_store_add(w, "riders/link.first", SPL_STORE_I32, 1, points + 1, r->link_first, NULL);
    spl_store_add(w, "riders/link", SPL_STORE_I32, 1, links, r->link, NULL);
    spl_store_add(w, "riders/body", SPL_STORE_I32, 1, body, r->body, NULL);
    spl_store_add(w, "riders/skin.first", SPL_STORE_I32, 1, body + 1, r->skin_first, NULL);
    spl_store_add(w, "riders/skin.carrier", SPL_STORE_I32, 1, (size_t)r->skin_first[body], r->skin_node, NULL);
    spl_store_add(w, "riders/skin.weight", SPL_STORE_F32, 1, (size_t)r->skin_first[body], r->skin_weight, NULL);
    spl_store_add(w, "riders/rest", SPL_STORE_F64, 3, body, r->rest, NULL);
}

supple_result spl_visual_add(spl_store_writer *w, const spl_visual *v, supple_error *error)
{
    size_t n = (size_t)v->vertex_count, carriers = (size_t)v->carrier_count;
    const spl_surface *s = &v->surface;
    if (n == 0) return SUPPLE_OK;
    int32_t head[HEAD] = {VERSION, v->vertex_count, v->map->lift != NULL};
    spl_store_add(w, "visual/head", SPL_STORE_I32, 1, HEAD, head, NULL);
    spl_store_add(w, "visual/metre", SPL_STORE_F64, 1, 1, &v->metre, NULL);
    spl_store_add(w, "visual/triangle", SPL_STORE_I32, 3, (size_t)v->triangle_count, v->triangle, NULL);
    spl_store_add(w, "visual/surface.position", SPL_STORE_F64, 3, (size_t)s->vertex_count, s->position, NULL);
    spl_store_add(w, "visual/surface.triangle", SPL_STORE_I32, 3, (size_t)s->triangle_count, s->triangle, NULL);
    spl_store_add(w, "visual/surface.map", SPL_STORE_I32, 1, (size_t)s->input_vertex_count, s->map, NULL);
    spl_store_add(w, "visual/flesh", SPL_STORE_U8, 1, n, v->flesh, NULL);
    spl_store_add(w, "visual/carrier.joint", SPL_STORE_I32, 1, carriers, v->carrier_joint, NULL);
    spl_store_add(w, "visual/carrier.map", SPL_STORE_F64, 16, carriers, v->carrier_map, NULL);
    spl_store_add(w, "visual/first", SPL_STORE_I32, 1, n + 1, v->first, NULL);
    spl_store_add(w, "visual/carrier", SPL_STORE_I32, 1, (size_t)v->first[n], v->carrier, NULL);
    spl_store_add(w, "visual/weight", SPL_STORE_F32, 1, (size_t)v->first[n], v->weight, NULL);
    spl_store_add(w, "visual/rest", SPL_STORE_F32, 3, n, v->rest, NULL);
    spl_store_add(w, "visual/normal", SPL_STORE_F32, 3, n, v->normal, NULL);
    add_riders(w, &v->riders);
    return spl_upsample_put(w, v->map, error);
}

/* ---- reading ---- */

typedef struct reading {
    const spl_store_reader *reader;
    supple_error *error;
    supple_result result;
} reading;

/* A section as a copy of the mesh's own; count 0 and NULL once something went wrong. */
static void *take(reading *g, const char *name, spl_store_type type, uint32_t width, size_t low, size_t high,
                  int64_t lowest, int64_t highest, size_t *count)
{
    void *data = NULL;
    size_t n = 0;
    spl_store_want want = {name, type, width, low, high, lowest, highest, false};
    if (g->result == SUPPLE_OK) g->result = spl_store_copy(g->reader, &want, &data, &n, g->error);
    if (count) *count = g->result == SUPPLE_OK ? n : 0;
    return g->result == SUPPLE_OK ? data : NULL;
}

static void refuse(reading *g, const char *what)
{
    if (g->result == SUPPLE_OK) g->result = spl_fail(g->error, SUPPLE_ERROR_INPUT, "the model is damaged: %s", what);
}

/* Whether `first` begins at 0, never falls (rises, where each has one at least) and ends at `total`. */
static bool is_list(const int32_t *first, size_t count, size_t total, bool each)
{
    if (first[0] != 0 || (size_t)first[count] != total) return false;
    for (size_t k = 0; k < count; k++)
        if (first[k + 1] < first[k] + each) return false;
    return true;
}

static void take_surface(reading *g, const spl_rig *rig, const supple_allocator *a, spl_visual *v)
{
    spl_surface *s = &v->surface;
    size_t n = 0, triangles = 0, inputs = (size_t)rig->vertex_count;
    s->position = take(g, "visual/surface.position", SPL_STORE_F64, 3, 1, inputs, 0, 0, &n);
    s->triangle = take(g, "visual/surface.triangle", SPL_STORE_I32, 3, 1, MOST, 0, (int64_t)n - 1, &triangles);
    s->map = take(g, "visual/surface.map", SPL_STORE_I32, 1, inputs, inputs, -1, (int64_t)n - 1, NULL);
    if (g->result != SUPPLE_OK) return;
    s->vertex_count = (int32_t)n;
    s->triangle_count = (int32_t)triangles;
    s->input_vertex_count = rig->vertex_count;
    if (!spl_model_near((const double *)s->position, 3 * n)) refuse(g, "its surface is farther away than 1e12");
    uint8_t *seen = spl_new(a, n, sizeof *seen);
    size_t found = 0;
    for (size_t k = 0; seen && k < inputs; k++) {
        if (s->map[k] < 0 || seen[s->map[k]]) continue;
        seen[s->map[k]] = 1;
        found++;
    }
    if (!seen || !spl_visual_link(s, a))
        g->result = spl_fail_memory(g->error, "a model");
    else if (found != n)
        refuse(g, "its surface has vertices that nothing moves");
    spl_free(a, seen);
}

static bool are_weights(const spl_visual *v, size_t influences)
{
    if (!is_list(v->first, (size_t)v->vertex_count, influences, true)) return false;
    for (int32_t k = 0; k < v->vertex_count; k++) {
        double sum = 0;
        for (int32_t i = v->first[k]; i < v->first[k + 1]; i++) {
            if (!(v->weight[i] >= 0 && v->weight[i] <= 1)) return false;
            sum += (double)v->weight[i];
        }
        if (!(fabs(sum - 1) <= 1e-3)) return false;
    }
    return true;
}

static void take_skin(reading *g, const spl_rig *rig, spl_visual *v)
{
    size_t n = (size_t)v->vertex_count, carriers = 0, influences = 0, triangles = 0;
    v->triangle = take(g, "visual/triangle", SPL_STORE_I32, 3, 0, MOST, 0, (int64_t)n - 1, &triangles);
    v->flesh = take(g, "visual/flesh", SPL_STORE_U8, 1, n, n, 0, 1, NULL);
    v->carrier_joint =
        take(g, "visual/carrier.joint", SPL_STORE_I32, 1, 1, MOST, -1, (int64_t)rig->joint_count - 1, &carriers);
    v->carrier_map = take(g, "visual/carrier.map", SPL_STORE_F64, 16, carriers, carriers, 0, 0, NULL);
    v->first = take(g, "visual/first", SPL_STORE_I32, 1, n + 1, n + 1, 0, MOST, NULL);
    v->carrier = take(g, "visual/carrier", SPL_STORE_I32, 1, n, MOST, 0, (int64_t)carriers - 1, &influences);
    v->weight = take(g, "visual/weight", SPL_STORE_F32, 1, influences, influences, 0, 0, NULL);
    v->rest = take(g, "visual/rest", SPL_STORE_F32, 3, n, n, 0, 0, NULL);
    v->normal = take(g, "visual/normal", SPL_STORE_F32, 3, n, n, 0, 0, NULL);
    v->triangle_count = (int32_t)triangles;
    v->carrier_count = (int32_t)carriers;
    if (g->result != SUPPLE_OK) return;
    if (!are_weights(v, influences)) refuse(g, "its weights are none");
    if (!spl_model_near(v->carrier_map, 16 * carriers)) refuse(g, "a joint is farther away than 1e12");
}

static bool are_riders(const spl_visual *v, size_t entries, size_t links, size_t influences)
{
    const spl_riders *r = &v->riders;
    size_t points = (size_t)r->point_count, body = (size_t)r->body_count;
    for (int32_t k = 1; k < r->vertex_count; k++)
        if (r->vertex[k] <= r->vertex[k - 1]) return false;
    for (size_t p = 0; p < points; p++)
        if (r->known[p] >= 0 && !v->flesh[r->known[p]]) return false;
    return is_list(r->first, points, entries, false) && is_list(r->link_first, points, links, false) &&
           is_list(r->skin_first, body, influences, false) && spl_model_near((const double *)r->rest, 3 * body);
}

static void take_riders(reading *g, const spl_rig *rig, const supple_allocator *a, spl_visual *v)
{
    spl_riders *r = &v->riders;
    size_t n = (size_t)v->vertex_count, riders, points, entries, links, body, influences, carriers;
    carriers = (size_t)v->carrier_count;
    r->allocator = *a;
    r->vertex = take(g, "riders/vertex", SPL_STORE_I32, 1, 0, n, 0, (int64_t)n - 1, &riders);
    if (riders == 0) return;
    r->known = take(g, "riders/known", SPL_STORE_I32, 1, 1, n, -1, (int64_t)n - 1, &points);
    r->point = take(g, "riders/point", SPL_STORE_I32, 1, riders, riders, 0, (int64_t)points - 1, NULL);
    r->taken = take(g, "riders/taken", SPL_STORE_U8, 1, points, points, 0, 1, NULL);
    r->rest = take(g, "riders/rest", SPL_STORE_F64, 3, 0, (size_t)rig->vertex_count, 0, 0, &body);
    r->body = take(g, "riders/body", SPL_STORE_I32, 1, body, body, 0, (int64_t)rig->vertex_count - 1, NULL);
    r->first = take(g, "riders/first", SPL_STORE_I32, 1, points + 1, points + 1, 0, MOST, NULL);
    r->index = take(g, "riders/index", SPL_STORE_I32, 1, 0, MOST, 0, (int64_t)body - 1, &entries);
    r->weight = take(g, "riders/weight", SPL_STORE_F32, 1, entries, entries, 0, 0, NULL);
    r->link_first = take(g, "riders/link.first", SPL_STORE_I32, 1, points + 1, points + 1, 0, MOST, NULL);
    r->link = take(g, "riders/link", SPL_STORE_I32, 1, 0, MOST, 0, (int64_t)points - 1, &links);
    r->skin_first = take(g, "riders/skin.first", SPL_STORE_I32, 1, body + 1, body + 1, 0, MOST, NULL);
    r->skin_node = take(g, "riders/skin.carrier", SPL_STORE_I32, 1, 0, MOST, 0, (int64_t)carriers - 1, &influences);
    r->skin_weight = take(g, "riders/skin.weight", SPL_STORE_F32, 1, influences, influences, 0, 0, NULL);
    if (g->result != SUPPLE_OK) return;
    r->vertex_count = (int32_t)riders;
    r->point_count = (int32_t)points;
    r->body_count = (int32_t)body;
    r->node_count = v->carrier_count;
    r->home = spl_new(a, carriers, sizeof *r->home);
    if (r->home)
        memcpy(r->home, v->carrier_map, carriers * sizeof *r->home);
    else
        g->result = spl_fail_memory(g->error, "a model");
    if (g->result == SUPPLE_OK && !are_riders(v, entries, links, influences))
        refuse(g, "what follows its flesh does not");
}

static bool is_there(const spl_store_reader *r, const char *name)
{
    for (int32_t k = 0; k < spl_store_count(r); k++)
        if (strcmp(spl_store_name(r, k), name) == 0) return true;
    return false;
}

/* Whether flesh is what upsampling moves, and nothing else. */
static bool agree(const spl_visual *v)
{
    for (int32_t k = 0; k < v->vertex_count; k++)
        if (v->flesh[k] && v->map->vertex[k].count == 0) return false;
    return true;
}

supple_result spl_visual_read(const spl_store_reader *reader, const spl_rig *rig, const supple_allocator *a,
                              spl_visual *out, supple_error *error)
{
    reading g = {reader, error, SUPPLE_OK};
    const void *head = NULL, *metre = NULL;
    *out = (spl_visual){0};
    if (!is_there(reader, "visual/head")) return SUPPLE_OK; /* of an earlier version */
    spl_store_want numbers = {"visual/head", SPL_STORE_I32, 1, HEAD, HEAD, 0, MOST, false};
    spl_store_want real = {"visual/metre", SPL_STORE_F64, 1, 1, 1, 0, 0, false};
    g.result = spl_store_get(reader, &numbers, &head, NULL, error);
    if (g.result == SUPPLE_OK) g.result = spl_store_get(reader, &real, &metre, NULL, error);
    if (g.result != SUPPLE_OK) return g.result;
    const int32_t *h = head;
    out->vertex_count = h[1];
    out->metre = *(const double *)metre;
    if (h[0] != VERSION) refuse(&g, "its visual mesh is of another version: train it again");
    if (h[1] < 1 || h[2] > 1 || !(out->metre > 1e-12 && out->metre < 1e12)) refuse(&g, "its visual mesh has no size");
    take_surface(&g, rig, a, out);
    take_skin(&g, rig, out);
    take_riders(&g, rig, a, out);
    if (g.result == SUPPLE_OK) {
        spl_upsample_options o = {.kind = h[2] ? SPL_UPSAMPLE_ALONG_NORMAL : SPL_UPSAMPLE_QUADRATIC, .normals = true};
        spl_upsample_visual visual = {.vertex_count = out->vertex_count, .position = out->rest, .normal = out->normal};
        g.result = spl_upsample_take(reader, &out->surface, &visual, &o, a, &out->map, error);
    }
    if (g.result == SUPPLE_OK && !agree(out)) refuse(&g, "its flesh follows nothing");
    if (g.result != SUPPLE_OK) spl_visual_release(out, a);
    return g.result;
}
