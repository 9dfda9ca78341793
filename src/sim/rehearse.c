#include "sim/rehearse.h"

#include "core/cache.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdio.h>
#include <string.h>

enum {
    CLIP_POSES = 6,     /* at most */
    LEVELS = 3,         /* joints of every third level of the skeleton swing together */
    SWINGS = 2,         /* about two axes */
    COARSE_TETS = 6000, /* of the body that parts are tried on first, */
    FINE_TETS = 30000   /* and of the one that must confirm it: fingers are nothing to a coarse one */
};
#define SWING_DEGREES 40
#define TRUSTED       0.5 /* of a part's flesh: with less it is tried in another role */

/* ---- poses ---- */

typedef struct rehearsal {
    supple_sim *sim;
    spl_pose pose;
    int32_t *level;  /* by node: joints above it, -1 for what is no joint */
    float *matrices; /* 16 x joints */
} rehearsal;

static void find_levels(const supple_scene *scene, int32_t *level)
{
    for (int32_t n = 0; n < scene->node_count; n++) level[n] = -1;
    for (int32_t k = 0; k < scene->skin_count; k++)
        for (int32_t j = 0; j < scene->skin[k].joint_count; j++) level[scene->skin[k].joint[j]] = 0;
    for (int32_t i = 0; i < scene->node_count; i++) { /* parents come before children */
        int32_t n = scene->node_order[i], up = scene->node[n].parent;
        while (up >= 0 && level[up] < 0) up = scene->node[up].parent;
        if (level[n] >= 0 && up >= 0) level[n] = level[up] + 1;
    }
}

/* The rest pose with the joints of some levels turned about one of their own axes. Roots stay: that would be a rigid
 * motion. */
static void swing(rehearsal *r, int32_t levels, int axis)
{
    const supple_scene *scene = r->sim->scene;
    double half = SWING_DEGREES * M_PI / 360;
    spl_quat q = {axis == 0 ? sin(half) : 0, 0, axis == 1 ? sin(half) : 0, cos(half)};
    spl_mat3 turn = spl_quat_to_mat3(q);
    spl_mat4 move = spl_mat4_identity();
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++) move.m[4 * c + k] = turn.m[3 * c + k];
    spl_pose_sample(&r->pose, scene, -1, 0);
    for (int32_t n = 0; n < scene->node_count; n++)
        if (r->level[n] > 0 && r->level[n] % LEVELS == levels)
            r->pose.local[n] = spl_mat4_mul(&r->pose.local[n], &move);
    spl_pose_place(&r->pose, scene);
}

/* The pose's joints as a host would give them. */
static void read_matrices(rehearsal *r)
{
    const supple_scene *scene = r->sim->scene;
    for (int32_t k = 0; k < scene->skin_count; k++) {
        const spl_skin *skin = &scene->skin[k];
        for (int32_t j = 0; j < skin->joint_count; j++) {
            float *to = r->matrices + 16 * (size_t)(skin->first_joint + j);
            for (int i = 0; i < 16; i++) to[i] = (float)r->pose.world[skin->joint[j]].m[i];
        }
    }
}

/* The k-th pose of the clips; -1: the rest pose. */
static void sample(spl_pose *pose, const supple_scene *scene, int32_t k)
{
    int32_t clip = k < 0 ? -1 : (int32_t)((int64_t)k * scene->clip_count / CLIP_POSES);
    spl_pose_sample(pose, scene, clip, k < 0 ? 0 : scene->clip[clip].duration * (k + 0.5) / CLIP_POSES);
}

static supple_result try_pose(rehearsal *r, supple_error *error)
{
    supple_sim *sim = r->sim;
    read_matrices(r);
    spl_sim_forget(sim);
    supple_result result = supple_sim_step_pose(sim, r->matrices, sim->scene->joint_count, error);
    if (result == SUPPLE_ERROR_SOLVE) return SUPPLE_OK; /* no pose to learn from: the frames themselves will tell */
    if (result != SUPPLE_OK) return result;
    spl_amount *a = &sim->amount;
    spl_harm_measure(&a->harm, a->own, a->flesh, sim->pool);
    spl_trust_frame frame = {a->own, a->flesh, a->flesh, &a->harm, 1, true, false}; /* swings are extreme */
    spl_trust_see(&a->trust, &frame);
    return SUPPLE_OK;
}

static supple_result try_poses(rehearsal *r, supple_error *error)
{
    const supple_scene *scene = r->sim->scene;
    supple_result result = SUPPLE_OK;
    int32_t clips = scene->clip_count > 0 ? CLIP_POSES : 0, all = clips + LEVELS * SWINGS;
    for (int32_t k = 0; k < all && result == SUPPLE_OK; k++) {
        result = spl_progress(&r->sim->config, "rehearsal", (double)k / all, error);
        if (result != SUPPLE_OK) break;
        if (k < clips) {
            sample(&r->pose, scene, k);
        } else
            swing(r, (k - clips) % LEVELS, (k - clips) / LEVELS);
        result = try_pose(r, error);
    }
    return result;
}

