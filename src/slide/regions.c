#include "slide/regions.h"

#include "core/file.h"
#include "core/json.h"
#include "core/memory.h"

#include <string.h>

#define FARTHEST   1e9
#define MOST_PUSH  1e9 /* Pa */
#define MOST_ALIKE 0.1 /* tolerance of colours, unless given */
#define FOLLOWS    0.5 /* sum of weights from which on skin belongs to a joint and those below it */

enum { MOST_REGIONS = 200, LABEL = 80 };

/* What a region does with its skin's motion. */
typedef enum region_skin { SKIN_SAME = -1, SKIN_FREE, SKIN_FIXED, SKIN_SLIDING } region_skin;

typedef struct region {
    char label[LABEL];
    const char *material, *mesh, *joint; /* belong to the JSON */
    const json_t *curve;
    double low[3], high[3], color[3], tolerance;
    double push[3]; /* Pa */
    bool has_box, has_color, has_push, border;
    region_skin skin;
    double stiffness, zeta, drag, prestrain, tether, tether_stiffness; /* NAN: as it is */
} region;

/* Work on one file. */
typedef struct reading {
    spl_json json;
    const spl_slide_scene *where;
    spl_regions *out;
    bool *on_border;  /* by vertex of the net */
    bool *member;     /* of the region at hand */
    bool *below;      /* by node: the region's joint or below it */
    int8_t *claim;    /* by vertex: region_skin that a region asked for */
    int32_t *claimed; /* by vertex: that region */
    bool *interest;   /* by vertex: in a region that is free */
    region *region;
    int32_t count, interests;
} reading;

/* ---- the file ---- */

static bool read_box(spl_json *j, const json_t *object, region *r)
{
    static const char *const keys[] = {"min", "max", NULL};
    const json_t *box = NULL;
    if (!spl_json_object(j, object, "box", &box)) return false;
    if (!box) return true;
    if (!json_object_get(box, "min") || !json_object_get(box, "max"))
        return spl_json_fail(j, "\"box\" needs \"min\" and \"max\"");
    r->has_box = true;
    return spl_json_known(j, box, keys) && spl_json_numbers(j, box, "min", 3, -FARTHEST, FARTHEST, r->low) &&
           spl_json_numbers(j, box, "max", 3, -FARTHEST, FARTHEST, r->high);
}

static bool read_flag(spl_json *j, const json_t *object, const char *key, bool *out)
{
    const json_t *value = json_object_get(object, key);
    if (!value) return true;
    if (!json_is_boolean(value)) return spl_json_fail(j, "\"%s\" is not true or false", key);
    *out = json_is_true(value);
    return true;
}

static bool read_skin(spl_json *j, const json_t *object, region_skin *out)
{
    static const char *const words[] = {"free", "fixed", "sliding"};
    const char *word = NULL;
    *out = SKIN_SAME;
    if (!spl_json_string(j, object, "skin", &word)) return false;
    for (int i = 0; word && i < 3; i++)
        if (strcmp(word, words[i]) == 0) *out = (region_skin)i;
    if (word && *out == SKIN_SAME)
        return spl_json_fail(j, "\"skin\" is \"%.20s\"; it takes \"free\", \"fixed\" or \"sliding\"", word);
    return true;
}

