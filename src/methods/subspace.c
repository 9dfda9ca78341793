/* Multi-domain subspace deformation: plays a trained model (multi-domain paper; src/subspace, docs/subspace.md). What
 * is left to do here: frames from bones, how they move, and vertices from coordinates. */
#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "methods/method.h"
#include "subspace/frame.h"
#include "subspace/motion.h"
#include "subspace/samples.h"

#include <string.h>

enum {
    P_FST,
    P_DAMPING,
    P_NEWTON,
    P_TOLERANCE,
    P_KAPPA,
    P_KAPPA_D,
    P_ALPHA,
    P_BETA,
    P_GAP,
    P_CONTACT,
    P_CONTACT_MOST,
    P_SELF,
    P_SELF_MOST,
    P_SMOOTH,
    P_RHO,
    P_PRECISION,
    V_GAP = 0,
    V_OUTSIDE,
    V_COUPLING,
    V_CUBATURE,
    V_CHOLESKY,
    V_READ,
    V_DROPPED,
    V_PENETRATION,
    VALUES,
    PAST = 2, /* frames before the present one that are remembered */
};

static const spl_parameter PARAMETERS[] = {
    [P_FST] = {"fst", "", 0, 0, 1, "forces between domains by sandwich transforms, or vertex by vertex", "on|off"},
    [P_DAMPING] = {"damping", "", 0, 0, 1, "of the springs between domains: relative motion of the flesh, or all of it",
                   "relative|full"},
    [P_NEWTON] = {"iterations", "", 0, 0, 1000, "most Newton iterations of a step; 0: 3 in motion, else 12", NULL},
    [P_TOLERANCE] = {"tolerance", "", 1e-4, 1e-14, 0.1, "share of the forces at which a step ends", NULL},
    [P_KAPPA] = {"kappa", "", 20, 1e-3, 1e7, "stiffness of the springs between domains, times E / edge", NULL},
    [P_KAPPA_D] = {"kappa-d", "s", 5e-4, 0, 10, "their damping, times their stiffness", NULL},
    [P_ALPHA] = {"alpha", "1/s", 0.5, 0, 1e4, "Rayleigh damping by mass", NULL},
    [P_BETA] = {"beta", "s", 2e-3, 0, 10, "Rayleigh damping by stiffness", NULL},
    [P_GAP] = {"gap", "", 0, 0, 1, "measure how far domains part before seams are averaged", "off|on"},
    [P_CONTACT] = {"contact", "", 3000, 1e-3, 1e6, "stiffness of contacts with colliders, times E / edge by area",
                   NULL},
    [P_CONTACT_MOST] = {"contact-most", "", 256, 1, 1e6, "contacts of a domain at most; the deepest are kept", NULL},
    [P_SELF] = {"self", "", 1000, 1e-3, 1e6, "stiffness of contacts of flesh with flesh, times E / edge by area", NULL},
    [P_SELF_MOST] = {"self-most", "", 1024, 1, 1e6, "contacts of flesh with flesh at most; the deepest are kept", NULL},
    [P_SMOOTH] = {"smooth", "1/s", 15, 0, 1e4,
                  "faster swings of a clip's bones are noise that flesh does not feel; 0: all is felt", NULL},
    [P_RHO] = {"rho", "", 0.6, 0, 1, "what a step leaves of the fastest swings of flesh; 1: all of them", NULL},
    [P_PRECISION] = {"precision", "", 0, 0, 1, "of the flesh's forces: float from a tolerance of 1e-5 on, or double",
                     "float|double"},
};

typedef struct subspace {
    const spl_model *model;
    spl_player *player;
    spl_player_list *list;   /* the vertices to read: of the surface, or all */
    spl_frame_motion *frame; /* by domain: this step's */
    spl_frame *now;          /* by domain, and one more: the root's */
    spl_frame *past[PAST];   /* the same, of earlier steps, the last first */
    int32_t past_count;
    spl_vec3 *pivot;    /* by domain, and the root's */
    spl_track *track;   /* clips x (domains + 1); NULL without dynamics */
    int32_t **piece;    /* by clip: the tracks' pieces */
    int32_t clip_count; /* with tracks */
    double *force;      /* reduced, of pushes; NULL without */
    bool meets;         /* colliders, or flesh itself */
    supple_named_value value[VALUES];
} subspace;

