/* The sums over shared negatives against plain loops in double, for numbers of queries and
 * negatives below, at and above the sizes of tiles; and the batches that queries come in. */
#include "train/shared_negatives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/linalg.h"
#include "math/vector.h"
#include "support.h"
#include "train/batch_sampler.h"

#ifdef KG_DOUBLE
#define EXACT 1e-12
#else
#define EXACT 2e-5
#endif

#define DIM 5

static real noise(uint64_t *state) {
    return (real)((double)next_below(state, 1 << 20) / (1 << 19) - 1);
}

static void fill(real *values, size_t count, uint64_t *state) {
    for (size_t i = 0; i < count; i++)
        values[i] = noise(state);
}

static void assert_near(double found, double expected) {
    if (!(fabs(found - expected) <= EXACT * (1 + fabs(expected))))
        fail_msg("%.12g is not %.12g", found, expected);
}

typedef struct problem {
    kg_shared_negatives_batch batch;
    size_t count;
    size_t cuts[KG_SHARDS + 1];
    real *vectors;
    real *negatives;
    real *own_largest;
    real *own_sums;
    kg_mask *masks;
    bool *is_masked; /* queries x negatives */
} problem;

static void open_problem(problem *q, size_t count, size_t negatives, uint64_t *state) {
    *q = (problem){0};
    q->vectors = must_allocate(count * DIM, sizeof(real));
    q->negatives = must_allocate(negatives * DIM, sizeof(real));
    q->own_largest = must_allocate(count, sizeof(real));
    q->own_sums = must_allocate(count, sizeof(real));
    q->is_masked = must_allocate(count * negatives, sizeof(bool));
    q->masks = must_allocate(count, sizeof *q->masks);
    fill(q->vectors, count * DIM, state);
    fill(q->negatives, negatives * DIM, state);
    fill(q->own_largest, count, state);
    for (size_t i = 0; i < count; i++)
        q->own_sums[i] = 1 + (real)fabs((double)noise(state));
    q->batch = (kg_shared_negatives_batch){
        .dim = DIM,
        .threads = 1,
        .vectors = q->vectors,
        .negative_count = negatives,
        .negatives = q->negatives,
        .log_weight = (real)0.7,
        .masks = q->masks,
        .own_largest = q->own_largest,
        .own_sums = q->own_sums,
        .log_sums = must_allocate(count, sizeof(real)),
        .vector_gradients = must_allocate(count * DIM, sizeof(real)),
    };
    q->count = count;
    /* Branches of one, four, two and one shards, of which the third is empty and the last large. */
    static const size_t shards[] = {1, 4, 2, 1};
    for (size_t i = 0; i < COUNT_OF(shards); i++)
        q->batch.branches[q->batch.branch_count++] =
            (kg_shared_negatives_branch){shards[i], must_allocate(negatives * DIM, sizeof(real))};
    for (size_t i = 1; i < KG_SHARDS; i++)
        q->cuts[i] = i == 3 ? q->cuts[2] : i * i * count / 100;
    q->cuts[KG_SHARDS] = count;
    q->batch.cuts = q->cuts;
    q->batch.shard_count = KG_SHARDS;
    /* Runs of queries, across the borders of tiles; and one query that meets nobody. */
    for (size_t from = 0; from < count; from += 37) {
        size_t to = from + 50 < count ? from + 50 : count;
        kg_mask mask = {(uint32_t)from, (uint32_t)to, (uint32_t)next_below(state, negatives)};
        q->masks[q->batch.mask_count++] = mask;
        for (size_t i = from; i < to; i++)
            q->is_masked[i * negatives + mask.negative] = true;
    }
}

static void close_problem(problem *q) {
    free(q->vectors);
    free(q->negatives);
    free(q->own_largest);
    free(q->own_sums);
    free(q->masks);
    free(q->is_masked);
    free(q->batch.log_sums);
    free(q->batch.vector_gradients);
    for (size_t i = 0; i < q->batch.branch_count; i++)
        free(q->batch.branches[i].gradients);
}

