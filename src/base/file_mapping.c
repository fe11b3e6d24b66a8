/* Mapping by mmap. */
#include "base/file_mapping.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

static kg_status check_regular(int fd, const char *path, kg_error *error) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return kg__fail_errno(error, path, "look at it");
    if (!S_ISREG(info.st_mode))
        return kg_fail_at(error, path, 0, 0, "expected a file, found something else");
    return KG_OK;
}

kg_status kg__open_regular(int *fd, const char *path, kg_error *error) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return kg__fail_errno(error, path, "open it");
    kg_status status = check_regular(*fd, path, error);
    if (status != KG_OK)
        close(*fd);
    return status;
}

static kg_status map(kg_mapping *mapping, int fd, kg_error *error) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return kg__fail_errno(error, mapping->path, "look at it");
    if (info.st_size == 0)
        return KG_OK;
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return kg__fail_errno(error, mapping->path, "map it");
    mapping->bytes = bytes;
    mapping->size = (size_t)info.st_size;
    return KG_OK;
}

kg_status kg__mapping_open(kg_mapping *mapping, const char *path, kg_error *error) {
    *mapping = (kg_mapping){.path = kg__copy_string(path, strlen(path))};
    if (mapping->path == NULL)
        return kg__fail_memory(error);
    int fd = -1;
    kg_status status = kg__open_regular(&fd, path, error);
    if (status == KG_OK) {
        status = map(mapping, fd, error);
        close(fd);
    }
    if (status != KG_OK)
        kg__mapping_close(mapping);
    return status;
}

void kg__mapping_close(kg_mapping *mapping) {
    if (mapping->bytes != NULL)
        munmap(mapping->bytes, mapping->size);
    kg__free(mapping->path);
    *mapping = (kg_mapping){0};
}
