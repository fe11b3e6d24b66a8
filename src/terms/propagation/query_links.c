/* Links with neighbours are found by node, others by entity. */
#include "terms/propagation/query_links.h"

#include "base/lower_bound.h"
#include "base/radix_sort.h"

/* Lists v's links with entities that are no neighbours, since these facts are not used. */
static bool list_apart(kg_propagation_pass *pass, kg_propagation_worker *w, const kg_link *links,
                       size_t count) {
    size_t apart_count = 0;
    for (size_t i = 0; i < count; i++)
        apart_count += w->node_of[links[i].other] == KG_NO_NODE;
    kg_link *apart = kg__arena_take(&w->scratch, 2 * apart_count, sizeof *apart);
    pass->linked.apart = kg__arena_take(pass->arena, apart_count, sizeof *pass->linked.apart);
    pass->linked.apart_relations =
        kg__arena_take(pass->arena, apart_count, sizeof *pass->linked.apart_relations);
    if (apart == NULL || pass->linked.apart == NULL || pass->linked.apart_relations == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (w->node_of[links[i].other] == KG_NO_NODE)
            apart[pass->linked.apart_count++] = links[i];
    kg__radix_sort(apart, apart + apart_count, apart_count, sizeof *apart,
                   offsetof(kg_link, other));
    for (size_t i = 0; i < apart_count; i++) {
        pass->linked.apart[i] = apart[i].other;
        pass->linked.apart_relations[i] = kg__inverse(apart[i].directed);
    }
    return true;
}

bool kg__query_links_list(kg_propagation_pass *pass, kg_propagation_worker *w) {
    kg_id entity = pass->query.entity;
    if (entity == KG_NO_ID)
        return true;
    const kg_link *links = kg__adjacency_links(pass->graph->graph, entity);
    size_t count = kg__adjacency_degree(pass->graph->graph, entity);
    pass->linked.starts = kg__arena_take_zeroed(pass->arena, pass->linked.neighbours + 2,
                                                sizeof *pass->linked.starts);
    pass->linked.relations = kg__arena_take(pass->arena, count, sizeof *pass->linked.relations);
    if (pass->linked.starts == NULL || pass->linked.relations == NULL)
        return false;
    uint32_t *next = pass->linked.starts + 1; /* becomes own_starts when all are in place */
    for (size_t i = 0; i < count; i++)
        if (w->node_of[links[i].other] != KG_NO_NODE)
            next[w->node_of[links[i].other] + 1]++;
    for (size_t i = 0; i < pass->linked.neighbours; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; i < count; i++)
        if (w->node_of[links[i].other] != KG_NO_NODE)
            pass->linked.relations[next[w->node_of[links[i].other]]++] =
                kg__inverse(links[i].directed);
    return list_apart(pass, w, links, count);
}

kg_own_facts kg__query_links_of(const kg_propagation_pass *pass, uint32_t node, kg_id entity) {
    if (pass->query.entity == KG_NO_ID)
        return (kg_own_facts){NULL, 0};
    if (node < pass->linked.neighbours)
        return (kg_own_facts){pass->linked.relations + pass->linked.starts[node],
                              pass->linked.starts[node + 1] - pass->linked.starts[node]};
    size_t from = kg__lower_bound(pass->linked.apart, pass->linked.apart_count,
                                  sizeof *pass->linked.apart, 0, entity);
    size_t to = from;
    while (to < pass->linked.apart_count && pass->linked.apart[to] == entity)
        to++;
    return (kg_own_facts){pass->linked.apart_relations + from, to - from};
}

size_t kg__query_links_other_degree(const kg_propagation_pass *pass, uint32_t node, kg_id entity) {
    return kg__adjacency_degree(pass->graph->graph, entity) -
           kg__query_links_of(pass, node, entity).count;
}
