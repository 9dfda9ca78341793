#include "body/material.h"

#include "core/error.h"
#include "core/memory.h"
#include "fem/law.h"

#include <math.h>
#include <string.h>

spl_tissue spl_tissue_default(void)
{
    spl_tissue t = {.young = 3e4, .poisson = 0.45, .density = 1000};
    spl_lame(t.young, t.poisson, &t.mu, &t.lambda);
    return t;
}

void spl_material_field_release(spl_material_field *field)
{
    spl_free(&field->allocator, field->mu);
    spl_free(&field->allocator, field->lambda);
    spl_free(&field->allocator, field->density);
    spl_free(&field->allocator, field->rotation);
    *field = (spl_material_field){0};
}

/* ---- regions ---------------------------------------------------------------------------------------------------- */

/* Which region a tet has its values from: -1 for the set's own. A region may set stiffness, density or both. */
typedef struct layers {
    int32_t *stiffness, *density; /* by tet */
    int32_t *rotation;            /* by tet: a bone, -1; NULL if no region says */
} layers;

static spl_tissue tissue_of(const spl_material_set *set, const layers *l, int32_t tet)
{
    spl_tissue t = l->stiffness[tet] < 0 ? set->base : set->region[l->stiffness[tet]].tissue;
    t.density = l->density[tet] < 0 ? set->base.density : set->region[l->density[tet]].tissue.density;
    return t;
}

/* The first bone of a joint by its name. */
static int32_t bone_of(const spl_body *body, const char *pattern)
{
    for (int32_t b = 0; b < body->bones.bone_count; b++)
        if (spl_name_matches(pattern, body->scene->node[body->bones.bone[b].node].name)) return b;
    return -1;
}

