#include "failing.h"
#include "test.h"

#include <supple/tools.h>

static supple_scene *load(const char *name)
{
    supple_scene *scene = NULL;
    supple_scene_load_file(name, NULL, &scene, NULL);
    return scene;
}

/* The direction of the index-th bone, from what `supple info` knows. */
static void bone_direction(const supple_scene *scene, int32_t index, double u[3])
{
    supple_report *report = NULL;
    double n = 0;
    u[0] = u[1] = u[2] = 0;
    if (supple_scene_inspect(scene, NULL, &report, NULL) != SUPPLE_OK || index >= report->bone_count) return;
    for (int i = 0; i < 3; i++) u[i] = report->bones[index].tail[i] - report->bones[index].head[i];
    for (int i = 0; i < 3; i++) n += u[i] * u[i];
    for (int i = 0; i < 3; i++) u[i] /= sqrt(n);
    supple_report_destroy(report);
}

static const double DEGREE = 3.14159265358979323846 / 180;

/* A turn by `angle` about a unit axis a moves the bone u by phi, cos phi = cos angle + (1 - cos angle) (a.u)^2, and
 * what remains about u is the twist: tan(twist / 2) = |a.u| tan(angle / 2). */
static double bend_of(double angle, double au)
{
    return acos(cos(angle * DEGREE) + (1 - cos(angle * DEGREE)) * au * au) / DEGREE;
}

static double twist_of(double angle, double au)
{
    return 2 * atan(fabs(au) * tan(0.5 * angle * DEGREE)) / DEGREE;
}

