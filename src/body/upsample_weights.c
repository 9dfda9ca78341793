/* Patches, fits and the packing of their weights. */
#include "body/upsample_map.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 64, MOST = SPL_UPSAMPLE_MOST_NEIGHBOURS, FOLLOW_FACTOR = 3, BLOCK = SPL_UPSAMPLE_BLOCK };

/* How a point was fitted; the order of the paper's fall-backs. */
typedef enum fit_kind { FIT_NONE, FIT_FOLLOW, FIT_QUADRATIC, FIT_REDUCED, FIT_LINEAR, FIT_CORNERS } fit_kind;

/* A neighbour lies across a gap if the way along the surface is so much longer than through space: half way round a
 * limb it is 1.57 times as long, from a finger to the tip of the next one many times. Where two places face each other
 * there is nothing but air between them, and the second bound holds. */
static const double gap_ratio = 2.5, facing_gap_ratio = 1.15;

/* Fits whose weights amplify more than this are refused. Inside a surface quadratic ones have 1 to 2, at its border up
 * to 4. */
static const double most_gain = 5;

/* Smallest offsets that get a frame: of the body's diagonal, of a unit normal. */
static const double least_offset = 1e-7, least_normal_offset = 1e-6;

typedef struct report {
    uint8_t kind;
    bool framed; /* in every frame */
    bool morphs; /* in some */
    int32_t dropped;
    double gain;
    float r[3];       /* in the frame's axes, or the world's */
    float rest[2][3]; /* the frame's tangents */
    bool has_frame;
} report;

typedef struct setup {
    spl_upsample *u;
    const spl_upsample_visual *visual;
    const spl_upsample_options *options;
    const spl_upsample_points *p;
    uint32_t *first; /* by point: entries; p->count + 1 */
    report *report;  /* by point */
    float *tangent;  /* 2 an entry, as the map has them */
    const spl_upsample_searches *searches;
} setup;

/* Whether skin is put on the corners of one triangle. */
static bool has_corners(const setup *s)
{
    return s->options->kind == SPL_UPSAMPLE_BARYCENTRIC || s->options->kind == SPL_UPSAMPLE_ALONG_NORMAL;
}

/* ---- patches ----------------------------------------------------------------------------------------------------- */

static int32_t wanted(const setup *s, size_t point)
{
    int32_t k = s->options->neighbours;
    if (s->p->part[point] == SPL_UPSAMPLE_FOLLOW) return FOLLOW_FACTOR * k < MOST ? FOLLOW_FACTOR * k : MOST;
    return s->p->part[point] == SPL_UPSAMPLE_SKIN ? k : 0;
}

/* Whether the surface at a and at b looks at the other one. */
static bool face_each_other(spl_vec3 a, spl_vec3 normal_a, spl_vec3 b, spl_vec3 normal_b)
{
    spl_vec3 d = spl_sub(b, a);
    return spl_dot(normal_a, normal_b) < 0 && spl_dot(d, normal_a) > 0 && spl_dot(d, normal_b) < 0;
}

/* Leaves out what lies across a gap; returns how many stay. */
static int32_t drop_far_sides(const spl_surface *s, const spl_place *at, double mean_edge, int32_t count,
                              int32_t *vertex, double *distance)
{
    int32_t kept = 0;
    spl_vec3 place = spl_surface_point(s, at), normal = spl_surface_normal(s, at);
    for (int32_t i = 0; i < count; i++) {
        spl_vec3 p = s->position[vertex[i]];
        bool facing = face_each_other(place, normal, p, s->normal[vertex[i]]);
        double ratio = facing ? facing_gap_ratio : gap_ratio;
        if (distance[i] > ratio * spl_distance(place, p) && (facing || distance[i] > mean_edge)) continue;
        vertex[kept] = vertex[i];
        distance[kept++] = distance[i];
    }
    return kept;
}

/* w(r) = (1 - r / rho)^3, rho the distance of the first neighbour left out (eq. 4). */
static void set_weights(spl_patch *patch, const double *distance, double rho)
{
    double sum = 0;
    for (int32_t i = 0; i < patch->count; i++) {
        double t = 1 - distance[i] / rho;
        patch->w[i] = t > 0 ? t * t * t : 0;
        sum += patch->w[i];
    }
    for (int32_t i = 0; i < patch->count; i++) patch->w[i] = sum > 0 ? patch->w[i] / sum : 1.0 / patch->count;
}

