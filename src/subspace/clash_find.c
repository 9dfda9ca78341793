/* The search for contacts of flesh with flesh (clash.h): tree against tree for what touches, then for each vertex near
 * the other domain its nearest vertex, and from there downhill to the nearest place of the surface. Spheres and places
 * are computed when they are first looked at. */
#include "core/memory.h"
#include "geom/tree.h"
#include "subspace/clash.h"

#include <math.h>
#include <string.h>

enum { STACK = 4 * SPL_BOUNDS_DEPTH, WALK = 16 };

/* Of the flesh around both bones: contacts deeper than this fade, and are gone at the second. */
static const double fading = 0.6, gone = 0.9;

/* Flesh that is farther from where its bone has it, of its thickness: it is crumpled, and what it meets says nothing.
 */
static const double crumpled = 0.75, lost = 1.25;

/* A side of a contact that its basis moves this much less than the other is taken as it stands: what pushes there would
 * move the rest of its domain instead (press.h). */
static const double stiff_side = 0.25;

bool spl_clash_take_search(spl_clash *c, const supple_allocator *a)
{
    size_t domains = (size_t)c->rest->model->domain_count, copies = (size_t)c->rest->first[domains],
           nodes = (size_t)c->rest->node_first[domains];
    c->seen = spl_new(a, copies, sizeof *c->seen);
    c->at = spl_new(a, copies, sizeof *c->at);
    c->away = spl_new(a, copies, sizeof *c->away);
    c->best = spl_new(a, copies, sizeof *c->best);
    c->nearest = spl_new(a, copies, sizeof *c->nearest);
    c->found = spl_new(a, copies, sizeof *c->found);
    c->seen_node = spl_new(a, nodes, sizeof *c->seen_node);
    c->centre = spl_new(a, nodes, sizeof *c->centre);
    c->radius = spl_new(a, nodes, sizeof *c->radius);
    c->length = spl_new(a, domains, sizeof *c->length);
    return c->seen && c->at && c->away && c->best && c->nearest && c->found && c->seen_node && c->centre && c->radius &&
           c->length;
}

/* ---- places and spheres, when they are asked for ---- */

static spl_vec3 to_world(const spl_clash_query *y, int32_t domain, spl_vec3 local)
{
    return spl_add(spl_mat3_apply(&y->frame[domain].R, local), y->frame[domain].t);
}

static spl_vec3 place_of(spl_clash *c, const spl_clash_query *y, int32_t domain, int32_t copy)
{
    if (c->seen[copy] == c->stamp) return c->at[copy];
    const spl_model_domain *d = &c->rest->model->domain[domain];
    size_t v = (size_t)c->rest->tree[domain].vertex[copy - c->rest->first[domain]];
    const double *rest = d->rest + 3 * v;
    double u[3];
    y->kernels->rows3(d->basis + 3 * v * (size_t)d->rank, (size_t)d->rank, y->q + y->offset[domain], u);
    c->seen[copy] = c->stamp;
    c->away[copy] = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    return c->at[copy] = to_world(y, domain, spl_v3(rest[0] + u[0], rest[1] + u[1], rest[2] + u[2]));
}

/* The sphere of a node, `index` of the domain's tree: its number among those kept. */
static int32_t sphere_of(spl_clash *c, const spl_clash_query *y, int32_t domain, int32_t index)
{
    int32_t k = c->rest->node_first[domain] + index;
    if (c->seen_node[k] == c->stamp) return k;
    spl_vec3 centre;
    c->radius[k] = spl_bounds_sphere(&c->rest->tree[domain], y->kernels, index, y->q + y->offset[domain],
                                     c->length[domain], &centre);
    c->centre[k] = to_world(y, domain, centre);
    c->seen_node[k] = c->stamp;
    return k;
}

/* A copy of a vertex of the rig: that of `domain`, else the first; -1: it has none. */
static int32_t copy_in(const spl_clash_rest *r, int32_t vertex, int32_t domain)
{
    int32_t first = -1;
    for (int32_t k = r->copy_first[vertex]; k < r->copy_first[vertex + 1]; k++) {
        int32_t copy = r->copy[k];
        if (copy >= r->first[domain] && copy < r->first[domain + 1]) return copy;
        if (first < 0) first = copy;
    }
    return first;
}

/* Where a vertex of the rig's surface is. False: nothing says. */
static bool rig_place(spl_clash *c, const spl_clash_query *y, int32_t vertex, int32_t domain, spl_vec3 *out)
{
    const spl_clash_rest *r = c->rest;
    int32_t copy = copy_in(r, vertex, domain), held = r->held[vertex];
    if (copy >= 0)
        *out = place_of(c, y, spl_clash_domain(r, copy), copy);
    else if (held >= 0)
        *out = spl_v3(y->held[3 * (size_t)held], y->held[3 * (size_t)held + 1], y->held[3 * (size_t)held + 2]);
    return copy >= 0 || held >= 0;
}

