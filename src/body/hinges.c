#include "body/hinges.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#define IN_LINE 0.05 /* of the longest distance: how far off the line three points are in one */

typedef struct hinges {
    const spl_attach_input *in;
    int32_t *bone;
    int32_t *piece; /* by tet: its piece, named by the lowest tet in it */
    int32_t *first; /* by tet, and one more: where the tets of the piece with this name begin in `order` */
    int32_t *order; /* tets, by piece */
    bool *firm;     /* by vertex: in a piece that cannot turn */
    bool *done;     /* by piece: it cannot turn */
} hinges;

/* Pieces over common faces. */
static supple_result find_pieces(hinges *h, supple_error *error)
{
    const spl_tets *t = h->in->tets;
    spl_tet_faces faces;
    supple_result result = spl_tet_faces_create(&faces, t, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t n = 0; n < t->tet_count; n++) h->piece[n] = n;
    for (int32_t i = 0, end; i < faces.count; i = end) {
        end = spl_tet_faces_group_end(&faces, i);
        for (int32_t k = i + 1; k < end; k++) spl_sets_join(h->piece, faces.order[i] / 4, faces.order[k] / 4);
    }
    spl_tet_faces_release(&faces);
    for (int32_t n = 0; n < t->tet_count; n++) h->piece[n] = spl_sets_root(h->piece, n);
    return SUPPLE_OK;
}

static void list_pieces(hinges *h)
{
    const spl_tets *t = h->in->tets;
    for (int32_t n = 0; n < t->tet_count; n++) h->first[h->piece[n] + 1]++;
    for (int32_t n = 0; n < t->tet_count; n++) h->first[n + 1] += h->first[n];
    for (int32_t n = 0; n < t->tet_count; n++) h->order[h->first[h->piece[n]]++] = n;
    for (int32_t n = t->tet_count; n > 0; n--) h->first[n] = h->first[n - 1]; /* filling moved the beginnings on */
    h->first[0] = 0;
}

/* What points span, taken one by one: a point, a line or more. */
typedef struct span {
    int32_t count;
    spl_vec3 point, axis; /* the first point, and the way to the farthest from it */
    bool plane;
} span;

static bool widens(const span *s, spl_vec3 p)
{
    spl_vec3 d = spl_sub(p, s->point);
    double longest = fmax(spl_norm(d), spl_norm(s->axis));
    if (s->count == 0) return true;
    if (spl_norm(s->axis) <= 0) return spl_norm(d) > 0;
    return spl_norm(spl_cross(s->axis, d)) > IN_LINE * longest * longest;
}

static void add_point(span *s, spl_vec3 p)
{
    spl_vec3 d = spl_sub(p, s->point);
    if (s->count == 0)
        s->point = p;
    else if (spl_norm(s->axis) > 0 && widens(s, p))
        s->plane = true;
    else if (spl_norm(d) > spl_norm(s->axis))
        s->axis = d;
    s->count++;
}

/* The i-th corner of a piece's tets. */
static int32_t corner(const hinges *h, int32_t piece, int32_t i)
{
    return h->in->tets->tet[4 * (size_t)h->order[h->first[piece] + i / 4] + (size_t)(i % 4)];
}

static int32_t corner_count(const hinges *h, int32_t piece)
{
    return 4 * (h->first[piece + 1] - h->first[piece]);
}

static double distance_to_bone(const spl_bone *b, spl_vec3 p)
{
    spl_vec3 axis = spl_sub(b->tail, b->head);
    double length2 = spl_dot(axis, axis), t = length2 > 0 ? spl_dot(spl_sub(p, b->head), axis) / length2 : 0;
    return spl_distance(p, spl_madd(b->head, axis, fmin(fmax(t, 0), 1)));
}

/* The bone that moves a piece most; among bones of one joint, and without weights, the nearest. */
static int32_t bone_of_piece(const hinges *h, int32_t piece, spl_vec3 centre)
{
    int32_t best = 0;
    double most = -1, least = INFINITY;
    for (int32_t k = 0; k < h->in->bones->bone_count; k++) {
        double weight = 0, away = distance_to_bone(&h->in->bones->bone[k], centre);
        for (int32_t i = 0; i < corner_count(h, piece); i++)
            weight += fmax(0, spl_attach_weight(h->in, &h->in->place[corner(h, piece, i)], h->in->bones->bone[k].node));
        if (weight < most || (weight <= most && away >= least)) continue;
        most = weight;
        least = away;
        best = k;
    }
    return best;
}

