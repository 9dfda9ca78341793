/* A room's test program. Without words it runs every case, each in a process of its own, so that a crash, a leak or a
 * file-wide variable of one is none of another's, and in an empty folder that is removed after it. A case is named
 * FILE.CASE (tests/body/test_attach.c: attach.NAME).
 *
 *     tests/body [--list] [--here] [CASE...]
 *
 *     --list      the names, one a line
 *     --here      in this process, one after the other: for a debugger
 *     CASE...     only these
 *
 * SUPPLE_TEST_ONLY=WORD: only cases with this in their names. SUPPLE_TEST_SECONDS=N: a case that takes longer is ended
 * and has failed. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int test_failures;
const char *test_skipped;

static spl_test_file *first_file;
static bool
    own_cache; /* bodies are kept in the case's folder, not with the user's: another build's may differ in a bit */

enum { NAME_MAX_LENGTH = 200, FAILED = 1, SKIPPED = 2 };

typedef struct counts {
    int passed, failed, skipped;
} counts;

void test_add(spl_test_file *file)
{
    spl_test_file **at = &first_file; /* by path: the order of constructors is the linker's */
    while (*at && strcmp((*at)->path, file->path) < 0) at = &(*at)->next;
    file->next = *at;
    *at = file;
}

/* tests/ROOM/test_X.c, tests/ROOM/FOLDER/test_X.c: X.CASE */
static void name_of(const spl_test_file *file, const spl_test *test, char name[NAME_MAX_LENGTH])
{
    const char *base = strrchr(file->path, '/');
    base = base ? base + 1 : file->path;
    if (strncmp(base, "test_", 5) == 0) base += 5;
    snprintf(name, NAME_MAX_LENGTH, "%.*s.%s", (int)strcspn(base, "."), base, test->name);
}

static bool is_wanted(const char *name, int count, char **wanted)
{
    const char *only = getenv("SUPPLE_TEST_ONLY");
    if (only && !strstr(name, only)) return false;
    for (int i = 0; i < count; i++)
        if (strcmp(wanted[i], name) == 0) return true;
    return count == 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* A new folder to run a case in. The one that was current comes back as an open file, -1 if there is none. */
static int enter_folder(char folder[PATH_MAX])
{
    static const char name[] = "/case-XXXXXX";
    int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (back < 0 || !getcwd(folder, PATH_MAX - sizeof name)) return -1;
    memcpy(folder + strlen(folder), name, sizeof name);
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    if (own_cache) setenv("SUPPLE_CACHE", folder, 1);
    return back;
}

static void leave_folder(int back, const char *folder)
{
    if (fchdir(back) != 0) perror("tests");
    close(back);
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Runs one case. Returns 0, FAILED or SKIPPED, with the reason printed. */
static int run_here(const char *name, const spl_test *test)
{
    test_failures = 0;
    test_skipped = NULL;
    test->run();
    if (!test_failures && test_skipped) printf("skip %s: %s\n", name, test_skipped);
    fflush(stdout);
    return test_failures ? FAILED : test_skipped ? SKIPPED : 0;
}

/* The same in a process of its own. */
static int run_apart(const char *name, const spl_test *test)
{
    const char *limit = getenv("SUPPLE_TEST_SECONDS");
    pid_t child = fork();
    if (child == 0) {
        alarm(limit ? (unsigned)atoi(limit) : 300);
        exit(run_here(name, test)); /* not _exit: the leak checker's last look is at exit */
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) <= SKIPPED) return WEXITSTATUS(status);
    if (child < 0) printf("    no process for it: %s\n", strerror(errno));
    if (child > 0 && WIFEXITED(status)) printf("    exit %d\n", WEXITSTATUS(status));
    if (child > 0 && WIFSIGNALED(status))
        printf("    %s\n", WTERMSIG(status) == SIGALRM ? "took too long" : strsignal(WTERMSIG(status)));
    return FAILED;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_case(const char *name, const spl_test *test, bool here, counts *c)
{
    double start = now();
    char folder[PATH_MAX];
    int back = enter_folder(folder);
    int result = back < 0 ? FAILED : here ? run_here(name, test) : run_apart(name, test);
    if (back < 0)
        printf("    no folder for it: %s\n", strerror(errno));
    else
        leave_folder(back, folder);
    c->passed += result == 0;
    c->failed += result == FAILED;
    c->skipped += result == SKIPPED;
    if (result != SKIPPED) printf("%s %s %.2f s\n", result ? "FAIL" : "ok  ", name, now() - start);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool list = argc > 1 && strcmp(argv[1], "--list") == 0, here = argc > 1 && strcmp(argv[1], "--here") == 0;
    int words = 1 + (list || here);
    counts c = {0};
    own_cache = !getenv("SUPPLE_CACHE");
    for (const spl_test_file *file = first_file; file; file = file->next) {
        for (size_t i = 0; i < file->count; i++) {
            char name[NAME_MAX_LENGTH];
            name_of(file, &file->test[i], name);
            if (!is_wanted(name, argc - words, argv + words)) continue;
            if (list)
                puts(name);
            else
                run_case(name, &file->test[i], here, &c);
        }
    }
    if (list) return 0;
    printf("cases: %d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped);
    return c.failed != 0;
}