static bool is_corner(const spl_surface *s, const spl_place *at, int32_t vertex)
{
    const int32_t *c = s->triangle + 3 * (size_t)at->triangle;
    return c[0] == vertex || c[1] == vertex || c[2] == vertex;
}

/* Long triangles: sees to it that the corners of the place's own triangle are among the k neighbours, in place of the
 * last ones: without them the place may lie outside what the others determine. Returns the farthest corner's distance.
 */
static double keep_corners(const spl_surface *s, const spl_place *at, int32_t k, int32_t *count, int32_t *vertex,
                           double *distance)
{
    spl_vec3 place = spl_surface_point(s, at);
    double reach = 0;
    for (int32_t c = 0; c < 3; c++) {
        int32_t corner = s->triangle[3 * at->triangle + c], i = 0;
        double far = spl_distance(place, s->position[corner]);
        reach = fmax(reach, far);
        while (i < *count && i < k && vertex[i] != corner) i++;
        if (i < *count && i < k) continue;
        for (i = k - 1; *count >= k && is_corner(s, at, vertex[i]);) i--; /* k >= 3: one is not */
        if (*count < k) i = (*count)++;
        vertex[i] = corner;
        distance[i] = far;
    }
    return reach;
}

/* The neighbours of a point's place; returns how many were dropped. */
static int32_t find_patch(const setup *s, spl_geodesic *g, size_t point, spl_patch *patch)
{
    const spl_surface *surface = s->u->surface;
    const spl_place *at = &s->p->place[point];
    int32_t k = wanted(s, point), vertex[2 * MOST + 2];
    double distance[2 * MOST + 2];
    int32_t asked = k + 1, found = spl_geodesic_nearest(g, surface, at, asked, vertex, distance);
    int32_t kept = drop_far_sides(surface, at, s->p->mean_edge, found, vertex, distance), dropped = found - kept;
    if (kept < found && found == asked) { /* look farther for as many as were dropped */
        found = spl_geodesic_nearest(g, surface, at, 2 * asked, vertex, distance);
        kept = drop_far_sides(surface, at, s->p->mean_edge, found, vertex, distance);
    }
    double reach = keep_corners(surface, at, k, &kept, vertex, distance);
    patch->count = kept < k ? kept : k;
    for (int32_t i = 0; i < patch->count; i++) {
        patch->index[i] = vertex[i];
        patch->point[i] = surface->position[vertex[i]];
    }
    double last = distance[patch->count - 1], rho = kept > k ? distance[k] : 1.25 * last;
    /* Most at one distance, as about the hub of a fan: they would weigh nothing, and rounding decide which one counts.
     */
    if (!(rho > 1.05 * distance[patch->count / 2])) rho = 1.25 * last;
    set_weights(patch, distance, fmax(rho, 1.25 * reach));
    return dropped;
}

static void corner_patch(const spl_surface *s, const spl_place *place, spl_patch *patch)
{
    patch->count = 3;
    for (int32_t c = 0; c < 3; c++) {
        patch->index[c] = s->triangle[3 * place->triangle + c];
        patch->point[c] = s->position[patch->index[c]];
        patch->w[c] = 1.0 / 3;
    }
}

/* ---- one point --------------------------------------------------------------------------------------------------- */

/* Fits with the paper's fall-backs: quadratic, linear, and at last the triangle's corners: their linear fit is the
 * barycentric interpolation. */
static fit_kind fit_skin(const setup *s, const spl_place *at, spl_vec3 place, spl_vec3 x, spl_patch *patch,
                         spl_fit *fit)
{
    spl_upsample_kind kind = s->options->kind;
    if (kind == SPL_UPSAMPLE_QUADRATIC) {
        spl_fit_positions(patch, place, x, 2, false, fit);
        if (fit->gain <= most_gain) return fit->left_out > 0 ? FIT_REDUCED : FIT_QUADRATIC;
    }
    if (!has_corners(s)) {
        spl_fit_positions(patch, place, x, 1, false, fit);
        if (fit->gain <= most_gain) return FIT_LINEAR;
    }
    corner_patch(s->u->surface, at, patch);
    spl_fit_positions(patch, place, x, 1, true, fit);
    return FIT_CORNERS;
}

