/* Animations: each becomes a clip of channels with strictly increasing key times. */
#include "core/hash.h"
#include "scene/readers/gltf_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The channel being read, with what messages need. */
typedef struct reading {
    spl_gltf *g;
    char where[96]; /* "clip 'walk', channel 3" */
    spl_channel *out;
} reading;

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* A set of the names given so far: open addressing, `size` is a power of two and at least twice the clips. */
typedef struct name_set {
    const char **slot;
    size_t size;
} name_set;

/* The slot of a name: the one that holds it, or the empty one where it belongs. */
static const char **name_slot(const name_set *set, const char *name)
{
    size_t at = (size_t)spl_hash(name, strlen(name), 0) & (set->size - 1);
    while (set->slot[at] && strcmp(set->slot[at], name) != 0) at = (at + 1) & (set->size - 1);
    return &set->slot[at];
}

/* "walk", then "walk (2)"...; after a few tries the clip's own number, so that a thousand equal names stay cheap. */
static bool name_clip(spl_gltf *g, const json_t *object, int32_t index, name_set *taken)
{
    spl_clip *clip = &g->scene->clip[index];
    char *given = spl_gltf_name(g, object);
    if (!given) return false;
    size_t room = strlen(given) + 40;
    clip->name = spl_new(g->a, room, 1);
    if (!clip->name) {
        spl_free(g->a, given);
        return spl_gltf_fail_memory(g, "a clip's name");
    }
    if (given[0])
        snprintf(clip->name, room, "%s", given);
    else
        snprintf(clip->name, room, "clip %d", index);
    for (int32_t k = 2; *name_slot(taken, clip->name); k++)
        snprintf(clip->name, room, "%s (%d)", given[0] ? given : "clip", k < 10 ? k : index + k - 10);
    *name_slot(taken, clip->name) = clip->name;
    spl_free(g->a, given);
    return true;
}

static bool name_clips(spl_gltf *g, const json_t *list)
{
    name_set taken = {.size = 4};
    while (taken.size < 2 * (size_t)g->scene->clip_count + 2) taken.size *= 2;
    taken.slot = spl_gltf_new(g, taken.size, sizeof *taken.slot, "clip names");
    bool ok = taken.slot != NULL;
    for (int32_t i = 0; ok && i < g->scene->clip_count; i++)
        ok = name_clip(g, json_array_get(list, (size_t)i), i, &taken);
    spl_free(g->a, taken.slot);
    return ok;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

/* Opens the two accessors of a sampler and checks their counts. */
static bool open_sampler(reading *r, const json_t *sampler, spl_accessor *input, spl_accessor *output)
{
    spl_channel *c = r->out;
    int32_t accessors = (int32_t)json_array_size(json_object_get(r->g->root, "accessors")), in, out;
    if (!spl_gltf_index(r->g, sampler, "input", accessors, r->where, -1, &in) ||
        !spl_gltf_index(r->g, sampler, "output", accessors, r->where, -1, &out))
        return false;
    if (in < 0 || out < 0) return spl_gltf_fail(r->g, "%s: its sampler is incomplete", r->where);
    if (!spl_gltf_accessor(r->g, in, input) || !spl_gltf_accessor(r->g, out, output)) return false;
    if (input->width != 1 || input->count == 0)
        return spl_gltf_fail(r->g, "%s: accessor %d holds no key times", r->where, in);
    size_t wanted = input->count * (size_t)c->width * (c->interpolation == SPL_CUBIC ? 3 : 1);
    if (output->count * (size_t)output->width != wanted)
        return spl_gltf_fail(r->g, "%s: %zu numbers (accessor %d) for %zu keys, %zu expected; export it again",
                             r->where, output->count * (size_t)output->width, out, input->count, wanted);
    return true;
}

static bool check_times(reading *r)
{
    const spl_channel *c = r->out;
    for (int32_t k = 0; k < c->key_count; k++) {
        double time = (double)c->time[k];
        if (!(time >= 0 && time <= 1e9))
            return spl_gltf_fail(r->g, "%s: the time of key %d is %g; times must be finite and not negative", r->where,
                                 k, time);
        if (k > 0 && c->time[k] < c->time[k - 1])
            return spl_gltf_fail(r->g, "%s: key times decrease at key %d; sort the keys and export again", r->where, k);
    }
    return true;
}

/* Of keys at the same time the last stays. */
static void drop_equal_times(reading *r)
{
    spl_channel *c = r->out;
    size_t block = (size_t)c->width * (c->interpolation == SPL_CUBIC ? 3 : 1);
    int32_t kept = 0;
    for (int32_t k = 0; k < c->key_count; k++) {
        if (k + 1 < c->key_count && c->time[k + 1] == c->time[k]) continue;
        c->time[kept] = c->time[k];
        memmove(c->value + (size_t)kept * block, c->value + (size_t)k * block, block * sizeof *c->value);
        kept++;
    }
    if (kept < c->key_count)
        spl_scene_warn(r->g->scene, "%s: %d keys share their time with the next one and are dropped", r->where,
                       c->key_count - kept);
    c->key_count = kept;
}

static bool check_values(reading *r)
{
    spl_channel *c = r->out;
    bool cubic = c->interpolation == SPL_CUBIC;
    size_t width = (size_t)c->width, block = width * (cubic ? 3 : 1), count = (size_t)c->key_count * block;
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)c->value[i]) <= SPL_GLTF_HUGE))
            return spl_gltf_fail(r->g, "%s: key %zu %s; repair the animation and export again", r->where, i / block,
                                 spl_gltf_excess(c->value + i, 1));
    int32_t zero = 0;
    for (size_t k = 0; c->path == SPL_PATH_ROTATION && k < (size_t)c->key_count; k++) {
        float *q = c->value + k * block + (cubic ? width : 0);
        double n2 = 0;
        for (int i = 0; i < 4; i++) n2 += (double)q[i] * (double)q[i];
        if (n2 > 1e-20) continue;
        memcpy(q, (float[4]){0, 0, 0, 1}, 4 * sizeof *q);
        zero++;
    }
    if (zero) spl_scene_warn(r->g->scene, "%s: %d rotations of length zero are taken as none", r->where, zero);
    return true;
}

