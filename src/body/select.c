#include "body/select.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what is known of each tet ---------------------------------------------------------------------------------- */

#define FOLLOWED 0.05 /* weight of a bone's joint at the skin from which on its flesh may be that bone's */

static void find_parts(spl_selection *s)
{
    const spl_body *body = s->body;
    for (int32_t t = 0; t < body->surface.triangle_count; t++) s->part[t] = spl_body_source(body, t, &s->primitive[t]);
}

/* The nearest place, unless that is another limb's. Distance from a surface grows no faster than one moves: a corner
 * whose own place is farther than that allows was denied the nearest one, because it belongs to another limb. If this
 * is so for all corners, the nearest corner's place is taken. */
static void find_place(spl_selection *s, const spl_tree *tree, int32_t tet, spl_hit *last)
{
    const spl_body *body = s->body;
    spl_vec3 x = spl_tet_centroid(&body->tets, tet);
    spl_tree_nearest(tree, x, INFINITY, last->triangle, last);
    s->place[tet] = (spl_place){last->triangle, {last->bary[0], last->bary[1], last->bary[2]}};
    s->distance[tet] = last->distance;
    const spl_place *own = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < 4; i++) {
        int32_t corner = body->tets.tet[4 * (size_t)tet + i];
        const spl_place *place = &body->place[corner];
        if (place->triangle < 0) continue;
        double off = spl_distance(body->tets.position[corner], spl_surface_point(&body->surface, place));
        double allowed = last->distance + spl_distance(body->tets.position[corner], x);
        if (off <= allowed + 1e-6 * body->surface.diagonal) return;
        if (off < least) {
            least = off;
            own = place;
        }
    }
    if (!own) return;
    s->place[tet] = *own;
    s->distance[tet] = spl_distance(x, spl_surface_point(&body->surface, own));
}

/* How much the skin at a place follows a joint. */
static double weight_at(const spl_body *body, const spl_place *place, int32_t node)
{
    const spl_skin_weights *w = &body->weights;
    double sum = 0;
    for (size_t k = 0; k < 3; k++) {
        int32_t corner = body->surface.triangle[3 * (size_t)place->triangle + k];
        for (int32_t j = w->first[corner]; j < w->first[corner + 1]; j++)
            if (w->node[j] == node) sum += place->bary[k] * w->weight[j];
    }
    return sum;
}

/* The nearest bone that the skin follows; of all bones where it follows none. */
static int32_t find_bone(const spl_selection *s, int32_t tet)
{
    const spl_bones *bones = &s->body->bones;
    spl_vec3 x = spl_tet_centroid(&s->body->tets, tet);
    int32_t best[2] = {-1, -1};
    double least[2] = {INFINITY, INFINITY}, weight = 0;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        const spl_bone *bone = &bones->bone[b];
        double bary[3], d = spl_triangle_nearest(x, bone->head, bone->tail, bone->tail, bary);
        if (b == 0 || bone->node != bones->bone[b - 1].node) weight = weight_at(s->body, &s->place[tet], bone->node);
        for (int all = 0; all < 2; all++)
            if ((all || weight >= FOLLOWED) && d < least[all]) {
                least[all] = d;
                best[all] = b;
            }
    }
    return best[0] >= 0 ? best[0] : best[1];
}

supple_result spl_selection_make(const spl_body *body, const supple_allocator *a, spl_selection *out,
                                 supple_error *error)
{
    size_t n = (size_t)body->tets.tet_count, m = (size_t)body->surface.triangle_count;
    *out = (spl_selection){.allocator = *a, .body = body};
    out->place = spl_new(a, n, sizeof *out->place);
    out->distance = spl_new(a, n, sizeof *out->distance);
    out->bone = spl_new(a, n, sizeof *out->bone);
    out->part = spl_new(a, m, sizeof *out->part);
    out->primitive = spl_new(a, m, sizeof *out->primitive);
    bool made = out->place && out->distance && out->bone && out->part && out->primitive;
    supple_result result = made ? SUPPLE_OK : spl_fail_memory(error, "a selection of flesh");
    spl_tree tree = {0};
    if (made) result = spl_tree_make(body->surface.position, body->surface.triangle, (int32_t)m, a, &tree, error);
    if (result != SUPPLE_OK) {
        spl_selection_release(out);
        return result;
    }
    find_parts(out);
    spl_hit hit = {.triangle = -1};
    for (int32_t k = 0; k < body->tets.tet_count; k++) {
        find_place(out, &tree, k, &hit);
        out->bone[k] = find_bone(out, k);
    }
    spl_tree_release(&tree);
    return SUPPLE_OK;
}

void spl_selection_release(spl_selection *s)
{
    spl_free(&s->allocator, s->place);
    spl_free(&s->allocator, s->distance);
    spl_free(&s->allocator, s->bone);
    spl_free(&s->allocator, s->part);
    spl_free(&s->allocator, s->primitive);
    *s = (spl_selection){0};
}

void spl_selector_release(spl_selector *selector, const supple_allocator *a)
{
    spl_free(a, selector->material);
    spl_free(a, selector->mesh);
    spl_free(a, selector->joint);
    *selector = (spl_selector){0};
}