/* Rounds weights to floats whose sum is 1 as nearly as floats allow: the error goes where it matters least. */
static void round_weights(const double *from, int32_t count, float *to)
{
    double sum = 0;
    int32_t largest = 0;
    for (int32_t i = 0; i < count; i++) {
        to[i] = (float)from[i];
        sum += (double)to[i];
        if (fabs(from[i]) > fabs(from[largest])) largest = i;
    }
    to[largest] = (float)((double)to[largest] + (1 - sum));
}

static spl_vec3 in_frame(const spl_fit *fit, spl_vec3 r)
{
    if (!fit->has_frame) return r;
    return spl_v3(spl_dot(spl_mat3_column(&fit->frame, 0), r), spl_dot(spl_mat3_column(&fit->frame, 1), r),
                  spl_dot(spl_mat3_column(&fit->frame, 2), r));
}

/* Normal weights of the visual vertices at a point. A vertex that follows takes its normal from the frame alone. */
static void fit_normals(const setup *s, size_t point, const spl_patch *patch, const spl_fit *fit)
{
    const spl_upsample_points *p = s->p;
    const spl_vec3 *surface_normal = s->u->surface->normal;
    for (int32_t m = p->first[point]; m < p->first[point + 1]; m++) {
        int32_t v = p->vertex[m];
        double weight[MOST];
        spl_vec3 target = spl_v3_from_float(s->visual->normal + 3 * (size_t)v), rest = target;
        if (!spl_v3_finite(target)) target = rest = spl_v3(0, 0, 0);
        if (p->part[point] == SPL_UPSAMPLE_SKIN) {
            float *rounded = s->u->normal_weight + s->u->vertex[v].normal;
            spl_fit_normals(patch, surface_normal, target, weight);
            round_weights(weight, patch->count, rounded);
            for (int32_t i = 0; i < patch->count; i++)
                rest = spl_madd(rest, surface_normal[patch->index[i]], -(double)rounded[i]);
        }
        if (spl_norm(rest) < least_normal_offset) continue;
        spl_v3_to_float(in_frame(fit, rest), s->u->normal_offset + 3 * (size_t)v);
        s->report[point].framed = true;
    }
}

static void store(const setup *s, size_t point, const spl_patch *patch, const spl_fit *fit, double lift)
{
    spl_upsample *u = s->u;
    report *result = &s->report[point];
    uint32_t first = s->first[point];
    spl_vec3 rest = s->p->position[point], normal = {0};
    /* The offset is what the weights leave over as they are stored: where neighbours hardly determine a direction, sums
     * of the exact ones are 1 to 1e-5 only, and rounding moves that to one neighbour. */
    round_weights(fit->weight, patch->count, u->weight + first);
    for (int32_t i = 0; i < patch->count; i++) {
        uint32_t at = first + (uint32_t)i;
        u->index[at] = SPL_UPSAMPLE_STRIDE * (uint32_t)patch->index[i];
        for (uint32_t a = 0; a < 2; a++)
            s->tangent[2 * (at - at % BLOCK) + BLOCK * a + at % BLOCK] = (float)fit->tangent[a][i];
        rest = spl_madd(rest, patch->point[i], -(double)u->weight[at]);
        normal = spl_madd(normal, u->surface->normal[patch->index[i]], (double)u->weight[at]);
    }
    if (u->lift) {
        rest = spl_madd(rest, spl_unit(normal, normal), -lift);
        for (int32_t m = s->p->first[point]; m < s->p->first[point + 1]; m++) u->lift[s->p->vertex[m]] = (float)lift;
    }
    for (uint32_t i = first + (uint32_t)patch->count; i < s->first[point + 1]; i++) u->index[i] = u->index[first];
    spl_v3_to_float(in_frame(fit, rest), result->r);
    for (int a = 0; a < 2; a++) spl_v3_to_float(spl_mat3_column(&fit->frame, a), result->rest[a]);
    result->has_frame = fit->has_frame;
    result->framed = spl_norm(rest) > least_offset * u->surface->diagonal;
    result->gain = fit->gain;
    if (u->has_normals) fit_normals(s, point, patch, fit);
    for (int32_t m = s->p->first[point]; s->visual->morphs && m < s->p->first[point + 1]; m++)
        result->morphs = result->morphs || s->visual->morphs[s->p->vertex[m]];
}

