/* kgraft check: whether a model, a data set or a checkpoint is as it was written. */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

struct settings {
    cli_common common;
};

static const cli_option options[] = {CLI_JSON, CLI_QUIET, CLI_END};

/* What has been found so far. */
struct findings {
    const cli_context *context;
    json_t *files;
    bool is_broken; /* memory was short */
    size_t count;
    size_t damaged;
    size_t unverified;
    uint64_t bytes;
    uint64_t numbers;
};

static const char *state_of(const kg_checked_file *file) {
    return file->problem != NULL ? "damaged" : file->is_verified ? "verified" : "unverified";
}

static void print(const kg_checked_file *file) {
    char shown[KG_ERROR_TEXT_MAX];
    printf("%-10s  %s\n", state_of(file), kg__show_controls(shown, sizeof shown, file->path));
    if (file->problem != NULL)
        printf("            %s\n", kg__show_controls(shown, sizeof shown, file->problem->message));
}

static void keep(struct findings *findings, const kg_checked_file *file) {
    const kg_error *problem = file->problem;
    json_t *item = json_pack(
        "{so ss sI sI so*}", "path", kg__json_text(file->path, strlen(file->path)), "state",
        state_of(file), "bytes", (json_int_t)file->bytes, "numbers", (json_int_t)file->numbers,
        "problem",
        problem == NULL ? NULL : kg__json_text(problem->message, strlen(problem->message)));
    if (json_array_append_new(findings->files, item) != 0)
        findings->is_broken = true;
}

static void on_file(void *payload, const kg_checked_file *file) {
    struct findings *findings = payload;
    findings->count++;
    findings->damaged += file->problem != NULL;
    findings->unverified += file->problem == NULL && !file->is_verified;
    findings->bytes += file->bytes;
    findings->numbers += file->numbers;
    if (findings->context->common->json) {
        keep(findings, file);
    } else {
        cli_bar_close(findings->context->bar);
        print(file);
    }
}

static kg_status print_json(const struct findings *findings, kg_error *error) {
    const char *path = findings->context->arguments[0];
    if (findings->is_broken)
        return kg__fail_memory(error);
    return cli_print_json(json_pack("{so sb sb sO}", "path", kg__json_text(path, strlen(path)),
                                    "whole", findings->damaged == 0, "verified",
                                    findings->damaged + findings->unverified == 0, "files",
                                    findings->files),
                          error);
}

static kg_status tell(const struct findings *findings, kg_error *error) {
    const cli_context *context = findings->context;
    if (context->common->json)
        return print_json(findings, error);
    if (findings->damaged == 0)
        cli_say(context, "%s: %s, %s, %s: no damage found%s", context->arguments[0],
                report_counted(findings->count, "file", "files").text,
                report_counted(findings->bytes, "byte", "bytes").text,
                report_counted(findings->numbers, "number", "numbers").text,
                findings->unverified == 0
                    ? ""
                    : " (what is unverified has no checksum that was recorded)");
    return cli_flush(error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    (void)payload;
    kg_error problem = {0};
    struct findings findings = {.context = context, .files = json_array()};
    if (findings.files == NULL)
        return kg__fail_memory(error);
    kg_status checked =
        kg_files_check(context->arguments[0], on_file, &findings, &context->progress, &problem);
    kg_status status = KG_OK;
    if (findings.count > 0)
        status = tell(&findings, error);
    json_decref(findings.files);
    if (status == KG_OK && checked != KG_OK) {
        *error = problem;
        status = checked;
    }
    return status;
}

static const struct settings defaults = {.common = {.quiet = false}};

const cli_command cli_check = {
    .name = "check",
    .usage = "PATH",
    .summary = "verify the checksums of a model, data set or checkpoint",
    .details =
        "All bytes are compared with the checksums that were recorded when they were written,\n"
        "and all numbers must be finite. Opening a model looks only at what it needs.",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
