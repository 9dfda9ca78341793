#include "body/loosen.h"

#include "core/error.h"
#include "core/memory.h"

#define IN_LINE 0.05  /* of the longest distance squared: the least cross product of points that are not in one line */
enum { PLENTY = 50 }; /* a bone with plenty of vertices has one to spare: no need to look at all */

bool spl_joint_holds(const spl_attach_input *in, const int32_t *bone, int32_t node, int32_t least)
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
        if (spread && count >= least) return true;
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

/* Whether the joint of a vertex holds at least so many others. */
static bool is_spare(const loosening *w, int32_t v, int32_t least)
{
    int32_t k = w->bone[v];
    if (w->count[k] > PLENTY) return true;
    w->bone[v] = -1;
    bool firm = spl_joint_holds(w->in, w->bone, w->in->bones->bone[k].node, least);
    w->bone[v] = k;
    return firm;
}

/* The corner that is farthest from its bone, of those whose joint holds at least so many others; -1 if there is none.
 */
static int32_t farthest(const loosening *w, const int32_t *corner, int32_t least)
{
    int32_t best = -1;
    double most = -1;
    for (int i = 0; i < 4; i++) {
        double depth = spl_capsule_depth(&w->capsules[w->bone[corner[i]]], w->in->tets->position[corner[i]]);
        if ((best >= 0 && depth <= most) || (least > 0 && !is_spare(w, corner[i], least))) continue;
        best = corner[i];
        most = depth;
    }
    return best;
}

static void free_corner(loosening *w, const int32_t *corner)
{
    int32_t v = farthest(w, corner, SPL_HOLD_WELL);
    if (v < 0) v = farthest(w, corner, SPL_HOLD_FIRM);
    if (v < 0) v = farthest(w, corner, 0);
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
