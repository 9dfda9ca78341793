/* The public handle of new weights. */
#ifndef SPL_BODY_WEIGHTS_PUBLIC_H
#define SPL_BODY_WEIGHTS_PUBLIC_H

#include "body/reskin.h"

#include <supple/tools.h>

struct supple_weights {
    supple_allocator allocator;
    const spl_body *body;
    spl_new_weights skin;
    supple_weights_info info;
};

#endif
