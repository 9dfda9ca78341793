#include "core/memory.h"
#include "failing.h"
#include "rig/bones.h"
#include "rig/copies.h"
#include "test.h"

/* A limb in two parts, each with its own copy of the skeleton: hip, knee and foot along x, at 2, 4 and 6. The thigh's
 * copy moves nothing beyond the knee, the shank's nothing before it. Nodes are listed copy after copy. */
enum { HIP, KNEE, FOOT, JOINTS, NODES = 2 * JOINTS, VERTICES = 21 };

typedef struct modular {
    spl_node node[NODES];
    int32_t order[NODES], joint_node[NODES];
    spl_mat4 inverse_bind[NODES];
    float position[2][3 * VERTICES], weight[VERTICES];
    uint16_t joint[2][VERTICES];
    spl_primitive primitive[2];
    spl_mesh mesh[2];
    spl_skin skin[2];
    spl_instance instance[2];
    spl_channel channel[2];
    spl_clip clip;
    float time[2], value[2][8];
    supple_scene scene;
} modular;

static void make_modular(modular *m)
{
    static char *const names[NODES] = {"hip", "knee", "foot", "x", "y", "z"};
    *m = (modular){0};
    for (int i = 0; i < NODES; i++) {
        int j = i % JOINTS;
        m->node[i] = (spl_node){.name = names[i],
                                .parent = j ? i - 1 : -1,
                                .mesh = -1,
                                .skin = -1,
                                .t = {2},
                                .r = {0, 0, 0, 1},
                                .s = {1, 1, 1}};
        m->order[i] = m->joint_node[i] = i;
        m->inverse_bind[i] = spl_mat4_identity();
        m->inverse_bind[i].m[12] = -2 - 2 * j;
    }
    for (int p = 0; p < 2; p++) {
        for (int i = 0; i < VERTICES; i++) {
            double x = (p ? 4 : 2) + (p ? 3.0 : 2.0) * i / (VERTICES - 1);
            m->position[p][3 * i] = (float)x;
            m->position[p][3 * i + 1] = (float)(i % 2) * 0.2f;
            m->weight[i] = 1;
            m->joint[p][i] = p == 0 ? HIP : x < 6 ? KNEE : FOOT;
        }
        m->primitive[p] = (spl_primitive){.vertex_count = VERTICES,
                                          .position = m->position[p],
                                          .influence_count = 1,
                                          .joint = m->joint[p],
                                          .weight = m->weight,
                                          .material = -1};
        m->mesh[p] = (spl_mesh){.name = names[p], .primitive_count = 1, .primitive = &m->primitive[p]};
        m->skin[p] = (spl_skin){.joint_count = JOINTS,
                                .joint = m->joint_node + JOINTS * p,
                                .inverse_bind = m->inverse_bind + JOINTS * p,
                                .first_joint = JOINTS * p};
        m->instance[p] = (spl_instance){.mesh = p, .skin = p, .first_vertex = p * VERTICES, .vertex_count = VERTICES};
        m->time[1] = 1;
        m->value[p][7] = m->value[p][3] = 1;
        m->channel[p] = (spl_channel){.node = KNEE + JOINTS * p,
                                      .path = SPL_PATH_ROTATION,
                                      .interpolation = SPL_LINEAR,
                                      .key_count = 2,
                                      .width = 4,
                                      .time = m->time,
                                      .value = m->value[p]};
    }
    m->clip = (spl_clip){.name = names[0], .duration = 1, .channel_count = 2, .channel = m->channel};
    m->scene = (supple_scene){.allocator = spl_allocator_of(NULL),
                              .node_count = NODES,
                              .node = m->node,
                              .node_order = m->order,
                              .mesh_count = 2,
                              .mesh = m->mesh,
                              .skin_count = 2,
                              .skin = m->skin,
                              .instance_count = 2,
                              .instance = m->instance,
                              .clip_count = 1,
                              .clip = &m->clip,
                              .vertex_count = 2 * VERTICES,
                              .joint_count = NODES};
}

static void find(modular *m, int32_t *same)
{
    supple_allocator a = spl_allocator_of(NULL);
    if (spl_copies_find(&m->scene, &a, same, NULL) != SUPPLE_OK) abort();
}

