/* OpenKE's numbered files. `entity2id.txt` and `relation2id.txt` give each name a number; the
 * facts of `train2id.txt` and its siblings are numbers, in the order head, tail, relation. Every
 * file starts with a line that holds the number of lines that follow. Columns are separated by
 * tabs or spaces; a name may hold spaces itself, so its number is the last word of the line. */
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "graph/reader.h"

#define TICK_LINES (1u << 16)

/* Names by OpenKE's number. What is allocated grows with the lines that exist, not with the count
 * that the file claims. */
struct numbered {
    kg_names names;    /* in the order of the file */
    uint64_t *numbers; /* of each of them */
    size_t capacity;
    kg_name *list; /* number -> name with its hash, ready for use */
};

struct kg_openke {
    struct numbered entities;
    struct numbered relations;
};

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

/* Cuts off the next word of the line; empty at its end. */
static kg_line next_word(kg_line *line) {
    while (line->length > 0 && is_space(line->text[0])) {
        line->text++;
        line->length--;
    }
    kg_line word = {line->text, 0, line->number};
    while (word.length < line->length && !is_space(line->text[word.length]))
        word.length++;
    line->text += word.length;
    line->length -= word.length;
    return word;
}

/* A number below `limit`. */
static kg_status take_number(uint64_t *out, kg_line word, uint64_t limit, const char *what,
                             const char *source, kg_error *error) {
    uint64_t value = 0;
    bool good = word.length > 0 && word.length < 19;
    for (size_t i = 0; good && i < word.length; i++) {
        good = word.text[i] >= '0' && word.text[i] <= '9';
        value = 10 * value + (uint64_t)(word.text[i] - '0');
    }
    if (!good)
        return kg_fail_at(error, source, word.number, 0, "expected %s, a number, found %s", what,
                          kg__quote(word.text, word.length).text);
    if (value >= limit)
        return kg_fail_at(error, source, word.number, 0, "expected %s below %ju, found %ju", what,
                          (uintmax_t)limit, (uintmax_t)value);
    *out = value;
    return KG_OK;
}

static kg_status next_line(kg_lines *lines, kg_line *line, bool *more, kg_error *error) {
    KG_TRY(kg__lines_next(lines, line, more, error));
    if (*more && memchr(line->text, '\0', line->length) != NULL)
        return kg_fail_at(error, kg__input_name(lines->input), line->number, 0,
                          "expected text, found a NUL byte");
    return KG_OK;
}

static kg_status take_count(uint64_t *count, kg_lines *lines, kg_error *error) {
    const char *source = kg__input_name(lines->input);
    kg_line line = {"", 0, 1};
    bool more = false;
    KG_TRY(next_line(lines, &line, &more, error));
    kg_line word = next_word(&line);
    KG_TRY(take_number(count, word, KG_NO_ID, "the number of lines that follow", source, error));
    if (next_word(&line).length > 0)
        return kg_fail_at(error, source, 1, 0,
                          "expected only the number of lines that follow, found more on the line");
    return KG_OK;
}

/* A line of the file, of which there must be `count`; `*more` is false after the last. */
static kg_status take_line(kg_line *line, bool *more, uint64_t index, uint64_t count,
                           kg_lines *lines, kg_error *error) {
    KG_TRY(next_line(lines, line, more, error));
    if (*more == (index < count))
        return KG_OK;
    return kg_fail_at(error, kg__input_name(lines->input), 1, 0,
                      "expected %ju lines to follow, as the first line says, found %s",
                      (uintmax_t)count, *more ? "more" : "fewer");
}

static void free_numbered(struct numbered *numbered) {
    kg__names_free(&numbered->names);
    kg__free(numbered->numbers);
    kg__free(numbered->list);
}

/* A line `name number`. */
static kg_status add_name(struct numbered *numbered, kg_line line, uint64_t count,
                          const char *source, kg_error *error) {
    size_t length = line.length;
    while (length > 0 && is_space(line.text[length - 1]))
        length--;
    size_t start = length;
    while (start > 0 && !is_space(line.text[start - 1]))
        start--;
    kg_line word = {line.text + start, length - start, line.number};
    uint64_t number = 0;
    KG_TRY(take_number(&number, word, count, "a name and its id", source, error));
    length = start;
    while (length > 0 && is_space(line.text[length - 1]))
        length--;
    if (length == 0 || memchr(line.text, '\t', length) != NULL)
        return kg_fail_at(error, source, line.number, 0, "expected a name and its id, found %s",
                          kg__quote(line.text, line.length).text);
    kg_id place = 0;
    size_t known = numbered->names.count;
    KG_TRY(kg__names_intern(&numbered->names, &place, kg__name_of(line.text, length), error));
    if (place < known)
        return kg_fail_at(error, source, line.number, 0, "expected each name once, found %s again",
                          kg__quote(line.text, length).text);
    uint64_t *numbers =
        kg__grow(numbered->numbers, &numbered->capacity, known + 1, sizeof *numbers);
    if (numbers == NULL)
        return kg__fail_memory(error);
    numbered->numbers = numbers;
    numbers[known] = number;
    return KG_OK;
}