static bool read_region(spl_json *j, const json_t *object, int32_t index, region *r)
{
    static const char *const keys[] = {
        "name",      "comment",   "material",         "mesh",  "joint", "box",       "color",
        "curve",     "tolerance", "border",           "skin",  "zeta",  "stiffness", "drag",
        "prestrain", "tether",    "tether_stiffness", "force", NULL};
    const char *name = NULL, *comment = NULL;
    *r = (region){.tolerance = MOST_ALIKE,
                  .stiffness = NAN,
                  .zeta = NAN,
                  .drag = NAN,
                  .prestrain = NAN,
                  .tether = NAN,
                  .tether_stiffness = NAN};
    snprintf(j->where, sizeof j->where, "regions[%d]", index);
    if (!json_is_object(object)) return spl_json_fail(j, "is not an object");
    if (!spl_json_string(j, object, "name", &name)) return false;
    if (name) snprintf(j->where, sizeof j->where, "region '%.60s'", name);
    snprintf(r->label, sizeof r->label, "%s", j->where);
    r->has_color = json_object_get(object, "color") != NULL;
    r->has_push = json_object_get(object, "force") != NULL;
    bool read = spl_json_known(j, object, keys) && spl_json_string(j, object, "comment", &comment) &&
                spl_json_string(j, object, "material", &r->material) && spl_json_string(j, object, "mesh", &r->mesh) &&
                spl_json_string(j, object, "joint", &r->joint) && read_box(j, object, r) &&
                spl_json_numbers(j, object, "color", 3, 0, 1, r->color) &&
                spl_json_number(j, object, "tolerance", 0, 1, "", &r->tolerance) &&
                spl_json_array(j, object, "curve", &r->curve) && read_flag(j, object, "border", &r->border) &&
                read_skin(j, object, &r->skin) && spl_json_number(j, object, "zeta", 0, 1, "", &r->zeta) &&
                spl_json_number(j, object, "stiffness", 1e-6, 1e6, "", &r->stiffness) &&
                spl_json_number(j, object, "drag", 0, 1e6, "1/s", &r->drag) &&
                spl_json_number(j, object, "prestrain", -0.5, 1, "", &r->prestrain) &&
                spl_json_number(j, object, "tether", 0, 1e6, "mm", &r->tether) &&
                spl_json_number(j, object, "tether_stiffness", 0, 1e12, "", &r->tether_stiffness) &&
                spl_json_numbers(j, object, "force", 3, -MOST_PUSH, MOST_PUSH, r->push);
    if (!read) return false;
    if (!r->material && !r->mesh && !r->joint && !r->has_box && !r->has_color && !r->curve && !r->border)
        return spl_json_fail(j, "says not where it is: give \"material\", \"mesh\", \"joint\", \"box\", \"color\", "
                                "\"curve\" or \"border\"");
    if (r->skin == SKIN_SAME && isnan(r->stiffness) && isnan(r->zeta) && isnan(r->drag) && isnan(r->prestrain) &&
        isnan(r->tether) && isnan(r->tether_stiffness) && !r->has_push)
        return spl_json_fail(j, "sets nothing: give \"skin\", \"stiffness\", \"zeta\", \"drag\", \"prestrain\", "
                                "\"tether\", \"tether_stiffness\" or \"force\"");
    return true;
}

/* ---- where a region is ---- */

static void find_below(reading *w, const char *joint)
{
    const supple_scene *scene = w->where->scene;
    for (int32_t i = 0; i < scene->node_count; i++) {
        int32_t n = scene->node_order[i], up = scene->node[n].parent;
        w->below[n] = (up >= 0 && w->below[up]) || spl_name_matches(joint, scene->node[n].name);
    }
}

/* How much a vertex of a part follows the joints below. */
static double follows(const reading *w, const spl_part *part, size_t vertex)
{
    const supple_scene *scene = w->where->scene;
    const spl_instance *instance = &scene->instance[part->instance];
    const spl_primitive *p = part->primitive;
    if (!spl_part_skinned(scene, part)) return w->below[instance->node] ? 1 : 0;
    double sum = 0;
    size_t k = (size_t)p->influence_count;
    for (size_t i = vertex * k; i < (vertex + 1) * k; i++)
        if (w->below[scene->skin[instance->skin].joint[p->joint[i]]]) sum += (double)p->weight[i];
    return sum;
}

/* Whether a vertex of a part is in the region, by what is known of it alone. */
static bool vertex_in(const reading *w, const region *r, const spl_part *part, size_t vertex)
{
    const spl_primitive *p = part->primitive;
    const float *x = p->position + 3 * vertex;
    if (r->joint && follows(w, part, vertex) < FOLLOWS) return false;
    for (int i = 0; r->has_box && i < 3; i++)
        if (!((double)x[i] >= r->low[i] && (double)x[i] <= r->high[i])) return false;
    if (!r->has_color) return true;
    for (int i = 0; p->color && i < 3; i++)
        if (fabs((double)p->color[4 * vertex + (size_t)i] - r->color[i]) > r->tolerance) return false;
    return p->color != NULL;
}

