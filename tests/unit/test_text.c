/* Text for people: UTF-8 against a decoder that follows the definition word by word (every
 * sequence of up to three bytes, and those of four bytes that matter), quoting, and the edit
 * distance against its recursive definition on all short words. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The definition: the first byte says how many follow and brings the upper bits, each other byte
 * brings six; what could be written shorter, surrogates, and more than U+10FFFF are not valid. */
static size_t naive_utf8_length(const unsigned char *bytes, size_t available) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (available == 0)
        return 0;
    if (bytes[0] < 0x80)
        return 1;
    size_t length = 0;
    while (length < 8 && (bytes[0] & (0x80 >> length)) != 0)
        length++;
    if (length < 2 || length > 4 || length > available)
        return 0;
    uint32_t point = bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (bytes[i] >> 6 != 2)
            return 0;
        point = point << 6 | (bytes[i] & 0x3fu);
    }
    bool valid = point >= smallest[length] && point <= 0x10ffff && point >> 11 != 0xd800 >> 11;
    return valid ? length : 0;
}

/* Compares both at every number of bytes that may be there. */
static void assert_like_naive(const unsigned char *bytes, size_t count) {
    for (size_t available = 0; available <= count; available++) {
        size_t found = kg__utf8_length((const char *)bytes, available);
        if (found != naive_utf8_length(bytes, available))
            fail_msg("%02x %02x %02x %02x, %zu available: found %zu", bytes[0], bytes[1], bytes[2],
                     bytes[3], available, found);
    }
}

static void test_utf8_up_to_three_bytes(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 1u << 24; i++) {
        unsigned char bytes[4] = {(unsigned char)(i >> 16), (unsigned char)(i >> 8),
                                  (unsigned char)i};
        assert_like_naive(bytes, 3);
    }
}

static void test_utf8_four_bytes(void **state) {
    (void)state;
    static const unsigned char edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
                                          0xbf, 0xc0, 0xc2, 0xe0, 0xf0, 0xf4, 0xff};
    for (unsigned lead = 0xf0; lead <= 0xff; lead++)
        for (unsigned second = 0; second <= 0xff; second++)
            for (size_t i = 0; i < COUNT_OF(edges) * COUNT_OF(edges); i++) {
                unsigned char bytes[4] = {(unsigned char)lead, (unsigned char)second,
                                          edges[i / COUNT_OF(edges)], edges[i % COUNT_OF(edges)]};
                assert_like_naive(bytes, 4);
            }
}

