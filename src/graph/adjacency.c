/* Counting sort by entity, then each entity's links in order. */
#include "graph/adjacency.h"

#include <stdlib.h>
#include <string.h>

#include "base/lower_bound.h"
#include "base/memory.h"
#include "base/radix_sort.h"
#include "base/thread_count.h"

#define CHUNK 256   /* entities that a thread takes at a time */
#define MANY 100000 /* with fewer, threads are slower */
#define FEW 64      /* links that are sorted by insertion: digits would not pay */

void kg__adjacency_free(kg_adjacency *adjacency) {
    kg__free(adjacency->links);
    kg__free(adjacency->starts);
    *adjacency = (kg_adjacency){0};
}

static int compare_links(const void *a, const void *b) {
    return kg__links_compare(*(const kg_link *)a, *(const kg_link *)b);
}

/* Lists of some entities that are being filled. */
struct window {
    kg_link *links;
    uint64_t *next; /* of each: where its next link goes */
    size_t from;    /* the first entity */
    size_t count;
};

static void place(const struct window *window, kg_id entity, kg_link link) {
    size_t i = entity - window->from; /* a large number if it comes before */
    if (i < window->count)
        window->links[window->next[i]++] = link;
}

static void place_all(const struct window *window, const kg_triples *facts,
                      kg_reflexive reflexive) {
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        if (fact.head == fact.tail && reflexive == KG_WITHOUT_REFLEXIVE)
            continue;
        place(window, fact.head, (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail});
        place(window, fact.tail, (kg_link){kg_direct(fact.relation, KG_TAIL), fact.head});
    }
}

static void count_links(kg_adjacency *adjacency, const kg_triples *facts, kg_reflexive reflexive) {
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        if (fact.head == fact.tail && reflexive == KG_WITHOUT_REFLEXIVE)
            continue;
        if (fact.head < adjacency->entity_count)
            adjacency->starts[fact.head + 1]++;
        if (fact.tail < adjacency->entity_count)
            adjacency->starts[fact.tail + 1]++;
    }
    for (size_t v = 0; v < adjacency->entity_count; v++)
        adjacency->starts[v + 1] += adjacency->starts[v];
}

kg_status kg__adjacency_count(kg_adjacency *out, const kg_triples *facts, size_t entity_count,
                              kg_reflexive reflexive, kg_error *error) {
    *out = (kg_adjacency){.entity_count = entity_count};
    out->starts = kg__alloc(entity_count + 1, sizeof *out->starts);
    if (out->starts == NULL)
        return kg__fail_memory(error);
    count_links(out, facts, reflexive);
    return KG_OK;
}

/* Sorting takes longest. */
kg_status kg__adjacency_list(const kg_adjacency *counted, kg_link *links, size_t from, size_t to,
                             const kg_triples *facts, kg_reflexive reflexive, kg_error *error) {
    const uint64_t *starts = counted->starts + from;
    struct window window = {.links = links, .from = from, .count = to - from};
    window.next = kg__resize(NULL, window.count, sizeof *window.next);
    if (window.next == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < window.count; i++)
        window.next[i] = starts[i] - starts[0];
    place_all(&window, facts, reflexive);
    kg__free(window.next);
#pragma omp parallel for schedule(dynamic, CHUNK) \
    num_threads(kg__threads(0)) if (window.count > MANY)
    for (size_t i = 0; i < window.count; i++)
        qsort(links + (starts[i] - starts[0]), (size_t)(starts[i + 1] - starts[i]), sizeof *links,
              compare_links);
    return KG_OK;
}

kg_status kg__adjacency_make(kg_adjacency *out, const kg_triples *facts, size_t entity_count,
                             kg_reflexive reflexive, kg_error *error) {
    KG_TRY(kg__adjacency_count(out, facts, entity_count, reflexive, error));
    out->links = kg__resize(NULL, (size_t)out->starts[entity_count], sizeof *out->links);
    kg_status status = out->links == NULL ? kg__fail_memory(error)
                                          : kg__adjacency_list(out, out->links, 0, entity_count,
                                                               facts, reflexive, error);
    if (status != KG_OK)
        kg__adjacency_free(out);
    return status;
}

