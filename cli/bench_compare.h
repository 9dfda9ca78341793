/* Two recorded runs of benchmarks beside each other: what is slower beyond noise. */
#ifndef SUPPLE_CLI_BENCH_COMPARE_H
#define SUPPLE_CLI_BENCH_COMPARE_H

#include <jansson.h>
#include <stdio.h>

/* A document that `supple bench --json` wrote, checked; NULL and one line on stderr if it is none. */
json_t *cli_bench_load(const char *path);

/* What changed from one document to the other, for json_decref:
 *
 *     {"drift": 1.02 or null, "largest_drift": 0.04, "busy": 0.1, "slower": 0, "faster": 0, "same": 0, "unjudged": 0,
 *      "rows": [{"bench", "table", "row", "quantity", "unit", "old", "new", "ratio", "bound",
 *                "verdict": "slower|faster|same|unjudged|unknown|changed|missing|new"}], "not_run": ["..."]}
 *
 * The rule. Times (wall and processor), rates and memory are judged; for rates the ratio is old / new. `drift` is the
 * median of how much slower the machine's limits are; times and rates are divided by it. A row is slower if its best
 * and, where it is known, its median both are by more than `bound` = 1 + 5% + both runs' noise + the largest drift of
 * any limit + the share of the processors that others used in the busier run (half of it for processor times). Noise is
 * the way from the best to the nearer quartile, at most 50%; a single measurement is taken to have 15%, of processor
 * time 5%, of memory 2%. Where others used 20% or more, what was measured once is not judged; what takes less than a
 * microsecond never is. Counts that differ at all are `changed`. Shares, bandwidths and ratios follow from times and
 * are not judged. */
json_t *cli_bench_compare(const json_t *before, const json_t *after);

/* For people. */
void cli_bench_print(const json_t *comparison, const json_t *before, const json_t *after, FILE *out);

#endif
