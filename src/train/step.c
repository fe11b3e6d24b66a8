/* The step, phase by phase: cut the batch into parts, find the rows that they read, let these catch
 * up, compute part by part, update. */
#include "train/step.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/progress.h"
#include "math/linalg.h"
#include "train/grad_exchange.h"
#include "train/row_exchange.h"

/* Blocks `from` up to `to`, which one thread takes. */
struct part {
    size_t from;
    size_t to;
    kg_masks masks;
    kg_status status;
    kg_error error; /* why it failed */
};

/* What a rank's shards have come to. */
struct outcome {
    kg_status status;
    double losses[KG_SHARDS];
};

struct kg_step {
    kg_step_options options;
    kg_step_parts parts;
    kg_step_context context;
    void *loss; /* state of a loss of whole batches */
    kg_block_worker *workers;
    int worker_count;
    real *g_computed; /* entities x dim: gradients on what is computed */

    const kg_batch *batch;
    kg_query_block *blocks; /* of the batch */
    size_t block_capacity;
    struct part *part_list; /* of the batch: as many of each shard */
    size_t part_count;
    kg_shards shards;
    kg_grads *grads; /* of each part, and behind these, of branches of shards */
    kg_masks masks;  /* of all parts */
    kg_row_exchange rows;
    kg_grad_exchange exchange;
    struct outcome *outcomes; /* of each rank; NULL: there is one alone */
    kg_step_cost cost;
};

static size_t count_grads(const kg_step *s) {
    return s->grads == NULL ? 0 : s->part_count + s->shards.branch_count;
}

/* ---- Opening ---- */

/* What a loss of whole batches needs of all queries, and one of single candidates. */
static kg_status open_arrays(kg_step *s, kg_error *error) {
    kg_step_context *c = &s->context;
    size_t row = c->params->dim * sizeof(real);
    size_t queries = s->parts.most_queries;
    if (!kg__loss_compares(s->options.loss)) {
        c->scores = kg__alloc(queries, sizeof *c->scores);
        return c->scores != NULL ? KG_OK : kg__fail_memory(error);
    }
    c->vectors = kg__alloc(queries, row);
    c->z = kg__alloc(queries, row);
    c->gradients = kg__alloc(queries, row);
    c->is_kept = kg__alloc(c->dropout > 0 ? queries : 0, c->params->dim * sizeof *c->is_kept);
    bool good = c->vectors != NULL && c->z != NULL && c->gradients != NULL && c->is_kept != NULL;
    return good ? KG_OK : kg__fail_memory(error);
}

/* Losses that compare candidates, and terms beside the embedding, look at the links that an entity
 * has with a candidate. */
static bool needs_links_by_other(const kg_step *s) {
    bool needs = kg__loss_compares(s->options.loss);
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        needs = needs || (i != KG_TERM_EMBEDDING && kg__terms[i]->forward_one != NULL &&
                          kg__term_is_on(&s->parts.params, i));
    return needs;
}

static kg_status open_parts(kg_step *s, kg_error *error) {
    const kg_loss *loss = s->options.loss;
    KG_TRY(kg__linear_set_up(s->options.threads, error));
    KG_TRY(open_arrays(s, error));
    s->rows = (kg_row_exchange){.ranks = s->options.ranks, .list = s->parts.list};
    KG_TRY(kg__grad_exchange_open(&s->exchange, s->options.ranks, s->parts.list, error));
    if (kg__ranks_many(s->options.ranks)) {
        s->outcomes = kg__alloc(s->options.ranks->count, sizeof *s->outcomes);
        if (s->outcomes == NULL)
            return kg__fail_memory(error);
    }
    s->part_count = KG_SHARDS * loss->parts;
    s->part_list = kg__alloc(s->part_count, sizeof *s->part_list);
    uint8_t branches[KG_MOST_BRANCHES];
    s->shards.branch_count =
        kg__tree_branches(branches, KG_SHARDS + s->shards.from, KG_SHARDS + s->shards.to);
    s->grads = kg__alloc(s->part_count + s->shards.branch_count, sizeof *s->grads);
    if (s->part_list == NULL || s->grads == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count_grads(s); i++) {
        KG_TRY(kg__param_list_open_grads(s->parts.list, &s->grads[i], error));
        s->grads[i].node =
            i < s->part_count ? kg__parts_leaf(i / loss->parts) : branches[i - s->part_count];
    }
    if (s->parts.computed != NULL) {
        const kg_param *entities = &s->parts.list->items[KG_PARAM_ENTITIES];
        s->g_computed = kg__alloc(entities->rows, entities->columns * sizeof *s->g_computed);
        if (s->g_computed == NULL)
            return kg__fail_memory(error);
    }
    s->context.has_links_by_other = needs_links_by_other(s);
    if (kg__loss_compares(loss)) {
        kg_loss_parts parts = {&s->context, s->parts.most_queries, s->options.negatives,
                               s->options.threads};
        KG_TRY(loss->open(&s->loss, &parts, error));
    }
    s->workers = kg__alloc((size_t)s->options.threads, sizeof *s->workers);
    if (s->workers == NULL)
        return kg__fail_memory(error);
    while (s->worker_count < s->options.threads) /* one that fails is closed like the others */
        KG_TRY(kg__query_block_worker_open(&s->workers[s->worker_count++], &s->context, error));
    return KG_OK;
}

