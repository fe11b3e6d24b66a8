/* Newcomers: facts by name, and who is new in them.
 *
 * Facts are resolved as they come, what the model does not know against params of unknown names.
 * Who is new can only be told when all facts are there: an unknown end is a newcomer if a fact
 * links it to a known one; if none does, it may as well be a known one misspelt. */
#include "infer/new_entities.h"

#include <stdio.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "graph/source.h"
#include "infer/suggest.h"
#include "model/model.h"

/* What messages call the facts that were added by calls, whose lines are the calls. */
#define CALLS "facts"

#define MOST_FACTS ((size_t)8 << 20) /* some 300 MB of them */

/* Who an id is: of the model, or of the newcomers' own table of unknown names. */
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
    bool skip_unknown;
    kg_fact_report *report; /* may be NULL */
    void *payload;
    kg_left_out_facts left;
    char *entity; /* who is new for sure; may be NULL */

    kg_names entities; /* that are not known */
    kg_names relations;
    kg_names sources;
    struct fact *facts;
    size_t fact_count;
    size_t fact_capacity;
    uint64_t calls;

    /* From here on made when adding ends. */
    bool is_finished;
    size_t count;    /* of newcomers */
    size_t *places;  /* by unknown entity: its place, or SIZE_MAX if it is no newcomer */
    kg_id *ids;      /* by place: the unknown entity */
    kg_link *links;  /* of all, one after the other */
    size_t *starts;  /* by place: where its links begin; those of the next lie behind */
    size_t *lengths; /* and how many they are */
};

/* ---- Adding ---- */

static kg_name name_of(kg_text text) {
    return kg__name_of(text.bytes, text.length);
}

static kg_text text_of(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return (kg_text){name.bytes, name.length};
}

kg_status kg_new_entities_open(kg_new_entities **out, const kg_model *model,
                               const kg_new_entities_options *options, kg_error *error) {
    KG_NEED(out);
    *out = NULL;
    KG_NEED(model);
    KG_NEED(options);
    kg_new_entities *newcomers = kg__alloc(1, sizeof *newcomers);
    if (newcomers == NULL)
        return kg__fail_memory(error);
    newcomers->model = model;
    newcomers->skip_unknown = options->skip_unknown;
    newcomers->report = options->report;
    newcomers->payload = options->payload;
    if (options->entity != NULL) {
        newcomers->entity = kg__copy_string(options->entity, strlen(options->entity));
        if (newcomers->entity == NULL) {
            kg_new_entities_close(newcomers);
            return kg__fail_memory(error);
        }
    }
    *out = newcomers;
    return KG_OK;
}

void kg_new_entities_close(kg_new_entities *newcomers) {
    if (newcomers == NULL)
        return;
    kg__free(newcomers->entity);
    kg__names_free(&newcomers->entities);
    kg__names_free(&newcomers->relations);
    kg__names_free(&newcomers->sources);
    kg__free(newcomers->facts);
    kg__free(newcomers->places);
    kg__free(newcomers->ids);
    kg__free(newcomers->links);
    kg__free(newcomers->starts);
    kg__free(newcomers->lengths);
    kg__free(newcomers);
}

static kg_status resolve(struct reference *out, const kg_names *known, kg_names *unknown,
                         kg_name name, kg_error *error) {
    out->id = kg__names_find(known, name);
    out->is_known = out->id != KG_NO_ID;
    return out->is_known ? KG_OK : kg__names_intern(unknown, &out->id, name, error);
}

static kg_status add(kg_new_entities *newcomers, const kg_name names[3], kg_id source,
                     uint64_t number, kg_error *error) {
    const kg_model *model = newcomers->model;
    if (newcomers->fact_count >= MOST_FACTS)
        return kg_fail(error, KG_BAD_INPUT, "expected at most %zu facts about new entities",
                       MOST_FACTS);
    struct fact *facts = kg__grow(newcomers->facts, &newcomers->fact_capacity,
                                  newcomers->fact_count + 1, sizeof *facts);
    if (facts == NULL)
        return kg__fail_memory(error);
    newcomers->facts = facts;
    struct fact fact = {.source = source, .number = number};
    KG_TRY(resolve(&fact.ends[KG_HEAD], &model->entities, &newcomers->entities, names[0], error));
    KG_TRY(resolve(&fact.relation, &model->relations, &newcomers->relations, names[1], error));
    KG_TRY(resolve(&fact.ends[KG_TAIL], &model->entities, &newcomers->entities, names[2], error));
    facts[newcomers->fact_count++] = fact;
    return KG_OK;
}

