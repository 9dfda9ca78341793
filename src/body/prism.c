#include "body/prism.h"

#include "body/prism_private.h"
#include "body/walk.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define ON_BONE     1.5 /* radii from its bone's core up to which a vertex is held */
#define GAP         2.5 /* times what is free of tetrahedra at a joint is free here: there is nothing inside to give way */
#define GAP_MOST    0.3  /* ... but no more than this share of the bone */
#define ARRIVED     0.95 /* of its way, from which a vertex counts as on the skeleton */
#define SLIDE_EDGES 4.0  /* how far along the surface a vertex may have slid */
#define FOLLOWS     0.20 /* weight of a joint at the skin from which its bones may hold what is below */
enum { HOLD_AT_LEAST = 4, GRAIN = 256 };

void spl_prisms_release(spl_prisms *p)
{
    supple_allocator a = p->tets.allocator;
    if (!a.release) return;
    spl_free(&a, p->prism);
    spl_free(&a, p->bone);
    spl_free(&a, p->place);
    spl_tets_release(&p->tets);
    *p = (spl_prisms){0};
}

/* ---- places ---- */

typedef struct placer {
    const spl_attach_input *in;
    spl_prism_skin *skin;
} placer;

/* The skin's vertices have slid: each takes the nearest place, unless that is on another limb. */
static void place_range(void *context, size_t begin, size_t end)
{
    const placer *w = context;
    for (size_t v = begin; v < end; v++) {
        spl_place *at = &w->skin->place[v];
        spl_hit hit;
        if (at->triangle < 0 || !spl_tree_nearest(w->in->tree, w->skin->position[v], INFINITY, at->triangle, &hit))
            continue;
        spl_place near = {hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
        if (spl_surface_walk(w->in->surface, at, &near, SLIDE_EDGES * w->skin->edge) < INFINITY) *at = near;
    }
}

/* ---- what bones hold ---- */

/* Joints stay soft: what lies beyond a capsule's firm part at an end where another bone begins is free. */
static bool is_firm(const spl_capsule *c, spl_vec3 p)
{
    double along = spl_capsule_along(c, p);
    double head = fmin(GAP * c->from, GAP_MOST), tail = fmin(GAP * (1 - c->to), GAP_MOST);
    return (c->from <= 0 || along >= head) && (c->to >= 1 || 1 - along >= tail);
}

static bool is_near(const spl_capsule *c, spl_vec3 p)
{
    double radius = spl_capsule_radius(c, spl_capsule_along(c, p));
    return spl_distance(p, spl_capsule_core(c, p)) <= ON_BONE * radius;
}

/* The bone vertex nearest to a bone's middle that follows it and is free; -1 if there is none. */
static int32_t nearest_free(const spl_attach_input *in, const spl_prisms *p, int32_t k, spl_vec3 middle)
{
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t v = p->tets.vertex_count / 2; v < p->tets.vertex_count; v++) {
        double d = spl_distance(p->tets.position[v], middle);
        if (p->bone[v] >= 0 || d >= least) continue;
        if (spl_attach_weight(in, &p->place[v], in->bones->bone[k].node) < FOLLOWS) continue;
        least = d;
        best = v;
    }
    return best;
}

/* Bones that hold next to nothing take the nearest vertices that follow them. */
static void fill_bones(const spl_attach_input *in, const spl_capsule *capsules, spl_prisms *p)
{
    for (int32_t k = 0; k < in->bones->bone_count; k++) {
        int32_t count = 0, v;
        spl_vec3 middle = spl_madd(capsules[k].head, capsules[k].axis, 0.5);
        for (v = 0; v < p->tets.vertex_count; v++) count += p->bone[v] == k;
        for (; count < HOLD_AT_LEAST && (v = nearest_free(in, p, k, middle)) >= 0; count++) p->bone[v] = k;
        p->report.empty += count == 0;
    }
}

static void hold(const spl_attach_input *in, const spl_capsule *capsules, const spl_prism_skin *skin,
                 const spl_prism_goal *goal, spl_prisms *p)
{
    spl_prism_report *r = &p->report;
    int32_t n = skin->vertex_count;
    for (int32_t v = 0; v < n; v++) {
        spl_vec3 x = skin->position[v], y = p->tets.position[n + v];
        double way = spl_distance(x, goal[v].point), left = spl_distance(y, goal[v].point);
        double share = way > 0 ? fmax(0, 1 - left / way) : 1;
        const spl_capsule *c = goal[v].bone >= 0 ? &capsules[goal[v].bone] : NULL;
        bool on = c && (goal[v].core ? share >= 0.5 : is_near(c, y) && is_firm(c, y));
        p->bone[v] = -1;
        p->bone[n + v] = on ? goal[v].bone : -1;
        r->reached += share / n;
        r->cores += goal[v].core;
        r->off += !on && share < ARRIVED;
    }
    fill_bones(in, capsules, p);
    for (int32_t v = n; v < 2 * n; v++) {
        r->held += p->bone[v] >= 0;
        r->free += p->bone[v] < 0;
    }
}

