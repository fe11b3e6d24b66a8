/* Quoting, edit distance and numbers. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 63

size_t kg__utf8_length(const char *bytes, size_t available) {
    const uint8_t *u = (const uint8_t *)bytes;
    if (available == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    size_t length = u[0] >= 0xf0 && u[0] <= 0xf4   ? 4
                    : u[0] >= 0xe0 && u[0] <= 0xef ? 3
                    : u[0] >= 0xc2 && u[0] <= 0xdf ? 2
                                                   : 0;
    if (length == 0 || length > available)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
        (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
        return 0;
    return length;
}

/* The first byte of a control character at `bytes`: those of ASCII, and U+0080 to U+009F, which
 * control terminals as well. */
static bool is_control(const char *bytes, size_t available) {
    const uint8_t *u = (const uint8_t *)bytes;
    return u[0] < 0x20 || u[0] == 0x7f ||
           (u[0] == 0xc2 && available > 1 && u[1] >= 0x80 && u[1] <= 0x9f);
}

/* The first character of `bytes` as it is shown: as it is, or, if it is a control character or no
 * UTF-8, its first byte as \xNN. Returns the number of bytes that it stands for. */
static size_t show_character(char shown[5], const char *bytes, size_t available) {
    size_t length = kg__utf8_length(bytes, available);
    if (length == 0 || is_control(bytes, available)) {
        snprintf(shown, 5, "\\x%02x", (unsigned char)bytes[0]);
        return 1;
    }
    memcpy(shown, bytes, length);
    shown[length] = '\0';
    return length;
}

