#include "contact/shell.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"

#define SLANTED 0.3 /* cosine between a way out and the normal, below which the way follows a border */

enum { WALK_STEPS = 32, DESCENT_STEPS = 256 };

/* ---- creation ---- */

static supple_result number_vertices(spl_shell *s, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    s->slot = spl_new(a, (size_t)s->body_count, sizeof *s->slot);
    if (!s->slot) return spl_fail_memory(error, "the contact surface");
    for (int32_t i = 0; i < 3 * s->triangle_count; i++) s->slot[s->triangle[i]] = 1;
    for (int32_t v = 0; v < s->body_count; v++) s->slot[v] = s->slot[v] ? s->vertex_count++ : -1;
    s->vertex = spl_new(a, (size_t)s->vertex_count, sizeof *s->vertex);
    s->outside = spl_new(a, (size_t)s->triangle_count, sizeof *s->outside);
    s->corner_first = spl_new(a, (size_t)s->vertex_count + 1, sizeof *s->corner_first);
    s->corner = spl_new(a, 3 * (size_t)s->triangle_count, sizeof *s->corner);
    s->nearest = spl_new(a, (size_t)s->body_count, sizeof *s->nearest);
    s->normal = spl_new(a, (size_t)s->vertex_count, sizeof *s->normal);
    s->thickness = spl_new(a, (size_t)s->vertex_count, sizeof *s->thickness);
    if (!s->vertex || !s->outside || !s->corner_first || !s->corner || !s->nearest || !s->normal || !s->thickness)
        return spl_fail_memory(error, "the contact surface");
    for (int32_t v = 0; v < s->body_count; v++)
        if (s->slot[v] >= 0) s->vertex[s->slot[v]] = v;
    return SUPPLE_OK;
}

static void list_corners(spl_shell *s)
{
    int32_t *first = s->corner_first;
    for (int32_t i = 0; i < 3 * s->triangle_count; i++) first[s->slot[s->triangle[i]] + 1]++;
    for (int32_t v = 0; v < s->vertex_count; v++) first[v + 1] += first[v];
    for (int32_t i = 0; i < 3 * s->triangle_count; i++) s->corner[first[s->slot[s->triangle[i]]]++] = i / 3;
    for (int32_t v = s->vertex_count; v > 0; v--) first[v] = first[v - 1]; /* filling moved each to its end */
    first[0] = 0;
}

static void mark_outside(spl_shell *s)
{
    const int32_t *prism = s->solid->body->prism;
    for (int32_t t = 0; t < s->triangle_count; t++) s->outside[t] = !prism;
    for (int32_t k = 0; prism && k < s->tet_count; k++)
        if (prism[k] >= 0 && prism[k] < s->triangle_count) s->outside[prism[k]] = true;
}

static double mean_edge(const double *x, const int32_t *corner, int32_t count, size_t corners)
{
    double sum = 0;
    int32_t n = 0;
    for (int32_t t = 0; t < count; t++)
        for (size_t i = 0; i < corners; i++)
            for (size_t k = 0; k < i; k++, n++)
                sum += spl_distance(spl_shell_point(x, corner[corners * (size_t)t + i]),
                                    spl_shell_point(x, corner[corners * (size_t)t + k]));
    return n ? sum / n : 1;
}

/* Labels spread from the surface inwards along edges, ring by ring; within a ring the least distance to the labelled
 * vertex wins, the lower vertex on ties. `queue` has room for all vertices. */
static void spread_nearest(spl_shell *s, int32_t *queue)
{
    int32_t begin = 0, end = 0;
    for (int32_t v = 0; v < s->body_count; v++) {
        s->nearest[v] = s->slot[v];
        if (s->slot[v] >= 0) queue[end++] = v;
    }
    for (; begin < end; begin++) {
        int32_t v = queue[begin];
        spl_vec3 at = spl_shell_point(s->rest, s->vertex[s->nearest[v]]);
        for (size_t i = s->stars.start[v]; i < s->stars.start[v + 1]; i++)
            for (size_t k = 0; k < 4; k++) {
                int32_t w = s->tet[4 * (size_t)(s->stars.corner[i] / 4) + k];
                spl_vec3 p = spl_shell_point(s->rest, w);
                if (s->nearest[w] < 0) {
                    queue[end++] = w;
                } else {
                    spl_vec3 other = spl_shell_point(s->rest, s->vertex[s->nearest[w]]);
                    if (!(spl_distance(p, at) < spl_distance(p, other))) continue;
                }
                s->nearest[w] = s->nearest[v];
            }
    }
    for (int32_t v = 0; v < s->body_count;
         v++) /* a piece without a surface: there is none in tets that passed checks */
        if (s->nearest[v] < 0) s->nearest[v] = 0;
}

