/* Collider files: spheres, capsules and planes of the world, and how they move (docs/dynamics.md).
 *
 *     {"colliders": [{"sphere": {"center": [0, 1, 0], "radius": 0.2},
 *                     "keys": [{"time": 0, "move": [0, 0, 0]}, {"time": 1, "move": [1, 0, 0], "turn": [0, 0, 0, 1]}]},
 *                    {"capsule": {"from": [0, 0, 0], "to": [0, 1, 0], "radius": 0.1}},
 *                    {"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}]} */
#ifndef SPL_CONTACT_COLLIDER_FILE_H
#define SPL_CONTACT_COLLIDER_FILE_H

#include "contact/collider.h"
#include "math/quat.h"

/* Where a thing is at a time: turned about its middle (a plane's point), then moved. */
typedef struct spl_collider_key {
    double time; /* seconds */
    spl_vec3 move;
    spl_quat turn;
} spl_collider_key;

typedef struct spl_collider_item {
    spl_collider_shape shape;
    int32_t key_count; /* 0: it does not move */
    spl_collider_key *key;
} spl_collider_item;

typedef struct spl_collider_file {
    supple_allocator allocator;
    int32_t count;
    spl_collider_item *item;
} spl_collider_file;

/* Reads a collider file, from memory or from disk. SUPPLE_ERROR_INPUT names file, collider and key;
 * SUPPLE_ERROR_MEMORY. On failure *out is zero. */
supple_result spl_collider_file_parse(const void *text, size_t size, const char *name, const supple_allocator *a,
                                      spl_collider_file *out, supple_error *error);
supple_result spl_collider_file_load(const char *path, const supple_allocator *a, spl_collider_file *out,
                                     supple_error *error);
void spl_collider_file_release(spl_collider_file *file); /* accepts a zeroed one */

/* The shape at a time; before the first key and after the last one as there. */
spl_collider_shape spl_collider_item_at(const spl_collider_item *item, double time);

#endif
