/* Angle weights: Thuermer and Wuethrich, "Computing vertex normals from polygonal facets", 1998.
 *
 * Carrying directions. A triangle with edges e1, e2 at a corner expresses a direction d of its plane as a e1 + b e2;
 * the deformed direction is a e1' + b e2'. Summed over a group's triangles with the rest angles as weights this is a
 * linear map of the edges, so the coefficients are computed once. The sum of projections of t onto tilted triangles is
 * not t itself but M t, M 2x2 in the tangent plane; the coefficients are multiplied by M^-1, which makes the rest shape
 * return exactly t and b. */
#include "geom/shading.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "math/vec3.h"

#include <string.h>

enum { GRAIN = 512 };

/* A corner of a triangle in a group, and what it adds to t' and b'. */
typedef struct corner {
    int32_t vertex[3]; /* the corner first, then on around the triangle */
    float t[2], b[2];  /* t' += t[0] e1' + t[1] e2', likewise b' */
} corner;

typedef struct group {
    bool flat;       /* has a frame in the rest shape */
    float local[3];  /* Q0^T n_file */
    float normal[3]; /* n_file, unit: the answer where the deformed shape has none */
    float q0[9];     /* t, b, n */
} group;

/* A group's frame in the deformed shape. */
typedef struct frame {
    spl_vec3 t, b, n;          /* orthonormal: Q */
    spl_vec3 t_moved, b_moved; /* t and b of the rest shape, carried by the edges */
    spl_vec3 normal;           /* Q Q0^T n_file */
    bool valid;
} frame;

struct spl_shading {
    supple_allocator allocator;
    int32_t vertex_count, group_count;
    bool mirrored;
    int32_t *group_of;     /* vertex_count */
    int32_t *first_corner; /* group_count + 1 */
    corner *corners;       /* by group, in the order of the triangles */
    group *groups;
    float *output;  /* 3 x group_count: normals of this update */
    float *tangent; /* 4 x vertex_count: the file's, or NULL */
};

/* ---- rest shape ------------------------------------------------------------------------------------------------- */

/* What makes vertices equal: bits, with -0 as 0. */
static void vertex_key(const spl_shading_rest *rest, int32_t v, float key[6])
{
    for (int c = 0; c < 3; c++) {
        key[c] = rest->position[3 * (size_t)v + (size_t)c] + 0.0f;
        key[3 + c] = rest->normal ? rest->normal[3 * (size_t)v + (size_t)c] + 0.0f : 0.0f;
    }
}

/* Numbers the groups in order of first appearance. `slot` holds `mask` + 1 entries, zeroed: representative vertex + 1.
 */
static int32_t group_vertices(const spl_shading_rest *rest, int32_t *group_of, int32_t *slot, size_t mask)
{
    int32_t count = 0;
    for (int32_t v = 0; v < rest->vertex_count; v++) {
        float key[6], other[6];
        vertex_key(rest, v, key);
        size_t i = (size_t)spl_hash(key, sizeof key, 0) & mask;
        for (; slot[i]; i = (i + 1) & mask) {
            vertex_key(rest, slot[i] - 1, other);
            if (memcmp(key, other, sizeof key) == 0) break;
        }
        if (!slot[i]) {
            slot[i] = v + 1;
            group_of[v] = count++;
        } else
            group_of[v] = group_of[slot[i] - 1];
    }
    return count;
}

/* Corners by group: a counting sort that keeps the triangles' order. */
static void gather_corners(spl_shading *s, const spl_shading_rest *rest)
{
    size_t total = 3 * (size_t)rest->triangle_count;
    for (size_t i = 0; i < total; i++) s->first_corner[s->group_of[rest->triangle[i]] + 1]++;
    for (int32_t g = 0; g < s->group_count; g++) s->first_corner[g + 1] += s->first_corner[g];
    for (size_t i = 0; i < total; i++) {
        const int32_t *tri = rest->triangle + i / 3 * 3;
        int32_t *next = &s->first_corner[s->group_of[tri[i % 3]]];
        corner *c = &s->corners[(*next)++];
        for (size_t k = 0; k < 3; k++) c->vertex[k] = tri[(i + k) % 3];
    }
    /* Every start has moved to its group's end, which is the next one's start. */
    memmove(s->first_corner + 1, s->first_corner, (size_t)s->group_count * sizeof *s->first_corner);
    s->first_corner[0] = 0;
}

static void corner_edges(const corner *c, const float *position, spl_vec3 *e1, spl_vec3 *e2)
{
    spl_vec3 p = spl_v3_from_float(position + 3 * (size_t)c->vertex[0]);
    *e1 = spl_sub(spl_v3_from_float(position + 3 * (size_t)c->vertex[1]), p);
    *e2 = spl_sub(spl_v3_from_float(position + 3 * (size_t)c->vertex[2]), p);
}

