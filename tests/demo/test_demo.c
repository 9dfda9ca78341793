/* The built-in characters: closed surfaces, honest weights, clips that do what their names say. */
#include "demo/demo.h"
#include "scene/image.h"
#include "test.h"

#include <supple/tools.h>

static const char *const names[] = {"hero", "arm", "beam", "cylinder", "torus", "sack", "turtle"};
enum { NAMES = sizeof names / sizeof *names };

/* The hero at detail 1 serves many cases: it is made once. */
static const spl_rigged *hero(void)
{
    static spl_rigged rigged;
    if (!rigged.joint_count && spl_demo_build("hero", 1, NULL, &rigged, NULL) != SUPPLE_OK) abort();
    return &rigged;
}

/* ---- surfaces --------------------------------------------------------------------------------------------------- */

typedef struct welded {
    int32_t vertex_count, triangle_count, component_count;
    int64_t edge_count, bad_edges; /* bad: not crossed exactly once in each direction */
    int32_t degenerate;
    double volume, smallest_angle;
    float (*position)[3];
} welded;

static int compare_bits(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(float));
}

static int compare_edges(const void *a, const void *b)
{
    return memcmp(a, b, 2 * sizeof(int32_t));
}

static int32_t find_root(int32_t *parent, int32_t v)
{
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

static spl_vec3 at(const welded *w, int32_t v)
{
    return spl_v3_from_float(w->position[v]);
}

/* All meshes of a character as one: vertices with the same position are one vertex. */
static int32_t *weld(const spl_rigged *rigged, welded *w)
{
    size_t total = 0, triangles = 0, n = 0, t = 0;
    for (int32_t m = 0; m < rigged->mesh_count; m++) {
        total += (size_t)rigged->mesh[m].vertex_count;
        triangles += (size_t)rigged->mesh[m].triangle_count;
    }
    *w = (welded){.triangle_count = (int32_t)triangles, .position = malloc(total * sizeof *w->position)};
    for (int32_t m = 0; m < rigged->mesh_count; m++) {
        size_t count = (size_t)rigged->mesh[m].vertex_count;
        memcpy(w->position + n, rigged->mesh[m].position, count * sizeof *w->position);
        n += count;
    }
    for (size_t i = 0; i < 3 * total; i++) w->position[i / 3][i % 3] += 0.0f; /* -0 and 0 are the same place */
    qsort(w->position, total, sizeof *w->position, compare_bits);
    n = 0;
    for (size_t i = 0; i < total; i++)
        if (n == 0 || compare_bits(w->position[i], w->position[n - 1])) memmove(w->position[n++], w->position[i], 12);
    w->vertex_count = (int32_t)n;
    int32_t *triangle = malloc(triangles * 3 * sizeof *triangle);
    for (int32_t m = 0; m < rigged->mesh_count; m++)
        for (int32_t i = 0; i < 3 * rigged->mesh[m].triangle_count; i++) {
            float key[3];
            for (int c = 0; c < 3; c++)
                key[c] = rigged->mesh[m].position[3 * rigged->mesh[m].triangle[i] + (uint32_t)c] + 0.0f;
            void *found = bsearch(key, w->position, n, sizeof *w->position, compare_bits);
            triangle[t++] = (int32_t)((float(*)[3])found - w->position);
        }
    return triangle;
}

static void count_edges(welded *w, const int32_t *triangle)
{
    size_t count = 3 * (size_t)w->triangle_count;
    int32_t(*edge)[3] = malloc(count * sizeof *edge);
    for (size_t i = 0; i < count; i++) {
        int32_t a = triangle[i], b = triangle[i - i % 3 + (i + 1) % 3];
        edge[i][0] = a < b ? a : b;
        edge[i][1] = a < b ? b : a;
        edge[i][2] = a < b ? 1 : -1;
    }
    qsort(edge, count, sizeof *edge, compare_edges);
    for (size_t i = 0; i < count;) {
        size_t j = i;
        int32_t balance = 0;
        while (j < count && !compare_edges(edge[i], edge[j])) balance += edge[j++][2];
        w->edge_count++;
        w->bad_edges += j - i != 2 || balance != 0;
        i = j;
    }
    free(edge);
}

static void measure(welded *w, const int32_t *triangle)
{
    int32_t *parent = malloc((size_t)w->vertex_count * sizeof *parent);
    for (int32_t v = 0; v < w->vertex_count; v++) parent[v] = v;
    w->smallest_angle = 180;
    for (int32_t t = 0; t < w->triangle_count; t++) {
        const int32_t *c = triangle + 3 * t;
        spl_vec3 p = at(w, c[0]), q = at(w, c[1]), r = at(w, c[2]), n = spl_cross(spl_sub(q, p), spl_sub(r, p));
        w->volume += spl_dot(p, spl_cross(q, r)) / 6;
        w->degenerate += spl_norm(n) < 1e-10;
        for (int i = 0; i < 3; i++) {
            spl_vec3 o = at(w, c[i]), a = spl_sub(at(w, c[(i + 1) % 3]), o), b = spl_sub(at(w, c[(i + 2) % 3]), o);
            double angle = atan2(spl_norm(spl_cross(a, b)), spl_dot(a, b)) * 180 / 3.14159265358979;
            if (angle < w->smallest_angle) w->smallest_angle = angle;
            parent[find_root(parent, c[i])] = find_root(parent, c[(i + 1) % 3]);
        }
    }
    for (int32_t v = 0; v < w->vertex_count; v++) w->component_count += find_root(parent, v) == v;
    free(parent);
}

static welded weld_and_measure(const spl_rigged *rigged)
{
    welded w;
    int32_t *triangle = weld(rigged, &w);
    count_edges(&w, triangle);
    measure(&w, triangle);
    free(triangle);
    free(w.position);
    return w;
}

static int64_t euler(const welded *w)
{
    return w->vertex_count - w->edge_count + w->triangle_count;
}

static void check_closed(const char *name, double detail)
{
    spl_rigged rigged;
    REQUIRE(spl_demo_build(name, detail, NULL, &rigged, NULL) == SUPPLE_OK);
    welded w = weld_and_measure(&rigged);
    int before = test_failures;
    CHECK(w.bad_edges == 0);
    CHECK(w.component_count == 1);
    CHECK(euler(&w) == (strcmp(name, "torus") ? 2 : 0));
    CHECK(w.volume > 0);
    CHECK(w.degenerate == 0);
    if (test_failures > before)
        printf("    %s at detail %g: %d vertices, %d triangles, %lld bad edges, Euler %lld, smallest angle %g\n", name,
               detail, w.vertex_count, w.triangle_count, (long long)w.bad_edges, (long long)euler(&w),
               w.smallest_angle);
    spl_rigged_release(&rigged);
}

/* names[0] is the hero, who takes as long as all the others together. */
TEST(every_surface_is_closed_and_oriented)
{
    for (int i = 1; i < NAMES; i++) check_closed(names[i], 1);
}
TEST(coarse_surfaces_are_closed_and_oriented)
{
    for (int i = 1; i < NAMES; i++) check_closed(names[i], 0.5);
    for (int i = 1; i < NAMES; i++) check_closed(names[i], 0.25);
}
TEST(fine_surfaces_are_closed_and_oriented)
{
    check_closed("turtle", 1.9);
    check_closed("sack", 2.3);
}
TEST(the_hero_is_closed_and_oriented)
{
    CHECK(strcmp(names[0], "hero") == 0);
    check_closed("hero", 0.4);
    check_closed("hero", 0.5);
    check_closed("hero", 1);
}
TEST(a_finer_hero_is_closed_and_oriented)
{
    check_closed("hero", 1.4);
}
TEST(the_finest_hero_is_closed_and_oriented)
{
    check_closed("hero", 2);
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

static void check_mesh(const spl_rigged *rigged, const spl_rigged_mesh *mesh)
{
    int wrong = 0, uneven = 0;
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        double sum = 0, normal = 0;
        for (int32_t i = 0; i < mesh->influence_count; i++) {
            float w = mesh->weight[v * mesh->influence_count + i];
            uint8_t j = mesh->joint[v * mesh->influence_count + i];
            sum += (double)w;
            wrong += !(w >= 0) || j >= rigged->joint_count || (w == 0 && j != 0);
        }
        for (int i = 0; i < 3; i++) normal += (double)(mesh->normal[3 * v + i] * mesh->normal[3 * v + i]);
        for (int i = 0; i < 2; i++) wrong += !(mesh->uv[2 * v + i] >= 0 && mesh->uv[2 * v + i] <= 1);
        uneven += fabs(sum - 1) > 1e-6 || fabs(normal - 1) > 1e-5;
    }
    CHECK(wrong == 0);
    CHECK(uneven == 0);
}

TEST(weights_sum_to_one_and_texture_coordinates_lie_in_the_square)
{
    for (int i = 0; i < NAMES; i++) {
        spl_rigged rigged;
        REQUIRE(spl_demo_build(names[i], 1, NULL, &rigged, NULL) == SUPPLE_OK);
        for (int32_t m = 0; m < rigged.mesh_count; m++) check_mesh(&rigged, &rigged.mesh[m]);
        spl_rigged_release(&rigged);
    }
}

/* ---- clips ------------------------------------------------------------------------------------------------------ */

static int32_t joint_named(const spl_rigged *rigged, const char *name)
{
    for (int32_t j = 0; j < rigged->joint_count; j++)
        if (!strcmp(rigged->joint[j].name, name)) return j;
    return -1;
}

static const spl_rigged_clip *clip_named(const spl_rigged *rigged, const char *name)
{
    for (int32_t c = 0; c < rigged->clip_count; c++)
        if (!strcmp(rigged->clip[c].name, name)) return &rigged->clip[c];
    return NULL;
}

/* Degrees by which the world rotation of joint b differs from that of joint a at a key, both being identity at rest. */
static double turned(const spl_rigged *rigged, const char *clip, int32_t key, const char *a, const char *b)
{
    spl_mat4 world[SPL_RIGGED_JOINTS];
    spl_rigged_pose(rigged, clip_named(rigged, clip), key, world);
    const double *p = world[joint_named(rigged, a)].m, *q = world[joint_named(rigged, b)].m;
    double trace = 0; /* of P^T Q */
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) trace += p[4 * i + k] * q[4 * i + k];
    return acos(fmax(-1, fmin(1, (trace - 1) / 2))) * 180 / 3.14159265358979;
}

