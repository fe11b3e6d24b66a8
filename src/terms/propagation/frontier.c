/* Expansion link by link. The set of messages that reach a node grows
 * with each link that leads to it: sets are a tree, in which a message leads from a set to the set
 * with it, so that nodes that the same messages reach have the same set. */
#include "terms/propagation/frontier.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "terms/propagation/query_links.h"
#include "terms/propagation/source_selection.h"

/* ---- Nodes ---- */

static bool reserve_nodes(kg_propagation_worker *w, size_t count) {
    kg_id *entities = kg__grow(w->entities, &w->entity_capacity, count, sizeof *entities);
    if (entities == NULL)
        return false;
    w->entities = entities;
    uint32_t *sets = kg__grow(w->sets, &w->set_capacity, count, sizeof *sets);
    if (sets == NULL)
        return false;
    w->sets = sets;
    return true;
}

kg_status kg__frontier_start(kg_propagation_pass *pass, kg_propagation_worker *w, kg_error *error) {
    if (!reserve_nodes(w, 1))
        return kg__fail_memory(error);
    w->entities[0] = pass->query.entity;
    if (pass->query.entity != KG_NO_ID)
        w->node_of[pass->query.entity] = 0;
    pass->node_count = 1;
    return KG_OK;
}

void kg__frontier_finish(const kg_propagation_pass *pass, kg_propagation_worker *w) {
    for (size_t i = 0; i < pass->node_count; i++)
        if (w->entities[i] != KG_NO_ID)
            w->node_of[w->entities[i]] = KG_NO_NODE;
}

/* ---- Expansion ---- */

#define NONE UINT32_MAX

struct message_set {
    uint32_t before;  /* the set without its last message; the first is empty */
    uint32_t message; /* the last */
    uint32_t count;
    uint32_t newest; /* the message that was last added to it, */
    uint32_t next;   /* and the set with it */
    uint32_t number; /* in the layer; NONE: no row has it */
};

struct message_sets {
    struct message_set *items;
    size_t count;
};

static void add_set(struct message_sets *sets, uint32_t before, uint32_t message, uint32_t count) {
    sets->items[sets->count++] =
        (struct message_set){before, message, count, .newest = NONE, .number = NONE};
}

/* The set with one more message. Messages are added in turn, so that only the newest is looked
 * for. */
static uint32_t extend_set(struct message_sets *sets, uint32_t number, uint32_t message) {
    struct message_set *set = &sets->items[number];
    if (set->newest != message) {
        set->newest = message;
        set->next = (uint32_t)sets->count;
        add_set(sets, number, message, set->count + 1);
    }
    return set->next;
}

static void add_message(kg_propagation_layer *layer, size_t source, kg_directed directed) {
    layer->message_sources[layer->message_count] = (uint32_t)source;
    layer->message_relations[layer->message_count++] = directed;
}

/* Whether facts between two entities are left out: the same from both ends. */
static bool is_dropped(const kg_propagation_query *query, double share, kg_id a, kg_id b) {
    uint64_t low = a < b ? a : b;
    uint64_t high = a < b ? b : a;
    return kg__frontier_draw(query->random + (low << 32), (kg_id)high) < share;
}

/* Links of a source with one directed relation, which the newest message goes along, but for a
 * share that is dropped. None leads back into the queried entity. */
static void follow(kg_propagation_pass *pass, kg_propagation_worker *w, struct message_sets *sets,
                   kg_id from, const kg_link *links, size_t count, uint32_t message,
                   double dropped) {
    uint32_t *node_of = w->node_of;
    for (size_t i = 0; i < count; i++) {
        uint32_t node = node_of[links[i].other];
        if (node == 0 || (dropped > 0 && is_dropped(&pass->query, dropped, from, links[i].other)))
            continue;
        if (node == KG_NO_NODE) {
            node = (uint32_t)pass->node_count++;
            node_of[links[i].other] = node;
            w->entities[node] = links[i].other;
            w->sets[node] = 0;
        }
        w->sets[node] = extend_set(sets, w->sets[node], message);
        pass->edge_count++;
    }
}

/* Training is asked about a hub as often as it has links, and would take their square. */
#define MOST_TRAINED 4096.0

static void follow_own(kg_propagation_pass *pass, kg_propagation_layer *layer, size_t source,
                       kg_propagation_worker *w, struct message_sets *sets) {
    const kg_propagation_query *query = &pass->query;
    double dropped = query->dropped;
    if (query->is_sampled)
        dropped = fmax(dropped, 1 - MOST_TRAINED / (double)query->link_count);
    for (size_t i = 0; i < query->link_count; i++) {
        if (i == query->left_out)
            continue;
        bool is_first =
            layer->message_count == 0 ||
            layer->message_sources[layer->message_count - 1] != source ||
            layer->message_relations[layer->message_count - 1] != query->links[i].directed;
        if (is_first)
            add_message(layer, source, query->links[i].directed);
        follow(pass, w, sets, query->entity, query->links + i, 1,
               (uint32_t)layer->message_count - 1, dropped);
    }
}

