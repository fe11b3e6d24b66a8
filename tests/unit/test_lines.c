/* Lines: against a splitter that has the whole text before it. Random texts of carriage returns,
 * newlines and letters; texts laid out around the size of a block, so that line ends fall just
 * before, on and behind its end; lines longer than a block; and line numbers throughout. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "base/lines.h"

#define BLOCK ((size_t)1 << 20) /* what lines.c loads at a time */

/* The line at `*at`, by the definition in lines.h; false at the end. */
static bool naive_next(text *line, text all, size_t *at) {
    if (*at == all.length)
        return false;
    size_t end = *at;
    while (end < all.length && all.bytes[end] != '\n')
        end++;
    *line = (text){all.bytes + *at, end - *at};
    if (line->length > 0 && line->bytes[line->length - 1] == '\r')
        line->length--;
    *at = end < all.length ? end + 1 : end;
    return true;
}

static void compare_lines(text all) {
    kg_error error = {0};
    kg_input *input = open_text_as(all, "test", KG_PLAIN);
    kg_lines lines;
    kg__lines_open(&lines, input);
    size_t at = 0;
    for (uint64_t number = 1;; number++) {
        text expected = {0};
        kg_line found = {0};
        bool more = false;
        assert_ok(kg__lines_next(&lines, &found, &more, &error), &error);
        assert_int_equal(more, naive_next(&expected, all, &at));
        if (!more)
            break;
        assert_int_equal(found.number, number);
        assert_text(found.text, found.length, expected);
    }
    bool more = true; /* the end stays the end */
    kg_line line = {0};
    assert_ok(kg__lines_next(&lines, &line, &more, &error), &error);
    assert_false(more);
    kg__lines_close(&lines);
    kg__input_close(input);
}

/* The same by blocks, which together are the text, and each of which is made of whole lines. */
static void compare_blocks(text all) {
    kg_error error = {0};
    kg_input *input = open_text_as(all, "test", KG_PLAIN);
    kg_block blocks[2] = {0};
    size_t at = 0;
    size_t covered = 0;
    uint64_t line_count = 0;
    uint64_t number = 1;
    for (size_t i = 0;; i++) {
        kg_block *block = &blocks[i % 2];
        const kg_block *previous = i == 0 ? NULL : &blocks[1 - i % 2];
        assert_ok(kg__block_load(block, previous, line_count, input, &error), &error);
        assert_int_equal(block->first_line, number);
        if (block->size == 0)
            break;
        assert_true(covered + block->size <= all.length);
        assert_memory_equal(block->text, all.bytes + covered, block->size);
        covered += block->size;
        assert_true(covered == all.length || all.bytes[covered - 1] == '\n');
        line_count = 0;
        for (size_t offset = 0; offset < block->size; line_count++) {
            text expected = {0};
            kg_line found = kg__block_line(block, &offset);
            assert_true(naive_next(&expected, all, &at));
            assert_text(found.text, found.length, expected);
        }
        assert_int_equal(at, covered);
        number += line_count;
    }
    assert_int_equal(covered, all.length);
    kg__block_free(&blocks[0]);
    kg__block_free(&blocks[1]);
    kg__input_close(input);
}

static void compare(text all) {
    compare_lines(all);
    compare_blocks(all);
}

static void test_examples(void **state) {
    (void)state;
    static const text texts[] = {
        TEXT_FIELD(""),         TEXT_FIELD("\n"),       TEXT_FIELD("\r"),
        TEXT_FIELD("\r\n"),     TEXT_FIELD("\r\r\n"),   TEXT_FIELD("\n\r"),
        TEXT_FIELD("a"),        TEXT_FIELD("a\n"),      TEXT_FIELD("a\r\n"),
        TEXT_FIELD("a\r"),      TEXT_FIELD("a\r\r"),    TEXT_FIELD("a\rb\n"),
        TEXT_FIELD("\n\na"),    TEXT_FIELD("a\n\n"),    TEXT_FIELD("a\0b\nc\0\n"),
        TEXT_FIELD("a\nb\r\n"), TEXT_FIELD("a\r\nb\n"), TEXT_FIELD("a\n\r\nb\r\r\n\rc"),
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        compare(texts[i]);
}

/* Two of them spelled out, so that the splitter above is not the only extractor. */
static void test_spelled_out(void **state) {
    (void)state;
    static const char *const expected[] = {"one", "", "two\r", "th\rree"};
    kg_input *input = open_text(TEXT("one\r\n\ntwo\r\r\nth\rree"), "test");
    kg_lines lines;
    kg__lines_open(&lines, input);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        kg_line line = {0};
        bool more = false;
        assert_ok(kg__lines_next(&lines, &line, &more, NULL), NULL);
        assert_true(more);
        assert_int_equal(line.number, i + 1);
        assert_text(line.text, line.length, text_of(expected[i]));
    }
    kg__lines_close(&lines);
    kg__input_close(input);
}

static void test_random_texts(void **state) {
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 3000; round++) {
        char bytes[64];
        size_t length = next_below(&random, sizeof bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = "\n\n\r\rab"[next_below(&random, 6)];
        compare((text){bytes, length});
    }
}

