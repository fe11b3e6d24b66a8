/* What is held out: entities with enough facts, no hubs, the same for the same seed; and the rest
 * is what can be trained on. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/hold_out.h"

/* A ring of `count` entities, each also linked to a hub. */
static void make_wheel(kg_dataset *out, size_t count) {
    char *facts = must_allocate(count, 64);
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(facts + length, 64, "e%zu next e%zu\ne%zu is hub\n", i,
                                   (i + 1) % count, i);
    make_dataset(out, facts);
    free(facts);
}

static void test_wheel(void **state) {
    (void)state;
    kg_dataset wheel;
    kg_error error = {0};
    make_wheel(&wheel, 200);
    for (uint64_t seed = 0; seed < 20; seed++) {
        kg_held_out held;
        assert_ok(kg__hold_out(&held, &wheel, 0.5, seed, &error), &error);
        const kg_dataset *data = &held.dataset;
        assert_true(held.share == 0.5);
        assert_int_equal(held.entities, kg__dataset_unseen(data, KG_UNSEEN_VALID));
        assert_int_equal(held.facts, data->parts[KG_UNSEEN_VALID].count);
        assert_int_equal(data->parts[KG_UNSEEN_TEST].count, 0);
        assert_true(held.entities > 0 && held.entities <= 100 && held.facts >= 2 * held.entities);
        /* The hub is where it was: half of the facts are with it. */
        assert_true(find_name(&data->entities, "hub") < kg__dataset_in_sample(data));
        kg__held_out_close(&held);
    }
    kg__dataset_close(&wheel);
}

/* What a third of the others are linked to is never held out, few as they are. */
static void test_small_hubs(void **state) {
    (void)state;
    kg_dataset graph;
    kg_error error = {0};
    char facts[60 * 32];
    size_t length = 0;
    for (size_t i = 0; i < 60; i++)
        length += (size_t)snprintf(facts + length, sizeof facts - length,
                                   "e%zu r e%zu\ne%zu s h%zu\n", i, (i + 1) % 60, i, i % 3);
    make_dataset(&graph, facts);
    for (uint64_t seed = 0; seed < 20; seed++) {
        kg_held_out held;
        assert_ok(kg__hold_out(&held, &graph, 0.5, seed, &error), &error);
        assert_true(held.entities > 0);
        static const char *const hubs[] = {"h0", "h1", "h2"};
        for (size_t i = 0; i < COUNT_OF(hubs); i++)
            assert_true(find_name(&held.dataset.entities, hubs[i]) <
                        kg__dataset_in_sample(&held.dataset));
        kg__held_out_close(&held);
    }
    kg__dataset_close(&graph);
}

/* Nor is all that there is of a relation, whichever entities are drawn. */
static void test_rare_relations(void **state) {
    (void)state;
    kg_dataset graph;
    kg_error error = {0};
    char facts[60 * 40] = "e0 rare e1\ne7 self e7\ne1 two e4\ne1 two e5\n";
    size_t length = strlen(facts);
    for (size_t i = 0; i < 60; i++)
        length +=
            (size_t)snprintf(facts + length, sizeof facts - length, "e%zu r e%zu\ne%zu r e%zu\n", i,
                             (i + 1) % 60, i, (i * 7 + 2) % 60);
    make_dataset(&graph, facts);
    for (uint64_t seed = 0; seed < 20; seed++) {
        kg_held_out held;
        assert_ok(kg__hold_out(&held, &graph, 0.4, seed, &error), &error);
        assert_true(held.entities > 0);
        assert_int_equal(held.dataset.in_sample_relations, 4);
        assert_int_equal(held.entities, kg__dataset_unseen(&held.dataset, KG_UNSEEN_VALID));
        kg__held_out_close(&held);
    }
    kg__dataset_close(&graph);
}

static void test_seeds(void **state) {
    (void)state;
    kg_dataset wheel;
    kg_error error = {0};
    kg_held_out held[3];
    make_wheel(&wheel, 100);
    for (size_t i = 0; i < 3; i++)
        assert_ok(kg__hold_out(&held[i], &wheel, 0.3, i / 2, &error), &error);
    char *facts[3];
    for (size_t i = 0; i < 3; i++)
        facts[i] = show_facts(&held[i].dataset, KG_UNSEEN_VALID);
    assert_string_equal(facts[0], facts[1]);
    assert_string_not_equal(facts[0], facts[2]);
    for (size_t i = 0; i < 3; i++) {
        free(facts[i]);
        kg__held_out_close(&held[i]);
    }
    kg__dataset_close(&wheel);
}

