#include "body/lips.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/weld.h"
#include "math/vec3.h"

#define HAIR                                                                                                           \
    4e-6 /* of the diagonal: a gap of twice that is seen by the mesher (welding takes 1e-6), and by no one else */
#define ALIKE  0.50 /* of the weights in common: vertices at one place are one sheet */
#define FACING -0.5 /* cosine of the angle between two sheets from which they lie back to back */
#define TURNED 0.50 /* length of the difference of their normals that tells sheets apart at the rim of such ones */

typedef struct lips {
    const spl_lips_input *in;
    float *position;
    int32_t *part;    /* by vertex */
    int32_t *place;   /* by vertex: those at one place have one number */
    int32_t *first;   /* by place: a vertex of the flesh there, -1 for none ... */
    int32_t *next;    /* ... and by vertex: another one, -1 at the end */
    spl_vec3 *normal; /* by vertex: of its triangles of flesh, by area */
    bool *other;      /* by vertex: of the second sheet of its place */
    spl_vec3 *apart;  /* by place: from the first sheet's flesh to its skin; zero where there is one sheet only */
    bool *shut;       /* by place: the sheets lie back to back */
    bool *chosen;     /* by place: these, and their rim */
    int32_t place_count;
    double diagonal;
} lips;

/* ---- weights ---- */

static double weight_of(const lips *l, int32_t vertex, int32_t node, int32_t entries)
{
    const spl_part *part = &l->in->part[l->part[vertex]];
    const spl_primitive *p = part->primitive;
    const int32_t *joint = l->in->scene->skin[l->in->scene->instance[part->instance].skin].joint;
    size_t at = (size_t)(vertex - part->first_vertex) * (size_t)p->influence_count;
    double sum = 0;
    for (int32_t k = 0; k < (entries < 0 ? p->influence_count : entries); k++)
        if (l->in->merged_into[joint[p->joint[at + (size_t)k]]] == node) sum += (double)p->weight[at + (size_t)k];
    return sum;
}

/* The share of weights that two vertices have in common. */
static double alike(const lips *l, int32_t v, int32_t w)
{
    const spl_part *part = &l->in->part[l->part[v]];
    const spl_primitive *p = part->primitive;
    const int32_t *joint = l->in->scene->skin[l->in->scene->instance[part->instance].skin].joint;
    size_t at = (size_t)(v - part->first_vertex) * (size_t)p->influence_count;
    double shared = 0;
    for (int32_t k = 0; k < p->influence_count; k++) {
        int32_t node = l->in->merged_into[joint[p->joint[at + (size_t)k]]];
        if (weight_of(l, v, node, k) > 0) continue; /* a joint that comes again counts once */
        shared += fmin(weight_of(l, v, node, -1), weight_of(l, w, node, -1));
    }
    return shared;
}

/* ---- sheets ---- */

typedef void triangle_fn(lips *l, const int32_t *vertex);

static void each_triangle(lips *l, triangle_fn *fn)
{
    const spl_lips_input *in = l->in;
    for (int32_t i = 0; i < in->part_count; i++) {
        const spl_primitive *p = in->part[i].primitive;
        if (!spl_part_skinned(in->scene, &in->part[i])) continue;
        for (int32_t t = 0; t < p->triangle_count; t++) {
            int32_t vertex[3];
            if (in->role[in->first_triangle[i] + t] != SUPPLE_ROLE_FLESH) continue;
            for (int k = 0; k < 3; k++) vertex[k] = p->triangle[3 * (size_t)t + (size_t)k] + in->part[i].first_vertex;
            fn(l, vertex);
        }
    }
}

static void add_normal(lips *l, const int32_t *vertex)
{
    spl_vec3 p[3];
    for (int k = 0; k < 3; k++) p[k] = spl_v3_from_float(l->position + 3 * (size_t)vertex[k]);
    spl_vec3 n = spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0]));
    for (int k = 0; k < 3 && spl_v3_finite(n); k++) l->normal[vertex[k]] = spl_add(l->normal[vertex[k]], n);
}

static void list_places(lips *l)
{
    spl_vec3 low = spl_v3(INFINITY, INFINITY, INFINITY), high = spl_v3(-INFINITY, -INFINITY, -INFINITY);
    for (int32_t i = 0; i < l->place_count; i++) l->first[i] = -1;
    for (int32_t v = l->in->scene->vertex_count; v-- > 0;) {
        if (!(spl_norm(l->normal[v]) > 0)) continue;
        spl_vec3 p = spl_v3_from_float(l->position + 3 * (size_t)v);
        low = spl_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = spl_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
        l->next[v] = l->first[l->place[v]];
        l->first[l->place[v]] = v;
    }
    l->diagonal = spl_distance(low, high);
}

