/* A small pthread pool, or the host's own threads, behind one parallel loop. The work is cut the same way whatever the
 * number of threads, so results do not depend on it. */
#ifndef SPL_CORE_THREADS_H
#define SPL_CORE_THREADS_H

#include <supple/base.h>

typedef struct spl_pool spl_pool;

/* A pool for a config: its tasks callback if it has one, else thread_count pthreads (0: one per core). */
supple_result spl_pool_create(const supple_config *config, spl_pool **out, supple_error *error);
void spl_pool_destroy(spl_pool *pool);

int32_t spl_pool_thread_count(const spl_pool *pool);

/* The body of a loop over [begin, end). */
typedef void spl_loop_fn(void *context, size_t begin, size_t end);

/* Calls body on consecutive pieces of [0, count), each of at most `grain` elements, and returns when all are done.
 * Pieces depend on count and grain alone. Runs on the calling thread if pool is NULL. Not reentrant. */
void spl_parallel_for(spl_pool *pool, size_t count, size_t grain, spl_loop_fn *body, void *context);

#endif
