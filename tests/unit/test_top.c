/* Best answers against the plain way: all candidates scored, sorted, the first few taken. They must
 * agree on every entry and every bit of the scores: alone and in batches, with many ties, with
 * vacancies, with numbers that are none, for any number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "rank/top_k.h"
#include "some_propagation.h"
#include "some_quantized.h"
#include "support.h"

#define ENTITIES 1500 /* several blocks, the last one short */
#define DIM 12
#define VECTORS 600 /* more than a tile */
#define LEFT_OUT 20
#define OFFSETS 5
#define RELATIONS 6

struct world {
    real entities[ENTITIES * DIM];
    real vectors[VECTORS * DIM];
    kg_link left_out[LEFT_OUT];
    kg_score_offset offsets[OFFSETS];
    kg_search searches[VECTORS];
    kg_params params;
    struct some_propagation propagation; /* that the params need not have; only its priors count */

    /* What is expected of each search, once somebody has asked. */
    kg_candidate *expected; /* VECTORS x ENTITIES */
    size_t expected_counts[VECTORS];
};

static real noise(uint64_t seed, uint64_t position) {
    return (real)(2 * kg__random_unit(seed, KG_STREAM_GENERATE_TAIL, position) - 1);
}

static struct world *make_world(void) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    for (size_t i = 0; i < ENTITIES * DIM; i++)
        world->entities[i] = noise(1, i);
    /* Every fifth row equals its neighbour, some are zero or not a number. */
    for (size_t i = 5; i < ENTITIES; i += 5)
        memcpy(world->entities + i * DIM, world->entities + (i - 1) * DIM, DIM * sizeof(real));
    memset(world->entities + 100 * DIM, 0, 30 * DIM * sizeof(real));
    world->entities[7 * DIM] = (real)NAN;
    world->entities[900 * DIM + 3] = (real)NAN;
    for (size_t i = 0; i < VECTORS * DIM; i++)
        world->vectors[i] = noise(2, i);
    memset(world->vectors + DIM, 0, DIM * sizeof(real)); /* everything ties */
    for (size_t i = 0; i < LEFT_OUT; i++)
        world->left_out[i] = (kg_link){0, (kg_id)(i * 70 + i)};
    /* Some get an offset: on one that is left out, on equal rows, in several blocks. */
    static const kg_score_offset offsets[OFFSETS] = {
        {3, 0.5}, {71, 9}, {404, 1}, {405, -1}, {1499, 0.25}};
    memcpy(world->offsets, offsets, sizeof offsets);
    for (size_t i = 0; i < VECTORS; i++)
        world->searches[i] = (kg_search){.directed = (kg_directed)(i * i % (2 * RELATIONS)),
                                         .is_by_row = i % 4 == 2,
                                         .left_out = world->left_out,
                                         .left_out_count = i % (LEFT_OUT + 1),
                                         .offsets = {world->offsets, i % (OFFSETS + 1)}};
    world->params = (kg_params){.scoring = kg__scoring_find("distmult"),
                                .entities = world->entities,
                                .relations = NULL,
                                .dim = DIM};
    make_propagation(&world->propagation, ENTITIES, RELATIONS, 4000);
    world->expected = calloc((size_t)VECTORS * ENTITIES, sizeof *world->expected);
    assert_non_null(world->expected);
    return world;
}

static void free_world(struct world *world) {
    free_propagation(&world->propagation);
    free(world->expected);
    free(world);
}

/* To be called when scores have changed. */
static void forget_expected(struct world *world) {
    memset(world->expected_counts, 0, sizeof world->expected_counts);
}

/* What is added to a score. */
static real offset_of(const struct world *world, kg_directed asked, kg_id u) {
    bool has_priors = world->params.graph != NULL;
    return has_priors ? propagation_prior(&world->propagation, asked, u) : 0;
}

static int compare(const void *one, const void *other) {
    const kg_candidate *a = one;
    const kg_candidate *b = other;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->entity < b->entity ? -1 : 1;
}

static real cosine(const real *x, const real *y) {
    double product = (double)kg__dot(x, y, DIM);
    return (real)(product / kg__length(x, DIM) / kg__length(y, DIM));
}

/* All candidates in order. */
static size_t expect(kg_candidate *out, const struct world *world, size_t i, bool is_cosine) {
    size_t count = 0;
    for (kg_id u = 0; u < ENTITIES; u++) {
        const real *row = world->entities + u * DIM;
        const real *vector = world->vectors + i * DIM;
        real score = is_cosine ? cosine(row, vector) : kg__dot(row, vector, DIM);
        if (!is_cosine && !world->searches[i].is_by_row)
            score += offset_of(world, world->searches[i].directed, u);
        for (size_t k = 0; k < world->searches[i].offsets.count && !is_cosine; k++)
            if (world->offsets[k].entity == u)
                score += (real)world->offsets[k].value;
        bool is_left_out = false;
        for (size_t k = 0; k < world->searches[i].left_out_count; k++)
            is_left_out = is_left_out || world->left_out[k].other == u;
        if (!is_left_out && isnan((double)score) == 0)
            out[count++] = (kg_candidate){world->searches[i].directed, u, score, score};
    }
    qsort(out, count, sizeof *out, compare);
    return count;
}

