/* What "auto" means: the method for a character, by what was asked for, by size, and by the time a frame may take.
 *
 * The choice rests on counts and on a fixed table of costs, never on a clock: the same input gives the same choice on
 * every machine and at any number of threads. */
#ifndef SPL_SIM_CHOOSE_H
#define SPL_SIM_CHOOSE_H

#include "methods/method.h"

#include <supple/sim.h>

/* Where flesh is made to fit a budget, it has at least so many tetrahedra: with fewer, limbs are a cell or two thick.
 */
enum { SPL_CHOOSE_FEWEST = 5000 };

/* And of one that is to be kept apart from itself, at most, where no other size is asked for. */
enum { SPL_CHOOSE_CONTACT = 20000 };

/* The choice for a scene that has flesh, or has none. `out->method` is a name of the registry. */
void spl_choose(const supple_scene *scene, const supple_sim_config *sc, bool flesh, supple_choice *out);

/* Numbers that no simulation can work with. */
supple_result spl_sim_config_check(const supple_sim_config *sc, supple_error *error);

/* Milliseconds of a frame on one core, estimated, as budgets count them: `tets` of the body (0 for methods without
 * one). Most frames take less. */
double spl_choose_cost(const spl_method *method, const supple_scene *scene, const supple_sim_config *sc, double tets);

#endif
