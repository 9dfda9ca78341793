/* Contacts of flesh with flesh: what hero's hands do on its body, in a model that was trained in a second. */
#include "core/memory.h"
#include "statics/flesh.h"
#include "subspace/playback_private.h"
#include "subspace/player_private.h"
#include "subspace/playing.h"
#include "test.h"

static const double pressing = 3.2; /* seconds of `reach`: hands in the body */

static fixture hero(void)
{
    fixture f = {.scene = demo_scene("hero", 0.4)};
    supple_train_config tc = supple_train_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_error error = {0};
    bc.max_tets = 5000;
    bc.cache = false;
    tc.quick = true;
    tc.rank = 12;
    tc.samples = 12;
    tc.pose_share = 0.9; /* so few poses alone crumple flesh */
    tc.body_config = &bc;
    if (supple_model_train(f.scene, &tc, NULL, &f.model, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        exit(1);
    }
    return f;
}

static float *reach_at(const fixture *f, double time)
{
    int32_t joints = supple_scene_joint_count(f->scene), n = supple_model_joint_count(f->model), clip = 0;
    float *all = calloc((size_t)joints, 64), *out = calloc((size_t)n, 64);
    while (strcmp(supple_scene_clip_name(f->scene, clip), "reach") != 0) clip++;
    if (supple_scene_pose(f->scene, clip, time, all, joints, NULL) != SUPPLE_OK) abort();
    for (int32_t k = 0; k < n; k++)
        for (int32_t j = 0; j < joints; j++)
            if (strcmp(supple_scene_joint_name(f->scene, j), supple_model_joint_name(f->model, k)) == 0)
                memcpy(out + 16 * k, all + 16 * j, 64);
    free(all);
    return out;
}

static supple_player *player(const fixture *f, int threads, bool dynamics, double self, const supple_player *like,
                             const supple_allocator *a)
{
    supple_player_config pc = supple_player_config_default();
    supple_config config = supple_config_default();
    supple_player *p = NULL;
    config.thread_count = threads;
    if (a) config.allocator = *a;
    pc.dynamics = dynamics;
    pc.self_contact = self;
    pc.like = like;
    CHECK(supple_player_create(f->model, &pc, &config, &p, NULL) == SUPPLE_OK);
    return p;
}

static void step(const fixture *f, supple_player *p, double time, double dt)
{
    float *pose = reach_at(f, time);
    CHECK(supple_player_step(p, pose, supple_model_joint_count(f->model), dt, NULL) == SUPPLE_OK);
    free(pose);
}

/* A search at the state of a player. */
static spl_clash_query query(const supple_player *p)
{
    const spl_player *q = p->player;
    return (spl_clash_query){q->kernels, p->frame, q->q, q->at, p->x};
}

/* ---- the search ---- */

/* How many times the surface goes round a place. */
static double winding(const spl_clash *c, const spl_clash_query *y, spl_vec3 p)
{
    const spl_rig *g = &c->rest->model->rig;
    double angle = 0;
    for (int32_t t = 0; t < g->triangle_count; t++) { /* van Oosterom and Strackee 1983, over all of the surface */
        spl_vec3 x[3];
        double length[3];
        for (int k = 0; k < 3; k++) {
            int32_t v = g->triangle[3 * t + k], copy = c->rest->copy_first[v];
            bool held = copy == c->rest->copy_first[v + 1];
            const double *h = y->held + 3 * (size_t)g->vertex[v];
            x[k] = spl_sub(held ? spl_v3(h[0], h[1], h[2]) : c->at[c->rest->copy[copy]], p);
            length[k] = spl_norm(x[k]);
        }
        double det = spl_dot(x[0], spl_cross(x[1], x[2]));
        double by = length[0] * length[1] * length[2] + spl_dot(x[0], x[1]) * length[2] +
                    spl_dot(x[1], x[2]) * length[0] + spl_dot(x[2], x[0]) * length[1];
        angle += 2 * atan2(det, by);
    }
    return angle / (4 * 3.14159265358979);
}

/* All places, where a search has only looked at some. */
static void look_at_all(spl_clash *c, const spl_clash_query *y)
{
    const spl_model *m = c->rest->model;
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = c->rest->first[i]; k < c->rest->first[i + 1]; k++) {
            size_t v = (size_t)c->rest->tree[i].vertex[k - c->rest->first[i]], rank = (size_t)m->domain[i].rank;
            double u[3];
            for (size_t a = 0; a < 3; a++) {
                u[a] = m->domain[i].rest[3 * v + a];
                for (size_t j = 0; j < rank; j++)
                    u[a] += m->domain[i].basis[(3 * v + a) * rank + j] * y->q[y->offset[i] + j];
            }
            c->at[k] = spl_add(spl_mat3_apply(&y->frame[i].R, spl_v3(u[0], u[1], u[2])), y->frame[i].t);
        }
}

