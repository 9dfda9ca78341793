/* Contacts on the device (section 6): A stays, A_col is made anew for each problem, by rows, and A's diagonal is
 * brought up to date. */
#include "methods/projective/cl/engine_private.h"

#include <math.h>
#include <string.h>

static int32_t node_of(const spl_pd_view *v, const spl_tie *t, int i)
{
    return t->vertex[i] < 0 ? -1 : v->unknown[t->vertex[i]];
}

/* Arrays of `capacity` each: coefficients, offsets (their high parts with the stiffness, their low ones with whether
 * coefficients add up to 1), normals (with whether it is one-sided). */
static void pack_tie(spl_cl_engine *e, const spl_tie *t, size_t j)
{
    size_t ties = (size_t)e->tie_capacity;
    cl_float4 *c = e->tie_data + j, *high = c + ties, *low = high + ties, *normal = low + ties;
    const double offset[3] = {t->offset.x, t->offset.y, t->offset.z};
    double whole = 0;
    for (int i = 0; i < 4; i++) {
        e->tie_vertex[j].s[i] = t->vertex[i];
        c->s[i] = (float)t->coefficient[i];
        if (t->vertex[i] >= 0) whole += t->coefficient[i];
    }
    for (int i = 0; i < 3; i++) {
        high->s[i] = (float)offset[i];
        low->s[i] = (float)(offset[i] - (double)high->s[i]);
    }
    high->s[3] = (float)t->stiffness;
    low->s[3] = whole > 0.5;
    *normal = (cl_float4){.s = {(float)t->normal.x, (float)t->normal.y, (float)t->normal.z, t->sided}};
}

/* By node: how many ties it has, and how many neighbours by them; then where they begin, one place late. */
static void count_rows(spl_cl_engine *e, const spl_pd_view *v)
{
    size_t n = (size_t)e->node_count;
    memset(e->tie_start, 0, (n + 2) * sizeof *e->tie_start);
    memset(e->touch_start, 0, (n + 2) * sizeof *e->touch_start);
    for (int32_t j = 0; j < v->tie_count; j++) {
        int32_t node[4], count = 0;
        for (int i = 0; i < 4; i++) count += (node[i] = node_of(v, &v->tie[j], i)) >= 0;
        for (int i = 0; i < 4; i++)
            if (node[i] >= 0) e->tie_start[node[i] + 2]++, e->touch_start[node[i] + 2] += (uint32_t)count - 1;
    }
    for (size_t i = 0; i < n; i++) {
        e->tie_start[i + 2] += e->tie_start[i + 1];
        e->touch_start[i + 2] += e->touch_start[i + 1];
    }
}

/* k c c^T of each tie: off the diagonal into A_col's rows, and on it. */
static void fill_rows(spl_cl_engine *e, const spl_pd_view *v)
{
    for (int32_t j = 0; j < v->tie_count; j++) {
        const spl_tie *t = &v->tie[j];
        for (int i = 0; i < 4; i++) {
            int32_t node = node_of(v, t, i);
            if (node < 0) continue;
            uint32_t at = e->tie_start[node + 1]++;
            e->tie[at] = (uint32_t)j;
            e->tie_share[at] = (float)t->coefficient[i];
            e->diagonal[node] += (float)(t->stiffness * t->coefficient[i] * t->coefficient[i]);
            for (int k = 0; k < 4; k++) {
                int32_t other = node_of(v, t, k);
                if (k == i || other < 0) continue;
                uint32_t to = e->touch_start[node + 1]++;
                e->touch_column[to] = (uint32_t)other;
                e->touch_value[to] = (float)(t->stiffness * t->coefficient[i] * t->coefficient[k]);
            }
        }
    }
}

static void send(spl_cl_engine *e)
{
    spl_cl_work *w = &e->work;
    cl_mem *b = e->buffer;
    size_t n = (size_t)e->node_count, ties = (size_t)e->tie_count, cap = (size_t)e->tie_capacity,
           four = sizeof(cl_float4);
    spl_cl_write(w, b[SPL_B_TIE_VERTEX], e->tie_vertex, ties * sizeof *e->tie_vertex);
    for (size_t i = 0; i < 4; i++) spl_cl_write(w, b[SPL_B_TIE_COEFFICIENT + i], e->tie_data + i * cap, ties * four);
    spl_cl_write(w, b[SPL_B_TIE_START], e->tie_start, (n + 1) * sizeof(uint32_t));
    spl_cl_write(w, b[SPL_B_TIE], e->tie, e->tie_start[n] * sizeof(uint32_t));
    spl_cl_write(w, b[SPL_B_TIE_SHARE], e->tie_share, e->tie_start[n] * sizeof(float));
    spl_cl_write(w, b[SPL_B_TOUCH_START], e->touch_start, (n + 1) * sizeof(uint32_t));
    spl_cl_write(w, b[SPL_B_TOUCH_VALUE], e->touch_value, e->touch_start[n] * sizeof(float));
    spl_cl_write(w, b[SPL_B_TOUCH_COLUMN], e->touch_column, e->touch_start[n] * sizeof(uint32_t));
    cl_int count = e->tie_count;
    spl_cl_argument_at(w, &e->kernel[SPL_K_PRESS], 0, SPL_CL_ARGUMENT(count));
}

void spl_cl_engine_tie(spl_cl_engine *e, const spl_pd_view *v)
{
    size_t items = e->kernel[SPL_K_PRESS].items;
    e->tie_count = v->tie_count;
    e->tie_groups = ((size_t)v->tie_count + items - 1) / items;
    memcpy(e->diagonal, e->matrix.diagonal, (size_t)e->node_count * sizeof *e->diagonal);
    if (v->tie_count > 0) {
        for (int32_t j = 0; j < v->tie_count; j++) pack_tie(e, &v->tie[j], (size_t)j);
        count_rows(e, v);
        fill_rows(e, v);
        send(e);
    }
    spl_cl_write(&e->work, e->buffer[SPL_B_DIAGONAL], e->diagonal, (size_t)e->node_count * sizeof *e->diagonal);
}
