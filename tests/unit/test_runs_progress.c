/* The progress of many runs: that of their triples, and what a run does beside training by its
 * name.
 */
#include "support.h"

#include <string.h>

#include "experiment/runs_progress.h"

/* What was told last. */
struct told {
    uint64_t done;
    char note[256];
};

static bool listen(void *payload, const kg_progress_report *report) {
    struct told *told = payload;
    assert_string_equal(report->stage, "tuning");
    assert_string_equal(report->unit, "triples");
    assert_int_equal(report->total, 100);
    told->done = report->done;
    strncpy(told->note, report->note, sizeof told->note - 1);
    return told->done < 70;
}

static void test_stages(void **state) {
    (void)state;
    static const struct {
        kg_progress_report report;
        uint64_t done;
        const char *note;
    } cases[] = {
        {{.stage = "counting rules", .unit = "entities", .done = 5, .total = 9},
         30,
         ", run 2 of 3, lr=1, counting rules"},
        {{.stage = "training",
          .unit = "triples",
          .done = 10,
          .total = 50,
          .note = ", epoch 1 of 2",
          .phase = KG_PHASE_TRAINING},
         40,
         ", run 2 of 3, lr=1, epoch 1 of 2"},
        {{.stage = "training",
          .unit = "triples",
          .done = 20,
          .total = 50,
          .phase = KG_PHASE_TRAINING},
         50,
         ", run 2 of 3, lr=1"},
        {{.stage = "validating", .unit = "queries", .done = 7, .total = 8, .note = ", a note"},
         50,
         ", run 2 of 3, lr=1, validating"},
        {{.stage = "calibrating", .unit = "queries", .done = 1, .total = 2},
         50,
         ", run 2 of 3, lr=1, calibrating"},
        {{.stage = "training",
          .unit = "triples",
          .done = 50,
          .total = 50,
          .phase = KG_PHASE_TRAINING},
         80,
         ", run 2 of 3, lr=1"},
    };
    struct told told = {0};
    const kg_progress progress = {listen, &told};
    experiment_runs_progress runs = {
        .stage = "tuning", .progress = &progress, .total = 100, .done = 30, .run_count = 3};
    experiment_run_progress run = {.runs = &runs, .number = 1, .name = "lr=1"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(experiment_runs_progress_report(&run, &cases[i].report),
                         cases[i].done < 70);
        assert_int_equal(told.done, cases[i].done);
        assert_string_equal(told.note, cases[i].note);
    }
}

/* Of two under way, one ends sooner than it said. */
static void test_two_runs(void **state) {
    (void)state;
    struct told told = {0};
    const kg_progress progress = {listen, &told};
    experiment_runs_progress runs = {
        .stage = "tuning", .progress = &progress, .total = 100, .run_count = 2};
    experiment_run_progress first = {.runs = &runs, .number = 0, .name = "a"};
    experiment_run_progress second = {.runs = &runs, .number = 1, .name = "b"};
    kg_progress_report report = {.stage = "training", .done = 10, .phase = KG_PHASE_TRAINING};
    assert_true(experiment_runs_progress_report(&first, &report));
    report.done = 20;
    assert_true(experiment_runs_progress_report(&second, &report));
    assert_int_equal(told.done, 30);
    experiment_runs_progress_end(&first, 40);
    assert_true(experiment_runs_progress_report(&second, &report));
    assert_int_equal(told.done, 60);
    assert_string_equal(told.note, ", run 2 of 2, b");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stages),
                                       cmocka_unit_test(test_two_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
