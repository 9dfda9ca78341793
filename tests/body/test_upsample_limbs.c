/* Which limb a visual vertex follows: gaps, folds, overlaps; and skin that is far from all. */
#include "body/upsample_rig.h"

/* ---- gaps -------------------------------------------------------------------------------------------------------- */

/* Two boxes side by side along x, `gap` apart, in one mesh. */
static shape two_boxes(int n, double gap, double swell)
{
    shape one = shape_box(n, 1 + 2 * swell, 0.2 + 2 * swell, 0.2 + 2 * swell);
    shape both = shape_new(2 * one.vertex_count, 2 * one.triangle_count);
    for (int i = 0; i < 2; i++) {
        for (int32_t v = 0; v < one.vertex_count; v++) {
            double *to = both.position + 3 * (i * one.vertex_count + v);
            for (int c = 0; c < 3; c++) to[c] = one.position[3 * v + c];
            to[1] += i * (0.2 + gap);
        }
        for (int32_t t = 0; t < 3 * one.triangle_count; t++)
            both.triangle[3 * i * one.triangle_count + t] = one.triangle[t] + i * one.vertex_count;
    }
    shape_free(&one);
    return both;
}

/* Visual boxes larger than the body's, so that in the gap the nearest surface is that of the *other* box. */
TEST(a_finger_does_not_move_its_neighbour)
{
    double gap = 0.001;
    shape visual = two_boxes(9, gap, 0.0008);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(two_boxes(6, gap, 0), &visual, &o, 1);
    memcpy(r.moved, r.body.position, (size_t)r.body.vertex_count * 3 * sizeof(double));
    for (int32_t v = r.body.vertex_count / 2; v < r.body.vertex_count; v++) r.moved[3 * v + 2] += 0.3;
    spl_upsample_target to = {r.out, 12, NULL, 0};
    spl_upsample_apply(r.u, r.f, r.pool, r.moved, &to);
    spl_upsample_stats s = spl_upsample_get_stats(r.u);
    printf("    %d redirected\n", s.redirected);
    CHECK(s.redirected > 0);
    for (int32_t v = 0; v < r.count; v++)
        CHECK_NEAR(r.out[3 * v + 2], r.rest[3 * v + 2] + (v >= r.count / 2 ? 0.3F : 0), 1e-6);
    rig_release(&r);
    shape_free(&visual);
}

/* Two plates 1 mm apart that face the same way, so that normals say nothing. The visual plates are bumpy: some of their
 * vertices come close to the other plate. */
TEST(a_plate_does_not_move_the_one_above)
{
    double gap = 0.001;
    shape plate[2] = {shape_grid(8, 8, shape_at_plane, (double[]){0.2, 0.2}),
                      shape_grid(21, 21, shape_at_plane, (double[]){0.2, 0.2})},
          both[2];
    for (int k = 0; k < 2; k++) {
        int32_t n = plate[k].vertex_count, t = plate[k].triangle_count;
        both[k] = shape_new(2 * n, 2 * t);
        for (int32_t i = 0; i < 6 * n; i++)
            both[k].position[i] =
                plate[k].position[i % (3 * n)] + (i % 3 == 2 ? gap * (i / (3 * n)) + (k ? 0.0004 * sin(i) : 0) : 0);
        for (int32_t i = 0; i < 6 * t; i++) both[k].triangle[i] = plate[k].triangle[i % (3 * t)] + n * (i / (3 * t));
    }
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(both[0], &both[1], &o, 1);
    memcpy(r.moved, r.body.position, (size_t)r.body.vertex_count * 3 * sizeof(double));
    /* The upper plate turns in its plane. (A shift would be an affine motion of the body as a whole: a shear.) */
    double c = cos(0.5), s = sin(0.5);
    for (int32_t v = r.body.vertex_count / 2; v < r.body.vertex_count; v++) {
        const double *x = r.body.position + 3 * v;
        r.moved[3 * v] = c * x[0] - s * x[1];
        r.moved[3 * v + 1] = s * x[0] + c * x[1];
    }
    spl_upsample_target to = {r.out, 12, NULL, 0};
    spl_upsample_apply(r.u, r.f, r.pool, r.moved, &to);
    for (int32_t v = 0; v < r.count; v++) {
        const float *x = r.rest + 3 * v;
        bool upper = v >= r.count / 2;
        CHECK_NEAR(r.out[3 * v], upper ? c * (double)x[0] - s * (double)x[1] : (double)x[0], 1e-6);
        CHECK_NEAR(r.out[3 * v + 1], upper ? s * (double)x[0] + c * (double)x[1] : (double)x[1], 1e-6);
    }
    rig_release(&r);
    shape_free(&both[1]);
    for (int k = 0; k < 2; k++) shape_free(&plate[k]);
}