static kg_status check_open(const kg_new_entities *newcomers, kg_error *error) {
    if (!newcomers->is_finished)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected newcomers that are still open, found them "
                   "finished (kg_new_entities_finish was called)");
}

static kg_status check_name(kg_text name, uint64_t call, kg_error *error) {
    if (name.bytes == NULL || name.length == 0)
        return kg_fail_at(error, CALLS, call, 0, "expected a name, found an empty one");
    if (name.length > KG_LINE_MAX)
        return kg_fail_at(error, CALLS, call, 0, "expected names of at most %zu bytes, found %zu",
                          KG_LINE_MAX, name.length);
    for (size_t i = 0; i < name.length; i++)
        if (name.bytes[i] == '\0' || name.bytes[i] == '\t' || name.bytes[i] == '\n')
            return kg_fail_at(error, CALLS, call, 0,
                              "expected a name without NUL, tab and newline, found %s",
                              kg__quote(name.bytes, name.length).text);
    return KG_OK;
}

kg_status kg_new_entities_add(kg_new_entities *newcomers, kg_text head, kg_text relation,
                              kg_text tail, kg_error *error) {
    const kg_text texts[3] = {head, relation, tail};
    kg_name names[3];
    KG_NEED(newcomers);
    KG_TRY(check_open(newcomers, error));
    newcomers->calls++;
    for (size_t i = 0; i < 3; i++) {
        KG_TRY(check_name(texts[i], newcomers->calls, error));
        names[i] = name_of(texts[i]);
    }
    return add(newcomers, names, KG_NO_ID, newcomers->calls, error);
}

/* Hands on what is wrong with a fact, or reports it and leaves the fact out. */
static kg_status pass(kg_new_entities *newcomers, kg_status status, const kg_error *problem,
                      kg_error *error) {
    if (status == KG_BAD_INPUT && newcomers->report != NULL) {
        newcomers->left.wrong++;
        newcomers->report(newcomers->payload, problem);
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

static kg_status read_lines(kg_new_entities *newcomers, kg_lines *lines, const char *source,
                            kg_error *error) {
    kg_id id = KG_NO_ID;
    kg_line line = {0};
    bool more = true;
    KG_TRY(kg__names_intern(&newcomers->sources, &id, kg__name_of(source, strlen(source)), error));
    for (;;) {
        kg_name names[3];
        KG_TRY(kg__lines_next(lines, &line, &more, error));
        if (!more)
            break;
        kg_error problem = {0};
        kg_status status = cut_line(names, source, line, &problem);
        if (status == KG_OK)
            KG_TRY(add(newcomers, names, id, line.number, error));
        else
            KG_TRY(pass(newcomers, status, &problem, error));
    }
    if (line.number == 0)
        return kg_fail_at(error, source, 0, 0, "expected facts, found none");
    return KG_OK;
}

kg_status kg__new_entities_read_input(kg_new_entities *newcomers, kg_input *input,
                                      kg_error *error) {
    KG_TRY(check_open(newcomers, error));
    kg_lines lines;
    kg__lines_open(&lines, input);
    kg_status status = read_lines(newcomers, &lines, kg__input_name(input), error);
    kg__lines_close(&lines);
    return status;
}

/* What RDF's reader hands facts on to. */
struct taker {
    kg_new_entities *newcomers;
    kg_id source;
};

/* A literal that the model does not know says nothing about the entity. */
static kg_status take(void *payload, const kg_name names[3], uint64_t line, kg_error *error) {
    const struct taker *taker = payload;
    kg_new_entities *newcomers = taker->newcomers;
    bool is_literal = names[2].bytes[0] == '"';
    if (is_literal && kg__names_find(&newcomers->model->entities, names[2]) == KG_NO_ID) {
        newcomers->left.literals++;
        return KG_OK;
    }
    return add(newcomers, names, taker->source, line, error);
}

static kg_status read_rdf(kg_new_entities *newcomers, kg_input *input, kg_rdf_syntax syntax,
                          kg_error *error) {
    const char *source = kg__input_name(input);
    struct taker taker = {newcomers, KG_NO_ID};
    KG_TRY(check_open(newcomers, error));
    KG_TRY(kg__names_intern(&newcomers->sources, &taker.source, kg__name_of(source, strlen(source)),
                            error));
    kg_reader reader = {.options.keep_literals = true,
                        .file_number = taker.source + 1,
                        .take = take,
                        .payload = &taker};
    return kg__read_rdf(&reader, input, syntax, error);
}

kg_status kg_new_entities_read(kg_new_entities *newcomers, const char *path, kg_error *error) {
    KG_NEED(newcomers);
    KG_NEED(path);
    kg_rdf_syntax syntax = KG_NTRIPLES;
    bool is_rdf = kg__source_is_rdf(&syntax, path);
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_ANY_CODING, error));
    kg_status status = is_rdf ? read_rdf(newcomers, input, syntax, error)
                              : kg__new_entities_read_input(newcomers, input, error);
    kg__input_close(input);
    return status;
}

