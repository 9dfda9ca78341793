#include "geom/winding.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/vec4.h"

static const double pi = 3.14159265358979323846;

/* A branch is far when |q - centre| > far_ratio * radius, the radius being that of its farthest corner. The error falls
 * with the fourth power or so. Measured at points near five characters and a soup, largest error and cost: 2.5: 3.1e-3,
 * 4.7 us; 3: 1.3e-3, 6.5 us; 3.5: 6.4e-4, 8.5 us; 4: 3.2e-4, 11 us. */
static const double far_ratio = 3.5;

/* Moments of the four children about their centroids c, in the tree's frame; d = x - c, all integrals over area. Only
 * symmetric parts count, because they meet derivatives of a gradient. */
struct spl_winding_node {
    float centre[3][SPL_TREE_WIDTH];
    float reach[SPL_TREE_WIDTH]; /* square of far_ratio * radius: farther away the expansion is good */
    float n[3][SPL_TREE_WIDTH];  /* integral of n */
    float m[6][SPL_TREE_WIDTH];  /* of sym n d: xx yy zz, and 2 xy, 2 yz, 2 zx */
    float s[10][SPL_TREE_WIDTH]; /* of sym n d d / 2: xxx yyy zzz, 3 xxy, 3 xxz, 3 yyx, 3 yyz, 3 zzx, 3 zzy, 6 xyz */
};

/* Moments of one branch in double, while they are gathered. */
typedef struct spl_winding_moments moments;
struct spl_winding_moments {
    int32_t begin, end; /* its slots */
    double area;
    spl_vec3 centre, n; /* centroid by area */
    double m[3][3];     /* integral of n_i d_j */
    double s[3][3][3];  /* integral of n_i d_j d_k / 2 */
};

static void to_array(spl_vec3 v, double a[3])
{
    a[0] = v.x;
    a[1] = v.y;
    a[2] = v.z;
}

/* Adds a branch's moments, moved from its centre to `centre`: d' = d + e with e the step between them. */
static void add_moved(moments *sum, const moments *b, spl_vec3 centre)
{
    double e[3], n[3];
    to_array(spl_sub(b->centre, centre), e);
    to_array(b->n, n);
    sum->n = spl_add(sum->n, b->n);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            sum->m[i][j] += b->m[i][j] + n[i] * e[j];
            for (int k = 0; k < 3; k++)
                sum->s[i][j][k] += b->s[i][j][k] + (b->m[i][j] * e[k] + b->m[i][k] * e[j] + n[i] * e[j] * e[k]) / 2;
        }
}

/* A triangle about its own centroid: the first moment vanishes; the second is area / 12 times the corners' d d^T. */
static moments triangle_moments(const spl_tree *tree, int32_t slot)
{
    spl_vec3 p[3];
    for (int k = 0; k < 3; k++)
        p[k] = spl_scale(spl_sub(tree->corner[3 * (size_t)slot + (size_t)k], tree->middle), tree->scale);
    moments t = {.begin = slot, .end = slot + 1, .centre = spl_scale(spl_add(spl_add(p[0], p[1]), p[2]), 1.0 / 3)};
    t.n = spl_scale(spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0])), 0.5);
    t.area = spl_norm(t.n);
    double n[3];
    to_array(t.n, n);
    for (int c = 0; c < 3; c++) {
        double d[3];
        to_array(spl_sub(p[c], t.centre), d);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++) t.s[i][j][k] += n[i] * d[j] * d[k] / 24;
    }
    return t;
}

/* Sums parts; a branch without area takes the middle of its parts as centre. */
static moments join(const moments *part, int count)
{
    moments sum = {.begin = count ? part[0].begin : 0, .end = count ? part[0].end : 0};
    spl_vec3 weighted = {0, 0, 0}, plain = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        sum.begin = part[i].begin < sum.begin ? part[i].begin : sum.begin;
        sum.end = part[i].end > sum.end ? part[i].end : sum.end;
        sum.area += part[i].area;
        weighted = spl_madd(weighted, part[i].centre, part[i].area);
        plain = spl_add(plain, part[i].centre);
    }
    if (count > 0) sum.centre = sum.area > 0 ? spl_scale(weighted, 1 / sum.area) : spl_scale(plain, 1.0 / count);
    for (int i = 0; i < count; i++) add_moved(&sum, &part[i], sum.centre);
    return sum;
}

