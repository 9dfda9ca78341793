/* The images of an atlas. A texel's centre lies in a cell of a patch, and so on a triangle of the skin, which has a
 * coordinate in the file's own texture; what that shows there is the texel. Charts that were moved by whole texels keep
 * their very bytes. */
#include "core/error.h"
#include "core/memory.h"
#include "slide/atlas.h"

#include <string.h>

enum { ROWS = 16, GUTTER = 8, NOBODY = -1, SHARED = -2 };

typedef struct painter {
    const spl_atlas *atlas;
    const spl_atlas_sheet *sheet;
    spl_atlas_kind kind;
    const spl_atlas_map *map;
    int32_t *patch, *cell; /* by texel of the sheet */
    int32_t **owner;       /* by material, texels of its largest map: whose piece a texel shows */
    uint8_t *ring;         /* by texel of the image: 1 where it is painted; 1 + how many steps beside that; 0 */
    spl_pixels *out;
} painter;

/* ---- whose texels -------------------------------------------------------------------------------------------------
 */

static int64_t wrap(int64_t x, int64_t n)
{
    return ((x % n) + n) % n;
}

static void own(const spl_atlas *t, int32_t triangle, const spl_atlas_sheet *from, int32_t *owner)
{
    int64_t grid[6], low = INT64_MAX, high = INT64_MIN, span[2];
    int32_t piece = t->uv->piece[triangle];
    for (size_t k = 0; k < 6; k++) {
        double x = (double)t->uv->rest[6 * (size_t)triangle + k] * from->from[k % 2] - 0.5;
        if (!(fabs(x) < 1e6)) return;
        grid[k] = llrint(x * SPL_SUBTEXEL);
    }
    for (int k = 1; k < 6; k += 2) {
        low = grid[k] < low ? grid[k] : low;
        high = grid[k] > high ? grid[k] : high;
    }
    if ((high - low) / SPL_SUBTEXEL > 4 * (int64_t)from->from[1]) return;
    for (int64_t y = low / SPL_SUBTEXEL - 1; y <= high / SPL_SUBTEXEL + 1; y++) {
        if (!spl_patch_row(grid, y * SPL_SUBTEXEL, span) || span[1] - span[0] > 4 * (int64_t)from->from[0]) continue;
        for (int64_t x = span[0]; x <= span[1]; x++) {
            int32_t *to = &owner[wrap(y, from->from[1]) * from->from[0] + wrap(x, from->from[0])];
            *to = *to == NOBODY || *to == piece ? piece : SHARED;
        }
    }
}

static bool find_owners(painter *w)
{
    const spl_atlas *t = w->atlas;
    for (int32_t m = 0; m < t->sheet_count; m++) {
        const spl_atlas_sheet *s = &t->sheet[m];
        size_t n = (size_t)s->from[0] * (size_t)s->from[1];
        if (n == 0) continue;
        w->owner[m] = spl_new(&t->allocator, n, sizeof **w->owner);
        if (!w->owner[m]) return false;
        for (size_t i = 0; i < n; i++) w->owner[m][i] = NOBODY;
        for (int32_t i = 0; i < t->net->surface.triangle_count; i++)
            if (t->source.shows[i] == m) own(t, i, s, w->owner[m]);
    }
    return true;
}

/* ---- what the file shows ------------------------------------------------------------------------------------------
 */

static bool is_own(const painter *w, int32_t material, int32_t piece, const spl_pixels *image, int64_t x, int64_t y)
{
    const spl_atlas_sheet *s = &w->atlas->sheet[material];
    int64_t i = (2 * x + 1) * s->from[0] / (2 * image->width), j = (2 * y + 1) * s->from[1] / (2 * image->height);
    int32_t owner = w->owner[material][j * s->from[0] + i];
    return owner == piece || owner == SHARED;
}

