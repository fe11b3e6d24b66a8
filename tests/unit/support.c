/* The unit tests' common ground; see support.h. */
#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.h"
#include "model/model_folder.h"

text text_of(const char *string) {
    return (text){string, strlen(string)};
}

/* Tests fail through cmocka, which needs to know where. */
static void fail_at(const char *file, int line) {
    _fail(file, line);
}

void check_status(kg_status found, kg_status expected, const kg_error *error, const char *call,
                  const char *file, int line) {
    if (found == expected)
        return;
    char shown[KG_ERROR_TEXT_MAX] = "(no text)";
    if (found != KG_OK && error != NULL)
        kg__error_text(shown, sizeof shown, error);
    print_error("%s gives status %d, expected %d: %s\n", call, (int)found, (int)expected, shown);
    fail_at(file, line);
}

void check_error_text(const kg_error *error, const char *expected, const char *file, int line) {
    char shown[KG_ERROR_TEXT_MAX];
    kg__error_text(shown, sizeof shown, error);
    if (strcmp(shown, expected) == 0)
        return;
    print_error("expected: %s\nfound:    %s\n", expected, shown);
    fail_at(file, line);
}

void check_text(text found, text expected, const char *file, int line) {
    if (found.length == expected.length &&
        (found.length == 0 || memcmp(found.bytes, expected.bytes, found.length) == 0))
        return;
    print_error("expected %zu bytes: %s\nfound    %zu bytes: %s\n", expected.length,
                kg__quote(expected.bytes, expected.length).text, found.length,
                kg__quote(found.bytes, found.length).text);
    fail_at(file, line);
}

static void write_all(int fd, text content) {
    for (size_t done = 0; done < content.length;) {
        ssize_t count = write(fd, content.bytes + done, content.length - done);
        assert_true(count > 0);
        done += (size_t)count;
    }
}

int open_memory(text content) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    write_all(fd, content);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

kg_input *open_text_as(text content, const char *name, kg_coding coding) {
    kg_input *input = NULL;
    kg_error error = {0};
    assert_ok(kg__input_from_fd(&input, open_memory(content), name, coding, &error), &error);
    return input;
}

kg_input *open_text(text content, const char *name) {
    return open_text_as(content, name, KG_ANY_CODING);
}

int replace_standard_input(text content) {
    int before = dup(STDIN_FILENO);
    int file = open_memory(content);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    close(file);
    return before;
}

void restore_standard_input(int before) {
    dup2(before, STDIN_FILENO);
    close(before);
}

text compress_text(text plain) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&stream, plain.length);
    char *bytes = must_allocate(room, 1);
    stream.next_in = (Bytef *)plain.bytes;
    stream.avail_in = (uInt)plain.length;
    stream.next_out = (Bytef *)bytes;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t size = stream.total_out;
    deflateEnd(&stream);
    return (text){bytes, size};
}

kg_id find_name(const kg_names *names, const char *name) {
    return kg__names_find(names, kg__name_of(name, strlen(name)));
}

void assert_name(const kg_names *names, kg_id id, const char *expected) {
    assert_true(id < names->count);
    kg_name name = kg__names_get(names, id);
    assert_text(name.bytes, name.length, text_of(expected));
}

char *show_facts(const kg_dataset *dataset, kg_part part) {
    char *shown = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&shown, &size);
    assert_non_null(stream);
    const kg_triples *facts = &dataset->parts[part];
    const kg_names *entities = kg__dataset_names(dataset, part);
    for (size_t i = 0; i < facts->count; i++) {
        kg_name head = kg__names_get(entities, facts->items[i].head);
        kg_name relation = kg__names_get(&dataset->relations, facts->items[i].relation);
        kg_name tail = kg__names_get(entities, facts->items[i].tail);
        fprintf(stream, "%.*s %.*s %.*s\n", (int)head.length, head.bytes, (int)relation.length,
                relation.bytes, (int)tail.length, tail.bytes);
    }
    fclose(stream);
    return shown;
}

void check_facts(const kg_dataset *dataset, kg_part part, const char *expected, const char *file,
                 int line) {
    char *shown = show_facts(dataset, part);
    bool same = strcmp(shown, expected) == 0;
    if (!same)
        print_error("%s: expected:\n%sfound:\n%s", kg__part_name(part), expected, shown);
    free(shown);
    if (!same)
        fail_at(file, line);
}

void make_dataset(kg_dataset *dataset, const char *facts) {
    kg_error error = {0};
    assert_ok(kg__dataset_open(dataset, &error), &error);
    kg_part part = KG_TRAIN;
    for (const char *at = facts; *at != '\0'; at++) {
        if (*at == '\n') {
            part = part == KG_UNSEEN_TEST ? KG_GRAPH : part + 1;
            assert_ok(kg__dataset_enter(dataset, part, &error), &error);
            continue;
        }
        kg_name names[3];
        for (int i = 0; i < 3; i++) {
            size_t length = strcspn(at, " \n");
            names[i] = kg__name_of(at, length);
            at += length + (i < 2);
        }
        assert_ok(kg__dataset_add_one(dataset, names[0], names[1], names[2], &error), &error);
    }
    assert_ok(kg__dataset_finish(dataset, &error), &error);
}

void write_model_folder(const char *path, const kg_model_parts *parts) {
    kg_error error = {0};
    kg_folder *folder = NULL;
    assert_ok(kg__folder_start(&folder, path, true, kg__model_files, &error), &error);
    assert_ok(kg__model_folder_fill(folder, parts, &error), &error);
    assert_ok(kg__folder_commit(folder, &error), &error);
    kg__folder_close(folder);
}

static char temporary_folder[512];

int enter_temporary_folder(void **state) {
    (void)state;
    const char *place = getenv("TMPDIR");
    snprintf(temporary_folder, sizeof temporary_folder, "%s/kgraft-unit-XXXXXX",
             place == NULL ? "/tmp" : place);
    return mkdtemp(temporary_folder) == NULL ? -1 : chdir(temporary_folder);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

int leave_temporary_folder(void **state) {
    (void)state;
    return chdir("/") != 0 ? -1 : nftw(temporary_folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void write_file(const char *path, text content) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    write_all(fd, content);
    assert_int_equal(close(fd), 0);
}

bool file_exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

size_t count_entries(const char *folder) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t count = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

char *read_file(const char *path, size_t *size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    char *bytes = must_allocate((size_t)info.st_size + 1, 1);
    *size = 0;
    for (ssize_t count = 1; count > 0 && *size < (size_t)info.st_size; *size += (size_t)count) {
        count = read(fd, bytes + *size, (size_t)info.st_size - *size);
        assert_true(count >= 0);
    }
    close(fd);
    bytes[*size] = '\0';
    return bytes;
}

void check_file(const char *path, text expected, const char *file, int line) {
    size_t size = 0;
    char *bytes = read_file(path, &size);
    check_text((text){bytes, size}, expected, file, line);
    free(bytes);
}

void *must_allocate(size_t count, size_t size) {
    void *block = calloc(count == 0 ? 1 : count, size);
    assert_non_null(block);
    return block;
}

uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

uint64_t next_below(uint64_t *state, uint64_t bound) {
    return next_random(state) % bound;
}