static void assert_same(const kg_candidate *found, size_t found_count, const kg_candidate *expected,
                        size_t expected_count, size_t most) {
    assert_int_equal(found_count, most < expected_count ? most : expected_count);
    for (size_t k = 0; k < found_count; k++) {
        assert_int_equal(found[k].entity, expected[k].entity);
        assert_int_equal(found[k].directed, expected[k].directed);
        assert_memory_equal(&found[k].score, &expected[k].score, sizeof(real));
    }
}

static void check_found(struct world *world, size_t count, size_t most, size_t threads,
                        const kg_quantized_rows *quantized) {
    kg_candidate *out = calloc(count * most, sizeof *out);
    size_t *found = calloc(count, sizeof *found);
    kg_top top;
    assert_non_null(out);
    assert_non_null(found);
    assert_int_equal(kg__top_open(&top, &world->params, ENTITIES, threads, NULL), KG_OK);
    if (quantized != NULL)
        assert_int_equal(kg__top_use_quantized(&top, quantized, NULL), KG_OK);
    assert_int_equal(
        kg__top_find(&top, out, found, world->vectors, world->searches, count, most, NULL), KG_OK);
    for (size_t i = 0; i < count; i++) {
        kg_candidate *expected = world->expected + i * ENTITIES;
        size_t *expected_count = &world->expected_counts[i];
        if (*expected_count == 0)
            *expected_count = expect(expected, world, i, false);
        assert_same(out + i * most, found[i], expected, *expected_count, most);
    }
    kg__top_close(&top);
    free(out);
    free(found);
}

/* By rows, and by their quantised copy, which serves few vectors at a time. */
static void check(struct world *world, size_t count, size_t most, size_t threads) {
    struct some_quantized quantized;
    check_found(world, count, most, threads, NULL);
    if (count > 3)
        return;
    quantize_rows(&quantized, world->entities, ENTITIES, DIM);
    check_found(world, count, most, threads, &quantized.rows);
    free_quantized(&quantized);
}

static void test_against_sorting(void **state) {
    (void)state;
    struct world *world = make_world();
    static const size_t counts[] = {1, 2, 3, 4, 50, VECTORS};
    static const size_t lengths[] = {1, 10, 400, ENTITIES, ENTITIES + 9};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
            if (counts[i] * lengths[k] <= VECTORS * 400)
                check(world, counts[i], lengths[k], 1 + 3 * ((i + k) % 3));
    free_world(world);
}

/* Also where the offset is all that there is, so that everything ties but for it; and where it is
 * much larger than any product, so that these are rounded away. */
static void test_priors(void **state) {
    (void)state;
    struct world *world = make_world();
    size_t prior_count = 0;
    real *priors = propagation_param(&world->propagation, "propagation_degree", &prior_count);
    give_propagation(&world->params, &world->propagation);
    static const size_t counts[] = {1, 3, 4, 50, VECTORS};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        check(world, counts[i], 10, 1 + 3 * (i % 3));
    check(world, 50, ENTITIES, 2);
    for (size_t i = 0; i < prior_count; i++)
        priors[i] *= i / KG_DEGREE_CLASSES % 2 == 0 ? (real)1e7 : (real)1e-7;
    forget_expected(world);
    check(world, VECTORS, 100, 2);
    check(world, 3, 100, 2);
    for (size_t i = 0; i < prior_count; i++)
        priors[i] = i / KG_DEGREE_CLASSES % 2 == 0 ? KG_REAL_MAX : (real)NAN;
    forget_expected(world);
    check(world, VECTORS, 100, 3);
    check(world, 3, 100, 3);
    free_world(world);
}

/* A score, its product added up term by term from either end. */
static real add_up(const struct world *world, size_t i, kg_id u, bool is_backwards) {
    const real *row = world->entities + u * DIM;
    const real *vector = world->vectors + i * DIM;
    real sum = 0;
    for (size_t k = 0; k < DIM; k++) {
        size_t at = is_backwards ? DIM - 1 - k : k;
        sum += row[at] * vector[at];
    }
    return sum + offset_of(world, world->searches[i].directed, u);
}

