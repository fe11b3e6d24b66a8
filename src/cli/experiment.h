/* What is to be reproduced: a table or a figure, as a small JSON file describes it.
 *
 *     {"title": ..., "kind": "table", "text": [...], "panels": [
 *         {"data": "oWN18RR", "entries": [
 *             {"name": "oDistMult-LS", "train": "--aggregate ls", "eval": "", "seeds": 3, ...}]}]}
 *
 * A panel is about one data set; an entry is a row of its table or a series of its plot. Options
 * are written as on the command line of kgraft train and kgraft eval, so there is nothing that only
 * a description could ask for. `kind` says what becomes of the panels, unless one has its own. */
#ifndef KG_CLI_EXPERIMENT_H
#define KG_CLI_EXPERIMENT_H

#include <stdbool.h>

#include "base/json.h"

typedef enum cli_experiment_kind {
    CLI_COUNTS,     /* a table of the data sets' sizes */
    CLI_HISTOGRAMS, /* for each data set, test questions by number of facts */
    CLI_TABLES,     /* for each data set, a row of metrics for each entry */
    CLI_CURVES,     /* for each data set, MRR over the values of an option */
    CLI_BINS,       /* for each data set, MRR over the number of facts */
    CLI_COMPLEXITY, /* the time to embed an entity; it needs no data set */
} cli_experiment_kind;

typedef struct cli_entry {
    const char *name;
    const char *train;     /* options; NULL if nothing is trained */
    const char *eval;      /* options, perhaps "" */
    const char *chosen_by; /* how the settings were chosen: by which kgraft tune, say; or NULL */
    const char *option;    /* of kgraft train, that a curve varies; NULL otherwise */
    const json_t *values;  /* its values: numbers, as strings */
    size_t seeds;
    bool rule;           /* a line above the row: something else begins */
    const json_t *paper; /* [MRR, Hit@1, Hit@3, Hit@10]; NULL if the paper has none */
} cli_entry;

typedef struct cli_panel {
    const char *data;  /* the name of a data set */
    const char *title; /* that of the data set unless said */
    cli_experiment_kind kind;
    const json_t *paper; /* counts of the data set; NULL if the paper has none */
    uint64_t most;       /* the histogram ends there; 0: at its end */
    cli_entry *entries;
    size_t entry_count;
} cli_panel;

typedef struct cli_experiment {
    json_t *description; /* what all else borrows from */
    char *name; /* of the built-in description, or of the file without folder and ".json" */
    const char *title;
    const char *beside;       /* whose numbers those of "paper" are; NULL: the paper's */
    const json_t *text;       /* paragraphs */
    cli_experiment_kind kind; /* of the panels that have none of their own */
    cli_panel *panels;
    size_t panel_count;
} cli_experiment;

/* The built-in description of that name or, if it ends in ".json", the file. */
bool cli_experiment_is_file(const char *name);
KG_MUST_CHECK kg_status cli_experiment_open(cli_experiment *out, const char *name, kg_error *error);
void cli_experiment_close(cli_experiment *experiment);

/* A file of experiments/, compiled in. */
typedef struct cli_description {
    const char *name; /* without ".json" */
    const char *text;
    size_t length;
} cli_description;

/* All of them, in the order in which kgraft reproduce all makes them, ended by a row without name.
 */
extern const cli_description cli_descriptions[];

#endif
