/* Ranking in tiles against ranking the plain way: every candidate in turn, by the same dot product.
 * They must agree on every rank: with many ties, with numbers that are none, with any number of
 * threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "give_term.h"
#include "math/linalg.h"
#include "math/vector.h"
#include "rank/breakdown.h"
#include "rank/rank.h"
#include "some_propagation.h"
#include "terms/echo.h"

/* ---- The plain way ---- */

static bool is_known(const kg_query *question, kg_id candidate) {
    for (size_t i = 0; i < question->known_count; i++)
        if (question->known[i].other == candidate)
            return true;
    return false;
}

/* What candidates get beside the product: all of them, and some of them on top. */
struct extra {
    real *offsets;
    real *bonuses;
};

static real score_plainly(const real *vector, const kg_params *params, const struct extra *extra,
                          kg_id u) {
    real score = kg__dot(kg__entity_row(params, u), vector, params->dim);
    score += extra->offsets[u];
    score += extra->bonuses[u];
    return score;
}

static double rank_plainly(const kg_query *question, const real *vector, const kg_params *params,
                           const struct extra *extra, size_t candidates, kg_ties ties) {
    real goal = score_plainly(vector, params, extra, question->target.other);
    uint64_t higher = 0;
    uint64_t equal = 0;
    for (kg_id u = 0; u < candidates; u++) {
        if (is_known(question, u))
            continue;
        real score = score_plainly(vector, params, extra, u);
        if (score == goal)
            equal++;
        else if (!(score < goal))
            higher++;
    }
    return kg__rank_of(higher, equal, ties);
}

/* The facts of the question's entity, but for the asked one. */
static size_t keep_others(kg_link *others, const kg_queries *questions, const kg_query *question) {
    const kg_link *links = kg__adjacency_links(&questions->adjacency, question->entity);
    size_t count = 0;
    for (size_t i = 0; i <= kg__query_facts(questions, question); i++)
        if (i != question->position)
            others[count++] = links[i];
    return count;
}

/* An unseen entity is embedded from its other facts by loading just those. */
static void ask_plainly(real *vector, const kg_queries *questions, const kg_query *question,
                        const kg_params *params, const kg_aggregate_options *options) {
    const real *z = NULL;
    real *own = calloc(params->dim, sizeof *own);
    kg_link *others = calloc(kg__query_facts(questions, question) + 1, sizeof *others);
    if (questions->unseen) {
        size_t count = keep_others(others, questions, question);
        kg_aggregate aggregate;
        kg_aggregate_use use = {.links = others,
                                .count = count,
                                .queries = &question->target.directed,
                                .query_count = 1};
        kg_arena arena = {0};
        assert_int_equal(kg__aggregate_load(&aggregate, options, params, &arena, &use, NULL),
                         KG_OK);
        kg__aggregate_forward(&aggregate, own, (kg_left_out){NULL, 0});
        kg__arena_free(&arena);
        z = own;
    } else {
        z = kg__entity_row(params, question->entity);
    }
    kg__query_vector_adjoint(params, vector, question->target.directed, z);
    free(own);
    free(others);
}

/* Of an entity that never had the fact that is asked for; one that is asked by its row has none. */
static void add_extra_plainly(struct extra *extra, const kg_queries *questions,
                              const kg_query *question, const kg_params *params,
                              const struct some_propagation *propagation, size_t candidates,
                              bool is_graft) {
    kg_directed asked = question->target.directed;
    double *bonuses = calloc(candidates, sizeof *bonuses);
    kg_link *others = calloc(kg__query_facts(questions, question) + 1, sizeof *others);
    size_t count = keep_others(others, questions, question);
    const kg_term_view *echoes = &params->terms[kg__term_number(&kg__term_echo)];
    const kg_echo *echo = echoes->counted;
    for (size_t i = 0; i < count && questions->unseen && is_graft && echo != NULL; i++) {
        uint32_t pair = kg__pairs_find(&echo->pairs, asked, others[i].directed);
        if (pair != KG_NO_PAIR)
            bonuses[others[i].other] += (double)echoes->values[0][pair];
    }
    bool is_propagated = propagation != NULL && questions->unseen;
    if (is_propagated)
        propagate_plainly(bonuses, propagation, KG_NO_ID, others, count, KG_NOTHING, asked);
    for (kg_id u = 0; u < candidates; u++) {
        extra->bonuses[u] = (real)bonuses[u];
        extra->offsets[u] = is_propagated ? propagation_prior(propagation, asked, u) : 0;
    }
    free(bonuses);
    free(others);
}

