/* Limits as Linux tells them: sysconf, getrlimit, and files of control groups, of version 2 and,
 * where a container shows its own as the root, of version 1. */
#include "base/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GROUPS "/sys/fs/cgroup"

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* A number that a file begins with; without one, as in "max", there is no limit. */
static uint64_t read_limit(const char *path) {
    FILE *file = fopen(path, "re");
    char line[64];
    char *end = line;
    uint64_t bytes = 0;
    if (file == NULL)
        return UINT64_MAX;
    if (fgets(line, sizeof line, file) != NULL)
        bytes = strtoumax(line, &end, 10);
    fclose(file);
    return end == line ? UINT64_MAX : bytes;
}

/* Of the group with that path, and of those above it. */
static uint64_t limit_of_groups(char *group) {
    uint64_t limit = UINT64_MAX;
    for (char *end = group + strlen(group); end != NULL; end = strrchr(group, '/')) {
        char path[1024];
        *end = '\0';
        int length = snprintf(path, sizeof path, GROUPS "%s/memory.max", group);
        if (length > 0 && (size_t)length < sizeof path)
            limit = least(limit, read_limit(path));
    }
    return limit;
}

static uint64_t limit_of_own_groups(void) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[512];
    uint64_t limit = UINT64_MAX;
    if (file == NULL)
        return UINT64_MAX;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "0::", 3) == 0) {
            line[strcspn(line, "\n")] = '\0';
            limit = limit_of_groups(line + 3);
        }
    fclose(file);
    return limit;
}

uint64_t kg__memory_limit(void) {
    uint64_t limit = read_limit(GROUPS "/memory/memory.limit_in_bytes");
    struct rlimit addresses;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        limit = least(limit, (uint64_t)pages * (uint64_t)page);
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
        limit = least(limit, (uint64_t)addresses.rlim_cur);
    return least(limit, limit_of_own_groups());
}
