#include "contact/visual.h"

#include "contact/tet_tree.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"

#include <stdlib.h>
#include <string.h>

#define DEEP_EDGES 1.5 /* below the surface at rest */

/* ---- anchors ---- */

/* By vertex of body.skin: the shell's, the first where copies share a place. */
static int32_t *shell_of_skin(const spl_shell *s, const supple_allocator *a)
{
    const spl_surface *skin = &s->solid->body->skin;
    int32_t *of = spl_new(a, (size_t)skin->vertex_count, sizeof *of);
    for (int32_t v = s->vertex_count - 1; of && v >= 0; v--)
        if (skin->map[s->vertex[v]] >= 0) of[skin->map[s->vertex[v]]] = v;
    return of;
}

/* The nearest of those that a vertex is upsampled from; false if there are none. */
static bool find_anchors(const spl_visual_points *v, int32_t scene_vertex, spl_vec3 at, const int32_t *of_skin,
                         int32_t *anchor)
{
    const spl_shell *s = v->near->shell;
    int32_t index[SPL_UPSAMPLE_MOST_NEIGHBOURS];
    float weight[SPL_UPSAMPLE_MOST_NEIGHBOURS];
    double square[SPL_VISUAL_ANCHORS];
    int32_t n =
        spl_upsample_weights(s->solid->body->upsample, scene_vertex, SPL_UPSAMPLE_MOST_NEIGHBOURS, index, weight);
    for (int k = 0; k < SPL_VISUAL_ANCHORS; k++) {
        anchor[k] = -1;
        square[k] = INFINITY;
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t u = of_skin[index[i]];
        spl_vec3 d = spl_sub(spl_shell_point(s->rest, s->vertex[u]), at);
        double far = spl_dot(d, d);
        for (int k = 0; k < SPL_VISUAL_ANCHORS; k++) { /* insertion: the farther one moves on */
            if (!(far < square[k])) continue;
            double other = square[k];
            int32_t moved = anchor[k];
            square[k] = far;
            anchor[k] = u;
            far = other;
            u = moved;
        }
    }
    return anchor[0] >= 0;
}

static spl_vec3 rest_of(const spl_shell *s, int32_t scene_vertex)
{
    const spl_drive *d = &s->solid->drive;
    spl_vec3 p = spl_v3_from_float(s->solid->body->bind + 3 * (size_t)scene_vertex);
    return spl_scale(spl_mat3_apply(&d->stretch, p), s->solid->body->metre);
}

static void add_part(spl_visual_points *v, int32_t part, const int32_t *of_skin)
{
    const spl_shell *s = v->near->shell;
    const spl_part *p = &s->solid->body->part[part];
    for (int32_t i = 0; i < p->primitive->vertex_count; i++) {
        int32_t vertex = p->first_vertex + i;
        if (s->solid->body->roles.vertex[vertex] != SUPPLE_ROLE_FLESH) continue;
        spl_vec3 at = rest_of(s, vertex);
        if (!find_anchors(v, vertex, at, of_skin, v->anchor + SPL_VISUAL_ANCHORS * (size_t)v->count)) continue;
        v->vertex[v->count] = vertex;
        v->rest[v->count++] = at;
    }
}

static supple_result add_points(spl_visual_points *v, supple_error *error)
{
    const spl_shell *s = v->near->shell;
    const spl_body *body = s->solid->body;
    const supple_allocator *a = &v->allocator;
    size_t n = 0;
    for (int32_t i = 0; i < body->part_count; i++)
        if (spl_body_has_flesh(body, i)) n += (size_t)body->part[i].primitive->vertex_count;
    int32_t *of_skin = shell_of_skin(s, a);
    v->vertex = spl_new(a, n, sizeof *v->vertex);
    v->rest = spl_new(a, n, sizeof *v->rest);
    v->anchor = spl_new(a, n, SPL_VISUAL_ANCHORS * sizeof *v->anchor);
    v->first = spl_new(a, n + 1, sizeof *v->first);
    bool ok = of_skin && v->vertex && v->rest && v->anchor && v->first;
    for (int32_t i = 0; ok && i < body->part_count; i++)
        if (spl_body_has_flesh(body, i)) add_part(v, i, of_skin);
    spl_free(a, of_skin);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the visual mesh");
}

/* ---- what overlaps at rest ---- */

typedef struct rest_search {
    spl_visual_points *v;
    int32_t point;
    int32_t *list; /* growing: body vertices */
    size_t count, room;
    bool failed;
} rest_search;

static bool append(rest_search *r, int32_t vertex)
{
    if (r->count == r->room) {
        size_t room = 2 * r->room + 64;
        int32_t *grown = spl_resize(&r->v->allocator, r->list, room, sizeof *grown);
        if (!grown) return false;
        r->list = grown;
        r->room = room;
    }
    r->list[r->count++] = vertex;
    return true;
}

