/* Propagation against its plain twin, which has a vector for every entity and visits every edge:
 * scores, and gradients, which are the twin's finite differences; what is left out; sampling; and
 * the same bits however a pass is made. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "base/memory.h"
#include "terms/propagation/propagation_paths.h"

#ifdef KG_DOUBLE
#define EXACT 1e-9
#define GRADIENT_EXACT 1e-5
#else
#define EXACT 2e-4
#define GRADIENT_EXACT 5e-3
#endif

#define ENTITIES 24
#define RELATIONS 3
#define DIRECTED (2 * RELATIONS)
#define WIDTH 32
#define MOST_INPUTS (6 * WIDTH)
#define CLASSES KG_DEGREE_CLASSES
#define SMALL 1e-5

typedef struct world {
    kg_triples facts;
    kg_adjacency graph;
    kg_relation_counts counts;
    kg_propagation model;
    real *values[KG_PROPAGATION_TENSORS];
    double *precise[KG_PROPAGATION_TENSORS]; /* the same, for the twin */
    kg_propagation_shape shapes[KG_PROPAGATION_TENSORS];
    kg_grads grads;
    kg_propagation_worker worker;
    kg_arena arena;
} world;

/* ---- The world ---- */

/* A random graph with a hub, entity 0, and an entity that no path leads to, the last. */
static void make_facts(kg_triples *facts, uint64_t *state) {
    size_t dropped = 0;
    for (kg_id i = 0; i < 60; i++) {
        kg_id head = i < 12 ? 0 : (kg_id)next_below(state, ENTITIES - 1);
        kg_triple fact = {head, (kg_id)next_below(state, RELATIONS),
                          (kg_id)next_below(state, ENTITIES - 1)};
        assert_ok(kg__triples_push(facts, fact, NULL), NULL);
    }
    assert_ok(kg__triples_unique(facts, &dropped, NULL), NULL);
}

