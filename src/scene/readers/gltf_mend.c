/* Vertices that a file leaves without weights take those of the vertices near them.
 *
 * Vertices of a mesh at one place are one point, whatever primitives they are of. A point where some vertex has weights
 * takes their mean. From there weights spread along edges, ring by ring: a point takes the mean of its triangles'
 * corners that had weights before this ring. A piece that no edge reaches (a buckle, a pouch) takes the weights of the
 * point nearest to it: as a whole, so that it keeps its shape, or point by point if it is long for the mesh. */
#include "geom/tree.h"
#include "geom/weld.h"
#include "scene/readers/gltf_private.h"

#include <string.h>

enum { MOST = 8 }; /* influences that a point hands on */

/* A piece of more than this share of the mesh's diagonal is no stiff thing. */
#define STIFF_SHARE 0.25

typedef struct mixture {
    int32_t count; /* 0: none known yet */
    uint16_t joint[MOST];
    double weight[MOST]; /* descending, sum 1 */
} mixture;

typedef struct mending {
    spl_gltf *g;
    spl_mesh *mesh;
    int32_t vertex_count, point_count, triangle_count;
    float *position; /* 3 x vertex_count, of all primitives */
    int32_t *point;  /* vertex_count */
    int32_t *corner; /* 3 x triangle_count, points */
    int32_t *first;  /* point_count + 1: where a point's triangles begin in `around` */
    int32_t *around; /* 3 x triangle_count, triangles by point */
    mixture *mix;    /* point_count */
    int32_t *ring;   /* point_count: 0 with weights of its own, -1 unknown */
    int32_t *queue;  /* point_count */
    double *sum;     /* by joint, zero between uses */
    int32_t *touched;
    int32_t touched_count;
} mending;

/* ---- mixtures --------------------------------------------------------------------------------------------------- */

static void add(mending *m, uint16_t joint, double weight)
{
    if (!(weight > 0)) return;
    if (m->sum[joint] == 0) m->touched[m->touched_count++] = joint;
    m->sum[joint] += weight;
}

static void add_mixture(mending *m, const mixture *from)
{
    for (int32_t i = 0; i < from->count; i++) add(m, from->joint[i], from->weight[i]);
}

/* The strongest of what was added; of equal ones the lower joint. */
static void take_sum(mending *m, mixture *out)
{
    double total = 0;
    out->count = 0;
    for (int32_t i = 0; i < m->touched_count; i++) {
        uint16_t joint = (uint16_t)m->touched[i];
        double weight = m->sum[joint];
        m->sum[joint] = 0;
        int32_t k = out->count < MOST ? out->count++ : MOST;
        for (; k > 0; k--) {
            double other = out->weight[k - 1];
            if (other > weight || (other == weight && out->joint[k - 1] < joint)) break;
            if (k == MOST) continue;
            out->weight[k] = other;
            out->joint[k] = out->joint[k - 1];
        }
        if (k == MOST) continue;
        out->weight[k] = weight;
        out->joint[k] = joint;
    }
    m->touched_count = 0;
    for (int32_t i = 0; i < out->count; i++) total += out->weight[i];
    for (int32_t i = 0; i < out->count; i++) out->weight[i] /= total;
}

/* ---- points ----------------------------------------------------------------------------------------------------- */

static bool is_bare(const spl_primitive *p, int32_t v)
{
    return p->weight[(size_t)v * (size_t)p->influence_count] == 0;
}

static void *make(mending *m, size_t count, size_t size)
{
    void *made = spl_new(m->g->a, count + 1, size);
    if (!made) spl_gltf_fail_memory(m->g, "weights");
    return made;
}

static bool allocate(mending *m)
{
    size_t vertices = (size_t)m->vertex_count, corners = 3 * (size_t)m->triangle_count;
    return (m->position = make(m, 3 * vertices, sizeof *m->position)) &&
           (m->point = make(m, vertices, sizeof *m->point)) && (m->corner = make(m, corners, sizeof *m->corner)) &&
           (m->around = make(m, corners, sizeof *m->around)) && (m->first = make(m, vertices + 1, sizeof *m->first)) &&
           (m->mix = make(m, vertices, sizeof *m->mix)) && (m->ring = make(m, vertices, sizeof *m->ring)) &&
           (m->queue = make(m, vertices, sizeof *m->queue)) && (m->sum = make(m, UINT16_MAX, sizeof *m->sum)) &&
           (m->touched = make(m, UINT16_MAX, sizeof *m->touched));
}

