/* The echo term: the other end of a fact of the entity is the answer as well, as often as a pair of
 * directed relations makes it so. A candidate's score gets, for each link that the entity has with
 * it, what was learned for the pair of the queried relation and the link's. */
#include "terms/echo.h"

#include <stddef.h>
#include <string.h>

#include "base/lower_bound.h"
#include "base/memory.h"
#include "model/model.h"
#include "terms/query_block.h"
#include "terms/scorer.h"

#define TENSOR "echoes"

/* ---- What it counts and learns ---- */

/* Pairs that echo less often than this are coincidences. */
#define LEAST_TIMES 3
#define LEAST_SHARE 0.01

/* As good as none in the beginning. */
#define START 0.001

static kg_status start(kg_term_view *out, kg_pair_param **echo, kg_error *error) {
    *echo = kg__alloc(1, sizeof **echo);
    if (*echo == NULL)
        return kg__fail_memory(error);
    **echo = (kg_pair_param){.name = TENSOR, .start = START, .rate = 1};
    kg__pair_param_start(out, *echo);
    return KG_OK;
}

static kg_status count(kg_term_view *out, const kg_term_source *source, kg_error *error) {
    kg_pair_param *echo = NULL;
    KG_TRY(start(out, &echo, error));
    return kg__pairs_make_echoes(&echo->pairs, source->graph, source->directed_count, LEAST_TIMES,
                                 LEAST_SHARE, error);
}

static kg_status open(kg_term_view *out, kg_model *model, const char *path, kg_error *error) {
    kg_pair_param *echo = NULL;
    if (!kg__safetensors_has(&model->file, TENSOR))
        return KG_OK;
    KG_TRY(start(out, &echo, error));
    return kg__pair_param_open(out, model, path, error);
}

/* ---- Training ---- */

/* The queried fact is no echo of itself, nor are others of its relation. */
static uint32_t find_pair(const kg_pairs *echoing, kg_directed query, kg_directed given) {
    return given == query ? KG_NO_PAIR : kg__pairs_find(echoing, query, given);
}

/* For each run and candidate with links: the pair of each link. They are looked up once, since the
 * way back needs the same. Runs x links, in the order of the other end; KG_NO_PAIR: none. */
static uint32_t *look_up(kg_query_block *b, const kg_pairs *echoing) {
    uint32_t *pairs = kg__arena_take(b->arena, b->run_count, b->link_count * sizeof *pairs);
    for (size_t run = 0; run < b->run_count && pairs != NULL; run++)
        for (size_t j = 0; j < b->candidate_count; j++)
            for (size_t i = b->candidates[j].from; i < b->candidates[j].to; i++)
                pairs[run * b->link_count + i] =
                    find_pair(echoing, b->runs[run].query, b->by_other[i].directed);
    return pairs;
}

static kg_status forward(kg_query_block *b, size_t number) {
    const kg_term_view *view = &b->params->terms[number];
    const kg_pair_param *echo = view->counted;
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

/* Pairs of query i with links to its own candidate, from link `*link` by other end on; KG_NO_PAIR
 * behind the last. */
static uint32_t next_pair(const kg_query_block *b, size_t number, size_t i, size_t *link) {
    const kg_pair_param *echo = b->params->terms[number].counted;
    kg_link target = b->queries[i].target;
    uint32_t pair = KG_NO_PAIR;
    while (pair == KG_NO_PAIR && *link < b->link_count && b->by_other[*link].other == target.other)
        pair = find_pair(&echo->pairs, target.directed, b->by_other[(*link)++].directed);
    return pair;
}

/* Where these begin. An entity does not echo itself, and facts that are left out do not echo. */
static size_t first_link(const kg_query_block *b, size_t i) {
    kg_id candidate = b->queries[i].target.other;
    if (candidate == b->range.entity || b->context->exclude == KG_EXCLUDE_PAIR)
        return b->link_count;
    return kg__lower_bound(b->by_other, b->link_count, sizeof *b->by_other,
                           offsetof(kg_link, other), candidate);
}

static kg_status forward_one(kg_query_block *b, size_t number, size_t run, size_t i) {
    size_t link = first_link(b, i);
    uint32_t pair = 0;
    (void)run;
    while ((pair = next_pair(b, number, i, &link)) != KG_NO_PAIR)
        b->score += (double)b->params->terms[number].values[0][pair];
    return KG_OK;
}

static kg_status backward_one(kg_query_block *b, size_t number, size_t run, size_t i) {
    size_t link = first_link(b, i);
    uint32_t pair = 0;
    (void)run;
    while ((pair = next_pair(b, number, i, &link)) != KG_NO_PAIR) {
        real *sum = NULL;
        KG_TRY(kg__grads_sum(b->grads, &sum, b->params->terms[number].param, pair, b->error));
        *sum += (real)b->slope;
    }
    return KG_OK;
}

/* ---- Answering ---- */

/* What link i gives its other end. */
static double echo_of(const kg_scorer *s, size_t number, size_t i) {
    const kg_term_view *view = &s->embedder.params.terms[number];
    const kg_pair_param *echo = view->counted;
    if (s->embedder.query == KG_NO_QUERY)
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
    .count = count,
    .open = open,
    .forward = forward,
    .backward = backward,
    .forward_one = forward_one,
    .backward_one = backward_one,
    .offsets = offsets,
    .most_offsets = most_offsets,
    .parts = parts,
    .explain = explain,
};
