/* Claims of poses in a shared folder: one of several gets a pose, a dead one's is taken over, whatever clocks say. */
#include "core/memory.h"
#include "core/timer.h"
#include "failing.h"
#include "subspace/claims.h"
#include "test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { POSES = 8 };

static const char folder[] = "claims";

static void begin(spl_claims *c, double lease)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    mkdir(folder, 0777);
    if (spl_claims_open(c, folder, POSES, lease, &a, &error) != SUPPLE_OK) printf("    %s\n", error.message);
}

static bool take(spl_claims *c, int32_t pose)
{
    bool taken = false;
    CHECK(spl_claims_take(c, pose, &taken, NULL) == SUPPLE_OK);
    return taken;
}

static bool take_over(spl_claims *c, int32_t pose)
{
    bool taken = false;
    CHECK(spl_claims_take_over(c, pose, &taken, NULL) == SUPPLE_OK);
    return taken;
}

static void nap_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, 1000000L * (ms % 1000)}, NULL);
}

/* A claim by a process that is no more, last touched so many seconds ago (or that far in the future). */
static void leave_claim(const char *name, double seconds_ago)
{
    char path[64];
    struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}};
    clock_gettime(CLOCK_REALTIME, &t[1]);
    t[1].tv_sec -= (time_t)seconds_ago;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) abort();
    fputs("worker-elsewhere-1-0\n", file);
    fclose(file);
    utimensat(AT_FDCWD, path, t, 0);
}

static void put_pose(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
}

