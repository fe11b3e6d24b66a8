/* Explanations by propagation: a fact's part, and the rank without it, are what a query without the
 * fact gives, to the bit; scores and ranks are those of predictions; paths lead to the answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "base/memory.h"
#include "infer/workspace.h"
#include "terms/propagation_term.h"

#define ENTITIES 40
#define RELATIONS 3
#define DIRECTED (2 * RELATIONS)
#define MOST_FACTS 100
#define APART (ENTITIES - 3) /* entities from here on are linked with each other only */

/* ---- A model that nobody trained ---- */

typedef struct world {
    kg_triples facts;
    kg_adjacency graph;
    kg_model model;
    real *values[KG_MOST_TERM_PARAMS];
    size_t value_count;
    kg_workspace *workspace;
} world;

static const kg_propagation_options options = {.layers = 3,
                                               .width = 32,
                                               .sources = 8,
                                               .edges = 1000,
                                               .pooling = KG_POOL_SUM | KG_POOL_MAX,
                                               .rank = 2,
                                               .sampled = 8,
                                               .weight = 0.7};

static kg_term_view *view_of(world *w) {
    return &w->model.params.terms[kg__term_number(&kg__term_propagation)];
}

/* The same numbers whatever the graph. */
static void fill_values(world *w) {
    kg_term_view *view = view_of(w);
    kg_term_param params[KG_MOST_TERM_PARAMS];
    uint64_t random = 11;
    w->value_count = kg__term_params(params, view);
    for (size_t i = 0; i < w->value_count; i++) {
        double bound = params[i].bound == 0 ? 0.5 : params[i].bound;
        w->values[i] = must_allocate(params[i].rows * params[i].columns, sizeof(real));
        for (size_t k = 0; k < params[i].rows * params[i].columns; k++)
            w->values[i][k] =
                (real)(bound * (2 * ((double)(next_random(&random) >> 11) * 0x1p-53) - 1));
        view->values[i] = w->values[i];
    }
}

static void name_all(kg_names *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char name[16];
        kg_id id = 0;
        int length = snprintf(name, sizeof name, "%zu", i);
        assert_ok(kg__names_intern(names, &id, kg__name_of(name, (size_t)length), NULL), NULL);
    }
}

static void open_world(world *w, const kg_triple *facts, size_t count, size_t entities) {
    static const real no_rows[1];
    *w = (world){0};
    kg_error error = {0};
    for (size_t i = 0; i < count; i++)
        assert_ok(kg__triples_push(&w->facts, facts[i], &error), &error);
    assert_ok(kg__adjacency_make(&w->graph, &w->facts, entities, KG_WITHOUT_REFLEXIVE, &error),
              &error);
    name_all(&w->model.entities, entities);
    name_all(&w->model.relations, RELATIONS);
    w->model.config = json_pack("{s{sssf}}", "settings", "aggregate", "eravg", "psi", 1.0);
    w->model.params = (kg_params){.scoring = kg__scoring_find("distmult"),
                                  .entities = no_rows,
                                  .relations = no_rows,
                                  .graph = &w->graph};
    w->model.known = (kg_known_facts){w->graph.links,
                                      w->graph.starts,
                                      (size_t)w->graph.starts[entities],
                                      entities,
                                      RELATIONS,
                                      "known",
                                      NULL};
    kg_term_source source = {
        .graph = &w->graph, .directed_count = DIRECTED, .propagation = &options};
    assert_ok(kg__term_propagation.count(view_of(w), &source, &error), &error);
    fill_values(w);
    kg_workspace_options how = KG_WORKSPACE_OPTIONS_INIT;
    how.threads = 1;
    assert_ok(kg_workspace_open(&w->workspace, &w->model, &how, &error), &error);
}

static void close_world(world *w) {
    kg_workspace_close(w->workspace);
    view_of(w)->learned->close(view_of(w));
    for (size_t i = 0; i < w->value_count; i++)
        free(w->values[i]);
    kg__names_free(&w->model.entities);
    kg__names_free(&w->model.relations);
    json_decref(w->model.config);
    kg__adjacency_free(&w->graph);
    kg__triples_free(&w->facts);
}

