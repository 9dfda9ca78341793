#include "show/raster.h"

#include "core/error.h"
#include "core/memory.h"

/* A rotated grid: no two samples share a row or a column, so that near-vertical and near-horizontal edges get four
 * steps. */
const int32_t spl_sample_x[SPL_SAMPLES] = {96, 224, 32, 160};
const int32_t spl_sample_y[SPL_SAMPLES] = {32, 96, 160, 224};

/* Corners farther than this from the principal point (pixels) are clipped, so that edge functions fit 64 bits:
 * 2^20 pixels x 2^8 gives differences below 2^30 and products below 2^61. */
static const double GUARD = 1 << 20;

enum { PLANES = 5, CORNERS_MAX = 3 + PLANES };

/* A corner before the division: picture position is (X, Y) / w. */
typedef struct corner {
    double X, Y, w, depth;
    double b1, b2; /* barycentric coordinates of the source triangle */
    bool cut;      /* the edge from this corner to the next was made by clipping */
} corner;

static corner project(const spl_camera *c, const float *position, double b1, double b2)
{
    spl_vec3 p = spl_camera_point(c, spl_v3_from_float(position));
    return (corner){c->focal * p.x, -c->focal * p.y, c->ortho ? 1 : p.z, p.z, b1, b2, false};
}

/* Signed distance to a clip plane; inside is not negative. */
static double plane_distance(const spl_camera *c, const corner *p, int plane)
{
    switch (plane) {
    case 0:
        return c->ortho ? 1 : p->w - c->near;
    case 1:
        return GUARD * p->w - p->X;
    case 2:
        return GUARD * p->w + p->X;
    case 3:
        return GUARD * p->w - p->Y;
    default:
        return GUARD * p->w + p->Y;
    }
}

static corner between(const corner *a, const corner *b, double t)
{
    corner m = {a->X + (b->X - a->X) * t,
                a->Y + (b->Y - a->Y) * t,
                a->w + (b->w - a->w) * t,
                a->depth + (b->depth - a->depth) * t,
                a->b1 + (b->b1 - a->b1) * t,
                a->b2 + (b->b2 - a->b2) * t,
                false};
    return m;
}

/* Sutherland and Hodgman, one plane. */
static int clip_plane(const spl_camera *c, const corner *in, int count, int plane, corner *out)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        const corner *a = &in[i], *b = &in[(i + 1) % count];
        double da = plane_distance(c, a, plane), db = plane_distance(c, b, plane);
        if (da >= 0) out[n++] = *a;
        if ((da >= 0) == (db >= 0)) continue;
        /* The cut point is computed from the inside end, so that both neighbours of an edge get the same one. */
        out[n] = da >= 0 ? between(a, b, da / (da - db)) : between(b, a, db / (db - da));
        out[n++].cut = da >= 0 || a->cut; /* leaving: on along the plane; entering: on along the old edge */
    }
    return n;
}

/* The polygon of a triangle inside the clip planes; 0 corners if nothing is left. */
static int clip(const spl_camera *c, const spl_geometry *g, int32_t source, corner polygon[CORNERS_MAX])
{
    const int32_t *index = g->triangle + 3 * (size_t)source;
    corner other[CORNERS_MAX];
    int n = 3;
    for (int i = 0; i < 3; i++) {
        const float *p = g->position + 3 * (size_t)index[i];
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2])) return 0;
        polygon[i] = project(c, p, i == 1, i == 2);
    }
    for (int plane = 0; plane < PLANES && n; plane++) {
        bool inside = true;
        for (int i = 0; i < n; i++) inside = inside && plane_distance(c, &polygon[i], plane) >= 0;
        if (inside) continue;
        n = clip_plane(c, polygon, n, plane, other);
        for (int i = 0; i < n; i++) polygon[i] = other[i];
    }
    /* Coordinates near the limits of float leave nothing after cancellation: better no triangle than a wild one. */
    for (int i = 0; i < n; i++)
        if (!(polygon[i].w > 0 && fabs(polygon[i].X) <= 2 * GUARD * polygon[i].w &&
              fabs(polygon[i].Y) <= 2 * GUARD * polygon[i].w))
            return 0;
    return n < 3 ? 0 : n;
}

static void set_corner(spl_raster_triangle *t, int i, const spl_camera *c, const corner *p)
{
    t->x[i] = (int32_t)lrint((c->cx + p->X / p->w) * SPL_SUBPIXEL);
    t->y[i] = (int32_t)lrint((c->cy + p->Y / p->w) * SPL_SUBPIXEL);
    t->q[i] = 1 / p->w;
    t->d[i] = c->ortho ? -p->depth : 1 / p->w;
    t->corner[i][0] = (float)p->b1;
    t->corner[i][1] = (float)p->b2;
}

