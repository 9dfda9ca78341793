/* ASCII FBX: "Key: value, value { children }". Version 7 writes arrays as "Vertices: *24 { a: 1,2,... }", older ones as
 * plain values; both are read. */
#include "core/error.h"
#include "core/memory.h"
#include "points.h"

#include <string.h>

enum { DEEPEST = 64 };

typedef struct span {
    const char *text;
    size_t length;
} span;

typedef struct reader {
    const char *at, *begin, *end;
    spl_points *out;
    supple_error *error;
    spl_numbers vertices, indices; /* of the geometry being read */
    spl_numbers *into;             /* where numbers go now; NULL: nowhere */
    spl_numbers settings;          /* of the line of GlobalSettings being read */
    span number;                   /* the last one that was read */
} reader;

typedef struct line { /* "Key: values" */
    span key, text[3];
    int texts; /* quoted values, at most 3 are kept */
    bool block;
} line;

static supple_result damaged(reader *r, const char *what)
{
    return spl_fail(r->error, SUPPLE_ERROR_INPUT, "damaged or cut short: %s at byte %zu; is it an FBX file?", what,
                    (size_t)(r->at - r->begin));
}

static bool is(span s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.text, text, s.length) == 0;
}

static void skip_space(reader *r)
{
    while (r->at < r->end) {
        if (*r->at == ';') {
            while (r->at < r->end && *r->at != '\n') r->at++;
        } else if (strchr(" \t\r\n", *r->at) && *r->at) {
            r->at++;
        } else {
            return;
        }
    }
}

static supple_result read_text(reader *r, span *out)
{
    const char *begin = ++r->at;
    while (r->at < r->end && *r->at != '"') r->at++;
    if (r->at == r->end) return damaged(r, "a text does not end");
    *out = (span){begin, (size_t)(r->at - begin)};
    r->at++;
    return SUPPLE_OK;
}

/* One value: a text, a number, "*24", or a bare word such as Y. */
static supple_result read_value(reader *r, line *l)
{
    if (*r->at == '"') {
        span text;
        supple_result result = read_text(r, &text);
        if (result == SUPPLE_OK && l->texts < 3) l->text[l->texts++] = text;
        return result;
    }
    double value;
    const char *begin = r->at;
    bool number = r->into && spl_number_read(&r->at, r->end, &value);
    if (number) r->number = (span){begin, (size_t)(r->at - begin)};
    if (number)
        return spl_numbers_add(r->into, value, &r->out->allocator) ? SUPPLE_OK : spl_fail_memory(r->error, "an array");
    while (r->at < r->end && !(*r->at && strchr(",{}\n\r \t", *r->at))) r->at++;
    return SUPPLE_OK;
}

/* Values go on behind commas, also on the next line. */
static supple_result read_values(reader *r, line *l)
{
    for (;;) {
        while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) r->at++;
        if (r->at == r->end || *r->at == '}' || *r->at == '\n' || *r->at == '\r') break;
        if (*r->at == '{') {
            l->block = true;
            r->at++;
            break;
        }
        supple_result result = read_value(r, l);
        if (result != SUPPLE_OK) return result;
        while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) r->at++;
        if (r->at == r->end || *r->at != ',') continue;
        r->at++;
        skip_space(r);
    }
    return SUPPLE_OK;
}

static supple_result read_key(reader *r, line *l)
{
    const char *begin = r->at;
    while (r->at < r->end && *r->at != ':' && *r->at != '\n' && *r->at != '{' && *r->at != '}') r->at++;
    if (r->at == r->end || *r->at != ':') return damaged(r, "no key");
    l->key = (span){begin, (size_t)(r->at - begin)};
    r->at++;
    return SUPPLE_OK;
}

/* "Geometry::Body" -> "Body" */
static span bare_name(span s)
{
    for (size_t i = 0; i + 1 < s.length; i++)
        if (s.text[i] == ':' && s.text[i + 1] == ':') return (span){s.text + i + 2, s.length - i - 2};
    return s;
}

static supple_result read_block(reader *r, int level, const line *parent);

/* What an object's line, level 1 below Objects, begins; its block follows. */
static supple_result read_object(reader *r, const line *l, int level)
{
    bool mesh = l->texts >= 2 && is(l->key, "Geometry") && is(l->text[l->texts - 1], "Mesh");
    span kind = l->texts ? l->text[l->texts - 1] : (span){"", 0}, name = bare_name(l->texts ? l->text[0] : kind);
    if (is(l->key, "Model") && (is(kind, "LimbNode") || is(kind, "Limb")) &&
        !spl_points_add_node(r->out, name.text, name.length, name.text, name.length, true, r->error))
        return SUPPLE_ERROR_MEMORY;
    r->vertices.count = r->indices.count = 0;
    supple_result result = l->block ? read_block(r, level + 1, mesh ? l : NULL) : SUPPLE_OK;
    if (result != SUPPLE_OK || !mesh) return result;
    return spl_fbx_add_geometry(r->out, name.text, name.length, &r->vertices, &r->indices, r->error);
}

static supple_result read_line(reader *r, int level, const line *parent)
{
    line l = {0};
    supple_result result = read_key(r, &l);
    if (result != SUPPLE_OK) return result;
    bool geometry = level == 2 && parent && is(parent->key, "Geometry");
    bool setting = level == 2 && parent && is(parent->key, "Properties70") && is(l.key, "P"); /* of GlobalSettings */
    spl_numbers *before = r->into;
    r->settings.count = 0;
    if (setting) r->into = &r->settings;
    if (geometry && is(l.key, "Vertices")) r->into = &r->vertices;
    if (geometry && is(l.key, "PolygonVertexIndex")) r->into = &r->indices;
    result = read_values(r, &l);
    if (result == SUPPLE_OK && setting && l.texts > 0 && r->settings.count > 0)
        spl_rate_note(&r->out->rate, l.text[0].text, l.text[0].length, r->settings.value[r->settings.count - 1],
                      (size_t)(r->number.text - r->begin), r->number.length);
    if (result == SUPPLE_OK && level == 1 && parent && is(parent->key, "Objects"))
        result = read_object(r, &l, level);
    else if (result == SUPPLE_OK && l.block)
        result = read_block(r, level + 1, &l);
    r->into = before;
    return result;
}

/* Lines up to the closing brace, or to the end of the file at level 0. `parent` is the line that opened the block. */
static supple_result read_block(reader *r, int level, const line *parent)
{
    if (level > DEEPEST) return damaged(r, "blocks within too many blocks");
    for (;;) {
        skip_space(r);
        if (r->at == r->end) return level ? damaged(r, "a block does not end") : SUPPLE_OK;
        if (*r->at == '}') {
            if (level == 0) return damaged(r, "a closing brace too many");
            r->at++;
            return SUPPLE_OK;
        }
        supple_result result = read_line(r, level, parent);
        if (result != SUPPLE_OK) return result;
    }
}

supple_result spl_fbx_read_text(const uint8_t *data, size_t size, spl_points *out, supple_error *error)
{
    const char *text = (const char *)data;
    reader r = {.at = text, .begin = text, .end = text + size, .out = out, .error = error};
    out->rate.text = true;
    supple_result result = read_block(&r, 0, NULL);
    spl_free(&out->allocator, r.settings.value);
    spl_free(&out->allocator, r.vertices.value);
    spl_free(&out->allocator, r.indices.value);
    return result;
}