/* After all names: each number must have one. */
static kg_status order_names(struct numbered *numbered, const char *source, kg_error *error) {
    size_t count = numbered->names.count;
    numbered->list = kg__alloc(count, sizeof *numbered->list);
    if (numbered->list == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        kg_name *slot = &numbered->list[numbered->numbers[i]];
        if (slot->bytes != NULL)
            return kg_fail_at(error, source, i + 2, 0, "expected each id once, found %ju again",
                              (uintmax_t)numbered->numbers[i]);
        *slot = kg__names_hashed(&numbered->names, (kg_id)i);
    }
    return KG_OK;
}

static kg_status add_names(struct numbered *numbered, kg_lines *lines, kg_error *error) {
    const char *source = kg__input_name(lines->input);
    uint64_t count = 0;
    KG_TRY(take_count(&count, lines, error));
    for (uint64_t i = 0;; i++) {
        kg_line line;
        bool more = false;
        KG_TRY(take_line(&line, &more, i, count, lines, error));
        if (!more)
            return order_names(numbered, source, error);
        KG_TRY(add_name(numbered, line, count, source, error));
    }
}

static kg_status read_names(struct numbered *numbered, kg_input *input, kg_error *error) {
    kg_lines lines;
    kg__lines_open(&lines, input);
    kg_status status = add_names(numbered, &lines, error);
    kg__lines_close(&lines);
    return status;
}

kg_status kg__openke_open(kg_openke **out, kg_input *entities, kg_input *relations,
                          kg_error *error) {
    kg_openke *openke = kg__alloc(1, sizeof *openke);
    if (openke == NULL)
        return kg__fail_memory(error);
    kg_status status = read_names(&openke->entities, entities, error);
    if (status == KG_OK)
        status = read_names(&openke->relations, relations, error);
    if (status != KG_OK) {
        kg__openke_close(openke);
        return status;
    }
    *out = openke;
    return KG_OK;
}

void kg__openke_close(kg_openke *openke) {
    if (openke == NULL)
        return;
    free_numbered(&openke->entities);
    free_numbered(&openke->relations);
    kg__free(openke);
}

uint64_t kg__openke_names(const kg_openke *openke) {
    return openke->entities.names.count + openke->relations.names.count;
}

static kg_status add_fact(const kg_openke *openke, kg_reader *reader, kg_line line,
                          const char *source, kg_error *error) {
    size_t entity_count = openke->entities.names.count;
    size_t relation_count = openke->relations.names.count;
    uint64_t head = 0;
    uint64_t tail = 0;
    uint64_t relation = 0;
    KG_TRY(take_number(&head, next_word(&line), entity_count, "a head id", source, error));
    KG_TRY(take_number(&tail, next_word(&line), entity_count, "a tail id", source, error));
    KG_TRY(
        take_number(&relation, next_word(&line), relation_count, "a relation id", source, error));
    if (next_word(&line).length > 0)
        return kg_fail_at(error, source, line.number, 0,
                          "expected head, tail and relation ids, found a fourth column");
    kg_status status =
        kg__dataset_add_one(reader->dataset, openke->entities.list[head],
                            openke->relations.list[relation], openke->entities.list[tail], error);
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, source, line.number, 0);
    return status;
}

static kg_status add_facts(const kg_openke *openke, kg_reader *reader, kg_lines *lines,
                           kg_error *error) {
    const char *source = kg__input_name(lines->input);
    uint64_t count = 0;
    KG_TRY(take_count(&count, lines, error));
    if (count == 0)
        return kg_fail_at(error, source, 1, 0, "expected facts, found none");
    for (uint64_t i = 0;; i++) {
        kg_line line;
        bool more = false;
        KG_TRY(take_line(&line, &more, i, count, lines, error));
        if (!more)
            return KG_OK;
        KG_TRY(add_fact(openke, reader, line, source, error));
        if (i % TICK_LINES == 0)
            KG_TRY(kg__reader_tick(reader, lines->input, error));
    }
}

kg_status kg__openke_read(const kg_openke *openke, kg_reader *reader, kg_input *input,
                          kg_error *error) {
    kg_lines lines;
    kg__lines_open(&lines, input);
    kg_status status = add_facts(openke, reader, &lines, error);
    kg__lines_close(&lines);
    return status;
}
