#include "body/demo_body.h"
#include "core/memory.h"
#include "trust/pops.h"
#include "trust/trust.h"

#include <supple/supple.h>

/* The arm's mesh in its rest pose, and in a bent one that tells its weights apart. */
typedef struct judged {
    supple_scene *scene;
    spl_part *part;
    float *rest, *bent, *x;
    spl_trust_mesh mesh;
    spl_harm_room harm;
    spl_trust trust;
    size_t vertices;
    bool made;
} judged;

static void read_pose(const supple_scene *scene, int32_t clip, double time, float *out)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.method = "linear";
    if (supple_sim_create(scene, &sc, NULL, &sim, NULL) != SUPPLE_OK) return;
    CHECK(supple_sim_step_clip(sim, clip, time, NULL) == SUPPLE_OK);
    supple_sim_read_positions(sim, out, 12);
    supple_sim_destroy(sim);
}

/* What is measured points into it: it stays where it is. */
static void judged_make(judged *out)
{
    *out = (judged){.scene = demo_scene("arm", 0.3)};
    supple_allocator a = spl_allocator_of(NULL);
    int32_t parts = 0;
    if (!out->scene) return;
    out->vertices = (size_t)supple_scene_vertex_count(out->scene);
    out->part = spl_parts_new(out->scene, &a, &parts);
    out->rest = calloc(out->vertices, 3 * sizeof(float));
    out->bent = calloc(out->vertices, 3 * sizeof(float));
    out->x = calloc(out->vertices, 3 * sizeof(float));
    read_pose(out->scene, -1, 0, out->rest);
    read_pose(out->scene, 0, 1, out->bent);
    memcpy(out->x, out->rest, out->vertices * 3 * sizeof(float));
    spl_trust_mesh_input in = {out->scene, out->part, parts, out->rest, out->bent, NULL};
    out->made = spl_trust_mesh_make(&in, &a, &out->mesh, NULL) == SUPPLE_OK &&
                spl_harm_room_make(&out->mesh, &a, &out->harm, NULL) == SUPPLE_OK &&
                spl_trust_make(&out->mesh, &a, &out->trust, NULL) == SUPPLE_OK;
}

static void judged_free(judged *j)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_trust_release(&j->trust);
    spl_harm_room_release(&j->harm);
    spl_trust_mesh_release(&j->mesh);
    spl_free(&a, j->part);
    free(j->rest);
    free(j->bent);
    free(j->x);
    supple_scene_destroy(j->scene);
}

static double length_of(const float *x, const int32_t *edge)
{
    return spl_distance(spl_v3_from_float(x + 3 * (size_t)edge[0]), spl_v3_from_float(x + 3 * (size_t)edge[1]));
}

static void see(judged *j, const float *flesh)
{
    spl_trust_blend(&j->mesh, j->trust.value, j->rest, flesh, j->x);
    spl_harm_measure(&j->harm, j->rest, j->x, NULL);
    spl_trust_frame frame = {j->rest, flesh, j->x, &j->harm, 1, false, false};
    spl_trust_see(&j->trust, &frame);
    spl_trust_settle(&j->trust);
}

TEST(what_moves_as_the_file_says_has_no_harm)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    spl_harm_measure(&j.harm, j.rest, j.rest, NULL);
    const supple_harm *h = &j.harm.all;
    CHECK(h->torn == 0 && h->stretched == 0 && h->folded == 0 && h->lost == 0 && h->cracks == 0 && h->far == 0);
    CHECK(!supple_harm_exceeds(h, false));
    spl_harm_measure(&j.harm, j.bent, j.bent, NULL);
    CHECK(!supple_harm_exceeds(h, false));
    CHECK(!(fabs(h->strain - 1) > 1e-12)); /* NAN where own skinning strains nothing */
    judged_free(&j);
}

