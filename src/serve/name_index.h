/* Entities by the beginning of their names. The names that the model was trained with are sorted
 * once for each generation; those that came later are few, and looked through. */
#ifndef KG_SERVE_NAME_INDEX_H
#define KG_SERVE_NAME_INDEX_H

#include "model/model.h"

typedef struct serve_name_index {
    kg_id *ids; /* of the model's own entities, by name */
    size_t count;
    int64_t generation;
    size_t holders; /* counted by who shares it; freed by the last */
} serve_name_index;

/* O(N log N) for N entities. */
KG_MUST_CHECK kg_status serve_name_index_make(serve_name_index **out, const kg_model *model,
                                              int64_t generation, kg_error *error);
void serve_name_index_free(serve_name_index *index);

/* An entity and how many facts it has. */
typedef struct serve_completion {
    kg_id entity;
    size_t facts;
} serve_completion;

/* The `most` entities of a snapshot whose names begin with `prefix`, those with most facts first,
 * then by name. Linear in the number of entities with that prefix and of those that came later; in
 * that of all where the index, which may be NULL, is not of the snapshot's generation. */
size_t serve_name_index_find(serve_completion *out, size_t most, const serve_name_index *index,
                             const kg_model *model, int64_t generation, kg_text prefix);

/* How many facts an entity has, without a check of them. */
size_t serve_fact_count(const kg_model *model, kg_id entity);

#endif
