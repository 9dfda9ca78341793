/* A motion read from any bytes and put onto a character; behind the first zero byte stands a map. Shared by the fuzzer
 * and by the test that replays its corpus. */
#ifndef SPL_TESTS_FUZZ_MOTION_H
#define SPL_TESTS_FUZZ_MOTION_H

#include "core/memory.h"
#include "rig/retarget.h"

#include <stdlib.h>
#include <string.h>

static inline void motion_require(bool condition)
{
    if (!condition) abort();
}

/* A skeleton without a mesh: the built-in characters take seconds to make under the sanitizers. */
static inline supple_scene *motion_skeleton(void)
{
    static const char text[] =
        "{\"asset\": {\"version\": \"2.0\"}, \"scene\": 0, \"scenes\": [{\"nodes\": [0]}], \"nodes\": ["
        "{\"name\": \"Armature\", \"children\": [1], \"rotation\": [-0.7071068, 0, 0, 0.7071068], \"scale\": [100, "
        "100, 100]},"
        "{\"name\": \"hips\", \"children\": [2, 5, 8], \"translation\": [0, 0, 0.9]},"
        "{\"name\": \"spine\", \"children\": [3], \"translation\": [0, 0, 0.2]},"
        "{\"name\": \"neck\", \"children\": [4, 11], \"translation\": [0, 0, 0.3]},"
        "{\"name\": \"head\", \"translation\": [0, 0, 0.1]},"
        "{\"name\": \"thigh.L\", \"children\": [6], \"translation\": [0.1, 0, 0]},"
        "{\"name\": \"shin.L\", \"children\": [7], \"matrix\": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0.02, 0, -0.4, 1]},"
        "{\"name\": \"foot.L\", \"translation\": [0, 0, -0.4]},"
        "{\"name\": \"thigh.R\", \"children\": [9], \"translation\": [-0.1, 0, 0]},"
        "{\"name\": \"shin.R\", \"children\": [10], \"translation\": [-0.02, 0, -0.4]},"
        "{\"name\": \"foot.R\", \"translation\": [0, 0, -0.4]},"
        "{\"name\": \"arm.L\", \"children\": [12], \"translation\": [0.2, 0, 0], \"rotation\": [0, 0.6, 0, 0.8]},"
        "{\"name\": \"forearm.L\", \"translation\": [0.3, 0, 0]}],"
        "\"skins\": [{\"joints\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}]}";
    supple_scene *scene = NULL;
    supple_scene_load_memory(text, sizeof text - 1, "skeleton.gltf", NULL, &scene, NULL);
    return scene;
}

static inline void motion_check_clip(const spl_clip *clip)
{
    motion_require(isfinite(clip->duration) && clip->duration >= 0 && clip->fps > 0);
    for (int32_t c = 0; c < clip->channel_count; c++) {
        const spl_channel *channel = &clip->channel[c];
        for (int32_t k = 0; k < channel->key_count; k++) {
            motion_require(k == 0 || channel->time[k] > channel->time[k - 1]);
            for (int32_t i = 0; i < channel->width; i++)
                motion_require(isfinite(channel->value[k * channel->width + i]));
        }
    }
}

static inline void motion_free_clip(spl_clip *clip, const supple_allocator *a)
{
    for (int32_t c = 0; c < clip->channel_count; c++) {
        spl_free(a, clip->channel[c].time);
        spl_free(a, clip->channel[c].value);
    }
    spl_free(a, clip->channel);
}

/* Whether the bytes are a motion; what was refused came with a reason in one line. */
static inline bool motion_exercise(const supple_scene *scene, const uint8_t *data, size_t size)
{
    const supple_allocator a = spl_allocator_of(NULL);
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t length = zero ? (size_t)(zero - data) : size;
    supple_error error = {0};
    spl_bvh bvh;
    spl_match match;
    spl_clip clip = {0};
    supple_result result = spl_bvh_parse(data, length, "fuzz.bvh", &a, &bvh, &error);
    if (result) {
        motion_require(error.code == result && error.message[0] && !strchr(error.message, '\n') && !bvh.joint);
        return false;
    }
    result = spl_match_make(scene, &bvh, zero ? (const char *)zero + 1 : NULL, zero ? size - length - 1 : 0,
                            "fuzz.json", &match, &error);
    motion_require(result == SUPPLE_OK || (error.code == result && error.message[0]));
    if (result == SUPPLE_OK && match.matched > 0) {
        motion_require(spl_retarget(scene, &bvh, &match, &clip, &error) == SUPPLE_OK);
        motion_check_clip(&clip);
        motion_free_clip(&clip, &scene->allocator);
    }
    if (result == SUPPLE_OK) spl_match_release(&match);
    spl_bvh_release(&bvh);
    return true;
}

#endif
