#include "demo/shape.h"

#include "core/error.h"
#include "core/memory.h"

#include <assert.h>
#include <string.h>

bool spl_shape_init(spl_shape *shape, const supple_allocator *a, int32_t vertices, int32_t triangles, int32_t joints)
{
    *shape = (spl_shape){*a, vertices, triangles, joints, NULL, NULL, NULL, NULL};
    shape->position = spl_new(a, (size_t)vertices, sizeof *shape->position);
    shape->triangle = spl_new(a, (size_t)triangles, 3 * sizeof *shape->triangle);
    shape->uv = spl_new(a, (size_t)triangles, 6 * sizeof *shape->uv);
    shape->weight = spl_new(a, (size_t)vertices * (size_t)joints, sizeof *shape->weight);
    if (shape->position && shape->triangle && shape->uv && shape->weight) return true;
    spl_shape_release(shape);
    return false;
}

void spl_shape_release(spl_shape *shape)
{
    if (shape->position) spl_free(&shape->allocator, shape->position);
    if (shape->triangle) spl_free(&shape->allocator, shape->triangle);
    if (shape->uv) spl_free(&shape->allocator, shape->uv);
    if (shape->weight) spl_free(&shape->allocator, shape->weight);
    *shape = (spl_shape){0};
}

/* ---- tubes ------------------------------------------------------------------------------------------------------ */

/* One corner of a tube: row i (0 .. along) and column j (0 .. around, the last being the first again). */
static void tube_corner(spl_shape *shape, int32_t triangle, int corner, int32_t i, double column, int32_t along,
                        int32_t around)
{
    int32_t j = (int32_t)column % around;
    int32_t vertex = i == 0 ? 0 : i == along ? shape->vertex_count - 1 : 1 + (i - 1) * around + j;
    size_t at = 3 * (size_t)triangle + (size_t)corner;
    shape->triangle[at] = vertex;
    shape->uv[2 * at] = (float)(column / around);
    shape->uv[2 * at + 1] = (float)((double)i / along);
}

bool spl_shape_tube(spl_shape *shape, const supple_allocator *a, int32_t along, int32_t around, int32_t joints,
                    spl_tube_fn *point, const void *context)
{
    assert(along >= 2 && around >= 3);
    if (!spl_shape_init(shape, a, 2 + (along - 1) * around, 2 * (along - 1) * around, joints)) return false;
    shape->position[0] = point(context, 0, 0);
    shape->position[shape->vertex_count - 1] = point(context, 1, 0);
    int32_t t = 0;
    for (int32_t i = 0; i < along; i++)
        for (int32_t j = 0; j < around; j++) {
            if (i > 0)
                shape->position[1 + (i - 1) * around + j] = point(context, (double)i / along, (double)j / around);
            if (i > 0) { /* the row's own side of the quad; at the first pole it has no length */
                tube_corner(shape, t, 0, i, j, along, around);
                tube_corner(shape, t, 1, i + 1, i + 1 == along ? j + 0.5 : j + 1.0, along, around);
                tube_corner(shape, t++, 2, i, j + 1.0, along, around);
            }
            if (i + 1 < along) {
                tube_corner(shape, t, 0, i, i == 0 ? j + 0.5 : j, along, around);
                tube_corner(shape, t, 1, i + 1, j, along, around);
                tube_corner(shape, t++, 2, i + 1, j + 1.0, along, around);
            }
        }
    assert(t == shape->triangle_count);
    return true;
}

bool spl_shape_ring(spl_shape *shape, const supple_allocator *a, int32_t along, int32_t around, int32_t joints,
                    spl_tube_fn *point, const void *context)
{
    assert(along >= 3 && around >= 3);
    if (!spl_shape_init(shape, a, along * around, 2 * along * around, joints)) return false;
    static const int32_t corner[6][2] = {{0, 0}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {1, 1}};
    for (int32_t i = 0; i < along; i++)
        for (int32_t j = 0; j < around; j++) {
            shape->position[i * around + j] = point(context, (double)i / along, (double)j / around);
            for (int c = 0; c < 6; c++) {
                int32_t row = i + corner[c][0], column = j + corner[c][1];
                size_t at = 6 * ((size_t)i * (size_t)around + (size_t)j) + (size_t)c;
                shape->triangle[at] = row % along * around + column % around;
                shape->uv[2 * at] = (float)((double)column / around);
                shape->uv[2 * at + 1] = (float)((double)row / along);
            }
        }
    return true;
}

/* ---- finishing -------------------------------------------------------------------------------------------------- */

void spl_shape_normals(const spl_shape *shape, spl_vec3 *normal)
{
    for (int32_t v = 0; v < shape->vertex_count; v++) normal[v] = spl_v3(0, 0, 0);
    for (int32_t t = 0; t < shape->triangle_count; t++) {
        const int32_t *c = shape->triangle + 3 * t;
        spl_vec3 p = shape->position[c[0]];
        spl_vec3 n = spl_cross(spl_sub(shape->position[c[1]], p), spl_sub(shape->position[c[2]], p));
        for (int i = 0; i < 3; i++) normal[c[i]] = spl_add(normal[c[i]], n);
    }
    for (int32_t v = 0; v < shape->vertex_count; v++) normal[v] = spl_unit(normal[v], spl_v3(0, 1, 0));
}

/* Vertices split where corners of one welded vertex have different texture coordinates. */
typedef struct split {
    int32_t count;
    int32_t *source; /* 3 x triangle_count at most: the welded vertex of each split one */
    int32_t *next;   /* chain of the splits of one welded vertex, -1 at its end */
    int32_t *first;  /* vertex_count: head of the chain */
    float *uv;
} split;