kg_status kg__step_open(kg_step **out, const kg_step_options *options, const kg_step_parts *parts,
                        kg_error *error) {
    kg_step *s = kg__alloc(1, sizeof *s);
    if (s == NULL)
        return kg__fail_memory(error);
    s->options = *options;
    s->parts = *parts;
    s->context = (kg_step_context){
        .params = &s->parts.params,
        .graph = parts->graph,
        .aggregate = &s->options.aggregate,
        .exclude = options->exclude,
        .psi = options->psi,
        .dropout = options->dropout,
        .n3 = options->n3,
        .seed = options->seed,
    };
    s->shards.from = kg__ranks_begin(options->ranks, kg__ranks_number(options->ranks), KG_SHARDS);
    s->shards.to = kg__ranks_begin(options->ranks, kg__ranks_number(options->ranks) + 1, KG_SHARDS);
    kg_status status = open_parts(s, error);
    if (status != KG_OK) {
        kg__step_close(s);
        return status;
    }
    *out = s;
    return KG_OK;
}

void kg__step_close(kg_step *s) {
    if (s == NULL)
        return;
    if (s->loss != NULL)
        s->options.loss->close(s->loss);
    for (int i = 0; i < s->worker_count; i++)
        kg__query_block_worker_close(&s->workers[i]);
    kg__free(s->workers);
    for (size_t i = 0; i < s->part_count && s->part_list != NULL; i++)
        kg__free(s->part_list[i].masks.list);
    for (size_t i = 0; i < count_grads(s); i++)
        kg__grads_free(&s->grads[i]);
    kg__row_exchange_close(&s->rows);
    kg__grad_exchange_close(&s->exchange);
    kg__free(s->outcomes);
    kg__free(s->part_list);
    kg__free(s->grads);
    kg__free(s->masks.list);
    kg__free(s->blocks);
    kg__free(s->g_computed);
    kg__free(s->context.vectors);
    kg__free(s->context.z);
    kg__free(s->context.gradients);
    kg__free(s->context.is_kept);
    kg__free(s->context.scores);
    kg__free(s);
}

/* ---- The plan ---- */

static size_t cost_of(const kg_step *s, const kg_query_range *block) {
    size_t links = kg__adjacency_degree(s->parts.graph, block->entity);
    return (links < KG_MOST_LINKS ? links : KG_MOST_LINKS) + 4 * (size_t)(block->to - block->from);
}

/* Parts of about the same cost: a block belongs to the one in which it begins when all is cut
 * evenly. */
static void cut_parts(kg_step *s) {
    const kg_batch *batch = s->batch;
    size_t total = 0;
    for (size_t i = 0; i < batch->block_count; i++)
        total += cost_of(s, &batch->blocks[i]);
    size_t cost = 0;
    size_t block = 0;
    for (size_t i = 0; i < s->part_count; i++) {
        struct part *part = &s->part_list[i];
        if (i % s->options.loss->parts == 0)
            s->shards.queries[i / s->options.loss->parts] =
                block < batch->block_count ? batch->blocks[block].from : batch->query_count;
        part->from = block;
        while (block < batch->block_count && cost * s->part_count < (i + 1) * total)
            cost += cost_of(s, &batch->blocks[block++]);
        part->to = block;
    }
    s->shards.queries[KG_SHARDS] = batch->query_count;
}

