#include "contact/contact.h"

#include "contact/hits.h"
#include "contact/near.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"

#include <string.h>

#define STICK_RATIO   1.5    /* of ways out: a pair that was there stays while its own is not longer than another's */
#define FACING        (-0.3) /* cosine between normals above which two surfaces do not face each other: 107 degrees */
#define FARTHER       3.0    /* times the nearest way out, and so many edges: as far as one that faces may be */
#define FARTHER_EDGES 2.0
#define LOST_EDGES    4.0  /* depth at which a pair that no tet holds any more is lost */
#define LEAST_SHARE   1e-3 /* of a contact that counts */
#define LEAST_WEIGHT  0.1  /* of a vertex in a touching place: one that answers it */
#define PUSH_EDGES    0.5  /* the most that contacts push beyond their offset */
#define GAIN          0.5  /* of what springs leave, that steady ones push the more: not all, which overshoots */
#define FADES_IN      0.01 /* edges: a contact as deep counts whole where flesh is damped */

enum { GRAIN = 64, LOOK_ROOM = 96 /* vertices */ };

/* What a vertex touched last, -1 nothing. */
typedef struct memory {
    int32_t triangle, age;
    double push; /* beyond the offset, metres */
    int32_t collider, world_age;
} memory;

struct spl_contacts {
    supple_allocator allocator;
    spl_shell shell;
    spl_near near;
    spl_hits hits;
    const spl_colliders *colliders;
    spl_contact_options options;
    int32_t point_count;
    int32_t *point;     /* by point: the shell vertex, free, ascending */
    int32_t *body;      /* by point: the body's vertex */
    spl_vec3 *position; /* by point, at x */
    memory *memory;     /* by point */
    spl_contact *found; /* by point: self, and world */
    bool *has;          /* beside it */
    spl_contact *list;
    int32_t count;
    const double *share;    /* by vertex of the body, or NULL */
    spl_feasible *feasible; /* or NULL */
    int32_t *point_of;      /* by vertex of the body: its point, or -1 */
    int32_t *vertices;      /* room: 4 each contact */
    double *touches;        /* beside it */
    double *push;           /* by vertex of the body: the memory's, for the feasible state */
    bool steady;            /* what changes by little changes what is found by little */
    bool learns;            /* the frame has had a find */
    bool failed;            /* memory was out in a find */
};

spl_contact_options spl_contact_options_default(void)
{
    return (spl_contact_options){.self = true, .world = true, .keep = 0.25};
}

/* ---- creation ---- */

static supple_result choose_points(spl_contacts *c, supple_error *error)
{
    const spl_shell *s = &c->shell;
    const int32_t *bone = s->solid->body->bone;
    const supple_allocator *a = &c->allocator;
    for (int32_t v = 0; v < s->vertex_count; v++) c->point_count += bone[s->vertex[v]] < 0;
    size_t n = (size_t)c->point_count;
    c->point = spl_new(a, n, sizeof *c->point);
    c->body = spl_new(a, n, sizeof *c->body);
    c->position = spl_new(a, n, sizeof *c->position);
    c->memory = spl_new(a, n, sizeof *c->memory);
    c->found = spl_new(a, n, 2 * sizeof *c->found);
    c->has = spl_new(a, n, 2 * sizeof *c->has);
    c->list = spl_new(a, n, 2 * sizeof *c->list);
    c->vertices = spl_new(a, n, 8 * sizeof *c->vertices);
    c->touches = spl_new(a, n, 8 * sizeof *c->touches);
    c->push = spl_new(a, (size_t)s->solid->elements.vertex_count, sizeof *c->push);
    c->point_of = spl_new(a, (size_t)s->solid->elements.vertex_count, sizeof *c->point_of);
    if (!c->point || !c->body || !c->position || !c->memory || !c->found || !c->has || !c->list || !c->point_of ||
        !c->push || !c->vertices || !c->touches)
        return spl_fail_memory(error, "the contacts");
    for (int32_t v = 0; v < s->solid->elements.vertex_count; v++) c->point_of[v] = -1;
    for (int32_t v = 0, i = 0; v < s->vertex_count; v++)
        if (bone[s->vertex[v]] < 0) {
            c->point_of[s->vertex[v]] = i;
            c->body[i] = s->vertex[v];
            c->point[i++] = v;
        }
    return spl_hits_create(s, c->point_count, c->body, &c->hits, error);
}

