/* The candidates that a portion's questions have for themselves: their answers; other ends of the
 * entity's facts, which may be echoed and so have a bonus as answers; and those that hints for any
 * of the questions lead to. Many other ends are sampled: every s-th of them, whose scores get log s
 * on top. A seen entity is a candidate for itself, and one that its own row makes likely where a
 * relation goes both ways; an unseen one would not be there. None of them is also met as a
 * negative. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "math/linear.h"
#include "math/vector.h"
#include "train/asking.h"

/* ---- Finding them ---- */

static size_t other_end(const kg_asking *a, size_t from) {
    size_t to = from + 1;
    while (to < a->link_count && a->by_other[to].other == a->by_other[from].other)
        to++;
    return to;
}

static bool is_before(kg_link a, kg_link b) {
    return a.directed != b.directed ? a.directed < b.directed : a.other < b.other;
}

/* Whether any of these links is asked for in the portion. */
static bool is_answer(const kg_asking *a, size_t from, size_t to) {
    kg_link first = a->asked[0];
    kg_link last = a->asked[a->question_count - 1];
    for (size_t i = from; i < to; i++)
        if (!is_before(a->by_other[i], first) && !is_before(last, a->by_other[i]))
            return true;
    return false;
}

static kg_status add_mask(const kg_asking *a, kg_masks *masks, kg_id entity) {
    uint32_t place = a->scene->places[entity];
    if (place == UINT32_MAX)
        return KG_OK;
    kg_mask *list = kg__grow(masks->list, &masks->capacity, masks->count + 1, sizeof *list);
    if (list == NULL)
        return kg__fail_memory(a->error);
    uint32_t from = (uint32_t)a->inquiry->question;
    masks->list = list;
    list[masks->count++] = (kg_mask){from, from + (uint32_t)a->question_count, place};
    return KG_OK;
}

static uint32_t add_local(const kg_asking *a, kg_local local) {
    kg_inquiry *q = a->inquiry;
    uint32_t *place = &a->worker->local_of[local.entity];
    if (*place == UINT32_MAX) {
        *place = (uint32_t)q->local_count;
        a->locals[q->local_count++] = local;
    }
    return *place;
}

static void add_hinted(const kg_asking *a) {
    for (size_t i = 0; i < a->question_count && a->hinted != NULL; i++)
        for (size_t k = 0; k < a->hint_counts[i]; k++) {
            kg_clue *clue = &a->hinted[i * KG_MOST_CANDIDATES + k];
            clue->local = add_local(a, (kg_local){clue->hint.entity, 0, 0, true, 0});
        }
}

/* Other ends of facts. Those that are there already count for themselves alone. */
static kg_status add_others(const kg_asking *a, kg_masks *masks) {
    const uint32_t *local_of = a->worker->local_of;
    size_t others = 0;
    for (size_t i = 0; i < a->link_count; i = other_end(a, i))
        others++;
    size_t every = (others - 1) / KG_MOST_SAMPLED + 1;
    size_t first = (size_t)kg__random_below(every, a->scene->seed, KG_STREAM_LOCALS,
                                            kg__asking_position(a, 0));
    real log_every = (real)log((double)every);
    size_t number = 0;
    for (size_t from = 0, to = 0; from < a->link_count; from = to, number++) {
        to = other_end(a, from);
        kg_local local = {a->by_other[from].other, (uint32_t)from, (uint32_t)to,
                          number % every == first, log_every};
        uint32_t place = local_of[local.entity];
        if (place != UINT32_MAX) {
            a->locals[place].from = local.from;
            a->locals[place].to = local.to;
        } else if (local.is_negative || is_answer(a, from, to)) {
            add_local(a, local);
        } else {
            KG_TRY(add_mask(a, masks, local.entity));
        }
    }
    return KG_OK;
}

static kg_status find_locals(const kg_asking *a, kg_masks *masks) {
    kg_inquiry *q = a->inquiry;
    uint32_t *local_of = a->worker->local_of;
    q->local_count = 0;
    add_hinted(a);
    kg_status status = add_others(a, masks);
    if (a->scene->psi < 1)
        add_local(a, (kg_local){.entity = q->portion.entity});
    for (size_t i = 0; i < a->question_count; i++)
        a->answers[i] = local_of[a->asked[i].other];
    for (size_t j = 0; j < q->local_count; j++)
        local_of[a->locals[j].entity] = UINT32_MAX;
    for (size_t j = 0; j < q->local_count && status == KG_OK; j++)
        status = add_mask(a, masks, a->locals[j].entity);
    return status == KG_OK && a->scene->psi == 1 ? add_mask(a, masks, q->portion.entity) : status;
}

/* ---- Scores ---- */

