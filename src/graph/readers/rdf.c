/* RDF by serd: N-Triples, Turtle, N-Quads and TriG. An entity is named by its IRI without angle
 * brackets, a blank node by `_:label` (`_:label#2` in the second of several files, since labels are
 * local to their file; `_:label#new1` where facts are not for a data set), a literal that is kept
 * by its N-Triples form, in which a tab or a newline is escaped. The graph of a quad is not kept.
 *
 * The syntaxes that are made of lines can also be read line by line, so that a mistake costs one
 * line. */
#include <serd/serd.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "graph/reader.h"

#define PAGE_SIZE ((size_t)64 << 10)
#define STACK_MAX ((size_t)256 << 10) /* bytes; a level of nesting takes some 300 to 600 */

/* Most prefixes that are kept. */
#define MOST_PREFIXES 1000

struct buffer {
    char *bytes;
    size_t size;
    size_t capacity;
};

/* State of serd's callbacks. Serd continues after a failed callback, so the first failure is kept
 * here and everything after it is ignored. */
struct parse {
    kg_reader *reader;
    kg_input *input;
    SerdEnv *env;
    SerdReader *serd;
    struct buffer names[3]; /* head, relation, tail of the current statement */
    uint64_t fact_count;
    char *own_page;   /* of a whole file */
    const char *page; /* bytes that were read, not all of them passed to serd yet */
    size_t page_size;
    size_t page_used;
    bool is_line;      /* the page is one line, and there is no other */
    char last;         /* the last byte passed to serd, which is the one that it looks at, */
    uint64_t line;     /* and its place: serd reports lines in its own errors only, */
    uint64_t column;   /* and columns that are off by one */
    bool is_end;       /* there is no other byte */
    bool has_text;     /* other than spaces and comments */
    bool is_comment;   /* up to the end of the line; not kept track of behind other text */
    bool has_graphs;   /* the syntax has graphs; serd accepts them in all syntaxes */
    const char *stack; /* address of the C stack before serd is called */
    kg_status status;
    kg_error *error;
};

/* A failure at the line where serd is. */
#define fail_here(parse, ...) \
    kg_fail_at((parse)->error, kg__input_name((parse)->input), (parse)->line, 0, __VA_ARGS__)

static SerdStatus stop(struct parse *parse, kg_status status) {
    if (parse->status == KG_OK)
        parse->status = status;
    return SERD_ERR_INTERNAL;
}

static kg_status append(struct buffer *buffer, const void *bytes, size_t size, kg_error *error) {
    char *grown = kg__grow(buffer->bytes, &buffer->capacity, buffer->size + size, 1);
    if (grown == NULL)
        return kg__fail_memory(error);
    buffer->bytes = grown;
    memcpy(grown + buffer->size, bytes, size);
    buffer->size += size;
    return KG_OK;
}

static kg_status append_text(struct buffer *buffer, const char *text, kg_error *error) {
    return append(buffer, text, strlen(text), error);
}

static kg_status append_escaped(struct buffer *buffer, const SerdNode *node, kg_error *error) {
    for (size_t i = 0; i < node->n_bytes; i++) {
        const char *c = (const char *)node->buf + i;
        const char *escape = *c == '\t'   ? "\\t"
                             : *c == '\n' ? "\\n"
                             : *c == '\r' ? "\\r"
                             : *c == '"'  ? "\\\""
                             : *c == '\\' ? "\\\\"
                                          : NULL;
        KG_TRY(escape == NULL ? append(buffer, c, 1, error) : append_text(buffer, escape, error));
    }
    return KG_OK;
}

static kg_status append_iri(struct parse *parse, struct buffer *buffer, const SerdNode *node) {
    SerdNode expanded = serd_env_expand_node(parse->env, node);
    if (expanded.buf == NULL && node->type == SERD_CURIE)
        return fail_here(parse, "expected a prefix that was declared, found %s",
                         kg__quote((const char *)node->buf, node->n_bytes).text);
    const SerdNode *iri = expanded.buf == NULL ? node : &expanded;
    kg_status status = append(buffer, iri->buf, iri->n_bytes, parse->error);
    serd_node_free(&expanded);
    return status;
}

