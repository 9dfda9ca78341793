#include "subspace/visual_make.h"

#include "core/error.h"
#include "core/memory.h"
#include "rig/pose.h"

#include <string.h>

/* ---- the flesh's surface ---- */

static void *copy_of(const supple_allocator *a, const void *from, size_t count, size_t size)
{
    void *to = spl_new(a, count, size);
    if (to && count) memcpy(to, from, count * size);
    return to;
}

/* What upsampling reads, its input being the rig's surface vertices instead of the body's. */
static supple_result make_surface(const spl_body *body, const spl_rig *rig, const supple_allocator *a, spl_surface *s,
                                  supple_error *error)
{
    const spl_surface *skin = &body->skin;
    s->vertex_count = skin->vertex_count;
    s->triangle_count = skin->triangle_count;
    s->input_vertex_count = rig->vertex_count;
    s->position = copy_of(a, skin->position, (size_t)s->vertex_count, sizeof *s->position);
    s->triangle = copy_of(a, skin->triangle, 3 * (size_t)s->triangle_count, sizeof *s->triangle);
    s->map = spl_new(a, (size_t)rig->vertex_count, sizeof *s->map);
    if (!s->position || !s->triangle || !s->map || !spl_visual_link(s, a))
        return spl_fail_memory(error, "a model's visual mesh");
    for (int32_t k = 0; k < rig->vertex_count; k++) s->map[k] = skin->map[rig->vertex[k]];
    return SUPPLE_OK;
}

/* ---- own skinning ---- */

typedef struct making {
    const supple_scene *scene;
    const spl_body *body;
    const spl_rig *rig;
    const supple_allocator *a;
    spl_visual *v;
    int32_t *joint; /* by node: the rig's joint, -1 */
    spl_pose rest;
} making;

static void number_nodes(making *m)
{
    for (int32_t n = 0; n < m->scene->node_count; n++) m->joint[n] = -1;
    for (int32_t b = 0; b < m->body->bones.bone_count; b++)
        m->joint[m->body->bones.bone[b].node] = m->rig->bone[SPL_RIG_BONE_NUMBERS * b];
}

/* A carrier for what follows a node by a map from its own space: W M with M = W_joint^-1 W_node map at rest. */
static void set_carrier(making *m, int32_t carrier, int32_t node, const spl_mat4 *map)
{
    int32_t above = node;
    spl_mat4 M = *map, back;
    while (above >= 0 && m->joint[above] < 0) above = m->scene->node[above].parent;
    if (above != node) {
        M = spl_mat4_mul(&m->rest.world[node], &M);
        if (above >= 0 && spl_mat4_inverse(&m->rest.world[above], &back))
            M = spl_mat4_mul(&back, &M);
        else
            above = -1;
    }
    m->v->carrier_joint[carrier] = above >= 0 ? m->joint[above] : -1;
    memcpy(m->v->carrier_map + 16 * (size_t)carrier, M.m, sizeof M.m);
}

/* Joints of all skins, then instances without one, then the nodes that riders look at. */
static bool make_carriers(making *m)
{
    const supple_scene *scene = m->scene;
    const spl_riders *r = &m->body->riders;
    spl_visual *v = m->v;
    int32_t at = 0;
    v->carrier_count = scene->joint_count + scene->instance_count + (r->vertex_count > 0 ? r->node_count : 0);
    v->carrier_joint = spl_new(m->a, (size_t)v->carrier_count, sizeof *v->carrier_joint);
    v->carrier_map = spl_new(m->a, (size_t)v->carrier_count, 16 * sizeof *v->carrier_map);
    if (!v->carrier_joint || !v->carrier_map) return false;
    spl_mat4 none = spl_mat4_identity();
    for (int32_t k = 0; k < scene->skin_count; k++)
        for (int32_t j = 0; j < scene->skin[k].joint_count; j++)
            set_carrier(m, scene->skin[k].first_joint + j, scene->skin[k].joint[j], &scene->skin[k].inverse_bind[j]);
    at = scene->joint_count;
    for (int32_t i = 0; i < scene->instance_count; i++) set_carrier(m, at++, scene->instance[i].node, &none);
    for (int32_t n = 0; r->vertex_count > 0 && n < r->node_count; n++) set_carrier(m, at++, n, &r->home[n]);
    return true;
}

