/* The rule by which settings follow from the counts of a graph, and the table of tensors. */
#include "terms/propagation/propagation_options.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "math/tile_product.h"
#include "model/degree_classes.h"

/* With few links, answers are far and layers cheap; with many, three steps reach most entities. A
 * weight for each pair of relations takes their square, of which training sees enough only if there
 * are few, so that others have a low rank (16 instead of 4: oFB15k-237 .4927 instead of .4841 after
 * 100,000 queries, fb237_v1 .483 instead of .435; 32: no better); and only with many relations more
 * than two ways of pooling pay (oFB15k-237 .425 instead of .393 after 20,000 queries, oWN18RR no
 * difference). Profiles of nodes have a vector for each relation, for which there must be facts
 * enough (12 for each: fb237_v1 .424 instead of .438; 300: WN18RR_v1 .730 instead of .725). */
#define SPARSE 8.0        /* links of an entity, on average */
#define FACTS_ENOUGH 50.0 /* of each directed relation, on average */

kg_propagation_options kg__propagation_choose(size_t directed_count, size_t entity_count,
                                              size_t fact_count) {
    bool is_sparse = 2.0 * (double)fact_count < SPARSE * (double)entity_count;
    bool has_enough = (double)fact_count >= FACTS_ENOUGH * (double)directed_count;
    bool has_few = directed_count <= KG_FEW_RELATIONS;
    return (kg_propagation_options){
        .layers = is_sparse ? has_few ? 6 : 5 : 3,
        .width = 32,
        .sources = is_sparse ? 300 : 200,
        .edges = (size_t)1 << 16,
        .pooling = has_few ? KG_POOL_SUM | KG_POOL_MAX : (1U << KG_POOLINGS) - 1,
        .rank = has_few ? 0 : 16,
        .profiles = has_enough,
        .dropped = has_enough ? 0 : 0.5,
        .sampled = 300,
        .weight = 1,
        .echoes = 0.25,
    };
}

kg_propagation_options kg__propagation_complete(const kg_propagation_options *given,
                                                size_t directed_count, size_t entity_count,
                                                size_t fact_count) {
    kg_propagation_options out = kg__propagation_choose(directed_count, entity_count, fact_count);
    out.layers = given->layers > 0 ? given->layers : out.layers;
    out.width = given->width > 0 ? given->width : out.width;
    out.sources = given->sources > 0 ? given->sources : out.sources;
    out.edges = given->edges > 0 ? given->edges : out.edges;
    out.pooling = given->pooling > 0 ? given->pooling : out.pooling;
    out.sampled = given->sampled > 0 ? given->sampled : out.sampled;
    out.weight = given->weight > 0 ? given->weight : out.weight;
    out.dropped = given->dropped > 0 ? given->dropped : out.dropped;
    out.echoes = given->echoes;
    if (given->rank > 0)
        out.rank = given->rank == KG_EACH_PAIR ? 0 : given->rank;
    return out;
}

size_t kg__propagation_poolings(const kg_propagation_options *options) {
    return (size_t)__builtin_popcount(options->pooling);
}

/* ---- Files ---- */

const char *const kg__pooling_names[] = {"sum", "max", "share", "min", "spread", NULL};

#define COUNT(field, lowest, highest)                                                         \
    {                                                                                         \
        .name = #field, .offset = offsetof(kg_propagation_options, field), .least = (lowest), \
        .most = (highest)                                                                     \
    }

/* Whole numbers, as they are called in files, and their limits. */
static const struct {
    const char *name;
    size_t offset;
    size_t least;
    size_t most;
} counts[] = {
    COUNT(layers, 1, KG_PROPAGATION_MOST_LAYERS), COUNT(width, KG_LANES, KG_PROPAGATION_MOST_WIDTH),
    COUNT(sources, 1, KG_PROPAGATION_MOST_NODES), COUNT(edges, 1, (size_t)1 << 32),
    COUNT(rank, 0, KG_PROPAGATION_MOST_RANK),     COUNT(profiles, 0, 1),
    COUNT(sampled, 1, KG_PROPAGATION_MOST_NODES),
};
#define COUNTS (sizeof counts / sizeof *counts)

kg_status kg__propagation_check(const kg_propagation_options *o, kg_error *error) {
    for (size_t i = 0; i < COUNTS; i++) {
        size_t value = *(const size_t *)((const char *)o + counts[i].offset);
        if (value < counts[i].least || value > counts[i].most)
            return kg_fail(error, KG_BAD_INPUT, "%s of propagation: expected %zu to %zu, found %zu",
                           counts[i].name, counts[i].least, counts[i].most, value);
    }
    if (!(o->weight > 0 && o->weight <= (double)KG_REAL_MAX))
        return kg_fail(error, KG_BAD_INPUT,
                       "weight of propagation: expected a number above 0, found %g", o->weight);
    if (o->width % KG_LANES != 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "width of propagation: expected a multiple of %d, found %zu", KG_LANES,
                       o->width);
    if (o->pooling == 0 || o->pooling >= 1U << KG_POOLINGS)
        return kg_fail(error, KG_BAD_INPUT,
                       "pooling of propagation: expected a set of %d ways, found %u", KG_POOLINGS,
                       o->pooling);
    return KG_OK;
}

