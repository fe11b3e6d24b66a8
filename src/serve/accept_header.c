/* Accept and Accept-Encoding: the list element that matches a media type or coding best. */
#include "serve/accept_header.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How well the first `length` bytes name something: 0 not at all, 3 by its name. */
static int fit(const char *range, size_t length, const char *name) {
    size_t part = strcspn(name, "/") + 1;
    if (length == strlen(name) && strncasecmp(range, name, length) == 0)
        return 3;
    if (length == part + 1 && strncasecmp(range, name, part) == 0 && range[part] == '*')
        return 2;
    bool is_any =
        (length == 1 && range[0] == '*') || (length == 3 && strncmp(range, "*/*", 3) == 0);
    return is_any ? 1 : 0;
}

/* The parameter q of an element, 1 if there is none. */
static double weight_of(const char *element, size_t length) {
    const char *end = element + length;
    for (const char *at = memchr(element, ';', length); at != NULL && at < end;
         at = memchr(at, ';', (size_t)(end - at))) {
        at++;
        at += strspn(at, " \t");
        if (at < end && (*at == 'q' || *at == 'Q') && at[1] == '=')
            return strtod(at + 2, NULL);
    }
    return 1;
}

double serve_accept_weight(const char *header, const char *name) {
    int best = 0;
    double weight = 0;
    for (const char *at = header; *at != '\0';) {
        at += strspn(at, " \t,");
        size_t length = strcspn(at, ",");
        int found = fit(at, strcspn(at, "; \t,"), name);
        if (found > best) {
            best = found;
            weight = weight_of(at, length);
        }
        at += length;
    }
    return weight;
}
