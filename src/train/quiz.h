/* One step of the softmax loss, on all threads and with the same bits for any number of them.
 *
 * The questions of a batch (portion.h) become vectors and candidates of their own (ask.h), meet
 * negatives that they share (softmax.h), and go the same way back; what they leave for each row is
 * added up in the order of the portions. */
#ifndef KG_TRAIN_QUIZ_H
#define KG_TRAIN_QUIZ_H

#include "model/params.h"
#include "train/clues.h"
#include "train/learner.h"

typedef struct kg_quiz_options {
    double psi;         /* how often the entity is treated as unseen */
    uint64_t negatives; /* for all questions of a step; all entities if there are no more */
    double dropout;     /* on what asks */
    double n3;          /* weight of the norms of what is asked with and about; 0: none */
    uint64_t seed;
    int threads;
} kg_quiz_options;

/* All borrowed. */
typedef struct kg_quiz_parts {
    const kg_adjacency *graph;
    size_t most_questions; /* of a batch */
    kg_params params;      /* the views of these: */
    kg_table *entities;    /* those that can be negatives come first, as many as the graph has */
    kg_table *relations;
    size_t trained_relations;      /* rows of theirs that steps may touch: the first */
    kg_table *aggregate_relations; /* NULL if they are the relations */
    kg_table *weights;             /* of pairs, as the params' graft has them; NULL: not learned */
    kg_table *echoes;              /* likewise */
    kg_table *worth;               /* of evidence, as the params' has it; NULL if there is none */
    kg_clues *clues;               /* likewise */
    const kg_optimizer *optimizer;
    const kg_optimizer *weight_optimizer;
    const kg_optimizer *echo_optimizer;
    const kg_optimizer *worth_optimizer;
} kg_quiz_parts;

typedef struct kg_quiz kg_quiz;

KG_MUST_CHECK kg_status kg__quiz_open(kg_quiz **out, const kg_quiz_options *options,
                                      const kg_quiz_parts *parts, kg_error *error);
void kg__quiz_close(kg_quiz *quiz);

/* Takes step number `step` (from 1) with these portions; `*loss` is the sum over questions. */
KG_MUST_CHECK kg_status kg__quiz_step(kg_quiz *quiz, const kg_portion *portions, size_t count,
                                      uint64_t step, double *loss, kg_error *error);

/* Lets all rows catch up with `step`. */
void kg__quiz_catch_up(kg_quiz *quiz, uint64_t step);

#endif
