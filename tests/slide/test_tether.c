/* Tethers: the law and its derivatives, none and infinite ones, how long they are, and the stance. */
#include "../failing.h"
#include "../test.h"
#include "core/memory.h"
#include "math/dense.h"
#include "sheets.h"
#include "sim/sim.h"
#include "slide/stance.h"
#include "slide/tether.h"
#include "slide/tether_find.h"

#include <supple/supple.h>

TEST(the_law_is_a_smooth_growing_energy)
{
    double length = 0.01, pressure = 300, t = 1e-7;
    for (int i = 0; i < 65; i++) {
        double d = 1e-4 + 3.1e-4 * i;
        spl_tether_point low = spl_tether_at(length, pressure, d - t), at = spl_tether_at(length, pressure, d),
                         high = spl_tether_at(length, pressure, d + t);
        double slope = (high.phi - low.phi) / (2 * t);
        CHECK_NEAR(slope, at.pull * d, 1e-6 * slope);
        double bend = (high.pull * (d + t) - low.pull * (d - t)) / (2 * t);
        CHECK_NEAR(bend, at.tangent, 1e-4 * bend);
        CHECK(at.phi > low.phi && at.tangent > 0 && high.tangent >= low.tangent);
    }
    /* biphasic: its pressure at its length, soft before, very stiff beyond; the stiffness does not jump */
    CHECK_NEAR(spl_tether_at(length, pressure, length).pull * length, pressure, 1e-9);
    CHECK_NEAR(spl_tether_at(length, pressure, length / 2).pull * length / 2, pressure / 2, 1e-9);
    CHECK(spl_tether_at(length, pressure, 1.5 * length).pull * 1.5 * length > 25 * pressure);
    CHECK_NEAR(spl_tether_at(length, pressure, length * (1 + 1e-9)).tangent, pressure / length, 1e-2);
}

/* Tethers that are short enough to be beyond their length in places. */
typedef struct bound {
    double *length, *pressure;
} bound;

static bound bind(size_t n, double length, double pressure)
{
    bound b = {calloc(n, sizeof(double)), calloc(n, sizeof(double))};
    for (size_t v = 0; v < n; v++) {
        b.length[v] = length * (1 + (double)(v % 3));
        b.pressure[v] = pressure;
    }
    return b;
}

static void unbind(bound *b)
{
    free(b->length);
    free(b->pressure);
}

static void take_state(spl_dermis *d)
{
    size_t n = (size_t)d->net.surface.vertex_count;
    memcpy(d->x_new, d->x, n * sizeof *d->x);
    memcpy(d->Y_new, d->Y, n * sizeof *d->Y);
    memcpy(d->place_new, d->place, n * sizeof *d->place);
}

/* Energy of skin and tethers at Y - t J u. */
static double energy_along(spl_dermis *d, const double *J, const double *u, double t)
{
    double W = 0;
    take_state(d);
    for (size_t v = 0; v < (size_t)d->net.surface.vertex_count; v++) {
        const double *j = J + 6 * v;
        spl_vec3 a = spl_v3(j[0], j[1], j[2]), b = spl_v3(j[3], j[4], j[5]);
        d->Y_new[v] = spl_madd(spl_madd(d->Y[v], a, -t * u[2 * v]), b, -t * u[2 * v + 1]);
    }
    spl_dermis_evaluate(d, false, false);
    for (size_t l = 0; l < (size_t)d->live_count; l++) W += d->element_W[l];
    for (size_t v = 0; v < (size_t)d->net.surface.vertex_count; v++) W += d->tether_W[v];
    return W;
}

