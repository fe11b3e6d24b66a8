/* Explanation of a score: each term gives its parts of it (terms/scorer.h). The answer's rank
 * without a fact comes from the closed forms of leaving one out; ranks with all these vectors are
 * counted together. A fact that is given is explained by the others, as if it were not given, as in
 * training and evaluation. One of the model's own entities is explained by its training facts, as
 * if it were new. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "infer/workspace.h"
#include "model/nonfinite.h"

static kg_status check(const kg_workspace *workspace, kg_subject subject, kg_link target,
                       kg_error *error) {
    const kg_model *model = workspace->model;
    const kg_aggregator *aggregator = workspace->scorer.embedder.options.aggregator;
    if (aggregator->part == NULL || aggregator->weight == NULL)
        return kg_fail(
            error, KG_BAD_INPUT,
            "expected a model whose vectors are sums over facts, found %s, whose are not",
            aggregator->name);
    if (target.other >= model->entities.count || target.directed / 2 >= model->relations.count)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected an answer among the model's %zu entities and %zu relations, found "
                       "entity %ju and relation %ju",
                       model->entities.count, model->relations.count, (uintmax_t)target.other,
                       (uintmax_t)(target.directed / 2));
    return kg__subject_check(workspace, subject, error);
}

/* ---- The facts that are used ---- */

static bool is_same(kg_link a, kg_link b) {
    return a.directed == b.directed && a.other == b.other;
}

/* Neither the fact that is explained nor one of the entity with itself. */
static bool is_used(kg_subject subject, kg_link link, kg_link target) {
    return !is_same(link, target) && link.other != subject.entity;
}

/* Copies them to the workspace, by id. */
static kg_status select_facts(kg_workspace *workspace, kg_subject *out, kg_subject subject,
                              kg_link target, kg_error *error) {
    KG_TRY(kg__workspace_reserve_facts(workspace, subject.count, error));
    kg_link *links = workspace->links;
    *out = (kg_subject){subject.entity, links, 0};
    for (size_t i = 0; i < subject.count; i++)
        if (is_used(subject, subject.links[i], target))
            links[out->count++] = subject.links[i];
    return KG_OK;
}

/* Entities that the answer is not ranked against: other answers among the facts and, since it never
 * is an answer to queries about itself, the entity. */
static size_t list_answered(kg_workspace *workspace, kg_subject facts, kg_directed query) {
    kg_link *out = workspace->answered;
    size_t count = 0;
    const kg_link *run = kg__links_run(facts.links, facts.count, query, &count);
    if (count > 0)
        memcpy(out, run, count * sizeof *out);
    if (workspace->model->entities.later != NULL)
        kg__links_sort(out, count);
    if (facts.entity == KG_NO_ID)
        return count;
    size_t place = count;
    for (; place > 0 && out[place - 1].other > facts.entity; place--)
        out[place] = out[place - 1];
    out[place] = (kg_link){query, facts.entity};
    return count + 1;
}

/* Puts shares into the order of facts by id. */
static void sort_shares(const kg_explanation *out, kg_subject facts) {
    for (size_t i = 0; i < facts.count; i++) {
        size_t place = 0;
        while ((place = kg__links_find(facts.links, facts.count, out->shares[i].link)) != i) {
            kg_share share = out->shares[i];
            out->shares[i] = out->shares[place];
            out->shares[place] = share;
            for (size_t k = 0; k < out->term_count && out->parts != NULL; k++) {
                double part = kg__explanation_row(out, i)[k];
                kg__explanation_row(out, i)[k] = kg__explanation_row(out, place)[k];
                kg__explanation_row(out, place)[k] = part;
            }
        }
    }
}

/* Moves the shares of facts that are used to their indexes among all. */
static void spread(const kg_explanation *out, kg_subject subject, kg_link target, size_t count) {
    size_t row_size = out->term_count * sizeof *out->parts;
    for (size_t i = subject.count; i-- > 0;) {
        double *row = kg__explanation_row(out, i);
        if (is_used(subject, subject.links[i], target)) {
            out->shares[i] = out->shares[--count];
            if (row != NULL)
                memmove(row, kg__explanation_row(out, count), row_size);
        } else {
            out->shares[i] = (kg_share){.link = subject.links[i], .rank_without = out->rank};
            if (row != NULL)
                memset(row, 0, row_size);
        }
        out->shares[i].parts = row;
    }
}

/* ---- Ranks ---- */

/* The rank without the fact at `left_out`, or with all of them. */
static kg_status prepare(kg_workspace *workspace, size_t place, size_t answered, kg_link target,
                         size_t left_out, kg_error *error) {
    const kg_params *params = &workspace->model->params;
    real *vector = workspace->vectors + place * params->dim;
    kg_rank_count *rank_count = &workspace->rank_counts[place];
    kg__embedder_embed(&workspace->scorer.embedder, workspace->z, left_out);
    kg__query_vector_adjoint(params, vector, target.directed, workspace->z);
    *rank_count =
        (kg_rank_count){.vector = vector, .query = target.directed, .answer = target.other};
    rank_count->known = workspace->answered;
    rank_count->known_count = answered;
    rank_count->unfiltered = NULL;
    if (left_out != KG_NOTHING)
        rank_count->unfiltered =
            rank_count->known +
            kg__links_find(rank_count->known, answered, workspace->scorer.embedder.links[left_out]);
    workspace->offset_starts[place] = workspace->offsets.count;
    KG_TRY(kg__scorer_offsets(&workspace->scorer, &workspace->offsets, left_out, error));
    workspace->offset_starts[place + 1] = workspace->offsets.count;
    return KG_OK;
}

