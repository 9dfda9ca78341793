#include "body/body.h"

#include "core/hash.h"
#include "demo_body.h"
#include "failing.h"

#include <unistd.h>

TEST(an_arm_gets_flesh_bones_and_a_way_back)
{
    supple_scene *scene = scene_load("demo:arm");
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 32);
    supple_body *b = body_create(scene, &bc, 0);
    REQUIRE(b);
    const supple_body_info *i = supple_body_get_info(b);
    CHECK(i->components == 1 && i->tets > 1000 && i->bones == 2 && i->empty == 0 && i->resolution == 32);
    CHECK(i->min_dihedral_deg > 10 && i->max_dihedral_deg < 160);
    CHECK_NEAR(i->volume / i->surface_volume, 1, 0.03);
    CHECK(i->area_lost < 0.01 && i->mean_distance < 0.25 * i->cell);
    /* Both bones hold flesh, in their own half of the arm; the elbow between is free. */
    const spl_body *body = &b->body;
    double elbow = body->bones.bone[1].head.x, direction = body->bones.bone[1].tail.x - elbow;
    int wrong = 0, held[2] = {0};
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        if (body->bone[v] < 0) continue;
        held[body->bone[v]]++;
        bool beyond = (body->tets.position[v].x - elbow) * direction > 0;
        wrong += beyond != (body->bone[v] == 1);
    }
    CHECK(wrong == 0 && held[0] >= 4 && held[1] >= 4);
    int32_t count = 0;
    const supple_body_hold *hold = supple_body_holds(b, &count);
    REQUIRE(count == 2);
    CHECK(strcmp(hold[0].name, "upper_arm") == 0 && hold[0].vertices == held[0] && !hold[0].merged_into);
    CHECK(strcmp(hold[1].name, "forearm") == 0 && hold[1].vertices == held[1] && !hold[1].merged_into);
    supple_body_destroy(b);
    supple_scene_destroy(scene);
}

typedef struct heard {
    int merged;
    char text[256];
} heard;

static void hear(void *user, supple_log_level level, const char *message)
{
    heard *h = user;
    (void)level;
    if (!strstr(message, "without flesh")) return;
    h->merged++;
    snprintf(h->text, sizeof h->text, "%s", message);
}

/* Far below a cell the hero's thumbs have no vertex of their own. One line names them, and so does the list. */
TEST(joints_without_flesh_are_merged_and_said)
{
    supple_scene *scene = scene_load("demo:hero");
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 12);
    supple_config config = supple_config_default();
    heard h = {0};
    config.log = hear;
    config.log_user = &h;
    supple_body *b = NULL;
    REQUIRE(supple_body_create(scene, &bc, &config, &b, NULL) == SUPPLE_OK);
    int32_t count = 0, merged = 0;
    const supple_body_hold *hold = supple_body_holds(b, &count);
    for (int32_t i = 0; i < count; i++) {
        if (!hold[i].merged_into) continue;
        merged++;
        CHECK(merged > 3 || strstr(h.text, hold[i].name) != NULL);
    }
    CHECK(merged > 0 && merged == supple_body_get_info(b)->merged && h.merged == 1);
    supple_body_destroy(b);
    supple_scene_destroy(scene);
}

TEST(the_visual_mesh_comes_back_at_rest_and_under_rigid_motion)
{
    supple_scene *scene = scene_load("demo:arm");
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 32);
    supple_body *b = body_create(scene, &bc, 0);
    REQUIRE(b);
    const spl_body *body = &b->body;
    size_t n = (size_t)scene->vertex_count, m = (size_t)body->tets.vertex_count;
    float *out = calloc(n, 3 * sizeof(float));
    spl_vec3 *moved = calloc(m, sizeof *moved);
    spl_upsample_frame *frame;
    REQUIRE(spl_upsample_frame_create(body->upsample, &body->allocator, &frame, NULL) == SUPPLE_OK);
    const double t[3] = {3, -2, 1}, r[4] = {0.2, 0.4, -0.1, 0.9}, s[3] = {1, 1, 1};
    for (int k = 0; k < 2; k++) {
        spl_mat4 motion = k ? spl_mat4_trs(t, r, s) : spl_mat4_identity();
        for (size_t v = 0; v < m; v++) moved[v] = spl_mat4_point(&motion, body->tets.position[v]);
        spl_upsample_target to = {.position = out, .position_stride = 12};
        spl_upsample_apply(body->upsample, frame, NULL, (const double *)moved, &to);
        double most = 0;
        for (size_t v = 0; v < n; v++) {
            spl_vec3 want = spl_mat4_point(&motion, spl_v3_from_float(body->bind + 3 * v));
            most = fmax(most, spl_distance(want, spl_v3_from_float(out + 3 * v)));
        }
        CHECK(most < (k ? 5e-6 : 1e-6) * body->surface.diagonal);
    }
    spl_upsample_frame_destroy(frame);
    free(out);
    free(moved);
    supple_body_destroy(b);
    supple_scene_destroy(scene);
}