/* Skin, tethers and a stance, all uneven: the force is the energy's gradient, and the whole stiffness its Hessian. */
TEST(force_and_stiffness_are_derivatives)
{
    for (int kind = 0; kind < 2; kind++) {
        srand(5);
        shape s = kind ? shape_torus(8, 0.3, 0.1) : sheet_irregular(7, 6, 0.7, 0.6, 0.25);
        spl_dermis_settings set = spl_dermis_settings_default();
        spl_net net = sheet_net(&s);
        bound b = bind((size_t)net.surface.vertex_count, 0.003, 2e4);
        spl_vec3 *stance = calloc((size_t)net.surface.vertex_count, sizeof *stance);
        for (int v = 0; v < net.surface.vertex_count; v++) {
            spl_vec3 p = net.surface.position[v];
            stance[v] = spl_v3(1.1 * p.x + 0.2 * p.y * p.y, 0.9 * p.y, p.z + 0.2 * p.x);
        }
        spl_net_release(&net);
        spl_dermis_parts parts = {.tether_length = b.length, .tether_pressure = b.pressure, .stance = stance};
        spl_dermis *d = sheet_skin(&s, &set, &parts, NULL);
        size_t n = (size_t)d->net.surface.vertex_count, beyond = 0;
        sheet_shuffle(d, 0.01);
        double *J = calloc(n, 6 * sizeof *J), *u = calloc(n, 2 * sizeof *u), work = 0, scale = 0, K = 0, t = 1e-6;
        take_state(d);
        spl_dermis_evaluate(d, true, true);
        memcpy(J, d->jacobian, 6 * n * sizeof *J);
        for (size_t i = 0; i < 2 * n; i++) {
            u[i] = shape_random();
            work += d->force[i] * u[i];
            scale += fabs(d->force[i] * u[i]);
        }
        for (size_t v = 0; v < n; v++) {
            const double *k = d->tether_K + 3 * v, *w = u + 2 * v;
            K += k[0] * w[0] * w[0] + 2 * k[1] * w[0] * w[1] + k[2] * w[1] * w[1];
            CHECK(k[0] >= 0 && k[2] >= 0 && k[0] * k[2] - k[1] * k[1] >= -1e-12 * k[0] * k[2]);
            beyond += spl_distance(d->Y[v], d->net.surface.position[v]) > b.length[v];
        }
        for (size_t l = 0; l < (size_t)d->live_count; l++) {
            const int32_t *c = d->net.surface.triangle + 3 * (size_t)d->live[l];
            for (int i = 0, at = 0; i < 6; i++)
                for (int j = 0; j <= i; j++, at++)
                    K += (i == j ? 1 : 2) * d->element_K[21 * l + (size_t)at] * u[2 * c[i / 2] + i % 2] *
                         u[2 * c[j / 2] + j % 2];
        }
        CHECK(beyond > n / 20 && beyond < n);
        double low = energy_along(d, J, u, -t), middle, high = energy_along(d, J, u, t);
        CHECK_NEAR((high - low) / (2 * t), -work, 1e-6 * scale);
        t = 2e-5;
        low = energy_along(d, J, u, -t), middle = energy_along(d, J, u, 0), high = energy_along(d, J, u, t);
        CHECK_NEAR((high - 2 * middle + low) / (t * t), K, 1e-3 * fabs(K));
        free(J);
        free(u);
        free(stance);
        unbind(&b);
        shape_free(&s);
        spl_dermis_destroy(d);
    }
}

/* How many vertices the net of a shape has: seams are welded. */
static size_t welded(const shape *s)
{
    spl_net net = sheet_net(s);
    size_t n = (size_t)net.surface.vertex_count;
    spl_net_release(&net);
    return n;
}

static spl_vec3 bent(spl_vec3 p, double amount)
{
    return spl_v3(p.x + amount * p.x * p.x, p.y * (1 + amount * p.x), p.z + 0.3 * amount * p.x * p.y);
}

/* Frames of a torus that is bent: the skin's places afterwards. */
static spl_vec3 *play(const spl_dermis_parts *parts, double *most)
{
    shape s = shape_torus(10, 0.3, 0.1);
    spl_dermis_settings set = spl_dermis_settings_default();
    spl_dermis *d = sheet_skin(&s, &set, parts, NULL);
    size_t n = (size_t)d->net.surface.vertex_count;
    spl_vec3 *x = calloc(n, sizeof *x), *Y = calloc(n, sizeof *Y);
    *most = 0;
    for (int frame = 0; frame < 8; frame++) {
        for (size_t v = 0; v < n; v++) x[v] = bent(d->net.surface.position[v], 0.2 * frame);
        CHECK(spl_dermis_advance(d, x, 1.0 / 30, NULL) == SUPPLE_OK);
    }
    memcpy(Y, d->Y, n * sizeof *Y);
    for (size_t v = 0; v < n; v++) *most = fmax(*most, spl_distance(Y[v], d->net.surface.position[v]));
    free(x);
    shape_free(&s);
    spl_dermis_destroy(d);
    return Y;
}

