/* Building the tree. Wald, "On fast construction of SAH-based bounding volume hierarchies", 2007; four-wide nodes are
 * made by splitting the widest of up to three ranges again. */
#include "geom/tree.h"

#include "core/error.h"
#include "core/memory.h"

#include <float.h>
#include <string.h>

enum {
    BINS = 16,
    LEAF = 4,       /* triangles a leaf at most */
    SAH_DEPTH = 24, /* below, ranges are halved: with 2^31 triangles no path is deeper than 24 + 31 < 64 */
};

typedef struct box {
    double low[3], high[3];
} box;

typedef struct range {
    int32_t begin, end;
    box bounds; /* of the centroids */
} range;

/* A range that waits to become a node. */
typedef struct task {
    range r;
    int32_t depth, node;
} task;

typedef struct builder {
    spl_tree *tree;
    const spl_vec3 *position;
    const int32_t *index;
    box *bounds;         /* by triangle */
    double (*middle)[3]; /* by triangle */
    int32_t *order;      /* being sorted into slots */
    int32_t *scratch;
} builder;

/* Not fmin and fmax: those are calls, for the sake of NaN. */
static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static const box empty_box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static void grow(box *b, const box *other)
{
    for (int i = 0; i < 3; i++) {
        b->low[i] = lesser(b->low[i], other->low[i]);
        b->high[i] = greater(b->high[i], other->high[i]);
    }
}

static double half_area(const box *b)
{
    double d[3];
    for (int i = 0; i < 3; i++) d[i] = b->high[i] < b->low[i] ? 0 : b->high[i] - b->low[i];
    return d[0] * d[1] + d[1] * d[2] + d[2] * d[0];
}

static box triangle_box(const spl_vec3 c[3])
{
    return (box){{lesser(c[0].x, lesser(c[1].x, c[2].x)), lesser(c[0].y, lesser(c[1].y, c[2].y)),
                  lesser(c[0].z, lesser(c[1].z, c[2].z))},
                 {greater(c[0].x, greater(c[1].x, c[2].x)), greater(c[0].y, greater(c[1].y, c[2].y)),
                  greater(c[0].z, greater(c[1].z, c[2].z))}};
}

static range make_range(const builder *b, int32_t begin, int32_t end)
{
    range r = {begin, end, empty_box};
    for (int32_t i = begin; i < end; i++) {
        const double *m = b->middle[b->order[i]];
        for (int k = 0; k < 3; k++) {
            r.bounds.low[k] = lesser(r.bounds.low[k], m[k]);
            r.bounds.high[k] = greater(r.bounds.high[k], m[k]);
        }
    }
    return r;
}

static int widest_axis(const box *b)
{
    double d[3];
    for (int i = 0; i < 3; i++) d[i] = b->high[i] - b->low[i];
    return d[0] >= d[1] && d[0] >= d[2] ? 0 : d[1] >= d[2] ? 1 : 2;
}

static int bin_of(const range *r, int axis, double m)
{
    double low = r->bounds.low[axis], width = r->bounds.high[axis] - low;
    int i = (int)((m - low) / width * BINS);
    return i < 0 ? 0 : i >= BINS ? BINS - 1 : i;
}

/* The bin before which the cheapest cut lies, 0 if the range cannot be cut by bins. */
static int best_cut(const builder *b, const range *r, int axis)
{
    box bin[BINS], left = empty_box;
    int32_t count[BINS] = {0}, before = 0, after = 0;
    double cost_after[BINS], best = INFINITY;
    for (int i = 0; i < BINS; i++) bin[i] = empty_box;
    for (int32_t i = r->begin; i < r->end; i++) {
        int32_t t = b->order[i];
        int k = bin_of(r, axis, b->middle[t][axis]);
        count[k]++;
        grow(&bin[k], &b->bounds[t]);
    }
    box right = empty_box;
    for (int i = BINS - 1; i > 0; i--) {
        grow(&right, &bin[i]);
        after += count[i];
        cost_after[i] = after * half_area(&right);
    }
    int cut = 0;
    for (int i = 1; i < BINS; i++) {
        grow(&left, &bin[i - 1]);
        before += count[i - 1];
        double cost = before * half_area(&left) + cost_after[i];
        if (before > 0 && before < r->end - r->begin && cost < best) {
            best = cost;
            cut = i;
        }
    }
    return cut;
}

