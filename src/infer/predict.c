/* Prediction of links. A request becomes a query for each of its directed relations; queries of all
 * requests are answered together, tile by tile, and the lists of a request that has several are
 * merged by log-odds. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "infer/workspace.h"
#include "model/nonfinite.h"

#define MOST_KNOWN 4096 /* facts of an entity whose known answers are scored one by one */

/* The queries of a request are those from `next` on, up to `end`, by steps. */
struct expansion {
    kg_directed next;
    kg_directed end;
    kg_directed step;
    const kg_link *links; /* the facts of its subject */
    size_t link_count;
};

/* The subject is the head where tails are requested. */
static kg_status expand(struct expansion *out, kg_workspace *workspace, const kg_request *request,
                        kg_error *error) {
    size_t relations = workspace->model->relations.count;
    bool is_any = request->relation == KG_NO_ID;
    if (!is_any && request->relation >= relations)
        return kg_fail(error, KG_BAD_INPUT, "expected one of the model's %zu relations, found %ju",
                       relations, (uintmax_t)request->relation);
    if (!request->heads && !request->tails)
        return kg_fail(error, KG_BAD_INPUT, "expected to be asked for heads, tails or both");
    kg_end first = request->tails ? KG_HEAD : KG_TAIL;
    out->next = kg_direct(is_any ? 0 : request->relation, first);
    out->end = is_any ? (kg_directed)(2 * relations) : 2 * request->relation + 2;
    out->step = request->heads && request->tails ? 1 : 2;
    bool is_merged = out->end - out->next > out->step;
    if (is_merged && workspace->model->calibration == NULL)
        return kg_fail(
            error, KG_BAD_INPUT,
            "expected one relation and one side, since this model has no calibration: without one, "
            "scores of different relations cannot be compared (kgraft calibrate makes one)");
    KG_TRY(kg__subject_load(workspace, request->subject, error));
    return kg__subject_links(workspace, request->subject, &out->links, &out->link_count, error);
}

/* The request that a query of the tile belongs to. */
struct origin {
    size_t request;
    bool is_first;
    bool is_last;
};

/* The state of a call. */
struct call {
    kg_workspace *workspace;
    kg_answer *answers;
    size_t *found;
    const kg_request *requests;
    size_t most;
    size_t length; /* of a query's list: at most as long as there are entities */
    size_t tile;   /* queries that are answered together */
    size_t count;  /* of them, so far */
    struct origin origins[KG_TILE];
    kg_top_heap merged;
};

static void finish(struct call *call, size_t request) {
    const kg_model *model = call->workspace->model;
    kg__top_heap_sort(&call->merged);
    call->found[request] = call->merged.count;
    for (size_t i = 0; i < call->merged.count; i++) {
        kg_candidate from = call->merged.heap[i];
        call->answers[request * call->most + i] =
            (kg_answer){from.directed, from.entity, (float)from.score,
                        kg__probability(kg__log_odds(model, from.directed, from.score))};
    }
}

static void offer(struct call *call, kg_candidate candidate, bool is_only) {
    if (!is_only)
        candidate.value = kg__log_odds(call->workspace->model, candidate.directed, candidate.score);
    kg__top_heap_offer(&call->merged, candidate);
}

/* A request's only list is ordered by scores. */
static void take_list(struct call *call, size_t query) {
    kg_workspace *workspace = call->workspace;
    const struct origin *origin = &call->origins[query];
    bool is_only = origin->is_first && origin->is_last;
    if (origin->is_first)
        call->merged = (kg_top_heap){.heap = workspace->merged,
                                     .most = call->most,
                                     .names = kg__blocks_names(&workspace->top.blocks)};
    for (size_t i = 0; i < workspace->found[query]; i++)
        offer(call, workspace->lists[query * call->length + i], is_only);
    size_t end = workspace->known_starts[query + 1];
    for (size_t i = workspace->known_starts[query]; i < end; i++)
        offer(call, workspace->known[i], is_only);
    if (origin->is_last)
        finish(call, origin->request);
}