static void release(mending *m)
{
    void *made[] = {m->position, m->point, m->corner, m->around, m->first,
                    m->mix,      m->ring,  m->queue,  m->sum,    m->touched};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) spl_free(m->g->a, made[i]);
}

/* Primitives without weights of any kind move with their node: they neither give nor take. */
static bool weld(mending *m)
{
    float *to = m->position;
    for (int32_t k = 0; k < m->mesh->primitive_count; k++) {
        const spl_primitive *p = &m->mesh->primitive[k];
        if (p->influence_count == 0) continue;
        memcpy(to, p->position, 3 * (size_t)p->vertex_count * sizeof *to);
        to += 3 * (size_t)p->vertex_count;
    }
    m->g->result = spl_weld(m->position, m->vertex_count, 0, m->g->a, m->point, &m->point_count, m->g->error);
    if (m->g->result) return false;
    int32_t *corner = m->corner, first = 0;
    for (int32_t k = 0; k < m->mesh->primitive_count; k++) {
        const spl_primitive *p = &m->mesh->primitive[k];
        if (p->influence_count == 0) continue;
        for (int32_t i = 0; i < 3 * p->triangle_count; i++) *corner++ = m->point[first + p->triangle[i]];
        first += p->vertex_count;
    }
    return true;
}

static void list_triangles(mending *m)
{
    size_t corners = 3 * (size_t)m->triangle_count;
    for (size_t i = 0; i < corners; i++) m->first[m->corner[i] + 1]++;
    for (int32_t p = 0; p < m->point_count; p++) m->first[p + 1] += m->first[p];
    for (size_t i = 0; i < corners; i++) m->around[m->first[m->corner[i]]++] = (int32_t)(i / 3);
    for (int32_t p = m->point_count; p > 0; p--) m->first[p] = m->first[p - 1];
    m->first[0] = 0;
}

/* Adds up the weights of a point's vertices; returns how many points have some. Vertices of a point lie anywhere in the
 * list, so they are chained. */
static bool seed(mending *m, int32_t *known)
{
    int32_t *next = make(m, (size_t)m->vertex_count, sizeof *next), *head = m->queue;
    const spl_primitive **of = make(m, (size_t)m->vertex_count, sizeof *of);
    int32_t *own = make(m, (size_t)m->vertex_count, sizeof *own), v = 0;
    bool ok = next && of && own;
    for (int32_t p = 0; ok && p < m->point_count; p++) head[p] = -1;
    for (int32_t k = 0; ok && k < m->mesh->primitive_count; k++) {
        const spl_primitive *p = &m->mesh->primitive[k];
        for (int32_t i = 0; p->influence_count > 0 && i < p->vertex_count; i++, v++) {
            of[v] = p;
            own[v] = i;
            next[v] = head[m->point[v]];
            head[m->point[v]] = v;
        }
    }
    *known = 0;
    for (int32_t p = 0; ok && p < m->point_count; p++) {
        for (v = head[p]; v >= 0; v = next[v]) {
            size_t K = (size_t)of[v]->influence_count, at = (size_t)own[v] * K;
            for (size_t i = 0; i < K; i++) add(m, of[v]->joint[at + i], (double)of[v]->weight[at + i]);
        }
        take_sum(m, &m->mix[p]);
        m->ring[p] = m->mix[p].count > 0 ? 0 : -1;
        *known += m->mix[p].count > 0;
    }
    spl_free(m->g->a, next);
    spl_free(m->g->a, of);
    spl_free(m->g->a, own);
    return ok;
}

/* ---- along edges ------------------------------------------------------------------------------------------------ */