/* What a piece is fixed by: held vertices, and those of pieces that are done. Returns how many are held. */
static int32_t find_fixed(const hinges *h, int32_t piece, span *fixed)
{
    int32_t held = 0;
    *fixed = (span){0};
    for (int32_t i = 0; i < corner_count(h, piece); i++) {
        int32_t v = corner(h, piece, i);
        held += h->bone[v] >= 0;
        if (h->bone[v] >= 0 || h->firm[v]) add_point(fixed, h->in->tets->position[v]);
    }
    return held;
}

/* The free vertex nearest to the middle of a piece, of those that widen what is fixed if `wider`; -1 if none is. */
static int32_t next_to_hold(const hinges *h, int32_t piece, spl_vec3 centre, const span *fixed, bool wider)
{
    const spl_vec3 *position = h->in->tets->position;
    int32_t best = -1;
    for (int32_t i = 0; i < corner_count(h, piece); i++) {
        int32_t v = corner(h, piece, i);
        if (h->bone[v] >= 0 || h->firm[v] || (wider && !widens(fixed, position[v]))) continue;
        if (best < 0 || spl_distance(position[v], centre) < spl_distance(position[best], centre)) best = v;
    }
    return best;
}

/* Holds vertices of a piece, from its middle outwards, until it cannot turn; returns how many. */
static int32_t hold_piece(hinges *h, int32_t piece)
{
    span fixed;
    int32_t held = find_fixed(h, piece, &fixed), n = corner_count(h, piece), added = 0;
    spl_vec3 sum = {0};
    for (int32_t i = 0; i < n; i++) sum = spl_add(sum, h->in->tets->position[corner(h, piece, i)]);
    spl_vec3 centre = spl_scale(sum, 1.0 / n);
    int32_t bone = held == 0 || !fixed.plane ? bone_of_piece(h, piece, centre) : -1;
    while (held + added == 0 || !fixed.plane) {
        int32_t v = next_to_hold(h, piece, centre, &fixed, held + added > 0);
        if (v < 0) break;
        h->bone[v] = bone;
        add_point(&fixed, h->in->tets->position[v]);
        added++;
    }
    return added;
}

static void make_firm(hinges *h, int32_t piece)
{
    h->done[piece] = true;
    for (int32_t i = 0; i < corner_count(h, piece); i++) h->firm[corner(h, piece, i)] = true;
}

/* Pieces that bones hold firmly come first; what hangs on them follows. */
static int32_t hold_pieces(hinges *h)
{
    int32_t added = 0, count = h->in->tets->tet_count;
    span fixed;
    list_pieces(h);
    for (int32_t p = 0; p < count; p++) {
        if (h->piece[p] != p || find_fixed(h, p, &fixed) == 0 || !fixed.plane) continue;
        make_firm(h, p);
    }
    for (int32_t p = 0; p < count; p++) {
        if (h->piece[p] != p || h->done[p]) continue;
        added += hold_piece(h, p);
        make_firm(h, p);
    }
    return added;
}

supple_result spl_hinges_hold(const spl_attach_input *input, int32_t *bone, int32_t *held, supple_error *error)
{
    const supple_allocator *a = input->allocator;
    size_t n = (size_t)input->tets->tet_count, m = (size_t)input->tets->vertex_count;
    hinges h = {.in = input, .bone = bone};
    *held = 0;
    if (input->bones->bone_count == 0) return SUPPLE_OK;
    h.piece = spl_new(a, n, sizeof *h.piece);
    h.first = spl_new(a, n + 1, sizeof *h.first);
    h.order = spl_new(a, n, sizeof *h.order);
    h.firm = spl_new(a, m, sizeof *h.firm);
    h.done = spl_new(a, n, sizeof *h.done);
    supple_result result = SUPPLE_OK;
    if (!h.piece || !h.first || !h.order || !h.firm || !h.done)
        result = spl_fail_memory(error, "the pieces of the body");
    if (result == SUPPLE_OK) result = find_pieces(&h, error);
    if (result == SUPPLE_OK) *held = hold_pieces(&h);
    spl_free(a, h.piece);
    spl_free(a, h.first);
    spl_free(a, h.order);
    spl_free(a, h.firm);
    spl_free(a, h.done);
    return result;
}
