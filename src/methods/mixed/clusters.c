#include "methods/mixed/clusters.h"

#include "core/error.h"
#include "core/memory.h"

enum { K = SPL_BONE_INFLUENCES };
#define FAINT 1e-3 /* share of a bone in a tet's rotation that is left out: a fifth of a degree at most */

/* ---- who is nearest ---- */

static double to_segment(spl_vec3 p, spl_vec3 a, spl_vec3 b)
{
    spl_vec3 ab = spl_sub(b, a);
    double length = spl_dot(ab, ab), t = length > 0 ? spl_dot(spl_sub(p, a), ab) / length : 0;
    return spl_distance(p, spl_madd(a, ab, fmin(fmax(t, 0), 1)));
}

static double distance_to(const spl_bone *bone, spl_cluster_kind kind, spl_vec3 p)
{
    if (kind == SPL_CLUSTER_JOINT || kind == SPL_CLUSTER_HIERARCHY) return spl_distance(p, bone->head);
    if (kind == SPL_CLUSTER_MIDPOINT) return spl_distance(p, spl_lerp(bone->head, bone->tail, 0.5));
    return to_segment(p, bone->head, bone->tail);
}

/* The nearest bone among `candidate` ones (by bone; NULL: all). Ties go to the bone nearer to the root. */
static int32_t nearest(const spl_bones *bones, spl_cluster_kind kind, spl_vec3 p, const bool *candidate)
{
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        if (candidate && !candidate[b]) continue;
        double d = distance_to(&bones->bone[b], kind, p);
        if (d < least) {
            least = d;
            best = b;
        }
    }
    return best;
}

/* At the joint nearest to p, the bone that makes the smallest angle with the way to p: the one that ends there, taken
 * backwards, or one that begins there. */
static int32_t along_chain(const spl_bones *bones, spl_vec3 p, const bool *candidate)
{
    int32_t joint = nearest(bones, SPL_CLUSTER_HIERARCHY, p, candidate), best = joint;
    if (joint < 0) return joint;
    spl_vec3 at = bones->bone[joint].head, way = spl_unit(spl_sub(p, at), spl_v3(0, 0, 0));
    double most = -INFINITY;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        const spl_bone *bone = &bones->bone[b];
        bool begins = bone->node == bones->bone[joint].node, ends = b == bones->bone[joint].parent;
        if (!begins && !ends) continue;
        spl_vec3 direction = spl_unit(spl_sub(begins ? bone->tail : bone->head, at), spl_v3(0, 0, 0));
        double cosine = spl_dot(direction, way);
        if (cosine > most) {
            most = cosine;
            best = b;
        }
    }
    return best;
}

/* ---- clusters ---- */

/* Where limbs lie side by side the nearest bone may be another limb's: only bones whose flesh reaches a corner of the
 * tet (by the harmonic weights) are asked. */
static void mark_candidates(const spl_solid *s, int32_t tet, bool *candidate, bool value)
{
    for (int i = 0; i < 4; i++) {
        size_t v = (size_t)s->body->tets.tet[4 * (size_t)tet + (size_t)i];
        for (size_t k = K * v; k < K * (v + 1); k++)
            if (s->weights.bone[k] >= 0) candidate[s->weights.bone[k]] = value;
    }
}

static supple_result assign(const spl_solid *s, spl_cluster_kind kind, spl_clusters *c, supple_error *error)
{
    const spl_bones *bones = &s->body->bones;
    const spl_tets *t = &s->body->tets;
    bool *candidate = spl_new(&c->allocator, (size_t)bones->bone_count, sizeof *candidate);
    if (!candidate) return spl_fail_memory(error, "the rotation clusters");
    for (int32_t k = 0; k < c->count; k++) {
        spl_vec3 p = spl_v3(0, 0, 0);
        for (int i = 0; i < 4; i++) p = spl_madd(p, t->position[t->tet[4 * (size_t)k + (size_t)i]], 0.25);
        mark_candidates(s, k, candidate, true);
        c->bone[k] =
            kind == SPL_CLUSTER_HIERARCHY ? along_chain(bones, p, candidate) : nearest(bones, kind, p, candidate);
        mark_candidates(s, k, candidate, false);
    }
    spl_free(&c->allocator, candidate);
    return SUPPLE_OK;
}

/* Weights that turn nothing visibly are left out; the others are made to sum to 1. */
static void drop_faint(int32_t *bone, float *weight, double total)
{
    double kept = 0;
    for (int i = 0; i < K; i++) {
        if ((double)weight[i] < FAINT * total) {
            bone[i] = -1;
            weight[i] = 0;
        }
        kept += (double)weight[i];
    }
    for (int i = 0; i < K; i++) weight[i] = (float)((double)weight[i] / kept);
}

