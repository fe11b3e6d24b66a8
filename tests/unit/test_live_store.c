/* A live graph on a store answers as one in memory with the same facts does, byte by byte: after
 * commits in any order, by many threads, short of memory, and when it is closed and opened again.
 */
#include "answer_text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/snapshots.h"
#include "counted_memory.h"

static void a_store_answers_as_memory(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *target = make_target(2, 8);
    fact_set *detour = make_target(5, 12);
    for (size_t i = 0; i < (IS_SANITIZED ? 1 : MODELS); i++) {
        char path[16];
        snprintf(path, sizeof path, "store-%zu", i);
        make_store(path, i);
        kg_live *memory = open_live(models[i]);
        commit_randomly(memory, base, target, 1, SIZE_MAX);
        char *expected = live_answers(memory, 1);
        kg_live *store = open_store(path, (kg_live_options){0});
        commit_randomly(store, base, detour, 2, 40);
        kg_live_close(store);
        store = open_store(path, (kg_live_options){0});
        commit_randomly(store, detour, target, 3, 50);
        assert_same_text(strdup(expected), live_answers(store, 1));
        assert_same_text(strdup(expected), stored_answers(path)); /* beside the writer */
        kg_live_close(store);
        assert_same_text(expected, stored_answers(path));
        store = open_store(path, (kg_live_options){0});
        commit_randomly(store, target, base, 4, SIZE_MAX);
        assert_same_text(answers_of(models[i], 1), live_answers(store, 1));
        kg_live_close(store);
        kg_live_close(memory);
    }
    free(base);
    free(target);
    free(detour);
}

/* ---- Threads that change the same facts ---- */

#define WRITERS 4
#define COMMITS (IS_SANITIZED ? 10 : 40)

struct writer {
    kg_live *live;
    uint64_t seed;
    pthread_t thread;
};

/* Few facts, about few entities, so that most transactions have to do with each other. */
static void *write_at_random(void *payload) {
    struct writer *writer = payload;
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, writer->live, NULL), NULL);
    for (size_t i = 0; i < COMMITS; i++) {
        for (size_t k = next_random(&writer->seed) % 4; k > 0; k--) {
            size_t entity = OWN + next_random(&writer->seed) % 3;
            size_t other = next_random(&writer->seed) % 2 == 0
                               ? next_random(&writer->seed) % 2
                               : OWN + next_random(&writer->seed) % 3;
            change(changes, entity, 0, other, next_random(&writer->seed) % 2 == 0);
        }
        change(changes, 0, 0, 1, next_random(&writer->seed) % 2 == 0); /* of the base */
        commit(changes, NULL);
    }
    kg_changes_close(changes);
    return NULL;
}

static void threads_publish_in_the_order_of_the_log(void **state) {
    (void)state;
    struct writer writers[WRITERS];
    make_store("threads", 0);
    kg_live *live = open_store("threads", (kg_live_options){0});
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.live = live, .seed = i + 1};
        assert_int_equal(0, pthread_create(&writers[i].thread, NULL, write_at_random, &writers[i]));
    }
    for (size_t i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    assert_same_text(live_answers(live, 1), stored_answers("threads"));
    kg_live_close(live);
}

/* ---- Short of memory ---- */