static kg_status answer_tile(struct call *call, kg_error *error) {
    kg_workspace *workspace = call->workspace;
    for (size_t i = 0; i < call->count; i++) {
        if (call->requests[call->origins[i].request].no_echo) {
            workspace->searches[i].left_out = workspace->linked + workspace->linked_starts[i];
            workspace->searches[i].left_out_count =
                workspace->linked_starts[i + 1] - workspace->linked_starts[i];
        }
        workspace->searches[i].offsets = (kg_offset_run){
            kg__score_offsets_from(&workspace->offsets, workspace->offset_starts[i]),
            workspace->offset_starts[i + 1] - workspace->offset_starts[i]};
    }
    KG_TRY(kg__top_find(&workspace->top, workspace->lists, workspace->found, workspace->vectors,
                        workspace->searches, call->count, call->length, error));
    if (workspace->top.found_nonfinite)
        return kg__nonfinite_fail("a score", error);
    for (size_t i = 0; i < call->count; i++)
        take_list(call, i);
    call->count = 0;
    workspace->offsets.count = 0;
    workspace->known_count = 0;
    workspace->linked_starts[0] = 0;
    return KG_OK;
}

/* A known answer is scored as if its fact were not known, as in training and evaluation. */
static kg_status score_known(kg_workspace *workspace, kg_directed query, size_t fact, real *vector,
                             kg_error *error) {
    kg_id answer = workspace->scorer.embedder.links[fact].other;
    kg_score_offsets *offsets = &workspace->offsets;
    size_t before = offsets->count;
    kg__embedder_embed(&workspace->scorer.embedder, workspace->z, fact);
    kg__query_vector_adjoint(&workspace->model->params, vector, query, workspace->z);
    KG_TRY(kg__scorer_offsets(&workspace->scorer, offsets, fact, error));
    real score = kg__blocks_score(&workspace->top.blocks, vector, query, answer);
    for (size_t i = before; i < offsets->count; i++)
        if (offsets->items[i].entity == answer)
            score += (real)offsets->items[i].value;
    offsets->count = before;
    if (!isfinite(score))
        return kg__nonfinite_fail("a score", error);
    workspace->known[workspace->known_count++] = (kg_candidate){query, answer, score, score};
    return KG_OK;
}

/* Each known answer is a query of its own, for which costly terms pass over the graph. */
static kg_status check_known(const kg_workspace *workspace, kg_error *error) {
    size_t facts = workspace->scorer.embedder.count;
    if (facts <= MOST_KNOWN || kg__term_cost(&workspace->model->params) == 0)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "`keep_known`: expected an entity with at most %d facts, since a score without "
                   "each takes this model a query each, found one with %zu",
                   MOST_KNOWN, facts);
}

/* Those of the next query, whose vector is not made yet: so its memory is free. */
static kg_status score_all_known(struct call *call, kg_directed query, bool no_echo,
                                 kg_error *error) {
    kg_workspace *workspace = call->workspace;
    kg_embedder *embedder = &workspace->scorer.embedder;
    real *vector = workspace->vectors + call->count * workspace->model->params.dim;
    size_t count = 0;
    const kg_link *run = kg__links_run(embedder->links, embedder->count, query, &count);
    if (count == 0)
        return KG_OK;
    kg_candidate *known = kg__grow(workspace->known, &workspace->known_room,
                                   workspace->known_count + count, sizeof *known);
    if (known == NULL)
        return kg__fail_memory(error);
    workspace->known = known;
    kg__scorer_set_query(&workspace->scorer, query);
    workspace->is_embedded = false;
    for (size_t i = 0; i < count; i++)
        if (!no_echo || !kg__links_echo(embedder->links, embedder->count, run[i]))
            KG_TRY(
                score_known(workspace, query, (size_t)(run - embedder->links) + i, vector, error));
    return KG_OK;
}

/* What a search leaves out: known answers, which are either not requested or scored separately. The
 * vector of an entity does not depend on facts with itself. */
static void leave_out(kg_search *search, const struct expansion *expansion,
                      const kg_request *request) {
    const kg_id *self = &request->subject.entity;
    kg_link reflexive = {search->directed, *self};
    size_t count = 0;
    const kg_link *known =
        kg__links_run(expansion->links, expansion->link_count, search->directed, &count);
    if (!request->keep_known)
        search->itself = *self == KG_NO_ID ? NULL : self;
    else if (search->is_by_row)
        return;
    size_t place = kg__links_find(known, count, reflexive);
    search->left_out = known;
    search->left_out_count = count;
    search->unfiltered = place < count ? known + place : NULL;
}

/* The same without echoes: entities that any fact links to the subject, by id. If known answers are
 * kept, those to this query are not among them, unless they are scored separately. */
