#include "methods/skinning.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/cpu.h"

#include <string.h>

/* 2048 vertices a piece: about 100 kB of traffic, small against a frame and large against the cost of handing it out.
 */
enum { BLOCKS_PER_PIECE = 256 };

/* ---- cutting into blocks ----------------------------------------------------------------------------------------- */

static bool is_skinned(const spl_instance *instance, const spl_primitive *primitive)
{
    return instance->skin >= 0 && primitive->influence_count > 0;
}

/* How many influences the vertices [first, first + count) need. */
static int32_t needed_influences(const spl_primitive *primitive, int32_t first, int32_t count)
{
    int32_t K = primitive->influence_count, most = 1;
    for (int32_t v = first; v < first + count; v++)
        for (int32_t k = K; k > most; k--)
            if (primitive->weight[(size_t)v * (size_t)K + (size_t)k - 1] != 0) {
                most = k;
                break;
            }
    return most;
}

/* Copies a skinned block's influences; false if a joint is out of range. */
static bool fill_influences(spl_skinning *s, const spl_block *block, const spl_primitive *primitive, int32_t first,
                            int32_t joint_count)
{
    size_t K = block->influence_count, to = (size_t)block->influence * SPL_BLOCK;
    for (int32_t v = first; v < first + block->vertex_count; v++) {
        size_t from = (size_t)v * (size_t)primitive->influence_count;
        for (size_t k = 0; k < K; k++, to++) {
            s->joint[to] = primitive->joint[from + k];
            s->weight[to] = primitive->weight[from + k];
            if (s->joint[to] >= joint_count) return false;
        }
    }
    return true;
}

/* Weight 1 on the first entry where nothing else is: unskinned blocks, and the room after a primitive's last vertex. */
static void fill_rest(spl_skinning *s, const spl_block *block, size_t first)
{
    size_t K = block->influence_count;
    for (size_t v = first; v < SPL_BLOCK; v++) s->weight[(size_t)block->influence * SPL_BLOCK + v * K] = 1;
}

/* Cuts one primitive. Without memory yet (block NULL) it only counts. */
static bool cut_primitive(spl_skinning *s, const supple_scene *scene, int32_t index, const spl_primitive *primitive,
                          uint32_t vertex)
{
    const spl_instance *instance = &scene->instance[index];
    bool skinned = is_skinned(instance, primitive);
    for (int32_t first = 0; first < primitive->vertex_count; first += SPL_BLOCK) {
        int32_t left = primitive->vertex_count - first, count = left < SPL_BLOCK ? left : SPL_BLOCK;
        int32_t K = skinned ? needed_influences(primitive, first, count) : 1;
        if (K > UINT16_MAX || s->influence_count + (size_t)K > UINT32_MAX) return false;
        if (s->block) {
            spl_block *block = &s->block[s->block_count];
            *block = (spl_block){.vertex = vertex + (uint32_t)first,
                                 .influence = (uint32_t)s->influence_count,
                                 .group = (uint32_t)(skinned ? instance->skin : scene->skin_count + index),
                                 .influence_count = (uint16_t)K,
                                 .vertex_count = (uint16_t)count};
            if (skinned && !fill_influences(s, block, primitive, first, scene->skin[instance->skin].joint_count))
                return false;
            fill_rest(s, block, skinned ? (size_t)count : 0);
        }
        s->block_count++;
        s->influence_count += (size_t)K;
    }
    return true;
}

static bool cut_scene(spl_skinning *s, const supple_scene *scene)
{
    s->block_count = s->influence_count = 0;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        uint32_t vertex = (uint32_t)scene->instance[i].first_vertex;
        for (int32_t p = 0; p < mesh->primitive_count; p++) {
            if (!cut_primitive(s, scene, i, &mesh->primitive[p], vertex)) return false;
            vertex += (uint32_t)mesh->primitive[p].vertex_count;
        }
    }
    return true;
}

/* Skins first, each at its place in a pose, then one entry for the node of each instance. */
static void set_groups(spl_skinning *s, const supple_scene *scene)
{
    for (size_t g = 0; g < s->group_count; g++) {
        int32_t skin = (int32_t)g, node = skin - scene->skin_count;
        int32_t entry = node < 0 ? scene->skin[skin].first_joint : scene->joint_count + node;
        s->group[g] = (spl_group){.palette = (uint32_t)entry, .affine = true, .scale = {1, 1, 1}};
    }
}

