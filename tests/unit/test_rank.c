/* Ranking in tiles against ranking the plain way: every candidate in turn, by the same dot product.
 * They must agree on every rank: with many ties, with NaN, with any number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "give_term.h"
#include "math/linalg.h"
#include "math/vector.h"
#include "rank/breakdown.h"
#include "rank_world.h"
#include "terms/echo.h"

/* ---- The plain way ---- */

static bool is_known(const kg_query *query, kg_id candidate) {
    for (size_t i = 0; i < query->known_count; i++)
        if (query->known[i].other == candidate)
            return true;
    return false;
}

/* What candidates get beside the product: all of them, and some of them on top. */
struct extra {
    real *priors;
    real *offsets;
};

static real score_plainly(const real *vector, const kg_params *params, const struct extra *extra,
                          kg_id u) {
    real score = kg__dot(kg__entity_row(params, u), vector, params->dim);
    score += extra->priors[u];
    score += extra->offsets[u];
    return score;
}

static double rank_plainly(const kg_query *query, const real *vector, const kg_params *params,
                           const struct extra *extra, size_t candidates, kg_ties ties) {
    real goal = score_plainly(vector, params, extra, query->target.other);
    uint64_t higher = 0;
    uint64_t equal = 0;
    for (kg_id u = 0; u < candidates; u++) {
        if (is_known(query, u))
            continue;
        real score = score_plainly(vector, params, extra, u);
        if (score == goal)
            equal++;
        else if (!(score < goal))
            higher++;
    }
    return kg__rank_of(higher, equal, ties);
}

/* Of an entity that never had the fact that is asked for; one that is asked by its row has none. */
static void add_extra_plainly(struct extra *extra, const kg_queries *queries, const kg_query *query,
                              const kg_params *params, const struct some_propagation *propagation,
                              size_t candidates) {
    kg_directed asked = query->target.directed;
    double *offsets = calloc(candidates, sizeof *offsets);
    kg_link *others = calloc(kg__query_facts(queries, query) + 1, sizeof *others);
    size_t count = keep_others(others, queries, query);
    const kg_term_view *echoes = &params->terms[kg__term_number(&kg__term_echo)];
    const kg_pair_param *echo = echoes->counted;
    for (size_t i = 0; i < count && queries->unseen && echo != NULL; i++) {
        uint32_t pair = kg__pairs_find(&echo->pairs, asked, others[i].directed);
        if (pair != KG_NO_PAIR)
            offsets[others[i].other] += (double)echoes->values[0][pair];
    }
    bool is_propagated = propagation != NULL && queries->unseen;
    if (is_propagated)
        propagate_plainly(offsets, propagation, KG_NO_ID, others, count, KG_NOTHING, asked);
    for (kg_id u = 0; u < candidates; u++) {
        extra->offsets[u] = (real)offsets[u];
        extra->priors[u] = is_propagated ? propagation_prior(propagation, asked, u) : 0;
    }
    free(offsets);
    free(others);
}

/* ---- Tests ---- */

static double *rank_fast(const struct world *world, const kg_queries *queries,
                         const kg_rank_options *options) {
    double *ranks = calloc(queries->count, sizeof *ranks);
    assert_int_equal(kg__rank(ranks, queries, &world->params, options, NULL), KG_OK);
    return ranks;
}

