/* Models played without their characters, against the simulation that has them. */
#include "core/memory.h"
#include "failing.h"
#include "subspace/playing.h"

#include <pthread.h>

/* Frame by frame the surface that the simulation of the same model has, held vertices and twists included. */
static void check_against_sim(bool mirrored)
{
    fixture f = fixture_make(mirrored);
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.model = f.model;
    for (int32_t v = 0; v < f.model->model.rig.vertex_count; v++) f.model->model.rig.own.trust[v] = 1; /* flesh alone */
    REQUIRE(supple_sim_create(f.scene, &sc, NULL, &sim, NULL) == SUPPLE_OK);
    supple_player *p = player_of(&f, 2, false, false);
    REQUIRE(p);
    const spl_rig *r = &f.model->model.rig;
    double size = sim->flesh.solid.diagonal / fabs(r->to_solver), moved = 0;
    CHECK((r->to_solver < 0) == mirrored);
    for (int k = 0; k <= 4; k++) {
        CHECK(supple_sim_step_clip(sim, 0, 0.2 * k, NULL) == SUPPLE_OK);
        CHECK(supple_sim_step_clip(sim, 0, 0.2 * k, NULL) == SUPPLE_OK); /* both at rest: from other starts */
        play(&f, p, 0.2 * k, 0);
        play(&f, p, 0.2 * k, 0);
        float *x = positions(&f, p);
        for (int32_t v = 0; v < 3 * r->vertex_count; v++) {
            double truth = sim->flesh.x[3 * (size_t)r->vertex[v / 3] + (size_t)(v % 3)] / r->to_solver;
            CHECK_NEAR(x[v], truth, 1e-4 * size);
            moved = fmax(moved, fabs(truth - sim->flesh.solid.drive.rest[3 * r->vertex[v / 3] + v % 3] / r->to_solver));
        }
        free(x);
    }
    CHECK(moved > 0.1 * size);
    supple_player_destroy(p);
    supple_sim_destroy(sim);
    fixture_free(&f);
}

TEST(plays_as_the_simulation_does)
{
    check_against_sim(false);
}

TEST(mirrored_and_scaled)
{
    check_against_sim(true);
}

/* The surface is closed, its triangles face outwards in the world, and so do the normals. */
TEST(surface_and_normals)
{
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        fixture f = fixture_make(mirrored);
        supple_player *p = player_of(&f, 1, false, false);
        REQUIRE(p);
        play(&f, p, 0.3, 0);
        int32_t n = supple_model_vertex_count(f.model), m = supple_model_triangle_count(f.model);
        const int32_t *t = supple_model_triangles(f.model);
        struct {
            float at[3], normal[3];
        } *v = calloc((size_t)n, sizeof *v);
        supple_player_read_positions(p, v->at, sizeof *v);
        supple_player_read_normals(p, v->normal, sizeof *v);
        double volume = 0, along = 0;
        spl_vec3 area = {0, 0, 0};
        for (int32_t k = 0; k < m; k++) {
            spl_vec3 c[3], normal = {0, 0, 0};
            for (int i = 0; i < 3; i++) {
                const float *x = v[t[3 * k + i]].at, *y = v[t[3 * k + i]].normal;
                c[i] = spl_v3((double)x[0], (double)x[1], (double)x[2]);
                normal = spl_add(normal, spl_v3((double)y[0], (double)y[1], (double)y[2]));
            }
            spl_vec3 face = spl_cross(spl_sub(c[1], c[0]), spl_sub(c[2], c[0]));
            volume += spl_dot(c[0], face) / 6;
            area = spl_add(area, face);
            along += spl_dot(face, normal) / 6;
        }
        CHECK(volume > 0);
        CHECK(spl_norm(area) < 1e-4 * along); /* closed */
        CHECK(along > 0);
        for (int32_t k = 0; k < n; k++)
            CHECK_NEAR(v[k].normal[0] * v[k].normal[0] + v[k].normal[1] * v[k].normal[1] +
                           v[k].normal[2] * v[k].normal[2],
                       1, 1e-4);
        free(v);
        supple_player_destroy(p);
        fixture_free(&f);
    }
}

/* In motion: the same bits at any number of threads, the twin to rounding; flesh overshoots when the arm stops, and
 * comes to rest where a player without dynamics is. */
