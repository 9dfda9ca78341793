#include "contact/collider.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/surface.h"
#include "geom/winding.h"

/* A closed mesh in motion. Inside is where the generalized winding number is more than a half, whatever the pieces of
 * the mesh do to each other; where to come out is the nearest point of its surface. */
typedef struct mesh {
    int32_t vertex_count, triangle_count;
    int32_t *source;    /* by vertex: the first input vertex at its place */
    int32_t *triangle;  /* 3 x triangle_count */
    spl_vec3 *position; /* vertex_count */
    spl_vec3 low, high;
    bool turned; /* its motion has turned it inside out */
    spl_tree tree;
    spl_winding winding;
} mesh;

typedef struct collider {
    spl_collider_shape shape; /* planes: b is unit */
    mesh *mesh;               /* SPL_COLLIDER_MESH */
} collider;

struct spl_colliders {
    supple_allocator allocator;
    int32_t count;
    collider *item;
};

/* ---- creation ---- */

supple_result spl_colliders_create(const supple_allocator *a, spl_colliders **out, supple_error *error)
{
    *out = spl_new(a, 1, sizeof **out);
    if (!*out) return spl_fail_memory(error, "the colliders");
    (*out)->allocator = *a;
    return SUPPLE_OK;
}

static void free_mesh(mesh *m, const supple_allocator *a)
{
    if (!m) return;
    spl_winding_release(&m->winding);
    spl_tree_release(&m->tree);
    spl_free(a, m->source);
    spl_free(a, m->triangle);
    spl_free(a, m->position);
    spl_free(a, m);
}

void spl_colliders_destroy(spl_colliders *c)
{
    if (!c) return;
    supple_allocator a = c->allocator;
    for (int32_t i = 0; i < c->count; i++) free_mesh(c->item[i].mesh, &a);
    spl_free(&a, c->item);
    spl_free(&a, c);
}

int32_t spl_colliders_count(const spl_colliders *c)
{
    return c ? c->count : 0;
}

static supple_result add(spl_colliders *c, mesh *m, supple_error *error)
{
    collider *more = spl_resize(&c->allocator, c->item, (size_t)c->count + 1, sizeof *more);
    if (!more) return spl_fail_memory(error, "the colliders");
    c->item = more;
    c->item[c->count++] = (collider){.shape = {.kind = SPL_COLLIDER_MESH}, .mesh = m};
    return SUPPLE_OK;
}

supple_result spl_colliders_add(spl_colliders *c, const spl_collider_shape *shape, supple_error *error)
{
    supple_result result = add(c, NULL, error);
    if (result == SUPPLE_OK) spl_colliders_place(c, c->count - 1, shape);
    return result;
}