kg_quoted kg__quote(const char *bytes, size_t length) {
    kg_quoted out;
    const size_t limit = sizeof out.text - sizeof "...'";
    size_t used = 0;
    out.text[used++] = '\'';
    for (size_t i = 0; i < length;) {
        char shown[5];
        i += show_character(shown, bytes + i, length - i);
        size_t room = strlen(shown);
        if (used + room > limit) {
            memcpy(out.text + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out.text + used, shown, room);
        used += room;
    }
    out.text[used++] = '\'';
    out.text[used] = '\0';
    return out;
}

char *kg__show_controls(char *out, size_t size, const char *text) {
    size_t used = 0;
    for (size_t left = strlen(text); left > 0;) {
        char shown[5];
        size_t length = show_character(shown, text, left);
        size_t room = strlen(shown);
        if (used + room >= size)
            break;
        memcpy(out + used, shown, room);
        used += room;
        text += length;
        left -= length;
    }
    out[used] = '\0';
    return out;
}

static const char *name_at(const void *rows, size_t row_size, size_t i) {
    return *(const char *const *)((const char *)rows + i * row_size);
}

void kg__join_names(char *out, size_t size, const void *rows, size_t row_size) {
    size_t length = 0;
    const char *name = NULL;
    snprintf(out, size, "%s", ""); /* of no rows */
    for (size_t i = 0; (name = name_at(rows, row_size, i)) != NULL && length < size; i++) {
        bool is_last = name_at(rows, row_size, i + 1) == NULL;
        const char *before = i == 0 ? "" : is_last ? " or " : ", ";
        length += (size_t)snprintf(out + length, size - length, "%s%s", before, name);
    }
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t kg__edit_distance(const char *one, const char *other) {
    size_t n = strlen(one);
    size_t m = strlen(other);
    if (n > WORD_MAX || m > WORD_MAX)
        return SIZE_MAX;
    size_t cost[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t best = cost[i - 1][j - 1] + (one[i - 1] != other[j - 1]);
            best = smaller(best, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                best = smaller(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    }
    return cost[n][m];
}

/* A word is near within one more edit than a third of its letters. */
const char *kg__nearest_word(const char *word, const char *const *names) {
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 1;
    for (; *names != NULL; names++) {
        size_t distance = kg__edit_distance(word, *names);
        if (distance <= best_distance && (best == NULL || distance < best_distance)) {
            best = *names;
            best_distance = distance;
        }
    }
    return best;
}

/* A matrix of edit distances near its diagonals: of row i only the columns from i - before to
 * i + behind are of interest, since all others are more than `limit` steps away from the beginning
 * and the end together. That of column j is at [j - i + before + 1], with one more on either side
 * that is too far. */
struct band {
    uint8_t rows[3][2 * KG_SLIPS_MOST + 3]; /* row i is the one at i % 3 */
    size_t before, behind;
    uint8_t far; /* limit + 1, for all that is more */
};

static uint8_t least(uint8_t a, uint8_t b) {
    return a < b ? a : b;
}

/* Fills in row i from the two before it; false if everything in it is too far. */
static bool fill_row(struct band *band, size_t i, const char *one, const char *other, size_t m) {
    uint8_t *row = band->rows[i % 3];
    const uint8_t *above = band->rows[(i + 2) % 3];
    const uint8_t *above_that = band->rows[(i + 1) % 3];
    size_t last = i + band->behind < m ? i + band->behind : m;
    uint8_t smallest = band->far;
    memset(row, band->far, sizeof band->rows[0]);
    if (i <= band->before)
        smallest = row[band->before + 1 - i] = (uint8_t)i;
    for (size_t j = i > band->before ? i - band->before : 1; j <= last; j++) {
        size_t k = j + band->before + 1 - i;
        uint8_t best = (uint8_t)(least(above[k + 1], row[k - 1]) + 1);
        bool equal = kg__fold(one[i - 1]) == kg__fold(other[j - 1]);
        best = least(best, (uint8_t)(above[k] + !equal));
        if (!equal && i > 1 && j > 1 && kg__fold(one[i - 1]) == kg__fold(other[j - 2]) &&
            kg__fold(one[i - 2]) == kg__fold(other[j - 1]))
            best = least(best, (uint8_t)(above_that[k] + 1));
        row[k] = least(best, band->far);
        smallest = least(smallest, row[k]);
    }
    return smallest < band->far;
}

size_t kg__slips_within(size_t limit, const char *one, size_t n, const char *other, size_t m) {
    if (n > m)
        return kg__slips_within(limit, other, m, one, n);
    if (limit > KG_SLIPS_MOST)
        limit = KG_SLIPS_MOST;
    size_t more = m - n;
    if (more > limit)
        return limit + 1;
    for (; n > 0 && kg__fold(*one) == kg__fold(*other); n--) {
        one++;
        other++;
    }
    while (n > 0 && kg__fold(one[n - 1]) == kg__fold(other[n - 1 + more]))
        n--;
    m = n + more;
    struct band band = {.before = (limit - more) / 2, .far = (uint8_t)(limit + 1)};
    band.behind = band.before + more;
    memset(band.rows, band.far, sizeof band.rows);
    for (size_t j = 0; j <= band.behind; j++)
        band.rows[0][j + band.before + 1] = (uint8_t)j;
    for (size_t i = 1; i <= n; i++)
        if (!fill_row(&band, i, one, other, m))
            return limit + 1;
    return band.rows[n % 3][more + band.before + 1];
}

bool kg__starts_with(const char *text, size_t length, const char *prefix) {
    size_t prefix_length = strlen(prefix);
    return length >= prefix_length && memcmp(text, prefix, prefix_length) == 0;
}

const char *kg__parse_count(uint64_t *out, const char *text) {
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0')
        return "a whole number, 0 or more";
    if (errno != 0 || number > INT64_MAX)
        return "a number of at most 18 digits";
    *out = number;
    return NULL;
}

const char *kg__parse_number(double *out, const char *text) {
    char *end = NULL;
    double number = strtod(text, &end);
    if (text[0] == '\0' || isspace((unsigned char)text[0]) || *end != '\0' ||
        !__builtin_isfinite(number))
        return "a number";
    *out = number;
    return NULL;
}
