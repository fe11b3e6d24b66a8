/* Steps of the softmax loss against their plain twin: loss, and gradients on every kind of
 * parameter, which are the twin's finite differences; every model, relations shared and directed,
 * with and without vectors of their own for aggregation, weights, echoes; entities seen and unseen.
 * The twin takes all entities for candidates; that samples of them mean the same on average is a
 * test of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "give_term.h"
#include "support.h"
#include "terms/echo.h"
#include "train/step.h"
#include "twin.h"

#ifdef KG_DOUBLE
#define EXACT 1e-9
#define GRADIENT_EXACT 1e-6
#define OWN_STEP 1e-5
#define OWN_EXACT 1e-6
#else
#define EXACT 1e-4
#define GRADIENT_EXACT 2e-3
#define OWN_STEP 2e-2
#define OWN_EXACT 2e-2
#endif

#define DIM 4
#define ENTITIES 13
#define RELATIONS 5
#define DIRECTED (2 * RELATIONS)
#define MOST_PAIRS (DIRECTED * DIRECTED)

/* What is learned, in the order of the parameters. */
enum { E, R, A, W, C, KINDS };
#define OF_E (ENTITIES * DIM)
#define OF_R (DIRECTED * DIM)
#define PARAMETERS (OF_E + 2 * OF_R + 2 * MOST_PAIRS)

typedef struct world {
    kg_triples facts;
    kg_adjacency graph;
    kg_pair_param echo;
    kg_relation_weights
        relation_weights; /* of all pairs that there may be; the values are parameters */
    const char *model;
    const char *aggregator;
    bool directed;
    bool own;
    bool weights;
    bool echoes;
    double psi;
    double dropout;
    double n3;
    size_t negatives;
    size_t block_size;
    int threads;
    size_t starts[KINDS + 1];
    double parameters[PARAMETERS];
} world;

static const kg_triple other_facts[] = {
    {0, 2, 0}, {3, 2, 3}, {10, 2, 1}, {1, 2, 2}, {2, 2, 1}, {1, 3, 2}, {4, 3, 5}, {5, 0, 6},
};