static void open_graph(world *w) {
    assert_ok(kg__adjacency_make(&w->graph, &w->facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    assert_ok(kg__relation_counts_open(&w->counts, &w->graph, DIRECTED, NULL), NULL);
    assert_ok(kg__propagation_worker_open(&w->worker, &w->counts, NULL), NULL);
}

static void close_graph(world *w) {
    kg__propagation_worker_close(&w->worker);
    kg__relation_counts_close(&w->counts);
    kg__adjacency_free(&w->graph);
}

static double next_unit(uint64_t *state) {
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* Values are random whatever they start with, so that none has no effect. */
static void open_model(world *w, kg_propagation_options options, uint64_t *state) {
    size_t params = 0;
    assert_ok(kg__propagation_check(&options, NULL), NULL);
    w->model = (kg_propagation){.options = options, .directed_count = DIRECTED};
    for (size_t t = 0; t < KG_PROPAGATION_TENSORS; t++) {
        kg_propagation_shape s =
            kg__propagation_shape(&options, DIRECTED, (kg_propagation_tensor)t);
        double bound = s.bound == 0 ? 0.5 : s.bound;
        w->shapes[t] = s;
        if (s.rows == 0)
            continue;
        w->values[t] = must_allocate(s.rows * s.columns, sizeof(real));
        w->precise[t] = must_allocate(s.rows * s.columns, sizeof(double));
        for (size_t i = 0; i < s.rows * s.columns; i++) {
            w->values[t][i] = (real)(bound * (2 * next_unit(state) - 1));
            w->precise[t][i] = (double)w->values[t][i];
        }
        w->model.tensors[t] = w->values[t];
        w->model.params[t] = params++;
        assert_ok(kg__grads_add_param(&w->grads, s.rows, s.columns, NULL), NULL);
    }
}

static void open_world(world *w, kg_propagation_options options, uint64_t seed) {
    *w = (world){0};
    make_facts(&w->facts, &seed);
    open_graph(w);
    open_model(w, options, &seed);
}

static void close_world(world *w) {
    for (size_t t = 0; t < KG_PROPAGATION_TENSORS; t++) {
        free(w->values[t]);
        free(w->precise[t]);
    }
    kg__grads_free(&w->grads);
    kg__arena_free(&w->arena);
    close_graph(w);
    kg__triples_free(&w->facts);
}

/* A query for one of an entity's own facts. */
static kg_propagation_query query_of(const world *w, kg_id entity, size_t fact) {
    const kg_link *links = kg__adjacency_links(&w->graph, entity);
    size_t count = kg__adjacency_degree(&w->graph, entity);
    return (kg_propagation_query){.entity = entity,
                                  .links = links,
                                  .link_count = count,
                                  .asked = links[fact].directed,
                                  .left_out = fact};
}

/* One about an entity that is not in the graph. */
static kg_propagation_query new_query(const kg_link *links, size_t count, size_t left_out) {
    return (kg_propagation_query){
        .entity = KG_NO_ID, .links = links, .link_count = count, .asked = 2, .left_out = left_out};
}

static kg_propagation_pass go_forward(world *w, const kg_propagation_query *query) {
    kg_propagation_pass pass;
    kg__arena_reset(&w->arena);
    assert_ok(kg__propagation_forward(&pass, &w->model, query, &w->worker, &w->arena, NULL), NULL);
    return pass;
}

/* ---- The twin ---- */

#define QUERIED ENTITIES /* the number of the queried entity */

typedef struct twin {
    const world *w;
    const kg_propagation_query *query;
    bool is_reached[ENTITIES + 1];
    double vectors[ENTITIES + 1][WIDTH];
    double scores[ENTITIES];
    size_t classes[ENTITIES];
} twin;

static double value(const twin *t, kg_propagation_tensor tensor, size_t row, size_t column) {
    return t->w->precise[tensor][row * t->w->shapes[tensor].columns + column];
}

/* The links of an entity, without those that are left out: of `QUERIED` its own. */
static size_t links_of(const twin *t, size_t entity, kg_link *out) {
    size_t count = 0;
    bool is_queried = entity == QUERIED;
    const kg_link *links =
        is_queried ? t->query->links : kg__adjacency_links(&t->w->graph, (kg_id)entity);
    size_t all =
        is_queried ? t->query->link_count : kg__adjacency_degree(&t->w->graph, (kg_id)entity);
    for (size_t i = 0; i < all; i++)
        if (links[i].other != t->query->entity && !(is_queried && i == t->query->left_out))
            out[count++] = links[i];
    return count;
}

static double weight_of(const twin *t, size_t layer, kg_directed r, size_t k) {
    size_t rank = t->w->model.options.rank;
    size_t q = t->query->asked;
    double out = value(t, KG_PROPAGATION_RELATIONS, layer * DIRECTED + r, k);
    if (rank == 0)
        return out + value(t, KG_PROPAGATION_PAIRS, layer * DIRECTED + q, r * WIDTH + k);
    for (size_t j = 0; j < rank; j++)
        out += value(t, KG_PROPAGATION_MIX, q, j) *
               value(t, KG_PROPAGATION_FACTORS, layer * DIRECTED + r, j * WIDTH + k);
    return out;
}

static double logit_of(const twin *t, size_t layer, size_t node) {
    double out = value(t, KG_PROPAGATION_GATE_BIAS, layer * DIRECTED + t->query->asked, 0);
    for (size_t k = 0; k < WIDTH; k++)
        out += value(t, KG_PROPAGATION_GATE, layer, k) * t->vectors[node][k];
    return out;
}

/* The best nodes, one after the other; those with too many links for what is left are skipped. */
static void choose_sources(const twin *t, size_t layer, bool *is_source) {
    const kg_propagation_options *o = &t->w->model.options;
    kg_link links[200];
    bool is_done[ENTITIES + 1] = {0};
    size_t left = o->edges;
    for (size_t taken = 0; taken < o->sources; taken++) {
        size_t best = SIZE_MAX;
        for (size_t e = 0; e <= ENTITIES; e++)
            if (t->is_reached[e] && !is_done[e] &&
                (best == SIZE_MAX || logit_of(t, layer, e) > logit_of(t, layer, best)))
                best = e;
        if (best == SIZE_MAX)
            return;
        is_done[best] = true;
        size_t degree = best == QUERIED ? 0 : links_of(t, best, links);
        is_source[best] = degree <= left;
        left -= degree <= left ? degree : 0;
    }
}

/* All messages to an entity: count x WIDTH. */
static size_t messages_to(const twin *t, size_t layer, const bool *is_source, size_t entity,
                          double (*out)[WIDTH]) {
    kg_link links[200];
    size_t count = 0;
    for (size_t s = 0; s <= ENTITIES; s++) {
        size_t link_count = is_source[s] ? links_of(t, s, links) : 0;
        for (size_t i = 0; i < link_count; i++) {
            if (links[i].other != entity)
                continue;
            for (size_t k = 0; k < WIDTH; k++)
                out[count][k] = t->vectors[s][k] / (1 + exp(-logit_of(t, layer, s))) *
                                weight_of(t, layer, links[i].directed, k);
            count++;
        }
    }
    return count;
}

/* One number of what is pooled. */
static double pool_number(const twin *t, size_t entity, unsigned way, double (*messages)[WIDTH],
                          size_t count, size_t k) {
    kg_link links[200];
    double n = (double)count;
    double sum = 0;
    double squares = 0;
    double most = -INFINITY;
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        sum += messages[i][k];
        most = fmax(most, messages[i][k]);
        least = fmin(least, messages[i][k]);
    }
    for (size_t i = 0; i < count; i++)
        squares += (messages[i][k] - sum / n) * (messages[i][k] - sum / n);
    switch (way) {
    case KG_POOL_SUM:
        return sum * log(1 + n) / n;
    case KG_POOL_MAX:
        return most;
    case KG_POOL_SHARE:
        return sum / (1 + (double)links_of(t, entity, links));
    case KG_POOL_MIN:
        return least;
    default:
        return sqrt(squares / n + SMALL);
    }
}

/* One number of an entity's profile. */
static double profile_number(const twin *t, kg_propagation_tensor tensor, size_t entity, size_t k) {
    kg_link links[200];
    size_t count = links_of(t, entity, links);
    double sum = 0;
    for (kg_directed r = 0; r < DIRECTED; r++) {
        double facts = 0;
        for (size_t i = 0; i < count; i++)
            facts += links[i].directed == r;
        sum += value(t, tensor, r, k) * log(1 + facts);
    }
    return sum;
}

static void update_entity(const twin *t, size_t layer, size_t entity, double (*messages)[WIDTH],
                          size_t count, double *out) {
    double input[MOST_INPUTS] = {0};
    double sums[WIDTH] = {0};
    size_t inputs = 0;
    for (size_t k = 0; k < WIDTH; k++)
        input[inputs++] = t->is_reached[entity] ? t->vectors[entity][k] : 0;
    for (unsigned way = 1; way < 1U << KG_POOLINGS; way <<= 1)
        for (size_t k = 0; k < WIDTH && (t->w->model.options.pooling & way) != 0; k++)
            input[inputs++] = count == 0 ? 0 : pool_number(t, entity, way, messages, count, k);
    double mean = 0;
    double variance = 0;
    for (size_t k = 0; k < WIDTH; k++) {
        sums[k] = value(t, KG_PROPAGATION_UPDATE_BIAS, layer, k);
        if (!t->is_reached[entity] && t->w->model.options.profiles != 0)
            sums[k] += profile_number(t, KG_PROPAGATION_NODE_PROFILE, entity, k);
        for (size_t i = 0; i < inputs; i++)
            sums[k] += input[i] * value(t, KG_PROPAGATION_UPDATE, layer, i * WIDTH + k);
        mean += sums[k] / WIDTH;
    }
    for (size_t k = 0; k < WIDTH; k++)
        variance += (sums[k] - mean) * (sums[k] - mean) / WIDTH;
    for (size_t k = 0; k < WIDTH; k++)
        out[k] = input[k] + fmax(0, (sums[k] - mean) / sqrt(variance + SMALL));
}

static void twin_layer(twin *t, size_t layer) {
    static double messages[400][WIDTH];
    double vectors[ENTITIES + 1][WIDTH];
    bool is_source[ENTITIES + 1] = {0};
    bool is_reached[ENTITIES + 1];
    choose_sources(t, layer, is_source);
    for (size_t e = 0; e <= ENTITIES; e++) {
        size_t count = messages_to(t, layer, is_source, e, messages);
        is_reached[e] = t->is_reached[e] || count > 0;
        if (is_reached[e])
            update_entity(t, layer, e, messages, count, vectors[e]);
    }
    memcpy(t->is_reached, is_reached, sizeof is_reached);
    memcpy(t->vectors, vectors, sizeof vectors);
}

static double score_of(const twin *t, size_t entity) {
    size_t q = t->query->asked;
    double prior = value(t, KG_PROPAGATION_DEGREE, q, t->classes[entity]);
    if (!t->is_reached[entity])
        return prior + value(t, KG_PROPAGATION_UNREACHED, q, 0);
    double score = prior;
    for (size_t k = 0; k < WIDTH; k++) {
        double sum = value(t, KG_PROPAGATION_HIDDEN_BIAS, q, k);
        for (size_t i = 0; i < WIDTH; i++)
            sum += t->vectors[entity][i] * value(t, KG_PROPAGATION_HIDDEN, 0, i * WIDTH + k);
        sum += profile_number(t, KG_PROPAGATION_PROFILE, entity, k);
        score += value(t, KG_PROPAGATION_OUTPUT, 0, k) * fmax(0, sum);
    }
    return score;
}

static void run_twin(twin *t, const world *w, const kg_propagation_query *query) {
    *t = (twin){.w = w, .query = query};
    t->is_reached[QUERIED] = true;
    for (size_t k = 0; k < WIDTH; k++)
        t->vectors[QUERIED][k] = value(t, KG_PROPAGATION_START, query->asked, k);
    for (size_t layer = 0; layer < w->model.options.layers; layer++)
        twin_layer(t, layer);
    for (size_t e = 0; e < ENTITIES; e++) {
        kg_link links[200];
        size_t count = links_of(t, e, links);
        size_t facts = 0;
        for (size_t i = 0; i < count; i++)
            facts += links[i].directed == kg__inverse(query->asked);
        t->classes[e] = kg__degree_class(facts);
        t->scores[e] = score_of(t, e);
    }
}

/* ---- Scores ---- */

static const kg_propagation_options some_options[] = {
    {.layers = 3,
     .width = WIDTH,
     .sources = 6,
     .edges = 1000,
     .pooling = 3,
     .profiles = 1,
     .sampled = 8,
     .weight = 1},
    {.layers = 2,
     .width = WIDTH,
     .sources = 100,
     .edges = 1000,
     .pooling = 31,
     .rank = 2,
     .profiles = 1,
     .sampled = 8,
     .weight = 1},
    {.layers = 4,
     .width = WIDTH,
     .sources = 5,
     .edges = 20,
     .pooling = 22,
     .rank = 1,
     .sampled = 4,
     .weight = 1},
    {.layers = 1,
     .width = WIDTH,
     .sources = 1,
     .edges = 1,
     .pooling = 9,
     .sampled = 4,
     .weight = 1},
};

static void assert_close(const char *what, size_t i, double found, double expected, double exact) {
    if (!(fabs(found - expected) <= exact * (1 + fabs(expected))))
        fail_msg("%s %zu: %.9g, expected %.9g", what, i, found, expected);
}

static void check_scores(world *w, const kg_propagation_query *query) {
    twin t;
    bool is_found[ENTITIES] = {0};
    double counts[CLASSES] = {0};
    kg_propagation_pass pass = go_forward(w, query);
    run_twin(&t, w, query);
    assert_int_equal(pass.node_count, pass.count + 1);
    assert_true(pass.nodes[0] == query->entity);
    for (size_t i = 0; i < pass.count; i++) {
        kg_id e = pass.entities[i];
        is_found[e] = true;
        assert_int_equal(pass.nodes[i + 1], e);
        assert_true(t.is_reached[e]);
        assert_int_equal(pass.classes[i], t.classes[e]);
        assert_true(pass.log_weights[i] == 0);
        assert_close("score", e, (double)pass.scores[i], t.scores[e], EXACT);
    }
    for (kg_id e = 0; e < ENTITIES; e++) {
        assert_int_equal(is_found[e], t.is_reached[e]);
        if (t.is_reached[e] || e == query->entity)
            continue;
        counts[t.classes[e]]++;
        assert_int_equal(kg__propagation_class(&w->counts, query, e), t.classes[e]);
        assert_close("unreached", e, (double)pass.unreached_scores[t.classes[e]], t.scores[e],
                     EXACT);
    }
    for (size_t i = 0; i < CLASSES; i++)
        assert_true(pass.unreached_counts[i] == counts[i]);
}

/* Queries about entities of the graph, and about one that is not in it. */
static void test_scores(void **state) {
    (void)state;
    for (size_t o = 0; o < COUNT_OF(some_options); o++) {
        world w;
        open_world(&w, some_options[o], 7 + o);
        for (kg_id e = 0; e < ENTITIES; e++)
            for (size_t i = 0; i < kg__adjacency_degree(&w.graph, e); i += 3) {
                kg_propagation_query query = query_of(&w, e, i);
                check_scores(&w, &query);
            }
        const kg_link links[] = {{0, 3}, {0, 5}, {1, 3}, {4, 9}};
        kg_propagation_query query = new_query(links, COUNT_OF(links), SIZE_MAX);
        check_scores(&w, &query);
        query.left_out = 1;
        check_scores(&w, &query);
        query.link_count = 0;
        check_scores(&w, &query);
        close_world(&w);
    }
}

/* ---- Gradients ---- */

/* What is differentiated: a weighted sum of all that a pass gives. */
typedef struct weights {
    double scores[ENTITIES];
    double unreached[CLASSES];
} weights;

static double twin_loss(const world *w, const kg_propagation_query *query, const weights *by) {
    twin t;
    double loss = 0;
    run_twin(&t, w, query);
    for (size_t e = 0; e < ENTITIES; e++)
        loss += t.is_reached[e] && e != query->entity ? by->scores[e] * t.scores[e] : 0;
    for (size_t i = 0; i < CLASSES; i++)
        loss += by->unreached[i] * (value(&t, KG_PROPAGATION_DEGREE, query->asked, i) +
                                    value(&t, KG_PROPAGATION_UNREACHED, query->asked, 0));
    return loss;
}

static double slope_of(world *w, const kg_propagation_query *query, const weights *by,
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

static void go_backward(world *w, const kg_propagation_query *query, const weights *by) {
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
static double gradient_of(const world *w, size_t tensor, size_t row, size_t column) {
    const kg_param_grads *own = &w->grads.params[w->model.params[tensor]];
    double out = 0;
    for (size_t i = 0; i < own->target_count; i++)
        if (own->targets[i].row == row)
            out += (double)own->vectors[own->targets[i].vector * own->columns + column];
    return out;
}

#define MOST_CHECKED 16 /* numbers of a tensor */

static void check_gradients(world *w, const kg_propagation_query *query, uint64_t *state) {
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
    size_t option_count = IS_SANITIZED ? 1 : COUNT_OF(some_options);
    for (size_t o = 0; o < option_count; o++) {
        world w;
        open_world(&w, some_options[o], 70 + o);
        for (kg_id e = 0; e < 3; e++) {
            kg_propagation_query query = query_of(&w, e, e % 2);
            check_gradients(&w, &query, &random);
        }
        const kg_link links[] = {{0, 3}, {0, 5}, {1, 3}, {4, 9}};
        kg_propagation_query query = new_query(links, COUNT_OF(links), 1);
        check_gradients(&w, &query, &random);
        close_world(&w);
    }
}

/* Where several messages tie, one of them gets all of the gradient of their maximum: two edges with
 * the same relation from sources with the same vector. */
static void test_ties(void **state) {
    (void)state;
    static const kg_triple facts[] = {{0, 0, 1}, {0, 0, 2}, {1, 0, 3}, {2, 0, 3}, {3, 1, 4}};
    world w = {0};
    uint64_t random = 3;
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        assert_ok(kg__triples_push(&w.facts, facts[i], NULL), NULL);
    open_graph(&w);
    kg_propagation_options options = {
        .layers = 2, .width = WIDTH, .sources = 9, .edges = 99, .pooling = KG_POOL_MAX};
    options.sampled = 1;
    options.weight = 1;
    open_model(&w, options, &random);
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
    close_world(&w);
}

/* ---- The same bits ---- */

static void assert_same(const kg_propagation_pass *a, const kg_propagation_pass *b) {
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->entities, b->entities, a->count * sizeof *a->entities);
    assert_memory_equal(a->scores, b->scores, a->count * sizeof *a->scores);
    assert_memory_equal(a->unreached_scores, b->unreached_scores, sizeof a->unreached_scores);
    assert_memory_equal(a->unreached_counts, b->unreached_counts, sizeof a->unreached_counts);
}

/* The same graph without an entity's facts. */
static void leave_entity(world *without, const world *w, kg_id entity) {
    size_t kept = 0;
    close_graph(without);
    for (size_t i = 0; i < w->facts.count; i++)
        if (w->facts.items[i].head != entity && w->facts.items[i].tail != entity)
            without->facts.items[kept++] = w->facts.items[i];
    without->facts.count = kept;
    open_graph(without);
}

/* The links but two, of which one is left out and the other not given. */
static size_t copy_but(kg_link *out, const kg_propagation_query *query, size_t one, size_t other) {
    size_t count = 0;
    for (size_t i = 0; i < query->link_count; i++)
        if (i != one && i != other)
            out[count++] = query->links[i];
    return count;
}

/* A query that leaves facts out has the scores that it has where these facts never were: the
 * queried one, or any other, or two, one of them being left out and one not among the links. */
static void test_left_out(void **state) {
    (void)state;
    for (size_t o = 0; o < COUNT_OF(some_options); o++) {
        world w;
        world without;
        open_world(&w, some_options[o], 20 + o);
        open_world(&without, some_options[o], 20 + o);
        for (kg_id e = 0; e < ENTITIES - 1; e++) {
            size_t degree = kg__adjacency_degree(&w.graph, e);
            leave_entity(&without, &w, e);
            for (size_t i = 0; i < degree; i += o == 0 ? 1 : 5) {
                kg_link given[200];
                kg_link kept[200];
                size_t absent = (i + degree / 2) % degree;
                kg_propagation_query query = query_of(&w, e, i);
                kg_propagation_query fresh = {.entity = KG_NO_ID, .links = kept};
                fresh.left_out = SIZE_MAX;
                fresh.asked = query.asked = query.links[i % 2 == 0 ? i : absent].directed;
                fresh.link_count = copy_but(kept, &query, i, i % 3 == 0 ? i : absent);
                if (i % 3 != 0 && absent != i) {
                    query.link_count = copy_but(given, &query, absent, absent);
                    query.links = given;
                    query.left_out = i - (absent < i);
                }
                kg_propagation_pass a = go_forward(&w, &query);
                kg_propagation_pass b = go_forward(&without, &fresh);
                b.unreached_counts[0]--; /* the queried entity, which has no facts there */
                assert_same(&a, &b);
            }
        }
        close_world(&w);
        close_world(&without);
    }
}

/* Whatever was computed before. */
static void test_repeated(void **state) {
    (void)state;
    world w;
    world other;
    open_world(&w, some_options[0], 5);
    open_world(&other, some_options[0], 5);
    for (kg_id e = 0; e < ENTITIES - 1; e++) {
        kg_propagation_query query = query_of(&w, e, 0);
        kg_propagation_query again = query_of(&other, ENTITIES - 2 - e, 0);
        go_forward(&other, &again);
        kg_propagation_pass a = go_forward(&w, &query);
        kg_propagation_pass b = go_forward(&other, &query);
        assert_same(&a, &b);
    }
    close_world(&w);
    close_world(&other);
}

/* What a worker keeps of profiles is of the tensors as they are. */
static void test_changed(void **state) {
    (void)state;
    const kg_propagation_tensor changed[] = {KG_PROPAGATION_NODE_PROFILE, KG_PROPAGATION_PROFILE};
    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        world w;
        open_world(&w, some_options[0], 5);
        kg_propagation_query query = query_of(&w, 0, 0);
        go_forward(&w, &query);
        w.values[changed[i]][WIDTH + 3] += 1;
        w.precise[changed[i]][WIDTH + 3] += 1;
        check_scores(&w, &query);
        close_world(&w);
    }
}

/* ---- Paths ---- */

/* All paths to a candidate, found by walking back every way, layer by layer. */
typedef struct all_paths {
    const kg_propagation_pass *pass;
    kg_path items[20000];
    size_t count;
} all_paths;

static double number_of(const kg_propagation_layer *l, uint32_t edge, size_t k) {
    return (double)l->messages[l->edges[edge] * WIDTH + k];
}

/* Which of a row's edges decides a number. */
static uint32_t extreme_of(const kg_propagation_layer *l, size_t row, size_t k, double sign) {
    uint32_t best = l->starts[l->row_sets[row]];
    for (uint32_t i = best; i < l->starts[l->row_sets[row] + 1]; i++)
        if (sign * number_of(l, i, k) > sign * number_of(l, best, k))
            best = i;
    return best;
}

/* What an edge brings to what is pooled of a row. */
static double brought(const kg_propagation_pass *pass, const kg_propagation_layer *l, size_t row,
                      uint32_t edge) {
    unsigned pooling = pass->model->options.pooling;
    double out = 0;
    for (size_t k = 0; k < WIDTH; k++) {
        double n = (double)(l->starts[l->row_sets[row] + 1] - l->starts[l->row_sets[row]]);
        double sum = 0;
        double sizes = 0;
        double variance = 0;
        for (uint32_t i = l->starts[l->row_sets[row]]; i < l->starts[l->row_sets[row] + 1]; i++) {
            sum += number_of(l, i, k);
            sizes += fabs(number_of(l, i, k));
        }
        for (uint32_t i = l->starts[l->row_sets[row]]; i < l->starts[l->row_sets[row] + 1]; i++)
            variance += (number_of(l, i, k) - sum / n) * (number_of(l, i, k) - sum / n) / n;
        double part = sizes == 0 ? 0 : fabs(number_of(l, edge, k)) / sizes;
        if ((pooling & KG_POOL_SUM) != 0)
            out += part * fabs(sum) * log(1 + n) / n;
        if ((pooling & KG_POOL_SHARE) != 0)
            out += part * fabs(sum) * (double)l->shares[row];
        if ((pooling & KG_POOL_SPREAD) != 0)
            out += part * sqrt(variance);
        if ((pooling & KG_POOL_MAX) != 0 && extreme_of(l, row, k, 1) == edge)
            out += fabs(number_of(l, edge, k));
        if ((pooling & KG_POOL_MIN) != 0 && extreme_of(l, row, k, -1) == edge)
            out += fabs(number_of(l, edge, k));
    }
    return out;
}

static void add_walk(all_paths *all, const kg_path *walk) {
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].steps == walk->steps &&
            memcmp(all->items[i].links, walk->links, sizeof walk->links) == 0) {
            all->items[i].share += walk->share;
            return;
        }
    assert_true(all->count < COUNT_OF(all->items));
    all->items[all->count++] = *walk;
}

