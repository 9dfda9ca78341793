#include "body/judge_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdio.h>
#include <string.h>

#define MOVES_AS_ONE  0.02 /* share of a piece's area whose weights may differ from the others' */
#define MAY_BE_CLOSED 15.0 /* openness below which it is one if it bulges and more than a seam lies on no other */
#define BULGES        0.20 /* bulk of an open piece that surrounds something */
#define BENEATH       0.02 /* of the diagonal: flesh this near lies beneath */
#define REACH         0.10 /* of the diagonal: flesh this near may carry along what hangs on it */
#define LIKE          0.25 /* of the weights in common: the flesh beneath moves as what lies on it does */
#define ALL_OVER      0.80 /* of it on other flesh: clothes; legs that come out of a dress have less */
#define LITTLE_FLESH  0.20 /* share of the skinned area below which hard surface is meant: hoses between plates */

enum { SAMPLES = 48 };

/* Tests of a point against a triangle that one scene may cost: about two seconds. */
#define TEST_BUDGET 2e8

static void judge(spl_skin_piece *p, supple_role role, const char *why)
{
    p->role = role;
    snprintf(p->why, sizeof p->why, "%s", why);
}

static const char *name_of(const court *c, const spl_skin_piece *p)
{
    return spl_instance_name(c->in->scene, c->in->part[p->part].instance);
}

static bool moves_as_one(const spl_skin_piece *p)
{
    double most = p->blended <= MOVES_AS_ONE ? SPL_HARD_SEGMENT : MOVES_AS_ONE;
    return p->differing <= most;
}

static void release_flesh(court *c)
{
    if (!c->ready) return;
    spl_winding_release(&c->winding);
    spl_tree_release(&c->tree);
    c->ready = false;
}

/* A tree of the pieces that are flesh so far. */
static supple_result gather_flesh(court *c, supple_error *error)
{
    const spl_surface *s = &c->pieces->surface;
    release_flesh(c);
    c->flesh_count = 0;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        if (c->pieces->piece[s->component[t]].role != SUPPLE_ROLE_FLESH) continue;
        memcpy(c->flesh + 3 * (size_t)c->flesh_count, s->triangle + 3 * (size_t)t, 3 * sizeof *c->flesh);
        c->flesh_source[c->flesh_count++] = t;
    }
    supple_result result = spl_tree_make(s->position, c->flesh, c->flesh_count, c->a, &c->tree, error);
    if (result != SUPPLE_OK) return result;
    result = spl_winding_make(&c->tree, c->a, &c->winding, error);
    if (result != SUPPLE_OK) {
        spl_tree_release(&c->tree);
        return result;
    }
    c->ready = true;
    return SUPPLE_OK;
}

static spl_place middle_of(const spl_surface *s, int32_t t, spl_vec3 *at)
{
    spl_place p = {t, {1.0 / 3, 1.0 / 3, 1.0 / 3}};
    *at = spl_surface_point(s, &p);
    return p;
}

spl_vec3 spl_court_below(const court *c, int32_t triangle)
{
    const spl_surface *s = &c->pieces->surface;
    spl_vec3 p;
    middle_of(s, triangle, &p);
    return spl_madd(p, s->face[triangle], -SPL_INWARD * s->diagonal);
}

/* Winding number of one piece around a point: the sum of its triangles' solid angles over 4 pi. */
double spl_court_winding(court *c, int32_t piece, spl_vec3 p)
{
    const spl_surface *s = &c->pieces->surface;
    double sum = 0;
    c->budget -= c->first[piece + 1] - c->first[piece];
    for (int32_t i = c->first[piece]; i < c->first[piece + 1]; i++) {
        const int32_t *k = s->triangle + 3 * (size_t)c->triangle[i];
        spl_vec3 x = spl_sub(s->position[k[0]], p), y = spl_sub(s->position[k[1]], p),
                 z = spl_sub(s->position[k[2]], p);
        double lx = spl_norm(x), ly = spl_norm(y), lz = spl_norm(z);
        double below = lx * ly * lz + spl_dot(x, y) * lz + spl_dot(y, z) * lx + spl_dot(z, x) * ly;
        sum += 2 * atan2(spl_dot(x, spl_cross(y, z)), below);
    }
    return sum / (4 * 3.14159265358979323846);
}

int32_t spl_court_step(const court *c, int32_t piece)
{
    return (c->first[piece + 1] - c->first[piece]) / SAMPLES + 1;
}

