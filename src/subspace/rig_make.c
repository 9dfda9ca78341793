/* The rig of a model, from the solid that it was trained on. */
#include "core/error.h"
#include "core/memory.h"
#include "subspace/own_make.h"
#include "subspace/visual_make.h"

#include <string.h>

/* ---- joints and bones ---- */

/* By bone: its joint among the rig's, which are in the order of their first bones. */
static void number_joints(const spl_bones *bones, int32_t *joint, spl_rig *r)
{
    for (int32_t b = 0; b < bones->bone_count; b++) {
        int32_t k = 0;
        while (k < b && bones->bone[k].node != bones->bone[b].node) k++;
        joint[b] = k < b ? joint[k] : r->joint_count++;
    }
}

static void fill_joints(const supple_scene *scene, const spl_bones *bones, const spl_pose *rest, const int32_t *joint,
                        spl_rig *r)
{
    int32_t next = 0;
    char *name = r->name;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        if (joint[b] != next) continue;
        int32_t node = bones->bone[b].node, p = bones->bone[b].parent;
        while (p >= 0 && joint[p] == next) p = bones->bone[p].parent;
        r->joint_parent[next] = p >= 0 ? joint[p] : -1;
        memcpy(r->joint_rest + 16 * next, rest->world[node].m, 16 * sizeof *r->joint_rest);
        memcpy(name, scene->node[node].name, strlen(scene->node[node].name) + 1);
        name += strlen(name) + 1;
        next++;
    }
}

/* Heads and tails in the solver's rest shape; the map from there to the joint's space is home (metre stretch)^-1. */
static bool fill_bones(const spl_drive *d, const int32_t *joint, spl_rig *r)
{
    spl_mat3 stretch = spl_mat3_scale(&d->stretch, d->body->metre), back;
    if (!spl_mat3_inverse(&stretch, &back)) return false;
    for (int32_t b = 0; b < r->bone_count; b++) {
        const spl_bone *bone = &d->body->bones.bone[b];
        spl_mat3 home = spl_mat3_linear(&d->home[b]), linear = spl_mat3_mul(&home, &back);
        spl_vec3 place[3] = {spl_mat3_apply(&stretch, bone->head), spl_mat3_apply(&stretch, bone->tail), d->axis[b]};
        int32_t numbers[SPL_RIG_BONE_NUMBERS] = {joint[b], bone->parent, d->driver[b], d->own[b]};
        double *real = r->bone_real + SPL_RIG_BONE_REALS * b;
        memcpy(r->bone + SPL_RIG_BONE_NUMBERS * b, numbers, sizeof numbers);
        memcpy(real, place, sizeof place);
        memcpy(real + 9, linear.m, sizeof linear.m);
        memcpy(real + 18, d->home[b].m + 12, 3 * sizeof *real);
    }
    return true;
}

static supple_result make_bones(const supple_scene *scene, const spl_drive *d, const supple_allocator *a, spl_rig *r,
                                supple_error *error)
{
    const spl_bones *bones = &d->body->bones;
    size_t n = (size_t)bones->bone_count;
    spl_pose rest = {0};
    int32_t *joint = spl_new(a, n, sizeof *joint);
    r->bone_count = bones->bone_count;
    if (joint) number_joints(bones, joint, r);
    for (int32_t b = 0, next = 0; joint && b < bones->bone_count; b++) {
        if (joint[b] != next) continue;
        r->name_bytes += strlen(scene->node[bones->bone[b].node].name) + 1;
        next++;
    }
    r->name = spl_new(a, r->name_bytes, 1);
    r->joint_parent = spl_new(a, (size_t)r->joint_count, sizeof *r->joint_parent);
    r->joint_rest = spl_new(a, (size_t)r->joint_count, 16 * sizeof *r->joint_rest);
    r->bone = spl_new(a, n, SPL_RIG_BONE_NUMBERS * sizeof *r->bone);
    r->bone_real = spl_new(a, n, SPL_RIG_BONE_REALS * sizeof *r->bone_real);
    bool made = joint && r->name && r->joint_parent && r->joint_rest && r->bone && r->bone_real;
    supple_result result = made ? spl_pose_init(&rest, scene, error) : spl_fail_memory(error, "a model's bones");
    if (result == SUPPLE_OK) {
        spl_pose_sample(&rest, scene, -1, 0);
        fill_joints(scene, bones, &rest, joint, r);
        if (!fill_bones(d, joint, r))
            result = spl_fail(error, SUPPLE_ERROR_INPUT, "the rest pose is flat: its bones cannot be kept in a model");
    }
    spl_pose_release(&rest);
    spl_free(a, joint);
    return result;
}

