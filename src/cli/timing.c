/* Points, each measured for every series, and what a report shows of them. */
#include "cli/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregate/aggregate.h"
#include "base/memory.h"
#include "base/random.h"
#include "math/linear.h"
#include "math/vector.h"

#define ENTITIES 10000 /* rows at least: more than the inner caches hold */
#define RELATIONS 50
#define ROUNDS 7

/* ---- The series ---- */

struct series {
    const char *name;
    const char *aggregator; /* NULL: as written */
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
    {"eravg", "eravg", "O(Nd)", mean_operations},
    {"ls", "ls", "O(N²d + N³), beyond N = d O(Nd² + d³)", smaller_operations},
    {"ls as written", NULL, "O(Nd² + d³)", primal_operations},
};

#define SERIES (sizeof all_series / sizeof all_series[0])

bool cli_embed_as_written(real *z, cli_written room, const kg_params *tables, const kg_link *links,
                          size_t count, double ridge) {
    size_t dim = tables->dim;
    memset(room.right, 0, dim * sizeof *room.right);
    for (size_t i = 0; i < count; i++) {
        const double one = 1;
        double *row = room.rows + i * dim;
        kg__query_vector(tables, room.row, links[i].directed,
                         kg__entity_row(tables, links[i].other));
        double length = kg__length(room.row, dim);
        for (size_t k = 0; k < dim; k++)
            row[k] = (double)room.row[k] / length;
        kg__add_wide(room.right, row, &one, 1, dim);
    }
    kg__gram_wide(room.square, room.rows, count, dim, false);
    for (size_t i = 0; i < dim; i++)
        room.square[i * dim + i] += ridge;
    if (!kg__factor_wide(room.square, dim))
        return false;
    kg__solve_wide(room.square, room.right, dim);
    for (size_t i = 0; i < dim; i++)
        z[i] = (real)room.right[i];
    return true;
}

/* ---- What is embedded ---- */

/* Unseen entities with the same number of facts. Several, so that their rows come from the whole
 * table and not always from the cache. */
struct scene {
    kg_params tables;
    real *entities;
    real *relations;
    kg_link *links; /* entity by entity */
    size_t entity_count;
    size_t facts; /* of each */
    cli_written room;
    real *z;
};

static void close_scene(struct scene *scene) {
    kg__free(scene->entities);
    kg__free(scene->relations);
    kg__free(scene->links);
    kg__free(scene->room.rows);
    kg__free(scene->room.square);
    kg__free(scene->room.right);
    kg__free(scene->room.row);
    kg__free(scene->z);
}

static void fill(real *values, size_t count, kg_stream stream) {
    for (size_t i = 0; i < count; i++)
        values[i] = (real)(2 * kg__random_unit(0, stream, i) - 1);
}

/* Each entity of the table is the other end of at most one link. As everywhere, an entity's links
 * are sorted by directed relation. */
static void fill_links(struct scene *scene, size_t rows) {
    for (size_t i = 0; i < scene->entity_count * scene->facts; i++) {
        size_t position = i % scene->facts;
        scene->links[i].directed = (kg_directed)(position * 2 * RELATIONS / scene->facts);
        scene->links[i].other = (kg_id)kg__random_permute(i, rows, 0, KG_STREAM_SHUFFLE, 0);
    }
}

static kg_status open_scene(struct scene *scene, size_t facts, size_t dim, kg_error *error) {
    size_t rows = facts > ENTITIES ? facts : ENTITIES;
    *scene = (struct scene){.facts = facts, .entity_count = rows / facts};
    scene->entities = kg__alloc(rows * dim, sizeof *scene->entities);
    scene->relations = kg__alloc(RELATIONS * dim, sizeof *scene->relations);
    scene->links = kg__alloc(rows, sizeof *scene->links);
    scene->room.rows = kg__alloc(facts * dim, sizeof *scene->room.rows);
    scene->room.square = kg__alloc(dim * dim, sizeof *scene->room.square);
    scene->room.right = kg__alloc(dim, sizeof *scene->room.right);
    scene->room.row = kg__alloc(dim, sizeof *scene->room.row);
    scene->z = kg__alloc(dim, sizeof *scene->z);
    if (scene->entities == NULL || scene->relations == NULL || scene->links == NULL ||
        scene->room.rows == NULL || scene->room.square == NULL || scene->room.right == NULL ||
        scene->room.row == NULL || scene->z == NULL) {
        close_scene(scene);
        return kg__fail_memory(error);
    }
    scene->tables = (kg_params){.scoring = kg__scoring_find("distmult"),
                                .entities = scene->entities,
                                .relations = scene->relations,
                                .dim = dim};
    fill(scene->entities, rows * dim, KG_STREAM_INIT_ENTITIES);
    fill(scene->relations, RELATIONS * dim, KG_STREAM_INIT_RELATIONS);
    fill_links(scene, rows);
    return KG_OK;
}

