/* Rehearsal: a character tries poses before its first frame, and what cannot be trusted in them is known by then.
 *
 * The poses are some of its clips, and swings of its joints out of the rest pose: joints three levels apart move at
 * once, since they share no flesh. At most a dozen in all, each in equilibrium, judged against the file's own skinning.
 *
 * With a coarse body it is tried part by part: flesh of which too little can be trusted is tried in other roles,
 * and what does best is kept; the file's own skinning is the last resort. */
#ifndef SPL_SIM_REHEARSE_H
#define SPL_SIM_REHEARSE_H

#include "sim/sim.h"

/* Plays the poses on a simulation; its live trust is then what they leave. `share` (by part, or NULL): of the vertices
 * that flesh moves, those that are trusted in full; NAN where there are none. The next step starts as the first did. */
supple_result spl_rehearse(supple_sim *sim, double *share, supple_error *error);

/* Rules that parts get by trying, after those of the config. */
typedef struct spl_rehearsed {
    supple_allocator allocator;
    supple_part_rule *rule; /* the config's, and those that were found */
    int32_t rule_count;
    char (*pattern)[12]; /* of those that were found: numbers of parts */
} spl_rehearsed;

#define SPL_REHEARSE_NEEDED 0.3 /* share of a part's flesh: with less it is tried in another role */

/* Tries a character's parts on a coarse body. Where all have what is `needed` there are no rules but the config's;
 * parts that those name stay as they say. */
supple_result spl_rehearse_roles(const supple_scene *scene, const supple_sim_config *sc, const supple_config *config,
                                 double needed, spl_rehearsed *out, supple_error *error);
void spl_rehearsed_release(spl_rehearsed *r);

#endif
