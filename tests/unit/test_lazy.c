/* Lazy learning equals the dense sweep to the bit, over hundreds of steps in which most rows are
 * left alone for long: AdaGrad and Adam, with L2 and without, by any number of threads; and both
 * are what the published formulas say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "step_bench.h"

#ifdef KG_DOUBLE
#define EXACT 1e-11
#else
#define EXACT 1e-3
#endif

#define STEPS 400
#define ENTITIES 150
#define UNTRAINED 10 /* rows behind these */
#define RELATIONS 6
#define DIM 36   /* not a multiple of what a processor takes at once */
#define FEW 6    /* items in a step */
#define MANY 300 /* so many that threads share the work */

struct setting {
    const char *name;
    kg_method method;
    double rate;
    double l2;
};

static const struct setting settings[] = {
    {"adagrad with L2", KG_ADAGRAD, 0.1, 0.01},
    {"adagrad with much L2", KG_ADAGRAD, 0.1, 10},
    {"adagrad", KG_ADAGRAD, 0.1, 0},
    {"row-wise adagrad with L2", KG_ADAGRAD_ROW, 0.1, 0.01},
    {"row-wise adagrad", KG_ADAGRAD_ROW, 0.1, 0},
    {"adam with L2", KG_ADAM, 0.01, 0.01},
    {"adam", KG_ADAM, 0.01, 0},
};

static real noise(uint64_t *state) {
    return (real)((double)next_below(state, 1 << 20) / (1 << 20) - 0.5);
}

/* ---- One parameter: catching up against single steps, and both against the formulas ---- */

/* Row 0 takes part in every step, row 1 in every seventh, row 2 in the first and the last, row 3
 * in none; row 4 is zero, row 5 too small for its square, and they take part in one. */
static bool takes_part(size_t row, uint64_t step) {
    switch (row) {
    case 0:
        return true;
    case 1:
        return step % 7 == 0;
    case 2:
        return step == 1 || step == STEPS;
    case 3:
        return false;
    default:
        return step == 123;
    }
}

#define ROWS 6

static void open_table(kg_param_list *list, const struct setting *setting) {
    uint64_t state = 1;
    kg_param about = {.name = "table",
                      .rows = ROWS,
                      .columns = DIM,
                      .trained_rows = ROWS,
                      .rate = 1,
                      .has_l2 = true};
    *list = (kg_param_list){.method = setting->method, .threads = 1};
    assert_ok(kg__param_list_add(list, &about, (kg_param_start){0}, NULL), NULL);
    assert_ok(kg__param_list_open_optimizers(
                  list, (kg_rates){.first = setting->rate, .last = setting->rate / 3}, setting->l2,
                  STEPS, NULL),
              NULL);
    for (size_t i = 0; i < ROWS * DIM; i++) {
        real value = noise(&state);
        list->items[0].values[i] = i / DIM == 4 ? 0 : i / DIM == 5 ? value * (real)1e-30 : value;
    }
}

static real gradient_at(size_t row, size_t k, uint64_t step) {
    uint64_t state = (step * ROWS + row) * DIM + k;
    return takes_part(row, step) ? noise(&state) : 0;
}

/* Rows that take part, or all, take the step. */
static void step_table(kg_param_list *list, uint64_t step, bool all) {
    kg_grads grads = {.node = kg__parts_leaf(0)};
    assert_ok(kg__param_list_open_grads(list, &grads, NULL), NULL);
    kg__param_list_clear(list);
    for (size_t row = 0; row < ROWS; row++) {
        real *gradient = NULL;
        if (!all && !takes_part(row, step))
            continue;
        kg__param_list_touch(list, 0, row);
        assert_ok(kg__grads_add(&grads, &gradient, 0, NULL), NULL);
        for (size_t k = 0; k < DIM; k++)
            gradient[k] = gradient_at(row, k, step);
        assert_ok(kg__grads_send(&grads, 0, row, NULL), NULL);
    }
    kg__param_list_catch_up(list, step - 1);
    assert_ok(kg__param_list_step(list, &grads, 1, step, NULL), NULL);
    kg__grads_free(&grads);
}

