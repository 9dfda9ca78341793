/* Legacy .vtk with an UNSTRUCTURED_GRID: ASCII or BINARY (big-endian). Cells as (count, vertices...) lists, or as the
 * OFFSETS and CONNECTIVITY arrays that VTK 9 writes. Cell type 10 is a tet; the others are passed over. */
#include "body/formats/formats.h"
#include "core/memory.h"

#include <string.h>
#include <strings.h>

enum { CELL_TRIANGLE = 5, CELL_TET = 10 };

static const bool LITTLE = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* What has been read so far. */
typedef struct grid {
    bool binary;
    spl_vec3 *point;
    int64_t *stream; /* the vertices of all cells, with or without counts */
    int64_t *offset; /* where each cell begins in `stream`; NULL where counts stand in it */
    int64_t *type;   /* of each cell */
    int32_t point_count, cell_count, type_count;
    int64_t stream_count;
    bool has_points, has_cells, has_types;
} grid;

typedef struct number_type {
    const char *name;
    int width;
    bool real;
} number_type;

static supple_result read_type(spl_scan *s, number_type *out)
{
    static const number_type types[] = {
        {"float", 4, true},         {"double", 8, true},         {"int", 4, false},       {"unsigned_int", 4, false},
        {"long", 8, false},         {"unsigned_long", 8, false}, {"short", 2, false},     {"unsigned_short", 2, false},
        {"char", 1, false},         {"unsigned_char", 1, false}, {"vtkIdType", 4, false}, {"vtktypeint64", 8, false},
        {"vtktypeint32", 4, false}, {"vtktypeuint64", 8, false},
    };
    char word[SPL_SCAN_WORD];
    supple_result result = spl_scan_word(s, word);
    if (result) return result;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(word, types[i].name) == 0) {
            *out = types[i];
            return SUPPLE_OK;
        }
    return spl_scan_fail(s, "numbers of type '%s' cannot be read", word);
}

/* An array of numbers after its header line: as text, or big-endian from the next line on. Exactly one of `whole` and
 * `real` is given, or neither to pass over it. */
static supple_result read_array(spl_scan *s, bool binary, const number_type *type, int64_t count, int64_t *whole,
                                double *real)
{
    supple_result result = SUPPLE_OK;
    if (binary) {
        spl_scan_skip_line(s);
        s->binary = true; /* a failure names the byte */
        const uint8_t *p = spl_scan_bytes(s, (size_t)count, (size_t)type->width);
        s->binary = false;
        if (!p) return SUPPLE_ERROR_INPUT;
        for (int64_t i = 0; real && i < count; i++)
            real[i] = type->real ? spl_scan_decode_real(p + i * type->width, type->width, LITTLE)
                                 : (double)spl_scan_decode_integer(p + i * type->width, type->width, LITTLE);
        for (int64_t i = 0; whole && i < count; i++)
            whole[i] = spl_scan_decode_integer(p + i * type->width, type->width, LITTLE);
        return SUPPLE_OK;
    }
    for (int64_t i = 0; !result && i < count; i++) {
        if (whole)
            result = spl_scan_integer(s, whole + i);
        else if (real)
            result = spl_scan_real(s, real + i);
        else if (!spl_scan_skip_word(s))
            result = spl_scan_fail(s, "the file ends early; it may have been cut off");
    }
    return result;
}

/* A count, held against the file: an item takes at least two bytes as text (a digit and a blank). */
static supple_result read_count(spl_scan *s, const grid *g, size_t text, size_t binary, const char *what, int64_t *out)
{
    supple_result result = spl_scan_integer(s, out);
    return result ? result : spl_scan_check_count(s, *out, g->binary ? binary : text, what);
}

static supple_result read_points(spl_scan *s, grid *g)
{
    int64_t count;
    number_type type;
    if (g->has_points) return spl_scan_fail(s, "a second section POINTS");
    supple_result result = read_count(s, g, 6, 12, "points", &count);
    if (!result) result = read_type(s, &type);
    if (result) return result;
    g->point = spl_new(&s->memory, (size_t)count, sizeof *g->point);
    if (!g->point) return spl_fail_memory(s->error, "the points of a .vtk");
    g->point_count = (int32_t)count;
    g->has_points = true;
    return read_array(s, g->binary, &type, 3 * count, NULL, (double *)g->point);
}

