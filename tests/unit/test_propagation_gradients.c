/* Gradients of propagation: the finite differences of its plain twin. */
#include "propagation_twin.h"

#ifdef KG_DOUBLE
#define GRADIENT_EXACT 1e-5
#else
#define GRADIENT_EXACT 5e-3
#endif

/* What is differentiated: a weighted sum of all that a pass gives. */
typedef struct weights {
    double scores[ENTITIES];
    double unreached[CLASSES];
} weights;

static double twin_loss(const propagation_world *w, const kg_propagation_query *query,
                        const weights *by) {
    twin t;
    double loss = 0;
    run_twin(&t, w, query);
    for (size_t e = 0; e < ENTITIES; e++)
        loss += t.is_reached[e] && e != query->entity ? by->scores[e] * t.scores[e] : 0;
    for (size_t i = 0; i < CLASSES; i++)
        loss += by->unreached[i] * (value(&t, KG_PROPAGATION_DEGREE, query->queried, i) +
                                    value(&t, KG_PROPAGATION_UNREACHED, query->queried, 0));
    return loss;
}

static double slope_of(propagation_world *w, const kg_propagation_query *query, const weights *by,
                       double *number) {
    static const double step = 1e-6;
    double saved = *number;
    *number = saved + step;
    double above = twin_loss(w, query, by);
    *number = saved - step;
    double below = twin_loss(w, query, by);
    *number = saved;
    return (above - below) / (2 * step);
}

static void go_backward(propagation_world *w, const kg_propagation_query *query,
                        const weights *by) {
    real on_scores[ENTITIES];
    real on_unreached[CLASSES];
    kg_propagation_pass pass = go_forward(w, query);
    for (size_t i = 0; i < pass.count; i++)
        on_scores[i] = (real)by->scores[pass.entities[i]];
    for (size_t i = 0; i < CLASSES; i++)
        on_unreached[i] = (real)by->unreached[i];
    assert_ok(kg__propagation_backward(&pass, on_scores, on_unreached, &w->worker, &w->grads, NULL),
              NULL);
}

/* The gradient on a number of a tensor; 0 where nothing was sent. */
static double gradient_of(const propagation_world *w, size_t tensor, size_t row, size_t column) {
    const kg_param_grads *own = &w->grads.params[w->model.params[tensor]];
    double out = 0;
    for (size_t i = 0; i < own->target_count; i++)
        if (own->targets[i].row == row)
            out += (double)own->vectors[own->targets[i].vector * own->columns + column];
    return out;
}

#define MOST_CHECKED 16 /* numbers of a tensor */

static void check_gradients(propagation_world *w, const kg_propagation_query *query,
                            uint64_t *state) {
    weights by;
    for (size_t i = 0; i < ENTITIES; i++) /* some have none */
        by.scores[i] = i % 4 == 3 ? 0 : next_unit(state) - 0.5;
    for (size_t i = 0; i < CLASSES; i++)
        by.unreached[i] = next_unit(state) - 0.5;
    kg__grads_clear(&w->grads);
    go_backward(w, query, &by);
    for (size_t t = 0; t < KG_PROPAGATION_TENSORS; t++) {
        size_t count = w->shapes[t].rows * w->shapes[t].columns;
        for (size_t i = 0; i < count && i < MOST_CHECKED; i++) {
            size_t at = count <= MOST_CHECKED ? i : next_below(state, count);
            double expected = slope_of(w, query, &by, &w->precise[t][at]);
            double found = gradient_of(w, t, at / w->shapes[t].columns, at % w->shapes[t].columns);
            assert_close(w->shapes[t].name, at, found, expected, GRADIENT_EXACT);
        }
    }
}

static void test_gradients(void **state) {
    (void)state;
    uint64_t random = 1;
    size_t option_count = IS_SANITIZED ? 1 : SOME_OPTIONS;
    for (size_t o = 0; o < option_count; o++) {
        propagation_world w;
        open_propagation_world(&w, some_options[o], 70 + o);
        for (kg_id e = 0; e < 3; e++) {
            kg_propagation_query query = query_of(&w, e, e % 2);
            check_gradients(&w, &query, &random);
        }
        const kg_link links[] = {{0, 3}, {0, 5}, {1, 3}, {4, 9}};
        kg_propagation_query query = new_query(links, COUNT_OF(links), 1);
        check_gradients(&w, &query, &random);
        close_propagation_world(&w);
    }
}

/* Where several messages tie, one of them gets all of the gradient of their maximum: two edges with
 * the same relation from sources with the same vector. */
static void test_ties(void **state) {
    (void)state;
    static const kg_triple facts[] = {{0, 0, 1}, {0, 0, 2}, {1, 0, 3}, {2, 0, 3}, {3, 1, 4}};
    static const kg_propagation_options options = {.layers = 2,
                                                   .width = WIDTH,
                                                   .sources = 9,
                                                   .edges = 99,
                                                   .pooling = KG_POOL_MAX,
                                                   .sampled = 1,
                                                   .weight = 1};
    propagation_world w;
    open_small_propagation_world(&w, facts, COUNT_OF(facts), options);
    kg_propagation_query query = query_of(&w, 0, 0);
    query.left_out = SIZE_MAX;
    weights by = {.scores[3] = 1};
    go_backward(&w, &query, &by);
    const kg_param_grads *own = &w.grads.params[w.model.params[KG_PROPAGATION_RELATIONS]];
    for (size_t i = 0; i < own->columns; i++) {
        double found = gradient_of(&w, KG_PROPAGATION_RELATIONS, DIRECTED, i);
        double expected =
            slope_of(&w, &query, &by, &w.precise[KG_PROPAGATION_RELATIONS][DIRECTED * WIDTH + i]);
        assert_close("tie", i, found, expected, GRADIENT_EXACT);
    }
    close_propagation_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
