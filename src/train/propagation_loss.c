/* The loss that propagation is trained with, apart from other terms: softmax over all entities,
 * those that are not reached by classes of degree, all of a class having the same score; other
 * known answers are left out.
 *
 * Echoes, answers that the entity has another fact with, are many in most graphs and soon learned:
 * a share of them is asked, with a weight that makes up for it. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "terms/propagation_term.h"
#include "train/loss.h"

#define ECHO_SHARE 0.25

/* Gradients on scores below are made sparse (kg__propagation_thin). */
#define LEAST_GRADIENT ((real)0.004)

/* A query on its way. */
struct query {
    kg_propagation_pass pass;
    size_t answer;   /* its place among what is scored, or `count` if it is not reached */
    size_t class;    /* of the answer, in that case */
    real weight;     /* of its loss */
    real *on_scores; /* scores; then gradients on them */
    real on_unreached[KG_DEGREE_CLASSES];
};

static bool is_echo(const kg_query_block *b, size_t i) {
    kg_link target = b->queries[i].target;
    for (size_t k = 0; k < b->link_count; k++)
        if (b->links[k].other == target.other && b->links[k].directed != target.directed)
            return true;
    return false;
}

/* Scores of all that competes, and which is the answer; the rest has none. */
static kg_status gather(struct query *q, const kg_query_block *b, kg_link target) {
    const kg_propagation_pass *pass = &q->pass;
    size_t known_count = 0;
    const kg_link *known = kg__links_run(b->links, b->link_count, target.directed, &known_count);
    q->answer = pass->count;
    q->on_scores = kg__arena_take(b->arena, pass->count, sizeof *q->on_scores);
    if (q->on_scores == NULL)
        return kg__fail_memory(b->error);
    for (size_t k = 0; k < pass->count; k++) {
        kg_link link = {target.directed, pass->entities[k]};
        bool is_answer = link.other == target.other;
        bool is_known = !is_answer && kg__links_find(known, known_count, link) < known_count;
        q->answer = is_answer ? k : q->answer;
        q->on_scores[k] = is_known ? (real)-INFINITY : pass->scores[k] + pass->log_weights[k];
    }
    for (size_t c = 0; c < KG_DEGREE_CLASSES; c++)
        q->on_unreached[c] = pass->unreached_counts[c] > 0
                                 ? pass->unreached_scores[c] + (real)log(pass->unreached_counts[c])
                                 : (real)-INFINITY;
    if (q->answer == pass->count)
        q->class = kg__propagation_class(pass->graph, &pass->query, target.other);
    return KG_OK;
}

/* From scores to gradients on them; returns the loss. */
static double compare(struct query *q) {
    const kg_propagation_pass *pass = &q->pass;
    bool is_reached = q->answer < pass->count;
    real own = is_reached ? q->on_scores[q->answer] : pass->unreached_scores[q->class];
    real largest = own;
    double sum = 0;
    for (size_t k = 0; k < pass->count; k++)
        largest = q->on_scores[k] > largest ? q->on_scores[k] : largest;
    for (size_t c = 0; c < KG_DEGREE_CLASSES; c++)
        largest = q->on_unreached[c] > largest ? q->on_unreached[c] : largest;
    for (size_t k = 0; k < pass->count; k++)
        sum += exp((double)(q->on_scores[k] - largest));
    for (size_t c = 0; c < KG_DEGREE_CLASSES; c++)
        sum += exp((double)(q->on_unreached[c] - largest));
    double log_sum = (double)largest + log(sum);
    for (size_t k = 0; k < pass->count; k++)
        q->on_scores[k] = (real)exp((double)q->on_scores[k] - log_sum);
    for (size_t c = 0; c < KG_DEGREE_CLASSES; c++)
        q->on_unreached[c] = (real)exp((double)q->on_unreached[c] - log_sum);
    *(is_reached ? &q->on_scores[q->answer] : &q->on_unreached[q->class]) -= 1;
    return log_sum - (double)own;
}

static kg_status learn(kg_query_block *b, size_t i, const kg_propagation *model,
                       kg_propagation_worker *worker) {
    kg_link target = b->queries[i].target;
    uint64_t random =
        kg__random(b->context->seed, KG_STREAM_LOCALS, kg__query_block_position(b, i));
    kg_propagation_query query = {.entity = b->range.entity,
                                  .links = b->links,
                                  .link_count = b->link_count,
                                  .asked = target.directed,
                                  .left_out = kg__links_find(b->links, b->link_count, target),
                                  .is_sampled = true,
                                  .random = random,
                                  .dropped = model->options.dropped *
                                             kg__random_unit(b->context->seed, KG_STREAM_DROPOUT,
                                                             kg__query_block_position(b, i)),
                                  .wanted = &target.other,
                                  .wanted_count = 1};
    struct query q = {.weight = 1};
    if (is_echo(b, i)) {
        q.weight = (real)(1 / ECHO_SHARE);
        if (kg__random_unit(b->context->seed, KG_STREAM_ECHOES, kg__query_block_position(b, i)) >=
            ECHO_SHARE)
            return KG_OK;
    }
    KG_TRY(kg__propagation_forward(&q.pass, model, &query, worker, b->arena, b->error));
    KG_TRY(gather(&q, b, target));
    b->loss += (double)q.weight * compare(&q);
    kg__propagation_thin(q.on_scores, &q.pass, LEAST_GRADIENT);
    for (size_t k = 0; k < q.pass.count; k++)
        q.on_scores[k] *= q.weight;
    for (size_t c = 0; c < KG_DEGREE_CLASSES; c++)
        q.on_unreached[c] *= q.weight;
    return kg__propagation_backward(&q.pass, q.on_scores, q.on_unreached, worker, b->grads,
                                    b->error);
}

static kg_status block(kg_query_block *b) {
    size_t number = kg__term_number(&kg__term_propagation);
    kg_propagation model = kg__propagation_view(&b->params->terms[number]);
    for (size_t i = 0; i < b->count; i++)
        KG_TRY(learn(b, i, &model, b->worker->states[number]));
    return KG_OK;
}

const kg_loss_row kg__loss_propagation = {
    .name = "propagation",
    .open_sampler = kg__entity_sampler_open,
    .parts = 8,
    .block = block,
};
