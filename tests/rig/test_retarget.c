/* Motions on characters: what the equations of retarget.h promise, measured on the poses that come out. */
#include "failing.h"
#include "math/svd3.h"
#include "rig/retarget.h"
#include "test.h"

#include <supple/tools.h>
#include <unistd.h>

#define DATA SPL_DATA_DIR "/"

static supple_error error;
static char logged[4000];

static void keep_log(void *user, supple_log_level level, const char *message)
{
    (void)user, (void)level;
    snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", message);
}

/* A person of 17 units standing in a T, 2 frames: at rest, and with the left arm lowered by 60 degrees. */
static const char person[] =
    "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\n"
    "JOINT Chest\n{\nOFFSET 0 4 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT Neck\n{\nOFFSET 0 2 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT Head\n{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 2 0\n}\n}\n}\n"
    "JOINT LeftArm\n{\nOFFSET 2 1 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT LeftForeArm\n{\nOFFSET 3 0 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT LeftHand\n{\nOFFSET 3 0 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 1 0 0\n}\n}\n}\n}\n"
    "JOINT RightArm\n{\nOFFSET -2 1 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT RightForeArm\n{\nOFFSET -3 0 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT RightHand\n{\nOFFSET -3 0 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET -1 0 "
    "0\n}\n}\n}\n}\n}\n"
    "JOINT LeftUpLeg\n{\nOFFSET 1 0 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT LeftLeg\n{\nOFFSET 0 -4 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT LeftFoot\n{\nOFFSET 0 -4 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 -0.5 "
    "1\n}\n}\n}\n}\n"
    "JOINT RightUpLeg\n{\nOFFSET -1 0 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT RightLeg\n{\nOFFSET 0 -4 0\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    "JOINT RightFoot\n{\nOFFSET 0 -4 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 -0.5 "
    "1\n}\n}\n}\n}\n}\n"
    "MOTION\nFrames: 2\nFrame Time: 0.05\n"
    "0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    "3 9 5 0 0 0 0 0 0 0 0 0 0 0 0 -60 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

static supple_scene *load(const char *path)
{
    supple_scene *scene = NULL;
    supple_scene_load_file(path, NULL, &scene, &error);
    return scene;
}

/* Making a hero takes a second, reading one nothing: it is made once, and never freed. */
static supple_scene *load_hero(const supple_config *config)
{
    static void *glb;
    static size_t size;
    supple_scene *scene = NULL;
    if (!glb && supple_demo_make("hero", 0.4, NULL, &glb, &size, &error) != SUPPLE_OK) return NULL;
    supple_scene_load_memory(glb, size, "hero.glb", config, &scene, &error);
    return scene;
}

static supple_result add(supple_scene *scene, const char *path, const char *text, const char *map, int32_t *clip)
{
    supple_config config = supple_config_default();
    supple_motion motion = {.path = path, .data = text, .size = text ? strlen(text) : 0, .map_path = map};
    config.log = keep_log;
    logged[0] = 0;
    error = (supple_error){0};
    return supple_scene_add_motion(scene, &motion, &config, clip, &error);
}

static int32_t node_of(const supple_scene *scene, const char *name)
{
    for (int32_t i = 0; i < scene->node_count; i++)
        if (strcmp(scene->node[i].name, name) == 0) return i;
    return -1;
}

static spl_vec3 place(const spl_pose *pose, int32_t node)
{
    return spl_mat4_point(&pose->world[node], spl_v3(0, 0, 0));
}

/* ---- the simple motion ---- */

TEST(left_is_left_and_a_t_pose_is_a_t_pose)
{
    supple_scene *hero = load_hero(NULL);
    REQUIRE(hero);
    int32_t clip, clips = hero->clip_count;
    REQUIRE(add(hero, "some/where/person.bvh", person, NULL, &clip) == SUPPLE_OK);
    CHECK(clip == clips && strcmp(supple_scene_clip_name(hero, clip), "person") == 0);
    CHECK_NEAR(supple_scene_clip_fps(hero, clip), 20, 1e-9);
    CHECK_NEAR(supple_scene_clip_duration(hero, clip), 0.05, 1e-9);
    CHECK(supple_scene_frame_count(hero, clip, 20) == 2);
    CHECK(supple_scene_clip_fps(hero, 0) == 0);
    CHECK(strstr(logged, "17 of its 17") == NULL && strstr(logged, "16 of its 16 joints"));
    spl_pose pose;
    REQUIRE(spl_pose_init(&pose, hero, &error) == SUPPLE_OK);
    int32_t arm[2] = {node_of(hero, "upper_arm.L"), node_of(hero, "upper_arm.R")};
    int32_t hand[2] = {node_of(hero, "hand.L"), node_of(hero, "hand.R")};
    REQUIRE(arm[0] >= 0 && arm[1] >= 0 && hand[0] >= 0 && hand[1] >= 0);
    spl_pose_sample(&pose, hero, clip, 0);
    for (int s = 0; s < 2; s++) { /* the hero's own rest is an A */
        spl_vec3 d = spl_unit(spl_sub(place(&pose, hand[s]), place(&pose, arm[s])), spl_v3(0, 0, 0));
        CHECK_NEAR(spl_distance(d, spl_v3(s ? -1 : 1, 0, 0)), 0, 1e-6);
    }
    spl_vec3 hips = place(&pose, node_of(hero, "hips")), right = place(&pose, hand[1]);
    spl_pose_sample(&pose, hero, clip, 0.05);
    spl_vec3 d = spl_unit(spl_sub(place(&pose, hand[0]), place(&pose, arm[0])), spl_v3(0, 0, 0));
    CHECK_NEAR(spl_distance(d, spl_v3(0.5, -sqrt(0.75), 0)), 0, 1e-6);
    spl_vec3 moved = spl_sub(place(&pose, node_of(hero, "hips")), hips);
    CHECK_NEAR(spl_distance(spl_sub(place(&pose, hand[1]), right), moved), 0, 1e-6); /* the other arm came along */
    /* Ways of the hips go by the legs' lengths: 8 units are the hero's leg. */
    spl_pose_sample(&pose, hero, -1, 0);
    spl_vec3 thigh = place(&pose, node_of(hero, "thigh.L")), shin = place(&pose, node_of(hero, "shin.L"));
    double leg = spl_distance(thigh, shin) + spl_distance(shin, place(&pose, node_of(hero, "foot.L")));
    CHECK_NEAR(moved.x, 3 * leg / 8, 1e-5);
    CHECK_NEAR(moved.z, 5 * leg / 8, 1e-5);
    spl_pose_release(&pose);
    /* A second one has another name; the first name still finds the first. */
    int32_t again;
    REQUIRE(add(hero, "person.bvh", person, NULL, &again) == SUPPLE_OK);
    CHECK(strcmp(supple_scene_clip_name(hero, again), "person 2") == 0 &&
          supple_scene_clip_find(hero, "person") == clip);
    supple_scene_destroy(hero);
}

/* Turns and scales the whole character by its top nodes, as files with another up axis and unit are. */
static void transform_top(supple_scene *scene, spl_quat turn, double size, bool as_matrix)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        spl_node *n = &scene->node[i];
        if (n->parent >= 0) continue;
        spl_vec3 t = spl_scale(spl_quat_rotate(turn, spl_v3(n->t[0], n->t[1], n->t[2])), size);
        spl_quat r = spl_quat_mul(turn, spl_quat_make(n->r[0], n->r[1], n->r[2], n->r[3]));
        memcpy(n->t, &t, sizeof t);
        memcpy(n->r, &r, sizeof r);
        for (int k = 0; k < 3; k++) n->s[k] *= size;
        if (!as_matrix) continue;
        n->matrix = spl_mat4_trs(n->t, n->r, n->s);
        n->has_matrix = true;
    }
    for (int32_t i = 0; as_matrix && i < scene->node_count; i++) { /* joints too; what is left in t, r, s is nothing */
        spl_node *n = &scene->node[i];
        n->matrix = spl_mat4_trs(n->t, n->r, n->s);
        n->has_matrix = true;
        memcpy(n->t, (double[3]){0, 0, 0}, sizeof n->t);
        memcpy(n->r, (double[4]){0, 0, 0, 1}, sizeof n->r);
        memcpy(n->s, (double[3]){1, 1, 1}, sizeof n->s);
    }
}