supple_result spl_contacts_create(const spl_solid *solid, const spl_colliders *colliders,
                                  const spl_contact_options *options, const supple_config *config, spl_pool *pool,
                                  spl_contacts **out, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    spl_contacts *c = spl_new(&a, 1, sizeof *c);
    *out = NULL;
    if (!c) return spl_fail_memory(error, "the contacts");
    c->allocator = a;
    c->colliders = colliders;
    c->options = options ? *options : spl_contact_options_default();
    supple_result result = spl_shell_create(solid, pool, &c->shell, error);
    if (result == SUPPLE_OK) result = spl_near_create(&c->shell, pool, &c->near, error);
    if (result == SUPPLE_OK) result = choose_points(c, error);
    if (result != SUPPLE_OK) {
        spl_contacts_destroy(c);
        return result;
    }
    spl_contacts_reset(c);
    *out = c;
    return SUPPLE_OK;
}

void spl_contacts_destroy(spl_contacts *c)
{
    if (!c) return;
    supple_allocator a = c->allocator;
    spl_hits_release(&c->hits);
    spl_near_release(&c->near);
    spl_shell_release(&c->shell);
    spl_free(&a, c->point);
    spl_free(&a, c->body);
    spl_free(&a, c->position);
    spl_free(&a, c->memory);
    spl_free(&a, c->found);
    spl_free(&a, c->has);
    spl_free(&a, c->list);
    spl_free(&a, c->point_of);
    spl_free(&a, c->push);
    spl_free(&a, c->vertices);
    spl_free(&a, c->touches);
    spl_free(&a, c);
}

void spl_contacts_reset(spl_contacts *c)
{
    for (int32_t i = 0; i < c->point_count; i++) c->memory[i] = (memory){-1, -1, 0, -1, -1};
    c->count = 0;
}

/* ---- the body ---- */

/* One vertex's search. */
typedef struct seeker {
    const spl_contacts *c;
    const double *x;
    int32_t vertex; /* of the shell */
    spl_vec3 p;
    spl_vec3 normal; /* of the surface there */
} seeker;

static bool refuse_near(const void *context, int32_t triangle)
{
    const seeker *s = context;
    return spl_near_any(&s->c->near, s->vertex, s->c->shell.triangle + 3 * (size_t)triangle, 3);
}

/* Surfaces that touch face each other: a vertex that looks the same way as a triangle does not come out through it. So
 * a belly that a thigh has entered leaves it towards the front, however near its inner side may be. */
static bool looks_away(const seeker *s, int32_t triangle)
{
    spl_shell_place middle = {.triangle = triangle, .bary = {1, 1, 1}};
    return spl_dot(spl_shell_normal(&s->c->shell, s->x, &middle), s->normal) > FACING;
}

static bool refuse(const void *context, int32_t triangle)
{
    return refuse_near(context, triangle) || looks_away(context, triangle);
}

static bool set_contact(const spl_shell *s, const double *x, spl_vec3 p, const spl_shell_place *at, spl_contact *out)
{
    spl_shell_way way;
    if (!spl_shell_way_at(s, x, p, at, &way)) return false;
    out->target = way.target;
    out->normal = way.normal;
    out->depth = way.depth;
    out->offset = out->push = 0;
    out->partner = at->triangle;
    for (int k = 0; k < 3; k++) {
        out->corner[k] = s->triangle[3 * (size_t)at->triangle + (size_t)k];
        out->bary[k] = at->bary[k];
    }
    return true;
}