static bool part_in(const reading *w, const region *r, const spl_part *part)
{
    const supple_scene *scene = w->where->scene;
    const spl_instance *instance = &scene->instance[part->instance];
    int32_t material = part->primitive->material;
    if (r->material && (material < 0 || !spl_name_matches(r->material, scene->material[material].name))) return false;
    return !r->mesh || spl_name_matches(r->mesh, spl_instance_name(scene, part->instance)) ||
           spl_name_matches(r->mesh, scene->mesh[instance->mesh].name);
}

/* The net's vertices in a curve's list of the scene's; SIZE_MAX once an error is recorded. */
static bool mark_curve(reading *w, const region *r, bool *listed)
{
    const spl_surface *s = &w->where->net->surface;
    memset(listed, 0, (size_t)s->vertex_count);
    for (size_t i = 0; i < json_array_size(r->curve); i++) {
        int32_t v = 0;
        if (!spl_json_whole_value(&w->json, json_array_get(r->curve, i), "curve", 0, s->input_vertex_count - 1, &v))
            return false;
        if (s->map[v] < 0) return spl_json_fail(&w->json, "\"curve\": vertex %d is not on skin that slides", (int)v);
        listed[s->map[v]] = true;
    }
    return true;
}

/* Fills `member`; an empty region is an error. */
static bool find_members(reading *w, const region *r)
{
    const spl_slide_scene *where = w->where;
    const spl_surface *s = &where->net->surface;
    int32_t count = 0;
    memset(w->member, 0, (size_t)s->vertex_count);
    if (r->joint) find_below(w, r->joint);
    for (int32_t i = 0; i < where->part_count; i++) {
        const spl_part *part = &where->part[i];
        if (!where->slides[i] || !part_in(w, r, part)) continue;
        for (size_t v = 0; v < (size_t)part->primitive->vertex_count; v++) {
            int32_t at = s->map[(size_t)part->first_vertex + v];
            if (at >= 0 && vertex_in(w, r, part, v)) w->member[at] = true;
        }
    }
    if (r->curve) {
        bool *listed = spl_new(&w->out->allocator, (size_t)s->vertex_count, sizeof *listed);
        if (!listed) {
            w->json.result = spl_fail_memory(w->json.error, "regions");
            return false;
        }
        bool good = mark_curve(w, r, listed);
        for (int32_t v = 0; v < s->vertex_count; v++) w->member[v] = w->member[v] && listed[v];
        spl_free(&w->out->allocator, listed);
        if (!good) return false;
    }
    for (int32_t v = 0; v < s->vertex_count; v++) {
        if (r->border && !w->on_border[v]) w->member[v] = false;
        count += w->member[v];
    }
    return count > 0 || spl_json_fail(&w->json, "matches no skin that slides");
}

/* ---- what it does ---- */

static bool contradicts(region_skin a, region_skin b)
{
    return a != SKIN_SAME && b != SKIN_SAME && a != b;
}

static const char *skin_word(region_skin s)
{
    return s == SKIN_FREE ? "leaves the skin free" : s == SKIN_FIXED ? "fixes the skin" : "lets the skin slide";
}

/* Free skin inside is an interest, which others may hold in places; on a border it is a claim like theirs. */
static bool claim(reading *w, const region *r, int32_t index)
{
    const spl_surface *s = &w->where->net->surface;
    int32_t against = -1, places = 0;
    if (r->skin == SKIN_SAME) return true;
    bool interest = r->skin == SKIN_FREE && !r->border && !r->curve;
    w->interests += interest;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        if (!w->member[v]) continue;
        if (interest) {
            w->interest[v] = true;
            continue;
        }
        if (contradicts((region_skin)w->claim[v], r->skin)) {
            against = w->claimed[v];
            places++;
            continue;
        }
        w->claim[v] = (int8_t)r->skin;
        w->claimed[v] = index;
    }
    if (against < 0) return true;
    return spl_json_fail(&w->json, "%s, and %s %s, at %d vertices that both have: they contradict each other",
                         skin_word(r->skin), w->region[against].label, skin_word(w->region[against].skin), (int)places);
}

