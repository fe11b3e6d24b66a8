/* Shortening names, and expanding them. */
#include "cli/prefixes.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/text_table.h"

/* Each prefix has one IRI, so that shortened names are unambiguous. */
static const cli_prefix *find_by_name(const cli_prefixes *prefixes, const char *name,
                                      size_t length) {
    for (size_t i = 0; i < prefixes->count; i++)
        if (prefixes->items[i].length == length &&
            memcmp(prefixes->items[i].name, name, length) == 0)
            return &prefixes->items[i];
    return NULL;
}

static kg_status add_given(cli_prefixes *out, const cli_texts *given, kg_error *error) {
    for (size_t i = 0; i < given->count; i++) {
        const char *text = given->items[i];
        size_t length = strcspn(text, "=: \t\r\n\v\f");
        if (length == 0 || text[length] != '=' || text[length + 1] == '\0')
            return kg_fail(error, KG_BAD_INPUT,
                           "--prefix: expected NAME=IRI, without blanks and colons in NAME, found "
                           "%s",
                           kg__quote(text, strlen(text)).text);
        if (find_by_name(out, text, length) != NULL)
            return kg_fail(error, KG_BAD_INPUT, "--prefix: expected each NAME once, found %s again",
                           kg__quote(text, length).text);
        out->items[out->count++] = (cli_prefix){text, length, text + length + 1};
    }
    return KG_OK;
}

static void add_own(cli_prefixes *out, json_t *own) {
    const char *name = NULL;
    json_t *iri = NULL;
    json_object_foreach(own, name, iri) {
        if (json_is_string(iri) && json_string_length(iri) > 0 &&
            find_by_name(out, name, strlen(name)) == NULL)
            out->items[out->count++] = (cli_prefix){name, strlen(name), json_string_value(iri)};
    }
}

kg_status cli_prefixes_open(cli_prefixes *out, const cli_texts *given, json_t *own,
                            kg_error *error) {
    *out = (cli_prefixes){0};
    out->items = kg__alloc(given->count + json_object_size(own) + 1, sizeof *out->items);
    if (out->items == NULL)
        return kg__fail_memory(error);
    kg_status status = add_given(out, given, error);
    if (status == KG_OK)
        add_own(out, own);
    else
        cli_prefixes_close(out);
    return status;
}

void cli_prefixes_close(cli_prefixes *prefixes) {
    kg__free(prefixes->items);
    *prefixes = (cli_prefixes){0};
}

/* The prefix with the longest IRI that a name starts with, and the first of several; or NULL. */
static const cli_prefix *find(const cli_prefixes *prefixes, kg_text name) {
    const cli_prefix *best = NULL;
    for (size_t i = 0; i < prefixes->count; i++) {
        const cli_prefix *prefix = &prefixes->items[i];
        size_t length = strlen(prefix->iri);
        if (length < name.length && memcmp(prefix->iri, name.bytes, length) == 0 &&
            (best == NULL || length > strlen(best->iri)))
            best = prefix;
    }
    return best;
}

char *cli_prefixes_show(const cli_prefixes *prefixes, kg_text name) {
    const cli_prefix *prefix = find(prefixes, name);
    if (prefix == NULL)
        return report_show_text(name);
    size_t cut = strlen(prefix->iri);
    size_t rest = name.length - cut;
    char *text = kg__alloc(prefix->length + 1 + rest, 1);
    if (text == NULL)
        return NULL;
    memcpy(text, prefix->name, prefix->length);
    text[prefix->length] = ':';
    memcpy(text + prefix->length + 1, name.bytes + cut, rest);
    char *out = report_show_text((kg_text){text, prefix->length + 1 + rest});
    kg__free(text);
    return out;
}

kg_status cli_prefixes_expand(const cli_prefixes *prefixes, char **out, const char *name,
                              kg_error *error) {
    const char *colon = strchr(name, ':');
    *out = NULL;
    const cli_prefix *prefix =
        colon == NULL ? NULL : find_by_name(prefixes, name, (size_t)(colon - name));
    if (prefix == NULL)
        return KG_OK;
    size_t size = strlen(prefix->iri) + strlen(colon);
    *out = kg__alloc(size, 1);
    if (*out == NULL)
        return kg__fail_memory(error);
    snprintf(*out, size, "%s%s", prefix->iri, colon + 1);
    return KG_OK;
}
