/* Levels from the lowest up, of entities whose facts have changed and of those that a changed level
 * matters to; then rows from the lowest level up, in the same way. */
#include "live/later_levels.h"

#include <string.h>

#include "live/later_asking.h"
#include "live/later_rows.h"

/* Entities that came later, in the order in which they are found. */
struct later_set {
    uint8_t *is_in; /* a bit for each */
    kg_id *entities;
    size_t count;
};

struct levels {
    kg_live_commit *commit;
    const kg_overlay *overlay;
    size_t first;
    struct later_set looked_at; /* for their levels */
    uint8_t *was;               /* the levels that these had */
    struct later_set rows;      /* that are made again */
};

static kg_status open_set(struct later_set *set, kg_live_commit *commit, kg_error *error) {
    size_t later = commit->after->names.count;
    set->is_in = kg__arena_take_zeroed(&commit->memory, later / 8 + 1, 1);
    set->entities = kg__arena_take(&commit->memory, later, sizeof *set->entities);
    return set->is_in == NULL || set->entities == NULL ? kg__fail_memory(error) : KG_OK;
}

/* False if it is in already. */
static bool add(struct later_set *set, const struct levels *levels, kg_id entity) {
    size_t i = entity - levels->first;
    if ((set->is_in[i / 8] >> i % 8 & 1) != 0)
        return false;
    set->is_in[i / 8] |= (uint8_t)(1 << i % 8);
    set->entities[set->count++] = entity;
    return true;
}

static const kg_entity_facts *facts_of(const struct levels *levels, kg_id entity) {
    return kg__overlay_find(levels->overlay, entity);
}

/* ---- Levels ---- */

static kg_status set_level(struct levels *levels, kg_id entity, uint8_t level, kg_error *error) {
    kg_live_commit *commit = levels->commit;
    kg_entity_facts *page = kg__pages_edit(&commit->after->overlay.facts,
                                           &commit->generation->versions, entity, sizeof *page);
    if (page == NULL)
        return kg__fail_memory(error);
    page[entity % KG_PAGE].level = level;
    return KG_OK;
}

/* Its level is to be found; until then it has none. */
static kg_status look_at(struct levels *levels, kg_id entity, kg_error *error) {
    uint8_t was = facts_of(levels, entity)->level;
    if (!add(&levels->looked_at, levels, entity))
        return KG_OK;
    levels->was[levels->looked_at.count - 1] = was;
    return set_level(levels, entity, 0, error);
}

/* Whether entities got to a level or left it matters to what they are linked with, but not to what
 * is as low itself. */
static kg_status look_above(struct levels *levels, uint8_t level, kg_error *error) {
    size_t count = levels->looked_at.count;
    for (size_t i = 0; i < count; i++) {
        const kg_entity_facts *facts = facts_of(levels, levels->looked_at.entities[i]);
        if ((levels->was[i] == level) == (facts->level == level))
            continue;
        const kg_link *links = facts->links;
        for (size_t k = 0, end = facts->link_count; k < end; k++) {
            kg_id other = links[k].other;
            if (other < levels->first)
                continue;
            uint8_t other_level = facts_of(levels, other)->level;
            if (other_level == 0 || other_level > level)
                KG_TRY(look_at(levels, other, error));
        }
    }
    return KG_OK;
}

static bool has_link_at(const struct levels *levels, const kg_entity_facts *facts, uint8_t level) {
    for (size_t i = 0; i < facts->link_count; i++) {
        kg_id other = facts->links[i].other;
        bool is_own = other < levels->first;
        if (level == 0 ? is_own : !is_own && facts_of(levels, other)->level == level)
            return true;
    }
    return false;
}

static kg_status find_levels(struct levels *levels, kg_error *error) {
    const struct later_set *set = &levels->looked_at;
    for (size_t i = 0; i < levels->commit->changed_count; i++)
        if (levels->commit->changed[i] >= levels->first)
            KG_TRY(look_at(levels, levels->commit->changed[i], error));
    for (uint8_t level = 1; level <= KG_MOST_LEVELS; level++) {
        if (level > 1)
            KG_TRY(look_above(levels, level - 1, error));
        for (size_t i = 0; i < set->count; i++) {
            const kg_entity_facts *facts = facts_of(levels, set->entities[i]);
            if (facts->level == 0 && has_link_at(levels, facts, level - 1))
                KG_TRY(set_level(levels, set->entities[i], level, error));
        }
    }
    return KG_OK;
}

/* ---- Rows ---- */

/* An entity whose level has changed is made of other facts, and so is what it is linked with if
 * that was made of their fact and is not any more, or the other way round. */
