/* Outputs over file descriptors, with a buffer, a checksum and a durable commit. */
#define _GNU_SOURCE
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"

#define BUFFER_SIZE ((size_t)1 << 20)

struct kg_output {
    char *path;      /* its final path; also its name in messages */
    char *temporary; /* its temporary path; NULL if it has no name */
    int fd;
    bool direct; /* standard output, a pipe, a device: nothing to put in place */
    char *buffer;
    size_t buffered;
    uint64_t size;
    kg_hasher *hasher;
    uint64_t head_size;
    kg_checksum head_checksum;
};

kg_status kg__sync_folder(const char *folder, kg_error *error) {
    kg_status status = KG_OK;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a folder and say so with EINVAL: then there is nothing to do.
     */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        status = kg__fail_errno(error, folder, "sync the folder");
    if (fd >= 0)
        close(fd);
    return status;
}

kg_status kg__output_check(const char *path, bool replace, kg_error *error) {
    struct stat info;
    if (replace || strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return KG_OK;
    return kg_fail_at(error, path, 0, 0, "it exists already (`replace` replaces it)");
}

/* A file without a name in the folder of `path`, or -1 where the file system has none. */
static int open_nameless(const char *path) {
    char *parent = kg__path_parent(path);
    if (parent == NULL || access("/proc/self/fd", X_OK) != 0) {
        kg__free(parent);
        return -1;
    }
    int fd = open(parent, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    kg__free(parent);
    return fd;
}

static kg_status open_file(kg_output *output, const char *beside, kg_error *error) {
    struct stat info;
    if (strcmp(output->path, "-") == 0) {
        output->direct = true;
        output->fd = dup(STDOUT_FILENO);
    } else if (stat(output->path, &info) == 0 && !S_ISREG(info.st_mode)) {
        output->direct = true;
        output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
    } else {
        output->fd = open_nameless(beside);
        if (output->fd >= 0)
            return KG_OK;
        output->temporary = kg__path_aside(beside, KG_PARTIAL);
        if (output->temporary == NULL)
            return kg__fail_memory(error);
        output->fd = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->fd >= 0) /* without the lock it would look abandoned */
            (void)!flock(output->fd, LOCK_EX | LOCK_NB);
    }
    return output->fd < 0 ? kg__fail_errno(error, output->path, "create it") : KG_OK;
}

kg_status kg__output_open(kg_output **out, const char *path, const char *beside, kg_error *error) {
    kg_output *output = kg__alloc(1, sizeof *output);
    if (output == NULL)
        return kg__fail_memory(error);
    output->fd = -1;
    output->path = kg__copy_string(path, strlen(path));
    output->buffer = kg__resize(NULL, BUFFER_SIZE, 1);
    output->hasher = kg__hasher_new();
    kg_status status = KG_OK;
    if (output->path == NULL || output->buffer == NULL || output->hasher == NULL)
        status = kg__fail_memory(error);
    else
        status = open_file(output, beside, error);
    if (status != KG_OK) {
        kg__output_close(output);
        return status;
    }
    *out = output;
    return KG_OK;
}

void kg__output_close(kg_output *output) {
    if (output == NULL)
        return;
    if (output->fd >= 0)
        close(output->fd);
    if (output->fd >= 0 && output->temporary != NULL)
        unlink(output->temporary);
    kg__hasher_free(output->hasher);
    kg__free(output->buffer);
    kg__free(output->temporary);
    kg__free(output->path);
    kg__free(output);
}

static const char *shown_name(const kg_output *output) {
    return strcmp(output->path, "-") == 0 ? "standard output" : output->path;
}

static kg_status write_out(kg_output *output, const char *bytes, size_t size, kg_error *error) {
    while (size > 0) {
        ssize_t count = write(output->fd, bytes, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return kg__fail_errno(error, shown_name(output), "write to it");
        bytes += count;
        size -= (size_t)count;
    }
    return KG_OK;
}

static kg_status flush(kg_output *output, kg_error *error) {
    size_t size = output->buffered;
    output->buffered = 0;
    return write_out(output, output->buffer, size, error);
}

kg_status kg__output_write(kg_output *output, const void *bytes, size_t size, kg_error *error) {
    kg__hasher_add(output->hasher, bytes, size);
    output->size += size;
    if (size > BUFFER_SIZE - output->buffered)
        KG_TRY(flush(output, error));
    if (size >= BUFFER_SIZE)
        return write_out(output, bytes, size, error);
    memcpy(output->buffer + output->buffered, bytes, size);
    output->buffered += size;
    return KG_OK;
}

kg_status kg__output_finish(kg_output *output, kg_error *error) {
    KG_TRY(flush(output, error));
    if (!output->direct && fsync(output->fd) != 0)
        return kg__fail_errno(error, output->path, "sync it");
    return KG_OK;
}

/* A link cannot take the place of a file that exists, a rename can. */
static kg_status give_name(kg_output *output, const char *path, kg_error *error) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", output->fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
        return KG_OK;
    if (errno != EEXIST)
        return kg__fail_errno(error, path, "create it");
    output->temporary = kg__path_aside(path, KG_PARTIAL);
    if (output->temporary == NULL)
        return kg__fail_memory(error);
    if (linkat(AT_FDCWD, self, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW) != 0)
        return kg__fail_errno(error, path, "create it");
    return KG_OK;
}

kg_status kg__output_place(kg_output *output, const char *path, kg_error *error) {
    if (output->direct)
        return KG_OK;
    if (output->temporary == NULL)
        KG_TRY(give_name(output, path, error));
    if (output->temporary != NULL && rename(output->temporary, path) != 0)
        return kg__fail_errno(error, path, "put it in place");
    close(output->fd);
    output->fd = -1;
    return KG_OK;
}

kg_status kg__output_commit(kg_output *output, kg_error *error) {
    KG_TRY(kg__output_finish(output, error));
    if (output->direct)
        return KG_OK;
    char *parent =
        kg__path_parent(output->path); /* now: later nothing may fail for lack of memory */
    if (parent == NULL)
        return kg__fail_memory(error);
    kg_status status = kg__output_place(output, output->path, error);
    if (status == KG_OK)
        status = kg__sync_folder(parent, error);
    kg__free(parent);
    return status;
}

kg_status kg__output_map(kg_output *output, kg_mapping *out, kg_error *error) {
    KG_TRY(flush(output, error));
    return kg__mapping_of_file(out, output->fd, output->path, error);
}

uint64_t kg__output_size(const kg_output *output) {
    return output->size;
}

kg_checksum kg__output_checksum(const kg_output *output) {
    return kg__hasher_checksum(output->hasher);
}

void kg__output_end_head(kg_output *output) {
    output->head_size = output->size;
    output->head_checksum = kg__output_checksum(output);
}

uint64_t kg__output_head_size(const kg_output *output) {
    return output->head_size;
}

kg_checksum kg__output_head_checksum(const kg_output *output) {
    return output->head_checksum;
}

kg_status kg__output_save(const char *path, const void *bytes, size_t size, kg_error *error) {
    kg_output *output = NULL;
    KG_TRY(kg__output_open(&output, path, path, error));
    kg_status status = kg__output_write(output, bytes, size, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    return status;
}
