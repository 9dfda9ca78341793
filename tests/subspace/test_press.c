/* Contacts with colliders: trees against all vertices, forces against sums over vertices, and what a ball does. */
#include "core/memory.h"
#include "failing.h"
#include "subspace/beam.h"
#include "subspace/player_private.h"
#include "test.h"

/* A beam that knows its surface: vertices at the box's sides. */
static beam surfaced(int cells, int length, int32_t domains, beam_basis kind, int32_t rank)
{
    const supple_allocator a = spl_allocator_of(NULL);
    beam b = beam_make(cells, length, 0.05, domains, kind, rank, true);
    double wide = cells * 0.05;
    for (int32_t i = 0; i < domains; i++) {
        spl_model_domain *d = &b.model.domain[i];
        d->area = spl_new(&a, (size_t)d->vertex_count, sizeof *d->area);
        for (int32_t k = 0; k < d->vertex_count; k++) {
            const double *p = d->rest + 3 * k;
            bool out = p[0] < 1e-9 || p[1] < 1e-9 || p[0] > wide - 1e-9 || p[1] > wide - 1e-9 || p[2] > b.length - 1e-9;
            d->area[k] = out ? 0.0025 * (1 + 0.1 * (k % 3)) : 0;
        }
        for (int32_t k = 0; k < d->rank; k++) d->reach[k] = 0.05 * (1 + k % 4);
    }
    return b;
}

static spl_vec3 place(const spl_model_domain *d, int32_t v, const double *q)
{
    double x[3];
    for (int c = 0; c < 3; c++) {
        x[c] = d->rest[3 * v + c];
        for (int32_t k = 0; k < d->rank; k++)
            x[c] += d->basis[(size_t)(3 * v + c) * (size_t)d->rank + (size_t)k] * q[k];
    }
    return spl_v3(x[0], x[1], x[2]);
}

static void draw(uint64_t *seed, int32_t rank, double size, double *q)
{
    for (int32_t k = 0; k < rank; k++) q[k] = size * flesh_random(seed);
}

/* ---- trees ---- */

/* Every node's sphere holds its vertices at any q; at rest it is the box's, no larger. */
TEST(spheres_hold_their_vertices)
{
    const supple_allocator a = spl_allocator_of(NULL);
    const spl_dense_kernels *kernels = spl_dense_kernels_of(false);
    uint64_t seed = 7;
    for (int kind = 0; kind < 3; kind++) {
        beam b = surfaced(3, 9, 1, kind == 0 ? BEAM_RANDOM : BEAM_POLYNOMIAL, kind == 2 ? 1 : 17);
        const spl_model_domain *d = &b.model.domain[0];
        spl_bounds t;
        REQUIRE(spl_bounds_create(d, &a, &t, NULL) == SUPPLE_OK);
        double q[20] = {0}, loosest = 0;
        int32_t leaves = 0;
        for (int32_t n = 0; n < t.node_count; n++) leaves += t.node[n].right == 0 ? t.node[n].count : 0;
        CHECK(leaves == t.count && t.node[0].count == t.count && t.count > 60);
        for (int trial = 0; trial < 60; trial++) {
            draw(&seed, d->rank, trial == 0 ? 0 : pow(10, -3 + trial / 12.0), q);
            double length = spl_bounds_length(&t, q);
            for (int32_t n = 0; n < t.node_count; n++) {
                spl_vec3 c;
                double radius = spl_bounds_sphere(&t, kernels, n, q, length, &c), most = 0;
                for (int32_t i = 0; i < t.node[n].count; i++)
                    most = fmax(most, spl_distance(c, place(d, t.vertex[t.node[n].first + i], q)));
                CHECK(most <= radius);
                if (trial == 0 && n > 0) loosest = fmax(loosest, radius / most);
            }
        }
        CHECK(loosest < 1 + 1e-6);
        spl_bounds_release(&t, &a);
        beam_free(&b);
    }
}

/* ---- queries ---- */

static spl_colliders *world(uint64_t *seed, double size)
{
    const supple_allocator a = spl_allocator_of(NULL);
    spl_colliders *c = NULL;
    if (spl_colliders_create(&a, &c, NULL) != SUPPLE_OK) abort();
    spl_vec3 at = spl_add(spl_v3(0.05, 0.05, 0.2), beam_vector(seed, 0.2));
    spl_collider_shape shapes[] = {
        {SPL_COLLIDER_SPHERE, at, {0, 0, 0}, size},
        {SPL_COLLIDER_CAPSULE, beam_vector(seed, 0.5), beam_vector(seed, 0.5), 0.5 * size},
        {SPL_COLLIDER_PLANE, beam_vector(seed, 0.3), beam_vector(seed, 1), 0},
    };
    for (int k = 0; k < 3; k++)
        if (spl_colliders_add(c, &shapes[k], NULL) != SUPPLE_OK) abort();
    return c;
}

