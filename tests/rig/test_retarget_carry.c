/* The same character in other rigs, the same motion: the skin must come out the same, wherever the joints hang. */
#include "core/memory.h"
#include "math/quat.h"
#include "math/svd3.h"
#include "rig/pose.h"
#include "test.h"

#include <supple/sim.h>

#define DATA SPL_DATA_DIR "/"
#define WALK DATA "walk.bvh"
enum { MOST = 3000, FRAMES = 12 };

static supple_error error;

static supple_scene *load(const char *name)
{
    char path[1024];
    supple_scene *scene = NULL;
    snprintf(path, sizeof path, DATA "variants/%s.glb", name);
    supple_scene_load_file(path, NULL, &scene, &error);
    return scene;
}

static int32_t node_of(const supple_scene *scene, const char *name)
{
    for (int32_t i = 0; i < scene->node_count; i++)
        if (strcmp(scene->node[i].name, name) == 0) return i;
    abort();
}

static void rename_node(supple_scene *scene, const char *from, const char *to)
{
    spl_node *n = &scene->node[node_of(scene, from)];
    spl_free(&scene->allocator, n->name);
    n->name = spl_strdup(&scene->allocator, to);
}

/* Hangs a node elsewhere; it stays where it is. */
static void hang(supple_scene *scene, const char *name, const char *on)
{
    spl_pose pose;
    spl_mat4 inverse;
    int32_t node = node_of(scene, name), parent = node_of(scene, on);
    if (spl_pose_init(&pose, scene, NULL) != SUPPLE_OK || !spl_mat4_inverse(&pose.world[parent], &inverse)) abort();
    scene->node[node].matrix = spl_mat4_mul(&inverse, &pose.world[node]);
    scene->node[node].has_matrix = true;
    scene->node[node].parent = parent;
    spl_pose_release(&pose);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 4 << 20);
    if (!file || !text || fread(text, 1, (4 << 20) - 1, file) == 0) abort();
    fclose(file);
    return text;
}

static int32_t add_walk(supple_scene *scene, const char *text)
{
    int32_t clip = -1;
    supple_motion motion = {.path = WALK, .data = text, .size = text ? strlen(text) : 0};
    supple_scene_add_motion(scene, &motion, NULL, &clip, &error);
    return clip;
}

/* Frames all over the walk, without its T-pose; at keys, since between them places and turns go their own ways. */
static double time_of(const supple_scene *scene, int32_t clip, int f)
{
    return (1 + f) * 11 / supple_scene_clip_fps(scene, clip);
}

static bool skin(const supple_scene *scene, int32_t clip, float (*out)[3 * MOST])
{
    supple_sim_config by = supple_sim_config_default();
    supple_sim *sim = NULL;
    by.method = "linear";
    if (clip < 0 || scene->vertex_count > MOST) return false;
    if (supple_sim_create(scene, &by, NULL, &sim, &error) != SUPPLE_OK) return false;
    bool ok = true;
    for (int f = 0; f < FRAMES && ok; f++) {
        ok = supple_sim_step_clip(sim, clip, time_of(scene, clip, f), &error) == SUPPLE_OK;
        supple_sim_read_positions(sim, out[f], 12);
    }
    supple_sim_destroy(sim);
    return ok;
}

static double farthest(float (*a)[3 * MOST], float (*b)[3 * MOST], int32_t first, int32_t count, double aside)
{
    double worst = 0;
    for (int f = 0; f < FRAMES; f++)
        for (int32_t i = 0; i < 3 * count; i++)
            worst = fmax(worst, fabs((double)a[f][i] + (i % 3 == 0 ? aside : 0) - (double)b[f][3 * first + i]));
    return worst;
}

static float want[FRAMES][3 * MOST], got[FRAMES][3 * MOST];

/* Walks both; the largest distance between their skins. */
static double walk_apart(supple_scene *a, supple_scene *b)
{
    bool ok = a && b && skin(a, add_walk(a, NULL), want) && skin(b, add_walk(b, NULL), got);
    double worst = ok ? farthest(want, got, 0, a->vertex_count, 0) : INFINITY;
    if (!(worst < 2e-6)) printf("    apart by %g\n", worst);
    supple_scene_destroy(a);
    supple_scene_destroy(b);
    return worst;
}

TEST(thighs_beside_the_hips_and_feet_at_the_root)
{
    CHECK(walk_apart(load("plain"), load("thighs_on_root")) < 2e-6);
    CHECK(walk_apart(load("plain"), load("ik_feet")) < 2e-6);
}

