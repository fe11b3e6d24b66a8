/* The step, phase by phase: plan, catch up, ask, meet the negatives, go back, update. */
#include "train/quiz.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "math/linear.h"
#include "math/vector.h"
#include "train/ask.h"
#include "train/negatives.h"
#include "train/softmax.h"
#include "train/vacancies.h"

#define USUAL_CHUNKS 32
#define MOST_CHUNKS (USUAL_CHUNKS + 1)

/* Portions `from` up to `to`, which one thread takes. */
struct chunk {
    size_t from;
    size_t to;
    kg_masks masks;
};

struct kg_quiz {
    kg_quiz_options options;
    kg_quiz_parts parts;
    kg_ask_scene scene;
    kg_softmax *softmax;
    kg_link *by_other;
    kg_learner entities;
    kg_learner relations;
    kg_learner aggregate_relations;
    kg_ask_worker *workers;
    int worker_count;

    kg_inquiry *inquiries;
    size_t inquiry_capacity;
    size_t inquiry_count;
    kg_directed *asked; /* of each question */
    size_t question_count;
    size_t pair_count;
    struct chunk chunks[MOST_CHUNKS];
    size_t chunk_count;
    kg_sheaf sheaves[MOST_CHUNKS + 1]; /* one for each, and one for the negatives */
    kg_masks masks;                    /* of all chunks */

    kg_negatives negatives;
    real *weight_gradients; /* of pairs, zero between steps */
    real *echo_gradients;
    uint32_t *touched_pairs;

    kg_vacancies vacancies;
    real *worth_gradients; /* of rows of the worth, zero between steps */
};

static int compare_by_other(const void *a, const void *b) {
    const kg_link *x = a;
    const kg_link *y = b;
    if (x->other != y->other)
        return x->other < y->other ? -1 : 1;
    return x->directed < y->directed ? -1 : x->directed > y->directed;
}

static kg_status sort_links(kg_quiz *q, kg_error *error) {
    const kg_adjacency *graph = q->parts.graph;
    size_t count = (size_t)graph->starts[graph->entity_count];
    q->by_other = kg__resize(NULL, count, sizeof *q->by_other);
    if (q->by_other == NULL)
        return kg__fail_memory(error);
    memcpy(q->by_other, graph->links, count * sizeof *q->by_other);
    for (kg_id v = 0; v < graph->entity_count; v++)
        qsort(q->by_other + graph->starts[v], kg__adjacency_degree(graph, v), sizeof *q->by_other,
              compare_by_other);
    return KG_OK;
}

static size_t find_most_links(const kg_adjacency *graph) {
    size_t most = 0;
    for (kg_id v = 0; v < graph->entity_count; v++)
        if (kg__adjacency_degree(graph, v) > most)
            most = kg__adjacency_degree(graph, v);
    return most;
}

static kg_status open_learners(kg_quiz *q, kg_error *error) {
    const kg_quiz_parts *p = &q->parts;
    int threads = q->options.threads;
    KG_TRY(kg__learner_open(&q->entities, KG_LEARN_ENTITIES, p->entities, p->optimizer, threads,
                            error));
    KG_TRY(kg__learner_open(&q->relations, KG_LEARN_RELATIONS, p->relations, p->optimizer, threads,
                            error));
    if (p->aggregate_relations != NULL)
        KG_TRY(kg__learner_open(&q->aggregate_relations, KG_LEARN_AGGREGATE_RELATIONS,
                                p->aggregate_relations, p->optimizer, threads, error));
    return KG_OK;
}

static kg_status open_pairs(kg_quiz *q, kg_error *error) {
    size_t weights = q->parts.weights == NULL ? 0 : q->parts.weights->rows;
    size_t echoes = q->parts.echoes == NULL ? 0 : q->parts.echoes->rows;
    q->weight_gradients = kg__alloc(weights, sizeof *q->weight_gradients);
    q->echo_gradients = kg__alloc(echoes, sizeof *q->echo_gradients);
    q->touched_pairs = kg__alloc(weights > echoes ? weights : echoes, sizeof *q->touched_pairs);
    bool good =
        q->weight_gradients != NULL && q->echo_gradients != NULL && q->touched_pairs != NULL;
    return good ? KG_OK : kg__fail_memory(error);
}

static kg_status open_evidence(kg_quiz *q, kg_error *error) {
    const kg_table *worth = q->parts.worth;
    q->worth_gradients = kg__alloc(worth->rows * worth->dim, sizeof *q->worth_gradients);
    if (q->worth_gradients == NULL)
        return kg__fail_memory(error);
    return kg__vacancies_open(&q->vacancies, q->parts.params.evidence, q->parts.most_questions,
                              error);
}

