/* What training needs, by counts and settings: what doubles with what, and how it is said. That it
 * is what a run takes is tested on whole runs (tests/cli/test_training_memory.py). */
#include "support.h"

#include <math.h>
#include <string.h>

#include "train/training_memory.h"

static kg_train_options embedding_and_echo(void) {
    kg_train_options out = kg__train_defaults(KG_GRAFT, kg__scorings);
    out.terms = kg__term_bit("embedding") | kg__term_bit("echo");
    out.method = KG_ADAGRAD_ROW;
    out.dim = 128;
    return out;
}

static const kg_memory_counts large = {
    .facts = 1e8, .entities = 25e6, .relations = 1000, .name_bytes = 25e7, .is_held_out = true};

/* The size that one machine is meant for. */
static void test_fits(void **state) {
    (void)state;
    kg_train_options options = embedding_and_echo();
    kg_memory_needs needs = kg__training_memory(&options, &large);
    assert_true(kg__memory_total(&needs) < 24.0 * (1 << 30));
    assert_ok(kg__training_memory_check(&needs, 24.0 * (1 << 30), &options, &large, NULL), NULL);
    assert_true(fabs(needs.rows - 25e6 * 128 * sizeof(real)) < 0.01 * needs.rows);
    assert_true(fabs(needs.state - 25e6 * sizeof(real)) < 0.01 * needs.state);
}

static void test_grows(void **state) {
    (void)state;
    kg_train_options options = embedding_and_echo();
    kg_memory_counts counts = large;
    kg_memory_needs before = kg__training_memory(&options, &counts);
    options.dim *= 2;
    kg_memory_needs wide = kg__training_memory(&options, &counts);
    assert_true(fabs(wide.rows - 2 * before.rows) < 1);
    assert_true(fabs(wide.graph - before.graph) < 1);
    options.method = KG_ADAM;
    kg_memory_needs adam = kg__training_memory(&options, &counts);
    assert_true(adam.state > 2 * adam.rows && adam.state < 2.1 * adam.rows);
    counts.is_held_out = false;
    assert_true(kg__training_memory(&options, &counts).graph <
                wide.graph - 1e8 * sizeof(kg_triple));
}

static void test_refusal(void **state) {
    (void)state;
    kg_train_options options = embedding_and_echo();
    kg_error error = {0};
    kg_memory_needs needs = {10.04e9, 0.1e9, 3.9e9, 0.16e9};
    assert_string_equal(kg__memory_text(&needs).text,
                        "14.2 GB: rows 10.0, state 0.1, graph 3.9, work 0.2");
    assert_int_equal(kg__training_memory_check(&needs, 8e9, &options, &large, &error),
                     KG_BAD_INPUT);
    assert_string_equal(error.message,
                        "expected training to fit into the 8.0 GB of memory that there are, found "
                        "that it needs 14.2 GB: rows 10.0, state 0.1, graph 3.9, work 0.2 (less: a "
                        "smaller `dim`, `hold_out` 0)");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fits), cmocka_unit_test(test_grows),
                                       cmocka_unit_test(test_refusal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
