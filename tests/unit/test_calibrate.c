/* Calibration against the plain way: every query found by looking through all facts, every
 * candidate scored by the twin of the design's formulas, lists sorted, outcomes counted one by one;
 * only the lines through them are fitted by the same function (test_logistic). Of a model on disk,
 * too, whose names have other ids than the data set's. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "math/logistic_regression.h"
#include "model/model_folder.h"
#include "rank/calibrate.h"
#include "rank/queries.h"
#include "twin.h"

#define ENTITIES 40
#define RELATIONS 5
#define DIRECTED (2 * RELATIONS)
#define UNSEEN 12
#define DIM 8
#define OTHERS 3
#define BEST 10
#define MOST_LISTS 2000
#define MODEL "model"

/* ---- A data set that nobody made, and rows for its names ---- */

/* Numbers that belong to a name, whatever its id. */
static double number_of(const char *name, size_t k) {
    uint64_t seed = (uint64_t)strtoul(name + 1, NULL, 10) + 1000 * (uint64_t)name[0];
    return 2 * kg__random_unit(seed, KG_STREAM_GENERATE_TAIL, k) - 1;
}

static void fill(double *wide, real *values, const kg_names *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        kg_name name = kg__names_get(names, (kg_id)i);
        char spelt[16] = "";
        memcpy(spelt, name.bytes, name.length);
        for (size_t k = 0; k < DIM; k++) {
            values[i * DIM + k] = (real)number_of(spelt, k);
            wide[i * DIM + k] = (double)values[i * DIM + k];
        }
    }
}

struct world {
    kg_dataset dataset;
    real entities[ENTITIES * DIM];
    real relations[RELATIONS * DIM];
    double wide_entities[ENTITIES * DIM];
    double wide_relations[RELATIONS * DIM];
    kg_params params;
};

static void add(char *facts, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char *facts, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsprintf(facts + strlen(facts), format, list);
    va_end(list);
}

/* A chain through all names, in the order that `turn` gives them, and facts at random, which are
 * the same for any order. Behind it, validation facts: of seen entities, or of unseen ones called
 * x. */
static void make_facts(char *facts, size_t turn, bool unseen) {
    uint64_t state = 5;
    for (size_t i = 0; i < ENTITIES; i++)
        add(facts, "e%zu r%zu e%zu\n", (i * turn + 3) % ENTITIES, (i * turn + 1) % RELATIONS,
            ((i + 1) * turn + 3) % ENTITIES);
    for (size_t i = 0; i < 150; i++)
        add(facts, "e%ju r%ju e%ju\n", next_below(&state, ENTITIES), next_below(&state, RELATIONS),
            next_below(&state, ENTITIES));
    add(facts, "\n");
    for (size_t i = 0; i < 60 && !unseen; i++)
        add(facts, "e%ju r%ju e%ju\n", next_below(&state, ENTITIES), next_below(&state, RELATIONS),
            next_below(&state, ENTITIES));
    if (!unseen)
        return;
    add(facts, "\n\n");
    for (size_t i = 0; i < 4 * UNSEEN; i++) {
        bool is_head = next_below(&state, 2) == 0;
        uintmax_t relation = next_below(&state, RELATIONS);
        uintmax_t other = next_below(&state, ENTITIES);
        if (is_head)
            add(facts, "x%zu r%ju e%ju\n", i % UNSEEN, relation, other);
        else
            add(facts, "e%ju r%ju x%zu\n", other, relation, i % UNSEEN);
    }
    add(facts, "e1 r1 x99\n"); /* has no other fact to be embedded from */
}

static struct world *make_world(size_t turn, bool unseen) {
    struct world *world = must_allocate(1, sizeof *world);
    char *facts = must_allocate(1 << 16, 1);
    make_facts(facts, turn, unseen);
    make_dataset(&world->dataset, facts);
    free(facts);
    assert_int_equal(kg__dataset_in_sample(&world->dataset), ENTITIES);
    assert_int_equal(world->dataset.in_sample_relations, RELATIONS);
    fill(world->wide_entities, world->entities, &world->dataset.entities, ENTITIES);
    fill(world->wide_relations, world->relations, &world->dataset.relations, RELATIONS);
    world->params = (kg_params){.scoring = kg__scoring_find("complex"),
                                .entities = world->entities,
                                .relations = world->relations,
                                .dim = DIM};
    return world;
}

static void free_world(struct world *world) {
    kg__dataset_close(&world->dataset);
    free(world);
}

/* ---- The plain way ---- */

struct plain {
    const struct world *world;
    const char *aggregate;
    bool unseen;
    size_t asked; /* queries */
    kg_outcome outcomes[DIRECTED][MOST_LISTS];
    size_t counts[DIRECTED];
};