static void fit_point(const setup *s, spl_geodesic *g, size_t point)
{
    const spl_upsample_points *p = s->p;
    spl_place base = p->place[point], *at = &base;
    spl_vec3 x = p->position[point];
    double lift = 0;
    if (s->u->lift && p->part[point] == SPL_UPSAMPLE_SKIN)
        base = spl_upsample_normal_base(s->u->surface, &p->place[point], x, &lift);
    spl_vec3 place = spl_surface_point(s->u->surface, at);
    spl_patch patch;
    spl_fit fit;
    report *result = &s->report[point];
    bool follow = p->part[point] == SPL_UPSAMPLE_FOLLOW;
    if (follow || !has_corners(s)) result->dropped = find_patch(s, g, point, &patch);
    if (follow) {
        result->kind = FIT_FOLLOW;
        spl_fit_positions(&patch, place, x, 1, true, &fit);
    } else
        result->kind = (uint8_t)fit_skin(s, at, place, x, &patch, &fit);
    store(s, point, &patch, &fit, lift);
}

/* ---- all points -------------------------------------------------------------------------------------------------- */

static void fit_piece(void *context, size_t begin, size_t end)
{
    const setup *s = context;
    spl_geodesic *g = spl_upsample_searches_claim(s->searches);
    for (size_t i = begin; i < end; i++)
        if (s->p->part[i] != SPL_UPSAMPLE_FIXED) fit_point(s, g, i);
    spl_upsample_searches_return(s->searches, g);
}

/* Entries by point, in whole blocks. */
static bool number_entries(setup *s)
{
    spl_upsample *u = s->u;
    for (int32_t i = 0; i < s->p->count; i++) {
        s->first[i] = (uint32_t)u->entry_count;
        bool corners = has_corners(s) && s->p->part[i] == SPL_UPSAMPLE_SKIN;
        u->entry_count += corners ? BLOCK : ((size_t)wanted(s, (size_t)i) + BLOCK - 1) / BLOCK * BLOCK;
        if (u->entry_count > UINT32_MAX / 2) return false;
    }
    s->first[s->p->count] = (uint32_t)u->entry_count;
    for (int32_t v = 0; v < u->vertex_count; v++) {
        int32_t i = s->p->of[v];
        u->vertex[v] = (spl_upsample_vertex){s->first[i], (uint32_t)u->normal_count, -1, s->first[i + 1] - s->first[i]};
        if (u->has_normals) u->normal_count += u->vertex[v].count;
        if (u->normal_count > UINT32_MAX / 2) return false;
    }
    return true;
}

static supple_result allocate(setup *s, supple_error *error)
{
    spl_upsample *u = s->u;
    const supple_allocator *a = &u->allocator;
    size_t points = (size_t)s->p->count, vertices = (size_t)u->vertex_count;
    s->first = spl_new(a, points + 1, sizeof *s->first);
    s->report = spl_new(a, points, sizeof *s->report);
    u->vertex = spl_new(a, vertices, sizeof *u->vertex);
    if (!s->first || !s->report || !u->vertex) return spl_fail_memory(error, "upsampling weights");
    if (!number_entries(s)) return spl_fail(error, SUPPLE_ERROR_INPUT, "the visual mesh has too many vertices");
    u->index = spl_new(a, u->entry_count, sizeof *u->index);
    u->weight = spl_new(a, u->entry_count, sizeof *u->weight);
    s->tangent = spl_new(a, u->entry_count, 2 * sizeof *s->tangent);
    u->normal_weight = spl_new(a, u->normal_count, sizeof *u->normal_weight);
    u->normal_offset = spl_new(a, u->has_normals ? vertices : 0, 3 * sizeof *u->normal_offset);
    if (s->options->kind == SPL_UPSAMPLE_ALONG_NORMAL && !(u->lift = spl_new(a, vertices, sizeof *u->lift)))
        return spl_fail_memory(error, "upsampling weights");
    if (!u->index || !u->weight || !s->tangent || !u->normal_weight || !u->normal_offset)
        return spl_fail_memory(error, "upsampling weights");
    return SUPPLE_OK;
}

