/* libFuzzer on the readers of control points: FBX, binary and text, and Collada (told by a first '<'). Whatever is
 * accepted must hold together. `make fuzz` runs it. */
#include "points.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) abort();
}

static void check_surface(const spl_surface *s)
{
    require(s->name && s->point_count >= 0 && s->polygon_count >= 0);
    for (size_t i = 0; i < 3 * (size_t)s->point_count; i++) require(isfinite(s->point[i]));
    for (int32_t i = 0; i < s->polygon_count; i++) require(s->first[i] <= s->first[i + 1]);
    for (int32_t i = 0; i < s->first[s->polygon_count]; i++)
        require(s->corner[i] >= 0 && s->corner[i] < s->point_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_points p;
    supple_result result = size && data[0] == '<' ? spl_points_read_collada(data, size, &a, &p, &error)
                                                  : spl_points_read_fbx(data, size, &a, &p, &error);
    if (result != SUPPLE_OK) { /* a refusal comes with a reason, in one line, and leaves nothing */
        require(error.code == result && error.message[0] && !strchr(error.message, '\n') && !p.surface && !p.node);
        return 0;
    }
    for (int32_t i = 0; i < p.surface_count; i++) check_surface(&p.surface[i]);
    for (int32_t i = 0; i < p.node_count; i++) require(p.node[i].id && p.node[i].name);
    spl_points_release(&p);
    return 0;
}