/* A tet's weights are the means of its corners'; of up to sixteen bones the strongest are kept. */
static void blend_tet(const spl_solid *s, int32_t tet, int32_t *bone, float *weight)
{
    int32_t found[4 * K];
    double sum[4 * K], total = 0;
    int count = 0;
    for (int i = 0; i < 4; i++) {
        size_t v = (size_t)s->body->tets.tet[4 * (size_t)tet + (size_t)i];
        for (size_t k = K * v; k < K * (v + 1); k++) {
            if (s->weights.bone[k] < 0) continue;
            int at = 0;
            while (at < count && found[at] != s->weights.bone[k]) at++;
            if (at == count) {
                found[count] = s->weights.bone[k];
                sum[count++] = 0;
            }
            sum[at] += s->weights.weight[k];
        }
    }
    for (int i = 0; i < K; i++) {
        int best = -1;
        for (int k = 0; k < count; k++)
            if (sum[k] > 0 && (best < 0 || sum[k] > sum[best])) best = k;
        bone[i] = best < 0 ? -1 : found[best];
        weight[i] = best < 0 ? 0 : (float)sum[best];
        if (best >= 0) sum[best] = 0;
        total += (double)weight[i];
    }
    drop_faint(bone, weight, total);
}

/* Everything that smooth needs of a tet. */
static void smooth_tet(const spl_solid *s, int32_t tet, double sharpness, spl_clusters *c)
{
    size_t at = K * (size_t)tet;
    double total = 0;
    blend_tet(s, tet, c->bone + at, c->weight + at);
    for (size_t i = at; i < at + K; i++) {
        c->sharp[i] = (float)pow((double)c->weight[i], sharpness);
        total += (double)c->sharp[i];
    }
    for (size_t i = at; i < at + K; i++) c->sharp[i] = (float)((double)c->sharp[i] / total);
    const spl_bone *bone = &s->body->bones.bone[c->bone[at]];
    spl_vec3 along = spl_mat3_apply(&s->drive.stretch, spl_sub(bone->tail, bone->head));
    c->axis[tet] = spl_unit(along, spl_v3(0, 1, 0));
}

static void set_kin(const spl_bones *bones, spl_clusters *c)
{
    size_t n = (size_t)bones->bone_count;
    for (size_t b = 0; b < n; b++)
        for (int32_t up = (int32_t)b; up >= 0; up = bones->bone[up].parent)
            for (size_t a = 0; a < n; a++) /* a joint may have several bones */
                if (bones->bone[a].node == bones->bone[up].node) c->kin[n * b + a] = c->kin[n * a + b] = true;
}

static void set_strangers(spl_clusters *c)
{
    for (size_t k = 0; k < (size_t)c->count; k++)
        for (size_t i = K * k; i < K * (k + 1); i++)
            for (size_t j = K * k; j < i; j++)
                if (c->bone[i] >= 0 && c->bone[j] >= 0 && !c->kin[c->bone_count * c->bone[i] + c->bone[j]])
                    c->strangers[k] = true;
}

/* Regions of the material file that name a joint turn with it alone. */
static void take_rotations(const spl_solid *s, spl_clusters *c)
{
    size_t m = (size_t)c->influences;
    for (size_t k = 0; s->material.rotation && k < (size_t)c->count; k++) {
        if (s->material.rotation[k] < 0) continue;
        c->bone[m * k] = s->material.rotation[k];
        for (size_t i = 1; i < m; i++) c->bone[m * k + i] = -1;
        if (c->weight) c->weight[m * k] = c->sharp[m * k] = 1;
    }
}

static void set_along(const spl_solid *s, spl_clusters *c)
{
    const int32_t *tet = s->elements.tet;
    for (size_t k = 0; k < (size_t)c->count; k++) {
        spl_vec3 p = spl_v3(0, 0, 0);
        for (size_t i = 0; i < 4; i++) {
            const double *x = s->drive.rest + 3 * (size_t)tet[4 * k + i];
            p = spl_madd(p, spl_v3(x[0], x[1], x[2]), 0.25);
        }
        for (size_t i = (size_t)c->influences * k; i < (size_t)c->influences * (k + 1); i++)
            if (c->bone[i] >= 0) c->along[i] = (float)spl_drive_along(&s->drive, c->bone[i], p);
    }
}

