#include "contact/fold.h"

#include "contact/barrier_private.h"
#include "contact/bounded_move.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/vec3.h"

#include <math.h>
#include <string.h>

static const double ROOM = 2e-3;   /* of the diagonal: so far around what moves is looked for what it may meet */
static const double RATE = 0.5;    /* of the way to the middle of its neighbours, that a vertex goes at once */
static const double SAME = 1e-9;   /* of the diagonal: vertices so near to their goal are there */
static const double NEARER = 0.99; /* of the squared distance to the goal: what a move leaves of it, at most */

enum { FLATTENED = 40, WIDER = 4 }; /* rounds in which what crosses is flattened; after so many by one more ring */
enum { PATIENCE = 8 };              /* of these without fewer crossings */
enum { FEW = 1000 };                /* crossings with which that is tried, at most */
enum { GIVEN_UP = 4, MOVES = 20 };  /* rounds in which what has no start is left; moves towards the goal */

struct spl_fold {
    supple_allocator allocator;
    spl_barrier_surface surface;
    double *rest, *stiffness, *reach; /* of these vertices, as all that follows */
    bool *fixed;
    int32_t *bone, *edge, *point, *triangle;
    int32_t *vertex; /* of the mesh */
    int32_t *first, *next;
    double *y, *goal, *step;
    double *before; /* y of the last frame */
    double *best;   /* room for a y */
    bool has_before;
    bool *marked, *wider;
    bool *exempt, *left; /* may cross each other; those that were given up */
    spl_barrier *barrier;
    spl_bounded_move *mover;
};

/* ---- which vertices ---- */

typedef struct box {
    double low[3], high[3];
} box;

static void stretch(box *b, const double *p, double by)
{
    for (int c = 0; c < 3; c++) {
        b->low[c] = fmin(b->low[c], p[c] - by);
        b->high[c] = fmax(b->high[c], p[c] + by);
    }
}

static const box EMPTY = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static bool meet(const box *a, const box *b)
{
    for (int c = 0; c < 3; c++)
        if (a->low[c] > b->high[c] || b->low[c] > a->high[c]) return false;
    return true;
}

typedef struct selection {
    int32_t *number; /* by vertex: of the piece it moves with, -1; then its number in the fold, -1 */
    int32_t *stack;
    box *piece; /* around the vertices that move and hang together */
    int32_t piece_count;
    bool *triangle; /* is in it */
} selection;

static void release_selection(selection *s, const supple_allocator *a)
{
    spl_free(a, s->number);
    spl_free(a, s->stack);
    spl_free(a, s->piece);
    spl_free(a, s->triangle);
}

/* The piece that v hangs together with, and the box that it has room in. */
static box collect_piece(const spl_fold_mesh *m, selection *s, int32_t v)
{
    box out = EMPTY;
    int32_t waiting = 0;
    double room = ROOM * m->surface->diagonal;
    s->stack[waiting++] = v;
    s->number[v] = s->piece_count;
    while (waiting > 0) {
        int32_t p = s->stack[--waiting];
        stretch(&out, m->y + 3 * (size_t)p, room);
        stretch(&out, m->goal + 3 * (size_t)p, room);
        for (int32_t i = m->first[p]; i < m->first[p + 1]; i++) {
            int32_t q = m->next[i];
            if (m->surface->fixed[q] || s->number[q] >= 0) continue;
            s->number[q] = s->piece_count;
            s->stack[waiting++] = q;
        }
    }
    return out;
}

static bool is_in(const spl_fold_mesh *m, const selection *s, const int32_t *t)
{
    box here = EMPTY;
    for (int k = 0; k < 3; k++) {
        if (!m->surface->fixed[t[k]]) return true;
        stretch(&here, m->goal + 3 * (size_t)t[k], 0);
    }
    for (int32_t i = 0; i < s->piece_count; i++)
        if (meet(&here, &s->piece[i])) return true;
    return false;
}