/* The largest distance between the joints of two scenes over the frames, the first one turned and scaled. */
static double largest_difference(const supple_scene *a, int32_t clip_a, spl_quat turn, double size,
                                 const supple_scene *b, int32_t clip_b, double fps)
{
    spl_pose pa, pb;
    double worst = 0;
    if (spl_pose_init(&pa, a, NULL) != SUPPLE_OK || spl_pose_init(&pb, b, NULL) != SUPPLE_OK) return INFINITY;
    for (int32_t f = 0; f < supple_scene_frame_count(a, clip_a, fps); f++) {
        spl_pose_sample(&pa, a, clip_a, f / fps);
        spl_pose_sample(&pb, b, clip_b, f / fps);
        for (int32_t k = 0; k < a->skin[0].joint_count; k++) {
            int32_t node = a->skin[0].joint[k];
            for (int corner = 0; corner < 4; corner++) { /* the joint and its axes */
                spl_vec3 tip = spl_v3(0.1 * (corner == 1), 0.1 * (corner == 2), 0.1 * (corner == 3));
                spl_vec3 p = spl_scale(spl_quat_rotate(turn, spl_mat4_point(&pa.world[node], tip)), size);
                worst = fmax(worst, spl_distance(p, spl_mat4_point(&pb.world[node], tip)));
            }
        }
    }
    spl_pose_release(&pa);
    spl_pose_release(&pb);
    return worst;
}

