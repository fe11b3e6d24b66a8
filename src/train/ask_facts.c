/* An entity's facts, less the one that is asked for, become z and the vector that asks with it:
 *
 *     z = N^-power (sum over groups g of weight(asked, g) q_g - weight(asked, asked) q of the fact)
 *
 * where q_g is the sum of the group's facts. Query vectors are linear in the known end, so that is
 * the query vector of the sum of the group's other ends. All questions of the portion share these,
 * and those of a run also the sum over groups. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "math/linear.h"
#include "math/vector.h"
#include "train/asking.h"

/* N^-power: all questions have the same N. */
static real find_scale(const kg_asking *a) {
    return a->link_count > 1 ? (real)pow((double)(a->link_count - 1), -a->params->graft->power) : 0;
}

static size_t group_end(const kg_asking *a, size_t group) {
    return group + 1 < a->inquiry->group_count ? a->groups[group + 1] : a->link_count;
}

/* ---- Forward ---- */

static void find_groups(const kg_asking *a) {
    size_t group = 0;
    for (size_t i = 0; i < a->link_count; i = kg__group_end(a->links, a->link_count, i))
        a->groups[group++] = (uint32_t)i;
}

static void sum_groups(const kg_asking *a) {
    const real **others = a->worker->others;
    for (size_t i = 0; i < a->link_count; i++)
        others[i] = kg__entity_row(a->params, a->links[i].other);
    memset(a->sums, 0, a->inquiry->group_count * a->dim * sizeof *a->sums);
    for (size_t g = 0; g < a->inquiry->group_count; g++) {
        size_t from = a->groups[g];
        size_t to = group_end(a, g);
        real *sum = a->sums + g * a->dim;
        kg__add_rows(sum, others + from, to - from, a->link_count - to, a->dim);
        kg__fact_vector(a->params, a->queries + g * a->dim, a->links[from].directed, sum);
    }
}

/* Numbers and values of the pairs of one asked relation with all groups: both lists are sorted. */
static void look_up(const kg_asking *a, const kg_pairs *pairs, const real *values, real missing,
                    kg_directed asked, real *out, uint32_t *numbers) {
    size_t next = pairs->count > 0 ? pairs->starts[asked] : 0;
    size_t end = pairs->count > 0 ? pairs->starts[asked + 1] : 0;
    for (size_t g = 0; g < a->inquiry->group_count; g++) {
        kg_directed given = a->links[a->groups[g]].directed;
        while (next < end && pairs->given[next] < given)
            next++;
        bool found = next < end && pairs->given[next] == given;
        out[g] = found ? values[next] : missing;
        numbers[g] = found ? (uint32_t)next : KG_NO_PAIR;
    }
}

static void look_up_pairs(const kg_asking *a) {
    const kg_graft *graft = a->params->graft;
    for (kg_asked_run run = {0}; kg__asked_next(a, &run);) {
        look_up(a, &graft->weighted, graft->weights, 1, run.directed, a->weights + run.pair,
                a->weighted + run.pair);
        look_up(a, &graft->echoing, graft->echoes, 0, run.directed, a->echoes + run.pair,
                a->echoing + run.pair);
    }
}

/* The row of question i's own fact. */
static void own_fact(const kg_asking *a, real *out, size_t i) {
    kg__fact_vector(a->params, out, a->asked[i].directed,
                    kg__entity_row(a->params, a->asked[i].other));
}

/* z of question i, given the run's sum over all groups. */
static void embed(const kg_asking *a, const kg_asked_run *run, size_t i, const real *sum,
                  real *own) {
    real *z = a->z + i * a->dim;
    if (!kg__asking_is_unseen(a, i)) {
        memcpy(z, kg__entity_row(a->params, a->inquiry->portion.entity), a->dim * sizeof *z);
        return;
    }
    own_fact(a, own, i);
    memcpy(z, sum, a->dim * sizeof *z);
    kg__add_scaled(z, -a->weights[run->pair + run->group], own, a->dim);
    kg__scale(z, find_scale(a), a->dim);
}

/* Dropout is a share of 2^16, so that 64 random bits serve four numbers. */
#define SHARES 65536

static uint32_t dropped_shares(const kg_asking *a) {
    return (uint32_t)(a->scene->dropout * SHARES);
}

