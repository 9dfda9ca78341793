#include "scene/writers/slid.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

static const spl_mesh *mesh_of(const supple_scene *scene, int32_t instance)
{
    return &scene->mesh[scene->instance[instance].mesh];
}

/* Whether the triangles are a fan or strip of each polygon in turn: n - 2 of them, of its own vertices. */
static bool in_turn(const spl_primitive *p)
{
    const int32_t *triangle = p->triangle;
    int64_t left = p->triangle_count;
    for (int32_t f = 0, n; f < p->polygon_count; f++) {
        const int32_t *vertex = spl_face(p, f, &n);
        if ((left -= n - 2) < 0) return false;
        for (int32_t c = 0; c < 3 * (n - 2); c++, triangle++) {
            int32_t k = 0;
            while (k < n && vertex[k] != *triangle) k++;
            if (k == n) return false;
        }
    }
    return left == 0;
}

/* The corners of a primitive's polygons among its triangles' corners, which begin at `base`. */
static void map_in_turn(const spl_primitive *p, int32_t base, int32_t *out)
{
    const int32_t *triangle = p->triangle;
    for (int32_t f = 0, n; f < p->polygon_count; f++) {
        const int32_t *vertex = spl_face(p, f, &n);
        for (int32_t k = 0; k < n; k++) {
            int32_t c = 0;
            while (c < 3 * (n - 2) && triangle[c] != vertex[k]) c++;
            *out++ = c < 3 * (n - 2) ? base + (int32_t)(triangle - p->triangle) + c : -1;
        }
        triangle += 3 * (n - 2);
    }
}

/* The same where some polygons lost triangles: by the first triangle that has the vertex. */
static void map_by_vertex(const spl_primitive *p, int32_t base, int32_t *seen, int32_t *out)
{
    for (int32_t v = 0; v < p->vertex_count; v++) seen[v] = -1;
    for (int32_t c = 3 * p->triangle_count; c-- > 0;) seen[p->triangle[c]] = base + c;
    for (int64_t k = 0; k < spl_face_corners(p); k++) out[k] = seen[p->polygon_corner[k]];
}

static void map_instance(spl_slid *s, int32_t instance, int32_t *seen)
{
    const spl_mesh *mesh = mesh_of(s->scene, instance);
    int32_t *out = s->corner + s->first_face[instance], base = 0;
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        if (!p->polygon_count)
            for (int32_t c = 0; c < 3 * p->triangle_count; c++) out[c] = base + c;
        else if (in_turn(p))
            map_in_turn(p, base, out);
        else
            map_by_vertex(p, base, seen, out);
        out += spl_face_corners(p);
        base += 3 * p->triangle_count;
    }
}

/* Counts corners; the largest instance's faces and the largest primitive's vertices come back. */
static void count_corners(spl_slid *s, size_t *faces, size_t *vertices)
{
    *faces = *vertices = 0;
    for (int32_t i = 0; i < s->scene->instance_count; i++) {
        const spl_mesh *mesh = mesh_of(s->scene, i);
        size_t triangle = 0, face = 0;
        for (int32_t m = 0; m < mesh->primitive_count; m++) {
            triangle += 3 * (size_t)mesh->primitive[m].triangle_count;
            face += (size_t)spl_face_corners(&mesh->primitive[m]);
            size_t n = (size_t)mesh->primitive[m].vertex_count;
            *vertices = n > *vertices ? n : *vertices;
        }
        s->first_corner[i + 1] = s->first_corner[i] + triangle;
        s->first_face[i + 1] = s->first_face[i] + face;
        *faces = face > *faces ? face : *faces;
    }
}

supple_result spl_slid_init(spl_slid *s, const supple_scene *scene, const supple_allocator *a, supple_error *error)
{
    size_t n = (size_t)scene->instance_count, faces = 0, vertices = 0;
    *s = (spl_slid){.scene = scene};
    s->first_corner = spl_new(a, n + 1, sizeof *s->first_corner);
    s->first_face = spl_new(a, n + 1, sizeof *s->first_face);
    s->moves = spl_new(a, n, sizeof *s->moves);
    if (!s->first_corner || !s->first_face || !s->moves) return spl_fail_memory(error, "sliding texture coordinates");
    count_corners(s, &faces, &vertices);
    s->corner = spl_new(a, s->first_face[n], sizeof *s->corner);
    s->row = spl_new(a, faces, 2 * sizeof *s->row);
    int32_t *seen = spl_new(a, vertices, sizeof *seen);
    bool ok = s->corner && s->row && seen;
    for (int32_t i = 0; ok && i < scene->instance_count; i++) map_instance(s, i, seen);
    spl_free(a, seen);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "sliding texture coordinates");
}

void spl_slid_release(spl_slid *s, const supple_allocator *a)
{
    spl_free(a, s->first_corner);
    spl_free(a, s->first_face);
    spl_free(a, s->corner);
    spl_free(a, s->moves);
    spl_free(a, s->row);
    *s = (spl_slid){0};
}

void spl_slid_note(spl_slid *s, const float *corner_uv)
{
    for (int32_t i = 0; i < s->scene->instance_count; i++) {
        const spl_mesh *mesh = mesh_of(s->scene, i);
        const float *uv = corner_uv + 2 * s->first_corner[i];
        for (int32_t m = 0; m < mesh->primitive_count && !s->moves[i]; m++) {
            const spl_primitive *p = &mesh->primitive[m];
            for (int64_t c = 0; p->uv && !s->moves[i] && c < 3 * (int64_t)p->triangle_count; c++)
                s->moves[i] = memcmp(uv + 2 * c, p->uv + 2 * (size_t)p->triangle[c], 2 * sizeof *uv) != 0;
            uv += 6 * (size_t)p->triangle_count;
        }
    }
}

/* One face corner: the slid value, else the file's own; zeros, as ever, for a primitive without coordinates. */
static void put_corner(const spl_primitive *p, int32_t corner, int32_t vertex, const float *corner_uv, float out[2])
{
    const float *from = corner >= 0 ? corner_uv + 2 * (size_t)corner : p->uv ? p->uv + 2 * (size_t)vertex : NULL;
    out[0] = p->uv && from ? from[0] : 0;
    out[1] = p->uv && from ? 1.0f - from[1] : 0;
}

size_t spl_slid_rows(const spl_slid *s, int32_t instance, const float *corner_uv, bool turned)
{
    const spl_mesh *mesh = mesh_of(s->scene, instance);
    const int32_t *corner = s->corner + s->first_face[instance];
    float *out = s->row;
    for (int32_t m = 0; m < mesh->primitive_count; m++) {
        const spl_primitive *p = &mesh->primitive[m];
        for (int32_t f = 0, n; f < spl_face_count(p); f++) {
            const int32_t *vertex = spl_face(p, f, &n);
            for (int32_t k = 0; k < n; k++, out += 2) {
                int32_t at = turned ? (n - k) % n : k; /* as spl_face_corner */
                put_corner(p, corner[at], vertex[at], corner_uv, out);
            }
            corner += n;
        }
    }
    return (size_t)(out - s->row) / 2;
}
