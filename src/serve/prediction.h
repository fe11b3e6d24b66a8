/* Predictions of requests: many questions, of one request or of several, are answered by one call
 * of the library, which costs little more than one question does.
 *
 * What a question costs is about its weight: the number of directed relations that it asks for. A
 * piece, which is answered by one call, has at most SERVE_PIECE_WEIGHT, or one question. That is
 * how long others wait for it. */
#ifndef KG_SERVE_PREDICTION_H
#define KG_SERVE_PREDICTION_H

#include "serve/question.h"

/* The questions of a request, and what became of them. */
typedef struct serve_prediction {
    serve_call *call;
    bool is_batch;
    serve_question *questions;
    struct serve_asked *asked; /* one for each */
    size_t count;
    serve_state state; /* what the answers are a function of */
    bool is_calibrated;
} serve_prediction;

/* Reads the questions of a call. To be closed, also where it failed. */
KG_MUST_CHECK kg_status serve_prediction_open(serve_prediction *out, serve_call *call,
                                              kg_error *error);
void serve_prediction_close(serve_prediction *prediction);

/* Answers all questions of some predictions with one view, which is up to date. Returns how many
 * questions there were. What fails is kept with the question. */
size_t serve_predictions_answer(serve_prediction *predictions, size_t count,
                                const serve_view *view);

/* The answer of the call, or why there is none. */
KG_MUST_CHECK kg_status serve_prediction_end(serve_prediction *prediction, kg_error *error);

#endif