static double most_turned(const spl_rigged *rigged, const char *clip, const char *a, const char *b)
{
    double most = 0;
    for (int32_t k = 0; k < clip_named(rigged, clip)->key_count; k++) most = fmax(most, turned(rigged, clip, k, a, b));
    return most;
}

TEST(clips_have_their_names_and_lengths)
{
    static const struct {
        const char *demo, *clip;
        int32_t keys;
    } expected[] = {
        {"hero", "walk", 34},     {"hero", "reach", 121}, {"hero", "twist", 91},   {"arm", "bend", 50},
        {"arm", "twist", 50},     {"beam", "bend", 50},   {"beam", "twist", 50},   {"cylinder", "twist", 50},
        {"cylinder", "bend", 50}, {"torus", "shake", 61}, {"torus", "squash", 41}, {"sack", "hop", 46},
        {"sack", "lean", 61},     {"turtle", "walk", 41},
    };
    spl_rigged rigged = {0};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (!rigged.name || strcmp(rigged.name, expected[i].demo)) {
            spl_rigged_release(&rigged);
            REQUIRE(spl_demo_build(expected[i].demo, 0.5, NULL, &rigged, NULL) == SUPPLE_OK);
        }
        const spl_rigged_clip *clip = clip_named(&rigged, expected[i].clip);
        CHECK(clip && clip->key_count == expected[i].keys && clip->fps == 30);
    }
    spl_rigged_release(&rigged);
}

