#include "body/loosen.h"

#include "core/error.h"
#include "core/memory.h"

#define IN_LINE 0.05 /* of the longest distance squared: the least cross product of points that are not in one line */
enum { HOLD_AT_LEAST = 4, PLENTY = 50 }; /* a bone with plenty of vertices has one to spare: no need to look at all */

bool spl_joint_is_firm(const spl_attach_input *in, const int32_t *bone, int32_t node)
{
    int32_t count = 0;
    bool spread = false;
    spl_vec3 first = {0}, axis = {0};
    for (int32_t v = 0; v < in->tets->vertex_count; v++) {
        if (bone[v] < 0 || in->bones->bone[bone[v]].node != node) continue;
        spl_vec3 d = spl_sub(in->tets->position[v], first);
        if (count++ == 0) {
            first = in->tets->position[v];
            continue;
        }
        double longest = fmax(spl_norm(d), spl_norm(axis));
        spread = spread || spl_norm(spl_cross(axis, d)) > IN_LINE * longest * longest;
        if (spl_norm(d) > spl_norm(axis)) axis = d;
        if (spread && count >= HOLD_AT_LEAST) return true;
    }
    return false;
}

/* Whether all corners are held, by more than one joint. */
static bool is_stuck(const spl_attach_input *in, const int32_t *bone, const int32_t *corner)
{
    bool differ = false;
    for (int i = 0; i < 4; i++) {
        if (bone[corner[i]] < 0) return false;
        differ = differ || in->bones->bone[bone[corner[i]]].node != in->bones->bone[bone[corner[0]]].node;
    }
    return differ;
}

typedef struct loosening {
    const spl_attach_input *in;
    const spl_capsule *capsules;
    int32_t *bone;
    int32_t *count; /* by bone: vertices it holds */
} loosening;

static bool is_spare(const loosening *w, int32_t v)
{
    int32_t k = w->bone[v];
    if (w->count[k] > PLENTY) return true;
    w->bone[v] = -1;
    bool firm = spl_joint_is_firm(w->in, w->bone, w->in->bones->bone[k].node);
    w->bone[v] = k;
    return firm;
}

/* Frees the corner that is farthest from its bone, of those whose joint stays firm; of all if none does. */
static void free_corner(loosening *w, const int32_t *corner)
{
    int32_t best = -1, any = -1;
    double most = -1, most_any = -1;
    for (int i = 0; i < 4; i++) {
        int32_t v = corner[i];
        double depth = spl_capsule_depth(&w->capsules[w->bone[v]], w->in->tets->position[v]);
        if (any < 0 || depth > most_any) {
            any = v;
            most_any = depth;
        }
        if ((best >= 0 && depth <= most) || !is_spare(w, v)) continue;
        best = v;
        most = depth;
    }
    int32_t v = best >= 0 ? best : any;
    w->count[w->bone[v]]--;
    w->bone[v] = -1;
}

supple_result spl_loosen(const spl_attach_input *in, const spl_capsule *capsules, int32_t *bone, int32_t *freed,
                         supple_error *error)
{
    loosening w = {in, capsules, bone, spl_new(in->allocator, (size_t)in->bones->bone_count, sizeof *w.count)};
    if (!w.count) return spl_fail_memory(error, "the attachments");
    for (int32_t v = 0; v < in->tets->vertex_count; v++)
        if (bone[v] >= 0) w.count[bone[v]]++;
    for (int32_t n = 0; n < in->tets->tet_count; n++) {
        const int32_t *corner = in->tets->tet + 4 * (size_t)n;
        if (!is_stuck(in, bone, corner)) continue;
        free_corner(&w, corner);
        (*freed)++;
    }
    spl_free(in->allocator, w.count);
    return SUPPLE_OK;
}
