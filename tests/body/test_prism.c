#include "body/prism.h"

#include "body/prism_private.h"
#include "body/solid.h"
#include "core/memory.h"
#include "demo_body.h"
#include "failing.h"

#include <unistd.h>

/* ---- what every body of prisms must be ---- */

/* Volume inside triangles whose vertices are shifted by `shift` in the numbering. */
static double inside(const spl_tets *t, int32_t shift)
{
    double sum = 0;
    for (int32_t i = 0; i < t->surface_count; i++) {
        const int32_t *c = t->surface + 3 * i;
        const spl_vec3 *x = t->position + shift;
        sum += spl_dot(x[c[0]], spl_cross(x[c[1]], x[c[2]])) / 6;
    }
    return sum;
}

typedef struct half_edge {
    int32_t from, to;
} half_edge;

static int by_ends(const void *a, const void *b)
{
    const half_edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Each half-edge stands there once, and so does the one that runs back. */
static bool is_closed(const spl_tets *t)
{
    size_t n = 3 * (size_t)t->surface_count;
    half_edge *all = malloc(n * sizeof *all);
    bool closed = true;
    for (size_t h = 0; h < n; h++) all[h] = (half_edge){t->surface[h], t->surface[h % 3 == 2 ? h - 2 : h + 1]};
    qsort(all, n, sizeof *all, by_ends);
    for (size_t h = 0; h < n; h++) {
        half_edge back = {all[h].to, all[h].from};
        closed = closed && (h == 0 || by_ends(&all[h - 1], &all[h]) != 0);
        closed = closed && bsearch(&back, all, n, sizeof back, by_ends);
    }
    free(all);
    return closed;
}

/* The triangles around each vertex form one fan: as many are met by going round as there are. */
static int32_t broken_fans(const spl_tets *t)
{
    int32_t n = t->vertex_count / 2, *count = calloc((size_t)n, sizeof *count), broken = 0;
    int32_t *parent = malloc(3 * (size_t)t->surface_count * sizeof *parent);
    for (int32_t c = 0; c < 3 * t->surface_count; c++) {
        parent[c] = c;
        count[t->surface[c]]++;
    }
    /* Corners of one vertex that share an edge are joined, until nothing changes: slow, and simple. */
    int32_t *first = calloc((size_t)n + 1, sizeof *first),
            *corner = malloc(3 * (size_t)t->surface_count * sizeof *corner);
    for (int32_t v = 0; v < n; v++) first[v + 1] = first[v] + count[v];
    memset(count, 0, (size_t)n * sizeof *count);
    for (int32_t c = 0; c < 3 * t->surface_count; c++) corner[first[t->surface[c]] + count[t->surface[c]]++] = c;
    for (int32_t v = 0; v < n; v++) {
        int32_t pieces = first[v + 1] - first[v];
        bool again = true;
        while (again) {
            again = false;
            for (int32_t i = first[v]; i < first[v + 1]; i++)
                for (int32_t j = first[v]; j < first[v + 1]; j++) {
                    int32_t a = corner[i], b = corner[j];
                    int32_t after = t->surface[a - a % 3 + (a + 1) % 3], before = t->surface[b - b % 3 + (b + 2) % 3];
                    if (after != before || parent[a] == parent[b]) continue;
                    int32_t old = parent[a] > parent[b] ? parent[a] : parent[b];
                    int32_t low = parent[a] > parent[b] ? parent[b] : parent[a];
                    for (int32_t k = first[v]; k < first[v + 1]; k++)
                        if (parent[corner[k]] == old) parent[corner[k]] = low;
                    pieces--;
                    again = true;
                }
        }
        broken += pieces != 1;
    }
    free(count);
    free(parent);
    free(first);
    free(corner);
    return broken;
}

/* Tets fill what is between two sheets and nothing else: their boundary is the skin and its copy on the bones. */
static bool has_two_sheets(const spl_tets *given)
{
    spl_tets t;
    supple_allocator a = spl_allocator_of(NULL);
    int32_t n = given->vertex_count / 2, outer = 0, inner = 0;
    if (!spl_tets_create(&t, given->vertex_count, given->tet_count, &a)) return false;
    memcpy(t.position, given->position, (size_t)t.vertex_count * sizeof *t.position);
    memcpy(t.tet, given->tet, (size_t)t.tet_count * 4 * sizeof *t.tet);
    bool found = spl_tets_find_surface(&t, NULL) == SUPPLE_OK;
    for (int32_t i = 0; found && i < t.surface_count; i++) {
        const int32_t *c = t.surface + 3 * i;
        outer += c[0] < n && c[1] < n && c[2] < n;
        inner += c[0] >= n && c[1] >= n && c[2] >= n;
    }
    bool good = found && outer == given->surface_count && inner == outer && t.surface_count == outer + inner;
    spl_tets_release(&t);
    return good;
}

/* `empty`: bones that hold nothing. */
static void check_prisms(const supple_body *handle, const char *name, int32_t empty)
{
    const spl_body *b = &handle->body;
    const spl_tets *t = &b->tets;
    int32_t n = t->vertex_count / 2, strangers = 0, negative = 0, held = 0;
    REQUIRE(b->prism && b->place && b->bone && t->vertex_count == 2 * n && t->tet_count == 3 * t->surface_count);
    for (int32_t k = 0; k < t->tet_count; k++) {
        const int32_t *triangle = t->surface + 3 * b->prism[k];
        CHECK(b->prism[k] == k / 3);
        negative += !(spl_tets_volume(t, k) > 0);
        for (int i = 0; i < 4; i++) {
            int32_t v = t->tet[4 * k + i] % n;
            strangers += v != triangle[0] && v != triangle[1] && v != triangle[2];
        }
    }
    CHECK(negative == 0 && strangers == 0);
    CHECK(is_closed(t) && broken_fans(t) == 0 && has_two_sheets(t));
    for (int32_t v = 0; v < 2 * n; v++) {
        CHECK(b->bone[v] >= -1 && b->bone[v] < b->bones.bone_count && (v >= n || b->bone[v] == -1));
        held += b->bone[v] >= 0;
    }
    const supple_body_info *i = supple_body_get_info(handle);
    CHECK(held == i->constrained && held > n / 3 && i->kind == SUPPLE_BODY_PRISM);
    CHECK(i->surface_vertices == n && i->empty == empty);
    if (i->empty != empty) printf("    %d bones hold nothing\n", i->empty);
    double skin = inside(t, 0), core = inside(t, n);
    CHECK_NEAR((i->volume + core) / skin, 1, 1e-9);
    if (isfinite(i->surface_volume))
        CHECK_NEAR(skin / i->surface_volume, 1, i->resolution < 30 ? 0.15 : 0.05); /* grown fingers */
    CHECK(i->mean_distance < (isfinite(i->surface_volume) ? 0.1 : 0.3) * i->cell);
    printf("    %s: %d skin vertices, %d pieces, %d held, %d split, %.1f%% wrapped, %d short of it, shapes from %.1f "
           "degrees, distance %.3f cells, %.0f ms\n",
           name, n, i->components, held, i->split, 100 * i->wrapped, i->unreached, i->min_dihedral_deg,
           i->mean_distance / i->cell, i->ms);
}

/* Takes the scene. */
static void check_character(supple_scene *scene, const char *name, int32_t resolution, int32_t empty)
{
    REQUIRE(scene);
    supple_body_config bc = body_config(SUPPLE_BODY_PRISM, resolution);
    supple_body *b = body_create(scene, &bc, 0);
    REQUIRE(b);
    check_prisms(b, name, empty);
    supple_body_destroy(b);
    supple_scene_destroy(scene);
}

static void check_demo(const char *name)
{
    check_character(demo_scene(name, test_size(10, 5) / 10.0), name, test_size(0, 32), 0);
}

TEST(the_arm)
{
    check_demo("arm");
}
TEST(the_cylinder_and_the_torus)
{
    check_demo("cylinder");
    check_demo("torus");
}
TEST(the_turtle)
{
    check_demo("turtle");
}
TEST(the_sack)
{
    check_demo("sack");
}
TEST(the_hero)
{
    check_character(demo_scene("hero", 1), "hero", test_size(0, 48), 0);
}
TEST(the_hero_with_fingers_about_a_cell_thick)
{
    check_character(demo_scene("hero", 0.5), "hero", 41, 0);
}
TEST(the_hero_with_fingers_far_below_a_cell)
{
    check_character(demo_scene("hero", 1), "hero", 24, 0);
}

static void check_file(const char *name, int32_t empty)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.glb", SPL_DATA_DIR, name);
    check_character(scene_load(path), name, test_size(0, 40), empty);
}