/* Influences of a primitive's vertex; their number. `write` -1: counts them. */
static int32_t weigh(const making *m, int32_t instance, const spl_primitive *p, int32_t vertex, int32_t write)
{
    const spl_instance *in = &m->scene->instance[instance];
    spl_visual *v = m->v;
    int32_t count = 0;
    for (int32_t k = 0; in->skin >= 0 && k < p->influence_count; k++) {
        size_t from = (size_t)vertex * (size_t)p->influence_count + (size_t)k;
        if (!(p->weight[from] > 0)) continue;
        if (write >= 0) {
            v->carrier[write + count] = m->scene->skin[in->skin].first_joint + p->joint[from];
            v->weight[write + count] = fminf(p->weight[from], 1);
        }
        count++;
    }
    if (count > 0) return count;
    if (write >= 0) v->carrier[write] = m->scene->joint_count + instance, v->weight[write] = 1;
    return 1;
}

static void fill_primitive(making *m, int32_t instance, const spl_primitive *p, int32_t first, bool write)
{
    spl_visual *v = m->v;
    for (int32_t k = 0; k < p->vertex_count; k++) {
        size_t to = (size_t)first + (size_t)k;
        int32_t count = weigh(m, instance, p, k, write ? v->first[to] : -1);
        if (!write) v->first[to + 1] = v->first[to] + count;
        memcpy(v->rest + 3 * to, p->position + 3 * (size_t)k, 3 * sizeof *v->rest);
        if (p->normal) memcpy(v->normal + 3 * to, p->normal + 3 * (size_t)k, 3 * sizeof *v->normal);
    }
    for (int32_t k = 0; k < 3 * p->triangle_count && write; k++)
        v->triangle[3 * (size_t)v->triangle_count + (size_t)k] = p->triangle[k] + first;
    if (write) v->triangle_count += p->triangle_count;
}

static void fill_all(making *m, bool write)
{
    for (int32_t i = 0; i < m->scene->instance_count; i++) {
        const spl_mesh *mesh = &m->scene->mesh[m->scene->instance[i].mesh];
        int32_t vertex = m->scene->instance[i].first_vertex;
        for (int32_t p = 0; p < mesh->primitive_count; p++) {
            fill_primitive(m, i, &mesh->primitive[p], vertex, write);
            vertex += mesh->primitive[p].vertex_count;
        }
    }
}

static bool make_skin(making *m)
{
    spl_visual *v = m->v;
    size_t n = (size_t)v->vertex_count;
    v->first = spl_new(m->a, n + 1, sizeof *v->first);
    v->rest = spl_new(m->a, n, 3 * sizeof *v->rest);
    v->normal = spl_new(m->a, n, 3 * sizeof *v->normal);
    v->flesh = spl_new(m->a, n, sizeof *v->flesh);
    v->triangle = spl_new(m->a, (size_t)m->scene->triangle_count, 3 * sizeof *v->triangle);
    if (!v->first || !v->rest || !v->normal || !v->flesh || !v->triangle) return false;
    fill_all(m, false);
    v->carrier = spl_new(m->a, (size_t)v->first[n], sizeof *v->carrier);
    v->weight = spl_new(m->a, (size_t)v->first[n], sizeof *v->weight);
    if (!v->carrier || !v->weight) return false;
    fill_all(m, true);
    for (size_t k = 0; k < n; k++) v->flesh[k] = m->body->lifted[k];
    return true;
}

/* ---- what rides ---- */

