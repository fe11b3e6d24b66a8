/* Mapping by mmap. */
#include "base/file_mapping.h"

#include <fcntl.h>
#include <stdint.h>
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

kg_status kg__mapping_of_file(kg_mapping *mapping, int fd, const char *path, kg_error *error) {
    *mapping = (kg_mapping){.path = kg__copy_string(path, strlen(path))};
    kg_status status = mapping->path == NULL ? kg__fail_memory(error) : map(mapping, fd, error);
    if (status != KG_OK)
        kg__mapping_close(mapping);
    return status;
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
    *mapping = (kg_mapping){0};
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return kg__fail_memory(error);
    madvise(bytes, size, MADV_NOHUGEPAGE); /* only advice; pages that are small are given back */
    mapping->bytes = bytes;
    mapping->size = size;
    return KG_OK;
}

/* Only advice: it may fail. */
void kg__mapping_give_back(const void *bytes, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t skipped = (page - (uintptr_t)bytes % page) % page;
    if (size > skipped)
        madvise((char *)bytes + skipped, size - skipped, MADV_DONTNEED);
}

void kg__mapping_clear(void *bytes, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t skipped = (page - (uintptr_t)bytes % page) % page;
    if (size >= skipped + page)
        madvise((char *)bytes + skipped, (size - skipped) / page * page, MADV_DONTNEED);
}

void kg__mapping_copy(void *to, const void *bytes, size_t size) {
    for (size_t from = 0, piece = 0; from < size; from += piece) {
        piece = size - from < KG_PIECE ? size - from : KG_PIECE;
        memcpy((char *)to + from, (const char *)bytes + from, piece);
        kg__mapping_give_back((const char *)bytes + from, piece);
    }
}

void kg__mapping_close(kg_mapping *mapping) {
    if (mapping->bytes != NULL)
        munmap(mapping->bytes, mapping->size);
    kg__free(mapping->path);
    *mapping = (kg_mapping){0};
}
