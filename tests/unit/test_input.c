/* Inputs: plain and gzipped, of one member and of several, cut at every byte and damaged at every
 * bit; files taken as they are; standard input, pipes and what is no file; limits, positions and
 * checksums. */
#include "../read_all.h"
#include "support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"

/* Something of several buffers that does not repeat. */
static text make_content(size_t size) {
    char *bytes = must_allocate(size + 1, 1);
    uint64_t random = size;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(' ' + next_below(&random, 64));
    return (text){bytes, size};
}

static text join(text one, text other) {
    char *bytes = must_allocate(one.length + other.length, 1);
    if (one.length > 0)
        memcpy(bytes, one.bytes, one.length);
    if (other.length > 0)
        memcpy(bytes + one.length, other.bytes, other.length);
    return (text){bytes, one.length + other.length};
}

static void free_text(text content) {
    free((void *)content.bytes);
}

static kg_status read_whole(text stored, kg_coding coding, char **out, size_t *size,
                            kg_error *error) {
    kg_input *input = open_text_as(stored, "in", coding);
    kg_status status = read_all(input, out, size, error);
    kg__input_close(input);
    return status;
}

static void assert_reads(text stored, kg_coding coding, text expected) {
    kg_error error = {0};
    char *found = NULL;
    size_t size = 0;
    assert_ok(read_whole(stored, coding, &found, &size, &error), &error);
    assert_text(found, size, expected);
    assert_int_equal(found[size], '\0');
    free(found);
}

static const size_t sizes[] = {0, 1, 2, 100, 65536, 262143, 262144, 262144 + 1, 1048576, 3000000};

static void test_plain(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        text content = make_content(sizes[i]);
        assert_reads(content, KG_ANY_CODING, content);
        assert_reads(content, KG_PLAIN, content);
        free_text(content);
    }
}

static void test_gzip(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        text content = make_content(sizes[i]);
        text packed = compress_text(content);
        assert_reads(packed, KG_ANY_CODING, content);
        assert_reads(packed, KG_PLAIN, packed); /* taken as it is */
        free_text(content);
        free_text(packed);
    }
}

static void test_several_members(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        text one = make_content(sizes[i]);
        text other = make_content(777);
        text packed_one = compress_text(one);
        text packed_other = compress_text(other);
        text both = join(one, other);
        text packed = join(packed_one, packed_other);
        assert_reads(packed, KG_ANY_CODING, both);
        text all[] = {one, other, packed_one, packed_other, both, packed};
        for (size_t j = 0; j < COUNT_OF(all); j++)
            free_text(all[j]);
    }
}

/* What starts like gzip must go on like it to the end. One byte is too little to tell. */
static void test_truncated(void **state) {
    (void)state;
    text content = make_content(300);
    text packed = compress_text(content);
    for (size_t cut = 0; cut < packed.length; cut++) {
        char *found = NULL;
        size_t size = 0;
        kg_error error = {0};
        kg_status status =
            read_whole((text){packed.bytes, cut}, KG_ANY_CODING, &found, &size, &error);
        assert_status(status, cut < 2 ? KG_OK : KG_BAD_INPUT, &error);
        if (cut >= 2)
            assert_error_text(&error,
                              "in: expected intact gzip data, found that the file ends too early");
        free(found);
    }
    free_text(content);
    free_text(packed);
}

/* A damaged bit is found, or it is one of the few that mean nothing; but never is something else
 * read. Where the first two bytes are damaged, it is a plain file. */
static void test_damaged(void **state) {
    (void)state;
    text content = make_content(300);
    text packed = compress_text(content);
    char *damaged = must_allocate(packed.length, 1);
    size_t found_out = 0;
    for (size_t bit = 0; bit < 8 * packed.length; bit++) {
        memcpy(damaged, packed.bytes, packed.length);
        damaged[bit / 8] = (char)(damaged[bit / 8] ^ 1 << bit % 8);
        char *found = NULL;
        size_t size = 0;
        kg_error error = {0};
        kg_status status =
            read_whole((text){damaged, packed.length}, KG_ANY_CODING, &found, &size, &error);
        if (status == KG_OK && bit < 16)
            assert_text(found, size, ((text){damaged, packed.length}));
        else if (status == KG_OK)
            assert_text(found, size, content);
        else
            assert_status(status, KG_BAD_INPUT, &error);
        found_out += status != KG_OK;
        free(found);
    }
    /* What means nothing: magic (16 bits, seen above), of the header the time (32), the flag that
     * says "text", extra flags and system (16), and what fills the last byte of the data (7). */
    assert_true(found_out >= 8 * packed.length - (16 + 32 + 1 + 16 + 7));
    free(damaged);
    free_text(content);
    free_text(packed);
}

