/* Which tet is whose: by rule, then whole pieces, then no small ones. */
#include "core/error.h"
#include "core/memory.h"
#include "subspace/domains_private.h"

#include <string.h>

#define EQUAL 1e-9 /* share by which two distances to bones differ if they differ */

/* ---- the two rules ---- */

/* Distance to a bone's segment, and how far beyond its ends the foot of the perpendicular lies. */
static double distance_to(const spl_bone *b, spl_vec3 p, double *beyond)
{
    spl_vec3 along = spl_sub(b->tail, b->head), at = spl_sub(p, b->head);
    double length2 = spl_dot(along, along), t = length2 > 0 ? spl_dot(at, along) / length2 : 0;
    double clamped = fmin(fmax(t, 0), 1);
    *beyond = fabs(t - clamped) * sqrt(length2);
    return spl_distance(at, spl_scale(along, clamped));
}

static spl_vec3 centre_of(const spl_tets *t, size_t k)
{
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (size_t i = 0; i < 4; i++) sum = spl_add(sum, t->position[t->tet[4 * k + i]]);
    return spl_scale(sum, 0.25);
}

/* The limb whose segment is nearest. Beyond a joint two segments are equally near, both by the joint itself: the one
 * that comes nearest to pointing there has it. */
static int32_t nearest_limb(const spl_cut *c, const bool *holds, size_t k)
{
    const spl_bones *bones = &c->solid->body->bones;
    spl_vec3 p = centre_of(&c->solid->body->tets, k);
    double best = INFINITY, best_beyond = INFINITY;
    int32_t found = -1;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        double beyond;
        if (!holds[c->limb[b]]) continue;
        double d = distance_to(&bones->bone[b], p, &beyond);
        bool equal = fabs(d - best) <= EQUAL * best;
        if (equal ? beyond >= best_beyond : d >= best) continue;
        best = d;
        best_beyond = beyond;
        found = c->limb[b];
    }
    return found;
}

/* The limb with the largest weight at the centre; of equal ones the lowest. */
static int32_t heaviest_limb(const spl_cut *c, double *sum, size_t k)
{
    const spl_bone_weights *w = &c->solid->weights;
    const int32_t *corner = c->solid->body->tets.tet + 4 * k;
    int32_t best = -1;
    for (int pass = 0; pass < 3; pass++) /* clear, add, compare: no limb but these is touched */
        for (size_t i = 0; i < 4 * SPL_BONE_INFLUENCES; i++) {
            size_t at = SPL_BONE_INFLUENCES * (size_t)corner[i / SPL_BONE_INFLUENCES] + i % SPL_BONE_INFLUENCES;
            if (w->bone[at] < 0) continue;
            int32_t l = c->limb[w->bone[at]];
            if (pass == 0) sum[l] = 0;
            if (pass == 1) sum[l] += w->weight[at];
            if (pass == 2 && (best < 0 || sum[l] > sum[best] || (sum[l] == sum[best] && l < best))) best = l;
        }
    return best;
}

/* Loose pieces belong to the bone they hang on. */
static int32_t island_limb(const spl_cut *c, size_t k)
{
    for (size_t i = 0; i < 4; i++) {
        int32_t bone = c->solid->island[c->solid->body->tets.tet[4 * k + i]];
        if (bone >= 0) return c->limb[bone];
    }
    return -1;
}

static supple_result label_all(spl_cut *c, spl_domain_rule rule, supple_error *error)
{
    const spl_body *body = c->solid->body;
    size_t bones = (size_t)body->bones.bone_count, tets = (size_t)body->tets.tet_count;
    bool *holds = spl_new(c->allocator, bones, sizeof *holds);
    double *sum = spl_new(c->allocator, bones, sizeof *sum);
    bool ok = holds && sum;
    for (size_t v = 0; ok && v < (size_t)body->tets.vertex_count; v++)
        if (body->bone[v] >= 0) holds[c->limb[body->bone[v]]] = true;
    for (size_t k = 0; ok && k < tets; k++) {
        int32_t l = island_limb(c, k);
        if (l < 0) l = rule == SPL_DOMAINS_WEIGHTS ? heaviest_limb(c, sum, k) : nearest_limb(c, holds, k);
        c->label[k] = l;
    }
    spl_free(c->allocator, holds);
    spl_free(c->allocator, sum);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the body's domains");
}

/* ---- whole pieces ---- */

/* Pieces: tets of one label that hang together through faces. */
typedef struct pieces {
    int32_t count;
    int32_t *of_tet, *stack;
    int32_t *size, *label; /* by piece, at most one a tet */
    bool *rooted, *kept;
} pieces;