/* ---- What is wrong with a fact ---- */

/* Each costs a pass over all names, so after so many facts that are wrong there are no more. */
#define MOST_SUGGESTIONS 100

static kg_suggestion suggest(const kg_new_entities *newcomers, const kg_names *names,
                             kg_text name) {
    return newcomers->left.wrong < MOST_SUGGESTIONS ? kg__suggest(names, name)
                                                    : (kg_suggestion){""};
}

/* Adds the place of a fact to what is wrong with it. */
static void at_fact(const kg_new_entities *newcomers, const struct fact *fact, kg_error *error) {
    char source[sizeof error->source] = CALLS;
    if (fact->source != KG_NO_ID) {
        kg_text path = text_of(&newcomers->sources, fact->source);
        snprintf(source, sizeof source, "%.*s", (int)path.length, path.bytes);
    }
    kg__error_locate(error, source, fact->number, 0);
}

static kg_quoted quote(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return kg__quote(name.bytes, name.length);
}

static kg_status fail_relation(const kg_new_entities *newcomers, const struct fact *fact,
                               kg_error *error) {
    kg_text name = text_of(&newcomers->relations, fact->relation.id);
    return kg_fail(error, KG_BAD_INPUT, "expected a relation that the model knows, found %s%s",
                   kg__quote(name.bytes, name.length).text,
                   suggest(newcomers, &newcomers->model->relations, name).text);
}

static kg_status fail_known(const kg_new_entities *newcomers, const struct fact *fact,
                            kg_error *error) {
    const kg_names *names = &newcomers->model->entities;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected a fact of an entity that is new to the model, found %s and %s, both "
                   "of which it knows (`entity` without facts asks about known ones)",
                   quote(names, fact->ends[KG_HEAD].id).text,
                   quote(names, fact->ends[KG_TAIL].id).text);
}

static kg_status fail_itself(const kg_new_entities *newcomers, const struct fact *fact,
                             kg_error *error) {
    kg_text name = text_of(&newcomers->entities, fact->ends[KG_HEAD].id);
    return kg_fail(error, KG_BAD_INPUT,
                   "expected facts that link %s to entities that the model knows, found one with "
                   "itself%s",
                   kg__quote(name.bytes, name.length).text,
                   suggest(newcomers, &newcomers->model->entities, name).text);
}

/* Whether an unknown entity is new for all that is known of it, rather than misspelt. */
static bool is_new(const kg_new_entities *newcomers, struct reference end) {
    kg_text name = text_of(&newcomers->entities, end.id);
    return newcomers->places[end.id] != SIZE_MAX ||
           (newcomers->entity != NULL && strlen(newcomers->entity) == name.length &&
            memcmp(newcomers->entity, name.bytes, name.length) == 0);
}

