/* Memory, subjects, embedding and calibration. */
#include "infer/workspace.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/nonfinite.h"
#include "rank/queries.h"

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

static kg_status allocate(kg_workspace *workspace, const kg_workspace_options *options,
                          kg_error *error) {
    const kg_params *params = &workspace->model->params;
    workspace->z = kg__resize(NULL, params->dim, sizeof *workspace->z);
    workspace->vectors = kg__resize(NULL, KG_TILE * params->dim, sizeof *workspace->vectors);
    if (workspace->z == NULL || workspace->vectors == NULL)
        return kg__fail_memory(error);
    KG_TRY(kg__top_open(&workspace->top, params, workspace->model->entities.count,
                        (size_t)options->threads, error));
    if (workspace->model->quantized.count > 0)
        KG_TRY(kg__top_use_quantized(&workspace->top, &workspace->model->quantized, error));
    KG_TRY(kg__approx_scores_open(&workspace->approx_scores, &workspace->top.blocks, error));
    KG_TRY(kg__embedder_reserve(&workspace->scorer.embedder, options->facts,
                                workspace->model->relations.count, error));
    KG_TRY(kg__workspace_reserve_facts(workspace, options->facts, error));
    size_t offsets = kg__scorer_most_offsets(&workspace->scorer, options->facts);
    KG_TRY(kg__score_offsets_reserve(&workspace->offsets, KG_TILE * offsets, error));
    return kg__workspace_reserve(workspace, options->answers, error);
}

static void close_row_fit(kg_workspace *workspace) {
    if (workspace->row_fit != NULL)
        kg__row_fit_close(workspace->row_fit);
    kg__free(workspace->row_fit);
    workspace->row_fit = NULL;
}

static void free_parts(kg_workspace *workspace) {
    kg__scorer_close(&workspace->scorer);
    close_row_fit(workspace);
    kg__free(workspace->gram);
    kg__top_close(&workspace->top);
    kg__score_offsets_free(&workspace->offsets);
    kg__free(workspace->links);
    kg__free(workspace->answered);
    kg__free(workspace->z);
    kg__free(workspace->vectors);
    kg__approx_scores_close(&workspace->approx_scores);
    kg__free(workspace->lists);
    kg__free(workspace->merged);
    kg__free(workspace->known);
    kg__free(workspace->linked);
    *workspace = (kg_workspace){0};
}

void kg__workspace_close(kg_workspace *workspace) {
    if (workspace == NULL)
        return;
    free_parts(workspace);
    kg__free(workspace);
}

/* A workspace without anything becomes one of a model. */
static kg_status open_parts(kg_workspace *workspace, const kg_model *model,
                            kg_aggregate_options aggregate, const kg_workspace_options *options,
                            kg_error *error) {
    kg_params params = model->params;
    workspace->model = model;
    workspace->options = (kg_workspace_options){.size = sizeof workspace->options,
                                                .facts = options->facts,
                                                .answers = options->answers,
                                                .threads = options->threads};
    KG_TRY(kg__gram_make(&workspace->gram, aggregate.aggregator, &params,
                         kg__model_own_entities(model), error));
    params.gram = workspace->gram;
    KG_TRY(kg__scorer_open(&workspace->scorer, aggregate, &params, error));
    return allocate(workspace, options, error);
}

kg_status kg__workspace_open(kg_workspace **out, const kg_model *model,
                             const kg_workspace_options *options, kg_error *error) {
    kg_aggregate_overrides overrides = {.aggregate = options->aggregate,
                                        .ls_rows = options->ls_rows,
                                        .ls_lambda = options->ls_lambda,
                                        .ials_alpha = options->ials_alpha,
                                        .ials_lambda = options->ials_lambda};
    kg_aggregate_options aggregate;
    KG_TRY(kg__aggregate_choose(&aggregate, &overrides, model, error));
    kg_workspace *workspace = kg__alloc(1, sizeof *workspace);
    if (workspace == NULL)
        return kg__fail_memory(error);
    kg_status status = open_parts(workspace, model, aggregate, options, error);
    if (status == KG_OK)
        *out = workspace;
    else
        kg__workspace_close(workspace);
    return status;
}

