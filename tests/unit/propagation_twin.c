#include "propagation_twin.h"

#include <math.h>
#include <string.h>

#define MOST_INPUTS (6 * WIDTH)
#define SMALL 1e-5

double value(const twin *t, kg_propagation_tensor tensor, size_t row, size_t column) {
    return t->w->precise[tensor][row * t->w->shapes[tensor].columns + column];
}

/* The links of an entity, without those that are left out: of `QUERIED` its own. */
static size_t links_of(const twin *t, size_t entity, kg_link *out) {
    size_t count = 0;
    bool is_queried = entity == QUERIED;
    const kg_link *links =
        is_queried ? t->query->links : kg__adjacency_links(&t->w->graph, (kg_id)entity);
    size_t all =
        is_queried ? t->query->link_count : kg__adjacency_degree(&t->w->graph, (kg_id)entity);
    for (size_t i = 0; i < all; i++)
        if (links[i].other != t->query->entity && !(is_queried && i == t->query->left_out))
            out[count++] = links[i];
    return count;
}

static double weight_of(const twin *t, size_t layer, kg_directed r, size_t k) {
    size_t rank = t->w->model.options.rank;
    size_t q = t->query->queried;
    double out = value(t, KG_PROPAGATION_RELATIONS, layer * DIRECTED + r, k);
    if (rank == 0)
        return out + value(t, KG_PROPAGATION_PAIRS, layer * DIRECTED + q, r * WIDTH + k);
    for (size_t j = 0; j < rank; j++)
        out += value(t, KG_PROPAGATION_MIX, q, j) *
               value(t, KG_PROPAGATION_FACTORS, layer * DIRECTED + r, j * WIDTH + k);
    return out;
}

static double logit_of(const twin *t, size_t layer, size_t node) {
    double out = value(t, KG_PROPAGATION_GATE_BIAS, layer * DIRECTED + t->query->queried, 0);
    for (size_t k = 0; k < WIDTH; k++)
        out += value(t, KG_PROPAGATION_GATE, layer, k) * t->vectors[node][k];
    return out;
}

/* The best nodes, one after the other; those with too many links for what is left are skipped. */
static void choose_sources(const twin *t, size_t layer, bool *is_source) {
    const kg_propagation_options *o = &t->w->model.options;
    kg_link links[200];
    bool is_done[ENTITIES + 1] = {0};
    size_t left = o->edges;
    size_t most = o->sources;
    size_t used = t->query->link_count - (t->query->left_out < t->query->link_count);
    while (most < used && most < KG_PROPAGATION_HUB_SOURCES * o->sources)
        most++;
    for (size_t taken = 0; taken < most; taken++) {
        size_t best = SIZE_MAX;
        for (size_t e = 0; e <= ENTITIES; e++)
            if (t->is_reached[e] && !is_done[e] &&
                (best == SIZE_MAX || logit_of(t, layer, e) > logit_of(t, layer, best)))
                best = e;
        if (best == SIZE_MAX)
            return;
        is_done[best] = true;
        size_t degree = best == QUERIED ? 0 : links_of(t, best, links);
        is_source[best] = degree <= left;
        left -= degree <= left ? degree : 0;
    }
}

/* All messages to an entity: count x WIDTH. */
static size_t messages_to(const twin *t, size_t layer, const bool *is_source, size_t entity,
                          double (*out)[WIDTH]) {
    kg_link links[200];
    size_t count = 0;
    for (size_t s = 0; s <= ENTITIES; s++) {
        size_t link_count = is_source[s] ? links_of(t, s, links) : 0;
        for (size_t i = 0; i < link_count; i++) {
            if (links[i].other != entity)
                continue;
            for (size_t k = 0; k < WIDTH; k++)
                out[count][k] = t->vectors[s][k] / (1 + exp(-logit_of(t, layer, s))) *
                                weight_of(t, layer, links[i].directed, k);
            count++;
        }
    }
    return count;
}

/* One number of what is pooled. */
static double pool_number(const twin *t, size_t entity, unsigned way, double (*messages)[WIDTH],
                          size_t count, size_t k) {
    kg_link links[200];
    double n = (double)count;
    double sum = 0;
    double squares = 0;
    double most = -INFINITY;
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        sum += messages[i][k];
        most = fmax(most, messages[i][k]);
        least = fmin(least, messages[i][k]);
    }
    for (size_t i = 0; i < count; i++)
        squares += (messages[i][k] - sum / n) * (messages[i][k] - sum / n);
    switch (way) {
    case KG_POOL_SUM:
        return sum * log(1 + n) / n;
    case KG_POOL_MAX:
        return most;
    case KG_POOL_SHARE:
        return sum / (1 + (double)links_of(t, entity, links));
    case KG_POOL_MIN:
        return least;
    default:
        return sqrt(squares / n + SMALL);
    }
}

