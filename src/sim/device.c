#include "sim/device.h"

#include "core/error.h"
#include "methods/projective/projective.h"

#include <string.h>

/* cpu, cl or cl:N; what there is of them is another question. */
static bool is_name(const char *name)
{
    if (!name || strcmp(name, "cpu") == 0 || strcmp(name, "cl") == 0) return true;
    return strncmp(name, "cl:", 3) == 0 && name[3] && strspn(name + 3, "0123456789") == strlen(name + 3);
}

supple_result spl_sim_device_take(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    bool named = sc->device && strcmp(sc->device, "cpu") != 0, uses = sim->method == &spl_method_projective;
    if (!is_name(sc->device))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "device '%.40s' is unknown; there are cpu, cl and cl:N",
                        sc->device);
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
    supple_device_close(sim->own_device);
    sim->device = sim->own_device = NULL;
}

bool supple_sim_on_device(const supple_sim *sim)
{
    return sim->device && spl_projective_on_device(sim->state);
}
