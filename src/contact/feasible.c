#include "contact/feasible.h"

#include "contact/barrier_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const double TURN = 10 * 3.14159265358979323846 / 180; /* of a joint in one step */
static const double THINNER = 0.3;                            /* what offsets that stop bones become of themselves */
static const double LONGEST = 2;                              /* mean edges: what a vertex goes in one move */
static const double STALLED = 0.7;                            /* of what was left before: more does not help */
static const double PAST = 0.01;                              /* of a gap: pairs that keep so much slide past */
static const double LOST = 0.5;     /* of a mean edge: what is so far from its goal is stuck */
static const double HOPELESS = 2.5; /* the same: what is held back so far is no longer */
static const double DAMPED = 0.6;   /* of its way that flesh does not go in a frame where it touches */
static const double FADES = 0.7;    /* of that, from vertex to vertex */
static const double ARRIVED = 1e-9; /* of the diagonal */
static const double SPARE = 0.05;   /* the same: how far an x may be, twice, from the one that pairs were sought for */
static const double REACH = 0.25;   /* of a mean edge: what the mesh stands out of the body counts up to this */

enum { MOVES = 3, LAST_MOVES = 2 }; /* towards a goal: of bones, of flesh */
enum { MOST_WAIT = 15 };            /* frames from one try to come anew to the next */
enum { FADE = 6 };                  /* vertices away that is felt */
enum { TRIES = 3, GIVEN = 2 };      /* while they help; how often what stops bones gives way before it is released */

struct spl_feasible {
    supple_allocator allocator;
    const spl_solid *solid;
    const int32_t *held; /* by vertex: -1 where it is free */
    spl_pool *pool;
    spl_obstacles none;
    spl_body_surface surface;
    spl_barrier *barrier;
    spl_bounded_move *mover;
    spl_pose_path path;
    spl_held bones;          /* what they hold firmly */
    bool *crossing;          /* bones x bones: pairs that cross where the last step led */
    bool *tangled;           /* by bone: room */
    double *ones;            /* bones x bones */
    double *ease;            /* the same: room */
    double *touch;           /* by vertex: how far it is of what touches, 0 to 1 */
    bool begun;              /* a frame has been made */
    bool fresh;              /* the first frame, or one that came anew */
    bool anew;               /* the state comes from the bind pose in this frame */
    bool lost;               /* bones did not arrive without something being released */
    int32_t tangled_frames;  /* in a row, in which flesh is entangled and its bones are not */
    int32_t next_try;        /* of these: when it comes anew again */
    double *kept;            /* 3 x vertices: the state before that */
    double *kept_ease;       /* bones x bones: the same */
    bool still;              /* nothing moved since the last frame */
    double *x, *goal, *step; /* 3 x vertices */
    double *listed;          /* the same: what pairs were sought for, from the state on */
    bool has_list;           /* the barrier's candidates are those */
    spl_meeting *meeting;
    int32_t meeting_room;
    spl_pressed pressed; /* in motion: pairs that moves kept apart */
    bool moving;         /* by a step of dynamics */
    double missing;
    int32_t tangles; /* pairs of bones that are released although they do not cross */
};

/* ---- creation ---- */

/* Where the mesh stands far out of the body (hair, soles, layers of clothes), all that is near at rest would be pairs:
 * 36,000 instead of 7,000 of a clothed man, at 2.3 times the time of a frame. What so crosses of the mesh is parted
 * there. */
static void bound_reach(spl_feasible *f)
{
    double most = REACH * f->barrier->edge_mean;
    for (int32_t v = 0; v < f->surface.surface.vertex_count; v++) f->surface.reach[v] = fmin(f->surface.reach[v], most);
}

