#include "methods/arrive.h"

#include "core/error.h"
#include "core/memory.h"
#include "fem/filter.h"
#include "methods/disentangle.h"

#include <math.h>
#include <string.h>

static const double PULL = 5;     /* of a held vertex's elastic stiffness: its spring while it is loose */
static const double LEAVE = 0.5;  /* of every gap, that a step along the path leaves */
static const double HARDLY = 0.1; /* the same, of the last way to their places */
static const double ROUGH = 0.25; /* of the barrier's width: what ends a loose solve */

static const double STALLED = 0.7; /* of what was missing before a round: more means that nothing comes of it */
static const double THINNER = 0.3; /* what offsets that stop bones become of themselves */

static const double VOLUME_LEFT = 0.1; /* of a tet, after a step, with a law that is a barrier */

enum { ROUNDS = 40, LOOSE_STEPS = 6 }; /* loose solves in a row, Newton steps in each */
enum { LOOKS = 6, FAIR = 2 };          /* solves until targets are shifted, and shifts that are made in any case */
enum { GIVEN = 6, REGROWN = 3 };       /* how often offsets give way in a step, and grow again in a frame */
enum { EFFORT = 240 };                 /* Newton steps of a frame, after which pairs are released at once */

/* ---- creation ---- */

static supple_result make_loose(spl_arrival *a, const spl_statics_options *from, supple_error *error)
{
    size_t n = (size_t)a->elements.vertex_count;
    int32_t *none = spl_new(&a->allocator, n, sizeof *none);
    if (!none) return spl_fail_memory(error, "a solver with contact");
    for (size_t v = 0; v < n; v++) none[v] = -1;
    spl_statics_options options = *from;
    options.still = ROUGH * spl_barrier_look(a->barrier).width;
    options.max_iterations = LOOSE_STEPS;
    supple_result result = spl_statics_create(&a->elements, none, &a->allocator, a->pool, &options, &a->loose, error);
    spl_free(&a->allocator, none);
    return result;
}

static supple_result make_solvers(spl_arrival *a, const spl_arrival_options *o, supple_error *error)
{
    supple_result result =
        spl_statics_create(&a->elements, a->held, &a->allocator, a->pool, &o->statics, &a->solver, error);
    if (result == SUPPLE_OK) result = make_loose(a, &o->statics, error);
    return result == SUPPLE_OK ? spl_pose_path_create(a->solid, &a->path, error) : result;
}

static supple_result make_bones(spl_arrival *a, supple_error *error)
{
    size_t n = (size_t)a->surface.surface.bone_count;
    a->crossing = spl_new(&a->allocator, n * n, sizeof *a->crossing);
    a->kept = spl_new(&a->allocator, n * n, sizeof *a->kept);
    a->tangled = spl_new(&a->allocator, n, sizeof *a->tangled);
    if (!a->crossing || !a->kept || !a->tangled) return spl_fail_memory(error, "a solver with contact");
    return spl_held_create(a->solid, a->pins->held, (int32_t)n, a->pool, &a->bones, error);
}

/* What a thing of the world is pulled by: as what it may touch. */
static double mean_stiffness(const spl_barrier_surface *s)
{
    double sum = 0;
    for (int32_t v = 0; v < s->own_count; v++) sum += s->stiffness[v];
    return s->own_count > 0 ? sum / s->own_count : 1;
}

static supple_result make_pins(spl_arrival *a, supple_error *error)
{
    const spl_barrier_surface *s = &a->surface.surface;
    int32_t count = a->pins->count;
    double mean = mean_stiffness(s);
    for (int32_t v = 0; v < s->vertex_count; v++) count += a->held[v] >= 0;
    a->pin = spl_new(&a->allocator, (size_t)count, sizeof *a->pin);
    a->pull = spl_new(&a->allocator, (size_t)count, sizeof *a->pull);
    a->shift = spl_new(&a->allocator, (size_t)count, 3 * sizeof *a->shift);
    if (!a->pin || !a->pull || !a->shift) return spl_fail_memory(error, "a solver with contact");
    a->pin_count = a->pins->count;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        if (a->held[v] < 0) continue;
        a->pull[a->pin_count] = PULL * (v < s->own_count ? s->stiffness[v] : mean);
        a->pin[a->pin_count++].vertex = v;
    }
    return SUPPLE_OK;
}