/* In pieces of any size the same comes out, and less than asked for only at the end. */
static void test_reading_in_pieces(void **state) {
    (void)state;
    static const size_t pieces[] = {1, 7, 4096, 99999, 300000, 5000000};
    text content = make_content(300000);
    text packed = compress_text(content);
    const struct {
        text stored;
        kg_coding coding;
    } ways[] = {{content, KG_PLAIN}, {content, KG_ANY_CODING}, {packed, KG_ANY_CODING}};
    char *buffer = must_allocate(5000000, 1);
    for (size_t w = 0; w < COUNT_OF(ways); w++)
        for (size_t p = 0; p < COUNT_OF(pieces); p++) {
            kg_input *input = open_text_as(ways[w].stored, "in", ways[w].coding);
            assert_int_equal(kg__input_total(input), ways[w].stored.length);
            assert_int_equal(kg__input_position(input), 0);
            size_t done = 0;
            uint64_t position = 0;
            for (size_t got = pieces[p]; got == pieces[p]; done += got) {
                assert_ok(kg__input_read(input, buffer, pieces[p], &got, NULL), NULL);
                assert_int_equal(got, done + pieces[p] <= content.length ? pieces[p]
                                                                         : content.length - done);
                assert_memory_equal(buffer, content.bytes + done, got);
                assert_true(kg__input_position(input) >= position);
                position = kg__input_position(input);
            }
            assert_int_equal(done, content.length);
            assert_int_equal(position, ways[w].stored.length);
            size_t got = 1;
            assert_ok(kg__input_read(input, buffer, 10, &got, NULL), NULL);
            assert_int_equal(got, 0);
            kg__input_close(input);
        }
    free(buffer);
    free_text(content);
    free_text(packed);
}

static void test_checksums(void **state) {
    (void)state;
    text content = make_content(100000);
    text packed = compress_text(content);
    kg_hasher *hasher = kg__hasher_new();
    kg__hasher_add(hasher, content.bytes, content.length);
    kg_input *inputs[] = {open_text_as(content, "a", KG_PLAIN), open_text(content, "b"),
                          open_text(packed, "c")};
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        char *found = NULL;
        size_t size = 0;
        assert_ok(read_all(inputs[i], &found, &size, NULL), NULL);
        free(found);
        assert_string_equal(kg__input_checksum(inputs[i]).text, kg__hasher_checksum(hasher).text);
        kg__input_close(inputs[i]);
    }
    kg__hasher_free(hasher);
    free_text(content);
    free_text(packed);
}

/* A pipe hands out what it has; whoever reads gets all the same. Its size is not known. */
static void test_pipe(void **state) {
    (void)state;
    text content = make_content(50000);
    text packed = compress_text(content);
    const text stored[] = {content, packed};
    for (size_t i = 0; i < COUNT_OF(stored); i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], stored[i].bytes, stored[i].length), stored[i].length);
        close(ends[1]);
        kg_input *input = NULL;
        kg_error error = {0};
        assert_ok(kg__input_from_fd(&input, ends[0], "pipe", KG_ANY_CODING, &error), &error);
        assert_int_equal(kg__input_total(input), 0);
        char *found = NULL;
        size_t size = 0;
        assert_ok(read_all(input, &found, &size, &error), &error);
        assert_text(found, size, content);
        free(found);
        kg__input_close(input);
    }
    free_text(content);
    free_text(packed);
}

static void test_standard_input(void **state) {
    (void)state;
    int before = replace_standard_input(TEXT("from outside"));
    kg_input *input = NULL;
    assert_ok(kg__input_open(&input, "-", KG_ANY_CODING, NULL), NULL);
    assert_string_equal(kg__input_name(input), "standard input");
    char *found = NULL;
    size_t size = 0;
    assert_ok(read_all(input, &found, &size, NULL), NULL);
    assert_text(found, size, TEXT("from outside"));
    free(found);
    kg__input_close(input);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* it is not ours to close */
    restore_standard_input(before);
}

static void test_files(void **state) {
    (void)state;
    write_file("file", TEXT("content"));
    kg_input *input = NULL;
    kg_error error = {0};
    assert_ok(kg__input_open(&input, "file", KG_ANY_CODING, &error), &error);
    assert_string_equal(kg__input_name(input), "file");
    assert_int_equal(kg__input_total(input), 7);
    kg__input_close(input);
    kg__input_close(NULL);
    static const struct {
        const char *path;
        const char *expected;
    } wrong[] = {
        {"missing", "missing: cannot open it: No such file or directory"},
        {"file/below", "file/below: cannot open it: Not a directory"},
        {".", ".: expected a file, found a directory"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_status(kg__input_open(&input, wrong[i].path, KG_ANY_CODING, &error), KG_BAD_INPUT,
                      &error);
        assert_error_text(&error, wrong[i].expected);
    }
}

/* The descriptor is the input's, in success and in failure. */
static void test_descriptor_is_closed(void **state) {
    (void)state;
    static const kg_coding codings[] = {KG_PLAIN, KG_ANY_CODING};
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        kg_input *input = NULL;
        int folder = open(".", O_RDONLY | O_DIRECTORY);
        assert_status(kg__input_from_fd(&input, folder, "f", codings[i], NULL), KG_BAD_INPUT, NULL);
        assert_int_equal(fcntl(folder, F_GETFD), -1);
        int file = open_memory(TEXT("x"));
        assert_ok(kg__input_from_fd(&input, file, "f", codings[i], NULL), NULL);
        kg__input_close(input);
        assert_int_equal(fcntl(file, F_GETFD), -1);
    }
}

/* A descriptor that cannot be read: the system's failure, not the user's. */
static void test_unreadable(void **state) {
    (void)state;
    static const kg_coding codings[] = {KG_PLAIN, KG_ANY_CODING};
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        kg_input *input = NULL;
        kg_error error = {0};
        char buffer[8];
        size_t got = 0;
        assert_ok(kg__input_from_fd(&input, open("/dev/null", O_WRONLY), "w", codings[i], &error),
                  &error);
        assert_status(kg__input_read(input, buffer, sizeof buffer, &got, &error), KG_SYSTEM,
                      &error);
        assert_error_text(&error, "w: cannot read it: Bad file descriptor");
        kg__input_close(input);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_several_members),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_reading_in_pieces),
        cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_descriptor_is_closed),
        cmocka_unit_test(test_unreadable),
    };
    return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
