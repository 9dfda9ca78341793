#include "body/demo_body.h"
#include "body/force_file.h"
#include "core/memory.h"
#include "failing.h"

/* The forces of a text on a body; check .vertex_count for success. */
static spl_force_set forces_of(const spl_body *body, const char *text)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_force_file file;
    spl_force_set set = {0};
    if (spl_force_file_parse(text, strlen(text), "f.json", &a, &file, &error) != SUPPLE_OK ||
        spl_force_set_make(body, &file, &a, &set, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    spl_force_file_release(&file);
    return set;
}

static spl_vec3 at(const double *f, int32_t v)
{
    return spl_v3(f[3 * v], f[3 * v + 1], f[3 * v + 2]);
}

TEST(nine_vertices_of_the_sack_are_pushed)
{
    demo_body d = demo_body_make("demo:sack", 24, 0);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_force_file file;
    spl_force_set set;
    REQUIRE(d.body);
    REQUIRE(spl_force_file_load(SPL_SOURCE_DIR "/examples/push.json", &a, &file, &error) == SUPPLE_OK);
    REQUIRE(file.force_count == 1 && file.force[0].vertex_count == 9);
    REQUIRE(spl_force_set_make(d.body, &file, &a, &set, &error) == SUPPLE_OK);
    int32_t n = d.body->tets.vertex_count;
    double *f = calloc((size_t)n, 3 * sizeof *f);
    spl_force_set_at(&set, 40, f);
    /* The whole force, at the nine vertices' place: the same total and the same moment about any point. */
    spl_vec3 total = {0}, moment = {0}, expected = {0};
    double farthest = 0;
    spl_vec3 first = spl_v3_from_float(d.body->bind + 3 * file.force[0].vertex[0]);
    for (int32_t v = 0; v < n; v++) {
        total = spl_add(total, at(f, v));
        moment = spl_add(moment, spl_cross(d.body->tets.position[v], at(f, v)));
        if (spl_norm(at(f, v)) > 0) farthest = fmax(farthest, spl_distance(d.body->tets.position[v], first));
    }
    for (int i = 0; i < 9; i++) {
        spl_vec3 x = spl_v3_from_float(d.body->bind + 3 * file.force[0].vertex[i]);
        expected = spl_add(expected, spl_cross(x, spl_v3(0, 0, -40.0 / 9)));
    }
    CHECK_NEAR(total.x, 0, 1e-12);
    CHECK_NEAR(total.y, 0, 1e-12);
    CHECK_NEAR(total.z, -40, 1e-9);
    CHECK_NEAR(spl_distance(moment, expected), 0, 0.02 * spl_norm(expected));
    CHECK(farthest < 8 * d.body->flesh.cell);
    /* Frames 5 to 40, rising from 5 to 15. */
    const int32_t frame[] = {-3, 4, 5, 10, 15, 40, 41};
    const double strength[] = {0, 0, 0, 0.5, 1, 1, 0};
    for (int i = 0; i < 7; i++) {
        double z = 0;
        spl_force_set_at(&set, frame[i], f);
        for (int32_t v = 0; v < n; v++) z += f[3 * v + 2];
        CHECK_NEAR(z, -40 * strength[i], 1e-9);
    }
    free(f);
    spl_force_set_release(&set);
    spl_force_file_release(&file);
    demo_body_free(&d);
}

TEST(work_is_the_same_on_both_meshes)
{
    /* Any motion of the tets, small enough to leave the frames of offsets alone: f_visual . dx_visual = f . dx */
    demo_body d = demo_body_make("demo:sack", 24, 0);
    REQUIRE(d.body);
    spl_force_set set = forces_of(d.body, "{\"forces\":[{\"vertices\":[100],\"force\":[3,4,5]}]}");
    REQUIRE(set.vertex_count);
    size_t n = (size_t)d.body->tets.vertex_count, m = (size_t)d.scene->vertex_count;
    double *f = calloc(n, 3 * sizeof *f), work = 0;
    spl_vec3 *x = calloc(n, sizeof *x);
    float *rest = calloc(m, 12), *moved = calloc(m, 12);
    spl_upsample_frame *frame;
    REQUIRE(spl_upsample_frame_create(d.body->upsample, &d.body->allocator, &frame, NULL) == SUPPLE_OK);
    spl_force_set_at(&set, 0, f);
    for (size_t v = 0; v < n; v++) {
        spl_vec3 p = d.body->tets.position[v];
        spl_vec3 by = spl_v3(0.02 * sin(9 * p.y), 0.01 * cos(7 * p.x), 0.02 * sin(8 * p.x + 3 * p.y));
        x[v] = spl_add(p, by);
        work += f[3 * v] * by.x + f[3 * v + 1] * by.y + f[3 * v + 2] * by.z;
    }
    spl_upsample_apply(d.body->upsample, frame, NULL, (const double *)d.body->tets.position,
                       &(spl_upsample_target){.position = rest, .position_stride = 12});
    spl_upsample_apply(d.body->upsample, frame, NULL, (const double *)x,
                       &(spl_upsample_target){.position = moved, .position_stride = 12});
    spl_vec3 by = spl_sub(spl_v3_from_float(moved + 300), spl_v3_from_float(rest + 300));
    CHECK_NEAR(work, 3 * by.x + 4 * by.y + 5 * by.z, 2e-3);
    CHECK(fabs(work) > 0.02);
    free(f);
    free(x);
    free(rest);
    free(moved);
    spl_upsample_frame_destroy(frame);
    spl_force_set_release(&set);
    demo_body_free(&d);
}

TEST(balls_and_joints_share_evenly)
{
    demo_body d = demo_body_make("demo:arm", 28, 0);
    REQUIRE(d.body);
    const spl_bone *lower = &d.body->bones.bone[1];
    spl_vec3 c = lower->tail;
    const char *joint = d.scene->node[lower->node].name;
    double radius = 0.35 * spl_distance(lower->head, lower->tail);
    char text[400];
    snprintf(text, sizeof text,
             "{\"forces\":[{\"sphere\":{\"center\":[%.17g,%.17g,%.17g],\"radius\":%.17g},\"force\":[1,0,0]},"
             "{\"joint\":\"%s\",\"force\":[0,2,0],\"ramp\":4}]}",
             c.x, c.y, c.z, radius, joint);
    spl_force_set set = forces_of(d.body, text);
    REQUIRE(set.vertex_count);
    int32_t n = set.vertex_count, inside = 0, below = 0, wrong = 0;
    double *f = calloc((size_t)n, 3 * sizeof *f), x = 0, y = 0;
    spl_force_set_at(&set, 2, f); /* half of the ramp */
    for (int32_t v = 0; v < n; v++) {
        spl_vec3 p = d.body->tets.position[v];
        bool in = d.body->bone[v] < 0 && spl_distance(p, c) <= radius;
        inside += in;
        below += f[3 * v + 1] > 0;
        wrong += in != (f[3 * v] > 0) || f[3 * v + 2] != 0 || (d.body->bone[v] >= 0 && spl_norm(at(f, v)) > 0);
        /* The joint's flesh begins at the elbow. */
        double s = spl_dot(spl_sub(p, lower->head), spl_unit(spl_sub(lower->tail, lower->head), spl_v3(1, 0, 0)));
        if (f[3 * v + 1] > 0) wrong += s < -2 * d.body->flesh.cell;
        if (d.body->bone[v] < 0 && s > 2 * d.body->flesh.cell) wrong += f[3 * v + 1] == 0;
        x += f[3 * v];
        y += f[3 * v + 1];
    }
    REQUIRE(inside > 4 && below > inside);
    for (int32_t v = 0; v < n; v++) {
        wrong += f[3 * v] > 0 && fabs(f[3 * v] - 1.0 / inside) > 1e-15;
        wrong += f[3 * v + 1] > 0 && fabs(f[3 * v + 1] - 1.0 / below) > 1e-15;
    }
    CHECK(wrong == 0);
    CHECK_NEAR(x, 1, 1e-12);
    CHECK_NEAR(y, 1, 1e-12);
    free(f);
    spl_force_set_release(&set);
    demo_body_free(&d);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

static bool refused(const char *text, size_t size, const char *first, const char *second)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_force_file file;
    supple_result result = spl_force_file_parse(text, size, "f.json", &a, &file, &error);
    bool good = result == SUPPLE_ERROR_INPUT && error.code == result && strncmp(error.message, "f.json: ", 8) == 0 &&
                strstr(error.message, first) && strstr(error.message, second) && !strchr(error.message, '\n') &&
                !file.force && !file.name;
    if (!good) printf("    %.100s\n    -> '%s', not '%s' and '%s'\n", text, error.message, first, second);
    if (result == SUPPLE_OK) spl_force_file_release(&file);
    return good;
}

#define FORCE(body) "{\"forces\":[{\"name\":\"p\"," body "}]}"
#define UP          "\"force\":[0,1,0]"

static const char *const bad[][3] = {
    {"", "not valid JSON", ""},
    {"3", "", "not an object"},
    {"{}", "has no \"forces\"", ""},
    {"{\"forces\":3}", "\"forces\" is not a list", ""},
    {"{\"forces\":[3]}", "forces[0]", "is not an object"},
    {"{\"forces\":[],\"more\":1}", "unknown key \"more\"", "forces"},
    {FORCE("\"joint\":\"x\""), "force 'p'", "needs \"force\""},
    {FORCE(UP), "force 'p'", "exactly one"},
    {FORCE("\"joint\":\"x\",\"vertices\":[1]," UP), "force 'p'", "exactly one"},
    {FORCE("\"joint\":4," UP), "force 'p'", "\"joint\" is not a string"},
    {FORCE("\"vertices\":[]," UP), "force 'p'", "\"vertices\" is empty"},
    {FORCE("\"vertices\":4," UP), "force 'p'", "\"vertices\" is not a list"},
    {FORCE("\"vertices\":[1.5]," UP), "force 'p'", "whole number"},
    {FORCE("\"vertices\":[\"1\"]," UP), "force 'p'", "whole number"},
    {FORCE("\"vertices\":[-1]," UP), "force 'p'", "\"vertices\" has -1"},
    {FORCE("\"vertices\":[4294967297]," UP), "force 'p'", "has 4294967297"},
    {FORCE("\"vertices\":[7,3,7]," UP), "force 'p'", "has 7 twice"},
    {FORCE("\"sphere\":[]," UP), "force 'p'", "\"sphere\" is not an object"},
    {FORCE("\"sphere\":{\"center\":[0,0,0]}," UP), "force 'p'", "\"center\" and \"radius\""},
    {FORCE("\"sphere\":{\"center\":[0,0,0],\"radius\":0}," UP), "force 'p'", "\"radius\" is 0"},
    {FORCE("\"sphere\":{\"center\":[0,0],\"radius\":1}," UP), "force 'p'", "\"center\" is not a list of 3"},
    {FORCE("\"sphere\":{\"center\":[0,0,0],\"radius\":1,\"r\":1}," UP), "force 'p'", "unknown key \"r\""},
    {FORCE("\"joint\":\"x\",\"force\":9"), "force 'p'", "\"force\" is not a list of 3"},
    {FORCE("\"joint\":\"x\",\"force\":[0,0,1e300]"), "force 'p'", "\"force\" holds 1e+300"},
    {FORCE("\"joint\":\"x\",\"frames\":[4]," UP), "force 'p'", "\"frames\" is not a list of 2"},
    {FORCE("\"joint\":\"x\",\"frames\":[4,3]," UP), "force 'p'", "ends before it begins"},
    {FORCE("\"joint\":\"x\",\"frames\":[-1,3]," UP), "force 'p'", "\"frames\" holds -1"},
    {FORCE("\"joint\":\"x\",\"frames\":[0.5,3]," UP), "force 'p'", "whole numbers"},
    {FORCE("\"joint\":\"x\",\"ramp\":-1," UP), "force 'p'", "\"ramp\" has -1"},
    {FORCE("\"joint\":\"x\",\"ramp\":true," UP), "force 'p'", "\"ramp\" wants a whole number"},
    {"{\"forces\":[{\"name\":\"a\",\"joint\":\"x\"," UP "},{\"name\":\"a\",\"joint\":\"x\"," UP "}]}", "force 'a'",
     "\"name\" stands twice"},
};

TEST(a_slip_is_refused_with_its_place)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(refused(bad[i][0], strlen(bad[i][0]), bad[i][1], bad[i][2]));
    const char *good = FORCE("\"sphere\":{\"center\":[0,0,0],\"radius\":1},\"frames\":[3,9],\"ramp\":2," UP);
    for (size_t cut = 0; cut < strlen(good); cut++) CHECK(refused(good, cut, "not valid JSON", ""));
    supple_allocator a = spl_allocator_of(NULL);
    spl_force_file file;
    supple_error error = {0};
    CHECK(spl_force_file_parse(good, strlen(good), "f.json", &a, &file, &error) == SUPPLE_OK && file.force_count == 1);
    CHECK(file.force[0].first == 3 && file.force[0].last == 9 && file.force[0].ramp == 2 && file.force[0].radius == 1);
    spl_force_file_release(&file);
    CHECK(spl_force_file_load("no-such.json", &a, &file, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "no-such.json") != NULL);
}