/* A named array of VTK 9's cells. */
static supple_result read_named(spl_scan *s, const grid *g, const char *name, int64_t count, int64_t *out)
{
    char word[SPL_SCAN_WORD];
    number_type type;
    supple_result result = spl_scan_word(s, word);
    if (!result && strcasecmp(word, name) != 0) result = spl_scan_fail(s, "'%s' where %s is expected", word, name);
    if (!result) result = read_type(s, &type);
    if (!result && type.real) result = spl_scan_fail(s, "%s with real numbers", name);
    return result ? result : read_array(s, g->binary, &type, count, out, NULL);
}

/* VTK 9 writes the word OFFSETS where older files have the first cell. */
static bool has_offsets(spl_scan *s)
{
    const uint8_t *start = s->at;
    bool yes = spl_scan_blank(s) && s->end - s->at > 7 && strncasecmp((const char *)s->at, "OFFSETS", 7) == 0;
    s->at = start;
    return yes;
}

static supple_result read_cells(spl_scan *s, grid *g)
{
    static const number_type whole = {"int", 4, false};
    int64_t first, second;
    if (g->has_cells) return spl_scan_fail(s, "a second section CELLS");
    supple_result result = read_count(s, g, 2, 4, "cells", &first);
    if (!result) result = read_count(s, g, 2, 4, "numbers of cells", &second);
    if (result) return result;
    g->has_cells = true;
    bool offsets = has_offsets(s);
    g->stream_count = second;
    g->stream = spl_new(&s->memory, (size_t)second, sizeof *g->stream);
    if (offsets) g->offset = spl_new(&s->memory, (size_t)first, sizeof *g->offset);
    if (!g->stream || (offsets && !g->offset)) return spl_fail_memory(s->error, "the cells of a .vtk");
    g->cell_count = (int32_t)(offsets && first > 0 ? first - 1 : first);
    if (!offsets) return read_array(s, g->binary, &whole, second, g->stream, NULL);
    result = read_named(s, g, "OFFSETS", first, g->offset);
    return result ? result : read_named(s, g, "CONNECTIVITY", second, g->stream);
}

static supple_result read_types(spl_scan *s, grid *g)
{
    static const number_type whole = {"int", 4, false};
    int64_t count;
    if (g->has_types) return spl_scan_fail(s, "a second section CELL_TYPES");
    supple_result result = read_count(s, g, 2, 4, "cell types", &count);
    if (result) return result;
    g->type = spl_new(&s->memory, (size_t)count, sizeof *g->type);
    if (!g->type) return spl_fail_memory(s->error, "the cell types of a .vtk");
    g->type_count = (int32_t)count;
    g->has_types = true;
    return read_array(s, g->binary, &whole, count, g->type, NULL);
}

/* FIELD name arrays, then name components tuples type data for each: passed over (ParaView puts the time there). */
static supple_result skip_field(spl_scan *s, const grid *g)
{
    char word[SPL_SCAN_WORD];
    int64_t arrays = 0, components = 0, tuples = 0;
    number_type type;
    supple_result result = spl_scan_word(s, word);
    if (!result) result = spl_scan_integer(s, &arrays);
    for (int64_t i = 0; !result && i < arrays; i++) {
        result = spl_scan_word(s, word);
        if (!result) result = read_count(s, g, 2, 1, "components", &components);
        if (!result) result = read_count(s, g, 2, 1, "tuples", &tuples);
        if (!result) result = read_type(s, &type);
        if (!result) result = read_array(s, g->binary, &type, components * tuples, NULL, NULL);
    }
    return result;
}

/* METADATA runs to the next empty line. */
static void skip_metadata(spl_scan *s)
{
    do spl_scan_skip_line(s);
    while (s->at < s->end && *s->at != '\n' && *s->at != '\r');
}