/* Of the queries `from` up to `to` of a branch. */
static void check_branch(const problem *q, const real *gradients, size_t from, size_t to) {
    const kg_shared_negatives_batch *b = &q->batch;
    double *by_negative = must_allocate(b->negative_count * DIM, sizeof *by_negative);
    double *powers = must_allocate(b->negative_count, sizeof *powers);
    for (size_t i = from; i < to; i++) {
        double sum = (double)b->own_sums[i] * exp((double)b->own_largest[i]);
        double gradient[DIM] = {0};
        for (size_t j = 0; j < b->negative_count; j++) {
            double score = (double)b->log_weight;
            for (size_t k = 0; k < DIM; k++)
                score += (double)b->vectors[i * DIM + k] * (double)b->negatives[j * DIM + k];
            powers[j] = q->is_masked[i * b->negative_count + j] ? 0 : exp(score);
            sum += powers[j];
        }
        assert_near((double)b->log_sums[i], log(sum));
        for (size_t j = 0; j < b->negative_count; j++)
            for (size_t k = 0; k < DIM; k++) {
                gradient[k] += powers[j] / sum * (double)b->negatives[j * DIM + k];
                by_negative[j * DIM + k] += powers[j] / sum * (double)b->vectors[i * DIM + k];
            }
        for (size_t k = 0; k < DIM; k++)
            assert_near((double)b->vector_gradients[i * DIM + k], gradient[k]);
    }
    for (size_t i = 0; i < b->negative_count * DIM; i++)
        assert_near((double)gradients[i], by_negative[i]);
    free(by_negative);
    free(powers);
}

static void check_problem(const problem *q) {
    const size_t *cut = q->cuts;
    for (size_t i = 0; i < q->batch.branch_count; i++) {
        const kg_shared_negatives_branch *branch = &q->batch.branches[i];
        check_branch(q, branch->gradients, cut[0], cut[branch->shards]);
        cut += branch->shards;
    }
}

static void test_sums(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{1, 1},     {3, 128},   {127, 5},     {128, 129},
                                       {200, 300}, {129, 256}, {300, 33000}, {2500, 40}};
    uint64_t random = 5;
    kg_arena arena = {0};
    assert_ok(kg__linear_set_up(3, NULL), NULL);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        problem q;
        open_problem(&q, shapes[i][0], shapes[i][1], &random);
        q.batch.threads = 1 + (int)i % 3;
        kg__arena_reset(&arena);
        assert_ok(kg__shared_negatives_run(&q.batch, &arena, NULL), NULL);
        check_problem(&q);
        close_problem(&q);
    }
    kg__arena_free(&arena);
}

/* All negatives are masked, and scores are as large as scores can be: nothing overflows. */
static void test_extremes(void **state) {
    (void)state;
    uint64_t random = 6;
    kg_arena arena = {0};
    problem q;
    open_problem(&q, 2, 2, &random);
    kg_mask masks[] = {{0, 1, 0}, {0, 1, 1}};
    q.batch.masks = masks;
    q.batch.mask_count = 2;
    for (size_t k = 0; k < DIM; k++) {
        q.vectors[DIM + k] = 1000;
        q.negatives[k] = 1000;
        q.negatives[DIM + k] = -1000;
    }
    assert_ok(kg__shared_negatives_run(&q.batch, &arena, NULL), NULL);
    assert_near((double)q.batch.log_sums[0], (double)q.own_largest[0] + log((double)q.own_sums[0]));
    assert_near((double)q.batch.log_sums[1], 1e6 * DIM + (double)q.batch.log_weight);
    for (size_t k = 0; k < DIM; k++) {
        assert_true(q.batch.vector_gradients[k] == 0);
        assert_near((double)q.batch.vector_gradients[DIM + k], 1000);
    }
    close_problem(&q);
    kg__arena_free(&arena);
}