/* ---- Worlds ---- */

enum filling { INTEGERS, REALS, CONSTANTS, HOLES };

struct world {
    kg_dataset dataset;
    kg_params params;
    real *entities;
    real *relations;
    const struct some_propagation *propagation; /* NULL: there is none */
};

static void add_fact(kg_dataset *dataset, const char *head, uint64_t relation, const char *tail) {
    char name[32];
    snprintf(name, sizeof name, "r%ju", (uintmax_t)relation);
    assert_int_equal(kg__dataset_add_one(dataset, kg__name_of(head, strlen(head)),
                                         kg__name_of(name, strlen(name)),
                                         kg__name_of(tail, strlen(tail)), NULL),
                     KG_OK);
}

static uint64_t draw(uint64_t limit, uint64_t *position) {
    return kg__random_below(limit, 7, KG_STREAM_GENERATE_TAIL, (*position)++);
}

static real value(enum filling filling, size_t row, uint64_t *position) {
    if (filling == CONSTANTS)
        return 1;
    if (filling == HOLES && row % 17 == 3)
        return row % 2 == 0 ? (real)NAN : (real)INFINITY;
    if (filling == REALS)
        return (real)(2 * kg__random_unit(7, KG_STREAM_GENERATE_TAIL, (*position)++) - 1);
    return (real)draw(5, position) - 2; /* small whole numbers: every product is exact */
}

/* A random graph of some entities, facts in all parts, and embeddings. */
static void make_world(struct world *world, size_t entities, size_t dim, enum filling filling) {
    static const size_t sizes[KG_GRAPH] = {600, 40, 40, 60, 60};
    kg_dataset *dataset = &world->dataset;
    uint64_t position = 0;
    *world = (struct world){0};
    assert_int_equal(kg__dataset_open(dataset, NULL), KG_OK);
    for (kg_part part = 0; part < KG_GRAPH; part++) {
        assert_int_equal(kg__dataset_enter(dataset, part, NULL), KG_OK);
        for (size_t i = 0; i < sizes[part]; i++) {
            char head[32];
            char tail[32];
            bool unseen = part >= KG_UNSEEN_VALID;
            size_t known = unseen ? kg__dataset_in_sample(dataset) : entities;
            snprintf(head, sizeof head, "e%ju",
                     (uintmax_t)(i < entities ? i : draw(known, &position)));
            if (unseen)
                snprintf(head, sizeof head, "u%d-%zu", (int)part, i / 6);
            uint64_t other = draw(known, &position);
            if (unseen) {
                kg_name name = kg__names_get(&dataset->entities, (kg_id)other);
                snprintf(tail, sizeof tail, "%.*s", (int)name.length, name.bytes);
            } else {
                snprintf(tail, sizeof tail, "e%ju", (uintmax_t)other);
            }
            bool turned = draw(2, &position) == 0;
            add_fact(dataset, turned ? tail : head, part == KG_TRAIN ? i % 3 : draw(3, &position),
                     turned ? head : tail);
        }
    }
    assert_int_equal(kg__dataset_finish(dataset, NULL), KG_OK);
    size_t rows = kg__dataset_in_sample(dataset);
    world->entities = calloc(rows * dim, sizeof *world->entities);
    world->relations = calloc(dataset->relations.count * dim, sizeof *world->relations);
    for (size_t i = 0; i < rows * dim; i++)
        world->entities[i] = value(filling, i / dim, &position);
    for (size_t i = 0; i < dataset->relations.count * dim; i++)
        world->relations[i] = value(filling == HOLES ? INTEGERS : filling, i / dim, &position);
    world->params = (kg_params){.scoring = kg__scoring_find("distmult"),
                                .entities = world->entities,
                                .relations = world->relations,
                                .dim = dim};
}

static void free_world(struct world *world) {
    kg__dataset_close(&world->dataset);
    free(world->entities);
    free(world->relations);
}

/* ---- Tests ---- */

static double *rank_fast(const struct world *world, const kg_queries *questions,
                         const kg_rank_options *options) {
    double *ranks = calloc(questions->count, sizeof *ranks);
    assert_int_equal(kg__rank(ranks, questions, &world->params, options, NULL), KG_OK);
    return ranks;
}

