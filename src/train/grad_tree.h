/* The order in which the gradients of a step are summed, which depends on the data alone: the batch
 * is cut into shards, each of which sums what goes to a row in the order of its parts; and these
 * sums are added up by a binary tree. A branch that has nothing for a row is passed over.
 *
 * So threads and processes may share the shards in any way: whoever has all of a branch can send
 * its sum on, and the bits are those of one process.
 *
 * The leaves of the first half of the tree are what parts of the shards leave behind, those of the
 * second half what the shards have for shared negatives. Nodes are numbered as in a heap: the root
 * is 1, the children of n are 2n and 2n + 1. */
#ifndef KG_TRAIN_GRAD_TREE_H
#define KG_TRAIN_GRAD_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "math/real.h"

enum {
    KG_SHARDS = 8, /* a power of two: there may be as many ranks */
    KG_TREE_LEAVES = 2 * KG_SHARDS,
    KG_TREE_DEPTH = 5,                          /* nodes from the root to a leaf, both included */
    KG_MOST_BRANCHES = 2 * (KG_TREE_DEPTH - 1), /* of consecutive leaves */
};

static inline uint8_t kg__parts_leaf(size_t shard) {
    return (uint8_t)(KG_TREE_LEAVES + shard);
}

/* The fewest nodes that have the leaves `from` up to `to` below them, counted from 0, in order.
 * They are KG_MOST_BRANCHES at most; returns how many. */
size_t kg__tree_branches(uint8_t *nodes, size_t from, size_t to);

/* The first leaf below a node, counted from 0, and how many there are. */
size_t kg__tree_first_leaf(size_t node);
size_t kg__tree_leaves(size_t node);

/* Vectors of `columns` numbers, each the sum of a node, or a summand of a leaf. Nodes stand in the
 * order of their leaves, and none is below another. */
typedef struct kg_tree_sum {
    const real *const *vectors;
    const uint8_t *nodes;
    size_t columns;
} kg_tree_sum;

/* The sum of vectors `from` up to `to`, at least one: one of them, or in `scratch`, which has
 * KG_TREE_DEPTH x columns numbers. The next `more` vectors are those that are used next. */
const real *kg__tree_sum(const kg_tree_sum *sum, size_t from, size_t to, size_t more,
                         real *scratch);

#endif