static bool triangle_places(spl_clash *c, const spl_clash_query *y, int32_t triangle, int32_t domain, spl_vec3 x[3])
{
    const int32_t *t = c->rest->model->rig.triangle + 3 * (size_t)triangle;
    return rig_place(c, y, t[0], domain, &x[0]) && rig_place(c, y, t[1], domain, &x[1]) &&
           rig_place(c, y, t[2], domain, &x[2]);
}

/* ---- what touches ---- */

typedef struct node_pair {
    int32_t i, j;
} node_pair;

static bool leaves_touch(spl_clash *c, const spl_clash_query *y, const int32_t domain[2], const spl_bounds_node *n[2])
{
    double reach = c->rest->edge * c->rest->edge;
    for (int32_t k = 0; k < n[0]->count; k++)
        for (int32_t l = 0; l < n[1]->count; l++) {
            spl_vec3 a = place_of(c, y, domain[0], c->rest->first[domain[0]] + n[0]->first + k);
            spl_vec3 b = place_of(c, y, domain[1], c->rest->first[domain[1]] + n[1]->first + l);
            spl_vec3 way = spl_sub(a, b);
            if (spl_dot(way, way) < reach) return true;
        }
    return false;
}

/* Whether two domains have vertices that are nearer to each other than an edge is long. */
static bool touch(spl_clash *c, const spl_clash_query *y, int32_t i, int32_t j)
{
    const int32_t domain[2] = {i, j};
    node_pair stack[STACK] = {{0, 0}};
    int32_t size = c->rest->tree[i].node_count > 0 && c->rest->tree[j].node_count > 0;
    while (size > 0) {
        node_pair p = stack[--size];
        const spl_bounds_node *n[2] = {&c->rest->tree[i].node[p.i], &c->rest->tree[j].node[p.j]};
        int32_t a = sphere_of(c, y, i, p.i), b = sphere_of(c, y, j, p.j);
        double reach = c->radius[a] + c->radius[b] + c->rest->edge;
        spl_vec3 way = spl_sub(c->centre[a], c->centre[b]);
        if (spl_dot(way, way) > reach * reach) continue;
        if (n[0]->right == 0 && n[1]->right == 0) {
            if (leaves_touch(c, y, domain, n)) return true;
            continue;
        }
        if (size + 2 > STACK) return true; /* deeper than any tree: let the search say */
        bool first = n[1]->right == 0 || (n[0]->right > 0 && c->radius[a] >= c->radius[b]);
        stack[size++] = first ? (node_pair){n[0]->right, p.j} : (node_pair){p.i, n[1]->right};
        stack[size++] = first ? (node_pair){p.i + 1, p.j} : (node_pair){p.i, p.j + 1};
    }
    return false;
}

/* ---- the nearest vertex ---- */

/* The copy of domain j nearest to p, nearer than *square; -1: none. */
static int32_t nearest_in(spl_clash *c, const spl_clash_query *y, int32_t j, spl_vec3 p, double *square)
{
    const spl_bounds *b = &c->rest->tree[j];
    int32_t stack[STACK] = {0}, size = b->node_count > 0, best = -1;
    while (size > 0) {
        int32_t index = stack[--size], k = sphere_of(c, y, j, index);
        const spl_bounds_node *n = &b->node[index];
        double far = spl_distance(p, c->centre[k]) - c->radius[k];
        if (far > 0 && far * far >= *square) continue;
        for (int32_t s = n->first; n->right == 0 && s < n->first + n->count; s++) {
            spl_vec3 way = spl_sub(place_of(c, y, j, c->rest->first[j] + s), p);
            double d = spl_dot(way, way);
            if (d < *square) *square = d, best = c->rest->first[j] + s;
        }
        if (n->right == 0 || size + 2 > STACK) continue;
        int32_t left = sphere_of(c, y, j, index + 1), right = sphere_of(c, y, j, n->right);
        bool swap =
            spl_distance(p, c->centre[right]) - c->radius[right] < spl_distance(p, c->centre[left]) - c->radius[left];
        stack[size++] = swap ? index + 1 : n->right; /* the nearer one is looked at first */
        stack[size++] = swap ? n->right : index + 1;
    }
    return best;
}

