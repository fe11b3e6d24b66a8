/* Inputs by zlib, which reads gzip and plain files alike, or by read(2) where bytes must be read
 * unchanged. */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"

#define GZIP_BUFFER (256u << 10)
#define READ_MAX ((size_t)1 << 30) /* zlib counts in int */

struct kg_input {
    char *name;
    int fd;    /* -1 once zlib owns it */
    gzFile gz; /* NULL for KG_PLAIN */
    uint64_t position;
    uint64_t total;
    kg_hasher *hasher;
};

void kg__input_close(kg_input *input) {
    if (input == NULL)
        return;
    if (input->gz != NULL)
        gzclose(input->gz);
    if (input->fd >= 0)
        close(input->fd);
    kg__hasher_free(input->hasher);
    kg__free(input->name);
    kg__free(input);
}

static kg_status set_up(kg_input *input, const char *name, kg_coding coding, kg_error *error) {
    input->name = kg__copy_string(name, strlen(name));
    input->hasher = kg__hasher_new();
    if (input->name == NULL || input->hasher == NULL)
        return kg__fail_memory(error);
    struct stat info;
    if (fstat(input->fd, &info) != 0)
        return kg__fail_errno(error, name, "look at it");
    if (S_ISDIR(info.st_mode))
        return kg_fail_at(error, name, 0, 0, "expected a file, found a directory");
    input->total = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    if (coding == KG_PLAIN)
        return KG_OK;
    input->gz = gzdopen(input->fd, "rb");
    if (input->gz == NULL)
        return kg__fail_memory(error);
    input->fd = -1;
    return gzbuffer(input->gz, GZIP_BUFFER) == 0 ? KG_OK : kg__fail_memory(error);
}

kg_status kg__input_from_fd(kg_input **out, int fd, const char *name, kg_coding coding,
                            kg_error *error) {
    kg_input *input = kg__alloc(1, sizeof *input);
    if (input == NULL) {
        close(fd);
        return kg__fail_memory(error);
    }
    input->fd = fd;
    kg_status status = set_up(input, name, coding, error);
    if (status != KG_OK) {
        kg__input_close(input);
        return status;
    }
    *out = input;
    return KG_OK;
}

const char *kg__input_title(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

kg_status kg__input_open(kg_input **out, const char *path, kg_coding coding, kg_error *error) {
    bool is_standard = strcmp(path, "-") == 0;
    int fd = is_standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kg__fail_errno(error, kg__input_title(path), "open it");
    return kg__input_from_fd(out, fd, kg__input_title(path), coding, error);
}

static kg_status gzip_failure(kg_input *input, kg_error *error) {
    int code = Z_OK;
    gzerror(input->gz, &code);
    if (code == Z_ERRNO)
        return kg__fail_errno(error, input->name, "read it");
    if (code == Z_MEM_ERROR)
        return kg__fail_memory(error);
    return kg_fail_at(error, input->name, 0, 0, "expected intact gzip data, found that %s",
                      code == Z_BUF_ERROR ? "the file ends too early" : "it is damaged");
}

static kg_status read_gzip(kg_input *input, char *buffer, size_t size, size_t *got,
                           kg_error *error) {
    *got = 0;
    while (*got < size) {
        size_t piece = size - *got < READ_MAX ? size - *got : READ_MAX;
        int count = gzread(input->gz, buffer + *got, (unsigned)piece);
        if (count < 0)
            return gzip_failure(input, error);
        *got += (size_t)count;
        if ((size_t)count < piece)
            break;
    }
    int code = Z_OK;
    gzerror(input->gz, &code);
    if (*got < size && code != Z_OK && code != Z_STREAM_END)
        return gzip_failure(input, error);
    z_off_t offset = gzoffset(input->gz);
    input->position = offset < 0 ? 0 : (uint64_t)offset;
    return KG_OK;
}

static kg_status read_plain(kg_input *input, char *buffer, size_t size, size_t *got,
                            kg_error *error) {
    *got = 0;
    while (*got < size) {
        ssize_t count = read(input->fd, buffer + *got, size - *got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return kg__fail_errno(error, input->name, "read it");
        if (count == 0)
            break;
        *got += (size_t)count;
    }
    input->position += *got;
    return KG_OK;
}

kg_status kg__input_read(kg_input *input, void *buffer, size_t size, size_t *got, kg_error *error) {
    if (input->gz != NULL)
        KG_TRY(read_gzip(input, buffer, size, got, error));
    else
        KG_TRY(read_plain(input, buffer, size, got, error));
    kg__hasher_add(input->hasher, buffer, *got);
    return KG_OK;
}

const char *kg__input_name(const kg_input *input) {
    return input->name;
}

uint64_t kg__input_position(const kg_input *input) {
    return input->position;
}

uint64_t kg__input_total(const kg_input *input) {
    return input->total;
}

kg_checksum kg__input_checksum(const kg_input *input) {
    return kg__hasher_checksum(input->hasher);
}