/* Approximate scores are never farther off than their bound, however large offsets are, so that
 * sums are rounded where products are not. How they are added up depends on the processor, and on
 * some they come out exact; so the same is asked of sums in orders that do not, and that differ. */
static void test_bounds(void **state) {
    (void)state;
    struct world *world = make_world();
    size_t prior_count = 0;
    real *priors = propagation_param(&world->propagation, "propagation_degree", &prior_count);
    kg_blocks blocks;
    kg_approx_scores approx;
    size_t differing = 0;
    give_propagation(&world->params, &world->propagation);
    assert_int_equal(kg__blocks_open(&blocks, &world->params, ENTITIES, NULL), KG_OK);
    assert_int_equal(kg__approx_scores_open(&approx, &blocks, NULL), KG_OK);
    for (int scale = 0; scale < 4; scale++) {
        for (size_t i = 0; i < KG_TILE; i++)
            approx.queries[i] = world->searches[i].directed;
        for (size_t i = 0; i < KG_TILE; i++)
            approx.offsets[i] = world->searches[i].offsets;
        kg__approx_scores_set_queries(&approx, &blocks, KG_TILE, 0);
        for (size_t block = 0; block < blocks.count; block++) {
            size_t size = kg__blocks_size(&blocks, block);
            kg__blocks_measure(&blocks, block);
            kg__approx_scores_compute(&approx, &blocks, world->vectors, KG_TILE, block);
            for (size_t i = 0; i < (size_t)KG_TILE * size; i++) {
                const real *vector = world->vectors + i / size * DIM;
                real bound = kg__approx_scores_bound(&approx, &blocks, block, i / size,
                                                     (real)kg__length(vector, DIM));
                kg_id u = kg__blocks_first(&blocks, block) + (kg_id)(i % size);
                real offset = kg__offset_of(approx.offsets[i / size], u);
                real exact =
                    kg__blocks_score(&blocks, vector, world->searches[i / size].directed, u) +
                    offset;
                if (isnan((double)exact) != 0)
                    continue;
                real forwards = add_up(world, i / size, u, false) + offset;
                real backwards = add_up(world, i / size, u, true) + offset;
                differing += forwards != backwards;
                assert_true(fabs((double)(forwards - exact)) <= (double)bound);
                assert_true(fabs((double)(backwards - exact)) <= (double)bound);
                assert_true(fabs((double)(approx.scores[i] - exact)) <= (double)bound);
            }
        }
        for (size_t i = 0; i < prior_count; i++)
            priors[i] *= 200;
    }
    assert_true(differing > 1000);
    kg__approx_scores_close(&approx);
    kg__blocks_close(&blocks);
    free_world(world);
}

static void test_nearest(void **state) {
    (void)state;
    struct world *world = make_world();
    static kg_candidate expected[ENTITIES];
    kg_candidate out[ENTITIES];
    give_propagation(&world->params, &world->propagation); /* which says nothing about likeness */
    for (size_t i = 0; i < 30; i += 3) {
        size_t found = 0;
        size_t expected_count = expect(expected, world, i, true);
        kg_top top;
        assert_int_equal(kg__top_open(&top, &world->params, ENTITIES, 1 + i % 4, NULL), KG_OK);
        kg_search search = world->searches[i];
        search.offsets.count = 0;
        assert_int_equal(kg__top_find_nearest(&top, out, &found, world->vectors + i * DIM, &search,
                                              ENTITIES, NULL),
                         KG_OK);
        assert_same(out, found, expected, expected_count, ENTITIES);
        kg__top_close(&top);
    }
    free_world(world);
}

/* Scores that overflow are listed first, and approx of them are no reason to miss others. */
static void test_overflow(void **state) {
    (void)state;
    struct world *world = make_world();
    for (size_t k = 0; k < DIM; k++)
        world->entities[40 * DIM + k] = KG_REAL_MAX;
    for (size_t i = 0; i < 50 * DIM; i++)
        world->vectors[i] = (real)fabs((double)world->vectors[i]) * 4;
    check(world, 50, 10, 2);
    check(world, 3, 10, 2);
    free_world(world);
}

static void test_nothing_wanted(void **state) {
    (void)state;
    struct world *world = make_world();
    kg_top top;
    size_t found[2] = {9, 9};
    assert_int_equal(kg__top_open(&top, &world->params, ENTITIES, 1, NULL), KG_OK);
    assert_int_equal(kg__top_find(&top, NULL, found, world->vectors, world->searches, 2, 0, NULL),
                     KG_OK);
    assert_int_equal(found[0] + found[1], 0);
    kg__top_close(&top);
    free_world(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_sorting), cmocka_unit_test(test_priors),
        cmocka_unit_test(test_bounds),          cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_overflow),        cmocka_unit_test(test_nothing_wanted),
    };
    return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
