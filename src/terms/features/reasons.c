/* Sorted lists of reasons, filled by the features' own functions. */
#include "terms/features/reasons.h"

#include <string.h>

#include "terms/features/feature_table.h"

static bool is_enabled(const kg_reason_search *search, kg_feature feature) {
    return kg__feature_set_has(search->extractor->features->enabled, feature);
}

/* Insertion behind all reasons with at least the same share. */
void kg__reasons_add(kg_reason_search *search, kg_feature feature, const kg_reason *reason) {
    kg_reasons *list = &search->lists[feature];
    if (!is_enabled(search, feature))
        return;
    size_t listed = list->count < list->most ? list->count : list->most;
    list->count++;
    size_t place = listed;
    while (place > 0 && list->items[place - 1].share < reason->share)
        place--;
    if (place == list->most)
        return;
    size_t behind = listed < list->most ? listed - place : listed - place - 1;
    memmove(&list->items[place + 1], &list->items[place], behind * sizeof *reason);
    list->items[place] = *reason;
}

void kg__reasons_attribute(kg_reason_search *search, kg_feature feature, size_t fact,
                           double share) {
    double *through = search->lists[feature].through;
    if (through != NULL && is_enabled(search, feature))
        through[fact] += share;
}

void kg__extractor_explain(kg_extractor *extractor, kg_reasons lists[KG_EXTRACTED_COUNT],
                           kg_id answer) {
    kg_reason_search search = {extractor, answer, lists};
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++) {
        lists[k].count = 0;
        for (size_t i = 0; lists[k].through != NULL && i < extractor->count; i++)
            lists[k].through[i] = 0;
    }
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++)
        if (k == 0 || kg__feature_rows[k].explain != kg__feature_rows[k - 1].explain)
            kg__feature_rows[k].explain(&search);
}
