/* Colliders out of files, in simulations: where they are, what they do to flesh, what is refused. */
#include "contact/collider_file.h"
#include "core/memory.h"
#include "failing.h"
#include "sim/posed.h"
#include "test.h"

static supple_result parse(const char *text, spl_collider_file *out, supple_error *error)
{
    supple_allocator a = spl_allocator_of(NULL);
    return spl_collider_file_parse(text, strlen(text), "file", &a, out, error);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
}

TEST(a_file_says_where_things_are_and_how_they_move)
{
    spl_collider_file file;
    REQUIRE(parse("{\"colliders\": [{\"sphere\": {\"center\": [1, 2, 3], \"radius\": 0.5}, \"keys\": ["
                  "{\"time\": 1, \"move\": [0, 0, 0]}, {\"time\": 3, \"move\": [4, 0, 0]}]},"
                  "{\"name\": \"floor\", \"plane\": {\"point\": [0, 1, 0], \"normal\": [0, 1, 0]}, \"keys\": ["
                  "{\"time\": 0}, {\"time\": 1, \"turn\": [0, 0, 0.70710678, 0.70710678]}]},"
                  "{\"capsule\": {\"from\": [0, 0, 0], \"to\": [2, 0, 0], \"radius\": 0.1}, \"keys\": ["
                  "{\"time\": 0, \"turn\": [0, 0, 0.70710678, 0.70710678]}]}]}",
                  &file, NULL) == SUPPLE_OK);
    REQUIRE(file.count == 3);
    CHECK_NEAR(spl_collider_item_at(&file.item[0], 0).a.x, 1, 1e-12);
    CHECK_NEAR(spl_collider_item_at(&file.item[0], 2).a.x, 3, 1e-12);
    CHECK_NEAR(spl_collider_item_at(&file.item[0], 9).a.x, 5, 1e-12);
    spl_collider_shape plane = spl_collider_item_at(&file.item[1], 0.5); /* half of a quarter turn about its point */
    CHECK_NEAR(plane.b.x, -sqrt(0.5), 1e-6);
    CHECK_NEAR(plane.a.y, 1, 1e-12);
    spl_collider_shape capsule = spl_collider_item_at(&file.item[2], 0); /* turned about its middle */
    CHECK_NEAR(spl_distance(capsule.a, spl_v3(1, -1, 0)), 0, 1e-6);
    CHECK_NEAR(spl_distance(capsule.b, spl_v3(1, 1, 0)), 0, 1e-6);
    spl_collider_file_release(&file);
}

