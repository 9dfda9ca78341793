#include "subspace/claims.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME = 64 }; /* of a file beside the poses */

static const double beats = 6;         /* touches in a lease */
static const double watched = 1.0 / 3; /* of a lease: for so long an old claim is watched */
static const double slowest_ms = 5000; /* between two, whatever the lease: others may have a shorter one */

static void claim_name(int32_t pose, char name[NAME])
{
    snprintf(name, NAME, "pose-%05d.claim", (int)pose);
}

static void pose_name(int32_t pose, char name[NAME])
{
    snprintf(name, NAME, "pose-%05d", (int)pose);
}

static supple_result cannot(const char *what, supple_error *error)
{
    const char *reason = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK
                             ? "its file system has no hard links, which claims are"
                             : strerror(errno);
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "the folder of poses: %s: %s", what, reason);
}

/* ---- this process ---- */

/* Lets the server write its own time. */
static void touch(const spl_claims *c)
{
    utimensat(c->folder, c->own, NULL, 0);
}

static void *beat(void *context)
{
    spl_claims *c = context;
    double ms = fmin(c->lease / beats, slowest_ms);
    pthread_mutex_lock(&c->lock);
    while (!c->ending) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        int64_t at = t.tv_nsec + (int64_t)(ms * 1e6);
        t.tv_sec += at / 1000000000;
        t.tv_nsec = at % 1000000000;
        if (pthread_cond_timedwait(&c->bell, &c->lock, &t) == ETIMEDOUT) touch(c);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void name_ourselves(spl_claims *c)
{
    char host[40] = "";
    uint64_t number = 0;
    gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++) /* it becomes part of a file's name */
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *p)) *p = '_';
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) number = (uint64_t)(spl_now_ms() * 1e6);
    snprintf(c->own, sizeof c->own, "worker-%s-%ld-%016llx", host, (long)getpid(), (unsigned long long)number);
    snprintf(c->text, sizeof c->text, "%s\n", c->own);
}

/* The random number in its name makes the file ours; O_EXCL is not what that rests on. */
static supple_result write_ourselves(spl_claims *c, supple_error *error)
{
    int fd = openat(c->folder, c->own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    size_t n = strlen(c->text);
    if (fd < 0) {
        supple_result result = cannot("cannot be written to", error);
        c->own[0] = 0;
        return result;
    }
    errno = ENOSPC;
    bool written = write(fd, c->text, n) == (ssize_t)n && fsync(fd) == 0;
    int reason = errno;
    if (close(fd) == 0 && written) return SUPPLE_OK;
    errno = reason;
    return cannot("cannot be written to", error);
}

static supple_result start_heart(spl_claims *c, supple_error *error)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&c->bell, &attributes);
    pthread_condattr_destroy(&attributes);
    c->beating = pthread_create(&c->heart, NULL, beat, c) == 0;
    if (c->beating) return SUPPLE_OK;
    pthread_cond_destroy(&c->bell);
    pthread_mutex_destroy(&c->lock);
    return spl_fail(error, SUPPLE_ERROR_MEMORY, "a thread that renews claims cannot be started");
}

supple_result spl_claims_open(spl_claims *c, const char *folder, int32_t count, double lease, const supple_allocator *a,
                              supple_error *error)
{
    *c = (spl_claims){.allocator = *a, .folder = -1, .lease = 1000 * lease, .count = count};
    c->pose = spl_new(a, (size_t)count, sizeof *c->pose);
    if (!c->pose) return spl_fail_memory(error, "claims");
    c->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    supple_result result = c->folder >= 0 ? SUPPLE_OK : cannot("cannot be opened", error);
    name_ourselves(c);
    if (result == SUPPLE_OK) result = write_ourselves(c, error);
    if (result == SUPPLE_OK) result = start_heart(c, error);
    if (result != SUPPLE_OK) spl_claims_close(c);
    return result;
}

void spl_claims_close(spl_claims *c)
{
    if (!c->allocator.release) return;
    if (c->beating) {
        pthread_mutex_lock(&c->lock);
        c->ending = true;
        pthread_cond_signal(&c->bell);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->heart, NULL);
        pthread_cond_destroy(&c->bell);
        pthread_mutex_destroy(&c->lock);
    }
    if (c->folder >= 0 && c->own[0]) unlinkat(c->folder, c->own, 0);
    if (c->folder >= 0) close(c->folder);
    spl_free(&c->allocator, c->pose);
    *c = (spl_claims){0};
}

/* ---- what others do ---- */

/* Whose file that is and when it was last touched. It is opened, because an NFS client asks its server again then. */
static bool look(const spl_claims *c, const char *name, spl_key *who, int64_t *touched)
{
    char text[2 * SPL_CLAIM_TEXT];
    struct stat st;
    int fd = openat(c->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, text, sizeof text) : -1;
    close(fd);
    if (n < 0) return false;
    *who = spl_digest_of(text, (size_t)n);
    *touched = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return true;
}

static bool same_key(spl_key a, spl_key b)
{
    return a.part[0] == b.part[0] && a.part[1] == b.part[1];
}

static bool is_ours(const spl_claims *c, const char *name)
{
    spl_key who;
    int64_t touched;
    return look(c, name, &who, &touched) && same_key(who, spl_digest_of(c->text, strlen(c->text)));
}

