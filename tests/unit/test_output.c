/* Outputs: nothing can be seen before the commit, everything after it, and nothing at all of what
 * was given up; what existed is replaced as a whole; permissions, pipes and devices; sizes,
 * checksums and failures. */
#include "support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"

static kg_output *open_output(const char *path) {
    kg_output *output = NULL;
    kg_error error = {0};
    assert_ok(kg__output_open(&output, path, path, &error), &error);
    return output;
}

static void put(kg_output *output, text content) {
    kg_error error = {0};
    assert_ok(kg__output_write(output, content.bytes, content.length, &error), &error);
}

static void commit(kg_output *output) {
    kg_error error = {0};
    assert_ok(kg__output_commit(output, &error), &error);
    kg__output_close(output);
}

static void test_commit(void **state) {
    (void)state;
    kg_output *output = open_output("file");
    put(output, TEXT("one, "));
    put(output, TEXT("two"));
    assert_int_equal(count_entries("."), 0); /* not even under another name */
    commit(output);
    assert_file("file", TEXT("one, two"));
    assert_int_equal(count_entries("."), 1);
}

static void test_replace(void **state) {
    (void)state;
    write_file("file", TEXT("the old content, which is longer"));
    kg_output *output = open_output("file");
    put(output, TEXT("new"));
    assert_file("file", TEXT("the old content, which is longer"));
    assert_int_equal(count_entries("."), 1);
    commit(output);
    assert_file("file", TEXT("new"));
    assert_int_equal(count_entries("."), 1);
}

static void test_given_up(void **state) {
    (void)state;
    write_file("old", TEXT("old"));
    static const char *const names[] = {"new", "old"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        kg_output *output = open_output(names[i]);
        put(output, TEXT("half"));
        kg__output_close(output);
        output = open_output(names[i]);
        put(output, TEXT("whole, but not in place"));
        assert_ok(kg__output_finish(output, NULL), NULL);
        kg__output_close(output);
    }
    kg__output_close(NULL);
    assert_int_equal(count_entries("."), 1);
    assert_file("old", TEXT("old"));
}

static void test_empty_file(void **state) {
    (void)state;
    commit(open_output("file"));
    assert_file("file", TEXT(""));
}

/* Writes of all sizes, so that the buffer is filled, just filled, and passed by. */
static void test_sizes(void **state) {
    (void)state;
    enum { ROOM = 12 << 20 };
    static const size_t pieces[] = {
        1,       0, 1000,   (1 << 20) - 1001, 1, 1 << 20, (1 << 20) - 1, 2, (1 << 20) + 1,
        3 << 20, 5, 1 << 20};
    char *bytes = must_allocate(ROOM, 1);
    uint64_t random = 2;
    for (size_t i = 0; i < ROOM; i++)
        bytes[i] = (char)(next_random(&random) >> 56);
    kg_output *output = open_output("file");
    kg_hasher *hasher = kg__hasher_new();
    size_t done = 0;
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        put(output, (text){bytes + done, pieces[i]});
        kg__hasher_add(hasher, bytes + done, pieces[i]);
        done += pieces[i];
        assert_int_equal(kg__output_size(output), done);
        assert_string_equal(kg__output_checksum(output).text, kg__hasher_checksum(hasher).text);
    }
    commit(output);
    assert_file("file", ((text){bytes, done}));
    kg__hasher_free(hasher);
    free(bytes);
}

static void test_permissions(void **state) {
    (void)state;
    static const mode_t masks[] = {022, 077, 0, 027};
    for (size_t i = 0; i < COUNT_OF(masks); i++) {
        mode_t before = umask(masks[i]);
        commit(open_output("file")); /* the first new, the others in place of another */
        umask(before);
        struct stat info;
        assert_int_equal(stat("file", &info), 0);
        assert_int_equal(info.st_mode & 0777, 0666 & ~masks[i]);
    }
}

static void test_other_folder(void **state) {
    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    kg_output *output = open_output("folder/file");
    put(output, TEXT("x"));
    assert_int_equal(count_entries("folder"), 0);
    commit(output);
    assert_file("folder/file", TEXT("x"));
    assert_int_equal(count_entries("."), 1);
}

