#include "body/upsample_store.h"

#include "body/upsample_map.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { MOST = INT32_MAX / 2, COUNTS = 11, STATS = COUNTS + 2, OFFSET = 9 };

/* ---- in the order of the file ------------------------------------------------------------------------------------ */

/* What the map keeps in structs, as plain arrays. */
typedef struct unpacked {
    int32_t *offset_tangent, *fixed;
    float *offset, *fixed_normal;
} unpacked;

static bool allocate_unpacked(unpacked *p, size_t offsets, size_t fixed, const supple_allocator *a)
{
    p->offset_tangent = spl_new(a, offsets, sizeof *p->offset_tangent);
    p->offset = spl_new(a, offsets, OFFSET * sizeof *p->offset);
    p->fixed = spl_new(a, fixed, sizeof *p->fixed);
    p->fixed_normal = spl_new(a, fixed, 3 * sizeof *p->fixed_normal);
    return p->offset_tangent && p->offset && p->fixed && p->fixed_normal;
}

static void release_unpacked(unpacked *p, const supple_allocator *a)
{
    void *block[] = {p->offset_tangent, p->offset, p->fixed, p->fixed_normal};
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
    for (size_t i = 0; i < (size_t)u->fixed_count;
         i++) { /* their positions may be no numbers: the visual mesh has them */
        p->fixed[i] = u->fixed[i].vertex;
        memcpy(p->fixed_normal + 3 * i, u->fixed[i].normal, sizeof u->fixed[i].normal);
    }
}

static void move_stats(double *n, spl_upsample_stats *s, bool pack)
{
    int32_t *counts[] = {&s->vertices, &s->skin,   &s->follow,     &s->quadratic, &s->reduced, &s->linear,
                         &s->corners,  &s->framed, &s->redirected, &s->refused,   &s->dropped};
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
    size_t fixed = (size_t)u->fixed_count;
    double numbers[STATS];
    spl_upsample_stats stats = u->stats;
    unpacked p = {0};
    if (!allocate_unpacked(&p, u->offset_count, fixed, a)) {
        release_unpacked(&p, a);
        return spl_fail_memory(error, "stored upsampling weights");
    }
    unpack(u, &p);
    move_stats(numbers, &stats, true);
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
        {"map/fixed", SPL_STORE_I32, 1, fixed, p.fixed},
        {"map/fixed_normal", SPL_STORE_F32, 3, fixed, p.fixed_normal}};
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

static void take_fixed(source *s, spl_upsample *u, const spl_upsample_visual *visual)
{
    size_t n = 0, most = (size_t)u->vertex_count;
    int64_t last = (int64_t)u->vertex_count - 1;
    const int32_t *id = look(s, (spl_store_want){"map/fixed", SPL_STORE_I32, 1, 0, most, 0, last, false}, &n);
    const float *normal = look(s, (spl_store_want){"map/fixed_normal", SPL_STORE_F32, 3, n, n, 0, 0, true}, NULL);
    if (s->result) return;
    u->fixed = spl_new(s->allocator, n, sizeof *u->fixed);
    if (!u->fixed) {
        s->result = spl_fail_memory(s->error, "stored vertices that stay");
        return;
    }
    u->fixed_count = (int32_t)n;
    for (size_t i = 0; i < n; i++) {
        u->fixed[i].vertex = id[i];
        memcpy(u->fixed[i].position, visual->position + 3 * (size_t)id[i], sizeof u->fixed[i].position);
        memcpy(u->fixed[i].normal, normal + 3 * i, sizeof u->fixed[i].normal);
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

/* Vertices without entries are those that stay, in order: no vertex is left out. */
static void check_vertices(source *s, const spl_upsample *u)
{
    int32_t fixed = 0;
    for (int32_t v = 0; v < u->vertex_count && !s->result; v++) {
        if (!good_vertex(u, &u->vertex[v])) refuse(s, "a vertex is out of range");
        if (u->vertex[v].count > 0) continue;
        if (fixed == u->fixed_count || u->fixed[fixed++].vertex != v) refuse(s, "a vertex has no weights");
    }
    if (fixed != u->fixed_count) refuse(s, "a vertex is moved twice");
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
    take_fixed(&s, u, visual);
    if (!s.result) check_vertices(&s, u);
    if (!s.result) spl_upsample_note_offsets(u);
    if (!s.result) s.result = spl_upsample_read_surface(u, error);
    if (s.result)
        spl_upsample_destroy(u);
    else
        *out = u;
    return s.result;
}
