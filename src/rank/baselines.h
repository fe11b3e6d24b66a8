/* Answers without embeddings, to know what a model has to beat. They only count training facts:
 *
 *   popularity           candidates by how many facts they stand in
 *   relation-popularity  by how often they stand at the asked side of the asked relation
 *   echo                 first by how many of the entity's other facts they stand in: copying,
 * where there is something to copy
 *
 * Where one does not tell candidates apart, the one above it does. */
#ifndef KG_RANK_BASELINES_H
#define KG_RANK_BASELINES_H

#include "rank/metrics.h"
#include "rank/queries.h"

typedef enum kg_baseline { KG_POPULARITY, KG_RELATION_POPULARITY, KG_ECHO } kg_baseline;

/* The rank of each question's answer among the in-sample entities, other known answers left out. */
KG_MUST_CHECK kg_status kg__baseline_rank(double *ranks, kg_baseline baseline,
                                          const kg_queries *questions, const kg_dataset *dataset,
                                          kg_ties ties, kg_error *error);

#endif