/* ---- vertices ---- */

/* Lowest bit: on the surface; next: held, and on the surface or seen by a cubature tet. */
static void mark(const spl_body *body, const spl_model *m, uint8_t *use)
{
    for (int32_t k = 0; k < 3 * body->tets.surface_count; k++) {
        int32_t v = body->tets.surface[k];
        use[v] |= body->bone[v] >= 0 ? 3 : 1;
    }
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = 0; k < 4 * m->domain[i].cubature_count; k++) {
            int32_t corner = m->domain[i].cubature[k / 4].corner[k % 4];
            if (corner < 0) use[~corner] |= 2;
        }
}

/* `at`: by vertex, room for its number on the surface. */
static void fill_vertices(const spl_solid *solid, const uint8_t *use, int32_t *at, spl_rig *r)
{
    const spl_tets *tets = &solid->body->tets;
    int32_t held = 0, surface = 0;
    for (int32_t v = 0; v < tets->vertex_count; v++) {
        if (use[v] & 2) {
            r->held[2 * held] = v;
            r->held[2 * held + 1] = solid->body->bone[v];
            memcpy(r->held_rest + 3 * held++, solid->drive.rest + 3 * (size_t)v, 3 * sizeof *r->held_rest);
        }
        if (use[v] & 1) r->vertex[at[v] = surface++] = v;
    }
    bool mirrored = solid->drive.to_solver < 0;
    for (int32_t k = 0; k < r->triangle_count; k++)
        for (int c = 0; c < 3; c++) r->triangle[3 * k + c] = at[tets->surface[3 * k + (mirrored && c > 0 ? 3 - c : c)]];
}

static supple_result make_vertices(const spl_solid *solid, const spl_model *m, const supple_allocator *a, spl_rig *r,
                                   supple_error *error)
{
    size_t n = (size_t)solid->body->tets.vertex_count;
    uint8_t *use = spl_new(a, n, sizeof *use);
    int32_t *at = spl_new(a, n, sizeof *at);
    if (use) mark(solid->body, m, use);
    for (size_t v = 0; use && v < n; v++) {
        r->held_count += (use[v] & 2) != 0;
        r->vertex_count += use[v] & 1;
    }
    r->triangle_count = solid->body->tets.surface_count;
    r->held = spl_new(a, (size_t)r->held_count, 2 * sizeof *r->held);
    r->held_rest = spl_new(a, (size_t)r->held_count, 3 * sizeof *r->held_rest);
    r->vertex = spl_new(a, (size_t)r->vertex_count, sizeof *r->vertex);
    r->triangle = spl_new(a, (size_t)r->triangle_count, 3 * sizeof *r->triangle);
    bool made = use && at && r->held && r->held_rest && r->vertex && r->triangle;
    if (made) fill_vertices(solid, use, at, r);
    spl_free(a, use);
    spl_free(a, at);
    return made ? SUPPLE_OK : spl_fail_memory(error, "a model's surface");
}

supple_result spl_rig_make(const supple_scene *scene, const spl_solid *solid, const spl_model *m, spl_rig *out,
                           supple_error *error)
{
    const supple_allocator *a = &m->allocator;
    *out = (spl_rig){.to_solver = solid->drive.to_solver, .spread = solid->drive.spread};
    supple_result result = make_bones(scene, &solid->drive, a, out, error);
    if (result == SUPPLE_OK) result = make_vertices(solid, m, a, out, error);
    if (result == SUPPLE_OK) result = spl_own_make(solid, out, a, &out->own, error);
    if (result == SUPPLE_OK) result = spl_visual_make(scene, solid->body, out, a, &out->visual, error);
    if (result != SUPPLE_OK) spl_rig_release(out, a);
    return result;
}
