/* A model and versions of the graph since: opening, and what a commit makes of the version before.
 */
#include "aggregate/aggregate_options.h"
#include "base/memory.h"
#include "live/later_rows.h"
#include "live/live.h"

/* ---- Versions ---- */

/* Points what a version borrows to the version itself. */
static void link_version(kg_live_version *version) {
    kg_model *model = &version->model;
    model->entities.later = &version->names;
    version->overlay.names = &model->entities;
    version->rows.names = &model->entities;
    model->known.overlay = &version->overlay;
    model->params.later = &version->rows;
    model->graph.overlay = &version->overlay;
    model->graph.entity_count = model->entities.count;
    if (model->params.graph != NULL)
        model->params.graph = &model->graph;
}

/* A version like the one before, which it shares everything with, not published yet. */
static kg_status start_version(kg_live_version **out, kg_generation *generation,
                               const kg_live_version *before, kg_error *error) {
    kg_live_version *version = kg__snapshots_take(&generation->versions, 1, sizeof *version);
    if (version == NULL)
        return kg__fail_memory(error);
    *version = *before;
    link_version(version);
    *out = version;
    return KG_OK;
}

/* Terms that look at the graph look at that of the version. */
static kg_status finish_version(kg_live_version *version, kg_generation *generation,
                                const kg_params *before, kg_error *error) {
    kg_params *params = &version->model.params;
    link_version(version);
    for (size_t i = 0; kg__terms[i] != NULL; i++) {
        const kg_term_view *base = &generation->base->params.terms[i];
        if (base->counted == NULL || kg__terms[i]->overlay == NULL)
            continue;
        KG_TRY(kg__terms[i]->overlay(&params->terms[i], base, &version->model.graph,
                                     &generation->versions, error));
        if (before->terms[i].counted != base->counted)
            kg__snapshots_drop(&generation->versions, before->terms[i].counted);
    }
    return kg__snapshots_publish(&generation->versions, version, &version->snapshot, error);
}

/* ---- Opening ---- */

static kg_status check(const kg_model *model, kg_error *error) {
    if (model->live != NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected a model, found a snapshot of a live graph");
    return kg__scoring_check_live(model->params.scoring, NULL, error);
}

static kg_status open_first(kg_generation *generation, kg_error *error) {
    const kg_model *base = generation->base;
    size_t first = base->entities.count;
    kg_live_version none = {.model = *base,
                            .generation = generation,
                            .facts = base->known.link_count / 2,
                            .overlay.first = first,
                            .names.first = first,
                            .rows.first = first};
    kg_live_version *version = NULL;
    none.model.live = generation->live;
    KG_TRY(start_version(&version, generation, &none, error));
    return finish_version(version, generation, &base->params, error);
}

kg_status kg__generation_open(kg_generation **out, kg_live *live, const kg_model *model,
                              kg_error *error) {
    const kg_aggregate_overrides as_trained = {0};
    kg_aggregate_options aggregate;
    KG_TRY(check(model, error));
    KG_TRY(kg__aggregate_choose(&aggregate, &as_trained, model, error));
    kg_generation *generation = kg__alloc(1, sizeof *generation);
    if (generation == NULL)
        return kg__fail_memory(error);
    generation->live = live;
    generation->base = model;
    kg__snapshots_open(&generation->versions, NULL);
    kg__embedder_open(&generation->embedder, aggregate, model->params);
    kg_status status = kg__gram_make(&generation->gram, aggregate.aggregator, &model->params,
                                     model->entities.count, error);
    generation->embedder.params.gram = generation->gram;
    if (status == KG_OK)
        status = kg__row_fit_open(&generation->row_fit, model, &generation->embedder, error);
    if (status == KG_OK)
        status = open_first(generation, error);
    if (status == KG_OK)
        *out = generation;
    else
        kg__generation_close(generation);
    return status;
}

void kg__generation_close(kg_generation *generation) {
    if (generation == NULL)
        return;
    kg__embedder_close(&generation->embedder);
    kg__row_fit_close(&generation->row_fit);
    kg__free(generation->gram);
    kg__snapshots_close(&generation->versions);
    if (generation->own != NULL)
        kg__model_close(generation->own);
    kg__free(generation->own);
    kg__free(generation);
}

const kg_live_version *kg__generation_newest(const kg_generation *generation) {
    return kg__snapshots_root(&generation->versions);
}

/* ---- Commits ---- */

static kg_status change(kg_live_commit *commit, kg_error *error) {
    kg_generation *generation = commit->generation;
    KG_TRY(start_version(&commit->after, generation, commit->before, error));
    commit->after->last = commit->last;
    for (size_t i = 0; i < commit->change_count; i++)
        commit->after->facts += commit->changes[i].is_added ? 1 : UINT64_MAX;
    KG_TRY(kg__live_change_facts(commit, error));
    KG_TRY(kg__later_rows_change(commit, error));
    return finish_version(commit->after, generation, &commit->before->model.params, error);
}

kg_status kg__live_publish(kg_live_commit *commit, kg_error *error) {
    kg_status status = change(commit, error);
    if (status != KG_OK)
        kg__snapshots_abandon(&commit->generation->versions);
    return status;
}
