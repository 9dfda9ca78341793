#include "body/part.h"

#include "body/part_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* Pulls that fade let the flesh around share the load; those that stay, and grow, bring the last crossings to an end.
 */
#define FADING         15 /* rounds ... */
#define FADES          0.75
#define FADING_LESS    25 /* ... and then, until this one */
#define FADES_LESS     0.88
#define INSISTS        1.08 /* from then on, a round */
#define ROUNDS_MOST    90   /* MakeHuman takes 50 to 60 */
#define ROUNDS_PATIENT 70
#define WORTH_MORE     0.8 /* of the crossings at most left after some more rounds */
#define ROUNDS_THERE   12  /* after which only what is left is looked at */

typedef struct parting {
    spl_tets *tets;
    const spl_vec3 *home;
    double cell;
    spl_pool *pool;
    part_yield *yield;
    bool *within; /* by vertex: near what is moved */
    spl_part_report *report;
} parting;

static bool is_parted(const part_found *found)
{
    return found->crossings == 0 && found->near == 0 && found->sunk == 0;
}

static void ask(parting *p, const part_found *found)
{
    for (int32_t v = 0; v < p->tets->vertex_count; v++)
        if (found->share[v] > 0)
            spl_part_yield_ask(p->yield, v, spl_madd(p->tets->position[v], found->push[v], 1 / found->share[v]));
}

static void push_once(parting *p, const part_found *found)
{
    int32_t round = p->report->rounds++;
    spl_part_yield_tire(p->yield, round < FADING ? FADES : round < FADING_LESS ? FADES_LESS : 1);
    if (round >= FADING_LESS) spl_part_yield_insist(p->yield, INSISTS);
    ask(p, found);
    spl_part_yield_sweep(p->yield);
}

/* Pushes the surface around what was found, and looks at no other, for some rounds. What is left comes back in *f in
 * place of the finder that found it (`all` stays). */
static supple_result push_around(parting *p, const part_finder *all, part_finder **f, supple_error *error)
{
    part_finder *there;
    spl_part_yield_begin(p->yield, spl_part_finder_found(*f)->share, p->within);
    supple_result result = spl_part_finder_create(p->tets, p->home, p->within, p->cell, p->pool, &there, error);
    if (*f != all) spl_part_finder_destroy(*f);
    *f = there;
    if (result == SUPPLE_OK) result = spl_part_find(there, error);
    for (int i = 0; result == SUPPLE_OK && !is_parted(spl_part_finder_found(there)) && i < ROUNDS_THERE; i++) {
        push_once(p, spl_part_finder_found(there));
        result = spl_part_find(there, error);
    }
    return result;
}

/* What does not come apart after many rounds, nor becomes less, does not at all. */
static bool is_worth_more(const parting *p, const part_found *found, int32_t before)
{
    if (is_parted(found) || p->report->rounds >= ROUNDS_MOST) return false;
    return p->report->rounds < ROUNDS_PATIENT || found->crossings <= WORTH_MORE * before;
}

/* Something else may have come too near while what was found was parted: the whole surface is looked at again. */
static supple_result part_found_by(parting *p, part_finder *all, supple_error *error)
{
    const part_found *found = spl_part_finder_found(all);
    supple_result result = spl_part_find(all, error);
    p->report->crossings_before = found->crossings;
    if (result == SUPPLE_OK && !is_parted(found)) result = spl_part_yield_create(p->tets, p->cell, &p->yield, error);
    for (bool parted = true; result == SUPPLE_OK && parted && !is_parted(found) && p->report->rounds < ROUNDS_MOST;) {
        part_finder *f = all;
        bool again = true;
        while (again && result == SUPPLE_OK) {
            int32_t before = spl_part_finder_found(f)->crossings;
            result = push_around(p, all, &f, error);
            again = result == SUPPLE_OK && is_worth_more(p, spl_part_finder_found(f), before);
        }
        parted = result == SUPPLE_OK && is_parted(spl_part_finder_found(f));
        if (result == SUPPLE_OK) p->report->sunk = spl_part_finder_found(f)->sunk;
        spl_part_finder_destroy(f);
        p->report->rounds++; /* so that it ends, whatever happens */
        if (result == SUPPLE_OK) result = spl_part_find(all, error);
    }
    p->report->crossings = found->crossings;
    p->report->near = found->near;
    return result;
}

static supple_result part_all(parting *p, supple_error *error)
{
    part_finder *all;
    *p->report = (spl_part_report){0};
    supple_result result = spl_part_finder_create(p->tets, NULL, NULL, p->cell, p->pool, &all, error);
    if (result == SUPPLE_OK) result = part_found_by(p, all, error);
    spl_part_finder_destroy(all);
    spl_part_yield_destroy(p->yield);
    p->yield = NULL;
    return result;
}

/* A gap that is too narrow is better than none. */
static bool leaves_less(const spl_part_report *a, const spl_part_report *b)
{
    int32_t crossed = a->crossings + a->sunk, other = b->crossings + b->sunk;
    return crossed < other || (crossed == other && a->near < b->near);
}

/* Where the own skin is helps limbs that lie deep in each other, and harms others (hands, whose webs are pulled about):
 * it is used where parting fails without, from the beginning, and only if less is left then. */
static supple_result part_again(parting *p, const spl_vec3 *home, const spl_vec3 *start, supple_error *error)
{
    size_t n = (size_t)p->tets->vertex_count;
    spl_part_report first = *p->report;
    spl_vec3 *kept = spl_new(&p->tets->allocator, n, sizeof *kept);
    if (!kept) return spl_fail_memory(error, "parting the surface");
    memcpy(kept, p->tets->position, n * sizeof *kept);
    memcpy(p->tets->position, start, n * sizeof *start);
    p->home = home;
    supple_result result = part_all(p, error);
    if (result != SUPPLE_OK || !leaves_less(p->report, &first)) {
        memcpy(p->tets->position, kept, n * sizeof *kept);
        *p->report = first;
    }
    spl_free(&p->tets->allocator, kept);
    return result;
}

static void measure_ways(const spl_tets *tets, const spl_vec3 *start, double cell, spl_part_report *report)
{
    for (int32_t v = 0; v < tets->vertex_count; v++) {
        double way = spl_distance(tets->position[v], start[v]);
        report->moved += way > 0;
        report->farthest = fmax(report->farthest, way / cell);
    }
}

supple_result spl_part_surface(spl_tets *tets, const spl_vec3 *home, double cell, spl_pool *pool,
                               spl_part_report *report, supple_error *error)
{
    const supple_allocator *a = &tets->allocator;
    size_t n = (size_t)tets->vertex_count;
    *report = (spl_part_report){0};
    parting p = {.tets = tets, .cell = cell, .pool = pool, .report = report};
    p.within = spl_new(a, n, sizeof *p.within);
    spl_vec3 *start = spl_new(a, n, sizeof *start);
    supple_result result = p.within && start ? SUPPLE_OK : spl_fail_memory(error, "parting the surface");
    if (result == SUPPLE_OK) {
        memcpy(start, tets->position, n * sizeof *start);
        result = part_all(&p, error);
        if (result == SUPPLE_OK && home && leaves_less(&(spl_part_report){0}, report))
            result = part_again(&p, home, start, error);
        measure_ways(tets, start, cell, report);
    }
    spl_free(a, p.within);
    spl_free(a, start);
    return result;
}
