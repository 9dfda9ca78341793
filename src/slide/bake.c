#include "slide/bake.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { ROWS = 16, TRIANGLES = 1024 }; /* pieces of parallel loops */

/* Texels: what floats make of coordinates that have not moved. */
static const double STILL = 0.01;

supple_result spl_slide_bake_init(spl_slide_bake *b, const supple_scene *scene, spl_pixels *input, bool normals,
                                  spl_slide_bake_choice *choice, const void *context, spl_pool *pool,
                                  const supple_config *config, supple_error *error)
{
    *b = (spl_slide_bake){.scene = scene, .allocator = spl_allocator_of(config), .pool = pool, .input = *input};
    *input = (spl_pixels){0};
    b->normals = normals;
    const supple_allocator *a = &b->allocator;
    supple_result r =
        spl_slide_bake_layout_init(&b->layout, scene, b->input.width, b->input.height, choice, context, config, error);
    if (r == SUPPLE_OK) {
        size_t n = (size_t)b->layout.triangle_count, texels = (size_t)b->input.width * (size_t)b->input.height;
        b->output = (spl_pixels){b->input.width, b->input.height, spl_new(a, texels, 4)};
        b->shift = spl_new(a, n, 6 * sizeof *b->shift);
        b->anchor = spl_new(a, n, 2 * sizeof *b->anchor);
        b->island = spl_new(a, n, sizeof *b->island);
        bool ok = b->output.rgba && b->shift && b->anchor && b->island;
        if (normals) {
            b->turn = spl_new(a, n, 2 * sizeof *b->turn);
            b->flips = spl_new(a, n, sizeof *b->flips);
            b->vertex_turn = spl_new(a, (size_t)scene->vertex_count, 2 * sizeof *b->vertex_turn);
            ok = ok && b->turn && b->flips && b->vertex_turn;
        }
        if (!ok) r = spl_fail_memory(error, "a texture to bake");
    }
    if (r != SUPPLE_OK) spl_slide_bake_release(b);
    return r;
}

void spl_slide_bake_release(spl_slide_bake *b)
{
    const supple_allocator *a = &b->allocator;
    if (!b->scene) return;
    spl_slide_bake_layout_release(&b->layout, a);
    spl_pixels_free(&b->input, a);
    spl_pixels_free(&b->output, a);
    spl_free(a, b->shift);
    spl_free(a, b->anchor);
    spl_free(a, b->island);
    spl_free(a, b->turn);
    spl_free(a, b->flips);
    spl_free(a, b->vertex_turn);
    spl_free(a, b->number);
    *b = (spl_slide_bake){0};
}

/* ---- once a frame: where the triangles' skin comes from ---------------------------------------------------------- */

/* A position in the texture itself, which repeats; also from coordinates so large that no integer holds them. */
static void repeat(const spl_slide_bake *b, const double p[2], double out[2])
{
    const double size[2] = {b->input.width, b->input.height};
    for (int c = 0; c < 2; c++) {
        double x = p[c];
        if (!(x >= 0 && x < size[c])) x -= size[c] * floor(x / size[c]);
        out[c] = x >= 0 && x < size[c] ? x : 0;
    }
}

static const spl_slide_bake_texel *texel_at(const spl_slide_bake *b, const double p[2], double at[2])
{
    repeat(b, p, at);
    return spl_slide_bake_texel_at(&b->layout, llrint(at[0]), llrint(at[1]));
}

typedef struct frame_work {
    spl_slide_bake *bake;
    const float *corner_uv;
} frame_work;

/* A position in the gutter of an island goes to the island's border; false if it is in no gutter, or in another's. */
static bool to_border(const spl_slide_bake *b, int32_t island, double p[2])
{
    double at[2], home[2], q[2];
    const spl_slide_bake_texel *texel = texel_at(b, p, at);
    if (texel->triangle < 0 || b->layout.triangle[texel->triangle].island != island) return false;
    size_t i = (size_t)(texel - b->layout.texel), width = (size_t)b->input.width;
    home[0] = (double)(i % width) + (double)texel->tile[0] * b->input.width + at[0] - rint(at[0]);
    home[1] = (double)(i / width) + (double)texel->tile[1] * b->input.height + at[1] - rint(at[1]);
    spl_slide_bake_nearest(&b->layout.triangle[texel->triangle], home, q);
    for (int c = 0; c < 2; c++) p[c] += q[c] - home[c];
    return true;
}

