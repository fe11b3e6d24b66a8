/* The links that a block learns from: all of an entity's; of a hub a sample with all that are
 * queried, another one in another step; and the same links by their other ends. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/aggregate_options.h"
#include "terms/query_block.h"

#define LINKS 20000 /* of the hub, with as many entities; entity LINKS + 1 has three */
#define HUB LINKS
#define SMALL (LINKS + 1)

typedef struct world {
    kg_triples facts;
    kg_adjacency graph;
    kg_params params;
    kg_aggregate_options aggregate;
    kg_grads grads;
    kg_block_worker worker;
    kg_step_context context;
    kg_query_block block;
} world;

static void add(world *w, kg_id head, kg_id relation, kg_id tail) {
    assert_ok(kg__triples_push(&w->facts, (kg_triple){head, relation, tail}, NULL), NULL);
}

static void open_world(world *w) {
    *w = (world){0};
    for (kg_id i = 0; i < LINKS; i++)
        add(w, HUB, i % 7, (kg_id)(i * (uint64_t)7919 % LINKS));
    add(w, SMALL, 3, 5);
    add(w, SMALL, 1, 9);
    add(w, 5, 2, SMALL);
    assert_ok(kg__adjacency_make(&w->graph, &w->facts, SMALL + 1, KG_WITHOUT_REFLEXIVE, NULL),
              NULL);
    w->params.graph = &w->graph;
    w->aggregate = kg__aggregate_defaults(kg__aggregators[0]);
    w->context = (kg_step_context){.params = &w->params,
                                   .graph = &w->graph,
                                   .has_links_by_other = true,
                                   .aggregate = &w->aggregate,
                                   .psi = 1,
                                   .step = 1};
    assert_ok(kg__query_block_worker_open(&w->worker, &w->context, NULL), NULL);
}

static void close_world(world *w) {
    kg__query_block_worker_close(&w->worker);
    kg__adjacency_free(&w->graph);
    kg__triples_free(&w->facts);
}

static int compare_others(const void *a, const void *b) {
    const kg_link *x = a;
    const kg_link *y = b;
    if (x->other != y->other)
        return x->other < y->other ? -1 : 1;
    return x->directed < y->directed ? -1 : x->directed > y->directed;
}

/* Opens a block and checks what holds of any. */
static void open_block(world *w, kg_id entity, const kg_train_query *queries, size_t count) {
    kg_query_block *b = &w->block;
    const kg_link *all = kg__adjacency_links(&w->graph, entity);
    size_t degree = kg__adjacency_degree(&w->graph, entity);
    assert_ok(kg__query_block_open(b, &w->context, &w->worker, &w->grads, queries,
                                   (kg_query_range){entity, 0, (uint32_t)count}, NULL),
              NULL);
    for (size_t i = 0; i < b->link_count; i++) {
        assert_true(kg__links_find(all, degree, b->links[i]) < degree);
        assert_true(i == 0 || kg__links_compare(b->links[i - 1], b->links[i]) < 0);
    }
    for (size_t i = 0; i < count; i++)
        assert_true(kg__links_find(b->links, b->link_count, queries[i].target) < b->link_count);
    kg_link *sorted = must_allocate(b->link_count, sizeof *sorted);
    memcpy(sorted, b->links, b->link_count * sizeof *sorted);
    qsort(sorted, b->link_count, sizeof *sorted, compare_others);
    assert_memory_equal(b->by_other, sorted, b->link_count * sizeof *sorted);
    free(sorted);
}

static void test_all(void **state) {
    (void)state;
    world w;
    open_world(&w);
    kg_train_query query = {kg__adjacency_links(&w.graph, SMALL)[1], 1, true, 0};
    open_block(&w, SMALL, &query, 1);
    assert_int_equal(w.block.link_count, 3);
    assert_ptr_equal(w.block.links, kg__adjacency_links(&w.graph, SMALL));
    close_world(&w);
}

/* Each link is in as many samples as others, more or less. */
static void test_hub(void **state) {
    (void)state;
    enum { QUERIES = 64, STEPS = 30 };
    world w;
    kg_train_query queries[QUERIES];
    open_world(&w);
    const kg_link *all = kg__adjacency_links(&w.graph, HUB);
    size_t *times = must_allocate(LINKS, sizeof *times);
    for (uint32_t i = 0; i < QUERIES; i++)
        queries[i] = (kg_train_query){all[500 + i], 1, true, i};
    for (uint64_t step = 1; step <= STEPS; step++) {
        w.context.step = step;
        kg__arena_reset(&w.worker.arena);
        open_block(&w, HUB, queries, QUERIES);
        assert_true(w.block.link_count <= KG_MOST_LINKS + QUERIES);
        assert_true(w.block.link_count > KG_MOST_LINKS / 2);
        for (size_t i = 0; i < w.block.link_count; i++)
            times[kg__links_find(all, LINKS, w.block.links[i])]++;
    }
    for (size_t i = 0; i < LINKS; i++) /* one of three, so 10 times on average */
        assert_true(i >= 500 && i < 500 + QUERIES ? times[i] == STEPS
                                                  : times[i] > 0 && times[i] < STEPS);
    free(times);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_hub)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