/* Angle-weighted sum of the unit normals of a group's triangles; not normalised. */
static spl_vec3 summed_normal(const spl_shading *s, int32_t g, const float *position)
{
    spl_vec3 sum = {0, 0, 0};
    for (int32_t i = s->first_corner[g]; i < s->first_corner[g + 1]; i++) {
        spl_vec3 e1, e2;
        corner_edges(&s->corners[i], position, &e1, &e2);
        spl_vec3 cross = spl_cross(e1, e2);
        double area = spl_norm(cross);
        if (area > 0 && isfinite(area)) sum = spl_madd(sum, cross, atan2(area, spl_dot(e1, e2)) / area);
    }
    return sum;
}

static spl_vec3 any_perpendicular(spl_vec3 n)
{
    spl_vec3 axis = fabs(n.x) <= fabs(n.y) && fabs(n.x) <= fabs(n.z) ? spl_v3(1, 0, 0)
                    : fabs(n.y) <= fabs(n.z)                         ? spl_v3(0, 1, 0)
                                                                     : spl_v3(0, 0, 1);
    return spl_unit(spl_madd(axis, n, -spl_dot(axis, n)), spl_v3(1, 0, 0));
}

/* d projected onto the triangle's plane, as a e1 + b e2. */
static bool edge_coordinates(spl_vec3 e1, spl_vec3 e2, spl_vec3 d, double *a, double *b)
{
    double g11 = spl_dot(e1, e1), g12 = spl_dot(e1, e2), g22 = spl_dot(e2, e2);
    double det = g11 * g22 - g12 * g12;
    if (!(det > 1e-20 * g11 * g22)) return false; /* a needle: its plane is noise */
    double d1 = spl_dot(e1, d), d2 = spl_dot(e2, d);
    *a = (g22 * d1 - g12 * d2) / det;
    *b = (g11 * d2 - g12 * d1) / det;
    return true;
}

/* Coefficients of the corners for the directions t and b, and the map M that they make of the rest shape. */
static void corner_coefficients(spl_shading *s, int32_t g, const float *position, spl_vec3 t, spl_vec3 b, double m[4])
{
    memset(m, 0, 4 * sizeof *m);
    for (int32_t i = s->first_corner[g]; i < s->first_corner[g + 1]; i++) {
        corner *c = &s->corners[i];
        spl_vec3 e1, e2;
        corner_edges(c, position, &e1, &e2);
        double ta, tb, ba, bb;
        if (!edge_coordinates(e1, e2, t, &ta, &tb) || !edge_coordinates(e1, e2, b, &ba, &bb)) continue;
        double angle = atan2(spl_norm(spl_cross(e1, e2)), spl_dot(e1, e2));
        c->t[0] = (float)(angle * ta);
        c->t[1] = (float)(angle * tb);
        c->b[0] = (float)(angle * ba);
        c->b[1] = (float)(angle * bb);
        spl_vec3 moved_t = spl_add(spl_scale(e1, (double)c->t[0]), spl_scale(e2, (double)c->t[1]));
        spl_vec3 moved_b = spl_add(spl_scale(e1, (double)c->b[0]), spl_scale(e2, (double)c->b[1]));
        m[0] += spl_dot(t, moved_t);
        m[1] += spl_dot(b, moved_t);
        m[2] += spl_dot(t, moved_b);
        m[3] += spl_dot(b, moved_b);
    }
}

/* Multiplies the coefficients by M^-1; false where M is singular. */
static bool correct_coefficients(spl_shading *s, int32_t g, const double m[4])
{
    double det = m[0] * m[3] - m[1] * m[2], scale = fabs(m[0]) + fabs(m[1]) + fabs(m[2]) + fabs(m[3]);
    if (!isfinite(scale) || !(fabs(det) > 1e-9 * scale * scale)) return false;
    double k[4] = {m[3] / det, -m[1] / det, -m[2] / det, m[0] / det};
    for (int32_t i = s->first_corner[g]; i < s->first_corner[g + 1]; i++) {
        corner *c = &s->corners[i];
        for (int e = 0; e < 2; e++) {
            double t = (double)c->t[e], b = (double)c->b[e];
            c->t[e] = (float)(k[0] * t + k[1] * b);
            c->b[e] = (float)(k[2] * t + k[3] * b);
        }
    }
    return true;
}

/* Coordinates of d in a frame of three unit vectors. */
static void to_local(const float q[9], spl_vec3 d, float out[3])
{
    for (int i = 0; i < 3; i++) out[i] = (float)spl_dot(spl_v3_from_float(q + 3 * i), d);
}

