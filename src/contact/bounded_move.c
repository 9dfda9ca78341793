#include "contact/bounded_move.h"

#include "contact/barrier_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const double LEFT = 0.25;       /* of the width, that rows leave, and bring back */
static const double BARELY = 0.1;      /* the same, of what detection asks for */
static const double HALF = 0.4;        /* of a gap: as far as a vertex of a pair goes that is cut short */
static const double RISE = 0.2;        /* of shares, from vertex to vertex */
static const double LEAST_PART = 1e-2; /* of a row's squared weights: free vertices with less do not answer it */
static const double LEAST = 1e-2;      /* of the width: a gap that is none to speak of */

enum { ROUNDS = 5, SWEEPS = 30, CUTS = 6, RINGS = 4, SEEKS = 6 };
enum { FEW = 3 }; /* vertices that move are few if they are less than all by this */

/* A pair that would meet. */
typedef struct row {
    int32_t kind; /* spl_pair_kind */
    int32_t v[4];
    double w[4], n[3];
    double least; /* of n . sum_i w_i d_i */
    double push;  /* by which its vertices were moved so far, times their weights, along n; >= 0 */
} row;

struct spl_bounded_move {
    supple_allocator allocator;
    spl_barrier *barrier;
    double *free;   /* by candidate: the share of the step on which it does not meet */
    bool *tight;    /* the same: nearer than its offset, and so after the step */
    bool *cut;      /* by vertex */
    double *share;  /* by vertex: of its step */
    double *sought; /* 3 x vertices: the step that pairs were sought for */
    bool *changed;  /* by vertex: its step is another since */
    row *row;
    int32_t room, row_room, row_count, tight_count;
    const double *x, *d; /* of the move under way */
};

supple_result spl_bounded_move_create(spl_barrier *b, const supple_allocator *a, spl_bounded_move **out,
                                      supple_error *error)
{
    *out = NULL;
    spl_bounded_move *m = spl_new(a, 1, sizeof *m);
    bool *cut = spl_new(a, (size_t)b->surface.vertex_count, sizeof *cut);
    double *share = spl_new(a, (size_t)b->surface.vertex_count, sizeof *share);
    double *sought = spl_new(a, (size_t)b->surface.vertex_count, 3 * sizeof *sought);
    bool *changed = spl_new(a, (size_t)b->surface.vertex_count, sizeof *changed);
    if (!m || !cut || !share || !sought || !changed) {
        void *blocks[] = {m, cut, share, sought, changed};
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
        return spl_fail_memory(error, "steps without contact");
    }
    *m = (spl_bounded_move){
        .allocator = *a, .barrier = b, .cut = cut, .share = share, .sought = sought, .changed = changed};
    *out = m;
    return SUPPLE_OK;
}

void spl_bounded_move_destroy(spl_bounded_move *m)
{
    if (!m) return;
    supple_allocator a = m->allocator;
    spl_free(&a, m->free);
    spl_free(&a, m->tight);
    spl_free(&a, m->cut);
    spl_free(&a, m->share);
    spl_free(&a, m->sought);
    spl_free(&a, m->changed);
    spl_free(&a, m->row);
    spl_free(&a, m);
}

/* ---- which pairs meet ---- */

/* What is kept of a pair's offset: less of it where there is no room, so that there always is a gap. */
static spl_potential relaxed(const spl_potential *p, double distance)
{
    spl_potential out = *p;
    out.offset = fmin(p->offset, fmax(0, distance - LEFT * p->width));
    return out;
}

static double distance_of(const spl_potential *p, const double corner[4][3], spl_nearest *near)
{
    *near = spl_pair_nearest((spl_pair_kind)p->pair.kind, corner);
    return sqrt(near->square);
}

/* n . sum_i w_i s_i of the nearest places, with n from x. */
static double approach(const spl_nearest *near, const double x[4][3], const double s[4][3], double distance)
{
    double r[3] = {0}, along = 0;
    for (int k = 0; k < 12; k++) r[k % 3] += near->w[k / 3] * x[k / 3][k % 3];
    for (int k = 0; k < 12; k++) along += near->w[k / 3] * s[k / 3][k % 3] * r[k % 3];
    return along / distance;
}

