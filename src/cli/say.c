/* What commands have to say: lines for people on stderr, results on stdout. */
#include <stdarg.h>

#include "base/text.h"
#include "cli/cli.h"

void cli_say(const cli_context *context, const char *format, ...) {
    if (context->common->quiet)
        return;
    kg_bar_close(context->bar);
    char text[KG_ERROR_TEXT_MAX];
    char shown[KG_ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", kg_show_controls(shown, sizeof shown, text));
}

kg_status cli_flush(kg_error *error) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return KG_OK;
    return kg_fail_errno(error, "standard output", "write to it");
}

kg_status cli_print_json(json_t *value, kg_error *error) {
    if (value == NULL)
        return kg_fail_memory(error);
    kg_output *output = NULL;
    kg_status status = kg_output_open(&output, "-", "-", error);
    if (status == KG_OK)
        status = kg_json_write(value, output, error);
    if (status == KG_OK)
        status = kg_output_commit(output, error);
    kg_output_close(output);
    json_decref(value);
    return status;
}