static kg_status fail_other_end(const kg_new_entities *newcomers, struct reference other,
                                kg_error *error) {
    kg_text name = text_of(&newcomers->entities, other.id);
    return kg_fail(error, KG_BAD_INPUT,
                   "expected an entity that the model knows at the other end, found %s%s",
                   kg__quote(name.bytes, name.length).text,
                   suggest(newcomers, &newcomers->model->entities, name).text);
}

/* Where one of two unknown ends is known to be new, the other one is the mistake. Where neither is,
 * either may be. */
static kg_status fail_unknown(const kg_new_entities *newcomers, const struct fact *fact,
                              kg_error *error) {
    const kg_names *names = &newcomers->entities;
    const kg_names *known = &newcomers->model->entities;
    struct reference head = fact->ends[KG_HEAD];
    struct reference tail = fact->ends[KG_TAIL];
    bool head_new = is_new(newcomers, head);
    bool tail_new = is_new(newcomers, tail);
    if (head_new != tail_new)
        return fail_other_end(newcomers, head_new ? tail : head, error);
    kg_suggestion suggestion = {""};
    if (!head_new)
        suggestion = suggest(newcomers, known, text_of(names, head.id));
    if (!head_new && suggestion.text[0] == '\0')
        suggestion = suggest(newcomers, known, text_of(names, tail.id));
    return kg_fail(error, KG_BAD_INPUT,
                   "expected one end that the model knows, found %s and %s, both unknown%s (a new "
                   "entity is embedded from facts with known ones: leave this one out, or "
                   "`skip_unknown`)",
                   quote(names, head.id).text, quote(names, tail.id).text, suggestion.text);
}

/* ---- Who is new ---- */

/* What a fact is good for. */
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
static kg_status find_newcomers(kg_new_entities *newcomers, kg_error *error) {
    size_t unknown = newcomers->entities.count;
    newcomers->places = kg__resize(NULL, unknown, sizeof *newcomers->places);
    newcomers->ids = kg__resize(NULL, unknown, sizeof *newcomers->ids);
    newcomers->starts = kg__alloc(unknown, sizeof *newcomers->starts);
    newcomers->lengths = kg__alloc(unknown, sizeof *newcomers->lengths);
    if (newcomers->places == NULL || newcomers->ids == NULL || newcomers->starts == NULL ||
        newcomers->lengths == NULL)
        return kg__fail_memory(error);
    memset(newcomers->places, 0xff, unknown * sizeof *newcomers->places); /* all SIZE_MAX */
    for (size_t i = 0; i < newcomers->fact_count; i++) {
        const struct fact *fact = &newcomers->facts[i];
        if (use_of(fact) != USED)
            continue;
        kg_id id = fact->ends[new_end(fact)].id;
        size_t *place = &newcomers->places[id];
        if (*place == SIZE_MAX) {
            *place = newcomers->count++;
            newcomers->ids[*place] = id;
        }
        newcomers->lengths[*place]++;
    }
    return KG_OK;
}

/* Refuses a fact that is not used, or counts it as left out. */
static kg_status leave_out(const kg_new_entities *newcomers, const struct fact *fact, enum use use,
                           kg_left_out_facts *left, kg_error *error) {
    if (use == BOTH_KNOWN)
        return fail_known(newcomers, fact, error);
    if (use == REFLEXIVE && newcomers->places[fact->ends[KG_HEAD].id] != SIZE_MAX)
        left->reflexive++;
    else if (newcomers->skip_unknown)
        left->unknown++;
    else if (use == UNKNOWN_RELATION)
        return fail_relation(newcomers, fact, error);
    else if (use == REFLEXIVE)
        return fail_itself(newcomers, fact, error);
    else
        return fail_unknown(newcomers, fact, error);
    return KG_OK;
}

