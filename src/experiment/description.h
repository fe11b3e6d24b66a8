/* The description of an experiment, a table or a figure, as a small JSON file.
 *
 *     {"title": ..., "kind": "tables", "text": [...], "panels": [
 *         {"data": "oWN18RR", "entries": [
 *             {"name": "oDistMult-LS", "train": "--aggregate ls", "eval": "", "seeds": 3, ...}]}]}
 *
 * A panel is about one data set; an entry is a row of its table or a series of its plot. Options
 * are written as on the command line of kgraft train and kgraft eval, so a description can do
 * nothing that the command line cannot. `kind` applies to all panels that have none of their own.
 */
#ifndef KG_EXPERIMENT_DESCRIPTION_H
#define KG_EXPERIMENT_DESCRIPTION_H

#include <stdbool.h>

#include "base/json.h"

typedef enum experiment_kind {
    EXPERIMENT_COUNTS,     /* a table of the data sets' sizes */
    EXPERIMENT_HISTOGRAMS, /* for each data set, test queries by number of facts */
    EXPERIMENT_TABLES,     /* for each data set, a row of metrics for each entry */
    EXPERIMENT_CURVES,     /* for each data set, MRR over the values of an option */
    EXPERIMENT_BINS,       /* for each data set, MRR over the number of facts */
    EXPERIMENT_COMPLEXITY, /* the time to embed an entity; it needs no data set */
} experiment_kind;

typedef struct experiment_entry {
    const char *name;
    const char *train; /* options; NULL if nothing is trained */
    const char *eval;  /* options, perhaps "" */
    const char
        *chosen_by;   /* how the settings were chosen, for instance by which kgraft tune; or NULL */
    const char *grid; /* lists of values that they are chosen from; or NULL */
    json_t *choices;  /* what was chosen (choice.h), for each value of the option; owned */
    const char *option;   /* of kgraft train, that a curve varies; NULL otherwise */
    const json_t *values; /* its values: numbers, as strings */
    size_t seeds;
    bool rule;           /* a line above the row */
    const json_t *paper; /* [MRR, Hit@1, Hit@3, Hit@10]; NULL if the paper has none */
} experiment_entry;

typedef struct experiment_panel {
    const char *data;  /* the name of a data set */
    const char *title; /* by default that of the data set */
    experiment_kind kind;
    const json_t *paper; /* counts of the data set; NULL if the paper has none */
    uint64_t most;       /* the last bar of the histogram; 0: no limit */
    experiment_entry *entries;
    size_t entry_count;
} experiment_panel;

typedef struct experiment_description {
    json_t *description; /* all other fields borrow from it */
    char *name; /* of the built-in description, or of the file without folder and ".json" */
    const char *title;
    const char *beside;   /* whose numbers those of "paper" are; NULL: the paper's */
    const json_t *text;   /* paragraphs */
    experiment_kind kind; /* of the panels that have none of their own */
    experiment_panel *panels;
    size_t panel_count;
} experiment_description;

/* An entry without an option counts as one with a single value, which is NULL. */
size_t experiment_value_count(const experiment_entry *entry);
const char *experiment_value(const experiment_entry *entry, size_t i);

/* The options that it is trained with: those of the description, with the settings that were chosen
 * for value i, if any were. */
const char *experiment_entry_train(const experiment_entry *entry, size_t i);

/* The built-in description of that name or, if it ends in ".json", the file. */
bool experiment_is_file(const char *name);
KG_MUST_CHECK kg_status experiment_open(experiment_description *out, const char *name,
                                        kg_error *error);
void experiment_close(experiment_description *experiment);

/* A file of experiments/, compiled in. */
typedef struct experiment_file {
    const char *name; /* without ".json" */
    const char *text;
    size_t length;
} experiment_file;

/* All of them, in the order in which kgraft reproduce all makes them, ended by a row without name.
 */
extern const experiment_file experiment_files[];

#endif
