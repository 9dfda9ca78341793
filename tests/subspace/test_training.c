/* Training from a character to a model, and playing it. */
#include "core/file.h"
#include "core/memory.h"
#include "failing.h"
#include "sim/posed.h"
#include "subspace/model_public.h"

#include <sys/stat.h>
#include <unistd.h>

enum { CELLS = 14, POSES = 8 };

static supple_train_config small_config(supple_body_config *bc)
{
    supple_train_config tc = supple_train_config_default();
    *bc = supple_body_config_default();
    bc->resolution = CELLS;
    bc->cache = false;
    tc.samples = POSES;
    tc.rank = 12;
    tc.modes = 20;
    tc.derivatives = 10;
    tc.pose_share = 0.5; /* of so few poses; what dents and recovers are vibrations */
    tc.body_config = bc;
    return tc;
}

static supple_model *train(const supple_scene *scene, int threads, const char *folder)
{
    supple_body_config bc;
    supple_train_config tc = small_config(&bc);
    supple_config config = supple_config_default();
    supple_error error = {0};
    supple_model *model = NULL;
    int32_t bend = 0;
    tc.clips = &bend;
    tc.clip_count = 1;
    config.thread_count = threads;
    tc.folder = folder;
    if (supple_model_train(scene, &tc, &config, &model, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return model;
}

static bool same_bytes(const char *a, const char *b)
{
    supple_allocator al = spl_allocator_of(NULL);
    uint8_t *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    spl_file_read(a, 1 << 28, &al, &x, &n, NULL);
    spl_file_read(b, 1 << 28, &al, &y, &m, NULL);
    bool same = n > 0 && n == m && memcmp(x, y, n) == 0;
    spl_free(&al, x);
    spl_free(&al, y);
    return same;
}

/* Two threads and one, in one go and resumed with half of the poses gone: the same file, bit for bit. */
TEST(bits_at_any_threads_and_resuming)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_model *one = train(scene, 1, NULL), *two = train(scene, 2, "train-poses");
    REQUIRE(one && two);
    CHECK(supple_model_save(one, "train-1.supple", NULL, NULL) == SUPPLE_OK);
    CHECK(supple_model_save(two, "train-2.supple", NULL, NULL) == SUPPLE_OK);
    CHECK(same_bytes("train-1.supple", "train-2.supple"));
    CHECK(supple_model_get_info(two)->found == 0);
    for (int i = 0; i < POSES; i += 2) {
        char path[64];
        snprintf(path, sizeof path, "train-poses/pose-%05d", i);
        CHECK(unlink(path) == 0);
    }
    FILE *damaged = fopen("train-poses/pose-00001", "r+b");
    REQUIRE(damaged);
    fseek(damaged, 500, SEEK_SET);
    fputc(17, damaged);
    fclose(damaged);
    supple_model *again = train(scene, 2, "train-poses");
    REQUIRE(again);
    CHECK(supple_model_get_info(again)->found == POSES / 2 - 1);
    CHECK(supple_model_save(again, "train-3.supple", NULL, NULL) == SUPPLE_OK);
    CHECK(same_bytes("train-1.supple", "train-3.supple"));
    supple_model_destroy(one);
    supple_model_destroy(two);
    supple_model_destroy(again);
    for (int i = 0; i < POSES; i++) {
        char path[64];
        snprintf(path, sizeof path, "train-poses/pose-%05d", i);
        unlink(path);
    }
    CHECK(rmdir("train-poses") == 0);
    supple_scene_destroy(scene);
}

static double largest_difference(const supple_sim *a, const supple_sim *b, int32_t vertices)
{
    float *x = calloc((size_t)vertices, 12), *y = calloc((size_t)vertices, 12);
    double most = 0;
    supple_sim_read_positions(a, x, 12);
    supple_sim_read_positions(b, y, 12);
    for (int32_t i = 0; i < 3 * vertices; i++) most = fmax(most, fabs((double)x[i] - (double)y[i]));
    free(x);
    free(y);
    return most;
}

static supple_sim *play(const supple_scene *scene, const supple_model *model, const char *fst, bool dynamics)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_setting setting[] = {{"fst", fst}, {"trust", "off"}}; /* the model itself is looked at */
    supple_error error = {0};
    supple_sim *sim = NULL;
    sc.model = model;
    sc.settings = setting;
    sc.setting_count = 2;
    sc.dynamics = dynamics;
    if (supple_sim_create(scene, &sc, NULL, &sim, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return sim;
}

/* Within the trained range the model is near `reference`, far nearer than skinning is. */
TEST(plays_what_it_learned)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_model *model = train(scene, 2, NULL);
    REQUIRE(model);
    supple_sim *sim = play(scene, model, "on", false), *truth = NULL, *linear = NULL;
    supple_sim_config sc = supple_sim_config_default();
    supple_body_config bc = supple_body_config_default();
    bc.resolution = CELLS;
    bc.cache = false;
    sc.body_config = &bc;
    sc.method = "reference";
    REQUIRE(sim && supple_sim_create(scene, &sc, NULL, &truth, NULL) == SUPPLE_OK);
    sc.method = "linear";
    REQUIRE(supple_sim_create(scene, &sc, NULL, &linear, NULL) == SUPPLE_OK);
    int32_t n = supple_scene_vertex_count(scene);
    for (int k = 0; k <= 4; k++) {
        double time = 0.25 * k;
        CHECK(supple_sim_step_clip(sim, 0, time, NULL) == SUPPLE_OK);
        CHECK(supple_sim_step_clip(truth, 0, time, NULL) == SUPPLE_OK);
        CHECK(supple_sim_step_clip(linear, 0, time, NULL) == SUPPLE_OK);
        double error = largest_difference(sim, truth, n), skinned = largest_difference(linear, truth, n);
        CHECK(error < 0.01);
        if (k >= 2) CHECK(error < 0.5 * skinned);
    }
    supple_sim_destroy(sim);
    supple_sim_destroy(truth);
    supple_sim_destroy(linear);
    supple_model_destroy(model);
    supple_scene_destroy(scene);
}

static void count_lines(void *context, supple_log_level level, const char *message)
{
    (void)level;
    if (strstr(message, "frames of the clips")) ++*(int *)context;
}

/* A forearm that hangs on nothing, as feet do that are targets for legs: poses are frames of the clip, and are learned.
 * (Drawn, it would stay at rest, and a model could not bend it.) */
TEST(joints_that_hang_on_nothing_are_learned_from_clips)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_sim *truth;
    supple_body_config bc;
    supple_train_config tc = small_config(&bc);
    supple_config config = supple_config_default();
    supple_model *model = NULL;
    int lines = 0;
    int32_t bend = 0, n = supple_scene_vertex_count(scene);
    REQUIRE(scene->node_count == 3 && scene->node[2].parent == 1);
    scene->node[2].parent = -1;
    for (int c = 0; c < 3; c++) scene->node[2].t[c] += scene->node[1].t[c];
    tc.clips = &bend;
    tc.clip_count = 1;
    config.log = count_lines;
    config.log_user = &lines;
    REQUIRE(supple_model_train(scene, &tc, &config, &model, NULL) == SUPPLE_OK);
    CHECK(lines == 1);
    supple_sim *sim = play(scene, model, "on", false);
    supple_sim_config sc = supple_sim_config_default();
    sc.body_config = &bc;
    sc.method = "reference";
    REQUIRE(sim && supple_sim_create(scene, &sc, NULL, &truth, NULL) == SUPPLE_OK);
    for (int k = 0; k <= 4; k++) {
        CHECK(supple_sim_step_clip(sim, 0, 0.25 * k, NULL) == SUPPLE_OK);
        CHECK(supple_sim_step_clip(truth, 0, 0.25 * k, NULL) == SUPPLE_OK);
        CHECK(largest_difference(sim, truth, n) < 0.01);
    }
    supple_sim_destroy(sim);
    supple_sim_destroy(truth);
    supple_model_destroy(model);
    supple_scene_destroy(scene);
}

