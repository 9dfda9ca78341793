/* Positions of body vertices from the reduced state: x = R (p + U q) + t, the mean of the copies at seams. */
#include "core/error.h"
#include "core/memory.h"
#include "subspace/player_private.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 256 }; /* vertices a thread takes at once */

/* One copy of a vertex. */
typedef struct copy {
    int32_t domain, vertex; /* of the domain */
    int32_t slot;           /* in float: of the places that are computed eight at a time */
} copy;

/* Eight copies of one domain, less at its end. */
typedef struct block {
    int32_t domain;
    size_t table; /* of the list's: what spl_lanes_place reads */
} block;

struct spl_player_list {
    supple_allocator allocator;
    int32_t count;
    int32_t *vertex; /* of the body */
    int32_t *start;  /* count + 1: its copies */
    copy *copy;
    int32_t block_count; /* 0: in double */
    block *block;
    float *table;
    bool borrowed; /* all above is another list's */
    float *place;  /* block x 3 x 8: R (p + U q), from the domain's centre */
};

/* ---- lists --------------------------------------------------------------------------------------------------------
 */

/* By body vertex: how many copies it has. */
static void count_copies(const spl_model *m, int32_t *copies)
{
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = 0; k < m->domain[i].vertex_count; k++) copies[m->domain[i].vertex[k]]++;
}

/* Numbers of a list: those of `vertex` (or all) that some domain has, and the sum of their copies. */
static bool take(spl_player_list *l, const spl_model *m, const int32_t *vertex, int32_t count, const int32_t *copies)
{
    const supple_allocator *a = &l->allocator;
    size_t total = 0;
    for (int32_t k = 0; k < count; k++) {
        int32_t v = vertex ? vertex[k] : k, n = v >= 0 && v < m->vertex_count ? copies[v] : 0;
        l->count += n > 0;
        total += (size_t)n;
    }
    l->vertex = spl_new(a, (size_t)l->count, sizeof *l->vertex);
    l->start = spl_new(a, (size_t)l->count + 1, sizeof *l->start);
    l->copy = spl_new(a, total, sizeof *l->copy);
    return l->vertex && l->start && l->copy;
}

/* `first` becomes, by body vertex, the next free place among the copies; -1 for vertices that are not listed. A vertex
 * that is listed twice is read once. */
static void fill(spl_player_list *l, const spl_model *m, const int32_t *vertex, int32_t count, int32_t *first)
{
    int32_t at = 0, copies = 0;
    for (int32_t v = 0; v < m->vertex_count; v++) first[v] = -first[v]; /* copies, not yet placed: negative */
    for (int32_t k = 0; k < count; k++) {
        int32_t v = vertex ? vertex[k] : k;
        if (v < 0 || v >= m->vertex_count || first[v] >= 0) continue;
        int32_t n = -first[v];
        l->vertex[at] = v;
        l->start[at++] = first[v] = copies;
        copies += n;
    }
    l->count = at;
    l->start[at] = copies;
    for (int32_t v = 0; v < m->vertex_count; v++) first[v] = -1;
    for (int32_t k = 0; k < at; k++) first[l->vertex[k]] = l->start[k];
    for (int32_t i = 0; i < m->domain_count; i++)
        for (int32_t k = 0; k < m->domain[i].vertex_count; k++) {
            int32_t v = m->domain[i].vertex[k];
            if (first[v] >= 0) l->copy[first[v]++] = (copy){i, k, 0};
        }
}

/* ---- in float ---- */

/* Blocks and the numbers of their table; the copies' slots, if they are to be written. */
static size_t lay_out(spl_player_list *l, const spl_model *m, int32_t *of_domain, bool write)
{
    size_t size = 0;
    l->block_count = 0;
    memset(of_domain, 0, (size_t)m->domain_count * sizeof *of_domain);
    for (int32_t c = 0; c < l->start[l->count]; c++) of_domain[l->copy[c].domain]++;
    for (int32_t i = 0; i < m->domain_count; i++) {
        int32_t first = l->block_count;
        for (int32_t k = 0; k < of_domain[i]; k += SPL_LANES) {
            if (write) l->block[l->block_count] = (block){i, size};
            l->block_count++;
            size += 3 * SPL_LANES * ((size_t)m->domain[i].rank + 1);
        }
        of_domain[i] = SPL_LANES * first; /* its next slot */
    }
    for (int32_t c = 0; c < l->start[l->count] && write; c++) l->copy[c].slot = of_domain[l->copy[c].domain]++;
    return size;
}

