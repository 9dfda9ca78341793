#include "body/upsample_store.h"

#include "body/upsample_map.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { MOST = INT32_MAX / 2, COUNTS = 13, STATS = COUNTS + 2, OFFSET = 9, RIDER = 6 };

/* ---- in the order of the file ------------------------------------------------------------------------------------ */

/* What the map keeps in structs, as plain arrays. */
typedef struct unpacked {
    int32_t *offset_tangent, *piece_count, *rider;
    float *offset, *rider_vector;
    double *piece_centre;
} unpacked;

static bool allocate_unpacked(unpacked *p, size_t offsets, size_t pieces, size_t riders, const supple_allocator *a)
{
    p->offset_tangent = spl_new(a, offsets, sizeof *p->offset_tangent);
    p->offset = spl_new(a, offsets, OFFSET * sizeof *p->offset);
    p->piece_count = spl_new(a, pieces, sizeof *p->piece_count);
    p->piece_centre = spl_new(a, pieces, 3 * sizeof *p->piece_centre);
    p->rider = spl_new(a, riders, 2 * sizeof *p->rider);
    p->rider_vector = spl_new(a, riders, RIDER * sizeof *p->rider_vector);
    return p->offset_tangent && p->offset && p->piece_count && p->piece_centre && p->rider && p->rider_vector;
}

static void release_unpacked(unpacked *p, const supple_allocator *a)
{
    void *block[] = {p->offset_tangent, p->offset, p->piece_count, p->piece_centre, p->rider, p->rider_vector};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
}

static void unpack(const spl_upsample *u, unpacked *p)
{
    for (size_t i = 0; i < u->offset_count; i++) {
        const spl_upsample_offset *o = &u->offset[i];
        p->offset_tangent[i] = o->tangent == SPL_UPSAMPLE_NO_TANGENT ? -1 : (int32_t)o->tangent;
        memcpy(p->offset + OFFSET * i, o->r, sizeof o->r);
        memcpy(p->offset + OFFSET * i + 3, o->rest, sizeof o->rest);
    }
    for (size_t i = 0; i < (size_t)u->piece_count; i++) {
        p->piece_count[i] = u->piece[i].count;
        memcpy(p->piece_centre + 3 * i, &u->piece[i].centre, 3 * sizeof(double));
    }
    for (size_t i = 0; i < (size_t)u->rider_count; i++) {
        const spl_upsample_rider *r = &u->rider[i];
        p->rider[2 * i] = r->vertex;
        p->rider[2 * i + 1] = r->piece;
        /* A vertex that stays may do so because its position is no number: the visual mesh has it. */
        if (r->piece >= 0) memcpy(p->rider_vector + RIDER * i, r->position, sizeof r->position);
        memcpy(p->rider_vector + RIDER * i + 3, r->normal, sizeof r->normal);
    }
}

static void move_stats(double *n, spl_upsample_stats *s, bool pack)
{
    int32_t *counts[] = {&s->vertices,   &s->skin,    &s->follow, &s->rigid,   &s->rigid_pieces,
                         &s->quadratic,  &s->reduced, &s->linear, &s->corners, &s->framed,
                         &s->redirected, &s->refused, &s->dropped};
    double *reals[] = {&s->largest_gain, &s->largest_offset};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++, n++) {
        if (pack)
            *n = *counts[i];
        else
            *counts[i] = (int32_t)*n;
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++, n++) {
        if (pack)
            *n = *reals[i];
        else
            *reals[i] = *n;
    }
}

