/* What the features term counts, and its learned weights, for its files and for what needs the
 * degree prior of all candidates. */
#ifndef KG_TERMS_FEATURE_TERM_H
#define KG_TERMS_FEATURE_TERM_H

#include "model/term.h"
#include "terms/feature_cache.h"

typedef struct kg_feature_counts {
    kg_features features;
    kg_feature_cache cache;       /* in training */
    real start[KG_FEATURE_COUNT]; /* of weights */
} kg_feature_counts;

extern const kg_term kg__term_features;

/* The term's view; NULL if the params have no features. */
const kg_term_view *kg__feature_view(const kg_params *params);

static inline const kg_features *kg__feature_view_counted(const kg_term_view *view) {
    const kg_feature_counts *counts = view->counted;
    return &counts->features;
}

/* The KG_FEATURE_COUNT weights for a query's directed relation. */
static inline const real *kg__feature_weights(const kg_term_view *view, kg_directed query) {
    return view->values[0] + query * (size_t)KG_FEATURE_COUNT;
}

/* The degree prior that all candidates have; NULL if there is none. */
const kg_degree_prior *kg__feature_view_prior(const kg_term_view *view);

/* ---- Answering (feature_inference.c) ---- */

kg_status kg__feature_state_open(void **out, const kg_term_view *view, kg_error *error);
void kg__feature_state_close(void *opened);
kg_status kg__feature_state_load(struct kg_scorer *scorer, size_t number, kg_error *error);
void kg__feature_state_set_query(struct kg_scorer *scorer, size_t number);
kg_status kg__feature_offsets(struct kg_scorer *scorer, size_t number, struct kg_score_offsets *out,
                              size_t left_out, kg_error *error);
kg_status kg__feature_explain(struct kg_explain_use *use, size_t number, kg_error *error);

#endif
