/* What supple-import can still do to the machine it runs on, tried from inside: each case is a process of its own. */
#include "sandbox.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool shut_here(void)
{
    import_limit(1000, STDOUT_FILENO);
    return import_shut();
}

TEST(nothing_is_opened_started_or_reached)
{
    if (!shut_here()) SKIP("built without libseccomp, under a sanitizer, or on a kernel without filters");
    CHECK(open("/etc/passwd", O_RDONLY) < 0 && errno == EPERM);
    CHECK(open("new", O_WRONLY | O_CREAT, 0600) < 0 && errno == EPERM);
    CHECK(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
    CHECK(fork() < 0 && errno == EPERM);
    CHECK(unlink("new") < 0 && errno == EPERM);
    CHECK(kill(getppid(), SIGTERM) < 0 && errno == EPERM);
    char *const argv[] = {"true", NULL};
    CHECK(execv("/bin/true", argv) < 0 && errno == EPERM);
    CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) < 0);
    void *block = malloc(1 << 20); /* and what an importer needs goes on */
    CHECK(block != NULL && access(".", F_OK) == 0);
    free(block);
}

TEST(memory_has_an_end)
{
    signal(SIGXFSZ, SIG_IGN); /* a build that counts lines writes them at the end */
    import_limit(1000, STDOUT_FILENO);
    struct rlimit l;
    REQUIRE(getrlimit(RLIMIT_AS, &l) == 0);
    if (l.rlim_max == RLIM_INFINITY) SKIP("a sanitizer has the addresses");
    CHECK(l.rlim_max == (rlim_t)1 << 30);
    void *block = malloc((size_t)1 << 30);
    CHECK(block == NULL);
    free(block);
}

TEST(time_has_an_end)
{
    pid_t child = fork();
    if (child == 0) {
        import_limit(1000, STDOUT_FILENO);
        signal(SIGXCPU, SIG_IGN); /* as a library might */
        for (volatile unsigned long n = 0;; n++) {
        }
    }
    int status = 0;
    struct rusage used;
    REQUIRE(wait4(child, &status, 0, &used) == child);
    double seconds = (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
    CHECK(WIFSIGNALED(status) && seconds < (getenv("SUPPLE_SANITIZED") ? 40 : 2));
}

TEST(nothing_is_written_to_files)
{
    import_limit(1000, open("/dev/null", O_WRONLY));
    signal(SIGXFSZ, SIG_IGN);
    int file = open("new", O_WRONLY | O_CREAT, 0600);
    CHECK(file >= 0 && write(file, "x", 1) < 0 && errno == EFBIG);
    close(file);
}

TEST_CASES(RUN(nothing_is_opened_started_or_reached), RUN(memory_has_an_end), RUN(time_has_an_end),
           RUN(nothing_is_written_to_files))
