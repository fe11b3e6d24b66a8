/* Reading changes: formats of lines are read a line at a time, so that a mistake costs one line. */
#include "graph/change_reader.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define PATCH_FORMAT "rdfp"
#define TICK_LINES 1000 /* between two reports of progress */

const char *const kg__change_formats[] = {"tsv", "nt", "nq", "ttl", "trig", PATCH_FORMAT, NULL};

/* State of reading one input. */
struct reading {
    kg_change_reader *reader;
    kg_input *input;
    kg_reader rdf; /* what RDF's reader is called with */
    kg_rdf_lines *lines;
    kg_operation operation; /* of the current line */
    kg_name pending[3];     /* its fact, which counts when all of the line is good; */
    bool has_pending;       /* owned by `lines` */
    bool is_open;           /* a transaction of the patch */
    bool is_mark;           /* the current line, or it was meant to be */
    char *row;              /* a row of the patch with its blank nodes in another form */
    size_t row_capacity;
};

/* ---- Facts ---- */

static kg_status take(struct reading *reading, const kg_name names[3], kg_error *error) {
    kg_change_reader *reader = reading->reader;
    kg_text fact[3];
    for (int i = 0; i < 3; i++)
        fact[i] = (kg_text){names[i].bytes, names[i].length};
    KG_TRY(reader->on_change(reader->payload, reading->operation, fact, error));
    reader->changes++;
    return KG_OK;
}

static bool is_blank(kg_name name) {
    return kg__starts_with(name.bytes, name.length, "_:");
}

static kg_status check_blank(const struct reading *reading, const kg_name names[3],
                             kg_error *error) {
    bool is_local = reading->reader->scope == NULL && reading->rdf.blank_suffix[0] != '\0';
    if (is_local && (is_blank(names[0]) || is_blank(names[2])))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected an IRI, found a blank node, which has no name outside of its file "
                       "(`source` gives it one)");
    return KG_OK;
}

/* A fact of a file that is not read by lines. */
static kg_status take_rdf(void *payload, const kg_name names[3], uint64_t line, kg_error *error) {
    struct reading *reading = payload;
    kg_status status = check_blank(reading, names, error);
    if (status == KG_OK)
        status = take(reading, names, error);
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, kg__input_name(reading->input), line, 0);
    return status;
}

static kg_status keep_rdf(void *payload, const kg_name names[3], uint64_t line, kg_error *error) {
    (void)line;
    (void)error;
    struct reading *reading = payload;
    memcpy(reading->pending, names, sizeof reading->pending);
    reading->has_pending = true;
    return KG_OK;
}

static kg_status read_statement(struct reading *reading, kg_line line, size_t *count,
                                kg_error *error) {
    reading->has_pending = false;
    KG_TRY(kg__rdf_lines_parse(reading->lines, line, count, error));
    if (*count > 1)
        return kg_fail(error, KG_BAD_INPUT, "expected one statement in a line, found %zu", *count);
    if (!reading->has_pending)
        return KG_OK; /* a comment, or a literal that is left out */
    KG_TRY(check_blank(reading, reading->pending, error));
    return take(reading, reading->pending, error);
}

static kg_status read_tsv_line(struct reading *reading, kg_line line, kg_error *error) {
    const char *source = kg__input_name(reading->input);
    kg_name names[3];
    KG_TRY(kg__tsv_cut(names, source, line, error));
    if (line.number == 1)
        KG_TRY(kg__tsv_check_header(names, source, error));
    return take(reading, names, error);
}

static kg_status read_rdf_line(struct reading *reading, kg_line line, kg_error *error) {
    size_t count = 0;
    return read_statement(reading, line, &count, error);
}

/* ---- RDF Patch ---- */

/* Serd does not accept <_:label>, which is no IRI: it is passed <urn:_:label>, which is no URN that
 * anybody may use, and whose end is the name. */
#define BLANK_SCHEME "urn:"

