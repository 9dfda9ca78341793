/* Control points read from any bytes, FBX, binary and text, and Collada (told by a first '<'): whatever is accepted
 * must hold together. Shared by the fuzzer and by the test that replays its corpus. */
#ifndef SPL_TESTS_FUZZ_READ_POINTS_H
#define SPL_TESTS_FUZZ_READ_POINTS_H

#include "core/memory.h"
#include "points.h"
#include "require.h"

#include <math.h>
#include <string.h>

static inline void points_check_surface(const spl_surface *s)
{
    FUZZ_REQUIRE(s->name && s->point_count >= 0 && s->polygon_count >= 0);
    for (size_t i = 0; i < 3 * (size_t)s->point_count; i++) FUZZ_REQUIRE(isfinite(s->point[i]));
    for (int32_t i = 0; i < s->polygon_count; i++) FUZZ_REQUIRE(s->first[i] <= s->first[i + 1]);
    for (int32_t i = 0; i < s->first[s->polygon_count]; i++)
        FUZZ_REQUIRE(s->corner[i] >= 0 && s->corner[i] < s->point_count);
}

/* Whether the bytes are such a file. */
static inline bool points_exercise(const uint8_t *data, size_t size)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_points p;
    supple_result result = size && data[0] == '<' ? spl_points_read_collada(data, size, &a, &p, &error)
                                                  : spl_points_read_fbx(data, size, &a, &p, &error);
    if (result != SUPPLE_OK) { /* a refusal comes with a reason, in one line, and leaves nothing */
        FUZZ_REQUIRE(error.code == result && error.message[0] && !strchr(error.message, '\n') && !p.surface && !p.node);
        return false;
    }
    for (int32_t i = 0; i < p.surface_count; i++) points_check_surface(&p.surface[i]);
    for (int32_t i = 0; i < p.node_count; i++) FUZZ_REQUIRE(p.node[i].id && p.node[i].name);
    spl_points_release(&p);
    return true;
}

#endif