/* Every vertex that a morph target moves has a frame to turn its displacement; the displaced arm moves rigidly. */
TEST(morph_targets_turn_with_the_body)
{
    supple_scene *scene = scene_load("demo:arm");
    spl_primitive *p = &scene->mesh[0].primitive[0];
    REQUIRE(scene->vertex_count == p->vertex_count && p->target_count == 0);
    size_t n = (size_t)p->vertex_count;
    float *delta = calloc(n, 3 * sizeof(float)), *out = calloc(n, 3 * sizeof(float));
    for (size_t v = 0; v < n; v += 3) delta[3 * v + v % 2] = 0.05F;
    spl_target target = {.position = delta}, *none = p->target;
    p->target = &target;
    p->target_count = 1;
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 32);
    supple_body *b = body_create(scene, &bc, 0);
    p->target = none;
    p->target_count = 0;
    REQUIRE(b);
    const spl_body *body = &b->body;
    size_t m = (size_t)body->tets.vertex_count;
    spl_vec3 *moved = calloc(m, sizeof *moved);
    spl_upsample_frame *frame;
    REQUIRE(spl_upsample_frame_create(body->upsample, &body->allocator, &frame, NULL) == SUPPLE_OK);
    const double t[3] = {3, -2, 1}, r[4] = {0.2, 0.4, -0.1, 0.9}, s[3] = {1, 1, 1};
    spl_mat4 motion = spl_mat4_trs(t, r, s);
    for (size_t v = 0; v < m; v++) moved[v] = spl_mat4_point(&motion, body->tets.position[v]);
    spl_upsample_target to = {.position = out, .position_stride = 12};
    spl_upsample_apply_input(body->upsample, frame, NULL,
                             &(spl_upsample_input){.body = (const double *)moved, .delta = delta}, &to);
    double most = 0;
    for (size_t v = 0; v < n; v++) {
        spl_vec3 rest = spl_add(spl_v3_from_float(body->bind + 3 * v), spl_v3_from_float(delta + 3 * v));
        most = fmax(most, spl_distance(spl_mat4_point(&motion, rest), spl_v3_from_float(out + 3 * v)));
    }
    CHECK(most < 5e-6 * body->surface.diagonal);
    spl_upsample_frame_destroy(frame);
    free(moved);
    free(delta);
    free(out);
    supple_body_destroy(b);
    supple_scene_destroy(scene);
}

static uint64_t hash_of(const supple_body *b)
{
    const spl_body *body = &b->body;
    uint64_t h = spl_hash(body->tets.position, (size_t)body->tets.vertex_count * sizeof(spl_vec3), 0);
    h = spl_hash(body->tets.tet, (size_t)body->tets.tet_count * 16, h);
    return spl_hash(body->bone, (size_t)body->tets.vertex_count * 4, h);
}

