/* Evidence against its definition, the slow way: small random graphs as params of facts, every
 * path followed by itself for every question with the asked fact and the entity taken out, every
 * share counted anew. The twin shares nothing with the library but what a link is. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "terms/features/degree_prior.h"
#include "terms/features/extractor.h"
#include "terms/features/features_file.h"
#include "terms/features/reasons.h"
#include "terms/features/rule_walk.h"

#define RELATIONS 3
#define DIRECTED (2 * RELATIONS)
#define CHAINS ((DIRECTED + 1) * (DIRECTED + 1) * (DIRECTED + 1) * (DIRECTED + 1))
#define WIDTHS 11
#define MOST_LISTED 64

/* ---- Worlds ---- */

struct world {
    size_t entities;
    bool *facts; /* relation x head x tail */
    size_t steps;
    double *hits; /* question x chain x width, by the twin */
    double *predictions;
};

static bool *fact_at(const struct world *world, kg_id head, size_t relation, kg_id tail) {
    return &world->facts[(relation * world->entities + head) * world->entities + tail];
}

/* Whether `from` has a fact of that directed relation with `to`, which is another. */
static bool is_linked(const struct world *world, kg_id from, kg_directed directed, kg_id to) {
    if (from == to)
        return false;
    return directed % 2 == 0 ? *fact_at(world, from, directed / 2, to)
                             : *fact_at(world, to, directed / 2, from);
}

static size_t count_facts(const struct world *world, kg_id v, kg_id without) {
    size_t facts = 0;
    for (kg_directed directed = 0; directed < DIRECTED; directed++)
        for (kg_id u = 0; u < world->entities; u++)
            facts += u != without && is_linked(world, v, directed, u);
    return facts;
}

/* Facts are there with the given chance in a thousand; entity 0 is a hub if there is one. */
static void make_world(struct world *world, size_t entities, unsigned chance, bool hub,
                       size_t steps, uint64_t seed) {
    *world = (struct world){.entities = entities, .steps = steps};
    world->facts = must_allocate(RELATIONS * entities * entities, sizeof *world->facts);
    world->hits = must_allocate((size_t)DIRECTED * CHAINS * WIDTHS, sizeof *world->hits);
    world->predictions = must_allocate((size_t)DIRECTED * CHAINS * WIDTHS, sizeof(double));
    for (size_t i = 0; i < RELATIONS * entities * entities; i++)
        world->facts[i] = next_below(&seed, 1000) < chance;
    for (kg_id v = 0; hub && v < entities; v++) {
        *fact_at(world, v, 0, 0) = next_below(&seed, 10) > 0;
        *fact_at(world, 1, 1, v) = next_below(&seed, 10) > 0;
    }
}

static void free_world(struct world *world) {
    free(world->facts);
    free(world->hits);
    free(world->predictions);
}

