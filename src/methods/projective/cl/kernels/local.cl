/* The local step: every tet's nearest rotation and its forces, one work-item a tet; then the forces on the nodes. Twins
 * of local.c, rotation3.c and solver.c. Positions are pairs of floats, high and low part: differences of corners lose
 * nothing that matters. */

#define FAR       0.04f /* radians squared: a last step beyond this is followed by more, */
#define FIRST_FAR 1e-4f /* in the first local step of a solve beyond this (local.h) */
#define MORE      6     /* steps at most beyond those asked for, before a decomposition */

/* R(q), columns R[0], R[1], R[2]. */
void to_matrix(float4 q, float3 R[3])
{
    float x = q.x, y = q.y, z = q.z, w = q.w;
    R[0] = (float3)(1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w));
    R[1] = (float3)(2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w));
    R[2] = (float3)(2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y));
}

/* One Newton step on tr(R^T F), damped where it is not at a maximum. *near: whether it was a plain one and turned by no
 * more than sqrt(most) radians, so that q is the nearest rotation. */
float4 newton_step(const float3 F[3], float norm, float most, float4 q, int *near)
{
    float3 R[3];
    to_matrix(q, R);
    float a00 = dot(R[0], F[0]), a10 = dot(R[1], F[0]), a20 = dot(R[2], F[0]);
    float a01 = dot(R[0], F[1]), a11 = dot(R[1], F[1]), a21 = dot(R[2], F[1]);
    float a02 = dot(R[0], F[2]), a12 = dot(R[1], F[2]), a22 = dot(R[2], F[2]);
    float3 t = (float3)(a21 - a12, a02 - a20, a10 - a01);
    float h00 = a11 + a22, h11 = a00 + a22, h22 = a00 + a11;
    float h01 = -0.5f * (a10 + a01), h02 = -0.5f * (a20 + a02), h12 = -0.5f * (a21 + a12);
    float m2 = h00 * h11 - h01 * h01;
    float det = h22 * m2 - h00 * h12 * h12 - h11 * h02 * h02 + 2 * h01 * h02 * h12;
    int positive = h00 > 1e-3f * norm && m2 > 1e-3f * norm * norm && det > 1e-3f * norm * norm * norm;
    float shift = positive ? 0.0f : 2 * norm;
    h00 += shift;
    h11 += shift;
    h22 += shift;
    float3 c0 = (float3)(h11 * h22 - h12 * h12, h02 * h12 - h01 * h22, h01 * h12 - h02 * h11);
    float3 c1 = (float3)(c0.y, h00 * h22 - h02 * h02, h01 * h02 - h00 * h12);
    float3 c2 = (float3)(c0.z, c1.z, h00 * h11 - h01 * h01);
    det = h00 * c0.x + h01 * c0.y + h02 * c0.z;
    float3 w = (float3)(dot(c0, t), dot(c1, t), dot(c2, t)) * (0.5f / fmax(det, 1e-30f));
    *near = positive && 4 * dot(w, w) < most;
    float4 p = (float4)(q.x + q.w * w.x + q.y * w.z - q.z * w.y, q.y + q.w * w.y + q.z * w.x - q.x * w.z,
                        q.z + q.w * w.z + q.x * w.y - q.y * w.x, q.w - q.x * w.x - q.y * w.y - q.z * w.z);
    return p / sqrt(dot(p, p));
}

/* One rotation of Jacobi's method on N, and of the vectors V. */
void jacobi_turn(float N[4][4], float V[4][4], int p, int q)
{
    if (fabs(N[p][q]) < 1e-30f) return;
    float theta = (N[q][q] - N[p][p]) / (2 * N[p][q]);
    float t = copysign(1.0f, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    float c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 4; k++) {
        float a = N[k][p], b = N[k][q];
        N[k][p] = c * a - s * b;
        N[k][q] = s * a + c * b;
    }
    for (int k = 0; k < 4; k++) {
        float a = N[p][k], b = N[q][k], v = V[k][p], w = V[k][q];
        N[p][k] = c * a - s * b;
        N[q][k] = s * a + c * b;
        V[k][p] = c * v - s * w;
        V[k][q] = s * v + c * w;
    }
}

/* The rotation nearest to any F, mirrored and flat ones as well: tr(R^T F) = q^T N q (Davenport), so q is the vector of
 * the largest eigenvalue. */
