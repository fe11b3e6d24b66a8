/* A commit to the live graph takes effect as a whole or not at all: whichever of its allocations
 * fails, and for readers beside the writer. */
#include "answer_text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "counted_memory.h"

/* ---- Short of memory ---- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *first = make_target(1, 6);
    fact_set *second = make_target(2, 9);
    long before = atomic_load(&allocated);
    kg_live *live = open_live(models[0]);
    commit_randomly(live, base, first, 1, SIZE_MAX);
    char *expected = live_answers(live, 1);
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    long tries = 0;
    for (bool has_failed = true; has_failed;) {
        kg_error error = {0};
        collect_changes(changes, first, second);
        atomic_store(&failing, atomic_load(&allocations) + ++tries);
        kg_status status = kg_changes_commit(NULL, changes, &error);
        has_failed = atomic_load(&allocations) >= atomic_load(&failing);
        atomic_store(&failing, 0);
        if (status != KG_NO_MEMORY)
            assert_ok(status, &error);
        if (status == KG_OK && has_failed) { /* it found a way around */
            collect_changes(changes, second, first);
            commit(changes, NULL);
        }
        if (has_failed && tries % 16 == 1) {
            char *now = live_answers(live, 1);
            assert_string_equal(expected, now);
            free(now);
        }
    }
    assert_true(tries > 20);
    kg_changes_close(changes);
    free(expected);
    kg_live *fresh = open_live(models[0]);
    commit_randomly(fresh, base, second, 2, SIZE_MAX);
    assert_same_text(live_answers(fresh, 1), live_answers(live, 1));
    kg_live_close(fresh);
    kg_live_close(live);
    assert_int_equal(before, atomic_load(&allocated));
    kg_error error = {0};
    kg_status status = KG_NO_MEMORY;
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    for (tries = 0; status == KG_NO_MEMORY;) {
        atomic_store(&failing, atomic_load(&allocations) + ++tries);
        status = kg_live_open(&live, models[0], &options, &error);
        atomic_store(&failing, 0);
    }
    assert_ok(status, &error);
    kg_live_close(live);
    assert_int_equal(before, atomic_load(&allocated));
    free(base);
    free(first);
    free(second);
}

/* ---- Readers beside a writer ---- */

#define READERS 2

struct shared {
    kg_live *live;
    char *expected[2]; /* what is answered before and after a transaction */
    _Atomic bool is_done;
    _Atomic bool is_wrong;
};

static void *read_live(void *payload) {
    struct shared *shared = payload;
    kg_model *snapshot = snapshot_of(shared->live);
    kg_workspace *workspace = open_workspace(snapshot, 1);
    while (!shared->is_done) {
        kg_model *next = snapshot_of(shared->live);
        if (kg_workspace_move(workspace, next, NULL) != KG_OK)
            shared->is_wrong = true;
        kg_model_close(snapshot);
        snapshot = next;
        char *answered = read_answers(snapshot, workspace, false);
        if (strcmp(answered, shared->expected[0]) != 0 &&
            strcmp(answered, shared->expected[1]) != 0)
            shared->is_wrong = true;
        free(answered);
    }
    kg_workspace_close(workspace);
    kg_model_close(snapshot);
    return NULL;
}

static void readers_see_whole_commits(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *target = make_target(2, 10);
    struct shared shared = {.live = open_live(models[0])};
    pthread_t threads[READERS];
    for (size_t i = 0; i < 2; i++) {
        kg_model *snapshot = snapshot_of(shared.live);
        kg_workspace *workspace = open_workspace(snapshot, 1);
        shared.expected[i] = read_answers(snapshot, workspace, false);
        kg_workspace_close(workspace);
        kg_model_close(snapshot);
        commit_randomly(shared.live, i == 0 ? base : target, i == 0 ? target : base, 1, SIZE_MAX);
    }
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, read_live, &shared));
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, shared.live, NULL), NULL);
    for (size_t turn = 0; turn < 20; turn++) {
        collect_changes(changes, turn % 2 == 0 ? base : target, turn % 2 == 0 ? target : base);
        commit(changes, NULL);
    }
    kg_changes_close(changes);
    shared.is_done = true;
    for (size_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(shared.is_wrong);
    kg_live_close(shared.live);
    free(shared.expected[0]);
    free(shared.expected[1]);
    free(base);
    free(target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(readers_see_whole_commits),
    };
    return cmocka_run_group_tests(tests, open_live_world, close_live_world);
}
