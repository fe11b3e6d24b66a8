/* Learned propagation from the queried entity over the graph, conditioned on the query (NBFNet, Zhu
 * et al. 2021; RED-GNN, Zhang and Yao 2022; AdaProp, Zhang et al. 2023). It has no vector of any
 * entity, only of relations, so it works for any entity of any graph with known relations.
 *
 * Of a query (v, q), where the queried fact is left out and no edge leads back into v:
 *
 *     h_0(v)   = start[q]; nothing else is reached
 *     g(s)     = sigmoid(gate_l . h_(l-1)(s) + gate_bias_l[q])   the best `sources` are expanded
 *     m        = g(s) h_(l-1)(s) * w_l[q,r]                      along each edge s -r-> e
 *     w_l[q,r] = relations_l[r] + pairs_l[q][r], or + sum_j mix[q]_j factors_l[r]_j
 *     h_l(e)   = h_(l-1)(e) + relu(normalise(update_l [h_(l-1)(e); pooled m] + update_bias_l
 *                + sum_r node_profile[r] log(1 + n_r(e)), if e was not reached before))
 *     score(e) = output . relu(hidden h_L(e) + hidden_bias[q] + sum_r profile[r] log(1 + n_r(e)))
 *                + degree[q][class of n_q(e)]
 *
 * and unreached[q] + degree[q][class of n_q(e)] for all that is not reached; n_r(e) is the number
 * of facts of r that e has in the graph, those with v left out, used or not. Nodes are numbered as
 * they are reached, v being 0, so those of a layer are the first of the next.
 *
 * A pass is computed by one thread, in memory of its own, and always with the same bits. */
#ifndef KG_TERMS_PROPAGATION_H
#define KG_TERMS_PROPAGATION_H

#include "base/arena.h"
#include "math/real.h"
#include "model/sparse_grads.h"
#include "terms/propagation/entity_profiles.h"
#include "terms/propagation/propagation_options.h"
#include "terms/propagation/relation_degrees.h"

/* What is learned: views of its tensors. */
typedef struct kg_propagation {
    kg_propagation_options options;
    size_t directed_count;
    const real *tensors[KG_PROPAGATION_TENSORS]; /* NULL where a shape has no rows */
    size_t params[KG_PROPAGATION_TENSORS];       /* their numbers in kg_grads */
} kg_propagation;

typedef struct kg_propagation_query {
    kg_id entity;         /* KG_NO_ID if it is not in the graph */
    const kg_link *links; /* of the entity, sorted, to entities of the graph */
    size_t link_count;
    kg_directed queried;
    size_t left_out;  /* position of a fact that is not used among the links, such as the queried
                       * one; SIZE_MAX: all are */
    bool is_repeated; /* others about the same links follow: what all have alike is kept for them
                       * (kept_layers.h), so that the pass lasts until the worker's next one */

    /* Training: only about `options.sampled` nodes are scored, and those wanted. */
    bool is_sampled;
    uint64_t random;     /* of the query: decides which */
    double dropped;      /* share of the graph's facts that are left out */
    const kg_id *wanted; /* entities that are scored, if they are reached */
    size_t wanted_count;
} kg_propagation_query;

#define KG_PROPAGATION_SMALL ((real)1e-5) /* what variances are kept above */
#define KG_PROPAGATION_SCALES 64
#define KG_NO_NODE UINT32_MAX

/* A layer as it was computed. Its rows are the nodes that are computed: all, or, of the last layer,
 * those that are scored. Rows that were nodes before are the first. */
typedef struct kg_propagation_layer {
    size_t before;     /* nodes of the layer before */
    const real *input; /* before x width: their vectors */
    size_t row_count;
    size_t old_count;      /* rows that were nodes before */
    const uint32_t *nodes; /* of each row; NULL: row i is node i */
    real *output;          /* rows x width: vectors */

    size_t source_count;
    uint32_t *sources; /* nodes */
    real *gates;       /* of each */
    real *gated;       /* sources x width: vectors times gates */
    real *relations;   /* directed_count x width: w_l[q,.], of those that messages have */

    /* Messages: one for each source and directed relation that it has links of. */
    size_t message_count;
    uint32_t *message_sources;
    kg_directed *message_relations;
    real *messages; /* x width */

    /* Sets of messages: those of set i are edges[starts[i]] up to edges[starts[i + 1]]; set 0 is
     * empty. Each is pooled once, whatever the number of rows that it reaches. */
    size_t set_count;
    uint32_t *starts;
    uint32_t *edges;
    real *sum_scales;   /* of each set of c messages: log(1 + c) / c */
    real *updates;      /* x width: what the update makes of what is pooled, but of shares */
    real *share_sums;   /* x width: what it makes of sums, which rows multiply with their shares */
    uint32_t *row_sets; /* of each row */
    real *shares;       /* of each row: 1 / (1 + degree); NULL if they are not needed */
} kg_propagation_layer;

/* Links of the queried entity v in the graph, by the other end. */
typedef struct kg_linked_nodes {
    size_t neighbours;            /* nodes below are v and its neighbours */
    uint32_t *starts;             /* neighbours + 1: links with v, if it is in the graph */
    kg_directed *relations;       /* of each, seen from the neighbour */
    size_t apart_count;           /* links that v has in the graph, but that are not used, */
    kg_id *apart;                 /* with entities that are no neighbours, by id */
    kg_directed *apart_relations; /* of each, seen from there */
} kg_linked_nodes;

