/* Facts in random order, corrupted at random (Bordes et al. 2013). */
#include <stddef.h>

#include "base/radix_sort.h"
#include "base/random.h"
#include "train/batch_sampler.h"

struct item {
    kg_id entity; /* that it is about */
    kg_train_query query;
};

/* A number of its own for each item of each epoch. */
static uint64_t position_of(const kg_sampler_options *o, uint64_t epoch, uint64_t fact,
                            uint64_t corruption) {
    return (epoch * o->facts->count + fact) * (1 + o->negatives) + corruption;
}

/* Head or tail is replaced by any entity; the lowest bit decides which. */
static kg_triple corrupt(const kg_sampler_options *o, kg_triple fact, uint64_t position) {
    uint64_t choice = kg__random_below(2 * (uint64_t)o->graph->entity_count, o->seed,
                                       KG_STREAM_CORRUPT, position);
    if (choice % 2 == 0)
        fact.head = (kg_id)(choice / 2);
    else
        fact.tail = (kg_id)(choice / 2);
    return fact;
}

/* The fact at that place of the epoch's order. */
static kg_triple fact_at(const kg_sampler_options *o, uint64_t epoch, uint64_t place) {
    return o->facts->items[o->shuffle ? kg__random_permute(place, o->facts->count, o->seed,
                                                           KG_STREAM_SHUFFLE, epoch)
                                      : place];
}

/* Head or tail is unseen with probability psi/2 each. If neither is, the query is about the head,
 * by its row. */
static struct item make_item(const kg_sampler_options *o, kg_triple triple, int8_t label,
                             uint32_t number, uint64_t position) {
    double unit = kg__random_unit(o->seed, KG_STREAM_UNSEEN, position);
    kg_end end = unit >= o->psi / 2 && unit < o->psi ? KG_TAIL : KG_HEAD;
    kg_id entity = end == KG_HEAD ? triple.head : triple.tail;
    kg_directed directed = kg_direct(triple.relation, end);
    return (struct item){
        .entity = entity,
        .query = {.target = {directed, end == KG_HEAD ? triple.tail : triple.head},
                  .label = label,
                  .by_facts = unit < o->psi,
                  .number = number},
    };
}

static kg_status fill(kg_sampler *sampler, kg_batch *out, uint64_t epoch, size_t number,
                      kg_error *error) {
    const kg_sampler_options *o = &sampler->options;
    struct item *items = sampler->state;
    size_t from = number * o->size;
    size_t to = o->facts->count - from < o->size ? o->facts->count : from + o->size;
    size_t count = 0;
    for (uint64_t i = from; i < to; i++) {
        kg_triple fact = fact_at(o, epoch, i);
        for (uint64_t corruption = 0; corruption <= o->negatives; corruption++, count++) {
            uint64_t position = position_of(o, epoch, i, corruption);
            items[count] = make_item(o, corruption == 0 ? fact : corrupt(o, fact, position),
                                     corruption == 0 ? 1 : -1, (uint32_t)count, position);
        }
    }
    /* By entity, then directed relation; items that are equal in both keep their order. */
    struct item *spare = items + sampler->most_queries;
    kg__radix_sort(items, spare, count, sizeof *items,
                   offsetof(struct item, query.target.directed));
    kg__radix_sort(items, spare, count, sizeof *items, offsetof(struct item, entity));
    for (size_t i = 0; i < count; i++)
        KG_TRY(kg__batch_add(out, items[i].entity, false, items[i].query, error));
    return KG_OK;
}

kg_status kg__triple_sampler_open(kg_sampler *out, const kg_sampler_options *o, kg_error *error) {
    size_t facts = o->facts->count;
    size_t most = (o->size < facts ? o->size : facts) * (1 + o->negatives);
    if (most > UINT32_MAX) /* queries are numbered with 32 bits */
        return kg_fail(error, KG_BAD_INPUT,
                       "`batch`: expected at most 4294967295 facts and corruptions, found %zu",
                       most);
    *out = (kg_sampler){.options = *o,
                        .batch_count = (facts - 1) / o->size + 1,
                        .query_count = facts * (1 + o->negatives),
                        .most_queries = most,
                        .fill = fill};
    out->state = kg__arena_take(&out->arena, most, 2 * sizeof(struct item));
    return out->state != NULL ? KG_OK : kg__fail_memory(error);
}

size_t kg__triple_sampler_others(const kg_sampler *sampler, kg_triple *facts, uint64_t epoch,
                                 size_t number) {
    const kg_sampler_options *o = &sampler->options;
    size_t count = 0;
    for (uint64_t i = 0; i < o->facts->count; i++)
        if (i / o->size != number)
            facts[count++] = fact_at(o, epoch, i);
    return count;
}
