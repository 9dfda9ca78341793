#include "contact/yield.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define LIMB_SHARE 0.12    /* of the body's vertices: chains that carry less are limbs: arms, not legs, which stand */
#define LONG_BONE  0.8     /* of a limb's longest: as long are those that it may turn about */
#define REACHES    0.18    /* of the body's diagonal: what is shorter, a head, is no limb */
#define LEVER      0.3     /* of a limb's reach: nearer to its joint nothing turns it */
#define ENOUGH     4.35e-4 /* of the body's diagonal: so deep a bone may be; a millimetre of a person */
#define STRAIGHT   1e-3    /* radians: a turn that is none */
#define MOST_ANGLE (SPL_YIELD_MOST_DEGREES * M_PI / 180)
#define LESS       0.6  /* of its last turn is tried first: where that is enough, a limb comes back */
#define LONG       0.25 /* seconds, after which nothing is remembered */

enum { ROUNDS = 6 };

/* A limb, at the bone that it turns about. */
typedef struct limb {
    spl_quat turn;  /* by how much it is turned, of the world */
    spl_quat kept;  /* the last pose's, as seen from the bone above the pivot */
    spl_vec3 rate;  /* how it changes, radians a second, as seen from there */
    spl_vec3 goal;  /* the turn that it should have had in the last pose, as a rotation vector, as seen from there */
    spl_vec3 side;  /* to which, of the world; 0: not yet */
    spl_vec3 leant; /* the last pose's, as seen from there */
    /* What pushes it in a round, of all its bones' vertices that are in other flesh: */
    double deepest;
    spl_vec3 first;     /* the deepest one's way out */
    double weight;      /* sum of depths */
    spl_vec3 way, from; /* sums of ways out, and of places, by depth */
} limb;

struct spl_yield {
    supple_allocator allocator;
    spl_solid *solid;
    spl_sunk *sunk;
    bool *apart;    /* by point of `sunk`: in other flesh at rest */
    int32_t *chain; /* by bone: the first bone of a chain that may yield, -1: it is of none */
    int32_t *limb;  /* by bone: the bone about whose joint its limb turns, -1: the trunk's */
    int32_t *rides; /* by node: the same of the limb that it turns with */
    double *reach;  /* by bone that limbs turn about: how far they reach from there, metres */
    double *share;  /* by bone: of the body's vertices, with all that hangs on it */
    limb *state;    /* by bone that limbs turn about */
    double most;
    bool posed; /* there was a pose since the last reset */
};

/* ---- limbs ---- */

/* Each bone's share of the body, with all that hangs on it; a chain may yield as far up as it carries little. */
static void find_chains(spl_yield *y)
{
    const spl_bones *bones = &y->solid->body->bones;
    int32_t n = y->solid->body->tets.vertex_count;
    for (int32_t v = 0; v < n; v++) y->share[spl_sunk_bone(y->sunk, v)] += 1.0 / n;
    for (int32_t b = bones->bone_count - 1; b >= 0; b--) /* children first */
        if (bones->bone[b].parent >= 0) y->share[bones->bone[b].parent] += y->share[b];
    for (int32_t b = 0; b < bones->bone_count; b++) {
        int32_t parent = bones->bone[b].parent, above = parent >= 0 ? y->chain[parent] : -1;
        y->chain[b] = above >= 0 ? above : y->share[b] < LIMB_SHARE && parent >= 0 ? b : -1;
    }
}

static double length_of(const spl_yield *y, int32_t bone)
{
    const spl_bone *b = &y->solid->body->bones.bone[bone];
    return spl_distance(b->head, b->tail) * y->solid->body->metre;
}

/* What all bones at a joint belong to (`of`: by bone); -1: not all to one. A chest has one bone for each shoulder and
 * one for the neck: that to the neck is of the head's chain, but to turn the chest's joint would turn both arms. */
static int32_t joint_of(const spl_yield *y, const int32_t *of, int32_t node)
{
    const spl_bones *bones = &y->solid->body->bones;
    int32_t all = -1;
    bool any = false;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        if (bones->bone[b].node != node) continue;
        if (any && of[b] != all) return -1;
        all = of[b];
        any = true;
    }
    return all;
}

