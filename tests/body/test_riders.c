#include "body/riders.h"

#include "body/strays.h"
#include "demo_body.h"

/* A fish: its trunk is flesh, a fin hangs on it, two eyes move with the head alone. */
typedef struct ridden {
    demo_body d;
    spl_pose pose;
    spl_riders_frame frame;
    float *posed, *own, *out; /* tet vertices; scene vertices by the file's skinning; the same and what was added */
    size_t n;
} ridden;

static bool ridden_make(ridden *r)
{
    *r = (ridden){.d = demo_body_of(scene_load(SPL_DATA_DIR "/fish.glb"), 32, 0)};
    if (!r->d.body || spl_pose_init(&r->pose, r->d.scene, NULL) != SUPPLE_OK) return false;
    const spl_body *b = r->d.body;
    size_t m = (size_t)b->tets.vertex_count;
    r->n = (size_t)r->d.scene->vertex_count;
    r->posed = calloc(m, 12);
    r->own = calloc(r->n, 12);
    r->out = calloc(r->n, 12);
    for (size_t v = 0; v < m; v++) spl_v3_to_float(b->tets.position[v], r->posed + 3 * v);
    memcpy(r->own, b->bind, 12 * r->n); /* the file's rest pose is its bind pose */
    return spl_riders_frame_create(&b->riders, &b->allocator, &r->frame, NULL) == SUPPLE_OK;
}

static void ridden_free(ridden *r)
{
    spl_riders_frame_release(&r->frame);
    spl_pose_release(&r->pose);
    free(r->posed);
    free(r->own);
    free(r->out);
    demo_body_free(&r->d);
}

/* Moves the flesh by t, times `slope` along z and 1; what is not flesh stays where it is; returns what was added. */
static void play(ridden *r, spl_vec3 t, double slope)
{
    const spl_body *b = r->d.body;
    float *posed = calloc((size_t)b->tets.vertex_count, 12), *lifted = calloc(r->n, 12);
    for (size_t v = 0; v < (size_t)b->tets.vertex_count; v++) {
        double amount = 1 + slope * (double)r->posed[3 * v + 2];
        spl_v3_to_float(spl_madd(spl_v3_from_float(r->posed + 3 * v), t, amount), posed + 3 * v);
    }
    for (size_t v = 0; v < r->n; v++) {
        double amount = 1 + slope * (double)r->own[3 * v + 2];
        spl_v3_to_float(spl_madd(spl_v3_from_float(r->own + 3 * v), t, amount), lifted + 3 * v);
    }
    memcpy(r->out, r->own, 12 * r->n);
    spl_riders_apply(&b->riders, &r->frame, &r->pose, posed, 1, lifted, NULL, r->out);
    free(posed);
    free(lifted);
}

static spl_vec3 added(const ridden *r, int32_t v)
{
    return spl_sub(spl_v3_from_float(r->out + 3 * (size_t)v), spl_v3_from_float(r->own + 3 * (size_t)v));
}

TEST(flesh_that_does_as_the_file_adds_nothing)
{
    ridden r;
    REQUIRE(ridden_make(&r));
    CHECK(r.d.body->riders.vertex_count > 60 && r.d.body->stray_count == 0);
    play(&r, spl_v3(0, 0, 0), 0);
    double most = 0;
    for (size_t v = 0; v < r.n; v++) most = fmax(most, spl_norm(added(&r, (int32_t)v)));
    CHECK(most < 1e-5);
    ridden_free(&r);
}

TEST(what_lies_on_flesh_goes_along_and_the_rest_stays)
{
    ridden r;
    REQUIRE(ridden_make(&r));
    const spl_roles *roles = &r.d.body->roles;
    spl_vec3 t = spl_v3(0.02, 0.01, 0);
    int near = 0, other = 0;
    play(&r, t, 0);
    for (int32_t v = 0; v < (int32_t)r.n; v++) {
        spl_vec3 d = added(&r, v);
        bool rides = roles->vertex[v] == SUPPLE_ROLE_FOLLOW;
        if (!rides && r.d.body->lifted[v]) CHECK(spl_norm(d) == 0); /* the upsampling's, not ours */
        if (!rides) continue;
        CHECK(spl_norm(d) <= 1.001 * spl_norm(t) && spl_dot(d, t) >= 0);
        near += spl_distance(d, t) < 0.02 * spl_norm(t);
        other += spl_distance(d, t) >= 0.02 * spl_norm(t);
    }
    printf("    %d go along, %d fade\n", near, other);
    CHECK(near >= 68); /* both eyes whole, and the fin's root */
    ridden_free(&r);
}

