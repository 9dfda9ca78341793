#include "rig/bones.h"

#include "core/error.h"
#include "core/memory.h"
#include "rig/copies.h"
#include "scene/parts.h"

/* Lengths relative to the diagonal of the skinned vertices' box. */
#define ZERO_LENGTH    1e-4 /* a joint this near its parent is the same joint */
#define AT_ORIGIN      1e-3 /* a root this near the origin stands at it */
#define ROOT_INFLUENCE 5e-3 /* ... and is left out if it holds less than this share of all weights */
#define STUB_LENGTH    0.02 /* of a leaf whose flesh gives no length */

/* What the flesh of a joint says about its length, if it is a leaf. */
typedef struct leaf {
    spl_vec3 sum;  /* of area times squared weight times offset from the joint */
    double weight; /* sum of area times squared weight: what is held strongly counts more than the blend at the joint */
    spl_vec3 axis;
    double reach, longest; /* sum of area times squared weight times extent along the axis, and the largest extent */
} leaf;

typedef struct work {
    const supple_scene *scene;
    const spl_part *part;
    int32_t part_count;
    const int32_t *merged_into; /* the bones' */
    spl_vec3 *head;             /* by node: place in the bind pose */
    int32_t *joint;             /* by node: index in a pose, -1 if no joint with influence */
    int32_t *above;             /* by node: the nearest joint above that has bones, -1 if there is none */
    int32_t *child,
        *sibling;      /* by node: first child and next sibling among the joints that have bones, -1 at the end */
    int32_t *arriving; /* by node: the bone that ends there, -1 if none */
    int32_t *stands;   /* by node that others are copies of: the first of them with influence, -1 if none has */
    leaf *leaf;        /* by node */
    double *area;      /* by vertex of the primitive at hand: a third of its triangles' */
    double diagonal;
} work;

/* Calls visit for every influence of every skinned vertex. */
typedef void influence_visit(void *context, int32_t node, float weight, const float *position, double area);

/* Faces are full of vertices that backs of heads have not: what joints move is measured by area. Points without
 * triangles count alike. */
static void measure_areas(const spl_primitive *p, double *area)
{
    for (int32_t v = 0; v < p->vertex_count; v++) area[v] = p->triangle_count == 0;
    for (int32_t t = 0; t < p->triangle_count; t++) {
        const int32_t *c = p->triangle + 3 * (size_t)t;
        spl_vec3 a = spl_v3_from_float(p->position + 3 * (size_t)c[0]);
        spl_vec3 ab = spl_sub(spl_v3_from_float(p->position + 3 * (size_t)c[1]), a);
        spl_vec3 ac = spl_sub(spl_v3_from_float(p->position + 3 * (size_t)c[2]), a);
        for (int k = 0; k < 3; k++) area[c[k]] += spl_norm(spl_cross(ab, ac)) / 6;
    }
}

static void each_influence(const work *w, influence_visit *visit, void *context)
{
    for (int32_t i = 0; i < w->part_count; i++) {
        const spl_part *part = &w->part[i];
        if (!spl_part_skinned(w->scene, part)) continue;
        const spl_primitive *p = part->primitive;
        const spl_skin *skin = &w->scene->skin[w->scene->instance[part->instance].skin];
        size_t k = (size_t)p->influence_count;
        measure_areas(p, w->area);
        for (size_t v = 0; v < (size_t)p->vertex_count; v++)
            for (size_t j = 0; j < k; j++)
                if (p->weight[v * k + j] > 0)
                    visit(context, skin->joint[p->joint[v * k + j]], p->weight[v * k + j], p->position + 3 * v,
                          w->area[v]);
    }
}

static void add_influence(void *context, int32_t node, float weight, const float *position, double area)
{
    (void)position;
    (void)area;
    ((double *)context)[node] += (double)weight;
}

typedef struct box {
    spl_vec3 low, high;
} box;