static supple_result build(spl_feasible *f, supple_error *error)
{
    const supple_allocator *a = &f->allocator;
    spl_barrier_options options = spl_barrier_options_default();
    supple_result result = spl_body_surface_create(f->solid, f->held, &f->none, &f->surface, error);
    options.self = true;
    if (result == SUPPLE_OK) result = spl_barrier_create(&f->surface.surface, &options, a, f->pool, &f->barrier, error);
    if (result == SUPPLE_OK) result = spl_bounded_move_create(f->barrier, a, &f->mover, error);
    if (result == SUPPLE_OK) result = spl_pose_path_create(f->solid, &f->path, error);
    if (result != SUPPLE_OK) return result;
    bound_reach(f);
    spl_pressed_create(f->barrier, a, &f->pressed);
    size_t n = (size_t)f->surface.surface.vertex_count, bones = (size_t)f->surface.surface.bone_count;
    f->x = spl_new(a, n, 3 * sizeof *f->x);
    f->goal = spl_new(a, n, 3 * sizeof *f->goal);
    f->step = spl_new(a, n, 3 * sizeof *f->step);
    f->listed = spl_new(a, n, 3 * sizeof *f->listed);
    f->kept = spl_new(a, n, 3 * sizeof *f->kept);
    f->touch = spl_new(a, n, sizeof *f->touch);
    f->crossing = spl_new(a, bones * bones, sizeof *f->crossing);
    f->ones = spl_new(a, bones * bones, sizeof *f->ones);
    f->ease = spl_new(a, bones * bones, sizeof *f->ease);
    f->kept_ease = spl_new(a, bones * bones, sizeof *f->kept_ease);
    f->tangled = spl_new(a, bones, sizeof *f->tangled);
    if (!f->x || !f->goal || !f->step || !f->listed || !f->touch || !f->crossing || !f->ones || !f->ease ||
        !f->tangled || !f->kept || !f->kept_ease)
        return spl_fail_memory(error, "contacts");
    for (size_t i = 0; i < bones * bones; i++) f->ones[i] = 1;
    return spl_held_create(f->solid, f->held, (int32_t)bones, f->pool, &f->bones, error);
}

supple_result spl_feasible_create(const spl_solid *solid, spl_pool *pool, spl_feasible **out, supple_error *error)
{
    *out = NULL;
    spl_feasible *f = spl_new(&solid->allocator, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "contacts");
    f->allocator = solid->allocator;
    f->solid = solid;
    f->held = solid->body->bone;
    f->pool = pool;
    supple_result result = build(f, error);
    if (result != SUPPLE_OK) {
        spl_feasible_destroy(f);
        return result;
    }
    spl_feasible_reset(f);
    *out = f;
    return SUPPLE_OK;
}

void spl_feasible_destroy(spl_feasible *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    spl_pressed_release(&f->pressed);
    spl_bounded_move_destroy(f->mover);
    spl_pose_path_release(&f->path);
    spl_held_release(&f->bones);
    spl_barrier_destroy(f->barrier);
    spl_body_surface_release(&f->surface);
    void *blocks[] = {f->crossing, f->tangled, f->ones,  f->ease,    f->x,    f->goal,
                      f->step,     f->listed,  f->touch, f->meeting, f->kept, f->kept_ease};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&a, blocks[i]);
    spl_free(&a, f);
}

static size_t coordinates(const spl_feasible *f)
{
    return 3 * (size_t)f->surface.surface.vertex_count;
}

void spl_feasible_reset(spl_feasible *f)
{
    memcpy(f->x, f->solid->drive.rest, coordinates(f) * sizeof *f->x);
    spl_pose_path_reset(&f->path);
    spl_pressed_forget(&f->pressed);
    f->fresh = true;
    f->begun = f->moving = false;
    f->has_list = f->anew = false;
    f->tangled_frames = f->next_try = 0;
    spl_barrier_restore(f->barrier, f->ones);
}

/* ---- moves ---- */

/* How far from its goal a vertex is at most. */
static double farthest(const spl_feasible *f, bool held_alone)
{
    double most = 0;
    for (size_t k = 0; k < coordinates(f); k++)
        if (!held_alone || f->held[k / 3] >= 0) most = fmax(most, fabs(f->goal[k] - f->x[k]));
    return most;
}

/* The way from the state to x, of each vertex up to a few edges: what flies farther (flesh in motion, where a clip
 * jumps) would have all the rest in its way. Whether one was shortened. */
