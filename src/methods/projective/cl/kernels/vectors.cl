/* Long vectors, for the acceleration (pace.c): products and combinations of several at once; and steps of x. */

/* Up to 16 products a . b of vectors in the store; sixteen sums a group. Written out: private arrays filled by vector
 * stores have made a compiler crash (PoCL 3.1). */
#define DOT(k)                                                                                                         \
    if (0x##k < count) sum.s##k += dot(store[first.s##k * stride + i].xyz, store[second.s##k * stride + i].xyz);

__kernel void dots(__global const float4 *store, uint stride, int count, int16 first, int16 second,
                   __global const int8 *group, __global float4 *partial, __local float4 *room)
{
    int8 g = group[get_group_id(0)];
    float16 sum = (float16)(0.0f);
    for (int i = FIRST(g) + (int)get_local_id(0); i < END(g); i += (int)get_local_size(0)) {
        DOT(0) DOT(1) DOT(2) DOT(3) DOT(4) DOT(5) DOT(6) DOT(7)
        DOT(8) DOT(9) DOT(a) DOT(b) DOT(c) DOT(d) DOT(e) DOT(f)
    }
    float4 s0 = group_sum(sum.s0123, room), s1 = group_sum(sum.s4567, room);
    float4 s2 = group_sum(sum.s89ab, room), s3 = group_sum(sum.scdef, room);
    if (get_local_id(0) == 0) {
        partial[4 * get_group_id(0)] = s0;
        partial[4 * get_group_id(0) + 1] = s1;
        partial[4 * get_group_id(0) + 2] = s2;
        partial[4 * get_group_id(0) + 3] = s3;
    }
}

/* out = base + sum_k s_k x_k, up to eight; out may be base. */
#define ADD(k) \
    if (k < count) sum += share.s##k * store[which.s##k * stride + i];

__kernel void combine(__global float4 *store, uint stride, int base, int out, int count, int8 which, float8 share,
                      __global const int8 *group)
{
    int8 g = group[get_group_id(0)];
    for (int i = FIRST(g) + (int)get_local_id(0); i < END(g); i += (int)get_local_size(0)) {
        float4 sum = store[base * stride + i];
        ADD(0) ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(7)
        store[out * stride + i] = sum;
    }
}

/* x + dx as a pair of floats (Knuth's sum, exact), x before it kept. */
__kernel void advance(__global const float4 *store, uint stride, int step, __global const int8 *group,
                      __global const int *vertex, __global float4 *high, __global float4 *low,
                      __global float4 *before_high, __global float4 *before_low)
{
    int8 g = group[get_group_id(0)];
    for (int i = FIRST(g) + (int)get_local_id(0); i < END(g); i += (int)get_local_size(0)) {
        float4 h = high[vertex[i]], l = low[vertex[i]], d = store[step * stride + i];
        before_high[i] = h;
        before_low[i] = l;
        float4 sum = h + d, part = sum - h, rest = (h - (sum - part)) + (d - part) + l, whole = sum + rest;
        high[vertex[i]] = whole;
        low[vertex[i]] = rest - (whole - sum);
    }
}

__kernel void go_back(__global const int8 *group, __global const int *vertex, __global float4 *high,
                      __global float4 *low, __global const float4 *before_high, __global const float4 *before_low)
{
    int8 g = group[get_group_id(0)];
    for (int i = FIRST(g) + (int)get_local_id(0); i < END(g); i += (int)get_local_size(0)) {
        high[vertex[i]] = before_high[i];
        low[vertex[i]] = before_low[i];
    }
}