TEST(any_axes_and_units)
{
    const spl_quat turns[] = {spl_quat_axis_angle(spl_v3(1, 0, 0), M_PI / 2), /* z up, facing -y */
                              spl_quat_axis_angle(spl_v3(0, 1, 0), M_PI / 2), /* facing +x */
                              spl_quat_axis_angle(spl_v3(1, 1, 1), 2 * M_PI / 3)};
    supple_scene *plain = load_hero(NULL);
    int32_t a, b;
    REQUIRE(plain && add(plain, "person.bvh", person, NULL, &a) == SUPPLE_OK);
    for (int i = 0; i < 3; i++)
        for (int as_matrix = 0; as_matrix < 2; as_matrix++) {
            supple_scene *turned = load_hero(NULL);
            REQUIRE(turned);
            transform_top(turned, turns[i], 100, as_matrix);
            REQUIRE(add(turned, "person.bvh", person, NULL, &b) == SUPPLE_OK);
            CHECK(largest_difference(plain, a, turns[i], 100, turned, b, 20) < 100 * 2e-6);
            supple_scene_destroy(turned);
        }
    supple_scene_destroy(plain);
}

/* A file whose rest pose is some frame of an animation: the bind pose counts, and the motion comes out the same. */
TEST(a_rest_pose_that_is_not_the_bind_pose)
{
    static const char *const bent[] = {"upper_arm.L", "forearm.L", "upper_arm.R", "thigh.R", "shin.R"};
    supple_scene *plain = load_hero(NULL), *posed = load_hero(NULL);
    REQUIRE(plain && posed);
    for (size_t i = 0; i < sizeof bent / sizeof *bent; i++) {
        spl_node *n = &posed->node[node_of(posed, bent[i])];
        spl_quat r = spl_quat_mul(spl_quat_make(n->r[0], n->r[1], n->r[2], n->r[3]),
                                  spl_quat_axis_angle(spl_v3(1, 0.3 * (double)i, -0.5), 0.9));
        memcpy(n->r, &r, sizeof r);
    }
    int32_t a, b;
    REQUIRE(add(plain, "person.bvh", person, NULL, &a) == SUPPLE_OK);
    REQUIRE(add(posed, "person.bvh", person, NULL, &b) == SUPPLE_OK);
    CHECK(largest_difference(plain, a, spl_quat_identity(), 1, posed, b, 20) < 2e-6);
    supple_scene_destroy(plain);
    supple_scene_destroy(posed);
}

/* ---- captured motions ---- */

typedef struct limb {
    const char *from, *to;        /* of the motion */
    const char *made[2], *end[2]; /* of the person, of the hero */
} limb;

