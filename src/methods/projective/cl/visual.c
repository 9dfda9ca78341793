#include "methods/projective/cl/visual.h"

#include "body/upsample_map.h"
#include "core/error.h"
#include "core/memory.h"
#include "methods/projective/cl/device.h"

#include <string.h>

enum {
    SOURCE,
    TRIANGLE,
    FAN_FIRST,
    FAN,
    VERTEX,
    INDEX,
    WEIGHT,
    NORMAL_WEIGHT,
    NORMAL_OFFSET,
    TANGENT,
    OFFSET,
    POSED,
    BODY,
    FACE,
    WHICH,
    PLACES,
    POSITION,
    NORMAL,
    BUFFERS
};
enum { POINTS, FACES, NORMALS, UPSAMPLE, PLACE, KERNELS };

static const char *const NAMES[KERNELS] = {"surface_points", "surface_faces", "surface_normals", "show_vertices",
                                           "place"};

#define COUNT(array) ((cl_uint)(sizeof(array) / sizeof *(array)))
#define A            SPL_CL_ARGUMENT

struct spl_cl_visual {
    supple_allocator allocator;
    const spl_upsample *map;
    spl_cl_work work;
    cl_mem buffer[BUFFERS];
    spl_cl_kernel kernel[KERNELS];
    int32_t *which; /* vertices that the host places */
    int32_t which_count;
    size_t posed_count; /* vertices of the body, up to the last that counts */
    float *places;      /* 3 each */
    bool normals;
    bool wide;         /* neighbours are numbers of 32 bits, not of 16 */
    cl_event event[2]; /* of copies under way; NULL: none */
};

static size_t groups_of(const spl_cl_kernel *k, size_t count)
{
    return (count + k->items - 1) / k->items;
}

/* ---- life ---- */

static supple_result list_places(spl_cl_visual *v, const bool *fixed, supple_error *error)
{
    size_t n = (size_t)v->map->vertex_count;
    v->which = spl_new(&v->allocator, n, sizeof *v->which);
    if (!v->which) return spl_fail_memory(error, "the device's mesh");
    for (size_t i = 0; i < n; i++)
        if (v->map->vertex[i].count == 0 || (fixed && fixed[i])) v->which[v->which_count++] = (int32_t)i;
    v->places = spl_new(&v->allocator, (size_t)v->which_count, 3 * sizeof(float));
    return v->places ? SUPPLE_OK : spl_fail_memory(error, "the device's mesh");
}

/* Offsets and vertices in the kernel's layout: memory of their own until they are written. */
static supple_result send_vertices(spl_cl_visual *v, supple_error *error)
{
    const spl_upsample *u = v->map;
    size_t n = (size_t)u->vertex_count;
    cl_int4 *vertex = spl_new(&v->allocator, n, sizeof *vertex);
    cl_float4 *offset = spl_new(&v->allocator, u->offset_count, 3 * sizeof *offset);
    for (size_t i = 0; vertex && i < n; i++) {
        const spl_upsample_vertex *from = &u->vertex[i];
        vertex[i] = (cl_int4){.s = {(cl_int)from->first, (cl_int)from->normal, from->frame, (cl_int)from->count}};
    }
    for (size_t i = 0; offset && i < u->offset_count; i++) {
        const spl_upsample_offset *from = &u->offset[i];
        memcpy(offset[3 * i].s, from->r, sizeof from->r);
        memcpy(&offset[3 * i].s[3], &from->tangent, sizeof from->tangent);
        for (size_t a = 0; a < 2; a++) memcpy(offset[3 * i + 1 + a].s, from->rest[a], sizeof from->rest[a]);
    }
    if (vertex && offset) {
        v->buffer[VERTEX] = spl_cl_buffer(&v->work, n, sizeof *vertex, vertex);
        v->buffer[OFFSET] = spl_cl_buffer(&v->work, 3 * u->offset_count, sizeof *offset, offset);
        spl_cl_finish(&v->work);
    }
    bool whole = vertex && offset;
    spl_free(&v->allocator, vertex);
    spl_free(&v->allocator, offset);
    return whole ? SUPPLE_OK : spl_fail_memory(error, "the device's mesh");
}