static kg_status open_parts(kg_quiz *q, kg_error *error) {
    KG_TRY(sort_links(q, error));
    q->scene.by_other = q->by_other;
    q->asked = kg__alloc(q->parts.most_questions, sizeof *q->asked);
    if (q->asked == NULL)
        return kg__fail_memory(error);
    KG_TRY(open_learners(q, error));
    KG_TRY(kg__negatives_open(&q->negatives, q->options.negatives, q->parts.graph->entity_count,
                              q->parts.params.dim, q->options.seed, error));
    q->scene.places = q->negatives.places;
    KG_TRY(kg__ask_scene_open(&q->scene, q->parts.most_questions, error));
    KG_TRY(open_pairs(q, error));
    if (q->parts.worth != NULL)
        KG_TRY(open_evidence(q, error));
    KG_TRY(kg__softmax_open(&q->softmax, q->options.threads, error));
    q->workers = kg__alloc((size_t)q->options.threads, sizeof *q->workers);
    if (q->workers == NULL)
        return kg__fail_memory(error);
    size_t most = find_most_links(q->parts.graph);
    for (; q->worker_count < q->options.threads; q->worker_count++)
        KG_TRY(kg__ask_worker_open(&q->workers[q->worker_count], &q->scene, most, error));
    return KG_OK;
}

kg_status kg__quiz_open(kg_quiz **out, const kg_quiz_options *options, const kg_quiz_parts *parts,
                        kg_error *error) {
    kg_quiz *q = kg__alloc(1, sizeof *q);
    if (q == NULL)
        return kg__fail_memory(error);
    q->options = *options;
    q->parts = *parts;
    q->scene = (kg_ask_scene){
        .params = parts->params,
        .graph = parts->graph,
        .psi = options->psi,
        .dropout = options->dropout,
        .n3 = options->n3,
        .seed = options->seed,
        .relation_rows = parts->relations->rows,
        .clues = parts->clues,
    };
    kg_status status = open_parts(q, error);
    if (status != KG_OK) {
        kg__quiz_close(q);
        return status;
    }
    *out = q;
    return KG_OK;
}

void kg__quiz_close(kg_quiz *q) {
    if (q == NULL)
        return;
    for (int i = 0; i < q->worker_count; i++)
        kg__ask_worker_close(&q->workers[i]);
    kg__free(q->workers);
    for (size_t i = 0; i < MOST_CHUNKS; i++)
        kg__free(q->chunks[i].masks.list);
    for (size_t i = 0; i <= MOST_CHUNKS; i++)
        kg__sheaf_free(&q->sheaves[i]);
    kg__free(q->masks.list);
    kg__softmax_close(q->softmax);
    kg__learner_close(&q->entities);
    kg__learner_close(&q->relations);
    kg__learner_close(&q->aggregate_relations);
    kg__ask_scene_close(&q->scene);
    kg__free(q->by_other);
    kg__free(q->inquiries);
    kg__free(q->asked);
    kg__negatives_close(&q->negatives);
    kg__free(q->weight_gradients);
    kg__free(q->echo_gradients);
    kg__free(q->touched_pairs);
    kg__vacancies_close(&q->vacancies);
    kg__free(q->worth_gradients);
    kg__free(q);
}

/* ---- The plan ---- */

/* Where each portion's parts are. */
static kg_status place_portions(kg_quiz *q, const kg_portion *portions, size_t count,
                                kg_error *error) {
    kg_inquiry *inquiries =
        kg__grow(q->inquiries, &q->inquiry_capacity, count + 1, sizeof *inquiries);
    if (inquiries == NULL)
        return kg__fail_memory(error);
    q->inquiries = inquiries;
    kg_inquiry next = {0};
    for (size_t i = 0; i < count; i++) {
        next.portion = portions[i];
        kg__ask_measure(&next, &q->scene);
        inquiries[i] = next;
        size_t questions = portions[i].to - portions[i].from;
        const kg_link *links = kg__adjacency_links(q->parts.graph, portions[i].entity);
        for (size_t k = 0; k < questions; k++)
            q->asked[next.question + k] = links[portions[i].from + k].directed;
        next.question += questions;
        next.group += next.group_count;
        next.pair += next.asked_count * next.group_count;
        next.local += next.local_count;
        next.score += questions * next.local_count;
        next.vacancy += next.asked_count * next.local_count;
    }
    q->inquiry_count = count;
    q->question_count = next.question;
    q->pair_count = next.pair;
    return kg__ask_scene_fit(&q->scene, &next, error);
}

