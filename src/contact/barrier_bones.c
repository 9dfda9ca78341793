/* Pairs of bones that flesh cannot keep apart: released while their motion takes them through each other, and taken
 * back when nothing of theirs touches any more. */
#include "contact/barrier_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const double LEAST_EASE = 0.01; /* of offsets: less is none, and pairs are released */
static const double THIN = 0.25;       /* of the barrier's width: offsets that are none */
static const double STOP_SLACK = 0.1;  /* of a gap: what comes nearer stops a step */
static const double TAKEN = 0.8;       /* of the room that there is, when offsets grow again */

bool spl_barrier_released(const spl_barrier *b, int32_t bone, int32_t other)
{
    return b->released[(size_t)b->surface.bone_count * (size_t)bone + (size_t)other];
}

void spl_barrier_release(spl_barrier *b, int32_t bone, int32_t other, bool released)
{
    size_t n = (size_t)b->surface.bone_count, p = (size_t)bone, q = (size_t)other;
    b->released[n * p + q] = b->released[n * q + p] = released;
    b->ease[n * p + q] = b->ease[n * q + p] = released ? 0 : 1;
}

int32_t spl_barrier_released_count(const spl_barrier *b)
{
    int32_t count = 0;
    for (int32_t p = 0; p < b->surface.bone_count; p++)
        for (int32_t q = 0; q <= p; q++) count += spl_barrier_released(b, p, q);
    return count;
}

void spl_barrier_keep(const spl_barrier *b, double *ease)
{
    memcpy(ease, b->ease, (size_t)b->surface.bone_count * (size_t)b->surface.bone_count * sizeof *ease);
}

void spl_barrier_restore(spl_barrier *b, const double *ease)
{
    for (size_t i = 0; i < (size_t)b->surface.bone_count * (size_t)b->surface.bone_count; i++) {
        b->ease[i] = ease[i];
        b->released[i] = ease[i] == 0;
    }
}

/* ---- which pairs are of which bones ---- */

/* Calls `visit` with the places, in arrays of bones x bones, of all pairs of bones of a pair of the body. */
typedef void visit_fn(void *context, size_t at, size_t mirrored);

static void visit_bones(const spl_barrier *b, const spl_pair *pair, visit_fn *visit, void *context)
{
    int first = pair->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    size_t n = (size_t)b->surface.bone_count;
    for (int i = 0; i < first; i++)
        for (int k = first; k < 4; k++) {
            size_t p = (size_t)b->surface.bone[pair->v[i]], q = (size_t)b->surface.bone[pair->v[k]];
            visit(context, n * p + q, n * q + p);
        }
}

typedef struct question {
    const spl_barrier *b;
    bool released;
    double ease;
} question;

static void ask(void *context, size_t at, size_t mirrored)
{
    question *q = context;
    (void)mirrored;
    q->released = q->released || q->b->released[at];
    q->ease = fmin(q->ease, q->b->ease[at]);
}

double spl_barrier_ease(const spl_barrier *b, const spl_pair *pair)
{
    question q = {b, false, 1};
    visit_bones(b, pair, ask, &q);
    return q.ease;
}

void spl_barrier_exempt(spl_barrier *b, const bool *vertex)
{
    b->exempt = vertex;
}

/* Both sides have vertices where flesh crosses at rest, or is allowed to. */
static bool overlaps(const spl_barrier *b, const spl_pair *pair)
{
    int first = pair->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    bool marked[2] = {false, false};
    for (int i = 0; i < 4; i++) {
        bool here = b->overlapping[pair->v[i]] || (b->exempt && b->exempt[pair->v[i]]);
        marked[i >= first] = marked[i >= first] || here;
    }
    return marked[0] && marked[1];
}

bool spl_barrier_refuse(const void *context, const spl_pair *pair)
{
    const spl_barrier *b = context;
    if (!spl_barrier_is_world(b, pair) && (!b->options.self || overlaps(b, pair))) return true;
    question q = {b, false, 1};
    visit_bones(b, pair, ask, &q);
    return q.released != b->inverse;
}

int32_t spl_barrier_crossings(spl_barrier *b, const double *x)
{
    return spl_pairs_crossings(b->pairs, x, b->pool, NULL, NULL);
}

typedef struct marking {
    const spl_barrier *b;
    bool *bone;
} marking;

static void mark_bones(void *context, const int32_t edge[2], const int32_t triangle[3])
{
    const marking *m = context;
    for (int i = 0; i < 2; i++) m->bone[m->b->surface.bone[edge[i]]] = true;
    for (int i = 0; i < 3; i++) m->bone[m->b->surface.bone[triangle[i]]] = true;
}

