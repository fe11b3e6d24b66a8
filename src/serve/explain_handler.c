/* POST /v1/explain: what the score of a link is made of. */
#include <string.h>

#include "report/explanation_json.h"
#include "serve/limits.h"
#include "serve/request_list.h"
#include "serve/server.h"

#define EXPLAIN_FIELDS                                  \
    SERVE_SUBJECT_FIELDS, SERVE_RELATION_FIELDS, {      \
        "answer", SERVE_TEXT, SERVE_ASKED(answer), 0, 0 \
    }

static const serve_field fields[] = {EXPLAIN_FIELDS, {0}};
static const serve_field single[] = {EXPLAIN_FIELDS, SERVE_BATCH_FIELD, {0}};

static kg_status check(const serve_question *question, kg_error *error) {
    if (question->relation == NULL || question->answer == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected `%s`, found none",
                       question->relation == NULL ? "relation" : "answer");
    if (question->side == SERVE_BOTH)
        return kg_fail(error, KG_BAD_INPUT, "`side`: expected head or tail, found both");
    return KG_OK;
}

static kg_status find_link(kg_link *out, serve_problem *problem, const serve_question *question,
                           const kg_model *model, kg_error *error) {
    kg_id relation = KG_NO_ID;
    KG_TRY(serve_find_relation(&relation, problem, question->relation, model, error));
    out->directed = kg_direct(relation, serve_subject_end(question->side));
    return serve_find_entity(&out->other, problem, "answer", question->answer, model, error);
}

static kg_status make(json_t **out, const serve_view *view, const serve_subject *subject,
                      kg_link asked, kg_error *error) {
    report_explanation explanation = {.workspace = view->workspace,
                                      .name = subject->name,
                                      .subject = subject->subject,
                                      .facts = subject->facts,
                                      .links = subject->links,
                                      .is_new = subject->is_new,
                                      .asked = asked};
    kg_status status = report_explanation_make(&explanation, error);
    if (status == KG_OK)
        *out = report_explanation_json(&explanation);
    if (status == KG_OK && *out == NULL)
        status = kg__fail_memory(error);
    report_explanation_free(&explanation);
    return status;
}

static kg_status explain(json_t **out, serve_problem *problem, const serve_question *question,
                         const serve_view *view, kg_error *error) {
    serve_subject subject = {0};
    kg_link asked = {0};
    KG_TRY(check(question, error));
    KG_TRY(find_link(&asked, problem, question, view->snapshot, error));
    KG_TRY(serve_subject_open(&subject, problem, question, view->snapshot, error));
    kg_status status = make(out, view, &subject, asked, error);
    serve_subject_close(&subject);
    return status;
}

static const serve_batched batched = {fields, single, explain};

/* ---- What it costs ---- */

/* What an explanation costs is about proportional to the facts that it shares the score among. */
static size_t count_facts(const json_t *request, const kg_model *model) {
    const json_t *facts = json_object_get(request, "facts");
    const char *name = json_string_value(json_object_get(request, "entity"));
    const kg_link *links = NULL;
    size_t count = 0;
    if (facts != NULL || name == NULL)
        return json_array_size(facts);
    kg_id entity = kg_model_find_entity(model, (kg_text){name, strlen(name)});
    if (entity == KG_NO_ID || kg_model_links(&links, &count, model, entity, NULL) != KG_OK)
        return 0;
    return count;
}

static size_t count_all_facts(const json_t *body, const kg_model *model) {
    const json_t *requests = json_object_get(body, "requests");
    size_t facts = count_facts(body, model);
    for (size_t i = 0; i < json_array_size(requests); i++)
        facts += count_facts(json_array_get(requests, i), model);
    return facts;
}

bool serve_explain_is_large(serve_call *call, serve_view *view) {
    if (serve_call_prepare(call, NULL) != KG_OK ||
        serve_view_refresh(view, &call->server->graph, NULL) != KG_OK)
        return false; /* the handler says why */
    return count_all_facts(call->body, view->snapshot) > SERVE_SMALL_EXPLANATION;
}

kg_status serve_explain_post(serve_call *call, serve_view *view, kg_error *error) {
    if (serve_is_batch(call->body)) {
        KG_TRY(serve_view_refresh(view, &call->server->graph, error));
        size_t facts = count_all_facts(call->body, view->snapshot);
        if (facts > SERVE_MOST_EXPLAINED)
            return kg_fail(error, KG_BAD_INPUT,
                           "`requests`: expected subjects with at most %d facts in all, found %zu",
                           SERVE_MOST_EXPLAINED, facts);
    }
    return serve_batch_run(call, view, &batched, error);
}