static supple_result read_section(spl_scan *s, grid *g)
{
    char word[SPL_SCAN_WORD];
    supple_result result = spl_scan_word(s, word);
    if (result) return result;
    if (strcasecmp(word, "POINTS") == 0) return read_points(s, g);
    if (strcasecmp(word, "CELLS") == 0) return read_cells(s, g);
    if (strcasecmp(word, "CELL_TYPES") == 0) return read_types(s, g);
    if (strcasecmp(word, "FIELD") == 0) return skip_field(s, g);
    if (strcasecmp(word, "METADATA") == 0) {
        skip_metadata(s);
        return SUPPLE_OK;
    }
    return spl_scan_fail(s, "'%s' before POINTS, CELLS and CELL_TYPES are complete", word);
}

/* "# vtk DataFile Version x.y", a title, ASCII or BINARY, DATASET UNSTRUCTURED_GRID. */
static supple_result read_header(spl_scan *s, grid *g)
{
    char word[SPL_SCAN_WORD];
    if (s->end - s->at < 5 || strncasecmp((const char *)s->at, "# vtk", 5) != 0)
        return spl_scan_fail(s, "a legacy .vtk begins with '# vtk DataFile Version'");
    spl_scan_skip_line(s);
    spl_scan_skip_line(s);
    supple_result result = spl_scan_word(s, word);
    if (result) return result;
    g->binary = strcasecmp(word, "BINARY") == 0;
    if (!g->binary && strcasecmp(word, "ASCII") != 0) return spl_scan_fail(s, "'%s' is not ASCII or BINARY", word);
    result = spl_scan_word(s, word);
    if (!result && strcasecmp(word, "DATASET") != 0) result = spl_scan_fail(s, "'%s' where DATASET is expected", word);
    if (!result) result = spl_scan_word(s, word);
    if (!result && strcasecmp(word, "UNSTRUCTURED_GRID") != 0)
        result = spl_scan_fail(s, "a data set of kind %s; tetrahedra are in an UNSTRUCTURED_GRID", word);
    return result;
}

/* ---- from cells to tets ----------------------------------------------------------------------------------------- */

/* The vertices of cell i from `next` on; *next moves on. NULL if the lists do not add up. */
static const int64_t *cell_vertices(const grid *g, int32_t i, int64_t *next, int64_t *count)
{
    int64_t begin = *next, end;
    if (g->offset) {
        begin = g->offset[i];
        end = g->offset[i + 1];
    } else {
        if (begin >= g->stream_count || g->stream[begin] < 0 || g->stream[begin] > g->stream_count) return NULL;
        end = begin + 1 + g->stream[begin];
        begin++;
    }
    if (begin < 0 || end < begin || end > g->stream_count) return NULL;
    *next = end;
    *count = end - begin;
    return g->stream + begin;
}

/* Whether a cell of this type can have so many vertices. A "10" cut off behind the 1 must not make a tet vanish. */
static bool fits_type(int64_t type, int64_t count)
{
    static const uint8_t vertices[15] = {0, 1, 0, 2, 0, 3, 0, 0, 4, 4, 4, 8, 8, 6, 5}; /* 0: any */
    return type < 0 || type >= 15 || vertices[type] == 0 || vertices[type] == count;
}

static supple_result gather_tets(spl_scan *s, const grid *g, spl_tets *out)
{
    int64_t next = 0, count = 0;
    for (int32_t i = 0; i < g->cell_count; i++) {
        const int64_t *v = cell_vertices(g, i, &next, &count);
        if (!v) return spl_scan_fail(s, "the list of cells does not add up at cell %d", (int)i);
        if (!fits_type(g->type[i], count))
            return spl_scan_fail(s, "cell %d: type %lld with %lld vertices", (int)i, (long long)g->type[i],
                                 (long long)count);
        if (g->type[i] != CELL_TET) continue;
        for (int k = 0; k < 4; k++) {
            if (v[k] < 0 || v[k] >= g->point_count)
                return spl_scan_fail(s, "tet %d (cell %d): vertex %lld is not between 0 and %d",
                                     (int)out->tet_count + 1, (int)i, (long long)v[k], (int)g->point_count - 1);
            out->tet[4 * (size_t)out->tet_count + (size_t)k] = (int32_t)v[k];
        }
        out->tet_count++;
    }
    return SUPPLE_OK;
}

