/* A workspace: a model, how new entities are embedded, and all the room that embedding, predicting
 * and explaining need. It is made once and then used without allocating, by one thread at a time,
 * while the model is shared by all. */
#ifndef KG_GRAFT_WORKSPACE_H
#define KG_GRAFT_WORKSPACE_H

#include "aggregate/blend.h"
#include "rank/contest.h"
#include "rank/top.h"

struct kg_workspace {
    const kg_model *model;
    kg_blend blend;
    kg_top top;
    real *z;       /* dim */
    real *vectors; /* KG_TILE x dim */
    real *scores;  /* KG_TILE x KG_BLOCK */
    kg_contest contests[KG_TILE];

    /* Lists of a tile of questions, and the one that several of them are merged into. */
    kg_search searches[KG_TILE];
    size_t found[KG_TILE];
    kg_candidate *lists;
    size_t entries; /* that these have room for */
    kg_candidate *merged;
    size_t answers; /* that it has room for */
};

/* Refuses a subject that the model cannot embed. */
KG_MUST_CHECK kg_status kg_subject_check(const kg_workspace *workspace, kg_subject subject,
                                         kg_error *error);

/* What is known about the subject: its facts. */
KG_MUST_CHECK kg_status kg_subject_links(const kg_workspace *workspace, kg_subject subject,
                                         const kg_link **out, size_t *count, kg_error *error);

/* Its vector, in `workspace->z`; the blend holds a new entity. */
KG_MUST_CHECK kg_status kg_subject_embed(kg_workspace *workspace, kg_subject subject,
                                         kg_error *error);

/* A list over one directed relation is no longer than there are entities. */
static inline size_t kg_list_length(const kg_workspace *workspace, size_t answers) {
    size_t entities = workspace->model->entities.count;
    return answers < entities ? answers : entities;
}

/* Room for that many answers. */
KG_MUST_CHECK kg_status kg_workspace_reserve(kg_workspace *workspace, size_t answers,
                                             kg_error *error);

/* Log-odds that a link with that score holds, by the model's calibration; NaN without one. */
real kg_log_odds(const kg_model *model, kg_directed directed, real score);
float kg_probability(real log_odds);

#endif
