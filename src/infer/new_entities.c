/* Facts are resolved as they are added, names that the model does not know against tables of
 * unknown names. Which entities are new is determined when all facts are there: an unknown end is
 * new if a fact links it to a known one; if none does, it may be a misspelt known one. */
#include "infer/new_entities.h"

#include <stdio.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "graph/dataset_source.h"
#include "infer/name_suggestions.h"
#include "model/model.h"

/* What messages call the facts that were added by calls, whose lines are the calls. */
#define CALLS "facts"

/* An id of the model, or of the table of unknown names. */
struct reference {
    kg_id id;
    bool is_known;
};

struct fact {
    struct reference ends[2]; /* by kg_end */
    struct reference relation;
    kg_id source;    /* the file that it was read from; KG_NO_ID: added by a call */
    uint64_t number; /* of its line, or of the call */
};

struct kg_new_entities {
    const kg_model *model; /* borrowed */
    size_t most_facts;     /* so that a small file, compressed, cannot take any amount of memory */
    bool skip_unknown;
    bool is_brief;          /* errors are without similar names */
    kg_fact_report *report; /* may be NULL */
    void *payload;
    kg_left_out_facts left;
    char *entity; /* one that is known to be new; may be NULL */

    kg_names unknown; /* entities */
    kg_names unknown_relations;
    kg_names sources;
    struct fact *facts;
    size_t fact_count;
    size_t fact_capacity;
    uint64_t calls;

    /* The following are made when adding ends. */
    bool is_finished;
    size_t count;    /* of new entities */
    size_t *places;  /* by unknown entity: its place, or SIZE_MAX if it is not new */
    kg_id *ids;      /* by place: the unknown entity */
    kg_link *links;  /* of all, concatenated */
    size_t *starts;  /* by place: where its links begin */
    size_t *lengths; /* and their number */
};

/* ---- Adding ---- */

static kg_name name_of(kg_text text) {
    return kg__name_of(text.bytes, text.length);
}

static kg_text text_of(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return (kg_text){name.bytes, name.length};
}

kg_status kg__new_entities_open(kg_new_entities **out, const kg_model *model,
                                const kg_new_entities_options *options, size_t most_facts,
                                kg_error *error) {
    kg_new_entities *entities = kg__alloc(1, sizeof *entities);
    if (entities == NULL)
        return kg__fail_memory(error);
    entities->model = model;
    entities->most_facts = most_facts;
    entities->skip_unknown = options->skip_unknown;
    entities->report = options->report;
    entities->payload = options->payload;
    if (options->entity != NULL) {
        entities->entity = kg__copy_string(options->entity, strlen(options->entity));
        if (entities->entity == NULL) {
            kg__new_entities_close(entities);
            return kg__fail_memory(error);
        }
    }
    *out = entities;
    return KG_OK;
}

void kg__new_entities_close(kg_new_entities *entities) {
    if (entities == NULL)
        return;
    kg__free(entities->entity);
    kg__names_free(&entities->unknown);
    kg__names_free(&entities->unknown_relations);
    kg__names_free(&entities->sources);
    kg__free(entities->facts);
    kg__free(entities->places);
    kg__free(entities->ids);
    kg__free(entities->links);
    kg__free(entities->starts);
    kg__free(entities->lengths);
    kg__free(entities);
}

static kg_status resolve(struct reference *out, const kg_names *known, kg_names *unknown,
                         kg_name name, kg_error *error) {
    out->id = kg__names_find(known, name);
    out->is_known = out->id != KG_NO_ID;
    return out->is_known ? KG_OK : kg__names_intern(unknown, &out->id, name, error);
}

