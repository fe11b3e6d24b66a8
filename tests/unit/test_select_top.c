/* The selection of the best against counting what is better. */
#include "support.h"

#include <string.h>

#include "terms/propagation/select_top.h"

static void test_select_top(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (size_t round = 0; round < 500; round++) {
        kg_selectable picks[80];
        kg_selectable all[80];
        size_t count = (size_t)next_below(&seed, COUNT_OF(picks) + 1);
        size_t most = (size_t)next_below(&seed, COUNT_OF(picks));
        for (size_t i = 0; i < count; i++)
            picks[i] = (kg_selectable){(double)next_below(&seed, 9),
                                       (kg_id)(round % 2 ? i : count - i), (uint32_t)i};
        memcpy(all, picks, sizeof all);
        assert_int_equal(kg__select_top(picks, count, most), most < count ? most : count);
        for (size_t i = 0; i < most && i < count; i++) {
            size_t better = 0;
            for (size_t k = 0; k < count; k++)
                better += all[k].value > picks[i].value ||
                          (all[k].value == picks[i].value && all[k].id < picks[i].id);
            assert_int_equal(better, i);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
