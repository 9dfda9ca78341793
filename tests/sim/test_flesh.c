#include "body/island_body.h"
#include "core/file.h"
#include "failing.h"
#include "sim/posed.h"

#include <sys/stat.h>
#include <unistd.h>

enum { RESOLUTION = 16 };

/* ---- what is dumped ---- */

/* The numbers of a .npy file; *count is how many. Ours have headers of 128 bytes (test_npy). */
static void *array(const char *folder, const char *name, size_t size, size_t *count)
{
    char path[200];
    uint8_t *bytes;
    size_t total;
    supple_allocator a = spl_allocator_of(NULL);
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (spl_file_read(path, 1 << 26, &a, &bytes, &total, NULL) != SUPPLE_OK) return NULL;
    *count = (total - 128) / size;
    memmove(bytes, bytes + 128, total - 128);
    unlink(path);
    return bytes;
}

typedef struct dumped {
    double *rest, *lame, *x, *rot, *pin, *fext;
    int32_t *tets, *bone, *surface;
    size_t n, m, pins;
} dumped;

static bool dumped_read(const char *folder, dumped *d)
{
    size_t count = 0, surface = 0;
    *d = (dumped){.rest = array(folder, "rest", 8, &d->n)};
    d->n = 0;
    d->tets = array(folder, "tets", 4, &d->m);
    d->bone = array(folder, "bone", 4, &d->n);
    d->surface = array(folder, "surface", 4, &surface);
    d->lame = array(folder, "lame", 8, &count);
    d->m /= 4;
    bool ok = d->rest && d->tets && d->bone && d->lame && d->surface && count == 2 * d->m && surface % 3 == 0;
    d->x = array(folder, "x_0007", 8, &count);
    ok = ok && d->x && count == 3 * d->n;
    d->rot = array(folder, "rot_0007", 8, &count);
    ok = ok && (!d->rot || count == 9 * d->m);
    d->pin = array(folder, "pin_0007", 8, &d->pins);
    d->pins = d->pin ? d->pins / 5 : 0;
    d->fext = array(folder, "fext_0007", 8, &count);
    static const char *const character[] = {"joint", "merged", "skin", "role"};
    static const size_t size[] = {4, 4, 8, 4};
    size_t of[4] = {0};
    for (int i = 0; i < 4; i++) free(array(folder, character[i], size[i], &of[i]));
    return ok && of[0] >= 2 && of[1] >= 1 && of[2] == 3 * of[3] && of[3] > 0;
}

static void dumped_free(dumped *d)
{
    free(d->rest);
    free(d->lame);
    free(d->x);
    free(d->rot);
    free(d->pin);
    free(d->fext);
    free(d->tets);
    free(d->bone);
    free(d->surface);
}

static spl_vec3 at(const double *x, int32_t v)
{
    return spl_v3(x[3 * v], x[3 * v + 1], x[3 * v + 2]);
}

static spl_mat3 edges(const double *x, const int32_t *t)
{
    spl_vec3 o = at(x, t[0]);
    return spl_mat3_columns(spl_sub(at(x, t[1]), o), spl_sub(at(x, t[2]), o), spl_sub(at(x, t[3]), o));
}

static void add(double *f, int32_t v, spl_vec3 by)
{
    f[3 * v] += by.x, f[3 * v + 1] += by.y, f[3 * v + 2] += by.z;
}

