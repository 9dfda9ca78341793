/* Texture coordinates that slide with the frames, for formats whose faces are polygons and may be turned round. */
#ifndef SPL_SCENE_WRITERS_SLID_H
#define SPL_SCENE_WRITERS_SLID_H

#include "scene/scene.h"

/* Which corner of the triangles each corner of the written faces takes its value from. */
typedef struct spl_slid {
    const supple_scene *scene;
    size_t *first_corner; /* instance_count + 1: of the triangles, in a frame's corner_uv */
    size_t *first_face;   /* instance_count + 1: where an instance's faces begin in `corner` */
    int32_t *corner;      /* of the instance's triangles, from 0; -1 where no triangle has the face's corner */
    bool *moves;          /* instance_count: some frame that was noted differs from the file's coordinates */
    float *row;           /* room: 2 floats a face corner of the largest instance */
} spl_slid;

/* A polygon's corner takes the value of the first of its own triangles that has it, so that a polygon which the skin
 * carries over a seam stays in one piece. */
supple_result spl_slid_init(spl_slid *slid, const supple_scene *scene, const supple_allocator *a, supple_error *error);
void spl_slid_release(spl_slid *slid, const supple_allocator *a);

/* Notes which instances' coordinates are not the file's own in a frame. */
void spl_slid_note(spl_slid *slid, const float *corner_uv);

/* Fills `row` with the texture coordinates of an instance's face corners, v upwards, faces turned round where `turned`;
 * `corner_uv` begins at the instance. Returns how many corners. */
size_t spl_slid_rows(const spl_slid *slid, int32_t instance, const float *corner_uv, bool turned);

#endif
