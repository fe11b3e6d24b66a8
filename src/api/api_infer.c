/* Embedding, predicting and explaining, as users of the library see them. */
#include <string.h>

#include "api/sized.h"
#include "infer/workspace.h"

#define MOST_THREADS 1024

kg_status kg_workspace_open(kg_workspace **out, const kg_model *model,
                            const kg_workspace_options *options, kg_error *error) {
    kg_workspace_options whole = KG_WORKSPACE_OPTIONS_INIT;
    KG_NEED(out);
    *out = NULL;
    KG_NEED(model);
    KG_READ(&whole, options);
    if (whole.threads < 1 || whole.threads > MOST_THREADS)
        return kg_fail(error, KG_BAD_INPUT, "`threads`: expected 1 to %d, found %d", MOST_THREADS,
                       whole.threads);
    return kg__workspace_open(out, model, &whole, error);
}

void kg_workspace_close(kg_workspace *workspace) {
    kg__workspace_close(workspace);
}

bool kg_workspace_is_calibrated(const kg_workspace *workspace) {
    return workspace != NULL && kg__workspace_is_calibrated(workspace);
}

kg_status kg_workspace_embed(float *out, kg_workspace *workspace, kg_subject subject,
                             kg_directed query, kg_error *error) {
    KG_NEED(out);
    KG_NEED(workspace);
    size_t directed_count = 2 * workspace->model->relations.count;
    if (query != KG_NO_QUERY && query >= directed_count)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected one of the model's %zu directed relations, found %ju",
                       directed_count, (uintmax_t)query);
    return kg__workspace_embed(out, workspace, subject, query, error);
}

static kg_status check_most(size_t most, kg_error *error) {
    if (most > 0)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "expected at least one answer to be query for");
}

static kg_status check_sizes(const kg_request *requests, size_t size, size_t count,
                             kg_error *error) {
    for (size_t i = 0; i < count; i++) {
        size_t found = 0;
        memcpy(&found, (const char *)requests + i * size, sizeof found);
        if (found != size)
            return kg_fail(error, KG_BAD_INPUT,
                           "requests: expected `size` to be %zu in all of them, found %zu in "
                           "request %zu",
                           size, found, i);
    }
    return KG_OK;
}

/* Of requests that are shorter or longer than the library's, some at a time are made whole, so that
 * nothing is allocated; they share the work as a full tile does. */
static kg_status predict_sized(kg_answer *out, size_t *found, kg_workspace *workspace,
                               const kg_request *requests, size_t count, size_t most,
                               kg_error *error) {
    kg_request whole[KG_TILE];
    size_t size = requests->size;
    memset(found, 0, count * sizeof *found);
    for (size_t from = 0; from < count; from += KG_TILE) {
        size_t some = count - from < KG_TILE ? count - from : KG_TILE;
        for (size_t i = 0; i < some; i++) {
            const char *request = (const char *)requests + (from + i) * size;
            whole[i] = (kg_request)KG_REQUEST_INIT;
            KG_READ(&whole[i], request);
        }
        KG_TRY(kg__workspace_predict(out + from * most, found + from, workspace, whole, some, most,
                                     error));
    }
    return KG_OK;
}

kg_status kg_workspace_predict(kg_answer *out, size_t *found, kg_workspace *workspace,
                               const kg_request *requests, size_t count, size_t most,
                               kg_error *error) {
    KG_NEED(workspace);
    KG_TRY(check_most(most, error));
    if (count == 0)
        return KG_OK;
    KG_NEED(out);
    KG_NEED(found);
    KG_CHECK_SIZE(requests);
    KG_TRY(check_sizes(requests, requests->size, count, error));
    return requests->size == sizeof *requests
               ? kg__workspace_predict(out, found, workspace, requests, count, most, error)
               : predict_sized(out, found, workspace, requests, count, most, error);
}

kg_status kg_workspace_neighbors(kg_answer *out, size_t *found, kg_workspace *workspace,
                                 kg_subject subject, size_t most, kg_error *error) {
    KG_NEED(out);
    KG_NEED(found);
    *found = 0;
    KG_NEED(workspace);
    KG_TRY(check_most(most, error));
    return kg__workspace_neighbors(out, found, workspace, subject, most, error);
}

kg_status kg_workspace_explain(kg_explanation *out, kg_workspace *workspace, kg_subject subject,
                               kg_link target, kg_error *error) {
    kg_explanation whole = KG_EXPLANATION_INIT;
    KG_READ(&whole, out);
    KG_NEED(workspace);
    KG_TRY(kg__workspace_explain(&whole, workspace, subject, target, error));
    kg__sized_write(out, &whole, sizeof whole);
    return KG_OK;
}
