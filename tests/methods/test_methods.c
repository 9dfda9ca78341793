#include "fixture.h"
#include "sim/choose.h"
#include "test.h"

TEST(the_registry_finds_methods_by_name_and_index)
{
    CHECK(supple_method_count() == spl_method_count() && spl_method_count() >= 2);
    for (int32_t i = 0; i < spl_method_count(); i++) {
        const spl_method *m = spl_method_at(i);
        REQUIRE(m && m->init && m->release && m->state_size > 0);
        REQUIRE(m->output == SPL_OUTPUT_VISUAL ? m->step != NULL : m->solve != NULL);
        CHECK(spl_method_find(m->name) == m);
        CHECK(strcmp(supple_method_name(i), m->name) == 0);
        CHECK(strlen(supple_method_summary(i)) > 10 && !strchr(supple_method_summary(i), '\n'));
    }
    CHECK(!spl_method_find("no such method") && !spl_method_find(NULL) && !spl_method_find(""));
    CHECK(!spl_method_at(-1) && !spl_method_at(spl_method_count()));
    CHECK(!supple_method_name(-1) && !supple_method_summary(1000));
}

static bool chooses(const rig *r, bool flesh, const char *method, const char *why)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_choice choice;
    spl_choose(&r->scene, &sc, flesh, &choice);
    return strcmp(choice.method, method) == 0 && strstr(choice.why, why);
}

TEST(auto_makes_flesh_where_it_can_and_else_skins_as_the_file_does)
{
    rig *r = rig_make(10, 4);
    CHECK(chooses(r, false, "linear", ""));
    CHECK(chooses(r, true, "mixed", "volume"));
    r->instance[0].skin = -1; /* influences without a skin are no skin */
    CHECK(chooses(r, true, "linear", "nothing is skinned"));
    CHECK(chooses(r, false, "linear", "nothing is skinned"));
    rig_free(r);
}

TEST(scenes_without_a_skin_or_without_vertices_are_no_trouble)
{
    for (int32_t i = 0; i < spl_method_count(); i++) {
        if (spl_method_at(i)->output == SPL_OUTPUT_BODY || (spl_method_at(i)->needs & SPL_NEEDS_ANIMATION)) continue;
        rig *r = rig_make(0, 4);
        r->instance[0].skin = -1;
        REQUIRE(rig_init(r, spl_method_at(i)) == SUPPLE_OK);
        rig_pose(r, 1, 1, 0);
        rig_step(r, spl_method_at(i));
        for (int32_t v = 37; v < 90; v++) {
            spl_vec3 expected = spl_mat4_point(&r->world[RIG_RIGID], rig_rest(r, v));
            CHECK(spl_distance(rig_out(r, v), expected) < 1e-6);
        }
        for (int32_t v = 0; v < 37; v++)
            CHECK(spl_distance(rig_out(r, v), spl_mat4_point(&r->world[0], rig_rest(r, v))) < 1e-6);
        rig_release(r, spl_method_at(i));
        rig_free(r);
    }
}

TEST_CASES(RUN(the_registry_finds_methods_by_name_and_index),
           RUN(auto_makes_flesh_where_it_can_and_else_skins_as_the_file_does),
           RUN(scenes_without_a_skin_or_without_vertices_are_no_trouble))
