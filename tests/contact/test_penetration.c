#include "contact/contact.h"
#include "contact/penetration.h"
#include "contact/skinned_blocks.h"
#include "failing.h"
#include "sim/posed.h"

#include <unistd.h>

static spl_penetration *measure_of(const skinned_blocks *s)
{
    spl_penetration *m = NULL;
    if (spl_penetration_create(&s->b.solid, s->b.pool, &m, NULL) != SUPPLE_OK) abort();
    return m;
}

TEST(blocks_pushed_through_each_other_are_as_deep_as_they_were_pushed)
{
    supple_allocator a = spl_allocator_of(NULL);
    skinned_blocks s;
    skinned_blocks_make(&s, 8, 2, &a, 1);
    spl_penetration *m = measure_of(&s);
    CHECK(spl_penetration_measure(m, s.b.x, s.visual, s.b.pool) == 0);
    for (double depth = 0.001; depth < 0.4; depth += 0.037) {
        skinned_blocks_push(&s, depth);
        CHECK_NEAR(spl_penetration_measure(m, s.b.x, s.visual, s.b.pool), depth, 1e-6);
    }
    skinned_blocks_push(&s, -0.001);
    CHECK(spl_penetration_measure(m, s.b.x, s.visual, s.b.pool) == 0);
    spl_penetration_destroy(m);
    skinned_blocks_free(&s);
}

/* Every depth against trying all tets and all triangles of the other block. */
TEST(depths_are_those_that_trying_all_gives)
{
    supple_allocator a = spl_allocator_of(NULL);
    skinned_blocks s;
    skinned_blocks_make(&s, 5, 2, &a, 2);
    spl_penetration *m = measure_of(&s);
    srand(3);
    skinned_blocks_push(&s, 0.31);
    for (int32_t i = 0; i < 3 * 2 * s.b.per; i++) s.b.x[i] += 0.02 * blocks_random();
    skinned_blocks_show(&s);
    spl_penetration_measure(m, s.b.x, s.visual, s.b.pool);
    const int32_t *vertex;
    int32_t count, in = 0;
    const double *depth = spl_penetration_depths(m, &vertex, &count);
    const spl_tets *t = &s.b.body.tets;
    CHECK(count == s.primitive.vertex_count);
    for (int32_t i = 0; i < count; i++) {
        int32_t block = s.body[vertex[i]] / s.b.per;
        spl_vec3 p = spl_v3_from_float(s.visual + 3 * vertex[i]);
        bool inside = false;
        double least = INFINITY, bary[4];
        for (int32_t k = 0; k < t->tet_count; k++) {
            spl_shell shell = {.tet = t->tet};
            if (t->tet[4 * k] / s.b.per == block || !spl_shell_bary(&shell, k, s.b.x, p, bary)) continue;
            inside = inside || (bary[0] >= 0 && bary[1] >= 0 && bary[2] >= 0 && bary[3] >= 0);
        }
        for (int32_t k = 0; k < t->surface_count; k++) {
            const int32_t *c = t->surface + 3 * k;
            if (c[0] / s.b.per == block) continue;
            least = fmin(least, spl_triangle_nearest(p, spl_shell_point(s.b.x, c[0]), spl_shell_point(s.b.x, c[1]),
                                                     spl_shell_point(s.b.x, c[2]), bary));
        }
        CHECK_NEAR(depth[i], inside ? sqrt(least) : 0, 1e-12);
        in += inside;
    }
    CHECK(in > 40);
    spl_penetration_destroy(m);
    skinned_blocks_free(&s);
}

TEST(the_same_bits_at_any_number_of_threads)
{
    double depth[3];
    int32_t threads[3] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        supple_allocator a = spl_allocator_of(NULL);
        skinned_blocks s;
        skinned_blocks_make(&s, 8, 2, &a, threads[i]);
        spl_penetration *m = measure_of(&s);
        skinned_blocks_push(&s, 0.123);
        depth[i] = spl_penetration_measure(m, s.b.x, s.visual, s.b.pool);
        spl_penetration_destroy(m);
        skinned_blocks_free(&s);
    }
    CHECK(depth[0] > 0.1 && depth[0] == depth[1] && depth[0] == depth[2]);
}

TEST(creation_survives_every_failed_allocation)
{
    for (long at = 0;; at++) {
        failing f = {.fail_at = at};
        supple_allocator a = failing_allocator(&f);
        skinned_blocks s;
        skinned_blocks_make(&s, 3, -0.2, &a, 1);
        spl_penetration *m = NULL;
        supple_result result = spl_penetration_create(&s.b.solid, s.b.pool, &m, NULL);
        CHECK((result == SUPPLE_OK) == (m != NULL));
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        long made = f.requests;
        if (m) CHECK(spl_penetration_measure(m, s.b.x, s.visual, s.b.pool) == 0); /* they overlap at rest */
        CHECK(f.requests == made);
        spl_penetration_destroy(m);
        CHECK(f.live == 0);
        skinned_blocks_free(&s);
        if (result == SUPPLE_OK) break;
        REQUIRE(at < 1000);
    }
}

