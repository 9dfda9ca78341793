#include "slide/slide.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "slide/regions.h"
#include "slide/tether_find.h"
#include "slide/uv.h"

#include <string.h>

enum { SETTLE_STEPS = 100, MOST_CYCLES = 20 };
static const double longest = 1; /* second: jumps beyond it begin anew */

const spl_parameter spl_slide_parameter[SPL_SLIDE_PARAMETERS] = {
    [SPL_SLIDE_YOUNG] = {"slide.young", "Pa", 1e5, 1, 1e12, "stiffness of the skin", NULL},
    [SPL_SLIDE_POISSON] = {"slide.poisson", "", 0.4, -0.9, 0.95, "Poisson's ratio of the skin", NULL},
    [SPL_SLIDE_THICKNESS] = {"slide.thickness", "m", 2e-3, 1e-5, 1, "thickness of the skin", NULL},
    [SPL_SLIDE_DENSITY] = {"slide.density", "kg/m^3", 1100, 1e-3, 1e6, "density of the skin", NULL},
    [SPL_SLIDE_PRESTRAIN] = {"slide.prestrain", "", 0, -0.5, 1, "how much the skin is stretched at rest", NULL},
    [SPL_SLIDE_PRESET] = {"slide.preset", "", 0, 0, 1, "jiggle: loose, heavy skin that lags and overshoots",
                          "none|jiggle"},
    [SPL_SLIDE_TETHER] = {"slide.tether", "Pa", 300, 0, 1e12, "shear that takes a tether to its length; 0: no tethers",
                          NULL},
    [SPL_SLIDE_TETHER_LENGTH] = {"slide.tether_length", "", 1, 0, 1000, "times the lengths found; 0: glued", NULL},
    [SPL_SLIDE_REST] = {"slide.rest", "", 0, 0, 2, "the pose where skin is unstressed; auto: standing, with tethers",
                        "auto|standing|bind"},
    [SPL_SLIDE_ZETA] = {"slide.zeta", "", 1, 0, 1, "1: the body's motion takes the skin along; 0: it slips", NULL},
    [SPL_SLIDE_LIMIT] = {"slide.limit", "m/s", 1e3, 0, 1e6, "no faster motion takes the skin along", NULL},
    [SPL_SLIDE_COUPLING] = {"slide.coupling", "", 0, 0, 1, "how the body takes skin along: by slip, or as printed",
                            "slip|paper"},
    [SPL_SLIDE_DELTA] = {"slide.delta", "mm", 1e6, 0, 1e6, "coupling paper: most that is taken back in 1 ms", NULL},
    [SPL_SLIDE_DRAG] = {"slide.drag", "1/s", 10, 0, 1e6, "resistance to sliding", NULL},
    [SPL_SLIDE_STEP] = {"slide.step", "ms", 0, 0, 100, "length of steps; 0: adaptive", NULL},
    [SPL_SLIDE_TOLERANCE] = {"slide.tolerance", "", 0.3, 1e-4, 10, "error of an adaptive step, of a triangle", NULL},
    [SPL_SLIDE_LAW] = {"slide.law", "", 0, 0, 1, "material", "neohookean|stvk"},
    [SPL_SLIDE_FORCE] = {"slide.force", "", 0, 0, 1, "the energy's gradient, or the paper's equation 5",
                         "gradient|paper"},
    [SPL_SLIDE_INERTIA] = {"slide.inertia", "", 0, 0, 1, "whether the body's rigid motion acts on the skin too",
                           "body|world"},
    [SPL_SLIDE_BORDER] = {"slide.border", "", 0, 0, 2, "what the skin does at open borders", "fixed|sliding|free"},
    [SPL_SLIDE_CREASE] = {"slide.crease", "deg", 60, 1, 180, "skin is fixed where facets are steeper against the mean",
                          NULL},
    [SPL_SLIDE_SETTLE] = {"slide.settle", "", 0, 0, 1, "begin in equilibrium, or glued to the first pose", "on|off"},
};

enum { STEPS, REJECTS, SHORTEST, ENERGY, FASTEST, LEAST, MOST, BROKEN, SPANNING, SOLVES, FACTORS, MS_LINEAR, VALUES };
static const char *const value_name[VALUES] = {"slide_steps",       "slide_rejected",       "slide_shortest_ms",
                                               "slide_energy",      "slide_max_speed",      "slide_min_stretch",
                                               "slide_max_stretch", "slide_broken",         "slide_spanning",
                                               "slide_iterations",  "slide_factorisations", "slide_linear_ms"};