static supple_result make_arrays(spl_arrival *a, supple_error *error)
{
    const supple_allocator *al = &a->allocator;
    size_t n = (size_t)a->surface.surface.vertex_count, own = (size_t)a->surface.surface.own_count;
    a->held = spl_new(al, n, sizeof *a->held);
    a->x = spl_new(al, n, 3 * sizeof *a->x);
    a->goal = spl_new(al, n, 3 * sizeof *a->goal);
    a->step = spl_new(al, n, 3 * sizeof *a->step);
    a->from = spl_new(al, n - own, 3 * sizeof *a->from);
    if (!a->held || !a->x || !a->goal || !a->step || !a->from) return spl_fail_memory(error, "a solver with contact");
    for (size_t v = 0; v < n; v++) a->held[v] = v < own ? a->pins->held[v] : a->surface.surface.bone[v];
    a->elements = a->solid->elements;
    a->elements.vertex_count = (int32_t)n;
    return SUPPLE_OK;
}

static supple_result build(spl_arrival *a, const spl_arrival_options *o, supple_error *error)
{
    supple_result result = spl_obstacles_create(a->colliders, a->solid->diagonal, &a->allocator, &a->obstacles, error);
    if (result == SUPPLE_OK)
        result = spl_body_surface_create(a->solid, a->pins->held, &a->obstacles, &a->surface, error);
    if (result == SUPPLE_OK)
        result = spl_barrier_create(&a->surface.surface, &o->barrier, &a->allocator, a->pool, &a->barrier, error);
    if (result == SUPPLE_OK) result = make_arrays(a, error);
    if (result == SUPPLE_OK) result = make_bones(a, error);
    if (result == SUPPLE_OK) result = make_pins(a, error);
    return result == SUPPLE_OK ? make_solvers(a, o, error) : result;
}

supple_result spl_arrival_create(const spl_solid *solid, const spl_pins *pins, const spl_arrival_options *options,
                                 spl_pool *pool, spl_arrival *out, supple_error *error)
{
    *out = (spl_arrival){.allocator = solid->allocator,
                         .solid = solid,
                         .pins = pins,
                         .pool = pool,
                         .statics = options->statics,
                         .turn = options->turn,
                         .colliders = options->colliders};
    supple_result result = build(out, options, error);
    if (result == SUPPLE_OK)
        spl_arrival_reset(out);
    else
        spl_arrival_release(out);
    return result;
}

void spl_arrival_release(spl_arrival *a)
{
    const supple_allocator *al = &a->allocator;
    if (!al->release) return;
    spl_statics_destroy(a->solver);
    spl_statics_destroy(a->loose);
    spl_pose_path_release(&a->path);
    spl_held_release(&a->bones);
    spl_barrier_destroy(a->barrier);
    spl_body_surface_release(&a->surface);
    spl_obstacles_release(&a->obstacles);
    void *blocks[] = {a->crossing, a->kept, a->tangled, a->held, a->x,    a->goal,
                      a->step,     a->from, a->pin,     a->pull, a->shift};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(al, blocks[i]);
    *a = (spl_arrival){0};
}

void spl_arrival_reset(spl_arrival *a)
{
    size_t bones = (size_t)a->surface.surface.bone_count;
    memcpy(a->x, a->solid->drive.rest, 3 * (size_t)a->surface.surface.own_count * sizeof *a->x);
    spl_pose_path_reset(&a->path);
    for (size_t i = 0; i < bones * bones; i++) a->kept[i] = 1;
    spl_barrier_restore(a->barrier, a->kept);
    memset(a->shift, 0, 3 * (size_t)a->pin_count * sizeof *a->shift);
    a->begun = false;
}

