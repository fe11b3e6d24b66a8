/* The echo term: the other end of a fact of the entity is the answer as well, as often as a pair of
 * directed relations makes it so. A candidate's score gets, for each link that the entity has with
 * it, what was learned for the pair of the asked relation and the link's. */
#include <string.h>

#include "terms/query_block.h"

/* For each run and candidate with links: the pair of each link. They are looked up once, since the
 * way back needs the same. */
struct echo {
    uint32_t *pairs; /* runs x links, in the order of the other end; KG_NO_PAIR: none */
};

static bool is_on(const kg_step_context *context) {
    return context->params->graft != NULL && context->params->graft->echoing.count > 0;
}

static kg_status look_up(kg_query_block *b) {
    const kg_pairs *echoing = &b->params->graft->echoing;
    struct echo *echo = kg__arena_take(b->arena, 1, sizeof *echo);
    b->echo = echo;
    if (echo != NULL)
        echo->pairs = kg__arena_take(b->arena, b->run_count, b->link_count * sizeof *echo->pairs);
    if (echo == NULL || echo->pairs == NULL)
        return kg__fail_memory(b->error);
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t j = 0; j < b->candidate_count; j++)
            for (size_t i = b->candidates[j].from; i < b->candidates[j].to; i++) {
                kg_directed given = b->by_other[i].directed;
                echo->pairs[run * b->link_count + i] =
                    given == b->runs[run].asked
                        ? KG_NO_PAIR
                        : kg__pairs_find(echoing, b->runs[run].asked, given);
            }
    return KG_OK;
}

static kg_status forward(kg_query_block *b) {
    const kg_graft *graft = b->params->graft;
    KG_TRY(look_up(b));
    const struct echo *echo = b->echo;
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t j = 0; j < b->candidate_count; j++) {
            real sum = 0;
            for (size_t i = b->candidates[j].from; i < b->candidates[j].to; i++) {
                uint32_t pair = echo->pairs[run * b->link_count + i];
                sum += pair == KG_NO_PAIR ? 0 : graft->echoes[pair];
            }
            for (size_t i = b->runs[run].from; i < b->runs[run].to && sum != 0; i++)
                b->scores[i * b->candidate_count + j] += sum;
        }
    return KG_OK;
}

static kg_status backward(kg_query_block *b) {
    const struct echo *echo = b->echo;
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t j = 0; j < b->candidate_count; j++) {
            real g = 0;
            for (size_t i = b->runs[run].from; i < b->runs[run].to; i++)
                g += b->scores[i * b->candidate_count + j];
            for (size_t i = b->candidates[j].from; i < b->candidates[j].to; i++) {
                uint32_t pair = echo->pairs[run * b->link_count + i];
                real *sum = NULL;
                if (pair == KG_NO_PAIR)
                    continue;
                KG_TRY(
                    kg__grads_sum(b->grads, &sum, b->params->graft->echoes_param, pair, b->error));
                *sum += g;
            }
        }
    return KG_OK;
}

const kg_term kg__term_echo = {
    .name = "echo",
    .is_on = is_on,
    .forward = forward,
    .backward = backward,
};
