#include "core/error.h"
#include "core/md5.h"
#include "core/memory.h"
#include "scene/writers/alembic.h"

#include <string.h>

/* The bits of a property header's first word. */
enum {
    HAS_TIME_SAMPLING = 0x100,
    HOMOGENOUS = 0x400,
    CONSTANT = 0x800,
    HINT_SHIFT = 2,
    POD_SHIFT = 4,
    EXTENT_SHIFT = 12,
    META_SHIFT = 20,
};

#define GEOM_PARAM(scope, meaning, extent)                                                                             \
    "arrayExtent=1;geoScope=" scope ";interpretation=" meaning ";isGeomParam=true;podExtent=" extent                   \
    ";podName=float32_t"
#define GEOM_OBJECT(schema, name) "schema=" schema ";schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle=" schema ":" name

static const char *const metadata[SPL_ABC_META_COUNT] = {
    [SPL_ABC_META_NONE] = "",
    [SPL_ABC_META_XFORM_OBJECT] = "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform",
    [SPL_ABC_META_XFORM] = "schema=AbcGeom_Xform_v3",
    [SPL_ABC_META_MESH_OBJECT] = GEOM_OBJECT("AbcGeom_PolyMesh_v1", ".geom"),
    [SPL_ABC_META_MESH] = "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1",
    [SPL_ABC_META_FACE_SET_OBJECT] = GEOM_OBJECT("AbcGeom_FaceSet_v1", ".faceset"),
    [SPL_ABC_META_FACE_SET] = "schema=AbcGeom_FaceSet_v1;schemaBaseType=AbcGeom_GeomBase_v1",
    [SPL_ABC_META_BOX] = "interpretation=box",
    [SPL_ABC_META_POINT] = "geoScope=vtx;interpretation=point",
    [SPL_ABC_META_NORMAL] = GEOM_PARAM("vtx", "normal", "3"),
    [SPL_ABC_META_CORNER_NORMAL] = GEOM_PARAM("fvr", "normal", "3"),
    [SPL_ABC_META_UV] = GEOM_PARAM("fvr", "vector", "2"),
};

/* Keeps the first failure. */
static void note(spl_abc *abc, supple_result result)
{
    if (abc->result == SUPPLE_OK) abc->result = result;
}

static void note_bytes(spl_abc *abc, const spl_ogawa_bytes *bytes)
{
    if (bytes->failed && abc->result == SUPPLE_OK) abc->result = spl_fail_memory(abc->error, "an Alembic file");
}

static spl_ogawa_child put_data(spl_abc *abc, const void *bytes, size_t size)
{
    spl_ogawa_child child = 0;
    if (abc->result == SUPPLE_OK) note(abc, spl_ogawa_data(&abc->file, bytes, size, &child, abc->error));
    return child;
}

static spl_ogawa_child put_group(spl_abc *abc, const spl_ogawa_child *children, size_t count)
{
    spl_ogawa_child child = 0;
    if (abc->result == SUPPLE_OK) note(abc, spl_ogawa_group(&abc->file, children, count, &child, abc->error));
    return child;
}

static spl_ogawa_bytes no_bytes(const spl_abc *abc)
{
    return (spl_ogawa_bytes){.allocator = abc->allocator};
}

spl_abc_list spl_abc_list_begin(const spl_abc *abc)
{
    return (spl_abc_list){no_bytes(abc), no_bytes(abc)};
}

/* ---- properties ------------------------------------------------------------------------------------------------- */

static void make_key(const void *bytes, size_t size, uint8_t key[16])
{
    spl_md5 md5 = spl_md5_begin();
    spl_md5_bytes(&md5, bytes, size);
    spl_md5_end(&md5, key);
}

