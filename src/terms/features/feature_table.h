/* The table of features: how each is counted, read and explained. A new one is a file with these
 * functions, its row, and its name in kg_feature; what it accumulates is a field of kg_accumulator.
 */
#ifndef KG_TERMS_FEATURE_TABLE_H
#define KG_TERMS_FEATURE_TABLE_H

#include "terms/features/extractor.h"
#include "terms/features/reasons.h"

/* Consecutive rows that share a function are one group: it is called once for all of them. */
typedef struct kg_feature_row {
    /* Adds the contribution of a fact (`sign` 1) or subtracts it (-1). */
    void (*accumulate)(kg_extractor *extractor, size_t fact, int sign);
    void (*finish)(kg_extractor *extractor); /* after the last fact; may be NULL */
    double (*phi)(const kg_extractor *extractor, const kg_accumulator *sums, kg_feature feature);
    void (*explain)(kg_reason_search *search);
} kg_feature_row;
extern const kg_feature_row kg__feature_rows[KG_EXTRACTED_COUNT];

/* paths.c */
void kg__paths_accumulate(kg_extractor *extractor, size_t fact, int sign);
double kg__paths_phi(const kg_extractor *extractor, const kg_accumulator *sums, kg_feature feature);
void kg__paths_explain(kg_reason_search *search);

/* cooccurrence.c; it accumulates for knn_vote.c as well, since both visit the same entities */
void kg__cooccurrence_accumulate(kg_extractor *extractor, size_t fact, int sign);
double kg__cooccurrence_phi(const kg_extractor *extractor, const kg_accumulator *sums,
                            kg_feature feature);
void kg__cooccurrence_explain(kg_reason_search *search);

/* knn_vote.c */
void kg__knn_vote_finish(kg_extractor *extractor);
double kg__knn_vote_phi(const kg_extractor *extractor, const kg_accumulator *sums,
                        kg_feature feature);
void kg__knn_vote_explain(kg_reason_search *search);

#endif
