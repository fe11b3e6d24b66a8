/* Best-first search from the candidate back to the queried entity. An end of a path, whatever it
 * begins with, has the share of all paths that end so, which is what its beginnings divide among
 * them: so ends are extended by the largest share, until none is left that has more than the last
 * path that is wanted. */
#include "terms/propagation/propagation_paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define NONE UINT32_MAX
#define STATES (KG_PROPAGATION_MOST_LAYERS + 1)

/* Edges that are looked at, which takes about a second. */
#define MOST_EDGES ((size_t)1 << 23)

/* The links of a path from some node to the candidate. */
struct end {
    double share;
    double at[STATES]; /* of that: where the node's vector is the one after so many layers */
    uint32_t node;
    uint32_t next; /* the same without the first link; NONE: there is none */
    kg_link link;  /* the first */
};

/* A link that leads to the node of an end, at one layer. */
struct way {
    double share;
    uint32_t state;
    uint32_t node;
    kg_directed directed;
};

struct search {
    const kg_propagation_pass *pass;
    size_t place;
    kg_path *found;
    size_t count;
    size_t most;
    double least;
    struct end *ends;
    size_t end_count;
    size_t end_capacity;
    uint32_t *heap; /* ends that are not extended yet, the largest share first */
    size_t heap_count;
    size_t heap_capacity;
    struct way *ways; /* into the node of one end */
    size_t way_count;
    size_t way_capacity;
    size_t edge_count; /* that were looked at, so far */
    double *portions;  /* of the messages of a row */
    size_t portion_capacity;
};

/* ---- Shares of a row ---- */

static double size_of(const real *vector, const real *subtracted, size_t width) {
    double sum = 0;
    for (size_t k = 0; k < width; k++)
        sum += fabs((double)vector[k] - (subtracted == NULL ? 0 : (double)subtracted[k]));
    return sum;
}

/* Messages that reach a row. */
struct reaching {
    const uint32_t *items;
    size_t count;
};

static struct reaching reaching_row(const kg_propagation_layer *layer, size_t row) {
    uint32_t set = layer->row_sets[row];
    return (struct reaching){layer->edges + layer->starts[set],
                             layer->starts[set + 1] - layer->starts[set]};
}

static double stay_of(const kg_propagation_layer *layer, size_t row, size_t node, size_t width) {
    if (reaching_row(layer, row).count == 0)
        return 1;
    if (row >= layer->old_count)
        return 0;
    const real *before = layer->input + node * width;
    double old = size_of(before, NULL, width);
    double added = size_of(layer->output + row * width, before, width);
    return added > 0 ? old / (old + added) : 1;
}

/* What one number of the messages is, pooled. */
struct number {
    double sum;
    double sizes;
    double squares;
    size_t most; /* which message is the largest, */
    size_t least;
};

static struct number pool_number(const real *messages, const uint32_t *edges, size_t count,
                                 size_t width, size_t k) {
    struct number out = {0};
    for (size_t i = 0; i < count; i++) {
        real value = messages[edges[i] * width + k];
        out.sum += (double)value;
        out.sizes += fabs((double)value);
        out.squares += (double)value * (double)value;
        out.most = value > messages[edges[out.most] * width + k] ? i : out.most;
        out.least = value < messages[edges[out.least] * width + k] ? i : out.least;
    }
    return out;
}

/* How large what all messages contribute to is, in the ways that are on. */
static double common_size(const struct number *number, const kg_propagation_layer *layer,
                          size_t row, unsigned pooling) {
    double count = (double)reaching_row(layer, row).count;
    double mean = number->sum / count;
    double size = 0;
    if ((pooling & KG_POOL_SUM) != 0)
        size += fabs((double)layer->sum_scales[layer->row_sets[row]] * number->sum);
    if ((pooling & KG_POOL_SHARE) != 0)
        size += fabs((double)layer->shares[row] * number->sum);
    if ((pooling & KG_POOL_SPREAD) != 0)
        size += sqrt(fmax(0, number->squares / count - mean * mean));
    return size;
}