static kg_status add(kg_new_entities *entities, const kg_name names[3], kg_id source,
                     uint64_t number, kg_error *error) {
    const kg_model *model = entities->model;
    if (entities->fact_count >= entities->most_facts)
        return kg_fail(error, KG_BAD_INPUT, "expected at most %zu facts about new entities",
                       entities->most_facts);
    struct fact *facts = kg__grow(entities->facts, &entities->fact_capacity,
                                  entities->fact_count + 1, sizeof *facts);
    if (facts == NULL)
        return kg__fail_memory(error);
    entities->facts = facts;
    struct fact fact = {.source = source, .number = number};
    KG_TRY(resolve(&fact.ends[KG_HEAD], &model->entities, &entities->unknown, names[0], error));
    KG_TRY(
        resolve(&fact.relation, &model->relations, &entities->unknown_relations, names[1], error));
    KG_TRY(resolve(&fact.ends[KG_TAIL], &model->entities, &entities->unknown, names[2], error));
    facts[entities->fact_count++] = fact;
    return KG_OK;
}

static kg_status check_open(const kg_new_entities *entities, kg_error *error) {
    if (!entities->is_finished)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected new entities that are still open, found them "
                   "finished (kg_new_entities_finish was called)");
}

static kg_status check_name(kg_text name, uint64_t call, kg_error *error) {
    kg_status status = kg__check_name(name, error);
    if (status != KG_OK)
        kg__error_locate(error, CALLS, call, 0);
    return status;
}

kg_status kg__new_entities_add(kg_new_entities *entities, kg_text head, kg_text relation,
                               kg_text tail, kg_error *error) {
    const kg_text texts[3] = {head, relation, tail};
    kg_name names[3];
    KG_TRY(check_open(entities, error));
    entities->calls++;
    for (size_t i = 0; i < 3; i++) {
        KG_TRY(check_name(texts[i], entities->calls, error));
        names[i] = name_of(texts[i]);
    }
    return add(entities, names, KG_NO_ID, entities->calls, error);
}

/* Passes an error of a fact on, or reports it and leaves the fact out. */
static kg_status pass(kg_new_entities *entities, kg_status status, const kg_error *problem,
                      kg_error *error) {
    if (status == KG_BAD_INPUT && entities->report != NULL) {
        entities->left.wrong++;
        entities->report(entities->payload, problem);
        return KG_OK;
    }
    if (status != KG_OK && error != NULL)
        *error = *problem;
    return status;
}

static kg_status cut_line(kg_name names[3], const char *source, kg_line line, kg_error *error) {
    KG_TRY(kg__tsv_cut(names, source, line, error));
    return line.number == 1 ? kg__tsv_check_header(names, source, error) : KG_OK;
}

static kg_status read_lines(kg_new_entities *entities, kg_lines *lines, const char *source,
                            kg_error *error) {
    kg_id id = KG_NO_ID;
    kg_line line = {0};
    bool more = true;
    KG_TRY(kg__names_intern(&entities->sources, &id, kg__name_of(source, strlen(source)), error));
    for (;;) {
        kg_name names[3];
        KG_TRY(kg__lines_next(lines, &line, &more, error));
        if (!more)
            break;
        kg_error problem = {0};
        kg_status status = cut_line(names, source, line, &problem);
        if (status == KG_OK)
            KG_TRY(add(entities, names, id, line.number, error));
        else
            KG_TRY(pass(entities, status, &problem, error));
    }
    if (line.number == 0)
        return kg_fail_at(error, source, 0, 0, "expected facts, found none");
    return KG_OK;
}

kg_status kg__new_entities_read_input(kg_new_entities *entities, kg_input *input, kg_error *error) {
    KG_TRY(check_open(entities, error));
    kg_lines lines;
    kg__lines_open(&lines, input);
    kg_status status = read_lines(entities, &lines, kg__input_name(input), error);
    kg__lines_close(&lines);
    return status;
}

/* The payload of RDF's reader. */
struct taker {
    kg_new_entities *entities;
    kg_id source;
};

/* A literal that the model does not know carries no information about the entity. */
static kg_status take(void *payload, const kg_name names[3], uint64_t line, kg_error *error) {
    const struct taker *taker = payload;
    kg_new_entities *entities = taker->entities;
    bool is_literal = names[2].bytes[0] == '"';
    if (is_literal && kg__names_find(&entities->model->entities, names[2]) == KG_NO_ID) {
        entities->left.literals++;
        return KG_OK;
    }
    return add(entities, names, taker->source, line, error);
}