/* Edges of the mesh by another way: every triangle's sides, each counted by its triangles. */
static int torn_by_triangles(const judged *j, const float *x)
{
    const spl_trust_mesh *m = &j->mesh;
    size_t triangles = (size_t)m->first_triangle[m->part_count];
    double torn = 0;
    for (size_t t = 0; t < triangles; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t e[2] = {m->triangle[3 * t + k], m->triangle[3 * t + (k + 1) % 3]};
            double rest = length_of(j->rest, e), now = length_of(x, e);
            if (!(now > 3 * rest * (1 + 1e-5)) || !(now > 0.01 * m->diagonal)) continue;
            int shared = 0;
            for (size_t s = 0; s < triangles; s++) {
                const int32_t *c = m->triangle + 3 * s;
                shared +=
                    (c[0] == e[0] || c[1] == e[0] || c[2] == e[0]) && (c[0] == e[1] || c[1] == e[1] || c[2] == e[1]);
            }
            torn += 1.0 / shared;
        }
    return (int)floor(torn + 0.5);
}

TEST(torn_edges_are_counted)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    for (size_t v = 10; v < 14; v++) j.x[3 * v] += (float)(0.1 * j.mesh.diagonal);
    spl_harm_measure(&j.harm, j.rest, j.x, NULL);
    CHECK(j.harm.all.torn > 0);
    CHECK(j.harm.all.torn == torn_by_triangles(&j, j.x));
    CHECK(strcmp(supple_harm_exceeds(&j.harm.all, true), "torn") == 0);
    judged_free(&j);
}

static size_t long_axis(const judged *j)
{
    size_t axis = 0;
    float most = 0;
    for (size_t c = 0; c < 3; c++) {
        float low = j->rest[c], high = j->rest[c];
        for (size_t v = 0; v < j->vertices; v++) {
            low = fminf(low, j->rest[3 * v + c]);
            high = fmaxf(high, j->rest[3 * v + c]);
        }
        if (!(high - low > most)) continue;
        most = high - low;
        axis = c;
    }
    return axis;
}

TEST(folds_and_distances_are_seen)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    double off = 0.08 * j.mesh.diagonal;
    for (size_t v = 0; v < j.vertices; v++) j.x[3 * v + 1] = j.rest[3 * v + 1] + (float)off; /* all of it */
    spl_harm_measure(&j.harm, j.rest, j.x, NULL);
    CHECK(j.harm.all.torn == 0 && j.harm.all.stretched == 0 && j.harm.all.folded == 0);
    CHECK_NEAR(j.harm.all.lost, 0.08, 1e-4);
    CHECK_NEAR(j.harm.all.far, 0.08, 2e-4);
    CHECK(strcmp(supple_harm_exceeds(&j.harm.all, false), "lost") == 0);
    CHECK(!supple_harm_exceeds(&j.harm.all, true)); /* it swings */
    size_t axis = long_axis(&j);
    float middle = j.rest[3 * (j.vertices / 2) + axis];
    for (size_t v = 0; v < j.vertices; v++) { /* a crease: what is beyond the middle goes back over it */
        memcpy(j.x + 3 * v, j.rest + 3 * v, 3 * sizeof(float));
        if (j.rest[3 * v + axis] > middle) j.x[3 * v + axis] = 2 * middle - j.rest[3 * v + axis];
    }
    spl_harm_measure(&j.harm, j.rest, j.x, NULL);
    CHECK(j.harm.all.folded > 0);
    judged_free(&j);
}

/* The field by the slow way: relaxed until nothing changes. */
static void slow_field(const spl_trust *t, const float *bound, double *out)
{
    const spl_trust_mesh *m = t->mesh;
    for (int32_t p = 0; p < m->point_count; p++) out[p] = (double)bound[p];
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t p = 0; p < m->point_count; p++)
            for (int32_t k = m->link_first[p]; k < m->link_first[p + 1]; k++) {
                int32_t q = m->link[k];
                double reach = fmax(fmax((double)t->reach[p], (double)t->reach[q]), 1e-30);
                double most = out[q] + 0.5 * (double)m->link_length[k] / reach;
                if (most < out[p] - 1e-9) {
                    out[p] = most;
                    changed = true;
                }
            }
    }
}

