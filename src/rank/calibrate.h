/* Calibration: what a score means. Scores of one relation are not comparable with those of another,
 * so for each directed relation a line is fitted that makes log-odds of scores, on questions whose
 * answers are known: those of validation.
 *
 * An entity, embedded from its facts but one as a new one would be, is asked about the relation of
 * that fact, and about some others. In-sample entities, too, are embedded from their training
 * facts, whatever the model does when it is asked about them: a probability is about new entities.
 * Of the ten best answers to each question that is true which is the fact. So a probability says
 * how often, among the best answers, one with such a score is what was left out. It holds for the
 * aggregate that entities were embedded by, which is therefore recorded. Relations that validation
 * says little about are drawn towards a line that is fitted to all. */
#ifndef KG_RANK_CALIBRATE_H
#define KG_RANK_CALIBRATE_H

#include "aggregate/aggregate.h"
#include "base/progress.h"
#include "graph/dataset.h"

typedef struct kg_calibrate_options {
    kg_aggregate_options aggregate;
    const kg_names *known; /* unseen entities with these names are left out; NULL: there are none */
    size_t threads;
    const kg_progress *progress; /* may be NULL */
} kg_calibrate_options;

/* Whether the data set has facts to calibrate with: of unseen entities, or else in-sample ones. */
bool kg__can_calibrate(const kg_dataset *dataset);

typedef struct kg_calibration {
    real *lines;     /* slope and offset for each directed relation of the data set, or NULL */
    real all[2];     /* the line of all */
    json_t *about;   /* for config.json: the aggregate, and what it was made with */
    size_t left_out; /* unseen entities that are known */
} kg_calibration;

/* The params are in the order of the data set. The same bits for any number of threads. All zeroes
 * if there is nothing to calibrate with. */
KG_MUST_CHECK kg_status kg__calibrate(kg_calibration *out, const kg_params *params,
                                      const kg_dataset *dataset,
                                      const kg_calibrate_options *options, kg_error *error);

/* Also one that is all zeroes. */
void kg__calibration_free(kg_calibration *calibration);

/* From the order of the data set's relations to that of others, the first `count` of `relations`;
 * those that the data set lacks get the line of all. */
void kg__calibration_reorder(real *out, const kg_names *relations, size_t count,
                             const kg_calibration *from, const kg_dataset *dataset);

/* The same for a model on disk, whose directory gets the calibration; `*left_out` is that of it. */
KG_MUST_CHECK kg_status kg__calibrate_model(const char *path, size_t *left_out,
                                            const kg_dataset *dataset,
                                            const kg_aggregate_overrides *wish, size_t threads,
                                            const kg_progress *progress, kg_error *error);

#endif