static supple_result check_mesh(const spl_surface *s, const char *name, supple_error *error)
{
    if (s->triangle_count == 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.150s has no triangles: nothing can collide with it", name);
    if (s->border_edges > 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "%.150s is open, with %d border edges: a collider must be closed; fill its holes", name,
                        (int)s->border_edges);
    return SUPPLE_OK;
}

static supple_result fill_mesh(mesh *m, const spl_surface *s, const supple_allocator *a, supple_error *error)
{
    m->vertex_count = s->vertex_count;
    m->triangle_count = s->triangle_count;
    m->source = spl_new(a, (size_t)s->vertex_count, sizeof *m->source);
    m->triangle = spl_new(a, (size_t)s->triangle_count, 3 * sizeof *m->triangle);
    m->position = spl_new(a, (size_t)s->vertex_count, sizeof *m->position);
    if (!m->source || !m->triangle || !m->position) return spl_fail_memory(error, "a collider");
    for (int32_t v = s->input_vertex_count - 1; v >= 0; v--)
        if (s->map[v] >= 0) m->source[s->map[v]] = v;
    for (int32_t i = 0; i < 3 * s->triangle_count; i++) m->triangle[i] = s->triangle[i];
    for (int32_t v = 0; v < s->vertex_count; v++) m->position[v] = s->position[v];
    supple_result result = spl_tree_make(m->position, m->triangle, m->triangle_count, a, &m->tree, error);
    return result == SUPPLE_OK ? spl_winding_make(&m->tree, a, &m->winding, error) : result;
}

static supple_result make_mesh(const spl_collider_mesh *from, const supple_allocator *a, mesh **out,
                               supple_error *error)
{
    spl_surface surface;
    supple_result result =
        spl_surface_make(from->position, from->vertex_count, from->triangle, from->triangle_count, a, &surface, error);
    if (result != SUPPLE_OK) return result == SUPPLE_ERROR_ARGUMENT ? SUPPLE_ERROR_INPUT : result;
    result = check_mesh(&surface, from->name, error);
    mesh *m = result == SUPPLE_OK ? spl_new(a, 1, sizeof *m) : NULL;
    if (result == SUPPLE_OK && !m) result = spl_fail_memory(error, "a collider");
    if (result == SUPPLE_OK) result = fill_mesh(m, &surface, a, error);
    spl_surface_release(&surface);
    if (result == SUPPLE_OK)
        *out = m;
    else
        free_mesh(m, a);
    return result;
}

supple_result spl_colliders_add_mesh(spl_colliders *c, const spl_collider_mesh *from, supple_error *error)
{
    mesh *m = NULL;
    supple_result result = make_mesh(from, &c->allocator, &m, error);
    if (result == SUPPLE_OK) result = add(c, m, error);
    if (result != SUPPLE_OK) {
        free_mesh(m, &c->allocator);
        return result;
    }
    spl_colliders_place_mesh(c, c->count - 1, from->position);
    return SUPPLE_OK;
}

/* ---- motion ---- */

void spl_colliders_place(spl_colliders *c, int32_t index, const spl_collider_shape *shape)
{
    c->item[index].shape = *shape;
    if (shape->kind == SPL_COLLIDER_PLANE) c->item[index].shape.b = spl_unit(shape->b, spl_v3(0, 1, 0));
}

/* Six times the volume that a mesh encloses. */
static double volume_of(const mesh *m)
{
    double sum = 0;
    for (int32_t t = 0; t < m->triangle_count; t++) {
        const int32_t *k = m->triangle + 3 * (size_t)t;
        spl_vec3 a = spl_sub(m->position[k[0]], m->low), b = spl_sub(m->position[k[1]], m->low);
        sum += spl_dot(a, spl_cross(b, spl_sub(m->position[k[2]], m->low)));
    }
    return sum;
}

void spl_colliders_place_mesh(spl_colliders *c, int32_t index, const double *position)
{
    mesh *m = c->item[index].mesh;
    m->low = spl_v3(INFINITY, INFINITY, INFINITY);
    m->high = spl_scale(m->low, -1);
    for (int32_t v = 0; v < m->vertex_count; v++) {
        const double *p = position + 3 * (size_t)m->source[v];
        m->position[v] = spl_v3(p[0], p[1], p[2]);
        m->low = spl_v3(fmin(m->low.x, p[0]), fmin(m->low.y, p[1]), fmin(m->low.z, p[2]));
        m->high = spl_v3(fmax(m->high.x, p[0]), fmax(m->high.y, p[1]), fmax(m->high.z, p[2]));
    }
    m->turned = volume_of(m) < 0;
    spl_tree_refit(&m->tree, m->position);
    spl_winding_refit(&m->winding);
}

/* ---- queries ---- */

static bool in_box(const mesh *m, spl_vec3 p, double reach)
{
    return p.x >= m->low.x - reach && p.x <= m->high.x + reach && p.y >= m->low.y - reach && p.y <= m->high.y + reach &&
           p.z >= m->low.z - reach && p.z <= m->high.z + reach;
}

static spl_vec3 face_normal(const mesh *m, int32_t triangle)
{
    const int32_t *k = m->triangle + 3 * (size_t)triangle;
    spl_vec3 a = m->position[k[0]];
    spl_vec3 n = spl_cross(spl_sub(m->position[k[1]], a), spl_sub(m->position[k[2]], a));
    return spl_unit(m->turned ? spl_scale(n, -1) : n, spl_v3(0, 1, 0));
}

static bool query_mesh(const mesh *m, spl_vec3 p, double reach, spl_collider_hit *hit)
{
    spl_hit nearest;
    if (!in_box(m, p, reach)) return false;
    bool inside = in_box(m, p, 0) && fabs(spl_winding_number(&m->winding, p)) > 0.5;
    if (!spl_tree_nearest(&m->tree, p, inside ? INFINITY : reach, -1, &nearest)) return false;
    hit->depth = inside ? nearest.distance : -nearest.distance;
    hit->target = nearest.point;
    /* On the surface itself the way out is its normal. */
    double rounding = 1e-9 * spl_distance(m->low, m->high);
    hit->normal = nearest.distance > rounding ? spl_scale(spl_sub(nearest.point, p), 1 / hit->depth)
                                              : face_normal(m, nearest.triangle);
    return true;
}

/* A ball about a point of the axis; in its centre it has no nearest way out, and `sideways` is one. */
static void query_ball(spl_vec3 centre, double radius, spl_vec3 sideways, spl_vec3 p, spl_collider_hit *hit)
{
    spl_vec3 d = spl_sub(p, centre);
    hit->normal = spl_unit(d, sideways);
    hit->target = spl_madd(centre, hit->normal, radius);
    hit->depth = radius - spl_norm(d);
}

static void query_capsule(const spl_collider_shape *s, spl_vec3 p, spl_collider_hit *hit)
{
    spl_vec3 axis = spl_sub(s->b, s->a);
    double square = spl_dot(axis, axis), t = square > 0 ? spl_dot(spl_sub(p, s->a), axis) / square : 0;
    spl_vec3 other = fabs(axis.x) < fabs(axis.y) ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0);
    spl_vec3 sideways = spl_unit(spl_cross(spl_cross(axis, other), axis), spl_v3(0, 1, 0));
    query_ball(spl_lerp(s->a, s->b, fmin(fmax(t, 0), 1)), s->radius, sideways, p, hit);
}