/* From the vector of a node after so many layers. */
static void walk_back(all_paths *all, size_t layers, size_t row, size_t node, kg_path walk) {
    if (layers == 0) {
        assert_int_equal(node, 0);
        add_walk(all, &walk);
        return;
    }
    const kg_propagation_layer *l = &all->pass->layers[layers - 1];
    double before = 0;
    double after = 0;
    double all_brought = 0;
    for (size_t k = 0; k < WIDTH; k++) {
        double old = row < l->old_count ? (double)l->input[node * WIDTH + k] : 0;
        before += fabs(old);
        after += fabs((double)l->output[row * WIDTH + k] - old);
    }
    double stay = row >= l->old_count ? 0 : after == 0 ? 1 : before / (before + after);
    if (l->starts[l->row_sets[row]] == l->starts[l->row_sets[row] + 1])
        stay = 1;
    kg_path same = walk;
    same.share *= stay;
    if (stay > 0)
        walk_back(all, layers - 1, node, node, same);
    for (uint32_t i = l->starts[l->row_sets[row]]; i < l->starts[l->row_sets[row] + 1]; i++)
        all_brought += brought(all->pass, l, row, i);
    for (uint32_t i = l->starts[l->row_sets[row]]; i < l->starts[l->row_sets[row] + 1] && stay < 1;
         i++) {
        kg_path longer = walk;
        uint32_t from = l->sources[l->message_sources[l->edges[i]]];
        memmove(longer.links + 1, walk.links, walk.steps * sizeof *walk.links);
        longer.links[0] = (kg_link){l->message_relations[l->edges[i]], all->pass->nodes[node]};
        longer.steps++;
        longer.share *= (1 - stay) * brought(all->pass, l, row, i) / all_brought;
        walk_back(all, layers - 1, from, from, longer);
    }
}