/* As the library knows it, with or without the facts of one entity. */
static void make_graph(kg_adjacency *graph, const struct world *world, kg_id without) {
    kg_triples facts = {0};
    for (kg_id head = 0; head < world->entities; head++)
        for (kg_id relation = 0; relation < RELATIONS; relation++)
            for (kg_id tail = 0; tail < world->entities; tail++)
                if (*fact_at(world, head, relation, tail) && head != without && tail != without)
                    assert_ok(kg__triples_push(&facts, (kg_triple){head, relation, tail}, NULL),
                              NULL);
    assert_ok(kg__adjacency_make(graph, &facts, world->entities, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    kg__triples_free(&facts);
}

/* ---- Paths, one by one ---- */

struct path {
    kg_id met[KG_MOST_STEPS + 1]; /* the entity that is asked about, and so on */
    kg_directed steps[KG_MOST_STEPS];
    size_t length;
    size_t fan;
    size_t reach;
};

typedef void (*visitor)(void *payload, const struct path *path);

static bool has_met(const struct path *path, kg_id entity) {
    for (size_t i = 0; i <= path->length; i++)
        if (path->met[i] == entity)
            return true;
    return false;
}

/* All paths that go on from this one, by at least a step. */
static void extend(const struct world *world, const struct path *path, visitor visit,
                   void *payload) {
    kg_id here = path->met[path->length];
    size_t reach = path->reach * count_facts(world, here, path->met[0]);
    if (path->length >= 2 && reach > KG_MOST_REACH)
        return;
    for (kg_directed step = 0; step < DIRECTED && path->length < world->steps; step++) {
        size_t open = 0;
        for (kg_id u = 0; u < world->entities; u++)
            open += is_linked(world, here, step, u) && !has_met(path, u);
        if (path->fan * open > KG_MOST_FAN)
            continue;
        for (kg_id u = 0; u < world->entities; u++) {
            if (!is_linked(world, here, step, u) || has_met(path, u))
                continue;
            struct path longer = *path;
            longer.met[longer.length + 1] = u;
            longer.steps[longer.length++] = step;
            longer.fan *= open;
            longer.reach = reach;
            visit(payload, &longer);
            extend(world, &longer, visit, payload);
        }
    }
}

/* All paths from an entity but those that start with the fact that is asked for. */
static void visit_paths(const struct world *world, kg_id self, kg_link asked, visitor visit,
                        void *payload) {
    for (kg_directed step = 0; step < DIRECTED; step++)
        for (kg_id x = 0; x < world->entities; x++) {
            if (!is_linked(world, self, step, x) || (step == asked.directed && x == asked.other))
                continue;
            struct path path = {{self, x}, {step}, 1, 1, 1};
            visit(payload, &path);
            extend(world, &path, visit, payload);
        }
}

static size_t index_of(kg_directed asked, const kg_directed *steps, size_t length, size_t width) {
    size_t chain = 0;
    for (size_t i = 0; i < KG_MOST_STEPS; i++)
        chain = chain * (DIRECTED + 1) + (i < length ? steps[i] + 1 : 0);
    return (asked * (size_t)CHAINS + chain) * WIDTHS + width;
}

static size_t width_of(size_t fan) {
    size_t width = 0;
    while (fan >>= 1)
        width++;
    return width;
}

static size_t index_of_path(kg_directed asked, const struct path *path) {
    return index_of(asked, path->steps, path->length, width_of(path->fan));
}

/* ---- Rules, the slow way ---- */

struct examiner {
    struct world *world;
    kg_link asked;
    double weight;
};

static void examine_path(void *payload, const struct path *path) {
    const struct examiner *examiner = payload;
    kg_id end = path->met[path->length];
    bool is_answer = is_linked(examiner->world, path->met[0], examiner->asked.directed, end);
    if (is_answer && end != examiner->asked.other)
        return;
    size_t index = index_of_path(examiner->asked.directed, path);
    examiner->world->predictions[index] += examiner->weight;
    if (is_answer)
        examiner->world->hits[index] += examiner->weight;
}

static size_t count_answers(const struct world *world, kg_id v, kg_directed asked) {
    size_t answers = 0;
    for (kg_id u = 0; u < world->entities; u++)
        answers += is_linked(world, v, asked, u);
    return answers;
}

static void count_slowly(struct world *world) {
    for (kg_id v = 0; v < world->entities; v++)
        for (kg_directed asked = 0; asked < DIRECTED; asked++) {
            size_t answers = count_answers(world, v, asked);
            for (kg_id u = 0; u < world->entities; u++) {
                if (!is_linked(world, v, asked, u))
                    continue;
                struct examiner examiner = {world, {asked, u}, 1 / (double)answers};
                visit_paths(world, v, examiner.asked, examine_path, &examiner);
            }
        }
}

/* 0 if the rule is not kept. */
static double confidence_of(const struct world *world, size_t index) {
    size_t first = index / WIDTHS * WIDTHS;
    double hits = 0;
    double predictions = 0;
    for (size_t i = first; i < first + WIDTHS; i++) {
        hits += world->hits[i] > 0 ? world->hits[i] : 0;
        predictions += world->hits[i] > 0 ? world->predictions[i] : 0;
    }
    double prior = hits / (predictions + 6);
    double confidence = (world->hits[index] + 5 * prior) / (world->predictions[index] + 6);
    return world->hits[index] > 0 && confidence >= 0.001 ? confidence : 0;
}

static size_t count_kept(const struct world *world) {
    size_t kept = 0;
    for (size_t i = 0; i < (size_t)DIRECTED * CHAINS * WIDTHS; i++)
        kept += confidence_of(world, i) > 0;
    return kept;
}

/* Counts are kept in 2^-24 and as floats. */
static void assert_close(double found, double expected) {
    if (!(fabs(found - expected) <= 2e-5 * (1 + fabs(expected))))
        fail_msg("expected %.9g, found %.9g", expected, found);
}

/* Hints are rounded. */
static void assert_feature(const kg_candidate_features *candidate, size_t k, double phi) {
    double found = candidate->features[k] / 4096.0;
    double expected = log(1 + phi / 0.01);
    if (!(fabs(found - expected) <= 2e-4 * (1 + fabs(expected))))
        fail_msg("expected %.9g, found %.9g", expected, found);
}

/* A trie against the twin; returns how many tallies there are. */
static size_t compare_rules(const struct world *world, const kg_rules *rules, kg_directed asked,
                            size_t from, size_t to, kg_directed *steps, size_t length) {
    size_t tallies = 0;
    for (size_t i = from; i < to && length < KG_MOST_STEPS; i++) {
        const kg_rule *rule = &rules->list[i];
        steps[length] = rule->step;
        for (size_t k = 0; k < rule->tally_count; k++) {
            const kg_rule_tally *tally = &rules->tallies[rule->first_tally + k];
            assert_ptr_equal(kg__rules_tally(rules, rule, tally->width), tally);
            size_t index = index_of(asked, steps, length + 1, tally->width);
            assert_close(tally->hits, world->hits[index]);
            assert_close(tally->predictions, world->predictions[index]);
            assert_close(tally->confidence, confidence_of(world, index));
        }
        tallies += rule->tally_count + compare_rules(world, rules, asked, rule->first_next,
                                                     rule->first_next + rule->next_count, steps,
                                                     length + 1);
    }
    return tallies;
}

static void check_rules(const struct world *world, const kg_rules *rules) {
    kg_directed steps[KG_MOST_STEPS];
    size_t tallies = 0;
    for (kg_directed asked = 0; asked < DIRECTED; asked++)
        tallies += compare_rules(world, rules, asked, rules->starts[asked],
                                 rules->starts[asked + 1], steps, 0);
    assert_int_equal(tallies, rules->tally_count);
    assert_int_equal(tallies, count_kept(world));
    assert_true(tallies > 0);
}

/* ---- Hints, the slow way ---- */

struct opinion {
    double log_doubts[KG_MOST_STEPS]; /* of each length: sum of log(1 - confidence) */
    double phi[KG_EXTRACTED_COUNT];
    bool has_evidence;
};

struct adviser {
    const struct world *world;
    kg_directed asked;
    struct opinion *opinions;
};

static void advise(void *payload, const struct path *path) {
    const struct adviser *adviser = payload;
    double confidence = confidence_of(adviser->world, index_of_path(adviser->asked, path));
    if (confidence == 0)
        return;
    struct opinion *opinion = &adviser->opinions[path->met[path->length]];
    opinion->has_evidence = true;
    opinion->log_doubts[path->length - 1] += log(1 - fmin(confidence, 0.999));
}

static size_t list_others(const struct world *world, kg_id *out, kg_id from, kg_directed directed,
                          kg_id self) {
    size_t count = 0;
    for (kg_id u = 0; u < world->entities; u++)
        if (u != self && is_linked(world, from, directed, u))
            out[count++] = u;
    return count;
}

/* Others with a fact of self's: who they are, and what sharing it weighs. */
static void advise_by_cooccurrence(const struct adviser *adviser, kg_id self, kg_link fact,
                                   int64_t *shared) {
    const struct world *world = adviser->world;
    kg_id *sharing = must_allocate(2 * world->entities, sizeof *sharing);
    kg_id *answers = sharing + world->entities;
    size_t *hits = must_allocate(world->entities, sizeof *hits);
    size_t count = list_others(world, sharing, fact.other, fact.directed ^ 1, self);
    size_t others = 0;
    for (size_t i = 0; i < count; i += (count + 31) / 32) {
        size_t answer_count = list_others(world, answers, sharing[i], adviser->asked, self);
        others += answer_count > 0;
        if (answer_count > 0)
            shared[sharing[i]] += llround(4294967296.0 / sqrt((double)count));
        for (size_t k = 0; k < answer_count && answer_count <= 128; k++)
            hits[answers[k]]++;
    }
    for (kg_id u = 0; u < world->entities; u++) {
        struct opinion *opinion = &adviser->opinions[u];
        opinion->has_evidence = opinion->has_evidence || hits[u] > 0;
        opinion->phi[KG_COOCCURRENCE] =
            fmax(opinion->phi[KG_COOCCURRENCE], (double)hits[u] / ((double)others + 3));
    }
    free(sharing);
    free(hits);
}

/* The 50 most similar, found by looking for the best again and again. */
static void vote(const struct adviser *adviser, kg_id self, int64_t *shared) {
    const struct world *world = adviser->world;
    double weights[50];
    kg_id voters[50];
    size_t count = 0;
    double total = 0;
    double *facts = must_allocate(world->entities, sizeof *facts);
    for (kg_id y = 0; y < world->entities; y++)
        facts[y] = (double)count_facts(world, y, self);
    for (; count < 50; count++) {
        weights[count] = 0;
        for (kg_id y = 0; y < world->entities; y++) {
            double similarity = (double)shared[y] / 4294967296.0 / sqrt(facts[y] + 5);
            if (similarity > weights[count]) {
                weights[count] = similarity;
                voters[count] = y;
            }
        }
        if (weights[count] == 0)
            break;
        shared[voters[count]] = 0;
        total += weights[count] * weights[count];
    }
    kg_id *answers = must_allocate(world->entities, sizeof *answers);
    for (size_t i = 0; i < count; i++) {
        size_t answer_count = list_others(world, answers, voters[i], adviser->asked, self);
        for (size_t k = 0; k < answer_count && answer_count <= 128; k++)
            adviser->opinions[answers[k]].phi[KG_KNN_VOTE] += weights[i] * weights[i] / total;
    }
    free(answers);
    free(facts);
}

/* What everybody has to say for himself, if `asked` is left out. */
static void advise_slowly(struct opinion *opinions, const struct world *world, kg_id self,
                          kg_link asked) {
    struct adviser adviser = {world, asked.directed, opinions};
    int64_t *shared = must_allocate(world->entities, sizeof *shared);
    memset(opinions, 0, world->entities * sizeof *opinions);
    visit_paths(world, self, asked, advise, &adviser);
    for (kg_directed directed = 0; directed < DIRECTED; directed++)
        for (kg_id x = 0; x < world->entities; x++)
            if (is_linked(world, self, directed, x) &&
                !(directed == asked.directed && x == asked.other))
                advise_by_cooccurrence(&adviser, self, (kg_link){directed, x}, shared);
    vote(&adviser, self, shared);
    for (kg_id u = 0; u < world->entities; u++) {
        for (size_t k = 0; k < KG_MOST_STEPS; k++)
            opinions[u].phi[k] = -opinions[u].log_doubts[k];
        bool is_known = is_linked(world, self, asked.directed, u) && u != asked.other;
        opinions[u].has_evidence = opinions[u].has_evidence && u != self && !is_known;
    }
    free(shared);
}

static double order_of(const struct opinion *opinion) {
    return -10 * opinion->log_doubts[0] - opinion->log_doubts[1] - opinion->log_doubts[2] -
           opinion->log_doubts[3] + opinion->phi[KG_COOCCURRENCE] + opinion->phi[KG_KNN_VOTE];
}

/* Candidates are the best of the opinions, in order. */
static void check_candidates(const struct opinion *opinions, size_t entities,
                             const kg_candidate_features *candidates, size_t found, size_t most) {
    size_t count = 0;
    double last = found == 0 ? 0 : order_of(&opinions[candidates[found - 1].entity]);
    for (kg_id u = 0; u < entities; u++) {
        bool is_listed = false;
        for (size_t i = 0; i < found; i++)
            is_listed = is_listed || candidates[i].entity == u;
        count += opinions[u].has_evidence;
        assert_true(opinions[u].has_evidence || !is_listed);
        assert_true(is_listed || !opinions[u].has_evidence ||
                    order_of(&opinions[u]) <= last + 1e-6);
    }
    assert_int_equal(found, count < most ? count : most);
    for (size_t i = 0; i < found; i++) {
        const struct opinion *opinion = &opinions[candidates[i].entity];
        assert_true(i == 0 ||
                    order_of(&opinions[candidates[i - 1].entity]) >= order_of(opinion) - 1e-6);
        for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
            assert_feature(&candidates[i], k, opinion->phi[k]);
    }
}

/* ---- Tests ---- */

static const struct shape {
    size_t entities;
    unsigned chance;
    bool hub;
    size_t steps;
} shapes[] = {
    {9, 60, false, 4},   /* few facts, many steps */
    {12, 120, false, 3}, /* more facts, so that paths differ in width */
    {180, 3, true, 2},   /* more entities that share a fact and more answers than are looked at */
    {40, 3, true, 4},    /* paths that fan out or reach too far */
    {5, 300, true, 1},
};

/* The first of them are the cheapest. */
#define SHAPE_COUNT (IS_SANITIZED ? 2 : COUNT_OF(shapes))

static void open_shape(struct world *world, kg_adjacency *graph, size_t i) {
    make_world(world, shapes[i].entities, shapes[i].chance, shapes[i].hub, shapes[i].steps, i + 1);
    make_graph(graph, world, KG_NO_ID);
    count_slowly(world);
}

static void close_shape(struct world *world, kg_adjacency *graph) {
    kg__adjacency_free(graph);
    free_world(world);
}

static void assert_same_rules(const kg_rules *a, const kg_rules *b) {
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->tally_count, b->tally_count);
    assert_memory_equal(a->starts, b->starts, (DIRECTED + 1) * sizeof *a->starts);
    assert_memory_equal(a->list, b->list, a->count * sizeof *a->list);
    assert_memory_equal(a->tallies, b->tallies, a->tally_count * sizeof *a->tallies);
}

static void test_rules(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        struct world world;
        kg_adjacency graph;
        kg_rules rules;
        open_shape(&world, &graph, i);
        kg_rule_options options = {world.steps, 1, NULL};
        assert_ok(kg__rules_count(&rules, &graph, DIRECTED, &options, NULL), NULL);
        check_rules(&world, &rules);
        for (options.threads = 2; options.threads < 5; options.threads++) {
            kg_rules same;
            assert_ok(kg__rules_count(&same, &graph, DIRECTED, &options, NULL), NULL);
            assert_same_rules(&rules, &same);
            kg__rules_free(&same);
        }
        kg__rules_free(&rules);
        close_shape(&world, &graph);
    }
}

