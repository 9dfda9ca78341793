#include "failing.h"
#include "upsample_rig.h"

static spl_upsample_options normal_kind(void)
{
    return with(SPL_UPSAMPLE_ALONG_NORMAL, 20);
}

TEST(rest_and_rigid_motions_are_exact)
{
    shape fine[2] = {shape_sphere(50, 1.03), shape_torus(60, 1, 0.42)};
    for (int i = 0; i < 2; i++) {
        spl_upsample_options o = normal_kind();
        rig r = rig_make(i ? shape_torus(16, 1, 0.4) : shape_sphere(10, 1), &fine[i], &o, 1);
        double rest = rig_error(&r, stay, NULL, NULL), turned = rig_error(&r, affine, rigid_map, NULL);
        spl_upsample_stats s = spl_upsample_get_stats(r.u);
        printf("    rest %.1e, rigid %.1e of the diagonal; %d of %d not reached by a normal\n", rest / r.diagonal,
               turned / r.diagonal, s.framed, s.skin);
        CHECK(rest < 1e-6 * r.diagonal && turned < 1e-6 * r.diagonal);
        CHECK(s.framed < s.skin / 20 && s.corners == s.skin);
        rig_release(&r);
        shape_free(&fine[i]);
    }
}

/* Computed here in double precision from the weights alone: what is left of a vertex beside its point on the bent
 * surface is as long as at rest and runs along the interpolated normal there. */
TEST(displacements_run_along_the_interpolated_normals)
{
    shape fine = shape_sphere(50, 1.05);
    spl_upsample_options o = normal_kind();
    rig r = rig_make(shape_sphere(10, 1), &fine, &o, 1);
    double curvature = 0.4, off = 0, longer = 0;
    rig_move(&r, bend, &curvature);
    spl_surface bent;
    supple_allocator a = spl_allocator_of(NULL);
    REQUIRE(spl_surface_make(r.moved, r.body.vertex_count, r.body.triangle, r.body.triangle_count, &a, &bent, NULL) ==
            SUPPLE_OK);
    for (int32_t v = 0; v < r.count; v++) {
        int32_t index[8];
        float weight[8];
        int32_t n = spl_upsample_weights(r.u, v, 8, index, weight);
        spl_vec3 d = spl_v3_from_float(r.out + 3 * v), d0 = spl_v3_from_float(r.rest + 3 * v), normal = {0};
        CHECK(n >= 1 && n <= 3);
        if (r.u->vertex[v].frame >= 0) continue; /* not reached by a normal */
        for (int32_t k = 0; k < n; k++) {
            d = spl_madd(d, bent.position[index[k]], -(double)weight[k]);
            d0 = spl_madd(d0, r.surface->position[index[k]], -(double)weight[k]);
            normal = spl_madd(normal, bent.normal[index[k]], (double)weight[k]);
        }
        spl_vec3 unit = spl_unit(normal, normal);
        off = fmax(off, spl_norm(spl_madd(d, unit, -spl_dot(d, unit))));
        longer = fmax(longer, fabs(spl_norm(d) - spl_norm(d0)));
    }
    printf("    off the normal by %.1e, longer by %.1e\n", off, longer);
    CHECK(off < 2e-6 && longer < 2e-6);
    spl_surface_release(&bent);
    rig_release(&r);
    shape_free(&fine);
}

TEST(same_bits_at_any_number_of_threads_and_with_failing_memory)
{
    shape fine = shape_torus(30, 1, 0.42);
    double curvature = 0.3;
    spl_upsample_options o = normal_kind();
    rig one = rig_make(shape_torus(12, 1, 0.4), &fine, &o, 1);
    rig three = rig_make(shape_torus(12, 1, 0.4), &fine, &o, 3);
    rig_move(&one, bend, &curvature);
    rig_move(&three, bend, &curvature);
    CHECK(memcmp(one.out, three.out, (size_t)one.count * 12) == 0);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_upsample *u;
        supple_result result = spl_upsample_create(one.surface, &one.mesh, &o, one.pool, &a, &u, NULL);
        CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && !u));
        spl_upsample_destroy(u);
        CHECK(f.live == 0);
        if (f.requests <= n) break;
    }
    rig_release(&one);
    rig_release(&three);
    shape_free(&fine);
}

TEST_CASES(RUN(rest_and_rigid_motions_are_exact), RUN(displacements_run_along_the_interpolated_normals),
           RUN(same_bits_at_any_number_of_threads_and_with_failing_memory))