static moments leaf_moments(const spl_tree *tree, int32_t first, int32_t count)
{
    moments part[SPL_TREE_WIDTH * 2];
    int n = 0;
    for (int32_t i = first; i < first + count && n < SPL_TREE_WIDTH * 2; i++) part[n++] = triangle_moments(tree, i);
    return join(part, n);
}

/* Square of the branch's radius about its centre, in the tree's frame. */
static double radius_square(const spl_tree *tree, const moments *b)
{
    double far = 0;
    spl_vec3 centre = spl_madd(tree->middle, b->centre, 1 / tree->scale);
    for (size_t i = 3 * (size_t)b->begin; i < 3 * (size_t)b->end; i++) {
        spl_vec3 d = spl_sub(tree->corner[i], centre);
        double square = spl_dot(d, d);
        if (square > far) far = square;
    }
    return far * tree->scale * tree->scale;
}

static void store(spl_winding_node *node, const spl_tree *tree, int c, const moments *b)
{
    static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 2}, {2, 0}};
    static const int triple[10][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {0, 0, 1}, {0, 0, 2},
                                      {1, 1, 0}, {1, 1, 2}, {2, 2, 0}, {2, 2, 1}, {0, 1, 2}};
    double centre[3], n[3];
    to_array(b->centre, centre);
    to_array(b->n, n);
    for (int k = 0; k < 3; k++) {
        node->centre[k][c] = (float)centre[k];
        node->n[k][c] = (float)n[k];
    }
    for (int p = 0; p < 6; p++) {
        int i = pair[p][0], j = pair[p][1];
        node->m[p][c] = (float)(i == j ? b->m[i][i] : b->m[i][j] + b->m[j][i]);
    }
    for (int p = 0; p < 10; p++) {
        int i = triple[p][0], j = triple[p][1], k = triple[p][2];
        double once = b->s[i][j][k] + b->s[j][k][i] + b->s[k][i][j]; /* symmetric in the last two */
        node->s[p][c] = (float)(p < 3 ? b->s[i][i][i] : p < 9 ? once : 2 * once);
    }
    double reach = far_ratio * far_ratio * radius_square(tree, b);
    node->reach[c] = b->begin == b->end ? INFINITY : (float)(reach * (1 + 1e-6));
}

/* Children come after their parents: a backward sweep, with each node's joined moments kept for its parent. */
static void expand(spl_winding *w, moments *joined)
{
    const spl_tree *tree = w->tree;
    for (int32_t i = tree->node_count - 1; i >= 0; i--) {
        const spl_tree_node *box = tree->node + i;
        moments part[SPL_TREE_WIDTH];
        int count = 0;
        for (int c = 0; c < SPL_TREE_WIDTH; c++) {
            moments b = box->child[c] >= 0 ? joined[box->child[c]] : leaf_moments(tree, ~box->child[c], box->count[c]);
            store(w->node + i, tree, c, &b);
            if (b.begin < b.end) part[count++] = b;
        }
        joined[i] = join(part, count);
    }
}

supple_result spl_winding_make(const spl_tree *tree, const supple_allocator *a, spl_winding *out, supple_error *error)
{
    size_t n = (size_t)tree->node_count;
    *out = (spl_winding){.tree = tree, .allocator = *a};
    out->node = spl_new(a, n, sizeof *out->node);
    out->joined = spl_new(a, n, sizeof *out->joined);
    out->corner = spl_new(a, 9 * ((size_t)tree->triangle_count + 3), sizeof *out->corner);
    if (!out->node || !out->joined || !out->corner) {
        spl_winding_release(out);
        return spl_fail_memory(error, "the winding number");
    }
    spl_winding_refit(out);
    return SUPPLE_OK;
}

