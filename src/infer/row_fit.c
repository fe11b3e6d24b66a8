/* Questions, what the model's own rows score as their answers, and ridge regression. */
#include "infer/row_fit.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "math/vector.h"
#include "rank/queries.h"

/* How much a row follows its questions: the ridge is this share of what would be right if the
 * scores of right answers differed by chance alone. Less costs known answers more than those that
 * came later gain (validation MRR of embedding and echo, known answers and later ones; without rows
 * .498 and .069 on oWN18RR, .423 and .044 on oFB15k-237):
 *
 *             oWN18RR       oFB15k-237
 *     1       .497  .371    .422  .080
 *     .1      .497  .393    .415  .151
 *     .03     .496  .412    .398  .205
 *     .01     .482  .456 */
#define SHARE 0.1

/* The model's own entities, and facts of each, that are looked at. */
#define SAMPLED 500
#define SAMPLED_FACTS 4

/* ---- Questions ---- */

/* All but the fact that answers, and those of an entity with itself; in the end at most
 * KG_MOST_ASKING. */
static size_t choose_asking(kg_row_fit *fit, kg_id entity, kg_link answer, const kg_link *facts,
                            size_t count) {
    size_t used = 0;
    for (size_t i = 0; i < count && fit->is_by_facts; i++)
        used += facts[i].other != entity &&
                (facts[i].directed != answer.directed || facts[i].other != answer.other);
    size_t step = (used + KG_MOST_ASKING - 1) / KG_MOST_ASKING;
    size_t chosen = 0;
    for (size_t i = 0, place = 0; i < count && used > 0; i++) {
        if (facts[i].other == entity ||
            (facts[i].directed == answer.directed && facts[i].other == answer.other))
            continue;
        if (place++ % step == 0)
            fit->asking[chosen++] = facts[i];
    }
    return chosen;
}

/* What an entity asks, its fact with the answer left out: sets `fit->vector`. False in `*is_asked`
 * if it has no other facts, where it would ask by them. */
static kg_status ask(kg_row_fit *fit, kg_embedder *embedder, bool *is_asked, kg_id entity,
                     kg_link answer, const kg_link *facts, size_t count, kg_error *error) {
    const real *z = kg__entity_row(&embedder->params, entity);
    size_t chosen = choose_asking(fit, entity, answer, facts, count);
    *is_asked = chosen > 0 || !fit->is_by_facts;
    if (chosen > 0) {
        KG_TRY(kg__embedder_load(embedder, fit->asking, chosen, error));
        kg__embedder_set_query(embedder, answer.directed);
        kg__embedder_embed(embedder, fit->z, KG_NOTHING);
        z = fit->z;
    }
    kg__query_vector_adjoint(&embedder->params, fit->vector, answer.directed, z);
    return KG_OK;
}

/* ---- The model's own rows ---- */

/* Numbers of a sample, and what is known of all by them. */
struct sample {
    double sum;
    double squares;
    size_t count;
};

static void add_number(struct sample *sample, double number) {
    if (!isfinite(number))
        return;
    sample->sum += number;
    sample->squares += number * number;
    sample->count++;
}

static double score(const kg_row_fit *fit, const kg_model *model, size_t entity) {
    return (double)kg__dot(fit->vector, kg__entity_row(&model->params, (kg_id)entity),
                           model->params.dim);
}

/* What the row of an entity scores as the answer to some of the questions that its facts answer,
 * and what another one does. */
static kg_status sample_entity(kg_row_fit *fit, struct sample scores[2], const kg_model *model,
                               kg_embedder *embedder, kg_id entity, kg_error *error) {
    kg_known_facts known = model->known;
    size_t entities = kg__model_own_entities(model);
    const kg_link *own = NULL;
    size_t count = 0;
    known.overlay = NULL; /* as they were trained */
    KG_TRY(kg__known_facts_links(&known, entity, &own, &count, error));
    for (size_t i = 0; i < count; i += count / SAMPLED_FACTS + 1) {
        kg_link answer = {kg__inverse(own[i].directed), entity};
        const kg_link *facts = NULL;
        size_t fact_count = 0;
        bool is_asked = false;
        if (own[i].other == entity)
            continue;
        KG_TRY(kg__known_facts_links(&known, own[i].other, &facts, &fact_count, error));
        KG_TRY(ask(fit, embedder, &is_asked, own[i].other, answer, facts, fact_count, error));
        if (!is_asked)
            continue;
        add_number(&scores[0], score(fit, model, entity));
        add_number(&scores[1], score(fit, model, (entity + entities / 2) % entities));
    }
    return KG_OK;
}