/* ---- How many paths start with a fact ---- */

static void count_ends(void *payload, const kg_arrival *arrival) {
    size_t *ends = payload;
    ends[arrival->steps - 1] += arrival->unvisited;
}

/* With no bound there would be facts that start 1,440 paths of four steps. */
static void test_reach(void **state) {
    (void)state;
    struct world world;
    kg_adjacency graph;
    kg_rules rules;
    make_world(&world, 60, 25, false, 4, 1);
    make_graph(&graph, &world, KG_NO_ID);
    kg_rule_options options = {world.steps, 2, NULL};
    assert_ok(kg__rules_count(&rules, &graph, DIRECTED, &options, NULL), NULL);
    size_t most[KG_MOST_STEPS] = {0};
    for (kg_id v = 0; v < world.entities; v++)
        for (size_t i = 0; i < kg__adjacency_degree(&graph, v); i++)
            for (kg_directed asked = 0; asked < DIRECTED; asked++) {
                size_t ends[KG_MOST_STEPS] = {0};
                kg_walk walk = {&graph, &rules, count_ends, ends};
                kg__walk_from(&walk, asked, v, kg__adjacency_links(&graph, v) + i);
                for (size_t k = 0; k < KG_MOST_STEPS; k++)
                    most[k] = ends[k] > most[k] ? ends[k] : most[k];
            }
    assert_in_range(most[2], 100, KG_MOST_REACH);
    assert_in_range(most[3], 400, KG_MOST_REACH);
    kg__rules_free(&rules);
    kg__adjacency_free(&graph);
    free_world(&world);
}

