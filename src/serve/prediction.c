/* Questions to requests of the library, in pieces, and answers back to questions. */
#include "serve/prediction.h"

#include "base/memory.h"
#include "report/answer_json.h"
#include "serve/limits.h"
#include "serve/request_list.h"
#include "serve/server.h"

#define PREDICT_FIELDS                                                         \
    SERVE_SUBJECT_FIELDS, SERVE_RELATION_FIELDS, SERVE_K_FIELD,                \
        {"min_probability", SERVE_NUMBER, SERVE_ASKED(min_probability), 0, 1}, \
        {"keep_known", SERVE_FLAG, SERVE_ASKED(keep_known), 0, 0}, {           \
        "no_echo", SERVE_FLAG, SERVE_ASKED(no_echo), 0, 0                      \
    }

static const serve_field fields[] = {PREDICT_FIELDS, {0}};
static const serve_field single[] = {PREDICT_FIELDS, SERVE_BATCH_FIELD, {0}};

/* A question at work. With a relation, there is a list for each side; without, one over all. */
struct serve_asked {
    const serve_question *question;
    serve_subject subject;
    kg_request lists[2];
    size_t list_count;
    kg_status status;
    kg_error error;
    serve_problem problem;
    json_t *result;
};

/* ---- Reading ---- */

static kg_status make_room(serve_prediction *out, size_t count, kg_error *error) {
    out->questions = kg__alloc(count, sizeof *out->questions);
    out->asked = kg__alloc(count, sizeof *out->asked);
    if (out->questions == NULL || out->asked == NULL)
        return kg__fail_memory(error);
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        out->questions[i] = serve_question_defaults;
        out->asked[i].question = &out->questions[i];
    }
    return KG_OK;
}

kg_status serve_prediction_open(serve_prediction *out, serve_call *call, kg_error *error) {
    const json_t *body = call->body;
    const json_t *requests = NULL;
    *out = (serve_prediction){.call = call, .is_batch = serve_is_batch(body)};
    if (!out->is_batch) {
        KG_TRY(make_room(out, 1, error));
        return serve_fields_read(&out->questions[0], single, body, "", error);
    }
    KG_TRY(serve_batch_read(&requests, body, error));
    KG_TRY(make_room(out, json_array_size(requests), error));
    uint64_t answers = 0;
    for (size_t i = 0; i < out->count; i++) {
        struct serve_asked *asked = &out->asked[i];
        asked->status =
            serve_batch_question(&out->questions[i], fields, requests, i, &asked->error);
        answers += out->questions[i].k;
    }
    return serve_batch_check(answers, error);
}

void serve_prediction_close(serve_prediction *prediction) {
    for (size_t i = 0; i < prediction->count; i++) {
        struct serve_asked *asked = &prediction->asked[i];
        serve_subject_close(&asked->subject);
        json_decref(asked->problem.similar);
        json_decref(asked->result);
    }
    kg__free(prediction->questions);
    kg__free(prediction->asked);
}

/* ---- Looking up ---- */

static kg_status check_calibration(const serve_question *question, const kg_model *model,
                                   kg_error *error) {
    bool is_calibrated = model->calibration != NULL;
    if (question->min_probability > 0 && !is_calibrated)
        return kg_fail(error, KG_BAD_INPUT,
                       "`min_probability`: expected a model with a calibration, found none");
    if (question->relation == NULL && !is_calibrated)
        return kg_fail(
            error, KG_BAD_INPUT,
            "expected `relation`, found none: this model has no calibration, and without "
            "one the scores of different relations cannot be compared");
    return KG_OK;
}

static void add_list(struct serve_asked *asked, kg_id relation, bool heads, bool tails) {
    kg_request *list = &asked->lists[asked->list_count++];
    *list = (kg_request)KG_REQUEST_INIT;
    list->subject = asked->subject.subject;
    list->relation = relation;
    list->heads = heads;
    list->tails = tails;
    list->keep_known = asked->question->keep_known;
    list->no_echo = asked->question->no_echo;
}