/* Triangles that move, and those near what moves; then the numbers of their vertices. Returns how many triangles. */
static int32_t choose(const spl_fold_mesh *m, selection *s, int32_t *vertex_count)
{
    const spl_barrier_surface *from = m->surface;
    int32_t count = 0;
    for (int32_t v = 0; v < from->vertex_count; v++) s->number[v] = -1;
    for (int32_t v = 0; v < from->vertex_count; v++) {
        if (from->fixed[v] || s->number[v] >= 0) continue;
        s->piece[s->piece_count] = collect_piece(m, s, v);
        s->piece_count++;
    }
    for (int32_t v = 0; v < from->vertex_count; v++) s->number[v] = -1;
    for (int32_t i = 0; i < from->triangle_count; i++) {
        const int32_t *t = from->triangle + 3 * (size_t)i;
        s->triangle[i] = is_in(m, s, t);
        count += s->triangle[i];
        for (int k = 0; s->triangle[i] && k < 3; k++) s->number[t[k]] = 0;
    }
    *vertex_count = 0;
    for (int32_t v = 0; v < from->vertex_count; v++)
        if (s->number[v] == 0) s->number[v] = (*vertex_count)++;
    return count;
}

/* ---- creation ---- */

static bool take_memory(spl_fold *f, int32_t vertex_count, int32_t triangle_count)
{
    const supple_allocator *a = &f->allocator;
    size_t n = (size_t)vertex_count;
    double **arrays[] = {&f->rest, &f->y, &f->goal, &f->step, &f->before, &f->best};
    bool **flags[] = {&f->fixed, &f->marked, &f->wider, &f->exempt, &f->left}, ok = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ok = (*arrays[i] = spl_new(a, n, 3 * sizeof **arrays[i])) && ok;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) ok = (*flags[i] = spl_new(a, n, sizeof **flags[i])) && ok;
    f->stiffness = spl_new(a, n, sizeof *f->stiffness);
    f->reach = spl_new(a, n, sizeof *f->reach);
    f->bone = spl_new(a, n, sizeof *f->bone);
    f->vertex = spl_new(a, n, sizeof *f->vertex);
    f->first = spl_new(a, n + 2, sizeof *f->first);
    f->triangle = spl_new(a, (size_t)triangle_count, 3 * sizeof *f->triangle);
    return ok && f->stiffness && f->reach && f->bone && f->vertex && f->first && f->triangle;
}

static void copy(spl_fold *f, const spl_fold_mesh *m, const selection *s)
{
    const spl_barrier_surface *from = m->surface;
    size_t count = 0;
    f->has_before = m->before != NULL;
    for (size_t v = 0; v < (size_t)from->vertex_count; v++) {
        if (s->number[v] < 0) continue;
        size_t at = (size_t)s->number[v];
        f->vertex[at] = (int32_t)v;
        memcpy(f->rest + 3 * at, from->rest + 3 * v, 3 * sizeof *f->rest);
        memcpy(f->y + 3 * at, m->y + 3 * v, 3 * sizeof *f->y);
        memcpy(f->goal + 3 * at, m->goal + 3 * v, 3 * sizeof *f->goal);
        if (m->before) memcpy(f->before + 3 * at, m->before + 3 * v, 3 * sizeof *f->before);
        f->stiffness[at] = from->stiffness[v];
        f->reach[at] = from->reach[v];
        f->bone[at] = from->bone[v];
        f->fixed[at] = from->fixed[v];
        f->exempt[at] = m->exempt[v];
    }
    for (size_t i = 0; i < (size_t)from->triangle_count; i++)
        for (size_t k = 0; s->triangle[i] && k < 3; k++) f->triangle[count++] = s->number[from->triangle[3 * i + k]];
}

/* The neighbours of every vertex, by the edges. Those of vertices that move are all there. */
static bool list_neighbours(spl_fold *f)
{
    size_t n = (size_t)f->surface.vertex_count, m = 2 * (size_t)f->surface.edge_count;
    f->next = spl_new(&f->allocator, m, sizeof *f->next);
    if (!f->next) return false;
    for (size_t i = 0; i < m; i++) f->first[f->edge[i] + 2]++;
    for (size_t v = 2; v < n + 2; v++) f->first[v] += f->first[v - 1];
    for (size_t i = 0; i < m; i++) f->next[f->first[f->edge[i] + 1]++] = f->edge[i ^ 1];
    return true;
}

