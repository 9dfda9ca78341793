#include "core/memory.h"
#include "failing.h"
#include "rig/bvh.h"
#include "test.h"

#include <supple/base.h>

static supple_error error;

static supple_result parse(const char *text, spl_bvh *out)
{
    supple_allocator a = spl_allocator_of(NULL);
    error = (supple_error){0};
    return spl_bvh_parse(text, strlen(text), "x.bvh", &a, out, &error);
}

/* A file of tests/data. */
static char *read_data(const char *name, size_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = calloc(1, 4 << 20);
    *size = text ? fread(text, 1, (4 << 20) - 1, file) : 0;
    fclose(file);
    return text;
}

static const char small[] = "HIERARCHY\n"
                            "ROOT Hips\n"
                            "{\n"
                            "  OFFSET 1 2 3\n"
                            "  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
                            "  JOINT Arm\n"
                            "  {\n"
                            "    OFFSET 0 5 0\n"
                            "    CHANNELS 1 Yrotation\n"
                            "    End Site\n"
                            "    {\n"
                            "      OFFSET 0 0 2\n"
                            "    }\n"
                            "  }\n"
                            "}\n"
                            "MOTION\n"
                            "Frames: 2\n"
                            "Frame Time: 0.04\n"
                            "0 0 0 0 0 0 0\n"
                            "10 20 30 90 90 0 90\n";

TEST(a_small_file)
{
    spl_bvh b;
    REQUIRE(parse(small, &b) == SUPPLE_OK);
    CHECK(b.joint_count == 2 && b.channel_count == 7 && b.frame_count == 2 && !b.has_more);
    CHECK(strcmp(b.joint[0].name, "Hips") == 0 && strcmp(b.joint[1].name, "Arm") == 0);
    CHECK(b.joint[1].parent == 0 && b.joint[1].has_end && b.joint[1].end.z == 2);
    CHECK_NEAR(b.frame_time, 0.04, 0);
    spl_quat q[2];
    spl_vec3 p[2];
    spl_bvh_pose(&b, -1, q, p); /* at rest: the offsets */
    CHECK(p[0].x == 1 && p[1].y == 7 && q[1].w == 1);
    spl_bvh_pose(&b, 1, q, p);
    CHECK(p[0].x == 10 && p[0].y == 20 && p[0].z == 30); /* a root's position stands instead of its offset */
    /* Rz(90) Rx(90): y -> z by Rx, z stays by Rz. */
    CHECK_NEAR(p[1].x, 10, 1e-12);
    CHECK_NEAR(p[1].y, 20, 1e-12);
    CHECK_NEAR(p[1].z, 35, 1e-12);
    /* Rz(90) Rx(90) Ry(90) turns z: Ry -> x, Rx -> x, Rz -> y. */
    spl_vec3 z = spl_quat_rotate(q[1], spl_v3(0, 0, 1));
    CHECK_NEAR(z.y, 1, 1e-12);
    spl_bvh_release(&b);
}

/* Every order of three rotations against matrices multiplied out by hand. */
TEST(any_order_of_rotations)
{
    static const char *const orders[] = {"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX", "ZXZ"};
    const double angle[3] = {30, -50, 110};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        char text[400];
        snprintf(text, sizeof text,
                 "HIERARCHY ROOT a\n{ OFFSET 0 0 0 CHANNELS 3 %crotation %crotation %crotation End Site { OFFSET 1 0 0 "
                 "} }\nMOTION Frames: 1 Frame Time: 1\n%g %g %g\n",
                 orders[o][0], orders[o][1], orders[o][2], angle[0], angle[1], angle[2]);
        spl_bvh b;
        REQUIRE(parse(text, &b) == SUPPLE_OK);
        spl_quat q;
        spl_bvh_pose(&b, 0, &q, NULL);
        spl_vec3 v = spl_v3(0.3, -0.7, 0.9), got = spl_quat_rotate(q, v);
        for (int i = 2; i >= 0; i--) { /* the last one first */
            double c = cos(angle[i] * M_PI / 180), s = sin(angle[i] * M_PI / 180);
            if (orders[o][i] == 'X') v = spl_v3(v.x, c * v.y - s * v.z, s * v.y + c * v.z);
            if (orders[o][i] == 'Y') v = spl_v3(c * v.x + s * v.z, v.y, c * v.z - s * v.x);
            if (orders[o][i] == 'Z') v = spl_v3(c * v.x - s * v.y, s * v.x + c * v.y, v.z);
        }
        CHECK_NEAR(spl_distance(v, got), 0, 1e-12);
        spl_bvh_release(&b);
    }
}

