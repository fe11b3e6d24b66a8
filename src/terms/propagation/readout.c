/* A network with one hidden layer, of a node's vector and its numbers of facts. */
#include "terms/propagation/readout.h"

#include <math.h>
#include <string.h>

#include "math/tile_product.h"
#include "math/vector.h"
#include "terms/propagation/query_links.h"

#define CLASSES KG_DEGREE_CLASSES

/* ---- Profiles ---- */

static kg_own_facts left_out_of(const kg_propagation_pass *pass, size_t row) {
    return kg__query_links_of(pass, pass->layers[pass->model->options.layers - 1].nodes[row],
                              pass->entities[row]);
}

/* The class of degree of a row's entity. */
static uint8_t class_of(const kg_propagation_pass *pass, size_t row) {
    size_t facts = kg__relation_degrees_of(pass->graph, pass->entities[row], pass->inverse);
    kg_own_facts left_out = left_out_of(pass, row);
    for (size_t i = 0; i < left_out.count; i++)
        facts -= left_out.relations[i] == pass->inverse;
    return (uint8_t)kg__degree_class(facts);
}

/* `on_sums` are gradients on the profiles of some rows. */
static kg_status profiles_backward(const kg_propagation_pass *pass, const uint32_t *rows,
                                   const real *on_sums, size_t count, kg_propagation_worker *w,
                                   kg_grads *grads, kg_error *error) {
    const kg_propagation *model = pass->model;
    size_t width = model->options.width;
    kg_profile_gradients gradients;
    if (!kg__profile_gradients_open(&gradients, &w->profiles, &w->scratch))
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        kg__profiles_backward(gradients, &w->profiles, pass->entities[rows[i]],
                              left_out_of(pass, rows[i]), on_sums + i * width);
    return kg__propagation_add_profile_gradients(grads, model, KG_PROPAGATION_PROFILE, gradients,
                                                 error);
}

/* ---- What is not reached ---- */

size_t kg__propagation_class(const kg_relation_degrees *graph, const kg_propagation_query *query,
                             kg_id entity) {
    kg_directed directed = kg__inverse(query->queried);
    size_t facts = kg__relation_degrees_of(graph, entity, directed);
    if (query->entity != KG_NO_ID)
        facts -= kg__relation_degrees_has(graph, entity, (kg_link){directed, query->entity});
    return kg__degree_class(facts);
}

/* The classes of all entities, as they are without the queried one. */
static void count_classes(kg_propagation_pass *pass) {
    const kg_propagation_query *query = &pass->query;
    const kg_relation_degrees *graph = pass->graph;
    double *counts = pass->unreached_counts;
    kg_directed directed = kg__inverse(query->queried);
    memcpy(counts, graph->classes + directed * (size_t)CLASSES, CLASSES * sizeof *counts);
    if (query->entity == KG_NO_ID)
        return;
    size_t own = kg__relation_degrees_of(graph, query->entity, directed);
    counts[kg__degree_class(own)]--;
    size_t count = 0;
    const kg_link *links =
        kg__links_run(kg__adjacency_links(graph->graph, query->entity),
                      kg__adjacency_degree(graph->graph, query->entity), query->queried, &count);
    for (size_t i = 0; i < count; i++) {
        if (links[i].other == query->entity)
            continue;
        size_t facts = kg__relation_degrees_of(graph, links[i].other, directed);
        counts[kg__degree_class(facts)]--;
        counts[kg__degree_class(facts - 1)]++;
    }
}

static void score_unreached(kg_propagation_pass *pass) {
    const kg_propagation *model = pass->model;
    const real *degree =
        model->tensors[KG_PROPAGATION_DEGREE] + pass->query.queried * (size_t)CLASSES;
    count_classes(pass);
    real last = 0; /* most weights are one of a few */
    double weight = 1;
    for (size_t i = 0; i < pass->count; i++) {
        if (pass->log_weights[i] != last) {
            last = pass->log_weights[i];
            weight = exp((double)last);
        }
        pass->unreached_counts[pass->classes[i]] -= weight;
    }
    for (size_t i = 0; i < CLASSES; i++) {
        pass->unreached_scores[i] =
            model->tensors[KG_PROPAGATION_UNREACHED][pass->query.queried] + degree[i];
        if (pass->unreached_counts[i] < 0)
            pass->unreached_counts[i] = 0;
    }
}

/* ---- All of it ---- */

