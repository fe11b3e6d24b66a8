/* kgraft adopt: a model directory of embeddings that were trained elsewhere. */
#include <string.h>

#include "aggregate/aggregate.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "graph/reader.h"
#include "model/folder.h"
#include "model/foreign.h"
#include "model/row_names.h"

#define TICK_ROWS 4096

struct settings {
    cli_common common;
    const char *entities;
    const char *relations;
    const char *entity_names;
    const char *relation_names;
    const char *model;
    const char *layout; /* NULL: as the file suggests */
    const char *known;
    const char *aggregate;
    bool force;
};

static const char *const models[] = {"distmult", "simple", "complex", "quate", NULL};
static const char *const layouts[] = {"halves", "interleaved", NULL}; /* as kg_layout has them */

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {"entities", "FILE", CLI_TEXT, SETTING(entities),
     "a row for each entity: .npy, or .safetensors[#TENSOR]", NULL},
    {"relations", "FILE", CLI_TEXT, SETTING(relations), "a row for each relation, likewise", NULL},
    {"entity-names", "FILE", CLI_TEXT, SETTING(entity_names),
     "names of the rows: one a line, or ids and names", NULL},
    {"relation-names", "FILE", CLI_TEXT, SETTING(relation_names), "likewise", NULL},
    {"model", "NAME", CLI_CHOICE, SETTING(model), "distmult, simple, complex or quate", models},
    {"complex-layout", "KIND", CLI_CHOICE, SETTING(layout),
     "complex, quate: parts in halves or interleaved (default: halves)", layouts},
    {"known", "FILE", CLI_TEXT, SETTING(known), "facts that are known already, as TSV", NULL},
    {"aggregate", "NAME", CLI_CHOICE, SETTING(aggregate),
     "eavg, eravg, ls, ls-u or ials (default: eravg)", kg_aggregator_names},
    {"force", NULL, CLI_FLAG, SETTING(force), "replace MODEL if it is a model already", NULL},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* A table on its way: what it comes from, and its values as we have them. */
struct table {
    kg_foreign from;
    kg_names names;
    const real *values; /* in the file, or `copy` */
    real *copy;
    size_t zero_rows;
};

static void free_table(struct table *table) {
    kg_foreign_close(&table->from);
    kg_names_free(&table->names);
    kg_free(table->copy);
}

/* ---- What is asked for ---- */

/* What is needed stands before all else, in the table of options as in the settings. */
static kg_status check_given(const struct settings *settings, kg_error *error) {
    for (const cli_option *option = options; option->offset <= SETTING(model); option++)
        if (*(const char *const *)((const char *)settings + option->offset) == NULL)
            return kg_fail(error, KG_BAD_INPUT, "expected --%s %s, found none", option->name,
                           option->argument);
    return KG_OK;
}

static kg_status check(const struct settings *settings, kg_error *error) {
    KG_TRY(check_given(settings, error));
    bool has_layout =
        strcmp(settings->model, "complex") == 0 || strcmp(settings->model, "quate") == 0;
    if (settings->layout != NULL && !has_layout)
        return kg_fail(error, KG_BAD_INPUT,
                       "--complex-layout: expected --model complex or quate, found %s",
                       settings->model);
    kg_aggregate_options aggregate = kg_aggregate_usual(kg_aggregator_find(settings->aggregate));
    return kg_aggregate_check(&aggregate, kg_kind_find(settings->model), error);
}

/* How the parts of a matrix lie: complex numbers of the file's own are together. */
static kg_status choose_layout(kg_layout *out, const kg_foreign *from,
                               const struct settings *settings, kg_error *error) {
    const char *layout = settings->layout;
    if (from->matrix.is_complex && strcmp(settings->model, "complex") != 0)
        return kg_fail_at(error, from->path, 0, 0,
                          "expected real numbers for %s, found complex ones", settings->model);
    if (from->matrix.is_complex && layout != NULL && strcmp(layout, "halves") == 0)
        return kg_fail_at(error, from->path, 0, 0,
                          "expected --complex-layout interleaved or none for complex numbers, "
                          "found halves");
    if (layout == NULL)
        layout = from->matrix.is_complex ? "interleaved" : "halves";
    *out = (kg_layout)cli_choice(layouts, layout);
    return KG_OK;
}