static void grow_box(void *context, int32_t node, float weight, const float *position, double area)
{
    (void)node;
    (void)weight;
    (void)area;
    box *b = context;
    spl_vec3 p = spl_v3_from_float(position);
    b->low = spl_v3(fmin(b->low.x, p.x), fmin(b->low.y, p.y), fmin(b->low.z, p.z));
    b->high = spl_v3(fmax(b->high.x, p.x), fmax(b->high.y, p.y), fmax(b->high.z, p.z));
}

static void find_joints(work *w, const spl_bones *bones)
{
    for (int32_t i = 0; i < w->scene->node_count; i++) w->joint[i] = w->arriving[i] = -1;
    for (int32_t s = 0; s < w->scene->skin_count; s++) {
        const spl_skin *skin = &w->scene->skin[s];
        for (int32_t j = 0; j < skin->joint_count; j++) {
            int32_t node = skin->joint[j];
            spl_mat4 bind;
            if (w->joint[node] >= 0 || bones->influence[node] <= 0) continue;
            w->joint[node] = skin->first_joint + j;
            if (!spl_mat4_inverse(&skin->inverse_bind[j], &bind)) bind = spl_mat4_identity();
            w->head[node] = spl_v3(bind.m[12], bind.m[13], bind.m[14]);
        }
    }
}

static void find_stands(work *w, const spl_bones *bones)
{
    for (int32_t i = 0; i < w->scene->node_count; i++) w->stands[i] = -1;
    for (int32_t k = 0; k < w->scene->node_count; k++) {
        int32_t node = w->scene->node_order[k], first = bones->same[node];
        if (w->joint[node] >= 0 && w->stands[first] < 0) w->stands[first] = node;
    }
}

/* Of copies one stands for all: what is above is looked for among those that stand for their kind. */
static void merge_zero_lengths(work *w, spl_bones *bones)
{
    for (int32_t k = 0; k < w->scene->node_count; k++) {
        int32_t first = w->scene->node_order[k], parent = w->scene->node[first].parent, above = -1;
        if (bones->same[first] != first) continue;
        if (parent >= 0) {
            int32_t kind = bones->same[parent];
            above = w->stands[kind] >= 0 ? bones->merged_into[w->stands[kind]] : w->above[kind];
        }
        int32_t node = w->stands[first];
        w->above[first] = above;
        if (node < 0) continue;
        w->above[node] = above;
        bool same = above >= 0 && spl_distance(w->head[node], w->head[above]) < ZERO_LENGTH * w->diagonal;
        bones->merged_into[node] = same ? above : node;
    }
    for (int32_t i = 0; i < w->scene->node_count; i++) {
        int32_t node = w->stands[bones->same[i]];
        bones->merged_into[i] = w->joint[i] < 0 ? -1 : bones->merged_into[node];
        if (i != bones->same[i] && i != node) w->above[i] = -1;
    }
}

static void list_children(work *w, const spl_bones *bones)
{
    for (int32_t i = 0; i < w->scene->node_count; i++) w->child[i] = w->sibling[i] = -1;
    for (int32_t i = w->scene->node_count - 1; i >= 0; i--) {
        if (bones->merged_into[i] != i || w->above[i] < 0) continue;
        w->sibling[i] = w->child[w->above[i]];
        w->child[w->above[i]] = i;
    }
}

/* Its nearest child inherits the flesh of a root that is left out. */
static int32_t heir_of(const work *w, int32_t root)
{
    int32_t heir = -1;
    for (int32_t c = w->child[root]; c >= 0; c = w->sibling[c])
        if (heir < 0 || spl_distance(w->head[c], w->head[root]) < spl_distance(w->head[heir], w->head[root])) heir = c;
    return heir;
}

