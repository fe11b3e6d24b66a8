/* All facts in one transaction, and the queries of one snapshot. */
#include "experiment/live_evaluation.h"

#include "base/memory.h"

void experiment_live_close(experiment_live *live) {
    kg__free(live->ranks);
    kg__free(live->own_ranks);
    kg__queries_free(&live->queries);
    if (live->snapshot != NULL)
        kg__live_release(live->snapshot);
    kg__live_close(live->graph);
    *live = (experiment_live){0};
}

/* ---- Facts ---- */

static kg_text text_of(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return (kg_text){name.bytes, name.length};
}

/* Whether it is an unseen entity that the model has all the same. */
static bool is_left_out(const kg_dataset *dataset, const kg_model *model, kg_id entity) {
    return entity >= kg__dataset_in_sample(dataset) &&
           kg__names_find(&model->entities, kg__names_hashed(&dataset->entities, entity)) !=
               KG_NO_ID;
}

static kg_status add_part(kg_changes *changes, const kg_dataset *dataset, const kg_model *model,
                          kg_part part, kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        if (is_left_out(dataset, model, fact.head) || is_left_out(dataset, model, fact.tail))
            continue;
        KG_TRY(kg__changes_add(changes, text_of(&dataset->entities, fact.head),
                               text_of(&dataset->relations, fact.relation),
                               text_of(&dataset->entities, fact.tail), error));
    }
    return KG_OK;
}

static kg_status add_facts(experiment_live *live, const kg_dataset *dataset, const kg_model *model,
                           kg_part part, kg_error *error) {
    kg_changes *changes = NULL;
    KG_TRY(kg__changes_open(&changes, live->graph, error));
    kg_status status = add_part(changes, dataset, model, part, error);
    if (status == KG_OK)
        status = add_part(changes, dataset, model, kg__dataset_between(part), error);
    if (status == KG_OK)
        status = kg__changes_commit(&live->added, changes, error);
    kg__changes_close(changes);
    return status;
}

/* ---- Ranks ---- */

static void take_means(experiment_live *live) {
    size_t first = kg__model_own_entities(live->snapshot);
    for (size_t i = 0; i < live->queries.count; i++) {
        bool is_known = live->queries.list[i].target.other < first;
        kg__metrics_add(is_known ? &live->known : &live->later, live->ranks[i]);
        if (is_known)
            kg__metrics_add(&live->among_known, live->own_ranks[i]);
    }
    kg__metrics_mean(&live->known);
    kg__metrics_mean(&live->among_known);
    kg__metrics_mean(&live->later);
}

kg_status experiment_live_run(experiment_live *out, const kg_model *model,
                              const kg_dataset *dataset, kg_part part,
                              const kg_rank_options *options, kg_error *error) {
    const kg_live_options usual = KG_LIVE_OPTIONS_INIT;
    size_t in_sample = kg__dataset_in_sample(dataset);
    *out = (experiment_live){0};
    if (in_sample != model->entities.count)
        return kg_fail(error, KG_BAD_INPUT,
                       "`live`: expected a data set of the model's %zu entities, found %zu of them",
                       model->entities.count, in_sample);
    KG_TRY(kg__live_open(&out->graph, model, &usual, error));
    KG_TRY(add_facts(out, dataset, model, part, error));
    out->snapshot = kg__live_snapshot(out->graph);
    KG_TRY(kg__queries_make_later(&out->queries, out->snapshot, error));
    out->ranks = kg__alloc(out->queries.count, sizeof *out->ranks);
    out->own_ranks = kg__alloc(out->queries.count, sizeof *out->own_ranks);
    if (out->ranks == NULL || out->own_ranks == NULL)
        return kg__fail_memory(error);
    kg_rank_options ranking = *options;
    ranking.own_ranks = out->own_ranks;
    KG_TRY(kg__rank(out->ranks, &out->queries, &out->snapshot->params, &ranking, error));
    take_means(out);
    return KG_OK;
}

json_t *experiment_live_json(const experiment_live *live) {
    return json_pack("{sI sI so so so}", "entities", (json_int_t)live->added.entities_added,
                     "facts", (json_int_t)live->added.added, "known",
                     kg__metrics_json(&live->known), "among_known",
                     kg__metrics_json(&live->among_known), "later", kg__metrics_json(&live->later));
}
