/* Asking the tree. Nodes are visited nearest first, from an explicit stack. */
#include "geom/tree.h"
#include "geom/vec4.h"

#include <float.h>

/* A node or leaf that waits, with a lower bound of its (squared) distance in the tree's frame. */
typedef struct entry {
    float bound;
    int32_t child, count;
} entry;

/* The point of segment a b nearest to p, as the weight of b. */
static double segment_nearest(spl_vec3 p, spl_vec3 a, spl_vec3 b)
{
    spl_vec3 d = spl_sub(b, a);
    double length = spl_dot(d, d), t = spl_dot(spl_sub(p, a), d);
    return t <= 0 || !(length > 0) ? 0 : t >= length ? 1 : t / length;
}

/* The nearest point on the border: for slivers, whose inside cannot be told from it. */
static double border_nearest(spl_vec3 p, const spl_vec3 c[3], double bary[3])
{
    double best = INFINITY;
    for (int k = 0; k < 3; k++) {
        int next = (k + 1) % 3;
        double t = segment_nearest(p, c[k], c[next]);
        spl_vec3 d = spl_sub(spl_lerp(c[k], c[next], t), p);
        double square = spl_dot(d, d);
        if (square >= best) continue;
        best = square;
        bary[k] = 1 - t;
        bary[next] = t;
        bary[3 - k - next] = 0;
    }
    return best;
}

static double corner_hit(spl_vec3 d, int corner, double bary[3])
{
    for (int k = 0; k < 3; k++) bary[k] = k == corner;
    return spl_dot(d, d);
}

static double edge_hit(spl_vec3 d, spl_vec3 edge, double t, int from, int to, double bary[3])
{
    bary[0] = bary[1] = bary[2] = 0;
    bary[from] = 1 - t;
    bary[to] = t;
    d = spl_madd(d, edge, -t);
    return spl_dot(d, d);
}

/* By the Voronoi regions of the corners, edges and face (Ericson, "Real-time collision detection", 5.1.5), in terms of
 * d_ij: the projections of p - corner_i on the edges from a. */
double spl_triangle_nearest(spl_vec3 p, spl_vec3 a, spl_vec3 b, spl_vec3 c, double bary[3])
{
    spl_vec3 ab = spl_sub(b, a), ac = spl_sub(c, a), ap = spl_sub(p, a);
    double ab_p = spl_dot(ab, ap), ac_p = spl_dot(ac, ap);
    if (ab_p <= 0 && ac_p <= 0) return corner_hit(ap, 0, bary);
    double ab_ab = spl_dot(ab, ab), ab_ac = spl_dot(ab, ac), ac_ac = spl_dot(ac, ac);
    double ab_bp = ab_p - ab_ab, ac_bp = ac_p - ab_ac;
    if (ab_bp >= 0 && ac_bp <= ab_bp) return corner_hit(spl_sub(p, b), 1, bary);
    double ab_cp = ab_p - ab_ac, ac_cp = ac_p - ac_ac;
    if (ac_cp >= 0 && ab_cp <= ac_cp) return corner_hit(spl_sub(p, c), 2, bary);
    double area = ab_ab * ac_ac - ab_ac * ab_ac;
    if (!(area > 1e-10 * ab_ab * ac_ac)) return border_nearest(p, (spl_vec3[]){a, b, c}, bary);
    double vc = ab_ab * ac_p - ab_ac * ab_p, vb = ac_ac * ab_p - ab_ac * ac_p;
    if (vc <= 0 && ab_p >= 0 && ab_bp <= 0) return edge_hit(ap, ab, ab_p / ab_ab, 0, 1, bary);
    if (vb <= 0 && ac_p >= 0 && ac_cp <= 0) return edge_hit(ap, ac, ac_p / ac_ac, 0, 2, bary);
    double va = area - vb - vc, b_c = ac_bp - ab_bp, c_b = ab_cp - ac_cp;
    if (va <= 0 && b_c >= 0 && c_b >= 0) return edge_hit(spl_sub(p, b), spl_sub(c, b), b_c / (b_c + c_b), 1, 2, bary);
    double v = vb / area, w = vc / area;
    if (!(v >= 0 && w >= 0 && v + w <= 1)) return border_nearest(p, (spl_vec3[]){a, b, c}, bary);
    bary[0] = 1 - v - w;
    bary[1] = v;
    bary[2] = w;
    spl_vec3 d = spl_madd(spl_madd(ap, ab, -v), ac, -w);
    return spl_dot(d, d);
}