TEST(copies_are_found_without_names)
{
    modular m;
    int32_t same[NODES];
    make_modular(&m);
    find(&m, same);
    for (int i = 0; i < NODES; i++) CHECK(same[i] == i % JOINTS);
}

TEST(what_a_clip_moves_otherwise_is_no_copy)
{
    modular m;
    int32_t same[NODES];
    make_modular(&m);
    m.value[1][4] = 0.7f;
    find(&m, same); /* the knee, and what hangs on it; the hip moves alike */
    CHECK(same[HIP + JOINTS] == HIP && same[KNEE + JOINTS] == KNEE + JOINTS && same[FOOT + JOINTS] == FOOT + JOINTS);
    make_modular(&m);
    m.clip.channel_count = 1; /* the second one stands still */
    find(&m, same);
    CHECK(same[KNEE + JOINTS] == KNEE + JOINTS);
}

TEST(other_places_or_one_skin_make_no_copies)
{
    modular m;
    int32_t same[NODES];
    make_modular(&m);
    m.node[FOOT + JOINTS].t[0] = 2.1;
    find(&m, same);
    CHECK(same[KNEE + JOINTS] == KNEE && same[FOOT + JOINTS] == FOOT + JOINTS);
    make_modular(&m);
    m.inverse_bind[HIP + JOINTS].m[13] = 0.3; /* bound elsewhere */
    find(&m, same);
    CHECK(same[HIP + JOINTS] == HIP + JOINTS && same[KNEE + JOINTS] == KNEE + JOINTS);
    make_modular(&m);
    m.skin[0].joint_count = NODES; /* the first skin has them all */
    find(&m, same);
    for (int i = 0; i < NODES; i++) CHECK(same[i] == i);
}

/* One skeleton for the flesh, made of what each copy moves: the thigh hangs on the first hip, the shank on the second
 * knee, and the one is the other's parent. */
TEST(copies_share_their_bones)
{
    modular m;
    spl_bones b;
    supple_allocator a = spl_allocator_of(NULL);
    make_modular(&m);
    REQUIRE(spl_bones_make(&m.scene, &a, &b, NULL) == SUPPLE_OK);
    REQUIRE(b.bone_count == 3);
    CHECK(b.bone[0].node == HIP && b.bone[0].parent == -1 && b.bone[1].node == KNEE + JOINTS && b.bone[1].parent == 0);
    CHECK(b.bone[2].node == FOOT + JOINTS && b.bone[2].parent == 1 && b.bone[2].joint == FOOT + JOINTS);
    CHECK_NEAR(b.bone[0].tail.x, 4, 1e-12);
    for (int i = 0; i < VERTICES; i++) m.joint[0][i] = i < 15 ? HIP : KNEE; /* both copies move the knee */
    spl_bones_release(&b);
    REQUIRE(spl_bones_make(&m.scene, &a, &b, NULL) == SUPPLE_OK);
    CHECK(b.bone_count == 3 && b.bone[1].node == KNEE && b.merged_into[KNEE + JOINTS] == KNEE);
    spl_bones_release(&b);
    m.value[1][4] = 0.7f; /* not when they move otherwise */
    REQUIRE(spl_bones_make(&m.scene, &a, &b, NULL) == SUPPLE_OK);
    CHECK(b.bone_count == 5 && b.merged_into[KNEE + JOINTS] == KNEE + JOINTS);
    spl_bones_release(&b);
}

TEST(failing_allocations_are_errors)
{
    modular m;
    make_modular(&m);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_bones b;
        supple_result result = spl_bones_make(&m.scene, &a, &b, NULL);
        if (result == SUPPLE_OK) spl_bones_release(&b);
        CHECK(f.live == 0);
        if (f.requests <= n) break;
        CHECK(result == SUPPLE_ERROR_MEMORY);
    }
}

TEST_CASES(RUN(copies_are_found_without_names), RUN(what_a_clip_moves_otherwise_is_no_copy),
           RUN(other_places_or_one_skin_make_no_copies), RUN(copies_share_their_bones),
           RUN(failing_allocations_are_errors))