/* Parts of this rank's shards: the first, and the one behind the last. */
static size_t first_part(const kg_step *s) {
    return s->shards.from * s->options.loss->parts;
}

static size_t end_part(const kg_step *s) {
    return s->shards.to * s->options.loss->parts;
}

static void touch_entity(kg_step *s, kg_id entity) {
    kg__param_list_touch(s->parts.list, KG_PARAM_ENTITIES, entity);
}

static void touch_link(kg_step *s, kg_link link) {
    const kg_params *params = &s->parts.params;
    touch_entity(s, link.other);
    kg__param_list_touch(s->parts.list, kg__aggregate_relations_param(params),
                         kg__relation_number(params, link.directed));
}

static void touch_facts(kg_step *s, const kg_query_range *block) {
    const kg_train_query *queries = s->batch->queries;
    const kg_link *links = kg__adjacency_links(s->parts.graph, block->entity);
    size_t count = kg__adjacency_degree(s->parts.graph, block->entity);
    kg_link_sample sample = kg__link_sample(&s->context, count, &queries[block->from]);
    for (size_t i = sample.first; i < count; i += sample.every)
        touch_link(s, links[i]);
    for (size_t i = block->from; i < block->to && sample.every > 1; i++)
        touch_link(s, queries[i].target);
}

/* Rows that the block will read. Candidates of its own are other ends of facts. */
static void touch_block(kg_step *s, const kg_query_range *block) {
    const kg_params *params = &s->parts.params;
    bool is_compared = s->loss != NULL; /* then the entity and its neighbours are candidates */
    bool by_facts = is_compared;
    bool by_row = is_compared && s->options.psi < 1;
    for (size_t i = block->from; i < block->to; i++) {
        const kg_train_query *query = &s->batch->queries[i];
        by_facts = by_facts || query->by_facts;
        by_row = by_row || !query->by_facts;
        touch_entity(s, query->target.other);
        kg__param_list_touch(s->parts.list, KG_PARAM_RELATIONS,
                             kg__relation_number(params, query->target.directed));
    }
    if (by_row)
        touch_entity(s, block->entity);
    if (by_facts)
        touch_facts(s, block);
}

static void touch_all(kg_step *s) {
    for (size_t i = 0; i < s->parts.list->count; i++)
        for (size_t row = 0; row < s->parts.list->items[i].trained_rows; row++)
            kg__param_list_touch(s->parts.list, i, row);
}

/* ---- Parts ---- */

/* Of several that fail, the first counts. */
static kg_status for_parts(kg_step *s, kg_status (*what)(kg_step *, size_t), kg_error *error) {
    const struct part *failed = NULL;
#pragma omp parallel for schedule(dynamic) num_threads(s->options.threads)
    for (size_t i = first_part(s); i < end_part(s); i++)
        s->part_list[i].status = what(s, i);
    for (size_t i = end_part(s); i > first_part(s); i--)
        failed = s->part_list[i - 1].status == KG_OK ? failed : &s->part_list[i - 1];
    if (failed != NULL && error != NULL)
        *error = failed->error;
    return failed == NULL ? KG_OK : failed->status;
}

static kg_block_worker *worker_of(const kg_step *s) {
    return &s->workers[omp_get_thread_num()];
}

static kg_status open_block(kg_step *s, size_t part, size_t i) {
    return kg__query_block_open(&s->blocks[i], &s->context, worker_of(s), &s->grads[part],
                                s->batch->queries, s->batch->blocks[i], &s->part_list[part].error);
}

/* A loss of single candidates or blocks: forward and backward, block by block. */
static kg_status compute_part(kg_step *s, size_t number) {
    const struct part *part = &s->part_list[number];
    const kg_loss *loss = s->options.loss;
    for (size_t i = part->from; i < part->to; i++) {
        kg_query_block *b = &s->blocks[i];
        kg__arena_reset(&worker_of(s)->arena);
        KG_TRY(open_block(s, number, i));
        KG_TRY(loss->of_score != NULL ? kg__query_block_each(b, loss->of_score) : loss->block(b));
    }
    return KG_OK;
}

/* The others: all blocks go forward before any goes back. */
static kg_status forward_part(kg_step *s, size_t number) {
    struct part *part = &s->part_list[number];
    part->masks.count = 0;
    for (size_t i = part->from; i < part->to; i++) {
        kg_query_block *b = &s->blocks[i];
        KG_TRY(open_block(s, number, i));
        b->masks = &part->masks;
        KG_TRY(kg__query_block_forward(b));
        KG_TRY(s->options.loss->forward(s->loss, b));
    }
    return KG_OK;
}

