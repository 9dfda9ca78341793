/* Forces of a file on the tetrahedra of a body. */
#include "body/force_file.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double spl_force_strength(const spl_force *force, int32_t frame)
{
    if (frame < force->first || frame > force->last) return 0;
    int64_t since = (int64_t)frame - (force->first == INT32_MIN ? 0 : force->first);
    if (force->ramp == 0) return 1;
    return fmin(1, fmax(0, (double)since / force->ramp));
}

void spl_force_set_at(const spl_force_set *set, int32_t frame, double *force)
{
    memset(force, 0, 3 * (size_t)set->vertex_count * sizeof *force);
    for (int32_t i = 0; i < set->force_count; i++) {
        spl_vec3 f = spl_scale(set->force[i].newton, spl_force_strength(&set->force[i], frame));
        for (size_t k = set->first[i]; k < set->first[i + 1]; k++) {
            double *at = force + 3 * (size_t)set->share[k].vertex, share = set->share[k].share;
            at[0] += share * f.x;
            at[1] += share * f.y;
            at[2] += share * f.z;
        }
    }
}

void spl_force_set_release(spl_force_set *set)
{
    spl_free(&set->allocator, set->force);
    spl_free(&set->allocator, set->first);
    spl_free(&set->allocator, set->share);
    *set = (spl_force_set){0};
}

/* ---- finding the shares ----------------------------------------------------------------------------------------- */

typedef struct work {
    const spl_body *body;
    const spl_force_file *file;
    const supple_allocator *a;
    supple_error *error;
    spl_force_set *out;
    double *share;            /* by tet vertex, of the force at hand */
    int32_t *source;          /* by vertex of the tets' surface: a tet vertex there */
    spl_tree tree;            /* of the tets' surface, if some force names vertices */
    spl_selection *selection; /* if some force names a joint */
    bool *member;
} work;

static supple_result refuse(const work *w, int32_t index, const char *what, int32_t vertex)
{
    const char *label = w->file->force[index].label;
    if (vertex < 0) return spl_fail(w->error, SUPPLE_ERROR_INPUT, "%.70s: %s %s", w->file->name, label, what);
    return spl_fail(w->error, SUPPLE_ERROR_INPUT, "%.70s: %s: vertex %d %s", w->file->name, label, vertex, what);
}

/* Whether the flesh moves a visual vertex. */
static bool is_moved(const spl_body *body, int32_t vertex)
{
    return spl_role_rides((supple_role)body->roles.vertex[vertex]);
}

/* An equal part of the force to a visual vertex, by the transpose of what moves it. */
static void share_vertex(work *w, int32_t vertex, double part)
{
    int32_t index[2 * SPL_UPSAMPLE_MOST_NEIGHBOURS];
    float weight[2 * SPL_UPSAMPLE_MOST_NEIGHBOURS];
    int32_t n = spl_upsample_weights(w->body->upsample, vertex, 2 * SPL_UPSAMPLE_MOST_NEIGHBOURS, index, weight);
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)weight[i];
    for (int32_t i = 0; i < n; i++) w->share[w->source[index[i]]] += part * (double)weight[i] / sum;
    if (n > 0) return;
    spl_hit hit;
    spl_tree_nearest(&w->tree, spl_v3_from_float(w->body->bind + 3 * (size_t)vertex), INFINITY, -1, &hit);
    for (size_t k = 0; k < 3; k++)
        w->share[w->source[w->body->skin.triangle[3 * (size_t)hit.triangle + k]]] += part * hit.bary[k];
}

static supple_result share_vertices(work *w, int32_t index)
{
    const spl_force *f = &w->file->force[index];
    for (int32_t i = 0; i < f->vertex_count; i++) {
        if (f->vertex[i] >= w->body->scene->vertex_count)
            return refuse(w, index, "is not there: the character has fewer vertices", f->vertex[i]);
        if (!is_moved(w->body, f->vertex[i]))
            return refuse(w, index, "is in a part that the flesh does not move", f->vertex[i]);
        share_vertex(w, f->vertex[i], 1.0 / f->vertex_count);
    }
    return SUPPLE_OK;
}

/* Equal parts to the vertices marked by a share above 0, unless bones hold them. */
static supple_result share_evenly(work *w, int32_t index, const char *nothing)
{
    int32_t count = 0, held = 0, n = w->body->tets.vertex_count;
    for (int32_t v = 0; v < n; v++) {
        if (w->share[v] > 0 && w->body->bone[v] >= 0) {
            w->share[v] = 0;
            held++;
        }
        count += w->share[v] > 0;
    }
    if (count == 0) return refuse(w, index, held ? "acts on nothing that moves: bones hold all of it" : nothing, -1);
    for (int32_t v = 0; v < n; v++)
        if (w->share[v] > 0) w->share[v] = 1.0 / count;
    return SUPPLE_OK;
}