static bool set_step(spl_feasible *f, const double *x)
{
    double most = LONGEST * f->barrier->edge_mean;
    bool any = false;
    for (size_t k = 0; k < coordinates(f); k += 3) {
        double d[3] = {x[k] - f->x[k], x[k + 1] - f->x[k + 1], x[k + 2] - f->x[k + 2]};
        double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), share = length > most ? most / length : 1;
        for (size_t c = 0; c < 3; c++) f->step[k + c] = share * d[c];
        any = any || share < 1;
    }
    return any;
}

static bool note(void *pressed, const spl_pair *pair)
{
    return spl_pressed_note(pressed, pair);
}

/* Towards the goal, as long as that helps. */
static supple_result move(spl_feasible *f, int most, supple_error *error)
{
    double before = INFINITY;
    for (int i = 0; i < most; i++) {
        int32_t cut;
        bool shortened = set_step(f, f->goal);
        supple_result result = spl_bounded_move_make(f->mover, f->x, f->step, &cut, error);
        if (result == SUPPLE_OK && f->moving && !spl_bounded_move_pushed(f->mover, note, &f->pressed))
            result = spl_fail_memory(error, "contacts");
        if (result != SUPPLE_OK) return result;
        bool whole = cut < 0 && !shortened;
        for (size_t k = 0; k < coordinates(f); k++) f->x[k] = whole ? f->goal[k] : f->x[k] + f->step[k];
        double left = cut > 0 || shortened ? farthest(f, false) : 0;
        if ((cut <= 0 && !shortened) || left > STALLED * before) break;
        before = left;
    }
    return SUPPLE_OK;
}

/* Whether two bones meet at a joint. What they hold may cross there in a deep bend, and flesh still finds room. */
static bool meet(const spl_feasible *f, int32_t p, int32_t q)
{
    const spl_bone *bone = f->solid->body->bones.bone;
    return bone[p].parent == q || bone[q].parent == p || bone[p].node == bone[q].node;
}

/* Bones that cross at the goal and do not meet are released; `crossing` says which. */
static supple_result release_crossing(spl_feasible *f, supple_error *error)
{
    int32_t n = f->surface.surface.bone_count;
    if (spl_held_crossings(&f->bones, f->goal, f->crossing, f->pool) < 0) return spl_fail_memory(error, "contacts");
    for (int32_t i = 0; i < n * n; i++) {
        int32_t p = i / n, q = i % n;
        f->crossing[i] = f->crossing[i] && p != q && !meet(f, p, q);
        if (f->crossing[i]) spl_barrier_release(f->barrier, p, q, true);
    }
    return SUPPLE_OK;
}

/* Bones that did not arrive are put in their place with all that they carry. What crosses then is released. */
static supple_result put_in_place(spl_feasible *f, supple_error *error)
{
    const int32_t *bone = f->surface.surface.bone;
    memset(f->tangled, 0, (size_t)f->surface.surface.bone_count * sizeof *f->tangled);
    for (size_t k = 0; k < coordinates(f); k++)
        if (f->held[k / 3] >= 0 && fabs(f->goal[k] - f->x[k]) > ARRIVED * f->solid->diagonal)
            f->tangled[f->held[k / 3]] = true;
    for (size_t k = 0; k < coordinates(f); k++)
        if (f->tangled[bone[k / 3]]) f->x[k] = f->goal[k];
    return spl_barrier_release_crossing(f->barrier, f->x) < 0 ? spl_fail_memory(error, "contacts") : SUPPLE_OK;
}

/* What stops the bones gives way: its offsets first, and nothing is released as long as that changes something.
 * *given: how often it did; *count: for how many pairs of bones. */
static supple_result give_way(spl_feasible *f, int *given, int32_t *count, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    *count = 0;
    for (size_t k = 0; k < coordinates(f); k++) f->step[k] = f->held[k / 3] < 0 ? 0 : f->goal[k] - f->x[k];
    if (*given < GIVEN) result = spl_barrier_thin_out(f->barrier, f->x, f->step, THINNER, count, error);
    if (result == SUPPLE_OK && *count == 0) {
        *given = *given < GIVEN ? GIVEN : *given;
        f->lost = true;
        if (!f->anew) result = spl_barrier_give_way(f->barrier, f->x, f->step, 0, count, error);
    }
    ++*given;
    return result;
}

