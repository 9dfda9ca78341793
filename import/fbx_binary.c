/* Binary FBX: nested records, each with the offset of its end, typed properties and children. Arrays may be compressed
 * by zlib. We walk Objects / Geometry, Objects / Model and GlobalSettings and skip the rest. */
#include "core/error.h"
#include "core/memory.h"
#include "points.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

enum { HEADER = 27, WIDE_VERSION = 7500 };

/* No stream of zlib is more than 1032 times smaller than what it stands for. */
enum { ZLIB_RATIO = 1032, ZLIB_SLACK = 64 };

typedef struct reader {
    const uint8_t *data;
    size_t size;
    bool wide; /* offsets of 64 bits, from version 7500 on */
    spl_points *out;
    supple_error *error;
} reader;

typedef struct record {
    const char *name;
    size_t name_length;
    uint64_t property_count;
    size_t properties, children, end; /* offsets; end 0: the empty record that ends a list */
} record;

typedef struct property {
    char type;
    const uint8_t *data; /* of a scalar, a string or an array as stored */
    size_t stored;       /* bytes */
    uint32_t count;      /* elements of an array */
    bool compressed;
} property;

typedef supple_result visit(reader *r, const record *at, void *user);

static uint64_t little(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)p[i] << (8 * i);
    return value;
}

static supple_result damaged(reader *r, size_t at)
{
    return spl_fail(r->error, SUPPLE_ERROR_INPUT, "damaged or cut short: no whole FBX record at byte %zu of %zu", at,
                    r->size);
}

static bool is(const record *at, const char *name)
{
    return at->name_length == strlen(name) && memcmp(at->name, name, at->name_length) == 0;
}

static supple_result read_record(reader *r, size_t at, size_t limit, record *out)
{
    size_t word = r->wide ? 8 : 4, head = 3 * word + 1;
    if (limit - at < head) return damaged(r, at);
    const uint8_t *p = r->data + at;
    uint64_t end = little(p, (int)word), bytes = little(p + 2 * word, (int)word);
    *out = (record){.property_count = little(p + word, (int)word), .name_length = p[3 * word]};
    if (end == 0) return SUPPLE_OK;
    if (end > limit || end < at + head + out->name_length || bytes > end - at - head - out->name_length)
        return damaged(r, at);
    out->name = (const char *)p + head;
    out->properties = at + head + out->name_length;
    out->children = out->properties + (size_t)bytes;
    out->end = (size_t)end;
    return SUPPLE_OK;
}

/* Calls `each` for the records from `at` up to the empty one, or to the limit. Only the file's own list must have the
 * empty one: what was cut off between two records shows there. */
static supple_result walk(reader *r, size_t at, size_t limit, visit *each, void *user)
{
    while (at < limit) {
        record next = {0};
        supple_result result = read_record(r, at, limit, &next);
        if (result != SUPPLE_OK) return result;
        if (next.end == 0) return SUPPLE_OK;
        result = each(r, &next, user);
        if (result != SUPPLE_OK) return result;
        at = next.end;
    }
    return limit == r->size ? damaged(r, at) : SUPPLE_OK;
}

/* ---- properties ------------------------------------------------------------------------------------------------- */

static size_t element_size(char type)
{
    switch (type) {
    case 'b':
    case 'c':
    case 'C':
        return 1;
    case 'Y':
        return 2;
    case 'I':
    case 'F':
    case 'i':
    case 'f':
        return 4;
    case 'D':
    case 'L':
    case 'd':
    case 'l':
        return 8;
    default:
        return 0;
    }
}

/* The property at *at, which moves behind it. */
static supple_result read_property(reader *r, size_t *at, size_t limit, property *out)
{
    size_t from = *at;
    if (from >= limit) return damaged(r, from);
    *out = (property){.type = (char)r->data[from++]};
    bool array = out->type >= 'a' && out->type <= 'z', text = out->type == 'S' || out->type == 'R';
    size_t head = array ? 12 : text ? 4 : 0, size = element_size(out->type);
    if ((!text && !size) || limit - from < head) return damaged(r, *at);
    const uint8_t *p = r->data + from;
    from += head;
    out->stored = text ? (size_t)little(p, 4) : size;
    if (array) {
        out->count = (uint32_t)little(p, 4);
        out->compressed = little(p + 4, 4) != 0;
        out->stored = out->compressed ? (size_t)little(p + 8, 4) : out->count * size;
    }
    if (out->stored > limit - from) return damaged(r, *at);
    out->data = r->data + from;
    *at = from + out->stored;
    return SUPPLE_OK;
}

/* The bytes of an array; *owned is to be freed where it is not NULL. */
static supple_result array_bytes(reader *r, const property *p, uint8_t **owned, const uint8_t **bytes)
{
    *owned = NULL;
    *bytes = p->data;
    if (!p->compressed) return SUPPLE_OK;
    size_t size = p->count * element_size(p->type);
    if (size > p->stored * ZLIB_RATIO + ZLIB_SLACK) return damaged(r, (size_t)(p->data - r->data));
    *owned = spl_new(&r->out->allocator, size, 1);
    if (!*owned) return spl_fail_memory(r->error, "an array");
    uLongf length = (uLongf)size;
    int code = uncompress(*owned, &length, p->data, (uLong)p->stored);
    if (code == Z_MEM_ERROR) return spl_fail_memory(r->error, "an array");
    if (code != Z_OK || length != size) return damaged(r, (size_t)(p->data - r->data));
    *bytes = *owned;
    return SUPPLE_OK;
}

