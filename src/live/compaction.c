/* Freeze, train, switch. */
#include "live/compaction.h"

#include "base/file_lock.h"
#include "base/memory.h"
#include "live/live_dataset.h"
#include "live/live_store.h"
#include "store/store.h"
#include "train/hold_out.h"

/* Seconds that a compaction waits for those who write. */
#define PATIENCE 60

struct compaction {
    const kg_compact_options *options;
    kg_compact_result *result;
    kg_store_state state; /* when it was frozen */
    char *current;        /* model directories: of the current generation, */
    char *next;           /* and of the next one */
    int lock;             /* on the first */
    kg_train_options settings;
    bool is_fresh; /* frozen by this compaction, not by one before */

    kg_model model; /* of the current generation */
    bool is_open;
    kg_live *live;
    kg_changes *changes;
    kg_model *snapshot; /* with the frozen facts */
    kg_new_relations rest;
    kg_dataset dataset;
};

static void close_compaction(struct compaction *c) {
    kg__dataset_close(&c->dataset);
    kg__new_relations_free(&c->rest);
    if (c->snapshot != NULL)
        kg__live_release(c->snapshot);
    kg__changes_close(c->changes);
    kg__live_close(c->live);
    if (c->is_open)
        kg__model_close(&c->model);
    kg__unlock(c->lock);
    kg__free(c->current);
    kg__free(c->next);
}

/* ---- Freezing ---- */

static kg_status count_change(void *payload, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    kg_compact_result *result = payload;
    (void)fact;
    (void)error;
    (*(operation == KG_ADD ? &result->added : &result->removed))++;
    return KG_OK;
}

static kg_status give_up(struct compaction *c, kg_store *store, kg_error *error) {
    (void)c;
    return kg__store_thaw(store, error);
}

static kg_status refuse(const struct compaction *c, kg_error *error) {
    return kg_fail_at(error, c->options->store, 0, 0,
                      "expected a store that nobody compacts, found that it is being compacted");
}

/* Another compaction may have ended between the two looks at the state. */
static kg_status lock_generation(struct compaction *c, kg_store *store, kg_error *error) {
    kg_store_state before;
    KG_TRY(kg__store_read_state(store, &before, error));
    c->current = kg__store_generation_path(store, before.generation);
    c->next = kg__store_generation_path(store, before.generation + 1);
    if (c->current == NULL || c->next == NULL)
        return kg__fail_memory(error);
    bool is_busy = false;
    kg_status status = kg__lock_unless_busy(&c->lock, &is_busy, c->current, error);
    KG_TRY(kg__store_read_state(store, &c->state, status == KG_OK ? error : NULL));
    if (is_busy || c->state.generation != before.generation)
        return refuse(c, error);
    return status;
}

/* Settings that cannot be trained with are refused before anything is frozen. */
static kg_status read_settings(struct compaction *c, kg_error *error) {
    const kg_compact_options *options = c->options;
    kg_train_options run;
    json_t *config = NULL;
    KG_TRY(kg__config_read(&config, c->current, error));
    kg_status status = kg__train_read(&c->settings, config, c->current, error);
    json_decref(config);
    KG_TRY(status);
    KG_TRY(kg__scoring_check_live(c->settings.scoring, c->current, error));
    c->settings.threads = options->threads;
    c->settings.hold_out = 0;
    if (options->from_scratch && options->epochs > 0)
        c->settings.epochs = options->epochs;
    run = options->from_scratch ? c->settings : kg__warm_options(&c->settings, options->epochs);
    return kg__train_check(&run, error);
}

/* Nothing is frozen if nothing has changed. */
static kg_status freeze(struct compaction *c, kg_store *store, kg_error *error) {
    bool has_changed = false;
    KG_TRY(lock_generation(c, store, error));
    KG_TRY(read_settings(c, error));
    if (c->options->restart && c->state.next != 0)
        KG_TRY(give_up(c, store, error));
    KG_TRY(kg__store_read_state(store, &c->state, error));
    KG_TRY(kg__store_has_changes(store, &has_changed, error));
    c->result->generation = c->state.generation;
    c->is_fresh = c->state.next == 0;
    return has_changed || c->state.next != 0 ? kg__store_freeze(store, &c->state, error) : KG_OK;
}

/* Does something while no other process writes. */
static kg_status with_store(struct compaction *c,
                            kg_status (*work)(struct compaction *c, kg_store *store,
                                              kg_error *error),
                            kg_error *error) {
    kg_store *store = NULL;
    if (c->options->live != NULL)
        return work(c, c->options->live->store, error);
    KG_TRY(kg__store_open_when_free(&store, c->options->store, PATIENCE, error));
    kg_status status = work(c, store, error);
    kg__store_close(store);
    return status;
}

