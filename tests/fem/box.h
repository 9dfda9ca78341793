/* A jittered box of positive tets with its elements, and affine maps of it: what the tests of fem share. */
#ifndef SPL_TESTS_FEM_BOX_H
#define SPL_TESTS_FEM_BOX_H

#include "core/memory.h"
#include "fem/elements.h"
#include "math/numbers.h"
#include "sparse/lattice.h"

typedef struct box {
    lattice mesh;
    spl_elements e;
    double *x; /* 3 x vertices, to be moved */
} box;

static inline double box_det(const double *p, const int32_t *t)
{
    spl_vec3 v[4];
    for (int i = 0; i < 4; i++) v[i] = spl_v3(p[3 * t[i]], p[3 * t[i] + 1], p[3 * t[i] + 2]);
    return spl_dot(spl_sub(v[1], v[0]), spl_cross(spl_sub(v[2], v[0]), spl_sub(v[3], v[0])));
}

/* The lattice's tets, turned to positive volume. */
static inline lattice box_mesh(int32_t nx, int32_t ny, int32_t nz)
{
    lattice m = lattice_make(nx, ny, nz, 1);
    for (int32_t k = 0; k < m.tet_count; k++) {
        int32_t *t = m.tets + 4 * k, last = t[3];
        if (box_det(m.points, t) < 0) t[3] = t[2], t[2] = last;
    }
    return m;
}

static inline bool box_make(int32_t nx, int32_t ny, int32_t nz, box *out)
{
    supple_allocator a = spl_allocator_of(NULL);
    out->mesh = box_mesh(nx, ny, nz);
    out->x = malloc((size_t)out->mesh.vertex_count * 3 * sizeof *out->x);
    return spl_elements_create(out->mesh.points, out->mesh.vertex_count, out->mesh.tets, out->mesh.tet_count, &a,
                               &out->e, NULL) == SUPPLE_OK;
}

static inline void box_free(box *b)
{
    spl_elements_release(&b->e);
    lattice_free(&b->mesh);
    free(b->x);
}

/* x = A X + t */
static inline void box_map(box *b, const spl_mat3 *A, spl_vec3 t)
{
    for (int32_t v = 0; v < b->mesh.vertex_count; v++) {
        const double *p = b->mesh.points + 3 * v;
        spl_vec3 q = spl_add(spl_mat3_apply(A, spl_v3(p[0], p[1], p[2])), t);
        b->x[3 * v] = q.x, b->x[3 * v + 1] = q.y, b->x[3 * v + 2] = q.z;
    }
}

/* Every vertex moved at random by up to `by`. */
static inline void box_shake(box *b, double by, uint64_t *seed)
{
    for (int32_t i = 0; i < 3 * b->mesh.vertex_count; i++) b->x[i] += by * random_real(seed);
}

#endif
