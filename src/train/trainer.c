/* Epochs of steps: validation, the best parameters, early stopping, and when checkpoints are
 * written; and views of the parameters. */
#include "train/trainer.h"

#include <math.h>

#include "base/memory.h"
#include "rank/rank.h"
#include "train/checkpoint.h"
#include "train/hold_out.h"

/* Writing checkpoints may take this share of the time. */
#define CHECKPOINT_SHARE 0.05

/* ---- Validation ---- */

/* Queries are a sample of all where they take long. About which a term is costly: some seconds of
 * work. Otherwise: candidates whose rows are scored, minutes, of graphs of millions of entities. */
#define SCORES 1e9
#define ROW_SCORES 4e10

bool kg__train_validates(const kg_train_options *o, const kg_dataset *dataset) {
    return o->validate_every > 0 && kg__has_validation(dataset);
}

/* Of the two runs, only the one of propagation can be validated on a new graph. */
static kg_part validation_part(const kg_trainer *t) {
    return kg__dataset_validation(t->dataset, kg__train_is_apart(&t->options));
}

static bool validates(const kg_trainer *t) {
    return kg__train_validates(&t->options, t->dataset) &&
           t->dataset->parts[validation_part(t)].count > 0;
}

static const real *values_of(const kg_trainer *t, size_t param) {
    return param >= t->list.count ? NULL : t->list.items[param].values;
}

static kg_term_view view_term(const kg_trainer *t, size_t term) {
    kg_term_view view = t->terms[term];
    kg_term_param params[KG_MOST_TERM_PARAMS];
    size_t count = kg__term_params(params, &view);
    for (size_t i = 0; i < count; i++)
        view.values[i] = values_of(t, view.param + i);
    return view;
}

kg_params kg__trainer_params(kg_trainer *t) {
    kg_params own = kg__trainer_own_params(t);
    if (t->beside == NULL)
        return own;
    kg_params all = *t->beside;
    all.graph = own.graph;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (own.terms[i].counted != NULL)
            all.terms[i] = own.terms[i];
    return all;
}

kg_params kg__trainer_own_params(kg_trainer *t) {
    const kg_train_options *o = &t->options;
    kg_params params = {.scoring = o->scoring,
                        .entities = kg__no_rows,
                        .relations = kg__no_rows,
                        .graph = &t->candidates};
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        params.terms[i] = view_term(t, i);
    if (kg__train_is_apart(o))
        return params;
    params.entities = values_of(t, KG_PARAM_ENTITIES);
    params.relations = values_of(t, KG_PARAM_RELATIONS);
    params.dim = o->dim;
    params.encoder = o->scoring->is_encoded ? &t->encoder : NULL;
    params.is_directed = o->directed;
    if (o->own_relations)
        params.aggregate_relations = values_of(t, KG_PARAM_AGGREGATE_RELATIONS);
    return params;
}

static kg_status fetch_rows(void *payload, const kg_id *entities, size_t count, kg_error *error) {
    return kg__row_exchange_fetch_rows(payload, KG_PARAM_ENTITIES, entities, count, error);
}

kg_row_source kg__trainer_rows(kg_trainer *t) {
    return (kg_row_source){t->rows, fetch_rows};
}

static kg_status measure(kg_trainer *t, kg_metrics *out, const kg_progress *progress,
                         kg_error *error) {
    kg_part part = validation_part(t);
    kg_params params = kg__trainer_params(t);
    kg_row_source rows = kg__trainer_rows(t);
    kg_rank_options options = {.embedding = {.aggregate = t->options.aggregate},
                               .ties = KG_REALISTIC,
                               .threads = (int)t->options.threads,
                               .ranks = t->options.ranks,
                               .rows = t->rows == NULL ? NULL : &rows,
                               .stage = "validating",
                               .progress = progress};
    kg_queries queries = {0};
    kg_status status = kg__queries_make(&queries, t->dataset, part, error);
    if (status == KG_OK && part == KG_VALID && t->options.psi == 1)
        status = kg__queries_give_facts(&queries, t->dataset, error);
    double affordable = kg__term_cost(&params) > 0 ? SCORES / kg__term_cost(&params) : INFINITY;
    kg__queries_sample(&queries, fmin(affordable, ROW_SCORES / (double)queries.candidates));
    if (status == KG_OK)
        status = kg__rank_metrics(out, &queries, &params, &options, error);
    kg__queries_free(&queries);
    return status;
}