static const limb limbs[] = {
    {"LeftArm", "LeftForeArm", {"LeftArm", "upper_arm.L"}, {"LeftForeArm", "forearm.L"}},
    {"LeftForeArm", "LeftHand", {"LeftForeArm", "forearm.L"}, {"LeftHand", "hand.L"}},
    {"RightArm", "RightForeArm", {"RightArm", "upper_arm.R"}, {"RightForeArm", "forearm.R"}},
    {"RightForeArm", "RightHand", {"RightForeArm", "forearm.R"}, {"RightHand", "hand.R"}},
    {"LeftUpLeg", "LeftLeg", {"LeftUpLeg", "thigh.L"}, {"LeftLeg", "shin.L"}},
    {"LeftLeg", "LeftFoot", {"LeftLeg", "shin.L"}, {"LeftFoot", "foot.L"}},
    {"RightUpLeg", "RightLeg", {"RightUpLeg", "thigh.R"}, {"RightLeg", "shin.R"}},
    {"RightLeg", "RightFoot", {"RightLeg", "shin.R"}, {"RightFoot", "foot.R"}},
};

static int32_t source_of(const spl_bvh *bvh, const char *name)
{
    for (int32_t j = 0; j < bvh->joint_count; j++)
        if (strcmp(bvh->joint[j].name, name) == 0) return j;
    return -1;
}

static bool read_bvh(const char *path, spl_bvh *out)
{
    FILE *file = fopen(path, "rb");
    char *text = file ? calloc(1, 2 << 20) : NULL;
    size_t size = text ? fread(text, 1, 2 << 20, file) : 0;
    supple_allocator a = {failing_allocate, failing_reallocate, failing_release, NULL};
    static failing counter = {.fail_at = -1};
    a.user = &counter;
    bool ok = text && spl_bvh_parse(text, size, path, &a, out, &error) == SUPPLE_OK;
    if (file) fclose(file);
    free(text);
    return ok;
}

static spl_quat world_turn(const spl_pose *pose, int32_t node)
{
    spl_mat3 F = spl_mat3_linear(&pose->world[node]), R, S;
    spl_polar3(&F, &R, &S);
    return spl_quat_from_mat3(&R);
}

static double degrees(spl_quat a, spl_quat b)
{
    spl_quat d = spl_quat_mul(spl_quat_conjugate(a), b);
    return 2 * atan2(sqrt(d.x * d.x + d.y * d.y + d.z * d.z), fabs(d.w)) * 180 / M_PI;
}

/* Of the skin. */
static double lowest_vertex(const supple_scene *scene, const supple_sim *sim)
{
    static float position[3 * 20000];
    double lowest = INFINITY;
    if (scene->vertex_count > 20000) return NAN;
    supple_sim_read_positions(sim, position, 12);
    for (int32_t v = 0; v < scene->vertex_count; v++) lowest = fmin(lowest, (double)position[3 * v + 1]);
    return lowest;
}

/* Limbs point where the motion's do, joints turn as fast as the motion's and no faster, feet stand on the ground: the
 * height of the lowest vertex of the bind pose, as numpy reads it from the file. */