bool spl_barrier_mark_crossing(spl_barrier *b, const double *x, bool *bone)
{
    marking m = {b, bone};
    bool ok = true;
    for (int kind = 0; kind < 2; kind++) {
        b->inverse = kind == 0;
        ok = spl_pairs_crossings(b->pairs, x, b->pool, mark_bones, &m) >= 0 && ok;
    }
    b->inverse = false;
    return ok;
}

static void mark_vertices(void *context, const int32_t edge[2], const int32_t triangle[3])
{
    bool *vertex = context;
    for (int i = 0; i < 2; i++) vertex[edge[i]] = true;
    for (int i = 0; i < 3; i++) vertex[triangle[i]] = true;
}

int32_t spl_barrier_mark_vertices(spl_barrier *b, const double *x, bool *vertex)
{
    return spl_pairs_crossings(b->pairs, x, b->pool, mark_vertices, vertex);
}

bool spl_barrier_mark_near(spl_barrier *b, const double *x, bool *bone)
{
    double corner[4][3];
    if (!spl_barrier_mark_crossing(b, x, bone) || spl_barrier_seek(b, x, NULL, NULL) != SUPPLE_OK) return false;
    for (int32_t i = 0; i < b->count; i++) {
        const spl_potential *p = &b->potential[i];
        spl_barrier_corners(&p->pair, x, corner);
        double d = sqrt(spl_pair_nearest((spl_pair_kind)p->pair.kind, corner).square);
        for (int k = 0; k < 4 && p->width > 0 && !(d > p->offset); k++) bone[b->surface.bone[p->pair.v[k]]] = true;
    }
    return true;
}

/* ---- giving way ---- */

typedef struct giving {
    spl_barrier *b;
    bool *touched; /* bones x bones: had its turn */
    double less;
    int32_t count;
} giving;

static void give(void *context, size_t at, size_t mirrored)
{
    giving *g = context;
    spl_barrier *b = g->b;
    if (g->touched[at] || b->released[at]) return;
    g->touched[at] = g->touched[mirrored] = true;
    g->count++;
    b->ease[at] = b->ease[mirrored] = b->ease[at] * g->less;
    if (b->ease[at] >= LEAST_EASE) return;
    b->released[at] = b->released[mirrored] = true;
    b->ease[at] = b->ease[mirrored] = 0;
}

/* `thin`: where offsets are none to speak of, pairs are released. */
static supple_result let_pass(spl_barrier *b, const double *x, const double *d, double less, bool thin, int32_t *count,
                              supple_error *error)
{
    size_t n = (size_t)b->surface.bone_count;
    double from[4][3], to[4][3], most;
    giving g = {b, spl_new(&b->allocator, n * n, sizeof *g.touched), less, 0};
    *count = 0;
    supple_result result = g.touched ? spl_barrier_max_step(b, x, d, STOP_SLACK, &most, error)
                                     : spl_fail_memory(error, "contacts that give way");
    for (int32_t i = 0; result == SUPPLE_OK && i < b->count; i++) {
        const spl_potential *p = &b->potential[i];
        bool has_offset = p->offset > THIN * b->options.width;
        if (!(p->width > 0) || !(has_offset || thin)) continue;
        spl_barrier_corners(&p->pair, b->at, from);
        spl_barrier_corners(&p->pair, d, to);
        if (spl_barrier_bound(b, p, from, to, STOP_SLACK, 1) >= 1) continue;
        g.less = has_offset ? less : 0; /* else there is nothing to make smaller */
        visit_bones(b, &p->pair, give, &g);
    }
    *count = g.count;
    spl_free(&b->allocator, g.touched);
    return result;
}

supple_result spl_barrier_give_way(spl_barrier *b, const double *x, const double *d, double less, int32_t *count,
                                   supple_error *error)
{
    return let_pass(b, x, d, less, true, count, error);
}

supple_result spl_barrier_thin_out(spl_barrier *b, const double *x, const double *d, double less, int32_t *count,
                                   supple_error *error)
{
    return let_pass(b, x, d, less, false, count, error);
}

/* ---- taking back ---- */

/* What is known of each pair of bones at one x. */
typedef struct taking {
    spl_barrier *b;
    bool *crossing;
    double *room; /* the least distance of a pair over its offset, at most 1 */
    double here;  /* of the pair under way */
} taking;

static void mark_crossing(void *context, size_t at, size_t mirrored)
{
    const taking *t = context;
    t->crossing[at] = t->crossing[mirrored] = true;
}

