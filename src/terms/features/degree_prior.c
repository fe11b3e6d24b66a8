/* Counting how often entities have been answers. */
#include "terms/features/degree_prior.h"

#include <math.h>

#include "base/memory.h"

/* 0, 1, 2, 3, then by powers of two. */
static size_t class_of(size_t facts) {
    if (facts < 4)
        return facts;
    size_t width = (size_t)(63 - __builtin_clzll(facts));
    return width + 2 < KG_DEGREE_PRIOR_CLASSES ? width + 2 : KG_DEGREE_PRIOR_CLASSES - 1;
}

/* Entities, and facts of theirs that can be asked for, by how many other facts of that directed
 * relation they have. */
struct census {
    double *entities;
    double *asked;
    double *totals; /* facts of each directed relation */
};

static void count_run(struct census *census, kg_directed asked, size_t facts) {
    size_t row = asked * (size_t)KG_DEGREE_PRIOR_CLASSES;
    census->entities[row + class_of(facts)]++;
    census->entities[row]--;
    census->asked[row + class_of(facts - 1)] += (double)facts;
    census->totals[asked] += (double)facts;
}

static void take_census(struct census *census, const kg_adjacency *graph, size_t directed_count) {
    for (size_t i = 0; i < directed_count; i++)
        census->entities[i * KG_DEGREE_PRIOR_CLASSES] = (double)graph->entity_count;
    for (kg_id u = 0; u < graph->entity_count; u++) {
        const kg_link *links = kg__adjacency_links(graph, u);
        size_t degree = kg__adjacency_degree(graph, u);
        for (size_t from = 0, to = 0; from < degree; from = to) {
            to = kg__group_end(links, degree, from);
            count_run(census, kg__inverse(links[from].directed), to - from);
        }
    }
}

/* Smoothed towards 0 by an eighth of a fact of each class, and one thousandth of all. */
static real rate(double asked, double total, double entities, double all) {
    double share = entities / all;
    double expected = total * share;
    double weight = 0.125 + 0.001 * expected;
    return (real)log((asked + weight) / (expected + weight));
}

kg_status kg__degree_prior_open(kg_degree_prior *out, const kg_adjacency *graph,
                                size_t directed_count, kg_error *error) {
    size_t count = directed_count * KG_DEGREE_PRIOR_CLASSES;
    *out = (kg_degree_prior){graph, kg__alloc(count, sizeof *out->values), directed_count};
    struct census census = {kg__alloc(count, sizeof *census.entities),
                            kg__alloc(count, sizeof *census.asked),
                            kg__alloc(directed_count, sizeof *census.totals)};
    bool allocated = out->values != NULL && census.entities != NULL && census.asked != NULL &&
                     census.totals != NULL;
    if (allocated) {
        take_census(&census, graph, directed_count);
        for (size_t i = 0; i < count; i++)
            out->values[i] = rate(census.asked[i], census.totals[i / KG_DEGREE_PRIOR_CLASSES],
                                  census.entities[i], (double)graph->entity_count);
    } else {
        kg__degree_prior_close(out);
    }
    kg__free(census.entities);
    kg__free(census.asked);
    kg__free(census.totals);
    return allocated ? KG_OK : kg__fail_memory(error);
}

void kg__degree_prior_close(kg_degree_prior *vacancy) {
    kg__free(vacancy->values);
    *vacancy = (kg_degree_prior){0};
}

static const kg_link *find_facts(const kg_degree_prior *vacancy, kg_directed asked, kg_id candidate,
                                 size_t *count) {
    const kg_adjacency *graph = vacancy->graph;
    return kg__links_run(kg__adjacency_links(graph, candidate),
                         kg__adjacency_degree(graph, candidate), kg__inverse(asked), count);
}

size_t kg__degree_prior_facts(const kg_degree_prior *vacancy, kg_directed asked, kg_id candidate) {
    size_t facts = 0;
    find_facts(vacancy, asked, candidate, &facts);
    return facts;
}

real kg__degree_prior_value(const kg_degree_prior *vacancy, kg_directed asked, size_t facts) {
    return vacancy->values[asked * (size_t)KG_DEGREE_PRIOR_CLASSES + class_of(facts)];
}

real kg__degree_prior_of(const kg_degree_prior *vacancy, kg_directed asked, kg_id self,
                         kg_id candidate) {
    size_t facts = 0;
    const kg_link *links = find_facts(vacancy, asked, candidate, &facts);
    kg_link own = {kg__inverse(asked), self};
    facts -= kg__links_find(links, facts, own) < facts;
    return kg__degree_prior_value(vacancy, asked, facts);
}

void kg__degree_prior_fill(const kg_degree_prior *vacancy, real *out, const kg_directed *asked,
                           size_t asked_count, const uint32_t *kinds, const kg_id *entities,
                           size_t count) {
    const kg_adjacency *graph = vacancy->graph;
    for (size_t kind = 0; kind < asked_count; kind++)
        for (size_t i = 0; i < count; i++)
            out[kind * count + i] = vacancy->values[asked[kind] * (size_t)KG_DEGREE_PRIOR_CLASSES];
    for (size_t i = 0; i < count; i++) {
        const kg_link *links = kg__adjacency_links(graph, entities[i]);
        size_t degree = kg__adjacency_degree(graph, entities[i]);
        for (size_t from = 0, to = 0; from < degree; from = to) {
            to = kg__group_end(links, degree, from);
            kg_directed question = kg__inverse(links[from].directed);
            if (kinds[question] != KG_NO_ID)
                out[kinds[question] * count + i] =
                    vacancy
                        ->values[question * (size_t)KG_DEGREE_PRIOR_CLASSES + class_of(to - from)];
        }
    }
}
