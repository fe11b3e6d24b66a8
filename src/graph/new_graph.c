/* From a data set with relations of its own to a new graph with given ones. */
#include "graph/new_graph.h"

#include "graph/dataset_source.h"

/* Entities that a new graph has without a known fact are kept: they may be answers. */
static kg_status copy_facts(kg_dataset *out, const kg_dataset *from, kg_error *error) {
    kg_part part = kg__dataset_has_graph(from) ? KG_GRAPH : KG_TRAIN;
    const kg_names *entities = kg__dataset_names(from, part);
    for (size_t i = 0; i < from->parts[part].count; i++) {
        kg_triple fact = from->parts[part].items[i];
        KG_TRY(kg__dataset_add_one(out, kg__names_hashed(entities, fact.head),
                                   kg__names_hashed(&from->relations, fact.relation),
                                   kg__names_hashed(entities, fact.tail), error));
    }
    KG_TRY(kg__names_add(&out->graph_entities, NULL, &from->graph_entities, error));
    out->duplicates[KG_GRAPH] = from->duplicates[part];
    out->unknown_facts += from->unknown_facts;
    return kg__names_add(&out->unknown_relations, NULL, &from->unknown_relations, error);
}

static kg_status open_graph(kg_dataset *out, const kg_names *relations, kg_error *error) {
    kg_names entities = {0};
    kg_names copy = {0};
    kg_status copied = kg__names_add(&copy, NULL, relations, error);
    KG_TRY(kg__dataset_open_named(out, &entities, &copy, error));
    KG_TRY(copied);
    return kg__dataset_enter(out, KG_GRAPH, error);
}

kg_status kg__new_graph_read(kg_dataset *out, kg_reader *reader, const char *source,
                             const kg_names *relations, kg_error *error) {
    kg_dataset from = {0};
    kg_status status = KG_OK;
    bool skip_unknown = reader->options.skip_unknown;
    reader->options.skip_unknown = true; /* they are counted, and refused in the end */
    KG_CHECK(open_graph(out, relations, error));
    KG_CHECK(kg__dataset_open(&from, error));
    KG_CHECK(kg__source_read(&from, reader, &source, 1, error));
    out->skip_unknown = skip_unknown;
    KG_CHECK(copy_facts(out, &from, error));
    KG_CHECK(json_object_update(out->history, from.history) == 0 ? KG_OK : kg__fail_memory(error));
    status = kg__dataset_finish(out, error);
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, kg__input_title(source), 0, 0);
done:
    reader->options.skip_unknown = skip_unknown;
    reader->dataset = NULL;
    kg__dataset_close(&from);
    return status;
}