/* Bilinear, of the piece's own texels where there are any: what lies around a chart in the file is foreign. */
static void sample(const painter *w, int32_t triangle, const double uv[2], double out[4])
{
    int32_t m = w->atlas->source.shows[triangle], piece = w->atlas->uv->piece[triangle];
    const spl_pixels *image = w->map[m].pixels;
    double x = uv[0] * image->width - 0.5, y = uv[1] * image->height - 0.5, fx = x - floor(x), fy = y - floor(y);
    double sum = 0, all[4] = {0};
    memset(out, 0, 4 * sizeof *out);
    for (int i = 0; i < 4; i++) {
        double part = (i & 1 ? fx : 1 - fx) * (i & 2 ? fy : 1 - fy);
        int64_t tx = wrap((int64_t)floor(x) + (i & 1), image->width);
        int64_t ty = wrap((int64_t)floor(y) + (i >> 1), image->height);
        bool mine = is_own(w, m, piece, image, tx, ty);
        const uint8_t *from = image->rgba + 4 * (ty * image->width + tx);
        for (int c = 0; c < 4; c++) {
            all[c] += part * from[c];
            out[c] += mine ? part * from[c] : 0;
        }
        sum += mine ? part : 0;
    }
    for (int c = 0; c < 4; c++) out[c] = sum > 1e-3 ? out[c] / sum : all[c];
}