/* The mean over the corners around a point whose weights were known before this ring. */
static void mean_around(mending *m, int32_t point, int32_t ring)
{
    for (int32_t i = m->first[point]; i < m->first[point + 1]; i++)
        for (int32_t k = 0; k < 3; k++) {
            int32_t other = m->corner[3 * (size_t)m->around[i] + (size_t)k];
            if (m->ring[other] >= 0 && m->ring[other] < ring) add_mixture(m, &m->mix[other]);
        }
    take_sum(m, &m->mix[point]);
}

/* Puts the points of unknown weights beside `point` at the queue's end, marked with `mark`. */
static int32_t queue_around(mending *m, int32_t point, int32_t mark, int32_t end)
{
    for (int32_t i = m->first[point]; i < m->first[point + 1]; i++)
        for (int32_t k = 0; k < 3; k++) {
            int32_t other = m->corner[3 * (size_t)m->around[i] + (size_t)k];
            if (m->ring[other] != -1) continue;
            m->ring[other] = mark;
            m->queue[end++] = other;
        }
    return end;
}

static void spread(mending *m)
{
    int32_t begin = 0, end = 0;
    for (int32_t p = 0; p < m->point_count; p++)
        if (m->ring[p] == 0) end = queue_around(m, p, 1, end);
    for (int32_t ring = 1; begin < end; ring++) {
        int32_t last = end;
        for (int32_t i = begin; i < last; i++) mean_around(m, m->queue[i], ring);
        for (int32_t i = begin; i < last; i++) end = queue_around(m, m->queue[i], ring + 1, end);
        begin = last;
    }
}

/* ---- across gaps ------------------------------------------------------------------------------------------------ */

static double length_of(const spl_vec3 *at, const int32_t *list, int32_t count)
{
    spl_vec3 low = at[list ? list[0] : 0], high = low;
    for (int32_t i = 1; i < count; i++) {
        spl_vec3 p = at[list ? list[i] : i];
        low = (spl_vec3){fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z)};
        high = (spl_vec3){fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z)};
    }
    return spl_distance(low, high);
}

/* One piece: each point takes the mixture of the known point nearest to it; a stiff piece that of its nearest of all.
 */
static void seat(mending *m, const spl_vec3 *at, const spl_tree *known, const int32_t *place, int32_t count, bool stiff)
{
    double best = (double)INFINITY;
    int32_t source = -1, hint = -1;
    for (int32_t i = 0; i < count; i++) {
        spl_hit hit;
        if (!spl_tree_nearest(known, at[m->queue[i]], (double)INFINITY, hint, &hit)) continue;
        hint = hit.triangle;
        if (!stiff) m->mix[m->queue[i]] = m->mix[place[hit.triangle]];
        if (hit.distance < best) source = place[hit.triangle];
        if (hit.distance < best) best = hit.distance;
    }
    for (int32_t i = 0; stiff && source >= 0 && i < count; i++) m->mix[m->queue[i]] = m->mix[source];
}

static void seat_pieces(mending *m, const spl_vec3 *at, const spl_tree *known, const int32_t *place)
{
    double whole = length_of(at, NULL, m->point_count);
    for (int32_t p = 0; p < m->point_count; p++) {
        if (m->ring[p] != -1) continue;
        int32_t end = 1;
        m->queue[0] = p;
        m->ring[p] = -2;
        for (int32_t i = 0; i < end; i++) end = queue_around(m, m->queue[i], -2, end);
        seat(m, at, known, place, end, length_of(at, m->queue, end) <= STIFF_SHARE * whole);
    }
}

/* A tree of points: triangles with one corner. */
static bool cross_gaps(mending *m)
{
    spl_vec3 *at = make(m, (size_t)m->point_count, sizeof *at);
    int32_t *place = make(m, (size_t)m->point_count, sizeof *place), count = 0;
    int32_t *single = make(m, 3 * (size_t)m->point_count, sizeof *single);
    spl_tree known = {0};
    bool ok = at && place && single;
    for (int32_t v = 0; ok && v < m->vertex_count; v++)
        at[m->point[v]] = spl_v3_from_float(m->position + 3 * (size_t)v);
    for (int32_t p = 0; ok && p < m->point_count; p++) {
        if (m->ring[p] < 0) continue;
        for (int32_t k = 0; k < 3; k++) single[3 * count + k] = p;
        place[count++] = p;
    }
    if (ok && count < m->point_count) {
        m->g->result = spl_tree_make(at, single, count, m->g->a, &known, m->g->error);
        ok = m->g->result == SUPPLE_OK;
        if (ok) seat_pieces(m, at, &known, place);
        spl_tree_release(&known);
    }
    spl_free(m->g->a, at);
    spl_free(m->g->a, place);
    spl_free(m->g->a, single);
    return ok;
}