/* Entity 0 is linked to nine others by two relations each. 10 has one fact, 11 and 12 none. */
static void open_world(world *w) {
    *w = (world){.model = "distmult",
                 .aggregator = "graft",
                 .psi = 1,
                 .negatives = ENTITIES,
                 .block_size = 64,
                 .threads = 1};
    for (kg_id other = 1; other < 10; other++) {
        assert_ok(kg__triples_push(&w->facts, (kg_triple){0, 0, other}, NULL), NULL);
        assert_ok(kg__triples_push(&w->facts, (kg_triple){other, 1, 0}, NULL), NULL);
    }
    for (size_t i = 0; i < COUNT_OF(other_facts); i++)
        assert_ok(kg__triples_push(&w->facts, other_facts[i], NULL), NULL);
    assert_ok(kg__adjacency_make(&w->graph, &w->facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    assert_ok(kg__pairs_make(&w->relation_weights.param.pairs, &w->graph, DIRECTED, NULL), NULL);
    assert_ok(kg__pairs_make_echoes(&w->echo.pairs, &w->graph, DIRECTED, 1, 0, NULL), NULL);
    w->relation_weights.power = 0.4;
    uint64_t state = 7;
    for (size_t i = 0; i < PARAMETERS; i++)
        w->parameters[i] = (double)(real)((double)next_below(&state, 1 << 20) / (1 << 19) - 1);
}

static void close_world(world *w) {
    kg__triples_free(&w->facts);
    kg__adjacency_free(&w->graph);
    kg__pairs_free(&w->relation_weights.param.pairs);
    kg__pairs_free(&w->echo.pairs);
}

/* Where each kind begins among the parameters. */
static void lay_out(world *w) {
    size_t relations = w->directed ? OF_R : OF_R / 2;
    const size_t sizes[KINDS] = {OF_E, relations, w->own ? relations : 0,
                                 w->weights ? w->relation_weights.param.pairs.count : 0,
                                 w->echoes ? w->echo.pairs.count : 0};
    w->starts[0] = 0;
    for (size_t i = 0; i < KINDS; i++)
        w->starts[i + 1] = w->starts[i] + sizes[i];
}

static const double *part(const world *w, int kind) {
    return w->parameters + w->starts[kind];
}

/* ---- The twin ---- */

static const double *twin_relation(const world *w, int kind, kg_directed directed) {
    return part(w, kind) + (size_t)(w->directed ? directed : directed / 2) * DIM;
}

/* The score of x, which stands where the directed relation's entity does, and of `other`. */
static double twin_of(const world *w, const double *relation, kg_directed directed, const double *x,
                      const double *other) {
    twin_model twin = {.model = w->model, .dim = DIM};
    return kg_directed_end(directed) == KG_HEAD ? twin_score(&twin, x, relation, other)
                                                : twin_score(&twin, other, relation, x);
}

static bool is_fact(const world *w, kg_id entity, kg_directed directed, kg_id other) {
    bool is_head = kg_directed_end(directed) == KG_HEAD;
    kg_id head = is_head ? entity : other;
    kg_id tail = is_head ? other : entity;
    for (size_t i = 0; i < w->facts.count; i++) {
        kg_triple f = w->facts.items[i];
        if (f.head == head && f.relation == directed / 2 && f.tail == tail && head != tail)
            return true;
    }
    return false;
}

/* The entity, asked for `asked`, as its other facts make it; and how many these are. */
static void twin_embed(const world *w, double *z, kg_id v, kg_link asked) {
    size_t count = 0;
    memset(z, 0, DIM * sizeof *z);
    for (kg_directed given = 0; given < DIRECTED; given++)
        for (kg_id u = 0; u < ENTITIES; u++) {
            if (!is_fact(w, v, given, u) || (given == asked.directed && u == asked.other))
                continue;
            count++;
            uint32_t pair = kg__pairs_find(&w->relation_weights.param.pairs, asked.directed, given);
            double weight = w->weights ? part(w, W)[pair] : 1;
            for (size_t k = 0; k < DIM; k++) {
                double unit[DIM] = {0};
                unit[k] = 1;
                z[k] += weight * twin_of(w, twin_relation(w, w->own ? A : R, given), given, unit,
                                         part(w, E) + u * DIM);
            }
        }
    for (size_t k = 0; k < DIM && count > 0; k++)
        z[k] *= pow((double)count, -w->relation_weights.power);
}

static double twin_candidate(const world *w, const double *z, kg_id v, kg_link asked, kg_id u) {
    double score =
        twin_of(w, twin_relation(w, R, asked.directed), asked.directed, z, part(w, E) + u * DIM);
    for (kg_directed given = 0; given < DIRECTED && w->echoes; given++) {
        uint32_t pair = kg__pairs_find(&w->echo.pairs, asked.directed, given);
        if (given != asked.directed && is_fact(w, v, given, u) && pair != KG_NO_PAIR)
            score += part(w, C)[pair];
    }
    return score;
}

/* QuatE's relations are made to have length 1. */
static double twin_norms(const world *w, const double *z, kg_link asked) {
    twin_model twin = {.model = w->model, .dim = DIM};
    double relation =
        strcmp(w->model, "quate") == 0 ? 0 : twin_norm(&twin, twin_relation(w, R, asked.directed));
    return w->n3 *
           (twin_norm(&twin, z) + relation + twin_norm(&twin, part(w, E) + asked.other * DIM));
}

/* An entity that is seen may be an answer about itself. */
static double twin_query(const world *w, kg_id v, kg_link asked) {
    double z[DIM];
    double sum = 0;
    if (w->psi == 0)
        memcpy(z, part(w, E) + v * DIM, sizeof z);
    else
        twin_embed(w, z, v, asked);
    for (kg_id u = 0; u < ENTITIES; u++)
        if ((u != v || w->psi == 0) && (u == asked.other || !is_fact(w, v, asked.directed, u)))
            sum += exp(twin_candidate(w, z, v, asked, u));
    return log(sum) - twin_candidate(w, z, v, asked, asked.other) + twin_norms(w, z, asked);
}

static double twin_loss(const world *w) {
    double loss = 0;
    for (kg_id v = 0; v < ENTITIES; v++)
        for (kg_directed asked = 0; asked < DIRECTED; asked++)
            for (kg_id u = 0; u < ENTITIES; u++)
                if (is_fact(w, v, asked, u))
                    loss += twin_query(w, v, (kg_link){asked, u});
    return loss;
}

/* ---- The step ---- */

typedef struct outcome {
    double loss;
    double gradients[PARAMETERS];
} outcome;

/* Adam with a rate of 0: nothing moves, and a tenth of the gradients is its mean. Returns the
 * number of the parameter. */
static size_t add_param(kg_param_list *list, const world *w, int kind, size_t columns) {
    size_t size = w->starts[kind + 1] - w->starts[kind];
    kg_param about = {.name = "parameter",
                      .rows = size / columns,
                      .columns = columns,
                      .trained_rows = size / columns,
                      .rate = 1,
                      .is_read_whole = kind >= W};
    size_t number = list->count;
    if (size == 0)
        return SIZE_MAX;
    assert_ok(kg__param_list_add(list, &about, (kg_param_start){0}, NULL), NULL);
    for (size_t i = 0; i < size; i++)
        list->items[number].values[i] = (real)part(w, kind)[i];
    return number;
}

static const real *values_of(const kg_param_list *list, size_t param) {
    return param == SIZE_MAX ? NULL : list->items[param].values;
}

static void take_step(const world *w, outcome *out, uint64_t step, const kg_batch *batch) {
    kg_param_list list = {.method = KG_ADAM, .threads = w->threads};
    size_t params[KINDS];
    kg_step *taken = NULL;
    kg_relation_weights graft = w->relation_weights;
    kg_pair_param echo = w->echo;
    for (int kind = 0; kind < KINDS; kind++)
        params[kind] = add_param(&list, w, kind, kind < W ? DIM : 1);
    assert_ok(kg__param_list_open_optimizers(&list, (kg_rates){0}, 0, step, NULL), NULL);
    if (!w->weights)
        graft.param.pairs = (kg_pairs){0};
    kg_step_options options = {.loss = &kg__loss_softmax,
                               .aggregate = {.aggregator = kg__aggregator_find(w->aggregator)},
                               .psi = w->psi,
                               .negatives = w->negatives,
                               .dropout = w->dropout,
                               .n3 = w->n3,
                               .seed = 5,
                               .threads = w->threads};
    kg_step_parts parts = {
        .list = &list,
        .params = {.scoring = kg__scoring_find(w->model),
                   .entities = values_of(&list, params[E]),
                   .relations = values_of(&list, params[R]),
                   .dim = DIM,
                   .is_directed = w->directed,
                   .aggregate_relations = values_of(&list, params[A])},
        .graph = &w->graph,
        .most_queries = 64,
    };
    if (strcmp(w->aggregator, "graft") == 0)
        give_weights(&parts.params, &graft, values_of(&list, params[W]), params[W]);
    if (w->echoes)
        give_term(&parts.params, &kg__term_echo, &echo, values_of(&list, params[C]), params[C]);
    assert_ok(kg__step_open(&taken, &options, &parts, NULL), NULL);
    for (size_t i = 0; i < list.count; i++) /* as if nothing had come before */
        for (size_t row = 0; list.items[i].steps != NULL && row < list.items[i].rows; row++)
            list.items[i].steps[row] = step - 1;
    assert_ok(kg__step_take(taken, batch, step, &out->loss, NULL), NULL);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < w->starts[kind + 1] - w->starts[kind]; i++)
            out->gradients[w->starts[kind] + i] = (double)list.items[params[kind]].first[i] * 10;
    kg__step_close(taken);
    kg__param_list_close(&list);
}

/* Links `from` up to `to` of an entity. */
typedef struct fact_range {
    kg_id entity;
    uint32_t from;
    uint32_t to;
} fact_range;

/* Queries for them; the entity is unseen with probability psi. */
static void add_queries(const world *w, kg_batch *batch, uint64_t step, fact_range range) {
    const kg_link *links = kg__adjacency_links(&w->graph, range.entity);
    for (size_t i = range.from; i < range.to; i++) {
        uint32_t number = (uint32_t)batch->query_count;
        bool by_facts =
            w->psi == 1 || kg__random_unit(5, KG_STREAM_UNSEEN, step << 32 | number) < w->psi;
        kg_train_query query = {links[i], 1, by_facts, number};
        assert_ok(kg__batch_add(batch, range.entity, i == range.from, query, NULL), NULL);
    }
}

static void ask_all(const world *w, outcome *out, uint64_t step) {
    kg_batch batch = {0};
    for (kg_id v = 0; v < ENTITIES; v++) {
        size_t degree = kg__adjacency_degree(&w->graph, v);
        for (size_t from = 0; from < degree; from += w->block_size) {
            size_t to = degree - from < w->block_size ? degree : from + w->block_size;
            add_queries(w, &batch, step, (fact_range){v, (uint32_t)from, (uint32_t)to});
        }
    }
    take_step(w, out, step, &batch);
    kg__batch_free(&batch);
}

/* ---- Both ---- */

static const char *const kind_names[] = {"entity", "relation", "aggregate relation", "weight",
                                         "echo"};

static void assert_close(const world *w, const char *what, size_t i, double found, double expected,
                         double tolerance) {
    if (!(fabs(found - expected) <= tolerance * (1 + fabs(expected))))
        fail_msg("%s%s%s%s%s, psi %g: %s %zu is %.12g, not %.12g", w->model,
                 w->directed ? " directed" : "", w->own ? " own" : "", w->weights ? " weights" : "",
                 w->echoes ? " echoes" : "", w->psi, what, i, found, expected);
}

static void check_gradients(world *w, double (*loss)(const world *), double step,
                            const outcome *found, double tolerance) {
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = w->starts[kind]; i < w->starts[kind + 1]; i++) {
            double saved = w->parameters[i];
            w->parameters[i] = saved + step;
            double above = loss(w);
            w->parameters[i] = saved - step;
            double below = loss(w);
            w->parameters[i] = saved;
            assert_close(w, kind_names[kind], i - w->starts[kind], found->gradients[i],
                         (above - below) / (2 * step), tolerance);
        }
}