/* Portions of the messages that reach a row: they sum to 1. */
static void divide(double *out, const kg_propagation_layer *layer, size_t row, unsigned pooling,
                   size_t width) {
    const uint32_t *edges = reaching_row(layer, row).items;
    size_t count = reaching_row(layer, row).count;
    double all = 0;
    memset(out, 0, count * sizeof *out);
    for (size_t k = 0; k < width; k++) {
        struct number number = pool_number(layer->messages, edges, count, width, k);
        double most = fabs((double)layer->messages[edges[number.most] * width + k]);
        double least = fabs((double)layer->messages[edges[number.least] * width + k]);
        double common = common_size(&number, layer, row, pooling);
        out[number.most] += (pooling & KG_POOL_MAX) != 0 ? most : 0;
        out[number.least] += (pooling & KG_POOL_MIN) != 0 ? least : 0;
        for (size_t i = 0; i < count && number.sizes > 0; i++)
            out[i] += common * (fabs((double)layer->messages[edges[i] * width + k]) / number.sizes);
    }
    for (size_t i = 0; i < count; i++)
        all += out[i];
    for (size_t i = 0; i < count; i++)
        out[i] = all > 0 ? out[i] / all : 1 / (double)count;
}

/* ---- Paths that are found ---- */

static int compare_paths(const kg_adjacency *graph, const kg_path *a, const kg_path *b) {
    if (a->share != b->share)
        return a->share > b->share ? -1 : 1;
    if (a->steps != b->steps)
        return a->steps < b->steps ? -1 : 1;
    for (size_t i = 0; i < a->steps; i++) {
        if (a->links[i].directed != b->links[i].directed)
            return a->links[i].directed < b->links[i].directed ? -1 : 1;
        if (a->links[i].other != b->links[i].other)
            return kg__adjacency_before(graph, a->links[i].other, b->links[i].other) ? -1 : 1;
    }
    return 0;
}

/* Whether a share is too small to matter. */
static bool is_too_small(const struct search *s, double share) {
    return share < s->least || (s->count == s->most && share < s->found[s->most - 1].share);
}

/* A path is an end that begins at the queried entity. */
static void add_path(struct search *s, const struct end *end) {
    const kg_adjacency *graph = s->pass->graph->graph;
    kg_path path = {.share = end->share};
    for (; end->next != NONE; end = &s->ends[end->next])
        path.links[path.steps++] = end->link;
    if (s->count == s->most && compare_paths(graph, &path, &s->found[s->most - 1]) > 0)
        return;
    size_t place = s->count < s->most ? s->count++ : s->most - 1;
    for (; place > 0 && compare_paths(graph, &path, &s->found[place - 1]) < 0; place--)
        s->found[place] = s->found[place - 1];
    s->found[place] = path;
}

/* ---- The heap ---- */