/* Forces of W (mu |S - I|^2 + lambda/2 tr^2(S - I)), S = sym(R^T F), on a tet's corners: G = -W P Dm^-T. */
static double tet_forces(const dumped *d, size_t k, double *f, double *size)
{
    const int32_t *t = d->tets + 4 * k;
    spl_mat3 Dm = edges(d->rest, t), Ds = edges(d->x, t), inverse, R, S = {{0}};
    double W = spl_mat3_det(&Dm) / 6, mu = d->lame[2 * k], lambda = d->lame[2 * k + 1];
    spl_mat3_inverse(&Dm, &inverse);
    spl_mat3 F = spl_mat3_mul(&Ds, &inverse);
    for (int i = 0; i < 9; i++) R.m[i] = d->rot[9 * k + 3 * (size_t)(i % 3) + (size_t)(i / 3)]; /* stored by rows */
    spl_mat3 A = spl_mat3_transposed_mul(&R, &F);
    double trace = spl_mat3_trace(&A) - 3, energy = 0.5 * lambda * trace * trace;
    for (int i = 0; i < 9; i++) {
        double s = 0.5 * (A.m[i] + A.m[3 * (i % 3) + i / 3]) - (i % 4 == 0);
        energy += mu * s * s;
        S.m[i] = 2 * mu * s + (i % 4 == 0 ? lambda * trace : 0);
    }
    spl_mat3 P = spl_mat3_mul(&R, &S), G = spl_mat3_mul_transposed(&P, &inverse);
    spl_vec3 sum = spl_v3(0, 0, 0);
    for (int i = 0; i < 3; i++) {
        spl_vec3 g = spl_scale(spl_mat3_column(&G, i), -W);
        add(f, t[i + 1], g);
        size[t[i + 1]] += spl_norm(g);
        sum = spl_add(sum, g);
    }
    add(f, t[0], spl_scale(sum, -1));
    size[t[0]] += spl_norm(sum);
    return W * energy;
}

static double dumped_residual(const dumped *d, double floor, double *energy)
{
    double *f = calloc(d->n, 3 * sizeof *f), *size = calloc(d->n, sizeof *size), net = 0, all = 0;
    *energy = 0;
    for (size_t k = 0; k < d->m; k++) *energy += tet_forces(d, k, f, size);
    for (size_t i = 0; i < d->pins; i++) {
        const double *p = d->pin + 5 * i;
        spl_vec3 off = spl_sub(at(d->x, (int32_t)p[0]), spl_v3(p[1], p[2], p[3]));
        add(f, (int32_t)p[0], spl_scale(off, -p[4]));
        *energy += 0.5 * p[4] * spl_dot(off, off);
    }
    for (size_t v = 0; v < d->n; v++) {
        all += size[v] * size[v];
        for (size_t i = 3 * v; i < 3 * (v + 1); i++) {
            double force = f[i] + (d->fext ? d->fext[i] : 0);
            if (d->bone[v] < 0) net += force * force;
            if (d->fext) *energy -= d->fext[i] * d->x[i];
        }
    }
    free(f);
    free(size);
    return sqrt(net) / (sqrt(all) + floor);
}

/* The residual and energy of the stats, from the arrays alone; a loose tolerance leaves a residual to compare. */
static void check_dump(posed *p, const char *settings, const char *forces)
{
    char folder[] = "flesh-test-XXXXXX";
    REQUIRE(mkdtemp(folder));
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    supple_error error = {0};
    dumped d;
    double energy;
    sc.measure = true;
    sc.force_file = forces;
    REQUIRE(posed_try(p, "mixed", settings, &sc, NULL, &sim, &error) == SUPPLE_OK);
    puppet_turn(&p->puppet, "forearm", spl_v3(0, 0, 1), 60);
    CHECK(posed_step(sim) == SUPPLE_OK);
    puppet_rest(&p->puppet);
    CHECK(supple_sim_dump(sim, folder, -1, &error) == SUPPLE_OK &&
          supple_sim_dump(sim, folder, 7, &error) == SUPPLE_OK);
    REQUIRE(dumped_read(folder, &d));
    double residual = dumped_residual(&d, 1e-12 * sim->flesh.solid.stiffness_scale, &energy);
    const supple_stats *s = supple_sim_stats(sim);
    CHECK(s->residual > 1e-9 && s->residual <= 1e-3);
    CHECK_NEAR(residual, s->residual, 1e-6 * s->residual);
    CHECK_NEAR(energy, s->energy, 1e-9 * s->energy);
    CHECK((forces != NULL) == (d.fext != NULL) && d.rot);
    CHECK(rmdir(folder) == 0); /* nothing else was written */
    dumped_free(&d);
    supple_sim_destroy(sim);
}