static supple_result set_surface(spl_fold *f, const spl_fold_mesh *m, int32_t vertex_count, int32_t triangle_count,
                                 supple_error *error)
{
    f->surface = (spl_barrier_surface){.vertex_count = vertex_count,
                                       .own_count = vertex_count,
                                       .triangle_count = triangle_count,
                                       .rest = f->rest,
                                       .triangle = f->triangle,
                                       .fixed = f->fixed,
                                       .reach = f->reach,
                                       .stiffness = f->stiffness,
                                       .bone = f->bone,
                                       .bone_count = m->surface->bone_count,
                                       .diagonal = m->surface->diagonal};
    spl_barrier_surface *s = &f->surface;
    supple_result result =
        spl_primitives_edges(f->triangle, triangle_count, &f->allocator, &f->edge, &s->edge_count, error);
    if (result == SUPPLE_OK)
        result = spl_primitives_vertices(f->triangle, triangle_count, &f->allocator, &f->point, &s->point_count, error);
    s->edge = f->edge;
    s->point = f->point;
    return result;
}

static supple_result build(spl_fold *f, const spl_fold_mesh *m, selection *s, spl_pool *pool, supple_error *error)
{
    const supple_allocator *a = &f->allocator;
    size_t n = (size_t)m->surface->vertex_count;
    s->number = spl_new(a, n, sizeof *s->number);
    s->stack = spl_new(a, n, sizeof *s->stack);
    s->piece = spl_new(a, n, sizeof *s->piece);
    s->triangle = spl_new(a, (size_t)m->surface->triangle_count, sizeof *s->triangle);
    if (!s->number || !s->stack || !s->piece || !s->triangle) return spl_fail_memory(error, "the mesh's folds");
    int32_t vertex_count, triangle_count = choose(m, s, &vertex_count);
    if (!take_memory(f, vertex_count, triangle_count)) return spl_fail_memory(error, "the mesh's folds");
    copy(f, m, s);
    supple_result result = set_surface(f, m, vertex_count, triangle_count, error);
    if (result == SUPPLE_OK && !list_neighbours(f)) result = spl_fail_memory(error, "the mesh's folds");
    spl_barrier_options options = spl_barrier_options_default();
    options.width = m->width;
    if (result == SUPPLE_OK) result = spl_barrier_create(&f->surface, &options, a, pool, &f->barrier, error);
    return result == SUPPLE_OK ? spl_bounded_move_create(f->barrier, a, &f->mover, error) : result;
}

supple_result spl_fold_create(const spl_fold_mesh *mesh, const double *ease, const supple_allocator *a, spl_pool *pool,
                              spl_fold **out, supple_error *error)
{
    *out = NULL;
    spl_fold *f = spl_new(a, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "the mesh's folds");
    f->allocator = *a;
    selection s = {0};
    supple_result result = build(f, mesh, &s, pool, error);
    release_selection(&s, a);
    if (result != SUPPLE_OK) {
        spl_fold_destroy(f);
        return result;
    }
    spl_barrier_restore(f->barrier, ease);
    spl_barrier_exempt(f->barrier, f->exempt);
    *out = f;
    return SUPPLE_OK;
}

void spl_fold_destroy(spl_fold *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    spl_bounded_move_destroy(f->mover);
    spl_barrier_destroy(f->barrier);
    void *blocks[] = {f->rest,     f->stiffness, f->reach,  f->fixed, f->bone,   f->edge, f->point,
                      f->triangle, f->vertex,    f->first,  f->next,  f->y,      f->goal, f->step,
                      f->marked,   f->wider,     f->exempt, f->left,  f->before, f->best};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, f);
}

/* ---- the start ---- */

static size_t vertices(const spl_fold *f)
{
    return (size_t)f->surface.vertex_count;
}

