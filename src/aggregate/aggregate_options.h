/* The settings of aggregators: how entities are embedded from their facts, in training or, where a
 * user wants that, in other ways afterwards. */
#ifndef KG_AGGREGATE_AGGREGATE_OPTIONS_H
#define KG_AGGREGATE_AGGREGATE_OPTIONS_H

#include "aggregate/aggregate.h"
#include "model/model.h"

/* Defaults. */
#define KG_LS_LAMBDA 0.1
#define KG_IALS_ALPHA 0.001
#define KG_IALS_LAMBDA 0.1

/* An aggregator with the defaults. */
kg_aggregate_options kg__aggregate_defaults(const kg_aggregator *aggregator);

/* Refuses a ridge or a weight that is none, and an encoder's aggregator for a model that has none,
 * or another one for a model that has. */
KG_MUST_CHECK kg_status kg__aggregate_check(const kg_aggregate_options *options,
                                            const kg_scoring *scoring, kg_error *error);

/* What a user may ask for; what is not asked for is as the model was trained. */
typedef struct kg_aggregate_overrides {
    const char *aggregate; /* NULL: not asked for */
    const char *ls_rows;   /* NULL */
    double ls_lambda;      /* 0, and so the following */
    double ials_alpha;
    double ials_lambda;
} kg_aggregate_overrides;

/* The options by overrides and the settings that a model was trained with, NULL for the usual ones;
 * and for a model, checked. */
KG_MUST_CHECK kg_status kg__aggregate_override(kg_aggregate_options *out,
                                               const kg_aggregate_overrides *overrides,
                                               const json_t *trained, kg_error *error);
KG_MUST_CHECK kg_status kg__aggregate_choose(kg_aggregate_options *out,
                                             const kg_aggregate_overrides *overrides,
                                             const kg_model *model, kg_error *error);

/* The aggregator and the settings that it goes by, under the names that a model's settings have;
 * NULL if memory is short. A new reference. */
json_t *kg__aggregate_json(const kg_aggregate_options *options);

/* Whether the probabilities that the model's calibration gives are those of entities that are
 * embedded so. A calibration that does not say what it is for is for what the model was trained
 * with. */
bool kg__aggregate_is_calibrated(const kg_aggregate_options *options, const kg_model *model);

#endif