static void drop_roots_at_origin(work *w, spl_bones *bones)
{
    double total = 0;
    for (int32_t i = 0; i < w->scene->node_count; i++) total += bones->influence[i];
    for (int32_t i = 0; i < w->scene->node_count; i++) {
        if (bones->merged_into[i] != i || w->above[i] >= 0 || w->child[i] < 0) continue;
        if (spl_norm(w->head[i]) > AT_ORIGIN * w->diagonal || bones->influence[i] > ROOT_INFLUENCE * total) continue;
        bones->merged_into[i] = heir_of(w, i);
        for (int32_t c = w->child[i]; c >= 0; c = w->sibling[c]) w->above[c] = -1;
    }
    for (int32_t i = 0; i < w->scene->node_count; i++) { /* what had merged into a root that is gone */
        int32_t into = bones->merged_into[i];
        if (into >= 0) bones->merged_into[i] = bones->merged_into[into];
    }
}

static void add_leaf_centre(void *context, int32_t node, float weight, const float *position, double area)
{
    const work *w = context;
    int32_t into = w->merged_into[node];
    double squared = area * (double)weight * (double)weight;
    leaf *l = &w->leaf[into];
    l->sum = spl_madd(l->sum, spl_sub(spl_v3_from_float(position), w->head[into]), squared);
    l->weight += squared;
}

static void add_leaf_length(void *context, int32_t node, float weight, const float *position, double area)
{
    const work *w = context;
    int32_t into = w->merged_into[node];
    leaf *l = &w->leaf[into];
    double along = spl_dot(spl_sub(spl_v3_from_float(position), w->head[into]), l->axis);
    l->reach += area * (double)weight * (double)weight * along;
    if (weight > 0.5f && along > l->longest) l->longest = along;
}

static void measure_leaves(work *w)
{
    each_influence(w, add_leaf_centre, w);
    for (int32_t i = 0; i < w->scene->node_count; i++) {
        leaf *l = &w->leaf[i];
        bool centred = l->weight > 0 && spl_norm(l->sum) > ZERO_LENGTH * w->diagonal * l->weight;
        spl_vec3 onward = w->above[i] >= 0 ? spl_sub(w->head[i], w->head[w->above[i]]) : spl_v3(0, 1, 0);
        l->axis = spl_unit(centred ? l->sum : onward, spl_v3(0, 1, 0));
    }
    each_influence(w, add_leaf_length, w);
}

/* A leaf points to the middle of its flesh and ends where the flesh does: twice the mean reach, not beyond the last. */
static spl_vec3 leaf_tail(const work *w, int32_t node)
{
    const leaf *l = &w->leaf[node];
    double length = l->weight > 0 ? fmin(2 * l->reach / l->weight, l->longest) : 0;
    if (!(length > ZERO_LENGTH * w->diagonal)) length = STUB_LENGTH * w->diagonal;
    return spl_madd(w->head[node], l->axis, length);
}

static void add_bone(work *w, spl_bones *bones, int32_t node, spl_vec3 tail, int32_t child)
{
    bones->bone[bones->bone_count] = (spl_bone){node, w->joint[node], w->arriving[node], w->head[node], tail, node};
    if (child >= 0) w->arriving[child] = bones->bone_count;
    bones->bone_count++;
}

/* Joint after joint in hierarchy order, so that parents come before children. */
static void make_segments(work *w, spl_bones *bones)
{
    for (int32_t k = 0; k < w->scene->node_count; k++) {
        int32_t first = w->scene->node_order[k], node = bones->same[first] == first ? w->stands[first] : -1;
        if (node < 0 || bones->merged_into[node] != node) continue;
        for (int32_t c = w->child[node]; c >= 0; c = w->sibling[c]) add_bone(w, bones, node, w->head[c], c);
        if (w->child[node] < 0) add_bone(w, bones, node, leaf_tail(w, node), -1);
    }
}

