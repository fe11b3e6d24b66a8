/* The table of features, and their names. */
#include "terms/features/feature_table.h"

#include <string.h>

const char *const kg__feature_names[] = {
    [KG_PATH1] = "path1",
    [KG_PATH2] = "path2",
    [KG_PATH3] = "path3",
    [KG_PATH4] = "path4",
    [KG_COOCCURRENCE] = "cooccurrence",
    [KG_KNN_VOTE] = "knn",
    [KG_DEGREE_PRIOR] = "degree",
    [KG_FEATURE_COUNT] = NULL,
};

/* Names before 0.2, still read in config.json and in checkpoints. */
static const char *const aliases[KG_FEATURE_COUNT] = {
    [KG_PATH1] = "echo",           [KG_PATH2] = "two",
    [KG_PATH3] = "three",          [KG_PATH4] = "four",
    [KG_COOCCURRENCE] = "company", [KG_KNN_VOTE] = "votes",
    [KG_DEGREE_PRIOR] = "vacancy",
};

bool kg__feature_find(kg_feature *out, const char *name) {
    for (kg_feature k = 0; k < KG_FEATURE_COUNT; k++)
        if (strcmp(kg__feature_names[k], name) == 0 ||
            (aliases[k] != NULL && strcmp(aliases[k], name) == 0)) {
            *out = k;
            return true;
        }
    return false;
}

void kg__feature_names_update(json_t *names) {
    size_t i = 0;
    const json_t *name = NULL;
    json_array_foreach(names, i, name) {
        const char *text = json_string_value(name);
        kg_feature feature = KG_PATH1;
        if (text != NULL && kg__feature_find(&feature, text) &&
            strcmp(text, kg__feature_names[feature]) != 0)
            json_array_set_new(names, i, json_string(kg__feature_names[feature]));
    }
}

#define PATHS \
    { .accumulate = kg__paths_accumulate, .phi = kg__paths_phi, .explain = kg__paths_explain }

const kg_feature_row kg__feature_rows[KG_EXTRACTED_COUNT] = {
    [KG_PATH1] = PATHS,
    [KG_PATH2] = PATHS,
    [KG_PATH3] = PATHS,
    [KG_PATH4] = PATHS,
    [KG_COOCCURRENCE] = {.accumulate = kg__cooccurrence_accumulate,
                         .phi = kg__cooccurrence_phi,
                         .explain = kg__cooccurrence_explain},
    [KG_KNN_VOTE] = {.accumulate = kg__cooccurrence_accumulate,
                     .finish = kg__knn_vote_finish,
                     .phi = kg__knn_vote_phi,
                     .explain = kg__knn_vote_explain},
};
