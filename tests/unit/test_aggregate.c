/* Aggregators against golden numbers, against finite differences, and against themselves computed
 * the long way: every model with every aggregator, in the precision that this is compiled for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "aggregate/aggregate_options.h"
#include "base/random.h"
#include "give_term.h"
#include "golden.h"
#include "math/linalg.h"
#include "support.h"

#ifdef KG_DOUBLE
#define EXACT 1e-9
#define STEP 1e-5
#define ROUGH 1e-6
#else
#define EXACT 1e-4
#define STEP 2e-3
#define ROUGH 3e-2
#endif

#define ENTITIES 40
#define RELATIONS 5
#define DIM 16
#define MOST_LINKS 30

#define QUERIES 3
#define MOST_USES 7
#define MOST_PAIRS (4 * RELATIONS * RELATIONS)

static const char *const names[] = {"eavg", "eravg", "ls", "ls-u", "graft"};

/* Parameters in the order of kg_grads, and the most numbers that they have. */
enum { ENTITY_ROWS, RELATION_ROWS, OWN_RELATION_ROWS, WEIGHTS, KINDS };
#define MOST_NUMBERS (ENTITIES * DIM)

/* A random model, an entity with links into it, queries about it, and a loss: the sum over uses
 * of the dot product of z with fixed numbers. */
struct world {
    real entities[ENTITIES * DIM];
    real relations[2 * RELATIONS * DIM];
    real own_relations[2 * RELATIONS * DIM];
    real weights[MOST_PAIRS];
    real directions[MOST_USES * DIM];
    kg_link links[MOST_LINKS];
    size_t count;
    kg_directed asked[QUERIES];
    kg_relation_weights relation_weights;
    kg_aggregate_options options;
    kg_params params;
};

/* What is asked and what must not be known. */
struct use {
    size_t query;
    kg_left_out left;
};

static real noise(uint64_t seed, uint64_t position) {
    return (real)(2 * kg__random_unit(seed, KG_STREAM_GENERATE_TAIL, position) - 1);
}

static void fill(real *values, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        values[i] = noise(seed, i);
}

