/* kgraft: knowledge-graph embeddings that also work for entities nobody had seen at training time.
 *
 * This is the whole public interface. Every function that can fail returns a kg_status and takes,
 * as its last argument, a kg_error owned by the caller (or NULL) that it fills in when it fails.
 * The library never prints, exits or aborts, and keeps no global state: different threads may
 * work on different objects at the same time. */
#ifndef KGRAFT_H
#define KGRAFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KG_API __attribute__((visibility("default")))
#define KG_MUST_CHECK __attribute__((warn_unused_result))

typedef enum kg_status {
    KG_OK = 0,
    KG_NO_MEMORY, /* an allocation failed */
    KG_SYSTEM,    /* the operating system failed us: a full disk, an unreadable file */
    KG_BAD_INPUT, /* data or settings from outside are not what was expected */
    KG_CANCELLED, /* a progress callback, or a signal, asked to stop */
    KG_DIVERGED,  /* training came to something that is not a number */
} kg_status;

/* What went wrong and where. `source` is the file or option concerned, or empty; `line` and
 * `column` count from 1, 0 where they mean nothing. `message` is one line of text. */
typedef struct kg_error {
    kg_status status;
    uint64_t line;
    uint64_t column;
    char source[512];
    char message[1024];
} kg_error;

/* Large enough for any text of kg_error_text. */
#define KG_ERROR_TEXT_MAX 1600

/* Writes "source:line:column: message" (without the parts that are not known) to `out`, which
 * holds `size` bytes, cut if need be, always terminated. Returns `out`. */
KG_API char *kg_error_text(char *out, size_t size, const kg_error *error);

/* The library's version, as in "0.1.0". A constant string. */
KG_API const char *kg_version(void);

#ifdef __cplusplus
}
#endif

#endif