/* ---- overlaps ---------------------------------------------------------------------------------------------------- */

/* Both meshes hold the first limb in their first half and the second one in the rest. */
typedef struct halves {
    int32_t visual, body;
} halves;

static bool same_half(const void *context, int32_t visual, int32_t body)
{
    const halves *h = context;
    return (visual < h->visual) == (body < h->body);
}

/* Moves the second limb of the body; how many visual vertices did not do as their own limb does. */
static int32_t count_strays(rig *r)
{
    int32_t strays = 0;
    memcpy(r->moved, r->body.position, (size_t)r->body.vertex_count * 3 * sizeof(double));
    for (int32_t v = r->body.vertex_count / 2; v < r->body.vertex_count; v++) r->moved[3 * v + 2] += 0.3;
    spl_upsample_target to = {r->out, 12, NULL, 0};
    spl_upsample_apply(r->u, r->f, r->pool, r->moved, &to);
    for (int32_t v = 0; v < r->count; v++) {
        double moved = (double)(r->out[3 * v + 2] - r->rest[3 * v + 2]), own = v >= r->count / 2 ? 0.3 : 0;
        strays += !(fabs(moved - own) < 1e-6);
    }
    return strays;
}

/* Limbs that overlap: the visual one's vertices lie off their own limb and nearer to the other. */
TEST(overlapping_limbs_keep_what_they_accept)
{
    double overlap = -0.047; /* no vertex of one limb on one of the other: they would be welded */
    shape visual = two_boxes(15, overlap, 0.03);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(two_boxes(8, overlap, 0), &visual, &o, 2);
    halves h = {r.count / 2, r.body.vertex_count / 2};
    int32_t without = count_strays(&r);
    rig_map(&r, &visual, &o, same_half, &h);
    int32_t with_it = count_strays(&r), refused = spl_upsample_get_stats(r.u).refused;
    printf("    %d vertices stray without, %d with; %d refused\n", without, with_it, refused);
    CHECK(without > 100);
    CHECK(with_it == 0);
    CHECK(refused > 0);
    CHECK(rig_error(&r, stay, NULL, NULL) < 1e-6 * r.diagonal);
    CHECK(rig_error(&r, affine, rigid_map, NULL) < 1e-6 * r.diagonal);
    rig_release(&r);
    shape_free(&visual);
}

/* Normals that point inwards near the gap would send vertices to the next finger, were it acceptable. */
TEST(normals_do_not_send_where_it_is_not_accepted)
{
    double gap = 0.001;
    shape visual = two_boxes(9, gap, 0);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(two_boxes(6, gap, 0), &visual, &o, 1);
    halves h = {r.count / 2, r.body.vertex_count / 2};
    for (int32_t v = 0; v < r.count; v++)
        for (int c = 0; c < 3 && fabs((double)r.rest[3 * v + 1] - 0.1005) < 0.001; c++) r.rest_normal[3 * v + c] *= -1;
    rig_map(&r, &visual, &o, NULL, NULL);
    int32_t without = count_strays(&r);
    rig_map(&r, &visual, &o, same_half, &h);
    int32_t with_it = count_strays(&r);
    printf("    %d vertices stray without, %d with\n", without, with_it);
    CHECK(without > 10);
    CHECK(with_it == 0);
    rig_release(&r);
    shape_free(&visual);
}

static bool accept_nothing(const void *context, int32_t visual, int32_t body)
{
    (void)context;
    (void)visual;
    (void)body;
    return false;
}