/* ---- set-up ---- */

static supple_result check_model(const spl_method_context *c, supple_error *error)
{
    spl_key key = spl_character_key(c->solid);
    if (!c->model)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "method subspace plays a trained model: make one by `supple train IN -o IN.supple`, then give "
                        "--model IN.supple");
    if (memcmp(&key, &c->model->character, sizeof key) != 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "the model belongs to another character, or to other materials: train it again for this one");
    const spl_body *body = c->solid->body; /* a file says what it likes of its key */
    if (c->model->vertex_count != body->tets.vertex_count || c->model->tet_count != body->tets.tet_count ||
        c->model->rig.bone_count != body->bones.bone_count)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "the model is damaged: its body is not the character's");
    return SUPPLE_OK;
}

static supple_result make_list(subspace *s, const spl_method_context *c, supple_error *error)
{
    const spl_tets *tets = &c->solid->body->tets;
    size_t n = (size_t)tets->vertex_count;
    if (c->whole) return spl_player_list_create(s->player, NULL, 0, &s->list, error);
    int32_t *vertex = spl_new(c->allocator, n, sizeof *vertex), count = 0;
    bool *seen = spl_new(c->allocator, n, sizeof *seen);
    supple_result result = vertex && seen ? SUPPLE_OK : spl_fail_memory(error, "the surface");
    if (result == SUPPLE_OK) {
        for (size_t k = 0; k < 3 * (size_t)tets->surface_count; k++)
            seen[tets->surface[k]] = c->solid->body->bone[tets->surface[k]] < 0;
        for (size_t v = 0; v < n; v++)
            if (seen[v]) vertex[count++] = (int32_t)v;
        result = spl_player_list_create(s->player, vertex, count, &s->list, error);
    }
    spl_free(c->allocator, vertex);
    spl_free(c->allocator, seen);
    return result;
}

/* The domains' frames in a drive's pose, and the root bone's. */
static void take_frames(const subspace *s, const spl_drive *drive, spl_frame *out)
{
    int32_t n = s->model->domain_count;
    for (int32_t i = 0; i < n; i++) spl_domain_frame(drive, s->model->domain[i].bone, &out[i].R, &out[i].t);
    spl_domain_frame(drive, 0, &out[n].R, &out[n].t);
}

static void set_pivots(subspace *s, const spl_drive *drive)
{
    int32_t n = s->model->domain_count;
    for (int32_t i = 0; i <= n; i++) {
        const spl_bone *b = &drive->body->bones.bone[i < n ? s->model->domain[i].bone : 0];
        s->pivot[i] = spl_scale(spl_mat3_apply(&drive->stretch, spl_lerp(b->head, b->tail, 0.5)), drive->body->metre);
    }
}

/* Whether a frame takes what it holds farther than the body is long: no motion is that fast. */
static bool is_far(const subspace *s, const spl_method_context *c, int32_t i, const spl_frame *from,
                   const spl_frame *to)
{
    spl_vec3 a = spl_add(from->t, spl_mat3_apply(&from->R, s->pivot[i]));
    spl_vec3 b = spl_add(to->t, spl_mat3_apply(&to->R, s->pivot[i]));
    return !(spl_distance(a, b) <= c->solid->diagonal);
}

/* Where any of the frames jumps, all of them are cut. */
static bool cut_clip(subspace *s, const spl_method_context *c, int32_t clip, const spl_frame *grid, int32_t frames)
{
    int32_t n = s->model->domain_count + 1;
    bool *cut = spl_new(c->allocator, (size_t)frames, sizeof *cut);
    s->piece[clip] = spl_new(c->allocator, (size_t)frames, 2 * sizeof **s->piece);
    bool ok = cut && s->piece[clip];
    for (int32_t f = 0; ok && f + 1 < frames; f++)
        for (int32_t i = 0; i < n && !cut[f]; i++)
            cut[f] = is_far(s, c, i, &grid[(size_t)f * (size_t)n + (size_t)i],
                            &grid[(size_t)(f + 1) * (size_t)n + (size_t)i]);
    if (ok) spl_track_pieces(cut, frames, s->piece[clip]);
    spl_free(c->allocator, cut);
    return ok;
}