static size_t make_facts(kg_triple *out, uint64_t seed) {
    kg_triples facts = {0};
    size_t dropped = 0;
    for (size_t i = 0; i < 70; i++) {
        kg_triple fact = {(kg_id)next_below(&seed, i < 12 ? 3 : APART),
                          (kg_id)next_below(&seed, RELATIONS), (kg_id)next_below(&seed, APART)};
        if (fact.head != fact.tail)
            assert_ok(kg__triples_push(&facts, fact, NULL), NULL);
    }
    assert_ok(kg__triples_push(&facts, (kg_triple){APART, 0, APART + 1}, NULL), NULL);
    assert_ok(kg__triples_push(&facts, (kg_triple){APART, 1, APART + 2}, NULL), NULL);
    assert_ok(kg__triples_unique(&facts, &dropped, NULL), NULL);
    size_t count = facts.count;
    memcpy(out, facts.items, count * sizeof *out);
    kg__triples_free(&facts);
    return count;
}

/* ---- Explanations ---- */

#define MOST_TERMS 8
#define MOST_REASONS 10

typedef struct account {
    kg_explanation why;
    kg_share *shares;
    kg_score_term terms[MOST_TERMS];
    double *parts;
    kg_reason reasons[MOST_TERMS * MOST_REASONS];
    size_t term; /* propagation's */
} account;

static void explain(account *out, world *w, kg_subject subject, kg_link queried) {
    kg_error error = {0};
    size_t facts = subject.entity == KG_NO_ID ? subject.count
                                              : kg__adjacency_degree(&w->graph, subject.entity);
    out->shares = must_allocate(facts, sizeof *out->shares);
    out->parts = must_allocate(facts * MOST_TERMS, sizeof *out->parts);
    out->why = (kg_explanation)KG_EXPLANATION_INIT;
    out->why.shares = out->shares;
    out->why.share_capacity = facts;
    out->why.terms = out->terms;
    out->why.term_capacity = MOST_TERMS;
    out->why.parts = out->parts;
    out->why.part_capacity = facts * MOST_TERMS;
    out->why.reasons = out->reasons;
    size_t terms = kg__term_parts(NULL, &w->model.params);
    out->why.reason_capacity = terms * MOST_REASONS;
    assert_ok(kg_workspace_explain(&out->why, w->workspace, subject, queried, &error), &error);
    out->term = out->why.term_count - 1;
    assert_string_equal(out->terms[out->term].name, "propagation");
}

static void free_account(account *a) {
    free(a->shares);
    free(a->parts);
}

static bool is_same(kg_link a, kg_link b) {
    return a.directed == b.directed && a.other == b.other;
}

/* The score is that of predictions, to the bit, and so is the rank. */
static void check_prediction(world *w, const account *a, kg_subject subject, kg_link queried,
                             bool is_given) {
    kg_answer answers[ENTITIES];
    size_t found = 0;
    double higher = 0;
    double equal = 0;
    float score = NAN;
    kg_end end = kg_directed_end(queried.directed);
    kg_request request = {
        sizeof(kg_request), subject, queried.directed / 2, end == KG_TAIL, end == KG_HEAD,
        is_given,           false};
    assert_ok(kg_workspace_predict(answers, &found, w->workspace, &request, 1, ENTITIES, NULL),
              NULL);
    for (size_t i = 0; i < found; i++)
        score = answers[i].entity == queried.other ? answers[i].score : score;
    assert_true(a->why.score == (double)score);
    for (size_t i = 0; i < found; i++) {
        higher += answers[i].score > score;
        equal += answers[i].score == score;
    }
    assert_true(is_given || a->why.rank == higher + (equal + 1) / 2);
}

