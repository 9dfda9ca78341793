#include "body/reskin.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

#define LEAST 1e-4 /* weights below are left out of a skin */

typedef struct work {
    const spl_body *body;
    const spl_weight_table *table;
    spl_new_weights *out;
    int32_t *tet_vertex; /* by vertex of body->skin */
    int32_t *joint_of;   /* by bone: its joint's index in the present part's skin, -1 */
    int32_t skin;        /* of joint_of */
    double *sum;         /* by bone; then by joint of the skin */
    bool *used;          /* by node */
    spl_reskin_report *report;
} work;

/* A bone's joint in a skin is its own, or the copy of it that this skin has. */
static void set_skin(work *w, int32_t skin)
{
    const spl_skin *s = &w->body->scene->skin[skin];
    const int32_t *same = w->body->bones.same;
    w->skin = skin;
    for (int32_t b = 0; b < w->body->bones.bone_count; b++) {
        w->joint_of[b] = -1;
        for (int32_t j = s->joint_count - 1; j >= 0; j--)
            if (same[s->joint[j]] == same[w->body->bones.bone[b].node]) w->joint_of[b] = j;
    }
}

/* The joints' weights at a visual vertex into sum[joint]; false where nothing is known of it. */
static bool combine(work *w, int32_t vertex)
{
    int32_t index[SPL_UPSAMPLE_MOST_NEIGHBOURS];
    float weight[SPL_UPSAMPLE_MOST_NEIGHBOURS];
    size_t n = (size_t)w->table->vertex_count;
    const spl_skin *s = &w->body->scene->skin[w->skin];
    int32_t count = spl_upsample_weights(w->body->upsample, vertex, SPL_UPSAMPLE_MOST_NEIGHBOURS, index, weight);
    memset(w->sum, 0, (size_t)s->joint_count * sizeof *w->sum);
    double total = 0;
    for (int32_t b = 0; count > 0 && b < w->table->bone_count; b++) {
        if (w->joint_of[b] < 0) continue;
        for (int32_t i = 0; i < count; i++)
            w->sum[w->joint_of[b]] +=
                (double)weight[i] * w->table->value[(size_t)b * n + (size_t)w->tet_vertex[index[i]]];
    }
    for (int32_t j = 0; j < s->joint_count; j++) { /* quadratic fits overshoot: below 0 is 0 */
        w->sum[j] = fmax(w->sum[j], 0);
        total += w->sum[j];
    }
    for (int32_t j = 0; total > 0 && j < s->joint_count; j++) w->sum[j] /= total;
    return total > 1e-3;
}

/* The K strongest of sum[], made to sum to 1. */
static void keep_strongest(work *w, size_t vertex)
{
    size_t K = (size_t)w->out->influences;
    const spl_skin *s = &w->body->scene->skin[w->skin];
    uint16_t *joint = w->out->joint + K * vertex;
    double kept[8], total = 0;
    size_t count = 0;
    for (; count < K; count++) {
        int32_t best = -1;
        for (int32_t j = 0; j < s->joint_count; j++)
            if (w->sum[j] > LEAST && (best < 0 || w->sum[j] > w->sum[best])) best = j;
        if (best < 0) break;
        joint[count] = (uint16_t)best;
        total += kept[count] = w->sum[best];
        w->sum[best] = 0;
        w->used[s->joint[best]] = true;
    }
    for (size_t k = 0; k < count; k++) w->out->weight[K * vertex + k] = (float)(kept[k] / total);
    w->out->changed[vertex] = true;
    w->report->changed++;
    w->report->mean_influences += (double)count;
    w->report->largest_cut = fmax(w->report->largest_cut, 1 - total);
}

static void run(work *w)
{
    const spl_body *body = w->body;
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        int32_t at = body->skin.map[v];
        if (at >= 0 && w->tet_vertex[at] < 0) w->tet_vertex[at] = v;
    }
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        if (!spl_part_skinned(body->scene, part)) continue;
        if (w->skin != body->scene->instance[part->instance].skin)
            set_skin(w, body->scene->instance[part->instance].skin);
        for (int32_t v = part->first_vertex; v < part->first_vertex + part->primitive->vertex_count; v++) {
            if (spl_role_rides((supple_role)body->roles.vertex[v]) && combine(w, v))
                keep_strongest(w, (size_t)v);
            else
                w->report->kept++;
        }
    }
    for (int32_t n = 0; n < body->scene->node_count; n++) w->report->joints += w->used[n];
    if (w->report->changed) w->report->mean_influences /= w->report->changed;
}

supple_result spl_reskin(const spl_body *body, const spl_weight_table *table, int32_t influences,
                         const supple_allocator *a, spl_new_weights *out, spl_reskin_report *report,
                         supple_error *error)
{
    spl_reskin_report unused;
    work w = {.body = body, .table = table, .out = out, .skin = -1, .report = report ? report : &unused};
    size_t most = 1, surface = (size_t)body->skin.vertex_count;
    *w.report = (spl_reskin_report){0};
    supple_result result = spl_new_weights_create(body->scene, influences, a, out, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t s = 0; s < body->scene->skin_count; s++)
        most = (size_t)body->scene->skin[s].joint_count > most ? (size_t)body->scene->skin[s].joint_count : most;
    w.tet_vertex = spl_new(a, surface, sizeof *w.tet_vertex);
    w.joint_of = spl_new(a, (size_t)body->bones.bone_count, sizeof *w.joint_of);
    w.sum = spl_new(a, most, sizeof *w.sum);
    w.used = spl_new(a, (size_t)body->scene->node_count, sizeof *w.used);
    if (w.tet_vertex && w.joint_of && w.sum && w.used) {
        for (size_t v = 0; v < surface; v++) w.tet_vertex[v] = -1;
        run(&w);
        if (w.report->changed == 0)
            result = spl_fail(error, SUPPLE_ERROR_INPUT, "no skinned vertex lies on flesh that a bone holds");
    } else
        result = spl_fail_memory(error, "the new weights");
    spl_free(a, w.tet_vertex);
    spl_free(a, w.joint_of);
    spl_free(a, w.sum);
    spl_free(a, w.used);
    if (result != SUPPLE_OK) spl_new_weights_release(out);
    return result;
}
