/* All lines are stored first, since which of two columns has the ids can be decided only from all
 * of them: names may be numbers, too. */
#include "exchange/row_names.h"

#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"

struct span {
    char *text;
    size_t length;
};

/* The lines, concatenated; line i is text[ends[i - 1] .. ends[i]). */
struct list {
    char *text;
    size_t text_capacity;
    size_t *ends;
    size_t ends_capacity;
    size_t count;
    const char *source;
};

enum form {
    NAMES,     /* a name alone */
    ID_NAME,   /* separated by a tab */
    NAME_ID,   /* likewise */
    ID_LABEL,  /* the same, quoted as pandas does */
    NAME_LAST, /* a name, tabs or spaces, an id */
};

/* ---- Lines ---- */

static void free_list(struct list *list) {
    kg__free(list->text);
    kg__free(list->ends);
}

static struct span get_line(const struct list *list, size_t i) {
    size_t start = i == 0 ? 0 : list->ends[i - 1];
    return (struct span){list->text + start, list->ends[i] - start};
}

static kg_status add_line(void *payload, kg_line line, kg_error *error) {
    struct list *list = payload;
    size_t used = list->count == 0 ? 0 : list->ends[list->count - 1];
    if (line.length == 0)
        return kg_fail_at(error, list->source, line.number, 0,
                          "expected a name, found an empty line");
    if (memchr(line.text, '\0', line.length) != NULL)
        return kg_fail_at(error, list->source, line.number, 0,
                          "expected text, found a NUL byte (is the file binary, or UTF-16?)");
    char *text = kg__grow(list->text, &list->text_capacity, used + line.length, 1);
    if (text == NULL)
        return kg__fail_memory(error);
    list->text = text;
    size_t *ends = kg__grow(list->ends, &list->ends_capacity, list->count + 1, sizeof *ends);
    if (ends == NULL)
        return kg__fail_memory(error);
    list->ends = ends;
    memcpy(text + used, line.text, line.length);
    ends[list->count++] = used + line.length;
    return KG_OK;
}

/* ---- Splitting ---- */

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

/* 00260881 is a name. */
bool kg__row_number(const char *text, size_t length, size_t *out) {
    *out = 0;
    if (length == 0 || length > 18 || (text[0] == '0' && length > 1))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *out = 10 * *out + (size_t)(text[i] - '0');
    }
    return true;
}

static bool is_number(struct span word, size_t *out) {
    return kg__row_number(word.text, word.length, out);
}

static bool cut_at_tab(struct span line, struct span *first, struct span *second) {
    char *tab = memchr(line.text, '\t', line.length);
    if (tab == NULL)
        return false;
    *first = (struct span){line.text, (size_t)(tab - line.text)};
    *second = (struct span){tab + 1, line.length - first->length - 1};
    return memchr(second->text, '\t', second->length) == NULL;
}

/* The id is the last word, the name everything before it. */
static bool cut_last(struct span line, struct span *name, struct span *id) {
    while (line.length > 0 && is_space(line.text[line.length - 1]))
        line.length--;
    size_t start = line.length;
    while (start > 0 && !is_space(line.text[start - 1]))
        start--;
    *id = (struct span){line.text + start, line.length - start};
    while (start > 0 && is_space(line.text[start - 1]))
        start--;
    *name = (struct span){line.text, start};
    return memchr(name->text, '\t', name->length) == NULL;
}

static bool cut_line(struct span line, enum form form, struct span *name, struct span *id) {
    switch (form) {
    case NAMES:
        *name = line;
        return memchr(line.text, '\t', line.length) == NULL;
    case ID_NAME:
    case ID_LABEL:
        return cut_at_tab(line, id, name) && name->length > 0;
    case NAME_ID:
        return cut_at_tab(line, name, id) && name->length > 0;
    case NAME_LAST:
        return cut_last(line, name, id) && name->length > 0;
    }
    return false;
}

/* "a ""b""" is a "b": pandas quotes a label that has quotes in it. In place. */
static void unquote(struct span *label) {
    if (label->length < 2 || label->text[0] != '"' || label->text[label->length - 1] != '"')
        return;
    size_t length = 0;
    for (size_t i = 1; i + 1 < label->length; i++) {
        label->text[length++] = label->text[i];
        if (label->text[i] == '"' && label->text[i + 1] == '"' && i + 2 < label->length)
            i++;
    }
    label->length = length;
}

/* ---- Ordering ---- */

/* places[id] = the line with that id, of those from `first` on. Every id must have one; if not,
 * `*failed` is the offending line. */
static kg_status order(size_t *places, const struct list *list, enum form form, size_t first,
                       size_t *failed, kg_error *error) {
    size_t count = list->count - first;
    for (size_t i = 0; i < count; i++)
        places[i] = SIZE_MAX;
    for (size_t i = first; i < list->count; i++) {
        struct span line = get_line(list, i);
        struct span name = {0};
        struct span id = {0};
        size_t number = i;
        *failed = i;
        if (!cut_line(line, form, &name, &id) || (form != NAMES && !is_number(id, &number)))
            return kg_fail_at(error, list->source, i + 1, 0, "expected %s, found %s",
                              form == NAMES ? "a name as on the first line"
                                            : "a name and its id, separated by a tab",
                              kg__quote(line.text, line.length).text);
        if (number >= count)
            return kg_fail_at(error, list->source, i + 1, 0,
                              "expected ids below %zu, the number of names, found %zu", count,
                              number);
        if (places[number] != SIZE_MAX)
            return kg_fail_at(error, list->source, i + 1, 0,
                              "expected each id once, found %zu again", number);
        places[number] = i;
    }
    *failed = list->count;
    return KG_OK;
}

