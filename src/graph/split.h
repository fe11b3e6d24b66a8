/* The paper's out-of-sample split (Albooyeh, Goel, Kazemi 2020, "Datasets"): some entities are
 * taken out of the graph, and their facts become the queries of validation and test. */
#ifndef KG_GRAPH_SPLIT_H
#define KG_GRAPH_SPLIT_H

#include "graph/dataset.h"

typedef struct kg_split_options {
    double unseen;      /* the share of the candidates that is taken out, in (0, 1) */
    double valid_share; /* the share of the unseen entities that goes to validation, in [0, 1] */
    uint64_t min_facts; /* facts that an unseen entity must have, before and after: at least 2 */
    uint64_t seed;
    uint64_t most_facts; /* most facts that it may have; 0: any number */
    bool keep_relations; /* in number, and with training facts: entities stay in-sample where a
                            relation would lose all of them */
    bool keep_between;   /* facts between unseen entities, as parts of their own */
} kg_split_options;

/* Counts of each of the paper's steps. */
typedef struct kg_split_report {
    uint64_t merged_facts;   /* 1: all parts together, each fact once */
    uint64_t repeated_facts; /* those that were in several parts */
    uint64_t candidates;     /* 2: entities with enough facts */
    uint64_t drawn;          /* taken out, without those that a relation needs */
    uint64_t between_unseen; /* 3: facts between two unseen entities, removed */
    uint64_t reflexive;      /*    of these, facts of an unseen entity with itself */
    uint64_t lost_entities;  /* 4: in-sample entities without a training fact, removed */
    uint64_t lost_relations; /*    relations likewise */
    uint64_t lost_facts;     /*    facts removed with them */
    uint64_t sparse_unseen;  /* 5: unseen entities left with too few facts, removed */
    uint64_t sparse_facts;   /*    facts removed with them */
    uint64_t valid_entities; /* 6 */
    uint64_t test_entities;
    uint64_t kept_between; /* facts of step 3 between two of the same of these, if they are kept */
} kg_split_report;

/* Splits `from` into the empty, opened data set `out` and finishes it. The result, down to the
 * order of its facts, is a function of `from` and the options. */
KG_MUST_CHECK kg_status kg__split(kg_dataset *out, kg_split_report *report, const kg_dataset *from,
                                  const kg_split_options *options, kg_error *error);

#endif
