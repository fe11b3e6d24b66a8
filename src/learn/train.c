/* The loop around the steps. */
#include "learn/train.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "learn/checkpoint.h"
#include "learn/trainer.h"
#include "rank/rank.h"

/* Writing checkpoints may take this share of the time. */
#define CHECKPOINT_SHARE 0.05

kg_train_options kg_train_usual(const kg_kind *kind) {
    kg_train_options out = {
        .kind = kind,
        .dim = 200,
        .aggregate = {kg_aggregator_find("eravg"), KG_LS_LAMBDA, KG_LS_NORMALIZED},
        .exclude = KG_EXCLUDE_TRIPLE,
        .psi = 0.5,
        .bases = 4,
        .self_loops = true,
        .negatives = 1,
        .batch = 1000,
        .epochs = 200,
        .method = KG_ADAGRAD,
        .rate = 0.1,
        .l2 = 0.01,
        .shuffle = true,
        .threads = 1,
        .validate_every = 20,
    };
    if (!kind->is_encoded)
        return out;
    out.aggregate.aggregator = kg_aggregator_find("rgcn-d");
    out.psi = 0;
    out.batch = 10000;
    out.epochs = 30;
    out.method = KG_ADAM;
    out.rate = 0.01;
    out.l2 = 0;
    out.validate_every = 3;
    return out;
}

/* How entities come to their rows, seen and unseen. */
static json_t *describe_embedding(const kg_train_options *o) {
    if (o->kind->is_encoded)
        return json_pack("{ss sI ss sI sb}", "model", o->kind->name, "dim", (json_int_t)o->dim,
                         "aggregate", o->aggregate.aggregator->name, "bases", (json_int_t)o->bases,
                         "self_loops", o->self_loops);
    return json_pack("{ss sI ss sf ss ss sf}", "model", o->kind->name, "dim", (json_int_t)o->dim,
                     "aggregate", o->aggregate.aggregator->name, "ls_lambda",
                     o->aggregate.ls_lambda, "ls_rows", kg_ls_rows_names[o->aggregate.ls_rows],
                     "exclude", o->exclude == KG_EXCLUDE_PAIR ? "pair" : "triple", "psi", o->psi);
}