/* Whether a solid lies inside the other flesh. */
static bool is_enclosed(court *c, int32_t piece)
{
    int32_t seen = 0, inside = 0, step = spl_court_step(c, piece);
    for (int32_t i = c->first[piece]; i < c->first[piece + 1]; i += step) {
        spl_vec3 p = spl_court_below(c, c->triangle[i]);
        if (c->budget < 0) return false;
        inside += spl_winding_number(&c->winding, p) - spl_court_winding(c, piece, p) > 0.5;
        seen++;
    }
    return seen > 0 && inside >= SPL_ENCLOSED * seen;
}

/* The largest piece of flesh around a piece; -1 if none is by itself. */
static int32_t around(court *c, int32_t piece)
{
    const spl_surface *s = &c->pieces->surface;
    int32_t best = -1;
    spl_vec3 p;
    middle_of(s, c->triangle[c->first[piece]], &p);
    for (int32_t k = 0; k < c->pieces->count && c->budget > 0; k++) {
        const spl_skin_piece *o = &c->pieces->piece[k];
        if (k == piece || o->role != SUPPLE_ROLE_FLESH || (best >= 0 && o->area <= c->pieces->piece[best].area))
            continue;
        if (spl_court_winding(c, k, p) > 0.5) best = k;
    }
    return best;
}

spl_beneath spl_court_beneath(const court *c, int32_t piece)
{
    const spl_surface *s = &c->pieces->surface;
    const spl_skin_weights *w = &c->pieces->weights;
    spl_beneath b = {0};
    double total = 0;
    for (int32_t i = c->first[piece], step = spl_court_step(c, piece); i < c->first[piece + 1]; i += step) {
        spl_vec3 at;
        spl_hit hit;
        spl_place p = middle_of(s, c->triangle[i], &at);
        double area = spl_triangle_area(s, p.triangle);
        total += area;
        if (!c->flesh_count || !spl_tree_nearest(&c->tree, at, REACH * s->diagonal, -1, &hit)) continue;
        spl_place q = {c->flesh_source[hit.triangle], {hit.bary[0], hit.bary[1], hit.bary[2]}};
        if (spl_weights_alike(s, w, &p, s, w, &q) < LIKE) continue;
        b.near += area;
        if (hit.distance <= BENEATH * s->diagonal || spl_winding_number(&c->winding, at) > 0.5) b.over += area;
    }
    if (total > 0) {
        b.over /= total;
        b.near /= total;
    }
    return b;
}

/* ---- the judgement ---- */

/* By shape and weights alone: what is solid is flesh, unless a later judgement finds it inside other flesh; the rest is
 * left to what lies beneath. */
static void judge_alone(court *c, int32_t k)
{
    spl_skin_piece *p = &c->pieces->piece[k];
    if (p->as_one) {
        p->role = SUPPLE_ROLE_OWN;
        const char *joint = p->joint >= 0 ? c->in->scene->node[p->joint].name : "";
        if (p->led > 1 - SPL_HARD_SEGMENT)
            snprintf(p->why, sizeof p->why, "moves with joint '%.40s' alone", joint);
        else
            snprintf(p->why, sizeof p->why, "moves as one, with joint '%.40s' and others", joint);
    } else if (p->bulk < SPL_SOLID_BULK)
        judge(p, SUPPLE_ROLE_OWN, p->closed ? "thin: nothing to speak of is inside" : "an open sheet");
    else if (p->closed)
        judge(p, SUPPLE_ROLE_FLESH, "closed and skinned");
    else if (p->openness < SPL_NEARLY_SOLID)
        judge(p, SUPPLE_ROLE_FLESH, "nearly closed: its openings are small");
    else
        judge(p, SUPPLE_ROLE_OWN, "an open sheet");
}

static supple_result find_enclosed(court *c, supple_error *error)
{
    supple_result result = gather_flesh(c, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t k = 0; k < c->pieces->count; k++) {
        spl_skin_piece *p = &c->pieces->piece[k];
        if (p->role != SUPPLE_ROLE_FLESH || !is_enclosed(c, k)) continue;
        int32_t o = around(c, k);
        p->role = SUPPLE_ROLE_FOLLOW;
        if (o >= 0)
            snprintf(p->why, sizeof p->why, "enclosed in '%.40s'", name_of(c, &c->pieces->piece[o]));
        else
            judge(p, SUPPLE_ROLE_FOLLOW, "inside the flesh");
    }
    return gather_flesh(c, error);
}

/* Open pieces that bulge, with nothing beneath, are flesh. */
static supple_result close_open(court *c, supple_error *error)
{
    bool any = false;
    for (int32_t k = 0; k < c->pieces->count; k++) {
        spl_skin_piece *p = &c->pieces->piece[k];
        if (p->role != SUPPLE_ROLE_OWN || p->closed || p->as_one) continue;
        if (p->openness >= MAY_BE_CLOSED || p->bulk < BULGES || spl_court_beneath(c, k).over >= ALL_OVER) continue;
        judge(p, SUPPLE_ROLE_FLESH, "open, with nothing beneath: its openings are taken as closed");
        any = true;
    }
    return any ? gather_flesh(c, error) : SUPPLE_OK;
}