/* The split vertex of a corner: chains are short, as few charts meet at a vertex. */
static int32_t split_corner(split *s, int32_t vertex, const float *uv)
{
    int32_t i = s->first[vertex];
    for (; i >= 0; i = s->next[i])
        if (s->uv[2 * i] == uv[0] && s->uv[2 * i + 1] == uv[1]) return i;
    i = s->count++;
    s->source[i] = vertex;
    memcpy(s->uv + 2 * i, uv, 2 * sizeof *uv);
    s->next[i] = s->first[vertex];
    s->first[vertex] = i;
    return i;
}

/* The four largest weights, in descending order (the lower joint first among equals), normalised in double. */
static void top_weights(const float *dense, int32_t joint_count, uint8_t *joint, float *weight)
{
    double best[4] = {0}, sum = 0;
    for (int32_t j = 0; j < joint_count; j++) {
        double w = (double)dense[j];
        int slot = 4;
        while (slot > 0 && w > best[slot - 1]) slot--;
        if (slot == 4 || w < 1e-3) continue;
        for (int i = 3; i > slot; i--) {
            best[i] = best[i - 1];
            joint[i] = joint[i - 1];
        }
        best[slot] = w;
        joint[slot] = (uint8_t)j;
    }
    for (int i = 0; i < 4; i++) sum += best[i];
    if (!(sum > 0)) sum = best[0] = 1;
    for (int i = 0; i < 4; i++) weight[i] = (float)(best[i] / sum);
}

/* Copies the split vertices with everything of the welded ones. */
static bool mesh_fill(const spl_shape *shape, const split *s, spl_rigged_mesh *mesh, const spl_vec3 *normal)
{
    const supple_allocator *a = &shape->allocator;
    size_t n = (size_t)s->count;
    mesh->vertex_count = s->count;
    mesh->position = spl_new(a, n, 3 * sizeof(float));
    mesh->normal = spl_new(a, n, 3 * sizeof(float));
    mesh->uv = spl_new(a, n, 2 * sizeof(float));
    mesh->joint = spl_new(a, n, 4);
    mesh->weight = spl_new(a, n, 4 * sizeof(float));
    if (!mesh->position || !mesh->normal || !mesh->uv || !mesh->joint || !mesh->weight) return false;
    memcpy(mesh->uv, s->uv, n * 2 * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        size_t v = (size_t)s->source[i];
        spl_v3_to_float(shape->position[v], mesh->position + 3 * i);
        spl_v3_to_float(normal[v], mesh->normal + 3 * i);
        top_weights(shape->weight + v * (size_t)shape->joint_count, shape->joint_count, mesh->joint + 4 * i,
                    mesh->weight + 4 * i);
    }
    return true;
}

static bool mesh_split(const spl_shape *shape, const uint8_t *part, uint8_t which, spl_rigged_mesh *mesh, split *s,
                       spl_vec3 *normal)
{
    for (int32_t t = 0; t < shape->triangle_count; t++) mesh->triangle_count += !part || part[t] == which;
    mesh->influence_count = 4;
    mesh->triangle = spl_new(&shape->allocator, 3 * (size_t)mesh->triangle_count, sizeof *mesh->triangle);
    if (!mesh->triangle || !s->source || !s->next || !s->first || !s->uv || !normal) return false;
    for (int32_t v = 0; v < shape->vertex_count; v++) s->first[v] = -1;
    uint32_t *to = mesh->triangle;
    for (int32_t t = 0; t < shape->triangle_count; t++)
        for (int i = 0; (!part || part[t] == which) && i < 3; i++)
            *to++ = (uint32_t)split_corner(s, shape->triangle[3 * t + i], shape->uv + 6 * t + 2 * i);
    spl_shape_normals(shape, normal);
    return mesh_fill(shape, s, mesh, normal);
}

supple_result spl_shape_finish_part(const spl_shape *shape, const uint8_t *part, uint8_t which, spl_rigged *rigged,
                                    const char *name, int32_t material, supple_error *error)
{
    assert(rigged->mesh_count < SPL_RIGGED_MESHES && shape->joint_count == rigged->joint_count);
    const supple_allocator *a = &shape->allocator;
    size_t corners = 3 * (size_t)shape->triangle_count;
    split s = {0, spl_new(a, corners, sizeof *s.source), spl_new(a, corners, sizeof *s.next),
               spl_new(a, (size_t)shape->vertex_count, sizeof *s.first), spl_new(a, corners, 2 * sizeof *s.uv)};
    spl_vec3 *normal = spl_new(a, (size_t)shape->vertex_count, sizeof *normal);
    spl_rigged_mesh *mesh = &rigged->mesh[rigged->mesh_count++]; /* a partly filled mesh is freed with the character */
    mesh->name = name;
    mesh->material = material;
    bool done = mesh_split(shape, part, which, mesh, &s, normal);
    spl_free(a, s.source);
    spl_free(a, s.next);
    spl_free(a, s.first);
    spl_free(a, s.uv);
    spl_free(a, normal);
    return done ? SUPPLE_OK : spl_fail_memory(error, "a built-in character");
}

supple_result spl_shape_finish(const spl_shape *shape, spl_rigged *rigged, const char *name, int32_t material,
                               supple_error *error)
{
    return spl_shape_finish_part(shape, NULL, 0, rigged, name, material, error);
}
