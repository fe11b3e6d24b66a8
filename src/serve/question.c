/* Names of a question to ids of a snapshot. */
#include "serve/question.h"

#include <string.h>

#include "base/text.h"
#include "infer/new_entities.h"
#include "report/answer_json.h"

const serve_question serve_question_defaults = {.k = 10};

static kg_text text_of(const char *string) {
    return (kg_text){string, strlen(string)};
}

kg_status serve_find_relation(kg_id *out, serve_problem *problem, const char *name,
                              const kg_model *model, kg_error *error) {
    *out = kg_model_find_relation(model, text_of(name));
    if (*out != KG_NO_ID)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "`relation`: expected one of the model, found %s%s",
                   kg__quote(name, strlen(name)).text,
                   serve_problem_suggest(problem, &model->relations, text_of(name)).text);
}

kg_status serve_find_entity(kg_id *out, serve_problem *problem, const char *member,
                            const char *name, const kg_model *model, kg_error *error) {
    *out = kg_model_find_entity(model, text_of(name));
    if (*out != KG_NO_ID)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected an entity of the graph, found %s%s", member,
                   kg__quote(name, strlen(name)).text,
                   serve_problem_suggest(problem, &model->entities, text_of(name)).text);
}

kg_end serve_subject_end(serve_side side) {
    return side == SERVE_HEADS ? KG_TAIL : KG_HEAD;
}

/* ---- Subjects ---- */

static kg_status find_known(serve_subject *out, serve_problem *problem, const char *name,
                            const kg_model *model, kg_error *error) {
    const kg_link *links = NULL;
    KG_TRY(serve_find_entity(&out->subject.entity, problem, "entity", name, model, error));
    out->name = kg_model_entity_name(model, out->subject.entity);
    KG_TRY(kg_model_links(&links, &out->links, model, out->subject.entity, error));
    out->facts = kg__links_facts(links, out->links, out->subject.entity);
    return KG_OK;
}

static kg_status add_facts(kg_new_entities *entities, const json_t *facts, kg_error *error) {
    for (size_t i = 0; i < json_array_size(facts); i++) {
        kg_text names[3];
        serve_fact_names(names, json_array_get(facts, i));
        KG_TRY(kg_new_entities_add(entities, names[0], names[1], names[2], error));
    }
    return kg_new_entities_finish(NULL, entities, error);
}

/* The library's advice to use a setting that requests do not have. */
static void drop_advice(char *message) {
    static const char advice[] = ", or `skip_unknown`";
    char *at = strstr(message, advice);
    if (at != NULL)
        memmove(at, at + strlen(advice), strlen(at + strlen(advice)) + 1);
}

/* Names similar to the unknown relation of a fact, else to an unknown end that is not `entity`,
 * which may be NULL. */
static void suggest_names(serve_problem *problem, const kg_text names[3], const char *entity,
                          const kg_model *model) {
    if (kg_model_find_relation(model, names[1]) == KG_NO_ID) {
        serve_problem_suggest(problem, &model->relations, names[1]);
        return;
    }
    for (size_t i = 0; i < 3 && json_array_size(problem->similar) == 0; i += 2) {
        bool is_asked = entity != NULL && strcmp(names[i].bytes, entity) == 0;
        if (!is_asked && kg_model_find_entity(model, names[i]) == KG_NO_ID)
            serve_problem_suggest(problem, &model->entities, names[i]);
    }
}

/* What is wrong with a fact, which the library counts from 1, as what is wrong with a member. */
static void describe_fact_error(kg_error *error, serve_problem *problem,
                                const serve_question *question, const kg_model *model) {
    const json_t *facts = question->facts;
    kg_text names[3];
    if (error == NULL || error->status != KG_BAD_INPUT || error->line == 0 ||
        error->line > json_array_size(facts))
        return;
    size_t index = (size_t)error->line - 1;
    serve_fact_names(names, json_array_get(facts, index));
    error->source[0] = '\0';
    error->line = 0;
    drop_advice(error->message);
    serve_error_prefix(error, "`facts[%zu]`: ", index);
    suggest_names(problem, names, question->entity, model);
}

/* The one that is named, or the only one. */
static kg_status select_new(serve_subject *out, const char *entity, kg_error *error) {
    size_t count = kg_new_entities_count(out->entities);
    size_t place = entity == NULL ? 0 : kg_new_entities_find(out->entities, text_of(entity));
    if (entity == NULL && count != 1) {
        kg_text first = kg_new_entities_name(out->entities, 0);
        return kg_fail(error, KG_BAD_INPUT,
                       "`entity`: expected one of the %zu new entities in `facts`, such as %s, "
                       "found none",
                       count, kg__quote(first.bytes, first.length).text);
    }
    if (place == count)
        return kg_fail(error, KG_BAD_INPUT,
                       "`entity`: expected one that is new in `facts`, found %s",
                       kg__quote(entity, strlen(entity)).text);
    out->name = kg_new_entities_name(out->entities, place);
    out->subject.links = kg_new_entities_links(&out->subject.count, out->entities, place);
    out->facts = out->links = out->subject.count;
    return KG_OK;
}

static kg_status read_new(serve_subject *out, serve_problem *problem,
                          const serve_question *question, const kg_model *model, kg_error *error) {
    kg_new_entities_options options = KG_NEW_ENTITIES_OPTIONS_INIT;
    options.entity = question->entity;
    if (question->entity != NULL &&
        kg_model_find_entity(model, text_of(question->entity)) != KG_NO_ID)
        return kg_fail(
            error, KG_BAD_INPUT,
            "`entity`: expected one that is new, found %s, which is in the graph (to ask "
            "about it, leave `facts` out)",
            kg__quote(question->entity, strlen(question->entity)).text);
    KG_TRY(kg_new_entities_open(&out->entities, model, &options, error));
    if (problem->is_brief)
        kg__new_entities_be_brief(out->entities);
    kg_status status = add_facts(out->entities, question->facts, error);
    if (status != KG_OK) {
        describe_fact_error(error, problem, question, model);
        return status;
    }
    return select_new(out, question->entity, error);
}

kg_status serve_subject_open(serve_subject *out, serve_problem *problem,
                             const serve_question *question, const kg_model *model,
                             kg_error *error) {
    *out = (serve_subject){.subject.entity = KG_NO_ID, .is_new = question->facts != NULL};
    if (question->facts == NULL && question->entity == NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected `entity`, or `facts` of a new one, found neither");
    kg_status status = out->is_new ? read_new(out, problem, question, model, error)
                                   : find_known(out, problem, question->entity, model, error);
    if (status != KG_OK)
        serve_subject_close(out);
    return status;
}

void serve_subject_close(serve_subject *subject) {
    kg_new_entities_close(subject->entities);
    subject->entities = NULL;
}

/* ---- Facts ---- */

json_t *serve_name_json(kg_text name) {
    return kg__json_text(name.bytes, name.length);
}

json_t *serve_links_json(const kg_model *model, kg_text name, const kg_link *links, size_t from,
                         size_t count) {
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = from; i < from + count && good; i++) {
        report_fact fact = report_fact_of(model, name, links[i]);
        good = json_array_append_new(out, json_pack("[o o o]", serve_name_json(fact.names[0]),
                                                    serve_name_json(fact.names[1]),
                                                    serve_name_json(fact.names[2]))) == 0;
    }
    return kg__json_complete(out, good);
}