json_t *kg__propagation_json(const kg_propagation_options *o) {
    json_t *out = json_object();
    json_t *pooling = json_array();
    bool good = true;
    for (size_t i = 0; i < COUNTS; i++) {
        size_t value = *(const size_t *)((const char *)o + counts[i].offset);
        good =
            json_object_set_new(out, counts[i].name, json_integer((json_int_t)value)) == 0 && good;
    }
    for (size_t i = 0; i < KG_POOLINGS; i++)
        if ((o->pooling >> i & 1) != 0)
            good = json_array_append_new(pooling, json_string(kg__pooling_names[i])) == 0 && good;
    good = json_object_set_new(out, "pooling", pooling) == 0 && good;
    good = json_object_set_new(out, "weight", json_real(o->weight)) == 0 && good;
    return kg__json_complete(out, good);
}

static kg_status read_pooling(unsigned *out, const json_t *names, const char *path,
                              kg_error *error) {
    size_t at = 0;
    const json_t *name = NULL;
    json_array_foreach(names, at, name) {
        const char *text = json_string_value(name);
        size_t i = 0;
        while (i < KG_POOLINGS && (text == NULL || strcmp(text, kg__pooling_names[i]) != 0))
            i++;
        if (i == KG_POOLINGS)
            return kg_fail_at(
                error, path, 0, 0,
                "expected ways of pooling as \"pooling\" of its propagation, found %s",
                text == NULL ? kg__json_kind(name) : kg__quote(text, strlen(text)).text);
        *out |= 1U << i;
    }
    return KG_OK;
}

kg_status kg__propagation_read(kg_propagation_options *out, const json_t *from, const char *path,
                               kg_error *error) {
    *out = (kg_propagation_options){0};
    for (size_t i = 0; i < COUNTS; i++) {
        const json_t *value = json_object_get(from, counts[i].name);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return kg_fail_at(
                error, path, 0, 0, "expected a whole number as \"%s\" of its propagation, found %s",
                counts[i].name, json_is_integer(value) ? "a negative one" : kg__json_kind(value));
        *(size_t *)((char *)out + counts[i].offset) = (size_t)json_integer_value(value);
    }
    KG_TRY(read_pooling(&out->pooling, json_object_get(from, "pooling"), path, error));
    out->weight = json_number_value(json_object_get(from, "weight"));
    kg_status status = kg__propagation_check(out, error);
    if (status != KG_OK)
        kg__error_locate(error, path, 0, 0);
    return status;
}

/* ---- Tensors ---- */

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
        [KG_PROPAGATION_START] = {"propagation_start", directed_count, o->width, 1},
        [KG_PROPAGATION_RELATIONS] = {"propagation_relations", by_layer, o->width, 1},
        [KG_PROPAGATION_PAIRS] = {"propagation_pairs", is_paired * by_layer,
                                  directed_count * o->width, 0},
        [KG_PROPAGATION_FACTORS] = {"propagation_factors", is_factored * by_layer,
                                    o->rank * o->width, 0.5},
        [KG_PROPAGATION_MIX] = {"propagation_mix", is_factored * directed_count, o->rank, 0.5},
        [KG_PROPAGATION_GATE] = {"propagation_gate", o->layers, o->width, 0.1},
        [KG_PROPAGATION_GATE_BIAS] = {"propagation_gate_bias", by_layer, 1, 0},
        [KG_PROPAGATION_UPDATE] = {"propagation_update", o->layers, inputs * o->width,
                                   bound_for(inputs)},
        [KG_PROPAGATION_UPDATE_BIAS] = {"propagation_update_bias", o->layers, o->width, 0},
        [KG_PROPAGATION_NODE_PROFILE] = {"propagation_node_profile", o->profiles * directed_count,
                                         o->width, 0},
        [KG_PROPAGATION_HIDDEN] = {"propagation_hidden", 1, o->width * o->width,
                                   bound_for(o->width)},
        [KG_PROPAGATION_HIDDEN_BIAS] = {"propagation_hidden_bias", directed_count, o->width, 0},
        [KG_PROPAGATION_PROFILE] = {"propagation_profile", directed_count, o->width, 0.1},
        [KG_PROPAGATION_OUTPUT] = {"propagation_output", 1, o->width, bound_for(o->width)},
        [KG_PROPAGATION_DEGREE] = {"propagation_degree", directed_count, KG_DEGREE_CLASSES, 0},
        [KG_PROPAGATION_UNREACHED] = {"propagation_unreached", directed_count, 1, 0},
    };
    return shapes[tensor];
}