static void prepare_group(spl_shading *s, int32_t g, const spl_shading_rest *rest, const float *file_normal)
{
    group *r = &s->groups[g];
    spl_vec3 sum = summed_normal(s, g, rest->position);
    bool surface = spl_v3_finite(sum) && spl_norm(sum) > 1e-9;
    spl_vec3 n = surface ? spl_unit(sum, spl_v3(0, 0, 1)) : spl_v3(0, 0, 1);
    spl_vec3 file = file_normal ? spl_unit(spl_v3_from_float(file_normal), n) : n;
    if (!spl_v3_finite(file)) file = n;
    spl_vec3 t = any_perpendicular(n), b = spl_cross(n, t);
    double m[4];
    corner_coefficients(s, g, rest->position, t, b, m);
    r->flat = surface && correct_coefficients(s, g, m);
    spl_v3_to_float(t, r->q0);
    spl_v3_to_float(b, r->q0 + 3);
    spl_v3_to_float(n, r->q0 + 6);
    spl_v3_to_float(file, r->normal);
    /* Without normals in the file the answer is n' itself, bit for bit. */
    if (file_normal)
        to_local(r->q0, file, r->local);
    else
        r->local[2] = 1;
}

static bool allocate(spl_shading *s, const spl_shading_rest *rest)
{
    const supple_allocator *a = &s->allocator;
    size_t groups = (size_t)s->group_count;
    s->first_corner = spl_new(a, groups + 1, sizeof *s->first_corner);
    s->corners = spl_new(a, 3 * (size_t)rest->triangle_count, sizeof *s->corners);
    s->groups = spl_new(a, groups, sizeof *s->groups);
    s->output = spl_new(a, 3 * groups, sizeof *s->output);
    if (rest->tangent) s->tangent = spl_new(a, 4 * (size_t)rest->vertex_count, sizeof *s->tangent);
    return s->first_corner && s->corners && s->groups && s->output && (s->tangent || !rest->tangent);
}

static bool number_groups(spl_shading *s, const spl_shading_rest *rest)
{
    size_t capacity = 16;
    while (capacity < 2 * (size_t)rest->vertex_count) capacity *= 2;
    int32_t *slot = spl_new(&s->allocator, capacity, sizeof *slot);
    s->group_of = spl_new(&s->allocator, (size_t)rest->vertex_count, sizeof *s->group_of);
    if (slot && s->group_of) s->group_count = group_vertices(rest, s->group_of, slot, capacity - 1);
    spl_free(&s->allocator, slot);
    return slot && s->group_of;
}

supple_result spl_shading_create(const spl_shading_rest *rest, const supple_allocator *a, spl_shading **out,
                                 supple_error *error)
{
    *out = NULL;
    spl_shading *s = spl_new(a, 1, sizeof *s);
    if (!s) return spl_fail_memory(error, "the normals");
    s->allocator = *a;
    s->vertex_count = rest->vertex_count;
    if (!number_groups(s, rest) || !allocate(s, rest)) {
        spl_shading_destroy(s);
        return spl_fail_memory(error, "the normals");
    }
    gather_corners(s, rest);
    int32_t done = 0; /* groups are numbered by first appearance: their first vertices come in order */
    for (int32_t v = 0; v < rest->vertex_count; v++)
        if (s->group_of[v] == done) {
            prepare_group(s, done, rest, rest->normal ? rest->normal + 3 * (size_t)v : NULL);
            done++;
        }
    if (s->tangent) memcpy(s->tangent, rest->tangent, 4 * (size_t)rest->vertex_count * sizeof *s->tangent);
    *out = s;
    return SUPPLE_OK;
}

void spl_shading_destroy(spl_shading *s)
{
    if (!s) return;
    supple_allocator a = s->allocator;
    spl_free(&a, s->group_of);
    spl_free(&a, s->first_corner);
    spl_free(&a, s->corners);
    spl_free(&a, s->groups);
    spl_free(&a, s->output);
    spl_free(&a, s->tangent);
    spl_free(&a, s);
}

/* ---- deformed shape --------------------------------------------------------------------------------------------- */

static spl_vec3 from_local(const frame *f, const float local[3])
{
    spl_vec3 d = spl_scale(f->t, (double)local[0]);
    d = spl_madd(d, f->b, (double)local[1]);
    return spl_madd(d, f->n, (double)local[2]);
}

