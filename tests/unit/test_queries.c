/* Queries about a new graph, against a plain list of what they must be: who is asked, what for, by
 * which facts, among which candidates, and what is filtered. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/baselines.h"
#include "rank/breakdown.h"

static bool has(const kg_dataset *dataset, kg_part part, kg_triple fact) {
    const kg_triples *facts = &dataset->parts[part];
    for (size_t i = 0; i < facts->count; i++)
        if (memcmp(&facts->items[i], &fact, sizeof fact) == 0)
            return true;
    return false;
}

static bool has_anywhere(const kg_dataset *dataset, kg_triple fact) {
    return has(dataset, KG_GRAPH, fact) || has(dataset, KG_GRAPH_VALID, fact) ||
           has(dataset, KG_GRAPH_TEST, fact);
}

static kg_triple fact_of(kg_id entity, kg_link link) {
    kg_id relation = link.directed / 2;
    bool is_head = kg_directed_end(link.directed) == KG_HEAD;
    return is_head ? (kg_triple){entity, relation, link.other}
                   : (kg_triple){link.other, relation, entity};
}

/* Known answers: every candidate that makes a fact of any part, by id. */
static void check_known(const kg_dataset *dataset, const kg_query *query) {
    size_t count = 0;
    for (kg_id u = 0; u < dataset->graph_entities.count; u++) {
        kg_link link = {query->target.directed, u};
        if (!has_anywhere(dataset, fact_of(query->entity, link)))
            continue;
        assert_true(count < query->known_count);
        assert_true(query->known[count].directed == link.directed);
        assert_true(query->known[count++].other == u);
    }
    assert_int_equal(count, query->known_count);
}

/* What an entity is known by: the part graph, without what is asked for and facts with itself. */
static void check_links(const kg_dataset *dataset, const kg_queries *queries,
                        const kg_query *query) {
    kg_query_links found = kg__query_links(queries, query);
    size_t expected = 0;
    bool is_echo = false;
    for (kg_directed d = 0; d < 2 * dataset->relations.count; d++)
        for (kg_id u = 0; u < dataset->graph_entities.count; u++) {
            kg_link link = {d, u};
            bool is_target = d == query->target.directed && u == query->target.other;
            if (u == query->entity || !has(dataset, KG_GRAPH, fact_of(query->entity, link)))
                continue;
            assert_true(expected < found.count);
            assert_memory_equal(&found.links[expected], &link, sizeof link);
            assert_int_equal(found.left_out == expected, is_target);
            is_echo = is_echo || (u == query->target.other && !is_target);
            expected++;
        }
    assert_int_equal(found.count, expected);
    assert_int_equal(kg__query_is_echo(queries, query), is_echo);
    assert_int_equal(kg__query_facts(queries, query), expected - (found.left_out != KG_NOTHING));
    assert_true(kg__query_is_embedded(queries, query, &(kg_params){.dim = 1}));
}

static void check_part(const kg_dataset *dataset, kg_part part) {
    const kg_triples *facts = &dataset->parts[part];
    kg_queries queries;
    kg_error error = {0};
    assert_ok(kg__queries_make(&queries, dataset, part, &error), &error);
    assert_true(queries.unseen && queries.new_graph);
    assert_int_equal(queries.count, 2 * facts->count);
    assert_int_equal(queries.candidates, dataset->graph_entities.count);
    for (size_t i = 0; i < queries.count; i++) {
        const kg_query *query = &queries.list[i];
        kg_triple fact = fact_of(query->entity, query->target);
        assert_memory_equal(&fact, &facts->items[i / 2], sizeof fact);
        assert_int_equal(kg_directed_end(query->target.directed), i % 2 == 0 ? KG_HEAD : KG_TAIL);
        check_known(dataset, query);
        check_links(dataset, &queries, query);
    }
    kg_dropped dropped = kg__queries_drop_known(&queries, dataset, &dataset->entities);
    assert_int_equal(dropped.queries, 0);
    assert_int_equal(queries.count, 2 * facts->count);
    kg__queries_free(&queries);
}