TEST(the_bars_bend_evenly)
{
    spl_rigged rigged;
    REQUIRE(spl_demo_build("arm", 0.5, NULL, &rigged, NULL) == SUPPLE_OK);
    for (int32_t k = 0; k < 50; k++)
        CHECK_NEAR(turned(&rigged, "bend", k, "upper_arm", "forearm"), 150.0 * k / 49, 1e-3);
    CHECK_NEAR(turned(&rigged, "twist", 49, "upper_arm", "forearm"), 170, 1e-3);
    spl_rigged_release(&rigged);
    REQUIRE(spl_demo_build("cylinder", 0.5, NULL, &rigged, NULL) == SUPPLE_OK);
    CHECK_NEAR(turned(&rigged, "twist", 49, "bone.1", "bone.2"), 170, 1e-3);
    CHECK_NEAR(turned(&rigged, "twist", 49, "bone.0", "bone.1"), 0, 1e-3);
    spl_rigged_release(&rigged);
    REQUIRE(spl_demo_build("beam", 0.5, NULL, &rigged, NULL) == SUPPLE_OK);
    CHECK(turned(&rigged, "bend", 49, "bone.0", "bone.3") > 90);
    spl_rigged_release(&rigged);
}

TEST(the_hero_folds_and_twists)
{
    const spl_rigged *rigged = hero();
    CHECK_NEAR(most_turned(rigged, "reach", "upper_arm.L", "forearm.L"), 150, 0.01);
    CHECK_NEAR(most_turned(rigged, "reach", "upper_arm.R", "forearm.R"), 150, 0.01);
    CHECK(most_turned(rigged, "reach", "thigh.L", "shin.L") > 100);
    CHECK_NEAR(most_turned(rigged, "twist", "forearm.L", "hand.L"), 170, 0.01);
    CHECK_NEAR(most_turned(rigged, "twist", "forearm.R", "hand.R"), 170, 0.01);
    CHECK_NEAR(most_turned(rigged, "twist", "hips", "chest"), 170, 0.01);
}