/* Duchi et al. 2011, of each number or with one sum for the row; Kingma and Ba 2015. */
static void plain_row(const struct setting *setting, double w[DIM], size_t row) {
    double first[DIM] = {0};
    double second[DIM] = {0};
    for (uint64_t step = 1; step <= STEPS; step++) {
        double rate = setting->rate * (1 - 2.0 / 3 * (double)(step - 1) / (STEPS - 1));
        double g[DIM];
        double squares = 0;
        for (size_t k = 0; k < DIM; k++) {
            g[k] = (double)gradient_at(row, k, step) + setting->l2 * w[k];
            squares += g[k] * g[k];
        }
        for (size_t k = 0; k < DIM; k++) {
            if (setting->method != KG_ADAM) {
                first[k] += setting->method == KG_ADAGRAD ? g[k] * g[k] : squares / DIM;
                w[k] -= rate * g[k] / (sqrt(first[k]) + 1e-10);
                continue;
            }
            first[k] = 0.9 * first[k] + 0.1 * g[k];
            second[k] = 0.999 * second[k] + 0.001 * g[k] * g[k];
            double mean = first[k] / (1 - pow(0.9, (double)step));
            double square = second[k] / (1 - pow(0.999, (double)step));
            w[k] -= rate * mean / (sqrt(square) + 1e-8);
        }
    }
}

static void assert_same_table(const kg_param *a, const kg_param *b) {
    size_t bytes = a->rows * a->columns * sizeof *a->values;
    assert_memory_equal(a->values, b->values, bytes);
    assert_memory_equal(a->first, b->first, a->rows * a->state * sizeof *a->first);
    if (a->second != NULL)
        assert_memory_equal(a->second, b->second, bytes);
    assert_true((a->steps == NULL) == (b->steps == NULL));
    if (a->steps != NULL)
        assert_memory_equal(a->steps, b->steps, a->rows * sizeof *a->steps);
}

static void check_param(const struct setting *setting) {
    kg_param_list start;
    kg_param_list dense;
    kg_param_list lazy;
    open_table(&start, setting);
    open_table(&dense, setting);
    open_table(&lazy, setting);
    for (uint64_t step = 1; step <= STEPS; step++) {
        step_table(&dense, step, true);
        step_table(&lazy, step, false);
    }
    kg__param_list_catch_up_all(&lazy, STEPS);
    assert_same_table(&dense.items[0], &lazy.items[0]);
    for (size_t row = 0; row < 4; row++) {
        double expected[DIM];
        for (size_t k = 0; k < DIM; k++)
            expected[k] = (double)start.items[0].values[row * DIM + k];
        plain_row(setting, expected, row);
        for (size_t k = 0; k < DIM; k++) {
            double found = (double)lazy.items[0].values[row * DIM + k];
            if (!(fabs(found - expected[k]) <= EXACT))
                fail_msg("%s: row %zu, column %zu is %.12g, not %.12g", setting->name, row, k,
                         found, expected[k]);
        }
    }
    kg__param_list_close(&start);
    kg__param_list_close(&dense);
    kg__param_list_close(&lazy);
}

static void test_param(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        check_param(&settings[i]);
}

/* ---- Whole steps ---- */

/* Entities below 30 are linked to each other, those from 30 each to one of them. */
static void make_facts(kg_triples *facts) {
    uint64_t state = 5;
    for (size_t i = 0; i < 300; i++) {
        kg_id head = i < 180 ? (kg_id)next_below(&state, 30) : (kg_id)(i - 150);
        kg_triple fact = {head, (kg_id)next_below(&state, RELATIONS),
                          (kg_id)next_below(&state, 30)};
        assert_ok(kg__triples_push(facts, fact, NULL), NULL);
    }
    size_t dropped = 0;
    assert_ok(kg__triples_unique(facts, &dropped, NULL), NULL);
}

/* Nearly always facts among the first ten entities, so that most rows wait for long. */
static void make_items(step_item *items, size_t count, const kg_triples *facts, uint64_t step) {
    uint64_t state = step;
    for (size_t i = 0; i < count; i++) {
        bool is_rare = step % 50 == 1 && i % FEW == 0;
        kg_triple fact = facts->items[next_below(&state, facts->count)];
        if (!is_rare) {
            fact.head %= 10;
            fact.tail %= 10;
        }
        items[i] = (step_item){fact, i % 2 == 0 ? 1 : -1, (uint8_t)next_below(&state, 3)};
    }
}

struct run {
    const struct setting *setting;
    const char *aggregate;
    bool dense;
    int threads;
    size_t items;        /* in a step */
    uint64_t look_every; /* steps after which all rows catch up, as for a checkpoint; 0: never */
};