static kg_status read_rdf(kg_new_entities *entities, kg_input *input, kg_rdf_syntax syntax,
                          kg_error *error) {
    const char *source = kg__input_name(input);
    struct taker taker = {entities, KG_NO_ID};
    KG_TRY(check_open(entities, error));
    KG_TRY(kg__names_intern(&entities->sources, &taker.source, kg__name_of(source, strlen(source)),
                            error));
    kg_reader reader = {.options.keep_literals = true,
                        .file_number = taker.source + 1,
                        .take = take,
                        .payload = &taker};
    return kg__read_rdf(&reader, input, syntax, error);
}

kg_status kg__new_entities_read(kg_new_entities *entities, const char *path, kg_error *error) {
    kg_rdf_syntax syntax = KG_NTRIPLES;
    bool is_rdf = kg__source_is_rdf(&syntax, path);
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_ANY_CODING, error));
    kg_status status = is_rdf ? read_rdf(entities, input, syntax, error)
                              : kg__new_entities_read_input(entities, input, error);
    kg__input_close(input);
    return status;
}

/* ---- What is wrong with a fact ---- */

/* Each costs a pass over all names, so there are none after this many wrong facts. */
#define MOST_SUGGESTIONS 100

static kg_suggestion suggest(const kg_new_entities *entities, const kg_names *names, kg_text name) {
    bool has_any = !entities->is_brief && entities->left.wrong < MOST_SUGGESTIONS;
    return has_any ? kg__suggest(names, name) : (kg_suggestion){""};
}

/* Adds the location of a fact to its error. */
static void at_fact(const kg_new_entities *entities, const struct fact *fact, kg_error *error) {
    char source[sizeof error->source] = CALLS;
    if (fact->source != KG_NO_ID) {
        kg_text path = text_of(&entities->sources, fact->source);
        snprintf(source, sizeof source, "%.*s", (int)path.length, path.bytes);
    }
    kg__error_locate(error, source, fact->number, 0);
}

static kg_quoted quote(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return kg__quote(name.bytes, name.length);
}

static kg_status fail_relation(const kg_new_entities *entities, const struct fact *fact,
                               kg_error *error) {
    kg_text name = text_of(&entities->unknown_relations, fact->relation.id);
    return kg_fail(error, KG_BAD_INPUT, "expected a relation that the model knows, found %s%s",
                   kg__quote(name.bytes, name.length).text,
                   suggest(entities, &entities->model->relations, name).text);
}

static kg_status fail_known(const kg_new_entities *entities, const struct fact *fact,
                            kg_error *error) {
    const kg_names *names = &entities->model->entities;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected a fact of an entity that is new to the model, found %s and %s, both "
                   "of which it knows (`entity` without facts asks about known ones)",
                   quote(names, fact->ends[KG_HEAD].id).text,
                   quote(names, fact->ends[KG_TAIL].id).text);
}

static kg_status fail_itself(const kg_new_entities *entities, const struct fact *fact,
                             kg_error *error) {
    kg_text name = text_of(&entities->unknown, fact->ends[KG_HEAD].id);
    return kg_fail(error, KG_BAD_INPUT,
                   "expected facts that link %s to entities that the model knows, found one with "
                   "itself%s",
                   kg__quote(name.bytes, name.length).text,
                   suggest(entities, &entities->model->entities, name).text);
}

/* Whether an unknown entity is known to be new, rather than misspelt. */
static bool is_new(const kg_new_entities *entities, struct reference end) {
    kg_text name = text_of(&entities->unknown, end.id);
    return entities->places[end.id] != SIZE_MAX ||
           (entities->entity != NULL && strlen(entities->entity) == name.length &&
            memcmp(entities->entity, name.bytes, name.length) == 0);
}

