#include "subspace/rig.h"

#include "core/error.h"
#include "core/memory.h"
#include "subspace/model.h"

#include <string.h>

void spl_rig_release(spl_rig *r, const supple_allocator *a)
{
    void *all[] = {r->name, r->joint_parent, r->joint_rest, r->bone,    r->bone_real,
                   r->held, r->held_rest,    r->vertex,     r->triangle};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) spl_free(a, all[i]);
    spl_own_release(&r->own, a);
    spl_visual_release(&r->visual, a);
    *r = (spl_rig){0};
}

/* ---- files ---- */

supple_result spl_rig_add(spl_store_writer *w, const spl_rig *r, supple_error *error)
{
    int32_t spread = r->spread;
    size_t joints = (size_t)r->joint_count, bones = (size_t)r->bone_count, held = (size_t)r->held_count;
    spl_store_add(w, "rig.scale", SPL_STORE_F64, 1, 1, &r->to_solver, NULL);
    spl_store_add(w, "rig.spread", SPL_STORE_I32, 1, 1, &spread, NULL);
    spl_store_add(w, "rig.names", SPL_STORE_U8, 1, r->name_bytes, r->name, NULL);
    spl_store_add(w, "rig.joint.parent", SPL_STORE_I32, 1, joints, r->joint_parent, NULL);
    spl_store_add(w, "rig.joint.rest", SPL_STORE_F64, 16, joints, r->joint_rest, NULL);
    spl_store_add(w, "rig.bone", SPL_STORE_I32, SPL_RIG_BONE_NUMBERS, bones, r->bone, NULL);
    spl_store_add(w, "rig.bone.real", SPL_STORE_F64, SPL_RIG_BONE_REALS, bones, r->bone_real, NULL);
    spl_store_add(w, "rig.held", SPL_STORE_I32, 2, held, r->held, NULL);
    spl_store_add(w, "rig.held.rest", SPL_STORE_F64, 3, held, r->held_rest, NULL);
    spl_store_add(w, "surface.vertex", SPL_STORE_I32, 1, (size_t)r->vertex_count, r->vertex, NULL);
    spl_store_add(w, "surface.triangle", SPL_STORE_I32, 3, (size_t)r->triangle_count, r->triangle, NULL);
    spl_own_add(w, r);
    return spl_visual_add(w, &r->visual, error);
}