supple_result spl_upsample_put(spl_store_writer *writer, const spl_upsample *u, supple_error *error)
{
    const supple_allocator *a = &u->allocator;
    size_t pieces = (size_t)u->piece_count, riders = (size_t)u->rider_count, corners = 0;
    double numbers[STATS];
    spl_upsample_stats stats = u->stats;
    unpacked p = {0};
    if (!allocate_unpacked(&p, u->offset_count, pieces, riders, a)) {
        release_unpacked(&p, a);
        return spl_fail_memory(error, "stored upsampling weights");
    }
    unpack(u, &p);
    move_stats(numbers, &stats, true);
    for (size_t i = 0; i < pieces; i++) corners += (size_t)u->piece[i].count;
    const struct {
        const char *name;
        spl_store_type type;
        uint32_t width;
        size_t count;
        const void *data;
    } section[] = {
        {"map/stats", SPL_STORE_F64, 1, STATS, numbers},
        {"map/vertex", SPL_STORE_I32, 4, (size_t)u->vertex_count, u->vertex},
        {"map/index", SPL_STORE_I32, 1, u->entry_count, u->index},
        {"map/weight", SPL_STORE_F32, 1, u->entry_count, u->weight},
        {"map/normal_weight", SPL_STORE_F32, 1, u->normal_count, u->normal_weight},
        {"map/normal_offset", SPL_STORE_F32, 3, u->has_normals ? (size_t)u->vertex_count : 0, u->normal_offset},
        {"map/lift", SPL_STORE_F32, 1, u->lift ? (size_t)u->vertex_count : 0, u->lift},
        {"map/tangent", SPL_STORE_F32, 1, u->tangent_count, u->tangent},
        {"map/offset_tangent", SPL_STORE_I32, 1, u->offset_count, p.offset_tangent},
        {"map/offset", SPL_STORE_F32, OFFSET, u->offset_count, p.offset},
        {"map/piece", SPL_STORE_I32, 1, pieces, p.piece_count},
        {"map/piece_centre", SPL_STORE_F64, 3, pieces, p.piece_centre},
        {"map/piece_index", SPL_STORE_I32, 1, corners, u->piece_index},
        {"map/piece_weight", SPL_STORE_F64, 1, corners, u->piece_weight},
        {"map/rider", SPL_STORE_I32, 2, riders, p.rider},
        {"map/rider_vector", SPL_STORE_F32, RIDER, riders, p.rider_vector}};
    supple_result result = SUPPLE_OK;
    for (size_t i = 0; !result && i < sizeof section / sizeof *section; i++)
        result = spl_store_add(writer, section[i].name, section[i].type, section[i].width, section[i].count,
                               section[i].data, error);
    release_unpacked(&p, a);
    return result;
}

/* ---- back again -------------------------------------------------------------------------------------------------- */

/* Reading goes on after a failure: then nothing is read. */
typedef struct source {
    const spl_store_reader *reader;
    const supple_allocator *allocator;
    supple_result result;
    supple_error *error;
} source;

/* A section as it stands in the file; NULL after a failure. */
static const void *look(source *s, spl_store_want want, size_t *count)
{
    const void *data = NULL;
    if (!s->result) s->result = spl_store_get(s->reader, &want, &data, count, s->error);
    return s->result ? NULL : data;
}

/* The same as a copy. */
static void *copy(source *s, spl_store_want want, size_t *count)
{
    size_t n = 0, size = spl_store_type_size(want.type) * want.width;
    const void *data = look(s, want, &n);
    if (!data) return NULL;
    void *to = spl_new(s->allocator, n, size);
    if (to)
        memcpy(to, data, n * size);
    else
        s->result = spl_fail_memory(s->error, "stored upsampling weights");
    if (count) *count = n;
    return to;
}

static void refuse(source *s, const char *what)
{
    if (!s->result) s->result = spl_fail(s->error, SUPPLE_ERROR_INPUT, "stored upsampling weights: %s", what);
}

static void take_stats(source *s, spl_upsample *u)
{
    const double *n = look(s, (spl_store_want){"map/stats", SPL_STORE_F64, 1, STATS, STATS, 0, 0, true}, NULL);
    double copied[STATS];
    for (int i = 0; n && i < STATS; i++)
        if (!(n[i] >= 0 && (n[i] <= INT32_MAX || i >= COUNTS))) refuse(s, "a count is out of range");
    if (s->result) return;
    memcpy(copied, n, sizeof copied);
    move_stats(copied, &u->stats, false);
}