/* A spline through each domain's frames of one clip. */
static supple_result track_clip(subspace *s, const spl_method_context *c, int32_t clip, spl_pose *pose,
                                spl_drive *drive, supple_error *error)
{
    const spl_clip *k = &c->scene->clip[clip];
    int32_t n = s->model->domain_count + 1;
    double fps = k->fps > 0 ? k->fps : 30;
    int32_t frames = (int32_t)fmin(fmax(ceil(k->duration * fps), 1), 1e5) + 1;
    double dt = fmax(k->duration, 1e-3) / (frames - 1);
    spl_frame *grid = spl_new(c->allocator, (size_t)frames * (size_t)n, sizeof *grid);
    spl_frame *row = spl_new(c->allocator, (size_t)frames, sizeof *row);
    supple_result result = grid && row ? SUPPLE_OK : spl_fail_memory(error, "a clip's motion");
    spl_drive_reset(drive);
    for (int32_t f = 0; f < frames && result == SUPPLE_OK; f++) {
        spl_pose_sample(pose, c->scene, clip, f * dt);
        result = spl_drive_pose(drive, pose, error);
        take_frames(s, drive, grid + (size_t)f * (size_t)n);
    }
    if (result == SUPPLE_OK && !cut_clip(s, c, clip, grid, frames)) result = spl_fail_memory(error, "a clip's motion");
    for (int32_t i = 0; i < n && result == SUPPLE_OK; i++) {
        for (int32_t f = 0; f < frames; f++) row[f] = grid[(size_t)f * (size_t)n + (size_t)i];
        result = spl_track_create(row, frames, dt, c->parameter[P_SMOOTH], s->pivot[i], s->piece[clip], c->allocator,
                                  &s->track[clip * n + i], error);
    }
    spl_free(c->allocator, grid);
    spl_free(c->allocator, row);
    return result;
}

static supple_result make_tracks(subspace *s, const spl_method_context *c, supple_error *error)
{
    size_t n = (size_t)s->model->domain_count + 1, clips = (size_t)c->scene->clip_count;
    spl_pose pose = {0};
    spl_drive drive = {0};
    s->track = spl_new(c->allocator, clips * n, sizeof *s->track);
    s->piece = spl_new(c->allocator, clips, sizeof *s->piece);
    if (!s->track || !s->piece) return spl_fail_memory(error, "the clips' motion");
    supple_result result = spl_pose_init(&pose, c->scene, error);
    if (result == SUPPLE_OK) result = spl_drive_create(c->solid->body, c->allocator, &drive, error);
    drive.spread = c->solid->drive.spread;
    for (int32_t k = 0; k < c->scene->clip_count && result == SUPPLE_OK; k++) {
        s->clip_count = k + 1;
        if (!c->scene->clip[k].sample) result = track_clip(s, c, k, &pose, &drive, error);
    }
    spl_pose_release(&pose);
    if (drive.allocator.release) spl_drive_release(&drive);
    return result;
}

