/* The propagation term between its computing core, which has tests of its own, and the rest of the
 * program: score offsets and priors add up to its scores; its loss is that of a plain softmax over
 * all entities, with the right gradients. */
#include <math.h>
#include <string.h>

#include "rank/rank.h"
#include "support.h"
#include "terms/propagation_term.h"
#include "train/loss.h"

#define ENTITIES 40
#define RELATIONS 3
#define DIRECTED (2 * RELATIONS)
#define FACTS 110
#define WEIGHT 3

typedef struct world {
    kg_triples facts;
    kg_adjacency graph;
    kg_params params;
    kg_term_param shapes[KG_MOST_TERM_PARAMS];
    size_t count;
    real *values[KG_MOST_TERM_PARAMS];
} world;

static kg_term_view *view_of(world *w) {
    return &w->params.terms[kg__term_number(&kg__term_propagation)];
}

/* The last entities have no facts. */
static void open_world(world *w, const kg_propagation_options *options) {
    static const real no_rows[1];
    uint64_t random = 7;
    size_t dropped = 0;
    *w = (world){.params = {.scoring = kg__scoring_find("distmult"),
                            .entities = no_rows,
                            .relations = no_rows}};
    for (size_t i = 0; i < FACTS; i++) {
        kg_triple fact = {(kg_id)next_below(&random, ENTITIES - 3),
                          (kg_id)next_below(&random, RELATIONS),
                          (kg_id)next_below(&random, ENTITIES - 3)};
        assert_ok(kg__triples_push(&w->facts, fact, NULL), NULL);
    }
    assert_ok(kg__triples_unique(&w->facts, &dropped, NULL), NULL);
    assert_ok(kg__adjacency_make(&w->graph, &w->facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    kg_term_source source = {
        .graph = &w->graph, .directed_count = DIRECTED, .propagation = options};
    assert_ok(kg__term_propagation.count(view_of(w), &source, NULL), NULL);
    w->params.graph = &w->graph;
    w->count = kg__term_params(w->shapes, view_of(w));
    for (size_t i = 0; i < w->count; i++) {
        size_t size = w->shapes[i].rows * w->shapes[i].columns;
        w->values[i] = must_allocate(size, sizeof(real));
        for (size_t k = 0; k < size; k++)
            w->values[i][k] = (real)(((double)next_below(&random, 2001) - 1000) / 4000);
        view_of(w)->values[i] = w->values[i];
    }
}

static void close_world(world *w) {
    for (size_t i = 0; i < w->count; i++)
        free(w->values[i]);
    view_of(w)->learned->close(view_of(w));
    kg__adjacency_free(&w->graph);
    kg__triples_free(&w->facts);
}

#define ECHOES 0.5

static const kg_propagation_options small = {.layers = 2,
                                             .width = 16,
                                             .sources = 6,
                                             .sampled = 10000,
                                             .weight = WEIGHT,
                                             .dropped = 1e-12,
                                             .echoes = ECHOES};

/* ---- A plain pass ---- */

typedef struct plain_pass {
    kg_relation_degrees counts;
    kg_propagation_worker worker;
    kg_arena arena;
    kg_propagation model;
    kg_propagation_pass pass;
} plain_pass;

static void open_pass(plain_pass *p, world *w, kg_id self, const kg_link *links, size_t count,
                      kg_directed query, size_t left_out) {
    *p = (plain_pass){.model = kg__propagation_view(view_of(w))};
    assert_ok(kg__relation_degrees_open(&p->counts, &w->graph, DIRECTED, NULL), NULL);
    assert_ok(kg__propagation_worker_open(&p->worker, &p->counts, NULL), NULL);
    kg_propagation_query queried = {.entity = self,
                                    .links = links,
                                    .link_count = count,
                                    .queried = query,
                                    .left_out = left_out};
    assert_ok(kg__propagation_forward(&p->pass, &p->model, &queried, &p->worker, &p->arena, NULL),
              NULL);
}

static void close_pass(plain_pass *p) {
    kg__arena_free(&p->arena);
    kg__propagation_worker_close(&p->worker);
    kg__relation_degrees_close(&p->counts);
}

/* Of an entity, whether it is reached or not; above that of what is not reached. */
static double plain_score(const plain_pass *p, kg_id entity) {
    const kg_propagation_query *query = &p->pass.query;
    double unreached = (double)p->model.tensors[KG_PROPAGATION_UNREACHED][query->queried];
    for (size_t i = 0; i < p->pass.count; i++)
        if (p->pass.entities[i] == entity)
            return (double)p->pass.scores[i] - unreached;
    size_t class = kg__propagation_class(&p->counts, query, entity);
    return (double)
        p->model.tensors[KG_PROPAGATION_DEGREE][query->queried * (size_t)KG_DEGREE_CLASSES + class];
}

/* ---- Answering ---- */

static double prior_of(world *w, kg_directed query, kg_id entity) {
    size_t facts = 0;
    kg__links_run(kg__adjacency_links(&w->graph, entity), kg__adjacency_degree(&w->graph, entity),
                  kg__inverse(query), &facts);
    return (double)kg__term_propagation.prior(view_of(w), query, kg__degree_class(facts));
}

static double offset_of(const kg_score_offsets *offsets, kg_id entity) {
    for (size_t i = 0; i < offsets->count; i++)
        if (offsets->items[i].entity == entity)
            return offsets->items[i].value;
    return 0;
}

/* Each score is at most 100 here, and is rounded a few times. */
#define CLOSE (100 * 8 * (double)KG_REAL_EPSILON)

static void check_offsets(world *w, kg_scorer *scorer, kg_id self, const kg_link *links,
                          size_t count, kg_directed query, size_t left_out) {
    kg_score_offsets offsets = {0};
    plain_pass plain;
    assert_ok(kg__scorer_load(scorer, self, links, count, NULL), NULL);
    kg__scorer_set_query(scorer, query);
    assert_ok(kg__scorer_offsets(scorer, &offsets, left_out, NULL), NULL);
    open_pass(&plain, w, self, links, count, query, left_out);
    for (size_t i = 1; i < offsets.count; i++)
        assert_true(offsets.items[i - 1].entity < offsets.items[i].entity);
    for (kg_id e = 0; e < ENTITIES; e++) {
        double expected = WEIGHT * plain_score(&plain, e);
        double found = prior_of(w, query, e) + offset_of(&offsets, e);
        if (e != self)
            assert_true(fabs(found - expected) <= CLOSE);
    }
    close_pass(&plain);
    kg__score_offsets_free(&offsets);
}

/* Entities of the graph, with and without one of their facts, and new ones. */
static void test_offsets(void **state) {
    (void)state;
    world w;
    kg_scorer scorer;
    open_world(&w, &small);
    assert_ok(kg__scorer_open(&scorer, kg__aggregate_defaults(kg__aggregators[0]), &w.params, NULL),
              NULL);
    for (kg_id v = 0; v < ENTITIES; v++) {
        const kg_link *links = kg__adjacency_links(&w.graph, v);
        size_t count = kg__adjacency_degree(&w.graph, v);
        for (size_t i = 0; i < count; i++) {
            check_offsets(&w, &scorer, v, links, count, links[i].directed, i);
            check_offsets(&w, &scorer, KG_NO_ID, links, count, links[i].directed, i);
            check_offsets(&w, &scorer, KG_NO_ID, links, count, (kg_directed)(i % DIRECTED),
                          KG_NOTHING);
        }
        check_offsets(&w, &scorer, v, links, count, v % DIRECTED, KG_NOTHING);
    }
    kg__scorer_close(&scorer);
    close_world(&w);
}

/* ---- The loss ---- */

/* Whether v has a fact with an entity that is not of the queried relation. */
static bool is_linked(const kg_link *links, size_t count, kg_link target) {
    for (size_t i = 0; i < count; i++)
        if (links[i].other == target.other && links[i].directed != target.directed)
            return true;
    return false;
}

/* By all entities in turn: the entity itself and other known answers do not compete. A share of the
 * echoes is queried, so entities that would be ones are the answer so much less often. */
static double plain_loss(world *w, kg_id v, size_t fact) {
    const kg_link *links = kg__adjacency_links(&w->graph, v);
    size_t count = kg__adjacency_degree(&w->graph, v);
    kg_link target = links[fact];
    plain_pass plain;
    double sum = 0;
    double own = 0;
    open_pass(&plain, w, v, links, count, target.directed, fact);
    for (kg_id e = 0; e < ENTITIES; e++) {
        kg_link link = {target.directed, e};
        bool is_answer = e == target.other;
        if (!is_answer && (e == v || kg__links_find(links, count, link) < count))
            continue;
        double term = exp(plain_score(&plain, e)) * (is_linked(links, count, link) ? ECHOES : 1);
        sum += term;
        own += is_answer ? term : 0;
    }
    close_pass(&plain);
    return log(sum / own);
}

/* The loss of one query, and gradients on parameters, summed by row, unless `sums` is NULL. */
static double learn(world *w, kg_id v, size_t fact, real *const *sums) {
    kg_aggregate_options aggregate = kg__aggregate_defaults(kg__aggregators[0]);
    kg_step_context context = {
        .params = &w->params, .graph = &w->graph, .aggregate = &aggregate, .psi = 1, .step = v + 1};
    kg_block_worker worker;
    kg_grads grads = {0};
    kg_query_block block;
    kg_train_query query = {kg__adjacency_links(&w->graph, v)[fact], 1, true, 0};
    for (size_t i = 0; i < w->count; i++)
        assert_ok(kg__grads_add_param(&grads, w->shapes[i].rows, w->shapes[i].columns, NULL), NULL);
    assert_ok(kg__query_block_worker_open(&worker, &context, NULL), NULL);
    assert_ok(kg__query_block_open(&block, &context, &worker, &grads, &query,
                                   (kg_query_range){v, 0, 1}, NULL),
              NULL);
    assert_ok(kg__loss_propagation.block(&block), NULL);
    for (size_t i = 0; i < w->count && sums != NULL; i++) {
        const kg_param_grads *own = &grads.params[i];
        for (size_t k = 0; k < own->target_count; k++)
            for (size_t c = 0; c < own->columns; c++)
                sums[i][own->targets[k].row * own->columns + c] +=
                    own->vectors[own->targets[k].vector * own->columns + c];
    }
    double loss = block.loss;
    kg__grads_free(&grads);
    kg__query_block_worker_close(&worker);
    return loss;
}

/* All but echoes are queried, and some of these. */
static void test_loss(void **state) {
    (void)state;
    world w;
    size_t echoes = 0;
    size_t queried = 0;
    open_world(&w, &small);
    for (kg_id v = 0; v < ENTITIES; v++) {
        const kg_link *links = kg__adjacency_links(&w.graph, v);
        size_t count = kg__adjacency_degree(&w.graph, v);
        for (size_t i = 0; i < count; i++) {
            bool is_echo = is_linked(links, count, links[i]);
            double found = learn(&w, v, i, NULL);
            bool is_left_out = is_echo && found == 0;
            assert_true(is_left_out || fabs(found - plain_loss(&w, v, i)) <= CLOSE);
            echoes += is_echo;
            queried += is_echo && !is_left_out;
        }
    }
    assert_in_range(queried, 1, echoes - 1);
    close_world(&w);
}

#define STEP 1e-3 /* of finite differences: their error is of the order of its square */

static void check_gradient(world *w, kg_id v, size_t fact, size_t param, size_t i,
                           double gradient) {
    real value = w->values[param][i];
    w->values[param][i] = value + (real)STEP;
    double above = learn(w, v, fact, NULL);
    w->values[param][i] = value - (real)STEP;
    double below = learn(w, v, fact, NULL);
    w->values[param][i] = value;
    double expected = (above - below) / (2 * STEP);
    double error = 1e-4 + 4 * CLOSE / STEP; /* of the difference, and of rounding */
    assert_true(fabs(gradient - expected) <= error + 1e-3 * fabs(expected));
}

/* Where relu and max have no corner within the step: nearly everywhere. All parameters of the
 * readout, and some of the others. */
static void test_gradients(void **state) {
    (void)state;
    world w;
    real *sums[KG_MOST_TERM_PARAMS];
    open_world(&w, &small);
    for (size_t p = 0; p < w.count; p++)
        sums[p] = must_allocate(w.shapes[p].rows * w.shapes[p].columns, sizeof(real));
    for (kg_id v = 0; v < 6; v++) {
        for (size_t p = 0; p < w.count; p++)
            memset(sums[p], 0, w.shapes[p].rows * w.shapes[p].columns * sizeof(real));
        learn(&w, v, 0, sums);
        for (size_t p = 0; p < w.count; p++)
            for (size_t i = 0; i < w.shapes[p].rows * w.shapes[p].columns; i += 1 + 37 * (i / 8))
                if (strcmp(w.shapes[p].name, "propagation_degree") == 0 ||
                    strcmp(w.shapes[p].name, "propagation_unreached") == 0 ||
                    strcmp(w.shapes[p].name, "propagation_output") == 0)
                    check_gradient(&w, v, 0, p, i, (double)sums[p][i]);
    }
    for (size_t p = 0; p < w.count; p++)
        free(sums[p]);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
