/* The out-of-sample split: against the paper's six steps written down naively over lists of facts
 * (only who is drawn is taken from kg__random, as split.c documents it), on random small graphs
 * with facts of an entity with itself; its report, its record, its options, and that it is a
 * function of its input. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "graph/split.h"

enum { MOST_FACTS = 400, MOST_ENTITIES = 64 };

/* A list of facts by id, and what the steps make of it. */
struct twin {
    kg_triple facts[MOST_FACTS];
    size_t count;
    kg_triple between[MOST_FACTS]; /* what step 3 removes */
    size_t between_count;
    bool unseen[MOST_ENTITIES];
    bool sparse[MOST_ENTITIES];
    bool valid[MOST_ENTITIES];
    kg_split_report report;
};

/* Shares in percent, so that the twin can count in whole numbers. */
struct settings {
    unsigned unseen, valid;
    uint64_t min_facts, seed;
    bool keep_between;
};

static kg_split_options options_of(struct settings settings) {
    return (kg_split_options){settings.unseen / 100.0,
                              settings.valid / 100.0,
                              settings.min_facts,
                              settings.seed,
                              0,
                              false,
                              settings.keep_between};
}

static bool has(kg_triple fact, kg_id entity) {
    return fact.head == entity || fact.tail == entity;
}

static size_t facts_of(const struct twin *twin, kg_id entity) {
    size_t count = 0;
    for (size_t i = 0; i < twin->count; i++)
        count += has(twin->facts[i], entity);
    return count;
}

/* Takes the n candidates with the smallest numbers, one after the other. */
static void draw(bool *drawn, const bool *candidates, size_t n, uint64_t seed, kg_stream stream) {
    memset(drawn, 0, MOST_ENTITIES * sizeof *drawn);
    for (size_t taken = 0; taken < n; taken++) {
        kg_id best = KG_NO_ID;
        for (kg_id id = 0; id < MOST_ENTITIES; id++)
            if (candidates[id] && !drawn[id] &&
                (best == KG_NO_ID || kg__random(seed, stream, id) < kg__random(seed, stream, best)))
                best = id;
        drawn[best] = true;
    }
}

static size_t count_true(const bool *flags) {
    size_t count = 0;
    for (size_t i = 0; i < MOST_ENTITIES; i++)
        count += flags[i];
    return count;
}

/* 1. "We merge the train, validation, and test triples ... into a single set." */
static void merge(struct twin *twin, const kg_dataset *from) {
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        for (size_t i = 0; i < from->parts[part].count; i++) {
            kg_triple fact = from->parts[part].items[i];
            bool known = false;
            for (size_t j = 0; j < twin->count; j++)
                known = known || memcmp(&twin->facts[j], &fact, sizeof fact) == 0;
            twin->report.repeated_facts += known;
            if (!known)
                twin->facts[twin->count++] = fact;
        }
    twin->report.merged_facts = twin->count;
}

/* 2. "From the entities appearing in at least 2 triples, we randomly select 20% ..." */
static void select_unseen(struct twin *twin, struct settings settings) {
    bool candidates[MOST_ENTITIES] = {false};
    for (kg_id id = 0; id < MOST_ENTITIES; id++)
        candidates[id] = facts_of(twin, id) >= settings.min_facts;
    twin->report.candidates = count_true(candidates);
    twin->report.drawn = twin->report.candidates * settings.unseen / 100;
    draw(twin->unseen, candidates, twin->report.drawn, settings.seed, KG_STREAM_SPLIT_UNSEEN);
}

/* Removes facts from the list; returns how many. */
typedef bool removes(const struct twin *twin, kg_triple fact);

static size_t remove_facts(struct twin *twin, removes *is_removed) {
    struct twin before = *twin;
    twin->count = 0;
    for (size_t i = 0; i < before.count; i++)
        if (!is_removed(&before, before.facts[i]))
            twin->facts[twin->count++] = before.facts[i];
    return before.count - twin->count;
}

/* 3. "Triples containing two out-of-sample entities are removed ..." */
static bool is_between_unseen(const struct twin *twin, kg_triple fact) {
    return twin->unseen[fact.head] && twin->unseen[fact.tail];
}

/* "... triples with one ... are considered as test triples and other ... as train triples." */
static bool is_train(const struct twin *twin, kg_triple fact) {
    return !twin->unseen[fact.head] && !twin->unseen[fact.tail];
}

