/* Stencils: the tetrahedra of each lattice tetrahedron's part inside the body.
 *
 * A lattice tetrahedron has corners 0 1 (a long edge) and 2 3 (the other). Corners are in, on or out; edges from in to
 * out have a cut. What is left of a face with two corners in and one out is a quadrilateral, whose diagonal both
 * neighbours must choose alike: it ends at the cut of the long edge; where both cuts are on short edges, at the lower
 * numbered node of the long edge. */
#include "body/stuff_private.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

typedef struct emitter {
    stuff *s;
    spl_tets *out;
    spl_place *place; /* by output vertex */
    int32_t *vertex;  /* by copy: output vertex, -1 until used */
    int32_t vertex_room, tet_room;
    bool failed;
} emitter;

/* One lattice tetrahedron as one limb sees it. */
typedef struct cell_tet {
    int32_t copy[4];
    int8_t direction[4][4]; /* from corner i to corner k */
} cell_tet;

static int32_t add_vertex(emitter *e, spl_vec3 p, int32_t owner)
{
    spl_tets *o = e->out;
    if (o->vertex_count == e->vertex_room) {
        int32_t room = e->vertex_room ? 2 * e->vertex_room : 4096;
        spl_vec3 *grown = spl_resize(e->s->a, o->position, (size_t)room, sizeof *grown);
        if (grown) o->position = grown;
        spl_place *places = grown ? spl_resize(e->s->a, e->place, (size_t)room, sizeof *places) : NULL;
        if (!places) {
            e->failed = true;
            return 0;
        }
        e->place = places;
        e->vertex_room = room;
    }
    o->position[o->vertex_count] = p;
    e->place[o->vertex_count] = e->s->node[owner].place;
    return o->vertex_count++;
}

static int32_t corner_vertex(emitter *e, const cell_tet *t, int i)
{
    int32_t *v = &e->vertex[t->copy[i]];
    if (*v < 0) *v = add_vertex(e, e->s->position[t->copy[i]], e->s->owner[t->copy[i]]);
    return *v;
}

/* The cut between an inside corner and an outside one. */
static int32_t cut_vertex(emitter *e, const cell_tet *t, int in, int out)
{
    stuff *s = e->s;
    size_t h = SPL_DIRECTIONS * (size_t)t->copy[in] + (size_t)t->direction[in][out];
    if (s->cut_vertex[h] < 0)
        s->cut_vertex[h] = add_vertex(
            e, spl_lerp(s->position[t->copy[in]], s->position[t->copy[out]], (double)s->cut[h]), t->copy[in]);
    return s->cut_vertex[h];
}

static void emit(emitter *e, int32_t a, int32_t b, int32_t c, int32_t d)
{
    spl_tets *o = e->out;
    if (e->failed) return;
    if (o->tet_count == e->tet_room) {
        int32_t room = e->tet_room ? 2 * e->tet_room : 16384;
        int32_t *grown = spl_resize(e->s->a, o->tet, (size_t)room, 4 * sizeof *grown);
        if (!grown) {
            e->failed = true;
            return;
        }
        o->tet = grown;
        e->tet_room = room;
    }
    const spl_vec3 *p = o->position;
    double volume = spl_dot(spl_sub(p[b], p[a]), spl_cross(spl_sub(p[c], p[a]), spl_sub(p[d], p[a])));
    int32_t tet[4] = {a, volume > 0 ? b : c, volume > 0 ? c : b, d};
    memcpy(o->tet + 4 * (size_t)o->tet_count++, tet, sizeof tet);
}

static bool lower(const cell_tet *t, int i, int k)
{
    return t->copy[i] < t->copy[k];
}

/* A pyramid over the quadrilateral b c c' b' (in order round), split at b to c' or at c to b'. */
static void emit_pyramid(emitter *e, int32_t apex, int32_t b, int32_t c, int32_t c_cut, int32_t b_cut, bool at_b)
{
    if (at_b) {
        emit(e, apex, b, c, c_cut);
        emit(e, apex, b, c_cut, b_cut);
    } else {
        emit(e, apex, b, c, b_cut);
        emit(e, apex, c, c_cut, b_cut);
    }
}

static void emit_three_in(emitter *e, const cell_tet *t, int out)
{
    int a = out ^ 1, b = (out & 2) ^ 2, c = b | 1; /* a: the other end of the long edge */
    int32_t va = corner_vertex(e, t, a), vb = corner_vertex(e, t, b), vc = corner_vertex(e, t, c);
    int32_t ca = cut_vertex(e, t, a, out), cb = cut_vertex(e, t, b, out), cc = cut_vertex(e, t, c, out);
    emit(e, ca, va, vb, vc);
    emit_pyramid(e, ca, vb, vc, cc, cb, lower(t, b, c));
}

static void emit_two_in_one_on(emitter *e, const cell_tet *t, int p, int q, int on, int out)
{
    bool at_p = (out ^ 1) == q || ((out ^ 1) != p && lower(t, p, q)); /* diagonal from p to the cut of q */
    emit_pyramid(e, corner_vertex(e, t, on), corner_vertex(e, t, p), corner_vertex(e, t, q), cut_vertex(e, t, q, out),
                 cut_vertex(e, t, p, out), at_p);
}