/* Ranks that are counted together: number 0 is with all facts, i without fact i - 1. */
struct tile {
    size_t numbers[KG_TILE];
    size_t count;
    size_t next; /* the first that belongs to a later tile */
};

/* Facts that a term has not tested are left out. */
static kg_status fill_tile(struct tile *tile, const kg_explanation *out, kg_workspace *workspace,
                           size_t facts, size_t answered, kg_link target, kg_error *error) {
    tile->count = 0;
    workspace->offsets.count = 0;
    for (; tile->next <= facts; tile->next++) {
        if (tile->count == KG_TILE || workspace->offsets.count >= KG_ENOUGH_OFFSETS)
            break;
        size_t left_out = tile->next == 0 ? KG_NOTHING : tile->next - 1;
        if (left_out != KG_NOTHING && isnan(out->shares[left_out].rank_without))
            continue;
        KG_TRY(prepare(workspace, tile->count, answered, target, left_out, error));
        tile->numbers[tile->count++] = tile->next;
    }
    for (size_t i = 0; i < tile->count; i++) {
        workspace->rank_counts[i].offsets = (kg_offset_run){
            kg__score_offsets_from(&workspace->offsets, workspace->offset_starts[i]),
            workspace->offset_starts[i + 1] - workspace->offset_starts[i]};
    }
    return KG_OK;
}

static kg_status count_ranks(kg_explanation *out, kg_workspace *workspace, kg_subject subject,
                             kg_link target, kg_error *error) {
    size_t answered = list_answered(workspace, subject, target.directed);
    struct tile tile = {.next = 0};
    while (tile.next <= subject.count) {
        KG_TRY(fill_tile(&tile, out, workspace, subject.count, answered, target, error));
        kg__rank_counts_run(workspace->rank_counts, tile.count, &workspace->top.blocks,
                            &workspace->approx_scores);
        for (size_t i = 0; i < tile.count; i++) {
            const kg_rank_count *rank_count = &workspace->rank_counts[i];
            if (!isfinite(rank_count->answer_score) || rank_count->all.nonfinite > 0)
                return kg__nonfinite_fail("a score", error);
            double rank = kg__rank_count_rank(rank_count, KG_REALISTIC);
            if (tile.numbers[i] == 0)
                out->rank = rank;
            else
                out->shares[tile.numbers[i] - 1].rank_without = subject.count == 1 ? NAN : rank;
        }
    }
    return KG_OK;
}

/* By the facts that are used. */
static kg_status explain(kg_explanation *out, kg_workspace *workspace, kg_subject subject,
                         kg_link target, kg_error *error) {
    const kg_params *params = &workspace->model->params;
    kg__subject_set_query(workspace, target.directed);
    kg__query_vector(params, workspace->vectors, target.directed,
                     kg__entity_row(params, target.other));
    kg_explain_use use = {
        .scorer = &workspace->scorer, .out = out, .target = target, .vector = workspace->vectors};
    KG_TRY(kg__scorer_explain(&use, error));
    out->probability =
        kg__probability(kg__log_odds(workspace->model, target.directed, (real)out->score));
    for (size_t block = 0; block < workspace->top.blocks.count; block++)
        kg__blocks_measure(&workspace->top.blocks, block);
    return count_ranks(out, workspace, subject, target, error);
}

static kg_status check_capacity(const char *name, const void *array, size_t capacity, size_t needed,
                                kg_error *error) {
    if (needed == 0 || (array != NULL && capacity >= needed))
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "%s: expected an array of %zu, found %zu", name, needed,
                   array == NULL ? 0 : capacity);
}

/* Sets how many of each there are. */
static kg_status check_arrays(kg_explanation *out, const kg_model *model, size_t facts,
                              kg_error *error) {
    out->share_count = facts;
    out->term_count = kg__term_parts(NULL, &model->params);
    out->reason_count = 0;
    out->untested_facts = 0;
    out->unexpanded = 0;
    KG_TRY(check_capacity("shares", out->shares, out->share_capacity, facts, error));
    KG_TRY(check_capacity("terms", out->terms, out->term_capacity, out->term_count, error));
    return out->parts == NULL ? KG_OK
                              : check_capacity("parts", out->parts, out->part_capacity,
                                               facts * out->term_count, error);
}

static kg_status refuse_without_facts(const kg_model *model, kg_error *error) {
    if (model->live != NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected an entity with live facts, found none: it is predicted by its "
                       "row alone");
    return kg_fail(error, KG_BAD_INPUT,
                   "expected an entity with training facts in the model, found none%s",
                   model->known.links != NULL ? "" : ": it has no facts at all");
}

kg_status kg__workspace_explain(kg_explanation *out, kg_workspace *workspace, kg_subject subject,
                                kg_link target, kg_error *error) {
    kg_subject facts;
    KG_TRY(check(workspace, subject, target, error));
    KG_TRY(kg__subject_links(workspace, subject, &subject.links, &subject.count, error));
    if (subject.count == 0 && workspace->model->params.dim > 0) /* predicted by its row */
        return refuse_without_facts(workspace->model, error);
    KG_TRY(check_arrays(out, workspace->model, subject.count, error));
    kg__term_parts(out->terms, &workspace->model->params);
    KG_TRY(select_facts(workspace, &facts, subject, target, error));
    kg__links_order(workspace->links, facts.count, &workspace->model->entities);
    KG_TRY(kg__scorer_load(&workspace->scorer, facts.entity, facts.links, facts.count, error));
    workspace->is_by_facts = true;
    workspace->is_embedded = false;
    KG_TRY(explain(out, workspace, facts, target, error));
    if (workspace->model->entities.later != NULL) {
        KG_TRY(select_facts(workspace, &facts, subject, target, error));
        sort_shares(out, facts);
    }
    spread(out, subject, target, facts.count);
    return KG_OK;
}
