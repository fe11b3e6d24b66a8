/* New entities, as users of the library see them. */
#include "infer/new_entities.h"

#include "api/sized.h"

kg_status kg_new_entities_open(kg_new_entities **out, const kg_model *model,
                               const kg_new_entities_options *options, kg_error *error) {
    kg_new_entities_options whole = KG_NEW_ENTITIES_OPTIONS_INIT;
    KG_NEED(out);
    *out = NULL;
    KG_NEED(model);
    KG_READ(&whole, options);
    return kg__new_entities_open(out, model, &whole, KG_MOST_NEW_FACTS, error);
}

void kg_new_entities_close(kg_new_entities *entities) {
    kg__new_entities_close(entities);
}

kg_status kg_new_entities_add(kg_new_entities *entities, kg_text head, kg_text relation,
                              kg_text tail, kg_error *error) {
    KG_NEED(entities);
    return kg__new_entities_add(entities, head, relation, tail, error);
}

kg_status kg_new_entities_read(kg_new_entities *entities, const char *path, kg_error *error) {
    KG_NEED(entities);
    KG_NEED(path);
    return kg__new_entities_read(entities, path, error);
}

kg_status kg_new_entities_finish(kg_left_out_facts *out, kg_new_entities *entities,
                                 kg_error *error) {
    kg_left_out_facts left;
    KG_NEED(entities);
    if (out != NULL)
        KG_CHECK_SIZE(out);
    KG_TRY(kg__new_entities_finish(&left, entities, error));
    if (out != NULL)
        kg__sized_write(out, &left, sizeof left);
    return KG_OK;
}

size_t kg_new_entities_count(const kg_new_entities *entities) {
    return entities == NULL ? 0 : kg__new_entities_count(entities);
}

kg_text kg_new_entities_name(const kg_new_entities *entities, size_t index) {
    return index < kg_new_entities_count(entities) ? kg__new_entities_name(entities, index)
                                                   : (kg_text){"", 0};
}

const kg_link *kg_new_entities_links(size_t *count, const kg_new_entities *entities, size_t index) {
    size_t found = 0;
    const kg_link *links = index < kg_new_entities_count(entities)
                               ? kg__new_entities_links(&found, entities, index)
                               : NULL;
    if (count != NULL)
        *count = found;
    return links;
}

size_t kg_new_entities_find(const kg_new_entities *entities, kg_text name) {
    return entities == NULL || name.bytes == NULL ? kg_new_entities_count(entities)
                                                  : kg__new_entities_find(entities, name);
}
