/* OpenCL C 1.2, float alone. Nothing here knows how wide a work-group or a wavefront is: work-items go through their
 * group's share in strides of the group's size, whatever that is, and sums are taken in one order for a given size. */
#pragma OPENCL FP_CONTRACT OFF

/* A work-group's share of the nodes (rows of A), eight numbers: */
#define FIRST(g)       ((g).s0) /* nodes first .. end - 1 */
#define END(g)         ((g).s1)
#define BASE(g)        ((g).s2) /* the first node of its body: columns count from there */
#define ELL(g)         ((g).s3) /* entries of a row in the ELL part, */
#define ELL_START(g)   ((g).s4) /* where this block's begin, */
#define ELL_ROWS(g)    ((g).s5) /* and how far apart a row's stand */
#define BODY_GROUP(g)  ((g).s6) /* the body's first group */
#define BODY_GROUPS(g) ((g).s7) /* and how many it has */

/* The sum over the group, known to all. `room`: one float4 a work-item. */
float4 group_sum(float4 value, __local float4 *room)
{
    uint at = (uint)get_local_id(0), n = (uint)get_local_size(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    room[at] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    while (n > 1) {
        uint upper = (n + 1) / 2;
        if (at + upper < n) room[at] += room[at + upper];
        n = upper;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return room[0];
}

/* The sum of what a body's groups have left behind. */
float4 body_sum(__global const float4 *partial, int8 g, __local float4 *room)
{
    float4 sum = (float4)(0.0f);
    for (int k = (int)get_local_id(0); k < BODY_GROUPS(g); k += (int)get_local_size(0)) sum += partial[BODY_GROUP(g) + k];
    return group_sum(sum, room);
}

/* b, or 0 where that is not positive: quotients of sums that have vanished. */
float4 ratio(float4 a, float4 b)
{
    return select((float4)(0.0f), a / b, isgreater(b, (float4)(0.0f)));
}

float inverse_of(float diagonal)
{
    return diagonal > 0.0f ? 1.0f / diagonal : 1.0f;
}
