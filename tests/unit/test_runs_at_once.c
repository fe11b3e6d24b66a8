/* Runs that are trained at once come to the bytes that each comes to alone; what they share is only
 * read. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "experiment/runs_at_once.h"
#include "graph/dataset_source.h"

#define RUNS 5

/* A ring of friends and their neighbours. */
static int set_up(void **state) {
    char facts[8192] = "";
    size_t length = 0;
    for (int i = 0; i < 60; i++)
        length += (size_t)snprintf(facts + length, sizeof facts - length,
                                   "e%d\tlikes\te%d\ne%d\tknows\te%d\n", i, (i + 1) % 60, i,
                                   (i * 7 + 2) % 60);
    if (enter_temporary_folder(state) != 0 || mkdir("data", 0777) != 0)
        return -1;
    write_file("data/train.tsv", text_of(facts));
    write_file("data/valid.tsv", text_of("e1\tlikes\te5\ne2\tknows\te9\ne7\tlikes\te3\n"));
    return 0;
}

static void set(kg_settings *settings, const char *name, const char *value) {
    kg_error error = {0};
    assert_ok(kg__settings_set(settings, kg__setting_find(name), value, &error), &error);
}

static void open_run(experiment_run *run, const char *folder, size_t number) {
    static const char *const rates[RUNS] = {"0.1", "0.2", "1e30", "0.05", "0.3"};
    kg_settings settings = {0};
    set(&settings, "preset", "paper");
    set(&settings, "dim", "8");
    set(&settings, "batch", "20");
    set(&settings, "epochs", "4");
    set(&settings, "validate-every", "1");
    set(&settings, "lr", rates[number]);
    *run = (experiment_run){.options = kg__settings_complete(&settings)};
    snprintf(run->name.text, sizeof run->name.text, "%zu", number);
    run->path = kg__path_join(folder, run->name.text);
    run->record_path = NULL;
}

static kg_status count_end(void *payload, const experiment_job *job, kg_status status,
                           kg_error *error) {
    size_t *counts = payload;
    (void)error;
    assert_int_equal(status, KG_OK);
    counts[job->number]++;
    return KG_OK;
}

static bool listen(void *payload, const kg_progress_report *report) {
    uint64_t *done = payload;
    *done = report->done;
    return report->done <= report->total;
}

static void train_all(experiment_run *runs, const char *folder, const kg_dataset *dataset,
                      uint64_t at_once) {
    experiment_job jobs[RUNS];
    size_t counts[RUNS] = {0};
    uint64_t done = 0;
    kg_error error = {0};
    const kg_progress progress = {listen, &done};
    experiment_runs_options options = {.stage = "training",
                                       .progress = &progress,
                                       .run_count = RUNS,
                                       .threads = at_once,
                                       .at_once = at_once,
                                       .on_end = count_end,
                                       .payload = counts};
    assert_int_equal(mkdir(folder, 0777), 0);
    for (size_t i = 0; i < RUNS; i++) {
        open_run(&runs[i], folder, i);
        jobs[i] = (experiment_job){&runs[i], dataset, i};
    }
    assert_ok(experiment_runs_train(jobs, RUNS, &options, &error), &error);
    for (size_t i = 0; i < RUNS; i++)
        assert_int_equal(counts[i], 1);
}

static void assert_same_file(const char *left, const char *right, const char *name) {
    char paths[2][64];
    size_t sizes[2];
    snprintf(paths[0], sizeof paths[0], "%s/%s/model.safetensors", left, name);
    snprintf(paths[1], sizeof paths[1], "%s/%s/model.safetensors", right, name);
    char *bytes[2] = {read_file(paths[0], &sizes[0]), read_file(paths[1], &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static void test_same(void **state) {
    (void)state;
    experiment_run alone[RUNS];
    experiment_run together[RUNS];
    kg_dataset dataset = {0};
    kg_error error = {0};
    kg_reader reader = {.options.folder_first = true};
    const char *const path = "data";
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    assert_ok(kg__source_read(&dataset, &reader, &path, 1, &error), &error);
    train_all(alone, "alone", &dataset, 1);
    train_all(together, "together", &dataset, 3);
    for (size_t i = 0; i < RUNS; i++) {
        assert_int_equal(alone[i].state, i == 2 ? EXPERIMENT_FAILED : EXPERIMENT_FINISHED);
        assert_int_equal(together[i].state, alone[i].state);
        if (i != 2) {
            assert_same_file("alone", "together", alone[i].name.text);
            assert_true(together[i].best.valid.mrr == alone[i].best.valid.mrr);
            assert_true(alone[i].memory > 0);
            assert_int_equal(together[i].memory, 0);
        }
        experiment_run_close(&alone[i]);
        experiment_run_close(&together[i]);
    }
    kg__dataset_close(&dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same, set_up, leave_temporary_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
