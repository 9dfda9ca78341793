/* Bodies in trouble, threads, memory: bounded, deterministic, without leaks. */
#include "../failing.h"
#include "../test.h"
#include "core/hash.h"
#include "sheets.h"

static bool all_finite(const spl_dermis *d)
{
    for (int32_t v = 0; v < d->net.surface.vertex_count; v++)
        if (!spl_v3_finite(d->Y[v]) || !isfinite(d->v[2 * v]) || !isfinite(d->v[2 * v + 1])) return false;
    return true;
}

static double farthest(const spl_dermis *d)
{
    double most = 0;
    for (int32_t v = 0; v < d->net.surface.vertex_count; v++)
        most = fmax(most, spl_distance(d->Y[v], d->net.surface.position[v]));
    return most;
}

/* What happens to a body in frames 3 to 5. */
enum { FLAT, POINT, FOLDED, JUMP, NOT_A_NUMBER, HUGE, SPIKES, TROUBLES };

static spl_vec3 trouble(int kind, spl_vec3 p, int32_t v)
{
    switch (kind) {
    case FLAT:
        return spl_v3(p.x, p.y, 0);
    case POINT:
        return spl_v3(0, 0, 0);
    case FOLDED:
        return spl_v3(fabs(p.x), p.y, p.z);
    case JUMP:
        return spl_add(p, spl_v3(10, 0, 0));
    case NOT_A_NUMBER:
        return v % 7 ? p : spl_v3(NAN, INFINITY, p.z);
    case HUGE:
        return spl_scale(p, v % 5 ? 1 : 100);
    default:
        return spl_add(p, spl_v3(0, 0, v % 11 ? 0 : 0.5));
    }
}

TEST(bodies_in_trouble)
{
    for (int kind = 0; kind < TROUBLES; kind++)
        for (int slips = 0; slips < 2; slips++) {
            spl_dermis_settings set = spl_dermis_settings_default();
            set.zeta = slips ? 0.5 : 1;
            set.world = slips;
            shape s = shape_torus(test_size(10, 7), 0.35, 0.11);
            spl_dermis *d = sheet_skin(&s, &set, NULL, NULL);
            spl_vec3 *x = calloc((size_t)d->net.surface.vertex_count, sizeof *x);
            for (int frame = 0; frame < 40; frame++) {
                for (int32_t v = 0; v < d->net.surface.vertex_count; v++) {
                    spl_vec3 p = d->net.surface.position[v];
                    p.x += 0.01 * sin(0.3 * frame + 5 * p.y);
                    x[v] = frame >= 3 && frame <= 5 ? trouble(kind, p, v) : p;
                }
                CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
                CHECK(all_finite(d));
            }
            CHECK(farthest(d) < d->net.surface.diagonal);
            CHECK(d->stats.broken == 0); /* mended by then */
            if (d->stats.broken || !all_finite(d))
                printf("    trouble %d, slips %d: %d broken\n", kind, slips, (int)d->stats.broken);
            free(x);
            shape_free(&s);
            spl_dermis_destroy(d);
        }
}

/* Skin that is put inside out is turned back. */
TEST(inverted_skin_is_mended)
{
    srand(5);
    shape s = sheet_irregular(10, 10, 0.5, 0.5, 0.2);
    spl_net net = sheet_net(&s);
    uint8_t *hold = sheet_hold_border(&net);
    spl_net_release(&net);
    spl_dermis_settings set = spl_dermis_settings_default();
    spl_dermis *d = sheet_skin(&s, &set, &(spl_dermis_parts){.hold = hold}, NULL);
    sheet_shuffle(d, 0.035);
    spl_dermis_energy(d, NULL);
    int broken = 0;
    for (int32_t l = 0; l < d->live_count; l++) broken += d->element_broken[l];
    CHECK(broken > 5);
    printf("    %d inside out\n", broken);
    CHECK(spl_dermis_settle(d, d->net.surface.position, 100, NULL) == SUPPLE_OK);
    spl_dermis_energy(d, NULL);
    for (int32_t l = 0; l < d->live_count; l++) CHECK(!d->element_broken[l]);
    CHECK(farthest(d) < 1e-3);
    free(hold);
    shape_free(&s);
    spl_dermis_destroy(d);
}