static size_t cost_of(const kg_quiz *q, size_t i) {
    const kg_portion *p = &q->inquiries[i].portion;
    return kg__adjacency_degree(q->parts.graph, p->entity) + 4 * (size_t)(p->to - p->from);
}

/* Chunks of about the same cost: each reaches it, but for the last. */
static void cut_chunks(kg_quiz *q) {
    size_t total = 0;
    for (size_t i = 0; i < q->inquiry_count; i++)
        total += cost_of(q, i);
    size_t enough = total / USUAL_CHUNKS + 1;
    q->chunk_count = 0;
    size_t from = 0;
    size_t cost = 0;
    for (size_t i = 0; i < q->inquiry_count; i++) {
        cost += cost_of(q, i);
        if (cost < enough && i + 1 < q->inquiry_count)
            continue;
        struct chunk *chunk = &q->chunks[q->chunk_count++];
        chunk->from = from;
        chunk->to = i + 1;
        from = i + 1;
        cost = 0;
    }
}

static void touch_hinted(kg_quiz *q, const kg_inquiry *inquiry) {
    const kg_ask_scene *s = &q->scene;
    size_t end = inquiry->question + inquiry->portion.to - inquiry->portion.from;
    for (size_t i = inquiry->question; s->clues != NULL && i < end; i++)
        for (size_t k = 0; k < s->hint_counts[i]; k++)
            kg__touched_add(&q->entities.touched,
                            s->hinted[i * KG_MOST_CANDIDATES + k].hint.entity);
}

static void touch_rows(kg_quiz *q) {
    const kg_adjacency *graph = q->parts.graph;
    const kg_params *params = &q->parts.params;
    bool own = q->parts.aggregate_relations != NULL;
    kg_touched *given = own ? &q->aggregate_relations.touched : &q->relations.touched;
    kg__touched_clear(&q->entities.touched);
    kg__touched_clear(&q->relations.touched);
    if (own)
        kg__touched_clear(given);
    for (size_t i = 0; i < q->negatives.count; i++)
        kg__touched_add(&q->entities.touched, q->negatives.entities[i]);
    for (size_t i = 0; i < q->inquiry_count; i++) {
        const kg_portion *p = &q->inquiries[i].portion;
        touch_hinted(q, &q->inquiries[i]);
        const kg_link *links = kg__adjacency_links(graph, p->entity);
        size_t count = kg__adjacency_degree(graph, p->entity);
        if (q->options.psi < 1)
            kg__touched_add(&q->entities.touched, p->entity);
        for (size_t j = 0; j < count; j++) {
            uint32_t row = (uint32_t)kg__relation_number(params, links[j].directed);
            kg__touched_add(&q->entities.touched, links[j].other);
            kg__touched_add(given, row);
            if (j >= p->from && j < p->to)
                kg__touched_add(&q->relations.touched, row);
        }
    }
}

/* Nothing but memory can run out there. */
static kg_status for_chunks(kg_quiz *q, kg_status (*what)(kg_quiz *, size_t), kg_error *error) {
    bool good = true;
#pragma omp parallel for schedule(dynamic) num_threads(q->options.threads) reduction(&& : good)
    for (size_t i = 0; i < q->chunk_count; i++)
        good = what(q, i) == KG_OK && good;
    return good ? KG_OK : kg__fail_memory(error);
}

static kg_status hint_chunk(kg_quiz *q, size_t number) {
    const struct chunk *chunk = &q->chunks[number];
    kg_ask_worker *worker = &q->workers[omp_get_thread_num()];
    for (size_t i = chunk->from; i < chunk->to; i++)
        KG_TRY(kg__ask_hints(&q->inquiries[i], &q->scene, worker, NULL));
    return KG_OK;
}

static kg_status plan(kg_quiz *q, const kg_portion *portions, size_t count, uint64_t step,
                      kg_error *error) {
    q->scene.step = step;
    KG_TRY(place_portions(q, portions, count, error));
    cut_chunks(q);
    kg__negatives_draw(&q->negatives, step);
    if (q->parts.clues != NULL)
        KG_TRY(for_chunks(q, hint_chunk, error));
    touch_rows(q);
    return KG_OK;
}

/* ---- The phases ---- */

/* Pairs are few numbers, and which of them are read is found out on the way: all catch up. */
static void catch_up_pairs(kg_table *table, const kg_optimizer *optimizer, uint64_t step) {
    for (size_t row = 0; table != NULL && row < table->rows; row++)
        kg__table_catch_up(table, optimizer, row, step);
}