static kg_status check_facts(kg_new_entities *newcomers, kg_error *error) {
    kg_left_out_facts *left = &newcomers->left;
    for (size_t i = 0; i < newcomers->fact_count; i++) {
        const struct fact *fact = &newcomers->facts[i];
        enum use use = use_of(fact);
        if (use == USED)
            continue;
        kg_error problem = {0};
        kg_status status = leave_out(newcomers, fact, use, left, &problem);
        if (status != KG_OK)
            at_fact(newcomers, fact, &problem);
        KG_TRY(pass(newcomers, status, &problem, error));
    }
    if (newcomers->count > 0)
        return KG_OK;
    if (newcomers->fact_count == 0)
        return kg_fail(error, KG_BAD_INPUT, "expected facts about new entities, found none");
    return kg_fail(error, KG_BAD_INPUT,
                   "expected facts that link new entities to known ones, found none that is left "
                   "(%zu with unknown names, %zu wrong)",
                   left->unknown, left->wrong);
}

static kg_status fill_links(kg_new_entities *newcomers, size_t *repeated, kg_error *error) {
    size_t total = 0;
    for (size_t i = 0; i < newcomers->count; i++) {
        newcomers->starts[i] = total;
        total += newcomers->lengths[i];
        newcomers->lengths[i] = 0;
    }
    newcomers->links = kg__resize(NULL, total, sizeof *newcomers->links);
    if (newcomers->links == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < newcomers->fact_count; i++) {
        const struct fact *fact = &newcomers->facts[i];
        if (use_of(fact) != USED)
            continue;
        kg_end end = new_end(fact);
        size_t place = newcomers->places[fact->ends[end].id];
        newcomers->links[newcomers->starts[place] + newcomers->lengths[place]++] =
            (kg_link){kg_direct(fact->relation.id, end), fact->ends[kg__other_end(end)].id};
    }
    for (size_t i = 0; i < newcomers->count; i++) {
        size_t before = newcomers->lengths[i];
        newcomers->lengths[i] = kg_links_sort(newcomers->links + newcomers->starts[i], before);
        *repeated += before - newcomers->lengths[i];
    }
    return KG_OK;
}

kg_status kg_new_entities_finish(kg_new_entities *newcomers, kg_left_out_facts *left,
                                 kg_error *error) {
    KG_NEED(newcomers);
    KG_TRY(check_open(newcomers, error));
    newcomers->is_finished = true;
    KG_TRY(find_newcomers(newcomers, error));
    KG_TRY(check_facts(newcomers, error));
    KG_TRY(fill_links(newcomers, &newcomers->left.repeated, error));
    if (left != NULL)
        *left = newcomers->left;
    return KG_OK;
}

/* ---- Who they are ---- */

size_t kg_new_entities_count(const kg_new_entities *newcomers) {
    return newcomers == NULL ? 0 : newcomers->count;
}

kg_text kg_new_entities_name(const kg_new_entities *newcomers, size_t place) {
    if (place >= kg_new_entities_count(newcomers))
        return (kg_text){"", 0};
    return text_of(&newcomers->entities, newcomers->ids[place]);
}

const kg_link *kg_new_entities_links(const kg_new_entities *newcomers, size_t place,
                                     size_t *count) {
    bool is_there = place < kg_new_entities_count(newcomers) && newcomers->links != NULL;
    if (count != NULL)
        *count = is_there ? newcomers->lengths[place] : 0;
    if (!is_there)
        return NULL;
    return newcomers->links + newcomers->starts[place];
}

size_t kg_new_entities_find(const kg_new_entities *newcomers, kg_text name) {
    if (newcomers == NULL || name.bytes == NULL)
        return kg_new_entities_count(newcomers);
    kg_id id = kg__names_find(&newcomers->entities, name_of(name));
    size_t place = id == KG_NO_ID || newcomers->places == NULL ? SIZE_MAX : newcomers->places[id];
    return place == SIZE_MAX ? newcomers->count : place;
}

kg_suggestion kg__new_entities_suggest(const kg_new_entities *newcomers, kg_text name) {
    return kg__suggest(&newcomers->entities, name);
}
