#include "body/tets_store.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

enum { MOST = INT32_MAX / 4 }; /* vertices and tets: faces are numbered in 31 bits */

supple_result spl_tets_put(spl_store_writer *writer, const spl_tets *tets, supple_error *error)
{
    supple_result result =
        spl_store_add(writer, "tets/position", SPL_STORE_F64, 3, (size_t)tets->vertex_count, tets->position, error);
    if (!result)
        result = spl_store_add(writer, "tets/tet", SPL_STORE_I32, 4, (size_t)tets->tet_count, tets->tet, error);
    if (!result)
        result =
            spl_store_add(writer, "tets/surface", SPL_STORE_I32, 3, (size_t)tets->surface_count, tets->surface, error);
    return result;
}

static supple_result copy_arrays(const supple_allocator *a, spl_tets *out, const void *position, const void *tet,
                                 const void *surface, supple_error *error)
{
    int32_t triangles = out->surface_count;
    if (!spl_tets_create(out, out->vertex_count, out->tet_count, a)) return spl_fail_memory(error, "stored tets");
    memcpy(out->position, position, (size_t)out->vertex_count * sizeof *out->position);
    memcpy(out->tet, tet, (size_t)out->tet_count * 4 * sizeof *out->tet);
    out->surface = spl_new(a, (size_t)triangles, 3 * sizeof *out->surface);
    if (!out->surface) return spl_fail_memory(error, "a stored surface");
    memcpy(out->surface, surface, (size_t)triangles * 3 * sizeof *out->surface);
    out->surface_count = triangles;
    for (int32_t t = 0; t < out->tet_count; t++)
        if (!(spl_tets_volume(out, t) > 0))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "stored tet %d has no positive volume", (int)t + 1);
    return SUPPLE_OK;
}

supple_result spl_tets_take(const spl_store_reader *reader, const supple_allocator *a, spl_tets *out,
                            supple_error *error)
{
    *out = (spl_tets){0};
    const void *position, *tet, *surface;
    size_t vertices, tets, triangles;
    spl_store_want want = {"tets/position", SPL_STORE_F64, 3, 4, MOST, 0, 0, true};
    supple_result result = spl_store_get(reader, &want, &position, &vertices, error);
    if (result) return result;
    want = (spl_store_want){"tets/tet", SPL_STORE_I32, 4, 1, MOST, 0, (int64_t)vertices - 1, false};
    result = spl_store_get(reader, &want, &tet, &tets, error);
    if (result) return result;
    want = (spl_store_want){"tets/surface", SPL_STORE_I32, 3, 0, 4 * tets, 0, (int64_t)vertices - 1, false};
    result = spl_store_get(reader, &want, &surface, &triangles, error);
    if (result) return result;
    out->vertex_count = (int32_t)vertices;
    out->tet_count = (int32_t)tets;
    out->surface_count = (int32_t)triangles;
    result = copy_arrays(a, out, position, tet, surface, error);
    if (result) spl_tets_release(out);
    return result;
}
