/* Reading Gmsh .msh, formats 2.2 and 4.1, ASCII and binary. Nodes may have any tags in any order; element type 4 is a
 * tet, the others are passed over. Sections other than $Nodes and $Elements are skipped. */
#include "body/formats/formats.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

enum { TYPE_TET = 4, TYPE_TET10 = 11, TYPE_COUNT = 94, TAG_LIMIT = 1000 };

/* Nodes of each element type, 0 where there is no such type: needed to step over binary elements. */
static const uint8_t type_nodes[TYPE_COUNT] = {
    0,  2,  3,  4, 4,  8,  6,  5,  3,  6, 9, 10, 27, 18, 14, 1,         8,
    20, 15, 13, 9, 10, 12, 15, 15, 21, 4, 5, 6,  20, 35, 56, [92] = 64, [93] = 125,
};

/* A node's tag in the file and its place among the positions. */
typedef struct node_tag {
    int64_t tag;
    int32_t index;
} node_tag;

typedef struct msh {
    spl_scan *s;
    spl_tets *out;
    bool binary, v4, has_nodes, has_elements;
    node_tag *tag;      /* vertex_count, by tag unless they are consecutive anyway */
    bool consecutive;   /* tag[i].tag = tag[0].tag + i */
    int64_t other_tets; /* tets of higher order, passed over */
} msh;

static int by_tag(const void *a, const void *b)
{
    int64_t x = ((const node_tag *)a)->tag, y = ((const node_tag *)b)->tag;
    return (x > y) - (x < y);
}

static supple_result index_tags(msh *m)
{
    int32_t n = m->out->vertex_count;
    m->consecutive = true;
    for (int32_t i = 1; i < n; i++) m->consecutive &= (uint64_t)m->tag[i].tag - (uint64_t)m->tag[i - 1].tag == 1;
    if (m->consecutive) return SUPPLE_OK;
    qsort(m->tag, (size_t)n, sizeof *m->tag, by_tag);
    for (int32_t i = 1; i < n; i++)
        if (m->tag[i].tag == m->tag[i - 1].tag)
            return spl_scan_fail(m->s, "node %lld stands twice", (long long)m->tag[i].tag);
    return SUPPLE_OK;
}

