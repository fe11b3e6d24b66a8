/* The facts of a live graph as a data set to train on.
 *
 * Entities are those that have a fact: first the model's own, by id, then those that came later.
 * Relations are, in this order, those of the model that the store was made of, whether they have
 * facts or not, those that came later and have a fact, and new ones. So the data set is a function
 * of the model and the set of live facts, and who came later leaves with the last fact. */
#ifndef KG_LIVE_LIVE_DATASET_H
#define KG_LIVE_LIVE_DATASET_H

#include "graph/dataset.h"
#include "model/model.h"

/* Facts of relations that the model does not know, by their own ids, in the order of their names.
 */
typedef struct kg_new_relations {
    kg_names entities;
    kg_names relations;
    kg_triples facts;
} kg_new_relations;

KG_MUST_CHECK kg_status kg__new_relations_add(kg_new_relations *facts, const kg_text fact[3],
                                              kg_error *error);
void kg__new_relations_free(kg_new_relations *facts);

/* The snapshot has all other facts; later entities have ids that do not depend on the order in
 * which they came. `is_first`: the store was made of the snapshot's model. To be closed also when
 * this failed. */
KG_MUST_CHECK kg_status kg__live_dataset(kg_dataset *out, const kg_model *snapshot, bool is_first,
                                         const kg_new_relations *facts, kg_error *error);

#endif