static supple_result share_sphere(work *w, int32_t index)
{
    const spl_force *f = &w->file->force[index];
    for (int32_t v = 0; v < w->body->tets.vertex_count; v++)
        if (spl_distance(w->body->tets.position[v], f->center) <= f->radius) w->share[v] = 1;
    return share_evenly(w, index, "acts on nothing: no vertex of the tetrahedra is in its sphere");
}

static supple_result share_joint(work *w, int32_t index)
{
    const spl_tets *t = &w->body->tets;
    spl_selector selector = {.joint = w->file->force[index].joint, .depth = INFINITY};
    int32_t count;
    char why[100];
    supple_result result = spl_selection_find(w->selection, &selector, w->member, &count, why, w->error);
    if (result != SUPPLE_OK) return result;
    for (int32_t k = 0; k < t->tet_count; k++)
        for (size_t i = 0; w->member[k] && i < 4; i++) w->share[t->tet[4 * (size_t)k + i]] = 1;
    char nothing[120];
    snprintf(nothing, sizeof nothing, "acts on nothing: %s", why);
    return share_evenly(w, index, nothing);
}

/* Appends the shares of one force to the set. */
static supple_result keep_shares(work *w, int32_t index)
{
    spl_force_set *out = w->out;
    size_t first = out->first[index], count = 0;
    for (int32_t v = 0; v < out->vertex_count; v++) count += w->share[v] != 0;
    spl_force_share *grown = spl_resize(w->a, out->share, first + count + 1, sizeof *grown);
    if (!grown) return spl_fail_memory(w->error, "forces");
    out->share = grown;
    for (int32_t v = 0; v < out->vertex_count; v++)
        if (w->share[v] != 0) out->share[first++] = (spl_force_share){v, w->share[v]};
    out->first[index + 1] = first;
    return SUPPLE_OK;
}

static supple_result share_force(work *w, int32_t index)
{
    const spl_force *f = &w->file->force[index];
    memset(w->share, 0, (size_t)w->out->vertex_count * sizeof *w->share);
    w->out->force[index] = (spl_force){.newton = f->newton, .first = f->first, .last = f->last, .ramp = f->ramp};
    supple_result result = f->vertex  ? share_vertices(w, index)
                           : f->joint ? share_joint(w, index)
                                      : share_sphere(w, index);
    return result == SUPPLE_OK ? keep_shares(w, index) : result;
}

/* ---- the set ---------------------------------------------------------------------------------------------------- */

/* What the kinds of forces in the file need. */
static supple_result prepare(work *w, spl_selection *selection)
{
    const spl_body *body = w->body;
    bool vertices = false, joints = false;
    for (int32_t i = 0; i < w->file->force_count; i++) {
        vertices |= w->file->force[i].vertex != NULL;
        joints |= w->file->force[i].joint != NULL;
    }
    supple_result result = SUPPLE_OK;
    if (vertices)
        result = spl_tree_make(body->skin.position, body->skin.triangle, body->skin.triangle_count, w->a, &w->tree,
                               w->error);
    if (result == SUPPLE_OK && joints) {
        result = spl_selection_make(body, w->a, selection, w->error);
        if (result == SUPPLE_OK) w->selection = selection;
    }
    for (int32_t v = body->tets.vertex_count - 1; v >= 0; v--)
        if (body->skin.map[v] >= 0) w->source[body->skin.map[v]] = v;
    return result;
}

supple_result spl_force_set_make(const spl_body *body, const spl_force_file *file, const supple_allocator *a,
                                 spl_force_set *out, supple_error *error)
{
    size_t n = (size_t)file->force_count, m = (size_t)body->tets.vertex_count;
    *out = (spl_force_set){.allocator = *a, .vertex_count = body->tets.vertex_count, .force_count = file->force_count};
    out->force = spl_new(a, n, sizeof *out->force);
    out->first = spl_new(a, n + 1, sizeof *out->first);
    work w = {.body = body, .file = file, .a = a, .error = error, .out = out};
    w.share = spl_new(a, m, sizeof *w.share);
    w.source = spl_new(a, (size_t)body->skin.vertex_count, sizeof *w.source);
    w.member = spl_new(a, (size_t)body->tets.tet_count, sizeof *w.member);
    spl_selection selection;
    bool made = out->force && out->first && w.share && w.source && w.member;
    supple_result result = made ? prepare(&w, &selection) : spl_fail_memory(error, "forces");
    for (int32_t i = 0; result == SUPPLE_OK && i < file->force_count; i++) result = share_force(&w, i);
    spl_free(a, w.share);
    spl_free(a, w.source);
    spl_free(a, w.member);
    spl_tree_release(&w.tree);
    if (w.selection) spl_selection_release(w.selection);
    if (result != SUPPLE_OK) spl_force_set_release(out);
    return result;
}