TEST(a_force_without_flesh_is_refused)
{
    static const char *const none[][2] = {
        {FORCE("\"vertices\":[1,99999999]," UP), "force 'p': vertex 99999999 is not there"},
        {FORCE("\"sphere\":{\"center\":[50,0,0],\"radius\":1}," UP), "force 'p' acts on nothing: no vertex"},
        {FORCE("\"joint\":\"wing\"," UP), "force 'p' acts on nothing: no joint is called 'wing'"},
    };
    demo_body d = demo_body_make("demo:beam", 12, 0);
    supple_allocator a = spl_allocator_of(NULL);
    REQUIRE(d.body);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        spl_force_file file;
        spl_force_set set;
        supple_error error = {0};
        REQUIRE(spl_force_file_parse(none[i][0], strlen(none[i][0]), "f.json", &a, &file, NULL) == SUPPLE_OK);
        CHECK(spl_force_set_make(d.body, &file, &a, &set, &error) == SUPPLE_ERROR_INPUT && !set.force && !set.share);
        bool said = strncmp(error.message, "f.json: ", 8) == 0 && strstr(error.message, none[i][1]);
        if (!said) printf("    '%s' lacks '%s'\n", error.message, none[i][1]);
        CHECK(said);
        spl_force_file_release(&file);
    }
    demo_body_free(&d);
}

