/* Two passes over the links: one that counts groups, one that fills them in. */
#include "terms/propagation/relation_counts.h"

#include "base/memory.h"

static size_t count_groups(const kg_adjacency *graph, kg_id entity) {
    const kg_link *links = kg__adjacency_links(graph, entity);
    size_t degree = kg__adjacency_degree(graph, entity);
    size_t groups = 0;
    for (size_t from = 0; from < degree; from = kg__group_end(links, degree, from))
        groups++;
    return groups;
}

static void fill_groups(kg_relation_counts *c, kg_id entity) {
    const kg_link *links = kg__adjacency_links(c->graph, entity);
    size_t degree = kg__adjacency_degree(c->graph, entity);
    kg_relation_group *group = c->groups + c->starts[entity];
    for (size_t from = 0, to = 0; from < degree; from = to, group++) {
        to = kg__group_end(links, degree, from);
        *group = (kg_relation_group){links[from].directed, (uint32_t)(to - from)};
        double *classes = c->classes + group->directed * (size_t)KG_DEGREE_CLASSES;
        classes[kg__degree_class(group->count)]++;
        classes[0]--;
    }
}

kg_status kg__relation_counts_open(kg_relation_counts *out, const kg_adjacency *graph,
                                   size_t directed_count, kg_error *error) {
    size_t entities = graph->entity_count;
    *out = (kg_relation_counts){.graph = graph, .directed_count = directed_count};
    out->starts = kg__alloc(entities + 1, sizeof *out->starts);
    out->classes = kg__alloc(directed_count * KG_DEGREE_CLASSES, sizeof *out->classes);
    if (out->starts == NULL || out->classes == NULL)
        goto failed;
    for (kg_id e = 0; e < entities; e++)
        out->starts[e + 1] = out->starts[e] + count_groups(graph, e);
    out->groups = kg__resize(NULL, (size_t)out->starts[entities], sizeof *out->groups);
    if (out->groups == NULL)
        goto failed;
    for (size_t r = 0; r < directed_count; r++)
        out->classes[r * KG_DEGREE_CLASSES] = (double)entities;
    for (kg_id e = 0; e < entities; e++)
        fill_groups(out, e);
    return KG_OK;
failed:
    kg__relation_counts_close(out);
    return kg__fail_memory(error);
}

void kg__relation_counts_close(kg_relation_counts *c) {
    kg__free(c->starts);
    kg__free(c->groups);
    kg__free(c->classes);
    *c = (kg_relation_counts){0};
}

size_t kg__relation_counts_of(const kg_relation_counts *c, kg_id entity, kg_directed directed) {
    const kg_relation_group *groups = c->groups + c->starts[entity];
    size_t count = kg__relation_counts_groups(c, entity);
    for (size_t i = 0; i < count && groups[i].directed <= directed; i++)
        if (groups[i].directed == directed)
            return groups[i].count;
    return 0;
}

bool kg__relation_counts_has(const kg_relation_counts *c, kg_id entity, kg_link link) {
    size_t degree = kg__adjacency_degree(c->graph, entity);
    return kg__links_find(kg__adjacency_links(c->graph, entity), degree, link) < degree;
}