/* Vertices of i that may be in j: in the sphere around all of it. */
static void look(spl_clash *c, const spl_clash_query *y, int32_t i, int32_t j)
{
    const spl_clash_rest *r = c->rest;
    const spl_bounds *b = &r->tree[i];
    int32_t root = sphere_of(c, y, j, 0), stack[STACK] = {0}, size = 1;
    while (size > 0) {
        int32_t index = stack[--size], k = sphere_of(c, y, i, index);
        const spl_bounds_node *n = &b->node[index];
        double reach = c->radius[k] + c->radius[root] + r->nearest;
        if (spl_distance(c->centre[k], c->centre[root]) > reach) continue;
        if (n->right > 0 && size + 2 <= STACK) {
            stack[size++] = n->right;
            stack[size++] = index + 1;
            continue;
        }
        for (int32_t s = n->first; s < n->first + n->count; s++) {
            int32_t copy = r->first[i] + s;
            if (r->place[copy] < 0) continue;
            spl_vec3 p = place_of(c, y, i, copy);
            if (spl_distance(p, c->centre[root]) > c->radius[root] + r->nearest) continue;
            double square = c->best[copy];
            int32_t other = nearest_in(c, y, j, p, &square);
            if (other < 0) continue;
            if (c->nearest[copy] < 0) c->found[c->found_count++] = copy;
            c->nearest[copy] = other;
            c->best[copy] = square;
        }
    }
}

/* ---- the nearest place ---- */

typedef struct spot {
    int32_t triangle; /* -1: none */
    double bary[3], square;
} spot;

static void look_around(spl_clash *c, const spl_clash_query *y, int32_t vertex, int32_t domain, spl_vec3 p, spot *best)
{
    const spl_clash_rest *r = c->rest;
    for (int32_t k = r->ring_first[vertex]; k < r->ring_first[vertex + 1]; k++) {
        spl_vec3 x[3];
        double bary[3];
        if (!triangle_places(c, y, r->ring[k], domain, x)) continue;
        double square = spl_triangle_nearest(p, x[0], x[1], x[2], bary);
        if (!(square < best->square)) continue;
        *best = (spot){r->ring[k], {bary[0], bary[1], bary[2]}, square};
    }
}

/* The corner that a place is nearest to. */
static int32_t corner_of(const spl_clash_rest *r, const spot *s)
{
    int best = s->bary[1] > s->bary[0];
    if (s->bary[2] > s->bary[best]) best = 2;
    return r->model->rig.triangle[3 * (size_t)s->triangle + (size_t)best];
}

/* Downhill from a vertex, until no triangle around is nearer. */
static spot walk(spl_clash *c, const spl_clash_query *y, int32_t vertex, int32_t domain, spl_vec3 p)
{
    spot s = {.triangle = -1, .square = INFINITY};
    for (int k = 0; k < WALK; k++) {
        double before = s.square;
        look_around(c, y, vertex, domain, p, &s);
        if (s.triangle < 0 || !(s.square < before)) break;
        int32_t next = corner_of(c->rest, &s);
        if (next == vertex) break;
        vertex = next;
    }
    return s;
}

/* The surface's normal at one of its vertices: that of the rest shape, turned with the domain. */
static spl_vec3 normal_at(const spl_clash *c, const spl_clash_query *y, int32_t vertex, int32_t domain)
{
    const double *n = c->rest->normal + 3 * (size_t)vertex;
    return spl_mat3_apply(&y->frame[domain].R, spl_v3(n[0], n[1], n[2]));
}

/* ---- a contact ---- */

/* Whether a place is of flesh that may meet domain i: no copy of its corner is of i or of a neighbour; and how far from
 * a vertex it is at rest. */
static bool may_meet(const spl_clash_rest *r, int32_t i, int32_t copy, const spot *s)
{
    size_t n = (size_t)r->model->domain_count;
    const int32_t *t = r->model->rig.triangle + 3 * (size_t)s->triangle;
    double apart = 0;
    spl_vec3 at = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        const double *p = r->rest + 3 * (size_t)t[k];
        at = spl_madd(at, spl_v3(p[0], p[1], p[2]), s->bary[k]);
        for (int32_t l = r->copy_first[t[k]]; l < r->copy_first[t[k] + 1]; l++) {
            size_t pair = (size_t)i * n + (size_t)spl_clash_domain(r, r->copy[l]);
            if (!r->allowed[pair]) return false;
            apart = fmax(apart, r->apart[pair]);
        }
    }
    const double *own = r->rest + 3 * (size_t)r->place[copy];
    return spl_distance(at, spl_v3(own[0], own[1], own[2])) >= apart;
}

static double fade(double x, double from, double to)
{
    return fmin(fmax((to - x) / (to - from), 0), 1);
}

