/* The animations of a baked document: one for each range of the plan, with the morph weights and whatever else the clip
 * moves (props on bones, cameras). Other clips are dropped: they would move a skeleton without a skin.
 *
 * A range that is the whole clip keeps the clip's own channels as they are. Of a part of a clip the channels are
 * sampled at the frames, from time 0. */
#include "core/error.h"
#include "core/memory.h"
#include "rig/pose.h"
#include "scene/document.h"
#include "scene/writers/bake.h"

#include <string.h>

static bool is_whole(const spl_bake *b, const supple_range *range)
{
    bool in_document = range->clip < 0 || b->scene->clip[range->clip].animation >= 0; /* else there is none to keep */
    return in_document && range->first_frame == 0 &&
           range->frame_count == supple_scene_frame_count(b->scene, range->clip, b->writer->fps);
}

/* ---- channels that go on as they are ---------------------------------------------------------------------------- */

/* Where what a channel moved is now: a node's number in the output, its helper's if it is baked; -1: nowhere. */
static int32_t moved_node(const spl_bake *b, int64_t node)
{
    int32_t at = b->baked[node] ? b->helper[node] : (int32_t)node;
    return at < 0 ? -1 : b->number[at];
}

/* Whether a channel still moves something; points it to where that is now. */
static bool keep_channel(spl_bake *b, json_t *channel)
{
    json_t *target = json_object_get(channel, "target");
    const char *path = json_string_value(json_object_get(target, "path"));
    if (!path) return false;
    int64_t node = spl_bake_index(target, "node", (size_t)b->scene->node_count);
    if (node < 0) return json_object_get(target, "extensions") != NULL; /* what it moves, an extension knows */
    if (strcmp(path, "weights") == 0) return false;                     /* nodes with morph targets are baked */
    int32_t moved = moved_node(b, node);
    if (moved < 0) return false;
    spl_bake_set(b, target, "node", json_integer(moved));
    return true;
}

/* Leaves the samplers that channels use, and numbers them anew. */
static void drop_samplers(spl_bake *b, json_t *animation)
{
    json_t *old = json_incref(json_object_get(animation, "samplers")), *channel;
    json_t *kept = json_array();
    size_t count = json_array_size(old), i;
    int32_t *number = spl_new(&b->allocator, count, sizeof *number);
    if (!number || !kept) b->failed = true;
    json_array_foreach(json_object_get(animation, "channels"), i, channel)
    {
        int64_t sampler = spl_bake_index(channel, "sampler", count);
        if (sampler < 0 || !number || !kept) continue;
        if (!number[sampler]) { /* number + 1: 0 says not yet */
            if (json_array_append(kept, json_array_get(old, (size_t)sampler)) != 0) b->failed = true;
            number[sampler] = (int32_t)json_array_size(kept);
        }
        spl_bake_set(b, channel, "sampler", json_integer(number[sampler] - 1));
    }
    spl_bake_set(b, animation, "samplers", kept);
    spl_free(&b->allocator, number);
    json_decref(old);
}

static json_t *select_clip(spl_bake *b, const supple_range *range)
{
    if (range->clip < 0) return json_pack("{s:s, s:[], s:[]}", "name", "rest", "channels", "samplers");
    const spl_clip *clip = &b->scene->clip[range->clip];
    if (clip->animation < 0) return json_pack("{s:s, s:[], s:[]}", "name", clip->name, "channels", "samplers");
    json_t *list = json_object_get(b->scene->document->json, "animations");
    json_t *animation = json_deep_copy(json_array_get(list, (size_t)clip->animation));
    if (!animation) return NULL;
    spl_bake_set(b, animation, "name", json_string(clip->name));
    if (!is_whole(b, range)) {
        spl_bake_set(b, animation, "channels", json_array());
        spl_bake_set(b, animation, "samplers", json_array());
        return animation;
    }
    json_t *channels = json_object_get(animation, "channels");
    for (size_t i = json_array_size(channels); i-- > 0;)
        if (!keep_channel(b, json_array_get(channels, i))) json_array_remove(channels, i);
    drop_samplers(b, animation);
    return animation;
}

void spl_bake_select_motion(spl_bake *b)
{
    json_t *animations = json_array();
    for (int32_t r = 0; r < b->writer->range_count; r++)
        spl_bake_append(b, animations, select_clip(b, &b->writer->ranges[r]));
    spl_bake_set(b, b->root, "animations", animations);
}

/* ---- new channels ----------------------------------------------------------------------------------------------- */

/* Adds a sampler for two accessors and returns its index. */
static json_int_t add_sampler(spl_bake *b, json_t *animation, int32_t input, int32_t output)
{
    json_t *samplers = json_object_get(animation, "samplers");
    spl_bake_append(
        b, samplers,
        json_pack("{s:i, s:i, s:s}", "input", (int)input, "output", (int)output, "interpolation", "LINEAR"));
    return (json_int_t)json_array_size(samplers) - 1;
}

static void add_channel(spl_bake *b, json_t *animation, json_int_t sampler, int32_t node, const char *path)
{
    spl_bake_append(b, json_object_get(animation, "channels"),
                    json_pack("{s:I, s:{s:i, s:s}}", "sampler", sampler, "target", "node", (int)node, "path", path));
}