/* ---- one step along the path ---- */

static size_t coordinates(const spl_arrival *a)
{
    return 3 * (size_t)a->surface.surface.vertex_count;
}

/* The share of the way to the goal, a->step, on which nothing touches: of all vertices or of held ones alone. */
static supple_result free_share(spl_arrival *a, bool held_alone, double slack, double *share, supple_error *error)
{
    for (size_t i = 0; i < coordinates(a); i++)
        a->step[i] = held_alone && a->held[i / 3] < 0 ? 0 : a->goal[i] - a->x[i];
    supple_result result = spl_barrier_max_step(a->barrier, a->x, a->step, slack, share, error);
    if (result == SUPPLE_OK && a->bounded)
        *share = fmin(*share, spl_inversion_filter(&a->elements, a->held, a->x, a->step, VOLUME_LEFT, a->pool));
    return result;
}

/* Moves x towards the goal, as far as nothing touches; *whole if all the way. */
static supple_result move(spl_arrival *a, bool *whole, supple_error *error)
{
    double share;
    supple_result result = free_share(a, false, LEAVE, &share, error);
    *whole = result == SUPPLE_OK && share >= 1;
    for (size_t i = 0; result == SUPPLE_OK && i < coordinates(a); i++)
        a->x[i] = *whole ? a->goal[i] : a->x[i] + share * a->step[i];
    return result;
}

/* Puts what is held in its place if the way there is free; *whole if it was. */
static supple_result arrive(spl_arrival *a, bool *whole, supple_error *error)
{
    double share;
    supple_result result = free_share(a, true, HARDLY, &share, error);
    *whole = result == SUPPLE_OK && share >= 1;
    for (size_t i = 0; *whole && i < coordinates(a); i++)
        if (a->held[i / 3] >= 0) a->x[i] = a->goal[i];
    return result;
}

/* How far held vertices are from their places, at most. */
static double distance_left(const spl_arrival *a)
{
    double most = 0;
    for (int32_t i = a->pins->count; i < a->pin_count; i++) {
        const double *p = a->x + 3 * (size_t)a->pin[i].vertex, *q = a->goal + 3 * (size_t)a->pin[i].vertex;
        most = fmax(most, spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2])));
    }
    return most;
}

static void set_pins(spl_arrival *a)
{
    memcpy(a->pin, a->pins->pin, (size_t)a->pins->count * sizeof *a->pin);
    for (int32_t i = a->pins->count; i < a->pin_count; i++) {
        a->pin[i].stiffness = a->pull[i];
        for (size_t c = 0; c < 3; c++)
            a->pin[i].target[c] = a->goal[3 * (size_t)a->pin[i].vertex + c] + a->shift[3 * (size_t)i + c];
    }
}

/* The multipliers of the augmented Lagrangian as a shift of the targets: by what was missing. */
static void shift_targets(spl_arrival *a)
{
    for (int32_t i = a->pins->count; i < a->pin_count; i++)
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)a->pin[i].vertex + c;
            a->shift[3 * (size_t)i + c] += a->goal[at] - a->x[at];
            a->pin[i].target[c] = a->goal[at] + a->shift[3 * (size_t)i + c];
        }
}

/* Begins without multipliers. */
static void forget_shifts(spl_arrival *a)
{
    memset(a->shift, 0, 3 * (size_t)a->pin_count * sizeof *a->shift);
    set_pins(a);
}

/* Lets held vertices loose until the way to their places is free, or they no longer come nearer. Multipliers of the
 * last step are a good start where bones hardly press on each other; else they are not, and are forgotten. */