/* Neighbours by number, two in four bytes while the body's surface has no more than 65,536 vertices (section 5). */
static supple_result send_neighbours(spl_cl_visual *v, supple_error *error)
{
    const spl_upsample *u = v->map;
    size_t size = v->wide ? sizeof(uint32_t) : sizeof(uint16_t);
    void *number = spl_new(&v->allocator, u->entry_count, size);
    if (!number) return spl_fail_memory(error, "the device's mesh");
    for (size_t k = 0; k < u->entry_count; k++) {
        uint32_t at = u->index[k] / SPL_UPSAMPLE_STRIDE;
        if (v->wide)
            ((uint32_t *)number)[k] = at;
        else
            ((uint16_t *)number)[k] = (uint16_t)at;
    }
    v->buffer[INDEX] = spl_cl_buffer(&v->work, u->entry_count, size, number);
    spl_cl_finish(&v->work);
    spl_free(&v->allocator, number);
    return SUPPLE_OK;
}

static void make_buffers(spl_cl_visual *v)
{
    const spl_upsample *u = v->map;
    const spl_surface *s = u->surface;
    spl_cl_work *w = &v->work;
    size_t n = (size_t)u->vertex_count, points = (size_t)s->vertex_count, faces = (size_t)s->triangle_count;
    size_t normals = v->normals ? u->normal_count : 0;
    for (size_t i = 0; i < points; i++)
        if ((size_t)u->source[i] >= v->posed_count) v->posed_count = (size_t)u->source[i] + 1;
    v->buffer[SOURCE] = spl_cl_buffer(w, points, sizeof *u->source, u->source);
    v->buffer[TRIANGLE] = spl_cl_buffer(w, faces, 3 * sizeof *s->triangle, s->triangle);
    v->buffer[FAN_FIRST] = spl_cl_buffer(w, points + 1, sizeof *u->fan_first, u->fan_first);
    v->buffer[FAN] = spl_cl_buffer(w, (size_t)u->fan_first[points], sizeof *u->fan, u->fan);
    v->buffer[WEIGHT] = spl_cl_buffer(w, u->entry_count, sizeof *u->weight, u->weight);
    v->buffer[NORMAL_WEIGHT] = spl_cl_buffer(w, normals, sizeof *u->normal_weight, u->normal_weight);
    v->buffer[NORMAL_OFFSET] = spl_cl_buffer(w, v->normals ? 3 * n : 0, sizeof(float), u->normal_offset);
    v->buffer[TANGENT] = spl_cl_buffer(w, u->tangent_count, sizeof *u->tangent, u->tangent);
    v->buffer[POSED] = spl_cl_buffer(w, v->posed_count, 3 * sizeof(float), NULL);
    v->buffer[BODY] = spl_cl_buffer(w, points, 2 * sizeof(cl_float4), NULL);
    v->buffer[FACE] = spl_cl_buffer(w, faces + 1, sizeof(cl_float4), NULL);
    v->buffer[WHICH] = spl_cl_buffer(w, (size_t)v->which_count, sizeof *v->which, v->which);
    v->buffer[PLACES] = spl_cl_buffer(w, (size_t)v->which_count, 3 * sizeof(float), NULL);
    v->buffer[POSITION] = spl_cl_buffer(w, n, 3 * sizeof(float), NULL);
    v->buffer[NORMAL] = spl_cl_buffer(w, n, 3 * sizeof(float), NULL);
}

