/* An allocator that counts what lives and fails at the n-th request: for tests that make every allocation fail once. */
#ifndef SPL_TESTS_FAILING_H
#define SPL_TESTS_FAILING_H

#include <stdlib.h>
#include <supple/base.h>

typedef struct failing {
    long requests; /* so far */
    long fail_at;  /* the request that fails, from 0; -1 for none. All later ones succeed. */
    long live;     /* blocks not yet released */
    size_t asked;  /* bytes, of all requests */
} failing;

static inline void *failing_allocate(void *user, size_t size)
{
    failing *f = user;
    f->asked += size;
    if (f->requests++ == f->fail_at) return NULL;
    void *block = malloc(size);
    if (block) f->live++;
    return block;
}

static inline void *failing_reallocate(void *user, void *block, size_t size)
{
    failing *f = user;
    f->asked += size;
    if (f->requests++ == f->fail_at) return NULL;
    void *grown = realloc(block, size);
    if (grown && !block) f->live++;
    return grown;
}

static inline void failing_release(void *user, void *block)
{
    failing *f = user;
    if (block) f->live--;
    free(block);
}

static inline supple_allocator failing_allocator(failing *f)
{
    return (supple_allocator){failing_allocate, failing_reallocate, failing_release, f};
}

#endif