/* Nothing that was made for a generation holds for another. */
static kg_status open_again(kg_workspace *workspace, const kg_model *model, kg_error *error) {
    kg_aggregate_options aggregate = workspace->scorer.embedder.options;
    kg_workspace_options options = workspace->options;
    free_parts(workspace);
    return open_parts(workspace, model, aggregate, &options, error);
}

kg_status kg__workspace_move(kg_workspace *workspace, const kg_model *model, kg_error *error) {
    kg_params params = model->params;
    if (model->live == NULL || model->live != workspace->model->live)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected two snapshots of the same live graph, found others");
    if (model->config != workspace->model->config)
        return open_again(workspace, model, error);
    params.gram = workspace->gram;
    KG_TRY(kg__scorer_move(&workspace->scorer, &params, error));
    workspace->model = model;
    workspace->is_by_facts = false;
    KG_TRY(kg__blocks_move(&workspace->top.blocks, &params, model->entities.count, error));
    return KG_OK;
}

bool kg__model_calibrated_here(const kg_model *model) {
    const json_t *about = json_object_get(model->config, "calibration");
    const char *part = json_string_value(json_object_get(about, "part"));
    bool is_of_new = part != NULL && strcmp(part, kg__part_name(KG_GRAPH_VALID)) == 0;
    bool is_moved = model->listed.starts != NULL;
    if (is_of_new)
        return is_moved || kg__params_all_move(&model->params);
    return !model->lost_terms;
}

bool kg__workspace_is_calibrated(const kg_workspace *workspace) {
    return kg__aggregate_is_calibrated(&workspace->scorer.embedder.options, workspace->model) &&
           kg__model_calibrated_here(workspace->model);
}

/* Fewer of the longer lists are made at once, so shorter ones may take more memory together. */
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
    return kg__known_facts_links(&workspace->model->known, subject.entity, out, count, error);
}

/* The facts that an entity of the model is embedded from: not those with itself. */
static kg_status copy_links(kg_workspace *workspace, const kg_known_facts *facts, kg_id entity,
                            size_t *count, kg_error *error) {
    const kg_link *known = NULL;
    size_t known_count = 0;
    *count = 0;
    KG_TRY(kg__known_facts_links(facts, entity, &known, &known_count, error));
    KG_TRY(kg__workspace_reserve_facts(workspace, known_count, error));
    for (size_t i = 0; i < known_count; i++)
        if (known[i].other != entity)
            workspace->links[(*count)++] = known[i];
    kg__links_order(workspace->links, *count, &workspace->model->entities);
    return KG_OK;
}

static kg_status open_row_fit(kg_workspace *workspace, kg_error *error) {
    if (workspace->row_fit != NULL)
        return KG_OK;
    workspace->row_fit = kg__alloc(1, sizeof *workspace->row_fit);
    if (workspace->row_fit == NULL)
        return kg__fail_memory(error);
    kg_status status =
        kg__row_fit_open(workspace->row_fit, workspace->model, &workspace->scorer.embedder, error);
    if (status != KG_OK)
        close_row_fit(workspace);
    return status;
}

/* Those facts of an entity, but with itself, that are in `facts` and not in `others`, moved to the
 * front of workspace->links. */
static kg_status copy_difference(kg_workspace *workspace, const kg_known_facts *facts,
                                 const kg_known_facts *others, kg_id entity, size_t *count,
                                 kg_error *error) {
    const kg_link *other = NULL;
    size_t other_count = 0;
    size_t kept = 0;
    KG_TRY(copy_links(workspace, facts, entity, count, error));
    KG_TRY(kg__known_facts_links(others, entity, &other, &other_count, error));
    for (size_t i = 0; i < *count; i++)
        if (kg__links_find(other, other_count, workspace->links[i]) == other_count)
            workspace->links[kept++] = workspace->links[i];
    *count = kept;
    return KG_OK;
}

/* Half of what a row can be fitted to is left for each. */
static kg_status add_difference(kg_workspace *workspace, const kg_known_facts *facts,
                                const kg_known_facts *others, kg_id entity, double target,
                                kg_error *error) {
    size_t count = 0;
    KG_TRY(copy_difference(workspace, facts, others, entity, &count, error));
    size_t step = (2 * count + KG_MOST_FITTED - 1) / KG_MOST_FITTED;
    for (size_t i = 0; i < count; i += step)
        KG_TRY(kg__row_fit_add(workspace->row_fit, &workspace->scorer.embedder, workspace->links[i],
                               target, NULL, 0, error));
    return KG_OK;
}