static void open_evidence(kg_features *evidence, const kg_adjacency *graph, size_t steps) {
    kg_feature_set features = KG_ALL_FEATURES & ~((1U << KG_MOST_STEPS) - (1U << steps));
    assert_ok(kg__features_count(evidence, graph, DIRECTED, features, 2, NULL, NULL), NULL);
}

static size_t answer(kg_extractor *extractor, kg_candidate_features *candidates, size_t most,
                     size_t left_out) {
    size_t found = 0;
    assert_ok(kg__extractor_candidates(extractor, candidates, most, &found, left_out, NULL), NULL);
    return found;
}

/* All questions about some entities, each with its own fact left out; and one with none. */
static void test_candidates(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        struct world world;
        kg_adjacency graph;
        kg_features evidence;
        kg_extractor extractor;
        kg_candidate_features candidates[MOST_LISTED];
        open_shape(&world, &graph, i);
        open_evidence(&evidence, &graph, world.steps);
        kg__extractor_open(&extractor, &evidence);
        struct opinion *opinions = must_allocate(world.entities, sizeof *opinions);
        for (kg_id v = 0; v < world.entities; v += (kg_id)world.entities / 20 + 1) {
            const kg_link *links = kg__adjacency_links(&graph, v);
            size_t count = kg__adjacency_degree(&graph, v);
            size_t stride = count / 20 + 1;
            assert_ok(kg__extractor_load(&extractor, v, links, count, NULL), NULL);
            for (size_t k = 0; k < count; k += stride) {
                kg__extractor_set_query(&extractor, links[k].directed);
                size_t found = answer(&extractor, candidates, MOST_LISTED, k);
                advise_slowly(opinions, &world, v, links[k]);
                check_candidates(opinions, world.entities, candidates, found, MOST_LISTED);
            }
            kg__extractor_set_query(&extractor, v % DIRECTED);
            size_t found = answer(&extractor, candidates, 3, KG_NO_FACT);
            advise_slowly(opinions, &world, v, (kg_link){v % DIRECTED, KG_NO_ID});
            check_candidates(opinions, world.entities, candidates, found, 3);
        }
        free(opinions);
        kg__extractor_close(&extractor);
        kg__features_close(&evidence);
        close_shape(&world, &graph);
    }
}

