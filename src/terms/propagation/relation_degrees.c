/* Lists of groups are interned as names are. */
#include "terms/propagation/relation_degrees.h"

#include "base/memory.h"

/* `groups` is scratch memory for as many as there are directed relations. */
static kg_status add_entity(kg_relation_degrees *c, kg_id entity, kg_relation_group *groups,
                            kg_error *error) {
    const kg_link *links = kg__adjacency_links(c->graph, entity);
    size_t degree = kg__adjacency_degree(c->graph, entity);
    size_t count = 0;
    for (size_t from = 0, to = 0; from < degree; from = to) {
        to = kg__group_end(links, degree, from);
        groups[count] = (kg_relation_group){links[from].directed, (uint32_t)(to - from)};
        double *classes = c->classes + groups[count].directed * (size_t)KG_DEGREE_CLASSES;
        classes[kg__degree_class(groups[count++].count)]++;
        classes[0]--;
    }
    return kg__names_intern(&c->lists, &c->list_of[entity],
                            kg__name_of((const char *)groups, count * sizeof *groups), error);
}

kg_status kg__relation_degrees_open(kg_relation_degrees *out, const kg_adjacency *graph,
                                    size_t directed_count, kg_error *error) {
    size_t entities = graph->entity_count;
    kg_status status = KG_OK;
    *out = (kg_relation_degrees){.graph = graph, .directed_count = directed_count};
    kg_relation_group *groups = kg__alloc(directed_count, sizeof *groups);
    out->list_of = kg__alloc(entities, sizeof *out->list_of);
    out->classes = kg__alloc(directed_count * KG_DEGREE_CLASSES, sizeof *out->classes);
    if (groups == NULL || out->list_of == NULL || out->classes == NULL)
        KG_CHECK(kg__fail_memory(error));
    for (size_t r = 0; r < directed_count; r++)
        out->classes[r * KG_DEGREE_CLASSES] = (double)entities;
    for (kg_id e = 0; e < entities; e++)
        KG_CHECK(add_entity(out, e, groups, error));
done:
    kg__free(groups);
    if (status != KG_OK)
        kg__relation_degrees_close(out);
    return status;
}

void kg__relation_degrees_close(kg_relation_degrees *c) {
    kg__free(c->list_of);
    kg__names_free(&c->lists);
    kg__free(c->classes);
    *c = (kg_relation_degrees){0};
}

size_t kg__relation_degrees_of(const kg_relation_degrees *c, kg_id entity, kg_directed directed) {
    kg_relation_groups groups = kg__relation_degrees_groups(c, entity);
    for (size_t i = 0; i < groups.count && groups.items[i].directed <= directed; i++)
        if (groups.items[i].directed == directed)
            return groups.items[i].count;
    return 0;
}

bool kg__relation_degrees_has(const kg_relation_degrees *c, kg_id entity, kg_link link) {
    size_t degree = kg__adjacency_degree(c->graph, entity);
    return kg__adjacency_find(c->graph, kg__adjacency_links(c->graph, entity), degree, link) <
           degree;
}
