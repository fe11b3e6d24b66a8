/* Why? The vector of an entity is a sum over its facts, and so is any score of it, but for what
 * evidence (testimony.c) adds. What the answer's rank would be without a fact comes from the closed
 * forms of leaving one out: contests of all these vectors are held together. A fact that is given
 * is explained as if it were not, by the others: so models learn, and so they are judged. One of
 * the model's own entities is explained by its training facts, as if it were new. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "infer/workspace.h"
#include "model/nonfinite.h"

static kg_status check(const kg_workspace *workspace, kg_subject subject, kg_link asked,
                       kg_error *error) {
    const kg_model *model = workspace->model;
    if (workspace->blend.options.aggregator->is_encoder)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a model whose vectors are sums over facts, found %s, which has an "
                       "encoder",
                       model->params.scoring->name);
    if (asked.other >= model->entities.count || asked.directed / 2 >= model->relations.count)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected an answer among the model's %zu entities and %zu relations, found "
                       "entity %ju and relation %ju",
                       model->entities.count, model->relations.count, (uintmax_t)asked.other,
                       (uintmax_t)(asked.directed / 2));
    return kg__subject_check(workspace, subject, error);
}

/* ---- The facts that count ---- */

static bool is_same(kg_link a, kg_link b) {
    return a.directed == b.directed && a.other == b.other;
}

/* The fact that is asked for does not count, nor does one of the entity with itself. */
static bool counts(kg_subject subject, kg_link link, kg_link asked) {
    return !is_same(link, asked) && link.other != subject.entity;
}

/* Copies them to the workspace. */
static kg_status select_facts(kg_workspace *workspace, kg_subject *out, kg_subject subject,
                              kg_link asked, kg_error *error) {
    KG_TRY(kg__workspace_reserve_facts(workspace, subject.count, error));
    kg_link *links = workspace->links;
    *out = (kg_subject){subject.entity, links, 0};
    for (size_t i = 0; i < subject.count; i++)
        if (counts(subject, subject.links[i], asked))
            links[out->count++] = subject.links[i];
    return KG_OK;
}

/* What no answer is ranked against: other answers among the facts and, as it never is an answer to
 * questions about itself, the entity. */
static size_t list_answered(kg_workspace *workspace, kg_subject facts, kg_directed asked) {
    kg_link *out = workspace->answered;
    size_t count = 0;
    const kg_link *run = kg__links_run(facts.links, facts.count, asked, &count);
    if (count > 0)
        memcpy(out, run, count * sizeof *out);
    if (facts.entity == KG_NO_ID)
        return count;
    size_t place = count;
    for (; place > 0 && out[place - 1].other > facts.entity; place--)
        out[place] = out[place - 1];
    out[place] = (kg_link){asked, facts.entity};
    return count + 1;
}

/* Moves the shares of facts that count to the places of these among all. */
static void spread(kg_share *shares, kg_subject subject, kg_link asked, size_t count, double rank) {
    for (size_t i = subject.count; i-- > 0;)
        if (counts(subject, subject.links[i], asked))
            shares[i] = shares[--count];
        else
            shares[i] = (kg_share){.link = subject.links[i], .rank_without = rank};
}

/* ---- Ranks ---- */

/* A contest without the fact at `left_out`, or with all of them. */
static kg_status prepare(kg_workspace *workspace, size_t place, size_t answered, kg_link asked,
                         size_t left_out, kg_error *error) {
    const kg_params *params = &workspace->model->params;
    real *vector = workspace->vectors + place * params->dim;
    kg_rank_count *contest = &workspace->contests[place];
    kg__embedder_embed(&workspace->blend, workspace->z, left_out);
    kg__query_vector_adjoint(params, vector, asked.directed, workspace->z);
    *contest = (kg_rank_count){.vector = vector, .asked = asked.directed, .answer = asked.other};
    contest->known = workspace->answered;
    contest->known_count = answered;
    contest->forgotten = NULL;
    if (left_out != KG_NOTHING)
        contest->forgotten = contest->known + kg__links_find(contest->known, answered,
                                                             workspace->blend.links[left_out]);
    workspace->starts[place] = workspace->bonuses.count;
    KG_TRY(kg__embedder_bonuses(&workspace->blend, &workspace->bonuses, left_out, error));
    workspace->starts[place + 1] = workspace->bonuses.count;
    return KG_OK;
}

/* Holds a tile of contests, the first of which is number `from`: 0 has all facts, i lacks fact
 * i - 1. */
