/* Sifting up and down in an array: the children of entry i are 2i + 1 and 2i + 2. */
#include "rank/top_heap.h"

static bool is_better(const kg_top_heap *list, kg_candidate a, kg_candidate b) {
    if (a.value != b.value)
        return a.value > b.value;
    if (a.directed != b.directed)
        return a.directed < b.directed;
    return list->names == NULL ? a.entity < b.entity
                               : kg__names_before(list->names, a.entity, b.entity);
}

/* Moves the entry at `i` of the first `count` down to where both below it are better. */
static void sink(const kg_top_heap *list, size_t count, size_t i) {
    kg_candidate *heap = list->heap;
    kg_candidate entry = heap[i];
    for (size_t below; (below = 2 * i + 1) < count; i = below) {
        if (below + 1 < count && is_better(list, heap[below], heap[below + 1]))
            below++;
        if (!is_better(list, entry, heap[below]))
            break;
        heap[i] = heap[below];
    }
    heap[i] = entry;
}

static void rise(const kg_top_heap *list, size_t i) {
    kg_candidate *heap = list->heap;
    kg_candidate entry = heap[i];
    for (; i > 0 && is_better(list, heap[(i - 1) / 2], entry); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = entry;
}

void kg__top_heap_offer(kg_top_heap *list, kg_candidate candidate) {
    if (!kg__top_heap_is_full(list)) {
        list->heap[list->count] = candidate;
        rise(list, list->count++);
    } else if (is_better(list, candidate, list->heap[0])) {
        list->heap[0] = candidate;
        sink(list, list->count, 0);
    }
}

/* Heapsort: the worst entry is moved to the end repeatedly. */
void kg__top_heap_sort(kg_top_heap *list) {
    for (size_t count = list->count; count > 1; count--) {
        kg_candidate worst = list->heap[0];
        list->heap[0] = list->heap[count - 1];
        list->heap[count - 1] = worst;
        sink(list, count - 1, 0);
    }
}
