/* Training reads solved poses in passes: the bits do not depend on how many, and memory hardly on the poses. */
#include "subspace/ranges.h"
#include "subspace/samples.h"
#include "subspace/train.h"
#include "training.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = 14, FEW = 4, MANY = 24 };

static const char folder[] = "passes-poses";

static void remove_poses(void)
{
    for (int i = 0; i < MANY; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/pose-%05d", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

static spl_train_options small_options(int32_t samples, const char *files, size_t bytes)
{
    spl_train_options o = spl_train_options_default();
    o.samples = samples;
    o.rank = 8;
    o.modes = 10;
    o.derivatives = 4;
    o.folder = files;
    o.bytes = bytes;
    return o;
}

static bool train(training *t, const spl_train_options *o, const supple_config *config, spl_model *out)
{
    supple_error error = {0};
    if (spl_train(t->demo.scene, &t->solid, o, config, NULL, out, NULL, &error) == SUPPLE_OK) return true;
    printf("    %s\n", error.message);
    return false;
}

static bool same_domain(const spl_model_domain *a, const spl_model_domain *b)
{
    size_t rank = (size_t)a->rank, numbers = 3 * (size_t)a->vertex_count * rank;
    return a->rank == b->rank && a->cubature_count == b->cubature_count && a->cubature_count > 0 &&
           memcmp(a->basis, b->basis, numbers * sizeof *a->basis) == 0 &&
           memcmp(a->reach, b->reach, rank * sizeof *a->reach) == 0 &&
           memcmp(a->cubature, b->cubature, (size_t)a->cubature_count * sizeof *a->cubature) == 0;
}

/* Poses in memory or in files, one domain at a time or all of them: one model. */
TEST(bits_in_any_number_of_passes)
{
    training t = training_make("arm", 0.4, CELLS, NULL);
    REQUIRE(t.ok);
    spl_train_options o[3] = {small_options(FEW, NULL, (size_t)1 << 30), small_options(FEW, folder, (size_t)1 << 30),
                              small_options(FEW, folder, 1)};
    spl_model m[3] = {{.domain = NULL}};
    for (int k = 0; k < 3; k++) REQUIRE(train(&t, &o[k], NULL, &m[k]));
    CHECK(m[0].domain_count > 1);
    for (int k = 1; k < 3; k++) {
        CHECK(m[k].domain_count == m[0].domain_count);
        for (int32_t d = 0; d < m[0].domain_count; d++) CHECK(same_domain(&m[0].domain[d], &m[k].domain[d]));
        CHECK(m[k].rig.vertex_count > 0 && memcmp(m[k].rig.own.trust, m[0].rig.own.trust,
                                                  (size_t)m[0].rig.vertex_count * sizeof *m[0].rig.own.trust) == 0);
    }
    for (int k = 0; k < 3; k++) spl_model_release(&m[k]);
    remove_poses();
    training_free(&t);
}

/* Blocks with their sizes before them: how much lives, and how much ever did. */
typedef struct meter {
    size_t now, most;
} meter;

static void *meter_allocate(void *user, size_t size)
{
    meter *m = user;
    size_t *block = malloc(size + 64);
    if (!block) return NULL;
    *block = size;
    m->now += size;
    if (m->now > m->most) m->most = m->now;
    return block + 8;
}

static void meter_release(void *user, void *block)
{
    meter *m = user;
    if (!block) return;
    size_t *start = (size_t *)block - 8;
    m->now -= *start;
    free(start);
}

static void *meter_reallocate(void *user, void *block, size_t size)
{
    void *other = meter_allocate(user, size);
    size_t had = block ? ((size_t *)block)[-8] : 0;
    if (!other) return NULL;
    if (had > 0) memcpy(other, block, had < size ? had : size);
    meter_release(user, block);
    return other;
}

static size_t peak(training *t, size_t bytes)
{
    meter counted = {0};
    supple_config config = supple_config_default();
    spl_model m = {0};
    config.allocator = (supple_allocator){meter_allocate, meter_reallocate, meter_release, &counted};
    spl_train_options o = small_options(MANY, NULL, bytes);
    o.skinned = true;
    o.cubature_error = 0.5; /* memory is looked at */
    CHECK(train(t, &o, &config, &m));
    spl_model_release(&m);
    CHECK(counted.now == 0);
    return counted.most;
}

/* Bytes that are saved of a number of the body and a pose, with room for one domain instead of all of hero's: of the
 * eight, those of the other domains. */
TEST(memory_holds_one_domain)
{
    training t = training_make("hero", 0.4, CELLS, NULL);
    REQUIRE(t.ok);
    double numbers = 3.0 * MANY * t.solid.body->tets.vertex_count;
    size_t all = peak(&t, (size_t)1 << 30), one = peak(&t, 1);
    double saved = ((double)all - (double)one) / numbers;
    printf("    saved: %.1f bytes\n", saved);
    CHECK(saved > 5);
    training_free(&t);
}

/* Solved poses that have files are nowhere else, and are read from there as they would have been kept. */
TEST(files_instead_of_memory)
{
    training t = training_make("arm", 0.4, CELLS, NULL);
    spl_joint_ranges ranges;
    spl_samples s[2];
    REQUIRE(t.ok && spl_joint_ranges_infer(t.demo.scene, NULL, 0, 0.4, &ranges, NULL) == SUPPLE_OK);
    size_t n = 3 * (size_t)t.solid.body->tets.vertex_count;
    spl_joint_move *move = calloc(FEW * (size_t)ranges.joint_count, sizeof *move);
    double *x[2] = {malloc(n * sizeof(double)), malloc(n * sizeof(double))};
    spl_joint_ranges_draw(&ranges, FEW, 3, move);
    for (int k = 0; k < 2; k++) {
        spl_sample_options so = {
            .law = &spl_law_corot, .tolerance = 1e-4, .max_iterations = 75, .folder = k ? folder : NULL};
        REQUIRE(spl_samples_create(t.demo.scene, ranges.node, ranges.joint_count, move, FEW, &t.solid, &s[k], NULL) ==
                SUPPLE_OK);
        REQUIRE(spl_samples_solve(&s[k], t.demo.scene, &t.solid, &so, NULL, NULL, NULL) == SUPPLE_OK);
    }
    CHECK(s[0].x && !s[1].x);
    for (int32_t i = 0; i < FEW; i++) {
        for (int k = 0; k < 2; k++) CHECK(spl_samples_read(&s[k], i, x[k], NULL) == SUPPLE_OK);
        CHECK(memcmp(x[0], x[1], n * sizeof(double)) == 0);
    }
    remove_poses();
    CHECK(spl_samples_read(&s[1], 0, x[1], NULL) != SUPPLE_OK);
    for (int k = 0; k < 2; k++) {
        spl_samples_release(&s[k]);
        free(x[k]);
    }
    free(move);
    spl_joint_ranges_release(&ranges);
    training_free(&t);
}

static bool count_poses(void *user, const char *stage, double share)
{
    int *calls = user;
    *calls += strcmp(stage, "training poses") == 0 && share > 0;
    return true;
}

/* Where none of the first eight poses converges (here none may take a step), nobody waits for the others, and a joint
 * is named; fewer are all tried. */
TEST(hopeless_poses_end_early)
{
    training t = training_make("arm", 0.4, 8, NULL);
    REQUIRE(t.ok);
    spl_joint_ranges r;
    REQUIRE(spl_joint_ranges_infer(t.demo.scene, NULL, 0, 0.3, &r, NULL) == SUPPLE_OK);
    spl_train_options o = small_options(MANY, NULL, 0);
    spl_sample_options none = {.law = o.law, .tolerance = 1e-30, .max_iterations = 0};
    for (int32_t count = 6; count <= MANY; count += MANY - 6) {
        spl_joint_move *move = calloc((size_t)count * (size_t)r.joint_count, sizeof *move);
        supple_config config = supple_config_default();
        supple_error error = {0};
        spl_samples s;
        int calls = 0;
        config.progress = count_poses;
        config.progress_user = &calls;
        spl_joint_ranges_draw(&r, count, 1, move);
        REQUIRE(spl_samples_create(t.demo.scene, r.node, r.joint_count, move, count, &t.solid, &s, NULL) == SUPPLE_OK);
        supple_result result = spl_samples_solve(&s, t.demo.scene, &t.solid, &none, &config, NULL, &error);
        CHECK(result == (count < 8 ? SUPPLE_OK : SUPPLE_ERROR_SOLVE) && calls <= 8);
        if (count < 8) CHECK(s.dropped == count && spl_samples_refuse(&s, t.demo.scene, count, &error) != SUPPLE_OK);
        printf("    %s\n", error.message);
        CHECK(strncmp(error.message, count < 8 ? "none of 6 " : "none of 8 ", 10) == 0);
        CHECK(strstr(error.message, "joint 'forearm'") != NULL);
        spl_samples_release(&s);
        free(move);
    }
    spl_joint_ranges_release(&r);
    training_free(&t);
}

TEST_CASES(RUN(bits_in_any_number_of_passes), RUN(memory_holds_one_domain), RUN(files_instead_of_memory),
           RUN(hopeless_poses_end_early))