/* Lines of random lengths over several blocks. */
static void test_random_long_texts(void **state) {
    (void)state;
    uint64_t random = 6;
    size_t room = 5 * BLOCK;
    char *bytes = must_allocate(room, 1);
    for (int round = 0; round < 6; round++) {
        size_t length = 3 * BLOCK + next_below(&random, BLOCK);
        uint64_t longest = round % 2 == 0 ? 200 : 200000;
        size_t at = 0;
        while (at < length) {
            size_t line = next_below(&random, longest);
            for (size_t i = 0; i < line && at < length; i++)
                bytes[at++] = (char)('a' + i % 26);
            if (at < length && next_below(&random, 3) == 0)
                bytes[at++] = '\r';
            if (at < length)
                bytes[at++] = '\n';
        }
        compare((text){bytes, length});
    }
    free(bytes);
}

/* One line end around each place where a block may end, in a text that ends there, soon or late. */
static void test_block_boundaries(void **state) {
    (void)state;
    static const size_t blocks[] = {1, 2};
    static const long offsets[] = {-2, -1, 0, 1};
    static const size_t tails[] = {0, 1, 100, BLOCK};
    static const char *const ends[] = {"\n", "\r\n", "\r\r\n", "\n\n"};
    char *bytes = must_allocate(5 * BLOCK, 1);
    for (size_t b = 0; b < COUNT_OF(blocks); b++)
        for (size_t o = 0; o < COUNT_OF(offsets); o++)
            for (size_t t = 0; t < COUNT_OF(tails); t++)
                for (size_t e = 0; e < COUNT_OF(ends); e++) {
                    size_t place = blocks[b] * BLOCK + (size_t)offsets[o];
                    size_t length = place + strlen(ends[e]) + tails[t];
                    memset(bytes, 'x', length);
                    memcpy(bytes + 1000, "\n", 1); /* so that the block holds a whole line */
                    memcpy(bytes + place, ends[e], strlen(ends[e]));
                    compare((text){bytes, length});
                }
    free(bytes);
}

/* Texts that fill blocks to the byte, with and without a newline at their end. */
static void test_exact_sizes(void **state) {
    (void)state;
    char *bytes = must_allocate(5 * BLOCK, 1);
    for (size_t size = BLOCK - 1; size <= 4 * BLOCK + 1; size += size % BLOCK == 1 ? BLOCK - 2 : 1)
        for (int newline = 0; newline < 2; newline++) {
            memset(bytes, 'x', size);
            for (size_t i = 99; i < size; i += 100)
                bytes[i] = '\n';
            bytes[size - 1] = newline ? '\n' : 'x';
            compare((text){bytes, size});
        }
    free(bytes);
}

/* A line of several blocks, alone, first, in the middle and last. */
static void test_long_lines(void **state) {
    (void)state;
    static const struct {
        const char *before, *behind;
    } around[] = {{"", ""}, {"", "\n"}, {"", "\nend\n"}, {"a\nb\n", "\r\n"}, {"a\nb\n", "\nc\nd"}};
    static const size_t sizes[] = {BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 7 * BLOCK / 2};
    char *bytes = must_allocate(4 * BLOCK, 1);
    for (size_t i = 0; i < COUNT_OF(around); i++)
        for (size_t j = 0; j < COUNT_OF(sizes); j++) {
            size_t before = strlen(around[i].before);
            size_t behind = strlen(around[i].behind);
            memcpy(bytes, around[i].before, before);
            memset(bytes + before, 'l', sizes[j]);
            memcpy(bytes + before + sizes[j], around[i].behind, behind);
            compare((text){bytes, before + sizes[j] + behind});
        }
    free(bytes);
}

/* Nobody should be able to exhaust the memory by a line that never ends. */
static void test_too_long_lines(void **state) {
    (void)state;
    size_t size = KG_LINE_MAX + 4 * BLOCK;
    char *bytes = must_allocate(size, 1);
    memset(bytes, 'l', size);
    memcpy(bytes, "a\n", 2);
    text packed = compress_text((text){bytes, size});
    kg_input *input = open_text(packed, "long.gz");
    kg_lines lines;
    kg__lines_open(&lines, input);
    kg_line line = {0};
    bool more = false;
    kg_error error = {0};
    assert_ok(kg__lines_next(&lines, &line, &more, &error), &error);
    assert_status(kg__lines_next(&lines, &line, &more, &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "long.gz:2: expected lines of at most 16777216 bytes");
    kg__lines_close(&lines);
    kg__input_close(input);
    free((void *)packed.bytes);
    free(bytes);
}

/* What the input has to say about itself arrives. */
static void test_failing_input(void **state) {
    (void)state;
    kg_input *input = open_text(TEXT("\x1f\x8b\x08\0\0\0\0\0\0\x03 not deflated"), "bad.gz");
    kg_lines lines;
    kg__lines_open(&lines, input);
    kg_line line = {0};
    bool more = false;
    kg_error error = {0};
    assert_status(kg__lines_next(&lines, &line, &more, &error), KG_BAD_INPUT, &error);
    assert_string_equal(error.source, "bad.gz");
    kg__lines_close(&lines);
    kg__input_close(input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),         cmocka_unit_test(test_spelled_out),
        cmocka_unit_test(test_random_texts),     cmocka_unit_test(test_random_long_texts),
        cmocka_unit_test(test_block_boundaries), cmocka_unit_test(test_exact_sizes),
        cmocka_unit_test(test_long_lines),       cmocka_unit_test(test_too_long_lines),
        cmocka_unit_test(test_failing_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
