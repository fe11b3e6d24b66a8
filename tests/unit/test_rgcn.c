/* The encoder against its plain twin: rows, loss and gradients, which are the twin's finite
 * differences; entities that training has not seen, with facts left out or not; and the same bits
 * by any number of threads. The graph has a hub, a pair with several facts, an entity that is
 * linked to itself, one with a single fact, one without, one that train does not know, a relation
 * that no fact has, and one that train does not know. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/embedder.h"
#include "step_bench.h"
#include "train/rgcn_training.h"

#ifdef KG_DOUBLE
#define EXACT 1e-10
#define GRADIENT_EXACT 1e-7
#else
#define EXACT 1e-4
#define GRADIENT_EXACT 2e-3
#endif

#define DIM 3
#define BASES 2
#define TRAINED 12 /* entities */
#define ENTITIES 13
#define TRAINED_RELATIONS 5
#define RELATIONS 6
#define INPUTS (2 * RELATIONS)
#define L2 0.03

/* Relation 1 is in no fact, relation 5 beyond those of train; entity 11 has no fact. */
static const kg_triple facts[] = {
    {0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {0, 0, 4},  {0, 0, 5}, {0, 2, 6}, {7, 2, 0},
    {8, 2, 0}, {9, 3, 0}, {3, 2, 3}, {10, 2, 1}, {1, 2, 2}, {2, 2, 1}, {1, 3, 2},
    {4, 3, 5}, {5, 4, 6}, {6, 4, 7}, {7, 4, 8},  {8, 0, 9}, {9, 0, 4},
};
#define FACTS COUNT_OF(facts)

static const step_item items[] = {
    {{0, 0, 1}, 1, UNSEEN_NONE},  {{3, 2, 3}, 1, UNSEEN_NONE},    {{10, 2, 1}, 1, UNSEEN_NONE},
    {{5, 4, 6}, 1, UNSEEN_NONE},  {{1, 3, 2}, 1, UNSEEN_NONE},    {{9, 3, 0}, 1, UNSEEN_NONE},
    {{0, 0, 7}, -1, UNSEEN_NONE}, {{11, 2, 3}, -1, UNSEEN_NONE},  {{4, 2, 1}, -1, UNSEEN_NONE},
    {{5, 4, 5}, -1, UNSEEN_NONE}, {{11, 3, 11}, -1, UNSEEN_NONE}, {{8, 3, 0}, -1, UNSEEN_NONE},
};

/* What is learned, in double: the relations, then the encoder's weights. */
enum { OF_RELATIONS = KG_ENCODER_TENSORS, PARAMETERS };

typedef struct world {
    kg_encoder_shape shape;
    size_t batch; /* facts */
    double *values[PARAMETERS];
    size_t rows[PARAMETERS];
    size_t columns[PARAMETERS];
} world;

static bool is_learned(const world *w, size_t i) {
    return w->rows[i] > 0 && i != KG_FEATURES && i != KG_HIDDEN;
}

static void open_world(world *w, bool self_loops, size_t batch) {
    uint64_t state = 7;
    *w = (world){.shape = {ENTITIES, RELATIONS, DIM, BASES, self_loops}, .batch = batch};
    for (size_t i = 0; i < PARAMETERS; i++) {
        kg_tensor about = {.name = "relations", .rows = RELATIONS, .columns = DIM};
        if (i != OF_RELATIONS)
            about = kg__encoder_describe(&w->shape, (kg_encoder_tensor)i);
        w->rows[i] = about.rows;
        w->columns[i] = about.columns;
        w->values[i] = must_allocate(about.rows * about.columns + 1, sizeof(double));
        for (size_t k = 0; k < about.rows * about.columns; k++)
            w->values[i][k] = (double)(real)((double)next_below(&state, 1 << 20) / (1 << 19) - 1);
    }
}

static void close_world(world *w) {
    for (size_t i = 0; i < PARAMETERS; i++)
        free(w->values[i]);
}

/* ---- The twin ---- */

/* The neighbours of v by a directed relation, in the facts. */
static size_t find_neighbours(kg_id *out, const kg_triple *list, size_t count, kg_id v,
                              size_t directed) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].head == list[i].tail || list[i].relation != directed / 2)
            continue;
        if (directed % 2 == 0 && list[i].head == v)
            out[found++] = list[i].tail;
        if (directed % 2 == 1 && list[i].tail == v)
            out[found++] = list[i].head;
    }
    return found;
}

static void plain_features(double *x, const kg_triple *list, size_t count, kg_id v) {
    kg_id found[FACTS];
    for (size_t directed = 0; directed < INPUTS; directed++)
        x[directed] = log(1 + (double)find_neighbours(found, list, count, v, directed));
}

