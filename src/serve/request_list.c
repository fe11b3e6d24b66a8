/* Batches: the questions of a request are read and answered one by one, in its order. */
#include "serve/request_list.h"

#include "serve/limits.h"
#include "serve/server.h"

bool serve_is_batch(const json_t *body) {
    return json_object_get(body, "requests") != NULL;
}

kg_status serve_batch_read(const json_t **out, const json_t *body, kg_error *error) {
    static const serve_field fields[] = {SERVE_BATCH_FIELD, {0}};
    serve_question all = serve_question_defaults;
    KG_TRY(serve_fields_read(&all, fields, body, "", error));
    *out = all.requests;
    return KG_OK;
}

kg_status serve_batch_question(serve_question *out, const serve_field *fields,
                               const json_t *requests, size_t index, kg_error *error) {
    *out = serve_question_defaults;
    return serve_fields_read(out, fields, json_array_get(requests, index), "", error);
}

kg_status serve_batch_check(uint64_t answers, kg_error *error) {
    if (answers <= SERVE_MOST_ANSWERS)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "`requests`: expected a sum of `k` of at most %d, found %ju", SERVE_MOST_ANSWERS,
                   (uintmax_t)answers);
}

json_t *serve_batch_problem(const serve_problem *problem, kg_error *error, size_t index) {
    serve_error_prefix(error, "`requests[%zu]`: ", index);
    return json_pack("{so}", "problem", serve_problem_json(problem, error));
}

/* Counts those whose problem has similar names in `*suggested`. */
static json_t *answer_one(const serve_batched *batched, const json_t *requests, size_t index,
                          const serve_view *view, size_t *suggested) {
    serve_problem problem = {.is_brief = *suggested >= SERVE_MOST_SUGGESTED};
    serve_question question;
    kg_error error = {0};
    json_t *result = NULL;
    kg_status status = serve_batch_question(&question, batched->fields, requests, index, &error);
    if (status == KG_OK)
        status = batched->answer(&result, &problem, &question, view, &error);
    if (status != KG_OK)
        result = serve_batch_problem(&problem, &error, index);
    *suggested += problem.similar != NULL;
    json_decref(problem.similar);
    return result;
}

/* What is wrong with a single question is told when it is answered. */
static kg_status check_all(const serve_batched *batched, const json_t *requests, kg_error *error) {
    uint64_t answers = 0;
    for (size_t i = 0; i < json_array_size(requests); i++) {
        serve_question question;
        kg_status status = serve_batch_question(&question, batched->fields, requests, i, NULL);
        answers += status == KG_OK ? question.k : 0;
    }
    return serve_batch_check(answers, error);
}

/* Answers that no client waits for are not computed. */
static json_t *answer_each(const serve_call *call, const serve_batched *batched,
                           const json_t *requests, const serve_view *view) {
    json_t *results = json_array();
    size_t suggested = 0;
    bool good = results != NULL;
    for (size_t i = 0; i < json_array_size(requests) && good; i++)
        good =
            !serve_exchange_is_abandoned(call->exchange) &&
            json_array_append_new(results, answer_one(batched, requests, i, view, &suggested)) == 0;
    return json_pack("{so}", "results", kg__json_complete(results, good));
}

kg_status serve_batch_run(serve_call *call, serve_view *view, const serve_batched *batched,
                          kg_error *error) {
    serve_question question = serve_question_defaults;
    const json_t *requests = NULL;
    json_t *members = NULL;
    bool is_batch = serve_is_batch(call->body);
    if (is_batch) {
        KG_TRY(serve_batch_read(&requests, call->body, error));
        KG_TRY(check_all(batched, requests, error));
    } else {
        KG_TRY(serve_fields_read(&question, batched->single, call->body, "", error));
    }
    KG_TRY(serve_view_ready(view, &call->server->graph, error));
    if (is_batch)
        members = answer_each(call, batched, requests, view);
    else
        KG_TRY(batched->answer(&members, &call->problem, &question, view, error));
    call->answer = serve_state_json(view->state, members);
    if (call->answer == NULL && is_batch && serve_exchange_is_abandoned(call->exchange))
        return serve_call_abandon(call, error);
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}