/* demo:arm turns its forearm by 150 k / 49 degrees about z in frame k of `bend`, by 170 k / 49 about x in `twist`. */
TEST(arm_is_a_closed_form)
{
    supple_scene *scene = load("demo:arm");
    REQUIRE(scene);
    double u[3];
    bone_direction(scene, 1, u);
    CHECK(u[0] > 0.99);
    const supple_range ranges[] = {{0, 0, 50}, {0, 10, 15}, {1, 0, 50}, {1, 20, 10}};
    for (int i = 0; i < 4; i++) {
        const supple_range *r = &ranges[i];
        supple_bends *bends;
        REQUIRE(supple_bends_create(scene, r, 30, 4, NULL, &bends, NULL) == SUPPLE_OK);
        const supple_bend *b = supple_bends_get(bends, 0);
        REQUIRE(b);
        double angle = (r->clip ? 170.0 : 150.0) * (r->first_frame + r->frame_count - 1) / 49,
               au = r->clip ? u[0] : u[2];
        CHECK(strcmp(b->name, "forearm") == 0 && b->joint == 1);
        CHECK_NEAR(b->bend, bend_of(angle, au), 1e-4);
        CHECK_NEAR(b->twist, twist_of(angle, au), 1e-4);
        CHECK(b->twists == (r->clip == 1));
        CHECK((b->twists ? b->twist_frame : b->bend_frame) == r->frame_count - 1);
        CHECK(b->radius > 0.02 && b->radius < 0.08); /* an elbow, metres */
        CHECK(!supple_bends_get(bends, 1) && !supple_bends_get(bends, -1));
        supple_bends_destroy(bends);
    }
    supple_scene_destroy(scene);
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The elbow is at the origin and bends about z: the camera looks along z, and does not move with an upper arm that
 * does not. A twist about x is looked at across x. */
TEST(cameras_look_along_the_axis)
{
    supple_scene *scene = load("demo:arm");
    REQUIRE(scene);
    for (int clip = 0; clip < 2; clip++) {
        supple_range range = {clip, 0, 50};
        supple_bends *bends;
        supple_camera camera[3];
        const int32_t frames[3] = {0, 25, 49};
        REQUIRE(supple_bends_create(scene, &range, 30, 4, NULL, &bends, NULL) == SUPPLE_OK);
        REQUIRE(supple_bends_cameras(bends, 0, frames, 3, NULL, camera, NULL) == SUPPLE_OK);
        double radius = supple_bends_get(bends, 0)->radius;
        for (int i = 0; i < 3; i++) {
            const supple_camera *c = &camera[i];
            CHECK_NEAR(dot(c->back, c->back), 1, 1e-6);
            CHECK_NEAR(dot(c->up, c->up), 1, 1e-6);
            CHECK_NEAR(dot(c->up, c->back), 0, 1e-6);
            if (clip == 0) CHECK(fabs(c->back[2]) > 0.999);
            if (clip == 1) CHECK(fabs(c->back[0]) < 0.1);
            CHECK(sqrt(dot(c->target, c->target)) <= 1.01 * radius);
            CHECK(c->radius >= 2 * radius && c->radius < 0.5);
            for (int k = 0; k < 3; k++) {
                CHECK_NEAR(c->target[k], camera[0].target[k], 1e-6);
                CHECK_NEAR(c->back[k], camera[0].back[k], 1e-6);
            }
        }
        CHECK(supple_bends_cameras(bends, 1, frames, 3, NULL, camera, NULL) == SUPPLE_ERROR_ARGUMENT);
        supple_bends_destroy(bends);
    }
    supple_scene_destroy(scene);
}

/* Something between a camera and the joint sends it to the other side. */
TEST(cameras_look_round_what_is_in_the_way)
{
    supple_scene *scene = load("demo:arm");
    REQUIRE(scene);
    int32_t n = supple_scene_vertex_count(scene), frame = 49;
    float *points = calloc((size_t)n, 3 * sizeof *points);
    REQUIRE(points);
    supple_range range = {0, 0, 50};
    supple_bends *bends;
    REQUIRE(supple_bends_create(scene, &range, 30, 4, NULL, &bends, NULL) == SUPPLE_OK);
    double radius = supple_bends_get(bends, 0)->radius;
    for (int side = -1; side <= 1; side += 2) {
        supple_camera camera;
        for (int32_t i = 0; i < n; i++) points[3 * i + 2] = (float)(side * 5 * radius);
        REQUIRE(supple_bends_cameras(bends, 0, &frame, 1, (const float *const[]){points}, &camera, NULL) == SUPPLE_OK);
        CHECK(side * camera.back[2] < -0.99);
    }
    supple_bends_destroy(bends);
    free(points);
    supple_scene_destroy(scene);
}

/* A person who squats: large joints of one side first, no two close together. */
TEST(persons_joints_are_distinct)
{
    supple_scene *scene = load("demo:hero");
    REQUIRE(scene);
    supple_range range = {supple_scene_clip_find(scene, "reach"), 0, 60};
    supple_bends *bends;
    REQUIRE(supple_bends_create(scene, &range, 30, 4, NULL, &bends, NULL) == SUPPLE_OK);
    char base[4][64];
    int count = 0;
    for (const supple_bend *b; (b = supple_bends_get(bends, count)); count++) {
        CHECK(fmax(b->bend, b->twist) >= 25);
        CHECK(!strstr(b->name, "finger") && !strstr(b->name, "thumb"));
        snprintf(base[count], sizeof base[count], "%.*s", (int)strcspn(b->name, "."), b->name);
        for (int k = 0; k < count; k++) CHECK(strcmp(base[k], base[count]) != 0); /* no twins: there is enough else */
    }
    CHECK(count == 4);
    supple_bends_destroy(bends);
    REQUIRE(supple_bends_create(scene, &(supple_range){-1, 0, 1}, 30, 4, NULL, &bends, NULL) == SUPPLE_OK);
    CHECK(!supple_bends_get(bends, 0)); /* at rest nothing bends */
    supple_bends_destroy(bends);
    CHECK(supple_bends_create(scene, &(supple_range){99, 0, 1}, 30, 4, NULL, &bends, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(!bends);
    supple_scene_destroy(scene);
}

TEST(out_of_memory)
{
    supple_scene *scene = load("demo:arm");
    REQUIRE(scene);
    supple_range range = {0, 0, 3};
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        supple_bends *bends;
        supple_result r = supple_bends_create(scene, &range, 30, 4, &config, &bends, NULL);
        CHECK(r == SUPPLE_OK || (r == SUPPLE_ERROR_MEMORY && !bends));
        supple_bends_destroy(bends);
        CHECK(f.live == 0);
        if (r == SUPPLE_OK || test_failures) break;
    }
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(arm_is_a_closed_form), RUN(cameras_look_along_the_axis), RUN(cameras_look_round_what_is_in_the_way),
           RUN(persons_joints_are_distinct), RUN(out_of_memory))