struct spl_slide {
    supple_allocator allocator;
    const supple_scene *scene;
    spl_dermis *skin;
    spl_slide_uv uv;
    double unit;
    bool settle;
    spl_vec3 *body;    /* by vertex of the net: where it is, metres */
    int32_t *source;   /* by vertex of the net: a vertex of the scene there */
    double *stretched; /* by vertex of the net */
    float *corner_uv, *stretch;
    bool running;
    bool cycled; /* spl_slide_cycle has just been: the state is that of a cycle's first frame */
    spl_slide_frame frame;
    supple_named_value value[VALUES];
};

/* ---- creation ---- */

/* Which parts have skin that slides. */
static supple_result find_parts(const spl_slide_setup *setup, bool *slides, supple_error *error)
{
    const supple_allocator *a = setup->allocator;
    int32_t count = 0;
    spl_roles judged = {0};
    const spl_roles *roles = setup->roles;
    if (!roles) {
        supple_result result =
            spl_roles_of_scene(setup->scene, setup->part, setup->part_count, NULL, 0, a, &judged, error);
        if (result != SUPPLE_OK) return result;
        roles = &judged;
    }
    for (int32_t i = 0; i < setup->part_count; i++) {
        slides[i] = roles->part[i].role == SUPPLE_ROLE_FLESH && setup->part[i].primitive->triangle_count > 0;
        count += slides[i];
    }
    for (int32_t i = 0; count == 0 && i < setup->part_count; i++)
        slides[i] = setup->part[i].primitive->triangle_count > 0;
    spl_roles_release(&judged);
    return SUPPLE_OK;
}

/* The triangles of those parts, and where they come from. */
typedef struct gathered {
    double *position;
    int32_t *triangle, *input, *texture;
    int32_t triangle_count;
} gathered;

static void gather_triangles(const spl_slide_setup *setup, const bool *slides, gathered *g)
{
    int32_t first = 0;
    for (size_t i = 0; i < 3 * (size_t)setup->scene->vertex_count; i++)
        g->position[i] = setup->rest_unit * (double)setup->rest[i];
    for (int32_t i = 0; i < setup->part_count; i++) {
        const spl_primitive *p = setup->part[i].primitive;
        for (int32_t t = 0; slides[i] && t < p->triangle_count; t++) {
            size_t at = (size_t)g->triangle_count++;
            for (size_t k = 0; k < 3; k++)
                g->triangle[3 * at + k] = setup->part[i].first_vertex + p->triangle[3 * (size_t)t + k];
            g->input[at] = first + t;
            g->texture[at] = p->uv ? p->material : -2;
        }
        first += p->triangle_count;
    }
}

static bool allocate_gathered(const spl_slide_setup *setup, gathered *g)
{
    const supple_allocator *a = setup->allocator;
    size_t n = (size_t)setup->scene->vertex_count, m = (size_t)setup->scene->triangle_count;
    g->position = spl_new(a, n, 3 * sizeof *g->position);
    g->triangle = spl_new(a, m, 3 * sizeof *g->triangle);
    g->input = spl_new(a, m, sizeof *g->input);
    g->texture = spl_new(a, m, sizeof *g->texture);
    return g->position && g->triangle && g->input && g->texture;
}

static void release_gathered(gathered *g, const supple_allocator *a)
{
    spl_free(a, g->position);
    spl_free(a, g->triangle);
    spl_free(a, g->input);
    spl_free(a, g->texture);
}

/* The file's own texture coordinates, corner by corner. */
static void fill_corners(const spl_slide_setup *setup, float *out)
{
    for (int32_t i = 0; i < setup->part_count; i++) {
        const spl_primitive *p = setup->part[i].primitive;
        for (size_t c = 0; c < 3 * (size_t)p->triangle_count; c++, out += 2)
            if (p->uv) memcpy(out, p->uv + 2 * (size_t)p->triangle[c], 2 * sizeof *out);
    }
}