int32_t spl_rig_place(const spl_rig *rig, int32_t vertex)
{
    int32_t low = 0, high = rig->vertex_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (rig->vertex[middle] < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rig->vertex_count && rig->vertex[low] == vertex ? low : -1;
}

typedef struct reading {
    const spl_store_reader *reader;
    supple_error *error;
    supple_result result;
} reading;

/* A section as a copy of the rig's own. */
static void *take(reading *g, const char *name, spl_store_type type, uint32_t width, size_t low, size_t high,
                  int64_t lowest, int64_t highest, size_t *count)
{
    void *data = NULL;
    spl_store_want want = {name, type, width, low, high, lowest, highest, false};
    if (g->result == SUPPLE_OK) g->result = spl_store_copy(g->reader, &want, &data, count, g->error);
    if (g->result != SUPPLE_OK) *count = 0;
    return g->result == SUPPLE_OK ? data : NULL;
}

static void take_all(reading *g, const spl_model *m, spl_rig *r)
{
    int32_t v = m->vertex_count - 1;
    size_t joints, bones, held, vertices, triangles, n;
    r->name = take(g, "rig.names", SPL_STORE_U8, 1, 1, SPL_RIG_MOST_NAMES, 0, 255, &r->name_bytes);
    r->joint_parent = take(g, "rig.joint.parent", SPL_STORE_I32, 1, 1, SPL_RIG_MOST_BONES, -1, INT32_MAX, &joints);
    r->joint_rest = take(g, "rig.joint.rest", SPL_STORE_F64, 16, joints, joints, 0, 0, &n);
    r->bone = take(g, "rig.bone", SPL_STORE_I32, SPL_RIG_BONE_NUMBERS, 1, SPL_RIG_MOST_BONES, -1, INT32_MAX, &bones);
    r->bone_real = take(g, "rig.bone.real", SPL_STORE_F64, SPL_RIG_BONE_REALS, bones, bones, 0, 0, &n);
    r->held = take(g, "rig.held", SPL_STORE_I32, 2, 0, INT32_MAX / 4, 0, INT32_MAX, &held);
    r->held_rest = take(g, "rig.held.rest", SPL_STORE_F64, 3, held, held, 0, 0, &n);
    r->vertex = take(g, "surface.vertex", SPL_STORE_I32, 1, 1, INT32_MAX / 4, 0, v, &vertices);
    r->triangle = take(g, "surface.triangle", SPL_STORE_I32, 3, 1, INT32_MAX / 4, 0, (int64_t)vertices - 1, &triangles);
    r->joint_count = (int32_t)joints;
    r->bone_count = (int32_t)bones;
    r->held_count = (int32_t)held;
    r->vertex_count = (int32_t)vertices;
    r->triangle_count = (int32_t)triangles;
}

static void take_numbers(reading *g, spl_rig *r)
{
    const void *scale, *spread;
    spl_store_want real = {"rig.scale", SPL_STORE_F64, 1, 1, 1, 0, 0, false};
    spl_store_want whole = {"rig.spread", SPL_STORE_I32, 1, 1, 1, 0, 1, false};
    if (g->result == SUPPLE_OK) g->result = spl_store_get(g->reader, &real, &scale, NULL, g->error);
    if (g->result == SUPPLE_OK) g->result = spl_store_get(g->reader, &whole, &spread, NULL, g->error);
    if (g->result != SUPPLE_OK) return;
    r->to_solver = *(const double *)scale;
    r->spread = *(const int32_t *)spread != 0;
}

static bool are_names(const spl_rig *r)
{
    int32_t ends = 0;
    for (size_t k = 0; k < r->name_bytes; k++) ends += r->name[k] == 0;
    return ends == r->joint_count && r->name[r->name_bytes - 1] == 0;
}

static bool are_bones(const spl_rig *r, const spl_model *m)
{
    for (int32_t j = 0; j < r->joint_count; j++)
        if (r->joint_parent[j] >= j) return false;
    for (int32_t b = 0; b < r->bone_count; b++) {
        const int32_t *n = r->bone + SPL_RIG_BONE_NUMBERS * b;
        if (n[0] < 0 || n[0] >= r->joint_count || n[1] >= b || n[2] >= r->bone_count || n[3] < 0 || n[3] > 1 ||
            (n[3] && n[1] < 0))
            return false;
    }
    for (int32_t i = 0; i < m->domain_count; i++)
        if (m->domain[i].bone >= r->bone_count) return false;
    return true;
}

/* Lowest bit: a domain has the vertex; next: a bone holds it. */
static bool mark(const spl_rig *r, const spl_model *m, uint8_t *known)
{
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = 0; k < m->domain[i].vertex_count; k++) known[m->domain[i].vertex[k]] |= 1;
    for (int32_t k = 0; k < r->held_count; k++) {
        int32_t v = r->held[2 * k];
        if (v >= m->vertex_count || known[v] || r->held[2 * k + 1] >= r->bone_count) return false;
        if (k > 0 && v <= r->held[2 * k - 2]) return false;
        known[v] |= 2;
    }
    return true;
}

/* What is read out moves, and what cubature tets see has a place. */
static bool is_complete(const spl_rig *r, const spl_model *m, const uint8_t *known)
{
    for (int32_t k = 0; k < r->vertex_count; k++)
        if (!known[r->vertex[k]] || (k > 0 && r->vertex[k] <= r->vertex[k - 1])) return false;
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = 0; k < 4 * m->domain[i].cubature_count; k++) {
            int32_t corner = m->domain[i].cubature[k / 4].corner[k % 4];
            if (corner < 0 && !(known[~corner] & 2)) return false;
        }
    return true;
}

/* The body has few vertices that neither a domain nor the rig names, those deep inside bones: a count is a claim, and
 * players make room for it. */
static bool is_named(const spl_rig *r, const spl_model *m)
{
    int64_t named = r->held_count;
    for (int32_t i = 0; i < m->domain_count; i++) named += m->domain[i].vertex_count;
    return m->vertex_count <= SPL_RIG_UNNAMED * named;
}

