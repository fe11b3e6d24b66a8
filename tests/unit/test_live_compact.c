/* A live graph compacts its store while it is in use: commits, snapshots and queries go on, then it
 * answers as the store does when it is opened anew, byte by byte. */
#include "answer_text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counted_memory.h"

static kg_status compact(kg_compaction *out, kg_live *live, const kg_progress *progress,
                         kg_error *error) {
    kg_compaction_options options = KG_COMPACTION_OPTIONS_INIT;
    options.epochs = 2;
    options.threads = 1;
    options.progress = progress;
    return kg_live_compact(out, live, &options, error);
}

static kg_snapshot_info info_of(const kg_model *snapshot) {
    kg_snapshot_info info = KG_SNAPSHOT_INFO_INIT;
    assert_ok(kg_snapshot_describe(&info, snapshot, NULL), NULL);
    return info;
}

static kg_snapshot_info live_info(kg_live *live) {
    kg_model *snapshot = snapshot_of(live);
    kg_snapshot_info info = info_of(snapshot);
    kg_model_close(snapshot);
    return info;
}

static size_t count_facts(const fact_set *facts) {
    size_t count = 0;
    for (size_t h = 0; h < ALL; h++)
        for (size_t r = 0; r < RELATIONS; r++)
            for (size_t t = 0; t < ALL; t++)
                count += facts->has[h][r][t];
    return count;
}

/* ---- From one generation to the next ---- */

static void the_next_generation_is_that_of_the_store(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *first = make_target(2, 8);
    fact_set *second = make_target(5, 12);
    for (size_t i = 0; i < (IS_SANITIZED ? 1 : MODELS); i++) {
        char path[16];
        kg_error error = {0};
        kg_compaction done = KG_COMPACTION_INIT;
        snprintf(path, sizeof path, "next-%zu", i);
        make_store(path, i);
        kg_live *live = open_store(path, (kg_live_options){0});
        commit_randomly(live, base, first, 1, 20);
        kg_model *held = snapshot_of(live);
        kg_workspace *workspace = open_workspace(held, 1);
        char *before = read_answers(held, workspace, true);
        assert_int_equal(info_of(held).generation, 1);
        assert_int_equal(info_of(held).facts, count_facts(first));
        assert_ok(compact(&done, live, NULL, &error), &error);
        assert_int_equal(done.generation, 2);
        assert_int_equal(done.is_new, 1);
        assert_int_equal(done.facts, count_facts(first));
        assert_same_text(before, read_answers(held, workspace, true)); /* as it was */
        assert_same_text(live_answers(live, 1), stored_answers(path));
        assert_int_equal(live_info(live).generation, 2);
        assert_int_equal(live_info(live).last, info_of(held).last);
        commit_randomly(live, first, second, 2, 20);
        kg_model *now = snapshot_of(live);
        assert_int_equal(info_of(now).facts, count_facts(second));
        assert_ok(kg_workspace_move(workspace, now, &error), &error);
        kg_model_close(held);
        assert_same_text(read_answers(now, workspace, true), stored_answers(path));
        kg_workspace_close(workspace);
        kg_model_close(now);
        commit_randomly(live, second, first, 3, SIZE_MAX);
        assert_ok(compact(&done, live, NULL, &error), &error); /* back to its base */
        assert_int_equal(done.is_new, 0);
        assert_int_equal(done.generation, 2);
        kg_live_close(live);
    }
    free(base);
    free(first);
    free(second);
}

/* ---- In the middle of it ---- */

struct meanwhile {
    kg_live *live;
    kg_changes *changes;
    size_t reports;
    size_t left; /* reports until it is cancelled; 0: never */
    bool is_refused;
};

/* Commits whenever it is told of progress. */
static bool commit_meanwhile(void *payload, const kg_progress_report *report) {
    struct meanwhile *m = payload;
    kg_error error = {0};
    (void)report;
    size_t turn = m->reports++;
    if (turn == 0)
        m->is_refused = compact(NULL, m->live, NULL, &error) == KG_BAD_INPUT &&
                        strstr(error.message, "is being compacted") != NULL;
    change(m->changes, OWN + 20 + turn % 5, 0, turn % OWN, turn / 5 % 2 == 0);
    change(m->changes, 0, 0, 1, turn % 2 == 1); /* of the base */
    commit(m->changes, NULL);
    assert_int_equal(live_info(m->live).generation, 1);
    return m->left == 0 || --m->left > 0;
}

