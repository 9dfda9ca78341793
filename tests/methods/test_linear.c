#include "fixture.h"
#include "methods/skinning.h"
#include "test.h"

/* The definition, in double. */
static spl_vec3 naive(const rig *r, int32_t v)
{
    int32_t local;
    const spl_primitive *p = rig_primitive(r, v, &local);
    spl_vec3 rest = rig_rest(r, v), sum = spl_v3(0, 0, 0);
    if (p->influence_count == 0) return spl_mat4_point(&r->world[RIG_RIGID], rest);
    for (int32_t k = 0; k < p->influence_count; k++) {
        spl_mat4 m = rig_matrix(r, p->joint[local * p->influence_count + k]);
        sum = spl_madd(sum, spl_mat4_point(&m, rest), (double)p->weight[local * p->influence_count + k]);
    }
    return sum;
}

TEST(agrees_with_its_definition_for_every_number_of_influences)
{
    for (int32_t K = 1; K <= RIG_INFLUENCES; K++) {
        rig *r = rig_make(1003, K);
        REQUIRE(rig_init(r, &spl_method_linear) == SUPPLE_OK);
        rig_pose(r, 3, 2, 0.5);
        rig_step(r, &spl_method_linear);
        double worst = 0;
        for (int32_t v = 0; v < r->scene.vertex_count; v++)
            worst = fmax(worst, spl_distance(naive(r, v), rig_out(r, v)));
        CHECK(worst < 2e-6);
        rig_release(r, &spl_method_linear);
        rig_free(r);
    }
}

TEST(rigid_motion_of_all_bones_is_rigid_motion)
{
    rig *r = rig_make(500, 4);
    spl_mat3 turn = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(1, 2, 3), 2));
    spl_mat4 m = spl_mat3_affine(&turn, spl_v3(1, -2, 0.5));
    REQUIRE(rig_init(r, &spl_method_linear) == SUPPLE_OK);
    for (int32_t j = 0; j < RIG_JOINTS; j++) rig_set(r, j, &m);
    r->world[RIG_RIGID] = m;
    rig_step(r, &spl_method_linear);
    for (int32_t v = 0; v < r->scene.vertex_count; v++)
        CHECK(spl_distance(spl_mat4_point(&m, rig_rest(r, v)), rig_out(r, v)) < 1e-6);
    rig_release(r, &spl_method_linear);
    rig_free(r);
}

TEST(same_bits_at_any_number_of_threads)
{
    rig *r = rig_make(20011, 4);
    uint64_t one = rig_hash(r, &spl_method_linear, 0);
    CHECK(one != 0);
    const int32_t threads[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) CHECK(rig_hash(r, &spl_method_linear, threads[i]) == one);
    rig_free(r);
}

TEST(every_failing_allocation_is_reported_without_a_leak)
{
    rig *r = rig_make(100, 4);
    rig_pose(r, 1, 1, 0);
    CHECK(rig_fail_every_allocation(r, &spl_method_linear) >= 6);
    rig_free(r);
}

TEST(joints_out_of_range_are_refused)
{
    rig *r = rig_make(100, 4);
    r->primitive[1].joint[5] = RIG_JOINTS;
    CHECK(rig_init(r, &spl_method_linear) == SUPPLE_ERROR_INPUT);
    rig_release(r, &spl_method_linear);
    rig_free(r);
}

/* Nothing beside the vertices is written: blocks of eight end within the arrays. */
TEST(nothing_beyond_the_output_is_written)
{
    for (int32_t n = 1; n < 20; n++) {
        rig *r = rig_make(n, 4);
        r->primitive[2].vertex_count -= n; /* the last block is at some n a whole one */
        r->instance[1].vertex_count -= n;
        r->scene.vertex_count -= n;
        size_t count = (size_t)r->scene.vertex_count * 3;
        float *guarded = calloc(count + 16, sizeof(float)), *out = r->out;
        for (size_t i = 0; i < count + 16; i++) guarded[i] = 77;
        r->out = guarded + 8;
        REQUIRE(rig_init(r, &spl_method_linear) == SUPPLE_OK);
        rig_pose(r, 1, 1, 0);
        rig_step(r, &spl_method_linear);
        for (size_t i = 0; i < 8; i++) CHECK(guarded[i] == 77 && guarded[count + 8 + i] == 77);
        rig_release(r, &spl_method_linear);
        r->out = out;
        free(guarded);
        rig_free(r);
    }
}

TEST(scalar_and_simd_kernels_agree)
{
#ifndef SPL_HAVE_AVX2
    SKIP("built without SIMD");
#else
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) SKIP("no AVX2 here");
    rig *r = rig_make(1003, 5);
    spl_skinning s = {0};
    REQUIRE(spl_skinning_init(&s, &r->scene, &r->allocator, NULL) == SUPPLE_OK);
    rig_pose(r, 3, 2, 0.5);
    spl_skinning_set_matrices(&s, &r->scene, &r->pose, true);
    for (size_t i = 0; i < s.entry_count * SPL_DUAL_SIZE; i++) s.dual[i] = cosf((float)i);
    for (int phases = 1; phases < 4; phases++) { /* affine, dual, both */
        for (size_t g = 0; g < s.group_count; g++)
            s.group[g] = (spl_group){s.group[g].palette, phases & 1, phases & 2, {1, -2, 0.5F}};
        size_t n = (size_t)r->scene.vertex_count * 3;
        float *twin = calloc(n, sizeof(float));
        spl_skinning_blocks_scalar(&s, r->rest, twin, 0, s.block_count);
        spl_skinning_blocks_avx2(&s, r->rest, r->out, 0, s.block_count);
        for (size_t i = 0; i < n; i++) CHECK_NEAR(twin[i], r->out[i], 2e-5 * (1 + fabs((double)twin[i])));
        /* Blocks in any order: none writes into the next one. */
        for (size_t b = s.block_count; b-- > 0;) spl_skinning_blocks_avx2(&s, r->rest, twin, b, b + 1);
        CHECK(memcmp(twin, r->out, n * sizeof(float)) == 0);
        free(twin);
    }
    spl_skinning_release(&s, &r->allocator);
    rig_free(r);
#endif
}

TEST_CASES(RUN(agrees_with_its_definition_for_every_number_of_influences),
           RUN(rigid_motion_of_all_bones_is_rigid_motion), RUN(same_bits_at_any_number_of_threads),
           RUN(every_failing_allocation_is_reported_without_a_leak), RUN(joints_out_of_range_are_refused),
           RUN(nothing_beyond_the_output_is_written), RUN(scalar_and_simd_kernels_agree))