/* Which island a triangle's skin comes from, and a position on it, the anchor: by the middle of the skin, else by the
 * first corner that lies on an island, else by the gutters that they lie in. -1 if all of it is far from any. */
static int32_t source_island(const spl_slide_bake *b, size_t t, double anchor[2])
{
    const spl_slide_bake_triangle *one = &b->layout.triangle[t];
    const double *shift = b->shift + 6 * t;
    double p[4][2] = {{0}}, at[2];
    for (int c = 0; c < 2; c++)
        for (int k = 1; k < 4; k++) {
            p[k][c] = one->at[k - 1][c] + shift[2 * (k - 1) + c];
            p[0][c] += p[k][c] / 3;
        }
    for (int k = 0; k < 8; k++) {
        const spl_slide_bake_texel *texel = texel_at(b, p[k % 4], at);
        if (texel->triangle < 0 || (k < 4 && texel->ring)) continue;
        int32_t island = b->layout.triangle[texel->triangle].island;
        memcpy(anchor, p[k % 4], 2 * sizeof *anchor);
        if (texel->ring) to_border(b, island, anchor);
        return island;
    }
    return -1;
}

static void shift_triangles(void *context, size_t begin, size_t end)
{
    const frame_work *w = context;
    spl_slide_bake *b = w->bake;
    const double size[2] = {b->input.width, b->input.height};
    for (size_t t = begin; t < end; t++) {
        const spl_slide_bake_triangle *one = &b->layout.triangle[t];
        const float *uv = w->corner_uv + 2 * (size_t)one->corner;
        for (int k = 0; k < 6; k++) /* the difference of floats is exact: 0 where the skin has not moved */
            b->shift[6 * t + (size_t)k] = ((double)uv[k] - (double)one->uv[k / 2][k % 2]) * size[k % 2];
        for (int k = 0; k < 6 && b->atlas; k++) /* these are not exact */
            if (fabs(b->shift[6 * t + (size_t)k]) < STILL) b->shift[6 * t + (size_t)k] = 0;
        b->island[t] = source_island(b, t, b->anchor + 2 * t);
    }
}

/* ---- once a frame: how the skin is turned -------------------------------------------------------------------------
 */

/* The direction of growing u on a triangle with edges e1 and e2 (not of unit length), and on which side v grows. */
static spl_vec3 tangent(spl_vec3 e1, spl_vec3 e2, const double uv[3][2], double *side)
{
    double u1 = uv[1][0] - uv[0][0], v1 = uv[1][1] - uv[0][1], u2 = uv[2][0] - uv[0][0], v2 = uv[2][1] - uv[0][1];
    *side = u1 * v2 - u2 * v1 < 0 ? -1 : 1;
    return spl_scale(spl_sub(spl_scale(e1, v2), spl_scale(e2, v1)), *side);
}

/* With unit tangents t of the texture and t' of the skin, t' = c t + s N x t, and bitangents w N x t and w' N x t', a
 * normal (x, y) of the skin's frame is (x c - y w' s, w (x s + y w' c)) in the texture's. Kept are c and w s: where the
 * sides agree this is a turn by them, else a turn of the mirror image. */
