/* Folders: not there before the commit, whole after it, nothing left of what was given up; what
 * exists is refused or, if it is ours alone, replaced. */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_folder.h"

static const char *const own_files[] = {"a.tsv", "b.tsv", "about.json", NULL};

static kg_folder *start(const char *path, bool replace) {
    kg_folder *folder = NULL;
    kg_error error = {0};
    assert_ok(kg__folder_start(&folder, path, replace, own_files, &error), &error);
    return folder;
}

static void add(kg_folder *folder, const char *name, text content) {
    kg_output *output = NULL;
    kg_error error = {0};
    assert_ok(kg__folder_add(folder, &output, name, &error), &error);
    assert_ok(kg__output_write(output, content.bytes, content.length, &error), &error);
}

static void commit(kg_folder *folder) {
    kg_error error = {0};
    assert_ok(kg__folder_commit(folder, &error), &error);
    kg__folder_close(folder);
}

static void assert_refused(const char *path, bool replace, kg_status status, const char *expected) {
    kg_folder *folder = NULL;
    kg_error error = {0};
    assert_status(kg__folder_start(&folder, path, replace, own_files, &error), status, &error);
    assert_error_text(&error, expected);
}

static void test_commit(void **state) {
    (void)state;
    kg_folder *folder = start("out", false);
    add(folder, "a.tsv", TEXT("A"));
    add(folder, "b.tsv", TEXT(""));
    add(folder, "about.json", TEXT("{}"));
    assert_int_equal(count_entries("."), 0);
    commit(folder);
    assert_int_equal(count_entries("."), 1);
    assert_int_equal(count_entries("out"), 3);
    assert_file("out/a.tsv", TEXT("A"));
    assert_file("out/b.tsv", TEXT(""));
    assert_file("out/about.json", TEXT("{}"));
}

static void test_given_up(void **state) {
    (void)state;
    kg_folder *folder = start("out", false);
    add(folder, "a.tsv", TEXT("A"));
    kg__folder_close(folder);
    kg__folder_close(start("out", false)); /* without any files, too */
    kg__folder_close(NULL);
    assert_int_equal(count_entries("."), 0);
}

static void test_empty(void **state) {
    (void)state;
    commit(start("out", false));
    assert_int_equal(count_entries("out"), 0);
    assert_int_equal(count_entries("."), 1);
}

static void test_ways_to_write_a_path(void **state) {
    (void)state;
    assert_int_equal(mkdir("in", 0777), 0);
    char absolute[512];
    assert_non_null(getcwd(absolute, sizeof absolute - sizeof "/four/"));
    memcpy(absolute + strlen(absolute), "/four/", sizeof "/four/");
    const char *const paths[] = {"one/", "two///", "in/three", "./five", "in/../six", absolute};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        kg_folder *folder = start(paths[i], false);
        add(folder, "a.tsv", TEXT("A"));
        assert_false(file_exists(paths[i]));
        commit(folder);
        char file[600];
        snprintf(file, sizeof file, "%s/a.tsv", paths[i]);
        assert_file(file, TEXT("A"));
    }
    assert_int_equal(count_entries("."), 1 + 5); /* "in" and those that are not in it */
    assert_int_equal(count_entries("in"), 1);
}

static void make_old(void) {
    kg_folder *folder = start("out", false);
    add(folder, "a.tsv", TEXT("old A"));
    add(folder, "b.tsv", TEXT("old B"));
    commit(folder);
}

static void test_existing_is_refused(void **state) {
    (void)state;
    make_old();
    assert_refused("out", false, KG_BAD_INPUT, "out: it exists already (`replace` replaces it)");
    assert_refused("out//", false, KG_BAD_INPUT, "out: it exists already (`replace` replaces it)");
    write_file("file", TEXT("x"));
    static const bool replace[] = {false, true};
    for (size_t i = 0; i < 2; i++)
        assert_refused("file", replace[i], KG_BAD_INPUT,
                       "file: expected the name of a new folder, found a file");
    assert_int_equal(symlink("out", "link"), 0);
    for (size_t i = 0; i < 2; i++)
        assert_refused("link", replace[i], KG_BAD_INPUT,
                       "link: expected the name of a new folder, found a symbolic link");
    assert_file("out/a.tsv", TEXT("old A"));
}

/* A folder is replaced by giving its name to another, so it must be called by that name. */
static void test_no_own_name(void **state) {
    (void)state;
    make_old();
    assert_refused("out/./", true, KG_BAD_INPUT,
                   "out/.: not replaced: expected the folder's own name");
    assert_file("out/a.tsv", TEXT("old A"));
}

static void test_replace(void **state) {
    (void)state;
    make_old();
    kg_folder *folder = start("out/", true);
    add(folder, "a.tsv", TEXT("new A"));
    add(folder, "about.json", TEXT("{}"));
    assert_file("out/a.tsv", TEXT("old A"));
    assert_int_equal(count_entries("out"), 2);
    commit(folder);
    assert_file("out/a.tsv", TEXT("new A"));
    assert_int_equal(count_entries("out"), 2);
    assert_false(file_exists("out/b.tsv"));
    assert_int_equal(count_entries("."), 1); /* nothing is left of the old one */
    folder = start("new", true);             /* replacing nothing is fine */
    commit(folder);
    assert_true(file_exists("new"));
}