TEST(small_characters_from_files)
{
    check_file("quadruped", 0);
    check_file("figure", 0);
}
TEST(a_person_from_a_file)
{
    check_file("person", 0);
}
TEST(parts_from_a_file)
{
    check_file("parts", test_size(4, 0)); /* each part is open: what closes them is far from the file's surface */
}
TEST(a_hand_from_a_file)
{
    check_file("hand", 0);
}

/* A cylinder of radius R around its bones: the sheet on the bones is a cylinder of radius 0.4 R. */
TEST(a_cylinder_has_a_cylinder_inside)
{
    supple_scene *scene = demo_scene("cylinder", 0.5);
    supple_body_config bc = body_config(SUPPLE_BODY_PRISM, 32);
    supple_body *handle = body_create(scene, &bc, 0);
    REQUIRE(handle);
    const spl_body *b = &handle->body;
    int32_t n = b->tets.vertex_count / 2, counted = 0, between = 0;
    double sum = 0, worst = 0, twisted = 0, low = INFINITY, high = -INFINITY, radius = 0;
    spl_vec3 origin = b->bones.bone[0].head;
    spl_vec3 axis = spl_unit(spl_sub(b->bones.bone[0].tail, origin), spl_v3(0, 0, 0));
    for (int32_t v = 0; v < n; v++) {
        spl_vec3 d = spl_sub(b->tets.position[v], origin);
        low = fmin(low, spl_dot(d, axis));
        high = fmax(high, spl_dot(d, axis));
        radius = fmax(radius, spl_norm(spl_madd(d, axis, -spl_dot(d, axis))));
    }
    for (int32_t v = 0; v < n; v++) { /* away from the caps, which bring the skin nearer */
        spl_vec3 skin = spl_sub(b->tets.position[v], origin), core = spl_sub(b->tets.position[n + v], origin);
        double at = spl_dot(skin, axis), along = spl_dot(core, axis);
        if (at < low + 1.5 * radius || at > high - 1.5 * radius) continue;
        between++;
        if (b->bone[n + v] < 0) continue;
        skin = spl_madd(skin, axis, -at);
        core = spl_madd(core, axis, -along);
        double share = spl_norm(core) / spl_norm(skin);
        sum += share;
        worst = fmax(worst, fabs(share - 0.4));
        twisted = fmax(twisted, spl_norm(spl_cross(skin, core)) / (spl_norm(skin) * spl_norm(core)) + fabs(at - along));
        counted++;
    }
    printf("    %d of %d bone vertices straight below their skin, at %.4f of the radius, at most %.4f off\n", counted,
           n, sum / counted, worst);
    CHECK(counted > between / 2 && fabs(sum / counted - 0.4) < 0.01 && worst < 0.02 && twisted < 1e-6);
    supple_body_destroy(handle);
    supple_scene_destroy(scene);
}

