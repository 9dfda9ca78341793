/* Settings by name: of the method, of all methods that move a body, and of skin that slides. */
#ifndef SPL_SIM_PARAMETERS_H
#define SPL_SIM_PARAMETERS_H

#include "sim/sim.h"

/* What all methods that move a body understand, into sim->common: it shapes the body's set-up, so it is read first. */
supple_result spl_sim_set_common(supple_sim *sim, const supple_sim_config *sc, supple_error *error);

/* The method's own and the sliding skin's, once the method is known. SUPPLE_ERROR_ARGUMENT for a name that none has. */
supple_result spl_sim_set_parameters(supple_sim *sim, const supple_sim_config *sc, supple_error *error);

/* The value that a parameter of a method will have, before the method's are read; 0 where it has none of that name or
 * the setting is none. */
double spl_sim_peek(const spl_method *method, const supple_sim_config *sc, const char *name);

#endif