/* What contacts say is inside is in the flesh of two, by the winding number of the whole surface, and a little outside
 * of where a contact leads to it is not. */
TEST(what_is_inside_is_found_and_led_out)
{
    fixture f = hero();
    supple_player *p = player(&f, 1, false, 0, NULL, NULL);
    const supple_allocator a = spl_allocator_of(NULL);
    spl_clash c;
    step(&f, p, pressing, 0);
    spl_clash_query y = query(p);
    REQUIRE(spl_clash_create(p->model, p->player->rest, 300, 1024, NULL, &a, &c, NULL) == SUPPLE_OK);
    spl_clash_find(&c, &y);
    look_at_all(&c, &y);
    int32_t deep = 0, out = 0;
    double most = 0;
    for (int32_t k = 0; k < c.count; k++) {
        const spl_clash_contact *n = &c.contact[k];
        spl_vec3 x = c.at[n->copy], to = spl_madd(x, n->normal, n->depth + 0.002);
        most = fmax(most, n->depth);
        if (n->depth < 0.003) continue;
        spl_vec3 in = spl_madd(x, n->normal, 1e-5); /* its own flesh is there, and the other's */
        deep++;
        out += winding(&c, &y, in) > 1.5 && winding(&c, &y, to) < 1.5;
    }
    printf("    %d contacts of %d pairs, %d deep, %d led out, %.1f mm\n", (int)c.count, (int)c.pair_count, (int)deep,
           (int)out, 1e3 * most);
    CHECK(deep >= 5 && out >= 0.8 * deep && most > 0.005 && most < 0.05);
    spl_clash_release(&c, &a);
    supple_player_destroy(p);
    fixture_free(&f);
}

/* ---- forces ---- */

static void add(const spl_player *p, double *q, const double *d, double s)
{
    for (int32_t i = 0; i < p->count; i++)
        for (int32_t k = 0; k < p->set[i].rank; k++) q[p->at[i] + (size_t)k] += s * d[p->blocks.offset[i] + (size_t)k];
}

