/* Reading a list of tags. */
#include "serve/etag_list.h"

#include <stddef.h>
#include <string.h>

#define BLANKS " \t"

/* The end of a tag in quotes; NULL if it is none. */
static const char *end_of(const char *tag) {
    const char *at = tag;
    if (*at++ != '"')
        return NULL;
    while ((unsigned char)*at > ' ' && *at != '"' && *at != 0x7f)
        at++;
    return *at == '"' ? at + 1 : NULL;
}

static bool is_end(const char *at) {
    at += strspn(at, BLANKS);
    return *at == ',' || *at == '\0';
}

/* Elements of a list may be empty. */
serve_tags serve_tags_find(const char *list, const char *tag, bool may_be_weak) {
    const char *at = list + strspn(list, BLANKS);
    serve_tags found = SERVE_TAGS_BAD;
    if (*at == '*' && at[1 + strspn(at + 1, BLANKS)] == '\0')
        return tag == NULL ? SERVE_TAGS_WITHOUT : SERVE_TAGS_WITH;
    for (at += strspn(at, BLANKS ","); *at != '\0'; at += strspn(at, BLANKS ",")) {
        bool is_weak = at[0] == 'W' && at[1] == '/';
        const char *start = is_weak ? at + 2 : at;
        at = end_of(start);
        if (at == NULL || !is_end(at))
            return SERVE_TAGS_BAD;
        size_t length = (size_t)(at - start);
        bool is_same = tag != NULL && strlen(tag) == length && memcmp(start, tag, length) == 0;
        if (is_same && (may_be_weak || !is_weak))
            found = SERVE_TAGS_WITH;
        else if (found == SERVE_TAGS_BAD)
            found = SERVE_TAGS_WITHOUT;
    }
    return found;
}