/* A layer for one entity, whose own input is `own`: a matrix for each directed relation. */
static void plain_layer(const world *w, bool is_first, double *out, const double *inputs,
                        const double *own, const kg_triple *list, size_t count, kg_id v) {
    const double *mix = w->values[is_first ? KG_MIX_1 : KG_MIX_2];
    const double *bases = w->values[is_first ? KG_BASES_1 : KG_BASES_2];
    const double *self = w->values[is_first ? KG_SELF_1 : KG_SELF_2];
    size_t width = is_first ? INPUTS : DIM;
    for (size_t k = 0; k < DIM; k++)
        out[k] = 0;
    for (size_t directed = 0; directed < INPUTS; directed++) {
        kg_id found[FACTS];
        size_t many = find_neighbours(found, list, count, v, directed);
        for (size_t n = 0; n < many; n++)
            for (size_t j = 0; j < width; j++)
                for (size_t k = 0; k < DIM; k++) {
                    double weight = 0;
                    for (size_t b = 0; b < BASES; b++)
                        weight += mix[directed * BASES + b] * bases[(b * width + j) * DIM + k];
                    out[k] += inputs[found[n] * width + j] * weight / (double)many;
                }
    }
    for (size_t j = 0; j < width && w->shape.self_loops; j++)
        for (size_t k = 0; k < DIM; k++)
            out[k] += own[j] * self[j * DIM + k];
}

typedef struct rows {
    double features[ENTITIES * INPUTS];
    double hidden[ENTITIES * DIM];
    double entities[ENTITIES * DIM];
} rows;

static void rectify(double *x) {
    for (size_t k = 0; k < DIM; k++)
        x[k] = x[k] > 0 ? x[k] : 0;
}

static void plain_encode(const world *w, rows *out, const kg_triple *list, size_t count) {
    memset(out, 0, sizeof *out);
    for (kg_id v = 0; v < TRAINED; v++)
        plain_features(out->features + v * INPUTS, list, count, v);
    for (kg_id v = 0; v < TRAINED; v++) {
        plain_layer(w, true, out->hidden + v * DIM, out->features, out->features + v * INPUTS, list,
                    count, v);
        rectify(out->hidden + v * DIM);
    }
    for (kg_id v = 0; v < TRAINED; v++)
        plain_layer(w, false, out->entities + v * DIM, out->hidden, out->hidden + v * DIM, list,
                    count, v);
}

/* An entity that the rows do not have, by its own facts. */
static void plain_embed(const world *w, double *z, const rows *seen, const kg_triple *list,
                        size_t count, kg_id v) {
    double x[INPUTS];
    double h[DIM];
    plain_features(x, list, count, v);
    plain_layer(w, true, h, seen->features, x, list, count, v);
    rectify(h);
    plain_layer(w, false, z, seen->hidden, h, list, count, v);
}

/* What the first step sees: the batch's facts are not there, unless that is all of them. */
static size_t first_seen(const world *w) {
    return w->batch >= FACTS ? 0 : w->batch;
}

static double plain_loss(const world *w) {
    rows r;
    plain_encode(w, &r, facts + first_seen(w), FACTS - first_seen(w));
    double loss = 0;
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        kg_triple t = items[i].triple;
        double score = 0;
        for (size_t k = 0; k < DIM; k++)
            score += r.entities[t.head * DIM + k] * r.entities[t.tail * DIM + k] *
                     w->values[OF_RELATIONS][t.relation * DIM + k];
        loss += log1p(exp(-items[i].label * score));
    }
    return loss;
}

/* ---- The library ---- */

typedef struct bench {
    kg_triples facts;
    kg_adjacency graph;
    kg_sampler sampler;
    step_bench steps; /* entities, relations, then the encoder's tensors */
    kg_param *tensors[KG_ENCODER_TENSORS];
    kg_rgcn *rgcn;
    kg_computed computed;
    kg_encoder encoder;
} bench;

static kg_param *param_of(bench *b, size_t i) {
    return i == OF_RELATIONS ? bench_relations(&b->steps) : b->tensors[i];
}

static void add_tensor(bench *b, const world *w, size_t i, kg_rgcn_parts *parts) {
    kg_param_list *list = &b->steps.list;
    bool by_relation = kg__encoder_rows((kg_encoder_tensor)i) == KG_ROWS_OF_RELATIONS;
    parts->tensors[i] = SIZE_MAX;
    if (w->rows[i] == 0)
        return;
    kg_param about = {.name = "tensor",
                      .rows = w->rows[i],
                      .columns = w->columns[i],
                      .trained_rows = by_relation ? TRAINED_RELATIONS : w->rows[i],
                      .rate = 1,
                      .has_l2 = true,
                      .is_computed = !is_learned(w, i)};
    parts->tensors[i] = list->count;
    b->tensors[i] = &list->items[list->count];
    assert_ok(kg__param_list_add(list, &about, (kg_param_start){0}, NULL), NULL);
    b->encoder.tensors[i] = b->tensors[i]->values;
}

