/* Clips: the library's keys, in seconds from 0 on. */
#include "convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TICKS 25.0 /* a second, where the library does not say */

typedef struct clip {
    import_state *s;
    double ticks, start; /* ticks a second; the first key's, where it is negative */
    double duration;     /* seconds, as the file has it: it may go on behind the last key */
    json_t *channels, *samplers;
} clip;

/* Keys with increasing times: those that do not come after the one before are left out. `read` gives a key. */
typedef struct keys {
    unsigned count;
    float *time, *value; /* `width` numbers a key */
    int width;
} keys;

typedef double key_reader(const void *list, unsigned index, float *value);

static double read_vector(const void *list, unsigned i, float *value)
{
    const struct aiVectorKey *key = (const struct aiVectorKey *)list + i;
    memcpy(value, &key->mValue, 3 * sizeof *value);
    return key->mTime;
}

static double read_rotation(const void *list, unsigned i, float *value)
{
    const struct aiQuatKey *key = (const struct aiQuatKey *)list + i;
    const double q[4] = {(double)key->mValue.x, (double)key->mValue.y, (double)key->mValue.z, (double)key->mValue.w};
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 1e-6)) import_fail("a key without a rotation; it is damaged");
    for (int k = 0; k < 4; k++) value[k] = (float)(q[k] / length);
    return key->mTime;
}

/* One more key (there is room for it) where the clip lasts longer than its keys: the last pose is held. */
static void hold_last(const clip *c, keys *k)
{
    const double least = 1e-4;
    if (k->count == 0 || !(c->duration > (double)k->time[k->count - 1] + least && c->duration < 1e7)) return;
    size_t width = (size_t)k->width;
    memcpy(k->value + k->count * width, k->value + (k->count - 1) * width, width * sizeof *k->value);
    k->time[k->count++] = (float)c->duration;
}

static keys take_keys(const clip *c, const void *list, unsigned count, int width, key_reader *read)
{
    keys k = {.width = width};
    k.time = import_new((size_t)count + 1, sizeof *k.time);
    k.value = import_new((size_t)count + 1, (size_t)width * sizeof *k.value);
    for (unsigned i = 0; i < count; i++) {
        float *value = k.value + (size_t)k.count * (size_t)width;
        double time = (read(list, i, value) - c->start) / c->ticks;
        if (!isfinite(time) || time < 0 || time > 1e7) continue;
        if (k.count && !((float)time > k.time[k.count - 1])) continue;
        k.time[k.count++] = (float)time;
    }
    hold_last(c, &k);
    return k;
}

/* The last of equal keys still says how long the clip is, so two are kept. */
static void drop_constant(keys *k)
{
    size_t size = (size_t)k->width * sizeof *k->value;
    for (unsigned i = 1; i < k->count; i++)
        if (memcmp(k->value, k->value + (size_t)i * (size_t)k->width, size) != 0) return;
    if (k->count <= 2) return;
    k->time[1] = k->time[k->count - 1];
    k->count = 2;
}

static void add_channel(clip *c, int32_t node, const char *path, keys *k)
{
    drop_constant(k);
    if (k->count > 0) {
        int32_t time = glb_accessor(&c->s->out, k->time, k->count, GLB_FLOAT, 1, true), value;
        if (strcmp(path, "weights") == 0)
            value = glb_accessor(&c->s->out, k->value, (size_t)k->count * (size_t)k->width, GLB_FLOAT, 1, false);
        else
            value = glb_accessor(&c->s->out, k->value, k->count, GLB_FLOAT, k->width, false);
        glb_append(c->channels, json_pack("{s:i,s:{s:i,s:s}}", "sampler", (int)json_array_size(c->samplers), "target",
                                          "node", node, "path", path));
        glb_append(c->samplers, json_pack("{s:i,s:i,s:s}", "input", time, "output", value, "interpolation", "LINEAR"));
    }
    free(k->time);
    free(k->value);
}

/* A library that drives nodes by name may drive one twice; glTF does not allow that, the first wins. */
static void add_node_channels(clip *c, const struct aiNodeAnim *a, bool *driven)
{
    int32_t node = import_node_find(c->s, a->mNodeName.data);
    if (node < 0 || driven[node]) return;
    driven[node] = true;
    keys move = take_keys(c, a->mPositionKeys, a->mNumPositionKeys, 3, read_vector);
    add_channel(c, node, "translation", &move);
    keys turn = take_keys(c, a->mRotationKeys, a->mNumRotationKeys, 4, read_rotation);
    add_channel(c, node, "rotation", &turn);
    keys size = take_keys(c, a->mScalingKeys, a->mNumScalingKeys, 3, read_vector);
    add_channel(c, node, "scale", &size);
}

/* ---- blend shapes ----------------------------------------------------------------------------------------------- */

static unsigned target_count(const import_state *s, int32_t node)
{
    unsigned count = 0;
    const struct aiNode *ai = s->node[node].ai;
    for (unsigned i = 0; i < ai->mNumMeshes; i++)
        if (s->scene->mMeshes[ai->mMeshes[i]]->mNumAnimMeshes > count)
            count = s->scene->mMeshes[ai->mMeshes[i]]->mNumAnimMeshes;
    return count;
}

