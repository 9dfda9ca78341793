/* Who solves which pose, where several processes on several machines share one folder.
 *
 *   training              what the poses belong to: the first one writes it, the others are held against it
 *   worker-NAME           one file a process, with its name in it; it is touched again and again while the process
 * lives pose-00012.claim      a hard link to the file of the process that solves the pose: one touch renews all its
 * claims pose-00012            the solved pose, whole from the moment it has its name
 *
 * A link is made by the file server or not at all, on NFS too, where a file that must not be there yet (O_EXCL) was not
 * always safe; and where the answer is lost, what the claim says tells whose it is. A claim is stale when its file was
 * not touched for a lease, by the time of our own file, touched by the same server at this moment, and was not touched
 * while we watched it for a third of a lease, or when we watched it for a lease, whatever times say. So no machine's
 * clock is asked but our own monotonic one, and nobody who lives is taken for dead where clocks differ or jump, even on
 * file systems whose clients write the times. A stale claim is moved to a name of our own, which one of several can do,
 * and looked at once more: if it is not what was stale, it is put back. When two solve one pose after all (a process
 * that slept longer than its lease) both write the same bytes. */
#ifndef SPL_SUBSPACE_CLAIMS_H
#define SPL_SUBSPACE_CLAIMS_H

#include "core/digest.h"

#include <pthread.h>
#include <stdint.h>
#include <supple/base.h>

enum { SPL_CLAIM_TEXT = 128 };

/* What we know of a pose. */
typedef struct spl_claim {
    bool there;      /* its file is */
    bool held;       /* by another process, when we last looked */
    bool suspect;    /* and old, but not watched for long enough */
    spl_key who;     /* whose claim was seen there */
    int64_t touched; /* the server's time of its last touch, ns */
    double since;    /* our own time at which that was first seen, ms */
} spl_claim;

typedef struct spl_claims {
    supple_allocator allocator;
    int folder;                   /* its descriptor */
    char own[SPL_CLAIM_TEXT - 2]; /* the file of this process, with its name */
    char text[SPL_CLAIM_TEXT];    /* what is in it */
    double lease;                 /* ms */
    int32_t count;
    spl_claim *pose;
    int32_t moved; /* stale claims that were moved so far, for their names */
    pthread_t heart;
    pthread_mutex_t lock; /* of `ending` */
    pthread_cond_t bell;
    bool beating, ending;
} spl_claims;

/* Begins to work in a folder that is there, with `count` poses. `lease` is in seconds. */
supple_result spl_claims_open(spl_claims *c, const char *folder, int32_t count, double lease, const supple_allocator *a,
                              supple_error *error);

/* Removes what says that this process lives. Safe on a zeroed one. */
void spl_claims_close(spl_claims *c);

/* Looks what is there and what is held. *gone: the folder was removed, or this process's file in it. */
supple_result spl_claims_scan(spl_claims *c, bool *gone, supple_error *error);

/* Takes a pose: *taken, or it is held by another process (`held`), or solved (`there`). */
supple_result spl_claims_take(spl_claims *c, int32_t pose, bool *taken, supple_error *error);

/* The same where the pose's claim is stale: its process died or cannot be reached. */
supple_result spl_claims_take_over(spl_claims *c, int32_t pose, bool *taken, supple_error *error);

/* Gives a pose back, solved (its file is there) or not. A claim that another one took over stays. */
void spl_claims_give(spl_claims *c, int32_t pose);

/* Removes the file of a pose that turned out to be damaged. */
void spl_claims_discard(spl_claims *c, int32_t pose);

#endif
