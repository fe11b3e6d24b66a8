/* What a process that is alone does with ranks: nothing; several are tested with the tool
 * (tests/cli/test_ranks.py). */
#include "base/ranks.h"

#include <stdlib.h>

#include "support.h"

static void test_alone(void **state) {
    (void)state;
    kg_ranks ranks;
    kg_error error = {0};
    int data = 7;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    assert_int_equal(kg__ranks_launched(), 1);
    assert_ok(kg__ranks_open(&ranks, &error), &error);
    assert_true(ranks.count == 1 && ranks.number == 0);
    kg_ranks *const both[] = {&ranks, NULL};
    for (size_t i = 0; i < 2; i++) {
        assert_false(kg__ranks_many(both[i]));
        assert_true(kg__ranks_first(both[i]));
        assert_int_equal(kg__ranks_number(both[i]), 0);
        assert_int_equal(kg__ranks_begin(both[i], 0, 5), 0);
        assert_int_equal(kg__ranks_begin(both[i], 1, 5), 5);
        assert_int_equal(kg__ranks_agree(both[i], KG_OK, &error), KG_OK);
        assert_int_equal(kg__ranks_agree(both[i], KG_CANCELLED, &error), KG_CANCELLED);
        kg__ranks_send(both[i], 0, &data, sizeof data);
        kg__ranks_gather(both[i], &data, sizeof data);
    }
    assert_int_equal(data, 7);
    assert_int_equal(ranks.sent, 0);
    assert_true(kg__ranks_end(&ranks, true));
    kg__ranks_abort(&ranks, 1);
    kg__ranks_close(&ranks);
}

/* Things are shared without gaps, and evenly. */
static void test_shares(void **state) {
    (void)state;
    for (size_t count = 1; count <= 8; count++) {
        kg_ranks ranks = {.count = count};
        for (size_t things = 0; things < 30; things++) {
            assert_int_equal(kg__ranks_begin(&ranks, 0, things), 0);
            assert_int_equal(kg__ranks_begin(&ranks, count, things), things);
            for (size_t i = 0; i < count; i++) {
                size_t own =
                    kg__ranks_begin(&ranks, i + 1, things) - kg__ranks_begin(&ranks, i, things);
                assert_true(own == things / count || own == things / count + 1);
            }
        }
    }
}

static void test_launched(void **state) {
    (void)state;
    setenv("PMI_SIZE", "3", 1);
    assert_int_equal(kg__ranks_launched(), 3);
    setenv("OMPI_COMM_WORLD_SIZE", "5", 1);
    assert_int_equal(kg__ranks_launched(), 5);
    setenv("OMPI_COMM_WORLD_SIZE", "none", 1);
    assert_int_equal(kg__ranks_launched(), 3);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_launched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
