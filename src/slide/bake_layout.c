#include "slide/bake_layout.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/weld.h"

#include <math.h>
#include <string.h>

enum {
    SUBTEXEL = 256, /* coverage is exact on a grid of 1/256 texel: no gap between neighbours, whatever their order */
    TILES = 16,     /* copies of the texture that one triangle may span */
    GUTTER_MIN = 8, /* texels; wider on large textures, whose coarser levels reach farther */
};

/* Flags of a texel. */
enum { INTERIOR = 1, SHARED = 2 };

void spl_slide_bake_weights(const spl_slide_bake_triangle *t, const double p[2], double weight[3])
{
    double x = p[0] - t->at[0][0], y = p[1] - t->at[0][1];
    weight[1] = t->inverse[0] * x + t->inverse[1] * y;
    weight[2] = t->inverse[2] * x + t->inverse[3] * y;
    weight[0] = 1 - weight[1] - weight[2];
}

double spl_slide_bake_nearest(const spl_slide_bake_triangle *t, const double p[2], double out[2])
{
    double w[3], best = INFINITY;
    bool flat = t->inverse[0] == 0 && t->inverse[1] == 0; /* no area: its edges are all of it */
    spl_slide_bake_weights(t, p, w);
    out[0] = p[0], out[1] = p[1];
    if (!flat && w[0] >= 0 && w[1] >= 0 && w[2] >= 0) return 0;
    for (int i = 0; i < 3; i++) {
        const double *a = t->at[i], *b = t->at[(i + 1) % 3];
        double ex = b[0] - a[0], ey = b[1] - a[1], length = ex * ex + ey * ey;
        double s = length > 0 ? ((p[0] - a[0]) * ex + (p[1] - a[1]) * ey) / length : 0;
        s = s < 0 ? 0 : s > 1 ? 1 : s;
        double x = a[0] + s * ex, y = a[1] + s * ey;
        double d = (x - p[0]) * (x - p[0]) + (y - p[1]) * (y - p[1]);
        if (d < best) best = d, out[0] = x, out[1] = y;
    }
    return best;
}

static int64_t wrap(int64_t i, int64_t n)
{
    int64_t r = i % n;
    return r < 0 ? r + n : r;
}

static size_t index_of(const spl_slide_bake_layout *l, int64_t x, int64_t y)
{
    return (size_t)wrap(y, l->height) * (size_t)l->width + (size_t)wrap(x, l->width);
}

const spl_slide_bake_texel *spl_slide_bake_texel_at(const spl_slide_bake_layout *l, int64_t x, int64_t y)
{
    return &l->texel[index_of(l, x, y)];
}

/* ---- islands: union and find, the lower number being the root ---------------------------------------------------- */

static int32_t find(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static void join(int32_t *parent, int32_t a, int32_t b)
{
    a = find(parent, a);
    b = find(parent, b);
    parent[a > b ? a : b] = a > b ? b : a;
}

/* ---- the list of triangles --------------------------------------------------------------------------------------- */

/* Places a triangle by its texture coordinates; false if they are no numbers, or span too much. */
static bool place(const spl_slide_bake_layout *l, spl_slide_bake_triangle *t, const float *uv, const int32_t *index)
{
    const double size[2] = {l->width, l->height};
    for (int c = 0; c < 2; c++) {
        double u[3], low = INFINITY, high = -INFINITY;
        for (int k = 0; k < 3; k++) {
            u[k] = (double)uv[2 * (size_t)index[k] + (size_t)c];
            if (!isfinite(u[k])) return false;
            t->uv[k][c] = uv[2 * (size_t)index[k] + (size_t)c];
            low = fmin(low, u[k]);
            high = fmax(high, u[k]);
        }
        if (high - low > TILES - 1) return false;
        low = floor(low);
        for (int k = 0; k < 3; k++) t->at[k][c] = (u[k] - low) * size[c] - 0.5;
    }
    double ax = t->at[1][0] - t->at[0][0], ay = t->at[1][1] - t->at[0][1];
    double bx = t->at[2][0] - t->at[0][0], by = t->at[2][1] - t->at[0][1], det = ax * by - ay * bx;
    if (!(fabs(det) > 1e-12)) return true; /* slivers have no inverse worth having */
    t->inverse[0] = by / det, t->inverse[1] = -bx / det;
    t->inverse[2] = -ay / det, t->inverse[3] = ax / det;
    return true;
}

/* Goes over the chosen parts; counts triangles and vertices, or stores the triangles where there is room. `uv` gets the
 * coordinates of the parts' vertices as points (u, v, 0), `island` of each triangle its first vertex among those. */
static void list(spl_slide_bake_layout *l, const supple_scene *scene, spl_slide_bake_choice *choice,
                 const void *context, float *uv, int32_t *triangles, int32_t *vertices)
{
    int32_t corner = 0, count = 0, points = 0;
    l->skipped = 0;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        int32_t first = scene->instance[i].first_vertex;
        for (int32_t m = 0; m < mesh->primitive_count; m++) {
            const spl_primitive *p = &mesh->primitive[m];
            bool chosen = p->uv && p->triangle_count && choice(context, scene, i, p);
            for (int32_t t = 0; chosen && t < p->triangle_count; t++) {
                const int32_t *index = p->triangle + 3 * (size_t)t;
                spl_slide_bake_triangle one = {.corner = corner + 3 * t, .island = points + index[0]};
                for (int k = 0; k < 3; k++) one.vertex[k] = first + index[k];
                if (!place(l, &one, p->uv, index))
                    l->skipped++;
                else if (l->triangle)
                    l->triangle[count++] = one;
                else
                    count++;
            }
            for (int32_t v = 0; chosen && uv && v < 2 * p->vertex_count; v++) /* what is no number has no triangle */
                uv[3 * (size_t)(points + v / 2) + (size_t)(v % 2)] = isfinite(p->uv[v]) ? p->uv[v] : 0;
            points += chosen ? p->vertex_count : 0;
            first += p->vertex_count;
            corner += 3 * p->triangle_count;
        }
    }
    *triangles = count;
    *vertices = points;
}