static supple_result make_bones(work *w, spl_bones *bones, supple_error *error)
{
    each_influence(w, add_influence, bones->influence);
    box b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    each_influence(w, grow_box, &b);
    w->diagonal = b.low.x <= b.high.x ? spl_distance(b.low, b.high) : 0;
    w->merged_into = bones->merged_into;
    find_joints(w, bones);
    find_stands(w, bones);
    merge_zero_lengths(w, bones);
    list_children(w, bones);
    drop_roots_at_origin(w, bones);
    list_children(w, bones);
    measure_leaves(w);
    /* One segment ends at each joint but the roots, and one more at each leaf. */
    bones->bone = spl_new(&bones->allocator, 2 * (size_t)w->scene->node_count, sizeof *bones->bone);
    if (!bones->bone) return spl_fail_memory(error, "the bones");
    make_segments(w, bones);
    return SUPPLE_OK;
}

static size_t most_vertices(const supple_scene *scene)
{
    int32_t most = 0;
    for (int32_t m = 0; m < scene->mesh_count; m++)
        for (int32_t i = 0; i < scene->mesh[m].primitive_count; i++)
            if (scene->mesh[m].primitive[i].vertex_count > most) most = scene->mesh[m].primitive[i].vertex_count;
    return (size_t)most;
}

supple_result spl_bones_make(const supple_scene *scene, const supple_allocator *a, spl_bones *out, supple_error *error)
{
    size_t n = (size_t)scene->node_count;
    *out = (spl_bones){.allocator = *a, .node_count = scene->node_count};
    out->influence = spl_new(a, n, sizeof *out->influence);
    out->merged_into = spl_new(a, n, sizeof *out->merged_into);
    out->same = spl_new(a, n, sizeof *out->same);
    work w = {.scene = scene};
    spl_part *parts = spl_parts_new(scene, a, &w.part_count);
    int32_t *links = spl_new(a, 6 * n, sizeof *links);
    w.part = parts;
    w.head = spl_new(a, n, sizeof *w.head);
    w.leaf = spl_new(a, n, sizeof *w.leaf);
    w.area = spl_new(a, most_vertices(scene), sizeof *w.area);
    supple_result result = SUPPLE_OK;
    if (!out->influence || !out->merged_into || !out->same || !parts || !links || !w.head || !w.leaf || !w.area) {
        result = spl_fail_memory(error, "the bones");
    } else {
        w.joint = links;
        w.above = links + n;
        w.child = links + 2 * n;
        w.sibling = links + 3 * n;
        w.arriving = links + 4 * n;
        w.stands = links + 5 * n;
        result = spl_copies_find(scene, a, out->same, error);
        if (result == SUPPLE_OK) result = make_bones(&w, out, error);
    }
    spl_free(a, parts);
    spl_free(a, links);
    spl_free(a, w.head);
    spl_free(a, w.leaf);
    spl_free(a, w.area);
    if (result != SUPPLE_OK) spl_bones_release(out);
    return result;
}

void spl_bones_release(spl_bones *bones)
{
    if (bones->allocator.release) {
        spl_free(&bones->allocator, bones->bone);
        spl_free(&bones->allocator, bones->influence);
        spl_free(&bones->allocator, bones->merged_into);
        spl_free(&bones->allocator, bones->same);
    }
    *bones = (spl_bones){0};
}

void spl_bones_merge(spl_bones *bones, int32_t node, int32_t into)
{
    int32_t joint = -1;
    for (int32_t k = 0; k < bones->bone_count; k++)
        if (bones->bone[k].node == into) joint = bones->bone[k].joint;
    for (int32_t k = 0; k < bones->bone_count; k++) {
        if (bones->bone[k].node != node) continue;
        bones->bone[k].node = into;
        bones->bone[k].joint = joint;
    }
    for (int32_t i = 0; i < bones->node_count; i++)
        if (bones->merged_into[i] == node) bones->merged_into[i] = into;
}

bool spl_bones_bends(const spl_bones *bones, int32_t b)
{
    int32_t parent = bones->bone[b].parent;
    if (parent < 0 || bones->bone[parent].node == bones->bone[b].node) return false;
    for (int32_t k = 0; k < b; k++)
        if (bones->bone[k].node == bones->bone[b].node) return false;
    return true;
}
