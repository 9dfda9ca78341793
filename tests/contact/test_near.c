/* Which pairs are no contacts: none of a character at rest is one. */
#include "body/demo_body.h"
#include "contact/contact.h"

static void check_rest(supple_scene *scene, const char *name)
{
    supple_body_config how = supple_body_config_default();
    supple_body *body = NULL;
    supple_error error = {0};
    spl_pool *pool = NULL;
    spl_solid solid = {0};
    spl_contacts *contacts = NULL;
    how.max_tets = 15000;
    how.cache = false;
    if (supple_body_create(scene, &how, NULL, &body, &error) != SUPPLE_OK ||
        spl_pool_create(NULL, &pool, &error) != SUPPLE_OK ||
        spl_solid_create(&body->body, NULL, NULL, pool, &solid, &error) != SUPPLE_OK ||
        spl_contacts_create(&solid, NULL, NULL, NULL, pool, &contacts, &error) != SUPPLE_OK) {
        printf("    %s: %s\n", name, error.message);
        CHECK(false);
    } else {
        int32_t found = spl_contacts_find(contacts, solid.drive.rest, pool);
        if (found) printf("    %s: %d contacts\n", name, (int)found);
        CHECK(found == 0);
    }
    spl_contacts_destroy(contacts);
    spl_solid_release(&solid);
    spl_pool_destroy(pool);
    supple_body_destroy(body);
    supple_scene_destroy(scene);
}

TEST(the_hero_at_rest_has_no_contacts)
{
    check_rest(demo_scene("hero", 0.5), "hero");
}
TEST(demos_at_rest_have_no_contacts)
{
    static const char *name[] = {"arm", "beam", "cylinder", "torus", "sack", "turtle"};
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

TEST_CASES(RUN(the_hero_at_rest_has_no_contacts), RUN(demos_at_rest_have_no_contacts),
           RUN(a_person_at_rest_has_no_contacts), RUN(a_hand_at_rest_has_no_contacts),
           RUN(parts_at_rest_have_no_contacts), RUN(small_characters_at_rest_have_no_contacts),
           RUN(a_flat_strip_has_no_flesh))
