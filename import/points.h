/* What a file says about its surfaces before an importing library has split their vertices: control points in file
 * order and polygons over them. Our own small readers, because the library that does the rest keeps neither; so that
 * caches have one point for each of the file's, as Blender and Maya have.
 *
 * Files are untrusted: counts are bounded by the bytes that are there, and everything allocated can fail. */
#ifndef SUPPLE_IMPORT_POINTS_H
#define SUPPLE_IMPORT_POINTS_H

#include <supple/base.h>

/* One FBX Geometry, or one Collada <geometry>. */
typedef struct spl_surface {
    char *name; /* FBX: the Geometry's; Collada: its id; never NULL */
    int32_t point_count;
    double *point; /* 3 x point_count, finite */
    int32_t polygon_count;
    int32_t *first;  /* polygon_count + 1: where a polygon's corners begin; the last is the number of corners */
    int32_t *corner; /* indices below point_count */
    bool has_bind;   /* Collada: a skin places the points so before its joints move them */
    double bind[16]; /* row by row */
} spl_surface;

/* A node of the file that is a joint by the file's own word, weighted or not (FBX: LimbNode, Collada: type JOINT), and
 * for Collada every node: its id is what the importing library calls it. */
typedef struct spl_named {
    char *id, *name; /* FBX: the same text twice */
    bool joint;
} spl_named;

/* FBX: how many frames a second, by two properties of its GlobalSettings. */
typedef struct spl_rate {
    double mode, custom; /* TimeMode and CustomFrameRate; NAN where the file is silent */
    size_t at, size;     /* the bytes of TimeMode's value: a whole number of 4 or 8 bytes, or text; size 0: none */
    bool text;
} spl_rate;

typedef struct spl_points {
    supple_allocator allocator;
    double unit; /* Collada: metres a unit; 1 if it does not say */
    int up;      /* Collada: 0, 1 or 2 for x, y or z; y if it does not say */
    spl_rate rate;
    int32_t surface_count, node_count;
    spl_surface *surface;
    spl_named *node;
} spl_points;

/* Read a whole file from memory. SUPPLE_ERROR_INPUT with a reason (without the file's name) if it is damaged; *out is
 * then empty. To be released in the end. */
supple_result spl_points_read_fbx(const uint8_t *data, size_t size, const supple_allocator *a, spl_points *out,
                                  supple_error *error);
supple_result spl_points_read_collada(const uint8_t *data, size_t size, const supple_allocator *a, spl_points *out,
                                      supple_error *error);
void spl_points_release(spl_points *points);

/* Frames a second that an FBX file names; 0 where it names none that can be used: no mode, the default mode, one that
 * nobody knows, or a custom rate that is none. */
double spl_rate_fps(const spl_rate *rate);

/* Writes a mode that everybody knows (30 frames a second) over the one in the file's bytes. */
void spl_rate_mend(const spl_rate *rate, uint8_t *data);

/* ---- for the readers (points.c) ---- */

/* A new empty surface, a new node; NULL and SUPPLE_ERROR_MEMORY in *result if memory is out. Names are copied. */
spl_surface *spl_points_add_surface(spl_points *points, const char *name, size_t length, supple_error *error);
bool spl_points_add_node(spl_points *points, const char *id, size_t id_length, const char *name, size_t name_length,
                         bool joint, supple_error *error);

/* Numbers that grow as they are read. */
typedef struct spl_numbers {
    double *value;
    size_t count, room;
} spl_numbers;

bool spl_numbers_add(spl_numbers *numbers, double value, const supple_allocator *a);

/* Reads one number at *text, before `end`, whatever the locale; false if there is none. */
bool spl_number_read(const char **text, const char *end, double *out);

/* Fills a surface: points from 3 n numbers; polygons from corners and sizes. The numbers must be whole and in range. */
supple_result spl_surface_set_points(spl_surface *s, const double *value, size_t count, const supple_allocator *a,
                                     supple_error *error);
supple_result spl_surface_set_polygons(spl_surface *s, const spl_numbers *corner, const spl_numbers *size,
                                       const supple_allocator *a, supple_error *error);

/* The two forms of FBX: fbx_binary.c, fbx_text.c. */
supple_result spl_fbx_read_binary(const uint8_t *data, size_t size, spl_points *out, supple_error *error);
supple_result spl_fbx_read_text(const uint8_t *data, size_t size, spl_points *out, supple_error *error);

/* A property of GlobalSettings by its name; its value stands at these bytes. */
void spl_rate_note(spl_rate *rate, const char *name, size_t length, double value, size_t at, size_t size);

/* What both forms hand over: the contents of one Geometry of class Mesh; polygon ends are marked by ~index. */
supple_result spl_fbx_add_geometry(spl_points *out, const char *name, size_t length, const spl_numbers *vertices,
                                   const spl_numbers *indices, supple_error *error);

#endif