static void turn_triangle(spl_slide_bake *b, size_t t, const float *corner_uv, double *weight)
{
    const spl_slide_bake_triangle *one = &b->layout.triangle[t];
    double own[3][2], slid[3][2], side, other;
    spl_vec3 p[3];
    for (int k = 0; k < 3; k++) {
        p[k] = spl_v3_from_float(b->position + 3 * (size_t)one->vertex[k]);
        for (int c = 0; c < 2; c++) {
            own[k][c] = (double)one->uv[k][c];
            slid[k][c] = (double)corner_uv[2 * ((size_t)one->corner + (size_t)k) + (size_t)c];
        }
    }
    spl_vec3 e1 = spl_sub(p[1], p[0]), e2 = spl_sub(p[2], p[0]), n = spl_cross(e1, e2);
    spl_vec3 from = tangent(e1, e2, own, &side), to = tangent(e1, e2, slid, &other);
    *weight = spl_norm(n);
    double c = spl_dot(from, to), s = *weight > 0 ? spl_dot(n, spl_cross(from, to)) / *weight : 0;
    double length = sqrt(c * c + s * s);
    bool known = length > 0 && isfinite(length);
    if (!known) *weight = 0; /* nothing to turn by: as it was */
    b->turn[2 * t] = known ? (float)(c / length) : 1;
    b->turn[2 * t + 1] = known ? (float)(-side * s / length) : 0; /* y is against v */
    b->flips[t] = side != other;
}

/* Turns at vertices are means over their triangles, as tangents are: faces do not show. */
static void turn_all(spl_slide_bake *b, const float *corner_uv)
{
    memset(b->vertex_turn, 0, 2 * (size_t)b->scene->vertex_count * sizeof *b->vertex_turn);
    for (size_t t = 0; t < (size_t)b->layout.triangle_count; t++) {
        double weight;
        turn_triangle(b, t, corner_uv, &weight);
        for (int k = 0; k < 3 && !b->flips[t]; k++) {
            float *sum = b->vertex_turn + 2 * (size_t)b->layout.triangle[t].vertex[k];
            for (int c = 0; c < 2; c++) sum[c] += (float)weight * b->turn[2 * t + (size_t)c];
        }
    }
    for (size_t v = 0; v < (size_t)b->scene->vertex_count; v++) { /* of unit length, so that areas do not weigh again */
        float *sum = b->vertex_turn + 2 * v, length = sqrtf(sum[0] * sum[0] + sum[1] * sum[1]);
        for (int c = 0; c < 2; c++) sum[c] = length > 0 ? sum[c] / length : 0;
    }
}

static void turn_normal(const spl_slide_bake *b, int32_t triangle, const double weight[3], float rgba[4])
{
    const spl_slide_bake_triangle *one = &b->layout.triangle[triangle];
    const float *own = b->turn + 2 * (size_t)triangle;
    double c = (double)own[0], s = (double)own[1], x = 2 * (double)rgba[0] - 255, y = 2 * (double)rgba[1] - 255;
    if (b->flips[triangle]) {
        y = -y;
    } else {
        double mean[2] = {0}, length;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 2; i++)
                mean[i] += weight[k] * (double)b->vertex_turn[2 * (size_t)one->vertex[k] + (size_t)i];
        length = sqrt(mean[0] * mean[0] + mean[1] * mean[1]);
        if (length > 1e-3) c = mean[0] / length, s = mean[1] / length;
    }
    rgba[0] = (float)(0.5 * (255 + c * x - s * y));
    rgba[1] = (float)(0.5 * (255 + s * x + c * y));
}

/* ---- texels -------------------------------------------------------------------------------------------------------
 */

/* The input at a position, bilinear and repeating, from texels of one island only: what lies around it in the texture
 * is foreign. False if none of the four is its own, or too little of one. To island -1 all belong. */