/* No tethers, those that nothing ends (infinite length) and those that pull with nothing: one skin, to the last bit.
 * Stiff ones let less and less go, and without length, or at the stiffest, it is glued. */
TEST(none_is_free_and_infinite_is_glued)
{
    shape s = shape_torus(10, 0.3, 0.1);
    size_t n = welded(&s);
    double most, last = INFINITY;
    bound b = bind(n, 0.01, 0);
    spl_dermis_parts parts = {.tether_length = b.length, .tether_pressure = b.pressure};
    spl_vec3 *Y = play(NULL, &most), *weak = play(&parts, &most);
    CHECK(most > 0.01 && memcmp(Y, weak, n * sizeof *Y) == 0);
    free(weak);
    for (size_t v = 0; v < n; v++) {
        b.length[v] = INFINITY;
        b.pressure[v] = 1e3;
    }
    weak = play(&parts, &most);
    CHECK(memcmp(Y, weak, n * sizeof *Y) == 0);
    free(weak);
    double pressure = 1;
    for (int i = 0; i < 7; i++, pressure *= 100) {
        for (size_t v = 0; v < n; v++) {
            b.length[v] = 0.01;
            b.pressure[v] = pressure;
        }
        free(play(&parts, &most));
        CHECK(most < last);
        last = most;
    }
    CHECK(last < 1e-9);
    for (size_t v = 0; v < n; v++) b.length[v] = 0;
    free(play(&parts, &most));
    CHECK(most == 0);
    free(Y);
    unbind(&b);
    shape_free(&s);
}

TEST(energy_falls_to_a_balance)
{
    srand(8);
    shape s = sheet_irregular(12, 10, 0.4, 0.3, 0.25);
    spl_net net = sheet_net(&s);
    uint8_t *hold = sheet_hold_border(&net);
    size_t n = (size_t)net.surface.vertex_count;
    spl_net_release(&net);
    spl_dermis_settings set = spl_dermis_settings_default();
    bound b = bind(n, 0.004, 2e3);
    spl_dermis_parts parts = {.hold = hold, .tether_length = b.length, .tether_pressure = b.pressure};
    spl_dermis *d = sheet_skin(&s, &set, &parts, NULL);
    spl_vec3 *x = calloc(n, sizeof *x);
    for (size_t v = 0; v < n; v++) {
        spl_vec3 p = d->net.surface.position[v];
        x[v] = spl_v3(p.x + 1.2 * p.x * p.x, p.y, 0);
        d->x[v] = x[v];
    }
    double kinetic, before = spl_dermis_energy(d, &kinetic), first = before;
    for (int k = 0; k < 150; k++) {
        CHECK(spl_dermis_step(d, x, 0.002, NULL) == SUPPLE_OK);
        double now = spl_dermis_energy(d, &kinetic) + kinetic;
        CHECK(now <= before * (1 + 1e-12));
        before = now;
    }
    CHECK(before < 0.99 * first && kinetic < 1e-6 * before);
    double force = 0, pull = 0;
    for (size_t v = 0; v < n; v++) {
        if (hold[v] == SPL_HOLD_FREE) force = fmax(force, hypot(d->force[2 * v], d->force[2 * v + 1]));
        double way = spl_distance(d->Y[v], d->net.surface.position[v]);
        pull = fmax(pull, d->patch[v] * way * spl_tether_at(b.length[v], b.pressure[v], way).pull);
    }
    CHECK(pull > 1e-3 && force < 1e-3 * pull);
    free(x);
    free(hold);
    unbind(&b);
    shape_free(&s);
    spl_dermis_destroy(d);
}

/* How far skin goes at most: settled in its stance, turned and elsewhere, and then in the shape of the net. */
static void settle_twice(spl_vec3 stance_of(spl_vec3 p, double by), double by, double most[2], double energy[2])
{
    shape s = shape_torus(10, 0.3, 0.1);
    spl_net net = sheet_net(&s);
    size_t n = (size_t)net.surface.vertex_count;
    spl_dermis_settings set = spl_dermis_settings_default();
    spl_vec3 *stance = calloc(n, sizeof *stance), *x = calloc(n, sizeof *x);
    for (size_t v = 0; v < n; v++) stance[v] = stance_of(net.surface.position[v], by);
    spl_net_release(&net);
    spl_dermis_parts parts = {.stance = stance};
    spl_dermis *d = sheet_skin(&s, &set, &parts, NULL);
    for (int k = 0; k < 2; k++) {
        for (size_t v = 0; v < n; v++)
            x[v] = k ? d->net.surface.position[v] : spl_v3(stance[v].y + 2, -stance[v].x, stance[v].z - 1);
        CHECK(spl_dermis_settle(d, x, 50, NULL) == SUPPLE_OK);
        most[k] = 0;
        for (size_t v = 0; v < n; v++) most[k] = fmax(most[k], spl_distance(d->Y[v], d->net.surface.position[v]));
        energy[k] = spl_dermis_energy(d, NULL);
    }
    free(stance);
    free(x);
    shape_free(&s);
    spl_dermis_destroy(d);
}

