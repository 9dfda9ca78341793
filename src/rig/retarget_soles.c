#include "rig/retarget_soles.h"

#include "rig/bind.h"

#define PI 3.14159265358979323846
enum { AZIMUTHS = 8, TILTS = 3, DIRECTIONS = 1 + AZIMUTHS * TILTS }; /* down, and around it */

/* The vertices of one foot or one set of toes. */
typedef struct foot {
    int32_t joint;
    double low; /* height of the lowest vertex at rest */
    double reach[DIRECTIONS];
    spl_vec3 point[DIRECTIONS]; /* in the mesh space of the first skin */
} foot;

typedef struct walk {
    const supple_scene *scene;
    const spl_match *match;
    const spl_rest *rest;
    spl_vec3 direction[DIRECTIONS]; /* of the world at rest */
    foot foot[4];
    int foot_count;
} walk;

static foot *foot_of(walk *w, int32_t node)
{
    for (; node >= 0; node = w->rest->from_node[node])
        for (int i = 0; i < w->foot_count; i++)
            if (w->match->node[w->foot[i].joint] == node) return &w->foot[i];
    return NULL;
}

/* A foot that turns touches the ground with the vertex that was farthest in the direction that is down now. */
static void keep_farthest(walk *w, foot *f, spl_vec3 mesh)
{
    spl_vec3 p = spl_mat4_point(&w->rest->modelled, mesh);
    f->low = fmin(f->low, spl_dot(p, w->rest->up));
    for (int d = 0; d < DIRECTIONS; d++) {
        double reach = spl_dot(p, w->direction[d]);
        if (!(reach > f->reach[d])) continue;
        f->reach[d] = reach;
        f->point[d] = mesh;
    }
}

/* Every vertex that follows a foot most. */
static void visit_primitive(walk *w, const spl_primitive *p, int32_t skin)
{
    spl_mat4 home = spl_bind_between(w->scene, skin, 0);
    for (size_t v = 0; v < (size_t)p->vertex_count && p->influence_count > 0; v++) {
        foot *f = foot_of(w, w->scene->skin[skin].joint[p->joint[v * (size_t)p->influence_count]]);
        if (!f) continue;
        keep_farthest(w, f, spl_mat4_point(&home, spl_v3_from_float(p->position + 3 * v)));
    }
}

static void visit_vertices(walk *w)
{
    const supple_scene *scene = w->scene;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        for (int32_t k = 0; k < mesh->primitive_count && scene->instance[i].skin >= 0; k++)
            visit_primitive(w, &mesh->primitive[k], scene->instance[i].skin);
    }
}

static void set_directions(walk *w)
{
    spl_vec3 down = spl_scale(w->rest->up, -1), ahead = fabs(down.x) > 0.5 ? spl_v3(0, 1, 0) : spl_v3(1, 0, 0);
    spl_vec3 aside = spl_cross(down, ahead);
    w->direction[0] = down;
    for (int t = 0; t < TILTS; t++)
        for (int a = 0; a < AZIMUTHS; a++) {
            double tilt = (t + 1) * PI / 8, angle = 2 * a * PI / AZIMUTHS;
            spl_vec3 level = spl_add(spl_scale(ahead, cos(angle)), spl_scale(aside, sin(angle)));
            w->direction[1 + t * AZIMUTHS + a] = spl_add(spl_scale(down, cos(tilt)), spl_scale(level, sin(tilt)));
        }
}

static void collect(const walk *w, spl_soles *out)
{
    out->ground = INFINITY;
    for (int i = 0; i < w->foot_count; i++) {
        const foot *f = &w->foot[i];
        spl_mat4 inverse;
        if (!spl_bind_inverse(w->scene, 0, w->match->node[f->joint], &inverse)) continue;
        for (int d = 0; d < DIRECTIONS; d++) {
            if (!isfinite(f->reach[d])) continue;
            out->joint[out->count] = f->joint;
            out->local[out->count++] = spl_mat4_point(&inverse, f->point[d]);
        }
        out->ground = fmin(out->ground, f->low);
    }
}

void spl_soles_find(const supple_scene *scene, const spl_match *match, const spl_rest *rest, spl_soles *out)
{
    const int32_t feet[4] = {rest->foot[0], rest->foot[1], rest->toe[0], rest->toe[1]};
    walk w = {.scene = scene, .match = match, .rest = rest};
    *out = (spl_soles){0};
    set_directions(&w);
    for (int i = 0; i < 4; i++) {
        if (feet[i] < 0) continue;
        foot *f = &w.foot[w.foot_count++];
        *f = (foot){.joint = feet[i], .low = INFINITY};
        for (int d = 0; d < DIRECTIONS; d++) f->reach[d] = -INFINITY;
    }
    visit_vertices(&w);
    collect(&w, out);
}