static kg_status leave_out_linked(struct call *call, const struct expansion *expansion,
                                  const kg_request *request, kg_error *error) {
    kg_workspace *workspace = call->workspace;
    size_t start = workspace->linked_starts[call->count];
    kg_link *linked = kg__grow(workspace->linked, &workspace->linked_room,
                               start + expansion->link_count, sizeof *linked);
    if (linked == NULL)
        return kg__fail_memory(error);
    workspace->linked = linked;
    size_t count = 0;
    for (size_t i = 0; i < expansion->link_count; i++) {
        kg_link link = expansion->links[i];
        bool is_scored = workspace->is_by_facts && link.other != request->subject.entity;
        bool is_kept = request->keep_known && link.directed == expansion->next && !is_scored;
        if (!is_kept)
            linked[start + count++] = (kg_link){expansion->next, link.other};
    }
    workspace->searches[call->count].unfiltered = NULL;
    workspace->linked_starts[call->count + 1] = start + kg__links_sort(linked + start, count);
    return KG_OK;
}

static kg_status add_query(struct call *call, const struct expansion *expansion, size_t number,
                           bool is_first, kg_error *error) {
    kg_workspace *workspace = call->workspace;
    const kg_params *params = &workspace->model->params;
    kg_search *search = &workspace->searches[call->count];
    const kg_request *request = &call->requests[number];
    workspace->known_starts[call->count] = workspace->known_count;
    if (request->keep_known && workspace->is_by_facts) {
        KG_TRY(check_known(workspace, error));
        KG_TRY(score_all_known(call, expansion->next, request->no_echo, error));
    }
    workspace->known_starts[call->count + 1] = workspace->known_count;
    kg__subject_set_query(workspace, expansion->next);
    kg__query_vector_adjoint(params, workspace->vectors + call->count * params->dim,
                             expansion->next, workspace->z);
    *search = (kg_search){.directed = expansion->next, .is_by_row = !workspace->is_by_facts};
    leave_out(search, expansion, request);
    workspace->linked_starts[call->count + 1] = workspace->linked_starts[call->count];
    if (request->no_echo)
        KG_TRY(leave_out_linked(call, expansion, request, error));
    workspace->offset_starts[call->count] = workspace->offsets.count;
    if (workspace->is_by_facts)
        KG_TRY(kg__scorer_offsets(&workspace->scorer, &workspace->offsets, KG_NOTHING, error));
    call->origins[call->count++] =
        (struct origin){number, is_first, expansion->end - expansion->next <= expansion->step};
    workspace->offset_starts[call->count] = workspace->offsets.count;
    return KG_OK;
}

static kg_status answer(struct call *call, size_t request, kg_error *error) {
    struct expansion expansion;
    KG_TRY(expand(&expansion, call->workspace, &call->requests[request], error));
    bool is_first = true;
    for (; expansion.next < expansion.end; expansion.next += expansion.step) {
        KG_TRY(add_query(call, &expansion, request, is_first, error));
        is_first = false;
        if (call->count == call->tile || call->workspace->offsets.count >= KG_ENOUGH_OFFSETS)
            KG_TRY(answer_tile(call, error));
    }
    return KG_OK;
}

kg_status kg__workspace_predict(kg_answer *answers, size_t *found, kg_workspace *workspace,
                                const kg_request *requests, size_t count, size_t most,
                                kg_error *error) {
    struct call call = {.workspace = workspace,
                        .answers = answers,
                        .found = found,
                        .requests = requests,
                        .most = most,
                        .length = kg__list_length(workspace, most),
                        .tile = kg__top_tile(&workspace->top, most)};
    memset(found, 0, count * sizeof *found);
    KG_TRY(kg__workspace_reserve(workspace, most, error));
    workspace->offsets.count = 0;
    workspace->known_count = 0;
    workspace->linked_starts[0] = 0;
    for (size_t i = 0; i < count; i++)
        KG_TRY(answer(&call, i, error));
    return call.count == 0 ? KG_OK : answer_tile(&call, error);
}

kg_status kg__workspace_neighbors(kg_answer *answers, size_t *found, kg_workspace *workspace,
                                  kg_subject subject, size_t most, kg_error *error) {
    kg_search search = {.itself = subject.entity == KG_NO_ID ? NULL : &subject.entity};
    KG_TRY(kg__model_check_embedding(workspace->model, error));
    KG_TRY(kg__subject_load(workspace, subject, error));
    KG_TRY(kg__workspace_reserve(workspace, most, error));
    KG_TRY(kg__top_find_nearest(&workspace->top, workspace->lists, found, workspace->z, &search,
                                most, error));
    if (workspace->top.found_nonfinite)
        return kg__nonfinite_fail("a number of a vector", error);
    for (size_t i = 0; i < *found; i++) {
        kg_candidate from = workspace->lists[i];
        answers[i] = (kg_answer){0, from.entity, (float)from.score, NAN};
    }
    return KG_OK;
}
