/* A portion at work, as the files that ask see it. */
#ifndef KG_TRAIN_ASKING_H
#define KG_TRAIN_ASKING_H

#include "train/ask.h"

typedef struct kg_asking {
    kg_inquiry *inquiry;
    const kg_ask_scene *scene;
    kg_ask_worker *worker;
    kg_error *error;
    const kg_params *params;
    size_t dim;
    const kg_link *links;    /* of the entity */
    const kg_link *by_other; /* the same */
    size_t link_count;
    const kg_link *asked; /* the portion's links */
    size_t question_count;

    /* The portion's parts of the batch's arrays. */
    real *vectors;
    real *z;
    real *gradients;
    uint32_t *groups;
    real *sums;
    real *queries;
    real *weights;
    real *echoes;
    uint32_t *weighted;
    uint32_t *echoing;
    kg_local *locals;
    uint32_t *answers;
    real *scores;
    kg_clue *hinted;
    const uint8_t *hint_counts;
    real *vacancies;
    real *worth;
} kg_asking;

/* A run of questions for the same directed relation. Starts as all zeroes. */
typedef struct kg_asked_run {
    size_t number; /* from 0 */
    size_t from;   /* questions */
    size_t to;
    kg_directed directed;
    size_t group; /* of the entity's links */
    size_t pair;  /* the first of those with this run */
} kg_asked_run;

/* Goes on to the next run, or returns false. */
bool kg__asked_next(const kg_asking *asking, kg_asked_run *run);

/* The group of a directed relation that the entity has. */
size_t kg__asking_group(const kg_asking *asking, kg_directed directed);

/* A number of its own for question i, in all steps. */
static inline uint64_t kg__asking_position(const kg_asking *asking, size_t i) {
    return asking->scene->step << 32 | (asking->inquiry->question + i);
}

/* Whether question i treats the entity as unseen. */
bool kg__asking_is_unseen(const kg_asking *asking, size_t i);

/* Room for so many numbers, until the next call. */
KG_MUST_CHECK kg_status kg__asking_room(const kg_asking *asking, real **out, size_t count);

/* ask_facts.c: makes vectors of facts. */
KG_MUST_CHECK kg_status kg__ask_facts(const kg_asking *asking);

/* Numbers of room that going back takes. */
size_t kg__ask_facts_room(const kg_asking *asking);

/* From gradients on vectors to those on the entities, relations and weights that made them. What
 * concerns an answer itself is added to the gradients on locals, locals x dim. */
KG_MUST_CHECK kg_status kg__ask_facts_back(const kg_asking *asking, kg_sheaf *sheaf, real *g_locals,
                                           real *room);

/* ask_locals.c: finds the own candidates and scores them. */
KG_MUST_CHECK kg_status kg__ask_locals(const kg_asking *asking, kg_masks *masks);

/* Turns scores into the loss's gradients on them, adds those on vectors, and leaves those on locals
 * (locals x dim). */
void kg__ask_locals_back(const kg_asking *asking, real *g_locals);

/* ask_evidence.c: adds what hints and vacancies are worth to the scores of locals. */
void kg__ask_evidence(const kg_asking *asking);

/* From gradients on scores to those on what features are worth, but for what negatives have of it.
 */
void kg__ask_evidence_back(const kg_asking *asking);

/* ask_norms.c: adds N3 to the loss, and its gradients to those on z, on the questions' relations
 * and on locals. */
void kg__ask_norms(const kg_asking *asking, real *g_locals);

#endif
