/* Material files: what stands in them, key by key. */
#include "body/material.h"
#include "core/file.h"
#include "core/json.h"
#include "core/memory.h"
#include "fem/law.h"

#include <stdio.h>
#include <string.h>

/* Air-light foam to diamond, with room to spare; beyond, the solver's numbers would no longer mean anything. */
#define SOFTEST    1e-3 /* Pa */
#define STIFFEST   1e15
#define LIGHTEST   1e-3 /* kg/m^3 */
#define HEAVIEST   1e6
#define FARTHEST   1e9 /* coordinates of boxes; metres of blend and depth */
#define MOST_ALIKE 0.1 /* tolerance of colours, unless given */

enum { MOST_REGIONS = 1000 };

static bool fail_memory(spl_json *j)
{
    j->result = spl_fail_memory(j->error, "materials");
    return false;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static bool has(const json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

static bool read_poisson(spl_json *j, const json_t *object, double *out)
{
    const json_t *value = json_object_get(object, "poisson");
    if (!value) return true;
    if (!json_is_number(value)) return spl_json_fail(j, "\"poisson\" is not a number");
    double nu = json_number_value(value);
    if (!(nu > -1 && nu < 0.5))
        return spl_json_fail(j, "\"poisson\" is %.10g; it must be above -1 and below 0.5 (0.49 all but keeps volume)",
                             nu);
    *out = nu;
    return true;
}

/* Both Lame parameters, as long as they resist every deformation: mu > 0 and a positive bulk modulus. */
static bool read_lame(spl_json *j, const json_t *object, spl_tissue *out)
{
    if (!has(object, "mu") || !has(object, "lambda")) return spl_json_fail(j, "\"mu\" and \"lambda\" go together");
    if (has(object, "young") || has(object, "poisson"))
        return spl_json_fail(j, "give \"young\" and \"poisson\", or \"mu\" and \"lambda\", not both");
    double mu = 0, lambda = 0;
    if (!spl_json_number(j, object, "mu", SOFTEST, STIFFEST, "Pa", &mu) ||
        !spl_json_number(j, object, "lambda", -STIFFEST, STIFFEST, "Pa", &lambda))
        return false;
    if (!(3 * lambda + 2 * mu > 0))
        return spl_json_fail(j, "\"lambda\" is %.10g; it must be above -2/3 mu, here %.10g", lambda, -2 * mu / 3);
    out->mu = mu;
    out->lambda = lambda;
    out->young = mu * (3 * lambda + 2 * mu) / (lambda + mu);
    out->poisson = lambda / (2 * (lambda + mu));
    if (!(out->poisson < 0.5)) return spl_json_fail(j, "\"lambda\" is so far above \"mu\" that nothing could give way");
    return true;
}

/* The values an object gives; Poisson's ratio is what `out` has, unless given. */
static bool read_tissue(spl_json *j, const json_t *object, spl_tissue *out)
{
    if (!spl_json_number(j, object, "density", LIGHTEST, HEAVIEST, "kg/m^3", &out->density)) return false;
    if (has(object, "mu") || has(object, "lambda")) return read_lame(j, object, out);
    if (!spl_json_number(j, object, "young", SOFTEST, STIFFEST, "Pa", &out->young) ||
        !read_poisson(j, object, &out->poisson))
        return false;
    if (has(object, "young") || has(object, "poisson")) spl_lame(out->young, out->poisson, &out->mu, &out->lambda);
    return true;
}

/* ---- regions ---------------------------------------------------------------------------------------------------- */

static bool read_pattern(spl_json *j, const json_t *object, const char *key, const supple_allocator *a, char **out)
{
    const char *text = NULL;
    if (!spl_json_string(j, object, key, &text)) return false;
    if (!text) return true;
    *out = spl_strdup(a, text);
    return *out || fail_memory(j);
}

static bool read_box(spl_json *j, const json_t *object, spl_selector *out)
{
    static const char *const keys[] = {"min", "max", NULL};
    const json_t *box = NULL;
    if (!spl_json_object(j, object, "box", &box)) return false;
    if (!box) return true;
    double low[3] = {0}, high[3] = {0};
    if (!has(box, "min") || !has(box, "max")) return spl_json_fail(j, "\"box\" needs \"min\" and \"max\"");
    if (!spl_json_known(j, box, keys) || !spl_json_numbers(j, box, "min", 3, -FARTHEST, FARTHEST, low) ||
        !spl_json_numbers(j, box, "max", 3, -FARTHEST, FARTHEST, high))
        return false;
    for (int i = 0; i < 3; i++)
        if (!(low[i] < high[i])) return spl_json_fail(j, "\"box\": \"min\" is not below \"max\" along %c", "xyz"[i]);
    out->has_box = true;
    out->low = spl_v3(low[0], low[1], low[2]);
    out->high = spl_v3(high[0], high[1], high[2]);
    return true;
}

static bool read_selector(spl_json *j, const json_t *object, const supple_allocator *a, spl_selector *out)
{
    out->tolerance = MOST_ALIKE;
    out->depth = INFINITY;
    out->has_color = has(object, "color");
    if (!read_pattern(j, object, "material", a, &out->material) || !read_pattern(j, object, "mesh", a, &out->mesh) ||
        !read_pattern(j, object, "joint", a, &out->joint) || !read_box(j, object, out) ||
        !spl_json_numbers(j, object, "color", 3, 0, 1, out->color) ||
        !spl_json_number(j, object, "tolerance", 0, 1, "", &out->tolerance) ||
        !spl_json_number(j, object, "depth", 1e-9, FARTHEST, "m", &out->depth))
        return false;
    bool surface = out->material || out->mesh || out->has_color;
    if (!surface && !out->joint && !out->has_box)
        return spl_json_fail(j, "says not where it is: give \"material\", \"mesh\", \"joint\", \"box\" or \"color\"");
    if (has(object, "tolerance") && !out->has_color) return spl_json_fail(j, "\"tolerance\" needs \"color\"");
    if (has(object, "depth") && !surface)
        return spl_json_fail(j, "\"depth\" needs \"material\", \"mesh\" or \"color\": it is measured from a surface");
    return true;
}

/* Names a region in messages, and sees to it that the name is the only one. */
static bool label_region(spl_json *j, const json_t *object, spl_material_set *set, int32_t index)
{
    const char *name = NULL;
    snprintf(j->where, sizeof j->where, "regions[%d]", index);
    if (!json_is_object(object)) return spl_json_fail(j, "is not an object");
    if (!spl_json_string(j, object, "name", &name)) return false;
    if (name) snprintf(j->where, sizeof j->where, "region '%.60s'", name);
    for (int32_t i = 0; i < index; i++)
        if (strcmp(set->region[i].label, j->where) == 0)
            return spl_json_fail(j, "\"name\" stands twice, at regions[%d] and regions[%d]", i, index);
    set->region[index].label = spl_strdup(&set->allocator, j->where);
    return set->region[index].label || fail_memory(j);
}

static bool read_region(spl_json *j, const json_t *object, spl_material_set *set, int32_t index)
{
    static const char *const keys[] = {"name",      "material", "mesh",    "joint",   "box", "color",
                                       "tolerance", "depth",    "young",   "poisson", "mu",  "lambda",
                                       "density",   "rotation", "comment", NULL};
    const char *comment = NULL;
    spl_material_region *region = &set->region[index];
    region->tissue = set->base;
    if (!label_region(j, object, set, index) || !spl_json_known(j, object, keys) ||
        !spl_json_string(j, object, "comment", &comment) ||
        !read_selector(j, object, &set->allocator, &region->selector) || !read_tissue(j, object, &region->tissue) ||
        !read_pattern(j, object, "rotation", &set->allocator, &region->rotation))
        return false;
    region->has_stiffness = has(object, "young") || has(object, "mu");
    region->has_density = has(object, "density");
    if (has(object, "poisson") && !region->has_stiffness) return spl_json_fail(j, "\"poisson\" needs \"young\"");
    if (!region->has_stiffness && !region->has_density && !region->rotation)
        return spl_json_fail(j, "sets nothing: give \"young\", \"mu\" and \"lambda\", \"density\", or \"rotation\"");
    return true;
}

static bool read_regions(spl_json *j, const json_t *root, spl_material_set *set)
{
    const json_t *list = NULL;
    if (!spl_json_array(j, root, "regions", &list)) return false;
    if (json_array_size(list) > MOST_REGIONS)
        return spl_json_fail(j, "\"regions\" has %zu entries; at most %d are read", json_array_size(list),
                             MOST_REGIONS);
    set->region = spl_new(&set->allocator, json_array_size(list), sizeof *set->region);
    if (!set->region) return fail_memory(j);
    set->region_count = (int32_t)json_array_size(list);
    for (int32_t i = 0; i < set->region_count; i++)
        if (!read_region(j, json_array_get(list, (size_t)i), set, i)) return false;
    j->where[0] = '\0';
    return true;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static bool read_default(spl_json *j, const json_t *root, spl_material_set *set)
{
    static const char *const keys[] = {"young", "poisson", "mu", "lambda", "density", NULL};
    const json_t *object = NULL;
    if (!spl_json_object(j, root, "default", &object)) return false;
    if (!object) return true;
    snprintf(j->where, sizeof j->where, "default");
    bool ok = spl_json_known(j, object, keys) && read_tissue(j, object, &set->base);
    if (ok) j->where[0] = '\0';
    return ok;
}

static bool read_set(spl_json *j, const json_t *root, spl_material_set *set)
{
    static const char *const keys[] = {"default", "blend", "regions", "comment", NULL};
    const char *comment = NULL;
    if (!spl_json_known(j, root, keys) || !spl_json_string(j, root, "comment", &comment) ||
        !spl_json_number(j, root, "blend", 0, FARTHEST, "m", &set->blend))
        return false;
    if (!has(root, "default") && !has(root, "regions"))
        return spl_json_fail(j, "says nothing: give \"default\" or \"regions\"");
    return read_default(j, root, set) && read_regions(j, root, set);
}

supple_result spl_material_set_parse(const void *text, size_t size, const char *name, const supple_allocator *a,
                                     spl_material_set *out, supple_error *error)
{
    spl_json j = {.name = name, .error = error};
    *out = (spl_material_set){.allocator = *a, .base = spl_tissue_default(), .name = spl_strdup(a, name)};
    json_t *root = out->name ? spl_json_parse(&j, text, size) : NULL;
    if (!out->name) fail_memory(&j);
    bool ok = root && read_set(&j, root, out);
    json_decref(root);
    if (ok) return SUPPLE_OK;
    spl_material_set_release(out);
    return j.result;
}

supple_result spl_material_set_load(const char *path, const supple_allocator *a, spl_material_set *out,
                                    supple_error *error)
{
    uint8_t *text;
    size_t size;
    *out = (spl_material_set){0};
    supple_result result = spl_file_read(path, SPL_JSON_LARGEST, a, &text, &size, error);
    if (result != SUPPLE_OK) return result;
    result = spl_material_set_parse(text, size, path, a, out, error);
    spl_free(a, text);
    return result;
}

void spl_material_set_release(spl_material_set *set)
{
    for (int32_t i = 0; i < set->region_count; i++) {
        spl_selector_release(&set->region[i].selector, &set->allocator);
        spl_free(&set->allocator, set->region[i].label);
        spl_free(&set->allocator, set->region[i].rotation);
    }
    spl_free(&set->allocator, set->region);
    spl_free(&set->allocator, set->name);
    *set = (spl_material_set){0};
}