/* Vertices that move as the first one of their place are its sheet, all others the second. */
static void find_sheets(lips *l)
{
    for (int32_t i = 0; i < l->place_count; i++) {
        spl_vec3 sum[2] = {{0, 0, 0}, {0, 0, 0}}, none = {0, 0, 0};
        int32_t first = l->first[i];
        for (int32_t v = first; v >= 0; v = l->next[v]) {
            l->other[v] = v != first && alike(l, first, v) < ALIKE;
            sum[l->other[v]] = spl_add(sum[l->other[v]], l->normal[v]);
        }
        spl_vec3 a = spl_unit(sum[0], none), b = spl_unit(sum[1], none), d = spl_sub(a, b);
        if (!(spl_norm(a) > 0 && spl_norm(b) > 0 && spl_norm(d) > TURNED)) continue;
        l->apart[i] = spl_unit(d, none);
        l->shut[i] = spl_dot(a, b) < FACING;
        l->chosen[i] = l->shut[i];
    }
}

/* The rim of closed lips: sheets meet there at an angle. */
static void choose_rim(lips *l, const int32_t *vertex)
{
    if (!l->shut[l->place[vertex[0]]] && !l->shut[l->place[vertex[1]]] && !l->shut[l->place[vertex[2]]]) return;
    for (int k = 0; k < 3; k++) {
        int32_t place = l->place[vertex[k]];
        if (spl_norm(l->apart[place]) > 0) l->chosen[place] = true;
    }
}

static int32_t move_apart(lips *l)
{
    int32_t count = 0;
    for (int32_t i = 0; i < l->place_count; i++) {
        if (!l->chosen[i]) continue;
        count++;
        for (int32_t v = l->first[i]; v >= 0; v = l->next[v]) {
            float *at = l->position + 3 * (size_t)v;
            double by = (l->other[v] ? 1 : -1) * HAIR * l->diagonal;
            spl_v3_to_float(spl_madd(spl_v3_from_float(at), l->apart[i], by), at);
        }
    }
    return count;
}

/* ---- all of it ---- */

static supple_result allocate(lips *l, supple_error *error)
{
    const supple_allocator *a = l->in->allocator;
    size_t n = (size_t)l->in->scene->vertex_count;
    l->part = spl_new(a, n, sizeof *l->part);
    l->place = spl_new(a, n, sizeof *l->place);
    l->first = spl_new(a, n, sizeof *l->first);
    l->next = spl_new(a, n, sizeof *l->next);
    l->normal = spl_new(a, n, sizeof *l->normal);
    l->other = spl_new(a, n, sizeof *l->other);
    l->apart = spl_new(a, n, sizeof *l->apart);
    l->shut = spl_new(a, n, sizeof *l->shut);
    l->chosen = spl_new(a, n, sizeof *l->chosen);
    bool made = l->part && l->place && l->first && l->next && l->normal && l->other && l->apart && l->shut && l->chosen;
    return made ? SUPPLE_OK : spl_fail_memory(error, "closed lips");
}

static void release(lips *l)
{
    void *block[] = {l->part, l->place, l->first, l->next, l->normal, l->other, l->apart, l->shut, l->chosen};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(l->in->allocator, block[i]);
}

supple_result spl_lips_part(const spl_lips_input *input, float *position, int32_t *parted, supple_error *error)
{
    lips l = {.in = input, .position = position};
    supple_result result = allocate(&l, error);
    *parted = 0;
    if (result == SUPPLE_OK)
        result = spl_weld(position, input->scene->vertex_count, 0, input->allocator, l.place, &l.place_count, error);
    if (result == SUPPLE_OK) {
        for (int32_t i = 0; i < input->part_count; i++)
            for (int32_t v = 0; v < input->part[i].primitive->vertex_count; v++)
                l.part[input->part[i].first_vertex + v] = i;
        each_triangle(&l, add_normal);
        list_places(&l);
        find_sheets(&l);
        each_triangle(&l, choose_rim);
        *parted = move_apart(&l);
    }
    release(&l);
    return result;
}
