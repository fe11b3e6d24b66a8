/* The loss that propagation is trained with, apart from other terms: softmax over all entities,
 * those that are not reached by classes of degree, all of a class having the same score; other
 * known answers are left out.
 *
 * Echoes, answers that the entity has another fact with, are many in most graphs and soon learned,
 * so only a share of them is sampled. Where it is s, an entity that is linked to the queried one is
 * the answer s times as often as it should be; so log s is added to the scores of such entities
 * here, and the scores themselves become those of all queries. (To weight each that is sampled by
 * 1/s is unbiased, too, but they are most of the gradient's variance then: oFB15k-237 .4960 instead
 * of .5014 after 100,000 queries.) */
#include <math.h>

#include "base/random.h"
#include "math/vector.h"
#include "terms/propagation/query_links.h"
#include "terms/propagation_term.h"
#include "train/loss.h"

/* Gradients on scores below are made sparse (kg__propagation_sparsify). */
#define LEAST_GRADIENT ((real)0.004)

/* The state of a query. */
struct query {
    kg_propagation_pass pass;
    size_t answer;  /* its place among what follows */
    real own;       /* the answer's score */
    real linked;    /* what is added to the scores of entities that are linked to the queried one */
    real *compared; /* of what is scored, then of each class of what is not reached: scores of all
                     * that it stands for, then gradients on them */
};

/* Whether a candidate would be an echo: other known answers apart, all that is linked to the
 * queried entity is, but the answer counts only if another fact links it. */
static bool is_linked(const kg_propagation_pass *pass, size_t k, bool is_answer) {
    uint32_t node = pass->layers[pass->model->options.layers - 1].nodes[k];
    return kg__query_links_of(pass, node, pass->entities[k]).count > (is_answer ? 1 : 0);
}

/* Other known answers do not compete. */
static void gather_reached(struct query *q, const kg_propagation_query *asked, kg_link target) {
    const kg_propagation_pass *pass = &q->pass;
    size_t known_count = 0;
    const kg_link *known =
        kg__links_run(asked->links, asked->link_count, target.directed, &known_count);
    for (size_t k = 0; k < pass->count; k++) {
        kg_link link = {target.directed, pass->entities[k]};
        bool is_answer = link.other == target.other;
        bool is_known = !is_answer && kg__links_find(known, known_count, link) < known_count;
        real score = pass->scores[k] + (is_linked(pass, k, is_answer) ? q->linked : 0);
        q->compared[k] = is_known ? (real)-INFINITY : score + pass->log_weights[k];
        if (is_answer) {
            q->answer = k;
            q->own = score;
        }
    }
}

/* How many there are is an estimate, but an answer that is not reached is there. */
static void gather_unreached(struct query *q, kg_id answer) {
    const kg_propagation_pass *pass = &q->pass;
    size_t class = KG_DEGREE_CLASSES;
    if (q->answer == SIZE_MAX) {
        class = kg__propagation_class(pass->graph, &pass->query, answer);
        q->answer = pass->count + class;
        q->own = pass->unreached_scores[class];
    }
    for (size_t c = 0; c < KG_DEGREE_CLASSES; c++) {
        double count = fmax(pass->unreached_counts[c], c == class ? 1 : 0);
        q->compared[pass->count + c] = pass->unreached_scores[c] + (real)log(count);
    }
}

/* From scores to gradients on them; returns the loss. */
static double compare(struct query *q) {
    size_t count = q->pass.count + KG_DEGREE_CLASSES;
    real largest = kg__largest(q->compared, count);
    real sum = kg__exp_below(q->compared, largest, count);
    for (size_t k = 0; k < count; k++)
        q->compared[k] /= sum;
    q->compared[q->answer] -= 1;
    return (double)largest + log((double)sum) - (double)q->own;
}

static kg_status learn(kg_query_block *b, size_t i, const kg_propagation *model,
                       kg_propagation_worker *worker) {
    kg_link target = b->queries[i].target;
    const kg_link *links = kg__adjacency_links(b->context->graph, b->range.entity);
    size_t link_count = kg__adjacency_degree(b->context->graph, b->range.entity);
    uint64_t random =
        kg__random(b->context->seed, KG_STREAM_CANDIDATES, kg__query_block_position(b, i));
    kg_propagation_query query = {.entity = b->range.entity,
                                  .links = links, /* all, of which it samples by itself */
                                  .link_count = link_count,
                                  .queried = target.directed,
                                  .left_out = kg__links_find(links, link_count, target),
                                  .is_sampled = true,
                                  .random = random,
                                  .dropped = model->options.dropped *
                                             kg__random_unit(b->context->seed, KG_STREAM_DROPOUT,
                                                             kg__query_block_position(b, i)),
                                  .wanted = &target.other,
                                  .wanted_count = 1};
    double share = model->options.echoes;
    struct query q = {.linked = share > 0 ? (real)log(share) : 0, .answer = SIZE_MAX};
    if (kg__links_echo(links, link_count, target) &&
        kg__random_unit(b->context->seed, KG_STREAM_ECHOES, kg__query_block_position(b, i)) >=
            share)
        return KG_OK;
    KG_TRY(kg__propagation_forward(&q.pass, model, &query, worker, b->arena, b->error));
    size_t count = q.pass.count + KG_DEGREE_CLASSES;
    q.compared = kg__arena_take(b->arena, count, sizeof *q.compared);
    if (q.compared == NULL)
        return kg__fail_memory(b->error);
    gather_reached(&q, &query, target);
    gather_unreached(&q, target.other);
    b->loss += compare(&q);
    kg__propagation_sparsify(q.compared, &q.pass, LEAST_GRADIENT);
    return kg__propagation_backward(&q.pass, q.compared, q.compared + q.pass.count, worker,
                                    b->grads, b->error);
}

static kg_status block(kg_query_block *b) {
    size_t number = kg__term_number(&kg__term_propagation);
    kg_propagation model = kg__propagation_view(&b->params->terms[number]);
    for (size_t i = 0; i < b->count; i++)
        KG_TRY(learn(b, i, &model, b->worker->states[number]));
    return KG_OK;
}

const kg_loss kg__loss_propagation = {
    .name = "propagation",
    .open_sampler = kg__entity_sampler_open,
    .parts = 1,
    .block = block,
};
