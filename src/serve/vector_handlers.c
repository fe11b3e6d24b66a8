/* POST /v1/embed and /v1/neighbors: the vector of an entity, and the entities nearest to it. */
#include "base/memory.h"
#include "report/answer_json.h"
#include "serve/limits.h"
#include "serve/request_list.h"
#include "serve/server.h"

/* ---- Embedding ---- */

#define EMBED_FIELDS SERVE_SUBJECT_FIELDS, SERVE_RELATION_FIELDS

static const serve_field embed_fields[] = {EMBED_FIELDS, {0}};
static const serve_field single_embed_fields[] = {EMBED_FIELDS, SERVE_BATCH_FIELD, {0}};

static json_t *vector_json(const float *vector, size_t dim) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < dim && good; i++)
        good = json_array_append_new(out, report_float_json(vector[i])) == 0;
    return kg__json_complete(out, good);
}

/* The directed relation that is asked for, if there is one. */
static kg_status find_query(kg_directed *out, serve_problem *problem,
                            const serve_question *question, const kg_model *model,
                            kg_error *error) {
    kg_id relation = KG_NO_ID;
    *out = KG_NO_QUERY;
    if (question->relation == NULL && question->side != SERVE_ANY_SIDE)
        return kg_fail(error, KG_BAD_INPUT, "`side`: expected `relation` beside it, found none");
    if (question->relation == NULL)
        return KG_OK;
    if (question->side == SERVE_BOTH)
        return kg_fail(error, KG_BAD_INPUT, "`side`: expected head or tail, found both");
    KG_TRY(serve_find_relation(&relation, problem, question->relation, model, error));
    *out = kg_direct(relation, serve_subject_end(question->side));
    return KG_OK;
}

/* Sets `*out` to {entity, vector}. */
static kg_status embed(json_t **out, serve_problem *problem, const serve_question *question,
                       const serve_view *view, kg_error *error) {
    serve_subject subject = {0};
    kg_directed query = KG_NO_QUERY;
    size_t dim = view->snapshot->params.dim;
    float *vector = NULL;
    kg_status status = KG_OK;
    KG_TRY(kg__model_check_embedding(view->snapshot, error));
    KG_TRY(find_query(&query, problem, question, view->snapshot, error));
    KG_TRY(serve_subject_open(&subject, problem, question, view->snapshot, error));
    vector = kg__alloc(dim, sizeof *vector);
    if (vector == NULL)
        status = kg__fail_memory(error);
    if (status == KG_OK)
        status = kg_workspace_embed(vector, view->workspace, subject.subject, query, error);
    if (status == KG_OK)
        *out = json_pack("{so so}", "entity", serve_name_json(subject.name), "vector",
                         vector_json(vector, dim));
    if (status == KG_OK && *out == NULL)
        status = kg__fail_memory(error);
    kg__free(vector);
    serve_subject_close(&subject);
    return status;
}

static const serve_batched embeds = {embed_fields, single_embed_fields, embed};

/* Whether a batch has more questions than that. */
static bool has_more(serve_call *call, size_t questions) {
    return serve_call_prepare(call, NULL) == KG_OK &&
           json_array_size(json_object_get(call->body, "requests")) > questions;
}

bool serve_embed_is_large(serve_call *call, serve_view *view) {
    (void)view;
    return has_more(call, SERVE_SMALL_EMBED);
}

kg_status serve_embed_post(serve_call *call, serve_view *view, kg_error *error) {
    return serve_batch_run(call, view, &embeds, error);
}

/* ---- Neighbors ---- */

#define NEIGHBOR_FIELDS SERVE_SUBJECT_FIELDS, SERVE_K_FIELD

static const serve_field neighbor_fields[] = {NEIGHBOR_FIELDS, {0}};
static const serve_field single_neighbor_fields[] = {NEIGHBOR_FIELDS, SERVE_BATCH_FIELD, {0}};

static json_t *neighbors_json(const kg_model *model, const kg_answer *answers, size_t count) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < count && good; i++)
        good = json_array_append_new(
                   out, json_pack("{sI so so}", "rank", (json_int_t)i + 1, "entity",
                                  serve_name_json(kg_model_entity_name(model, answers[i].entity)),
                                  "similarity", report_float_json(answers[i].score))) == 0;
    return kg__json_complete(out, good);
}

static kg_status find_neighbors(json_t **out, serve_problem *problem,
                                const serve_question *question, const serve_view *view,
                                kg_error *error) {
    serve_subject subject = {0};
    kg_answer answers[SERVE_MOST_K];
    size_t found = 0;
    KG_TRY(serve_subject_open(&subject, problem, question, view->snapshot, error));
    kg_status status = kg_workspace_neighbors(answers, &found, view->workspace, subject.subject,
                                              (size_t)question->k, error);
    if (status == KG_OK)
        *out = json_pack("{so so}", "entity", serve_name_json(subject.name), "neighbors",
                         neighbors_json(view->snapshot, answers, found));
    if (status == KG_OK && *out == NULL)
        status = kg__fail_memory(error);
    serve_subject_close(&subject);
    return status;
}

static const serve_batched neighbors = {neighbor_fields, single_neighbor_fields, find_neighbors};

/* Each goes through all entities. */
bool serve_neighbors_is_large(serve_call *call, serve_view *view) {
    (void)view;
    return has_more(call, SERVE_SMALL_NEIGHBORS);
}

kg_status serve_neighbors_post(serve_call *call, serve_view *view, kg_error *error) {
    return serve_batch_run(call, view, &neighbors, error);
}
