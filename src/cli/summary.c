/* Means and deviations over seeds. */
#include "cli/summary.h"

#include <math.h>

const cli_measure cli_measures[CLI_MEASURE_COUNT] = {
    {"MRR", NULL, "mrr", 4, 0},
    {"Hit@1", "hits", "1", 4, 1},
    {"Hit@3", "hits", "3", 4, 2},
    {"Hit@10", "hits", "10", 4, 3},
    {"MRR, echoes", "echo", "mrr", 4, -1},
    {"MRR, fresh", "fresh", "mrr", 4, -1},
    {"validation MRR", NULL, "valid_mrr", 4, -1},
    {"epoch", NULL, "best_epoch", 0, -1},
    {"seconds", NULL, "seconds", 0, -1},
    {"MB", NULL, "megabytes", 0, -1},
};

struct summary {
    double mean;
    double deviation; /* of a sample; NAN of a single one */
    size_t count;     /* 0: there is no such number */
};

static const json_t *find_number(const json_t *metrics, const cli_measure *measure) {
    if (measure->group != NULL)
        metrics = json_object_get(metrics, measure->group);
    return json_object_get(metrics, measure->key);
}

static struct summary summarize(const json_t *runs, const cli_measure *measure) {
    struct summary out = {.deviation = NAN};
    double sum = 0;
    double squares = 0;
    size_t i = 0;
    const json_t *run = NULL;
    json_array_foreach(runs, i, run) {
        const json_t *number = find_number(run, measure);
        if (!json_is_number(number))
            return (struct summary){0};
        sum += json_number_value(number);
        out.count++;
    }
    out.mean = sum / (double)out.count;
    json_array_foreach(runs, i, run) {
        double apart = json_number_value(find_number(run, measure)) - out.mean;
        squares += apart * apart;
    }
    if (out.count > 1)
        out.deviation = sqrt(squares / (double)(out.count - 1));
    return out;
}

bool cli_has_failed(const json_t *runs) {
    size_t i = 0;
    const json_t *run = NULL;
    json_array_foreach(runs, i, run) {
        if (json_object_get(run, "failure") != NULL)
            return true;
    }
    return false;
}

json_t *cli_measure_cell(const json_t *runs, const cli_measure *measure, const json_t *paper) {
    struct summary summary = summarize(runs, measure);
    if (cli_has_failed(runs))
        return json_pack("{ss}", "text", "failed");
    if (summary.count == 0)
        return json_null();
    json_t *cell = json_pack("{sf sI}", "value", summary.mean, "seeds", (json_int_t)summary.count);
    bool good = cell != NULL;
    if (good && summary.count > 1)
        good = json_object_set_new(cell, "sd", json_real(summary.deviation)) == 0;
    if (good && paper != NULL && measure->paper >= 0)
        good = json_object_set(cell, "paper", json_array_get(paper, (size_t)measure->paper)) == 0;
    if (good)
        return cell;
    json_decref(cell);
    return NULL;
}

json_t *cli_measure_point(const json_t *runs, const cli_measure *measure, double x) {
    struct summary summary = summarize(runs, measure);
    if (summary.count > 1)
        return json_pack("[fff]", x, summary.mean, summary.deviation);
    return json_pack("[ff]", x, summary.mean);
}
