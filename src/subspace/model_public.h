/* The public handle of a model. */
#ifndef SPL_SUBSPACE_MODEL_PUBLIC_H
#define SPL_SUBSPACE_MODEL_PUBLIC_H

#include "subspace/model.h"

#include <supple/model.h>

struct supple_model {
    spl_model model;
    supple_model_info info;
};

/* Fills the info from the model. */
void spl_model_describe(supple_model *m);

/* The body that a model wants, in place of what `bc` says; patterns are borrowed from the model. */
void spl_model_body_config(const spl_model *m, supple_body_config *bc);

#endif
