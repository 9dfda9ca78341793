#include "contact/fold.h"

#include "contact/barrier_mesh.h"
#include "contact/blocks.h"

/* Two blocks of 1 m, a tenth apart along x, a bone each. The first may move; the second is taken along x. */
typedef struct press {
    blocks b;
    barrier_mesh m;
    spl_barrier *barrier; /* to count crossings */
    int32_t n, *first, *next;
    double *y, *goal, *before, *ease;
    bool *exempt, *left;
} press;

/* Neighbours by the edges. */
static void set_neighbours(press *p)
{
    const spl_barrier_surface *s = &p->m.surface;
    int32_t count = 0;
    p->first = calloc((size_t)p->n + 1, sizeof *p->first);
    p->next = malloc((size_t)s->edge_count * 2 * sizeof *p->next);
    for (int32_t v = 0; v < p->n; v++) {
        p->first[v] = count;
        for (int32_t e = 0; e < 2 * s->edge_count; e++)
            if (s->edge[e] == v) p->next[count++] = s->edge[e ^ 1];
    }
    p->first[p->n] = count;
}

static press make_press(void)
{
    press p = {.n = 0};
    supple_allocator a = spl_allocator_of(NULL);
    spl_barrier_options options = spl_barrier_options_default();
    options.width = 0.01;
    blocks_make(&p.b, 2, 4, 0.1, &a, 1);
    const spl_tets *t = &p.b.body.tets;
    p.n = t->vertex_count;
    p.m = barrier_mesh_make(p.b.x, p.n, t->tet, t->tet_count, p.b.per, 0);
    p.barrier = barrier_mesh_barrier(&p.m, &options, p.b.pool);
    for (int32_t v = p.b.per; v < p.n; v++) p.m.fixed[v] = true;
    size_t bytes = 3 * (size_t)p.n * sizeof(double);
    p.y = malloc(bytes);
    p.goal = malloc(bytes);
    p.before = malloc(bytes);
    memcpy(p.before, p.b.x, bytes);
    int bones = p.m.surface.bone_count;
    p.ease = malloc((size_t)(bones * bones) * sizeof *p.ease);
    for (int i = 0; i < bones * bones; i++) p.ease[i] = 1;
    p.exempt = calloc((size_t)p.n, sizeof *p.exempt);
    p.left = calloc((size_t)p.n, sizeof *p.left);
    set_neighbours(&p);
    return p;
}

static void free_press(press *p)
{
    void *own[] = {p->y, p->goal, p->before, p->ease, p->exempt, p->left, p->first, p->next};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
    spl_barrier_destroy(p->barrier);
    barrier_mesh_free(&p->m);
    blocks_free(&p->b);
}

/* The second block by `x` into the first; parts them. Returns how many vertices were given up. */
static int32_t part(press *p, double x, bool with_last)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_fold_mesh mesh = {.surface = &p->m.surface,
                          .first = p->first,
                          .next = p->next,
                          .y = p->y,
                          .goal = p->goal,
                          .before = with_last ? p->before : NULL,
                          .exempt = p->exempt,
                          .width = 0.01};
    spl_fold *fold;
    int32_t left = 0;
    memcpy(p->goal, p->before, 3 * (size_t)p->n * sizeof *p->goal);
    for (int32_t v = p->b.per; v < p->n; v++) p->goal[3 * v] += x;
    memcpy(p->y, p->goal, 3 * (size_t)p->n * sizeof *p->y);
    memset(p->left, 0, (size_t)p->n * sizeof *p->left);
    if (spl_fold_create(&mesh, p->ease, &a, p->b.pool, &fold, NULL) != SUPPLE_OK) abort();
    CHECK(spl_fold_part(fold));
    spl_fold_read(fold, p->y, p->left);
    spl_fold_destroy(fold);
    for (int32_t v = 0; v < p->n; v++) left += p->left[v];
    return left;
}

static double face(const press *p, const double *x)
{
    double most = -1e30;
    for (int32_t v = 0; v < p->b.per; v++)
        if (p->first[v + 1] > p->first[v]) most = fmax(most, x[3 * v]); /* what is inside is no part of the mesh */
    return most;
}

/* Smoothing takes the first block to a point in the second: only the last frame knows on which side it was. */
TEST(what_was_apart_stays_on_its_side)
{
    press p = make_press();
    double rest = face(&p, p.before);
    part(&p, -0.9, false);
    CHECK(face(&p, p.y) > rest - 0.8 + 1e-6);
    CHECK(part(&p, -0.9, true) == 0);
    CHECK(spl_barrier_crossings(p.barrier, p.y) == 0);
    CHECK(face(&p, p.y) < rest - 0.8 + 1e-6); /* as far as the other block has come */
    CHECK(memcmp(p.y + 3 * p.b.per, p.goal + 3 * p.b.per, 3 * (size_t)(p.n - p.b.per) * sizeof *p.y) == 0);
    free_press(&p);
}

/* A last frame that crosses itself says nothing. */
TEST(a_last_frame_that_crosses_is_none)
{
    press p = make_press();
    for (int32_t v = p.b.per; v < p.n; v++) p.before[3 * v] -= 0.3;
    CHECK(part(&p, -0.1, true) == part(&p, -0.1, false));
    free_press(&p);
}

TEST_CASES(RUN(what_was_apart_stays_on_its_side), RUN(a_last_frame_that_crosses_is_none))