/* Whether the place is, at rest, the other side of the vertex's own limb. */
static bool is_through(const seeker *s, const spl_contact *k)
{
    spl_shell_place at = {.triangle = k->partner, .bary = {k->bary[0], k->bary[1], k->bary[2]}};
    const spl_shell *shell = &s->c->shell;
    return spl_near_through(&s->c->near, s->vertex, spl_shell_target(shell, shell->rest, &at),
                            spl_shell_normal(shell, shell->rest, &at));
}

/* Looks at the triangles around a shell vertex and its neighbours, ring by ring, until some are allowed. */
static void look_around(const seeker *s, int32_t start, spl_shell_place *at)
{
    const spl_shell *shell = &s->c->shell;
    int32_t queue[LOOK_ROOM] = {start}, count = 1;
    for (int32_t begin = 0; begin < count && at->triangle < 0;)
        for (int32_t end = count; begin < end; begin++) { /* one ring */
            int32_t v = queue[begin];
            spl_shell_around(shell, s->x, s->p, v, refuse, s, at);
            for (int32_t i = 3 * shell->corner_first[v]; i < 3 * shell->corner_first[v + 1]; i++) {
                int32_t w = shell->slot[shell->triangle[3 * (size_t)shell->corner[i / 3] + (size_t)(i % 3)]], k = 0;
                while (k < count && queue[k] != w) k++;
                if (k == count && count < LOOK_ROOM) queue[count++] = w;
            }
        }
}

static void walk_from(const seeker *s, int32_t triangle, spl_shell_refuse *refused, spl_shell_place *at)
{
    const spl_shell *shell = &s->c->shell;
    const int32_t *c = shell->triangle + 3 * (size_t)triangle;
    *at = (spl_shell_place){.triangle = -1, .square = INFINITY};
    for (size_t k = 0; k < 3; k++) spl_shell_around(shell, s->x, s->p, shell->slot[c[k]], refused, s, at);
    if (at->triangle < 0) look_around(s, shell->slot[c[0]], at);
    spl_shell_walk(shell, s->x, s->p, refused, s, at);
}

/* The nearest allowed place of the deformed surface around a triangle. If that faces away, one farther off that does
 * not, within reason: at the bottom of a crease there may be none. */
static spl_shell_place settle(const seeker *s, int32_t triangle)
{
    spl_shell_place nearest = {.triangle = -1}, facing;
    if (triangle < 0) return nearest;
    walk_from(s, triangle, refuse_near, &nearest);
    if (nearest.triangle < 0 || !looks_away(s, nearest.triangle)) return nearest;
    walk_from(s, triangle, refuse, &facing);
    if (sqrt(facing.square) > FARTHER * sqrt(nearest.square) + FARTHER_EDGES * s->c->shell.edge) facing.triangle = -1;
    return facing;
}

/* The contact of a vertex that is inside tets: of their ways out the shortest. Two limbs that hold the vertex at a time
 * are left one after the other; and of tets that overlap because some are inverted, the shortest way does least harm.
 */
static bool find_new(const seeker *s, const spl_hit_pair *pair, int32_t count, spl_contact *out)
{
    bool any = false;
    for (int32_t i = 0; i < count; i++) {
        spl_contact k = {0};
        spl_shell_place at = settle(s, spl_shell_exit(&s->c->shell, pair[i].tet, s->x, s->p));
        if (at.triangle < 0 || (any && !(at.square < out->depth * out->depth))) continue;
        if (!set_contact(&s->c->shell, s->x, s->p, &at, &k) || !(k.depth >= 0) || is_through(s, &k)) continue;
        *out = k;
        any = true;
    }
    return any;
}

/* The pair that was there, slid along to where it is nearest now. Kept while a tet holds the vertex (`inside`) and it
 * is on the inner side; else while it is near. Prisms have nothing inside their bones: there the side alone counts. */