/* Twice the signed area of (a, b, p), positive where p is right of a -> b on a picture with y down. */
static int64_t orient(int64_t ax, int64_t ay, int64_t bx, int64_t by, int64_t px, int64_t py)
{
    return (bx - ax) * (py - ay) - (by - ay) * (px - ax);
}

static int64_t area_of(const spl_raster_triangle *t)
{
    return orient(t->x[0], t->y[0], t->x[1], t->y[1], t->x[2], t->y[2]);
}

static int32_t min3(const int32_t v[3])
{
    int32_t m = v[0] < v[1] ? v[0] : v[1];
    return m < v[2] ? m : v[2];
}

static int32_t max3(const int32_t v[3])
{
    int32_t m = v[0] > v[1] ? v[0] : v[1];
    return m > v[2] ? m : v[2];
}

/* One triangle of a clipped polygon's fan; false if it covers no sample. */
static bool make_triangle(const spl_raster *r, const spl_camera *c, const corner *polygon, int n, int k,
                          spl_raster_triangle *t)
{
    set_corner(t, 0, c, &polygon[0]);
    set_corner(t, 1, c, &polygon[k]);
    set_corner(t, 2, c, &polygon[k + 1]);
    bool real[3] = {!polygon[k].cut, k + 2 == n && !polygon[n - 1].cut, k == 1 && !polygon[0].cut};
    t->edge = (uint8_t)(real[0] | real[1] << 1 | real[2] << 2);
    int64_t area = area_of(t);
    if (area < 0) {
        spl_raster_triangle s = *t;
        for (int i = 1; i < 3; i++) {
            int j = 3 - i;
            t->x[i] = s.x[j], t->y[i] = s.y[j], t->q[i] = s.q[j], t->d[i] = s.d[j];
            t->corner[i][0] = s.corner[j][0], t->corner[i][1] = s.corner[j][1];
        }
        t->edge = (uint8_t)(real[0] | real[2] << 1 | real[1] << 2);
    }
    return area != 0 && max3(t->x) >= 0 && max3(t->y) >= 0 && min3(t->x) < r->width * SPL_SUBPIXEL &&
           min3(t->y) < r->height * SPL_SUBPIXEL;
}

/* Goes over all triangles; counts them, or stores them where there is room. */
static int64_t project_all(spl_raster *r, const spl_camera *c, const spl_geometry *meshes, int32_t mesh_count)
{
    corner polygon[CORNERS_MAX];
    spl_raster_triangle t = {0};
    int64_t count = 0;
    for (int32_t m = 0; m < mesh_count; m++)
        for (int32_t s = 0; s < meshes[m].triangle_count; s++) {
            int n = clip(c, &meshes[m], s, polygon);
            for (int k = 1; k + 1 < n; k++) {
                if (!make_triangle(r, c, polygon, n, k, &t)) continue;
                t.mesh = m;
                t.source = s;
                if (r->triangle) r->triangle[count] = t;
                count++;
            }
        }
    return count;
}

/* --- Order: blended triangles from far to near --- */

typedef struct key {
    double depth;
    int32_t index;
} key;

static bool farther(const key *a, const key *b)
{
    return a->depth != b->depth ? a->depth < b->depth : a->index < b->index;
}

static void sift(key *k, size_t at, size_t count)
{
    key moving = k[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && farther(&k[child], &k[child + 1])) child++;
        if (!farther(&moving, &k[child])) break;
        k[at] = k[child];
    }
    k[at] = moving;
}

/* Heapsort: in place, and no allocation behind our back as in qsort. */
static void sort_keys(key *k, size_t count)
{
    for (size_t i = count / 2; i-- > 0;) sift(k, i, count);
    for (size_t n = count; n > 1; n--) {
        key last = k[n - 1];
        k[n - 1] = k[0];
        k[0] = last;
        sift(k, 0, n - 1);
    }
}

