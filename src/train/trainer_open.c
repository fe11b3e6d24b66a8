/* Initialisation of a training run: random parameters, what terms count, and the step with its
 * optimisers. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/thread_count.h"
#include "train/trainer.h"

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

/* ---- Embeddings ---- */

/* Rows for relations, or for directed ones. */
static kg_status add_relations(kg_trainer *t, const char *name, uint64_t before, kg_error *error) {
    const kg_train_options *o = &t->options;
    size_t each = o->directed ? 2 : 1;
    kg_param about = {.name = name,
                      .rows = t->dataset->in_sample_relations * each,
                      .columns = o->dim,
                      .trained_rows = count_relations(&t->dataset->parts[KG_TRAIN]) * each,
                      .rate = 1,
                      .has_l2 = true};
    kg_param_start start = {glorot(about.rows, o->dim), 0, KG_STREAM_INIT_RELATIONS, before};
    return kg__param_list_add(&t->list, &about, start, error);
}

/* Entities and relations of the other in-sample parts have rows, which are not trained. */
static kg_status add_embeddings(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    kg_param entities = {.name = kg__param_names[KG_PARAM_ENTITIES],
                         .rows = kg__dataset_in_sample(t->dataset),
                         .columns = o->dim,
                         .trained_rows = t->adjacency.entity_count,
                         .rate = 1,
                         .has_l2 = true,
                         .is_computed = o->scoring->is_encoded,
                         .owners = kg__ranks_many(o->ranks) && o->dim > 0 ? o->ranks->count : 0,
                         .self = kg__ranks_number(o->ranks)};
    kg_param_start start = {glorot(entities.rows, o->dim), 0, KG_STREAM_INIT_ENTITIES, 0};
    if (entities.is_computed)
        start.bound = 0;
    KG_TRY(kg__param_list_add(&t->list, &entities, start, error));
    KG_TRY(add_relations(t, kg__param_names[KG_PARAM_RELATIONS], 0, error));
    if (o->own_relations)
        KG_TRY(add_relations(t, kg__param_names[KG_PARAM_AGGREGATE_RELATIONS], (uint64_t)1 << 40,
                             error));
    return KG_OK;
}

/* ---- The encoder ---- */

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
static double find_bound(const kg_trainer *t, const kg_encoder *e, kg_encoder_tensor which) {
    if (which == KG_MIX_1 || which == KG_MIX_2)
        return sqrt(3 / ((double)e->shape.bases * count_groups(&t->adjacency)));
    kg_layer layer = kg__encoder_layer(e, which < KG_MIX_2 ? 0 : 1);
    return glorot(layer.inputs, layer.outputs);
}

/* Rows of relations that training lacks stay as they are. */
static kg_status add_tensor(kg_trainer *t, kg_encoder_tensor which, kg_error *error) {
    kg_encoder *e = &t->encoder;
    kg_tensor about = kg__encoder_describe(&e->shape, which);
    kg_rows rows = kg__encoder_rows(which);
    if (about.rows == 0)
        return KG_OK;
    kg_param param = {.name = about.name,
                      .rows = about.rows,
                      .columns = about.columns,
                      .trained_rows = rows == KG_ROWS_OF_RELATIONS
                                          ? count_relations(&t->dataset->parts[KG_TRAIN])
                                          : about.rows,
                      .rate = 1,
                      .has_l2 = true,
                      .is_computed = rows == KG_ROWS_OF_ENTITIES};
    kg_param_start start = {param.is_computed ? 0 : find_bound(t, e, which), 0,
                            KG_STREAM_INIT_ENCODER, (uint64_t)which << 40};
    t->tensors[which] = t->list.count;
    KG_TRY(kg__param_list_add(&t->list, &param, start, error));
    e->tensors[which] = t->list.items[t->tensors[which]].values;
    return KG_OK;
}

static kg_status add_encoder(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    t->encoder.shape =
        (kg_encoder_shape){kg__dataset_in_sample(t->dataset), t->dataset->in_sample_relations,
                           o->dim, o->bases, o->self_loops};
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        KG_TRY(add_tensor(t, (kg_encoder_tensor)i, error));
    return KG_OK;
}

static kg_status open_rgcn(kg_trainer *t, kg_error *error) {
    kg_rgcn_parts parts = {.sampler = &t->sampler,
                           .graph = &t->adjacency,
                           .list = &t->list,
                           .encoder = t->encoder,
                           .threads = (int)t->options.threads};
    memcpy(parts.tensors, t->tensors, sizeof parts.tensors);
    KG_TRY(kg__rgcn_open(&t->rgcn, &parts, error));
    t->computed = kg__rgcn_computed(t->rgcn);
    return KG_OK;
}

/* ---- Terms ---- */

static kg_status add_term_param(kg_trainer *t, const kg_term_param *param, kg_error *error) {
    kg_param about = {.name = param->name,
                      .rows = param->rows,
                      .columns = param->columns,
                      .trained_rows = param->rows,
                      .rate = param->rate > 0 ? param->rate : 1,
                      .is_read_whole = true};
    kg_param_start start = {param->bound, param->value, KG_STREAM_INIT_TERMS,
                            (uint64_t)t->list.count << 40};
    return kg__param_list_add(&t->list, &about, start, error);
}