/* Bones to the goal: what stops them makes way as long as that helps, then it gives way. */
static supple_result go(spl_feasible *f, supple_error *error)
{
    double left, before = INFINITY;
    int given = 0, tries = 0;
    supple_result result = release_crossing(f, error);
    while (result == SUPPLE_OK) {
        int32_t count;
        result = move(f, MOVES, error);
        left = farthest(f, true);
        if (result != SUPPLE_OK || left <= ARRIVED * f->solid->diagonal) return result;
        f->missing = fmax(f->missing, left);
        bool helps = left < STALLED * before && tries++ < TRIES;
        before = left;
        if (helps) continue;
        result = give_way(f, &given, &count, error);
        if (f->lost && f->anew) return result;
        before = INFINITY;
        if (result == SUPPLE_OK && (given > GIVEN + 1 || count == 0)) return put_in_place(f, error);
    }
    return result;
}

/* The whole body goes along with its root at once: no part meets another by that. */
static void follow_root(spl_feasible *f)
{
    spl_mat4 motion = spl_pose_path_move_root(&f->path);
    for (size_t i = 0; i < coordinates(f); i += 3) {
        spl_vec3 p = spl_mat4_point(&motion, spl_v3(f->x[i], f->x[i + 1], f->x[i + 2]));
        memcpy(f->x + i, &p, sizeof p);
    }
}

/* The goal for the state if nothing crosses there but what has to. */
static supple_result try_goal(spl_feasible *f, bool *free, supple_error *error)
{
    int32_t n = f->surface.surface.bone_count;
    spl_barrier_keep(f->barrier, f->ease);
    for (int32_t i = 0; i < n * n; i++) spl_barrier_release(f->barrier, i / n, i % n, f->crossing[i]);
    int32_t crossings = spl_barrier_crossings(f->barrier, f->goal);
    *free = crossings == 0;
    if (*free)
        memcpy(f->x, f->goal, coordinates(f) * sizeof *f->x);
    else
        spl_barrier_restore(f->barrier, f->ease);
    return crossings < 0 ? spl_fail_memory(error, "contacts") : SUPPLE_OK;
}

/* Bones do not cross any more, and their flesh does: it begins anew where the weights have it, if that is free. */
static supple_result disentangle(spl_feasible *f, int32_t *left, supple_error *error)
{
    int32_t n = f->surface.surface.bone_count;
    const int32_t *bone = f->surface.surface.bone;
    bool free;
    memset(f->tangled, 0, (size_t)n * sizeof *f->tangled);
    for (int32_t i = 0; i < n * n; i++)
        if (spl_barrier_released(f->barrier, i / n, i % n) && !f->crossing[i])
            f->tangled[i / n] = f->tangled[i % n] = true;
    spl_solid_pose(f->solid, f->goal, f->pool);
    spl_drive_hold(&f->solid->drive, f->held, f->goal);
    for (size_t k = 0; k < coordinates(f); k++)
        if (!f->tangled[bone[k / 3]]) f->goal[k] = f->x[k];
    supple_result result = try_goal(f, &free, error);
    if (result == SUPPLE_OK && free) *left = 0;
    return result;
}

/* Along the border of what is released flesh may cross that is not: neither side would ever come out. It is released
 * too. */
static supple_result let_go(spl_feasible *f, supple_error *error)
{
    if (spl_barrier_released_count(f->barrier) == 0) return SUPPLE_OK;
    return spl_barrier_release_crossing(f->barrier, f->x) < 0 ? spl_fail_memory(error, "contacts") : SUPPLE_OK;
}

