/* What feature extraction is built of: the map of ids, the selection of the best, and the names of
 * features. */
#include "support.h"

#include <string.h>

#include "terms/features/features.h"
#include "terms/features/id_map.h"
#include "terms/features/select_top.h"

static void test_id_map(void **state) {
    (void)state;
    kg_id_map map = {0};
    uint64_t seed = 1;
    assert_true(kg__id_map_find(&map, 3) == KG_NOT_MAPPED);
    for (size_t round = 0; round < 6; round++) { /* many, and few where there once were many */
        size_t numbers[500];
        memset(numbers, 255, sizeof numbers);
        size_t count = 0;
        for (size_t i = 0; i < (round % 3 == 0 ? 2000 : 30); i++) {
            kg_id id = (kg_id)next_below(&seed, 500);
            bool is_new = numbers[id] == KG_NOT_MAPPED;
            assert_int_equal(kg__id_map_find(&map, id * 65536), numbers[id]);
            size_t number = kg__id_map_add(&map, id * 65536);
            assert_int_equal(number, is_new ? count : numbers[id]);
            assert_int_equal(map.ids[number], id * 65536);
            numbers[id] = number;
            count += is_new;
            assert_int_equal(map.count, count);
        }
        kg__id_map_clear(&map);
        for (size_t i = 0; i < map.slot_count; i++)
            assert_int_equal(map.slots[i], 0);
    }
    kg__id_map_free(&map);
}

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

/* ---- Names ---- */

/* Files of models and checkpoints may have the names that features had before 0.2. */
static void test_names(void **state) {
    (void)state;
    static const char *const old[] = {"echo",    "two",   "three",  "four",
                                      "company", "votes", "vacancy"};
    json_t *names = json_array();
    json_array_append_new(names, json_integer(1));
    for (size_t k = 0; k < KG_FEATURE_COUNT; k++) {
        kg_feature found = KG_FEATURE_COUNT;
        assert_true(kg__feature_find(&found, old[k]));
        assert_int_equal(found, k);
        assert_true(kg__feature_find(&found, kg__feature_names[k]));
        assert_int_equal(found, k);
        json_array_append_new(names, json_string(k % 2 == 0 ? old[k] : kg__feature_names[k]));
    }
    kg_feature none = KG_FEATURE_COUNT;
    assert_false(kg__feature_find(&none, "path5"));
    assert_false(kg__feature_find(&none, ""));
    json_array_append_new(names, json_string("path5"));
    kg__feature_names_update(names);
    json_t *expected = json_pack("[isssssss]", 1, "path1", "path2", "path3", "path4",
                                 "cooccurrence", "knn", "degree");
    json_array_append_new(expected, json_string("path5"));
    assert_true(json_equal(names, expected));
    json_decref(names);
    json_decref(expected);
    kg__feature_names_update(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_map),
        cmocka_unit_test(test_select_top),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
