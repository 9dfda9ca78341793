/* Writing Gmsh .msh: 2.2 (the format that every tool reads) or 4.1, as text or as binary in this machine's byte order,
 * which the file states. Triangles of the surface come first, as entity 1 of dimension 2; the tets are entity 1 of
 * dimension 3. */
#include "body/formats/formats.h"

#include <stdint.h>

enum { TYPE_TRIANGLE = 2, TYPE_TET = 4 };

/* A block of elements of one type. */
typedef struct block {
    int dimension, type, corners;
    int32_t count;
    const int32_t *vertex;
} block;

static void put_i32s(FILE *f, const int32_t *value, size_t count)
{
    fwrite(value, sizeof *value, count, f);
}

static void put_sizes(FILE *f, const uint64_t *value, size_t count)
{
    fwrite(value, sizeof *value, count, f);
}

static void put_format(FILE *f, const char *version, bool binary)
{
    const int32_t one = 1;
    fprintf(f, "$MeshFormat\n%s %d 8\n", version, binary);
    if (binary) {
        put_i32s(f, &one, 1);
        fputc('\n', f);
    }
    fprintf(f, "$EndMeshFormat\n");
}

/* ---- 2.2 -------------------------------------------------------------------------------------------------------- */

static void put_nodes2(FILE *f, const spl_tets *tets, bool binary)
{
    fprintf(f, "$Nodes\n%d\n", (int)tets->vertex_count);
    for (int32_t i = 0; i < tets->vertex_count; i++) {
        int32_t tag = i + 1;
        if (!binary) {
            fprintf(f, "%d %s\n", (int)tag, spl_point_print(tets->position[i]).text);
            continue;
        }
        put_i32s(f, &tag, 1);
        fwrite(tets->position + i, sizeof *tets->position, 1, f);
    }
    fprintf(f, "%s$EndNodes\n", binary ? "\n" : "");
}

/* Two tags an element: physical 0 (none) and entity 1. */
static void put_block2(FILE *f, const block *b, int32_t *element, bool binary)
{
    const int32_t header[3] = {b->type, b->count, 2};
    if (binary && b->count) put_i32s(f, header, 3);
    for (int32_t i = 0; i < b->count; i++) {
        const int32_t *v = b->vertex + (size_t)b->corners * (size_t)i;
        int32_t record[7] = {++*element, 0, 1};
        for (int k = 0; k < b->corners; k++) record[3 + k] = v[k] + 1;
        if (binary) {
            put_i32s(f, record, 3 + (size_t)b->corners);
            continue;
        }
        fprintf(f, "%d %d 2 0 1", (int)record[0], b->type);
        for (int k = 0; k < b->corners; k++) fprintf(f, " %d", (int)record[3 + k]);
        fputc('\n', f);
    }
}

static void write2(FILE *f, const spl_tets *tets, const block blocks[2], bool binary)
{
    int32_t element = 0;
    put_format(f, "2.2", binary);
    put_nodes2(f, tets, binary);
    fprintf(f, "$Elements\n%lld\n", (long long)blocks[0].count + blocks[1].count);
    for (int i = 0; i < 2; i++) put_block2(f, blocks + i, &element, binary);
    fprintf(f, "%s$EndElements\n", binary ? "\n" : "");
}

/* ---- 4.1 -------------------------------------------------------------------------------------------------------- */

/* "dimension entity type-or-flag count" */
static void put_block_header(FILE *f, int dimension, int flag, int32_t count, bool binary)
{
    const int32_t header[3] = {dimension, 1, flag};
    const uint64_t size = (uint64_t)count;
    if (binary) {
        put_i32s(f, header, 3);
        put_sizes(f, &size, 1);
    } else {
        fprintf(f, "%d 1 %d %d\n", dimension, flag, (int)count);
    }
}

static void put_counts(FILE *f, uint64_t blocks, uint64_t items, bool binary)
{
    const uint64_t counts[4] = {blocks, items, 1, items};
    if (binary)
        put_sizes(f, counts, 4);
    else
        fprintf(f, "%lld %lld 1 %lld\n", (long long)blocks, (long long)items, (long long)items);
}