/* In motion the sandwich transforms and the sums over vertices give one trajectory; after the clip's end it settles. */
TEST(dynamics_and_its_twin)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_model *model = train(scene, 2, NULL);
    REQUIRE(model);
    supple_sim *fast = play(scene, model, "on", true), *slow = play(scene, model, "off", true);
    supple_sim *still = play(scene, model, "on", false);
    REQUIRE(fast && slow && still);
    int32_t n = supple_scene_vertex_count(scene);
    double end = scene->clip[0].duration, swing = 0, rest = 0;
    for (int k = 0; k <= 10; k++) CHECK(supple_sim_step_clip(still, 0, end * k / 10, NULL) == SUPPLE_OK);
    for (int k = 0; k <= 150; k++) {
        double time = k / 30.0;
        REQUIRE(supple_sim_step_clip(fast, 0, time, NULL) == SUPPLE_OK);
        if (time < 1) CHECK(supple_sim_step_clip(slow, 0, time, NULL) == SUPPLE_OK);
        if (time < 1) CHECK_NEAR(largest_difference(fast, slow, n), 0, 1e-6);
        double off = largest_difference(fast, still, n);
        if (time >= end && time < end + 0.2) swing = fmax(swing, off);
        if (time > end + 3) rest = fmax(rest, off);
    }
    CHECK(swing > 3e-4);
    CHECK(rest < 0.05 * swing);
    supple_sim_destroy(fast);
    supple_sim_destroy(slow);
    supple_sim_destroy(still);
    supple_model_destroy(model);
    supple_scene_destroy(scene);
}

