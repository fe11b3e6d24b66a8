/* Queries are made first, a vector each, and then answered in small blocks, so that a row of the
 * entity table is read once for several of them. */
#include "rank/plain.h"

#include <string.h>

#include "base/memory.h"
#include "math/linear.h"
#include "math/vector.h"

#define BLOCK 8

/* A query: the candidate u scores u . vector. Known answers are a run of links of one directed
 * relation, the answer among them. */
struct query {
    kg_id answer;
    const kg_link *known;
    size_t known_count;
};

struct queries {
    struct query *list;
    real *vectors; /* count x dim */
    size_t count;
    size_t dim;
};

static kg_status open_queries(struct queries *queries, size_t count, size_t dim, kg_error *error) {
    *queries = (struct queries){.dim = dim};
    queries->list = kg_alloc(count, sizeof *queries->list);
    queries->vectors =
        count > SIZE_MAX / dim ? NULL : kg_resize(NULL, count * dim, sizeof *queries->vectors);
    return queries->list == NULL || queries->vectors == NULL ? kg_fail_memory(error) : KG_OK;
}

static void close_queries(struct queries *queries) {
    kg_free(queries->list);
    kg_free(queries->vectors);
}

/* The run of links with the same directed relation as link i. */
static void find_run(const kg_link *links, size_t count, size_t i, struct query *query) {
    size_t from = i;
    size_t to = i + 1;
    while (from > 0 && links[from - 1].directed == links[i].directed)
        from--;
    while (to < count && links[to].directed == links[i].directed)
        to++;
    query->known = links + from;
    query->known_count = to - from;
}

static kg_status ask_unseen(struct queries *queries, const kg_adjacency *adjacency, kg_id entity,
                            kg_aggregate *aggregate, real *z, kg_error *error) {
    const kg_link *links = kg_adjacency_links(adjacency, entity);
    size_t count = kg_adjacency_degree(adjacency, entity);
    KG_TRY(kg_aggregate_load(aggregate, links, count, 1, error));
    for (size_t i = 0; i < count; i++) {
        struct query *query = &queries->list[queries->count];
        query->answer = links[i].other;
        find_run(links, count, i, query);
        kg_aggregate_forward(aggregate, z, (kg_left_out){&i, 1});
        kg_query_adjoint(&aggregate->tables, queries->vectors + queries->count++ * queries->dim,
                         links[i].directed, z);
    }
    return KG_OK;
}

/* Counts the candidates for up to BLOCK queries at once. What is not lower, and not equal, is
 * higher: so a score that is not a number never does well, neither for an answer nor for a
 * candidate. */
static void rank_block(double *ranks, const struct queries *queries, size_t from, size_t size,
                       const kg_tables *tables, size_t candidates, kg_ties ties) {
    size_t dim = queries->dim;
    const real *vectors = queries->vectors + from * dim;
    real goal[BLOCK];
    uint64_t higher[BLOCK] = {0};
    uint64_t equal[BLOCK] = {0};
    for (size_t i = 0; i < size; i++)
        goal[i] =
            kg_dot(kg_entity_row(tables, queries->list[from + i].answer), vectors + i * dim, dim);
    for (kg_id u = 0; u < candidates; u++)
        for (size_t i = 0; i < size; i++) {
            real score = kg_dot(kg_entity_row(tables, u), vectors + i * dim, dim);
            higher[i] += !(score <= goal[i]);
            equal[i] += score == goal[i];
        }
    for (size_t i = 0; i < size; i++) {
        const struct query *query = &queries->list[from + i];
        for (size_t k = 0; k < query->known_count; k++) {
            kg_id u = query->known[k].other;
            real score = kg_dot(kg_entity_row(tables, u), vectors + i * dim, dim);
            higher[i] -= u < candidates && !(score <= goal[i]);
            equal[i] -= u < candidates && score == goal[i];
        }
        /* The answer is among the known, so it is not counted; if it is not a number, all are. */
        ranks[from + i] = kg_rank_of(higher[i], equal[i], ties);
    }
}

