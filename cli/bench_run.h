/* A recorded run of benchmarks: the rows that they write (bench/record.h), and the document of `supple bench --json`
 * that they become: docs/performance.md has its schema. */
#ifndef SUPPLE_CLI_BENCH_RUN_H
#define SUPPLE_CLI_BENCH_RUN_H

#include <jansson.h>

typedef struct cli_bench_run cli_bench_run;

/* Opens a file for the rows, which has no name, and tells programs that are started from now on about it. `mode`:
 * "usual", "quick" or "full". NULL and a message if there is no place for it. */
cli_bench_run *cli_bench_run_begin(const char *mode);

/* Notes that a benchmark ended, after so many seconds, with an exit code. */
void cli_bench_run_note(cli_bench_run *run, const char *name, double seconds, int code);

/* The document, for json_decref; NULL and a message if it cannot be made. */
json_t *cli_bench_run_document(const cli_bench_run *run);

/* Accepts NULL. */
void cli_bench_run_end(cli_bench_run *run);

#endif