/* Each try fails one allocation later. A commit that is on disk, but not shown, is shown by the
 * next one. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *target = make_target(1, 4);
    long before = atomic_load(&allocated);
    size_t only_on_disk = 0;
    make_store("short", 0);
    kg_live *live = open_store("short", (kg_live_options){0});
    char *bare = live_answers(live, 1);
    kg_changes *changes = NULL;
    kg_changes *other = NULL;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    assert_ok(kg_changes_open(&other, live, NULL), NULL);
    long step = 1;
    for (long tries = 1; step > 0; tries += step) {
        kg_error error = {0};
        collect_changes(changes, base, target);
        atomic_store(&failing, atomic_load(&allocations) + tries);
        kg_status status = kg_changes_commit(NULL, changes, &error);
        if (atomic_load(&allocations) < atomic_load(&failing))
            step = 0;
        atomic_store(&failing, 0);
        bool is_on_disk = strstr(error.message, "on disk") != NULL;
        if (status != KG_NO_MEMORY)
            assert_ok(status, &error);
        else
            assert_same_text(strdup(bare), live_answers(live, 1));
        only_on_disk += is_on_disk;
        if (is_on_disk && only_on_disk % 2 == 0) { /* another one, which changes nothing */
            commit(other, NULL);
            assert_same_text(live_answers(live, 1), stored_answers("short"));
        } else {
            commit(changes, NULL);
        }
        kg_changes_close(changes);
        assert_ok(kg_changes_open(&changes, live, NULL), NULL);
        if (step > 0) {
            step = !is_on_disk ? 1 : IS_SANITIZED ? 30 : 7;
            collect_changes(changes, target, base);
            commit(changes, NULL);
        }
    }
    assert_true(only_on_disk > 1);
    assert_same_text(live_answers(live, 1), stored_answers("short"));
    kg_changes_close(changes);
    kg_changes_close(other);
    kg_live_close(live);
    kg_live_options options = {.size = sizeof options};
    kg_error error = {0};
    kg_status status = KG_NO_MEMORY;
    for (long tries = 1; status == KG_NO_MEMORY; tries++) {
        atomic_store(&failing, atomic_load(&allocations) + tries);
        status = kg_live_open_store(&live, "short", &options, &error);
        atomic_store(&failing, 0);
    }
    assert_ok(status, &error);
    kg_live_close(live);
    free(bare);
    assert_int_equal(before, atomic_load(&allocated));
    free(base);
    free(target);
}

/* ---- Many snapshots ---- */

/* A commit that could not be shown is refused before it is on disk. */
static void too_many_snapshots_are_refused(void **state) {
    (void)state;
    kg_model *held[KG_MOST_SNAPSHOTS] = {NULL};
    size_t count = 0;
    kg_status status = KG_OK;
    kg_changes *changes = NULL;
    kg_error error = {0};
    make_store("held", 0);
    kg_live *live = open_store("held", (kg_live_options){0});
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    while (status == KG_OK) {
        assert_true(count < KG_MOST_SNAPSHOTS);
        assert_ok(kg_live_snapshot(&held[count++], live, &error), &error);
        change(changes, OWN, 0, 1, count % 2 == 1);
        status = kg_changes_commit(NULL, changes, &error);
    }
    assert_true(count > 1000);
    assert_int_equal(status, KG_BAD_INPUT);
    assert_null(strstr(error.message, "on disk"));
    assert_same_text(live_answers(live, 1), stored_answers("held"));
    kg_model_close(held[--count]);
    kg_model_close(held[--count]);
    commit(changes, NULL);
    assert_same_text(live_answers(live, 1), stored_answers("held"));
    while (count > 0)
        kg_model_close(held[--count]);
    kg_changes_close(changes);
    kg_live_close(live);
}

/* ---- Sources, relations, refusals ---- */

static const kg_text LIKE = {"like", 4};

static void sources_have_offsets(void **state) {
    (void)state;
    int64_t offset = 0;
    kg_changes *changes = NULL;
    kg_commit counts = KG_COMMIT_INIT;
    kg_error error = {0};
    make_store("sources", 0);
    kg_live *live = open_store("sources", (kg_live_options){0});
    assert_ok(kg_live_offset(&offset, live, "stream", &error), &error);
    assert_int_equal(offset, -1);
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    for (int turn = 0; turn < 2; turn++) {
        change(changes, OWN, 0, 1, true);
        change(changes, 0, 0, 1, false);
        assert_ok(kg_changes_set_source(changes, "stream", 7, &error), &error);
        commit(changes, &counts);
        assert_int_equal(counts.added, turn == 0);
        assert_int_equal(counts.removed, turn == 0);
        assert_int_equal(counts.entities_added, turn == 0);
        assert_int_equal(counts.skipped, turn == 0 ? 0 : 2);
        assert_int_equal(counts.last, 2);
    }
    change(changes, OWN, 0, 1, false); /* of no source */
    commit(changes, &counts);
    assert_int_equal(counts.entities_removed, 1);
    assert_int_equal(counts.last, 3);
    assert_int_equal(KG_BAD_INPUT, kg_changes_set_source(changes, "", 7, &error));
    assert_int_equal(KG_BAD_INPUT, kg_changes_set_source(changes, "stream", -1, &error));
    kg_changes_close(changes);
    kg_live_close(live);
    live = open_store("sources", (kg_live_options){0});
    assert_ok(kg_live_offset(&offset, live, "stream", &error), &error);
    assert_int_equal(offset, 7);
    kg_live_close(live);
    live = open_live(models[0]);
    assert_int_equal(KG_BAD_INPUT, kg_live_offset(&offset, live, "stream", &error));
    assert_non_null(strstr(error.message, "in memory"));
    kg_live_close(live);
}