float4 nearest_turn(const float3 F[3])
{
    float N[4][4], V[4][4];
    N[0][0] = F[0].x - F[1].y - F[2].z;
    N[1][1] = F[1].y - F[0].x - F[2].z;
    N[2][2] = F[2].z - F[0].x - F[1].y;
    N[3][3] = F[0].x + F[1].y + F[2].z;
    N[0][1] = N[1][0] = F[1].x + F[0].y;
    N[0][2] = N[2][0] = F[2].x + F[0].z;
    N[1][2] = N[2][1] = F[2].y + F[1].z;
    N[0][3] = N[3][0] = F[1].z - F[2].y;
    N[1][3] = N[3][1] = F[2].x - F[0].z;
    N[2][3] = N[3][2] = F[0].y - F[1].x;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) V[i][j] = i == j ? 1.0f : 0.0f;
    for (int sweep = 0; sweep < 10; sweep++)
        for (int p = 0; p < 3; p++)
            for (int q = p + 1; q < 4; q++) jacobi_turn(N, V, p, q);
    int best = 0;
    for (int k = 1; k < 4; k++) best = N[k][k] > N[best][best] ? k : best;
    float4 turn = (float4)(V[0][best], V[1][best], V[2][best], V[3][best]);
    return turn / sqrt(dot(turn, turn));
}

/* The rotation nearest to F, from the last one; R and the quaternion. */
float4 rotate_to(const float3 F[3], float4 q, int newton, float3 R[3])
{
    float norm = sqrt(dot(F[0], F[0]) + dot(F[1], F[1]) + dot(F[2], F[2]));
    float far = newton > 1 ? FIRST_FAR : FAR;
    int near = 0;
    for (int k = 0; k < newton; k++) q = newton_step(F, norm, far, q, &near);
    for (int k = 0; k < MORE && !near; k++) q = newton_step(F, norm, far, q, &near);
    if (!near) q = norm > 1e-30f && norm < 1e30f ? nearest_turn(F) : (float4)(0.0f, 0.0f, 0.0f, 1.0f);
    to_matrix(q, R);
    return q;
}

/* Share of tets: first, end. gradient: 9 x tets, g_k[c] of corners 1 to 3 at 3 (k - 1) + c. force: 4 x tets, by corner;
 * its last number is the force's length. Of energy mu W |F - R|^2 + lambda/2 W tr^2(R^T F - I). */
__kernel void project(__global const int2 *share, uint tets, __global const int4 *corner,
                      __global const float *gradient, __global const float *weight, __global const float *spread,
                      __global const float4 *high, __global const float4 *low, __global float4 *turn,
                      __global float4 *force, int newton, __global float4 *partial, __local float4 *room)
{
    int2 mine = share[get_group_id(0)];
    float energy = 0;
    for (int t = mine.x + (int)get_local_id(0); t < mine.y; t += (int)get_local_size(0)) {
        int4 v = corner[t];
        float3 h0 = high[v.x].xyz, l0 = low[v.x].xyz, F[3], R[3], g[3];
        float3 e1 = (high[v.y].xyz - h0) + (low[v.y].xyz - l0), e2 = (high[v.z].xyz - h0) + (low[v.z].xyz - l0);
        float3 e3 = (high[v.w].xyz - h0) + (low[v.w].xyz - l0);
        for (int k = 0; k < 3; k++)
            g[k] = (float3)(gradient[(3 * k) * tets + t], gradient[(3 * k + 1) * tets + t],
                            gradient[(3 * k + 2) * tets + t]);
        F[0] = e1 * g[0].x + e2 * g[1].x + e3 * g[2].x;
        F[1] = e1 * g[0].y + e2 * g[1].y + e3 * g[2].y;
        F[2] = e1 * g[0].z + e2 * g[1].z + e3 * g[2].z;
        turn[t] = rotate_to(F, turn[t], newton, R);
        float w = weight[t], s = spread[t], trace = dot(F[0], R[0]) + dot(F[1], R[1]) + dot(F[2], R[2]) - 3, sum = 0;
        float3 P[3], f[4];
        for (int c = 0; c < 3; c++) {
            float3 d = F[c] - R[c];
            sum += dot(d, d);
            P[c] = w * d + s * trace * R[c];
        }
        f[0] = (float3)(0.0f);
        for (int k = 0; k < 3; k++) {
            f[k + 1] = -(P[0] * g[k].x + P[1] * g[k].y + P[2] * g[k].z);
            f[0] -= f[k + 1];
        }
        for (int k = 0; k < 4; k++) force[k * tets + t] = (float4)(f[k], sqrt(dot(f[k], f[k])));
        energy += 0.5f * (w * sum + s * trace * trace);
    }
    float4 all = group_sum((float4)(energy, 0.0f, 0.0f, 0.0f), room);
    if (get_local_id(0) == 0) partial[get_group_id(0)] = all;
}