static const kg_path *find_path(const all_paths *all, const kg_path *path) {
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].steps == path->steps &&
            memcmp(all->items[i].links, path->links, path->steps * sizeof *path->links) == 0)
            return &all->items[i];
    return NULL;
}

static void check_paths(const kg_propagation_pass *pass, size_t place) {
    static all_paths all;
    static kg_path found[COUNT_OF(all.items)];
    kg_path best[3];
    size_t count = 0;
    size_t best_count = 0;
    double sum = 0;
    size_t last = pass->model->options.layers;
    all.pass = pass;
    all.count = 0;
    walk_back(&all, last, place, pass->layers[last - 1].nodes[place], (kg_path){.share = 1});
    assert_ok(kg__paths_find(found, &count, pass, place, COUNT_OF(found), 0, NULL), NULL);
    assert_int_equal(count, all.count);
    for (size_t i = 0; i < count; i++) {
        const kg_path *path = find_path(&all, &found[i]);
        assert_non_null(path);
        assert_close("share of path", i, found[i].share, path->share, 1e-9);
        assert_true(i == 0 || found[i].share <= found[i - 1].share);
        assert_int_equal(found[i].links[found[i].steps - 1].other, pass->entities[place]);
        sum += found[i].share;
    }
    assert_close("sum of shares", place, sum, 1, 1e-9);
    assert_ok(kg__paths_find(best, &best_count, pass, place, COUNT_OF(best), 0, NULL), NULL);
    assert_int_equal(best_count, count < COUNT_OF(best) ? count : COUNT_OF(best));
    assert_memory_equal(best, found, best_count * sizeof *best);
    double least = found[count / 2].share;
    assert_ok(kg__paths_find(found, &best_count, pass, place, COUNT_OF(found), least, NULL), NULL);
    assert_true(best_count > count / 2 && found[best_count - 1].share >= least);
}