/* ---- characters ---- */

static void check_rest(supple_scene *scene, const char *name)
{
    supple_body_config how = supple_body_config_default();
    supple_body *body = NULL;
    supple_error error = {0};
    spl_pool *pool = NULL;
    spl_solid solid = {0};
    spl_contacts *contacts = NULL;
    spl_penetration *measure = NULL;
    how.max_tets = 15000;
    how.cache = false;
    if (supple_body_create(scene, &how, NULL, &body, &error) != SUPPLE_OK ||
        spl_pool_create(NULL, &pool, &error) != SUPPLE_OK ||
        spl_solid_create(&body->body, NULL, NULL, pool, &solid, &error) != SUPPLE_OK ||
        spl_contacts_create(&solid, NULL, NULL, NULL, pool, &contacts, &error) != SUPPLE_OK ||
        spl_penetration_create(&solid, pool, &measure, &error) != SUPPLE_OK) {
        printf("    %s: %s\n", name, error.message);
        CHECK(false);
    } else {
        int32_t count = scene->vertex_count;
        float *visual = malloc((size_t)count * 3 * sizeof *visual);
        for (int32_t i = 0; i < count; i++) { /* the bind pose in the world that belongs to the solver's rest shape */
            spl_vec3 p = spl_mat3_apply(&solid.drive.stretch, spl_v3_from_float(body->body.bind + 3 * i));
            spl_v3_to_float(spl_scale(p, body->body.metre / solid.drive.to_solver), visual + 3 * i);
        }
        int32_t found = spl_contacts_find(contacts, solid.drive.rest, pool);
        double depth = spl_penetration_measure(measure, solid.drive.rest, visual, pool);
        if (found || depth > 0) printf("    %s: %d contacts, %g m\n", name, (int)found, depth);
        CHECK(found == 0 && depth == 0);
        free(visual);
    }
    spl_penetration_destroy(measure);
    spl_contacts_destroy(contacts);
    spl_solid_release(&solid);
    spl_pool_destroy(pool);
    supple_body_destroy(body);
    supple_scene_destroy(scene);
}

TEST(demos_at_rest_have_no_contacts)
{
    static const char *name[] = {"hero", "arm", "beam", "cylinder", "torus", "sack", "turtle"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) check_rest(demo_scene(name[i], 0.5), name[i]);
}

static supple_scene *load_file(const char *name)
{
    char path[400];
    supple_scene *scene = NULL;
    supple_error error = {0};
    snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, name);
    if (supple_scene_load_file(path, NULL, &scene, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return scene;
}

static void check_file(const char *name)
{
    supple_scene *scene = load_file(name);
    REQUIRE(scene);
    check_rest(scene, name);
}

TEST(a_person_at_rest_has_no_contacts)
{
    check_file("person.glb");
}
TEST(a_hand_at_rest_has_no_contacts)
{
    check_file("hand.glb");
}
TEST(parts_at_rest_have_no_contacts)
{
    check_file("parts.glb");
}
TEST(small_characters_at_rest_have_no_contacts)
{
    check_file("quadruped.glb");
    check_file("figure.glb");
}

TEST(a_flat_strip_has_no_flesh)
{
    supple_scene *scene = load_file("strip.gltf");
    supple_body *body = NULL;
    REQUIRE(scene);
    CHECK(supple_body_create(scene, NULL, NULL, &body, NULL) == SUPPLE_ERROR_INPUT);
    supple_scene_destroy(scene);
}

/* linear folds an elbow through itself; the straight arm is free of it. */
TEST(an_elbow_that_linear_folds_goes_into_itself)
{
    posed p = posed_make("arm", 24, NULL);
    supple_sim *sim = posed_sim(&p, "linear", "");
    REQUIRE(posed_step(sim) == SUPPLE_OK);
    CHECK(supple_sim_stats(sim)->max_penetration == 0);
    double last = 0;
    for (int degrees = 90; degrees <= 150; degrees += 20) {
        puppet_rest(&p.puppet);
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), degrees);
        REQUIRE(posed_step(sim) == SUPPLE_OK);
        double depth = supple_sim_stats(sim)->max_penetration;
        CHECK(depth >= last);
        last = depth;
    }
    printf("    150 degrees: %.1f mm\n", 1e3 * last);
    CHECK(last > 0.005 && last < 0.2);
    supple_sim_destroy(sim);
    posed_free(&p);
}

TEST_CASES(RUN(blocks_pushed_through_each_other_are_as_deep_as_they_were_pushed),
           RUN(depths_are_those_that_trying_all_gives), RUN(the_same_bits_at_any_number_of_threads),
           RUN(creation_survives_every_failed_allocation), RUN(demos_at_rest_have_no_contacts),
           RUN(a_person_at_rest_has_no_contacts), RUN(a_hand_at_rest_has_no_contacts),
           RUN(parts_at_rest_have_no_contacts), RUN(small_characters_at_rest_have_no_contacts),
           RUN(a_flat_strip_has_no_flesh), RUN(an_elbow_that_linear_folds_goes_into_itself))
