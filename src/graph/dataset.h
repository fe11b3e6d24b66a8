/* A data set: names, and facts in up to ten parts.
 *
 * Ids follow the order of first appearance over train, valid, test (the in-sample parts), then
 * unseen-valid, unseen-test; so entities of an unseen part have ids of their own behind all
 * in-sample ones, and a fact of an unseen part has exactly one such end. The relations of unseen
 * facts are all known from the in-sample parts. Facts are added part by part in that order, and
 * checked as they are added.
 *
 * between-valid has facts between entities of unseen-valid, and between-test between those of
 * unseen-test, for who adds all of them to the graph; they are asked about by kgraft eval --live
 * alone.
 *
 * The last three parts are a new graph: graph has the facts that are known of it, graph-valid and
 * graph-test those that are asked for. It shares the relations of the in-sample parts and no
 * entity: its entities have a table of names of their own, with ids from 0, in order of first
 * appearance over the three parts. The same name in both tables is two entities. */
#ifndef KG_GRAPH_DATASET_H
#define KG_GRAPH_DATASET_H

#include <jansson.h>

#include "graph/triples.h"

typedef enum kg_part {
    KG_TRAIN,
    KG_VALID,
    KG_TEST,
    KG_UNSEEN_VALID,
    KG_UNSEEN_TEST,
    KG_BETWEEN_VALID,
    KG_BETWEEN_TEST,
    KG_GRAPH,
    KG_GRAPH_VALID,
    KG_GRAPH_TEST,
    KG_PART_COUNT,
} kg_part;

/* "train", "valid", "test", "unseen-valid", "unseen-test", "between-valid", "between-test",
 * "graph", "graph-valid", "graph-test". */
const char *kg__part_name(kg_part part);

typedef struct kg_dataset {
    kg_names entities;
    kg_names relations;
    kg_names graph_entities; /* of the new graph */
    kg_triples parts[KG_PART_COUNT];
    size_t duplicates[KG_PART_COUNT]; /* repeated facts of the part, dropped */

    /* Number of entities before each part up to KG_GRAPH: those that part p adds are
     * entities_before[p] up to entities_before[p + 1]. The number of in-sample entities is the
     * entry of KG_UNSEEN_VALID. */
    size_t entities_before[KG_GRAPH + 1];
    size_t in_sample_relations;
    kg_part part;  /* the one being filled */
    bool is_named; /* names were given before the first part */

    /* Facts of the new graph with a relation that the in-sample parts lack are left out. They are
     * refused in the end, unless `skip_unknown` is set before. */
    bool skip_unknown;
    size_t unknown_facts;
    kg_names unknown_relations;

    /* Its sources and how it was processed, as in dataset.json: an object. */
    json_t *history;
} kg_dataset;

/* Facts by name: fact i is (ends[2i], relations[i], ends[2i + 1]). Borrows the names. */
typedef struct kg_named_facts {
    const kg_name *ends;
    const kg_name *relations;
    size_t count;
} kg_named_facts;

KG_MUST_CHECK kg_status kg__dataset_open(kg_dataset *dataset, kg_error *error);

/* A data set with given names and ids, all of them in-sample: facts can have no others, and there
 * may be none. Takes ownership of both tables, also when it fails. */
KG_MUST_CHECK kg_status kg__dataset_open_named(kg_dataset *dataset, kg_names *entities,
                                               kg_names *relations, kg_error *error);
void kg__dataset_close(kg_dataset *dataset);

/* Starts a part; parts come in order, empty ones may be skipped. */
KG_MUST_CHECK kg_status kg__dataset_enter(kg_dataset *dataset, kg_part part, kg_error *error);

/* Adds facts to the current part. On failure `*added` is the number of facts before the bad one. */
KG_MUST_CHECK kg_status kg__dataset_add(kg_dataset *dataset, kg_named_facts facts, size_t *added,
                                        kg_error *error);
KG_MUST_CHECK kg_status kg__dataset_add_one(kg_dataset *dataset, kg_name head, kg_name relation,
                                            kg_name tail, kg_error *error);

/* Ends the last part. A data set without training facts is refused, unless its names are given; and
 * a new graph of which no fact is known. */
KG_MUST_CHECK kg_status kg__dataset_finish(kg_dataset *dataset, kg_error *error);

/* The same facts, in the same order, with the ids that their names have in two other tables. These
 * hold all in-sample entities and no others, and all relations. `entities` may be NULL: they keep
 * their ids. Those of the new graph always do. */
KG_MUST_CHECK kg_status kg__dataset_renumber(kg_dataset *out, const kg_dataset *dataset,
                                             const kg_names *entities, const kg_names *relations,
                                             kg_error *error);

static inline size_t kg__dataset_in_sample(const kg_dataset *dataset) {
    return dataset->entities_before[KG_UNSEEN_VALID];
}

/* The entities that facts of a part are about. */
static inline const kg_names *kg__dataset_names(const kg_dataset *dataset, kg_part part) {
    return part < KG_GRAPH ? &dataset->entities : &dataset->graph_entities;
}

static inline bool kg__dataset_has_graph(const kg_dataset *dataset) {
    return dataset->parts[KG_GRAPH].count > 0;
}

static inline bool kg__dataset_has_between(const kg_dataset *dataset) {
    return dataset->parts[KG_BETWEEN_VALID].count + dataset->parts[KG_BETWEEN_TEST].count > 0;
}

/* The facts between the entities of an unseen part. */
static inline kg_part kg__dataset_between(kg_part unseen) {
    return unseen == KG_UNSEEN_VALID ? KG_BETWEEN_VALID : KG_BETWEEN_TEST;
}

/* The part to validate and calibrate by, which may be empty: of the new graph, for params that
 * `can_move` to it, or else of unseen entities, or else in-sample. */
kg_part kg__dataset_validation(const kg_dataset *dataset, bool can_move);

/* The part to evaluate on: in-sample, or else of the new graph if there is one, or else of unseen
 * entities; for validation or for the test. */
kg_part kg__dataset_evaluated(const kg_dataset *dataset, bool in_sample, bool valid);

/* The number of unseen entities of an unseen part. */
static inline size_t kg__dataset_unseen(const kg_dataset *dataset, kg_part part) {
    return dataset->entities_before[part + 1] - dataset->entities_before[part];
}

#endif