static void commits_go_on_in_training(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *target = make_target(2, 8);
    kg_error error = {0};
    make_store("training", 0);
    kg_live *live = open_store("training", (kg_live_options){0});
    commit_randomly(live, base, target, 1, SIZE_MAX);
    struct meanwhile meanwhile = {.live = live};
    const kg_progress progress = {commit_meanwhile, &meanwhile};
    assert_ok(kg_changes_open(&meanwhile.changes, live, NULL), NULL);
    assert_ok(compact(NULL, live, &progress, &error), &error);
    assert_true(meanwhile.reports > 1);
    assert_true(meanwhile.is_refused);
    kg_changes_close(meanwhile.changes);
    assert_int_equal(live_info(live).generation, 2);
    assert_same_text(live_answers(live, 1), stored_answers("training"));
    kg_live_close(live);
    free(base);
    free(target);
}

/* Cancelled at any report, it changes nothing; the next one ends with the model of one that was not
 * cancelled, though facts have come since. */
static void cancelled_it_goes_on_later(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *target = make_target(2, 8);
    const char *const paths[] = {"whole", "cancelled"};
    char *trained[2];
    size_t cancelled = 0;
    for (size_t i = 0; i < 2; i++) {
        char folder[64];
        kg_error error = {0};
        make_store(paths[i], 0);
        kg_live *live = open_store(paths[i], (kg_live_options){0});
        commit_randomly(live, base, target, 1, SIZE_MAX);
        struct meanwhile meanwhile = {.live = live};
        const kg_progress progress = {commit_meanwhile, &meanwhile};
        assert_ok(kg_changes_open(&meanwhile.changes, live, NULL), NULL);
        kg_status status = i == 0 ? KG_OK : KG_CANCELLED;
        for (size_t left = 1; i == 1 && status == KG_CANCELLED && left < 40; left++) {
            meanwhile.left = left;
            meanwhile.reports = 0;
            status = compact(NULL, live, &progress, &error);
            assert_int_equal(live_info(live).generation, status == KG_OK ? 2 : 1);
            assert_same_text(live_answers(live, 1), stored_answers(paths[i]));
            cancelled += status == KG_CANCELLED;
        }
        if (live_info(live).generation == 1)
            assert_ok(compact(NULL, live, NULL, &error), &error);
        kg_changes_close(meanwhile.changes);
        kg_live_close(live);
        snprintf(folder, sizeof folder, "%s/generation-2", paths[i]);
        trained[i] = stored_answers(folder);
    }
    assert_true(cancelled > 1);
    assert_same_text(trained[0], trained[1]);
    free(base);
    free(target);
}

/* ---- Threads ---- */

#define WRITERS 2
#define READERS 2

struct worker {
    kg_live *live;
    uint64_t seed;
    _Atomic bool *is_done;
    pthread_t thread;
    size_t turns;
};

static void *write_at_random(void *payload) {
    struct worker *worker = payload;
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, worker->live, NULL), NULL);
    for (; !*worker->is_done || worker->turns == 0; worker->turns++) {
        size_t entity = OWN + next_random(&worker->seed) % 4;
        size_t other = next_random(&worker->seed) % (OWN + 4);
        change(changes, entity, 0, other, next_random(&worker->seed) % 2 == 0);
        change(changes, 0, 0, 1, next_random(&worker->seed) % 2 == 0);
        commit(changes, NULL);
    }
    kg_changes_close(changes);
    return NULL;
}

/* Neither generations nor the log go back, and a held snapshot does not change. */
static void *read_at_random(void *payload) {
    struct worker *worker = payload;
    kg_model *snapshot = snapshot_of(worker->live);
    kg_workspace *workspace = open_workspace(snapshot, 1);
    for (; !*worker->is_done || worker->turns == 0; worker->turns++) {
        kg_model *next = snapshot_of(worker->live);
        char *before = read_answers(snapshot, workspace, false);
        assert_true(info_of(next).generation >= info_of(snapshot).generation);
        assert_true(info_of(next).last >= info_of(snapshot).last);
        assert_same_text(before, read_answers(snapshot, workspace, false));
        assert_ok(kg_workspace_move(workspace, next, NULL), NULL);
        kg_model_close(snapshot);
        snapshot = next;
    }
    kg_workspace_close(workspace);
    kg_model_close(snapshot);
    return NULL;
}