static bool entity_in_train(const struct twin *twin, kg_id entity) {
    bool found = false;
    for (size_t i = 0; i < twin->count; i++)
        found = found || (is_train(twin, twin->facts[i]) && has(twin->facts[i], entity));
    return found;
}

static bool relation_in_train(const struct twin *twin, kg_id relation) {
    bool found = false;
    for (size_t i = 0; i < twin->count; i++)
        found = found || (is_train(twin, twin->facts[i]) && twin->facts[i].relation == relation);
    return found;
}

/* 4. "... entities selected to be in-sample appear in no training triples ... A similar situation
 * can occur for some relations ... We remove such ... and the triples they appear in ..." */
static bool is_lost(const struct twin *twin, kg_triple fact) {
    return (!twin->unseen[fact.head] && !entity_in_train(twin, fact.head)) ||
           (!twin->unseen[fact.tail] && !entity_in_train(twin, fact.tail)) ||
           !relation_in_train(twin, fact.relation);
}

static void remove_lost(struct twin *twin, const kg_dataset *from) {
    for (kg_id id = 0; id < from->entities.count; id++)
        twin->report.lost_entities += !twin->unseen[id] && !entity_in_train(twin, id);
    for (kg_id id = 0; id < from->relations.count; id++)
        twin->report.lost_relations += !relation_in_train(twin, id);
    twin->report.lost_facts = remove_facts(twin, is_lost);
}

/* 5. "... if the number of triples for an out-of-sample entity is less than 2, we remove ..." */
static bool is_of_sparse(const struct twin *twin, kg_triple fact) {
    return twin->sparse[fact.head] || twin->sparse[fact.tail];
}

static void remove_sparse(struct twin *twin, struct settings settings) {
    for (kg_id id = 0; id < MOST_ENTITIES; id++)
        twin->sparse[id] = twin->unseen[id] && facts_of(twin, id) < settings.min_facts;
    twin->report.sparse_unseen = count_true(twin->sparse);
    twin->report.sparse_facts = remove_facts(twin, is_of_sparse);
    for (kg_id id = 0; id < MOST_ENTITIES; id++)
        twin->unseen[id] = twin->unseen[id] && !twin->sparse[id];
}

/* 6. "We randomly select half of the out-of-sample entities ... as the validation set ..." */
static void select_valid(struct twin *twin, struct settings settings) {
    size_t unseen = count_true(twin->unseen);
    twin->report.valid_entities = unseen * settings.valid / 100;
    twin->report.test_entities = unseen - twin->report.valid_entities;
    draw(twin->valid, twin->unseen, twin->report.valid_entities, settings.seed,
         KG_STREAM_SPLIT_VALID);
}

/* Of what step 3 removed, what is left on both sides goes back to the end of the list. */
static void keep_between(struct twin *twin) {
    size_t count = twin->count;
    for (size_t i = 0; i < twin->between_count; i++) {
        kg_triple fact = twin->between[i];
        if (is_between_unseen(twin, fact) && twin->valid[fact.head] == twin->valid[fact.tail] &&
            relation_in_train(twin, fact.relation))
            twin->facts[count++] = fact;
    }
    twin->report.kept_between = count - twin->count;
    twin->count = count;
}

static void run_twin(struct twin *twin, const kg_dataset *from, struct settings settings) {
    memset(twin, 0, sizeof *twin);
    merge(twin, from);
    select_unseen(twin, settings);
    for (size_t i = 0; i < twin->count; i++)
        twin->report.reflexive +=
            twin->facts[i].head == twin->facts[i].tail && twin->unseen[twin->facts[i].head];
    for (size_t i = 0; i < twin->count; i++)
        if (is_between_unseen(twin, twin->facts[i]) && twin->facts[i].head != twin->facts[i].tail)
            twin->between[twin->between_count++] = twin->facts[i];
    twin->report.between_unseen = remove_facts(twin, is_between_unseen);
    remove_lost(twin, from);
    remove_sparse(twin, settings);
    select_valid(twin, settings);
    if (settings.keep_between)
        keep_between(twin);
}

