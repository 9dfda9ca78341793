#include "contact/pressed.h"

#include "contact/barrier_mesh.h"
#include "contact/barrier_private.h"
#include "contact/blocks.h"
#include "failing.h"

/* Two blocks of 1 m, half a metre apart along x, a bone each. */
typedef struct pair_of_blocks {
    blocks b;
    barrier_mesh m;
    spl_barrier *barrier;
    double *x;
    int32_t n; /* coordinates */
} pair_of_blocks;

/* `apart`: from face to face, metres. */
static pair_of_blocks make_blocks(double apart)
{
    pair_of_blocks p;
    supple_allocator a = spl_allocator_of(NULL);
    spl_barrier_options options = spl_barrier_options_default();
    options.self = true;
    options.width = 0.02;
    blocks_make(&p.b, 2, 3, 0.5, &a, 1);
    const spl_tets *t = &p.b.body.tets;
    p.m = barrier_mesh_make(p.b.x, t->vertex_count, t->tet, t->tet_count, p.b.per, 0);
    p.barrier = barrier_mesh_barrier(&p.m, &options, p.b.pool);
    p.n = 3 * t->vertex_count;
    p.x = malloc((size_t)p.n * sizeof *p.x);
    memcpy(p.x, p.b.x, (size_t)p.n * sizeof *p.x);
    for (int32_t i = 3 * p.b.per; i < p.n; i += 3) p.x[i] += apart - 0.5;
    return p;
}

static void free_blocks(pair_of_blocks *p)
{
    free(p->x);
    spl_barrier_destroy(p->barrier);
    barrier_mesh_free(&p->m);
    blocks_free(&p->b);
}

/* All pairs that are near at x, and how many. */
static int32_t note_all(pair_of_blocks *p, spl_pressed *pressed)
{
    CHECK(spl_barrier_seek(p->barrier, p->x, NULL, NULL) == SUPPLE_OK);
    for (int32_t i = p->barrier->count - 1; i >= 0; i--) /* in any order, and twice */
        CHECK(spl_pressed_note(pressed, &p->barrier->potential[i].pair));
    for (int32_t i = 0; i < p->barrier->count; i++) CHECK(spl_pressed_note(pressed, &p->barrier->potential[i].pair));
    return p->barrier->count;
}

static spl_pressed make_pressed(const pair_of_blocks *p)
{
    spl_pressed pressed;
    supple_allocator a = spl_allocator_of(NULL);
    spl_pressed_create(p->barrier, &a, &pressed);
    return pressed;
}

TEST(pairs_are_kept_once_and_in_order)
{
    pair_of_blocks p = make_blocks(0.01);
    spl_pressed pressed = make_pressed(&p);
    int32_t count = note_all(&p, &pressed);
    CHECK(count > 20 && pressed.count == count);
    for (int32_t i = 1; i < pressed.count; i++)
        CHECK(spl_pair_order(&pressed.press[i - 1].pair, &pressed.press[i].pair) < 0);
    spl_pressed_place(&pressed, p.x);
    for (int32_t i = 0; i < pressed.count; i++) {
        const spl_pressed_pair *q = &pressed.press[i];
        CHECK(fabs(q->normal.x) > 0.7 && fabs(spl_norm(q->normal) - 1) < 1e-12);
        CHECK(q->apart >= 0.25 * 0.02); /* beyond what bounded moves leave */
    }
    spl_pressed_release(&pressed);
    free_blocks(&p);
}

/* A spring of a stiffness of its own against a force that is constant leaves nothing in the end: pushes add up to what
 * makes up for it. */