TEST(dynamics)
{
    fixture f = fixture_make(false);
    supple_player *one = player_of(&f, 1, true, false), *two = player_of(&f, 2, true, false);
    supple_player *twin = player_of(&f, 1, true, true), *still = player_of(&f, 1, false, false);
    REQUIRE(one && two && twin && still);
    size_t bytes = 12 * (size_t)supple_model_vertex_count(f.model);
    double swing = 0, end = 0;
    for (int k = 0; k <= 120; k++) play(&f, still, fmin(k / 240.0, 0.25), 0);
    float *truth = positions(&f, still);
    for (int k = 0; k <= 480; k++) {
        double time = fmin(k / 120.0, 0.25);
        play(&f, one, time, 1 / 120.0);
        float *x = positions(&f, one);
        if (k <= 40) {
            play(&f, two, time, 1 / 120.0);
            play(&f, twin, time, 1 / 120.0);
            float *y = positions(&f, two), *z = positions(&f, twin);
            CHECK(memcmp(x, y, bytes) == 0);
            for (size_t i = 0; i < bytes / 4; i++) CHECK_NEAR(x[i], z[i], 1e-6);
            free(y);
            free(z);
        }
        double off = 0;
        for (size_t i = 0; i < bytes / 4; i++) off = fmax(off, fabs((double)x[i] - (double)truth[i]));
        if (time >= 0.25) swing = fmax(swing, off);
        end = off;
        free(x);
    }
    printf("    off by %.2g m after the stop, %.2g m at the end\n", swing, end);
    CHECK(swing > 3e-4);
    CHECK(end < 0.05 * swing);
    free(truth);
    supple_player_destroy(one);
    supple_player_destroy(two);
    supple_player_destroy(twin);
    supple_player_destroy(still);
    fixture_free(&f);
}

/* Players that read another's tables, in threads of their own: the same bits as with their own, and
 * nothing of the other's state. */
typedef struct sharing {
    const fixture *f;
    supple_player *p;
} sharing;

static void *play_shared(void *argument)
{
    const sharing *s = argument;
    for (int k = 0; k <= 20; k++) play(s->f, s->p, k / 120.0, 1 / 120.0);
    return NULL;
}

TEST(threads_share_the_tables_of_one_player)
{
    fixture f = fixture_make(false);
    failing count = {.fail_at = -1};
    supple_config config = supple_config_default();
    supple_player_config pc = supple_player_config_default();
    supple_player *first = player_of(&f, 1, true, false), *alone = NULL, *shared[2] = {0}, *none = NULL;
    size_t bytes = 12 * (size_t)supple_model_vertex_count(f.model);
    pthread_t thread[2];
    sharing s[2];
    REQUIRE(first);
    play(&f, first, 0.3, 0); /* it is elsewhere */
    config.thread_count = 1;
    REQUIRE(supple_player_create(f.model, &pc, &config, &alone, NULL) == SUPPLE_OK);
    pc.like = first;
    config.allocator = failing_allocator(&count);
    for (int k = 0; k < 2; k++) {
        REQUIRE(supple_player_create(f.model, &pc, &config, &shared[k], NULL) == SUPPLE_OK);
        s[k] = (sharing){&f, shared[k]};
    }
    for (int k = 0; k < 2; k++) REQUIRE(pthread_create(&thread[k], NULL, play_shared, &s[k]) == 0);
    play(&f, first, 0.1, 1 / 120.0);
    for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
    play_shared(&(sharing){&f, alone});
    float *truth = positions(&f, alone);
    for (int k = 0; k < 2; k++) {
        float *x = positions(&f, shared[k]);
        CHECK(memcmp(x, truth, bytes) == 0);
        free(x);
        supple_player_destroy(shared[k]);
    }
    CHECK(count.live == 0);
    pc.per_vertex = true;
    CHECK(supple_player_create(f.model, &pc, &config, &none, NULL) == SUPPLE_ERROR_ARGUMENT && !none);
    pc.per_vertex = false;
    long n = 0;
    for (bool done = false; !done && n < 10000; n++) {
        failing f_n = {.fail_at = n};
        config.allocator = failing_allocator(&f_n);
        supple_result result = supple_player_create(f.model, &pc, &config, &none, NULL);
        done = result == SUPPLE_OK;
        CHECK(done || (result == SUPPLE_ERROR_MEMORY && !none));
        supple_player_destroy(none);
        none = NULL;
        CHECK(f_n.live == 0);
    }
    CHECK(n > 50 && n < 10000);
    free(truth);
    supple_player_destroy(alone);
    supple_player_destroy(first);
    fixture_free(&f);
}