/* Whether the two cannot come half as near as they are, whatever they do on the way. */
static bool is_slow(const spl_potential *p, const double d[4][3], double gap)
{
    int split = spl_pair_split((spl_pair_kind)p->pair.kind);
    double most = 0;
    for (int i = 0; i < split; i++)
        for (int k = split; k < 4; k++) {
            double square = 0;
            for (int c = 0; c < 3; c++) square += (d[i][c] - d[k][c]) * (d[i][c] - d[k][c]);
            most = square <= most ? most : square; /* what is no number stays */
        }
    return 4 * most < gap * gap;
}

static void look(void *context, size_t begin, size_t end)
{
    const spl_bounded_move *m = context;
    const spl_barrier *b = m->barrier;
    double x[4][3], d[4][3];
    for (size_t i = begin; i < end; i++) {
        spl_potential *p = &b->potential[i];
        m->free[i] = 1;
        m->tight[i] = false;
        if (!(p->width > 0)) continue;
        spl_nearest near;
        spl_barrier_corners(&p->pair, m->d, d);
        double known = p->distance - p->offset; /* most are looked at again and again, and are far */
        if (known > LEAST * p->width && is_slow(p, d, known)) continue;
        spl_barrier_corners(&p->pair, m->x, x);
        double distance = distance_of(p, x, &near);
        p->distance = distance;
        spl_potential soft = relaxed(p, distance);
        double gap = distance - soft.offset, slack = BARELY * fmin(1, p->width / fmax(gap, 1e-300));
        if (!(gap > LEAST * p->width) || !is_slow(p, d, gap)) m->free[i] = spl_barrier_bound(b, &soft, x, d, slack, 1);
        m->tight[i] = distance < p->offset && distance - p->offset + approach(&near, x, d, distance) < 0;
    }
}

/* Room for what is known of each candidate. */
static supple_result make_room(spl_bounded_move *m, supple_error *error)
{
    const spl_barrier *b = m->barrier;
    if (b->count <= m->room) return SUPPLE_OK;
    int32_t room = b->count + b->count / 2;
    double *more = spl_resize(&m->allocator, m->free, (size_t)room, sizeof *more);
    if (more) m->free = more;
    bool *also = spl_resize(&m->allocator, m->tight, (size_t)room, sizeof *also);
    if (also) m->tight = also;
    if (!more || !also) return spl_fail_memory(error, "steps without contact");
    m->room = room;
    return SUPPLE_OK;
}

/* Which vertices go another way than the pairs were sought for; at first, which go at all. */
static int32_t mark_changed(spl_bounded_move *m, bool first)
{
    static const double none[3] = {0};
    size_t n = (size_t)m->barrier->surface.vertex_count;
    int32_t count = 0;
    for (size_t v = 0; v < n; v++) {
        const double *s = m->d + 3 * v, *before = first ? none : m->sought + 3 * v;
        m->changed[v] = s[0] != before[0] || s[1] != before[1] || s[2] != before[2];
        count += m->changed[v];
    }
    memcpy(m->sought, m->d, 3 * n * sizeof *m->d);
    return count;
}

/* The pairs on the way; after the first time those that are new since vertices were turned aside or cut short. Where
 * few vertices move at all, only their pairs can meet. */
static supple_result seek(spl_bounded_move *m, bool first, supple_error *error)
{
    spl_barrier *b = m->barrier;
    int32_t changed = mark_changed(m, first);
    bool few = changed < b->surface.vertex_count / FEW;
    if (first) b->count = 0;
    supple_result result = first && !few ? spl_barrier_seek(b, m->x, m->d, error)
                                         : spl_barrier_seek_changed(b, m->x, m->d, m->changed, error);
    return result == SUPPLE_OK ? make_room(m, error) : result;
}

/* Marks those that meet; returns how many. */
static int32_t count_meeting(spl_bounded_move *m)
{
    int32_t count = 0;
    spl_parallel_for(m->barrier->pool, (size_t)m->barrier->count, SPL_BARRIER_GRAIN, look, m);
    m->tight_count = 0;
    for (int32_t i = 0; i < m->barrier->count; i++) {
        count += m->free[i] < 1;
        m->tight_count += m->tight[i] && m->free[i] >= 1;
    }
    return count;
}

/* ---- turning aside ---- */

