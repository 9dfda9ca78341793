#include "subspace/own.h"

#include "core/error.h"
#include "core/memory.h"
#include "subspace/model.h"

#include <string.h>

void spl_own_release(spl_own *own, const supple_allocator *a)
{
    spl_free(a, own->first);
    spl_free(a, own->joint);
    spl_free(a, own->weight);
    spl_free(a, own->trust);
    *own = (spl_own){0};
}

/* ---- files ---- */

void spl_own_add(spl_store_writer *w, const spl_rig *rig)
{
    const spl_own *own = &rig->own;
    size_t n = (size_t)rig->vertex_count, influences = (size_t)own->first[n];
    spl_store_add(w, "own.first", SPL_STORE_I32, 1, n + 1, own->first, NULL);
    spl_store_add(w, "own.joint", SPL_STORE_I32, 1, influences, own->joint, NULL);
    spl_store_add(w, "own.weight", SPL_STORE_F64, 1, influences, own->weight, NULL);
    spl_store_add(w, "surface.trust", SPL_STORE_F32, 1, n, own->trust, NULL);
}

static supple_result take_all(const spl_store_reader *r, const spl_rig *rig, spl_own *own, size_t *influences,
                              supple_error *error)
{
    size_t n = (size_t)rig->vertex_count, most = INT32_MAX / 4;
    spl_store_want first = {"own.first", SPL_STORE_I32, 1, n + 1, n + 1, 0, INT32_MAX / 4, false};
    spl_store_want joint = {"own.joint", SPL_STORE_I32, 1, n, most, 0, rig->joint_count - 1, false};
    spl_store_want trust = {"surface.trust", SPL_STORE_F32, 1, n, n, 0, 0, false};
    void *data = NULL;
    supple_result result = spl_store_copy(r, &first, &data, &n, error);
    if (result != SUPPLE_OK) return result;
    own->first = data;
    result = spl_store_copy(r, &joint, &data, influences, error);
    if (result != SUPPLE_OK) return result;
    own->joint = data;
    spl_store_want weight = {"own.weight", SPL_STORE_F64, 1, *influences, *influences, 0, 0, false};
    result = spl_store_copy(r, &weight, &data, &n, error);
    if (result != SUPPLE_OK) return result;
    own->weight = data;
    result = spl_store_copy(r, &trust, &data, &n, error);
    if (result == SUPPLE_OK) own->trust = data;
    return result;
}

static bool are_weights(const spl_rig *rig, const spl_own *own, size_t influences)
{
    if (own->first[0] != 0 || (size_t)own->first[rig->vertex_count] != influences) return false;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        double sum = 0;
        if (own->first[v + 1] <= own->first[v] || (size_t)own->first[v + 1] > influences) return false;
        for (int32_t i = own->first[v]; i < own->first[v + 1]; i++) {
            if (!(own->weight[i] >= 0 && own->weight[i] <= 1)) return false;
            sum += own->weight[i];
        }
        if (!(fabs(sum - 1) <= 1e-9)) return false;
    }
    return true;
}

static bool is_trust(const spl_rig *rig, const float *trust)
{
    for (int32_t v = 0; v < rig->vertex_count; v++)
        if (!(trust[v] >= 0 && trust[v] <= 1)) return false;
    return true;
}

supple_result spl_own_read(const spl_store_reader *reader, const spl_rig *rig, const supple_allocator *a, spl_own *out,
                           supple_error *error)
{
    size_t influences = 0;
    *out = (spl_own){0};
    supple_result result = take_all(reader, rig, out, &influences, error);
    if (result == SUPPLE_OK && !are_weights(rig, out, influences))
        result = spl_fail(error, SUPPLE_ERROR_INPUT, "the model is damaged: its weights are none");
    if (result == SUPPLE_OK && !is_trust(rig, out->trust))
        result = spl_fail(error, SUPPLE_ERROR_INPUT, "the model is damaged: trust is not from 0 to 1");
    if (result != SUPPLE_OK) spl_own_release(out, a);
    return result;
}

/* ---- poses ---- */

static void fill_rest(const spl_model *m, spl_vec3 *rest)
{
    const spl_rig *rig = &m->rig;
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = 0; k < m->domain[i].vertex_count; k++) {
            int32_t v = spl_rig_place(rig, m->domain[i].vertex[k]);
            if (v >= 0) memcpy(&rest[v], m->domain[i].rest + 3 * (size_t)k, sizeof *rest);
        }
    for (int32_t k = 0; k < rig->held_count; k++) {
        int32_t v = spl_rig_place(rig, rig->held[2 * k]);
        if (v >= 0) memcpy(&rest[v], rig->held_rest + 3 * (size_t)k, sizeof *rest);
    }
}

/* Bones of one joint have one home; a joint without bones, which no training makes, has none. */
static void fill_home(const spl_rig *rig, spl_mat4 *home)
{
    for (int32_t j = 0; j < rig->joint_count; j++) home[j] = spl_mat4_identity();
    for (int32_t b = rig->bone_count; b-- > 0;) {
        const double *x = rig->bone_real + SPL_RIG_BONE_REALS * (size_t)b;
        spl_mat3 linear;
        memcpy(&linear, x + 9, sizeof linear);
        home[rig->bone[SPL_RIG_BONE_NUMBERS * b]] = spl_mat3_affine(&linear, spl_v3(x[18], x[19], x[20]));
    }
}

supple_result spl_own_pose_create(const spl_model *m, const supple_allocator *a, spl_own_pose *out, supple_error *error)
{
    const spl_rig *rig = &m->rig;
    *out = (spl_own_pose){.own = &rig->own};
    out->rest = spl_new(a, (size_t)rig->vertex_count, sizeof *out->rest);
    out->home = spl_new(a, (size_t)rig->joint_count, sizeof *out->home);
    out->map = spl_new(a, (size_t)rig->joint_count, sizeof *out->map);
    if (!out->rest || !out->home || !out->map) {
        spl_own_pose_release(out, a);
        return spl_fail_memory(error, "the file's own skinning");
    }
    fill_rest(m, out->rest);
    fill_home(rig, out->home);
    return SUPPLE_OK;
}

void spl_own_pose_release(spl_own_pose *p, const supple_allocator *a)
{
    spl_free(a, p->rest);
    spl_free(a, p->home);
    spl_free(a, p->map);
    *p = (spl_own_pose){0};
}

void spl_own_pose_set(spl_own_pose *p, const spl_mat4 *world, int32_t joint_count)
{
    for (int32_t j = 0; j < joint_count; j++) p->map[j] = spl_mat4_mul(&world[j], &p->home[j]);
}

spl_vec3 spl_own_point(const spl_own_pose *p, int32_t vertex)
{
    const spl_own *own = p->own;
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (int32_t i = own->first[vertex]; i < own->first[vertex + 1]; i++)
        sum = spl_madd(sum, spl_mat4_point(&p->map[own->joint[i]], p->rest[vertex]), own->weight[i]);
    return sum;
}