/* In two steps, with the name given at the end. */
static void test_finish_and_place(void **state) {
    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    write_file("folder/there", TEXT("before"));
    static const char *const names[] = {"folder/new", "folder/there"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        kg_output *output = NULL;
        kg_error error = {0};
        assert_ok(kg__output_open(&output, "not/yet/there", "beside", &error), &error);
        put(output, TEXT("x"));
        assert_ok(kg__output_finish(output, &error), &error);
        assert_int_equal(count_entries("folder"), 1 + i);
        assert_ok(kg__output_place(output, names[i], &error), &error);
        kg__output_close(output);
        assert_file(names[i], TEXT("x"));
    }
    assert_int_equal(count_entries("."), 1);
    assert_int_equal(count_entries("folder"), 2);
}

/* A device gets its bytes and stays what it is. It is reached by a link, which is what would be
 * replaced if something went wrong here, and not the machine's device. */
static void test_device(void **state) {
    (void)state;
    assert_int_equal(symlink("/dev/null", "null"), 0);
    kg_output *output = open_output("null");
    put(output, TEXT("gone"));
    commit(output);
    struct stat info;
    assert_int_equal(lstat("null", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void test_full_device(void **state) {
    (void)state;
    kg_error error = {0};
    assert_int_equal(symlink("/dev/full", "full"), 0);
    kg_output *output = open_output("full");
    put(output, TEXT("does not fit"));
    assert_status(kg__output_commit(output, &error), KG_SYSTEM, &error);
    assert_error_text(&error, "full: cannot write to it: No space left on device");
    kg__output_close(output);
}

static void test_pipe(void **state) {
    (void)state;
    assert_int_equal(mkfifo("pipe", 0666), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    kg_output *output = open_output("pipe");
    put(output, TEXT("through"));
    commit(output);
    char found[16] = "";
    assert_int_equal(read(reader, found, sizeof found), 7);
    assert_string_equal(found, "through");
    close(reader);
    struct stat info;
    assert_int_equal(stat("pipe", &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
}

static void test_standard_output(void **state) {
    (void)state;
    int saved = dup(STDOUT_FILENO);
    int file = open("caught", O_RDWR | O_CREAT, 0666);
    dup2(file, STDOUT_FILENO);
    kg_output *output = NULL;
    kg_status opened = kg__output_open(&output, "-", "-", NULL);
    kg_status written = kg__output_write(output, "shown", 5, NULL);
    kg_status committed = kg__output_commit(output, NULL);
    kg__output_close(output);
    bool still_open = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    dup2(saved, STDOUT_FILENO); /* before anything can fail: cmocka writes there */
    close(saved);
    close(file);
    assert_ok(opened, NULL);
    assert_ok(written, NULL);
    assert_ok(committed, NULL);
    assert_true(still_open);
    assert_file("caught", TEXT("shown"));
    assert_int_equal(count_entries("."), 1);
}

static void test_no_such_folder(void **state) {
    (void)state;
    kg_error error = {0};
    kg_output *output = NULL;
    assert_status(kg__output_open(&output, "no/file", "no/file", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "no/file: cannot create it: No such file or directory");
    write_file("file", TEXT("x"));
    assert_status(kg__output_open(&output, "file/x", "file/x", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, "file/x: cannot create it: Not a directory");
    assert_status(kg__output_open(&output, ".", ".", &error), KG_BAD_INPUT, &error);
    assert_error_text(&error, ".: cannot create it: Is a directory");
    assert_int_equal(count_entries("."), 1);
}

/* The folder went away meanwhile. */
static void test_place_is_gone(void **state) {
    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    kg_output *output = open_output("folder/file");
    put(output, TEXT("x"));
    assert_int_equal(rmdir("folder"), 0);
    kg_error error = {0};
    assert_status(kg__output_commit(output, &error), KG_BAD_INPUT, &error);
    assert_string_equal(error.source, "folder/file");
    kg__output_close(output);
    assert_int_equal(count_entries("."), 0);
}

/* A name may be as long as the file system allows, the first time and the second. */
static void test_longest_name(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    for (int i = 0; i < 2; i++) {
        kg_output *output = open_output(name);
        put(output, i == 0 ? TEXT("first") : TEXT("second"));
        commit(output);
    }
    assert_file(name, TEXT("second"));
    assert_int_equal(count_entries("."), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_commit),         test_in_folder(test_replace),
        test_in_folder(test_given_up),       test_in_folder(test_empty_file),
        test_in_folder(test_sizes),          test_in_folder(test_permissions),
        test_in_folder(test_other_folder),   test_in_folder(test_finish_and_place),
        test_in_folder(test_device),         test_in_folder(test_full_device),
        test_in_folder(test_pipe),           test_in_folder(test_standard_output),
        test_in_folder(test_no_such_folder), test_in_folder(test_place_is_gone),
        test_in_folder(test_longest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