static void take_entries(source *s, spl_upsample *u)
{
    size_t vertices = (size_t)u->vertex_count, normals = u->has_normals ? vertices : 0;
    int64_t last = SPL_UPSAMPLE_STRIDE * ((int64_t)u->surface->vertex_count - 1);
    u->vertex = copy(s, (spl_store_want){"map/vertex", SPL_STORE_I32, 4, vertices, vertices, 0, 0, true}, NULL);
    u->index = copy(s, (spl_store_want){"map/index", SPL_STORE_I32, 1, 0, MOST, 0, last, false}, &u->entry_count);
    for (size_t i = 0; !s->result && i < u->entry_count; i++)
        if (u->index[i] % SPL_UPSAMPLE_STRIDE) refuse(s, "a neighbour is between two vertices");
    size_t n = u->entry_count, most = u->has_normals ? MOST : 0;
    u->weight = copy(s, (spl_store_want){"map/weight", SPL_STORE_F32, 1, n, n, 0, 0, true}, NULL);
    u->normal_weight =
        copy(s, (spl_store_want){"map/normal_weight", SPL_STORE_F32, 1, 0, most, 0, 0, true}, &u->normal_count);
    u->normal_offset =
        copy(s, (spl_store_want){"map/normal_offset", SPL_STORE_F32, 3, normals, normals, 0, 0, true}, NULL);
    u->tangent = copy(s, (spl_store_want){"map/tangent", SPL_STORE_F32, 1, 0, MOST, 0, 0, true}, &u->tangent_count);
}

static void take_offsets(source *s, spl_upsample *u)
{
    size_t n = 0;
    const int32_t *tangent =
        look(s, (spl_store_want){"map/offset_tangent", SPL_STORE_I32, 1, 0, MOST, -1, MOST, false}, &n);
    const float *vector = look(s, (spl_store_want){"map/offset", SPL_STORE_F32, OFFSET, n, n, 0, 0, true}, NULL);
    if (s->result) return;
    u->offset = spl_new(s->allocator, n, sizeof *u->offset);
    if (!u->offset) {
        s->result = spl_fail_memory(s->error, "stored upsampling frames");
        return;
    }
    u->offset_count = n;
    for (size_t i = 0; i < n; i++) {
        u->offset[i].tangent = tangent[i] < 0 ? SPL_UPSAMPLE_NO_TANGENT : (uint32_t)tangent[i];
        memcpy(u->offset[i].r, vector + OFFSET * i, sizeof u->offset[i].r);
        memcpy(u->offset[i].rest, vector + OFFSET * i + 3, sizeof u->offset[i].rest);
    }
}

static void take_pieces(source *s, spl_upsample *u)
{
    size_t n = 0, corners = 0, first = 0;
    int64_t last = (int64_t)u->surface->vertex_count - 1;
    const int32_t *count = look(s, (spl_store_want){"map/piece", SPL_STORE_I32, 1, 0, MOST, 1, MOST, false}, &n);
    const double *centre = look(s, (spl_store_want){"map/piece_centre", SPL_STORE_F64, 3, n, n, 0, 0, true}, NULL);
    u->piece_index = copy(s, (spl_store_want){"map/piece_index", SPL_STORE_I32, 1, 0, MOST, 0, last, false}, &corners);
    u->piece_weight =
        copy(s, (spl_store_want){"map/piece_weight", SPL_STORE_F64, 1, corners, corners, 0, 0, true}, NULL);
    if (s->result) return;
    u->piece = spl_new(s->allocator, n, sizeof *u->piece);
    if (!u->piece) {
        s->result = spl_fail_memory(s->error, "stored rigid pieces");
        return;
    }
    u->piece_count = (int32_t)n;
    for (size_t i = 0; i < n; first += (size_t)count[i++]) {
        if ((size_t)count[i] > corners - first) {
            refuse(s, "a rigid piece is out of range");
            return;
        }
        double sum = 0;
        for (size_t k = first; k < first + (size_t)count[i]; k++) sum += u->piece_weight[k];
        if (!(fabs(sum - 1) < 1e-3)) refuse(s, "a rigid piece has no centre");
        u->piece[i] = (spl_upsample_piece){.first = (int32_t)first, .count = count[i]};
        memcpy(&u->piece[i].centre, centre + 3 * i, 3 * sizeof *centre);
    }
    if (first != corners) refuse(s, "body vertices belong to no rigid piece");
}

