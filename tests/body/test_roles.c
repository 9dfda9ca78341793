#include "body/roles.h"
#include "core/memory.h"
#include "failing.h"
#include "test.h"

/* Surfaces of revolution about y: a sphere from a polar angle to another, welded by position alone. */
enum { AROUND = 24, ALONG = 16, VERTICES = (AROUND + 1) * (ALONG + 1), TRIANGLES = 2 * AROUND * ALONG, PARTS = 6 };

static float position[PARTS][3 * VERTICES], weight[VERTICES];
static uint16_t joint[VERTICES];
static int32_t triangle[3 * TRIANGLES];
static spl_primitive primitive[PARTS];
static spl_mesh mesh[PARTS];
static spl_instance instance[PARTS];
static spl_node node[PARTS + 1];
static spl_skin skin;
static int32_t skin_joint[] = {PARTS};

static void sphere(int part, double radius, double from, double to, double x, double y)
{
    const double pi = 3.14159265358979323846;
    for (int i = 0; i <= ALONG; i++)
        for (int k = 0; k <= AROUND; k++) {
            double polar = from + (to - from) * i / ALONG, angle = 2 * pi * (k % AROUND) / AROUND;
            float *p = position[part] + 3 * (i * (AROUND + 1) + k);
            double ring = i == 0 && from == 0 ? 0 : i == ALONG && to == pi ? 0 : radius * sin(polar);
            p[0] = (float)(x + ring * cos(angle));
            p[1] = (float)(y + radius * cos(polar));
            p[2] = (float)(ring * sin(angle));
        }
}

static void connect(void)
{
    int32_t *t = triangle;
    for (int i = 0; i < ALONG; i++)
        for (int k = 0; k < AROUND; k++) {
            int32_t a = i * (AROUND + 1) + k, b = a + 1, c = a + AROUND + 1, d = c + 1;
            memcpy(t, (int32_t[]){a, b, c, b, d, c}, 6 * sizeof(int32_t));
            t += 6;
        }
}

/* 0 a head (closed), 1 an eye inside it, 2 a hair cap around it, 3 and 4 two halves of a cut body whose borders meet,
 * 5 a prop. */
static supple_scene character(void)
{
    const double pi = 3.14159265358979323846;
    sphere(0, 1, 0, pi, 0, 0);
    sphere(1, 0.2, 0, pi, 0.5, 0);
    sphere(2, 1.1, 0, pi / 2, 0, 0);
    sphere(3, 1, 0, pi / 2, 5, 0);
    sphere(4, 1, pi / 2, pi, 5, 0);
    sphere(5, 0.5, 0, pi, 10, 0);
    connect();
    static char *const names[] = {"head", "eye", "hair", "upper", "lower", "prop", "bone"};
    for (int i = 0; i < VERTICES; i++) weight[i] = 1;
    for (int i = 0; i < PARTS; i++) {
        primitive[i] = (spl_primitive){.vertex_count = VERTICES,
                                       .position = position[i],
                                       .triangle = triangle,
                                       .triangle_count = TRIANGLES,
                                       .influence_count = 1,
                                       .joint = joint,
                                       .weight = weight,
                                       .material = -1};
        mesh[i] = (spl_mesh){.name = names[i], .primitive_count = 1, .primitive = &primitive[i]};
        instance[i] = (spl_instance){i, i, i == 5 ? -1 : 0, i * VERTICES, VERTICES, i * VERTICES, VERTICES};
        node[i] = (spl_node){.name = names[i], .parent = PARTS, .mesh = i};
    }
    node[PARTS] = (spl_node){.name = names[PARTS], .parent = -1, .mesh = -1};
    skin = (spl_skin){.joint_count = 1, .joint = skin_joint};
    return (supple_scene){.node_count = PARTS + 1,
                          .node = node,
                          .mesh_count = PARTS,
                          .mesh = mesh,
                          .skin_count = 1,
                          .skin = &skin,
                          .instance_count = PARTS,
                          .instance = instance,
                          .vertex_count = PARTS * VERTICES};
}

TEST(parts_get_their_roles_by_shape)
{
    supple_scene scene = character();
    supple_allocator a = spl_allocator_of(NULL);
    int32_t count;
    spl_part *parts = spl_parts_new(&scene, &a, &count);
    spl_role role[PARTS];
    REQUIRE(parts && count == PARTS);
    REQUIRE(spl_roles_find(&scene, parts, count, position[0], &a, role, NULL) == SUPPLE_OK);
    CHECK(role[0].role == SUPPLE_ROLE_FLESH && role[0].border_edges == 0);
    CHECK(role[0].welded_vertices == AROUND * (ALONG - 1) + 2 && role[0].closed_components == 1);
    CHECK(role[1].role == SUPPLE_ROLE_FOLLOW && strstr(role[1].why, "head"));
    CHECK(role[2].role == SUPPLE_ROLE_FOLLOW && role[2].border_edges == AROUND);
    CHECK_NEAR(role[2].openness, 2 * 3.14159265358979, 0.1); /* a hemisphere: (2 pi r)^2 / (2 pi r^2) */
    CHECK(role[3].role == SUPPLE_ROLE_FLESH && role[4].role == SUPPLE_ROLE_FLESH);
    CHECK(role[5].role == SUPPLE_ROLE_RIGID && strstr(role[5].why, "bone"));
    spl_free(&a, parts);
}

TEST(failing_allocations_are_errors)
{
    supple_scene scene = character();
    supple_allocator plain = spl_allocator_of(NULL);
    int32_t count;
    spl_part *parts = spl_parts_new(&scene, &plain, &count);
    spl_role role[PARTS];
    REQUIRE(parts);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        supple_result result = spl_roles_find(&scene, parts, count, position[0], &a, role, NULL);
        CHECK(f.live == 0);
        if (f.requests <= n) break;
        CHECK(result == SUPPLE_ERROR_MEMORY);
    }
    spl_free(&plain, parts);
}

TEST_CASES(RUN(parts_get_their_roles_by_shape), RUN(failing_allocations_are_errors))