/* Bones go to the solid's pose by small steps and take the state along; *left as spl_barrier_take_back has it. */
static supple_result travel(spl_feasible *f, int32_t *left, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    follow_root(f);
    spl_pose_path_begin(&f->path);
    int32_t steps = (int32_t)fmax(1, ceil(f->path.turn / TURN));
    for (int32_t k = 1; k <= steps && result == SUPPLE_OK && !(f->lost && f->anew); k++) {
        spl_pose_path_take(&f->path, (double)k / steps);
        memcpy(f->goal, f->x, coordinates(f) * sizeof *f->x);
        spl_solid_carry(&f->path.solid, &f->path.last, f->goal, f->pool);
        f->still = !f->fresh && f->still && farthest(f, false) <= ARRIVED * f->solid->diagonal;
        spl_drive_hold(&f->path.solid.drive, f->held, f->goal);
        if (!f->still) result = go(f, error);
        if (result == SUPPLE_OK) result = spl_barrier_take_back(f->barrier, f->x, f->crossing, left, error);
    }
    return result;
}

static bool any_crossing(const spl_feasible *f)
{
    int32_t n = f->surface.surface.bone_count, k = 0;
    while (k < n * n && !f->crossing[k]) k++;
    return k < n * n;
}

/* Flesh that stays entangled where its bones have come out of each other comes anew: from the bind pose, where nothing
 * crosses, straight to this one. Tried in the first frame, and then less and less often. */
static supple_result come_anew(spl_feasible *f, int32_t *left, supple_error *error)
{
    int32_t again = 0;
    if (any_crossing(f) || f->tangled_frames++ < f->next_try) return SUPPLE_OK;
    f->next_try = f->next_try >= MOST_WAIT ? f->next_try + MOST_WAIT : 2 * f->next_try + 1;
    memcpy(f->kept, f->x, coordinates(f) * sizeof *f->x);
    spl_barrier_keep(f->barrier, f->kept_ease);
    memcpy(f->x, f->solid->drive.rest, coordinates(f) * sizeof *f->x);
    spl_pose_path_reset(&f->path);
    spl_barrier_restore(f->barrier, f->ones);
    f->anew = true;
    f->lost = false;
    supple_result result = travel(f, &again, error);
    f->anew = !f->lost && again == 0 && spl_barrier_released_count(f->barrier) == 0;
    if (f->anew) {
        *left = 0;
        f->fresh = true;
        return result;
    }
    spl_pose_path_take(&f->path, 1);
    memcpy(f->x, f->kept, coordinates(f) * sizeof *f->x);
    spl_barrier_restore(f->barrier, f->kept_ease);
    return result;
}

supple_result spl_feasible_begin(spl_feasible *f, bool moving, supple_error *error)
{
    int32_t left = 0;
    f->moving = moving;
    f->missing = 0;
    f->has_list = f->anew = f->lost = false;
    f->fresh = !f->begun;
    f->begun = true;
    f->still = true;
    supple_result result = travel(f, &left, error);
    if (result == SUPPLE_OK && left > 0) result = disentangle(f, &left, error);
    if (result == SUPPLE_OK && left > 0) result = come_anew(f, &left, error);
    if (left == 0) f->tangled_frames = f->next_try = 0;
    if (result == SUPPLE_OK) result = let_go(f, error);
    f->tangles = left;
    if (!moving || f->anew) spl_pressed_forget(&f->pressed);
    if (result == SUPPLE_OK && moving) spl_pressed_place(&f->pressed, f->x);
    return result;
}

/* ---- contacts ---- */

static bool has_room(spl_feasible *f, int32_t count)
{
    if (count <= f->meeting_room) return true;
    spl_meeting *more = spl_resize(&f->allocator, f->meeting, (size_t)count + (size_t)count / 2, sizeof *more);
    if (!more) return false;
    f->meeting = more;
    f->meeting_room = count + count / 2;
    return true;
}

static spl_vec3 between(const double w[4], const int32_t v[4], const double *x)
{
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (int k = 0; k < 4; k++) {
        const double *p = x + 3 * (size_t)v[k];
        sum = spl_madd(sum, spl_v3(p[0], p[1], p[2]), w[k]);
    }
    return sum;
}

