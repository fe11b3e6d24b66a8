/* The whole step against its plain twin: scores, loss, and gradients, which are the twin's finite
 * differences; every model with every aggregator and both rules of what is left out, on a graph
 * with a hub, several facts between one pair, an entity with a single fact, one without, and some
 * that are linked to themselves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "step_bench.h"
#include "twin.h"

#ifdef KG_DOUBLE
#define EXACT 1e-9
#define GRADIENT_EXACT 1e-7
#define OWN_STEP 1e-5
#define OWN_EXACT 1e-6
#else
#define EXACT 2e-4
#define GRADIENT_EXACT 2e-3
#define OWN_STEP 1e-2
#define OWN_EXACT 1e-2
#endif

#define DIM 4
#define ENTITIES 13
#define RELATIONS 5
#define DIRECTED (2 * RELATIONS)
#define OF_ROWS ((ENTITIES + RELATIONS) * DIM)
#define PARAMETERS (OF_ROWS + DIRECTED * DIRECTED)
#define MOST_FACTS 40
#define MOST_ITEMS 100

/* Entity 0 is the hub: 18 links, two to each of nine others, so more than columns and more than
 * the mean adds up one by one. 10 has one fact, 11 none, 12 is in no item either: only L2 moves it,
 * and relation 4. */
static const kg_triple other_facts[] = {
    {0, 2, 0}, {3, 2, 3}, {10, 2, 1}, {1, 2, 2}, {2, 2, 1}, {1, 3, 2}, {4, 3, 5}, {5, 0, 6},
};

static const step_item corrupted[] = {
    {{3, 0, 3}, -1, UNSEEN_HEAD},   {{3, 2, 3}, -1, UNSEEN_TAIL},  {{0, 1, 0}, -1, UNSEEN_TAIL},
    {{10, 0, 11}, -1, UNSEEN_TAIL}, {{11, 1, 0}, -1, UNSEEN_NONE}, {{10, 2, 5}, -1, UNSEEN_HEAD},
    {{10, 3, 1}, -1, UNSEEN_HEAD},  {{2, 3, 1}, -1, UNSEEN_HEAD},  {{11, 0, 11}, -1, UNSEEN_HEAD},
    {{7, 2, 7}, -1, UNSEEN_NONE},
};

typedef struct world {
    kg_triples facts;
    step_item items[MOST_ITEMS];
    size_t item_count;
    double parameters[PARAMETERS]; /* entities, then relations, then echoes */
    size_t parameter_count;
    kg_pair_param echo; /* without pairs: the term is off */
    twin_model twin;
    kg_step_options options;
    const kg_scoring *scoring;
    double l2;
} world;

/* A fact, and an item or two that treat different ends as unseen. */
static void add_fact(world *w, kg_triple fact) {
    assert_ok(kg__triples_push(&w->facts, fact, NULL), NULL);
    uint8_t first = (uint8_t)(w->facts.count % 3);
    w->items[w->item_count++] = (step_item){fact, 1, first};
    if (w->facts.count > 18)
        w->items[w->item_count++] = (step_item){fact, 1, (uint8_t)((first + 1) % 3)};
}

static void open_world(world *w) {
    *w = (world){.l2 = 0.03, .parameter_count = OF_ROWS};
    for (kg_id other = 1; other < 10; other++) {
        add_fact(w, (kg_triple){0, 0, other});
        add_fact(w, (kg_triple){other, 1, 0});
    }
    for (size_t i = 0; i < COUNT_OF(other_facts); i++)
        add_fact(w, other_facts[i]);
    for (size_t i = 0; i < COUNT_OF(corrupted); i++)
        w->items[w->item_count++] = corrupted[i];
    uint64_t state = 42;
    for (size_t i = 0; i < PARAMETERS; i++)
        w->parameters[i] = (double)(real)((double)next_below(&state, 1 << 20) / (1 << 19) - 1);
}

static void choose(world *w, const char *model, const char *aggregate, kg_ls_rows rows,
                   kg_exclude exclude) {
    double lambda = (double)(real)0.1;
    w->twin = (twin_model){model, aggregate,     rows == KG_LS_WEIGHTED,        lambda,
                           DIM,   w->parameters, w->parameters + ENTITIES * DIM};
    w->scoring = kg__scoring_find(model);
    w->options = (kg_step_options){
        .aggregate = {.aggregator = kg__aggregator_find(aggregate),
                      .ls_lambda = (real)lambda,
                      .ls_rows = rows},
        .exclude = exclude,
        .seed = 3,
        .threads = 1,
    };
}