TEST(props_cannot_be_pushed)
{
    demo_body d = demo_body_make("demo:turtle", 16, 0);
    REQUIRE(d.body && d.body->part_count == 2);
    const char *text = FORCE("\"vertices\":[0]," UP);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_force_file file;
    spl_force_set set;
    d.handle->body.roles.vertex[0] = SUPPLE_ROLE_RIGID;
    REQUIRE(spl_force_file_parse(text, strlen(text), "f.json", &a, &file, NULL) == SUPPLE_OK);
    CHECK(spl_force_set_make(d.body, &file, &a, &set, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strcmp(error.message, "f.json: force 'p': vertex 0 is in a part that the flesh does not move") == 0);
    spl_force_file_release(&file);
    demo_body_free(&d);
}

TEST(held_vertices_are_told_from_none)
{
    demo_body d = demo_body_make("demo:beam", 12, 0);
    REQUIRE(d.body);
    int32_t held = 0;
    while (held < d.body->tets.vertex_count && d.body->bone[held] < 0) held++;
    REQUIRE(held < d.body->tets.vertex_count);
    spl_vec3 c = d.body->tets.position[held];
    char text[200];
    snprintf(text, sizeof text, FORCE("\"sphere\":{\"center\":[%.17g,%.17g,%.17g],\"radius\":1e-6}," UP), c.x, c.y,
             c.z);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_force_file file;
    spl_force_set set;
    REQUIRE(spl_force_file_parse(text, strlen(text), "f.json", &a, &file, NULL) == SUPPLE_OK);
    CHECK(spl_force_set_make(d.body, &file, &a, &set, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "bones hold all of it") != NULL);
    spl_force_file_release(&file);
    demo_body_free(&d);
}

TEST(every_failed_allocation_is_survived)
{
    const char *text = "{\"forces\":[{\"name\":\"a\",\"vertices\":[3,4]," UP "},{\"joint\":\"bone.1\"," UP
                       "},{\"sphere\":{\"center\":[0,0,0],\"radius\":9}," UP "}]}";
    demo_body d = demo_body_make("demo:beam", 12, 0);
    REQUIRE(d.body);
    bool done = false;
    long fail_at = 0, refusals = 0;
    for (; !done && fail_at < 200; fail_at++) {
        failing counter = {.fail_at = fail_at};
        supple_allocator a = failing_allocator(&counter);
        spl_force_file file;
        spl_force_set set = {0};
        supple_error error = {0};
        supple_result result = spl_force_file_parse(text, strlen(text), "f.json", &a, &file, &error);
        if (result == SUPPLE_OK) result = spl_force_set_make(d.body, &file, &a, &set, &error);
        done = counter.requests <= fail_at;
        /* The trees may keep memory that they could not give back; everything else must say so. */
        CHECK(result == SUPPLE_OK || (!done && result == SUPPLE_ERROR_MEMORY && error.code == result));
        CHECK((result == SUPPLE_OK) == (set.share != NULL));
        refusals += result != SUPPLE_OK;
        spl_force_set_release(&set);
        spl_force_file_release(&file);
        CHECK(counter.live == 0);
    }
    CHECK(done && fail_at > 20 && refusals >= fail_at - 4);
    demo_body_free(&d);
}

TEST_CASES(RUN(nine_vertices_of_the_sack_are_pushed), RUN(work_is_the_same_on_both_meshes),
           RUN(balls_and_joints_share_evenly), RUN(a_slip_is_refused_with_its_place),
           RUN(a_force_without_flesh_is_refused), RUN(props_cannot_be_pushed), RUN(held_vertices_are_told_from_none),
           RUN(every_failed_allocation_is_survived))
