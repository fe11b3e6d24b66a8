/* Vectors of a data set's queries against the plain way: those of an entity that never had the
 * queried fact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "math/linalg.h"
#include "rank_world.h"

#define DIM 12

/* An unseen entity is embedded from its other facts by loading just those. */
static void query_plainly(real *vector, const kg_queries *queries, const kg_query *query,
                          const kg_params *params, const kg_aggregate_options *options) {
    const real *z = NULL;
    real *own = calloc(params->dim, sizeof *own);
    kg_link *others = calloc(kg__query_facts(queries, query) + 1, sizeof *others);
    if (queries->unseen) {
        size_t count = keep_others(others, queries, query);
        kg_aggregate aggregate;
        kg_aggregate_use use = {
            .links = others, .count = count, .queries = &query->target.directed, .query_count = 1};
        kg_arena arena = {0};
        assert_int_equal(kg__aggregate_load(&aggregate, options, params, &arena, &use, NULL),
                         KG_OK);
        kg__aggregate_forward(&aggregate, own, (kg_left_out){NULL, 0});
        kg__arena_free(&arena);
        z = own;
    } else {
        z = kg__entity_row(params, query->entity);
    }
    kg__query_vector_adjoint(params, vector, query->target.directed, z);
    free(own);
    free(others);
}

/* The vectors of all queries. */
static void embed_all(real *vectors, const kg_queries *queries, const kg_params *params,
                      const kg_aggregate_options *options) {
    kg_query_embedder embedder;
    kg_embedding embedding = {.aggregate = *options};
    size_t *starts = calloc(queries->count + 1, sizeof *starts);
    size_t done = 0;
    assert_ok(kg__query_embedder_open(&embedder, params, &embedding, NULL), NULL);
    assert_ok(kg__query_embedder_vectors(&embedder, vectors, starts, &done, queries, 0,
                                         queries->count, NULL),
              NULL);
    kg__query_embedder_close(&embedder);
    free(starts);
}

static void assert_close(const real *vector, const real *expected) {
    for (size_t k = 0; k < DIM; k++)
        assert_true(fabs((double)(vector[k] - expected[k])) < 1e-4);
}

/* In-sample entities that are queried by facts, as unseen ones whose facts are those of training
 * and the queried one. */
static kg_queries as_unseen(const kg_queries *seen, const kg_dataset *dataset, size_t i) {
    kg_query query = seen->list[i];
    kg_id entity = query.entity;
    kg_directed directed = query.target.directed;
    bool is_head = kg_directed_end(directed) == KG_HEAD;
    kg_triple asked = {is_head ? entity : query.target.other, directed / 2,
                       is_head ? query.target.other : entity};
    kg_triples facts = {0};
    assert_int_equal(kg__triples_push(&facts, asked, NULL), KG_OK);
    for (size_t k = 0; k < dataset->parts[KG_TRAIN].count; k++) {
        kg_triple fact = dataset->parts[KG_TRAIN].items[k];
        bool is_same = memcmp(&fact, &asked, sizeof fact) == 0;
        if ((fact.head == entity) != (fact.tail == entity) && !is_same)
            assert_int_equal(kg__triples_push(&facts, fact, NULL), KG_OK);
    }
    kg_queries out = {.unseen = true, .candidates = seen->candidates};
    assert_int_equal(kg__adjacency_make(&out.adjacency, &facts, kg__dataset_in_sample(dataset),
                                        KG_WITH_REFLEXIVE, NULL),
                     KG_OK);
    kg__triples_free(&facts);
    out.list = kg__alloc(1, sizeof *out.list);
    out.list[0] = query;
    out.list[0].position =
        (uint32_t)kg__links_find(kg__adjacency_links(&out.adjacency, entity),
                                 kg__adjacency_degree(&out.adjacency, entity), query.target);
    return out;
}

/* A part's queries, by facts: an entity without others is represented by its row. The test part is
 * the beginning of the training part, too. */
static void test_in_sample_by_facts(void **state) {
    (void)state;
    static const char *const aggregators[] = {"eravg", "ls"};
    struct world world;
    make_world(&world, 700, DIM, REALS);
    kg_triples *test = &world.dataset.parts[KG_TEST];
    memcpy(test->items, world.dataset.parts[KG_TRAIN].items, test->count / 2 * sizeof *test->items);
    kg_queries queries;
    assert_int_equal(kg__queries_make(&queries, &world.dataset, KG_TEST, NULL), KG_OK);
    assert_int_equal(kg__queries_give_facts(&queries, &world.dataset, NULL), KG_OK);
    real *vectors = calloc(queries.count * DIM, sizeof *vectors);
    size_t by_row = 0;
    for (size_t a = 0; a < 2; a++) {
        kg_aggregate_options options = kg__aggregate_defaults(kg__aggregator_find(aggregators[a]));
        embed_all(vectors, &queries, &world.params, &options);
        for (size_t i = 0; i < queries.count; i++) {
            kg_queries one = as_unseen(&queries, &world.dataset, i);
            one.unseen = kg__adjacency_degree(&one.adjacency, queries.list[i].entity) > 1;
            real expected[DIM];
            query_plainly(expected, &one, one.list, &world.params, &options);
            assert_close(vectors + i * DIM, expected);
            assert_true(kg__query_is_embedded(&queries, &queries.list[i], &world.params) ==
                        one.unseen);
            by_row += !one.unseen;
            kg__queries_free(&one);
        }
    }
    assert_true(by_row > 0 && by_row < 2 * queries.count);
    free(vectors);
    kg__queries_free(&queries);
    free_world(&world);
}

/* The vector of each query is that of the entity without the asked fact. */
static void test_leave_one_out(void **state) {
    (void)state;
    static const char *const aggregators[] = {"eavg", "eravg", "ls", "ls-u"};
    struct world world;
    make_world(&world, 300, DIM, REALS);
    kg_queries queries;
    assert_int_equal(kg__queries_make(&queries, &world.dataset, KG_UNSEEN_TEST, NULL), KG_OK);
    real *vectors = calloc(queries.count * DIM, sizeof *vectors);
    for (size_t a = 0; a < 4; a++) {
        kg_aggregate_options options = {.aggregator = kg__aggregator_find(aggregators[a]),
                                        .ls_lambda = (real)0.1,
                                        .ls_rows = KG_LS_NORMALIZED};
        embed_all(vectors, &queries, &world.params, &options);
        for (size_t i = 0; i < queries.count; i++) {
            real expected[DIM];
            query_plainly(expected, &queries, &queries.list[i], &world.params, &options);
            assert_close(vectors + i * DIM, expected);
        }
    }
    free(vectors);
    kg__queries_free(&queries);
    free_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_sample_by_facts),
        cmocka_unit_test(test_leave_one_out),
    };
    if (kg__linear_set_up(1, NULL) != KG_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