/* Against all paths of a small graph, one by one. */
static void test_paths(void **state) {
    (void)state;
    for (size_t o = 0; o < COUNT_OF(some_options); o++) {
        world w;
        open_world(&w, some_options[o], 30 + o);
        for (kg_id e = 1; e < ENTITIES - 1; e += 7) {
            kg_propagation_query query = query_of(&w, e, 0);
            kg_propagation_pass pass = go_forward(&w, &query);
            for (size_t i = 0; i < pass.count; i += 3)
                check_paths(&pass, i);
        }
        close_world(&w);
    }
}

/* Paths with the same share, as two entities that differ in nothing give them, are in the order of
 * their links. */
static void test_path_ties(void **state) {
    (void)state;
    static const kg_triple facts[] = {{0, 0, 2}, {0, 0, 1}, {2, 0, 3}, {1, 0, 3}, {3, 1, 4}};
    world w = {0};
    uint64_t random = 3;
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        assert_ok(kg__triples_push(&w.facts, facts[i], NULL), NULL);
    open_graph(&w);
    kg_propagation_options options = some_options[1];
    options.pooling = KG_POOL_SUM;
    open_model(&w, options, &random);
    kg_propagation_query query = query_of(&w, 0, 0);
    query.left_out = SIZE_MAX;
    kg_propagation_pass pass = go_forward(&w, &query);
    size_t place = 0;
    size_t count = 0;
    kg_path found[4];
    while (pass.entities[place] != 3)
        place++;
    assert_ok(kg__paths_find(found, &count, &pass, place, COUNT_OF(found), 0, NULL), NULL);
    assert_int_equal(count, 2);
    assert_true(found[0].share == found[1].share);
    assert_close("tie", 0, found[0].share, 0.5, 1e-12);
    assert_int_equal(found[0].links[0].other, 1);
    assert_int_equal(found[1].links[0].other, 2);
    assert_ok(kg__paths_find(found, &count, &pass, place, 1, 0, NULL), NULL);
    assert_int_equal(found[0].links[0].other, 1);
    close_world(&w);
}