/* ---- one character ---- */

static void read_shares(const supple_sim *sim, double *share)
{
    const spl_amount *a = &sim->amount;
    for (int32_t i = 0; i < a->mesh.part_count; i++) {
        int32_t moved = 0, trusted = 0;
        for (int32_t v = a->mesh.first_vertex[i]; v < a->mesh.first_vertex[i + 1]; v++) {
            int32_t p = a->mesh.point[v];
            moved += a->moved[p];
            trusted += a->moved[p] && a->trust.value[p] == 1;
        }
        share[i] = moved ? (double)trusted / moved : NAN;
    }
}

supple_result spl_rehearse(supple_sim *sim, double *share, supple_error *error)
{
    const supple_allocator *a = &sim->allocator;
    spl_amount *amount = &sim->amount;
    rehearsal r = {.sim = sim};
    if (!amount->on || !amount->trusts) return SUPPLE_OK;
    supple_result result = spl_pose_init(&r.pose, sim->scene, error);
    if (result != SUPPLE_OK) return result;
    r.level = spl_new(a, (size_t)sim->scene->node_count, sizeof *r.level);
    r.matrices = spl_new(a, (size_t)sim->scene->joint_count, 16 * sizeof *r.matrices);
    bool dynamics = sim->dynamics.on;
    if (r.level && r.matrices) {
        find_levels(sim->scene, r.level);
        sim->dynamics.on = false;
        amount->mode = SPL_AMOUNT_LIVE;
        supple_sim_reset(sim);
        amount->mode = SPL_AMOUNT_SEEING;
        result = try_poses(&r, error);
        sim->dynamics.on = dynamics;
        spl_trust_settle(&amount->trust);
        if (share) read_shares(sim, share);
        amount->mode = SPL_AMOUNT_LIVE;
        spl_amount_rehearsed(sim);
        supple_sim_reset(sim);
    } else
        result = spl_fail_memory(error, "the rehearsal");
    spl_free(a, r.level);
    spl_free(a, r.matrices);
    spl_pose_release(&r.pose);
    return result;
}

/* ---- parts in other roles ---- */

/* What a part that cannot be trusted is tried as, one after the other. */
static const supple_role ladder[] = {SUPPLE_ROLE_FLESH, SUPPLE_ROLE_FOLLOW, SUPPLE_ROLE_OWN};
enum { RUNGS = sizeof ladder / sizeof *ladder };

typedef struct trial {
    int32_t part_count;
    double *share, *best; /* by part: as it is tried, and the best so far */
    int32_t *role;        /* by part: the best one's, -1: as it is; */
    int32_t *tried;       /* and the one that is tried */
    bool *said;           /* by part: a rule of the config has it */
    double needed;        /* share with which a part may stay as it is */
} trial;

/* The config's rules, and one for each part whose role is not its own. */
static void write_rules(spl_rehearsed *out, const supple_body_config *bc, const int32_t *role, int32_t part_count)
{
    out->rule_count = bc->rule_count;
    if (bc->rule_count > 0) memcpy(out->rule, bc->rules, (size_t)bc->rule_count * sizeof *out->rule);
    for (int32_t i = 0, k = 0; i < part_count; i++) {
        if (role[i] < 0) continue;
        snprintf(out->pattern[k], sizeof out->pattern[k], "%d", (int)i);
        out->rule[out->rule_count++] = (supple_part_rule){out->pattern[k++], (supple_role)role[i]};
    }
}

/* A coarse body in the present roles; shares as they come out. Without flesh there is nothing to trust: all is well. */
static supple_result try_roles(const supple_scene *scene, const supple_sim_config *sc, const supple_config *config,
                               const spl_rehearsed *rules, int32_t tets, trial *t, supple_error *error)
{
    supple_body_config bc = sc->body_config ? *sc->body_config : supple_body_config_default();
    supple_sim_config coarse = supple_sim_config_default();
    supple_config quiet = config ? *config : supple_config_default();
    supple_sim *sim = NULL;
    quiet.log = NULL;
    bc.rules = rules->rule;
    bc.rule_count = rules->rule_count;
    bc.max_tets = tets;
    bc.resolution = 0;
    bc.grade = false;
    coarse.method = "projective";
    coarse.body_config = &bc;
    coarse.collide = SUPPLE_COLLIDE_NONE;
    coarse.rehearse = false;
    for (int32_t i = 0; i < t->part_count; i++) t->share[i] = NAN;
    supple_result result = supple_sim_create(scene, &coarse, &quiet, &sim, error);
    if (result == SUPPLE_OK) result = spl_rehearse(sim, t->share, error);
    supple_sim_destroy(sim);
    for (int32_t i = 0; i < t->part_count; i++)
        if (t->said[i]) t->share[i] = NAN;                              /* the user's word stands */
    if (result == SUPPLE_ERROR_SOLVE || result == SUPPLE_ERROR_INPUT) { /* nothing is learnt from it */
        for (int32_t i = 0; i < t->part_count; i++) t->share[i] = t->tried[i] < 0 ? NAN : 0;
        result = SUPPLE_OK;
    }
    return result;
}