/* ---- The twin ---- */

/* The entity's facts, as links in the order of the facts, less those that the item leaves out. */
static size_t find_links(const world *w, const step_item *item, kg_link *out) {
    bool is_head = item->unseen == UNSEEN_HEAD;
    kg_id unseen = is_head ? item->triple.head : item->triple.tail;
    kg_id partner = is_head ? item->triple.tail : item->triple.head;
    size_t count = 0;
    for (size_t i = 0; i < w->facts.count; i++) {
        kg_triple f = w->facts.items[i];
        bool is_same = f.head == item->triple.head && f.relation == item->triple.relation &&
                       f.tail == item->triple.tail;
        kg_id other = f.head == unseen ? f.tail : f.head;
        bool is_excluded = w->options.exclude == KG_EXCLUDE_TRIPLE ? is_same : other == partner;
        if (f.head == f.tail || (f.head != unseen && f.tail != unseen) || is_excluded)
            continue;
        out[count++] =
            (kg_link){kg_direct(f.relation, f.head == unseen ? KG_HEAD : KG_TAIL), other};
    }
    return count;
}

/* What facts of other relations between the two entities add, where they are not left out. */
static double plain_echo(const world *w, const step_item *item) {
    kg_end end = item->unseen == UNSEEN_TAIL ? KG_TAIL : KG_HEAD;
    kg_triple t = item->triple;
    kg_id entity = end == KG_TAIL ? t.tail : t.head;
    double sum = 0;
    for (size_t i = 0; i < w->facts.count && w->options.exclude == KG_EXCLUDE_TRIPLE; i++) {
        kg_triple f = w->facts.items[i];
        bool is_between = (f.head == t.head && f.tail == t.tail) || //
                          (f.head == t.tail && f.tail == t.head);
        kg_directed given = kg_direct(f.relation, f.head == entity ? KG_HEAD : KG_TAIL);
        uint32_t pair = kg__pairs_find(&w->echo.pairs, kg_direct(t.relation, end), given);
        if (is_between && f.head != f.tail && given != kg_direct(t.relation, end) &&
            pair != KG_NO_PAIR)
            sum += w->parameters[OF_ROWS + pair];
    }
    return sum;
}

/* The entity that an item is about: its row, or what its facts make of it. */
static void plain_embed(const world *w, double *z, const step_item *item) {
    kg_link links[MOST_FACTS];
    double rows[MOST_FACTS * DIM];
    size_t count = 0;
    memcpy(z, w->twin.entities + item->triple.head * DIM, DIM * sizeof *z);
    if (item->unseen == UNSEEN_NONE)
        return;
    count = find_links(w, item, links);
    twin_rows(&w->twin, rows, links, count);
    twin_combine(&w->twin, z, rows, count, TWIN_PRIMAL);
}

static double plain_score(const world *w, const step_item *item) {
    double z[DIM];
    const double *head = w->twin.entities + item->triple.head * DIM;
    const double *relation = w->twin.relations + item->triple.relation * DIM;
    const double *tail = w->twin.entities + item->triple.tail * DIM;
    plain_embed(w, z, item);
    return twin_score(&w->twin, item->unseen == UNSEEN_HEAD ? z : head, relation,
                      item->unseen == UNSEEN_TAIL ? z : tail) +
           plain_echo(w, item);
}

/* N3, of true facts alone. QuatE's relations are made to have length 1. */
static double plain_norms(const world *w, const step_item *item) {
    const twin_model *twin = &w->twin;
    kg_id answer = item->unseen == UNSEEN_TAIL ? item->triple.head : item->triple.tail;
    double z[DIM];
    if (item->label < 0)
        return 0;
    plain_embed(w, z, item);
    return twin_norm(twin, z) + twin_norm(twin, twin->entities + answer * DIM) +
           (strcmp(twin->model, "quate") == 0
                ? 0
                : twin_norm(twin, twin->relations + item->triple.relation * DIM));
}

/* Without L2. */
static double plain_loss(const world *w) {
    double loss = 0;
    for (size_t i = 0; i < w->item_count; i++) {
        const step_item *item = &w->items[i];
        loss += log1p(exp(-item->label * plain_score(w, item)));
        loss += w->options.n3 == 0 ? 0 : w->options.n3 * plain_norms(w, item);
    }
    return loss;
}

/* ---- The step ---- */

/* What a step of the library gives. Adam's means of gradients start at zero: after one step they
 * are a tenth of the gradients. Its rate is zero, so nothing moves. */