typedef struct brute {
    double depth;
    int32_t vertex;
} brute;

static int deepest_first(const void *a, const void *b)
{
    const brute *s = a, *t = b;
    if (s->depth != t->depth) return s->depth > t->depth ? -1 : 1;
    return (s->vertex > t->vertex) - (s->vertex < t->vertex);
}

/* What trying all vertices finds, the deepest first. */
static int32_t try_all(const spl_model_domain *d, const spl_press_query *y, brute *out)
{
    int32_t count = 0;
    spl_collider_hit hit;
    for (int32_t v = 0; v < d->vertex_count; v++) {
        spl_vec3 x = spl_add(spl_mat3_apply(&y->R, place(d, v, y->q)), y->t);
        if (!(d->area[v] > 0) || !spl_colliders_query(y->colliders, x, y->reach, -1, &hit)) continue;
        out[count++] = (brute){hit.depth, v};
    }
    qsort(out, (size_t)count, sizeof *out, deepest_first);
    return count;
}

/* The tree finds exactly what trying all does; where room is short, the deepest of it. */
TEST(queries_find_what_trying_all_finds)
{
    const supple_allocator a = spl_allocator_of(NULL);
    beam b = surfaced(3, 8, 1, BEAM_POLYNOMIAL, 18);
    const spl_model_domain *d = &b.model.domain[0];
    brute *truth = malloc((size_t)d->vertex_count * sizeof *truth);
    uint64_t seed = 31;
    int32_t some = 0, none = 0, dropped = 0;
    for (int trial = 0; trial < 200; trial++) {
        spl_press p;
        int32_t most = trial % 2 ? 7 : 1000;
        REQUIRE(spl_press_create(d, 1, most, &a, &p, NULL) == SUPPLE_OK);
        spl_frame_motion f = beam_frame(&seed);
        double q[20] = {0};
        draw(&seed, d->rank, 0.03 * (trial % 5), q);
        if (trial % 3) f.t = spl_v3(0, 0, 0), f.R = spl_mat3_identity();
        spl_colliders *c = world(&seed, 0.02 + 0.1 * fabs(flesh_random(&seed)));
        spl_press_query y = {spl_dense_kernels_of(false), c, f.R, f.t, q, trial % 4 ? 0.02 : 0};
        spl_press_find(&p, &y);
        int32_t count = try_all(d, &y, truth), kept = count < p.most ? count : p.most;
        CHECK(p.count == kept && p.dropped == count - kept);
        for (int32_t i = 0; i < kept; i++) {
            int32_t at = 0;
            while (at < p.count && p.contact[at].vertex != truth[i].vertex) at++;
            CHECK(at < p.count && fabs(p.contact[at].depth - truth[i].depth) < 1e-12);
        }
        double deepest = count > 0 ? fmax(truth[0].depth, 0) : 0;
        y.reach = 0;
        CHECK_NEAR(spl_press_deepest(&p, &y), deepest, 1e-12);
        some += count > 0, none += count == 0, dropped += p.dropped > 0;
        spl_colliders_destroy(c);
        spl_press_release(&p, &a);
    }
    printf("    %d queries found some, %d none, %d more than there was room for\n", some, none, dropped);
    CHECK(some > 50 && none > 20 && dropped > 20);
    free(truth);
    beam_free(&b);
}

/* ---- forces ---- */

/* U^T R^T f summed over vertices equals the reduced force; energy and force are each other's differences, and so are
 * force and Jacobian. */
