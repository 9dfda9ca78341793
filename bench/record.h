/* What a benchmark measured, as rows for `supple bench --json` and `--compare` (docs/performance.md has the schema).
 *
 * A program prints its tables as it likes, and records each number that should be kept beside them. Rows are written as
 * lines of JSON to the file descriptor that SUPPLE_BENCH_ROWS names, and nowhere if there is none; a row's process may
 * be a fork. Tables, rows and quantities are the names by which runs are compared: nothing measured may stand in them.
 */
#ifndef SPL_BENCH_RECORD_H
#define SPL_BENCH_RECORD_H

#include <stdbool.h>
#include <stddef.h>

/* What a quantity is, which says its unit and whether less or more of it is better. */
typedef enum bench_kind {
    BENCH_MS,       /* time, less is better; so are the next two */
    BENCH_NS,       /* time of one call or vertex */
    BENCH_CPU_MS,   /* processor time of all threads: a busy machine hardly changes it */
    BENCH_MB,       /* memory, in 1e6 or 2^20 bytes, less is better */
    BENCH_GB_S,     /* bandwidth, more is better */
    BENCH_GFLOP_S,  /* arithmetic, more is better */
    BENCH_RATE,     /* so many a second, more is better */
    BENCH_SHARE,    /* of a limit of the machine, 0 to 1 */
    BENCH_RATIO,    /* of two times; not judged */
    BENCH_COUNT,    /* of anything; not judged */
    BENCH_ERROR,    /* of a result, in the unit that the quantity names; not judged */
    BENCH_EXPONENT, /* growth of time with size; not judged */
    BENCH_KINDS
} bench_kind;

/* Several measurements of one quantity. Fields that are not known are NAN. */
typedef struct bench_spread {
    double min, low, median, high, max; /* low, high: quartiles */
    int runs;
} bench_spread;

/* One quantity of one row. */
typedef struct bench_row {
    const char *table, *row, *quantity;
    bench_kind kind;
    bench_spread spread;
    double paper;    /* the paper's or its authors' program's number, 0: none */
    double wanted;   /* the number that was set as an aim, 0: none */
    double from, to; /* of an exponent: the sizes */
} bench_row;

/* What all benchmarks understand. */
typedef struct bench_options {
    bool quick; /* --quick: small sizes and few runs, for tests */
    bool full;  /* --full: what takes too long for `supple bench all` too */
} bench_options;

/* First thing in main: takes --quick and --full out of the arguments. `name` is the benchmark's. */
bench_options bench_begin(const char *name, int *argc, char **argv);

/* The file descriptor of the rows, -1: none. */
int bench_rows_file(void);

/* Of `count` numbers, whose order stays as it is; linear between neighbours as numpy's percentiles are. */
bench_spread bench_spread_of(const double *value, int count);

/* The least of `runs`, all that is known. */
bench_spread bench_least(double min, int runs);

/* One measurement, of one thing or of a sum. */
bench_spread bench_single(double value);

/* The spread of `factor / value`, which turns times into rates. */
bench_spread bench_inverse(bench_spread s, double factor);

void bench_record(const bench_row *row);

/* For the many rows that have no number of a paper beside them. */
void bench_note(const char *table, const char *row, const char *quantity, bench_kind kind, bench_spread spread);
void bench_value(const char *table, const char *row, const char *quantity, bench_kind kind, double value);

/* A rate in GB/s and its share of a limit, from bytes and milliseconds: two rows, "QUANTITY bandwidth" and "QUANTITY
 * share". The share. */
double bench_bandwidth(const char *table, const char *row, const char *quantity, double bytes, bench_spread ms,
                       double limit_gb_s);

/* ---- growth ---- */

/* Least-squares slope of log y over log x: the exponent of growth. NAN for fewer than two points or sizes. */
double bench_slope(const double *x, const double *y, size_t count);

/* Adds a point to a series; forks add to their parent's. */
void bench_point(const char *series, double size, double ms);

/* Records the series' exponent as a row of `table` and prints one line about it. */
void bench_growth(const char *table, const char *series, const char *size_name);

#endif