typedef struct outcome {
    double loss;
    double scores[MOST_ITEMS];
    double gradients[PARAMETERS];
} outcome;

static void fill(kg_param *table, const double *values) {
    for (size_t i = 0; i < table->rows * table->columns; i++)
        table->values[i] = (real)values[i];
}

static void read_gradients(double *out, const kg_param *table) {
    for (size_t i = 0; i < table->rows * table->columns; i++)
        out[i] = (double)table->first[i] * 10;
}

static void take_step(const world *w, outcome *out) {
    kg_adjacency adjacency;
    kg_pair_param echo = w->echo;
    step_bench bench;
    step_bench_options options = {.step = w->options,
                                  .scoring = w->scoring,
                                  .dim = DIM,
                                  .entity_rows = ENTITIES,
                                  .trained_entities = ENTITIES,
                                  .relation_rows = RELATIONS,
                                  .trained_relations = RELATIONS,
                                  .method = KG_ADAM,
                                  .l2 = w->l2,
                                  .steps = 1,
                                  .most_items = MOST_ITEMS,
                                  .echo = echo.pairs.count == 0 ? NULL : &echo};
    assert_ok(kg__adjacency_make(&adjacency, &w->facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL),
              NULL);
    open_step_bench(&bench, &options, &adjacency);
    fill(bench_entities(&bench), w->parameters);
    fill(bench_relations(&bench), w->parameters + ENTITIES * DIM);
    if (options.echo != NULL)
        fill(bench_echoes(&bench), w->parameters + OF_ROWS);
    take_item_step(&bench, w->items, w->item_count, 1, &out->loss);
    assert_ok(kg__step_catch_up(bench.step, 1, NULL), NULL);
    memcpy(out->scores, kg__step_scores(bench.step), w->item_count * sizeof *out->scores);
    read_gradients(out->gradients, bench_entities(&bench));
    read_gradients(out->gradients + ENTITIES * DIM, bench_relations(&bench));
    if (options.echo != NULL)
        read_gradients(out->gradients + OF_ROWS, bench_echoes(&bench));
    close_step_bench(&bench);
    kg__adjacency_free(&adjacency);
}

/* ---- Both ---- */

static void assert_close(const world *w, const char *what, size_t i, double found, double expected,
                         double tolerance) {
    if (!(fabs(found - expected) <= tolerance * (1 + fabs(expected))))
        fail_msg("%s %s%s, %s: %s %zu is %.12g, not %.12g", w->twin.model, w->twin.aggregate,
                 w->twin.is_weighted ? " weighted" : "",
                 w->options.exclude == KG_EXCLUDE_PAIR ? "pair" : "triple", what, i, found,
                 expected);
}

static void check_step(world *w) {
    static const double step = 1e-5;
    outcome found;
    take_step(w, &found);
    assert_close(w, "loss", 0, found.loss, plain_loss(w), EXACT);
    for (size_t i = 0; i < w->item_count; i++)
        assert_close(w, "score", i, found.scores[i], plain_score(w, &w->items[i]), EXACT);
    for (size_t i = 0; i < w->parameter_count; i++) {
        double saved = w->parameters[i];
        w->parameters[i] = saved + step;
        double above = plain_loss(w);
        w->parameters[i] = saved - step;
        double below = plain_loss(w);
        w->parameters[i] = saved;
        double expected = (above - below) / (2 * step) + (i < OF_ROWS ? w->l2 * saved : 0);
        assert_close(w, "gradient", i, found.gradients[i], expected, GRADIENT_EXACT);
    }
}

/* One test for each model: aggregators, rows of equations, rules of exclusion. */
static void test_model(void **state) {
    const char *model = *state;
    world w;
    open_world(&w);
    for (int exclude = 0; exclude < 2; exclude++) {
        for (size_t a = 0; !kg__aggregators[a]->is_encoder; a++) {
            choose(&w, model, kg__aggregators[a]->name, KG_LS_NORMALIZED, (kg_exclude)exclude);
            check_step(&w);
        }
        choose(&w, model, "ls", KG_LS_WEIGHTED, (kg_exclude)exclude);
        check_step(&w);
    }
    kg__triples_free(&w.facts);
}

