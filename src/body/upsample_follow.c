/* Pieces that move rigidly with the flesh they sit in: eyes, teeth. */
#include "body/upsample_map.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>

/* A piece is small up to this share of the body's diagonal, and enclosed if at least this share of all views from its
 * points meet the body: an eye in its socket has about 0.75, teeth 1, hair and hats 0.5. */
static const double small_share = 0.25, enclosed_share = 0.65;

enum { VIEWS = 16, SAMPLES = 24 };

/* Directions spread evenly over the sphere (a Fibonacci spiral). */
static spl_vec3 view(int i)
{
    double z = 1 - (2 * i + 1.0) / VIEWS, ring = sqrt(1 - z * z), angle = 2.399963229728653 * i;
    return spl_v3(ring * cos(angle), ring * sin(angle), z);
}

typedef struct candidate {
    int32_t count, seen; /* points; so far */
    spl_vec3 low, high;
    bool pure; /* all follow */
    int32_t rays, hits;
    int32_t piece; /* or -1 */
} candidate;

static void measure(const spl_upsample_points *p, candidate *c)
{
    for (int32_t i = 0; i < p->count; i++) {
        candidate *k = &c[p->component[i]];
        spl_vec3 x = p->position[i];
        if (k->count++ == 0) {
            k->low = k->high = x;
            k->pure = true;
        }
        k->low = spl_v3(fmin(k->low.x, x.x), fmin(k->low.y, x.y), fmin(k->low.z, x.z));
        k->high = spl_v3(fmax(k->high.x, x.x), fmax(k->high.y, x.y), fmax(k->high.z, x.z));
        k->pure = k->pure && p->part[i] == SPL_UPSAMPLE_FOLLOW;
    }
}

static bool may_be_rigid(const candidate *k, double diagonal)
{
    return k->pure && k->count > 1 && spl_distance(k->low, k->high) <= small_share * diagonal;
}

/* Looks around from up to SAMPLES points of each candidate. */
static void look_around(const spl_upsample_points *p, double diagonal, candidate *c)
{
    for (int32_t i = 0; i < p->count; i++) {
        candidate *k = &c[p->component[i]];
        if (!may_be_rigid(k, diagonal)) continue;
        int32_t step = (k->count + SAMPLES - 1) / SAMPLES;
        if (k->seen++ % step != 0) continue;
        for (int v = 0; v < VIEWS; v++) {
            spl_hit hit;
            k->hits += spl_tree_ray(p->tree, p->position[i], view(v), INFINITY, &hit);
            k->rays++;
        }
    }
}

/* Numbers the pieces; returns how many there are. */
static int32_t choose(spl_upsample_points *p, double diagonal, candidate *c)
{
    int32_t count = 0;
    for (int32_t i = 0; i < p->count; i++) {
        candidate *k = &c[i];
        k->piece = -1;
        if (k->count > 0 && may_be_rigid(k, diagonal) && k->hits >= enclosed_share * k->rays) k->piece = count++;
    }
    for (int32_t i = 0; i < p->count; i++) {
        p->piece[i] = c[p->component[i]].piece;
        if (p->piece[i] >= 0) p->part[i] = SPL_UPSAMPLE_RIGID;
    }
    return count;
}

/* The body vertices that move a piece: the corners at its points' places, by their barycentrics. One vertex may come
 * several times. */
static void gather(spl_upsample *u, const spl_upsample_points *p)
{
    const spl_surface *s = u->surface;
    int32_t first = 0;
    for (int32_t k = 0; k < u->piece_count; first += u->piece[k++].count) u->piece[k].first = first;
    for (int32_t k = 0; k < u->piece_count; k++) u->piece[k].count = 0;
    for (int32_t i = 0; i < p->count; i++) {
        if (p->piece[i] < 0) continue;
        spl_upsample_piece *piece = &u->piece[p->piece[i]];
        for (int c = 0; c < 3; c++, piece->count++) {
            u->piece_index[piece->first + piece->count] = s->triangle[3 * (size_t)p->place[i].triangle + (size_t)c];
            u->piece_weight[piece->first + piece->count] = p->place[i].bary[c];
        }
    }
    for (int32_t k = 0; k < u->piece_count; k++) {
        spl_upsample_piece *piece = &u->piece[k];
        for (int32_t i = piece->first; i < piece->first + piece->count; i++) {
            u->piece_weight[i] /= piece->count / 3;
            piece->centre = spl_madd(piece->centre, s->position[u->piece_index[i]], u->piece_weight[i]);
        }
    }
}

supple_result spl_upsample_find_pieces(spl_upsample *u, spl_upsample_points *p, supple_error *error)
{
    const supple_allocator *a = &u->allocator;
    candidate *c = spl_new(a, (size_t)p->count, sizeof *c);
    if (!c) return spl_fail_memory(error, "the visual mesh's pieces");
    measure(p, c);
    look_around(p, u->surface->diagonal, c);
    u->piece_count = choose(p, u->surface->diagonal, c);
    size_t corners = 0;
    for (int32_t i = 0; i < p->count; i++) corners += p->piece[i] >= 0 ? 3 : 0;
    u->piece = spl_new(a, (size_t)u->piece_count, sizeof *u->piece);
    u->piece_index = spl_new(a, corners, sizeof *u->piece_index);
    u->piece_weight = spl_new(a, corners, sizeof *u->piece_weight);
    spl_free(a, c);
    if (!u->piece || !u->piece_index || !u->piece_weight) return spl_fail_memory(error, "the visual mesh's pieces");
    for (int32_t i = 0; i < p->count; i++)
        if (p->piece[i] >= 0) u->piece[p->piece[i]].count += 3;
    gather(u, p);
    return SUPPLE_OK;
}