static supple_result loosen(spl_arrival *a, const spl_statics_problem *problem, bool *arrived, supple_error *error)
{
    spl_statics_problem loose = *problem;
    double before = INFINITY, width = spl_barrier_look(a->barrier).width;
    bool warm = true;
    int looks = 0, shifts = 0;
    loose.pin = a->pin;
    loose.pin_count = a->pin_count;
    set_pins(a);
    for (int round = 0; round < ROUNDS; round++) {
        spl_statics_stats stats;
        supple_result result = spl_statics_solve(a->loose, &loose, a->x, &stats, error);
        double left = distance_left(a);
        a->iterations += stats.iterations;
        if (result == SUPPLE_OK) result = arrive(a, arrived, error);
        if (result != SUPPLE_OK || (!stats.converged && stats.iterations == 0)) return result;
        bool ended = stats.converged || ++looks == LOOKS;
        if (ended && !(warm && left > width)) shift_targets(a);
        if (*arrived) return SUPPLE_OK;
        if (warm && left > width) forget_shifts(a);
        warm = warm && left <= width;
        if (!ended) continue;
        if (++shifts > FAIR && left > STALLED * before) return SUPPLE_OK;
        looks = 0;
        before = left;
    }
    return SUPPLE_OK;
}

/* The world counts, or it does not yet: all its pairs are released. */
static void let_world(spl_arrival *a, bool counts)
{
    const spl_barrier_surface *s = &a->surface.surface;
    for (int32_t p = a->solid->body->bones.bone_count; p < s->bone_count; p++)
        for (int32_t q = 0; q < s->bone_count; q++) {
            spl_barrier_release(a->barrier, p, q, !counts);
            a->crossing[(size_t)p * (size_t)s->bone_count + (size_t)q] = !counts;
        }
}

/* Whether two bones meet at a joint. What they hold may cross there in a deep bend, and flesh still finds room. */
static bool meet(const spl_arrival *a, int32_t p, int32_t q)
{
    const spl_bone *bone = a->solid->body->bones.bone;
    int32_t count = a->solid->body->bones.bone_count;
    if (p >= count || q >= count) return false;
    return bone[p].parent == q || bone[q].parent == p || bone[p].node == bone[q].node;
}

/* Bones that cross at the goal and do not meet are released; `crossing` says which. */
static supple_result release_crossing(spl_arrival *a, supple_error *error)
{
    int32_t n = a->surface.surface.bone_count;
    if (spl_held_crossings(&a->bones, a->goal, a->crossing, a->pool) < 0)
        return spl_fail_memory(error, "a solver with contact");
    for (int32_t p = 0; p < n; p++)
        for (int32_t q = 0; q < p; q++) {
            bool *crosses = &a->crossing[(size_t)n * (size_t)p + (size_t)q];
            if (!*crosses) continue;
            if (meet(a, p, q)) *crosses = a->crossing[(size_t)n * (size_t)q + (size_t)p] = false;
            if (!*crosses) continue;
            a->freed += !spl_barrier_released(a->barrier, p, q);
            spl_barrier_release(a->barrier, p, q, true);
        }
    if (!a->begun) let_world(a, false);
    return SUPPLE_OK;
}

/* What bones hold goes to its place whatever is there. What crosses then is released, so that the frame ends. */
static void put_in_place(spl_arrival *a)
{
    int32_t n = a->surface.surface.bone_count;
    for (size_t i = 0; i < coordinates(a); i++)
        if (a->held[i / 3] >= 0) a->x[i] = a->goal[i];
    memset(a->tangled, 0, (size_t)n * sizeof *a->tangled);
    spl_barrier_mark_near(a->barrier, a->x, a->tangled);
    for (int32_t i = 0; i < n * n; i++)
        if (a->tangled[i / n] && a->tangled[i % n]) {
            a->freed += !spl_barrier_released(a->barrier, i / n, i % n);
            spl_barrier_release(a->barrier, i / n, i % n, true);
        }
}