static void threads_use_it_meanwhile(void **state) {
    (void)state;
    _Atomic bool is_done = false;
    struct worker workers[WRITERS + READERS];
    make_store("threads", 0);
    kg_live *live = open_store("threads", (kg_live_options){0});
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    change(changes, OWN + 9, 0, 1, true);
    commit(changes, NULL);
    for (size_t i = 0; i < COUNT_OF(workers); i++) {
        workers[i] = (struct worker){.live = live, .seed = i + 1, .is_done = &is_done};
        assert_int_equal(0, pthread_create(&workers[i].thread, NULL,
                                           i < WRITERS ? write_at_random : read_at_random,
                                           &workers[i]));
    }
    for (int64_t generation = 2; generation <= 4; generation++) {
        kg_error error = {0};
        kg_compaction done = KG_COMPACTION_INIT;
        assert_ok(compact(&done, live, NULL, &error), &error);
        assert_int_equal(done.generation, generation);
        change(changes, OWN + 9, 1, (size_t)generation, true);
        commit(changes, NULL);
    }
    is_done = true;
    for (size_t i = 0; i < COUNT_OF(workers); i++)
        pthread_join(workers[i].thread, NULL);
    kg_changes_close(changes);
    assert_same_text(live_answers(live, 1), stored_answers("threads"));
    kg_live_close(live);
}

/* ---- What fails ---- */

/* Whatever allocation fails, the generation is the old one or the new one, with the facts of the
 * store; and it can be done again. */
static void allocations_may_fail(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *target = make_target(2, 8);
    long before = atomic_load(&allocated);
    size_t failed = 0;
    make_store("short", 0);
    kg_live *live = open_store("short", (kg_live_options){0});
    commit_randomly(live, base, target, 1, SIZE_MAX);
    for (long tries = 1; live_info(live).generation == 1;
         tries += tries / (IS_SANITIZED ? 2 : 12) + 1) {
        kg_error error = {0};
        atomic_store(&failing, atomic_load(&allocations) + tries);
        kg_status status = compact(NULL, live, NULL, &error);
        atomic_store(&failing, 0);
        if (status != KG_NO_MEMORY)
            assert_ok(status, &error);
        failed += status == KG_NO_MEMORY;
        assert_int_equal(live_info(live).generation, status == KG_OK ? 2 : 1);
        assert_same_text(live_answers(live, 1), stored_answers("short"));
    }
    assert_true(failed > (IS_SANITIZED ? 5 : 10)); /* fewer are tried */
    kg_live_close(live);
    assert_int_equal(before, atomic_load(&allocated));
    free(base);
    free(target);
}

static void what_cannot_be_compacted_is_refused(void **state) {
    (void)state;
    kg_error error = {0};
    kg_snapshot_info info = KG_SNAPSHOT_INFO_INIT;
    kg_live *live = open_live(models[0]);
    assert_int_equal(KG_BAD_INPUT, compact(NULL, live, NULL, &error));
    assert_non_null(strstr(error.message, "in memory alone"));
    assert_int_equal(live_info(live).generation, 0);
    assert_int_equal(KG_BAD_INPUT, kg_snapshot_describe(&info, models[0], &error));
    kg_live_close(live);
    make_store("reader", 0);
    live = open_store("reader", (kg_live_options){.read_only = true});
    assert_int_equal(KG_BAD_INPUT, compact(NULL, live, NULL, &error));
    assert_non_null(strstr(error.message, "for reading"));
    kg_live_close(live);
}

/* ---- Relations, and the log ---- */

static const kg_text LIKE = {"like", 4};

/* A transaction that was begun before the switch is committed after it. */
static void relations_become_known(void **state) {
    (void)state;
    kg_error error = {0};
    kg_commit counts = KG_COMMIT_INIT;
    kg_changes *changes = NULL;
    make_store("relations", 0);
    kg_live *live = open_store("relations", (kg_live_options){.allow_relations = true});
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    for (size_t i = 0; i < 6; i++)
        assert_ok(kg_changes_add(changes, name_of(i), LIKE, name_of(i + 1), &error), &error);
    commit(changes, &counts);
    assert_int_equal(counts.unknown, 6);
    assert_int_equal(live_info(live).last, 6);
    assert_ok(kg_changes_add(changes, name_of(7), LIKE, name_of(8), &error), &error);
    assert_ok(compact(NULL, live, NULL, &error), &error);
    commit(changes, &counts);
    assert_int_equal(counts.unknown, 0);
    assert_int_equal(counts.added, 1);
    kg_changes_close(changes);
    assert_same_text(live_answers(live, 1), stored_answers("relations"));
    kg_live_close(live);
}