static void fill_table(spl_player_list *l, const spl_player *p)
{
    for (int32_t c = 0; c < l->start[l->count]; c++) {
        const copy *at = &l->copy[c];
        const spl_model_domain *d = &p->model->domain[at->domain];
        size_t v = (size_t)at->vertex, rank = (size_t)d->rank;
        const double centre[3] = {p->centre[at->domain].x, p->centre[at->domain].y, p->centre[at->domain].z};
        float *to = l->table + l->block[at->slot / SPL_LANES].table + at->slot % SPL_LANES;
        for (size_t r = 0; r < 3; r++) {
            to[SPL_LANES * r] = (float)(d->rest[3 * v + r] - centre[r]);
            for (size_t j = 0; j < rank; j++)
                to[SPL_LANES * (3 * (j + 1) + r)] = (float)d->basis[(3 * v + r) * rank + j];
        }
    }
}

static bool widen(spl_player_list *l, const spl_player *p)
{
    const supple_allocator *a = &l->allocator;
    int32_t *room = spl_new(a, (size_t)p->count, sizeof *room);
    size_t size = room ? lay_out(l, p->model, room, false) : 0;
    l->block = spl_new(a, (size_t)l->block_count, sizeof *l->block);
    l->table = spl_new(a, size, sizeof *l->table);
    l->place = spl_new(a, (size_t)l->block_count, 3 * SPL_LANES * sizeof *l->place);
    bool made = room && l->block && l->table && l->place;
    if (made) {
        lay_out(l, p->model, room, true);
        fill_table(l, p);
    }
    spl_free(a, room);
    return made;
}

static bool has_small_ranks(const spl_model *m)
{
    for (int32_t i = 0; i < m->domain_count; i++)
        if (m->domain[i].rank > SPL_LANES_RANK) return false;
    return true;
}

supple_result spl_player_list_like(const spl_player_list *from, const spl_player *p, spl_player_list **out,
                                   supple_error *error)
{
    spl_player_list *l = spl_new(&p->allocator, 1, sizeof *l);
    *out = NULL;
    if (!l) return spl_fail_memory(error, "the vertices to read");
    *l = *from;
    l->allocator = p->allocator;
    l->borrowed = true;
    l->place = spl_new(&l->allocator, (size_t)l->block_count, 3 * SPL_LANES * sizeof *l->place);
    if (l->place) {
        *out = l;
        return SUPPLE_OK;
    }
    spl_player_list_destroy(l);
    return spl_fail_memory(error, "the vertices to read");
}

supple_result spl_player_list_create(const spl_player *p, const int32_t *vertex, int32_t count, spl_player_list **out,
                                     supple_error *error)
{
    const supple_allocator *a = &p->allocator;
    const spl_model *m = p->model;
    *out = NULL;
    if (!vertex) count = m->vertex_count;
    spl_player_list *l = spl_new(a, 1, sizeof *l);
    int32_t *copies = spl_new(a, (size_t)m->vertex_count, sizeof *copies);
    bool ok = l && copies;
    if (ok) {
        l->allocator = *a;
        count_copies(m, copies);
        ok = take(l, m, vertex, count, copies);
    }
    if (ok) fill(l, m, vertex, count, copies);
    if (ok && p->single && has_small_ranks(m)) ok = widen(l, p);
    spl_free(a, copies);
    if (!ok) {
        if (l) l->allocator = *a;
        spl_player_list_destroy(l);
        return spl_fail_memory(error, "the vertices to read");
    }
    *out = l;
    return SUPPLE_OK;
}