supple_result spl_clusters_create(const spl_solid *solid, spl_cluster_kind kind, double sharpness, spl_clusters *out,
                                  supple_error *error)
{
    bool smooth = kind == SPL_CLUSTER_SMOOTH, ok;
    int32_t bones = solid->body->bones.bone_count;
    *out = (spl_clusters){.allocator = solid->allocator,
                          .count = solid->elements.count,
                          .influences = smooth ? K : 1,
                          .bone_count = bones};
    size_t n = (size_t)out->count * (size_t)out->influences;
    out->bone = spl_new(&out->allocator, n, sizeof *out->bone);
    out->along = spl_new(&out->allocator, n, sizeof *out->along);
    ok = out->bone && out->along;
    if (smooth) {
        out->weight = spl_new(&out->allocator, n, sizeof *out->weight);
        out->sharp = spl_new(&out->allocator, n, sizeof *out->sharp);
        out->axis = spl_new(&out->allocator, (size_t)out->count, sizeof *out->axis);
        out->strangers = spl_new(&out->allocator, (size_t)out->count, sizeof *out->strangers);
        out->kin = spl_new(&out->allocator, (size_t)bones, (size_t)bones * sizeof *out->kin);
        ok = ok && out->weight && out->sharp && out->axis && out->strangers && out->kin;
    }
    supple_result result = ok ? SUPPLE_OK : spl_fail_memory(error, "the rotation clusters");
    if (ok && !smooth) result = assign(solid, kind, out, error);
    for (int32_t k = 0; ok && smooth && k < out->count; k++) smooth_tet(solid, k, sharpness, out);
    if (result == SUPPLE_OK) {
        take_rotations(solid, out);
        set_along(solid, out);
        if (smooth) set_kin(&solid->body->bones, out);
        if (smooth) set_strangers(out);
    }
    if (result != SUPPLE_OK) spl_clusters_release(out);
    return result;
}

void spl_clusters_release(spl_clusters *c)
{
    if (!c->allocator.release) return;
    spl_free(&c->allocator, c->bone);
    spl_free(&c->allocator, c->along);
    spl_free(&c->allocator, c->weight);
    spl_free(&c->allocator, c->sharp);
    spl_free(&c->allocator, c->axis);
    spl_free(&c->allocator, c->strangers);
    spl_free(&c->allocator, c->kin);
    *c = (spl_clusters){0};
}

/* ---- a pose ---- */

typedef struct rotate {
    const spl_clusters *clusters;
    const spl_drive *drive;
    double *rotation;
    float *discord;
} rotate;

/* The rotation of the sharp blend, and of what it lacks towards the soft one only the twist about the limb: a limb that
 * bends folds at its joint, one that twists does so along its length. */
static spl_quat smooth_rotation(const rotate *r, size_t tet)
{
    const spl_clusters *c = r->clusters;
    spl_quat bent = {0, 0, 0, 0}, soft = {0, 0, 0, 0};
    for (size_t i = K * tet; i < K * (tet + 1) && c->bone[i] >= 0; i++) {
        spl_quat q = spl_drive_turn(r->drive, c->bone[i], (double)c->along[i]);
        if (i == K * tet && c->weight[i] == 1) return q;
        bent = spl_quat_add(bent, spl_quat_scale(q, (double)c->sharp[i]));
        soft = spl_quat_add(soft, spl_quat_scale(q, (double)c->weight[i]));
    }
    bent = spl_quat_normalise(bent);
    spl_quat rest = spl_quat_mul(spl_quat_conjugate(bent), soft);
    double along = spl_dot(spl_v3(rest.x, rest.y, rest.z), c->axis[tet]);
    spl_vec3 v = spl_scale(c->axis[tet], along);
    return spl_quat_mul(bent, spl_quat_normalise(spl_quat_make(v.x, v.y, v.z, rest.w)));
}

static double discord_of(const rotate *r, size_t tet)
{
    const spl_clusters *c = r->clusters;
    double sum = 0;
    for (size_t i = K * tet; i < K * (tet + 1) && c->bone[i] >= 0; i++)
        for (size_t j = K * tet; j < i; j++) {
            if (c->kin[c->bone_count * c->bone[i] + c->bone[j]]) continue;
            double dot = spl_quat_dot(r->drive->turn[c->bone[i]], r->drive->turn[c->bone[j]]);
            sum += 4 * (double)c->weight[i] * (double)c->weight[j] * fmax(1 - dot * dot, 0);
        }
    return sum;
}

static void rotate_range(void *context, size_t begin, size_t end)
{
    const rotate *r = context;
    const spl_clusters *c = r->clusters;
    for (size_t k = begin; k < end; k++) {
        spl_quat q = c->weight ? smooth_rotation(r, k) : spl_drive_turn(r->drive, c->bone[k], (double)c->along[k]);
        spl_mat3 R = spl_quat_to_mat3(q);
        for (size_t i = 0; i < 9; i++) r->rotation[9 * k + i] = R.m[i];
        if (r->discord) r->discord[k] = c->strangers && c->strangers[k] ? (float)discord_of(r, k) : 0;
    }
}

void spl_clusters_rotations(const spl_clusters *c, const spl_drive *drive, double *rotation, float *discord,
                            spl_pool *pool)
{
    rotate r = {c, drive, rotation, discord};
    spl_parallel_for(pool, (size_t)c->count, 1024, rotate_range, &r);
}
