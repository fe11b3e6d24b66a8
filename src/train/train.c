/* The loop around the steps. */
#include "train/train.h"

#include <string.h>

#include "base/memory.h"
#include "rank/rank.h"
#include "train/checkpoint.h"
#include "train/trainer.h"

/* Writing checkpoints may take this share of the time. */
#define CHECKPOINT_SHARE 0.05

/* ---- Validation ---- */

/* By the unseen entities if there are any, by the in-sample part otherwise. */
bool kg__train_validates(const kg_train_options *o, const kg_dataset *dataset) {
    return o->validate_every > 0 &&
           (dataset->parts[KG_UNSEEN_VALID].count > 0 || dataset->parts[KG_VALID].count > 0);
}

kg_params kg__trainer_params(const kg_trainer *t) {
    return (kg_params){.scoring = t->options.scoring,
                       .entities = t->params[KG_ENTITIES].table.values,
                       .relations = t->params[KG_RELATIONS].table.values,
                       .dim = t->options.dim,
                       .encoder = t->options.scoring->is_encoded ? &t->encoder : NULL,
                       .is_directed = t->options.directed,
                       .aggregate_relations = t->params[KG_AGGREGATE_RELATIONS].table.values,
                       .graft = t->options.aggregate.aggregator->is_asked ? &t->graft : NULL,
                       .evidence = t->options.evidence != 0 ? &t->evidence : NULL};
}

static kg_status measure(kg_trainer *t, kg_metrics *out, const kg_progress *progress,
                         kg_error *error) {
    kg_part part = t->dataset->parts[KG_UNSEEN_VALID].count > 0 ? KG_UNSEEN_VALID : KG_VALID;
    kg_params params = kg__trainer_params(t);
    kg_rank_options options = {.embedding = {.aggregate = t->options.aggregate},
                               .ties = KG_REALISTIC,
                               .threads = (int)t->options.threads,
                               .stage = "validating",
                               .progress = progress};
    kg_queries questions = {0};
    KG_TRY(kg__queries_make(&questions, t->dataset, part, error));
    double *ranks = kg__alloc(questions.count, sizeof *ranks);
    kg_status status = ranks == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK && part == KG_VALID && t->options.psi == 1)
        status = kg__queries_give_facts(&questions, t->dataset, error);
    if (status == KG_OK)
        status = kg__rank(ranks, &questions, &params, kg__dataset_in_sample(t->dataset), &options,
                          error);
    *out = (kg_metrics){0};
    for (size_t i = 0; i < questions.count && status == KG_OK; i++)
        kg__metrics_add(out, ranks[i]);
    kg__metrics_mean(out);
    kg__free(ranks);
    kg__queries_free(&questions);
    return status;
}

kg_status kg__trainer_make_best(kg_trainer *t, kg_error *error) {
    t->best_encoder.shape = t->encoder.shape;
    t->best_graft = t->graft;
    for (size_t i = 0; i < KG_TABLE_COUNT; i++) {
        kg_trained *trained = &t->params[i];
        if (trained->name != NULL && trained->best == NULL)
            trained->best =
                kg__resize(NULL, trained->table.rows * trained->table.dim, sizeof *trained->best);
        if (trained->name != NULL && trained->best == NULL)
            return kg__fail_memory(error);
        if (i >= KG_ENCODER)
            t->best_encoder.tensors[i - KG_ENCODER] = trained->best;
    }
    t->best_graft.weights = t->params[KG_WEIGHTS].best;
    t->best_graft.echoes = t->params[KG_ECHOES].best;
    t->best_evidence = t->evidence;
    t->best_evidence.worth = t->params[KG_WORTH].best;
    return KG_OK;
}

static kg_status keep_best(kg_trainer *t, kg_error *error) {
    KG_TRY(kg__trainer_make_best(t, error));
    for (size_t i = 0; i < KG_TABLE_COUNT; i++)
        if (t->params[i].name != NULL)
            memcpy(t->params[i].best, t->params[i].table.values,
                   t->params[i].table.rows * t->params[i].table.dim * sizeof(real));
    return KG_OK;
}