static bool find_kept(const seeker *s, int32_t triangle, bool inside, spl_contact *out)
{
    const spl_contacts *c = s->c;
    spl_shell_place at = settle(s, triangle);
    if (at.triangle < 0 || !set_contact(&c->shell, s->x, s->p, &at, out) || is_through(s, out)) return false;
    double reach = c->options.keep * c->shell.edge;
    if (out->depth <= 0) return !inside && out->depth > -reach;
    return inside || out->depth < (c->shell.solid->body->prism ? LOST_EDGES * c->shell.edge : reach);
}

/* The normal of the surface at a shell vertex. */
static spl_vec3 normal_at(const spl_shell *s, const double *x, int32_t vertex)
{
    spl_shell_place at = {.triangle = s->corner[s->corner_first[vertex]]};
    for (size_t k = 0; k < 3; k++) at.bary[k] = s->triangle[3 * (size_t)at.triangle + k] == s->vertex[vertex];
    return spl_shell_normal(s, x, &at);
}

static bool find_self(const seeker *s, const spl_hit_pair *pair, int32_t count, const memory *m, spl_contact *out)
{
    spl_contact kept = {0};
    bool stays = m->triangle >= 0 && find_kept(s, m->triangle, count > 0, &kept);
    bool comes = find_new(s, pair, count, out);
    if (stays && (!comes || kept.depth <= STICK_RATIO * out->depth + 1e-3 * s->c->shell.edge)) {
        *out = kept;
        out->age = m->age + 1;
        return true;
    }
    out->age = 0;
    return comes;
}

/* ---- the world ---- */

static bool find_world(const seeker *s, const memory *m, spl_contact *out)
{
    const spl_contacts *c = s->c;
    double reach = c->options.keep * c->shell.edge;
    spl_collider_hit hit;
    if (!spl_colliders_query(c->colliders, s->p, reach, m->collider, &hit)) return false;
    if (!(hit.depth > 0) && hit.collider != m->collider) return false;
    *out = (spl_contact){.corner = {-1, -1, -1},
                         .partner = hit.collider,
                         .age = hit.collider == m->collider ? m->world_age + 1 : 0,
                         .target = hit.target,
                         .normal = hit.normal,
                         .depth = hit.depth};
    return hit.depth > -reach;
}

/* ---- what meets on the way from a feasible state ---- */

void spl_contacts_follow(spl_contacts *c, spl_feasible *feasible)
{
    c->feasible = feasible;
}

bool spl_contacts_bounded(const spl_contacts *c)
{
    return c->feasible != NULL;
}

/* A triangle of the surface by its corners. */
static int32_t triangle_of(const spl_shell *s, const int32_t corner[3])
{
    int32_t v = s->slot[corner[0]];
    for (int32_t i = s->corner_first[v]; i < s->corner_first[v + 1]; i++) {
        const int32_t *t = s->triangle + 3 * (size_t)s->corner[i];
        bool first = t[0] == corner[1] || t[1] == corner[1] || t[2] == corner[1];
        if (first && (t[0] == corner[2] || t[1] == corner[2] || t[2] == corner[2])) return s->corner[i];
    }
    return -1;
}

static spl_contact contact_of(const spl_shell *s, const spl_meeting *m, double push, const double *x)
{
    spl_contact k = {.vertex = m->vertex,
                     .partner = triangle_of(s, m->corner),
                     .offset = m->offset + push,
                     .push = push,
                     .normal = m->normal,
                     .depth = m->depth + push};
    memcpy(k.corner, m->corner, sizeof k.corner);
    memcpy(k.bary, m->bary, sizeof k.bary);
    k.target = spl_madd(spl_shell_point(x, m->vertex), k.normal, k.depth);
    return k;
}