/* Whether a pair meets at x, as its places in the state say. */
static bool meeting_of(const spl_feasible *f, const spl_potential *p, const double *x, double more, spl_meeting *out)
{
    double corner[4][3];
    if (p->pair.kind != SPL_PAIR_POINT_TRIANGLE || !(p->width > 0) || f->held[p->pair.v[0]] >= 0) return false;
    spl_barrier_corners(&p->pair, f->x, corner);
    spl_nearest near = spl_pair_nearest(SPL_PAIR_POINT_TRIANGLE, corner);
    double distance = sqrt(near.square);
    if (!(distance > 0)) return false;
    out->normal = spl_scale(between(near.w, p->pair.v, f->x), 1 / distance);
    out->depth = p->offset - spl_dot(out->normal, between(near.w, p->pair.v, x));
    out->offset = p->offset;
    out->vertex = p->pair.v[0];
    for (int k = 0; k < 3; k++) {
        out->corner[k] = p->pair.v[k + 1];
        out->bary[k] = -near.w[k + 1];
    }
    return out->depth > -more;
}

/* Whether pairs that were sought serve for another x. */
static bool serves(const spl_feasible *f, const double *x)
{
    double most = 0;
    for (size_t k = 0; f->has_list && k < coordinates(f); k += 3) {
        double square = 0;
        for (size_t c = k; c < k + 3; c++) square += (x[c] - f->listed[c]) * (x[c] - f->listed[c]);
        most = square <= most ? most : square; /* what is no number stays */
    }
    return f->has_list && 2 * sqrt(most) <= SPARE * f->barrier->edge_mean;
}

/* Pairs of points and triangles that may meet from the state to x, or to one near it. A frame asks again and again as
 * its answer settles: searches are few. */
static bool list_pairs(spl_feasible *f, const double *x)
{
    spl_barrier *b = f->barrier;
    bool served = serves(f, x);
    set_step(f, x);
    if (served) return true;
    f->has_list = spl_barrier_seek_around(b, f->x, f->step, SPARE * b->edge_mean, true, NULL) == SUPPLE_OK;
    if (!f->has_list || !has_room(f, b->count)) return false;
    memcpy(f->listed, x, coordinates(f) * sizeof *x);
    return true;
}

/* Whether the two may come within the barrier's width of touching at all. */
static bool comes_near(const spl_potential *p, const double from[4][3], const double d[4][3])
{
    double most = 0, distance = sqrt(spl_pair_nearest(SPL_PAIR_POINT_TRIANGLE, from).square);
    for (int k = 1; k < 4; k++) {
        double square = 0;
        for (int c = 0; c < 3; c++) square += (d[0][c] - d[k][c]) * (d[0][c] - d[k][c]);
        most = fmax(most, square);
    }
    return distance - p->offset - p->width <= sqrt(most);
}

int32_t spl_feasible_find(spl_feasible *f, const double *x, const double *more, const spl_meeting **list)
{
    const spl_barrier *b = f->barrier;
    int32_t count = 0;
    if (!list_pairs(f, x)) return -1;
    for (int32_t i = 0; i < b->count; i++) {
        double from[4][3], d[4][3];
        const spl_potential *p = &b->potential[i];
        double push = more[p->pair.v[0]];
        if (!meeting_of(f, p, x, push, &f->meeting[count])) continue;
        spl_barrier_corners(&p->pair, f->x, from);
        spl_barrier_corners(&p->pair, f->step, d);
        count += push > 0 ? comes_near(p, from, d) : spl_barrier_bound(b, p, from, d, PAST, 1) < 1;
    }
    *list = f->meeting;
    return count;
}

/* Flesh that came out on the wrong side of something has no way to its place. Where nothing crosses there, it is put
 * there. */
static supple_result leap(spl_feasible *f, supple_error *error)
{
    bool free;
    bool stuck = f->tangles > 0 || farthest(f, false) > LOST * f->barrier->edge_mean;
    return stuck ? try_goal(f, &free, error) : SUPPLE_OK;
}

/* Bones that are deep in other flesh would push it before them for good. Of what is farther from its goal than flesh
 * gives way, the pairs that hold it back are released; *any if there are some. */