/* Moves the triangles before the cut to the front, keeping both sides' order; returns where the second side begins. */
static int32_t partition(builder *b, const range *r, int axis, int cut)
{
    int32_t front = r->begin, back = 0;
    for (int32_t i = r->begin; i < r->end; i++) {
        int32_t t = b->order[i];
        if (bin_of(r, axis, b->middle[t][axis]) < cut)
            b->order[front++] = t;
        else
            b->scratch[back++] = t;
    }
    memcpy(b->order + front, b->scratch, (size_t)back * sizeof *b->order);
    return front;
}

/* Cuts a range of more than LEAF triangles. Cheaply by the heuristic while that is likely to pay; deep down, or where
 * all centroids are in one place, in the middle: by order, which is spatial enough after many cuts. */
static void split(builder *b, const range *r, int32_t depth, range *left, range *right)
{
    int axis = widest_axis(&r->bounds);
    int32_t middle = r->begin + (r->end - r->begin) / 2;
    if (depth < SAH_DEPTH && r->bounds.high[axis] - r->bounds.low[axis] > DBL_MIN) {
        int cut = best_cut(b, r, axis);
        if (cut > 0) middle = partition(b, r, axis, cut);
    }
    *left = make_range(b, r->begin, middle);
    *right = make_range(b, middle, r->end);
}

/* Makes one node: splits its range until there are four, the largest first. */
static int split_node(builder *b, const task *t, range part[SPL_TREE_WIDTH])
{
    int n = 1;
    part[0] = t->r;
    while (n < SPL_TREE_WIDTH) {
        int widest = -1;
        for (int i = 0; i < n; i++) {
            int32_t size = part[i].end - part[i].begin;
            if (size > LEAF && (widest < 0 || size > part[widest].end - part[widest].begin)) widest = i;
        }
        if (widest < 0) break;
        range whole = part[widest];
        split(b, &whole, t->depth + n - 1, &part[widest], &part[n]);
        n++;
    }
    return n;
}

/* Every split makes two non-empty ranges, so that n triangles make fewer than n nodes. */
static void build_nodes(builder *b, task *stack)
{
    spl_tree *tree = b->tree;
    int32_t top = 0;
    if (tree->triangle_count > 0) stack[top++] = (task){make_range(b, 0, tree->triangle_count), 0, tree->node_count++};
    while (top > 0) {
        task t = stack[--top];
        range part[SPL_TREE_WIDTH];
        int n = split_node(b, &t, part);
        spl_tree_node *node = tree->node + t.node;
        for (int k = 0; k < SPL_TREE_WIDTH; k++) {
            node->child[k] = ~0;
            node->count[k] = 0;
        }
        for (int k = 0; k < n; k++) {
            int32_t size = part[k].end - part[k].begin;
            if (size <= LEAF) {
                node->child[k] = ~part[k].begin;
                node->count[k] = size;
            } else {
                node->child[k] = tree->node_count++;
                stack[top++] = (task){part[k], t.depth + 1, node->child[k]};
            }
        }
    }
}

static float round_down(double x)
{
    float f = (float)x;
    return (double)f > x ? nextafterf(f, -FLT_MAX) : f;
}

static float round_up(double x)
{
    float f = (float)x;
    return (double)f < x ? nextafterf(f, FLT_MAX) : f;
}

static box leaf_box(const spl_tree *tree, int32_t first, int32_t count)
{
    box b = empty_box;
    for (int32_t i = first; i < first + count; i++) {
        box t = triangle_box(tree->corner + 3 * (size_t)i);
        grow(&b, &t);
    }
    double m[3] = {tree->middle.x, tree->middle.y, tree->middle.z};
    for (int k = 0; k < 3; k++) {
        b.low[k] = (b.low[k] - m[k]) * tree->scale;
        b.high[k] = (b.high[k] - m[k]) * tree->scale;
    }
    return b;
}

static box node_box(const spl_tree_node *node)
{
    box b = empty_box;
    for (int c = 0; c < SPL_TREE_WIDTH; c++)
        for (int k = 0; k < 3; k++) {
            b.low[k] = lesser(b.low[k], (double)node->low[k][c]);
            b.high[k] = greater(b.high[k], (double)node->high[k][c]);
        }
    return b;
}