TEST(slips_of_the_pen_are_named)
{
    static const char *const wrong[][2] = {
        {"[]", "file"},
        {"{}", "colliders"},
        {"{\"colliders\": []}", "colliders"},
        {"{\"colliders\": [{}]}", "colliders[0]"},
        {"{\"colliders\": [{\"sphere\": {\"center\": [0, 0, 0]}}]}", "radius"},
        {"{\"colliders\": [{\"sphere\": {\"center\": [0, 0], \"radius\": 1}}]}", "center"},
        {"{\"colliders\": [{\"sphere\": {\"center\": [0, 0, 0], \"radius\": -1}}]}", "radius"},
        {"{\"colliders\": [{\"name\": \"floor\", \"plane\": {\"point\": [0, 0, 0], \"normal\": [0, 0, 0]}}]}", "floor"},
        {"{\"colliders\": [{\"ball\": {}}]}", "sphere"},
        {"{\"colliders\": [{\"sphere\": {\"center\": [0, 0, 0], \"radius\": 1}, \"keys\": []}]}", "keys"},
        {"{\"colliders\": [{\"sphere\": {\"center\": [0, 0, 0], \"radius\": 1}, \"keys\": [{\"move\": [0, 0, 0]}]}]}",
         "time"},
        {"{\"colliders\": [{\"sphere\": {\"center\": [0, 0, 0], \"radius\": 1}, \"keys\": [{\"time\": 1}, {\"time\": "
         "1}]}]}",
         "rise"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spl_collider_file file;
        supple_error error = {0};
        CHECK(parse(wrong[i][0], &file, &error) == SUPPLE_ERROR_INPUT);
        CHECK(file.count == 0);
        if (!strstr(error.message, wrong[i][1])) printf("    %s\n", error.message);
        CHECK(strstr(error.message, wrong[i][1]) != NULL);
    }
}

/* How deep the free surface is under y = height, metres; and how many vertices are. */
static double depth_below(const supple_sim *sim, double height, int32_t *count)
{
    const spl_body *body = sim->flesh.body;
    double most = 0;
    *count = 0;
    for (int32_t i = 0; i < 3 * body->tets.surface_count; i++) {
        int32_t v = body->tets.surface[i];
        double depth = height - posed_x(sim)[3 * v + 1];
        if (body->bone[v] >= 0 || !(depth > 0)) continue;
        most = fmax(most, depth);
        (*count)++;
    }
    return most;
}

/* A plane that cuts into the arm from below. */
static double cut = -0.03;

static supple_sim *on_a_plane(const posed *p, const char *method, int32_t collide, int32_t threads)
{
    static const char *const files[] = {"world_plane.json"};
    char text[200];
    supple_sim_config sc = supple_sim_config_default();
    supple_config config = supple_config_default();
    supple_sim *sim = NULL;
    supple_error error = {0};
    double unit = p->demo.body->metre; /* the file is in the scene's unit */
    snprintf(text, sizeof text, "{\"colliders\": [{\"plane\": {\"point\": [0, %.9g, 0], \"normal\": [0, 2, 0]}}]}",
             cut / unit);
    write_file(files[0], text);
    sc.measure = true;
    sc.collide = collide;
    sc.colliders = files;
    sc.collider_count = collide == SUPPLE_COLLIDE_NONE ? 0 : 1;
    config.thread_count = threads;
    if (posed_try(p, method, "", &sc, &config, &sim, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return sim;
}

TEST(flesh_gives_way_to_a_plane)
{
    static const char *const method[] = {"mixed", "projective"};
    posed p = posed_make("arm", 20, NULL);
    for (int m = 0; m < 2; m++) {
        supple_sim *free = on_a_plane(&p, method[m], SUPPLE_COLLIDE_NONE, 2);
        supple_sim *held = on_a_plane(&p, method[m], SUPPLE_COLLIDE_AUTO, 2);
        REQUIRE(free && held);
        CHECK(posed_step(free) == SUPPLE_OK && posed_step(held) == SUPPLE_OK);
        int32_t below, left;
        double before = depth_below(free, cut, &below), after = depth_below(held, cut, &left);
        const supple_stats *s = supple_sim_stats(held);
        printf("    %s: %.2f mm below, %.2f with contacts (%d of them, residual %.1e)\n", method[m], 1e3 * before,
               1e3 * after, (int)s->contacts, s->residual);
        CHECK(below > 20 && before > 0.005);
        CHECK(after < 0.35 * before);
        CHECK(s->contacts > 10 && s->ms_contact > 0 && s->residual < 1e-3);
        CHECK(supple_sim_stats(free)->contacts == -1);
        supple_sim_destroy(free);
        supple_sim_destroy(held);
    }
    posed_free(&p);
}

TEST(contacts_of_mixed_are_the_same_at_any_number_of_threads)
{
    posed p = posed_make("arm", 16, NULL);
    supple_sim *one = on_a_plane(&p, "mixed", SUPPLE_COLLIDE_SELF | SUPPLE_COLLIDE_WORLD, 1);
    supple_sim *three = on_a_plane(&p, "mixed", SUPPLE_COLLIDE_SELF | SUPPLE_COLLIDE_WORLD, 3);
    REQUIRE(one && three);
    for (int k = 0; k < 3; k++) {
        puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 60.0 * k);
        CHECK(posed_step(one) == SUPPLE_OK && posed_step(three) == SUPPLE_OK);
        CHECK(posed_distance(one, posed_x(one), posed_x(three)) == 0);
    }
    supple_sim_destroy(one);
    supple_sim_destroy(three);
    posed_free(&p);
}

TEST(every_allocation_may_fail)
{
    posed p = posed_make("arm", 8, NULL);
    static const char *const files[] = {"world_plane.json", "world_box.glb"};
    void *glb = NULL;
    size_t size = 0;
    REQUIRE(supple_demo_make("torus", 0.3, NULL, &glb, &size, NULL) == SUPPLE_OK);
    REQUIRE(supple_bytes_write(files[1], glb, size, NULL) == SUPPLE_OK);
    supple_bytes_free(glb, NULL);
    write_file(files[0], "{\"colliders\": [{\"sphere\": {\"center\": [9, 9, 9], \"radius\": 1}}]}");
    supple_sim_config sc = supple_sim_config_default();
    sc.colliders = files;
    sc.collider_count = 2;
    bool made = false;
    long step = 1;
    for (long n = 0; !made; n += step) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        supple_sim *sim = NULL;
        config.allocator = failing_allocator(&f);
        config.thread_count = 1;
        supple_result result = posed_try(&p, "mixed", "", &sc, &config, &sim, NULL);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        made = result == SUPPLE_OK && f.requests <= n;
        supple_sim_destroy(sim);
        CHECK(f.live == 0);
        if (n > 400) step = 7; /* the rest is the method's, tested elsewhere */
    }
    posed_free(&p);
}

TEST_CASES(RUN(a_file_says_where_things_are_and_how_they_move), RUN(slips_of_the_pen_are_named),
           RUN(flesh_gives_way_to_a_plane), RUN(contacts_of_mixed_are_the_same_at_any_number_of_threads),
           RUN(every_allocation_may_fail))
