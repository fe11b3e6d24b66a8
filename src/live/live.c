/* Opening, snapshots, and the first version. */
#include "live/live.h"

#include "aggregate/aggregate_options.h"
#include "base/memory.h"
#include "live/later_rows.h"

/* Points what a version borrows to the version itself. */
static void link_version(kg_live_version *version, kg_live *live) {
    kg_model *model = &version->model;
    model->live = live;
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
static kg_status start_version(kg_live_version **out, kg_live *live, const kg_live_version *before,
                               kg_error *error) {
    kg_live_version *version = kg__snapshots_take(&live->versions, 1, sizeof *version);
    if (version == NULL)
        return kg__fail_memory(error);
    *version = *before;
    link_version(version, live);
    *out = version;
    return KG_OK;
}

/* Terms that look at the graph look at that of the version. */
static kg_status finish_version(kg_live_version *version, kg_live *live, const kg_params *before,
                                kg_error *error) {
    kg_params *params = &version->model.params;
    link_version(version, live);
    for (size_t i = 0; kg__terms[i] != NULL; i++) {
        const kg_term_view *base = &live->base->params.terms[i];
        if (base->counted == NULL || kg__terms[i]->overlay == NULL)
            continue;
        KG_TRY(kg__terms[i]->overlay(&params->terms[i], base, &version->model.graph,
                                     &live->versions, error));
        if (before->terms[i].counted != base->counted)
            kg__snapshots_drop(&live->versions, before->terms[i].counted);
    }
    return kg__snapshots_publish(&live->versions, version, &version->snapshot, error);
}

/* ---- Opening ---- */

static kg_status check(const kg_model *model, kg_error *error) {
    if (model->live != NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected a model, found a snapshot of a live graph");
    if (model->params.encoder != NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a model whose vectors are sums over facts, found %s, which has an "
                       "encoder",
                       model->params.scoring->name);
    return KG_OK;
}

static kg_status open_first(kg_live *live, kg_error *error) {
    size_t first = live->base->entities.count;
    kg_live_version none = {
        .model = *live->base, .overlay.first = first, .names.first = first, .rows.first = first};
    kg_live_version *version = NULL;
    KG_TRY(start_version(&version, live, &none, error));
    return finish_version(version, live, &live->base->params, error);
}

kg_status kg__live_open(kg_live **out, const kg_model *model, const kg_live_options *options,
                        kg_error *error) {
    const kg_aggregate_overrides as_trained = {0};
    kg_aggregate_options aggregate;
    KG_TRY(check(model, error));
    KG_TRY(kg__aggregate_choose(&aggregate, &as_trained, model, error));
    kg_live *live = kg__alloc(1, sizeof *live);
    if (live == NULL)
        return kg__fail_memory(error);
    live->base = model;
    live->options = *options;
    kg__snapshots_open(&live->versions);
    kg__embedder_open(&live->embedder, aggregate, model->params);
    kg_status status = kg__gram_make(&live->gram, aggregate.aggregator, &model->params,
                                     model->entities.count, error);
    live->embedder.params.gram = live->gram;
    if (status == KG_OK)
        status = kg__row_fit_open(&live->row_fit, model, &live->embedder, error);
    if (status == KG_OK)
        status = open_first(live, error);
    if (status == KG_OK)
        *out = live;
    else
        kg__live_close(live);
    return status;
}

void kg__live_close(kg_live *live) {
    if (live == NULL)
        return;
    kg__embedder_close(&live->embedder);
    kg__row_fit_close(&live->row_fit);
    kg__free(live->gram);
    kg__snapshots_close(&live->versions);
    kg__store_close(live->store);
    if (live->own != NULL)
        kg__model_close(live->own);
    kg__free(live->own);
    kg__free(live);
}

/* ---- Snapshots ---- */

kg_model *kg__live_snapshot(kg_live *live) {
    kg_live_version *version = kg__snapshots_acquire(&live->versions)->root;
    return &version->model;
}

void kg__live_release(kg_model *snapshot) {
    kg_live_version *version = (kg_live_version *)(void *)snapshot; /* its first member */
    kg_live *live = snapshot->live;
    kg__snapshots_release(&live->versions, version->snapshot);
    if (live->is_model)
        kg__live_close(live);
}

/* ---- Commits ---- */

static kg_status change(kg_live_commit *commit, kg_error *error) {
    kg_live *live = commit->live;
    KG_TRY(start_version(&commit->after, live, commit->before, error));
    KG_TRY(kg__live_change_facts(commit, error));
    KG_TRY(kg__later_rows_change(commit, error));
    return finish_version(commit->after, live, &commit->before->model.params, error);
}

kg_status kg__live_publish(kg_live_commit *commit, kg_error *error) {
    kg_status status = change(commit, error);
    if (status != KG_OK)
        kg__snapshots_abandon(&commit->live->versions);
    return status;
}
