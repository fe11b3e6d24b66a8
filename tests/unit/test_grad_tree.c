/* The tree that gradients are summed by: every way of sharing its leaves comes to the same bits,
 * which are those of a plain recursion over all of them. */
#include "train/grad_tree.h"

#include <string.h>

#include "support.h"

#define COLUMNS 3
#define MOST_VECTORS (4 * KG_TREE_LEAVES)

/* What goes to a row: some vectors for some leaves. */
struct world {
    real values[MOST_VECTORS][COLUMNS];
    const real *vectors[MOST_VECTORS];
    uint8_t nodes[MOST_VECTORS];
    size_t count;
};

static void make_world(struct world *w, uint64_t *random) {
    w->count = 0;
    for (size_t leaf = 0; leaf < KG_TREE_LEAVES; leaf++)
        for (uint64_t i = next_below(random, 5); i > 1; i--) {
            for (size_t k = 0; k < COLUMNS; k++)
                w->values[w->count][k] = (real)next_below(random, 1 << 20) / (real)7;
            w->vectors[w->count] = w->values[w->count];
            w->nodes[w->count++] = (uint8_t)(KG_TREE_LEAVES + leaf);
        }
}

/* By the words of the header; false if there is nothing below the node. */
static bool plain_sum(const struct world *w, size_t node, real *out) {
    bool is_there = false;
    if (node >= KG_TREE_LEAVES) {
        for (size_t i = 0; i < w->count; i++) {
            if (w->nodes[i] != node)
                continue;
            for (size_t k = 0; k < COLUMNS; k++)
                out[k] = is_there ? out[k] + w->values[i][k] : w->values[i][k];
            is_there = true;
        }
        return is_there;
    }
    real right[COLUMNS];
    bool has_left = plain_sum(w, 2 * node, out);
    bool has_right = plain_sum(w, 2 * node + 1, right);
    for (size_t k = 0; k < COLUMNS && has_right; k++)
        out[k] = has_left ? out[k] + right[k] : right[k];
    return has_left || has_right;
}

/* Sums the branches of `parties` that share the leaves, and these to one, as ranks do. */
static void shared_sum(const struct world *w, size_t parties, real *out) {
    real sums[KG_TREE_LEAVES][COLUMNS];
    const real *vectors[KG_TREE_LEAVES];
    uint8_t nodes[KG_TREE_LEAVES];
    real scratch[KG_TREE_DEPTH * COLUMNS];
    size_t count = 0;
    size_t at = 0;
    for (size_t party = 0; party < parties; party++) {
        uint8_t branches[KG_MOST_BRANCHES];
        size_t branch_count = kg__tree_branches(branches, party * KG_TREE_LEAVES / parties,
                                                (party + 1) * KG_TREE_LEAVES / parties);
        assert_true(branch_count <= KG_MOST_BRANCHES);
        for (size_t i = 0; i < branch_count; i++) {
            size_t from = at;
            size_t end = kg__tree_first_leaf(branches[i]) + kg__tree_leaves(branches[i]);
            while (at < w->count && w->nodes[at] < KG_TREE_LEAVES + end)
                at++;
            if (from == at)
                continue;
            kg_tree_sum sum = {w->vectors, w->nodes, COLUMNS};
            memcpy(sums[count], kg__tree_sum(&sum, from, at, w->count - at, scratch),
                   sizeof sums[count]);
            vectors[count] = sums[count];
            nodes[count++] = branches[i];
        }
    }
    assert_int_equal(at, w->count);
    kg_tree_sum sum = {vectors, nodes, COLUMNS};
    memcpy(out, kg__tree_sum(&sum, 0, count, 0, scratch), COLUMNS * sizeof *out);
}

static void test_any_sharing(void **state) {
    (void)state;
    uint64_t random = 1;
    size_t checked = 0;
    for (size_t i = 0; i < 200; i++) {
        struct world w;
        real expected[COLUMNS];
        make_world(&w, &random);
        if (!plain_sum(&w, 1, expected))
            continue;
        for (size_t parties = 1; parties <= KG_TREE_LEAVES; parties++, checked++) {
            real found[COLUMNS];
            shared_sum(&w, parties, found);
            assert_memory_equal(found, expected, sizeof found);
        }
    }
    assert_true(checked > 1000);
}

/* Branches are whole, in order, without gaps, and as few as can be. */
static void test_branches(void **state) {
    (void)state;
    for (size_t from = 0; from <= KG_TREE_LEAVES; from++)
        for (size_t to = from; to <= KG_TREE_LEAVES; to++) {
            uint8_t nodes[KG_TREE_LEAVES];
            size_t count = kg__tree_branches(nodes, from, to);
            size_t at = from;
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(kg__tree_first_leaf(nodes[i]), at);
                at += kg__tree_leaves(nodes[i]);
                bool is_pair = i > 0 && nodes[i] % 2 == 1 && nodes[i] == nodes[i - 1] + 1;
                assert_false(is_pair);
            }
            assert_int_equal(at, to);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_sharing),
        cmocka_unit_test(test_branches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