/* Few entities, so that facts are reflexive, in several parts and between the same entities; names
 * of the training graph return. */
static void make_random(kg_dataset *dataset, uint64_t *random) {
    static char facts[32000];
    size_t used = (size_t)snprintf(facts, sizeof facts, "e0 r0 e1\ne1 r1 e2\ne2 r2 e0\n\n\n\n\n");
    uint64_t entities = 1 + next_below(random, 20);
    for (kg_part part = KG_GRAPH; part < KG_PART_COUNT; part++) {
        facts[used++] = '\n';
        uint64_t count = 1 + next_below(random, 60);
        for (uint64_t i = 0; i < count; i++)
            used += (size_t)snprintf(
                facts + used, 32, "e%ju r%ju e%ju\n", (uintmax_t)next_below(random, entities),
                (uintmax_t)next_below(random, 3), (uintmax_t)next_below(random, entities));
    }
    facts[used] = '\0';
    make_dataset(dataset, facts);
}

static void test_random(void **state) {
    (void)state;
    uint64_t random = 17;
    for (int i = 0; i < 200; i++) {
        kg_dataset dataset;
        make_random(&dataset, &random);
        check_part(&dataset, KG_GRAPH_VALID);
        check_part(&dataset, KG_GRAPH_TEST);
        kg__dataset_close(&dataset);
    }
}

/* An entity that is only asked about is a candidate, and known by nothing. */
static void test_without_facts(void **state) {
    (void)state;
    kg_dataset dataset;
    kg_queries queries;
    kg_error error = {0};
    make_dataset(&dataset, "a r b\n\n\n\n\n\nn r o\n\n\nx r n\n");
    assert_ok(kg__queries_make(&queries, &dataset, KG_GRAPH_TEST, &error), &error);
    assert_int_equal(queries.count, 2);
    assert_int_equal(queries.candidates, 3);
    assert_int_equal(queries.list[0].entity, find_name(&dataset.graph_entities, "x"));
    assert_int_equal(kg__query_facts(&queries, &queries.list[0]), 0);
    assert_int_equal(kg__query_facts(&queries, &queries.list[1]), 1);
    kg__queries_free(&queries);
    kg__dataset_close(&dataset);
}

/* Counts of the new graph's facts rank its entities, those of training have no part in it.
 *
 * Known: n r o, n s o, p r o, q r p. Asked: p r q, from both ends. By popularity o 3, n and p 2,
 * q 1; as tails of r, o 2 and p 1; as heads n, p and q 1. For the tail, o is filtered. Another fact
 * links p and q. */
static void test_baselines(void **state) {
    (void)state;
    static const struct {
        kg_baseline baseline;
        double ranks[2];
    } cases[] = {{KG_POPULARITY, {3, 2.5}}, {KG_RELATION_POPULARITY, {3, 1.5}}, {KG_ECHO, {1, 1}}};
    kg_dataset dataset;
    kg_queries queries;
    kg_error error = {0};
    make_dataset(&dataset, "q r b\nq r c\nq s d\n\n\n\n\n\n"
                           "n r o\nn s o\np r o\nq r p\n\n\np r q\n");
    assert_ok(kg__queries_make(&queries, &dataset, KG_GRAPH_TEST, &error), &error);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double ranks[2];
        assert_ok(
            kg__baseline_rank(ranks, cases[i].baseline, &queries, &dataset, KG_REALISTIC, &error),
            &error);
        for (size_t k = 0; k < 2; k++)
            if (ranks[k] != cases[i].ranks[k])
                fail_msg("baseline %zu, query %zu: expected %g, found %g", i, k, cases[i].ranks[k],
                         ranks[k]);
    }
    kg__queries_free(&queries);
    kg__dataset_close(&dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_without_facts),
        cmocka_unit_test(test_baselines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