/* A row was learned with the facts that the entity had then: it follows those that it has since,
 * and those that it has no more. */
static kg_status correct_row(kg_workspace *workspace, kg_id entity, kg_error *error) {
    const kg_known_facts *now = &workspace->model->known;
    size_t dim = workspace->model->params.dim;
    kg_known_facts before = *now;
    before.overlay = NULL;
    if (now->overlay == NULL || kg__overlay_find(now->overlay, entity) == NULL)
        return KG_OK;
    KG_TRY(open_row_fit(workspace, error));
    kg_row_fit *fit = workspace->row_fit;
    kg__row_fit_start_at(fit, workspace->z, dim);
    KG_TRY(add_difference(workspace, now, &before, entity, fit->target, error));
    KG_TRY(add_difference(workspace, &before, now, entity, fit->wrong, error));
    return kg__row_fit_finish(fit, workspace->z, dim, error);
}

/* In a model that was trained to embed every entity from its facts, rows stand for the other ends
 * of facts; so its own entities are embedded from their facts, too, if they have any, and so is in
 * any model what came later. Where there are no rows, those without facts are answered by what
 * terms say of candidates alone. */
static kg_status load_known(kg_workspace *workspace, kg_id entity, kg_error *error) {
    const kg_params *params = &workspace->model->params;
    size_t count = 0;
    if (kg__queries_by_facts(workspace->model) ||
        entity >= kg__model_own_entities(workspace->model))
        KG_TRY(copy_links(workspace, &workspace->model->known, entity, &count, error));
    workspace->is_by_facts = count > 0 || params->dim == 0;
    workspace->is_embedded = false;
    memcpy(workspace->z, kg__entity_row(params, entity), params->dim * sizeof *workspace->z);
    return workspace->is_by_facts
               ? kg__scorer_load(&workspace->scorer, entity, workspace->links, count, error)
               : correct_row(workspace, entity, error);
}

/* A new one, by facts that are given. */
static kg_status load_new(kg_workspace *workspace, kg_subject subject, kg_error *error) {
    const kg_link *links = subject.links;
    if (workspace->model->entities.later != NULL) {
        KG_TRY(kg__workspace_reserve_facts(workspace, subject.count, error));
        memcpy(workspace->links, links, subject.count * sizeof *links);
        kg__links_order(workspace->links, subject.count, &workspace->model->entities);
        links = workspace->links;
    }
    return kg__scorer_load(&workspace->scorer, KG_NO_ID, links, subject.count, error);
}

kg_status kg__subject_load(kg_workspace *workspace, kg_subject subject, kg_error *error) {
    KG_TRY(kg__subject_check(workspace, subject, error));
    if (subject.entity != KG_NO_ID)
        return load_known(workspace, subject.entity, error);
    KG_TRY(load_new(workspace, subject, error));
    workspace->is_by_facts = true;
    workspace->is_embedded = false;
    kg__subject_set_query(workspace, KG_NO_QUERY);
    return KG_OK;
}

void kg__subject_set_query(kg_workspace *workspace, kg_directed query) {
    if (!workspace->is_by_facts)
        return;
    kg__scorer_set_query(&workspace->scorer, query);
    if (!workspace->is_embedded || workspace->scorer.embedder.options.aggregator->set_query != NULL)
        kg__embedder_embed(&workspace->scorer.embedder, workspace->z, KG_NOTHING);
    workspace->is_embedded = true;
}

kg_status kg__workspace_embed(float *out, kg_workspace *workspace, kg_subject subject,
                              kg_directed query, kg_error *error) {
    KG_TRY(kg__model_check_embedding(workspace->model, error));
    KG_TRY(kg__subject_load(workspace, subject, error));
    if (query != KG_NO_QUERY)
        kg__subject_set_query(workspace, query);
    bool good = true;
    for (size_t k = 0; k < workspace->model->params.dim; k++) {
        out[k] = (float)workspace->z[k];
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