TEST(what_moves_as_one_is_moved_as_one)
{
    ridden r;
    REQUIRE(ridden_make(&r));
    const spl_roles *roles = &r.d.body->roles;
    play(&r, spl_v3(0.02, 0, 0), 3); /* more in front than behind */
    int32_t checked = 0;
    for (int32_t v = 0; v < (int32_t)r.n; v++)
        for (int32_t u = 0; u < v; u++) {
            if (roles->group[v] < 0 || roles->group[v] != roles->group[u]) continue;
            CHECK(spl_distance(added(&r, v), added(&r, u)) < 1e-6);
            CHECK(spl_norm(added(&r, v)) > 1e-3);
            checked++;
        }
    CHECK(checked > 500);
    ridden_free(&r);
}

/* Good meshes have none, or a few where clothes lie on a body; a vertex whose place is taken from the other end of the
 * body is found. */
TEST(strays_are_found_and_others_are_not)
{
    static const char *const names[] = {"demo:arm", "demo:turtle", SPL_DATA_DIR "/hand.glb",
                                        SPL_DATA_DIR "/person.glb"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        demo_body d = demo_body_of(scene_load(names[i]), 32, 0);
        REQUIRE(d.body);
        printf("    %s: %d of %d\n", names[i], (int)d.body->stray_count, (int)d.scene->vertex_count);
        CHECK(d.body->stray_count * 100 <= 3 * d.scene->vertex_count);
        demo_body_free(&d);
    }
    demo_body d = demo_body_make("demo:arm", 32, 0);
    REQUIRE(d.body);
    spl_body *b = &d.handle->body;
    int32_t v = -1, n = d.scene->vertex_count, count;
    for (int32_t k = 0; k < n && v < 0; k++)
        if (b->lifted[k] && k > n / 3) v = k;
    REQUIRE(v >= 0);
    /* The file's vertex is moved to the arm's other end, where its place is then; its neighbours stay. */
    bool *stray = calloc((size_t)n, sizeof *stray);
    spl_upsample *old = b->upsample;
    float *moved = malloc(12 * (size_t)n);
    memcpy(moved, b->bind, 12 * (size_t)n);
    spl_vec3 p = spl_v3_from_float(b->bind + 3 * (size_t)v), far = p;
    for (int32_t k = 0; k < n; k++) {
        spl_vec3 q = spl_v3_from_float(b->bind + 3 * (size_t)k);
        if (spl_distance(p, q) > spl_distance(p, far)) far = q;
    }
    for (int32_t k = 0; k < n; k++) /* all at one place move: seams */
        if (spl_distance(p, spl_v3_from_float(b->bind + 3 * (size_t)k)) == 0)
            spl_v3_to_float(far, moved + 3 * (size_t)k);
    spl_upsample_visual visual = {.vertex_count = n, .position = moved};
    spl_upsample_options options = spl_upsample_options_default();
    options.normals = false;
    REQUIRE(spl_upsample_create(&b->skin, &visual, &options, NULL, &b->allocator, &b->upsample, NULL) == SUPPLE_OK);
    REQUIRE(spl_strays_find(b, stray, &count, NULL) == SUPPLE_OK);
    CHECK(stray[v] && !b->lifted[v] && count >= 1 && count < 20);
    spl_upsample_destroy(b->upsample);
    b->upsample = old;
    free(stray);
    free(moved);
    demo_body_free(&d);
}

TEST_CASES(RUN(flesh_that_does_as_the_file_adds_nothing), RUN(what_lies_on_flesh_goes_along_and_the_rest_stays),
           RUN(what_moves_as_one_is_moved_as_one), RUN(strays_are_found_and_others_are_not))