/* Forces are the energy's slope, and the system solved with their Jacobian agrees with their differences. */
TEST(forces_and_jacobian)
{
    fixture f = hero();
    supple_player *p = player(&f, 1, false, 300, NULL, NULL);
    step(&f, p, pressing, 0);
    spl_player *s = p->player;
    spl_clash *c = s->clash;
    size_t n = s->blocks.offset[s->count];
    double *force = calloc(n, sizeof *force), *other = calloc(n, sizeof *force), *d = calloc(n, sizeof *force);
    uint64_t seed = 5;
    CHECK(c->count > 5 && c->pair_count > 1);
    for (int32_t i = 0; i < s->count; i++)
        for (int32_t k = 0; k < s->set[i].rank; k++) d[s->blocks.offset[i] + (size_t)k] = 1e-3 * flesh_random(&seed);
    double eps = 1e-4, slope = 0, energy[2];
    spl_clash_force(c, s->kernels, s->q, s->at, s->blocks.offset, force);
    for (size_t k = 0; k < n; k++) slope -= force[k] * d[k];
    for (int e = 0; e < 2; e++) {
        double by = e == 0 ? -eps : eps;
        add(s, s->q, d, by);
        memset(other, 0, n * sizeof *other);
        energy[e] = spl_clash_force(c, s->kernels, s->q, s->at, s->blocks.offset, other);
        add(s, s->q, d, -by);
    }
    CHECK_NEAR((energy[1] - energy[0]) / (2 * eps), slope, 1e-5 * fabs(slope));
    /* (shift + K) d = shift d - (f(q + eps d) - f(q)) / eps: solved for d again. */
    double shift = 1, square = 0, wrong = 0;
    memset(other, 0, n * sizeof *other);
    add(s, s->q, d, eps);
    spl_clash_force(c, s->kernels, s->q, s->at, s->blocks.offset, other);
    add(s, s->q, d, -eps);
    for (size_t k = 0; k < n; k++) other[k] = shift * d[k] - (other[k] - force[k]) / eps;
    memset(force, 0, n * sizeof *force);
    spl_clash_force(c, s->kernels, s->q, s->at, s->blocks.offset, force);
    spl_blocks_clear(&s->blocks);
    for (int32_t i = 0; i < s->count; i++) {
        size_t ld;
        bool swapped;
        double *A = spl_blocks_at(&s->blocks, i, i, &ld, &swapped);
        for (size_t k = 0; k < (size_t)s->set[i].rank; k++) A[k * ld + k] = shift;
    }
    spl_clash_hessian(c, s->kernels, &s->blocks);
    REQUIRE(spl_blocks_factorise(&s->blocks));
    spl_blocks_solve(&s->blocks, other);
    for (size_t k = 0; k < n; k++) square += d[k] * d[k], wrong += (other[k] - d[k]) * (other[k] - d[k]);
    printf("    %.2g\n", sqrt(wrong / square));
    CHECK(wrong < 1e-8 * square);
    free(force), free(other), free(d);
    supple_player_destroy(p);
    fixture_free(&f);
}

/* ---- room ---- */

/* The deepest are kept; every allocation may fail. */
TEST(little_room)
{
    fixture f = hero();
    supple_player *p = player(&f, 1, false, 0, NULL, NULL);
    step(&f, p, pressing, 0);
    spl_clash_query y = query(p);
    const supple_allocator a = spl_allocator_of(NULL);
    spl_clash all, few;
    REQUIRE(spl_clash_create(p->model, p->player->rest, 300, 1024, NULL, &a, &all, NULL) == SUPPLE_OK);
    REQUIRE(spl_clash_create(p->model, p->player->rest, 300, 3, &all, &a, &few, NULL) == SUPPLE_OK);
    spl_clash_find(&all, &y);
    spl_clash_find(&few, &y);
    CHECK(all.count > 6 && few.count == 3 && few.dropped == all.count - 3 && all.dropped == 0);
    double least = INFINITY;
    for (int32_t k = 0; k < 3; k++) least = fmin(least, few.contact[k].depth);
    int32_t deeper = 0;
    for (int32_t k = 0; k < all.count; k++) deeper += all.contact[k].depth > least;
    CHECK(deeper == 2);
    spl_clash_release(&few, &a);
    spl_clash_release(&all, &a);
    for (long fail_at = 0, done = 0; !done && fail_at < 10000; fail_at++) {
        failing count = {.fail_at = fail_at};
        supple_allocator tight = failing_allocator(&count);
        supple_result result = spl_clash_create(p->model, p->player->rest, 300, 64, NULL, &tight, &all, NULL);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        done = result == SUPPLE_OK;
        if (done) CHECK(fail_at > 60);
        spl_clash_release(&all, &tight);
        CHECK(count.live == 0);
    }
    supple_player_destroy(p);
    fixture_free(&f);
}

