/* Bytes from outside: a file or standard input, gzipped or not. What is read is hashed on the way,
 * so that a file can be compared with what was recorded about it. */
#ifndef KG_BASE_INPUT_H
#define KG_BASE_INPUT_H

#include "base/checksum.h"
#include "base/status.h"

typedef struct kg_input kg_input;

typedef enum kg_coding {
    KG_ANY_CODING, /* gzip if it starts like gzip */
    KG_PLAIN,      /* the bytes as they are, whatever they start with */
} kg_coding;

/* Opens `path`; "-" is standard input. The caller closes it. */
KG_MUST_CHECK kg_status kg__input_open(kg_input **out, const char *path, kg_coding coding,
                                       kg_error *error);

/* The same for an open file, which the input owns from now on, also when this fails. */
KG_MUST_CHECK kg_status kg__input_from_fd(kg_input **out, int fd, const char *name,
                                          kg_coding coding, kg_error *error);

void kg__input_close(kg_input *input);

/* Fills the buffer; `*got` is less than `size` only at the end of the input. */
KG_MUST_CHECK kg_status kg__input_read(kg_input *input, void *buffer, size_t size, size_t *got,
                                       kg_error *error);

/* Reads what is left into a new block with a terminating zero, owned by the caller. It is an
 * error if that is more than `limit` bytes. */
KG_MUST_CHECK kg_status kg__input_read_all(kg_input *input, char **out, size_t *size, size_t limit,
                                           kg_error *error);

/* What messages call an input that is opened by that path: "standard input" for "-". */
const char *kg__input_title(const char *path);

/* What messages call it. Lives as long as the input. */
const char *kg__input_name(const kg_input *input);

/* How far reading has come, in bytes of the file as it lies on disk; the total is 0 if unknown. */
uint64_t kg__input_position(const kg_input *input);
uint64_t kg__input_total(const kg_input *input);

/* Of the (uncompressed) bytes read so far. */
kg_checksum kg__input_checksum(const kg_input *input);

#endif