static spl_dermis_settings settings_of(const spl_slide_setup *setup)
{
    const double *p = setup->parameter;
    return (spl_dermis_settings){.law = (spl_membrane_law)p[SPL_SLIDE_LAW],
                                 .young = p[SPL_SLIDE_YOUNG],
                                 .poisson = p[SPL_SLIDE_POISSON],
                                 .thickness = p[SPL_SLIDE_THICKNESS],
                                 .density = p[SPL_SLIDE_DENSITY],
                                 .prestrain = p[SPL_SLIDE_PRESTRAIN],
                                 .zeta = p[SPL_SLIDE_ZETA],
                                 .limit = p[SPL_SLIDE_LIMIT],
                                 .paper_coupling = p[SPL_SLIDE_COUPLING] > 0.5,
                                 .delta = p[SPL_SLIDE_DELTA] * 1e-3,
                                 .drag = p[SPL_SLIDE_DRAG],
                                 .step = p[SPL_SLIDE_STEP] * 1e-3,
                                 .tolerance = p[SPL_SLIDE_TOLERANCE],
                                 .paper_force = p[SPL_SLIDE_FORCE] > 0.5,
                                 .world = p[SPL_SLIDE_INERTIA] > 0.5,
                                 .gravity = setup->gravity};
}

void spl_slide_preset(int preset, double *parameter)
{
    static const struct {
        int parameter;
        double value;
    } jiggle[] = {{SPL_SLIDE_YOUNG, 3e4}, {SPL_SLIDE_TETHER, 50}, {SPL_SLIDE_ZETA, 0.5},
                  {SPL_SLIDE_DRAG, 1},    {SPL_SLIDE_STEP, 2},    {SPL_SLIDE_INERTIA, 1}};
    for (size_t i = 0; preset == 1 && i < sizeof jiggle / sizeof *jiggle; i++)
        parameter[jiggle[i].parameter] = jiggle[i].value;
}

bool spl_slide_wants_stance(const double *parameter)
{
    int word = (int)parameter[SPL_SLIDE_REST];
    return word == 1 || (word == 0 && parameter[SPL_SLIDE_TETHER] > 0);
}

/* Lengths and pressures of tethers, from the body where no region says them. */
static supple_result make_tethers(const spl_slide_setup *setup, const spl_slide_scene *where, spl_regions *r,
                                  supple_error *error)
{
    size_t n = (size_t)where->net->surface.vertex_count;
    const double *p = setup->parameter;
    spl_tether_body body = {where, setup->home, spl_mat3_scale(&setup->rest_map, setup->rest_unit)};
    double *found = spl_new(setup->allocator, n, sizeof *found);
    if (!found) return spl_fail_memory(error, "the skin's tethers");
    supple_result result = spl_tether_find(&body, setup->allocator, found, error);
    for (size_t v = 0; result == SUPPLE_OK && v < n; v++) {
        r->tether[v] = (isnan(r->tether[v]) ? found[v] : r->tether[v]) * p[SPL_SLIDE_TETHER_LENGTH];
        r->tether_stiffness[v] *= p[SPL_SLIDE_TETHER];
        if (isnan(r->tether[v])) r->tether[v] = 0; /* none of no length */
    }
    spl_free(setup->allocator, found);
    return result;
}

/* Where the net's vertices stand, metres; NULL if memory is out. */
static spl_vec3 *stance_of(const spl_slide_setup *setup, const spl_net *net)
{
    const spl_surface *f = &net->surface;
    spl_vec3 *place = spl_new(setup->allocator, (size_t)f->vertex_count, sizeof *place);
    for (int32_t v = setup->scene->vertex_count; place && v-- > 0;)
        if (f->map[v] >= 0) place[f->map[v]] = spl_scale(spl_v3_from_float(setup->stance + 3 * (size_t)v), setup->unit);
    return place;
}

/* The skin itself, on the net, which it takes. */
static supple_result make_skin(spl_slide *s, const spl_slide_setup *setup, const bool *slides, spl_net *net,
                               supple_error *error)
{
    spl_dermis_settings settings = settings_of(setup);
    spl_slide_scene where = {setup->scene, setup->part, setup->part_count, slides, net};
    spl_regions regions;
    supple_result result = spl_regions_make(&where, setup->file, (spl_slide_border)setup->parameter[SPL_SLIDE_BORDER],
                                            &settings, setup->allocator, &regions, error);
    if (result != SUPPLE_OK) return result;
    spl_regions_fix_creases(&regions, net, setup->parameter[SPL_SLIDE_CREASE]);
    spl_dermis_parts parts = spl_regions_parts(&regions);
    if (setup->parameter[SPL_SLIDE_TETHER] > 0)
        result = make_tethers(setup, &where, &regions, error);
    else
        parts.tether_length = parts.tether_pressure = NULL;
    spl_vec3 *stance = setup->stance ? stance_of(setup, net) : NULL;
    if (setup->stance && !stance) result = spl_fail_memory(error, "the skin's rest shape");
    parts.stance = stance;
    if (result == SUPPLE_OK)
        result = spl_dermis_create(net, &settings, &parts, setup->pool, setup->allocator, &s->skin, error);
    spl_free(setup->allocator, stance);
    spl_regions_release(&regions);
    return result;
}