static void check_part(const struct world *world, kg_part part, const char *aggregator) {
    size_t candidates = kg__dataset_in_sample(&world->dataset);
    kg_rank_options options = {.embedding.aggregate =
                                   kg__aggregate_defaults(kg__aggregator_find(aggregator))};
    kg_queries queries;
    assert_int_equal(kg__queries_make(&queries, &world->dataset, part, NULL), KG_OK);
    assert_true(queries.count > 0);
    real *vectors = calloc(queries.count * world->params.dim, sizeof *vectors);
    size_t *starts = calloc(queries.count + 1, sizeof *starts);
    kg_query_embedder embedder;
    size_t done = 0;
    kg_params params = world->params;
    double *gram = NULL;
    assert_int_equal(
        kg__gram_make(&gram, options.embedding.aggregate.aggregator, &params, candidates, NULL),
        KG_OK);
    params.gram = gram;
    assert_int_equal(kg__query_embedder_open(&embedder, &params, &options.embedding, NULL), KG_OK);
    assert_int_equal(kg__query_embedder_vectors(&embedder, vectors, starts, &done, &queries, 0,
                                                queries.count, NULL),
                     KG_OK);
    kg__query_embedder_close(&embedder);
    kg__free(gram);
    struct extra *extras = calloc(queries.count, sizeof *extras);
    for (size_t i = 0; i < queries.count; i++) {
        extras[i] =
            (struct extra){calloc(candidates, sizeof(real)), calloc(candidates, sizeof(real))};
        add_extra_plainly(&extras[i], &queries, &queries.list[i], &world->params,
                          world->propagation, candidates);
    }
    double *expected = calloc(queries.count, sizeof *expected);
    /* Threads count, and ties are counted afterwards: each way by 1, 4 or 7 of them. */
    for (options.ties = KG_REALISTIC; options.ties <= KG_REFERENCE; options.ties++) {
        for (size_t i = 0; i < queries.count; i++)
            expected[i] = rank_plainly(&queries.list[i], vectors + i * world->params.dim,
                                       &world->params, &extras[i], candidates, options.ties);
        options.threads = 1 + 3 * ((int)options.ties % 3);
        double *ranks = rank_fast(world, &queries, &options);
        for (size_t i = 0; i < queries.count; i++)
            assert_true(ranks[i] == expected[i]);
        free(ranks);
    }
    free(expected);
    for (size_t i = 0; i < queries.count; i++) {
        free(extras[i].priors);
        free(extras[i].offsets);
    }
    free(extras);
    free(vectors);
    free(starts);
    kg__queries_free(&queries);
}

static void check_world(size_t entities, size_t dim, enum filling filling) {
    static const char *const aggregators[] = {"eavg", "eravg", "ls", "ials"};
    struct world world;
    make_world(&world, entities, dim, filling);
    check_part(&world, KG_VALID, "eravg");
    check_part(&world, KG_TEST, "eravg");
    for (size_t i = 0; i < 4; i++) {
        check_part(&world, KG_UNSEEN_VALID, aggregators[i]);
        check_part(&world, KG_UNSEEN_TEST, aggregators[i]);
    }
    free_world(&world);
}

static void test_ties(void **state) {
    (void)state;
    check_world(500, 3, INTEGERS);
    check_world(60, 2, INTEGERS);
    check_world(500, 20, CONSTANTS);
}

static void test_reals(void **state) {
    (void)state;
    check_world(1200, 33, REALS);
    check_world(100, 200, REALS);
}

/* ---- Terms ---- */

/* Pairs of relations as they occur in a graph, all echoes. */
static void make_graft(kg_relation_weights *graft, kg_pair_param *echo, const kg_adjacency *graph,
                       size_t relations) {
    *graft = (kg_relation_weights){.power = 0.5};
    assert_int_equal(kg__pairs_make(&graft->param.pairs, graph, 2 * relations, NULL), KG_OK);
    assert_int_equal(kg__pairs_make_echoes(&echo->pairs, graph, 2 * relations, 1, 0, NULL), KG_OK);
}