/* Whether a tet has a corner that its own limb holds, or hangs on it. */
static bool is_root(const spl_cut *c, int32_t k)
{
    for (size_t i = 0; i < 4; i++) {
        int32_t v = c->solid->body->tets.tet[4 * (size_t)k + i];
        int32_t bone = c->solid->body->bone[v] >= 0 ? c->solid->body->bone[v] : c->solid->island[v];
        if (bone >= 0 && c->limb[bone] == c->label[k]) return true;
    }
    return false;
}

static void flood(const spl_cut *c, pieces *p, int32_t from)
{
    int32_t piece = p->count++, top = 0;
    p->label[piece] = c->label[from];
    p->of_tet[from] = piece;
    p->stack[top++] = from;
    while (top > 0) {
        int32_t k = p->stack[--top];
        p->size[piece]++;
        p->rooted[piece] = p->rooted[piece] || is_root(c, k);
        for (size_t i = 0; i < 4; i++) {
            int32_t next = c->neighbour[4 * (size_t)k + i];
            if (next < 0 || p->of_tet[next] >= 0 || c->label[next] != c->label[k]) continue;
            p->of_tet[next] = piece;
            p->stack[top++] = next;
        }
    }
}

/* Of each label's pieces the largest that its bones hold stays. */
static void keep_largest(const pieces *p, int32_t *largest, int32_t bones)
{
    for (int32_t b = 0; b < bones; b++) largest[b] = -1;
    for (int32_t i = 0; i < p->count; i++)
        if (p->rooted[i] && (largest[p->label[i]] < 0 || p->size[i] > p->size[largest[p->label[i]]]))
            largest[p->label[i]] = i;
    for (int32_t b = 0; b < bones; b++)
        if (largest[b] >= 0) p->kept[largest[b]] = true;
}

/* The tets of the piece of `first`, into p->stack; their number. They are marked by ~piece in of_tet. */
static int32_t collect(const spl_cut *c, pieces *p, int32_t first)
{
    int32_t piece = p->of_tet[first], top = 0;
    p->stack[top++] = first;
    p->of_tet[first] = ~piece;
    for (int32_t at = 0; at < top; at++)
        for (size_t i = 0; i < 4; i++) {
            int32_t next = c->neighbour[4 * (size_t)p->stack[at] + i];
            if (next < 0 || p->of_tet[next] != piece) continue;
            p->of_tet[next] = ~piece;
            p->stack[top++] = next;
        }
    return top;
}

/* What a tet of a piece that was not kept shares with those that were: faces, or vertices (owner: by vertex, the label
 * of a kept tet there) where pieces hang together at corners and edges alone. */
static void count_shared(const spl_cut *c, const pieces *p, const int32_t *owner, int32_t k, int32_t *shared)
{
    for (size_t i = 0; i < 4; i++) {
        int32_t next = c->neighbour[4 * (size_t)k + i], v = c->solid->body->tets.tet[4 * (size_t)k + i];
        if (owner && owner[v] >= 0) shared[owner[v]]++;
        if (!owner && next >= 0 && p->of_tet[next] >= 0 && p->kept[p->of_tet[next]])
            shared[p->label[p->of_tet[next]]]++;
    }
}

/* One sweep: a piece that was not kept joins the label that it shares most with. Whether one did. */
static bool join_pieces(const spl_cut *c, pieces *p, const int32_t *owner, int32_t *shared, int32_t bones)
{
    bool joined = false;
    for (int32_t piece = 0; piece < p->count; piece++) p->rooted[piece] = false; /* from here on: seen in this sweep */
    for (int32_t first = 0; first < c->solid->body->tets.tet_count; first++) {
        int32_t piece = p->of_tet[first], best = -1;
        if (p->kept[piece] || p->rooted[piece]) continue;
        p->rooted[piece] = true;
        memset(shared, 0, (size_t)bones * sizeof *shared);
        int32_t count = collect(c, p, first);
        for (int32_t i = 0; i < count; i++) count_shared(c, p, owner, p->stack[i], shared);
        for (int32_t i = 0; i < count; i++) p->of_tet[p->stack[i]] = piece;
        for (int32_t b = 0; b < bones; b++)
            if (shared[b] > 0 && (best < 0 || shared[b] > shared[best])) best = b;
        if (best < 0) continue;
        p->label[piece] = best;
        p->kept[piece] = joined = true;
        if (owner) return true; /* what it touches may now join it by faces */
    }
    return joined;
}

