/* Fingers move one by one: each is bent about its middle joint, by the vertices that bones hold in it, while everything
 * else that is held stays; linear elasticity on the tetrahedra then says what the flesh does. Flesh of other fingers
 * must not notice.
 *
 * A person's four fingers hang on one joint and are 0.6 cells thick at the automatic resolution; no rig of it could
 * bend them so. What others notice has two causes, which are told apart: fingers that are fused above the web that the
 * skin has (the height of the webs is compared, and nothing may be noticed while the hand below them is held, as its
 * bones would hold it), and elastic flesh below the webs, which carries 1e-3 of a motion past a few cells. */
#include "body/body.h"
#include "core/memory.h"
#include "fingers.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"
#include "sparse/lattice.h"
#include "test.h"

#include <supple/tools.h>

#define NOTICED 1e-3 /* of the finger's motion, by others */
#define BEND    0.6  /* radians */
#define REACH   4.0  /* lengths of outer fingers around the tips in which webs are looked for */

typedef struct hand {
    supple_scene *scene;
    supple_body *handle;
    const spl_body *body;
    int32_t tip[16];
    int8_t *finger; /* by tet vertex: 0..TIPS - 1 in the outer part of a finger, -1 elsewhere */
    spl_vec3 base[TIPS];
    double *on_skin, *height; /* by skin and by tet vertex: less the way along the skin to the nearest tip, metres */
    int8_t *nearest;          /* by skin vertex: that tip; -1 beyond reach */
    double web[TIPS][TIPS];   /* the height of the skin's web between two fingers */
    bool *below;              /* by tet vertex: below the highest web of the nearest finger */
    bool firm;                /* these are held too */
} hand;

/* ---- which flesh is which finger's ---- */

/* The skin nearest to a tip along the surface, within `length` of it; the finger's base is the middle of its rim. */
static void mark_finger(hand *h, int f, double length, spl_geodesic *g, int8_t *skin, int32_t *list, double *sorted)
{
    const spl_surface *s = &h->body->surface;
    spl_place at = place_of_vertex(s, h->tip[f]);
    int32_t n = spl_geodesic_within(g, s, &at, REACH * length, s->vertex_count, list, sorted), rim = 0;
    spl_vec3 sum = {0};
    for (int32_t i = 0; i < n; i++) {
        if (-sorted[i] > h->on_skin[list[i]]) {
            h->on_skin[list[i]] = -sorted[i];
            h->nearest[list[i]] = (int8_t)f;
        }
        if (sorted[i] > length) continue;
        skin[list[i]] = (int8_t)f;
        if (sorted[i] < 0.8 * length) continue;
        sum = spl_add(sum, s->position[list[i]]);
        rim++;
    }
    h->base[f] = spl_scale(sum, 1.0 / rim);
}

static int8_t *mark_skin(hand *h, double length)
{
    const spl_surface *s = &h->body->surface;
    size_t n = (size_t)s->vertex_count;
    supple_allocator a = spl_allocator_of(NULL);
    spl_geodesic g;
    int8_t *skin = malloc(n);
    int32_t *list = malloc(n * sizeof *list);
    double *sorted = malloc(n * sizeof *sorted);
    h->on_skin = malloc(n * sizeof *h->on_skin);
    h->nearest = malloc(n);
    memset(skin, -1, n);
    memset(h->nearest, -1, n);
    for (size_t v = 0; v < n; v++) h->on_skin[v] = -REACH * length;
    if (spl_geodesic_make(s->vertex_count, &a, &g, NULL) != SUPPLE_OK) abort();
    for (int f = 0; f < TIPS; f++) mark_finger(h, f, length, &g, skin, list, sorted);
    spl_geodesic_release(&g);
    free(list);
    free(sorted);
    return skin;
}

/* ---- webs: where the ways between two finger tips that stay as high as they can are lowest ---- */

typedef struct edge {
    double height; /* of its lower end */
    int32_t a, b;
} edge;

static int compare_edges(const void *a, const void *b)
{
    double x = ((const edge *)a)->height, y = ((const edge *)b)->height;
    return (x < y) - (x > y);
}

static int32_t root_of(int32_t *root, int32_t i)
{
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
}

