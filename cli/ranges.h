/* Which clips, and which of their frames, the options ask for. */
#ifndef SUPPLE_CLI_RANGES_H
#define SUPPLE_CLI_RANGES_H

#include "cli.h"

typedef struct cli_range_request {
    const char *option;                /* that names clips, for messages */
    int32_t motion;                    /* the clip that --motion added, or -1 */
    const char *clips[CLI_MAX_VALUES]; /* by name or index, or "all" alone; none: the first */
    int clip_count;
    const char *frames; /* of --frames, or NULL: all */
    double fps;
} cli_range_request;

/* Fills *ranges (to be freed) and *count. Which clip was taken where none was named is logged. Returns 0, or an exit
 * code after a message. */
int cli_choose_ranges(const supple_scene *scene, const cli_range_request *request, const supple_config *config,
                      supple_range **ranges, int *count);

/* Says that no clip is called so, and which may have been meant; exit code 2. */
int cli_clip_error(const supple_scene *scene, const char *option, const char *name);

#endif