void spl_abc_record(spl_abc *abc, spl_abc_series *series, const void *bytes, size_t size)
{
    uint8_t key[16];
    if (abc->result != SUPPLE_OK) return;
    make_key(bytes, size, key);
    int32_t k = series->count++;
    if (k > 0 && memcmp(key, series->last, sizeof key) == 0) {
        series->sample[k] = series->sample[k - 1];
        return;
    }
    series->changes = k > 0;
    memcpy(series->last, key, sizeof key);
    note(abc, spl_ogawa_sample(&abc->file, key, bytes, size, &series->sample[k], abc->error));
}

/* The header of a property with samples; `time` is the index of its time sampling. */
static void put_header(spl_abc_list *list, const spl_abc_property *p, uint32_t samples, bool constant, int time)
{
    size_t length = strlen(p->name);
    bool compound = p->kind == SPL_ABC_COMPOUND;
    size_t largest = !compound && samples > length ? samples : length;
    int hint = largest < 256 ? 0 : largest < 65536 ? 1 : 2, width = 1 << hint;
    uint32_t info = (uint32_t)p->kind | (uint32_t)hint << HINT_SHIFT | (uint32_t)p->meta << META_SHIFT;
    if (!compound) {
        info |= (uint32_t)p->pod << POD_SHIFT | (uint32_t)p->extent << EXTENT_SHIFT | HOMOGENOUS;
        info |= (constant ? CONSTANT : 0u) | (time ? HAS_TIME_SAMPLING : 0u);
    }
    spl_ogawa_put_int(&list->headers, info, 4);
    if (!compound) spl_ogawa_put_int(&list->headers, samples, width);
    if (!compound && time) spl_ogawa_put_int(&list->headers, (uint64_t)time, width);
    spl_ogawa_put_int(&list->headers, length, width);
    spl_ogawa_put(&list->headers, p->name, length);
}

static void add_child(spl_abc_list *list, spl_ogawa_child child)
{
    spl_ogawa_put(&list->children, &child, sizeof child);
}

/* The group of a property's stored samples: with dimensions (none: one row) where it is an array. */
static spl_ogawa_child put_samples(spl_abc *abc, spl_abc_kind kind, const spl_ogawa_child *sample, size_t count)
{
    if (kind == SPL_ABC_SCALAR) return put_group(abc, sample, count);
    spl_ogawa_bytes pairs = no_bytes(abc);
    spl_ogawa_child none = spl_ogawa_nothing();
    for (size_t i = 0; i < count; i++) {
        spl_ogawa_put(&pairs, &sample[i], sizeof *sample);
        spl_ogawa_put(&pairs, &none, sizeof none);
    }
    note_bytes(abc, &pairs);
    spl_ogawa_child group = put_group(abc, (const spl_ogawa_child *)(void *)pairs.data, pairs.failed ? 0 : 2 * count);
    spl_ogawa_bytes_free(&pairs);
    return group;
}

void spl_abc_add_series(spl_abc *abc, spl_abc_list *list, const spl_abc_property *p, const spl_abc_series *series)
{
    size_t stored = series->changes ? (size_t)series->count : 1;
    add_child(list, put_samples(abc, p->kind, series->sample, stored));
    put_header(list, p, (uint32_t)series->count, !series->changes, 1);
}

void spl_abc_add_value(spl_abc *abc, spl_abc_list *list, const spl_abc_property *p, const void *bytes, size_t size)
{
    spl_ogawa_child sample = 0;
    uint8_t key[16];
    make_key(bytes, size, key);
    if (abc->result == SUPPLE_OK) note(abc, spl_ogawa_sample(&abc->file, key, bytes, size, &sample, abc->error));
    add_child(list, put_samples(abc, p->kind, &sample, 1));
    put_header(list, p, 1, true, 0);
}

void spl_abc_add_compound(spl_abc *abc, spl_abc_list *list, const char *name, spl_abc_meta meta,
                          spl_ogawa_child compound)
{
    (void)abc;
    add_child(list, compound);
    put_header(list, &(spl_abc_property){.name = name, .kind = SPL_ABC_COMPOUND, .meta = meta}, 0, false, 0);
}