supple_result spl_rig_read(const spl_store_reader *reader, const spl_model *m, const supple_allocator *a, spl_rig *out,
                           supple_error *error)
{
    reading g = {reader, error, SUPPLE_OK};
    *out = (spl_rig){0};
    take_numbers(&g, out);
    take_all(&g, m, out);
    if (g.result == SUPPLE_OK && !is_named(out, m))
        g.result = spl_fail(error, SUPPLE_ERROR_INPUT, "the model is damaged: it has not the %d vertices that it says",
                            (int)m->vertex_count);
    uint8_t *known = g.result == SUPPLE_OK ? spl_new(a, (size_t)m->vertex_count, sizeof *known) : NULL;
    if (g.result == SUPPLE_OK && !known) g.result = spl_fail_memory(error, "a model");
    const char *wrong = NULL;
    if (g.result == SUPPLE_OK) {
        if (!(fabs(out->to_solver) > 1e-12 && fabs(out->to_solver) < 1e12) || !are_names(out) || !are_bones(out, m))
            wrong = "its joints and bones do not fit together";
        else if (!spl_model_near(out->joint_rest, 16 * (size_t)out->joint_count) ||
                 !spl_model_near(out->bone_real, SPL_RIG_BONE_REALS * (size_t)out->bone_count) ||
                 !spl_model_near(out->held_rest, 3 * (size_t)out->held_count))
            wrong = "a joint, a bone or a held vertex is farther away than 1e12";
        else if (!mark(out, m, known) || !is_complete(out, m, known))
            wrong = "its surface has vertices that nothing moves";
        if (wrong) g.result = spl_fail(error, SUPPLE_ERROR_INPUT, "the model is damaged: %s", wrong);
    }
    if (g.result == SUPPLE_OK) g.result = spl_own_read(reader, out, a, &out->own, error);
    if (g.result == SUPPLE_OK) g.result = spl_visual_read(reader, out, a, &out->visual, error);
    for (char *s = out->name; g.result == SUPPLE_OK && s < out->name + out->name_bytes; s += strlen(s) + 1)
        spl_sanitise(s);
    spl_free(a, known);
    if (g.result != SUPPLE_OK) spl_rig_release(out, a);
    return g.result;
}

/* ---- the drive ---- */

static spl_vec3 vector_of(const double *p)
{
    return spl_v3(p[0], p[1], p[2]);
}

supple_result spl_rig_drive(const spl_rig *r, const supple_allocator *a, spl_body *body, spl_drive *out,
                            supple_error *error)
{
    *body = (spl_body){.allocator = *a, .metre = 1};
    *out = (spl_drive){0};
    body->tets.vertex_count = r->held_count;
    body->bones.bone_count = r->bone_count;
    body->bones.bone = spl_new(a, (size_t)r->bone_count, sizeof *body->bones.bone);
    body->bone = spl_new(a, (size_t)r->held_count, sizeof *body->bone);
    supple_result result = body->bones.bone && body->bone ? SUPPLE_OK : spl_fail_memory(error, "the bones");
    if (result == SUPPLE_OK) result = spl_drive_init(body, a, out, error);
    if (result != SUPPLE_OK) {
        spl_rig_drive_release(body, out, a);
        return result;
    }
    out->stretch = spl_mat3_identity();
    out->to_solver = r->to_solver;
    out->spread = r->spread;
    for (int32_t b = 0; b < r->bone_count; b++) {
        const int32_t *n = r->bone + SPL_RIG_BONE_NUMBERS * b;
        const double *x = r->bone_real + SPL_RIG_BONE_REALS * b;
        body->bones.bone[b] = (spl_bone){n[0], n[0], n[1], vector_of(x), vector_of(x + 3), n[0]};
        out->axis[b] = vector_of(x + 6);
        out->driver[b] = n[2];
        out->own[b] = n[3] != 0;
        spl_mat3 linear;
        memcpy(&linear, x + 9, sizeof linear);
        out->home[b] = spl_mat3_affine(&linear, vector_of(x + 18));
    }
    for (int32_t k = 0; k < r->held_count; k++) body->bone[k] = r->held[2 * k + 1];
    if (r->held_count > 0) memcpy(out->rest, r->held_rest, 3 * (size_t)r->held_count * sizeof *out->rest);
    return SUPPLE_OK;
}

void spl_rig_drive_release(spl_body *body, spl_drive *drive, const supple_allocator *a)
{
    spl_drive_release(drive);
    spl_free(a, body->bones.bone);
    spl_free(a, body->bone);
    *body = (spl_body){0};
}