static spl_vec3 narrow(spl_vec3 p, double by)
{
    return spl_v3(by * p.x, p.y, p.z);
}

/* In the stance, wherever it stands and is turned, there is no force at all; in the shape of the net there is. */
TEST(skin_is_unstressed_in_its_stance)
{
    double most[2], energy[2];
    settle_twice(bent, 0.8, most, energy);
    CHECK(most[0] < 1e-9 && energy[0] < 1e-12 && most[1] > 5e-3);
}

/* Skinning folds armpits to nothing: that is unstressed as well, and what it costs to open such a fold is bounded. */
TEST(folds_of_the_stance_are_unstressed)
{
    double most[2], energy[2], fifth[2];
    settle_twice(narrow, 0.2, most, fifth);
    settle_twice(narrow, 0.02, most, energy);
    printf("    %.1e m; %.3g J to open, a fold to a fifth %.3g J; %.2g m\n", most[0], energy[1], fifth[1], most[1]);
    CHECK(most[0] < 1e-9 && energy[0] < 1e-12);
    CHECK(energy[1] > 0 && energy[1] < 2 * fifth[1]);
}

/* A facet that lies upside down at rest, as in a hem that is turned in, is the skin's right side, and nothing to mend.
 */
TEST(what_is_folded_over_at_rest_is_right)
{
    shape s = shape_grid(8, 6, shape_at_plane, (double[]){0.8, 0.6});
    size_t middle = 0, turned = 0;
    for (size_t v = 0; v < (size_t)s.vertex_count; v++)
        if (hypot(s.position[3 * v] - 0.4, s.position[3 * v + 1] - 0.3) < 1e-6) middle = v;
    s.position[3 * middle] += 0.16;
    s.position[3 * middle + 2] += 0.02;
    spl_dermis_settings set = spl_dermis_settings_default();
    spl_dermis_parts parts = {0};
    spl_dermis *d = sheet_skin(&s, &set, &parts, NULL);
    for (size_t t = 0; t < (size_t)d->net.surface.triangle_count; t++) {
        const int32_t *c = d->net.surface.triangle + 3 * t;
        const spl_vec3 *p = d->net.surface.position;
        turned += spl_cross(spl_sub(p[c[1]], p[c[0]]), spl_sub(p[c[2]], p[c[0]])).z < 0;
    }
    CHECK(middle > 0 && turned > 0);
    CHECK(spl_dermis_settle(d, d->net.surface.position, 50, NULL) == SUPPLE_OK && d->stats.broken == 0);
    for (size_t v = 0; v < (size_t)s.vertex_count; v++) CHECK(spl_distance(d->Y[v], d->net.surface.position[v]) < 1e-9);
    shape_free(&s);
    spl_dermis_destroy(d);
}

/* ---- a person ---- */

typedef struct person {
    supple_scene *scene;
    spl_part *part;
    int32_t part_count;
    bool *slides;
    spl_net net;
    double *length;
} person;

static person make_person(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    person r = {0};
    if (supple_scene_load_file("demo:hero", NULL, &r.scene, NULL) != SUPPLE_OK) abort();
    r.part = spl_parts_new(r.scene, &a, &r.part_count);
    r.slides = calloc((size_t)r.part_count, sizeof *r.slides);
    shape s = shape_new(r.scene->vertex_count, r.scene->triangle_count);
    s.triangle_count = 0;
    for (int32_t i = 0; i < r.part_count; i++) {
        const spl_primitive *p = r.part[i].primitive;
        r.slides[i] = true;
        for (int32_t k = 0; k < 3 * p->vertex_count; k++)
            s.position[3 * r.part[i].first_vertex + k] = (double)p->position[k];
        for (int32_t k = 0; k < 3 * p->triangle_count; k++)
            s.triangle[3 * s.triangle_count + k] = r.part[i].first_vertex + p->triangle[k];
        s.triangle_count += p->triangle_count;
    }
    r.net = sheet_net(&s);
    shape_free(&s);
    spl_slide_scene where = {r.scene, r.part, r.part_count, r.slides, &r.net};
    spl_tether_body body = {&where, 0, spl_mat3_identity()};
    r.length = calloc((size_t)r.net.surface.vertex_count, sizeof *r.length);
    CHECK(spl_tether_find(&body, &a, r.length, NULL) == SUPPLE_OK);
    return r;
}