static void check_step(world *w) {
    outcome found = {0};
    lay_out(w);
    ask_all(w, &found, 1);
    assert_close(w, "loss", 0, found.loss, twin_loss(w), EXACT);
    check_gradients(w, twin_loss, 1e-5, &found, GRADIENT_EXACT);
}

static void test_model(void **state) {
    world w;
    open_world(&w);
    w.model = *state;
    for (unsigned mix = 0; mix < 32; mix += IS_SANITIZED ? 5 : 1) {
        w.directed = mix & 1;
        w.own = mix & 2;
        w.weights = mix & 4;
        w.echoes = mix & 8;
        w.psi = mix & 16 ? 0 : 1;
        w.relation_weights.power = mix % 3 == 0 ? 0.5 : mix % 3 == 1 ? 1 : 0;
        w.block_size = mix % 2 == 0 ? 64 : 5; /* of a hub's links */
        w.n3 = mix % 5 < 2 ? 0 : 0.3;
        check_step(&w);
    }
    close_world(&w);
}

/* The mean is what graft makes with power 1 and without weights; echoes go with it as well. */
static void test_echoes_beside_mean(void **state) {
    (void)state;
    world w;
    open_world(&w);
    w.aggregator = "eravg";
    w.relation_weights.power = 1;
    w.echoes = true;
    for (w.psi = 0; w.psi < 2; w.psi++)
        check_step(&w);
    close_world(&w);
}