/* A nearest-point query under way. */
typedef struct nearest {
    const spl_tree *tree;
    spl_vec3 p;
    double square; /* of the best distance so far, or of the radius */
    float bound;   /* the same in the tree's frame, rounded up */
    int32_t triangle;
    double bary[3];
    spl_f4 p_low[3], p_high[3]; /* p in the tree's frame, rounded down and up */
} nearest;

/* The factor covers the rounding of bounds computed in floats. */
static float frame_bound(const nearest *q)
{
    double b = q->square * (q->tree->scale * q->tree->scale) * (1 + 1e-6);
    return b < (double)FLT_MAX / 2 ? (float)b + FLT_MIN : INFINITY;
}

static void try_slot(nearest *q, int32_t slot)
{
    const spl_vec3 *c = q->tree->corner + 3 * (size_t)slot;
    double bary[3], square = spl_triangle_nearest(q->p, c[0], c[1], c[2], bary);
    int32_t triangle = q->tree->triangle[slot];
    if (square > q->square || (square == q->square && q->triangle >= 0 && triangle > q->triangle) ||
        !(square < INFINITY))
        return;
    q->square = square;
    q->bound = frame_bound(q);
    q->triangle = triangle;
    memcpy(q->bary, bary, sizeof bary);
}

static spl_f4 box_distances(const nearest *q, const spl_tree_node *node)
{
    spl_f4 zero = {0}, sum = {0};
    for (int k = 0; k < 3; k++) {
        spl_f4 below = spl_f4_load(node->low[k]) - q->p_high[k], above = q->p_low[k] - spl_f4_load(node->high[k]);
        spl_f4 gap = spl_f4_max(spl_f4_max(below, above), zero);
        sum += gap * gap;
    }
    return sum;
}

/* Pushes the children within the bound, the nearest last. */
static int push_children(const spl_tree_node *node, spl_f4 distance, float bound, entry *stack, int top)
{
    int base = top;
    for (int k = 0; k < SPL_TREE_WIDTH; k++) {
        if (!(distance[k] <= bound)) continue;
        entry e = {distance[k], node->child[k], node->count[k]};
        int i = top++;
        for (; i > base && stack[i - 1].bound < e.bound; i--) stack[i] = stack[i - 1];
        stack[i] = e;
    }
    return top;
}

static void set_frame(nearest *q)
{
    const spl_tree *tree = q->tree;
    spl_vec3 d = spl_scale(spl_sub(q->p, tree->middle), tree->scale);
    double x[3] = {d.x, d.y, d.z};
    for (int k = 0; k < 3; k++) {
        double margin = fabs(x[k]) * 1.2e-7; /* two roundings to float */
        double limit = (double)FLT_MAX / 4;
        x[k] = x[k] < -limit ? -limit : x[k] > limit ? limit : x[k];
        q->p_low[k] = spl_f4_set((float)(x[k] - margin));
        q->p_high[k] = spl_f4_set((float)(x[k] + margin));
    }
}

bool spl_tree_nearest(const spl_tree *tree, spl_vec3 p, double radius, int32_t hint, spl_hit *hit)
{
    *hit = (spl_hit){.distance = INFINITY, .triangle = -1};
    if (tree->triangle_count == 0 || !spl_v3_finite(p) || !(radius >= 0)) return false;
    nearest q = {.tree = tree, .p = p, .square = radius * radius, .triangle = -1};
    set_frame(&q);
    q.bound = frame_bound(&q);
    if (hint >= 0 && hint < tree->triangle_count) try_slot(&q, tree->slot[hint]);
    entry stack[SPL_TREE_STACK];
    int top = 0;
    stack[top++] = (entry){0, 0, 0};
    while (top > 0) {
        entry e = stack[--top];
        if (!(e.bound <= q.bound)) continue;
        if (e.child >= 0) {
            const spl_tree_node *node = tree->node + e.child;
            top = push_children(node, box_distances(&q, node), q.bound, stack, top);
        } else
            for (int32_t i = 0; i < e.count; i++) try_slot(&q, ~e.child + i);
    }
    if (q.triangle < 0) return false;
    const spl_vec3 *c = tree->corner + 3 * (size_t)tree->slot[q.triangle];
    hit->distance = sqrt(q.square);
    hit->triangle = q.triangle;
    memcpy(hit->bary, q.bary, sizeof hit->bary);
    hit->point = spl_madd(spl_madd(spl_scale(c[0], q.bary[0]), c[1], q.bary[1]), c[2], q.bary[2]);
    return true;
}

/* A ray under way. In the tree's frame for the boxes, in the world's for the triangles. */
typedef struct ray {
    spl_vec3 origin, direction;
    double limit; /* the nearest hit so far */
    float frame_limit;
    int axis[3]; /* the last one is the direction's longest */
    double shear[2];
    spl_f4 from_low[3], from_high[3], inverse[3];
} ray;