static void check_echo(size_t entities, size_t dim, enum filling filling) {
    struct world world;
    kg_adjacency graph;
    kg_relation_weights relation_weights;
    kg_pair_param echo = {0};
    real values[64];
    make_world(&world, entities, dim, filling);
    assert_int_equal(kg__adjacency_make(&graph, &world.dataset.parts[KG_TRAIN],
                                        kg__dataset_in_sample(&world.dataset), KG_WITHOUT_REFLEXIVE,
                                        NULL),
                     KG_OK);
    for (size_t i = 0; i < 64; i++) /* halves, so that sums of small numbers tie */
        values[i] = (real)(i % 5) / 2;
    make_graft(&relation_weights, &echo, &graph, world.dataset.in_sample_relations);
    give_term(&world.params, &kg__term_echo, &echo, values, 0);
    give_weights(&world.params, &relation_weights, values, 0);
    check_part(&world, KG_TEST, "eravg");
    check_part(&world, KG_UNSEEN_VALID, "ls");
    check_part(&world, KG_UNSEEN_TEST, "graft");
    kg__pairs_free(&relation_weights.param.pairs);
    kg__pairs_free(&echo.pairs);
    kg__adjacency_free(&graph);
    free_world(&world);
}

static void test_echo(void **state) {
    (void)state;
    check_echo(500, 3, INTEGERS);
    check_echo(800, 33, REALS);
    check_echo(400, 4, HOLES);
    check_echo(30, 5, CONSTANTS);
}

static void check_propagation(size_t entities, size_t dim, enum filling filling) {
    struct world world;
    struct some_propagation some;
    make_world(&world, entities, dim, filling);
    open_propagation(&some, &world.dataset.parts[KG_TRAIN], kg__dataset_in_sample(&world.dataset),
                     world.dataset.in_sample_relations);
    give_propagation(&world.params, &some);
    world.propagation = &some;
    check_part(&world, KG_TEST, "eravg");
    check_part(&world, KG_UNSEEN_VALID, "eravg");
    check_part(&world, KG_UNSEEN_TEST, "ls");
    free_propagation(&some);
    free_world(&world);
}

static void test_propagation(void **state) {
    (void)state;
    check_propagation(500, 3, INTEGERS);
    check_propagation(800, 33, REALS);
    check_propagation(400, 4, HOLES);
    check_propagation(30, 5, CONSTANTS);
}

/* A vector that is the same for all is a baseline: other terms add nothing to it. */
static void test_average_has_no_propagation(void **state) {
    (void)state;
    struct world world;
    struct some_propagation some;
    real average[7] = {1, -1, 1, 2, 1, 0, 1};
    make_world(&world, 300, 7, REALS);
    open_propagation(&some, &world.dataset.parts[KG_TRAIN], kg__dataset_in_sample(&world.dataset),
                     world.dataset.in_sample_relations);
    kg_rank_options options = {
        .embedding = {.aggregate.aggregator = kg__aggregator_find("eravg"), .average = average},
        .threads = 1};
    kg_queries queries;
    assert_int_equal(kg__queries_make(&queries, &world.dataset, KG_UNSEEN_TEST, NULL), KG_OK);
    double *without = rank_fast(&world, &queries, &options);
    give_propagation(&world.params, &some);
    double *with = rank_fast(&world, &queries, &options);
    assert_memory_equal(with, without, queries.count * sizeof *with);
    free(with);
    free(without);
    kg__queries_free(&queries);
    free_propagation(&some);
    free_world(&world);
}

/* Rows that are there many times tie, also where squares of scores are too small for a number. */
static void test_small_numbers(void **state) {
    (void)state;
    static const int exponents[] = {0, -38, -60, -120};
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
        struct world world;
        make_world(&world, 500, 64, REALS);
        size_t numbers = kg__dataset_in_sample(&world.dataset) * 64;
        for (size_t i = 0; i < numbers; i++)
            world.entities[i] = world.entities[i % (40 * 64)];
        for (size_t i = 0; i < world.dataset.relations.count * 64; i++)
            world.relations[i] = (real)ldexp((double)world.relations[i], exponents[e]);
        check_part(&world, KG_UNSEEN_TEST, "eravg");
        check_part(&world, KG_TEST, "eravg");
        free_world(&world);
    }
}

static void test_not_a_number(void **state) {
    (void)state;
    check_world(500, 4, HOLES);
}