/* Children come after their parents, so one backward sweep suffices. An empty child keeps an inverted box. */
static void fit_boxes(spl_tree *tree)
{
    for (int32_t i = tree->node_count - 1; i >= 0; i--) {
        spl_tree_node *node = tree->node + i;
        for (int c = 0; c < SPL_TREE_WIDTH; c++) {
            box b = node->child[c] >= 0 ? node_box(tree->node + node->child[c])
                                        : leaf_box(tree, ~node->child[c], node->count[c]);
            for (int k = 0; k < 3; k++) {
                node->low[k][c] = round_down(b.low[k]);
                node->high[k][c] = round_up(b.high[k]);
            }
        }
    }
}

void spl_tree_refit(spl_tree *tree, const spl_vec3 *position)
{
    box b = empty_box;
    for (size_t i = 0; i < 3 * (size_t)tree->triangle_count; i++) {
        spl_vec3 p = tree->corner[i] = position[tree->index[i]];
        grow(&b, &(box){{p.x, p.y, p.z}, {p.x, p.y, p.z}});
    }
    if (tree->triangle_count == 0) b = (box){{0}, {0}};
    tree->middle = spl_v3((b.low[0] + b.high[0]) / 2, (b.low[1] + b.high[1]) / 2, (b.low[2] + b.high[2]) / 2);
    double width = 0;
    for (int k = 0; k < 3; k++) width = greater(width, (b.high[k] - b.low[k]) / 2);
    int exponent = 0;
    frexp(width, &exponent);
    tree->scale = width > 0 ? ldexp(1, -exponent) : 1; /* half width in [1/2, 1) */
    fit_boxes(tree);
}

static void fill_slots(builder *b)
{
    spl_tree *tree = b->tree;
    for (int32_t i = 0; i < tree->triangle_count; i++) {
        int32_t t = tree->triangle[i] = b->order[i];
        tree->slot[t] = i;
        memcpy(tree->index + 3 * (size_t)i, b->index + 3 * (size_t)t, 3 * sizeof *tree->index);
    }
}

static void measure_triangles(builder *b)
{
    for (int32_t t = 0; t < b->tree->triangle_count; t++) {
        const int32_t *v = b->index + 3 * (size_t)t;
        spl_vec3 c[3] = {b->position[v[0]], b->position[v[1]], b->position[v[2]]};
        b->bounds[t] = triangle_box(c);
        for (int k = 0; k < 3; k++) b->middle[t][k] = b->bounds[t].low[k] / 2 + b->bounds[t].high[k] / 2;
        b->order[t] = t;
    }
}

supple_result spl_tree_make(const spl_vec3 *position, const int32_t *triangle, int32_t triangle_count,
                            const supple_allocator *a, spl_tree *out, supple_error *error)
{
    size_t n = (size_t)triangle_count;
    spl_tree tree = {.triangle_count = triangle_count, .allocator = *a};
    builder b = {.tree = &tree, .position = position, .index = triangle};
    *out = (spl_tree){0};
    tree.node = spl_new(a, n, sizeof *tree.node);
    tree.corner = spl_new(a, 3 * n, sizeof *tree.corner);
    tree.index = spl_new(a, 3 * n, sizeof *tree.index);
    tree.triangle = spl_new(a, n, sizeof *tree.triangle);
    tree.slot = spl_new(a, n, sizeof *tree.slot);
    b.bounds = spl_new(a, n, sizeof *b.bounds);
    b.middle = spl_new(a, n, sizeof *b.middle);
    b.order = spl_new(a, n, sizeof *b.order);
    b.scratch = spl_new(a, n, sizeof *b.scratch);
    task *stack = spl_new(a, SPL_TREE_STACK, sizeof *stack);
    bool made = tree.node && tree.corner && tree.index && tree.triangle && tree.slot && b.bounds && b.middle &&
                b.order && b.scratch && stack;
    if (made) {
        measure_triangles(&b);
        build_nodes(&b, stack);
        fill_slots(&b);
        spl_tree_refit(&tree, position);
        spl_tree_node *fewer = spl_resize(a, tree.node, (size_t)tree.node_count, sizeof *tree.node);
        if (fewer) tree.node = fewer;
        *out = tree;
    } else
        spl_tree_release(&tree);
    spl_free(a, b.bounds);
    spl_free(a, b.middle);
    spl_free(a, b.order);
    spl_free(a, b.scratch);
    spl_free(a, stack);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the bounding-volume tree");
}

void spl_tree_release(spl_tree *tree)
{
    void *block[] = {tree->node, tree->corner, tree->index, tree->triangle, tree->slot};
    if (tree->allocator.release)
        for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&tree->allocator, block[i]);
    *tree = (spl_tree){0};
}
