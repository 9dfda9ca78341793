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
        if (m->skeleton[i] == m->lead && m->name[i].part == part && m->name[i].side == side && m->source[i] < 0 &&
            n-- == 0)
            return i;
    return -1;
}

static bool has_source(const spl_match *m, spl_body_part part, char side)
{
    for (int32_t i = 0; i < m->source_count; i++)
        if (m->from_name[i].part == part && m->from_name[i].side == side) return true;
    return false;
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

/* The joints of the character that a joint of the motion is also given to: not its own, but moved as it is. */
static void lend(spl_match *m, spl_body_part from, spl_body_part to, char side)
{
    for (int32_t i = 0; i < m->source_count; i++) {
        if (m->from_name[i].part != from || m->from_name[i].side != side || m->target[i] < 0) continue;
        int32_t target = nth_target(m, to, side, 0);
        if (target >= 0) m->source[target] = i;
    }
}

/* Fingers all in one, on either side: the index finger stands for them, and others of the character go with it. */
static void join_fingers(spl_match *m, char side)
{
    static const spl_body_part others[] = {SPL_PART_MIDDLE, SPL_PART_RING, SPL_PART_PINKY};
    join_segments(m, SPL_PART_INDEX, SPL_PART_FINGERS, side);
    join_segments(m, SPL_PART_MIDDLE, SPL_PART_FINGERS, side);
    if (!has_source(m, SPL_PART_INDEX, side)) join_first(m, SPL_PART_FINGERS, SPL_PART_INDEX, side);
    for (int i = 0; i < 3; i++)
        if (has_source(m, others[i], side)) return;
    for (int i = 0; i < 3; i++) {
        lend(m, SPL_PART_INDEX, others[i], side);
        if (!has_source(m, SPL_PART_INDEX, side)) lend(m, SPL_PART_FINGERS, others[i], side);
    }
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
        join_fingers(m, sides[s]);
    }
    for (int32_t i = 0; i < m->source_count; i++) /* tails, wings, whatever both call the same */
        for (int32_t k = 0; k < m->joint_count && is_free(m, i); k++)
            if (m->skeleton[k] == m->lead && m->source[k] < 0 && m->from_name[i].part == SPL_PART_NONE &&
                m->name[k].part == SPL_PART_NONE && spl_joint_name_same(&m->from_name[i], &m->name[k]))
                join(m, i, k);
}

/* Acclaim's hands are two joints at one place, a wrist that twists and a base of the fingers that bends. Fingers whose
 * base the character does not have would bend for it, at the knuckles: they stay with the hand, thumbs too. */
static void leave_fingers(spl_match *m, char side)
{
    bool split = false;
    for (int32_t i = 0; i < m->source_count; i++)
        split = split || (m->from_name[i].part == SPL_PART_FINGERS && m->from_name[i].side == side && is_free(m, i));
    for (int32_t i = 0; i < m->joint_count && split; i++) {
        int32_t source = m->source[i];
        if (source < 0 || m->settled[source] || m->from_name[source].side != side ||
            m->from_name[source].part < SPL_PART_FINGERS || m->from_name[source].part >= SPL_PART_COUNT)
            continue;
        if (m->target[source] == i) {
            m->target[source] = -1;
            m->matched--;
        }
        m->source[i] = -1;
    }
}

/* ---- by the map ------------------------------------------------------------------------------------------------- */

/* A joint of the character by its name in the file, of the lead skeleton if that has one; joint_count if none has. */
static int32_t named_target(const spl_match *m, const supple_scene *scene, const char *name)
{
    int32_t found = m->joint_count;
    for (int32_t i = m->joint_count - 1; i >= 0; i--) {
        if (strcmp(scene->node[m->node[i]].name, name) != 0) continue;
        if (found == m->joint_count || m->skeleton[i] == m->lead || m->skeleton[found] != m->lead) found = i;
    }
    return found;
}

