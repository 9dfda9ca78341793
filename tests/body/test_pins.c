#include "body/island_body.h"
#include "body/pins.h"
#include "failing.h"
#include "methods/mixed/fleshed.h"

enum { RESOLUTION = 16 };
static const char *const CHARACTERS[] = {"arm", "beam", "cylinder", "turtle", "sack"};
static const spl_pin_kind KINDS[] = {SPL_PIN_MIDPOINTS, SPL_PIN_HANDLES, SPL_PIN_BONES};

/* The largest triangle of a bone's pins, as a share of the square of their extent: 0 where they are in line. */
static double spread(const fleshed *f, const spl_pins *p, int32_t bone)
{
    const spl_vec3 *x = f->body->tets.position;
    double area = 0, extent = 0;
    for (int32_t i = 0; i < p->count; i++)
        for (int32_t j = 0; j < i && p->bone[i] == bone; j++) {
            if (p->bone[j] != bone) continue;
            spl_vec3 a = x[p->pin[i].vertex], b = spl_sub(x[p->pin[j].vertex], a);
            extent = fmax(extent, spl_dot(b, b));
            for (int32_t k = 0; k < j; k++)
                if (p->bone[k] == bone) area = fmax(area, spl_norm(spl_cross(b, spl_sub(x[p->pin[k].vertex], a))) / 2);
        }
    return extent > 0 ? area / extent : 0;
}

static void check_pins(const fleshed *f, const spl_pins *p)
{
    int32_t n = f->body->tets.vertex_count;
    int32_t *times = calloc((size_t)n, sizeof *times);
    for (int32_t i = 0; i < p->count; i++) {
        CHECK(p->pin[i].vertex >= 0 && p->pin[i].vertex < n && times[p->pin[i].vertex]++ == 0);
        CHECK(p->pin[i].stiffness == 5e4);
    }
    for (int32_t b = 0; b < f->body->bones.bone_count; b++) {
        int32_t count = 0;
        for (int32_t i = 0; i < p->count; i++) count += p->bone[i] == b;
        CHECK(count >= 3);
        CHECK(spread(f, p, b) > 0.01);
    }
    free(times);
}

TEST(every_bone_has_three_pins_out_of_line)
{
    for (int i = 0; i < 5; i++) {
        fleshed f;
        fleshed_make(&f, CHARACTERS[i], RESOLUTION);
        for (int kind = 0; kind < 3; kind++) {
            spl_pins p;
            int before = test_failures;
            REQUIRE(spl_pins_create(&f.solid, KINDS[kind], 5e4, &p, NULL) == SUPPLE_OK);
            check_pins(&f, &p);
            if (test_failures > before) printf("    %s, kind %d\n", CHARACTERS[i], kind);
            spl_pins_release(&p);
        }
        fleshed_free(&f);
    }
}

/* Targets are the rest's places moved by the bone: the offset of figure 2 is kept. */
TEST(pins_carry_their_offset)
{
    fleshed f;
    spl_pins p;
    fleshed_make(&f, "arm", RESOLUTION);
    REQUIRE(spl_pins_create(&f.solid, SPL_PIN_MIDPOINTS, 5e4, &p, NULL) == SUPPLE_OK);
    puppet_turn(&f.puppet, "forearm", spl_v3(0, 0, 1), 70);
    fleshed_pose(&f);
    spl_pins_pose(&p, &f.solid.drive);
    double most = 0;
    for (int32_t i = 0; i < p.count; i++) {
        const double *X = f.solid.drive.rest + 3 * p.pin[i].vertex, *t = p.pin[i].target;
        spl_vec3 x = spl_mat4_point(&f.solid.drive.map[p.bone[i]], spl_v3(X[0], X[1], X[2]));
        most = fmax(most, spl_distance(x, spl_v3(t[0], t[1], t[2])));
    }
    CHECK_NEAR(most, 0, 1e-12);
    spl_pins_release(&p);
    fleshed_free(&f);
}

/* Islands bring their springs along with any pins, and alone. */
TEST(islands_bring_their_springs)
{
    supple_config config = supple_config_default();
    supple_scene *scene = demo_scene("arm", 0.3);
    demo_body demo = island_body_make(scene, RESOLUTION, spl_v3(0.1, 0.12, -0.03), 0.06);
    spl_solid solid;
    spl_pool *pool = NULL;
    spl_pins soft, alone;
    REQUIRE(demo.body && spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    REQUIRE(spl_solid_create(demo.body, NULL, &config, pool, &solid, NULL) == SUPPLE_OK);
    REQUIRE(spl_pins_create(&solid, SPL_PIN_HANDLES, 5e4, &soft, NULL) == SUPPLE_OK);
    REQUIRE(spl_pins_create(&solid, SPL_PIN_HARD, 0, &alone, NULL) == SUPPLE_OK);
    int32_t weak = 0;
    for (int32_t i = 0; i < soft.count; i++) weak += soft.pin[i].stiffness == solid.island_stiffness;
    CHECK(alone.count == 8 && weak == 8 && soft.count > 8);
    for (int32_t i = 0; i < 8; i++) CHECK(alone.pin[i].vertex == demo.body->tets.vertex_count - 8 + i);
    spl_pins_release(&soft);
    spl_pins_release(&alone);
    spl_solid_release(&solid);
    spl_pool_destroy(pool);
    demo_body_free(&demo);
}

TEST(memory_may_run_out)
{
    fleshed f;
    fleshed_make(&f, "arm", 8);
    supple_allocator before = f.solid.allocator;
    for (int kind = 0; kind < 3; kind++)
        for (long n = 0, ended = 0; !ended; n++) {
            failing state = {.fail_at = n};
            f.solid.allocator = failing_allocator(&state);
            spl_pins p;
            supple_result result = spl_pins_create(&f.solid, KINDS[kind], 1, &p, NULL);
            CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
            ended = result == SUPPLE_OK && state.requests <= n;
            if (result == SUPPLE_OK) spl_pins_release(&p);
            CHECK(state.live == 0);
        }
    f.solid.allocator = before;
    fleshed_free(&f);
}

TEST_CASES(RUN(every_bone_has_three_pins_out_of_line), RUN(pins_carry_their_offset), RUN(islands_bring_their_springs),
           RUN(memory_may_run_out))