static void test_exponentials(void **state) {
    (void)state;
    enum { COUNT = 100003 };
    real *x = must_allocate(COUNT, sizeof *x);
    double sum = 0;
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (real)(3 - 90.0 * (double)i / COUNT);
    x[COUNT - 1] = (real)-INFINITY;
    real *y = must_allocate(COUNT, sizeof *y);
    memcpy(y, x, COUNT * sizeof *x);
    real found = kg__exp_below(y, 3, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        double expected = exp((double)(x[i] - 3));
        sum += expected;
        assert_true(fabs((double)y[i] - expected) <=
                    4 * (double)KG_REAL_EPSILON * expected + 1e-37);
    }
    assert_true(y[COUNT - 1] == 0);
    assert_true(fabs((double)found - sum) <= 1e-4 * sum);
    assert_true(kg__largest(x, COUNT) == 3 && isinf(kg__largest(x, 0)));
    free(x);
    free(y);
}

/* What is not a number stays so, at any place of a vector, and spoils no other. */
static void test_exponentials_of_no_numbers(void **state) {
    (void)state;
    enum { COUNT = 67 };
    static const double shifts[] = {2, INFINITY, -INFINITY, NAN};
    for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; s++)
        for (size_t place = 0; place < COUNT; place++) {
            real x[COUNT];
            for (size_t i = 0; i < COUNT; i++)
                x[i] = i == place ? (real)NAN : i % 3 == 0 ? (real)-INFINITY : 1;
            real sum = kg__exp_below(x, (real)shifts[s], COUNT);
            assert_true(isnan((double)x[place]) != 0 && isnan((double)sum) != 0);
            for (size_t i = 0; i < COUNT && s < 2; i++)
                assert_true(i == place ||
                            fabs((double)x[i] - (s == 1 || i % 3 == 0 ? 0 : exp(-1))) < 1e-7);
        }
}

/* ---- Batches ---- */

#define ENTITIES 50

