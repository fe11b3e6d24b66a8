/* Reads the graph, and moves the terms to it. */
#include "infer/model_on_new_graph.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "graph/new_graph.h"
#include "infer/name_suggestions.h"

/* Adds to the message names that are similar to an unknown relation: the first that has any. */
static void suggest_relation(const kg_dataset *graph, kg_error *error) {
    const kg_names *unknown = &graph->unknown_relations;
    kg_suggestion suggestion = {""};
    for (kg_id i = 0; i < unknown->count && suggestion.text[0] == '\0'; i++) {
        kg_name name = kg__names_get(unknown, i);
        suggestion = kg__suggest(&graph->relations, (kg_text){name.bytes, name.length});
        size_t length = strlen(error->message);
        if (suggestion.text[0] != '\0')
            snprintf(error->message + length, sizeof error->message - length, "; for %s%s",
                     kg__quote(name.bytes, name.length).text, suggestion.text);
    }
}

static kg_status read_graph(kg_dataset *out, kg_left_out_facts *left, const kg_model *model,
                            const char *source, const kg_graph_options *options, kg_error *error) {
    kg_reader reader = {.options = {.folder_first = true, .skip_unknown = options->skip_unknown},
                        .progress = options->progress};
    kg_status status = kg__new_graph_read(out, &reader, source, &model->relations, error);
    if (status == KG_BAD_INPUT && error != NULL && out->unknown_facts > 0 && !out->skip_unknown)
        suggest_relation(out, error);
    *left = (kg_left_out_facts){.size = sizeof *left,
                                .unknown = out->unknown_facts,
                                .repeated = out->duplicates[KG_GRAPH],
                                .literals = reader.counts.literals};
    return status;
}

/* All facts are known ones, but terms do not see those of an entity with itself. */
static kg_status list_facts(kg_model *out, const kg_dataset *graph, kg_error *error) {
    const kg_triples *facts = &graph->parts[KG_GRAPH];
    size_t entities = graph->graph_entities.count;
    KG_TRY(kg__adjacency_make(&out->listed, facts, entities, KG_WITH_REFLEXIVE, error));
    out->known = (kg_known_facts){.links = out->listed.links,
                                  .starts = out->listed.starts,
                                  .link_count = (size_t)out->listed.starts[entities],
                                  .entity_count = entities,
                                  .relation_count = graph->relations.count,
                                  .path = "graph"};
    return kg__adjacency_make(&out->graph, facts, entities, KG_WITHOUT_REFLEXIVE, error);
}

kg_status kg__model_open_on_graph(kg_model *out, kg_left_out_facts *left, const kg_model *model,
                                  const char *source, const kg_graph_options *options,
                                  kg_error *error) {
    kg_dataset graph = {0};
    kg_status status = KG_OK;
    *out = (kg_model){.config = json_incref(model->config), .calibration = model->calibration};
    out->lost_terms = model->lost_terms || !kg__params_all_move(&model->params);
    KG_CHECK(read_graph(&graph, left, model, source, options, error));
    KG_CHECK(list_facts(out, &graph, error));
    KG_CHECK(kg__params_on_graph(&out->params, &model->params, &out->graph, error));
    out->entities = graph.graph_entities;
    out->relations = graph.relations;
    graph.graph_entities = (kg_names){0};
    graph.relations = (kg_names){0};
done:
    kg__dataset_close(&graph);
    if (status != KG_OK)
        kg__model_close(out);
    return status;
}