typedef struct thickness_work {
    spl_shell *shell;
    const spl_tree *tree;
} thickness_work;

/* How far a ray into the flesh goes before it leaves it again. */
static void find_thickness(void *context, size_t begin, size_t end)
{
    thickness_work *w = context;
    spl_shell *s = w->shell;
    for (size_t v = begin; v < end; v++) {
        spl_hit hit;
        spl_vec3 in = spl_scale(s->normal[v], -1);
        spl_vec3 from = spl_madd(spl_shell_point(s->rest, s->vertex[v]), in, 1e-3 * s->edge);
        s->thickness[v] = spl_tree_ray(w->tree, from, in, INFINITY, &hit) ? hit.distance : INFINITY;
    }
}

static supple_result measure_rest(spl_shell *s, spl_pool *pool, supple_error *error)
{
    for (int32_t v = 0; v < s->vertex_count; v++) {
        int32_t t = s->corner[s->corner_first[v]];
        spl_shell_place at = {.triangle = t};
        for (int k = 0; k < 3; k++) at.bary[k] = s->triangle[3 * (size_t)t + (size_t)k] == s->vertex[v];
        s->normal[v] = spl_shell_normal(s, s->rest, &at);
    }
    spl_tree tree;
    supple_result result = spl_tree_make((const spl_vec3 *)(const void *)s->rest, s->triangle, s->triangle_count,
                                         &s->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    thickness_work work = {s, &tree};
    spl_parallel_for(pool, (size_t)s->vertex_count, 256, find_thickness, &work);
    spl_tree_release(&tree);
    return SUPPLE_OK;
}

static supple_result build(spl_shell *s, spl_pool *pool, supple_error *error)
{
    supple_result result = number_vertices(s, error);
    if (result == SUPPLE_OK) result = spl_stars_create(&s->solid->elements, &s->allocator, &s->stars, error);
    if (result != SUPPLE_OK) return result;
    int32_t *queue = spl_new(&s->allocator, (size_t)s->body_count, sizeof *queue);
    if (!queue) return spl_fail_memory(error, "the contact surface");
    list_corners(s);
    mark_outside(s);
    spread_nearest(s, queue);
    spl_free(&s->allocator, queue);
    s->edge = mean_edge(s->rest, s->triangle, s->triangle_count, 3);
    s->tet_edge = mean_edge(s->rest, s->tet, s->tet_count, 4);
    return measure_rest(s, pool, error);
}

supple_result spl_shell_create(const spl_solid *solid, spl_pool *pool, spl_shell *out, supple_error *error)
{
    const spl_tets *t = &solid->body->tets;
    *out = (spl_shell){.allocator = solid->allocator,
                       .solid = solid,
                       .rest = solid->drive.rest,
                       .body_count = t->vertex_count,
                       .tet_count = t->tet_count,
                       .tet = t->tet,
                       .triangle_count = t->surface_count,
                       .triangle = t->surface};
    supple_result result = build(out, pool, error);
    if (result != SUPPLE_OK) spl_shell_release(out);
    return result;
}

void spl_shell_release(spl_shell *s)
{
    const supple_allocator *a = &s->allocator;
    if (!a->release) return;
    spl_stars_release(&s->stars);
    spl_free(a, s->vertex);
    spl_free(a, s->slot);
    spl_free(a, s->outside);
    spl_free(a, s->corner_first);
    spl_free(a, s->corner);
    spl_free(a, s->nearest);
    spl_free(a, s->normal);
    spl_free(a, s->thickness);
    *s = (spl_shell){0};
}

/* ---- places ---- */

bool spl_shell_bary(const spl_shell *s, int32_t tet, const double *x, spl_vec3 p, double bary[4])
{
    const int32_t *c = s->tet + 4 * (size_t)tet;
    spl_vec3 o = spl_shell_point(x, c[0]), d = spl_sub(p, o);
    spl_vec3 e1 = spl_sub(spl_shell_point(x, c[1]), o), e2 = spl_sub(spl_shell_point(x, c[2]), o);
    spl_vec3 e3 = spl_sub(spl_shell_point(x, c[3]), o), n = spl_cross(e2, e3);
    double det = spl_dot(e1, n);
    if (!(det > 0)) return false;
    bary[1] = spl_dot(d, n) / det;
    bary[2] = spl_dot(d, spl_cross(e3, e1)) / det;
    bary[3] = spl_dot(d, spl_cross(e1, e2)) / det;
    bary[0] = 1 - bary[1] - bary[2] - bary[3];
    return true;
}

spl_vec3 spl_shell_target(const spl_shell *s, const double *x, const spl_shell_place *at)
{
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (size_t k = 0; k < 3; k++)
        sum = spl_madd(sum, spl_shell_point(x, s->triangle[3 * (size_t)at->triangle + k]), at->bary[k]);
    return sum;
}

void spl_shell_around(const spl_shell *s, const double *x, spl_vec3 p, int32_t vertex, spl_shell_refuse *refuse,
                      const void *context, spl_shell_place *best)
{
    for (int32_t i = s->corner_first[vertex]; i < s->corner_first[vertex + 1]; i++) {
        int32_t t = s->corner[i];
        const int32_t *c = s->triangle + 3 * (size_t)t;
        double bary[3];
        if (t == best->triangle || !s->outside[t]) continue;
        double square =
            spl_triangle_nearest(p, spl_shell_point(x, c[0]), spl_shell_point(x, c[1]), spl_shell_point(x, c[2]), bary);
        if (!(square < best->square) || (refuse && refuse(context, t))) continue;
        *best = (spl_shell_place){t, {bary[0], bary[1], bary[2]}, square};
    }
}

static bool has_vertex(const spl_shell *s, int32_t t, int32_t vertex)
{
    const int32_t *c = s->triangle + 3 * (size_t)t;
    return c[0] == vertex || c[1] == vertex || c[2] == vertex;
}

/* The corners that a place lies between: three inside its triangle, two on an edge, one at a corner. */
static int corners_of(const spl_shell *s, const spl_shell_place *at, int32_t on[3])
{
    int count = 0;
    for (size_t k = 0; k < 3; k++)
        if (at->bary[k] > 0) on[count++] = s->triangle[3 * (size_t)at->triangle + k];
    return count;
}

/* A place on an edge or at a corner belongs to several triangles, and rounding decides in which of them it was found.
 * Here it is the first that is allowed: where a walk starts, and so where it ends, must not depend on rounding
 * (docs/device.md has what that did). */
static void name_triangle(const spl_shell *s, spl_shell_refuse *refuse, const void *context, spl_shell_place *at)
{
    int32_t on[3];
    int count = at->triangle < 0 ? 3 : corners_of(s, at, on);
    if (count == 3 || count == 0) return;
    for (int32_t v = s->slot[on[0]], i = s->corner_first[v]; s->corner[i] < at->triangle; i++) {
        int32_t t = s->corner[i];
        if (!s->outside[t] || (count == 2 && !has_vertex(s, t, on[1])) || (refuse && refuse(context, t))) continue;
        const int32_t *from = s->triangle + 3 * (size_t)at->triangle, *to = s->triangle + 3 * (size_t)t;
        double bary[3] = {0};
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                if (to[j] == from[k]) bary[j] = at->bary[k];
        *at = (spl_shell_place){t, {bary[0], bary[1], bary[2]}, at->square};
        return;
    }
}

void spl_shell_walk(const spl_shell *s, const double *x, spl_vec3 p, spl_shell_refuse *refuse, const void *context,
                    spl_shell_place *best)
{
    name_triangle(s, refuse, context, best);
    for (int step = 0; step < WALK_STEPS && best->triangle >= 0; step++) {
        int32_t from = best->triangle;
        for (size_t k = 0; k < 3; k++)
            spl_shell_around(s, x, p, s->slot[s->triangle[3 * (size_t)from + k]], refuse, context, best);
        name_triangle(s, refuse, context, best);
        if (best->triangle == from) return;
    }
}

int32_t spl_shell_descend(const spl_shell *s, const double *x, spl_vec3 p, int32_t start)
{
    double least = spl_distance(p, spl_shell_point(x, s->vertex[start]));
    for (int step = 0; step < DESCENT_STEPS; step++) {
        int32_t at = start;
        for (int32_t i = s->corner_first[at]; i < s->corner_first[at + 1]; i++)
            for (size_t k = 0; k < 3; k++) {
                int32_t v = s->triangle[3 * (size_t)s->corner[i] + k];
                double d = spl_distance(p, spl_shell_point(x, v));
                if (!(d < least)) continue;
                least = d;
                start = s->slot[v];
            }
        if (start == at) break;
    }
    return start;
}

/* ---- normals ---- */

static spl_vec3 face_cross(const spl_shell *s, const double *x, int32_t t)
{
    const int32_t *c = s->triangle + 3 * (size_t)t;
    spl_vec3 o = spl_shell_point(x, c[0]);
    return spl_cross(spl_sub(spl_shell_point(x, c[1]), o), spl_sub(spl_shell_point(x, c[2]), o));
}

static spl_vec3 face_normal(const spl_shell *s, const double *x, int32_t t)
{
    return spl_unit(face_cross(s, x, t), spl_v3(0, 0, 0));
}

/* The angle of a triangle at one of its vertices. */
static double angle_at(const spl_shell *s, const double *x, int32_t t, int32_t vertex)
{
    const int32_t *c = s->triangle + 3 * (size_t)t;
    int k = c[0] == vertex ? 0 : c[1] == vertex ? 1 : 2;
    spl_vec3 o = spl_shell_point(x, c[k]), a = spl_sub(spl_shell_point(x, c[(k + 1) % 3]), o);
    spl_vec3 b = spl_sub(spl_shell_point(x, c[(k + 2) % 3]), o);
    return atan2(spl_norm(spl_cross(a, b)), spl_dot(a, b));
}

spl_vec3 spl_shell_normal(const spl_shell *s, const double *x, const spl_shell_place *at)
{
    int32_t on[3];
    int count = corners_of(s, at, on);
    if (count == 3 || count == 0) return face_normal(s, x, at->triangle);
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (int32_t v = s->slot[on[0]], i = s->corner_first[v]; i < s->corner_first[v + 1]; i++) {
        int32_t t = s->corner[i];
        if (count == 2 && !has_vertex(s, t, on[1])) continue;
        sum = spl_madd(sum, face_normal(s, x, t), count == 2 ? 1 : angle_at(s, x, t, on[0]));
    }
    return spl_unit(sum, face_normal(s, x, at->triangle));
}

bool spl_shell_way_at(const spl_shell *s, const double *x, spl_vec3 p, const spl_shell_place *at, spl_shell_way *way)
{
    way->normal = spl_shell_normal(s, x, at);
    way->target = spl_shell_target(s, x, at);
    spl_vec3 out = spl_sub(way->target, p);
    double length = spl_norm(out), along = spl_dot(out, way->normal);
    if (length > 1e-6 * s->edge) {
        if (!(fabs(along) >= SLANTED * length)) return false;
        way->normal = spl_scale(out, (along > 0 ? 1 : -1) / length);
    }
    way->depth = spl_dot(out, way->normal);
    return spl_dot(way->normal, way->normal) > 0.5;
}

/* The triangle nearest to a place in a tet at rest, found from the places of the surface that are nearest to the tet's
 * corners: they may lie on several sides of an edge of the body. */
static int32_t nearest_at_rest(const spl_shell *s, int32_t tet, const double bary[4])
{
    const int32_t *c = s->tet + 4 * (size_t)tet;
    spl_vec3 p = spl_v3(0, 0, 0);
    for (int k = 0; k < 4; k++) p = spl_madd(p, spl_shell_point(s->rest, c[k]), bary[k]);
    spl_shell_place best = {.triangle = -1, .square = INFINITY};
    int32_t tried[4];
    for (int k = 0; k < 4; k++) {
        tried[k] = spl_shell_descend(s, s->rest, p, s->nearest[c[k]]);
        bool again = false;
        for (int i = 0; i < k; i++) again = again || tried[i] == tried[k];
        if (again) continue;
        spl_shell_place at = {.triangle = -1, .square = INFINITY};
        spl_shell_around(s, s->rest, p, tried[k], NULL, NULL, &at);
        spl_shell_walk(s, s->rest, p, NULL, NULL, &at);
        if (at.square < best.square) best = at;
    }
    return best.triangle;
}

int32_t spl_shell_exit(const spl_shell *s, int32_t tet, const double *x, spl_vec3 p)
{
    const int32_t *prism = s->solid->body->prism;
    double bary[4];
    if (prism) return prism[tet];
    return spl_shell_bary(s, tet, x, p, bary) ? nearest_at_rest(s, tet, bary) : -1;
}
