/* Errors as values. A function that can fail returns a kg_status and fills in the caller's kg_error
 * where the failure is found, since that is where most is known about it. Filling it in allocates
 * nothing, so running out of memory is reported like any other error. */
#ifndef KG_BASE_STATUS_H
#define KG_BASE_STATUS_H

#include "kgraft.h"

/* Hands a failure on to the caller. */
#define KG_TRY(call)                      \
    do {                                  \
        kg_status kg_try_status = (call); \
        if (kg_try_status != KG_OK)       \
            return kg_try_status;         \
    } while (0)

/* The same where there is something to clean up: needs `kg_status status` and a label `done`. */
#define KG_CHECK(call)       \
    do {                     \
        status = (call);     \
        if (status != KG_OK) \
            goto done;       \
    } while (0)

/* Fills in the caller's error, which may be NULL. An empty source and line 0 mean: not known. */
void kg__record(kg_error *error, kg_status status, const char *source, uint64_t line,
                uint64_t column, const char *format, ...) __attribute__((format(printf, 6, 7)));

static inline kg_status kg__failed(kg_status status) {
    return status;
}

/* `return kg_fail(...)` records the error and returns the status. These are macros so that a
 * compiler or analyser sees which status that is. */
#define kg_fail(error, status, ...) \
    (kg__record((error), (status), "", 0, 0, __VA_ARGS__), kg__failed(status))

/* A failure at a known place of an input. */
#define kg_fail_at(error, source, line, column, ...)                             \
    (kg__record((error), KG_BAD_INPUT, (source), (line), (column), __VA_ARGS__), \
     kg__failed(KG_BAD_INPUT))

static inline kg_status kg__fail_memory(kg_error *error) {
    return kg_fail(error, KG_NO_MEMORY, "out of memory");
}

/* Refuses a NULL pointer of the library's caller; needs `kg_error *error`. */
#define KG_NEED(argument)                                                                \
    do {                                                                                 \
        if ((argument) == NULL)                                                          \
            return kg_fail(error, KG_BAD_INPUT, #argument ": expected one, found NULL"); \
    } while (0)

/* kg_error_text of the public interface. */
char *kg__error_text(char *out, size_t size, const kg_error *error);

/* The error of `errno` for `path`: a path that does not exist, or is a folder where a file was
 * expected, is bad input (KG_BAD_INPUT), a call that a signal interrupted was cancelled
 * (KG_CANCELLED), anything else is the system's failure (KG_SYSTEM). `action` completes "cannot
 * ...". */
kg_status kg__fail_errno(kg_error *error, const char *path, const char *action);

/* Adds the place to an error that was recorded where it was not known. */
void kg__error_locate(kg_error *error, const char *source, uint64_t line, uint64_t column);

#endif