static void catch_up(kg_quiz *q, uint64_t step) {
    kg__learner_catch_up(&q->entities, step);
    kg__learner_catch_up(&q->relations, step);
    if (q->parts.aggregate_relations != NULL)
        kg__learner_catch_up(&q->aggregate_relations, step);
    catch_up_pairs(q->parts.weights, q->parts.weight_optimizer, step);
    catch_up_pairs(q->parts.echoes, q->parts.echo_optimizer, step);
    catch_up_pairs(q->parts.worth, q->parts.worth_optimizer, step);
}

static kg_status ask_chunk(kg_quiz *q, size_t number) {
    struct chunk *chunk = &q->chunks[number];
    kg_ask_worker *worker = &q->workers[omp_get_thread_num()];
    chunk->masks.count = 0;
    for (size_t i = chunk->from; i < chunk->to; i++)
        KG_TRY(kg__ask_forward(&q->inquiries[i], &q->scene, worker, &chunk->masks, NULL));
    return KG_OK;
}

static kg_status go_back_chunk(kg_quiz *q, size_t number) {
    const struct chunk *chunk = &q->chunks[number];
    kg_ask_worker *worker = &q->workers[omp_get_thread_num()];
    kg_sheaf *sheaf = &q->sheaves[number];
    kg__sheaf_clear(sheaf);
    for (size_t i = chunk->from; i < chunk->to; i++)
        KG_TRY(kg__ask_backward(&q->inquiries[i], &q->scene, worker, sheaf, NULL));
    return kg__ask_emit_relations(&q->scene, worker, sheaf, NULL);
}

static kg_status gather_masks(kg_quiz *q, kg_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < q->chunk_count; i++)
        count += q->chunks[i].masks.count;
    kg_mask *list = kg__grow(q->masks.list, &q->masks.capacity, count, sizeof *list);
    if (list == NULL)
        return kg__fail_memory(error);
    q->masks.list = list;
    q->masks.count = 0;
    for (size_t i = 0; i < q->chunk_count; i++) {
        const kg_masks *own = &q->chunks[i].masks;
        if (own->count > 0)
            memcpy(list + q->masks.count, own->list, own->count * sizeof *list);
        q->masks.count += own->count;
    }
    return KG_OK;
}

static kg_status meet_negatives(kg_quiz *q, kg_error *error) {
    KG_TRY(gather_masks(q, error));
    kg__negatives_gather(&q->negatives, q->parts.params.entities);
    kg__vacancies_take(&q->vacancies, q->asked, q->question_count, q->negatives.entities);
    kg_softmax_batch batch = {
        .count = q->question_count,
        .dim = q->parts.params.dim,
        .vectors = q->scene.vectors,
        .negative_count = q->negatives.count,
        .negatives = q->negatives.rows,
        .log_weight = kg__negatives_log_weight(&q->negatives),
        .masks = q->masks.list,
        .mask_count = q->masks.count,
        .fill_features = q->vacancies.evidence == NULL ? NULL : kg__vacancies_fill,
        .feature_payload = &q->vacancies,
        .feature_kind_count = q->vacancies.asked_count,
        .feature_kinds = q->vacancies.kinds,
        .feature_worths = q->vacancies.worths,
        .worth_gradients = q->vacancies.gradients,
        .own_largest = q->scene.own_largest,
        .own_sums = q->scene.own_sums,
        .log_sums = q->scene.log_sums,
        .vector_gradients = q->scene.gradients,
        .negative_gradients = q->negatives.gradients,
    };
    return kg__softmax_run(q->softmax, &batch, error);
}

/* The gradients on negatives are a sheaf behind those of the chunks. */
static kg_status send_negatives(kg_quiz *q, kg_error *error) {
    kg_sheaf *sheaf = &q->sheaves[MOST_CHUNKS];
    size_t dim = q->parts.params.dim;
    kg__sheaf_clear(sheaf);
    for (size_t i = 0; i < q->negatives.count; i++) {
        real *vector = NULL;
        KG_TRY(kg__sheaf_add(sheaf, &vector, dim, error));
        memcpy(vector, q->negatives.gradients + i * dim, dim * sizeof *vector);
        KG_TRY(kg__sheaf_send(sheaf, KG_LEARN_ENTITIES, q->negatives.entities[i], error));
    }
    return KG_OK;
}

