#include "geom/sift_loops.h"
#include "math/cpu.h"

enum { LEAF_GRAIN = 64 };

const spl_sift_kernels spl_sift_kernels_plain = {sift_point_triangles, sift_edge_edges, sift_edge_triangles};

const spl_sift_kernels *spl_sift_kernels_best(void)
{
#ifdef SPL_HAVE_AVX2
    if (spl_cpu_has_avx2()) return &spl_sift_kernels_avx2;
#endif
    return &spl_sift_kernels_plain;
}

/* ---- rows ---- */

typedef struct fitting {
    spl_sift_row *row;
    const spl_box_tree *tree;
    const int32_t *item;
    int corners;
    const spl_sift_vertex *x;
    float radius; /* half of the pairs' */
} fitting;

static float square3(spl_f4 a)
{
    spl_f4 b = a * a;
    return b[0] + b[1] + b[2];
}

static void put3(float (*to)[SPL_LANES], int lane, spl_f4 a)
{
    for (int k = 0; k < 3; k++) to[k][lane] = a[k];
}

/* How far, squared, a corner's way is from the middle's at most. Of edges both are as far. */
static inline float spread(const spl_f4 *way, spl_f4 middle, int corners)
{
    float most = 0;
    for (int i = 0; i + (corners == 2) < corners && corners > 1; i++) {
        float square = square3(way[i] - middle);
        most = square > most ? square : most;
    }
    return most;
}

/* What is no number stays so in the sums, and what has none in its limit or its middle is not taken out. */
static inline void set_item(const fitting *f, spl_sift_row *row, int lane, const int32_t *v, int corners)
{
    spl_f4 at[3], way[3], middle = {0}, course = {0}, reach = {0};
    for (int i = 0; i < corners; i++) {
        at[i] = spl_f4_load(f->x[v[i]].at);
        way[i] = spl_f4_load(f->x[v[i]].way);
        middle += at[i];
        course += way[i];
        reach = spl_f4_max(at[i], reach);
        row->v[i][lane] = v[i];
    }
    float rounding = course[3], share = 1.0F / (float)corners;
    middle *= share;
    course *= share;
    for (int i = 0; i + 1 < corners; i++) put3(row->arm[i], lane, at[i] - middle);
    put3(row->middle, lane, middle);
    put3(row->way, lane, course);
    float limit = f->radius + reach[3] + sqrtf(spread(way, course, corners));
    row->limit[lane] = limit * (1 + 32 * FLT_EPSILON) + rounding;
}

static inline void fit_row(const fitting *f, size_t leaf, int corners)
{
    size_t first = SPL_LANES * leaf, count = (size_t)f->tree->item_count - first;
    const int32_t *item = f->tree->item + first;
    for (size_t i = 0; i < SPL_LANES && i < count; i++)
        set_item(f, &f->row[leaf], (int)i, f->item + (size_t)corners * (size_t)item[i], corners);
}

static void fit_rows(void *context, size_t begin, size_t end)
{
    const fitting *f = context;
    for (size_t leaf = begin; leaf < end; leaf++) {
        if (f->corners == 1)
            fit_row(f, leaf, 1);
        else if (f->corners == 2)
            fit_row(f, leaf, 2);
        else
            fit_row(f, leaf, 3);
    }
}

void spl_sift_fit(spl_sift_row *row, const spl_box_tree *t, const int32_t *item, int corners, const spl_sift_vertex *x,
                  double radius, spl_pool *pool)
{
    fitting f = {row, t, item, corners, x, (float)(radius / 2)};
    spl_parallel_for(pool, (size_t)spl_box_tree_leaf_count(t), LEAF_GRAIN, fit_rows, &f);
}