static void put_entity(FILE *f, const double box[6], bool binary)
{
    const int32_t tag = 1;
    const uint64_t none[2] = {0, 0}; /* physical tags, bounding entities */
    if (binary) {
        put_i32s(f, &tag, 1);
        fwrite(box, sizeof *box, 6, f);
        put_sizes(f, none, 2);
    } else {
        fprintf(f, "1 %.17g %.17g %.17g %.17g %.17g %.17g 0 0\n", box[0], box[1], box[2], box[3], box[4], box[5]);
    }
}

/* Gmsh refuses elements of an entity that neither this section nor a node names: the surface needs it. */
static void put_entities(FILE *f, const spl_tets *tets, bool surface, bool binary)
{
    const uint64_t counts[4] = {0, 0, surface, 1}; /* points, curves, surfaces, volumes */
    double box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = 0; i < tets->vertex_count; i++) {
        const double x[3] = {tets->position[i].x, tets->position[i].y, tets->position[i].z};
        for (int k = 0; k < 3; k++) {
            box[k] = fmin(box[k], x[k]);
            box[3 + k] = fmax(box[3 + k], x[k]);
        }
    }
    fprintf(f, "$Entities\n");
    if (binary)
        put_sizes(f, counts, 4);
    else
        fprintf(f, "0 0 %d 1\n", surface);
    if (surface) put_entity(f, box, binary);
    put_entity(f, box, binary);
    fprintf(f, "%s$EndEntities\n", binary ? "\n" : "");
}

static void put_nodes4(FILE *f, const spl_tets *tets, bool binary)
{
    fprintf(f, "$Nodes\n");
    put_counts(f, 1, (uint64_t)tets->vertex_count, binary);
    put_block_header(f, 3, 0, tets->vertex_count, binary);
    for (int32_t i = 0; i < tets->vertex_count; i++) {
        const uint64_t tag = (uint64_t)i + 1;
        if (binary)
            put_sizes(f, &tag, 1);
        else
            fprintf(f, "%d\n", (int)i + 1);
    }
    if (binary) fwrite(tets->position, sizeof *tets->position, (size_t)tets->vertex_count, f);
    for (int32_t i = 0; !binary && i < tets->vertex_count; i++)
        fprintf(f, "%s\n", spl_point_print(tets->position[i]).text);
    fprintf(f, "%s$EndNodes\n", binary ? "\n" : "");
}

static void put_block4(FILE *f, const block *b, uint64_t *element, bool binary)
{
    if (b->count == 0) return;
    put_block_header(f, b->dimension, b->type, b->count, binary);
    for (int32_t i = 0; i < b->count; i++) {
        const int32_t *v = b->vertex + (size_t)b->corners * (size_t)i;
        uint64_t record[5] = {++*element};
        for (int k = 0; k < b->corners; k++) record[1 + k] = (uint64_t)v[k] + 1;
        if (binary) {
            put_sizes(f, record, 1 + (size_t)b->corners);
            continue;
        }
        fprintf(f, "%lld", (long long)record[0]);
        for (int k = 0; k < b->corners; k++) fprintf(f, " %d", (int)v[k] + 1);
        fputc('\n', f);
    }
}

static void write4(FILE *f, const spl_tets *tets, const block blocks[2], bool binary)
{
    uint64_t element = 0, items = (uint64_t)blocks[0].count + (uint64_t)blocks[1].count;
    put_format(f, "4.1", binary);
    put_entities(f, tets, blocks[0].count > 0, binary);
    put_nodes4(f, tets, binary);
    fprintf(f, "$Elements\n");
    put_counts(f, (blocks[0].count > 0) + (uint64_t)(blocks[1].count > 0), items, binary);
    for (int i = 0; i < 2; i++) put_block4(f, blocks + i, &element, binary);
    fprintf(f, "%s$EndElements\n", binary ? "\n" : "");
}

void spl_msh_write(FILE *f, const spl_tets *tets, const spl_tets_save_options *options)
{
    const block blocks[2] = {
        {2, TYPE_TRIANGLE, 3, options->surface ? tets->surface_count : 0, tets->surface},
        {3, TYPE_TET, 4, tets->tet_count, tets->tet},
    };
    if (options->msh41)
        write4(f, tets, blocks, options->binary);
    else
        write2(f, tets, blocks, options->binary);
}