TEST(joints_that_mirror)
{
    CHECK(walk_apart(load("plain"), load("mirrored")) < 2e-6);
}

static const char *const all[] = {"spine",     "chest",   "neck",       "head",        "shoulder.L", "upper_arm.L",
                                  "forearm.L", "hand.L",  "fingers.L",  "thumb.L",     "thigh.L",    "shin.L",
                                  "foot.L",    "toes.L",  "shoulder.R", "upper_arm.R", "forearm.R",  "hand.R",
                                  "fingers.R", "thumb.R", "thigh.R",    "shin.R",      "foot.R",     "toes.R"};

/* As exporters write rigs whose deforming bones hang on bones that do not. */
TEST(a_flat_rig)
{
    supple_scene *flat = load("ik_feet");
    REQUIRE(flat);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hang(flat, all[i], "root");
    CHECK(walk_apart(load("plain"), flat) < 2e-6);
}

TEST(every_copy_of_a_skeleton_moves)
{
    supple_scene *plain = load("plain"), *copies = load("copies"), *two = load("two_skins");
    REQUIRE(plain && copies && two);
    int32_t count = plain->vertex_count, found = 0;
    REQUIRE(skin(plain, add_walk(plain, NULL), want) && skin(copies, add_walk(copies, NULL), got));
    const float *rest = plain->mesh[0].primitive[0].position;
    double worst = 0;
    for (int32_t m = 0, first = 0; m < copies->mesh_count; m++) { /* vertices of the parts, by their place at rest */
        const spl_primitive *p = &copies->mesh[m].primitive[0];
        for (int32_t v = 0; v < p->vertex_count; v++, first++)
            for (int32_t k = 0; k < count; k++) {
                if (memcmp(rest + 3 * k, p->position + 3 * v, 12) != 0) continue;
                found++;
                for (int i = 0; i < 3 * FRAMES; i++)
                    worst =
                        fmax(worst, fabs((double)want[i / 3][3 * k + i % 3] - (double)got[i / 3][3 * first + i % 3]));
                break;
            }
    }
    CHECK(found > count / 2 && worst < 2e-6);
    REQUIRE(skin(two, add_walk(two, NULL), got)); /* the second stands a metre aside, and stays there */
    CHECK(farthest(want, got, 0, count, 0) < 2e-6);
    CHECK(farthest(want, got, count, count, 1) < 2e-6);
    supple_scene_destroy(plain);
    supple_scene_destroy(copies);
    supple_scene_destroy(two);
}

/* A joint with skin that nothing knows goes with the joint that it shares its skin with. */
TEST(unknown_joints_at_the_root)
{
    static const char *const names[] = {"toes.L", "thumb.R", "head", "fingers.L"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        supple_scene *a = load("ik_feet"), *b = load("ik_feet");
        REQUIRE(a && b);
        if (strcmp(names[i], "toes.L") == 0) hang(a, "foot.L", "shin.L");
        hang(b, names[i], "root");
        rename_node(a, names[i], "thing");
        rename_node(b, names[i], "thing");
        CHECK(walk_apart(a, b) < 2e-6);
    }
}

/* Rigs whose only foot is the target of inverse kinematics. */
TEST(an_ik_joint_with_skin_is_the_part)
{
    supple_scene *ik = load("ik_feet");
    REQUIRE(ik);
    rename_node(ik, "foot.L", "IK_foot_l");
    rename_node(ik, "foot.R", "FootControl.R");
    CHECK(walk_apart(load("plain"), ik) < 2e-6);
}

/* One without skin goes with what is at its place, or with what it is named after. */
TEST(targets_without_skin)
{
    static const char *const names[] = {"target", "ik_shin_l"};
    static const char *const at[] = {"foot.L", "shin.L"};
    for (int i = 0; i < 2; i++) {
        supple_scene *scene = load("ik_feet");
        spl_pose pose;
        REQUIRE(scene && spl_pose_init(&pose, scene, &error) == SUPPLE_OK);
        spl_primitive *p = &scene->mesh[0].primitive[0];
        int32_t thumb = node_of(scene, "thumb.L"), there = node_of(scene, at[i]), joint = 0;
        while (scene->skin[0].joint[joint] != thumb) joint++;
        for (int32_t k = 0; k < p->vertex_count * p->influence_count; k++)
            if (p->joint[k] == joint) p->joint[k] = 0;
        hang(scene, "thumb.L", "root");
        spl_vec3 place = spl_mat4_point(&pose.world[there], spl_v3(0, 0, i ? 0.3 : 0)); /* named: from afar too */
        memcpy(scene->node[thumb].matrix.m + 12, &place, sizeof place);
        rename_node(scene, "thumb.L", names[i]);
        int32_t clip = add_walk(scene, NULL);
        REQUIRE(clip >= 0);
        double far = spl_distance(place, spl_mat4_point(&pose.world[there], spl_v3(0, 0, 0)));
        for (int f = 0; f < FRAMES; f++) {
            spl_pose_sample(&pose, scene, clip, time_of(scene, clip, f));
            spl_vec3 a = spl_mat4_point(&pose.world[thumb], spl_v3(0, 0, 0));
            CHECK_NEAR(spl_distance(a, spl_mat4_point(&pose.world[there], spl_v3(0, 0, 0))), far, 1e-5);
        }
        spl_pose_release(&pose);
        supple_scene_destroy(scene);
    }
}

