/* Which pairs of a surface vertex and a tetrahedron are no contacts, however they meet.
 *
 *   - Neighbours: the tet has a corner within two edges of the vertex, counted through flesh. What is pressed together
 *     there is the material's business. (Where no tet is inverted, a vertex inside a tet that does not touch it is a
 *     true overlap, so two rings are enough; fewer would answer flesh that is turned inside out with contacts.)
 *   - Pairs that overlap or touch at rest: overlapping limbs of the input, and all within an edge of these.
 *   - Places on the two sides of one limb: the straight way between them at rest goes into the flesh at one end and
 *     comes out of it at the other, and is no longer than 1.5 times the flesh there is thick. A limb that is crushed or
 *     wrung meets itself inside; pushing its sides out through each other would turn it inside out for good. Creases
 *     are not of this kind: there both places lie on the same side of the limb. */
#ifndef SPL_CONTACT_NEAR_H
#define SPL_CONTACT_NEAR_H

#include "contact/shell.h"

typedef struct spl_near {
    const spl_shell *shell;
    supple_allocator allocator;
    int32_t *first;     /* shell.vertex_count + 1 */
    int32_t *vertex;    /* body vertices whose tets and triangles are none for that shell vertex, ascending */
    int32_t rest_count; /* pairs that overlap or touch at rest */
} spl_near;

/* The shell must outlive it. SUPPLE_ERROR_MEMORY is the only failure. */
supple_result spl_near_create(const spl_shell *shell, spl_pool *pool, spl_near *out, supple_error *error);
void spl_near_release(spl_near *n);

/* Whether body vertex w is too near to shell vertex v. */
static inline bool spl_near_vertex(const spl_near *n, int32_t v, int32_t w)
{
    int32_t low = n->first[v], high = n->first[v + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (n->vertex[middle] < w)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n->first[v + 1] && n->vertex[low] == w;
}

/* Whether one of `count` body vertices is. */
static inline bool spl_near_any(const spl_near *n, int32_t v, const int32_t *vertex, int count)
{
    for (int k = 0; k < count; k++)
        if (spl_near_vertex(n, v, vertex[k])) return true;
    return false;
}

/* Whether a place with this normal at rest is on the other side of the flesh below shell vertex v. */
bool spl_near_through(const spl_near *n, int32_t v, spl_vec3 place, spl_vec3 normal);

#endif