static bool push(struct search *s, const struct end *end) {
    struct end *ends = kg__grow(s->ends, &s->end_capacity, s->end_count + 1, sizeof *ends);
    if (ends == NULL)
        return false;
    s->ends = ends;
    uint32_t *heap = kg__grow(s->heap, &s->heap_capacity, s->heap_count + 1, sizeof *heap);
    if (heap == NULL)
        return false;
    s->heap = heap;
    size_t at = s->heap_count++;
    for (; at > 0 && ends[heap[(at - 1) / 2]].share < end->share; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = (uint32_t)s->end_count;
    ends[s->end_count++] = *end;
    return true;
}

static uint32_t pop(struct search *s) {
    uint32_t top = s->heap[0];
    uint32_t last = s->heap[--s->heap_count];
    size_t at = 0;
    for (size_t below = 1; below < s->heap_count; below = 2 * at + 1) {
        if (below + 1 < s->heap_count &&
            s->ends[s->heap[below + 1]].share > s->ends[s->heap[below]].share)
            below++;
        if (s->ends[s->heap[below]].share <= s->ends[last].share)
            break;
        s->heap[at] = s->heap[below];
        at = below;
    }
    s->heap[at] = last;
    return top;
}

/* ---- Extending ends ---- */

/* Links that lead to a row of a layer, `share` being divided among them. */
static bool add_ways(struct search *s, size_t number, size_t row, double share) {
    const kg_propagation_layer *layer = &s->pass->layers[number];
    const kg_propagation_options *o = &s->pass->model->options;
    struct reaching reaching = reaching_row(layer, row);
    size_t count = reaching.count;
    double *portions = kg__grow(s->portions, &s->portion_capacity, count, sizeof *portions);
    if (portions == NULL)
        return false;
    s->portions = portions;
    struct way *ways = kg__grow(s->ways, &s->way_capacity, s->way_count + count, sizeof *ways);
    if (ways == NULL)
        return false;
    s->ways = ways;
    s->edge_count += count;
    divide(portions, layer, row, o->pooling, o->width);
    for (size_t i = 0; i < count; i++) {
        uint32_t message = reaching.items[i];
        ways[s->way_count++] = (struct way){share * portions[i], (uint32_t)number,
                                            layer->sources[layer->message_sources[message]],
                                            layer->message_relations[message]};
    }
    return true;
}

/* By link, then by state. */
static int compare_ways(const void *a, const void *b) {
    const struct way *x = a;
    const struct way *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->directed != y->directed)
        return x->directed < y->directed ? -1 : 1;
    return x->state < y->state ? -1 : x->state > y->state;
}

/* All ways into the node of an end. Only the candidate's vector of the last layer is looked at, so
 * that below it rows are nodes. */
static bool find_ways(struct search *s, const struct end *end) {
    size_t last = s->pass->model->options.layers;
    double here = 0;
    s->way_count = 0;
    for (size_t state = last; state > 0; state--) {
        size_t row = state == last ? s->place : end->node;
        here += end->at[state];
        if (here == 0)
            continue;
        double stay =
            stay_of(&s->pass->layers[state - 1], row, end->node, s->pass->model->options.width);
        if (stay < 1 && !add_ways(s, state - 1, row, here * (1 - stay)))
            return false;
        here *= stay;
    }
    qsort(s->ways, s->way_count, sizeof *s->ways, compare_ways);
    return true;
}

/* An end becomes as many as links lead to its node. */
static bool extend(struct search *s, uint32_t number) {
    struct end end = s->ends[number];
    if (!find_ways(s, &end))
        return false;
    for (size_t i = 0; i < s->way_count;) {
        const struct way *way = &s->ways[i];
        struct end longer = {.node = way->node, .next = number};
        longer.link = (kg_link){way->directed, s->pass->nodes[end.node]};
        for (; i < s->way_count && s->ways[i].node == way->node &&
               s->ways[i].directed == way->directed;
             i++) {
            longer.share += s->ways[i].share;
            longer.at[s->ways[i].state] += s->ways[i].share;
        }
        if (is_too_small(s, longer.share))
            continue;
        if (longer.node == 0)
            add_path(s, &longer);
        else if (!push(s, &longer))
            return false;
    }
    return true;
}

static bool search(struct search *s) {
    size_t last = s->pass->model->options.layers;
    struct end candidate = {.share = 1, .next = NONE};
    candidate.at[last] = 1;
    candidate.node = s->pass->layers[last - 1].nodes[s->place];
    if (!push(s, &candidate))
        return false;
    while (s->heap_count > 0 && s->edge_count < MOST_EDGES &&
           !is_too_small(s, s->ends[s->heap[0]].share))
        if (!extend(s, pop(s)))
            return false;
    return true;
}

kg_status kg__paths_find(kg_path *out, size_t *count, const kg_propagation_pass *pass, size_t place,
                         size_t most, double least, kg_error *error) {
    struct search s = {.pass = pass, .place = place, .found = out, .most = most, .least = least};
    bool good = most == 0 || search(&s);
    kg__free(s.ends);
    kg__free(s.heap);
    kg__free(s.ways);
    kg__free(s.portions);
    *count = s.count;
    return good ? KG_OK : kg__fail_memory(error);
}