/* A key of a clip against another, as world matrices. */
static double pose_difference(const spl_rigged *rigged, const spl_rigged_clip *clip, int32_t a, int32_t b)
{
    spl_mat4 p[SPL_RIGGED_JOINTS], q[SPL_RIGGED_JOINTS];
    double most = 0;
    spl_rigged_pose(rigged, clip, a, p);
    spl_rigged_pose(rigged, clip, b, q);
    for (int32_t j = 0; j < rigged->joint_count; j++)
        for (int i = 0; i < 16; i++) most = fmax(most, fabs(p[j].m[i] - q[j].m[i]));
    return most;
}

TEST(loops_close_without_a_jump)
{
    static const char *const demo[] = {"hero", "turtle"};
    for (int i = 0; i < 2; i++) {
        spl_rigged rigged;
        REQUIRE(spl_demo_build(demo[i], 0.5, NULL, &rigged, NULL) == SUPPLE_OK);
        const spl_rigged_clip *walk = clip_named(&rigged, "walk");
        CHECK(pose_difference(&rigged, walk, 0, walk->key_count - 1) < 1e-6);
        double step = 0; /* the last step is no larger than the largest of the others */
        for (int32_t k = 0; k + 2 < walk->key_count; k++) step = fmax(step, pose_difference(&rigged, walk, k, k + 1));
        CHECK(pose_difference(&rigged, walk, walk->key_count - 2, walk->key_count - 1) <= step);
        CHECK(step > 0.01);
        spl_rigged_release(&rigged);
    }
}

/* Linear skinning of a character's first mesh at a key, the plain way. */
static spl_vec3 *skinned(const spl_rigged *rigged, const spl_rigged_clip *clip, int32_t key)
{
    const spl_rigged_mesh *mesh = &rigged->mesh[0];
    spl_mat4 rest[SPL_RIGGED_JOINTS], pose[SPL_RIGGED_JOINTS];
    spl_rigged_pose(rigged, NULL, 0, rest);
    spl_rigged_pose(rigged, clip, key, pose);
    for (int32_t j = 0; j < rigged->joint_count; j++) {
        spl_mat4 inverse = spl_mat4_identity();
        spl_mat4_inverse(&rest[j], &inverse);
        pose[j] = spl_mat4_mul(&pose[j], &inverse);
    }
    spl_vec3 *out = malloc((size_t)mesh->vertex_count * sizeof *out);
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        out[v] = spl_v3(0, 0, 0);
        for (int i = 0; i < 4; i++)
            out[v] = spl_madd(out[v],
                              spl_mat4_point(&pose[mesh->joint[4 * v + i]], spl_v3_from_float(mesh->position + 3 * v)),
                              (double)mesh->weight[4 * v + i]);
    }
    return out;
}

