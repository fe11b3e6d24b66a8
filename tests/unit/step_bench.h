/* A step of the softplus loss over tables of entities and relations, for tests: batches of triples
 * with labels, of which one end or none is treated as unseen. */
#ifndef KG_TESTS_STEP_BENCH_H
#define KG_TESTS_STEP_BENCH_H

#include "model/pair_param.h"
#include "support.h"
#include "train/step.h"

typedef enum unseen_end { UNSEEN_HEAD, UNSEEN_TAIL, UNSEEN_NONE } unseen_end;

typedef struct step_item {
    kg_triple triple;
    int8_t label;
    uint8_t unseen;
} step_item;

/* The batch of these items, in the order that a sampler gives it. To be freed. */
kg_batch make_batch(const step_item *items, size_t count);

typedef struct step_bench_options {
    kg_step_options step; /* but for the loss */
    const kg_scoring *scoring;
    size_t dim;
    size_t entity_rows;
    size_t trained_entities;
    size_t relation_rows;
    size_t trained_relations;
    kg_method method;
    kg_rates rates;
    double l2;
    uint64_t steps; /* at most */
    size_t most_items;
    const kg_computed *computed;
    kg_pair_param *echo; /* pairs that echo, whose values are one more parameter; NULL: none */
} step_bench_options;

typedef struct step_bench {
    kg_param_list list;
    kg_step *step;
} step_bench;

/* All values are zero. It must not be moved. */
void open_step_bench(step_bench *bench, const step_bench_options *options,
                     const kg_adjacency *graph);
void close_step_bench(step_bench *bench);

/* The same in two parts, for those who add further parameters in between. */
void open_bench_params(step_bench *bench, const step_bench_options *options);
void open_bench_step(step_bench *bench, const step_bench_options *options,
                     const kg_adjacency *graph);

void take_item_step(step_bench *bench, const step_item *items, size_t count, uint64_t number,
                    double *loss);

static inline kg_param *bench_entities(step_bench *bench) {
    return &bench->list.items[KG_PARAM_ENTITIES];
}

static inline kg_param *bench_relations(step_bench *bench) {
    return &bench->list.items[KG_PARAM_RELATIONS];
}

#define BENCH_ECHOES 2 /* the number of that parameter */

static inline kg_param *bench_echoes(step_bench *bench) {
    return &bench->list.items[BENCH_ECHOES];
}

#endif
