/* Room, and embedding. */
#include "infer/workspace.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/nonfinite.h"
#include "rank/queries.h"

#define MOST_THREADS 1024

static kg_status check_options(const kg_workspace_options *options, kg_error *error) {
    if (options->threads < 1 || options->threads > MOST_THREADS)
        return kg_fail(error, KG_BAD_INPUT, "threads: expected 1 to %d, found %d", MOST_THREADS,
                       options->threads);
    return KG_OK;
}

kg_status kg__workspace_reserve_facts(kg_workspace *workspace, size_t facts, kg_error *error) {
    kg_link *links = kg__grow(workspace->links, &workspace->link_room, facts, sizeof *links);
    if (links == NULL)
        return kg__fail_memory(error);
    workspace->links = links;
    kg_link *answered =
        kg__grow(workspace->answered, &workspace->answered_room, facts + 1, sizeof *answered);
    if (answered == NULL)
        return kg__fail_memory(error);
    workspace->answered = answered;
    return KG_OK;
}

static kg_status make_room(kg_workspace *workspace, const kg_workspace_options *options,
                           kg_error *error) {
    const kg_params *params = &workspace->model->params;
    workspace->z = kg__resize(NULL, params->dim, sizeof *workspace->z);
    workspace->vectors = kg__resize(NULL, KG_TILE * params->dim, sizeof *workspace->vectors);
    if (workspace->z == NULL || workspace->vectors == NULL)
        return kg__fail_memory(error);
    KG_TRY(kg__top_open(&workspace->top, params, workspace->model->entities.count,
                        (size_t)options->threads, error));
    KG_TRY(kg__approx_scores_open(&workspace->proposals, &workspace->top.blocks, error));
    KG_TRY(kg__embedder_reserve(&workspace->blend, options->facts, error));
    KG_TRY(kg__workspace_reserve_facts(workspace, options->facts, error));
    size_t bonuses = kg__embedder_most_bonuses(&workspace->blend, options->facts);
    KG_TRY(kg__score_offsets_reserve(&workspace->bonuses, KG_TILE * bonuses, error));
    return kg__workspace_reserve(workspace, options->answers, error);
}

kg_status kg_workspace_open(kg_workspace **out, const kg_model *model,
                            const kg_workspace_options *options, kg_error *error) {
    KG_NEED(out);
    *out = NULL;
    KG_NEED(model);
    KG_NEED(options);
    kg_aggregate_overrides wish = {options->aggregate, options->ls_rows, options->ls_lambda,
                                   options->ials_alpha, options->ials_lambda};
    kg_aggregate_options aggregate;
    kg_params params = model->params;
    KG_TRY(check_options(options, error));
    KG_TRY(kg__overrides_take(&wish, error));
    KG_TRY(kg__aggregate_choose(&aggregate, &wish, model, error));
    kg_workspace *workspace = kg__alloc(1, sizeof *workspace);
    if (workspace == NULL)
        return kg__fail_memory(error);
    workspace->model = model;
    kg_status status = kg__gram_make(&workspace->gram, aggregate.aggregator, &params,
                                     model->entities.count, error);
    params.gram = workspace->gram;
    kg__embedder_open(&workspace->blend, aggregate, params);
    if (status == KG_OK)
        status = make_room(workspace, options, error);
    if (status == KG_OK)
        *out = workspace;
    else
        kg_workspace_close(workspace);
    return status;
}

void kg_workspace_close(kg_workspace *workspace) {
    if (workspace == NULL)
        return;
    kg__embedder_close(&workspace->blend);
    kg__free(workspace->gram);
    kg__top_close(&workspace->top);
    kg__score_offsets_free(&workspace->bonuses);
    kg__free(workspace->links);
    kg__free(workspace->answered);
    kg__free(workspace->through);
    kg__free(workspace->z);
    kg__free(workspace->vectors);
    kg__approx_scores_close(&workspace->proposals);
    kg__free(workspace->lists);
    kg__free(workspace->merged);
    kg__free(workspace->known);
    kg__free(workspace->linked);
    kg__free(workspace);
}

bool kg_is_calibrated(const kg_workspace *workspace) {
    return workspace != NULL &&
           kg__aggregate_is_calibrated(&workspace->blend.options, workspace->model);
}

/* Fewer of the longer lists are made at once, so that shorter ones may take more room together. */
kg_status kg__workspace_reserve(kg_workspace *workspace, size_t answers, kg_error *error) {
    size_t entries = kg__top_tile(&workspace->top, answers) * kg__list_length(workspace, answers);
    if (entries > workspace->entries) {
        kg_candidate *lists = kg__resize(workspace->lists, entries, sizeof *lists);
        if (lists == NULL)
            return kg__fail_memory(error);
        workspace->lists = lists;
        workspace->entries = entries;
    }
    if (answers > workspace->answers) {
        kg_candidate *merged = kg__resize(workspace->merged, answers, sizeof *merged);
        if (merged == NULL)
            return kg__fail_memory(error);
        workspace->merged = merged;
        workspace->answers = answers;
    }
    return kg__top_reserve(&workspace->top, answers, error);
}

/* ---- Subjects ---- */

