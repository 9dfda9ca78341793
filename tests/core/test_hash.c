#include "core/hash.h"
#include "test.h"

TEST(equal_bytes_hash_equal_and_order_matters)
{
    CHECK(spl_hash("abcdefghij", 10, 0) == spl_hash("abcdefghij", 10, 0));
    CHECK(spl_hash("abcdefghij", 10, 0) != spl_hash("abcdefghji", 10, 0));
    CHECK(spl_hash("abcdefgh", 8, 0) != spl_hash("abcdefgh\0", 9, 0));
    CHECK(spl_hash("a", 1, 0) != spl_hash("a", 1, 1));
}

TEST(one_bit_changes_half_the_bits)
{
    double flipped = 0;
    for (uint64_t i = 0; i < 4096; i++) {
        uint64_t a = spl_hash(&i, 8, 7), j = i ^ (1ull << (i % 64)), b = spl_hash(&j, 8, 7);
        for (uint64_t d = a ^ b; d; d &= d - 1) flipped++;
    }
    CHECK_NEAR(flipped / 4096, 32, 0.5);
}

TEST_CASES(RUN(equal_bytes_hash_equal_and_order_matters), RUN(one_bit_changes_half_the_bits))