TEST(forces_are_those_of_the_vertices)
{
    const supple_allocator a = spl_allocator_of(NULL);
    for (int plain = 0; plain < 2; plain++) {
        const spl_dense_kernels *kernels = spl_dense_kernels_of(plain);
        beam b = surfaced(2, 6, 1, BEAM_RANDOM, 14);
        const spl_model_domain *d = &b.model.domain[0];
        spl_press p;
        REQUIRE(spl_press_create(d, 1e5, 1000, &a, &p, NULL) == SUPPLE_OK);
        uint64_t seed = 3;
        spl_frame_motion f = beam_frame(&seed);
        double q[16] = {0}, force[16] = {0}, sum[16] = {0}, K[256] = {0};
        draw(&seed, 14, 0.02, q);
        spl_colliders *c = NULL;
        REQUIRE(spl_colliders_create(&a, &c, NULL) == SUPPLE_OK);
        spl_vec3 tip = spl_add(spl_mat3_apply(&f.R, spl_v3(0.05, 0.05, 0.3)), f.t);
        spl_collider_shape ball = {SPL_COLLIDER_SPHERE, tip, {0, 0, 0}, 0.12};
        REQUIRE(spl_colliders_add(c, &ball, NULL) == SUPPLE_OK);
        spl_press_query y = {kernels, c, f.R, f.t, q, 0.03};
        spl_press_find(&p, &y);
        draw(&seed, 14, 0.02, q); /* normals are held while q moves on */
        double energy = spl_press_force(&p, kernels, q, force), expected = 0;
        int32_t active = 0;
        for (int32_t i = 0; i < p.count; i++) {
            const spl_press_contact *k = &p.contact[i];
            spl_vec3 x = spl_add(spl_mat3_apply(&f.R, place(d, k->vertex, q)), f.t);
            double depth = fmax(spl_dot(spl_sub(k->target, x), k->normal), 0);
            spl_mat3 inverse = spl_mat3_transpose(&f.R);
            spl_vec3 g = spl_mat3_apply(&inverse, spl_scale(k->normal, p.spring[i] * depth));
            const double *U = d->basis + 3 * 14 * (size_t)k->vertex;
            for (int m = 0; m < 14; m++) sum[m] += U[m] * g.x + U[14 + m] * g.y + U[28 + m] * g.z;
            expected += 0.5 * p.spring[i] * depth * depth;
            active += depth > 0;
        }
        CHECK(active > 4 && active < p.count);
        CHECK_NEAR(energy, expected, 1e-12 * expected);
        double scale = 0;
        for (int m = 0; m < 14; m++) scale = fmax(scale, fabs(sum[m]));
        for (int m = 0; m < 14; m++) CHECK_NEAR(force[m], sum[m], 1e-12 * scale);
        spl_press_hessian(&p, kernels, K, 16);
        for (int m = 0; m < 14; m++) {
            double h = 1e-7, low[16] = {0}, high[16] = {0}, at = q[m];
            q[m] = at - h;
            double before = spl_press_force(&p, kernels, q, low);
            q[m] = at + h;
            double after = spl_press_force(&p, kernels, q, high);
            q[m] = at;
            CHECK_NEAR((before - after) / (2 * h), force[m], 1e-5 * scale);
            for (int k = m; k < 14; k++) CHECK_NEAR(K[16 * m + k], (low[k] - high[k]) / (2 * h), 1e-5 * K[17 * m]);
        }
        spl_colliders_destroy(c);
        spl_press_release(&p, &a);
        beam_free(&b);
    }
}

/* ---- steps ---- */

typedef struct scene {
    beam b;
    spl_player *p;
    spl_colliders *c;
    spl_frame_motion frame[2];
    double *x, *first;
} scene;

/* In place: the player keeps the model's address-> */
static void scene_make(scene *s, int32_t rank, const spl_player_options *o, spl_pool *pool)
{
    const supple_allocator a = spl_allocator_of(NULL);
    *s = (scene){.b = surfaced(5, 4, 2, BEAM_POLYNOMIAL, rank)};
    spl_collider_shape ball = {SPL_COLLIDER_SPHERE, {0.125, 0.125, 9}, {0, 0, 0}, 0.1};
    for (int i = 0; i < 2; i++) {
        s->frame[i] = beam_still();
        for (int32_t k = 0; k < s->b.model.domain[i].rank; k++) s->b.model.domain[i].reach[k] = 1;
    }
    s->p = beam_player(&s->b, o, pool);
    if (spl_colliders_create(&a, &s->c, NULL) != SUPPLE_OK || spl_colliders_add(s->c, &ball, NULL) != SUPPLE_OK)
        abort();
    s->x = malloc(3 * (size_t)s->b.flesh.vertex_count * sizeof *s->x);
    s->first = malloc(3 * (size_t)s->b.flesh.vertex_count * sizeof *s->x);
    beam_read(s->p, &s->b, s->frame, s->first);
}

static void scene_free(scene *s)
{
    spl_player_destroy(s->p);
    spl_colliders_destroy(s->c);
    beam_free(&s->b);
    free(s->x), free(s->first);
}

