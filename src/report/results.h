/* clang-format off */
/* Results of experiments as JSON: tables of numbers beside those of the paper, and plots.
 *
 *   results     version, made, command: texts
 *               machine: {processor, kernels, blas: texts, threads: count}
 *               experiments: [experiment]
 *   experiment  name, title: texts
 *               beside: text, whose numbers those of "paper" are, unless the paper's
 *               text: [paragraph]
 *               seconds: number, of training
 *               tables: [table]
 *               plots: [plot]
 *   table       title, head (over the labels of rows): texts
 *               columns: [{label: text, digits: count, note: text (how to make it),
 *                          better: "higher" (unless given), "lower" or "same"}]
 *               rows: [row]
 *   row         label: text
 *               rule: whether a line stands above it
 *               note: text, how to make it
 *               cells: [cell], one for each column
 *   cell        null, {text}, or {value, sd, paper: numbers, seeds: count}, of which only value is required
 *   plot        name, title, x, y: texts
 *               log_x, log_y, y_from_zero: truth values
 *               x_labels: [text]
 *               series: [{name: text, style: "line", "dashed", "points" or "bars",
 *                         points: [[x, y] or [x, y, sd]], groups: [[from, to]]}]
 *
 * Names of experiments become ids, those of plots names of files: letters, digits, '-', '_' and
 * '.', each once. With x_labels the x of a point is the position of its label. The optional parts
 * are machine, kernels, beside, text, seconds, tables, plots, better, rule, note, groups, x_labels
 * and the truth values. Other keys are left alone, and so are all values of strings: they may hold
 * anything. */
/* clang-format on */
#ifndef KG_REPORT_RESULTS_H
#define KG_REPORT_RESULTS_H

#include "base/json.h"
#include "report/plot.h"

/* These two check everything that the functions below rely on. */
KG_MUST_CHECK kg_status report_check_results(const json_t *results, kg_error *error);
KG_MUST_CHECK kg_status report_check_experiment(const json_t *experiment, kg_error *error);

/* How a number compares with the paper's. */
typedef enum report_verdict {
    REPORT_NO_VERDICT, /* the paper has none */
    REPORT_BETTER,
    REPORT_EQUAL, /* to the last digit shown */
    REPORT_NEAR,  /* within two standard deviations of ours */
    REPORT_WORSE,
    REPORT_DIFFERENT, /* and neither is better */
} report_verdict;

#define REPORT_VERDICTS (REPORT_DIFFERENT + 1)

typedef struct report_figure {
    char text[48];
} report_figure;

/* A cell as it is shown: empty texts for what it does not have. */
typedef struct report_cell {
    const char *text; /* in place of numbers; or NULL */
    report_figure value;
    report_figure sd; /* over several seeds */
    report_figure paper;
    report_figure difference; /* signed */
    report_verdict verdict;
} report_cell;

report_cell report_read_cell(const json_t *table, size_t row, size_t column);

/* A sign for each verdict, so that it does not depend on colour. */
const char *report_verdict_sign(report_verdict verdict);

/* Counts the cells of an experiment by verdict. */
void report_count_verdicts(size_t counts[REPORT_VERDICTS], const json_t *experiment);

/* Experiments that are not built in have their own title. */
const char *report_title(const json_t *results);

/* Whose numbers ours are compared with: a name, or "the paper". */
const char *report_beside(const json_t *experiment);

/* Whether a column of a table holds texts and no numbers. */
bool report_column_has_words(const json_t *table, size_t column);

/* The name of each report_style; ended by NULL. */
extern const char *const report_style_names[];

/* A plot in JSON as arrays that can be drawn; its texts are those of the JSON. */
typedef struct report_drawing {
    report_plot plot;
    report_series *series;
    report_point *points;
    report_range *groups;
    const char **labels;
} report_drawing;

/* To be freed also when it failed. */
KG_MUST_CHECK kg_status report_drawing_open(report_drawing *out, const json_t *plot,
                                            kg_error *error);
void report_drawing_free(report_drawing *drawing);

#endif
