/* Embedders against the plain twin of the design's formulas; and what they promise: an entity has
 * the same vector whether a fact is left out or was never there, and scores split over the facts.
 */
#include <math.h>
#include <string.h>

#include "aggregate/embedder.h"
#include "base/memory.h"
#include "base/random.h"
#include "give_term.h"
#include "math/linalg.h"
#include "math/vector.h"
#include "support.h"
#include "twin.h"

/* Of equations, which are solved in double precision; of sums see tolerance_of. */
#ifdef KG_DOUBLE
#define EXACT 1e-10
#else
#define EXACT 2e-6
#endif

#define ENTITIES 100
#define RELATIONS 5
#define DIM 16
#define MOST_LINKS 60 /* more than few, and than columns: equations are solved in all ways */

#define POWER 0.4 /* graft's */
#define MOST_PAIRS (4 * RELATIONS * RELATIONS)

/* What graft is asked: relations with different weights, one that has none, and nothing. */
static const kg_directed queries[] = {0, 5, 2 * RELATIONS - 1, KG_NO_QUERY};

struct world {
    real entities[ENTITIES * DIM];
    real relations[RELATIONS * DIM];
    double wide_entities[ENTITIES * DIM];
    double wide_relations[RELATIONS * DIM];
    kg_link links[MOST_LINKS];
    kg_aggregate_options options;
    kg_params params;
    kg_relation_weights relation_weights;
    real weights[MOST_PAIRS];
    kg_directed asked; /* for the links; only graft minds */
    double *gram;
    twin_model twin;
    twin_ials *ials;
};

static void fill(real *narrow, double *wide, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++) {
        narrow[i] = (real)(2 * kg__random_unit(seed, KG_STREAM_GENERATE_TAIL, i) - 1);
        wide[i] = (double)narrow[i];
    }
}