static double element(char type, const uint8_t *p)
{
    uint64_t bits = little(p, (int)element_size(type));
    uint32_t half = (uint32_t)bits;
    float single;
    double value;
    switch (type) {
    case 'f':
        memcpy(&single, &half, sizeof single);
        return (double)single;
    case 'd':
        memcpy(&value, &bits, sizeof value);
        return value;
    case 'i':
        return (double)(int32_t)half;
    default:
        return (double)(int64_t)bits;
    }
}

/* A record's first property as numbers. */
static supple_result read_numbers(reader *r, const record *at, spl_numbers *out)
{
    if (at->property_count == 0) return SUPPLE_OK;
    size_t from = at->properties;
    property p = {0};
    supple_result result = read_property(r, &from, at->children, &p);
    if (result != SUPPLE_OK) return result;
    if (!strchr("fdil", p.type)) return damaged(r, at->properties);
    uint8_t *owned;
    const uint8_t *bytes;
    result = array_bytes(r, &p, &owned, &bytes);
    size_t size = element_size(p.type);
    for (uint32_t i = 0; result == SUPPLE_OK && i < p.count; i++)
        if (!spl_numbers_add(out, element(p.type, bytes + i * size), &r->out->allocator))
            result = spl_fail_memory(r->error, "an array");
    spl_free(&r->out->allocator, owned);
    return result;
}

/* ---- objects ---------------------------------------------------------------------------------------------------- */

typedef struct geometry {
    spl_numbers vertices, indices;
} geometry;

static supple_result visit_geometry(reader *r, const record *at, void *user)
{
    geometry *g = user;
    if (is(at, "Vertices") && g->vertices.count == 0) return read_numbers(r, at, &g->vertices);
    if (is(at, "PolygonVertexIndex") && g->indices.count == 0) return read_numbers(r, at, &g->indices);
    return SUPPLE_OK;
}

/* An object's properties are its id, its name ("Name\0\1Class") and its kind. */
static supple_result visit_object(reader *r, const record *at, void *user)
{
    (void)user;
    bool mesh = is(at, "Geometry");
    if ((!mesh && !is(at, "Model")) || at->property_count < 3) return SUPPLE_OK;
    property p[3] = {0};
    size_t from = at->properties;
    for (int i = 0; i < 3; i++) {
        supple_result result = read_property(r, &from, at->children, &p[i]);
        if (result != SUPPLE_OK) return result;
    }
    if (p[1].type != 'S' || p[2].type != 'S') return SUPPLE_OK;
    const char *name = (const char *)p[1].data, *kind = (const char *)p[2].data;
    size_t length = strnlen(name, p[1].stored);
    if (!mesh) {
        bool joint = (p[2].stored == 8 && memcmp(kind, "LimbNode", 8) == 0) ||
                     (p[2].stored == 4 && memcmp(kind, "Limb", 4) == 0);
        return !joint || spl_points_add_node(r->out, name, length, name, length, true, r->error) ? SUPPLE_OK
                                                                                                 : SUPPLE_ERROR_MEMORY;
    }
    if (p[2].stored != 4 || memcmp(kind, "Mesh", 4) != 0) return SUPPLE_OK;
    geometry g = {0};
    supple_result result = walk(r, at->children, at->end, visit_geometry, &g);
    if (result == SUPPLE_OK) result = spl_fbx_add_geometry(r->out, name, length, &g.vertices, &g.indices, r->error);
    spl_free(&r->out->allocator, g.vertices.value);
    spl_free(&r->out->allocator, g.indices.value);
    return result;
}

/* ---- settings --------------------------------------------------------------------------------------------------- */

static double scalar(const property *p)
{
    uint64_t bits = little(p->data, (int)p->stored);
    uint32_t half = (uint32_t)bits;
    float single;
    double value;
    switch (p->type) {
    case 'I':
        return (double)(int32_t)half;
    case 'L':
        return (double)(int64_t)bits;
    case 'F':
        memcpy(&single, &half, sizeof single);
        return (double)single;
    case 'D':
        memcpy(&value, &bits, sizeof value);
        return value;
    default:
        return (double)NAN;
    }
}

/* "P": a name, two types, flags and a value. */
static supple_result visit_setting(reader *r, const record *at, void *user)
{
    (void)user;
    if (!is(at, "P") || at->property_count < 5) return SUPPLE_OK;
    property p[5] = {0};
    size_t from = at->properties;
    for (int i = 0; i < 5; i++) {
        supple_result result = read_property(r, &from, at->children, &p[i]);
        if (result != SUPPLE_OK) return result;
    }
    if (p[0].type != 'S' || !strchr("ILFD", p[4].type)) return SUPPLE_OK;
    bool whole = p[4].type == 'I' || p[4].type == 'L';
    spl_rate_note(&r->out->rate, (const char *)p[0].data, p[0].stored, scalar(&p[4]), (size_t)(p[4].data - r->data),
                  whole ? p[4].stored : 0);
    return SUPPLE_OK;
}

static supple_result visit_settings(reader *r, const record *at, void *user)
{
    return is(at, "Properties70") ? walk(r, at->children, at->end, visit_setting, user) : SUPPLE_OK;
}

static supple_result visit_top(reader *r, const record *at, void *user)
{
    if (is(at, "GlobalSettings")) return walk(r, at->children, at->end, visit_settings, user);
    return is(at, "Objects") ? walk(r, at->children, at->end, visit_object, user) : SUPPLE_OK;
}

supple_result spl_fbx_read_binary(const uint8_t *data, size_t size, spl_points *out, supple_error *error)
{
    reader r = {.data = data, .size = size, .out = out, .error = error};
    if (size < HEADER) return damaged(&r, 0);
    r.wide = little(data + 23, 4) >= WIDE_VERSION;
    return walk(&r, HEADER, size, visit_top, NULL);
}
