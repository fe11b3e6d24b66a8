/* Two passes over the facts of an entity: one counts, the other one chooses. */
#include "live/later_asking.h"

struct asking {
    const kg_live_version *version;
    kg_id entity;
    uint8_t level; /* 0: the model's own */
};

static bool asks_by(const struct asking *asking, kg_link link) {
    if (asking->entity < asking->version->overlay.first)
        return link.other != asking->entity;
    return kg__later_is_made_of(&asking->version->overlay, asking->level, link);
}

static size_t choose(kg_link out[KG_MOST_ASKING], const struct asking *asking, const kg_link *links,
                     size_t count) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += asks_by(asking, links[i]);
    size_t step = (used + KG_MOST_ASKING - 1) / KG_MOST_ASKING;
    size_t chosen = 0;
    for (size_t i = 0, place = 0; i < count && used > 0; i++)
        if (asks_by(asking, links[i]) && place++ % step == 0)
            out[chosen++] = links[i];
    return chosen;
}

kg_status kg__later_asking(kg_link out[KG_MOST_ASKING], size_t *count,
                           const kg_live_version *version, kg_id entity, size_t *read,
                           kg_error *error) {
    struct asking asking = {.version = version, .entity = entity};
    const kg_link *links = NULL;
    size_t link_count = 0;
    if (entity < version->overlay.first) {
        KG_TRY(kg__live_known(&links, &link_count, version->generation->base, entity, error));
    } else {
        const kg_entity_facts *facts = kg__overlay_find(&version->overlay, entity);
        asking.level = facts->level;
        links = facts->links;
        link_count = facts->link_count;
    }
    *read += link_count;
    *count = choose(out, &asking, links, link_count);
    return KG_OK;
}