/* A tet that holds a point at rest and is none of its neighbours: it and the tets around it are left out for good. */
static void keep_apart(void *context, int32_t tet)
{
    rest_search *r = context;
    const spl_shell *s = r->v->near->shell;
    const int32_t *c = s->tet + 4 * (size_t)tet;
    double bary[4];
    if (r->failed || !spl_shell_bary(s, tet, s->rest, r->v->rest[r->point], bary)) return;
    for (int k = 0; k < 4; k++)
        if (!(bary[k] >= -1e-9)) return;
    for (int k = 0; k < SPL_VISUAL_ANCHORS && r->v->anchor[SPL_VISUAL_ANCHORS * (size_t)r->point + (size_t)k] >= 0; k++)
        if (spl_near_any(r->v->near, r->v->anchor[SPL_VISUAL_ANCHORS * (size_t)r->point + (size_t)k], c, 4)) return;
    for (int k = 0; k < 4; k++)
        for (size_t i = s->stars.start[c[k]]; i < s->stars.start[c[k] + 1]; i++)
            for (size_t n = 0; n < 4; n++)
                r->failed = r->failed || !append(r, s->tet[4 * (size_t)(s->stars.corner[i] / 4) + n]);
}

static int by_number(const void *a, const void *b)
{
    int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
    return (p > q) - (p < q);
}

static void move_point(spl_visual_points *v, int32_t to, int32_t from)
{
    v->vertex[to] = v->vertex[from];
    v->rest[to] = v->rest[from];
    memmove(v->anchor + SPL_VISUAL_ANCHORS * (size_t)to, v->anchor + SPL_VISUAL_ANCHORS * (size_t)from,
            SPL_VISUAL_ANCHORS * sizeof *v->anchor);
}

/* Whether a point in tets far from its anchors is deep below the surface. */
static bool is_deep(const spl_tree *surface, const spl_shell *s, spl_vec3 p)
{
    spl_hit hit;
    return !spl_tree_nearest(surface, p, DEEP_EDGES * s->edge, -1, &hit);
}

static supple_result find_overlaps(spl_visual_points *v, const spl_tet_tree *tets, const spl_tree *surface,
                                   supple_error *error)
{
    rest_search r = {.v = v};
    int32_t kept = 0;
    for (int32_t i = 0; i < v->count && !r.failed; i++) {
        size_t begin = r.count;
        r.point = i;
        spl_tet_tree_at(tets, v->rest[i], keep_apart, &r);
        if (r.count > begin) {
            if (is_deep(surface, v->near->shell, v->rest[i])) {
                r.count = begin;
                continue;
            }
            qsort(r.list + begin, r.count - begin, sizeof *r.list, by_number);
            size_t to = begin + 1;
            for (size_t k = begin + 1; k < r.count; k++)
                if (r.list[k] != r.list[to - 1]) r.list[to++] = r.list[k];
            r.count = to;
        }
        move_point(v, kept, i);
        v->first[kept++] = (int32_t)begin;
    }
    v->first[kept] = (int32_t)r.count;
    v->count = kept;
    v->apart = r.list;
    return r.failed ? spl_fail_memory(error, "what overlaps at rest") : SUPPLE_OK;
}

/* ---- creation ---- */

static supple_result build(spl_visual_points *v, supple_error *error)
{
    const spl_shell *s = v->near->shell;
    spl_tet_tree tets;
    spl_tree surface;
    supple_result result = add_points(v, error);
    if (result != SUPPLE_OK) return result;
    result = spl_tet_tree_create(s->tet, s->tet_count, s->rest, &v->allocator, &tets, error);
    if (result != SUPPLE_OK) return result;
    result = spl_tree_make((const spl_vec3 *)(const void *)s->rest, s->triangle, s->triangle_count, &v->allocator,
                           &surface, error);
    if (result == SUPPLE_OK) {
        result = find_overlaps(v, &tets, &surface, error);
        spl_tree_release(&surface);
    }
    spl_tet_tree_release(&tets);
    return result;
}

supple_result spl_visual_points_create(const spl_near *near, spl_visual_points *out, supple_error *error)
{
    *out = (spl_visual_points){.near = near, .allocator = near->allocator};
    supple_result result = build(out, error);
    if (result != SUPPLE_OK) spl_visual_points_release(out);
    return result;
}

void spl_visual_points_release(spl_visual_points *v)
{
    const supple_allocator *a = &v->allocator;
    if (!a->release) return;
    spl_free(a, v->vertex);
    spl_free(a, v->rest);
    spl_free(a, v->anchor);
    spl_free(a, v->first);
    spl_free(a, v->apart);
    *v = (spl_visual_points){0};
}

bool spl_visual_near(const spl_visual_points *v, int32_t point, const int32_t *vertex, int count)
{
    const int32_t *anchor = v->anchor + SPL_VISUAL_ANCHORS * (size_t)point;
    for (int k = 0; k < SPL_VISUAL_ANCHORS && anchor[k] >= 0; k++)
        if (spl_near_any(v->near, anchor[k], vertex, count)) return true;
    size_t first = (size_t)v->first[point], n = (size_t)v->first[point + 1] - first;
    for (int k = 0; n > 0 && k < count; k++)
        if (bsearch(&vertex[k], v->apart + first, n, sizeof *v->apart, by_number)) return true;
    return false;
}
