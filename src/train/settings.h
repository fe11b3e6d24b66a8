/* The settings of a training run, as one table. The command line, kgraft tune, experiments,
 * config.json, checkpoints and the public interface read it: a new setting is a field of
 * kg_train_options and a row. What depends on several settings (defaults that follow others,
 * combinations that cannot be) are functions. */
#ifndef KG_TRAIN_SETTINGS_H
#define KG_TRAIN_SETTINGS_H

#include "aggregate/aggregate.h"
#include "base/json.h"
#include "graph/dataset.h"
#include "model/term.h"
#include "terms/propagation/propagation_options.h"
#include "train/optimizer.h"
#include "train/step.h"

/* What keeps rows of entities and relations small. l2: the squares of all of them, in each step;
 * n3: the cubes of those that a query is about. */
typedef enum kg_regularizer { KG_L2, KG_N3 } kg_regularizer;

/* Uniform within sqrt(6/(rows + columns)). */
typedef enum kg_init { KG_XAVIER } kg_init;

/* Settings that go together: those of the paper, and the recipe of graft. */
typedef enum kg_preset { KG_PAPER, KG_GRAFT } kg_preset;
extern const char *const kg__preset_names[]; /* ended by NULL */

/* In place of a number of negatives: every entity. */
#define KG_ALL_ENTITIES INT64_MAX

/* So many leave a history that config.json has room for (KG_JSON_MAX). */
#define KG_MOST_EPOCHS 30000

/* The fields that do not fill a word stand at the end. */
typedef struct kg_train_options {
    const kg_scoring *scoring;
    uint64_t dim;
    kg_aggregate_options aggregate;
    double psi;
    uint64_t bases; /* of an encoder's layers; without influence on models that have none */
    const kg_loss *loss;
    uint64_t negatives; /* softplus: of each fact; softmax: of each batch, or KG_ALL_ENTITIES */
    uint64_t batch;
    uint64_t epochs; /* at most KG_MOST_EPOCHS */
    double rate;
    double last_rate; /* what it falls to, in equal parts */
    uint64_t
        rate_epochs; /* over which it does; 0: all of them. Not a setting: see training_run.c */
    double l2;       /* adds l2/2 |all parameters|^2 / batches in an epoch to each step's loss */
    double n3;       /* adds n3 |factors|^3 to each query's loss: see terms/embedding.c */
    double dropout;
    uint64_t seed;
    uint64_t threads;
    kg_ranks *ranks;         /* that share the run; NULL: this process alone. Not a setting */
    uint64_t validate_every; /* epochs, beside the first and the last; 0: never */
    uint64_t patience;       /* validations without a better one before it stops; 0: never stops */
    kg_propagation_options propagation; /* what is 0 there follows from the graph */
    uint64_t propagation_epochs;        /* it is trained apart: see kg__train_apart */
    uint64_t propagation_batch;
    double propagation_rate;
    size_t block_queries; /* of a block at most; 0: KG_MOST_QUERIES. Not a setting */
    size_t epoch_queries; /* of an epoch at most; 0: all. Not a setting */
    double beta2;         /* Adam's; 0: the usual one. Not a setting */
    double hold_out;      /* for the record: the share of entities that was held out; 0: none was */
    kg_preset preset;     /* for the record: where values that were not given come from */
    kg_exclude exclude;
    unsigned terms; /* a bit for each of kg__terms: see kg__train_has */
    kg_method method;
    kg_regularizer regularizer;
    kg_init init;
    bool directed;      /* relations have vectors for each direction */
    bool own_relations; /* and others for aggregation than for queries */
    bool self_loops;    /* of an encoder's layers */
    bool shuffle;
    bool stores_half; /* rows of entities in the model's file in half precision */
} kg_train_options;

/* ---- The table ---- */

typedef enum kg_setting_type {
    KG_TYPE_COUNT,  /* uint64_t, below 2^63; KG_ALL_ENTITIES for the only choice, if it has one */
    KG_TYPE_NUMBER, /* double */
    KG_TYPE_FLAG,   /* bool, yes or no */
    KG_TYPE_EITHER, /* bool, whether it is the second of two choices */
    KG_TYPE_CHOICE, /* an enum, the position among the choices */
    KG_TYPE_ROW,    /* a pointer to the row of the choices */
    KG_TYPE_LISTED, /* the same, where the choices are pointers to rows */
    KG_TYPE_SET,    /* unsigned, a bit for each of the choices: some joined by +, all, or none */
} kg_setting_type;

