/* Collada: the position source of each <geometry> and the polygons that index it, and the names of the nodes. A scan
 * over the tags; nothing else of XML is needed (no entities stand in numbers). */
#include "core/error.h"
#include "core/memory.h"
#include "points.h"

#include <string.h>

typedef struct span {
    const char *text;
    size_t length;
} span;

typedef struct tag {
    span name, attributes; /* the name without a namespace */
    bool closing, empty;   /* </name>, <name/> */
} tag;

typedef struct source {
    span id, numbers;
    double stride, offset;
} source;

enum { MOST_SOURCES = 256 }; /* in one mesh */

typedef struct reader {
    const char *at, *begin, *end;
    spl_points *out;
    supple_error *error;
    spl_surface *surface; /* the geometry being read, or NULL */
    int32_t source_count;
    source source[MOST_SOURCES];
    span position;       /* id of the position source */
    span skinned;        /* id of the geometry of the last <skin> */
    double vertex_at;    /* offset of VERTEX among a corner's indices, -1 for none */
    double index_stride; /* indices a corner */
    bool triangles, counted, polygons;
    spl_numbers corner, size, count; /* of the geometry; vcount of the list being read */
} reader;

static supple_result damaged(reader *r, const char *what)
{
    return spl_fail(r->error, SUPPLE_ERROR_INPUT, "damaged or cut short: %s at byte %zu; is it a Collada file?", what,
                    (size_t)(r->at - r->begin));
}

static bool is(span s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.text, text, s.length) == 0;
}

