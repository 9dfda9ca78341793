#include "core/memory.h"
#include "test.h"

#include <stdint.h>

TEST(sizes_that_overflow_are_refused)
{
    supple_allocator a = spl_allocator_of(NULL);
    CHECK(spl_new(&a, SIZE_MAX / 2, 3) == NULL);
    size_t product;
    CHECK(!spl_mul(SIZE_MAX, 2, &product));
    CHECK(spl_mul(6, 7, &product) && product == 42);
}

TEST(new_memory_is_zero)
{
    supple_allocator a = spl_allocator_of(NULL);
    unsigned char *block = spl_new(&a, 1000, 1);
    REQUIRE(block);
    int sum = 0;
    for (int i = 0; i < 1000; i++) sum += block[i];
    CHECK(sum == 0);
    spl_free(&a, block);
    void *empty = spl_new(&a, 0, 8);
    CHECK(empty != NULL);
    spl_free(&a, empty);
}

TEST(arena_aligns_and_rewinds)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_arena arena;
    REQUIRE(spl_arena_init(&arena, &a, 4096));
    size_t mark = spl_arena_mark(&arena);
    void *first = spl_arena_take(&arena, 3, 1);
    void *second = spl_arena_take(&arena, 10, 8);
    CHECK((uintptr_t)first % 64 == 0 && (uintptr_t)second % 64 == 0 && first != second);
    CHECK(spl_arena_take(&arena, 4096, 1) == NULL);
    CHECK(spl_arena_take(&arena, SIZE_MAX, 16) == NULL);
    spl_arena_rewind(&arena, mark);
    CHECK(spl_arena_take(&arena, 3, 1) == first);
    spl_arena_release(&arena);
}

TEST_CASES(RUN(sizes_that_overflow_are_refused), RUN(new_memory_is_zero), RUN(arena_aligns_and_rewinds))