TEST(the_hero_walks_on_the_ground)
{
    const spl_rigged *rigged = hero();
    const spl_rigged_mesh *mesh = &rigged->mesh[0];
    const spl_rigged_clip *walk = clip_named(rigged, "walk");
    int32_t foot = joint_named(rigged, "foot.L");
    spl_vec3 *before = NULL;
    double lowest = 1, highest = -1, slide = 0;
    for (int32_t k = 0; k < walk->key_count; k++) {
        spl_vec3 *now = skinned(rigged, walk, k);
        double low = 1;
        for (int32_t v = 0; v < mesh->vertex_count; v++) low = fmin(low, now[v].y);
        lowest = fmin(lowest, low);
        highest = fmax(highest, low); /* one foot is always down */
        /* Flat on the ground (keys 4 to 11) the sole moves back with the ground, 1.08 m a cycle. */
        for (int32_t v = 0; before && k > 4 && k <= 11 && v < mesh->vertex_count; v++)
            if (mesh->joint[4 * v] == foot && mesh->weight[4 * v] > 0.95f && mesh->position[3 * v + 1] < 0.01f)
                slide = fmax(slide, fabs(now[v].z - before[v].z + 1.08 / 33));
        free(before);
        before = now;
    }
    free(before);
    CHECK(lowest > -0.01);
    CHECK(highest < 0.01);
    CHECK(slide < 0.003);
    if (lowest <= -0.01 || highest >= 0.01 || slide >= 0.003)
        printf("    lowest %g, highest of the lowest %g, slide %g\n", lowest, highest, slide);
}

TEST(the_hero_touches_itself)
{
    const spl_rigged *rigged = hero();
    const spl_rigged_mesh *mesh = &rigged->mesh[0];
    int32_t hand[2] = {joint_named(rigged, "hand.L"), joint_named(rigged, "hand.R")};
    int32_t spine = joint_named(rigged, "spine"), chest = joint_named(rigged, "chest");
    for (int32_t key = 84; key <= 104; key += 20) {
        spl_vec3 *p = skinned(rigged, clip_named(rigged, "reach"), key);
        for (int side = 0; side < 2; side++) {
            double nearest = 1;
            for (int32_t v = 0; v < mesh->vertex_count; v++) {
                if (mesh->joint[4 * v] < hand[side] || mesh->joint[4 * v] > hand[side] + 2) continue;
                for (int32_t w = 0; w < mesh->vertex_count; w++)
                    if (mesh->joint[4 * w] == spine || mesh->joint[4 * w] == chest)
                        nearest = fmin(nearest, spl_distance(p[v], p[w]));
            }
            CHECK(nearest < 0.02);
            if (nearest >= 0.02) printf("    key %d side %d: %g m away\n", key, side, nearest);
        }
        free(p);
    }
}

TEST(the_hero_has_the_measures_of_a_person)
{
    const spl_rigged *rigged = hero();
    CHECK(rigged->joint_count >= 21 && rigged->joint_count <= 27);
    CHECK(rigged->mesh_count == 1);
    const spl_rigged_mesh *mesh = &rigged->mesh[0];
    CHECK(mesh->triangle_count >= 13000 && mesh->triangle_count <= 18000);
    double low = 9, high = -9, mirrored = 0;
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        low = fmin(low, (double)mesh->position[3 * v + 1]);
        high = fmax(high, (double)mesh->position[3 * v + 1]);
        mirrored += (double)mesh->position[3 * v];
    }
    CHECK_NEAR(low, 0, 0.005);
    CHECK_NEAR(high, 1.755, 0.01);
    CHECK(fabs(mirrored / mesh->vertex_count) < 0.002);
    static const char *const joint[] = {"hips",       "spine",       "chest",     "neck",   "head",
                                        "shoulder.L", "upper_arm.L", "forearm.L", "hand.L", "fingers.L",
                                        "thumb.L",    "thigh.L",     "shin.L",    "foot.L", "toes.L",
                                        "shoulder.R", "upper_arm.R", "forearm.R", "hand.R", "fingers.R",
                                        "thumb.R",    "thigh.R",     "shin.R",    "foot.R", "toes.R"};
    for (size_t i = 0; i < sizeof joint / sizeof *joint; i++) CHECK(joint_named(rigged, joint[i]) >= 0);
}