static bool apply_entry(spl_json *j, spl_match *m, const supple_scene *scene, const spl_bvh *bvh, const char *key,
                        const json_t *value)
{
    int32_t source = 0;
    while (source < bvh->joint_count && strcmp(bvh->joint[source].name, key) != 0) source++;
    if (source == bvh->joint_count) return spl_json_fail(j, "the motion has no joint '%.60s'", key);
    m->settled[source] = true;
    if (json_is_null(value)) return true;
    const char *name = json_string_value(value);
    if (!name) return spl_json_fail(j, "'%.60s': takes the name of a joint of the character, or null", key);
    int32_t target = named_target(m, scene, name);
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

/* ---- skeletons -------------------------------------------------------------------------------------------------- */

static int32_t find_top(int32_t *above, int32_t i)
{
    while (above[i] != i) i = above[i] = above[above[i]];
    return i;
}

/* The lower number wins, so that skeletons are in the order of their first joints. */
static void unite(int32_t *above, int32_t a, int32_t b)
{
    a = find_top(above, a), b = find_top(above, b);
    above[a < b ? b : a] = a < b ? a : b;
}

/* Files that were put together from parts often hold one copy of the skeleton for each. */
static bool find_skeletons(spl_match *m, const supple_scene *scene)
{
    int32_t *joint = spl_new(&m->allocator, (size_t)scene->node_count, sizeof *joint);
    m->skeleton = spl_new(&m->allocator, (size_t)m->joint_count, sizeof *m->skeleton);
    bool ok = joint && m->skeleton;
    for (int32_t i = 0; ok && i < scene->node_count; i++) joint[i] = -1;
    for (int32_t i = 0; ok && i < m->joint_count; i++) joint[m->node[i]] = m->skeleton[i] = i;
    for (int32_t s = 0; ok && s < scene->skin_count; s++)
        for (int32_t k = 1; k < scene->skin[s].joint_count; k++)
            unite(m->skeleton, joint[scene->skin[s].joint[0]], joint[scene->skin[s].joint[k]]);
    for (int32_t i = 0; ok && i < m->joint_count; i++) {
        int32_t node = scene->node[m->node[i]].parent;
        while (node >= 0 && joint[node] < 0) node = scene->node[node].parent;
        if (node >= 0) unite(m->skeleton, joint[node], i);
    }
    bool many = m->joint_count > SPL_MATCH_MOST;
    for (int32_t i = 0; ok && i < m->joint_count; i++) m->skeleton[i] = many ? 0 : find_top(m->skeleton, i);
    spl_free(&m->allocator, joint);
    return ok;
}

static bool add_weights(spl_match *m, const supple_scene *scene)
{
    double *weight = spl_new(&m->allocator, (size_t)scene->node_count, sizeof *weight);
    m->weight = spl_new(&m->allocator, (size_t)m->joint_count, sizeof *m->weight);
    bool ok = weight && m->weight;
    for (int32_t i = 0; ok && i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        int32_t skin = scene->instance[i].skin;
        for (int32_t k = 0; k < mesh->primitive_count && skin >= 0; k++) {
            const spl_primitive *p = &mesh->primitive[k];
            for (size_t v = 0; v < (size_t)p->influence_count * (size_t)p->vertex_count; v++)
                weight[scene->skin[skin].joint[p->joint[v]]] += (double)p->weight[v];
        }
    }
    for (int32_t i = 0; ok && i < m->joint_count; i++) m->weight[i] = weight[m->node[i]];
    spl_free(&m->allocator, weight);
    return ok;
}

static bool has_part(const spl_match *m, int32_t skeleton, spl_body_part part, char side)
{
    for (int32_t i = 0; i < m->joint_count; i++)
        if (m->skeleton[i] == skeleton && m->name[i].part == part && m->name[i].side == side) return true;
    return false;
}

/* Rigs without a foot but with an IK foot that holds the skin: that is the foot. */
static void promote_helpers(spl_match *m, int32_t skeleton)
{
    for (int32_t i = 0; i < m->joint_count; i++) {
        spl_joint_name *name = &m->name[i];
        if (m->skeleton[i] == skeleton && name->part == SPL_PART_NONE && name->may_be && m->weight[i] > 0 &&
            !has_part(m, skeleton, name->helps, name->side))
            name->part = name->helps;
    }
}

static bool is_above(const supple_scene *scene, int32_t top, int32_t node)
{
    while (node >= 0 && node != top) node = scene->node[node].parent;
    return node >= 0;
}

/* Bellies and breasts hang on the spine and are called abdomen and chest; the spine goes on to arms and head. */
static void drop_dead_ends(spl_match *m, const supple_scene *scene, int32_t skeleton)
{
    for (int pass = 0, any = 0; pass < 2; pass++)
        for (int32_t i = 0; i < m->joint_count; i++) {
            if (m->skeleton[i] != skeleton || m->name[i].part != SPL_PART_SPINE) continue;
            bool leads = false;
            for (int32_t k = i + 1; k < m->joint_count && !leads; k++)
                leads = m->name[k].part >= SPL_PART_NECK && m->name[k].part <= SPL_PART_HAND &&
                        is_above(scene, m->node[i], m->node[k]);
            any |= leads;
            if (pass && any && !leads) m->name[i].part = SPL_PART_NONE;
        }
}

/* The place of a node in the file's rest pose. */
static spl_vec3 node_place(const supple_scene *scene, int32_t node)
{
    spl_vec3 p = spl_v3(0, 0, 0);
    for (; node >= 0; node = scene->node[node].parent) {
        const spl_node *n = &scene->node[node];
        spl_mat4 local = n->has_matrix ? n->matrix : spl_mat4_trs(n->t, n->r, n->s);
        p = spl_mat4_point(&local, p);
    }
    return p;
}

/* Rigs that count their spine up to the head (Rigify: spine to spine.006): what is above the shoulders is neck, and the
 * last the head. */
static void find_head(spl_match *m, const supple_scene *scene, int32_t skeleton)
{
    int32_t first = -1, shoulders = 0, head = -1;
    spl_vec3 sum = spl_v3(0, 0, 0);
    if (has_part(m, skeleton, SPL_PART_HEAD, 0) || has_part(m, skeleton, SPL_PART_NECK, 0)) return;
    for (int32_t i = 0; i < m->joint_count; i++) {
        if (m->skeleton[i] != skeleton) continue;
        spl_body_part part = m->name[i].part;
        if (part == SPL_PART_HIPS && first < 0) first = i;
        if ((part != SPL_PART_UPPER_ARM && part != SPL_PART_CLAVICLE) || !m->name[i].side) continue;
        sum = spl_add(sum, node_place(scene, m->node[i]));
        shoulders++;
    }
    if (first < 0 || shoulders < 2) return;
    spl_vec3 low = node_place(scene, m->node[first]), up = spl_sub(spl_scale(sum, 1.0 / shoulders), low);
    for (int32_t i = 0; i < m->joint_count; i++) {
        if (m->skeleton[i] != skeleton || m->name[i].part != SPL_PART_SPINE) continue;
        if (spl_dot(spl_sub(node_place(scene, m->node[i]), low), up) < spl_dot(up, up)) continue;
        m->name[i].part = SPL_PART_NECK;
        head = i;
    }
    if (head >= 0) m->name[head].part = SPL_PART_HEAD;
}

/* Reads the names of one skeleton; returns how many parts of a body it has. */
static int32_t read_skeleton(spl_match *m, const supple_scene *scene, int32_t skeleton, const char **text,
                             spl_joint_name *name)
{
    int32_t count = 0, parts = 0;
    bool seen[SPL_PART_COUNT][3] = {{false}};
    for (int32_t i = 0; i < m->joint_count; i++)
        if (m->skeleton[i] == skeleton) text[count++] = scene->node[m->node[i]].name;
    spl_joint_names_read(text, count, name);
    for (int32_t i = 0, k = 0; i < m->joint_count; i++)
        if (m->skeleton[i] == skeleton) m->name[i] = name[k++];
    if (m->joint_count <= SPL_MATCH_MOST) {
        promote_helpers(m, skeleton);
        find_head(m, scene, skeleton);
        drop_dead_ends(m, scene, skeleton);
    }
    for (int32_t i = 0; i < m->joint_count; i++) {
        spl_body_part part = m->name[i].part;
        int side = m->name[i].side == 'l' ? 1 : m->name[i].side == 'r' ? 2 : 0;
        if (m->skeleton[i] != skeleton || part == SPL_PART_NONE || part >= SPL_PART_COUNT || seen[part][side]) continue;
        seen[part][side] = true;
        parts++;
    }
    return parts;
}

static bool read_names(spl_match *m, const supple_scene *scene, const spl_bvh *bvh)
{
    size_t n = (size_t)m->joint_count, k = (size_t)m->source_count;
    const char **text = spl_new(&m->allocator, n > k ? n : k, sizeof *text);
    spl_joint_name *name = spl_new(&m->allocator, n, sizeof *name);
    m->name = spl_new(&m->allocator, n, sizeof *m->name);
    m->source = spl_new(&m->allocator, n, sizeof *m->source);
    m->from_name = spl_new(&m->allocator, k, sizeof *m->from_name);
    m->target = spl_new(&m->allocator, k, sizeof *m->target);
    m->settled = spl_new(&m->allocator, k, sizeof *m->settled);
    bool ok = text && name && m->name && m->source && m->from_name && m->target && m->settled;
    int32_t most = -1;
    for (int32_t i = 0; ok && i < m->joint_count; i++) {
        m->source[i] = -1;
        if (m->skeleton[i] != i) continue; /* not the first of its skeleton */
        int32_t parts = read_skeleton(m, scene, i, text, name);
        if (parts <= most) continue;
        most = parts;
        m->lead = i;
    }
    if (ok) {
        for (size_t i = 0; i < k; i++) text[i] = bvh->joint[i].name;
        spl_joint_names_read(text, m->source_count, m->from_name);
        for (size_t i = 0; i < k; i++) m->target[i] = -1;
    }
    spl_free(&m->allocator, name);
    spl_free(&m->allocator, text);
    return ok;
}

supple_result spl_match_make(const supple_scene *scene, const spl_bvh *bvh, const char *map, size_t map_size,
                             const char *map_name, spl_match *out, supple_error *error)
{
    *out = (spl_match){.allocator = scene->allocator, .source_count = bvh->joint_count};
    supple_result result = SUPPLE_OK;
    if (!collect_joints(out, scene) || !find_skeletons(out, scene) || !add_weights(out, scene) ||
        !read_names(out, scene, bvh))
        result = spl_fail_memory(error, "the matching of joints");
    if (result == SUPPLE_OK && map) result = apply_map(out, scene, bvh, map, map_size, map_name, error);
    if (result == SUPPLE_OK) {
        join_by_names(out);
        leave_fingers(out, 'l');
        leave_fingers(out, 'r');
    } else {
        spl_match_release(out);
    }
    return result;
}

void spl_match_release(spl_match *m)
{
    supple_allocator a = m->allocator;
    if (a.release) {
        spl_free(&a, m->node);
        spl_free(&a, m->name);
        spl_free(&a, m->source);
        spl_free(&a, m->skeleton);
        spl_free(&a, m->weight);
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

spl_joint_name spl_match_name(const spl_match *m, int32_t joint)
{
    const spl_joint_name *from = &m->from_name[m->source[joint]];
    return from->part != SPL_PART_NONE ? *from : m->name[joint];
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
