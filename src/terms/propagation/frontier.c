/* Expansion link by link. The set of messages that reach a node grows
 * with each link that leads to it: sets are a tree, in which a message leads from a set to the set
 * with it, so that nodes that the same messages reach have the same set. */
#include "terms/propagation/frontier.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/lanes.h"
#include "terms/propagation/kept_layers.h"
#include "terms/propagation/query_links.h"
#include "terms/propagation/source_selection.h"

/* splitmix64 of the query's number and the entity: one is drawn for most nodes of each query, for
 * which Philox (base/random.h) would take longer than the rest of the expansion. */
double kg__frontier_draw(uint64_t random, kg_id entity) {
    uint64_t x = random + (entity + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* ---- Links of the queried entity ---- */

/* About so many links of an entity are followed in training: of the queried one, since it is asked
 * about as often as it has links, and of another, since all that it is linked to reach it. Of a hub
 * of n links queries would take n^2 otherwise. */
#define MOST_OWN_TRAINED 4096.0
#define MOST_TRAINED 8192.0

/* The share of an entity's `degree` links that a query goes without. */
static double dropped_share(const kg_propagation_query *query, size_t degree, double most) {
    bool is_hub = query->is_sampled && (double)degree > most;
    return is_hub ? fmax(query->dropped, 1 - most / (double)degree) : query->dropped;
}

/* Whether facts between two entities are left out: the same from both ends. */
static bool is_dropped(const kg_propagation_query *query, double share, kg_id a, kg_id b) {
    uint64_t low = a < b ? a : b;
    uint64_t high = a < b ? b : a;
    return kg__frontier_draw(query->random + (low << 32), (kg_id)high) < share;
}

/* Those that are followed: all but one, or a sample. */
static bool choose_own_links(kg_propagation_pass *pass) {
    const kg_propagation_query *query = &pass->query;
    double share = dropped_share(query, query->link_count, MOST_OWN_TRAINED);
    pass->own_links = query->links;
    pass->own_count = query->link_count;
    if (share <= 0 && query->left_out >= query->link_count)
        return true;
    kg_link *links = kg__arena_take(pass->arena, query->link_count, sizeof *links);
    if (links == NULL)
        return false;
    pass->own_links = links;
    pass->own_count = 0;
    for (size_t i = 0; i < query->link_count; i++)
        if (i != query->left_out &&
            (share <= 0 || !is_dropped(query, share, query->entity, query->links[i].other)))
            links[pass->own_count++] = query->links[i];
    return true;
}

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
    if (!reserve_nodes(w, 1) || !kg__kept_layers_start(w, &pass->query) || !choose_own_links(pass))
        return kg__fail_memory(error);
    w->entities[0] = pass->query.entity;
    if (pass->query.entity != KG_NO_ID)
        w->node_of[pass->query.entity] = 0;
    pass->node_count = 1;
    return KG_OK;
}

void kg__frontier_finish(const kg_propagation_pass *pass, kg_propagation_worker *w) {
    for (size_t i = w->kept.node_count; i < pass->node_count; i++)
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

/* The empty set is the first. */
static void open_sets(struct message_sets *sets) {
    sets->items[0] = (struct message_set){.newest = NONE, .number = NONE};
    sets->count = 1;
}

/* The set with one more message. Messages are added in turn, so that only the newest is looked for.
 * What may become a set is filled in in any case: whether it does cannot be predicted, and a branch
 * would take longer. */
KG_INLINED uint32_t extend_set(struct message_sets *sets, uint32_t number, uint32_t message) {
    struct message_set *set = &sets->items[number];
    bool is_there = set->newest == message;
    uint32_t next = is_there ? set->next : (uint32_t)sets->count;
    sets->items[sets->count] =
        (struct message_set){number, message, set->count + 1, .newest = NONE, .number = NONE};
    set->newest = message;
    set->next = next;
    sets->count += !is_there;
    return next;
}

/* A link that a message goes along. All of a layer are listed first, and what follows are plain
 * loops over the list, since sources have few links each: where the next source is to be waited for
 * at each turn, most of the time is spent on that. */
struct edge {
    kg_id other;
    uint32_t message;
};

struct edges {
    struct edge *items;
    size_t count;
};

/* Lists the links of a source. All that have the same directed relation share a message. */
static void list_links(struct edges *edges, const kg_propagation_pass *pass,
                       kg_propagation_layer *layer, uint32_t source, kg_id entity,
                       kg_source_links links) {
    struct edge *items = edges->items;
    size_t edge_count = edges->count;
    size_t messages = layer->message_count;
    uint32_t relation = NONE;
    double dropped = layer->sources[source] == 0 /* whose links are chosen already */
                         ? 0
                         : dropped_share(&pass->query, links.count, MOST_TRAINED);
    for (size_t i = 0; i < links.count; i++) {
        kg_link link = links.items[i];
        messages += link.directed != relation;
        relation = link.directed;
        layer->message_sources[messages - 1] = source;
        layer->message_relations[messages - 1] = relation;
        items[edge_count] = (struct edge){link.other, (uint32_t)messages - 1};
        edge_count += dropped <= 0 || !is_dropped(&pass->query, dropped, entity, link.other);
    }
    layer->message_count = messages;
    edges->count = edge_count;
}

#define SOURCES_AHEAD 6

/* Prefetches the links of a source, most of which have no more than two cache lines hold. */
KG_INLINED void fetch_links(kg_source_links links) {
    __builtin_prefetch(links.items);
    __builtin_prefetch(links.items + links.count);
}

static void list_edges(struct edges *edges, const kg_propagation_pass *pass,
                       kg_propagation_layer *layer, const kg_source_links *links,
                       const kg_propagation_worker *w) {
    for (uint32_t i = 0; i < layer->source_count; i++) {
        if (i + SOURCES_AHEAD < layer->source_count)
            fetch_links(links[i + SOURCES_AHEAD]);
        list_links(edges, pass, layer, i, w->entities[layer->sources[i]], links[i]);
    }
}

#define AHEAD 16 /* edges whose nodes are prefetched */

/* Finds the nodes that edges lead to, or makes them, and adds messages to their sets. What is done
 * for a new node is done for any, as with sets. No edge leads back into the queried entity. */
static void follow(kg_propagation_pass *pass, kg_propagation_worker *w, struct edges edges,
                   struct message_sets *to) {
    struct message_sets sets = *to;
    uint32_t *node_of = w->node_of;
    kg_id *entities = w->entities;
    uint32_t *set_of = w->sets;
    size_t nodes = pass->node_count;
    size_t back = 0;
    for (size_t i = 0; i < edges.count; i++) {
        struct edge edge = edges.items[i];
        __builtin_prefetch(&node_of[edges.items[i + AHEAD].other], 1);
        uint32_t node = node_of[edge.other];
        bool is_new = node == KG_NO_NODE;
        node = is_new ? (uint32_t)nodes : node;
        nodes += is_new;
        back += node == 0;
        node_of[edge.other] = node;
        entities[node] = edge.other;
        set_of[node] = extend_set(&sets, set_of[node], edge.message);
    }
    set_of[0] = 0;
    pass->node_count = nodes;
    pass->edge_count += edges.count - back;
    *to = sets;
}

static bool follow_all(kg_propagation_pass *pass, kg_propagation_layer *layer,
                       kg_propagation_worker *w, kg_expansion expansion,
                       struct message_sets *sets) {
    size_t links = expansion.links;
    struct edges edges = {kg__arena_take(&w->scratch, links + AHEAD, sizeof *edges.items), 0};
    sets->items = kg__arena_take(&w->scratch, links + 2, sizeof *sets->items);
    layer->message_sources = kg__arena_take(pass->arena, links, sizeof *layer->message_sources);
    layer->message_relations = kg__arena_take(pass->arena, links, sizeof *layer->message_relations);
    if (edges.items == NULL || sets->items == NULL || layer->message_sources == NULL ||
        layer->message_relations == NULL || !reserve_nodes(w, pass->node_count + links))
        return false;
    memset(w->sets, 0, (pass->node_count + links) * sizeof *w->sets);
    open_sets(sets);
    list_edges(&edges, pass, layer, expansion.sources, w);
    memset(edges.items + edges.count, 0, AHEAD * sizeof *edges.items); /* they are only fetched */
    follow(pass, w, edges, sets);
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

/* How nodes are sampled, by weight. */
struct sampling {
    uint8_t *weights;                /* of each node */
    double chances[MOST_WEIGHT + 1]; /* above 1 for certain */
    real log_weights[MOST_WEIGHT + 1];
};

/* k such that the sum of min(1, k weight) over all nodes is `sampled`. */
static double sampling_factor(const size_t *nodes, double weight, size_t sampled) {
    double left = (double)sampled;
    size_t highest = MOST_WEIGHT; /* above, k weight is at least 1 */
    for (; highest > 0 && left * (double)highest > weight; highest--) {
        left -= (double)nodes[highest];
        weight -= (double)(highest * nodes[highest]);
    }
    return highest == 0 ? 1 : left / weight;
}

/* All nodes but the first are sampled. */
static void fill_sampling(struct sampling *out, const struct message_sets *sets,
                          const uint32_t *set_of, size_t count, size_t sampled) {
    size_t nodes[MOST_WEIGHT + 1] = {0};
    double weight = 0;
    for (size_t i = 1; i < count; i++) {
        size_t own = weight_of(sets, set_of[i]);
        out->weights[i] = (uint8_t)own;
        nodes[own]++;
        weight += (double)own;
    }
    double factor = sampling_factor(nodes, weight, sampled);
    for (size_t i = 1; i <= MOST_WEIGHT; i++) {
        out->chances[i] = factor * (double)i;
        if (nodes[i] > 0)
            out->log_weights[i] = out->chances[i] < 1 ? (real)-log(out->chances[i]) : 0;
    }
}

/* The rows of the last layer, sampled. What becomes of a node that is not drawn is overwritten by
 * the next: which are cannot be predicted. */
static void sample_rows(kg_propagation_pass *pass, kg_propagation_layer *layer, uint32_t *nodes,
                        const struct sampling *sampling, const bool *is_wanted,
                        const kg_id *entities) {
    size_t rows = 0;
    for (uint32_t i = 1; i < pass->node_count; i++) {
        size_t weight = sampling->weights[i];
        bool is_drawn =
            (kg__frontier_draw(pass->query.random, entities[i]) < sampling->chances[weight]) |
            is_wanted[i];
        nodes[rows] = i;
        pass->log_weights[rows] = is_wanted[i] ? 0 : sampling->log_weights[weight];
        rows += is_drawn;
        layer->old_count += is_drawn & (i < layer->before);
    }
    layer->row_count = rows;
}

/* All nodes but the queried entity. */
static void take_rows(kg_propagation_pass *pass, kg_propagation_layer *layer, uint32_t *nodes) {
    layer->row_count = pass->node_count - 1;
    layer->old_count = layer->before - 1;
    memset(pass->log_weights, 0, layer->row_count * sizeof *pass->log_weights);
    for (uint32_t i = 0; i < layer->row_count; i++)
        nodes[i] = i + 1;
}

static bool choose_rows(kg_propagation_pass *pass, kg_propagation_layer *layer,
                        kg_propagation_worker *w, const struct message_sets *sets) {
    const kg_propagation_query *query = &pass->query;
    size_t count = pass->node_count;
    struct sampling sampling = {.weights =
                                    kg__arena_take(&w->scratch, count, sizeof *sampling.weights)};
    bool *is_wanted = kg__arena_take_zeroed(&w->scratch, count, sizeof *is_wanted);
    uint32_t *nodes = kg__arena_take(pass->arena, count, sizeof *nodes);
    pass->log_weights = kg__arena_take(pass->arena, count, sizeof *pass->log_weights);
    if (sampling.weights == NULL || is_wanted == NULL || nodes == NULL || pass->log_weights == NULL)
        return false;
    layer->nodes = nodes;
    if (!query->is_sampled) {
        take_rows(pass, layer, nodes);
        return true;
    }
    for (size_t i = 0; i < query->wanted_count; i++)
        if (w->node_of[query->wanted[i]] != KG_NO_NODE)
            is_wanted[w->node_of[query->wanted[i]]] = true;
    fill_sampling(&sampling, sets, w->sets, count, pass->model->options.sampled);
    sample_rows(pass, layer, nodes, &sampling, is_wanted, w->entities);
    return true;
}

/* ---- Sets of rows ---- */

static real sum_scale(const kg_propagation_worker *w, uint32_t count) {
    return count < KG_PROPAGATION_SCALES ? w->sum_scales[count] : kg__propagation_sum_scale(count);
}

/* Numbers the sets that rows have; `numbered` becomes their places. As above, what is done for the
 * first row of a set is done for any. */
static void number_sets(kg_propagation_layer *layer, const kg_propagation_worker *w,
                        struct message_sets *sets, uint32_t *numbered) {
    uint32_t count = 1;
    numbered[0] = sets->items[0].number = 0;
    for (uint32_t row = 0; row < layer->row_count; row++) {
        uint32_t place = w->sets[layer->nodes == NULL ? row : layer->nodes[row]];
        uint32_t number = sets->items[place].number;
        bool is_first = number == NONE;
        number = is_first ? count : number;
        numbered[count] = place;
        count += is_first;
        sets->items[place].number = layer->row_sets[row] = number;
    }
    layer->set_count = count;
}

static void fill_shares(const kg_propagation_pass *pass, kg_propagation_layer *layer,
                        const kg_propagation_worker *w) {
    for (uint32_t row = 0; row < layer->row_count; row++) {
        uint32_t node = layer->nodes == NULL ? row : layer->nodes[row];
        size_t degree = layer->row_sets[row] == 0
                            ? 0
                            : kg__query_links_other_degree(pass, node, w->entities[node]);
        layer->shares[row] = layer->row_sets[row] == 0 ? 0 : 1 / (real)(1 + degree);
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
    uint32_t *numbered = kg__arena_take(&w->scratch, rows + 2, sizeof *numbered);
    layer->row_sets = kg__arena_take(pass->arena, rows, sizeof *layer->row_sets);
    layer->shares = has_shares ? kg__arena_take(pass->arena, rows, sizeof *layer->shares) : NULL;
    if (numbered == NULL || layer->row_sets == NULL || (has_shares && layer->shares == NULL))
        return false;
    number_sets(layer, w, sets, numbered);
    if (has_shares)
        fill_shares(pass, layer, w);
    return list_messages(pass, layer, w, sets->items, numbered);
}

/* What a layer reaches, once its sources are selected. */
static bool expand(kg_propagation_pass *pass, size_t number, kg_propagation_worker *w,
                   kg_expansion expansion) {
    kg_propagation_layer *layer = &pass->layers[number];
    struct message_sets sets = {0};
    if (!follow_all(pass, layer, w, expansion, &sets))
        return false;
    if (number == 0) {
        pass->linked.neighbours = pass->node_count;
        if (!kg__query_links_list(pass, w))
            return false;
    }
    if (number + 1 < pass->model->options.layers) {
        layer->row_count = pass->node_count;
        layer->old_count = layer->before;
    } else if (!choose_rows(pass, layer, w, &sets)) {
        return false;
    }
    return fill_sets(pass, layer, w, &sets);
}

/* The same, in memory that is kept. */
static bool expand_kept(kg_propagation_pass *pass, size_t number, kg_propagation_worker *w,
                        kg_expansion expansion) {
    kg_arena *arena = pass->arena;
    pass->arena = &w->kept.arena;
    bool good = expand(pass, number, w, expansion);
    pass->arena = arena;
    if (good)
        kg__kept_layers_add(w, pass, number);
    return good;
}

kg_status kg__frontier_expand(kg_propagation_pass *pass, size_t number, kg_propagation_worker *w,
                              kg_error *error) {
    kg_expansion expansion;
    pass->layers[number].before = pass->node_count;
    if (!kg__sources_select(pass, number, w, &expansion))
        return kg__fail_memory(error);
    if (kg__kept_layers_take(pass, w, number))
        return KG_OK;
    bool good = kg__kept_layers_can_add(w, pass, number) ? expand_kept(pass, number, w, expansion)
                                                         : expand(pass, number, w, expansion);
    return good ? KG_OK : kg__fail_memory(error);
}