/* Vertices of one bone keep their distances when the character moves. */
TEST(what_a_bone_holds_moves_rigidly)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    supple_body_config bc = body_config(SUPPLE_BODY_PRISM, 24);
    supple_body *handle = body_create(scene, &bc, 0);
    REQUIRE(handle);
    const spl_body *b = &handle->body;
    size_t n = (size_t)b->tets.vertex_count;
    supple_allocator a = spl_allocator_of(NULL);
    spl_drive drive;
    spl_pose pose;
    REQUIRE(spl_drive_create(b, &a, &drive, NULL) == SUPPLE_OK && spl_pose_init(&pose, scene, NULL) == SUPPLE_OK);
    drive.spread = false;
    spl_pose_sample(&pose, scene, 0, 0.7);
    REQUIRE(spl_drive_pose(&drive, &pose, NULL) == SUPPLE_OK);
    double *x = calloc(n, 3 * sizeof *x), worst = 0, moved = 0;
    int32_t last[2] = {-1, -1};
    spl_drive_hold(&drive, b->bone, x);
    for (int32_t v = 0; v < (int32_t)n; v++) {
        if (b->bone[v] < 0) continue;
        spl_vec3 p = spl_v3(x[3 * v], x[3 * v + 1], x[3 * v + 2]);
        spl_vec3 rest = spl_v3(drive.rest[3 * v], drive.rest[3 * v + 1], drive.rest[3 * v + 2]);
        int32_t *u = &last[b->bone[v]];
        moved = fmax(moved, spl_distance(p, rest));
        if (*u >= 0) {
            spl_vec3 q = spl_v3(x[3 * *u], x[3 * *u + 1], x[3 * *u + 2]);
            spl_vec3 there = spl_v3(drive.rest[3 * *u], drive.rest[3 * *u + 1], drive.rest[3 * *u + 2]);
            worst = fmax(worst, fabs(spl_distance(p, q) - spl_distance(rest, there)));
        }
        *u = v;
    }
    CHECK(last[0] >= 0 && last[1] >= 0 && moved > 0.05 && worst < 1e-12);
    free(x);
    spl_pose_release(&pose);
    spl_drive_release(&drive);
    supple_body_destroy(handle);
    supple_scene_destroy(scene);
}