static kg_status keep_patch(void *payload, const kg_name names[3], uint64_t line, kg_error *error) {
    kg_name plain[3];
    for (int i = 0; i < 3; i++) {
        bool is_marked = kg__starts_with(names[i].bytes, names[i].length, BLANK_SCHEME "_:");
        size_t start = is_marked ? strlen(BLANK_SCHEME) : 0;
        plain[i] = kg__name_of(names[i].bytes + start, names[i].length - start);
    }
    return keep_rdf(payload, plain, line, error);
}

/* Copies the terms of a row, with <_: outside of literals in the form that serd accepts. */
static kg_status copy_row(struct reading *reading, kg_line *row, kg_error *error) {
    size_t most = row->length * (1 + strlen(BLANK_SCHEME)) + 1;
    char *out = kg__grow(reading->row, &reading->row_capacity, most, 1);
    bool is_quoted = false;
    size_t size = 0;
    if (out == NULL)
        return kg__fail_memory(error);
    reading->row = out;
    for (size_t i = 0; i < row->length; i++) {
        const char *at = row->text + i;
        size_t left = row->length - i;
        out[size++] = *at;
        if (is_quoted && *at == '\\' && left > 1)
            out[size++] = row->text[++i];
        else if (*at == '"')
            is_quoted = !is_quoted;
        else if (!is_quoted && kg__starts_with(at, left, "<_:")) {
            for (const char *c = BLANK_SCHEME; *c != '\0'; c++)
                out[size++] = *c;
        }
    }
    *row = (kg_line){out, size, row->number};
    return KG_OK;
}

/* Columns of the terms are not those of the row. */
static kg_status change_row(struct reading *reading, kg_line terms, kg_error *error) {
    size_t count = 0;
    KG_TRY(copy_row(reading, &terms, error));
    kg_status status = read_statement(reading, terms, &count, error);
    if (status != KG_OK && error != NULL)
        error->column = 0;
    KG_TRY(status);
    if (count == 0)
        return kg_fail(error, KG_BAD_INPUT, "expected a triple or a quad, found none");
    return KG_OK;
}

static void mark(struct reading *reading, kg_patch_mark mark) {
    kg_change_reader *reader = reading->reader;
    reading->is_open = mark == KG_PATCH_BEGIN;
    reader->aborted += mark == KG_PATCH_ABORT;
    if (reader->on_mark != NULL)
        reader->on_mark(reader->payload, mark);
}

/* The row of a mark has no terms, and comes where it makes sense. */
static kg_status mark_row(struct reading *reading, kg_line terms, kg_patch_mark kind,
                          kg_error *error) {
    const char *source = kg__input_name(reading->input);
    if (terms.length != 1)
        return kg_fail_at(error, source, terms.number, 0, "expected nothing before the dot");
    if (reading->is_open == (kind == KG_PATCH_BEGIN))
        return kg_fail_at(error, source, terms.number, 0,
                          kind == KG_PATCH_BEGIN
                              ? "expected TC or TA of the transaction before, found TX"
                              : "expected TX before TC and TA, found none");
    mark(reading, kind);
    return KG_OK;
}

/* What rows start with. */
static const struct row {
    const char *code;
    enum { ROW_CHANGE, ROW_MARK, ROW_IGNORED } kind;
    int value; /* a kg_operation, or a kg_patch_mark */
} rows[] = {
    {.code = "A", .kind = ROW_CHANGE, .value = KG_ADD},
    {.code = "D", .kind = ROW_CHANGE, .value = KG_REMOVE},
    {.code = "H", .kind = ROW_IGNORED},
    {.code = "PA", .kind = ROW_IGNORED},
    {.code = "PD", .kind = ROW_IGNORED},
    {.code = "TX", .kind = ROW_MARK, .value = KG_PATCH_BEGIN},
    {.code = "TC", .kind = ROW_MARK, .value = KG_PATCH_COMMIT},
    {.code = "TA", .kind = ROW_MARK, .value = KG_PATCH_ABORT},
};