/* Rows of the hidden layer at a time, so that they stay in the cache. */
#define BLOCK 64
#define AHEAD 8 /* rows whose counts are prefetched */

struct readout {
    const kg_propagation *model;
    const kg_propagation_layer *last;
    const real *bias;
    size_t width;
    kg_profiles *profiles;
};

static struct readout readout_of(const kg_propagation_pass *pass, kg_propagation_worker *w) {
    const kg_propagation *model = pass->model;
    size_t width = model->options.width;
    return (struct readout){
        .model = model,
        .last = &pass->layers[model->options.layers - 1],
        .bias = model->tensors[KG_PROPAGATION_HIDDEN_BIAS] + pass->query.queried * width,
        .width = width,
        .profiles = &w->profiles,
    };
}

KG_CLONES static void add_relu(real *restrict x, const real *restrict profile, size_t width) {
#pragma omp simd
    for (size_t k = 0; k < width; k++) {
        real sum = x[k] + profile[k];
        x[k] = sum > 0 ? sum : 0;
    }
}

/* The hidden layer of some rows, whose vectors (count x width) are given. */
static void fill_hidden(const kg_propagation_pass *pass, const struct readout *readout,
                        real *hidden, const real *vectors, const uint32_t *rows, size_t count) {
    size_t width = readout->width;
    kg__tile_product(hidden, readout->bias, vectors, readout->model->tensors[KG_PROPAGATION_HIDDEN],
                     count, width, width);
    for (size_t i = 0; i < count; i++)
        add_relu(
            hidden + i * width,
            kg__profiles_of(readout->profiles, pass->entities[rows[i]], left_out_of(pass, rows[i])),
            width);
}

KG_CLONES static void fill_scores(real *scores, const real *hidden, const real *output,
                                  size_t count, size_t width) {
    for (size_t i = 0; i < count; i++)
        scores[i] = kg__dot_lanes(hidden + i * width, output, width);
}

static bool score_rows(kg_propagation_pass *pass, kg_propagation_worker *w) {
    struct readout readout = readout_of(pass, w);
    size_t width = readout.width;
    uint32_t rows[BLOCK];
    real *hidden = kg__arena_take(&w->scratch, BLOCK * width, sizeof *hidden);
    if (hidden == NULL)
        return false;
    for (size_t from = 0; from < pass->count; from += BLOCK) {
        size_t count = pass->count - from < BLOCK ? pass->count - from : BLOCK;
        for (size_t i = 0; i < count; i++) {
            rows[i] = (uint32_t)(from + i);
            if (from + i + BLOCK < pass->count)
                kg__profiles_fetch(readout.profiles, pass->entities[from + i + BLOCK]);
            if (from + i + AHEAD < pass->count)
                kg__relation_degrees_fetch(pass->graph, pass->entities[from + i + AHEAD]);
            pass->classes[from + i] = class_of(pass, from + i);
        }
        fill_hidden(pass, &readout, hidden, readout.last->output + from * width, rows, count);
        fill_scores(pass->scores + from, hidden, readout.model->tensors[KG_PROPAGATION_OUTPUT],
                    count, width);
    }
    return true;
}