/* ---- Sampling ---- */

/* What is sampled has the scores that it has among all, and weights whose sum is the number of
 * nodes on average; what is wanted is always there, with weight 1. */
static void test_sampled(void **state) {
    (void)state;
    world w;
    kg_arena kept = {0};
    open_world(&w, some_options[0], 9);
    kg_propagation_query query = query_of(&w, 0, 1);
    kg_propagation_pass all;
    assert_ok(kg__propagation_forward(&all, &w.model, &query, &w.worker, &kept, NULL), NULL);
    kg_id wanted = all.entities[2];
    double sum = 0;
    double squares = 0;
    double rows = 0;
    const int rounds = 2000;
    query.is_sampled = true;
    query.wanted = &wanted;
    query.wanted_count = 1;
    for (int i = 0; i < rounds; i++) {
        query.random = (uint64_t)i * UINT64_C(1234567891234567);
        kg_propagation_pass pass = go_forward(&w, &query);
        double nodes = 0;
        size_t k = 0;
        bool has_wanted = false;
        for (size_t j = 0; j < pass.count; j++) {
            while (all.entities[k] != pass.entities[j])
                k++;
            assert_true(pass.scores[j] == all.scores[k]);
            assert_true(pass.log_weights[j] >= 0);
            has_wanted = has_wanted || (pass.entities[j] == wanted && pass.log_weights[j] == 0);
            nodes += exp((double)pass.log_weights[j]);
        }
        assert_true(has_wanted);
        sum += nodes;
        squares += nodes * nodes;
        rows += (double)pass.count;
    }
    double mean = sum / rounds;
    double deviation = sqrt((squares / rounds - mean * mean) / rounds);
    assert_true(fabs(mean - (double)all.count) < 5 * deviation);
    assert_true(rows / rounds > 7.5 && rows / rounds < 9.5); /* 8, and what is wanted */
    kg__arena_free(&kept);
    close_world(&w);
}