static supple_result subspace_init(void *state, const spl_method_context *c, supple_error *error)
{
    static const char *const names[VALUES] = {"seam_gap",         "outside_training", "ms_coupling",
                                              "ms_cubature",      "ms_cholesky",      "ms_read",
                                              "contacts_dropped", "world_penetration"};
    subspace *s = state;
    double start = spl_now_ms();
    supple_result result = check_model(c, error);
    if (result != SUPPLE_OK) return result;
    const double *p = c->parameter;
    spl_player_options o = spl_player_options_default();
    o.fst = p[P_FST] == 0;
    o.full_damping = p[P_DAMPING] != 0;
    o.newton = (int32_t)p[P_NEWTON];
    o.tolerance = p[P_TOLERANCE];
    o.kappa = p[P_KAPPA];
    o.kappa_d = p[P_KAPPA_D];
    o.alpha = p[P_ALPHA];
    o.beta = p[P_BETA];
    o.rho = p[P_RHO];
    o.single = p[P_PRECISION] == 0;
    o.contact = c->colliders ? p[P_CONTACT] : 0;
    o.contact_most = (int32_t)p[P_CONTACT_MOST];
    o.clash = c->collide & SUPPLE_COLLIDE_SELF ? p[P_SELF] : 0;
    o.clash_most = (int32_t)p[P_SELF_MOST];
    s->meets = c->colliders || o.clash > 0;
    s->model = c->model;
    size_t n = (size_t)s->model->domain_count;
    for (int i = 0; i < VALUES; i++) s->value[i] = (supple_named_value){names[i], NAN};
    result = spl_player_create(s->model, &o, c->pool, c->allocator, &s->player, error);
    if (result == SUPPLE_OK) result = make_list(s, c, error);
    if (result != SUPPLE_OK) return result;
    s->frame = spl_new(c->allocator, n, sizeof *s->frame);
    s->now = spl_new(c->allocator, n + 1, sizeof *s->now);
    s->pivot = spl_new(c->allocator, n + 1, sizeof *s->pivot);
    s->force = spl_new(c->allocator, (size_t)spl_player_size(s->player), sizeof *s->force);
    bool made = s->frame && s->now && s->pivot && s->force;
    for (int k = 0; k < PAST; k++) made = (s->past[k] = spl_new(c->allocator, n + 1, sizeof *s->now)) && made;
    if (!made) return spl_fail_memory(error, "the domains");
    set_pivots(s, &c->solid->drive);
    if (c->dynamics) result = make_tracks(s, c, error);
    c->setup->ms_factor = spl_now_ms() - start;
    return result;
}

static void subspace_release(void *state, const spl_method_context *c)
{
    subspace *s = state;
    size_t n = s->model ? (size_t)s->model->domain_count + 1 : 0;
    for (size_t k = 0; s->track && k < (size_t)s->clip_count * n; k++) spl_track_release(&s->track[k]);
    for (int32_t k = 0; s->piece && k < s->clip_count; k++) spl_free(c->allocator, s->piece[k]);
    spl_player_list_destroy(s->list);
    spl_player_destroy(s->player);
    spl_free(c->allocator, s->track);
    spl_free(c->allocator, s->piece);
    spl_free(c->allocator, s->frame);
    spl_free(c->allocator, s->now);
    for (int k = 0; k < PAST; k++) spl_free(c->allocator, s->past[k]);
    spl_free(c->allocator, s->pivot);
    spl_free(c->allocator, s->force);
}

static void subspace_reset(void *state)
{
    subspace *s = state;
    s->past_count = 0;
    spl_player_reset(s->player);
}

/* ---- a step ---- */

/* A frame as the root sees it. */
static spl_frame from_root(const spl_frame *root, const spl_frame *f)
{
    spl_mat3 inverse = spl_mat3_transpose(&root->R);
    return (spl_frame){spl_mat3_mul(&inverse, &f->R), spl_mat3_apply(&inverse, spl_sub(f->t, root->t))};
}

/* A clip that is no cycle stands still before its start and behind its end. */
static spl_frame track_at(const spl_method_context *c, const spl_track *track, const spl_track *root, double offset)
{
    double time = c->time + offset, length = (track->count - 1) * track->dt;
    if (c->loop && !(time >= 0 && time <= length)) return spl_track_cycle_at(track, root, time);
    return spl_track_near(track, c->time, offset);
}

/* The tracks of the clip at hand; NULL where the future is not known. */
static const spl_track *tracks_of(const subspace *s, const spl_method_context *c)
{
    if (c->clip < 0 || c->clip >= s->clip_count) return NULL;
    const spl_track *track = &s->track[c->clip * (s->model->domain_count + 1)];
    return track->count > 0 ? track : NULL; /* a vertex animation has no bones */
}

