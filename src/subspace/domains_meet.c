/* Where domains meet: interfaces and the areas of their vertices. */
#include "core/error.h"
#include "core/memory.h"
#include "subspace/domains_private.h"

#include <stdlib.h>

/* A corner of a face between domains i < j; without area where two domains touch at a corner or an edge alone. */
typedef struct touch {
    int32_t i, j, vertex;
    double area;
} touch;

typedef struct touches {
    size_t count;
    touch *item;
} touches;

static int by_vertex(const void *a, const void *b)
{
    const touch *s = a, *t = b;
    int32_t l[4] = {s->vertex, s->i, s->j, 0}, r[4] = {t->vertex, t->i, t->j, 0};
    for (int k = 0; k < 3; k++)
        if (l[k] != r[k]) return l[k] < r[k] ? -1 : 1;
    return (s->area > t->area) - (s->area < t->area); /* sums must not depend on how equal ones were sorted */
}

static int by_pair(const void *a, const void *b)
{
    const touch *s = a, *t = b;
    int32_t l[3] = {s->i, s->j, s->vertex}, r[3] = {t->i, t->j, t->vertex};
    for (int k = 0; k < 3; k++)
        if (l[k] != r[k]) return l[k] < r[k] ? -1 : 1;
    return 0;
}

static double face_area(const spl_solid *s, const int32_t corner[3])
{
    spl_vec3 p[3];
    for (int i = 0; i < 3; i++) {
        const double *x = s->drive.rest + 3 * (size_t)corner[i];
        p[i] = spl_v3(x[0], x[1], x[2]);
    }
    return spl_norm(spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0]))) / 2;
}

/* Free corners of faces between domains; counts alone where `item` is NULL. */
static size_t gather(const spl_cut *c, const spl_domains *d, touch *item)
{
    const spl_body *body = c->solid->body;
    size_t count = 0;
    for (size_t k = 0; k < (size_t)body->tets.tet_count; k++)
        for (size_t f = 0; f < 4; f++) {
            int32_t next = c->neighbour[4 * k + f], i = d->of_tet[k], corner[3];
            if (next < 0 || d->of_tet[next] <= i) continue;
            for (size_t v = 0; v < 3; v++) corner[v] = body->tets.tet[4 * k + spl_tet_face[f][v]];
            double area = item ? face_area(c->solid, corner) / 3 : 0;
            for (int v = 0; v < 3; v++) {
                if (body->bone[corner[v]] >= 0) continue;
                if (item) item[count] = (touch){i, d->of_tet[next], corner[v], area};
                count++;
            }
        }
    return count;
}

/* Adds up what stands several times; the list is sorted by vertex. */
static void unite(touches *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        touch *last = count ? &t->item[count - 1] : NULL, *now = &t->item[i];
        if (last && last->vertex == now->vertex && last->i == now->i && last->j == now->j)
            last->area += now->area;
        else
            t->item[count++] = *now;
    }
    t->count = count;
}

/* ---- domains that touch without a face between them ---- */

/* For each free vertex the domains it stands in, rising. */
typedef struct homes {
    int32_t *first; /* vertex_count + 1 */
    int32_t *domain;
    int32_t *group; /* by entry: the lowest entry of its vertex that it is tied to */
} homes;

static bool homes_create(const spl_domains *d, int32_t vertex_count, homes *h)
{
    const supple_allocator *a = &d->allocator;
    size_t sum = 0;
    for (int32_t i = 0; i < d->domain_count; i++) sum += (size_t)d->domain[i].vertex_count;
    *h = (homes){.first = spl_new(a, (size_t)vertex_count + 2, sizeof *h->first),
                 .domain = spl_new(a, sum, sizeof *h->domain),
                 .group = spl_new(a, sum, sizeof *h->group)};
    if (!h->first || !h->domain || !h->group) return false;
    for (int32_t i = 0; i < d->domain_count; i++)
        for (int32_t k = 0; k < d->domain[i].vertex_count; k++) h->first[d->domain[i].vertex[k] + 2]++;
    for (int32_t v = 0; v < vertex_count; v++) h->first[v + 2] += h->first[v + 1];
    for (int32_t i = 0; i < d->domain_count; i++)
        for (int32_t k = 0; k < d->domain[i].vertex_count; k++) {
            int32_t at = h->first[d->domain[i].vertex[k] + 1]++;
            h->domain[at] = i;
            h->group[at] = at;
        }
    return true;
}