static void query_plane(const spl_collider_shape *s, spl_vec3 p, spl_collider_hit *hit)
{
    hit->normal = s->b;
    hit->depth = -spl_dot(spl_sub(p, s->a), s->b);
    hit->target = spl_madd(p, s->b, hit->depth);
}

static bool query(const collider *c, spl_vec3 p, double reach, spl_collider_hit *hit)
{
    switch (c->shape.kind) {
    case SPL_COLLIDER_SPHERE:
        query_ball(c->shape.a, c->shape.radius, spl_v3(0, 1, 0), p, hit);
        break;
    case SPL_COLLIDER_CAPSULE:
        query_capsule(&c->shape, p, hit);
        break;
    case SPL_COLLIDER_PLANE:
        query_plane(&c->shape, p, hit);
        break;
    case SPL_COLLIDER_MESH:
        return query_mesh(c->mesh, p, reach, hit);
    }
    return hit->depth >= -reach;
}

bool spl_colliders_query(const spl_colliders *c, spl_vec3 p, double reach, int32_t hint, spl_collider_hit *hit)
{
    bool found = false;
    if (!c || !spl_v3_finite(p)) return false;
    for (int32_t i = 0; i < c->count; i++) {
        spl_collider_hit one = {.collider = i};
        if (!query(&c->item[i], p, reach, &one)) continue;
        if (found && (i == hint ? one.depth < hit->depth : one.depth <= hit->depth)) continue;
        *hit = one;
        found = true;
    }
    return found;
}

/* ---- reading ---- */

spl_collider_shape spl_colliders_shape(const spl_colliders *c, int32_t index)
{
    return c->item[index].shape;
}

void spl_colliders_mesh(const spl_colliders *c, int32_t index, spl_collider_geometry *out)
{
    const mesh *m = c->item[index].mesh;
    *out = (spl_collider_geometry){m->vertex_count, m->triangle_count, m->position, m->triangle};
}
