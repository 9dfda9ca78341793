/* Which jobs may start by their memory, and words as a shell takes them. */
#include "batch.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

TEST(the_first_that_fits_starts)
{
    const double need[] = {900, 500, 100, 50};
    const bool waits[] = {true, true, true, true}, some[] = {true, false, true, true},
               none[] = {false, false, false, false};
    CHECK(cli_batch_pick(need, waits, 4, 1000, 1) == 0);
    CHECK(cli_batch_pick(need, waits, 4, 899, 1) == 1);
    CHECK(cli_batch_pick(need, some, 4, 500, 1) == 2); /* what runs already is not picked */
    CHECK(cli_batch_pick(need, waits, 4, 49, 3) == -1);
    CHECK(cli_batch_pick(need, waits, 4, -300, 1) == -1); /* more is taken than was foreseen */
    CHECK(cli_batch_pick(need, none, 4, 1000, 0) == -1);
}

TEST(what_would_not_fit_runs_alone)
{
    const double need[] = {900, 500};
    const bool waits[] = {true, true};
    CHECK(cli_batch_pick(need, waits, 2, 10, 0) == 0);
    CHECK(cli_batch_pick(need, waits, 2, 10, 1) == -1);
    CHECK(cli_batch_pick(need, waits, 2, -INFINITY, 0) == 0);
}

/* A job of the batch below. */
static cli_batch_job job(const char *character, const char *method, cli_batch_state state, double peak)
{
    cli_batch_job j = {.character = strdup(character), .method = method, .state = state, .vertices = 10000};
    j.record = peak > 0 ? json_pack("{s:f}", "peak_mb", peak) : NULL;
    return j;
}

TEST(what_like_jobs_took_is_believed_before_the_size)
{
    cli_batch_job jobs[] = {job("a", "mixed", CLI_BATCH_WAITING, 0), job("a", "mixed", CLI_BATCH_DONE, 300),
                            job("a", "mixed", CLI_BATCH_DONE, 700),  job("a", "reference", CLI_BATCH_DONE, 5000),
                            job("b", "mixed", CLI_BATCH_DONE, 6000), job("a", "mixed", CLI_BATCH_FAILED, 9000)};
    cli_batch b = {.job = jobs, .job_count = 6};
    CHECK_NEAR(cli_batch_need(&b, &jobs[0]), 770, 1e-9);
    cli_words_add(&jobs[2].options, "--set=max-tets=200000"); /* another size of body */
    CHECK_NEAR(cli_batch_need(&b, &jobs[0]), 330, 1e-9);
    jobs[1].state = CLI_BATCH_RUNNING;
    CHECK_NEAR(cli_batch_need(&b, &jobs[0]), cli_batch_estimate("mixed", 10000, 0), 1e-9);
    for (int i = 0; i < 6; i++) {
        free(jobs[i].character);
        json_decref(jobs[i].record);
        cli_words_free(&jobs[i].options);
    }
}

TEST(estimates_are_not_below_what_was_measured)
{
    CHECK(cli_batch_estimate("mixed", 2330, 90000) >= 190); /* a bat */
    CHECK(cli_batch_estimate("mixed", 20583, 0) >= 176);
    CHECK(cli_batch_estimate("linear", 34159, 0) >= 97);
    CHECK(cli_batch_estimate("projective", 14517, 0) >= 91);
    CHECK(cli_batch_estimate("steklov", 14517, 0) >= 200);
    CHECK(cli_batch_estimate("reference", 14517, 0) >= 336);
    CHECK(cli_batch_estimate("auto", -1, 0) >= cli_batch_estimate("auto", 40000, 0));
    CHECK(cli_batch_estimate("mixed", 1000, 600000) > 5 * cli_batch_estimate("mixed", 1000, 0));
}

TEST(a_share_of_memory_counts_what_runs)
{
    cli_batch_job jobs[] = {job("a", "mixed", CLI_BATCH_RUNNING, 0), job("a", "mixed", CLI_BATCH_WAITING, 0)};
    cli_batch b = {.job = jobs, .job_count = 2, .memory_mb = 1000};
    jobs[0].need_mb = 300;
    CHECK_NEAR(cli_batch_free(&b), 700, 1e-9);
    for (int i = 0; i < 2; i++) free(jobs[i].character);
}

/* What a shell makes of a quoted word. */
static bool survives(const char *word)
{
    char command[4096], back[1024] = "", *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return false;
    cli_words_quote(out, word);
    fclose(out);
    snprintf(command, sizeof command, "printf %%s %s", text);
    bool one_line = !strchr(text, '\n');
    free(text);
    FILE *shell = popen(command, "r");
    size_t length = shell ? fread(back, 1, sizeof back - 1, shell) : 0;
    back[length] = 0;
    return shell && pclose(shell) == 0 && one_line && strcmp(back, word) == 0;
}

TEST(words_come_through_a_shell_as_they_were)
{
    static const char *const words[] = {
        "plain", "",      "two words", "it's",  "$(touch x)", "`touch x`",   "a\nb.glb",
        "-n",    "a\\nb", "%s%d",      "\"q\"", "*?[a]",      "a\tb\\\001",  "\xc3\xa9.glb",
        "~root", "#a",    "a;b&c|d>e", "=x",    "!$HOME\\'",  "a'\nb'c.glb", "\x1b[31m%\\.x"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) CHECK(survives(words[i]));
}

TEST_CASES(RUN(the_first_that_fits_starts), RUN(what_would_not_fit_runs_alone),
           RUN(what_like_jobs_took_is_believed_before_the_size), RUN(estimates_are_not_below_what_was_measured),
           RUN(a_share_of_memory_counts_what_runs), RUN(words_come_through_a_shell_as_they_were))
