/* Points, each measured for every series, and tables and plots of them. */
#include "experiment/embed_timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregate/embedder.h"
#include "base/memory.h"
#include "base/random.h"
#include "math/linalg.h"
#include "math/vector.h"

#define ENTITIES 10000 /* at least so many rows: more than the inner caches hold */
#define RELATIONS 50
#define ROUNDS 7

/* ---- The series ---- */

struct series {
    const char *name;
    const char *aggregator; /* NULL: least squares as the paper writes it */
    const char *law;
    double (*operations)(double facts, double dim);
};

static double mean_operations(double facts, double dim) {
    return facts * dim;
}

static double primal_operations(double facts, double dim) {
    return facts * dim * dim + dim * dim * dim;
}

/* The dual, or the primal if that is the smaller system. */
static double smaller_operations(double facts, double dim) {
    double size = fmin(facts, dim);
    return size * size * fmax(facts, dim) + size * size * size;
}

static const struct series all_series[] = {
    {.name = "eravg", .aggregator = "eravg", .law = "O(Nd)", .operations = mean_operations},
    {.name = "ls",
     .aggregator = "ls",
     .law = "O(N²d + N³), beyond N = d O(Nd² + d³)",
     .operations = smaller_operations},
    {.name = "ls as written", .law = "O(Nd² + d³)", .operations = primal_operations},
};

#define SERIES (sizeof all_series / sizeof all_series[0])

bool experiment_embed_as_written(real *z, experiment_written scratch, const kg_params *params,
                                 const kg_link *links, size_t count, double ridge) {
    size_t dim = params->dim;
    memset(scratch.right, 0, dim * sizeof *scratch.right);
    for (size_t i = 0; i < count; i++) {
        const double one = 1;
        double *row = scratch.rows + i * dim;
        kg__query_vector(params, scratch.row, links[i].directed,
                         kg__entity_row(params, links[i].other));
        double length = kg__length(scratch.row, dim);
        for (size_t k = 0; k < dim; k++)
            row[k] = (double)scratch.row[k] / length;
        kg__add_wide(scratch.right, row, &one, 1, dim);
    }
    kg__gram_wide(scratch.square, scratch.rows, count, dim, false);
    for (size_t i = 0; i < dim; i++)
        scratch.square[i * dim + i] += ridge;
    if (!kg__factor_wide(scratch.square, dim))
        return false;
    kg__solve_wide(scratch.square, scratch.right, dim);
    for (size_t i = 0; i < dim; i++)
        z[i] = (real)scratch.right[i];
    return true;
}

/* ---- Workload ---- */

/* Unseen entities with the same number of facts. Several, so that their rows come from the whole
 * table and not always from the cache. */
struct workload {
    kg_params params;
    real *entities;
    real *relations;
    kg_link *links; /* entity by entity */
    size_t entity_count;
    size_t facts; /* of each */
    experiment_written scratch;
    real *z;
};

static void close_workload(struct workload *workload) {
    kg__free(workload->entities);
    kg__free(workload->relations);
    kg__free(workload->links);
    kg__free(workload->scratch.rows);
    kg__free(workload->scratch.square);
    kg__free(workload->scratch.right);
    kg__free(workload->scratch.row);
    kg__free(workload->z);
}

static void fill(real *values, size_t count, kg_stream stream) {
    for (size_t i = 0; i < count; i++)
        values[i] = (real)(2 * kg__random_unit(0, stream, i) - 1);
}

/* Each entity of the table is the other end of at most one link. As everywhere, an entity's links
 * are sorted by directed relation. */
static void fill_links(struct workload *workload, size_t rows) {
    for (size_t i = 0; i < workload->entity_count * workload->facts; i++) {
        size_t position = i % workload->facts;
        workload->links[i].directed = (kg_directed)(position * 2 * RELATIONS / workload->facts);
        workload->links[i].other = (kg_id)kg__random_permute(i, rows, 0, KG_STREAM_SHUFFLE, 0);
    }
}

static kg_status open_workload(struct workload *workload, size_t facts, size_t dim,
                               kg_error *error) {
    size_t rows = facts > ENTITIES ? facts : ENTITIES;
    *workload = (struct workload){.facts = facts, .entity_count = rows / facts};
    workload->entities = kg__alloc(rows * dim, sizeof *workload->entities);
    workload->relations = kg__alloc(RELATIONS * dim, sizeof *workload->relations);
    workload->links = kg__alloc(rows, sizeof *workload->links);
    workload->scratch.rows = kg__alloc(facts * dim, sizeof *workload->scratch.rows);
    workload->scratch.square = kg__alloc(dim * dim, sizeof *workload->scratch.square);
    workload->scratch.right = kg__alloc(dim, sizeof *workload->scratch.right);
    workload->scratch.row = kg__alloc(dim, sizeof *workload->scratch.row);
    workload->z = kg__alloc(dim, sizeof *workload->z);
    if (workload->entities == NULL || workload->relations == NULL || workload->links == NULL ||
        workload->scratch.rows == NULL || workload->scratch.square == NULL ||
        workload->scratch.right == NULL || workload->scratch.row == NULL || workload->z == NULL) {
        close_workload(workload);
        return kg__fail_memory(error);
    }
    workload->params = (kg_params){.scoring = kg__scoring_find("distmult"),
                                   .entities = workload->entities,
                                   .relations = workload->relations,
                                   .dim = dim};
    fill(workload->entities, rows * dim, KG_STREAM_INIT_ENTITIES);
    fill(workload->relations, RELATIONS * dim, KG_STREAM_INIT_RELATIONS);
    fill_links(workload, rows);
    return KG_OK;
}