static bool needs_another(const trial *t)
{
    bool any = false;
    for (int32_t i = 0; i < t->part_count; i++) any = any || t->best[i] < t->needed;
    return any;
}

/* Parts that are still not trusted get the next role; what follows or is own skinning has no flesh to distrust. */
static supple_result climb(const supple_scene *scene, const supple_sim_config *sc, const supple_config *config,
                           spl_rehearsed *out, trial *t, supple_error *error)
{
    supple_body_config bc = sc->body_config ? *sc->body_config : supple_body_config_default();
    supple_result result = try_roles(scene, sc, config, out, COARSE_TETS, t, error);
    memcpy(t->best, t->share, (size_t)t->part_count * sizeof *t->best);
    if (result == SUPPLE_OK && needs_another(t)) result = try_roles(scene, sc, config, out, FINE_TETS, t, error);
    memcpy(t->best, t->share, (size_t)t->part_count * sizeof *t->best);
    for (int rung = 0; rung < RUNGS && result == SUPPLE_OK && needs_another(t); rung++) {
        for (int32_t i = 0; i < t->part_count; i++)
            t->tried[i] = t->best[i] < t->needed ? (int32_t)ladder[rung] : t->role[i];
        write_rules(out, &bc, t->tried, t->part_count);
        result = try_roles(scene, sc, config, out, FINE_TETS, t, error);
        for (int32_t i = 0; i < t->part_count; i++) {
            double share = isnan(t->share[i]) ? t->needed : t->share[i]; /* no flesh: own skinning, in part */
            if (!(t->best[i] < t->needed) || !(share > t->best[i])) continue;
            t->best[i] = share;
            t->role[i] = t->tried[i];
        }
    }
    write_rules(out, &bc, t->role, t->part_count);
    return result;
}

static void tell(const supple_scene *scene, const spl_part *part, const supple_config *config, const trial *t)
{
    for (int32_t i = 0; i < t->part_count; i++)
        if (t->role[i] >= 0)
            spl_log(config, SUPPLE_LOG_WARNING,
                    "rehearsal: %.60s (part %d) cannot be trusted as it was judged; it is taken as %s (--part %d=ROLE "
                    "says otherwise)",
                    spl_instance_name(scene, part[i].instance), (int)i, spl_role_name((supple_role)t->role[i]), (int)i);
}

/* ---- what was found before ---- */

enum { KEPT_VERSION = 1 };

/* Of all that the outcome depends on. */
static supple_result key_of(const supple_scene *scene, const supple_body_config *bc, double needed, spl_key *out,
                            supple_error *error)
{
    spl_digest d = spl_digest_begin();
    for (int32_t m = 0; m < scene->mesh_count; m++)
        for (int32_t k = 0; k < scene->mesh[m].primitive_count; k++) {
            const spl_primitive *p = &scene->mesh[m].primitive[k];
            size_t n = (size_t)p->vertex_count, influences = n * (size_t)p->influence_count;
            spl_digest_array(&d, p->position, 3 * n, sizeof *p->position);
            spl_digest_array(&d, p->triangle, 3 * (size_t)p->triangle_count, sizeof *p->triangle);
            spl_digest_array(&d, p->joint, influences, sizeof *p->joint);
            spl_digest_array(&d, p->weight, influences, sizeof *p->weight);
        }
    for (int32_t k = 0; k < scene->skin_count; k++)
        spl_digest_array(&d, scene->skin[k].inverse_bind, 16 * (size_t)scene->skin[k].joint_count, sizeof(double));
    spl_pose pose;
    supple_result result = spl_pose_init(&pose, scene, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t k = -1; k < (scene->clip_count > 0 ? CLIP_POSES : 0); k++) {
        sample(&pose, scene, k);
        spl_digest_array(&d, pose.world, 16 * (size_t)scene->node_count, sizeof(double));
    }
    spl_pose_release(&pose);
    for (int32_t k = 0; k < bc->rule_count; k++) {
        spl_digest_text(&d, bc->rules[k].pattern);
        spl_digest_integer(&d, (int64_t)bc->rules[k].role);
    }
    spl_digest_integer(&d, (int64_t)bc->kind);
    spl_digest_real(&d, bc->size_m);
    spl_digest_real(&d, needed);
    *out = spl_digest_end(&d);
    return SUPPLE_OK;
}