/* The channel's name is the mesh's or the node's, with "*0" behind it. */
static int32_t morphed_node(const import_state *s, const char *name)
{
    char copy[1024];
    strncpy(copy, name, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    char *star = strrchr(copy, '*');
    if (star) *star = 0;
    for (int32_t i = 0; i < s->node_count; i++) {
        const struct aiNode *ai = s->node[i].ai;
        if (!target_count(s, i)) continue;
        if (strcmp(ai->mName.data, copy) == 0) return i;
        for (unsigned k = 0; k < ai->mNumMeshes; k++)
            if (strcmp(s->scene->mMeshes[ai->mMeshes[k]]->mName.data, copy) == 0) return i;
    }
    return -1;
}

static void add_morph_channel(clip *c, const struct aiMeshMorphAnim *a)
{
    int32_t node = morphed_node(c->s, a->mName.data);
    unsigned width = node < 0 ? 0 : target_count(c->s, node);
    if (!width || width > 4096) return;
    keys k = {.width = (int)width};
    k.time = import_new((size_t)a->mNumKeys + 1, sizeof *k.time);
    k.value = import_new((size_t)a->mNumKeys + 1, width * sizeof *k.value);
    for (unsigned i = 0; i < a->mNumKeys; i++) {
        const struct aiMeshMorphKey *key = &a->mKeys[i];
        double time = (key->mTime - c->start) / c->ticks;
        if (!isfinite(time) || time < 0 || (k.count && !((float)time > k.time[k.count - 1]))) continue;
        float *value = k.value + (size_t)k.count * width;
        for (unsigned t = 0; t < key->mNumValuesAndWeights; t++)
            if (key->mValues[t] < width) value[key->mValues[t]] = (float)key->mWeights[t];
        k.time[k.count++] = (float)time;
    }
    hold_last(c, &k);
    add_channel(c, node, "weights", &k);
}

/* ---- clips ------------------------------------------------------------------------------------------------------ */

static double first_time(const struct aiAnimation *a)
{
    double first = 0;
    for (unsigned i = 0; i < a->mNumChannels; i++) {
        const struct aiNodeAnim *n = a->mChannels[i];
        if (n->mNumPositionKeys) first = fmin(first, n->mPositionKeys[0].mTime);
        if (n->mNumRotationKeys) first = fmin(first, n->mRotationKeys[0].mTime);
        if (n->mNumScalingKeys) first = fmin(first, n->mScalingKeys[0].mTime);
    }
    return isfinite(first) ? first : 0;
}

/* Whether all keys of a list lie on frames of this rate. */
static bool on_frames(const void *list, unsigned count, key_reader *read, double ticks, double fps)
{
    const double near = 0.01; /* frames */
    float value[4];
    double first = count ? read(list, 0, value) : 0;
    for (unsigned i = 1; i < count; i++) {
        double frame = (read(list, i, value) - first) / ticks * fps;
        if (!(fabs(frame - round(frame)) <= near)) return false;
    }
    return true;
}

double import_guess_fps(const import_state *s)
{
    static const double usual[] = {30, 24, 25, 60, 48, 50, 120, 100};
    const struct aiAnimation *a = s->scene->mAnimations[0];
    double ticks = a->mTicksPerSecond > 0 && isfinite(a->mTicksPerSecond) ? a->mTicksPerSecond : DEFAULT_TICKS;
    for (size_t r = 0; r < sizeof usual / sizeof *usual; r++) {
        bool fits = true;
        for (unsigned i = 0; fits && i < a->mNumChannels; i++) {
            const struct aiNodeAnim *n = a->mChannels[i];
            fits = on_frames(n->mPositionKeys, n->mNumPositionKeys, read_vector, ticks, usual[r]) &&
                   on_frames(n->mRotationKeys, n->mNumRotationKeys, read_rotation, ticks, usual[r]);
        }
        if (fits) return usual[r];
    }
    return usual[0];
}

static void write_clip(import_state *s, const struct aiAnimation *a)
{
    clip c = {.s = s, .start = first_time(a), .channels = json_array(), .samplers = json_array()};
    c.ticks = a->mTicksPerSecond > 0 && isfinite(a->mTicksPerSecond) ? a->mTicksPerSecond : DEFAULT_TICKS;
    c.duration = (a->mDuration - c.start) / c.ticks;
    bool *driven = import_new((size_t)s->node_count, sizeof *driven);
    for (unsigned i = 0; i < a->mNumChannels; i++) add_node_channels(&c, a->mChannels[i], driven);
    for (unsigned i = 0; i < a->mNumMorphMeshChannels; i++) add_morph_channel(&c, a->mMorphMeshChannels[i]);
    free(driven);
    if (json_array_size(c.channels) > 0) {
        glb_append(glb_list(&s->out, "animations"), json_pack("{s:o,s:o,s:o}", "name", glb_text(a->mName.data),
                                                              "channels", c.channels, "samplers", c.samplers));
        return;
    }
    import_warn(s, "the clip '%.60s' moves nothing and is left out", a->mName.data);
    json_decref(c.channels);
    json_decref(c.samplers);
}

void import_write_motion(import_state *s)
{
    for (unsigned i = 0; i < s->scene->mNumAnimations; i++) write_clip(s, s->scene->mAnimations[i]);
}