/* A chain turns about the head of its first long bone whose joint is all its own: a shoulder rather than a collar bone,
 * an elbow or a wrist. -1: it has none. */
static int32_t pivot_of(const spl_yield *y, int32_t first)
{
    const spl_bones *bones = &y->solid->body->bones;
    int32_t pivot = -1;
    double longest = 0;
    for (int32_t b = first; b < bones->bone_count; b++)
        if (joint_of(y, y->chain, bones->bone[b].node) == first) longest = fmax(longest, length_of(y, b));
    for (int32_t b = bones->bone_count - 1; b >= first; b--)
        if (joint_of(y, y->chain, bones->bone[b].node) == first && length_of(y, b) >= LONG_BONE * longest) pivot = b;
    return pivot;
}

/* A chain's limb is what hangs on its pivot's joint; what is above is the trunk's. What is short, a head, is no limb.
 */
static void settle_limb(spl_yield *y, int32_t first)
{
    const spl_bones *bones = &y->solid->body->bones;
    int32_t pivot = pivot_of(y, first), count = bones->bone_count;
    if (pivot < 0) return;
    for (int32_t b = first; b < count; b++) { /* parents before children */
        int32_t parent = bones->bone[b].parent;
        bool hangs = bones->bone[b].node == bones->bone[pivot].node || (parent >= 0 && y->limb[parent] == pivot);
        if (!hangs) continue;
        y->limb[b] = pivot;
        y->reach[pivot] = fmax(y->reach[pivot], spl_distance(bones->bone[pivot].head, bones->bone[b].tail));
    }
    y->reach[pivot] *= y->solid->body->metre;
    for (int32_t b = first; y->reach[pivot] <= REACHES * y->solid->diagonal && b < count; b++)
        if (y->limb[b] == pivot) y->limb[b] = -1;
}

/* Nodes turn with the limb that carries their flesh, copies of a skeleton alike; those without flesh with what they
 * hang on. */
static void find_riders(spl_yield *y)
{
    const spl_body *body = y->solid->body;
    for (int32_t i = 0; i < body->scene->node_count; i++) { /* parents before children */
        int32_t k = body->scene->node_order[i], parent = body->scene->node[k].parent, into = body->bones.merged_into[k];
        y->rides[k] = into >= 0 ? joint_of(y, y->limb, into) : parent >= 0 ? y->rides[parent] : -1;
    }
}

static void find_limbs(spl_yield *y)
{
    int32_t count = y->solid->body->bones.bone_count;
    find_chains(y);
    for (int32_t b = 0; b < count; b++) y->limb[b] = -1;
    for (int32_t b = 0; b < count; b++)
        if (y->chain[b] == b) settle_limb(y, b);
    find_riders(y);
}

/* ---- which bones are where ---- */

/* Whether a bone's vertex may be in a tet: a limb's in the trunk or the trunk's in a limb, and not near. Two limbs do
 * not turn each other aside: hands that cross had to decide who goes first, and snapped past each other. */
static bool accept(const void *context, int32_t point, int32_t tet)
{
    const spl_yield *y = context;
    const spl_sunk *s = y->sunk;
    int32_t bone = y->solid->body->bone[s->vertex[point]], count = y->solid->body->bones.bone_count;
    if (y->apart[point]) return false;
    for (size_t k = 0; k < 4; k++) {
        int32_t other = spl_sunk_bone(s, s->near->shell->tet[4 * (size_t)tet + k]);
        if (s->close[bone * count + other]) return false;
        if ((y->limb[bone] < 0) == (y->limb[other] < 0)) return false;
    }
    return true;
}

/* ---- creation ---- */

static supple_result take_bones(spl_yield *y, supple_error *error)
{
    const supple_allocator *a = &y->allocator;
    size_t n = (size_t)y->solid->body->bones.bone_count, nodes = (size_t)y->solid->body->scene->node_count;
    y->apart = spl_new(a, (size_t)y->sunk->point_count, sizeof *y->apart);
    y->chain = spl_new(a, n, sizeof *y->chain);
    y->limb = spl_new(a, n, sizeof *y->limb);
    y->rides = spl_new(a, nodes, sizeof *y->rides);
    y->reach = spl_new(a, n, sizeof *y->reach);
    y->share = spl_new(a, n, sizeof *y->share);
    y->state = spl_new(a, n, sizeof *y->state);
    if (!y->apart || !y->chain || !y->limb || !y->rides || !y->reach || !y->share || !y->state)
        return spl_fail_memory(error, "the limbs that yield");
    find_limbs(y);
    return SUPPLE_OK;
}

