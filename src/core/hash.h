/* A fast 64-bit hash for tables, goldens and cache keys; not for adversaries. */
#ifndef SPL_CORE_HASH_H
#define SPL_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash of bytes, chained through `seed` (0 to start). */
uint64_t spl_hash(const void *data, size_t size, uint64_t seed);

/* A well mixed 64-bit value from another: neighbours differ in half their bits. */
uint64_t spl_mix(uint64_t x);

#endif