/* Parts sum up; paths are made of links, begin with facts and end at the answer. */
static void check_account(const world *w, const account *a, kg_link queried) {
    const kg_score_term *term = &a->terms[a->term];
    double sum = term->rest;
    double shares = 0;
    for (size_t i = 0; i < a->why.share_count; i++)
        sum += a->shares[i].parts[a->term];
    assert_true(fabs(sum - term->part) < 1e-9);
    assert_true(a->why.score == term->part);
    for (size_t i = 0; i < a->why.reason_count; i++) {
        const kg_reason *reason = &a->reasons[i];
        bool is_fact = false;
        assert_int_equal(reason->term, a->term);
        assert_true(is_same(reason->fact, reason->path[0]));
        for (size_t k = 0; k < a->why.share_count; k++)
            is_fact = is_fact || is_same(a->shares[k].link, reason->fact);
        assert_true(is_fact && !is_same(reason->fact, queried));
        for (size_t k = 1; k < reason->steps; k++) {
            kg_id from = reason->path[k - 1].other;
            size_t degree = kg__adjacency_degree(&w->graph, from);
            assert_true(kg__links_find(kg__adjacency_links(&w->graph, from), degree,
                                       reason->path[k]) < degree);
        }
        assert_int_equal(reason->path[reason->steps - 1].other, queried.other);
        assert_true(i == 0 || reason->share <= reason[-1].share);
        shares += reason->share;
    }
    assert_true(shares < 1 + 1e-9);
    assert_true(term->reason_count >= a->why.reason_count);
    assert_true(term->reason_count > MOST_REASONS || term->reason_count == 0 || shares > 0.99);
}

/* What an explanation says about a fact is what one without the fact says. */
static void check_without(const account *a, size_t fact, const account *without) {
    double part = a->terms[a->term].part - without->terms[without->term].part;
    assert_true(a->shares[fact].parts[a->term] == part);
    assert_true(a->shares[fact].rank_without == without->why.rank);
}

/* ---- New entities ---- */

static void check_new(world *w, const kg_link *links, size_t count, kg_link queried) {
    account a;
    kg_subject subject = {KG_NO_ID, links, count};
    bool is_given = kg__links_find(links, count, queried) < count;
    explain(&a, w, subject, queried);
    check_account(w, &a, queried);
    check_prediction(w, &a, subject, queried, is_given);
    for (size_t i = 0; i < count; i++) {
        kg_link others[16];
        size_t left = 0;
        account without;
        if (is_same(links[i], queried))
            continue;
        for (size_t k = 0; k < count; k++)
            if (k != i)
                others[left++] = links[k];
        explain(&without, w, (kg_subject){KG_NO_ID, others, left}, queried);
        check_without(&a, i, &without);
        free_account(&without);
    }
    free_account(&a);
}

static void test_new(void **state) {
    (void)state;
    static const kg_link links[] = {{0, 3}, {0, 5}, {1, 3}, {2, 0}, {4, 9}, {5, 1}};
    kg_triple facts[MOST_FACTS];
    world w;
    open_world(&w, facts, make_facts(facts, 1), ENTITIES);
    for (kg_directed query = 0; query < DIRECTED; query++)
        for (kg_id answer = query; answer < ENTITIES; answer += 4)
            check_new(&w, links, COUNT_OF(links), (kg_link){query, answer});
    for (size_t i = 0; i < COUNT_OF(links); i++)
        check_new(&w, links, COUNT_OF(links), links[i]);
    close_world(&w);
}

/* ---- Entities of the graph ---- */

static kg_triple triple_of(kg_id entity, kg_link link) {
    kg_id relation = kg_directed_relation(link.directed);
    return kg_directed_end(link.directed) == KG_HEAD ? (kg_triple){entity, relation, link.other}
                                                     : (kg_triple){link.other, relation, entity};
}

/* The graph never had the fact. */
static void open_without(world *out, const world *w, kg_triple fact) {
    kg_triple kept[MOST_FACTS];
    size_t count = 0;
    for (size_t i = 0; i < w->facts.count; i++)
        if (memcmp(&w->facts.items[i], &fact, sizeof fact) != 0)
            kept[count++] = w->facts.items[i];
    assert_int_equal(count + 1, w->facts.count);
    open_world(out, kept, count, ENTITIES);
}