static void check_motion(const char *character, int which, const char *motion, spl_quat facing, double ground,
                         double low, double high)
{
    char path[1024];
    spl_bvh bvh;
    spl_pose pose;
    int32_t clip;
    snprintf(path, sizeof path, DATA "%s", motion);
    supple_scene *scene = load(character);
    REQUIRE(scene && read_bvh(path, &bvh));
    REQUIRE(add(scene, path, NULL, NULL, &clip) == SUPPLE_OK);
    REQUIRE(spl_pose_init(&pose, scene, &error) == SUPPLE_OK);
    CHECK(supple_scene_frame_count(scene, clip, supple_scene_clip_fps(scene, clip)) == bvh.frame_count);
    double lowest = INFINITY, highest = -INFINITY, worst_limb = 0, worst_turn = 0, fastest = 0;
    supple_sim_config by = supple_sim_config_default();
    supple_sim *sim = NULL;
    by.method = "linear";
    REQUIRE(supple_sim_create(scene, &by, NULL, &sim, &error) == SUPPLE_OK);
    spl_quat q[64], before[64], mine[8] = {{0}};
    spl_vec3 p[64];
    for (int32_t f = 0; f < bvh.frame_count; f++) {
        spl_bvh_pose(&bvh, f, q, p);
        spl_pose_sample(&pose, scene, clip, f * bvh.frame_time);
        if (f % 4 == 0) { /* the skin, at 30 frames a second */
            REQUIRE(supple_sim_step_clip(sim, clip, f * bvh.frame_time, &error) == SUPPLE_OK);
            double clearance = lowest_vertex(scene, sim) - ground;
            lowest = fmin(lowest, clearance);
            highest = fmax(highest, clearance);
        }
        for (int i = 0; i < 8; i++) {
            int32_t from = source_of(&bvh, limbs[i].from), to = source_of(&bvh, limbs[i].to);
            int32_t node = node_of(scene, limbs[i].made[which]), end = node_of(scene, limbs[i].end[which]);
            spl_vec3 want = spl_quat_rotate(facing, spl_unit(spl_sub(p[to], p[from]), spl_v3(0, 0, 0)));
            spl_vec3 got = spl_unit(spl_sub(place(&pose, end), place(&pose, node)), spl_v3(0, 0, 0));
            worst_limb = fmax(worst_limb, spl_distance(want, got));
            spl_quat turn = world_turn(&pose, node);
            if (f > 0) worst_turn = fmax(worst_turn, fabs(degrees(mine[i], turn) - degrees(before[from], q[from])));
            if (f > 1) fastest = fmax(fastest, degrees(mine[i], turn));
            mine[i] = turn;
        }
        memcpy(before, q, sizeof q);
    }
    printf("    %s: limbs off by %.2g, turns by %.2g degrees, fastest %.1f degrees a frame, feet %+.3f to %+.3f m\n",
           motion, worst_limb, worst_turn, fastest, lowest, highest);
    CHECK(worst_limb < 2e-5);
    CHECK(worst_turn < 0.05);
    CHECK(fastest < 20); /* no limb flips; the dance's own fastest frame turns an arm by 12 degrees */
    CHECK(lowest > low && highest < high);
    supple_sim_destroy(sim);
    spl_pose_release(&pose);
    spl_bvh_release(&bvh);
    supple_scene_destroy(scene);
}

TEST(captured_motions_on_a_person)
{
    check_motion(DATA "person.glb", 0, "walk.bvh", spl_quat_identity(), 0.0033, -2e-3, 0.02);
    check_motion(DATA "person.glb", 0, "dance.bvh", spl_quat_identity(), 0.0033, -2e-3, 0.06);
}

TEST(captured_motions_on_the_hero)
{
    check_motion(DATA "hero.glb", 1, "walk.bvh", spl_quat_identity(), 0, -2e-3, 0.02);
    check_motion(DATA "hero.glb", 1, "dance.bvh", spl_quat_identity(), 0, -2e-3, 0.06);
}

/* An FBX in centimetres whose rest pose is a punch that leans and faces elsewhere; its mesh looks along +x. */
TEST(captured_motions_on_a_posed_fbx)
{
#ifdef SPL_IMPORT_PROGRAM
    setenv("SUPPLE_IMPORT", SPL_IMPORT_PROGRAM, 1);
#else
    SKIP("built without supple-import");
#endif
    spl_quat facing = spl_quat_axis_angle(spl_v3(0, 1, 0), M_PI / 2);
    check_motion(DATA "hero_posed.fbx", 1, "walk.bvh", facing, 0, -0.2, 2);
    check_motion(DATA "hero_posed.fbx", 1, "dance.bvh", facing, 0, -0.2, 6);
}

/* ---- the map ---- */

static void write_map(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(text, file);
    fclose(file);
}

