/* The table of features. */
#include "terms/features/extractor.h"

const char *const kg__feature_names[] = {
    [KG_PATH1] = "echo",           [KG_PATH2] = "two",
    [KG_PATH3] = "three",          [KG_PATH4] = "four",
    [KG_COOCCURRENCE] = "company", [KG_KNN_VOTE] = "votes",
    [KG_DEGREE_PRIOR] = "vacancy", [KG_FEATURE_COUNT] = NULL,
};

const kg_feature_row kg__feature_rows[KG_EXTRACTED_COUNT] = {
    [KG_PATH1] = {kg__paths_gather, NULL, kg__paths_phi},
    [KG_PATH2] = {kg__paths_gather, NULL, kg__paths_phi},
    [KG_PATH3] = {kg__paths_gather, NULL, kg__paths_phi},
    [KG_PATH4] = {kg__paths_gather, NULL, kg__paths_phi},
    [KG_COOCCURRENCE] = {kg__cooccurrence_gather, NULL, kg__cooccurrence_phi},
    [KG_KNN_VOTE] = {kg__cooccurrence_gather, kg__cooccurrence_vote, kg__knn_vote_phi},
};
