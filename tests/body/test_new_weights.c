/* From weights on the tets to a skin in a file. */
#include "body/body_weights.h"
#include "body/reskin.h"
#include "core/memory.h"
#include "demo_body.h"
#include "failing.h"
#include "test.h"

#include <ftw.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

static void close_body(demo_body *d)
{
    supple_body_destroy(d->handle);
    supple_scene_destroy(d->scene);
}

TEST(a_skin_of_the_tets_weights)
{
    supple_allocator a = spl_allocator_of(NULL);
    demo_body d = demo_body_of(demo_scene("hero", 0.5), 30, 0);
    REQUIRE(d.body);
    spl_solid solid;
    spl_weight_table t;
    spl_weights_report w;
    REQUIRE(spl_solid_create(d.body, NULL, NULL, NULL, &solid, NULL) == SUPPLE_OK);
    REQUIRE(spl_body_weights(&solid, SPL_WEIGHTS_BBW, false, NULL, NULL, &t, &w, NULL) == SUPPLE_OK);
    CHECK(w.bbw.unfinished == 0 && w.bbw.residual <= 1e-7 && !w.cached);
    size_t n = (size_t)t.vertex_count;
    for (size_t v = 0; v < n; v++) {
        double sum = 0;
        for (size_t b = 0; b < (size_t)t.bone_count; b++) sum += t.value[b * n + v];
        CHECK_NEAR(sum, 1, 1e-6);
    }
    const int32_t joints = d.scene->skin[0].joint_count;
    for (int32_t K = 4; K <= 8; K += 4) {
        spl_new_weights s;
        spl_reskin_report r;
        REQUIRE(spl_reskin(d.body, &t, K, &a, &s, &r, NULL) == SUPPLE_OK);
        CHECK(r.changed == d.scene->vertex_count && r.kept == 0);
        CHECK(r.joints > 10 && r.joints <= joints && r.mean_influences >= 1 && r.mean_influences <= K);
        for (int32_t v = 0; v < d.scene->vertex_count; v++) {
            double sum = 0;
            for (int32_t k = 0; k < K; k++) {
                int32_t at = K * v + k;
                sum += (double)s.weight[at];
                CHECK(s.joint[at] < joints && s.weight[at] >= 0);
                CHECK(s.weight[at] > 0 || s.joint[at] == 0);
                if (k) CHECK(s.weight[at] <= s.weight[at - 1]);
                if (s.weight[at] <= 0) continue;
                bool has_bone = false;
                for (int32_t b = 0; b < d.body->bones.bone_count; b++)
                    has_bone = has_bone || d.body->bones.bone[b].node == d.scene->skin[0].joint[s.joint[at]];
                CHECK(has_bone);
            }
            CHECK_NEAR(sum, 1, 1e-6);
        }
        spl_new_weights_release(&s);
    }
    spl_weight_table_release(&t);
    spl_solid_release(&solid);
    close_body(&d);
}

