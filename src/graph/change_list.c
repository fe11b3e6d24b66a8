/* Growing two arrays. */
#include "graph/change_list.h"

#include <string.h>

#include "base/lines.h"
#include "base/memory.h"

kg_status kg__change_list_add(kg_change_list *list, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    size_t total = 0;
    for (int i = 0; i < 3; i++) {
        KG_TRY(kg__check_name(fact[i], error));
        total += fact[i].length;
    }
    char *bytes = kg__grow(list->bytes, &list->bytes_capacity, list->bytes_used + total, 1);
    if (bytes == NULL)
        return kg__fail_memory(error);
    list->bytes = bytes;
    struct kg_listed_change *items =
        kg__grow(list->items, &list->capacity, list->count + 1, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    list->items = items;
    struct kg_listed_change *item = &items[list->count++];
    *item = (struct kg_listed_change){.start = list->bytes_used, .operation = operation};
    for (int i = 0; i < 3; i++) {
        memcpy(bytes + list->bytes_used, fact[i].bytes, fact[i].length);
        list->bytes_used += fact[i].length;
        item->lengths[i] = (uint32_t)fact[i].length;
    }
    return KG_OK;
}

void kg__change_list_rewind(kg_change_list *list, size_t count) {
    if (count >= list->count)
        return;
    list->bytes_used = list->items[count].start;
    list->count = count;
}

void kg__change_list_free(kg_change_list *list) {
    kg__free(list->items);
    kg__free(list->bytes);
    *list = (kg_change_list){0};
}