TEST(trust_is_the_largest_field_that_tears_nothing)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    spl_trust *t = &j.trust;
    size_t n = (size_t)j.mesh.point_count;
    float *bound = calloc(n, sizeof *bound);
    double *slow = calloc(n, sizeof *slow);
    for (size_t p = 0; p < n; p++) {
        t->reach[p] = (float)(j.mesh.diagonal * 0.02 * (1 + (double)(p % 7)));
        bound[p] = p % 97 == 5 ? 0.1f * (float)(p % 5) : 1;
    }
    slow_field(t, bound, slow);
    spl_trust_spread(t, bound);
    int lower = 0;
    for (size_t p = 0; p < n; p++) {
        CHECK_NEAR(bound[p], slow[p], 1e-5);
        lower += bound[p] < 1;
        for (int32_t k = j.mesh.link_first[p]; k < j.mesh.link_first[p + 1]; k++) {
            int32_t q = j.mesh.link[k];
            double reach = fmax((double)t->reach[p], (double)t->reach[q]);
            CHECK(fabs((double)bound[p] - (double)bound[q]) * reach <=
                  0.5 * (double)j.mesh.link_length[k] + 1e-6 * j.mesh.diagonal);
        }
    }
    CHECK(lower > 50); /* else nothing spread */
    free(bound);
    free(slow);
    judged_free(&j);
}

TEST(a_wreck_is_unharmed_through_trust)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    float *flesh = calloc(j.vertices, 3 * sizeof *flesh);
    memcpy(flesh, j.rest, j.vertices * 3 * sizeof *flesh);
    for (size_t v = 0; v < j.vertices; v += 17) /* single vertices far out, of every copy alike */
        for (size_t w = 0; w < j.vertices; w++)
            if (j.mesh.point[w] == j.mesh.point[v])
                flesh[3 * w + 2] = j.rest[3 * w + 2] + (float)(0.1 * j.mesh.diagonal);
    spl_harm_measure(&j.harm, j.rest, flesh, NULL);
    CHECK(j.harm.all.torn > 20);
    for (int k = 0; k < 4; k++) see(&j, flesh);
    spl_trust_blend(&j.mesh, j.trust.value, j.rest, flesh, j.x);
    spl_harm_measure(&j.harm, j.rest, j.x, NULL);
    CHECK(j.harm.all.torn == 0);
    CHECK(!supple_harm_exceeds(&j.harm.all, false));
    free(flesh);
    judged_free(&j);
}

TEST(a_part_that_is_sound_stays_as_it_is)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    float *flesh = calloc(j.vertices, 3 * sizeof *flesh);
    for (size_t v = 0; v < j.vertices; v++) { /* fatter by a fifth; one end torn off */
        flesh[3 * v] = j.rest[3 * v];
        for (size_t c = 1; c < 3; c++) flesh[3 * v + c] = 1.2f * j.rest[3 * v + c];
    }
    size_t axis = long_axis(&j);
    float end = j.rest[axis];
    for (size_t v = 0; v < j.vertices; v++) end = fmaxf(end, j.rest[3 * v + axis]);
    for (size_t v = 0; v < j.vertices; v++)
        if (j.rest[3 * v + axis] > end - 0.02f) flesh[3 * v + axis] += (float)(0.2 * j.mesh.diagonal);
    for (int k = 0; k < 4; k++) see(&j, flesh);
    int full = 0, none = 0;
    for (int32_t p = 0; p < j.mesh.point_count; p++) {
        full += j.trust.value[p] == 1;
        none += j.trust.value[p] < 0.3f;
    }
    CHECK(none > 0);
    CHECK(full > j.mesh.point_count / 2);
    CHECK(!supple_harm_exceeds(&j.harm.all, false));
    free(flesh);
    judged_free(&j);
}

