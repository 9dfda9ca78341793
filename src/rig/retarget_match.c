#include "core/error.h"
#include "core/json.h"
#include "core/memory.h"
#include "rig/retarget.h"

#include <stdio.h>
#include <string.h>

static void join(spl_match *m, int32_t source, int32_t target)
{
    m->target[source] = target;
    m->source[target] = source;
    m->matched++;
}

static bool is_free(const spl_match *m, int32_t source)
{
    return m->target[source] < 0 && !m->settled[source];
}

/* ---- by names --------------------------------------------------------------------------------------------------- */

/* The n-th joint that is free, of a part and side; -1 if there is none. Of the motion, then of the character. */
static int32_t nth_source(const spl_match *m, spl_body_part part, char side, int32_t n)
{
    for (int32_t i = 0; i < m->source_count; i++)
        if (m->from_name[i].part == part && m->from_name[i].side == side && is_free(m, i) && n-- == 0) return i;
    return -1;
}

static int32_t nth_target(const spl_match *m, spl_body_part part, char side, int32_t n)
{
    for (int32_t i = 0; i < m->joint_count; i++)
        if (m->name[i].part == part && m->name[i].side == side && m->source[i] < 0 && n-- == 0) return i;
    return -1;
}

static void join_first(spl_match *m, spl_body_part from, spl_body_part to, char side)
{
    int32_t source = nth_source(m, from, side, 0), target = nth_target(m, to, side, 0);
    if (source >= 0 && target >= 0) join(m, source, target);
}

/* Chains of different lengths: the shorter one is spread over the longer, last to last. */
static void join_chain(spl_match *m, spl_body_part part, char side)
{
    int32_t sources[64], targets[64], n = 0, k = 0;
    while (n < 64 && (sources[n] = nth_source(m, part, side, n)) >= 0) n++;
    while (k < 64 && (targets[k] = nth_target(m, part, side, k)) >= 0) k++;
    int32_t shorter = n < k ? n : k;
    for (int32_t i = 0; i < shorter; i++) {
        int32_t from = ((i + 1) * n + shorter / 2) / shorter - 1, to = ((i + 1) * k + shorter / 2) / shorter - 1;
        join(m, sources[from], targets[to]);
    }
}

/* Segments of a finger: first to first. */
static void join_segments(spl_match *m, spl_body_part from, spl_body_part to, char side)
{
    int32_t before;
    do {
        before = m->matched;
        join_first(m, from, to, side);
    } while (m->matched > before);
}

static void join_by_names(spl_match *m)
{
    static const char sides[] = {0, 'l', 'r'};
    for (int s = 0; s < 3; s++) {
        for (spl_body_part part = SPL_PART_HIPS; part < SPL_PART_FINGERS; part++) {
            if (part == SPL_PART_SPINE || part == SPL_PART_NECK)
                join_chain(m, part, sides[s]);
            else
                join_first(m, part, part, sides[s]);
        }
        for (spl_body_part part = SPL_PART_FINGERS; part < SPL_PART_COUNT; part++)
            join_segments(m, part, part, sides[s]);
        /* Fingers all in one, on either side: the index finger stands for them. */
        join_segments(m, SPL_PART_INDEX, SPL_PART_FINGERS, sides[s]);
        join_segments(m, SPL_PART_MIDDLE, SPL_PART_FINGERS, sides[s]);
        join_first(m, SPL_PART_FINGERS, SPL_PART_INDEX, sides[s]);
    }
    for (int32_t i = 0; i < m->source_count; i++) /* tails, wings, whatever both call the same */
        for (int32_t k = 0; k < m->joint_count && is_free(m, i); k++)
            if (m->source[k] < 0 && m->from_name[i].part == SPL_PART_NONE && m->name[k].part == SPL_PART_NONE &&
                spl_joint_name_same(&m->from_name[i], &m->name[k]))
                join(m, i, k);
}

/* ---- by the map ------------------------------------------------------------------------------------------------- */

static bool apply_entry(spl_json *j, spl_match *m, const supple_scene *scene, const spl_bvh *bvh, const char *key,
                        const json_t *value)
{
    int32_t source = 0, target = 0;
    while (source < bvh->joint_count && strcmp(bvh->joint[source].name, key) != 0) source++;
    if (source == bvh->joint_count) return spl_json_fail(j, "the motion has no joint '%.60s'", key);
    m->settled[source] = true;
    if (json_is_null(value)) return true;
    const char *name = json_string_value(value);
    if (!name) return spl_json_fail(j, "'%.60s': takes the name of a joint of the character, or null", key);
    while (target < m->joint_count && strcmp(scene->node[m->node[target]].name, name) != 0) target++;
    if (target == m->joint_count) return spl_json_fail(j, "the character has no joint '%.60s'", name);
    if (m->source[target] >= 0) return spl_json_fail(j, "'%.60s' is given twice as a joint of the character", name);
    join(m, source, target);
    return true;
}

