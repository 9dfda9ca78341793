#include "contact/sunk.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define MOST_THICK 0.25 /* of the flesh's thickness: so deep a bone bears no contact, */
#define MOST_EDGES 0.5  /* of the surface's edges, at least */
#define THICKER    2.0  /* than its own: other flesh that a bone cannot be brought out of */
#define FADE       4    /* power of the share: contacts are ten times as stiff as flesh, and half of them still tear */

enum { NEIGHBOURS = 2 /* joints between bones that do not meet */, GRAIN = 64 };

int32_t spl_sunk_bone(const spl_sunk *s, int32_t vertex)
{
    int32_t bone = s->solid->weights.bone[SPL_BONE_INFLUENCES * (size_t)vertex];
    return bone >= 0 ? bone : 0;
}

/* Whether two bones meet at a joint. Bones of one joint are as near as parent and child. */
static bool meet(const spl_bones *bones, int32_t a, int32_t b)
{
    const spl_bone *p = &bones->bone[a], *q = &bones->bone[b];
    return p->parent == b || q->parent == a || p->node == q->node;
}

/* Or hang on the same joint's, as fingers do: flesh of theirs hangs together too. */
static bool touch(const spl_bones *bones, int32_t a, int32_t b)
{
    int32_t p = bones->bone[a].parent, q = bones->bone[b].parent;
    return meet(bones, a, b) || (p >= 0 && q >= 0 && bones->bone[p].node == bones->bone[q].node);
}

/* Bones with few joints between them. */
static void find_neighbours(spl_sunk *s)
{
    const spl_bones *bones = &s->solid->body->bones;
    int32_t n = bones->bone_count;
    for (int32_t a = 0; a < n; a++) {
        bool *row = s->close + (size_t)a * (size_t)n;
        row[a] = true;
        for (int step = 0; step < NEIGHBOURS; step++) {
            for (int32_t b = 0; b < n; b++) s->deep[b] = row[b];
            for (int32_t b = 0; b < n; b++)
                for (int32_t c = 0; s->deep[b] > 0 && c < n; c++) row[c] = row[c] || meet(bones, b, c);
        }
    }
    for (int32_t b = 0; b < n; b++) s->deep[b] = 0;
}

/* How deep each bone may be, by the mean thickness of its flesh. */
static void find_most(spl_sunk *s)
{
    const spl_shell *shell = s->near->shell;
    int32_t n = s->solid->body->bones.bone_count;
    for (int32_t v = 0; v < shell->vertex_count; v++) {
        if (!isfinite(shell->thickness[v])) continue;
        int32_t b = spl_sunk_bone(s, shell->vertex[v]);
        s->most[b] += shell->thickness[v];
        s->spread[b] += 1;
    }
    for (int32_t b = 0; b < n; b++)
        s->most[b] = fmax(MOST_THICK * s->most[b] / fmax(s->spread[b], 1), MOST_EDGES * shell->edge);
}

/* ---- finding ---- */

/* Flesh of another part, that is thicker by far. Where both are of one size, both give way, and contact resolves it:
 * hands that cross were left 29 mm in each other without it. */
static bool accept_far(const void *context, int32_t point, int32_t tet)
{
    const spl_sunk *s = context;
    int32_t bone = s->solid->body->bone[s->vertex[point]], count = s->solid->body->bones.bone_count;
    if (s->apart[point]) return false;
    for (size_t k = 0; k < 4; k++) {
        int32_t other = spl_sunk_bone(s, s->near->shell->tet[4 * (size_t)tet + k]);
        if (s->close[bone * count + other] || s->most[other] < THICKER * s->most[bone]) return false;
    }
    return true;
}

void spl_sunk_hit(spl_sunk *s, const double *x, spl_hits_accept *accept, const void *context, spl_pool *pool)
{
    for (int32_t i = 0; i < s->point_count; i++) s->position[i] = spl_shell_point(x, s->vertex[i]);
    spl_hits_find(&s->hits, s->position, x, 0, accept, context, pool);
}

/* The way out of a tet's flesh: to the nearest place of the posed surface around the one that is nearest at rest. */
static spl_vec3 way_out(const spl_sunk *s, spl_vec3 p, int32_t tet)
{
    const spl_shell *shell = s->near->shell;
    spl_shell_place best = {.triangle = -1, .square = INFINITY};
    int32_t triangle = spl_shell_exit(shell, tet, s->x, p);
    for (size_t k = 0; triangle >= 0 && k < 3; k++)
        spl_shell_around(shell, s->x, p, shell->slot[shell->triangle[3 * (size_t)triangle + k]], NULL, NULL, &best);
    spl_shell_walk(shell, s->x, p, NULL, NULL, &best);
    return best.triangle < 0 ? spl_v3(0, 0, 0) : spl_sub(spl_shell_target(shell, s->x, &best), p);
}

static void find_ways(void *context, size_t begin, size_t end)
{
    const spl_sunk *s = context;
    for (size_t i = begin; i < end; i++) {
        double least = INFINITY;
        s->way[i] = spl_v3(0, 0, 0);
        for (int32_t k = s->hits.point_first[i]; k < s->hits.point_first[i + 1]; k++) {
            int32_t tet = s->hits.pair[k].tet;
            spl_vec3 way = way_out(s, s->position[i], tet);
            double square = spl_dot(way, way);
            if (!(square > 0) || !(square < least)) continue;
            least = square;
            s->way[i] = way;
            s->other[i] = spl_sunk_bone(s, s->near->shell->tet[4 * (size_t)tet]);
        }
    }
}

