/* What the propagation term is made of: its options, a rule that chooses them from the counts of a
 * graph, and the table of its tensors. */
#ifndef KG_TERMS_PROPAGATION_OPTIONS_H
#define KG_TERMS_PROPAGATION_OPTIONS_H

#include <stddef.h>

#include "base/json.h"

#define KG_PROPAGATION_MOST_LAYERS 8
#define KG_PROPAGATION_MOST_WIDTH 1024
#define KG_PROPAGATION_MOST_NODES (1 << 24) /* sources, and sampled ones */
#define KG_PROPAGATION_MOST_RANK 64

/* For an entity with more links than `sources` a layer expands as many nodes as these, but at most
 * so many times `sources`. */
#define KG_PROPAGATION_HUB_SOURCES 5

/* Up to so many directed relations are few: each pair of them may have parameters of its own. */
#define KG_FEW_RELATIONS 64

/* How the messages that reach a node are pooled, number by number: a set of these. Of messages m,
 * c in number, that reach a node with `degree` links. */
typedef enum kg_pooling {
    KG_POOL_SUM = 1, /* sum(m) log(1 + c) / c */
    KG_POOL_MAX = 2,
    KG_POOL_SHARE = 4, /* sum(m) / (1 + degree) */
    KG_POOL_MIN = 8,
    KG_POOL_SPREAD = 16, /* standard deviation */
} kg_pooling;
#define KG_POOLINGS 5

typedef struct kg_propagation_options {
    size_t layers;
    size_t width;     /* numbers of a node's vector: a multiple of KG_LANES */
    size_t sources;   /* nodes that a layer expands at most; more for hubs */
    size_t edges;     /* along at most so many edges, unless the queried entity has more */
    unsigned pooling; /* a set of kg_pooling */
    size_t rank;      /* of relation weights by query; 0: each pair of relations has its own */
    size_t profiles;  /* whether nodes start from their profiles: 0 or 1 */
    size_t sampled;   /* nodes of the last layer that training computes, about */
    double weight;    /* of the term's scores beside those of others */
    double dropped;   /* share of the graph's facts that training leaves out of a query at most */
    double echoes;    /* share of the echoes among its queries that training asks */
} kg_propagation_options;

extern const char *const kg__pooling_names[]; /* in the order of their bits, ended by NULL */

/* In place of a rank that is given. */
#define KG_EACH_PAIR ((size_t)INT64_MAX)

/* Options for a graph of that many directed relations, entities and facts. */
kg_propagation_options kg__propagation_choose(size_t directed_count, size_t entity_count,
                                              size_t fact_count);

/* Those that were given, and for what is 0 there those of the rule. */
kg_propagation_options kg__propagation_complete(const kg_propagation_options *given,
                                                size_t directed_count, size_t entity_count,
                                                size_t fact_count);

KG_MUST_CHECK kg_status kg__propagation_check(const kg_propagation_options *options,
                                              kg_error *error);

/* How many ways of pooling are on. */
size_t kg__propagation_poolings(const kg_propagation_options *options);

/* As config.json has them: an object, NULL if memory is short; and back, checked. */
json_t *kg__propagation_json(const kg_propagation_options *options);
KG_MUST_CHECK kg_status kg__propagation_read(kg_propagation_options *out, const json_t *from,
                                             const char *path, kg_error *error);

/* ---- Tensors ---- */

/* q is the queried directed relation, r that of an edge, l the layer. */
typedef enum kg_propagation_tensor {
    KG_PROPAGATION_START,        /* q: the vector of the queried entity */
    KG_PROPAGATION_RELATIONS,    /* l, r: weights of messages */
    KG_PROPAGATION_PAIRS,        /* l, q: added to them, for each r; if rank is 0 */
    KG_PROPAGATION_FACTORS,      /* l, r: what is added in place of it, for each factor of q */
    KG_PROPAGATION_MIX,          /* q: factors */
    KG_PROPAGATION_GATE,         /* l */
    KG_PROPAGATION_GATE_BIAS,    /* l, q */
    KG_PROPAGATION_UPDATE,       /* l: inputs (vector before, each pooling) x outputs */
    KG_PROPAGATION_UPDATE_BIAS,  /* l */
    KG_PROPAGATION_NODE_PROFILE, /* r: by how many facts of it a node has that is reached first */
    KG_PROPAGATION_HIDDEN,       /* inputs x outputs */
    KG_PROPAGATION_HIDDEN_BIAS,  /* q */
    KG_PROPAGATION_PROFILE,      /* r: by how many facts of it a candidate has */
    KG_PROPAGATION_OUTPUT,
    KG_PROPAGATION_DEGREE,    /* q: prior by class of degree */
    KG_PROPAGATION_UNREACHED, /* q: score of what is not reached */
    KG_PROPAGATION_TENSORS,
} kg_propagation_tensor;

/* Rows that depend on a relation are sparse in gradients; tensors that are always used whole have a
 * row for each layer. It starts uniform within `bound` of 0. */
typedef struct kg_propagation_shape {
    const char *name; /* in files */
    size_t rows;      /* 0: these options have no such tensor */
    size_t columns;
    double bound;
} kg_propagation_shape;

kg_propagation_shape kg__propagation_shape(const kg_propagation_options *options,
                                           size_t directed_count, kg_propagation_tensor tensor);

#endif
