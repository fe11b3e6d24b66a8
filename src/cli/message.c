/* Messages of commands on stderr, results on stdout. */
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

static void print_message(const cli_context *context, const char *format, va_list arguments) {
    cli_bar_close(context->bar);
    char text[KG_ERROR_TEXT_MAX];
    char shown[KG_ERROR_TEXT_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "%s\n", kg__show_controls(shown, sizeof shown, text));
}

void cli_say(const cli_context *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!context->common->quiet)
        print_message(context, format, arguments);
    va_end(arguments);
}

void cli_warn(const cli_context *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message(context, format, arguments);
    va_end(arguments);
}

/* The library's messages have its settings in backquotes, with underscores; here they are options.
 */
static void name_options(char *message, size_t size) {
    static const struct {
        const char *setting;
        const char *option;
    } others[] = {
        {.setting = "entity", .option = "entity NAME"},
        {.setting = "replace", .option = "force"},
    };
    char from[sizeof((kg_error *)0)->message];
    size_t used = 0;
    snprintf(from, sizeof from, "%s", message);
    for (const char *at = from; *at != '\0' && used + 1 < size;) {
        size_t length = *at == '`' ? strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
        bool is_setting = length > 0 && at[length + 1] == '`';
        if (!is_setting) {
            message[used++] = *at++;
            continue;
        }
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)length, at + 1);
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '_' ? '-' : *c;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (strcmp(name, others[i].setting) == 0)
                snprintf(name, sizeof name, "%s", others[i].option);
        used += (size_t)snprintf(message + used, size - used, "--%s", name);
        at += length + 2;
    }
    message[used < size ? used : size - 1] = '\0';
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