TEST(the_cache_gives_the_same_bits)
{
    char folder[] = "weights-cache-XXXXXX";
    REQUIRE(mkdtemp(folder) && setenv("SUPPLE_CACHE", folder, 1) == 0);
    demo_body d = demo_body_make("demo:arm", 24, 0);
    REQUIRE(d.body);
    spl_solid solid;
    REQUIRE(spl_solid_create(d.body, NULL, NULL, NULL, &solid, NULL) == SUPPLE_OK);
    for (int kind = SPL_WEIGHTS_BBW; kind <= SPL_WEIGHTS_OWN; kind++) {
        spl_weight_table one, two;
        spl_weights_report r, s;
        REQUIRE(spl_body_weights(&solid, (spl_weights_kind)kind, true, NULL, NULL, &one, &r, NULL) == SUPPLE_OK);
        REQUIRE(spl_body_weights(&solid, (spl_weights_kind)kind, true, NULL, NULL, &two, &s, NULL) == SUPPLE_OK);
        CHECK(!r.cached && s.cached && r.maxima == s.maxima && r.bbw.residual == s.bbw.residual);
        CHECK(!memcmp(one.value, two.value, (size_t)one.vertex_count * (size_t)one.bone_count * sizeof *one.value));
        spl_weight_table_release(&one);
        spl_weight_table_release(&two);
    }
    spl_solid_release(&solid);
    close_body(&d);
    CHECK(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

/* The scene that is written and read again has the new weights, and everything else as it was. */
TEST(a_file_with_new_weights)
{
    demo_body d = demo_body_of(demo_scene("hero", 0.5), 30, 0);
    REQUIRE(d.body);
    for (int32_t K = 4; K <= 8; K += 4) {
        supple_weights *w;
        supple_scene *back;
        supple_error error = {0};
        const char *path = K == 4 ? "new-weights.glb" : "new-weights.gltf";
        REQUIRE(supple_weights_create(d.handle, SUPPLE_WEIGHTS_HEAT, K, false, NULL, &w, &error) == SUPPLE_OK);
        REQUIRE(supple_weights_save(w, path, NULL, &error) == SUPPLE_OK);
        REQUIRE(supple_scene_load_file(path, NULL, &back, &error) == SUPPLE_OK);
        CHECK(back->vertex_count == d.scene->vertex_count && back->clip_count == d.scene->clip_count);
        CHECK(back->image_count == d.scene->image_count && back->material_count == d.scene->material_count);
        const spl_primitive *p = &d.scene->mesh[0].primitive[0], *q = &back->mesh[0].primitive[0];
        size_t n = (size_t)p->vertex_count;
        CHECK(!memcmp(p->position, q->position, 12 * n) && !memcmp(p->normal, q->normal, 12 * n));
        CHECK(!memcmp(p->triangle, q->triangle, 12 * (size_t)p->triangle_count) && !memcmp(p->uv, q->uv, 8 * n));
        CHECK(!memcmp(d.scene->skin[0].inverse_bind, back->skin[0].inverse_bind,
                      (size_t)back->skin[0].joint_count * sizeof *back->skin[0].inverse_bind));
        CHECK(q->influence_count > 1 && q->influence_count <= K);
        CHECK(q->unweighted == 0 && q->unnormalised == 0);
        CHECK(p->influence_count != q->influence_count ||
              memcmp(p->weight, q->weight, 4 * n * (size_t)p->influence_count) != 0);
        supple_scene_destroy(back);
        supple_weights_destroy(w);
        unlink(path);
    }
    unlink("new-weights.bin");
    close_body(&d);
}

TEST(bad_requests)
{
    demo_body d = demo_body_of(demo_scene("arm", 0.5), 20, 0);
    REQUIRE(d.body);
    supple_weights *w;
    supple_error error = {0};
    CHECK(supple_weights_create(d.handle, SUPPLE_WEIGHTS_HEAT, 5, false, NULL, &w, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(!w && error.message[0]);
    CHECK(supple_weights_create(d.handle, (supple_weights_kind)7, 4, false, NULL, &w, &error) == SUPPLE_ERROR_ARGUMENT);
    REQUIRE(supple_weights_create(d.handle, SUPPLE_WEIGHTS_HEAT, 4, false, NULL, &w, &error) == SUPPLE_OK);
    CHECK(supple_weights_save(w, "weights.obj", NULL, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_weights_save(w, "no/such/folder/weights.glb", NULL, &error) == SUPPLE_ERROR_OUTPUT);
    CHECK(supple_weights_picture(w, "no/such/folder/weights.png", NULL, &error) == SUPPLE_ERROR_OUTPUT);
    supple_weights_destroy(w);
    supple_weights_destroy(NULL);
    close_body(&d);
}

TEST(memory)
{
    demo_body d = demo_body_of(demo_scene("arm", 0.3), 12, 0);
    REQUIRE(d.body);
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        supple_weights *w;
        config.allocator = failing_allocator(&f);
        config.thread_count = 1;
        supple_result result = supple_weights_create(d.handle, SUPPLE_WEIGHTS_BBW, 4, false, &config, &w, NULL);
        bool made = result == SUPPLE_OK;
        CHECK(made || (result == SUPPLE_ERROR_MEMORY && !w));
        if (made) {
            result = supple_weights_save(w, "memory.glb", &config, NULL);
            CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        }
        ended = made && result == SUPPLE_OK && f.requests <= n;
        supple_weights_destroy(w);
        CHECK(f.live == 0);
    }
    CHECK(n > 50);
    unlink("memory.glb");
    close_body(&d);
}

TEST_CASES(RUN(a_skin_of_the_tets_weights), RUN(the_cache_gives_the_same_bits), RUN(a_file_with_new_weights),
           RUN(bad_requests), RUN(memory))
