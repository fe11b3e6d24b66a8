/* Weights are computed of the relations that messages have: of many relations, most have none. */
#include "terms/propagation/messages.h"

#include <string.h>

#include "math/lanes.h"
#include "math/vector.h"

/* out += the sum of mix[j] factors_j, of which there are `rank`. */
KG_CLONES static void add_factors(real *restrict out, const real *restrict factors,
                                  const real *restrict mix, size_t rank, size_t width) {
    for (size_t from = 0; from < width; from += KG_LANES) {
        real sums[KG_LANES];
        memcpy(sums, out + from, sizeof sums);
        for (size_t j = 0; j < rank; j++)
#pragma omp simd
            for (size_t k = 0; k < KG_LANES; k++)
                sums[k] += mix[j] * factors[j * width + from + k];
        memcpy(out + from, sums, sizeof sums);
    }
}

/* w_l[q,r] */
static void weigh_relation(real *out, const kg_propagation_pass *pass, size_t number,
                           kg_directed relation) {
    const kg_propagation *model = pass->model;
    const real *const *tensors = model->tensors;
    size_t width = model->options.width;
    size_t rank = model->options.rank;
    size_t queried = pass->query.queried;
    size_t row = number * model->directed_count + relation;
    size_t pair = (number * model->directed_count + queried) * model->directed_count + relation;
    memcpy(out, tensors[KG_PROPAGATION_RELATIONS] + row * width, width * sizeof *out);
    if (rank == 0)
        kg__add_scaled(out, 1, tensors[KG_PROPAGATION_PAIRS] + pair * width, width);
    else
        add_factors(out, tensors[KG_PROPAGATION_FACTORS] + row * rank * width,
                    tensors[KG_PROPAGATION_MIX] + queried * rank, rank, width);
}

KG_CLONES static void multiply(kg_propagation_layer *layer, size_t width) {
    for (size_t i = 0; i < layer->message_count; i++) {
        const real *restrict source = layer->gated + layer->message_sources[i] * width;
        const real *restrict relation =
            layer->relations + layer->message_relations[i] * (size_t)width;
        real *restrict message = layer->messages + i * width;
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            message[k] = source[k] * relation[k];
    }
}

bool kg__messages_make(kg_propagation_pass *pass, size_t number, kg_arena *scratch) {
    kg_propagation_layer *layer = &pass->layers[number];
    size_t width = pass->model->options.width;
    size_t relations = pass->model->directed_count;
    bool *is_known = kg__arena_take_zeroed(scratch, relations, sizeof *is_known);
    layer->relations = kg__arena_take(pass->arena, relations * width, sizeof *layer->relations);
    layer->messages =
        kg__arena_take(pass->arena, layer->message_count * width, sizeof *layer->messages);
    if (is_known == NULL || layer->relations == NULL || layer->messages == NULL)
        return false;
    for (size_t i = 0; i < layer->message_count; i++) {
        kg_directed relation = layer->message_relations[i];
        if (!is_known[relation])
            weigh_relation(layer->relations + relation * width, pass, number, relation);
        is_known[relation] = true;
    }
    multiply(layer, width);
    return true;
}

/* ---- Backward ---- */

bool kg__message_gradients_open(kg_message_gradients *out, const kg_propagation_pass *pass,
                                size_t number, kg_arena *scratch) {
    const kg_propagation_layer *layer = &pass->layers[number];
    size_t width = pass->model->options.width;
    size_t relations = pass->model->directed_count;
    *out = (kg_message_gradients){
        kg__arena_take(scratch, layer->message_count * width, sizeof *out->on_messages),
        kg__arena_take_zeroed(scratch, layer->message_count, sizeof *out->is_used),
        kg__arena_take(scratch, layer->source_count * width, sizeof *out->on_gated),
        kg__arena_take_zeroed(scratch, layer->source_count, sizeof *out->is_source),
        kg__arena_take(scratch, relations * width, sizeof *out->on_relations),
        kg__arena_take_zeroed(scratch, relations, sizeof *out->is_relation),
    };
    return out->on_messages != NULL && out->is_used != NULL && out->on_gated != NULL &&
           out->is_source != NULL && out->on_relations != NULL && out->is_relation != NULL;
}

/* Messages that reach no row with a gradient have none. */
KG_CLONES static void multiply_backward(kg_message_gradients *out,
                                        const kg_propagation_layer *layer, size_t width) {
    for (size_t i = 0; i < layer->message_count; i++) {
        if (!out->is_used[i])
            continue;
        size_t source = layer->message_sources[i];
        size_t relation = layer->message_relations[i];
        const real *restrict g = out->on_messages + i * width;
        const real *restrict gated = layer->gated + source * width;
        const real *restrict related = layer->relations + relation * width;
        real *restrict to_gated = out->on_gated + source * width;
        real *restrict to_relation = out->on_relations + relation * width;
        kg__clear_first(to_gated, &out->is_source[source], width);
        kg__clear_first(to_relation, &out->is_relation[relation], width);
#pragma omp simd
        for (size_t k = 0; k < width; k++) {
            to_gated[k] += g[k] * related[k];
            to_relation[k] += g[k] * gated[k];
        }
    }
}

/* From gradients on the sum of mix[j] factors_j to those on both. */
KG_CLONES static void factors_backward(real *restrict on_factors, real *restrict on_mix,
                                       const real *restrict g, const real *restrict factors,
                                       const real *restrict mix, size_t rank, size_t width) {
    for (size_t j = 0; j < rank; j++) {
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = 0; k < width; k++) {
            on_factors[j * width + k] += mix[j] * g[k];
            sum += factors[j * width + k] * g[k];
        }
        on_mix[j] += sum;
    }
}

/* Gradients on w_l[q,r] go to what it is a sum of. */
static kg_status relation_backward(const real *g, const kg_propagation_pass *pass, size_t number,
                                   kg_directed relation, kg_grads *grads, kg_error *error) {
    const kg_propagation *model = pass->model;
    size_t width = model->options.width;
    size_t rank = model->options.rank;
    size_t queried = pass->query.queried;
    size_t row = number * model->directed_count + relation;
    real *sum = NULL;
    real *on_mix = NULL;
    KG_TRY(
        kg__propagation_add_gradient(grads, model, KG_PROPAGATION_RELATIONS, row, g, width, error));
    if (rank == 0) {
        KG_TRY(kg__grads_sum(grads, &sum, model->params[KG_PROPAGATION_PAIRS],
                             number * model->directed_count + queried, error));
        kg__add_scaled(sum + relation * (size_t)width, 1, g, width);
        return KG_OK;
    }
    KG_TRY(kg__grads_sum(grads, &sum, model->params[KG_PROPAGATION_FACTORS], row, error));
    KG_TRY(kg__grads_sum(grads, &on_mix, model->params[KG_PROPAGATION_MIX], queried, error));
    factors_backward(sum, on_mix, g, model->tensors[KG_PROPAGATION_FACTORS] + row * rank * width,
                     model->tensors[KG_PROPAGATION_MIX] + queried * rank, rank, width);
    return KG_OK;
}

kg_status kg__messages_backward(kg_message_gradients *gradients, const kg_propagation_pass *pass,
                                size_t number, kg_grads *grads, kg_error *error) {
    size_t width = pass->model->options.width;
    multiply_backward(gradients, &pass->layers[number], width);
    for (kg_directed r = 0; r < pass->model->directed_count; r++)
        if (gradients->is_relation[r])
            KG_TRY(relation_backward(gradients->on_relations + r * (size_t)width, pass, number, r,
                                     grads, error));
    return KG_OK;
}