static void test_utf8_examples(void **state) {
    (void)state;
    static const struct {
        text bytes;
        size_t expected;
    } cases[] = {
        {TEXT_FIELD(""), 0},
        {TEXT_FIELD("\0"), 1},
        {TEXT_FIELD("a"), 1},
        {TEXT_FIELD("\xc2\x80"), 2},         /* U+0080, the first of two bytes */
        {TEXT_FIELD("\xc1\xbf"), 0},         /* 0x7f, overlong */
        {TEXT_FIELD("\xe2\x82\xac"), 3},     /* the euro sign */
        {TEXT_FIELD("\xed\x9f\xbf"), 3},     /* before the surrogates */
        {TEXT_FIELD("\xed\xa0\x80"), 0},     /* the first of them */
        {TEXT_FIELD("\xee\x80\x80"), 3},     /* behind them */
        {TEXT_FIELD("\xf0\x9f\x98\x80"), 4}, /* an emoji */
        {TEXT_FIELD("\xf4\x8f\xbf\xbf"), 4}, /* U+10FFFF */
        {TEXT_FIELD("\xf4\x90\x80\x80"), 0}, /* beyond */
        {TEXT_FIELD("\x80"), 0},
        {TEXT_FIELD("\xe2\x82"), 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(kg__utf8_length(cases[i].bytes.bytes, cases[i].bytes.length),
                         cases[i].expected);
}

static void test_quote_examples(void **state) {
    (void)state;
    static const struct {
        text bytes;
        const char *expected;
    } cases[] = {
        {TEXT_FIELD(""), "''"},
        {TEXT_FIELD("word"), "'word'"},
        {TEXT_FIELD("two words"), "'two words'"},
        {TEXT_FIELD("tab\there"), "'tab\\x09here'"},
        {TEXT_FIELD("a\0b"), "'a\\x00b'"},
        {TEXT_FIELD("\x1b[31mred\x7f"), "'\\x1b[31mred\\x7f'"},
        {TEXT_FIELD("na\xc3\xafve"), "'na\xc3\xafve'"},
        {TEXT_FIELD("\xc3("), "'\\xc3('"},
        {TEXT_FIELD("\xf0\x9f\x98\x80\xff"), "'\xf0\x9f\x98\x80\\xff'"},
        {TEXT_FIELD("cut\xe2\x82"), "'cut\\xe2\\x82'"},
        {TEXT_FIELD("\xc2\x9b"
                    "2J"),
         "'\\xc2\\x9b2J'"},
        {TEXT_FIELD("\x9b"
                    "2J"),
         "'\\x9b2J'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(kg__quote(cases[i].bytes.bytes, cases[i].bytes.length).text,
                            cases[i].expected);
}

/* What stands between the quotes, back in bytes; `*cut` if there was more. */
static size_t unquote(char *out, const kg_quoted *quoted, bool *cut) {
    size_t length = strlen(quoted->text);
    assert_true(length >= 2 && length < sizeof quoted->text);
    assert_true(quoted->text[0] == '\'' && quoted->text[length - 1] == '\'');
    size_t end = length - 1;
    *cut = end >= 4 && memcmp(quoted->text + end - 3, "...", 3) == 0;
    if (*cut)
        end -= 3;
    size_t used = 0;
    for (size_t i = 1; i < end;) {
        unsigned byte = 0;
        if (quoted->text[i] == '\\') {
            assert_int_equal(sscanf(quoted->text + i, "\\x%2x", &byte), 1);
            out[used++] = (char)byte;
            i += 4;
        } else {
            out[used++] = quoted->text[i++];
        }
    }
    return used;
}

/* Whatever comes in: what comes out can be printed, is valid UTF-8, and says what came in. */
static void test_quote_anything(void **state) {
    (void)state;
    static const char *const pieces[] = {
        "a",  "Z",    "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
        "\n", "\x80", "\xe2\x82", "\xff",         " "};
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        char bytes[256];
        size_t length = 0;
        size_t wanted = next_below(&random, 120);
        while (length < wanted) {
            const char *piece = pieces[next_below(&random, COUNT_OF(pieces))];
            memcpy(bytes + length, piece, strlen(piece));
            length += strlen(piece);
        }
        kg_quoted quoted = kg__quote(bytes, length);
        for (const char *c = quoted.text; *c != '\0';) {
            size_t step = kg__utf8_length(c, strlen(c));
            assert_true(step > 0 && (unsigned char)*c >= 0x20 && *c != 0x7f);
            c += step;
        }
        char back[256];
        bool cut = false;
        size_t kept = unquote(back, &quoted, &cut);
        assert_true(cut ? kept < length : kept == length);
        assert_memory_equal(back, bytes, kept);
        if (cut) /* nothing more would have fitted */
            assert_true(strlen(quoted.text) + 4 > sizeof quoted.text - 1);
    }
}

/* A character of several bytes is either there or not. */
static void test_quote_cuts_between_characters(void **state) {
    (void)state;
    static const char *const characters[] = {"x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t size = 1; size <= 4; size++) {
        for (size_t offset = 0; offset < size; offset++) {
            char bytes[500];
            memset(bytes, 'o', offset);
            for (size_t at = offset; at + size <= sizeof bytes; at += size)
                memcpy(bytes + at, characters[size - 1], size);
            char back[500];
            bool cut = false;
            kg_quoted quoted = kg__quote(bytes, offset + 400);
            size_t kept = unquote(back, &quoted, &cut);
            assert_true(cut);
            assert_int_equal((kept - offset) % size, 0);
            assert_true(kept > 80);
        }
    }
}

/* Each control character and each byte that is no UTF-8 becomes four, or is left out where there is
 * no room for four. */
static void test_show_controls(void **state) {
    (void)state;
    for (unsigned byte = 1; byte < 256; byte++) {
        const char shown[] = {'a', (char)byte, 'b', '\0'};
        char expected[8];
        bool control = byte < 0x20 || byte >= 0x7f;
        snprintf(expected, sizeof expected, control ? "a\\x%02xb" : "a%cb", byte);
        char out[16];
        assert_ptr_equal(kg__show_controls(out, sizeof out, shown), out);
        assert_string_equal(out, expected);
        for (size_t size = 1; size <= sizeof expected; size++) {
            memset(out, '?', sizeof out);
            kg__show_controls(out, size, shown);
            size_t kept = strlen(out);
            assert_true(kept < size && memcmp(out, expected, kept) == 0);
            assert_true(!control || kept < 2 || kept >= 5); /* never half of it */
            for (size_t i = size; i < sizeof out; i++)
                assert_int_equal(out[i], '?');
        }
    }
}

/* The characters U+0080 to U+009F are shown by both their bytes; those behind them as they are. */
static void test_show_controls_of_two_bytes(void **state) {
    (void)state;
    for (unsigned second = 0x80; second < 0xc0; second++) {
        const char shown[] = {'a', '\xc2', (char)second, 'b', '\0'};
        char expected[16];
        snprintf(expected, sizeof expected, second < 0xa0 ? "a\\xc2\\x%02xb" : "a\xc2%cb", second);
        char out[16];
        assert_string_equal(kg__show_controls(out, sizeof out, shown), expected);
    }
}

static size_t smallest(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The definition, on what is left of both words. */
static size_t naive_distance(const char *one, const char *other) {
    if (*one == '\0')
        return strlen(other);
    if (*other == '\0')
        return strlen(one);
    size_t best = naive_distance(one + 1, other + 1) + (*one != *other);
    best = smallest(best, naive_distance(one + 1, other) + 1);
    best = smallest(best, naive_distance(one, other + 1) + 1);
    if (one[0] == other[1] && one[1] == other[0] && one[1] != '\0')
        best = smallest(best, naive_distance(one + 2, other + 2) + 1);
    return best;
}

/* The n-th word over "abc", in order of length. */
static void make_word(char out[8], size_t number) {
    size_t length = 0;
    for (size_t words = 1; number >= words; words *= 3, length++)
        number -= words;
    for (size_t i = 0; i < length; i++, number /= 3)
        out[i] = (char)('a' + number % 3);
    out[length] = '\0';
}

static void test_edit_distance(void **state) {
    (void)state;
    enum { WORDS = 1 + 3 + 9 + 27 + 81 };
    for (size_t i = 0; i < WORDS; i++)
        for (size_t j = 0; j < WORDS; j++) {
            char one[8];
            char other[8];
            make_word(one, i);
            make_word(other, j);
            size_t found = kg__edit_distance(one, other);
            if (found != naive_distance(one, other))
                fail_msg("'%s' to '%s': found %zu", one, other, found);
        }
}

static void test_edit_distance_examples(void **state) {
    (void)state;
    static const struct {
        const char *one, *other;
        size_t expected;
    } cases[] = {
        {"kitten", "sitting", 3},    {"ca", "abc", 3}, /* 2 without the restriction */
        {"--foramt", "--format", 1}, {"split", "splti", 1},
        {"generate", "stats", 6},    {"\xc3\xa4", "a", 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(kg__edit_distance(cases[i].one, cases[i].other), cases[i].expected);
        assert_int_equal(kg__edit_distance(cases[i].other, cases[i].one), cases[i].expected);
    }
}

/* On all short words, in small and capital letters, at every limit. */
static void test_slips_within(void **state) {
    (void)state;
    enum { WORDS = 1 + 3 + 9 + 27 + 81 };
    for (size_t i = 0; i < WORDS; i++)
        for (size_t j = 0; j < WORDS; j++) {
            char one[8];
            char other[8];
            make_word(one, i);
            make_word(other, j);
            size_t expected = naive_distance(one, other);
            other[0] = (char)(other[0] == 'a' ? 'A' : other[0]);
            for (size_t limit = 0; limit <= KG_SLIPS_MOST; limit++) {
                size_t found = kg__slips_within(limit, one, strlen(one), other, strlen(other));
                if (found != smallest(expected, limit + 1))
                    fail_msg("'%s' to '%s' within %zu: found %zu", one, other, limit, found);
            }
        }
}

/* On random longer ones, a few slips apart, against the whole matrix. */
static void test_slips_within_long_words(void **state) {
    (void)state;
    uint64_t random = 7;
    for (int round = 0; round < 50000; round++) {
        char one[64] = {0};
        char other[64] = {0};
        size_t length = next_below(&random, 50);
        for (size_t i = 0; i < length; i++)
            one[i] = (char)('a' + next_below(&random, 4));
        memcpy(other, one, length);
        for (size_t slips = next_below(&random, 5); slips > 0 && length > 0; slips--) {
            size_t at = next_below(&random, length);
            if (next_below(&random, 2) == 0)
                other[at] = (char)('a' + next_below(&random, 4));
            else
                memmove(other + at, other + at + 1, length - at);
        }
        size_t limit = next_below(&random, KG_SLIPS_MOST + 1);
        assert_int_equal(kg__slips_within(limit, one, strlen(one), other, strlen(other)),
                         smallest(kg__edit_distance(one, other), limit + 1));
    }
}

static void test_edit_distance_of_long_words(void **state) {
    (void)state;
    char longest[65] = {0};
    memset(longest, 'w', 63);
    assert_int_equal(kg__edit_distance(longest, ""), 63);
    assert_int_equal(kg__edit_distance(longest, longest), 0);
    longest[63] = 'w';
    assert_true(kg__edit_distance(longest, longest) == SIZE_MAX);
    assert_true(kg__edit_distance("", longest) == SIZE_MAX);
}

static void test_joined_names(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int value;
    } rows[] = {{"a", 1}, {"bc", 2}, {"d", 3}, {NULL, 0}};
    char out[16];
    kg__join_names(out, sizeof out, rows, sizeof *rows);
    assert_string_equal(out, "a, bc or d");
    kg__join_names(out, sizeof out, rows + 1, sizeof *rows);
    assert_string_equal(out, "bc or d");
    kg__join_names(out, sizeof out, rows + 2, sizeof *rows);
    assert_string_equal(out, "d");
    kg__join_names(out, sizeof out, rows + 3, sizeof *rows);
    assert_string_equal(out, "");
    kg__join_names(out, 7, rows, sizeof *rows);
    assert_string_equal(out, "a, bc ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined_names),
        cmocka_unit_test(test_utf8_up_to_three_bytes),
        cmocka_unit_test(test_utf8_four_bytes),
        cmocka_unit_test(test_utf8_examples),
        cmocka_unit_test(test_quote_examples),
        cmocka_unit_test(test_quote_anything),
        cmocka_unit_test(test_quote_cuts_between_characters),
        cmocka_unit_test(test_show_controls),
        cmocka_unit_test(test_show_controls_of_two_bytes),
        cmocka_unit_test(test_edit_distance),
        cmocka_unit_test(test_edit_distance_examples),
        cmocka_unit_test(test_edit_distance_of_long_words),
        cmocka_unit_test(test_slips_within),
        cmocka_unit_test(test_slips_within_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
