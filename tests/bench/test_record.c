/* The rows that benchmarks record: spreads, exponents of growth, lines of JSON. */
#include "record.h"
#include "test.h"

#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

/* Begins as a benchmark does, with a file for its rows. */
static FILE *begin(const char *name, bench_options *options)
{
    char number[16], quick[] = "--quick", other[] = "--other", program[] = "bench";
    char *argv[] = {program, quick, other, NULL};
    int argc = 3;
    FILE *file = tmpfile();
    if (!file) return NULL;
    snprintf(number, sizeof number, "%d", fileno(file));
    setenv("SUPPLE_BENCH_ROWS", number, 1);
    *options = bench_begin(name, &argc, argv);
    CHECK(argc == 2 && strcmp(argv[1], "--other") == 0 && argv[2] == NULL);
    return file;
}

static json_t *read_row(FILE *file)
{
    char line[4096];
    return fgets(line, sizeof line, file) ? json_loads(line, 0, NULL) : NULL;
}

static double number(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

TEST(exponents_of_power_laws_are_exact)
{
    static const double exponents[] = {-1, 0, 0.5, 1, 1.5, 3};
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        double x[7], y[7];
        for (int i = 0; i < 7; i++) {
            x[i] = 1000 * pow(2.3, i);
            y[i] = 0.017 * pow(x[i], exponents[e]);
        }
        CHECK_NEAR(bench_slope(x, y, 7), exponents[e], 1e-12);
        CHECK_NEAR(bench_slope(x, y, 2), exponents[e], 1e-12);
    }
}

TEST(exponents_of_scattered_points_are_least_squares)
{
    /* by hand: logs to base 10 of sizes 0, 1, 2 and of times 0, 2, 1: slope 1/2 */
    const double x[] = {1, 10, 100}, y[] = {1, 100, 10}, same[] = {5, 5, 5}, zero[] = {0, 0, 0};
    CHECK_NEAR(bench_slope(x, y, 3), 0.5, 1e-12);
    CHECK(isnan(bench_slope(x, y, 1)) && isnan(bench_slope(same, y, 3)) && isnan(bench_slope(x, zero, 3)));
}

TEST(spreads_are_quartiles)
{
    const double v[] = {5, 1, 4, 2, 3}, w[] = {4, 1, 3, 2}, one[] = {7};
    bench_spread s = bench_spread_of(v, 5), t = bench_spread_of(w, 4), u = bench_spread_of(one, 1);
    CHECK(s.min == 1 && s.low == 2 && s.median == 3 && s.high == 4 && s.max == 5 && s.runs == 5);
    CHECK(v[0] == 5); /* the order stays */
    CHECK_NEAR(t.low, 1.75, 1e-15);
    CHECK_NEAR(t.median, 2.5, 1e-15);
    CHECK_NEAR(t.high, 3.25, 1e-15);
    CHECK(u.min == 7 && u.max == 7 && u.runs == 1);
    bench_spread r = bench_inverse(s, 10);
    CHECK(r.min == 2 && r.low == 2.5 && r.high == 5 && r.max == 10);
    CHECK(isnan(bench_spread_of(v, 0).min) && isnan(bench_least(3, 9).median));
}

TEST(rows_are_json_whatever_their_names_are)
{
    bench_options o;
    FILE *file = begin("try\"it", &o);
    REQUIRE(file);
    CHECK(o.quick && !o.full);
    bench_record(&(bench_row){.table = "a \"b\" \\ c",
                              .row = "bell\a and\nline",
                              .quantity = "q",
                              .kind = BENCH_MS,
                              .spread = bench_least(1.5, 3),
                              .paper = 12});
    bench_value("t", "r", "infinite", BENCH_RATE, INFINITY);
    rewind(file);
    json_t *first = read_row(file), *second = read_row(file);
    REQUIRE(first && second);
    CHECK(strcmp(json_string_value(json_object_get(first, "bench")), "try\"it") == 0);
    CHECK(strcmp(json_string_value(json_object_get(first, "table")), "a \"b\" \\ c") == 0);
    CHECK(strcmp(json_string_value(json_object_get(first, "row")), "bell andline") == 0);
    CHECK(number(first, "min") == 1.5 && number(first, "paper") == 12 && number(first, "runs") == 3);
    CHECK(json_is_null(json_object_get(first, "median")) && json_is_null(json_object_get(first, "wanted")));
    CHECK(strcmp(json_string_value(json_object_get(second, "better")), "more") == 0);
    CHECK(json_is_null(json_object_get(second, "min")));
    json_decref(first);
    json_decref(second);
    fclose(file);
}

TEST(growth_takes_the_points_of_forks)
{
    bench_options o;
    FILE *file = begin("grow", &o);
    REQUIRE(file);
    for (int i = 1; i <= 4; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            bench_point("a series", 100 * i, 3 * pow(100 * i, 1.25));
            bench_point("another", 100 * i, 7);
            _exit(0);
        }
        REQUIRE(child > 0 && waitpid(child, NULL, 0) == child);
    }
    bench_growth("growth", "a series", "things");
    rewind(file);
    json_t *row = read_row(file);
    REQUIRE(row);
    CHECK_NEAR(number(row, "min"), 1.25, 1e-6);
    CHECK(number(row, "from") == 100 && number(row, "to") == 400);
    json_decref(row);
    fclose(file);
}

TEST_CASES(RUN(exponents_of_power_laws_are_exact), RUN(exponents_of_scattered_points_are_least_squares),
           RUN(spreads_are_quartiles), RUN(rows_are_json_whatever_their_names_are),
           RUN(growth_takes_the_points_of_forks))