kg_status kg__readout_forward(kg_propagation_pass *pass, kg_propagation_worker *w,
                              kg_error *error) {
    const kg_propagation *model = pass->model;
    const kg_propagation_layer *last = &pass->layers[model->options.layers - 1];
    size_t count = last->row_count;
    pass->count = count;
    pass->entities = kg__arena_take(pass->arena, count, sizeof *pass->entities);
    pass->scores = kg__arena_take(pass->arena, count, sizeof *pass->scores);
    pass->classes = kg__arena_take(pass->arena, count, sizeof *pass->classes);
    if (pass->entities == NULL || pass->scores == NULL || pass->classes == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        pass->entities[i] = w->entities[last->nodes[i]];
    if (!score_rows(pass, w))
        return kg__fail_memory(error);
    score_unreached(pass);
    for (size_t i = 0; i < count; i++)
        pass->scores[i] += model->tensors[KG_PROPAGATION_DEGREE]
                                         [pass->query.queried * (size_t)CLASSES + pass->classes[i]];
    return KG_OK;
}

static kg_status priors_backward(const kg_propagation_pass *pass, const real *on_scores,
                                 const real *on_unreached, kg_grads *grads, kg_error *error) {
    real on_classes[CLASSES];
    real on_all = 0;
    for (size_t i = 0; i < CLASSES; i++) {
        on_classes[i] = on_unreached[i];
        on_all += on_unreached[i];
    }
    for (size_t i = 0; i < pass->count; i++)
        on_classes[pass->classes[i]] += on_scores[i];
    KG_TRY(kg__propagation_add_gradient(grads, pass->model, KG_PROPAGATION_DEGREE,
                                        pass->query.queried, on_classes, CLASSES, error));
    return kg__propagation_add_gradient(grads, pass->model, KG_PROPAGATION_UNREACHED,
                                        pass->query.queried, &on_all, 1, error);
}

/* From gradients on the scores of some rows to those on the output's weights, and on what the relu
 * was applied to, which replace the hidden layer. */
KG_CLONES static void scores_backward(real *restrict hidden, real *restrict on_output,
                                      const real *restrict on_scores, const real *restrict output,
                                      const uint32_t *rows, size_t count, size_t width) {
    for (size_t i = 0; i < count; i++) {
        real *restrict row = hidden + i * width;
        real g = on_scores[rows[i]];
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            on_output[k] += g * row[k];
#pragma omp simd
        for (size_t k = 0; k < width; k++)
            row[k] = row[k] > 0 ? g * output[k] : 0;
    }
}

/* Rows with a gradient, and their vectors in place of it. */
static bool find_rows(kg_row_gradients *out, const real *on_scores, const kg_propagation_pass *pass,
                      const struct readout *readout, kg_arena *scratch) {
    size_t width = readout->width;
    out->rows = kg__arena_take(scratch, pass->count, sizeof *out->rows);
    if (out->rows == NULL)
        return false;
    out->count = 0;
    for (uint32_t i = 0; i < pass->count; i++)
        if (on_scores[i] != 0)
            out->rows[out->count++] = i;
    out->vectors = kg__arena_take(scratch, out->count * width, sizeof *out->vectors);
    for (size_t i = 0; i < out->count && out->vectors != NULL; i++)
        memcpy(out->vectors + i * width, readout->last->output + out->rows[i] * width,
               width * sizeof *out->vectors);
    return out->vectors != NULL;
}

static kg_status rows_backward(const kg_propagation_pass *pass, const struct readout *readout,
                               const real *on_scores, kg_row_gradients *out, real *hidden,
                               kg_grads *grads, kg_error *error) {
    const kg_propagation *model = readout->model;
    size_t width = readout->width;
    size_t count = out->count;
    real *sum = NULL;
    fill_hidden(pass, readout, hidden, out->vectors, out->rows, count);
    KG_TRY(kg__grads_sum(grads, &sum, model->params[KG_PROPAGATION_OUTPUT], 0, error));
    scores_backward(hidden, sum, on_scores, model->tensors[KG_PROPAGATION_OUTPUT], out->rows, count,
                    width);
    KG_TRY(kg__grads_sum(grads, &sum, model->params[KG_PROPAGATION_HIDDEN_BIAS],
                         pass->query.queried, error));
    kg__add_up(sum, hidden, count, width);
    KG_TRY(kg__grads_sum(grads, &sum, model->params[KG_PROPAGATION_HIDDEN], 0, error));
    kg__tile_product_transposed(sum, out->vectors, hidden, width, width, count);
    return KG_OK;
}

kg_status kg__readout_backward(const kg_propagation_pass *pass, const real *on_scores,
                               const real *on_unreached, kg_row_gradients *out,
                               kg_propagation_worker *w, kg_grads *grads, kg_error *error) {
    struct readout readout = readout_of(pass, w);
    size_t width = readout.width;
    const real *matrix = readout.model->tensors[KG_PROPAGATION_HIDDEN];
    if (!find_rows(out, on_scores, pass, &readout, &w->scratch))
        return kg__fail_memory(error);
    real *hidden = kg__arena_take(&w->scratch, out->count * width, sizeof *hidden);
    real *transposed = kg__arena_take(&w->scratch, width * width, sizeof *transposed);
    if (hidden == NULL || transposed == NULL)
        return kg__fail_memory(error);
    KG_TRY(rows_backward(pass, &readout, on_scores, out, hidden, grads, error));
    KG_TRY(profiles_backward(pass, out->rows, hidden, out->count, w, grads, error));
    kg__transpose(transposed, matrix, width);
    kg__tile_product(out->vectors, NULL, hidden, transposed, out->count, width, width);
    return priors_backward(pass, on_scores, on_unreached, grads, error);
}