static kg_status look_up(struct serve_asked *asked, const kg_model *model) {
    const serve_question *question = asked->question;
    kg_error *error = &asked->error;
    bool heads = question->side != SERVE_TAILS;
    bool tails = question->side != SERVE_HEADS;
    kg_id relation = KG_NO_ID;
    KG_TRY(check_calibration(question, model, error));
    if (question->relation != NULL)
        KG_TRY(serve_find_relation(&relation, &asked->problem, question->relation, model, error));
    KG_TRY(serve_subject_open(&asked->subject, &asked->problem, question, model, error));
    if (relation == KG_NO_ID) {
        add_list(asked, relation, heads, tails);
        return KG_OK;
    }
    if (tails)
        add_list(asked, relation, false, true);
    if (heads)
        add_list(asked, relation, true, false);
    return KG_OK;
}

/* Looks up the questions of a request that are not wrong in themselves. */
static void look_up_all(serve_prediction *prediction, const kg_model *model) {
    size_t suggested = 0;
    for (size_t i = 0; i < prediction->count; i++) {
        struct serve_asked *asked = &prediction->asked[i];
        asked->problem.is_brief = suggested >= SERVE_MOST_SUGGESTED;
        if (asked->status == KG_OK)
            asked->status = look_up(asked, model);
        suggested += asked->problem.similar != NULL;
    }
}

static size_t weight_of(const struct serve_asked *asked, const kg_model *model) {
    const kg_request *list = &asked->lists[0];
    size_t sides = list->heads && list->tails ? 2 : 1;
    return list->relation != KG_NO_ID ? asked->list_count : sides * model->relations.count;
}

/* ---- Answering ---- */

/* What is answered by one call. */
struct piece {
    const serve_view *view;
    struct serve_asked **asked;
    size_t count;
    size_t weight;
    kg_request *requests;
    size_t *found;
    kg_answer *answers;
};

#define LONG_LIST 64

static json_t *list_json(const struct piece *piece, const struct serve_asked *asked, size_t first,
                         size_t most) {
    const serve_question *question = asked->question;
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t list = 0; list < asked->list_count; list++) {
        const kg_answer *answers = piece->answers + (first + list) * most;
        size_t found = piece->found[first + list];
        size_t count = found < question->k ? found : (size_t)question->k;
        for (size_t k = 0; k < count && good; k++)
            if (question->min_probability == 0 ||
                answers[k].probability >= (float)question->min_probability)
                good = json_array_append_new(out, report_answer_json(piece->view->snapshot,
                                                                     asked->subject.name,
                                                                     &answers[k], k + 1)) == 0;
    }
    return kg__json_complete(out, good);
}

static void set_result(struct serve_asked *asked, json_t *answers) {
    const serve_subject *subject = &asked->subject;
    asked->result = json_pack(
        "{so sb sI so}", "entity", kg__json_text(subject->name.bytes, subject->name.length), "new",
        subject->is_new, "facts", (json_int_t)subject->facts, "answers", answers);
    if (asked->result == NULL)
        asked->status = kg__fail_memory(&asked->error);
}

static size_t longest_list(const struct piece *piece) {
    size_t most = 1;
    for (size_t i = 0; i < piece->count; i++)
        if (piece->asked[i]->question->k > most)
            most = (size_t)piece->asked[i]->question->k;
    return most;
}

static kg_status call_library(struct piece *piece, size_t lists, size_t most, kg_error *error) {
    piece->requests = kg__alloc(lists, sizeof *piece->requests);
    piece->found = kg__alloc(lists, sizeof *piece->found);
    piece->answers = kg__alloc(lists * most, sizeof *piece->answers);
    if (piece->requests == NULL || piece->found == NULL || piece->answers == NULL)
        return kg__fail_memory(error);
    size_t list = 0;
    for (size_t i = 0; i < piece->count; i++)
        for (size_t k = 0; k < piece->asked[i]->list_count; k++)
            piece->requests[list++] = piece->asked[i]->lists[k];
    return kg_workspace_predict(piece->answers, piece->found, piece->view->workspace,
                                piece->requests, lists, most, error);
}

static void answer_piece(struct piece *piece) {
    size_t lists = 0;
    size_t most = longest_list(piece);
    kg_error error = {0};
    for (size_t i = 0; i < piece->count; i++)
        lists += piece->asked[i]->list_count;
    if (lists == 0)
        return;
    kg_status status = call_library(piece, lists, most, &error);
    for (size_t i = 0, first = 0; i < piece->count; i++) {
        struct serve_asked *asked = piece->asked[i];
        asked->status = status;
        asked->error = error;
        if (status == KG_OK)
            set_result(asked, list_json(piece, asked, first, most));
        first += asked->list_count;
    }
    kg__free(piece->requests);
    kg__free(piece->found);
    kg__free(piece->answers);
    piece->count = 0;
    piece->weight = 0;
}

