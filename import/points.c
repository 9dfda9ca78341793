#include "points.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void spl_points_release(spl_points *p)
{
    if (!p->allocator.release) return; /* never begun */
    const supple_allocator *a = &p->allocator;
    for (int32_t i = 0; i < p->surface_count; i++) {
        spl_free(a, p->surface[i].name);
        spl_free(a, p->surface[i].point);
        spl_free(a, p->surface[i].first);
        spl_free(a, p->surface[i].corner);
    }
    for (int32_t i = 0; i < p->node_count; i++) {
        spl_free(a, p->node[i].id);
        spl_free(a, p->node[i].name);
    }
    spl_free(a, p->surface);
    spl_free(a, p->node);
    *p = (spl_points){0};
}

/* Makes room for one more element at each power of two. */
static bool grow(void *array, int32_t count, size_t size, const supple_allocator *a)
{
    if (count & (count - 1)) return true;
    void **at = array;
    void *grown = spl_resize(a, *at, count ? 2 * (size_t)count : 1, size);
    if (grown) *at = grown;
    return grown != NULL;
}

spl_surface *spl_points_add_surface(spl_points *p, const char *name, size_t length, supple_error *error)
{
    char *copy = spl_strndup(&p->allocator, name, length);
    if (!copy || !grow(&p->surface, p->surface_count, sizeof *p->surface, &p->allocator)) {
        spl_free(&p->allocator, copy);
        spl_fail_memory(error, "a surface");
        return NULL;
    }
    spl_surface *s = &p->surface[p->surface_count++];
    *s = (spl_surface){.name = copy};
    return s;
}

bool spl_points_add_node(spl_points *p, const char *id, size_t id_length, const char *name, size_t name_length,
                         bool joint, supple_error *error)
{
    char *ids = spl_strndup(&p->allocator, id, id_length), *names = spl_strndup(&p->allocator, name, name_length);
    if (!ids || !names || !grow(&p->node, p->node_count, sizeof *p->node, &p->allocator)) {
        spl_free(&p->allocator, ids);
        spl_free(&p->allocator, names);
        spl_fail_memory(error, "a node's name");
        return false;
    }
    p->node[p->node_count++] = (spl_named){ids, names, joint};
    return true;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

bool spl_numbers_add(spl_numbers *n, double value, const supple_allocator *a)
{
    if (n->count == n->room) {
        size_t room = n->room ? 2 * n->room : 256;
        double *grown = spl_resize(a, n->value, room, sizeof *grown);
        if (!grown) return false;
        n->value = grown;
        n->room = room;
    }
    n->value[n->count++] = value;
    return true;
}

bool spl_number_read(const char **text, const char *end, double *out)
{
    char copy[64]; /* strtod needs an end */
    size_t n = 0;
    while (*text + n < end && n < sizeof copy - 1 && (*text)[n] && strchr("+-.0123456789eE", (*text)[n])) {
        copy[n] = (*text)[n];
        n++;
    }
    copy[n] = 0;
    char *stop;
    *out = strtod(copy, &stop);
    if (stop == copy || *stop) return false;
    *text += n;
    return true;
}

/* ---- surfaces --------------------------------------------------------------------------------------------------- */

supple_result spl_surface_set_points(spl_surface *s, const double *value, size_t count, const supple_allocator *a,
                                     supple_error *error)
{
    if (count % 3 || count / 3 > INT32_MAX / 3)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "geometry '%.60s': %zu coordinates do not make points", s->name,
                        count);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i]))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "geometry '%.60s': the position of point %zu is not finite",
                            s->name, i / 3);
    s->point = spl_new(a, count, sizeof *s->point);
    if (!s->point) return spl_fail_memory(error, "control points");
    if (count) memcpy(s->point, value, count * sizeof *value);
    s->point_count = (int32_t)(count / 3);
    return SUPPLE_OK;
}

