#include "failing.h"
#include "show/toy.h"
#include "test.h"

#include <supple/tools.h>

static void make(toy *t)
{
    static int32_t order[1];
    toy_init(t);
    t->scene.point_count = TOY_COUNT;
    t->instance.point_count = TOY_COUNT;
    t->scene.node_order = order;
    t->node.r[3] = t->node.s[0] = t->node.s[1] = t->node.s[2] = 1;
}

/* Every corner of every triangle is where the scene has it, with its texture coordinate. */
TEST(display_is_the_mesh)
{
    toy t;
    supple_display *d;
    toy_init(&t);
    t.scene.point_count = t.instance.point_count = TOY_COUNT;
    REQUIRE(supple_display_create(&t.scene, NULL, &d, NULL) == SUPPLE_OK);
    CHECK(d->group_count == 2 && d->triangle_count == t.scene.triangle_count && d->point_count == TOY_COUNT);
    const supple_display_group *ball = &d->groups[0], *sheet = &d->groups[1];
    CHECK(ball->first == 0 && ball->count == t.primitive[0].triangle_count && sheet->first == ball->count &&
          sheet->count == 2);
    CHECK(ball->image == t.png && ball->image_size == t.png_size && !sheet->image && sheet->blended && !ball->blended);
    CHECK_NEAR(sheet->color[1], 0.6, 1e-6);
    for (int i = 0; i < 3 * d->triangle_count; i++) {
        int corner = i < 3 * ball->count ? t.ball[i] : TOY_BALL + t.sheet[i - 3 * ball->count];
        int32_t v = (int32_t)d->index[i];
        CHECK(v < d->vertex_count);
        CHECK(memcmp(t.position + 3 * d->point[v], t.position + 3 * corner, 3 * sizeof(float)) == 0);
        if (i < 3 * ball->count) CHECK(memcmp(d->uv + 2 * v, t.uv + 2 * corner, 2 * sizeof(float)) == 0);
    }
    float *out = calloc((size_t)d->vertex_count, 3 * sizeof *out);
    t.scene.up = SPL_UP_Z;
    supple_display_place(d, t.position, out);
    for (int v = 0; v < d->vertex_count; v++) { /* z becomes y, y becomes -z */
        CHECK(out[3 * v + 1] == t.position[3 * d->point[v] + 2]);
        CHECK(out[3 * v + 2] == -t.position[3 * d->point[v] + 1]);
    }
    free(out);
    supple_display_destroy(d);
    toy_release(&t);
}

/* A ball without a texture closes at its seam and its poles; with other weights, or other targets, it does not. */
TEST(display_welds_what_moves_as_one)
{
    toy t;
    static float weight[TOY_BALL];
    static uint16_t joint[TOY_BALL];
    supple_display *d;
    toy_init(&t);
    t.scene.point_count = t.instance.point_count = TOY_COUNT;
    t.primitive[0].uv = NULL;
    for (int i = 0; i < 3 * TOY_BALL; i++) t.position[i] = roundf(t.position[i] * 1e5f) / 1e5f + 0.0f;
    REQUIRE(supple_display_create(&t.scene, NULL, &d, NULL) == SUPPLE_OK);
    CHECK(d->vertex_count == (TOY_RINGS - 1) * TOY_SECTORS + 2 + 4);
    CHECK(!d->uv && !d->groups[0].image);
    supple_display_destroy(d);
    for (int i = 0; i < TOY_BALL; i++) weight[i] = 1, joint[i] = (uint16_t)(i % (TOY_SECTORS + 1) == TOY_SECTORS);
    t.primitive[0].influence_count = 1, t.primitive[0].weight = weight, t.primitive[0].joint = joint;
    REQUIRE(supple_display_create(&t.scene, NULL, &d, NULL) == SUPPLE_OK);
    CHECK(d->vertex_count == (TOY_RINGS - 1) * (TOY_SECTORS + 1) + 4 + 4); /* the seam is open, poles are two each */
    supple_display_destroy(d);
    toy_release(&t);
}

static supple_camera front(double radius)
{
    return (supple_camera){.target = {0, 0.5, 0}, .back = {0, 0, 1}, .up = {0, 1, 0}, .radius = radius, .floor = NAN};
}

/* How wide a panel differs, half way up, from one that shows the backdrop alone. */
static int32_t width_of_ball(const spl_pixels *p, int32_t left, int32_t empty, int32_t width)
{
    int32_t first = -1, last = -1, y = p->height / 2;
    for (int32_t x = 0; x < width; x++) {
        const uint8_t *c = p->rgba + 4 * (y * p->width + left + x), *o = p->rgba + 4 * (y * p->width + empty + x);
        if (abs(c[0] - o[0]) + abs(c[1] - o[1]) + abs(c[2] - o[2]) < 12) continue;
        if (first < 0) first = x;
        last = x;
    }
    return first < 0 ? 0 : last - first + 1;
}