static void assert_same_candidates(const kg_candidate_features *a, size_t a_count,
                                   const kg_candidate_features *b, size_t b_count) {
    assert_int_equal(a_count, b_count);
    for (size_t i = 0; i < a_count; i++) {
        assert_int_equal(a[i].entity, b[i].entity);
        assert_memory_equal(a[i].features, b[i].features, sizeof a[i].features);
    }
}

/* Someone who is in the graph is asked about as if he were not, to the bit: by a graph without him,
 * from a list of his facts that does not have the one that is asked for. */
static void check_as_unseen(const struct world *world, const kg_adjacency *graph,
                            const kg_features *evidence, kg_id v) {
    const kg_link *links = kg__adjacency_links(graph, v);
    size_t count = kg__adjacency_degree(graph, v);
    kg_adjacency rest;
    make_graph(&rest, world, v);
    kg_features elsewhere = *evidence;
    elsewhere.graph = &rest;
    kg_extractor seen;
    kg_extractor unseen;
    kg__extractor_open(&seen, evidence);
    kg__extractor_open(&unseen, &elsewhere);
    assert_ok(kg__extractor_load(&seen, v, links, count, NULL), NULL);
    kg_link *others = must_allocate(count, sizeof *others);
    for (size_t k = 0; k < count; k++) {
        kg_candidate_features candidates[2][MOST_LISTED];
        memcpy(others, links, k * sizeof *links);
        memcpy(others + k, links + k + 1, (count - k - 1) * sizeof *links);
        assert_ok(kg__extractor_load(&unseen, KG_NO_ID, others, count - 1, NULL), NULL);
        kg__extractor_set_query(&unseen, links[k].directed);
        if (k == 0 || links[k].directed != links[k - 1].directed)
            kg__extractor_set_query(&seen, links[k].directed);
        size_t found = answer(&seen, candidates[0], MOST_LISTED, k);
        assert_same_candidates(candidates[0], found, candidates[1],
                               answer(&unseen, candidates[1], MOST_LISTED, KG_NO_FACT));
    }
    free(others);
    kg__extractor_close(&seen);
    kg__extractor_close(&unseen);
    kg__adjacency_free(&rest);
}

static void test_as_unseen(void **state) {
    (void)state;
    for (size_t i = 0; i < (IS_SANITIZED ? 2 : 4); i++) {
        struct world world;
        kg_adjacency graph;
        kg_features evidence;
        open_shape(&world, &graph, i);
        open_evidence(&evidence, &graph, world.steps);
        for (kg_id v = 0; v < world.entities; v += (kg_id)world.entities / 20 + 1)
            check_as_unseen(&world, &graph, &evidence, v);
        kg__features_close(&evidence);
        close_shape(&world, &graph);
    }
}