/* Where nothing is accepted the nearest place has to do. */
TEST(a_vertex_that_nothing_accepts_stays_where_it_is_nearest)
{
    shape visual = shape_sphere(20, 1);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_sphere(10, 1), &visual, &o, 1);
    double curvature = 0.5, before = rig_error(&r, bend, &curvature, NULL);
    rig_map(&r, &visual, &o, accept_nothing, NULL);
    CHECK(rig_error(&r, bend, &curvature, NULL) == before);
    CHECK(spl_upsample_get_stats(r.u).refused == 0);
    rig_release(&r);
    shape_free(&visual);
}

/* ---- folds ------------------------------------------------------------------------------------------------------- */

/* A bar bent into a hairpin: its legs are connected, 1 mm apart, and face each other. */
static shape hairpin(int n)
{
    double gap = 0.001, thick = 0.1, radius = (gap + thick) / 2, turn = shape_pi / 2 * radius;
    shape s = shape_box(n, 2, 0.2, thick);
    for (int32_t v = 0; v < s.vertex_count; v++) {
        double *p = s.position + 3 * v, along = fabs(p[0]), side = p[0] < 0 ? -1 : 1, r = radius + p[2];
        double a = along < turn ? along / radius : shape_pi / 2, leg = along < turn ? 0 : along - turn;
        p[0] = leg - r * cos(a);
        p[2] = side * r * sin(a);
    }
    return s;
}

TEST(a_fold_is_a_gap)
{
    shape visual = hairpin(31);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(hairpin(16), &visual, &o, 1);
    spl_upsample_stats s = spl_upsample_get_stats(r.u);
    int across = 0;
    for (int32_t v = 0; v < r.count; v++) {
        int32_t index[64], n = spl_upsample_weights(r.u, v, 64, index, (float[64]){0});
        for (int32_t i = 0; i < n; i++) /* the turn ends at x = 0 */
            across += r.rest[3 * v] > 0.02F && r.surface->position[index[i]].x > 0.02 &&
                      r.surface->position[index[i]].z * (double)r.rest[3 * v + 2] < 0;
    }
    printf("    %d neighbours dropped, %d across; %d redirected\n", s.dropped, across, s.redirected);
    CHECK(s.dropped > 0);
    CHECK(across == 0);
    CHECK(rig_error(&r, stay, NULL, NULL) < 1e-6 * r.diagonal);
    rig_release(&r);
    shape_free(&visual);
}

/* ---- skin that follows ------------------------------------------------------------------------------------------- */

/* A shell that is farther off than a patch is wide keeps its distance. */
TEST(skin_far_away_follows)
{
    shape shell = shape_sphere(12, 1.6);
    spl_upsample_options o = spl_upsample_options_default();
    rig r = rig_make(shape_sphere(14, 1), &shell, &o, 1);
    spl_upsample_stats s = spl_upsample_get_stats(r.u);
    CHECK(s.follow > 0 && s.skin == 0);
    CHECK(rig_error(&r, stay, NULL, NULL) < 1e-6 * r.diagonal);
    CHECK(rig_error(&r, affine, rigid_map, NULL) < 1e-6 * r.diagonal);
    double curvature = 0.5, worst = 0;
    rig_move(&r, bend, &curvature);
    for (int32_t v = 0; v < r.count; v++) {
        spl_vec3 root = bend(spl_scale(spl_v3_from_float(r.rest + 3 * v), 1 / 1.6), &curvature);
        worst = fmax(worst, fabs(spl_distance(root, spl_v3_from_float(r.out + 3 * v)) - 0.6));
    }
    printf("    its distance is off by %.3f\n", worst);
    CHECK(worst < 0.05);
    rig_release(&r);
    shape_free(&shell);
}

TEST_CASES(RUN(a_finger_does_not_move_its_neighbour), RUN(a_plate_does_not_move_the_one_above),
           RUN(overlapping_limbs_keep_what_they_accept), RUN(normals_do_not_send_where_it_is_not_accepted),
           RUN(a_vertex_that_nothing_accepts_stays_where_it_is_nearest), RUN(a_fold_is_a_gap),
           RUN(skin_far_away_follows))
