/* A jittered body-centred lattice of tets and its element matrices: the matrices of tests and benchmarks. */
#ifndef SPL_TESTS_SPARSE_LATTICE_H
#define SPL_TESTS_SPARSE_LATTICE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct lattice {
    int32_t vertex_count, tet_count, unknown_count;
    double *points; /* x 3 */
    int32_t *tets;  /* x 4 */
    int32_t *unknown;
} lattice;

static inline double lattice_random(uint64_t *state) /* 0 to 1 */
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) * 0x1p-53;
}

static inline int32_t lattice_corner(const int32_t n[3], const int32_t p[3])
{
    return p[0] + (n[0] + 1) * (p[1] + (n[1] + 1) * p[2]);
}

static inline int32_t lattice_centre(const int32_t n[3], const int32_t p[3])
{
    return (n[0] + 1) * (n[1] + 1) * (n[2] + 1) + p[0] + n[0] * (p[1] + n[1] * p[2]);
}

/* Four tets around the segment between the centres of two cells that share a face. */
static inline void lattice_face(lattice *m, const int32_t n[3], const int32_t p[3], int axis)
{
    int32_t q[3] = {p[0], p[1], p[2]}, ring[4];
    q[axis]++;
    for (int c = 0; c < 4; c++) {
        int32_t r[3] = {q[0], q[1], q[2]};
        r[(axis + 1) % 3] += c == 1 || c == 2;
        r[(axis + 2) % 3] += c >= 2;
        ring[c] = lattice_corner(n, r);
    }
    for (int c = 0; c < 4; c++) {
        int32_t *t = m->tets + 4 * m->tet_count++;
        t[0] = lattice_centre(n, p);
        t[1] = lattice_centre(n, q);
        t[2] = ring[c];
        t[3] = ring[(c + 1) % 4];
    }
}

/* A box of nx * ny * nz unit cells. Corners with z == 0 are held if `held`; vertices in no tet always are. */
static inline lattice lattice_make(int32_t nx, int32_t ny, int32_t nz, int held)
{
    int32_t n[3] = {nx, ny, nz}, corners = (nx + 1) * (ny + 1) * (nz + 1), cells = nx * ny * nz;
    lattice m = {.vertex_count = corners + cells};
    m.points = calloc((size_t)m.vertex_count * 3, sizeof *m.points);
    m.tets = calloc((size_t)(12 * cells) * 4, sizeof *m.tets);
    m.unknown = malloc((size_t)m.vertex_count * sizeof *m.unknown);
    uint64_t state = 7;
    for (int32_t v = 0; v < m.vertex_count; v++) {
        int32_t extra = v < corners, u = extra ? v : v - corners;
        int32_t p[3] = {u % (nx + extra), u / (nx + extra) % (ny + extra), u / (nx + extra) / (ny + extra)};
        for (int c = 0; c < 3; c++)
            m.points[3 * v + c] = p[c] + (extra ? 0 : 0.5) + 0.2 * (lattice_random(&state) - 0.5);
        m.unknown[v] = extra && p[2] == 0 && held ? -2 : -1;
    }
    for (int32_t v = 0; v < cells; v++)
        for (int axis = 0; axis < 3; axis++) {
            int32_t p[3] = {v % nx, v / nx % ny, v / nx / ny};
            if (p[axis] + 1 < n[axis]) lattice_face(&m, n, p, axis);
        }
    for (int32_t i = 0; i < 4 * m.tet_count; i++)
        if (m.unknown[m.tets[i]] == -1) m.unknown[m.tets[i]] = 0;
    for (int32_t v = 0; v < m.vertex_count; v++) m.unknown[v] = m.unknown[v] < 0 ? -1 : m.unknown_count++;
    return m;
}

static inline void lattice_free(lattice *m)
{
    free(m->points);
    free(m->tets);
    free(m->unknown);
}

/* Gradients of the four hat functions; returns the volume. */
static inline double lattice_gradients(const lattice *m, int32_t tet, double g[4][3])
{
    double e[3][3], c[3][3];
    const int32_t *t = m->tets + 4 * tet;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) e[i][k] = m->points[3 * t[i + 1] + k] - m->points[3 * t[0] + k];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const double *a = e[(i + 1) % 3], *b = e[(i + 2) % 3];
            c[i][k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
        }
    double det = e[0][0] * c[0][0] + e[0][1] * c[0][1] + e[0][2] * c[0][2];
    for (int k = 0; k < 3; k++) {
        g[0][k] = 0;
        for (int i = 0; i < 3; i++) g[i + 1][k] = c[i][k] / det, g[0][k] -= c[i][k] / det;
    }
    return fabs(det) / 6;
}

/* Element matrices as spl_assembly_gather takes them: Laplacian (block 1) or linear elasticity with mu = lambda = 1
 * (block 3), plus `mass` times the lumped mass. The caller frees them. */
static inline double *lattice_elements(const lattice *m, int block, double mass)
{
    double *all = calloc((size_t)m->tet_count * 10 * (size_t)(block * block), sizeof *all), *out = all;
    for (int32_t t = 0; t < m->tet_count; t++) {
        double g[4][3], volume = lattice_gradients(m, t, g);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++) {
                double dot = g[i][0] * g[j][0] + g[i][1] * g[j][1] + g[i][2] * g[j][2];
                double lump = i == j ? mass / 4 : 0;
                for (int b = 0; b < block; b++)
                    for (int a = 0; a < block; a++, out++) {
                        *out = a == b ? volume * (dot + lump) : 0;
                        if (block == 3) *out += volume * (g[i][a] * g[j][b] + g[i][b] * g[j][a]);
                    }
            }
    }
    return all;
}

#endif
