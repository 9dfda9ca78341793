/* `supple train` on many machines: a shared folder, MPI, Slurm (docs/training-on-many-machines.md). */
#ifndef SUPPLE_CLI_TRAIN_MANY_H
#define SUPPLE_CLI_TRAIN_MANY_H

#include "cli.h"

#include <supple/plugin.h>

/* What this process does of a training. */
typedef struct cli_many {
    bool part;      /* poses and no model */
    int32_t sbatch; /* prints jobs for so many workers instead; 0: no */
    bool mpi;
    supple_exchange exchange; /* where it is MPI */
} cli_many;

/* Reads --solve, --finish, --lease, --mpi and --sbatch; 0, or the code of a message. */
int cli_many_read(const cli_arguments *arguments, supple_train_config *tc, cli_many *out);

/* Prints a shell script that submits an array of workers and, after them, the job that makes the model. */
int cli_many_print_jobs(const cli_arguments *arguments, int32_t workers);

/* Joins the other processes; 0, or the code of a message. */
int cli_many_join(cli_many *many, supple_train_config *tc);

/* Leaves them with this exit code; where that is a failure it ends them all. */
void cli_many_leave(const cli_many *many, int code);

#endif