bool spl_sunk_find(spl_sunk *s, spl_hits_accept *accept, const void *context, spl_pool *pool)
{
    spl_solid_pose(s->solid, s->x, pool);
    spl_sunk_hit(s, s->x, accept, context, pool);
    if (s->hits.pair_count > 0) spl_parallel_for(pool, (size_t)s->point_count, GRAIN, find_ways, s);
    return s->hits.pair_count > 0;
}

/* ---- creation ---- */

static supple_result make_room(spl_sunk *s, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    const int32_t *bone = s->solid->body->bone;
    int32_t total = s->solid->body->tets.vertex_count;
    for (int32_t v = 0; v < total; v++) s->point_count += bone[v] >= 0;
    size_t n = (size_t)s->point_count, bones = (size_t)s->solid->body->bones.bone_count;
    s->vertex = spl_new(a, n, sizeof *s->vertex);
    s->apart = spl_new(a, n, sizeof *s->apart);
    s->position = spl_new(a, n, sizeof *s->position);
    s->way = spl_new(a, n, sizeof *s->way);
    s->other = spl_new(a, n, sizeof *s->other);
    s->close = spl_new(a, bones * bones, sizeof *s->close);
    s->most = spl_new(a, bones, sizeof *s->most);
    s->deep = spl_new(a, bones, sizeof *s->deep);
    s->spread = spl_new(a, bones, sizeof *s->spread);
    s->share = spl_new(a, (size_t)total, sizeof *s->share);
    s->x = spl_new(a, (size_t)total, 3 * sizeof *s->x);
    if (!s->vertex || !s->apart || !s->position || !s->way || !s->other || !s->close || !s->most || !s->deep ||
        !s->spread || !s->share || !s->x)
        return spl_fail_memory(error, "the bones in other flesh");
    for (int32_t v = 0, i = 0; v < total; v++)
        if (bone[v] >= 0) s->vertex[i++] = v;
    return spl_hits_create(s->near->shell, s->point_count, s->vertex, &s->hits, error);
}

supple_result spl_sunk_create(const spl_solid *solid, const spl_contacts *contacts, const supple_config *config,
                              spl_pool *pool, spl_sunk **out, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    spl_sunk *s = spl_new(&a, 1, sizeof *s);
    *out = NULL;
    if (!s) return spl_fail_memory(error, "the bones in other flesh");
    *s = (spl_sunk){.allocator = a, .solid = solid, .near = spl_contacts_near(contacts), .any = true};
    supple_result result = make_room(s, error);
    if (result != SUPPLE_OK) {
        spl_sunk_destroy(s);
        return result;
    }
    find_neighbours(s);
    find_most(s);
    spl_sunk_hit(s, solid->drive.rest, accept_far, s, pool);
    for (int32_t i = 0; i < s->hits.pair_count; i++) s->apart[s->hits.pair[i].point] = true;
    spl_sunk_reset(s);
    *out = s;
    return SUPPLE_OK;
}

void spl_sunk_destroy(spl_sunk *s)
{
    if (!s) return;
    supple_allocator a = s->allocator;
    spl_hits_release(&s->hits);
    void *own[] = {s->vertex, s->apart, s->position, s->way,   s->other, s->close,
                   s->most,   s->deep,  s->spread,   s->share, s->x,     s};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) spl_free(&a, own[i]);
}

/* ---- shares ---- */

void spl_sunk_reset(spl_sunk *s)
{
    for (int32_t v = 0; s->any && v < s->solid->body->tets.vertex_count; v++) s->share[v] = 1;
    s->any = false;
}

/* Shares have to be alike over flesh that hangs together: a vertex that is pushed out beside one that is not is torn
 * off it. So a bone gives up what its neighbours do (a hand's knuckles are as much the fingers' as the hand's), and
 * vertices what their bones do, by weight. A share by each vertex's own depth tore more than it mended. */
static void blend(void *context, size_t begin, size_t end)
{
    const spl_sunk *s = context;
    const spl_bone_weights *w = &s->solid->weights;
    for (size_t v = begin; v < end; v++) {
        double lost = 0;
        for (size_t i = SPL_BONE_INFLUENCES * v; i < SPL_BONE_INFLUENCES * (v + 1); i++)
            if (w->bone[i] >= 0) lost += w->weight[i] * (1 - s->spread[w->bone[i]]);
        s->share[v] = fmin(fmax(1 - lost, 0), 1);
    }
}

void spl_sunk_share(spl_sunk *s, spl_pool *pool)
{
    const spl_bones *bones = &s->solid->body->bones;
    if (!spl_sunk_find(s, accept_far, s, pool)) {
        spl_sunk_reset(s);
        return;
    }
    for (int32_t b = 0; b < bones->bone_count; b++) s->deep[b] = 0;
    for (int32_t i = 0; i < s->point_count; i++) {
        int32_t b = s->solid->body->bone[s->vertex[i]];
        s->deep[b] = fmin(fmax(s->deep[b], spl_norm(s->way[i]) / s->most[b]), 1);
    }
    for (int32_t b = 0; b < bones->bone_count; b++) {
        double most = s->deep[b];
        for (int32_t c = 0; c < bones->bone_count; c++)
            if (s->deep[c] > most && touch(bones, b, c)) most = s->deep[c];
        s->spread[b] = pow(1 - most, FADE);
    }
    s->any = true;
    spl_parallel_for(pool, (size_t)s->solid->body->tets.vertex_count, 2048, blend, s);
}