/* How the i-th frame moves: centrally along a clip's spline, by past frames where the future is not known. */
static spl_frame_motion motion_of(const subspace *s, const spl_method_context *c, int32_t i, const spl_frame *root)
{
    int32_t n = s->model->domain_count;
    const spl_track *track = tracks_of(s, c);
    spl_frame f[3];
    int32_t count = track ? 3 : s->past_count + 1;
    for (int32_t k = 0; k < count; k++) {
        double offset = k == 0 ? 0 : k == 1 ? -c->dt : c->dt;
        f[k] = track ? track_at(c, &track[i], &track[n], offset) : k == 0 ? s->now[i] : s->past[k - 1][i];
        if (!root) continue;
        spl_frame r = track ? track_at(c, &track[n], &track[n], offset) : k == 0 ? s->now[n] : s->past[k - 1][n];
        f[k] = from_root(&r, &f[k]);
    }
    spl_frame_motion m = track ? spl_motion_central(&f[1], &f[0], &f[2], c->dt, s->pivot[i])
                               : spl_motion_backward(f + 1, count - 1, &f[0], c->dt, s->pivot[i]);
    if (root) {
        m.v = spl_mat3_apply(&root->R, m.v);
        m.a = spl_mat3_apply(&root->R, m.a);
    }
    return m;
}

/* What the root's motion does counts by `share`: the rest of it is as if the world moved along. */
static void set_motion(const subspace *s, const spl_method_context *c, int32_t i, double share)
{
    spl_frame_motion *m = &s->frame[i];
    *m = motion_of(s, c, i, NULL);
    if (share < 1) {
        spl_frame_motion r = motion_of(s, c, i, &s->now[s->model->domain_count]);
        m->v = spl_lerp(r.v, m->v, share);
        m->a = spl_lerp(r.a, m->a, share);
        m->omega = spl_lerp(r.omega, m->omega, share);
        m->alpha = spl_lerp(r.alpha, m->alpha, share);
    }
    m->R = s->now[i].R;
    m->t = s->now[i].t;
}

/* Whether the pose has jumped in this step: what the flesh did before says nothing about it afterwards. */
static bool has_jumped(const subspace *s, const spl_method_context *c)
{
    const spl_track *track = tracks_of(s, c);
    if (!(c->dt > 0)) return false;
    if (track) return spl_track_jumps(track, c->time - c->dt, c->time);
    for (int32_t i = 0; s->past_count > 0 && i < s->model->domain_count; i++)
        if (is_far(s, c, i, &s->past[0][i], &s->now[i])) return true;
    return false;
}

/* The frames and how they move; returns the step's length, 0 where it starts anew. */
static double set_frames(subspace *s, const spl_method_context *c)
{
    take_frames(s, &c->solid->drive, s->now);
    bool jumped = has_jumped(s, c);
    if (jumped) spl_player_reset(s->player);
    for (int32_t i = 0; i < s->model->domain_count; i++) {
        if (c->dt > 0 && !jumped)
            set_motion(s, c, i, c->root_inertia);
        else
            s->frame[i] = spl_motion_still(&s->now[i]);
    }
    return jumped ? 0 : c->dt;
}

static void keep_frames(subspace *s, double dt)
{
    spl_frame *last = s->past[PAST - 1];
    memmove(s->past + 1, s->past, (PAST - 1) * sizeof *s->past);
    s->past[0] = last;
    memcpy(last, s->now, ((size_t)s->model->domain_count + 1) * sizeof *last);
    s->past_count = dt > 0 ? s->past_count + (s->past_count < PAST) : 1;
}

