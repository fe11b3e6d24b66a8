/* Levels first, then rows level by level, of what is near enough to a change. */
#include "live/later_rows.h"

#include <string.h>

/* Entities whose rows are made: in the order in which they are found. */
struct near {
    kg_live_commit *commit;
    const kg_overlay *overlay;
    size_t first;
    uint8_t *is_in; /* a bit for each entity that came later */
    kg_id *entities;
    size_t count;
    kg_link *links; /* those that a row is made of */
    size_t most_links;
};

static const kg_entity_facts *facts_of(const struct near *near, kg_id entity) {
    return kg__overlay_find(near->overlay, entity);
}

static void add(struct near *near, kg_id entity) {
    size_t i = entity - near->first;
    if ((near->is_in[i / 8] >> i % 8 & 1) != 0)
        return;
    near->is_in[i / 8] |= (uint8_t)(1 << i % 8);
    near->entities[near->count++] = entity;
    size_t links = facts_of(near, entity)->link_count;
    near->most_links = links > near->most_links ? links : near->most_links;
}

/* A row of level 1 does not depend on what came later; others do on those that are as near as there
 * are levels. */
static void find_near(struct near *near) {
    for (size_t i = 0; i < near->commit->changed_count; i++)
        if (near->commit->changed[i] >= near->first)
            add(near, near->commit->changed[i]);
    size_t from = 0;
    for (size_t step = 1; step < KG_MOST_LEVELS; step++) {
        size_t to = near->count;
        for (; from < to; from++) {
            const kg_entity_facts *facts = facts_of(near, near->entities[from]);
            for (size_t i = 0; i < facts->link_count; i++) {
                kg_id other = facts->links[i].other;
                if (other >= near->first && facts_of(near, other)->level != 1)
                    add(near, other);
            }
        }
    }
}

static kg_status set_level(struct near *near, kg_id entity, uint8_t level, kg_error *error) {
    kg_entity_facts *page = kg__pages_edit(&near->commit->after->overlay.facts,
                                           &near->commit->live->versions, entity, sizeof *page);
    if (page == NULL)
        return kg__fail_memory(error);
    page[entity % KG_PAGE].level = level;
    return KG_OK;
}

static bool has_link_at(const struct near *near, const kg_entity_facts *facts, size_t level) {
    for (size_t i = 0; i < facts->link_count; i++) {
        kg_id other = facts->links[i].other;
        bool is_at =
            other < near->first ? level == 0 : level > 0 && facts_of(near, other)->level == level;
        if (is_at)
            return true;
    }
    return false;
}

static kg_status find_levels(struct near *near, kg_error *error) {
    for (size_t i = 0; i < near->count; i++)
        KG_TRY(set_level(near, near->entities[i], 0, error));
    for (uint8_t level = 1; level <= KG_MOST_LEVELS; level++)
        for (size_t i = 0; i < near->count; i++) {
            const kg_entity_facts *facts = facts_of(near, near->entities[i]);
            if (facts->level == 0 && has_link_at(near, facts, level - 1U))
                KG_TRY(set_level(near, near->entities[i], level, error));
        }
    return KG_OK;
}

/* The facts that a row is made of. */
static size_t select_links(const struct near *near, kg_link *out, const kg_entity_facts *facts) {
    size_t count = 0;
    for (size_t i = 0; i < facts->link_count; i++) {
        kg_id other = facts->links[i].other;
        uint8_t level = other < near->first ? 0 : facts_of(near, other)->level;
        if (other < near->first || (level > 0 && level < facts->level))
            out[count++] = facts->links[i];
    }
    return count;
}

/* The question that one of its facts answers. One of the model's own asks by training facts, others
 * by those that their rows are made of. */
static kg_status add_question(struct near *near, kg_link link, kg_error *error) {
    kg_live *live = near->commit->live;
    const kg_link *facts = NULL;
    size_t count = 0;
    if (link.other < near->first) {
        KG_TRY(kg__live_known(&facts, &count, live->base, link.other, error));
    } else {
        const kg_entity_facts *all = facts_of(near, link.other);
        kg_link *lower = kg__arena_take(&live->row_fit.arena, all->link_count, sizeof *lower);
        if (lower == NULL)
            return kg__fail_memory(error);
        count = select_links(near, lower, all);
        facts = lower;
    }
    return kg__row_fit_add(&live->row_fit, &live->embedder, link, live->row_fit.target, facts,
                           count, error);
}

static kg_status make_row(struct near *near, kg_id entity, kg_error *error) {
    kg_live *live = near->commit->live;
    size_t dim = live->base->params.dim;
    size_t i = entity - near->first;
    const kg_entity_facts *facts = facts_of(near, entity);
    real *page =
        kg__pages_edit(&near->commit->after->rows.rows, &live->versions, i, dim * sizeof *page);
    if (page == NULL)
        return kg__fail_memory(error);
    if (dim == 0)
        return KG_OK;
    real *row = page + i % KG_PAGE * dim;
    memset(row, 0, dim * sizeof *row);
    if (facts->level == 0)
        return KG_OK;
    size_t count = select_links(near, near->links, facts);
    size_t step = (count + KG_MOST_FITTED - 1) / KG_MOST_FITTED;
    kg__row_fit_start(&live->row_fit,
                      kg__names_hashed(&near->commit->after->model.entities, entity), dim);
    for (size_t k = 0; k < count && live->row_fit.ridge > 0; k += step)
        KG_TRY(add_question(near, near->links[k], error));
    return kg__row_fit_finish(&live->row_fit, row, dim, error);
}

kg_status kg__later_rows_change(kg_live_commit *commit, kg_error *error) {
    kg_live_version *after = commit->after;
    size_t later = after->names.count;
    struct near near = {.commit = commit, .overlay = &after->overlay, .first = after->names.first};
    near.is_in = kg__arena_take_zeroed(&commit->memory, later / 8 + 1, 1);
    near.entities = kg__arena_take(&commit->memory, later, sizeof *near.entities);
    if (near.is_in == NULL || near.entities == NULL)
        return kg__fail_memory(error);
    find_near(&near);
    near.links = kg__arena_take(&commit->memory, near.most_links, sizeof *near.links);
    if (near.links == NULL)
        return kg__fail_memory(error);
    KG_TRY(find_levels(&near, error));
    commit->live->embedder.params = after->model.params;
    commit->live->embedder.params.gram = commit->live->gram;
    for (uint8_t level = 0; level <= KG_MOST_LEVELS; level++)
        for (size_t i = 0; i < near.count; i++)
            if (facts_of(&near, near.entities[i])->level == level)
                KG_TRY(make_row(&near, near.entities[i], error));
    return KG_OK;
}