/* Room is for every edge twice; more are repetitions. */
static bool add_edge(reading *w, int32_t a, int32_t b)
{
    spl_regions *r = w->out;
    if (r->edge_count >= 6 * (size_t)w->where->net->surface.triangle_count) return false;
    r->edge[2 * r->edge_count] = a;
    r->edge[2 * r->edge_count++ + 1] = b;
    return true;
}

/* Border edges between members, and a curve's own. */
static bool add_edges(reading *w, const region *r)
{
    const spl_surface *s = &w->where->net->surface;
    size_t before = w->out->edge_count;
    if (r->skin != SKIN_SLIDING) return true;
    if (r->curve) {
        for (size_t i = 1; i < json_array_size(r->curve); i++) {
            int32_t a = s->map[json_integer_value(json_array_get(r->curve, i - 1))];
            int32_t b = s->map[json_integer_value(json_array_get(r->curve, i))];
            bool linked = a == b;
            for (int32_t e = s->link_first[a]; e < s->link_first[a + 1]; e++) linked = linked || s->link[e] == b;
            if (!linked) return spl_json_fail(&w->json, "\"curve\": entries %zu and %zu share no edge", i - 1, i);
            if (!add_edge(w, a, b)) return spl_json_fail(&w->json, "too many curves");
        }
        return true;
    }
    for (size_t t = 0; t < (size_t)s->triangle_count; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t a = s->triangle[3 * t + k], b = s->triangle[3 * t + (k + 1) % 3];
            if (s->across[3 * t + k] >= 0 || !w->member[a] || !w->member[b]) continue;
            if (!add_edge(w, a, b)) return spl_json_fail(&w->json, "too many borders");
        }
    return w->out->edge_count > before ||
           spl_json_fail(&w->json, "has no border to slide along: give a \"curve\", or \"border\": true");
}

static void set_values(reading *w, const region *r)
{
    for (int32_t v = 0; v < w->where->net->surface.vertex_count; v++) {
        if (!w->member[v]) continue;
        if (!isnan(r->stiffness)) w->out->stiffness[v] = r->stiffness;
        if (!isnan(r->zeta)) w->out->zeta[v] = r->zeta;
        if (!isnan(r->drag)) w->out->drag[v] = r->drag;
        if (!isnan(r->prestrain)) w->out->prestrain[v] = r->prestrain;
        if (!isnan(r->tether)) w->out->tether[v] = 1e-3 * r->tether;
        if (!isnan(r->tether_stiffness)) w->out->tether_stiffness[v] = r->tether_stiffness;
        if (r->has_push) w->out->push[v] = spl_v3(r->push[0], r->push[1], r->push[2]);
    }
}

static bool read_regions(reading *w, const json_t *root, spl_slide_border *border)
{
    static const char *const keys[] = {"regions", "border", "comment", NULL};
    static const char *const words[] = {"fixed", "sliding", "free"};
    const char *comment = NULL, *word = NULL;
    const json_t *list = NULL;
    spl_json *j = &w->json;
    if (!spl_json_known(j, root, keys) || !spl_json_string(j, root, "comment", &comment) ||
        !spl_json_string(j, root, "border", &word) || !spl_json_array(j, root, "regions", &list))
        return false;
    int chosen = -1;
    for (int i = 0; word && i < 3; i++)
        if (strcmp(word, words[i]) == 0) chosen = i;
    if (word && chosen < 0) return spl_json_fail(j, "\"border\" takes \"fixed\", \"sliding\" or \"free\"");
    if (word) *border = (spl_slide_border)chosen;
    if (json_array_size(list) > MOST_REGIONS) return spl_json_fail(j, "\"regions\" has more than %d", MOST_REGIONS);
    w->count = (int32_t)json_array_size(list);
    for (int32_t i = 0; i < w->count; i++) {
        region *r = &w->region[i];
        if (!read_region(j, json_array_get(list, (size_t)i), i, r) || !find_members(w, r) || !claim(w, r, i) ||
            !add_edges(w, r))
            return false;
        set_values(w, r);
    }
    j->where[0] = '\0';
    return true;
}