static bool allocate(spl_slide *s)
{
    const supple_allocator *a = &s->allocator;
    size_t n = (size_t)s->skin->net.surface.vertex_count;
    s->body = spl_new(a, n, sizeof *s->body);
    s->source = spl_new(a, n, sizeof *s->source);
    s->stretched = spl_new(a, n, sizeof *s->stretched);
    s->stretch = spl_new(a, (size_t)s->scene->vertex_count, sizeof *s->stretch);
    return s->body && s->source && s->stretched && s->stretch;
}

static supple_result build(spl_slide *s, const spl_slide_setup *setup, bool *slides, gathered *g, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    spl_net net = {0};
    supple_result result = find_parts(setup, slides, error);
    if (result != SUPPLE_OK) return result;
    gather_triangles(setup, slides, g);
    result = spl_net_make(g->position, setup->scene->vertex_count, g->triangle, g->triangle_count, a, &net, error);
    if (result == SUPPLE_OK && net.surface.triangle_count == 0)
        result = spl_fail(error, SUPPLE_ERROR_INPUT, "slide: the character has no surface for skin to slide on");
    if (result == SUPPLE_OK) result = spl_slide_uv_make(&net, s->corner_uv, g->input, g->texture, a, &s->uv, error);
    if (result == SUPPLE_OK) result = make_skin(s, setup, slides, &net, error);
    spl_net_release(&net);
    if (result != SUPPLE_OK) return result;
    if (!allocate(s)) return spl_fail_memory(error, "the skin");
    const spl_surface *f = &s->skin->net.surface;
    for (int32_t v = setup->scene->vertex_count; v-- > 0;)
        if (f->map[v] >= 0) s->source[f->map[v]] = v;
    return SUPPLE_OK;
}

supple_result spl_slide_create(const spl_slide_setup *setup, spl_slide **out, supple_error *error)
{
    const supple_allocator *a = setup->allocator;
    *out = NULL;
    spl_slide *s = spl_new(a, 1, sizeof *s);
    bool *slides = spl_new(a, (size_t)setup->part_count, sizeof *slides);
    gathered g = {0};
    supple_result result;
    bool made = s && slides && allocate_gathered(setup, &g);
    if (made) {
        s->allocator = *a;
        s->scene = setup->scene;
        s->unit = setup->unit;
        s->settle = setup->parameter[SPL_SLIDE_SETTLE] < 0.5;
        s->corner_uv = spl_new(a, (size_t)setup->scene->triangle_count, 6 * sizeof *s->corner_uv);
        if (s->corner_uv) fill_corners(setup, s->corner_uv);
        result = s->corner_uv ? build(s, setup, slides, &g, error) : spl_fail_memory(error, "texture coordinates");
    } else
        result = spl_fail_memory(error, "the skin");
    release_gathered(&g, a);
    spl_free(a, slides);
    if (result == SUPPLE_OK) {
        s->frame = (spl_slide_frame){s->corner_uv, s->stretch, 3 * (size_t)setup->scene->triangle_count,
                                     (size_t)setup->scene->vertex_count};
        for (size_t v = 0; v < s->frame.vertices; v++) s->stretch[v] = 1;
        for (int k = 0; k < VALUES; k++) s->value[k] = (supple_named_value){value_name[k], NAN};
        *out = s;
    } else if (made)
        spl_slide_destroy(s);
    else
        spl_free(a, s);
    return result;
}

void spl_slide_destroy(spl_slide *s)
{
    if (!s) return;
    supple_allocator a = s->allocator;
    spl_dermis_destroy(s->skin);
    spl_slide_uv_release(&s->uv);
    spl_free(&a, s->body);
    spl_free(&a, s->source);
    spl_free(&a, s->stretched);
    spl_free(&a, s->corner_uv);
    spl_free(&a, s->stretch);
    spl_free(&a, s);
}

void spl_slide_reset(spl_slide *s)
{
    s->running = s->cycled = false;
}

/* ---- a frame ---- */