supple_result spl_yield_create(spl_solid *solid, spl_sunk *sunk, const supple_config *config, spl_pool *pool,
                               spl_yield **out, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    spl_yield *y = spl_new(&a, 1, sizeof *y);
    *out = NULL;
    if (!y) return spl_fail_memory(error, "the limbs that yield");
    y->allocator = a;
    y->solid = solid;
    y->sunk = sunk;
    supple_result result = take_bones(y, error);
    if (result != SUPPLE_OK) {
        spl_yield_destroy(y);
        return result;
    }
    spl_sunk_hit(sunk, solid->drive.rest, accept, y, pool);
    for (int32_t i = 0; i < sunk->hits.pair_count; i++) y->apart[sunk->hits.pair[i].point] = true;
    spl_yield_reset(y);
    *out = y;
    return SUPPLE_OK;
}

void spl_yield_destroy(spl_yield *y)
{
    if (!y) return;
    supple_allocator a = y->allocator;
    void *own[] = {y->apart, y->chain, y->limb, y->rides, y->reach, y->share, y->state, y};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) spl_free(&a, own[i]);
}

void spl_yield_reset(spl_yield *y)
{
    for (int32_t b = 0; b < y->solid->body->bones.bone_count; b++)
        y->state[b] = (limb){.turn = spl_quat_identity(), .kept = spl_quat_identity()};
    y->most = 0;
    y->posed = false;
}

/* ---- what pushes ---- */

/* Whether a place is the limb's of a bone to move: far enough from the joint that it turns about. */
static bool has_lever(const spl_yield *y, int32_t bone, spl_vec3 at)
{
    int32_t pivot = y->limb[bone];
    if (pivot < 0) return false;
    return spl_distance(at, spl_drive_joint(&y->solid->drive, pivot)) > LEVER * y->reach[pivot];
}

static void add_deepest(spl_yield *y, int32_t bone, spl_vec3 at, spl_vec3 way)
{
    if (!has_lever(y, bone, at)) return;
    limb *l = &y->state[y->limb[bone]];
    double depth = spl_norm(way);
    if (!(depth > l->deepest)) return;
    l->deepest = depth;
    l->first = way;
}

/* Ways out to the other side do not count: what is flat has two, and a limb has to decide. */
static void add_push(spl_yield *y, int32_t bone, spl_vec3 at, spl_vec3 way)
{
    if (!has_lever(y, bone, at)) return;
    limb *l = &y->state[y->limb[bone]];
    double depth = spl_norm(way);
    if (!(spl_dot(way, l->side) > 0)) return;
    l->weight += depth;
    l->way = spl_madd(l->way, way, depth);
    l->from = spl_madd(l->from, at, depth);
}

/* What pushes the limbs; the deepest vertex's depth. */
static double find_pushes(spl_yield *y)
{
    int32_t count = y->solid->body->bones.bone_count;
    const int32_t *bone = y->solid->body->bone;
    const spl_sunk *s = y->sunk;
    double deepest = 0;
    for (int32_t b = 0; b < count; b++) {
        y->state[b].deepest = y->state[b].weight = 0;
        y->state[b].way = y->state[b].from = spl_v3(0, 0, 0);
    }
    for (int32_t i = 0; i < s->point_count; i++) {
        deepest = fmax(deepest, spl_norm(s->way[i]));
        if (s->way[i].x == 0 && s->way[i].y == 0 && s->way[i].z == 0) continue;
        add_deepest(y, bone[s->vertex[i]], s->position[i], s->way[i]);
        add_deepest(y, s->other[i], s->position[i], spl_scale(s->way[i], -1));
    }
    for (int32_t b = 0; b < count; b++)
        if (y->state[b].deepest > 0 && spl_dot(y->state[b].side, y->state[b].side) == 0)
            y->state[b].side = spl_scale(y->state[b].first, 1 / y->state[b].deepest);
    for (int32_t i = 0; i < s->point_count; i++) {
        if (s->way[i].x == 0 && s->way[i].y == 0 && s->way[i].z == 0) continue;
        add_push(y, bone[s->vertex[i]], s->position[i], s->way[i]);
        add_push(y, s->other[i], s->position[i], spl_scale(s->way[i], -1));
    }
    return deepest;
}

