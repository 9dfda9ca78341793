#include "sim/excuse.h"

#include "core/memory.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* A triangle of three bones, and one thing of the world: what a barrier needs to know of pairs of bones. */
typedef struct stage {
    supple_allocator allocator;
    spl_barrier *barrier;
    spl_node node[3];
    spl_bone bone[3];
    spl_bones bones;
    spl_clip clip;
    supple_scene scene;
    supple_config config;
    spl_excuses excuses;
    int lines;
    supple_log_level level;
    char line[400]; /* the last */
} stage;

static void keep_line(void *user, supple_log_level level, const char *message)
{
    stage *s = user;
    s->lines++;
    s->level = level;
    snprintf(s->line, sizeof s->line, "%s", message);
}

static bool make_barrier(stage *s)
{
    static const double rest[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, reach[3] = {0}, stiffness[3] = {1, 1, 1};
    static const int32_t point[3] = {0, 1, 2}, edge[6] = {0, 1, 1, 2, 2, 0}, bone[3] = {0, 1, 2};
    static const bool fixed[3] = {false};
    spl_barrier_surface surface = {.vertex_count = 3,
                                   .own_count = 3,
                                   .rest = rest,
                                   .point_count = 3,
                                   .point = point,
                                   .edge_count = 3,
                                   .edge = edge,
                                   .triangle_count = 1,
                                   .triangle = point,
                                   .fixed = fixed,
                                   .reach = reach,
                                   .stiffness = stiffness,
                                   .bone = bone,
                                   .bone_count = 4,
                                   .diagonal = 1};
    spl_barrier_options options = spl_barrier_options_default();
    return spl_barrier_create(&surface, &options, &s->allocator, NULL, &s->barrier, NULL) == SUPPLE_OK;
}

static bool begin(stage *s)
{
    static char *names[] = {"wrist.L", "hand.R", "head"};
    static char clip[] = "reach";
    *s = (stage){.allocator = spl_allocator_of(NULL)};
    for (int i = 0; i < 3; i++) {
        s->node[i].name = names[i];
        s->bone[i].node = i;
    }
    s->bones = (spl_bones){.bone_count = 3, .bone = s->bone, .node_count = 3};
    s->clip.name = clip;
    s->scene.node = s->node;
    s->scene.node_count = 3;
    s->scene.clip = &s->clip;
    s->scene.clip_count = 1;
    s->config.log = keep_line;
    s->config.log_user = s;
    return make_barrier(s) &&
           spl_excuses_create(&s->scene, &s->bones, 1, &s->config, &s->allocator, &s->excuses, NULL) == SUPPLE_OK;
}

static void finish(stage *s)
{
    spl_excuses_release(&s->excuses);
    spl_barrier_destroy(s->barrier);
}

static void frame(stage *s, int32_t k, double missing, spl_clear_outcome folds)
{
    spl_excuses_frame(&s->excuses, s->barrier, missing, folds, 0, k);
}

TEST(bones_that_cross_are_told_once_a_range)
{
    stage s;
    REQUIRE(begin(&s));
    frame(&s, 92, 0, SPL_CLEAR_NOTHING);
    spl_barrier_release(s.barrier, 0, 1, true);
    frame(&s, 93, 0.001, SPL_CLEAR_DONE);
    spl_barrier_release(s.barrier, 2, 3, true);
    frame(&s, 94, 0.004, SPL_CLEAR_DONE);
    frame(&s, 95, 0, SPL_CLEAR_DONE);
    CHECK(s.lines == 0);
    spl_barrier_release(s.barrier, 0, 1, false);
    spl_barrier_release(s.barrier, 2, 3, false);
    frame(&s, 96, 0, SPL_CLEAR_NOTHING);
    CHECK(s.lines == 1 && s.level == SUPPLE_LOG_WARNING);
    CHECK(strstr(s.line, "reach, frames 93 to 95: the motion takes wrist.L and hand.R, head and collider 1 through") ==
          s.line);
    CHECK(strstr(s.line, "4 mm") != NULL);
    frame(&s, 97, 0, SPL_CLEAR_NOTHING);
    finish(&s);
    CHECK(s.lines == 1);
}

TEST(what_is_open_at_the_end_is_told_then)
{
    stage s;
    REQUIRE(begin(&s));
    spl_barrier_release(s.barrier, 1, 1, true);
    frame(&s, 7, 0, SPL_CLEAR_NOTHING);
    spl_excuses_end(&s.excuses);
    CHECK(s.lines == 1 && strstr(s.line, "reach, frame 7: the motion takes hand.R and itself through") == s.line);
    spl_excuses_end(&s.excuses);
    CHECK(s.lines == 1);
    frame(&s, 3, 0, SPL_CLEAR_NOTHING);
    finish(&s);
    CHECK(s.lines == 2 && strstr(s.line, "reach, frame 3:") == s.line);
}

/* Offsets that are smaller than they should be count where something gave way, and not beside what is released. */
TEST(flesh_that_comes_too_near_is_told)
{
    stage s;
    double ease[16];
    REQUIRE(begin(&s));
    for (int i = 0; i < 16; i++) ease[i] = 1;
    ease[1] = ease[4] = 0.3;
    spl_barrier_restore(s.barrier, ease);
    frame(&s, 1, 0, SPL_CLEAR_NOTHING);
    spl_excuses_end(&s.excuses);
    CHECK(s.lines == 0);
    frame(&s, 2, 0.002, SPL_CLEAR_NOTHING);
    spl_excuses_end(&s.excuses);
    CHECK(s.lines == 1 && s.level == SUPPLE_LOG_INFO);
    CHECK(strstr(s.line, "reach, frame 2: the motion brings wrist.L and hand.R together, 2 mm") == s.line);
    finish(&s);
}

TEST(folds_that_are_left_are_told)
{
    stage s;
    REQUIRE(begin(&s));
    frame(&s, 4, 0, SPL_CLEAR_LEFT);
    frame(&s, 5, 0, SPL_CLEAR_LEFT);
    frame(&s, 6, 0, SPL_CLEAR_DONE);
    CHECK(s.lines == 1 && strcmp(s.line, "reach, frames 4 to 5: folds of the visual mesh are left crossing") == 0);
    finish(&s);
    CHECK(s.lines == 1);
}

TEST_CASES(RUN(bones_that_cross_are_told_once_a_range), RUN(what_is_open_at_the_end_is_told_then),
           RUN(flesh_that_comes_too_near_is_told), RUN(folds_that_are_left_are_told))