/* Gradients are made sparse without bias, by numbers that have nothing to do with the sample. */
static void test_thinned(void **state) {
    (void)state;
    world w;
    open_world(&w, some_options[0], 9);
    kg_propagation_query query = query_of(&w, 0, 1);
    const double given[] = {-0.3, 0.02, -0.005, 0.1, 0};
    double sums[COUNT_OF(given)] = {0};
    double counts[COUNT_OF(given)] = {0};
    const int rounds = 2000;
    query.is_sampled = true;
    for (int round = 0; round < rounds; round++) {
        real on_scores[ENTITIES] = {0};
        query.random = (uint64_t)round * UINT64_C(1234567891234567);
        kg_propagation_pass pass = go_forward(&w, &query);
        for (size_t i = 0; i < pass.count; i++)
            on_scores[i] = (real)given[i % COUNT_OF(given)];
        kg__propagation_thin(on_scores, &pass, (real)0.1);
        assert_true(on_scores[0] == (pass.count > 0 ? (real)given[0] : 0));
        assert_true(on_scores[1] == 0 || on_scores[1] == (real)0.1);
        assert_true(on_scores[2] == 0 || on_scores[2] == (real)-0.1);
        for (size_t i = 0; i < 3 && i < pass.count; i++) {
            sums[i] += (double)on_scores[i];
            counts[i]++;
        }
    }
    for (size_t i = 1; i < 3; i++) { /* five standard deviations */
        double p = fabs(given[i]) / 0.1;
        double deviation = 0.1 * sqrt(p * (1 - p) / counts[i]);
        assert_true(counts[i] > rounds / 2.0);
        assert_true(fabs(sums[i] / counts[i] - given[i]) < 5 * deviation);
    }
    close_world(&w);
}