static kg_status validate(kg_trainer *t, kg_epoch *epoch, const kg_progress *progress,
                          kg_error *error) {
    KG_TRY(kg__step_catch_up(t->step, t->steps, error));
    KG_TRY(measure(t, &epoch->valid, progress, error));
    epoch->is_validated = true;
    t->since_best++;
    if (t->best_epoch > 0 && epoch->valid.mrr <= t->best_mrr)
        return KG_OK;
    t->best_epoch = epoch->number;
    t->best_mrr = epoch->valid.mrr;
    t->since_best = 0;
    kg_status status = kg__param_list_keep_best(&t->list, NULL, t->folder, error);
    return kg__ranks_agree(t->options.ranks, status, error);
}

/* ---- The loop ---- */

uint64_t kg__train_work(const kg_train_options *o, const kg_dataset *dataset) {
    uint64_t each = o->loss->of_score != NULL ? 1 + o->negatives : 2; /* queries of a fact */
    return o->epochs * dataset->parts[KG_TRAIN].count * each;
}

static kg_status tick(const kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    const kg_train_options *o = &t->options;
    char note[128];
    int length =
        snprintf(note, sizeof note, "%s%s, epoch %ju of %ju", watcher->phase == NULL ? "" : ", ",
                 watcher->phase == NULL ? "" : watcher->phase, (uintmax_t)t->epoch + 1,
                 (uintmax_t)o->epochs);
    if (t->history_count > 0)
        length += snprintf(note + length, sizeof note - (size_t)length, ", loss %.4g",
                           t->history[t->history_count - 1].loss);
    for (size_t i = t->best_epoch > 0 ? t->history_count : 0; i > 0; i--) {
        if (!t->history[i - 1].is_validated)
            continue;
        snprintf(note + length, sizeof note - (size_t)length, ", valid MRR %.4f (best %.4f)",
                 t->history[i - 1].valid.mrr, t->best_mrr);
        break;
    }
    uint64_t work = kg__train_work(o, t->dataset);
    uint64_t steps = o->epochs * t->sampler.batch_count;
    kg_progress_report report = {
        .stage = "training",
        .unit = "triples",
        .done = (uint64_t)((double)work * (double)t->steps / (double)steps),
        .total = work,
        .note = note,
        .phase = KG_PHASE_TRAINING,
    };
    return kg__progress_tick(watcher->progress, &report, error);
}

/* The rest of the current epoch. */
static kg_status finish_epoch(kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    double started = kg__seconds();
    kg_status status = KG_OK;
    for (; t->next < t->sampler.batch_count; t->next++) {
        double loss = 0;
        KG_CHECK(kg__ranks_agree(t->options.ranks, tick(t, watcher, error), error));
        KG_CHECK(kg__sampler_fill(&t->sampler, &t->batch, t->epoch, t->next, error));
        KG_CHECK(kg__step_take(t->step, &t->batch, t->steps + 1, &loss, error));
        t->steps++;
        t->loss += loss;
    }
done:
    t->seconds += kg__seconds() - started;
    return status;
}

static bool is_due(const kg_trainer *t, uint64_t epoch) {
    return validates(t) && (epoch == 1 || epoch % t->options.validate_every == 0);
}

/* Whether the last epoch of all has ended, and it was not due. */
static bool awaits_validation(const kg_trainer *t) {
    return validates(t) && t->history_count > 0 && t->epoch == t->options.epochs &&
           !t->history[t->history_count - 1].is_validated;
}

