/* The device of a simulation: opened, or the host's own. */
#ifndef SPL_SIM_DEVICE_H
#define SPL_SIM_DEVICE_H

#include "sim/sim.h"

#include <supple/device.h>

/* SUPPLE_ERROR_ARGUMENT for a name that no device can have. */
supple_result spl_sim_device_check(const supple_sim_config *sc, supple_error *error);

/* Takes the config's device, or opens what it names, into sim->device; none for "cpu", for a method that has no use for
 * one, and, with a warning, where there is none. */
supple_result spl_sim_device_take(supple_sim *sim, const supple_sim_config *sc, supple_error *error);

/* Closes it if it was opened here. */
void spl_sim_device_release(supple_sim *sim);

#endif