static supple_result release_stuck(spl_feasible *f, bool *any, supple_error *error)
{
    spl_barrier *b = f->barrier;
    const int32_t *bone = f->surface.surface.bone;
    double far = HOPELESS * b->edge_mean, corner[4][3];
    *any = false;
    if (farthest(f, false) < far) return SUPPLE_OK;
    supple_result result = spl_barrier_seek(b, f->x, NULL, error);
    for (int32_t i = 0; result == SUPPLE_OK && i < b->count; i++) {
        const spl_potential *p = &b->potential[i];
        double stuck = 0;
        spl_barrier_corners(&p->pair, f->x, corner);
        for (int k = 0; k < 12; k++)
            stuck = fmax(stuck, fabs(f->goal[3 * (size_t)p->pair.v[k / 3] + (size_t)(k % 3)] - corner[k / 3][k % 3]));
        if (stuck < far || !(p->width > 0)) continue;
        for (int k = 0; k < 4; k++)
            for (int q = 0; q < k; q++) {
                int32_t one = bone[p->pair.v[k]], other = bone[p->pair.v[q]];
                if (one == other || meet(f, one, other) || spl_barrier_released(b, one, other)) continue;
                spl_barrier_release(b, one, other, true);
                *any = true;
            }
    }
    return result;
}

/* Marks vertices where flesh touches, fading out through the flesh around. */
static void mark_touching(spl_feasible *f, const int32_t *vertex, const double *share, int32_t count)
{
    const spl_elements *e = &f->solid->elements;
    memset(f->touch, 0, (size_t)e->vertex_count * sizeof *f->touch);
    for (int32_t i = 0; i < count; i++)
        if (vertex[i] >= 0) f->touch[vertex[i]] = fmax(f->touch[vertex[i]], share[i]);
    for (int ring = 0; ring < FADE; ring++)
        for (int32_t k = 0; k < e->count; k++) {
            const int32_t *t = e->tet + 4 * (size_t)k;
            double most = 0;
            for (int i = 0; i < 4; i++) most = fmax(most, f->touch[t[i]]);
            for (int i = 0; i < 4; i++) f->touch[t[i]] = fmax(f->touch[t[i]], FADES * most);
        }
}

/* Where flesh touches, it goes only part of the way from where bones carried it: sets of contacts that come and go in
 * turn settle by that, and what snaps over does so in a few frames. */
void spl_feasible_damp(spl_feasible *f, const int32_t *vertex, const double *share, int32_t count, double *x)
{
    if (count == 0 || f->fresh) return;
    mark_touching(f, vertex, share, count);
    for (size_t k = 0; k < coordinates(f); k++)
        if (f->held[k / 3] < 0) x[k] -= DAMPED * f->touch[k / 3] * (x[k] - f->x[k]);
}

supple_result spl_feasible_end(spl_feasible *f, double *x, supple_error *error)
{
    memcpy(f->goal, x, coordinates(f) * sizeof *x);
    bool any = false;
    f->has_list = false;
    supple_result result = move(f, LAST_MOVES, error);
    if (result == SUPPLE_OK) result = release_stuck(f, &any, error);
    if (result == SUPPLE_OK && any) result = move(f, LAST_MOVES, error);
    if (result == SUPPLE_OK) result = leap(f, error);
    if (result == SUPPLE_OK) result = let_go(f, error);
    if (result == SUPPLE_OK) memcpy(x, f->x, coordinates(f) * sizeof *x);
    return result;
}

/* ---- for others ---- */

bool spl_feasible_anew(const spl_feasible *f)
{
    return f->anew;
}

spl_pressed *spl_feasible_pressed(spl_feasible *f)
{
    return f->moving ? &f->pressed : NULL;
}

bool spl_feasible_still(const spl_feasible *f)
{
    return f->still;
}

const double *spl_feasible_x(const spl_feasible *f)
{
    return f->x;
}

spl_barrier *spl_feasible_barrier(const spl_feasible *f)
{
    return f->barrier;
}

bool spl_feasible_tangled(const spl_feasible *f)
{
    return f->tangles > 0;
}

bool spl_feasible_released(const spl_feasible *f, int32_t vertex, const int32_t corner[3])
{
    const int32_t *bone = f->surface.surface.bone;
    for (int k = 0; k < 3; k++)
        if (spl_barrier_released(f->barrier, bone[vertex], bone[corner[k]])) return true;
    return false;
}

double spl_feasible_missing(const spl_feasible *f)
{
    return f->missing;
}
