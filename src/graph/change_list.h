/* Facts to be added and removed, by name, in the order in which they come. */
#ifndef KG_GRAPH_CHANGE_LIST_H
#define KG_GRAPH_CHANGE_LIST_H

#include "graph/change_reader.h"

/* The bytes of its names lie end to end from `start` on. */
struct kg_listed_change {
    size_t start;
    uint32_t lengths[3];
    kg_operation operation;
};

/* An empty one is all zeroes. */
typedef struct kg_change_list {
    struct kg_listed_change *items;
    size_t count;
    size_t capacity;
    char *bytes;
    size_t bytes_used;
    size_t bytes_capacity;
} kg_change_list;

/* Head, relation and tail are copied; what cannot be a name is refused. */
KG_MUST_CHECK kg_status kg__change_list_add(kg_change_list *list, kg_operation operation,
                                            const kg_text fact[3], kg_error *error);

/* Change i. The names last until the next one is added. */
static inline kg_operation kg__change_list_get(kg_text fact[3], const kg_change_list *list,
                                               size_t i) {
    const struct kg_listed_change *item = &list->items[i];
    const char *at = list->bytes + item->start;
    for (int k = 0; k < 3; at += item->lengths[k++])
        fact[k] = (kg_text){at, item->lengths[k]};
    return item->operation;
}

/* Back to fewer changes. */
void kg__change_list_rewind(kg_change_list *list, size_t count);

void kg__change_list_free(kg_change_list *list);

#endif