static kg_status fail_other_end(const kg_new_entities *entities, struct reference other,
                                kg_error *error) {
    kg_text name = text_of(&entities->unknown, other.id);
    return kg_fail(error, KG_BAD_INPUT,
                   "expected an entity that the model knows at the other end, found %s%s",
                   kg__quote(name.bytes, name.length).text,
                   suggest(entities, &entities->model->entities, name).text);
}

/* If one of two unknown ends is known to be new, the error is in the other one; if neither is, in
 * either. */
static kg_status fail_unknown(const kg_new_entities *entities, const struct fact *fact,
                              kg_error *error) {
    const kg_names *names = &entities->unknown;
    const kg_names *known = &entities->model->entities;
    struct reference head = fact->ends[KG_HEAD];
    struct reference tail = fact->ends[KG_TAIL];
    bool head_new = is_new(entities, head);
    bool tail_new = is_new(entities, tail);
    if (head_new != tail_new)
        return fail_other_end(entities, head_new ? tail : head, error);
    kg_suggestion suggestion = {""};
    if (!head_new)
        suggestion = suggest(entities, known, text_of(names, head.id));
    if (!head_new && suggestion.text[0] == '\0')
        suggestion = suggest(entities, known, text_of(names, tail.id));
    return kg_fail(error, KG_BAD_INPUT,
                   "expected one end that the model knows, found %s and %s, both unknown%s (a new "
                   "entity is embedded from facts with known ones: leave this one out, or "
                   "`skip_unknown`)",
                   quote(names, head.id).text, quote(names, tail.id).text, suggestion.text);
}

/* ---- Which entities are new ---- */

/* How a fact is used. */
enum use { USED, UNKNOWN_RELATION, BOTH_KNOWN, REFLEXIVE, BOTH_UNKNOWN };

static enum use use_of(const struct fact *fact) {
    const struct reference *ends = fact->ends;
    if (!fact->relation.is_known)
        return UNKNOWN_RELATION;
    if (ends[KG_HEAD].is_known != ends[KG_TAIL].is_known)
        return USED;
    if (ends[KG_HEAD].is_known)
        return BOTH_KNOWN;
    return ends[KG_HEAD].id == ends[KG_TAIL].id ? REFLEXIVE : BOTH_UNKNOWN;
}

static kg_end new_end(const struct fact *fact) {
    return fact->ends[KG_HEAD].is_known ? KG_TAIL : KG_HEAD;
}

/* Places in order of first appearance; the links of each are counted. */
static kg_status find_new(kg_new_entities *entities, kg_error *error) {
    size_t unknown = entities->unknown.count;
    entities->places = kg__resize(NULL, unknown, sizeof *entities->places);
    entities->ids = kg__resize(NULL, unknown, sizeof *entities->ids);
    entities->starts = kg__alloc(unknown, sizeof *entities->starts);
    entities->lengths = kg__alloc(unknown, sizeof *entities->lengths);
    if (entities->places == NULL || entities->ids == NULL || entities->starts == NULL ||
        entities->lengths == NULL)
        return kg__fail_memory(error);
    memset(entities->places, 0xff, unknown * sizeof *entities->places); /* all SIZE_MAX */
    for (size_t i = 0; i < entities->fact_count; i++) {
        const struct fact *fact = &entities->facts[i];
        if (use_of(fact) != USED)
            continue;
        kg_id id = fact->ends[new_end(fact)].id;
        size_t *place = &entities->places[id];
        if (*place == SIZE_MAX) {
            *place = entities->count++;
            entities->ids[*place] = id;
        }
        entities->lengths[*place]++;
    }
    return KG_OK;
}

/* Refuses a fact that is not used, or counts it as left out. */
static kg_status leave_out(const kg_new_entities *entities, const struct fact *fact, enum use use,
                           kg_left_out_facts *left, kg_error *error) {
    if (use == BOTH_KNOWN)
        return fail_known(entities, fact, error);
    if (use == REFLEXIVE && entities->places[fact->ends[KG_HEAD].id] != SIZE_MAX)
        left->reflexive++;
    else if (entities->skip_unknown)
        left->unknown++;
    else if (use == UNKNOWN_RELATION)
        return fail_relation(entities, fact, error);
    else if (use == REFLEXIVE)
        return fail_itself(entities, fact, error);
    else
        return fail_unknown(entities, fact, error);
    return KG_OK;
}

