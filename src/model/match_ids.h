/* A model and a data set with the same ids: those of the model, which a term over its graph depends
 * on, since ties go to the lower one. The data set is renumbered if it has others. But candidates
 * are the data set's in-sample entities, with the first ids: if the model has more of them,
 * entities keep the data set's ids and the model's rows are copied. */
#ifndef KG_MODEL_MATCH_IDS_H
#define KG_MODEL_MATCH_IDS_H

#include "graph/dataset.h"
#include "model/model.h"

typedef struct kg_aligned {
    kg_params params;
    const kg_dataset *dataset;
    kg_dataset renumbered;              /* all zeroes if the data set is used as it is */
    kg_encoder encoder;                 /* of the params, if its rows are copied */
    real *rows[1 + KG_ENCODER_TENSORS]; /* copies: of the entities, and of the encoder's tensors */
} kg_aligned;

/* For queries of a part. Every in-sample relation of the data set must be in the model, and so must
 * every in-sample entity, unless the queries are about a new graph. A model with a graph is
 * refused if its rows would have to be copied. The result borrows from both and must not be moved.
 */
KG_MUST_CHECK kg_status kg__model_align(kg_aligned *out, const kg_model *model,
                                        const kg_dataset *dataset, kg_part part, kg_error *error);
void kg__aligned_free(kg_aligned *aligned);

/* Fails if the model knows all entities of the data set's unseen part: it was trained with the
 * facts that it would be evaluated on. */
KG_MUST_CHECK kg_status kg__model_check_unseen(const kg_model *model, const kg_dataset *dataset,
                                               kg_part part, kg_error *error);

#endif