static void mark_room(void *context, size_t at, size_t mirrored)
{
    const taking *t = context;
    t->room[at] = t->room[mirrored] = fmin(t->room[at], t->here);
}

static void note_crossing(void *context, const int32_t edge[2], const int32_t triangle[3])
{
    const taking *t = context;
    for (int i = 0; i < 2; i++) {
        spl_pair pair = {SPL_PAIR_POINT_TRIANGLE, {edge[i], triangle[0], triangle[1], triangle[2]}};
        visit_bones(t->b, &pair, mark_crossing, context);
    }
}

static void release_pair(void *context, size_t at, size_t mirrored)
{
    spl_barrier *b = context;
    b->released[at] = b->released[mirrored] = true;
    b->ease[at] = b->ease[mirrored] = 0;
}

static void release_one(void *context, const int32_t edge[2], const int32_t triangle[3])
{
    spl_barrier *b = context;
    for (int i = 0; i < 2; i++) {
        spl_pair pair = {SPL_PAIR_POINT_TRIANGLE, {edge[i], triangle[0], triangle[1], triangle[2]}};
        visit_bones(b, &pair, release_pair, b);
    }
}

int32_t spl_barrier_release_crossing(spl_barrier *b, const double *x)
{
    return spl_pairs_crossings(b->pairs, x, b->pool, release_one, b);
}

/* Of the pairs of bones whose offsets gave way, all offsets counting whole. */
static void find_room(taking *t, const double *all)
{
    spl_barrier *b = t->b;
    double corner[4][3];
    for (int32_t i = 0; i < b->count; i++) {
        const spl_potential *p = &b->potential[i];
        double ease = spl_barrier_ease(b, &p->pair);
        if (ease == 1 || !(p->width > 0)) continue;
        spl_barrier_corners(&p->pair, all, corner);
        double d = sqrt(spl_pair_nearest((spl_pair_kind)p->pair.kind, corner).square),
               whole = spl_barrier_reach(b, &p->pair);
        t->here = whole > 0 ? fmin(1, d / whole) : 1;
        visit_bones(b, &p->pair, mark_room, t);
    }
}

/* Both kinds of pairs, of released bones and of others. */
static supple_result look(taking *t, const double *all, supple_error *error)
{
    spl_barrier *b = t->b;
    supple_result result = SUPPLE_OK;
    for (int kind = 0; kind < 2 && result == SUPPLE_OK; kind++) {
        b->inverse = kind == 0;
        result = spl_barrier_seek(b, all, NULL, error);
        if (result == SUPPLE_OK) find_room(t, all);
        if (result == SUPPLE_OK && kind == 0 && spl_pairs_crossings(b->pairs, all, b->pool, note_crossing, t) < 0)
            result = spl_fail_memory(error, "released contacts");
    }
    b->inverse = false;
    return result;
}

/* New shares of offsets; returns how many pairs stay released without being kept so. */
static int32_t take(const taking *t, const bool *keep)
{
    spl_barrier *b = t->b;
    size_t n = (size_t)b->surface.bone_count;
    int32_t left = 0;
    for (size_t p = 0; p < n; p++)
        for (size_t q = 0; q <= p; q++) {
            size_t at = n * p + q, mirrored = n * q + p;
            bool kept = keep && keep[at];
            if (b->released[at] && (kept || t->crossing[at])) {
                left += !kept;
                continue;
            }
            double ease = t->room[at] < 1 ? TAKEN * t->room[at] : 1;
            b->released[at] = b->released[mirrored] = false;
            b->ease[at] = b->ease[mirrored] = fmax(b->ease[at], ease);
        }
    return left;
}

supple_result spl_barrier_take_back(spl_barrier *b, const double *x, const bool *keep, int32_t *count,
                                    supple_error *error)
{
    size_t n = (size_t)b->surface.bone_count;
    bool any = false;
    *count = 0;
    for (size_t i = 0; i < n * n; i++) any = any || b->ease[i] < 1;
    if (!any) return SUPPLE_OK;
    taking t = {.b = b,
                .crossing = spl_new(&b->allocator, n * n, sizeof *t.crossing),
                .room = spl_new(&b->allocator, n * n, sizeof *t.room)};
    supple_result result = t.crossing && t.room ? SUPPLE_OK : spl_fail_memory(error, "released contacts");
    for (size_t i = 0; result == SUPPLE_OK && i < n * n; i++) t.room[i] = 1;
    if (result == SUPPLE_OK) result = look(&t, x, error);
    if (result == SUPPLE_OK) *count = take(&t, keep);
    spl_free(&b->allocator, t.crossing);
    spl_free(&b->allocator, t.room);
    return result;
}