static spl_vec3 at(const double *x, int32_t v)
{
    return spl_v3(x[3 * v], x[3 * v + 1], x[3 * v + 2]);
}

/* Marks the neighbours of what is marked too, so many times. */
static void widen(spl_fold *f, int rings)
{
    for (int k = 0; k < rings; k++) {
        memcpy(f->wider, f->marked, vertices(f) * sizeof *f->marked);
        for (size_t v = 0; v < vertices(f); v++)
            for (int32_t i = f->first[v]; f->marked[v] && i < f->first[v + 1]; i++) f->wider[f->next[i]] = true;
        memcpy(f->marked, f->wider, vertices(f) * sizeof *f->marked);
    }
}

/* Marks what crosses; returns how often. */
static int32_t mark_crossing(spl_fold *f)
{
    memset(f->marked, 0, vertices(f) * sizeof *f->marked);
    return spl_barrier_mark_vertices(f->barrier, f->y, f->marked);
}

/* Marked vertices towards the middle of their neighbours. */
static void smooth(spl_fold *f)
{
    for (int32_t v = 0; v < f->surface.vertex_count; v++) {
        int32_t count = f->first[v + 1] - f->first[v];
        if (!f->marked[v] || f->fixed[v] || count == 0) continue;
        spl_vec3 sum = spl_v3(0, 0, 0);
        for (int32_t i = f->first[v]; i < f->first[v + 1]; i++) sum = spl_add(sum, at(f->y, f->next[i]));
        sum = spl_madd(spl_scale(sum, RATE / count), at(f->y, v), 1 - RATE);
        memcpy(f->y + 3 * (size_t)v, &sum, sizeof sum);
    }
}

/* Where a fold has become deeper what was aside of it has to go farther: by what leaves the fewest crossings. More than
 * a fifth takes vertices to where others are. */
static void go_farther(spl_fold *f)
{
    static const double share[] = {1, 1.05, 1.1, 1.2};
    size_t n = 3 * vertices(f);
    int32_t least = INT32_MAX;
    double best = 1;
    for (size_t k = 0; k < n; k++) f->step[k] = f->y[k] - f->goal[k];
    for (size_t i = 0; i < sizeof share / sizeof *share && least > 0; i++) {
        for (size_t k = 0; k < n; k++) f->y[k] = f->goal[k] + share[i] * f->step[k];
        int32_t crossings = spl_barrier_crossings(f->barrier, f->y);
        if (crossings >= least) continue;
        least = crossings;
        best = share[i];
    }
    for (size_t k = 0; k < n; k++) f->y[k] = f->goal[k] + best * f->step[k];
}

static void copy_places(const spl_fold *f, double *to, const double *from)
{
    memcpy(to, from, 3 * vertices(f) * sizeof *to);
}

/* What crosses is flattened, as widely as it takes; returns how much crosses still, at the least. */
static int32_t flatten(spl_fold *f)
{
    int32_t crossings = mark_crossing(f), least = crossings, waited = 0;
    if (crossings > FEW) return crossings;
    copy_places(f, f->best, f->y);
    for (int round = 0; round < FLATTENED && crossings > 0 && waited < PATIENCE; round++) {
        widen(f, 1 + round / WIDER);
        smooth(f);
        crossings = mark_crossing(f);
        waited = crossings < least ? 0 : waited + 1;
        if (crossings >= least) continue;
        least = crossings;
        copy_places(f, f->best, f->y);
    }
    if (crossings == 0) return 0;
    copy_places(f, f->y, f->best);
    return mark_crossing(f);
}

static void leave(spl_fold *f, int32_t v)
{
    f->left[v] = f->exempt[v] = f->fixed[v] = true;
    memcpy(f->y + 3 * (size_t)v, f->goal + 3 * (size_t)v, 3 * sizeof *f->y);
}

