/* Filling a lattice with the signed distance. */
#include "geom/field.h"

#include "core/error.h"
#include "core/memory.h"

enum {
    BRICK = 4, /* points a side: the unit of work and of rejection */
    BRICK_POINTS = BRICK * BRICK * BRICK,
};

typedef struct fill {
    const spl_field *field;
    spl_grid *grid;
    int32_t bricks[3];
    int32_t *queue; /* of the flood */
    bool *seen;     /* by point: its region has been flooded */
} fill;

static int32_t saturate(double x)
{
    return x < 2147483647.0 ? (int32_t)x : INT32_MAX;
}

spl_grid spl_grid_plan(const spl_surface *s, double cells, int32_t margin)
{
    double d[3] = {s->high.x - s->low.x, s->high.y - s->low.y, s->high.z - s->low.z};
    double longest = d[0] > d[1] ? d[0] : d[1];
    longest = longest > d[2] ? longest : d[2];
    spl_grid g = {.step = longest > 0 ? longest / cells : 1};
    double corner[3], middle[3] = {(s->low.x + s->high.x) / 2, (s->low.y + s->high.y) / 2, (s->low.z + s->high.z) / 2};
    for (int k = 0; k < 3; k++) {
        double n = ceil(d[k] / g.step - 1e-9) + 2.0 * margin; /* cells, centred on the surface */
        g.size[k] = saturate(n + 1);
        corner[k] = middle[k] - n / 2 * g.step;
    }
    g.origin = spl_v3(corner[0], corner[1], corner[2]);
    return g;
}

size_t spl_grid_bytes(const int32_t size[3])
{
    size_t count, bytes;
    bool counted = size[0] > 0 && size[1] > 0 && size[2] > 0 && spl_mul((size_t)size[0], (size_t)size[1], &count) &&
                   spl_mul(count, (size_t)size[2], &count) &&
                   spl_mul(count, sizeof(float) + 2 * sizeof(int32_t) + sizeof(bool), &bytes) && count <= INT32_MAX - 1;
    return counted ? bytes : SIZE_MAX;
}

/* Distances of one brick's points within the band, each query started from its neighbour's triangle. A brick whose
 * middle is far from the surface is beyond the band as a whole. */
static void fill_brick(const fill *f, const int32_t low[3])
{
    spl_grid *g = f->grid;
    int32_t high[3];
    for (int k = 0; k < 3; k++) high[k] = low[k] + BRICK < g->size[k] ? low[k] + BRICK : g->size[k];
    spl_vec3 a = spl_grid_point(g, low[0], low[1], low[2]);
    spl_vec3 b = spl_grid_point(g, high[0] - 1, high[1] - 1, high[2] - 1);
    spl_hit hit;
    double reach = (spl_distance(a, b) / 2 + g->band) * (1 + 1e-9);
    bool near = spl_tree_nearest(f->field->tree, spl_lerp(a, b, 0.5), reach, -1, &hit);
    int32_t hint = hit.triangle;
    for (int32_t k = low[2]; k < high[2]; k++)
        for (int32_t j = low[1]; j < high[1]; j++)
            for (int32_t i = low[0]; i < high[0]; i++) {
                size_t index = spl_grid_index(g, i, j, k);
                hit = (spl_hit){.distance = g->band, .triangle = -1};
                if (near && !spl_tree_nearest(f->field->tree, spl_grid_point(g, i, j, k), g->band, hint, &hit))
                    hit.distance = g->band;
                g->value[index] = (float)hit.distance;
                g->triangle[index] = hit.triangle;
                if (hit.triangle >= 0) hint = hit.triangle;
            }
}

static void brick_corner(const fill *f, size_t b, int32_t low[3])
{
    size_t row = (size_t)f->bricks[0], layer = row * (size_t)f->bricks[1];
    low[0] = BRICK * (int32_t)(b % row);
    low[1] = BRICK * (int32_t)(b % layer / row);
    low[2] = BRICK * (int32_t)(b / layer);
}

static void fill_bricks(void *context, size_t begin, size_t end)
{
    const fill *f = context;
    for (size_t b = begin; b < end; b++) {
        int32_t low[3];
        brick_corner(f, b, low);
        fill_brick(f, low);
    }
}

static spl_vec3 point_at(const spl_grid *g, int32_t index)
{
    int32_t row = g->size[0], layer = row * g->size[1];
    return spl_grid_point(g, index % row, index % layer / row, index / layer);
}

