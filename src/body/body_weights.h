/* The weights of a body's bones on its tets, by any of the ways to find them, from the cache if they are there. */
#ifndef SPL_BODY_BODY_WEIGHTS_H
#define SPL_BODY_BODY_WEIGHTS_H

#include "body/bbw.h"
#include "body/solid.h"

typedef enum spl_weights_kind {
    SPL_WEIGHTS_BBW,  /* bounded biharmonic */
    SPL_WEIGHTS_HEAT, /* bone heat */
    SPL_WEIGHTS_OWN,  /* the input's own, carried inside */
} spl_weights_kind;

typedef struct spl_weights_report {
    spl_bbw_report bbw; /* zeroed for the other kinds and from the cache, but for unknowns, residual and bones */
    int32_t maxima;     /* local maxima that no held vertex explains, before normalisation */
    bool cached;
    double ms;
} spl_weights_report;

/* Weights at all tet vertices, made to sum to 1; values below 1e-6 are left out. `report` may be NULL. A programme that
 * does not converge is a warning. */
supple_result spl_body_weights(const spl_solid *solid, spl_weights_kind kind, bool cache, const supple_config *config,
                               spl_pool *pool, spl_weight_table *out, spl_weights_report *report, supple_error *error);

#endif
