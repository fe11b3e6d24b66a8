/* Paths that are joined, cut, resolved, or marked with a random number. */
#include "base/path.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define NUMBER_LENGTH 16 /* digits of the random number */

char *kg__path_join(const char *folder, const char *name) {
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *out = kg__resize(NULL, size, 1);
    if (out != NULL)
        snprintf(out, size, "%s/%s", folder, name);
    return out;
}

static size_t without_slashes(const char *path, size_t length) {
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

char *kg__path_parent(const char *path) {
    size_t length = without_slashes(path, strlen(path));
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length == 0)
        return kg__copy_string(".", 1);
    return kg__copy_string(path, without_slashes(path, length));
}

char *kg__path_trim(const char *path) {
    return kg__copy_string(path, without_slashes(path, strlen(path)));
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* How much of a name is kept so that a mark and a number fit behind it. */
static size_t kept_of(const char *name, const char *mark) {
    size_t most = NAME_MAX - strlen(mark) - NUMBER_LENGTH;
    return strlen(name) < most ? strlen(name) : most;
}

char *kg__path_aside(const char *path, const char *mark) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)getpid();
    const char *name = name_of(path);
    size_t kept = (size_t)(name - path) + kept_of(name, mark);
    size_t size = kept + strlen(mark) + NUMBER_LENGTH + 1;
    char *out = kg__resize(NULL, size, 1);
    if (out != NULL)
        snprintf(out, size, "%.*s%s%016jx", (int)kept, path, mark, (uintmax_t)number);
    return out;
}

bool kg__path_is_aside(const char *name, const char *of, const char *mark) {
    size_t kept = kept_of(of, mark);
    if (strncmp(name, of, kept) != 0 || strncmp(name + kept, mark, strlen(mark)) != 0)
        return false;
    const char *number = name + kept + strlen(mark);
    return strlen(number) == NUMBER_LENGTH && strspn(number, "0123456789abcdef") == NUMBER_LENGTH;
}

char *kg__path_resolve(const char *path) {
    char target[PATH_MAX];
    char *trimmed = kg__path_trim(path);
    struct stat info;
    if (trimmed == NULL || lstat(trimmed, &info) != 0 || !S_ISLNK(info.st_mode) ||
        realpath(trimmed, target) == NULL)
        return trimmed;
    kg__free(trimmed);
    return kg__copy_string(target, strlen(target));
}

char *kg__path_absolute(const char *path) {
    char target[PATH_MAX];
    return realpath(path, target) == NULL ? kg__path_trim(path)
                                          : kg__copy_string(target, strlen(target));
}
