#include "sim/takes.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

#define MOST_BYTES (256u << 20) /* in memory; more goes into a file */

supple_result spl_takes_begin(spl_takes *t, const supple_allocator *a, int32_t room, size_t width, size_t extra,
                              supple_error *error)
{
    size_t n = (size_t)room, bytes;
    spl_takes_release(t);
    *t = (spl_takes){.allocator = *a, .room = room, .width = width, .extra = extra};
    t->take = spl_new(a, n, sizeof *t->take);
    t->number = spl_new(a, n * (extra + 1), sizeof *t->number);
    bool file = !spl_mul(n, width * sizeof(float), &bytes) || bytes > MOST_BYTES;
    t->file = file ? tmpfile() : NULL;
    t->position = t->file ? NULL : spl_new(a, n, width * sizeof *t->position);
    if (t->take && t->number && (t->file || t->position)) return SUPPLE_OK;
    spl_takes_release(t);
    return spl_fail_memory(error, "the frames");
}

void spl_takes_release(spl_takes *t)
{
    if (!t->allocator.release) return;
    if (t->file) fclose(t->file);
    spl_free(&t->allocator, t->take);
    spl_free(&t->allocator, t->position);
    spl_free(&t->allocator, t->number);
    *t = (spl_takes){0};
}

bool spl_takes_add(spl_takes *t, const spl_take *take, const float *position)
{
    if (t->count >= t->room) return false;
    if (t->position)
        memcpy(t->position + (size_t)t->count * t->width, position, t->width * sizeof *position);
    else if (fwrite(position, sizeof *position, t->width, t->file) != t->width) {
        spl_takes_release(t); /* a full disk: the frames are computed again */
        return false;
    }
    t->take[t->count++] = *take;
    return true;
}

bool spl_takes_read(const spl_takes *t, int32_t index, float *out)
{
    size_t bytes = t->width * sizeof *out;
    if (t->position) {
        memcpy(out, t->position + (size_t)index * t->width, bytes);
        return true;
    }
    return fseeko(t->file, (off_t)((size_t)index * bytes), SEEK_SET) == 0 &&
           fread(out, sizeof *out, t->width, t->file) == t->width;
}

int32_t spl_takes_find(const spl_takes *t, int32_t clip, double time)
{
    int32_t low = 0, high = t->count;
    while (low < high) { /* times ascend */
        int32_t middle = low + (high - low) / 2;
        if (t->take[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->count && t->take[low].clip == clip && t->take[low].time == time ? low : -1;
}