/* The first layers of a query that is repeated, without their numbers (kept_layers.h). */
typedef struct kg_kept_layers {
    kg_arena arena;
    kg_id entity;
    kg_link *links; /* of the query; NULL: nothing is kept */
    size_t link_count;
    size_t count;      /* of the layers, */
    size_t node_count; /* and of the nodes that they reach, which the worker has */
    kg_linked_nodes linked;
    kg_propagation_layer layers[KG_PROPAGATION_MOST_LAYERS];
    size_t edge_counts[KG_PROPAGATION_MOST_LAYERS]; /* up to each */
} kg_kept_layers;

/* Memory of a thread, between passes. */
typedef struct kg_propagation_worker {
    const kg_relation_degrees *graph; /* borrowed */
    uint32_t *node_of;                /* of each entity, or KG_NO_NODE */
    size_t node_capacity;
    kg_id *entities; /* of each node */
    size_t entity_capacity;
    uint32_t *sets; /* of each node: the set of messages that reach it in this layer */
    size_t set_capacity;
    kg_arena scratch;
    kg_kept_layers kept;
    kg_profiles node_profiles;              /* of nodes that are reached, */
    kg_profiles profiles;                   /* and of those that are scored */
    real sum_scales[KG_PROPAGATION_SCALES]; /* log(1 + c) / c */
} kg_propagation_worker;

/* log(1 + c) / c */
real kg__propagation_sum_scale(size_t count);

KG_MUST_CHECK kg_status kg__propagation_worker_open(kg_propagation_worker *worker,
                                                    const kg_relation_degrees *graph,
                                                    kg_error *error);
void kg__propagation_worker_close(kg_propagation_worker *worker);

/* To another overlay of the same graph, the last one of which is still there. */
KG_MUST_CHECK kg_status kg__propagation_worker_move(kg_propagation_worker *worker,
                                                    const kg_relation_degrees *graph,
                                                    kg_error *error);

typedef struct kg_propagation_pass {
    const kg_propagation *model;
    const kg_relation_degrees *graph;
    kg_propagation_query query;
    kg_arena *arena;

    /* Scored candidates, in the order of nodes; not the queried entity. */
    size_t count;
    kg_id *entities;
    real *scores;
    real *log_weights; /* log(1/p) if it was sampled with probability p */
    uint8_t *classes;  /* of degree */

    /* All others, by class: their score, and how many there are. Where candidates are sampled the
     * number is an unbiased estimate, but not below 0. */
    real unreached_scores[KG_DEGREE_CLASSES];
    double unreached_counts[KG_DEGREE_CLASSES];

    const kg_link *own_links; /* of v, those that are followed */
    size_t own_count;

    size_t node_count;
    kg_id *nodes; /* their entities: all that was reached, and v, the first */
    kg_linked_nodes linked;
    kg_directed inverse; /* of the queried relation */
    size_t edge_count;   /* of all layers */
    size_t most_cut;     /* sources of a layer that were not expanded for want of `options.edges` */
    kg_propagation_layer layers[KG_PROPAGATION_MOST_LAYERS];
} kg_propagation_pass;

/* Computes scores. What the pass refers to lives in `arena`. */
KG_MUST_CHECK kg_status kg__propagation_forward(kg_propagation_pass *out,
                                                const kg_propagation *model,
                                                const kg_propagation_query *query,
                                                kg_propagation_worker *worker, kg_arena *arena,
                                                kg_error *error);

/* The class of an entity that is not reached, v's facts left out. */
size_t kg__propagation_class(const kg_relation_degrees *graph, const kg_propagation_query *query,
                             kg_id entity);

/* Makes gradients on scores sparse without bias: those below `least` become so large, or 0, with
 * the probabilities that keep their means. Most candidates have hardly any gradient, and those
 * without one cost nothing in the backward pass. */
void kg__propagation_sparsify(real *on_scores, const kg_propagation_pass *pass, real least);

/* From gradients on scores, and on the scores by class of all that is not reached, to those on the
 * tensors. */
KG_MUST_CHECK kg_status kg__propagation_backward(const kg_propagation_pass *pass,
                                                 const real *on_scores, const real *on_unreached,
                                                 kg_propagation_worker *worker, kg_grads *grads,
                                                 kg_error *error);

/* ---- For its parts ---- */

/* Adds a vector to the gradient of a tensor's row. */
KG_MUST_CHECK kg_status kg__propagation_add_gradient(kg_grads *grads, const kg_propagation *model,
                                                     kg_propagation_tensor tensor, size_t row,
                                                     const real *vector, size_t count,
                                                     kg_error *error);

/* Adds gradients on profiles to those of their weights. */
KG_MUST_CHECK kg_status kg__propagation_add_profile_gradients(kg_grads *grads,
                                                              const kg_propagation *model,
                                                              kg_propagation_tensor tensor,
                                                              kg_profile_gradients gradients,
                                                              kg_error *error);

#endif