/* Moves blended triangles behind the others, in drawing order. `order` receives triangle_count indices. */
static bool order_triangles(const spl_raster *r, const spl_geometry *meshes, int32_t *order)
{
    size_t opaque = 0, blended = 0;
    for (int32_t i = 0; i < r->triangle_count; i++)
        if (meshes[r->triangle[i].mesh].blend)
            blended++;
        else
            order[opaque++] = i;
    if (!blended) return true;
    key *k = spl_new(&r->allocator, blended, sizeof *k);
    if (!k) return false;
    size_t n = 0;
    for (int32_t i = 0; i < r->triangle_count; i++) {
        const spl_raster_triangle *t = &r->triangle[i];
        if (meshes[t->mesh].blend) k[n++] = (key){t->d[0] + t->d[1] + t->d[2], i};
    }
    sort_keys(k, n);
    for (size_t i = 0; i < n; i++) order[opaque + i] = k[i].index;
    spl_free(&r->allocator, k);
    return true;
}

/* --- Tiles --- */

static int32_t clamp(int32_t v, int32_t low, int32_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* The range of tiles that a triangle's box touches, inclusive. */
static void tile_range(const spl_raster *r, const spl_raster_triangle *t, int32_t range[4])
{
    const int32_t unit = SPL_TILE * SPL_SUBPIXEL;
    range[0] = clamp(min3(t->x) / unit, 0, r->tiles_x - 1);
    range[1] = clamp(min3(t->y) / unit, 0, r->tiles_y - 1);
    range[2] = clamp(max3(t->x) / unit, 0, r->tiles_x - 1);
    range[3] = clamp(max3(t->y) / unit, 0, r->tiles_y - 1);
}

/* Counting sort into tiles: first the counts, then the places, in drawing order. */
static bool bin(spl_raster *r, const int32_t *order)
{
    size_t tiles = (size_t)r->tiles_x * (size_t)r->tiles_y;
    r->tile_first = spl_new(&r->allocator, tiles + 2, sizeof *r->tile_first);
    if (!r->tile_first) return false;
    for (int pass = 0; pass < 2; pass++) {
        /* tile_first[t + 2] counts; then tile_first[t + 1] is the next free place, which ends as the tile's end. */
        for (int32_t i = 0; i < r->triangle_count; i++) {
            int32_t range[4];
            tile_range(r, &r->triangle[order[i]], range);
            for (int32_t y = range[1]; y <= range[3]; y++)
                for (int32_t x = range[0]; x <= range[2]; x++) {
                    size_t tile = (size_t)y * (size_t)r->tiles_x + (size_t)x;
                    if (pass == 0)
                        r->tile_first[tile + 2]++;
                    else
                        r->tile_item[r->tile_first[tile + 1]++] = order[i];
                }
        }
        if (pass == 1) break;
        for (size_t t = 0; t < tiles; t++) r->tile_first[t + 2] += r->tile_first[t + 1];
        r->tile_item = spl_new(&r->allocator, r->tile_first[tiles + 1], sizeof *r->tile_item);
        if (!r->tile_item) return false;
    }
    return true;
}

int32_t spl_raster_tile_count(const spl_raster *raster)
{
    return raster->tiles_x * raster->tiles_y;
}

supple_result spl_raster_init(spl_raster *r, const spl_camera *camera, int32_t width, int32_t height,
                              const spl_geometry *meshes, int32_t mesh_count, const supple_allocator *a,
                              supple_error *error)
{
    *r = (spl_raster){.allocator = *a, .width = width, .height = height};
    r->tiles_x = (width + SPL_TILE - 1) / SPL_TILE;
    r->tiles_y = (height + SPL_TILE - 1) / SPL_TILE;
    int64_t count = project_all(r, camera, meshes, mesh_count);
    if (count > INT32_MAX) return spl_fail_memory(error, "a picture's triangles");
    r->triangle = spl_new(a, (size_t)count, sizeof *r->triangle);
    int32_t *order = spl_new(a, (size_t)count, sizeof *order);
    bool ok = r->triangle && order;
    if (ok) {
        r->triangle_count = (int32_t)project_all(r, camera, meshes, mesh_count);
        ok = order_triangles(r, meshes, order) && bin(r, order);
    }
    spl_free(a, order);
    if (ok) return SUPPLE_OK;
    spl_raster_release(r);
    return spl_fail_memory(error, "a picture's triangles");
}

void spl_raster_release(spl_raster *r)
{
    if (!r->allocator.allocate) return;
    spl_free(&r->allocator, r->triangle);
    spl_free(&r->allocator, r->tile_first);
    spl_free(&r->allocator, r->tile_item);
    *r = (spl_raster){0};
}

/* --- Coverage --- */

/* The edge opposite corner i: its value at a pixel's corner, the steps to the next pixel, and what to add for each
 * sample. Values are less by one where a point on the edge is not ours. */
typedef struct edge {
    int64_t at, step_x, step_y, sample[SPL_SAMPLES], most; /* most: the largest of `sample` */
    int64_t bias;
} edge;

static edge edge_of(const spl_raster_triangle *t, int i, int32_t x, int32_t y)
{
    int64_t x0 = t->x[(i + 1) % 3], y0 = t->y[(i + 1) % 3], x1 = t->x[(i + 2) % 3], y1 = t->y[(i + 2) % 3];
    /* With a positive area and y down, a left edge goes up and a top edge goes right. */
    bool top_left = y1 < y0 || (y1 == y0 && x1 > x0);
    edge e = {.step_x = (y0 - y1) * SPL_SUBPIXEL, .step_y = (x1 - x0) * SPL_SUBPIXEL, .bias = top_left ? 0 : -1};
    e.at = orient(x0, y0, x1, y1, (int64_t)x * SPL_SUBPIXEL, (int64_t)y * SPL_SUBPIXEL) + e.bias;
    e.most = INT64_MIN;
    for (int s = 0; s < SPL_SAMPLES; s++) {
        e.sample[s] = (y0 - y1) * spl_sample_x[s] + (x1 - x0) * spl_sample_y[s];
        if (e.sample[s] > e.most) e.most = e.sample[s];
    }
    return e;
}

/* The samples of one pixel; E are the edges' values at its corner. */
static inline void cover_pixel(const spl_raster_triangle *t, const edge e[3], const int64_t E[3], double scale,
                               int32_t x, int32_t y, spl_cover_fn *visit, void *context)
{
    for (int32_t s = 0; s < SPL_SAMPLES; s++) {
        int64_t E0 = E[0] + e[0].sample[s], E1 = E[1] + e[1].sample[s], E2 = E[2] + e[2].sample[s];
        if (E0 < 0 || E1 < 0 || E2 < 0) continue;
        double depth = (double)(E0 - e[0].bias) * t->d[0] + (double)(E1 - e[1].bias) * t->d[1] +
                       (double)(E2 - e[2].bias) * t->d[2];
        visit(context, x, y, s, depth * scale);
    }
}

void spl_raster_cover(const spl_raster_triangle *t, int32_t x0, int32_t y0, int32_t x1, int32_t y1, spl_cover_fn *visit,
                      void *context)
{
    int32_t left = min3(t->x) / SPL_SUBPIXEL, top = min3(t->y) / SPL_SUBPIXEL;
    int32_t right = max3(t->x) / SPL_SUBPIXEL + 1, bottom = max3(t->y) / SPL_SUBPIXEL + 1;
    if (left > x0) x0 = left;
    if (top > y0) y0 = top;
    if (right < x1) x1 = right;
    if (bottom < y1) y1 = bottom;
    if (x0 >= x1 || y0 >= y1) return;
    edge e[3] = {edge_of(t, 0, x0, y0), edge_of(t, 1, x0, y0), edge_of(t, 2, x0, y0)};
    const double scale = 1 / (double)area_of(t);
    for (int32_t y = y0; y < y1; y++) {
        int64_t E[3] = {e[0].at, e[1].at, e[2].at};
        for (int32_t x = x0; x < x1; x++) {
            if (E[0] + e[0].most >= 0 && E[1] + e[1].most >= 0 && E[2] + e[2].most >= 0)
                cover_pixel(t, e, E, scale, x, y, visit, context);
            for (int i = 0; i < 3; i++) E[i] += e[i].step_x;
        }
        for (int i = 0; i < 3; i++) e[i].at += e[i].step_y;
    }
}

/* With screen-space weights l_i, perspective-correct ones are l_i q_i / sum_j l_j q_j (q = 1 / w). */
void spl_raster_weights(const spl_raster_triangle *t, double x, double y, double weight[3])
{
    double px = x * SPL_SUBPIXEL, py = y * SPL_SUBPIXEL, l[3], sum = 0;
    for (int i = 0; i < 3; i++) {
        double ax = t->x[(i + 1) % 3], ay = t->y[(i + 1) % 3], bx = t->x[(i + 2) % 3], by = t->y[(i + 2) % 3];
        l[i] = ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) * t->q[i];
        sum += l[i];
    }
    weight[1] = weight[2] = 0;
    for (int i = 0; i < 3 && sum != 0; i++) {
        weight[1] += l[i] / sum * (double)t->corner[i][0];
        weight[2] += l[i] / sum * (double)t->corner[i][1];
    }
    weight[0] = 1 - weight[1] - weight[2];
}
