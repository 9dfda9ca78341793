/* The parts of an upsampling map that its files share. */
#ifndef SPL_BODY_UPSAMPLE_MAP_H
#define SPL_BODY_UPSAMPLE_MAP_H

#include "body/upsample_fit.h"
#include "geom/geodesic.h"
#include "geom/tree.h"

#include <stdatomic.h>

/* ---- the map, as a frame reads it -------------------------------------------------------------------------------- */

/* Floats of a body vertex in a frame: point x y z 0, normal x y z 0. The point is relative to the first one. */
enum { SPL_UPSAMPLE_STRIDE = 8, SPL_UPSAMPLE_NORMAL = 4 };

/* Triangles at a body vertex come by as many, so that the processor foresees their number. */
enum { SPL_UPSAMPLE_FAN = 8 };

/* Entries of a vertex come in blocks, the last ones of weight 0 if need be. */
enum { SPL_UPSAMPLE_BLOCK = 4 };

/* One visual vertex. Entries are pairs (index, weight). */
typedef struct spl_upsample_vertex {
    uint32_t first;  /* its entries; those of vertices at one position are the same */
    uint32_t normal; /* its entries in normal_weight */
    int32_t frame;   /* its offset; -1: none; -2 - i: offset i, in frames that displace it */
    uint32_t count;  /* of entries; 0: it stays where it is */
} spl_upsample_vertex;

#define SPL_UPSAMPLE_NO_TANGENT UINT32_MAX

/* What the weights leave over at rest, in the axes of a patch's frame. */
typedef struct spl_upsample_offset {
    uint32_t tangent; /* its entries in tangent, or SPL_UPSAMPLE_NO_TANGENT: along the world's axes */
    float r[3];
    float rest[2][3]; /* the frame's tangents at rest */
} spl_upsample_offset;

/* A visual vertex without entries: it stays. */
typedef struct spl_upsample_fixed {
    int32_t vertex;
    float position[3], normal[3];
} spl_upsample_fixed;

struct spl_upsample {
    const spl_surface *surface;
    int32_t vertex_count;
    size_t entry_count, normal_count, tangent_count, offset_count;
    spl_upsample_vertex *vertex; /* vertex_count */
    uint32_t *index;             /* entry_count: SPL_UPSAMPLE_STRIDE times the surface vertex */
    float *weight;               /* entry_count: N */
    float *normal_weight;        /* normal_count: M */
    float *normal_offset;        /* 3 a visual vertex: s, in the frame's axes; all 0 without a frame */
    float *lift;                 /* by visual vertex: its displacement along the normal; NULL for all other kinds */
    float *tangent;              /* tangent_count: block by block, four of the first, four of the second tangent */
    spl_upsample_offset *offset; /* offset_count */
    int32_t fixed_count;
    spl_upsample_fixed *fixed; /* ascending */
    int32_t *source;           /* by surface vertex: an input vertex at its place */
    int32_t *fan_first;        /* by surface vertex, and one more: its triangles in `fan`, */
    int32_t *fan;              /* filled up to whole SPL_UPSAMPLE_FANs by triangle_count, which stands for none */
    bool has_normals;
    bool has_offsets; /* some vertices have one in every frame */
    spl_upsample_stats stats;
    supple_allocator allocator;
};

struct spl_upsample_frame {
    float *point;                      /* SPL_UPSAMPLE_STRIDE a surface vertex, aligned to 32 bytes */
    float *face;                       /* 4 a triangle: the area-weighted normal */
    const float *delta, *normal_delta; /* of spl_upsample_input, while a frame is made */
    float origin[3];
    spl_vec3 rest;       /* mean of the sampled surface vertices at rest */
    spl_mat3 shape;      /* sum over them of (x - rest)(x - rest)^T, */
    spl_mat3 unshape;    /* and its inverse, */
    bool solid;          /* if it has one */
    bool stretched;      /* the body as a whole is stretched by an affine motion, */
    float stretch[3][3]; /* by this */
    void *memory;
    supple_allocator allocator;
};