/* Edges of triangles or tets (`corners` each), from the highest down, join vertices until all tips are one. */
static void find_webs(int32_t vertices, const int32_t *cell, int32_t cells, int corners, const double *height,
                      const int32_t *tip, double web[TIPS][TIPS])
{
    edge *edges = malloc((size_t)cells * 6 * sizeof *edges);
    int32_t *root = malloc((size_t)vertices * sizeof *root);
    size_t count = 0;
    for (int32_t t = 0; t < cells; t++)
        for (int i = 0; i < corners; i++)
            for (int k = 0; k < i; k++) {
                int32_t a = cell[corners * t + i], b = cell[corners * t + k];
                edges[count++] = (edge){fmin(height[a], height[b]), a, b};
            }
    qsort(edges, count, sizeof *edges, compare_edges);
    for (int32_t v = 0; v < vertices; v++) root[v] = v;
    for (size_t e = 0; e < count; e++) {
        int32_t a = root_of(root, edges[e].a), b = root_of(root, edges[e].b);
        for (int i = 0; i < TIPS && a != b; i++)
            for (int k = 0; k < TIPS; k++)
                if (root_of(root, tip[i]) == a && root_of(root, tip[k]) == b) web[i][k] = web[k][i] = edges[e].height;
        root[a] = b;
    }
    free(edges);
    free(root);
}

/* No web lies higher in the flesh than on the skin by more than `bound` cells. */
static void check_webs(const hand *h, double bound)
{
    const spl_tets *t = &h->body->tets;
    int32_t tip[TIPS] = {0};
    double web[TIPS][TIPS] = {0}, most = -INFINITY;
    for (int f = 0; f < TIPS; f++) tip[f] = -1;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        int f = h->finger[v];
        if (f >= 0 && (tip[f] < 0 || h->height[v] > h->height[tip[f]])) tip[f] = v;
    }
    find_webs(t->vertex_count, t->tet, t->tet_count, 4, h->height, tip, web);
    for (int i = 0; i < TIPS; i++)
        for (int k = 0; k < i; k++) most = fmax(most, (web[i][k] - h->web[i][k]) / h->body->flesh.cell);
    CHECK(most < bound);
    printf("    webs lie up to %.2f cells higher in the flesh than on the skin\n", most);
}

/* ---- the flesh ---- */

static void mark_vertex(hand *h, int32_t v, const spl_place *at, const int8_t *skin)
{
    int nearest = -1;
    for (size_t k = 0; k < 3; k++) {
        int32_t corner = h->body->surface.triangle[3 * (size_t)at->triangle + k];
        h->height[v] += at->bary[k] * h->on_skin[corner];
        if (at->bary[k] < 1.0 / 3) continue;
        h->finger[v] = skin[corner];
        nearest = h->nearest[corner];
    }
    for (int i = 0; i < TIPS && nearest >= 0; i++)
        if (i != nearest && h->height[v] < h->web[nearest][i]) h->below[v] = true;
}