TEST(positions_below_a_root)
{
    const char *format = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\nJOINT b\n{\nOFFSET 1 2 3\nCHANNELS 2 "
                         "Yposition Zrotation\n}\n}\nMOTION\nFrames: 2\nFrame Time: 1\n0 0\n%d 0\n";
    for (int y = 0; y < 2; y++) {
        char text[300];
        spl_bvh b;
        spl_quat q[2];
        spl_vec3 p[2];
        snprintf(text, sizeof text, format, 7 * y);
        REQUIRE(parse(text, &b) == SUPPLE_OK);
        spl_bvh_pose(&b, 1, q, p);
        CHECK_NEAR(p[1].x, 1, 0);         /* without a channel: the offset */
        CHECK_NEAR(p[1].y, y ? 7 : 2, 0); /* zero throughout: the offset */
        spl_bvh_pose(&b, 0, q, p);
        CHECK_NEAR(p[1].y, y ? 0 : 2, 0);
        spl_bvh_release(&b);
    }
}

TEST(odd_but_right)
{
    static const char text[] =
        "\xef\xbb\xbf# made by hand\r\nhierarchy\r\nROOT My Hips \t{\r\n\r\n\tOFFSET\t0 0\r\n0\r\n"
        "CHANNELS 3 zrotation XROTATION Yrotation # order\r\nEnd Site foo\r\n{ offset 0 1e0 -.5 "
        "}\r\n}\r\nROOT second{OFFSET 0 0 0 CHANNELS 1 Xposition }\r\nMotion\r\nFrames:3\r\nFrame "
        " Time:.5\r\n1 2 3 4\r\n\r\n  5\t6 7 8   \r\n9 1d1 11 +12\r\n13 14 15 16\r\n";
    spl_bvh b;
    REQUIRE(parse(text, &b) == SUPPLE_OK);
    CHECK(b.joint_count == 2 && strcmp(b.joint[0].name, "My Hips") == 0 && strcmp(b.joint[1].name, "second") == 0);
    CHECK(b.joint[1].parent == -1 && b.joint[0].end.z == -0.5);
    CHECK(b.frame_count == 3 && b.value[9] == 10 && b.value[11] == 12 && b.has_more);
    spl_bvh_release(&b);
}

/* Replaces the first `from` in the small file; the message names the line. */
static void refuse(const char *from, const char *to, const char *where, const char *word)
{
    char text[2000];
    spl_bvh b;
    const char *at = strstr(small, from);
    REQUIRE(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - small), small, to, at + strlen(from));
    CHECK(parse(text, &b) == SUPPLE_ERROR_INPUT);
    CHECK(!b.joint && !b.value && b.joint_count == 0);
    bool told = strstr(error.message, where) && strstr(error.message, word) && !strchr(error.message, '\n');
    if (!told) printf("    '%s' -> '%s': %s\n", from, to, error.message);
    CHECK(told);
}