static kg_status backward_part(kg_step *s, size_t number) {
    const struct part *part = &s->part_list[number];
    for (size_t i = part->from; i < part->to; i++) {
        kg_query_block *b = &s->blocks[i];
        b->worker = worker_of(s);
        b->arena = &b->worker->arena;
        KG_TRY(s->options.loss->backward(s->loss, b));
        KG_TRY(kg__query_block_backward(b));
    }
    return KG_OK;
}

static kg_status gather_masks(kg_step *s, kg_error *error) {
    s->masks.count = 0;
    for (size_t i = first_part(s); i < end_part(s); i++) {
        const kg_masks *own = &s->part_list[i].masks;
        kg_mask *list =
            kg__grow(s->masks.list, &s->masks.capacity, s->masks.count + own->count, sizeof *list);
        if (list == NULL)
            return kg__fail_memory(error);
        s->masks.list = list;
        if (own->count > 0)
            memcpy(list + s->masks.count, own->list, own->count * sizeof *list);
        s->masks.count += own->count;
    }
    return KG_OK;
}

/* ---- The phases ---- */

static kg_status plan(kg_step *s, uint64_t number, kg_error *error) {
    kg_query_block *blocks =
        kg__grow(s->blocks, &s->block_capacity, s->batch->block_count, sizeof *blocks);
    if (blocks == NULL)
        return kg__fail_memory(error);
    s->blocks = blocks;
    s->context.step = number;
    cut_parts(s);
    s->cost.queries += s->shards.queries[s->shards.to] - s->shards.queries[s->shards.from];
    for (size_t i = 0; i < count_grads(s); i++)
        kg__grads_clear(&s->grads[i]);
    kg__param_list_clear(s->parts.list);
    if (s->loss != NULL) {
        for (int i = 0; i < s->worker_count; i++)
            kg__arena_reset(&s->workers[i].arena);
        s->options.loss->begin(s->loss, s->parts.list, number);
    }
    if (s->options.dense)
        touch_all(s);
    else if (s->parts.params.dim > 0 &&
             (kg__param_list_catches_up(s->parts.list) || kg__ranks_many(s->options.ranks)))
        for (size_t i = s->part_list[first_part(s)].from; i < s->part_list[end_part(s) - 1].to; i++)
            touch_block(s, &s->batch->blocks[i]);
    return KG_OK;
}

static kg_status check_loss(const kg_step *s, double loss, kg_error *error) {
    if (isfinite(loss))
        return KG_OK;
    bool has_ridge = s->options.aggregate.aggregator->settings & KG_BY_LS_LAMBDA;
    return kg_fail(error, KG_DIVERGED,
                   "the loss is no longer a number in step %ju: try a smaller `lr`%s%s",
                   (uintmax_t)s->context.step,
                   s->loss != NULL ? ""
                   : has_ridge     ? ", a larger `l2`"
                                   : " or a larger `l2`",
                   has_ridge ? " or a larger `ls_lambda`" : "");
}

static double shard_loss(kg_step *s, size_t shard) {
    size_t parts = s->options.loss->parts;
    double out = 0;
    for (size_t i = s->part_list[shard * parts].from; i < s->part_list[(shard + 1) * parts - 1].to;
         i++) {
        out += s->blocks[i].loss;
        s->cost.links += s->blocks[i].is_loaded ? s->blocks[i].link_count : 0;
    }
    return out;
}

static kg_status compute_own(kg_step *s, kg_error *error) {
    if (s->loss == NULL)
        return for_parts(s, compute_part, error);
    KG_TRY(for_parts(s, forward_part, error));
    KG_TRY(gather_masks(s, error));
    KG_TRY(s->options.loss->score_batch(s->loss, &s->shards, &s->masks, &s->grads[s->part_count],
                                        error));
    return for_parts(s, backward_part, error);
}