/* Numbers from `least` to `most`; of a setting with choices, what stands for its only one, too. */
typedef struct kg_range {
    double least;
    double most;
    const char *what;  /* is between them; NULL: a count of it */
    uint64_t multiple; /* of this; 0: any */
    bool is_above;     /* not `least` itself, in single precision, either */
    bool is_below;     /* not `most` itself */
} kg_range;

/* What a setting takes to have an effect: that another one is one of some choices. */
typedef struct kg_condition {
    const char *setting;  /* the other one */
    const char *expected; /* of it, as in "above 0"; NULL: the choices with which it holds */
    bool (*holds)(const kg_train_options *options);
} kg_condition;

/* The paper's values depend on whether the model has an encoder. */
typedef enum kg_preset_column {
    KG_PAPER_COLUMN,
    KG_ENCODER_COLUMN,
    KG_GRAFT_COLUMN,
    KG_COLUMN_COUNT
} kg_preset_column;

typedef struct kg_setting {
    const char *name; /* of the option; see kg__setting_key */
    kg_setting_type type;
    unsigned part;       /* of the settings in JSON (settings.c); 0: not written */
    size_t offset;       /* of its field in kg_train_options */
    const void *choices; /* rows that begin with a name, ended by one without, or pointers to these;
                            or NULL */
    size_t choice_size;  /* of a row */
    const char *values[KG_COLUMN_COUNT]; /* by preset, as text */
    const char *term;                    /* it goes only with this one; NULL: with any */
    const kg_condition *condition;       /* without which it has no effect; NULL: there is none */
    const kg_range *range;               /* of counts and numbers; NULL: any from 0 */
    const char *argument;                /* what stands for its value in the help */
    const char *help;                    /* "%s" stands for the choices */
    const char *heading;                 /* that the help has before it; or NULL */
} kg_setting;

#define KG_MOST_SETTINGS 64
extern const kg_setting kg__settings[]; /* in the order of the help */
extern const size_t kg__setting_count;

/* The row of that name, or NULL. */
const kg_setting *kg__setting_find(const char *name);

/* Whether its value is the same in all presets. */
bool kg__setting_is_fixed(const kg_setting *setting);

/* The i-th choice; NULL behind the last. */
const char *kg__setting_choice(const kg_setting *setting, size_t i);

typedef struct kg_setting_text {
    char text[128];
} kg_setting_text;

/* More than any setting has. */
#define KG_MOST_CHOICES 32

/* All choices, as in "softplus or softmax". */
kg_setting_text kg__setting_choices(const kg_setting *setting);

/* What a setting is called in JSON and, in backquotes, in messages: its name with underscores. */
kg_setting_text kg__setting_key(const kg_setting *setting);

/* A value as text, the same for all ways to write it (0.1 for 1e-1), and back. */
kg_setting_text kg__setting_text(const kg_setting *setting, const kg_train_options *options);
KG_MUST_CHECK kg_status kg__setting_parse(const kg_setting *setting, kg_train_options *options,
                                          const char *text, kg_error *error);

/* Its field. */
static inline const void *kg__setting_value(const kg_setting *setting,
                                            const kg_train_options *options) {
    return (const char *)options + setting->offset;
}

/* Whether both have the same value of it. */
bool kg__setting_is_same(const kg_setting *setting, const kg_train_options *a,
                         const kg_train_options *b);

/* The choice that a value is, of types that have one. */
const char *kg__setting_word(const kg_setting *setting, const kg_train_options *options);

/* Sets it to a value of the type that its field has; and to that of a preset. */
void kg__setting_store(const kg_setting *setting, kg_train_options *options, const void *value);
void kg__setting_reset(const kg_setting *setting, kg_train_options *options,
                       kg_preset_column column);

/* Whether a value is within the setting's range. */
KG_MUST_CHECK kg_status kg__setting_check(const kg_setting *setting,
                                          const kg_train_options *options, kg_error *error);