/* Pairs of relations, as some facts have them: not all, so that some have no weight. */
static void make_graft(struct world *world) {
    static const kg_triple facts[] = {{0, 0, 1}, {0, 1, 2}, {0, 3, 4}, {5, 0, 0},
                                      {6, 2, 0}, {6, 3, 7}, {7, 2, 8}};
    kg_triples triples = {0};
    kg_adjacency graph;
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        assert_ok(kg__triples_push(&triples, facts[i], NULL), NULL);
    assert_ok(kg__adjacency_make(&graph, &triples, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    world->relation_weights = (kg_relation_weights){.power = POWER};
    assert_ok(
        kg__pairs_make(&world->relation_weights.param.pairs, &graph, (size_t)2 * RELATIONS, NULL),
        NULL);
    assert_in_range(world->relation_weights.param.pairs.count, 1, MOST_PAIRS - 1);
    for (size_t i = 0; i < MOST_PAIRS; i++)
        world->weights[i] = (real)(2 * kg__random_unit(3, KG_STREAM_GENERATE_TAIL, i) - 1);
    give_weights(&world->params, &world->relation_weights, world->weights, 0);
    world->asked = queries[0];
    kg__adjacency_free(&graph);
    kg__triples_free(&triples);
}

static void make_world(struct world *world, const char *model, const char *aggregator,
                       kg_ls_rows rows) {
    fill(world->entities, world->wide_entities, ENTITIES * DIM, 1);
    fill(world->relations, world->wide_relations, RELATIONS * DIM, 2);
    for (size_t i = 0; i < MOST_LINKS; i++)
        world->links[i] = (kg_link){(kg_directed)(i / 6), (kg_id)(i + i % 3)};
    world->options = kg__aggregate_defaults(kg__aggregator_find(aggregator));
    world->options.ls_rows = rows;
    world->params = (kg_params){.scoring = kg__scoring_find(model),
                                .entities = world->entities,
                                .relations = world->relations,
                                .dim = DIM};
    world->twin = (twin_model){.model = model,
                               .aggregate = aggregator,
                               .is_weighted = rows == KG_LS_WEIGHTED,
                               .lambda = 0.1,
                               .dim = DIM,
                               .entities = world->wide_entities,
                               .relations = world->wide_relations};
    make_graft(world);
    world->ials = must_allocate(1, sizeof *world->ials);
    *world->ials = (twin_ials){0.02, 0.3, ENTITIES, {0}};
    world->options.ials_alpha = world->ials->alpha;
    world->options.ials_lambda = world->ials->lambda;
    assert_int_equal(kg__linear_set_up(1, NULL), KG_OK);
    assert_int_equal(
        kg__gram_make(&world->gram, world->options.aggregator, &world->params, ENTITIES, NULL),
        KG_OK);
    world->params.gram = world->gram;
}

static void free_world(struct world *world) {
    kg__free(world->gram);
    kg__pairs_free(&world->relation_weights.param.pairs);
    twin_ials_free(world->ials);
    free(world->ials);
}

static bool is_ials(const struct world *world) {
    return strcmp(world->twin.aggregate, "ials") == 0;
}

static bool is_graft(const struct world *world) {
    return strcmp(world->twin.aggregate, "graft") == 0;
}

static bool is_sum(const struct world *world) {
    return world->twin.aggregate[0] == 'e' || is_graft(world);
}

/* The weight that a fact has in a sum of `count`. */
static double expect_weight(const struct world *world, kg_link link, size_t count) {
    uint32_t pair = KG_NO_PAIR;
    if (is_graft(world) && world->asked != KG_NO_QUERY)
        pair = kg__pairs_find(&world->relation_weights.param.pairs, world->asked, link.directed);
    return pow((double)count, is_graft(world) ? -POWER : -1) *
           (pair == KG_NO_PAIR ? 1 : (double)world->weights[pair]);
}

/* What a number of a sum of N rows may be off by: each term is rounded a few times itself, and the
 * N - 1 additions lose at most half a unit of the largest partial sum each, which N terms bound:
 * together (16 + N / 2) units of the sum of N times the largest term. */
static double tolerance_of(const struct world *world, const kg_link *links, size_t count) {
    double rows[MOST_LINKS * DIM];
    double term = 0;
    twin_rows(&world->twin, rows, links, count);
    for (size_t i = 0; i < count * DIM; i++)
        term = fmax(term, fabs(rows[i] * expect_weight(world, links[i / DIM], count)));
    return (double)KG_REAL_EPSILON * (16 + (double)count / 2) * (double)count * term;
}

static void assert_near(const struct world *world, const real *found, const double *expected,
                        const kg_link *links, size_t count) {
    double length = 0;
    double miss = 0;
    double most = is_sum(world) ? tolerance_of(world, links, count) : 0;
    for (size_t k = 0; k < DIM; k++) {
        double off = (double)found[k] - expected[k];
        length += expected[k] * expected[k];
        miss += off * off;
        assert_true(!is_sum(world) || fabs(off) <= most);
    }
    assert_true(is_sum(world) || sqrt(miss) <= EXACT * sqrt(length));
}

static void expect_z(double *z, const struct world *world, const kg_link *links, size_t count) {
    double rows[MOST_LINKS * DIM];
    memset(z, 0, DIM * sizeof *z);
    twin_rows(&world->twin, rows, links, count);
    if (count > 0 && is_ials(world)) {
        double sum[DIM] = {0};
        for (size_t i = 0; i < count * DIM; i++)
            sum[i % DIM] += rows[i];
        twin_ials_solve(&world->twin, world->ials, z, sum, links, count);
    } else if (is_graft(world)) {
        for (size_t i = 0; i < count * DIM; i++)
            z[i % DIM] += rows[i] * expect_weight(world, links[i / DIM], count);
    } else if (count > 0)
        twin_combine(&world->twin, z, rows, count, count > DIM ? TWIN_PRIMAL : TWIN_DUAL);
}

/* Ways to leave one out of `count` links, or none. */
static void check_count(const struct world *world, size_t count) {
    kg_embedder all;
    kg_embedder fresh;
    double expected[DIM];
    kg__embedder_open(&all, world->options, world->params);
    kg__embedder_open(&fresh, world->options, world->params);
    assert_int_equal(kg__embedder_load(&all, world->links, count, NULL), KG_OK);
    real z[DIM];
    kg__embedder_set_query(&all, world->asked);
    kg__embedder_embed(&all, z, KG_NOTHING);
    expect_z(expected, world, world->links, count);
    assert_near(world, z, expected, world->links, count);
    size_t stride = 1 + count / 24; /* many differ in little else than their number */
    for (size_t left_out = 0; left_out < count; left_out += stride) {
        kg_link kept[MOST_LINKS];
        real again[DIM];
        memcpy(kept, world->links, left_out * sizeof *kept);
        memcpy(kept + left_out, world->links + left_out + 1, (count - left_out - 1) * sizeof *kept);
        kg__embedder_embed(&all, z, left_out);
        assert_int_equal(kg__embedder_load(&fresh, kept, count - 1, NULL), KG_OK);
        kg__embedder_set_query(&fresh, world->asked);
        kg__embedder_embed(&fresh, again, KG_NOTHING);
        expect_z(expected, world, kept, count - 1);
        assert_near(world, z, expected, kept, count - 1);
#ifdef KG_DOUBLE
        if (is_sum(world))
#endif
            assert_memory_equal(z, again, sizeof z);
    }
    kg__embedder_close(&all);
    kg__embedder_close(&fresh);
}

/* What a part should be, but for its weight: that of the fact's row, which ials has in M^-1. */
static double expect_part(const struct world *world, size_t i, const real *vector, size_t count,
                          size_t left_out) {
    double row[DIM];
    double sum = 0;
    twin_rows(&world->twin, row, world->links + i, 1);
    if (is_ials(world)) {
        kg_link kept[MOST_LINKS];
        size_t kept_count = 0;
        for (size_t k = 0; k < count; k++)
            if (k != left_out)
                kept[kept_count++] = world->links[k];
        twin_ials_solve(&world->twin, world->ials, row, row, kept, kept_count);
    }
    for (size_t k = 0; k < DIM; k++)
        sum += row[k] * (double)vector[k];
    return sum;
}

static void check_parts(const struct world *world, size_t count, size_t left_out) {
    kg_embedder embedder;
    real z[DIM];
    const real *vector = world->entities + 7 * DIM;
    double sum = 0;
    double magnitude = 0;
    kg__embedder_open(&embedder, world->options, world->params);
    assert_int_equal(kg__embedder_load(&embedder, world->links, count, NULL), KG_OK);
    kg__embedder_set_query(&embedder, world->asked);
    kg__embedder_embed(&embedder, z, left_out);
    size_t kept = count - (left_out == KG_NOTHING ? 0 : 1);
    for (size_t i = 0; i < count; i++) {
        double expected = expect_part(world, i, vector, count, left_out);
        double part = kg__embedder_part(&embedder, i, vector);
        double weight = i == left_out ? 0 : expect_weight(world, world->links[i], kept);
        assert_true(!is_sum(world) || fabs(kg__embedder_weight(&embedder, i) - weight) <=
                                          (double)KG_REAL_EPSILON * fabs(weight));
        assert_true(i != left_out || part == 0);
        assert_true(fabs(part - kg__embedder_weight(&embedder, i) * expected) <=
                    EXACT * (fabs(part) + fabs(kg__embedder_weight(&embedder, i))));
        sum += part;
        magnitude += fabs(part);
    }
    double most = EXACT * (magnitude + kg__length(z, DIM) * kg__length(vector, DIM));
    for (size_t k = 0; k < DIM && is_sum(world); k++)
        most += tolerance_of(world, world->links, count) * fabs((double)vector[k]);
    assert_true(fabs(sum - (double)kg__dot(z, vector, DIM)) <= most);
    kg__embedder_close(&embedder);
}

static void check_world(const char *model, const char *aggregator, kg_ls_rows rows) {
    struct world world;
    static const size_t counts[] = {1, 2, 5, DIM, DIM + 1, 48, 49, MOST_LINKS};
    make_world(&world, model, aggregator, rows);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        for (size_t q = 0; q < (is_graft(&world) ? COUNT_OF(queries) : 1); q++) {
            world.asked = queries[q];
            check_count(&world, counts[i]);
            check_parts(&world, counts[i], KG_NOTHING);
            check_parts(&world, counts[i], counts[i] > 1 ? counts[i] / 2 : KG_NOTHING);
        }
    free_world(&world);
}

static void test_all(void **state) {
    (void)state;
    static const char *const models[] = {"distmult", "simple", "complex", "quate"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        check_world(models[i], "eavg", KG_LS_NORMALIZED);
        check_world(models[i], "eravg", KG_LS_NORMALIZED);
        check_world(models[i], "ls", KG_LS_NORMALIZED);
        check_world(models[i], "ls", KG_LS_WEIGHTED);
        check_world(models[i], "ls-u", KG_LS_NORMALIZED);
        check_world(models[i], "ials", KG_LS_NORMALIZED);
        check_world(models[i], "graft", KG_LS_NORMALIZED);
    }
}

/* Where rows are small whole numbers, what cancels leaves a rest that depends on every rounding: of
 * few links it must be the same rest. */
static void check_rest(const char *aggregator) {
    struct world world;
    make_world(&world, "distmult", aggregator, KG_LS_NORMALIZED);
    for (size_t i = 0; i < ENTITIES * DIM; i++)
        world.entities[i] = (real)round(1.4 * (double)world.entities[i]);
    for (size_t i = 0; i < RELATIONS * DIM; i++)
        world.relations[i] = (real)round(1.4 * (double)world.relations[i]);
    for (size_t count = 2; count <= 48; count++) {
        kg_embedder all;
        kg_embedder fresh;
        kg__embedder_open(&all, world.options, world.params);
        kg__embedder_open(&fresh, world.options, world.params);
        assert_int_equal(kg__embedder_load(&all, world.links, count, NULL), KG_OK);
        for (size_t left_out = 0; left_out < count; left_out++) {
            kg_link kept[MOST_LINKS];
            real z[DIM];
            real again[DIM];
            memcpy(kept, world.links, left_out * sizeof *kept);
            memcpy(kept + left_out, world.links + left_out + 1,
                   (count - left_out - 1) * sizeof *kept);
            kg__embedder_embed(&all, z, left_out);
            assert_int_equal(kg__embedder_load(&fresh, kept, count - 1, NULL), KG_OK);
            kg__embedder_embed(&fresh, again, KG_NOTHING);
            assert_memory_equal(z, again, sizeof z);
        }
        kg__embedder_close(&all);
        kg__embedder_close(&fresh);
    }
    free_world(&world);
}

static void test_same_rest(void **state) {
    (void)state;
    check_rest("ls");
    check_rest("ials");
}

/* One query after the other, of the same entity and of others: z depends on the last alone. */
static void test_queries(void **state) {
    (void)state;
    struct world world;
    kg_embedder embedder;
    make_world(&world, "complex", "graft", KG_LS_NORMALIZED);
    kg__embedder_open(&embedder, world.options, world.params);
    for (size_t i = 0; i < 12; i++) {
        size_t count = 7 + i % 5 * 9;
        assert_ok(kg__embedder_load(&embedder, world.links, count, NULL), NULL);
        for (size_t q = 0; q < 2 * COUNT_OF(queries); q++) {
            real z[DIM];
            double expected[DIM];
            if (q > 0) { /* at first what the entity before it was asked */
                world.asked = queries[(q + i) % COUNT_OF(queries)];
                kg__embedder_set_query(&embedder, world.asked);
            } else if (i == 0) {
                world.asked = KG_NO_QUERY;
            }
            kg__embedder_embed(&embedder, z, KG_NOTHING);
            expect_z(expected, &world, world.links, count);
            assert_near(&world, z, expected, world.links, count);
        }
    }
    kg__embedder_close(&embedder);
    free_world(&world);
}

/* Whoever has memory for an entity with many links needs no more for one with at most as many,
 * whatever relations these have. */
static void test_reserve(void **state) {
    (void)state;
    static const char *const names[] = {"eavg", "eravg", "ls", "ls-u", "ials", "graft"};
    static const size_t counts[] = {0, 1, 5, DIM, DIM + 1, 47, 48, 49, MOST_LINKS};
    for (size_t n = 0; n < COUNT_OF(names); n++)
        for (size_t c = 0; c < COUNT_OF(counts); c++) {
            struct world world;
            kg_embedder embedder;
            make_world(&world, "complex", names[n], KG_LS_NORMALIZED);
            kg__embedder_open(&embedder, world.options, world.params);
            assert_ok(kg__embedder_reserve(&embedder, counts[c], RELATIONS, NULL), NULL);
            const struct kg_slab *slab = embedder.arena.slabs;
            for (size_t i = 0; i <= c; i++) {
                real z[DIM];
                assert_ok(kg__embedder_load(&embedder, world.links, counts[i], NULL), NULL);
                kg__embedder_set_query(&embedder, 1);
                kg__embedder_embed(&embedder, z, counts[i] > 1 ? 0 : KG_NOTHING);
                if (embedder.arena.slabs != slab)
                    fail_msg("%s: %zu links allocate where there is memory for %zu", names[n],
                             counts[i], counts[c]);
            }
            kg__embedder_close(&embedder);
            free_world(&world);
        }
}

/* A relation that only one fact has goes with it, and so do its implicit negatives. */
static void test_last_of_its_relation(void **state) {
    (void)state;
    struct world world;
    make_world(&world, "complex", "ials", KG_LS_NORMALIZED);
    for (size_t i = 0; i < MOST_LINKS; i++)
        world.links[i].directed = (kg_directed)(i < 8 ? i : 8);
    static const size_t counts[] = {2, 8, 9, 10, 49, MOST_LINKS};
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        check_count(&world, counts[i]);
    free_world(&world);
}

/* Rows that are nothing, or next to nothing, make a z of the same kind. */
static void test_next_to_nothing(void **state) {
    (void)state;
    static const double sizes[] = {0, 1e-30, 1e-12};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct world world;
        kg_embedder embedder;
        real z[DIM];
        make_world(&world, "distmult", "ials", KG_LS_NORMALIZED);
        for (size_t k = 0; k < DIM; k++)
            world.entities[world.links[1].other * DIM + k] *= (real)sizes[i];
        kg__embedder_open(&embedder, world.options, world.params);
        assert_int_equal(kg__embedder_load(&embedder, world.links + 1, 1, NULL), KG_OK);
        kg__embedder_embed(&embedder, z, KG_NOTHING);
        for (size_t k = 0; k < DIM; k++)
            assert_true(fabs((double)z[k]) <= sizes[i] * 1e12);
        assert_true(fabs(kg__embedder_part(&embedder, 0, world.entities) -
                         (double)kg__dot(z, world.entities, DIM)) <= EXACT * sizes[i] * 1e12);
        kg__embedder_close(&embedder);
        free_world(&world);
    }
}

/* A row that is not finite spoils z, but not once it is left out of a mean. */
static void test_not_finite(void **state) {
    (void)state;
    struct world world;
    kg_embedder embedder;
    real z[DIM];
    make_world(&world, "distmult", "eravg", KG_LS_NORMALIZED);
    world.entities[world.links[1].other * DIM] = (real)INFINITY;
    kg__embedder_open(&embedder, world.options, world.params);
    assert_int_equal(kg__embedder_load(&embedder, world.links, 3, NULL), KG_OK);
    kg__embedder_embed(&embedder, z, KG_NOTHING);
    assert_true(isfinite((double)z[0]) == 0);
    kg__embedder_embed(&embedder, z, 1);
    assert_true(isfinite((double)z[0]) != 0);
    kg__embedder_close(&embedder);

    world.options.aggregator = kg__aggregator_find("ls");
    kg__embedder_open(&embedder, world.options, world.params);
    assert_int_equal(kg__embedder_load(&embedder, world.links, 3, NULL), KG_OK);
    kg__embedder_embed(&embedder, z, KG_NOTHING);
    assert_true(isnan((double)z[0]) != 0);
    kg__embedder_close(&embedder);
    free_world(&world);

    make_world(&world, "distmult", "ials", KG_LS_NORMALIZED);
    world.relations[0] = (real)NAN;
    kg__embedder_open(&embedder, world.options, world.params);
    assert_int_equal(kg__embedder_load(&embedder, world.links, 3, NULL), KG_OK);
    kg__embedder_embed(&embedder, z, KG_NOTHING);
    assert_true(isnan((double)z[0]) != 0);
    assert_true(isnan(kg__embedder_part(&embedder, 0, world.entities)) != 0);
    kg__embedder_close(&embedder);
    free_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_same_rest),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_last_of_its_relation),
        cmocka_unit_test(test_next_to_nothing),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
