/* The links that a block learns from, in two orders. Of a hub they are a sample, drawn anew for
 * each block, or what an epoch takes would grow with the square of a hub's links: every s-th of
 * them, and those that are queried. */
#include "base/random.h"
#include "terms/query_block.h"

kg_link_sample kg__link_sample(const kg_step_context *context, size_t degree,
                               const kg_train_query *query) {
    size_t every = degree <= KG_MOST_LINKS ? 1 : (degree - 1) / KG_MOST_LINKS + 1;
    uint64_t position = kg__query_position(context, query);
    return (kg_link_sample){
        (size_t)kg__random_below(every, context->seed, KG_STREAM_LINKS, position), every};
}

/* Queried facts of the entity, in the order of its links. */
static size_t list_queried(const kg_query_block *b, kg_link *out) {
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        if (kg__links_find(b->links, b->link_count, b->queries[i].target) < b->link_count)
            out[count++] = b->queries[i].target;
    return kg__links_sort(out, count);
}

/* Merges every s-th link and those that are queried. */
static size_t merge(const kg_query_block *b, kg_link *out, const kg_link *queried, size_t count) {
    kg_link_sample chosen = kg__link_sample(b->context, b->link_count, b->queries);
    size_t next = chosen.first;
    size_t merged = 0;
    for (size_t i = 0; i < count || next < b->link_count;) {
        int order = i == count              ? 1
                    : next >= b->link_count ? -1
                                            : kg__links_compare(queried[i], b->links[next]);
        out[merged++] = order <= 0 ? queried[i] : b->links[next];
        i += order <= 0;
        next += order >= 0 ? chosen.every : 0;
    }
    return merged;
}

static bool sample(kg_query_block *b) {
    kg_link *queried = kg__arena_take(&b->worker->scratch, b->count, sizeof *queried);
    kg_link *sampled = kg__arena_take(b->arena, KG_MOST_LINKS + b->count, sizeof *sampled);
    if (queried == NULL || sampled == NULL)
        return false;
    size_t count = list_queried(b, queried);
    b->link_count = merge(b, sampled, queried, count);
    b->links = sampled;
    return true;
}

static bool sort_by_other(kg_query_block *b) {
    kg_link *sorted = kg__arena_take(b->arena, b->link_count, sizeof *sorted);
    kg_link *spare = kg__arena_take(&b->worker->scratch, b->link_count, sizeof *spare);
    if (sorted == NULL || spare == NULL)
        return false;
    kg__links_by_other(sorted, spare, b->links, b->link_count);
    b->by_other = sorted;
    return true;
}

bool kg__block_links_find(kg_query_block *b) {
    const kg_adjacency *graph = b->context->graph;
    b->links = kg__adjacency_links(graph, b->range.entity);
    b->link_count = kg__adjacency_degree(graph, b->range.entity);
    kg__arena_reset(&b->worker->scratch);
    return (b->link_count <= KG_MOST_LINKS || sample(b)) &&
           (!b->context->has_links_by_other || sort_by_other(b));
}