static bool sample(const spl_slide_bake *b, const double p[2], int32_t island, float out[4])
{
    static const float LEAST = 1e-3f;
    double at[2];
    repeat(b, p, at);
    int32_t x0 = (int32_t)at[0], y0 = (int32_t)at[1]; /* not negative */
    float fx = (float)(at[0] - x0), fy = (float)(at[1] - y0), sum = 0;
    for (int c = 0; c < 4; c++) out[c] = 0;
    for (int i = 0; i < 4; i++) {
        float w = (i & 1 ? fx : 1 - fx) * (i & 2 ? fy : 1 - fy);
        int32_t x = x0 + (i & 1), y = y0 + (i >> 1);
        if (x >= b->input.width) x -= b->input.width;
        if (y >= b->input.height) y -= b->input.height;
        size_t texel = (size_t)y * (size_t)b->input.width + (size_t)x;
        if (island >= 0 && b->layout.texel[texel].island != island) continue;
        const uint8_t *rgba = b->input.rgba + 4 * texel;
        for (int c = 0; c < 4; c++) out[c] += w * (float)rgba[c];
        sum += w;
    }
    for (int c = 0; c < 4 && sum > 0 && sum < 1; c++) out[c] /= sum;
    return sum > LEAST;
}

/* From a position outside its island straight towards the anchor, until something of the island is there. */
static bool walk_home(const spl_slide_bake *b, const double p[2], const double anchor[2], int32_t island, float out[4])
{
    enum { STEPS = 256 };
    double x = anchor[0] - p[0], y = anchor[1] - p[1], length = sqrt(x * x + y * y);
    double count = fmin(ceil(2 * length) + 1, STEPS); /* half a texel each */
    for (int i = 1; i <= (int)count; i++) {
        double s = i / count, q[2] = {p[0] + s * x, p[1] + s * y};
        if (sample(b, q, island, out)) return true;
    }
    return false;
}

/* How far the skin at a place of a triangle has come, texels. */
static void shift_at(const spl_slide_bake *b, int32_t triangle, const double weight[3], double out[2])
{
    const double *shift = b->shift + 6 * (size_t)triangle;
    for (int c = 0; c < 2; c++) out[c] = weight[0] * shift[c] + weight[1] * shift[2 + c] + weight[2] * shift[4 + c];
}

/* The skin at a place of a triangle, or nearest to it. In the gutter the triangle's map goes on as it is, which keeps
 * the texture straight across seams, as long as that leads to its own island and no farther than the place itself is
 * from the triangle (slivers extrapolate wildly); else the skin of its edge is taken. Skin that would come from outside
 * its island, where the triangle lies across a seam, comes from the island's border. */
static void skin_beside(const spl_slide_bake *b, const spl_slide_bake_texel *texel, const double p[2], double weight[3],
                        float out[4])
{
    const spl_slide_bake_triangle *one = &b->layout.triangle[texel->triangle];
    int32_t island = b->island[texel->triangle];
    double q[2] = {p[0], p[1]}, d[2];
    spl_slide_bake_weights(one, p, weight);
    shift_at(b, texel->triangle, weight, d);
    if (texel->ring) {
        double far = spl_slide_bake_nearest(one, p, q), slid[2] = {p[0] + d[0], p[1] + d[1]}, on[2] = {d[0], d[1]};
        spl_slide_bake_weights(one, q, weight);
        shift_at(b, texel->triangle, weight, d);
        double dx = on[0] - d[0], dy = on[1] - d[1];
        if (dx * dx + dy * dy <= far && sample(b, slid, island, out)) return;
    }
    double slid[2] = {q[0] + d[0], q[1] + d[1]};
    if (sample(b, slid, island, out)) return;
    if (to_border(b, island, slid) && sample(b, slid, island, out)) return;
    if (walk_home(b, slid, b->anchor + 2 * (size_t)texel->triangle, island, out)) return;
    sample(b, slid, -1, out);
}

