/* kgraft embed: the vectors of new entities, or of a known one. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/inference.h"
#include "exchange/npy.h"
#include "exchange/row_text.h"

struct settings {
    cli_common common;
    cli_inference_options inference;
    const char *out;
    const char *relation; /* NULL: no query in particular */
    const char *side;
    bool force;
};

static const char *const sides[] = {"head", "tail", NULL};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "out",
     .argument = "FILE",
     .kind = CLI_TEXT,
     .offset = SETTING(out),
     .help = "a .tsv or .npy file, or - for standard output (default: -)"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = SETTING(force),
     .help = "replace the file if there is one"},
    CLI_ENTITY(SETTING(inference.entity)),
    {.name = "relation",
     .argument = "NAME",
     .kind = CLI_TEXT,
     .offset = SETTING(relation),
     .help = "graft: the vectors for queries about this relation (default: for none)"},
    {.name = "side",
     .argument = "SIDE",
     .kind = CLI_CHOICE,
     .offset = SETTING(side),
     .help = "the end that such queries ask for: head or tail (default: tail)",
     .choices = sides},
    CLI_OVERRIDE_OPTIONS(SETTING(inference.overrides)),
    CLI_SKIP_UNKNOWN(struct settings),
    CLI_QUIET,
    CLI_END,
};

#define TSV ".tsv"
#define NPY ".npy"
#define NAMES ".names.tsv"

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text);
    size_t end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* The vectors of all entities, a row for each, and their names. */
struct vectors {
    float *values;
    size_t rows;
    size_t dim;
    kg_names names;
};

static void free_vectors(struct vectors *vectors) {
    kg__free(vectors->values);
    kg__names_free(&vectors->names);
}

/* The query that vectors are for. */
static kg_status find_query(kg_directed *out, const cli_inference *inference,
                            const struct settings *settings, kg_error *error) {
    kg_id relation = KG_NO_ID;
    *out = KG_NO_QUERY;
    if (settings->relation == NULL)
        return KG_OK;
    KG_TRY(
        cli_inference_find_relation(inference, &relation, "relation", settings->relation, error));
    *out = kg_direct(relation, strcmp(settings->side, "tail") == 0 ? KG_HEAD : KG_TAIL);
    return KG_OK;
}

static kg_status embed(struct vectors *vectors, const cli_inference *inference, kg_directed asked,
                       cli_context *context, kg_error *error) {
    vectors->rows = inference->count;
    vectors->dim = kg__model_describe(inference->model).dim;
    vectors->values = kg__alloc(vectors->rows * vectors->dim, sizeof *vectors->values);
    if (vectors->values == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < vectors->rows; i++) {
        cli_subject subject;
        kg_id id = KG_NO_ID;
        kg_progress_report report = {
            .stage = "embedding", .unit = "entities", .done = i, .total = vectors->rows};
        KG_TRY(kg__progress_tick(&context->progress, &report, error));
        KG_TRY(cli_inference_subject(inference, i, &subject, error));
        KG_TRY(kg__names_intern(&vectors->names, &id,
                                kg__name_of(subject.name.bytes, subject.name.length), error));
        KG_TRY(kg_workspace_embed(vectors->values + i * vectors->dim, inference->workspace,
                                  subject.subject, asked, error));
    }
    return KG_OK;
}

static kg_status write_tsv(kg_output *output, const struct vectors *vectors, kg_error *error) {
    for (size_t i = 0; i < vectors->rows; i++) {
        kg_name name = kg__names_get(&vectors->names, (kg_id)i);
        KG_TRY(kg__output_write(output, name.bytes, name.length, error));
        KG_TRY(kg__output_write(output, "\t", 1, error));
        KG_TRY(kg__row_text_write(output, vectors->values + i * vectors->dim, vectors->dim, '\t',
                                  error));
        KG_TRY(kg__output_write(output, "\n", 1, error));
    }
    return KG_OK;
}

