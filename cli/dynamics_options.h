/* Options of `supple skin` for flesh in motion and in contact. */
#ifndef SUPPLE_CLI_DYNAMICS_OPTIONS_H
#define SUPPLE_CLI_DYNAMICS_OPTIONS_H

#include "cli.h"

#define CLI_DYNAMICS_OPTIONS                                                                                           \
    {"--dynamics", "on|off", "flesh has mass and swings (off: every frame is in equilibrium)", false},                 \
        {"--preroll", "S", "seconds simulated before the first frame, in its pose (0)", false},                        \
        {"--loop", NULL, "the clip is a cycle: play it until it repeats itself, then write it", false},                \
        {"--gravity", "[G]", "flesh has weight: m/s^2 downwards (none; 9.81 if no number follows)", false},            \
        {"--root-inertia", "R", "what the root's motion does to the flesh, 0 to 1 (1)", false},                        \
        {"--collide", "LIST", "self, world, self,world or none (projective, steklov: both; mixed: world)", false},     \
    {                                                                                                                  \
        "--collider", "FILE", "a thing of the world: .json of spheres, capsules, planes; or closed meshes", true       \
    }

/* Reads them into a config; `colliders` has room for CLI_MAX_VALUES paths and must live as long as it. Returns 0, or an
 * exit code after a message. */
int cli_dynamics_config(const cli_arguments *arguments, const supple_scene *scene, const char **colliders,
                        supple_sim_config *sc);

#define CLI_BUDGET_OPTION                                                                                              \
    {                                                                                                                  \
        "--budget", "MS", "what a frame may take, in milliseconds on one core, for method auto (no limit)", false      \
    }

/* Reads --budget, which goes with method "auto" alone; 0 where it is not given. Returns 0, or an exit code. */
int cli_budget(const cli_arguments *arguments, const char *method, double *ms);

#endif