static void check_part(const struct world *world, kg_part part, const char *aggregator) {
    size_t candidates = kg__dataset_in_sample(&world->dataset);
    kg_rank_options options = {.embedding.aggregate =
                                   kg__aggregate_usual(kg__aggregator_find(aggregator))};
    kg_queries questions;
    assert_int_equal(kg__queries_make(&questions, &world->dataset, part, NULL), KG_OK);
    assert_true(questions.count > 0);
    real *vectors = calloc(questions.count * world->params.dim, sizeof *vectors);
    size_t *starts = calloc(questions.count + 1, sizeof *starts);
    kg_query_embedder embedder;
    size_t done = 0;
    kg_params params = world->params;
    double *gram = NULL;
    assert_int_equal(
        kg__gram_make(&gram, options.embedding.aggregate.aggregator, &params, candidates, NULL),
        KG_OK);
    params.gram = gram;
    assert_int_equal(kg__query_embedder_open(&embedder, &params, &options.embedding, NULL), KG_OK);
    assert_int_equal(kg__query_embedder_vectors(&embedder, vectors, starts, &done, &questions, 0,
                                                questions.count, NULL),
                     KG_OK);
    kg__query_embedder_close(&embedder);
    kg__free(gram);
    struct extra *extras = calloc(questions.count, sizeof *extras);
    for (size_t i = 0; i < questions.count; i++) {
        extras[i] =
            (struct extra){calloc(candidates, sizeof(real)), calloc(candidates, sizeof(real))};
        add_extra_plainly(&extras[i], &questions, &questions.list[i], &world->params,
                          world->propagation, candidates, strcmp(aggregator, "graft") == 0);
    }
    double *expected = calloc(questions.count, sizeof *expected);
    for (options.ties = KG_REALISTIC; options.ties <= KG_REFERENCE; options.ties++) {
        for (size_t i = 0; i < questions.count; i++)
            expected[i] = rank_plainly(&questions.list[i], vectors + i * world->params.dim,
                                       &world->params, &extras[i], candidates, options.ties);
        for (options.threads = 1; options.threads <= 7; options.threads += 3) {
            double *ranks = rank_fast(world, &questions, &options);
            for (size_t i = 0; i < questions.count; i++)
                assert_true(ranks[i] == expected[i]);
            free(ranks);
        }
    }
    free(expected);
    for (size_t i = 0; i < questions.count; i++) {
        free(extras[i].offsets);
        free(extras[i].bonuses);
    }
    free(extras);
    free(vectors);
    free(starts);
    kg__queries_free(&questions);
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

/* Pairs of relations as they occur in a graph, all echoes, worth what there is room for. */
static void make_graft(kg_graft *graft, kg_echo *echo, const kg_adjacency *graph, size_t relations,
                       real *values) {
    *graft = (kg_graft){.power = 0.5, .weights = values};
    assert_int_equal(kg__pairs_make(&graft->weighted, graph, 2 * relations, NULL), KG_OK);
    assert_int_equal(kg__pairs_make_echoes(&echo->pairs, graph, 2 * relations, 1, 0, NULL), KG_OK);
}

static void check_echo(size_t entities, size_t dim, enum filling filling) {
    struct world world;
    kg_adjacency graph;
    kg_graft graft;
    kg_echo echo = {0};
    real values[64];
    make_world(&world, entities, dim, filling);
    assert_int_equal(kg__adjacency_make(&graph, &world.dataset.parts[KG_TRAIN],
                                        kg__dataset_in_sample(&world.dataset), KG_WITHOUT_REFLEXIVE,
                                        NULL),
                     KG_OK);
    for (size_t i = 0; i < 64; i++) /* halves, so that sums of small numbers tie */
        values[i] = (real)(i % 5) / 2;
    make_graft(&graft, &echo, &graph, world.dataset.in_sample_relations, values);
    give_term(&world.params, &kg__term_echo, &echo, values, 0);
    world.params.graft = &graft;
    check_part(&world, KG_TEST, "eravg");
    check_part(&world, KG_UNSEEN_VALID, "ls");
    check_part(&world, KG_UNSEEN_TEST, "graft");
    kg__pairs_free(&graft.weighted);
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

/* A vector that is the same for everybody is a baseline: it knows nothing of other terms. */
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
    kg_queries questions;
    assert_int_equal(kg__queries_make(&questions, &world.dataset, KG_UNSEEN_TEST, NULL), KG_OK);
    double *without = rank_fast(&world, &questions, &options);
    give_propagation(&world.params, &some);
    double *with = rank_fast(&world, &questions, &options);
    assert_memory_equal(with, without, questions.count * sizeof *with);
    free(with);
    free(without);
    kg__queries_free(&questions);
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

/* Nobody does well by saying the same of everyone, or nothing. */
static void test_constant_and_nan_models(void **state) {
    (void)state;
    struct world world;
    make_world(&world, 400, 4, CONSTANTS);
    kg_rank_options options = {.embedding.aggregate = {.aggregator = kg__aggregator_find("eravg"),
                                                       .ls_lambda = 1,
                                                       .ls_rows = KG_LS_NORMALIZED},
                               .threads = 1};
    kg_queries questions;
    assert_int_equal(kg__queries_make(&questions, &world.dataset, KG_TEST, NULL), KG_OK);
    double *ranks = rank_fast(&world, &questions, &options);
    size_t rows = kg__dataset_in_sample(&world.dataset);
    for (size_t i = 0; i < questions.count; i++) {
        double n = (double)(rows - questions.list[i].known_count + 1);
        assert_true(ranks[i] == (n + 1) / 2);
    }
    free(ranks);
    for (size_t i = 0; i < rows * 4; i++)
        world.entities[i] = (real)NAN;
    ranks = rank_fast(&world, &questions, &options);
    for (size_t i = 0; i < questions.count; i++)
        assert_true(ranks[i] == (double)(rows - questions.list[i].known_count + 1));
    free(ranks);
    kg__queries_free(&questions);
    free_world(&world);
}

/* In-sample entities that are asked by facts, as unseen ones whose facts are those of training and
 * the one that is asked for. */
static kg_queries as_unseen(const kg_queries *seen, const kg_dataset *dataset, size_t i) {
    kg_query question = seen->list[i];
    kg_id entity = question.entity;
    kg_directed directed = question.target.directed;
    bool is_head = kg_directed_end(directed) == KG_HEAD;
    kg_triple asked = {is_head ? entity : question.target.other, directed / 2,
                       is_head ? question.target.other : entity};
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
    out.list[0] = question;
    out.list[0].position =
        (uint32_t)kg__links_find(kg__adjacency_links(&out.adjacency, entity),
                                 kg__adjacency_degree(&out.adjacency, entity), question.target);
    return out;
}

/* A part's questions, asked by facts: who has no others is asked by the row. The test part is the
 * beginning of the training part, too. */
static void test_in_sample_by_facts(void **state) {
    (void)state;
    static const char *const aggregators[] = {"eravg", "ls"};
    struct world world;
    make_world(&world, 700, 12, REALS);
    kg_triples *test = &world.dataset.parts[KG_TEST];
    memcpy(test->items, world.dataset.parts[KG_TRAIN].items, test->count / 2 * sizeof *test->items);
    kg_queries questions;
    assert_int_equal(kg__queries_make(&questions, &world.dataset, KG_TEST, NULL), KG_OK);
    assert_int_equal(kg__queries_give_facts(&questions, &world.dataset, NULL), KG_OK);
    real *vectors = calloc(questions.count * 12, sizeof *vectors);
    size_t *starts = calloc(questions.count + 1, sizeof *starts);
    size_t by_row = 0;
    for (size_t a = 0; a < 2; a++) {
        kg_aggregate_options options = kg__aggregate_usual(kg__aggregator_find(aggregators[a]));
        kg_query_embedder embedder;
        size_t done = 0;
        assert_int_equal(kg__query_embedder_open(&embedder, &world.params,
                                                 &(kg_embedding){.aggregate = options}, NULL),
                         KG_OK);
        assert_int_equal(kg__query_embedder_vectors(&embedder, vectors, starts, &done, &questions,
                                                    0, questions.count, NULL),
                         KG_OK);
        kg__query_embedder_close(&embedder);
        for (size_t i = 0; i < questions.count; i++) {
            kg_queries one = as_unseen(&questions, &world.dataset, i);
            one.unseen = kg__adjacency_degree(&one.adjacency, questions.list[i].entity) > 1;
            real expected[12];
            ask_plainly(expected, &one, one.list, &world.params, &options);
            for (size_t k = 0; k < 12; k++)
                assert_true(fabs((double)(vectors[i * 12 + k] - expected[k])) < 1e-4);
            assert_true(kg__query_is_embedded(&questions, &questions.list[i], &world.params) ==
                        one.unseen);
            by_row += !one.unseen;
            kg__queries_free(&one);
        }
    }
    assert_true(by_row > 0 && by_row < 2 * questions.count);
    free(vectors);
    free(starts);
    kg__queries_free(&questions);
    free_world(&world);
}

/* The vector of each question is that of the entity without the asked fact. */
static void test_leave_one_out(void **state) {
    (void)state;
    static const char *const aggregators[] = {"eavg", "eravg", "ls", "ls-u"};
    struct world world;
    make_world(&world, 300, 12, REALS);
    kg_queries questions;
    assert_int_equal(kg__queries_make(&questions, &world.dataset, KG_UNSEEN_TEST, NULL), KG_OK);
    real *vectors = calloc(questions.count * 12, sizeof *vectors);
    size_t *starts = calloc(questions.count + 1, sizeof *starts);
    for (size_t a = 0; a < 4; a++) {
        kg_aggregate_options options = {.aggregator = kg__aggregator_find(aggregators[a]),
                                        .ls_lambda = (real)0.1,
                                        .ls_rows = KG_LS_NORMALIZED};
        kg_query_embedder embedder;
        size_t done = 0;
        assert_int_equal(kg__query_embedder_open(&embedder, &world.params,
                                                 &(kg_embedding){.aggregate = options}, NULL),
                         KG_OK);
        assert_int_equal(kg__query_embedder_vectors(&embedder, vectors, starts, &done, &questions,
                                                    0, questions.count, NULL),
                         KG_OK);
        kg__query_embedder_close(&embedder);
        for (size_t i = 0; i < questions.count; i++) {
            real expected[12];
            ask_plainly(expected, &questions, &questions.list[i], &world.params, &options);
            for (size_t k = 0; k < 12; k++)
                assert_true(fabs((double)(vectors[i * 12 + k] - expected[k])) < 1e-4);
        }
    }
    free(vectors);
    free(starts);
    kg__queries_free(&questions);
    free_world(&world);
}

/* Groups of a report are made of all questions, each once. */
static void test_report(void **state) {
    (void)state;
    struct world world;
    make_world(&world, 300, 4, REALS);
    kg_rank_options options = {.embedding.aggregate = {.aggregator = kg__aggregator_find("eravg"),
                                                       .ls_lambda = 1,
                                                       .ls_rows = KG_LS_NORMALIZED},
                               .threads = 1};
    kg_queries questions;
    assert_int_equal(kg__queries_make(&questions, &world.dataset, KG_UNSEEN_TEST, NULL), KG_OK);
    double *ranks = rank_fast(&world, &questions, &options);
    kg_breakdown report;
    assert_int_equal(kg__breakdown_make(&report, &questions, ranks, 3, 4, NULL), KG_OK);
    double sum = 0;
    uint64_t echoes = 0;
    for (size_t i = 0; i < questions.count; i++) {
        sum += 1 / ranks[i];
        const kg_query *question = &questions.list[i];
        const kg_link *links = kg__adjacency_links(&questions.adjacency, question->entity);
        int same = 0;
        for (size_t k = 0; k <= kg__query_facts(&questions, question); k++)
            same += links[k].other == question->target.other;
        echoes += same > 1;
    }
    assert_true(fabs(report.all.mrr * (double)questions.count - sum) < 1e-9);
    assert_int_equal(report.echo.queries, echoes);
    assert_int_equal(report.echo.queries + report.fresh.queries, questions.count);
    assert_int_equal(report.by_side[0].queries + report.by_side[1].queries, questions.count);
    uint64_t in_bins = 0;
    for (size_t i = 0; i < report.bin_count; i++) {
        in_bins += report.bins[i].metrics.queries;
        assert_true(report.bins[i].fewest <= report.bins[i].most);
        assert_true(i == 0 || report.bins[i].fewest > report.bins[i - 1].most);
    }
    assert_int_equal(in_bins, questions.count);
    kg__breakdown_free(&report);
    free(ranks);
    kg__queries_free(&questions);
    free_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_small_numbers),
        cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_few_entities),
        cmocka_unit_test(test_constant_and_nan_models),
        cmocka_unit_test(test_in_sample_by_facts),
        cmocka_unit_test(test_leave_one_out),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_echo),
        cmocka_unit_test(test_propagation),
        cmocka_unit_test(test_average_has_no_propagation),
    };
    if (kg__linear_set_up(1, NULL) != KG_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