/* Welds equal coordinates and joins the triangles that meet there; `parent` gets an entry a triangle. */
static supple_result make_islands(spl_slide_bake_layout *l, const float *uv, int32_t vertices, int32_t *parent,
                                  const supple_allocator *a, supple_error *error)
{
    int32_t *map = spl_new(a, (size_t)vertices, sizeof *map), *seen = spl_new(a, (size_t)vertices, sizeof *seen), n;
    supple_result r =
        map && seen ? spl_weld(uv, vertices, 0, a, map, &n, error) : spl_fail_memory(error, "a texture's layout");
    for (int32_t v = 0; r == SUPPLE_OK && v < vertices; v++) seen[v] = -1;
    for (int32_t t = 0; r == SUPPLE_OK && t < l->triangle_count; t++) {
        spl_slide_bake_triangle *one = &l->triangle[t];
        parent[t] = t;
        for (int k = 0; k < 3; k++) {
            int32_t v = map[one->island + one->vertex[k] - one->vertex[0]];
            if (seen[v] >= 0) join(parent, seen[v], t);
            seen[v] = t;
        }
    }
    spl_free(a, map);
    spl_free(a, seen);
    return r;
}

static supple_result make_triangles(spl_slide_bake_layout *l, const supple_scene *scene, spl_slide_bake_choice *choice,
                                    const void *context, int32_t **parent, const supple_allocator *a,
                                    supple_error *error)
{
    int32_t vertices;
    list(l, scene, choice, context, NULL, &l->triangle_count, &vertices);
    if (l->triangle_count == 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "%s: no triangle with texture coordinates belongs to the texture to bake", scene->path);
    float *uv = spl_new(a, (size_t)vertices, 3 * sizeof *uv);
    l->triangle = spl_new(a, (size_t)l->triangle_count, sizeof *l->triangle);
    *parent = spl_new(a, (size_t)l->triangle_count, sizeof **parent);
    supple_result r = uv && l->triangle && *parent ? SUPPLE_OK : spl_fail_memory(error, "a texture's layout");
    if (r == SUPPLE_OK) {
        list(l, scene, choice, context, uv, &l->triangle_count, &vertices);
        r = make_islands(l, uv, vertices, *parent, a, error);
    }
    spl_free(a, uv);
    return r;
}

/* ---- coverage ---------------------------------------------------------------------------------------------------- */

/* An edge as A x + B y + C >= 0 on its triangle's side, in 1/256 texels. */
typedef struct edge {
    int64_t A, B, C;
} edge;

/* The edges of a triangle, and its rows; false if it has no area on the grid. */
static bool make_edges(const spl_slide_bake_triangle *t, edge e[3], int64_t rows[2])
{
    int64_t x[3], y[3];
    for (int k = 0; k < 3; k++) {
        x[k] = llrint(t->at[k][0] * SUBTEXEL);
        y[k] = llrint(t->at[k][1] * SUBTEXEL);
    }
    int64_t area = (x[1] - x[0]) * (y[2] - y[0]) - (y[1] - y[0]) * (x[2] - x[0]), sign = area < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++) {
        int j = (k + 1) % 3;
        e[k] = (edge){sign * (y[k] - y[j]), sign * (x[j] - x[k]), 0};
        e[k].C = -(e[k].A * x[k] + e[k].B * y[k]);
    }
    double low = fmin(fmin(t->at[0][1], t->at[1][1]), t->at[2][1]);
    double high = fmax(fmax(t->at[0][1], t->at[1][1]), t->at[2][1]);
    rows[0] = (int64_t)floor(low);
    rows[1] = (int64_t)ceil(high);
    return area != 0;
}

