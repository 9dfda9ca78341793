/* Cutting out what stays folded: a handle between two toes that is thinner than a cell, a fold without inside. The
 * triangles there go, and each hole that they leave is closed by a fan of its own: a handle is cut through. */
#include "body/prism_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

typedef struct cutter {
    spl_prism_skin *s;
    bool *bad;       /* by vertex: goes */
    int32_t *to;     /* by triangle: its new number, -1; then by corner: union-find over fans */
    int32_t *loop;   /* half-edges around a hole */
    int32_t *number; /* by corner that names a fan: the new vertex */
    spl_vec3 *point; /* by corner: its position and place */
    spl_place *place;
} cutter;

static int32_t next_in(int32_t half)
{
    return half % 3 == 2 ? half - 2 : half + 1;
}

static void mark(cutter *c, int grow)
{
    const spl_prism_skin *s = c->s;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        double depth;
        spl_prism_inward(s, v, &depth);
        if (depth > 0) continue;
        c->bad[v] = true;
        for (int32_t f = s->fan_first[v]; grow && f < s->fan_first[v + 1]; f++)
            for (int k = 0; k < 3; k++) c->bad[s->triangle[3 * (size_t)s->fan[f] + (size_t)k]] = true;
    }
}

/* Keeps the triangles that have a new number; mates of what goes become -1. */
static void keep(cutter *c, int32_t kept)
{
    spl_prism_skin *s = c->s;
    for (int32_t t = 0; t < s->triangle_count; t++)
        for (int32_t k = 0; c->to[t] >= 0 && k < 3; k++) {
            int32_t mate = s->mate[3 * t + k], there = c->to[mate / 3];
            s->triangle[3 * c->to[t] + k] = s->triangle[3 * t + k];
            s->mate[3 * c->to[t] + k] = there < 0 ? -1 : 3 * there + mate % 3;
        }
    s->triangle_count = kept;
}

static void remove_marked(cutter *c)
{
    spl_prism_skin *s = c->s;
    int32_t kept = 0;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *v = s->triangle + 3 * (size_t)t;
        c->to[t] = c->bad[v[0]] || c->bad[v[1]] || c->bad[v[2]] ? -1 : kept++;
    }
    keep(c, kept);
}

/* Leaves out pieces that are now too small, or inside out. */
static void remove_crumbs(cutter *c)
{
    spl_prism_skin *s = c->s;
    int32_t *piece = c->loop, *size = c->number, kept = 0;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        piece[t] = t;
        size[t] = 0;
        c->point[t] = spl_v3(0, 0, 0);
    }
    for (int32_t h = 0; h < 3 * s->triangle_count; h++) spl_sets_join(piece, h / 3, s->mate[h] / 3);
    for (int32_t t = 0; t < s->triangle_count; t++) {
        const int32_t *v = s->triangle + 3 * (size_t)t;
        int32_t p = spl_sets_root(piece, t);
        size[p]++;
        c->point[p].x += spl_dot(s->position[v[0]], spl_cross(s->position[v[1]], s->position[v[2]])); /* 6 V */
    }
    for (int32_t t = 0; t < s->triangle_count; t++) {
        int32_t p = spl_sets_root(piece, t);
        c->to[t] = size[p] >= SPL_PRISM_PIECE_LEAST && c->point[p].x > 0 ? kept++ : -1;
    }
    keep(c, kept);
}

/* The half-edge without a mate that begins where this one ends. */
static int32_t next_on_hole(const spl_prism_skin *s, int32_t half)
{
    int32_t h = next_in(half);
    while (s->mate[h] >= 0) h = next_in(s->mate[h]);
    return h;
}

static void pair(spl_prism_skin *s, int32_t a, int32_t b)
{
    s->mate[a] = b;
    s->mate[b] = a;
}

/* Closes the hole that a half-edge without a mate is at by a fan to its middle; false without room. */
static bool close_hole(cutter *c, int32_t first)
{
    spl_prism_skin *s = c->s;
    int32_t count = 0, h = first, centre = s->vertex_count, begin = 3 * s->triangle_count;
    spl_vec3 sum = {0};
    do {
        sum = spl_add(sum, s->position[s->triangle[h]]);
        c->loop[count++] = h;
        h = next_on_hole(s, h);
    } while (h != first);
    if (count == 2) { /* two edges of the same ends */
        pair(s, c->loop[0], c->loop[1]);
        return true;
    }
    if (s->vertex_count == s->vertex_room || s->triangle_count + count > s->triangle_room) return false;
    s->vertex_count++;
    s->triangle_count += count;
    s->position[centre] = spl_scale(sum, 1.0 / count);
    s->place[centre] = s->place[s->triangle[first]];
    for (int32_t i = 0; i < count; i++) { /* end to start of the half-edge, start to centre, centre to end */
        int32_t at = begin + 3 * i, before = begin + 3 * ((i + count - 1) % count);
        s->triangle[at] = s->triangle[next_in(c->loop[i])];
        s->triangle[at + 1] = s->triangle[c->loop[i]];
        s->triangle[at + 2] = centre;
        pair(s, at, c->loop[i]);
        pair(s, at + 1, before + 2);
    }
    return true;
}

/* Numbers the vertices afresh: one for each fan of triangles, so that a vertex at two holes becomes two. */
static void number_again(cutter *c)
{
    spl_prism_skin *s = c->s;
    int32_t corners = 3 * s->triangle_count;
    for (int32_t i = 0; i < corners; i++) {
        c->to[i] = i;
        c->number[i] = -1;
        c->point[i] = s->position[s->triangle[i]];
        c->place[i] = s->place[s->triangle[i]];
    }
    for (int32_t h = 0; h < corners; h++) spl_sets_join(c->to, h, next_in(s->mate[h]));
    s->vertex_count = 0;
    for (int32_t i = 0; i < corners; i++) {
        int32_t fan = spl_sets_root(c->to, i);
        if (c->number[fan] < 0) c->number[fan] = s->vertex_count++;
        s->triangle[i] = c->number[fan];
        s->position[s->triangle[i]] = c->point[i];
        s->place[s->triangle[i]] = c->place[i];
    }
}

static bool cut(cutter *c, int grow)
{
    spl_prism_skin *s = c->s;
    mark(c, grow);
    remove_marked(c);
    for (int32_t h = 0, end = 3 * s->triangle_count; h < end; h++)
        if (s->mate[h] < 0 && !close_hole(c, h)) return false;
    remove_crumbs(c);
    if (s->triangle_count == 0) return false;
    number_again(c);
    return s->vertex_count <= s->vertex_room;
}

supple_result spl_prism_skin_cut(spl_prism_skin *s, int grow, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    size_t corners = 3 * (size_t)s->triangle_room;
    cutter c = {.s = s};
    c.bad = spl_new(a, (size_t)s->vertex_room, sizeof *c.bad);
    c.to = spl_new(a, corners, sizeof *c.to);
    c.loop = spl_new(a, corners, sizeof *c.loop);
    c.number = spl_new(a, corners, sizeof *c.number);
    c.point = spl_new(a, corners, sizeof *c.point);
    c.place = spl_new(a, corners, sizeof *c.place);
    supple_result result = SUPPLE_OK;
    if (!c.bad || !c.to || !c.loop || !c.number || !c.point || !c.place)
        result = spl_fail_memory(error, "the skin");
    else if (!cut(&c, grow))
        result = spl_fail(error, SUPPLE_ERROR_INPUT,
                          "no prisms: the skin is folded in too many places; try another "
                          "--resolution, or --body tets");
    void *block[] = {c.bad, c.to, c.loop, c.number, c.point, c.place};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    return result;
}