void spl_winding_refit(spl_winding *winding)
{
    const spl_tree *tree = winding->tree;
    size_t n = (size_t)tree->triangle_count, stride = n + 3;
    for (size_t slot = 0; slot < n; slot++)
        for (size_t k = 0; k < 3; k++) {
            spl_vec3 p = spl_scale(spl_sub(tree->corner[3 * slot + k], tree->middle), tree->scale);
            winding->corner[(3 * k) * stride + slot] = (float)p.x;
            winding->corner[(3 * k + 1) * stride + slot] = (float)p.y;
            winding->corner[(3 * k + 2) * stride + slot] = (float)p.z;
        }
    expand(winding, winding->joined);
}

void spl_winding_release(spl_winding *winding)
{
    if (winding->allocator.release) {
        spl_free(&winding->allocator, winding->node);
        spl_free(&winding->allocator, winding->joined);
        spl_free(&winding->allocator, winding->corner);
    }
    *winding = (spl_winding){0};
}

/* Half the solid angle of a triangle: tan = det / (abc + (a.b) c + (b.c) a + (c.a) b), Van Oosterom and Strackee, eq.
 * 8. In the triangle's plane it is that of neither side. */
static double half_angle(const spl_vec3 corner[3], spl_vec3 q)
{
    spl_vec3 a = spl_sub(corner[0], q), b = spl_sub(corner[1], q), c = spl_sub(corner[2], q);
    double la = spl_norm(a), lb = spl_norm(b), lc = spl_norm(c);
    double im = spl_dot(a, spl_cross(b, c));
    double re = la * lb * lc + spl_dot(a, b) * lc + spl_dot(b, c) * la + spl_dot(c, a) * lb;
    return im == 0 ? 0 : atan2(im, re);
}

/* Angles of many triangles as the arguments of four products of complex numbers, so that up to 64 share four
 * arctangents. Only factors within atan(0.19) of the real axis are multiplied, PRODUCT times at most: the argument
 * stays below 180 degrees, the modulus within float's range. */
enum { PRODUCT = 16 };
typedef struct angles {
    spl_f4 re, im;
    int count;
    double sum;
} angles;

static void flush(angles *a)
{
    for (int k = 0; k < 4; k++)
        if (a->im[k] != 0) a->sum += atan2((double)a->im[k], (double)a->re[k]);
    a->re = spl_f4_set(1);
    a->im = spl_f4_set(0);
    a->count = 0;
}

static spl_f4 dot4(const spl_f4 a[3], const spl_f4 b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* One leaf. Triangles that cover little of the view are done in floats, four at a time: their angle is well
 * conditioned, and rounding the corners moves neighbours alike. The others, near the point, in double. */
static void add_leaf(const spl_winding *w, angles *sum, const spl_f4 q[3], spl_vec3 p, int32_t first, int32_t count)
{
    size_t stride = (size_t)w->tree->triangle_count + 3;
    spl_f4 d[3][3], length[3];
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < 3; i++) d[k][i] = spl_f4_load(w->corner + (3 * k + i) * stride + first) - q[i];
        length[k] = spl_f4_root(dot4(d[k], d[k]));
    }
    spl_f4 volume = d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) +
                    d[0][1] * (d[1][2] * d[2][0] - d[1][0] * d[2][2]) +
                    d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
    spl_f4 scale = length[0] * length[1] * length[2];
    spl_f4 re = scale + dot4(d[0], d[1]) * length[2] + dot4(d[1], d[2]) * length[0] + dot4(d[2], d[0]) * length[1];
    re /= scale;
    volume /= scale;
    spl_f4 size = spl_f4_max(volume, -volume);
    spl_i4 used = (spl_i4){0, 1, 2, 3} < (spl_i4){count, count, count, count};
    spl_i4 small = (size <= 0.19F * re) & (re > 0.05F) & used; /* false for NaN */
    for (int k = 0; k < count; k++)
        if (!small[k]) sum->sum += half_angle(w->tree->corner + 3 * ((size_t)first + (size_t)k), p);
    re = spl_f4_select(small, re, spl_f4_set(1));
    spl_f4 im = spl_f4_select(small, volume, spl_f4_set(0));
    spl_f4 product = sum->re * re - sum->im * im;
    sum->im = sum->re * im + sum->im * re;
    sum->re = product;
    if (++sum->count == PRODUCT) flush(sum);
}

