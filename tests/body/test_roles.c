#include "body/roles.h"
#include "core/memory.h"
#include "failing.h"
#include "test.h"

/* Surfaces of revolution about y: a sphere from a polar angle to another, welded by position alone. */
enum {
    AROUND = 24,
    ALONG = 16,
    VERTICES = (AROUND + 1) * (ALONG + 1),
    TRIANGLES = 2 * AROUND * ALONG,
    PARTS = 8,
    NODES = PARTS + 3
};
static const double pi = 3.14159265358979323846;

typedef struct character {
    float position[PARTS][3 * VERTICES], weight[PARTS][2 * VERTICES];
    uint16_t joint[2 * VERTICES], other[2 * VERTICES];
    int32_t triangle[3 * TRIANGLES], two[6 * TRIANGLES];
    spl_primitive primitive[PARTS];
    spl_mesh mesh[PARTS];
    spl_instance instance[PARTS];
    spl_node node[NODES];
    spl_skin skin;
    supple_scene scene;
    double influence[NODES];
    int32_t merged[NODES];
    spl_bones bones;
    int count;
} character;

static char *const names[PARTS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
static int32_t skin_joint[] = {PARTS, PARTS + 1, PARTS + 2};

typedef enum paint { BLEND, ALONE, HALF } paint;

/* Adds a part; weights blend from one joint to the other along y, are one joint's alone, or half of both. */
static void add_sphere(character *c, double radius, double from, double to, double x, double y, paint how)
{
    int part = c->count++;
    for (int i = 0; i <= ALONG; i++)
        for (int k = 0; k <= AROUND; k++) {
            double polar = from + (to - from) * i / ALONG, angle = 2 * pi * (k % AROUND) / AROUND;
            int v = i * (AROUND + 1) + k;
            float *p = c->position[part] + 3 * v;
            double ring = i == 0 && from == 0 ? 0 : i == ALONG && to == pi ? 0 : radius * sin(polar);
            p[0] = (float)(x + ring * cos(angle));
            p[1] = (float)(y + radius * cos(polar));
            p[2] = (float)(ring * sin(angle));
            double first = how == BLEND ? fmin(fmax(0.5 + (double)p[1] / 3, 0), 1) : how == ALONE ? 1 : 0.5;
            c->weight[part][2 * v] = (float)first;
            c->weight[part][2 * v + 1] = (float)(1 - first);
            c->joint[2 * v + 1] = 1;
        }
    c->primitive[part] = (spl_primitive){.vertex_count = VERTICES,
                                         .position = c->position[part],
                                         .triangle = c->triangle,
                                         .triangle_count = TRIANGLES,
                                         .influence_count = 2,
                                         .joint = c->joint,
                                         .weight = c->weight[part],
                                         .material = -1};
    c->mesh[part] = (spl_mesh){.name = names[part], .primitive_count = 1, .primitive = &c->primitive[part]};
    c->instance[part] = (spl_instance){part, part, 0, part * VERTICES, VERTICES, part * VERTICES, VERTICES};
    c->node[part] = (spl_node){.name = names[part], .parent = PARTS, .mesh = part};
}

static character *begin(void)
{
    character *c = calloc(1, sizeof *c);
    int32_t *t = c->triangle;
    for (int i = 0; i < ALONG; i++)
        for (int k = 0; k < AROUND; k++) {
            int32_t a = i * (AROUND + 1) + k, b = a + 1, d = a + AROUND + 1, e = d + 1;
            memcpy(t, (int32_t[]){a, b, d, b, e, d}, 6 * sizeof(int32_t));
            t += 6;
        }
    c->node[PARTS] = (spl_node){.name = "bone", .parent = -1, .mesh = -1};
    c->node[PARTS + 1] = (spl_node){.name = "tip", .parent = PARTS, .mesh = -1};
    c->node[PARTS + 2] = (spl_node){.name = "head", .parent = PARTS, .mesh = -1};
    c->skin = (spl_skin){.joint_count = 3, .joint = skin_joint};
    for (int i = 0; i < NODES; i++) c->merged[i] = i;
    c->influence[PARTS] = c->influence[PARTS + 1] = c->influence[PARTS + 2] = 1;
    return c;
}

static supple_result find(character *c, const supple_part_rule *rules, int32_t rule_count, const supple_allocator *a,
                          spl_roles *out, supple_error *error)
{
    c->scene = (supple_scene){.node_count = NODES,
                              .node = c->node,
                              .mesh_count = c->count,
                              .mesh = c->mesh,
                              .skin_count = 1,
                              .skin = &c->skin,
                              .instance_count = c->count,
                              .instance = c->instance,
                              .vertex_count = c->count * VERTICES};
    c->bones = (spl_bones){.node_count = NODES, .influence = c->influence, .merged_into = c->merged};
    supple_allocator plain = spl_allocator_of(NULL);
    int32_t count;
    spl_part *parts = spl_parts_new(&c->scene, &plain, &count);
    spl_roles_input in = {.scene = &c->scene,
                          .part = parts,
                          .part_count = count,
                          .position = c->position[0],
                          .bones = &c->bones,
                          .rules = rules,
                          .rule_count = rule_count};
    supple_result result = spl_roles_find(&in, a, out, error);
    spl_free(&plain, parts);
    return result;
}

/* 0 a head (closed), 1 an eye inside it, 2 a hair cap around it, 3 and 4 two halves of a cut body, 5 a prop. */
static character *person(void)
{
    character *c = begin();
    add_sphere(c, 1, 0, pi, 0, 0, BLEND);
    add_sphere(c, 0.2, 0, pi, 0.5, 0, BLEND);
    add_sphere(c, 1.1, 0, pi / 2, 0, 0, BLEND);
    add_sphere(c, 1, 0, pi / 2, 5, 0, BLEND);
    add_sphere(c, 1, pi / 2, pi, 5, 0, BLEND);
    add_sphere(c, 0.5, 0, pi, 10, 0, BLEND);
    c->instance[5].skin = -1;
    return c;
}

TEST(parts_get_their_roles_by_shape)
{
    character *c = person();
    supple_allocator a = spl_allocator_of(NULL);
    spl_roles r;
    REQUIRE(find(c, NULL, 0, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[0].role == SUPPLE_ROLE_FLESH && r.part[0].border_edges == 0);
    CHECK(r.part[0].welded_vertices == AROUND * (ALONG - 1) + 2 && r.part[0].closed_components == 1);
    CHECK(r.part[1].role == SUPPLE_ROLE_FOLLOW && strstr(r.part[1].why, "'a'"));
    CHECK(r.part[2].role == SUPPLE_ROLE_FOLLOW && r.part[2].border_edges == AROUND);
    CHECK(r.part[3].role == SUPPLE_ROLE_FLESH && r.part[4].role == SUPPLE_ROLE_FLESH);
    CHECK(strstr(r.part[3].why, "closed and skinned")); /* one skin, though each half is open */
    CHECK(r.part[5].role == SUPPLE_ROLE_RIGID && strstr(r.part[5].why, "bone"));
    CHECK(r.vertex[0] == SUPPLE_ROLE_FLESH && r.vertex[5 * VERTICES] == SUPPLE_ROLE_RIGID);
    CHECK(r.flesh_share > 0.6 && r.flesh_share < 0.9);
    spl_roles_release(&r);
    free(c);
}

TEST(the_order_of_parts_and_their_names_say_nothing)
{
    static const int order[] = {5, 2, 4, 0, 3, 1};
    character *c = person(), *d = person();
    supple_allocator a = spl_allocator_of(NULL);
    spl_roles r, q;
    for (int i = 0; i < 6; i++) {
        memcpy(d->position[i], c->position[order[i]], sizeof d->position[i]);
        memcpy(d->weight[i], c->weight[order[i]], sizeof d->weight[i]);
        d->instance[i].skin = c->instance[order[i]].skin;
        d->mesh[i].name = d->node[i].name = "body";
    }
    REQUIRE(find(c, NULL, 0, &a, &r, NULL) == SUPPLE_OK && find(d, NULL, 0, &a, &q, NULL) == SUPPLE_OK);
    for (int i = 0; i < 6; i++) CHECK(q.part[i].role == r.part[order[i]].role);
    spl_roles_release(&r);
    spl_roles_release(&q);
    free(c);
    free(d);
}

/* A plate that moves with one joint, on flesh and far from it; and one that two joints move alike. */
TEST(what_moves_as_one_is_not_flesh)
{
    character *c = begin();
    supple_allocator a = spl_allocator_of(NULL);
    spl_roles r;
    add_sphere(c, 1, 0, pi, 0, 0, BLEND);
    add_sphere(c, 0.3, 0, pi, 0, 1.2, ALONE);
    add_sphere(c, 0.3, 0, pi, 6, 0, ALONE);
    add_sphere(c, 0.3, 0, pi, 0, 0.2, HALF);
    REQUIRE(find(c, NULL, 0, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[0].role == SUPPLE_ROLE_FLESH);
    CHECK(r.part[1].role == SUPPLE_ROLE_FOLLOW && strstr(r.part[1].why, "'bone' alone"));
    CHECK(r.part[2].role == SUPPLE_ROLE_OWN && strstr(r.part[2].why, "no flesh beneath"));
    CHECK(r.part[3].role == SUPPLE_ROLE_FOLLOW && strstr(r.part[3].why, "as one"));
    CHECK(r.group[0] < 0 && r.group[VERTICES] >= 0 && r.group[VERTICES] != r.group[3 * VERTICES]);
    spl_roles_release(&r);
    /* Where nothing else is there, nothing is flesh. */
    character *hard = begin();
    add_sphere(hard, 1, 0, pi, 0, 0, ALONE);
    add_sphere(hard, 1, 0, pi, 3, 0, HALF);
    add_sphere(hard, 0.5, 0, pi, 6, 0, BLEND); /* a hose */
    REQUIRE(find(hard, NULL, 0, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.flesh_share == 0);
    for (int i = 0; i < 3; i++) CHECK(r.part[i].role == SUPPLE_ROLE_OWN);
    spl_roles_release(&r);
    free(c);
    free(hard);
}

/* Tufts of hair: small solids around the top of a head, each of which passes into the next and into the head. */
static void add_tufts(character *c, int count, double apart, double height, paint how)
{
    for (int i = 0; i < count; i++) add_sphere(c, 0.3, 0, pi, apart * (i - 0.5 * (count - 1)), height, how);
}

static character *hairy(int count, double apart, double height, paint how)
{
    character *c = begin();
    add_sphere(c, 1, 0, pi, 0, 0, BLEND);
    add_tufts(c, count, apart, height, how);
    return c;
}

static int flesh_parts(character *c)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_roles r;
    int count = 0;
    if (find(c, NULL, 0, &a, &r, NULL) != SUPPLE_OK) return -1;
    for (int i = 0; i < c->count; i++) {
        count += r.part[i].role == SUPPLE_ROLE_FLESH;
        if (r.part[i].role == SUPPLE_ROLE_FLESH)
            for (int v = 0; v < VERTICES; v++) CHECK(r.group[i * VERTICES + v] < 0);
    }
    spl_roles_release(&r);
    free(c);
    return count;
}

TEST(solids_that_pass_into_each_other_and_into_flesh_are_flesh)
{
    CHECK(flesh_parts(hairy(5, 0.25, 0.9, HALF)) == 6);
    CHECK(flesh_parts(hairy(5, 0.25, 0.9, ALONE)) == 6);
    CHECK(flesh_parts(hairy(3, 0.25, 0.9, HALF)) == 1);  /* a mask and its filters */
    CHECK(flesh_parts(hairy(3, 0.65, 0.8, HALF)) == 1);  /* teeth: side by side */
    CHECK(flesh_parts(hairy(5, 0.25, 1.32, HALF)) == 1); /* a rucksack: on the flesh, not in it */
    CHECK(flesh_parts(hairy(5, 0.05, 0, HALF)) == 1);    /* all inside */
    /* What does not pass into the others is not of the clump: a hat, an eye. */
    character *c = hairy(5, 0.25, 0.9, HALF);
    add_sphere(c, 0.2, 0, pi, 0.95, 0, HALF);
    supple_allocator a = spl_allocator_of(NULL);
    spl_roles r;
    REQUIRE(find(c, NULL, 0, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[1].role == SUPPLE_ROLE_FLESH && strstr(r.part[1].why, "passes into others"));
    CHECK(r.part[6].role == SUPPLE_ROLE_FOLLOW && r.group[6 * VERTICES] >= 0);
    spl_roles_release(&r);
    free(c);
}

/* The same on a head that is hard itself: nothing is flesh there. */
TEST(a_clump_on_hard_surface_is_hard)
{
    character *c = begin();
    add_sphere(c, 1, 0, pi, 0, 0, ALONE);
    add_tufts(c, 5, 0.25, 0.9, ALONE);
    CHECK(flesh_parts(c) == 0);
}

/* A trunk, and a head on it that one joint moves alone. */
static character *toy(double radius, double y)
{
    character *c = begin();
    add_sphere(c, 1, 0, pi, 0, 0, BLEND);
    add_sphere(c, radius, 0, pi, 0, y, ALONE);
    for (int v = 0; v < VERTICES; v++) c->weight[1][2 * v] = 1;
    c->primitive[1].joint = c->other;
    for (int v = 0; v < 2 * VERTICES; v++) c->other[v] = 2;
    add_sphere(c, 0.15, 0, pi, 0.8 * radius, y, ALONE); /* an eye */
    c->primitive[2].joint = c->other;
    return c;
}

TEST(the_end_of_a_limb_is_flesh)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_roles r;
    character *c = toy(0.7, 1.6);
    REQUIRE(find(c, NULL, 0, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[1].role == SUPPLE_ROLE_FLESH && strstr(r.part[1].why, "all that joint 'head' has"));
    CHECK(r.part[2].role == SUPPLE_ROLE_FOLLOW); /* it sits on it */
    spl_roles_release(&r);
    free(c);
    CHECK(flesh_parts(toy(0.7, 2.2)) == 1); /* not joined */
    CHECK(flesh_parts(toy(0.2, 1.1)) == 1); /* small: a nose */
    /* Another that moves with the same joint is a plate, however large. */
    c = toy(0.7, 1.6);
    for (int v = 0; v < VERTICES; v++) c->other[2 * v] = c->other[2 * v + 1] = 0;
    CHECK(flesh_parts(c) == 1);
    /* More hard surface than flesh: a machine's. */
    c = toy(0.7, 1.6);
    add_sphere(c, 1.2, 0, pi, 6, 0, ALONE);
    CHECK(flesh_parts(c) == 1);
}

TEST(an_open_trunk_with_nothing_beneath_is_flesh)
{
    character *c = begin();
    supple_allocator a = spl_allocator_of(NULL);
    spl_roles r;
    add_sphere(c, 1, 0.25 * pi, 0.6 * pi, 0, 0, BLEND); /* a barrel, open at both ends */
    add_sphere(c, 0.3, 0, pi, 0.7, 0.2, ALONE);         /* an eye in it, closed */
    REQUIRE(find(c, NULL, 0, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[0].role == SUPPLE_ROLE_FLESH && strstr(r.part[0].why, "nothing beneath"));
    CHECK(r.part[1].role == SUPPLE_ROLE_FOLLOW);
    spl_roles_release(&r);
    /* Over a body it is a shirt. */
    add_sphere(c, 0.95, 0, pi, 0, 0, BLEND);
    REQUIRE(find(c, NULL, 0, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[0].role == SUPPLE_ROLE_FOLLOW && strstr(r.part[0].why, "lies on flesh"));
    CHECK(r.part[2].role == SUPPLE_ROLE_FLESH);
    spl_roles_release(&r);
    free(c);
}

/* One part with two pieces: its triangles and vertices have different roles. */
TEST(pieces_of_one_part_are_told_apart)
{
    character *c = begin();
    supple_allocator a = spl_allocator_of(NULL);
    spl_roles r;
    add_sphere(c, 1, 0, pi, 0, 0, BLEND);
    add_sphere(c, 0.4, 0, pi, 4, 0, ALONE);
    for (int i = 0; i < 3 * TRIANGLES; i++) {
        c->two[i] = c->triangle[i];
        c->two[3 * TRIANGLES + i] = c->triangle[i] + VERTICES;
    }
    c->count = 1;
    c->primitive[0].vertex_count = 2 * VERTICES;
    c->primitive[0].triangle_count = 2 * TRIANGLES;
    c->primitive[0].triangle = c->two;
    uint16_t joint[4 * VERTICES];
    float weight[4 * VERTICES];
    for (int v = 0; v < 2 * VERTICES; v++) {
        joint[2 * v] = 0;
        joint[2 * v + 1] = 1;
        memcpy(weight + 2 * v, c->weight[v / VERTICES] + 2 * (v % VERTICES), 8);
    }
    c->primitive[0].joint = joint;
    c->primitive[0].weight = weight;
    c->instance[0].vertex_count = 2 * VERTICES;
    c->count = 2; /* for the number of vertices */
    c->primitive[1].vertex_count = 0;
    c->primitive[1].triangle_count = 0;
    REQUIRE(find(c, NULL, 0, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[0].role == SUPPLE_ROLE_FLESH && r.part[0].share[SUPPLE_ROLE_OWN] > 0.05);
    int middle = TRIANGLES / 2; /* those at the poles have no area */
    CHECK(r.triangle[middle] == SUPPLE_ROLE_FLESH && r.triangle[TRIANGLES + middle] == SUPPLE_ROLE_OWN);
    CHECK(r.vertex[0] == SUPPLE_ROLE_FLESH && r.vertex[VERTICES] == SUPPLE_ROLE_OWN);
    spl_roles_release(&r);
    free(c);
}

TEST(rules_stand_above_evidence)
{
    character *c = person();
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_roles r;
    supple_part_rule rules[] = {{"a", SUPPLE_ROLE_OWN}, {"B", SUPPLE_ROLE_FLESH}}, none = {"nobody", SUPPLE_ROLE_SKIP};
    REQUIRE(find(c, rules, 2, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[0].role == SUPPLE_ROLE_OWN && r.vertex[0] == SUPPLE_ROLE_OWN && r.triangle[0] == SUPPLE_ROLE_OWN);
    CHECK(r.part[1].role == SUPPLE_ROLE_FLESH && r.vertex[VERTICES] == SUPPLE_ROLE_FLESH);
    spl_roles_release(&r);
    CHECK(find(c, &none, 1, &a, &r, &error) == SUPPLE_ERROR_ARGUMENT && strstr(error.message, "nobody"));
    free(c);
}

TEST(rules_take_numbers_where_nothing_has_that_name)
{
    static char one[] = "1";
    character *c = person();
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_roles r;
    supple_part_rule rule = {"1", SUPPLE_ROLE_OWN}, none[] = {{"99", SUPPLE_ROLE_OWN}, {"1x", SUPPLE_ROLE_OWN}};
    REQUIRE(find(c, &rule, 1, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[0].role == SUPPLE_ROLE_FLESH && r.part[1].role == SUPPLE_ROLE_OWN);
    spl_roles_release(&r);
    c->mesh[0].name = c->node[0].name = one; /* a name counts first */
    REQUIRE(find(c, &rule, 1, &a, &r, NULL) == SUPPLE_OK);
    CHECK(r.part[0].role == SUPPLE_ROLE_OWN && r.part[1].role != SUPPLE_ROLE_OWN);
    spl_roles_release(&r);
    for (int i = 0; i < 2; i++) CHECK(find(c, &none[i], 1, &a, &r, &error) == SUPPLE_ERROR_ARGUMENT);
    free(c);
}

TEST(failing_allocations_are_errors)
{
    character *c = person();
    int memory = 0;
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_roles r;
        supple_result result = find(c, NULL, 0, &a, &r, NULL);
        if (result == SUPPLE_OK) { /* the tree does without some of its room */
            CHECK(r.part[0].role == SUPPLE_ROLE_FLESH && r.part[1].role == SUPPLE_ROLE_FOLLOW);
            spl_roles_release(&r);
        }
        CHECK(f.live == 0 && (result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY));
        memory += result == SUPPLE_ERROR_MEMORY;
        if (f.requests <= n) break;
    }
    CHECK(memory > 100);
    free(c);
}

TEST_CASES(RUN(parts_get_their_roles_by_shape), RUN(the_order_of_parts_and_their_names_say_nothing),
           RUN(what_moves_as_one_is_not_flesh), RUN(solids_that_pass_into_each_other_and_into_flesh_are_flesh),
           RUN(a_clump_on_hard_surface_is_hard), RUN(the_end_of_a_limb_is_flesh),
           RUN(an_open_trunk_with_nothing_beneath_is_flesh), RUN(pieces_of_one_part_are_told_apart),
           RUN(rules_stand_above_evidence), RUN(rules_take_numbers_where_nothing_has_that_name),
           RUN(failing_allocations_are_errors))
