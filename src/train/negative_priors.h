/* The degree priors (terms/features/degree_prior.h) of a batch's negatives, a row for each directed
 * relation that is queried, and their weights for its queries: features of the softmax loss. */
#ifndef KG_TRAIN_NEGATIVE_PRIORS_H
#define KG_TRAIN_NEGATIVE_PRIORS_H

#include "terms/feature_term.h"

typedef struct kg_negative_priors {
    const kg_term_view *view; /* borrowed; NULL if there is no degree prior: then nothing is done */
    kg_directed *asked;       /* each once */
    size_t asked_count;
    uint32_t *kind_of;      /* of each directed relation: its place among these, or KG_NO_ID */
    const kg_id *negatives; /* borrowed */
    uint32_t *kinds;        /* of queries */
    real *weights;          /* of queries */
    real *gradients;        /* of queries: on the weights; filled in by others */
} kg_negative_priors;

/* For batches of so many queries at most. */
KG_MUST_CHECK kg_status kg__negative_priors_open(kg_negative_priors *priors,
                                                 const kg_params *params, size_t most_queries,
                                                 kg_error *error);
void kg__negative_priors_close(kg_negative_priors *priors);

/* Takes a batch: what its queries ask for, and its negatives. */
void kg__negative_priors_take(kg_negative_priors *priors, const kg_directed *queries,
                              size_t query_count, const kg_id *negatives);

/* Those of negatives `from` up to `from + some`: asked_count x some. The payload is a
 * kg_negative_priors.
 */
void kg__negative_priors_fill(const void *payload, real *out, size_t from, size_t some);

#endif