/* What is left of a contact where bones pass through each other, and where flesh is crumpled. */
static double share_of(const spl_clash *c, int32_t copy, int32_t other, double depth)
{
    const double *thick = c->rest->thick;
    if (!(thick[copy] > 0) || !(thick[other] > 0)) return 0;
    return fade(depth / (thick[copy] + thick[other]), fading, gone) *
           fade(c->away[copy] / thick[copy], crumpled, lost) * fade(c->away[other] / thick[other], crumpled, lost);
}

static bool contact_of(spl_clash *c, const spl_clash_query *y, int32_t copy, spl_clash_contact *out)
{
    const spl_clash_rest *r = c->rest;
    int32_t other = c->nearest[copy], i = spl_clash_domain(r, copy), j = spl_clash_domain(r, other);
    spl_vec3 p = c->at[copy], x[3], normal = {0, 0, 0}, at = {0, 0, 0};
    spot s = walk(c, y, r->place[other], j, p);
    if (s.triangle < 0 || !may_meet(r, i, copy, &s) || !triangle_places(c, y, s.triangle, j, x)) return false;
    for (int k = 0; k < 3; k++) {
        int32_t corner = r->model->rig.triangle[3 * (size_t)s.triangle + (size_t)k];
        normal = spl_madd(normal, normal_at(c, y, corner, j), s.bary[k]);
        at = spl_madd(at, x[k], s.bary[k]);
    }
    normal = spl_unit(normal, spl_v3(0, 0, 0));
    double far = sqrt(s.square), depth = spl_dot(spl_sub(at, p), normal);
    if (!(depth > -r->nearest) || !(spl_dot(normal, normal) > 0.5)) return false;
    if (far > r->nearest && depth < 0.5 * far) return false; /* beside it, not in it */
    double share = share_of(c, copy, other, depth), m = fmax(r->mobility[copy], r->mobility[other]);
    *out = (spl_clash_contact){.copy = copy, .domain = i, .other = j, .triangle = s.triangle};
    memcpy(out->bary, s.bary, sizeof out->bary);
    out->normal = normal;
    out->depth = depth;
    out->spring = r->stiffness[copy] * m * m * share;
    return out->spring > 0;
}

/* ---- order ---- */

typedef bool before_fn(const spl_clash_contact *a, const spl_clash_contact *b);

static bool deeper(const spl_clash_contact *a, const spl_clash_contact *b)
{
    return a->depth > b->depth || (a->depth == b->depth && a->copy < b->copy);
}

static int32_t low_of(const spl_clash_contact *k)
{
    return k->domain < k->other ? k->domain : k->other;
}

static int32_t high_of(const spl_clash_contact *k)
{
    return k->domain < k->other ? k->other : k->domain;
}

static bool by_pair(const spl_clash_contact *a, const spl_clash_contact *b)
{
    int32_t low = low_of(a) - low_of(b), high = high_of(a) - high_of(b);
    return low != 0 ? low < 0 : high != 0 ? high < 0 : a->copy < b->copy;
}

/* The last in the order stands first (a heap). */
static void sift(spl_clash_contact *k, int32_t at, int32_t count, before_fn *before)
{
    for (int32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && before(&k[child], &k[child + 1])) child++;
        if (!before(&k[at], &k[child])) return;
        spl_clash_contact t = k[at];
        k[at] = k[child];
        k[child] = t;
        at = child;
    }
}

static void sort(spl_clash_contact *k, int32_t count)
{
    for (int32_t i = count / 2; i-- > 0;) sift(k, i, count, by_pair);
    for (int32_t n = count; n-- > 1;) {
        spl_clash_contact t = k[0];
        k[0] = k[n];
        k[n] = t;
        sift(k, 0, n, by_pair);
    }
}

/* Keeps the deepest where there is no room for all. */
static void keep(spl_clash *c, const spl_clash_contact *k)
{
    if (c->count < c->most) {
        c->contact[c->count++] = *k;
        return;
    }
    for (int32_t i = c->count / 2; i-- > 0 && c->dropped == 0;) sift(c->contact, i, c->count, deeper);
    c->dropped++;
    if (c->count == 0 || !deeper(k, &c->contact[0])) return;
    c->contact[0] = *k;
    sift(c->contact, 0, c->count, deeper);
}

/* ---- rows ---- */

