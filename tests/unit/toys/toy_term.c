/* A toy: entities with even ids that the queried one is linked with score more, by a number that is
 * learned. */
#include <math.h>

#include "base/memory.h"
#include "model/model.h"
#include "terms/query_block.h"
#include "terms/scorer.h"

#define TENSOR "toy"

extern const kg_term kg__term_toy;

static size_t params(kg_term_param *out, const kg_term_view *view) {
    (void)view;
    out[0] = (kg_term_param){.name = TENSOR, .rows = 1, .columns = 1, .value = log(3)};
    return 1;
}

static void close(kg_term_view *view) {
    kg__free(view->counted);
}

static const kg_learned learned = {.params = params, .close = close};

static kg_status count(kg_term_view *out, const kg_term_source *source, kg_error *error) {
    (void)source;
    out->learned = &learned;
    out->counted = kg__alloc(1, 1);
    return out->counted == NULL ? kg__fail_memory(error) : KG_OK;
}

static kg_status open(kg_term_view *out, kg_model *model, const char *path, kg_error *error) {
    (void)path;
    if (!kg__safetensors_has(&model->file, TENSOR))
        return KG_OK;
    KG_TRY(count(out, NULL, error));
    return kg__safetensors_view(&model->file, &out->values[0], TENSOR, 1, 1, error);
}

static kg_status forward(kg_query_block *b, size_t number) {
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < b->candidate_count; j++)
            if (b->candidates[j].entity % 2 == 0)
                b->scores[i * b->candidate_count + j] += b->params->terms[number].values[0][0];
    return KG_OK;
}

static kg_status backward(kg_query_block *b, size_t number) {
    real *sum = NULL;
    KG_TRY(kg__grads_sum(b->grads, &sum, b->params->terms[number].param, 0, b->error));
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < b->candidate_count; j++)
            if (b->candidates[j].entity % 2 == 0)
                *sum += b->scores[i * b->candidate_count + j];
    return KG_OK;
}

static kg_status offsets(kg_scorer *s, size_t number, kg_score_offsets *out, size_t left_out,
                         kg_error *error) {
    for (size_t i = 0; i < s->embedder.count; i++)
        if (i != left_out && s->embedder.links[i].other % 2 == 0)
            KG_TRY(kg__score_offsets_add(out, s->embedder.links[i].other,
                                         (double)s->embedder.params.terms[number].values[0][0],
                                         error));
    return KG_OK;
}

static size_t parts(kg_score_term *out, const kg_term_view *view) {
    if (view->counted != NULL && out != NULL)
        out[0] = (kg_score_term){.name = kg__term_toy.name};
    return view->counted != NULL;
}

static kg_status explain(kg_explain_use *use, size_t number, kg_error *error) {
    const kg_embedder *embedder = &use->scorer->embedder;
    (void)error;
    for (size_t i = 0; i < embedder->count; i++) {
        if (embedder->links[i].other != use->target.other || use->target.other % 2 != 0)
            continue;
        double value = (double)embedder->params.terms[number].values[0][0];
        kg__explanation_add(use->out, use->first, i, value);
        use->out->terms[use->first].part += value;
    }
    return KG_OK;
}

const kg_term kg__term_toy = {
    .name = "toy",
    .title = "a toy",
    .count = count,
    .open = open,
    .forward = forward,
    .backward = backward,
    .offsets = offsets,
    .parts = parts,
    .explain = explain,
};
