/* The cache of what is computed once per character: stores in a folder of the user's, named by content.
 *
 * The folder is $SUPPLE_CACHE, else $XDG_CACHE_HOME/supple, else $HOME/.cache/supple; it is made with mode 0700 and
 * refused unless the user owns it and nobody else may write there. A cache never fails a computation: what goes wrong
 * is a warning in the log, and the result is computed afresh.
 *
 *     spl_cache *cache;
 *     spl_cache_open(NULL, config, &cache, error);
 *     spl_store_id id = {"body", BODY_VERSION, spl_digest_end(&digest)};
 *     spl_store_reader *found = spl_cache_find(cache, &id);      NULL: compute, then
 *     spl_store_writer *writer = spl_cache_begin(cache, &id);    NULL where nothing can be kept
 *     if (writer) spl_store_add(writer, ...);                    failures are remembered
 *     spl_cache_publish(cache, writer);
 *
 * Files appear whole, by renaming, so any number of processes may fill one cache: the last one wins, with the same
 * content. When the files together exceed the limit, those longest unused go. */
#ifndef SPL_CORE_CACHE_H
#define SPL_CORE_CACHE_H

#include "core/store.h"

typedef struct spl_cache spl_cache;

/* A zeroed struct, or NULL, is the default. */
typedef struct spl_cache_options {
    const char *folder; /* instead of the environment's */
    uint64_t limit;     /* bytes; 0: 2 GB */
    bool off;           /* keep and find nothing, silently (--no-cache) */
} spl_cache_options;

/* Fails for lack of memory only; a cache that cannot be used is one that is off, after a warning. */
supple_result spl_cache_open(const spl_cache_options *options, const supple_config *config, spl_cache **out,
                             supple_error *error);
void spl_cache_close(spl_cache *cache); /* accepts NULL */

/* The folder in use, or NULL if the cache is off. */
const char *spl_cache_folder(const spl_cache *cache);

/* A store that was kept under this id, checked in full, or NULL. A file that is damaged or foreign is removed with a
 * warning. Being found counts as use. */
spl_store_reader *spl_cache_find(spl_cache *cache, const spl_store_id *id);

/* For a caller who found the arrays of a store to make no sense: closes it, removes the file and warns with `reason`.
 */
void spl_cache_reject(spl_cache *cache, const spl_store_id *id, spl_store_reader *reader, const char *reason);

/* A store to be filled, or NULL (after one warning) if nothing can be written. */
spl_store_writer *spl_cache_begin(spl_cache *cache, const spl_store_id *id);

/* Completes a store and keeps to the size limit. True if it was kept; a failure is a warning. Accepts a NULL writer. */
bool spl_cache_publish(spl_cache *cache, spl_store_writer *writer);

/* Removes what is over the limit, longest unused first, and what writers that died have left. */
void spl_cache_trim(spl_cache *cache);

#endif