/* Makes all params what they are after the last step. */
static kg_status catch_up(kg_trainer *t, kg_error *error) {
    if (t->rgcn != NULL)
        return kg__rgcn_encode(t->rgcn, error);
    if (t->quiz != NULL) {
        kg__quiz_catch_up(t->quiz, t->step);
        return KG_OK;
    }
    kg__stepper_catch_up(t->stepper, t->step);
    return KG_OK;
}

static kg_status validate(kg_trainer *t, kg_epoch *epoch, const kg_progress *progress,
                          kg_error *error) {
    KG_TRY(catch_up(t, error));
    KG_TRY(measure(t, &epoch->valid, progress, error));
    epoch->is_validated = true;
    t->since_best++;
    if (t->best_epoch > 0 && epoch->valid.mrr <= t->best_mrr)
        return KG_OK;
    t->best_epoch = epoch->number;
    t->best_mrr = epoch->valid.mrr;
    t->since_best = 0;
    return keep_best(t, error);
}

/* ---- The loop ---- */

uint64_t kg__train_work(const kg_train_options *o, const kg_dataset *dataset) {
    uint64_t each = o->loss == KG_SOFTMAX ? 2 : 1 + o->negatives;
    return o->epochs * dataset->parts[KG_TRAIN].count * each;
}

size_t kg__trainer_batches(const kg_trainer *t) {
    return t->quiz != NULL ? t->portions.batch_count : kg__batches_count(&t->batches);
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
    uint64_t steps = o->epochs * kg__trainer_batches(t);
    kg_progress_report report = {
        .stage = "training",
        .unit = "triples",
        .done = (uint64_t)((double)work * (double)t->step / (double)steps),
        .total = kg__train_work(o, t->dataset),
        .note = note,
    };
    return kg__progress_tick(watcher->progress, &report, error);
}

/* Takes the next step of the epoch. */
static kg_status take_step(kg_trainer *t, double *loss, kg_error *error) {
    size_t count = 0;
    if (t->quiz != NULL) {
        const kg_portion *portions = kg__portions_batch(&t->portions, t->epoch, t->batch, &count);
        return kg__quiz_step(t->quiz, portions, count, t->step + 1, loss, error);
    }
    count = kg__batches_make(&t->batches, t->items, t->epoch, t->batch);
    if (t->rgcn != NULL)
        return kg__rgcn_step(t->rgcn, t->items, count, t->step + 1, loss, error);
    return kg__stepper_step(t->stepper, t->items, count, t->step + 1, loss, error);
}

/* The rest of the current epoch. */
static kg_status finish_epoch(kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    size_t count = kg__trainer_batches(t);
    double started = kg__seconds();
    for (; t->batch < count; t->batch++) {
        kg_status status = tick(t, watcher, error);
        if (status != KG_OK) {
            t->seconds += kg__seconds() - started;
            return status;
        }
        double loss = 0;
        KG_TRY(take_step(t, &loss, error));
        t->step++;
        t->loss += loss;
    }
    t->seconds += kg__seconds() - started;
    return KG_OK;
}

static bool is_due(const kg_trainer *t, uint64_t epoch) {
    return kg__train_validates(&t->options, t->dataset) &&
           (epoch == 1 || epoch % t->options.validate_every == 0);
}

/* Whether the last epoch of all has ended, and it was not due. */
static bool awaits_validation(const kg_trainer *t) {
    return kg__train_validates(&t->options, t->dataset) && t->history_count > 0 &&
           t->epoch == t->options.epochs && !t->history[t->history_count - 1].is_validated;
}

static void tell_epoch(const kg_train_watcher *watcher, const kg_epoch *epoch) {
    if (watcher->on_epoch != NULL)
        watcher->on_epoch(watcher->payload, watcher->phase, epoch);
}