/* U^T R^T f of forces on vertices; copies of a vertex share by their masses' part of it. */
static const double *push(subspace *s, const spl_method_context *c)
{
    double *out = s->force;
    if (!c->pushed || !c->solid->force) return NULL;
    memset(out, 0, (size_t)spl_player_size(s->player) * sizeof *out);
    for (int32_t i = 0; i < s->model->domain_count; i++) {
        const spl_model_domain *d = &s->model->domain[i];
        spl_mat3 inverse = spl_mat3_transpose(&s->frame[i].R);
        for (int32_t k = 0; k < d->vertex_count; k++) {
            const double *f = c->solid->force + 3 * (size_t)d->vertex[k];
            double share = d->mass[k] / c->mass[d->vertex[k]];
            spl_vec3 y = spl_scale(spl_mat3_apply(&inverse, spl_v3(f[0], f[1], f[2])), share);
            const double *U = d->basis + 3 * (size_t)k * (size_t)d->rank;
            for (int32_t m = 0; m < d->rank; m++)
                out[m] += U[m] * y.x + U[d->rank + m] * y.y + U[2 * d->rank + m] * y.z;
        }
        out += d->rank;
    }
    return s->force;
}

static void tell_contacts(subspace *s, const spl_player_stats *did, supple_stats *stats)
{
    stats->contacts = did->contacts + did->clashes;
    stats->ms_contact = (isfinite(stats->ms_contact) ? stats->ms_contact : 0) + did->ms_contact;
    s->value[V_DROPPED].value = did->dropped;
    s->value[V_PENETRATION].value = did->penetration;
}

static supple_result subspace_solve(void *state, const spl_method_context *c, double *x, supple_stats *stats,
                                    supple_error *error)
{
    subspace *s = state;
    spl_player_stats did;
    double dt = set_frames(s, c);
    spl_drive_hold(&c->solid->drive, c->solid->body->bone, x);
    spl_player_input in = {.frame = s->frame, .held = x, .dt = dt, .force = push(s, c), .colliders = c->colliders};
    if (!in.force) in.gravity = c->gravity;
    supple_result result = spl_player_step(s->player, &in, &did, error);
    if (result != SUPPLE_OK) {
        s->past_count = 0;
        return result;
    }
    keep_frames(s, dt);
    double start = spl_now_ms();
    spl_player_read(s->player, s->list, s->frame, x);
    stats->iterations = did.iterations;
    stats->converged = did.converged;
    stats->residual = did.residual;
    stats->energy = did.energy;
    if (s->meets) tell_contacts(s, &did, stats);
    s->value[V_GAP].value = c->parameter[P_GAP] > 0 ? spl_player_gap(s->player, s->frame) : NAN;
    s->value[V_OUTSIDE].value = did.outside;
    s->value[V_COUPLING].value = did.ms_coupling;
    s->value[V_CUBATURE].value = did.ms_cubature;
    s->value[V_CHOLESKY].value = did.ms_solve;
    s->value[V_READ].value = spl_now_ms() - start;
    return SUPPLE_OK;
}

static void subspace_solution(const void *state, const spl_method_context *c, spl_solution *out)
{
    const subspace *s = state;
    *out = (spl_solution){.law = s->model->law,
                          .mu = c->solid->material.mu,
                          .lambda = c->solid->material.lambda,
                          .held = c->solid->body->bone};
}

static const supple_named_value *subspace_values(const void *state, int32_t *count)
{
    *count = VALUES;
    return ((const subspace *)state)->value;
}

const spl_method spl_method_subspace = {
    .name = "subspace",
    .summary = "plays a trained model (--model): hundreds of times faster than solving, with dynamics",
    .needs = SPL_NEEDS_SKIN | SPL_NEEDS_BODY | SPL_NEEDS_MODEL,
    .answers = SPL_ANSWERS_CONTACT | SPL_MEETS_ALONE | SPL_ANSWERS_DYNAMICS | SPL_STARTS_ITSELF,
    .output = SPL_OUTPUT_BODY,
    .parameter = PARAMETERS,
    .parameter_count = sizeof PARAMETERS / sizeof *PARAMETERS,
    .state_size = sizeof(subspace),
    .init = subspace_init,
    .solve = subspace_solve,
    .solution = subspace_solution,
    .values = subspace_values,
    .reset = subspace_reset,
    .release = subspace_release,
};
