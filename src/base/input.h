/* Input bytes: a file or standard input, gzipped or not. They are hashed while they are read, so
 * that a file can be compared with its recorded checksum. */
#ifndef KG_BASE_INPUT_H
#define KG_BASE_INPUT_H

#include "base/checksum.h"
#include "base/status.h"

typedef struct kg_input kg_input;

typedef enum kg_coding {
    KG_ANY_CODING, /* gzip if it starts with gzip's magic bytes */
    KG_PLAIN,      /* the bytes as they are, whatever they start with */
} kg_coding;

/* Opens `path`; "-" is standard input. The caller closes it. */
KG_MUST_CHECK kg_status kg__input_open(kg_input **out, const char *path, kg_coding coding,
                                       kg_error *error);

/* The same for an open file, whose ownership passes to the input, also when this fails. */
KG_MUST_CHECK kg_status kg__input_from_fd(kg_input **out, int fd, const char *name,
                                          kg_coding coding, kg_error *error);

void kg__input_close(kg_input *input);

/* Fills the buffer; `*got` is less than `size` only at the end of the input. */
KG_MUST_CHECK kg_status kg__input_read(kg_input *input, void *buffer, size_t size, size_t *got,
                                       kg_error *error);

/* The name in messages of an input opened by that path: "standard input" for "-". */
const char *kg__input_title(const char *path);

/* Its name in messages. Valid as long as the input. */
const char *kg__input_name(const kg_input *input);

/* The position of reading, in bytes of the file on disk; the total is 0 if unknown. */
uint64_t kg__input_position(const kg_input *input);
uint64_t kg__input_total(const kg_input *input);

/* Of the (uncompressed) bytes read so far. */
kg_checksum kg__input_checksum(const kg_input *input);

#endif