static double to_linear(double v)
{
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double to_srgb(double v)
{
    return v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

/* Another material's texel, so that this material's factor makes of it what the other's would. */
static void convert(const painter *w, int32_t from, double rgba[4])
{
    const float *a = w->map[from].factor, *b = w->map[w->sheet->material].factor;
    for (int c = 0; c < 4 && w->kind != SPL_ATLAS_NORMAL; c++) {
        if (a[c] == b[c]) continue;
        bool curved = w->kind == SPL_ATLAS_COLOUR && c < 3;
        double v = rgba[c] / 255;
        v = (curved ? to_linear(v) : v) * (double)a[c] / (b[c] > 0 ? (double)b[c] : 1);
        rgba[c] = 255 * fmin(curved ? to_srgb(v) : v, 1);
    }
}

/* Cosine and sine from the tangent of the patch to that of the texture, in the triangle's plane; the bitangents' sides.
 */
void spl_atlas_turn(const spl_atlas *atlas, const spl_patch *p, int32_t cell, double rgba[4])
{
    const spl_patch_source *s = &atlas->source;
    int32_t t = p->cell[cell];
    if (s->side[t] == 0) return;
    double at[6], here[4], there[4];
    for (size_t k = 0; k < 6; k++) at[k] = p->at[2 * (size_t)p->node[3 * (size_t)cell + k / 2] + k % 2];
    spl_patch_jacobian(s->net, t, at, here);
    spl_patch_jacobian(s->net, t, s->at + 6 * (size_t)t, there);
    double side = here[0] * here[3] - here[1] * here[2] < 0 ? 1 : -1; /* green is against v */
    double other = there[0] * there[3] - there[1] * there[2] < 0 ? 1 : -1;
    /* along growing u, v the same: at right angles to the gradient of v */
    double a[2] = {-side * here[3], side * here[2]}, b[2] = {-other * there[3], other * there[2]};
    double length = sqrt((a[0] * a[0] + a[1] * a[1]) * (b[0] * b[0] + b[1] * b[1]));
    if (!(length > 0)) return;
    double c = (a[0] * b[0] + a[1] * b[1]) / length, n = (a[0] * b[1] - a[1] * b[0]) / length;
    double x = 2 * rgba[0] - 255, y = 2 * rgba[1] - 255;
    rgba[0] = 0.5 * (255 + x * c - y * other * n);
    rgba[1] = 0.5 * (255 + side * (x * n + y * other * c));
}

static void show(const painter *w, const spl_patch *p, int32_t cell, const double weight[3], double rgba[4])
{
    int32_t t = p->cell[cell], m = w->atlas->source.shows[t];
    const float *rest = w->atlas->uv->rest + 6 * (size_t)t;
    double uv[2];
    for (int i = 0; i < 4; i++) rgba[i] = w->kind == SPL_ATLAS_NORMAL && i < 2 ? 127.5 : 255;
    if (m < 0) return;
    for (int i = 0; i < 2; i++)
        uv[i] = weight[0] * (double)rest[i] + weight[1] * (double)rest[2 + i] + weight[2] * (double)rest[4 + i];
    if (w->map[m].pixels) sample(w, t, uv, rgba);
    if (m != w->sheet->material) convert(w, m, rgba);
    if (w->kind == SPL_ATLAS_NORMAL && w->map[m].pixels) spl_atlas_turn(w->atlas, p, cell, rgba);
}

/* ---- the image ----------------------------------------------------------------------------------------------------
 */

static void paint_rows(void *context, size_t begin, size_t end)
{
    const painter *w = context;
    const spl_atlas_sheet *s = w->sheet;
    for (size_t i = begin * (size_t)w->out->width; i < end * (size_t)w->out->width; i++) {
        double x = ((double)(i % (size_t)w->out->width) + 0.5) * (double)s->size[0] / w->out->width;
        double y = ((double)(i / (size_t)w->out->width) + 0.5) * (double)s->size[1] / w->out->height;
        size_t at = (size_t)y * (size_t)s->size[0] + (size_t)x;
        if (w->patch[at] < 0) continue;
        const spl_patch *p = &w->atlas->patch[w->patch[at]];
        double q[2] = {x - (double)(p->place[0] - p->low[0]), y - (double)(p->place[1] - p->low[1])};
        double weight[3], rgba[4], sum = 0;
        int32_t cell = spl_patch_locate(p, w->cell[at], q, weight);
        for (int k = 0; k < 3; k++) sum += weight[k] = fmax(weight[k], 0);
        for (int k = 0; k < 3; k++) weight[k] /= sum;
        show(w, p, cell, weight, rgba);
        for (int c = 0; c < 4; c++) w->out->rgba[4 * i + (size_t)c] = (uint8_t)(fmin(fmax(rgba[c], 0), 255) + 0.5);
        w->ring[i] = 1;
    }
}

/* Texels beside painted ones take the mean of those. */
static void fill_ring(painter *w, uint8_t ring)
{
    int64_t width = w->out->width, height = w->out->height;
    for (int64_t i = 0; i < width * height; i++) {
        if (w->ring[i]) continue;
        int sum[4] = {0}, count = 0;
        for (int n = 0; n < 9; n++) {
            int64_t x = i % width + n % 3 - 1, y = i / width + n / 3 - 1;
            if (x < 0 || y < 0 || x >= width || y >= height) continue;
            int64_t at = y * width + x;
            if (w->ring[at] == 0 || w->ring[at] >= ring) continue;
            for (int c = 0; c < 4; c++) sum[c] += w->out->rgba[4 * at + c];
            count++;
        }
        for (int c = 0; c < 4 && count; c++) w->out->rgba[4 * i + c] = (uint8_t)((sum[c] + count / 2) / count);
        if (count) w->ring[i] = ring;
    }
}

/* Texels that an edge of a home goes through belong to it where nothing else is: a triangle may lie between the centres
 * of texels, and would show what nobody paints. */
static void cover_edge(painter *w, int32_t patch, int32_t cell, const double from[2], const double to[2])
{
    const spl_patch *p = &w->atlas->patch[patch];
    int64_t steps = 1 + (int64_t)ceil(2 * fmin(fabs(to[0] - from[0]) + fabs(to[1] - from[1]), 1e6));
    for (int64_t i = 0; i <= steps; i++) {
        int64_t q[2];
        for (int k = 0; k < 2; k++)
            q[k] = (int64_t)floor(from[k] + (to[k] - from[k]) * (double)i / (double)steps) - p->low[k];
        if (q[0] < 0 || q[1] < 0 || q[0] >= p->size[0] || q[1] >= p->size[1]) continue;
        int64_t at = (p->place[1] + q[1]) * w->sheet->size[0] + p->place[0] + q[0];
        if (w->patch[at] >= 0) continue;
        w->patch[at] = patch;
        w->cell[at] = cell;
    }
}

static void cover_edges(painter *w, int32_t patch)
{
    const spl_patch *p = &w->atlas->patch[patch];
    for (int32_t c = 0; c < p->home_count; c++)
        for (size_t k = 0; k < 3; k++) {
            const int32_t *n = p->node + 3 * (size_t)c;
            cover_edge(w, patch, c, p->at + 2 * (size_t)n[k], p->at + 2 * (size_t)n[(k + 1) % 3]);
        }
}

static void cover_sheet(painter *w, int32_t *room)
{
    const spl_atlas_sheet *s = w->sheet;
    for (int64_t i = 0; i < s->size[0] * s->size[1]; i++) w->patch[i] = -1;
    for (int32_t i = s->first; i < s->first + s->count; i++) {
        const spl_patch *p = &w->atlas->patch[i];
        spl_patch_cover(&w->atlas->source, p, room);
        for (int64_t k = 0; k < p->size[0] * p->size[1]; k++) {
            int64_t at = (p->place[1] + k / p->size[0]) * s->size[0] + p->place[0] + k % p->size[0];
            if (room[k] < 0) continue;
            w->patch[at] = i;
            w->cell[at] = room[k];
        }
        cover_edges(w, i);
    }
}

static bool allocate(painter *w, int32_t **room)
{
    const supple_allocator *a = &w->atlas->allocator;
    const spl_atlas_sheet *s = w->sheet;
    size_t n = (size_t)(s->size[0] * s->size[1]), most = 0;
    for (int32_t i = s->first; i < s->first + s->count; i++) {
        size_t box = (size_t)(w->atlas->patch[i].size[0] * w->atlas->patch[i].size[1]);
        most = box > most ? box : most;
    }
    w->patch = spl_new(a, n, sizeof *w->patch);
    w->cell = spl_new(a, n, sizeof *w->cell);
    *room = spl_new(a, most, sizeof **room);
    w->owner = spl_new(a, (size_t)w->atlas->sheet_count, sizeof *w->owner);
    n = (size_t)w->out->width * (size_t)w->out->height;
    w->ring = spl_new(a, n, 1);
    w->out->rgba = spl_new(a, n, 4);
    return w->patch && w->cell && *room && w->owner && w->ring && w->out->rgba;
}

static void release(painter *w, int32_t *room)
{
    const supple_allocator *a = &w->atlas->allocator;
    for (int32_t m = 0; w->owner && m < w->atlas->sheet_count; m++) spl_free(a, w->owner[m]);
    void *block[] = {w->patch, w->cell, room, w->owner, w->ring};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
}

static int32_t grown(int64_t side, int32_t image, int32_t from)
{
    double n = rint((double)side * image / from);
    return n < 1 ? 1 : (int32_t)n;
}

supple_result spl_atlas_paint(const spl_atlas *t, int32_t sheet, spl_atlas_kind kind, const spl_atlas_map *map,
                              spl_pool *pool, spl_pixels *out, supple_error *error)
{
    const spl_atlas_sheet *s = &t->sheet[sheet];
    const spl_pixels *own_map = map[s->material].pixels;
    int32_t *room = NULL;
    painter w = {.atlas = t, .sheet = s, .kind = kind, .map = map, .out = out};
    *out = (spl_pixels){grown(s->size[0], own_map->width, s->from[0]), grown(s->size[1], own_map->height, s->from[1]),
                        NULL};
    bool ok = allocate(&w, &room) && find_owners(&w);
    if (ok) {
        cover_sheet(&w, room);
        spl_parallel_for(pool, (size_t)out->height, ROWS, paint_rows, &w);
        for (int ring = 2; ring < 2 + GUTTER; ring++) fill_ring(&w, (uint8_t)ring);
        for (int64_t i = 0; i < (int64_t)out->width * out->height; i++) /* what nobody sees is opaque: smaller files */
            if (!w.ring[i]) out->rgba[4 * i + 3] = 255;
    }
    release(&w, room);
    if (ok) return SUPPLE_OK;
    spl_pixels_free(out, &t->allocator);
    return spl_fail_memory(error, "the atlas' images");
}
