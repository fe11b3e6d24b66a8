/* Sorting by digits against a comparison of all pairs: the order of equal ids stays. */
#include "base/radix_sort.h"

#include "support.h"

typedef struct item {
    uint32_t number; /* before sorting */
    kg_id id;
} item;

#define MOST 300

static void check(uint64_t *seed, size_t count, kg_id below, kg_id step) {
    item items[2 * MOST];
    kg_id given[MOST];
    for (uint32_t i = 0; i < count; i++) {
        given[i] = (kg_id)next_below(seed, below) * step;
        items[i] = (item){i, given[i]};
    }
    kg__radix_sort(items, items + count, count, sizeof *items, offsetof(item, id));
    for (size_t i = 0; i < count; i++) {
        size_t place = 0;
        for (size_t k = 0; k < count; k++)
            place += given[k] < items[i].id || (given[k] == items[i].id && k < items[i].number);
        assert_int_equal(place, i);
        assert_int_equal(items[i].id, given[items[i].number]);
    }
}

static void test_sorted(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (size_t count = 0; count <= MOST; count += count < 4 ? 1 : 37) {
        check(&seed, count, 1, 0);
        check(&seed, count, 20, 1);
        check(&seed, count, 1 << 20, 1);
        check(&seed, count, 1 << 20, 4093); /* to the highest digit */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