static void mark_fingers(hand *h, double length)
{
    const spl_surface *s = &h->body->surface;
    size_t m = (size_t)h->body->tets.vertex_count;
    supple_allocator a = spl_allocator_of(NULL);
    int8_t *skin = mark_skin(h, length);
    find_webs(s->vertex_count, s->triangle, s->triangle_count, 3, h->on_skin, h->tip, h->web);
    for (int i = 0; i < TIPS; i++)
        for (int k = 0; k < i; k++) CHECK(h->web[i][k] < -length && h->web[i][k] > -REACH * length);
    h->finger = malloc(m);
    h->height = calloc(m, sizeof *h->height);
    h->below = calloc(m, sizeof *h->below);
    spl_tree tree;
    if (spl_tree_make(s->position, s->triangle, s->triangle_count, &a, &tree, NULL) != SUPPLE_OK) abort();
    for (size_t v = 0; v < m; v++) {
        spl_place at = h->body->place[v];
        spl_hit hit;
        if (at.triangle < 0 && spl_tree_nearest(&tree, h->body->tets.position[v], INFINITY, -1, &hit)) /* deep inside */
            at = (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
        mark_vertex(h, (int32_t)v, &at, skin);
    }
    spl_tree_release(&tree);
    free(skin);
}

static bool open_hand(hand *h, const char *file, const char *wrist, double length, int32_t resolution)
{
    char path[1024];
    supple_body_config bc = supple_body_config_default();
    supple_error error = {0};
    bc.cache = false;
    bc.resolution = resolution;
    *h = (hand){0};
    snprintf(path, sizeof path, "%s/%s", SPL_DATA_DIR, file);
    if (supple_scene_load_file(path, NULL, &h->scene, &error) != SUPPLE_OK ||
        supple_body_create(h->scene, &bc, NULL, &h->handle, &error) != SUPPLE_OK) {
        printf("    %s: %s\n", file, error.message);
        return false;
    }
    h->body = &h->handle->body;
    const spl_bones *b = &h->body->bones;
    for (int32_t k = 0; k < b->bone_count; k++) {
        if (strcmp(h->scene->node[b->bone[k].node].name, wrist) != 0) continue;
        spl_vec3 along = spl_sub(b->bone[k].tail, b->bone[k].head);
        if (find_tips(&h->body->surface, b->bone[k].head, along, 0.24, length, h->tip) != TIPS) return false;
    }
    mark_fingers(h, length);
    return true;
}

static void close_hand(hand *h)
{
    free(h->finger);
    free(h->on_skin);
    free(h->height);
    free(h->nearest);
    free(h->below);
    supple_body_destroy(h->handle);
    supple_scene_destroy(h->scene);
}

/* ---- the solve ---- */

typedef struct flesh {
    lattice mesh; /* held vertices have no unknown */
    double *elements;
    spl_assembly assembly;
    spl_factor *factor;
} flesh;

static void make_flesh(const hand *h, flesh *f)
{
    const spl_tets *t = &h->body->tets;
    supple_allocator a = spl_allocator_of(NULL);
    lattice *m = &f->mesh;
    *m = (lattice){.vertex_count = t->vertex_count, .tet_count = t->tet_count};
    m->points = malloc(3 * (size_t)t->vertex_count * sizeof *m->points);
    m->tets = malloc(4 * (size_t)t->tet_count * sizeof *m->tets);
    m->unknown = malloc((size_t)t->vertex_count * sizeof *m->unknown);
    for (int32_t v = 0; v < t->vertex_count; v++) {
        memcpy(m->points + 3 * v, &t->position[v], 3 * sizeof(double));
        m->unknown[v] = h->body->bone[v] >= 0 || (h->firm && h->below[v]) ? -1 : m->unknown_count++;
    }
    memcpy(m->tets, t->tet, 4 * (size_t)t->tet_count * sizeof *m->tets);
    f->elements = lattice_elements(m, 3, 0);
    if (spl_assembly_create(m->tets, (size_t)m->tet_count, 4, m->vertex_count, m->unknown, m->unknown_count, 3, &a,
                            &f->assembly, NULL) != SUPPLE_OK ||
        spl_factor_create(&f->assembly.pattern, NULL, &a, NULL, &f->factor, NULL) != SUPPLE_OK)
        abort();
    double *values = malloc(spl_pattern_values(&f->assembly.pattern) * sizeof *values);
    spl_assembly_gather(&f->assembly, f->elements, values, NULL);
    supple_error error = {0};
    if (spl_factor_factorise(f->factor, values, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        fflush(stdout);
        abort();
    }
    free(values);
}

static void free_flesh(flesh *f)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor_destroy(f->factor);
    spl_assembly_release(&f->assembly, &a);
    free(f->elements);
    lattice_free(&f->mesh);
}

/* b -= K u over pairs of a free and a held vertex; element blocks are column-major, rows those of the first corner. */
static void subtract_held(const flesh *f, const double *moved, double *b)
{
    const lattice *m = &f->mesh;
    const double *block = f->elements;
    for (int32_t t = 0; t < m->tet_count; t++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++, block += 9) {
                int32_t p = m->tets[4 * t + i], q = m->tets[4 * t + j];
                for (int r = 0; r < 3; r++)
                    for (int c = 0; c < 3; c++) {
                        double k = block[3 * c + r];
                        if (m->unknown[p] >= 0 && m->unknown[q] < 0) b[3 * m->unknown[p] + r] -= k * moved[3 * q + c];
                        if (i != j && m->unknown[q] >= 0 && m->unknown[p] < 0)
                            b[3 * m->unknown[q] + c] -= k * moved[3 * p + r];
                    }
            }
}

/* The motion of all vertices (moved: held ones given) at equilibrium. */
static void relax(const flesh *f, double *moved)
{
    double *b = calloc(3 * (size_t)f->mesh.unknown_count, sizeof *b);
    subtract_held(f, moved, b);
    if (spl_factor_solve(f->factor, b, 1, NULL) != SUPPLE_OK) abort();
    for (int32_t v = 0; v < f->mesh.vertex_count; v++)
        if (f->mesh.unknown[v] >= 0) memcpy(moved + 3 * v, b + 3 * f->mesh.unknown[v], 3 * sizeof *b);
    free(b);
}

/* Bends what bones hold in a finger about its base; returns how many vertices that is. */
static int32_t bend(const hand *h, int finger, double *moved)
{
    const spl_tets *t = &h->body->tets;
    spl_vec3 along = spl_sub(h->body->surface.position[h->tip[finger]], h->base[finger]);
    spl_vec3 axis = spl_unit(spl_cross(along, spl_v3(0.3, 0.5, 0.8)), along);
    int32_t count = 0;
    memset(moved, 0, 3 * (size_t)t->vertex_count * sizeof *moved);
    for (int32_t v = 0; v < t->vertex_count; v++) {
        if (h->body->bone[v] < 0 || h->finger[v] != finger) continue;
        spl_vec3 r = spl_sub(t->position[v], h->base[finger]), across = spl_cross(axis, r); /* Rodrigues */
        spl_vec3 along_axis = spl_scale(axis, spl_dot(axis, r));
        spl_vec3 turned =
            spl_add(along_axis, spl_add(spl_scale(spl_sub(r, along_axis), cos(BEND)), spl_scale(across, sin(BEND))));
        spl_vec3 u = spl_sub(turned, r);
        memcpy(moved + 3 * v, &u, sizeof u);
        count++;
    }
    return count;
}

/* The largest motion in a finger (or, with `others`, in all other fingers). */
static double largest(const hand *h, const double *moved, int finger, bool others)
{
    double most = 0;
    for (int32_t v = 0; v < h->body->tets.vertex_count; v++) {
        if (h->finger[v] < 0 || (h->finger[v] != finger) != others) continue;
        const double *u = moved + 3 * v;
        most = fmax(most, sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
    }
    return most;
}

/* Whether a finger is the thumb, by the joint that moves its tip. */
static bool is_thumb(const hand *h, int finger)
{
    const spl_skin_weights *w = &h->body->weights;
    int32_t first = w->first[h->tip[finger]]; /* strongest first */
    return strstr(h->scene->node[w->node[first]].name, "humb") != NULL;
}

/* Bends each finger. `thumb` is for the thumb, which has a joint of its own everywhere, `bound` for the others. */
static void bend_all(hand *h, bool firm, double thumb, double bound)
{
    flesh f;
    double *moved = malloc(3 * (size_t)h->body->tets.vertex_count * sizeof *moved);
    int thumbs = 0;
    h->firm = firm;
    printf("    %s\n", firm ? "with the hand held below the webs:" : "by the rig's bones alone:");
    make_flesh(h, &f);
    for (int i = 0; i < TIPS; i++) {
        CHECK(bend(h, i, moved) >= 1);
        relax(&f, moved);
        double own = largest(h, moved, i, false), other = largest(h, moved, i, true);
        double length = spl_distance(h->body->surface.position[h->tip[i]], h->base[i]);
        CHECK(own > 0.3 * length); /* 2 sin(0.3) of it, where it is bent as a whole */
        CHECK(other <= (is_thumb(h, i) ? thumb : bound) * own);
        printf("    %s moves by %.1f of %.1f mm, others by %.1e of that\n", is_thumb(h, i) ? "thumb" : "finger",
               1e3 * own, 1e3 * length, other / own);
        thumbs += is_thumb(h, i);
    }
    CHECK(thumbs == 1);
    free_flesh(&f);
    free(moved);
}

TEST(fingers_of_a_hand_move_one_by_one)
{
    hand h;
    REQUIRE(open_hand(&h, "hand.glb", "wrist_L", 0.035, 0));
    check_webs(&h, 0.6); /* a cell is 4 mm here, less than the skin's edges */
    bend_all(&h, false, NOTICED, 1e-5);
    close_hand(&h);
}

static void bend_person(const char *wrist, int32_t resolution, double webs, double firm, double thumb, double bound)
{
    hand h;
    REQUIRE(open_hand(&h, "person.glb", wrist, 0.045, resolution));
    check_webs(&h, webs);
    bend_all(&h, true, NOTICED, firm);
    if (bound > 0) bend_all(&h, false, thumb, bound);
    close_hand(&h);
}

/* Two fingers have a row of cells in common at their web, which lies 0.1 cells higher than on the skin: they notice
 * each other even if the hand is held, and so does the flesh below it. */
TEST(fingers_of_a_left_hand_move_one_by_one)
{
    bend_person("LeftHand", 0, 0.25, 4e-3, 2e-3, 2e-2);
}
TEST(fingers_of_a_right_hand_move_one_by_one)
{
    bend_person("RightHand", 0, 0.25, 4e-3, 2e-3, 2e-2);
}

/* Here every finger has cells of its own: nothing joins them above their webs. */
TEST(fingers_move_one_by_one_on_a_coarser_lattice)
{
    bend_person("LeftHand", 65, 0.6, 1e-6, NOTICED, 2e-3);
}
TEST(fingers_move_one_by_one_on_a_finer_lattice)
{
    if (test_size(0, 1)) SKIP("quick: the coarser lattice has run the same code");
    bend_person("LeftHand", 100, 0.6, 4e-3, 0, 0);
}

TEST_CASES(RUN(fingers_of_a_hand_move_one_by_one), RUN(fingers_of_a_left_hand_move_one_by_one),
           RUN(fingers_of_a_right_hand_move_one_by_one), RUN(fingers_move_one_by_one_on_a_coarser_lattice),
           RUN(fingers_move_one_by_one_on_a_finer_lattice))
