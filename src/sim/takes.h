/* Frames that were computed while a range was judged, to be shown without computing them again: in memory, and beyond
 * some size in a temporary file without a name. */
#ifndef SPL_SIM_TAKES_H
#define SPL_SIM_TAKES_H

#include <supple/sim.h>

#include <stdio.h>

enum { SPL_TAKE_VALUES = 24 }; /* named values of a method; more are not kept */

typedef struct spl_take {
    int32_t clip;
    double time;
    supple_stats stats;
    supple_named_value value[SPL_TAKE_VALUES];
    int32_t value_count;
} spl_take;

typedef struct spl_takes {
    supple_allocator allocator;
    int32_t count, room;
    size_t width, extra; /* floats and doubles of a frame */
    spl_take *take;
    float *position; /* width each; NULL: they are in the file */
    double *number;  /* extra each: joints' volumes */
    FILE *file;
} spl_takes;

/* Room for `room` frames. The only failure is SUPPLE_ERROR_MEMORY. */
supple_result spl_takes_begin(spl_takes *t, const supple_allocator *a, int32_t room, size_t width, size_t extra,
                              supple_error *error);
void spl_takes_release(spl_takes *t);

/* Keeps the next frame; false if it could not be written: then there are no takes any more. */
bool spl_takes_add(spl_takes *t, const spl_take *take, const float *position);

/* The positions of a frame, into `out`; false if they could not be read. */
bool spl_takes_read(const spl_takes *t, int32_t index, float *out);

/* The frame of a clip's time, -1 if there is none. */
int32_t spl_takes_find(const spl_takes *t, int32_t clip, double time);

#endif