/* A value as JSON, NULL if memory is short. */
json_t *kg__setting_json(const kg_setting *setting, const kg_train_options *options);

/* ---- All settings of a run ---- */

/* The usual settings of a model, on one thread. */
kg_train_options kg__train_defaults(kg_preset preset, const kg_scoring *kind);

/* Settings as a user gives them; starts as all zeroes. */
typedef struct kg_settings {
    kg_train_options options; /* only what was given counts */
    uint64_t given;           /* a bit for each row of the table */
} kg_settings;

bool kg__settings_has(const kg_settings *settings, const char *name);
KG_MUST_CHECK kg_status kg__settings_set(kg_settings *settings, const kg_setting *setting,
                                         const char *text, kg_error *error);
void kg__settings_store(kg_settings *settings, const kg_setting *setting, const void *value);

/* Settings that are not given and follow from the data set. Of many relations all echoes are
 * sampled; where entities have many facts, preset graft has less dropout and more epochs. Terms:
 * for a data set with a new graph, propagation alone is trained, since other terms know the
 * entities of their own graph. Where no answer of in-sample validation is an echo, though training
 * has them (FB15k-237 was made so), echoes are not learned: they would all be wrong. */
KG_MUST_CHECK kg_status kg__settings_adapt(kg_settings *settings, const kg_dataset *dataset,
                                           kg_error *error);

/* The share of entities to hold out, as kg__hold_out takes it. */
double kg__settings_hold_out(const kg_settings *settings);

/* With the usual values, by preset and model, of what was not given. */
kg_train_options kg__settings_complete(const kg_settings *settings);

/* Refuses those of the rows, a bit for each, that would have no effect: of all that are given, or
 * of those that were given by name. */
KG_MUST_CHECK kg_status kg__settings_check(const kg_settings *settings, uint64_t rows,
                                           kg_error *error);

/* Whether the settings, each alone and together, are those of a run that can be. */
KG_MUST_CHECK kg_status kg__train_check(const kg_train_options *options, kg_error *error);

/* The settings of the model with this config, which is at `path`. Refuses what is no such thing,
 * and a model that was not trained. */
KG_MUST_CHECK kg_status kg__train_read(kg_train_options *out, const json_t *config,
                                       const char *path, kg_error *error);

/* Whether a term is among those of the settings; and whether any are that are trained together, or
 * apart. */
bool kg__train_has(const kg_train_options *options, const char *term);
bool kg__train_has_joint(const kg_train_options *options);
bool kg__train_has_apart(const kg_train_options *options);

/* The terms of settings that name none, since there were no others once: the embedding and, with
 * the aggregator graft, echo. */
unsigned kg__train_unnamed_terms(const kg_train_options *options);

/* The bit of a term in these sets, and those of the terms that are trained apart. */
unsigned kg__term_bit(const char *name);
unsigned kg__terms_apart(void);

/* Those that know no entity of their own, and so move to another graph. */
unsigned kg__terms_moving(void);

/* Whether the run with these settings trains a term, by its number. */
bool kg__train_trains(const kg_train_options *options, size_t number);

/* Refuses settings without a term that can be moved to another graph. */
KG_MUST_CHECK kg_status kg__train_check_moving(const kg_train_options *options, kg_error *error);

/* Sets what follows from the number of training facts, unless it was given. */
void kg__train_choose_epochs(kg_train_options *options, size_t facts);

/* The settings of the run that trains propagation, apart from the other terms. */
kg_train_options kg__train_apart(const kg_train_options *options);

static inline bool kg__train_is_apart(const kg_train_options *options) {
    return options->loss->block != NULL;
}

/* Every setting that has an influence on the result, as an object; NULL if memory is short. */
json_t *kg__train_settings(const kg_train_options *options);

/* Epochs of the first run: of the terms that are trained together, or of propagation. */
static inline uint64_t kg__train_epochs(const kg_train_options *o) {
    return kg__train_has_joint(o) ? o->epochs : o->propagation_epochs;
}

/* Epochs over which the rate falls. */
static inline uint64_t kg__train_rate_epochs(const kg_train_options *o) {
    return o->rate_epochs > 0 ? o->rate_epochs : o->epochs;
}

#endif
