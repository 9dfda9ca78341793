/* A box of tets as a solid with one bone or none, without a scene behind it: for truths that have closed forms. */
#ifndef SPL_TESTS_SUBSPACE_BOX_SOLID_H
#define SPL_TESTS_SUBSPACE_BOX_SOLID_H

#include "body/solid.h"
#include "statics/flesh.h"

typedef struct box_solid {
    flesh flesh; /* rest, tets, held, material */
    spl_body *body;
    spl_solid solid;
} box_solid;

/* Held where x is 0. Young's modulus in Pa, 1000 kg/m^3. */
static inline box_solid box_solid_make(int nx, int ny, int nz, double lx, double ly, double lz, double jitter,
                                       double young, double poisson)
{
    box_solid b = {.flesh = flesh_box(nx, ny, nz, lx, ly, lz, jitter), .body = calloc(1, sizeof *b.body)};
    size_t n = (size_t)b.flesh.vertex_count, m = (size_t)b.flesh.tet_count;
    spl_solid *s = &b.solid;
    double *density = calloc(m, sizeof *density);
    int32_t *island = calloc(n, sizeof *island);
    for (size_t v = 0; v < n; v++) {
        b.flesh.held[v] = b.flesh.rest[3 * v] < 1e-9 ? 0 : -1;
        island[v] = -1;
    }
    for (size_t k = 0; k < m; k++) {
        density[k] = 1000;
        spl_lame(young, poisson, &b.flesh.mu[k], &b.flesh.lambda[k]);
    }
    b.body->tets = (spl_tets){.vertex_count = (int32_t)n, .tet_count = (int32_t)m, .tet = b.flesh.tet};
    b.body->tets.position = (spl_vec3 *)b.flesh.rest;
    b.body->bone = b.flesh.held;
    s->body = b.body;
    s->elements = b.flesh.elements;
    s->drive.rest = b.flesh.rest;
    s->material = (spl_material_field){
        .tet_count = (int32_t)m, .mu = b.flesh.mu, .lambda = b.flesh.lambda, .density = density, .young_max = young};
    s->island = island;
    s->island_stiffness = 1e-3 * young * lx / nx;
    s->diagonal = b.flesh.size;
    return b;
}

static inline void box_solid_free(box_solid *b)
{
    free(b->solid.material.density);
    free(b->solid.island);
    free(b->body);
    flesh_free(&b->flesh);
}

#endif
