/* Two passes over the facts of an entity: one counts, the other one chooses. */
#include "live/later_asking.h"

struct asking {
    const kg_live_version *version;
    kg_id entity;
    const kg_entity_facts *facts; /* NULL: those of the model */
};

static bool asks_by(const struct asking *asking, kg_link link) {
    const kg_entity_facts *facts = asking->facts;
    if (asking->entity >= asking->version->overlay.first)
        return kg__later_is_made_of(&asking->version->overlay, facts->level, link);
    bool is_live = facts == NULL ||
                   kg__links_find(facts->known, facts->known_count, link) < facts->known_count;
    return is_live && link.other != asking->entity;
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
    struct asking asking = {version, entity, kg__overlay_find(&version->overlay, entity)};
    const kg_link *links = NULL;
    size_t link_count = 0;
    if (entity < version->overlay.first) {
        KG_TRY(kg__live_known(&links, &link_count, version->generation->base, entity, error));
    } else if (asking.facts != NULL) { /* they all have facts */
        links = asking.facts->links;
        link_count = asking.facts->link_count;
    }
    *read += link_count;
    *count = choose(out, &asking, links, link_count);
    return KG_OK;
}