static supple_result apply_map(spl_match *m, const supple_scene *scene, const spl_bvh *bvh, const char *map,
                               size_t size, const char *name, supple_error *error)
{
    spl_json j = {.name = name, .error = error};
    json_t *root = spl_json_parse(&j, map, size), *value;
    const char *key;
    bool ok = root != NULL;
    if (ok) json_object_foreach(root, key, value) ok = ok && apply_entry(&j, m, scene, bvh, key, value);
    json_decref(root);
    return ok ? SUPPLE_OK : j.result;
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

/* The nodes that are joints of any skin, parents before children. */
static bool collect_joints(spl_match *m, const supple_scene *scene)
{
    bool *is_joint = spl_new(&m->allocator, (size_t)scene->node_count, sizeof *is_joint);
    m->node = spl_new(&m->allocator, (size_t)scene->node_count, sizeof *m->node);
    for (int32_t s = 0; is_joint && s < scene->skin_count; s++)
        for (int32_t k = 0; k < scene->skin[s].joint_count; k++) is_joint[scene->skin[s].joint[k]] = true;
    for (int32_t i = 0; is_joint && m->node && i < scene->node_count; i++)
        if (is_joint[scene->node_order[i]]) m->node[m->joint_count++] = scene->node_order[i];
    bool ok = is_joint && m->node;
    spl_free(&m->allocator, is_joint);
    return ok;
}

static bool read_names(spl_match *m, const supple_scene *scene, const spl_bvh *bvh)
{
    size_t n = (size_t)m->joint_count, k = (size_t)m->source_count;
    const char **text = spl_new(&m->allocator, n + k, sizeof *text);
    m->name = spl_new(&m->allocator, n, sizeof *m->name);
    m->source = spl_new(&m->allocator, n, sizeof *m->source);
    m->from_name = spl_new(&m->allocator, k, sizeof *m->from_name);
    m->target = spl_new(&m->allocator, k, sizeof *m->target);
    m->settled = spl_new(&m->allocator, k, sizeof *m->settled);
    bool ok = text && m->name && m->source && m->from_name && m->target && m->settled;
    if (ok) {
        for (size_t i = 0; i < n; i++) text[i] = scene->node[m->node[i]].name;
        for (size_t i = 0; i < k; i++) text[n + i] = bvh->joint[i].name;
        spl_joint_names_read(text, m->joint_count, m->name);
        spl_joint_names_read(text + n, m->source_count, m->from_name);
        for (size_t i = 0; i < n; i++) m->source[i] = -1;
        for (size_t i = 0; i < k; i++) m->target[i] = -1;
    }
    spl_free(&m->allocator, text);
    return ok;
}

supple_result spl_match_make(const supple_scene *scene, const spl_bvh *bvh, const char *map, size_t map_size,
                             const char *map_name, spl_match *out, supple_error *error)
{
    *out = (spl_match){.allocator = scene->allocator, .source_count = bvh->joint_count};
    supple_result result = SUPPLE_OK;
    if (!collect_joints(out, scene) || !read_names(out, scene, bvh))
        result = spl_fail_memory(error, "the matching of joints");
    if (result == SUPPLE_OK && map) result = apply_map(out, scene, bvh, map, map_size, map_name, error);
    if (result == SUPPLE_OK)
        join_by_names(out);
    else
        spl_match_release(out);
    return result;
}

void spl_match_release(spl_match *m)
{
    supple_allocator a = m->allocator;
    if (a.release) {
        spl_free(&a, m->node);
        spl_free(&a, m->name);
        spl_free(&a, m->source);
        spl_free(&a, m->from_name);
        spl_free(&a, m->target);
        spl_free(&a, m->settled);
    }
    *m = (spl_match){0};
}

/* A joint that the map put somewhere counts as what the motion calls it. */
int32_t spl_match_find(const spl_match *m, spl_body_part part, char side)
{
    for (int32_t i = 0; i < m->source_count; i++)
        if (m->target[i] >= 0 && m->from_name[i].part == part && m->from_name[i].side == side) return m->target[i];
    for (int32_t i = 0; i < m->joint_count; i++)
        if (m->source[i] >= 0 && m->name[i].part == part && m->name[i].side == side) return i;
    return -1;
}

/* ---- the report ------------------------------------------------------------------------------------------------- */

/* "a, b, c and 4 more", as far as it fits on a line. */
typedef struct list {
    char text[160];
    int32_t count, shown;
} list;

static void list_add(list *l, const char *name)
{
    size_t used = strlen(l->text);
    l->count++;
    if (l->shown + 1 < l->count || used + strlen(name) + 16 > sizeof l->text) return;
    snprintf(l->text + used, sizeof l->text - used, "%s%s", l->shown ? ", " : "", name);
    l->shown++;
}

static void list_log(const list *l, const char *what, const supple_config *config)
{
    char more[32] = "";
    if (l->count == 0) return;
    if (l->shown < l->count) snprintf(more, sizeof more, " and %d more", (int)(l->count - l->shown));
    spl_log(config, SUPPLE_LOG_INFO, "motion: %s: %s%s", what, l->text, more);
}

void spl_match_report(const spl_match *m, const supple_scene *scene, const spl_bvh *bvh, const char *name,
                      const supple_config *config)
{
    list left = {0}, still = {0};
    size_t length = strlen(name), skip = length > 80 ? length - 80 : 0;
    spl_log(config, SUPPLE_LOG_INFO, "motion: %s: %d of its %d joints matched; the character has %d", name + skip,
            (int)m->matched, (int)m->source_count, (int)m->joint_count);
    for (int32_t i = 0; i < m->source_count; i++)
        if (m->target[i] < 0) list_add(&left, bvh->joint[i].name);
    for (int32_t i = 0; i < m->joint_count; i++)
        if (m->source[i] < 0) list_add(&still, scene->node[m->node[i]].name);
    list_log(&left, "of the motion, not matched", config);
    list_log(&still, "of the character, not matched", config);
    if (spl_match_find(m, SPL_PART_HIPS, 0) < 0)
        spl_log(config, SUPPLE_LOG_WARNING,
                "motion: no hips were matched: the character stays in place; name them "
                "in a map (--map)");
}
