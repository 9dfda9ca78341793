/* From a simulated body's surface to the visual mesh: moving least squares, computed once, applied every frame.
 *
 * Komaritzan and Botsch, "Fast Projective Skinning", 2019, section 5: the position of a visual vertex j is a fixed
 * combination of the deformed positions of the k body vertices nearest to it along the surface (eq. 8), its normal
 * another one of their normals:
 *
 *     x'_j = sum_i N_ij x'_i + Q'_j (r_j + d_j)         n'_j = unit(sum_i M_ij n'_i + Q'_j s_j)
 *
 * N reproduces quadratic motions (M linear ones), as far as the neighbours determine them. r_j is what N cannot
 * reproduce at rest: an offset off a patch that is too flat to say how space moves above it. (A paraboloid that bends
 * more is, for a linear fit, the same as space stretched along its normal: offsets would grow with the curvature.) It
 * is carried by a *rotation*, the frame Q'_j of the patch's deformed tangents, so that it keeps its length. Offsets of
 * the order of the patch's own thickness are part of N instead; in between one fades into the other. Where the body as
 * a whole moves affinely, that motion stretches the offsets too. So rest is reproduced, and rigid and affine motions of
 * the body are exact. d_j is by how much morph targets displace the vertex,
 * if they do.
 *
 * How a vertex finds its place on the body:
 *   - It is projected to the nearest point of the surface, and neighbours are counted from there by geodesic distance.
 *   - Where the surface there is turned from the vertex's own normal by more than 60 degrees, it may belong to another
 *     limb. Then the place with the least sum of distance and e (1 - cos) / 2 is sought, cos being the agreement of
 *     both normals and e the body's mean edge, up to 2 e farther away; it is taken if it is elsewhere: farther from the
 *     nearest place along the surface than 2.5 times through space. Details of the visual mesh are thus left where they
 *     are, and parts most of whose normals face away (turned inside out) do not ask at all.
 *   - A neighbour much nearer through space than along the surface (2.5 times; 1.15 times if the two face each other,
 * with air between them) lies across a gap, on the next finger: it is dropped, and one farther along is taken instead.
 * Vertices at one position are one: duplicates at seams come out with the same bits.
 *
 * Skin that lies farther off than its patch is wide follows: it gets a wider, linear patch and carries its whole offset
 * in its frame. What is no skin of the flesh (hair, eyes, teeth) does not come here: it rides (riders.h). */
#ifndef SPL_BODY_UPSAMPLE_H
#define SPL_BODY_UPSAMPLE_H

#include "core/threads.h"
#include "geom/surface.h"

typedef enum spl_upsample_kind {
    SPL_UPSAMPLE_QUADRATIC,
    SPL_UPSAMPLE_LINEAR,
    SPL_UPSAMPLE_BARYCENTRIC,  /* corners of the nearest triangle and a displacement in its frame: the paper's figure 5d
                                */
    SPL_UPSAMPLE_ALONG_NORMAL, /* a point of a triangle and a displacement along the normal interpolated there:
                            Projective Skinning's. What no such normal reaches is left to the triangle's frame. Rigid
                            motions are exact; displacements do not stretch with affine ones */
} spl_upsample_kind;

enum { SPL_UPSAMPLE_MOST_NEIGHBOURS = 64 };

typedef struct spl_upsample_options {
    spl_upsample_kind kind;
    int32_t neighbours; /* k, 3 to SPL_UPSAMPLE_MOST_NEIGHBOURS */
    bool normals;       /* prepare for normals too, if the visual mesh has them */
} spl_upsample_options;

/* Quadratic, k = 20, with normals. */
spl_upsample_options spl_upsample_options_default(void);

/* Whether a visual vertex may sit on a body's vertex (by the number in the arrays that the surface was made from).
 * Where limbs overlap in the body, the nearest place is not always one of the vertex's own limb. Called from several
 * threads. */
typedef bool spl_upsample_accept(const void *context, int32_t visual, int32_t body);

/* The visual mesh at rest, in the body's space. Only read during creation. Any soup will do. */
typedef struct spl_upsample_visual {
    int32_t vertex_count;
    const float *position; /* 3 a vertex */
    const float *normal;   /* 3 a vertex, or NULL */
    int32_t triangle_count;
    const int32_t *triangle;     /* 3 a triangle: which vertices hang together; may be NULL */
    const bool *morphs;          /* by vertex: some frame may displace it (spl_upsample_input); NULL: none will be */
    spl_upsample_accept *accept; /* NULL: the nearest place will do */
    const void *accept_context;
} spl_upsample_visual;