/* Lets bones arrive: what stops them gives way, its offsets first, then all of it. */
static supple_result press(spl_arrival *a, const spl_statics_problem *problem, supple_error *error)
{
    bool arrived;
    a->loosened++;
    for (int i = 0;; i++) {
        int32_t count;
        supple_result result = loosen(a, problem, &arrived, error);
        if (result != SUPPLE_OK || arrived) return result;
        a->missing = fmax(a->missing, distance_left(a));
        for (size_t k = 0; k < coordinates(a); k++) a->step[k] = a->held[k / 3] < 0 ? 0 : a->goal[k] - a->x[k];
        double less = i < GIVEN - 2 && a->iterations < EFFORT ? THINNER : 0;
        result = spl_barrier_give_way(a->barrier, a->x, a->step, less, &count, error);
        if (result != SUPPLE_OK) return result;
        if (i < GIVEN && count > 0) continue;
        if (!a->bounded) break;
        a->bounded = false; /* tets are inverted rather than bones left where they are not */
        i = 0;
    }
    put_in_place(a);
    return SUPPLE_OK;
}

/* The goal of a step along the path: the body carried by its bones, the world at `share` of its own way. */
static void set_goal(spl_arrival *a, double share)
{
    size_t own = 3 * (size_t)a->surface.surface.own_count, m = 3 * (size_t)a->obstacles.vertex_count;
    memcpy(a->goal, a->x, coordinates(a) * sizeof *a->x);
    spl_solid_carry(&a->path.solid, &a->path.last, a->goal, a->pool);
    spl_drive_hold(&a->path.solid.drive, a->pins->held, a->goal);
    for (size_t i = 0; i < m && a->begun; i++)
        a->goal[own + i] = a->from[i] + share * (a->obstacles.position[i] - a->from[i]);
}

/* To the goal. */
static supple_result take_step(spl_arrival *a, const spl_statics_problem *problem, supple_error *error)
{
    bool arrived;
    a->bounded = a->keeps_volume;
    supple_result result = release_crossing(a, error);
    if (result == SUPPLE_OK) result = move(a, &arrived, error);
    return result != SUPPLE_OK || arrived ? result : press(a, problem, error);
}

/* ---- a frame ---- */

/* The whole body goes along with its root at once: no part meets another by that. Not where it could meet the world. */
static void follow_root(spl_arrival *a)
{
    if (a->begun && a->obstacles.vertex_count > 0) return;
    spl_mat4 motion = spl_pose_path_move_root(&a->path);
    for (size_t i = 0; i < 3 * (size_t)a->surface.surface.own_count; i += 3) {
        spl_vec3 p = spl_mat4_point(&motion, spl_v3(a->x[i], a->x[i + 1], a->x[i + 2]));
        a->x[i] = p.x;
        a->x[i + 1] = p.y;
        a->x[i + 2] = p.z;
    }
}

/* Puts a thing of the world aside: away from the body's middle, a plane along its normal. */
static void put_aside(spl_arrival *a, int32_t collider, spl_vec3 middle, double radius)
{
    size_t own = (size_t)a->surface.surface.own_count;
    const spl_obstacles *o = &a->obstacles;
    spl_collider_shape shape = spl_colliders_shape(a->colliders, collider);
    spl_vec3 centre = spl_v3(0, 0, 0);
    double count = 0, size = 0;
    for (size_t v = 0; v < (size_t)o->vertex_count; v++) {
        if (o->collider[v] != collider) continue;
        const double *p = o->position + 3 * v;
        centre = spl_add(centre, spl_v3(p[0], p[1], p[2]));
        count++;
    }
    centre = spl_scale(centre, 1 / fmax(count, 1));
    for (size_t v = 0; v < (size_t)o->vertex_count; v++) {
        const double *p = o->position + 3 * v;
        if (o->collider[v] == collider)
            size = fmax(size, o->radius[v] + spl_distance(centre, spl_v3(p[0], p[1], p[2])));
    }
    bool plane = shape.kind == SPL_COLLIDER_PLANE;
    spl_vec3 way = plane ? spl_scale(shape.b, -1) : spl_unit(spl_sub(centre, middle), spl_v3(0, -1, 0));
    double near = plane ? spl_dot(spl_sub(shape.a, middle), way) : spl_distance(centre, middle);
    double far = fmax(0, 1.1 * (radius + (plane ? 0 : size)) - near);
    for (size_t v = 0; v < (size_t)o->vertex_count; v++) {
        if (o->collider[v] != collider) continue;
        const double *p = o->position + 3 * v;
        spl_vec3 q = spl_madd(spl_v3(p[0], p[1], p[2]), way, far);
        memcpy(a->x + 3 * (own + v), &q, sizeof q);
    }
}