/* The ball presses on the block's upper side (z = 0.2) by `depth`; its lower side is held. */
static void scene_press(scene *s, double depth)
{
    spl_collider_shape ball = {SPL_COLLIDER_SPHERE, {0.125, 0.125, 0.2 + 0.1 - depth}, {0, 0, 0}, 0.1};
    spl_colliders_place(s->c, 0, &ball);
}

static spl_player_stats scene_step(scene *s, double dt, const spl_colliders *colliders)
{
    spl_player_stats stats;
    spl_player_input in = {.frame = s->frame, .held = s->b.flesh.x, .dt = dt, .colliders = colliders};
    CHECK(spl_player_step(s->p, &in, &stats, NULL) == SUPPLE_OK);
    return stats;
}

static double scene_moved(scene *s)
{
    double most = 0;
    beam_read(s->p, &s->b, s->frame, s->x);
    for (int32_t v = 0; v < 3 * s->b.flesh.vertex_count; v++) most = fmax(most, fabs(s->x[v] - s->first[v]));
    return most;
}

/* A ball comes at 1 m/s, presses for a while and goes: a dent about as deep, and nothing of it after. */
TEST(a_ball_dents_a_block_and_it_recovers)
{
    spl_player_options o = spl_player_options_default();
    o.alpha = 10;
    scene s;
    scene_make(&s, 24, &o, NULL);
    double h = 1.0 / 120, dent = 0, through = 0, slow = 0, late = 0;
    int32_t contacts = 0;
    for (int k = 0; k < 400; k++) {
        scene_press(&s, k < 10 ? -0.06 + 0.01 * k : k < 220 ? 0.03 : -0.1);
        spl_player_stats stats = scene_step(&s, h, s.c);
        dent = fmax(dent, scene_moved(&s));
        through = fmax(through, stats.penetration);
        if (stats.contacts > contacts) contacts = stats.contacts;
        if (k >= 200 && k < 220) { /* pressed and at rest: an equilibrium of all integrators */
            double qd[80];
            spl_player_state(s.p, NULL, qd, NULL);
            for (int32_t i = 0; i < spl_player_size(s.p); i++) slow = fmax(slow, fabs(qd[i]));
        }
        if (k >= 360) late = fmax(late, scene_moved(&s));
    }
    printf("    dent %.1f mm, %.2f mm inside, %d contacts; after a second %.2g mm\n", 1e3 * dent, 1e3 * through,
           (int)contacts, 1e3 * late);
    CHECK(dent > 0.022 && dent < 0.06 && through < 0.006 && contacts >= 3);
    CHECK(slow < 1e-3 && late < 1e-3);
    scene_free(&s);
}

/* In equilibrium the ball's work is what the flesh stores: the change of all energy with the ball's place is its force.
 * A stiffer contact lets it in less. */
TEST(equilibria_store_the_work_of_the_ball)
{
    double last = 1;
    for (int stiff = 0; stiff < 3; stiff++) {
        spl_player_options o = spl_player_options_default();
        o.newton = 200, o.tolerance = 1e-11, o.contact = stiff == 0 ? 30 : stiff == 1 ? 300 : 3000;
        scene s;
        scene_make(&s, 24, &o, NULL);
        double energy[3], force = 0, step = 1e-5, through = 0;
        for (int k = 0; k < 3; k++) {
            scene_press(&s, 0.02 + (k - 1) * step);
            spl_player_stats stats = scene_step(&s, 0, s.c);
            for (int again = 0; again < 20; again++) stats = scene_step(&s, 0, s.c); /* normals settle */
            CHECK(stats.converged);
            energy[k] = stats.energy + s.p->now.pressed;
            through = stats.penetration;
            for (int i = 0; k == 1 && i < 2; i++)
                for (int32_t c = 0; c < s.p->press[i].count; c++)
                    force +=
                        s.p->press[i].spring[c] * fmax(s.p->press[i].depth[c], 0) * -s.p->press[i].contact[c].normal.z;
        }
        printf("    contact=%g: %.3g N, by energies %.3g N; %.2f mm inside\n", o.contact, force,
               (energy[2] - energy[0]) / (2 * step), 1e3 * through);
        CHECK_NEAR((energy[2] - energy[0]) / (2 * step), force, 2e-3 * fabs(force));
        CHECK(through < 0.6 * last && through > 0);
        last = through;
        scene_free(&s);
    }
}

