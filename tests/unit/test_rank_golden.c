/* Ranks of a tiny graph's queries, against those of an independent implementation. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "math/linalg.h"
#include "rank/rank.h"

struct world {
    kg_dataset dataset;
    kg_params params;
    real *entities;
    real *relations;
};

static void free_world(struct world *world) {
    kg__dataset_close(&world->dataset);
    free(world->entities);
    free(world->relations);
}

static kg_name name_of(const json_t *string) {
    return kg__name_of(json_string_value(string), json_string_length(string));
}

static void add_golden(kg_dataset *dataset, const json_t *fact) {
    assert_int_equal(kg__dataset_add_one(dataset, name_of(json_array_get(fact, 0)),
                                         name_of(json_array_get(fact, 1)),
                                         name_of(json_array_get(fact, 2)), NULL),
                     KG_OK);
}

static void load_tiny(struct world *world, json_t *root) {
    static const char *const parts[] = {"unseen_valid", "unseen_test"};
    assert_int_equal(kg__dataset_open(&world->dataset, NULL), KG_OK);
    assert_int_equal(kg__dataset_enter(&world->dataset, KG_TRAIN, NULL), KG_OK);
    size_t i = 0;
    json_t *fact = NULL;
    json_array_foreach(json_object_get(root, "train"), i, fact) add_golden(&world->dataset, fact);
    for (int part = 0; part < 2; part++) {
        assert_int_equal(kg__dataset_enter(&world->dataset, KG_UNSEEN_VALID + (kg_part)part, NULL),
                         KG_OK);
        const char *name = NULL;
        json_t *facts = NULL;
        json_object_foreach(json_object_get(root, parts[part]), name, facts) {
            json_array_foreach(facts, i, fact) add_golden(&world->dataset, fact);
        }
    }
    assert_int_equal(kg__dataset_finish(&world->dataset, NULL), KG_OK);
    json_t *params[] = {json_object_get(root, "entity_embeddings"),
                        json_object_get(root, "relation_embeddings")};
    real **rows[] = {&world->entities, &world->relations};
    for (int t = 0; t < 2; t++) {
        size_t count = json_array_size(params[t]) * 8;
        *rows[t] = must_allocate(count, sizeof **rows[t]);
        for (i = 0; i < count; i++)
            (*rows[t])[i] =
                (real)json_number_value(json_array_get(json_array_get(params[t], i / 8), i % 8));
    }
    world->params = (kg_params){.scoring = kg__scoring_find("distmult"),
                                .entities = world->entities,
                                .relations = world->relations,
                                .dim = 8};
}

/* Which of the queries a golden one is. */
static size_t find_query(const struct world *world, const kg_queries *queries,
                         const json_t *query) {
    kg_id entity =
        kg__names_find(&world->dataset.entities, name_of(json_object_get(query, "unseen")));
    kg_id answer =
        kg__names_find(&world->dataset.entities, name_of(json_object_get(query, "answer")));
    kg_id relation =
        kg__names_find(&world->dataset.relations, name_of(json_object_get(query, "relation")));
    bool tail = strcmp(json_string_value(json_object_get(query, "missing_side")), "tail") == 0;
    kg_directed directed = kg_direct(relation, tail ? KG_HEAD : KG_TAIL);
    for (size_t i = 0; i < queries->count; i++) {
        const kg_query *found = &queries->list[i];
        if (found->entity == entity && found->target.other == answer &&
            found->target.directed == directed)
            return i;
    }
    fail_msg("no such query");
    return 0;
}

static void check_golden(const struct world *world, json_t *root, const json_t *golden) {
    json_t *lambda = json_object_get(golden, "ls_lambda");
    kg_rank_options options = {
        .embedding.aggregate = {.aggregator = kg__aggregator_find(
                                    json_string_value(json_object_get(golden, "aggregate"))),
                                .ls_lambda = json_is_number(lambda) ? json_number_value(lambda) : 1,
                                .ls_rows = KG_LS_NORMALIZED},
        .ties = KG_REFERENCE,
        .threads = 1,
    };
    for (kg_part part = KG_UNSEEN_VALID; part <= KG_UNSEEN_TEST; part++) {
        kg_queries queries;
        assert_int_equal(kg__queries_make(&queries, &world->dataset, part, NULL), KG_OK);
        double *ranks = must_allocate(queries.count, sizeof *ranks);
        assert_ok(kg__rank(ranks, &queries, &world->params, &options, NULL), NULL);
        size_t i = 0;
        json_t *query = NULL;
        json_array_foreach(json_object_get(root, "queries"), i, query) {
            const char *split = json_string_value(json_object_get(query, "split"));
            if ((strcmp(split, "valid") == 0) != (part == KG_UNSEEN_VALID))
                continue;
            const json_t *expected =
                json_array_get(json_object_get(golden, "ranks_reference_ties"), i);
            assert_true(ranks[find_query(world, &queries, query)] == json_number_value(expected));
        }
        free(ranks);
        kg__queries_free(&queries);
    }
}

static void test_golden(void **state) {
    (void)state;
    json_t *root = load_golden();
    if (root == NULL)
        skip();
    struct world world;
    load_tiny(&world, root);
    size_t i = 0;
    json_t *golden = NULL;
    json_array_foreach(json_object_get(root, "aggregators"), i, golden)
        check_golden(&world, root, golden);
    assert_true(i >= 4);
    free_world(&world);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
    if (kg__linear_set_up(1, NULL) != KG_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
