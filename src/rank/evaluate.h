/* How well a model answers a data set's queries, in means over all of them. */
#ifndef KG_RANK_EVALUATE_H
#define KG_RANK_EVALUATE_H

#include "model/model.h"

/* kg_model_evaluate of the public interface, with whole options. */
KG_MUST_CHECK kg_status kg__evaluate(kg_metrics *out, const kg_model *model, const char *dataset,
                                     const kg_evaluation_options *options, kg_error *error);

#endif
