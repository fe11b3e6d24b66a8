/* Facts as text: head, relation and tail separated by tabs, one fact a line.
 *
 * This reader has to handle 100 million facts, so it works on two blocks at a time: while the names
 * of one are turned into ids, which must happen in order, another thread reads, splits and hashes
 * the next. Results do not depend on which thread does what. */
#define _GNU_SOURCE
#include <omp.h>
#include <string.h>
#include <strings.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/thread_count.h"
#include "graph/reader.h"

/* A block of lines and the names found in it. */
struct page {
    kg_block block;
    kg_name *ends;
    size_t ends_capacity;
    kg_name *relations;
    size_t relations_capacity;
    size_t fact_count;
    uint64_t line_count;
    uint64_t comments;
    uint64_t blank_lines;
};

static void free_page(struct page *page) {
    kg__block_free(&page->block);
    kg__free(page->ends);
    kg__free(page->relations);
}

static kg_status add_to_page(struct page *page, const kg_name fields[3], kg_error *error) {
    size_t count = page->fact_count + 1;
    kg_name *ends = kg__grow(page->ends, &page->ends_capacity, 2 * count, sizeof *ends);
    if (ends == NULL)
        return kg__fail_memory(error);
    page->ends = ends;
    kg_name *relations =
        kg__grow(page->relations, &page->relations_capacity, count, sizeof *relations);
    if (relations == NULL)
        return kg__fail_memory(error);
    page->relations = relations;
    ends[2 * page->fact_count] = fields[0];
    relations[page->fact_count] = fields[1];
    ends[2 * page->fact_count + 1] = fields[2];
    page->fact_count = count;
    return KG_OK;
}

/* The line without the byte order mark that a file of UTF-8 may start with. */
static kg_line without_mark(kg_line line) {
    size_t length = strlen(KG_UTF8_MARK);
    if (line.number == 1 && kg__starts_with(line.text, line.length, KG_UTF8_MARK))
        return (kg_line){line.text + length, line.length - length, line.number};
    return line;
}

static size_t count_byte(kg_line line, char byte) {
    size_t count = 0;
    for (size_t i = 0; i < line.length; i++)
        count += line.text[i] == byte;
    return count;
}

static bool has_three_words(kg_line line) {
    const char *first = memchr(line.text, ' ', line.length);
    const char *last = memrchr(line.text, ' ', line.length);
    return count_byte(line, ' ') == 2 && first > line.text && last > first + 1 &&
           last < line.text + line.length - 1;
}

/* Four words or more, of which the first is a name with a prefix, as in "a:b c:d e:f ; g:h". */
static bool is_turtle(kg_line line) {
    while (line.length > 0 && line.text[0] == ' ') {
        line.text++;
        line.length--;
    }
    const char *space = memchr(line.text, ' ', line.length);
    size_t length = space == NULL ? 0 : (size_t)(space - line.text);
    kg_line word = {line.text, length, line.number};
    return space != NULL && count_byte(line, ' ') >= 3 && count_byte(word, ':') > 0 &&
           count_byte(word, ',') == 0 && count_byte(word, ';') == 0 && space[1] != ',' &&
           space[1] != ';';
}

/* What a line without a tab may be instead, as a hint for the message. */
static const char *guess_format(kg_line line) {
    if (kg__starts_with(line.text, line.length, "@prefix") ||
        kg__starts_with(line.text, line.length, "PREFIX") ||
        kg__starts_with(line.text, line.length, "<") || is_turtle(line))
        return " (it looks like RDF: put it into a file whose name ends in .nt, .ttl, .nq or "
               ".trig)";
    if (count_byte(line, ',') >= 2)
        return " (it looks like CSV: write tabs in place of the commas)";
    if (count_byte(line, ';') >= 2)
        return " (it looks like CSV with semicolons: write tabs in place of them)";
    if (has_three_words(line))
        return " (it looks separated by spaces: write tabs in place of them)";
    return "";
}

static kg_status wrong_columns(const char *source, kg_line line, kg_error *error) {
    if (line.length == 0)
        return kg_fail_at(error, source, line.number, 0,
                          "expected head, relation and tail, found an empty line");
    size_t columns = count_byte(line, '\t') + 1;
    return kg_fail_at(
        error, source, line.number, 0,
        "expected head, relation and tail separated by tabs, found %zu column%s: %s%s", columns,
        columns == 1 ? "" : "s", kg__quote(line.text, line.length).text,
        columns == 1 ? guess_format(line) : "");
}

static bool is_word(kg_name name, const char *word) {
    return name.length == strlen(word) && strncasecmp(name.bytes, word, name.length) == 0;
}

kg_status kg__tsv_check_header(const kg_name fields[3], const char *source, kg_error *error) {
    static const char *const headers[][3] = {
        {"head", "relation", "tail"},          {"head", "rel", "tail"},
        {"head_id", "relation_id", "tail_id"}, {"subject", "predicate", "object"},
        {"subject", "relation", "object"},     {"source", "relation", "target"}};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (is_word(fields[0], headers[i][0]) && is_word(fields[1], headers[i][1]) &&
            is_word(fields[2], headers[i][2]))
            return kg_fail_at(error, source, 1, 0,
                              "expected a fact, found what looks like a header: '%s', '%s', '%s' "
                              "(delete this line; should it be a fact, do not let it be the first)",
                              headers[i][0], headers[i][1], headers[i][2]);
    return KG_OK;
}