/* Drops what is not kept of a vector, or of a gradient on it, and makes up for it. */
static void drop(const kg_asking *a, size_t i, real *vector) {
    const bool *kept = a->scene->is_kept + (a->inquiry->question + i) * a->dim;
    uint32_t dropped = dropped_shares(a);
    real factor = (real)SHARES / (real)(SHARES - dropped);
    for (size_t k = 0; k < a->dim && dropped > 0; k++)
        vector[k] = kept[k] ? vector[k] * factor : 0;
}

static void choose_kept(const kg_asking *a, size_t i) {
    bool *kept = a->scene->is_kept + (a->inquiry->question + i) * a->dim;
    uint64_t position = kg__asking_position(a, i) * ((a->dim + 3) / 4);
    uint32_t dropped = dropped_shares(a);
    uint64_t bits = 0;
    for (size_t k = 0; k < a->dim && dropped > 0; k++) {
        if (k % 4 == 0)
            bits = kg__random(a->scene->seed, KG_STREAM_DROPOUT, position++);
        kept[k] = bits % SHARES >= dropped;
        bits /= SHARES;
    }
}

kg_status kg__ask_facts(const kg_asking *a) {
    size_t runs = a->inquiry->asked_count;
    real *sums = NULL;
    find_groups(a);
    look_up_pairs(a);
    KG_TRY(kg__asking_room(a, &sums, (runs + 1) * a->dim));
    real *own = sums + runs * a->dim;
    if (a->scene->psi > 0) {
        sum_groups(a);
        kg__multiply(sums, runs, a->dim, a->inquiry->group_count, 1, a->weights, KG_AS_IS,
                     a->queries, KG_AS_IS, 0);
    }
    for (kg_asked_run run = {0}; kg__asked_next(a, &run);)
        for (size_t i = run.from; i < run.to; i++) {
            real *vector = a->vectors + i * a->dim;
            embed(a, &run, i, sums + run.number * a->dim, own);
            kg__query_vector_adjoint(a->params, vector, run.directed, a->z + i * a->dim);
            choose_kept(a, i);
            drop(a, i, vector);
        }
    return KG_OK;
}

/* ---- Back ---- */

/* Relations that serve both uses have one sum. */
static void add_to_relation(const kg_asking *a, int use, kg_directed directed, const real *relation,
                            kg_end missing, const real *known, const real *g) {
    size_t which = a->params->aggregate_relations == NULL ? KG_OF_QUESTIONS : (size_t)use;
    size_t row = kg__relation_number(a->params, directed);
    a->params->scoring->relation_gradient(a->worker->relation_sums[which] + row * a->dim, relation,
                                          known, g, missing, a->dim);
    a->worker->is_summed[which][row] = true;
}

static void add_to_asked(const kg_asking *a, kg_directed directed, const real *z, const real *g) {
    add_to_relation(a, KG_OF_QUESTIONS, directed, kg__relation_row(a->params, directed),
                    kg__other_end(kg_directed_end(directed)), z, g);
}

static void add_to_given(const kg_asking *a, kg_directed directed, const real *known,
                         const real *g) {
    add_to_relation(a, KG_OF_FACTS, directed, kg__aggregate_relation_row(a->params, directed),
                    kg_directed_end(directed), known, g);
}

/* Gradients on vectors become those on z. */
static void turn_vectors(const kg_asking *a, real *room) {
    for (size_t i = 0; i < a->question_count; i++) {
        real *g = a->gradients + i * a->dim;
        kg_directed directed = a->asked[i].directed;
        drop(a, i, g);
        add_to_asked(a, directed, a->z + i * a->dim, g);
        kg__query_vector(a->params, room, directed, g);
        memcpy(g, room, a->dim * sizeof *g);
    }
}

/* What going back makes: gradients on */
struct back {
    real *seen;    /* dim: the entity's own row */
    real *runs;    /* runs x dim: the sums over z of a run */
    real *queries; /* groups x dim */
    real *weights; /* pairs */
    real *room;    /* 2 x dim */
};

static struct back lay_out(const kg_asking *a, real *room) {
    const kg_inquiry *q = a->inquiry;
    struct back b = {0};
    b.seen = room;
    b.runs = b.seen + a->dim;
    b.queries = b.runs + q->asked_count * a->dim;
    b.weights = b.queries + q->group_count * a->dim;
    b.room = b.weights + q->asked_count * q->group_count;
    return b;
}

size_t kg__ask_facts_room(const kg_asking *a) {
    const kg_inquiry *q = a->inquiry;
    return (3 + q->asked_count + q->group_count) * a->dim + q->asked_count * q->group_count;
}

