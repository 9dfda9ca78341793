/* Pictures of a scene: one deformed frame from one camera, lit like a studio photograph. No GPU and no window system;
 * the same bytes at any number of threads. */
#ifndef SPL_SHOW_SHOW_H
#define SPL_SHOW_SHOW_H

#include "core/threads.h"
#include "scene/image.h"
#include "scene/scene.h"
#include "show/camera.h"
#include "show/texture.h"

/* Something to draw. Colours are in linear light. */
typedef struct spl_draw {
    const float *position;   /* 3 a vertex, world space */
    const float *normal;     /* 3 a vertex, or NULL: faceted */
    const float *uv;         /* 2 a vertex, or NULL */
    const float *corner_uv;  /* 2 a triangle corner, or NULL; instead of `uv` */
    const float *color;      /* 3 a vertex, or NULL; replaces base colour and texture */
    const int32_t *triangle; /* 3 a triangle */
    int32_t triangle_count;
    float base_color[4];
    const spl_texture *texture; /* or NULL */
    spl_alpha alpha;
    float alpha_cutoff;
} spl_draw;

typedef struct spl_show_options {
    int32_t width, height;     /* pixels, 1 to 8192 */
    bool wireframe;            /* draw the triangles' edges over the shading */
    bool flat;                 /* `flat_color` instead of materials */
    float flat_color[3];       /* linear light */
    const float *vertex_color; /* 3 a vertex of the scene (linear light), or NULL: heat maps */
    const float *corner_uv;    /* 2 a corner of the scene's triangles, or NULL: textures that have slid */
    bool ground;               /* shadow and a faint grid on the floor */
    double ground_y;           /* its height; NAN: the lowest point drawn */
    bool grid;                 /* lines on the floor */
    double grid_step;          /* their distance, world units; 0: chosen from the size of what is drawn */
    int32_t shadow_side;       /* pixels a side of the shadow's map; 0: chosen from the picture's size */
} spl_show_options;

/* A round distance for the floor's lines, for something of this size. */
double spl_show_grid_step(double size);

/* 720 x 960, materials, floor and grid. */
spl_show_options spl_show_options_default(void);

/* Renders any meshes. The pixels are opaque and freed with spl_pixels_free. `pool` may be NULL. */
supple_result spl_show_draw(const spl_draw *draws, int32_t draw_count, const spl_camera *camera,
                            const spl_show_options *options, spl_pool *pool, const supple_allocator *a, spl_pixels *out,
                            supple_error *error);

/* A scene ready to be drawn: its textures decoded once, its primitives listed. Must not outlive the scene. */
typedef struct spl_show {
    supple_allocator allocator;
    const supple_scene *scene;
    spl_pool *pool;
    spl_texture *texture; /* image_count; level_count 0 where there is none */
    int32_t draw_count;
    spl_draw *draw;        /* without position, normal and colour */
    int32_t *first_vertex; /* draw_count: in output order */
    size_t *first_corner;  /* draw_count: in the scene's list of triangles */
} spl_show;

/* Images that cannot be decoded give a warning in the log and the plain base colour. */
supple_result spl_show_init(spl_show *show, const supple_scene *scene, const supple_config *config,
                            supple_error *error);
void spl_show_release(spl_show *show);

/* The box of a frame, and a frame less `shift` for a camera to see: of the vertices that triangles use, for helpers
 * that nothing shows must not move the camera. */
spl_box spl_show_box(const spl_show *show, const float *position);
void spl_show_frame(const spl_show *show, const float *position, spl_vec3 shift, spl_framing *framing);

/* Renders one frame: 3 floats a vertex for positions and normals, in output order, world space. `normal` may be NULL.
 */
supple_result spl_show_render(spl_show *show, const float *position, const float *normal, const spl_camera *camera,
                              const spl_show_options *options, spl_pixels *out, supple_error *error);

#endif
