#include "body/demo_body.h"
#include "core/memory.h"
#include "core/threads.h"
#include "math/mat3.h"
#include "rig/puppet.h"

/* The user's own tetrahedra, made in the mesh's space or in what a viewer shows of the rest pose. */

typedef struct heard {
    int32_t warnings, notes;
} heard;

static void hear(void *user, supple_log_level level, const char *message)
{
    heard *h = user;
    if (!strstr(message, "tetrahedra")) return;
    h->warnings += level == SUPPLE_LOG_WARNING;
    h->notes += level != SUPPLE_LOG_WARNING;
}

/* Makes a body of the tets of `from`, moved by a map; false if that fails. */
static bool remake(const spl_body *from, const spl_mat4 *map, heard *h, spl_body *out)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    supple_error error = {0};
    spl_body_options options = spl_body_options_default();
    spl_tets moved;
    spl_pool *pool = NULL;
    config.log = hear;
    config.log_user = h;
    if (!spl_tets_create(&moved, from->tets.vertex_count, from->tets.tet_count, &a)) return false;
    memcpy(moved.tet, from->tets.tet, 4 * (size_t)moved.tet_count * sizeof *moved.tet);
    for (int32_t v = 0; v < moved.vertex_count; v++) moved.position[v] = spl_mat4_point(map, from->tets.position[v]);
    options.tets = &moved;
    bool ok = spl_tets_check(&moved, "tets", NULL, NULL) == SUPPLE_OK &&
              spl_pool_create(&config, &pool, NULL) == SUPPLE_OK &&
              spl_body_make(from->scene, &options, &config, pool, out, &error) == SUPPLE_OK;
    if (!ok) printf("    %s\n", error.message);
    spl_pool_destroy(pool);
    spl_tets_release(&moved);
    return ok;
}

static double farthest(const spl_tets *a, const spl_tets *b)
{
    double most = 0;
    for (int32_t v = 0; v < a->vertex_count; v++) most = fmax(most, spl_distance(a->position[v], b->position[v]));
    return most;
}

/* The rest pose is the mesh turned, scaled and mirrored: tets made of either come to lie in the mesh's space. */
TEST(tets_of_the_scene_are_taken_back)
{
    static const double scale[][3] = {{1, 1, 1}, {0.01, 0.01, 0.01}, {50, 50, 50}, {-1, 1, 1}};
    for (int i = 0; i < 4; i++) {
        supple_scene *scene = demo_scene("arm", 0.3);
        puppet p = puppet_make(scene);
        spl_mat3 S = spl_mat3_diagonal(scale[i][0], scale[i][1], scale[i][2]);
        spl_mat4 map = spl_mat3_affine(&S, spl_v3(0, 0, 0)), same = spl_mat4_identity();
        spl_mat4 turn = puppet_rigid(spl_v3(1, 0.3, 0), -90, spl_v3(0.3, 0.2, 0.7));
        map = spl_mat4_mul(&turn, &map);
        puppet_rest(&p);
        puppet_keep(&p, &map);
        demo_body d = demo_body_of(scene, 12, 0);
        REQUIRE(d.body);
        for (int moved = 0; moved < 2; moved++) {
            heard h = {0};
            spl_body body = {0};
            REQUIRE(remake(d.body, moved ? &map : &same, &h, &body));
            CHECK(h.warnings == 0 && h.notes == moved);
            CHECK_NEAR(farthest(&body.tets, &d.body->tets) / body.surface.diagonal, 0, 1e-6);
            for (int32_t k = 0; k < body.tets.tet_count; k++) CHECK(spl_tets_volume(&body.tets, k) > 0);
            CHECK(body.tets.surface_count == d.body->tets.surface_count && body.attach.constrained > 0);
            spl_body_release(&body);
        }
        puppet_free(&p);
        demo_body_free(&d);
    }
}

TEST(tets_of_something_else_are_told_or_refused)
{
    demo_body d = demo_body_of(demo_scene("arm", 0.3), 12, 0);
    REQUIRE(d.body);
    spl_mat4 beside = puppet_rigid(spl_v3(0, 0, 1), 0, spl_v3(0, 0.08, 0));
    spl_mat4 away = puppet_rigid(spl_v3(0, 0, 1), 90, spl_v3(0, 0.4, 0));
    heard h = {0};
    spl_body body = {0};
    REQUIRE(remake(d.body, &beside, &h, &body));
    CHECK(h.warnings == 1 && h.notes == 0);
    spl_body_release(&body);
    h = (heard){0};
    body = (spl_body){0};
    CHECK(!remake(d.body, &away, &h, &body)); /* half a diagonal away: of another character */
    CHECK(h.warnings == 0 && h.notes == 0);
    spl_body_release(&body);
    demo_body_free(&d);
}

TEST_CASES(RUN(tets_of_the_scene_are_taken_back), RUN(tets_of_something_else_are_told_or_refused))