/* A ball beside the middle of the mesh, as wide as a fifth of it; it moves by `move` from 0.1 to 0.2 s, and back. */
static void write_ball(const char *path, const float *low, const float *high)
{
    FILE *f = fopen(path, "w");
    double r = 0.1 * (high[0] - low[0]), y = high[1] + r, in = -0.4 * (high[1] - low[1]);
    fprintf(f, "{\"colliders\": [{\"sphere\": {\"center\": [%g, %g, %g], \"radius\": %g}, \"keys\": [",
            0.5 * (low[0] + high[0]), y, 0.5 * (low[2] + high[2]), r);
    static const double times[] = {0, 0.1, 0.2, 0.3, 0.4};
    for (int k = 0; k < 5; k++)
        fprintf(f, "%s{\"time\": %g, \"move\": [0, %g, 0]}", k ? ", " : "", times[k], k == 2 || k == 3 ? in : 0.02);
    fprintf(f, "]}]}");
    fclose(f);
}

/* A ball dents the arm, which recovers. */
TEST(a_ball_from_a_file)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_model *model = train(scene, 2, NULL);
    REQUIRE(model);
    int32_t n = supple_scene_vertex_count(scene);
    supple_sim *still = play(scene, model, "on", true), *sim = NULL;
    REQUIRE(still && supple_sim_step_clip(still, 0, 0, NULL) == SUPPLE_OK);
    float *x = malloc(3 * (size_t)n * sizeof *x), low[3] = {0}, high[3] = {0};
    supple_sim_read_positions(still, x, 12);
    for (int32_t i = 0; i < 3 * n; i++) {
        if (i < 3 || x[i] < low[i % 3]) low[i % 3] = x[i];
        if (i < 3 || x[i] > high[i % 3]) high[i % 3] = x[i];
    }
    free(x);
    write_ball("play-ball.json", low, high);
    const char *path = "play-ball.json";
    supple_sim_config sc = supple_sim_config_default();
    supple_error error = {0};
    sc.model = model;
    sc.dynamics = true;
    sc.colliders = &path;
    sc.collider_count = 1;
    sc.collide = SUPPLE_COLLIDE_SELF | SUPPLE_COLLIDE_WORLD;
    REQUIRE(supple_sim_create(scene, &sc, NULL, &sim, &error) == SUPPLE_OK);
    double dent = 0, left = 0;
    int32_t contacts = 0;
    for (int k = 0; k <= 72; k++) {
        REQUIRE(supple_sim_step_clip(still, 0, k / 60.0, NULL) == SUPPLE_OK);
        REQUIRE(supple_sim_step_clip(sim, 0, k / 60.0, NULL) == SUPPLE_OK);
        supple_stats stats = *supple_sim_stats(sim);
        left = largest_difference(sim, still, n);
        dent = fmax(dent, left);
        if (stats.contacts > contacts) contacts = stats.contacts;
        if (k < 5) CHECK(left == 0 && stats.contacts == 0);
    }
    printf("    %d contacts, %.1f mm, %.2g mm at the end\n", (int)contacts, 1e3 * dent, 1e3 * left);
    CHECK(contacts > 0 && dent > 0.003 && dent < 0.2 * (high[0] - low[0]) && left < 0.15 * dent);
    supple_sim_destroy(sim);
    supple_sim_destroy(still);
    supple_model_destroy(model);
    supple_scene_destroy(scene);
}

