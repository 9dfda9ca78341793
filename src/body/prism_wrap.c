/* Shrink-wrapping a skin onto a skeleton: from a thin layer, in steps, never through an inverted tetrahedron. */
#include "body/prism_private.h"
#include "core/error.h"
#include "core/memory.h"

#define THIN      0.15 /* thickness of the first layer, of the mean edge */
#define THINNEST  1e-3 /* and the least, where folds need it */
#define NEEDLE    20.0 /* how much worse than a flat tet a needle may be */
#define FLAT      0.06 /* shape below which a tet is improved in the end */
#define SHAPELESS 0.03 /* shape below which no step may bring a tet: its least height over its shortest edge */
enum { STEPS = 12, RELAX = 8, IMPROVE = 6 };

typedef struct wrap {
    const spl_prism_skin *s;
    const spl_prism_goal *goal;
    spl_vec3 *y; /* bone vertices */
    bool *there; /* by vertex: at its goal, nothing is left to do */
} wrap;

void spl_prism_tets(const int32_t corner[3], int32_t vertex_count, int32_t tet[12])
{
    int32_t a = corner[0], b = corner[1], c = corner[2], n = vertex_count, swap;
    bool odd = false;
    if (a > b) swap = a, a = b, b = swap, odd = !odd;
    if (b > c) swap = b, b = c, c = swap, odd = !odd;
    if (a > b) swap = a, a = b, b = swap, odd = !odd;
    int32_t even[12] = {a, c, b, c + n, a, b, b + n, c + n, a, b + n, a + n, c + n};
    for (int k = 0; k < 12; k++) tet[k] = even[k];
    for (int k = 0; odd && k < 12; k += 4) {
        tet[k + 1] = even[k + 2];
        tet[k + 2] = even[k + 1];
    }
}

/* The least height over the shortest edge, 3 V / (largest face x shortest edge), signed. By it needles are as good as
 * others: a belly's prisms are ten times as long as wide; flat tets are bad. Needles with next to no volume at all are
 * told by det sqrt 2 / (rms edge)^3, which is 1 for a regular tet and 0.01 for those of a belly. */
static double shape_of(const spl_vec3 p[4])
{
    spl_vec3 u = spl_sub(p[1], p[0]), v = spl_sub(p[2], p[0]), w = spl_sub(p[3], p[0]);
    spl_vec3 vu = spl_sub(v, u), wu = spl_sub(w, u), wv = spl_sub(w, v), n = spl_cross(v, w);
    spl_vec3 face[4] = {n, spl_cross(u, v), spl_cross(w, u), spl_cross(vu, wu)};
    spl_vec3 edge[6] = {u, v, w, vu, wu, wv};
    double area = 0, least = INFINITY, sum = 0; /* squared; of faces, twice the area */
    for (int i = 0; i < 4; i++) area = fmax(area, spl_dot(face[i], face[i]));
    for (int i = 0; i < 6; i++) {
        double square = spl_dot(edge[i], edge[i]);
        least = fmin(least, square);
        sum += square / 6;
    }
    double det = spl_dot(u, n), flat = sqrt(area * least), thin = sum * sqrt(sum) / (NEEDLE * M_SQRT2);
    return flat > 0 ? fmin(det / flat, det / thin) : 0;
}

/* The worst shape among the tets at bone vertex v, were it at p. */
static double worst_shape(const wrap *w, int32_t v, spl_vec3 p, double enough)
{
    const spl_prism_skin *s = w->s;
    double worst = INFINITY;
    for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1] && worst >= enough; f++) {
        int32_t tet[12];
        spl_prism_tets(s->triangle + 3 * (size_t)s->fan[f], s->vertex_count, tet);
        for (int t = 0; t < 12; t += 4) {
            spl_vec3 q[4];
            bool has = false;
            for (int k = 0; k < 4; k++) {
                int32_t i = tet[t + k], on_bone = i - s->vertex_count;
                has = has || on_bone == v;
                q[k] = on_bone < 0 ? s->position[i] : on_bone == v ? p : w->y[on_bone];
            }
            if (has) worst = fmin(worst, shape_of(q));
        }
    }
    return worst;
}

/* ---- the first layer ---- */

/* The mean length of the edges around a vertex's triangles. */
static double width(const spl_prism_skin *s, int32_t v)
{
    double sum = 0;
    for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1]; f++) {
        const int32_t *c = s->triangle + 3 * (size_t)s->fan[f];
        for (int k = 0; k < 3; k++) sum += spl_distance(s->position[c[k]], s->position[c[(k + 1) % 3]]) / 3;
    }
    return sum / (s->fan_first[v + 1] - s->fan_first[v]);
}