/* Of each vertex the deepest, or the one that was there before while it is nearly as deep. */
static void find_meetings(spl_contacts *c, const double *x)
{
    const spl_meeting *list;
    for (int32_t i = 0; i < c->point_count; i++) c->push[c->body[i]] = c->memory[i].push;
    int32_t count = spl_feasible_find(c->feasible, x, c->push, &list);
    c->failed = c->failed || count < 0;
    for (int32_t i = 0; i < c->point_count; i++) c->has[2 * i] = false;
    for (int32_t k = 0; k < count; k++) {
        int32_t i = c->point_of[list[k].vertex];
        spl_contact new = contact_of(&c->shell, &list[k], c->push[list[k].vertex], x), *old = &c->found[2 * i];
        const memory *m = &c->memory[i];
        double sticks = new.partner == m->triangle ? STICK_RATIO : 1;
        double stuck = c->has[2 * i] && old->partner == m->triangle ? STICK_RATIO : 1;
        if (c->has[2 * i] && sticks * new.depth <= stuck * old->depth) continue;
        new.age = new.partner == m->triangle ? m->age + 1 : 0;
        *old = new;
        c->has[2 * i] = true;
    }
}

/* ---- what presses in motion ---- */

/* As a contact of the free vertex with the largest weight. */
static bool press_contact(const spl_contacts *c, const spl_pressed_pair *q, const double *x, spl_contact *out)
{
    const int32_t *bone = c->shell.solid->body->bone;
    int at = -1, n = 0;
    spl_vec3 r = spl_v3(0, 0, 0);
    for (int k = 0; k < 4; k++) {
        bool free = bone[q->pair.v[k]] < 0;
        r = spl_madd(r, spl_shell_point(x, q->pair.v[k]), q->w[k]);
        if (free && (at < 0 || fabs(q->w[k]) > fabs(q->w[at]))) at = k;
    }
    if (at < 0 || fabs(q->w[at]) < LEAST_WEIGHT) return false;
    double scale = 1 / fabs(q->w[at]), side = q->w[at] < 0 ? -1 : 1;
    *out = (spl_contact){.vertex = q->pair.v[at],
                         .offset = scale * (q->apart + q->push),
                         .push = scale * q->push,
                         .normal = spl_scale(q->normal, side),
                         .depth = scale * (q->apart + q->push - spl_dot(r, q->normal)),
                         .share = q->w[at] * q->w[at]};
    for (int k = 0; k < 4; k++) {
        if (k == at) continue;
        out->corner[n] = q->pair.v[k];
        out->bary[n++] = -side * scale * q->w[k];
    }
    out->target = spl_madd(spl_shell_point(x, out->vertex), out->normal, out->depth);
    return true;
}

/* There is room for as many as there are vertices to touch; what finds none is kept apart all the same. */
static int32_t list_pressed(spl_contacts *c, const spl_pressed *p, const double *x)
{
    int32_t count = 0;
    for (int32_t i = 0; i < p->count && count < c->point_count; i++)
        count += press_contact(c, &p->press[i], x, &c->list[count]);
    return count;
}

/* ---- finding ---- */

typedef struct find_work {
    spl_contacts *c;
    const double *x;
    bool inside; /* contacts of the body are vertices in tets */
} find_work;

static bool accept_pair(const void *context, int32_t point, int32_t tet)
{
    const spl_contacts *c = context;
    return !spl_near_any(&c->near, c->point[point], c->shell.tet + 4 * (size_t)tet, 4);
}

/* Whether a vertex and what it is in are of bones that are released: flesh that the state has crossing. */
static bool is_released(const spl_contacts *c, int32_t vertex, const spl_contact *k)
{
    return spl_feasible_released(c->feasible, vertex, k->corner);
}