/* Zeroed floats at a multiple of 64 bytes, so that a palette's entry never straddles a cache line. */
static float *new_aligned(const supple_allocator *a, size_t count, size_t size, void **memory)
{
    if (count > (SIZE_MAX - 64) / (size * sizeof(float))) return NULL;
    *memory = spl_new(a, count * size * sizeof(float) + 64, 1);
    return *memory ? (float *)(((uintptr_t)*memory + 63) & ~(uintptr_t)63) : NULL;
}

supple_result spl_skinning_init(spl_skinning *s, const supple_scene *scene, const supple_allocator *a,
                                supple_error *error)
{
    s->block = NULL;
    if (!cut_scene(s, scene)) return spl_fail(error, SUPPLE_ERROR_INPUT, "the skin has too many influences");
    s->entry_count = (size_t)scene->joint_count + (size_t)scene->instance_count;
    s->group_count = (size_t)scene->skin_count + (size_t)scene->instance_count;
    s->block = spl_new(a, s->block_count, sizeof *s->block);
    s->group = spl_new(a, s->group_count, sizeof *s->group);
    s->joint = spl_new(a, s->influence_count, SPL_BLOCK * sizeof *s->joint);
    s->weight = spl_new(a, s->influence_count, SPL_BLOCK * sizeof *s->weight);
    s->matrix = new_aligned(a, s->entry_count, SPL_MATRIX_SIZE, &s->matrix_memory);
    s->dual = new_aligned(a, s->entry_count, SPL_DUAL_SIZE, &s->dual_memory);
    if (!s->block || !s->group || !s->joint || !s->weight || !s->matrix || !s->dual)
        return spl_fail_memory(error, "the skin's influences");
    set_groups(s, scene);
    if (!cut_scene(s, scene))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "a vertex follows a joint that its skin does not have");
    return SUPPLE_OK;
}

void spl_skinning_release(spl_skinning *s, const supple_allocator *a)
{
    spl_free(a, s->block);
    spl_free(a, s->group);
    spl_free(a, s->joint);
    spl_free(a, s->weight);
    spl_free(a, s->matrix_memory);
    spl_free(a, s->dual_memory);
    *s = (spl_skinning){0};
}

/* ---- palettes ---------------------------------------------------------------------------------------------------- */

spl_mat4 spl_skinning_joint_matrix(const spl_skin *skin, int32_t joint, const spl_pose *pose)
{
    return spl_mat4_mul(&pose->world[skin->joint[joint]], &skin->inverse_bind[joint]);
}

void spl_skinning_set_matrix(spl_skinning *s, size_t entry, const spl_mat4 *m)
{
    float *to = s->matrix + entry * SPL_MATRIX_SIZE;
    for (int i = 0; i < SPL_MATRIX_SIZE; i++) to[i] = i % 4 == 3 ? 0 : (float)m->m[i];
}

