/* `--metrics`: one JSON object about a run; every key of the contract is always there, null where it has no meaning. */
#ifndef SUPPLE_CLI_METRICS_H
#define SUPPLE_CLI_METRICS_H

#include <supple/tools.h>

typedef struct cli_metrics cli_metrics;

/* NULL if memory is out. */
cli_metrics *cli_metrics_new(void);
void cli_metrics_free(cli_metrics *metrics);

/* What is known once the simulation stands. `load_ms` is the time to read the file. */
void cli_metrics_setup(cli_metrics *metrics, const supple_scene *scene, const supple_sim *sim, double load_ms);
void cli_metrics_frame(cli_metrics *metrics, const char *clip, int frame, double time, const supple_sim *sim);
supple_result cli_metrics_write(cli_metrics *metrics, const char *path, supple_error *error);

#endif