/* Rigify counts its spine up to the head. */
TEST(a_counted_spine_ends_in_a_head)
{
    supple_scene *counted = load("plain");
    REQUIRE(counted);
    rename_node(counted, "hips", "DEF-spine");
    rename_node(counted, "spine", "DEF-spine.001");
    rename_node(counted, "chest", "DEF-spine.003");
    rename_node(counted, "neck", "DEF-spine.004");
    rename_node(counted, "head", "DEF-spine.006");
    CHECK(walk_apart(load("plain"), counted) < 2e-6);
}

TEST(a_belly_is_no_spine)
{
    supple_scene *a = load("plain"), *b = load("plain");
    REQUIRE(a && b);
    hang(a, "thumb.L", "hips");
    hang(b, "thumb.L", "hips");
    rename_node(a, "thumb.L", "thing");
    rename_node(b, "thumb.L", "belly");
    CHECK(walk_apart(a, b) < 2e-6);
}

/* Fingers whose base only the motion has stay with the hand: what the base bends is not theirs. */
TEST(fingers_without_their_base)
{
    supple_scene *a = load("plain"), *b = load("plain");
    REQUIRE(a && b);
    rename_node(a, "fingers.L", "thing");
    rename_node(a, "thumb.L", "other thing");
    rename_node(b, "fingers.L", "index.01.L");
    CHECK(walk_apart(a, b) < 2e-6);
}

static spl_quat turn_of(const spl_pose *pose, int32_t node)
{
    spl_mat3 F = spl_mat3_linear(&pose->world[node]), R, S;
    spl_polar3(&F, &R, &S);
    return spl_quat_from_mat3(&R);
}

/* A motion with one finger moves all four. */
TEST(one_finger_for_all)
{
    char *text = read_text(WALK);
    for (char *c; (c = strstr(text, "FingerBase"));) memcpy(c, "OtherThing", 10);
    supple_scene *scene = load("plain");
    spl_pose pose;
    REQUIRE(scene && spl_pose_init(&pose, scene, &error) == SUPPLE_OK);
    rename_node(scene, "fingers.L", "index.01.L");
    rename_node(scene, "thumb.L", "middle.01.L");
    int32_t index = node_of(scene, "index.01.L"), middle = node_of(scene, "middle.01.L");
    spl_quat index_rest = turn_of(&pose, index), middle_rest = turn_of(&pose, middle);
    int32_t clip = add_walk(scene, text);
    REQUIRE(clip >= 0);
    bool moved = false;
    for (int32_t i = 0; i < scene->clip[clip].channel_count; i++)
        moved = moved || scene->clip[clip].channel[i].node == middle;
    CHECK(moved);
    for (int f = 0; f < FRAMES; f++) {
        spl_pose_sample(&pose, scene, clip, time_of(scene, clip, f));
        spl_quat a = spl_quat_mul(turn_of(&pose, index), spl_quat_conjugate(index_rest));
        spl_quat b = spl_quat_mul(turn_of(&pose, middle), spl_quat_conjugate(middle_rest));
        CHECK_NEAR(fabs(spl_quat_dot(a, b)), 1, 1e-6);
    }
    spl_pose_release(&pose);
    supple_scene_destroy(scene);
    free(text);
}

TEST_CASES(RUN(thighs_beside_the_hips_and_feet_at_the_root), RUN(joints_that_mirror), RUN(a_flat_rig),
           RUN(every_copy_of_a_skeleton_moves), RUN(unknown_joints_at_the_root), RUN(an_ik_joint_with_skin_is_the_part),
           RUN(targets_without_skin), RUN(a_counted_spine_ends_in_a_head), RUN(a_belly_is_no_spine),
           RUN(fingers_without_their_base), RUN(one_finger_for_all))