/* Slivers, loose triangles, nonmanifold edges: a skin is made, and it stays. */
TEST(any_surface_will_do)
{
    srand(9);
    for (int kind = 0; kind < 3; kind++) {
        shape s = kind == 0 ? shape_soup(40, 0.3) : shape_sphere(8, 0.3);
        for (int i = 0; kind == 1 && i < 3 * s.vertex_count; i += 5) s.position[i] *= 1e-8;
        for (int i = 0; kind == 2 && i < s.triangle_count; i += 9) s.triangle[3 * i] = rand() % s.vertex_count;
        spl_dermis_settings set = spl_dermis_settings_default();
        set.zeta = 0.5;
        spl_dermis *d = sheet_skin(&s, &set, NULL, NULL);
        spl_vec3 *x = calloc((size_t)d->net.surface.vertex_count + 1, sizeof *x);
        for (int frame = 0; frame < 10; frame++) {
            for (int32_t v = 0; v < d->net.surface.vertex_count; v++)
                x[v] = spl_scale(d->net.surface.position[v], 1 + 0.03 * frame * d->net.surface.position[v].x);
            CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
            CHECK(all_finite(d));
        }
        free(x);
        shape_free(&s);
        spl_dermis_destroy(d);
    }
}

static uint64_t run_with(int32_t threads)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_pool *pool = NULL;
    if (threads > 0 && spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) return 0;
    spl_dermis_settings set = spl_dermis_settings_default();
    set.zeta = 0.7;
    shape s = shape_torus(test_size(30, 16), 0.35, 0.11);
    spl_dermis *d = sheet_skin(&s, &set, NULL, pool);
    size_t n = (size_t)d->net.surface.vertex_count;
    spl_vec3 *x = calloc(n, sizeof *x);
    for (int frame = 0; frame < 6; frame++) {
        for (size_t v = 0; v < n; v++) {
            x[v] = d->net.surface.position[v];
            x[v].z *= 1 + 0.1 * frame * x[v].x;
            x[v].y += 0.02 * frame * sin(9 * x[v].x);
        }
        CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
    }
    uint64_t hash = spl_hash(d->Y, n * sizeof *d->Y, 1);
    hash = spl_hash(d->v, 2 * n * sizeof *d->v, hash);
    free(x);
    shape_free(&s);
    spl_dermis_destroy(d);
    spl_pool_destroy(pool);
    return hash;
}

TEST(the_same_bits_at_any_number_of_threads)
{
    uint64_t one = run_with(0);
    CHECK(one != 0 && run_with(1) == one && run_with(2) == one && run_with(5) == one);
}

static supple_result make(const shape *s, const supple_allocator *a, spl_dermis **out)
{
    spl_dermis_settings set = spl_dermis_settings_default();
    spl_net net;
    *out = NULL;
    supple_result result = spl_net_make(s->position, s->vertex_count, s->triangle, s->triangle_count, a, &net, NULL);
    if (result != SUPPLE_OK) return result;
    uint8_t hold[16] = {SPL_HOLD_SLIDING, SPL_HOLD_SLIDING, SPL_HOLD_SLIDING, SPL_HOLD_FIXED};
    int32_t edge[4] = {0, 1, 1, 2};
    spl_dermis_parts parts = {.hold = hold, .edge = edge, .edge_count = 2};
    return spl_dermis_create(&net, &set, &parts, NULL, a, out, NULL);
}

