/* Sums by the tree, from left to right: a branch that has one vector only is that vector. */
#include "train/grad_tree.h"

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

/* The sum of what one node has: a vector itself, or in `scratch`. */
static const real *sum_node(const kg_tree_sum *sum, size_t from, size_t to, size_t more,
                            real *scratch) {
    const real *const *vectors = sum->vectors + from;
    size_t count = to - from;
    fetch_ahead(sum, from, count - 1 + more);
    if (count == 1)
        return vectors[0];
    fetch_ahead(sum, from + 1, count - 2 + more);
    kg__add(scratch, vectors[0], vectors[1], sum->columns);
    kg__add_rows(scratch, vectors + 2, count - 2, more, sum->columns);
    return scratch;
}

/* How far above the leaves two nodes have a branch in common, neither being below the other. */
static unsigned common_height(size_t a, size_t b) {
    return 32U -
           (unsigned)__builtin_clz((unsigned)(kg__tree_first_leaf(a) ^ kg__tree_first_leaf(b)));
}

/* Sums whose common branch still misses something, from left to right; each with the height at
 * which it joins the one before it. What lies further right joins higher. */
struct open_sums {
    const real *vectors[KG_TREE_DEPTH];
    unsigned heights[KG_TREE_DEPTH];
    size_t count;
};

/* Adds up those that join below a height. */
static void join(struct open_sums *open, unsigned height, size_t columns, real *scratch) {
    while (open->count > 1 && open->heights[open->count - 1] < height) {
        size_t left = --open->count - 1;
        kg__add(scratch + left * columns, open->vectors[left], open->vectors[left + 1], columns);
        open->vectors[left] = scratch + left * columns;
    }
}

const real *kg__tree_sum(const kg_tree_sum *sum, size_t from, size_t to, size_t more,
                         real *scratch) {
    struct open_sums open = {.count = 0};
    for (size_t next = from; from < to; from = next) {
        while (next < to && sum->nodes[next] == sum->nodes[from])
            next++;
        unsigned height = KG_TREE_DEPTH;
        if (open.count > 0)
            height = common_height(sum->nodes[from - 1], sum->nodes[from]);
        join(&open, height, sum->columns, scratch);
        open.vectors[open.count] =
            sum_node(sum, from, next, to - next + more, scratch + open.count * sum->columns);
        open.heights[open.count++] = height;
    }
    join(&open, KG_TREE_DEPTH, sum->columns, scratch);
    return open.vectors[0];
}