static void take_riders(source *s, spl_upsample *u, const spl_upsample_visual *visual)
{
    size_t n = 0, most = (size_t)u->vertex_count;
    const int32_t *id = look(s, (spl_store_want){"map/rider", SPL_STORE_I32, 2, 0, most, 0, 0, true}, &n);
    const float *vector = look(s, (spl_store_want){"map/rider_vector", SPL_STORE_F32, RIDER, n, n, 0, 0, true}, NULL);
    if (s->result) return;
    u->rider = spl_new(s->allocator, n, sizeof *u->rider);
    if (!u->rider) {
        s->result = spl_fail_memory(s->error, "stored rigid pieces");
        return;
    }
    u->rider_count = (int32_t)n;
    for (size_t i = 0; i < n; i++) {
        spl_upsample_rider *r = &u->rider[i];
        *r = (spl_upsample_rider){.vertex = id[2 * i], .piece = id[2 * i + 1]};
        bool ascending = r->vertex > (i > 0 ? u->rider[i - 1].vertex : -1);
        if (!ascending || r->vertex >= u->vertex_count || r->piece < -1 || r->piece >= u->piece_count) {
            refuse(s, "a vertex of a rigid piece is out of range");
            return;
        }
        const float *rest = r->piece >= 0 ? vector + RIDER * i : visual->position + 3 * (size_t)r->vertex;
        memcpy(r->position, rest, sizeof r->position);
        memcpy(r->normal, vector + RIDER * i + 3, sizeof r->normal);
    }
}

/* ---- whether it makes sense -------------------------------------------------------------------------------------- */

/* Whether `count` elements from `first` on are among `total`. The numbers of the file may be negative: as unsigned ones
 * they are larger than any total. */
static bool within(uint32_t first, uint64_t count, size_t total)
{
    return first + count <= total;
}

static bool good_vertex(const spl_upsample *u, const spl_upsample_vertex *v)
{
    if (v->count > SPL_UPSAMPLE_MOST_NEIGHBOURS || v->count % SPL_UPSAMPLE_BLOCK ||
        !within(v->first, v->count, u->entry_count))
        return false;
    if (u->has_normals && !within(v->normal, v->count, u->normal_count)) return false;
    uint32_t frame = (uint32_t)(v->frame >= -1 ? v->frame : -2 - v->frame);
    if (v->frame != -1 && frame >= u->offset_count) return false;
    if (v->frame != -1 && u->offset[frame].tangent != SPL_UPSAMPLE_NO_TANGENT &&
        !within(u->offset[frame].tangent, 2 * (uint64_t)v->count, u->tangent_count))
        return false;
    double sum = 0;
    for (uint32_t k = 0; k < v->count; k++) sum += (double)u->weight[v->first + k];
    return v->count == 0 || fabs(sum - 1) < 1e-3;
}

/* Vertices without entries are the riders, in order: no vertex is left out. */
static void check_vertices(source *s, const spl_upsample *u)
{
    int32_t rider = 0;
    for (int32_t v = 0; v < u->vertex_count && !s->result; v++) {
        if (!good_vertex(u, &u->vertex[v])) refuse(s, "a vertex is out of range");
        if (u->vertex[v].count > 0) continue;
        if (rider == u->rider_count || u->rider[rider++].vertex != v) refuse(s, "a vertex has no weights");
    }
    if (rider != u->rider_count) refuse(s, "a vertex is moved twice");
}

supple_result spl_upsample_take(const spl_store_reader *reader, const spl_surface *surface,
                                const spl_upsample_visual *visual, const spl_upsample_options *options,
                                const supple_allocator *a, spl_upsample **out, supple_error *error)
{
    *out = NULL;
    source s = {reader, a, SUPPLE_OK, error};
    spl_upsample *u = spl_new(a, 1, sizeof *u);
    if (!u) return spl_fail_memory(error, "stored upsampling weights");
    *u = (spl_upsample){.surface = surface, .vertex_count = visual->vertex_count, .allocator = *a};
    u->has_normals = options->normals && visual->normal;
    if (surface->vertex_count == 0) refuse(&s, "the body has no surface");
    take_stats(&s, u);
    take_entries(&s, u);
    size_t lifted = options->kind == SPL_UPSAMPLE_ALONG_NORMAL ? (size_t)u->vertex_count : 0;
    spl_store_want lift = {"map/lift", SPL_STORE_F32, 1, lifted, lifted, 0, 0, true};
    if (lifted) u->lift = copy(&s, lift, NULL);
    take_offsets(&s, u);
    take_pieces(&s, u);
    take_riders(&s, u, visual);
    if (!s.result) check_vertices(&s, u);
    if (!s.result) spl_upsample_note_offsets(u);
    if (!s.result) s.result = spl_upsample_read_surface(u, error);
    if (s.result)
        spl_upsample_destroy(u);
    else
        *out = u;
    return s.result;
}
