#include "body/riders.h"

#include "body/body.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"
#include "geom/weld.h"
#include "rig/bind.h"

#include <math.h>
#include <string.h>

#define LIKE  0.25 /* of the weights that a rider and what it rides on must have in common */
#define NEAR  0.02 /* of the diagonal: up to here all is added ... */
#define REACH 0.10 /* ... and from here on nothing */
#define WIDTH 2.00 /* mean edges: how wide the patch is that something rides on, at least */
#define WIDER 0.50 /* ... and so much more for each unit of distance */
enum { MOST_ENTRIES = 96, MOST_JOINTS = 24 };

typedef struct joints {
    int32_t count;
    int32_t node[MOST_JOINTS];
    double weight[MOST_JOINTS];
} joints;

typedef struct work {
    const spl_body *body;
    spl_riders *out;
    spl_tree tree;       /* of the body's surface, as the tetrahedra have it */
    spl_tree flesh;      /* of the flesh's */
    joints *of_skin;     /* by vertex of body->skin, joints as the bones merged them */
    int32_t *tet_vertex; /* by vertex of body->skin */
    double edge;         /* mean, of body->skin */
    int32_t *lead;       /* by point: its first rider, among the scene's vertices */
    int32_t *group;      /* by point: the piece that moves as one, -1 */
    int32_t *entry;      /* growing: vertices of body->skin */
    float *weight;
    size_t count, room;
    double *sum;      /* by vertex of body->skin: room */
    int32_t *touched; /* the same: which are not 0 */
    uint8_t *seen;    /* the same */
} work;

/* ---- joints of places ---- */

static void add_joint(joints *j, int32_t node, double weight)
{
    if (node < 0 || !(weight > 0)) return;
    for (int32_t i = 0; i < j->count; i++)
        if (j->node[i] == node) {
            j->weight[i] += weight;
            return;
        }
    if (j->count == MOST_JOINTS) return;
    j->node[j->count] = node;
    j->weight[j->count++] = weight;
}

static double alike(const joints *a, const joints *b)
{
    double shared = 0;
    for (int32_t i = 0; i < a->count; i++)
        for (int32_t k = 0; k < b->count; k++)
            if (a->node[i] == b->node[k]) shared += fmin(a->weight[i], b->weight[k]);
    return shared;
}

/* What moves a vertex of the scene; its joints as the file has them, or as the bones merged them. */
static void joints_of(const spl_body *body, int32_t vertex, double share, bool merged, joints *out)
{
    int32_t low = 0, high = body->part_count;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        *(body->part[middle].first_vertex <= vertex ? &low : &high) = middle;
    }
    const spl_part *part = &body->part[low];
    if (!spl_part_skinned(body->scene, part)) return;
    const spl_skin *skin = &body->scene->skin[body->scene->instance[part->instance].skin];
    size_t K = (size_t)part->primitive->influence_count, at = (size_t)(vertex - part->first_vertex) * K;
    for (size_t k = 0; k < K; k++) {
        int32_t node = skin->joint[part->primitive->joint[at + k]];
        add_joint(out, merged ? body->bones.merged_into[node] : node, share * (double)part->primitive->weight[at + k]);
    }
}