/* Adds a fact and withdraws it again, with a compaction after each. */
static void come_and_go(const char *path, kg_text relation) {
    kg_error error = {0};
    kg_changes *changes = NULL;
    make_store(path, 0);
    kg_live *live = open_store(path, (kg_live_options){.allow_relations = true});
    for (int is_added = 1; is_added >= 0; is_added--) {
        assert_ok(kg_changes_open(&changes, live, NULL), NULL);
        kg_status status =
            is_added ? kg_changes_add(changes, name_of(1), relation, name_of(2), &error)
                     : kg_changes_remove(changes, name_of(1), relation, name_of(2), &error);
        assert_ok(status, &error);
        commit(changes, NULL);
        kg_changes_close(changes);
        assert_ok(compact(NULL, live, NULL, &error), &error);
    }
    assert_int_equal(live_info(live).generation, 3);
    kg_live_close(live);
}

/* A relation that came later is gone with its last fact, as an entity is; while there is one, it is
 * known. */
static void relations_go_with_their_facts(void **state) {
    (void)state;
    kg_error error = {0};
    kg_commit counts = KG_COMMIT_INIT;
    kg_changes *changes = NULL;
    come_and_go("gone", LIKE);
    kg_live *live = open_store("gone", (kg_live_options){.allow_relations = true});
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    assert_ok(kg_changes_add(changes, name_of(1), LIKE, name_of(2), &error), &error);
    commit(changes, &counts);
    assert_int_equal(counts.unknown, 1);
    for (int turn = 0; turn < 2; turn++) { /* the second one with another fact */
        kg_compaction done = KG_COMPACTION_INIT;
        assert_ok(compact(&done, live, NULL, &error), &error);
        assert_int_equal(done.new_relations, turn == 0);
        assert_int_equal(done.relations, RELATIONS + 1);
        assert_ok(kg_changes_add(changes, name_of(2), LIKE, name_of(3), &error), &error);
        commit(changes, &counts);
        assert_int_equal(counts.unknown, 0);
    }
    kg_changes_close(changes);
    kg_live_close(live);
}

static bool like_meanwhile(void *payload, const kg_progress_report *report) {
    struct meanwhile *m = payload;
    kg_error error = {0};
    (void)report;
    if (m->reports++ > 0)
        return true;
    assert_ok(kg_changes_add(m->changes, name_of(2), LIKE, name_of(3), &error), &error);
    commit(m->changes, NULL);
    return true;
}

/* A fact that is added to a relation on its way out is kept, as one of a new relation is. */
static void facts_of_a_relation_that_goes_are_kept(void **state) {
    (void)state;
    kg_error error = {0};
    kg_compaction done = KG_COMPACTION_INIT;
    struct meanwhile m = {0};
    const kg_progress progress = {like_meanwhile, &m};
    make_store("going", 0);
    m.live = open_store("going", (kg_live_options){.allow_relations = true});
    assert_ok(kg_changes_open(&m.changes, m.live, NULL), NULL);
    assert_ok(kg_changes_add(m.changes, name_of(1), LIKE, name_of(2), &error), &error);
    commit(m.changes, NULL);
    assert_ok(compact(NULL, m.live, NULL, &error), &error);
    assert_ok(kg_changes_remove(m.changes, name_of(1), LIKE, name_of(2), &error), &error);
    commit(m.changes, NULL);
    assert_ok(compact(&done, m.live, &progress, &error), &error);
    assert_int_not_equal(m.reports, 0);
    assert_int_equal(done.relations, RELATIONS);
    assert_same_text(live_answers(m.live, 1), stored_answers("going"));
    assert_ok(compact(&done, m.live, NULL, &error), &error);
    assert_int_equal(done.new_relations, 1);
    kg_changes_close(m.changes);
    kg_live_close(m.live);
}

