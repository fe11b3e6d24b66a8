/* Shapes and names of tensors, and the two layers for a single entity. */
#include "model/rgcn_encoder.h"

#include <math.h>
#include <string.h>

#include "math/linalg.h"
#include "math/vector.h"

kg_tensor kg__encoder_describe(const kg_encoder_shape *s, kg_encoder_tensor which) {
    size_t inputs = 2 * s->relations;
    size_t own = s->self_loops ? 1 : 0;
    const kg_tensor all[KG_ENCODER_TENSORS] = {
        [KG_FEATURES] = {.name = "features", .rows = s->entities, .columns = inputs},
        [KG_HIDDEN] = {.name = "hidden", .rows = s->entities, .columns = s->dim},
        [KG_MIX_1] = {.name = "first.mix", .rows = s->relations, .columns = 2 * s->bases},
        [KG_BASES_1] = {.name = "first.bases", .rows = s->bases * inputs, .columns = s->dim},
        [KG_SELF_1] = {.name = "first.self", .rows = own * s->relations, .columns = 2 * s->dim},
        [KG_MIX_2] = {.name = "second.mix", .rows = s->relations, .columns = 2 * s->bases},
        [KG_BASES_2] = {.name = "second.bases", .rows = s->bases * s->dim, .columns = s->dim},
        [KG_SELF_2] = {.name = "second.self", .rows = own * s->dim, .columns = s->dim},
    };
    return all[which];
}

kg_rows kg__encoder_rows(kg_encoder_tensor which) {
    if (which == KG_FEATURES || which == KG_HIDDEN)
        return KG_ROWS_OF_ENTITIES;
    if (which == KG_MIX_1 || which == KG_MIX_2 || which == KG_SELF_1)
        return KG_ROWS_OF_RELATIONS;
    return KG_ROWS_OF_WEIGHTS;
}

kg_layer kg__encoder_layer(const kg_encoder *e, size_t number) {
    bool is_first = number == 0;
    return (kg_layer){
        .mix = e->tensors[is_first ? KG_MIX_1 : KG_MIX_2],
        .bases = e->tensors[is_first ? KG_BASES_1 : KG_BASES_2],
        .self = e->tensors[is_first ? KG_SELF_1 : KG_SELF_2],
        .directed_count = 2 * e->shape.relations,
        .base_count = e->shape.bases,
        .inputs = is_first ? 2 * e->shape.relations : e->shape.dim,
        .outputs = e->shape.dim,
    };
}

void kg__layer_mix(const kg_layer *layer, real *mixed, const real *rows, const kg_link *links,
                   size_t count, real *sum, const real *g_mixed, real *g_mix) {
    size_t inputs = layer->inputs;
    memset(mixed, 0, layer->base_count * inputs * sizeof *mixed);
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        size_t first = links[from].directed * layer->base_count;
        real size = (real)(to - from);
        memset(sum, 0, inputs * sizeof *sum);
        for (size_t i = from; i < to; i++)
            kg__add_scaled(sum, 1, rows + links[i].other * inputs, inputs);
        for (size_t b = 0; b < layer->base_count; b++) {
            kg__add_scaled(mixed + b * inputs, layer->mix[first + b] / size, sum, inputs);
            if (g_mixed != NULL)
                g_mix[first + b] += kg__dot(sum, g_mixed + b * inputs, inputs) / size;
        }
    }
}

void kg__encoder_count(real *features, size_t count, const kg_link *links, size_t link_count) {
    memset(features, 0, count * sizeof *features);
    for (size_t from = 0, to = 0; from < link_count; from = to) {
        to = kg__group_end(links, link_count, from);
        features[links[from].directed] = (real)log1p((double)(to - from));
    }
}

/* ---- A single entity ---- */

static size_t widest(const kg_encoder *e) {
    size_t inputs = 2 * e->shape.relations;
    return inputs > e->shape.dim ? inputs : e->shape.dim;
}

size_t kg__encoder_scratch(const kg_encoder *e) {
    return (e->shape.bases + 2) * widest(e) + e->shape.dim;
}

/* out = the layer for these links, without the self-loop. */
static void apply_layer(const kg_layer *layer, real *out, const real *rows, const kg_link *links,
                        size_t count, real *scratch) {
    size_t width = layer->base_count * layer->inputs;
    kg__layer_mix(layer, scratch, rows, links, count, scratch + width, NULL, NULL);
    kg__multiply_vector(out, layer->bases, width, layer->outputs, KG_TRANSPOSED, scratch, 1, 0);
}

/* Without self-loops the entity's own first layer is not needed. */
void kg__encoder_embed(const kg_encoder *e, real *z, const kg_link *links, size_t count,
                       real *scratch) {
    kg_layer first = kg__encoder_layer(e, 0);
    kg_layer second = kg__encoder_layer(e, 1);
    size_t dim = e->shape.dim;
    real *hidden = scratch;
    real *own = scratch + dim;
    real *rest = own + widest(e);
    apply_layer(&second, z, e->tensors[KG_HIDDEN], links, count, rest);
    if (!e->shape.self_loops)
        return;
    kg__encoder_count(own, first.inputs, links, count);
    apply_layer(&first, hidden, e->tensors[KG_FEATURES], links, count, rest);
    kg__multiply_vector(hidden, first.self, first.inputs, dim, KG_TRANSPOSED, own, 1, 1);
    for (size_t i = 0; i < dim; i++)
        hidden[i] = hidden[i] > 0 ? hidden[i] : 0;
    kg__multiply_vector(z, second.self, dim, dim, KG_TRANSPOSED, hidden, 1, 1);
}