/* The bench is left open. */
static void learn(struct run run, step_bench *bench) {
    const struct setting *setting = run.setting;
    kg_triples facts = {0};
    kg_adjacency adjacency;
    uint64_t state = 9;
    make_facts(&facts);
    assert_ok(kg__adjacency_make(&adjacency, &facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    step_bench_options options = {
        .step = {.aggregate = {.aggregator = kg__aggregator_find(run.aggregate),
                               .ls_lambda = (real)0.1,
                               .ls_rows = KG_LS_NORMALIZED},
                 .threads = run.threads,
                 .dense = run.dense},
        .scoring = kg__scoring_find("complex"),
        .dim = DIM,
        .entity_rows = ENTITIES + UNTRAINED,
        .trained_entities = ENTITIES,
        .relation_rows = RELATIONS,
        .trained_relations = RELATIONS,
        .method = setting->method,
        .rates = {.first = setting->rate, .last = setting->rate / 3},
        .l2 = setting->l2,
        .steps = STEPS,
        .most_items = MANY,
    };
    open_step_bench(bench, &options, &adjacency);
    for (size_t i = 0; i < (ENTITIES + UNTRAINED) * DIM; i++)
        bench_entities(bench)->values[i] = noise(&state);
    for (size_t i = 0; i < RELATIONS * DIM; i++)
        bench_relations(bench)->values[i] = noise(&state);
    uint64_t steps = run.items == MANY ? STEPS / (IS_SANITIZED ? 16 : 4) : STEPS;
    for (uint64_t step = 1; step <= steps; step++) {
        step_item items[MANY];
        double loss = 0;
        make_items(items, run.items, &facts, step);
        take_item_step(bench, items, run.items, step, &loss);
        if (run.look_every > 0 && step % run.look_every == 0)
            assert_ok(kg__step_catch_up(bench->step, step, NULL), NULL);
    }
    assert_ok(kg__step_catch_up(bench->step, steps, NULL), NULL);
    kg__adjacency_free(&adjacency);
    kg__triples_free(&facts);
}

static void check_same(struct run one, struct run other) {
    step_bench benches[2];
    learn(one, &benches[0]);
    learn(other, &benches[1]);
    assert_same_table(bench_entities(&benches[0]), bench_entities(&benches[1]));
    assert_same_table(bench_relations(&benches[0]), bench_relations(&benches[1]));
    close_step_bench(&benches[0]);
    close_step_bench(&benches[1]);
}

static void test_lazy_equals_dense(void **state) {
    (void)state;
    for (size_t a = 0; !kg__aggregators[a]->is_encoder; a++)
        for (size_t i = IS_SANITIZED ? a % 5 : 0; i < COUNT_OF(settings); i += IS_SANITIZED ? 5 : 1)
            check_same((struct run){&settings[i], kg__aggregators[a]->name, true, 1, FEW, 0},
                       (struct run){&settings[i], kg__aggregators[a]->name, false, 1, FEW, 0});
}

static void test_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const char *name = i % 2 == 0 ? "eravg" : "ls";
        check_same((struct run){&settings[i], name, false, 1, MANY, 0},
                   (struct run){&settings[i], name, false, 2, MANY, 0});
        check_same((struct run){&settings[i], name, true, 1, MANY, 0},
                   (struct run){&settings[i], name, false, 7, MANY, 0});
    }
}

/* Checkpoints and validations let rows catch up at any time; nobody can tell afterwards. */
static void test_looking_changes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        check_same((struct run){&settings[i], "eravg", false, 1, FEW, 0},
                   (struct run){&settings[i], "eravg", false, 1, FEW, 37});
}

/* Rows of entities that training does not know stay as they are, L2 or not. */
static void test_untrained_rows(void **state) {
    (void)state;
    step_bench first;
    step_bench second;
    learn((struct run){&settings[0], "eavg", false, 1, FEW, 0}, &first);
    learn((struct run){&settings[3], "ls", true, 1, FEW, 0}, &second);
    const real *one = bench_entities(&first)->values;
    const real *other = bench_entities(&second)->values;
    size_t at = (size_t)ENTITIES * DIM;
    size_t bytes = (size_t)UNTRAINED * DIM * sizeof *one;
    assert_memory_equal(one + at, other + at, bytes);
    assert_memory_not_equal(one, other, bytes);
    close_step_bench(&first);
    close_step_bench(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_param),          cmocka_unit_test(test_lazy_equals_dense),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_looking_changes_nothing),
        cmocka_unit_test(test_untrained_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