#define MODEL(name) \
    { "test_" name, test_model, NULL, NULL, (void *)(uintptr_t)(name) }

/* ---- What is left to chance ---- */

static double own_loss(const world *w) {
    outcome out;
    ask_all(w, &out, 3);
    return out.loss;
}

/* What is dropped, drawn and looked up depends on the seed and the step alone, so the loss has
 * differences like any other; here they are the library's own. */
static void test_chance(void **state) {
    (void)state;
    world w;
    outcome found = {0};
    open_world(&w);
    w.directed = w.own = w.weights = w.echoes = true;
    w.psi = 0.5;
    w.dropout = 0.3;
    w.n3 = 0.2;
    w.negatives = 5;
    for (const kg_scoring *kind = kg__scorings; !kind->is_encoded; kind++) {
        w.model = kind->name;
        lay_out(&w);
        ask_all(&w, &found, 3);
        check_gradients(&w, own_loss, OWN_STEP, &found, OWN_EXACT);
    }
    close_world(&w);
}

/* e^loss is a sum over candidates, so a sample of them gives it on average. */
static void check_average(world *w, fact_range range, double expected) {
    enum { STEPS = IS_SANITIZED ? 500 : 4000 };
    double sum = 0;
    double squares = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        outcome out;
        kg_batch batch = {0};
        add_queries(w, &batch, step, range);
        take_step(w, &out, step, &batch);
        kg__batch_free(&batch);
        sum += exp(out.loss);
        squares += exp(2 * out.loss);
    }
    double mean = sum / STEPS;
    double deviation = sqrt((squares / STEPS - mean * mean) / STEPS);
    assert_true(deviation > 0);
    if (fabs(mean - expected) > 5 * deviation)
        fail_msg("the mean is %g, not %g, the deviation %g", mean, expected, deviation);
}

static void test_samples_of_negatives(void **state) {
    (void)state;
    world w;
    open_world(&w);
    w.echoes = true;
    w.negatives = 4;
    lay_out(&w);
    fact_range range = {2, 0, 1};
    const kg_link *asked = kg__adjacency_links(&w.graph, 2);
    check_average(&w, range, exp(twin_query(&w, 2, *asked)));
    w.psi = 0;
    check_average(&w, range, exp(twin_query(&w, 2, *asked)));
    close_world(&w);
}

/* ---- Threads ---- */

static void test_threads(void **state) {
    (void)state;
    world w;
    outcome one = {0};
    outcome many = {0};
    open_world(&w);
    w.directed = w.own = w.weights = w.echoes = true;
    w.psi = 0.5;
    w.dropout = 0.5;
    w.n3 = 0.1;
    w.negatives = 7;
    lay_out(&w);
    ask_all(&w, &one, 2);
    for (w.threads = 2; w.threads < 5; w.threads++) {
        ask_all(&w, &many, 2);
        assert_memory_equal(&one, &many, sizeof one);
    }
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MODEL("distmult"),
        MODEL("simple"),
        MODEL("complex"),
        MODEL("quate"),
        cmocka_unit_test(test_echoes_beside_mean),
        cmocka_unit_test(test_chance),
        cmocka_unit_test(test_samples_of_negatives),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
