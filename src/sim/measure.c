#include "sim/measure.h"

#include "body/limb.h"
#include "core/error.h"
#include "core/memory.h"

#define REGION_RADII 1.5 /* of the limb, around the joint */

/* ---- the flesh around joints ---- */

static spl_vec3 middle_of(const spl_tets *t, int32_t k)
{
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (int i = 0; i < 4; i++) sum = spl_add(sum, t->position[t->tet[4 * (size_t)k + (size_t)i]]);
    return spl_scale(sum, 0.25);
}

/* Counts, and if `m->tet` is there lists, the tets of a bone's joint. */
static int32_t gather_region(spl_measure *m, const spl_bone *bone, double radius, int32_t first)
{
    const spl_tets *t = &m->solid->body->tets;
    int32_t count = 0;
    for (int32_t k = 0; k < t->tet_count; k++)
        if (spl_distance(middle_of(t, k), bone->head) <= radius) {
            if (m->tet) m->tet[first + count] = k;
            count++;
        }
    return count;
}

static supple_result find_regions(spl_measure *m, supple_error *error)
{
    const spl_body *body = m->solid->body;
    const spl_bones *bones = &body->bones;
    spl_tree tree;
    supple_result result = spl_tree_make(body->surface.position, body->surface.triangle, body->surface.triangle_count,
                                         &m->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    double *radius = spl_new(&m->allocator, (size_t)bones->bone_count, sizeof *radius);
    m->region = spl_new(&m->allocator, (size_t)bones->bone_count, sizeof *m->region);
    result = radius && m->region ? SUPPLE_OK : spl_fail_memory(error, "the joints' volumes");
    int32_t total = 0;
    for (int32_t b = 0; result == SUPPLE_OK && b < bones->bone_count; b++) {
        if (!spl_bones_bends(bones, b)) continue;
        spl_vec3 along = spl_sub(bones->bone[b].tail, bones->bone[b].head);
        radius[b] = REGION_RADII * spl_limb_radius(&tree, bones->bone[b].head, along, body->surface.diagonal);
        int32_t count = gather_region(m, &bones->bone[b], radius[b], 0);
        if (count > 0) m->region[m->region_count++] = (spl_joint_region){b, total, count, 0, 1};
        total += count;
    }
    if (result == SUPPLE_OK) {
        m->tet = spl_new(&m->allocator, (size_t)total, sizeof *m->tet);
        if (!m->tet) result = spl_fail_memory(error, "the joints' volumes");
    }
    for (int32_t i = 0; result == SUPPLE_OK && i < m->region_count; i++) {
        spl_joint_region *r = &m->region[i];
        int32_t bone = r->node; /* until here it is the bone's number */
        gather_region(m, &bones->bone[bone], radius[bone], r->first);
        r->node = bones->bone[bone].node;
        for (int32_t k = 0; k < r->count; k++) r->rest += m->solid->elements.volume[m->tet[r->first + k]];
    }
    spl_free(&m->allocator, radius);
    spl_tree_release(&tree);
    return result;
}

/* ---- creation ---- */

supple_result spl_measure_create(const spl_solid *solid, spl_measure *out, supple_error *error)
{
    size_t n = (size_t)solid->elements.vertex_count, m = (size_t)solid->elements.count;
    const supple_allocator *a = &solid->allocator;
    *out = (spl_measure){.allocator = *a, .solid = solid};
    out->force = spl_new(a, n, 3 * sizeof *out->force);
    out->magnitude = spl_new(a, n, sizeof *out->magnitude);
    out->scratch = spl_new(a, 12 * m + 4 * (m / 1024 + 1), sizeof *out->scratch);
    supple_result result = out->force && out->magnitude && out->scratch
                               ? spl_stars_create(&solid->elements, a, &out->stars, error)
                               : spl_fail_memory(error, "the measures");
    if (result == SUPPLE_OK) result = find_regions(out, error);
    if (result != SUPPLE_OK) spl_measure_release(out);
    return result;
}

void spl_measure_release(spl_measure *m)
{
    if (!m->allocator.release) return;
    spl_stars_release(&m->stars);
    spl_free(&m->allocator, m->region);
    spl_free(&m->allocator, m->tet);
    spl_free(&m->allocator, m->force);
    spl_free(&m->allocator, m->magnitude);
    spl_free(&m->allocator, m->scratch);
    *m = (spl_measure){0};
}

/* ---- a frame ---- */

/* The energy of one spring of a contact; its forces are added: on the vertex, and the opposite on the corners. */
static double add_spring(const spl_contact_spring *s, const double *x, double *force)
{
    bool world = s->corner[0] < 0;
    double d[3], n[3] = {s->normal.x, s->normal.y, s->normal.z};
    const double target[3] = {s->target.x, s->target.y, s->target.z};
    for (size_t c = 0; c < 3; c++) {
        d[c] = x[3 * (size_t)s->vertex + c] - (world ? target[c] : 0);
        for (size_t q = 0; !world && q < 3; q++) d[c] -= s->bary[q] * x[3 * (size_t)s->corner[q] + c];
    }
    double along = d[0] * n[0] + d[1] * n[1] + d[2] * n[2], square = 0;
    for (size_t c = 0; c < 3; c++) {
        if (s->along) d[c] = along * n[c];
        square += d[c] * d[c];
        force[3 * (size_t)s->vertex + c] -= s->stiffness * d[c];
        for (size_t q = 0; !world && q < 3; q++)
            force[3 * (size_t)s->corner[q] + c] += s->bary[q] * s->stiffness * d[c];
    }
    return 0.5 * s->stiffness * square;
}

/* Of a barrier, its pairs found afresh; things of the world feel forces too, which do not count here. */
static double add_barrier(spl_measure *m, const spl_solution *s)
{
    double energy = 0;
    size_t n = 3 * (size_t)m->solid->elements.vertex_count;
    const double *force = spl_barrier_measure(s->barrier, s->barrier_x, &energy);
    for (size_t i = 0; force && i < n; i++) m->force[i] += force[i];
    return energy;
}

static void measure_balance(spl_measure *m, const spl_solution *s, const double *x, spl_pool *pool, supple_stats *stats)
{
    spl_elastic elastic = {&m->solid->elements, s->law, s->mu, s->lambda, s->rotation, s->exempt};
    double energy = spl_elastic_forces(&elastic, &m->stars, x, m->force, m->magnitude, m->scratch, pool);
    for (int32_t i = 0; i < s->pin_count; i++)
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)s->pin[i].vertex + c;
            double d = x[at] - s->pin[i].target[c];
            m->force[at] -= s->pin[i].stiffness * d;
            energy += 0.5 * s->pin[i].stiffness * d * d;
        }
    for (int32_t i = 0; i < s->spring_count; i++) energy += add_spring(&s->spring[i], x, m->force);
    if (s->barrier) energy += add_barrier(m, s);
    const double *outer = s->force ? s->force : m->solid->force;
    for (size_t i = 0; outer && i < 3 * (size_t)m->solid->elements.vertex_count; i++) {
        m->force[i] += outer[i];
        if (m->solid->force) energy -= m->solid->force[i] * x[i]; /* inertia has no potential */
    }
    stats->residual = spl_residual(m->force, m->magnitude, s->held, m->solid->elements.vertex_count,
                                   1e-12 * m->solid->stiffness_scale);
    stats->energy = energy;
}

void spl_measure_frame(spl_measure *m, const spl_solution *solution, const double *x, spl_pool *pool,
                       supple_stats *stats)
{
    const spl_elements *e = &m->solid->elements;
    spl_strain strain = spl_strain_measure(e, x, NULL, m->scratch, pool);
    stats->volume_ratio = strain.volume_ratio;
    stats->min_det_f = strain.min_det_f;
    stats->max_strain = strain.max_strain;
    stats->inverted = strain.inverted;
    stats->max_bend_deg = m->solid->drive.max_bend * 180 / M_PI;
    for (int32_t i = 0; i < m->region_count; i++) {
        spl_joint_region *r = &m->region[i];
        double volume = 0;
        for (int32_t k = r->first; k < r->first + r->count; k++) {
            spl_mat3 F = spl_element_F(e, m->tet[k], x);
            volume += e->volume[m->tet[k]] * spl_mat3_det(&F);
        }
        r->ratio = volume / r->rest;
    }
    if (solution) measure_balance(m, solution, x, pool, stats);
}
