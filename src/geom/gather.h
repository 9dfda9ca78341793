/* Asks every leaf of one tree of boxes against another tree, on several threads, and keeps what a test accepts.
 *
 * Threads do not allocate: each piece of work has room of its own, counts on where it is full, and is done again with
 * enough room. From call to call room stays, so that this is rare. */
#ifndef SPL_GEOM_GATHER_H
#define SPL_GEOM_GATHER_H

#include "geom/box_tree.h"
#include "geom/distance.h"
#include "geom/sift.h"

/* Whether an item of the first tree and one of the second, whose boxes meet, are a pair, and which. May be called by
 * several threads at once. */
typedef bool spl_gather_test(const void *context, int32_t a, int32_t b, spl_pair *out);

typedef struct spl_gather_chunk {
    spl_pair *pair;
    size_t count, room;
    bool done; /* there was room for all */
} spl_gather_chunk;

typedef struct spl_gather {
    supple_allocator allocator;
    const spl_box_tree *from, *into; /* borrowed; the same one: each two items are asked once */
    spl_gather_chunk *chunk;
    int32_t chunk_count;
    size_t count; /* of all chunks */
} spl_gather;

/* What is asked before the test. */
typedef struct spl_gather_sieve {
    spl_sift *sift;                  /* NULL: nothing */
    const spl_sift_row *from, *into; /* by leaf */
} spl_gather_sieve;

/* A piece of work: leaves of `from` ask `into`. */
typedef struct spl_gather_walk {
    const spl_box_tree *from, *into;
    spl_gather_sieve sieve;
    spl_gather_test *test;
    const void *context;
    spl_gather_chunk *chunk; /* where what is found goes */
} spl_gather_walk;

/* Leaves [begin, end), for AVX2 alone: call it only where spl_cpu_has_avx2(). */
void spl_gather_walk_avx2(const spl_gather_walk *w, int32_t begin, int32_t end);

supple_result spl_gather_create(const spl_box_tree *from, const spl_box_tree *into, const supple_allocator *a,
                                spl_gather *out, supple_error *error);
void spl_gather_release(spl_gather *g);

/* Boxes of items that are both not free are none that meet. */
supple_result spl_gather_find(spl_gather *g, spl_gather_sieve sieve, spl_gather_test *test, const void *context,
                              spl_pool *pool, supple_error *error);

/* What was found, in order of kind and v, each once, into `out` (g->count). Linear in count and keys: v[0] is below
 * key_count, and `first` has room for key_count + 1. Returns how many. */
size_t spl_gather_sorted(const spl_gather *g, int32_t *first, int32_t key_count, spl_pool *pool, spl_pair *out);

#endif
