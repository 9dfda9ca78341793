/* Solids whose weights are the same all over are plates, eyes and teeth, as a rule: they follow. Two kinds are flesh.
 *
 * A clump: solids of one joint that pass into each other and into the flesh that they sit on, as the tufts of a head of
 * hair do. Of each 10 to 60 percent of the area lies inside the others; of eyes, teeth, pockets and helmets none does,
 * and a rucksack with its straps lies on the flesh but not in it. (Measured on the corpus, see docs/characters.md.)
 *
 * The end of a limb: a large round solid, joined to flesh, of a joint that moves no flesh otherwise. The head of a toy
 * figure is the body there; its face, hat and beard then follow it. */
#include "body/judge_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdio.h>

#define PASSES_INTO 0.10 /* of a tuft's area inside the others of its clump, at least ... */
#define ROOTED      0.01 /* ... inside the flesh: it is not held by others alone ... */
#define SUNK        0.25 /* ... and inside either */
#define ABOUT       0.90 /* of its area with flesh about it that moves as it does: hair does not reach other limbs */
#define ROUND       0.50 /* bulk of a head; a limb of ten times its width has this, a blade or a shield has not */
#define LARGE       0.05 /* of the skinned area */
#define NO_FLESH    0.02 /* of a piece's area: flesh that its joint moves, to speak of */
enum { FEWEST = 4 };     /* tufts: a mask with its two filters is none */

typedef struct box {
    spl_vec3 low, high;
} box;

static box box_of(const court *c, int32_t piece)
{
    const spl_surface *s = &c->pieces->surface;
    box b = {spl_v3(INFINITY, INFINITY, INFINITY), spl_v3(-INFINITY, -INFINITY, -INFINITY)};
    for (int32_t i = c->first[piece]; i < c->first[piece + 1]; i++)
        for (size_t k = 0; k < 3; k++) {
            spl_vec3 p = s->position[s->triangle[3 * (size_t)c->triangle[i] + k]];
            b.low = spl_v3(fmin(b.low.x, p.x), fmin(b.low.y, p.y), fmin(b.low.z, p.z));
            b.high = spl_v3(fmax(b.high.x, p.x), fmax(b.high.y, p.y), fmax(b.high.z, p.z));
        }
    return b;
}

static bool holds(const box *b, spl_vec3 p)
{
    return p.x >= b->low.x && p.x <= b->high.x && p.y >= b->low.y && p.y <= b->high.y && p.z >= b->low.z &&
           p.z <= b->high.z;
}

static bool in_flesh(const court *c, spl_vec3 p)
{
    return c->flesh_count > 0 && spl_winding_number(&c->winding, p) > 0.5;
}

/* Whether a point is inside another member of a piece's clump. */
static bool in_clump(court *c, int32_t piece, const bool *member, const box *boxes, spl_vec3 p)
{
    for (int32_t o = 0; o < c->pieces->count; o++) {
        if (!member[o] || o == piece || c->pieces->piece[o].joint != c->pieces->piece[piece].joint) continue;
        if (holds(&boxes[o], p) && spl_court_winding(c, o, p) > 0.5) return true;
    }
    return false;
}

/* Shares of a piece's area. */
typedef struct depth {
    double flesh; /* inside the flesh */
    double clump; /* inside the others of its clump */
    double any;
} depth;

static depth measure_depth(court *c, int32_t piece, const bool *member, const box *boxes)
{
    depth d = {0};
    double total = 0;
    for (int32_t i = c->first[piece], step = spl_court_step(c, piece); i < c->first[piece + 1]; i += step) {
        spl_vec3 p = spl_court_below(c, c->triangle[i]);
        double area = spl_triangle_area(&c->pieces->surface, c->triangle[i]);
        bool flesh = in_flesh(c, p), clump = member && in_clump(c, piece, member, boxes, p);
        total += area;
        d.flesh += flesh ? area : 0;
        d.clump += clump ? area : 0;
        d.any += flesh || clump ? area : 0;
    }
    if (!(total > 0)) return (depth){0};
    return (depth){d.flesh / total, d.clump / total, d.any / total};
}

static bool may_be_flesh(const spl_skin_piece *p)
{
    return p->role == SUPPLE_ROLE_OWN && p->as_one && p->joint >= 0 && spl_piece_is_solid(p);
}

static bool may_be_tuft(court *c, int32_t k)
{
    if (!may_be_flesh(&c->pieces->piece[k])) return false;
    spl_beneath b = spl_court_beneath(c, k);
    return b.over >= SPL_MOST && b.near >= ABOUT && measure_depth(c, k, NULL, NULL).flesh < SPL_ENCLOSED;
}