/* The six neighbours of a lattice point; returns how many there are. */
static int neighbours(const spl_grid *g, int32_t index, int32_t next[6])
{
    int32_t row = g->size[0], layer = row * g->size[1], n = 0;
    int32_t at[3] = {index % row, index % layer / row, index / layer}, stride[3] = {1, row, layer};
    for (int k = 0; k < 3; k++) {
        if (at[k] > 0) next[n++] = index - stride[k];
        if (at[k] < g->size[k] - 1) next[n++] = index + stride[k];
    }
    return n;
}

/* Signs of a watertight surface: floods each region that free lattice edges connect and asks for one winding number, at
 * its point farthest from the surface, where it cannot be mistaken. The queue then holds the region, to be turned. */
static void flood_signs(const fill *f, int32_t count)
{
    spl_grid *g = f->grid;
    const float step = (float)(g->step * (1 + 1e-5));
    for (int32_t seed = 0; seed < count; seed++) {
        if (f->seen[seed]) continue;
        int32_t head = 0, tail = 0, deepest = seed;
        f->seen[seed] = true;
        f->queue[tail++] = seed;
        while (head < tail) {
            int32_t at = f->queue[head++], next[6];
            if (g->value[at] > g->value[deepest]) deepest = at;
            int n = neighbours(g, at, next);
            for (int k = 0; k < n; k++) {
                if (f->seen[next[k]] || !(g->value[at] + g->value[next[k]] > step)) continue;
                f->seen[next[k]] = true;
                f->queue[tail++] = next[k];
            }
        }
        if (!spl_field_inside(f->field, point_at(g, deepest))) continue;
        for (int32_t i = 0; i < tail; i++) g->value[f->queue[i]] = -g->value[f->queue[i]];
    }
}

/* The points of one brick and the values there. */
typedef struct brick {
    int32_t low[3], size[3];
    int count;
    size_t index[BRICK_POINTS];
    int region[BRICK_POINTS]; /* -1 before */
} brick;

static brick make_brick(const spl_grid *g, const int32_t low[3])
{
    brick b = {.low = {low[0], low[1], low[2]}};
    for (int k = 0; k < 3; k++) b.size[k] = low[k] + BRICK < g->size[k] ? BRICK : g->size[k] - low[k];
    for (int32_t k = 0; k < b.size[2]; k++)
        for (int32_t j = 0; j < b.size[1]; j++)
            for (int32_t i = 0; i < b.size[0]; i++) {
                b.region[b.count] = -1;
                b.index[b.count++] = spl_grid_index(g, low[0] + i, low[1] + j, low[2] + k);
            }
    return b;
}

static void turn_if_inside(const fill *f, size_t index)
{
    if (spl_field_inside(f->field, point_at(f->grid, (int32_t)index))) f->grid->value[index] = -f->grid->value[index];
}

/* Floods a brick's region from a point by free edges; returns the point farthest from the surface. */
static int flood_brick(const spl_grid *g, brick *b, int seed)
{
    const int stride[3] = {1, b->size[0], b->size[0] * b->size[1]};
    const float step = (float)(g->step * (1 + 1e-5));
    int queue[BRICK_POINTS], head = 0, tail = 0, deepest = seed;
    b->region[seed] = seed;
    queue[tail++] = seed;
    while (head < tail) {
        int at = queue[head++];
        float value = g->value[b->index[at]];
        if (value > g->value[b->index[deepest]]) deepest = at;
        for (int k = 0; k < 6; k++) {
            int x = at / stride[k / 2] % b->size[k / 2], to = k % 2 ? at + stride[k / 2] : at - stride[k / 2];
            if (k % 2 ? x == b->size[k / 2] - 1 : x == 0) continue;
            if (b->region[to] >= 0 || !(value + g->value[b->index[to]] > step)) continue;
            b->region[to] = seed;
            queue[tail++] = to;
        }
    }
    return deepest;
}

/* Signs of a surface with borders, in a brick of radius R. Off its borders the winding number, continued through the
 * surface by whole numbers, is harmonic. If no border lies within 4 R of the middle, Harnack's inequality bounds its
 * distance from a whole number over the brick by ((1 + 1/4) / (1 - 1/4))^3 = 4.6 times that at any one point: less than
 * 0.1 there decides for a whole region. */
