/* Requests that ask one question, or a list of them in `requests`: then the answer has a list of
 * results, each an answer or a problem. */
#ifndef KG_SERVE_REQUEST_LIST_H
#define KG_SERVE_REQUEST_LIST_H

#include "serve/question.h"

/* How one question of a route is answered. */
typedef struct serve_batched {
    const serve_field *fields; /* that a question may have */
    const serve_field *single; /* the same and `requests`, for a request of one question */
    /* Sets `*out` to a new object; similar names go to the problem. */
    kg_status (*answer)(json_t **out, serve_problem *problem, const serve_question *question,
                        const serve_view *view, kg_error *error);
} serve_batched;

/* Answers a call, of one question or many, with a view that is refreshed. */
KG_MUST_CHECK kg_status serve_batch_run(serve_call *call, serve_view *view,
                                        const serve_batched *batched, kg_error *error);

/* Whether a body has `requests`; and these, which may be wrong one by one. */
bool serve_is_batch(const json_t *body);
KG_MUST_CHECK kg_status serve_batch_read(const json_t **out, const json_t *body, kg_error *error);

/* Reads a question of a batch. */
KG_MUST_CHECK kg_status serve_batch_question(serve_question *out, const serve_field *fields,
                                             const json_t *requests, size_t index, kg_error *error);

/* Refuses questions that ask for too many answers together. */
KG_MUST_CHECK kg_status serve_batch_check(uint64_t answers, kg_error *error);

/* A question of a batch that was not answered: {problem}. Its error gets its place. */
json_t *serve_batch_problem(const serve_problem *problem, kg_error *error, size_t index);

#endif
