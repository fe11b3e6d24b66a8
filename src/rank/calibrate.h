/* Calibration: from scores to probabilities. Scores of different relations are not comparable, so
 * for each directed relation a line is fitted that maps scores to log-odds (Platt scaling), on the
 * queries of the validation part (kg__dataset_validation), whose answers are known.
 *
 * An entity, embedded from all its facts but one, is queried with the relation of that fact and
 * with some others. In-sample entities, too, are embedded from their training facts, however the
 * model answers queries about them: probabilities are meant for new entities. Of the ten best
 * answers to each query, the one that is the left-out fact is positive, the others are negative. So
 * a probability is the frequency with which an answer of that score, among the best ones, is the
 * left-out fact. It holds for the aggregator that was used, which is therefore recorded. Relations
 * with little validation data are shrunk towards the line fitted to all of them. */
#ifndef KG_RANK_CALIBRATE_H
#define KG_RANK_CALIBRATE_H

#include "aggregate/aggregate_options.h"
#include "base/progress.h"
#include "graph/dataset.h"
#include "rank/row_source.h"

typedef struct kg_calibrate_options {
    kg_aggregate_options aggregate;
    const kg_names *known; /* unseen entities with these names are left out; NULL: there are none */
    size_t threads;
    kg_ranks *ranks; /* that share the candidates, and all come to the result; NULL: this process
                      * alone */
    const kg_row_source *rows;   /* where they have rows from; NULL: all rows are there */
    const kg_progress *progress; /* may be NULL */
} kg_calibrate_options;

typedef struct kg_calibration {
    real *lines;     /* slope and offset for each directed relation of the data set, or NULL */
    real all[2];     /* the line fitted to all relations */
    json_t *about;   /* for config.json: the aggregate, and what it was made with */
    size_t left_out; /* unseen entities that the model knows */
} kg_calibration;

/* The params are in the order of the data set's entities, or are moved to its new graph. The result
 * does not depend on the number of threads or ranks. All zeroes if there is nothing to calibrate
 * with. */
KG_MUST_CHECK kg_status kg__calibrate(kg_calibration *out, const kg_params *params,
                                      const kg_dataset *dataset,
                                      const kg_calibrate_options *options, kg_error *error);

/* All zeroes are legal. */
void kg__calibration_free(kg_calibration *calibration);

/* The lines in the order of other relations, the first `count` of `relations`, instead of that of
 * the data set; those that it lacks get the line fitted to all. To be kg_freed; NULL if memory is
 * short. */
real *kg__calibration_reorder(const kg_names *relations, size_t count, const kg_calibration *from,
                              const kg_dataset *dataset);

/* Calibrates a model on disk and writes the result to its directory. */
KG_MUST_CHECK kg_status kg__calibrate_model(const char *path, size_t *left_out,
                                            const kg_dataset *dataset,
                                            const kg_aggregate_overrides *overrides, size_t threads,
                                            const kg_progress *progress, kg_error *error);

#endif
