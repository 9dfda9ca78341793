/* From weights on the tets to a standard skin: every visual vertex takes the weights of the body's surface near it, by
 * the upsampling's own combination, and keeps the strongest. */
#ifndef SPL_BODY_RESKIN_H
#define SPL_BODY_RESKIN_H

#include "body/body.h"
#include "body/weight_table.h"
#include "scene/writers/new_weights.h"

typedef struct spl_reskin_report {
    int32_t changed, kept;  /* skinned vertices with new weights; with the file's own: rigid parts, and what moves
                               rigidly with the flesh (eyes, teeth) */
    int32_t joints;         /* that have weight anywhere in the new skin */
    double mean_influences; /* of the changed vertices */
    double largest_cut;     /* largest sum of weights at a vertex that the limit of influences cut off */
} spl_reskin_report;

/* `influences` is 4 or 8. Only joints with bones that the part's own skin lists get weight. */
supple_result spl_reskin(const spl_body *body, const spl_weight_table *table, int32_t influences,
                         const supple_allocator *a, spl_new_weights *out, spl_reskin_report *report,
                         supple_error *error);

#endif
