/* Facts in random order, corrupted at random (Bordes et al. 2013). */
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "train/sampler.h"

/* A query, and whom it is about. */
struct item {
    kg_id entity;
    kg_train_query query;
};

/* By entity, directed relation and number. */
struct key {
    uint64_t asked; /* entity and directed relation */
    uint32_t number;
};

struct state {
    struct item *items;
    struct key *keys;
};

/* A number of its own for each item of each epoch. */
static uint64_t position_of(const kg_sampler_options *o, uint64_t epoch, uint64_t fact,
                            uint64_t twin) {
    return (epoch * o->facts->count + fact) * (1 + o->negatives) + twin;
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

/* Head or tail is unseen with probability psi/2 each. If neither is, the head is asked about, by
 * its row. */
static struct item make_item(const kg_sampler_options *o, kg_triple triple, int8_t label,
                             uint32_t number, uint64_t position) {
    double unit = kg__random_unit(o->seed, KG_STREAM_UNSEEN, position);
    kg_end end = unit >= o->psi / 2 && unit < o->psi ? KG_TAIL : KG_HEAD;
    return (struct item){
        .entity = end == KG_HEAD ? triple.head : triple.tail,
        .query = {.asked = {kg_direct(triple.relation, end),
                            end == KG_HEAD ? triple.tail : triple.head},
                  .label = label,
                  .by_facts = unit < o->psi,
                  .number = number},
    };
}

static int compare_keys(const void *a, const void *b) {
    const struct key *x = a;
    const struct key *y = b;
    if (x->asked != y->asked)
        return x->asked < y->asked ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static kg_status fill(kg_sampler *sampler, kg_batch *out, uint64_t epoch, size_t number,
                      kg_error *error) {
    const kg_sampler_options *o = &sampler->options;
    const struct state *state = sampler->state;
    struct item *items = state->items;
    size_t from = number * o->size;
    size_t to = o->facts->count - from < o->size ? o->facts->count : from + o->size;
    size_t count = 0;
    for (uint64_t i = from; i < to; i++) {
        kg_triple fact = fact_at(o, epoch, i);
        for (uint64_t twin = 0; twin <= o->negatives; twin++, count++) {
            uint64_t position = position_of(o, epoch, i, twin);
            items[count] = make_item(o, twin == 0 ? fact : corrupt(o, fact, position),
                                     twin == 0 ? 1 : -1, (uint32_t)count, position);
        }
    }
    for (size_t i = 0; i < count; i++)
        state->keys[i] = (struct key){
            (uint64_t)items[i].entity << 32 | items[i].query.asked.directed, (uint32_t)i};
    qsort(state->keys, count, sizeof *state->keys, compare_keys);
    for (size_t i = 0; i < count; i++) {
        const struct item *item = &items[state->keys[i].number];
        KG_TRY(kg__batch_add(out, item->entity, UINT32_MAX, item->query, error));
    }
    return KG_OK;
}

static void close_state(kg_sampler *sampler) {
    struct state *state = sampler->state;
    kg__free(state->items);
    kg__free(state->keys);
    kg__free(state);
}

kg_status kg__triple_sampler_open(kg_sampler *out, const kg_sampler_options *o, kg_error *error) {
    size_t facts = o->facts->count;
    size_t most = (o->size < facts ? o->size : facts) * (1 + o->negatives);
    if (most > UINT32_MAX) /* queries are numbered with 32 bits */
        return kg_fail(error, KG_BAD_INPUT,
                       "`batch`: expected at most 4294967295 facts and corrupted twins, found %zu",
                       most);
    struct state *state = kg__alloc(1, sizeof *state);
    if (state == NULL)
        return kg__fail_memory(error);
    state->items = kg__alloc(most, sizeof *state->items);
    state->keys = kg__alloc(most, sizeof *state->keys);
    *out = (kg_sampler){.options = *o,
                        .batch_count = (facts - 1) / o->size + 1,
                        .query_count = facts * (1 + o->negatives),
                        .most_queries = most,
                        .fill = fill,
                        .close = close_state,
                        .state = state};
    if (state->items != NULL && state->keys != NULL)
        return KG_OK;
    kg__sampler_close(out);
    return kg__fail_memory(error);
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