/* Those of the model that the store was made of are known for ever, as its makers meant it. */
static void relations_of_the_first_model_stay(void **state) {
    (void)state;
    kg_error error = {0};
    kg_compaction done = KG_COMPACTION_INIT;
    fact_set *base = make_base();
    fact_set *target = make_base();
    kg_changes *changes = NULL;
    make_store("schema", 0);
    for (size_t h = 0; h < ALL; h++)
        memset(target->has[h][RELATIONS - 1], 0, sizeof target->has[h][RELATIONS - 1]);
    kg_live *live = open_store("schema", (kg_live_options){.allow_relations = true});
    commit_randomly(live, base, target, 1, 20);
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(compact(&done, live, NULL, &error), &error);
        assert_int_equal(done.relations, RELATIONS + (turn == 1));
        assert_ok(kg_changes_open(&changes, live, NULL), NULL);
        assert_ok(kg_changes_add(changes, name_of(1), LIKE, name_of(2), &error), &error);
        commit(changes, NULL);
        kg_changes_close(changes);
    }
    kg_live_close(live);
    free(base);
    free(target);
}

struct listed {
    char text[256];
    size_t most;
};

static bool list(void *payload, const kg_log_record *record) {
    struct listed *listed = payload;
    size_t used = strlen(listed->text);
    snprintf(listed->text + used, sizeof listed->text - used, "%d%c%.*s-%.*s ", (int)record->number,
             record->is_added ? '+' : '-', (int)record->head.length, record->head.bytes,
             (int)record->tail.length, record->tail.bytes);
    return --listed->most > 0;
}

static void the_log_is_read_from_any_place(void **state) {
    (void)state;
    kg_error error = {0};
    kg_changes *changes = NULL;
    make_store("log", 0);
    kg_live *live = open_store("log", (kg_live_options){0});
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    change(changes, 5, 0, 7, true);
    commit(changes, NULL);
    change(changes, 5, 0, 7, false);
    change(changes, 6, 0, 9, true);
    assert_ok(kg_changes_set_source(changes, "stream", 3, &error), &error);
    commit(changes, NULL);
    struct listed all = {.most = 9};
    assert_ok(kg_live_log(live, 0, NULL, list, &all, &error), &error);
    assert_string_equal(all.text, "1+a5-a7 2-a5-a7 3+a6-a9 ");
    struct listed one = {.most = 1};
    assert_ok(kg_live_log(live, 1, NULL, list, &one, &error), &error);
    assert_string_equal(one.text, "2-a5-a7 ");
    struct listed of = {.most = 9};
    kg_live_close_store(live);
    assert_ok(kg_live_log(live, 2, "stream", list, &of, &error), &error);
    assert_string_equal(of.text, "3+a6-a9 ");
    kg_changes_close(changes);
    kg_live_close(live);
    live = open_live(models[0]);
    assert_int_equal(KG_BAD_INPUT, kg_live_log(live, 0, NULL, list, &all, &error));
    kg_live_close(live);
}

/* The working directory may change, and a generation that is missing is not one that is being
 * compacted. */
static void a_store_is_found_from_elsewhere(void **state) {
    (void)state;
    kg_error error = {0};
    kg_compaction done = KG_COMPACTION_INIT;
    fact_set *base = make_base();
    fact_set *target = make_target(2, 8);
    make_store("elsewhere", 0);
    kg_live *live = open_store("elsewhere", (kg_live_options){0});
    commit_randomly(live, base, target, 1, 20);
    assert_int_equal(rename("elsewhere/generation-1", "elsewhere/away"), 0);
    assert_int_equal(chdir("elsewhere"), 0);
    assert_int_equal(compact(&done, live, NULL, &error), KG_BAD_INPUT);
    assert_non_null(strstr(error.source, "elsewhere/generation-1"));
    assert_null(strstr(error.message, "compacted"));
    assert_int_equal(rename("away", "generation-1"), 0);
    assert_ok(compact(&done, live, NULL, &error), &error);
    assert_int_equal(done.generation, 2);
    assert_int_equal(chdir(".."), 0);
    kg_live_close(live);
    free(base);
    free(target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_generation_is_that_of_the_store),
        cmocka_unit_test(commits_go_on_in_training),
        cmocka_unit_test(cancelled_it_goes_on_later),
        cmocka_unit_test(threads_use_it_meanwhile),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(what_cannot_be_compacted_is_refused),
        cmocka_unit_test(relations_become_known),
        cmocka_unit_test(relations_go_with_their_facts),
        cmocka_unit_test(facts_of_a_relation_that_goes_are_kept),
        cmocka_unit_test(relations_of_the_first_model_stay),
        cmocka_unit_test(the_log_is_read_from_any_place),
        cmocka_unit_test(a_store_is_found_from_elsewhere),
    };
    return cmocka_run_group_tests(tests, open_live_world, close_live_world);
}
