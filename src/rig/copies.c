#include "rig/copies.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>

#define EQUAL      1e-5 /* difference of two numbers, of the larger (or of 1), that is rounding */
#define SAME_BIND  1e-3 /* the same of bind matrices, which are products of many */
#define LISTS_MOST 4096 /* siblings that are compared with each other: more are no skeleton */
enum { PATHS = 3 };     /* translation, rotation, scale */

typedef struct work {
    const supple_scene *scene;
    int32_t *same;
    int32_t *skin, *slot;     /* by node: the first skin that has it as a joint, and where; -1 */
    int32_t *child, *sibling; /* by node, and one more for the roots: first nodes of their kind below; -1 at the end */
    int32_t *channel;         /* PATHS x node: the channel of the clip at hand, -1 */
    bool *alone;              /* by node: some clip moves it otherwise than what it looks like */
} work;

static bool is_equal(double a, double b, double within)
{
    return fabs(a - b) <= within * fmax(1, fmax(fabs(a), fabs(b)));
}

static bool is_equal_matrix(const spl_mat4 *a, const spl_mat4 *b, double within)
{
    for (int i = 0; i < 16; i++)
        if (!is_equal(a->m[i], b->m[i], within)) return false;
    return true;
}

static bool is_equal_local(const spl_node *a, const spl_node *b)
{
    spl_mat4 m = a->has_matrix ? a->matrix : spl_mat4_trs(a->t, a->r, a->s);
    spl_mat4 n = b->has_matrix ? b->matrix : spl_mat4_trs(b->t, b->r, b->s);
    return is_equal_matrix(&m, &n, EQUAL);
}

static bool has_joint(const spl_skin *skin, int32_t node)
{
    for (int32_t j = 0; j < skin->joint_count; j++)
        if (skin->joint[j] == node) return true;
    return false;
}

/* Whether two nodes may be one joint of two skins; nodes that are no joints may always. */
static bool may_be_one(const work *w, int32_t a, int32_t b)
{
    if (w->skin[a] < 0 && w->skin[b] < 0) return true;
    if (w->skin[a] < 0 || w->skin[b] < 0) return false;
    const spl_skin *s = &w->scene->skin[w->skin[a]], *t = &w->scene->skin[w->skin[b]];
    if (!is_equal_matrix(&s->inverse_bind[w->slot[a]], &t->inverse_bind[w->slot[b]], SAME_BIND)) return false;
    for (int32_t i = 0; i < w->scene->skin_count; i++)
        if (has_joint(&w->scene->skin[i], a) && has_joint(&w->scene->skin[i], b)) return false;
    return true;
}

/* Whether a node fits to all that are taken for copies of another already. */
static bool fits(const work *w, int32_t node, int32_t first)
{
    if (!is_equal_local(&w->scene->node[node], &w->scene->node[first])) return false;
    for (int32_t i = 0; i < w->scene->node_count; i++)
        if (i != node && w->same[i] == first && !may_be_one(w, node, i)) return false;
    return true;
}

/* Parents before children, so that the parents' answers are known. */
static void match(work *w)
{
    int32_t count = w->scene->node_count;
    for (int32_t i = 0; i <= count; i++) w->child[i] = w->sibling[i] = -1;
    for (int32_t i = 0; i < count; i++) w->same[i] = -1;
    for (int32_t k = 0; k < count; k++) {
        int32_t node = w->scene->node_order[k], parent = w->scene->node[node].parent;
        int32_t above = parent >= 0 ? w->same[parent] : count, left = LISTS_MOST;
        w->same[node] = node;
        for (int32_t c = w->child[above]; c >= 0 && left-- > 0 && !w->alone[node]; c = w->sibling[c])
            if (!w->alone[c] && fits(w, node, c)) {
                w->same[node] = c;
                break;
            }
        if (w->same[node] != node) continue;
        int32_t *end = &w->child[above];
        for (left = LISTS_MOST; *end >= 0 && left > 0; left--) end = &w->sibling[*end];
        if (*end < 0) *end = node;
    }
}

static bool is_equal_channel(const spl_channel *a, const spl_channel *b)
{
    if (a->interpolation != b->interpolation || a->key_count != b->key_count || a->width != b->width) return false;
    size_t values = (size_t)a->key_count * (size_t)a->width * (a->interpolation == SPL_CUBIC ? 3 : 1);
    for (int32_t i = 0; i < a->key_count; i++)
        if (!is_equal((double)a->time[i], (double)b->time[i], EQUAL)) return false;
    for (size_t i = 0; i < values; i++)
        if (!is_equal((double)a->value[i], (double)b->value[i], EQUAL)) return false;
    return true;
}

/* Marks nodes that a clip moves otherwise than what they are matched with; whether there are any. */
static bool find_alone(work *w, const spl_clip *clip)
{
    bool found = false;
    for (int32_t i = 0; i < PATHS * w->scene->node_count; i++) w->channel[i] = -1;
    for (int32_t c = 0; c < clip->channel_count; c++)
        if ((int)clip->channel[c].path < PATHS)
            w->channel[PATHS * clip->channel[c].node + (int)clip->channel[c].path] = c;
    for (int32_t i = 0; i < w->scene->node_count; i++)
        for (int p = 0; p < PATHS && w->same[i] != i && !w->alone[i]; p++) {
            int32_t own = w->channel[PATHS * i + p], other = w->channel[PATHS * w->same[i] + p];
            bool differ = (own < 0) != (other < 0);
            if (own >= 0 && other >= 0) differ = !is_equal_channel(&clip->channel[own], &clip->channel[other]);
            if (!differ) continue;
            found = w->alone[i] = true;
        }
    return found;
}

static void find(work *w)
{
    const supple_scene *scene = w->scene;
    for (int32_t i = 0; i < scene->node_count; i++) w->skin[i] = w->slot[i] = -1;
    for (int32_t s = scene->skin_count - 1; s >= 0; s--)
        for (int32_t j = scene->skin[s].joint_count - 1; j >= 0; j--) {
            w->skin[scene->skin[s].joint[j]] = s;
            w->slot[scene->skin[s].joint[j]] = j;
        }
    bool again = scene->skin_count > 1;
    for (int32_t i = 0; i < scene->node_count; i++) w->same[i] = i;
    while (again) { /* every round leaves one more out */
        again = false;
        match(w);
        for (int32_t c = 0; c < scene->clip_count; c++)
            if (find_alone(w, &scene->clip[c])) again = true;
    }
}

supple_result spl_copies_find(const supple_scene *scene, const supple_allocator *a, int32_t *same, supple_error *error)
{
    size_t n = (size_t)scene->node_count;
    int32_t *links = spl_new(a, (4 + PATHS) * n + 2, sizeof *links);
    work w = {.scene = scene, .same = same, .alone = spl_new(a, n, sizeof *w.alone)};
    supple_result result = SUPPLE_OK;
    if (links && w.alone) {
        w.skin = links;
        w.slot = links + n;
        w.child = links + 2 * n;
        w.sibling = links + 3 * n + 1;
        w.channel = links + 4 * n + 2;
        find(&w);
    } else
        result = spl_fail_memory(error, "the copies of a skeleton");
    spl_free(a, links);
    spl_free(a, w.alone);
    return result;
}