supple_result spl_cl_visual_create(struct supple_device *device, const spl_upsample *u, const bool *fixed,
                                   const supple_allocator *a, spl_cl_visual **out, supple_error *error)
{
    *out = NULL;
    if (u->lift)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "device %.80s: upsample=normal is the processor's alone",
                        device->name);
    spl_cl_visual *v = spl_new(a, 1, sizeof *v);
    if (!v) return spl_fail_memory(error, "the device's mesh");
    *v = (spl_cl_visual){.allocator = *a, .map = u, .work = {.device = device}, .normals = u->has_normals};
    v->wide = u->surface->vertex_count > device->narrow;
    supple_result result = list_places(v, fixed, error);
    if (result == SUPPLE_OK) result = send_vertices(v, error);
    if (result == SUPPLE_OK) result = send_neighbours(v, error);
    if (result == SUPPLE_OK) {
        make_buffers(v);
        for (int i = 0; i < KERNELS; i++) spl_cl_kernel_make(&v->work, NAMES[i], &v->kernel[i]);
        spl_cl_finish(&v->work); /* the map may go before the next call */
        result = spl_cl_outcome(&v->work, error);
    }
    if (result == SUPPLE_OK)
        *out = v;
    else
        spl_cl_visual_destroy(v);
    return result;
}

static void drop_events(spl_cl_visual *v)
{
    for (int i = 0; i < 2; i++) {
        if (v->event[i]) v->work.device->api.ReleaseEvent(v->event[i]);
        v->event[i] = NULL;
    }
}

void spl_cl_visual_destroy(spl_cl_visual *v)
{
    if (!v) return;
    supple_allocator a = v->allocator;
    spl_cl_finish(&v->work);
    drop_events(v);
    for (int i = 0; i < KERNELS; i++) spl_cl_kernel_drop(v->work.device, &v->kernel[i]);
    for (int i = 0; i < BUFFERS; i++) spl_cl_drop(v->work.device, v->buffer[i]);
    spl_free(&a, v->which);
    spl_free(&a, v->places);
    spl_free(&a, v);
}

/* ---- a frame ---- */

static void run_surface(spl_cl_visual *v, cl_float4 origin)
{
    const spl_surface *s = v->map->surface;
    cl_mem *b = v->buffer;
    spl_cl_kernel *k = v->kernel;
    cl_int points = s->vertex_count, faces = s->triangle_count;
    const spl_cl_argument load[] = {A(points), A(b[SOURCE]), A(b[POSED]), A(origin), A(b[BODY])};
    spl_cl_arguments(&v->work, &k[POINTS], load, COUNT(load));
    spl_cl_launch(&v->work, &k[POINTS], groups_of(&k[POINTS], (size_t)points));
    if (!v->normals) return;
    const spl_cl_argument face[] = {A(faces), A(b[TRIANGLE]), A(b[BODY]), A(b[FACE])};
    spl_cl_arguments(&v->work, &k[FACES], face, COUNT(face));
    spl_cl_launch(&v->work, &k[FACES], groups_of(&k[FACES], (size_t)faces + 1));
    const spl_cl_argument normal[] = {A(points), A(b[FAN_FIRST]), A(b[FAN]), A(b[FACE]), A(b[BODY])};
    spl_cl_arguments(&v->work, &k[NORMALS], normal, COUNT(normal));
    spl_cl_launch(&v->work, &k[NORMALS], groups_of(&k[NORMALS], (size_t)points));
}

static void run_vertices(spl_cl_visual *v, const spl_cl_visual_frame *frame, cl_float4 origin)
{
    cl_mem *b = v->buffer;
    cl_int count = v->map->vertex_count, normals = v->normals, wide = v->wide;
    cl_float4 s[3];
    cl_float scale = frame->scale;
    for (int i = 0; i < 3; i++) {
        memcpy(s[i].s, frame->frame->stretch[i], 3 * sizeof(float));
        s[i].s[3] = frame->frame->stretched;
    }
    const spl_cl_argument list[] = {A(count),
                                    A(normals),
                                    A(wide),
                                    A(b[VERTEX]),
                                    A(b[INDEX]),
                                    A(b[WEIGHT]),
                                    A(b[NORMAL_WEIGHT]),
                                    A(b[NORMAL_OFFSET]),
                                    A(b[TANGENT]),
                                    A(b[OFFSET]),
                                    A(b[BODY]),
                                    A(origin),
                                    A(s[0]),
                                    A(s[1]),
                                    A(s[2]),
                                    A(scale),
                                    A(b[POSITION]),
                                    A(b[NORMAL])};
    spl_cl_arguments(&v->work, &v->kernel[UPSAMPLE], list, COUNT(list));
    spl_cl_launch(&v->work, &v->kernel[UPSAMPLE], groups_of(&v->kernel[UPSAMPLE], (size_t)count));
}

