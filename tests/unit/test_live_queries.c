/* Queries about entities that came later to a live graph: none knows its own fact, by whatever way;
 * an entity that is alone has the ranks that it has in an evaluation without a live graph; and the
 * number of threads does not matter. */
#include "live_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/live.h"
#include "model/match_ids.h"
#include "rank/rank.h"

#define CAME 12

/* Each later entity has two facts or more with the models' own, and some with each other. */
static fact_set *make_facts(uint64_t seed) {
    fact_set *out = make_base();
    for (size_t v = OWN; v < OWN + CAME; v++) {
        for (size_t i = 0; i < 2 + v % 3; i++)
            out->has[v][next_random(&seed) % RELATIONS][next_random(&seed) % OWN] = true;
        out->has[next_random(&seed) % OWN][next_random(&seed) % RELATIONS][v] = true;
        size_t other = OWN + next_random(&seed) % CAME;
        if (other == v)
            continue;
        out->has[v][next_random(&seed) % RELATIONS][other] = true;
        out->has[other][next_random(&seed) % RELATIONS][v] |= v % 2 == 0;
    }
    return out;
}

/* A live graph with these facts, a snapshot of it, and the queries about what came later. */
struct world {
    kg_live *live;
    kg_model *snapshot;
    kg_queries queries;
};

static struct world open_world(const kg_model *model, const fact_set *base, const fact_set *facts) {
    struct world world = {.live = open_live(model)};
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, world.live, NULL), NULL);
    collect_changes(changes, base, facts);
    commit(changes, NULL);
    kg_changes_close(changes);
    world.snapshot = snapshot_of(world.live);
    assert_ok(kg__queries_make_later(&world.queries, world.snapshot, NULL), NULL);
    return world;
}

static void close_world(struct world *world) {
    kg__queries_free(&world->queries);
    kg_model_close(world->snapshot);
    kg_live_close(world->live);
}

static double *rank_both(double *own, const kg_queries *queries, const kg_model *model,
                         const kg_params *params, int threads) {
    kg_rank_options options = {.threads = threads, .own_ranks = own};
    const kg_aggregate_overrides as_trained = {0};
    double *ranks = must_allocate(queries->count, sizeof *ranks);
    assert_ok(kg__aggregate_choose(&options.embedding.aggregate, &as_trained, model, NULL), NULL);
    assert_ok(kg__rank(ranks, queries, params, &options, NULL), NULL);
    return ranks;
}

static double *rank(const kg_queries *queries, const kg_model *model, const kg_params *params,
                    int threads) {
    return rank_both(NULL, queries, model, params, threads);
}

/* The number of an entity that a snapshot has an id of. */
static size_t number_of(const kg_model *snapshot, kg_id id) {
    for (size_t i = 0; i < ALL; i++)
        if (kg_model_find_entity(snapshot, name_of(i)) == id)
            return i;
    fail_msg("no entity has the id %ju", (uintmax_t)id);
    return 0;
}

/* ---- Without the fact ---- */

/* The rank of the same answer, where the fact is not in the graph. */
static double rank_without(const kg_model *model, const fact_set *base, const fact_set *facts,
                           const struct world *whole, const kg_query *query) {
    size_t entity = number_of(whole->snapshot, query->entity);
    size_t answer = number_of(whole->snapshot, query->target.other);
    kg_directed directed = query->target.directed;
    bool is_head = kg_directed_end(directed) == KG_HEAD;
    fact_set *others = must_allocate(1, sizeof *others);
    *others = *facts;
    others->has[is_head ? entity : answer][directed / 2][is_head ? answer : entity] = false;
    struct world world = open_world(model, base, others);
    kg_id id = kg_model_find_entity(world.snapshot, name_of(entity));
    const kg_entity_facts *known = kg__overlay_find(world.snapshot->known.overlay, id);
    kg_query asked = {.entity = id,
                      .target = {directed, kg_model_find_entity(world.snapshot, name_of(answer))},
                      .position = known->link_count}; /* none is left out */
    size_t known_count = 0;
    asked.known = kg__links_run(known->known, known->known_count, directed, &known_count);
    asked.known_count = (uint32_t)known_count;
    kg_queries one = world.queries;
    one.list = &asked;
    one.count = 1;
    double *ranks = rank(&one, model, &world.snapshot->params, 1);
    double out = ranks[0];
    free(ranks);
    close_world(&world);
    free(others);
    return out;
}

static void no_query_knows_its_fact(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *facts = make_facts(3);
    for (size_t i = 0; i < MODELS; i++) {
        struct world whole = open_world(models[i], base, facts);
        double *ranks = rank(&whole.queries, models[i], &whole.snapshot->params, 1);
        size_t later = 0;
        for (size_t q = 0; q < whole.queries.count; q++) {
            const kg_query *query = &whole.queries.list[q];
            later += query->target.other >= OWN;
            if (IS_SANITIZED && q % 5 != 0)
                continue;
            assert_float_equal(ranks[q], rank_without(models[i], base, facts, &whole, query), 0);
        }
        assert_true(later >= (size_t)2 * CAME && later < whole.queries.count / 2);
        free(ranks);
        close_world(&whole);
    }
    free(facts);
    free(base);
}

/* ---- Among the model's own ---- */