/* Columns for contacts come behind the others, in the same bits at any number of threads, and are played. */
TEST(dents_are_columns_of_their_own)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_body_config bc;
    supple_train_config tc = small_config(&bc);
    supple_config config = supple_config_default();
    supple_model *model[3] = {NULL};
    for (int k = 0; k < 3; k++) {
        char path[64];
        tc.dents = k == 0 ? 0 : 3;
        config.thread_count = k == 1 ? 1 : 2;
        REQUIRE(supple_model_train(scene, &tc, &config, &model[k], NULL) == SUPPLE_OK);
        snprintf(path, sizeof path, "train-dents-%d.supple", k);
        CHECK(supple_model_save(model[k], path, NULL, NULL) == SUPPLE_OK);
    }
    CHECK(same_bytes("train-dents-1.supple", "train-dents-2.supple"));
    const spl_model *plain = &model[0]->model, *dented = &model[1]->model;
    for (int32_t i = 0; i < plain->domain_count; i++) {
        const spl_model_domain *d = &plain->domain[i], *e = &dented->domain[i];
        CHECK(e->rank == d->rank + 3 && e->pose_rank == d->pose_rank);
        for (int32_t k = 0; k < 3 * d->vertex_count; k++)
            CHECK(memcmp(d->basis + k * d->rank, e->basis + k * e->rank, (size_t)d->rank * sizeof *d->basis) == 0);
    }
    supple_sim *sim = play(scene, model[1], "on", true);
    CHECK(sim && supple_sim_step_clip(sim, 0, 0.1, NULL) == SUPPLE_OK);
    supple_sim_destroy(sim);
    tc.dents = -1;
    supple_model *none = NULL;
    CHECK(supple_model_train(scene, &tc, NULL, &none, NULL) == SUPPLE_ERROR_ARGUMENT && !none);
    for (int k = 0; k < 3; k++) supple_model_destroy(model[k]);
    supple_scene_destroy(scene);
}

static supple_result try_load(const uint8_t *data, size_t size, supple_error *error)
{
    supple_model *model = NULL;
    FILE *f = fopen("model-bad.supple", "wb");
    fwrite(data, 1, size, f);
    fclose(f);
    supple_result result = supple_model_load("model-bad.supple", NULL, &model, error);
    supple_model *same = NULL;
    CHECK(supple_model_load_memory(data, size, "bytes", NULL, &same, NULL) == result && !same == !model);
    supple_model_destroy(same);
    supple_model_destroy(model);
    return result;
}

