/* A model on a graph that it was not trained on. It is a model like any other: its entities and
 * known facts are those of the graph, its relations, terms and calibration those that were trained.
 * So new entities, predictions and explanations know of no difference. */
#ifndef KG_INFER_MODEL_ON_NEW_GRAPH_H
#define KG_INFER_MODEL_ON_NEW_GRAPH_H

#include "model/model.h"

/* kg_model_open_on_graph of the public interface, with whole options. Of the trained model it
 * borrows numbers; it is closed by kg__model_close, before that one, and must not be moved. */
KG_MUST_CHECK kg_status kg__model_open_on_graph(kg_model *out, kg_left_out_facts *left,
                                                const kg_model *model, const char *graph,
                                                const kg_graph_options *options, kg_error *error);

#endif
