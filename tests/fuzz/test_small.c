/* Replays found_small/: small files of every kind, good ones and (bad-*) ones that are refused. */
#include "corpus.h"
#include "small.h"
#include "test.h"

typedef struct tally {
    small_world world;
    int good[256], bad;
} tally;

static void read_one(void *user, const char *name, const uint8_t *data, size_t size)
{
    tally *t = user;
    bool good = small_exercise(&t->world, data, size);
    CHECK(good == (strncmp(name, "bad", 3) != 0));
    if (good != (strncmp(name, "bad", 3) != 0)) printf("    %s\n", name);
    if (good)
        t->good[data[0]]++;
    else
        t->bad++;
}

TEST(found_files_do_no_harm)
{
    static tally t;
    t.world = small_make();
    corpus_each("found_small", read_one, &t);
    for (const char *kind = "piclms"; *kind; kind++) CHECK(t.good[(uint8_t)*kind] >= 1);
    CHECK(t.bad >= 4);
    small_free(&t.world);
}

TEST_CASES(RUN(found_files_do_no_harm))
