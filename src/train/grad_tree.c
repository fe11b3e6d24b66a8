/* Sums by the tree: a branch that has one vector only is that vector. */
#include "train/grad_tree.h"

#include <string.h>

#include "math/vector.h"

_Static_assert(1 << (KG_TREE_DEPTH - 1) == KG_TREE_LEAVES, "the depth of the tree");

size_t kg__tree_first_leaf(size_t node) {
    while (node < KG_TREE_LEAVES)
        node *= 2;
    return node - KG_TREE_LEAVES;
}

size_t kg__tree_leaves(size_t node) {
    size_t out = 1;
    for (; node < KG_TREE_LEAVES; node *= 2)
        out *= 2;
    return out;
}

size_t kg__tree_branches(uint8_t *nodes, size_t from, size_t to) {
    size_t count = 0;
    while (from < to) {
        size_t node = KG_TREE_LEAVES + from;
        while (node % 2 == 0 && from + kg__tree_leaves(node / 2) <= to)
            node /= 2;
        nodes[count++] = (uint8_t)node;
        from += kg__tree_leaves(node);
    }
    return count;
}

#define AHEAD 8 /* vectors */

/* Vectors are anywhere in a large table, and which comes next the processor cannot foresee. */
static void fetch_ahead(const kg_tree_sum *sum, size_t from, size_t more) {
    if (more >= AHEAD)
        kg__fetch(sum->vectors[from + AHEAD], sum->columns);
}

/* Where what is below the right child begins. */
static size_t find_middle(const kg_tree_sum *sum, size_t node, size_t from, size_t to) {
    size_t border = kg__tree_first_leaf(2 * node + 1);
    while (from < to && kg__tree_first_leaf(sum->nodes[from]) < border)
        from++;
    return from;
}

static const real *sum_leaf(const kg_tree_sum *sum, size_t from, size_t to, size_t more,
                            real *scratch) {
    fetch_ahead(sum, from, to - from - 1 + more);
    memcpy(scratch, sum->vectors[from], sum->columns * sizeof *scratch);
    kg__add_rows(scratch, sum->vectors + from + 1, to - from - 1, more, sum->columns);
    return scratch;
}

const real *kg__tree_sum(const kg_tree_sum *sum, size_t node, size_t from, size_t to, size_t more,
                         real *scratch) {
    if (to - from == 1) {
        fetch_ahead(sum, from, more);
        return sum->vectors[from];
    }
    if (node >= KG_TREE_LEAVES)
        return sum_leaf(sum, from, to, more, scratch);
    size_t middle = find_middle(sum, node, from, to);
    if (middle == to)
        return kg__tree_sum(sum, 2 * node, from, to, more, scratch);
    if (middle == from)
        return kg__tree_sum(sum, 2 * node + 1, from, to, more, scratch);
    const real *left = kg__tree_sum(sum, 2 * node, from, middle, to - middle + more, scratch);
    const real *right = kg__tree_sum(sum, 2 * node + 1, middle, to, more, scratch + sum->columns);
    kg__add(scratch, left, right, sum->columns);
    return scratch;
}