void spl_skinning_set_matrices(spl_skinning *s, const supple_scene *scene, const spl_pose *pose, bool skinned)
{
    for (int32_t k = 0; skinned && k < scene->skin_count; k++) {
        const spl_skin *skin = &scene->skin[k];
        for (int32_t j = 0; j < skin->joint_count; j++) {
            spl_mat4 m = spl_skinning_joint_matrix(skin, j, pose);
            spl_skinning_set_matrix(s, (size_t)(skin->first_joint + j), &m);
        }
    }
    for (int32_t i = 0; i < scene->instance_count; i++)
        spl_skinning_set_matrix(s, (size_t)(scene->joint_count + i), &pose->world[scene->instance[i].node]);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

typedef struct run {
    const spl_skinning *s;
    const float *rest;
    float *out;
    bool avx2;
} run;

static void run_piece(void *context, size_t begin, size_t end)
{
    const run *r = context;
#ifdef SPL_HAVE_AVX2
    if (r->avx2) {
        spl_skinning_blocks_avx2(r->s, r->rest, r->out, begin, end);
        return;
    }
#endif
    spl_skinning_blocks_scalar(r->s, r->rest, r->out, begin, end);
}

void spl_skinning_run(const spl_skinning *s, spl_pool *pool, const float *rest, float *out)
{
    run r = {s, rest, out, spl_cpu_has_avx2()};
    spl_parallel_for(pool, s->block_count, BLOCKS_PER_PIECE, run_piece, &r);
}

/* out = (sum_k w_k M_k) rest, for eight vertices */
static void affine8(const float *palette, const uint16_t *joint, const float *weight, int K, const float *rest,
                    float *out)
{
    for (int v = 0; v < SPL_BLOCK; v++, joint += K, weight += K) {
        float m[SPL_MATRIX_SIZE] = {0};
        for (int k = 0; k < K; k++)
            for (int i = 0; i < SPL_MATRIX_SIZE; i++) m[i] += weight[k] * palette[SPL_MATRIX_SIZE * joint[k] + i];
        float x = rest[3 * v], y = rest[3 * v + 1], z = rest[3 * v + 2];
        for (int i = 0; i < 3; i++) out[3 * v + i] = (m[i] * x + m[8 + i] * z) + (m[4 + i] * y + m[12 + i]);
    }
}

/* out = rigid(sum_k w_k Q_k) (scale * rest), for eight vertices. The sum needs no normalising: with n = |q|^2
 *     p' = p + 2/n q x (q x p + w p) + 2/n (w d - d_w q + q x d)   (Kavan et al. 2008, algorithm 1) */
static void dual8(const float *palette, const uint16_t *joint, const float *weight, int K, const float scale[3],
                  const float *rest, float *out)
{
    for (int v = 0; v < SPL_BLOCK; v++, joint += K, weight += K) {
        float b[SPL_DUAL_SIZE] = {0};
        for (int k = 0; k < K; k++)
            for (int i = 0; i < SPL_DUAL_SIZE; i++) b[i] += weight[k] * palette[SPL_DUAL_SIZE * joint[k] + i];
        float qx = b[0], qy = b[1], qz = b[2], qw = b[3], dx = b[4], dy = b[5], dz = b[6], dw = b[7];
        float x = rest[3 * v] * scale[0], y = rest[3 * v + 1] * scale[1], z = rest[3 * v + 2] * scale[2];
        float n = qx * qx + qy * qy + qz * qz + qw * qw;
        float two = 2 / (n > 1e-12F ? n : 1e-12F); /* opposite rotations that cancel: no NaN */
        float cx = qy * z - qz * y + qw * x + dx, cy = qz * x - qx * z + qw * y + dy,
              cz = qx * y - qy * x + qw * z + dz;
        out[3 * v] = x + two * (qy * cz - qz * cy + qw * dx - dw * qx);
        out[3 * v + 1] = y + two * (qz * cx - qx * cz + qw * dy - dw * qy);
        out[3 * v + 2] = z + two * (qx * cy - qy * cx + qw * dz - dw * qz);
    }
}

static void block8(const spl_skinning *s, const spl_block *block, const float *rest, float *out)
{
    const spl_group *group = &s->group[block->group];
    const uint16_t *joint = s->joint + (size_t)block->influence * SPL_BLOCK;
    const float *weight = s->weight + (size_t)block->influence * SPL_BLOCK;
    int K = block->influence_count;
    if (group->affine) {
        affine8(s->matrix + (size_t)group->palette * SPL_MATRIX_SIZE, joint, weight, K, rest, out);
        rest = out;
    }
    if (group->dual) dual8(s->dual + (size_t)group->palette * SPL_DUAL_SIZE, joint, weight, K, group->scale, rest, out);
}

void spl_skinning_blocks_scalar(const spl_skinning *s, const float *rest, float *out, size_t begin, size_t end)
{
    for (size_t b = begin; b < end; b++) {
        const spl_block *block = &s->block[b];
        size_t at = 3 * (size_t)block->vertex, bytes = 3 * block->vertex_count * sizeof(float);
        float p[3 * SPL_BLOCK] = {0};
        memcpy(p, rest + at, bytes);
        block8(s, block, p, p);
        memcpy(out + at, p, bytes);
    }
}