static void add_by_levels(struct levels *levels) {
    for (size_t i = 0; i < levels->looked_at.count; i++) {
        kg_id entity = levels->looked_at.entities[i];
        const kg_entity_facts *facts = facts_of(levels, entity);
        uint8_t was = levels->was[i];
        if (facts->level == was)
            continue;
        add(&levels->rows, levels, entity);
        for (size_t k = 0; k < facts->link_count; k++) {
            kg_id other = facts->links[k].other;
            uint8_t above = other < levels->first ? 0 : facts_of(levels, other)->level;
            if (kg__later_is_lower(was, above) != kg__later_is_lower(facts->level, above))
                add(&levels->rows, levels, other);
        }
    }
}

/* An entity by its id in the version before, or behind those. */
static uint8_t level_in(const struct levels *levels, kg_id before, bool is_before) {
    const kg_live_commit *commit = levels->commit;
    kg_id entity = is_before ? before : kg__live_new_id(commit, before);
    return kg__overlay_find(is_before ? &commit->before->overlay : levels->overlay, entity)->level;
}

/* The row of one end of a fact that comes or goes, if it is made of that. */
static void add_end(struct levels *levels, kg_id end, kg_id other, bool is_added) {
    if (end < levels->first || end == other || kg__live_is_gone(levels->commit, end))
        return;
    kg_id entity = kg__live_new_id(levels->commit, end);
    if (other < levels->first ||
        kg__later_is_lower(level_in(levels, other, !is_added), facts_of(levels, entity)->level))
        add(&levels->rows, levels, entity);
}

static void add_by_facts(struct levels *levels) {
    for (size_t i = 0; i < levels->commit->change_count; i++) {
        kg_fact_change change = levels->commit->changes[i];
        add_end(levels, change.fact.head, change.fact.tail, change.is_added);
        add_end(levels, change.fact.tail, change.fact.head, change.is_added);
    }
}

/* Whether one of the model's own asks by other facts than before. */
static kg_status asks_otherwise(bool *out, const struct levels *levels, kg_id entity,
                                kg_error *error) {
    const kg_live_commit *commit = levels->commit;
    size_t *read = &commit->generation->asking_read;
    kg_link was[KG_MOST_ASKING];
    kg_link is[KG_MOST_ASKING];
    size_t was_count = 0;
    size_t count = 0;
    KG_TRY(kg__later_asking(was, &was_count, commit->before, entity, read, error));
    KG_TRY(kg__later_asking(is, &count, commit->after, entity, read, error));
    *out = was_count != count || memcmp(was, is, count * sizeof *is) != 0;
    return KG_OK;
}

/* What is made of facts with such an entity. */
static kg_status add_by_own(struct levels *levels, kg_error *error) {
    const kg_live_commit *commit = levels->commit;
    for (size_t i = 0; i < commit->changed_count && commit->generation->row_fit.is_by_facts; i++) {
        bool is_other = false;
        const kg_entity_facts *facts = facts_of(levels, commit->changed[i]);
        if (commit->changed[i] >= levels->first || facts == NULL)
            continue; /* as in the model: nothing that came later is linked with it */
        KG_TRY(asks_otherwise(&is_other, levels, commit->changed[i], error));
        for (size_t k = 0; k < facts->link_count && is_other; k++)
            if (facts->links[k].other >= levels->first)
                add(&levels->rows, levels, facts->links[k].other);
    }
    return KG_OK;
}

/* What is made of facts with those whose rows are made again. */
static void add_above(struct levels *levels) {
    for (size_t i = 0; i < levels->rows.count; i++) {
        const kg_entity_facts *facts = facts_of(levels, levels->rows.entities[i]);
        for (size_t k = 0; k < facts->link_count && facts->level > 0; k++) {
            kg_id other = facts->links[k].other;
            if (other >= levels->first &&
                kg__later_is_lower(facts->level, facts_of(levels, other)->level))
                add(&levels->rows, levels, other);
        }
    }
}

/* Entities that come or move have rows at ids where others were, or none. */
static void add_new_ids(struct levels *levels) {
    for (size_t i = 0; i < levels->commit->new_id_count; i++)
        add(&levels->rows, levels, levels->commit->new_ids[i].after);
}

kg_status kg__later_levels_change(kg_id **out, size_t *count, kg_live_commit *commit,
                                  kg_error *error) {
    kg_live_version *after = commit->after;
    struct levels levels = {
        .commit = commit, .overlay = &after->overlay, .first = after->names.first};
    levels.was = kg__arena_take(&commit->memory, after->names.count, sizeof *levels.was);
    if (levels.was == NULL)
        return kg__fail_memory(error);
    KG_TRY(open_set(&levels.looked_at, commit, error));
    KG_TRY(open_set(&levels.rows, commit, error));
    KG_TRY(find_levels(&levels, error));
    add_by_levels(&levels);
    add_by_facts(&levels);
    KG_TRY(add_by_own(&levels, error));
    add_above(&levels);
    add_new_ids(&levels);
    *out = levels.rows.entities;
    *count = levels.rows.count;
    return KG_OK;
}