/* The expansion of the four children, with u the direction and r the distance from q to their centroids:
 * (n.u + (tr m - 3 u m u + (15 s uuu - 9 s_iik u_k) / r) / r) / r^2; lanes that are not far come out as 0. */
static float far_sum(const spl_winding_node *w, const spl_f4 d[3], spl_f4 inverse, spl_i4 far)
{
    spl_f4 x = d[0] * inverse, y = d[1] * inverse, z = d[2] * inverse;
    spl_f4 n[3], m[6], s[10];
    for (int k = 0; k < 3; k++) n[k] = spl_f4_load(w->n[k]);
    for (int k = 0; k < 6; k++) m[k] = spl_f4_load(w->m[k]);
    for (int k = 0; k < 10; k++) s[k] = spl_f4_load(w->s[k]);
    spl_f4 first = n[0] * x + n[1] * y + n[2] * z;
    spl_f4 umu = (m[0] * x + m[3] * y) * x + (m[1] * y + m[4] * z) * y + (m[2] * z + m[5] * x) * z;
    spl_f4 second = m[0] + m[1] + m[2] - 3 * umu;
    spl_f4 suuu = (s[0] * x + s[3] * y + s[4] * z) * x * x + (s[1] * y + s[5] * x + s[6] * z) * y * y +
                  (s[2] * z + s[7] * x + s[8] * y) * z * z + s[9] * x * y * z;
    /* s_iik: entries such as xxy are stored three times over */
    spl_f4 trace = (3 * s[0] + s[5] + s[7]) * x + (3 * s[1] + s[3] + s[8]) * y + (3 * s[2] + s[4] + s[6]) * z;
    spl_f4 third = 15 * suuu - 3 * trace;
    spl_f4 sum = (first + (second + third * inverse) * inverse) * inverse * inverse;
    sum = spl_f4_select(far, sum, (spl_f4){0});
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double spl_winding_number(const spl_winding *winding, spl_vec3 p)
{
    const spl_tree *tree = winding->tree;
    spl_vec3 frame = spl_scale(spl_sub(p, tree->middle), tree->scale);
    /* From a million sizes away nothing is seen: less than 1e-11 of the view. */
    if (tree->triangle_count == 0 || !(spl_dot(frame, frame) < 1e12)) return 0;
    spl_f4 q[3] = {spl_f4_set((float)frame.x), spl_f4_set((float)frame.y), spl_f4_set((float)frame.z)};
    int32_t stack[SPL_TREE_STACK], top = 0;
    angles near = {.re = spl_f4_set(1)};
    double far_total = 0;
    stack[top++] = 0;
    while (top > 0) {
        int32_t i = stack[--top];
        const spl_winding_node *w = winding->node + i;
        const spl_tree_node *box = tree->node + i;
        spl_f4 d[3];
        for (int k = 0; k < 3; k++) d[k] = spl_f4_load(w->centre[k]) - q[k];
        spl_f4 square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        spl_i4 far = square > spl_f4_load(w->reach);
        spl_f4 inverse = 1 / spl_f4_root(square);
        far_total += (double)far_sum(w, d, inverse, far);
        for (int c = 0; c < SPL_TREE_WIDTH; c++) {
            if (far[c]) continue;
            if (box->child[c] >= 0)
                stack[top++] = box->child[c];
            else if (box->count[c] > 0)
                add_leaf(winding, &near, q, p, ~box->child[c], box->count[c]);
        }
    }
    flush(&near);
    return far_total / (4 * pi) + near.sum / (2 * pi);
}

double spl_winding_exact(const spl_tree *tree, spl_vec3 p)
{
    double sum = 0;
    for (int32_t t = 0; t < tree->triangle_count; t++) sum += half_angle(tree->corner + 3 * (size_t)tree->slot[t], p);
    return sum / (2 * pi);
}