static void gather(const kg_asking *a, real *rows) {
    for (size_t j = 0; j < a->inquiry->local_count; j++)
        memcpy(rows + j * a->dim, kg__entity_row(a->params, a->locals[j].entity),
               a->dim * sizeof *rows);
}

/* What a candidate gets on top as an answer to the run's questions, and whether it is known as one.
 */
static real find_bonus(const kg_asking *a, const kg_asked_run *run, const kg_local *local,
                       bool *is_known) {
    real bonus = 0;
    *is_known = false;
    for (size_t i = local->from; i < local->to; i++) {
        kg_directed given = a->by_other[i].directed;
        if (given == run->directed)
            *is_known = true;
        else
            bonus += a->echoes[run->pair + kg__asking_group(a, given)];
    }
    return bonus;
}

/* Column j of the scores, for the questions of a run. Known answers are left out, but for the one
 * that is asked for. */
static void finish_scores(const kg_asking *a, const kg_asked_run *run, size_t j) {
    const kg_local *local = &a->locals[j];
    bool is_known = false;
    real bonus = find_bonus(a, run, local, &is_known);
    bool is_negative = local->is_negative && !is_known;
    for (size_t i = run->from; i < run->to; i++) {
        real *score = &a->scores[i * a->inquiry->local_count + j];
        if (local->entity == a->inquiry->portion.entity)
            *score = kg__asking_is_unseen(a, i) ? (real)-INFINITY : *score;
        else if (a->asked[i].other == local->entity)
            *score += bonus;
        else
            *score = is_negative ? *score + bonus + local->log_weight : (real)-INFINITY;
    }
}

static void add_up(const kg_asking *a, real *room) {
    size_t locals = a->inquiry->local_count;
    for (size_t i = 0; i < a->question_count; i++) {
        size_t question = a->inquiry->question + i;
        memcpy(room, a->scores + i * locals, locals * sizeof *room);
        real largest = kg__largest(room, locals);
        a->scene->own_largest[question] = largest;
        a->scene->own_sums[question] = kg__exp_below(room, largest, locals);
    }
}

kg_status kg__ask_locals(const kg_asking *a, kg_masks *masks) {
    KG_TRY(find_locals(a, masks));
    size_t locals = a->inquiry->local_count;
    real *rows = NULL;
    KG_TRY(kg__asking_room(a, &rows, locals * a->dim));
    gather(a, rows);
    kg__multiply(a->scores, a->question_count, locals, a->dim, 1, a->vectors, KG_AS_IS, rows,
                 KG_TRANSPOSED, 0);
    for (kg_asked_run run = {0}; kg__asked_next(a, &run);)
        for (size_t j = 0; j < locals; j++)
            finish_scores(a, &run, j);
    if (a->hinted != NULL)
        kg__ask_evidence(a);
    add_up(a, rows);
    return KG_OK;
}

/* ---- Back ---- */

/* Scores become the shares that candidates have of the sum, less 1 for the answer. */
static void turn_scores(const kg_asking *a) {
    size_t locals = a->inquiry->local_count;
    a->inquiry->loss = 0;
    for (size_t i = 0; i < a->question_count; i++) {
        real log_sum = a->scene->log_sums[a->inquiry->question + i];
        real *scores = a->scores + i * locals;
        size_t answer = a->answers[i];
        a->inquiry->loss += (double)log_sum - (double)scores[answer];
        kg__exp_below(scores, log_sum, locals);
        scores[answer] -= 1;
    }
}

static void turn_echoes(const kg_asking *a) {
    const kg_inquiry *q = a->inquiry;
    memset(a->echoes, 0, q->asked_count * q->group_count * sizeof *a->echoes);
    for (kg_asked_run run = {0}; kg__asked_next(a, &run);)
        for (size_t j = 0; j < q->local_count; j++) {
            real sum = 0;
            for (size_t i = run.from; i < run.to; i++)
                sum += a->scores[i * q->local_count + j];
            for (size_t i = a->locals[j].from; i < a->locals[j].to; i++) {
                kg_directed given = a->by_other[i].directed;
                if (given != run.directed)
                    a->echoes[run.pair + kg__asking_group(a, given)] += sum;
            }
        }
}

void kg__ask_locals_back(const kg_asking *a, real *g_locals) {
    size_t locals = a->inquiry->local_count;
    turn_scores(a);
    turn_echoes(a);
    if (a->hinted != NULL)
        kg__ask_evidence_back(a);
    gather(a, g_locals);
    kg__multiply(a->gradients, a->question_count, a->dim, locals, 1, a->scores, KG_AS_IS, g_locals,
                 KG_AS_IS, 1);
    kg__multiply(g_locals, locals, a->dim, a->question_count, 1, a->scores, KG_TRANSPOSED,
                 a->vectors, KG_AS_IS, 0);
}