static kg_part twin_part(const struct twin *twin, kg_triple fact) {
    if (is_train(twin, fact))
        return KG_TRAIN;
    bool is_valid = twin->valid[fact.head] || twin->valid[fact.tail];
    if (is_between_unseen(twin, fact))
        return is_valid ? KG_BETWEEN_VALID : KG_BETWEEN_TEST;
    return is_valid ? KG_UNSEEN_VALID : KG_UNSEEN_TEST;
}

/* The twin's facts of a part, in the form of show_facts. */
static void show_twin(char *out, size_t room, const struct twin *twin, const kg_dataset *from,
                      kg_part part) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < twin->count; i++) {
        kg_triple fact = twin->facts[i];
        if (twin_part(twin, fact) != part)
            continue;
        kg_name head = kg__names_get(&from->entities, fact.head);
        kg_name relation = kg__names_get(&from->relations, fact.relation);
        kg_name tail = kg__names_get(&from->entities, fact.tail);
        used += (size_t)snprintf(out + used, room - used, "%.*s %.*s %.*s\n", (int)head.length,
                                 head.bytes, (int)relation.length, relation.bytes, (int)tail.length,
                                 tail.bytes);
    }
}

static void assert_like_twin(const kg_dataset *out, const kg_split_report *report,
                             const kg_dataset *from, const struct twin *twin) {
    static char expected[MOST_FACTS * 16];
    for (kg_part part = 0; part < KG_PART_COUNT; part++) {
        show_twin(expected, sizeof expected, twin, from, part);
        assert_facts(out, part, expected);
        assert_int_equal(out->duplicates[part], 0);
    }
    const uint64_t *one = (const uint64_t *)report;
    const uint64_t *other = (const uint64_t *)&twin->report;
    for (size_t i = 0; i < sizeof *report / sizeof *one; i++)
        if (one[i] != other[i])
            fail_msg("report, number %zu: expected %ju, found %ju", i, (uintmax_t)other[i],
                     (uintmax_t)one[i]);
}

/* Counts that must agree whatever the steps did. */
static void assert_consistent(const kg_dataset *out, const kg_split_report *r, uint64_t min_facts) {
    uint64_t left = 0;
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        left += out->parts[part].count;
    assert_int_equal(left, r->merged_facts - r->between_unseen - r->lost_facts - r->sparse_facts +
                               r->kept_between);
    assert_int_equal(r->drawn, r->sparse_unseen + r->valid_entities + r->test_entities);
    assert_int_equal(kg__dataset_unseen(out, KG_UNSEEN_VALID), r->valid_entities);
    assert_int_equal(kg__dataset_unseen(out, KG_UNSEEN_TEST), r->test_entities);
    assert_true(r->reflexive <= r->between_unseen && r->drawn <= r->candidates);
    for (kg_part part = KG_UNSEEN_VALID; part <= KG_UNSEEN_TEST; part++)
        for (size_t id = out->entities_before[part]; id < out->entities_before[part + 1]; id++) {
            size_t count = 0;
            for (size_t i = 0; i < out->parts[part].count; i++)
                count += has(out->parts[part].items[i], (kg_id)id);
            assert_true(count >= min_facts);
        }
}

/* Facts over three parts, some of them in several; one in eight is reflexive. */
static void make_random(kg_dataset *dataset, uint64_t *random) {
    char facts[MOST_FACTS * 16];
    size_t used = 0;
    uint64_t entities = 2 + next_below(random, MOST_ENTITIES - 2);
    uint64_t relations = 1 + next_below(random, 40);
    uint64_t count = 1 + next_below(random, MOST_FACTS / 2 - 1);
    for (uint64_t i = 0, part = 0; i < count; i++) {
        if (i > 0 && part < 2 && next_below(random, count / 2 + 1) == 0) {
            facts[used++] = '\n';
            part++;
        }
        uint64_t head = next_below(random, entities);
        uint64_t tail = next_below(random, 8) == 0 ? head : next_below(random, entities);
        uint64_t relation = next_below(random, 1 + next_below(random, relations));
        used += (size_t)snprintf(facts + used, sizeof facts - used, "e%ju r%ju e%ju\n",
                                 (uintmax_t)head, (uintmax_t)relation, (uintmax_t)tail);
    }
    facts[used] = '\0';
    make_dataset(dataset, facts);
}