static void follow_links(kg_propagation_pass *pass, kg_propagation_layer *layer, size_t source,
                         kg_propagation_worker *w, struct message_sets *sets) {
    const kg_relation_degrees *graph = pass->graph;
    kg_id entity = w->entities[layer->sources[source]];
    const kg_link *links = kg__adjacency_links(graph->graph, entity);
    kg_relation_groups groups = kg__relation_degrees_groups(graph, entity);
    for (size_t g = 0; g < groups.count; g++) {
        add_message(layer, source, groups.items[g].directed);
        follow(pass, w, sets, entity, links, groups.items[g].count,
               (uint32_t)layer->message_count - 1, pass->query.dropped);
        links += groups.items[g].count;
    }
}

static bool follow_all(kg_propagation_pass *pass, kg_propagation_layer *layer,
                       kg_propagation_worker *w, kg_expansion expansion,
                       struct message_sets *sets) {
    sets->items = kg__arena_take(&w->scratch, expansion.links + 1, sizeof *sets->items);
    layer->message_sources =
        kg__arena_take(pass->arena, expansion.messages, sizeof *layer->message_sources);
    layer->message_relations =
        kg__arena_take(pass->arena, expansion.messages, sizeof *layer->message_relations);
    if (sets->items == NULL || layer->message_sources == NULL || layer->message_relations == NULL ||
        !reserve_nodes(w, pass->node_count + expansion.links))
        return false;
    memset(w->sets, 0, pass->node_count * sizeof *w->sets);
    add_set(sets, 0, 0, 0);
    for (size_t i = 0; i < layer->source_count; i++)
        if (layer->sources[i] == 0)
            follow_own(pass, layer, i, w, sets);
        else
            follow_links(pass, layer, i, w, sets);
    return true;
}

/* ---- Rows ---- */

#define MOST_WEIGHT 63 /* in-edges beyond do not count */

static size_t weight_of(const struct message_sets *sets, uint32_t set) {
    size_t in_edges = sets->items[set].count;
    if (in_edges == 0)
        return 1;
    return in_edges < MOST_WEIGHT ? in_edges : MOST_WEIGHT;
}

/* k such that the sum of min(1, k weight) over all nodes is `sampled`. */
static double sampling_factor(const struct message_sets *sets, const uint32_t *set_of, size_t count,
                              size_t sampled) {
    size_t nodes[MOST_WEIGHT + 1] = {0};
    double weight = 0;
    for (size_t i = 1; i < count; i++) {
        size_t own = weight_of(sets, set_of[i]);
        nodes[own]++;
        weight += (double)own;
    }
    double left = (double)sampled;
    size_t highest = MOST_WEIGHT; /* above, k weight is at least 1 */
    for (; highest > 0 && left * (double)highest > weight; highest--) {
        left -= (double)nodes[highest];
        weight -= (double)(highest * nodes[highest]);
    }
    return highest == 0 ? 1 : left / weight;
}

/* splitmix64 of the query's number and the entity: one is drawn for most nodes of each query, for
 * which Philox (base/random.h) would take longer than the rest of the expansion. */