static frame deformed_frame(const spl_shading *s, int32_t g, const float *position)
{
    const group *r = &s->groups[g];
    frame f = {.normal = spl_v3_from_float(r->normal)};
    spl_vec3 sum = summed_normal(s, g, position);
    double length = spl_norm(sum);
    /* The weights are angles: a sum below 1e-9 radian is what cancellation leaves of a fold. */
    if (!r->flat || !(length > 1e-9) || !isfinite(length)) return f;
    f.n = spl_scale(sum, 1 / length);
    for (int32_t i = s->first_corner[g]; i < s->first_corner[g + 1]; i++) {
        const corner *c = &s->corners[i];
        spl_vec3 e1, e2;
        corner_edges(c, position, &e1, &e2);
        f.t_moved = spl_madd(spl_madd(f.t_moved, e1, (double)c->t[0]), e2, (double)c->t[1]);
        f.b_moved = spl_madd(spl_madd(f.b_moved, e1, (double)c->b[0]), e2, (double)c->b[1]);
    }
    /* The rotation nearest to the plane map (t, b) -> (t', b'): its polar factor turns t into t' + b' x n. */
    spl_vec3 turn = spl_add(f.t_moved, spl_cross(f.b_moved, f.n));
    turn = spl_madd(turn, f.n, -spl_dot(turn, f.n));
    double scale = spl_norm(f.t_moved) + spl_norm(f.b_moved), turned = spl_norm(turn);
    f.t = turned > 1e-9 * scale && isfinite(turned) ? spl_scale(turn, 1 / turned) : any_perpendicular(f.n);
    f.b = spl_cross(f.n, f.t);
    if (s->mirrored) f.n = spl_scale(f.n, -1); /* Q is then a rotation and a reflection, as the motion is */
    f.normal = spl_unit(from_local(&f, r->local), f.n);
    f.valid = true;
    return f;
}

typedef struct job {
    spl_shading *shading;
    const float *position;
    unsigned char *out;
    size_t stride;
} job;

static void group_normals(void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t g = begin; g < end; g++) {
        frame f = deformed_frame(j->shading, (int32_t)g, j->position);
        spl_v3_to_float(f.normal, j->shading->output + 3 * g);
    }
}

static void scatter_normals(void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t v = begin; v < end; v++)
        memcpy(j->out + v * j->stride, j->shading->output + 3 * (size_t)j->shading->group_of[v], 3 * sizeof(float));
}

void spl_shading_set_mirrored(spl_shading *s, bool mirrored)
{
    s->mirrored = mirrored;
}

void spl_shading_update_normals(spl_shading *s, spl_pool *pool, const float *position, float *normal, size_t stride)
{
    job j = {s, position, (unsigned char *)normal, stride};
    spl_parallel_for(pool, (size_t)s->group_count, GRAIN, group_normals, &j);
    spl_parallel_for(pool, (size_t)s->vertex_count, 8 * GRAIN, scatter_normals, &j);
}

/* The file's tangent is carried by the edges, then leant towards the new normal as it leant towards the old one. */
static spl_vec3 deformed_tangent(const frame *f, const group *r, spl_vec3 tangent)
{
    float local[3];
    to_local(r->q0, tangent, local);
    double lean = spl_dot(tangent, spl_v3_from_float(r->normal));
    lean = fmin(fmax(lean, -1), 1);
    spl_vec3 moved = spl_madd(spl_scale(f->t_moved, (double)local[0]), f->b_moved, (double)local[1]);
    double n_scale = 0.5 * (spl_norm(f->t_moved) + spl_norm(f->b_moved)); /* off the plane: as long as in it */
    moved = spl_madd(moved, f->n, n_scale * (double)local[2]);
    moved = spl_madd(moved, f->normal, -spl_dot(moved, f->normal));
    spl_vec3 flat =
        spl_norm(moved) > 1e-9 * n_scale && spl_v3_finite(moved) ? spl_unit(moved, f->t) : any_perpendicular(f->normal);
    return spl_madd(spl_scale(flat, sqrt(1 - lean * lean)), f->normal, lean);
}

static void vertex_tangents(void *context, size_t begin, size_t end)
{
    const job *j = context;
    const spl_shading *s = j->shading;
    int32_t last = -1;
    frame f = {0};
    for (size_t v = begin; v < end; v++) {
        int32_t g = s->group_of[v];
        if (g != last) f = deformed_frame(s, g, j->position);
        last = g;
        const float *file = s->tangent + 4 * v;
        spl_vec3 rest = spl_unit(spl_v3_from_float(file), spl_v3(1, 0, 0));
        if (!spl_v3_finite(rest)) rest = spl_v3(1, 0, 0);
        float out[4];
        spl_v3_to_float(f.valid ? deformed_tangent(&f, &s->groups[g], rest) : rest, out);
        out[3] = s->mirrored ? -file[3] : file[3];
        memcpy(j->out + v * j->stride, out, sizeof out);
    }
}

void spl_shading_update_tangents(spl_shading *s, spl_pool *pool, const float *position, float *tangent, size_t stride)
{
    if (!s->tangent) return;
    job j = {s, position, (unsigned char *)tangent, stride};
    spl_parallel_for(pool, (size_t)s->vertex_count, GRAIN, vertex_tangents, &j);
}
