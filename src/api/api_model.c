/* Models, and how good they are, as users of the library see them. */
#include "api/sized.h"
#include "base/memory.h"
#include "graph/adjacency.h"
#include "infer/model_on_new_graph.h"
#include "live/live_store.h"
#include "rank/evaluate.h"

/* Hands a model to the caller, or frees its memory if opening it failed. */
static kg_status hand_over(kg_model **out, kg_model *model, kg_status status) {
    if (status == KG_OK)
        *out = model;
    else
        kg__free(model);
    return status;
}

kg_status kg_model_open(kg_model **out, const char *path, kg_error *error) {
    KG_NEED(out);
    *out = NULL;
    KG_NEED(path);
    if (kg__store_exists(path))
        return kg__live_open_model(out, path, error);
    kg_model *model = kg__alloc(1, sizeof *model);
    if (model == NULL)
        return kg__fail_memory(error);
    return hand_over(out, model, kg__model_open(model, path, error));
}

kg_status kg_model_open_on_graph(kg_model **out, kg_left_out_facts *left, const kg_model *model,
                                 const char *graph, const kg_graph_options *options,
                                 kg_error *error) {
    kg_left_out_facts all;
    kg_graph_options whole = KG_GRAPH_OPTIONS_INIT;
    KG_NEED(out);
    *out = NULL;
    if (left != NULL)
        KG_CHECK_SIZE(left);
    KG_NEED(model);
    KG_NEED(graph);
    KG_READ(&whole, options);
    if (model->live != NULL)
        model = kg__live_version_of(model)->generation->base; /* its facts do not matter there */
    kg_model *moved = kg__alloc(1, sizeof *moved);
    if (moved == NULL)
        return kg__fail_memory(error);
    KG_TRY(
        hand_over(out, moved, kg__model_open_on_graph(moved, &all, model, graph, &whole, error)));
    if (left != NULL)
        kg__sized_write(left, &all, sizeof all);
    return KG_OK;
}

void kg_model_close(kg_model *model) {
    if (model == NULL)
        return;
    if (model->live != NULL) {
        kg__live_release(model);
        return;
    }
    kg__model_close(model);
    kg__free(model);
}

kg_status kg_model_describe(kg_model_info *out, const kg_model *model, kg_error *error) {
    KG_CHECK_SIZE(out);
    KG_NEED(model);
    kg_model_info info = kg__model_describe(model);
    kg__sized_write(out, &info, sizeof info);
    return KG_OK;
}

static kg_id find(const kg_names *names, kg_text name) {
    return name.bytes == NULL ? KG_NO_ID
                              : kg__names_find(names, kg__name_of(name.bytes, name.length));
}

static kg_text get(const kg_names *names, kg_id id) {
    if (id >= names->count)
        return (kg_text){"", 0};
    kg_name name = kg__names_get(names, id);
    return (kg_text){name.bytes, name.length};
}

kg_id kg_model_find_entity(const kg_model *model, kg_text name) {
    return model == NULL ? KG_NO_ID : find(&model->entities, name);
}

kg_id kg_model_find_relation(const kg_model *model, kg_text name) {
    return model == NULL ? KG_NO_ID : find(&model->relations, name);
}

kg_text kg_model_entity_name(const kg_model *model, kg_id id) {
    return model == NULL ? (kg_text){"", 0} : get(&model->entities, id);
}

kg_text kg_model_relation_name(const kg_model *model, kg_id id) {
    return model == NULL ? (kg_text){"", 0} : get(&model->relations, id);
}

const float *kg_model_entity_vectors(const kg_model *model) {
    return model == NULL ? NULL : kg__entity_rows(&model->params, 0, kg__model_own_entities(model));
}

const float *kg_model_relation_vectors(const kg_model *model) {
    return model == NULL ? NULL : model->params.relations;
}

kg_status kg_model_links(const kg_link **out, size_t *count, const kg_model *model, kg_id entity,
                         kg_error *error) {
    KG_NEED(out);
    KG_NEED(count);
    KG_NEED(model);
    return kg__known_facts_links(&model->known, entity, out, count, error);
}

size_t kg_links_sort(kg_link *links, size_t count) {
    return links == NULL ? 0 : kg__links_sort(links, count);
}

kg_status kg_model_evaluate(kg_metrics *out, const kg_model *model, const char *dataset,
                            const kg_evaluation_options *options, kg_error *error) {
    kg_metrics metrics;
    kg_evaluation_options whole = KG_EVALUATION_OPTIONS_INIT;
    KG_CHECK_SIZE(out);
    KG_NEED(model);
    KG_NEED(dataset);
    KG_READ(&whole, options);
    if (model->live != NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected a model, found a snapshot of a live graph");
    if (whole.threads < 1 || whole.threads > 1024)
        return kg_fail(error, KG_BAD_INPUT, "`threads`: expected 1 to 1024, found %d",
                       whole.threads);
    KG_TRY(kg__evaluate(&metrics, model, dataset, &whole, error));
    kg__sized_write(out, &metrics, sizeof metrics);
    return KG_OK;
}
