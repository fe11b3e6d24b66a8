/* One loaded entity at a time, in an arena of its own. */
#include "aggregate/embedder.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void kg__embedder_open(kg_embedder *e, kg_aggregate_options options, kg_params params) {
    *e = (kg_embedder){.options = options, .params = params, .query = KG_NO_QUERY};
    e->options.is_exact = true;
}

void kg__embedder_close(kg_embedder *e) {
    kg__arena_free(&e->arena);
}

kg_status kg__embedder_load(kg_embedder *e, const kg_link *links, size_t count, kg_error *error) {
    kg_aggregate_use use = {
        .links = links, .count = count, .queries = &e->query, .query_count = 1, .most_left_out = 1};
    e->links = links;
    e->count = count;
    e->left_out = KG_NOTHING;
    kg__arena_reset(&e->arena);
    return kg__aggregate_load(&e->aggregate, &e->options, &e->params, &e->arena, &use, error);
}

/* Loads entities that take as much memory as any with up to so many links: of many relations, and
 * as many as are still solved afresh for each use. */
kg_status kg__embedder_reserve(kg_embedder *e, size_t count, size_t relation_count,
                               kg_error *error) {
    size_t few = count < KG_RIDGE_FEW ? count : KG_RIDGE_FEW;
    kg_link *links = kg__alloc(count, sizeof *links);
    if (links == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        links[i].directed = (kg_directed)(i % (2 * relation_count));
    kg_status status = kg__embedder_load(e, links, count, error);
    if (status == KG_OK)
        status = kg__embedder_load(e, links, few, error);
    kg__free(links);
    KG_TRY(status);
    return kg__embedder_load(e, NULL, 0, error);
}

void kg__embedder_set_query(kg_embedder *e, kg_directed query) {
    e->query = query;
    kg__aggregate_renew_query(&e->aggregate);
}

void kg__embedder_embed(kg_embedder *e, real *z, size_t left_out) {
    e->left_out = left_out;
    kg__aggregate_forward(&e->aggregate, z,
                          (kg_left_out){&e->left_out, left_out == KG_NOTHING ? 0 : 1});
}

double kg__embedder_part(kg_embedder *e, size_t i, const real *vector) {
    return i == e->left_out ? 0 : e->options.aggregator->part(&e->aggregate, i, vector);
}

double kg__embedder_weight(const kg_embedder *e, size_t i) {
    return i == e->left_out ? 0 : e->options.aggregator->weight(&e->aggregate, i);
}