/* A system goes back to the order that it came from, and says where there is no room. */
TEST(systems_are_arranged_for_a_while)
{
    const supple_allocator a = spl_allocator_of(NULL);
    const int32_t rank[6] = {5, 4, 7, 8, 3, 6}, chain[10] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5}, more[4] = {0, 5, 1, 4};
    spl_blocks b;
    REQUIRE(spl_blocks_create(6, rank, chain, 5, &a, &b, NULL) == SUPPLE_OK);
    size_t size = b.size, ld;
    bool swapped;
    int32_t order[6];
    memcpy(order, b.order, sizeof order);
    REQUIRE(spl_blocks_reserve(&b, chain, 5, NULL) == SUPPLE_OK);
    CHECK(b.size == size && memcmp(order, b.order, sizeof order) == 0);
    REQUIRE(spl_blocks_arrange(&b, more, 2));
    CHECK(b.size > size && spl_blocks_at(&b, 0, 5, &ld, &swapped) && spl_blocks_at(&b, 1, 4, &ld, &swapped));
    CHECK(spl_blocks_arrange(&b, NULL, 0) && b.size == size && memcmp(order, b.order, sizeof order) == 0);
    b.capacity = size;
    CHECK(!spl_blocks_arrange(&b, more, 2) && b.size == size && memcmp(order, b.order, sizeof order) == 0);
    spl_blocks_release(&b);
}

/* ---- players ---- */

/* The same bits at any number of threads and with another's tables; no step allocates; hands stay out of the body. */
TEST(hands_on_a_body)
{
    fixture f = hero();
    failing count = {.fail_at = -1};
    supple_allocator counting = failing_allocator(&count);
    supple_player *p[4] = {player(&f, 1, true, 300, NULL, NULL), player(&f, 2, true, 300, NULL, NULL)};
    p[2] = player(&f, 1, true, 300, p[0], &counting);
    p[3] = player(&f, 1, true, 0, NULL, NULL);
    long before = count.requests;
    int32_t contacts = 0, n = supple_model_vertex_count(f.model);
    double deepest[2] = {0, 0};
    const supple_allocator a = spl_allocator_of(NULL);
    spl_clash judge;
    REQUIRE(spl_clash_create(p[3]->model, p[3]->player->rest, 300, 1024, NULL, &a, &judge, NULL) == SUPPLE_OK);
    for (int k = 0; k <= 30; k++) {
        double time = pressing - 0.9 + k / 60.0;
        for (int i = 0; i < 4; i++) step(&f, p[i], time, 1 / 60.0);
        float *x[3];
        for (int i = 0; i < 3; i++) x[i] = positions(&f, p[i]);
        CHECK(memcmp(x[0], x[1], 12 * (size_t)n) == 0 && memcmp(x[0], x[2], 12 * (size_t)n) == 0);
        for (int i = 0; i < 3; i++) free(x[i]);
        if (supple_player_get_stats(p[0])->self_contacts > contacts)
            contacts = supple_player_get_stats(p[0])->self_contacts;
        for (int i = 0; i < 2 && k > 20; i++) {
            spl_clash_query y = query(p[3 * i]);
            spl_clash_find(&judge, &y);
            for (int32_t j = 0; j < judge.count; j++) deepest[i] = fmax(deepest[i], judge.contact[j].depth);
        }
    }
    printf("    %d contacts; %.2f mm deep, %.2f mm without\n", (int)contacts, 1e3 * deepest[0], 1e3 * deepest[1]);
    CHECK(count.requests == before);
    CHECK(contacts >= 4 && deepest[1] > 0.015 && deepest[0] < 0.005);
    spl_clash_release(&judge, &a);
    for (int i = 3; i >= 0; i--) supple_player_destroy(p[i]);
    fixture_free(&f);
}

TEST_CASES(RUN(what_is_inside_is_found_and_led_out), RUN(forces_and_jacobian), RUN(little_room),
           RUN(systems_are_arranged_for_a_while), RUN(hands_on_a_body))