static int64_t floor_div(int64_t a, int64_t b) /* b > 0 */
{
    int64_t q = a / b;
    return q - (a % b < 0);
}

/* The whole x of a row that all edges cover, both ends included; false if there are none. */
static bool row_span(const edge e[3], int64_t y, int64_t span[2])
{
    span[0] = INT64_MIN;
    span[1] = INT64_MAX;
    for (int k = 0; k < 3; k++) {
        int64_t A = e[k].A * SUBTEXEL, rest = e[k].B * y * SUBTEXEL + e[k].C; /* A x + rest >= 0 */
        if (A == 0 && rest < 0) return false;
        if (A > 0) {
            int64_t low = -floor_div(rest, A);
            span[0] = low > span[0] ? low : span[0];
        } else if (A < 0) {
            int64_t high = floor_div(rest, -A);
            span[1] = high < span[1] ? high : span[1];
        }
    }
    return span[0] <= span[1];
}

static bool strictly_inside(const edge e[3], int64_t x, int64_t y)
{
    for (int k = 0; k < 3; k++)
        if ((e[k].A * x + e[k].B * y) * SUBTEXEL + e[k].C <= 0) return false;
    return true;
}

/* Gives a texel to a triangle that covers it, or notes that it has one already. */
static void claim(spl_slide_bake_layout *l, int32_t triangle, int64_t x, int64_t y, bool inside, int32_t *parent)
{
    spl_slide_bake_texel *texel = &l->texel[index_of(l, x, y)];
    if (texel->triangle < 0) {
        *texel = (spl_slide_bake_texel){.triangle = triangle, .flags = inside ? INTERIOR : 0};
        texel->tile[0] = (int8_t)floor_div(x, l->width);
        texel->tile[1] = (int8_t)floor_div(y, l->height);
        l->covered++;
        return;
    }
    if (!inside || !(texel->flags & INTERIOR)) return; /* neighbours meet on an edge: nothing to tell */
    join(parent, texel->triangle, triangle);
    if (!(texel->flags & SHARED)) l->shared++;
    texel->flags |= SHARED;
}

static void cover(spl_slide_bake_layout *l, int32_t triangle, int32_t *parent)
{
    edge e[3];
    int64_t rows[2], span[2];
    if (!make_edges(&l->triangle[triangle], e, rows)) return;
    for (int64_t y = rows[0]; y <= rows[1]; y++) {
        if (!row_span(e, y, span)) continue;
        for (int64_t x = span[0]; x <= span[1]; x++) claim(l, triangle, x, y, strictly_inside(e, x, y), parent);
    }
}

/* Triangles smaller than a texel that no centre fell into: the texel below their middle, if nobody has it. So an island
 * of few texels is still in the picture. */
static void cover_middle(spl_slide_bake_layout *l, int32_t triangle)
{
    const spl_slide_bake_triangle *t = &l->triangle[triangle];
    int64_t x = llrint((t->at[0][0] + t->at[1][0] + t->at[2][0]) / 3);
    int64_t y = llrint((t->at[0][1] + t->at[1][1] + t->at[2][1]) / 3);
    spl_slide_bake_texel *texel = &l->texel[index_of(l, x, y)];
    if (texel->triangle >= 0) return;
    *texel = (spl_slide_bake_texel){.triangle = triangle, .ring = 0};
    texel->tile[0] = (int8_t)floor_div(x, l->width);
    texel->tile[1] = (int8_t)floor_div(y, l->height);
    l->covered++;
}

static supple_result cover_all(spl_slide_bake_layout *l, int32_t *parent, const supple_config *config,
                               supple_error *error)
{
    supple_result r = SUPPLE_OK;
    for (size_t i = 0; i < (size_t)l->width * (size_t)l->height; i++) l->texel[i].triangle = -1;
    for (int32_t t = 0; t < l->triangle_count && r == SUPPLE_OK; t++) {
        if (t % 1024 == 0) r = spl_progress(config, "bake", (double)t / l->triangle_count, error);
        cover(l, t, parent);
    }
    for (int32_t t = 0; t < l->triangle_count; t++) cover_middle(l, t);
    /* Every triangle ends with the number of its island, in the order of their first triangles. */
    for (int32_t t = 0; t < l->triangle_count; t++) {
        int32_t root = find(parent, t);
        l->triangle[t].island = root == t ? l->island_count++ : l->triangle[root].island;
    }
    for (size_t i = 0; i < (size_t)l->width * (size_t)l->height; i++)
        l->texel[i].island = l->texel[i].triangle >= 0 ? l->triangle[l->texel[i].triangle].island : -1;
    return r;
}

