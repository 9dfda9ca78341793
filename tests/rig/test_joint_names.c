#include "rig/joint_names.h"
#include "test.h"

static void check_name(const char *name, char side, spl_body_part part)
{
    spl_joint_name n = spl_joint_name_read(name);
    if (n.side != side || n.part != part)
        printf("    '%s': word '%s', side '%c', part %d\n", name, n.word, n.side ? n.side : '-', (int)n.part);
    CHECK(n.side == side && n.part == part);
}

TEST(the_same_joint_in_many_spellings)
{
    static const char *const forearm[] = {"LeftForeArm",
                                          "mixamorig:LeftForeArm",
                                          "mixamorig_LeftForeArm",
                                          "forearm.L",
                                          "forearm_l",
                                          "l_lowerarm",
                                          "lForeArm",
                                          "Bip01 L Forearm",
                                          "Bip001_L_ForeArm",
                                          "leftforearm",
                                          "LEFT_FOREARM",
                                          "lower_arm.left",
                                          "LeftElbow",
                                          "DEF-forearm.L",
                                          "Armature|mixamorig9:LeftForeArm",
                                          "CC_Base_L_Forearm",
                                          "b_LeftForeArm_010"};
    for (size_t i = 0; i < sizeof forearm / sizeof *forearm; i++) check_name(forearm[i], 'l', SPL_PART_FOREARM);
    static const char *const shin[] = {"RightLowLeg", "shin.R",       "calf_r",    "r_knee",
                                       "RightShin",   "Bip01 R Calf", "lowerleg.r"};
    for (size_t i = 0; i < sizeof shin / sizeof *shin; i++) check_name(shin[i], 'r', SPL_PART_SHIN);
}

TEST(parts)
{
    check_name("Hips", 0, SPL_PART_HIPS);
    check_name("mixamorig:Hips", 0, SPL_PART_HIPS);
    check_name("pelvis", 0, SPL_PART_HIPS);
    check_name("Spine1", 0, SPL_PART_SPINE);
    check_name("LowerBack", 0, SPL_PART_SPINE);
    check_name("Bip01 Spine2", 0, SPL_PART_SPINE);
    check_name("chest", 0, SPL_PART_SPINE);
    check_name("Neck1", 0, SPL_PART_NECK);
    check_name("head", 0, SPL_PART_HEAD);
    check_name("RightUpLeg", 'r', SPL_PART_THIGH);
    check_name("thigh.L", 'l', SPL_PART_THIGH);
    check_name("LeftToeBase", 'l', SPL_PART_TOE);
    check_name("ball_r", 'r', SPL_PART_TOE);
    check_name("foot.L", 'l', SPL_PART_FOOT);
    check_name("RightAnkle", 'r', SPL_PART_FOOT);
    check_name("LeftHandIndex1", 'l', SPL_PART_INDEX);
    check_name("f_index.01.R", 'r', SPL_PART_INDEX);
    check_name("LThumb", 'l', SPL_PART_THUMB);
    check_name("RightFingerBase", 'r', SPL_PART_FINGERS);
    check_name("clavicle_l", 'l', SPL_PART_CLAVICLE);
    check_name("rCollar", 'r', SPL_PART_CLAVICLE);
    check_name("upper_arm.R", 'r', SPL_PART_UPPER_ARM);
    check_name("lShldr", 'l', SPL_PART_UPPER_ARM);
    check_name("RightWrist", 'r', SPL_PART_HAND);
    check_name("J_Bip_C_Hips", 0, SPL_PART_HIPS);
    check_name("J_Bip_C_UpperChest", 0, SPL_PART_SPINE);
    check_name("Neck_M", 0, SPL_PART_NECK);
    check_name("lower body", 0, SPL_PART_HIPS);
    check_name("upper body2", 0, SPL_PART_SPINE);
}

static void check_helper(const char *name, char side, spl_body_part part, bool may_be)
{
    spl_joint_name n = spl_joint_name_read(name);
    if (n.helps != part) printf("    '%s' helps %d\n", name, (int)n.helps);
    CHECK(n.part == SPL_PART_NONE && n.side == side && n.helps == part && n.may_be == may_be);
}

TEST(helpers)
{
    check_helper("ik_foot_l", 'l', SPL_PART_FOOT, true);
    check_helper("handIK.r", 'r', SPL_PART_HAND, true);
    check_helper("FootControl.L", 'l', SPL_PART_FOOT, true);
    check_helper("upperarm_twist_01_l", 'l', SPL_PART_UPPER_ARM, false);
    check_helper("control-toe-roll.l", 'l', SPL_PART_TOE, false);
    check_helper("LeftForeArmRoll", 'l', SPL_PART_FOREARM, false);
    check_helper("PoleTarget.L", 'l', SPL_PART_NONE, false);
    check_helper("IKBackLeg.R", 'r', SPL_PART_NONE, true);
}

