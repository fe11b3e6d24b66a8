/* Mapping by mmap. */
#include "base/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static kg_status map(kg_mapping *mapping, int fd, const char *path, kg_error *error) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return kg_fail_errno(error, path, "look at it");
    if (!S_ISREG(info.st_mode))
        return kg_fail_at(error, path, 0, 0, "expected a file, found something else");
    if (info.st_size == 0)
        return KG_OK;
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return kg_fail_errno(error, path, "map it");
    *mapping = (kg_mapping){bytes, (size_t)info.st_size};
    return KG_OK;
}

kg_status kg_mapping_open(kg_mapping *mapping, const char *path, kg_error *error) {
    *mapping = (kg_mapping){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return kg_fail_errno(error, path, "open it");
    kg_status status = map(mapping, fd, path, error);
    close(fd);
    return status;
}

void kg_mapping_close(kg_mapping *mapping) {
    if (mapping->bytes != NULL)
        munmap(mapping->bytes, mapping->size);
    *mapping = (kg_mapping){0};
}