/* ---- skins that are no manifold ---- */

/* Boxes of 2 x 2 x 2 cells in a grid, six tets a cell, all around the diagonal. */
static spl_tets boxes(const int (*corner)[3], int count, const supple_allocator *a)
{
    enum { SIDE = 8 };
    static const int way[6][2] = {{1, 3}, {3, 2}, {2, 6}, {6, 4}, {4, 5}, {5, 1}};
    spl_tets t;
    int32_t used = 0, map[SIDE * SIDE * SIDE];
    memset(map, -1, sizeof map);
    if (!spl_tets_create(&t, SIDE * SIDE * SIDE, 48 * count, a)) abort();
    t.tet_count = 0;
    for (int b = 0; b < count; b++)
        for (int cell = 0; cell < 8; cell++)
            for (int k = 0; k < 6; k++) {
                int bit[4] = {0, way[k][0], way[k][1], 7};
                for (int i = 0; i < 4; i++) {
                    int at[3];
                    for (int d = 0; d < 3; d++) at[d] = corner[b][d] + (cell >> d & 1) + (bit[i] >> d & 1);
                    int32_t *v = &map[at[0] + SIDE * (at[1] + SIDE * at[2])];
                    if (*v < 0) {
                        *v = used++;
                        t.position[*v] = spl_v3(at[0], at[1], at[2]);
                    }
                    t.tet[4 * t.tet_count + i] = *v;
                }
                t.tet_count++;
            }
    t.vertex_count = used;
    if (spl_tets_check(&t, "boxes", NULL, NULL) != SUPPLE_OK || spl_tets_find_surface(&t, NULL) != SUPPLE_OK) abort();
    return t;
}