/* A file that is cut off, or has one bit wrong anywhere, is refused; one of another character is, when it is played. */
TEST(damaged_and_foreign_files)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_scene *scene = demo_scene("arm", 0.4), *other = demo_scene("beam", 0.3);
    supple_model *model = train(scene, 2, NULL), *back = NULL;
    supple_error error = {0};
    uint8_t *data = NULL;
    size_t size = 0;
    REQUIRE(model && supple_model_save(model, "model.supple", NULL, &error) == SUPPLE_OK);
    REQUIRE(spl_file_read("model.supple", 1 << 28, &a, &data, &size, NULL) == SUPPLE_OK);
    CHECK(try_load(data, size, &error) == SUPPLE_OK);
    for (size_t cut = 0; cut < size; cut += 1 + size / 50) CHECK(try_load(data, cut, &error) == SUPPLE_ERROR_INPUT);
    for (size_t at = 0; at < size; at += 1 + size / 97) {
        data[at] ^= 4;
        CHECK(try_load(data, size, &error) == SUPPLE_ERROR_INPUT);
        data[at] ^= 4;
    }
    CHECK(supple_model_load_memory(NULL, 0, NULL, NULL, &back, &error) == SUPPLE_ERROR_ARGUMENT && !back);
    REQUIRE(supple_model_load_memory(data, size, NULL, NULL, &back, NULL) == SUPPLE_OK);
    CHECK(supple_model_get_info(back)->rank == supple_model_get_info(model)->rank);
    CHECK(supple_model_save(back, "model-again.supple", NULL, NULL) == SUPPLE_OK);
    CHECK(same_bytes("model.supple", "model-again.supple"));
    supple_model_destroy(back);
    REQUIRE(supple_model_load("model.supple", NULL, &back, NULL) == SUPPLE_OK);
    CHECK(supple_model_get_info(back)->rank == supple_model_get_info(model)->rank);
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.model = back;
    CHECK(supple_sim_create(other, &sc, NULL, &sim, &error) == SUPPLE_ERROR_INPUT && !sim);
    CHECK(strstr(error.message, "another character"));
    sc.method = "mixed";
    CHECK(supple_sim_create(scene, &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    sc.model = NULL;
    sc.method = "subspace";
    CHECK(supple_sim_create(scene, &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, "supple train"));
    spl_free(&a, data);
    supple_model_destroy(model);
    supple_model_destroy(back);
    supple_scene_destroy(scene);
    supple_scene_destroy(other);
}

/* Values that a checksum does not notice, because they were written so: the reader looks at what they mean. */
TEST(edited_files)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_model *model = train(scene, 2, NULL), *back = NULL;
    REQUIRE(model);
    spl_model *m = &model->model;
    struct {
        double *real, wrong;
        int32_t *whole, number;
    } edits[] = {{&m->domain[0].mass[1], -1, NULL, 0},
                 {&m->domain[0].area[1], -1, NULL, 0},
                 {&m->domain[0].area[1], NAN, NULL, 0},
                 {&m->domain[0].basis[2], 1e3, NULL, 0},
                 {&m->domain[1].cubature[0].weight, -1, NULL, 0},
                 {&m->domain[1].cubature[0].volume, 0, NULL, 0},
                 {&m->interface[0].area[0], 0, NULL, 0},
                 {&m->edge, -1, NULL, 0},
                 {&m->young, NAN, NULL, 0},
                 {NULL, 0, &m->interface[0].at_i[0], 1 << 20},
                 {NULL, 0, &m->interface[0].j, 9},
                 {NULL, 0, &m->domain[0].vertex[3], 1},
                 {NULL, 0, &m->domain[0].cubature[0].corner[0], 1 << 20},
                 {NULL, 0, &m->domain[0].cubature[0].corner[0], -(1 << 30)},
                 {NULL, 0, &m->domain[0].cubature[0].tet, 1 << 30},
                 {NULL, 0, &m->vertex_count, 2},
                 {NULL, 0, &m->recipe.kind, 7}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        double real = edits[i].real ? *edits[i].real : 0;
        int32_t whole = edits[i].whole ? *edits[i].whole : 0;
        if (edits[i].real) *edits[i].real = edits[i].wrong;
        if (edits[i].whole) *edits[i].whole = edits[i].number;
        CHECK(supple_model_save(model, "model-edit.supple", NULL, NULL) == SUPPLE_OK);
        if (supple_model_load("model-edit.supple", NULL, &back, NULL) != SUPPLE_ERROR_INPUT)
            test_failures++, printf("    edit %zu was not noticed\n", i);
        supple_model_destroy(back);
        if (edits[i].real) *edits[i].real = real;
        if (edits[i].whole) *edits[i].whole = whole;
    }
    supple_model_destroy(model);
    supple_scene_destroy(scene);
}

