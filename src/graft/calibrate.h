/* Calibration: what a score means. Scores of one relation are not comparable with those of another,
 * so for each directed relation a line is fitted that makes log-odds of scores, on questions whose
 * answers are known: those of validation.
 *
 * An entity, embedded without one of its facts, is asked about the relation of that fact, and about
 * some others. Of the ten best answers to each question that is true which is the fact. So a
 * probability says how often, among the best answers, one with such a score is what was left out.
 * Relations that validation says little about are drawn towards a line that is fitted to all. */
#ifndef KG_GRAFT_CALIBRATE_H
#define KG_GRAFT_CALIBRATE_H

#include "aggregate/aggregate.h"
#include "base/progress.h"
#include "graph/dataset.h"

typedef struct kg_calibrate_options {
    kg_aggregate_options aggregate;
    bool by_facts; /* in-sample entities are asked about by these, as kg_asks_by_facts has it */
    size_t threads;
    const kg_progress *progress; /* may be NULL */
} kg_calibrate_options;

/* Whether the data set has facts to calibrate with: of unseen entities, or else in-sample ones. */
bool kg_can_calibrate(const kg_dataset *dataset);

/* Slope and offset for each directed relation of the data set, in whose order the tables are; and
 * the line of all. The same bits for any number of threads. */
KG_MUST_CHECK kg_status kg_calibrate(real *out, real all[2], const kg_tables *tables,
                                     const kg_dataset *dataset, const kg_calibrate_options *options,
                                     kg_error *error);

/* The same for a model on disk, whose directory gets the calibration. */
KG_MUST_CHECK kg_status kg_calibrate_model(const char *path, const kg_dataset *dataset,
                                           const kg_aggregate_wish *wish, size_t threads,
                                           const kg_progress *progress, kg_error *error);

#endif