static kg_status answer(double **ranks, const struct queries *queries, const kg_tables *tables,
                        size_t candidates, kg_ties ties, int threads, kg_error *error) {
    *ranks = kg_alloc(queries->count, sizeof **ranks);
    if (*ranks == NULL)
        return kg_fail_memory(error);
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (size_t from = 0; from < queries->count; from += BLOCK) {
        size_t left = queries->count - from;
        rank_block(*ranks, queries, from, left < BLOCK ? left : BLOCK, tables, candidates, ties);
    }
    return KG_OK;
}

kg_status kg_plain_rank_unseen(double **ranks, size_t *count, const kg_dataset *dataset,
                               kg_part part, const kg_tables *tables,
                               const kg_aggregate_options *options, kg_ties ties, int threads,
                               kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    struct queries queries = {0};
    kg_adjacency adjacency = {0};
    kg_aggregate aggregate;
    kg_aggregate_open(&aggregate, *options, *tables);
    kg_linear_set_up();
    real *z = kg_alloc(tables->dim, sizeof *z);
    kg_status status = z == NULL ? kg_fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(
        kg_adjacency_make(&adjacency, facts, dataset->entities.count, KG_WITHOUT_REFLEXIVE, error));
    KG_CHECK(open_queries(&queries, facts->count, tables->dim, error));
    for (size_t v = dataset->entities_before[part]; v < dataset->entities_before[part + 1]; v++)
        KG_CHECK(ask_unseen(&queries, &adjacency, (kg_id)v, &aggregate, z, error));
    KG_CHECK(answer(ranks, &queries, tables, kg_dataset_in_sample(dataset), ties, threads, error));
    *count = queries.count;
done:
    close_queries(&queries);
    kg_adjacency_free(&adjacency);
    kg_aggregate_close(&aggregate);
    kg_free(z);
    return status;
}

/* All facts of the in-sample parts, each once. */
static kg_status merge_seen(kg_triples *out, const kg_dataset *dataset, kg_error *error) {
    for (kg_part part = KG_TRAIN; part <= KG_TEST; part++) {
        const kg_triples *facts = &dataset->parts[part];
        KG_TRY(kg_triples_reserve(out, facts->count, error));
        for (size_t i = 0; i < facts->count; i++)
            out->items[out->count++] = facts->items[i];
    }
    size_t dropped = 0;
    return kg_triples_unique(out, &dropped, error);
}

/* Asks for the end of the fact at which `entity` does not stand. */
static void ask_seen(struct queries *queries, const kg_adjacency *adjacency,
                     const kg_tables *tables, kg_id entity, kg_link asked) {
    const kg_link *links = kg_adjacency_links(adjacency, entity);
    size_t count = kg_adjacency_degree(adjacency, entity);
    struct query *query = &queries->list[queries->count];
    query->answer = asked.other;
    find_run(links, count, kg_links_find(links, count, asked), query);
    kg_query_adjoint(tables, queries->vectors + queries->count++ * queries->dim, asked.directed,
                     kg_entity_row(tables, entity));
}

kg_status kg_plain_rank_seen(double **ranks, size_t *count, const kg_dataset *dataset, kg_part part,
                             const kg_tables *tables, kg_ties ties, int threads, kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    size_t entities = kg_dataset_in_sample(dataset);
    struct queries queries = {0};
    kg_adjacency adjacency = {0};
    kg_triples known = {0};
    kg_status status = KG_OK;
    KG_CHECK(merge_seen(&known, dataset, error));
    KG_CHECK(kg_adjacency_make(&adjacency, &known, entities, KG_WITH_REFLEXIVE, error));
    KG_CHECK(open_queries(&queries, 2 * facts->count, tables->dim, error));
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        ask_seen(&queries, &adjacency, tables, fact.head,
                 (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail});
        ask_seen(&queries, &adjacency, tables, fact.tail,
                 (kg_link){kg_direct(fact.relation, KG_TAIL), fact.head});
    }
    KG_CHECK(answer(ranks, &queries, tables, entities, ties, threads, error));
    *count = queries.count;
done:
    close_queries(&queries);
    kg_adjacency_free(&adjacency);
    kg_triples_free(&known);
    return status;
}