/* The fact of an entity as it stands at that end of a triple. */
static bool see(kg_triple fact, kg_id entity, kg_end end, kg_link *out) {
    *out = (kg_link){kg_direct(fact.relation, end), end == KG_HEAD ? fact.tail : fact.head};
    return (end == KG_HEAD ? fact.head : fact.tail) == entity;
}

static bool is_same(kg_link one, kg_link other) {
    return one.directed == other.directed && one.other == other.other;
}

static bool has(const kg_triples *facts, kg_id entity, kg_link wanted) {
    kg_link link;
    for (size_t i = 0; i < facts->count; i++)
        for (int end = 0; end < 2; end++)
            if (see(facts->items[i], entity, (kg_end)end, &link) && is_same(link, wanted))
                return true;
    return false;
}

/* What it is embedded from: not the fact that is asked for, and nothing about itself. */
static size_t find_facts(const struct plain *plain, kg_link *out, kg_id entity, kg_link asked) {
    const kg_triples *facts =
        &plain->world->dataset.parts[plain->unseen ? KG_UNSEEN_VALID : KG_TRAIN];
    size_t count = 0;
    kg_link link;
    for (size_t i = 0; i < facts->count; i++)
        for (int end = 0; end < 2; end++)
            if (see(facts->items[i], entity, (kg_end)end, &link) && link.other != entity &&
                !is_same(link, asked))
                out[count++] = link;
    return count;
}

static bool is_known(const struct plain *plain, kg_id entity, kg_link link) {
    const kg_triples *parts = plain->world->dataset.parts;
    if (plain->unseen)
        return has(&parts[KG_UNSEEN_VALID], entity, link);
    return has(&parts[KG_TRAIN], entity, link) || has(&parts[KG_VALID], entity, link) ||
           has(&parts[KG_TEST], entity, link);
}

static twin_model twin_of(const struct plain *plain) {
    return (twin_model){.model = "complex",
                        .aggregate = plain->aggregate,
                        .lambda = KG_LS_LAMBDA,
                        .dim = DIM,
                        .entities = plain->world->wide_entities,
                        .relations = plain->world->wide_relations};
}

/* The best answers to a query about another relation, or the asked one, and which is true. */
static void list(struct plain *plain, const double *z, kg_id entity, kg_link asked,
                 kg_directed directed) {
    twin_model twin = twin_of(plain);
    const double *relation = twin.relations + directed / 2 * DIM;
    bool is_head = kg_directed_end(directed) == KG_HEAD;
    bool is_listed[ENTITIES] = {false};
    for (size_t place = 0; place < BEST; place++) {
        kg_id best = KG_NO_ID;
        double highest = 0;
        for (kg_id u = 0; u < ENTITIES; u++) {
            const double *row = twin.entities + u * DIM;
            double score = twin_score(&twin, is_head ? z : row, relation, is_head ? row : z);
            kg_link link = {directed, u};
            if (is_listed[u] || u == entity ||
                (!is_same(link, asked) && is_known(plain, entity, link)))
                continue;
            if (best == KG_NO_ID || score > highest) {
                best = u;
                highest = score;
            }
        }
        is_listed[best] = true;
        plain->outcomes[directed][plain->counts[directed]++] =
            (kg_outcome){.x = highest,
                         .weight = directed == asked.directed ? 1 : (DIRECTED - 1) / (double)OTHERS,
                         .is_true = is_same((kg_link){directed, best}, asked)};
    }
}

static void ask(struct plain *plain, kg_id entity, kg_link asked) {
    kg_link links[400];
    double rows[400 * DIM];
    double z[DIM];
    twin_model twin = twin_of(plain);
    size_t count = find_facts(plain, links, entity, asked);
    if (count == 0 || asked.other == entity)
        return;
    twin_rows(&twin, rows, links, count);
    twin_combine(&twin, z, rows, count, TWIN_PRIMAL);
    list(plain, z, entity, asked, asked.directed);
    for (size_t k = 0; k < OTHERS; k++) {
        kg_directed other = (kg_directed)kg__random_below(DIRECTED - 1, 0, KG_STREAM_CALIBRATE,
                                                          plain->asked * OTHERS + k);
        list(plain, z, entity, asked, other < asked.directed ? other : other + 1);
    }
    plain->asked++;
}

/* Unseen entities are asked one after the other, by relation and other end; seen ones fact by fact,
 * for the tail and for the head. */