/* Questions in any order, again and again: what was asked before leaves no trace. */
static void test_order_of_queries(void **state) {
    (void)state;
    struct world world;
    kg_adjacency graph;
    kg_features evidence;
    uint64_t seed = 5;
    open_shape(&world, &graph, 2);
    open_evidence(&evidence, &graph, world.steps);
    kg_extractor used;
    kg__extractor_open(&used, &evidence);
    for (kg_id v = 2; v < 30; v++) {
        const kg_link *links = kg__adjacency_links(&graph, v);
        size_t count = kg__adjacency_degree(&graph, v);
        assert_ok(kg__extractor_load(&used, v, links, count, NULL), NULL);
        kg_directed asked = (kg_directed)next_below(&seed, DIRECTED);
        kg__extractor_set_query(&used, asked);
        for (size_t i = 0; i < 10; i++) {
            kg_candidate_features candidates[2][MOST_LISTED];
            size_t left_out = (size_t)next_below(&seed, count + 1);
            left_out = left_out == count ? KG_NO_FACT : left_out;
            size_t found = answer(&used, candidates[0], MOST_LISTED, left_out);
            kg_extractor fresh;
            kg__extractor_open(&fresh, &evidence);
            assert_ok(kg__extractor_load(&fresh, v, links, count, NULL), NULL);
            kg__extractor_set_query(&fresh, asked);
            assert_same_candidates(candidates[0], found, candidates[1],
                                   answer(&fresh, candidates[1], MOST_LISTED, left_out));
            kg__extractor_close(&fresh);
        }
    }
    kg__extractor_close(&used);
    kg__features_close(&evidence);
    close_shape(&world, &graph);
}

/* ---- Explanations ---- */

/* A reason's path is made of facts that there are, and leads to the answer. */
static void check_path(const struct world *world, kg_id self, kg_link asked, kg_id answer,
                       kg_feature feature, const kg_reason *reason) {
    kg_id here = feature == KG_KNN_VOTE ? reason->voter : self;
    kg_link first = reason->path[0];
    for (size_t i = 0; i < reason->steps; i++) {
        assert_true(is_linked(world, here, reason->path[i].directed, reason->path[i].other));
        here = reason->path[i].other;
    }
    assert_int_equal(reason->voter == KG_NO_ID, feature != KG_KNN_VOTE);
    assert_true(first.directed != asked.directed || first.other != asked.other ||
                feature == KG_KNN_VOTE);
    assert_true(feature == KG_COOCCURRENCE || here == answer);
    assert_int_equal(reason->steps, feature >= KG_COOCCURRENCE ? 1 : feature + 1);
}

/* The shares of all reasons come to what the features are. */
static void check_reasons(const struct world *world, kg_id self, kg_link asked,
                          const kg_candidate_features *candidate, const kg_reasons *lists) {
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++) {
        double phi = 0;
        assert_true(lists[k].count <= lists[k].most);
        for (size_t i = 0; i < lists[k].count; i++) {
            const kg_reason *reason = &lists[k].items[i];
            check_path(world, self, asked, candidate->entity, k, reason);
            assert_true(i == 0 || lists[k].items[i - 1].share >= reason->share);
            if (k == KG_COOCCURRENCE)
                assert_close(reason->share, reason->hits / (reason->chances + 3));
            phi = k == KG_COOCCURRENCE ? fmax(phi, reason->share) : phi + reason->share;
        }
        assert_feature(candidate, k, phi);
    }
}

enum { MOST_FACTS = 2000 };

/* How much of a feature runs through a fact, by its reasons: those that start with it, of
 * co-occurrence the best alone; of votes, only whether any voter has the fact. */
static double run_through(const struct world *world, kg_link fact, kg_feature feature,
                          const kg_reasons *list) {
    double sum = 0;
    for (size_t i = 0; i < list->count; i++) {
        const kg_reason *reason = &list->items[i];
        bool is_its = reason->fact.directed == fact.directed && reason->fact.other == fact.other;
        if (feature == KG_KNN_VOTE)
            sum += is_linked(world, reason->voter, fact.directed, fact.other);
        else if (is_its)
            sum += feature < KG_COOCCURRENCE || i == 0 ? reason->share : 0;
    }
    return sum;
}

/* All of a feature runs through the facts but the one that is left out. */
static void check_through(const struct world *world, const kg_link *links, size_t count,
                          size_t left_out, kg_feature feature, const kg_reasons *list) {
    double phi = 0;
    double all = 0;
    assert_true(count <= MOST_FACTS);
    for (size_t i = 0; i < list->count; i++)
        phi += feature == KG_COOCCURRENCE && i > 0 ? 0 : list->items[i].share;
    for (size_t i = 0; i < count; i++) {
        double expected = i == left_out ? 0 : run_through(world, links[i], feature, list);
        double found = list->through[i];
        all += found;
        if (feature < KG_COOCCURRENCE)
            assert_close(found, expected);
        else if (feature == KG_COOCCURRENCE)
            assert_true(found == 0 || found == phi);
        else
            assert_true(found == 0 || expected > 0);
    }
    assert_close(all, phi);
}

