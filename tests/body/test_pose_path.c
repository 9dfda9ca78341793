#include "body/pose_path.h"

#include "rig/puppet.h"
#include "sim/posed.h"

static double apart(const spl_mat4 *a, const spl_mat4 *b)
{
    double most = 0;
    for (int i = 0; i < 16; i++) most = fmax(most, fabs(a->m[i] - b->m[i]));
    return most;
}

static int32_t bone_of(const posed *p, const char *name)
{
    const spl_bones *bones = &p->demo.body->bones;
    for (int32_t b = 0; b < bones->bone_count; b++)
        if (strcmp(p->demo.scene->node[bones->bone[b].node].name, name) == 0) return b;
    abort();
}

static double turned(const spl_mat4 *m) /* radians */
{
    return acos(fmax(-1, fmin(1, (m->m[0] + m->m[5] + m->m[10] - 1) / 2)));
}

TEST(a_joint_turns_evenly_and_arrives)
{
    posed p = posed_make("arm", 8, NULL);
    supple_sim *sim = posed_sim(&p, "reference", "");
    spl_pose_path path;
    spl_solid *solid = &sim->flesh.solid;
    int32_t bones = p.demo.body->bones.bone_count, forearm = bone_of(&p, "forearm");
    REQUIRE(spl_pose_path_create(solid, &path, NULL) == SUPPLE_OK);
    spl_mat4 one = spl_mat4_identity();
    for (int32_t b = 0; b < bones; b++) CHECK(apart(&path.solid.drive.map[b], &one) == 0);
    puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 120);
    REQUIRE(posed_step(sim) == SUPPLE_OK);
    spl_pose_path_begin(&path);
    CHECK_NEAR(path.turn, 120 * M_PI / 180, 1e-6);
    const spl_mat4 *map = path.solid.drive.map;
    for (int k = 1; k <= 4; k++) {
        spl_pose_path_take(&path, k / 4.0);
        CHECK_NEAR(turned(&map[forearm]), 30 * k * M_PI / 180, 1e-6);
        spl_vec3 head = spl_drive_rest(&solid->drive, p.demo.body->bones.bone[forearm].head);
        CHECK_NEAR(spl_distance(spl_mat4_point(&map[forearm], head), head), 0, 1e-9); /* it hangs on */
    }
    CHECK(memcmp(map, solid->drive.map, (size_t)bones * sizeof *map) == 0); /* to the bit */
    spl_pose_path_begin(&path);
    CHECK_NEAR(path.turn, 0, 1e-6);
    spl_pose_path_reset(&path);
    CHECK(apart(&map[forearm], &one) == 0);
    spl_pose_path_release(&path);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST(the_roots_motion_is_taken_away)
{
    posed p = posed_make("arm", 8, NULL);
    supple_sim *sim = posed_sim(&p, "reference", "");
    spl_pose_path path;
    REQUIRE(spl_pose_path_create(&sim->flesh.solid, &path, NULL) == SUPPLE_OK);
    spl_mat4 far = puppet_rigid(spl_v3(0, 1, 0), 100, spl_v3(5, 1, 2));
    puppet_move(&p.puppet, &far);
    REQUIRE(posed_step(sim) == SUPPLE_OK);
    spl_mat4 motion = spl_pose_path_move_root(&path);
    CHECK_NEAR(apart(&motion, &sim->flesh.solid.drive.map[0]), 0, 1e-9);
    spl_pose_path_begin(&path);
    CHECK_NEAR(path.turn, 0, 1e-6);
    spl_pose_path_take(&path, 0.5);
    CHECK_NEAR(apart(&path.solid.drive.map[0], &sim->flesh.solid.drive.map[0]), 0, 1e-9);
    spl_pose_path_release(&path);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST_CASES(RUN(a_joint_turns_evenly_and_arrives), RUN(the_roots_motion_is_taken_away))