double kg__frontier_draw(uint64_t random, kg_id entity) {
    uint64_t x = random + (entity + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* The rows of the last layer: all nodes but the queried entity, or a sample of them. */
static bool choose_rows(kg_propagation_pass *pass, kg_propagation_layer *layer,
                        kg_propagation_worker *w, const struct message_sets *sets) {
    const kg_propagation_query *query = &pass->query;
    size_t count = pass->node_count;
    bool *is_wanted = kg__arena_take_zeroed(&w->scratch, count, sizeof *is_wanted);
    uint32_t *nodes = kg__arena_take(pass->arena, count, sizeof *nodes);
    pass->log_weights = kg__arena_take(pass->arena, count, sizeof *pass->log_weights);
    if (is_wanted == NULL || nodes == NULL || pass->log_weights == NULL)
        return false;
    for (size_t i = 0; i < query->wanted_count; i++)
        if (w->node_of[query->wanted[i]] != KG_NO_NODE)
            is_wanted[w->node_of[query->wanted[i]]] = true;
    double factor =
        query->is_sampled ? sampling_factor(sets, w->sets, count, pass->model->options.sampled) : 1;
    for (uint32_t i = 1; i < count; i++) {
        double p = is_wanted[i] ? 1 : factor * (double)weight_of(sets, w->sets[i]);
        if (p < 1 && kg__frontier_draw(query->random, w->entities[i]) >= p)
            continue;
        pass->log_weights[layer->row_count] = p < 1 ? (real)-log(p) : 0;
        nodes[layer->row_count++] = i;
        layer->old_count += i < layer->before;
    }
    layer->nodes = nodes;
    return true;
}

/* ---- Sets of rows ---- */

static real sum_scale(const kg_propagation_worker *w, uint32_t count) {
    return count < KG_PROPAGATION_SCALES ? w->sum_scales[count] : kg__propagation_sum_scale(count);
}

/* Numbers the sets that rows have; `numbered` becomes their places. */
static void number_sets(const kg_propagation_pass *pass, kg_propagation_layer *layer,
                        const kg_propagation_worker *w, struct message_sets *sets,
                        uint32_t *numbered) {
    numbered[0] = sets->items[0].number = 0;
    layer->set_count = 1;
    for (uint32_t row = 0; row < layer->row_count; row++) {
        uint32_t node = layer->nodes == NULL ? row : layer->nodes[row];
        struct message_set *set = &sets->items[w->sets[node]];
        if (set->number == NONE) {
            set->number = (uint32_t)layer->set_count;
            numbered[layer->set_count++] = w->sets[node];
        }
        layer->row_sets[row] = set->number;
        if (layer->shares != NULL && set->number != 0)
            layer->shares[row] =
                1 / (real)(1 + kg__query_links_other_degree(pass, node, w->entities[node]));
    }
}

/* Lists the messages of each set. */
static bool list_messages(kg_propagation_pass *pass, kg_propagation_layer *layer,
                          const kg_propagation_worker *w, const struct message_set *sets,
                          const uint32_t *numbered) {
    layer->starts = kg__arena_take(pass->arena, layer->set_count + 1, sizeof *layer->starts);
    layer->sum_scales = kg__arena_take(pass->arena, layer->set_count, sizeof *layer->sum_scales);
    if (layer->starts == NULL || layer->sum_scales == NULL)
        return false;
    layer->starts[0] = 0;
    for (size_t i = 0; i < layer->set_count; i++) {
        layer->sum_scales[i] = sum_scale(w, sets[numbered[i]].count);
        layer->starts[i + 1] = layer->starts[i] + sets[numbered[i]].count;
    }
    layer->edges =
        kg__arena_take(pass->arena, layer->starts[layer->set_count], sizeof *layer->edges);
    if (layer->edges == NULL)
        return false;
    for (size_t i = 0; i < layer->set_count; i++)
        for (uint32_t at = layer->starts[i + 1], set = numbered[i]; set != 0;
             set = sets[set].before)
            layer->edges[--at] = sets[set].message;
    return true;
}

static bool fill_sets(kg_propagation_pass *pass, kg_propagation_layer *layer,
                      kg_propagation_worker *w, struct message_sets *sets) {
    bool has_shares = (pass->model->options.pooling & KG_POOL_SHARE) != 0;
    size_t rows = layer->row_count;
    uint32_t *numbered = kg__arena_take(&w->scratch, rows + 1, sizeof *numbered);
    layer->row_sets = kg__arena_take(pass->arena, rows, sizeof *layer->row_sets);
    layer->shares =
        has_shares ? kg__arena_take_zeroed(pass->arena, rows, sizeof *layer->shares) : NULL;
    if (numbered == NULL || layer->row_sets == NULL || (has_shares && layer->shares == NULL))
        return false;
    number_sets(pass, layer, w, sets, numbered);
    return list_messages(pass, layer, w, sets->items, numbered);
}

kg_status kg__frontier_expand(kg_propagation_pass *pass, size_t number, kg_propagation_worker *w,
                              kg_error *error) {
    kg_propagation_layer *layer = &pass->layers[number];
    kg_expansion expansion;
    struct message_sets sets = {0};
    layer->before = pass->node_count;
    if (!kg__sources_select(pass, number, w, &expansion) ||
        !follow_all(pass, layer, w, expansion, &sets))
        return kg__fail_memory(error);
    if (number == 0) {
        pass->neighbours = pass->node_count;
        if (!kg__query_links_list(pass, w))
            return kg__fail_memory(error);
    }
    if (number + 1 < pass->model->options.layers) {
        layer->row_count = pass->node_count;
        layer->old_count = layer->before;
    } else if (!choose_rows(pass, layer, w, &sets)) {
        return kg__fail_memory(error);
    }
    return fill_sets(pass, layer, w, &sets) ? KG_OK : kg__fail_memory(error);
}