static kg_status add_terms(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    kg_term_source source = {.graph = &t->candidates,
                             .directed_count = 2 * t->dataset->in_sample_relations,
                             .aggregate = &o->aggregate,
                             .propagation = &o->propagation};
    for (size_t i = 0; kg__terms[i] != NULL; i++) {
        kg_term_param params[KG_MOST_TERM_PARAMS];
        if (!kg__train_trains(o, i) || kg__terms[i]->count == NULL)
            continue;
        KG_TRY(kg__terms[i]->count(&t->terms[i], &source, error));
        t->terms[i].param = t->list.count;
        size_t count = kg__term_params(params, &t->terms[i]);
        for (size_t k = 0; k < count; k++)
            KG_TRY(add_term_param(t, &params[k], error));
    }
    return KG_OK;
}

/* ---- All of it ---- */

/* Entities without a training fact come last. They have no links, and are not trained. */
static kg_status open_graph(kg_trainer *t, kg_error *error) {
    const kg_dataset *d = t->dataset;
    if (t->beside != NULL)
        t->candidates = *t->beside->graph;
    else
        KG_TRY(kg__adjacency_make(&t->candidates, &d->parts[KG_TRAIN], kg__dataset_in_sample(d),
                                  KG_WITHOUT_REFLEXIVE, error));
    t->adjacency = t->candidates;
    t->adjacency.entity_count = d->entities_before[KG_VALID];
    return KG_OK;
}

static kg_status open_sampler(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    kg_sampler_options options = {.facts = &t->dataset->parts[KG_TRAIN],
                                  .graph = &t->adjacency,
                                  .size = o->batch,
                                  .negatives = o->negatives,
                                  .block_limit = o->block_queries,
                                  .epoch_limit = o->epoch_queries,
                                  .psi = o->psi,
                                  .shuffle = o->shuffle,
                                  .seed = o->seed};
    return o->loss->open_sampler(&t->sampler, &options, error);
}

static kg_status open_step(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    kg_step_options options = {.loss = o->loss,
                               .aggregate = o->aggregate,
                               .exclude = o->exclude,
                               .psi = o->psi,
                               .dropout = o->dropout,
                               .n3 = o->regularizer == KG_N3 ? o->n3 : 0,
                               .negatives = o->negatives,
                               .seed = o->seed,
                               .threads = (int)o->threads,
                               .ranks = o->ranks};
    kg_step_parts parts = {.list = &t->list,
                           .params = kg__trainer_own_params(t),
                           .graph = &t->adjacency,
                           .most_queries = t->sampler.most_queries,
                           .computed = t->rgcn != NULL ? &t->computed : NULL};
    return kg__step_open(&t->step, &options, &parts, error);
}

static kg_status open_parts(kg_trainer *t, kg_error *error) {
    const kg_train_options *o = &t->options;
    KG_TRY(open_graph(t, error));
    KG_TRY(open_sampler(t, error));
    if (!kg__train_is_apart(o))
        KG_TRY(add_embeddings(t, error));
    if (o->scoring->is_encoded)
        KG_TRY(add_encoder(t, error));
    KG_TRY(add_terms(t, error));
    kg_rates rates = {o->rate, o->last_rate, o->beta2};
    KG_TRY(kg__param_list_open_optimizers(&t->list, rates, o->l2 / (double)t->sampler.batch_count,
                                          kg__train_rate_epochs(o) * t->sampler.batch_count,
                                          error));
    if (o->scoring->is_encoded)
        KG_TRY(open_rgcn(t, error));
    return open_step(t, error);
}

kg_status kg__trainer_open(kg_trainer **out, const kg_train_options *options,
                           const kg_dataset *dataset, const kg_params *beside, kg_error *error) {
    KG_TRY(kg__train_check(options, error));
    kg_trainer *t = kg__alloc(1, sizeof *t);
    if (t == NULL)
        return kg__fail_memory(error);
    t->options = *options;
    t->options.threads = (uint64_t)kg__threads(options->threads);
    t->dataset = dataset;
    t->beside = beside;
    t->list = (kg_param_list){
        .method = options->method, .threads = (int)t->options.threads, .seed = options->seed};
    t->own_rows = (kg_row_exchange){.ranks = options->ranks, .list = &t->list};
    if (kg__ranks_many(options->ranks) && !kg__train_is_apart(options) && options->dim > 0)
        t->rows = &t->own_rows;
    memset(t->tensors, 0xff, sizeof t->tensors); /* SIZE_MAX each */
    kg_status status = open_parts(t, error);
    if (status != KG_OK) {
        kg__trainer_close(t);
        return status;
    }
    *out = t;
    return KG_OK;
}

void kg__trainer_end(kg_trainer *t) {
    kg__step_close(t->step);
    t->step = NULL;
    kg__rgcn_close(t->rgcn);
    t->rgcn = NULL;
    kg__batch_free(&t->batch);
    kg__sampler_close(&t->sampler);
    kg__param_list_end(&t->list);
}

void kg__trainer_close(kg_trainer *t) {
    if (t == NULL)
        return;
    kg__trainer_end(t);
    kg__row_exchange_close(&t->own_rows);
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (t->terms[i].counted != NULL)
            t->terms[i].learned->close(&t->terms[i]);
    kg__param_list_close(&t->list);
    if (t->beside == NULL)
        kg__adjacency_free(&t->candidates);
    kg__free(t->history);
    json_decref(t->carried);
    kg__free(t);
}