static void tell(spl_slide *s, int32_t spanning)
{
    const spl_dermis_stats *t = &s->skin->stats;
    double least = INFINITY, most = 0;
    for (int32_t v = 0; v < s->skin->net.surface.vertex_count; v++) {
        least = fmin(least, s->stretched[v]);
        most = fmax(most, s->stretched[v]);
    }
    s->value[STEPS].value = t->steps;
    s->value[REJECTS].value = t->rejected;
    s->value[SHORTEST].value = 1e3 * t->shortest;
    s->value[ENERGY].value = t->energy;
    s->value[FASTEST].value = t->fastest;
    s->value[LEAST].value = least;
    s->value[MOST].value = most;
    s->value[BROKEN].value = t->broken;
    s->value[SPANNING].value = spanning;
    s->value[SOLVES].value = t->iterations;
    s->value[FACTORS].value = t->factorisations;
    s->value[MS_LINEAR].value = t->ms_linear;
}

static void read_body(spl_slide *s, const float *position)
{
    for (int32_t v = 0; v < s->skin->net.surface.vertex_count; v++)
        s->body[v] = spl_scale(spl_v3_from_float(position + 3 * (size_t)s->source[v]), s->unit);
}

/* What the state is seen as. */
static void show(spl_slide *s)
{
    const spl_surface *f = &s->skin->net.surface;
    spl_dermis_stretch(s->skin, s->stretched);
    for (size_t v = 0; v < s->frame.vertices; v++)
        if (f->map[v] >= 0) s->stretch[v] = (float)s->stretched[f->map[v]];
    tell(s, spl_slide_uv_update(&s->uv, s->skin, s->corner_uv));
}

supple_result spl_slide_step(spl_slide *s, const float *position, double dt, supple_error *error)
{
    spl_dermis *skin = s->skin;
    supple_result result = SUPPLE_OK;
    read_body(s, position);
    if (s->cycled && dt == 0) { /* the cycle has brought it here */
    } else if (s->running && dt > 0 && dt <= longest)
        result = spl_dermis_advance(skin, s->body, dt, error);
    else {
        spl_dermis_reset(skin);
        result = spl_dermis_settle(skin, s->body, s->settle ? SETTLE_STEPS : 0, error);
        s->running = result == SUPPLE_OK;
    }
    s->cycled = false;
    if (result == SUPPLE_OK) show(s);
    return result;
}

static double farthest(const spl_vec3 *a, const spl_vec3 *b, size_t n)
{
    double most = 0;
    for (size_t v = 0; v < n; v++) most = fmax(most, spl_distance(a[v], b[v]));
    return most;
}

supple_result spl_slide_cycle(spl_slide *s, const float *position, int32_t frames, double dt, double same,
                              double *difference, supple_error *error)
{
    spl_dermis *skin = s->skin;
    size_t n = (size_t)skin->net.surface.vertex_count, width = 3 * s->frame.vertices;
    spl_vec3 *first = spl_new(&s->allocator, n, sizeof *first), *before = spl_new(&s->allocator, n, sizeof *before);
    supple_result result = first && before ? SUPPLE_OK : spl_fail_memory(error, "the skin's cycle");
    s->running = false;
    if (result == SUPPLE_OK) result = spl_slide_step(s, position, 0, error);
    *difference = INFINITY;
    if (result == SUPPLE_OK) memcpy(first, s->body, n * sizeof *first);
    for (int32_t cycle = 0; result == SUPPLE_OK && cycle < MOST_CYCLES && !(*difference <= same); cycle++) {
        memcpy(before, skin->Y, n * sizeof *before);
        for (int32_t k = 1; k < frames && result == SUPPLE_OK; k++) {
            read_body(s, position + (size_t)k * width);
            result = spl_dermis_advance(skin, s->body, dt, error);
        }
        *difference = farthest(before, skin->Y, n);
        memcpy(skin->x, first, n * sizeof *first); /* the body is back, its skin as it has become */
    }
    spl_free(&s->allocator, first);
    spl_free(&s->allocator, before);
    s->cycled = s->running = result == SUPPLE_OK;
    return result;
}

const spl_slide_frame *spl_slide_get(const spl_slide *s)
{
    return &s->frame;
}

const supple_named_value *spl_slide_values(const spl_slide *s, int32_t *count)
{
    *count = VALUES;
    return s->value;
}

const struct spl_dermis *spl_slide_skin(const spl_slide *s)
{
    return s->skin;
}

const struct spl_slide_uv *spl_slide_texture(const spl_slide *s)
{
    return &s->uv;
}
