/* The part of a softmax step that one thread computes on its own: a portion, that is an entity and
 * some of its facts, each of which is asked for by the others.
 *
 * Forward, facts become z and the vector that asks with it (ask_facts.c), and the vector scores the
 * question's own candidates (ask_locals.c). Then the vectors of the whole batch meet the negatives
 * (softmax.h). Back it goes the same way, from gradients on scores to gradients on rows. */
#ifndef KG_TRAIN_ASK_H
#define KG_TRAIN_ASK_H

#include "model/params.h"
#include "train/clues.h"
#include "train/sheaf.h"
#include "train/softmax.h"

/* A candidate of a portion's own: another end of the entity's facts, the entity itself, or one that
 * hints lead to. */
typedef struct kg_local {
    kg_id entity;
    uint32_t from; /* links between the two, in the order of the other end; none to itself */
    uint32_t to;
    bool is_negative; /* if not, it is only there to answer */
    real log_weight;  /* of how many candidates it stands for */
} kg_local;

/* A hint for a question, and whom it leads to. */
typedef struct kg_clue {
    kg_candidate_features hint;
    uint32_t local;
} kg_clue;

/* A portion, and where in the arrays of the batch its parts are. */
typedef struct kg_inquiry {
    kg_portion portion;
    size_t question; /* its first */
    size_t group;    /* of the entity's links, by directed relation */
    size_t group_count;
    size_t pair; /* of groups that are asked for, and groups */
    size_t asked_count;
    size_t local;
    size_t local_count; /* at most, before they are found */
    size_t score;       /* of questions and locals */
    size_t vacancy;     /* of runs and locals */
    double loss;        /* of all its questions */
} kg_inquiry;

/* What all portions of a batch see, and the arrays that they fill in, each its own parts. */
typedef struct kg_ask_scene {
    kg_params params; /* with a graft */
    const kg_adjacency *graph;
    const kg_link *by_other; /* the graph's links, those of each entity in order of the other end */
    size_t relation_rows;    /* in the params */
    double psi;
    double dropout;
    double n3;
    uint64_t seed;
    uint64_t step;
    const uint32_t *places; /* of entities among the negatives; UINT32_MAX if it is none */
    kg_clues *clues;        /* NULL if there is no evidence */

    real *vectors;      /* questions x dim */
    real *z;            /* questions x dim */
    real *gradients;    /* questions x dim: on vectors, then on z */
    bool *is_kept;      /* questions x dim: numbers of vectors that are not dropped */
    real *own_largest;  /* questions: see softmax.h */
    real *own_sums;     /* questions */
    real *log_sums;     /* questions */
    uint32_t *groups;   /* groups: the first link */
    real *sums;         /* groups x dim: of the other ends */
    real *queries;      /* groups x dim: the sums of facts */
    real *weights;      /* pairs; then the gradients on them */
    real *echoes;       /* pairs; likewise */
    uint32_t *weighted; /* pairs: the weight's number, or KG_NO_PAIR if it is not learned */
    uint32_t *echoing;  /* pairs: likewise */
    kg_local *locals;   /* locals */
    uint32_t *answers;  /* questions: the answer's place among the portion's locals */
    real *scores;       /* scores; then the gradients on them */

    /* If there is evidence. */
    kg_clue *hinted;      /* questions x KG_MOST_CANDIDATES */
    uint8_t *hint_counts; /* questions */
    real *vacancies;      /* runs of questions x locals */
    real *worth;          /* questions x KG_FEATURE_COUNT: gradients on what features are worth */

    size_t group_capacity;
    size_t pair_capacity;
    size_t local_capacity;
    size_t score_capacity;
    size_t vacancy_capacity;
} kg_ask_scene;

/* Makes the arrays of questions, of which a batch has so many at most. */
KG_MUST_CHECK kg_status kg__ask_scene_open(kg_ask_scene *scene, size_t questions, kg_error *error);
void kg__ask_scene_close(kg_ask_scene *scene);

/* Makes room in the others for a batch whose parts end here. */
KG_MUST_CHECK kg_status kg__ask_scene_fit(kg_ask_scene *scene, const kg_inquiry *end,
                                          kg_error *error);

/* What relations are gone through for. */
enum { KG_OF_QUESTIONS, KG_OF_FACTS };

/* What a thread works with. */
typedef struct kg_ask_worker {
    const real **others; /* as many as an entity has links at most */
    real *room;
    size_t room_capacity;
    /* KG_OF_QUESTIONS, KG_OF_FACTS: relation rows x dim, zero between chunks. */
    real *relation_sums[2];
    bool *is_summed[2];
    uint32_t *local_of; /* entities: its place among the locals at work; UINT32_MAX if it is none */
    kg_clue_reader reader; /* if there is evidence */
} kg_ask_worker;

KG_MUST_CHECK kg_status kg__ask_worker_open(kg_ask_worker *worker, const kg_ask_scene *scene,
                                            size_t most_links, kg_error *error);
void kg__ask_worker_close(kg_ask_worker *worker);

/* Counts what the portion has, before there are arrays to put it in. */
void kg__ask_measure(kg_inquiry *inquiry, const kg_ask_scene *scene);

/* Finds the hints for a portion's questions, if there is evidence. */
KG_MUST_CHECK kg_status kg__ask_hints(const kg_inquiry *inquiry, const kg_ask_scene *scene,
                                      kg_ask_worker *worker, kg_error *error);

/* Adds masks for negatives that are candidates anyhow. */
KG_MUST_CHECK kg_status kg__ask_forward(kg_inquiry *inquiry, const kg_ask_scene *scene,
                                        kg_ask_worker *worker, kg_masks *masks, kg_error *error);

/* Adds gradients to the sheaf, but for those on relations. */
KG_MUST_CHECK kg_status kg__ask_backward(kg_inquiry *inquiry, const kg_ask_scene *scene,
                                         kg_ask_worker *worker, kg_sheaf *sheaf, kg_error *error);

/* Adds these, of all portions that the worker has gone back with since the last time. */
KG_MUST_CHECK kg_status kg__ask_emit_relations(const kg_ask_scene *scene, kg_ask_worker *worker,
                                               kg_sheaf *sheaf, kg_error *error);

#endif