/* ---- gutters: ring by ring, the nearest triangle among those of the neighbours ----------------------------------- */

static const int8_t NEIGHBOUR[8][2] = {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}};

/* Chooses for a texel of a ring; what the ring itself holds does not count, so the order of texels does not matter. */
static void choose(spl_slide_bake_layout *l, int64_t x, int64_t y, uint8_t ring)
{
    spl_slide_bake_texel best = {.triangle = -1, .island = -1, .ring = ring};
    double least = INFINITY;
    for (int n = 0; n < 8; n++) {
        int64_t nx = x + NEIGHBOUR[n][0], ny = y + NEIGHBOUR[n][1];
        const spl_slide_bake_texel *from = &l->texel[index_of(l, nx, ny)];
        if (from->triangle < 0 || from->ring >= ring) continue;
        /* Across the texture's border the neighbour is in the next copy of it. */
        int64_t tile[2] = {from->tile[0] - floor_div(nx, l->width), from->tile[1] - floor_div(ny, l->height)};
        double p[2] = {(double)(x + tile[0] * l->width), (double)(y + tile[1] * l->height)}, q[2];
        double d = spl_slide_bake_nearest(&l->triangle[from->triangle], p, q);
        if (d > least || (d == least && from->triangle >= best.triangle)) continue;
        least = d;
        best.triangle = from->triangle;
        best.tile[0] = (int8_t)tile[0];
        best.tile[1] = (int8_t)tile[1];
    }
    l->texel[index_of(l, x, y)] = best;
}

/* Adds the free neighbours of a texel to the queue, each texel once: its ring says that it is there. */
static size_t enqueue(spl_slide_bake_layout *l, size_t at, uint8_t ring, int32_t *queue, size_t end)
{
    int64_t x = (int64_t)(at % (size_t)l->width), y = (int64_t)(at / (size_t)l->width);
    for (int n = 0; n < 8; n++) {
        size_t next = index_of(l, x + NEIGHBOUR[n][0], y + NEIGHBOUR[n][1]);
        if (l->texel[next].triangle >= 0 || l->texel[next].ring) continue;
        l->texel[next].ring = ring;
        queue[end++] = (int32_t)next;
    }
    return end;
}

static supple_result fill_gutters(spl_slide_bake_layout *l, const supple_allocator *a, supple_error *error)
{
    size_t count = (size_t)l->width * (size_t)l->height, begin = 0, end = 0;
    int32_t *queue = spl_new(a, count - l->covered, sizeof *queue), side = l->width > l->height ? l->width : l->height;
    if (!queue) return spl_fail_memory(error, "a texture's gutters");
    int rings = side / 64 > GUTTER_MIN ? side / 64 : GUTTER_MIN; /* at most 256 of the largest texture */
    rings = rings > 200 ? 200 : rings;
    for (size_t i = 0; i < count; i++)
        if (l->texel[i].triangle >= 0) end = enqueue(l, i, 1, queue, end);
    for (int ring = 1; ring <= rings && begin < end; ring++) {
        size_t stop = end;
        for (size_t i = begin; i < stop; i++) choose(l, queue[i] % l->width, queue[i] / l->width, (uint8_t)ring);
        for (size_t i = begin; ring < rings && i < stop; i++)
            end = enqueue(l, (size_t)queue[i], (uint8_t)(ring + 1), queue, end);
        begin = stop;
    }
    l->gutter = end;
    spl_free(a, queue);
    return SUPPLE_OK;
}

supple_result spl_slide_bake_layout_init(spl_slide_bake_layout *l, const supple_scene *scene, int32_t width,
                                         int32_t height, spl_slide_bake_choice *choice, const void *context,
                                         const supple_config *config, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    int32_t *parent = NULL;
    *l = (spl_slide_bake_layout){.width = width, .height = height};
    supple_result r = make_triangles(l, scene, choice, context, &parent, &a, error);
    if (r == SUPPLE_OK) {
        l->texel = spl_new(&a, (size_t)width * (size_t)height, sizeof *l->texel);
        r = l->texel ? cover_all(l, parent, config, error) : spl_fail_memory(error, "a texture's layout");
    }
    if (r == SUPPLE_OK) r = fill_gutters(l, &a, error);
    spl_free(&a, parent);
    if (r != SUPPLE_OK) spl_slide_bake_layout_release(l, &a);
    return r;
}

void spl_slide_bake_layout_release(spl_slide_bake_layout *l, const supple_allocator *a)
{
    spl_free(a, l->triangle);
    spl_free(a, l->texel);
    *l = (spl_slide_bake_layout){0};
}