/* ---- Options ---- */

static void test_options(void **state) {
    (void)state;
    kg_propagation_options sparse = kg__propagation_choose(22, 40000, 80000);
    kg_propagation_options dense = kg__propagation_choose(474, 14500, 270000);
    assert_int_equal(sparse.layers, 6);
    assert_int_equal(sparse.rank, 0);
    assert_int_equal(dense.layers, 3);
    assert_true(dense.rank > 0);
    assert_ok(kg__propagation_check(&sparse, NULL), NULL);
    assert_ok(kg__propagation_check(&dense, NULL), NULL);
    kg_error error = {0};
    assert_int_equal(dense.profiles, 1);
    assert_int_equal(kg__propagation_choose(360, 1600, 4200).profiles, 0);
    sparse.width = 33;
    assert_status(kg__propagation_check(&sparse, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "width of propagation: expected a multiple of 16, found 33");
    dense.layers = 9;
    assert_status(kg__propagation_check(&dense, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "layers of propagation: expected 1 to 8, found 9");
    dense.layers = 3;
    dense.profiles = 2;
    assert_status(kg__propagation_check(&dense, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "profiles of propagation: expected 0 to 1, found 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),    cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_ties),      cmocka_unit_test(test_paths),
        cmocka_unit_test(test_path_ties), cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_repeated),  cmocka_unit_test(test_changed),
        cmocka_unit_test(test_sampled),   cmocka_unit_test(test_thinned),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