/* Pairs of relations, as some facts have them: not all, so that some have no weight. */
static void make_pairs(kg_relation_weights *graft) {
    static const kg_triple facts[] = {{0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {5, 0, 0},
                                      {6, 1, 0}, {6, 4, 7}, {7, 4, 8}, {7, 2, 6}, {1, 3, 8}};
    kg_triples triples = {0};
    kg_adjacency graph;
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        assert_int_equal(kg__triples_push(&triples, facts[i], NULL), KG_OK);
    assert_int_equal(kg__adjacency_make(&graph, &triples, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL),
                     KG_OK);
    *graft = (kg_relation_weights){.power = 0.4};
    assert_int_equal(kg__pairs_make(&graft->param.pairs, &graph, (size_t)2 * RELATIONS, NULL),
                     KG_OK);
    assert_in_range(graft->param.pairs.count, 1, MOST_PAIRS - 1);
    kg__adjacency_free(&graph);
    kg__triples_free(&triples);
}

/* The world points into itself; so does a copy, after this. */
static void tie(struct world *world) {
    world->params.entities = world->entities;
    world->params.relations = world->relations;
    if (world->params.aggregate_relations != NULL)
        world->params.aggregate_relations = world->own_relations;
    give_weights(&world->params, &world->relation_weights, world->weights, WEIGHTS);
}

static void make_world(struct world *world, const char *model, const char *aggregator,
                       kg_ls_rows rows, size_t count, uint64_t seed) {
    fill(world->entities, COUNT_OF(world->entities), seed);
    fill(world->relations, COUNT_OF(world->relations), seed + 1);
    fill(world->directions, COUNT_OF(world->directions), seed + 2);
    fill(world->own_relations, COUNT_OF(world->own_relations), seed + 3);
    fill(world->weights, COUNT_OF(world->weights), seed + 4);
    for (size_t i = 0; i < count; i++)
        world->links[i] = (kg_link){(kg_directed)(i * 2 * RELATIONS / count), (kg_id)(i + 3)};
    world->count = count;
    world->asked[0] = 0; /* the three have pairs with some of the relations each, but 9 with few */
    world->asked[1] = 9;
    world->asked[2] = 3;
    world->options = kg__aggregate_defaults(kg__aggregator_find(aggregator));
    world->options.ls_rows = rows;
    world->params = (kg_params){.scoring = kg__scoring_find(model), .dim = DIM};
    make_pairs(&world->relation_weights);
    tie(world);
}

static void free_world(struct world *world) {
    kg__pairs_free(&world->relation_weights.param.pairs);
}

static void load(kg_aggregate *a, kg_arena *arena, const struct world *world,
                 size_t most_left_out) {
    kg_aggregate_use use = {.links = world->links,
                            .count = world->count,
                            .queries = world->asked,
                            .query_count = QUERIES,
                            .most_left_out = most_left_out};
    assert_int_equal(kg__aggregate_load(a, &world->options, &world->params, arena, &use, NULL),
                     KG_OK);
}

/* z of an entity that is loaded for this use alone. */
static void forward(const struct world *world, kg_arena *arena, real *z, struct use use) {
    kg_aggregate aggregate;
    kg__arena_reset(arena);
    load(&aggregate, arena, world, use.left.count);
    kg__aggregate_set_query(&aggregate, use.query);
    kg__aggregate_forward(&aggregate, z, use.left);
}

static double loss(const struct world *world, kg_arena *arena, const struct use *list,
                   size_t use_count) {
    double sum = 0;
    for (size_t i = 0; i < use_count; i++) {
        real z[DIM];
        forward(world, arena, z, list[i]);
        for (size_t k = 0; k < DIM; k++)
            sum += (double)z[k] * (double)world->directions[i * DIM + k] * (double)(i + 1);
    }
    return sum;
}

/* ---- Gradients ---- */

/* The shape and the numbers of a parameter. */
struct parameter {
    real *values;
    size_t rows;
    size_t columns;
};

static void list_parameters(struct parameter *out, struct world *world) {
    size_t relations = world->params.is_directed ? 2 * RELATIONS : RELATIONS;
    out[ENTITY_ROWS] = (struct parameter){world->entities, ENTITIES, DIM};
    out[RELATION_ROWS] = (struct parameter){world->relations, relations, DIM};
    out[OWN_RELATION_ROWS] = (struct parameter){world->own_relations, relations, DIM};
    out[WEIGHTS] = (struct parameter){world->weights, world->relation_weights.param.pairs.count, 1};
}

/* Adds up what goes to each row. */
static void add_up(double *sums, const kg_param_grads *own) {
    for (size_t i = 0; i < own->target_count; i++) {
        kg_grad_target target = own->targets[i];
        assert_true(target.row < own->rows && target.vector < own->vector_count);
        for (size_t k = 0; k < own->columns; k++)
            sums[target.row * own->columns + k] +=
                (double)own->vectors[target.vector * own->columns + k];
    }
}

static void open_grads(kg_grads *grads, const struct parameter *parameters) {
    *grads = (kg_grads){0};
    for (size_t i = 0; i < KINDS; i++)
        assert_int_equal(
            kg__grads_add_param(grads, parameters[i].rows, parameters[i].columns, NULL), KG_OK);
}

/* Goes forward and back by use i. */
static void learn(kg_aggregate *a, const struct world *world, const struct use *list, size_t i) {
    real z[DIM];
    real g[DIM];
    kg__aggregate_set_query(a, list[i].query);
    kg__aggregate_forward(a, z, list[i].left);
    for (size_t k = 0; k < DIM; k++)
        g[k] = world->directions[i * DIM + k] * (real)(i + 1);
    assert_int_equal(kg__aggregate_backward(a, g, list[i].left, NULL), KG_OK);
}

/* Those of all uses of an entity that is loaded once. */
static void find_gradients(const struct world *world, const struct parameter *parameters,
                           const struct use *list, size_t use_count, double (*sums)[MOST_NUMBERS]) {
    kg_aggregate a;
    kg_arena arena = {0};
    kg_grads grads;
    open_grads(&grads, parameters);
    load(&a, &arena, world, MOST_LINKS);
    for (size_t i = 0; i < use_count; i++)
        learn(&a, world, list, i);
    assert_int_equal(kg__aggregate_finish(&a, &grads, NULL), KG_OK);
    for (size_t i = 0; i < KINDS; i++)
        add_up(sums[i], &grads.params[i]);
    kg__grads_free(&grads);
    kg__arena_free(&arena);
}

static void check_parameter(const struct world *world, const struct parameter *parameter,
                            const char *name, const double *gradient, const struct use *list,
                            size_t use_count) {
    double scale = 0;
    size_t count = parameter->rows * parameter->columns;
    kg_arena arena = {0};
    for (size_t i = 0; i < count; i++)
        scale = fmax(scale, fabs(gradient[i]));
    for (size_t i = 0; i < count; i += IS_SANITIZED ? 3 : 1) {
        real *value = &parameter->values[i];
        real saved = *value;
        *value = saved + (real)STEP;
        double above = loss(world, &arena, list, use_count);
        double wide = (double)*value;
        *value = saved - (real)STEP;
        double below = loss(world, &arena, list, use_count);
        wide -= (double)*value;
        *value = saved;
        double expected = (above - below) / wide;
        if (!(fabs(expected - gradient[i]) <= ROUGH * (scale + 1)))
            fail_msg("%s %s, %zu links, %s, number %zu: %g by differences, %g computed",
                     world->params.scoring->name, world->options.aggregator->name, world->count,
                     name, i, expected, gradient[i]);
    }
    kg__arena_free(&arena);
}

/* All queries, with nothing left out, and with one fact or several. */
static const size_t one[] = {0};
static const size_t two[] = {1, 5};
static const size_t four[] = {0, 2, 3, 6};
static const struct use uses[MOST_USES] = {
    {0, {NULL, 0}}, {1, {one, 1}},  {2, {NULL, 0}}, {0, {one, 1}},
    {2, {two, 2}},  {1, {four, 4}}, {0, {two, 2}},
};

static void check_gradients(struct world *world) {
    static const char *const kinds[] = {"entities", "relations", "own relations", "weights"};
    size_t use_count = world->count < 7 ? 4 : MOST_USES;
    static double sums[KINDS][MOST_NUMBERS];
    struct parameter parameters[KINDS];
    memset(sums, 0, sizeof sums);
    list_parameters(parameters, world);
    find_gradients(world, parameters, uses, use_count, sums);
    for (size_t i = 0; i < KINDS; i++)
        check_parameter(world, &parameters[i], kinds[i], sums[i], uses, use_count);
}

static const size_t link_counts[] = {1, 2, 7, DIM, DIM + 9};

static void test_finite_differences(void **state) {
    (void)state;
    for (const kg_scoring *kind = kg__scorings; kind->name != NULL && !kind->is_encoded; kind++)
        for (size_t n = 0; n < COUNT_OF(names); n++)
            for (int rows = 0; rows < (strcmp(names[n], "ls") == 0 ? 2 : 1); rows++)
                for (size_t c = 0; c < COUNT_OF(link_counts); c += IS_SANITIZED ? 2 : 1) {
                    struct world world;
                    make_world(&world, kind->name, names[n], (kg_ls_rows)rows, link_counts[c],
                               7 + c);
                    check_gradients(&world);
                    free_world(&world);
                }
}

/* Relations with a row for each direction, or with rows of their own for facts, which then have all
 * of the gradient; and sums that are made afresh for each use. */
static void test_finite_differences_of_other_params(void **state) {
    (void)state;
    for (size_t n = 0; n < COUNT_OF(names); n++)
        for (size_t c = 0; c < COUNT_OF(link_counts); c += IS_SANITIZED ? 2 : 1)
            for (int way = 0; way < 3; way++) {
                struct world world;
                make_world(&world, "complex", names[n], KG_LS_NORMALIZED, link_counts[c], 17 + c);
                world.params.is_directed = way != 1;
                if (way != 0)
                    world.params.aggregate_relations = world.own_relations;
                world.options.is_exact = way == 2;
                check_gradients(&world);
                free_world(&world);
            }
}

/* Entities that are loaded at a time, in one arena, do not disturb each other, whatever the order
 * of their uses; and their gradients add up. */
static void test_several_entities(void **state) {
    (void)state;
    for (size_t n = 0; n < COUNT_OF(names); n++)
        for (size_t other_count = 1; other_count <= MOST_LINKS; other_count += 9) {
            static double apart[KINDS][MOST_NUMBERS];
            static double together[KINDS][MOST_NUMBERS];
            struct world world;
            struct world other;
            struct parameter parameters[KINDS];
            kg_aggregate a;
            kg_aggregate b;
            kg_arena arena = {0};
            kg_grads grads;
            make_world(&world, "complex", names[n], KG_LS_NORMALIZED, MOST_LINKS, 31);
            other = world;
            tie(&other);
            other.count = other_count;
            memset(apart, 0, sizeof apart);
            memset(together, 0, sizeof together);
            list_parameters(parameters, &world);
            find_gradients(&world, parameters, uses, MOST_USES, apart);
            find_gradients(&other, parameters, uses, 3, apart);
            open_grads(&grads, parameters);
            load(&a, &arena, &world, MOST_LINKS);
            load(&b, &arena, &other, MOST_LINKS);
            for (size_t i = 0; i < MOST_USES; i++) {
                learn(&a, &world, uses, i);
                if (i < 3)
                    learn(&b, &other, uses, i);
            }
            assert_int_equal(kg__aggregate_finish(&b, &grads, NULL), KG_OK);
            assert_int_equal(kg__aggregate_finish(&a, &grads, NULL), KG_OK);
            for (size_t i = 0; i < KINDS; i++) {
                add_up(together[i], &grads.params[i]);
                for (size_t k = 0; k < MOST_NUMBERS; k++)
                    assert_true(fabs(together[i][k] - apart[i][k]) <=
                                EXACT * (1 + fabs(apart[i][k])));
            }
            kg__grads_free(&grads);
            kg__arena_free(&arena);
            free_world(&world);
        }
}

/* Graft has weights that it has learned and others; queries differ. */
static void test_weights_depend_on_queries(void **state) {
    (void)state;
    struct world world;
    kg_arena arena = {0};
    real z[QUERIES][DIM];
    size_t known = 0;
    make_world(&world, "distmult", "graft", KG_LS_NORMALIZED, MOST_LINKS, 5);
    for (size_t q = 0; q < QUERIES; q++) {
        double expected[DIM] = {0};
        forward(&world, &arena, z[q], (struct use){q, {NULL, 0}});
        for (size_t i = 0; i < world.count; i++) {
            real row[DIM];
            uint32_t pair = kg__pairs_find(&world.relation_weights.param.pairs, world.asked[q],
                                           world.links[i].directed);
            known += pair != KG_NO_PAIR;
            double weight = pair == KG_NO_PAIR ? 1 : (double)world.weights[pair];
            kg__query_vector(&world.params, row, world.links[i].directed,
                             kg__entity_row(&world.params, world.links[i].other));
            for (size_t k = 0; k < DIM; k++)
                expected[k] += weight * (double)row[k] * pow(MOST_LINKS, -0.4);
        }
        for (size_t k = 0; k < DIM; k++)
            assert_true(fabs((double)z[q][k] - expected[k]) < EXACT);
        assert_true(q == 0 || memcmp(z[q], z[0], sizeof z[q]) != 0);
    }
    assert_in_range(known, 1, QUERIES * MOST_LINKS - 1);
    free_world(&world);
    kg__arena_free(&arena);
}

/* Leaving links out of a loaded entity is the same as never having had them. */
static void test_left_out(void **state) {
    (void)state;
    kg_arena arena = {0};
    for (size_t n = 0; n < COUNT_OF(names); n++)
        for (size_t count = 1; count <= MOST_LINKS; count++) {
            struct world world;
            make_world(&world, "complex", names[n], KG_LS_NORMALIZED, count, count);
            size_t positions[] = {count / 3, count / 3 + 1};
            for (size_t left = 0; left <= 2 && count / 3 + left <= count; left++) {
                real z[DIM];
                real expected[DIM];
                size_t query = (count + left) % QUERIES;
                forward(&world, &arena, z, (struct use){query, {positions, left}});
                struct world other = world;
                tie(&other);
                memmove(other.links + count / 3, other.links + count / 3 + left,
                        (count - count / 3 - left) * sizeof *other.links);
                other.count = count - left;
                forward(&other, &arena, expected, (struct use){query, {NULL, 0}});
                for (size_t k = 0; k < DIM; k++)
                    assert_true(fabs((double)(z[k] - expected[k])) < EXACT);
            }
            free_world(&world);
        }
    kg__arena_free(&arena);
}

static size_t index_of(json_t *list, const json_t *name) {
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(list, i, item) if (json_equal(item, name)) return i;
    return SIZE_MAX;
}

static real *load_rows(json_t *list) {
    size_t rows = json_array_size(list);
    size_t columns = json_array_size(json_array_get(list, 0));
    real *out = calloc(rows * columns, sizeof *out);
    for (size_t i = 0; i < rows * columns; i++)
        out[i] =
            (real)json_number_value(json_array_get(json_array_get(list, i / columns), i % columns));
    return out;
}

static int by_link(const void *a, const void *b) {
    const kg_link *x = a;
    const kg_link *y = b;
    return x->directed != y->directed ? (x->directed < y->directed ? -1 : 1)
                                      : (x->other < y->other ? -1 : x->other > y->other);
}

/* The links that a golden query leaves its entity with. */
static size_t golden_links(json_t *root, json_t *query, kg_link *out) {
    json_t *split = json_object_get(query, "split");
    const char *part =
        strcmp(json_string_value(split), "valid") == 0 ? "unseen_valid" : "unseen_test";
    json_t *facts = json_object_get(json_object_get(root, part),
                                    json_string_value(json_object_get(query, "unseen")));
    size_t left_out = (size_t)json_integer_value(json_object_get(query, "left_out"));
    size_t count = 0;
    size_t i = 0;
    json_t *fact = NULL;
    json_array_foreach(facts, i, fact) {
        if (i == left_out)
            continue;
        bool is_head = json_equal(json_array_get(fact, 0), json_object_get(query, "unseen"));
        size_t relation = index_of(json_object_get(root, "relations"), json_array_get(fact, 1));
        size_t other =
            index_of(json_object_get(root, "entities"), json_array_get(fact, is_head ? 2 : 0));
        out[count++] =
            (kg_link){kg_direct((kg_id)relation, is_head ? KG_HEAD : KG_TAIL), (kg_id)other};
    }
    qsort(out, count, sizeof *out, by_link);
    return count;
}

static void check_golden(json_t *root, json_t *golden, const kg_params *params) {
    json_t *lambda = json_object_get(golden, "ls_lambda");
    kg_aggregate_options options = {
        .aggregator = kg__aggregator_find(json_string_value(json_object_get(golden, "aggregate"))),
        .ls_lambda = json_is_number(lambda) ? json_number_value(lambda) : 1,
        .ls_rows = KG_LS_NORMALIZED};
    kg_arena arena = {0};
    size_t i = 0;
    json_t *query = NULL;
    json_array_foreach(json_object_get(root, "queries"), i, query) {
        kg_link links[64];
        size_t count = golden_links(root, query, links);
        real z[64];
        kg_aggregate aggregate;
        kg_aggregate_use use = {.links = links, .count = count};
        kg__arena_reset(&arena);
        assert_int_equal(kg__aggregate_load(&aggregate, &options, params, &arena, &use, NULL),
                         KG_OK);
        kg__aggregate_forward(&aggregate, z, (kg_left_out){NULL, 0});
        json_t *expected = json_array_get(json_object_get(golden, "embeddings"), i);
        for (size_t k = 0; k < params->dim; k++) {
            double value = json_number_value(json_array_get(expected, k));
            assert_true(fabs((double)z[k] - value) <= EXACT * (1 + fabs(value)));
        }
    }
    kg__arena_free(&arena);
}

static void test_golden(void **state) {
    (void)state;
    json_t *root = load_golden();
    if (root == NULL)
        skip();
    real *entities = load_rows(json_object_get(root, "entity_embeddings"));
    real *relations = load_rows(json_object_get(root, "relation_embeddings"));
    kg_params params = {.scoring = kg__scoring_find("distmult"),
                        .entities = entities,
                        .relations = relations,
                        .dim = 8};
    size_t i = 0;
    json_t *golden = NULL;
    json_array_foreach(json_object_get(root, "aggregators"), i, golden)
        check_golden(root, golden, &params);
    assert_true(i >= 4);
    free(entities);
    free(relations);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_finite_differences_of_other_params),
        cmocka_unit_test(test_several_entities),
        cmocka_unit_test(test_weights_depend_on_queries),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_golden),
    };
    if (kg__linear_set_up(1, NULL) != KG_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