/* Fewer of them are the best. */
static void check_best_reasons(kg_extractor *extractor, kg_id answer, const kg_reasons *lists) {
    kg_reason best[KG_EXTRACTED_COUNT][3];
    kg_reasons few[KG_EXTRACTED_COUNT];
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
        few[k] = (kg_reasons){.items = best[k], .most = 3};
    kg__extractor_explain(extractor, few, answer);
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++) {
        assert_int_equal(few[k].count, lists[k].count);
        for (size_t i = 0; i < 3 && i < few[k].count; i++)
            assert_true(best[k][i].share == lists[k].items[i].share);
    }
}

/* Rules that were never wrong: as sure as any can be. */
static void make_certain(kg_features *evidence) {
    kg_rules rules = evidence->rules;
    kg_degree_prior prior = evidence->degree_prior;
    for (size_t i = 0; i < rules.tally_count; i++)
        rules.tallies[i].confidence = 1;
    kg__free(evidence->rule_weights);
    assert_ok(kg__features_take(evidence, evidence->graph, evidence->enabled, &rules, &prior, NULL),
              NULL);
}

static void test_reasons(void **state) {
    (void)state;
    enum { MOST_REASONS = 20000 };
    kg_reason *reasons = must_allocate((size_t)KG_EXTRACTED_COUNT * MOST_REASONS, sizeof *reasons);
    static double through[KG_EXTRACTED_COUNT][MOST_FACTS];
    kg_reasons lists[KG_EXTRACTED_COUNT];
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
        lists[k] = (kg_reasons){
            .items = reasons + k * MOST_REASONS, .most = MOST_REASONS, .through = through[k]};
    for (size_t i = 0; i < 5; i++) {
        struct world world;
        kg_adjacency graph;
        kg_features evidence;
        kg_extractor extractor;
        kg_candidate_features candidates[MOST_LISTED];
        open_shape(&world, &graph, i % (IS_SANITIZED ? 2 : 4));
        open_evidence(&evidence, &graph, world.steps);
        if (i == 4)
            make_certain(&evidence);
        kg__extractor_open(&extractor, &evidence);
        for (kg_id v = 2; v < world.entities; v += (kg_id)world.entities / 9 + 1) {
            const kg_link *links = kg__adjacency_links(&graph, v);
            size_t count = kg__adjacency_degree(&graph, v);
            assert_ok(kg__extractor_load(&extractor, v, links, count, NULL), NULL);
            for (size_t k = 0; k < count; k++) {
                kg__extractor_set_query(&extractor, links[k].directed);
                size_t found = answer(&extractor, candidates, MOST_LISTED, k);
                for (size_t h = 0; h < found; h++) {
                    kg__extractor_explain(&extractor, lists, candidates[h].entity);
                    check_reasons(&world, v, links[k], &candidates[h], lists);
                    for (kg_feature f = 0; f < KG_EXTRACTED_COUNT; f++)
                        check_through(&world, links, count, k, f, &lists[f]);
                    check_best_reasons(&extractor, candidates[h].entity, lists);
                }
            }
        }
        kg__extractor_close(&extractor);
        kg__features_close(&evidence);
        close_shape(&world, &graph);
    }
    free(reasons);
}

/* ---- Vacancies ---- */

