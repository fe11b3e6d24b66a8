/* kgraft embed: the vectors of new entities. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/grafting.h"

struct settings {
    cli_common common;
    cli_grafting grafting;
    const char *out;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {"out", "FILE", CLI_TEXT, SETTING(out), "a .tsv file, or - for standard output (default: -)",
     NULL},
    {"entity", "NAME", CLI_TEXT, SETTING(grafting.entity), "one of the new entities", NULL},
    CLI_GRAFT_AGGREGATE(struct settings),
    CLI_GRAFT_LS_LAMBDA(struct settings),
    CLI_GRAFT_LS_ROWS(struct settings),
    CLI_GRAFT_SKIP_UNKNOWN(struct settings),
    CLI_QUIET,
    CLI_END,
};

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text);
    size_t end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static kg_status write_row(kg_output *output, kg_text name, const float *vector, size_t dim,
                           kg_error *error) {
    KG_TRY(kg_output_write(output, name.bytes, name.length, error));
    for (size_t k = 0; k < dim; k++) {
        char number[32];
        int length = snprintf(number, sizeof number, "\t%.9g", (double)vector[k]);
        KG_TRY(kg_output_write(output, number, (size_t)length, error));
    }
    return kg_output_write(output, "\n", 1, error);
}

static kg_status write_rows(kg_output *output, const cli_graft *graft, float *vector, size_t dim,
                            kg_error *error) {
    for (size_t i = 0; i < graft->count; i++) {
        cli_subject subject;
        KG_TRY(cli_graft_subject(graft, i, &subject, error));
        KG_TRY(kg_embed(graft->workspace, vector, subject.subject, error));
        KG_TRY(write_row(output, subject.name, vector, dim, error));
    }
    return KG_OK;
}

static kg_status write_tsv(const cli_graft *graft, const char *path, kg_error *error) {
    size_t dim = kg_describe(graft->model).dim;
    kg_output *output = NULL;
    float *vector = kg_alloc(dim, sizeof *vector);
    if (vector == NULL)
        return kg_fail_memory(error);
    kg_status status = KG_OK;
    KG_CHECK(kg_output_open(&output, path, path, error));
    KG_CHECK(write_rows(output, graft, vector, dim, error));
    KG_CHECK(kg_output_commit(output, error));
done:
    kg_output_close(output);
    kg_free(vector);
    return status;
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    cli_graft graft;
    if (strcmp(settings->out, "-") != 0 && !ends_with(settings->out, ".tsv"))
        return kg_fail(error, KG_BAD_INPUT,
                       "--out: expected a name that ends in .tsv, or -, found %s",
                       kg_quote(settings->out, strlen(settings->out)).text);
    KG_TRY(cli_graft_open(&graft, &settings->grafting, 1, context, error));
    kg_status status = write_tsv(&graft, settings->out, error);
    cli_graft_close(&graft);
    return status;
}

static const struct settings defaults = {.grafting = CLI_GRAFTING_DEFAULTS, .out = "-"};

const cli_command cli_embed = {
    .name = "embed",
    .usage = "MODEL FACTS",
    .summary = "write the vectors of new entities",
    .details = "FACTS is a TSV file of head, relation and tail (- is standard input) in which one\n"
               "end of each fact is new to MODEL.",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
