/* A solid of a built-in character with its domains: what the tests of training share. */
#ifndef SPL_TESTS_SUBSPACE_TRAINING_H
#define SPL_TESTS_SUBSPACE_TRAINING_H

#include "body/demo_body.h"
#include "body/solid.h"
#include "core/memory.h"
#include "core/threads.h"
#include "subspace/domains.h"

typedef struct training {
    demo_body demo;
    spl_solid solid;
    spl_domains domains;
    bool ok;
} training;

static inline spl_pool *training_pool(int threads)
{
    supple_config config = supple_config_default();
    spl_pool *pool = NULL;
    config.thread_count = threads;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

static inline training training_of(demo_body demo, const spl_domain_options *options)
{
    training t = {.demo = demo};
    supple_config config = supple_config_default();
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    if (demo.body && spl_solid_create(demo.body, NULL, &config, NULL, &t.solid, &error) == SUPPLE_OK)
        t.ok = spl_domains_create(&t.solid, options, &a, &t.domains, &error) == SUPPLE_OK;
    if (!t.ok) printf("    %s\n", error.message);
    return t;
}

static inline training training_make(const char *name, double detail, int32_t resolution,
                                     const spl_domain_options *options)
{
    return training_of(demo_body_of(demo_scene(name, detail), resolution, 0), options);
}

static inline void training_free(training *t)
{
    spl_domains_release(&t->domains);
    spl_solid_release(&t->solid);
    demo_body_free(&t->demo);
}

/* A number in (-1, 1). */
static inline double training_random(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return 2 * ((double)(*state >> 11) * 0x1p-53) - 1;
}

#endif