/* As the pair is at a share of the step: 0, or where it meets. */
static row row_of(const spl_bounded_move *m, const spl_potential *p, double share)
{
    double x[4][3], d[4][3], at[4][3];
    spl_nearest near;
    spl_barrier_corners(&p->pair, m->x, x);
    spl_barrier_corners(&p->pair, m->d, d);
    for (int k = 0; k < 12; k++) at[k / 3][k % 3] = x[k / 3][k % 3] + share * d[k / 3][k % 3];
    double begin = distance_of(p, x, &near), distance = distance_of(p, at, &near), here = 0;
    row out = {0};
    out.kind = p->pair.kind;
    memcpy(out.v, p->pair.v, sizeof out.v);
    memcpy(out.w, near.w, sizeof out.w);
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 4; k++) out.n[c] += near.w[k] * at[k][c] / distance;
    }
    for (int k = 0; k < 12; k++) here += near.w[k / 3] * out.n[k % 3] * x[k / 3][k % 3];
    double wanted = fmin(p->offset + LEFT * p->width, begin + p->width);
    out.least = wanted - here;
    return out;
}

/* Rows of earlier rounds stay: what they turned aside would meet again without them. `later`: what meets all the same
 * is seen as it is where it does. */
static supple_result add_rows(spl_bounded_move *m, int32_t count, bool later, supple_error *error)
{
    const spl_barrier *b = m->barrier;
    if (m->row_count + count > m->row_room) {
        int32_t room = m->row_count + count + count / 2;
        row *more = spl_resize(&m->allocator, m->row, (size_t)room, sizeof *more);
        if (!more) return spl_fail_memory(error, "steps without contact");
        m->row = more;
        m->row_room = room;
    }
    for (int32_t i = 0; i < b->count; i++)
        if (m->free[i] < 1 || m->tight[i]) m->row[m->row_count++] = row_of(m, &b->potential[i], later ? m->free[i] : 0);
    return SUPPLE_OK;
}

static double along(const row *r, const double *d)
{
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const double *s = d + 3 * (size_t)r->v[k];
        sum += r->w[k] * (r->n[0] * s[0] + r->n[1] * s[1] + r->n[2] * s[2]);
    }
    return sum;
}

/* Makes one row hold, or takes back what it has pushed too much since (Hildreth 1957); whether it did not hold. */
static bool hold(row *r, const bool *fixed, double *d)
{
    double lacking = r->least - along(r, d), squares = 0;
    for (int k = 0; k < 4; k++) squares += fixed[r->v[k]] ? 0 : r->w[k] * r->w[k];
    if (squares < LEAST_PART) return false;
    double push = fmax(lacking / squares, -r->push);
    r->push += push;
    for (int k = 0; push != 0 && k < 4; k++) {
        if (fixed[r->v[k]]) continue;
        double *s = d + 3 * (size_t)r->v[k];
        for (int c = 0; c < 3; c++) s[c] += push * r->w[k] * r->n[c];
    }
    return lacking > 0;
}

static void sweep(spl_bounded_move *m, double *d)
{
    bool any = true;
    for (int k = 0; k < SWEEPS && any; k++) {
        any = false;
        for (int32_t i = 0; i < m->row_count; i++) any = hold(&m->row[i], m->barrier->surface.fixed, d) || any;
    }
}

/* ---- cutting short ---- */

/* Shares fall off slowly along the surface: flesh around what is cut short lags behind with it. */
static void spread_shares(spl_bounded_move *m)
{
    const spl_barrier_surface *s = &m->barrier->surface;
    for (int k = 0; k < RINGS; k++)
        for (int32_t e = 0; e < s->edge_count; e++) {
            double *p = &m->share[s->edge[2 * e]], *q = &m->share[s->edge[2 * e + 1]];
            *p = fmin(*p, *q + RISE);
            *q = fmin(*q, *p + RISE);
        }
}

