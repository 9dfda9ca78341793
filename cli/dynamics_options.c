#include "dynamics_options.h"

#include <string.h>

static int read_collide(const char *text, supple_sim_config *sc)
{
    static const char *const lists[] = {"none", "self", "world", "self,world", "world,self"};
    static const int32_t bits[] = {SUPPLE_COLLIDE_NONE, SUPPLE_COLLIDE_SELF, SUPPLE_COLLIDE_WORLD,
                                   SUPPLE_COLLIDE_SELF | SUPPLE_COLLIDE_WORLD,
                                   SUPPLE_COLLIDE_SELF | SUPPLE_COLLIDE_WORLD};
    for (size_t i = 0; text && i < sizeof lists / sizeof *lists; i++)
        if (strcmp(text, lists[i]) == 0) {
            sc->collide = bits[i];
            text = NULL;
        }
    return text ? cli_usage_error("--collide %.60s: takes self, world, self,world or none", text) : 0;
}

static int read_gravity(const char *text, const supple_scene *scene, supple_sim_config *sc)
{
    double strength = 9.81, up[3];
    if (!text) return 0;
    if (*text && !cli_number(text, 0, 1000, &strength))
        return cli_usage_error("--gravity %.40s: takes m/s^2 from 0 to 1000, or nothing for 9.81", text);
    supple_scene_up(scene, up);
    for (int i = 0; i < 3; i++) sc->gravity[i] = -strength * up[i];
    return 0;
}

static int read_colliders(const cli_arguments *arguments, const char **colliders, supple_sim_config *sc)
{
    sc->colliders = colliders;
    sc->collider_count = cli_count(arguments, "--collider");
    for (int i = 0; i < sc->collider_count; i++) colliders[i] = cli_get(arguments, "--collider", i);
    if (sc->collider_count > 0 && sc->collide != SUPPLE_COLLIDE_AUTO && !(sc->collide & SUPPLE_COLLIDE_WORLD))
        return cli_usage_error("--collider %.100s: --collide leaves the world out", colliders[0]);
    return 0;
}

/* What has no meaning in equilibrium. */
static int check_dynamics(const cli_arguments *arguments)
{
    static const char *const only[] = {"--preroll", "--loop", "--root-inertia"};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (cli_get(arguments, only[i], 0) && !(strcmp(only[i], "--loop") == 0 && cli_get(arguments, "--slide", 0)))
            return cli_usage_error("%s: goes with --dynamics on", only[i]);
    return 0;
}

int cli_dynamics_config(const cli_arguments *arguments, const supple_scene *scene, const char **colliders,
                        supple_sim_config *sc)
{
    const char *dynamics = cli_get(arguments, "--dynamics", 0), *preroll = cli_get(arguments, "--preroll", 0);
    const char *inertia = cli_get(arguments, "--root-inertia", 0);
    if (dynamics && strcmp(dynamics, "on") != 0 && strcmp(dynamics, "off") != 0)
        return cli_usage_error("--dynamics %.40s: takes on or off", dynamics);
    sc->dynamics = dynamics && strcmp(dynamics, "on") == 0;
    sc->loop = cli_get(arguments, "--loop", 0) != NULL;
    if (preroll && !cli_number(preroll, 0, 3600, &sc->preroll))
        return cli_usage_error("--preroll %.40s: takes seconds from 0 to 3600", preroll);
    if (inertia && !cli_number(inertia, 0, 1, &sc->root_inertia))
        return cli_usage_error("--root-inertia %.40s: takes a number from 0 to 1", inertia);
    int code = sc->dynamics ? 0 : check_dynamics(arguments);
    if (code == 0) code = read_gravity(cli_get(arguments, "--gravity", 0), scene, sc);
    if (code == 0) code = read_collide(cli_get(arguments, "--collide", 0), sc);
    return code == 0 ? read_colliders(arguments, colliders, sc) : code;
}

int cli_budget(const cli_arguments *arguments, const char *method, double *ms)
{
    const char *text = cli_get(arguments, "--budget", 0);
    *ms = 0;
    if (!text) return 0;
    if (!cli_number(text, 1e-3, 1e9, ms))
        return cli_usage_error("--budget %.40s: takes the milliseconds that a frame may take", text);
    if (strcmp(method, "auto") != 0)
        return cli_usage_error("--budget: goes with --method auto, which chooses by it, not with %.40s", method);
    return 0;
}