/* Gradients on pairs are few numbers: they are added up one after the other. */
static void update_pairs(kg_quiz *q, kg_table *table, const kg_optimizer *optimizer,
                         const uint32_t *numbers, const real *gradients, real *sums,
                         uint64_t step) {
    size_t touched = 0;
    for (size_t i = 0; i < q->pair_count; i++) {
        if (numbers[i] == KG_NO_PAIR)
            continue;
        if (table->steps[numbers[i]] != step) {
            table->steps[numbers[i]] = step;
            q->touched_pairs[touched++] = numbers[i];
        }
        sums[numbers[i]] += gradients[i];
    }
    for (size_t i = 0; i < touched; i++) {
        uint32_t number = q->touched_pairs[i];
        kg__table_step(table, optimizer, number, &sums[number], step);
        sums[number] = 0;
    }
}

/* The gradients on what features are worth, likewise. What negatives have of it comes on top. */
static void update_worth(kg_quiz *q, uint64_t step) {
    kg_table *table = q->parts.worth;
    for (size_t i = 0; i < q->question_count; i++) {
        real *sum = q->worth_gradients + q->asked[i] * table->dim;
        kg__add_scaled(sum, 1, q->scene.worth + i * table->dim, table->dim);
        if (q->vacancies.evidence != NULL)
            sum[KG_DEGREE_PRIOR] += q->vacancies.gradients[i];
    }
    for (size_t i = 0; i < q->question_count; i++) {
        kg_directed row = q->asked[i];
        real *sum = q->worth_gradients + row * table->dim;
        if (table->steps[row] == step)
            continue;
        kg__table_step(table, q->parts.worth_optimizer, row, sum, step);
        memset(sum, 0, table->dim * sizeof *sum);
    }
}

static kg_status update(kg_quiz *q, uint64_t step, kg_error *error) {
    size_t count = MOST_CHUNKS + 1;
    bool own = q->parts.aggregate_relations != NULL;
    KG_TRY(send_negatives(q, error));
    for (size_t i = q->chunk_count; i + 1 < count; i++)
        kg__sheaf_clear(&q->sheaves[i]);
    KG_TRY(kg__learner_group(&q->entities, q->sheaves, count, error));
    KG_TRY(kg__learner_group(&q->relations, q->sheaves, count, error));
    if (own)
        KG_TRY(kg__learner_group(&q->aggregate_relations, q->sheaves, count, error));
    kg__learner_step(&q->entities, step);
    kg__learner_step(&q->relations, step);
    if (own)
        kg__learner_step(&q->aggregate_relations, step);
    if (q->parts.weights != NULL)
        update_pairs(q, q->parts.weights, q->parts.weight_optimizer, q->scene.weighted,
                     q->scene.weights, q->weight_gradients, step);
    if (q->parts.echoes != NULL)
        update_pairs(q, q->parts.echoes, q->parts.echo_optimizer, q->scene.echoing, q->scene.echoes,
                     q->echo_gradients, step);
    if (q->parts.worth != NULL)
        update_worth(q, step);
    return KG_OK;
}

static kg_status take(kg_quiz *q, uint64_t step, double *loss, kg_error *error) {
    catch_up(q, step - 1);
    KG_TRY(for_chunks(q, ask_chunk, error));
    KG_TRY(meet_negatives(q, error));
    KG_TRY(for_chunks(q, go_back_chunk, error));
    *loss = 0;
    for (size_t i = 0; i < q->inquiry_count; i++)
        *loss += q->inquiries[i].loss;
    if (!isfinite(*loss))
        return kg_fail(error, KG_DIVERGED,
                       "the loss is no longer a number in step %ju: try a smaller rate",
                       (uintmax_t)step);
    return update(q, step, error);
}

kg_status kg__quiz_step(kg_quiz *q, const kg_portion *portions, size_t count, uint64_t step,
                        double *loss, kg_error *error) {
    kg_status status = plan(q, portions, count, step, error);
    if (status == KG_OK)
        status = take(q, step, loss, error);
    kg__negatives_forget(&q->negatives);
    return status;
}

void kg__quiz_catch_up(kg_quiz *q, uint64_t step) {
    const kg_quiz_parts *p = &q->parts;
    kg__learner_catch_up_all(&q->entities, p->graph->entity_count, step);
    kg__learner_catch_up_all(&q->relations, p->trained_relations, step);
    if (p->aggregate_relations != NULL)
        kg__learner_catch_up_all(&q->aggregate_relations, p->trained_relations, step);
    catch_up_pairs(p->weights, p->weight_optimizer, step);
    catch_up_pairs(p->echoes, p->echo_optimizer, step);
    catch_up_pairs(p->worth, p->worth_optimizer, step);
}