/* Of candidates: all but the hub, which are one entity fewer than there are. */
static void test_usual_share(void **state) {
    (void)state;
    static const struct {
        size_t count;
        double share;
    } cases[] = {{70, 0.2}, {400, 0.2}, {999, 0.1}, {1999, 0.05}, {59999, 0.05}, {74999, 0.04}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kg_dataset wheel;
        kg_error error = {0};
        kg_held_out held;
        make_wheel(&wheel, cases[i].count);
        assert_ok(kg__hold_out(&held, &wheel, KG_DEFAULT_HOLD_OUT, 1, &error), &error);
        assert_true(fabs(held.share - cases[i].share) < 1e-12);
        assert_true(held.entities > 0);
        kg__held_out_close(&held);
        kg__dataset_close(&wheel);
    }
}

/* With fewer than 30 facts to ask for, none are held out, whatever the share. */
static void test_few_queries(void **state) {
    (void)state;
    size_t held_graphs = 0;
    for (size_t count = 5; count < 80; count++) {
        kg_dataset wheel;
        kg_error error = {0};
        kg_held_out held;
        make_wheel(&wheel, count);
        assert_ok(
            kg__hold_out(&held, &wheel, count % 2 == 0 ? 0.2 : KG_DEFAULT_HOLD_OUT, count, &error),
            &error);
        assert_true(held.share > 0 ? held.facts >= 30 : held.facts == 0);
        held_graphs += held.share > 0;
        kg__held_out_close(&held);
        kg__dataset_close(&wheel);
    }
    assert_true(held_graphs > 10 && held_graphs < 50);
}

/* Nothing to spare: too few entities, none with two facts, or nothing left to train on. */
static void test_small_graphs(void **state) {
    (void)state;
    static const char *const graphs[] = {
        "a r b\n",
        "a r b\nb r c\nc r a\n",
        "a r a\nb r b\nc r c\nd r d\ne r e\nf r f\n",
        "a r b\nc r d\ne r f\ng r h\ni r j\nk r l\n",
        "x r a\nx r c\nx r e\nx r g\na s b\nc s d\ne s f\ng s h\n",
    };
    static const double shares[] = {KG_DEFAULT_HOLD_OUT, 0.2, 0.99};
    for (size_t i = 0; i < COUNT_OF(graphs); i++)
        for (size_t k = 0; k < COUNT_OF(shares) * 5; k++) {
            kg_dataset graph;
            kg_error error = {0};
            kg_held_out held;
            make_dataset(&graph, graphs[i]);
            assert_ok(kg__hold_out(&held, &graph, shares[k % 3], k, &error), &error);
            assert_true(held.share == 0 && held.entities == 0 && held.facts == 0);
            kg__held_out_close(&held);
            kg__dataset_close(&graph);
        }
}

static void test_refusals(void **state) {
    (void)state;
    static const double shares[] = {1, 2, -0.5, NAN, INFINITY};
    kg_dataset graph;
    kg_held_out held;
    make_dataset(&graph, "a r b\nb r c\nc r a\n\na r c\n");
    for (size_t i = 0; i < COUNT_OF(shares); i++) {
        kg_error error = {0};
        assert_status(kg__hold_out(&held, &graph, shares[i], 0, &error), KG_BAD_INPUT, &error);
    }
    kg_error error = {0};
    assert_true(kg__has_validation(&graph));
    assert_status(kg__hold_out(&held, &graph, 0.1, 0, &error), KG_BAD_INPUT, &error);
    assert_ok(kg__hold_out(&held, &graph, KG_DEFAULT_HOLD_OUT, 0, &error), &error);
    assert_true(held.share == 0);
    kg__dataset_close(&graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wheel),          cmocka_unit_test(test_small_hubs),
        cmocka_unit_test(test_rare_relations), cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_usual_share),    cmocka_unit_test(test_few_queries),
        cmocka_unit_test(test_small_graphs),   cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