/* Adds the headers as the last child and writes the group. */
static spl_ogawa_child end_list(spl_abc *abc, spl_abc_list *list)
{
    note_bytes(abc, &list->headers);
    add_child(list, put_data(abc, list->headers.data, list->headers.size));
    note_bytes(abc, &list->children);
    size_t count = list->children.size / sizeof(spl_ogawa_child);
    spl_ogawa_child group = put_group(abc, (const spl_ogawa_child *)(void *)list->children.data, count);
    spl_ogawa_bytes_free(&list->headers);
    spl_ogawa_bytes_free(&list->children);
    return group;
}

spl_ogawa_child spl_abc_end_compound(spl_abc *abc, spl_abc_list *list)
{
    bool empty = !list->children.size && !list->children.failed; /* not for want of memory */
    return empty ? put_group(abc, NULL, 0) : end_list(abc, list);
}

/* ---- objects ---------------------------------------------------------------------------------------------------- */

void spl_abc_add_object(spl_abc *abc, spl_abc_list *list, const char *name, spl_abc_meta meta, spl_ogawa_child object)
{
    (void)abc;
    size_t length = strlen(name);
    add_child(list, object);
    spl_ogawa_put_int(&list->headers, length, 4);
    spl_ogawa_put(&list->headers, name, length);
    spl_ogawa_put_int(&list->headers, (uint64_t)meta, 1);
}

spl_ogawa_child spl_abc_end_object(spl_abc *abc, spl_abc_list *list, spl_ogawa_child properties)
{
    static const uint8_t hashes[32]; /* of properties and of children: readers accept zeros */
    spl_abc_list whole = spl_abc_list_begin(abc);
    whole.headers = list->headers;
    add_child(&whole, properties);
    spl_ogawa_put(&whole.children, list->children.data, list->children.size);
    spl_ogawa_put(&whole.headers, hashes, sizeof hashes);
    note_bytes(abc, &list->children);
    spl_ogawa_bytes_free(&list->children);
    list->headers = no_bytes(abc); /* moved */
    return end_list(abc, &whole);
}

/* ---- the archive ------------------------------------------------------------------------------------------------ */

static void put_time_sampling(spl_ogawa_bytes *bytes, int32_t samples, double cycle)
{
    spl_ogawa_put_int(bytes, (uint64_t)samples, 4);
    spl_ogawa_put_f64(bytes, cycle);
    spl_ogawa_put_int(bytes, 1, 4);
    spl_ogawa_put_f64(bytes, 0);
}

void spl_abc_finish(spl_abc *abc, spl_ogawa_child top, int32_t frames, double fps)
{
    static const uint8_t version[4], library[4] = {10800 & 0xff, 10800 >> 8};
    static const char about[] = "_ai_AlembicVersion=Alembic 1.8.0;_ai_Application=Supple " SUPPLE_VERSION;
    spl_ogawa_bytes times = no_bytes(abc), table = no_bytes(abc);
    put_time_sampling(&times, 1, 1);
    put_time_sampling(&times, frames, 1 / fps);
    for (int i = 1; i < SPL_ABC_META_COUNT; i++) { /* the empty one is number 0 and not stored */
        size_t length = strlen(metadata[i]);
        spl_ogawa_put_int(&table, length, 1);
        spl_ogawa_put(&table, metadata[i], length);
    }
    note_bytes(abc, &times);
    note_bytes(abc, &table);
    spl_ogawa_child root[6];
    root[0] = put_data(abc, version, sizeof version);
    root[1] = put_data(abc, library, sizeof library);
    root[2] = top;
    root[3] = put_data(abc, about, sizeof about - 1);
    root[4] = put_data(abc, times.data, times.size);
    root[5] = put_data(abc, table.data, table.size);
    spl_ogawa_child group = put_group(abc, root, 6);
    spl_ogawa_bytes_free(&times);
    spl_ogawa_bytes_free(&table);
    if (abc->result == SUPPLE_OK) note(abc, spl_ogawa_end(&abc->file, group, abc->error));
}