static struct settings random_settings(uint64_t *random) {
    static const unsigned shares[] = {5, 10, 20, 50, 75, 99};
    static const unsigned valid_shares[] = {0, 25, 50, 100};
    return (struct settings){shares[next_below(random, COUNT_OF(shares))],
                             valid_shares[next_below(random, COUNT_OF(valid_shares))],
                             2 + next_below(random, 3), next_random(random),
                             next_below(random, 2) == 0};
}

/* Splits a random graph, and then what came out once more, so that unseen parts are merged too. */
static void test_like_twin(void **state) {
    (void)state;
    static struct twin twin;
    uint64_t random = 20;
    size_t good = 0;
    size_t lost = 0;
    size_t sparse = 0;
    size_t between = 0;
    for (int round = 0; round < 1500; round++) {
        kg_dataset from;
        make_random(&from, &random);
        for (int again = 0; again < 2; again++) {
            struct settings settings = random_settings(&random);
            kg_split_options options = options_of(settings);
            kg_split_report report;
            kg_error error = {0};
            kg_dataset out;
            run_twin(&twin, &from, settings);
            bool possible = twin.report.valid_entities + twin.report.test_entities > 0;
            assert_ok(kg__dataset_open(&out, &error), &error);
            assert_status(kg__split(&out, &report, &from, &options, &error),
                          possible ? KG_OK : KG_BAD_INPUT, &error);
            if (possible) {
                assert_like_twin(&out, &report, &from, &twin);
                assert_consistent(&out, &report, settings.min_facts);
            }
            kg__dataset_close(&from);
            from = out;
            if (!possible)
                break;
            good++;
            lost += report.lost_entities > 0 && report.lost_relations > 0;
            sparse += report.sparse_unseen > 0;
            between += report.kept_between > 0;
        }
        kg__dataset_close(&from);
    }
    assert_true(good > 500 && lost > 100 && sparse > 100 && between > 100); /* it was worth it */
}

static char *show_all(const kg_dataset *dataset) {
    char *parts[3] = {show_facts(dataset, KG_TRAIN), show_facts(dataset, KG_UNSEEN_VALID),
                      show_facts(dataset, KG_UNSEEN_TEST)};
    size_t room = strlen(parts[0]) + strlen(parts[1]) + strlen(parts[2]) + 3;
    char *all = must_allocate(room, 1);
    snprintf(all, room, "%s|%s|%s", parts[0], parts[1], parts[2]);
    for (int i = 0; i < 3; i++)
        free(parts[i]);
    return all;
}

/* The same seed gives the same, another one something else. */
static void test_function_of_the_seed(void **state) {
    (void)state;
    uint64_t random = 21;
    kg_dataset from;
    do {
        make_random(&from, &random);
        if (from.parts[KG_TRAIN].count > 100)
            break;
        kg__dataset_close(&from);
    } while (true);
    char *shown[4];
    static const uint64_t seeds[] = {1, 1, 2, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(seeds); i++) {
        kg_split_options options = {0.3, 0.5, 2, seeds[i], 0, false, false};
        kg_split_report report;
        kg_dataset out;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&out, &error), &error);
        assert_ok(kg__split(&out, &report, &from, &options, &error), &error);
        shown[i] = show_all(&out);
        kg__dataset_close(&out);
    }
    assert_string_equal(shown[0], shown[1]);
    assert_string_not_equal(shown[0], shown[2]);
    assert_string_not_equal(shown[0], shown[3]);
    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        free(shown[i]);
    kg__dataset_close(&from);
}

static void test_bad_options(void **state) {
    (void)state;
    static const char share[] = "expected a share of unseen entities in (0, 1), found ";
    static const char valid[] = "expected a share for validation in [0, 1], found ";
    static const char facts[] = "expected at least 2 facts of an unseen entity ";
    const struct {
        kg_split_options options;
        const char *expected;
    } cases[] = {
        {{0, 0.5, 2, 1, 0, false, false}, share},
        {{1, 0.5, 2, 1, 0, false, false}, share},
        {{-0.1, 0.5, 2, 1, 0, false, false}, share},
        {{NAN, 0.5, 2, 1, 0, false, false}, share},
        {{INFINITY, 0.5, 2, 1, 0, false, false}, share},
        {{0.2, -0.01, 2, 1, 0, false, false}, valid},
        {{0.2, 1.01, 2, 1, 0, false, false}, valid},
        {{0.2, NAN, 2, 1, 0, false, false}, valid},
        {{0.2, 0.5, 0, 1, 0, false, false}, facts},
        {{0.2, 0.5, 1, 1, 0, false, false}, facts},
    };
    kg_dataset from;
    make_dataset(&from, "a r b\nb r a\n");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset out;
        kg_split_report report;
        kg_error error = {0};
        assert_ok(kg__dataset_open(&out, &error), &error);
        assert_status(kg__split(&out, &report, &from, &cases[i].options, &error), KG_BAD_INPUT,
                      &error);
        assert_memory_equal(error.message, cases[i].expected, strlen(cases[i].expected));
        kg__dataset_close(&out);
    }
    kg__dataset_close(&from);
}