/* ---- all of it ---- */

static supple_result allocate(spl_prisms *p, const spl_prism_skin *skin, supple_error *error)
{
    const supple_allocator *a = &skin->allocator;
    size_t n = (size_t)skin->vertex_count, m = (size_t)skin->triangle_count;
    if (!spl_tets_create(&p->tets, 2 * skin->vertex_count, 3 * skin->triangle_count, a))
        return spl_fail_memory(error, "the prisms");
    p->prism = spl_new(a, 3 * m, sizeof *p->prism);
    p->bone = spl_new(a, 2 * n, sizeof *p->bone);
    p->place = spl_new(a, 2 * n, sizeof *p->place);
    p->tets.surface = spl_new(a, m, 3 * sizeof *p->tets.surface);
    if (!p->prism || !p->bone || !p->place || !p->tets.surface) return spl_fail_memory(error, "the prisms");
    p->tets.surface_count = skin->triangle_count;
    memcpy(p->tets.surface, skin->triangle, 3 * m * sizeof *skin->triangle);
    memcpy(p->tets.position, skin->position, n * sizeof *skin->position);
    memcpy(p->place, skin->place, n * sizeof *skin->place);
    memcpy(p->place + n, skin->place, n * sizeof *skin->place);
    for (size_t t = 0; t < m; t++) {
        spl_prism_tets(skin->triangle + 3 * t, skin->vertex_count, p->tets.tet + 12 * t);
        for (size_t k = 0; k < 3; k++) p->prism[3 * t + k] = (int32_t)t;
    }
    return SUPPLE_OK;
}

typedef struct workspace {
    spl_prism_skin skin;
    spl_tree tree; /* of the skin */
    spl_capsule *capsule;
    spl_prism_goal *goal;
} workspace;

static supple_result build(const spl_attach_input *in, spl_pool *pool, workspace *w, spl_prisms *out,
                           supple_error *error)
{
    const supple_allocator *a = in->allocator;
    supple_result result = spl_prism_skin_make(in, pool, &w->skin, &out->report, error);
    if (result != SUPPLE_OK) return result;
    spl_prism_skin *skin = &w->skin;
    if (skin->vertex_count > INT32_MAX / 24) return spl_fail(error, SUPPLE_ERROR_INPUT, "the skin is too fine");
    placer places = {in, skin};
    spl_parallel_for(pool, (size_t)skin->vertex_count, GRAIN, place_range, &places);
    result = spl_tree_make(skin->position, skin->triangle, skin->triangle_count, a, &w->tree, error);
    if (result == SUPPLE_OK) result = allocate(out, skin, error);
    if (result != SUPPLE_OK) return result;
    w->capsule = spl_new(a, (size_t)in->bones->bone_count, sizeof *w->capsule);
    w->goal = spl_new(a, (size_t)skin->vertex_count, sizeof *w->goal);
    if (!w->capsule || !w->goal) return spl_fail_memory(error, "the skeleton");
    spl_capsules_make(in->bones, &w->tree, in->cell, w->capsule);
    spl_prism_goals(in, w->capsule, skin, &w->tree, pool, w->goal);
    result = spl_prism_wrap(skin, w->goal, out->tets.position + skin->vertex_count, error);
    if (result == SUPPLE_OK) hold(in, w->capsule, skin, w->goal, out);
    return result;
}

supple_result spl_prisms_make(const spl_attach_input *input, spl_pool *pool, spl_prisms *out, supple_error *error)
{
    workspace w = {0};
    *out = (spl_prisms){.tets = {.allocator = *input->allocator}};
    supple_result result = build(input, pool, &w, out, error);
    spl_prism_skin_release(&w.skin);
    spl_tree_release(&w.tree);
    spl_free(input->allocator, w.capsule);
    spl_free(input->allocator, w.goal);
    if (result != SUPPLE_OK) spl_prisms_release(out);
    return result;
}