TEST(dumps_have_the_residual_in_them)
{
    static const char file[] = "flesh-forces.json";
    posed p = posed_make("arm", RESOLUTION, NULL);
    FILE *f = fopen(file, "w");
    REQUIRE(f);
    fprintf(f, "{\"forces\": [{\"joint\": \"forearm\", \"force\": [0, -2, 1]}]}");
    fclose(f);
    check_dump(&p, "tolerance=1e-3", NULL);
    check_dump(&p, "tolerance=1e-3 pin=soft cluster=bone", NULL);
    check_dump(&p, "tolerance=1e-3 energy=arap", NULL);
    check_dump(&p, "tolerance=1e-3 rotation=polar", file);
    unlink(file);
    posed_free(&p);
}

TEST(dumps_that_cannot_be)
{
    posed p = posed_make("arm", 8, NULL);
    supple_sim *sim = posed_sim(&p, "mixed", ""), *linear = posed_sim(&p, "linear", "");
    supple_error error = {0};
    CHECK(supple_sim_dump(sim, "flesh-nowhere", 0, &error) == SUPPLE_ERROR_OUTPUT && strstr(error.message, "nowhere"));
    CHECK(supple_sim_dump(linear, ".", 0, &error) == SUPPLE_ERROR_ARGUMENT && strstr(error.message, "linear"));
    supple_sim_destroy(sim);
    supple_sim_destroy(linear);
    posed_free(&p);
}

/* ---- measures ---- */

static void check_joints(const supple_sim *sim, double tolerance)
{
    CHECK(supple_sim_joint_count(sim) > 0);
    for (int32_t j = 0; j < supple_sim_joint_count(sim); j++) {
        CHECK(supple_sim_joint_name(sim, j) != NULL);
        CHECK_NEAR(supple_sim_joint_volume(sim, j), 1, tolerance);
    }
    CHECK(!supple_sim_joint_name(sim, -1) && !supple_sim_joint_name(sim, 99) &&
          isnan(supple_sim_joint_volume(sim, 99)));
}

TEST(joints_keep_their_volume_at_rest)
{
    static const char *const methods[] = {"mixed", "reference", "linear"};
    posed p = posed_make("beam", RESOLUTION, NULL);
    for (int i = 0; i < 3; i++) {
        supple_sim *sim = posed_sim(&p, methods[i], "");
        spl_mat4 move = puppet_rigid(spl_v3(1, 2, 3), 120, spl_v3(1, 0, 2));
        check_joints(sim, 1e-9);
        puppet_move(&p.puppet, &move);
        CHECK(posed_step(sim) == SUPPLE_OK);
        check_joints(sim, 1e-6);
        CHECK_NEAR(supple_sim_stats(sim)->volume_ratio, 1, 1e-6);
        CHECK_NEAR(supple_sim_stats(sim)->max_strain, 0, 1e-5);
        CHECK_NEAR(supple_sim_stats(sim)->max_bend_deg, 0, 1e-5);
        puppet_rest(&p.puppet);
        puppet_turn(&p.puppet, supple_sim_joint_name(sim, 1), spl_v3(0, 0, 1), 70);
        CHECK(posed_step(sim) == SUPPLE_OK);
        CHECK(fabs(supple_sim_joint_volume(sim, 1) - 1) > 1e-3);
        CHECK_NEAR(supple_sim_stats(sim)->max_bend_deg, 70, 1e-5);
        puppet_rest(&p.puppet);
        supple_sim_destroy(sim);
    }
    posed_free(&p);
}

TEST(without_measures_there_are_none)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    supple_sim *sim = NULL, *measured = posed_sim(&p, "mixed", "");
    REQUIRE(posed_try(&p, "mixed", "", NULL, NULL, &sim, NULL) == SUPPLE_OK);
    CHECK(supple_sim_step_clip(sim, 0, 0.6, NULL) == SUPPLE_OK);
    CHECK(supple_sim_step_clip(measured, 0, 0.6, NULL) == SUPPLE_OK);
    const supple_stats *s = supple_sim_stats(sim), *m = supple_sim_stats(measured);
    CHECK(isnan(s->volume_ratio) && isnan(s->min_det_f) && isnan(s->max_strain) && s->inverted == 0);
    CHECK(isnan(s->verify_mean) && isnan(s->max_penetration) && s->contacts == -1 && isnan(s->ms_slide));
    CHECK(m->max_penetration >= 0 && isfinite(m->volume_ratio) && isfinite(m->min_det_f) && isfinite(m->energy) &&
          m->inverted == 0);
    CHECK(s->iterations == m->iterations && s->residual <= 1e-5 && m->residual <= 1e-5);
    CHECK(supple_sim_joint_count(sim) == 0 && isnan(supple_sim_joint_volume(sim, 0)));
    CHECK_NEAR(posed_distance(sim, posed_x(sim), posed_x(measured)), 0, 0); /* measuring changes nothing */
    supple_sim_destroy(sim);
    supple_sim_destroy(measured);
    posed_free(&p);
}