TEST(bad_requests)
{
    fixture f = fixture_make(false);
    supple_player *p = player_of(&f, 1, true, false), *none = NULL;
    supple_error error = {0};
    supple_player_config pc = supple_player_config_default();
    int32_t n = supple_model_joint_count(f.model);
    float *pose = pose_at(&f, 0.1), *before, *after;
    REQUIRE(p && supple_player_step(p, pose, n, 0, NULL) == SUPPLE_OK);
    before = positions(&f, p);
    CHECK(supple_player_step(p, pose, n - 1, 0, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_player_step(p, pose, n, -1, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_player_step(p, pose, n, NAN, &error) == SUPPLE_ERROR_ARGUMENT);
    pose[20] = NAN;
    CHECK(supple_player_step(p, pose, n, 0, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, supple_model_joint_name(f.model, 1)));
    after = positions(&f, p);
    CHECK(memcmp(before, after, 12 * (size_t)supple_model_vertex_count(f.model)) == 0);
    CHECK(!supple_model_joint_name(f.model, n) && !supple_model_joint_name(f.model, -1));
    CHECK(supple_model_joint_parent(f.model, 0) == -1 && supple_model_joint_parent(f.model, n - 1) >= 0);
    pc.kappa = -1;
    CHECK(supple_player_create(f.model, &pc, NULL, &none, &error) == SUPPLE_ERROR_ARGUMENT && !none);
    pc = (supple_player_config){0};
    CHECK(supple_player_create(f.model, &pc, NULL, &none, &error) == SUPPLE_ERROR_ARGUMENT && !none);
    float rest[16];
    supple_model_joint_rest(f.model, n, rest);
    CHECK(rest[0] == 0 && rest[15] == 0);
    supple_model_joint_rest(f.model, 0, rest);
    CHECK(rest[15] == 1);
    free(before);
    free(after);
    free(pose);
    supple_player_destroy(p);
    fixture_free(&f);
}

/* What a checksum does not notice: the reader looks at what the rig's numbers mean. */
TEST(edited_files)
{
    fixture f = fixture_make(false);
    spl_rig *r = &f.trained->model.rig;
    const spl_model *m = &f.trained->model;
    int32_t *seen = NULL; /* a held corner of a cubature tet */
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = 0; k < 4 * m->domain[i].cubature_count; k++)
            if (m->domain[i].cubature[k / 4].corner[k % 4] < 0) seen = &m->domain[i].cubature[k / 4].corner[k % 4];
    REQUIRE(seen);
    struct {
        int32_t *whole, number;
    } edits[] = {{&r->joint_parent[1], 1},
                 {&r->bone[0], r->joint_count},
                 {&r->bone[0], -1},
                 {&r->bone[1], 0},
                 {&r->bone[2], r->bone_count},
                 {&r->bone[3], 1}, /* a root that takes up its twist against its parent */
                 {&r->bone[4 + 3], 2},
                 {&f.trained->model.domain[0].bone, r->bone_count},
                 {seen, ~m->domain[0].vertex[0]}, /* a vertex that no bone holds */
                 {&r->held[0], m->vertex_count},
                 {&r->held[1], r->bone_count},
                 {&r->vertex[1], r->vertex[0]},
                 {&r->vertex[0], m->vertex_count},
                 {&r->triangle[5], r->vertex_count},
                 {&r->triangle[5], -1}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        supple_model *back = NULL;
        int32_t whole = *edits[i].whole;
        if (whole == edits[i].number) continue;
        *edits[i].whole = edits[i].number;
        CHECK(supple_model_save(f.trained, "playback-edit.supple", NULL, NULL) == SUPPLE_OK);
        if (supple_model_load("playback-edit.supple", NULL, &back, NULL) != SUPPLE_ERROR_INPUT)
            test_failures++, printf("    edit %zu was not noticed\n", i);
        supple_model_destroy(back);
        *edits[i].whole = whole;
    }
    struct {
        double *real, wrong;
    } reals[] = {{&r->to_solver, 0},
                 {&r->to_solver, NAN},
                 {&r->bone_real[4], INFINITY},
                 {&r->joint_rest[3], NAN},
                 {&f.trained->model.domain[0].rest[4], 1e308},
                 {&r->held_rest[1], -1e308},
                 {&r->bone_real[19], 1e100},
                 {&r->joint_rest[12], 1e30}};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        supple_model *back = NULL;
        double real = *reals[i].real;
        *reals[i].real = reals[i].wrong;
        CHECK(supple_model_save(f.trained, "playback-edit.supple", NULL, NULL) == SUPPLE_OK);
        CHECK(supple_model_load("playback-edit.supple", NULL, &back, NULL) == SUPPLE_ERROR_INPUT && !back);
        *reals[i].real = real;
    }
    r->name[r->name_bytes - 1] = 'x'; /* the last name never ends */
    CHECK(supple_model_save(f.trained, "playback-edit.supple", NULL, NULL) == SUPPLE_OK);
    supple_model *back = NULL;
    CHECK(supple_model_load("playback-edit.supple", NULL, &back, NULL) == SUPPLE_ERROR_INPUT && !back);
    fixture_free(&f);
}

