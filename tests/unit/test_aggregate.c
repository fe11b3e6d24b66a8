/* Aggregators against golden numbers, against finite differences, and against themselves computed
 * the long way: every model with every aggregator, in the precision that this is compiled for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>

#include "aggregate/aggregate.h"
#include "base/random.h"
#include "golden.h"
#include "math/linear.h"
#include "math/vector.h"

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

static const char *const names[] = {"eavg", "eravg", "ls", "ls-u"};

/* A random model, an entity with links into it, and a loss: the dot product of z with fixed
 * numbers. */
struct world {
    real entities[ENTITIES * DIM];
    real relations[RELATIONS * DIM];
    real direction[DIM];
    kg_link links[MOST_LINKS];
    size_t count;
    kg_aggregate_options options;
    kg_params params;
};

static real noise(uint64_t seed, uint64_t position) {
    return (real)(2 * kg__random_unit(seed, KG_STREAM_GENERATE_TAIL, position) - 1);
}

static void make_world(struct world *world, const char *model, const char *aggregator,
                       kg_ls_rows rows, size_t count, uint64_t seed) {
    for (size_t i = 0; i < ENTITIES * DIM; i++)
        world->entities[i] = noise(seed, i);
    for (size_t i = 0; i < RELATIONS * DIM; i++)
        world->relations[i] = noise(seed + 1, i);
    for (size_t i = 0; i < DIM; i++)
        world->direction[i] = noise(seed + 2, i);
    for (size_t i = 0; i < count; i++)
        world->links[i] = (kg_link){(kg_directed)(i * 2 * RELATIONS / count), (kg_id)(i + 3)};
    world->count = count;
    world->options = kg__aggregate_usual(kg__aggregator_find(aggregator));
    world->options.ls_rows = rows;
    world->params = (kg_params){.scoring = kg__scoring_find(model),
                                .entities = world->entities,
                                .relations = world->relations,
                                .dim = DIM};
}

static void forward(const struct world *world, real *z, kg_left_out left) {
    kg_aggregate aggregate;
    kg__aggregate_open(&aggregate, world->options, world->params);
    assert_int_equal(kg__aggregate_load(&aggregate, world->links, world->count, left.count, NULL),
                     KG_OK);
    kg__aggregate_forward(&aggregate, z, left);
    kg__aggregate_close(&aggregate);
}

static double loss(const struct world *world, const kg_left_out *uses, size_t use_count) {
    double sum = 0;
    for (size_t i = 0; i < use_count; i++) {
        real z[DIM];
        forward(world, z, uses[i]);
        for (size_t k = 0; k < DIM; k++)
            sum += (double)z[k] * (double)world->direction[k] * (double)(i + 1);
    }
    return sum;
}

/* Gradients on entities and relations, from the gradients on the rows. */
static void gradients(const struct world *world, const kg_left_out *uses, size_t use_count,
                      real *entities, real *relations) {
    kg_aggregate a;
    kg__aggregate_open(&a, world->options, world->params);
    assert_int_equal(kg__aggregate_load(&a, world->links, world->count, 3, NULL), KG_OK);
    for (size_t i = 0; i < use_count; i++) {
        real z[DIM];
        real g[DIM];
        kg__aggregate_forward(&a, z, uses[i]);
        for (size_t k = 0; k < DIM; k++)
            g[k] = world->direction[k] * (real)(i + 1);
        kg__aggregate_backward(&a, g, uses[i]);
    }
    kg__aggregate_finish(&a);
    for (size_t i = 0; i < world->count; i++) {
        real g[DIM];
        memcpy(g, a.shared, sizeof g);
        if (a.has_own[i])
            kg__add_scaled(g, 1, a.own + i * DIM, DIM);
        kg_link link = world->links[i];
        if (!world->options.aggregator->uses_queries) {
            kg__add_scaled(entities + link.other * DIM, 1, g, DIM);
            continue;
        }
        real back[DIM];
        kg__query_vector_adjoint(&world->params, back, link.directed, g);
        kg__add_scaled(entities + link.other * DIM, 1, back, DIM);
        world->params.scoring->relation_gradient(
            relations + link.directed / 2 * DIM, kg__relation_row(&world->params, link.directed),
            kg__entity_row(&world->params, link.other), g, kg_directed_end(link.directed), DIM);
    }
    kg__aggregate_close(&a);
}

