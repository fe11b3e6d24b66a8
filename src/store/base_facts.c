/* Looking up facts in the mapped index of a model. */
#include "store/base_facts.h"

#include "model/config.h"

static kg_status map_files(kg_base_facts *base, const char *path, kg_error *error) {
    if (!kg__config_lists(base->config, KG_MODEL_NAMES))
        return kg_fail_at(error, path, 0, 0, "expected a model with %s, found one without",
                          KG_MODEL_NAMES);
    KG_TRY(kg__config_map(&base->names, base->config, path, KG_MODEL_NAMES, error));
    KG_TRY(kg__names_index_view(&base->entities, &base->relations, &base->names, error));
    if (!kg__config_lists(base->config, KG_MODEL_KNOWN))
        return KG_OK; /* no facts are known */
    KG_TRY(kg__config_map(&base->facts, base->config, path, KG_MODEL_KNOWN, error));
    return kg__known_facts_view(&base->known, &base->facts, base->entities.count,
                                base->relations.count, error);
}

kg_status kg__base_facts_open(kg_base_facts *base, const char *path, kg_error *error) {
    *base = (kg_base_facts){0};
    KG_TRY(kg__config_read(&base->config, path, error));
    kg_status status = map_files(base, path, error);
    if (status != KG_OK)
        kg__base_facts_close(base);
    return status;
}

void kg__base_facts_close(kg_base_facts *base) {
    json_decref(base->config);
    kg__mapping_close(&base->names);
    kg__mapping_close(&base->facts);
    *base = (kg_base_facts){0};
}

static kg_id find(const kg_names *names, kg_text name) {
    return kg__names_find(names, kg__name_of(name.bytes, name.length));
}

/* An estimate where the file is damaged. */
static uint64_t degree(const kg_base_facts *base, kg_id entity) {
    return base->known.starts[entity + 1] - base->known.starts[entity];
}

kg_status kg__base_facts_have(const kg_base_facts *base, bool *out, const kg_text fact[3],
                              kg_error *error) {
    const kg_link *links = NULL;
    size_t count = 0;
    kg_id ends[2] = {find(&base->entities, fact[0]), find(&base->entities, fact[2])};
    kg_id relation = find(&base->relations, fact[1]);
    *out = false;
    if (relation == KG_NO_ID || ends[KG_HEAD] == KG_NO_ID || ends[KG_TAIL] == KG_NO_ID ||
        ends[KG_HEAD] >= base->known.entity_count || ends[KG_TAIL] >= base->known.entity_count)
        return KG_OK;
    kg_end end = degree(base, ends[KG_HEAD]) <= degree(base, ends[KG_TAIL]) ? KG_HEAD : KG_TAIL;
    kg_link link = {kg_direct(relation, end), ends[end == KG_HEAD ? KG_TAIL : KG_HEAD]};
    KG_TRY(kg__known_facts_links(&base->known, ends[end], &links, &count, error));
    *out = kg__links_find(links, count, link) < count;
    return KG_OK;
}
