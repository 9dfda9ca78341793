/* From the body's surface to the visual mesh (section 5, equations 8 and 9): twins of body/upsample_apply.c and
 * upsample_kernel.h. body: two float4 a surface vertex, its place relative to the origin and its normal. */

__kernel void surface_points(int count, __global const int *source, __global const float *posed, float4 origin,
                             __global float4 *body)
{
    int v = (int)get_global_id(0);
    if (v < count) body[2 * v] = (float4)(vload3(source[v], posed) - origin.xyz, 0.0f);
}

/* Area-weighted; one more, of zero, stands for none. */
__kernel void surface_faces(int count, __global const int *triangle, __global const float4 *body,
                            __global float4 *face)
{
    int t = (int)get_global_id(0);
    if (t > count) return;
    float3 n = (float3)(0.0f);
    if (t < count) {
        int3 c = vload3(t, triangle);
        float3 a = body[2 * c.x].xyz;
        n = cross(body[2 * c.y].xyz - a, body[2 * c.z].xyz - a);
    }
    face[t] = (float4)(n, 0.0f);
}

__kernel void surface_normals(int count, __global const int *first, __global const int *fan,
                              __global const float4 *face, __global float4 *body)
{
    int v = (int)get_global_id(0);
    if (v >= count) return;
    float3 n = (float3)(0.0f);
    for (int k = first[v]; k < first[v + 1]; k++) n += face[fan[k]].xyz;
    float length2 = dot(n, n);
    body[2 * v + 1] = (float4)(length2 > 0 ? n / sqrt(length2) : n, 0.0f);
}

/* The rotation nearest to two deformed tangents; zero where the patch has collapsed. */
void frame_of(float3 t0, float3 t1, float3 q[3])
{
    float3 n = cross(t0, t1);
    float square = dot(n, n), least = 1e-12f * dot(t0, t0) * dot(t1, t1);
    float scale = square > least && square > 1e-30f ? 1 / sqrt(square) : 0.0f;
    q[2] = n * scale;
    q[0] = t0 + cross(t1, q[2]);
    float len = sqrt(dot(q[0], q[0]));
    q[0] *= scale > 0 && len > 0 ? 1 / len : 0.0f;
    q[1] = cross(q[2], q[0]);
}

/* An offset where the whole body is stretched by the symmetric S. */
float3 stretch_offset(float3 s0, float3 s1, float3 s2, float3 rest0, float3 rest1, float3 r)
{
    float3 n = cross(rest0, rest1), world = rest0 * r.x + rest1 * r.y + n * r.z, q[3];
    float3 moved = (float3)(dot(s0, world), dot(s1, world), dot(s2, world));
    float3 t0 = (float3)(dot(s0, rest0), dot(s1, rest0), dot(s2, rest0));
    float3 t1 = (float3)(dot(s0, rest1), dot(s1, rest1), dot(s2, rest1));
    frame_of(t0, t1, q);
    return (float3)(dot(q[0], moved), dot(q[1], moved), dot(q[2], moved));
}

#define NO_TANGENT 0xffffffffu
#define BLOCK      4

/* index: the entries' body vertices, of 16 bits each or (wide) of 32. vertex: first entry, first of normal weights, offset or a negative number, entries (0: not of this kind). offset: three
 * float4: r with the tangents' first entry as bits, the two tangents at rest. stretched.w: whether. */
__kernel void show_vertices(int count, int normals, int wide, __global const int4 *vertex, __global const uint *index,
                            __global const float *weight, __global const float *normal_weight,
                            __global const float *normal_offset, __global const float *tangent,
                            __global const float4 *offset, __global const float4 *body, float4 origin, float4 s0, float4 s1,
                            float4 s2, float scale, __global float *position, __global float *normal)
{
    int v = (int)get_global_id(0);
    if (v >= count) return;
    int4 me = vertex[v];
    if (me.w == 0) return;
    float3 p = (float3)(0.0f), n = (float3)(0.0f), t0 = (float3)(0.0f), t1 = (float3)(0.0f), q[3];
    for (int k = 0; k < me.w; k++) {
        uint b = 2 * column_at(index, wide, (uint)(me.x + k));
        p += weight[me.x + k] * body[b].xyz;
        if (normals) n += normal_weight[me.y + k] * body[b + 1].xyz;
    }
    if (me.z >= 0) {
        float4 off = offset[3 * me.z];
        float3 r = off.xyz, s = normals ? vload3(v, normal_offset) : (float3)(0.0f);
        uint first = as_uint(off.w);
        q[0] = (float3)(1, 0, 0);
        q[1] = (float3)(0, 1, 0);
        q[2] = (float3)(0, 0, 1);
        if (first != NO_TANGENT) {
            for (int k = 0; k < me.w; k++) {
                uint at = first + 2 * (uint)(k - k % BLOCK) + (uint)(k % BLOCK);
                float3 b = body[2 * column_at(index, wide, (uint)(me.x + k))].xyz;
                t0 += tangent[at] * b;
                t1 += tangent[at + BLOCK] * b;
            }
            frame_of(t0, t1, q);
            if (s0.w > 0)
                r = stretch_offset(s0.xyz, s1.xyz, s2.xyz, offset[3 * me.z + 1].xyz, offset[3 * me.z + 2].xyz, r);
        }
        p += q[0] * r.x + q[1] * r.y + q[2] * r.z;
        n += q[0] * s.x + q[1] * s.y + q[2] * s.z;
    }
    vstore3((p + origin.xyz) * scale, v, position);
    if (!normals) return;
    float square = dot(n, n);
    vstore3(square > 1e-20f ? n / sqrt(square) : (float3)(0, 0, 1), v, normal);
}

/* Vertices that the host has placed: parts that are no skin of the flesh. */
__kernel void place(int count, __global const int *which, __global const float *places, __global float *to)
{
    int k = (int)get_global_id(0);
    if (k < count) vstore3(vload3(k, places), which[k], to);
}