TEST(what_is_not_a_part)
{
    static const char *const names[] = {
        "kneeIK.l", "IK-foot.r", "control-toe-roll.l", "handslot.l", "Head_end", "LeftArmTwist1", "Tail01", "",
        "---",      "eye.L",     "HeadTop_End",        "left",       "12"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(spl_joint_name_read(names[i]).part == SPL_PART_NONE);
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK(strlen(spl_joint_name_read(longest).word) < SPL_JOINT_WORD);
    for (size_t i = 0; i + 1 < sizeof longest; i++) longest[i] = i % 2 ? '7' : 'a';
    CHECK(strlen(spl_joint_name_read(longest).word) < SPL_JOINT_WORD);
    CHECK(spl_joint_name_read("n99999999999999999999").number == 999999999);
}

static void check_skeleton(const char *const *names, const spl_body_part *parts, int32_t count)
{
    spl_joint_name out[16];
    spl_joint_names_read(names, count, out);
    for (int32_t i = 0; i < count; i++) {
        if (out[i].part != parts[i]) printf("    '%s': part %d\n", names[i], (int)out[i].part);
        CHECK(out[i].part == parts[i]);
    }
}

/* The same word means different things in different skeletons. */
TEST(words_that_depend_on_their_company)
{
    static const char *const mixamo[] = {"Hips", "LeftShoulder", "LeftArm", "LeftForeArm", "LeftUpLeg", "LeftLeg"};
    static const spl_body_part mixamo_parts[] = {SPL_PART_HIPS,    SPL_PART_CLAVICLE, SPL_PART_UPPER_ARM,
                                                 SPL_PART_FOREARM, SPL_PART_THIGH,    SPL_PART_SHIN};
    check_skeleton(mixamo, mixamo_parts, 6);
    static const char *const biovision[] = {"Hips",       "LeftHip",      "LeftKnee",  "LeftAnkle",
                                            "LeftCollar", "LeftShoulder", "LeftElbow", "LeftWrist"};
    static const spl_body_part biovision_parts[] = {SPL_PART_HIPS,    SPL_PART_THIGH,    SPL_PART_SHIN,
                                                    SPL_PART_FOOT,    SPL_PART_CLAVICLE, SPL_PART_UPPER_ARM,
                                                    SPL_PART_FOREARM, SPL_PART_HAND};
    check_skeleton(biovision, biovision_parts, 8);
    static const char *const cmu[] = {"Hips", "LHipJoint", "LeftUpLeg", "LeftLeg"};
    static const spl_body_part cmu_parts[] = {SPL_PART_HIPS, SPL_PART_HIP_JOINT, SPL_PART_THIGH, SPL_PART_SHIN};
    check_skeleton(cmu, cmu_parts, 4);
    static const char *const poser[] = {"hip", "abdomen", "lThigh", "lShin", "lFoot"};
    static const spl_body_part poser_parts[] = {SPL_PART_HIPS, SPL_PART_SPINE, SPL_PART_THIGH, SPL_PART_SHIN,
                                                SPL_PART_FOOT};
    check_skeleton(poser, poser_parts, 5);
    static const char *const counted[] = {"torso_joint_1", "torso_joint_2", "arm_joint_L_1",
                                          "arm_joint_L_2", "arm_joint_L_3", "leg_joint_R_1",
                                          "leg_joint_R_2", "leg_joint_R_3", "leg_joint_R_5"};
    static const spl_body_part counted_parts[] = {SPL_PART_HIPS,    SPL_PART_SPINE, SPL_PART_UPPER_ARM,
                                                  SPL_PART_FOREARM, SPL_PART_HAND,  SPL_PART_THIGH,
                                                  SPL_PART_SHIN,    SPL_PART_FOOT,  SPL_PART_TOE};
    check_skeleton(counted, counted_parts, 9);
    static const char *const game[] = {"root", "hips", "upperleg.l", "lowerleg.l"};
    static const spl_body_part game_parts[] = {SPL_PART_NONE, SPL_PART_HIPS, SPL_PART_THIGH, SPL_PART_SHIN};
    check_skeleton(game, game_parts, 4);
}

TEST_CASES(RUN(the_same_joint_in_many_spellings), RUN(parts), RUN(helpers), RUN(what_is_not_a_part),
           RUN(words_that_depend_on_their_company))