static kg_status save_tsv(const char *path, const struct vectors *vectors, kg_error *error) {
    kg_output *output = NULL;
    KG_TRY(kg__output_open(&output, path, path, error));
    kg_status status = write_tsv(output, vectors, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    return status;
}

/* vectors.npy has its names in vectors.names.tsv. NULL if memory is short. */
static char *names_path(const char *path) {
    size_t stem = strlen(path) - strlen(NPY);
    size_t size = stem + sizeof NAMES;
    char *out = kg__alloc(size, 1);
    if (out != NULL)
        snprintf(out, size, "%.*s%s", (int)stem, path, NAMES);
    return out;
}

/* The facts themselves are not replaced at all, by whatever name. */
static kg_status check_file(const char *path, const char *facts, bool force, kg_error *error) {
    KG_TRY(cli_check_apart("out", path, facts, error));
    return kg__output_check(path, force, error);
}

static kg_status check_out(const struct settings *settings, const char *facts, kg_error *error) {
    const char *out = settings->out;
    bool is_npy = ends_with(out, NPY);
    if (strcmp(out, "-") != 0 && !ends_with(out, TSV) && !is_npy)
        return kg_fail(error, KG_BAD_INPUT,
                       "--out: expected a name that ends in " TSV " or " NPY ", or -, found %s",
                       kg__quote(out, strlen(out)).text);
    KG_TRY(check_file(out, facts, settings->force, error));
    char *beside = is_npy ? names_path(out) : NULL;
    kg_status status = KG_OK;
    if (is_npy)
        status = beside == NULL ? kg__fail_memory(error)
                                : check_file(beside, facts, settings->force, error);
    kg__free(beside);
    return status;
}

/* Both files are written before either is put in its place. */
static kg_status save_npy(const char *path, const struct vectors *vectors, kg_error *error) {
    kg_output *matrix = NULL;
    kg_output *names = NULL;
    char *beside = names_path(path);
    kg_status status = KG_OK;
    if (beside == NULL)
        return kg__fail_memory(error);
    KG_CHECK(kg__output_open(&matrix, path, path, error));
    KG_CHECK(kg__npy_write(matrix, vectors->values, vectors->rows, vectors->dim, error));
    KG_CHECK(kg__output_open(&names, beside, beside, error));
    KG_CHECK(kg__names_write(names, &vectors->names, vectors->rows, error));
    KG_CHECK(kg__output_finish(matrix, error));
    KG_CHECK(kg__output_commit(names, error));
    KG_CHECK(kg__output_commit(matrix, error));
done:
    kg__output_close(names);
    kg__output_close(matrix);
    kg__free(beside);
    return status;
}

static kg_status save(const char *path, const struct vectors *vectors, kg_error *error) {
    return ends_with(path, NPY) ? save_npy(path, vectors, error) : save_tsv(path, vectors, error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    const char *out = settings->out;
    cli_inference inference = {0};
    struct vectors vectors = {0};
    kg_directed asked = KG_NO_QUERY;
    kg_status status = KG_OK;
    KG_TRY(check_out(settings, context->arguments[context->argument_count - 1], error));
    KG_CHECK(cli_inference_open(&inference, &settings->inference, 1, context, error));
    KG_CHECK(find_query(&asked, &inference, settings, error));
    KG_CHECK(embed(&vectors, &inference, asked, context, error));
    cli_bar_close(context->bar);
    KG_CHECK(save(out, &vectors, error));
done:
    free_vectors(&vectors);
    cli_inference_close(&inference);
    return status;
}

static const struct settings defaults = {
    .inference = CLI_INFERENCE_DEFAULTS, .out = "-", .side = "tail"};

const cli_command cli_embed = {
    .name = "embed",
    .usage = "MODEL [FACTS]",
    .summary = "write the vectors of new entities, or of a known one",
    .details =
        "FACTS is a file of head, relation and tail in which one end of each fact is new to\n"
        "MODEL: TSV (- is standard input), or RDF if its name ends in .nt, .ttl, .nq or .trig.\n"
        "Without it, --entity names one that is known. MODEL may be a store.",
    .min_arguments = 1,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
