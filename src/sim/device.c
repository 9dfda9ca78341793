#include "sim/device.h"

#include "core/error.h"
#include "core/memory.h"
#include "methods/projective/cl/visual.h"
#include "methods/projective/projective.h"

#include <string.h>

/* cpu, cl or cl:N; what there is of them is another question. */
static bool is_name(const char *name)
{
    if (!name || strcmp(name, "cpu") == 0 || strcmp(name, "cl") == 0) return true;
    return strncmp(name, "cl:", 3) == 0 && name[3] && strspn(name + 3, "0123456789") == strlen(name + 3);
}

supple_result spl_sim_device_check(const supple_sim_config *sc, supple_error *error)
{
    if (is_name(sc->device)) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "device '%.40s' is unknown; there are cpu, cl and cl:N", sc->device);
}

supple_result spl_sim_device_take(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    bool named = sc->device && strcmp(sc->device, "cpu") != 0, uses = sim->method == &spl_method_projective;
    if (!named && !sc->shared_device) return SUPPLE_OK;
    if (!uses) {
        spl_log(&sim->config, SUPPLE_LOG_WARNING, "device: method %s runs on the processor; projective uses a device",
                sim->method->name);
        return SUPPLE_OK;
    }
    sim->device = sc->shared_device;
    if (sim->device) return SUPPLE_OK;
    supple_error failed = {0};
    supple_result result = supple_device_open(sc->device, &sim->config, &sim->own_device, &failed);
    sim->device = sim->own_device;
    if (result == SUPPLE_OK)
        spl_log(&sim->config, SUPPLE_LOG_INFO, "device: %s", supple_device_name(sim->device));
    else if (result == SUPPLE_ERROR_SOLVE)
        spl_log(&sim->config, SUPPLE_LOG_WARNING, "device: %s; the processor does it", failed.message);
    if (result == SUPPLE_OK || result == SUPPLE_ERROR_SOLVE) return SUPPLE_OK;
    if (error) *error = failed;
    return result;
}

void spl_sim_device_release(supple_sim *sim)
{
    spl_cl_visual_destroy(sim->visual);
    spl_free(&sim->allocator, sim->shown);
    sim->visual = NULL;
    sim->shown = NULL;
    supple_device_close(sim->own_device);
    sim->device = sim->own_device = NULL;
}

bool supple_sim_on_device(const supple_sim *sim)
{
    return sim->device && spl_projective_on_device(sim->state);
}

/* ---- the visual mesh there ---- */

static supple_result no_device(supple_error *error)
{
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "the simulation has no device, or its mesh is not there yet");
}

/* Vertices that are not upsampled. */
static void mark_fixed(const supple_sim *sim, bool *fixed)
{
    for (int32_t v = 0; v < sim->scene->vertex_count; v++) fixed[v] = !sim->flesh.body->lifted[v];
}

static supple_result make_visual(supple_sim *sim, supple_error *error)
{
    size_t n = (size_t)sim->scene->vertex_count;
    bool *fixed = spl_new(&sim->allocator, n, sizeof *fixed);
    if (!sim->shown) sim->shown = spl_new(&sim->allocator, n, 3 * sizeof *sim->shown);
    supple_result result = fixed && sim->shown ? SUPPLE_OK : spl_fail_memory(error, "the device's mesh");
    if (result == SUPPLE_OK) {
        mark_fixed(sim, fixed);
        result =
            spl_cl_visual_create(sim->device, sim->flesh.body->upsample, fixed, &sim->allocator, &sim->visual, error);
    }
    spl_free(&sim->allocator, fixed);
    return result;
}

/* What has failed is dropped: supple_sim_device_show may try again. */
static supple_result keep_visual(supple_sim *sim, supple_result result)
{
    if (result == SUPPLE_OK) return result;
    spl_cl_visual_destroy(sim->visual);
    sim->visual = NULL;
    return result;
}

supple_result supple_sim_device_show(supple_sim *sim, supple_error *error)
{
    const spl_flesh_sim *f = &sim->flesh;
    if (!sim->device) return no_device(error);
    supple_result result = sim->visual ? SUPPLE_OK : make_visual(sim, error);
    if (result != SUPPLE_OK) return result;
    supple_sim_read_normals(sim, sim->shown, 3 * sizeof *sim->shown);
    bool taken = f->delta || f->polish || sim->amount.take >= 0 || (sim->amount.on && !sim->amount.all) ||
                 !spl_cl_visual_has_normals(sim->visual);
    spl_cl_visual_frame frame = {.posed = f->posed,
                                 .frame = f->rides,
                                 .scale = (float)spl_drive_world_scale(&f->solid.drive),
                                 .position = sim->position,
                                 .normal = sim->shown};
    result = taken ? spl_cl_visual_take(sim->visual, sim->position, sim->shown, error)
                   : spl_cl_visual_run(sim->visual, &frame, error);
    return keep_visual(sim, result);
}

void *supple_sim_device_positions(const supple_sim *sim)
{
    return sim->visual ? spl_cl_visual_positions(sim->visual) : NULL;
}

void *supple_sim_device_normals(const supple_sim *sim)
{
    return sim->visual ? spl_cl_visual_normals(sim->visual) : NULL;
}

supple_result supple_sim_copy_start(supple_sim *sim, float *positions, float *normals, supple_error *error)
{
    if (!sim->visual) return no_device(error);
    return keep_visual(sim, spl_cl_visual_copy(sim->visual, positions, normals, error));
}

supple_result supple_sim_copy_finish(supple_sim *sim, supple_error *error)
{
    if (!sim->visual) return no_device(error);
    return keep_visual(sim, spl_cl_visual_wait(sim->visual, error));
}