/* Each fact but the one that is queried about is left out in turn. */
static void check_known(world *w, kg_id entity, kg_link queried) {
    account a;
    kg_subject subject = {entity, NULL, 0};
    const kg_link *links = kg__adjacency_links(&w->graph, entity);
    size_t degree = kg__adjacency_degree(&w->graph, entity);
    bool is_given = kg__links_find(links, degree, queried) < degree;
    explain(&a, w, subject, queried);
    check_account(w, &a, queried);
    check_prediction(w, &a, subject, queried, is_given);
    for (size_t i = 0; i < degree; i++) {
        world other;
        account without;
        if (is_same(links[i], queried) || degree < 3)
            continue;
        open_without(&other, w, triple_of(entity, links[i]));
        explain(&without, &other, subject, queried);
        check_without(&a, i, &without);
        free_account(&without);
        close_world(&other);
    }
    free_account(&a);
}

static void test_known(void **state) {
    (void)state;
    kg_triple facts[MOST_FACTS];
    world w;
    size_t checked = 0;
    open_world(&w, facts, make_facts(facts, 2), ENTITIES);
    for (kg_id e = 0; e < ENTITIES; e += 4) {
        size_t degree = kg__adjacency_degree(&w.graph, e);
        const kg_link *links = kg__adjacency_links(&w.graph, e);
        for (size_t i = 0; i < degree && i < 3; i++) {
            kg_link other = {links[i].directed, (links[i].other + 5) % ENTITIES};
            check_known(&w, e, links[i]);
            if (other.other != e)
                check_known(&w, e, other);
            checked++;
        }
    }
    assert_true(checked > 15);
    close_world(&w);
}

/* ---- What is not reached ---- */

/* It has what its class of degree has, without any fact's help. */
static void test_unreached(void **state) {
    (void)state;
    static const kg_link links[] = {{0, 3}, {1, 5}};
    kg_triple facts[MOST_FACTS];
    world w;
    account a;
    open_world(&w, facts, make_facts(facts, 3), ENTITIES);
    kg_link queried = {0, APART + 1};
    explain(&a, &w, (kg_subject){KG_NO_ID, links, COUNT_OF(links)}, queried);
    const kg_score_term *term = &a.terms[a.term];
    assert_int_equal(term->reason_count, 0);
    assert_int_equal(a.why.reason_count, 0);
    size_t class = kg__degree_class(1); /* of the fact with APART */
    assert_true(term->part == (double)kg__term_propagation.prior(view_of(&w), 0, class));
    assert_true(term->rest == term->part && a.why.score == term->part);
    for (size_t i = 0; i < COUNT_OF(links); i++)
        assert_true(a.shares[i].part == 0);
    free_account(&a);
    close_world(&w);
}

/* ---- Very many facts ---- */

#define HUB 4000 /* links */

/* The facts that paths begin with are tested, and not all the others. */
static void test_hub(void **state) {
    (void)state;
    if (IS_SANITIZED)
        skip();
    kg_triple *facts = must_allocate(HUB + 1, sizeof *facts);
    world w;
    account a;
    size_t untested = 0;
    for (kg_id i = 0; i < HUB; i++)
        facts[i] = (kg_triple){HUB + 1, 0, i};
    facts[HUB] = (kg_triple){HUB - 7, 1, HUB};
    open_world(&w, facts, HUB + 1, HUB + 2);
    explain(&a, &w, (kg_subject){HUB + 1, NULL, 0}, (kg_link){2, HUB});
    for (size_t i = 0; i < HUB; i++) {
        if (isnan(a.shares[i].rank_without))
            assert_true(a.shares[i].parts[a.term] == 0);
        untested += isnan(a.shares[i].rank_without) != 0;
    }
    assert_int_equal(untested, a.why.untested_facts);
    assert_true(untested > 0 && untested < HUB - 100);
    assert_true(a.shares[HUB - 7].parts[a.term] != 0);
    free_account(&a);
    close_world(&w);
    free(facts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_unreached),
        cmocka_unit_test(test_hub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
