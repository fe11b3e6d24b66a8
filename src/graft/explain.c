/* Why? A new entity's vector is a sum over its facts, and so is any score of it, but for what
 * evidence (testimony.c) adds. What the answer's rank would be without a fact comes from the closed
 * forms of leaving one out: contests of all these vectors are held together. A fact that is given
 * is explained as if it were not, by the others: so models learn, and so they are judged. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "graft/workspace.h"
#include "model/damage.h"

static kg_status check(const kg_workspace *workspace, kg_subject subject, kg_link asked,
                       kg_error *error) {
    const kg_model *model = workspace->model;
    if (subject.entity != KG_NO_ID)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a new entity, found one of the model's: its vector was learned, "
                       "not made of its facts");
    if (workspace->blend.options.aggregator->is_encoder)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a model whose vectors are sums over facts, found %s, which has an "
                       "encoder",
                       model->tables.kind->name);
    if (asked.other >= model->entities.count || asked.directed / 2 >= model->relations.count)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected an answer among the model's %zu entities and %zu relations, found "
                       "entity %ju and relation %ju",
                       model->entities.count, model->relations.count, (uintmax_t)asked.other,
                       (uintmax_t)(asked.directed / 2));
    return KG_OK;
}

/* A contest without the fact at `left_out`, or with all of them. */
static kg_status prepare(kg_workspace *workspace, size_t place, kg_subject subject, kg_link asked,
                         size_t left_out, kg_error *error) {
    const kg_tables *tables = &workspace->model->tables;
    real *vector = workspace->vectors + place * tables->dim;
    kg_contest *contest = &workspace->contests[place];
    kg_blend_embed(&workspace->blend, workspace->z, left_out);
    kg_query_adjoint(tables, vector, asked.directed, workspace->z);
    *contest = (kg_contest){.vector = vector, .asked = asked.directed, .answer = asked.other};
    contest->known =
        kg_links_run(subject.links, subject.count, asked.directed, &contest->known_count);
    contest->forgotten = left_out == KG_NOTHING ? NULL : subject.links + left_out;
    workspace->starts[place] = workspace->bonuses.count;
    KG_TRY(kg_blend_bonuses(&workspace->blend, &workspace->bonuses, left_out, error));
    workspace->starts[place + 1] = workspace->bonuses.count;
    return KG_OK;
}

/* Holds a tile of contests, the first of which is number `from`: 0 has all facts, i lacks fact
 * i - 1. */
static kg_status hold_tile(kg_workspace *workspace, size_t from, size_t count, kg_subject subject,
                           kg_link asked, kg_error *error) {
    workspace->bonuses.count = 0;
    for (size_t i = 0; i < count; i++)
        KG_TRY(prepare(workspace, i, subject, asked, from + i == 0 ? KG_NOTHING : from + i - 1,
                       error));
    for (size_t i = 0; i < count; i++) {
        workspace->contests[i].bonuses = kg_bonuses_from(&workspace->bonuses, workspace->starts[i]);
        workspace->contests[i].bonus_count = workspace->starts[i + 1] - workspace->starts[i];
    }
    kg_contests_hold(workspace->contests, count, &workspace->top.blocks, &workspace->proposals);
    return KG_OK;
}

static kg_status hold(kg_workspace *workspace, kg_explanation *out, kg_share *shares,
                      kg_subject subject, kg_link asked, kg_error *error) {
    size_t all = subject.count + 1;
    for (size_t from = 0; from < all; from += KG_TILE) {
        size_t count = all - from < KG_TILE ? all - from : KG_TILE;
        KG_TRY(hold_tile(workspace, from, count, subject, asked, error));
        for (size_t i = 0; i < count; i++) {
            const kg_contest *contest = &workspace->contests[i];
            if (!isfinite(contest->goal) || contest->all.strange > 0)
                return kg_damage_fail("a score", error);
            double rank = kg_contest_rank(contest, KG_REALISTIC);
            if (from + i == 0)
                out->rank = rank;
            else
                shares[from + i - 1].rank_without = subject.count == 1 ? NAN : rank;
        }
    }
    return KG_OK;
}

/* A fact that leads to the answer itself may give it more than its weight does; and evidence may
 * speak for it. */
static void split(kg_workspace *workspace, kg_explanation *out, kg_share *shares,
                  kg_subject subject, kg_link asked, const real *vector) {
    kg_blend *blend = &workspace->blend;
    out->score = 0;
    for (size_t i = 0; i < subject.count; i++) {
        double echo = subject.links[i].other == asked.other ? kg_blend_echo(blend, i) : 0;
        shares[i] = (kg_share){.link = subject.links[i],
                               .weight = kg_blend_weight(blend, i),
                               .part = kg_blend_part(blend, i, vector) + echo,
                               .echo = echo};
        out->score += shares[i].part;
    }
    for (size_t k = 0; k < KG_FEATURE_COUNT; k++)
        out->score += out->evidence[k].part;
    out->probability =
        kg_probability(kg_log_odds(workspace->model, asked.directed, (real)out->score));
}

/* The subject at hand. */
static kg_status explain(kg_workspace *workspace, kg_explanation *out, kg_share *shares,
                         kg_subject subject, kg_link asked, kg_error *error) {
    const kg_tables *tables = &workspace->model->tables;
    kg_subject_ask(workspace, asked.directed);
    kg_query(tables, workspace->vectors, asked.directed, kg_entity_row(tables, asked.other));
    KG_TRY(kg_explain_evidence(workspace, out->evidence, asked, error));
    split(workspace, out, shares, subject, asked, workspace->vectors);
    for (size_t block = 0; block < workspace->top.blocks.count; block++)
        kg_blocks_measure(&workspace->top.blocks, block);
    return hold(workspace, out, shares, subject, asked, error);
}

/* By all facts but the one at `given`, which has no part in the score. */
static kg_status explain_given(kg_workspace *workspace, kg_explanation *out, kg_share *shares,
                               kg_subject subject, size_t given, kg_error *error) {
    size_t behind = subject.count - given - 1;
    kg_link asked = subject.links[given];
    kg_link *links = kg_grow(workspace->links, &workspace->link_room, subject.count, sizeof *links);
    if (links == NULL)
        return kg_fail_memory(error);
    workspace->links = links;
    memcpy(links, subject.links, given * sizeof *links);
    memcpy(links + given, subject.links + given + 1, behind * sizeof *links);
    kg_subject others = {KG_NO_ID, links, subject.count - 1};
    KG_TRY(kg_blend_load(&workspace->blend, KG_NO_ID, others.links, others.count, error));
    workspace->is_embedded = false;
    KG_TRY(explain(workspace, out, shares, others, asked, error));
    memmove(shares + given + 1, shares + given, behind * sizeof *shares);
    shares[given] = (kg_share){.link = asked, .rank_without = out->rank};
    return KG_OK;
}

kg_status kg_explain(kg_workspace *workspace, kg_explanation *out, kg_share *shares,
                     kg_subject subject, kg_link asked, kg_error *error) {
    KG_NEED(workspace);
    KG_NEED(out);
    KG_NEED(shares);
    KG_TRY(check(workspace, subject, asked, error));
    KG_TRY(kg_subject_take(workspace, subject, error));
    size_t given = kg_links_find(subject.links, subject.count, asked);
    if (given < subject.count)
        return explain_given(workspace, out, shares, subject, given, error);
    return explain(workspace, out, shares, subject, asked, error);
}