static void sign_brick(const fill *f, const int32_t low[3])
{
    spl_grid *g = f->grid;
    brick b = make_brick(g, low);
    spl_vec3 first = point_at(g, (int32_t)b.index[0]), last = point_at(g, (int32_t)b.index[b.count - 1]);
    spl_hit hit;
    bool near = spl_tree_nearest(f->field->border, spl_lerp(first, last, 0.5), 2 * spl_distance(first, last), -1, &hit);
    for (int i = 0; near && i < b.count; i++) turn_if_inside(f, b.index[i]);
    for (int seed = 0; !near && seed < b.count; seed++) {
        if (b.region[seed] >= 0) continue;
        int deepest = flood_brick(g, &b, seed);
        double w = spl_winding_number(&f->field->winding, point_at(g, (int32_t)b.index[deepest]));
        bool clear = fabs(w - nearbyint(w)) < 0.1;
        for (int i = seed; i < b.count; i++) {
            if (b.region[i] != seed) continue;
            if (!clear)
                turn_if_inside(f, b.index[i]);
            else if (w > 0.5)
                g->value[b.index[i]] = -g->value[b.index[i]];
        }
    }
}

static void sign_bricks(void *context, size_t begin, size_t end)
{
    const fill *f = context;
    for (size_t b = begin; b < end; b++) {
        int32_t low[3];
        brick_corner(f, b, low);
        sign_brick(f, low);
    }
}

static void fill_grid(fill *f, spl_pool *pool)
{
    spl_grid *g = f->grid;
    size_t count = (size_t)g->size[0] * (size_t)g->size[1] * (size_t)g->size[2], bricks = 1;
    for (int k = 0; k < 3; k++) {
        f->bricks[k] = (g->size[k] + BRICK - 1) / BRICK;
        bricks *= (size_t)f->bricks[k];
    }
    spl_parallel_for(pool, bricks, 8, fill_bricks, f);
    if (f->field->watertight)
        flood_signs(f, (int32_t)count);
    else
        spl_parallel_for(pool, bricks, 8, sign_bricks, f);
    for (size_t i = 0; i < count; i++) g->band_count += g->triangle[i] >= 0;
}

static supple_result check_plan(const spl_grid *plan, double band, size_t byte_limit, supple_error *error)
{
    const int32_t *n = plan->size;
    if (n[0] < 2 || n[1] < 2 || n[2] < 2 || !(plan->step > 0) || !(plan->step < INFINITY) || !(band >= plan->step))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "a lattice of %d x %d x %d points, step %g, band %g is not usable", n[0], n[1], n[2],
                        plan->step, band);
    size_t bytes = spl_grid_bytes(n);
    if (bytes == SIZE_MAX)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "a lattice of %d x %d x %d points is too large; try a lower resolution", n[0], n[1], n[2]);
    if (bytes > byte_limit)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "a lattice of %d x %d x %d points needs %.0f MB, more than the %.0f MB allowed; try a lower "
                        "resolution",
                        n[0], n[1], n[2], (double)bytes * 1e-6, (double)byte_limit * 1e-6);
    return SUPPLE_OK;
}

supple_result spl_grid_make(const spl_field *field, const spl_grid *plan, double band, size_t byte_limit,
                            spl_pool *pool, const supple_allocator *a, spl_grid *out, supple_error *error)
{
    *out = (spl_grid){0};
    supple_result result = check_plan(plan, band, byte_limit, error);
    if (result != SUPPLE_OK) return result;
    size_t count = (size_t)plan->size[0] * (size_t)plan->size[1] * (size_t)plan->size[2];
    spl_grid g = {.origin = plan->origin, .step = plan->step, .band = band, .allocator = *a};
    for (int k = 0; k < 3; k++) g.size[k] = plan->size[k];
    fill f = {.field = field, .grid = &g};
    g.value = spl_new(a, count, sizeof *g.value);
    g.triangle = spl_new(a, count, sizeof *g.triangle);
    f.queue = spl_new(a, field->watertight ? count : 0, sizeof *f.queue);
    f.seen = spl_new(a, field->watertight ? count : 0, sizeof *f.seen);
    bool made = g.value && g.triangle && f.queue && f.seen;
    if (made) {
        fill_grid(&f, pool);
        *out = g;
    } else
        spl_grid_release(&g);
    spl_free(a, f.queue);
    spl_free(a, f.seen);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the distance lattice");
}

void spl_grid_release(spl_grid *grid)
{
    if (grid->allocator.release) {
        spl_free(&grid->allocator, grid->value);
        spl_free(&grid->allocator, grid->triangle);
    }
    *grid = (spl_grid){0};
}