/* Roles that were kept, if they are as many; false: they are to be found. */
static bool find_kept(spl_cache *cache, const spl_store_id *id, int32_t part_count, int32_t *role)
{
    spl_store_reader *reader = spl_cache_find(cache, id);
    size_t n = (size_t)part_count, count;
    const void *kept;
    if (!reader) return false;
    spl_store_want want = {"role", SPL_STORE_I32, 1, n, n, -1, (int64_t)SUPPLE_ROLE_OWN, false};
    bool good = spl_store_get(reader, &want, &kept, &count, NULL) == SUPPLE_OK;
    if (good) memcpy(role, kept, n * sizeof *role);
    spl_store_close(reader);
    return good;
}

static void keep(spl_cache *cache, const spl_store_id *id, int32_t part_count, const int32_t *role)
{
    spl_store_writer *writer = spl_cache_begin(cache, id);
    if (!writer) return;
    spl_store_add(writer, "role", SPL_STORE_I32, 1, (size_t)part_count, role, NULL);
    spl_cache_publish(cache, writer);
}

/* As it was found before for the same character, else by trying. */
static supple_result climb_cached(const supple_scene *scene, const supple_sim_config *sc, const supple_config *config,
                                  spl_rehearsed *out, trial *t, supple_error *error)
{
    supple_body_config bc = sc->body_config ? *sc->body_config : supple_body_config_default();
    spl_cache *cache;
    spl_cache_options options = {.off = !bc.cache};
    spl_store_id id = {"rehearsal", KEPT_VERSION, {{0, 0}}};
    supple_result result = key_of(scene, &bc, t->needed, &id.key, error);
    if (result == SUPPLE_OK) result = spl_cache_open(&options, config, &cache, error);
    if (result != SUPPLE_OK) return result;
    if (find_kept(cache, &id, t->part_count, t->role))
        write_rules(out, &bc, t->role, t->part_count);
    else {
        result = climb(scene, sc, config, out, t, error);
        if (result == SUPPLE_OK) keep(cache, &id, t->part_count, t->role);
    }
    spl_cache_close(cache);
    return result;
}

supple_result spl_rehearse_roles(const supple_scene *scene, const supple_sim_config *sc, const supple_config *config,
                                 double needed, spl_rehearsed *out, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    supple_body_config bc = sc->body_config ? *sc->body_config : supple_body_config_default();
    trial t = {.needed = needed};
    spl_part *part = spl_parts_new(scene, &a, &t.part_count);
    size_t n = (size_t)t.part_count;
    *out = (spl_rehearsed){.allocator = a};
    out->rule = spl_new(&a, n + (size_t)bc.rule_count, sizeof *out->rule);
    out->pattern = spl_new(&a, n, sizeof *out->pattern);
    t.share = spl_new(&a, n, sizeof *t.share);
    t.best = spl_new(&a, n, sizeof *t.best);
    t.role = spl_new(&a, n, sizeof *t.role);
    t.tried = spl_new(&a, n, sizeof *t.tried);
    t.said = spl_new(&a, n, sizeof *t.said);
    supple_result result = SUPPLE_OK;
    if (!part || !out->rule || !out->pattern || !t.share || !t.best || !t.role || !t.tried || !t.said)
        result = spl_fail_memory(error, "the rehearsal");
    if (result == SUPPLE_OK) {
        for (size_t i = 0; i < n; i++) {
            t.role[i] = t.tried[i] = -1;
            for (int32_t k = 0; k < bc.rule_count; k++)
                t.said[i] = t.said[i] || spl_part_matches(scene, &part[i], bc.rules[k].pattern);
        }
        write_rules(out, &bc, t.role, t.part_count);
        result = climb_cached(scene, sc, config, out, &t, error);
    }
    if (result == SUPPLE_OK)
        tell(scene, part, config, &t);
    else
        spl_rehearsed_release(out);
    void *block[] = {part, t.share, t.best, t.role, t.tried, t.said};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a, block[i]);
    return result;
}

void spl_rehearsed_release(spl_rehearsed *r)
{
    if (!r->allocator.release) return;
    spl_free(&r->allocator, r->rule);
    spl_free(&r->allocator, r->pattern);
    *r = (spl_rehearsed){0};
}

supple_result supple_sim_rehearse(supple_sim *sim, supple_error *error)
{
    return spl_rehearse(sim, NULL, error);
}