/* Vertices of pairs that meet go no farther than less than half of their gap. */
static void cut_short(spl_bounded_move *m, double *d)
{
    const spl_barrier *b = m->barrier;
    double corner[4][3];
    for (int32_t v = 0; v < b->surface.vertex_count; v++) m->share[v] = 1;
    for (int32_t i = 0; i < b->count; i++) {
        if (m->free[i] >= 1) continue;
        const spl_potential *p = &b->potential[i];
        spl_nearest near;
        spl_barrier_corners(&p->pair, m->x, corner);
        double distance = distance_of(p, corner, &near), most = HALF * (distance - relaxed(p, distance).offset);
        for (int k = 0; k < 4; k++) {
            const double *s = d + 3 * (size_t)p->pair.v[k];
            double length = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
            m->share[p->pair.v[k]] = fmin(m->share[p->pair.v[k]], length > most ? most / length : 1);
        }
    }
    spread_shares(m);
    for (int32_t i = 0; i < m->row_count; i++) m->row[i].push = 0; /* of what is cut it cannot be taken back */
    for (int32_t v = 0; v < b->surface.vertex_count; v++) {
        m->cut[v] = m->cut[v] || m->share[v] < 1;
        for (size_t c = 0; c < 3; c++) d[3 * (size_t)v + c] *= m->share[v];
    }
}

/* The last resort: all of the step alike. */
static void shorten(spl_bounded_move *m, double *d)
{
    const spl_barrier *b = m->barrier;
    double x[4][3], s[4][3], until = 1;
    for (int32_t i = 0; i < b->count; i++) {
        if (m->free[i] >= 1) continue;
        spl_nearest near;
        spl_barrier_corners(&b->potential[i].pair, m->x, x);
        spl_barrier_corners(&b->potential[i].pair, d, s);
        spl_potential soft = relaxed(&b->potential[i], distance_of(&b->potential[i], x, &near));
        until = fmin(until, spl_barrier_bound(b, &soft, x, s, BARELY, until));
    }
    for (int32_t v = 0; v < b->surface.vertex_count; v++) {
        m->cut[v] = true;
        for (size_t c = 0; c < 3; c++) d[3 * (size_t)v + c] *= until;
    }
}

/* Pairs that were found by the last look are safe by this, whatever turned up before. */
static supple_result stop(spl_bounded_move *m, double *d, supple_error *error)
{
    supple_result result = seek(m, false, error);
    if (result != SUPPLE_OK) return result;
    if (count_meeting(m) > 0) shorten(m, d);
    return SUPPLE_OK;
}

/* Turns aside, then cuts short, until none of the pairs that are known meets; *any if some did. */
static supple_result part(spl_bounded_move *m, bool first, double *d, bool *any, supple_error *error)
{
    int32_t meeting = count_meeting(m);
    supple_result result = SUPPLE_OK;
    *any = meeting > 0 || (first && m->tight_count > 0);
    for (int round = 0; *any && (meeting > 0 || round == 0) && result == SUPPLE_OK; round++) {
        if (round < ROUNDS) {
            result = add_rows(m, meeting + m->tight_count, round > 0 || !first, error);
            sweep(m, d);
        } else if (round < ROUNDS + CUTS) {
            cut_short(m, d);
        } else {
            shorten(m, d);
            break;
        }
        meeting = count_meeting(m);
    }
    return result;
}

supple_result spl_bounded_move_make(spl_bounded_move *m, const double *x, double *d, int32_t *cut, supple_error *error)
{
    int32_t n = m->barrier->surface.vertex_count;
    bool any = true;
    memset(m->cut, 0, (size_t)n * sizeof *m->cut);
    m->x = x;
    m->d = d;
    m->row_count = 0;
    *cut = 0;
    supple_result result = SUPPLE_OK;
    for (int look_again = 0; any && result == SUPPLE_OK && look_again < SEEKS; look_again++) {
        result = seek(m, look_again == 0, error);
        if (result == SUPPLE_OK) result = part(m, look_again == 0, d, &any, error);
    }
    if (any && result == SUPPLE_OK) result = stop(m, d, error);
    for (int32_t v = 0; v < n; v++) *cut += m->cut[v];
    if (m->row_count == 0 && *cut == 0) *cut = -1;
    return result;
}

bool spl_bounded_move_pushed(const spl_bounded_move *m, bool (*take)(void *context, const spl_pair *pair),
                             void *context)
{
    for (int32_t i = 0; i < m->row_count; i++) {
        const row *r = &m->row[i];
        spl_pair pair = {r->kind, {r->v[0], r->v[1], r->v[2], r->v[3]}};
        if (r->push > 0 && !take(context, &pair)) return false;
    }
    return true;
}