/* A piece that is carried off, jumps, and a crease: each is taken back as far as it must be, and no farther. */
TEST(pieces_creases_and_jumps_are_taken_back)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    float *flesh = calloc(j.vertices, 3 * sizeof *flesh);
    for (size_t i = 0; i < 3 * j.vertices; i++)
        flesh[i] = j.rest[i] + (i % 3 == 1 ? (float)(0.05 * j.mesh.diagonal) : 0);
    for (int k = 0; k < 3; k++) see(&j, flesh);
    see(&j, flesh);
    CHECK(j.harm.all.lost < 0.03 && j.harm.all.lost > 0.015);
    spl_trust_reset(&j.trust);
    size_t axis = long_axis(&j);
    double wave = 0.2 * j.mesh.diagonal, height = 0.05 * j.mesh.diagonal; /* steep enough to fold, and not far */
    for (size_t v = 0; v < j.vertices; v++) {
        memcpy(flesh + 3 * v, j.rest + 3 * v, 3 * sizeof *flesh);
        flesh[3 * v + axis] += (float)(height * sin(2 * M_PI * (double)j.rest[3 * v + axis] / wave));
    }
    spl_harm_measure(&j.harm, j.rest, flesh, NULL);
    CHECK(j.harm.all.folded > 0.01);
    for (int k = 0; k < 8; k++) see(&j, flesh);
    CHECK(j.harm.all.folded <= 0.01);
    spl_trust_reset(&j.trust);
    for (size_t v = 0; v < j.vertices; v++) flesh[v] = v % 2 ? 1 : 0.5f; /* what would be allowed of each jump */
    spl_trust_see_pops(&j.trust, flesh, 1);
    CHECK_NEAR(j.trust.seed[j.mesh.point[0]], 0.5, 1e-6);
    free(flesh);
    judged_free(&j);
}

TEST(blending_keeps_the_bits_at_both_ends)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    size_t bytes = j.vertices * 3 * sizeof(float);
    for (int32_t p = 0; p < j.mesh.point_count; p++) j.trust.value[p] = 1;
    spl_trust_blend(&j.mesh, j.trust.value, j.rest, j.bent, j.x);
    CHECK(memcmp(j.x, j.bent, bytes) == 0);
    for (int32_t p = 0; p < j.mesh.point_count; p++) j.trust.value[p] = 0;
    spl_trust_blend(&j.mesh, j.trust.value, j.rest, j.bent, j.x);
    CHECK(memcmp(j.x, j.rest, bytes) == 0);
    judged_free(&j);
}

TEST(jumps_of_flesh_are_seen_and_those_of_the_motion_are_not)
{
    judged j;
    judged_make(&j);
    REQUIRE(j.made);
    spl_pops pops;
    supple_allocator a = spl_allocator_of(NULL);
    REQUIRE(spl_pops_make(&j.mesh, &a, &pops, NULL) == SUPPLE_OK);
    float *own = calloc(j.vertices, 3 * sizeof *own);
    double most[2] = {0, 0};
    for (int kind = 0; kind < 2; kind++) { /* flesh jumps alone in frame 5; then the motion does, and flesh with it */
        spl_pops_reset(&pops);
        for (int f = 0; f < 10; f++) {
            float motion = kind == 1 && f == 5 ? (float)(0.1 * j.mesh.diagonal) : 0;
            float added = f == 5 ? (float)(0.02 * j.mesh.diagonal) : 0;
            for (size_t i = 0; i < 3 * j.vertices; i++) {
                own[i] = j.rest[i] + (i % 3 == 1 ? motion : 0);
                j.x[i] = own[i] + (i % 3 == 1 ? added : 0);
            }
            most[kind] = fmax(most[kind], spl_pops_push(&pops, own, j.x, NULL));
        }
        most[kind] = fmax(most[kind], spl_pops_finish(&pops, NULL));
    }
    CHECK(most[0] == 1);
    CHECK(most[1] == 0);
    free(own);
    spl_pops_release(&pops);
    judged_free(&j);
}

TEST_CASES(RUN(what_moves_as_the_file_says_has_no_harm), RUN(torn_edges_are_counted), RUN(folds_and_distances_are_seen),
           RUN(trust_is_the_largest_field_that_tears_nothing), RUN(a_wreck_is_unharmed_through_trust),
           RUN(a_part_that_is_sound_stays_as_it_is), RUN(pieces_creases_and_jumps_are_taken_back),
           RUN(blending_keeps_the_bits_at_both_ends), RUN(jumps_of_flesh_are_seen_and_those_of_the_motion_are_not))
