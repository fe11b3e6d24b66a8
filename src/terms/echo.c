/* The echo term: the other end of a fact of the entity is the answer as well, as often as a pair of
 * directed relations makes it so. A candidate's score gets, for each link that the entity has with
 * it, what was learned for the pair of the queried relation and the link's. */
#include "terms/echo.h"

#include <string.h>

#include "base/memory.h"
#include "model/model.h"
#include "terms/query_block.h"
#include "terms/scorer.h"

#define TENSOR "echoes"

/* ---- What it counts and learns ---- */

/* An echo that is rare is no rule. */
#define LEAST_TIMES 3
#define LEAST_SHARE 0.01

/* As good as none in the beginning. */
#define START 0.001

/* Its aggregate depends on the query, as echoes do. */
static bool goes_with(const kg_aggregator *aggregator) {
    return aggregator->set_query != NULL;
}

static kg_status count(kg_term_view *out, const kg_term_source *source, kg_error *error) {
    kg_echo *echo = kg__alloc(1, sizeof *echo);
    if (echo == NULL)
        return kg__fail_memory(error);
    out->counted = echo;
    return kg__pairs_make_echoes(&echo->pairs, source->graph, source->directed_count, LEAST_TIMES,
                                 LEAST_SHARE, error);
}

static size_t params(kg_term_param *out, const kg_term_view *view) {
    const kg_echo *echo = view->counted;
    out[0] =
        (kg_term_param){.name = TENSOR, .rows = echo->pairs.count, .columns = 1, .value = START};
    return 1;
}

static void close(kg_term_view *view) {
    kg_echo *echo = view->counted;
    kg__pairs_free(&echo->pairs);
    kg__free(echo->values);
    kg__free(echo);
}

static void take_over(real *const *values, const kg_term_view *view, const kg_term_view *learned,
                      const kg_id *relations) {
    const kg_echo *echo = view->counted;
    const kg_echo *other = learned->counted;
    kg__pairs_take_over(values[0], &echo->pairs, learned->values[0], &other->pairs, relations);
}

static kg_status pack(kg_tensor *out, const kg_term_view *view, kg_arena *arena, kg_error *error) {
    const kg_echo *echo = view->counted;
    return kg__pairs_pack(out, TENSOR, &echo->pairs, view->values[0], arena, error);
}

static kg_status open(kg_term_view *out, kg_model *model, const char *path, kg_error *error) {
    if (!kg__safetensors_has(&model->file, TENSOR))
        return KG_OK;
    kg_echo *echo = kg__alloc(1, sizeof *echo);
    if (echo == NULL)
        return kg__fail_memory(error);
    out->counted = echo;
    KG_TRY(kg__model_open_pairs(&echo->pairs, &echo->values, model, TENSOR, path, error));
    out->values[0] = echo->values;
    return KG_OK;
}

/* ---- Training ---- */

/* For each run and candidate with links: the pair of each link. They are looked up once, since the
 * way back needs the same. Runs x links, in the order of the other end; KG_NO_PAIR: none. */
static uint32_t *look_up(kg_query_block *b, const kg_pairs *echoing) {
    uint32_t *pairs = kg__arena_take(b->arena, b->run_count, b->link_count * sizeof *pairs);
    for (size_t run = 0; run < b->run_count && pairs != NULL; run++)
        for (size_t j = 0; j < b->candidate_count; j++)
            for (size_t i = b->candidates[j].from; i < b->candidates[j].to; i++) {
                kg_directed given = b->by_other[i].directed;
                pairs[run * b->link_count + i] =
                    given == b->runs[run].query
                        ? KG_NO_PAIR
                        : kg__pairs_find(echoing, b->runs[run].query, given);
            }
    return pairs;
}

static kg_status forward(kg_query_block *b, size_t number) {
    const kg_term_view *view = &b->params->terms[number];
    const kg_echo *echo = view->counted;
    const uint32_t *pairs = b->kept[number] = look_up(b, &echo->pairs);
    if (pairs == NULL)
        return kg__fail_memory(b->error);
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t j = 0; j < b->candidate_count; j++) {
            real sum = 0;
            for (size_t i = b->candidates[j].from; i < b->candidates[j].to; i++) {
                uint32_t pair = pairs[run * b->link_count + i];
                sum += pair == KG_NO_PAIR ? 0 : view->values[0][pair];
            }
            for (size_t i = b->runs[run].from; i < b->runs[run].to && sum != 0; i++)
                b->scores[i * b->candidate_count + j] += sum;
        }
    return KG_OK;
}

static kg_status backward(kg_query_block *b, size_t number) {
    const uint32_t *pairs = b->kept[number];
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t j = 0; j < b->candidate_count; j++) {
            real g = 0;
            for (size_t i = b->runs[run].from; i < b->runs[run].to; i++)
                g += b->scores[i * b->candidate_count + j];
            for (size_t i = b->candidates[j].from; i < b->candidates[j].to; i++) {
                uint32_t pair = pairs[run * b->link_count + i];
                real *sum = NULL;
                if (pair == KG_NO_PAIR)
                    continue;
                KG_TRY(
                    kg__grads_sum(b->grads, &sum, b->params->terms[number].param, pair, b->error));
                *sum += g;
            }
        }
    return KG_OK;
}

/* ---- Answering ---- */

/* What link i gives its other end. Echoes were learned together with what graft aggregates. */
static double echo_of(const kg_scorer *s, size_t number, size_t i) {
    const kg_term_view *view = &s->embedder.params.terms[number];
    const kg_echo *echo = view->counted;
    if (s->embedder.options.aggregator->set_query == NULL || s->embedder.query == KG_NO_QUERY)
        return 0;
    uint32_t pair = kg__pairs_find(&echo->pairs, s->embedder.query, s->embedder.links[i].directed);
    return pair == KG_NO_PAIR ? 0 : (double)view->values[0][pair];
}

static kg_status offsets(kg_scorer *s, size_t number, kg_score_offsets *out, size_t left_out,
                         kg_error *error) {
    for (size_t i = 0; i < s->embedder.count; i++) {
        double echo = echo_of(s, number, i);
        if (i != left_out && echo != 0)
            KG_TRY(kg__score_offsets_add(out, s->embedder.links[i].other, echo, error));
    }
    return KG_OK;
}

static size_t most_offsets(size_t links) {
    return links;
}

static size_t parts(kg_score_term *out, const kg_term_view *view) {
    (void)view;
    if (out != NULL)
        out[0] = (kg_score_term){.name = kg__term_echo.name};
    return 1;
}

static kg_status explain(kg_explain_use *use, size_t number, kg_error *error) {
    const kg_embedder *embedder = &use->scorer->embedder;
    (void)error;
    for (size_t i = 0; i < embedder->count; i++) {
        if (embedder->links[i].other != use->target.other)
            continue;
        double echo = echo_of(use->scorer, number, i);
        kg__explanation_add(use->out, use->first, i, echo);
        use->out->terms[use->first].part += echo;
    }
    return KG_OK;
}

const kg_term kg__term_echo = {
    .name = "echo",
    .title = "an echo: it leads to the answer",
    .goes_with = goes_with,
    .count = count,
    .params = params,
    .close = close,
    .take_over = take_over,
    .open = open,
    .pack = pack,
    .forward = forward,
    .backward = backward,
    .offsets = offsets,
    .most_offsets = most_offsets,
    .parts = parts,
    .explain = explain,
};
