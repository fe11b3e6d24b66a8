/* The table of features. */
#include "evidence/witness.h"

const char *const kg_feature_names[] = {
    [KG_ONE_STEP] = "echo",   [KG_TWO_STEPS] = "two",    [KG_THREE_STEPS] = "three",
    [KG_FOUR_STEPS] = "four", [KG_COMPANY] = "company",  [KG_VOTES] = "votes",
    [KG_VACANCY] = "vacancy", [KG_FEATURE_COUNT] = NULL,
};

const kg_feature_row kg_feature_rows[KG_GATHERED_COUNT] = {
    [KG_ONE_STEP] = {kg_paths_gather, NULL, kg_paths_phi},
    [KG_TWO_STEPS] = {kg_paths_gather, NULL, kg_paths_phi},
    [KG_THREE_STEPS] = {kg_paths_gather, NULL, kg_paths_phi},
    [KG_FOUR_STEPS] = {kg_paths_gather, NULL, kg_paths_phi},
    [KG_COMPANY] = {kg_company_gather, NULL, kg_company_phi},
    [KG_VOTES] = {kg_company_gather, kg_company_vote, kg_votes_phi},
};
