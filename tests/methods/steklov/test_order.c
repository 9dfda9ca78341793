/* The order of elimination: each node once, and halves that do not touch. */
#include "../mixed/fleshed.h"
#include "methods/steklov/exrotated.h"
#include "test.h"

/* How many nodes a node's column of the factor reaches up to, by the elimination tree (Liu 1990): its height. */
static int32_t tree_height(const spl_exrotated *s, const int32_t *order, int32_t count)
{
    int32_t *place = calloc((size_t)count, 4), *parent = calloc((size_t)count, 4), *ancestor = calloc((size_t)count, 4);
    int32_t *height = calloc((size_t)count, 4), most = 0;
    for (int32_t k = 0; k < count; k++) place[order[k]] = k;
    for (int32_t k = 0; k < count; k++) {
        parent[k] = ancestor[k] = -1;
        const spl_rows *r = &s->matrix.rows;
        for (size_t q = r->start[order[k]]; q < r->start[order[k] + 1]; q++) {
            if (r->column[q] >= count) continue;
            for (int32_t i = place[r->column[q]], next; i >= 0 && i < k; i = next) {
                next = ancestor[i];
                ancestor[i] = k;
                if (next < 0) parent[i] = k;
            }
        }
    }
    for (int32_t k = count - 1; k >= 0; k--) {
        height[k] = parent[k] >= 0 ? height[parent[k]] + 1 : 1;
        if (height[k] > most) most = height[k];
    }
    free(place), free(parent), free(ancestor), free(height);
    return most;
}

TEST(dissection_is_a_permutation_of_low_height)
{
    fleshed f;
    spl_exrotated s;
    spl_exrotated_options o = {.apart = true};
    fleshed_make(&f, "arm", 44);
    REQUIRE(spl_exrotated_create(&f.solid, &o, f.pool, &s, NULL) == SUPPLE_OK);
    int32_t n = s.order.interior, *order = calloc((size_t)n, 4), *seen = calloc((size_t)n, 4),
            *plain = calloc((size_t)n, 4);
    REQUIRE(n > 500);
    REQUIRE(spl_node_dissection(&s.order, f.solid.drive.rest, s.matrix.rows.start, s.matrix.rows.column, n, order,
                                NULL) == SUPPLE_OK);
    for (int32_t k = 0; k < n; k++) {
        REQUIRE(order[k] >= 0 && order[k] < n);
        seen[order[k]]++;
        plain[k] = k;
    }
    for (int32_t k = 0; k < n; k++) CHECK(seen[k] == 1);
    int32_t low = tree_height(&s, order, n), high = tree_height(&s, plain, n);
    printf("    %d nodes: ways to the root of at most %d nodes, %d in the nodes' own order\n", (int)n, (int)low,
           (int)high);
    CHECK(low < n / 3 && low < high / 2);
    free(order), free(seen), free(plain);
    spl_exrotated_release(&s);
    fleshed_free(&f);
}

TEST_CASES(RUN(dissection_is_a_permutation_of_low_height))