static void release_setup(setup *s)
{
    const supple_allocator *a = &s->u->allocator;
    spl_free(a, s->first);
    spl_free(a, s->report);
    spl_free(a, s->tangent);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static bool keeps_frame(const report *r)
{
    return r->framed || r->morphs;
}

/* Keeps the tangents of points with a frame only. */
static supple_result pack_frames(setup *s, supple_error *error)
{
    spl_upsample *u = s->u;
    for (int32_t i = 0; i < s->p->count; i++) {
        if (!keeps_frame(&s->report[i])) continue;
        u->offset_count++;
        if (s->report[i].has_frame) u->tangent_count += 2 * (s->first[i + 1] - s->first[i]);
    }
    u->offset = spl_new(&u->allocator, u->offset_count, sizeof *u->offset);
    u->tangent = spl_new(&u->allocator, u->tangent_count, sizeof *u->tangent);
    if (!u->offset || !u->tangent) return spl_fail_memory(error, "upsampling frames");
    size_t at = 0;
    int32_t frame = 0;
    for (int32_t i = 0; i < s->p->count; i++) {
        const report *r = &s->report[i];
        if (!keeps_frame(r)) continue;
        u->offset[frame].tangent = r->has_frame ? (uint32_t)at : SPL_UPSAMPLE_NO_TANGENT;
        memcpy(u->offset[frame].r, r->r, sizeof r->r);
        memcpy(u->offset[frame].rest, r->rest, sizeof r->rest);
        for (size_t e = 2 * (size_t)s->first[i]; r->has_frame && e < 2 * (size_t)s->first[i + 1]; e++)
            u->tangent[at++] = s->tangent[e];
        for (int32_t m = s->p->first[i]; m < s->p->first[i + 1]; m++)
            u->vertex[s->p->vertex[m]].frame = r->framed ? frame : -2 - frame;
        frame++;
    }
    spl_upsample_note_offsets(u);
    return SUPPLE_OK;
}

static void count(const setup *s)
{
    spl_upsample_stats *stats = &s->u->stats;
    const spl_upsample_points *p = s->p;
    double least = least_offset * s->u->surface->diagonal;
    for (int32_t i = 0; i < p->count; i++) {
        const report *r = &s->report[i];
        stats->vertices += p->first[i + 1] > p->first[i];
        stats->follow += r->kind == FIT_FOLLOW;
        stats->quadratic += r->kind == FIT_QUADRATIC;
        stats->reduced += r->kind == FIT_REDUCED;
        stats->linear += r->kind == FIT_LINEAR;
        stats->corners += r->kind == FIT_CORNERS;
        stats->dropped += r->dropped;
        if (p->part[i] != SPL_UPSAMPLE_SKIN) continue;
        double offset = sqrt((double)(r->r[0] * r->r[0] + r->r[1] * r->r[1] + r->r[2] * r->r[2]));
        stats->skin++;
        stats->framed += offset > least;
        stats->redirected += p->redirect[i];
        stats->refused += p->refused[i];
        stats->largest_gain = fmax(stats->largest_gain, r->gain);
        stats->largest_offset = fmax(stats->largest_offset, p->distance[i]);
    }
}

supple_result spl_upsample_fit(spl_upsample *u, const spl_upsample_visual *visual, const spl_upsample_options *options,
                               const spl_upsample_points *p, const spl_upsample_searches *searches, spl_pool *pool,
                               supple_error *error)
{
    setup s = {.u = u, .visual = visual, .options = options, .p = p, .searches = searches};
    supple_result result = allocate(&s, error);
    if (result == SUPPLE_OK) {
        spl_parallel_for(pool, (size_t)p->count, GRAIN, fit_piece, &s);
        result = pack_frames(&s, error);
    }
    if (result == SUPPLE_OK) count(&s);
    release_setup(&s);
    return result;
}