/* Where one question makes the call fail, as one does that meets a damaged vector, the others of
 * the piece are answered without it. */
static void answer_each(struct piece *piece) {
    size_t count = piece->count;
    struct serve_asked **all = piece->asked;
    answer_piece(piece);
    for (size_t i = 0; i < count && count > 1; i++) {
        struct piece one = {.view = piece->view, .asked = &all[i], .count = 1};
        if (all[i]->status != KG_OK)
            answer_piece(&one);
    }
}

static void add_to_piece(struct piece *piece, struct serve_asked *asked, size_t weight) {
    if (piece->count > 0 && piece->weight + weight > SERVE_PIECE_WEIGHT)
        answer_each(piece);
    piece->asked[piece->count++] = asked;
    piece->weight += weight;
}

size_t serve_predictions_answer(serve_prediction *predictions, size_t count,
                                const serve_view *view) {
    const kg_model *model = view->snapshot;
    size_t questions = 0;
    for (size_t i = 0; i < count; i++)
        questions += predictions[i].count;
    struct piece shorts = {.view = view, .asked = kg__alloc(questions, sizeof(void *))};
    struct piece longs = {.view = view, .asked = kg__alloc(questions, sizeof(void *))};
    bool has_room = shorts.asked != NULL && longs.asked != NULL;
    for (size_t i = 0; i < count; i++) {
        predictions[i].state = view->state;
        predictions[i].is_calibrated = kg_workspace_is_calibrated(view->workspace);
        look_up_all(&predictions[i], model);
        for (size_t k = 0; k < predictions[i].count; k++) {
            struct serve_asked *asked = &predictions[i].asked[k];
            if (!has_room)
                asked->status = kg__fail_memory(&asked->error);
            if (asked->status == KG_OK)
                add_to_piece(asked->question->k > LONG_LIST ? &longs : &shorts, asked,
                             weight_of(asked, model));
        }
    }
    answer_each(&shorts);
    answer_each(&longs);
    kg__free(shorts.asked);
    kg__free(longs.asked);
    return questions;
}

/* ---- The answer ---- */

static json_t *batch_json(const serve_prediction *prediction) {
    json_t *results = json_array();
    bool good = results != NULL;
    for (size_t i = 0; i < prediction->count && good; i++) {
        struct serve_asked *asked = &prediction->asked[i];
        json_t *result = asked->status == KG_OK
                             ? json_incref(asked->result)
                             : serve_batch_problem(&asked->problem, &asked->error, i);
        good = json_array_append_new(results, result) == 0;
    }
    return json_pack("{so}", "results", kg__json_complete(results, good));
}

kg_status serve_prediction_end(serve_prediction *prediction, kg_error *error) {
    serve_call *call = prediction->call;
    struct serve_asked *first = &prediction->asked[0];
    if (!prediction->is_batch && first->status != KG_OK) {
        call->problem = first->problem;
        first->problem.similar = NULL;
        *error = first->error;
        return first->status;
    }
    json_t *members = prediction->is_batch ? batch_json(prediction) : json_incref(first->result);
    json_t *head = json_pack("{sb}", "calibrated", prediction->is_calibrated);
    bool good = json_object_update(head, members) == 0;
    json_decref(members);
    call->answer = serve_state_json(prediction->state, kg__json_complete(head, good));
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}

/* A large request by itself, whose client may have gone while it waited. */
kg_status serve_predict_post(serve_call *call, serve_view *view, kg_error *error) {
    serve_prediction prediction;
    if (serve_exchange_is_abandoned(call->exchange))
        return serve_call_abandon(call, error);
    KG_TRY(serve_view_ready(view, &call->server->graph, error));
    kg_status status = serve_prediction_open(&prediction, call, error);
    if (status == KG_OK)
        serve_predictions_answer(&prediction, 1, view);
    if (status == KG_OK)
        status = serve_prediction_end(&prediction, error);
    serve_prediction_close(&prediction);
    return status;
}
