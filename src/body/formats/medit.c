/* Medit .mesh, ASCII: keywords, each followed by a count and that many entries; the order of the sections is free,
 * every entry ends with a reference number, '#' begins a comment. */
#include "body/formats/formats.h"
#include "core/memory.h"

#include <string.h>
#include <strings.h>

/* Where the two sections that matter begin (their counts); NULL where they are missing. */
typedef struct sections {
    const uint8_t *vertices, *tets;
} sections;

static supple_result note(spl_scan *s, const uint8_t **section, const char *what)
{
    if (*section) return spl_scan_fail(s, "a second section '%s'", what);
    *section = s->at;
    return SUPPLE_OK;
}

static bool at_letter(const spl_scan *s)
{
    return (*s->at | 32) >= 'a' && (*s->at | 32) <= 'z';
}

static supple_result check_dimension(spl_scan *s)
{
    int64_t dimension;
    supple_result result = spl_scan_integer(s, &dimension);
    if (result || dimension == 3) return result;
    return spl_scan_fail(s, "a mesh in %lld dimensions; tetrahedra need 3", (long long)dimension);
}

/* Tets may stand before the vertices they name, so the sections are found first and read afterwards. */
static supple_result find_sections(spl_scan *s, sections *found)
{
    char word[SPL_SCAN_WORD];
    supple_result result = spl_scan_word(s, word);
    if (result) return result;
    if (strcasecmp(word, "MeshVersionFormatted") != 0)
        return spl_scan_fail(s, "a Medit .mesh begins with 'MeshVersionFormatted', not '%s'", word);
    while (spl_scan_blank(s)) {
        if (!at_letter(s)) {
            spl_scan_skip_word(s);
            continue;
        }
        result = spl_scan_word(s, word);
        if (!result && strcasecmp(word, "Dimension") == 0) result = check_dimension(s);
        if (!result && strcasecmp(word, "Vertices") == 0) result = note(s, &found->vertices, word);
        if (!result && strcasecmp(word, "Tetrahedra") == 0) result = note(s, &found->tets, word);
        if (result || strcasecmp(word, "End") == 0) return result;
    }
    return SUPPLE_OK;
}

/* The count at the begin of a section. */
static supple_result read_count(spl_scan *s, const uint8_t *section, size_t bytes, const char *what, int32_t *out)
{
    if (!section) return spl_scan_fail(s, "there is no section '%s'", what);
    s->at = section;
    int64_t count = 0;
    supple_result result = spl_scan_integer(s, &count);
    if (!result) result = spl_scan_check_count(s, count, bytes, what);
    *out = (int32_t)count;
    return result;
}

/* After the last entry comes a keyword or nothing: a number says that the count is wrong. */
static supple_result check_end(spl_scan *s, const char *what, int32_t count)
{
    if (!spl_scan_blank(s) || at_letter(s)) return SUPPLE_OK;
    return spl_scan_fail(s, "more %s than the %d announced", what, (int)count);
}

static supple_result read_vertices(spl_scan *s, spl_tets *out)
{
    supple_result result = SUPPLE_OK;
    int64_t reference;
    for (int32_t i = 0; !result && i < out->vertex_count; i++) {
        spl_vec3 *p = out->position + i;
        result = spl_scan_real(s, &p->x);
        if (!result) result = spl_scan_real(s, &p->y);
        if (!result) result = spl_scan_real(s, &p->z);
        if (!result) result = spl_scan_integer(s, &reference);
    }
    return result ? result : check_end(s, "Vertices", out->vertex_count);
}

static supple_result read_tets(spl_scan *s, spl_tets *out)
{
    int64_t v;
    for (int32_t t = 0; t < out->tet_count; t++) {
        for (int k = 0; k < 4; k++) {
            supple_result result = spl_scan_integer(s, &v);
            if (result) return result;
            if (v < 1 || v > out->vertex_count)
                return spl_scan_fail(s, "tet %d: vertex %lld is not between 1 and %d", (int)t + 1, (long long)v,
                                     (int)out->vertex_count);
            out->tet[4 * (size_t)t + (size_t)k] = (int32_t)v - 1;
        }
        supple_result result = spl_scan_integer(s, &v); /* the reference */
        if (result) return result;
    }
    return check_end(s, "Tetrahedra", out->tet_count);
}

supple_result spl_medit_read(spl_scan *s, spl_tets *out)
{
    sections found = {0};
    int32_t vertices = 0, tets = 0;
    s->hash_comments = true;
    supple_result result = find_sections(s, &found);
    if (!result) result = read_count(s, found.tets, 10, "Tetrahedra", &tets);
    if (!result) result = read_count(s, found.vertices, 8, "Vertices", &vertices);
    if (result) return result;
    if (!spl_tets_create(out, vertices, tets, &s->memory)) return spl_fail_memory(s->error, "the tets of a .mesh");
    result = read_vertices(s, out);
    s->at = found.tets;
    int64_t count; /* as read above */
    if (!result) result = spl_scan_integer(s, &count);
    return result ? result : read_tets(s, out);
}

void spl_medit_write(FILE *f, const spl_tets *tets, const spl_tets_save_options *options)
{
    /* Version 2 says that numbers are doubles. */
    fprintf(f, "MeshVersionFormatted 2\nDimension 3\nVertices\n%d\n", (int)tets->vertex_count);
    for (int32_t i = 0; i < tets->vertex_count; i++) fprintf(f, "%s 0\n", spl_point_print(tets->position[i]).text);
    int32_t triangles = options->surface ? tets->surface_count : 0;
    if (triangles) fprintf(f, "Triangles\n%d\n", (int)triangles);
    for (int32_t i = 0; i < triangles; i++) {
        const int32_t *v = tets->surface + 3 * (size_t)i;
        fprintf(f, "%d %d %d 1\n", (int)v[0] + 1, (int)v[1] + 1, (int)v[2] + 1);
    }
    fprintf(f, "Tetrahedra\n%d\n", (int)tets->tet_count);
    for (int32_t t = 0; t < tets->tet_count; t++) {
        const int32_t *v = tets->tet + 4 * (size_t)t;
        fprintf(f, "%d %d %d %d 1\n", (int)v[0] + 1, (int)v[1] + 1, (int)v[2] + 1, (int)v[3] + 1);
    }
    fprintf(f, "End\n");
}