/* ---- back to the vertices --------------------------------------------------------------------------------------- */

/* Room for `K` influences a vertex. */
static bool widen(spl_gltf *g, spl_primitive *p, size_t K)
{
    size_t old = (size_t)p->influence_count, n = (size_t)p->vertex_count;
    if (K <= old) return true;
    uint16_t *joint = spl_gltf_new(g, K * n, sizeof *joint, "influences");
    float *weight = joint ? spl_gltf_new(g, K * n, sizeof *weight, "influences") : NULL;
    if (!weight) {
        spl_free(g->a, joint);
        return false;
    }
    for (size_t v = 0; v < n; v++) {
        memcpy(joint + v * K, p->joint + v * old, old * sizeof *joint);
        memcpy(weight + v * K, p->weight + v * old, old * sizeof *weight);
    }
    spl_free(g->a, p->joint);
    spl_free(g->a, p->weight);
    p->joint = joint;
    p->weight = weight;
    p->influence_count = (int32_t)K;
    return true;
}

static bool hand_out(mending *m, spl_primitive *p, const int32_t *point)
{
    int32_t most = 0;
    for (int32_t v = 0; v < p->vertex_count; v++)
        if (is_bare(p, v) && m->mix[point[v]].count > most) most = m->mix[point[v]].count;
    if (!widen(m->g, p, (size_t)most)) return false;
    for (int32_t v = 0; v < p->vertex_count; v++) {
        if (!is_bare(p, v)) continue;
        const mixture *mix = &m->mix[point[v]];
        size_t at = (size_t)v * (size_t)p->influence_count;
        for (size_t i = 0; i < (size_t)mix->count; i++) {
            p->joint[at + i] = mix->joint[i];
            p->weight[at + i] = (float)mix->weight[i];
        }
    }
    return true;
}

static bool mend(mending *m, const char *where)
{
    int32_t known;
    if (!allocate(m) || !weld(m)) return false;
    list_triangles(m);
    if (!seed(m, &known)) return false;
    if (known == 0)
        return spl_gltf_fail(
            m->g, "%s: the weights of all %d vertices are zero or no numbers; paint weights and export again", where,
            m->vertex_count);
    spread(m);
    if (!cross_gaps(m)) return false;
    const int32_t *point = m->point;
    for (int32_t k = 0; k < m->mesh->primitive_count; k++) {
        spl_primitive *p = &m->mesh->primitive[k];
        if (p->influence_count == 0) continue;
        if (p->unweighted > 0 && !hand_out(m, p, point)) return false;
        point += p->vertex_count;
    }
    return true;
}

bool spl_gltf_mend_weights(spl_gltf *g, spl_mesh *mesh, const char *where)
{
    mending m = {.g = g, .mesh = mesh};
    int64_t vertices = 0, triangles = 0;
    int32_t bare = 0;
    for (int32_t k = 0; k < mesh->primitive_count; k++) {
        const spl_primitive *p = &mesh->primitive[k];
        if (p->influence_count == 0) continue;
        vertices += p->vertex_count;
        triangles += p->triangle_count;
        bare += p->unweighted;
    }
    if (bare == 0) return true;
    if (vertices > INT32_MAX / 3 || triangles > INT32_MAX / 3)
        return spl_gltf_fail(g, "%s is too large to find weights for vertices without them", where);
    m.vertex_count = (int32_t)vertices;
    m.triangle_count = (int32_t)triangles;
    bool ok = mend(&m, where);
    release(&m);
    return ok;
}