/* Two columns: the ids are in the one that has each of them once. */
static kg_status order_columns(size_t *places, const struct list *list, enum form *out,
                               kg_error *error) {
    kg_error problems[2] = {{0}};
    size_t failed[2] = {0};
    bool first = order(places, list, ID_NAME, 0, &failed[0], &problems[0]) == KG_OK;
    bool second = order(places, list, NAME_ID, 0, &failed[1], &problems[1]) == KG_OK;
    if (!first && !second) { /* report the column that failed later */
        if (error != NULL)
            *error = problems[failed[1] > failed[0]];
        return KG_BAD_INPUT;
    }
    *out = second ? NAME_ID : ID_NAME;
    if (!second)
        return order(places, list, ID_NAME, 0, &failed[0], error);
    for (size_t i = 0; i < list->count && first; i++) {
        struct span line = get_line(list, i);
        struct span one = {0};
        struct span other = {0};
        if (cut_at_tab(line, &one, &other) &&
            (one.length != other.length || memcmp(one.text, other.text, one.length) != 0))
            return kg_fail_at(error, list->source, i + 1, 0,
                              "expected ids in one column and names in the other, found that both "
                              "could be ids (a file of names alone, in order, leaves no doubt)");
    }
    return KG_OK;
}

/* ---- Reading ---- */

/* OpenKE's first line. A list of names that are numbers may begin like that; but then the matrix
 * has a row for this line, too. */
static bool starts_with_count(const struct list *list, size_t rows) {
    size_t count = 0;
    if (list->count < 2 || !is_number(get_line(list, 0), &count))
        return false;
    struct span second = get_line(list, 1);
    return memchr(second.text, '\t', second.length) != NULL ||
           (count == list->count - 1 && list->count != rows);
}

/* The format by the first two lines, of which the first may be a header. */
static enum form guess(const struct list *list, size_t rows, size_t *first) {
    static const char header[] = "id\tlabel";
    struct span line = get_line(list, 0);
    *first = 1;
    if (line.length == strlen(header) && memcmp(line.text, header, line.length) == 0)
        return ID_LABEL;
    if (starts_with_count(list, rows))
        return NAME_LAST;
    *first = 0;
    return memchr(line.text, '\t', line.length) == NULL ? NAMES : ID_NAME;
}

static kg_status check_count(const struct list *list, enum form form, size_t first, size_t rows,
                             kg_error *error) {
    size_t count = list->count - first;
    size_t claimed = 0;
    if (form == NAME_LAST && is_number(get_line(list, 0), &claimed) && claimed != count)
        return kg_fail_at(error, list->source, 1, 0,
                          "expected %zu lines to follow, as the first line says, found %zu",
                          claimed, count);
    if (count != rows)
        return kg_fail_at(error, list->source, 0, 0,
                          "expected %zu names, one for each row, found %zu", rows, count);
    return KG_OK;
}

static kg_status intern(kg_names *names, const struct list *list, enum form form,
                        const size_t *places, size_t count, kg_error *error) {
    for (size_t i = 0; i < count; i++) {
        struct span name = {0};
        struct span id = {0};
        kg_id found = KG_NO_ID;
        cut_line(get_line(list, places[i]), form, &name, &id);
        if (form == ID_LABEL)
            unquote(&name);
        if (name.length == 0)
            return kg_fail_at(error, list->source, places[i] + 1, 0,
                              "expected a name, found an empty one");
        KG_TRY(kg__names_intern(names, &found, kg__name_of(name.text, name.length), error));
        if (found != i)
            return kg_fail_at(error, list->source, places[i] + 1, 0,
                              "expected each name once, found %s again",
                              kg__quote(name.text, name.length).text);
    }
    return KG_OK;
}

static kg_status add_names(kg_names *names, const struct list *list, size_t rows, kg_error *error) {
    size_t first = 0;
    size_t failed = 0;
    if (list->count == 0)
        return kg_fail_at(error, list->source, 0, 0, "expected names, found none");
    enum form form = guess(list, rows, &first);
    KG_TRY(check_count(list, form, first, rows, error));
    size_t *places = kg__alloc(rows, sizeof *places);
    if (places == NULL)
        return kg__fail_memory(error);
    kg_status status = form == ID_NAME ? order_columns(places, list, &form, error)
                                       : order(places, list, form, first, &failed, error);
    if (status == KG_OK)
        status = intern(names, list, form, places, rows, error);
    kg__free(places);
    return status;
}

kg_status kg__row_names_read(kg_names *names, kg_input *input, size_t rows, kg_error *error) {
    struct list list = {.source = kg__input_name(input)};
    kg_status status = kg__lines_each(input, add_line, &list, error);
    if (status == KG_OK)
        status = add_names(names, &list, rows, error);
    free_list(&list);
    return status;
}
