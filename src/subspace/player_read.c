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
} copy;

struct spl_player_list {
    supple_allocator allocator;
    int32_t count;
    int32_t *vertex; /* of the body */
    int32_t *start;  /* count + 1: its copies */
    copy *copy;
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
            if (first[v] >= 0) l->copy[first[v]++] = (copy){i, k};
        }
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
    spl_free(&a, l->vertex);
    spl_free(&a, l->start);
    spl_free(&a, l->copy);
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

void spl_player_read(const spl_player *p, const spl_player_list *list, const spl_frame_motion *frame, double *x)
{
    reading r = {p, list, frame, x};
    spl_parallel_for(p->pool, (size_t)list->count, GRAIN, read_part, &r);
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