/* The rank where all that came later is left out like known answers. */
static double rank_filtered(const kg_model *model, const struct world *world,
                            const kg_query *query) {
    size_t all = world->snapshot->entities.count;
    kg_link *known = must_allocate(query->known_count + all, sizeof *known);
    kg_query asked = *query;
    kg_queries one = world->queries;
    asked.known_count = 0;
    for (size_t i = 0; i < query->known_count && query->known[i].other < OWN; i++)
        known[asked.known_count++] = query->known[i];
    for (kg_id later = OWN; later < all; later++)
        if (later != query->entity)
            known[asked.known_count++] = (kg_link){query->target.directed, later};
    asked.known = known;
    one.list = &asked;
    one.count = 1;
    double *ranks = rank(&one, model, &world->snapshot->params, 1);
    double out = ranks[0];
    free(ranks);
    free(known);
    return out;
}

static void own_ranks_are_those_without_what_came_later(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *facts = make_facts(5);
    for (size_t i = 0; i < MODELS; i++) {
        struct world world = open_world(models[i], base, facts);
        double *own = must_allocate(world.queries.count, sizeof *own);
        double *ranks = rank_both(own, &world.queries, models[i], &world.snapshot->params, 1);
        size_t better = 0;
        for (size_t q = 0; q < world.queries.count; q++) {
            const kg_query *query = &world.queries.list[q];
            if (query->target.other >= OWN)
                continue;
            assert_float_equal(own[q], rank_filtered(models[i], &world, query), 0);
            better += own[q] < ranks[q];
        }
        assert_true(better > 0);
        free(own);
        free(ranks);
        close_world(&world);
    }
    free(facts);
    free(base);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *facts = make_facts(4);
    for (size_t i = 0; i < MODELS; i++) {
        struct world world = open_world(models[i], base, facts);
        double *one = rank(&world.queries, models[i], &world.snapshot->params, 1);
        double *three = rank(&world.queries, models[i], &world.snapshot->params, 3);
        assert_memory_equal(one, three, world.queries.count * sizeof *one);
        free(one);
        free(three);
        close_world(&world);
    }
    free(facts);
    free(base);
}

/* ---- Alone ---- */

static void add_fact(kg_dataset *dataset, size_t h, size_t r, size_t t) {
    kg_text head = name_of(h);
    kg_text tail = name_of(t);
    kg_text relation = kg_model_relation_name(models[0], (kg_id)r);
    assert_ok(kg__dataset_add_one(dataset, kg__name_of(head.bytes, head.length),
                                  kg__name_of(relation.bytes, relation.length),
                                  kg__name_of(tail.bytes, tail.length), NULL),
              NULL);
}

/* The base, and as the test part the facts of one entity with it. Both sets number relations as
 * model 0 does. */
static void make_alone(kg_dataset *dataset, fact_set *alone, const fact_set *facts, size_t v) {
    assert_ok(kg__dataset_open(dataset, NULL), NULL);
    for (int is_test = 0; is_test < 2; is_test++) {
        for (size_t i = 0; i < (size_t)ALL * RELATIONS * ALL; i++) {
            size_t h = i / ALL / RELATIONS;
            size_t t = i % ALL;
            bool is_its = (h == v && t < OWN) || (t == v && h < OWN);
            if (!facts->has[h][i / ALL % RELATIONS][t])
                continue;
            if (is_test ? is_its : h < OWN && t < OWN)
                add_fact(dataset, h, i / ALL % RELATIONS, t);
            alone->has[h][i / ALL % RELATIONS][t] |= is_its;
        }
        assert_ok(kg__dataset_enter(dataset, KG_UNSEEN_TEST, NULL), NULL);
    }
    assert_ok(kg__dataset_finish(dataset, NULL), NULL);
}

static void who_is_alone_has_the_ranks_of_an_evaluation(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *facts = make_facts(5);
    for (size_t i = 0; i < MODELS; i++)
        for (size_t v = OWN; v < OWN + CAME; v++) {
            kg_dataset dataset;
            kg_aligned aligned;
            kg_queries queries;
            fact_set *alone = make_base();
            make_alone(&dataset, alone, facts, v);
            struct world world = open_world(models[i], base, alone);
            assert_ok(kg__model_align(&aligned, models[i], &dataset, KG_UNSEEN_TEST, NULL), NULL);
            assert_ok(kg__queries_make(&queries, aligned.dataset, KG_UNSEEN_TEST, NULL), NULL);
            double *expected = rank(&queries, models[i], &aligned.params, 1);
            double *found = rank(&world.queries, models[i], &world.snapshot->params, 1);
            assert_int_equal(world.queries.count, queries.count);
            for (size_t q = 0; q < queries.count; q++) {
                assert_memory_equal(&queries.list[q].target, &world.queries.list[q].target,
                                    sizeof(kg_link));
                assert_float_equal(found[q], expected[q], 0);
            }
            free(expected);
            free(found);
            kg__queries_free(&queries);
            kg__aligned_free(&aligned);
            kg__dataset_close(&dataset);
            close_world(&world);
            free(alone);
        }
    free(facts);
    free(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_query_knows_its_fact),
        cmocka_unit_test(own_ranks_are_those_without_what_came_later),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(who_is_alone_has_the_ranks_of_an_evaluation),
    };
    return cmocka_run_group_tests(tests, open_live_world, close_live_world);
}
