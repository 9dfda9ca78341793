/* What `skin` says of its result: whether it is anywhere worse than the file's own skinning; and --amount. */
#ifndef CLI_VERDICT_H
#define CLI_VERDICT_H

#include "cli.h"

typedef struct cli_verdict cli_verdict;

/* --amount X, PART=X and color into a config; `room` has CLI_MAX_VALUES. 0, or an exit code after a message. */
int cli_amounts(const cli_arguments *arguments, supple_part_amount *room, supple_sim_config *sc);

cli_verdict *cli_verdict_new(const supple_sim *sim); /* NULL if memory is out */
void cli_verdict_free(cli_verdict *v);

/* Takes note of the step just made. */
void cli_verdict_frame(cli_verdict *v, const supple_sim *sim, const char *clip, int frame);

/* Says it; false where something is worse. Silent where nothing was measured. */
bool cli_verdict_tell(const cli_verdict *v, const supple_config *config);

#endif
