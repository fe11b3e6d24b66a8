/* Filtered ranking the plain way: every candidate is scored by one dot product, those that are
 * known answers do not count. A fast evaluator has to agree with this one. */
#ifndef KG_RANK_PLAIN_H
#define KG_RANK_PLAIN_H

#include "aggregate/aggregate.h"
#include "graph/dataset.h"
#include "rank/metrics.h"

/* For each fact of each unseen entity of `part`: the entity is embedded from its other facts, and
 * the fact's other end is ranked among all in-sample entities, except further ends of the same
 * relation. `*ranks` gets one rank a fact, entity by entity in the order of its links, to be
 * kg_freed. */
KG_MUST_CHECK kg_status kg_plain_rank_unseen(double **ranks, size_t *count,
                                             const kg_dataset *dataset, kg_part part,
                                             const kg_tables *tables,
                                             const kg_aggregate_options *options, kg_ties ties,
                                             int threads, kg_error *error);

/* For each fact of an in-sample part, by the rows of its entities: its tail is ranked given its
 * head, then its head given its tail, except other answers that are known from any in-sample part.
 * Two ranks a fact. */
KG_MUST_CHECK kg_status kg_plain_rank_seen(double **ranks, size_t *count, const kg_dataset *dataset,
                                           kg_part part, const kg_tables *tables, kg_ties ties,
                                           int threads, kg_error *error);

#endif