TEST(refusals_say_where)
{
    refuse("HIERARCHY", "HIER", "x.bvh:1:", "HIERARCHY");
    refuse("ROOT Hips", "ROOT \n", "x.bvh:2:", "name");
    refuse("OFFSET 1 2 3", "OFFSET 1 2", "x.bvh:5:", "CHANNELS");
    refuse("OFFSET 1 2 3", "OFFSET 1 2 nan", "x.bvh:4:", "nan");
    refuse("OFFSET 1 2 3", "OFFSET 1 2 1e300", "x.bvh:4:", "1e9");
    refuse("OFFSET 1 2 3", "OFFSET 1 2 1e999", "x.bvh:4:", "1e999");
    refuse("CHANNELS 6", "CHANNELS 7", "x.bvh:5:", "7");
    refuse("CHANNELS 6", "CHANNELS -1", "x.bvh:5:", "-1");
    refuse("CHANNELS 1 Yrotation", "CHANNELS 2 Yrotation", "x.bvh:10:", "channel 2 of 2");
    refuse("CHANNELS 1 Yrotation", "CHANNELS 1 Yrotation CHANNELS 1 Xrotation", "x.bvh:9:", "twice");
    refuse("CHANNELS 1 Yrotation", "CHANNELS 1 Wrotation", "x.bvh:9:", "Wrotation");
    refuse("End Site", "End Effector", "x.bvh:10:", "Site");
    refuse("JOINT Arm", "BONE Arm", "x.bvh:6:", "BONE");
    refuse("MOTION", "", "x.bvh:17:", "MOTION");
    refuse("Frames: 2", "Frames: 0", "x.bvh:17:", "0");
    refuse("Frames: 2", "Frames: 2000000000", "x.bvh:17:", "2000000000");
    refuse("Frames: 2", "Frames: 8000000", "x.bvh:18:", "cut off");
    refuse("Frames: 2", "Frames: two", "x.bvh:17:", "two");
    refuse("Time: 0.04", "Time: 0", "x.bvh:18:", "seconds");
    refuse("Time: 0.04", "Time: -1", "x.bvh:18:", "seconds");
    refuse("Time: 0.04", "Time: inf", "x.bvh:18:", "inf");
    refuse("0 0 0 0 0 0 0", "0 0 0 0 0 0", "x.bvh:19:", "6 numbers");
    refuse("0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0", "x.bvh:19:", "more numbers");
    refuse("90 90 0 90", "90 90 0 NaN", "x.bvh:20:", "NaN");
    refuse("90 90 0 90", "90 90 0 1e12", "x.bvh:20:", "large");
    refuse("90 90 0 90\n", "", "x.bvh:20:", "ends early");
}

TEST(limits)
{
    enum { ROOM = 1 << 20 };
    char *text = malloc(ROOM);
    REQUIRE(text);
    spl_bvh b;
    int n = sprintf(text, "HIERARCHY\nROOT r\n{\n");
    for (int i = 0; i < 300; i++) n += sprintf(text + n, "JOINT j\n{\n");
    CHECK(parse(text, &b) == SUPPLE_ERROR_INPUT && strstr(error.message, "deep"));
    n = sprintf(text, "HIERARCHY\nROOT r\n{\n");
    for (int i = 0; i < 5000; i++) n += sprintf(text + n, "JOINT j\n{\n}\n");
    CHECK(parse(text, &b) == SUPPLE_ERROR_INPUT && strstr(error.message, "4096 joints"));
    n = sprintf(text, "HIERARCHY\nROOT ");
    memset(text + n, 'n', 300);
    text[n + 300] = 0;
    CHECK(parse(text, &b) == SUPPLE_ERROR_INPUT && strstr(error.message, "name"));
    CHECK(parse("HIERARCHY\nMOTION\n", &b) == SUPPLE_ERROR_INPUT && strstr(error.message, "no joints"));
    CHECK(parse("HIERARCHY\nROOT a { OFFSET 0 0 0 }\nMOTION\n", &b) == SUPPLE_ERROR_INPUT);
    free(text);
}