static void free_person(person *r)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_net_release(&r->net);
    spl_free(&a, r->part);
    free(r->slides);
    free(r->length);
    supple_scene_destroy(r->scene);
}

/* The joint that moves a vertex most, by name. */
static const char *joint_of(const person *r, int32_t vertex)
{
    for (int32_t i = 0; i < r->part_count; i++) {
        const spl_primitive *p = r->part[i].primitive;
        int32_t skin = r->scene->instance[r->part[i].instance].skin;
        for (int32_t v = 0; v < p->vertex_count; v++)
            if (r->net.surface.map[r->part[i].first_vertex + v] == vertex)
                return r->scene->node[r->scene->skin[skin].joint[p->joint[v * p->influence_count]]].name;
    }
    return "";
}

TEST(tethers_are_short_on_face_and_hands_and_long_on_the_trunk)
{
    person r = make_person();
    double most[5] = {0}, steepest = 0;
    static const char *const name[] = {"head", "hand", "foot", "chest", "forearm"};
    for (int32_t v = 0; v < r.net.surface.vertex_count; v++) {
        const char *joint = joint_of(&r, v);
        CHECK(r.length[v] > 0 && r.length[v] < 0.03);
        for (int k = 0; k < 5; k++)
            if (strncmp(joint, name[k], strlen(name[k])) == 0) most[k] = fmax(most[k], r.length[v]);
        for (int32_t e = r.net.surface.link_first[v]; e < r.net.surface.link_first[v + 1]; e++) {
            int32_t u = r.net.surface.link[e];
            double way = spl_distance(r.net.surface.position[v], r.net.surface.position[u]);
            steepest = fmax(steepest, fabs(r.length[v] - r.length[u]) / way);
        }
    }
    CHECK(most[0] > 0 && most[0] < 0.006 && most[1] > 0 && most[1] < 0.008 && most[2] > 0 && most[2] < 0.006);
    CHECK(most[3] > 0.015 && steepest <= 0.2 + 1e-9);
    CHECK(most[4] > 0.017); /* elbows */
    free_person(&r);
}

/* Whether arms hang is read off the joints' places. */
TEST(a_person_stands_with_hanging_arms)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_scene *scene = NULL;
    REQUIRE(supple_scene_load_file("demo:hero", NULL, &scene, NULL) == SUPPLE_OK);
    spl_pose pose;
    float *m = calloc((size_t)scene->joint_count, 16 * sizeof *m);
    bool stands = false;
    REQUIRE(spl_pose_init(&pose, scene, NULL) == SUPPLE_OK);
    spl_pose_sample(&pose, scene, -1, 0);
    CHECK(spl_stance_find(scene, &pose, &a, m, &stands, NULL) == SUPPLE_OK && stands);
    int32_t upper = -1, fore = -1;
    for (int32_t j = 0; j < scene->joint_count; j++) {
        if (strcmp(supple_scene_joint_name(scene, j), "upper_arm.L") == 0) upper = j;
        if (strcmp(supple_scene_joint_name(scene, j), "forearm.L") == 0) fore = j;
    }
    REQUIRE(upper >= 0 && fore >= 0);
    double down = (double)(m[16 * upper + 13] - m[16 * fore + 13]), side = 0;
    for (int k = 12; k < 15; k++) side += pow((double)(m[16 * upper + k] - m[16 * fore + k]), 2);
    CHECK_NEAR(down / sqrt(side), cos(0.22), 1e-3);
    spl_pose_release(&pose);
    free(m);
    supple_scene_destroy(scene);
    scene = NULL;
    REQUIRE(supple_scene_load_file("demo:arm", NULL, &scene, NULL) == SUPPLE_OK); /* no person */
    m = calloc((size_t)scene->joint_count, 16 * sizeof *m);
    REQUIRE(spl_pose_init(&pose, scene, NULL) == SUPPLE_OK);
    spl_pose_sample(&pose, scene, -1, 0);
    CHECK(spl_stance_find(scene, &pose, &a, m, &stands, NULL) == SUPPLE_OK && !stands);
    spl_pose_release(&pose);
    free(m);
    supple_scene_destroy(scene);
}