static kg_status read_row(struct reading *reading, const struct row *row, kg_line terms,
                          kg_error *error) {
    switch (row->kind) {
    case ROW_CHANGE:
        reading->operation = (kg_operation)row->value;
        return change_row(reading, terms, error);
    case ROW_MARK:
        return mark_row(reading, terms, (kg_patch_mark)row->value, error);
    default:
        return KG_OK;
    }
}

static bool is_space(char byte) {
    return byte == ' ' || byte == '\t';
}

/* Without spaces at both ends. */
static kg_line trim(kg_line line) {
    while (line.length > 0 && is_space(line.text[line.length - 1]))
        line.length--;
    while (line.length > 0 && is_space(line.text[0])) {
        line.text++;
        line.length--;
    }
    return line;
}

static kg_status read_patch_line(struct reading *reading, kg_line line, kg_error *error) {
    const char *source = kg__input_name(reading->input);
    line = trim(line);
    size_t length = 0;
    if (line.length == 0 || line.text[0] == '#')
        return KG_OK;
    while (length < line.length && !is_space(line.text[length]) && line.text[length] != '.')
        length++;
    reading->is_mark = line.text[0] == 'T' || line.text[0] == 't';
    kg_line terms = trim((kg_line){line.text + length, line.length - length, line.number});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].code) != length || memcmp(rows[i].code, line.text, length) != 0)
            continue;
        if (terms.length == 0 || terms.text[terms.length - 1] != '.')
            return kg_fail_at(error, source, line.number, 0,
                              "expected a dot at the end of the row");
        return read_row(reading, &rows[i], terms, error);
    }
    return kg_fail_at(error, source, line.number, 0,
                      "expected a row that starts with A, D, H, PA, PD, TX, TC or TA, found %s",
                      kg__quote(line.text, length).text);
}

/* ---- All lines ---- */

typedef kg_status (*read_line)(struct reading *reading, kg_line line, kg_error *error);

static kg_status tick(const struct reading *reading, uint64_t line, kg_error *error) {
    kg_reader reader = {.progress = reading->reader->progress};
    return line % TICK_LINES == 0 ? kg__reader_tick(&reader, reading->input, error) : KG_OK;
}

/* A bad line is an error, or is reported. The mark of a transaction is not left out: changes around
 * it would count that the patch gave up. */
static kg_status settle(struct reading *reading, kg_status status, const kg_error *problem,
                        kg_error *error) {
    kg_change_reader *reader = reading->reader;
    if (status != KG_BAD_INPUT || !reader->skip_bad || reading->is_mark) {
        if (error != NULL)
            *error = *problem;
        return status;
    }
    reader->bad_lines++;
    if (reader->on_bad != NULL)
        reader->on_bad(reader->payload, problem);
    return KG_OK;
}

/* The next line. Bad ones that are too long to be read at all are settled. */
static kg_status next_line(struct reading *reading, kg_lines *lines, kg_line *line, bool *more,
                           kg_error *error) {
    for (;;) {
        kg_error problem = {0};
        kg_status status = kg__lines_next(lines, line, more, &problem);
        if (!kg__lines_is_too_long(lines)) {
            if (status != KG_OK && error != NULL)
                *error = problem;
            return status;
        }
        KG_TRY(settle(reading, status, &problem, error));
        KG_TRY(kg__lines_skip(lines, error));
        line->number = lines->number;
    }
}

static kg_status read_lines(struct reading *reading, read_line read, kg_lines *lines,
                            kg_error *error) {
    const char *source = kg__input_name(reading->input);
    kg_line line = {0};
    kg_error problem = {0};
    for (bool more = true;;) {
        problem.source[0] = '\0';
        reading->is_mark = false;
        KG_TRY(next_line(reading, lines, &line, &more, error));
        if (!more)
            break;
        KG_TRY(tick(reading, line.number, error));
        kg_status status = read(reading, line, &problem);
        if (status != KG_OK) {
            kg__error_locate(&problem, source, line.number, 0);
            KG_TRY(settle(reading, status, &problem, error));
        }
    }
    if (!reading->is_open)
        return KG_OK;
    kg_status status = kg_fail_at(&problem, source, line.number, 0,
                                  "expected TC or TA of the last transaction, found the end");
    KG_TRY(settle(reading, status, &problem, error));
    mark(reading, KG_PATCH_ABORT);
    return KG_OK;
}