static void check_parameters(struct world *world, real *parameters, const real *gradient,
                             size_t count, const kg_left_out *uses, size_t use_count) {
    double scale = 0;
    for (size_t i = 0; i < count; i++)
        scale = fmax(scale, fabs((double)gradient[i]));
    for (size_t i = 0; i < count; i++) {
        real saved = parameters[i];
        parameters[i] = saved + (real)STEP;
        double above = loss(world, uses, use_count);
        double wide = (double)parameters[i];
        parameters[i] = saved - (real)STEP;
        double below = loss(world, uses, use_count);
        wide -= (double)parameters[i];
        parameters[i] = saved;
        double expected = (above - below) / wide;
        if (fabs(expected - (double)gradient[i]) > ROUGH * (scale + 1))
            fail_msg("%s %s, %zu links, parameter %zu: %g by differences, %g computed",
                     world->params.scoring->name, world->options.aggregator->name, world->count, i,
                     expected, (double)gradient[i]);
    }
}

static void test_finite_differences(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 7, DIM, DIM + 9};
    const size_t one[] = {0};
    const size_t two[] = {1, 5};
    for (const kg_scoring *kind = kg__scorings; kind->name != NULL && !kind->is_encoded; kind++)
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
            for (int rows = 0; rows < 2; rows++)
                for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                    struct world world;
                    make_world(&world, kind->name, names[n], (kg_ls_rows)rows, counts[c], 7 + c);
                    kg_left_out uses[] = {{NULL, 0}, {one, 1}, {two, 2}};
                    size_t use_count = counts[c] < 7 ? 2 : 3;
                    real entities[ENTITIES * DIM] = {0};
                    real relations[RELATIONS * DIM] = {0};
                    gradients(&world, uses, use_count, entities, relations);
                    check_parameters(&world, world.entities, entities, ENTITIES * DIM, uses,
                                     use_count);
                    check_parameters(&world, world.relations, relations, RELATIONS * DIM, uses,
                                     use_count);
                }
}

/* Leaving links out of a loaded entity is the same as never having had them. */
static void test_left_out(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        for (size_t count = 1; count <= MOST_LINKS; count++) {
            struct world world;
            make_world(&world, "complex", names[n], KG_LS_NORMALIZED, count, count);
            size_t positions[] = {count / 3, count / 3 + 1};
            for (size_t left = 0; left <= 2 && count / 3 + left <= count; left++) {
                real z[DIM];
                real expected[DIM];
                forward(&world, z, (kg_left_out){positions, left});
                struct world other = world;
                other.params.entities = other.entities;
                other.params.relations = other.relations;
                memmove(other.links + count / 3, other.links + count / 3 + left,
                        (count - count / 3 - left) * sizeof *other.links);
                other.count = count - left;
                forward(&other, expected, (kg_left_out){NULL, 0});
                for (size_t k = 0; k < DIM; k++)
                    assert_true(fabs((double)(z[k] - expected[k])) < EXACT);
            }
        }
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
    kg_aggregate aggregate;
    kg__aggregate_open(&aggregate, options, *params);
    size_t i = 0;
    json_t *query = NULL;
    json_array_foreach(json_object_get(root, "queries"), i, query) {
        kg_link links[64];
        size_t count = golden_links(root, query, links);
        real z[64];
        assert_int_equal(kg__aggregate_load(&aggregate, links, count, 0, NULL), KG_OK);
        kg__aggregate_forward(&aggregate, z, (kg_left_out){NULL, 0});
        json_t *expected = json_array_get(json_object_get(golden, "embeddings"), i);
        for (size_t k = 0; k < params->dim; k++) {
            double value = json_number_value(json_array_get(expected, k));
            assert_true(fabs((double)z[k] - value) <= EXACT * (1 + fabs(value)));
        }
    }
    kg__aggregate_close(&aggregate);
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
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_golden),
    };
    if (kg__linear_set_up(1, NULL) != KG_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
