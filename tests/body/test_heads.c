#include "bodies.h"
#include "body/attach.h"
#include "test.h"

/* A head of 6 x 6 x 6 cubes on a neck of 2 x 2, six high; or on a trunk as wide as itself. */
static bool on_neck(int x, int y, int z)
{
    return y >= 6 || (x >= 2 && x < 4 && z >= 2 && z < 4);
}

static bool on_trunk(int x, int y, int z)
{
    (void)x, (void)y, (void)z;
    return true;
}

typedef struct rig {
    shape shape;
    body body;
    spl_tree tree;
    spl_skin_weights weights;
    spl_bone bone[2];
    spl_bones bones;
    int32_t *held;
    spl_attach_report report;
    supple_allocator allocator;
} rig;

/* The head follows node 1 from y = 6 on, `share` of it; below, all is node 0's. */
static void make_rig(rig *r, cubes_fn *has, int resolution, double share)
{
    *r = (rig){.shape = shape_cubes(has, 6, 12, 6), .allocator = spl_allocator_of(NULL)};
    r->body = body_of(&r->shape, resolution);
    const spl_surface *s = &r->body.surface;
    if (r->body.result != SUPPLE_OK || spl_tets_find_surface(&r->body.tets, NULL)) abort();
    if (spl_tree_make(s->position, s->triangle, s->triangle_count, &r->allocator, &r->tree, NULL)) abort();
    size_t n = (size_t)s->vertex_count;
    r->weights = (spl_skin_weights){calloc(n + 1, sizeof(int32_t)), calloc(2 * n, sizeof(int32_t)),
                                    calloc(2 * n, sizeof(double))};
    for (size_t i = 0; i < n; i++) {
        r->weights.first[i + 1] = (int32_t)(2 * (i + 1));
        r->weights.node[2 * i + 1] = 1;
        r->weights.weight[2 * i + 1] = s->position[i].y > 5.5 ? share : 0;
        r->weights.weight[2 * i] = 1 - r->weights.weight[2 * i + 1];
    }
    r->bone[0] = (spl_bone){.node = 0, .parent = -1, .head = {3, 0.5, 3}, .tail = {3, 6, 3}};
    r->bone[1] = (spl_bone){.node = 1, .joint = 1, .head = {3, 6, 3}, .tail = {3, 9, 3}};
    r->bones = (spl_bones){.bone_count = 2, .bone = r->bone};
    r->held = calloc((size_t)r->body.tets.vertex_count, sizeof *r->held);
    spl_attach_input in = {.tets = &r->body.tets,
                           .place = r->body.place,
                           .surface = s,
                           .tree = &r->tree,
                           .weights = &r->weights,
                           .bones = &r->bones,
                           .cell = r->body.report.cell,
                           .allocator = &r->allocator};
    if (spl_attach(&in, &r->bones, r->held, &r->report, NULL) != SUPPLE_OK) abort();
}

static void free_rig(rig *r)
{
    body_free(&r->body);
    spl_tree_release(&r->tree);
    shape_free(&r->shape);
    free(r->weights.first);
    free(r->weights.node);
    free(r->weights.weight);
    free(r->held);
}

/* How deep a point is inside the cube of the head; below 0 outside. */
static double inside(spl_vec3 p)
{
    double x = fmin(p.x, 6 - p.x), y = fmin(p.y - 6, 12 - p.y), z = fmin(p.z, 6 - p.z);
    return fmin(x, fmin(y, z));
}

TEST(a_skull_is_what_lies_below_the_skin_at_every_resolution)
{
    for (int resolution = 12; resolution <= 36; resolution += 12) {
        rig r;
        make_rig(&r, on_neck, resolution, 1);
        int32_t wrong = 0, below = 0;
        for (int32_t v = 0; v < r.body.tets.vertex_count; v++) {
            spl_vec3 p = r.body.tets.position[v];
            double deep = inside(p);
            if (p.y > 7.5 && deep > 0.2) wrong += r.held[v] != 1; /* 0.05 of 3 is 0.15 */
            if (p.y > 7.5 && deep < 0.1) wrong += r.held[v] >= 0;
            below += p.y < 5 && r.held[v] == 1;
        }
        CHECK(r.report.skull > 0 && wrong == 0 && below == 0);
        free_rig(&r);
    }
}

TEST(what_has_no_neck_or_shares_its_skin_has_no_skull)
{
    rig r;
    make_rig(&r, on_trunk, 24, 1);
    CHECK(r.report.skull == 0);
    free_rig(&r);
    make_rig(&r, on_neck, 24, 0.8);
    CHECK(r.report.skull == 0);
    free_rig(&r);
}

TEST_CASES(RUN(a_skull_is_what_lies_below_the_skin_at_every_resolution),
           RUN(what_has_no_neck_or_shares_its_skin_has_no_skull))