/* Where hardly anything is flesh, it is not meant to be: the hoses of a robot. */
static void doubt_flesh(court *c)
{
    double flesh = 0, all = 0;
    for (int32_t k = 0; k < c->pieces->count; k++) {
        all += c->pieces->piece[k].area;
        if (c->pieces->piece[k].role == SUPPLE_ROLE_FLESH) flesh += c->pieces->piece[k].area;
    }
    if (flesh >= LITTLE_FLESH * all) return;
    for (int32_t k = 0; k < c->pieces->count; k++)
        if (c->pieces->piece[k].role == SUPPLE_ROLE_FLESH)
            judge(&c->pieces->piece[k], SUPPLE_ROLE_OWN, "a little flesh among hard surface");
}

static void find_followers(const court *c)
{
    for (int32_t k = 0; k < c->pieces->count; k++) {
        spl_skin_piece *p = &c->pieces->piece[k];
        if (p->role != SUPPLE_ROLE_OWN || c->flesh_count == 0) continue;
        spl_beneath b = spl_court_beneath(c, k);
        size_t used = strlen(p->why);
        if (b.near > 0) p->role = SUPPLE_ROLE_FOLLOW;
        snprintf(p->why + used, sizeof p->why - used,
                 b.over >= SPL_MOST ? "; lies on flesh"
                 : b.near > 0       ? "; hangs on flesh"
                                    : "; no flesh beneath");
    }
}

static supple_result sort_triangles(court *c, supple_error *error)
{
    const spl_surface *s = &c->pieces->surface;
    size_t n = (size_t)s->triangle_count;
    c->first = spl_new(c->a, (size_t)c->pieces->count + 2, sizeof *c->first);
    c->triangle = spl_new(c->a, n, sizeof *c->triangle);
    c->flesh = spl_new(c->a, n, 3 * sizeof *c->flesh);
    c->flesh_source = spl_new(c->a, n, sizeof *c->flesh_source);
    if (!c->first || !c->triangle || !c->flesh || !c->flesh_source) return spl_fail_memory(error, "the parts");
    for (size_t t = 0; t < n; t++) c->first[s->component[t] + 1]++;
    for (int32_t k = 0; k < c->pieces->count; k++) c->first[k + 1] += c->first[k];
    for (size_t t = n; t-- > 0;) c->triangle[--c->first[s->component[t] + 1]] = (int32_t)t;
    memmove(c->first, c->first + 1, (size_t)c->pieces->count * sizeof *c->first);
    c->first[c->pieces->count] = s->triangle_count;
    return SUPPLE_OK;
}

/* What the rules make of it, one after the other: each sees the flesh that those before it found. */
static supple_result judge_pieces(court *c, supple_error *error)
{
    supple_result result = sort_triangles(c, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t k = 0; k < c->pieces->count; k++) judge_alone(c, k);
    result = find_enclosed(c, error);
    if (result == SUPPLE_OK) result = close_open(c, error);
    if (result != SUPPLE_OK) return result;
    doubt_flesh(c);
    result = gather_flesh(c, error);
    if (result == SUPPLE_OK) result = spl_court_find_ends(c, error);
    if (result == SUPPLE_OK) result = gather_flesh(c, error);
    if (result == SUPPLE_OK) result = spl_court_find_clumps(c, error);
    if (result == SUPPLE_OK) result = gather_flesh(c, error);
    if (result == SUPPLE_OK) find_followers(c);
    return result;
}

supple_result spl_pieces_judge(const spl_roles_input *in, const supple_allocator *a, spl_skin_pieces *pieces,
                               supple_error *error)
{
    court c = {.in = in, .a = a, .pieces = pieces, .budget = TEST_BUDGET};
    int32_t moving = 0;
    for (int32_t n = 0; n < in->scene->node_count; n++)
        moving += in->bones->influence[n] > 0 && in->bones->merged_into[n] == n;
    for (int32_t k = 0; k < pieces->count; k++) pieces->piece[k].as_one = moving > 1 && moves_as_one(&pieces->piece[k]);
    supple_result result = judge_pieces(&c, error);
    release_flesh(&c);
    spl_free(a, c.first);
    spl_free(a, c.triangle);
    spl_free(a, c.flesh);
    spl_free(a, c.flesh_source);
    return result;
}