size_t kg__links_find(const kg_link *links, size_t count, kg_link link) {
    if (count == 0)
        return 0; /* `links` may be NULL */
    const kg_link *found = bsearch(&link, links, count, sizeof *links, compare_links);
    return found == NULL ? count : (size_t)(found - links);
}

bool kg__links_echo(const kg_link *links, size_t count, kg_link target) {
    for (size_t i = 0; i < count; i++)
        if (links[i].other == target.other && links[i].directed != target.directed)
            return true;
    return false;
}

/* The first link whose relation is not below `directed`, or `count`. */
static size_t find_relation(const kg_link *links, size_t count, kg_directed directed) {
    return kg__lower_bound(links, count, sizeof *links, offsetof(kg_link, directed), directed);
}

const kg_link *kg__links_run(const kg_link *links, size_t count, kg_directed directed,
                             size_t *found) {
    *found = 0;
    if (count == 0)
        return links;
    size_t from = find_relation(links, count, directed);
    size_t to = find_relation(links, count, directed + 1);
    *found = to > from ? to - from : 0; /* in case they are not sorted */
    return links + from;
}

size_t kg__adjacency_find(const kg_adjacency *adjacency, const kg_link *links, size_t count,
                          kg_link link) {
    if (adjacency == NULL || adjacency->overlay == NULL)
        return kg__links_find(links, count, link);
    size_t size = 0;
    const kg_link *run = kg__links_run(links, count, link.directed, &size);
    size_t first = adjacency->overlay->first;
    /* Links with entities of the graph below, which are sorted by id. */
    size_t own = kg__lower_bound(run, size, sizeof *run, offsetof(kg_link, other), (kg_id)first);
    size_t place = own;
    if (link.other < first)
        place = kg__links_find(run, own, link);
    else
        while (place < size && run[place].other != link.other)
            place++;
    return place < size && run[place].other == link.other ? (size_t)(run - links) + place : count;
}

/* Heapsort by name: at `i` of a heap, whose root is the last. */
static void sink(kg_link *heap, size_t count, size_t i, const kg_names *names) {
    kg_link entry = heap[i];
    for (size_t below; (below = 2 * i + 1) < count; i = below) {
        if (below + 1 < count && kg__names_before(names, heap[below].other, heap[below + 1].other))
            below++;
        if (!kg__names_before(names, entry.other, heap[below].other))
            break;
        heap[i] = heap[below];
    }
    heap[i] = entry;
}

static void sort_by_name(kg_link *links, size_t count, const kg_names *names) {
    for (size_t i = count / 2; i-- > 0;)
        sink(links, count, i, names);
    for (size_t left = count; left > 1; left--) {
        kg_link last = links[0];
        links[0] = links[left - 1];
        links[left - 1] = last;
        sink(links, left - 1, 0, names);
    }
}

void kg__links_order(kg_link *links, size_t count, const kg_names *names) {
    if (names->later == NULL)
        return;
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        while (from < to && links[from].other < names->later->first)
            from++;
        sort_by_name(links + from, to - from, names);
    }
}

/* Links come by directed relation, and stay in that order where the other end is the same. */
void kg__links_by_other(kg_link *sorted, kg_link *spare, const kg_link *links, size_t count) {
    if (count > FEW) {
        memcpy(sorted, links, count * sizeof *sorted);
        kg__radix_sort(sorted, spare, count, sizeof *sorted, offsetof(kg_link, other));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t place = i;
        for (; place > 0 && sorted[place - 1].other > links[i].other; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = links[i];
    }
}

size_t kg__links_sort(kg_link *links, size_t count) {
    if (count == 0)
        return 0;
    qsort(links, count, sizeof *links, compare_links);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (kg__links_compare(links[kept - 1], links[i]) != 0)
            links[kept++] = links[i];
    return kept;
}
