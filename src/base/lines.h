/* Text by lines. A block is a piece of an input made of whole lines; blocks are loaded one after
 * the other, so that one can be worked on while the next is read. kg_lines is the simple way to
 * use them: one line at a time.
 *
 * A line ends at a newline or at the end of the input; one carriage return before that is not part
 * of it, so files with CRLF read like files with LF. */
#ifndef KG_BASE_LINES_H
#define KG_BASE_LINES_H

#include <stdbool.h>

#include "base/input.h"

/* Longer lines are refused. */
#define KG_LINE_MAX ((size_t)16 << 20)

/* Refuses what cannot be a name in a line: nothing (NULL is allowed), more than a line holds, or
 * bytes with NUL, tab or newline. */
KG_MUST_CHECK kg_status kg__check_name(kg_text name, kg_error *error);

typedef struct kg_block {
    char *text;
    size_t capacity;
    size_t size;         /* bytes of whole lines, the newlines included; 0 at the end */
    size_t rest;         /* bytes behind them: the beginning of a line that is not yet whole */
    uint64_t first_line; /* number of its first line, from 1 */
    bool is_last;
    bool is_too_long; /* it could not be loaded because of its first line */
} kg_block;

typedef struct kg_line {
    const char *text;
    size_t length;
    uint64_t number;
} kg_line;

typedef struct kg_lines {
    kg_input *input; /* borrowed */
    kg_block blocks[2];
    size_t current;
    size_t offset; /* of the next line in the current block */
    uint64_t number;
} kg_lines;

/* Continues where `previous` (NULL for the first block) ended, whose text is only read.
 * `line_count` is the number of lines in `previous`. */
KG_MUST_CHECK kg_status kg__block_load(kg_block *block, const kg_block *previous,
                                       uint64_t line_count, kg_input *input, kg_error *error);
void kg__block_free(kg_block *block);

/* The line of the block that starts at `*offset`, which moves on to the next one. `number` is
 * left to the caller. */
kg_line kg__block_line(const kg_block *block, size_t *offset);

void kg__lines_open(kg_lines *lines, kg_input *input);
void kg__lines_close(kg_lines *lines);

/* The next line, or `*more` false. It stays valid until the next call. */
KG_MUST_CHECK kg_status kg__lines_next(kg_lines *lines, kg_line *out, bool *more, kg_error *error);

/* Whether kg__lines_next failed because of a line that is too long, and going on behind it. */
bool kg__lines_is_too_long(const kg_lines *lines);
KG_MUST_CHECK kg_status kg__lines_skip(kg_lines *lines, kg_error *error);

/* Calls `visit` for each line of an input, up to the first that fails. */
KG_MUST_CHECK kg_status kg__lines_each(kg_input *input,
                                       kg_status (*visit)(void *payload, kg_line line,
                                                          kg_error *error),
                                       void *payload, kg_error *error);

#endif