/* ---- Measuring ---- */

/* Microseconds of one embedding: the median of the rounds, and their spread. */
struct sample {
    double median;
    double deviation;
};

struct point {
    size_t facts;
    size_t dim;
    struct sample samples[SERIES];
};

static kg_status embed(struct workload *workload, kg_embedder *embedder, const kg_link *links,
                       kg_error *error) {
    if (embedder->options.aggregator == NULL)
        return experiment_embed_as_written(workload->z, workload->scratch, &workload->params, links,
                                           workload->facts, KG_LS_LAMBDA)
                   ? KG_OK
                   : kg_fail(error, KG_SYSTEM, "expected a positive definite system");
    KG_TRY(kg__embedder_load(embedder, links, workload->facts, error));
    kg__embedder_embed(embedder, workload->z, KG_NOTHING);
    return KG_OK;
}

/* Processor time of this thread, so that other processes do not count. */
static double spent_seconds(void) {
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (double)spent.tv_sec + 1e-9 * (double)spent.tv_nsec;
}

/* The seconds that a number of embeddings take. */
static kg_status take_time(double *seconds, struct workload *workload, kg_embedder *embedder,
                           size_t times, kg_error *error) {
    double started = spent_seconds();
    for (size_t i = 0; i < times; i++)
        KG_TRY(embed(workload, embedder,
                     workload->links + i % workload->entity_count * workload->facts, error));
    *seconds = spent_seconds() - started;
    return KG_OK;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct sample summarize(double *rounds) {
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < ROUNDS; i++)
        mean += rounds[i] / ROUNDS;
    for (size_t i = 0; i < ROUNDS; i++)
        square += (rounds[i] - mean) * (rounds[i] - mean);
    qsort(rounds, ROUNDS, sizeof *rounds, compare);
    return (struct sample){rounds[ROUNDS / 2], sqrt(square / (ROUNDS - 1))};
}

/* The number of embeddings in a round, from the least time of one; finding it also warms up. */
static kg_status measure(struct sample *out, struct workload *workload, kg_embedder *embedder,
                         double least, kg_error *error) {
    double rounds[ROUNDS];
    double seconds = 0;
    size_t times = 1;
    KG_TRY(take_time(&seconds, workload, embedder, times, error));
    while (seconds < least) {
        times *= 2;
        KG_TRY(take_time(&seconds, workload, embedder, times, error));
    }
    for (size_t i = 0; i < ROUNDS; i++) {
        KG_TRY(take_time(&seconds, workload, embedder, times, error));
        rounds[i] = 1e6 * seconds / (double)times;
    }
    *out = summarize(rounds);
    return KG_OK;
}

static kg_status measure_point(struct point *point, double least, kg_error *error) {
    struct workload workload;
    kg_status status = KG_OK;
    KG_TRY(open_workload(&workload, point->facts, point->dim, error));
    for (size_t i = 0; i < SERIES && status == KG_OK; i++) {
        const char *name = all_series[i].aggregator;
        kg_aggregate_options options =
            kg__aggregate_defaults(name == NULL ? NULL : kg__aggregator_find(name));
        kg_embedder embedder;
        kg__embedder_open(&embedder, options, workload.params);
        status = measure(&point->samples[i], &workload, &embedder, least, error);
        kg__embedder_close(&embedder);
    }
    close_workload(&workload);
    return status;
}

static kg_status measure_all(struct point *points, size_t count, double least,
                             const kg_progress *progress, kg_error *error) {
    for (size_t i = 0; i < count; i++) {
        kg_progress_report report = {
            .stage = "measuring", .unit = "points", .done = i, .total = count};
        KG_TRY(kg__progress_tick(progress, &report, error));
        KG_TRY(measure_point(&points[i], least, error));
    }
    return KG_OK;
}

/* ---- Complexity ---- */

double experiment_fit_constant(const double *operations, const double *times, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += log(times[i] / operations[i]);
    return exp(sum / (double)count);
}

static double operations_at(const struct point *point, size_t series) {
    return all_series[series].operations((double)point->facts, (double)point->dim);
}

static kg_status fit_all(double *constants, const struct point *points, size_t count,
                         kg_error *error) {
    double *operations = kg__alloc(count, sizeof *operations);
    double *times = kg__alloc(count, sizeof *times);
    bool good = operations != NULL && times != NULL;
    for (size_t series = 0; series < SERIES && good; series++) {
        for (size_t i = 0; i < count; i++) {
            operations[i] = operations_at(&points[i], series);
            times[i] = points[i].samples[series].median;
        }
        constants[series] = experiment_fit_constant(operations, times, count);
    }
    kg__free(operations);
    kg__free(times);
    return good ? KG_OK : kg__fail_memory(error);
}

