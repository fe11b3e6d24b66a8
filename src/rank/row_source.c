/* Lists of rows, sorted before they are asked for. */
#include "rank/row_source.h"

#include <stdlib.h>

#include "base/memory.h"

void kg__row_list_free(kg_row_list *list) {
    kg__free(list->items);
    *list = (kg_row_list){0};
}

kg_status kg__row_list_add(kg_row_list *list, kg_id entity, kg_error *error) {
    kg_id *items = kg__grow(list->items, &list->capacity, list->count + 1, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    list->items = items;
    items[list->count++] = entity;
    return KG_OK;
}

kg_status kg__row_list_add_query(kg_row_list *list, const kg_queries *queries,
                                 const kg_query *query, const kg_params *params, kg_error *error) {
    if (!kg__query_is_embedded(queries, query, params))
        return kg__row_list_add(list, query->entity, error);
    kg_query_links facts = kg__query_links(queries, query);
    for (size_t i = 0; i < facts.count; i++)
        KG_TRY(kg__row_list_add(list, facts.links[i].other, error));
    return KG_OK;
}

static int compare(const void *a, const void *b) {
    kg_id x = *(const kg_id *)a;
    kg_id y = *(const kg_id *)b;
    return (x > y) - (x < y);
}

kg_status kg__row_list_fetch(kg_row_list *list, const kg_row_source *source, kg_ranks *ranks,
                             kg_status status, kg_error *error) {
    size_t kept = 0;
    KG_TRY(kg__ranks_agree(ranks, status, error));
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || list->items[i] != list->items[i - 1])
            list->items[kept++] = list->items[i];
    list->count = 0;
    return source->fetch(source->payload, list->items, kept, error);
}
