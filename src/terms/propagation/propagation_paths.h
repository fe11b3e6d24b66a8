/* Paths: along which chains of links the vector of a candidate came about in a pass of
 * propagation.h.
 *
 * What a layer adds to a vector is a relu, so numbers only grow, and a node's vector divides into
 * what it was before and what the layer has added because of the messages that reached it:
 *
 *     stay_l(e) = |h_(l-1)(e)| / (|h_(l-1)(e)| + |h_l(e) - h_(l-1)(e)|)      |x| = sum of |x_k|
 *
 * or 1 if no message reached it, 0 if none did before. The rest divides among the messages by what
 * each brings to the numbers that are pooled, which weigh as much as they are large: one message
 * decides a maximum or minimum, and gets all of it, the first where several tie; other numbers
 * come from all messages, in proportion to |m_k|. (Gradients would tell more of the score, but they
 * have both signs, and do not sum to anything.)
 *
 * Followed back from the candidate these are the probabilities of a walk that ends in the queried
 * entity. The share of a path is the probability that it is the one that is walked, at whatever
 * layers: shares of all paths sum to 1. */
#ifndef KG_TERMS_PROPAGATION_PATHS_H
#define KG_TERMS_PROPAGATION_PATHS_H

#include "terms/propagation/propagation.h"

typedef struct kg_path {
    double share;
    size_t steps;
    kg_link links[KG_PROPAGATION_MOST_LAYERS]; /* the first is one of the queried entity */
} kg_path;

/* The paths to the candidate at a place among pass->entities with the largest shares, the largest
 * first, ties by length and then by links: all that have at least `least`, but at most `most`. It
 * follows at most layers / least ends of paths, and stops after some millions of edges: then
 * others may be larger than the smallest of those found. */
KG_MUST_CHECK kg_status kg__paths_find(kg_path *out, size_t *count, const kg_propagation_pass *pass,
                                       size_t place, size_t most, double least, kg_error *error);

#endif