/* ---- The report ---- */

/* The array of make(0) up to make(count - 1). NULL, as below, if memory is short. */
static json_t *make_array(size_t count, json_t *(*make)(const void *context, size_t i),
                          const void *context) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, make(context, i)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* Points along one coordinate. */
struct line {
    const struct point *points;
    size_t count;
    bool is_over_facts; /* or over widths */
    const double *constants;
};

static size_t coordinate(const struct line *line, size_t i) {
    return line->is_over_facts ? line->points[i].facts : line->points[i].dim;
}

static json_t *make_title(const struct line *line) {
    return line->is_over_facts
               ? json_sprintf("Microseconds to embed one entity, d = %zu", line->points->dim)
               : json_sprintf("Microseconds to embed one entity from %zu facts",
                              line->points->facts);
}

static json_t *make_column(const void *context, size_t i) {
    (void)context;
    return json_pack("{ss si}", "label", all_series[i].name, "digits", 2);
}

static json_t *make_cell(const void *context, size_t i) {
    const struct point *point = context;
    return json_pack("{sf sf}", "value", point->samples[i].median, "sd",
                     point->samples[i].deviation);
}

static json_t *make_row(const void *context, size_t i) {
    const struct line *line = context;
    return json_pack("{so so}", "label", json_sprintf("%zu", coordinate(line, i)), "cells",
                     make_array(SERIES, make_cell, &line->points[i]));
}

static json_t *make_table(const struct line *line) {
    return json_pack("{so ss so so}", "title", make_title(line), "head",
                     line->is_over_facts ? "facts" : "width", "columns",
                     make_array(SERIES, make_column, NULL), "rows",
                     make_array(line->count, make_row, line));
}

static json_t *make_law_row(const void *context, size_t i) {
    const double *constants = context;
    return json_pack("{so s[{sf}]}", "label",
                     json_sprintf("%s: %s", all_series[i].name, all_series[i].law), "cells",
                     "value", 1e3 * constants[i]);
}

static json_t *make_law_table(const double *constants) {
    return json_pack("{ss ss s[{ss si}] so}", "title", "What one operation of each law takes",
                     "head", "law", "columns", "label", "nanoseconds", "digits", 4, "rows",
                     make_array(SERIES, make_law_row, constants));
}

/* A series along a line, as measured or as its complexity predicts. */
struct curve {
    const struct line *line;
    size_t series;
    bool is_law;
};

static json_t *make_curve_point(const void *context, size_t i) {
    const struct curve *curve = context;
    const struct point *point = &curve->line->points[i];
    double y = curve->is_law
                   ? curve->line->constants[curve->series] * operations_at(point, curve->series)
                   : point->samples[curve->series].median;
    return json_pack("[If]", (json_int_t)coordinate(curve->line, i), y);
}

static json_t *make_curve(const void *context, size_t i) {
    const struct line *line = context;
    struct curve curve = {line, i / 2, i % 2 == 1};
    const struct series *series = &all_series[curve.series];
    return json_pack("{ss ss so}", "name", curve.is_law ? series->law : series->name, "style",
                     curve.is_law ? "dashed" : "points", "points",
                     make_array(line->count, make_curve_point, &curve));
}

static json_t *make_plot(const struct line *line) {
    return json_pack(
        "{ss so ss ss sb sb so}", "name",
        line->is_over_facts ? "complexity-facts" : "complexity-width", "title", make_title(line),
        "x", line->is_over_facts ? "facts of the new entity" : "dimension of the embeddings", "y",
        "microseconds", "log_x", 1, "log_y", 1, "series", make_array(2 * SERIES, make_curve, line));
}

static void place_points(struct point *points, const experiment_timing_options *options) {
    for (size_t i = 0; i < options->fact_count; i++)
        *points++ = (struct point){.facts = options->facts[i], .dim = options->dim};
    for (size_t i = 0; i < options->dim_count; i++)
        *points++ = (struct point){.facts = options->entity_facts, .dim = options->dims[i]};
}

kg_status experiment_measure_embedding(json_t **out, const experiment_timing_options *options,
                                       const kg_progress *progress, kg_error *error) {
    size_t count = options->fact_count + options->dim_count;
    double constants[SERIES];
    kg_status status = KG_OK;
    *out = NULL;
    KG_TRY(kg__linear_set_up(1, error));
    struct point *points = kg__alloc(count, sizeof *points);
    if (points == NULL)
        return kg__fail_memory(error);
    place_points(points, options);
    KG_CHECK(measure_all(points, count, options->seconds, progress, error));
    KG_CHECK(fit_all(constants, points, count, error));
    struct line over_facts = {points, options->fact_count, true, constants};
    struct line over_width = {points + options->fact_count, options->dim_count, false, constants};
    *out = json_pack("{s[ooo] s[oo]}", "tables", make_table(&over_facts), make_table(&over_width),
                     make_law_table(constants), "plots", make_plot(&over_facts),
                     make_plot(&over_width));
    if (*out == NULL)
        status = kg__fail_memory(error);
done:
    kg__free(points);
    return status;
}