/* row -= by U^T R^T n of a copy; returns what it takes off the depth at q. */
static double add_row(const spl_clash *c, const spl_clash_query *y, int32_t domain, int32_t copy, spl_vec3 n, double by,
                      double *row)
{
    const spl_model_domain *d = &c->rest->model->domain[domain];
    size_t v = (size_t)c->rest->tree[domain].vertex[copy - c->rest->first[domain]], rank = (size_t)d->rank;
    const double *U = d->basis + 3 * v * rank, *q = y->q + y->offset[domain];
    spl_mat3 inverse = spl_mat3_transpose(&y->frame[domain].R);
    spl_vec3 m = spl_scale(spl_mat3_apply(&inverse, n), by);
    double sum = 0;
    for (size_t k = 0; k < rank; k++) {
        double j = U[k] * m.x + U[rank + k] * m.y + U[2 * rank + k] * m.z;
        row[k] += j;
        sum += j * q[k];
    }
    return sum;
}

/* a, b and d_0 of a contact. */
static void reduce(spl_clash *c, const spl_clash_query *y, int32_t index)
{
    const spl_clash_rest *r = c->rest;
    const spl_clash_contact *k = &c->contact[index];
    size_t wide = (size_t)c->wide;
    double *row[2] = {c->low + (size_t)index * wide, c->high + (size_t)index * wide};
    double *own = row[k->domain > k->other], *others = row[k->domain < k->other], start = k->depth + r->gap;
    double mine = r->yielding[k->copy], theirs = r->yielding[c->nearest[k->copy]];
    memset(row[0], 0, wide * sizeof *row[0]);
    memset(row[1], 0, wide * sizeof *row[1]);
    if (mine >= stiff_side * theirs) start += add_row(c, y, k->domain, k->copy, k->normal, 1, own);
    for (int corner = 0; corner < 3 && theirs >= stiff_side * mine; corner++) {
        int32_t v = r->model->rig.triangle[3 * (size_t)k->triangle + (size_t)corner];
        int32_t copy = copy_in(r, v, k->other);
        if (copy < r->first[k->other] || copy >= r->first[k->other + 1]) continue;
        start += add_row(c, y, k->other, copy, k->normal, -k->bary[corner], others);
    }
    c->start[index] = start;
    for (size_t n = 0; n < wide; n++) {
        c->diagonal[(size_t)k->domain * wide + n] += k->spring * own[n] * own[n];
        c->diagonal[(size_t)k->other * wide + n] += k->spring * others[n] * others[n];
    }
}

static void make_pairs(spl_clash *c)
{
    for (int32_t k = 0; k < c->count; k++) {
        int32_t low = low_of(&c->contact[k]), high = high_of(&c->contact[k]);
        spl_clash_pair *last = &c->pair[c->pair_count - (c->pair_count > 0)];
        c->touched[low] = c->touched[high] = true;
        if (c->pair_count > 0 && last->low == low && last->high == high)
            last->count++;
        else
            c->pair[c->pair_count++] = (spl_clash_pair){low, high, k, 1};
    }
}

/* ---- all of it ---- */

static void begin(spl_clash *c, const spl_clash_query *y)
{
    int32_t domains = c->rest->model->domain_count;
    if (c->stamp == INT32_MAX) {
        c->stamp = 0;
        memset(c->seen, 0, (size_t)c->rest->first[domains] * sizeof *c->seen);
        memset(c->seen_node, 0, (size_t)c->rest->node_first[domains] * sizeof *c->seen_node);
    }
    c->stamp++;
    c->count = c->dropped = c->pair_count = c->found_count = 0;
    memset(c->touched, 0, (size_t)domains * sizeof *c->touched);
    memset(c->diagonal, 0, (size_t)domains * (size_t)c->wide * sizeof *c->diagonal);
    for (int32_t i = 0; i < domains; i++) c->length[i] = spl_bounds_length(&c->rest->tree[i], y->q + y->offset[i]);
    for (int32_t k = 0; k < c->rest->first[domains]; k++) c->nearest[k] = -1, c->best[k] = INFINITY;
}

void spl_clash_find(spl_clash *c, const spl_clash_query *y)
{
    size_t domains = (size_t)c->rest->model->domain_count;
    begin(c, y);
    for (size_t i = 0; i < domains; i++)
        for (size_t j = i + 1; j < domains; j++) {
            if (!c->rest->allowed[i * domains + j] || !touch(c, y, (int32_t)i, (int32_t)j)) continue;
            look(c, y, (int32_t)i, (int32_t)j);
            look(c, y, (int32_t)j, (int32_t)i);
        }
    spl_clash_contact contact;
    for (int32_t k = 0; k < c->found_count; k++)
        if (contact_of(c, y, c->found[k], &contact)) keep(c, &contact);
    sort(c->contact, c->count);
    for (int32_t k = 0; k < c->count; k++) reduce(c, y, k);
    make_pairs(c);
}