/* ---- turning ---- */

/* Turns a limb's nodes, and what hangs on them, about its joint; nothing else. */
static void turn_nodes(const spl_yield *y, spl_pose *pose, int32_t pivot, spl_quat q)
{
    const spl_body *body = y->solid->body;
    const double *at = pose->world[body->bones.bone[pivot].node].m + 12;
    spl_vec3 centre = spl_v3(at[0], at[1], at[2]);
    spl_mat3 R = spl_quat_to_mat3(q);
    spl_mat4 m = spl_mat3_affine(&R, spl_sub(centre, spl_mat3_apply(&R, centre)));
    for (int32_t k = 0; k < body->scene->node_count; k++)
        if (y->rides[k] == pivot) pose->world[k] = spl_mat4_mul(&m, &pose->world[k]);
}

static void add_turn(spl_yield *y, spl_pose *pose, int32_t pivot, spl_quat q)
{
    turn_nodes(y, pose, pivot, q);
    y->state[pivot].turn = spl_quat_mul(q, y->state[pivot].turn);
}

static double angle_of(spl_quat q)
{
    return 2 * atan2(spl_norm(spl_v3(q.x, q.y, q.z)), fabs(q.w));
}

/* Turns a limb by the least rotation that moves where it is pushed by as much as the mean of its ways out, weighted by
 * their depths. True if it has turned. */
static bool turn_limb(spl_yield *y, spl_pose *pose, int32_t pivot)
{
    const limb *l = &y->state[pivot];
    if (!(l->weight > 0)) return false;
    spl_vec3 arm = spl_sub(spl_scale(l->from, 1 / l->weight), spl_drive_joint(&y->solid->drive, pivot));
    spl_vec3 axis = spl_cross(arm, spl_scale(l->way, 1 / l->weight));
    double length = spl_dot(arm, arm), angle = length > 0 ? spl_norm(axis) / length : 0;
    angle = fmin(angle, MOST_ANGLE - angle_of(l->turn));
    if (!(angle > 1e-6)) return false;
    add_turn(y, pose, pivot, spl_quat_axis_angle(spl_unit(axis, spl_v3(0, 1, 0)), angle));
    return true;
}

/* ---- memory ---- */

/* The rotation of what a limb hangs on. */
static spl_quat above(const spl_yield *y, int32_t pivot)
{
    int32_t parent = y->solid->body->bones.bone[pivot].parent;
    return parent >= 0 ? y->solid->drive.turn[parent] : spl_quat_identity();
}

static spl_vec3 rotation_vector(spl_quat q)
{
    spl_vec3 axis;
    double angle = spl_quat_to_axis_angle(q, &axis);
    if (angle > M_PI) angle -= 2 * M_PI;
    return spl_scale(axis, angle);
}

static spl_quat quat_of(spl_vec3 rotation)
{
    double angle = spl_norm(rotation);
    if (!(angle > 1e-9)) return spl_quat_identity();
    return spl_quat_axis_angle(spl_scale(rotation, 1 / angle), fmin(angle, MOST_ANGLE));
}

/* Turns limbs as they would be by now, but less. True if any is turned. */
static bool recall(spl_yield *y, spl_pose *pose, double elapsed)
{
    bool any = false;
    for (int32_t b = 0; b < y->solid->body->bones.bone_count; b++) {
        limb *l = &y->state[b];
        l->turn = spl_quat_identity();
        l->side = spl_v3(0, 0, 0);
        if (y->limb[b] != b || angle_of(l->kept) == 0) continue;
        spl_quat up = above(y, b);
        spl_quat q = quat_of(spl_scale(spl_madd(rotation_vector(l->kept), l->rate, elapsed), LESS));
        if (angle_of(q) < STRAIGHT) continue;
        l->side = spl_quat_rotate(up, l->leant);
        add_turn(y, pose, b, spl_quat_mul(spl_quat_mul(up, q), spl_quat_conjugate(up)));
        any = true;
    }
    return any;
}