/* Deforms visual vertices [begin, end): the kernel and its 8-wide twin, which sums in a different order. */
void spl_upsample_vertices_scalar(const spl_upsample *u, const spl_upsample_frame *f, const spl_upsample_target *to,
                                  size_t begin, size_t end);
void spl_upsample_vertices_avx2(const spl_upsample *u, const spl_upsample_frame *f, const spl_upsample_target *to,
                                size_t begin, size_t end);

/* The body's faces and then its normals, out of its points. */
void spl_upsample_faces_scalar(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end);
void spl_upsample_faces_avx2(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end);
void spl_upsample_normals_scalar(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end);
void spl_upsample_normals_avx2(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end);

/* Of the kind with normals: where the base of x is, beginning from its nearest place, and how far x is above it; and,
 * with the normals of a frame, the displacement of visual vertices [begin, end) that have been placed without it. */
spl_place spl_upsample_normal_base(const spl_surface *s, const spl_place *nearest, spl_vec3 x, double *lift);
void spl_upsample_lift(const spl_upsample *u, const spl_upsample_frame *f, const spl_upsample_target *to, size_t begin,
                       size_t end);

/* Whether there are offsets, from the vertices. */
void spl_upsample_note_offsets(spl_upsample *u);

/* Fills `source`, `fan_first` and `fan`. */
supple_result spl_upsample_read_surface(spl_upsample *u, supple_error *error);

/* ---- while it is made -------------------------------------------------------------------------------------------- */

typedef enum spl_upsample_part {
    SPL_UPSAMPLE_SKIN,
    SPL_UPSAMPLE_FOLLOW, /* skin far from the body */
    SPL_UPSAMPLE_FIXED
} spl_upsample_part;

/* Distinct positions of the visual mesh and where they sit on the body. */
typedef struct spl_upsample_points {
    int32_t count;
    int32_t *of;          /* by visual vertex: its point */
    spl_vec3 *position;   /* count */
    spl_vec3 *normal;     /* count: the mean of the vertices'; 0 without */
    uint8_t *part;        /* count: spl_upsample_part */
    int32_t *component;   /* count: the connected piece of the visual mesh, by its lowest point */
    uint8_t *redirect;    /* count: its normal may send it elsewhere; then, that it did */
    spl_place *place;     /* count */
    double *distance;     /* count: to the place */
    const spl_tree *tree; /* of the surface */
    double mean_edge;     /* of the surface */
    int32_t *first;       /* count + 1: the visual vertices at a point, in `vertex` */
    int32_t *vertex;
    const spl_upsample_visual *visual;
    const int32_t *source; /* by surface vertex: an input vertex at its place */
    uint8_t *refused;      /* count: the nearest place was not accepted, and another was found */
} spl_upsample_points;

/* Working memory of geodesic searches, one per thread. Which one a piece of work gets does not matter. */
typedef struct spl_upsample_searches {
    int32_t count;
    spl_geodesic *geodesic;
    atomic_bool *busy;
} spl_upsample_searches;

supple_result spl_upsample_searches_make(int32_t count, int32_t vertex_count, const supple_allocator *a,
                                         spl_upsample_searches *out, supple_error *error);
void spl_upsample_searches_release(spl_upsample_searches *s, const supple_allocator *a);

/* One that nobody uses, until it is given back. The pool runs no more pieces at once than it has threads. */
spl_geodesic *spl_upsample_searches_claim(const spl_upsample_searches *s);
void spl_upsample_searches_return(const spl_upsample_searches *s, const spl_geodesic *g);

/* Connected pieces of the visual mesh into `component`. */
void spl_upsample_connect(const spl_upsample_visual *visual, spl_upsample_points *p);

/* Projects every point on the surface and applies the rule of the normals. */
supple_result spl_upsample_place(const spl_surface *s, spl_upsample_points *p, const spl_upsample_searches *searches,
                                 spl_pool *pool, const supple_allocator *a, supple_error *error);

/* Fits every point and fills the map's vertices, entries and offsets. */
supple_result spl_upsample_fit(spl_upsample *u, const spl_upsample_visual *visual, const spl_upsample_options *options,
                               const spl_upsample_points *p, const spl_upsample_searches *searches, spl_pool *pool,
                               supple_error *error);

#endif