/* Few entities: all other candidates are known answers, or there are none. */
static void test_few_entities(void **state) {
    (void)state;
    check_world(2, 5, REALS);
    check_world(3, 5, INTEGERS);
}

/* Constant scores and NaN get the ranks that say nothing. */
static void test_constant_and_nan_models(void **state) {
    (void)state;
    struct world world;
    make_world(&world, 400, 4, CONSTANTS);
    kg_rank_options options = {.embedding.aggregate = {.aggregator = kg__aggregator_find("eravg"),
                                                       .ls_lambda = 1,
                                                       .ls_rows = KG_LS_NORMALIZED},
                               .threads = 1};
    kg_queries queries;
    assert_int_equal(kg__queries_make(&queries, &world.dataset, KG_TEST, NULL), KG_OK);
    double *ranks = rank_fast(&world, &queries, &options);
    size_t rows = kg__dataset_in_sample(&world.dataset);
    for (size_t i = 0; i < queries.count; i++) {
        double n = (double)(rows - queries.list[i].known_count + 1);
        assert_true(ranks[i] == (n + 1) / 2);
    }
    free(ranks);
    for (size_t i = 0; i < rows * 4; i++)
        world.entities[i] = (real)NAN;
    ranks = rank_fast(&world, &queries, &options);
    for (size_t i = 0; i < queries.count; i++)
        assert_true(ranks[i] == (double)(rows - queries.list[i].known_count + 1));
    free(ranks);
    kg__queries_free(&queries);
    free_world(&world);
}

/* Groups of a report are made of all queries, each once. */
static void test_report(void **state) {
    (void)state;
    struct world world;
    make_world(&world, 300, 4, REALS);
    kg_rank_options options = {.embedding.aggregate = {.aggregator = kg__aggregator_find("eravg"),
                                                       .ls_lambda = 1,
                                                       .ls_rows = KG_LS_NORMALIZED},
                               .threads = 1};
    kg_queries queries;
    assert_int_equal(kg__queries_make(&queries, &world.dataset, KG_UNSEEN_TEST, NULL), KG_OK);
    double *ranks = rank_fast(&world, &queries, &options);
    kg_breakdown report;
    assert_int_equal(kg__breakdown_make(&report, &queries, ranks, 3, 4, NULL), KG_OK);
    double sum = 0;
    uint64_t echoes = 0;
    for (size_t i = 0; i < queries.count; i++) {
        sum += 1 / ranks[i];
        const kg_query *query = &queries.list[i];
        const kg_link *links = kg__adjacency_links(&queries.adjacency, query->entity);
        int same = 0;
        for (size_t k = 0; k <= kg__query_facts(&queries, query); k++)
            same += links[k].other == query->target.other;
        echoes += same > 1;
    }
    assert_true(fabs(report.all.mrr * (double)queries.count - sum) < 1e-9);
    assert_int_equal(report.echo.queries, echoes);
    assert_int_equal(report.echo.queries + report.fresh.queries, queries.count);
    assert_int_equal(report.by_side[0].queries + report.by_side[1].queries, queries.count);
    uint64_t in_bins = 0;
    for (size_t i = 0; i < report.bin_count; i++) {
        in_bins += report.bins[i].metrics.queries;
        assert_true(report.bins[i].fewest <= report.bins[i].most);
        assert_true(i == 0 || report.bins[i].fewest > report.bins[i - 1].most);
    }
    assert_int_equal(in_bins, queries.count);
    kg__breakdown_free(&report);
    free(ranks);
    kg__queries_free(&queries);
    free_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties),          cmocka_unit_test(test_reals),
        cmocka_unit_test(test_small_numbers), cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_few_entities),  cmocka_unit_test(test_constant_and_nan_models),
        cmocka_unit_test(test_report),        cmocka_unit_test(test_echo),
        cmocka_unit_test(test_propagation),   cmocka_unit_test(test_average_has_no_propagation),
    };
    if (kg__linear_set_up(1, NULL) != KG_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