static int32_t verified(const posed *p, int32_t verify, int32_t of, double *mean, double *most)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    int32_t count = 0;
    char settings[60];
    snprintf(settings, sizeof settings, "tolerance=1e-9 verify=%d", (int)verify);
    sc.frame_total = of;
    if (posed_try(p, "mixed", settings, &sc, NULL, &sim, NULL) != SUPPLE_OK) return -1;
    for (int k = 0; k < 6; k++) {
        CHECK(supple_sim_step_clip(sim, 0, 0.15 * k, NULL) == SUPPLE_OK);
        count += isfinite(supple_sim_stats(sim)->verify_mean);
        *mean = supple_sim_stats(sim)->verify_mean;
        *most = supple_sim_stats(sim)->verify_max;
    }
    supple_sim_destroy(sim);
    return count;
}

/* `verify` says how far the reference is: the same as a reference beside it. */
TEST(verified_frames_know_their_distance)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    supple_sim *sim = posed_sim(&p, "mixed", "tolerance=1e-9"), *truth = posed_sim(&p, "reference", "");
    double mean, most, sum = 0;
    CHECK(verified(&p, 2, 6, &mean, &most) == 2 && verified(&p, 3, 0, &mean, &most) == 3);
    CHECK(verified(&p, 0, 6, &mean, &most) == 0);
    CHECK(verified(&p, 6, 6, &mean, &most) == 6);
    for (int k = 0; k < 6; k++) {
        CHECK(supple_sim_step_clip(sim, 0, 0.15 * k, NULL) == SUPPLE_OK);
        CHECK(supple_sim_step_clip(truth, 0, 0.15 * k, NULL) == SUPPLE_OK);
    }
    for (int32_t v = 0; v < p.demo.body->tets.vertex_count; v++)
        sum += spl_distance(at(posed_x(sim), v), at(posed_x(truth), v)) / sim->flesh.solid.diagonal;
    CHECK(most > 1e-4);
    CHECK_NEAR(most, posed_distance(sim, posed_x(sim), posed_x(truth)), 1e-6);
    CHECK_NEAR(mean, sum / p.demo.body->tets.vertex_count, 1e-6);
    supple_sim_destroy(sim);
    supple_sim_destroy(truth);
    posed_free(&p);
}

/* ---- the frame ---- */

static uint64_t run(supple_sim *sim, float *x, size_t bytes)
{
    uint64_t hash = 5381;
    for (int k = 0; k < 4; k++) {
        CHECK(supple_sim_step_clip(sim, 0, 0.3 * k + 0.1, NULL) == SUPPLE_OK);
        supple_sim_read_positions(sim, x, 12);
        for (size_t i = 0; i < bytes; i++) hash = hash * 33 + ((const unsigned char *)x)[i];
    }
    return hash;
}

TEST(a_reset_starts_again)
{
    static const char *const settings[] = {"tolerance=1e-2", "rotation=polar pin=soft", "energy=neohookean",
                                           "solver=direct"};
    posed p = posed_make("arm", RESOLUTION, NULL);
    size_t bytes = (size_t)supple_scene_vertex_count(p.demo.scene) * 12;
    float *x = malloc(bytes);
    for (int i = 0; i < 5; i++) {
        supple_sim *sim = posed_sim(&p, i < 4 ? "mixed" : "reference", i < 4 ? settings[i] : "");
        uint64_t first = run(sim, x, bytes), second = run(sim, x, bytes);
        supple_sim_reset(sim);
        CHECK(run(sim, x, bytes) == first);
        CHECK(i > 0 || second != first); /* iterations remember where they came from */
        supple_sim_destroy(sim);
    }
    free(x);
    posed_free(&p);
}

