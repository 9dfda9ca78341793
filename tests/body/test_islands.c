#include "body/demo_body.h"
#include "body/islands.h"
#include "core/memory.h"
#include "failing.h"

/* The arm's tets with more of them stuck to a triangle of its surface by some of its corners. */
typedef struct toothed {
    spl_body body; /* only tets and bone are meant */
    int32_t old;   /* vertices of the arm */
} toothed;

static int32_t high_triangle(const spl_tets *t)
{
    int32_t best = 0;
    for (int32_t i = 0; i < t->surface_count; i++)
        if (t->position[t->surface[3 * i]].y > t->position[t->surface[3 * best]].y) best = i;
    return best;
}

/* One tet that has `joined` corners in common with the arm, 0 to 3; with `second`, another one upon it by a face. */
static bool toothed_make(const spl_body *arm, int joined, bool second, toothed *out)
{
    supple_allocator a = spl_allocator_of(NULL);
    const spl_tets *t = &arm->tets;
    const int32_t *corner = t->surface + 3 * high_triangle(t);
    spl_vec3 p[3] = {t->position[corner[0]], t->position[corner[1]], t->position[corner[2]]};
    spl_vec3 n = spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0]));
    double h = sqrt(spl_norm(n));
    n = spl_unit(n, n);
    int32_t fresh = 4 - joined + second, tets = 1 + second;
    *out = (toothed){.old = t->vertex_count};
    if (!spl_tets_create(&out->body.tets, t->vertex_count + fresh, t->tet_count + tets, &a)) return false;
    memcpy(out->body.tets.position, t->position, (size_t)t->vertex_count * sizeof *t->position);
    memcpy(out->body.tets.tet, t->tet, 4 * (size_t)t->tet_count * sizeof *t->tet);
    out->body.bone = malloc((size_t)(t->vertex_count + fresh) * sizeof *out->body.bone);
    memcpy(out->body.bone, arm->bone, (size_t)t->vertex_count * sizeof *arm->bone);
    int32_t *tet = out->body.tets.tet + 4 * t->tet_count, next = t->vertex_count;
    for (int i = 0; i < 4; i++) {
        spl_vec3 at = i < 3 ? p[i] : spl_scale(spl_add(p[0], spl_add(p[1], p[2])), 1.0 / 3);
        tet[i] = i < joined ? corner[i] : next;
        if (i >= joined) out->body.tets.position[next++] = spl_madd(at, n, (i < 3 ? 0.4 : 1.2) * h);
    }
    if (second) {
        out->body.tets.position[next] = spl_madd(p[1], n, 1.6 * h);
        tet[4] = tet[1], tet[5] = tet[2], tet[6] = tet[3], tet[7] = next++;
    }
    for (int32_t v = t->vertex_count; v < next; v++) out->body.bone[v] = -1;
    return spl_tets_check(&out->body.tets, "tets", NULL, NULL) == SUPPLE_OK;
}

static void toothed_free(toothed *t)
{
    spl_tets_release(&t->body.tets);
    free(t->body.bone);
}

/* Joined by a face a tooth is flesh like any other; by less it would swing, and is held by itself. */
TEST(pieces_that_swing_are_islands)
{
    supple_allocator a = spl_allocator_of(NULL);
    demo_body arm = demo_body_of(demo_scene("arm", 0.3), 10, 0);
    REQUIRE(arm.body);
    for (int joined = 0; joined <= 3; joined++)
        for (int second = 0; second < 2; second++) {
            toothed t;
            int32_t count = -1, wrong = 0;
            REQUIRE(toothed_make(arm.body, joined, second, &t));
            int32_t *island = calloc((size_t)t.body.tets.vertex_count, sizeof *island);
            REQUIRE(spl_islands_find(&t.body.tets, t.body.bone, &a, island, &count, NULL) == SUPPLE_OK);
            CHECK(count == (joined < 3));
            for (int32_t v = 0; v < t.body.tets.vertex_count; v++)
                wrong += (island[v] >= 0) != (joined < 3 && v >= t.old);
            CHECK(wrong == 0);
            free(island);
            toothed_free(&t);
        }
    demo_body_free(&arm);
}

/* Bones that hold three of its vertices make a piece firm; two, or three in line, do not. */
TEST(held_vertices_make_pieces_firm)
{
    supple_allocator a = spl_allocator_of(NULL);
    demo_body arm = demo_body_of(demo_scene("arm", 0.3), 10, 0);
    REQUIRE(arm.body);
    for (int held = 0; held <= 4; held++) {
        toothed t;
        int32_t count = -1;
        REQUIRE(toothed_make(arm.body, 0, true, &t));
        int32_t *island = calloc((size_t)t.body.tets.vertex_count, sizeof *island);
        for (int i = 0; i < held; i++) t.body.bone[t.old + i] = 1;
        if (held == 4) { /* three, but in line */
            t.body.bone[t.old + 3] = -1;
            t.body.tets.position[t.old + 2] = spl_lerp(t.body.tets.position[t.old], t.body.tets.position[t.old + 1], 2);
        }
        REQUIRE(spl_islands_find(&t.body.tets, t.body.bone, &a, island, &count, NULL) == SUPPLE_OK);
        CHECK(count == (held == 3 ? 0 : 1));
        for (int32_t v = t.old; v < t.body.tets.vertex_count; v++) { /* what is held needs no spring */
            bool hangs = count && t.body.bone[v] < 0;
            CHECK((island[v] >= 0) == hangs);
        }
        free(island);
        toothed_free(&t);
    }
    demo_body_free(&arm);
}

TEST(memory_may_run_out)
{
    demo_body arm = demo_body_of(demo_scene("arm", 0.3), 10, 0);
    REQUIRE(arm.body);
    int32_t *island = calloc((size_t)arm.body->tets.vertex_count, sizeof *island), count;
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        supple_result result = spl_islands_find(&arm.body->tets, arm.body->bone, &a, island, &count, NULL);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        ended = result == SUPPLE_OK && f.requests <= n;
        CHECK(f.live == 0);
    }
    CHECK(n > 8);
    free(island);
    demo_body_free(&arm);
}

TEST_CASES(RUN(pieces_that_swing_are_islands), RUN(held_vertices_make_pieces_firm), RUN(memory_may_run_out))