/* Of the visual mesh after a motion that is not affine. */
static uint64_t map_hash(const supple_body *b)
{
    const spl_body *body = &b->body;
    size_t n = (size_t)body->scene->vertex_count, m = (size_t)body->tets.vertex_count;
    float *out = calloc(2 * n, 3 * sizeof(float));
    spl_vec3 *moved = calloc(m, sizeof *moved);
    spl_upsample_frame *frame;
    if (spl_upsample_frame_create(body->upsample, &body->allocator, &frame, NULL) != SUPPLE_OK) abort();
    for (size_t v = 0; v < m; v++) {
        moved[v] = body->tets.position[v];
        moved[v].y += 0.3 * moved[v].x * moved[v].x;
    }
    spl_upsample_target to = {out, 12, out + 3 * n, 12};
    spl_upsample_apply(body->upsample, frame, NULL, (const double *)moved, &to);
    uint64_t h = spl_hash(out, 2 * n * 3 * sizeof(float), 0);
    spl_upsample_frame_destroy(frame);
    free(out);
    free(moved);
    return h;
}

TEST(the_bits_do_not_depend_on_the_threads)
{
    supple_scene *scene = scene_load("demo:sack");
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 24);
    supple_body *one = body_create(scene, &bc, 1), *two = body_create(scene, &bc, 2),
                *seven = body_create(scene, &bc, 7);
    REQUIRE(one && two && seven);
    CHECK(hash_of(one) == hash_of(two) && hash_of(one) == hash_of(seven));
    supple_body_destroy(one);
    supple_body_destroy(two);
    supple_body_destroy(seven);
    supple_scene_destroy(scene);
}

TEST(the_cache_gives_the_same_body_and_a_damaged_one_is_made_again)
{
    char folder[] = "body-cache-XXXXXX", command[200];
    REQUIRE(mkdtemp(folder));
    setenv("SUPPLE_CACHE", folder, 1);
    supple_scene *scene = scene_load("demo:arm");
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 24);
    bc.cache = true;
    supple_body *first = body_create(scene, &bc, 0), *second = body_create(scene, &bc, 0);
    REQUIRE(first && second);
    CHECK(!supple_body_get_info(first)->cached && supple_body_get_info(second)->cached);
    CHECK(hash_of(first) == hash_of(second));
    CHECK(supple_body_get_info(first)->volume == supple_body_get_info(second)->volume);
    bc.resolution = 25;
    supple_body *other = body_create(scene, &bc, 0);
    REQUIRE(other);
    CHECK(!supple_body_get_info(other)->cached);
    bc.resolution = 24;
    CHECK(map_hash(first) == map_hash(second));
    snprintf(command, sizeof command,
             "for f in %s/*; do printf x | dd of=$f bs=1 seek=3000 conv=notrunc 2>/dev/null; done", folder);
    CHECK(system(command) == 0);
    supple_body *again = body_create(scene, &bc, 0);
    REQUIRE(again);
    CHECK(!supple_body_get_info(again)->cached && hash_of(again) == hash_of(first));
    CHECK(map_hash(again) == map_hash(first));
    supple_body_destroy(first);
    supple_body_destroy(second);
    supple_body_destroy(other);
    supple_body_destroy(again);
    supple_scene_destroy(scene);
    unsetenv("SUPPLE_CACHE");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

static void count_warnings(void *user, supple_log_level level, const char *message)
{
    int *count = user;
    *count += level == SUPPLE_LOG_WARNING && strstr(message, "cache: ") != NULL;
}

/* Only the upsampling's file is damaged: the tetrahedra still come from the cache, and the weights are made again. Both
 * files may be written and read while memory is short. */
TEST(stored_upsampling_that_is_damaged_is_made_again)
{
    char folder[] = "body-cache-XXXXXX", command[200];
    REQUIRE(mkdtemp(folder));
    setenv("SUPPLE_CACHE", folder, 1);
    supple_scene *scene = demo_scene("arm", 0.5);
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 12);
    bc.cache = true;
    supple_body *first = body_create(scene, &bc, 0);
    REQUIRE(first);
    const char *damage[] = {"truncate -s -100", "truncate -s 3000",
                            "printf x | dd bs=1 seek=3000 conv=notrunc 2>/dev/null of="};
    for (int i = 0; i < 3; i++) {
        int warnings = 0;
        supple_config config = supple_config_default();
        config.log = count_warnings;
        config.log_user = &warnings;
        snprintf(command, sizeof command, "%s%s$(ls %s/upsample-*)", damage[i], i < 2 ? " " : "", folder);
        CHECK(system(command) == 0);
        for (int round = 0; round < 2; round++) { /* made again, then found */
            supple_body *again = NULL;
            REQUIRE(supple_body_create(scene, &bc, &config, &again, NULL) == SUPPLE_OK);
            CHECK(supple_body_get_info(again)->cached && map_hash(again) == map_hash(first) && warnings == 1);
            supple_body_destroy(again);
        }
    }
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        config.thread_count = 1;
        supple_body *body;
        supple_result result = supple_body_create(scene, &bc, &config, &body, NULL);
        supple_body_destroy(body);
        CHECK(f.live == 0 && (result == SUPPLE_ERROR_MEMORY || result == SUPPLE_OK));
        if (f.requests <= n) break;
    }
    supple_body_destroy(first);
    supple_scene_destroy(scene);
    unsetenv("SUPPLE_CACHE");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

