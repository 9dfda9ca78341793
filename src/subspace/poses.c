#include "subspace/poses.h"

#include "core/error.h"
#include "core/memory.h"
#include "subspace/frame.h"

#include <string.h>

/* ---- creation ---- */

/* Held vertices of a domain's tets, rising. */
static bool list_held(spl_poses *p, int32_t domain, bool *seen)
{
    const spl_domain *d = &p->domains->domain[domain];
    const spl_body *body = p->solid->body;
    int32_t count = 0;
    memset(seen, 0, (size_t)body->tets.vertex_count * sizeof *seen);
    for (int32_t k = 0; k < d->tet_count; k++)
        for (int i = 0; i < 4; i++) {
            int32_t v = body->tets.tet[4 * (size_t)d->tet[k] + (size_t)i];
            if (body->bone[v] < 0 || seen[v]) continue;
            seen[v] = true;
            count++;
        }
    int32_t *list = p->held_vertex[domain] = spl_new(&p->allocator, (size_t)count, sizeof *list);
    if (!list) return false;
    for (int32_t v = 0; v < body->tets.vertex_count; v++)
        if (seen[v]) list[p->held_count[domain]++] = v;
    return true;
}

static bool allocate(spl_poses *p)
{
    const supple_allocator *a = &p->allocator;
    size_t n = (size_t)p->solid->body->tets.vertex_count, domains = (size_t)p->domains->domain_count;
    size_t all = (size_t)p->samples->count;
    bool *seen = spl_new(a, n, sizeof *seen);
    p->sample = spl_new(a, all, sizeof *p->sample);
    p->R = spl_new(a, all * domains, sizeof *p->R);
    p->t = spl_new(a, all * domains, sizeof *p->t);
    p->held_count = spl_new(a, domains, sizeof *p->held_count);
    p->held_vertex = spl_new(a, domains, sizeof *p->held_vertex);
    p->displacement = spl_new(a, domains, sizeof *p->displacement);
    p->held = spl_new(a, domains, sizeof *p->held);
    p->x = spl_new(a, n, 3 * sizeof *p->x);
    bool ok =
        seen && p->sample && p->R && p->t && p->held_count && p->held_vertex && p->displacement && p->held && p->x;
    for (int32_t d = 0; ok && d < p->domains->domain_count; d++) ok = list_held(p, d, seen);
    spl_free(a, seen);
    return ok;
}

static supple_result pose_bones(spl_poses *p, int32_t pose, supple_error *error)
{
    const spl_samples *s = p->samples;
    const spl_joint_move *move = s->move + (size_t)p->sample[pose] * (size_t)s->joint_count;
    spl_pose_move(&p->pose, p->scene, s->node, move, s->joint_count);
    spl_drive_reset(&p->solid->drive);
    return spl_drive_pose(&p->solid->drive, &p->pose, error);
}

supple_result spl_poses_create(const supple_scene *scene, spl_solid *solid, const spl_domains *domains,
                               const spl_samples *samples, size_t bytes, const supple_allocator *a, spl_poses *out,
                               supple_error *error)
{
    *out = (spl_poses){
        .allocator = *a, .scene = scene, .solid = solid, .domains = domains, .samples = samples, .bytes = bytes};
    if (!allocate(out)) return spl_fail_memory(error, "the training poses");
    for (int32_t i = 0; i < samples->count; i++)
        if (samples->state[i] == SPL_SAMPLE_SOLVED) out->sample[out->count++] = i;
    supple_result result = spl_pose_init(&out->pose, scene, error);
    for (int32_t k = 0; k < out->count && result == SUPPLE_OK; k++) {
        size_t first = (size_t)k * (size_t)domains->domain_count;
        result = pose_bones(out, k, error);
        for (int32_t d = 0; d < domains->domain_count && result == SUPPLE_OK; d++)
            spl_domain_frame(&solid->drive, domains->domain[d].bone, &out->R[first + (size_t)d],
                             &out->t[first + (size_t)d]);
    }
    return result;
}