static kg_status append_blank(struct parse *parse, struct buffer *buffer, const SerdNode *node) {
    KG_TRY(append_text(buffer, "_:", parse->error));
    KG_TRY(append(buffer, node->buf, node->n_bytes, parse->error));
    bool is_taken = parse->reader->take != NULL;
    if (parse->reader->blank_suffix != NULL)
        return append_text(buffer, parse->reader->blank_suffix, parse->error);
    if (parse->reader->file_number < 2 && !is_taken)
        return KG_OK;
    char suffix[32];
    snprintf(suffix, sizeof suffix, "#%s%ju", is_taken ? "new" : "",
             (uintmax_t)parse->reader->file_number);
    return append_text(buffer, suffix, parse->error);
}

static kg_status append_literal(struct parse *parse, struct buffer *buffer, const SerdNode *node,
                                const SerdNode *datatype, const SerdNode *language) {
    KG_TRY(append_text(buffer, "\"", parse->error));
    KG_TRY(append_escaped(buffer, node, parse->error));
    KG_TRY(append_text(buffer, "\"", parse->error));
    if (language != NULL && language->buf != NULL) {
        KG_TRY(append_text(buffer, "@", parse->error));
        KG_TRY(append(buffer, language->buf, language->n_bytes, parse->error));
    }
    if (datatype != NULL && datatype->buf != NULL) {
        KG_TRY(append_text(buffer, "^^<", parse->error));
        KG_TRY(append_iri(parse, buffer, datatype));
        KG_TRY(append_text(buffer, ">", parse->error));
    }
    return KG_OK;
}

static kg_status name_node(struct parse *parse, struct buffer *buffer, const SerdNode *node,
                           const SerdNode *datatype, const SerdNode *language) {
    buffer->size = 0;
    if (node->type == SERD_LITERAL)
        KG_TRY(append_literal(parse, buffer, node, datatype, language));
    else if (node->type == SERD_BLANK)
        KG_TRY(append_blank(parse, buffer, node));
    else
        KG_TRY(append_iri(parse, buffer, node));
    if (buffer->size == 0)
        return fail_here(parse,
                         "expected an IRI, found an empty one (a relative IRI needs a base)");
    if (buffer->size > UINT32_MAX || memchr(buffer->bytes, '\t', buffer->size) != NULL ||
        memchr(buffer->bytes, '\n', buffer->size) != NULL ||
        memchr(buffer->bytes, '\0', buffer->size) != NULL)
        return fail_here(parse, "expected an IRI without tab, newline or NUL, found %s",
                         kg__quote(buffer->bytes, buffer->size).text);
    return KG_OK;
}

static kg_status add_statement(struct parse *parse, const SerdNode *nodes[3],
                               const SerdNode *datatype, const SerdNode *language) {
    kg_name names[3];
    for (int i = 0; i < 3; i++) {
        struct buffer *buffer = &parse->names[i];
        KG_TRY(name_node(parse, buffer, nodes[i], datatype, language));
        names[i] = kg__name_of(buffer->bytes, buffer->size);
    }
    if (parse->reader->take != NULL)
        return parse->reader->take(parse->reader->payload, names, parse->line, parse->error);
    kg_dataset *dataset = parse->reader->dataset;
    kg_status status = kg__dataset_add_one(dataset, names[0], names[1], names[2], parse->error);
    if (status == KG_BAD_INPUT)
        kg__error_locate(parse->error, kg__input_name(parse->input), parse->line, 0);
    return status;
}

/* Serd recurses at every [ and (, and reports a statement before it does. */
static bool is_too_deep(const struct parse *parse) {
    const char *here = __builtin_frame_address(0);
    return (size_t)(here < parse->stack ? parse->stack - here : here - parse->stack) > STACK_MAX;
}

static SerdStatus on_statement(void *payload, SerdStatementFlags flags, const SerdNode *graph,
                               const SerdNode *subject, const SerdNode *predicate,
                               const SerdNode *object, const SerdNode *datatype,
                               const SerdNode *language) {
    (void)flags;
    struct parse *parse = payload;
    if (parse->status != KG_OK)
        return SERD_ERR_INTERNAL;
    if (graph != NULL && graph->buf != NULL && !parse->has_graphs)
        return stop(parse, fail_here(parse,
                                     "expected facts outside of graphs, found one in %s "
                                     "(is it TriG or N-Quads?)",
                                     kg__quote((const char *)graph->buf, graph->n_bytes).text));
    if (is_too_deep(parse))
        return stop(parse,
                    fail_here(parse, "expected less deeply nested blank nodes and collections"));
    parse->fact_count++;
    if (object->type == SERD_LITERAL && !parse->reader->options.keep_literals) {
        parse->reader->counts.literals++;
        return SERD_SUCCESS;
    }
    const SerdNode *nodes[3] = {subject, predicate, object};
    kg_status status = add_statement(parse, nodes, datatype, language);
    return status == KG_OK ? SERD_SUCCESS : stop(parse, status);
}

