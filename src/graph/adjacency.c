/* Counting sort by entity, then each entity's links in order. */
#include "graph/adjacency.h"

#include <stdlib.h>
#include <string.h>

#include "base/lower_bound.h"
#include "base/memory.h"

void kg__adjacency_free(kg_adjacency *adjacency) {
    kg__free(adjacency->links);
    kg__free(adjacency->starts);
    *adjacency = (kg_adjacency){0};
}

static int compare_links(const void *a, const void *b) {
    return kg__links_compare(*(const kg_link *)a, *(const kg_link *)b);
}

/* `next` holds for each entity where its next link goes. */
static void place(const kg_adjacency *adjacency, uint64_t *next, kg_triple fact,
                  kg_reflexive reflexive) {
    if (fact.head == fact.tail && reflexive == KG_WITHOUT_REFLEXIVE)
        return;
    if (fact.head < adjacency->entity_count)
        adjacency->links[next[fact.head]++] =
            (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail};
    if (fact.tail < adjacency->entity_count)
        adjacency->links[next[fact.tail]++] =
            (kg_link){kg_direct(fact.relation, KG_TAIL), fact.head};
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

static void fill(const kg_adjacency *adjacency, uint64_t *next, const kg_triples *facts,
                 kg_reflexive reflexive) {
    memcpy(next, adjacency->starts, adjacency->entity_count * sizeof *next);
    for (size_t i = 0; i < facts->count; i++)
        place(adjacency, next, facts->items[i], reflexive);
    for (kg_id v = 0; v < adjacency->entity_count; v++)
        qsort(adjacency->links + adjacency->starts[v], kg__adjacency_degree(adjacency, v),
              sizeof *adjacency->links, compare_links);
}

kg_status kg__adjacency_make(kg_adjacency *out, const kg_triples *facts, size_t entity_count,
                             kg_reflexive reflexive, kg_error *error) {
    *out = (kg_adjacency){.entity_count = entity_count};
    out->starts = kg__alloc(entity_count + 1, sizeof *out->starts);
    uint64_t *next = kg__alloc(entity_count, sizeof *next);
    if (out->starts == NULL || next == NULL)
        goto failed;
    count_links(out, facts, reflexive);
    out->links = kg__resize(NULL, (size_t)out->starts[entity_count], sizeof *out->links);
    if (out->links == NULL)
        goto failed;
    fill(out, next, facts, reflexive);
    kg__free(next);
    return KG_OK;
failed:
    kg__free(next);
    kg__adjacency_free(out);
    return kg__fail_memory(error);
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
