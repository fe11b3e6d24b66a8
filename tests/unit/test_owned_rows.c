/* Rows of a parameter that ranks share: each row has one owner, which alone has memory behind it
 * and behind what the optimiser knows of it. That ranks come to the bytes of one process is tested
 * with the tool (tests/cli/test_ranks.py). */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"
#include "train/param.h"

#define ROWS 20001
#define COLUMNS 40
#define MOST_OWNERS 8

/* What the process `self` of several has; not shared: `owners` 0. */
static void open_list(kg_param_list *list, size_t owners, size_t self) {
    kg_error error = {0};
    kg_param about = {.name = "rows",
                      .rows = ROWS,
                      .columns = COLUMNS,
                      .trained_rows = ROWS,
                      .rate = 1,
                      .owners = owners,
                      .self = self};
    kg_param_start start = {.bound = 0.5};
    *list = (kg_param_list){.method = KG_ADAM, .threads = 1, .seed = 4};
    assert_ok(kg__param_list_add(list, &about, start, &error), &error);
    kg_rates rates = {.first = 0.1, .last = 0.1};
    assert_ok(kg__param_list_open_optimizers(list, rates, 0, 10, &error), &error);
}

/* Bytes of memory behind the values. */
static size_t count_resident(const kg_param *p) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (p->pages.size + page - 1) / page;
    size_t out = 0;
    unsigned char *is_there = calloc(pages, 1);
    assert_non_null(is_there);
    assert_int_equal(mincore(p->pages.bytes, p->pages.size, is_there), 0);
    for (size_t i = 0; i < pages; i++)
        out += is_there[i] % 2 * page;
    free(is_there);
    return out;
}

/* At most a page is not full for each block of rows. */
static void check_memory(const kg_param *p, size_t kept) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t needed = kept * COLUMNS * sizeof(real);
    size_t blocks = kept / KG_OWNED_ROWS + 1;
    size_t found = count_resident(p);
    assert_true(found >= needed && found <= needed + 2 * blocks * page);
}

static void test_each_row_has_an_owner(void **state) {
    (void)state;
    for (size_t owners = 1; owners <= MOST_OWNERS; owners++) {
        size_t owned = 0;
        for (size_t self = 0; self < owners; self++) {
            kg_param_list list;
            open_list(&list, owners, self);
            const kg_param *p = &list.items[0];
            size_t expected = 0;
            for (size_t row = 0; row < ROWS; row++)
                if (kg__param_owns(p, row))
                    assert_int_equal(kg__param_place(p, row), expected++);
            assert_int_equal(p->kept, expected);
            /* Shares differ by a block at most. */
            assert_true(p->kept + KG_OWNED_ROWS >= ROWS / owners);
            assert_true(p->kept <= ROWS / owners + KG_OWNED_ROWS);
            check_memory(p, p->kept);
            owned += p->kept;
            kg__param_list_close(&list);
        }
        assert_int_equal(owned, ROWS);
    }
}

/* The numbers that rows start with are those of one process. */
static void test_start(void **state) {
    (void)state;
    kg_param_list alone;
    open_list(&alone, 0, 0);
    for (size_t self = 0; self < 3; self++) {
        kg_param_list list;
        open_list(&list, 3, self);
        for (size_t row = 0; row < ROWS; row++)
            if (kg__param_owns(&list.items[0], row))
                assert_memory_equal(list.items[0].values + row * COLUMNS,
                                    alone.items[0].values + row * COLUMNS, COLUMNS * sizeof(real));
        kg__param_list_close(&list);
    }
    kg__param_list_close(&alone);
}

/* What others sent takes memory until it is forgotten; own rows stay. */
static void test_forgotten(void **state) {
    (void)state;
    kg_param_list list;
    kg_param_list alone;
    open_list(&alone, 0, 0);
    open_list(&list, 4, 2);
    kg_param *p = &list.items[0];
    for (size_t row = 0; row < ROWS; row++)
        if (!kg__param_owns(p, row))
            p->values[row * COLUMNS] = 1;
    check_memory(p, ROWS);
    p->fetched = ROWS - p->kept;
    kg__param_forget_fetched(p);
    assert_int_equal(p->fetched, 0);
    check_memory(p, p->kept);
    for (size_t row = 0; row < ROWS; row++)
        if (kg__param_owns(p, row))
            assert_memory_equal(p->values + row * COLUMNS, alone.items[0].values + row * COLUMNS,
                                COLUMNS * sizeof(real));
    kg__param_list_close(&list);
    kg__param_list_close(&alone);
}

/* The best values are those of own rows, and come back to them. */
static void test_best(void **state) {
    (void)state;
    kg_error error = {0};
    kg_param_list list;
    kg_param_list alone;
    open_list(&alone, 0, 0);
    open_list(&list, 2, 1);
    kg_param *p = &list.items[0];
    assert_ok(kg__param_list_keep_best(&list, NULL, "beside", &error), &error);
    assert_int_equal(list.best.size, p->kept * COLUMNS * sizeof(real));
    for (size_t row = 0; row < ROWS; row++)
        if (kg__param_owns(p, row))
            memset(p->values + row * COLUMNS, 0, COLUMNS * sizeof(real));
    kg__param_list_take_best(&list);
    check_memory(p, p->kept);
    for (size_t row = 0; row < ROWS; row++)
        if (kg__param_owns(p, row))
            assert_memory_equal(p->values + row * COLUMNS, alone.items[0].values + row * COLUMNS,
                                COLUMNS * sizeof(real));
    kg__param_list_close(&list);
    kg__param_list_close(&alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_row_has_an_owner),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_forgotten),
        test_in_folder(test_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