/* ---- Tables ---- */

static kg_status check_width(const struct table *entities, const struct table *relations,
                             const kg_kind *kind, kg_error *error) {
    size_t width = kg_matrix_width(&entities->from.matrix);
    size_t other = kg_matrix_width(&relations->from.matrix);
    if (width != other)
        return kg_fail_at(error, relations->from.path, 0, 0,
                          "expected rows of %zu numbers, as entities have, found %zu", width,
                          other);
    if (width % kind->parts != 0)
        return kg_fail_at(error, entities->from.path, 0, 0,
                          "expected rows of a multiple of %zu numbers for %s, found %zu",
                          kind->parts, kind->name, width);
    return KG_OK;
}

static bool is_zero(const real *row, size_t width) {
    for (size_t i = 0; i < width; i++)
        if (row[i] != 0)
            return false;
    return true;
}

/* Converts all rows. Those that lie in the file as we want them are only looked at. */
static kg_status convert(struct table *table, const kg_kind *kind, kg_layout layout,
                         const kg_progress *progress, kg_error *error) {
    const kg_matrix *matrix = &table->from.matrix;
    size_t width = kg_matrix_width(matrix);
    bool in_place = layout == KG_HALVES && kg_matrix_values(matrix) != NULL;
    table->copy = kg_alloc(in_place ? 1 : matrix->rows, width * sizeof *table->copy);
    if (table->copy == NULL)
        return kg_fail_memory(error);
    for (size_t i = 0; i < matrix->rows; i++) {
        real *row = table->copy + (in_place ? 0 : i * width);
        kg_progress_report report = {"checking rows", "rows", i, matrix->rows, NULL};
        if (i % TICK_ROWS == 0)
            KG_TRY(kg_progress_tick(progress, &report, error));
        KG_TRY(kg_matrix_row(matrix, row, i, kind->parts, layout, table->from.path, error));
        table->zero_rows += is_zero(row, width);
    }
    table->values = in_place ? kg_matrix_values(matrix) : table->copy;
    return KG_OK;
}

static kg_status read_names(struct table *table, const char *path, kg_error *error) {
    kg_input *input = NULL;
    KG_TRY(kg_input_open(&input, path, KG_ANY_CODING, error));
    kg_status status = kg_row_names_read(&table->names, input, table->from.matrix.rows, error);
    kg_input_close(input);
    return status;
}

static kg_status open_tables(struct table *entities, struct table *relations,
                             const struct settings *settings, const kg_progress *progress,
                             kg_error *error) {
    const kg_kind *kind = kg_kind_find(settings->model);
    kg_layout layout = KG_HALVES;
    KG_TRY(kg_foreign_open(&entities->from, settings->entities, "entities", error));
    KG_TRY(kg_foreign_open(&relations->from, settings->relations, "relations", error));
    KG_TRY(check_width(entities, relations, kind, error));
    KG_TRY(read_names(entities, settings->entity_names, error));
    KG_TRY(read_names(relations, settings->relation_names, error));
    KG_TRY(choose_layout(&layout, &entities->from, settings, error));
    KG_TRY(convert(entities, kind, layout, progress, error));
    KG_TRY(choose_layout(&layout, &relations->from, settings, error));
    return convert(relations, kind, layout, progress, error);
}

/* ---- The model ---- */

static kg_status read_known(kg_dataset *dataset, const char *path, const kg_progress *progress,
                            kg_error *error) {
    kg_reader reader = {.dataset = dataset, .progress = progress};
    kg_input *input = NULL;
    KG_TRY(kg_input_open(&input, path, KG_ANY_CODING, error));
    kg_status status = kg_read_tsv(&reader, input, error);
    kg_input_close(input);
    return status;
}