/* Entity 0 is linked to all others, the others in a ring. */
static void make_graph(kg_adjacency *graph) {
    kg_triples facts = {0};
    for (kg_id v = 1; v < ENTITIES; v++) {
        assert_ok(kg__triples_push(&facts, (kg_triple){0, 0, v}, NULL), NULL);
        if (v % 5 > 0)
            assert_ok(kg__triples_push(&facts, (kg_triple){v, 1, v % 49 + 1}, NULL), NULL);
    }
    assert_ok(kg__adjacency_make(graph, &facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    kg__triples_free(&facts);
}

/* The queries of a block, which ask for links of its entity, in their order. */
static void check_block(const kg_sampler *sampler, const kg_batch *batch, kg_query_range block,
                        uint8_t *seen) {
    const kg_link *links = kg__adjacency_links(sampler->options.graph, block.entity);
    size_t degree = kg__adjacency_degree(sampler->options.graph, block.entity);
    double psi = sampler->options.psi;
    assert_true(block.from < block.to && block.to - block.from <= sampler->options.size);
    assert_true(block.to - block.from <= KG_MOST_QUERIES);
    for (size_t i = block.from; i < block.to; i++) {
        const kg_train_query *query = &batch->queries[i];
        size_t position = kg__links_find(links, degree, query->target);
        assert_true(position < degree);
        assert_int_equal(seen[position]++, 0);
        assert_true(i == block.from || query[-1].target.directed <= query->target.directed);
        assert_int_equal(query->label, 1);
        assert_int_equal(query->number, i);
        assert_true(psi > 0 || !query->by_facts);
        assert_true(psi < 1 || query->by_facts);
    }
}

/* Of a batch in which each block starts where the one before it ends. */
static void check_batch(const kg_sampler *sampler, const kg_batch *batch,
                        uint8_t (*seen)[ENTITIES + 2]) {
    assert_true(batch->block_count > 0 && batch->query_count <= sampler->most_queries);
    for (size_t i = 0; i < batch->block_count; i++) {
        kg_query_range block = batch->blocks[i];
        assert_int_equal(block.from, i == 0 ? 0 : batch->blocks[i - 1].to);
        check_block(sampler, batch, block, seen[block.entity]);
    }
    assert_int_equal(batch->blocks[batch->block_count - 1].to, batch->query_count);
}

static void assert_same_batch(const kg_batch *a, const kg_batch *b) {
    assert_int_equal(a->query_count, b->query_count);
    assert_int_equal(a->block_count, b->block_count);
    assert_memory_equal(a->blocks, b->blocks, a->block_count * sizeof *a->blocks);
    for (size_t i = 0; i < a->query_count; i++) {
        const kg_train_query *x = &a->queries[i];
        const kg_train_query *y = &b->queries[i];
        assert_true(x->target.directed == y->target.directed && x->target.other == y->target.other);
        assert_true(x->label == y->label && x->by_facts == y->by_facts && x->number == y->number);
    }
}

/* In each epoch every link of entities with enough of them is asked for once, in batches of about
 * the size; and the same batch is the same whenever it is asked for. Who is always embedded from
 * other facts needs two. */
static void check_batches(const kg_adjacency *graph, size_t size, double psi, bool shuffle) {
    kg_sampler sampler;
    kg_sampler_options options = {
        .graph = graph, .size = size, .psi = psi, .shuffle = shuffle, .seed = 3};
    size_t fewest = psi == 1 ? 2 : 1;
    uint8_t seen[ENTITIES][ENTITIES + 2];
    kg_batch first = {0};
    kg_batch batch = {0};
    assert_ok(kg__entity_sampler_open(&sampler, &options, NULL), NULL);
    assert_ok(kg__sampler_fill(&sampler, &first, 0, 0, NULL), NULL);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        memset(seen, 0, sizeof seen);
        for (size_t number = 0; number < sampler.batch_count; number++) {
            assert_ok(kg__sampler_fill(&sampler, &batch, epoch, number, NULL), NULL);
            check_batch(&sampler, &batch, seen);
            assert_true(number + 1 == sampler.batch_count ||
                        batch.query_count < 2 * size + KG_MOST_QUERIES);
        }
        size_t total = 0;
        for (kg_id v = 0; v < ENTITIES; v++) {
            size_t degree = kg__adjacency_degree(graph, v);
            total += degree < fewest ? 0 : degree;
            for (size_t k = 0; k < degree; k++)
                assert_int_equal(seen[v][k], degree >= fewest);
        }
        assert_int_equal(total, sampler.query_count);
    }
    assert_ok(kg__sampler_fill(&sampler, &batch, 0, 0, NULL), NULL);
    assert_same_batch(&batch, &first);
    kg__batch_free(&batch);
    kg__batch_free(&first);
    kg__sampler_close(&sampler);
}

static void test_batches(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 7, 48, 50, 64, 100, 1000};
    static const double shares[] = {0, 0.5, 1};
    kg_adjacency graph;
    make_graph(&graph);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (size_t k = 0; k < COUNT_OF(shares); k++)
            check_batches(&graph, sizes[i], shares[k], i % 2 == 0);
    kg__adjacency_free(&graph);
}

/* A limited epoch has whole batches, or a part of one that is larger than the limit. */
static void test_limited_epochs(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 7, 40, 41, 1000};
    static const size_t expected[] = {40, 35, 40, 40, 40};
    kg_adjacency graph;
    make_graph(&graph);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        kg_sampler sampler;
        kg_sampler_options options = {
            .graph = &graph, .size = sizes[i], .psi = 1, .epoch_limit = 40, .seed = 3};
        kg_batch batch = {0};
        size_t total = 0;
        assert_ok(kg__entity_sampler_open(&sampler, &options, NULL), NULL);
        assert_int_equal(sampler.query_count, expected[i]);
        for (size_t number = 0; number < sampler.batch_count; number++) {
            assert_ok(kg__sampler_fill(&sampler, &batch, 0, number, NULL), NULL);
            total += batch.query_count;
        }
        assert_true(total >= expected[i] && total < expected[i] + KG_MOST_QUERIES);
        kg__batch_free(&batch);
        kg__sampler_close(&sampler);
    }
    kg__adjacency_free(&graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),         cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_exponentials), cmocka_unit_test(test_exponentials_of_no_numbers),
        cmocka_unit_test(test_batches),      cmocka_unit_test(test_limited_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