/* What the host has placed, of positions or of normals. */
static void run_places(spl_cl_visual *v, const float *from, int to)
{
    cl_int count = v->which_count;
    if (count == 0 || !from) return;
    spl_cl_finish(&v->work); /* `places` may be in use */
    for (size_t i = 0; i < (size_t)count; i++)
        memcpy(v->places + 3 * i, from + 3 * (size_t)v->which[i], 3 * sizeof *from);
    spl_cl_write(&v->work, v->buffer[PLACES], v->places, (size_t)count * 3 * sizeof(float));
    const spl_cl_argument list[] = {A(count), A(v->buffer[WHICH]), A(v->buffer[PLACES]), A(v->buffer[to])};
    spl_cl_arguments(&v->work, &v->kernel[PLACE], list, COUNT(list));
    spl_cl_launch(&v->work, &v->kernel[PLACE], groups_of(&v->kernel[PLACE], (size_t)count));
}

supple_result spl_cl_visual_run(spl_cl_visual *v, const spl_cl_visual_frame *frame, supple_error *error)
{
    const float *o = frame->frame->origin;
    cl_float4 origin = {.s = {o[0], o[1], o[2], 0}};
    spl_cl_write(&v->work, v->buffer[POSED], frame->posed, v->posed_count * 3 * sizeof(float));
    run_surface(v, origin);
    run_vertices(v, frame, origin);
    run_places(v, frame->position, POSITION);
    if (v->normals) run_places(v, frame->normal, NORMAL);
    spl_cl_finish(&v->work);
    return spl_cl_outcome(&v->work, error);
}

supple_result spl_cl_visual_take(spl_cl_visual *v, const float *position, const float *normal, supple_error *error)
{
    size_t bytes = (size_t)v->map->vertex_count * 3 * sizeof(float);
    if (position) spl_cl_write(&v->work, v->buffer[POSITION], position, bytes);
    if (normal) spl_cl_write(&v->work, v->buffer[NORMAL], normal, bytes);
    spl_cl_finish(&v->work);
    return spl_cl_outcome(&v->work, error);
}

void *spl_cl_visual_positions(const spl_cl_visual *v)
{
    return v->buffer[POSITION];
}

void *spl_cl_visual_normals(const spl_cl_visual *v)
{
    return v->buffer[NORMAL];
}

bool spl_cl_visual_has_normals(const spl_cl_visual *v)
{
    return v->normals;
}

uint64_t spl_cl_visual_bytes(const spl_cl_visual *v)
{
    return v->work.bytes;
}

supple_result spl_cl_visual_copy(spl_cl_visual *v, float *position, float *normal, supple_error *error)
{
    size_t bytes = (size_t)v->map->vertex_count * 3 * sizeof(float);
    float *to[2] = {position, normal};
    drop_events(v);
    for (int i = 0; i < 2; i++)
        if (to[i]) spl_cl_read_event(&v->work, v->buffer[i ? NORMAL : POSITION], to[i], bytes, &v->event[i]);
    spl_cl_flush(&v->work);
    return spl_cl_outcome(&v->work, error);
}

supple_result spl_cl_visual_wait(spl_cl_visual *v, supple_error *error)
{
    for (int i = 0; i < 2; i++)
        if (v->event[i]) spl_cl_wait(&v->work, v->event[i]);
    drop_events(v);
    return spl_cl_outcome(&v->work, error);
}
