/* A workspace: a model, how new entities are embedded, and all the room that embedding, predicting
 * and explaining need. It is made once and then used without allocating, unless a call needs more
 * room than any before it: evidence, and facts of the model's own entities, have none at first. One
 * thread uses it at a time, while the model is shared by all. */
#ifndef KG_INFER_WORKSPACE_H
#define KG_INFER_WORKSPACE_H

#include "aggregate/embedder.h"
#include "rank/rank_count.h"
#include "rank/top.h"

struct kg_workspace {
    const kg_model *model;
    double *gram; /* what the blend's params borrow; NULL if its aggregator does without */
    kg_embedder blend;
    kg_top top;
    real *z;       /* dim */
    real *vectors; /* KG_TILE x dim */
    kg_rank_count contests[KG_TILE];
    kg_approx_scores proposals; /* of the contests */

    bool is_blended;  /* the subject at hand is in the blend; if not, it is a row */
    bool is_embedded; /* z is what the blend made of it; one of the model's is a row until asked */
    kg_link *links;   /* facts of the subject, if it is not made of all that are given */
    size_t link_room;
    kg_link *answered; /* known answers to the question that is explained, by id */
    size_t answered_room;
    double *through; /* KG_EXTRACTED_COUNT x facts: what of the evidence runs through each */
    size_t through_room;
    kg_score_offsets
        bonuses; /* of a tile of questions: those of i are starts[i] up to starts[i + 1] */
    size_t starts[KG_TILE + 1];

    /* Lists of a tile of questions, and the one that several of them are merged into. */
    kg_search searches[KG_TILE];
    size_t found[KG_TILE];
    kg_candidate *lists;
    size_t entries; /* that these have room for */
    kg_candidate *merged;
    size_t answers; /* that it has room for */

    /* Known answers to a tile of questions: those of i are known_starts[i] up to
     * known_starts[i + 1]. */
    kg_candidate *known;
    size_t known_room;
    size_t known_count;
    size_t known_starts[KG_TILE + 1];

    /* Whom facts link to the subjects of a tile of questions without echoes, likewise. */
    kg_link *linked;
    size_t linked_room;
    size_t linked_starts[KG_TILE + 1];
};

/* Refuses one that is not among the model's, and facts that are not. */
KG_MUST_CHECK kg_status kg__subject_check(const kg_workspace *workspace, kg_subject subject,
                                          kg_error *error);

/* Takes a subject at hand, if the model can embed it: its vector for no question in particular is
 * in `workspace->z`. */
KG_MUST_CHECK kg_status kg__subject_take(kg_workspace *workspace, kg_subject subject,
                                         kg_error *error);

/* Its vector for a question: only models trained with graft answer each by another one. */
void kg__subject_ask(kg_workspace *workspace, kg_directed asked);

/* What is known about it: its facts. */
KG_MUST_CHECK kg_status kg__subject_links(const kg_workspace *workspace, kg_subject subject,
                                          const kg_link **out, size_t *count, kg_error *error);

/* What evidence says for an answer to the question that the subject at hand was asked, all its
 * facts being known; what runs through a fact is added to its share. */
KG_MUST_CHECK kg_status kg__explain_features(kg_workspace *workspace,
                                             kg_contribution out[KG_FEATURE_COUNT],
                                             kg_share *shares, kg_link asked, kg_error *error);

/* A list over one directed relation is no longer than there are entities. */
static inline size_t kg__list_length(const kg_workspace *workspace, size_t answers) {
    size_t entities = workspace->model->entities.count;
    return answers < entities ? answers : entities;
}

/* Room for that many answers. */
KG_MUST_CHECK kg_status kg__workspace_reserve(kg_workspace *workspace, size_t answers,
                                              kg_error *error);

/* Room for a copy of that many facts of a subject, and its known answers. */
KG_MUST_CHECK kg_status kg__workspace_reserve_facts(kg_workspace *workspace, size_t facts,
                                                    kg_error *error);

/* Log-odds that a link with that score holds, by the model's calibration; NaN without one. */
real kg__log_odds(const kg_model *model, kg_directed directed, real score);
float kg__probability(real log_odds);

#endif