/* Returns whether any question looked the entity's own row up. */
static bool add_up_runs(const kg_asking *a, const struct back *b) {
    bool has_seen = false;
    memset(b->seen, 0, (1 + a->inquiry->asked_count) * a->dim * sizeof *b->seen);
    for (kg_asked_run run = {0}; kg__asked_next(a, &run);)
        for (size_t i = run.from; i < run.to; i++) {
            bool unseen = kg__asking_is_unseen(a, i);
            has_seen = has_seen || !unseen;
            kg__add_scaled(unseen ? b->runs + run.number * a->dim : b->seen, 1,
                           a->gradients + i * a->dim, a->dim);
        }
    return has_seen;
}

/* What question i's own fact got with its group is taken off again. */
static void leave_out(const kg_asking *a, const kg_asked_run *run, size_t i, const struct back *b,
                      real *g_locals) {
    size_t pair = run->pair + run->group;
    kg_link link = a->asked[i];
    real *own = b->room;
    real *adjoint = b->room + a->dim;
    const real *g = a->gradients + i * a->dim;
    real scale = find_scale(a);
    own_fact(a, own, i);
    b->weights[pair] -= scale * kg__dot(own, g, a->dim);
    memcpy(own, g, a->dim * sizeof *own);
    kg__scale(own, -scale * a->weights[pair], a->dim);
    add_to_given(a, link.directed, kg__entity_row(a->params, link.other), own);
    kg__fact_vector_adjoint(a->params, adjoint, link.directed, own);
    kg__add_scaled(g_locals + a->answers[i] * a->dim, 1, adjoint, a->dim);
}

/* One vector for all other ends of a group. */
static kg_status emit_groups(const kg_asking *a, const struct back *b, kg_sheaf *sheaf) {
    for (size_t g = 0; g < a->inquiry->group_count; g++) {
        kg_directed directed = a->links[a->groups[g]].directed;
        real *vector = NULL;
        KG_TRY(kg__sheaf_add(sheaf, &vector, a->dim, a->error));
        kg__fact_vector_adjoint(a->params, vector, directed, b->queries + g * a->dim);
        add_to_given(a, directed, a->sums + g * a->dim, b->queries + g * a->dim);
        for (size_t i = a->groups[g]; i < group_end(a, g); i++)
            KG_TRY(kg__sheaf_send(sheaf, KG_LEARN_ENTITIES, a->links[i].other, a->error));
    }
    return KG_OK;
}

static kg_status emit_seen(const kg_asking *a, const struct back *b, kg_sheaf *sheaf) {
    real *vector = NULL;
    KG_TRY(kg__sheaf_add(sheaf, &vector, a->dim, a->error));
    memcpy(vector, b->seen, a->dim * sizeof *vector);
    return kg__sheaf_send(sheaf, KG_LEARN_ENTITIES, a->inquiry->portion.entity, a->error);
}

/* The way back to the facts that the entity was made of. */
static kg_status go_back_to_facts(const kg_asking *a, const struct back *b, kg_sheaf *sheaf,
                                  real *g_locals) {
    const kg_inquiry *q = a->inquiry;
    real scale = find_scale(a);
    kg__multiply(b->queries, q->group_count, a->dim, q->asked_count, scale, a->weights,
                 KG_TRANSPOSED, b->runs, KG_AS_IS, 0);
    kg__multiply(b->weights, q->asked_count, q->group_count, a->dim, scale, b->runs, KG_AS_IS,
                 a->queries, KG_TRANSPOSED, 0);
    for (kg_asked_run run = {0}; kg__asked_next(a, &run);)
        for (size_t i = run.from; i < run.to; i++)
            if (kg__asking_is_unseen(a, i))
                leave_out(a, &run, i, b, g_locals);
    memcpy(a->weights, b->weights, q->asked_count * q->group_count * sizeof *b->weights);
    return emit_groups(a, b, sheaf);
}

kg_status kg__ask_facts_back(const kg_asking *a, kg_sheaf *sheaf, real *g_locals, real *room) {
    const kg_inquiry *q = a->inquiry;
    struct back b = lay_out(a, room);
    turn_vectors(a, b.room);
    if (a->scene->n3 > 0)
        kg__ask_norms(a, g_locals);
    bool has_seen = add_up_runs(a, &b);
    if (a->scene->psi > 0)
        KG_TRY(go_back_to_facts(a, &b, sheaf, g_locals));
    else
        memset(a->weights, 0, q->asked_count * q->group_count * sizeof *a->weights);
    return has_seen ? emit_seen(a, &b, sheaf) : KG_OK;
}
