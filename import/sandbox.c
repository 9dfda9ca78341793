#include "sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#ifdef SPL_HAVE_SECCOMP
#include <seccomp.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0 /* sanitizers reserve terabytes of addresses, and open files of their own */
#endif

/* Measured: the largest good file here (2.4 MB of FBX) takes 0.1 s and 60 MB. */
#define LEAST_MEMORY    ((rlim_t)1 << 30)
#define MEMORY_A_BYTE   20
#define LEAST_SECONDS   1
#define BYTES_A_SECOND  ((rlim_t)2 << 20)
#define ANSWER_A_BYTE   64
#define LEAST_ANSWER    ((rlim_t)64 << 20)
#define MOST_OPEN_FILES 16

/* What whoever started us allows already counts, where it is less: root could raise it again. A macro, for what a limit
 * is named by is an enumeration in one system's headers and a number in another's. */
#define limit(what, most)                                                                                              \
    do {                                                                                                               \
        struct rlimit l;                                                                                               \
        rlim_t had = getrlimit(what, &l) == 0 ? l.rlim_cur : RLIM_INFINITY, top = (most),                              \
               least = had < top ? had : top;                                                                          \
        setrlimit(what, &(struct rlimit){least, least});                                                               \
    } while (0)

void import_limit(size_t input, int out)
{
    struct stat st;
    bool to_file = fstat(out, &st) == 0 && S_ISREG(st.st_mode); /* by hand; else a pipe, which has no such limit */
    rlim_t memory = MEMORY_A_BYTE * (rlim_t)input;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (SANITIZED ? 20 : 1) * (LEAST_SECONDS + (rlim_t)input / BYTES_A_SECOND));
    limit(RLIMIT_FSIZE, to_file ? LEAST_ANSWER + ANSWER_A_BYTE * (rlim_t)input : 0);
    limit(RLIMIT_NOFILE, MOST_OPEN_FILES);
    if (!SANITIZED) limit(RLIMIT_AS, memory > LEAST_MEMORY ? memory : LEAST_MEMORY);
}

#ifdef SPL_HAVE_SECCOMP
/* Memory that can be executed is no memory for data. */
static int allow_without(scmp_filter_ctx filter, int call, unsigned argument, uint64_t bits)
{
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bits, 0));
}

/* `access` is for images beside the input: whether they are there, not what is in them. Everything else fails with
 * EPERM instead of a kill: a library that asks for a locale or for randomness goes on without. */
static bool allow_all(scmp_filter_ctx filter)
{
    static const int calls[] = {SCMP_SYS(read),          SCMP_SYS(write),        SCMP_SYS(writev),
                                SCMP_SYS(close),         SCMP_SYS(fstat),        SCMP_SYS(newfstatat),
                                SCMP_SYS(lseek),         SCMP_SYS(munmap),       SCMP_SYS(mremap),
                                SCMP_SYS(madvise),       SCMP_SYS(brk),          SCMP_SYS(futex),
                                SCMP_SYS(getrandom),     SCMP_SYS(getpid),       SCMP_SYS(gettid),
                                SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(access),
                                SCMP_SYS(faccessat),     SCMP_SYS(faccessat2),   SCMP_SYS(rt_sigprocmask),
                                SCMP_SYS(rt_sigaction),  SCMP_SYS(rt_sigreturn), SCMP_SYS(tgkill),
                                SCMP_SYS(exit),          SCMP_SYS(exit_group),   SCMP_SYS(restart_syscall)};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
        if (result != 0 && result != -EDOM) return false; /* -EDOM: this machine has no such call */
    }
    return allow_without(filter, SCMP_SYS(mmap), 2, PROT_EXEC) == 0 &&
           allow_without(filter, SCMP_SYS(mprotect), 2, PROT_EXEC) == 0;
}

bool import_shut(void)
{
    if (SANITIZED) return false;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    bool shut = filter && allow_all(filter) && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return shut;
}
#else
bool import_shut(void)
{
    return false;
}
#endif