/* Contacts of the body by vertices in tets: all, or those that bring crossing flesh apart. */
static void find_inside(const find_work *w, size_t i, const seeker *s)
{
    spl_contacts *c = w->c;
    memory *m = &c->memory[i];
    int32_t first = c->hits.point_first[i], count = c->hits.point_first[i + 1] - first;
    if (count == 0 && m->triangle < 0) return;
    seeker here = *s;
    spl_contact *self = &c->found[2 * i];
    here.normal = normal_at(&c->shell, w->x, s->vertex);
    c->has[2 * i] = find_self(&here, c->hits.pair + first, count, m, self);
    if (c->feasible && c->has[2 * i]) c->has[2 * i] = is_released(c, c->body[i], self);
}

static void find_points(void *context, size_t begin, size_t end)
{
    const find_work *w = context;
    spl_contacts *c = w->c;
    bool world = c->options.world && spl_colliders_count(c->colliders) > 0;
    for (size_t i = begin; i < end; i++) {
        memory *m = &c->memory[i];
        seeker s = {.c = c, .x = w->x, .vertex = c->point[i], .p = c->position[i]};
        if (!c->feasible) c->has[2 * i] = false;
        if (w->inside && !c->has[2 * i]) find_inside(w, i, &s);
        c->has[2 * i + 1] = world && find_world(&s, m, &c->found[2 * i + 1]);
        const spl_contact *self = &c->found[2 * i], *other = self + 1;
        m->triangle = c->has[2 * i] ? self->partner : -1;
        m->age = c->has[2 * i] ? self->age : -1;
        m->collider = c->has[2 * i + 1] ? other->partner : -1;
        m->world_age = c->has[2 * i + 1] ? other->age : -1;
    }
}

static void refresh_self(const spl_contacts *c, const double *x, spl_contact *k);

void spl_contacts_learn(spl_contacts *c, const double *x)
{
    double most = PUSH_EDGES * c->shell.edge;
    spl_pressed *pressed = c->feasible ? spl_feasible_pressed(c->feasible) : NULL;
    c->learns = false;
    if (pressed) spl_pressed_learn(pressed, x, most);
    if (pressed) return;
    for (int32_t i = 0; c->feasible && i < c->point_count; i++) c->push[c->body[i]] = 0;
    for (int32_t i = 0; c->feasible && i < c->count; i++) {
        spl_contact k = c->list[i];
        if (k.corner[0] < 0) continue;
        refresh_self(c, x, &k);
        double left = k.depth - k.push; /* without what is pushed beyond the offset */
        c->push[k.vertex] = fmin(fmax(k.push + (c->steady ? GAIN : 1) * left, 0), most);
    }
    for (int32_t i = 0; c->feasible && i < c->point_count; i++) c->memory[i].push = c->push[c->body[i]];
}

int32_t spl_contacts_find(spl_contacts *c, const double *x, spl_pool *pool)
{
    if (c->learns) spl_contacts_learn(c, x);
    c->learns = c->feasible != NULL;
    for (int32_t i = 0; i < c->point_count; i++) c->position[i] = spl_shell_point(x, c->body[i]);
    const spl_pressed *pressed = c->feasible ? spl_feasible_pressed(c->feasible) : NULL;
    for (int32_t i = 0; pressed && i < c->point_count; i++) c->has[2 * i] = false;
    if (c->feasible && !pressed) find_meetings(c, x);
    bool inside = c->options.self && (!c->feasible || spl_feasible_tangled(c->feasible));
    if (inside) spl_hits_find(&c->hits, c->position, x, 0, accept_pair, c, pool);
    find_work work = {c, x, inside};
    spl_parallel_for(pool, (size_t)c->point_count, GRAIN, find_points, &work);
    c->count = pressed ? list_pressed(c, pressed, x) : 0;
    for (int32_t i = 0; i < 2 * c->point_count && c->count < 2 * c->point_count; i++) {
        if (!c->has[i]) continue;
        c->list[c->count] = c->found[i];
        spl_contact *k = &c->list[c->count];
        k->vertex = c->body[i / 2];
        k->share =
            k->corner[0] < 0 ? 1 : fmin(spl_contacts_share(c, &k->vertex, 1), spl_contacts_share(c, k->corner, 3));
        c->count += k->share > LEAST_SHARE;
    }
    return c->count;
}