static kg_status check_text(const char *source, kg_line line, kg_error *error) {
    const char *nul = memchr(line.text, '\0', line.length);
    if (nul == NULL)
        return KG_OK;
    return kg_fail_at(error, source, line.number, (uint64_t)(nul - line.text) + 1,
                      "expected text, found a NUL byte (is the file binary, or UTF-16?)");
}

kg_status kg__tsv_cut(kg_name fields[3], const char *source, kg_line whole, kg_error *error) {
    kg_line line = without_mark(whole);
    const char *at = line.text;
    const char *end = line.text + line.length;
    KG_TRY(check_text(source, line, error));
    for (int i = 0; i < 3; i++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        if ((tab == NULL) != (i == 2))
            return wrong_columns(source, line, error);
        const char *stop = tab == NULL ? end : tab;
        if (stop == at)
            return kg_fail_at(error, source, line.number, (uint64_t)(at - line.text) + 1,
                              "expected a name, found an empty column");
        fields[i] = kg__name_of(at, (size_t)(stop - at));
        at = stop + 1;
    }
    return KG_OK;
}

static kg_status cut_page(struct page *page, const kg_read_options *options, const char *source,
                          kg_error *error) {
    const kg_block *block = &page->block;
    page->fact_count = 0;
    page->line_count = 0;
    for (size_t offset = 0; offset < block->size;) {
        kg_line whole = kg__block_line(block, &offset);
        whole.number = block->first_line + page->line_count++;
        kg_line line = without_mark(whole);
        if (line.length == 0) {
            if (!options->skip_blank)
                return kg_fail_at(error, source, line.number, 0,
                                  "expected head, relation and tail, found an empty line "
                                  "(kgraft import leaves them out by `skip_blank`)");
            page->blank_lines++;
        } else if (options->comment != NULL &&
                   kg__starts_with(line.text, line.length, options->comment)) {
            KG_TRY(check_text(source, line, error));
            page->comments++;
        } else {
            kg_name fields[3];
            KG_TRY(kg__tsv_cut(fields, source, whole, error));
            if (line.number == 1 && !options->is_recorded)
                KG_TRY(kg__tsv_check_header(fields, source, error));
            KG_TRY(add_to_page(page, fields, error));
        }
    }
    return KG_OK;
}

static kg_status load_page(struct page *page, const struct page *previous,
                           const kg_read_options *options, kg_input *input, kg_error *error) {
    const kg_block *before = previous == NULL ? NULL : &previous->block;
    uint64_t line_count = previous == NULL ? 0 : previous->line_count;
    KG_TRY(kg__block_load(&page->block, before, line_count, input, error));
    return cut_page(page, options, kg__input_name(input), error);
}

/* The number of the line that holds `at`. */
static uint64_t line_number(const kg_block *block, const char *at) {
    uint64_t number = block->first_line;
    for (const char *c = block->text; c < at; c++)
        number += *c == '\n';
    return number;
}

static kg_status store_page(kg_dataset *dataset, const struct page *page, const char *source,
                            kg_error *error) {
    size_t added = 0;
    kg_named_facts facts = {page->ends, page->relations, page->fact_count};
    kg_status status = kg__dataset_add(dataset, facts, &added, error);
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, source, line_number(&page->block, page->ends[2 * added].bytes), 0);
    return status;
}

static kg_status read_pages(kg_reader *reader, kg_input *input, struct page pages[2],
                            kg_error *error) {
    const char *source = kg__input_name(input);
    uint64_t fact_count = 0;
    struct page *current = &pages[0];
    struct page *next = &pages[1];
    KG_TRY(load_page(current, NULL, &reader->options, input, error));
    while (current->block.size > 0) {
        kg_status stored = KG_OK;
        kg_status loaded = KG_OK;
        kg_error load_error = {0};
#pragma omp parallel num_threads(kg__threads(0) > 1 ? 2 : 1)
        {
            /* The calling thread reads: it is the one that a signal interrupts. */
            if (omp_get_thread_num() == 0)
                loaded = load_page(next, current, &reader->options, input, &load_error);
            if (omp_get_thread_num() == omp_get_num_threads() - 1)
                stored = store_page(reader->dataset, current, source, error);
        }
        KG_TRY(stored);
        if (loaded != KG_OK) {
            if (error != NULL)
                *error = load_error;
            return loaded;
        }
        fact_count += current->fact_count;
        struct page *done = current;
        current = next;
        next = done;
        KG_TRY(kg__reader_tick(reader, input, error));
    }
    if (fact_count == 0)
        return kg_fail_at(error, source, 0, 0, "expected facts, found none");
    return KG_OK;
}

kg_status kg__read_tsv(kg_reader *reader, kg_input *input, kg_error *error) {
    struct page pages[2] = {0};
    kg_status status = read_pages(reader, input, pages, error);
    for (int i = 0; i < 2; i++) {
        reader->counts.comments += pages[i].comments;
        reader->counts.blank_lines += pages[i].blank_lines;
        free_page(&pages[i]);
    }
    return status;
}