/* Ranks fail together, and have the same sum. */
static kg_status share_losses(kg_step *s, struct outcome *own, double *loss, kg_error *error) {
    kg_ranks *ranks = s->options.ranks;
    bool has_failed = own->status != KG_OK;
    if (kg__ranks_many(ranks)) {
        s->outcomes[ranks->number] = *own;
        kg__ranks_gather(ranks, s->outcomes, sizeof *s->outcomes);
        for (size_t i = 0; i < ranks->count; i++)
            has_failed = has_failed || s->outcomes[i].status != KG_OK;
    }
    if (has_failed)
        return kg__ranks_agree(ranks, own->status, error);
    *loss = 0;
    for (size_t i = 0, rank = 0; i < KG_SHARDS; i++) {
        while (i >= kg__ranks_begin(ranks, rank + 1, KG_SHARDS))
            rank++;
        *loss += s->outcomes == NULL ? own->losses[i] : s->outcomes[rank].losses[i];
    }
    return KG_OK;
}

static kg_status compute(kg_step *s, double *loss, kg_error *error) {
    struct outcome own = {.status = compute_own(s, error)};
    for (size_t i = s->shards.from; i < s->shards.to && own.status == KG_OK; i++)
        own.losses[i] = shard_loss(s, i);
    KG_TRY(share_losses(s, &own, loss, error));
    return check_loss(s, *loss, error);
}

static kg_status update_computed(kg_step *s, uint64_t number, kg_error *error) {
    kg_param *entities = &s->parts.list->items[KG_PARAM_ENTITIES];
    memset(s->g_computed, 0, entities->rows * entities->columns * sizeof *s->g_computed);
    KG_TRY(kg__param_sum(entities, KG_PARAM_ENTITIES, s->grads, count_grads(s), s->options.threads,
                         s->g_computed, error));
    return s->parts.computed->backward(s->parts.computed->payload, s->g_computed, number, error);
}

static kg_status update(kg_step *s, uint64_t number, kg_error *error) {
    bool is_shared = kg__ranks_many(s->options.ranks);
    const kg_grads *grads = is_shared ? s->exchange.received : s->grads;
    size_t count = is_shared ? s->exchange.count : count_grads(s);
    if (s->parts.computed != NULL)
        KG_TRY(update_computed(s, number, error));
    KG_TRY(kg__param_list_step(s->parts.list, grads, count, number, error));
    for (size_t i = 0; i < s->parts.list->count; i++) {
        const kg_row_set *touched = &s->parts.list->items[i].touched;
        s->cost.rows += touched->count;
        s->cost.vectors += touched->count == 0 ? 0 : touched->starts[touched->count];
    }
    return KG_OK;
}

/* Adds the time since `*since`, which becomes now. */
static void clock_in(double *phase, double *since) {
    double now = kg__seconds();
    *phase += now - *since;
    *since = now;
}

static kg_status take(kg_step *s, uint64_t number, double *loss, kg_error *error) {
    double since = kg__seconds();
    s->cost.missed += kg__param_list_catch_up(s->parts.list, number - 1);
    clock_in(&s->cost.catch_up, &since);
    if (kg__ranks_many(s->options.ranks))
        KG_TRY(kg__row_exchange_fetch(&s->rows, number - 1, error));
    clock_in(&s->cost.exchange, &since);
    if (s->parts.computed != NULL)
        KG_TRY(s->parts.computed->forward(s->parts.computed->payload, number, error));
    KG_TRY(compute(s, loss, error));
    clock_in(&s->cost.compute, &since);
    if (kg__ranks_many(s->options.ranks))
        KG_TRY(kg__grad_exchange_run(&s->exchange, s->grads, count_grads(s), error));
    clock_in(&s->cost.exchange, &since);
    KG_TRY(update(s, number, error));
    clock_in(&s->cost.update, &since);
    return KG_OK;
}

kg_status kg__step_take(kg_step *s, const kg_batch *batch, uint64_t number, double *loss,
                        kg_error *error) {
    double since = kg__seconds();
    s->batch = batch;
    KG_TRY(plan(s, number, error)); /* which fails only before the loss begins */
    clock_in(&s->cost.plan, &since);
    kg_status status = take(s, number, loss, error);
    if (s->loss != NULL)
        s->options.loss->end(s->loss);
    return status;
}

kg_status kg__step_catch_up(kg_step *s, uint64_t number, kg_error *error) {
    kg__param_list_catch_up_all(s->parts.list, number);
    if (s->parts.computed == NULL)
        return KG_OK;
    return s->parts.computed->forward(s->parts.computed->payload, 0, error);
}

const double *kg__step_scores(const kg_step *s) {
    return s->context.scores;
}

kg_step_cost kg__step_cost(const kg_step *s) {
    return s->cost;
}