static void test_replace_given_up(void **state) {
    (void)state;
    make_old();
    kg_folder *folder = start("out", true);
    add(folder, "a.tsv", TEXT("new A"));
    kg__folder_close(folder);
    assert_file("out/a.tsv", TEXT("old A"));
    assert_file("out/b.tsv", TEXT("old B"));
    assert_int_equal(count_entries("."), 1);
}

static void test_only_own_files_are_replaced(void **state) {
    (void)state;
    make_old();
    write_file("out/thesis.tex", TEXT("years"));
    assert_refused("out", true, KG_BAD_INPUT,
                   "out: not replaced: it holds 'thesis.tex', which kgraft did not make");
    assert_int_equal(unlink("out/thesis.tex"), 0);
    assert_int_equal(mkdir("out/.hidden", 0777), 0);
    assert_refused("out", true, KG_BAD_INPUT,
                   "out: not replaced: it holds '.hidden', which kgraft did not make");
    assert_file("out/a.tsv", TEXT("old A"));
}

/* What has one of our names but is no file is not ours: neither written to nor taken away. */
static void test_no_files_under_own_names(void **state) {
    (void)state;
    make_old();
    assert_int_equal(unlink("out/a.tsv"), 0);
    assert_int_equal(symlink("/dev/null", "out/a.tsv"), 0);
    static const char expected[] = "out: not replaced: it holds 'a.tsv', which kgraft did not make";
    assert_refused("out", true, KG_BAD_INPUT, expected);
    assert_int_equal(unlink("out/a.tsv"), 0);
    assert_int_equal(mkdir("out/a.tsv", 0777), 0);
    assert_refused("out", true, KG_BAD_INPUT, expected);
}

/* Between start and commit the world goes on. */
static void test_place_is_taken_meanwhile(void **state) {
    (void)state;
    kg_error error = {0};
    kg_folder *folder = start("out", false);
    add(folder, "a.tsv", TEXT("A"));
    assert_int_equal(mkdir("out", 0777), 0);
    assert_status(kg__folder_commit(folder, &error), KG_BAD_INPUT, &error);
    kg__folder_close(folder);
    assert_int_equal(count_entries("out"), 0);
    folder = start("out", true);
    add(folder, "a.tsv", TEXT("A"));
    write_file("out/foreign", TEXT("x"));
    assert_status(kg__folder_commit(folder, &error), KG_BAD_INPUT, &error);
    kg__folder_close(folder);
    assert_int_equal(count_entries("out"), 1);
    assert_int_equal(count_entries("."), 1);
}

static void test_no_such_parent(void **state) {
    (void)state;
    assert_refused("no/out", false, KG_BAD_INPUT,
                   "no/out: cannot create it: No such file or directory");
    write_file("file", TEXT("x"));
    assert_refused("file/out", false, KG_BAD_INPUT, "file/out: cannot create it: Not a directory");
}

static void test_permissions(void **state) {
    (void)state;
    static const mode_t masks[] = {022, 077, 02};
    for (size_t i = 0; i < COUNT_OF(masks); i++) {
        mode_t before = umask(masks[i]);
        kg_folder *folder = start("out", true);
        add(folder, "a.tsv", TEXT("A"));
        commit(folder);
        umask(before);
        struct stat info;
        assert_int_equal(stat("out", &info), 0);
        assert_int_equal(info.st_mode & 0777, 0777 & ~masks[i]);
        assert_int_equal(stat("out/a.tsv", &info), 0);
        assert_int_equal(info.st_mode & 0777, 0666 & ~masks[i]);
    }
}

static void test_too_many_files(void **state) {
    (void)state;
    kg_folder *folder = start("out", false);
    char name[8];
    for (int i = 0; i < KG_FOLDER_FILES; i++) {
        snprintf(name, sizeof name, "%d", i);
        add(folder, name, text_of(name));
    }
    kg_output *output = NULL;
    kg_error error = {0};
    assert_status(kg__folder_add(folder, &output, "more", &error), KG_BAD_INPUT, &error);
    commit(folder);
    assert_int_equal(count_entries("out"), KG_FOLDER_FILES);
}

/* A name may be as long as the file system allows. */
static void test_longest_name(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    kg_folder *folder = start(name, false);
    add(folder, "a.tsv", TEXT("A"));
    commit(folder);
    assert_int_equal(count_entries(name), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_commit),
        test_in_folder(test_given_up),
        test_in_folder(test_empty),
        test_in_folder(test_ways_to_write_a_path),
        test_in_folder(test_existing_is_refused),
        test_in_folder(test_no_own_name),
        test_in_folder(test_replace),
        test_in_folder(test_replace_given_up),
        test_in_folder(test_only_own_files_are_replaced),
        test_in_folder(test_no_files_under_own_names),
        test_in_folder(test_place_is_taken_meanwhile),
        test_in_folder(test_no_such_parent),
        test_in_folder(test_permissions),
        test_in_folder(test_too_many_files),
        test_in_folder(test_longest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
