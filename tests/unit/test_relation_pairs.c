/* Pairs of directed relations against a count over all facts; and on disk, where rows may be
 * anything. */
#include "model/relation_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "support.h"

#define ENTITIES 30
#define RELATIONS 6
#define DIRECTED (2 * RELATIONS)
#define FACTS 160

typedef struct world {
    kg_triples facts;
    kg_adjacency graph;
} world;

/* Relation 1 often repeats relation 0, the other way round. */
static void open_world(world *w) {
    uint64_t state = 11;
    size_t dropped = 0;
    *w = (world){0};
    for (size_t i = 0; i < FACTS; i++) {
        kg_triple fact = {(kg_id)next_below(&state, ENTITIES), (kg_id)next_below(&state, RELATIONS),
                          (kg_id)next_below(&state, ENTITIES)};
        assert_ok(kg__triples_push(&w->facts, fact, NULL), NULL);
        if (fact.relation == 0 && i % 3 > 0)
            assert_ok(kg__triples_push(&w->facts, (kg_triple){fact.tail, 1, fact.head}, NULL),
                      NULL);
    }
    assert_ok(kg__triples_unique(&w->facts, &dropped, NULL), NULL);
    assert_ok(kg__adjacency_make(&w->graph, &w->facts, ENTITIES, KG_WITHOUT_REFLEXIVE, NULL), NULL);
}

static void close_world(world *w) {
    kg__triples_free(&w->facts);
    kg__adjacency_free(&w->graph);
}

static bool has(const world *w, kg_id v, kg_directed directed, kg_id u) {
    bool is_head = kg_directed_end(directed) == KG_HEAD;
    for (size_t i = 0; i < w->facts.count; i++) {
        kg_triple f = w->facts.items[i];
        if (f.relation == directed / 2 && v != u && f.head == (is_head ? v : u) &&
            f.tail == (is_head ? u : v))
            return true;
    }
    return false;
}

static size_t degree(const world *w, kg_id v, kg_directed directed) {
    size_t count = 0;
    for (kg_id u = 0; u < ENTITIES; u++)
        count += has(w, v, directed, u);
    return count;
}

static bool occurs(const world *w, kg_directed asked, kg_directed given) {
    for (kg_id v = 0; v < ENTITIES; v++)
        if (degree(w, v, asked) > (asked == given) && degree(w, v, given) > 0)
            return true;
    return false;
}

static bool echoes(const world *w, kg_directed asked, kg_directed given, size_t times,
                   double share) {
    size_t echoed = 0;
    size_t facts = 0;
    for (kg_id v = 0; v < ENTITIES; v++) {
        if (degree(w, v, asked) == 0)
            continue;
        facts += degree(w, v, given);
        for (kg_id u = 0; u < ENTITIES; u++)
            echoed += has(w, v, asked, u) && has(w, v, given, u);
    }
    return asked != given && echoed >= times && (double)echoed > share * (double)facts;
}

static void test_pairs_that_occur(void **state) {
    (void)state;
    world w;
    kg_pairs pairs;
    open_world(&w);
    assert_ok(kg__pairs_make(&pairs, &w.graph, DIRECTED, NULL), NULL);
    size_t found = 0;
    for (kg_directed asked = 0; asked < DIRECTED; asked++)
        for (kg_directed given = 0; given < DIRECTED; given++) {
            uint32_t number = kg__pairs_find(&pairs, asked, given);
            assert_int_equal(number != KG_NO_PAIR, occurs(&w, asked, given));
            if (number != KG_NO_PAIR)
                assert_int_equal(number, found++); /* in order, without gaps */
        }
    assert_int_equal(pairs.count, found);
    assert_int_equal(kg__pairs_find(&pairs, DIRECTED, 0), KG_NO_PAIR);
    kg__pairs_free(&pairs);
    close_world(&w);
}

static void test_pairs_that_echo(void **state) {
    (void)state;
    world w;
    open_world(&w);
    size_t kept = 0;
    for (uint32_t times = 1; times < 6; times += 2)
        for (double share = 0; share < 0.3; share += 0.07) {
            kg_pairs pairs;
            assert_ok(kg__pairs_make_echoes(&pairs, &w.graph, DIRECTED, times, share, NULL), NULL);
            for (kg_directed asked = 0; asked < DIRECTED; asked++)
                for (kg_directed given = 0; given < DIRECTED; given++)
                    assert_int_equal(kg__pairs_find(&pairs, asked, given) != KG_NO_PAIR,
                                     echoes(&w, asked, given, times, share));
            kept += pairs.count;
            kg__pairs_free(&pairs);
        }
    assert_true(kept > 20);
    close_world(&w);
}

/* ---- On disk ---- */

static void test_rows(void **state) {
    (void)state;
    world w;
    kg_pairs pairs;
    kg_pairs again;
    real *values = NULL;
    open_world(&w);
    assert_ok(kg__pairs_make(&pairs, &w.graph, DIRECTED, NULL), NULL);
    real *old = must_allocate(pairs.count, sizeof *old);
    kg_arena arena = {0};
    kg_tensor tensor;
    for (size_t i = 0; i < pairs.count; i++)
        old[i] = (real)i / 3;
    assert_ok(kg__pairs_pack(&tensor, "weights", &pairs, old, &arena, NULL), NULL);
    assert_ok(kg__pairs_unpack(&again, &values, &tensor, DIRECTED, "m", NULL), NULL);
    assert_int_equal(again.count, pairs.count);
    assert_memory_equal(again.starts, pairs.starts, (DIRECTED + 1) * sizeof *pairs.starts);
    assert_memory_equal(again.given, pairs.given, pairs.count * sizeof *pairs.given);
    assert_memory_equal(values, old, pairs.count * sizeof *old);
    kg__pairs_free(&pairs);
    kg__pairs_free(&again);
    free(old);
    kg__arena_free(&arena);
    kg__free(values);
    close_world(&w);
}

static void test_rows_that_are_none(void **state) {
    (void)state;
    static const real good[] = {0, 1, 7, 2, 0, 7};
    static const struct {
        size_t place;
        double value;
    } wrong[] = {{0, -1}, {0, 4}, {0, 0.5}, {0, NAN}, {1, INFINITY}, {0, 2}, {3, 0}, {2, NAN}};
    kg_pairs pairs;
    real *values = NULL;
    kg_tensor tensor = {.name = "echoes", .values = good, .rows = 2, .columns = KG_PAIR_COLUMNS};
    assert_ok(kg__pairs_unpack(&pairs, &values, &tensor, 4, "m", NULL), NULL);
    kg__pairs_free(&pairs);
    kg__free(values);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        kg_error error = {0};
        real rows[COUNT_OF(good)];
        memcpy(rows, good, sizeof rows);
        rows[wrong[i].place] = (real)wrong[i].value;
        if (wrong[i].place == 3)
            rows[4] = 1; /* the first pair again */
        if (wrong[i].place == 0 && wrong[i].value == 2)
            rows[1] = 3; /* behind the second pair */
        tensor.values = rows;
        assert_int_equal(kg__pairs_unpack(&pairs, &values, &tensor, 4, "m", &error), KG_BAD_INPUT);
        assert_non_null(strstr(error.message, "echoes"));
    }
    tensor.columns = 2;
    assert_int_equal(kg__pairs_unpack(&pairs, &values, &tensor, 4, "m", NULL), KG_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_that_occur),
        cmocka_unit_test(test_pairs_that_echo),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
