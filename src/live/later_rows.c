/* Levels first, then rows level by level, of what is near enough to a change. Rows of a level do
 * not depend on each other: where there are many, as when a store is opened, threads share them. */
#include "live/later_rows.h"

#include <omp.h>
#include <string.h>

#include "base/thread_count.h"
#include "math/vector.h"

/* Rows that are not worth a second thread. */
#define FEW 256

/* Who asks a question, and by which facts; the link leads there. */
struct asking {
    kg_link link;
    const kg_link *facts;
    size_t count;
};

/* What a thread makes rows with. */
struct fitter {
    kg_row_fit *fit; /* the generation's, or that of another thread */
    kg_embedder *embedder;
    kg_row_fit own_fit;
    kg_embedder own_embedder;
    kg_link *links; /* those that a row is made of */
    struct asking asking[KG_MOST_FITTED];
    kg_status status;
    kg_error error;
};

/* Entities whose rows are made: in the order in which they are found. */
struct near {
    kg_live_commit *commit;
    const kg_overlay *overlay;
    size_t first;
    uint8_t *is_in; /* a bit for each entity that came later */
    kg_id *entities;
    size_t count;
    size_t most_links;
    struct fitter *fitters;
    size_t fitter_count;
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
    kg_entity_facts *page =
        kg__pages_edit(&near->commit->after->overlay.facts, &near->commit->generation->versions,
                       entity, sizeof *page);
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

/* Who asks a question that one of the facts answers, and by which facts: one of the model's own by
 * training facts, others by those that their rows are made of. */
static kg_status find_asking(const struct near *near, struct fitter *fitter, struct asking *out,
                             kg_link link, kg_error *error) {
    out->link = link;
    if (link.other < near->first)
        return kg__live_known(&out->facts, &out->count, near->commit->generation->base, link.other,
                              error);
    const kg_entity_facts *all = facts_of(near, link.other);
    kg_link *lower = kg__arena_take(&fitter->fit->arena, all->link_count, sizeof *lower);
    if (lower == NULL)
        return kg__fail_memory(error);
    out->count = select_links(near, lower, all);
    out->facts = lower;
    return KG_OK;
}

/* Facts and rows are anywhere in large tables: those of all questions are fetched at once. */
static kg_status add_questions(const struct near *near, struct fitter *fitter, size_t count,
                               kg_error *error) {
    const kg_known_facts *known = &near->commit->generation->base->known;
    const kg_params *params = &fitter->embedder->params;
    size_t step = (count + KG_MOST_FITTED - 1) / KG_MOST_FITTED;
    size_t chosen = 0;
    for (size_t k = 0; k < count; k += step)
        if (fitter->links[k].other < near->first && known->starts != NULL)
            __builtin_prefetch(&known->starts[fitter->links[k].other]);
    for (size_t k = 0; k < count; k += step)
        KG_TRY(find_asking(near, fitter, &fitter->asking[chosen++], fitter->links[k], error));
    for (size_t i = 0; i < chosen; i++)
        if (fitter->asking[i].count > 0)
            kg__fetch(kg__entity_row(params, fitter->asking[i].facts[0].other), params->dim);
    for (size_t i = 0; i < chosen; i++) {
        const struct asking *asking = &fitter->asking[i];
        KG_TRY(kg__row_fit_add(fitter->fit, fitter->embedder, asking->link, fitter->fit->target,
                               asking->facts, asking->count, error));
    }
    return KG_OK;
}

static kg_status make_row(const struct near *near, struct fitter *fitter, kg_id entity,
                          kg_error *error) {
    const kg_pages *rows = &near->commit->after->rows.rows;
    size_t dim = fitter->embedder->params.dim;
    size_t i = entity - near->first;
    const kg_entity_facts *facts = facts_of(near, entity);
    real *row = (real *)rows->pages[i / KG_PAGE] + i % KG_PAGE * dim;
    memset(row, 0, dim * sizeof *row);
    if (facts->level == 0)
        return KG_OK;
    size_t count = select_links(near, fitter->links, facts);
    kg__row_fit_start(fitter->fit, kg__names_hashed(&near->commit->after->model.entities, entity),
                      dim);
    if (fitter->fit->ridge > 0)
        KG_TRY(add_questions(near, fitter, count, error));
    return kg__row_fit_finish(fitter->fit, row, dim, error);
}

/* Which thread makes which row does not matter. */
static kg_status make_level(const struct near *near, uint8_t level, kg_error *error) {
#pragma omp parallel num_threads((int)near->fitter_count) if (near->fitter_count > 1)
    {
        struct fitter *fitter = &near->fitters[omp_get_thread_num()];
#pragma omp for schedule(dynamic, KG_PAGE)
        for (size_t i = 0; i < near->count; i++)
            if (fitter->status == KG_OK && facts_of(near, near->entities[i])->level == level)
                fitter->status = make_row(near, fitter, near->entities[i], &fitter->error);
    }
    for (size_t i = 0; i < near->fitter_count; i++) {
        if (near->fitters[i].status != KG_OK && error != NULL)
            *error = near->fitters[i].error;
        KG_TRY(near->fitters[i].status);
    }
    return KG_OK;
}

static kg_status make_rows(struct near *near, kg_error *error) {
    kg_live_version *after = near->commit->after;
    size_t row = after->model.params.dim * sizeof(real);
    for (size_t i = 0; i < near->count; i++)
        if (kg__pages_edit(&after->rows.rows, &near->commit->generation->versions,
                           near->entities[i] - near->first, row) == NULL)
            return kg__fail_memory(error);
    for (uint8_t level = 0; level <= KG_MOST_LEVELS && row > 0; level++)
        KG_TRY(make_level(near, level, error));
    return KG_OK;
}

/* ---- Threads ---- */

/* Only the first one is the generation's. */
static kg_status open_fitter(struct fitter *fitter, struct near *near, kg_error *error) {
    kg_generation *generation = near->commit->generation;
    bool is_first = fitter == near->fitters;
    fitter->fit = is_first ? &generation->row_fit : &fitter->own_fit;
    fitter->embedder = is_first ? &generation->embedder : &fitter->own_embedder;
    if (!is_first)
        kg__embedder_open(fitter->embedder, generation->embedder.options, generation->base->params);
    fitter->embedder->params = near->commit->after->model.params;
    fitter->embedder->params.gram = generation->gram;
    fitter->links = kg__arena_take(&near->commit->memory, near->most_links, sizeof *fitter->links);
    if (fitter->links == NULL)
        return kg__fail_memory(error);
    return is_first ? KG_OK
                    : kg__row_fit_fork(fitter->fit, &generation->row_fit,
                                       fitter->embedder->params.dim, error);
}

static kg_status open_fitters(struct near *near, kg_error *error) {
    near->fitter_count = near->count > FEW ? (size_t)kg__threads(0) : 1;
    near->fitters =
        kg__arena_take_zeroed(&near->commit->memory, near->fitter_count, sizeof *near->fitters);
    if (near->fitters == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < near->fitter_count; i++)
        KG_TRY(open_fitter(&near->fitters[i], near, error));
    return KG_OK;
}

static void close_fitters(struct near *near) {
    for (size_t i = 1; near->fitters != NULL && i < near->fitter_count; i++) {
        kg__embedder_close(&near->fitters[i].own_embedder);
        kg__row_fit_close(&near->fitters[i].own_fit);
    }
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
    KG_TRY(find_levels(&near, error));
    kg_status status = open_fitters(&near, error);
    if (status == KG_OK)
        status = make_rows(&near, error);
    close_fitters(&near);
    return status;
}
