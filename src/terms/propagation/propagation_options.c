/* The rule, and the table of tensors. */
#include "terms/propagation/propagation_options.h"

#include <math.h>

#include "math/tile_product.h"
#include "terms/features/degree_prior.h"

/* With few links, answers are far and layers cheap; with many, three steps reach most entities. A
 * weight for each pair of relations takes their square, of which training sees enough only if there
 * are few; and only with many relations more than two ways of pooling pay (oFB15k-237 .425 instead
 * of .393 after 20,000 queries, oWN18RR no difference). Profiles of nodes have a vector for each
 * relation, for which there must be facts enough (12 for each: fb237_v1 .424 instead of .438; 300:
 * WN18RR_v1 .730 instead of .725). */
#define SPARSE 8.0 /* links of an entity, on average */
#define FEW_RELATIONS 64
#define FACTS_ENOUGH 50.0 /* of each directed relation, on average */

kg_propagation_options kg__propagation_choose(size_t directed_count, size_t entity_count,
                                              size_t fact_count) {
    bool is_sparse = 2.0 * (double)fact_count < SPARSE * (double)entity_count;
    bool has_few = directed_count <= FEW_RELATIONS;
    return (kg_propagation_options){
        .layers = is_sparse ? has_few ? 6 : 5 : 3,
        .width = 32,
        .sources = is_sparse ? 300 : 200,
        .edges = (size_t)1 << 16,
        .pooling = has_few ? KG_POOL_SUM | KG_POOL_MAX : (1U << KG_POOLINGS) - 1,
        .rank = has_few ? 0 : 4,
        .profiles = (double)fact_count >= FACTS_ENOUGH * (double)directed_count,
        .sampled = 300,
    };
}

size_t kg__propagation_poolings(const kg_propagation_options *options) {
    return (size_t)__builtin_popcount(options->pooling);
}

kg_status kg__propagation_check(const kg_propagation_options *o, kg_error *error) {
    if (o->layers < 1 || o->layers > KG_PROPAGATION_MOST_LAYERS)
        return kg_fail(error, KG_BAD_INPUT, "layers: expected 1 to %d, found %zu",
                       KG_PROPAGATION_MOST_LAYERS, o->layers);
    if (o->width == 0 || o->width % KG_LANES != 0)
        return kg_fail(error, KG_BAD_INPUT, "width: expected a multiple of %d, found %zu", KG_LANES,
                       o->width);
    if (o->sources == 0)
        return kg_fail(error, KG_BAD_INPUT, "sources: expected 1 or more, found 0");
    if (o->pooling == 0 || o->pooling >= 1U << KG_POOLINGS)
        return kg_fail(error, KG_BAD_INPUT, "pooling: expected a set of %d ways, found %u",
                       KG_POOLINGS, o->pooling);
    if (o->profiles > 1)
        return kg_fail(error, KG_BAD_INPUT, "profiles: expected 0 or 1, found %zu", o->profiles);
    return KG_OK;
}

/* For outputs of the same size as inputs, on average. */
static double bound_for(size_t inputs) {
    return sqrt(3.0 / (double)inputs);
}

kg_propagation_shape kg__propagation_shape(const kg_propagation_options *o, size_t directed_count,
                                           kg_propagation_tensor tensor) {
    size_t by_layer = o->layers * directed_count;
    size_t inputs = (1 + kg__propagation_poolings(o)) * o->width;
    size_t is_paired = o->rank == 0;
    size_t is_factored = o->rank > 0;
    const kg_propagation_shape shapes[KG_PROPAGATION_TENSORS] = {
        [KG_PROPAGATION_START] = {"start", directed_count, o->width, 1, 0},
        [KG_PROPAGATION_RELATIONS] = {"relations", by_layer, o->width, 1, 0},
        [KG_PROPAGATION_PAIRS] = {"pairs", is_paired * by_layer, directed_count * o->width, 0, 0},
        [KG_PROPAGATION_FACTORS] = {"factors", is_factored * by_layer, o->rank * o->width, 0.5, 0},
        [KG_PROPAGATION_MIX] = {"mix", is_factored * directed_count, o->rank, 0.5, 0},
        [KG_PROPAGATION_GATE] = {"gate", o->layers, o->width, 0.1, 0},
        [KG_PROPAGATION_GATE_BIAS] = {"gate_bias", by_layer, 1, 0, 0},
        [KG_PROPAGATION_UPDATE] = {"update", o->layers, inputs * o->width, bound_for(inputs), 0},
        [KG_PROPAGATION_UPDATE_BIAS] = {"update_bias", o->layers, o->width, 0, 0},
        [KG_PROPAGATION_NODE_PROFILE] = {"node_profile", o->profiles * directed_count, o->width, 0,
                                         0},
        [KG_PROPAGATION_HIDDEN] = {"hidden", 1, o->width * o->width, bound_for(o->width), 0},
        [KG_PROPAGATION_HIDDEN_BIAS] = {"hidden_bias", directed_count, o->width, 0, 0},
        [KG_PROPAGATION_PROFILE] = {"profile", directed_count, o->width, 0.1, 0},
        [KG_PROPAGATION_OUTPUT] = {"output", 1, o->width, bound_for(o->width), 0},
        [KG_PROPAGATION_DEGREE] = {"degree", directed_count, KG_DEGREE_PRIOR_CLASSES, 0, 0},
        [KG_PROPAGATION_UNREACHED] = {"unreached", directed_count, 1, 0, 0},
    };
    return shapes[tensor];
}