/* How far texture coordinates move in a pose, in the mean; a jump to another piece of the texture counts little. */
static double moved(supple_sim *sim, const float *rest)
{
    double sum = 0;
    for (size_t i = 0; i < 2 * sim->slide.corners; i++)
        sum += fmin(fabs((double)(sim->slide.corner_uv[i] - rest[i])), 0.02);
    return sum / (double)(2 * sim->slide.corners);
}

/* The whole stage: nothing slides in the stance, skin slides from there, and creating it leaves no trace in what the
 * method makes. */
TEST(nothing_slides_as_it_stands)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_scene *scene = NULL;
    supple_sim *sim[2] = {NULL, NULL};
    REQUIRE(supple_scene_load_file("demo:hero", NULL, &scene, NULL) == SUPPLE_OK);
    for (int k = 0; k < 2; k++) {
        supple_sim_config sc = supple_sim_config_default();
        sc.method = "linear";
        sc.slide = k == 0;
        REQUIRE(supple_sim_create(scene, &sc, NULL, &sim[k], NULL) == SUPPLE_OK);
    }
    size_t bytes = 2 * sim[0]->slide.corners * sizeof(float);
    float *rest = malloc(bytes), *m = calloc((size_t)scene->joint_count, 16 * sizeof *m);
    memcpy(rest, sim[0]->slide.corner_uv, bytes); /* glued until the first frame */
    spl_pose stance, pose;
    bool stands, seen;
    REQUIRE(spl_pose_init(&pose, scene, NULL) == SUPPLE_OK && spl_pose_init(&stance, scene, NULL) == SUPPLE_OK);
    spl_pose_sample(&stance, scene, -1, 0);
    CHECK(spl_stance_find(scene, &stance, &a, m, &stands, NULL) == SUPPLE_OK && stands);
    spl_pose_from_matrices(&stance, scene, m);
    CHECK(spl_stance_seen(scene, &stance, &a, &pose, &seen, NULL) == SUPPLE_OK && seen);
    double turned = 0;
    for (int32_t k = 0; k < scene->skin_count; k++)
        for (int32_t j = 0; j < scene->skin[k].joint_count; j++)
            for (size_t i = 0; i < 16; i++) {
                float *at = &m[16 * ((size_t)scene->skin[k].first_joint + (size_t)j) + i];
                double now = pose.world[scene->skin[k].joint[j]].m[i];
                turned = fmax(turned, fabs(now - (double)*at));
                *at = (float)now;
            }
    CHECK(turned > 0.05); /* its clips hold shoulders otherwise than the bind pose does */
    CHECK(supple_sim_step_pose(sim[0], m, scene->joint_count, NULL) == SUPPLE_OK);
    double standing = moved(sim[0], rest);
    for (int k = 0; k < 2; k++) CHECK(supple_sim_step_clip(sim[k], -1, 0, NULL) == SUPPLE_OK);
    double arms_out = moved(sim[0], rest);
    CHECK(standing < 5e-6 && arms_out > 20 * standing);
    CHECK(memcmp(sim[0]->position, sim[1]->position, 3 * (size_t)scene->vertex_count * sizeof(float)) == 0);
    free(rest);
    free(m);
    spl_pose_release(&pose);
    spl_pose_release(&stance);
    for (int k = 0; k < 2; k++) supple_sim_destroy(sim[k]);
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(the_law_is_a_smooth_growing_energy), RUN(force_and_stiffness_are_derivatives),
           RUN(none_is_free_and_infinite_is_glued), RUN(energy_falls_to_a_balance),
           RUN(skin_is_unstressed_in_its_stance), RUN(folds_of_the_stance_are_unstressed),
           RUN(what_is_folded_over_at_rest_is_right), RUN(tethers_are_short_on_face_and_hands_and_long_on_the_trunk),
           RUN(a_person_stands_with_hanging_arms), RUN(nothing_slides_as_it_stands))