static supple_result make_tets(spl_scan *s, grid *g, spl_tets *out)
{
    if (g->cell_count != g->type_count)
        return spl_scan_fail(s, "%d cells, but %d cell types", (int)g->cell_count, (int)g->type_count);
    size_t count = 0;
    for (int32_t i = 0; i < g->type_count; i++) count += g->type[i] == CELL_TET;
    *out = (spl_tets){.vertex_count = g->point_count, .position = g->point, .allocator = s->memory};
    g->point = NULL; /* the mesh has them now */
    out->tet = spl_new(&s->memory, count, 4 * sizeof *out->tet);
    return out->tet ? gather_tets(s, g, out) : spl_fail_memory(s->error, "the tets of a .vtk");
}

supple_result spl_vtk_read(spl_scan *s, spl_tets *out)
{
    grid g = {0};
    supple_result result = read_header(s, &g);
    while (!result && !(g.has_points && g.has_cells && g.has_types)) result = read_section(s, &g);
    if (!result) result = make_tets(s, &g, out);
    spl_free(&s->memory, g.point);
    spl_free(&s->memory, g.stream);
    spl_free(&s->memory, g.offset);
    spl_free(&s->memory, g.type);
    return result;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void put_i32(FILE *f, bool binary, const char *after, int32_t value)
{
    uint32_t u = (uint32_t)value;
    uint8_t bytes[4] = {(uint8_t)(u >> 24), (uint8_t)(u >> 16), (uint8_t)(u >> 8), (uint8_t)u};
    if (binary)
        fwrite(bytes, 1, sizeof bytes, f);
    else
        fprintf(f, "%d%s", (int)value, after);
}

static void put_point(FILE *f, bool binary, spl_vec3 p)
{
    if (!binary) {
        fprintf(f, "%s\n", spl_point_print(p).text);
        return;
    }
    const double value[3] = {p.x, p.y, p.z};
    uint8_t bytes[24];
    for (int i = 0; i < 3; i++) {
        uint64_t bits;
        memcpy(&bits, value + i, sizeof bits);
        for (int k = 0; k < 8; k++) bytes[8 * i + k] = (uint8_t)(bits >> (56 - 8 * k));
    }
    fwrite(bytes, 1, sizeof bytes, f);
}

static void put_cells(FILE *f, bool binary, const int32_t *vertex, int32_t corners, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        put_i32(f, binary, " ", corners);
        for (int32_t k = 0; k < corners; k++)
            put_i32(f, binary, k + 1 < corners ? " " : "\n", vertex[(size_t)corners * (size_t)i + (size_t)k]);
    }
}

void spl_vtk_write(FILE *f, const spl_tets *tets, const spl_tets_save_options *options)
{
    bool binary = options->binary;
    int32_t triangles = options->surface ? tets->surface_count : 0;
    long long cells = (long long)triangles + tets->tet_count;
    fprintf(f, "# vtk DataFile Version 3.0\ntetrahedra by supple\n%s\nDATASET UNSTRUCTURED_GRID\nPOINTS %d double\n",
            binary ? "BINARY" : "ASCII", (int)tets->vertex_count);
    for (int32_t i = 0; i < tets->vertex_count; i++) put_point(f, binary, tets->position[i]);
    fprintf(f, "\nCELLS %lld %lld\n", cells, 4ll * triangles + 5ll * tets->tet_count);
    put_cells(f, binary, tets->surface, 3, triangles);
    put_cells(f, binary, tets->tet, 4, tets->tet_count);
    fprintf(f, "\nCELL_TYPES %lld\n", cells);
    for (int32_t i = 0; i < triangles; i++) put_i32(f, binary, "\n", CELL_TRIANGLE);
    for (int32_t i = 0; i < tets->tet_count; i++) put_i32(f, binary, "\n", CELL_TET);
    fprintf(f, "\n");
}