/* ---- What was frozen ---- */

static kg_status take_change(void *payload, kg_operation operation, const kg_text fact[3],
                             kg_error *error) {
    struct compaction *c = payload;
    kg_name relation = kg__name_of(fact[1].bytes, fact[1].length);
    KG_TRY(count_change(c->result, operation, fact, error));
    if (kg__names_find(&c->model.relations, relation) == KG_NO_ID)
        return kg__new_relations_add(&c->rest, fact, error);
    return operation == KG_ADD ? kg__changes_add(c->changes, fact[0], fact[1], fact[2], error)
                               : kg__changes_remove(c->changes, fact[0], fact[1], fact[2], error);
}

static kg_status read_changes(struct compaction *c, kg_error *error) {
    kg_store *store = NULL;
    kg_commit commit;
    KG_TRY(kg__store_open(&store, c->options->store, KG_STORE_READ, error));
    kg_status status = kg__store_read_frozen(store, take_change, c, error);
    kg__store_close(store);
    return status == KG_OK ? kg__changes_commit(&commit, c->changes, error) : status;
}

static kg_status read_facts(struct compaction *c, kg_error *error) {
    const kg_live_options options = KG_LIVE_OPTIONS_INIT;
    kg_compact_result *result = c->result;
    KG_TRY(kg__model_open(&c->model, c->current, error));
    c->is_open = true;
    KG_TRY(kg__live_open(&c->live, &c->model, &options, error));
    KG_TRY(kg__changes_open(&c->changes, c->live, error));
    KG_TRY(read_changes(c, error));
    c->snapshot = kg__live_snapshot(c->live);
    KG_TRY(kg__live_dataset(&c->dataset, c->snapshot, c->state.generation == KG_FIRST_GENERATION,
                            &c->rest, error));
    result->facts = c->dataset.parts[KG_TRAIN].count;
    result->entities = c->dataset.entities.count;
    result->relations = c->dataset.relations.count;
    for (kg_id id = 0; id < c->dataset.relations.count; id++)
        result->new_relations +=
            kg__names_find(&c->model.relations, kg__names_hashed(&c->dataset.relations, id)) ==
            KG_NO_ID;
    for (kg_id id = 0; id < c->dataset.entities.count; id++)
        result->new_entities +=
            kg__names_find(&c->model.entities, kg__names_hashed(&c->dataset.entities, id)) ==
            KG_NO_ID;
    result->gone_entities = c->model.entities.count + result->new_entities - result->entities;
    if (result->facts == 0)
        return kg_fail_at(error, c->options->store, 0, 0,
                          "expected live facts to train on, found none");
    return KG_OK;
}

/* ---- Training ---- */

static kg_status train(struct compaction *c, kg_error *error) {
    const kg_compact_options *options = c->options;
    kg_training_run_options run = {.options = &c->settings,
                                   .dataset = &c->dataset,
                                   .path = c->next,
                                   .start = options->from_scratch ? NULL : c->snapshot,
                                   .warm_epochs = options->epochs,
                                   .hold_out = options->from_scratch ? KG_DEFAULT_HOLD_OUT : 0,
                                   .refit = true,
                                   .resume = true,
                                   .force = true,
                                   .watcher = options->watcher};
    return kg__training_run(&c->result->fit, &run, error);
}

static kg_status switch_over(struct compaction *c, kg_store *store, kg_error *error) {
    kg_live *live = c->options->live;
    return live == NULL ? kg__store_switch(store, NULL, error) : kg__live_switch(live, error);
}

static kg_status compact(struct compaction *c, kg_error *error) {
    kg_error ignored = {0};
    KG_TRY(with_store(c, freeze, error));
    if (c->state.next == 0)
        return KG_OK;
    kg_status status = read_facts(c, error);
    if (status != KG_OK && c->is_fresh && with_store(c, give_up, &ignored) != KG_OK)
        return status; /* the facts stay frozen */
    KG_TRY(status);
    KG_TRY(train(c, error));
    KG_TRY(with_store(c, switch_over, error));
    c->result->generation = c->state.next;
    c->result->is_new = true;
    return KG_OK;
}

kg_status kg__compact(kg_compact_result *out, const kg_compact_options *options, kg_error *error) {
    *out = (kg_compact_result){0};
    struct compaction compaction = {.options = options, .result = out, .lock = -1};
    kg_status status = compact(&compaction, error);
    close_compaction(&compaction);
    return status;
}