/* ---- all together ---- */

/* How many border edges meet at each vertex. */
static void find_borders(reading *w, int32_t *degree)
{
    const spl_surface *s = &w->where->net->surface;
    for (size_t t = 0; t < (size_t)s->triangle_count; t++)
        for (size_t k = 0; k < 3; k++)
            if (s->across[3 * t + k] < 0) {
                degree[s->triangle[3 * t + k]]++;
                degree[s->triangle[3 * t + (k + 1) % 3]]++;
            }
    for (int32_t v = 0; v < s->vertex_count; v++) w->on_border[v] = degree[v] > 0;
}

/* Border edges whose ends nobody claimed. A border that meets itself is fixed there. */
static void slide_borders(reading *w, const int32_t *degree)
{
    const spl_surface *s = &w->where->net->surface;
    for (size_t t = 0; t < (size_t)s->triangle_count; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t a = s->triangle[3 * t + k], b = s->triangle[3 * t + (k + 1) % 3];
            bool simple = degree[a] <= 2 && degree[b] <= 2, open = s->across[3 * t + k] < 0;
            if (open && simple && w->claim[a] == SKIN_SAME && w->claim[b] == SKIN_SAME) add_edge(w, a, b);
        }
}

static void set_holds(reading *w, spl_slide_border border, const int32_t *degree)
{
    static const uint8_t of_skin[] = {SPL_HOLD_FREE, SPL_HOLD_FIXED, SPL_HOLD_SLIDING};
    for (int32_t v = 0; v < w->where->net->surface.vertex_count; v++) {
        uint8_t *hold = &w->out->hold[v];
        if (w->claim[v] != SKIN_SAME)
            *hold = of_skin[w->claim[v]];
        else if (w->interests > 0 && !w->interest[v])
            *hold = SPL_HOLD_FIXED;
        else if (w->on_border[v] && border != SPL_BORDER_FREE)
            *hold = border == SPL_BORDER_SLIDING && degree[v] <= 2 ? SPL_HOLD_SLIDING : SPL_HOLD_FIXED;
    }
}

static bool allocate(reading *w, int32_t **degree)
{
    const supple_allocator *a = &w->out->allocator;
    const spl_surface *s = &w->where->net->surface;
    size_t n = (size_t)s->vertex_count;
    spl_regions *r = w->out;
    r->hold = spl_new(a, n, 1);
    r->edge = spl_new(a, 12 * (size_t)s->triangle_count, sizeof *r->edge);
    r->stiffness = spl_new(a, n, sizeof *r->stiffness);
    r->zeta = spl_new(a, n, sizeof *r->zeta);
    r->drag = spl_new(a, n, sizeof *r->drag);
    r->prestrain = spl_new(a, n, sizeof *r->prestrain);
    r->tether = spl_new(a, n, sizeof *r->tether);
    r->tether_stiffness = spl_new(a, n, sizeof *r->tether_stiffness);
    r->push = spl_new(a, n, sizeof *r->push);
    w->on_border = spl_new(a, n, sizeof *w->on_border);
    w->member = spl_new(a, n, sizeof *w->member);
    w->below = spl_new(a, (size_t)w->where->scene->node_count, sizeof *w->below);
    w->claim = spl_new(a, n, sizeof *w->claim);
    w->claimed = spl_new(a, n, sizeof *w->claimed);
    w->interest = spl_new(a, n, sizeof *w->interest);
    w->region = spl_new(a, MOST_REGIONS, sizeof *w->region);
    *degree = spl_new(a, n, sizeof **degree);
    return r->hold && r->edge && r->stiffness && r->zeta && r->drag && r->prestrain && r->tether &&
           r->tether_stiffness && r->push && w->on_border && w->member && w->below && w->claim && w->claimed &&
           w->interest && w->region && *degree;
}