/* Two simulations of one body, one step each in turn, are what each is alone. */
TEST(simulations_run_side_by_side)
{
    posed p = posed_make("arm", RESOLUTION, NULL);
    supple_sim *a = posed_sim(&p, "mixed", ""), *b = posed_sim(&p, "mixed", "cluster=bone"),
               *c = posed_sim(&p, "mixed", "");
    for (int k = 0; k < 4; k++) {
        CHECK(supple_sim_step_clip(a, 0, 0.3 * k, NULL) == SUPPLE_OK);
        CHECK(supple_sim_step_clip(b, 1, 0.4 * k, NULL) == SUPPLE_OK);
    }
    for (int k = 0; k < 4; k++) CHECK(supple_sim_step_clip(c, 0, 0.3 * k, NULL) == SUPPLE_OK);
    CHECK_NEAR(posed_distance(a, posed_x(a), posed_x(c)), 0, 0);
    CHECK(posed_distance(a, posed_x(a), posed_x(b)) > 1e-3);
    supple_sim_destroy(a);
    supple_sim_destroy(b);
    supple_sim_destroy(c);
    posed_free(&p);
}

TEST(a_body_of_another_scene)
{
    posed p = posed_make("arm", 8, NULL), q = posed_make("beam", 8, NULL);
    supple_sim_config sc = supple_sim_config_default();
    supple_error error = {0};
    supple_sim *sim = NULL;
    sc.body = q.demo.handle;
    CHECK(posed_try(&p, "mixed", "", &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT && !sim);
    CHECK(strstr(error.message, "another scene") != NULL);
    posed_free(&p);
    posed_free(&q);
}

/* A piece that no bone holds goes along with the nearest one, in every method, and `verify` agrees. */
TEST(islands_go_along)
{
    static const char *const methods[] = {"mixed", "mixed", "reference"}, *const settings[] = {"verify=2",
                                                                                               "pin=soft verify=2",
                                                                                               "verify=2"};
    posed p = {0};
    supple_scene *scene = demo_scene("arm", 0.3);
    p.puppet = puppet_make(scene);
    p.demo = island_body_make(scene, RESOLUTION, spl_v3(0.1, 0.12, -0.03), 0.06);
    REQUIRE(p.demo.body);
    int32_t n = p.demo.body->tets.vertex_count;
    for (int i = 0; i < 3; i++) {
        supple_sim_config sc = supple_sim_config_default();
        supple_sim *sim = NULL;
        double most = 0;
        sc.measure = true;
        REQUIRE(posed_try(&p, methods[i], settings[i], &sc, NULL, &sim, NULL) == SUPPLE_OK);
        for (int k = 1; k < 3; k++) {
            puppet_turn(&p.puppet, "forearm", spl_v3(0, 0, 1), 40 * k);
            CHECK(posed_step(sim) == SUPPLE_OK);
            CHECK(supple_sim_stats(sim)->residual < 1e-5 && supple_sim_stats(sim)->verify_max < 0.1);
        }
        for (int32_t v = n - 8; v < n; v++)
            most = fmax(most, spl_distance(at(posed_x(sim), v), spl_drive_point(&sim->flesh.solid.drive, 1, v)));
        CHECK_NEAR(most / sim->flesh.solid.diagonal, 0, 1e-4); /* unstrained: its springs all move as one */
        supple_sim_destroy(sim);
    }
    posed_free(&p);
}

/* ---- auto ---- */

typedef struct heard {
    char text[600], left_out[200];
} heard;

static void hear(void *user, supple_log_level level, const char *message)
{
    heard *h = user;
    (void)level;
    if (strncmp(message, "method:", 7) == 0 || strncmp(message, "no flesh", 8) == 0)
        snprintf(h->text, sizeof h->text, "%s", message);
    if (strncmp(message, "left out", 8) == 0) snprintf(h->left_out, sizeof h->left_out, "%s", message);
}

TEST(auto_takes_flesh_where_it_can)
{
    supple_config config = supple_config_default();
    heard h = {"", ""};
    supple_sim *sim = NULL;
    posed p = posed_make("arm", 8, NULL);
    config.log = hear;
    config.log_user = &h;
    CHECK(posed_try(&p, "auto", "", NULL, &config, &sim, NULL) == SUPPLE_OK);
    CHECK(strcmp(supple_sim_setup(sim)->method, "mixed") == 0 && strstr(h.text, "mixed ("));
    supple_sim_destroy(sim);
    posed_free(&p);
    supple_scene *flat = NULL;
    REQUIRE(supple_scene_load_file(SPL_DATA_DIR "/strip.gltf", NULL, &flat, NULL) == SUPPLE_OK);
    CHECK(supple_sim_create(flat, NULL, &config, &sim, NULL) == SUPPLE_OK);
    CHECK(strcmp(supple_sim_setup(sim)->method, "linear") == 0 && !supple_sim_body(sim));
    CHECK(strstr(h.text, "file's own skinning") && strstr(h.text, "; no flesh: ")); /* and why there is none */
    printf("    %s\n", h.text);
    CHECK(supple_sim_step_clip(sim, 0, 0.5, NULL) == SUPPLE_OK);
    supple_sim_destroy(sim);
    supple_sim_config sc = supple_sim_config_default();
    supple_error error = {0};
    sc.method = "mixed";
    REQUIRE(supple_sim_create(flat, &sc, &config, &sim, &error) == SUPPLE_OK); /* as the file has it, which is said */
    CHECK(strcmp(supple_sim_setup(sim)->method, "linear") == 0 && strstr(h.text, "keeps the file's own skinning"));
    supple_sim_destroy(sim);
    supple_scene_destroy(flat);
}

/* What only flesh can do is left out where there is none, and what no method can do is refused as ever. */
TEST(without_flesh_what_it_would_do_is_left_out)
{
    supple_config config = supple_config_default();
    heard h = {"", ""};
    supple_scene *flat = NULL;
    supple_sim *sim = NULL;
    supple_error error = {0};
    supple_sim_config sc = supple_sim_config_default();
    supple_setting known = {"iterations", "5"}, unknown = {"no-such", "5"};
    config.log = hear;
    config.log_user = &h;
    REQUIRE(supple_scene_load_file(SPL_DATA_DIR "/strip.gltf", NULL, &flat, NULL) == SUPPLE_OK);
    sc.dynamics = true;
    sc.gravity[1] = -9.81;
    sc.collide = SUPPLE_COLLIDE_SELF;
    sc.settings = &known;
    sc.setting_count = 1;
    for (int asked = 0; asked < 2; asked++) {
        sc.method = asked ? "projective" : "auto";
        h.left_out[0] = 0;
        REQUIRE(supple_sim_create(flat, &sc, &config, &sim, &error) == SUPPLE_OK);
        CHECK(strcmp(supple_sim_setup(sim)->method, "linear") == 0);
        CHECK(strcmp(h.left_out, "left out, for want of flesh: dynamics, gravity, collisions") == 0);
        CHECK(supple_sim_step_clip(sim, 0, 0, NULL) == SUPPLE_OK &&
              supple_sim_step_clip(sim, 0, 0.5, NULL) == SUPPLE_OK);
        supple_sim_destroy(sim);
    }
    sc.settings = &unknown;
    CHECK(supple_sim_create(flat, &sc, &config, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    sc.setting_count = 0;
    sc.method = "mixed";
    CHECK(supple_sim_create(flat, &sc, &config, &sim, &error) == SUPPLE_ERROR_ARGUMENT &&
          strstr(error.message, "dynamics"));
    supple_scene_destroy(flat);
}

TEST_CASES(RUN(dumps_have_the_residual_in_them), RUN(dumps_that_cannot_be), RUN(joints_keep_their_volume_at_rest),
           RUN(without_measures_there_are_none), RUN(verified_frames_know_their_distance), RUN(a_reset_starts_again),
           RUN(simulations_run_side_by_side), RUN(a_body_of_another_scene), RUN(islands_go_along),
           RUN(auto_takes_flesh_where_it_can), RUN(without_flesh_what_it_would_do_is_left_out))
