/* Mappings in plain memory, where a sanitizer sees a step outside: instead of the library's, in
 * fuzzers that link this file. Files are read when they are mapped. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "fuzz.h"

kg_status kg__open_regular(int *fd, const char *path, kg_error *error) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return *fd < 0 ? kg__fail_errno(error, path, "open it") : KG_OK;
}

kg_status kg__mapping_of_file(kg_mapping *mapping, int fd, const char *path, kg_error *error) {
    struct stat info;
    void *bytes = NULL;
    (void)error;
    fuzz_require(fstat(fd, &info) == 0);
    size_t size = (size_t)info.st_size;
    fuzz_require(size == 0 || posix_memalign(&bytes, 64, size) == 0);
    fuzz_require(size == 0 || pread(fd, bytes, size, 0) == (ssize_t)size);
    *mapping = (kg_mapping){bytes, size, kg__copy_string(path, strlen(path))};
    return KG_OK;
}

kg_status kg__mapping_open(kg_mapping *mapping, const char *path, kg_error *error) {
    int fd = -1;
    *mapping = (kg_mapping){0};
    KG_TRY(kg__open_regular(&fd, path, error));
    kg_status status = kg__mapping_of_file(mapping, fd, path, error);
    close(fd);
    return status;
}

kg_status kg__mapping_reserve(kg_mapping *mapping, size_t size, kg_error *error) {
    void *bytes = NULL;
    (void)error;
    fuzz_require(posix_memalign(&bytes, 64, size) == 0);
    memset(bytes, 0, size);
    *mapping = (kg_mapping){bytes, size, NULL};
    return KG_OK;
}

void kg__mapping_give_back(const void *bytes, size_t size) {
    (void)bytes;
    (void)size;
}

void kg__mapping_copy(void *to, const void *bytes, size_t size) {
    memcpy(to, bytes, size);
}

void kg__mapping_close(kg_mapping *mapping) {
    free(mapping->bytes);
    kg__free(mapping->path);
    *mapping = (kg_mapping){0};
}
