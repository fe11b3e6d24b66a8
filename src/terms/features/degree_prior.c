/* Histograms of degrees, of answers and of all entities, and their smoothed log ratio. */
#include "terms/features/degree_prior.h"

#include <math.h>

#include "base/memory.h"

/* Histograms by directed relation and class: of the degrees of all entities, and of the degrees of
 * answers, the queried fact left out. */
struct histograms {
    double *entities;
    double *answers;
    double *totals; /* facts of each directed relation */
};

static void count_run(struct histograms *counts, kg_directed query, size_t facts) {
    size_t row = query * (size_t)KG_DEGREE_PRIOR_CLASSES;
    counts->entities[row + kg__degree_prior_class(facts)]++;
    counts->entities[row]--;
    counts->answers[row + kg__degree_prior_class(facts - 1)] += (double)facts;
    counts->totals[query] += (double)facts;
}

static void count_degrees(struct histograms *counts, const kg_adjacency *graph,
                          size_t directed_count) {
    for (size_t i = 0; i < directed_count; i++)
        counts->entities[i * KG_DEGREE_PRIOR_CLASSES] = (double)graph->entity_count;
    for (kg_id u = 0; u < graph->entity_count; u++) {
        const kg_link *links = kg__adjacency_links(graph, u);
        size_t degree = kg__adjacency_degree(graph, u);
        for (size_t from = 0, to = 0; from < degree; from = to) {
            to = kg__group_end(links, degree, from);
            count_run(counts, kg__inverse(links[from].directed), to - from);
        }
    }
}

/* Smoothed towards 0 by an eighth of a fact of each class, and one thousandth of all. */
static real log_ratio(double answers, double total, double entities, double all) {
    double share = entities / all;
    double expected = total * share;
    double weight = 0.125 + 0.001 * expected;
    return (real)log((answers + weight) / (expected + weight));
}

kg_status kg__degree_prior_open(kg_degree_prior *out, const kg_adjacency *graph,
                                size_t directed_count, kg_error *error) {
    size_t count = directed_count * KG_DEGREE_PRIOR_CLASSES;
    *out = (kg_degree_prior){graph, kg__alloc(count, sizeof *out->values), directed_count};
    struct histograms counts = {kg__alloc(count, sizeof *counts.entities),
                                kg__alloc(count, sizeof *counts.answers),
                                kg__alloc(directed_count, sizeof *counts.totals)};
    bool allocated = out->values != NULL && counts.entities != NULL && counts.answers != NULL &&
                     counts.totals != NULL;
    if (allocated) {
        count_degrees(&counts, graph, directed_count);
        for (size_t i = 0; i < count; i++)
            out->values[i] =
                log_ratio(counts.answers[i], counts.totals[i / KG_DEGREE_PRIOR_CLASSES],
                          counts.entities[i], (double)graph->entity_count);
    } else {
        kg__degree_prior_close(out);
    }
    kg__free(counts.entities);
    kg__free(counts.answers);
    kg__free(counts.totals);
    return allocated ? KG_OK : kg__fail_memory(error);
}

void kg__degree_prior_close(kg_degree_prior *prior) {
    kg__free(prior->values);
    *prior = (kg_degree_prior){0};
}

static const kg_link *find_facts(const kg_degree_prior *prior, kg_directed query, kg_id candidate,
                                 size_t *count) {
    const kg_adjacency *graph = prior->graph;
    return kg__links_run(kg__adjacency_links(graph, candidate),
                         kg__adjacency_degree(graph, candidate), kg__inverse(query), count);
}

size_t kg__degree_prior_facts(const kg_degree_prior *prior, kg_directed query, kg_id candidate) {
    size_t facts = 0;
    find_facts(prior, query, candidate, &facts);
    return facts;
}

real kg__degree_prior_value(const kg_degree_prior *prior, kg_directed query, size_t facts) {
    return prior->values[query * (size_t)KG_DEGREE_PRIOR_CLASSES + kg__degree_prior_class(facts)];
}

real kg__degree_prior_of(const kg_degree_prior *prior, kg_directed query, kg_id self,
                         kg_id candidate) {
    size_t facts = 0;
    const kg_link *links = find_facts(prior, query, candidate, &facts);
    kg_link own = {kg__inverse(query), self};
    facts -= kg__links_find(links, facts, own) < facts;
    return kg__degree_prior_value(prior, query, facts);
}

void kg__degree_prior_fill(const kg_degree_prior *prior, real *out, const kg_directed *queries,
                           size_t query_count, const uint32_t *index, const kg_id *entities,
                           size_t count) {
    const kg_adjacency *graph = prior->graph;
    for (size_t k = 0; k < query_count; k++)
        for (size_t i = 0; i < count; i++)
            out[k * count + i] = kg__degree_prior_value(prior, queries[k], 0);
    for (size_t i = 0; i < count; i++) {
        const kg_link *links = kg__adjacency_links(graph, entities[i]);
        size_t degree = kg__adjacency_degree(graph, entities[i]);
        for (size_t from = 0, to = 0; from < degree; from = to) {
            to = kg__group_end(links, degree, from);
            kg_directed query = kg__inverse(links[from].directed);
            if (index[query] != KG_NO_ID)
                out[index[query] * count + i] = kg__degree_prior_value(prior, query, to - from);
        }
    }
}