/* A sampler for the weights of some frames, of `width` targets. -1 if memory is out. */
static json_int_t add_weight_sampler(spl_bake *b, json_t *animation, int32_t times, const float *weight, size_t count)
{
    int32_t output = spl_bake_floats(b, weight, count, "SCALAR", false, false);
    return output < 0 ? -1 : add_sampler(b, animation, times, output);
}

/* One target a frame: target first + k is 1 at frame k. One sampler serves all baked nodes. */
static bool add_frame_weights(spl_bake *b, json_t *animation, int32_t times, int32_t first, int32_t frames)
{
    size_t total = (size_t)b->writer->frame_total;
    float *weight = spl_new(&b->allocator, (size_t)frames * total, sizeof *weight);
    if (!weight) return false;
    for (int32_t k = 0; k < frames; k++) weight[(size_t)k * total + (size_t)(first + k)] = 1;
    json_int_t sampler = add_weight_sampler(b, animation, times, weight, (size_t)frames * total);
    spl_free(&b->allocator, weight);
    for (int32_t i = 0; sampler >= 0 && i < b->scene->node_count; i++)
        if (b->baked[i]) add_channel(b, animation, sampler, b->number[i], "weights");
    return sampler >= 0;
}

/* The weights of each instance's components. */
static bool add_component_weights(spl_bake *b, json_t *animation, int32_t times, int32_t first, int32_t frames)
{
    for (int32_t i = 0; i < b->scene->instance_count; i++) {
        const spl_basis *basis = &b->basis[i];
        size_t width = (size_t)spl_bake_target_count(b, i);
        int32_t node = b->scene->instance[i].node;
        if (!b->baked[node] || width == 0) continue;
        float *weight = spl_new(&b->allocator, (size_t)frames * width, sizeof *weight);
        for (size_t j = 0; weight && j < (size_t)frames * width; j++)
            weight[j] = spl_basis_weight(basis, first + (int32_t)(j / width), (int32_t)(j % width));
        json_int_t sampler = weight ? add_weight_sampler(b, animation, times, weight, (size_t)frames * width) : -1;
        spl_free(&b->allocator, weight);
        if (sampler < 0) return false;
        add_channel(b, animation, sampler, b->number[node], "weights");
    }
    return true;
}

/* One channel of a clip at a range's frames. */
static bool add_sampled(spl_bake *b, json_t *animation, int32_t times, const supple_range *range,
                        const spl_channel *channel)
{
    static const char *const paths[] = {"translation", "rotation", "scale"};
    if (channel->path == SPL_PATH_WEIGHTS) return true;
    int32_t node = moved_node(b, channel->node);
    if (node < 0) return true;
    size_t width = channel->path == SPL_PATH_ROTATION ? 4 : 3;
    float *value = spl_new(&b->allocator, (size_t)range->frame_count * width, sizeof *value);
    if (!value) return false;
    for (int32_t k = 0; k < range->frame_count; k++) {
        double at[4];
        spl_channel_sample(channel, (range->first_frame + k) / b->writer->fps, at);
        for (size_t c = 0; c < width; c++) value[(size_t)k * width + c] = (float)at[c];
    }
    int32_t output = spl_bake_floats(b, value, (size_t)range->frame_count, width == 4 ? "VEC4" : "VEC3", false, false);
    spl_free(&b->allocator, value);
    if (output < 0) return false;
    add_channel(b, animation, add_sampler(b, animation, times, output), node, paths[channel->path]);
    return true;
}

static bool add_range(spl_bake *b, json_t *animation, const supple_range *range, int32_t first)
{
    bool weights = b->part_count > 0 && !b->still;
    bool sampled = range->clip >= 0 && !is_whole(b, range);
    if (!weights && !sampled) return true;
    float *time = spl_new(&b->allocator, (size_t)range->frame_count, sizeof *time);
    for (int32_t k = 0; time && k < range->frame_count; k++) time[k] = (float)(k / b->writer->fps);
    int32_t times = time ? spl_bake_floats(b, time, (size_t)range->frame_count, "SCALAR", true, false) : -1;
    spl_free(&b->allocator, time);
    if (times < 0) return false;
    if (weights &&
        !(b->basis ? add_component_weights : add_frame_weights)(b, animation, times, first, range->frame_count))
        return false;
    const spl_clip *clip = sampled ? &b->scene->clip[range->clip] : NULL;
    for (int32_t c = 0; clip && c < clip->channel_count; c++)
        if (!add_sampled(b, animation, times, range, &clip->channel[c])) return false;
    return true;
}

supple_result spl_bake_add_motion(spl_bake *b, supple_error *error)
{
    json_t *animations = json_object_get(b->root, "animations");
    int32_t first = 0;
    for (int32_t r = 0; r < b->writer->range_count; r++) {
        const supple_range *range = &b->writer->ranges[r];
        if (!add_range(b, json_array_get(animations, (size_t)r), range, first))
            return spl_fail_memory(error, "the output's animations");
        first += range->frame_count;
    }
    for (size_t i = json_array_size(animations); i-- > 0;)
        if (json_array_size(json_object_get(json_array_get(animations, i), "channels")) == 0)
            json_array_remove(animations, i);
    return SUPPLE_OK;
}