static void release_reading(reading *w, int32_t *degree)
{
    void *block[] = {w->on_border, w->member, w->below, w->claim, w->claimed, w->interest, w->region, degree};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&w->out->allocator, block[i]);
}

supple_result spl_regions_parse(const spl_slide_scene *where, const void *text, size_t size, const char *name,
                                spl_slide_border border, const spl_dermis_settings *settings, const supple_allocator *a,
                                spl_regions *out, supple_error *error)
{
    *out = (spl_regions){.allocator = *a};
    reading w = {.json = {.name = name, .error = error}, .where = where, .out = out};
    int32_t *degree = NULL;
    if (!allocate(&w, &degree)) {
        w.json.result = spl_fail_memory(error, "regions of the skin");
    } else {
        for (int32_t v = 0; v < where->net->surface.vertex_count; v++) {
            out->stiffness[v] = 1;
            out->zeta[v] = settings->zeta;
            out->drag[v] = settings->drag;
            out->prestrain[v] = settings->prestrain;
            out->tether[v] = NAN;
            out->tether_stiffness[v] = 1;
            w.claim[v] = SKIN_SAME;
        }
        find_borders(&w, degree);
        json_t *root = text ? spl_json_parse(&w.json, text, size) : NULL;
        bool good = text ? root && read_regions(&w, root, &border) : true;
        if (good && border == SPL_BORDER_SLIDING) slide_borders(&w, degree);
        if (good) set_holds(&w, border, degree);
        out->region_count = w.count;
        json_decref(root);
    }
    release_reading(&w, degree);
    if (w.json.result != SUPPLE_OK) spl_regions_release(out);
    return w.json.result;
}

supple_result spl_regions_make(const spl_slide_scene *where, const char *path, spl_slide_border border,
                               const spl_dermis_settings *settings, const supple_allocator *a, spl_regions *out,
                               supple_error *error)
{
    uint8_t *text = NULL;
    size_t size = 0;
    *out = (spl_regions){0};
    if (path) {
        supple_result result = spl_file_read(path, SPL_JSON_LARGEST, a, &text, &size, error);
        if (result != SUPPLE_OK) return result;
    }
    supple_result result = spl_regions_parse(where, text, size, path ? path : "", border, settings, a, out, error);
    spl_free(a, text);
    return result;
}

void spl_regions_release(spl_regions *r)
{
    void *block[] = {r->hold,      r->edge,   r->stiffness,        r->zeta, r->drag,
                     r->prestrain, r->tether, r->tether_stiffness, r->push};
    if (r->allocator.release)
        for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&r->allocator, block[i]);
    *r = (spl_regions){0};
}

int32_t spl_regions_fix_creases(spl_regions *r, const spl_net *net, double degrees)
{
    const spl_surface *s = &net->surface;
    double least = cos(degrees * 3.14159265358979323846 / 180);
    int32_t count = 0;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        bool steep = false;
        for (int32_t e = s->corner_first[v]; e < s->corner_first[v + 1]; e++) {
            size_t t = (size_t)s->corner[e] / 3;
            steep = steep || (net->area[t] > 0 && spl_dot(net->normal[v], net->face[t]) < least);
        }
        if (!steep || r->hold[v] != SPL_HOLD_FREE) continue;
        r->hold[v] = SPL_HOLD_FIXED;
        count++;
    }
    return count;
}

spl_dermis_parts spl_regions_parts(const spl_regions *r)
{
    return (spl_dermis_parts){.hold = r->hold,
                              .edge = r->edge,
                              .edge_count = r->edge_count,
                              .stiffness = r->stiffness,
                              .zeta = r->zeta,
                              .drag = r->drag,
                              .prestrain = r->prestrain,
                              .tether_length = r->tether,
                              .tether_pressure = r->tether_stiffness,
                              .push = r->push};
}