/* Cut anywhere, the file is refused; the last line end alone may go. */
TEST(cut_off_everywhere)
{
    supple_allocator a = spl_allocator_of(NULL);
    size_t whole = sizeof small - 1;
    for (size_t n = 0; n < whole - 2; n++) {
        char *copy = malloc(n ? n : 1); /* exactly as long, for the address sanitizer */
        REQUIRE(copy);
        memcpy(copy, small, n);
        spl_bvh b;
        CHECK(spl_bvh_parse(copy, n, "x.bvh", &a, &b, &error) == SUPPLE_ERROR_INPUT);
        free(copy);
    }
}

TEST(every_allocation_may_fail)
{
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_bvh b;
        supple_result result = spl_bvh_parse(small, sizeof small - 1, "x.bvh", &a, &b, &error);
        if (result == SUPPLE_OK) spl_bvh_release(&b);
        CHECK(f.live == 0);
        if (result == SUPPLE_OK) {
            CHECK(n >= 4);
            return;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY);
    }
}

/* Places and directions of two motions as captures are written, computed by a script with numpy from the files' text.
 */
TEST(motions_as_they_are_captured)
{
    static const struct {
        const char *file;
        int32_t frame, frames;
        const char *joint;
        double place[3], y[3]; /* y: the joint's second axis */
    } known[] = {
        {"walk.bvh", 100, 145, "Hips", {-0.331000, 16.884200, 16.852700}, {0.048471, 0.998214, 0.034906}},
        {"walk.bvh", 100, 145, "LeftToeBase", {1.837995, 1.101191, 14.782464}, {0.355251, 0.917160, 0.180594}},
        {"walk.bvh", 100, 145, "RightHand", {-4.293946, 14.999882, 18.839127}, {-0.960993, 0.140981, 0.237945}},
        {"dance.bvh", 200, 242, "LeftToeBase", {0.753599, 2.378744, 5.588259}, {0.285595, 0.939692, 0.188187}},
        {"dance.bvh", 200, 242, "RightHand", {-8.359873, 18.611558, -3.479731}, {-0.666696, 0.745213, -0.013190}},
        {"dance.bvh", 200, 242, "Head", {1.534811, 27.504036, 0.445241}, {-0.023591, 0.998270, 0.053857}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t size;
        char *text = read_data(known[k].file, &size);
        REQUIRE(text);
        spl_bvh b;
        REQUIRE(parse(text, &b) == SUPPLE_OK);
        free(text);
        CHECK(b.joint_count == 31 && b.channel_count == 96 && b.frame_count == known[k].frames);
        CHECK_NEAR(b.frame_time, 0.0083333, 1e-12);
        spl_quat q[31];
        spl_vec3 p[31];
        spl_bvh_pose(&b, known[k].frame, q, p);
        int32_t j = 0;
        while (j < 30 && strcmp(b.joint[j].name, known[k].joint) != 0) j++;
        spl_vec3 y = spl_quat_rotate(q[j], spl_v3(0, 1, 0));
        const double *place = known[k].place, *axis = known[k].y;
        CHECK_NEAR(spl_distance(p[j], spl_v3(place[0], place[1], place[2])), 0, 2e-6);
        CHECK_NEAR(spl_distance(y, spl_v3(axis[0], axis[1], axis[2])), 0, 2e-6);
        spl_bvh_release(&b);
    }
}

TEST(the_bad_file)
{
    size_t size;
    char *text = read_data("bad/bvh_wrong_channel_count.bvh", &size);
    REQUIRE(text);
    spl_bvh b;
    CHECK(parse(text, &b) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "x.bvh:18:") && strstr(error.message, "channel 4 of 5"));
    free(text);
}

TEST_CASES(RUN(a_small_file), RUN(any_order_of_rotations), RUN(positions_below_a_root), RUN(odd_but_right),
           RUN(refusals_say_where), RUN(limits), RUN(cut_off_everywhere), RUN(every_allocation_may_fail),
           RUN(motions_as_they_are_captured), RUN(the_bad_file))
