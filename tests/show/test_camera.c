#include "show/camera.h"

#include "test.h"

/* Where a point lands, in pixels. */
static void land(const spl_camera *c, spl_vec3 p, double *x, double *y)
{
    spl_vec3 q = spl_camera_point(c, p);
    *x = c->cx + c->focal * q.x / q.z;
    *y = c->cy - c->focal * q.y / q.z;
}

static spl_vec3 corner(const spl_box *box, int i)
{
    return spl_v3(i & 1 ? box->max.x : box->min.x, i & 2 ? box->max.y : box->min.y, i & 4 ? box->max.z : box->min.z);
}

/* Every corner is inside the margin, and on one axis two corners touch it: no camera nearer would do. */
TEST(framing_is_tight)
{
    const spl_box boxes[] = {
        {{-1, 0, -0.3}, {1, 1.8, 0.3}}, {{100, 0, 5}, {101, 0.2, 9}}, {{-1e4, -5, 0}, {1e4, 5, 1}}};
    const int32_t sizes[][2] = {{200, 400}, {640, 480}, {31, 1000}};
    for (size_t b = 0; b < 3; b++)
        for (size_t s = 0; s < 3; s++)
            for (spl_view view = 0; view < SPL_VIEW_COUNT; view++) {
                int32_t w = sizes[s][0], h = sizes[s][1];
                spl_camera c = spl_camera_frame(view, &boxes[b], w, h, 0.1);
                double low_x = 1e9, high_x = -1e9, low_y = 1e9, high_y = -1e9;
                for (int i = 0; i < 8; i++) {
                    double x, y;
                    land(&c, corner(&boxes[b], i), &x, &y);
                    CHECK(spl_camera_point(&c, corner(&boxes[b], i)).z > c.near);
                    low_x = fmin(low_x, x), high_x = fmax(high_x, x), low_y = fmin(low_y, y), high_y = fmax(high_y, y);
                }
                CHECK(low_x > 0.1 * w - 1e-6 && high_x < 0.9 * w + 1e-6);
                CHECK(low_y > 0.1 * h - 1e-6 && high_y < 0.9 * h + 1e-6);
                double slack_x = fmax(low_x - 0.1 * w, 0.9 * w - high_x),
                       slack_y = fmax(low_y - 0.1 * h, 0.9 * h - high_y);
                CHECK(fmin(slack_x, slack_y) < 1e-6 * (w + h));
            }
}

/* glTF: y up, a character looks along +z; from the front its left hand (+x) is on the picture's right. */
TEST(views_look_the_right_way)
{
    const spl_box box = {{-1, 0, -1}, {1, 2, 1}};
    const spl_vec3 middle = {0, 1, 0}, steps[3] = {{0.5, 1, 0}, {0, 1.5, 0}, {0, 1, 0.5}};
    const struct {
        spl_view view;
        int dx[3]; /* how +x, +y, +z go across the picture */
    } expected[] = {{SPL_VIEW_FRONT, {1, 0, 0}}, {SPL_VIEW_SIDE, {0, 0, -1}}, {SPL_VIEW_BACK, {-1, 0, 0}}};
    for (size_t i = 0; i < 3; i++) {
        spl_camera c = spl_camera_frame(expected[i].view, &box, 200, 200, 0);
        double x0, y0, x, y;
        land(&c, middle, &x0, &y0);
        for (int k = 0; k < 3; k++) {
            land(&c, steps[k], &x, &y);
            CHECK((x > x0 + 5) - (x < x0 - 5) == expected[i].dx[k]);
            if (k == 1) CHECK(y < y0 - 5);
        }
    }
    spl_camera top = spl_camera_frame(SPL_VIEW_TOP, &box, 200, 200, 0);
    double x, y;
    land(&top, spl_v3(0, 1, 0.5), &x, &y);
    CHECK(y > 105 && fabs(x - 100) < 1);
    for (spl_view view = 0; view < SPL_VIEW_COUNT; view++) CHECK(spl_view_name(view)[0]);
}

TEST(degenerate_boxes_have_cameras)
{
    spl_box empty = spl_box_empty(), point = {{3, 4, 5}, {3, 4, 5}};
    CHECK(spl_box_is_empty(&empty) && !spl_box_is_empty(&point));
    spl_box_add(&empty, spl_v3(NAN, 0, 0));
    const float wild[6] = {1, INFINITY, 0, 1, 2, 3};
    spl_box some = spl_box_empty();
    spl_box_add_points(&some, wild, 2);
    CHECK(some.min.x == 1 && some.max.z == 3 && some.min.y == 2);
    CHECK(spl_box_is_empty(&empty));
    for (int i = 0; i < 2; i++) {
        spl_camera c = spl_camera_frame(SPL_VIEW_FRONT, i ? &point : &empty, 100, 100, 0.1);
        CHECK(spl_v3_finite(c.eye) && c.near > 0);
        CHECK(spl_camera_point(&c, i ? point.min : spl_v3(0, 0, 0)).z > c.near);
    }
}

/* A ray through the pixel where a point lands passes through the point. */
TEST(rays_invert_projection)
{
    const spl_box box = {{-1, 0, -0.3}, {1, 1.8, 0.3}};
    for (spl_view view = 0; view < SPL_VIEW_COUNT; view++) {
        spl_camera c = spl_camera_frame(view, &box, 300, 200, 0.1);
        for (int i = 0; i < 8; i++) {
            double x, y;
            spl_vec3 p = corner(&box, i);
            land(&c, p, &x, &y);
            spl_vec3 d = spl_unit(spl_sub(p, c.eye), c.back);
            CHECK_NEAR(spl_distance(d, spl_camera_ray(&c, x, y)), 0, 1e-12);
        }
    }
}

TEST_CASES(RUN(framing_is_tight), RUN(views_look_the_right_way), RUN(degenerate_boxes_have_cameras),
           RUN(rays_invert_projection))