static int32_t count_tufts(const court *c, const bool *member, int32_t joint)
{
    int32_t count = 0;
    for (int32_t o = 0; o < c->pieces->count; o++) count += member[o] && c->pieces->piece[o].joint == joint;
    return count;
}

/* Takes out those that do not pass into the rest until all that are left do: what is left does not depend on the order.
 */
static void prune(court *c, bool *member, const box *boxes)
{
    for (bool changed = true; changed && c->budget > 0;) {
        changed = false;
        for (int32_t k = 0; k < c->pieces->count; k++) {
            if (!member[k]) continue;
            depth d = measure_depth(c, k, member, boxes);
            bool grown = d.clump >= PASSES_INTO && d.flesh >= ROOTED && d.any >= SUNK;
            if (grown && count_tufts(c, member, c->pieces->piece[k].joint) >= FEWEST) continue;
            member[k] = false;
            changed = true;
        }
    }
}

supple_result spl_court_find_clumps(court *c, supple_error *error)
{
    size_t n = (size_t)c->pieces->count;
    if (c->flesh_count == 0) return SUPPLE_OK;
    bool *member = spl_new(c->a, n, sizeof *member);
    box *boxes = spl_new(c->a, n, sizeof *boxes);
    supple_result result = member && boxes ? SUPPLE_OK : spl_fail_memory(error, "the parts");
    for (int32_t k = 0; result == SUPPLE_OK && k < c->pieces->count; k++) {
        boxes[k] = box_of(c, k);
        member[k] = may_be_tuft(c, k);
    }
    if (result == SUPPLE_OK) prune(c, member, boxes);
    for (int32_t k = 0; result == SUPPLE_OK && c->budget > 0 && k < c->pieces->count; k++) {
        spl_skin_piece *p = &c->pieces->piece[k];
        if (!member[k]) continue;
        p->role = SUPPLE_ROLE_FLESH;
        snprintf(p->why, sizeof p->why, "a solid that passes into others like it and into flesh");
    }
    spl_free(c->a, member);
    spl_free(c->a, boxes);
    return result;
}

/* By node: how much of the flesh's area it moves. Returns that of all flesh. */
static double measure_moved(const court *c, double *moved)
{
    const spl_surface *s = &c->pieces->surface;
    const spl_skin_weights *w = &c->pieces->weights;
    double all = 0;
    for (int32_t i = 0; i < c->flesh_count; i++) {
        double area = spl_triangle_area(s, c->flesh_source[i]);
        all += area;
        for (size_t k = 0; k < 3; k++) {
            int32_t v = c->flesh[3 * (size_t)i + k];
            for (int32_t e = w->first[v]; e < w->first[v + 1]; e++)
                if (w->node[e] >= 0) moved[w->node[e]] += area / 3 * w->weight[e];
        }
    }
    return all;
}

/* The largest of its joint stands for it: what sits on a head is no head. */
static bool is_largest(const court *c, int32_t k)
{
    const spl_skin_piece *p = &c->pieces->piece[k];
    for (int32_t o = 0; o < c->pieces->count; o++) {
        const spl_skin_piece *q = &c->pieces->piece[o];
        if (o == k || q->joint != p->joint || !may_be_flesh(q)) continue;
        if (q->area > p->area || (q->area == p->area && o < k)) return false;
    }
    return true;
}

supple_result spl_court_find_ends(court *c, supple_error *error)
{
    double *moved = spl_new(c->a, (size_t)c->in->scene->node_count, sizeof *moved), all = 0;
    if (!moved) return spl_fail_memory(error, "the parts");
    for (int32_t k = 0; k < c->pieces->count; k++) all += c->pieces->piece[k].area;
    bool mostly_flesh = measure_moved(c, moved) >= SPL_MOST * all;
    for (int32_t k = 0; mostly_flesh && k < c->pieces->count; k++) {
        spl_skin_piece *p = &c->pieces->piece[k];
        if (!may_be_flesh(p) || p->bulk < ROUND || p->area < LARGE * all || !(p->led > 1 - SPL_HARD_SEGMENT)) continue;
        if (moved[p->joint] > NO_FLESH * p->area || !is_largest(c, k)) continue;
        if (!(measure_depth(c, k, NULL, NULL).flesh > 0)) continue;
        moved[p->joint] += p->area;
        p->role = SUPPLE_ROLE_FLESH;
        snprintf(p->why, sizeof p->why, "a solid joined to flesh, all that joint '%.40s' has",
                 c->in->scene->node[p->joint].name);
    }
    spl_free(c->a, moved);
    return SUPPLE_OK;
}