void spl_player_list_destroy(spl_player_list *l)
{
    if (!l) return;
    supple_allocator a = l->allocator;
    void *shared[] = {l->vertex, l->start, l->copy, l->block, l->table};
    for (size_t k = 0; k < sizeof shared / sizeof *shared && !l->borrowed; k++) spl_free(&a, shared[k]);
    spl_free(&a, l->place);
    spl_free(&a, l);
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

static spl_vec3 position(const spl_player *p, const spl_frame_motion *frame, int32_t domain, int32_t vertex)
{
    const spl_model_domain *d = &p->model->domain[domain];
    size_t rank = (size_t)d->rank, v = (size_t)vertex;
    double u[3];
    p->kernels->rows3(d->basis + 3 * v * rank, rank, p->q + p->at[domain], u);
    spl_vec3 local = spl_v3(d->rest[3 * v] + u[0], d->rest[3 * v + 1] + u[1], d->rest[3 * v + 2] + u[2]);
    return spl_add(spl_mat3_apply(&frame[domain].R, local), frame[domain].t);
}

typedef struct reading {
    const spl_player *p;
    const spl_player_list *list;
    const spl_frame_motion *frame;
    double *x;
} reading;

static void read_part(void *context, size_t begin, size_t end)
{
    const reading *r = context;
    const spl_player_list *l = r->list;
    for (size_t k = begin; k < end; k++) {
        spl_vec3 sum = {0, 0, 0};
        for (int32_t c = l->start[k]; c < l->start[k + 1]; c++)
            sum = spl_add(sum, position(r->p, r->frame, l->copy[c].domain, l->copy[c].vertex));
        sum = spl_scale(sum, 1.0 / (l->start[k + 1] - l->start[k]));
        memcpy(r->x + 3 * (size_t)l->vertex[k], &sum, sizeof sum);
    }
}

static void place_blocks(void *context, size_t begin, size_t end)
{
    const reading *r = context;
    for (size_t b = begin; b < end; b++) {
        const block *k = &r->list->block[b];
        const double *q = r->p->q + r->p->at[k->domain];
        int32_t rank = r->p->set[k->domain].rank;
        float x[SPL_LANES_RANK], R[9];
        for (int32_t j = 0; j < rank; j++) x[j] = (float)q[j];
        for (int i = 0; i < 9; i++) R[i] = (float)r->frame[k->domain].R.m[i];
        spl_lanes_place(r->list->table + k->table, rank, x, R, r->list->place + 3 * SPL_LANES * b);
    }
}

/* The mean of a vertex's copies, moved to where their domains' centres are. */
static void gather_part(void *context, size_t begin, size_t end)
{
    const reading *r = context;
    const spl_player_list *l = r->list;
    for (size_t k = begin; k < end; k++) {
        double sum[3] = {0}, share = 1.0 / (l->start[k + 1] - l->start[k]);
        for (int32_t c = l->start[k]; c < l->start[k + 1]; c++) {
            int32_t slot = l->copy[c].slot;
            const float *y = l->place + 3 * SPL_LANES * (slot / SPL_LANES) + slot % SPL_LANES;
            spl_vec3 t = r->p->shown[l->copy[c].domain];
            sum[0] += t.x + (double)y[0];
            sum[1] += t.y + (double)y[SPL_LANES];
            sum[2] += t.z + (double)y[2 * SPL_LANES];
        }
        for (int i = 0; i < 3; i++) r->x[3 * (size_t)l->vertex[k] + (size_t)i] = share * sum[i];
    }
}

void spl_player_read(const spl_player *p, const spl_player_list *list, const spl_frame_motion *frame, double *x)
{
    reading r = {p, list, frame, x};
    if (list->block_count == 0) {
        spl_parallel_for(p->pool, (size_t)list->count, GRAIN, read_part, &r);
        return;
    }
    for (int32_t i = 0; i < p->count; i++) p->shown[i] = spl_add(frame[i].t, spl_mat3_apply(&frame[i].R, p->centre[i]));
    spl_parallel_for(p->pool, (size_t)list->block_count, GRAIN / SPL_LANES, place_blocks, &r);
    spl_parallel_for(p->pool, (size_t)list->count, GRAIN, gather_part, &r);
}

double spl_player_gap(const spl_player *p, const spl_frame_motion *frame)
{
    double most = 0;
    for (int32_t k = 0; k < p->model->interface_count; k++) {
        const spl_interface *f = &p->model->interface[k];
        for (int32_t v = 0; v < f->count; v++) {
            spl_vec3 i = position(p, frame, f->i, f->at_i[v]), j = position(p, frame, f->j, f->at_j[v]);
            most = fmax(most, spl_distance(i, j));
        }
    }
    return most;
}