static kg_status learn(kg_row_fit *fit, const kg_model *model, kg_embedder *embedder,
                       kg_error *error) {
    size_t dim = model->params.dim;
    struct sample numbers = {0};
    struct sample scores[2] = {0}; /* of right answers, and of others */
    size_t entities = kg__model_own_entities(model);
    for (size_t e = 0; e < entities; e += entities / SAMPLED + 1) {
        for (size_t k = 0; k < dim; k++)
            add_number(&numbers, (double)kg__entity_row(&model->params, (kg_id)e)[k]);
        KG_TRY(sample_entity(fit, scores, model, embedder, (kg_id)e, error));
    }
    double square = numbers.count == 0 ? 0 : numbers.squares / (double)numbers.count;
    fit->size = sqrt(square);
    if (scores[0].count == 0 || scores[1].count == 0 || square == 0)
        return KG_OK;
    fit->target = scores[0].sum / (double)scores[0].count;
    fit->wrong = scores[1].sum / (double)scores[1].count;
    double variance = scores[0].squares / (double)scores[0].count - fit->target * fit->target;
    fit->ridge = variance > 0 ? SHARE * variance / square : 0;
    return KG_OK;
}

static kg_status allocate(kg_row_fit *fit, size_t dim, kg_error *error) {
    fit->z = kg__alloc(dim, sizeof *fit->z);
    fit->vector = kg__alloc(dim, sizeof *fit->vector);
    fit->start = kg__alloc(dim, sizeof *fit->start);
    fit->questions = kg__alloc(KG_MOST_FITTED * dim, sizeof *fit->questions);
    if (fit->z == NULL || fit->vector == NULL || fit->start == NULL || fit->questions == NULL)
        return kg__fail_memory(error);
    return KG_OK;
}

kg_status kg__row_fit_open(kg_row_fit *fit, const kg_model *model, kg_embedder *embedder,
                           kg_error *error) {
    size_t dim = model->params.dim;
    *fit = (kg_row_fit){.is_by_facts = kg__queries_by_facts(model)};
    KG_TRY(allocate(fit, dim, error));
    return dim == 0 ? KG_OK : learn(fit, model, embedder, error);
}

kg_status kg__row_fit_fork(kg_row_fit *out, const kg_row_fit *fit, size_t dim, kg_error *error) {
    *out = (kg_row_fit){.is_by_facts = fit->is_by_facts,
                        .size = fit->size,
                        .target = fit->target,
                        .wrong = fit->wrong,
                        .ridge = fit->ridge};
    return allocate(out, dim, error);
}

void kg__row_fit_close(kg_row_fit *fit) {
    kg__free(fit->z);
    kg__free(fit->vector);
    kg__free(fit->start);
    kg__free(fit->questions);
    kg__arena_free(&fit->arena);
    *fit = (kg_row_fit){0};
}

/* ---- A row ---- */

void kg__row_fit_start_at(kg_row_fit *fit, const real *row, size_t dim) {
    kg__arena_reset(&fit->arena);
    for (size_t k = 0; k < dim; k++)
        fit->start[k] = (double)row[k];
    fit->count = 0;
}

void kg__row_fit_start(kg_row_fit *fit, kg_name name, size_t dim) {
    const double signs[] = {-fit->size, fit->size}; /* no branches that nobody can predict */
    uint64_t bits = 0;
    kg__arena_reset(&fit->arena);
    for (size_t k = 0; k < dim; k++, bits >>= 1) {
        if (k % 64 == 0)
            bits = kg__random(name.hash, KG_STREAM_LATER_ROWS, k / 64);
        fit->start[k] = signs[bits & 1];
    }
    fit->count = 0;
}

kg_status kg__row_fit_add(kg_row_fit *fit, kg_embedder *embedder, kg_link link, double target,
                          const kg_link *facts, size_t count, kg_error *error) {
    size_t dim = embedder->params.dim;
    kg_link answer = {kg__inverse(link.directed), KG_NO_ID};
    double *question = fit->questions + fit->count * dim;
    bool is_asked = false;
    KG_TRY(ask(fit, embedder, &is_asked, link.other, answer, facts, count, error));
    for (size_t k = 0; k < dim; k++)
        question[k] = (double)fit->vector[k];
    fit->targets[fit->count] = target - kg__dot_wide(question, fit->start, dim);
    fit->count += is_asked;
    return KG_OK;
}

kg_status kg__row_fit_finish(kg_row_fit *fit, real *row, size_t dim, kg_error *error) {
    kg_ridge ridge;
    double *moved = NULL;
    for (size_t k = 0; k < dim; k++)
        row[k] = (real)fit->start[k];
    if (fit->count == 0 || fit->ridge == 0)
        return KG_OK;
    if (!kg__take_wide(&fit->arena, &moved, 1, dim) ||
        !kg__ridge_open(&ridge, &fit->arena, dim, fit->count, 0))
        return kg__fail_memory(error);
    kg__ridge_load(&ridge, fit->ridge, fit->questions, fit->targets, fit->count);
    kg__ridge_leave_out(&ridge, (kg_left_out){0});
    kg__ridge_fit(&ridge, moved);
    for (size_t k = 0; k < dim; k++)
        row[k] = (real)(fit->start[k] + moved[k]);
    return KG_OK;
}
