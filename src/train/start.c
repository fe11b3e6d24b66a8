/* What a run starts with: params filled at random, pairs of relations that occur, and what takes
 * the steps of its loss. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "train/trainer.h"

/* Uniform within the bound. `before` are positions of the stream that others have taken. */
static void fill_at_random(kg_table *table, double bound, uint64_t seed, kg_stream stream,
                           uint64_t before) {
    for (size_t i = 0; i < table->rows * table->dim; i++)
        table->values[i] = (real)(bound * (2 * kg__random_unit(seed, stream, before + i) - 1));
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

/* A table of rows for relations, or for directed ones. */
static kg_status open_relations(kg_trainer *t, size_t which, const char *name, uint64_t before,
                                kg_error *error) {
    const kg_train_options *o = &t->options;
    kg_table *table = &t->params[which].table;
    size_t rows = t->dataset->in_sample_relations * (o->directed ? 2 : 1);
    t->params[which].name = name;
    KG_TRY(kg__table_open(table, rows, o->dim, o->method, error));
    fill_at_random(table, glorot(rows, o->dim), o->seed, KG_STREAM_INIT_RELATIONS, before);
    return KG_OK;
}

/* Entities and relations of the other in-sample parts have rows, but nobody trains them. */
static kg_status open_embeddings(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    kg_table *entities = &t->params[KG_ENTITIES].table;
    size_t entity_count = kg__dataset_in_sample(t->dataset);
    t->params[KG_ENTITIES].name = "entities";
    KG_TRY(open_relations(t, KG_RELATIONS, "relations", 0, error));
    if (o->own_relations)
        KG_TRY(open_relations(t, KG_AGGREGATE_RELATIONS, "aggregate_relations", (uint64_t)1 << 40,
                              error));
    if (o->scoring->is_encoded)
        return kg__table_open_computed(entities, entity_count, o->dim, error);
    KG_TRY(kg__table_open(entities, entity_count, o->dim, o->method, error));
    fill_at_random(entities, glorot(entity_count, o->dim), o->seed, KG_STREAM_INIT_ENTITIES, 0);
    return KG_OK;
}

/* How many directed relations an entity has, on average. */
static double count_groups(const kg_adjacency *graph) {
    size_t groups = 0;
    for (size_t v = 0; v < graph->entity_count; v++) {
        size_t count = kg__adjacency_degree(graph, (kg_id)v);
        for (size_t i = 0; i < count; groups++)
            i = kg__group_end(kg__adjacency_links(graph, (kg_id)v), count, i);
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
    kg_layer layer = kg__encoder_layer(e, which < KG_MIX_2 ? 0 : 1);
    return glorot(layer.inputs, layer.outputs);
}

static kg_status open_encoder(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    t->encoder.shape =
        (kg_encoder_shape){kg__dataset_in_sample(t->dataset), t->dataset->in_sample_relations,
                           o->dim, o->bases, o->self_loops};
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++) {
        kg_encoder_tensor which = (kg_encoder_tensor)i;
        kg_tensor about = kg__encoder_describe(&t->encoder.shape, which);
        kg_table *table = &t->params[KG_ENCODER + i].table;
        if (about.rows == 0)
            continue;
        t->params[KG_ENCODER + i].name = about.name;
        if (kg__encoder_rows(which) == KG_ROWS_OF_ENTITIES) {
            KG_TRY(kg__table_open_computed(table, about.rows, about.columns, error));
        } else {
            KG_TRY(kg__table_open(table, about.rows, about.columns, o->method, error));
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
        .entities = &t->params[KG_ENTITIES].table,
        .relations = &t->params[KG_RELATIONS].table,
        .encoder = t->encoder,
        .trained_relations = count_relations(&t->dataset->parts[KG_TRAIN]),
        .threads = (int)t->options.threads,
    };
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        parts.tensors[i] = &t->params[KG_ENCODER + i].table;
    return kg__rgcn_open(&t->rgcn, &parts, error);
}

/* ---- The softmax loss ---- */

/* An echo that is rare is no rule. */
#define ECHO_TIMES 3
#define ECHO_SHARE 0.01

/* Weights start as those of a plain sum, bonuses as good as none. */
#define WEIGHT_START 1
#define ECHO_START 0.001

/* A weight has an effect on all facts of a relation, and moves with more care. */
#define WEIGHT_RATE 0.5

static kg_status open_pairs(kg_trainer *t, size_t which, const char *name, size_t rows, real start,
                            kg_error *error) {
    kg_table *table = &t->params[which].table;
    t->params[which].name = name;
    KG_TRY(kg__table_open(table, rows, 1, t->options.method, error));
    for (size_t i = 0; i < rows; i++)
        table->values[i] = start;
    return KG_OK;
}

/* Without pairs, and divided by N itself, the sum is eravg. */
static kg_status open_graft(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    bool is_asked = o->aggregate.aggregator->is_asked;
    size_t directed_count = 2 * t->dataset->in_sample_relations;
    kg_graft *graft = &t->graft;
    graft->power = is_asked ? o->graft_power : 1;
    if (is_asked && directed_count > KG_MOST_DIRECTED)
        return kg_fail(error, KG_BAD_INPUT, "expected at most %d relations, found %zu",
                       KG_MOST_DIRECTED / 2, directed_count / 2);
    if (is_asked && o->graft_weights) {
        KG_TRY(kg__pairs_make(&graft->weighted, &t->adjacency, directed_count, error));
        KG_TRY(open_pairs(t, KG_WEIGHTS, "weights", graft->weighted.count, WEIGHT_START, error));
    }
    if (is_asked && o->graft_echo) {
        KG_TRY(kg__pairs_make_echoes(&graft->echoing, &t->adjacency, directed_count, ECHO_TIMES,
                                     ECHO_SHARE, error));
        KG_TRY(open_pairs(t, KG_ECHOES, "echoes", graft->echoing.count, (real)ECHO_START, error));
    }
    graft->weights = t->params[KG_WEIGHTS].table.values;
    graft->echoes = t->params[KG_ECHOES].table.values;
    return KG_OK;
}

/* What a feature is worth, in the beginning. */
#define WORTH_START 0.1

/* Hints that are kept: a gigabyte. */
#define MOST_KEPT ((size_t)1 << 26)

static kg_status open_evidence(kg_trainer *t, const kg_progress *progress, kg_error *error) {
    const kg_train_options *o = &t->options;
    kg_table *table = &t->params[KG_WORTH].table;
    size_t directed_count = 2 * t->dataset->in_sample_relations;
    KG_TRY(kg__features_count(&t->evidence, &t->candidates, directed_count, o->evidence,
                              (int)o->threads, progress, error));
    KG_TRY(kg__clues_open(&t->clues, &t->evidence, t->portions.count, MOST_KEPT, error));
    t->params[KG_WORTH].name = "evidence";
    KG_TRY(kg__table_open(table, directed_count, KG_FEATURE_COUNT, o->method, error));
    for (size_t i = 0; i < table->rows * table->dim; i++)
        table->values[i] =
            kg__feature_set_has(o->evidence, (kg_feature)(i % table->dim)) ? (real)WORTH_START : 0;
    t->evidence.worth = table->values;
    return KG_OK;
}

static kg_status open_optimizers(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    uint64_t steps = kg__train_rate_epochs(o) * t->portions.batch_count;
    double l2 = o->l2 / (double)t->portions.batch_count;
    kg_rates rates = {o->rate, o->last_rate};
    kg_rates careful = {WEIGHT_RATE * o->rate, WEIGHT_RATE * o->last_rate};
    KG_TRY(kg__optimizer_open(&t->optimizer, o->method, rates, l2, steps, error));
    KG_TRY(kg__optimizer_open(&t->weight_optimizer, o->method, careful, 0, steps, error));
    KG_TRY(kg__optimizer_open(&t->worth_optimizer, o->method, rates, 0, steps, error));
    return kg__optimizer_open(&t->echo_optimizer, o->method, rates, 0, steps, error);
}

static kg_table *find_table(kg_trainer *t, size_t which) {
    return t->params[which].name == NULL ? NULL : &t->params[which].table;
}

/* An unseen entity with one fact has nothing to be asked by. */
static kg_status open_quiz(kg_trainer *t, const kg_progress *progress, kg_error *error) {
    const kg_train_options *o = &t->options;
    KG_TRY(open_graft(t, error));
    KG_TRY(kg__portions_open(&t->portions, &t->adjacency, o->psi == 1 ? 2 : 1, o->batch, o->shuffle,
                             o->seed, error));
    if (t->portions.question_count == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected training facts to ask about, found that no entity has two");
    KG_TRY(open_optimizers(t, error));
    if (o->evidence != 0)
        KG_TRY(open_evidence(t, progress, error));
    kg_quiz_options options = {.psi = o->psi,
                               .negatives = o->negatives,
                               .dropout = o->dropout,
                               .n3 = o->regularizer == KG_N3 ? o->n3 : 0,
                               .seed = o->seed,
                               .threads = (int)o->threads};
    kg_quiz_parts parts = {
        .graph = &t->adjacency,
        .most_questions = kg__portions_most(&t->portions),
        .params = kg__trainer_params(t),
        .entities = &t->params[KG_ENTITIES].table,
        .relations = &t->params[KG_RELATIONS].table,
        .trained_relations = count_relations(&t->dataset->parts[KG_TRAIN]) * (o->directed ? 2 : 1),
        .aggregate_relations = find_table(t, KG_AGGREGATE_RELATIONS),
        .weights = find_table(t, KG_WEIGHTS),
        .echoes = find_table(t, KG_ECHOES),
        .worth = find_table(t, KG_WORTH),
        .clues = o->evidence != 0 ? &t->clues : NULL,
        .optimizer = &t->optimizer,
        .weight_optimizer = &t->weight_optimizer,
        .echo_optimizer = &t->echo_optimizer,
        .worth_optimizer = &t->worth_optimizer,
    };
    parts.params.graft = &t->graft;
    return kg__quiz_open(&t->quiz, &options, &parts, error);
}

/* ---- The softplus loss ---- */

static kg_status open_stepper(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    const kg_dataset *d = t->dataset;
    size_t trained = d->entities_before[KG_VALID];
    t->batches = (kg_batches){&d->parts[KG_TRAIN], trained, o->batch, o->negatives, o->psi,
                              o->shuffle,          o->seed};
    size_t batch_count = kg__batches_count(&t->batches);
    if (kg__batches_items(&t->batches) > UINT32_MAX) /* items are numbered with 32 bits */
        return kg_fail(error, KG_BAD_INPUT,
                       "batch: expected at most 4294967295 facts and corrupted twins, found %zu",
                       kg__batches_items(&t->batches));
    KG_TRY(kg__optimizer_open(&t->optimizer, o->method, (kg_rates){o->rate, o->last_rate},
                              o->l2 / (double)batch_count, kg__train_rate_epochs(o) * batch_count,
                              error));
    t->items = kg__alloc(kg__batches_items(&t->batches), sizeof *t->items);
    if (t->items == NULL)
        return kg__fail_memory(error);
    kg_stepper_options stepping = {.scoring = o->scoring,
                                   .aggregate = o->aggregate,
                                   .exclude = o->exclude,
                                   .dropout = o->dropout,
                                   .seed = o->seed,
                                   .trained_entities = trained,
                                   .trained_relations = count_relations(&d->parts[KG_TRAIN]),
                                   .threads = (int)o->threads};
    KG_TRY(kg__stepper_open(&t->stepper, &stepping, &t->adjacency, &t->params[KG_ENTITIES].table,
                            &t->params[KG_RELATIONS].table, &t->optimizer, error));
    return o->scoring->is_encoded ? open_rgcn(t, error) : KG_OK;
}

/* ---- All of it ---- */

/* Entities without a training fact come last. They have no links, and are not trained. */
static kg_status open_graph(kg_trainer *t, kg_error *error) {
    const kg_dataset *d = t->dataset;
    KG_TRY(kg__adjacency_make(&t->candidates, &d->parts[KG_TRAIN], kg__dataset_in_sample(d),
                              KG_WITHOUT_REFLEXIVE, error));
    t->adjacency = t->candidates;
    t->adjacency.entity_count = d->entities_before[KG_VALID];
    return KG_OK;
}

static kg_status open_parts(kg_trainer *t, const kg_progress *progress, kg_error *error) {
    KG_TRY(open_graph(t, error));
    KG_TRY(open_embeddings(t, error));
    if (t->options.scoring->is_encoded)
        KG_TRY(open_encoder(t, error));
    return t->options.loss == KG_SOFTMAX ? open_quiz(t, progress, error) : open_stepper(t, error);
}

kg_status kg__trainer_open(kg_trainer **out, const kg_train_options *options,
                           const kg_dataset *dataset, const kg_progress *progress,
                           kg_error *error) {
    KG_TRY(kg__train_check(options, error));
    kg_trainer *trainer = kg__alloc(1, sizeof *trainer);
    if (trainer == NULL)
        return kg__fail_memory(error);
    trainer->options = *options;
    trainer->options.threads = (uint64_t)kg__threads(options->threads);
    trainer->dataset = dataset;
    kg_status status = open_parts(trainer, progress, error);
    if (status != KG_OK) {
        kg__trainer_close(trainer);
        return status;
    }
    *out = trainer;
    return KG_OK;
}

void kg__trainer_close(kg_trainer *t) {
    if (t == NULL)
        return;
    kg__rgcn_close(t->rgcn);
    kg__stepper_close(t->stepper);
    kg__quiz_close(t->quiz);
    kg__portions_close(&t->portions);
    kg__pairs_free(&t->graft.weighted);
    kg__pairs_free(&t->graft.echoing);
    kg__optimizer_close(&t->optimizer);
    kg__optimizer_close(&t->weight_optimizer);
    kg__optimizer_close(&t->echo_optimizer);
    kg__optimizer_close(&t->worth_optimizer);
    kg__clues_close(&t->clues);
    kg__features_close(&t->evidence);
    for (size_t i = 0; i < KG_TABLE_COUNT; i++) {
        kg__table_close(&t->params[i].table);
        kg__free(t->params[i].best);
    }
    kg__adjacency_free(&t->candidates);
    kg__free(t->items);
    kg__free(t->history);
    json_decref(t->carried);
    kg__free(t);
}