/* What crosses still is left as it is at the goal, and what then crosses that; returns whether the rest is free. */
static bool give_up(spl_fold *f, int32_t crossings)
{
    for (int round = 0; round < GIVEN_UP && crossings > 0; round++) {
        widen(f, 1 + round);
        for (int32_t v = 0; v < f->surface.vertex_count; v++)
            if (f->marked[v]) leave(f, v);
        crossings = mark_crossing(f);
    }
    return crossings == 0;
}

/* ---- the way ---- */

/* The squared distance to the goal, before or after a step. */
static double remaining(const spl_fold *f, const double *step)
{
    double sum = 0;
    for (size_t k = 0; k < 3 * vertices(f); k++) {
        double d = f->goal[k] - f->y[k] - (step ? step[k] : 0);
        sum += d * d;
    }
    return sum;
}

/* y towards the goal, as far as nothing meets. The step that does not come nearer is not taken: so a pose that is held
 * is still. */
static bool approach(spl_fold *f)
{
    double here = remaining(f, NULL);
    for (int i = 0; i < MOVES && here > 0; i++) {
        int32_t cut;
        for (size_t k = 0; k < 3 * vertices(f); k++) f->step[k] = f->goal[k] - f->y[k];
        if (spl_bounded_move_make(f->mover, f->y, f->step, &cut, NULL) != SUPPLE_OK) return false;
        double next = remaining(f, f->step);
        if (next > NEARER * here) break;
        for (size_t k = 0; k < 3 * vertices(f); k++) f->y[k] += f->step[k];
        here = next;
    }
    for (int32_t v = 0; v < f->surface.vertex_count; v++)
        if (spl_distance(at(f->y, v), at(f->goal, v)) < SAME * f->surface.diagonal)
            memcpy(f->y + 3 * (size_t)v, f->goal + 3 * (size_t)v, 3 * sizeof *f->y);
    return true;
}

/* Whether what does not move of itself is at its goal. */
static bool has_arrived(const spl_fold *f)
{
    for (int32_t v = 0; v < f->surface.vertex_count; v++)
        if (f->fixed[v] && !(spl_distance(at(f->y, v), at(f->goal, v)) < SAME * f->surface.diagonal)) return false;
    return true;
}

/* From the last frame's places, which did not cross, all go to this frame's as far as nothing meets: so what came near
 * stays on its side. Flattening cannot tell which that is: a finger in a thigh ends as a point in it. Whether there is
 * such a way; y is as it was if not. */
static bool come_along(spl_fold *f)
{
    if (!f->has_before) return false;
    copy_places(f, f->best, f->y);
    copy_places(f, f->y, f->before);
    bool ok = mark_crossing(f) == 0;
    double here = remaining(f, NULL);
    for (int i = 0; ok && i < MOVES && here > 0; i++) {
        int32_t cut;
        for (size_t k = 0; k < 3 * vertices(f); k++) f->step[k] = f->goal[k] - f->y[k];
        ok = spl_bounded_move_make(f->mover, f->y, f->step, &cut, NULL) == SUPPLE_OK;
        double next = remaining(f, f->step);
        if (!ok || next > NEARER * here) break;
        for (size_t k = 0; k < 3 * vertices(f); k++) f->y[k] += f->step[k];
        here = next;
    }
    if (ok && has_arrived(f)) {
        for (size_t v = 0; v < vertices(f); v++)
            if (f->fixed[v]) memcpy(f->y + 3 * v, f->goal + 3 * v, 3 * sizeof *f->y);
        if (mark_crossing(f) == 0) return true;
    }
    copy_places(f, f->y, f->best);
    return false;
}

bool spl_fold_part(spl_fold *f)
{
    go_farther(f);
    int32_t crossings = mark_crossing(f);
    if (crossings > 0) crossings = come_along(f) ? 0 : flatten(f);
    return give_up(f, crossings) && approach(f) && give_up(f, mark_crossing(f));
}

void spl_fold_read(const spl_fold *f, double *y, bool *left)
{
    for (size_t v = 0; v < vertices(f); v++) {
        size_t to = (size_t)f->vertex[v];
        memcpy(y + 3 * to, f->y + 3 * v, 3 * sizeof *y);
        left[to] = left[to] || f->left[v];
    }
}