TEST(pushes_make_up_for_what_springs_leave)
{
    pair_of_blocks p = make_blocks(0.01);
    spl_pressed pressed = make_pressed(&p);
    double *y = malloc((size_t)p.n * sizeof *y), apart = 0, give = 0.004, left = 1;
    note_all(&p, &pressed);
    for (int step = 0; step < 40; step++) {
        spl_pressed_place(&pressed, p.x);
        REQUIRE(pressed.count > 0);
        const spl_pressed_pair *q = &pressed.press[0];
        apart = q->apart;
        left = give - q->push; /* by so much the spring gives */
        memcpy(y, p.x, (size_t)p.n * sizeof *y);
        for (int32_t i = 3 * p.b.per; i < p.n; i += 3) y[i] += apart - left - 0.01;
        spl_pressed_learn(&pressed, y, 0.1);
    }
    CHECK(fabs(left) < 1e-9 && pressed.press[0].push > 0.0039);
    for (int step = 0; step < 40; step++) { /* it opens: pushes fade, and the pair is forgotten */
        spl_pressed_place(&pressed, p.x);
        memcpy(y, p.x, (size_t)p.n * sizeof *y);
        for (int32_t i = 3 * p.b.per; i < p.n; i += 3) y[i] += 0.1;
        spl_pressed_learn(&pressed, y, 0.1);
    }
    CHECK(pressed.count == 0);
    free(y);
    spl_pressed_release(&pressed);
    free_blocks(&p);
}

/* Slides one block along the other by `along` while it is pressed, with a push of 3 mm: how many of the touching places
 * are others then. */
static int32_t slide(pair_of_blocks *p, double along)
{
    spl_pressed pressed = make_pressed(p);
    double *y = malloc((size_t)p->n * sizeof *y);
    int32_t others = 0;
    note_all(p, &pressed);
    spl_pressed_place(&pressed, p->x);
    spl_pressed_pair *was = malloc((size_t)pressed.count * sizeof *was);
    memcpy(was, pressed.press, (size_t)pressed.count * sizeof *was);
    memcpy(y, p->x, (size_t)p->n * sizeof *y);
    for (int32_t i = 3 * p->b.per; i < p->n; i += 3) {
        y[i] += was[0].apart - 0.006 - 0.01; /* half of 6 mm is learned */
        y[i + 1] += along;
    }
    spl_pressed_learn(&pressed, y, 0.1);
    CHECK(fabs(pressed.press[0].push - 0.003) < 1e-9);
    spl_pressed_place(&pressed, y);
    for (int32_t i = 0, k = 0; i < pressed.count; i++, k++) {
        while (spl_pair_order(&was[k].pair, &pressed.press[i].pair) != 0) k++;
        others += memcmp(was[k].w, pressed.press[i].w, sizeof was->w) != 0;
    }
    free(was);
    free(y);
    spl_pressed_release(&pressed);
    return others;
}

TEST(flesh_sticks_as_far_as_friction_bears)
{
    pair_of_blocks p = make_blocks(0.01);
    CHECK(slide(&p, 0.0014) == 0); /* half of 3 mm is 1.5 */
    CHECK(slide(&p, 0.0016) > 0);
    free_blocks(&p);
}

TEST(released_bones_press_no_more)
{
    pair_of_blocks p = make_blocks(0.01);
    spl_pressed pressed = make_pressed(&p);
    note_all(&p, &pressed);
    spl_barrier_release(p.barrier, 0, 1, true);
    spl_pressed_place(&pressed, p.x);
    CHECK(pressed.count == 0);
    spl_pressed_release(&pressed);
    free_blocks(&p);
}

TEST(memory_that_is_out_is_told)
{
    pair_of_blocks p = make_blocks(0.01);
    failing f = {.fail_at = 0};
    supple_allocator a = failing_allocator(&f);
    spl_pressed pressed;
    spl_pressed_create(p.barrier, &a, &pressed);
    spl_pair pair = {SPL_PAIR_POINT_TRIANGLE, {0, 1, 2, 3}};
    CHECK(!spl_pressed_note(&pressed, &pair) && pressed.count == 0);
    CHECK(spl_pressed_note(&pressed, &pair) && pressed.count == 1);
    spl_pressed_release(&pressed);
    CHECK(f.live == 0);
    free_blocks(&p);
}

TEST_CASES(RUN(pairs_are_kept_once_and_in_order), RUN(pushes_make_up_for_what_springs_leave),
           RUN(flesh_sticks_as_far_as_friction_bears), RUN(released_bones_press_no_more),
           RUN(memory_that_is_out_is_told))