static void put_away(spl_poses *p)
{
    for (int32_t d = p->begin; d < p->end; d++) {
        spl_free(&p->allocator, p->displacement[d]);
        spl_free(&p->allocator, p->held[d]);
        p->displacement[d] = p->held[d] = NULL;
    }
    p->begin = p->end = 0;
}

void spl_poses_release(spl_poses *p)
{
    const supple_allocator *a = &p->allocator;
    if (!a->release) return;
    if (p->displacement && p->held) put_away(p);
    for (int32_t d = 0; p->held_vertex && d < p->domains->domain_count; d++) spl_free(a, p->held_vertex[d]);
    void *all[] = {p->sample, p->R, p->t, p->held_count, p->held_vertex, p->displacement, p->held, p->x};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) spl_free(a, all[k]);
    spl_pose_release(&p->pose);
    *p = (spl_poses){0};
}

/* ---- reading ---- */

supple_result spl_poses_see(spl_poses *p, int32_t pose, supple_error *error)
{
    supple_result result = pose_bones(p, pose, error);
    if (result == SUPPLE_OK) result = spl_samples_read(p->samples, p->sample[pose], p->x, error);
    if (result == SUPPLE_OK) spl_drive_hold(&p->solid->drive, p->solid->body->bone, p->x);
    return result;
}

/* A domain's part of the body at hand. */
static void take_domain(spl_poses *p, int32_t pose, int32_t domain)
{
    const spl_domain *d = &p->domains->domain[domain];
    size_t frame = (size_t)pose * (size_t)p->domains->domain_count + (size_t)domain;
    size_t n = 3 * (size_t)d->vertex_count, held = 3 * (size_t)p->held_count[domain];
    double *u = p->displacement[domain] + (size_t)pose * n, *h = p->held[domain] + (size_t)pose * held;
    spl_mat3 inverse = spl_mat3_transpose(&p->R[frame]);
    for (size_t k = 0; k < n; k += 3) {
        const double *x = p->x + 3 * (size_t)d->vertex[k / 3];
        const double *rest = p->solid->drive.rest + 3 * (size_t)d->vertex[k / 3];
        spl_vec3 y = spl_mat3_apply(&inverse, spl_sub(spl_v3(x[0], x[1], x[2]), p->t[frame]));
        u[k] = y.x - rest[0], u[k + 1] = y.y - rest[1], u[k + 2] = y.z - rest[2];
    }
    for (size_t k = 0; k < held; k += 3) {
        const double *x = p->x + 3 * (size_t)p->held_vertex[domain][k / 3];
        spl_vec3 y = spl_mat3_apply(&inverse, spl_sub(spl_v3(x[0], x[1], x[2]), p->t[frame]));
        h[k] = y.x, h[k + 1] = y.y, h[k + 2] = y.z;
    }
}

/* Bytes of one domain. */
static size_t size_of(const spl_poses *p, int32_t domain)
{
    size_t vertices = (size_t)p->domains->domain[domain].vertex_count + (size_t)p->held_count[domain];
    return (size_t)p->count * vertices * 3 * sizeof(double);
}

supple_result spl_poses_load(spl_poses *p, int32_t domain, supple_error *error)
{
    const supple_allocator *a = &p->allocator;
    supple_result result = SUPPLE_OK;
    if (domain >= p->begin && domain < p->end) return SUPPLE_OK;
    put_away(p);
    p->begin = p->end = domain;
    for (size_t used = 0; p->end < p->domains->domain_count; p->end++) {
        used += size_of(p, p->end);
        if (p->end > domain && used > p->bytes) break;
    }
    for (int32_t d = domain; d < p->end; d++) {
        size_t count = (size_t)p->count;
        p->displacement[d] = spl_new(a, count * (size_t)p->domains->domain[d].vertex_count, 3 * sizeof(double));
        p->held[d] = spl_new(a, count * (size_t)p->held_count[d], 3 * sizeof(double));
        if (!p->displacement[d] || !p->held[d]) return spl_fail_memory(error, "the training poses");
    }
    for (int32_t k = 0; k < p->count && result == SUPPLE_OK; k++) {
        result = spl_poses_see(p, k, error);
        for (int32_t d = domain; d < p->end && result == SUPPLE_OK; d++) take_domain(p, k, d);
    }
    return result;
}
