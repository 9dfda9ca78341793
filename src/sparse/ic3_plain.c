#include "sparse/ic3_private.h"

#define NAME(pass) pass
#define REAL       double
#define LANES      3
#define COLUMN     3
#define BLOCKS     U
#define INVERSE    E
#define WORK       w
#define SUMS       t
#include "sparse/ic3_loops.h"
#undef NAME
#undef REAL
#undef LANES
#undef COLUMN
#undef BLOCKS
#undef INVERSE
#undef WORK
#undef SUMS

#define NAME(pass) pass##_float
#define REAL       float
#define LANES      4
#define COLUMN     4
#define BLOCKS     u
#define INVERSE    e
#define WORK       fw
#define SUMS       ft
#include "sparse/ic3_loops.h"

const spl_ic3_kernels spl_ic3_kernels_plain = {forward, backward, forward_float, backward_float};