/* Contacts: k times the gap sum_i c_i x_i - offset, or what of it points against the normal. Taken from the first
 * vertex on: coefficients add up to nothing, or, for things of the world (whole = 1), to 1. */
__kernel void press(int count, __global const int4 *vertex, __global const float4 *coefficient,
                    __global const float4 *offset_high, __global const float4 *offset_low,
                    __global const float4 *normal, __global const float4 *high, __global const float4 *low,
                    __global float4 *pull, __global float4 *partial, __local float4 *room)
{
    float energy = 0;
    int at = (int)get_global_id(0);
    if (at < count) {
        int4 v = vertex[at];
        float4 c = coefficient[at], oh = offset_high[at], ol = offset_low[at], n = normal[at];
        float whole = ol.w, k = oh.w;
        float3 h0 = high[v.x].xyz, l0 = low[v.x].xyz, d;
        d = whole > 0.5f ? (h0 - oh.xyz) + (l0 - ol.xyz) : -oh.xyz - ol.xyz;
        if (v.y >= 0) d += c.y * ((high[v.y].xyz - h0) + (low[v.y].xyz - l0));
        if (v.z >= 0) d += c.z * ((high[v.z].xyz - h0) + (low[v.z].xyz - l0));
        if (v.w >= 0) d += c.w * ((high[v.w].xyz - h0) + (low[v.w].xyz - l0));
        if (n.w > 0.5f) d = n.xyz * fmin(dot(d, n.xyz), 0.0f);
        energy = 0.5f * k * dot(d, d);
        pull[at] = (float4)(k * d, 0.0f);
    }
    float4 all = group_sum((float4)(energy, 0.0f, 0.0f, 0.0f), room);
    if (get_local_id(0) == 0) partial[get_group_id(0)] = all;
}

/* r: the corners' forces in the order of the tets, the pull towards the anchor, external forces, contacts. Leaves
 * |r|^2, the squared sums of forces' lengths and the energy. */
__kernel void gather(__global float4 *store, uint stride, int r, __global const int8 *group,
                     __global const int *vertex, __global const uint *slot_start, __global const uint *slot,
                     __global const float4 *force, __global const float4 *high, __global const float4 *low,
                     __global const float4 *anchor_high, __global const float4 *anchor_low,
                     __global const float4 *external, __global const float4 *begin_high,
                     __global const float4 *begin_low, int touches, __global const uint *tie_start,
                     __global const uint *tie, __global const float *tie_share, __global const float4 *pull,
                     __global float4 *partial, __local float4 *room)
{
    int8 g = group[get_group_id(0)];
    float4 sums = (float4)(0.0f);
    for (int i = FIRST(g) + (int)get_local_id(0); i < END(g); i += (int)get_local_size(0)) {
        float4 f = (float4)(0.0f);
        for (uint k = slot_start[i]; k < slot_start[i + 1]; k++) f += force[slot[k]];
        float4 h = high[vertex[i]], l = low[vertex[i]], ah = anchor_high[i];
        float3 off = (ah.xyz - h.xyz) + (anchor_low[i].xyz - l.xyz), e = external[i].xyz;
        float3 moved = (h.xyz - begin_high[i].xyz) + (l.xyz - begin_low[i].xyz), all = f.xyz + ah.w * off + e;
        if (touches)
            for (uint k = tie_start[i]; k < tie_start[i + 1]; k++) all -= tie_share[k] * pull[tie[k]].xyz;
        store[r * stride + i] = (float4)(all, 0.0f);
        sums += (float4)(dot(all, all), f.w * f.w, 0.5f * ah.w * dot(off, off) - dot(e, moved), 0.0f);
    }
    sums = group_sum(sums, room);
    if (get_local_id(0) == 0) partial[get_group_id(0)] = sums;
}