TEST(roles_can_be_given)
{
    supple_scene *scene = scene_load("demo:turtle");
    supple_error error;
    supple_body *body;
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 20);
    bc.rules = (supple_part_rule[]){{"BO*", SUPPLE_ROLE_SKIP}, {"shell", SUPPLE_ROLE_SKIP}};
    bc.rule_count = 2;
    CHECK(supple_body_create(scene, &bc, NULL, &body, &error) == SUPPLE_ERROR_INPUT && !body);
    CHECK(strstr(error.message, "no flesh"));
    bc.rules = (supple_part_rule[]){{"wing", SUPPLE_ROLE_SKIP}};
    bc.rule_count = 1;
    CHECK(supple_body_create(scene, &bc, NULL, &body, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, "wing"));
    supple_scene_destroy(scene);
}

TEST(wrong_requests_are_refused)
{
    supple_scene *scene = scene_load("demo:beam");
    supple_error error;
    supple_body *body;
    const int32_t resolutions[] = {-1, 1, 3, 2001, 1000000};
    for (int i = 0; i < 5; i++) {
        supple_body_config bc = body_config(SUPPLE_BODY_TETS, resolutions[i]);
        CHECK(supple_body_create(scene, &bc, NULL, &body, &error) == SUPPLE_ERROR_ARGUMENT && !body);
        CHECK(strstr(error.message, "resolution"));
    }
    supple_body_config none = {0};
    CHECK(supple_body_create(scene, &none, NULL, &body, &error) == SUPPLE_ERROR_ARGUMENT);
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 0);
    bc.tet_file = "no-such-file.msh";
    CHECK(supple_body_create(scene, &bc, NULL, &body, &error) == SUPPLE_ERROR_INPUT);
    supple_scene_destroy(scene);
}

TEST(the_users_own_tetrahedra_are_taken)
{
    const char *file = "own-tets.msh";
    supple_scene *scene = scene_load("demo:beam");
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 12);
    supple_body *made = body_create(scene, &bc, 0);
    REQUIRE(made);
    REQUIRE(supple_body_save(made, file, false, NULL, NULL) == SUPPLE_OK);
    bc.tet_file = file;
    supple_body *taken = body_create(scene, &bc, 0);
    REQUIRE(taken);
    CHECK(supple_body_get_info(taken)->tets == supple_body_get_info(made)->tets);
    CHECK(supple_body_get_info(taken)->volume == supple_body_get_info(made)->volume);
    CHECK(supple_body_get_info(taken)->empty == 0 && supple_body_get_info(taken)->constrained > 0);
    supple_body_destroy(made);
    supple_body_destroy(taken);
    supple_scene_destroy(scene);
    unlink(file);
}

/* Every allocation of a coarse body fails once, in steps: there are many, alike. */
TEST(failing_allocations_are_errors)
{
    supple_scene *scene = demo_scene("beam", 0.3);
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 8);
    for (long n = 0;; n += n < 60 ? 1 : 7) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        config.thread_count = 1;
        supple_body *body;
        supple_result result = supple_body_create(scene, &bc, &config, &body, NULL);
        supple_body_destroy(body);
        CHECK(f.live == 0);
        if (f.requests <= n) break;
        CHECK(result == SUPPLE_ERROR_MEMORY || result == SUPPLE_OK); /* a count that finds no memory is left out */
    }
    supple_scene_destroy(scene);
}