static void check_boxes(const int (*corner)[3], int count, int32_t pieces, int32_t split)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_tets t = boxes(corner, count, &a);
    spl_place *place = calloc((size_t)t.vertex_count, sizeof *place);
    for (int32_t v = 0; v < t.vertex_count; v++) place[v].triangle = -1;
    spl_attach_input in = {.tets = &t, .place = place, .cell = 1, .allocator = &a};
    spl_prism_skin skin;
    spl_prism_report report = {0};
    REQUIRE(spl_prism_skin_make(&in, NULL, &skin, &report, NULL) == SUPPLE_OK);
    spl_tets seen = {.vertex_count = 2 * skin.vertex_count,
                     .surface_count = skin.triangle_count,
                     .surface = skin.triangle,
                     .position = skin.position};
    CHECK(is_closed(&seen) && broken_fans(&seen) == 0);
    CHECK(report.pieces == pieces && report.split == split && report.crumbs == 0 && report.cut == 0);
    CHECK_NEAR(inside(&seen, 0) / (8 * count), 1, 0.25); /* corners are rounded where vertices slide over them */
    for (int32_t v = 0; v < skin.vertex_count; v++) {
        double depth;
        spl_prism_inward(&skin, v, &depth);
        CHECK(depth > 0);
    }
    spl_prism_skin_release(&skin);
    spl_tets_release(&t);
    free(place);
}

TEST(sheets_that_touch_are_cut_apart)
{
    check_boxes((const int[][3]){{0, 0, 0}}, 1, 1, 0);
    check_boxes((const int[][3]){{0, 0, 0}, {2, 0, 0}}, 2, 1, 0);            /* share a face: one body */
    check_boxes((const int[][3]){{0, 0, 0}, {2, 2, 2}}, 2, 2, 2);            /* share a corner */
    check_boxes((const int[][3]){{0, 0, 0}, {2, 2, 0}}, 2, 2, 6);            /* share an edge of two cells */
    check_boxes((const int[][3]){{0, 0, 0}, {2, 2, 0}, {4, 4, 2}}, 3, 3, 8); /* both */
}

TEST(tets_of_a_triangle_are_positive_in_any_order)
{
    const int32_t order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int i = 0; i < 6; i++) {
        int32_t tet[12];
        spl_vec3 position[6];
        const double corner[3][2] = {{0, 0}, {1, 0}, {0, 1}}; /* counter-clockwise from above, which is outside */
        for (int k = 0; k < 3; k++) {
            position[order[i][k]] = spl_v3(corner[k][0], corner[k][1], 1);
            position[3 + order[i][k]] = spl_v3(corner[k][0], corner[k][1], 0);
        }
        spl_prism_tets(order[i], 3, tet);
        spl_tets t = {.vertex_count = 6, .tet_count = 3, .position = position, .tet = tet};
        for (int k = 0; k < 3; k++) CHECK_NEAR(spl_tets_volume(&t, k), 1.0 / 6, 1e-15);
    }
}

/* ---- the same each time ---- */

static bool same(const supple_body *a, const supple_body *b)
{
    const spl_tets *s = &a->body.tets, *t = &b->body.tets;
    return s->vertex_count == t->vertex_count && s->tet_count == t->tet_count &&
           memcmp(s->position, t->position, (size_t)s->vertex_count * sizeof *s->position) == 0 &&
           memcmp(s->tet, t->tet, (size_t)s->tet_count * 16) == 0 &&
           memcmp(s->surface, t->surface, (size_t)s->surface_count * 12) == 0 &&
           memcmp(a->body.bone, b->body.bone, (size_t)s->vertex_count * 4) == 0 &&
           memcmp(a->body.prism, b->body.prism, (size_t)s->tet_count * 4) == 0;
}