/* A limb comes to the turn it should have, seen from above, without a start or a stop that shows: x'' = w^2 (goal - x)
 * - 2 w x', solved in closed form for a goal that moves evenly from the last pose's to this one's, so that it is nearly
 * the same at any rate of frames. */
static spl_quat ease(limb *l, spl_vec3 wanted, double elapsed)
{
    const double w = SPL_YIELD_EASE;
    spl_vec3 speed = elapsed > 0 ? spl_scale(spl_sub(wanted, l->goal), 1 / elapsed) : spl_v3(0, 0, 0);
    spl_vec3 lag = spl_scale(speed, -2 / w); /* behind a goal that moves */
    spl_vec3 x = spl_sub(rotation_vector(l->kept), spl_add(elapsed > 0 ? l->goal : wanted, lag));
    spl_vec3 rate = spl_sub(l->rate, speed), pull = spl_madd(rate, x, w);
    double decay = exp(-w * elapsed);
    x = spl_scale(spl_madd(x, pull, elapsed), decay);
    l->rate = spl_madd(speed, spl_madd(rate, pull, -w * elapsed), decay);
    l->goal = wanted;
    return quat_of(spl_add(spl_add(wanted, lag), x));
}

/* Keeps the turns for the next pose; eased first, if there was one before. True if that turned a limb. */
static bool keep(spl_yield *y, spl_pose *pose, bool eased, double elapsed)
{
    bool any = false;
    y->most = 0;
    for (int32_t b = 0; b < y->solid->body->bones.bone_count; b++) {
        limb *l = &y->state[b];
        if (y->limb[b] != b) continue;
        spl_quat up = above(y, b), down = spl_quat_conjugate(up);
        spl_quat wanted = spl_quat_mul(spl_quat_mul(down, l->turn), up);
        spl_quat turn = eased ? ease(l, rotation_vector(wanted), elapsed) : wanted;
        spl_quat more = spl_quat_mul(spl_quat_mul(spl_quat_mul(up, turn), down), spl_quat_conjugate(l->turn));
        if (!eased) {
            l->rate = spl_v3(0, 0, 0);
            l->goal = rotation_vector(wanted);
        }
        l->kept = turn;
        l->leant = spl_quat_rotate(down, l->weight > 0 ? spl_unit(l->way, l->side) : l->side);
        if (angle_of(more) > 1e-6) {
            add_turn(y, pose, b, more);
            any = true;
        }
        y->most = fmax(y->most, angle_of(l->turn));
    }
    return any;
}

supple_result spl_yield_pose(spl_yield *y, spl_pose *pose, double elapsed, spl_pool *pool, supple_error *error)
{
    spl_solid *s = y->solid;
    supple_result result = spl_drive_pose(&s->drive, pose, error);
    bool remembers = y->posed && elapsed >= 0 && elapsed < LONG;
    if (!remembers) spl_yield_reset(y);
    if (result == SUPPLE_OK && recall(y, pose, elapsed)) result = spl_drive_pose(&s->drive, pose, error);
    for (int round = 0; result == SUPPLE_OK && round < ROUNDS; round++) {
        bool turned = false;
        if (!spl_sunk_find(y->sunk, accept, y, pool)) break;
        if (find_pushes(y) < ENOUGH * y->solid->diagonal) break;
        for (int32_t b = 0; b < s->body->bones.bone_count; b++)
            if (y->limb[b] == b) turned = turn_limb(y, pose, b) || turned;
        if (!turned) break;
        result = spl_drive_pose(&s->drive, pose, error);
    }
    if (result != SUPPLE_OK) return result;
    y->posed = true;
    return keep(y, pose, remembers, elapsed) ? spl_drive_pose(&s->drive, pose, error) : SUPPLE_OK;
}

void spl_yield_turn(const spl_yield *y, spl_pose *pose)
{
    for (int32_t b = 0; b < y->solid->body->bones.bone_count; b++)
        if (y->limb[b] == b && angle_of(y->state[b].turn) > 0) turn_nodes(y, pose, b, y->state[b].turn);
}

double spl_yield_angle(const spl_yield *y)
{
    return y->most;
}