TEST(every_allocation_may_fail_and_steps_make_none)
{
    shape s = shape_grid(3, 3, shape_at_plane, (double[]){1, 1});
    failing f = {.fail_at = -1};
    supple_allocator a = failing_allocator(&f);
    spl_dermis *d;
    REQUIRE(make(&s, &a, &d) == SUPPLE_OK);
    long requests = f.requests;
    spl_vec3 x[16];
    for (int frame = 0; frame < 5; frame++) {
        for (int v = 0; v < 16; v++) {
            x[v] = d->net.surface.position[v];
            x[v].x += 0.05 * frame * x[v].x * x[v].x;
        }
        CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
    }
    CHECK(spl_dermis_settle(d, x, 5, NULL) == SUPPLE_OK);
    CHECK(f.requests == requests);
    spl_dermis_destroy(d);
    CHECK(f.live == 0);
    long refused = 0;
    for (long k = 0; k < requests; k++) {
        f = (failing){.fail_at = k};
        supple_result r = make(&s, &a, &d);
        bool without = r == SUPPLE_OK && d; /* what a factor can do without: its division into parts */
        CHECK(without || (r == SUPPLE_ERROR_MEMORY && !d));
        refused += !without;
        spl_dermis_destroy(d);
        CHECK(f.live == 0);
    }
    CHECK(refused >= requests - 3);
    shape_free(&s);
}

/* Curves that cross cannot both be followed. */
TEST(crossing_curves_are_named)
{
    shape s = shape_grid(2, 2, shape_at_plane, (double[]){1, 1});
    spl_net net = sheet_net(&s);
    supple_allocator a = spl_allocator_of(NULL);
    int32_t edge[] = {3, 4, 4, 5, 1, 4, 4, 7};
    spl_curves c;
    supple_error error = {0};
    CHECK(spl_curves_make(&net, edge, 4, &a, &c, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "cross at (0.5, 0.5, 0)") != NULL);
    CHECK(spl_curves_make(&net, edge, 2, &a, &c, &error) == SUPPLE_OK && c.count == 1 && c.first[1] == 3);
    spl_curves_release(&c);
    spl_net_release(&net);
    shape_free(&s);
}

/* The frame and steps of 1 ms agree with adaptive ones. */
TEST(adaptive_steps_end_where_short_ones_do)
{
    spl_vec3 *end[2];
    size_t n = 0;
    for (int adaptive = 0; adaptive < 2; adaptive++) {
        spl_dermis_settings set = spl_dermis_settings_default();
        set.step = adaptive ? 0 : 1e-3;
        shape s = shape_torus(10, 0.35, 0.11);
        spl_dermis *d = sheet_skin(&s, &set, NULL, NULL);
        n = (size_t)d->net.surface.vertex_count;
        spl_vec3 *x = calloc(n, sizeof *x);
        for (int frame = 0; frame < test_size(45, 30); frame++) {
            double amount = fmin(frame / 10.0, 1);
            for (size_t v = 0; v < n; v++) {
                spl_vec3 p = d->net.surface.position[v];
                x[v] = spl_add(p, spl_v3(0, 0, 0.2 * amount * p.x * p.x));
            }
            CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
            if (adaptive) CHECK(d->stats.steps <= 16);
        }
        end[adaptive] = calloc(n, sizeof(spl_vec3));
        memcpy(end[adaptive], d->Y, n * sizeof(spl_vec3));
        free(x);
        shape_free(&s);
        spl_dermis_destroy(d);
    }
    double off = 0;
    for (size_t v = 0; v < n; v++) off = fmax(off, spl_distance(end[0][v], end[1][v]));
    printf("    %.2g m apart in the end\n", off);
    CHECK(off < 2e-3);
    free(end[0]);
    free(end[1]);
}

TEST_CASES(RUN(bodies_in_trouble), RUN(inverted_skin_is_mended), RUN(any_surface_will_do),
           RUN(the_same_bits_at_any_number_of_threads), RUN(every_allocation_may_fail_and_steps_make_none),
           RUN(crossing_curves_are_named), RUN(adaptive_steps_end_where_short_ones_do))
