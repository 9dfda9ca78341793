/* Pieces of flesh that nothing holds firmly: apart from the rest, or joined to it at a corner or along an edge only, so
 * that they would float away, turn or swing without any force. */
#ifndef SPL_BODY_ISLANDS_H
#define SPL_BODY_ISLANDS_H

#include "body/tets.h"

/* A piece is what hangs together through faces. It is firm if three of its vertices, not in line, are anchored or
 * belong to firm pieces. `anchor` gives the bone that holds or pins a vertex, -1 for none: spl_body.bone (where
 * spl_attach has left no islands) or pins. island[v] becomes the bone anchored nearest to v's piece where v belongs to
 * none that is firm, else -1; *count the number of pieces that are not firm. */
supple_result spl_islands_find(const spl_tets *tets, const int32_t *anchor, const supple_allocator *a, int32_t *island,
                               int32_t *count, supple_error *error);

#endif