json_t *kg_train_settings(const kg_train_options *o) {
    json_t *out = describe_embedding(o);
    json_t *learning = json_pack(
        "{sI sI ss ss sf sf sf ss sb sI sI sI}", "negatives", (json_int_t)o->negatives, "batch",
        (json_int_t)o->batch, "loss", "softplus", "optimizer", kg_method_names[o->method], "lr",
        o->rate, "l2", o->l2, "dropout", o->dropout, "init", "xavier", "shuffle", o->shuffle,
        "seed", (json_int_t)o->seed, "validate_every", (json_int_t)o->validate_every, "patience",
        (json_int_t)o->patience);
    bool good = json_object_update(out, learning) == 0;
    json_decref(learning);
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

json_t *kg_epoch_json(const kg_epoch *epoch) {
    json_t *out = json_pack("{sI sf sf}", "epoch", (json_int_t)epoch->number, "loss", epoch->loss,
                            "seconds", epoch->seconds);
    if (!epoch->is_validated)
        return out;
    if (json_object_set_new(out, "valid", kg_metrics_json(&epoch->valid)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static kg_status refuse(kg_error *error, const char *setting, const char *expected, double found) {
    return kg_fail(error, KG_BAD_INPUT, "%s: expected %s, found %g", setting, expected, found);
}

static kg_status check_encoder(const kg_train_options *o, kg_error *error) {
    if (o->psi != 0)
        return refuse(error, "psi", "0 for model rgcn-d, which encodes seen and unseen alike",
                      o->psi);
    if (o->bases == 0 || o->bases > KG_MOST_BASES)
        return refuse(error, "bases", "1 to 1000", (double)o->bases);
    return KG_OK;
}

kg_status kg_train_check(const kg_train_options *o, kg_error *error) {
    if (o->dim == 0 || o->dim % o->kind->parts != 0 || o->dim > 1 << 20)
        return kg_fail(error, KG_BAD_INPUT,
                       "dim: expected a multiple of %zu from %zu to %d for model %s, found %ju",
                       o->kind->parts, o->kind->parts, 1 << 20, o->kind->name, (uintmax_t)o->dim);
    if (!(o->psi >= 0 && o->psi <= 1))
        return refuse(error, "psi", "a probability from 0 to 1", o->psi);
    if (!(o->dropout >= 0 && o->dropout < 1))
        return refuse(error, "dropout", "a probability from 0 to below 1", o->dropout);
    if (!kg_is_positive(o->rate))
        return refuse(error, "lr", "a rate above 0 that single precision can hold", o->rate);
    if (!(o->l2 >= 0 && o->l2 <= (double)KG_REAL_MAX))
        return refuse(error, "l2", "a weight from 0 that single precision can hold", o->l2);
    KG_TRY(kg_aggregate_check(&o->aggregate, o->kind, error));
    if (o->kind->is_encoded)
        KG_TRY(check_encoder(o, error));
    if (o->batch == 0 || o->batch > 1 << 24)
        return refuse(error, "batch", "1 to 16777216 facts", (double)o->batch);
    if (o->negatives > 1000)
        return refuse(error, "negatives", "at most 1000", (double)o->negatives);
    if (o->epochs > UINT32_MAX)
        return refuse(error, "epochs", "at most 4294967295", (double)o->epochs);
    if (o->threads == 0 || o->threads > 1024)
        return refuse(error, "threads", "1 to 1024", (double)o->threads);
    return KG_OK;
}

/* Uniform within the bound. `before` are positions of the stream that others have taken. */
static void fill_at_random(kg_table *table, double bound, uint64_t seed, kg_stream stream,
                           uint64_t before) {
    for (size_t i = 0; i < table->rows * table->dim; i++)
        table->values[i] = (real)(bound * (2 * kg_random_unit(seed, stream, before + i) - 1));
}

/* Glorot and Bengio (2010), for a whole table. */
static double glorot(size_t rows, size_t columns) {
    return sqrt(6.0 / ((double)rows + (double)columns));
}

/* Relations of these facts, which are the first of the data set. */
static size_t count_relations(const kg_triples *facts) {
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++)
        if (facts->items[i].relation >= count)
            count = (size_t)facts->items[i].relation + 1;
    return count;
}

/* Entities and relations of the other in-sample parts have rows, but nobody trains them. */
static kg_status open_embeddings(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    kg_table *entities = &t->tables[KG_ENTITIES].table;
    kg_table *relations = &t->tables[KG_RELATIONS].table;
    size_t entity_count = kg_dataset_in_sample(t->dataset);
    t->tables[KG_ENTITIES].name = "entities";
    t->tables[KG_RELATIONS].name = "relations";
    KG_TRY(kg_table_open(relations, t->dataset->in_sample_relations, o->dim, o->method, error));
    fill_at_random(relations, glorot(relations->rows, o->dim), o->seed, KG_STREAM_INIT_RELATIONS,
                   0);
    if (o->kind->is_encoded)
        return kg_table_open_computed(entities, entity_count, o->dim, error);
    KG_TRY(kg_table_open(entities, entity_count, o->dim, o->method, error));
    fill_at_random(entities, glorot(entity_count, o->dim), o->seed, KG_STREAM_INIT_ENTITIES, 0);
    return KG_OK;
}

/* How many directed relations an entity has, on average. */
static double count_groups(const kg_adjacency *graph) {
    size_t groups = 0;
    for (size_t v = 0; v < graph->entity_count; v++) {
        size_t count = kg_adjacency_degree(graph, (kg_id)v);
        for (size_t i = 0; i < count; groups++)
            i = kg_group_end(kg_adjacency_links(graph, (kg_id)v), count, i);
    }
    return fmax(1, (double)groups / (double)graph->entity_count);
}

/* Each matrix of weights from inputs to outputs has Glorot's bound for itself, and the mixtures of
 * bases are such that the sum over an entity's relations keeps it: without that, scores are so
 * large in the beginning, where entities have many relations, that much of the training goes into
 * making them small. */
static double find_bound(const kg_trainer *t, kg_encoder_tensor which) {
    const kg_encoder *e = &t->encoder;
    if (which == KG_MIX_1 || which == KG_MIX_2)
        return sqrt(3 / ((double)e->shape.bases * count_groups(&t->adjacency)));
    kg_layer layer = kg_encoder_layer(e, which < KG_MIX_2 ? 0 : 1);
    return glorot(layer.inputs, layer.outputs);
}

static kg_status open_encoder(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    t->encoder.shape =
        (kg_encoder_shape){kg_dataset_in_sample(t->dataset), t->dataset->in_sample_relations,
                           o->dim, o->bases, o->self_loops};
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++) {
        kg_encoder_tensor which = (kg_encoder_tensor)i;
        kg_tensor about = kg_encoder_describe(&t->encoder.shape, which);
        kg_table *table = &t->tables[KG_ENCODER + i].table;
        if (about.rows == 0)
            continue;
        t->tables[KG_ENCODER + i].name = about.name;
        if (kg_encoder_rows(which) == KG_ROWS_OF_ENTITIES) {
            KG_TRY(kg_table_open_computed(table, about.rows, about.columns, error));
        } else {
            KG_TRY(kg_table_open(table, about.rows, about.columns, o->method, error));
            fill_at_random(table, find_bound(t, which), o->seed, KG_STREAM_INIT_ENCODER,
                           (uint64_t)i << 40);
        }
        t->encoder.tensors[i] = table->values;
    }
    return KG_OK;
}

static kg_status open_rgcn(kg_trainer *t, kg_error *error) {
    kg_rgcn_parts parts = {
        .batches = &t->batches,
        .graph = &t->adjacency,
        .stepper = t->stepper,
        .optimizer = &t->optimizer,
        .entities = &t->tables[KG_ENTITIES].table,
        .relations = &t->tables[KG_RELATIONS].table,
        .encoder = t->encoder,
        .trained_relations = count_relations(&t->dataset->parts[KG_TRAIN]),
        .threads = (int)t->options.threads,
    };
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        parts.tensors[i] = &t->tables[KG_ENCODER + i].table;
    return kg_rgcn_open(&t->rgcn, &parts, error);
}

static kg_status open_parts(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    const kg_dataset *d = t->dataset;
    size_t trained = d->entities_before[KG_VALID];
    KG_TRY(kg_adjacency_make(&t->adjacency, &d->parts[KG_TRAIN], trained, KG_WITHOUT_REFLEXIVE,
                             error));
    KG_TRY(open_embeddings(t, error));
    if (o->kind->is_encoded)
        KG_TRY(open_encoder(t, error));
    t->batches = (kg_batches){&d->parts[KG_TRAIN], trained, o->batch, o->negatives, o->psi,
                              o->shuffle,          o->seed};
    size_t batch_count = kg_batches_count(&t->batches);
    if (kg_batches_items(&t->batches) > UINT32_MAX) /* items are numbered with 32 bits */
        return refuse(error, "batch", "at most 4294967295 facts and corrupted twins",
                      (double)kg_batches_items(&t->batches));
    KG_TRY(kg_optimizer_open(&t->optimizer, o->method, o->rate, o->l2 / (double)batch_count,
                             o->epochs * batch_count, error));
    t->items = kg_alloc(kg_batches_items(&t->batches), sizeof *t->items);
    if (t->items == NULL)
        return kg_fail_memory(error);
    kg_stepper_options stepping = {.kind = o->kind,
                                   .aggregate = o->aggregate,
                                   .exclude = o->exclude,
                                   .dropout = o->dropout,
                                   .seed = o->seed,
                                   .trained_entities = trained,
                                   .trained_relations = count_relations(&d->parts[KG_TRAIN]),
                                   .threads = (int)o->threads};
    KG_TRY(kg_stepper_open(&t->stepper, &stepping, &t->adjacency, &t->tables[KG_ENTITIES].table,
                           &t->tables[KG_RELATIONS].table, &t->optimizer, error));
    return o->kind->is_encoded ? open_rgcn(t, error) : KG_OK;
}

kg_status kg_trainer_open(kg_trainer **out, const kg_train_options *options,
                          const kg_dataset *dataset, kg_error *error) {
    KG_TRY(kg_train_check(options, error));
    kg_trainer *trainer = kg_alloc(1, sizeof *trainer);
    if (trainer == NULL)
        return kg_fail_memory(error);
    trainer->options = *options;
    trainer->dataset = dataset;
    kg_status status = open_parts(trainer, error);
    if (status != KG_OK) {
        kg_trainer_close(trainer);
        return status;
    }
    *out = trainer;
    return KG_OK;
}

void kg_trainer_close(kg_trainer *t) {
    if (t == NULL)
        return;
    kg_rgcn_close(t->rgcn);
    kg_stepper_close(t->stepper);
    kg_optimizer_close(&t->optimizer);
    for (size_t i = 0; i < KG_TABLE_COUNT; i++) {
        kg_table_close(&t->tables[i].table);
        kg_free(t->tables[i].best);
    }
    kg_adjacency_free(&t->adjacency);
    kg_free(t->items);
    kg_free(t->history);
    kg_free(t);
}

/* ---- Validation ---- */

/* By the unseen entities if there are any, by the in-sample part otherwise. */
bool kg_train_validates(const kg_train_options *o, const kg_dataset *dataset) {
    return o->validate_every > 0 &&
           (dataset->parts[KG_UNSEEN_VALID].count > 0 || dataset->parts[KG_VALID].count > 0);
}

static kg_tables current_tables(const kg_trainer *t) {
    return (kg_tables){t->options.kind, t->tables[KG_ENTITIES].table.values,
                       t->tables[KG_RELATIONS].table.values, t->options.dim,
                       t->rgcn == NULL ? NULL : &t->encoder};
}

static kg_status measure(kg_trainer *t, kg_metrics *out, const kg_progress *progress,
                         kg_error *error) {
    kg_part part = t->dataset->parts[KG_UNSEEN_VALID].count > 0 ? KG_UNSEEN_VALID : KG_VALID;
    kg_tables tables = current_tables(t);
    kg_rank_options options = {.embedding = {.aggregate = t->options.aggregate},
                               .ties = KG_REALISTIC,
                               .threads = (int)t->options.threads,
                               .progress = progress};
    kg_questions questions = {0};
    KG_TRY(kg_questions_make(&questions, t->dataset, part, error));
    double *ranks = kg_alloc(questions.count, sizeof *ranks);
    kg_status status = ranks == NULL ? kg_fail_memory(error) : KG_OK;
    if (status == KG_OK)
        status =
            kg_rank(ranks, &questions, &tables, kg_dataset_in_sample(t->dataset), &options, error);
    *out = (kg_metrics){0};
    for (size_t i = 0; i < questions.count && status == KG_OK; i++)
        kg_metrics_add(out, ranks[i]);
    kg_metrics_mean(out);
    kg_free(ranks);
    kg_questions_free(&questions);
    return status;
}

kg_status kg_trainer_make_best(kg_trainer *t, kg_error *error) {
    t->best_encoder.shape = t->encoder.shape;
    for (size_t i = 0; i < KG_TABLE_COUNT; i++) {
        kg_trained *trained = &t->tables[i];
        if (trained->name != NULL && trained->best == NULL)
            trained->best =
                kg_resize(NULL, trained->table.rows * trained->table.dim, sizeof *trained->best);
        if (trained->name != NULL && trained->best == NULL)
            return kg_fail_memory(error);
        if (i >= KG_ENCODER)
            t->best_encoder.tensors[i - KG_ENCODER] = trained->best;
    }
    return KG_OK;
}

static kg_status keep_best(kg_trainer *t, kg_error *error) {
    KG_TRY(kg_trainer_make_best(t, error));
    for (size_t i = 0; i < KG_TABLE_COUNT; i++)
        if (t->tables[i].name != NULL)
            memcpy(t->tables[i].best, t->tables[i].table.values,
                   t->tables[i].table.rows * t->tables[i].table.dim * sizeof(real));
    return KG_OK;
}

/* Makes all tables what they are after the last step. */
static kg_status catch_up(kg_trainer *t, kg_error *error) {
    if (t->rgcn != NULL)
        return kg_rgcn_encode(t->rgcn, error);
    kg_stepper_catch_up(t->stepper, t->step);
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

uint64_t kg_train_work(const kg_train_options *o, const kg_dataset *dataset) {
    return o->epochs * dataset->parts[KG_TRAIN].count * (1 + o->negatives);
}

static kg_status tick(const kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    const kg_train_options *o = &t->options;
    char note[128];
    int length = snprintf(note, sizeof note, ", epoch %ju of %ju", (uintmax_t)t->epoch + 1,
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
    size_t facts = t->batches.facts->count;
    kg_progress_report report = {
        .stage = "training",
        .unit = "triples",
        .done = (t->epoch * facts + t->batch * o->batch) * (1 + o->negatives),
        .total = kg_train_work(o, t->dataset),
        .note = note,
    };
    return kg_progress_tick(watcher->progress, &report, error);
}

static kg_status take_step(kg_trainer *t, size_t count, double *loss, kg_error *error) {
    if (t->rgcn != NULL)
        return kg_rgcn_step(t->rgcn, t->items, count, t->step + 1, loss, error);
    return kg_stepper_step(t->stepper, t->items, count, t->step + 1, loss, error);
}

/* The rest of the current epoch. */
static kg_status finish_epoch(kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    size_t batch_count = kg_batches_count(&t->batches);
    double started = kg_seconds();
    for (; t->batch < batch_count; t->batch++) {
        kg_status status = tick(t, watcher, error);
        if (status != KG_OK) {
            t->seconds += kg_seconds() - started;
            return status;
        }
        double loss = 0;
        size_t count = kg_batches_make(&t->batches, t->items, t->epoch, t->batch);
        KG_TRY(take_step(t, count, &loss, error));
        t->step++;
        t->loss += loss;
    }
    t->seconds += kg_seconds() - started;
    return KG_OK;
}

static bool is_due(const kg_trainer *t, uint64_t epoch) {
    return kg_train_validates(&t->options, t->dataset) &&
           (epoch == 1 || epoch % t->options.validate_every == 0);
}

/* Books the epoch that has just ended and goes on to the next. */
static kg_status close_epoch(kg_trainer *t, const kg_train_watcher *watcher, kg_error *error) {
    size_t items = t->batches.facts->count * (1 + t->options.negatives);
    kg_epoch epoch = {
        .number = t->epoch + 1, .loss = t->loss / (double)items, .seconds = t->seconds};
    if (is_due(t, epoch.number))
        KG_TRY(validate(t, &epoch, watcher->progress, error));
    kg_epoch *history =
        kg_grow(t->history, &t->history_capacity, t->history_count + 1, sizeof *history);
    if (history == NULL)
        return kg_fail_memory(error);
    t->history = history;
    history[t->history_count++] = epoch;
    t->epoch++;
    t->batch = 0;
    t->loss = 0;
    t->seconds = 0;
    if (watcher->on_epoch != NULL)
        watcher->on_epoch(watcher->payload, &epoch);
    return KG_OK;
}

bool kg_train_is_done(const kg_train_options *o, uint64_t epochs, uint64_t since_best) {
    return epochs >= o->epochs || (o->patience > 0 && since_best >= o->patience);
}

static kg_status write_checkpoint(kg_trainer *t, const char *path, kg_error *error) {
    double started = kg_seconds();
    KG_TRY(catch_up(t, error));
    KG_TRY(kg_checkpoint_write(t, path, error));
    double now = kg_seconds();
    t->next_checkpoint = now + (now - started) / CHECKPOINT_SHARE;
    return KG_OK;
}

kg_status kg_trainer_run(kg_trainer *t, const char *checkpoint, const kg_train_watcher *watcher,
                         kg_error *error) {
    t->next_checkpoint = 0; /* the first as soon as there is an epoch to lose */
    bool is_saved = false;
    while (!kg_train_is_done(&t->options, t->epoch, t->since_best)) {
        kg_status status = finish_epoch(t, watcher, error);
        if (status == KG_OK)
            status = close_epoch(t, watcher, error);
        if (status == KG_CANCELLED)
            KG_TRY(write_checkpoint(t, checkpoint, error));
        KG_TRY(status);
        is_saved = kg_seconds() >= t->next_checkpoint;
        if (is_saved)
            KG_TRY(write_checkpoint(t, checkpoint, error));
    }
    return is_saved ? KG_OK : write_checkpoint(t, checkpoint, error);
}

kg_tables kg_trainer_result(const kg_trainer *t) {
    if (t->best_epoch == 0)
        return current_tables(t);
    return (kg_tables){t->options.kind, t->tables[KG_ENTITIES].best, t->tables[KG_RELATIONS].best,
                       t->options.dim, t->rgcn == NULL ? NULL : &t->best_encoder};
}

uint64_t kg_trainer_best_epoch(const kg_trainer *t) {
    return t->best_epoch > 0 ? t->best_epoch : t->epoch;
}

kg_step_cost kg_trainer_cost(const kg_trainer *t) {
    return kg_stepper_cost(t->stepper);
}

const kg_epoch *kg_trainer_history(const kg_trainer *t, size_t *count) {
    *count = t->history_count;
    return t->history;
}