/* The world comes in, the body being in its first pose. */
static supple_result bring_world(spl_arrival *a, const spl_statics_problem *problem, supple_error *error)
{
    size_t own = (size_t)a->surface.surface.own_count;
    spl_vec3 middle = spl_v3(0, 0, 0);
    double radius = 0;
    a->begun = true;
    if (a->obstacles.vertex_count == 0) return SUPPLE_OK;
    for (size_t v = 0; v < own; v++) middle = spl_add(middle, spl_v3(a->x[3 * v], a->x[3 * v + 1], a->x[3 * v + 2]));
    middle = spl_scale(middle, 1 / (double)own);
    for (size_t v = 0; v < own; v++)
        radius = fmax(radius, spl_distance(middle, spl_v3(a->x[3 * v], a->x[3 * v + 1], a->x[3 * v + 2])));
    for (int32_t i = 0; i < spl_colliders_count(a->colliders); i++) put_aside(a, i, middle, radius);
    let_world(a, true);
    memcpy(a->goal, a->x, 3 * own * sizeof *a->x);
    memcpy(a->goal + 3 * own, a->obstacles.position, 3 * (size_t)a->obstacles.vertex_count * sizeof *a->x);
    return take_step(a, problem, error);
}

/* Equilibrium where the bones are. Offsets that gave way grow again as flesh makes room, in a few rounds. */
static supple_result settle(spl_arrival *a, const spl_statics_problem *held, bool grow, spl_statics_stats *stats,
                            supple_error *error)
{
    supple_result result = SUPPLE_OK;
    for (int i = 0; i < (grow ? REGROWN : 1) && result == SUPPLE_OK; i++) {
        int32_t left;
        if (i > 0) result = spl_barrier_take_back(a->barrier, a->x, a->crossing, &left, error);
        if (result == SUPPLE_OK) result = spl_statics_solve(a->solver, held, a->x, stats, error);
        a->iterations += stats->iterations;
    }
    return result;
}

/* All steps along the path. *left: pairs of bones that stay released although they do not cross. */
static supple_result go(spl_arrival *a, const spl_statics_problem *problem, int32_t *left, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    spl_pose_path_begin(&a->path);
    a->steps = (int32_t)fmax(1, ceil(a->path.turn / a->turn));
    for (int32_t k = 1; k <= a->steps && result == SUPPLE_OK; k++) {
        spl_pose_path_take(&a->path, (double)k / a->steps);
        set_goal(a, (double)k / a->steps);
        result = take_step(a, problem, error);
        if (result == SUPPLE_OK) result = spl_barrier_take_back(a->barrier, a->x, a->crossing, left, error);
    }
    return result;
}

/* Offsets gave way somewhere, or pairs are released. */
static bool gave_way(const spl_arrival *a)
{
    int32_t n = a->surface.surface.bone_count;
    spl_barrier_keep(a->barrier, a->kept);
    for (int32_t i = 0; i < n * n; i++)
        if (a->kept[i] < 1) return true;
    return false;
}

/* The goal of a frame at once: the guess, and the world where it is. */
static void set_guess(spl_arrival *a, const double *guess)
{
    size_t own = 3 * (size_t)a->surface.surface.own_count;
    memcpy(a->goal, guess, own * sizeof *guess);
    spl_drive_hold(&a->solid->drive, a->pins->held, a->goal);
    memcpy(a->goal + own, a->obstacles.position, 3 * (size_t)a->obstacles.vertex_count * sizeof *a->goal);
}

