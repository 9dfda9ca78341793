/* Pieces of flesh that nothing holds firmly: apart from the rest, or joined to it at a corner or along an edge only, so
 * that they would float away, turn or swing without any force. */
#ifndef SPL_BODY_ISLANDS_H
#define SPL_BODY_ISLANDS_H

#include "body/body.h"

/* A piece is what hangs together through faces. It is firm if three of its vertices, not in line, are held by bones or
 * belong to firm pieces. island[v] becomes the bone nearest to v's piece where v belongs to none that is firm, else -1;
 * *count the number of pieces that are not firm. */
supple_result spl_islands_find(const spl_body *body, const supple_allocator *a, int32_t *island, int32_t *count,
                               supple_error *error);

#endif
