/* A parameter that is a number for each of some pairs of directed relations (relation_pairs.h): the
 * weights of the aggregator graft, and the echoes of the term echo. */
#ifndef KG_MODEL_PAIR_PARAM_H
#define KG_MODEL_PAIR_PARAM_H

#include "model/relation_pairs.h"
#include "model/term.h"

/* What a view has counted; or what that begins with, if there is more. */
typedef struct kg_pair_param {
    const char *name; /* of the tensor */
    double start;     /* value of each at the start of training, */
    double rate;      /* and the rate, times the run's */
    kg_pairs pairs;
    real *values; /* owned, of a model that was opened; NULL: those of the view are others' */
} kg_pair_param;

/* Makes `counted`, which was allocated, that of the view: to be closed, and freed, by that. */
void kg__pair_param_start(kg_term_view *out, kg_pair_param *counted);

/* Then its pairs and values, from a model's file; none if that has no such tensor. */
KG_MUST_CHECK kg_status kg__pair_param_open(kg_term_view *out, const struct kg_model *model,
                                            const char *path, kg_error *error);

#endif
