/* Conjugate gradients with Jacobi's preconditioner (fast projective skinning, Algorithm 2): one kernel to begin with and
 * three an iteration, three coordinates side by side. Scalar products are left as one sum a group; the kernel that needs
 * them adds them up in every group: no atomics, the same bits on every run.
 *
 * Vectors stand in one buffer `store`, `stride` float4 each: the solution (which comes as the right-hand side), r, d, q. */

__kernel void cg_begin(__global float4 *store, uint stride, int x, int r, int d, __global const float *diagonal,
                       __global const int8 *group, __global float4 *delta, __local float4 *room)
{
    int8 g = group[get_group_id(0)];
    float4 sum = (float4)(0.0f);
    for (int i = FIRST(g) + (int)get_local_id(0); i < END(g); i += (int)get_local_size(0)) {
        float4 b = store[x * stride + i], z = b * inverse_of(diagonal[i]);
        store[x * stride + i] = (float4)(0.0f);
        store[r * stride + i] = b;
        store[d * stride + i] = z;
        sum += b * z;
    }
    sum = group_sum(sum, room);
    if (get_local_id(0) == 0) delta[get_group_id(0)] = sum;
}

/* Columns: of 32 bits, or of 16. */
uint column_at(__global const uint *column, int wide, uint k)
{
    return wide ? column[k] : ((__global const ushort *)column)[k];
}

/* Adds the rows of a CRS part to `sum`: the group reads entry after entry, whosever they are, and each row's own
 * work-item adds up its products. `piece` products at a time. */
void add_rows(__global const uint *start, __global const float *value, __global const uint *column, int wide, int8 g,
              __global const float4 *d, uint piece, __local float4 *product, __local float4 *sum)
{
    uint me = (uint)get_local_id(0), width = (uint)get_local_size(0), to = start[END(g)];
    for (uint at = start[FIRST(g)]; at < to; at += piece) {
        uint stop = min(at + piece, to);
        for (uint k = at + me; k < stop; k += width)
            product[k - at] = value[k] * d[BASE(g) + (int)column_at(column, wide, k)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = FIRST(g) + (int)me; i < END(g); i += (int)width) {
            uint from = max(start[i], at), end = min(start[i + 1], stop);
            float4 mine = sum[i - FIRST(g)];
            for (uint k = from; k < end; k++) mine += product[k - at];
            sum[i - FIRST(g)] = mine;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* q = (A + A_col) d and d . q; A's diagonal has that of the contacts in it. */
__kernel void cg_multiply(__global float4 *store, uint stride, int from, int to, __global const float *diagonal,
                          __global const float *ell_value, __global const uint *ell_column,
                          __global const uint *rest_start, __global const float *rest_value,
                          __global const uint *rest_column, __global const uint *touch_start,
                          __global const float *touch_value, __global const uint *touch_column, int wide, int touches,
                          __global const int8 *group, __global float4 *dq, uint piece, __local float4 *product,
                          __local float4 *sum, __local float4 *room)
{
    int8 g = group[get_group_id(0)];
    int me = (int)get_local_id(0), width = (int)get_local_size(0);
    __global const float4 *d = store + (size_t)from * stride;
    for (int i = FIRST(g) + me; i < END(g); i += width) {
        float4 s = diagonal[i] * d[i];
        for (int e = 0; e < ELL(g); e++) {
            uint k = (uint)(ELL_START(g) + e * ELL_ROWS(g) + (i - FIRST(g)));
            s += ell_value[k] * d[BASE(g) + (int)column_at(ell_column, wide, k)];
        }
        sum[i - FIRST(g)] = s;
    }
    add_rows(rest_start, rest_value, rest_column, wide, g, d, piece, product, sum);
    if (touches) add_rows(touch_start, touch_value, touch_column, 1, g, d, piece, product, sum);
    float4 all = (float4)(0.0f);
    for (int i = FIRST(g) + me; i < END(g); i += width) { /* its own rows alone: no barrier since */
        store[to * stride + i] = sum[i - FIRST(g)];
        all += d[i] * sum[i - FIRST(g)];
    }
    all = group_sum(all, room);
    if (me == 0) dq[get_group_id(0)] = all;
}

/* alpha = gamma / d . q, x += alpha d, r -= alpha q, and the next delta = r . J r */
__kernel void cg_step(__global float4 *store, uint stride, int x, int r, int d, int q, __global const float *diagonal,
                      __global const int8 *group, __global const float4 *gamma, __global const float4 *dq,
                      __global float4 *delta, __local float4 *room)
{
    int8 g = group[get_group_id(0)];
    float4 top = body_sum(gamma, g, room), alpha = ratio(top, body_sum(dq, g, room)), sum = (float4)(0.0f);
    for (int i = FIRST(g) + (int)get_local_id(0); i < END(g); i += (int)get_local_size(0)) {
        store[x * stride + i] += alpha * store[d * stride + i];
        float4 left = store[r * stride + i] - alpha * store[q * stride + i];
        store[r * stride + i] = left;
        sum += left * left * inverse_of(diagonal[i]);
    }
    sum = group_sum(sum, room);
    if (get_local_id(0) == 0) delta[get_group_id(0)] = sum;
}

/* beta = delta / gamma, d = J r + beta d (Algorithm 2 prints r) */
__kernel void cg_turn(__global float4 *store, uint stride, int r, int d, __global const float *diagonal,
                      __global const int8 *group, __global const float4 *gamma, __global const float4 *delta,
                      __local float4 *room)
{
    int8 g = group[get_group_id(0)];
    float4 top = body_sum(delta, g, room), beta = ratio(top, body_sum(gamma, g, room));
    for (int i = FIRST(g) + (int)get_local_id(0); i < END(g); i += (int)get_local_size(0))
        store[d * stride + i] = store[r * stride + i] * inverse_of(diagonal[i]) + beta * store[d * stride + i];
}