/* They are kept, and change no answer. */
static void unknown_relations_may_be_kept(void **state) {
    (void)state;
    kg_changes *changes = NULL;
    kg_commit counts = KG_COMMIT_INIT;
    kg_error error = {0};
    make_store("relations", 0);
    kg_live *live = open_store("relations", (kg_live_options){0});
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    assert_int_equal(KG_BAD_INPUT, kg_changes_add(changes, name_of(OWN), LIKE, name_of(0), &error));
    assert_non_null(strstr(error.message, "did you mean 'likes'?"));
    kg_changes_close(changes);
    kg_live_close(live);
    live = open_store("relations", (kg_live_options){.allow_relations = true});
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    assert_ok(kg_changes_add(changes, name_of(OWN), LIKE, name_of(0), &error), &error);
    commit(changes, &counts);
    assert_int_equal(counts.unknown, 1);
    assert_int_equal(counts.added + counts.entities_added, 0);
    assert_int_equal(counts.last, 1);
    assert_same_text(answers_of(models[0], 1), live_answers(live, 1));
    kg_changes_close(changes);
    kg_live_close(live);
    assert_same_text(answers_of(models[0], 1), stored_answers("relations"));
    live = open_store("relations", (kg_live_options){0});
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    assert_ok(kg_changes_remove(changes, name_of(OWN), LIKE, name_of(0), &error), &error);
    commit(changes, &counts);
    assert_int_equal(counts.last, 2);
    kg_changes_close(changes);
    kg_live_close(live);
}

static void readers_change_nothing(void **state) {
    (void)state;
    kg_changes *changes = NULL;
    kg_live *second = NULL;
    kg_live_options options = {.size = sizeof options};
    kg_error error = {0};
    make_store("readers", 0);
    kg_live *live = open_store("readers", (kg_live_options){.read_only = true});
    assert_int_equal(KG_BAD_INPUT, kg_changes_open(&changes, live, &error));
    assert_non_null(strstr(error.message, "reading only"));
    assert_null(changes);
    kg_live_close(live);
    assert_int_equal(KG_BAD_INPUT, kg_live_open_store(&second, "data", &options, &error));
    assert_non_null(strstr(error.message, "expected a store"));
    live = open_store("readers", options);
    assert_ok(kg_changes_open(&changes, live, &error), &error);
    change(changes, 0, 0, 2, true);
    kg_live_close_store(live);
    assert_int_equal(KG_BAD_INPUT, kg_changes_commit(NULL, changes, &error));
    kg_changes_close(changes);
    assert_same_text(answers_of(models[0], 1), live_answers(live, 1));
    kg_live_close(live);
    live = open_store("readers", options);
    assert_int_not_equal(KG_OK, kg_live_open_store(&second, "readers", &options, &error));
    assert_null(second);
    kg_live_close(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_answers_as_memory),
        cmocka_unit_test(threads_publish_in_the_order_of_the_log),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(too_many_snapshots_are_refused),
        cmocka_unit_test(sources_have_offsets),
        cmocka_unit_test(unknown_relations_may_be_kept),
        cmocka_unit_test(readers_change_nothing),
    };
    return cmocka_run_group_tests(tests, open_live_world, close_live_world);
}
