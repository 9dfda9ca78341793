/* Which method to use, in words, from measured numbers alone. */
#ifndef SUPPLE_CLI_COMPARE_ADVICE_H
#define SUPPLE_CLI_COMPARE_ADVICE_H

#include <stdbool.h>

/* What was measured of a method over all frames; NAN where it has no such number. */
typedef struct cli_summary {
    const char *name;
    bool ran;
    double setup_ms, body_ms, ms_median, ms_min, ms_max, peak_mb;
    double penetration, joint_volume, strain, inverted; /* metres, share of rest, the worst frame's */
    double yield_deg, yield_m; /* of limbs that yield: degrees and metres from the animator's pose, the worst frame's */
    double fold, crossed;      /* metres, pairs of triangles: the worst frame's */
    double error_mean, error_max; /* metres from `reference` */
    double worse; /* frames in which it is worse than the file's own skinning; 0 where that is not asked */
    double trust; /* share of the flesh that is trusted in full */
} cli_summary;

typedef struct cli_advice_case {
    const cli_summary *method;
    int method_count;
    double frame_ms;    /* how long a frame of the clip lasts */
    bool dynamics;      /* were asked for */
    bool model;         /* a trained one was given */
    double size_m;      /* the character's diagonal */
    const char *chosen; /* what `skin` takes by itself; NULL: not known */
} cli_advice_case;

enum { CLI_ADVICE_REASONS = 12, CLI_ADVICE_TEXT = 300 };

typedef struct cli_advice {
    const char *method;
    char summary[CLI_ADVICE_TEXT];
    char reason[CLI_ADVICE_REASONS][CLI_ADVICE_TEXT];
    int reason_count;
} cli_advice;

/* False where no method but `reference` ran. */
bool cli_advise(const cli_advice_case *asked, cli_advice *out);

#endif