/* A ring of n entities, each with two facts: all are candidates. Taken out is the share that was
 * asked for, rounded down, as people reckon and not as binary fractions do. */
static void test_shares(void **state) {
    (void)state;
    static const struct {
        double share;
        unsigned candidates;
        uint64_t drawn;
    } cases[] = {{0.2, 5, 1},     {0.2, 9, 1},     {0.1, 30, 3},   {0.3, 10, 3},
                 {0.29, 100, 29}, {0.57, 100, 57}, {0.999, 10, 9}, {0.35, 100, 35}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char facts[100 * 16];
        size_t used = 0;
        for (unsigned j = 0; j < cases[i].candidates; j++)
            used += (size_t)snprintf(facts + used, sizeof facts - used, "e%u r e%u\n", j,
                                     (j + 1) % cases[i].candidates);
        kg_dataset from;
        kg_dataset out;
        kg_split_report report = {0};
        kg_split_options options = {cases[i].share, 0.5, 2, 3, 0, false, false};
        make_dataset(&from, facts);
        assert_ok(kg__dataset_open(&out, NULL), NULL);
        (void)!kg__split(&out, &report, &from, &options, NULL); /* may leave nobody: no matter */
        assert_int_equal(report.candidates, cases[i].candidates);
        if (report.drawn != cases[i].drawn)
            fail_msg("%g of %u: expected %ju, found %ju", cases[i].share, cases[i].candidates,
                     (uintmax_t)cases[i].drawn, (uintmax_t)report.drawn);
        kg__dataset_close(&out);
        kg__dataset_close(&from);
    }
}

/* The record holds what was there before, the options and the report. */
static void test_history(void **state) {
    (void)state;
    kg_dataset from;
    kg_dataset out;
    kg_error error = {0};
    make_dataset(&from, "a r b\nb r c\nc r a\na r c\nb r a\nc r b\na s b\nb s c\n");
    json_object_set_new(from.history, "source", json_string("here"));
    assert_ok(kg__dataset_open(&out, &error), &error);
    kg_split_options options = {0.4, 0.5, 2, 42, 0, false, false};
    kg_split_report report;
    assert_ok(kg__split(&out, &report, &from, &options, &error), &error);
    const json_t *split = json_object_get(out.history, "split");
    const json_t *steps = json_object_get(split, "steps");
    assert_string_equal(json_string_value(json_object_get(out.history, "source")), "here");
    assert_null(json_object_get(from.history, "split"));
    assert_int_equal(json_integer_value(json_object_get(split, "seed")), 42);
    assert_int_equal(json_integer_value(json_object_get(split, "min_facts")), 2);
    assert_true(json_real_value(json_object_get(split, "unseen")) == 0.4);
    assert_true(json_real_value(json_object_get(split, "valid_share")) == 0.5);
    static const char *const names[] = {
        "merged_facts", "repeated_facts", "candidates",     "drawn",      "between_unseen",
        "reflexive",    "lost_entities",  "lost_relations", "lost_facts", "sparse_unseen",
        "sparse_facts", "valid_entities", "test_entities"};
    const uint64_t *numbers = (const uint64_t *)&report;
    assert_int_equal(offsetof(kg_split_report, kept_between) / sizeof *numbers, COUNT_OF(names));
    assert_int_equal(json_object_size(steps), COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(json_integer_value(json_object_get(steps, names[i])), numbers[i]);
    kg__dataset_close(&out);
    kg__dataset_close(&from);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_twin),   cmocka_unit_test(test_function_of_the_seed),
        cmocka_unit_test(test_bad_options), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
