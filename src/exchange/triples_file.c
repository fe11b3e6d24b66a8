/* Each fact is interpreted both as names and as ids, until one of these fails. */
#include "exchange/triples_file.h"

#include <string.h>

#include "base/lines.h"
#include "base/text.h"
#include "exchange/row_names.h"

#define LINES_PER_TICK 65536

/* One of the two interpretations. */
struct reading {
    kg_triples facts;
    kg_error error; /* why it failed, if its status is not KG_OK */
};

struct readings {
    const kg_reader *reader;
    const kg_input *input;
    const kg_dataset *dataset;
    const char *source;
    bool is_openke;
    size_t claimed; /* number of facts in OpenKE's first line */
    struct reading by_name;
    struct reading by_id;
};

static kg_status find_name(kg_id *out, const kg_names *names, kg_name name, const char *what,
                           kg_error *error) {
    *out = kg__names_find(names, name);
    if (*out != KG_NO_ID)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "expected %s that has a row, found %s", what,
                   kg__quote(name.bytes, name.length).text);
}

static kg_status find_id(kg_id *out, const kg_names *names, kg_name name, const char *what,
                         kg_error *error) {
    size_t number = 0;
    if (!kg__row_number(name.bytes, name.length, &number) || number >= names->count)
        return kg_fail(error, KG_BAD_INPUT, "expected the id of %s, below %zu, found %s", what,
                       names->count, kg__quote(name.bytes, name.length).text);
    *out = (kg_id)number;
    return KG_OK;
}

typedef kg_status find_function(kg_id *out, const kg_names *names, kg_name name, const char *what,
                                kg_error *error);

static kg_status find_fact(kg_triple *out, const kg_dataset *dataset, find_function *find,
                           const kg_name fields[3], kg_error *error) {
    KG_TRY(find(&out->head, &dataset->entities, fields[0], "an entity", error));
    KG_TRY(find(&out->relation, &dataset->relations, fields[1], "a relation", error));
    return find(&out->tail, &dataset->entities, fields[2], "an entity", error);
}

/* Adds the fact to an interpretation unless that has failed, before or now. */
static kg_status add(struct reading *reading, const struct readings *readings, find_function *find,
                     const kg_name fields[3], uint64_t line, kg_error *error) {
    kg_triple fact;
    if (reading->error.status != KG_OK)
        return KG_OK;
    if (find_fact(&fact, readings->dataset, find, fields, &reading->error) == KG_OK)
        return kg__triples_push(&reading->facts, fact, error);
    kg__error_locate(&reading->error, readings->source, line, 0);
    return KG_OK;
}

/* Reports the interpretation that failed later. */
static kg_status refuse(const struct readings *readings, kg_error *error) {
    bool is_id = readings->is_openke || readings->by_id.error.line > readings->by_name.error.line;
    const kg_error *cause = is_id ? &readings->by_id.error : &readings->by_name.error;
    if (error != NULL)
        *error = *cause;
    return cause->status;
}

static kg_status add_line(struct readings *readings, const kg_name fields[3], uint64_t line,
                          kg_error *error) {
    if (!readings->is_openke)
        KG_TRY(add(&readings->by_name, readings, find_name, fields, line, error));
    KG_TRY(add(&readings->by_id, readings, find_id, fields, line, error));
    bool is_left = (!readings->is_openke && readings->by_name.error.status == KG_OK) ||
                   readings->by_id.error.status == KG_OK;
    return is_left ? KG_OK : refuse(readings, error);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

/* The ids of head, tail and relation, separated by white space. */
static kg_status cut_openke(kg_name fields[3], const char *source, kg_line line, kg_error *error) {
    static const int places[] = {0, 2, 1};
    size_t count = 0;
    for (size_t at = 0; at < line.length;) {
        size_t start = at;
        while (at < line.length && !is_space(line.text[at]))
            at++;
        if (at > start && count++ < 3)
            fields[places[count - 1]] = kg__name_of(line.text + start, at - start);
        while (at < line.length && is_space(line.text[at]))
            at++;
    }
    if (count == 3)
        return KG_OK;
    return kg_fail_at(error, source, line.number, 0,
                      "expected the ids of head, tail and relation, found %zu: %s", count,
                      kg__quote(line.text, line.length).text);
}

static bool is_header(const struct readings *readings, const kg_name fields[3]) {
    kg_triple fact;
    return find_fact(&fact, readings->dataset, find_name, fields, NULL) != KG_OK &&
           kg__tsv_check_header(fields, readings->source, NULL) != KG_OK;
}

static kg_status read_line(void *payload, kg_line line, kg_error *error) {
    struct readings *readings = payload;
    kg_name fields[3];
    if (line.number % LINES_PER_TICK == 0)
        KG_TRY(kg__reader_tick(readings->reader, readings->input, error));
    if (line.number == 1 && kg__row_number(line.text, line.length, &readings->claimed)) {
        readings->is_openke = true;
        return KG_OK;
    }
    if (readings->is_openke)
        KG_TRY(cut_openke(fields, readings->source, line, error));
    else
        KG_TRY(kg__tsv_cut(fields, readings->source, line, error));
    if (line.number == 1 && is_header(readings, fields))
        return KG_OK;
    return add_line(readings, fields, line.number, error);
}

/* The interpretation that is left; names that are numbers may leave both. */
static kg_status choose(const kg_triples **out, const struct readings *readings, kg_error *error) {
    const struct reading *by_name = &readings->by_name;
    const struct reading *by_id = &readings->by_id;
    bool is_named = !readings->is_openke && by_name->error.status == KG_OK;
    bool is_numbered = by_id->error.status == KG_OK;
    *out = is_named ? &by_name->facts : &by_id->facts;
    if ((*out)->count == 0)
        return kg_fail_at(error, readings->source, 0, 0, "expected facts, found none");
    if (readings->is_openke && by_id->facts.count != readings->claimed)
        return kg_fail_at(error, readings->source, 1, 0,
                          "expected %zu facts, as the first line says, found %zu",
                          readings->claimed, by_id->facts.count);
    if (is_named && is_numbered &&
        memcmp(by_name->facts.items, by_id->facts.items,
               by_name->facts.count * sizeof *by_name->facts.items) != 0)
        return kg_fail_at(
            error, readings->source, 0, 0,
            "expected names or ids, found numbers that could be both, which are other "
            "facts then (names that are no numbers leave no doubt)");
    return KG_OK;
}

static kg_status store(kg_dataset *dataset, const kg_triples *facts, kg_error *error) {
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        KG_TRY(kg__dataset_add_one(dataset, kg__names_hashed(&dataset->entities, fact.head),
                                   kg__names_hashed(&dataset->relations, fact.relation),
                                   kg__names_hashed(&dataset->entities, fact.tail), error));
    }
    return KG_OK;
}

kg_status kg__triples_file_read(kg_reader *reader, kg_input *input, kg_error *error) {
    struct readings readings = {.reader = reader,
                                .input = input,
                                .dataset = reader->dataset,
                                .source = kg__input_name(input)};
    const kg_triples *facts = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__lines_each(input, read_line, &readings, error));
    KG_CHECK(choose(&facts, &readings, error));
    status = store(reader->dataset, facts, error);
done:
    kg__triples_free(&readings.by_name.facts);
    kg__triples_free(&readings.by_id.facts);
    return status;
}
