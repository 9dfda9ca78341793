/* Scenes and poses made by hand, for the tests of methods: two skinned primitives and a rigid instance. */
#ifndef SPL_TESTS_FIXTURE_H
#define SPL_TESTS_FIXTURE_H

#include "../math/numbers.h"
#include "core/hash.h"
#include "core/memory.h"
#include "failing.h"
#include "methods/method.h"

#include <stdlib.h>
#include <string.h>

enum { RIG_JOINTS = 12, RIG_NODES = 2 * RIG_JOINTS + 2, RIG_RIGID = RIG_NODES - 1, RIG_INFLUENCES = 9 };

typedef struct rig {
    supple_scene scene;
    spl_mesh mesh[2];
    spl_primitive primitive[3];
    spl_skin skin;
    spl_instance instance[2];
    spl_node node[RIG_NODES];
    int32_t order[RIG_NODES], joint[RIG_JOINTS];
    spl_mat4 inverse_bind[RIG_JOINTS], bind[RIG_JOINTS], world[RIG_NODES];
    spl_pose pose;
    float *rest, *out;
    supple_config config;
    supple_allocator allocator;
    supple_setup setup;
    supple_stats stats;
    spl_method_context context;
    void *state;
} rig;

/* `vertices` random influences, at most K a vertex; some vertices have fewer. */
static inline void rig_influences(spl_primitive *p, int32_t vertices, int32_t K, uint64_t *seed)
{
    p->vertex_count = vertices;
    p->influence_count = K;
    if (K == 0) return;
    p->joint = calloc((size_t)(vertices * K), sizeof *p->joint);
    p->weight = calloc((size_t)(vertices * K), sizeof *p->weight);
    for (int32_t v = 0; v < vertices; v++) {
        int32_t used = v % 16 < 8 ? K : 1 + v % K;
        float sum = 0;
        for (int32_t k = 0; k < used; k++) {
            p->joint[v * K + k] = (uint16_t)((v / 20 + k) % RIG_JOINTS);
            p->weight[v * K + k] = (float)(used - k) + 0.5F * (float)random_real(seed);
            sum += p->weight[v * K + k];
        }
        for (int32_t k = 0; k < used; k++) p->weight[v * K + k] /= sum;
    }
}

/* Joint j sits at node 1 + 2 * slot, with a node that is no joint between it and its parent; joints are listed children
 * first, so that a method must find the hierarchy's order. */
static inline void rig_skeleton(rig *r, uint64_t *seed)
{
    for (int32_t n = 0; n < RIG_NODES; n++) {
        r->node[n] = (spl_node){.parent = n - 1, .mesh = -1, .skin = -1};
        if (n % 2 == 1 && n > 4) r->node[n].parent = 2 * ((n * 7) % (n / 2)) / 2;
        r->order[n] = n;
        r->world[n] = spl_mat4_identity();
    }
    r->node[RIG_RIGID].parent = 0;
    for (int32_t j = 0; j < RIG_JOINTS; j++) {
        spl_mat3 turn = spl_quat_to_mat3(random_rotation(seed));
        r->joint[j] = 1 + 2 * (RIG_JOINTS - 1 - j);
        r->bind[j] = spl_mat3_affine(&turn, random_vector(seed));
        spl_mat4_inverse(&r->bind[j], &r->inverse_bind[j]);
    }
}

/* A rig of three primitives: `vertices` and 37 with up to K influences, and 53 rigid. Freed with rig_free. */
static inline rig *rig_make(int32_t vertices, int32_t K)
{
    rig *r = calloc(1, sizeof *r);
    uint64_t seed = 11;
    rig_skeleton(r, &seed);
    rig_influences(&r->primitive[0], vertices, K, &seed);
    rig_influences(&r->primitive[1], 37, K, &seed);
    rig_influences(&r->primitive[2], 53, 0, &seed);
    r->mesh[0] = (spl_mesh){.primitive_count = 2, .primitive = r->primitive};
    r->mesh[1] = (spl_mesh){.primitive_count = 1, .primitive = r->primitive + 2};
    r->skin = (spl_skin){.joint_count = RIG_JOINTS, .joint = r->joint, .inverse_bind = r->inverse_bind};
    r->instance[0] = (spl_instance){.node = 0, .mesh = 0, .skin = 0, .vertex_count = vertices + 37};
    r->instance[1] =
        (spl_instance){.node = RIG_RIGID, .mesh = 1, .skin = -1, .first_vertex = vertices + 37, .vertex_count = 53};
    r->scene = (supple_scene){.node_count = RIG_NODES,
                              .mesh_count = 2,
                              .skin_count = 1,
                              .instance_count = 2,
                              .node = r->node,
                              .node_order = r->order,
                              .mesh = r->mesh,
                              .skin = &r->skin,
                              .instance = r->instance,
                              .vertex_count = vertices + 90,
                              .joint_count = RIG_JOINTS};
    size_t n = (size_t)r->scene.vertex_count * 3;
    r->rest = calloc(n, sizeof(float));
    r->out = calloc(n, sizeof(float));
    for (size_t i = 0; i < n; i++) r->rest[i] = (float)random_real(&seed);
    r->pose.world = r->world;
    r->config = supple_config_default();
    r->allocator = spl_allocator_of(&r->config);
    r->context =
        (spl_method_context){.scene = &r->scene, .config = &r->config, .allocator = &r->allocator, .setup = &r->setup};
    return r;
}