static SerdStatus on_base(void *payload, const SerdNode *uri) {
    struct parse *parse = payload;
    return serd_env_set_base_uri(parse->env, uri);
}

/* Keeps a prefix in the history of the data set, to shorten names in output. The first definition
 * of a prefix is kept. */
static kg_status keep_prefix(struct parse *parse, const SerdNode *name, const SerdNode *uri) {
    json_t *history = parse->reader->dataset->history;
    json_t *prefixes = json_object_get(history, "prefixes");
    if (prefixes == NULL && json_object_set_new(history, "prefixes", json_object()) != 0)
        return kg__fail_memory(parse->error);
    prefixes = json_object_get(history, "prefixes");
    SerdNode iri = serd_env_expand_node(parse->env, uri);
    const SerdNode *whole = iri.buf == NULL ? uri : &iri;
    json_t *value = kg__json_text((const char *)whole->buf, whole->n_bytes);
    json_t *key = kg__json_text((const char *)name->buf, name->n_bytes);
    bool is_new = key != NULL && json_object_size(prefixes) < MOST_PREFIXES &&
                  json_object_get(prefixes, json_string_value(key)) == NULL;
    bool good = key != NULL && value != NULL &&
                (!is_new || json_object_set(prefixes, json_string_value(key), value) == 0);
    serd_node_free(&iri);
    json_decref(value);
    json_decref(key);
    return good ? KG_OK : kg__fail_memory(parse->error);
}

static SerdStatus on_prefix(void *payload, const SerdNode *name, const SerdNode *uri) {
    struct parse *parse = payload;
    if (parse->status == KG_OK && parse->reader->dataset != NULL) {
        kg_status status = keep_prefix(parse, name, uri);
        if (status != KG_OK)
            return stop(parse, status);
    }
    return serd_env_set_prefix(parse->env, name, uri);
}

/* Serd's messages are fragments that end in a newline. */
static SerdStatus on_error(void *payload, const SerdError *problem) {
    struct parse *parse = payload;
    char text[256];
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): serd started it */
    vsnprintf(text, sizeof text, problem->fmt, *problem->args);
    if (parse->is_end) /* which serd calls 0xff */
        snprintf(text, sizeof text, "unexpected end");
    size_t length = strlen(text);
    length -= length > 0 && text[length - 1] == '\n';
    if (parse->status == KG_OK)
        parse->status =
            kg_fail_at(parse->error, kg__input_name(parse->input), parse->line, parse->column,
                       "not valid RDF: %s", kg__quote(text, length).text);
    return SERD_SUCCESS;
}

static kg_status fill_page(struct parse *parse) {
    KG_TRY(kg__reader_tick(parse->reader, parse->input, parse->error));
    parse->page_used = 0;
    return kg__input_read(parse->input, parse->own_page, PAGE_SIZE, &parse->page_size,
                          parse->error);
}

/* To the place of the next byte. */
static void move_on(struct parse *parse) {
    bool is_next = parse->last == '\n';
    parse->line += is_next;
    parse->column = is_next ? 1 : parse->column + 1;
}

static void note_text(struct parse *parse, char byte) {
    bool is_space = byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
    parse->is_comment = byte == '#' || (parse->is_comment && parse->last != '\n');
    parse->has_text = parse->has_text || !(is_space || parse->is_comment);
}

/* Passes serd a byte at a time. It would treat a NUL byte as the end of the file. */
static size_t next_byte(void *buffer, size_t size, size_t count, void *payload) {
    (void)size;
    (void)count;
    struct parse *parse = payload;
    kg_status status = parse->status;
    if (parse->is_end)
        return 0;
    if (status == KG_OK && parse->page_used == parse->page_size) {
        if (!parse->is_line)
            status = fill_page(parse);
        parse->is_end = status == KG_OK && (parse->is_line || parse->page_size == 0);
        if (parse->is_end)
            move_on(parse);
    }
    if (status != KG_OK)
        stop(parse, status);
    if (status != KG_OK || parse->is_end)
        return 0;
    char byte = parse->page[parse->page_used++];
    move_on(parse);
    note_text(parse, byte);
    if (byte == '\0') {
        stop(parse, fail_here(parse, "expected text, found a NUL byte (is the file binary, or "
                                     "UTF-16?)"));
        return 0;
    }
    parse->last = byte;
    *(char *)buffer = byte;
    return 1;
}