/* A corner seen along the ray: offset from it in two axes, by shear along the third (Woop, Benthin, Wald, "Watertight
 * ray/triangle intersection", 2013). */
static void look_at(const ray *r, spl_vec3 corner, double *x, double *y)
{
    spl_vec3 d = spl_sub(corner, r->origin);
    double c[3] = {d.x, d.y, d.z};
    *x = c[r->axis[0]] - r->shear[0] * c[r->axis[2]];
    *y = c[r->axis[1]] - r->shear[1] * c[r->axis[2]];
}

/* Whether and where the ray meets a triangle. The corners' offsets depend on nothing else in the triangle, and the sign
 * of a difference of two products is right or zero in floating point: no ray passes between neighbours. */
static bool meet(const ray *r, const spl_vec3 corner[3], double *t, double bary[3])
{
    double x[3], y[3];
    for (int k = 0; k < 3; k++) look_at(r, corner[k], &x[k], &y[k]);
    double u = x[2] * y[1] - y[2] * x[1], v = x[0] * y[2] - y[0] * x[2], w = x[1] * y[0] - y[1] * x[0];
    double sum = u + v + w;
    if (!((u >= 0 && v >= 0 && w >= 0) || (u <= 0 && v <= 0 && w <= 0)) || sum == 0) return false;
    bary[0] = u / sum;
    bary[1] = v / sum;
    bary[2] = w / sum;
    spl_vec3 p = spl_madd(spl_madd(spl_scale(corner[0], bary[0]), corner[1], bary[1]), corner[2], bary[2]);
    *t = spl_dot(spl_sub(p, r->origin), r->direction) / spl_dot(r->direction, r->direction);
    return *t >= 0 && *t <= r->limit;
}

static void set_limit(ray *r, double limit)
{
    r->limit = limit;
    double f = limit * (1 + 1e-6);
    r->frame_limit = f < (double)FLT_MAX / 2 ? (float)f + FLT_MIN : INFINITY;
}

/* Parameters stay those of the world: the frame's direction is scaled as its lengths are. A direction's zero becomes
 * tiny: the slabs are then left at once or never, and 0 / 0 does not arise. */
static void start_ray(ray *r, const spl_tree *tree, spl_vec3 origin, spl_vec3 direction, double limit)
{
    r->origin = origin;
    r->direction = direction;
    set_limit(r, limit);
    spl_vec3 o = spl_scale(spl_sub(origin, tree->middle), tree->scale), d = spl_scale(direction, tree->scale);
    double from[3] = {o.x, o.y, o.z}, along[3] = {d.x, d.y, d.z};
    int longest = fabs(d.x) >= fabs(d.y) && fabs(d.x) >= fabs(d.z) ? 0 : fabs(d.y) >= fabs(d.z) ? 1 : 2;
    for (int k = 0; k < 3; k++) r->axis[k] = (longest + 1 + k) % 3;
    for (int k = 0; k < 2; k++) r->shear[k] = along[r->axis[k]] / along[longest];
    for (int k = 0; k < 3; k++) {
        double margin = fabs(from[k]) * 1.2e-7 + 1e-7;
        double inverse = fabs(along[k]) > 1e-30 ? 1 / along[k] : copysign(1e30, along[k]);
        r->from_low[k] = spl_f4_set((float)(from[k] - margin));
        r->from_high[k] = spl_f4_set((float)(from[k] + margin));
        r->inverse[k] = spl_f4_set((float)fmax(-1e30, fmin(1e30, inverse)));
    }
}

/* Where the ray enters each child's box, INFINITY where it misses. The origin is as good as a small box of rounding
 * errors: entering is computed from its near side, leaving from its far side. */
static spl_f4 box_entries(const ray *r, const spl_tree_node *node)
{
    spl_f4 enter = {0}, leave = spl_f4_set(r->frame_limit);
    for (int k = 0; k < 3; k++) {
        spl_f4 low = (spl_f4_load(node->low[k]) - r->from_high[k]) * r->inverse[k];
        spl_f4 high = (spl_f4_load(node->high[k]) - r->from_low[k]) * r->inverse[k];
        enter = spl_f4_max(enter, spl_f4_min(low, high) * 0.999999F);
        leave = spl_f4_min(leave, spl_f4_max(low, high) * 1.000001F);
    }
    return spl_f4_select(enter <= leave, enter, spl_f4_set(INFINITY));
}

static bool usable_ray(const spl_tree *tree, spl_vec3 origin, spl_vec3 direction, double limit)
{
    return tree->triangle_count > 0 && spl_v3_finite(origin) && spl_v3_finite(direction) &&
           spl_dot(direction, direction) > 0 && limit >= 0;
}