/* By vertex: the label of the last kept tet there, -1 for none. */
static void find_owners(const spl_cut *c, const pieces *p, int32_t *owner)
{
    const spl_tets *t = &c->solid->body->tets;
    for (int32_t v = 0; v < t->vertex_count; v++) owner[v] = -1;
    for (size_t k = 0; k < (size_t)t->tet_count; k++)
        for (size_t i = 0; i < 4 && p->kept[p->of_tet[k]]; i++) owner[t->tet[4 * k + i]] = p->label[p->of_tet[k]];
}

/* Makes every label one piece where the mesh allows it: what hangs elsewhere joins what it touches. */
static supple_result join_all(spl_cut *c, supple_error *error)
{
    const supple_allocator *a = c->allocator;
    int32_t tets = c->solid->body->tets.tet_count, bones = c->solid->body->bones.bone_count;
    size_t m = (size_t)tets;
    pieces p = {.of_tet = spl_new(a, m, sizeof *p.of_tet),
                .stack = spl_new(a, m, sizeof *p.stack),
                .size = spl_new(a, m, sizeof *p.size),
                .label = spl_new(a, m, sizeof *p.label),
                .rooted = spl_new(a, m, sizeof *p.rooted),
                .kept = spl_new(a, m, sizeof *p.kept)};
    int32_t *by_bone = spl_new(a, (size_t)bones, sizeof *by_bone);
    int32_t *owner = spl_new(a, (size_t)c->solid->body->tets.vertex_count, sizeof *owner);
    bool ok = p.of_tet && p.stack && p.size && p.label && p.rooted && p.kept && by_bone && owner;
    for (size_t k = 0; ok && k < m; k++) p.of_tet[k] = -1;
    for (int32_t k = 0; ok && k < tets; k++)
        if (p.of_tet[k] < 0) flood(c, &p, k);
    if (ok) {
        keep_largest(&p, by_bone, bones);
        do {
            while (join_pieces(c, &p, NULL, by_bone, bones)) {
            }
            find_owners(c, &p, owner);
        } while (join_pieces(c, &p, owner, by_bone, bones));
        for (size_t k = 0; k < m; k++) c->label[k] = p.label[p.of_tet[k]];
    }
    spl_free(a, p.of_tet);
    spl_free(a, p.stack);
    spl_free(a, p.size);
    spl_free(a, p.label);
    spl_free(a, p.rooted);
    spl_free(a, p.kept);
    spl_free(a, by_bone);
    spl_free(a, owner);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the body's domains");
}

/* ---- no small ones ---- */

typedef struct sizes {
    int32_t bones, count; /* limbs with tets */
    int32_t *tets;        /* by limb */
    bool *free;           /* by limb: has a vertex that no bone holds */
    int32_t *faces;       /* bones x bones: faces between them, symmetric */
    int32_t *into;        /* by limb: the limb that has its tets now */
} sizes;

static void measure(const spl_cut *c, sizes *s)
{
    const spl_body *body = c->solid->body;
    for (int32_t b = 0; b < s->bones; b++) s->into[b] = b;
    for (size_t k = 0; k < (size_t)body->tets.tet_count; k++) {
        int32_t l = c->label[k];
        if (s->tets[l]++ == 0) s->count++;
        for (size_t i = 0; i < 4; i++) {
            int32_t next = c->neighbour[4 * k + i];
            if (body->bone[body->tets.tet[4 * k + i]] < 0) s->free[l] = true;
            if (next >= 0 && c->label[next] != l) s->faces[(size_t)l * (size_t)s->bones + (size_t)c->label[next]]++;
        }
    }
}

/* Whom a small limb joins: the nearest limb towards the root if they touch, else the one it shares most faces with;
 * one that touches none joins towards the root all the same. */
static int32_t partner_of(const spl_cut *c, const sizes *s, int32_t l)
{
    const spl_bones *bones = &c->solid->body->bones;
    const int32_t *faces = s->faces + (size_t)l * (size_t)s->bones;
    int32_t up = bones->bone[l].parent, best = -1;
    while (up >= 0 && (c->limb[up] == l || s->tets[c->limb[up]] == 0)) up = bones->bone[up].parent;
    if (up >= 0) up = c->limb[up];
    if (up >= 0 && faces[up] > 0) return up;
    for (int32_t b = 0; b < s->bones; b++)
        if (faces[b] > 0 && (best < 0 || faces[b] > faces[best])) best = b;
    if (best >= 0) return best;
    if (up >= 0) return up;
    for (int32_t b = 0; b < s->bones && best < 0; b++)
        if (b != l && s->tets[b] > 0) best = b;
    return best;
}

