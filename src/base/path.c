/* Cutting and joining paths. */
#include "base/path.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/memory.h"

char *kg_path_join(const char *folder, const char *name) {
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *out = kg_resize(NULL, size, 1);
    if (out != NULL)
        snprintf(out, size, "%s/%s", folder, name);
    return out;
}

static size_t without_slashes(const char *path, size_t length) {
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

char *kg_path_parent(const char *path) {
    size_t length = without_slashes(path, strlen(path));
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length == 0)
        return kg_copy_string(".", 1);
    return kg_copy_string(path, without_slashes(path, length));
}

char *kg_path_trim(const char *path) {
    return kg_copy_string(path, without_slashes(path, strlen(path)));
}

char *kg_path_partial(const char *path) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)getpid();
    static const size_t suffix = sizeof ".partial-0123456789abcdef" - 1;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t folder = (size_t)(name - path);
    size_t kept = strlen(name) < NAME_MAX - suffix ? strlen(name) : NAME_MAX - suffix;
    size_t size = folder + kept + suffix + 1;
    char *out = kg_resize(NULL, size, 1);
    if (out != NULL)
        snprintf(out, size, "%.*s.partial-%016jx", (int)(folder + kept), path, (uintmax_t)number);
    return out;
}
