/* The training runs and evaluations that experiments need, each made once, in one folder.
 *
 *     runs/DATA/NAME                a model directory; NAME has the options that are not the
 * preset's results/DATA/NAME.json        its record (run_record.h) results/DATA/NAME+EVAL.json what
 * kgraft eval --json prints for it; EVAL.json for a baseline
 *
 * What is there already is used if it was made of the same data with the same settings. So a runner
 * that was stopped resumes, and experiments share what they have in common. Results are small, may
 * be in another folder, and are enough: a model is only trained if one of its results is missing.
 */
#ifndef KG_EXPERIMENT_RUNNER_H
#define KG_EXPERIMENT_RUNNER_H

#include "experiment/evaluation.h"
#include "experiment/run.h"

typedef struct experiment_runner experiment_runner;

/* A model, or a baseline, and how it is evaluated. */
typedef struct experiment_request {
    const char *data;   /* the name of a data set */
    const char *train;  /* options of kgraft train; NULL: nothing is trained */
    const char *option; /* one more of them, and its value; NULL: none */
    const char *value;
    uint64_t seed;
    const char *eval; /* options of kgraft eval; NULL: it is only trained */
} experiment_request;

/* Reads options that are written as on a command line. The names are of settings without the number
 * of threads, which has no influence on a result. */
typedef struct experiment_parser {
    /* Options, checked, and name of the run that a request describes: as of kgraft train, what is
     * not given follows from the data set where it does there. */
    kg_status (*read_training)(experiment_run *out, const experiment_request *request,
                               const kg_dataset *dataset, uint64_t threads, kg_error *error);
    kg_status (*read_evaluation)(experiment_eval_options *out, experiment_run_name *name,
                                 const experiment_request *request, uint64_t threads,
                                 kg_error *error);
} experiment_parser;

typedef struct experiment_runner_options {
    const char *data;    /* the folder that holds the data sets */
    const char *out;     /* the folder of runs */
    const char *results; /* that of results; NULL: in `out` */
    uint64_t threads;    /* 0: as many as there are processors */
    uint64_t at_once;    /* most runs that are trained at once; 0: as many as threads */
    const experiment_parser *parser;
    const kg_progress *progress;
    void (*print_line)(void *payload, const char *line); /* a message for the user */
    void *payload;
} experiment_runner_options;

/* What the options point to must outlive the runner. To be closed also when this failed. */
KG_MUST_CHECK kg_status experiment_runner_open(experiment_runner **out,
                                               const experiment_runner_options *options,
                                               kg_error *error);
void experiment_runner_close(experiment_runner *runner);

/* Checks all that can be checked before training starts. */
KG_MUST_CHECK kg_status experiment_runner_check(experiment_runner *runner,
                                                const experiment_request *request, kg_error *error);

/* Checks it, and plans what it needs. */
KG_MUST_CHECK kg_status experiment_runner_plan(experiment_runner *runner,
                                               const experiment_request *request, kg_error *error);

/* Trains all planned models that are not there yet. More may be planned afterwards. */
KG_MUST_CHECK kg_status experiment_runner_train(experiment_runner *runner, kg_error *error);

/* The options that a request trains with; and its run, if that is planned. */
KG_MUST_CHECK kg_status experiment_runner_options_of(kg_train_options *out,
                                                     experiment_runner *runner,
                                                     const experiment_request *request,
                                                     kg_error *error);
KG_MUST_CHECK kg_status experiment_runner_run(const experiment_run **out, experiment_runner *runner,
                                              const experiment_request *request, kg_error *error);

/* The metrics of a planned request whose model is trained: those of kgraft eval --json (without
 * "by_relation"), "seed", and of a model "run" (its folder), "epochs", "best_epoch", "valid_mrr",
 * "seconds" and, where it is known, "megabytes". Of a failed run: "seed", "run" and "failure". A
 * new reference. */
KG_MUST_CHECK kg_status experiment_runner_evaluate(json_t **out, experiment_runner *runner,
                                                   const experiment_request *request,
                                                   kg_error *error);

/* A data set by its name, read when it is first needed. */
KG_MUST_CHECK kg_status experiment_runner_data(const kg_dataset **out, experiment_runner *runner,
                                               const char *name, kg_error *error);

#endif