bool spl_tree_ray(const spl_tree *tree, spl_vec3 origin, spl_vec3 direction, double limit, spl_hit *hit)
{
    *hit = (spl_hit){.distance = INFINITY, .triangle = -1};
    if (!usable_ray(tree, origin, direction, limit)) return false;
    ray r;
    start_ray(&r, tree, origin, direction, limit);
    entry stack[SPL_TREE_STACK];
    int top = 0;
    stack[top++] = (entry){0, 0, 0};
    while (top > 0) {
        entry e = stack[--top];
        if (!(e.bound <= r.frame_limit)) continue;
        if (e.child >= 0) {
            const spl_tree_node *node = tree->node + e.child;
            float bound = r.frame_limit < FLT_MAX ? r.frame_limit : FLT_MAX;
            top = push_children(node, box_entries(&r, node), bound, stack, top);
            continue;
        }
        for (int32_t slot = ~e.child; slot < ~e.child + e.count; slot++) {
            double t, bary[3];
            int32_t triangle = tree->triangle[slot];
            if (!meet(&r, tree->corner + 3 * (size_t)slot, &t, bary)) continue;
            if (hit->triangle >= 0 && t == hit->distance && triangle > hit->triangle) continue;
            set_limit(&r, t);
            *hit = (spl_hit){t, triangle, {bary[0], bary[1], bary[2]}, spl_madd(origin, direction, t)};
        }
    }
    return hit->triangle >= 0;
}

int32_t spl_tree_ray_count(const spl_tree *tree, spl_vec3 origin, spl_vec3 direction, double limit)
{
    int32_t count = 0;
    if (!usable_ray(tree, origin, direction, limit)) return 0;
    ray r;
    start_ray(&r, tree, origin, direction, limit);
    entry stack[SPL_TREE_STACK];
    int top = 0;
    stack[top++] = (entry){0, 0, 0};
    while (top > 0) {
        entry e = stack[--top];
        if (e.child >= 0) {
            const spl_tree_node *node = tree->node + e.child;
            top = push_children(node, box_entries(&r, node), FLT_MAX, stack, top);
            continue;
        }
        for (int32_t slot = ~e.child; slot < ~e.child + e.count; slot++) {
            double t, bary[3];
            count += meet(&r, tree->corner + 3 * (size_t)slot, &t, bary);
        }
    }
    return count;
}

static bool triangle_meets_box(const spl_vec3 c[3], spl_vec3 low, spl_vec3 high)
{
    return !((c[0].x < low.x && c[1].x < low.x && c[2].x < low.x) ||
             (c[0].y < low.y && c[1].y < low.y && c[2].y < low.y) ||
             (c[0].z < low.z && c[1].z < low.z && c[2].z < low.z) ||
             (c[0].x > high.x && c[1].x > high.x && c[2].x > high.x) ||
             (c[0].y > high.y && c[1].y > high.y && c[2].y > high.y) ||
             (c[0].z > high.z && c[1].z > high.z && c[2].z > high.z));
}

void spl_tree_box(const spl_tree *tree, spl_vec3 low, spl_vec3 high, spl_tree_visit_fn *visit, void *context)
{
    spl_vec3 l = spl_scale(spl_sub(low, tree->middle), tree->scale);
    spl_vec3 h = spl_scale(spl_sub(high, tree->middle), tree->scale);
    double from[3] = {l.x, l.y, l.z}, to[3] = {h.x, h.y, h.z};
    float low_f[3], high_f[3];
    for (int k = 0; k < 3; k++) {
        low_f[k] = (float)(from[k] - 1.2e-7 * (1 + fabs(from[k])));
        high_f[k] = (float)(to[k] + 1.2e-7 * (1 + fabs(to[k])));
    }
    entry stack[SPL_TREE_STACK];
    int top = 0;
    if (tree->triangle_count > 0) stack[top++] = (entry){0, 0, 0};
    while (top > 0) {
        entry e = stack[--top];
        for (int32_t slot = ~e.child; e.child < 0 && slot < ~e.child + e.count; slot++)
            if (triangle_meets_box(tree->corner + 3 * (size_t)slot, low, high) && !visit(context, tree->triangle[slot]))
                return;
        if (e.child < 0) continue;
        const spl_tree_node *node = tree->node + e.child;
        for (int k = 0; k < SPL_TREE_WIDTH; k++) {
            bool apart = false;
            for (int d = 0; d < 3; d++) apart |= node->high[d][k] < low_f[d] || node->low[d][k] > high_f[d];
            if (!apart) stack[top++] = (entry){0, node->child[k], node->count[k]};
        }
    }
}