static kg_status check_facts(kg_new_entities *entities, kg_error *error) {
    kg_left_out_facts *left = &entities->left;
    for (size_t i = 0; i < entities->fact_count; i++) {
        const struct fact *fact = &entities->facts[i];
        enum use use = use_of(fact);
        if (use == USED)
            continue;
        kg_error problem = {0};
        kg_status status = leave_out(entities, fact, use, left, &problem);
        if (status != KG_OK)
            at_fact(entities, fact, &problem);
        KG_TRY(pass(entities, status, &problem, error));
    }
    if (entities->count > 0)
        return KG_OK;
    if (entities->fact_count == 0)
        return kg_fail(error, KG_BAD_INPUT, "expected facts about new entities, found none");
    return kg_fail(error, KG_BAD_INPUT,
                   "expected facts that link new entities to known ones, found none that is left "
                   "(%zu with unknown names, %zu wrong)",
                   left->unknown, left->wrong);
}

static kg_status fill_links(kg_new_entities *entities, size_t *repeated, kg_error *error) {
    size_t total = 0;
    for (size_t i = 0; i < entities->count; i++) {
        entities->starts[i] = total;
        total += entities->lengths[i];
        entities->lengths[i] = 0;
    }
    entities->links = kg__resize(NULL, total, sizeof *entities->links);
    if (entities->links == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < entities->fact_count; i++) {
        const struct fact *fact = &entities->facts[i];
        if (use_of(fact) != USED)
            continue;
        kg_end end = new_end(fact);
        size_t place = entities->places[fact->ends[end].id];
        entities->links[entities->starts[place] + entities->lengths[place]++] =
            (kg_link){kg_direct(fact->relation.id, end), fact->ends[kg__other_end(end)].id};
    }
    for (size_t i = 0; i < entities->count; i++) {
        size_t before = entities->lengths[i];
        entities->lengths[i] = kg__links_sort(entities->links + entities->starts[i], before);
        *repeated += before - entities->lengths[i];
    }
    return KG_OK;
}

kg_status kg__new_entities_finish(kg_left_out_facts *left, kg_new_entities *entities,
                                  kg_error *error) {
    KG_TRY(check_open(entities, error));
    entities->is_finished = true;
    KG_TRY(find_new(entities, error));
    KG_TRY(check_facts(entities, error));
    KG_TRY(fill_links(entities, &entities->left.repeated, error));
    *left = entities->left;
    return KG_OK;
}

/* ---- Access ---- */

size_t kg__new_entities_count(const kg_new_entities *entities) {
    return entities->count;
}

kg_text kg__new_entities_name(const kg_new_entities *entities, size_t place) {
    return text_of(&entities->unknown, entities->ids[place]);
}

/* After a failure to finish there may be none. */
const kg_link *kg__new_entities_links(size_t *count, const kg_new_entities *entities,
                                      size_t place) {
    *count = entities->links == NULL ? 0 : entities->lengths[place];
    return entities->links == NULL ? NULL : entities->links + entities->starts[place];
}

size_t kg__new_entities_find(const kg_new_entities *entities, kg_text name) {
    kg_id id = kg__names_find(&entities->unknown, name_of(name));
    size_t place = id == KG_NO_ID || entities->places == NULL ? SIZE_MAX : entities->places[id];
    return place == SIZE_MAX ? entities->count : place;
}

void kg__new_entities_be_brief(kg_new_entities *entities) {
    entities->is_brief = true;
}

kg_suggestion kg__new_entities_suggest(const kg_new_entities *entities, kg_text name) {
    return kg__suggest(&entities->unknown, name);
}