static kg_status hold_tile(kg_workspace *workspace, size_t from, size_t count, size_t answered,
                           kg_link asked, kg_error *error) {
    workspace->bonuses.count = 0;
    for (size_t i = 0; i < count; i++)
        KG_TRY(prepare(workspace, i, answered, asked, from + i == 0 ? KG_NOTHING : from + i - 1,
                       error));
    for (size_t i = 0; i < count; i++) {
        workspace->contests[i].bonuses =
            kg__score_offsets_from(&workspace->bonuses, workspace->starts[i]);
        workspace->contests[i].bonus_count = workspace->starts[i + 1] - workspace->starts[i];
    }
    kg__rank_counts_run(workspace->contests, count, &workspace->top.blocks, &workspace->proposals);
    return KG_OK;
}

static kg_status hold(kg_workspace *workspace, kg_explanation *out, kg_share *shares,
                      kg_subject subject, kg_link asked, kg_error *error) {
    size_t all = subject.count + 1;
    size_t answered = list_answered(workspace, subject, asked.directed);
    for (size_t from = 0; from < all; from += KG_TILE) {
        size_t count = all - from < KG_TILE ? all - from : KG_TILE;
        KG_TRY(hold_tile(workspace, from, count, answered, asked, error));
        for (size_t i = 0; i < count; i++) {
            const kg_rank_count *contest = &workspace->contests[i];
            if (!isfinite(contest->goal) || contest->all.strange > 0)
                return kg__nonfinite_fail("a score", error);
            double rank = kg__rank_count_rank(contest, KG_REALISTIC);
            if (from + i == 0)
                out->rank = rank;
            else
                shares[from + i - 1].rank_without = subject.count == 1 ? NAN : rank;
        }
    }
    return KG_OK;
}

/* ---- Parts ---- */

/* A fact that leads to the answer itself may give it more than its weight does. */
static void split(kg_workspace *workspace, kg_share *shares, kg_subject subject, kg_link asked,
                  const real *vector) {
    kg_embedder *blend = &workspace->blend;
    for (size_t i = 0; i < subject.count; i++) {
        double echo = subject.links[i].other == asked.other ? kg__embedder_echo(blend, i) : 0;
        double part = kg__embedder_part(blend, i, vector);
        shares[i] = (kg_share){.link = subject.links[i],
                               .weight = kg__embedder_weight(blend, i),
                               .part = part + echo,
                               .vector = part,
                               .echo = echo};
    }
}

/* Of the facts at hand. */
static kg_status explain(kg_workspace *workspace, kg_explanation *out, kg_share *shares,
                         kg_subject subject, kg_link asked, kg_error *error) {
    const kg_params *params = &workspace->model->params;
    kg__subject_ask(workspace, asked.directed);
    kg__query_vector(params, workspace->vectors, asked.directed,
                     kg__entity_row(params, asked.other));
    split(workspace, shares, subject, asked, workspace->vectors);
    out->score = 0;
    for (size_t i = 0; i < subject.count; i++)
        out->score += shares[i].part;
    KG_TRY(kg__explain_features(workspace, out->evidence, shares, asked, error));
    for (size_t k = 0; k < KG_FEATURE_COUNT; k++)
        out->score += out->evidence[k].part;
    out->probability =
        kg__probability(kg__log_odds(workspace->model, asked.directed, (real)out->score));
    for (size_t block = 0; block < workspace->top.blocks.count; block++)
        kg__blocks_measure(&workspace->top.blocks, block);
    return hold(workspace, out, shares, subject, asked, error);
}

kg_status kg_explain(kg_workspace *workspace, kg_explanation *out, kg_share *shares,
                     kg_subject subject, kg_link asked, kg_error *error) {
    kg_subject facts;
    KG_NEED(workspace);
    KG_NEED(out);
    KG_NEED(shares);
    KG_TRY(check(workspace, subject, asked, error));
    KG_TRY(kg__subject_links(workspace, subject, &subject.links, &subject.count, error));
    if (subject.count == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected an entity with training facts in the model, found none%s",
                       kg_describe(workspace->model).has_facts ? "" : ": it has no facts at all");
    KG_TRY(select_facts(workspace, &facts, subject, asked, error));
    KG_TRY(kg__embedder_load(&workspace->blend, facts.entity, facts.links, facts.count, error));
    workspace->is_blended = true;
    workspace->is_embedded = false;
    KG_TRY(explain(workspace, out, shares, facts, asked, error));
    spread(shares, subject, asked, facts.count, out->rank);
    return KG_OK;
}
