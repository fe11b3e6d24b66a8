/* Means and deviations over seeds. */
#include "experiment/summary.h"

#include <math.h>

const experiment_measure experiment_measures[EXPERIMENT_MEASURE_COUNT] = {
    {.label = "MRR", .key = "mrr", .digits = 4, .paper = 0},
    {.label = "Hit@1", .group = "hits", .key = "1", .digits = 4, .paper = 1},
    {.label = "Hit@3", .group = "hits", .key = "3", .digits = 4, .paper = 2},
    {.label = "Hit@10", .group = "hits", .key = "10", .digits = 4, .paper = 3},
    {.label = "MRR, echoes", .group = "echo", .key = "mrr", .digits = 4, .paper = -1},
    {.label = "MRR, fresh", .group = "fresh", .key = "mrr", .digits = 4, .paper = -1},
    {.label = "validation MRR", .key = "valid_mrr", .digits = 4, .paper = -1},
    {.label = "epoch", .key = "best_epoch", .digits = 0, .paper = -1},
    {.label = "seconds", .key = "seconds", .digits = 0, .paper = -1},
    {.label = "MB", .key = "megabytes", .digits = 0, .paper = -1},
};

struct summary {
    double mean;
    double deviation; /* of a sample; NAN of a single one */
    size_t count;     /* 0: there is no such number */
};

static const json_t *find_number(const json_t *metrics, const experiment_measure *measure) {
    if (measure->group != NULL)
        metrics = json_object_get(metrics, measure->group);
    return json_object_get(metrics, measure->key);
}

static struct summary summarize(const json_t *runs, const experiment_measure *measure) {
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

bool experiment_has_failed(const json_t *runs) {
    size_t i = 0;
    const json_t *run = NULL;
    json_array_foreach(runs, i, run) {
        if (json_object_get(run, "failure") != NULL)
            return true;
    }
    return false;
}

json_t *experiment_measure_cell(const json_t *runs, const experiment_measure *measure,
                                const json_t *paper) {
    struct summary summary = summarize(runs, measure);
    if (experiment_has_failed(runs))
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

json_t *experiment_measure_point(const json_t *runs, const experiment_measure *measure, double x) {
    struct summary summary = summarize(runs, measure);
    if (summary.count > 1)
        return json_pack("[fff]", x, summary.mean, summary.deviation);
    return json_pack("[ff]", x, summary.mean);
}
