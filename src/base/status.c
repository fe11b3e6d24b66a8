/* Recording failures in the caller's kg_error, and showing them as one line. */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void kg__record(kg_error *error, kg_status status, const char *source, uint64_t line,
                uint64_t column, const char *format, ...) {
    if (error == NULL)
        return;
    error->status = status;
    error->line = line;
    error->column = column;
    snprintf(error->source, sizeof error->source, "%s", source);
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started in the line above */
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
}

kg_status kg__fail_errno(kg_error *error, const char *path, const char *action) {
    int code = errno;
    if (code == ENOMEM)
        return kg__fail_memory(error);
    if (code == EINTR)
        return kg_fail(error, KG_CANCELLED, "stopped");
    bool is_mistake = code == ENOENT || code == ENOTDIR || code == EISDIR || code == ENAMETOOLONG ||
                      code == ELOOP;
    kg_status status = is_mistake ? KG_BAD_INPUT : KG_SYSTEM;
    kg__record(error, status, path, 0, 0, "cannot %s: %s", action, strerror(code));
    return status;
}

void kg__error_locate(kg_error *error, const char *source, uint64_t line, uint64_t column) {
    if (error == NULL || error->source[0] != '\0')
        return;
    snprintf(error->source, sizeof error->source, "%s", source);
    error->line = line;
    error->column = column;
}

char *kg__error_text(char *out, size_t size, const kg_error *error) {
    char text[KG_ERROR_TEXT_MAX];
    if (out == NULL || size == 0)
        return out;
    if (error == NULL)
        return kg__show_controls(out, size, "");
    const char *colon = error->source[0] == '\0' ? "" : ": ";
    if (error->line == 0)
        snprintf(text, sizeof text, "%s%s%s", error->source, colon, error->message);
    else if (error->column == 0)
        snprintf(text, sizeof text, "%s:%ju: %s", error->source, (uintmax_t)error->line,
                 error->message);
    else
        snprintf(text, sizeof text, "%s:%ju:%ju: %s", error->source, (uintmax_t)error->line,
                 (uintmax_t)error->column, error->message);
    return kg__show_controls(out, size, text);
}