/* The number in pose-NUMBER, and what stands behind it; -1 for any other name. */
static int32_t number_of(const char *name, int32_t count, const char **rest)
{
    char *end;
    if (strncmp(name, "pose-", 5) != 0 || strspn(name + 5, "0123456789") < 5) return -1;
    long number = strtol(name + 5, &end, 10);
    *rest = end;
    return number < count ? (int32_t)number : -1;
}

static void note(spl_claims *c, const char *name)
{
    const char *rest = NULL;
    int32_t i = number_of(name, c->count, &rest);
    if (i < 0) return;
    if (!*rest) c->pose[i].there = true;
    if (strcmp(rest, ".claim") == 0) c->pose[i].held = true;
}

supple_result spl_claims_scan(spl_claims *c, bool *gone, supple_error *error)
{
    *gone = faccessat(c->folder, c->own, F_OK, 0) != 0 && errno == ENOENT;
    if (*gone) return SUPPLE_OK;
    int fd = openat(c->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        supple_result result = cannot("cannot be read", error);
        if (fd >= 0) close(fd);
        return result;
    }
    for (int32_t i = 0; i < c->count; i++) c->pose[i].there = c->pose[i].held = c->pose[i].suspect = false;
    for (const struct dirent *e; (e = readdir(dir));) note(c, e->d_name);
    closedir(dir);
    return SUPPLE_OK;
}

/* ---- claims ---- */

static bool is_there(const spl_claims *c, int32_t pose)
{
    char name[NAME];
    pose_name(pose, name);
    int fd = openat(c->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* not what a client remembers */
    if (fd >= 0) close(fd);
    return fd >= 0;
}

void spl_claims_give(spl_claims *c, int32_t pose)
{
    char name[NAME];
    claim_name(pose, name);
    if (is_ours(c, name)) unlinkat(c->folder, name, 0);
}

supple_result spl_claims_take(spl_claims *c, int32_t pose, bool *taken, supple_error *error)
{
    char name[NAME];
    claim_name(pose, name);
    *taken = false;
    int reason = linkat(c->folder, c->own, c->folder, name, 0) == 0 ? 0 : errno;
    if (reason && !is_ours(c, name)) { /* else the answer was lost */
        c->pose[pose].held = true;
        if (reason == EEXIST || reason == ENOENT) return SUPPLE_OK; /* the next scan finds that the folder is gone */
        errno = reason;
        return cannot("a pose cannot be taken", error);
    }
    c->pose[pose].held = false;
    c->pose[pose].there = is_there(c, pose); /* solved since we looked */
    if (c->pose[pose].there) spl_claims_give(c, pose);
    *taken = !c->pose[pose].there;
    return SUPPLE_OK;
}

/* Whether a claim was not renewed for a lease; *vacant: it is not there any more. */
static bool is_stale(spl_claims *c, int32_t pose, const char *name, bool *vacant)
{
    spl_claim *seen = &c->pose[pose];
    spl_key who, us;
    int64_t touched, now;
    *vacant = !look(c, name, &who, &touched);
    if (*vacant || same_key(who, spl_digest_of(c->text, strlen(c->text)))) return false;
    double ms = spl_now_ms();
    bool changed = !same_key(who, seen->who) || touched != seen->touched || seen->since == 0;
    if (changed)
        *seen = (spl_claim){.there = seen->there, .held = seen->held, .who = who, .touched = touched, .since = ms};
    touch(c);
    if (!look(c, c->own, &us, &now)) return false;
    bool old = (double)(now - touched) / 1e6 > c->lease;
    seen->suspect = old;
    return ms - seen->since > c->lease * (old ? watched : 1);
}

/* Two may find one claim stale: only one of them moves it, and who comes late may move the other's new one. */
static bool move_stale(spl_claims *c, int32_t pose, const char *name)
{
    char moved[SPL_CLAIM_TEXT + NAME];
    spl_key who;
    int64_t touched;
    snprintf(moved, sizeof moved, "pose-%05d.stale-%s-%d", (int)pose, c->own + sizeof "worker", (int)c->moved++);
    if (renameat(c->folder, name, c->folder, moved) != 0) return false;
    bool right = look(c, moved, &who, &touched) && same_key(who, c->pose[pose].who) && touched == c->pose[pose].touched;
    if (!right) (void)!linkat(c->folder, moved, c->folder, name, 0); /* if it is held again by now, two solve it */
    unlinkat(c->folder, moved, 0);
    return right;
}

supple_result spl_claims_take_over(spl_claims *c, int32_t pose, bool *taken, supple_error *error)
{
    char name[NAME];
    bool vacant;
    claim_name(pose, name);
    *taken = false;
    if (!is_stale(c, pose, name, &vacant) && !vacant) return SUPPLE_OK;
    if (!vacant && !move_stale(c, pose, name)) return SUPPLE_OK;
    return spl_claims_take(c, pose, taken, error);
}

void spl_claims_discard(spl_claims *c, int32_t pose)
{
    char name[NAME];
    pose_name(pose, name);
    unlinkat(c->folder, name, 0);
    c->pose[pose].there = false;
}