/* No finger follows the other hand, no vertex of the chest the forearm. */
TEST(the_heros_weights_stay_on_their_side)
{
    const spl_rigged *rigged = hero();
    const spl_rigged_mesh *mesh = &rigged->mesh[0];
    int astray = 0, far = 0;
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        for (int i = 0; i < 4; i++) {
            const char *name = rigged->joint[mesh->joint[4 * v + i]].name;
            double x = (double)mesh->position[3 * v], w = (double)mesh->weight[4 * v + i];
            size_t n = strlen(name);
            if (w > 0.12 && n > 2 && name[n - 2] == '.') astray += (name[n - 1] == 'L' ? x : -x) < -0.03;
            if (w > 0.02 && strstr(name, "forearm")) far += fabs(x) < 0.25;
            if (w > 0.02 && strstr(name, "fingers")) far += fabs(x) < 0.6;
        }
    CHECK(astray == 0);
    CHECK(far == 0);
}

TEST(the_turtle_has_two_materials)
{
    spl_rigged rigged;
    REQUIRE(spl_demo_build("turtle", 1, NULL, &rigged, NULL) == SUPPLE_OK);
    REQUIRE(rigged.material_count == 2 && rigged.mesh_count == 2);
    CHECK(!strcmp(rigged.material[0].name, "body") && !strcmp(rigged.material[1].name, "shell"));
    CHECK(rigged.mesh[0].material == 0 && rigged.mesh[1].material == 1);
    int loose = 0;
    const spl_rigged_mesh *shell = &rigged.mesh[1];
    for (int32_t v = 0; v < shell->vertex_count; v++) loose += shell->joint[4 * v] != 0 || shell->weight[4 * v] < 1;
    CHECK(loose == 0 && shell->triangle_count > 1000);
    spl_rigged_release(&rigged);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

/* Made by one thread and by three. */
static void check_same_bytes(const char *name, double detail)
{
    void *a = NULL, *b = NULL;
    size_t na = 0, nb = 0;
    supple_config one = supple_config_default(), three = supple_config_default();
    one.thread_count = 1;
    three.thread_count = 3;
    REQUIRE(supple_demo_make(name, detail, &one, &a, &na, NULL) == SUPPLE_OK);
    REQUIRE(supple_demo_make(name, detail, &three, &b, &nb, NULL) == SUPPLE_OK);
    CHECK(na == nb && memcmp(a, b, na) == 0);
    uint32_t head[3];
    memcpy(head, a, sizeof head);
    CHECK(head[0] == 0x46546C67 && head[1] == 2 && head[2] == na);
    supple_bytes_free(a, NULL);
    supple_bytes_free(b, NULL);
}

TEST(the_same_bytes_every_time)
{
    for (int i = 0; i < NAMES; i++) check_same_bytes(names[i], 0.5);
}

/* By its name a case for the thread sanitizer, so a small one. */
TEST(threads_make_a_sack)
{
    check_same_bytes("sack", 0.25);
}

TEST(the_list_names_every_character)
{
    CHECK(supple_demo_count() == NAMES);
    for (int i = 0; i < NAMES; i++) {
        bool found = false;
        for (int32_t k = 0; k < supple_demo_count(); k++) found |= !strcmp(supple_demo_name(k), names[i]);
        CHECK(found);
        CHECK(strlen(supple_demo_summary(i)) > 10);
    }
    CHECK(!supple_demo_name(-1) && !supple_demo_name(NAMES) && !supple_demo_summary(NAMES));
}

TEST(wrong_names_and_details_are_refused)
{
    void *glb = &glb;
    size_t size = 1;
    supple_error error = {0};
    CHECK(supple_demo_make("heroine", 1, NULL, &glb, &size, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(glb == NULL && size == 0);
    for (int i = 0; i < NAMES; i++) CHECK(strstr(error.message, names[i]) != NULL);
    const double bad[] = {0, -1, 0.1, 1000, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int k = 0; k < NAMES; k++)
            CHECK(supple_demo_make(names[k], bad[i], NULL, &glb, &size, &error) == SUPPLE_ERROR_ARGUMENT);
    supple_config config = {0}; /* no cookie */
    CHECK(supple_demo_make("arm", 1, &config, &glb, &size, &error) == SUPPLE_ERROR_ARGUMENT);
}

/* An allocator that fails at the n-th request and counts what is alive. */
typedef struct meter {
    int64_t requests, fail_at, alive;
} meter;

static void *meter_allocate(void *user, size_t size)
{
    meter *m = user;
    if (++m->requests == m->fail_at) return NULL;
    m->alive++;
    return malloc(size);
}

static void *meter_reallocate(void *user, void *block, size_t size)
{
    meter *m = user;
    if (++m->requests == m->fail_at) return NULL;
    m->alive += block == NULL;
    return realloc(block, size);
}

static void meter_release(void *user, void *block)
{
    if (block) ((meter *)user)->alive--;
    free(block);
}

static void fail_everywhere(const char *name)
{
    meter m = {0};
    supple_config config = supple_config_default();
    config.allocator = (supple_allocator){meter_allocate, meter_reallocate, meter_release, &m};
    void *glb;
    size_t size;
    supple_error error;
    for (m.fail_at = 1;; m.fail_at++) {
        m.requests = 0;
        supple_result result = supple_demo_make(name, 0.25, &config, &glb, &size, &error);
        if (m.requests < m.fail_at) {
            CHECK(result == SUPPLE_OK && m.fail_at > 10);
            break;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY && glb == NULL && m.alive == 0);
        if (result != SUPPLE_ERROR_MEMORY || m.alive) break;
    }
    supple_bytes_free(glb, &config);
    CHECK(m.alive == 0);
}

TEST(memory_that_runs_out_is_reported)
{
    fail_everywhere("beam");
}
TEST(memory_that_runs_out_in_a_field_is_reported)
{
    fail_everywhere("sack");
}

TEST(bytes_are_written_whole)
{
    void *glb;
    size_t size;
    supple_error error;
    REQUIRE(supple_demo_make("arm", 0.5, NULL, &glb, &size, NULL) == SUPPLE_OK);
    REQUIRE(supple_bytes_write("test_demo_arm.glb", glb, size, &error) == SUPPLE_OK);
    FILE *file = fopen("test_demo_arm.glb", "rb");
    REQUIRE(file);
    void *back = malloc(size + 1);
    CHECK(fread(back, 1, size + 1, file) == size && memcmp(back, glb, size) == 0);
    fclose(file);
    remove("test_demo_arm.glb");
    CHECK(supple_bytes_write("no such folder/arm.glb", glb, size, &error) == SUPPLE_ERROR_OUTPUT);
    free(back);
    supple_bytes_free(glb, NULL);
}

TEST_CASES(RUN(every_surface_is_closed_and_oriented), RUN(coarse_surfaces_are_closed_and_oriented),
           RUN(fine_surfaces_are_closed_and_oriented), RUN(the_hero_is_closed_and_oriented),
           RUN(a_finer_hero_is_closed_and_oriented), RUN(the_finest_hero_is_closed_and_oriented),
           RUN(weights_sum_to_one_and_texture_coordinates_lie_in_the_square), RUN(clips_have_their_names_and_lengths),
           RUN(the_bars_bend_evenly), RUN(the_hero_folds_and_twists), RUN(loops_close_without_a_jump),
           RUN(the_hero_walks_on_the_ground), RUN(the_hero_touches_itself), RUN(the_hero_has_the_measures_of_a_person),
           RUN(the_heros_weights_stay_on_their_side), RUN(the_turtle_has_two_materials), RUN(the_same_bytes_every_time),
           RUN(threads_make_a_sack), RUN(the_list_names_every_character), RUN(wrong_names_and_details_are_refused),
           RUN(memory_that_runs_out_is_reported), RUN(memory_that_runs_out_in_a_field_is_reported),
           RUN(bytes_are_written_whole))
