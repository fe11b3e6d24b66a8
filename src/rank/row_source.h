/* Rows of entities that other ranks own, for processes that share a model whose rows they share:
 * what queries read is fetched before they are embedded. */
#ifndef KG_RANK_ROW_SOURCE_H
#define KG_RANK_ROW_SOURCE_H

#include "base/ranks.h"
#include "rank/queries.h"

typedef struct kg_row_source {
    void *payload;
    /* Makes these rows, all different, what their owners have. To be called by all ranks at once.
     */
    kg_status (*fetch)(void *payload, const kg_id *entities, size_t count, kg_error *error);
} kg_row_source;

/* Entities whose rows are wanted. An empty list is all zeroes. */
typedef struct kg_row_list {
    kg_id *items;
    size_t count;
    size_t capacity;
} kg_row_list;

void kg__row_list_free(kg_row_list *list);
KG_MUST_CHECK kg_status kg__row_list_add(kg_row_list *list, kg_id entity, kg_error *error);

/* Those that embedding a query reads. */
KG_MUST_CHECK kg_status kg__row_list_add_query(kg_row_list *list, const kg_queries *queries,
                                               const kg_query *query, const kg_params *params,
                                               kg_error *error);

/* Fetches what is in the list, once each, and empties it. Fails on all ranks if `status`, of what
 * filled it, is a failure on any. */
KG_MUST_CHECK kg_status kg__row_list_fetch(kg_row_list *list, const kg_row_source *source,
                                           kg_ranks *ranks, kg_status status, kg_error *error);

#endif
