/* Percent-decoding, and templates of paths. */
#include "serve/uri.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

serve_target serve_target_split(char *target) {
    char *mark = strchr(target, '?');
    if (mark == NULL)
        return (serve_target){target, target + strlen(target)};
    *mark = '\0';
    return (serve_target){target, mark + 1};
}

static int digit_of(char c) {
    char folded = kg__fold(c);
    if (c >= '0' && c <= '9')
        return c - '0';
    return folded >= 'a' && folded <= 'f' ? folded - 'a' + 10 : -1;
}

size_t serve_uri_decode(char *text, bool is_query) {
    size_t length = 0;
    for (const char *at = text; *at != '\0'; at++) {
        char byte = *at;
        if (byte == '%') {
            int high = digit_of(at[1]);
            int low = high < 0 ? -1 : digit_of(at[2]);
            if (low < 0 || high + low == 0)
                return SIZE_MAX;
            byte = (char)(16 * high + low);
            at += 2;
        } else if (byte == '+' && is_query) {
            byte = ' ';
        }
        text[length++] = byte;
    }
    text[length] = '\0';
    return length;
}

kg_status serve_query_next(char **name, char **value, bool *more, char **rest, kg_error *error) {
    while (**rest == '&')
        ++*rest;
    *more = **rest != '\0';
    if (!*more)
        return KG_OK;
    *name = *rest;
    size_t length = strcspn(*rest, "&");
    bool is_last = (*rest)[length] == '\0';
    (*rest)[length] = '\0';
    *rest += length + (is_last ? 0 : 1);
    char *equals = strchr(*name, '=');
    *value = equals == NULL ? *name + length : equals + 1;
    if (equals != NULL)
        *equals = '\0';
    if (serve_uri_decode(*name, true) == SIZE_MAX || serve_uri_decode(*value, true) == SIZE_MAX)
        return kg_fail(error, KG_BAD_INPUT,
                       "query: expected two hexadecimal digits behind each percent sign, not both "
                       "0, found others");
    return KG_OK;
}

bool serve_path_matches(const char *path, const char *template, const char **parameter) {
    const char *brace = strchr(template, '{');
    *parameter = NULL;
    if (brace == NULL)
        return strcmp(path, template) == 0;
    size_t before = (size_t)(brace - template);
    if (strncmp(path, template, before) != 0 || path[before] == '\0' ||
        (brace[1] != '+' && strchr(path + before, '/') != NULL))
        return false;
    *parameter = path + before;
    return true;
}
