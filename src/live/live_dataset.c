/* The live facts as a data set to train on: names first, then facts. */
#include "live/live_dataset.h"

#include "base/memory.h"
#include "live/live.h"

/* In the history of a data set, and so in config.json: how many relations stay without facts. */
#define LASTING_RELATIONS "lasting_relations"

kg_status kg__new_relations_add(kg_new_relations *facts, const kg_text fact[3], kg_error *error) {
    kg_triple triple;
    KG_TRY(kg__names_intern(&facts->entities, &triple.head,
                            kg__name_of(fact[0].bytes, fact[0].length), error));
    KG_TRY(kg__names_intern(&facts->relations, &triple.relation,
                            kg__name_of(fact[1].bytes, fact[1].length), error));
    KG_TRY(kg__names_intern(&facts->entities, &triple.tail,
                            kg__name_of(fact[2].bytes, fact[2].length), error));
    return kg__triples_push(&facts->facts, triple, error);
}

void kg__new_relations_free(kg_new_relations *facts) {
    kg__names_free(&facts->entities);
    kg__names_free(&facts->relations);
    kg__triples_free(&facts->facts);
}

/* Those of the model that the store was made of, whatever an earlier store says of it. */
static size_t count_lasting(const kg_model *snapshot, bool is_first) {
    const json_t *history = json_object_get(snapshot->config, "data");
    const json_t *count = json_object_get(history, LASTING_RELATIONS);
    size_t most = snapshot->relations.count;
    if (is_first || !json_is_integer(count) || json_integer_value(count) < 0 ||
        (uint64_t)json_integer_value(count) > most)
        return most;
    return (size_t)json_integer_value(count);
}

/* Notes which relations their facts have. */
static kg_status list_entities(kg_names *out, bool *has_facts, const kg_model *snapshot,
                               const kg_new_relations *facts, kg_error *error) {
    for (kg_id id = 0; id < snapshot->entities.count; id++) {
        const kg_link *links = NULL;
        size_t count = 0;
        kg_id place = 0;
        KG_TRY(kg__live_known(&links, &count, snapshot, id, error));
        for (size_t i = 0; i < count; i++)
            has_facts[links[i].directed / 2] = true;
        if (count > 0)
            KG_TRY(kg__names_intern(out, &place, kg__names_hashed(&snapshot->entities, id), error));
    }
    return kg__names_add(out, NULL, &facts->entities, error);
}

static kg_status list_relations(kg_names *out, const bool *has_facts, const kg_model *snapshot,
                                size_t lasting, const kg_new_relations *facts, kg_error *error) {
    for (kg_id id = 0; id < snapshot->relations.count; id++) {
        kg_id place = 0;
        if (id < lasting || has_facts[id])
            KG_TRY(
                kg__names_intern(out, &place, kg__names_hashed(&snapshot->relations, id), error));
    }
    return kg__names_add(out, NULL, &facts->relations, error);
}

static kg_status list_names(kg_names *entities, kg_names *relations, const kg_model *snapshot,
                            size_t lasting, const kg_new_relations *facts, kg_error *error) {
    bool *has_facts = kg__alloc(snapshot->relations.count, sizeof *has_facts);
    if (has_facts == NULL)
        return kg__fail_memory(error);
    kg_status status = list_entities(entities, has_facts, snapshot, facts, error);
    if (status == KG_OK)
        status = list_relations(relations, has_facts, snapshot, lasting, facts, error);
    kg__free(has_facts);
    return status;
}

static kg_status take_history(kg_dataset *out, const kg_model *snapshot, size_t lasting_count,
                              kg_error *error) {
    json_t *history = json_object_get(snapshot->config, "data");
    json_t *lasting = json_integer((json_int_t)lasting_count);
    bool good = history == NULL || json_object_update(out->history, history) == 0;
    good = json_object_set_new(out->history, LASTING_RELATIONS, lasting) == 0 && good;
    return good ? KG_OK : kg__fail_memory(error);
}

/* The facts that an entity is the head of. */
static kg_status add_facts(kg_dataset *out, const kg_model *snapshot, kg_id head, kg_error *error) {
    const kg_link *links = NULL;
    size_t count = 0;
    KG_TRY(kg__live_known(&links, &count, snapshot, head, error));
    for (size_t i = 0; i < count; i++)
        if (kg_directed_end(links[i].directed) == KG_HEAD)
            KG_TRY(
                kg__dataset_add_one(out, kg__names_hashed(&snapshot->entities, head),
                                    kg__names_hashed(&snapshot->relations, links[i].directed / 2),
                                    kg__names_hashed(&snapshot->entities, links[i].other), error));
    return KG_OK;
}

static kg_status add_new(kg_dataset *out, const kg_new_relations *facts, kg_error *error) {
    for (size_t i = 0; i < facts->facts.count; i++) {
        kg_triple fact = facts->facts.items[i];
        KG_TRY(kg__dataset_add_one(out, kg__names_hashed(&facts->entities, fact.head),
                                   kg__names_hashed(&facts->relations, fact.relation),
                                   kg__names_hashed(&facts->entities, fact.tail), error));
    }
    return KG_OK;
}

kg_status kg__live_dataset(kg_dataset *out, const kg_model *snapshot, bool is_first,
                           const kg_new_relations *facts, kg_error *error) {
    size_t lasting = count_lasting(snapshot, is_first);
    kg_names entities = {0};
    kg_names relations = {0};
    *out = (kg_dataset){0};
    kg_status status = list_names(&entities, &relations, snapshot, lasting, facts, error);
    if (status != KG_OK) {
        kg__names_free(&entities);
        kg__names_free(&relations);
        return status;
    }
    KG_TRY(kg__dataset_open_named(out, &entities, &relations, error));
    KG_TRY(take_history(out, snapshot, lasting, error));
    for (kg_id id = 0; id < snapshot->entities.count; id++)
        KG_TRY(add_facts(out, snapshot, id, error));
    KG_TRY(add_new(out, facts, error));
    return kg__dataset_finish(out, error);
}
