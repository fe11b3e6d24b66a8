/* Calls that change the graph: opening a transaction, its facts, its commit, and what that has done
 * as JSON. */
#ifndef KG_SERVE_COMMIT_CALL_H
#define KG_SERVE_COMMIT_CALL_H

#include "serve/call.h"

/* Commits a transaction, which is closed in any case, and sets the answer of the call. `left_out`
 * facts of the request are not part of it, and count as unknown. */
KG_MUST_CHECK kg_status serve_call_commit(serve_call *call, kg_changes *changes, uint64_t left_out,
                                          kg_commit *commit, kg_error *error);

/* Opens one. Where nothing can be changed, the status is set. */
KG_MUST_CHECK kg_status serve_call_change(serve_call *call, kg_changes **out, kg_error *error);

/* How using the store for a change has ended: sets the status where that has made it fail, by
 * damage that was found, too, which is not the client's fault. Returns `status`. */
KG_MUST_CHECK kg_status serve_call_failed(serve_call *call, kg_status status);

/* A transaction at work: what it changes, and where names similar to unknown ones go. */
typedef struct serve_changing {
    kg_changes *changes;
    const kg_model *known; /* the graph before */
    serve_problem *problem;
} serve_changing;

/* Adds a fact to a transaction, to be added or removed. */
KG_MUST_CHECK kg_status serve_change_fact(const serve_changing *changing, bool is_added,
                                          const kg_text fact[3], kg_error *error);

/* The same with the facts of a list, which is the member of that name. */
KG_MUST_CHECK kg_status serve_changes_read(const serve_changing *changing, bool is_added,
                                           const json_t *facts, const char *member,
                                           kg_error *error);

#endif