/* A contact of the body stays in its triangle: the nearest point there. */
static void refresh_self(const spl_contacts *c, const double *x, spl_contact *k)
{
    spl_contact fresh = *k;
    spl_vec3 p = spl_shell_point(x, k->vertex);
    spl_shell_place at = {.triangle = k->partner, .bary = {k->bary[0], k->bary[1], k->bary[2]}};
    if (c->feasible) { /* its place and its normal are the state's */
        spl_vec3 on = spl_v3(0, 0, 0);
        for (int q = 0; q < 3; q++) on = spl_madd(on, spl_shell_point(x, k->corner[q]), k->bary[q]);
        k->target = spl_madd(on, k->normal, k->offset);
        k->depth = spl_dot(spl_sub(k->target, p), k->normal);
        return;
    }
    at.square = spl_triangle_nearest(p, spl_shell_point(x, k->corner[0]), spl_shell_point(x, k->corner[1]),
                                     spl_shell_point(x, k->corner[2]), at.bary);
    if (set_contact(&c->shell, x, p, &at, &fresh)) {
        *k = fresh;
    } else { /* no way out that is clear: along the normal it had */
        k->target = spl_shell_target(&c->shell, x, &at);
        memcpy(k->bary, at.bary, sizeof k->bary);
        k->depth = spl_dot(spl_sub(k->target, p), k->normal);
    }
}

void spl_contacts_refresh(spl_contacts *c, const double *x)
{
    for (int32_t i = 0; i < c->count; i++) {
        spl_contact *k = &c->list[i];
        spl_collider_hit hit;
        if (k->corner[0] >= 0) {
            refresh_self(c, x, k);
        } else if (spl_colliders_query(c->colliders, spl_shell_point(x, k->vertex), INFINITY, k->partner, &hit)) {
            k->target = hit.target;
            k->normal = hit.normal;
            k->depth = hit.depth;
            k->partner = hit.collider;
        }
    }
}

const spl_contact *spl_contacts_list(const spl_contacts *c, int32_t *count)
{
    *count = c->count;
    return c->list;
}

const int32_t *spl_contacts_vertices(spl_contacts *c, const double **share, int32_t *count)
{
    *count = 4 * c->count;
    *share = c->touches;
    for (int32_t i = 0; i < c->count; i++) {
        const spl_contact *k = &c->list[i];
        double touches = c->steady ? fmin(fmax(k->depth, 0) / (FADES_IN * c->shell.edge), 1) : 1;
        c->vertices[4 * i] = k->vertex;
        c->touches[4 * i] = touches;
        for (int q = 0; q < 3; q++) {
            c->vertices[4 * i + 1 + q] = k->corner[q];
            c->touches[4 * i + 1 + q] = c->steady ? touches * fmin(3 * fabs(k->bary[q]), 1) : 1;
        }
    }
    return c->vertices;
}

void spl_contacts_steady(spl_contacts *c)
{
    c->steady = true;
}

bool spl_contacts_failed(const spl_contacts *c)
{
    return c->failed;
}

int32_t spl_contacts_capacity(const spl_contacts *c)
{
    return 2 * c->point_count;
}

void spl_contacts_bear(spl_contacts *c, const double *share)
{
    c->share = share;
}

double spl_contacts_share(const spl_contacts *c, const int32_t *vertex, int count)
{
    double least = 1;
    for (int i = 0; c->share && i < count; i++) least = fmin(least, c->share[vertex[i]]);
    return least;
}

const spl_near *spl_contacts_near(const spl_contacts *c)
{
    return &c->near;
}

double spl_contacts_edge(const spl_contacts *c)
{
    return c->shell.edge;
}