/* One number of an entity's profile. */
static double profile_number(const twin *t, kg_propagation_tensor tensor, size_t entity, size_t k) {
    kg_link links[200];
    size_t count = links_of(t, entity, links);
    double sum = 0;
    for (kg_directed r = 0; r < DIRECTED; r++) {
        double facts = 0;
        for (size_t i = 0; i < count; i++)
            facts += links[i].directed == r;
        sum += value(t, tensor, r, k) * log(1 + facts);
    }
    return sum;
}

static void update_entity(const twin *t, size_t layer, size_t entity, double (*messages)[WIDTH],
                          size_t count, double *out) {
    double input[MOST_INPUTS] = {0};
    double sums[WIDTH] = {0};
    size_t inputs = 0;
    for (size_t k = 0; k < WIDTH; k++)
        input[inputs++] = t->is_reached[entity] ? t->vectors[entity][k] : 0;
    for (unsigned way = 1; way < 1U << KG_POOLINGS; way <<= 1)
        for (size_t k = 0; k < WIDTH && (t->w->model.options.pooling & way) != 0; k++)
            input[inputs++] = count == 0 ? 0 : pool_number(t, entity, way, messages, count, k);
    double mean = 0;
    double variance = 0;
    for (size_t k = 0; k < WIDTH; k++) {
        sums[k] = value(t, KG_PROPAGATION_UPDATE_BIAS, layer, k);
        if (!t->is_reached[entity] && t->w->model.options.profiles != 0)
            sums[k] += profile_number(t, KG_PROPAGATION_NODE_PROFILE, entity, k);
        for (size_t i = 0; i < inputs; i++)
            sums[k] += input[i] * value(t, KG_PROPAGATION_UPDATE, layer, i * WIDTH + k);
        mean += sums[k] / WIDTH;
    }
    for (size_t k = 0; k < WIDTH; k++)
        variance += (sums[k] - mean) * (sums[k] - mean) / WIDTH;
    for (size_t k = 0; k < WIDTH; k++)
        out[k] = input[k] + fmax(0, (sums[k] - mean) / sqrt(variance + SMALL));
}

static void twin_layer(twin *t, size_t layer) {
    static double messages[400][WIDTH];
    double vectors[ENTITIES + 1][WIDTH];
    bool is_source[ENTITIES + 1] = {0};
    bool is_reached[ENTITIES + 1];
    choose_sources(t, layer, is_source);
    for (size_t e = 0; e <= ENTITIES; e++) {
        size_t count = messages_to(t, layer, is_source, e, messages);
        is_reached[e] = t->is_reached[e] || count > 0;
        if (is_reached[e])
            update_entity(t, layer, e, messages, count, vectors[e]);
    }
    memcpy(t->is_reached, is_reached, sizeof is_reached);
    memcpy(t->vectors, vectors, sizeof vectors);
}

static double score_of(const twin *t, size_t entity) {
    size_t q = t->query->queried;
    double prior = value(t, KG_PROPAGATION_DEGREE, q, t->classes[entity]);
    if (!t->is_reached[entity])
        return prior + value(t, KG_PROPAGATION_UNREACHED, q, 0);
    double score = prior;
    for (size_t k = 0; k < WIDTH; k++) {
        double sum = value(t, KG_PROPAGATION_HIDDEN_BIAS, q, k);
        for (size_t i = 0; i < WIDTH; i++)
            sum += t->vectors[entity][i] * value(t, KG_PROPAGATION_HIDDEN, 0, i * WIDTH + k);
        sum += profile_number(t, KG_PROPAGATION_PROFILE, entity, k);
        score += value(t, KG_PROPAGATION_OUTPUT, 0, k) * fmax(0, sum);
    }
    return score;
}

void run_twin(twin *t, const propagation_world *w, const kg_propagation_query *query) {
    *t = (twin){.w = w, .query = query};
    t->is_reached[QUERIED] = true;
    for (size_t k = 0; k < WIDTH; k++)
        t->vectors[QUERIED][k] = value(t, KG_PROPAGATION_START, query->queried, k);
    for (size_t layer = 0; layer < w->model.options.layers; layer++)
        twin_layer(t, layer);
    for (size_t e = 0; e < ENTITIES; e++) {
        kg_link links[200];
        size_t count = links_of(t, e, links);
        size_t facts = 0;
        for (size_t i = 0; i < count; i++)
            facts += links[i].directed == kg__inverse(query->queried);
        t->classes[e] = kg__degree_class(facts);
        t->scores[e] = score_of(t, e);
    }
}
