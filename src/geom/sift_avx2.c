/* sift.c for AVX2: eight in one vector. */
#include "geom/sift_loops.h"

const spl_sift_kernels spl_sift_kernels_avx2 = {sift_point_triangles, sift_edge_edges, sift_edge_triangles};