TEST(a_map_overrides_names)
{
    const char *path = "test-retarget-map.json";
    supple_scene *hero = load_hero(NULL);
    REQUIRE(hero);
    int32_t clip;
    write_map(path,
              "{\"LeftArm\": \"upper_arm.R\", \"LeftForeArm\": \"forearm.R\", \"LeftHand\": null, \"Head\": null}");
    REQUIRE(add(hero, "person.bvh", person, path, &clip) == SUPPLE_OK);
    CHECK(strstr(logged, "LeftHand") && strstr(logged, "Head") && strstr(logged, "RightArm"));
    CHECK(strstr(logged, "upper_arm.L")); /* nothing is left that could move it */
    bool moved_head = false;
    for (int32_t i = 0; i < hero->clip[clip].channel_count; i++)
        moved_head = moved_head || hero->clip[clip].channel[i].node == node_of(hero, "head");
    CHECK(!moved_head);
    spl_pose pose;
    REQUIRE(spl_pose_init(&pose, hero, &error) == SUPPLE_OK);
    spl_pose_sample(&pose, hero, clip, 0);
    spl_vec3 d = spl_sub(place(&pose, node_of(hero, "forearm.R")), place(&pose, node_of(hero, "upper_arm.R")));
    d = spl_unit(d, d);
    CHECK_NEAR(d.x, 1, 1e-6); /* the right arm goes where the motion's left one points */
    spl_pose_release(&pose);
    static const struct {
        const char *text, *word;
    } bad[] = {{"{\"NoSuch\": \"hips\"}", "NoSuch"},
               {"{\"Hips\": \"no such\"}", "no such"},
               {"{\"Hips\": 3}", "null"},
               {"{\"Hips\": \"head\", \"Head\": \"head\"}", "twice"},
               {"[1]", ""},
               {"{", "JSON"}};
    int32_t clips = hero->clip_count;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_map(path, bad[i].text);
        CHECK(add(hero, "person.bvh", person, path, &clip) == SUPPLE_ERROR_INPUT && clip == -1);
        CHECK(strstr(error.message, bad[i].word) && strstr(error.message, path));
    }
    unlink(path);
    CHECK(add(hero, "person.bvh", person, path, &clip) == SUPPLE_ERROR_INPUT); /* gone */
    CHECK(hero->clip_count == clips);
    supple_scene_destroy(hero);
}

TEST(what_cannot_be_put_on)
{
    supple_scene *hero = load_hero(NULL), *torus = load("demo:torus");
    REQUIRE(hero && torus);
    int32_t clip;
    CHECK(add(torus, "person.bvh", person, NULL, &clip) == SUPPLE_ERROR_INPUT && strstr(error.message, "--map"));
    CHECK(add(hero, "person.txt", person, NULL, &clip) == SUPPLE_ERROR_ARGUMENT);
    CHECK(add(hero, "nowhere.bvh", NULL, NULL, &clip) == SUPPLE_ERROR_INPUT && clip == -1);
    supple_scene_destroy(hero);
    supple_scene_destroy(torus);
}

TEST(every_allocation_may_fail)
{
    failing f = {.fail_at = -1};
    supple_config config = supple_config_default();
    config.allocator = failing_allocator(&f);
    supple_scene *scene = load_hero(&config);
    REQUIRE(scene);
    supple_motion motion = {.path = "person.bvh", .data = person, .size = sizeof person - 1};
    int32_t clips = scene->clip_count, clip;
    for (long n = 0; n < 2000; n++) {
        long live = f.live;
        f.requests = 0;
        f.fail_at = n;
        supple_result result = supple_scene_add_motion(scene, &motion, &config, &clip, &error);
        if (result == SUPPLE_OK) {
            CHECK(n > 40 && clip == clips && scene->clip_count == clips + 1);
            break;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY && clip == -1 && scene->clip_count == clips);
        CHECK(f.live == live);
    }
    f.fail_at = -1;
    supple_scene_destroy(scene);
    CHECK(f.live == 0);
}

TEST_CASES(RUN(left_is_left_and_a_t_pose_is_a_t_pose), RUN(any_axes_and_units),
           RUN(a_rest_pose_that_is_not_the_bind_pose), RUN(captured_motions_on_a_person),
           RUN(captured_motions_on_the_hero), RUN(captured_motions_on_a_posed_fbx), RUN(a_map_overrides_names),
           RUN(what_cannot_be_put_on), RUN(every_allocation_may_fail))