static void ask_all(struct plain *plain) {
    const kg_dataset *dataset = &plain->world->dataset;
    const kg_triples *valid = &dataset->parts[KG_VALID];
    for (size_t i = 0; i < valid->count && !plain->unseen; i++) {
        kg_triple fact = valid->items[i];
        ask(plain, fact.head, (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail});
        ask(plain, fact.tail, (kg_link){kg_direct(fact.relation, KG_TAIL), fact.head});
    }
    for (size_t v = ENTITIES; v < dataset->entities.count && plain->unseen; v++)
        for (kg_directed d = 0; d < DIRECTED; d++)
            for (kg_id u = 0; u < ENTITIES; u++)
                if (has(&dataset->parts[KG_UNSEEN_VALID], (kg_id)v, (kg_link){d, u}))
                    ask(plain, (kg_id)v, (kg_link){d, u});
}

/* A line to all outcomes, from an open mind; then one to those of each relation, which start from
 * there. */
static void fit(const struct plain *plain, kg_logistic *lines, kg_logistic *all) {
    kg_outcome *outcomes = must_allocate(DIRECTED * MOST_LISTS, sizeof *outcomes);
    size_t count = 0;
    double sums[3] = {0};
    for (size_t d = 0; d < DIRECTED; d++)
        for (size_t i = 0; i < plain->counts[d]; i++) {
            kg_outcome outcome = plain->outcomes[d][i];
            outcomes[count++] = outcome;
            sums[0] += outcome.weight;
            sums[1] += outcome.weight * outcome.x;
            sums[2] += outcome.weight * outcome.x * outcome.x;
        }
    double mean = sums[1] / sums[0];
    double unit = 1 / sqrt(sums[2] / sums[0] - mean * mean);
    *all = kg__logistic_fit(outcomes, count,
                            &(kg_logistic_prior){{unit, -2}, {10 * unit, 10}, unit / 100});
    for (size_t d = 0; d < DIRECTED; d++)
        lines[d] = kg__logistic_fit(plain->outcomes[d], plain->counts[d],
                                    &(kg_logistic_prior){*all, {all->slope, 2}, all->slope / 20});
    free(outcomes);
}

static size_t calibrate_plainly(const struct world *world, const char *aggregate, bool unseen,
                                kg_logistic *lines, kg_logistic *all) {
    struct plain *plain = must_allocate(1, sizeof *plain);
    *plain = (struct plain){.world = world, .aggregate = aggregate, .unseen = unseen};
    ask_all(plain);
    fit(plain, lines, all);
    size_t asked = plain->asked;
    free(plain);
    return asked;
}

/* ---- What must agree ---- */

static void assert_line(const real *found, kg_logistic expected) {
    double tolerance = 2e-3 * (1 + fabs(expected.slope) + fabs(expected.offset));
    assert_true(fabs((double)found[0] - expected.slope) < tolerance);
    assert_true(fabs((double)found[1] - expected.offset) < tolerance);
}

static void test_against_the_plain_way(void **state) {
    (void)state;
    static const char *const aggregates[] = {"eravg", "ls", "eavg"};
    for (size_t i = 0; i < 2 * COUNT_OF(aggregates); i++) {
        const char *aggregate = aggregates[i / 2];
        bool unseen = i % 2 == 1;
        struct world *world = make_world(1, unseen);
        kg_logistic lines[DIRECTED];
        kg_logistic all;
        size_t asked = calibrate_plainly(world, aggregate, unseen, lines, &all);
        assert_true(asked > 40);
        for (size_t threads = 1; threads <= 3; threads += 2) {
            kg_calibrate_options options = {
                .aggregate = kg__aggregate_defaults(kg__aggregator_find(aggregate)),
                .threads = threads};
            kg_calibration calibration;
            kg_error error = {0};
            assert_ok(
                kg__calibrate(&calibration, &world->params, &world->dataset, &options, &error),
                &error);
            assert_line(calibration.all, all);
            for (size_t d = 0; d < DIRECTED; d++)
                assert_line(calibration.lines + 2 * d, lines[d]);
            const json_t *queries = json_object_get(calibration.about, "queries");
            assert_int_equal(json_integer_value(queries), asked);
            kg__calibration_free(&calibration);
        }
        free_world(world);
    }
}

static void write_model(const struct world *world) {
    json_t *config = json_pack("{si si s{ss si ss}}", "entities", ENTITIES, "relations", RELATIONS,
                               "settings", "model", "complex", "dim", DIM, "aggregate", "eravg");
    kg_model_parts parts = {&world->params, &world->dataset, NULL, config, NULL};
    write_model_folder(MODEL, &parts);
    json_decref(config);
}

/* The model has all names in another order than the data set that it is calibrated with: the result
 * is that of the same facts with the model's ids. */