/* A ball of radius r, framed as one of radius R, covers about r / R of a panel; frames stand where they belong. */
TEST(strip_frames_what_it_is_told)
{
    toy t;
    supple_picture *picture;
    supple_allocator a = spl_allocator_of(NULL);
    make(&t);
    t.mesh.primitive_count = 1; /* the ball alone: glass is of another colour */
    t.instance.vertex_count = t.scene.vertex_count = t.scene.point_count = t.instance.point_count = TOY_BALL;
    REQUIRE(supple_picture_create(&t.scene, NULL, &picture, NULL) == SUPPLE_OK);
    static float moved[3 * TOY_COUNT];
    toy_pose(&t, 1, 100, moved); /* out of sight */
    supple_panel panels[3] = {{t.position, front(0.5), NULL}, {t.position, front(1), NULL}, {moved, front(1), "far"}};
    void *png;
    size_t size;
    spl_pixels p;
    REQUIRE(supple_picture_strip(picture, panels, 3, 100, 100, &png, &size, NULL) == SUPPLE_OK);
    REQUIRE(spl_image_decode(png, size, &a, &p, NULL) == SUPPLE_OK);
    CHECK(p.height == 100 && p.width == 3 * 104 - 4);
    int32_t whole = width_of_ball(&p, 0, 208, 100), half = width_of_ball(&p, 104, 208, 100);
    CHECK(whole >= 96 && whole <= 100);
    CHECK(half >= 46 && half <= 53);
    spl_pixels_free(&p, &a);
    supple_bytes_free(png, NULL);
    CHECK(supple_picture_strip(picture, panels, 0, 100, 100, &png, &size, NULL) == SUPPLE_ERROR_ARGUMENT && !png);
    CHECK(supple_picture_strip(picture, panels, 3, 4000, 100, &png, &size, NULL) == SUPPLE_ERROR_ARGUMENT && !png);
    supple_picture_destroy(picture);
    toy_release(&t);
}

/* How far a point is from the middle of a picture, 1 at its border. The lens is 2.8 of the longer side, and the camera
 * where a ball of its radius fills the shorter one. */
static double off_middle(const supple_camera *c, double aspect, const float *point)
{
    double ratio = 5.6 * fmax(aspect, 1 / aspect), D = c->radius * sqrt(1 + ratio * ratio), x = 0, y = 0, z = 0;
    double right[3] = {c->up[1] * c->back[2] - c->up[2] * c->back[1], c->up[2] * c->back[0] - c->up[0] * c->back[2],
                       c->up[0] * c->back[1] - c->up[1] * c->back[0]};
    for (int k = 0; k < 3; k++) {
        double q = (double)point[k] - c->target[k];
        x += q * right[k], y += q * c->up[k], z += q * c->back[k];
    }
    return fmax(5.6 * fmax(aspect, 1) * fabs(x), 5.6 * fmax(1 / aspect, 1) * fabs(y)) / (D - z);
}

/* One camera for frames that stay, cameras that go along with those that travel; all within the picture, a long body
 * that comes towards the camera too. */
TEST(whole_frames_are_seen_whole)
{
    toy t;
    supple_picture *picture;
    make(&t);
    REQUIRE(supple_picture_create(&t.scene, NULL, &picture, NULL) == SUPPLE_OK);
    static float frame[3][3 * TOY_COUNT];
    const float *points[3] = {frame[0], frame[1], frame[2]};
    for (int kind = 0; kind < 3; kind++) {
        supple_camera c[3];
        double aspect, most = 0;
        bool travels = kind == 1;
        for (int i = 0; i < 3; i++) {
            toy_pose(&t, i, travels ? 10 : 0.01, frame[i]);
            for (int v = 0; kind == 2 && v < TOY_COUNT; v++) frame[i][3 * v + 2] *= 6;
        }
        supple_picture_whole(picture, points, 3, c, &aspect);
        CHECK(aspect >= 0.6 && aspect <= 1.8);
        for (int i = 0; i < 3; i++) {
            CHECK(c[i].radius == c[0].radius && c[i].target[1] == c[0].target[1] && isfinite(c[i].floor));
            if (travels) CHECK_NEAR(c[i].target[0] - c[0].target[0], 10 * i, 1e-4);
            if (!travels) CHECK(c[i].target[0] == c[0].target[0]);
            for (int v = 0; v < TOY_COUNT; v++) most = fmax(most, off_middle(&c[i], aspect, points[i] + 3 * v));
        }
        CHECK(most > 0.85 && most < 0.95);
    }
    supple_picture_destroy(picture);
    toy_release(&t);
}

/* Each failure is told, and nothing leaks. */
TEST(out_of_memory)
{
    toy t;
    make(&t);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        config.thread_count = 1;
        supple_display *d;
        supple_picture *picture;
        void *png = NULL;
        size_t size;
        supple_panel panel = {t.position, front(1), "label"};
        panel.camera.floor = 0;
        supple_result r = supple_display_create(&t.scene, &config, &d, NULL), s;
        CHECK(r == SUPPLE_OK || (r == SUPPLE_ERROR_MEMORY && !d));
        s = supple_picture_create(&t.scene, &config, &picture, NULL);
        CHECK(s == SUPPLE_OK || (s == SUPPLE_ERROR_MEMORY && !picture));
        supple_result last = picture ? supple_picture_strip(picture, &panel, 1, 20, 20, &png, &size, NULL) : s;
        CHECK(last == SUPPLE_OK || (last == SUPPLE_ERROR_MEMORY && !png));
        supple_bytes_free(png, &config);
        supple_picture_destroy(picture);
        supple_display_destroy(d);
        CHECK(f.live == 0);
        if ((r == SUPPLE_OK && last == SUPPLE_OK) || test_failures) break;
    }
    toy_release(&t);
}

TEST_CASES(RUN(display_is_the_mesh), RUN(display_welds_what_moves_as_one), RUN(strip_frames_what_it_is_told),
           RUN(whole_frames_are_seen_whole), RUN(out_of_memory))
