/* Text in messages: showing arbitrary bytes, and finding the known word nearest to an unknown one;
 * and numbers that users write. */
#ifndef KG_BASE_TEXT_H
#define KG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A quoted name in a message. */
typedef struct kg_quoted {
    char text[96];
} kg_quoted;

/* 'bytes' in quotes, unprintable bytes and invalid UTF-8 as \xNN, cut with "..." when long. */
kg_quoted kg__quote(const char *bytes, size_t length);

/* Copies `text` to `out`, which holds `size` bytes, with control characters and invalid UTF-8 as
 * \xNN, so that a name cannot break a line or control a terminal, in any encoding; cut between
 * characters if it is too long, always terminated. Returns `out`. */
char *kg__show_controls(char *out, size_t size, const char *text);

/* Writes "a, b or c" to `out`: the names that rows of `row_size` bytes each begin with, a pointer,
 * up to a row without name; cut if it is too long, always terminated. */
void kg__join_names(char *out, size_t size, const void *rows, size_t row_size);

/* The number of bytes to insert, delete, replace or swap with the next to make one word of the
 * other (restricted Damerau-Levenshtein distance); words over 63 bytes are far from everything. */
size_t kg__edit_distance(const char *one, const char *other);

/* The nearest of `names` (ended by NULL) to `word` by edit distance, or NULL if none is near. */
const char *kg__nearest_word(const char *word, const char *const *names);

/* The same for any number of bytes, ignoring the case of ASCII letters, and fast: distances beyond
 * `limit`, at most KG_SLIPS_MOST, are limit + 1. */
#define KG_SLIPS_MOST 8
size_t kg__slips_within(size_t limit, const char *one, size_t n, const char *other, size_t m);

/* Letters A to Z as a to z, other bytes unchanged. */
static inline char kg__fold(char byte) {
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

/* Length in bytes (1 to 4) of the valid UTF-8 sequence at `bytes`, 0 if there is none. */
size_t kg__utf8_length(const char *bytes, size_t available);

bool kg__starts_with(const char *text, size_t length, const char *prefix);

/* A whole number below 2^63, and a finite one, from a text that is nothing else. Returns NULL, or
 * what was expected instead. */
const char *kg__parse_count(uint64_t *out, const char *text);
const char *kg__parse_number(double *out, const char *text);

/* U+FEFF in UTF-8, the byte order mark that some programs write at the start of files. */
#define KG_UTF8_MARK "\xef\xbb\xbf"

#endif
