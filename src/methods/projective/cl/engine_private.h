/* The engine's parts, which its files share. */
#ifndef SPL_METHODS_PROJECTIVE_CL_ENGINE_PRIVATE_H
#define SPL_METHODS_PROJECTIVE_CL_ENGINE_PRIVATE_H

#include "methods/projective/cl/device.h"
#include "methods/projective/cl/engine.h"
#include "methods/projective/cl/hybrid.h"

/* Buffers by what they hold; shapes as kernels/ has them. */
enum {
    /* of the body, for good */
    SPL_B_SHARE, /* int2 a group of tets: first, end */
    SPL_B_CORNER,
    SPL_B_GRADIENT,
    SPL_B_WEIGHT,
    SPL_B_SPREAD,
    SPL_B_GROUP, /* int8 a group of nodes */
    SPL_B_VERTEX,
    SPL_B_SLOT_START,
    SPL_B_SLOT,
    /* of a time step */
    SPL_B_ELL_VALUE,
    SPL_B_ELL_COLUMN,
    SPL_B_REST_START,
    SPL_B_REST_VALUE,
    SPL_B_REST_COLUMN,
    SPL_B_DIAGONAL, /* with the contacts' */
    /* of a problem */
    SPL_B_HIGH, /* float4 a vertex: x as a sum of two floats */
    SPL_B_LOW,
    SPL_B_BEGIN_HIGH, /* float4 a node: x at the beginning */
    SPL_B_BEGIN_LOW,
    SPL_B_BEFORE_HIGH, /* before the last step */
    SPL_B_BEFORE_LOW,
    SPL_B_ANCHOR_HIGH, /* the last number is the pull */
    SPL_B_ANCHOR_LOW,
    SPL_B_EXTERNAL,
    /* of an iteration */
    SPL_B_TURN,  /* float4 a tet */
    SPL_B_FORCE, /* float4 a corner */
    SPL_B_STORE, /* the vectors, float4 a node each */
    SPL_B_TET_PARTIAL,
    SPL_B_NODE_PARTIAL,
    SPL_B_TIE_PARTIAL,
    SPL_B_DELTA, /* r . J r of one iteration and of the next, in turns */
    SPL_B_DELTA_NEXT,
    SPL_B_DQ,
    SPL_B_DOTS,
    /* of contacts */
    SPL_B_TIE_VERTEX,
    SPL_B_TIE_COEFFICIENT,
    SPL_B_TIE_OFFSET_HIGH,
    SPL_B_TIE_OFFSET_LOW,
    SPL_B_TIE_NORMAL,
    SPL_B_TIE_PULL,
    SPL_B_TIE_START, /* by node: its ties */
    SPL_B_TIE,
    SPL_B_TIE_SHARE,
    SPL_B_TOUCH_START, /* A_col by rows, without its diagonal */
    SPL_B_TOUCH_VALUE,
    SPL_B_TOUCH_COLUMN,
    SPL_B_COUNT
};

enum {
    SPL_K_PROJECT,
    SPL_K_PRESS,
    SPL_K_GATHER,
    SPL_K_BEGIN,
    SPL_K_MULTIPLY,
    SPL_K_STEP,
    SPL_K_TURN,
    SPL_K_DOTS,
    SPL_K_COMBINE,
    SPL_K_ADVANCE,
    SPL_K_GO_BACK,
    SPL_K_COUNT
};

/* Vectors of the store. */
enum {
    SPL_V_R,
    SPL_V_R_BEFORE,
    SPL_V_DX,
    SPL_V_CG_R,
    SPL_V_CG_D,
    SPL_V_CG_Q,
    SPL_V_PACE,
    SPL_V_COUNT = SPL_V_PACE + SPL_PACE_VECTORS
};

typedef struct spl_cl_engine {
    spl_pd_engine base; /* first */
    supple_allocator allocator;
    spl_cl_work work;
    spl_vectors_elsewhere vectors;
    float name[SPL_V_COUNT]; /* only their addresses mean something */
    cl_mem buffer[SPL_B_COUNT];
    spl_cl_kernel kernel[SPL_K_COUNT];
    int32_t inner;
    int32_t vertex_count, node_count, tet_count; /* tets with a free corner */
    size_t node_groups, tet_groups, tie_groups;
    spl_rows rows;
    spl_hybrid matrix;
    double dt;       /* of the matrix there; negative: none */
    cl_uint piece;   /* products of a CRS part that local memory holds at once */
    double constant; /* of the energy: what external forces are worth at the beginning */
    int32_t tie_capacity, tie_count;
    cl_float4 *staging; /* 9 arrays of the size of the body: what is written, or read */
    cl_float4 *partial; /* sums of groups, as they are read */
    float *diagonal;
    cl_int4 *tie_vertex;               /* by tie */
    cl_float4 *tie_data;               /* 4 a tie: coefficients, offsets, normal; array by array */
    uint32_t *tie_start, *touch_start; /* node_count + 1 */
    uint32_t *tie, *touch_column;      /* 4 and 12 a tie */
    float *tie_share, *touch_value;
} spl_cl_engine;

/* Sets all arguments that stay. */
void spl_cl_engine_bind(spl_cl_engine *e);

/* Ties of a problem: their forces, A_col and the diagonal. */
void spl_cl_engine_tie(spl_cl_engine *e, const spl_pd_view *v);

/* Of an iteration: what spl_pd_engine has. */
void spl_cl_engine_evaluate(spl_pd_engine *base, const float *r, int newton, spl_pd_sums *sums);
int32_t spl_cl_engine_solve(spl_pd_engine *base, float *dx);
void spl_cl_engine_advance(spl_pd_engine *base, const float *dx);
void spl_cl_engine_go_back(spl_pd_engine *base);
void spl_cl_engine_dots(void *self, int count, const float *const a[], const float *const b[], double out[]);
void spl_cl_engine_sum(void *self, const float *base, int count, const double s[], const float *const x[], float *out);

#endif