/* Bending one finger moves no other: in the graph of the tets' edges the way between two finger tips leads through the
 * palm. */
TEST(fingers_do_not_fuse)
{
    supple_scene *scene = NULL;
    supple_error error;
    REQUIRE(supple_scene_load_file(SPL_DATA_DIR "/hand.glb", NULL, &scene, &error) == SUPPLE_OK);
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 0);
    supple_body *b = body_create(scene, &bc, 0);
    REQUIRE(b);
    const spl_body *body = &b->body;
    int fused = 0, pairs = 0;
    for (int32_t t = 0; t < body->tets.tet_count; t++) { /* no tet may be held, or follow, two different fingers */
        char finger[4] = {0};
        int count = 0;
        for (int k = 0; k < 4; k++) {
            int32_t bone = body->bone[body->tets.tet[4 * t + k]];
            if (bone < 0) continue;
            char first = scene->node[body->bones.bone[bone].node].name[0]; /* thumb, index, middle, ring, little */
            if (!strchr("timrl", first) || strstr(scene->node[body->bones.bone[bone].node].name, "metacarpal"))
                continue;
            pairs++;
            bool new_one = true;
            for (int i = 0; i < count; i++) new_one = new_one && finger[i] != first;
            if (new_one) finger[count++] = first;
        }
        fused += count > 1;
    }
    CHECK(pairs > 100 && fused == 0);
    supple_body_destroy(b);
    supple_scene_destroy(scene);
}

/* Notes the stages, and stops at one call. */
typedef struct watch {
    int calls, stop_at, backwards;
    char stages[200];
    const char *stage;
    double fraction;
} watch;

static bool watch_stage(void *user, const char *stage, double fraction)
{
    watch *w = user;
    if (!w->stage || strcmp(w->stage, stage) != 0) {
        size_t n = strlen(w->stages);
        snprintf(w->stages + n, sizeof w->stages - n, "%s ", stage);
        w->fraction = 0;
    }
    w->backwards += fraction < w->fraction || fraction > 1;
    w->stage = stage;
    w->fraction = fraction;
    return ++w->calls != w->stop_at;
}

static supple_result make_watched(const supple_scene *scene, watch *w, supple_body **body, supple_error *error)
{
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, 24);
    supple_config config = supple_config_default();
    config.progress = watch_stage;
    config.progress_user = w;
    return supple_body_create(scene, &bc, &config, body, error);
}

TEST(progress_goes_forward_and_can_cancel_at_every_call)
{
    supple_scene *scene = demo_scene("arm", 0.5);
    watch whole = {0};
    supple_body *body;
    supple_error error;
    REQUIRE(make_watched(scene, &whole, &body, &error) == SUPPLE_OK);
    CHECK(strcmp(whole.stages, "surface field tetrahedra attachments upsampling ") == 0);
    CHECK(whole.calls > 12 && whole.backwards == 0 && whole.fraction == 1);
    supple_body_destroy(body);
    for (int i = 1; i <= whole.calls; i++) {
        watch w = {.stop_at = i};
        CHECK(make_watched(scene, &w, &body, &error) == SUPPLE_ERROR_CANCELLED && !body);
        CHECK(w.calls == i && error.code == SUPPLE_ERROR_CANCELLED && strstr(error.message, w.stage));
    }
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(an_arm_gets_flesh_bones_and_a_way_back), RUN(joints_without_flesh_are_merged_and_said),
           RUN(the_visual_mesh_comes_back_at_rest_and_under_rigid_motion), RUN(morph_targets_turn_with_the_body),
           RUN(the_bits_do_not_depend_on_the_threads),
           RUN(the_cache_gives_the_same_body_and_a_damaged_one_is_made_again),
           RUN(stored_upsampling_that_is_damaged_is_made_again), RUN(roles_can_be_given),
           RUN(wrong_requests_are_refused), RUN(the_users_own_tetrahedra_are_taken),
           RUN(failing_allocations_are_errors), RUN(fingers_do_not_fuse),
           RUN(progress_goes_forward_and_can_cancel_at_every_call))