static bool same(span a, span b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The position of a text from r->at on; NULL if it does not come. */
static const char *find(const reader *r, const char *text)
{
    return memmem(r->at, (size_t)(r->end - r->at), text, strlen(text));
}

/* The next tag; comments, declarations and CDATA are skipped. *ok is false where the file is damaged. */
static bool next_tag(reader *r, tag *out, bool *ok)
{
    for (;;) {
        const char *open = memchr(r->at, '<', (size_t)(r->end - r->at));
        if (!open) return false;
        r->at = open + 1;
        const char *ending = ">";
        if (r->end - r->at >= 3 && memcmp(r->at, "!--", 3) == 0) ending = "-->";
        if (r->end - r->at >= 8 && memcmp(r->at, "![CDATA[", 8) == 0) ending = "]]>";
        const char *close = find(r, ending);
        if (!close) {
            *ok = false;
            return false;
        }
        const char *from = r->at;
        r->at = close + strlen(ending);
        if (*from == '!' || *from == '?') continue;
        *out = (tag){.closing = *from == '/', .empty = close > from && close[-1] == '/'};
        from += out->closing;
        const char *stop = from;
        while (stop < close && !is_space(*stop) && *stop != '/') stop++;
        const char *colon = memchr(from, ':', (size_t)(stop - from));
        if (colon) from = colon + 1;
        out->name = (span){from, (size_t)(stop - from)};
        out->attributes = (span){stop, (size_t)(close - stop)};
        return true;
    }
}

/* The value of an attribute; empty if the tag has none of that name. */
static span attribute(const tag *t, const char *name)
{
    const char *at = t->attributes.text, *end = at + t->attributes.length;
    size_t length = strlen(name);
    while (at < end) {
        const char *equals = memchr(at, '=', (size_t)(end - at));
        if (!equals) break;
        const char *stop = equals;
        while (stop > at && is_space(stop[-1])) stop--;
        const char *quote = equals + 1;
        while (quote < end && *quote != '"' && *quote != '\'') quote++;
        if (quote == end) break;
        const char *close = memchr(quote + 1, *quote, (size_t)(end - quote - 1));
        if (!close) break;
        if ((size_t)(stop - at) >= length && memcmp(stop - length, name, length) == 0 &&
            (stop - length == at || is_space(stop[-(ptrdiff_t)length - 1])))
            return (span){quote + 1, (size_t)(close - quote - 1)};
        at = close + 1;
    }
    return (span){"", 0};
}

static double number_attribute(const tag *t, const char *name, double fallback)
{
    span value = attribute(t, name);
    const char *at = value.text;
    double number;
    return spl_number_read(&at, value.text + value.length, &number) ? number : fallback;
}

/* "#id" -> id */
static span reference(const tag *t, const char *name)
{
    span value = attribute(t, name);
    return value.length && *value.text == '#' ? (span){value.text + 1, value.length - 1} : value;
}

/* The text from here to the next tag. */
static span content(const reader *r)
{
    const char *stop = memchr(r->at, '<', (size_t)(r->end - r->at));
    return (span){r->at, (size_t)((stop ? stop : r->end) - r->at)};
}

static supple_result read_numbers(reader *r, span text, spl_numbers *out)
{
    const char *at = text.text, *end = at + text.length;
    for (;;) {
        while (at < end && is_space(*at)) at++;
        if (at == end) return SUPPLE_OK;
        double value;
        if (!spl_number_read(&at, end, &value)) return damaged(r, "something that is no number");
        if (!spl_numbers_add(out, value, &r->out->allocator)) return spl_fail_memory(r->error, "an array");
    }
}

/* ---- a geometry ------------------------------------------------------------------------------------------------- */

/* One <p>: of each corner's indices only VERTEX is kept. */
static supple_result read_corners(reader *r)
{
    spl_numbers all = {0};
    const supple_allocator *a = &r->out->allocator;
    supple_result result = read_numbers(r, content(r), &all);
    size_t stride = r->index_stride >= 1 && r->index_stride < 64 ? (size_t)r->index_stride : 1;
    size_t at = r->vertex_at >= 0 && r->vertex_at < (double)stride ? (size_t)r->vertex_at : 0;
    size_t corners = all.count / stride, before = r->corner.count;
    for (size_t i = 0; result == SUPPLE_OK && i < corners; i++)
        if (!spl_numbers_add(&r->corner, all.value[i * stride + at], a)) result = spl_fail_memory(r->error, "corners");
    spl_free(a, all.value);
    if (result != SUPPLE_OK) return result;
    bool ok = true;
    if (r->triangles) {
        for (size_t i = 0; i < corners / 3; i++) ok = ok && spl_numbers_add(&r->size, 3, a);
        r->corner.count = before + corners / 3 * 3;
    } else if (r->polygons) {
        ok = spl_numbers_add(&r->size, (double)corners, a);
    } else if (r->counted) {
        double sum = 0;
        for (size_t i = 0; i < r->count.count; i++) {
            ok = ok && spl_numbers_add(&r->size, r->count.value[i], a);
            sum += r->count.value[i];
        }
        if (!(sum == (double)corners)) return damaged(r, "a polylist whose counts do not fit its corners");
    } else {
        r->corner.count = before; /* lines, strips and fans: no polygons to keep */
    }
    return ok ? SUPPLE_OK : spl_fail_memory(r->error, "polygons");
}

/* The points of the position source, and the polygons over them. */
static supple_result finish_geometry(reader *r)
{
    const supple_allocator *a = &r->out->allocator;
    spl_numbers all = {0}, points = {0};
    supple_result result = SUPPLE_OK;
    for (int32_t i = 0; i < r->source_count; i++) {
        const source *s = &r->source[i];
        if (!same(s->id, r->position) || all.count) continue;
        result = read_numbers(r, s->numbers, &all);
        size_t stride = s->stride >= 3 && s->stride < 64 ? (size_t)s->stride : 3;
        size_t offset = s->offset >= 0 && s->offset < 1e9 ? (size_t)s->offset : 0;
        for (size_t k = offset; result == SUPPLE_OK && k + 3 <= all.count; k += stride)
            for (size_t c = 0; c < 3; c++)
                if (!spl_numbers_add(&points, all.value[k + c], a)) result = spl_fail_memory(r->error, "points");
    }
    if (result == SUPPLE_OK) result = spl_surface_set_points(r->surface, points.value, points.count, a, r->error);
    if (result == SUPPLE_OK) result = spl_surface_set_polygons(r->surface, &r->corner, &r->size, a, r->error);
    spl_free(a, all.value);
    spl_free(a, points.value);
    r->surface = NULL;
    return result;
}

static supple_result begin_geometry(reader *r, const tag *t)
{
    span id = attribute(t, "id");
    r->surface = spl_points_add_surface(r->out, id.text, id.length, r->error);
    r->source_count = 0;
    r->position = (span){"", 0};
    r->corner.count = r->size.count = r->count.count = 0;
    return r->surface ? SUPPLE_OK : SUPPLE_ERROR_MEMORY;
}

static void begin_list(reader *r, const tag *t)
{
    r->triangles = is(t->name, "triangles");
    r->counted = is(t->name, "polylist");
    r->polygons = is(t->name, "polygons");
    r->vertex_at = -1;
    r->index_stride = 0;
    r->count.count = 0;
}

static void read_input(reader *r, const tag *t)
{
    span semantic = attribute(t, "semantic");
    double offset = number_attribute(t, "offset", 0);
    if (is(semantic, "POSITION")) r->position = reference(t, "source");
    if (is(semantic, "VERTEX")) r->vertex_at = offset;
    if (offset + 1 > r->index_stride) r->index_stride = offset + 1;
}

static supple_result read_in_geometry(reader *r, const tag *t)
{
    source *last = r->source_count ? &r->source[r->source_count - 1] : NULL;
    if (is(t->name, "source") && r->source_count < MOST_SOURCES) {
        r->source[r->source_count++] = (source){.id = attribute(t, "id"), .numbers = {"", 0}, .stride = 3};
    } else if (is(t->name, "float_array") && last && !t->empty) {
        last->numbers = content(r);
    } else if (is(t->name, "accessor") && last) {
        last->stride = number_attribute(t, "stride", 1);
        last->offset = number_attribute(t, "offset", 0);
    } else if (is(t->name, "input")) {
        read_input(r, t);
    } else if (is(t->name, "vcount")) {
        return read_numbers(r, content(r), &r->count);
    } else if (is(t->name, "p")) {
        return read_corners(r);
    } else {
        static const char *const lists[] = {"triangles", "polylist",  "polygons",   "lines",
                                            "trifans",   "tristrips", "linestrips", "vertices"};
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
            if (is(t->name, lists[i])) begin_list(r, t);
    }
    return SUPPLE_OK;
}

/* The geometry stands before its skin in the files that there are; where it does not, the rest pose serves. */
static supple_result read_bind(reader *r)
{
    spl_numbers all = {0};
    supple_result result = read_numbers(r, content(r), &all);
    for (int32_t i = 0; result == SUPPLE_OK && all.count == 16 && i < r->out->surface_count; i++) {
        spl_surface *s = &r->out->surface[i];
        if (!is(r->skinned, s->name)) continue;
        memcpy(s->bind, all.value, sizeof s->bind);
        s->has_bind = true;
    }
    spl_free(&r->out->allocator, all.value);
    return result;
}

static void read_up(reader *r)
{
    span text = content(r);
    while (text.length && is_space(*text.text)) text = (span){text.text + 1, text.length - 1};
    if (text.length >= 4) r->out->up = *text.text == 'X' ? 0 : *text.text == 'Z' ? 2 : 1;
}

static supple_result read_tag(reader *r, const tag *t)
{
    if (r->surface && t->closing) return is(t->name, "geometry") ? finish_geometry(r) : SUPPLE_OK;
    if (t->closing) return SUPPLE_OK;
    if (r->surface) return read_in_geometry(r, t);
    if (is(t->name, "geometry") && !t->empty) return begin_geometry(r, t);
    if (is(t->name, "skin")) r->skinned = reference(t, "source");
    if (is(t->name, "bind_shape_matrix") && !t->empty) return read_bind(r);
    if (is(t->name, "unit")) r->out->unit = number_attribute(t, "meter", 1);
    if (is(t->name, "up_axis") && !t->empty) read_up(r);
    if (!is(t->name, "node")) return SUPPLE_OK;
    span id = attribute(t, "id"), name = attribute(t, "name");
    if (!name.length) name = id;
    return spl_points_add_node(r->out, id.text, id.length, name.text, name.length, is(attribute(t, "type"), "JOINT"),
                               r->error)
               ? SUPPLE_OK
               : SUPPLE_ERROR_MEMORY;
}

static supple_result read_all(reader *r)
{
    tag t;
    bool ok = true, closed = false;
    while (next_tag(r, &t, &ok)) {
        supple_result result = read_tag(r, &t);
        if (result != SUPPLE_OK) return result;
        closed = t.closing && is(t.name, "COLLADA");
    }
    if (!ok || !closed || r->surface) return damaged(r, "the document does not end");
    return SUPPLE_OK;
}

supple_result spl_points_read_collada(const uint8_t *data, size_t size, const supple_allocator *a, spl_points *out,
                                      supple_error *error)
{
    *out = (spl_points){.allocator = *a, .unit = 1, .up = 1};
    reader *r = spl_new(a, 1, sizeof *r);
    if (!r) {
        *out = (spl_points){0};
        return spl_fail_memory(error, "a reader");
    }
    const char *text = (const char *)data;
    *r = (reader){.skinned = {"", 0}, .at = text, .begin = text, .end = text + size, .out = out, .error = error};
    supple_result result = read_all(r);
    spl_free(a, r->corner.value);
    spl_free(a, r->size.value);
    spl_free(a, r->count.value);
    spl_free(a, r);
    if (result != SUPPLE_OK) spl_points_release(out);
    return result;
}
