/* Propagation against its plain twin: scores; what is left out; the same bits however a pass is
 * made; options. */
#include "propagation_twin.h"

#ifdef KG_DOUBLE
#define EXACT 1e-9
#else
#define EXACT 2e-4
#endif

/* ---- Scores ---- */

static void check_scores(propagation_world *w, const kg_propagation_query *query) {
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
    for (size_t o = 0; o < SOME_OPTIONS; o++) {
        propagation_world w;
        open_propagation_world(&w, some_options[o], 7 + o);
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
        close_propagation_world(&w);
    }
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
static void leave_entity(propagation_world *without, const propagation_world *w, kg_id entity) {
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
    for (size_t o = 0; o < SOME_OPTIONS; o++) {
        propagation_world w;
        propagation_world without;
        open_propagation_world(&w, some_options[o], 20 + o);
        open_propagation_world(&without, some_options[o], 20 + o);
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
                fresh.queried = query.queried = query.links[i % 2 == 0 ? i : absent].directed;
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
        close_propagation_world(&w);
        close_propagation_world(&without);
    }
}

/* Whatever was computed before. */
static void test_repeated(void **state) {
    (void)state;
    propagation_world w;
    propagation_world other;
    open_propagation_world(&w, some_options[0], 5);
    open_propagation_world(&other, some_options[0], 5);
    for (kg_id e = 0; e < ENTITIES - 1; e++) {
        kg_propagation_query query = query_of(&w, e, 0);
        kg_propagation_query again = query_of(&other, ENTITIES - 2 - e, 0);
        go_forward(&other, &again);
        kg_propagation_pass a = go_forward(&w, &query);
        kg_propagation_pass b = go_forward(&other, &query);
        assert_same(&a, &b);
    }
    close_propagation_world(&w);
    close_propagation_world(&other);
}

static void check_kept(propagation_world *w, propagation_world *alone, kg_propagation_query query) {
    kg_propagation_pass fresh = go_forward(alone, &query);
    query.is_repeated = true;
    kg_propagation_pass pass = go_forward(w, &query);
    assert_same(&pass, &fresh);
    assert_int_equal(pass.node_count, fresh.node_count);
    assert_int_equal(pass.edge_count, fresh.edge_count);
    assert_int_equal(w->worker.kept.count > 0, w->model.options.layers > 1 && query.link_count > 0);
}

/* What is kept for queries about the same links is what they compute alone: of entities of the
 * graph, and of new ones whose links change in place, between queries that leave a fact out. */
static void test_kept(void **state) {
    (void)state;
    for (size_t o = 0; o < SOME_OPTIONS; o++) {
        propagation_world w;
        propagation_world alone;
        open_propagation_world(&w, some_options[o], 9 + o);
        open_propagation_world(&alone, some_options[o], 9 + o);
        for (kg_id e = 0; e < ENTITIES; e++) {
            kg_link given[] = {{0, e}, {2, (e + 3) % ENTITIES}};
            kg_propagation_query new = new_query(given, COUNT_OF(given), SIZE_MAX);
            kg_propagation_query query = query_of(&w, e, 0);
            query.left_out = SIZE_MAX;
            for (kg_directed r = 0; r < DIRECTED; r++) {
                query.queried = new.queried = r;
                check_kept(&w, &alone, query);
            }
            for (kg_directed r = 0; r < DIRECTED; r++) {
                given[1].directed = 2 + r / 3;
                new.queried = r;
                new.link_count = 1 + (r / 2) % 2;
                check_kept(&w, &alone, new);
            }
            new.left_out = 0;
            kg_propagation_pass pass = go_forward(&w, &new);
            kg_propagation_pass fresh = go_forward(&alone, &new);
            assert_same(&pass, &fresh);
            assert_int_equal(w.worker.kept.count, 0);
        }
        close_propagation_world(&w);
        close_propagation_world(&alone);
    }
}

/* What a worker keeps of profiles is of the tensors as they are. */
static void test_changed(void **state) {
    (void)state;
    const kg_propagation_tensor changed[] = {KG_PROPAGATION_NODE_PROFILE, KG_PROPAGATION_PROFILE};
    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        propagation_world w;
        open_propagation_world(&w, some_options[0], 5);
        kg_propagation_query query = query_of(&w, 0, 0);
        go_forward(&w, &query);
        w.values[changed[i]][WIDTH + 3] += 1;
        w.precise[changed[i]][WIDTH + 3] += 1;
        check_scores(&w, &query);
        close_propagation_world(&w);
    }
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
        cmocka_unit_test(test_scores),   cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_repeated), cmocka_unit_test(test_kept),
        cmocka_unit_test(test_changed),  cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