static void report_epoch(const kg_train_watcher *watcher, const kg_epoch *epoch) {
    if (watcher->on_epoch != NULL)
        watcher->on_epoch(watcher->payload, watcher->phase, epoch);
}

/* Adds the epoch that has just ended to the history, and starts the next. */
static kg_status close_epoch(kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    kg_epoch epoch = {.number = t->epoch + 1,
                      .loss = t->loss / (double)t->sampler.query_count,
                      .seconds = t->seconds};
    if (is_due(t, epoch.number))
        KG_TRY(validate(t, &epoch, watcher->progress, error));
    kg_epoch *history =
        kg__grow(t->history, &t->history_capacity, t->history_count + 1, sizeof *history);
    if (history == NULL)
        return kg__fail_memory(error);
    t->history = history;
    history[t->history_count++] = epoch;
    t->epoch++;
    t->next = 0;
    t->loss = 0;
    t->seconds = 0;
    if (!awaits_validation(t))
        report_epoch(watcher, &epoch);
    return KG_OK;
}

/* The checkpoint is without this validation, so that a run that goes on to more epochs comes to the
 * same as one that was meant to have them from the start. */
static kg_status validate_last(kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    if (!awaits_validation(t))
        return KG_OK;
    kg_epoch *last = &t->history[t->history_count - 1];
    KG_TRY(validate(t, last, watcher->progress, error));
    report_epoch(watcher, last);
    return KG_OK;
}

bool kg__train_is_done(const kg_train_options *o, uint64_t epochs, uint64_t since_best) {
    return epochs >= kg__train_epochs(o) || (o->patience > 0 && since_best >= o->patience);
}

static kg_status catch_up_and_write(kg_trainer *t, const char *path, kg_error *error) {
    KG_TRY(kg__step_catch_up(t->step, t->steps, error));
    return kg__checkpoint_write(t, path, error);
}

/* Of several ranks the first writes, for all. */
static kg_status write_checkpoint(kg_trainer *t, const char *path, kg_error *error) {
    double started = kg__seconds();
    KG_TRY(kg__ranks_agree(t->options.ranks, catch_up_and_write(t, path, error), error));
    double now = kg__seconds();
    t->next_checkpoint = now + (now - started) / CHECKPOINT_SHARE;
    return KG_OK;
}

/* By the clock of the first rank. */
static bool is_checkpoint_due(const kg_trainer *t) {
    bool is_due = kg__seconds() >= t->next_checkpoint;
    kg__ranks_send(t->options.ranks, 0, &is_due, sizeof is_due);
    return is_due;
}

kg_status kg__trainer_run(kg_trainer *t, const char *checkpoint, const kg_train_watcher *watcher,
                          kg_error *error) {
    t->next_checkpoint = 0; /* the first as soon as there is an epoch to lose */
    bool is_saved = false;
    if (t->carried != NULL && t->steps == 0)
        KG_TRY(write_checkpoint(t, checkpoint, error));
    while (!kg__train_is_done(&t->options, t->epoch, t->since_best)) {
        kg_status status = finish_epoch(t, watcher, error);
        if (status == KG_OK)
            status = close_epoch(t, watcher, error);
        if (status == KG_CANCELLED)
            KG_TRY(write_checkpoint(t, checkpoint, error));
        KG_TRY(status);
        is_saved = is_checkpoint_due(t);
        if (is_saved)
            KG_TRY(write_checkpoint(t, checkpoint, error));
    }
    if (!is_saved)
        KG_TRY(write_checkpoint(t, checkpoint, error));
    KG_TRY(validate_last(t, watcher, error));
    kg__param_list_take_best(&t->list);
    return KG_OK;
}

uint64_t kg__trainer_best_epoch(const kg_trainer *t) {
    return t->best_epoch > 0 ? t->best_epoch : t->epoch;
}
