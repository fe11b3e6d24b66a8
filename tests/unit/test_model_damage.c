/* Model folders that were damaged are refused, or can be used without harm: flipped bits, other
 * lengths, missing files. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "damaged_model.h"

static void test_heads(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = read_config();
    for (size_t i = 0; i < FILES - 1; i++) {
        const json_t *about = json_object_get(json_object_get(config, "files"), files[i]);
        const json_t *head = json_object_get(about, "head");
        char path[64];
        size_t size = 0;
        path_of(path, files[i]);
        char *bytes = read_file(path, &size);
        bool is_text = strstr(files[i], ".tsv") != NULL;
        size_t expected = 128; /* of a section file */
        if (strcmp(files[i], KG_MODEL_TENSORS) == 0) {
            uint64_t length = 0;
            memcpy(&length, bytes, sizeof length);
            expected = 8 + (size_t)length;
        }
        if (strcmp(files[i], KG_MODEL_CALIBRATION) == 0)
            expected = size;
        assert_int_equal(json_integer_value(json_object_get(about, "bytes")), size);
        assert_string_equal(json_string_value(json_object_get(about, "xxh3")),
                            kg__checksum_of(bytes, size).text);
        assert_int_equal(head == NULL, is_text);
        if (!is_text) {
            assert_int_equal(json_integer_value(json_object_get(head, "bytes")), expected);
            assert_string_equal(json_string_value(json_object_get(head, "xxh3")),
                                kg__checksum_of(bytes, expected).text);
        }
        free(bytes);
    }
    json_decref(config);
    close_world(&w);
}

/* All bits of the bytes up to `to`, or one of each: `accept` says whether it may open all the same.
 */
static void flip_bits(const char *file, size_t to, bool all, bool (*accept)(void)) {
    char path[64];
    path_of(path, file);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t at = 0; at < to; at++)
        for (unsigned bit = all ? 0 : (unsigned)(at % 8); bit < 8; bit += all ? 1 : 8) {
            unsigned char byte = 0;
            assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
            unsigned char flipped = (unsigned char)(byte ^ (1U << bit));
            assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
            if (opens() && !accept())
                fail_msg("%s opens with bit %u of byte %zu flipped", file, bit, at);
            assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        }
    close(fd);
}

static bool never(void) {
    return false;
}

static bool always(void) {
    return true;
}

static json_t *true_config;

/* White space and the spelling of a number are not what it means. */
static bool means_the_same(void) {
    json_t *config = read_config();
    bool same = json_equal(config, true_config);
    json_decref(config);
    return same;
}

static size_t head_size(const char *file) {
    const json_t *about = json_object_get(json_object_get(true_config, "files"), file);
    return (size_t)json_integer_value(json_object_get(json_object_get(about, "head"), "bytes"));
}

static void test_flipped_bits(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    true_config = read_config();
    for (size_t i = 0; i < FILES - 1; i++)
        flip_bits(files[i], head_size(files[i]), !IS_SANITIZED, never);
    size_t size = 0;
    free(read_file(MODEL "/" KG_MODEL_CONFIG, &size));
    flip_bits(KG_MODEL_CONFIG, size, !IS_SANITIZED, means_the_same);
    assert_true(opens());
    json_decref(true_config);
    close_world(&w);
}

/* Without checksums damage may go unseen, but does no harm. */
static void test_flipped_bits_without_checksums(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_decref(unseal());
    for (size_t i = 0; i < FILES; i++) {
        char path[64];
        size_t size = 0;
        path_of(path, files[i]);
        free(read_file(path, &size));
        flip_bits(files[i], size, false, always);
    }
    assert_true(opens());
    close_world(&w);
}

/* Every length but the right one, with checksums and without. */
static void change_lengths(void) {
    for (size_t i = 0; i < FILES; i++) {
        char path[64];
        size_t size = 0;
        path_of(path, files[i]);
        char *bytes = read_file(path, &size);
        bool is_config = strcmp(files[i], KG_MODEL_CONFIG) == 0;
        size_t needed = is_config && bytes[size - 1] == '\n' ? size - 1 : size;
        for (size_t length = 0; length < needed; length++) {
            assert_int_equal(truncate(path, 0), 0);
            write_file(path, (text){bytes, length});
            if (opens())
                fail_msg("%s opens with %zu bytes of %zu", files[i], length, size);
        }
        bytes[size] = is_config ? 'x' : '\n'; /* in the place of the zero behind it */
        write_file(path, (text){bytes, size + 1});
        assert_false(opens());
        write_file(path, (text){bytes, size});
        free(bytes);
    }
    assert_true(opens());
}

static void test_other_lengths(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    change_lengths();
    json_decref(unseal());
    change_lengths();
    close_world(&w);
}

/* A file that is gone, is a folder, a pipe that nobody writes to, or a link to nowhere. */
static void test_no_files(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    alarm(60); /* who waits for the pipe waits forever */
    for (size_t i = 0; i < FILES; i++) {
        char path[64];
        path_of(path, files[i]);
        assert_int_equal(rename(path, "aside"), 0);
        assert_false(opens());
        assert_int_equal(mkdir(path, 0777), 0);
        assert_false(opens());
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(mkfifo(path, 0666), 0);
        assert_false(opens());
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(files[i], path), 0);
        assert_false(opens());
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rename("aside", path), 0);
    }
    alarm(0);
    assert_true(opens());
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_heads),
        test_in_folder(test_flipped_bits),
        test_in_folder(test_flipped_bits_without_checksums),
        test_in_folder(test_other_lengths),
        test_in_folder(test_no_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