static bool read_keys(reading *r, const json_t *sampler)
{
    spl_channel *c = r->out;
    const char *name = json_string_value(json_object_get(sampler, "interpolation"));
    if (!name || strcmp(name, "LINEAR") == 0)
        c->interpolation = SPL_LINEAR;
    else if (strcmp(name, "STEP") == 0)
        c->interpolation = SPL_STEP;
    else if (strcmp(name, "CUBICSPLINE") == 0)
        c->interpolation = SPL_CUBIC;
    else
        return spl_gltf_fail(r->g, "%s: the interpolation '%.30s' is unknown", r->where, name);
    spl_accessor input, output;
    if (!open_sampler(r, sampler, &input, &output)) return false;
    c->key_count = (int32_t)input.count;
    c->time = spl_gltf_floats(r->g, &input);
    c->value = c->time ? spl_gltf_floats(r->g, &output) : NULL;
    if (!c->value || !check_times(r)) return false;
    drop_equal_times(r);
    return check_values(r);
}

/* ---- channels and clips ----------------------------------------------------------------------------------------- */

/* What a channel moves. *used is false for one that moves nothing we know. */
static bool read_target(reading *r, const json_t *target, bool *used)
{
    static const char *const paths[] = {"translation", "rotation", "scale", "weights"};
    spl_channel *c = r->out;
    supple_scene *scene = r->g->scene;
    *used = false;
    if (!spl_gltf_index(r->g, target, "node", scene->node_count, r->where, -1, &c->node)) return false;
    const char *name = json_string_value(json_object_get(target, "path"));
    int path = 0;
    while (path < 4 && !(name && strcmp(paths[path], name) == 0)) path++;
    if (path == 4) {
        spl_scene_warn(scene, "%s animates '%.30s' and is ignored", r->where, name ? name : "nothing");
        return true;
    }
    if (c->node < 0) return true; /* the target may be in an extension: nothing to move */
    const spl_node *node = &scene->node[c->node];
    c->path = (spl_path)path;
    c->width = path == SPL_PATH_WEIGHTS ? node->weight_count : path == SPL_PATH_ROTATION ? 4 : 3;
    *used = c->width > 0;
    if (!*used)
        spl_scene_warn(scene, "%s animates morph weights of node '%.40s', which has none", r->where, node->name);
    return true;
}

static bool read_channel(spl_gltf *g, const json_t *object, const json_t *samplers, int32_t sampler_count,
                         spl_clip *clip, int32_t index)
{
    reading r = {.g = g, .out = &clip->channel[clip->channel_count]};
    snprintf(r.where, sizeof r.where, "clip '%.40s', channel %d", clip->name, index);
    bool used;
    int32_t sampler;
    if (!read_target(&r, json_object_get(object, "target"), &used) ||
        !spl_gltf_index(g, object, "sampler", sampler_count, r.where, -1, &sampler))
        return false;
    if (!used) return true;
    if (sampler < 0) return spl_gltf_fail(g, "%s has no sampler", r.where);
    clip->channel_count++; /* from here on the clip owns the channel's arrays */
    if (!read_keys(&r, json_array_get(samplers, (size_t)sampler))) return false;
    double last = (double)r.out->time[r.out->key_count - 1];
    if (last > clip->duration) clip->duration = last;
    return true;
}

static bool read_clip(spl_gltf *g, const json_t *object, int32_t index)
{
    spl_clip *clip = &g->scene->clip[index];
    json_t *channels, *samplers;
    int32_t channel_count, sampler_count;
    if (!spl_gltf_list(g, object, "channels", "animation", index, &channels, &channel_count) ||
        !spl_gltf_list(g, object, "samplers", "animation", index, &samplers, &sampler_count))
        return false;
    clip->animation = index;
    clip->channel = spl_gltf_new(g, (size_t)channel_count, sizeof *clip->channel, "channels");
    if (!clip->channel) return false;
    for (int32_t k = 0; k < channel_count; k++)
        if (!read_channel(g, json_array_get(channels, (size_t)k), samplers, sampler_count, clip, k)) return false;
    return true;
}

bool spl_gltf_read_clips(spl_gltf *g)
{
    supple_scene *scene = g->scene;
    json_t *list;
    int32_t count;
    if (!spl_gltf_list(g, g->root, "animations", "asset", -1, &list, &count)) return false;
    scene->clip = spl_gltf_new(g, (size_t)count, sizeof *scene->clip, "clips");
    if (!scene->clip) return false;
    scene->clip_count = count;
    if (!name_clips(g, list)) return false;
    for (int32_t i = 0; i < count; i++)
        if (!read_clip(g, json_array_get(list, (size_t)i), i)) return false;
    return true;
}
