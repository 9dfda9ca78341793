/* Alembic's properties and objects on top of Ogawa. Layouts as the Alembic library reads them:
 *   compound property  a group of the properties in it, then data of their headers
 *   scalar property    a group of one data a stored sample; an array property has two, the values and the dimensions
 *   object             a group of its properties, its children, then data of the children's headers and 32 bytes of
 * hashes
 *
 * The first failure is kept in the archive; calls after it do nothing. */
#ifndef SPL_SCENE_WRITERS_ALEMBIC_H
#define SPL_SCENE_WRITERS_ALEMBIC_H

#include "scene/writers/ogawa.h"

/* Types of numbers, by Alembic's codes. */
typedef enum spl_abc_pod { SPL_ABC_BOOL = 0, SPL_ABC_I32 = 6, SPL_ABC_F32 = 10, SPL_ABC_F64 = 11 } spl_abc_pod;
typedef enum spl_abc_kind { SPL_ABC_COMPOUND, SPL_ABC_SCALAR, SPL_ABC_ARRAY } spl_abc_kind;

/* The metadata of everything we write; headers refer to them by number. */
typedef enum spl_abc_meta {
    SPL_ABC_META_NONE,
    SPL_ABC_META_XFORM_OBJECT,
    SPL_ABC_META_XFORM,
    SPL_ABC_META_MESH_OBJECT,
    SPL_ABC_META_MESH,
    SPL_ABC_META_FACE_SET_OBJECT,
    SPL_ABC_META_FACE_SET,
    SPL_ABC_META_BOX,
    SPL_ABC_META_POINT,
    SPL_ABC_META_NORMAL,        /* of points */
    SPL_ABC_META_CORNER_NORMAL, /* of the faces' corners */
    SPL_ABC_META_UV,
    SPL_ABC_META_COUNT
} spl_abc_meta;

typedef struct spl_abc {
    spl_ogawa file;
    const supple_allocator *allocator;
    supple_result result;
    supple_error *error; /* of the call under way; may be NULL */
} spl_abc;

/* Values of a property over time. A sample equal to the one before it is not stored again. */
typedef struct spl_abc_series {
    spl_ogawa_child *sample; /* one a frame */
    int32_t count;
    uint8_t last[16]; /* key of the latest */
    bool changes;
} spl_abc_series;

/* The properties of a compound, or the children of an object, as they come. */
typedef struct spl_abc_list {
    spl_ogawa_bytes children; /* spl_ogawa_child each */
    spl_ogawa_bytes headers;
} spl_abc_list;

typedef struct spl_abc_property {
    const char *name;
    spl_abc_kind kind;
    spl_abc_pod pod;
    int extent; /* numbers in an element */
    spl_abc_meta meta;
} spl_abc_property;

spl_abc_list spl_abc_list_begin(const spl_abc *abc);

/* Adds the next sample of a series that has room for it. */
void spl_abc_record(spl_abc *abc, spl_abc_series *series, const void *bytes, size_t size);

/* Adds a property: one that changes with the frames; one constant value; a compound. */
void spl_abc_add_series(spl_abc *abc, spl_abc_list *list, const spl_abc_property *property,
                        const spl_abc_series *series);
void spl_abc_add_value(spl_abc *abc, spl_abc_list *list, const spl_abc_property *property, const void *bytes,
                       size_t size);
void spl_abc_add_compound(spl_abc *abc, spl_abc_list *list, const char *name, spl_abc_meta meta,
                          spl_ogawa_child compound);

/* Ends a compound; frees the list. */
spl_ogawa_child spl_abc_end_compound(spl_abc *abc, spl_abc_list *list);

/* Adds a child to the list of an object's children, and ends such a list with the object's properties; frees it. */
void spl_abc_add_object(spl_abc *abc, spl_abc_list *list, const char *name, spl_abc_meta meta, spl_ogawa_child object);
spl_ogawa_child spl_abc_end_object(spl_abc *abc, spl_abc_list *list, spl_ogawa_child properties);

/* Writes the root over the top object, with one uniform time sampling of `frames` besides the default, and seals the
 * file. */
void spl_abc_finish(spl_abc *abc, spl_ogawa_child top, int32_t frames, double fps);

#endif