/* The place of a node, or -1. */
static int32_t find_node(const msh *m, int64_t tag)
{
    int32_t n = m->out->vertex_count;
    if (n == 0) return -1;
    if (m->consecutive) {
        int64_t first = m->tag[0].tag;
        return tag >= first && tag <= m->tag[n - 1].tag ? (int32_t)(tag - first) : -1;
    }
    const node_tag *found = bsearch(&(node_tag){.tag = tag}, m->tag, (size_t)n, sizeof *m->tag, by_tag);
    return found ? found->index : -1;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static supple_result make_nodes(msh *m, int64_t count, size_t bytes)
{
    supple_result result = spl_scan_check_count(m->s, count, bytes, "nodes");
    if (result) return result;
    m->tag = spl_new(&m->s->memory, (size_t)count, sizeof *m->tag);
    m->out->position = spl_new(&m->s->memory, (size_t)count, sizeof *m->out->position);
    if (!m->tag || !m->out->position) return spl_fail_memory(m->s->error, "the nodes of a .msh");
    m->out->vertex_count = (int32_t)count;
    for (int32_t i = 0; i < m->out->vertex_count; i++) m->tag[i].index = i;
    return SUPPLE_OK;
}

static supple_result read_position(spl_scan *s, spl_vec3 *p)
{
    supple_result result = spl_scan_f64(s, &p->x);
    if (!result) result = spl_scan_f64(s, &p->y);
    if (!result) result = spl_scan_f64(s, &p->z);
    return result;
}

static supple_result read_nodes2(msh *m)
{
    int64_t count;
    spl_scan *s = m->s;
    supple_result result = spl_scan_integer(s, &count); /* as text in binary files too */
    if (!result) result = make_nodes(m, count, m->binary ? 28 : 8);
    if (result) return result;
    if (m->binary) spl_scan_skip_line(s);
    s->binary = m->binary;
    for (int32_t i = 0; !result && i < m->out->vertex_count; i++) {
        int32_t tag = 0;
        result = spl_scan_i32(s, &tag);
        m->tag[i].tag = tag;
        if (!result) result = read_position(s, m->out->position + i);
    }
    return result;
}

/* One entity's nodes from number *next on: their tags, then their positions with up to three parameters. */
static supple_result read_node_block(msh *m, int64_t *next)
{
    spl_scan *s = m->s;
    int32_t dimension = 0, entity = 0, parametric = 0;
    int64_t count = 0;
    supple_result result = spl_scan_i32(s, &dimension);
    if (!result) result = spl_scan_i32(s, &entity);
    if (!result) result = spl_scan_i32(s, &parametric);
    if (!result) result = spl_scan_size(s, &count);
    if (result) return result;
    if (dimension < 0 || dimension > 3) return spl_scan_fail(s, "an entity of dimension %d", (int)dimension);
    if (count < 0 || count > m->out->vertex_count - *next)
        return spl_scan_fail(s, "more nodes than the %d announced", (int)m->out->vertex_count);
    for (int64_t i = 0; !result && i < count; i++) result = spl_scan_size(s, &m->tag[*next + i].tag);
    for (int64_t i = 0; !result && i < count; i++) {
        double unused;
        result = read_position(s, m->out->position + *next + i);
        for (int32_t k = 0; !result && parametric && k < dimension; k++) result = spl_scan_f64(s, &unused);
    }
    *next += count;
    return result;
}

/* "blocks items lowest-tag highest-tag" */
static supple_result read_header4(spl_scan *s, int64_t *blocks, int64_t *items)
{
    int64_t unused;
    supple_result result = spl_scan_size(s, blocks);
    if (!result) result = spl_scan_size(s, items);
    if (!result) result = spl_scan_size(s, &unused);
    if (!result) result = spl_scan_size(s, &unused);
    return result;
}

static supple_result read_nodes4(msh *m)
{
    int64_t blocks = 0, count = 0, next = 0;
    m->s->binary = m->binary;
    supple_result result = read_header4(m->s, &blocks, &count);
    if (!result) result = make_nodes(m, count, m->binary ? 24 + (size_t)m->s->size_bytes : 8);
    if (!result) result = spl_scan_check_count(m->s, blocks, m->binary ? 16 : 8, "blocks of nodes");
    for (int64_t i = 0; !result && i < blocks; i++) result = read_node_block(m, &next);
    if (!result && next != count)
        result = spl_scan_fail(m->s, "%lld nodes where %lld are announced", (long long)next, (long long)count);
    return result;
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* Room for `count` tets at most; what is left over is given back at the end. */
static supple_result make_elements(msh *m, int64_t count, size_t bytes)
{
    supple_result result = spl_scan_check_count(m->s, count, bytes, "elements");
    if (result) return result;
    m->out->tet = spl_new(&m->s->memory, (size_t)count, 4 * sizeof *m->out->tet);
    return m->out->tet ? SUPPLE_OK : spl_fail_memory(m->s->error, "the elements of a .msh");
}

static supple_result add_node(msh *m, int corner, int64_t tag, int64_t element)
{
    int32_t index = find_node(m, tag);
    if (index < 0)
        return spl_scan_fail(m->s, "tet %d (element %lld): there is no node %lld", (int)m->out->tet_count + 1,
                             (long long)element, (long long)tag);
    m->out->tet[4 * (size_t)m->out->tet_count + (size_t)corner] = index;
    return SUPPLE_OK;
}

static supple_result check_type(spl_scan *s, int64_t type)
{
    if (type > 0 && (!s->binary || (type < TYPE_COUNT && type_nodes[type]))) return SUPPLE_OK;
    return spl_scan_fail(s, "an element of unknown type %lld", (long long)type);
}

/* An element of format 2.2 after its type and number of tags: "tags... nodes..." */
static supple_result read_tet2(msh *m, int32_t tags, int32_t element)
{
    int32_t value = 0;
    supple_result result = SUPPLE_OK;
    for (int32_t i = 0; !result && i < tags; i++) result = spl_scan_i32(m->s, &value);
    for (int k = 0; !result && k < 4; k++) {
        result = spl_scan_i32(m->s, &value);
        if (!result) result = add_node(m, k, value, element);
    }
    if (!result) m->out->tet_count++;
    return result;
}

/* "number type tag-count tags... nodes...", one a line */
static supple_result read_text2(msh *m, int64_t count)
{
    spl_scan *s = m->s;
    supple_result result = SUPPLE_OK;
    for (int64_t i = 0; !result && i < count; i++) {
        int32_t element = 0, type = 0, tags = 0;
        result = spl_scan_i32(s, &element);
        if (!result) result = spl_scan_i32(s, &type);
        if (!result) result = check_type(s, type);
        if (!result) result = spl_scan_i32(s, &tags);
        if (!result && (tags < 0 || tags > TAG_LIMIT)) result = spl_scan_fail(s, "%d tags", (int)tags);
        if (result) break;
        m->other_tets += type == TYPE_TET10;
        if (type == TYPE_TET)
            result = read_tet2(m, tags, element);
        else
            spl_scan_skip_line(s);
    }
    return result;
}

/* Blocks of "type count tag-count", then for each element "number tags... nodes..." */
static supple_result read_binary2(msh *m, int64_t count)
{
    spl_scan *s = m->s;
    supple_result result = SUPPLE_OK;
    for (int64_t done = 0; !result && done < count;) {
        int32_t type = 0, follow = 0, tags = 0, element = 0;
        result = spl_scan_i32(s, &type);
        if (!result) result = check_type(s, type);
        if (!result) result = spl_scan_i32(s, &follow);
        if (!result) result = spl_scan_i32(s, &tags);
        if (!result && (follow < 1 || follow > count - done || tags < 0 || tags > TAG_LIMIT))
            result = spl_scan_fail(s, "a block of %d elements with %d tags", (int)follow, (int)tags);
        if (result) break;
        m->other_tets += type == TYPE_TET10 ? follow : 0;
        if (type != TYPE_TET && !spl_scan_bytes(s, (size_t)follow, 4 * (size_t)(1 + tags + type_nodes[type])))
            result = SUPPLE_ERROR_INPUT;
        for (int32_t i = 0; !result && type == TYPE_TET && i < follow; i++) {
            result = spl_scan_i32(s, &element);
            if (!result) result = read_tet2(m, tags, element);
        }
        done += follow;
    }
    return result;
}

static supple_result read_elements2(msh *m)
{
    int64_t count;
    supple_result result = spl_scan_integer(m->s, &count);
    if (!result) result = make_elements(m, count, 8);
    if (result) return result;
    if (m->binary) spl_scan_skip_line(m->s);
    m->s->binary = m->binary;
    return m->binary ? read_binary2(m, count) : read_text2(m, count);
}

/* One element of format 4.1: "tag nodes..." */
static supple_result read_tet4(msh *m)
{
    int64_t element = 0, tag = 0;
    supple_result result = spl_scan_size(m->s, &element);
    for (int k = 0; !result && k < 4; k++) {
        result = spl_scan_size(m->s, &tag);
        if (!result) result = add_node(m, k, tag, element);
    }
    if (!result) m->out->tet_count++;
    return result;
}

static supple_result skip_element4(spl_scan *s, int32_t type)
{
    if (!s->binary) {
        spl_scan_blank(s);
        spl_scan_skip_line(s);
        return SUPPLE_OK;
    }
    return spl_scan_bytes(s, 1 + (size_t)type_nodes[type], (size_t)s->size_bytes) ? SUPPLE_OK : SUPPLE_ERROR_INPUT;
}

static supple_result read_element_block(msh *m, int64_t *left)
{
    spl_scan *s = m->s;
    int32_t dimension = 0, entity = 0, type = 0;
    int64_t count = 0;
    supple_result result = spl_scan_i32(s, &dimension);
    if (!result) result = spl_scan_i32(s, &entity);
    if (!result) result = spl_scan_i32(s, &type);
    if (!result) result = spl_scan_size(s, &count);
    if (!result) result = check_type(s, type);
    if (!result && (count < 0 || count > *left)) result = spl_scan_fail(s, "more elements than announced");
    if (result) return result;
    *left -= count;
    m->other_tets += type == TYPE_TET10 ? count : 0;
    for (int64_t i = 0; !result && i < count; i++) result = type == TYPE_TET ? read_tet4(m) : skip_element4(s, type);
    return result;
}

static supple_result read_elements4(msh *m)
{
    int64_t blocks = 0, left = 0;
    m->s->binary = m->binary;
    supple_result result = read_header4(m->s, &blocks, &left);
    if (!result) result = make_elements(m, left, m->binary ? 2 * (size_t)m->s->size_bytes : 4);
    if (!result) result = spl_scan_check_count(m->s, blocks, m->binary ? 16 : 8, "blocks of elements");
    for (int64_t i = 0; !result && i < blocks; i++) result = read_element_block(m, &left);
    if (!result && left) result = spl_scan_fail(m->s, "%lld elements less than announced", (long long)left);
    return result;
}

/* ---- sections --------------------------------------------------------------------------------------------------- */

/* $MeshFormat: version, file type, data size; in binary files the number 1 follows and tells the byte order. */
static supple_result read_format(msh *m)
{
    spl_scan *s = m->s;
    double version = 0;
    int64_t binary = 0, size = 0;
    supple_result result = spl_scan_real(s, &version);
    if (!result) result = spl_scan_integer(s, &binary);
    if (!result) result = spl_scan_integer(s, &size);
    if (result) return result;
    m->v4 = version == 4.1;
    if (!m->v4 && !(version >= 2 && version < 3))
        return spl_scan_fail(s, "Gmsh format %g; 2.2 and 4.1 can be read: gmsh in.msh -save -format msh41 -o out.msh",
                             version);
    if (binary < 0 || binary > 1 || (size != 8 && !(m->v4 && size == 4)))
        return spl_scan_fail(s, "file type %lld with numbers of %lld bytes", (long long)binary, (long long)size);
    m->binary = binary;
    s->size_bytes = (int)size;
    if (!m->binary) return SUPPLE_OK;
    spl_scan_skip_line(s);
    const uint8_t *one = spl_scan_bytes(s, 1, 4);
    if (!one) return SUPPLE_ERROR_INPUT;
    s->swap = spl_scan_decode_integer(one, 4, false) != 1;
    return s->swap && spl_scan_decode_integer(one, 4, true) != 1
               ? spl_scan_fail(s, "the mark of the byte order is not 1")
               : SUPPLE_OK;
}

static supple_result expect(spl_scan *s, const char *word)
{
    char found[SPL_SCAN_WORD];
    supple_result result = spl_scan_word(s, found);
    if (result || strcmp(found, word) == 0) return result;
    return spl_scan_fail(s, "'%s' where %s is expected: a wrong count?", found, word);
}

/* Skips a section of no interest, binary or not, up to the line that ends it. */
static supple_result skip_section(spl_scan *s, const char *word)
{
    char ending[SPL_SCAN_WORD + 8];
    size_t length = (size_t)snprintf(ending, sizeof ending, "$End%s", word + 1);
    const uint8_t *found = word[0] == '$' ? memmem(s->at, (size_t)(s->end - s->at), ending, length) : NULL;
    if (!found) return spl_scan_fail(s, "'%.40s' is not a section, or has no end", word);
    s->at = found + length;
    return SUPPLE_OK;
}

static supple_result read_nodes(msh *m)
{
    if (m->has_nodes) return spl_scan_fail(m->s, "a second section $Nodes");
    m->has_nodes = true;
    if (m->binary) spl_scan_skip_line(m->s);
    supple_result result = m->v4 ? read_nodes4(m) : read_nodes2(m);
    m->s->binary = false;
    if (!result) result = index_tags(m);
    return result ? result : expect(m->s, "$EndNodes");
}

static supple_result read_elements(msh *m)
{
    if (!m->has_nodes || m->has_elements)
        return spl_scan_fail(m->s, "$Elements %s", m->has_nodes ? "again" : "before $Nodes");
    m->has_elements = true;
    if (m->binary) spl_scan_skip_line(m->s);
    supple_result result = m->v4 ? read_elements4(m) : read_elements2(m);
    m->s->binary = false;
    return result ? result : expect(m->s, "$EndElements");
}

static supple_result read_sections(msh *m)
{
    char word[SPL_SCAN_WORD];
    bool has_format = false;
    while (!m->has_elements) {
        supple_result result = spl_scan_word(m->s, word);
        if (result) return result;
        if (strcmp(word, "$MeshFormat") == 0) {
            result = read_format(m);
            if (!result) result = expect(m->s, "$EndMeshFormat");
            has_format = true;
        } else if (!has_format && strcmp(word, "$Comments") != 0) {
            return spl_scan_fail(m->s, "a .msh begins with $MeshFormat, not '%s'", word);
        } else if (strcmp(word, "$Nodes") == 0) {
            result = read_nodes(m);
        } else if (strcmp(word, "$Elements") == 0) {
            result = read_elements(m);
        } else {
            result = skip_section(m->s, word);
        }
        if (result) return result;
    }
    return SUPPLE_OK;
}

supple_result spl_msh_read(spl_scan *s, spl_tets *out)
{
    msh m = {.s = s, .out = out};
    *out = (spl_tets){.allocator = s->memory};
    supple_result result = read_sections(&m);
    spl_free(&s->memory, m.tag);
    if (result) return result;
    if (out->tet_count == 0 && m.other_tets)
        return spl_scan_fail(
            s, "its tets have 10 nodes; tets of order 1 are needed: gmsh in.msh -order 1 -save -o out.msh");
    /* Most elements may have been triangles. If the smaller block is refused, the large one serves as well. */
    int32_t *tight = spl_resize(&s->memory, out->tet, (size_t)out->tet_count, 4 * sizeof *tight);
    if (tight) out->tet = tight;
    return SUPPLE_OK;
}