static void test_n3(void **state) {
    (void)state;
    world w;
    open_world(&w);
    for (const kg_scoring *kind = kg__scorings; !kind->is_encoded; kind++)
        for (size_t a = 0; !kg__aggregators[a]->is_encoder; a++) {
            choose(&w, kind->name, kg__aggregators[a]->name, KG_LS_NORMALIZED, KG_EXCLUDE_TRIPLE);
            w.options.n3 = 0.2;
            check_step(&w);
        }
    kg__triples_free(&w.facts);
}

/* ---- Echoes ---- */

/* The score is the sum of both terms, whatever is left out. */
static void test_echoes(void **state) {
    (void)state;
    world w;
    kg_adjacency graph;
    open_world(&w);
    assert_ok(kg__adjacency_make(&graph, &w.facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    assert_ok(kg__pairs_make_echoes(&w.echo.pairs, &graph, DIRECTED, 1, 0, NULL), NULL);
    w.parameter_count = OF_ROWS + w.echo.pairs.count;
    for (int exclude = 0; exclude < 2; exclude++) {
        size_t echoed = 0;
        choose(&w, "complex", "eravg", KG_LS_NORMALIZED, (kg_exclude)exclude);
        check_step(&w);
        for (size_t i = 0; i < w.item_count; i++)
            echoed += plain_echo(&w, &w.items[i]) != 0;
        assert_true(exclude == KG_EXCLUDE_PAIR ? echoed == 0 : echoed > 20);
    }
    kg__pairs_free(&w.echo.pairs);
    kg__adjacency_free(&graph);
    kg__triples_free(&w.facts);
}

/* ---- Dropout ---- */

/* What is dropped depends on the seed, the step and the item alone, so the loss has differences
 * like any other; here they are the library's own. */
static void check_dropout(world *w) {
    outcome found;
    outcome above;
    outcome below;
    take_step(w, &found);
    for (size_t i = 0; i < OF_ROWS; i++) {
        double saved = w->parameters[i];
        w->parameters[i] = saved + OWN_STEP;
        take_step(w, &above);
        w->parameters[i] = saved - OWN_STEP;
        take_step(w, &below);
        w->parameters[i] = saved;
        double expected = (above.loss - below.loss) / (2 * OWN_STEP) + w->l2 * saved;
        assert_close(w, "gradient under dropout", i, found.gradients[i], expected, OWN_EXACT);
    }
}

static void test_dropout_gradients(void **state) {
    (void)state;
    world w;
    open_world(&w);
    for (const kg_scoring *kind = kg__scorings; kind->name != NULL && !kind->is_encoded; kind++)
        for (size_t aggregate = 1; aggregate < 3; aggregate++) {
            choose(&w, kind->name, kg__aggregators[aggregate]->name, KG_LS_NORMALIZED,
                   KG_EXCLUDE_TRIPLE);
            w.options.dropout = 0.3;
            check_dropout(&w);
        }
    kg__triples_free(&w.facts);
}

/* Where all rows are ones, a score of DistMult counts the products that are kept, each made up by
 * 1/(1 - p). */
static void test_dropout_share(void **state) {
    (void)state;
    world w;
    open_world(&w);
    choose(&w, "distmult", "eravg", KG_LS_NORMALIZED, KG_EXCLUDE_TRIPLE);
    w.options.dropout = 0.25;
    for (size_t i = 0; i < OF_ROWS; i++)
        w.parameters[i] = 1;
    for (size_t i = 0; i < w.item_count; i++)
        w.items[i].unseen = UNSEEN_NONE;
    double kept = 0;
    size_t products = 0;
    for (w.options.seed = 0; w.options.seed < 50; w.options.seed++) {
        outcome found;
        take_step(&w, &found);
        for (size_t i = 0; i < w.item_count; i++) {
            double count = found.scores[i] * 0.75;
            assert_true(fabs(count - round(count)) < 1e-5 && count > -0.5 && count < DIM + 0.5);
            kept += count;
            products += DIM;
        }
    }
    /* Five standard deviations. */
    double deviation = sqrt(0.25 * 0.75 / (double)products);
    assert_true(fabs(kept / (double)products - 0.75) < 5 * deviation);
    kg__triples_free(&w.facts);
}

#define MODEL(name) \
    { "test_" name, test_model, NULL, NULL, (void *)(uintptr_t)(name) }

int main(void) {
    const struct CMUnitTest tests[] = {
        MODEL("distmult"),
        MODEL("simple"),
        MODEL("complex"),
        MODEL("quate"),
        cmocka_unit_test(test_n3),
        cmocka_unit_test(test_echoes),
        cmocka_unit_test(test_dropout_gradients),
        cmocka_unit_test(test_dropout_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