/* ---- Formats ---- */

static kg_status read_by_lines(struct reading *reading, read_line read, kg_error *error) {
    kg_lines lines;
    kg__lines_open(&lines, reading->input);
    kg_status status = read_lines(reading, read, &lines, error);
    kg__lines_close(&lines);
    return status;
}

static kg_status read_format(struct reading *reading, const char *format, kg_error *error) {
    bool is_patch = strcmp(format, PATCH_FORMAT) == 0;
    if (strcmp(format, "tsv") == 0)
        return read_by_lines(reading, read_tsv_line, error);
    if (is_patch || strcmp(format, "nt") == 0 || strcmp(format, "nq") == 0) {
        bool is_triples = strcmp(format, "nt") == 0;
        reading->rdf.take = is_patch ? keep_patch : keep_rdf;
        KG_TRY(kg__rdf_lines_open(&reading->lines, &reading->rdf, reading->input,
                                  is_triples ? KG_NTRIPLES : KG_NQUADS, error));
        return read_by_lines(reading, is_patch ? read_patch_line : read_rdf_line, error);
    }
    if (reading->reader->skip_bad)
        return kg_fail_at(error, kg__input_name(reading->input), 0, 0,
                          "expected a format of lines, of which bad ones can be skipped, found %s",
                          format);
    return kg__read_rdf(&reading->rdf, reading->input,
                        strcmp(format, "ttl") == 0 ? KG_TURTLE : KG_TRIG, error);
}

static kg_status set_suffix(char **out, const kg_change_reader *reader, bool is_patch,
                            kg_error *error) {
    const char *scope = is_patch ? "" : reader->scope == NULL ? "file" : reader->scope;
    size_t size = strlen(scope) + 2;
    *out = kg__resize(NULL, size, 1);
    if (*out == NULL)
        return kg__fail_memory(error);
    snprintf(*out, size, "%s%s", is_patch ? "" : "#", scope);
    return KG_OK;
}

kg_status kg__changes_read_input(kg_change_reader *reader, kg_input *input, kg_error *error) {
    const char *format = reader->format;
    bool is_patch = strcmp(format, PATCH_FORMAT) == 0;
    char *suffix = NULL;
    KG_TRY(set_suffix(&suffix, reader, is_patch, error));
    struct reading reading = {.reader = reader, .input = input, .operation = reader->operation};
    reading.rdf = (kg_reader){.options.keep_literals = reader->keep_literals,
                              .progress = reader->progress,
                              .take = take_rdf,
                              .payload = &reading,
                              .blank_suffix = suffix};
    kg_status status = read_format(&reading, format, error);
    reader->literals += reading.rdf.counts.literals;
    kg__rdf_lines_close(reading.lines);
    kg__free(reading.row);
    kg__free(suffix);
    return status;
}

static bool has_extension(const char *path, const char *format) {
    size_t length = strlen(path);
    size_t end = strlen(format);
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        length -= 3;
    return length > end && path[length - end - 1] == '.' &&
           memcmp(path + length - end, format, end) == 0;
}

kg_status kg__changes_read(kg_change_reader *reader, const char *path, kg_error *error) {
    const char *given = reader->format;
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_ANY_CODING, error));
    for (size_t i = 0; kg__change_formats[i] != NULL && reader->format == NULL; i++)
        if (has_extension(path, kg__change_formats[i]))
            reader->format = kg__change_formats[i];
    if (reader->format == NULL)
        reader->format = kg__change_formats[0];
    kg_status status = kg__changes_read_input(reader, input, error);
    kg__input_close(input);
    reader->format = given;
    return status;
}