/* What the atlas says is at a place of a triangle; false where it does not reach, or another texture is there. */
static bool look(const spl_slide_bake *b, int32_t triangle, const double weight[3], float out[4])
{
    const spl_slide_bake_triangle *one = &b->layout.triangle[triangle];
    int32_t home = b->net_of[one->corner / 3], cell;
    double uv[2] = {0}, at[2] = {0};
    spl_place place;
    if (home < 0) return false;
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++) uv[c] += weight[k] * (double)b->atlas_uv[2 * (one->corner + k) + c];
    if (!spl_atlas_look(b->atlas, home, uv, &place, &cell) || b->number[place.triangle] < 0) return false;
    const float *rest = b->atlas->uv->rest + 6 * (size_t)place.triangle;
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++) at[c] += place.bary[k] * (double)rest[2 * k + c];
    at[0] = at[0] * b->input.width - 0.5;
    at[1] = at[1] * b->input.height - 0.5;
    if (!sample(b, at, b->layout.triangle[b->number[place.triangle]].island, out)) sample(b, at, -1, out);
    if (b->normals) {
        double rgba[4] = {(double)out[0], (double)out[1], (double)out[2], (double)out[3]};
        spl_atlas_turn(b->atlas, &b->atlas->patch[b->atlas->patch_of[home]], cell, rgba);
        for (int c = 0; c < 4; c++) out[c] = (float)rgba[c];
    }
    return true;
}

/* Through the atlas where there is one; gutters go on over the seam as far as it knows. */
static void skin_at(const spl_slide_bake *b, const spl_slide_bake_texel *texel, const double p[2], double weight[3],
                    float out[4])
{
    const spl_slide_bake_triangle *one = &b->layout.triangle[texel->triangle];
    const double *shift = b->shift + 6 * (size_t)texel->triangle;
    double q[2];
    bool still = true;
    for (int k = 0; k < 6; k++) still = still && fabs(shift[k]) < STILL;
    if (b->atlas && !still) {
        spl_slide_bake_weights(one, p, weight);
        if (look(b, texel->triangle, weight, out)) return;
        spl_slide_bake_nearest(one, p, q);
        spl_slide_bake_weights(one, q, weight);
        if (look(b, texel->triangle, weight, out)) return;
    }
    skin_beside(b, texel, p, weight, out);
}

static uint8_t to_byte(float v)
{
    return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : (int)(v + 0.5f));
}

static void bake_rows(void *context, size_t begin, size_t end)
{
    const frame_work *w = context;
    spl_slide_bake *b = w->bake;
    size_t width = (size_t)b->input.width;
    for (size_t i = begin * width; i < end * width; i++) {
        const spl_slide_bake_texel *texel = &b->layout.texel[i];
        uint8_t *to = b->output.rgba + 4 * i;
        if (texel->triangle < 0) {
            memcpy(to, b->input.rgba + 4 * i, 4);
            continue;
        }
        double p[2] = {(double)(i % width) + (double)texel->tile[0] * b->input.width,
                       (double)(i / width) + (double)texel->tile[1] * b->input.height},
               weight[3];
        float rgba[4];
        skin_at(b, texel, p, weight, rgba);
        if (b->normals) turn_normal(b, texel->triangle, weight, rgba);
        for (int c = 0; c < 4; c++) to[c] = to_byte(rgba[c]);
    }
}

void spl_slide_bake_frame(spl_slide_bake *b, const float *position, const spl_slide_frame *frame)
{
    frame_work w = {b, frame->corner_uv};
    b->position = position;
    spl_parallel_for(b->pool, (size_t)b->layout.triangle_count, TRIANGLES, shift_triangles, &w);
    if (b->normals) turn_all(b, frame->corner_uv);
    spl_parallel_for(b->pool, (size_t)b->input.height, ROWS, bake_rows, &w);
}

supple_result spl_slide_bake_through(spl_slide_bake *b, const spl_atlas *atlas, const int32_t *net_of,
                                     const float *atlas_uv, supple_error *error)
{
    size_t n = (size_t)atlas->net->surface.triangle_count;
    b->atlas = NULL;
    spl_free(&b->allocator, b->number);
    b->number = spl_new(&b->allocator, n, sizeof *b->number);
    if (!b->number) return spl_fail_memory(error, "a texture to bake");
    for (size_t i = 0; i < n; i++) b->number[i] = -1;
    for (int32_t t = 0; t < b->layout.triangle_count; t++) {
        int32_t home = net_of[b->layout.triangle[t].corner / 3];
        if (home >= 0) b->number[home] = t;
    }
    b->atlas = atlas;
    b->net_of = net_of;
    b->atlas_uv = atlas_uv;
    return SUPPLE_OK;
}