static supple_result make_riders(making *m, supple_error *error)
{
    const spl_riders *from = &m->body->riders;
    const supple_allocator *a = m->a;
    spl_riders *r = &m->v->riders;
    size_t riders = (size_t)from->vertex_count, points = (size_t)from->point_count, body = (size_t)from->body_count;
    if (riders == 0) return SUPPLE_OK;
    *r = (spl_riders){.allocator = *a, .vertex_count = from->vertex_count, .point_count = from->point_count};
    r->body_count = from->body_count;
    r->node_count = m->v->carrier_count;
    r->vertex = copy_of(a, from->vertex, riders, sizeof *r->vertex);
    r->point = copy_of(a, from->point, riders, sizeof *r->point);
    r->known = copy_of(a, from->known, points, sizeof *r->known);
    r->taken = copy_of(a, from->taken, points, sizeof *r->taken);
    r->first = copy_of(a, from->first, points + 1, sizeof *r->first);
    r->index = copy_of(a, from->index, (size_t)from->first[points], sizeof *r->index);
    r->weight = copy_of(a, from->weight, (size_t)from->first[points], sizeof *r->weight);
    r->link_first = copy_of(a, from->link_first, points + 1, sizeof *r->link_first);
    r->link = copy_of(a, from->link, (size_t)from->link_first[points], sizeof *r->link);
    r->body = copy_of(a, from->body, body, sizeof *r->body);
    r->skin_first = copy_of(a, from->skin_first, body + 1, sizeof *r->skin_first);
    r->skin_node = copy_of(a, from->skin_node, (size_t)from->skin_first[body], sizeof *r->skin_node);
    r->skin_weight = copy_of(a, from->skin_weight, (size_t)from->skin_first[body], sizeof *r->skin_weight);
    r->rest = copy_of(a, from->rest, body, sizeof *r->rest);
    r->home = copy_of(a, m->v->carrier_map, (size_t)r->node_count, sizeof *r->home);
    if (!r->vertex || !r->point || !r->known || !r->taken || !r->first || !r->index || !r->weight || !r->link_first ||
        !r->link || !r->body || !r->skin_first || !r->skin_node || !r->skin_weight || !r->rest || !r->home)
        return spl_fail_memory(error, "a model's visual mesh");
    for (size_t k = 0; k < body; k++)
        if ((r->body[k] = spl_rig_place(m->rig, from->body[k])) < 0)
            return spl_fail(error, SUPPLE_ERROR_INPUT, "what rides on the flesh rides on none of its surface");
    int32_t nodes = m->scene->joint_count + m->scene->instance_count;
    for (int32_t k = 0; k < r->skin_first[body]; k++) r->skin_node[k] += nodes;
    return SUPPLE_OK;
}

/* ---- all ---- */

supple_result spl_visual_make(const supple_scene *scene, const spl_body *body, const spl_rig *rig,
                              const supple_allocator *a, spl_visual *out, supple_error *error)
{
    making m = {.scene = scene, .body = body, .rig = rig, .a = a, .v = out};
    *out = (spl_visual){0};
    if (!body->upsample) return SUPPLE_OK;
    out->vertex_count = scene->vertex_count;
    out->metre = body->metre;
    m.joint = spl_new(a, (size_t)scene->node_count, sizeof *m.joint);
    supple_result result =
        m.joint ? spl_pose_init(&m.rest, scene, error) : spl_fail_memory(error, "a model's visual mesh");
    if (result == SUPPLE_OK) {
        spl_pose_sample(&m.rest, scene, -1, 0);
        number_nodes(&m);
        if (!make_carriers(&m) || !make_skin(&m)) result = spl_fail_memory(error, "a model's visual mesh");
    }
    if (result == SUPPLE_OK) result = make_surface(body, rig, a, &out->surface, error);
    if (result == SUPPLE_OK) result = spl_upsample_copy(body->upsample, &out->surface, a, &out->map, error);
    if (result == SUPPLE_OK) result = make_riders(&m, error);
    spl_pose_release(&m.rest);
    spl_free(a, m.joint);
    if (result != SUPPLE_OK) spl_visual_release(out, a);
    return result;
}
