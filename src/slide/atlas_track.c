/* Where the skin of a corner is in its own chart: followed from frame to frame, over the cells of the patch. */
#include "slide/atlas.h"

#include <string.h>

enum { NEARBY = 48 /* cells that are looked at for a place that the walk just missed */, LOOK = 512 };
static const double SAME = 1e-5;

void spl_atlas_begin(spl_atlas *t)
{
    for (int32_t i = 0; i < t->patch_count; i++)
        for (int32_t c = 0; c < t->patch[i].home_count; c++)
            for (size_t k = 0; k < 3; k++) {
                size_t n = (size_t)t->first_node[i] + (size_t)t->patch[i].node[3 * (size_t)c + k];
                t->at_cell[n] = c;
                memset(t->at_weight + 3 * n, 0, 3 * sizeof *t->at_weight);
                t->at_weight[3 * n + k] = 1;
            }
}

/* The nearest cell, by steps over edges, that shows a triangle; -1 where none is near. */
static int32_t find_near(const spl_patch *p, int32_t cell, int32_t triangle)
{
    int32_t queue[NEARBY], count = 1;
    queue[0] = cell;
    for (int32_t i = 0; i < count; i++) {
        if (p->cell[queue[i]] == triangle) return queue[i];
        for (size_t k = 0; k < 3 && count < NEARBY; k++) {
            int32_t next = p->across[3 * (size_t)queue[i] + k];
            bool new = next >= 0;
            for (int32_t q = 0; q < count && new; q++) new = queue[q] != next;
            if (new) queue[count++] = next;
        }
    }
    return -1;
}

/* Goes from where the skin was towards where it is. False where the patch ends before. */
static bool go(const spl_atlas *t, const spl_patch *p, int32_t *cell, double weight[3], const spl_place *to)
{
    const spl_net *net = t->net;
    spl_place from = {p->cell[*cell], {weight[0], weight[1], weight[2]}};
    if (from.triangle != to->triangle) {
        spl_vec3 way = spl_sub(spl_surface_point(&net->surface, to), spl_surface_point(&net->surface, &from));
        spl_trail w = spl_trail_begin(net, &from, way);
        for (int i = 0, stops = 0; i < SPL_TRAIL_LONGEST && stops < 2; i++) {
            int edge = spl_trail_on(&w);
            int32_t next = edge < 0 ? -1 : p->across[3 * (size_t)*cell + (size_t)edge];
            if (next < 0) break;
            stops = spl_trail_cross(net, &w, edge) ? 0 : stops + 1;
            *cell = next;
        }
        int32_t near = find_near(p, *cell, to->triangle);
        memcpy(weight, w.at.bary, 3 * sizeof *weight);
        if (near < 0) { /* a place on an edge is in two triangles */
            spl_place end = {p->cell[*cell], {weight[0], weight[1], weight[2]}};
            way = spl_sub(spl_surface_point(&net->surface, to), spl_surface_point(&net->surface, &end));
            return spl_norm(way) <= SAME * net->surface.diagonal;
        }
        *cell = near;
    }
    memcpy(weight, to->bary, 3 * sizeof *weight);
    return true;
}

static void put_corners(const spl_atlas *t, const spl_patch *p, const spl_atlas_sheet *sheet, int32_t first,
                        float *corner_uv)
{
    for (int32_t c = 0; c < p->home_count; c++)
        for (size_t k = 0; k < 3; k++) {
            size_t home = (size_t)p->cell[c], n = (size_t)first + (size_t)p->node[3 * (size_t)c + k];
            size_t corner = (size_t)t->uv->first[home] + (t->uv->flipped[home] && k > 0 ? 3 - k : k);
            double at[2];
            spl_patch_point(p, t->at_cell[n], t->at_weight + 3 * n, at);
            for (size_t i = 0; i < 2; i++)
                corner_uv[2 * corner + i] =
                    (float)((at[i] - (double)p->low[i] + (double)p->place[i]) / (double)sheet->size[i]);
        }
}

int32_t spl_atlas_follow(spl_atlas *t, const spl_place *place, float *corner_uv)
{
    int32_t beyond = 0;
    for (int32_t i = 0; i < t->patch_count; i++) {
        const spl_patch *p = &t->patch[i];
        for (int32_t n = t->first_node[i]; n < t->first_node[i + 1]; n++)
            if (t->at_vertex[n] >= 0)
                beyond += !go(t, p, &t->at_cell[n], t->at_weight + 3 * (size_t)n, &place[t->at_vertex[n]]);
        put_corners(t, p, &t->sheet[p->group], t->first_node[i], corner_uv);
    }
    return beyond;
}

bool spl_atlas_look(const spl_atlas *t, int32_t triangle, const double uv[2], spl_place *out, int32_t *where)
{
    int32_t patch = t->patch_of[triangle], cell = t->cell_of[triangle], next = -1;
    if (patch < 0) return false;
    const spl_patch *p = &t->patch[patch];
    const spl_atlas_sheet *sheet = &t->sheet[p->group];
    double at[2], weight[3] = {0};
    for (size_t i = 0; i < 2; i++) at[i] = uv[i] * (double)sheet->size[i] - (double)p->place[i] + (double)p->low[i];
    for (int i = 0; i < LOOK && next != cell; i++) {
        next = cell;
        cell = spl_patch_locate(p, cell, at, weight);
    }
    if (where) *where = cell;
    *out = (spl_place){p->cell[cell], {weight[0], weight[1], weight[2]}};
    return weight[0] > -1e-3 && weight[1] > -1e-3 && weight[2] > -1e-3;
}

void spl_atlas_extend(const spl_atlas *t, const float *corner_uv, float *out)
{
    for (int32_t i = 0; i < t->net->surface.triangle_count; i++) {
        if (t->patch_of[i] < 0) continue;
        const spl_patch *p = &t->patch[t->patch_of[i]];
        const spl_atlas_sheet *s = &t->sheet[p->group];
        for (size_t k = 0; k < 6; k++) {
            size_t at = 2 * (size_t)t->uv->first[i] + k, c = k % 2;
            double x = (double)corner_uv[at] * (double)s->size[c] - (double)p->place[c] + (double)p->low[c];
            out[at] = (float)(x / (s->from[c] * s->scale));
        }
    }
}