static bool is_there(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

TEST(one_of_two_gets_a_pose)
{
    spl_claims a, b;
    begin(&a, 60), begin(&b, 60);
    bool gone;
    CHECK(take(&a, 3) && !take(&b, 3) && b.pose[3].held && take(&b, 4));
    CHECK(!take_over(&b, 3)); /* it lives */
    CHECK(spl_claims_scan(&b, &gone, NULL) == SUPPLE_OK && !gone && b.pose[3].held && !b.pose[5].held);
    spl_claims_give(&b, 3); /* not its own */
    CHECK(is_there("pose-00003.claim"));
    put_pose("pose-00003");
    spl_claims_give(&a, 3);
    CHECK(!is_there("pose-00003.claim"));
    CHECK(!take(&b, 3) && b.pose[3].there && !is_there("pose-00003.claim")); /* solved since it looked */
    spl_claims_discard(&b, 3);
    CHECK(take(&b, 3));
    spl_claims_close(&a);
    spl_claims_close(&b);
}

/* As if it had watched a claim for that long. */
static void watch(spl_claims *c, int32_t pose, double seconds)
{
    c->pose[pose].since -= 1000 * seconds;
}

/* The last touch against that of a file that is touched now: this machine's clock is not asked. */
TEST(a_claim_that_nobody_renews_is_taken_over)
{
    spl_claims a;
    begin(&a, 60);
    bool gone;
    leave_claim("pose-00001.claim", 50);
    leave_claim("pose-00002.claim", 61);
    CHECK(!take(&a, 1) && !take(&a, 2));
    CHECK(!take_over(&a, 1) && !take_over(&a, 2) && !a.pose[1].suspect && a.pose[2].suspect);
    watch(&a, 1, 19), watch(&a, 2, 19);
    CHECK(!take_over(&a, 1) && !take_over(&a, 2));
    watch(&a, 1, 2), watch(&a, 2, 2);
    CHECK(!take_over(&a, 1) && take_over(&a, 2) && !take_over(&a, 2));
    CHECK(spl_claims_scan(&a, &gone, NULL) == SUPPLE_OK && !gone);
    CHECK(take_over(&a, 5)); /* given back since it looked */
    spl_claims_give(&a, 2);
    CHECK(!is_there("pose-00002.claim"));
    spl_claims_close(&a);
}

/* Clocks went ahead, or the claim's owner writes times by a slow one of its own: it is renewed, and stays. */
TEST(who_is_slow_is_not_dead)
{
    spl_claims a;
    begin(&a, 60);
    for (int k = 0; k < 5; k++) {
        leave_claim("pose-00001.claim", 7200 - 10 * k);
        CHECK(!take_over(&a, 1) && a.pose[1].suspect);
        watch(&a, 1, 19);
        CHECK(!take_over(&a, 1));
    }
    spl_claims_close(&a);
}

/* The server's clock went back: the claim is from the future, and is watched for a lease. */
TEST(clocks_may_jump)
{
    spl_claims a;
    begin(&a, 0.3);
    leave_claim("pose-00001.claim", -3600);
    CHECK(!take_over(&a, 1));
    nap_ms(150);
    CHECK(!take_over(&a, 1));
    nap_ms(200);
    CHECK(take_over(&a, 1));
    spl_claims_close(&a);
}

/* One touch renews all claims of a process, and what is renewed is not taken. */
TEST(a_living_process_keeps_its_claims)
{
    spl_claims a, b;
    begin(&a, 1), begin(&b, 1);
    CHECK(take(&a, 1) && take(&a, 2));
    double start = spl_now_ms();
    int lost = 0;
    while (spl_now_ms() - start < 1500) {
        lost += take_over(&b, 1) + take_over(&b, 2);
        nap_ms(20);
    }
    CHECK(lost == 0);
    spl_claims_close(&a);
    CHECK(is_there("pose-00001.claim")); /* as if it had died */
    spl_claims_close(&b);
}

enum { TAKERS = 4, ROUNDS = 100 };

typedef struct taker {
    spl_claims claims;
    int32_t won;
    atomic_int *round;
} taker;

static void *take_stale(void *context)
{
    taker *t = context;
    for (int r = 1; r <= ROUNDS; r++) {
        while (atomic_load(t->round) < r) sched_yield();
        bool taken = false;
        spl_claims_take_over(&t->claims, 1, &taken, NULL);
        watch(&t->claims, 1, 30);
        atomic_fetch_add(t->round + r, 1);
        while (atomic_load(t->round + r) < TAKERS) sched_yield();
        spl_claims_take_over(&t->claims, 1, &taken, NULL);
        t->won += taken;
        atomic_fetch_add(t->round + r, 1);
    }
    return NULL;
}

/* All find the same stale claim at once: somebody gets it every time, and hardly ever two. */
TEST(several_threads_take_over_at_once)
{
    atomic_int round[ROUNDS + 1] = {0}; /* the round, and how many are done with each */
    taker t[TAKERS];
    pthread_t thread[TAKERS];
    int none = 0, doubled = 0, before = 0;
    for (int k = 0; k < TAKERS; k++) {
        t[k] = (taker){.round = round};
        begin(&t[k].claims, 60);
        pthread_create(&thread[k], NULL, take_stale, &t[k]);
    }
    for (int r = 1; r <= ROUNDS; r++) {
        char path[64];
        snprintf(path, sizeof path, "%s/pose-00001.claim", folder);
        unlink(path);
        leave_claim("pose-00001.claim", 3600);
        atomic_store(round, r);
        while (atomic_load(round + r) < 2 * TAKERS) sched_yield();
        int won = 0;
        for (int k = 0; k < TAKERS; k++) won += t[k].won;
        none += won == before;
        doubled += won > before + 1;
        before = won;
        CHECK(is_there("pose-00001.claim"));
    }
    for (int k = 0; k < TAKERS; k++) {
        pthread_join(thread[k], NULL);
        spl_claims_close(&t[k].claims);
    }
    printf("    %d of %d rounds had two\n", doubled, ROUNDS);
    CHECK(none == 0 && doubled <= ROUNDS / 10);
}

/* What else may lie in a folder. */
TEST(strange_names_are_passed_over)
{
    spl_claims a;
    begin(&a, 60);
    bool gone;
    static const char *const names[] = {"pose-99999",
                                        "pose-0001",
                                        "pose-00001x",
                                        "pose-00002.claimed",
                                        "pose-",
                                        "pose-00000000000000000000003",
                                        "pose-00004.claim.stale"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) put_pose(names[i]);
    CHECK(mkfifo("claims/pose-00006.claim", 0666) == 0);
    CHECK(symlink("/dev/zero", "claims/pose-00007.claim") == 0);
    CHECK(spl_claims_scan(&a, &gone, NULL) == SUPPLE_OK);
    for (int32_t i = 0; i < 6; i++) CHECK(i == 3 || (!a.pose[i].there && !a.pose[i].held));
    CHECK(!take(&a, 6) && !take(&a, 7));
    spl_claims_close(&a);
}

TEST(a_folder_that_goes_away)
{
    spl_claims a;
    begin(&a, 60);
    bool gone, taken = true;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, a.own);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
    CHECK(spl_claims_take(&a, 1, &taken, NULL) == SUPPLE_OK && !taken);
    CHECK(spl_claims_scan(&a, &gone, NULL) == SUPPLE_OK && gone);
    spl_claims_close(&a);
    supple_allocator al = spl_allocator_of(NULL);
    supple_error error;
    CHECK(spl_claims_open(&a, "no-such-folder", POSES, 60, &al, &error) == SUPPLE_ERROR_OUTPUT);
    CHECK(strstr(error.message, "No such file"));
}

static supple_result open_failing(const supple_allocator *a)
{
    spl_claims c;
    mkdir(folder, 0777);
    supple_result result = spl_claims_open(&c, folder, POSES, 60, a, NULL);
    spl_claims_close(&c);
    return result;
}

TEST(every_allocation_may_fail)
{
    failing f = {.fail_at = 0};
    supple_allocator a = failing_allocator(&f);
    CHECK(open_failing(&a) == SUPPLE_ERROR_MEMORY);
    CHECK(open_failing(&a) == SUPPLE_OK && f.live == 0);
}

TEST_CASES(RUN(one_of_two_gets_a_pose), RUN(a_claim_that_nobody_renews_is_taken_over), RUN(who_is_slow_is_not_dead),
           RUN(clocks_may_jump), RUN(a_living_process_keeps_its_claims), RUN(several_threads_take_over_at_once),
           RUN(strange_names_are_passed_over), RUN(a_folder_that_goes_away), RUN(every_allocation_may_fail))
