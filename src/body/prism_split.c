/* Splitting the vertices of a skin at which it is folded.
 *
 * Where fingers part, one vertex of the stuffing may be the bottom of several grooves at once; no direction goes below
 * all of its triangles, and two sheets may even pass through the same two vertices. Split in two along the ring around
 * it (the inverse of an edge collapse), each half takes one groove. */
#include "body/prism_private.h"

#define FOLDED 0.1 /* cosine to the inward normals, up to which a vertex is folded */
#define PART   0.3 /* of the way to its neighbours is what a half steps away */
enum { RING_MOST = 48, PASSES = 4, LEAST = 2 };

/* The triangles around a vertex, counter-clockwise: half[i] starts at the vertex and leads to other[i]. */
typedef struct ring {
    int32_t count;
    int32_t half[RING_MOST], other[RING_MOST];
    spl_vec3 normal[RING_MOST]; /* of triangle i, between other[i] and other[i + 1] */
} ring;

static int32_t next_in(int32_t half)
{
    return half % 3 == 2 ? half - 2 : half + 1;
}

static bool read_ring(const spl_prism_skin *s, int32_t half, ring *r)
{
    int32_t h = half;
    r->count = 0;
    do {
        if (r->count == RING_MOST) return false;
        int32_t forth = next_in(h), back = next_in(forth);
        spl_vec3 x = s->position[s->triangle[h]];
        spl_vec3 a = s->position[s->triangle[forth]], b = s->position[s->triangle[back]];
        r->half[r->count] = h;
        r->other[r->count] = s->triangle[forth];
        r->normal[r->count++] = spl_cross(spl_sub(a, x), spl_sub(b, x));
        h = s->mate[back];
    } while (h != half);
    return true;
}

/* Whether a vertex stands in the ring twice; with from and to, whether it stands twice on one side of the split. */
static bool repeats(const ring *r, int32_t from, int32_t to)
{
    for (int32_t i = from; i <= to; i++)
        for (int32_t j = from; j < i; j++)
            if (r->other[i % r->count] == r->other[j % r->count]) return true;
    return false;
}

/* How good a split is that gives triangles p to q - 1 to one half and q to p - 1 to the other. */
static double score(const ring *r, int32_t p, int32_t q)
{
    spl_vec3 rest[RING_MOST];
    double one, two;
    int32_t n = 0;
    for (int32_t i = q; i < p + r->count; i++) rest[n++] = r->normal[i % r->count];
    spl_prism_below(r->normal + p, q - p, &one);
    spl_prism_below(rest, n, &two);
    double twice = (repeats(r, p, q) ? 4 : 0) + (repeats(r, q, p + r->count) ? 4 : 0);
    return fmin(one, two) - twice;
}

static bool choose(const ring *r, int32_t *p, int32_t *q)
{
    double best = -INFINITY;
    for (int32_t i = 0; i < r->count; i++)
        for (int32_t j = i + LEAST; j < r->count && i + r->count - j >= LEAST; j++) {
            if (r->other[i] == r->other[j]) continue;
            double s = score(r, i, j);
            if (s <= best) continue;
            best = s;
            *p = i;
            *q = j;
        }
    return best > -INFINITY;
}

static void add_triangle(spl_prism_skin *s, int32_t a, int32_t b, int32_t c)
{
    int32_t *to = s->triangle + 3 * (size_t)s->triangle_count++;
    to[0] = a;
    to[1] = b;
    to[2] = c;
}

static void pair(spl_prism_skin *s, int32_t a, int32_t b)
{
    s->mate[a] = b;
    s->mate[b] = a;
}

/* The middle of the ring's vertices from p to q. */
static spl_vec3 middle(const spl_prism_skin *s, const ring *r, int32_t p, int32_t q)
{
    spl_vec3 sum = {0};
    for (int32_t i = p; i <= q; i++) sum = spl_add(sum, s->position[r->other[i % r->count]]);
    return spl_scale(sum, 1.0 / (q - p + 1));
}

/* Splits v: a new vertex takes triangles p to q - 1, and two new triangles close the gaps at other[p] and other[q]. */
static void split(spl_prism_skin *s, const ring *r, int32_t p, int32_t q)
{
    int32_t v = s->triangle[r->half[0]], w = s->vertex_count++, n = r->count;
    spl_vec3 x = s->position[v];
    s->position[w] = spl_lerp(x, middle(s, r, p, q), PART);
    s->position[v] = spl_lerp(x, middle(s, r, q, p + n), PART);
    s->place[w] = s->place[v];
    for (int32_t i = p; i < q; i++) s->triangle[r->half[i]] = w;
    int32_t into_p = s->mate[r->half[p]], into_q = s->mate[r->half[q]]; /* other[p] to v, other[q] to w */
    int32_t first = 3 * s->triangle_count, second = first + 3;
    add_triangle(s, v, r->other[p], w);
    add_triangle(s, w, r->other[q], v);
    pair(s, first, into_p);
    pair(s, first + 1, r->half[p]);
    pair(s, second, into_q);
    pair(s, second + 1, r->half[q]);
    pair(s, first + 2, second + 2);
}

int32_t spl_prism_skin_split(spl_prism_skin *s)
{
    int32_t *start = s->fan_first, count = 0; /* by vertex: a half-edge that starts there; fans are made later */
    for (int pass = 0; pass < PASSES; pass++) {
        int32_t before = count, vertices = s->vertex_count;
        for (int32_t h = 0; h < 3 * s->triangle_count; h++) start[s->triangle[h]] = h;
        for (int32_t v = 0; v < vertices && s->vertex_count < s->vertex_room; v++) {
            ring r;
            double depth;
            int32_t p = 0, q = 0;
            if (!read_ring(s, start[v], &r)) continue;
            spl_prism_below(r.normal, r.count, &depth);
            if ((depth > FOLDED && !repeats(&r, 0, r.count - 1)) || !choose(&r, &p, &q)) continue;
            split(s, &r, p, q);
            start[v] = r.half[q];
            count++;
        }
        if (count == before) break;
    }
    return count;
}
