/* Lips that are closed in the bind pose. */
#include "body/lips.h"

#include "core/memory.h"
#include "failing.h"
#include "math/vec3.h"
#include "test.h"

#include <math.h>

/* Two flat grids of N x N squares, one upon the other, the lower one seen from above and the upper from below. */
enum { N = 4, SIDE = N + 1, SHEET = SIDE * SIDE, VERTICES = 2 * SHEET, TRIANGLES = 4 * N * N, JOINTS = 3 };

typedef struct sheets {
    float position[3 * VERTICES], moved[3 * VERTICES], weight[VERTICES];
    uint16_t joint[VERTICES];
    int32_t triangle[3 * TRIANGLES], first_triangle[2], merged[JOINTS];
    uint8_t role[TRIANGLES];
    spl_primitive primitive;
    spl_instance instance;
    spl_skin skin;
    spl_part part;
    supple_scene scene;
} sheets;

static int32_t skin_joint[JOINTS] = {0, 1, 2};

/* The upper sheet is joint 1's, the lower one joint 2's; turned up, the lower one faces as the upper one does. */
static void make(sheets *s, bool turned)
{
    memset(s, 0, sizeof *s);
    for (int v = 0; v < VERTICES; v++) {
        int in_sheet = v % SHEET;
        s->position[3 * v] = (float)(in_sheet % SIDE);
        s->position[3 * v + 2] = (float)(in_sheet / SIDE);
        s->weight[v] = 1;
        s->joint[v] = v < SHEET ? 1 : 2;
    }
    int32_t *t = s->triangle;
    for (int sheet = 0; sheet < 2; sheet++)
        for (int i = 0; i < N * N; i++) {
            int32_t a = sheet * SHEET + i / N * SIDE + i % N, b = a + 1, c = a + SIDE, d = c + 1;
            bool down = sheet == 0 || turned;
            int32_t corner[] = {a, down ? b : c, down ? c : b, b, down ? d : c, down ? c : d};
            memcpy(t, corner, sizeof corner);
            t += 6;
        }
    memset(s->role, SUPPLE_ROLE_FLESH, sizeof s->role);
    for (int i = 0; i < JOINTS; i++) s->merged[i] = i;
    s->first_triangle[1] = TRIANGLES;
    s->primitive = (spl_primitive){.vertex_count = VERTICES,
                                   .position = s->position,
                                   .triangle = s->triangle,
                                   .triangle_count = TRIANGLES,
                                   .influence_count = 1,
                                   .joint = s->joint,
                                   .weight = s->weight,
                                   .material = -1};
    s->skin = (spl_skin){.joint_count = JOINTS, .joint = skin_joint};
    s->scene = (supple_scene){
        .instance_count = 1, .instance = &s->instance, .skin_count = 1, .skin = &s->skin, .vertex_count = VERTICES};
    s->part = (spl_part){.primitive = &s->primitive};
}

static int32_t part(sheets *s)
{
    int32_t parted = -1;
    supple_allocator a = spl_allocator_of(NULL);
    spl_lips_input in = {&s->scene, &s->part, 1, s->merged, s->first_triangle, s->role, &a};
    memcpy(s->moved, s->position, sizeof s->moved);
    CHECK(spl_lips_part(&in, s->moved, &parted, NULL) == SUPPLE_OK);
    return parted;
}

static double largest(const sheets *s)
{
    double most = 0;
    for (int i = 0; i < 3 * VERTICES; i++) most = fmax(most, fabs((double)(s->moved[i] - s->position[i])));
    return most;
}

/* Each sheet moves into its own flesh, all of it by the same, and hardly. */
TEST(sheets_back_to_back_part)
{
    sheets s;
    make(&s, false);
    CHECK(part(&s) == SHEET);
    double diagonal = sqrt(2.0) * N;
    for (int v = 0; v < VERTICES; v++) { /* the upper sheet faces down, -y, so that its flesh is above */
        double by = (double)s.moved[3 * v + 1];
        CHECK(v < SHEET ? by > 1e-6 * diagonal : by < -1e-6 * diagonal);
    }
    CHECK(largest(&s) < 1e-5 * diagonal);
}

/* Not those that move alike, nor those that face the same way, nor what is no flesh. */
TEST(all_else_stays)
{
    sheets s;
    make(&s, true);
    CHECK(part(&s) == 0 && largest(&s) == 0);
    make(&s, false);
    s.merged[2] = 1;
    CHECK(part(&s) == 0 && largest(&s) == 0);
    make(&s, false);
    memset(s.role + TRIANGLES / 2, SUPPLE_ROLE_FOLLOW, TRIANGLES / 2);
    CHECK(part(&s) == 0 && largest(&s) == 0);
}

/* Where half of the sheets move with one joint (behind the corner of the mouth) that half stays closed. */
TEST(the_corner_of_the_mouth_stays)
{
    sheets s;
    make(&s, false);
    for (int v = SHEET; v < VERTICES; v++)
        if (s.position[3 * v] < 2) s.joint[v] = 1;
    CHECK(part(&s) == 3 * SIDE);
    for (int v = 0; v < VERTICES; v++) CHECK((s.moved[3 * v + 1] != 0) == (s.position[3 * v] >= 2));
}

TEST(failing_allocations_are_errors)
{
    sheets s;
    make(&s, false);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_lips_input in = {&s.scene, &s.part, 1, s.merged, s.first_triangle, s.role, &a};
        int32_t parted;
        memcpy(s.moved, s.position, sizeof s.moved);
        supple_result result = spl_lips_part(&in, s.moved, &parted, NULL);
        CHECK(f.live == 0 && result == (f.requests <= n ? SUPPLE_OK : SUPPLE_ERROR_MEMORY));
        if (f.requests <= n) break;
    }
}

TEST_CASES(RUN(sheets_back_to_back_part), RUN(all_else_stays), RUN(the_corner_of_the_mouth_stays),
           RUN(failing_allocations_are_errors))
