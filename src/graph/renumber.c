/* Changing the ids of a data set. */
#include "base/memory.h"
#include "graph/dataset.h"

static kg_status copy_facts(kg_dataset *out, const kg_dataset *dataset, const kg_id *entities,
                            const kg_id *relations, kg_error *error) {
    for (kg_part part = 0; part < KG_PART_COUNT; part++) {
        const kg_triples *facts = &dataset->parts[part];
        bool keeps_entities = part >= KG_GRAPH;
        kg_triples *copies = &out->parts[part];
        KG_TRY(kg__triples_reserve(copies, facts->count, error));
        for (size_t i = 0; i < facts->count; i++) {
            kg_triple fact = facts->items[i];
            kg_id head = keeps_entities ? fact.head : entities[fact.head];
            kg_id tail = keeps_entities ? fact.tail : entities[fact.tail];
            copies->items[copies->count++] = (kg_triple){head, relations[fact.relation], tail};
        }
        out->duplicates[part] = dataset->duplicates[part];
    }
    return KG_OK;
}

static kg_status copy(kg_dataset *out, const kg_dataset *dataset, kg_id *entities, kg_id *relations,
                      kg_error *error) {
    if (entities == NULL || relations == NULL)
        return kg__fail_memory(error);
    KG_TRY(kg__names_add(&out->entities, entities, &dataset->entities, error));
    KG_TRY(kg__names_add(&out->relations, relations, &dataset->relations, error));
    KG_TRY(kg__names_add(&out->graph_entities, NULL, &dataset->graph_entities, error));
    return copy_facts(out, dataset, entities, relations, error);
}

kg_status kg__dataset_renumber(kg_dataset *out, const kg_dataset *dataset, const kg_names *entities,
                               const kg_names *relations, kg_error *error) {
    kg_id *entity_ids = kg__alloc(dataset->entities.count, sizeof *entity_ids);
    kg_id *relation_ids = kg__alloc(dataset->relations.count, sizeof *relation_ids);
    *out = (kg_dataset){.part = dataset->part,
                        .is_named = dataset->is_named,
                        .in_sample_relations = relations->count,
                        .history = json_incref(dataset->history)};
    for (kg_part part = 0; part <= KG_GRAPH; part++)
        out->entities_before[part] = part < KG_UNSEEN_VALID && entities != NULL
                                         ? entities->count
                                         : dataset->entities_before[part];
    kg_status status = KG_OK;
    if (entities != NULL)
        status = kg__names_add(&out->entities, NULL, entities, error);
    if (status == KG_OK)
        status = kg__names_add(&out->relations, NULL, relations, error);
    if (status == KG_OK)
        status = copy(out, dataset, entity_ids, relation_ids, error);
    kg__free(entity_ids);
    kg__free(relation_ids);
    if (status != KG_OK)
        kg__dataset_close(out);
    return status;
}