/* ---- selecting -------------------------------------------------------------------------------------------------- */

enum { WHY = 100 };

/* Which parts have the material and the mesh. Names that stand nowhere are told in `why`. */
static void mark_parts(const spl_body *body, const spl_selector *selector, bool *part, char *why)
{
    const supple_scene *scene = body->scene;
    bool material_there = !selector->material, mesh_there = !selector->mesh;
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_instance *instance = &scene->instance[body->part[i].instance];
        int32_t m = body->part[i].primitive->material;
        bool material =
            !selector->material || (m >= 0 && spl_name_matches(selector->material, scene->material[m].name));
        bool mesh = !selector->mesh ||
                    spl_name_matches(selector->mesh, spl_instance_name(scene, body->part[i].instance)) ||
                    spl_name_matches(selector->mesh, scene->mesh[instance->mesh].name);
        part[i] = material && mesh;
        material_there |= material;
        mesh_there |= mesh;
    }
    if (!material_there) snprintf(why, WHY, "no material is called '%.50s'", selector->material);
    if (!mesh_there) snprintf(why, WHY, "no mesh is called '%.50s'", selector->mesh);
}

/* Which bones are those of a joint or of one below it. A joint that merged into another, being at its place, has that
 * one's bones. */
static void mark_bones(const spl_body *body, const spl_selector *selector, bool *node, bool *bone, char *why)
{
    const supple_scene *scene = body->scene;
    const spl_bones *bones = &body->bones;
    bool there = !selector->joint;
    for (int32_t i = 0; i < scene->node_count; i++) {
        int32_t at = scene->node_order[i], parent = scene->node[at].parent;
        bool named = !selector->joint || spl_name_matches(selector->joint, scene->node[at].name);
        if (named || (parent >= 0 && node[parent])) node[at] = true;
        if (named && bones->merged_into[at] >= 0) node[bones->merged_into[at]] = true;
        there |= named;
    }
    for (int32_t b = 0; b < bones->bone_count; b++) bone[b] = node[bones->bone[b].node];
    if (!there) snprintf(why, WHY, "no joint is called '%.50s'", selector->joint);
}

/* The visual mesh's colour under which a tet lies; false where that part has none. */
static bool color_at(const spl_selection *s, int32_t tet, double color[3])
{
    const spl_place *place = &s->place[tet];
    int32_t t = place->triangle;
    const spl_primitive *p = s->body->part[s->part[t]].primitive;
    if (!p->color) return false;
    color[0] = color[1] = color[2] = 0;
    for (int k = 0; k < 3; k++) {
        int input = k && s->body->surface.flipped[t] ? 3 - k : k;
        const float *c = p->color + 4 * (size_t)p->triangle[3 * (size_t)s->primitive[t] + (size_t)input];
        for (int i = 0; i < 3; i++) color[i] += place->bary[k] * (double)c[i];
    }
    return true;
}

static bool has_color(const spl_selection *s, const spl_selector *selector, int32_t tet)
{
    double color[3];
    if (!selector->has_color) return true;
    if (!color_at(s, tet, color)) return false;
    for (int i = 0; i < 3; i++)
        if (!(fabs(color[i] - selector->color[i]) <= selector->tolerance + 1e-6)) return false; /* colours are floats */
    return true;
}

static bool in_box(const spl_selector *b, spl_vec3 p)
{
    return !b->has_box || (p.x >= b->low.x && p.x <= b->high.x && p.y >= b->low.y && p.y <= b->high.y &&
                           p.z >= b->low.z && p.z <= b->high.z);
}

static bool any_color(const spl_body *body)
{
    for (int32_t i = 0; i < body->part_count; i++)
        if (spl_body_has_flesh(body, i) && body->part[i].primitive->color) return true;
    return false;
}

supple_result spl_selection_find(const spl_selection *s, const spl_selector *selector, bool *member, int32_t *count,
                                 char *why, supple_error *error)
{
    const spl_body *body = s->body;
    const supple_allocator *a = &s->allocator;
    bool *part = spl_new(a, (size_t)body->part_count, sizeof *part);
    bool *node = spl_new(a, (size_t)body->scene->node_count, sizeof *node);
    bool *bone = spl_new(a, (size_t)body->bones.bone_count, sizeof *bone);
    bool made = part && node && bone;
    *count = 0;
    if (made) {
        snprintf(why, WHY, "no tetrahedron of the flesh is there");
        if (selector->has_color && !any_color(body)) snprintf(why, WHY, "no flesh has vertex colours (COLOR_0)");
        mark_bones(body, selector, node, bone, why);
        mark_parts(body, selector, part, why);
        for (int32_t k = 0; k < body->tets.tet_count; k++) {
            member[k] = part[s->part[s->place[k].triangle]] && (!selector->joint || bone[s->bone[k]]) &&
                        s->distance[k] * body->metre <= selector->depth &&
                        in_box(selector, spl_tet_centroid(&body->tets, k)) && has_color(s, selector, k);
            *count += member[k];
        }
    }
    spl_free(a, part);
    spl_free(a, node);
    spl_free(a, bone);
    return made ? SUPPLE_OK : spl_fail_memory(error, "a selection of flesh");
}
