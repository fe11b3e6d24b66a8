/* What else is true of an entity? A request becomes a question for each directed relation that it
 * asks about; questions of all requests are answered together, tile by tile, and the lists of a
 * request that has several are merged by log-odds. */
#include <math.h>
#include <string.h>

#include "graft/workspace.h"

/* The questions of a request are those from `next` on, up to `end`, by steps. */
struct expansion {
    kg_directed next;
    kg_directed end;
    kg_directed step;
    const kg_link *links; /* what is known of its subject */
    size_t link_count;
    kg_list merged;
};

/* The subject's end is the head where tails are asked for. */
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
    KG_TRY(kg_subject_take(workspace, request->subject, error));
    return kg_subject_links(workspace, request->subject, &out->links, &out->link_count, error);
}

/* Where a question of the tile belongs. */
struct origin {
    size_t request;
    bool is_first;
    bool is_last;
};

/* All that a call works with. */
struct call {
    kg_workspace *workspace;
    kg_answer *answers;
    size_t *found;
    const kg_request *requests;
    size_t most;
    size_t length; /* of a question's list: at most as long as there are entities */
    size_t tile;   /* questions that are answered together */
    size_t count;  /* of them, so far */
    struct origin origins[KG_TILE];
    kg_list merged;
};

static void finish(struct call *call, size_t request) {
    const kg_model *model = call->workspace->model;
    kg_list_sort(&call->merged);
    call->found[request] = call->merged.count;
    for (size_t i = 0; i < call->merged.count; i++) {
        kg_candidate from = call->merged.heap[i];
        call->answers[request * call->most + i] =
            (kg_answer){from.directed, from.entity, (float)from.score,
                        kg_probability(kg_log_odds(model, from.directed, from.score))};
    }
}

/* A request's only list keeps the order of scores. */
static void take_list(struct call *call, size_t question) {
    kg_workspace *workspace = call->workspace;
    const struct origin *origin = &call->origins[question];
    bool is_only = origin->is_first && origin->is_last;
    if (origin->is_first)
        call->merged = (kg_list){.heap = workspace->merged, .most = call->most};
    for (size_t i = 0; i < workspace->found[question]; i++) {
        kg_candidate candidate = workspace->lists[question * call->length + i];
        if (!is_only)
            candidate.value = kg_log_odds(workspace->model, candidate.directed, candidate.score);
        kg_list_offer(&call->merged, candidate);
    }
    if (origin->is_last)
        finish(call, origin->request);
}

static kg_status answer_tile(struct call *call, kg_error *error) {
    kg_workspace *workspace = call->workspace;
    for (size_t i = 0; i < call->count; i++) {
        workspace->searches[i].bonuses = kg_bonuses_from(&workspace->bonuses, workspace->starts[i]);
        workspace->searches[i].bonus_count = workspace->starts[i + 1] - workspace->starts[i];
    }
    KG_TRY(kg_top_find(&workspace->top, workspace->lists, workspace->found, workspace->vectors,
                       workspace->searches, call->count, call->length, error));
    for (size_t i = 0; i < call->count; i++)
        take_list(call, i);
    call->count = 0;
    workspace->bonuses.count = 0;
    return KG_OK;
}

static kg_status ask(struct call *call, const struct expansion *expansion, size_t request,
                     bool is_first, kg_error *error) {
    kg_workspace *workspace = call->workspace;
    const kg_tables *tables = &workspace->model->tables;
    kg_search *search = &workspace->searches[call->count];
    kg_subject_ask(workspace, expansion->next);
    kg_query_adjoint(tables, workspace->vectors + call->count * tables->dim, expansion->next,
                     workspace->z);
    const kg_subject *subject = &call->requests[request].subject;
    *search = (kg_search){.directed = expansion->next, .is_by_row = !workspace->is_blended};
    if (!call->requests[request].keep_known) {
        search->itself = subject->entity == KG_NO_ID ? NULL : &subject->entity;
        search->left_out = kg_links_run(expansion->links, expansion->link_count, expansion->next,
                                        &search->left_out_count);
    }
    workspace->starts[call->count] = workspace->bonuses.count;
    if (workspace->is_blended)
        KG_TRY(kg_blend_bonuses(&workspace->blend, &workspace->bonuses, KG_NOTHING, error));
    call->origins[call->count++] =
        (struct origin){request, is_first, expansion->end - expansion->next <= expansion->step};
    workspace->starts[call->count] = workspace->bonuses.count;
    return KG_OK;
}

static kg_status answer(struct call *call, size_t request, kg_error *error) {
    struct expansion expansion;
    KG_TRY(expand(&expansion, call->workspace, &call->requests[request], error));
    bool is_first = true;
    for (; expansion.next < expansion.end; expansion.next += expansion.step) {
        KG_TRY(ask(call, &expansion, request, is_first, error));
        is_first = false;
        if (call->count == call->tile)
            KG_TRY(answer_tile(call, error));
    }
    return KG_OK;
}

static kg_status check_most(size_t most, kg_error *error) {
    if (most > 0)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "expected at least one answer to be asked for");
}

kg_status kg_predict(kg_workspace *workspace, kg_answer *answers, size_t *found,
                     const kg_request *requests, size_t count, size_t most, kg_error *error) {
    memset(found, 0, count * sizeof *found);
    struct call call = {.workspace = workspace,
                        .answers = answers,
                        .found = found,
                        .requests = requests,
                        .most = most,
                        .length = kg_list_length(workspace, most),
                        .tile = kg_top_tile(&workspace->top, most)};
    KG_TRY(check_most(most, error));
    KG_TRY(kg_workspace_reserve(workspace, most, error));
    workspace->bonuses.count = 0;
    for (size_t i = 0; i < count; i++)
        KG_TRY(answer(&call, i, error));
    return call.count == 0 ? KG_OK : answer_tile(&call, error);
}

kg_status kg_neighbors(kg_workspace *workspace, kg_answer *answers, size_t *found,
                       kg_subject subject, size_t most, kg_error *error) {
    kg_search search = {.itself = subject.entity == KG_NO_ID ? NULL : &subject.entity};
    *found = 0;
    KG_TRY(check_most(most, error));
    KG_TRY(kg_subject_take(workspace, subject, error));
    KG_TRY(kg_workspace_reserve(workspace, most, error));
    KG_TRY(kg_top_find_nearest(&workspace->top, workspace->lists, found, workspace->z, &search,
                               most, error));
    for (size_t i = 0; i < *found; i++) {
        kg_candidate from = workspace->lists[i];
        answers[i] = (kg_answer){0, from.entity, (float)from.score, NAN};
    }
    return KG_OK;
}