/* How many vertices have a tet without volume; each of them gets half of its thickness. */
static int32_t thin_out(wrap *w, bool *bad)
{
    int32_t count = 0;
    for (int32_t v = 0; v < w->s->vertex_count; v++) {
        bad[v] = !(worst_shape(w, v, w->y[v], 0) > 0);
        count += bad[v];
    }
    for (int32_t v = 0; v < w->s->vertex_count; v++)
        if (bad[v]) w->y[v] = spl_lerp(w->s->position[v], w->y[v], 0.5);
    return count;
}

static supple_result first_layer(wrap *w, supple_error *error)
{
    const spl_prism_skin *s = w->s;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        double depth;
        w->y[v] = spl_madd(s->position[v], spl_prism_inward(s, v, &depth), THIN * width(s, v));
    }
    int32_t bad = 0;
    for (double thin = THIN; thin > THINNEST; thin /= 2)
        if ((bad = thin_out(w, w->there)) == 0) break;
    for (int32_t v = 0; v < s->vertex_count; v++) w->there[v] = false;
    return bad == 0 ? SUPPLE_OK
                    : spl_fail(error, SUPPLE_ERROR_INPUT,
                               "no prisms: the skin is folded too sharply at %d of its %d vertices; try another "
                               "--resolution, or --body tets",
                               (int)bad, (int)s->vertex_count);
}

/* ---- the steps ---- */

/* Where v would be if it had come as far as its neighbours. */
static spl_vec3 with_neighbours(const wrap *w, int32_t v)
{
    const spl_prism_skin *s = w->s;
    spl_vec3 sum = {0};
    int32_t n = 0;
    for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1]; f++)
        for (int k = 0; k < 3; k++) {
            int32_t i = s->triangle[3 * (size_t)s->fan[f] + (size_t)k];
            if (i == v) continue;
            sum = spl_add(sum, spl_sub(w->y[i], s->position[i]));
            n++;
        }
    return spl_madd(s->position[v], sum, 1.0 / n);
}

/* Goes towards a point as far as the tets allow; whether it went at all. */
static bool go(wrap *w, int32_t v, spl_vec3 to, double allowed)
{
    for (double step = 1; step > 0.2; step /= 2) {
        spl_vec3 p = spl_lerp(w->y[v], to, step);
        if (worst_shape(w, v, p, allowed) < allowed) continue;
        w->y[v] = p;
        return true;
    }
    return false;
}

static void sweep(wrap *w, double share)
{
    for (int32_t v = 0; v < w->s->vertex_count; v++) {
        if (w->there[v]) continue;
        spl_vec3 to = spl_lerp(w->s->position[v], w->goal[v].point, share);
        double allowed = fmin(SHAPELESS, worst_shape(w, v, w->y[v], -INFINITY));
        if (worst_shape(w, v, to, allowed) >= allowed) {
            w->y[v] = to;
            w->there[v] = share == 1;
            continue;
        }
        spl_vec3 beside = with_neighbours(w, v);
        if (!go(w, v, spl_lerp(to, beside, 0.5), allowed) && !go(w, v, to, allowed)) go(w, v, beside, allowed);
    }
}

/* ---- flat tets ---- */

/* Moves v about so that the worst of its tets gets better. */
static void improve(wrap *w, int32_t v, double worst)
{
    spl_vec3 below = spl_prism_inward(w->s, v, &(double){0}), beside = with_neighbours(w, v);
    double step = fmax(0.5 * spl_distance(w->y[v], w->s->position[v]), 0.05 * width(w->s, v));
    for (int halving = 0; halving < 4; halving++, step /= 2) {
        spl_vec3 way[8] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}, below, below};
        way[7] = spl_unit(spl_sub(beside, w->y[v]), below);
        for (int i = 0; i < 8; i++) {
            spl_vec3 p = spl_madd(w->y[v], way[i], step);
            double then = worst_shape(w, v, p, worst);
            if (then <= worst) continue;
            worst = then;
            w->y[v] = p;
        }
    }
}

static void improve_all(wrap *w)
{
    for (int32_t v = 0; v < w->s->vertex_count; v++) {
        double worst = worst_shape(w, v, w->y[v], -INFINITY);
        if (worst < FLAT) improve(w, v, worst);
    }
}

supple_result spl_prism_wrap(const spl_prism_skin *skin, const spl_prism_goal *goal, spl_vec3 *bone_point,
                             supple_error *error)
{
    const supple_allocator *a = &skin->allocator;
    wrap w = {skin, goal, bone_point, spl_new(a, (size_t)skin->vertex_count, sizeof *w.there)};
    if (!w.there) return spl_fail_memory(error, "the wrap");
    supple_result result = first_layer(&w, error);
    for (int step = 1; result == SUPPLE_OK && step <= STEPS; step++) {
        if (step % 4 == 1) improve_all(&w);
        sweep(&w, (double)step / STEPS);
    }
    for (int round = 0; result == SUPPLE_OK && round < RELAX; round++) sweep(&w, 1);
    for (int round = 0; result == SUPPLE_OK && round < IMPROVE; round++) improve_all(&w);
    spl_free(a, w.there);
    return result;
}
