/* Read from files in /proc. */
#include "base/peak_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define FIELD "VmHWM:"

uint64_t kg__peak_memory(void) {
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    uint64_t kilobytes = 0;
    if (status == NULL)
        return 0;
    while (kilobytes == 0 && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, FIELD, strlen(FIELD)) == 0)
            kilobytes = strtoumax(line + strlen(FIELD), NULL, 10);
    fclose(status);
    return kilobytes * 1024;
}

void kg__return_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Freed memory is returned to the system first, or it would count. */
void kg__peak_memory_reset(void) {
    kg__return_memory();
    FILE *references = fopen("/proc/self/clear_refs", "we");
    if (references == NULL)
        return;
    fputs("5", references);
    fclose(references);
}