static kg_status check_links(const kg_model *model, kg_subject subject, kg_error *error) {
    KG_NEED(subject.links);
    for (size_t i = 0; i < subject.count; i++) {
        kg_link link = subject.links[i];
        if (link.other >= model->entities.count || link.directed / 2 >= model->relations.count)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected facts with the model's %zu entities and %zu relations, found "
                           "entity %ju and relation %ju",
                           model->entities.count, model->relations.count, (uintmax_t)link.other,
                           (uintmax_t)(link.directed / 2));
        bool ascends = i == 0 || subject.links[i - 1].directed < link.directed ||
                       (subject.links[i - 1].directed == link.directed &&
                        subject.links[i - 1].other < link.other);
        if (!ascends)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected facts as kg_links_sort leaves them, found fact %zu out of "
                           "order or repeated",
                           i);
    }
    return KG_OK;
}

kg_status kg__subject_check(const kg_workspace *workspace, kg_subject subject, kg_error *error) {
    const kg_model *model = workspace->model;
    if (subject.entity == KG_NO_ID && subject.count == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected at least one fact about a new entity, found none");
    if (subject.entity == KG_NO_ID)
        return check_links(model, subject, error);
    if (subject.entity >= model->entities.count)
        return kg_fail(error, KG_BAD_INPUT, "expected one of the model's %zu entities, found %ju",
                       model->entities.count, (uintmax_t)subject.entity);
    return KG_OK;
}

kg_status kg__subject_links(const kg_workspace *workspace, kg_subject subject, const kg_link **out,
                            size_t *count, kg_error *error) {
    *out = subject.links;
    *count = subject.count;
    if (subject.entity == KG_NO_ID)
        return KG_OK;
    return kg_known_links(workspace->model, subject.entity, out, count, error);
}

/* The facts that an entity of the model is made of: not those with itself. */
static kg_status copy_links(kg_workspace *workspace, kg_id entity, size_t *count, kg_error *error) {
    const kg_link *known = NULL;
    size_t known_count = 0;
    *count = 0;
    KG_TRY(kg_known_links(workspace->model, entity, &known, &known_count, error));
    KG_TRY(kg__workspace_reserve_facts(workspace, known_count, error));
    for (size_t i = 0; i < known_count; i++)
        if (known[i].other != entity)
            workspace->links[(*count)++] = known[i];
    return KG_OK;
}

/* A model that was trained to see every entity through its facts has rows only for others to be
 * linked to; so also its own entities are asked about through their facts, if they have any. */
static kg_status take_known(kg_workspace *workspace, kg_id entity, kg_error *error) {
    const kg_params *params = &workspace->model->params;
    size_t count = 0;
    if (kg__queries_by_facts(workspace->model))
        KG_TRY(copy_links(workspace, entity, &count, error));
    workspace->is_blended = count > 0;
    workspace->is_embedded = false;
    memcpy(workspace->z, kg__entity_row(params, entity), params->dim * sizeof *workspace->z);
    return count == 0
               ? KG_OK
               : kg__embedder_load(&workspace->blend, entity, workspace->links, count, error);
}

kg_status kg__subject_take(kg_workspace *workspace, kg_subject subject, kg_error *error) {
    KG_TRY(kg__subject_check(workspace, subject, error));
    if (subject.entity != KG_NO_ID)
        return take_known(workspace, subject.entity, error);
    KG_TRY(kg__embedder_load(&workspace->blend, KG_NO_ID, subject.links, subject.count, error));
    workspace->is_blended = true;
    workspace->is_embedded = false;
    kg__subject_ask(workspace, KG_NO_QUESTION);
    return KG_OK;
}

void kg__subject_ask(kg_workspace *workspace, kg_directed asked) {
    if (!workspace->is_blended)
        return;
    kg__embedder_ask(&workspace->blend, asked);
    if (!workspace->is_embedded || workspace->blend.options.aggregator->is_asked)
        kg__embedder_embed(&workspace->blend, workspace->z, KG_NOTHING);
    workspace->is_embedded = true;
}

kg_status kg_embed(kg_workspace *workspace, float *vector, kg_subject subject, kg_directed asked,
                   kg_error *error) {
    KG_NEED(workspace);
    KG_NEED(vector);
    size_t directed_count = 2 * workspace->model->relations.count;
    if (asked != KG_NO_QUESTION && asked >= directed_count)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected one of the model's %zu directed relations, found %ju",
                       directed_count, (uintmax_t)asked);
    KG_TRY(kg__subject_take(workspace, subject, error));
    if (asked != KG_NO_QUESTION)
        kg__subject_ask(workspace, asked);
    bool good = true;
    for (size_t k = 0; k < workspace->model->params.dim; k++) {
        vector[k] = (float)workspace->z[k];
        good = good && isfinite(workspace->z[k]);
    }
    return good ? KG_OK : kg__nonfinite_fail("a number of a vector", error);
}

/* ---- Calibration ---- */

real kg__log_odds(const kg_model *model, kg_directed directed, real score) {
    const real *calibration = model->calibration;
    if (calibration == NULL)
        return (real)NAN;
    return calibration[2 * (size_t)directed] * score + calibration[2 * (size_t)directed + 1];
}

float kg__probability(real log_odds) {
    return (float)(1 / (1 + exp(-(double)log_odds)));
}