static supple_result apply_region(const spl_material_set *set, int32_t index, const spl_selection *selection,
                                  bool *member, layers *l, supple_error *error)
{
    const spl_material_region *region = &set->region[index];
    int32_t count;
    char why[100];
    supple_result result = spl_selection_find(selection, &region->selector, member, &count, why, error);
    if (result != SUPPLE_OK) return result;
    if (count == 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.70s: %s matches nothing: %s", set->name, region->label, why);
    int32_t bone = region->rotation ? bone_of(selection->body, region->rotation) : -1;
    if (region->rotation && bone < 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.70s: %s: \"rotation\": no joint with bones is called '%.40s'",
                        set->name, region->label, region->rotation);
    for (int32_t k = 0; k < selection->body->tets.tet_count; k++) {
        if (member[k] && region->has_stiffness) l->stiffness[k] = index;
        if (member[k] && region->has_density) l->density[k] = index;
        if (member[k] && bone >= 0) l->rotation[k] = bone;
    }
    return SUPPLE_OK;
}

static supple_result apply_regions(const spl_body *body, const spl_material_set *set, layers *l,
                                   const supple_allocator *a, supple_error *error)
{
    size_t n = (size_t)body->tets.tet_count;
    memset(l->stiffness, -1, n * sizeof *l->stiffness);
    memset(l->density, -1, n * sizeof *l->density);
    if (set->region_count == 0) return SUPPLE_OK;
    spl_selection selection;
    supple_result result = spl_selection_make(body, a, &selection, error);
    if (result != SUPPLE_OK) return result;
    bool *member = spl_new(a, n, sizeof *member);
    if (!member) result = spl_fail_memory(error, "materials");
    for (int32_t i = 0; result == SUPPLE_OK && i < set->region_count; i++)
        result = apply_region(set, i, &selection, member, l, error);
    spl_free(a, member);
    spl_selection_release(&selection);
    return result;
}

/* ---- blending --------------------------------------------------------------------------------------------------- */

/* The way from each tet to the nearest border of regions. */
typedef struct borders {
    const spl_tets *tets;
    int32_t *across;  /* 4 a tet: the face on the other side, 4 tet + face; -1 outside */
    int32_t *nearest; /* by tet: the face of a border, as the other side numbers it; -1: none is near */
    double *distance; /* by tet: from its centroid to that face */
    int32_t *queue;   /* a ring of tet_count + 1 */
    bool *queued;
} borders;

static bool borders_make(borders *b, const spl_tets *tets, const supple_allocator *a)
{
    size_t n = (size_t)tets->tet_count;
    *b = (borders){.tets = tets};
    b->across = spl_new(a, n, 4 * sizeof *b->across);
    b->nearest = spl_new(a, n, sizeof *b->nearest);
    b->distance = spl_new(a, n, sizeof *b->distance);
    b->queue = spl_new(a, n + 1, sizeof *b->queue);
    b->queued = spl_new(a, n, sizeof *b->queued);
    return b->across && b->nearest && b->distance && b->queue && b->queued;
}

static void borders_release(borders *b, const supple_allocator *a)
{
    spl_free(a, b->across);
    spl_free(a, b->nearest);
    spl_free(a, b->distance);
    spl_free(a, b->queue);
    spl_free(a, b->queued);
}

static void join_faces(borders *b, const spl_tet_faces *faces)
{
    for (int32_t i = 0; i < faces->count; i++) b->across[i] = -1;
    for (int32_t i = 0, end; i < faces->count; i = end) {
        end = spl_tet_faces_group_end(faces, i);
        if (end != i + 2) continue;
        b->across[faces->order[i]] = faces->order[i + 1];
        b->across[faces->order[i + 1]] = faces->order[i];
    }
}

static double distance_to_face(const spl_tets *t, int32_t tet, int32_t face)
{
    spl_vec3 p[3];
    double bary[3];
    for (int k = 0; k < 3; k++) p[k] = t->position[t->tet[face / 4 * 4 + spl_tet_face[face % 4][k]]];
    return sqrt(spl_triangle_nearest(spl_tet_centroid(t, tet), p[0], p[1], p[2], bary));
}

/* Offers a border's face to a tet; true if it is the nearest so far and within reach. */
static bool offer(borders *b, int32_t tet, int32_t face, double reach)
{
    double d = distance_to_face(b->tets, tet, face);
    if (!(d < reach) || (b->nearest[tet] >= 0 && !(d < b->distance[tet]))) return false;
    b->nearest[tet] = face;
    b->distance[tet] = d;
    return true;
}

/* Borders spread from tet to tet, within a region, while they come nearer: only flesh that hangs together is blended,
 * not a hand with the hip it touches. Distances only ever fall, so that the queue runs dry. */
static void spread_borders(borders *b, const layers *l, double reach)
{
    int32_t n = b->tets->tet_count, head = 0, tail = 0;
    for (int32_t k = 0; k < n; k++) {
        b->nearest[k] = -1;
        for (int i = 0; i < 4; i++) {
            int32_t face = b->across[4 * (size_t)k + (size_t)i], other = face / 4;
            if (face < 0 || (l->stiffness[k] == l->stiffness[other] && l->density[k] == l->density[other])) continue;
            if (!offer(b, k, face, reach) || b->queued[k]) continue;
            b->queued[k] = true;
            b->queue[tail++] = k;
        }
    }
    while (head != tail) {
        int32_t k = b->queue[head];
        head = head == n ? 0 : head + 1;
        b->queued[k] = false;
        for (int i = 0; i < 4; i++) {
            int32_t face = b->across[4 * (size_t)k + (size_t)i], other = face / 4;
            if (face < 0 || l->stiffness[k] != l->stiffness[other] || l->density[k] != l->density[other]) continue;
            if (!offer(b, other, b->nearest[k], reach) || b->queued[other]) continue;
            b->queued[other] = true;
            b->queue[tail] = other;
            tail = tail == n ? 0 : tail + 1;
        }
    }
}

/* Stiffness blends on a logarithmic scale: from 1e3 to 1e6 Pa, every tenth part of the way is a factor of two. */
static spl_tissue mix(const spl_tissue *x, const spl_tissue *y, double t)
{
    spl_tissue out = {.young = exp((1 - t) * log(x->young) + t * log(y->young)),
                      .poisson = (1 - t) * x->poisson + t * y->poisson,
                      .density = (1 - t) * x->density + t * y->density};
    spl_lame(out.young, out.poisson, &out.mu, &out.lambda);
    return out;
}

/* ---- the field -------------------------------------------------------------------------------------------------- */

static void set_tissue(spl_material_field *f, int32_t tet, const spl_tissue *t)
{
    f->mu[tet] = t->mu;
    f->lambda[tet] = t->lambda;
    f->density[tet] = t->density;
    f->young_max = fmax(f->young_max, t->young);
}

static void fill(const spl_material_set *set, const layers *l, const borders *b, double reach, spl_material_field *f)
{
    for (int32_t k = 0; k < f->tet_count; k++) {
        spl_tissue own = tissue_of(set, l, k);
        if (b && b->nearest[k] >= 0) {
            spl_tissue other = tissue_of(set, l, b->nearest[k] / 4);
            double s = b->distance[k] / reach;
            own = mix(&own, &other, 0.5 * (1 - s * s * (3 - 2 * s)));
        }
        set_tissue(f, k, &own);
    }
}

static supple_result fill_blended(const spl_body *body, const spl_material_set *set, const layers *l,
                                  const supple_allocator *a, spl_material_field *f, supple_error *error)
{
    double reach = 0.5 * set->blend / body->metre;
    borders b;
    spl_tet_faces faces;
    supple_result result = spl_tet_faces_create(&faces, &body->tets, error);
    if (result != SUPPLE_OK) return result;
    if (borders_make(&b, &body->tets, a)) {
        join_faces(&b, &faces);
        spread_borders(&b, l, reach);
        fill(set, l, &b, reach, f);
    } else {
        result = spl_fail_memory(error, "materials");
    }
    borders_release(&b, a);
    spl_tet_faces_release(&faces);
    return result;
}

supple_result spl_material_field_make(const spl_body *body, const spl_material_set *set, const supple_allocator *a,
                                      spl_material_field *out, supple_error *error)
{
    size_t n = (size_t)body->tets.tet_count;
    const spl_material_set plain = {.base = spl_tissue_default()};
    if (!set) set = &plain;
    *out = (spl_material_field){.allocator = *a, .tet_count = body->tets.tet_count};
    out->mu = spl_new(a, n, sizeof *out->mu);
    out->lambda = spl_new(a, n, sizeof *out->lambda);
    out->density = spl_new(a, n, sizeof *out->density);
    layers l = {.stiffness = spl_new(a, n, sizeof *l.stiffness), .density = spl_new(a, n, sizeof *l.density)};
    bool made = out->mu && out->lambda && out->density && l.stiffness && l.density, turns = false;
    for (int32_t i = 0; i < set->region_count; i++) turns = turns || set->region[i].rotation;
    if (turns) {
        l.rotation = out->rotation = spl_new(a, n, sizeof *out->rotation);
        made = made && l.rotation;
        for (size_t k = 0; l.rotation && k < n; k++) l.rotation[k] = -1;
    }
    supple_result result = made ? apply_regions(body, set, &l, a, error) : spl_fail_memory(error, "materials");
    if (result == SUPPLE_OK && set->blend > 0 && set->region_count > 0)
        result = fill_blended(body, set, &l, a, out, error);
    else if (result == SUPPLE_OK)
        fill(set, &l, NULL, 0, out);
    spl_free(a, l.stiffness);
    spl_free(a, l.density);
    if (result != SUPPLE_OK) spl_material_field_release(out);
    return result;
}