/* Takes the guess for the answer if nothing is in its way and the barrier does not act there. */
static supple_result leap(spl_arrival *a, const double *guess, supple_error *error)
{
    double share, energy;
    if (!guess || !a->begun || gave_way(a)) return SUPPLE_OK;
    set_guess(a, guess);
    supple_result result = free_share(a, false, LEAVE, &share, error);
    if (result != SUPPLE_OK || share < 1) return result;
    if (!spl_barrier_measure(a->barrier, a->goal, &energy)) return spl_fail_memory(error, "a solver with contact");
    a->leapt = energy == 0;
    if (!a->leapt) return SUPPLE_OK;
    memcpy(a->x, a->goal, coordinates(a) * sizeof *a->x);
    spl_pose_path_begin(&a->path);
    spl_pose_path_take(&a->path, 1);
    forget_shifts(a);
    return SUPPLE_OK;
}

/* Bones being in place, flesh towards the guess. */
static supple_result lean(spl_arrival *a, const double *guess, supple_error *error)
{
    bool whole;
    if (!guess) return SUPPLE_OK;
    set_guess(a, guess);
    return move(a, &whole, error);
}

void spl_arrival_tell(const spl_arrival *a, int32_t held_inverted, supple_named_value out[SPL_ARRIVAL_VALUES])
{
    spl_barrier_state s = spl_barrier_look(a->barrier);
    const supple_named_value value[SPL_ARRIVAL_VALUES] = {{"steps", a->steps},
                                                          {"loosened", a->loosened},
                                                          {"released", spl_barrier_released_count(a->barrier)},
                                                          {"newly_released", a->freed},
                                                          {"missing_m", a->missing},
                                                          {"disentangled", a->disentangled},
                                                          {"min_gap", s.pairs > 0 ? s.gap : NAN},
                                                          {"held_inverted", held_inverted}};
    memcpy(out, value, sizeof value);
}

supple_result spl_arrival_frame(spl_arrival *a, const spl_statics_problem *problem, const double *guess, double *x,
                                spl_statics_stats *stats, supple_error *error)
{
    spl_statics_problem held = *problem;
    int32_t left = 0;
    bool freed = false;
    held.pin = a->pins->pin;
    held.pin_count = a->pins->count;
    held.extra = spl_barrier_extra(a->barrier);
    held.firm = a->held;
    a->keeps_volume = problem->law->barrier;
    a->steps = a->loosened = a->freed = a->iterations = 0;
    a->missing = 0;
    a->leapt = a->disentangled = a->softened = false;
    if (a->colliders) spl_obstacles_place(&a->obstacles, a->colliders, a->solid->diagonal);
    if (!a->begun) let_world(a, false);
    follow_root(a);
    memcpy(a->from, a->x + 3 * (size_t)a->surface.surface.own_count,
           3 * (size_t)a->obstacles.vertex_count * sizeof *a->from);
    supple_result result = leap(a, guess, error);
    if (result == SUPPLE_OK && a->leapt) memcpy(x, a->x, 3 * (size_t)a->surface.surface.own_count * sizeof *x);
    if (result != SUPPLE_OK || a->leapt) return result;
    result = go(a, &held, &left, error);
    if (result == SUPPLE_OK && !a->begun) result = bring_world(a, &held, error);
    if (result == SUPPLE_OK && left > 0) result = spl_arrival_disentangle(a, &held, &freed, error);
    a->disentangled = freed;
    if (result == SUPPLE_OK && !freed) result = lean(a, guess, error);
    if (result == SUPPLE_OK) result = settle(a, &held, freed, stats, error);
    a->softened = stats->softened;
    if (result == SUPPLE_OK) memcpy(x, a->x, 3 * (size_t)a->surface.surface.own_count * sizeof *x);
    return result;
}
