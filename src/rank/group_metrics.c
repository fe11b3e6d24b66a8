/* Sums over ranges of queries: two for each fact, fact by fact. */
#include "rank/group_metrics.h"

#include "base/memory.h"

void kg__group_metrics_free(kg_group_metrics *groups) {
    kg__free(groups->list);
    *groups = (kg_group_metrics){0};
}

static json_int_t facts_of(const json_t *group) {
    return json_integer_value(json_object_get(group, "facts"));
}

/* Whether all groups have a name and a number of facts, and have as many as there are. */
static bool add_up(const json_t *list, size_t facts) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *group = json_array_get(list, i);
        json_int_t count = facts_of(group);
        if (!json_is_string(json_object_get(group, "name")) || count < 0 || (size_t)count > facts)
            return false;
        facts -= (size_t)count;
    }
    return json_array_size(list) > 0 && facts == 0;
}

static void add_query(kg_metrics_group *group, const kg_query *query, double rank) {
    kg_end missing = kg__other_end(kg_directed_end(query->target.directed));
    kg__metrics_add(&group->all, rank);
    kg__metrics_add(&group->by_side[missing], rank);
}

kg_status kg__group_metrics_make(kg_group_metrics *out, const kg_queries *queries,
                                 const double *ranks, const kg_dataset *dataset, kg_part part,
                                 kg_error *error) {
    *out = (kg_group_metrics){0};
    const json_t *groups = json_object_get(dataset->history, "groups");
    const json_t *list = json_object_get(groups, kg__part_name(part));
    if (part >= KG_UNSEEN_VALID || !add_up(list, dataset->parts[part].count))
        return KG_OK;
    out->list = kg__alloc(json_array_size(list), sizeof *out->list);
    if (out->list == NULL)
        return kg__fail_memory(error);
    for (size_t query = 0; out->count < json_array_size(list); out->count++) {
        const json_t *described = json_array_get(list, out->count);
        kg_metrics_group *group = &out->list[out->count];
        group->name = json_string_value(json_object_get(described, "name"));
        for (size_t end = query + 2 * (size_t)facts_of(described); query < end; query++)
            add_query(group, &queries->list[query], ranks[query]);
        kg__metrics_mean(&group->all);
        kg__metrics_mean(&group->by_side[KG_HEAD]);
        kg__metrics_mean(&group->by_side[KG_TAIL]);
    }
    return KG_OK;
}

static json_t *describe(const kg_metrics_group *group) {
    json_t *out = kg__metrics_json(&group->all);
    json_t *sides = json_pack("{so so}", "head", kg__metrics_json(&group->by_side[KG_HEAD]), "tail",
                              kg__metrics_json(&group->by_side[KG_TAIL]));
    return kg__json_complete(out, json_object_set_new(out, "by_side", sides) == 0);
}

json_t *kg__group_metrics_json(const kg_group_metrics *groups) {
    json_t *out = json_object();
    bool good = true;
    for (size_t i = 0; i < groups->count && good; i++)
        good = json_object_set_new(out, groups->list[i].name, describe(&groups->list[i])) == 0;
    return kg__json_complete(out, good);
}