supple_result spl_surface_set_polygons(spl_surface *s, const spl_numbers *corner, const spl_numbers *size,
                                       const supple_allocator *a, supple_error *error)
{
    if (corner->count > INT32_MAX - 1 || size->count > INT32_MAX - 1)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "geometry '%.60s': too many polygons", s->name);
    s->first = spl_new(a, size->count + 1, sizeof *s->first);
    s->corner = spl_new(a, corner->count, sizeof *s->corner);
    if (!s->first || !s->corner) return spl_fail_memory(error, "polygons");
    double at = 0;
    for (size_t i = 0; i < size->count; i++) {
        double n = size->value[i];
        if (!(n >= 0 && n == floor(n) && at + n <= (double)corner->count))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "geometry '%.60s': polygon %zu has no corners", s->name, i);
        s->first[i] = (int32_t)at;
        at += n;
    }
    s->first[size->count] = (int32_t)at;
    for (size_t i = 0; i < corner->count; i++) {
        double c = corner->value[i];
        if (!(c >= 0 && c < s->point_count && c == floor(c)))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "geometry '%.60s': corner %zu is point %.0f, but there are %d",
                            s->name, i, c, (int)s->point_count);
        s->corner[i] = (int32_t)c;
    }
    s->polygon_count = (int32_t)size->count;
    return SUPPLE_OK;
}

/* ---- FBX, both forms -------------------------------------------------------------------------------------------- */

/* Splits FBX's one list of indices, in which the last of a polygon is stored as ~index. */
static bool split_polygons(const spl_numbers *indices, spl_numbers *corner, spl_numbers *size,
                           const supple_allocator *a)
{
    size_t begin = 0;
    for (size_t i = 0; i < indices->count; i++) {
        double v = indices->value[i];
        bool last = v < 0;
        if (!spl_numbers_add(corner, last ? -v - 1 : v, a)) return false;
        if (!last) continue;
        if (!spl_numbers_add(size, (double)(i + 1 - begin), a)) return false;
        begin = i + 1;
    }
    return true;
}

supple_result spl_fbx_add_geometry(spl_points *out, const char *name, size_t length, const spl_numbers *vertices,
                                   const spl_numbers *indices, supple_error *error)
{
    const supple_allocator *a = &out->allocator;
    spl_surface *s = spl_points_add_surface(out, name, length, error);
    if (!s) return SUPPLE_ERROR_MEMORY;
    supple_result result = spl_surface_set_points(s, vertices->value, vertices->count, a, error);
    spl_numbers corner = {0}, size = {0};
    if (result == SUPPLE_OK)
        result = split_polygons(indices, &corner, &size, a) ? spl_surface_set_polygons(s, &corner, &size, a, error)
                                                            : spl_fail_memory(error, "polygons");
    spl_free(a, corner.value);
    spl_free(a, size.value);
    return result;
}

void spl_rate_note(spl_rate *rate, const char *name, size_t length, double value, size_t at, size_t size)
{
    static const char mode[] = "TimeMode", custom[] = "CustomFrameRate";
    if (length == sizeof custom - 1 && memcmp(name, custom, length) == 0) rate->custom = value;
    if (length != sizeof mode - 1 || memcmp(name, mode, length) != 0) return;
    rate->mode = value;
    rate->at = at;
    rate->size = size;
}

/* Ours are FBX's numbers of modes; 0 is "default", whatever the program that wrote it took for that, 14 is custom. */
double spl_rate_fps(const spl_rate *rate)
{
    enum { CUSTOM = 14 };
    static const double fps[] = {0,
                                 120,
                                 100,
                                 60,
                                 50,
                                 48,
                                 30,
                                 30,
                                 30000.0 / 1001,
                                 30000.0 / 1001,
                                 25,
                                 24,
                                 1000,
                                 24000.0 / 1001,
                                 0,
                                 96,
                                 72,
                                 60000.0 / 1001,
                                 120000.0 / 1001};
    double mode = rate->mode, custom = rate->custom >= 1 && rate->custom <= 1000 ? rate->custom : 0;
    if (!(mode >= 0 && mode < (double)(sizeof fps / sizeof *fps) && mode == floor(mode))) return 0;
    return mode == CUSTOM ? custom : fps[(int)mode];
}

void spl_rate_mend(const spl_rate *rate, uint8_t *data)
{
    if (rate->size == 0) return;
    memset(data + rate->at, rate->text ? ' ' : 0, rate->size);
    data[rate->at] = rate->text ? '6' : 6;
}

supple_result spl_points_read_fbx(const uint8_t *data, size_t size, const supple_allocator *a, spl_points *out,
                                  supple_error *error)
{
    static const char magic[] = "Kaydara FBX Binary  ";
    *out = (spl_points){.allocator = *a, .rate = {.mode = (double)NAN, .custom = (double)NAN}};
    bool binary = size >= sizeof magic - 1 && memcmp(data, magic, sizeof magic - 1) == 0;
    supple_result result =
        binary ? spl_fbx_read_binary(data, size, out, error) : spl_fbx_read_text(data, size, out, error);
    if (result != SUPPLE_OK) spl_points_release(out);
    return result;
}
