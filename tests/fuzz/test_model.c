/* Replays found_model/: models of `supple demo NAME --detail 0.25`, trained with --samples 2 --set modes=6 --set
 * derivatives=1 at --resolution 4 and --rank 2 (arm), 8 and 3 with --dents 2 (arm-dents), 10 and 2 with --part
 * '*=flesh' (beam-rule); and inputs that once broke something. */
#include "corpus.h"
#include "play.h"
#include "test.h"

static void play_one(void *user, const char *name, const uint8_t *data, size_t size)
{
    bool good = strncmp(name, "bad", 3) != 0;
    CHECK(play_exercise("found.supple", data, size) == good);
    if (!good) return;
    for (size_t cut = 0; cut < size; cut += 97) CHECK(!play_exercise("found.supple", data, cut));
    ++*(int *)user;
}

TEST(found_files_do_no_harm)
{
    int good = 0;
    CHECK(corpus_each("found_model", play_one, &good) >= 3);
    CHECK(good >= 3);
}

TEST_CASES(RUN(found_files_do_no_harm))