/* ---- Measuring ---- */

/* Microseconds of one embedding: the median of the rounds, and how far they spread. */
struct sample {
    double median;
    double deviation;
};

struct point {
    size_t facts;
    size_t dim;
    struct sample samples[SERIES];
};

static kg_status embed(struct scene *scene, kg_aggregate *aggregate, const kg_link *links,
                       kg_error *error) {
    if (aggregate->options.aggregator == NULL)
        return cli_embed_as_written(scene->z, scene->room, &scene->tables, links, scene->facts,
                                    KG_LS_LAMBDA)
                   ? KG_OK
                   : kg_fail(error, KG_SYSTEM, "expected a system that can be solved");
    KG_TRY(kg__aggregate_load(aggregate, links, scene->facts, 0, error));
    kg__aggregate_forward(aggregate, scene->z, (kg_left_out){NULL, 0});
    return KG_OK;
}

/* Of the processor for this thread: what others do meanwhile is no part of it. */
static double spent_seconds(void) {
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (double)spent.tv_sec + 1e-9 * (double)spent.tv_nsec;
}

/* The seconds that a number of embeddings take. */
static kg_status take_time(double *seconds, struct scene *scene, kg_aggregate *aggregate,
                           size_t times, kg_error *error) {
    double started = spent_seconds();
    for (size_t i = 0; i < times; i++)
        KG_TRY(
            embed(scene, aggregate, scene->links + i % scene->entity_count * scene->facts, error));
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

/* As many embeddings a round as the least time asks for; finding that out also warms up. */
static kg_status measure(struct sample *out, struct scene *scene, kg_aggregate *aggregate,
                         double least, kg_error *error) {
    double rounds[ROUNDS];
    double seconds = 0;
    size_t times = 1;
    KG_TRY(take_time(&seconds, scene, aggregate, times, error));
    while (seconds < least) {
        times *= 2;
        KG_TRY(take_time(&seconds, scene, aggregate, times, error));
    }
    for (size_t i = 0; i < ROUNDS; i++) {
        KG_TRY(take_time(&seconds, scene, aggregate, times, error));
        rounds[i] = 1e6 * seconds / (double)times;
    }
    *out = summarize(rounds);
    return KG_OK;
}

static kg_status measure_point(struct point *point, double least, kg_error *error) {
    struct scene scene;
    kg_status status = KG_OK;
    KG_TRY(open_scene(&scene, point->facts, point->dim, error));
    for (size_t i = 0; i < SERIES && status == KG_OK; i++) {
        const char *name = all_series[i].aggregator;
        kg_aggregate_options options =
            kg__aggregate_usual(name == NULL ? NULL : kg__aggregator_find(name));
        kg_aggregate aggregate;
        kg__aggregate_open(&aggregate, options, scene.tables);
        status = measure(&point->samples[i], &scene, &aggregate, least, error);
        kg__aggregate_close(&aggregate);
    }
    close_scene(&scene);
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

/* ---- The laws ---- */

double cli_fit_constant(const double *operations, const double *times, size_t count) {
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
        constants[series] = cli_fit_constant(operations, times, count);
    }
    kg__free(operations);
    kg__free(times);
    return good ? KG_OK : kg__fail_memory(error);
}

/* ---- The report ---- */

/* The array of what `make` gives for 0 up to `count`. NULL, as below, if memory is short. */
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

/* Points of which one coordinate changes. */
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

/* A series along a line, as measured or by its law. */
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
        "x", line->is_over_facts ? "facts of the new entity" : "width of the embeddings", "y",
        "microseconds", "log_x", 1, "log_y", 1, "series", make_array(2 * SERIES, make_curve, line));
}

static void place_points(struct point *points, const cli_timing_options *options) {
    for (size_t i = 0; i < options->fact_count; i++)
        *points++ = (struct point){.facts = options->facts[i], .dim = options->dim};
    for (size_t i = 0; i < options->dim_count; i++)
        *points++ = (struct point){.facts = options->entity_facts, .dim = options->dims[i]};
}

kg_status cli_measure_embedding(json_t **out, const cli_timing_options *options,
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