static void merge(sizes *s, int32_t from, int32_t to)
{
    size_t n = (size_t)s->bones, f = (size_t)from, t = (size_t)to;
    s->tets[to] += s->tets[from];
    s->tets[from] = 0;
    s->free[to] = s->free[to] || s->free[from];
    s->count--;
    for (size_t b = 0; b < n; b++) {
        s->faces[t * n + b] += s->faces[f * n + b];
        s->faces[b * n + t] += s->faces[b * n + f];
        s->faces[f * n + b] = s->faces[b * n + f] = 0;
        if (s->into[b] == from) s->into[b] = to;
    }
    s->faces[t * n + t] = 0;
}

/* The smallest limb that has to go; -1 if none has. */
static int32_t smallest(const sizes *s, const spl_domain_options *o)
{
    int32_t best = -1;
    bool many = o->most > 0 && s->count > o->most;
    for (int32_t b = 0; b < s->bones && s->count > 1; b++)
        if (s->tets[b] > 0 && (many || s->tets[b] < o->least_tets || !s->free[b]) &&
            (best < 0 || s->tets[b] < s->tets[best]))
            best = b;
    return best;
}

static supple_result merge_small(spl_cut *c, const spl_domain_options *o, supple_error *error)
{
    const supple_allocator *a = c->allocator;
    size_t bones = (size_t)c->solid->body->bones.bone_count;
    sizes s = {.bones = (int32_t)bones,
               .tets = spl_new(a, bones, sizeof *s.tets),
               .free = spl_new(a, bones, sizeof *s.free),
               .faces = spl_new(a, bones, bones * sizeof *s.faces),
               .into = spl_new(a, bones, sizeof *s.into)};
    bool ok = s.tets && s.free && s.faces && s.into;
    if (ok) {
        measure(c, &s);
        for (int32_t l; (l = smallest(&s, o)) >= 0;) merge(&s, l, partner_of(c, &s, l));
        for (size_t k = 0; k < (size_t)c->solid->body->tets.tet_count; k++) c->label[k] = s.into[c->label[k]];
        for (size_t b = 0; b < bones; b++) c->limb[b] = s.into[c->limb[b]];
    }
    spl_free(a, s.tets);
    spl_free(a, s.free);
    spl_free(a, s.faces);
    spl_free(a, s.into);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the body's domains");
}

/* ---- all of it ---- */

static supple_result find_neighbours(spl_cut *c, supple_error *error)
{
    spl_tets tets = c->solid->body->tets; /* the same arrays; memory from ours */
    tets.allocator = *c->allocator;
    spl_tet_faces faces;
    supple_result result = spl_tet_faces_create(&faces, &tets, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; i < faces.count; i++) c->neighbour[i] = -1;
    for (int32_t i = 0, end; i < faces.count; i = end) {
        end = spl_tet_faces_group_end(&faces, i);
        if (end - i < 2) continue;
        c->neighbour[faces.order[i]] = faces.order[i + 1] / 4;
        c->neighbour[faces.order[i + 1]] = faces.order[i] / 4;
    }
    spl_tet_faces_release(&faces);
    return SUPPLE_OK;
}

supple_result spl_cut_create(const spl_solid *solid, const spl_domain_options *options, const supple_allocator *a,
                             spl_cut *out, supple_error *error)
{
    const spl_bones *bones = &solid->body->bones;
    size_t tets = (size_t)solid->body->tets.tet_count;
    *out = (spl_cut){.solid = solid,
                     .allocator = a,
                     .limb = spl_new(a, (size_t)bones->bone_count, sizeof *out->limb),
                     .neighbour = spl_new(a, tets, 4 * sizeof *out->neighbour),
                     .label = spl_new(a, tets, sizeof *out->label)};
    bool ok = out->limb && out->neighbour && out->label;
    supple_result result = ok ? SUPPLE_OK : spl_fail_memory(error, "the body's domains");
    for (int32_t b = 0; ok && b < bones->bone_count; b++) {
        out->limb[b] = b;
        for (int32_t lower = b - 1; lower >= 0; lower--)
            if (bones->bone[lower].joint == bones->bone[b].joint) out->limb[b] = lower;
    }
    if (ok) result = find_neighbours(out, error);
    if (result == SUPPLE_OK) result = label_all(out, options->rule, error);
    if (result == SUPPLE_OK) result = join_all(out, error);
    if (result == SUPPLE_OK) result = merge_small(out, options, error);
    if (result != SUPPLE_OK) spl_cut_release(out);
    return result;
}

void spl_cut_release(spl_cut *cut)
{
    if (!cut->allocator) return;
    spl_free(cut->allocator, cut->limb);
    spl_free(cut->allocator, cut->neighbour);
    spl_free(cut->allocator, cut->label);
    *cut = (spl_cut){0};
}