/* What moves the skin where a tet vertex is. */
static void joints_of_tet_vertex(const work *w, int32_t v, bool merged, joints *out)
{
    const spl_body *body = w->body;
    spl_place at = body->place[v];
    *out = (joints){0};
    if (at.triangle < 0) { /* deep inside: the nearest skin will do */
        spl_hit hit;
        spl_tree_nearest(&w->flesh, body->tets.position[v], INFINITY, -1, &hit);
        at = (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
    }
    for (size_t k = 0; k < 3; k++)
        joints_of(body, body->surface_vertex[body->surface.triangle[3 * (size_t)at.triangle + k]], at.bary[k], merged,
                  out);
}

static double alike_at(const work *w, const joints *own, const spl_hit *hit)
{
    double sum = 0;
    for (size_t k = 0; k < 3; k++)
        sum += hit->bary[k] * alike(own, &w->of_skin[w->body->skin.triangle[3 * (size_t)hit->triangle + k]]);
    return sum;
}

/* ---- where a point rides ---- */

typedef struct search {
    const work *w;
    const joints *own;
    spl_vec3 p;
    spl_hit best;
} search;

static bool look(void *context, int32_t triangle)
{
    search *s = context;
    const spl_surface *skin = &s->w->body->skin;
    const int32_t *c = skin->triangle + 3 * (size_t)triangle;
    spl_hit hit = {.triangle = triangle};
    hit.distance =
        sqrt(spl_triangle_nearest(s->p, skin->position[c[0]], skin->position[c[1]], skin->position[c[2]], hit.bary));
    bool nearer = hit.distance < s->best.distance || (hit.distance == s->best.distance && triangle < s->best.triangle);
    if (nearer && alike_at(s->w, s->own, &hit) >= LIKE) s->best = hit;
    return true;
}

/* The nearest place that moves as the point does; false if none is within reach. */
static bool find_place(const work *w, spl_vec3 p, const joints *own, spl_hit *out)
{
    double reach = REACH * w->body->surface.diagonal;
    if (!spl_tree_nearest(&w->tree, p, reach, -1, out)) return false;
    if (alike_at(w, own, out) >= LIKE) return true;
    search s = {.w = w, .own = own, .p = p};
    for (double r = fmin(reach, 2 * out->distance + w->edge);; r = fmin(reach, 2 * r)) {
        s.best = (spl_hit){.triangle = -1, .distance = r};
        spl_vec3 d = spl_v3(r, r, r);
        spl_tree_box(&w->tree, spl_sub(p, d), spl_add(p, d), look, &s);
        if (s.best.triangle >= 0 || r >= reach) break;
    }
    *out = s.best;
    return s.best.triangle >= 0;
}

static double fade(const work *w, double distance)
{
    double t = (distance / w->body->surface.diagonal - NEAR) / (REACH - NEAR);
    t = fmin(fmax(t, 0), 1);
    return 1 - t * t * (3 - 2 * t);
}

/* Adds a point's share to sum[]: the body's vertices around its place, nearer ones and those that move alike more. */
static int32_t spread(work *w, const spl_hit *hit, spl_vec3 at, const joints *own, double share, int32_t touched)
{
    const spl_surface *s = &w->body->skin;
    double width = WIDTH * w->edge + WIDER * hit->distance, total = 0;
    int32_t list[MOST_ENTRIES], count = 0;
    double weight[MOST_ENTRIES];
    for (size_t k = 0; k < 3; k++) {
        int32_t v = s->triangle[3 * (size_t)hit->triangle + k];
        if (w->seen[v]) continue;
        w->seen[v] = 1;
        list[count++] = v;
    }
    for (int32_t i = 0; i < count; i++) {
        double r = spl_distance(s->position[list[i]], at) / width;
        weight[i] = r < 1 ? (1 - r * r) * (1 - r * r) * fmax(alike(own, &w->of_skin[list[i]]), 1e-3) : 0;
        for (int32_t k = s->link_first[list[i]]; weight[i] > 0 && k < s->link_first[list[i] + 1]; k++) {
            if (w->seen[s->link[k]] || count == MOST_ENTRIES) continue;
            w->seen[s->link[k]] = 1;
            list[count++] = s->link[k];
        }
        total += weight[i];
    }
    if (!(total > 0)) /* a patch of very large triangles */
        for (size_t k = 0; k < 3; k++)
            for (int32_t i = 0; i < count; i++)
                if (list[i] == s->triangle[3 * (size_t)hit->triangle + k]) total += weight[i] = hit->bary[k];
    for (int32_t i = 0; i < count; i++) {
        w->seen[list[i]] = 0;
        if (!(weight[i] > 0)) continue;
        if (w->sum[list[i]] == 0) w->touched[touched++] = list[i];
        w->sum[list[i]] += share * weight[i] / total;
    }
    return touched;
}

static bool append(work *w, int32_t v, double weight)
{
    if (w->count == w->room) {
        size_t room = 2 * w->room + 4096;
        int32_t *entry = spl_resize(&w->out->allocator, w->entry, room, sizeof *entry);
        if (entry) w->entry = entry;
        float *grown = entry ? spl_resize(&w->out->allocator, w->weight, room, sizeof *grown) : NULL;
        if (!grown) return false;
        w->weight = grown;
        w->room = room;
    }
    w->entry[w->count] = v;
    w->weight[w->count++] = (float)weight;
    return true;
}

static void own_joints(const work *w, int32_t point, joints *own)
{
    *own = (joints){0};
    joints_of(w->body, w->lead[point], 1, true, own);
}

/* One point by itself. */
static bool place_point(work *w, int32_t i)
{
    joints own;
    spl_hit hit;
    spl_vec3 p = spl_v3_from_float(w->body->bind + 3 * (size_t)w->lead[i]);
    if (w->out->known[i] >= 0 || w->out->taken[i]) return true;
    own_joints(w, i, &own);
    double f;
    if (!find_place(w, p, &own, &hit) || !((f = fade(w, hit.distance)) > 0)) return true;
    spl_place at = {hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
    int32_t touched = spread(w, &hit, spl_surface_point(&w->body->skin, &at), &own, f, 0);
    bool ok = true;
    for (int32_t k = 0; k < touched; k++) {
        ok = ok && append(w, w->touched[k], w->sum[w->touched[k]]);
        w->sum[w->touched[k]] = 0;
    }
    return ok;
}

/* The points of a piece that moves as one: all get the mean of what they lie on, those that lie nearer more. */
static bool place_group(work *w, const int32_t *member, int32_t count)
{
    int32_t touched = 0;
    double most = 0, total = 0;
    for (int32_t i = 0; i < count; i++) {
        joints own;
        spl_hit hit;
        own_joints(w, member[i], &own);
        if (!find_place(w, spl_v3_from_float(w->body->bind + 3 * (size_t)w->lead[member[i]]), &own, &hit)) continue;
        double f = fade(w, hit.distance);
        spl_place at = {hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
        if (!(f > 0)) continue;
        touched = spread(w, &hit, spl_surface_point(&w->body->skin, &at), &own, f * f, touched);
        most = fmax(most, f);
        total += f * f;
    }
    bool ok = true;
    for (int32_t k = 0; k < touched; k++) {
        ok = ok && append(w, w->touched[k], most * w->sum[w->touched[k]] / total);
        w->sum[w->touched[k]] = 0;
    }
    return ok;
}

/* ---- points and their edges ---- */

/* Whether a vertex is known by the body: it hangs on a rider and is none. */
static void mark_known(const spl_body *body, const bool *rides, bool *known)
{
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        for (size_t t = 0; t < (size_t)part->primitive->triangle_count; t++) {
            const int32_t *c = part->primitive->triangle + 3 * t;
            const bool *r = rides + part->first_vertex, *l = body->lifted + part->first_vertex;
            if (!r[c[0]] && !r[c[1]] && !r[c[2]]) continue;
            for (size_t k = 0; k < 3; k++) known[part->first_vertex + c[k]] = l[c[k]];
        }
    }
}

static supple_result find_points(work *w, const bool *rides, const bool *stray, supple_error *error)
{
    spl_riders *r = w->out;
    const spl_body *body = w->body;
    const supple_allocator *a = &r->allocator;
    size_t n = (size_t)body->scene->vertex_count;
    bool *known = spl_new(a, n, sizeof *known), *all = spl_new(a, n, sizeof *all);
    if (known && all) {
        for (size_t v = 0; v < n; v++) all[v] = rides[v] || stray[v];
        mark_known(body, all, known);
        for (size_t v = 0; v < n; v++) r->vertex_count += all[v] || known[v];
    }
    size_t m = (size_t)r->vertex_count;
    r->vertex = spl_new(a, m, sizeof *r->vertex);
    r->point = spl_new(a, m, sizeof *r->point);
    r->known = spl_new(a, m, sizeof *r->known);
    r->taken = spl_new(a, m, sizeof *r->taken);
    w->lead = spl_new(a, m, sizeof *w->lead);
    w->group = spl_new(a, m, sizeof *w->group);
    float *position = spl_new(a, m, 3 * sizeof *position);
    supple_result result =
        known && all && r->vertex && r->point && r->known && r->taken && w->lead && w->group && position
            ? SUPPLE_OK
            : spl_fail_memory(error, "what follows the flesh");
    if (result == SUPPLE_OK) {
        for (size_t v = 0, i = 0; v < n; v++) {
            if (!all[v] && !known[v]) continue;
            memcpy(position + 3 * i, body->bind + 3 * v, 3 * sizeof *position);
            r->vertex[i++] = (int32_t)v;
        }
        result = spl_weld(position, r->vertex_count, 0, a, r->point, &r->point_count, error);
    }
    for (int32_t p = 0; result == SUPPLE_OK && p < r->point_count; p++) r->known[p] = -1;
    for (int32_t i = r->vertex_count - 1, v; result == SUPPLE_OK && i >= 0; i--) {
        int32_t p = r->point[i];
        v = r->vertex[i];
        w->lead[p] = v;
        w->group[p] = body->roles.group[v];
        if (known[v]) r->known[p] = v;
        r->taken[p] = r->taken[p] || stray[v];
    }
    /* Vertices that the body moves are no riders: they only stand for their points. */
    int32_t kept = 0;
    for (int32_t i = 0; result == SUPPLE_OK && i < r->vertex_count; i++) {
        if (!all[r->vertex[i]]) continue;
        r->vertex[kept] = r->vertex[i];
        r->point[kept++] = r->point[i];
    }
    r->vertex_count = kept;
    spl_free(a, position);
    spl_free(a, known);
    spl_free(a, all);
    return result;
}

static void each_edge(const work *w, const int32_t *point_of, bool list)
{
    spl_riders *r = w->out;
    for (int32_t i = 0; i < w->body->part_count; i++) {
        const spl_part *part = &w->body->part[i];
        for (size_t k = 0; k < 3 * (size_t)part->primitive->triangle_count; k++) {
            size_t next = k % 3 == 2 ? k - 2 : k + 1;
            int32_t p = point_of[part->first_vertex + part->primitive->triangle[k]];
            int32_t q = point_of[part->first_vertex + part->primitive->triangle[next]];
            if (p < 0 || q < 0 || p == q) continue;
            if (list) { /* down from the ends */
                r->link[--r->link_first[p]] = q;
                r->link[--r->link_first[q]] = p;
            } else {
                r->link_first[p]++;
                r->link_first[q]++;
            }
        }
    }
}

static supple_result find_links(work *w, supple_error *error)
{
    spl_riders *r = w->out;
    const supple_allocator *a = &r->allocator;
    size_t n = (size_t)w->body->scene->vertex_count;
    int32_t *point_of = spl_new(a, n, sizeof *point_of);
    r->link_first = spl_new(a, (size_t)r->point_count + 1, sizeof *r->link_first);
    bool made = point_of && r->link_first;
    for (size_t v = 0; made && v < n; v++) point_of[v] = -1;
    for (int32_t i = 0; made && i < r->vertex_count; i++) point_of[r->vertex[i]] = r->point[i];
    for (int32_t p = 0; made && p < r->point_count; p++) {
        if (r->known[p] >= 0) point_of[r->known[p]] = p;
    }
    if (made) {
        each_edge(w, point_of, false);
        for (int32_t p = 0; p < r->point_count; p++) r->link_first[p + 1] += r->link_first[p];
        r->link = spl_new(a, (size_t)r->link_first[r->point_count], sizeof *r->link);
        made = r->link != NULL;
        if (made) each_edge(w, point_of, true);
    }
    spl_free(a, point_of);
    return made ? SUPPLE_OK : spl_fail_memory(error, "what follows the flesh");
}

/* ---- what they ride on ---- */

static supple_result prepare(work *w, supple_error *error)
{
    const spl_body *body = w->body;
    const spl_surface *s = &body->skin;
    const supple_allocator *a = &w->out->allocator;
    size_t n = (size_t)s->vertex_count;
    w->of_skin = spl_new(a, n, sizeof *w->of_skin);
    w->tet_vertex = spl_new(a, n, sizeof *w->tet_vertex);
    w->sum = spl_new(a, n, sizeof *w->sum);
    w->touched = spl_new(a, n, sizeof *w->touched);
    w->seen = spl_new(a, n, sizeof *w->seen);
    if (!w->of_skin || !w->tet_vertex || !w->sum || !w->touched || !w->seen)
        return spl_fail_memory(error, "what follows the flesh");
    for (int32_t v = body->tets.vertex_count - 1; v >= 0; v--)
        if (s->map[v] >= 0) w->tet_vertex[s->map[v]] = v;
    for (size_t v = 0; v < n; v++) joints_of_tet_vertex(w, w->tet_vertex[v], true, &w->of_skin[v]);
    w->edge = spl_surface_mean_edge(s);
    return SUPPLE_OK;
}

/* Points of one piece that moves as one share their entries: the first has them, the others repeat them. */
static supple_result place_all(work *w, supple_error *error)
{
    spl_riders *r = w->out;
    const supple_allocator *a = &r->allocator;
    size_t n = (size_t)r->point_count, groups = (size_t)w->body->roles.group_count;
    int32_t *order = spl_new(a, n, sizeof *order), *first = spl_new(a, groups + 2, sizeof *first);
    size_t *begin = spl_new(a, groups + 1, 2 * sizeof *begin);
    r->first = spl_new(a, n + 1, sizeof *r->first);
    bool ok = order && first && begin && r->first;
    if (ok) {
        for (size_t p = 0; p < n; p++) first[w->group[p] + 2]++;
        for (size_t g = 0; g <= groups; g++) first[g + 1] += first[g];
        for (size_t p = 0; p < n; p++) order[first[w->group[p] + 1]++] = (int32_t)p;
        /* now first[g + 1] ends group g, and first[g] begins it */
    }
    for (size_t p = 0; ok && p < n; p++) {
        int32_t g = w->group[p];
        r->first[p] = (int32_t)w->count;
        if (g < 0) {
            ok = place_point(w, (int32_t)p);
        } else if (order[first[g]] == (int32_t)p) {
            begin[2 * g] = w->count;
            ok = place_group(w, order + first[g], first[g + 1] - first[g]);
            begin[2 * g + 1] = w->count;
        } else
            for (size_t k = begin[2 * g]; ok && k < begin[2 * g + 1]; k++)
                ok = append(w, w->entry[k], (double)w->weight[k]);
        ok = ok && w->count < INT32_MAX;
    }
    if (ok) r->first[n] = (int32_t)w->count;
    spl_free(a, order);
    spl_free(a, first);
    spl_free(a, begin);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "what follows the flesh");
}

/* Numbers the body's vertices that something rides on, and lists what the file's skinning has there. */
static supple_result find_body(work *w, supple_error *error)
{
    spl_riders *r = w->out;
    const supple_allocator *a = &r->allocator;
    size_t skin = (size_t)w->body->skin.vertex_count, nodes = (size_t)w->body->scene->node_count, total = 0;
    int32_t *number = w->touched;
    for (size_t v = 0; v < skin; v++) number[v] = -1;
    for (size_t k = 0; k < w->count; k++)
        if (number[w->entry[k]] < 0) number[w->entry[k]] = r->body_count++;
    size_t n = (size_t)r->body_count;
    r->index = spl_new(a, w->count, sizeof *r->index);
    r->body = spl_new(a, n, sizeof *r->body);
    r->rest = spl_new(a, n, sizeof *r->rest);
    r->skin_first = spl_new(a, n + 1, sizeof *r->skin_first);
    r->skin_node = spl_new(a, n, MOST_JOINTS * sizeof *r->skin_node);
    r->skin_weight = spl_new(a, n, MOST_JOINTS * sizeof *r->skin_weight);
    r->home = spl_new(a, nodes, sizeof *r->home);
    if (!r->index || !r->body || !r->rest || !r->skin_first || !r->skin_node || !r->skin_weight || !r->home)
        return spl_fail_memory(error, "what follows the flesh");
    for (size_t k = 0; k < w->count; k++) r->index[k] = number[w->entry[k]];
    for (size_t v = 0; v < skin; v++)
        if (number[v] >= 0) r->body[number[v]] = w->tet_vertex[v];
    for (size_t i = 0; i < n; i++) {
        joints j;
        double sum = 0;
        joints_of_tet_vertex(w, r->body[i], false, &j);
        r->rest[i] = w->body->tets.position[r->body[i]];
        r->skin_first[i] = (int32_t)total;
        for (int32_t k = 0; k < j.count; k++) sum += j.weight[k];
        for (int32_t k = 0; k < j.count; k++, total++) {
            r->skin_node[total] = j.node[k];
            r->skin_weight[total] = (float)(j.weight[k] / sum);
        }
    }
    r->skin_first[n] = (int32_t)total;
    r->node_count = w->body->scene->node_count;
    for (size_t k = 0; k < nodes; k++)
        if (!spl_bind_inverse(w->body->scene, w->body->home, (int32_t)k, &r->home[k])) r->home[k] = spl_mat4_identity();
    r->weight = w->weight;
    w->weight = NULL;
    return SUPPLE_OK;
}

supple_result spl_riders_make(const spl_body *body, const bool *rides, const bool *stray, spl_riders *out,
                              supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    *out = (spl_riders){.allocator = *a};
    work w = {.body = body, .out = out};
    supple_result result = find_points(&w, rides, stray, error);
    if (result == SUPPLE_OK && out->vertex_count == 0) goto done;
    if (result == SUPPLE_OK)
        result = spl_tree_make(body->skin.position, body->skin.triangle, body->skin.triangle_count, a, &w.tree, error);
    if (result == SUPPLE_OK)
        result = spl_tree_make(body->surface.position, body->surface.triangle, body->surface.triangle_count, a,
                               &w.flesh, error);
    if (result == SUPPLE_OK) result = prepare(&w, error);
    if (result == SUPPLE_OK) result = find_links(&w, error);
    if (result == SUPPLE_OK) result = place_all(&w, error);
    if (result == SUPPLE_OK) result = find_body(&w, error);
done:;
    void *block[] = {w.of_skin, w.tet_vertex, w.lead, w.group, w.entry, w.weight, w.sum, w.touched, w.seen};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    if (w.tree.allocator.release) spl_tree_release(&w.tree);
    if (w.flesh.allocator.release) spl_tree_release(&w.flesh);
    if (result != SUPPLE_OK) spl_riders_release(out);
    return result;
}