TEST(the_same_bits_at_any_number_of_threads)
{
    supple_scene *scene = demo_scene("hero", 0.5);
    REQUIRE(scene);
    supple_body_config bc = body_config(SUPPLE_BODY_PRISM, test_size(32, 24));
    supple_body *one = body_create(scene, &bc, 1);
    REQUIRE(one);
    for (int threads = 2; threads <= 4; threads++) {
        supple_body *more = body_create(scene, &bc, threads);
        REQUIRE(more);
        CHECK(same(one, more));
        supple_body_destroy(more);
    }
    supple_body_destroy(one);
    supple_scene_destroy(scene);
}

TEST(prisms_are_kept_in_the_cache)
{
    char folder[] = "prism-cache-XXXXXX", command[200];
    REQUIRE(mkdtemp(folder));
    setenv("SUPPLE_CACHE", folder, 1);
    supple_scene *scene = demo_scene("arm", 0.3);
    supple_body_config bc = body_config(SUPPLE_BODY_PRISM, 20);
    bc.cache = true;
    bc.upsampling = SUPPLE_UPSAMPLE_NORMAL;
    supple_body *first = body_create(scene, &bc, 0), *second = body_create(scene, &bc, 0);
    REQUIRE(first && second);
    const supple_body_info *i = supple_body_get_info(first), *j = supple_body_get_info(second);
    CHECK(!i->cached && j->cached && same(first, second));
    CHECK(i->volume == j->volume && i->constrained == j->constrained && i->wrapped == j->wrapped);
    CHECK(i->unreached == j->unreached && i->mean_distance == j->mean_distance && j->kind == SUPPLE_BODY_PRISM);
    for (int k = 0; k < 2; k++) /* the leaf's end is fitted to the flesh, which is not there the second time */
        CHECK(spl_distance(first->body.bones.bone[k].tail, second->body.bones.bone[k].tail) == 0);
    check_prisms(second, "from the cache", 0);
    bc.kind = SUPPLE_BODY_TETS;
    supple_body *other = body_create(scene, &bc, 0);
    REQUIRE(other);
    CHECK(!other->body.prism && supple_body_get_info(other)->kind == SUPPLE_BODY_TETS);
    bc.kind = SUPPLE_BODY_PRISM;
    snprintf(command, sizeof command,
             "for f in %s/prisms*; do printf x | dd of=$f bs=1 seek=3000 conv=notrunc 2>/dev/null; done", folder);
    CHECK(system(command) == 0);
    supple_body *again = body_create(scene, &bc, 0);
    REQUIRE(again);
    CHECK(!supple_body_get_info(again)->cached && same(first, again));
    for (long n = 0;; n++) { /* what is in the cache is read while memory fails */
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
    supple_body *all[] = {first, second, other, again};
    for (int k = 0; k < 4; k++) supple_body_destroy(all[k]);
    supple_scene_destroy(scene);
    unsetenv("SUPPLE_CACHE");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

TEST(failing_allocations_are_errors)
{
    supple_scene *scene = demo_scene("beam", 0.3);
    supple_body_config bc = body_config(SUPPLE_BODY_PRISM, 8);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        config.thread_count = 1;
        supple_body *body;
        supple_result result = supple_body_create(scene, &bc, &config, &body, NULL);
        supple_body_destroy(body);
        CHECK(f.live == 0 && (result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY)); /* counts may be left out */
        if (f.requests <= n) break;
    }
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(the_arm), RUN(the_cylinder_and_the_torus), RUN(the_turtle), RUN(the_sack), RUN(the_hero),
           RUN(the_hero_with_fingers_about_a_cell_thick), RUN(the_hero_with_fingers_far_below_a_cell),
           RUN(small_characters_from_files), RUN(a_person_from_a_file), RUN(parts_from_a_file), RUN(a_hand_from_a_file),
           RUN(a_cylinder_has_a_cylinder_inside), RUN(what_a_bone_holds_moves_rigidly),
           RUN(sheets_that_touch_are_cut_apart), RUN(tets_of_a_triangle_are_positive_in_any_order),
           RUN(the_same_bits_at_any_number_of_threads), RUN(prisms_are_kept_in_the_cache),
           RUN(failing_allocations_are_errors))