/* Books the epoch that has just ended and goes on to the next. */
static kg_status close_epoch(kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    size_t items = t->quiz != NULL ? t->portions.question_count
                                   : t->batches.facts->count * (1 + t->options.negatives);
    kg_epoch epoch = {
        .number = t->epoch + 1, .loss = t->loss / (double)items, .seconds = t->seconds};
    if (is_due(t, epoch.number))
        KG_TRY(validate(t, &epoch, watcher->progress, error));
    kg_epoch *history =
        kg__grow(t->history, &t->history_capacity, t->history_count + 1, sizeof *history);
    if (history == NULL)
        return kg__fail_memory(error);
    t->history = history;
    history[t->history_count++] = epoch;
    t->epoch++;
    t->batch = 0;
    t->loss = 0;
    t->seconds = 0;
    if (!awaits_validation(t))
        tell_epoch(watcher, &epoch);
    return KG_OK;
}

/* The checkpoint is without this validation, so that a run that goes on to more epochs comes to the
 * same as one that was meant to have them from the start. */
static kg_status validate_last(kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    if (!awaits_validation(t))
        return KG_OK;
    kg_epoch *last = &t->history[t->history_count - 1];
    KG_TRY(validate(t, last, watcher->progress, error));
    tell_epoch(watcher, last);
    return KG_OK;
}

bool kg__train_is_done(const kg_train_options *o, uint64_t epochs, uint64_t since_best) {
    return epochs >= o->epochs || (o->patience > 0 && since_best >= o->patience);
}

static kg_status write_checkpoint(kg_trainer *t, const char *path, kg_error *error) {
    double started = kg__seconds();
    KG_TRY(catch_up(t, error));
    KG_TRY(kg__checkpoint_write(t, path, error));
    double now = kg__seconds();
    t->next_checkpoint = now + (now - started) / CHECKPOINT_SHARE;
    return KG_OK;
}

void kg__trainer_carry(kg_trainer *t, json_t *object) {
    json_decref(t->carried);
    t->carried = object;
}

kg_status kg__trainer_run(kg_trainer *t, const char *checkpoint, const kg_train_watcher *watcher,
                          kg_error *error) {
    t->next_checkpoint = 0; /* the first as soon as there is an epoch to lose */
    bool is_saved = false;
    if (t->carried != NULL && t->step == 0)
        KG_TRY(write_checkpoint(t, checkpoint, error));
    while (!kg__train_is_done(&t->options, t->epoch, t->since_best)) {
        kg_status status = finish_epoch(t, watcher, error);
        if (status == KG_OK)
            status = close_epoch(t, watcher, error);
        if (status == KG_CANCELLED)
            KG_TRY(write_checkpoint(t, checkpoint, error));
        KG_TRY(status);
        is_saved = kg__seconds() >= t->next_checkpoint;
        if (is_saved)
            KG_TRY(write_checkpoint(t, checkpoint, error));
    }
    if (!is_saved)
        KG_TRY(write_checkpoint(t, checkpoint, error));
    return validate_last(t, watcher, error);
}

kg_params kg__trainer_result(const kg_trainer *t) {
    if (t->best_epoch == 0)
        return kg__trainer_params(t);
    kg_params out = kg__trainer_params(t);
    out.entities = t->params[KG_ENTITIES].best;
    out.relations = t->params[KG_RELATIONS].best;
    out.aggregate_relations = t->params[KG_AGGREGATE_RELATIONS].best;
    out.encoder = out.encoder == NULL ? NULL : &t->best_encoder;
    out.graft = out.graft == NULL ? NULL : &t->best_graft;
    out.evidence = out.evidence == NULL ? NULL : &t->best_evidence;
    return out;
}

uint64_t kg__trainer_best_epoch(const kg_trainer *t) {
    return t->best_epoch > 0 ? t->best_epoch : t->epoch;
}

kg_step_cost kg__trainer_cost(const kg_trainer *t) {
    kg_step_cost none = {0};
    return t->stepper == NULL ? none : kg__stepper_cost(t->stepper);
}

const kg_epoch *kg__trainer_history(const kg_trainer *t, size_t *count) {
    *count = t->history_count;
    return t->history;
}
