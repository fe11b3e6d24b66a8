/* Small help with text for people: showing bytes that may be anything, and guessing what was
 * meant by a word that is not known. */
#ifndef KG_BASE_TEXT_H
#define KG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Room for one quoted name in a message. */
typedef struct kg_quoted {
    char text[96];
} kg_quoted;

/* 'bytes' in quotes, unprintable bytes and invalid UTF-8 as \xNN, cut with "..." when long. */
kg_quoted kg__quote(const char *bytes, size_t length);

/* Copies `text` to `out`, which holds `size` bytes, with control characters and what is not UTF-8
 * as \xNN, so that a name cannot break a line or steer a terminal, whatever its encoding; cut
 * between characters if need be, always terminated. Returns `out`. */
char *kg__show_controls(char *out, size_t size, const char *text);

/* The number of bytes to insert, delete, replace or swap with the next to make one word of the
 * other (restricted Damerau-Levenshtein distance); words over 63 bytes are far from everything. */
size_t kg__edit_distance(const char *one, const char *other);

/* The same for bytes of any number, where small and capital letters of ASCII are alike, and cheap:
 * what lies beyond `limit`, of which more than KG_SLIPS_MOST are taken for that, is limit + 1. */
#define KG_SLIPS_MOST 8
size_t kg__slips_within(size_t limit, const char *one, size_t n, const char *other, size_t m);

/* Letters A to Z as a to z, other bytes as they are. */
static inline char kg__fold(char byte) {
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

/* Length in bytes (1 to 4) of the valid UTF-8 sequence at `bytes`, 0 if there is none. */
size_t kg__utf8_length(const char *bytes, size_t available);

bool kg__starts_with(const char *text, size_t length, const char *prefix);

/* U+FEFF in UTF-8, a mark that some programs put at the start of their files. */
#define KG_UTF8_MARK "\xef\xbb\xbf"

#endif