/* The options that name files, and the layout. */
static json_t *describe_sources(const struct settings *settings) {
    json_t *out = json_object();
    for (const cli_option *option = options; option->offset < SETTING(aggregate); option++) {
        const char *value = *(const char *const *)((const char *)settings + option->offset);
        if (value == NULL || option->offset == SETTING(model))
            continue;
        if (json_object_set_new(out, option->name, kg_json_text(value, strlen(value))) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *make_config(const struct settings *settings, const kg_dataset *dataset, size_t dim) {
    return json_pack("{ss sI sI s{ss sI ss} so}", "version", kg_version(), "entities",
                     (json_int_t)kg_dataset_in_sample(dataset), "relations",
                     (json_int_t)dataset->in_sample_relations, "settings", "model", settings->model,
                     "dim", (json_int_t)dim, "aggregate", settings->aggregate, "adopted",
                     describe_sources(settings));
}

static kg_status write_model(const struct table *entities, const struct table *relations,
                             const kg_dataset *dataset, const struct settings *settings,
                             kg_folder *folder, kg_error *error) {
    size_t dim = kg_matrix_width(&entities->from.matrix);
    const kg_tables tables = {.kind = kg_kind_find(settings->model),
                              .entities = entities->values,
                              .relations = relations->values,
                              .dim = dim};
    json_t *config = make_config(settings, dataset, dim);
    if (config == NULL)
        return kg_fail_memory(error);
    const kg_model_parts parts = {.tables = &tables, .dataset = dataset, .config = config};
    kg_status status = kg_model_folder_fill(folder, &parts, error);
    json_decref(config);
    return status;
}

static void say_zero_rows(const cli_context *context, const struct table *table, const char *one,
                          const char *many) {
    if (table->zero_rows > 0)
        cli_say(context, "rows of zeros: %s", cli_counted(table->zero_rows, one, many).text);
}

static kg_status show(const struct table *entities, const struct table *relations,
                      const kg_dataset *dataset, const cli_context *context, kg_error *error) {
    size_t dim = kg_matrix_width(&entities->from.matrix);
    size_t known = dataset->parts[KG_TRAIN].count;
    say_zero_rows(context, entities, "entity", "entities");
    say_zero_rows(context, relations, "relation", "relations");
    cli_say(context, "%s: %s, %s, %zu numbers each, %s", context->arguments[0],
            cli_counted(dataset->entities.count, "entity", "entities").text,
            cli_counted(dataset->relations.count, "relation", "relations").text, dim,
            cli_counted(known, "known fact", "known facts").text);
    if (!context->common->json)
        return KG_OK;
    return cli_print_json(
        json_pack("{sI sI sI sI s{sI sI}}", "entities", (json_int_t)dataset->entities.count,
                  "relations", (json_int_t)dataset->relations.count, "dim", (json_int_t)dim,
                  "known", (json_int_t)known, "zero_rows", "entities",
                  (json_int_t)entities->zero_rows, "relations", (json_int_t)relations->zero_rows),
        error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    struct table entities = {0};
    struct table relations = {0};
    kg_dataset dataset = {0};
    kg_folder *folder = NULL;
    kg_status status = KG_OK;
    KG_CHECK(check(settings, error));
    KG_CHECK(kg_model_folder_start(&folder, context->arguments[0], settings->force, error));
    KG_CHECK(open_tables(&entities, &relations, settings, &context->progress, error));
    KG_CHECK(kg_dataset_open_named(&dataset, &entities.names, &relations.names, error));
    if (settings->known != NULL)
        KG_CHECK(read_known(&dataset, settings->known, &context->progress, error));
    KG_CHECK(kg_dataset_finish(&dataset, error));
    KG_CHECK(write_model(&entities, &relations, &dataset, settings, folder, error));
    KG_CHECK(kg_folder_commit(folder, error));
    status = show(&entities, &relations, &dataset, context, error);
done:
    kg_folder_close(folder);
    kg_dataset_close(&dataset);
    free_table(&entities);
    free_table(&relations);
    return status;
}

static const struct settings defaults = {.aggregate = "eravg"};

const cli_command cli_adopt = {
    .name = "adopt",
    .usage = "MODEL",
    .summary = "make a model directory of embeddings trained elsewhere",
    .details =
        "The first five options are needed. Their files may be as DGL-KE, LibKGE, PyKEEN or\n"
        "OpenKE leave them, or as kgraft export makes them.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
