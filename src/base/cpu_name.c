/* Read from /proc/cpuinfo. */
#include "base/cpu_name.h"

#include <stdio.h>
#include <string.h>

char *kg__processor_name(char *out) {
    static const char field[] = "model name";
    char line[256];
    snprintf(out, KG_PROCESSOR_MAX, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL)
        return out;
    while (fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, ':');
        if (strncmp(line, field, strlen(field)) != 0 || value == NULL)
            continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, KG_PROCESSOR_MAX, "%s", value);
        break;
    }
    fclose(file);
    return out;
}
