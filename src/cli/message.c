/* What commands have to say: lines for people on stderr, results on stdout. */
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

static void say(const cli_context *context, const char *format, va_list arguments) {
    kg__bar_close(context->bar);
    char text[KG_ERROR_TEXT_MAX];
    char shown[KG_ERROR_TEXT_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "%s\n", kg__show_controls(shown, sizeof shown, text));
}

void cli_say(const cli_context *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!context->common->quiet)
        say(context, format, arguments);
    va_end(arguments);
}

void cli_warn(const cli_context *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(context, format, arguments);
    va_end(arguments);
}

/* The library's messages have its settings in backquotes; here they are options. */
static void name_options(char *message, size_t size) {
    static const char *const names[][2] = {
        {"`entity`", "--entity NAME"},
        {"`format`", "--format"},
        {"`literals`", "--literals"},
        {"`replace`", "--force"},
        {"`resume`", "--resume"},
        {"`skip_blank`", "--skip-blank"},
        {"`skip_unknown`", "--skip-unknown"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(message, names[i][0]);
        if (at == NULL)
            continue;
        char behind[sizeof((kg_error *)0)->message];
        snprintf(behind, sizeof behind, "%s", at + strlen(names[i][0]));
        size_t before = (size_t)(at - message);
        snprintf(message + before, size - before, "%s%s", names[i][1], behind);
    }
}

void cli_print_error(const kg_error *error) {
    char text[KG_ERROR_TEXT_MAX];
    kg_error named = *error;
    name_options(named.message, sizeof named.message);
    fprintf(stderr, "kgraft: %s\n", kg_error_text(text, sizeof text, &named));
}

kg_status cli_flush(kg_error *error) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return KG_OK;
    return kg__fail_errno(error, "standard output", "write to it");
}

kg_status cli_print_json(json_t *value, kg_error *error) {
    if (value == NULL)
        return kg__fail_memory(error);
    kg_output *output = NULL;
    kg_status status = kg__output_open(&output, "-", "-", error);
    if (status == KG_OK)
        status = kg__json_write(value, output, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    json_decref(value);
    return status;
}
