/* What experiments came to, as JSON: tables of numbers beside those of the paper, and plots.
 *
 *   results: version, made, command: texts; machine: {processor, kernels, blas: texts, threads:
 * count}; experiments: [experiment] experiment: name, title, beside (whose numbers those of "paper"
 * are, unless the paper's): texts; text: [paragraph]; seconds: number, of training; tables:
 * [table]; plots: [plot] table: title, head (over the labels of rows): texts; columns: [{label:
 * text, digits: count, better: "higher" (unless given), "lower" or "same"; note: text, how to make
 * it}]; rows: [row] row: label: text; rule: whether a line stands above it; note: text, how to make
 * it; cells: [cell], one for each column cell: null, {text}, or {value, sd, paper: numbers, seeds:
 * count}, of which only value must be plot: name, title, x, y: texts; log_x, log_y, y_from_zero:
 * truth values; x_labels: [text]; series: [{name, style: "line", "dashed", "points" or "bars";
 * points: [[x, y] or [x, y, sd]]; groups: [[from, to]]}]
 *
 * Names of experiments become ids, those of plots names of files: letters, digits, '-', '_' and
 * '.', each once. With x_labels the x of a point is the position of its label. The optional parts
 * are machine, kernels, beside, text, seconds, tables, plots, better, rule, note, groups, x_labels
 * and the truth values. Other keys are left alone, and so are all values of strings: they may hold
 * anything. */
#ifndef KG_CLI_RESULTS_H
#define KG_CLI_RESULTS_H

#include "base/json.h"
#include "cli/plot.h"

/* These two find everything that the functions below rely on. */
KG_MUST_CHECK kg_status cli_results_check(const json_t *results, kg_error *error);
KG_MUST_CHECK kg_status cli_experiment_check(const json_t *experiment, kg_error *error);

/* How a number compares with the paper's. */
typedef enum cli_verdict {
    CLI_NO_VERDICT, /* the paper has none */
    CLI_BETTER,
    CLI_EQUAL, /* to the last digit shown */
    CLI_NEAR,  /* within two standard deviations of ours */
    CLI_WORSE,
    CLI_DIFFERENT, /* and neither is better */
} cli_verdict;

#define CLI_VERDICTS (CLI_DIFFERENT + 1)

typedef struct cli_figure {
    char text[48];
} cli_figure;

/* A cell as it is shown: empty texts for what it does not have. */
typedef struct cli_cell {
    const char *text; /* in place of numbers; or NULL */
    cli_figure value;
    cli_figure sd; /* over several seeds */
    cli_figure paper;
    cli_figure difference; /* signed */
    json_int_t seeds;
    cli_verdict verdict;
} cli_cell;

cli_cell cli_read_cell(const json_t *table, size_t row, size_t column);

/* A sign for each verdict, which says without colour what it is. */
const char *cli_verdict_sign(cli_verdict verdict);

/* Counts the cells of an experiment by verdict. */
void cli_count_verdicts(size_t counts[CLI_VERDICTS], const json_t *experiment);

/* Whose numbers ours stand beside: a name, or "the paper". */
const char *cli_beside(const json_t *experiment);

/* Whether a column of a table holds texts and no numbers. */
bool cli_column_has_words(const json_t *table, size_t column);

/* What each cli_style is called; ended by NULL. */
extern const char *const cli_style_names[];

/* A plot of JSON as one that can be drawn; its texts are those of the JSON. */
typedef struct cli_drawing {
    cli_plot plot;
    cli_series *series;
    cli_point *points;
    cli_range *groups;
    const char **labels;
} cli_drawing;

/* To be freed also when it failed. */
KG_MUST_CHECK kg_status cli_drawing_open(cli_drawing *out, const json_t *plot, kg_error *error);
void cli_drawing_free(cli_drawing *drawing);

#endif