static int has_failed(void *payload) {
    const struct parse *parse = payload;
    return parse->status != KG_OK;
}

static kg_status open_serd(struct parse *parse, kg_rdf_syntax syntax) {
    static const SerdSyntax syntaxes[] = {
        [KG_NTRIPLES] = SERD_NQUADS, /* its reader of N-Triples accepts some of Turtle */
        [KG_TURTLE] = SERD_TURTLE,
        [KG_NQUADS] = SERD_NQUADS,
        [KG_TRIG] = SERD_TRIG,
    };
    parse->has_graphs = syntax == KG_NQUADS || syntax == KG_TRIG;
    parse->env = serd_env_new(NULL);
    parse->serd =
        serd_reader_new(syntaxes[syntax], parse, NULL, on_base, on_prefix, on_statement, NULL);
    if (parse->env == NULL || parse->serd == NULL)
        return kg__fail_memory(parse->error);
    serd_reader_set_strict(parse->serd, true);
    serd_reader_set_error_sink(parse->serd, on_error, parse);
    return KG_OK;
}

static void close_serd(struct parse *parse) {
    serd_reader_free(parse->serd);
    serd_env_free(parse->env);
    parse->serd = NULL;
    parse->env = NULL;
}

static void run(struct parse *parse) {
    parse->stack = __builtin_frame_address(0);
    SerdStatus status = serd_reader_read_source(parse->serd, next_byte, has_failed, parse,
                                                (const uint8_t *)kg__input_name(parse->input), 1);
    /* Serd fails without an error on an empty file, and where it finds no N-Quads. */
    bool is_good = status == SERD_SUCCESS || (status == SERD_FAILURE && !parse->has_text);
    if (!is_good && parse->status == KG_OK)
        parse->status = kg_fail_at(parse->error, kg__input_name(parse->input), parse->line,
                                   parse->column, "not valid RDF: %s",
                                   status == SERD_FAILURE ? "expected a statement"
                                                          : (const char *)serd_strerror(status));
}

static void free_parse(struct parse *parse) {
    close_serd(parse);
    for (int i = 0; i < 3; i++)
        kg__free(parse->names[i].bytes);
    kg__free(parse->own_page);
}

kg_status kg__read_rdf(kg_reader *reader, kg_input *input, kg_rdf_syntax syntax, kg_error *error) {
    struct parse parse = {.reader = reader, .input = input, .line = 1, .error = error};
    parse.page = parse.own_page = kg__resize(NULL, PAGE_SIZE, 1);
    parse.status = parse.page == NULL ? kg__fail_memory(error) : open_serd(&parse, syntax);
    if (parse.status == KG_OK)
        run(&parse);
    free_parse(&parse);
    if (parse.status == KG_OK && parse.fact_count == 0)
        return kg_fail_at(error, kg__input_name(input), 0, 0, "expected facts, found none");
    return parse.status;
}

/* ---- Line by line ---- */

struct kg_rdf_lines {
    struct parse parse;
    kg_rdf_syntax syntax;
};

kg_status kg__rdf_lines_open(kg_rdf_lines **out, kg_reader *reader, kg_input *input,
                             kg_rdf_syntax syntax, kg_error *error) {
    kg_rdf_lines *lines = kg__alloc(1, sizeof *lines);
    if (lines == NULL)
        return kg__fail_memory(error);
    lines->parse = (struct parse){.reader = reader, .input = input, .is_line = true};
    lines->syntax = syntax;
    *out = lines;
    return KG_OK;
}

void kg__rdf_lines_close(kg_rdf_lines *lines) {
    if (lines == NULL)
        return;
    free_parse(&lines->parse);
    kg__free(lines);
}

/* What serd keeps of a line with a mistake is of no use for the next one. */
kg_status kg__rdf_lines_parse(kg_rdf_lines *lines, kg_line line, size_t *count, kg_error *error) {
    struct parse *parse = &lines->parse;
    parse->error = error;
    parse->status = parse->serd == NULL ? open_serd(parse, lines->syntax) : KG_OK;
    parse->line = line.number;
    parse->column = 0;
    parse->last = '\0';
    parse->is_end = parse->has_text = parse->is_comment = false;
    parse->fact_count = 0;
    parse->page = line.text;
    parse->page_size = line.length;
    parse->page_used = 0;
    if (parse->status == KG_OK)
        run(parse);
    if (parse->status != KG_OK)
        close_serd(parse);
    *count = (size_t)parse->fact_count;
    return parse->status;
}