static size_t class_of(size_t facts) {
    static const size_t ends[] = {1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
    size_t k = 0;
    while (facts >= ends[k])
        k++;
    return k;
}

/* How many ask and get this answer, `without` being nobody. */
static size_t count_asking(const struct world *world, kg_directed asked, kg_id u, kg_id without) {
    size_t asking = 0;
    for (kg_id v = 0; v < world->entities; v++)
        asking += v != without && is_linked(world, v, asked, u);
    return asking;
}

static double prior_slowly(const struct world *world, kg_directed asked, size_t class) {
    double answers = 0;
    double total = 0;
    double entities = 0;
    for (kg_id u = 0; u < world->entities; u++) {
        size_t facts = count_asking(world, asked, u, KG_NO_ID);
        entities += class_of(facts) == class;
        for (size_t i = 0; i < facts; i++) {
            total++;
            answers += class_of(facts - 1) == class;
        }
    }
    double expected = total * entities / (double)world->entities;
    double doubt = 0.125 + 0.001 * expected;
    return log((answers + doubt) / (expected + doubt));
}

static void test_degree_prior(void **state) {
    (void)state;
    for (size_t i = 0; i < (IS_SANITIZED ? 2 : 3); i++) {
        struct world world;
        kg_adjacency graph;
        kg_degree_prior prior;
        open_shape(&world, &graph, i);
        assert_ok(kg__degree_prior_open(&prior, &graph, DIRECTED, NULL), NULL);
        real *all = must_allocate(DIRECTED * world.entities, sizeof *all);
        kg_id *entities = must_allocate(world.entities, sizeof *entities);
        for (kg_id u = 0; u < world.entities; u++)
            entities[u] = (kg_id)world.entities - 1 - u;
        static const kg_directed questions[] = {4, 0, 3};
        static const uint32_t kinds[DIRECTED] = {1, KG_NO_ID, KG_NO_ID, 2, 0, KG_NO_ID};
        kg__degree_prior_fill(&prior, all, questions, 3, kinds, entities, world.entities);
        for (size_t kind = 0; kind < 3; kind++)
            for (size_t k = 0; k < world.entities; k++)
                assert_true(all[kind * world.entities + k] ==
                            kg__degree_prior_of(&prior, questions[kind], KG_NO_ID, entities[k]));
        free(entities);
        for (kg_directed asked = 0; asked < DIRECTED; asked++) {
            for (kg_id u = 0; u < world.entities; u++) {
                kg_id self = (u + asked) % (kg_id)world.entities;
                size_t with = class_of(count_asking(&world, asked, u, KG_NO_ID));
                size_t without = class_of(count_asking(&world, asked, u, self));
                assert_close((double)kg__degree_prior_of(&prior, asked, KG_NO_ID, u),
                             prior_slowly(&world, asked, with));
                assert_close((double)kg__degree_prior_of(&prior, asked, self, u),
                             prior_slowly(&world, asked, without));
            }
        }
        free(all);
        kg__degree_prior_close(&prior);
        close_shape(&world, &graph);
    }
}

/* ---- On disk ---- */

static char path[] = "evidence";

static char *write_evidence(const kg_rules *rules, const kg_degree_prior *prior, size_t *size) {
    kg_output *output = NULL;
    assert_ok(kg__output_open(&output, path, path, NULL), NULL);
    assert_ok(kg__features_write(output, rules, prior, NULL), NULL);
    assert_ok(kg__output_commit(output, NULL), NULL);
    kg__output_close(output);
    return read_file(path, size);
}

/* Reads bytes as a file would be, from memory of their exact size. */
static kg_status read_bytes(kg_rules *rules, kg_degree_prior *prior, const char *bytes, size_t size,
                            size_t directed_count, kg_error *error) {
    char *aligned = aligned_alloc(64, (size + 63) / 64 * 64);
    assert_non_null(aligned);
    memcpy(aligned, bytes, size);
    kg_mapping mapping = {aligned, size, path};
    kg_status status = kg__features_read(rules, prior, &mapping, NULL, directed_count, error);
    free(aligned);
    return status;
}

/* Walks all that was believed, so that a sanitizer sees where it leads. */
static void follow_rules(const kg_rules *rules, size_t from, size_t to, size_t length) {
    assert_true(length <= KG_MOST_STEPS);
    for (size_t i = from; i < to; i++) {
        const kg_rule *rule = &rules->list[i];
        assert_true(rule->step < DIRECTED);
        for (size_t k = 0; k < rule->tally_count; k++)
            assert_true(rules->tallies[rule->first_tally + k].confidence <= 1);
        follow_rules(rules, rule->first_next, rule->first_next + rule->next_count, length + 1);
    }
}

static void test_file(void **state) {
    (void)state;
    struct world world;
    kg_adjacency graph;
    kg_features evidence;
    kg_degree_prior prior;
    open_shape(&world, &graph, 0);
    open_evidence(&evidence, &graph, world.steps);
    assert_ok(kg__degree_prior_open(&prior, &graph, DIRECTED, NULL), NULL);
    size_t size = 0;
    char *bytes = write_evidence(&evidence.rules, &prior, &size);

    kg_rules rules;
    kg_degree_prior same;
    kg_error error = {0};
    assert_ok(read_bytes(&rules, &same, bytes, size, DIRECTED, &error), &error);
    assert_same_rules(&rules, &evidence.rules);
    for (size_t i = 0; i < (size_t)DIRECTED * KG_DEGREE_PRIOR_CLASSES; i++)
        assert_true(same.values[i] == (real)(float)prior.values[i]);
    kg__rules_free(&rules);
    kg__degree_prior_close(&same);

    assert_status(read_bytes(&rules, &same, bytes, size, DIRECTED + 2, &error), KG_BAD_INPUT, NULL);
    assert_error_text(&error, "evidence: expected a file as kgraft writes it, found features of "
                              "another size");
    for (size_t cut = 0; cut < size; cut += 61)
        assert_status(read_bytes(&rules, &same, bytes, cut, DIRECTED, NULL), KG_BAD_INPUT, NULL);
    uint64_t seed = 3;
    size_t refused = 0;
    for (size_t i = 0; i < 20000; i++) {
        size_t place = (size_t)next_below(&seed, size);
        char before = bytes[place];
        bytes[place] = (char)(before ^ (1 << next_below(&seed, 8)));
        if (read_bytes(&rules, &same, bytes, size, DIRECTED, NULL) == KG_OK)
            for (kg_directed asked = 0; asked < DIRECTED; asked++)
                follow_rules(&rules, rules.starts[asked], rules.starts[asked + 1], 0);
        else
            refused++;
        kg__rules_free(&rules);
        kg__degree_prior_close(&same);
        bytes[place] = before;
    }
    assert_true(refused > 5000);
    free(bytes);
    kg__degree_prior_close(&prior);
    kg__features_close(&evidence);
    close_shape(&world, &graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_as_unseen),
        cmocka_unit_test(test_order_of_queries),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_degree_prior),
        test_in_folder(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