/* ---- teleports ---- */

enum { JUMP_AT = 10, JUMP_FRAMES = 30 }; /* at 30 frames a second */
static const float far_away = 1000;

/* The clip of the arm and a root that is `way` elsewhere from a frame on; its own channels come back by rejoin(). */
typedef struct jumping {
    spl_clip *clip, own;
    float time[4], value[12];
} jumping;

static void jump(jumping *j, supple_scene *scene, spl_interpolation how, float way)
{
    int32_t root = scene->skin[0].joint[0];
    while (scene->node[root].parent >= 0) root = scene->node[root].parent;
    j->clip = &scene->clip[0];
    j->own = *j->clip;
    spl_channel *all = calloc((size_t)j->own.channel_count + 1, sizeof *all);
    memcpy(all, j->own.channel, (size_t)j->own.channel_count * sizeof *all);
    for (int k = 0; k < 4; k++) { /* both ends of the clip, and the jump from a frame to the next */
        j->time[k] = k == 0   ? 0
                     : k == 3 ? (float)JUMP_FRAMES / 30
                              : ((float)(JUMP_AT + k - 2) - (how == SPL_STEP ? 0.5f : 0)) / 30;
        for (int c = 0; c < 3; c++) j->value[3 * k + c] = (float)scene->node[root].t[c] + (c == 0 && k > 1 ? way : 0);
    }
    all[j->own.channel_count] = (spl_channel){root, SPL_PATH_TRANSLATION, how, 4, 3, j->time, j->value};
    j->clip->channel = all;
    j->clip->channel_count++;
    j->clip->fps = 30;
}

static void rejoin(jumping *j)
{
    free(j->clip->channel);
    *j->clip = j->own;
}

/* The surface at the frames of the clip from `first` on, as seen from the root, in metres. */
static double *play_clip(const fixture *f, int first, float way)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    const spl_rig *r = &f->model->model.rig;
    size_t n = 3 * (size_t)r->vertex_count;
    double *out = calloc(n * JUMP_FRAMES, sizeof *out);
    sc.model = f->model;
    sc.dynamics = true;
    if (supple_sim_create(f->scene, &sc, NULL, &sim, NULL) != SUPPLE_OK) abort();
    for (int k = first; k < JUMP_FRAMES; k++) {
        CHECK(supple_sim_step_clip(sim, 0, k / 30.0, NULL) == SUPPLE_OK);
        for (size_t i = 0; i < n; i++)
            out[n * (size_t)k + i] = sim->flesh.x[3 * (size_t)r->vertex[i / 3] + i % 3] -
                                     (i % 3 == 0 && k >= JUMP_AT ? (double)way * r->to_solver : 0);
    }
    supple_sim_destroy(sim);
    return out;
}

