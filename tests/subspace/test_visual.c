/* The visual mesh that a model carries, against what the simulation shows of the same model. */
#include "body/upsample_map.h"
#include "core/memory.h"
#include "failing.h"
#include "subspace/playing.h"

/* A turtle whose shell rides on its flesh. */
static fixture turtle_make(void)
{
    fixture f = {.scene = demo_scene("turtle", 0.5)};
    supple_train_config tc = supple_train_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_error error = {0};
    supple_part_rule shell = {"shell", SUPPLE_ROLE_FOLLOW};
    bc.rules = &shell;
    bc.rule_count = 1;
    bc.resolution = 16;
    bc.cache = false;
    tc.samples = 6;
    tc.rank = 8;
    tc.modes = 16;
    tc.derivatives = 6;
    tc.body_config = &bc;
    if (supple_model_train(f.scene, &tc, NULL, &f.trained, &error) != SUPPLE_OK ||
        supple_model_save(f.trained, "visual.supple", NULL, &error) != SUPPLE_OK ||
        supple_model_load("visual.supple", NULL, &f.model, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        exit(1);
    }
    return f;
}

static supple_player *visual_player(const fixture *f, bool dynamics)
{
    supple_player_config pc = supple_player_config_default();
    supple_player *p = NULL;
    pc.visual = true;
    pc.dynamics = dynamics;
    return supple_player_create(f->model, &pc, NULL, &p, NULL) == SUPPLE_OK ? p : NULL;
}

static float *visual_of(const fixture *f, supple_player *p)
{
    float *x = calloc((size_t)supple_model_visual_vertex_count(f->model), 12);
    supple_player_read_visual_positions(p, x, 12);
    return x;
}

static double apart(const float *a, const float *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static void full_trust(fixture *f)
{
    for (int32_t v = 0; v < f->model->model.rig.vertex_count; v++) f->model->model.rig.own.trust[v] = 1;
}

/* The diagonal of a set of points. */
static double size_of(const float *x, int32_t count)
{
    double square = 0;
    for (int c = 0; c < 3; c++) {
        double low = INFINITY, high = -INFINITY;
        for (int32_t v = 0; v < count; v++)
            low = fmin(low, (double)x[3 * v + c]), high = fmax(high, (double)x[3 * v + c]);
        square += (high - low) * (high - low);
    }
    return sqrt(square);
}

/* Pose by pose, within 1e-5 of the diagonal, in double and to convergence so that both find one equilibrium. */
static void check_against_tool(fixture *f)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_setting settings[] = {{"trust", "off"}, {"tolerance", "1e-9"}, {"iterations", "60"}};
    supple_player_config pc = supple_player_config_default();
    supple_sim *sim = NULL;
    supple_player *p = NULL;
    supple_error error = {0};
    sc.model = f->model;
    sc.settings = settings;
    sc.setting_count = 3;
    pc.visual = true;
    pc.dynamics = false;
    pc.tolerance = 1e-9;
    pc.iterations = 60;
    full_trust(f);
    if (supple_sim_create(f->scene, &sc, NULL, &sim, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    REQUIRE(sim && supple_player_create(f->model, &pc, NULL, &p, &error) == SUPPLE_OK);
    int32_t n = supple_model_visual_vertex_count(f->model);
    REQUIRE(n == f->scene->vertex_count);
    CHECK(supple_model_visual_triangle_count(f->model) == f->scene->triangle_count);
    float *truth = calloc((size_t)n, 12), *first = NULL;
    double most = 0, moved = 0, size = 1, end = supple_scene_clip_duration(f->scene, 0);
    for (int k = 0; k <= 4; k++) {
        for (int twice = 0; twice < 2; twice++) {
            CHECK(supple_sim_step_clip(sim, 0, 0.2 * k * end, NULL) == SUPPLE_OK);
            play(f, p, 0.2 * k * end, 0);
        }
        supple_sim_read_positions(sim, truth, 12);
        float *x = visual_of(f, p);
        if (!first) {
            first = calloc((size_t)n, 12);
            memcpy(first, truth, 12 * (size_t)n);
            size = size_of(truth, n);
        }
        most = fmax(most, apart(x, truth, 3 * (size_t)n) / size);
        moved = fmax(moved, apart(first, truth, 3 * (size_t)n) / size);
        free(x);
    }
    const spl_visual *v = &f->model->model.rig.visual;
    int32_t flesh = 0;
    for (int32_t k = 0; k < n; k++) flesh += v->flesh[k];
    printf("    %d vertices, %d of them flesh, %d ride: %.2g of the diagonal apart, moved by %.2g\n", n, flesh,
           v->riders.vertex_count, most, moved);
    CHECK(most < 1e-5);
    CHECK(moved > 0.02);
    free(truth), free(first);
    supple_player_destroy(p);
    supple_sim_destroy(sim);
}

TEST(flesh_is_where_the_tool_has_it)
{
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        fixture f = fixture_make(mirrored);
        check_against_tool(&f);
        fixture_free(&f);
    }
}

TEST(riders_are_where_the_tool_has_them)
{
    fixture f = turtle_make();
    CHECK(f.model->model.rig.visual.riders.vertex_count > 0);
    check_against_tool(&f);
    fixture_free(&f);
}

/* With nothing of the flesh it is the file's own skinning; half of it lies half-way. */
TEST(amounts_reach_the_visual_mesh)
{
    fixture f = fixture_make(false);
    full_trust(&f);
    supple_player *p = visual_player(&f, false);
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.method = "linear";
    REQUIRE(p && supple_sim_create(f.scene, &sc, NULL, &sim, NULL) == SUPPLE_OK);
    size_t n = 3 * (size_t)supple_model_visual_vertex_count(f.model);
    int32_t surface = supple_model_vertex_count(f.model);
    float *amount = calloc((size_t)surface, sizeof *amount), *own = calloc(n, sizeof *own), *x[3];
    CHECK(supple_sim_step_clip(sim, 0, 0.3, NULL) == SUPPLE_OK);
    supple_sim_read_positions(sim, own, 12);
    for (int k = 0; k < 3; k++) {
        for (int32_t v = 0; v < surface; v++) amount[v] = 0.5F * (float)k;
        CHECK(supple_player_set_amount(p, amount, NULL) == SUPPLE_OK);
        supple_player_reset(p);
        play(&f, p, 0.3, 0);
        x[k] = visual_of(&f, p);
    }
    double size = size_of(own, (int32_t)n / 3), flesh = apart(x[2], own, n);
    CHECK(apart(x[0], own, n) < 1e-6 * size);
    CHECK(flesh > 1e-3 * size);
    for (size_t k = 0; k < n; k++) CHECK_NEAR(x[1][k], 0.5 * ((double)x[0][k] + (double)x[2][k]), 1e-5 * flesh + 1e-6);
    for (int k = 0; k < 3; k++) free(x[k]);
    free(amount), free(own);
    supple_sim_destroy(sim);
    supple_player_destroy(p);
    fixture_free(&f);
}

/* Unit, and along the triangles' own: in flesh and by own skinning, mirrored too. */
TEST(normals_are_those_of_the_mesh)
{
    for (int mirrored = 0; mirrored < 2; mirrored++)
        for (int own = 0; own < 2; own++) {
            fixture f = fixture_make(mirrored);
            full_trust(&f);
            supple_player *p = visual_player(&f, true);
            REQUIRE(p);
            float *amount = calloc((size_t)supple_model_vertex_count(f.model), sizeof *amount);
            if (own) CHECK(supple_player_set_amount(p, amount, NULL) == SUPPLE_OK);
            for (int k = 0; k < 5; k++) play(&f, p, 0.02 * k, 0.02);
            int32_t n = supple_model_visual_vertex_count(f.model), m = supple_model_visual_triangle_count(f.model);
            const int32_t *t = supple_model_visual_triangles(f.model);
            float *x = visual_of(&f, p), *normal = calloc((size_t)n, 12);
            spl_vec3 *sum = calloc((size_t)n, sizeof *sum);
            supple_player_read_visual_normals(p, normal, 12);
            for (int32_t k = 0; k < m; k++) {
                spl_vec3 c[3];
                for (int i = 0; i < 3; i++) c[i] = spl_v3_from_float(x + 3 * t[3 * k + i]);
                spl_vec3 face = spl_cross(spl_sub(c[1], c[0]), spl_sub(c[2], c[0]));
                if (mirrored) face = spl_scale(face, -1); /* the file's triangles are not turned round */
                for (int i = 0; i < 3; i++) sum[t[3 * k + i]] = spl_add(sum[t[3 * k + i]], face);
            }
            double mean = 0, area = 0;
            for (int32_t k = 0; k < n; k++) {
                spl_vec3 a = spl_v3_from_float(normal + 3 * k);
                CHECK_NEAR(spl_norm(a), 1, 1e-4);
                mean += spl_dot(a, sum[k]);
                area += spl_norm(sum[k]);
            }
            printf("    mean cosine %.4f\n", mean / area);
            CHECK(mean > 0.97 * area);
            free(x), free(normal), free(sum), free(amount);
            supple_player_destroy(p);
            fixture_free(&f);
        }
}

/* A file as earlier versions wrote it, and players that did not ask. */
TEST(a_model_without_plays_as_before)
{
    fixture f = fixture_make(false);
    spl_visual *v = &f.trained->model.rig.visual;
    int32_t count = v->vertex_count;
    supple_model *old = NULL;
    supple_player_config pc = supple_player_config_default();
    supple_player *p = NULL;
    v->vertex_count = 0;
    CHECK(supple_model_save(f.trained, "old.supple", NULL, NULL) == SUPPLE_OK);
    v->vertex_count = count;
    REQUIRE(supple_model_load("old.supple", NULL, &old, NULL) == SUPPLE_OK);
    CHECK(supple_model_visual_vertex_count(old) == 0 && !supple_model_visual_triangles(old));
    pc.visual = true;
    for (int k = 0; k < 2; k++) {
        float x[3] = {7, 7, 7};
        REQUIRE(supple_player_create(k ? f.model : old, &pc, NULL, &p, NULL) == SUPPLE_OK);
        float *pose = pose_at(&f, 0.1);
        CHECK(supple_player_step(p, pose, supple_model_joint_count(old), 0, NULL) == SUPPLE_OK);
        supple_player_read_visual_positions(p, x, 0);
        supple_player_read_visual_normals(p, x, 0);
        CHECK(x[0] == 7 && x[2] == 7);
        free(pose);
        supple_player_destroy(p);
        pc.visual = false;
    }
    supple_model_destroy(old);
    fixture_free(&f);
}

/* What a checksum does not notice. */
TEST(edited_files_are_refused)
{
    fixture f = turtle_make();
    spl_visual *v = &f.trained->model.rig.visual;
    spl_rig *r = &f.trained->model.rig;
    struct {
        int32_t *whole, number;
    } edits[] = {{v->triangle, v->vertex_count},
                 {v->surface.triangle, v->surface.vertex_count},
                 {v->surface.map, v->surface.vertex_count},
                 {v->carrier_joint, r->joint_count},
                 {v->carrier, v->carrier_count},
                 {v->carrier, -1},
                 {&v->first[1], v->first[2] + 1},
                 {&v->first[1], 0},
                 {&v->first[v->vertex_count], v->first[v->vertex_count] - 1},
                 {&v->riders.vertex[1], v->riders.vertex[0]},
                 {v->riders.vertex, v->vertex_count},
                 {v->riders.point, v->riders.point_count},
                 {v->riders.known, v->vertex_count},
                 {v->riders.body, r->vertex_count},
                 {&v->riders.first[1], 1 << 27},
                 {&v->riders.link_first[v->riders.point_count], 0},
                 {v->riders.index, v->riders.body_count},
                 {v->riders.skin_node, v->carrier_count}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        supple_model *back = NULL;
        int32_t whole = *edits[i].whole;
        *edits[i].whole = edits[i].number;
        bool saved = supple_model_save(f.trained, "visual-edit.supple", NULL, NULL) == SUPPLE_OK;
        *edits[i].whole = whole;
        if (!saved || supple_model_load("visual-edit.supple", NULL, &back, NULL) != SUPPLE_ERROR_INPUT)
            test_failures++, printf("    edit %zu was not noticed\n", i);
        supple_model_destroy(back);
    }
    struct {
        float *real, wrong;
    } reals[] = {{v->weight, -1}, {v->weight, NAN}, {v->rest, INFINITY}, {v->weight, 0.25F * v->weight[0]}};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        supple_model *back = NULL;
        float real = *reals[i].real;
        *reals[i].real = reals[i].wrong;
        CHECK(supple_model_save(f.trained, "visual-edit.supple", NULL, NULL) == SUPPLE_OK);
        CHECK(supple_model_load("visual-edit.supple", NULL, &back, NULL) == SUPPLE_ERROR_INPUT && !back);
        *reals[i].real = real;
    }
    int32_t still = 0, known = -1;
    while (still < v->vertex_count && v->map->vertex[still].count > 0) still++;
    REQUIRE(still < v->vertex_count && !v->flesh[still]);
    for (int32_t k = 0; k < v->riders.point_count; k++)
        if (v->riders.known[k] >= 0) known = v->riders.known[k];
    const int32_t turned[] = {still, known}; /* flesh that upsampling does not move; a known place that is none */
    for (int k = 0; k < 2; k++) {
        supple_model *back = NULL;
        if (turned[k] < 0) continue;
        v->flesh[turned[k]] ^= 1;
        CHECK(supple_model_save(f.trained, "visual-edit.supple", NULL, NULL) == SUPPLE_OK);
        CHECK(supple_model_load("visual-edit.supple", NULL, &back, NULL) == SUPPLE_ERROR_INPUT && !back);
        v->flesh[turned[k]] ^= 1;
        supple_model_destroy(back);
    }
    fixture_free(&f);
}

/* Reading allocates nothing; each allocation of loading (from memory) and of creation may fail. */
TEST(memory)
{
    fixture f = turtle_make();
    FILE *file = fopen("visual.supple", "rb");
    REQUIRE(file && fseek(file, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(file);
    void *bytes = malloc(size);
    rewind(file);
    REQUIRE(fread(bytes, 1, size, file) == size);
    fclose(file);
    supple_config config = supple_config_default();
    supple_player_config pc = supple_player_config_default();
    pc.visual = true;
    config.thread_count = 1;
    long n = 0;
    for (bool done = false; !done && n < 10000; n++) {
        failing nth = {.fail_at = n};
        supple_model *m = NULL;
        supple_player *p = NULL;
        config.allocator = failing_allocator(&nth);
        supple_result result = supple_model_load_memory(bytes, size, NULL, &config, &m, NULL);
        CHECK(m || result == SUPPLE_ERROR_MEMORY);
        if (m) result = supple_player_create(m, &pc, &config, &p, NULL);
        CHECK(p || result == SUPPLE_ERROR_MEMORY);
        if (p) {
            fixture mine = {f.scene, NULL, m};
            play(&mine, p, 0.1, 0);
            long before = nth.requests;
            float *x = visual_of(&mine, p);
            supple_player_read_visual_normals(p, x, 12);
            play(&mine, p, 0.12, 0.02);
            supple_player_read_visual_positions(p, x, 12);
            CHECK(nth.requests == before);
            free(x);
        }
        done = nth.requests <= n;
        CHECK(done || !p);
        supple_player_destroy(p);
        supple_model_destroy(m);
        CHECK(nth.live == 0);
    }
    CHECK(n > 100 && n < 10000);
    free(bytes);
    fixture_free(&f);
}

TEST_CASES(RUN(flesh_is_where_the_tool_has_it), RUN(riders_are_where_the_tool_has_them),
           RUN(amounts_reach_the_visual_mesh), RUN(normals_are_those_of_the_mesh), RUN(a_model_without_plays_as_before),
           RUN(edited_files_are_refused), RUN(memory))
