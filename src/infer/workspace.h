/* A workspace: a model, how new entities are embedded, and the scratch memory of embedding,
 * predicting and explaining. It is allocated once and then used without allocating, unless a call
 * needs more memory than any before it: propagation, and facts of the model's own entities, have
 * none at first. One thread uses it at a time; the model is shared. */
#ifndef KG_INFER_WORKSPACE_H
#define KG_INFER_WORKSPACE_H

#include "infer/row_fit.h"
#include "rank/rank_count.h"
#include "rank/top_k.h"

struct kg_workspace {
    const kg_model *model;
    kg_workspace_options options; /* but for names, which the scorer's embedder has */
    double *gram; /* borrowed by the scorer's params; NULL if its aggregator does not need it */
    kg_scorer scorer;
    kg_top top;
    real *z;       /* dim */
    real *vectors; /* KG_TILE x dim */
    kg_rank_count rank_counts[KG_TILE];
    kg_approx_scores approx_scores; /* for counting ranks */

    bool is_by_facts; /* the current subject is in the scorer; if not, it is a row */
    bool is_embedded; /* z is the scorer's vector of it; one of the model's is a row until a query
                       */
    kg_link *links;   /* facts of the subject, if not all that are given are used */
    size_t link_room;
    kg_link *answered; /* known answers to the query that is explained, by id */
    size_t answered_room;
    kg_row_fit *row_fit;      /* NULL until a row is corrected */
    kg_score_offsets offsets; /* of a tile of queries: those of i are offset_starts[i] up to
                               * offset_starts[i + 1] */
    size_t offset_starts[KG_TILE + 1];

    /* Lists of a tile of queries, and the one that several of them are merged into. */
    kg_search searches[KG_TILE];
    size_t found[KG_TILE];
    kg_candidate *lists;
    size_t entries; /* capacity of these */
    kg_candidate *merged;
    size_t answers; /* capacity of it */

    /* Known answers to a tile of queries: those of i are known_starts[i] up to
     * known_starts[i + 1]. */
    kg_candidate *known;
    size_t known_room;
    size_t known_count;
    size_t known_starts[KG_TILE + 1];

    /* Entities that facts link to the subjects of a tile of queries without echoes, likewise. */
    kg_link *linked;
    size_t linked_room;
    size_t linked_starts[KG_TILE + 1];
};

/* Functions of the public interface, without its checks of arguments. */
KG_MUST_CHECK kg_status kg__workspace_open(kg_workspace **out, const kg_model *model,
                                           const kg_workspace_options *options, kg_error *error);
KG_MUST_CHECK kg_status kg__workspace_move(kg_workspace *workspace, const kg_model *model,
                                           kg_error *error);
void kg__workspace_close(kg_workspace *workspace);
bool kg__workspace_is_calibrated(const kg_workspace *workspace);

/* Whether its calibration was made by the terms that a model has: all of them or, on a new graph,
 * those that know no entity. */
bool kg__model_calibrated_here(const kg_model *model);
KG_MUST_CHECK kg_status kg__workspace_embed(float *out, kg_workspace *workspace, kg_subject subject,
                                            kg_directed query, kg_error *error);
KG_MUST_CHECK kg_status kg__workspace_predict(kg_answer *answers, size_t *found,
                                              kg_workspace *workspace, const kg_request *requests,
                                              size_t count, size_t most, kg_error *error);
KG_MUST_CHECK kg_status kg__workspace_neighbors(kg_answer *answers, size_t *found,
                                                kg_workspace *workspace, kg_subject subject,
                                                size_t most, kg_error *error);
KG_MUST_CHECK kg_status kg__workspace_explain(kg_explanation *out, kg_workspace *workspace,
                                              kg_subject subject, kg_link target, kg_error *error);

/* Refuses ids that are not the model's. */
KG_MUST_CHECK kg_status kg__subject_check(const kg_workspace *workspace, kg_subject subject,
                                          kg_error *error);

/* Makes a subject the current one: its vector for no query in particular is in `workspace->z`. */
KG_MUST_CHECK kg_status kg__subject_load(kg_workspace *workspace, kg_subject subject,
                                         kg_error *error);

/* Sets `workspace->z` to its vector for a query: in models trained with graft, each has its own. */
void kg__subject_set_query(kg_workspace *workspace, kg_directed query);

/* Its facts. */
KG_MUST_CHECK kg_status kg__subject_links(const kg_workspace *workspace, kg_subject subject,
                                          const kg_link **out, size_t *count, kg_error *error);

/* A list over one directed relation is no longer than there are entities. */
static inline size_t kg__list_length(const kg_workspace *workspace, size_t answers) {
    size_t entities = workspace->model->entities.count;
    return answers < entities ? answers : entities;
}

/* Allocates memory for that many answers. */
KG_MUST_CHECK kg_status kg__workspace_reserve(kg_workspace *workspace, size_t answers,
                                              kg_error *error);

/* The same for a copy of that many facts of a subject, and its known answers. */
KG_MUST_CHECK kg_status kg__workspace_reserve_facts(kg_workspace *workspace, size_t facts,
                                                    kg_error *error);

/* Log-odds that a link with that score holds, by the model's calibration; NaN without one. */
real kg__log_odds(const kg_model *model, kg_directed directed, real score);
float kg__probability(real log_odds);

#endif