static inline void rig_free(rig *r)
{
    for (int i = 0; i < 3; i++) {
        free(r->primitive[i].joint);
        free(r->primitive[i].weight);
    }
    free(r->rest);
    free(r->out);
    free(r);
}

/* Poses joint j so that its skinning matrix is m. */
static inline void rig_set(rig *r, int32_t j, const spl_mat4 *m)
{
    r->world[r->joint[j]] = spl_mat4_mul(m, &r->bind[j]);
}

/* Every joint turned and moved at random, by at most about `angle`; stretched where `stretch` is not 0. */
static inline void rig_pose(rig *r, uint64_t seed, double angle, double stretch)
{
    for (int32_t j = 0; j < RIG_JOINTS; j++) {
        spl_mat3 turn = spl_quat_to_mat3(spl_quat_axis_angle(random_vector(&seed), angle * random_real(&seed)));
        spl_mat3 scale = random_matrix(&seed), one = spl_mat3_identity();
        scale = spl_mat3_scale(&scale, stretch);
        scale = spl_mat3_add(&scale, &one);
        spl_mat3 m = spl_mat3_mul(&turn, &scale);
        spl_mat4 affine = spl_mat3_affine(&m, random_vector(&seed));
        rig_set(r, j, &affine);
    }
    spl_mat3 any = random_matrix(&seed);
    r->world[RIG_RIGID] = spl_mat3_affine(&any, random_vector(&seed));
}

static inline supple_result rig_init(rig *r, const spl_method *method)
{
    r->state = calloc(1, method->state_size);
    return method->init(r->state, &r->context, NULL);
}
static inline void rig_step(rig *r, const spl_method *method)
{
    method->step(r->state, &r->context, &r->pose, r->rest, r->out, &r->stats, NULL);
}
static inline void rig_release(rig *r, const spl_method *method)
{
    method->release(r->state, &r->context);
    free(r->state);
    r->state = NULL;
}

static inline spl_vec3 rig_rest(const rig *r, int32_t v)
{
    return spl_v3_from_float(r->rest + 3 * v);
}
static inline spl_vec3 rig_out(const rig *r, int32_t v)
{
    return spl_v3_from_float(r->out + 3 * v);
}

/* The primitive of a vertex in output order, and its index there. */
static inline const spl_primitive *rig_primitive(const rig *r, int32_t v, int32_t *local)
{
    int32_t p = 0;
    for (; v >= r->primitive[p].vertex_count; p++) v -= r->primitive[p].vertex_count;
    *local = v;
    return &r->primitive[p];
}

static inline spl_mat4 rig_matrix(const rig *r, int32_t j)
{
    return spl_mat4_mul(&r->world[r->joint[j]], &r->inverse_bind[j]);
}

/* Hash of the output after a few frames with a pool of some threads (0: no pool). */
static inline uint64_t rig_hash(rig *r, const spl_method *method, int32_t threads)
{
    spl_pool *pool = NULL;
    r->config.thread_count = threads;
    if (threads && spl_pool_create(&r->config, &pool, NULL) != SUPPLE_OK) return 0;
    r->context.pool = pool;
    uint64_t hash = 0;
    if (rig_init(r, method) == SUPPLE_OK)
        for (uint64_t frame = 1; frame < 5; frame++) {
            rig_pose(r, frame, 1, frame % 2 ? 0 : 0.2);
            rig_step(r, method);
            hash = spl_hash(r->out, (size_t)r->scene.vertex_count * 3 * sizeof(float), hash);
        }
    rig_release(r, method);
    spl_pool_destroy(pool);
    r->context.pool = NULL;
    return hash;
}

/* Runs init with the n-th allocation failing, for every n until it succeeds; returns the number of allocations, or -1
 * if a failure was not reported as one, leaked, or if a step allocates. */
static inline int32_t rig_fail_every_allocation(rig *r, const spl_method *method)
{
    supple_allocator kept = r->allocator;
    int32_t n = 0, found = -1;
    for (; n < 100; n++) {
        failing f = {.fail_at = n};
        r->allocator = failing_allocator(&f);
        supple_result result = rig_init(r, method);
        bool done = result == SUPPLE_OK;
        long before = f.requests;
        if (done) rig_step(r, method);
        bool stepped_clean = f.requests == before; /* a step must not allocate at all */
        rig_release(r, method);
        if (f.live != 0 || !stepped_clean || (!done && result != SUPPLE_ERROR_MEMORY)) break;
        if (done) {
            found = n;
            break;
        }
    }
    r->allocator = kept;
    return found;
}

#endif