static bool stop_half(void *user, const char *stage, double fraction)
{
    (void)user;
    return strcmp(stage, "training poses") != 0 || fraction < 0.5;
}

/* Cancelled training keeps its poses and leaves no model. */
TEST(cancelled_training)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_body_config bc;
    supple_train_config tc = small_config(&bc);
    supple_config config = supple_config_default();
    supple_error error = {0};
    supple_model *model = NULL;
    config.progress = stop_half;
    config.thread_count = 1;
    tc.folder = "cancel-poses";
    CHECK(supple_model_train(scene, &tc, &config, &model, &error) == SUPPLE_ERROR_CANCELLED && !model);
    config.progress = NULL;
    CHECK(supple_model_train(scene, &tc, &config, &model, &error) == SUPPLE_OK);
    REQUIRE(model);
    CHECK(supple_model_get_info(model)->found >= POSES / 2);
    supple_model_destroy(model);
    for (int i = 0; i < POSES; i++) {
        char path[64];
        snprintf(path, sizeof path, "cancel-poses/pose-%05d", i);
        unlink(path);
    }
    rmdir("cancel-poses");
    supple_scene_destroy(scene);
}

TEST(bad_requests)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_body_config bc;
    supple_train_config tc = small_config(&bc);
    supple_error error = {0};
    supple_model *model = NULL;
    tc.rank = 0;
    CHECK(supple_model_train(scene, &tc, NULL, &model, &error) == SUPPLE_ERROR_ARGUMENT);
    tc.rank = 12;
    tc.samples = 1 << 20;
    CHECK(supple_model_train(scene, &tc, NULL, &model, &error) == SUPPLE_ERROR_ARGUMENT);
    tc.samples = 2;
    int32_t clip = 99;
    tc.clips = &clip;
    tc.clip_count = 1;
    CHECK(supple_model_train(scene, &tc, NULL, &model, &error) == SUPPLE_ERROR_ARGUMENT);
    tc.clips = NULL;
    tc.limits_file = "no-such-file.json";
    CHECK(supple_model_train(scene, &tc, NULL, &model, &error) == SUPPLE_ERROR_INPUT);
    tc.limits_file = NULL;
    tc.folder = "/proc/no-such-folder";
    CHECK(supple_model_train(scene, &tc, NULL, &model, &error) == SUPPLE_ERROR_OUTPUT);
    tc = (supple_train_config){0};
    CHECK(supple_model_train(scene, &tc, NULL, &model, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(!model);
    supple_scene_destroy(scene);
}

/* Fewer poses than the rank asks for: a smaller basis, and the rest goes to vibrations. */
TEST(few_poses)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    supple_body_config bc;
    supple_train_config tc = small_config(&bc);
    supple_model *model = NULL;
    supple_error error = {0};
    bc.resolution = 0; /* chosen: the player's body must come out the same */
    bc.max_tets = 2000;
    tc.samples = 2;
    tc.rank = 40;
    tc.modes = 8;
    tc.derivatives = 0;
    if (supple_model_train(scene, &tc, NULL, &model, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    REQUIRE(model);
    for (int32_t i = 0; i < model->model.domain_count; i++) {
        CHECK(model->model.domain[i].rank <= 10 && model->model.domain[i].rank >= 3);
        CHECK(model->model.domain[i].pose_rank <= 2);
    }
    supple_sim *sim = play(scene, model, "on", false);
    CHECK(sim && supple_sim_step_clip(sim, 0, 0.2, NULL) == SUPPLE_OK);
    supple_sim_destroy(sim);
    supple_model_destroy(model);
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(bits_at_any_threads_and_resuming), RUN(plays_what_it_learned),
           RUN(joints_that_hang_on_nothing_are_learned_from_clips), RUN(dynamics_and_its_twin), RUN(a_ball_from_a_file),
           RUN(dents_are_columns_of_their_own), RUN(damaged_and_foreign_files), RUN(edited_files),
           RUN(cancelled_training), RUN(bad_requests), RUN(few_poses))
