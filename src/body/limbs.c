#include "body/limbs.h"

#include "core/error.h"
#include "core/memory.h"

#define FOLLOWS   0.20 /* weight of a joint at the skin from which its bones may hold the flesh below ... */
#define OUTWEIGHS 2.00 /* ... unless another has more than so many times as much */

static const uint8_t edge_end[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

/* Relaxed through the tets, forth and back, until nothing changes; the lattice's order makes that a few rounds. */
void spl_limbs_ways(const spl_tets *t, double *way, int32_t *from)
{
    for (bool again = true, back = false; again; back = !back) {
        again = false;
        for (int32_t n = 0; n < t->tet_count; n++) {
            const int32_t *c = t->tet + 4 * (size_t)(back ? t->tet_count - 1 - n : n);
            for (int i = 0; i < 6; i++) {
                int32_t a = c[edge_end[i][0]], b = c[edge_end[i][1]];
                double length = spl_distance(t->position[a], t->position[b]);
                if (way[b] + length < way[a] * (1 - 1e-12)) { /* the longer one is b's */
                    int32_t other = a;
                    a = b;
                    b = other;
                }
                if (!(way[a] + length < way[b] * (1 - 1e-12))) continue;
                way[b] = way[a] + length;
                if (from) from[b] = from[a];
                again = true;
            }
        }
    }
}

/* ---- neighbours ---- */

/* Each vertex's neighbours, every one once. */
static bool find_neighbours(const spl_tets *t, const supple_allocator *a, spl_limbs *out)
{
    size_t n = (size_t)t->vertex_count;
    int32_t *all = spl_new(a, 12 * (size_t)t->tet_count, sizeof *all), *seen = spl_new(a, n, sizeof *seen), used = 0;
    out->first = spl_new(a, n + 2, sizeof *out->first);
    out->near = spl_new(a, 12 * (size_t)t->tet_count, sizeof *out->near);
    bool made = all && seen && out->first && out->near;
    for (size_t i = 0; made && i < 4 * (size_t)t->tet_count; i++) out->first[t->tet[i] + 2] += 3;
    for (size_t v = 0; made && v < n; v++) out->first[v + 2] += out->first[v + 1];
    for (size_t i = 0; made && i < 4 * (size_t)t->tet_count; i++)
        for (size_t k = 0; k < 4; k++)
            if (k != i % 4) all[out->first[t->tet[i] + 1]++] = t->tet[i - i % 4 + k];
    for (size_t v = 0; made && v < n; v++) { /* first[v] .. first[v + 1] of `all` are v's now, some of them twice */
        int32_t begin = out->first[v], end = out->first[v + 1];
        out->first[v] = used;
        for (int32_t i = begin; i < end; i++) {
            if (seen[all[i]] == (int32_t)v + 1) continue;
            seen[all[i]] = (int32_t)v + 1;
            out->near[used++] = all[i];
        }
    }
    if (made) out->first[n] = used;
    spl_free(a, all);
    spl_free(a, seen);
    return made;
}

/* ---- places ---- */

static bool find_places(const spl_attach_input *in, spl_limbs *out)
{
    const spl_tets *t = in->tets;
    size_t n = (size_t)t->vertex_count;
    double *way = spl_new(in->allocator, n, sizeof *way);
    int32_t *from = spl_new(in->allocator, n, sizeof *from);
    out->place = spl_new(in->allocator, n, sizeof *out->place);
    bool made = way && from && out->place;
    for (size_t v = 0; made && v < n; v++) {
        bool placed = in->place[v].triangle >= 0;
        way[v] = placed ? spl_distance(t->position[v], spl_surface_point(in->surface, &in->place[v])) : INFINITY;
        from[v] = (int32_t)v;
    }
    for (size_t v = 0; made && v < n; v++) /* those with a place keep it: only the deep ones are relaxed into */
        out->place[v] = in->place[v];
    if (made) spl_limbs_ways(t, way, from);
    for (size_t v = 0; made && v < n; v++)
        if (out->place[v].triangle < 0) out->place[v] = in->place[from[v]];
    spl_free(in->allocator, way);
    spl_free(in->allocator, from);
    return made;
}

supple_result spl_limbs_make(const spl_attach_input *input, spl_limbs *out, supple_error *error)
{
    *out = (spl_limbs){.allocator = *input->allocator};
    if (find_neighbours(input->tets, input->allocator, out) && find_places(input, out)) return SUPPLE_OK;
    spl_limbs_release(out);
    return spl_fail_memory(error, "the limbs");
}

void spl_limbs_release(spl_limbs *limbs)
{
    if (!limbs->allocator.release) return;
    spl_free(&limbs->allocator, limbs->place);
    spl_free(&limbs->allocator, limbs->first);
    spl_free(&limbs->allocator, limbs->near);
    *limbs = (spl_limbs){0};
}

/* ---- weights ---- */

double spl_limbs_weight(const spl_limbs *limbs, const spl_attach_input *in, int32_t vertex, int32_t node)
{
    return fmax(0, spl_attach_weight(in, &limbs->place[vertex], node));
}

/* Whether any joint has at least this weight at a place. */
static bool is_outweighed(const spl_attach_input *in, const spl_place *at, double weight)
{
    for (int k = 0; k < 3; k++) {
        int32_t corner = in->surface->triangle[3 * (size_t)at->triangle + (size_t)k];
        for (int32_t i = in->weights->first[corner]; i < in->weights->first[corner + 1]; i++)
            if (spl_attach_weight(in, at, in->weights->node[i]) > weight) return true;
    }
    return false;
}

bool spl_limbs_follow(const spl_limbs *limbs, const spl_attach_input *in, int32_t vertex, int32_t node)
{
    double weight = spl_limbs_weight(limbs, in, vertex, node);
    if (!(weight > 0) || is_outweighed(in, &limbs->place[vertex], OUTWEIGHS * weight)) return false;
    return weight >= FOLLOWS || !is_outweighed(in, &limbs->place[vertex], weight);
}
