#include "core/memory.h"
#include "failing.h"
#include "rig/bones.h"
#include "test.h"

/* A limb along x: root at the origin (moves nothing), hip at 2, a control joint at 3 without weights, knee at 4, a
 * second knee at the same place, and a foot at 6 whose flesh reaches to 7. */
enum { ROOT, HIP, CONTROL, KNEE, KNEE2, FOOT, NODES };
static const double place[NODES] = {0, 2, 3, 4, 4, 6};
enum { STEPS = 101 };

static spl_node nodes[NODES];
static int32_t order[NODES], joint_nodes[NODES];
static spl_mat4 inverse_bind[NODES];
static float position[3 * STEPS], weight[STEPS];
static uint16_t joint[STEPS];
static spl_primitive primitive;
static spl_mesh mesh;
static spl_skin skin;
static spl_instance instance;

static supple_scene limb(void)
{
    static char *const names[NODES] = {"root", "hip", "control", "knee", "knee2", "foot"};
    for (int i = 0; i < NODES; i++) {
        nodes[i] = (spl_node){.name = names[i], .parent = i - 1, .mesh = -1, .skin = -1};
        order[i] = joint_nodes[i] = i;
        inverse_bind[i] = spl_mat4_identity();
        inverse_bind[i].m[12] = -place[i];
    }
    for (int i = 0; i < STEPS; i++) {
        double x = 2 + 5.0 * i / (STEPS - 1);
        position[3 * i] = (float)x;
        position[3 * i + 1] = (float)(i % 2) * 0.2f;
        weight[i] = 1;
        joint[i] = x < 4 ? HIP : x < 5 ? KNEE : x < 6 ? KNEE2 : FOOT;
    }
    primitive = (spl_primitive){.vertex_count = STEPS,
                                .position = position,
                                .influence_count = 1,
                                .joint = joint,
                                .weight = weight,
                                .material = -1};
    mesh = (spl_mesh){.name = "limb", .primitive_count = 1, .primitive = &primitive};
    skin = (spl_skin){.joint_count = NODES, .joint = joint_nodes, .inverse_bind = inverse_bind};
    instance = (spl_instance){.node = 0, .mesh = 0, .skin = 0, .vertex_count = STEPS};
    return (supple_scene){.allocator = spl_allocator_of(NULL),
                          .node_count = NODES,
                          .node = nodes,
                          .node_order = order,
                          .mesh_count = 1,
                          .mesh = &mesh,
                          .skin_count = 1,
                          .skin = &skin,
                          .instance_count = 1,
                          .instance = &instance,
                          .vertex_count = STEPS,
                          .joint_count = NODES};
}

TEST(only_joints_with_influence_have_bones)
{
    supple_scene scene = limb();
    supple_allocator a = spl_allocator_of(NULL);
    spl_bones b;
    REQUIRE(spl_bones_make(&scene, &a, &b, NULL) == SUPPLE_OK);
    REQUIRE(b.bone_count == 3);
    CHECK(b.bone[0].node == HIP && b.bone[0].parent == -1);
    CHECK_NEAR(b.bone[0].head.x, 2, 1e-12);
    CHECK_NEAR(b.bone[0].tail.x, 4, 1e-12); /* over the control joint to the knee */
    CHECK(b.bone[1].node == KNEE && b.bone[1].parent == 0);
    CHECK_NEAR(b.bone[1].tail.x, 6, 1e-12);
    CHECK(b.bone[2].node == FOOT && b.bone[2].parent == 1);
    spl_bones_release(&b);
}

TEST(joints_at_one_place_merge)
{
    supple_scene scene = limb();
    supple_allocator a = spl_allocator_of(NULL);
    spl_bones b;
    REQUIRE(spl_bones_make(&scene, &a, &b, NULL) == SUPPLE_OK);
    CHECK(b.merged_into[KNEE2] == KNEE && b.merged_into[KNEE] == KNEE);
    CHECK(b.merged_into[ROOT] == -1 && b.merged_into[CONTROL] == -1);
    spl_bones_release(&b);
}

TEST(a_leaf_ends_where_its_flesh_does)
{
    supple_scene scene = limb();
    supple_allocator a = spl_allocator_of(NULL);
    spl_bones b;
    REQUIRE(spl_bones_make(&scene, &a, &b, NULL) == SUPPLE_OK);
    CHECK_NEAR(b.bone[2].tail.x, 7, 0.06);
    CHECK_NEAR(b.bone[2].tail.y, 0.2, 0.2);
    spl_bones_release(&b);
}

TEST(a_root_at_the_origin_is_left_out_unless_it_holds_flesh)
{
    supple_scene scene = limb();
    supple_allocator a = spl_allocator_of(NULL);
    spl_bones b;
    weight[0] = 1;
    joint[0] = ROOT; /* one vertex of 101 is 1%: too much to be left out */
    REQUIRE(spl_bones_make(&scene, &a, &b, NULL) == SUPPLE_OK);
    CHECK(b.bone_count == 4 && b.bone[0].node == ROOT);
    spl_bones_release(&b);
    weight[0] = 0.3f;
    REQUIRE(spl_bones_make(&scene, &a, &b, NULL) == SUPPLE_OK);
    CHECK(b.bone_count == 3 && b.bone[0].node == HIP && b.bone[0].parent == -1 && b.merged_into[ROOT] == HIP);
    spl_bones_release(&b);
}

TEST(no_skin_no_bones)
{
    supple_scene scene = limb();
    scene.instance->skin = -1;
    supple_allocator a = spl_allocator_of(NULL);
    spl_bones b;
    REQUIRE(spl_bones_make(&scene, &a, &b, NULL) == SUPPLE_OK);
    CHECK(b.bone_count == 0);
    spl_bones_release(&b);
}

TEST(failing_allocations_are_errors)
{
    supple_scene scene = limb();
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_bones b;
        supple_result result = spl_bones_make(&scene, &a, &b, NULL);
        if (result == SUPPLE_OK) spl_bones_release(&b);
        CHECK(f.live == 0);
        if (f.requests <= n) break;
        CHECK(result == SUPPLE_ERROR_MEMORY);
    }
}

TEST_CASES(RUN(only_joints_with_influence_have_bones), RUN(joints_at_one_place_merge),
           RUN(a_leaf_ends_where_its_flesh_does), RUN(a_root_at_the_origin_is_left_out_unless_it_holds_flesh),
           RUN(no_skin_no_bones), RUN(failing_allocations_are_errors))
