/* Paths of propagation against all paths of a small graph, one by one. */
#include <math.h>
#include <string.h>

#include "propagation_world.h"
#include "terms/propagation/propagation_paths.h"

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
    for (size_t o = 0; o < SOME_OPTIONS; o++) {
        propagation_world w;
        open_propagation_world(&w, some_options[o], 30 + o);
        for (kg_id e = 1; e < ENTITIES - 1; e += 7) {
            kg_propagation_query query = query_of(&w, e, 0);
            kg_propagation_pass pass = go_forward(&w, &query);
            for (size_t i = 0; i < pass.count; i += 3)
                check_paths(&pass, i);
        }
        close_propagation_world(&w);
    }
}

/* Paths with the same share, as two entities that differ in nothing give them, are in the order of
 * their links. */
static void test_path_ties(void **state) {
    (void)state;
    static const kg_triple facts[] = {{0, 0, 2}, {0, 0, 1}, {2, 0, 3}, {1, 0, 3}, {3, 1, 4}};
    propagation_world w;
    kg_propagation_options options = some_options[1];
    options.pooling = KG_POOL_SUM;
    open_small_propagation_world(&w, facts, COUNT_OF(facts), options);
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
    close_propagation_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_path_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