/* Adam's means of gradients start at zero: after one step they are a tenth of the gradients. Its
 * rate is zero, so nothing moves. */
static void open_bench(bench *b, const world *w) {
    *b = (bench){0};
    for (size_t i = 0; i < FACTS; i++)
        assert_ok(kg__triples_push(&b->facts, facts[i], NULL), NULL);
    assert_ok(kg__adjacency_make(&b->graph, &b->facts, TRAINED, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    kg_sampler_options sampling = {
        .facts = &b->facts, .graph = &b->graph, .size = w->batch, .negatives = 1};
    assert_ok(kg__triple_sampler_open(&b->sampler, &sampling, NULL), NULL);
    step_bench_options options = {
        .step = {.aggregate = {.aggregator = kg__aggregator_find("rgcn-d")}, .threads = 2},
        .scoring = kg__scoring_find("rgcn-d"),
        .dim = DIM,
        .entity_rows = ENTITIES,
        .trained_entities = TRAINED,
        .relation_rows = RELATIONS,
        .trained_relations = TRAINED_RELATIONS,
        .method = KG_ADAM,
        .l2 = L2,
        .steps = 1,
        .most_items = COUNT_OF(items),
        .computed = &b->computed,
    };
    kg_rgcn_parts parts = {
        .sampler = &b->sampler, .graph = &b->graph, .list = &b->steps.list, .threads = 2};
    open_bench_params(&b->steps, &options);
    b->encoder.shape = w->shape;
    for (size_t i = 0; i < KG_ENCODER_TENSORS; i++)
        add_tensor(b, w, i, &parts);
    open_bench_step(&b->steps, &options, &b->graph);
    for (size_t i = 0; i < PARAMETERS; i++)
        for (size_t k = 0; k < w->rows[i] * w->columns[i] && is_learned(w, i); k++)
            param_of(b, i)->values[k] = (real)w->values[i][k];
    parts.encoder = b->encoder;
    assert_ok(kg__rgcn_open(&b->rgcn, &parts, NULL), NULL);
    b->computed = kg__rgcn_computed(b->rgcn);
}

static void close_bench(bench *b) {
    close_step_bench(&b->steps);
    kg__rgcn_close(b->rgcn);
    kg__sampler_close(&b->sampler);
    kg__adjacency_free(&b->graph);
    kg__triples_free(&b->facts);
}

/* Computes the rows of all entities. */
static void encode(bench *b) {
    assert_ok(b->computed.forward(b->computed.payload, 0, NULL), NULL);
}

/* ---- Both ---- */

static void assert_close(const char *what, size_t i, double found, double expected,
                         double tolerance) {
    if (!(fabs(found - expected) <= tolerance * (1 + fabs(expected))))
        fail_msg("%s %zu is %.12g, not %.12g", what, i, found, expected);
}

static void assert_rows(const char *what, const real *found, const double *expected, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_close(what, i, (double)found[i], expected[i], EXACT);
}

/* The four combinations of self-loops and of one batch or several. */
static void open_both(world *w, bench *b, int combination) {
    open_world(w, combination % 2 == 1, combination < 2 ? FACTS : 6);
    open_bench(b, w);
}

static void test_rows(void **state) {
    (void)state;
    for (int combination = 0; combination < 4; combination++) {
        world w;
        bench b;
        rows expected;
        open_both(&w, &b, combination);
        plain_encode(&w, &expected, facts, FACTS);
        encode(&b);
        assert_rows("feature", b.tensors[KG_FEATURES]->values, expected.features,
                    ENTITIES * INPUTS);
        assert_rows("hidden", b.tensors[KG_HIDDEN]->values, expected.hidden, ENTITIES * DIM);
        assert_rows("entity", bench_entities(&b.steps)->values, expected.entities, ENTITIES * DIM);
        close_bench(&b);
        close_world(&w);
    }
}

static double plain_gradient(world *w, size_t tensor, size_t at) {
    static const double step = 1e-5;
    double saved = w->values[tensor][at];
    w->values[tensor][at] = saved + step;
    double above = plain_loss(w);
    w->values[tensor][at] = saved - step;
    double below = plain_loss(w);
    w->values[tensor][at] = saved;
    return (above - below) / (2 * step);
}

/* Rows of relations that train does not know have no gradient, not even by L2. */
static void check_gradients(world *w, bench *b, size_t tensor) {
    bool by_relation = tensor == OF_RELATIONS ||
                       kg__encoder_rows((kg_encoder_tensor)tensor) == KG_ROWS_OF_RELATIONS;
    double size = 0;
    for (size_t at = 0; at < w->rows[tensor] * w->columns[tensor]; at++) {
        bool stays = by_relation && at / w->columns[tensor] >= TRAINED_RELATIONS;
        double by_loss = plain_gradient(w, tensor, at);
        double expected = stays ? 0 : by_loss + L2 * w->values[tensor][at];
        assert_close("gradient", tensor * 1000 + at, (double)param_of(b, tensor)->first[at] * 10,
                     expected, GRADIENT_EXACT);
        size += fabs(by_loss);
    }
    assert_true(size > 0.1); /* there is something to be compared */
}

static void test_gradients(void **state) {
    (void)state;
    for (int combination = 0; combination < 4; combination++) {
        world w;
        bench b;
        double loss = 0;
        open_both(&w, &b, combination);
        take_item_step(&b.steps, items, COUNT_OF(items), 1, &loss);
        kg__param_list_catch_up_all(&b.steps.list, 1);
        assert_close("loss", 0, loss, plain_loss(&w), EXACT);
        for (size_t i = 0; i < PARAMETERS; i++)
            if (is_learned(&w, i))
                check_gradients(&w, &b, i);
        close_bench(&b);
        close_world(&w);
    }
}

/* ---- Unseen entities ---- */

/* Two groups of several links, one of them to the hub; sorted, as links are. */
static const kg_link links[] = {{0, 1}, {0, 2}, {0, 9}, {1, 0}, {5, 0}, {5, 11}, {9, 12}};
#define LINKS COUNT_OF(links)
#define NEW_ENTITY 99

/* The links but one, and as facts; `left` of LINKS leaves out none. */
static size_t list_links(kg_link *kept, kg_triple *list, size_t left) {
    size_t count = 0;
    for (size_t i = 0; i < LINKS; i++) {
        if (i == left)
            continue;
        bool is_head = kg_directed_end(links[i].directed) == KG_HEAD;
        kept[count] = links[i];
        list[count++] = (kg_triple){is_head ? NEW_ENTITY : links[i].other, links[i].directed / 2,
                                    is_head ? links[i].other : NEW_ENTITY};
    }
    return count;
}

static void embed(kg_embedder *embedder, real *z, const kg_link *list, size_t count,
                  size_t left_out) {
    assert_ok(kg__embedder_load(embedder, list, count, NULL), NULL);
    kg__embedder_embed(embedder, z, left_out);
}

static void check_unseen(const world *w, bench *b) {
    rows seen;
    kg_embedder embedder;
    kg_params params = {.scoring = kg__scoring_find("rgcn-d"),
                        .entities = bench_entities(&b->steps)->values,
                        .relations = bench_relations(&b->steps)->values,
                        .dim = DIM,
                        .encoder = &b->encoder};
    kg_aggregate_options options = kg__aggregate_defaults(kg__aggregator_find("rgcn-d"));
    plain_encode(w, &seen, facts, FACTS);
    encode(b);
    kg__embedder_open(&embedder, options, params);
    for (size_t left = 0; left <= LINKS; left++) {
        kg_link kept[LINKS];
        kg_triple list[LINKS];
        real z[DIM];
        real fresh[DIM];
        double expected[DIM];
        size_t count = list_links(kept, list, left);
        plain_embed(w, expected, &seen, list, count, NEW_ENTITY);
        embed(&embedder, z, links, LINKS, left < LINKS ? left : KG_NOTHING);
        embed(&embedder, fresh, kept, count, KG_NOTHING);
        assert_rows("unseen", z, expected, DIM);
        assert_memory_equal(z, fresh, sizeof z);
    }
    kg__embedder_close(&embedder);
}

static void test_unseen(void **state) {
    (void)state;
    for (int combination = 0; combination < 2; combination++) {
        world w;
        bench b;
        open_both(&w, &b, combination);
        check_unseen(&w, &b);
        close_bench(&b);
        close_world(&w);
    }
}

/* A seen entity's own links give its row again; without any there is nothing but zeros. */
static void test_seen_again(void **state) {
    (void)state;
    for (int combination = 0; combination < 2; combination++) {
        world w;
        bench b;
        open_both(&w, &b, combination);
        encode(&b);
        real *scratch = must_allocate(kg__encoder_scratch(&b.encoder), sizeof *scratch);
        for (kg_id v = 0; v < TRAINED; v++) {
            real z[DIM];
            kg__encoder_embed(&b.encoder, z, kg__adjacency_links(&b.graph, v),
                              kg__adjacency_degree(&b.graph, v), scratch);
            for (size_t k = 0; k < DIM; k++)
                assert_close("row", v, (double)z[k],
                             (double)bench_entities(&b.steps)->values[v * DIM + k], EXACT);
        }
        free(scratch);
        close_bench(&b);
        close_world(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_seen_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