static void emit_two_in(emitter *e, const cell_tet *t, int p, int q, int r, int s)
{
    if ((p ^ 1) == q) { /* both ends of a long edge; the cuts are on short ones */
        if (!lower(t, p, q)) {
            int swap = p;
            p = q;
            q = swap;
        }
        int32_t vp = corner_vertex(e, t, p), vq = corner_vertex(e, t, q);
        int32_t pr = cut_vertex(e, t, p, r), ps = cut_vertex(e, t, p, s);
        int32_t qr = cut_vertex(e, t, q, r), qs = cut_vertex(e, t, q, s);
        const spl_vec3 *x = e->out->position;
        emit(e, vp, vq, qr, qs);
        emit_pyramid(e, vp, pr, ps, qs, qr, spl_distance(x[pr], x[qs]) < spl_distance(x[ps], x[qr]));
        return;
    }
    if ((p ^ 1) != r) { /* r is the other end of p's long edge, s that of q's */
        int swap = r;
        r = s;
        s = swap;
    }
    int32_t vp = corner_vertex(e, t, p), vq = corner_vertex(e, t, q);
    int32_t pr = cut_vertex(e, t, p, r), ps = cut_vertex(e, t, p, s);
    int32_t qr = cut_vertex(e, t, q, r), qs = cut_vertex(e, t, q, s);
    emit(e, vp, pr, ps, qs);
    emit(e, vp, pr, vq, qs);
    emit(e, pr, vq, qr, qs);
}

static void emit_stencil(emitter *e, const cell_tet *t)
{
    int in[4], on[4], out[4], ins = 0, ons = 0, outs = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t side = e->s->side[t->copy[i]];
        if (side == SIDE_IN)
            in[ins++] = i;
        else if (side == SIDE_ON)
            on[ons++] = i;
        else
            out[outs++] = i;
    }
    if (ins == 0) return;
    if (ins == 3 && outs == 1)
        emit_three_in(e, t, out[0]);
    else if (ins == 2 && outs == 1)
        emit_two_in_one_on(e, t, in[0], in[1], on[0], out[0]);
    else if (ins == 2 && outs == 2)
        emit_two_in(e, t, in[0], in[1], out[0], out[1]);
    else { /* a whole tetrahedron, or one corner of it */
        int32_t v[4];
        for (int i = 0; i < 4; i++)
            v[i] = e->s->side[t->copy[i]] == SIDE_OUT ? cut_vertex(e, t, in[0], i) : corner_vertex(e, t, i);
        emit(e, v[0], v[1], v[2], v[3]);
    }
}

/* The lattice tetrahedron as node n at corner i sees it; false if a lower corner of the same limb has seen to it. */
static bool view_from(const stuff *s, int32_t n, int i, cell_tet *t)
{
    t->copy[i] = n;
    for (int k = 0; k < 4; k++) {
        if (k == i) continue;
        t->copy[k] = s->copy[SPL_DIRECTIONS * (size_t)n + (size_t)t->direction[i][k]];
        if (k < i && t->copy[k] < s->node_count && stuff_is_real(s, t->copy[k])) return false;
    }
    return true;
}

static void emit_lattice_tet(emitter *e, const int32_t base[3], const int8_t offset[4][3], const int8_t direction[4][4])
{
    stuff *s = e->s;
    cell_tet t;
    memcpy(t.direction, direction, sizeof t.direction);
    for (int i = 0; i < 4; i++) {
        int32_t c[3] = {base[0] + offset[i][0], base[1] + offset[i][1], base[2] + offset[i][2]};
        if (!spl_lattice_holds(&s->lattice, c)) return;
        for (int32_t n = s->slot[spl_lattice_index(&s->lattice, c)]; n >= 0; n = s->node[n].next)
            if (stuff_is_real(s, n) && view_from(s, n, i, &t)) emit_stencil(e, &t);
    }
}

static void find_directions(int8_t out[SPL_CELL_TETS][4][4])
{
    for (int t = 0; t < SPL_CELL_TETS; t++)
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 4; k++)
                for (int d = 0; d < SPL_DIRECTIONS; d++) {
                    const int8_t *a = spl_lattice_tets()[t][i], *b = spl_lattice_tets()[t][k];
                    if (a[0] + spl_direction[d][0] == b[0] && a[1] + spl_direction[d][1] == b[1] &&
                        a[2] + spl_direction[d][2] == b[2])
                        out[t][i][k] = (int8_t)d;
                }
}

supple_result spl_stuff_emit(stuff *s, spl_tets *out, spl_place **place, supple_error *error)
{
    int8_t direction[SPL_CELL_TETS][4][4] = {0};
    find_directions(direction);
    emitter e = {.s = s, .out = out};
    *out = (spl_tets){.allocator = *s->a};
    e.vertex = spl_new(s->a, (size_t)s->copy_count, sizeof *e.vertex);
    if (!e.vertex) return spl_fail_memory(error, "the tetrahedra");
    for (int32_t i = 0; i < s->copy_count; i++) e.vertex[i] = -1;
    for (size_t h = 0; h < SPL_DIRECTIONS * (size_t)s->node_count; h++) s->cut_vertex[h] = -1;
    for (size_t p = 0; p < s->lattice.point_count && !e.failed; p += 2) { /* black points: the cells */
        int32_t c[3];
        spl_lattice_coordinates(&s->lattice, p, c);
        for (int t = 0; t < SPL_CELL_TETS; t++) emit_lattice_tet(&e, c, spl_lattice_tets()[t], direction[t]);
    }
    spl_free(s->a, e.vertex);
    if (e.failed) {
        spl_tets_release(out);
        spl_free(s->a, e.place);
        return spl_fail_memory(error, "the tetrahedra");
    }
    *place = e.place;
    return SUPPLE_OK;
}