static double most_apart(const double *a, const double *b, size_t n, int from, int to)
{
    double most = 0;
    for (size_t i = n * (size_t)from; i < n * (size_t)to; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* A root that jumps by a kilometre from a frame to the next: before it the flesh moves as if nothing were to come, and
 * after it as if the clip began there. */
TEST(flesh_knows_nothing_of_a_teleport)
{
    fixture f = fixture_make(false);
    size_t n = 3 * (size_t)f.model->model.rig.vertex_count;
    for (int how = 0; how < 2; how++) {
        jumping j;
        jump(&j, f.scene, how ? SPL_LINEAR : SPL_STEP, 0);
        double *still = play_clip(&f, 0, 0);
        rejoin(&j);
        jump(&j, f.scene, how ? SPL_LINEAR : SPL_STEP, far_away);
        double *all = play_clip(&f, 0, far_away), *anew = play_clip(&f, JUMP_AT, far_away);
        rejoin(&j);
        double before = most_apart(all, still, n, 0, JUMP_AT), after = most_apart(all, anew, n, JUMP_AT, JUMP_FRAMES);
        double swing = most_apart(still, anew, n, JUMP_AT, JUMP_FRAMES);
        printf("    %s: %.2e m off before it, %.2e after it; %.2e between those that moved before and not\n",
               how ? "in a frame" : "at once", before, after, swing);
        CHECK(before < 1e-5 && after < 1e-6); /* the spline's end, and rounding */
        CHECK(swing < 0.05);
        free(still);
        free(all);
        free(anew);
    }
    fixture_free(&f);
}

/* The same of a host's poses, which nobody foresees. */
TEST(a_player_takes_a_teleport_as_a_start)
{
    fixture f = fixture_make(false);
    supple_player *p = player_of(&f, 1, true, false), *anew = player_of(&f, 1, true, false);
    REQUIRE(p && anew);
    int32_t n = supple_model_joint_count(f.model);
    size_t numbers = 3 * (size_t)supple_model_vertex_count(f.model);
    for (int k = 0; k < JUMP_FRAMES; k++) {
        float *pose = pose_at(&f, k / 60.0);
        for (int32_t j = 0; j < n; j++) pose[16 * j + 12] += k < JUMP_AT ? 0 : far_away;
        CHECK(supple_player_step(p, pose, n, 1 / 60.0, NULL) == SUPPLE_OK);
        if (k >= JUMP_AT) {
            CHECK(supple_player_step(anew, pose, n, 1 / 60.0, NULL) == SUPPLE_OK);
            float *x = positions(&f, p), *y = positions(&f, anew);
            for (size_t i = 0; i < numbers; i++) CHECK_NEAR(x[i], y[i], 1e-6);
            free(x);
            free(y);
        }
        free(pose);
    }
    supple_player_destroy(p);
    supple_player_destroy(anew);
    fixture_free(&f);
}

/* Saves the trained model as it is edited and loads it; bytes asked for in all. */
static supple_result reload(const fixture *f, size_t *asked)
{
    failing count = {.fail_at = -1};
    supple_config config = supple_config_default();
    supple_model *back = NULL;
    supple_player *p = NULL;
    config.allocator = failing_allocator(&count);
    config.thread_count = 1;
    CHECK(supple_model_save(f->trained, "playback-edit.supple", NULL, NULL) == SUPPLE_OK);
    supple_result result = supple_model_load("playback-edit.supple", &config, &back, NULL);
    if (result == SUPPLE_OK) result = supple_player_create(back, NULL, &config, &p, NULL);
    supple_player_destroy(p);
    supple_model_destroy(back);
    CHECK(count.live == 0);
    *asked = count.asked;
    return result;
}

/* A small file cannot make a player ask for more than a small multiple of what the model itself takes. */
TEST(counts_that_nothing_bears_out_are_refused)
{
    enum { COPIES = 20000 };
    fixture f = fixture_make(false);
    spl_model *m = &f.trained->model;
    size_t honest, asked;
    int64_t named = m->rig.held_count;
    for (int32_t i = 0; i < m->domain_count; i++) named += m->domain[i].vertex_count;
    REQUIRE(reload(&f, &honest) == SUPPLE_OK && m->interface_count > 0);
    printf("    %d vertices, %d named; %zu kB asked for\n", m->vertex_count, (int)named, honest >> 10);
    CHECK(m->vertex_count < 8 * named); /* far from the bound */
    const int32_t claims[] = {1 << 20, 1 << 26, INT32_MAX / 4};
    int32_t vertices = m->vertex_count;
    for (int k = 0; k < 3; k++) {
        m->vertex_count = claims[k];
        CHECK(reload(&f, &asked) == SUPPLE_ERROR_INPUT);
        CHECK(asked < honest);
    }
    m->vertex_count = vertices;
    spl_interface *one = m->interface, empty = *one, *many = calloc(COPIES, sizeof *many);
    int32_t count = m->interface_count;
    empty.count = 0;
    m->interface_count = COPIES;
    m->interface = many;
    for (int ties = 0; ties < 2; ties++) { /* the same two domains over and over: by nothing, by what ties them */
        for (int k = 0; k < COPIES; k++) many[k] = ties ? *one : empty;
        if (ties) m->interface_count = 200;
        CHECK(reload(&f, &asked) == SUPPLE_ERROR_INPUT);
        CHECK(asked < 4 * honest);
    }
    m->interface = one;
    m->interface_count = count;
    CHECK(reload(&f, &asked) == SUPPLE_OK && asked == honest);
    free(many);
    fixture_free(&f);
}

static bool all_finite(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* Poses and times of any size: an error after which the last state stands, or finite positions. A player that was asked
 * for all of it in between goes on as one that was not. */
TEST(whatever_is_asked_positions_are_finite)
{
    static const float sizes[] = {1e-38f, 1e-20f, 1e6f, 1e12f, 1e17f, 1e19f, 3e38f};
    static const double times[] = {0, 5e-324, 1e-300, 1e-160, 1e-30, 1e-9, 1 / 60.0, 1, 1e300, INFINITY};
    fixture f = fixture_make(false);
    supple_player *p = player_of(&f, 1, true, false), *calm = player_of(&f, 1, true, false);
    REQUIRE(p && calm);
    int32_t n = supple_model_joint_count(f.model), refused = 0, taken = 0;
    size_t numbers = 3 * (size_t)supple_model_vertex_count(f.model);
    float *pose = pose_at(&f, 0.1), *wild = malloc(64 * (size_t)n);
    for (size_t k = 0; k < 7 * 10 * 4; k++) {
        double dt = times[k % 10];
        float size = sizes[k / 10 % 7];
        supple_player_reset(p);
        supple_player_reset(calm);
        for (int i = 0; i < 3; i++) {
            play(&f, p, 0.01 * i, 1 / 60.0);
            play(&f, calm, 0.01 * i, 1 / 60.0);
        }
        memcpy(wild, pose, 64 * (size_t)n);
        for (int32_t i = 0; i < 16 * n; i++) { /* all of it, a joint's, its place alone, all places */
            bool chosen =
                k / 70 == 0 || (k / 70 == 3 ? i % 16 >= 12 : i / 16 == n - 1 && (k / 70 == 1 || i % 16 >= 12));
            if (chosen && i % 4 != 3) wild[i] = k / 70 < 2 ? wild[i] * size : size;
        }
        supple_error error = {0};
        supple_result result = supple_player_step(p, wild, n, dt, &error);
        float *x = positions(&f, p), *y = positions(&f, calm);
        CHECK(all_finite(x, numbers));
        if (result == SUPPLE_OK) taken++;
        if (result != SUPPLE_OK) {
            refused++;
            CHECK(error.message[0] && memcmp(x, y, 4 * numbers) == 0);
            play(&f, p, 0.03, 1 / 60.0);
            play(&f, calm, 0.03, 1 / 60.0);
            free(x);
            free(y);
            x = positions(&f, p), y = positions(&f, calm);
            CHECK(memcmp(x, y, 4 * numbers) == 0);
        }
        free(x);
        free(y);
    }
    printf("    %d refused, %d taken\n", refused, taken);
    CHECK(refused > 50 && taken > 50);
    free(pose);
    free(wild);
    supple_player_destroy(p);
    supple_player_destroy(calm);
    fixture_free(&f);
}

/* Every allocation of loading and of making a player fails once; nothing leaks, and a step allocates nothing. */
TEST(memory)
{
    fixture f = fixture_make(false);
    int32_t n = supple_model_joint_count(f.model);
    float *pose = pose_at(&f, 0.2);
    for (long fail_at = 0, done = 0; !done && fail_at < 100000; fail_at++) {
        failing count = {.fail_at = fail_at};
        supple_config config = supple_config_default();
        supple_model *model = NULL;
        supple_player *p = NULL;
        config.allocator = failing_allocator(&count);
        config.thread_count = 1;
        supple_result result = supple_model_load("playback.supple", &config, &model, NULL);
        if (result == SUPPLE_OK) result = supple_player_create(model, NULL, &config, &p, NULL);
        CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && !p));
        if (result == SUPPLE_OK) {
            long before = count.requests;
            done = 1;
            for (int k = 0; k < 3; k++) CHECK(supple_player_step(p, pose, n, 1 / 60.0, NULL) == SUPPLE_OK);
            CHECK(count.requests == before && fail_at > 50);
        }
        supple_player_destroy(p);
        supple_model_destroy(model);
        CHECK(count.live == 0);
    }
    free(pose);
    fixture_free(&f);
}

TEST_CASES(RUN(plays_as_the_simulation_does), RUN(mirrored_and_scaled), RUN(surface_and_normals), RUN(dynamics),
           RUN(threads_share_the_tables_of_one_player), RUN(bad_requests), RUN(edited_files),
           RUN(flesh_knows_nothing_of_a_teleport), RUN(a_player_takes_a_teleport_as_a_start),
           RUN(counts_that_nothing_bears_out_are_refused), RUN(whatever_is_asked_positions_are_finite), RUN(memory))
