/* Ranges of an entity's facts in random order, cut into a number of batches that is the same in
 * each epoch. */
#include "base/random.h"
#include "train/batch_sampler.h"

/* Links of an entity from `from` on, as many as a block has at most, each queried by the others.
 * There are more of these than entities, so they are small, and their order is computed. */
struct range {
    kg_id entity;
    uint32_t from;
};

struct state {
    struct range *list; /* in the order of entities */
    size_t count;
    size_t *starts; /* batches + 1: ranges of batch b are starts[b] up to starts[b + 1] */
    size_t enough;  /* queries of an epoch */
    uint64_t epoch;
};

/* The i-th of an epoch. */
static const struct range *range_of(const kg_sampler_options *o, const struct state *s,
                                    uint64_t epoch, size_t i) {
    return &s->list[o->shuffle ? kg__random_permute(i, s->count, o->seed, KG_STREAM_SHUFFLE, epoch)
                               : i];
}

/* Queries of a block at most. */
static size_t block_limit(const kg_sampler_options *o) {
    size_t most = o->block_limit == 0 ? KG_MOST_QUERIES : o->block_limit;
    return o->size < most ? o->size : most;
}

static size_t end_of(const kg_sampler_options *o, const struct range *range) {
    size_t degree = kg__adjacency_degree(o->graph, range->entity);
    size_t most = block_limit(o);
    return degree - range->from < most ? degree : range->from + most;
}

/* Fills in the list, or only counts. */
static void cut(kg_sampler *sampler, struct state *s) {
    const kg_sampler_options *o = &sampler->options;
    size_t fewest = o->psi == 1 ? 2 : 1; /* an unseen entity with one fact has no others */
    size_t most = block_limit(o);
    s->count = 0;
    sampler->query_count = 0;
    for (kg_id v = 0; v < o->graph->entity_count; v++) {
        size_t degree = kg__adjacency_degree(o->graph, v);
        if (degree < fewest)
            continue;
        for (size_t from = 0; from < degree; from += most) {
            if (s->list != NULL)
                s->list[s->count] = (struct range){v, (uint32_t)from};
            s->count++;
        }
        sampler->query_count += degree;
    }
    if (sampler->query_count > s->enough)
        sampler->query_count = s->enough;
}

/* A range belongs to the batch in which its first query lies when all are cut evenly; what is left
 * over at the end goes to the last batch, unless there are more queries than an epoch has. */
static void enter(const kg_sampler *sampler, struct state *s, uint64_t epoch) {
    const kg_sampler_options *o = &sampler->options;
    size_t before = 0;
    size_t batch = 0;
    size_t i = 0;
    for (; i < s->count && before < s->enough; i++) {
        const struct range *range = range_of(o, s, epoch, i);
        for (; batch < sampler->batch_count && batch * o->size <= before; batch++)
            s->starts[batch] = i;
        before += end_of(o, range) - range->from;
    }
    for (; batch <= sampler->batch_count; batch++)
        s->starts[batch] = i;
    s->epoch = epoch;
}

static kg_status fill(kg_sampler *sampler, kg_batch *out, uint64_t epoch, size_t number,
                      kg_error *error) {
    const kg_sampler_options *o = &sampler->options;
    struct state *s = sampler->state;
    uint64_t step = epoch * sampler->batch_count + number + 1;
    if (s->epoch != epoch)
        enter(sampler, s, epoch);
    for (size_t i = s->starts[number]; i < s->starts[number + 1]; i++) {
        const struct range *range = range_of(o, s, epoch, i);
        size_t end = end_of(o, range);
        const kg_link *links = kg__adjacency_links(o->graph, range->entity);
        for (size_t k = range->from; k < end; k++) {
            uint64_t position = step << 32 | out->query_count;
            bool by_facts = o->psi == 1 || (o->psi > 0 && kg__random_unit(o->seed, KG_STREAM_UNSEEN,
                                                                          position) < o->psi);
            kg_train_query query = {links[k], 1, by_facts, (uint32_t)out->query_count};
            KG_TRY(kg__batch_add(out, range->entity, k == range->from, query, error));
        }
    }
    return KG_OK;
}

kg_status kg__entity_sampler_open(kg_sampler *out, const kg_sampler_options *o, kg_error *error) {
    *out = (kg_sampler){.options = *o, .fill = fill};
    struct state *s = kg__arena_take_zeroed(&out->arena, 1, sizeof *s);
    if (s == NULL)
        return kg__fail_memory(error);
    out->state = s;
    s->enough = SIZE_MAX;
    cut(out, s);
    if (out->query_count == 0) {
        kg__sampler_close(out);
        return kg_fail(error, KG_BAD_INPUT,
                       "expected training facts to ask about, found that no entity has two");
    }
    size_t most = 2 * o->size + KG_MOST_QUERIES;
    if (o->epoch_limit > 0 && out->query_count > o->epoch_limit) {
        size_t rest = o->size <= o->epoch_limit ? o->epoch_limit % o->size : 0;
        s->enough = out->query_count = o->epoch_limit - rest; /* whole batches, or a part of one */
    }
    out->batch_count = out->query_count / o->size + (out->query_count < o->size);
    out->most_queries = most < out->query_count ? most : out->query_count;
    s->epoch = UINT64_MAX;
    s->list = kg__arena_take(&out->arena, s->count, sizeof *s->list);
    s->starts = kg__arena_take(&out->arena, out->batch_count + 1, sizeof *s->starts);
    if (s->list == NULL || s->starts == NULL) {
        kg__sampler_close(out);
        return kg__fail_memory(error);
    }
    cut(out, s);
    return KG_OK;
}