/* What came of it. Vertices here are distinct positions. */
typedef struct spl_upsample_stats {
    int32_t vertices, skin, follow;              /* distinct positions, and what became of them */
    int32_t quadratic, reduced, linear, corners; /* skin by kind of fit: whole; some directions left out, because the
                                                    neighbours do not determine them; linear only; triangle's corners */
    int32_t framed;                              /* skin with an offset that follows rotations only */
    int32_t redirected;                          /* placed by the rule of the normals */
    int32_t refused;                             /* placed elsewhere than nearest, because that was not accepted */
    int32_t dropped;                             /* neighbours across a gap */
    double largest_gain;                         /* max over skin of sum_i |N_ij|; 1 for an average */
    double largest_offset;                       /* of a skin vertex from the body's surface */
} spl_upsample_stats;

typedef struct spl_upsample spl_upsample;

/* Prepares a map from a body's surface to a visual mesh. `surface` must outlive it. Vertices that are not finite stay
 * where they are. SUPPLE_ERROR_ARGUMENT for options out of range, SUPPLE_ERROR_INPUT for a surface without triangles,
 * SUPPLE_ERROR_MEMORY; *out is then NULL. The same bits at any number of threads. */
supple_result spl_upsample_create(const spl_surface *surface, const spl_upsample_visual *visual,
                                  const spl_upsample_options *options, spl_pool *pool, const supple_allocator *a,
                                  spl_upsample **out, supple_error *error);
void spl_upsample_destroy(spl_upsample *u); /* accepts NULL */
/* The same map from a surface with the same vertices, triangles and corners, whose input may be numbered otherwise. */
supple_result spl_upsample_copy(const spl_upsample *from, const spl_surface *surface, const supple_allocator *a,
                                spl_upsample **out, supple_error *error);
spl_upsample_stats spl_upsample_get_stats(const spl_upsample *u);

/* The neighbours of a visual vertex: surface vertices and their weights in N; returns how many (at most `capacity`).
 * None for one that stays. For tests and pictures. */
int32_t spl_upsample_weights(const spl_upsample *u, int32_t vertex, int32_t capacity, int32_t *index, float *weight);

/* Room for one frame; one per simulation, so that several may share a map. */
typedef struct spl_upsample_frame spl_upsample_frame;
supple_result spl_upsample_frame_create(const spl_upsample *u, const supple_allocator *a, spl_upsample_frame **out,
                                        supple_error *error);
void spl_upsample_frame_destroy(spl_upsample_frame *f); /* accepts NULL */

/* Where visual vertices go; strides in bytes, at least 12. */
typedef struct spl_upsample_target {
    float *position;
    size_t position_stride;
    float *normal; /* or NULL; left alone if the map has no normals */
    size_t normal_stride;
} spl_upsample_target;

/* One frame. `body` holds the deformed positions of the vertices that the surface was made from (3 a vertex, in the
 * input's numbering: a tet mesh's own array will do). Allocates nothing; the same bits at any number of threads. Never
 * NaN for finite positions. */
void spl_upsample_apply(const spl_upsample *u, spl_upsample_frame *f, spl_pool *pool, const double *body,
                        const spl_upsample_target *to);
void spl_upsample_apply_float(const spl_upsample *u, spl_upsample_frame *f, spl_pool *pool, const float *body,
                              const spl_upsample_target *to);

/* What a frame is made of. Morph targets displace visual vertices at rest by d_j; d_j then turns with r_j, in Q'_j:
 * where the body moves rigidly, the displaced mesh does. Vertices that
 * visual->morphs did not announce have no frame unless their offset needs one, and are displaced along the world's
 * axes. Displacements that are zero change no bit. */
typedef struct spl_upsample_input {
    const double *body;        /* as for spl_upsample_apply; */
    const float *body_float;   /* or these: one of the two is NULL */
    const float *delta;        /* 3 a visual vertex: d_j, in the space of visual->position; NULL: none */
    const float *normal_delta; /* 3 a visual vertex: to be added to the normals at rest; NULL: none */
} spl_upsample_input;

void spl_upsample_apply_input(const spl_upsample *u, spl_upsample_frame *f, spl_pool *pool,
                              const spl_upsample_input *in, const spl_upsample_target *to);

#endif