static void test_other_ids(void **state) {
    (void)state;
    for (int unseen = 0; unseen < 2; unseen++) {
        struct world *world = make_world(1, false);
        struct world *other = make_world(7, unseen == 1);
        kg_aggregate_overrides overrides = {0};
        kg_logistic lines[DIRECTED];
        kg_logistic all;
        kg_error error = {0};
        kg_model model;
        size_t left_out = 1;
        size_t moved = 0;
        kg_dataset renumbered;
        write_model(world);
        assert_ok(kg__dataset_renumber(&renumbered, &other->dataset, &world->dataset.entities,
                                       &world->dataset.relations, &error),
                  &error);
        kg__dataset_close(&world->dataset);
        world->dataset = renumbered;
        calibrate_plainly(world, "eravg", unseen == 1, lines, &all);
        assert_ok(
            kg__calibrate_model(MODEL, &left_out, &other->dataset, &overrides, 1, NULL, &error),
            &error);
        assert_int_equal(left_out, 0);
        assert_ok(kg__model_open(&model, MODEL, &error), &error);
        for (kg_id id = 0; id < RELATIONS; id++) {
            kg_name name = kg__names_get(&model.relations, id);
            kg_id found =
                kg__names_find(&other->dataset.relations, kg__name_of(name.bytes, name.length));
            moved += found != id;
            for (size_t end = 0; end < 2; end++)
                assert_line(model.calibration + 2 * (2 * id + end), lines[2 * id + end]);
        }
        assert_true(moved > 0);
        kg__model_close(&model);
        free_world(world);
        free_world(other);
    }
}

/* It holds for the aggregate that it was made with, and for the settings that this goes by. */
static void test_what_it_is_for(void **state) {
    (void)state;
    struct world *world = make_world(1, false);
    kg_aggregate_overrides overrides = {0};
    kg_error error = {0};
    kg_model model;
    size_t left_out = 0;
    write_model(world);
    overrides.aggregate = "ls";
    assert_ok(kg__calibrate_model(MODEL, &left_out, &world->dataset, &overrides, 1, NULL, &error),
              &error);
    assert_ok(kg__model_open(&model, MODEL, &error), &error);
    kg_aggregate_options eravg = kg__aggregate_defaults(kg__aggregator_find("eravg"));
    kg_aggregate_options ls = kg__aggregate_defaults(kg__aggregator_find("ls"));
    assert_false(kg__aggregate_is_calibrated(&eravg, &model));
    assert_true(kg__aggregate_is_calibrated(&ls, &model));
    ls.ials_alpha = 3; /* which ls does without */
    assert_true(kg__aggregate_is_calibrated(&ls, &model));
    ls.ls_lambda = 3;
    assert_false(kg__aggregate_is_calibrated(&ls, &model));
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    for (int i = 0; i < 2; i++) {
        kg_workspace *workspace = NULL;
        options.aggregate = i == 0 ? NULL : "ls";
        assert_ok(kg_workspace_open(&workspace, &model, &options, &error), &error);
        assert_true(kg_workspace_is_calibrated(workspace) == (i == 1));
        kg_workspace_close(workspace);
    }
    json_object_del(model.config, "calibration"); /* as older ones are: as it was trained */
    assert_true(kg__aggregate_is_calibrated(&eravg, &model));
    assert_false(kg__aggregate_is_calibrated(&ls, &model));
    kg__model_close(&model);
    free_world(world);
}

/* Unseen entities that the model knows are left out; if it knows all of them, that is an error. */
static void test_known_ones(void **state) {
    (void)state;
    struct world *world = make_world(1, true);
    kg_names known = {0};
    kg_id id = 0;
    kg_error error = {0};
    kg_queries all;
    kg_queries some;
    assert_ok(kg__names_intern(&known, &id, kg__name_of("x3", 2), &error), &error);
    assert_ok(kg__names_intern(&known, &id, kg__name_of("x5", 2), &error), &error);
    assert_ok(kg__names_intern(&known, &id, kg__name_of("e1", 2), &error), &error);
    assert_ok(kg__queries_make(&all, &world->dataset, KG_UNSEEN_VALID, &error), &error);
    assert_ok(kg__queries_make(&some, &world->dataset, KG_UNSEEN_VALID, &error), &error);
    kg_dropped dropped = kg__queries_drop_known(&some, &world->dataset, &known);
    assert_int_equal(dropped.entities, 2);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++) {
        kg_name name = kg__names_get(&world->dataset.entities, all.list[i].entity);
        if (name.length == 2 &&
            (memcmp(name.bytes, "x3", 2) == 0 || memcmp(name.bytes, "x5", 2) == 0))
            continue;
        assert_int_equal(some.list[kept].entity, all.list[i].entity);
        assert_true(is_same(some.list[kept++].target, all.list[i].target));
    }
    assert_int_equal(some.count, kept);
    assert_int_equal(dropped.queries, all.count - kept);
    kg__queries_free(&all);
    kg__queries_free(&some);
    kg__names_free(&known);
    free_world(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_the_plain_way),
        test_in_folder(test_other_ids),
        test_in_folder(test_what_it_is_for),
        cmocka_unit_test(test_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