static void homes_release(const supple_allocator *a, homes *h)
{
    spl_free(a, h->first);
    spl_free(a, h->domain);
    spl_free(a, h->group);
}

static void tie(homes *h, const touch *t)
{
    int32_t i = -1, j = -1;
    for (int32_t at = h->first[t->vertex]; at < h->first[t->vertex + 1]; at++) {
        if (h->domain[at] == t->i) i = h->group[at];
        if (h->domain[at] == t->j) j = h->group[at];
    }
    for (int32_t at = h->first[t->vertex]; at < h->first[t->vertex + 1]; at++)
        if (h->group[at] == i || h->group[at] == j) h->group[at] = i < j ? i : j;
}

/* Ties copies of a vertex that no chain of faces ties: pieces that hang together at an edge or a corner. They get the
 * area of a mean face's corner. Counts alone where `item` is NULL. */
static size_t tie_loose(const spl_cut *c, const homes *h, touch *item)
{
    const spl_elements *e = &c->solid->elements;
    double volume = 0;
    size_t count = 0;
    for (int32_t k = 0; k < e->count; k++) volume += e->volume[k];
    double area = pow(volume / e->count, 2.0 / 3) / 3;
    for (int32_t v = 0; v < e->vertex_count; v++)
        for (int32_t at = h->first[v] + 1; at < h->first[v + 1]; at++) {
            if (h->group[at] != at) continue; /* the lowest of a group that is not the first's */
            if (item) item[count] = (touch){h->domain[h->first[v]], h->domain[at], v, area};
            count++;
        }
    return count;
}

/* ---- interfaces ---- */

/* The place of a vertex among a domain's. */
static int32_t place_of(const spl_domain *d, int32_t vertex)
{
    int32_t low = 0, high = d->vertex_count - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (d->vertex[middle] < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool interface_create(spl_domains *d, const touch *item, int32_t count, spl_interface *out)
{
    const supple_allocator *a = &d->allocator;
    *out = (spl_interface){.i = item->i,
                           .j = item->j,
                           .count = count,
                           .at_i = spl_new(a, (size_t)count, sizeof *out->at_i),
                           .at_j = spl_new(a, (size_t)count, sizeof *out->at_j),
                           .area = spl_new(a, (size_t)count, sizeof *out->area)};
    if (!out->at_i || !out->at_j || !out->area) return false;
    for (int32_t k = 0; k < count; k++) {
        out->at_i[k] = place_of(&d->domain[out->i], item[k].vertex);
        out->at_j[k] = place_of(&d->domain[out->j], item[k].vertex);
        out->area[k] = item[k].area;
    }
    return true;
}

/* Cuts the list, sorted by pair, into interfaces. */
static bool split(const touches *t, spl_domains *d)
{
    int32_t count = 0;
    for (size_t k = 0; k < t->count; k++)
        if (k == 0 || t->item[k].i != t->item[k - 1].i || t->item[k].j != t->item[k - 1].j) count++;
    d->interface = spl_new(&d->allocator, (size_t)count, sizeof *d->interface);
    if (!d->interface) return false;
    for (size_t k = 0, end; k < t->count; k = end) {
        for (end = k + 1; end < t->count && t->item[end].i == t->item[k].i && t->item[end].j == t->item[k].j;) end++;
        if (!interface_create(d, t->item + k, (int32_t)(end - k), &d->interface[d->interface_count++])) return false;
    }
    return true;
}

supple_result spl_domains_meet(const spl_cut *cut, spl_domains *d, supple_error *error)
{
    const supple_allocator *a = &d->allocator;
    touches t = {.count = gather(cut, d, NULL)};
    homes h;
    bool ok = homes_create(d, cut->solid->body->tets.vertex_count, &h);
    t.item = spl_new(a, t.count, sizeof *t.item);
    ok = ok && t.item;
    if (ok) {
        gather(cut, d, t.item);
        qsort(t.item, t.count, sizeof *t.item, by_vertex);
        unite(&t);
        for (size_t k = 0; k < t.count; k++) tie(&h, &t.item[k]);
        touch *grown = spl_resize(a, t.item, t.count + tie_loose(cut, &h, NULL) + 1, sizeof *t.item);
        ok = grown != NULL;
        if (grown) t.item = grown;
    }
    if (ok) {
        t.count += tie_loose(cut, &h, t.item + t.count);
        qsort(t.item, t.count, sizeof *t.item, by_pair);
        ok = split(&t, d);
    }
    spl_free(a, t.item);
    homes_release(a, &h);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the domains' interfaces");
}