/* However stiff, and pressed for long: no bounce that grows. */
TEST(stiff_contacts_stay_calm)
{
    spl_player_options o = spl_player_options_default();
    o.contact = 1e6;
    scene s;
    scene_make(&s, 24, &o, NULL);
    double most = 0, end = 0;
    for (int k = 0; k < 300; k++) {
        scene_press(&s, 0.02);
        spl_player_stats stats = scene_step(&s, 1.0 / 120, s.c);
        most = fmax(most, scene_moved(&s));
        end = stats.energy;
    }
    printf("    moved by %.1f mm at most; %.3g J at the end\n", 1e3 * most, end);
    CHECK(most < 0.06);
    for (int k = 0; k < 300; k++) {
        spl_player_stats stats = scene_step(&s, 1.0 / 120, s.c);
        CHECK_NEAR(stats.energy, end, 0.02 * end);
    }
    scene_free(&s);
}

/* ---- bits and memory ---- */

TEST(the_same_bits_at_any_number_of_threads)
{
    static const int counts[] = {1, 2, 7};
    double q[3][80];
    for (int t = 0; t < 3; t++) {
        supple_config config = supple_config_default();
        spl_pool *pool = NULL;
        config.thread_count = counts[t];
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        spl_player_options o = spl_player_options_default();
        scene s;
        scene_make(&s, 24, &o, pool);
        for (int k = 0; k < 30; k++) {
            scene_press(&s, 0.002 * k);
            scene_step(&s, 1.0 / 120, s.c);
        }
        REQUIRE(spl_player_size(s.p) <= 80);
        spl_player_state(s.p, q[t], NULL, NULL);
        CHECK(memcmp(q[t], q[0], (size_t)spl_player_size(s.p) * sizeof(double)) == 0);
        scene_free(&s);
        spl_pool_destroy(pool);
    }
}

/* A collider far away, a world without any, and no contacts at all: the same bits. */
TEST(a_collider_far_away_changes_no_bit)
{
    double q[3][80];
    for (int kind = 0; kind < 3; kind++) {
        spl_player_options o = spl_player_options_default();
        if (kind == 2) o.contact = 0;
        scene s;
        scene_make(&s, 24, &o, NULL);
        for (int i = 0; i < 2; i++) s.frame[i].a = spl_v3(3, -5, 1);
        for (int k = 0; k < 20; k++) {
            spl_player_stats stats = scene_step(&s, 1.0 / 120, kind == 0 ? s.c : NULL);
            CHECK(stats.contacts == 0 && stats.penetration == 0);
        }
        CHECK(scene_moved(&s) > 1e-4);
        spl_player_state(s.p, q[kind], NULL, NULL);
        CHECK(memcmp(q[kind], q[0], (size_t)spl_player_size(s.p) * sizeof(double)) == 0);
        scene_free(&s);
    }
}

TEST(each_allocation_may_fail_and_steps_make_none)
{
    spl_player_options o = spl_player_options_default();
    o.contact_most = 4;
    scene s;
    scene_make(&s, 9, &o, NULL);
    bool failed = true;
    scene_press(&s, 0.03);
    for (long n = 0; failed && n < 500; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_player *p = NULL;
        supple_result r = spl_player_create(&s.b.model, &o, NULL, &a, &p, NULL);
        failed = r != SUPPLE_OK;
        CHECK(!failed || (r == SUPPLE_ERROR_MEMORY && !p));
        if (!failed) {
            long requests = f.requests;
            spl_player_input in = {.frame = s.frame, .held = s.b.flesh.x, .dt = 0.01, .colliders = s.c};
            spl_player_stats stats;
            CHECK(spl_player_step(p, &in, &stats, NULL) == SUPPLE_OK);
            CHECK(stats.contacts > 0 && stats.contacts <= 12 && stats.dropped > 0);
            CHECK(f.requests == requests);
        }
        spl_player_destroy(p);
        CHECK(f.live == 0);
    }
    CHECK(!failed);
    scene_free(&s);
}

TEST_CASES(RUN(spheres_hold_their_vertices), RUN(queries_find_what_trying_all_finds),
           RUN(forces_are_those_of_the_vertices), RUN(a_ball_dents_a_block_and_it_recovers),
           RUN(equilibria_store_the_work_of_the_ball), RUN(stiff_contacts_stay_calm),
           RUN(the_same_bits_at_any_number_of_threads), RUN(a_collider_far_away_changes_no_bit),
           RUN(each_allocation_may_fail_and_steps_make_none))
